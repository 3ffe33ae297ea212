/*
 * Guard slots: memory to lend, between pages that nobody may touch.
 *
 * Place      layers, private to guard.c.
 * Model      A slot is some pages with GUARD_GAP_PAGES without access on both sides. What is lent
 *            lies at the slot's end (so that the first byte behind it faults, up to the alignment)
 *            or, in every second slot, at its start. On the open side stand GUARD_NEAR_BYTES that
 *            read GUARD_FILL. So does what is lent when it is given back, up to GUARD_POISONED
 *            bytes (page numbers read LEND_STALE_PAGE), and what the driver is to write when it is
 *            lent: one pattern is the canary, the poison and the mark of what was never written.
 *
 *                no access | ......... fill | lent | no access      every second slot
 *                no access | lent | fill ......... | no access      the others
 *
 *            A slot is lent again only as what it was lent as before: each member of each call has
 *            a ring of slots, two of which are taken in turn. So a pointer that was kept never
 *            leads to what another call was lent, but to poison or to what is lent there as the
 *            same: the mistake harms no other, and is told of the call that lent the memory when
 *            the slot is taken again. Between what is lent at an end and the page behind it lies a
 *            gap of up to 15 bytes for alignment, where a canary tells of a write and no fault
 *            names the instruction. When a canary of a ring was written over, what its slots lend
 *            is aligned as its size is: the same mistake faults when it is made again.
 *            One of GUARD_SEALED_OF slots that come back is without
 *            access until then: who reads it faults. A slot of more than GUARD_KEPT_BYTES always
 *            is, and its memory goes back to the system.
 * Ownership  The mappings are laid once and kept until the process ends: runs follow each other. A
 *            slot that was taken is the caller's until it is released.
 * Errors     NULL: no memory, too large, or all slots of the size are in use.
 */
#ifndef DRYDOCK_LAYERS_GUARD_SLOTS_H
#define DRYDOCK_LAYERS_GUARD_SLOTS_H

#include "miniport/loans.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_FILL       0xa5
#define GUARD_GAP_PAGES  4u
#define GUARD_NEAR_BYTES 64u
#define GUARD_POISONED   4096u
#define GUARD_SEALED_OF  1021u
#define GUARD_KEPT_BYTES (4u << 20)
#define GUARD_ALIGNMENT  16u
#define GUARD_CLASSES    15u /* 1 page to 16,384 */
#define GUARD_MOST_BYTES ((size_t)4096 << (GUARD_CLASSES - 1))

/* What a slot is or was lent as: "members[0][index].members[1]" of a call. */
struct guard_label {
    const char *call;                     /* a literal: "DxgkDdiRender" */
    const struct loan_member *members[2]; /* NULL: none */
    uint32_t index;                       /* GUARD_NO_INDEX: no element of an array */
};
#define GUARD_NO_INDEX UINT32_MAX

struct guard_slot {
    struct guard_slot *next; /* in its ring, which is closed */
    struct guard_ring *ring; /* NULL: in none yet */
    char *start;             /* of its pages; NULL: not laid yet */
    size_t bytes;
    char *at; /* what is lent, or was last */
    size_t lent_bytes;
    uint32_t alignment;
    uint32_t turns; /* it was taken */
    bool is_lent, is_sealed, is_at_start;
    bool is_marked;       /* the bytes around what was lent are GUARD_FILL */
    bool has_stale_pages; /* not GUARD_FILL but LEND_STALE_PAGE where it was lent */
    struct guard_label label;
};

/* What was written since a slot was given back. */
struct guard_late {
    struct guard_label label;
    size_t offset, bytes; /* from the begin of what was lent, and its length */
};

#define GUARD_SLOTS_MOST 512u
#define GUARD_RINGS      512u /* half of them may be in use */

struct guard_class {
    char *map;     /* NULL: none of the class was taken yet */
    unsigned used; /* slots that are in rings */
    struct guard_slot slots[GUARD_SLOTS_MOST];
};

/* What is lent as the same member of the same call, in slots of one class. */
struct guard_ring {
    const char *call; /* NULL: the place in the table is free */
    const struct loan_member *member;
    struct guard_slot *last; /* taken */
    unsigned number, count;  /* of its class; of its slots */
    bool is_tight;           /* a canary was written over: no gap for the sake of alignment */
};

struct guard_slots {
    struct guard_class classes[GUARD_CLASSES];
    struct guard_ring rings[GUARD_RINGS];
    unsigned ring_count;
    uint64_t released;
};

/* One for each process, lent to one layer at a time; NULL: no memory. */
struct guard_slots *guard_slots_begin(void);
void guard_slots_end(struct guard_slots *slots);

/*
 * A slot for so many bytes of what the label names, behind a boundary of alignment. *out_is_late:
 * it had been written to since it was given back, as *out_late tells. In the first turns of a slot,
 * then in every fourth, that is looked at.
 */
struct guard_slot *guard_slot_take(struct guard_slots *slots, const struct guard_label *label,
                                   size_t bytes, uint32_t alignment, bool *out_is_late,
                                   struct guard_late *out_late);

/*
 * The first byte around what is lent that was written; false: none. *out_distance counts from 1 in
 * front of it, from 0 behind it. It stays so until the slot is mended, or taken again. The ring is
 * tight from then on.
 */
bool guard_slot_look(struct guard_slot *slot, bool *out_is_before, size_t *out_distance);
void guard_slot_mend(struct guard_slot *slot);

/* has_pages: it held page numbers. */
void guard_slot_release(struct guard_slots *slots, struct guard_slot *slot, bool has_pages);

/* A slot that was given back and has been written to since; false: there is none more. */
bool guard_slots_find_late(struct guard_slots *slots, struct guard_late *out_late);

/* The slot that an address without access belongs to; NULL: none. For signal handlers. */
const struct guard_slot *guard_slots_at(const void *address);

#endif
