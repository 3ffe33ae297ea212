/*
 * Guard: gives the driver a copy of a buffer between pages that nothing may touch.
 *
 * Place      check, private. Used by check_layer.c around DxgkDdiBuildPagingBuffer.
 * Model      A copy has the alignment of the buffer that it stands for: a page offset is the same
 *            in both. Behind the offered bytes and in front of them lie canaries, beyond those
 *            pages without access. Bytes that the driver was not offered yet, or does not claim to
 *            have written, read GUARD_FILL. After the call the written bytes are copied to the real
 *            buffer, so that nobody above or below notices.
 *
 *                no access | canary | earlier operations | offered .... | canary | no access
 *                                                        ^ pDmaBuffer   ^ + DmaSize
 *
 *            One copy serves a buffer until another one is built into; a buffer is known by its
 *            start.
 *            A buffer that its driver keeps is marked in place (guard_mark()).
 * Ownership  guard_init() on zeroed memory; guard_fini() unmaps.
 * Errors     A buffer for which there is no memory goes down as it is: guard_begin() is false.
 */
#ifndef DRYDOCK_CHECK_GUARD_H
#define DRYDOCK_CHECK_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_FILL   0xa5 /* in bytes that the driver has not written */
#define GUARD_CANARY 0x5c

#define GUARD_LEFT_BYTES 64u

struct guard {
    char *real; /* start of the buffer that the copy stands for, NULL: none */
    size_t size;
    size_t used; /* bytes from the start that were copied to the real buffer */
    char *map;   /* of the copy, guard pages included */
    size_t map_bytes;
    char *copy;     /* of real */
    size_t lent;    /* private data: from the start, where the last call's part began */
    bool is_shared; /* private data: what is behind used is in the copy, and perhaps not in real */
    char left[GUARD_LEFT_BYTES]; /* what the part lent last began with when the call returned */
    char *left_at;               /* of the copy */
    size_t left_bytes;           /* 0: nothing has been lent */
    size_t left_whole;           /* bytes that were lent there */
};

/* Bytes that a driver should not have written, and has. */
struct guard_verdict {
    bool is_before, is_behind, is_unsaid, is_gap;
    size_t before_offset; /* bytes in front of the buffer, counted backwards from 1 */
    size_t behind_offset; /* bytes behind the offered ones, from 0 */
    size_t unsaid_offset; /* bytes behind the pointer that came back, from 0 */
    size_t gap_bytes;     /* said to be written at the end, and not written */
    const char *byte;     /* the first that was written, and should not have been; NULL: none */
};

void guard_fini(struct guard *guard);

/*
 * at..at + bytes is offered of a buffer that starts at start. Gives the pointer for the driver;
 * NULL: no memory, or the buffer is larger than GUARD_MOST_BYTES.
 */
#define GUARD_MOST_BYTES (64u << 20)
char *guard_begin(struct guard *guard, char *start, char *at, size_t bytes);

/*
 * The driver says that it wrote `written` of the bytes offered: they are copied to the real buffer.
 * False with the verdict when a byte outside of them changed; the copy is made whole again.
 */
bool guard_end(struct guard *guard, char *at, size_t bytes, size_t written,
               struct guard_verdict *out_verdict);

/*
 * The same for memory that is the driver's to read and write as a whole (private data): all of it
 * goes into the copy, and all of it comes back. NULL: as above.
 *
 * A call that goes on where the last one stopped finds the rest in the copy. When it returns, the
 * real memory has the bytes that the pointer was moved over, and the first GUARD_SHOWN_BYTES in any
 * case. It gets the rest only when another part is lent, or by guard_settle(), which comes before
 * anybody else looks there.
 */
#define GUARD_SHOWN_BYTES 512u
char *guard_lend(struct guard *guard, char *real, size_t bytes);
bool guard_return(struct guard *guard, size_t moved, struct guard_verdict *out_verdict);
void guard_settle(struct guard *guard);

/*
 * The buffer itself, for a driver that goes on using it behind the call: what is offered of it
 * reads GUARD_FILL, and a canary stands behind, on GUARD_NEAR_BYTES that are nobody's. Afterwards
 * the verdict is as above; nothing is known of what is in front.
 */
#define GUARD_NEAR_BYTES 256u
void guard_mark(const struct guard *guard, char *at, size_t bytes);
bool guard_look(struct guard *guard, char *at, size_t bytes, size_t written,
                struct guard_verdict *out_verdict);

/*
 * Whether the driver has written since the last call returned, by a pointer that it kept: the
 * beginning of what it was lent then is looked at, and made whole again. *out_offset: the first
 * byte of it that is another one.
 */
bool guard_find_late(struct guard *guard, size_t *out_offset);

/*
 * Whether the address, which faulted, is a guard page; then how far it is from the copy:
 * *out_distance bytes in front of it (is_before) or behind its last byte, from 0.
 */
bool guard_has_page(const struct guard *guard, const void *address, bool *out_is_before,
                    size_t *out_distance);

#endif
