/*
 * Range allocator: hands out contiguous ranges of one space.
 *
 * Place      base. The one allocator of contiguous ranges: segments, GPU virtual address spaces,
 *            apertures. Knows nothing of what lies in a range.
 * Model      The space [base, base + size) is tiled by ranges, each live (taken, with an owner
 *            cookie) or free (a hole). Two holes never touch: release merges. The allocator never
 *            moves or evicts anything; a full space is a status, and the caller decides.
 *            The same calls give the same offsets on every host.
 * Cost       O(log n) for take, release and find, whatever the number n of ranges; in practice two
 *            or three cache misses. A request by address (LOWEST, HIGHEST, a window) descends to
 *            the first hole in its way that is large enough behind its alignment, which the tree
 *            knows for alignments of 1, 16 and 512 units (64 KiB and 2 MiB where a unit is a page).
 *            With another alignment a hole that is large enough for the tier below may still not
 *            fit, and each of those is looked at: at worst all holes of the window. A free choice
 *            comes to that only when every hole that could hold size + alignment is gone, just
 *            before RANGE_FULL is the answer.
 *            36 to 40 bytes of metadata for each live range at 90 % occupancy, of which the fixed
 *            part is 4 KiB.
 * Ownership  The struct is the caller's memory; init allocates through services, which is borrowed
 *            until fini. A taken range is the caller's until it is released. The owner cookie is
 *            carried and never looked into.
 * Errors     enum range_status. On failure nothing has changed and out parameters hold zero.
 *            release never fails for lack of memory.
 * Units      Offsets and sizes in bytes, offsets absolute (base included). Granularity and
 *            alignments are powers of two.
 */
#ifndef DRYDOCK_BASE_RANGE_ALLOCATOR_H
#define DRYDOCK_BASE_RANGE_ALLOCATOR_H

#include "base/node_pool.h"
#include "base/range_tree.h"
#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum range_status {
    RANGE_OK,
    RANGE_FULL,      /* no hole satisfies the request */
    RANGE_NO_MEMORY, /* none for the allocator's own nodes */
    RANGE_INVALID,   /* an argument is out of bounds, or the range is not what is there */
};

enum range_place {
    RANGE_ANYWHERE, /* the best packing, and the fastest */
    RANGE_LOWEST,   /* the lowest offset that satisfies the request */
    RANGE_HIGHEST,  /* the highest */
};

struct range_request {
    uint64_t size;           /* rounded up to the granularity; not 0 */
    uint64_t alignment;      /* of the offset; 0 for the granularity */
    uint64_t window_low;     /* the range lies in [window_low, window_high); */
    uint64_t window_high;    /* 0 for no upper bound */
    uint64_t preferred_low;  /* tried first, inside the window; */
    uint64_t preferred_high; /* 0 for no preference */
    uint64_t owner;          /* any value; find() gives it back */
    enum range_place place;
};

struct range_info {
    uint64_t offset;
    uint64_t size;
    uint64_t owner; /* 0 for a hole */
    bool is_free;
};

/* Size bins: eight for each power of two. */
#define RANGE_BIN_COUNT 496

/* Private: read it through the functions below. It points into itself: do not move it. */
struct range_allocator {
    struct range_tree tree;
    struct node_pool hole_pool;
    uint64_t first_unit; /* the space, in units of granularity */
    uint64_t end_unit;
    unsigned unit_shift;
    uint64_t live_count;
    uint64_t hole_count;
    uint64_t binned_count; /* holes with a record */
    uint64_t free_units;
    uint64_t bin_bits[(RANGE_BIN_COUNT + 63) / 64]; /* which bins are not empty */
    struct range_hole *bins[RANGE_BIN_COUNT];
    struct range_hole bin_end; /* closes every bin: of size 0, and its own successor */
};

/* Base and size are multiples of granularity; base + size is below 2^64. */
enum range_status range_allocator_init(struct range_allocator *ra,
                                       const struct base_services *services, uint64_t base,
                                       uint64_t size, uint64_t granularity);

/* Ranges that are still live go with it. Fine on zeroed memory and after a failed init. */
void range_allocator_fini(struct range_allocator *ra);

enum range_status range_allocator_take(struct range_allocator *ra,
                                       const struct range_request *request, uint64_t *out_offset);

/* Take exactly [offset, offset + size): RANGE_FULL when any of it is live. */
enum range_status range_allocator_take_at(struct range_allocator *ra, uint64_t offset,
                                          uint64_t size, uint64_t owner);

/*
 * Offset and size are those of one live range, whole. Anything else is RANGE_INVALID, and the
 * caller has a bug or was handed bad numbers.
 */
enum range_status range_allocator_release(struct range_allocator *ra, uint64_t offset,
                                          uint64_t size);

/* The live range that contains offset; false, and zeroes, when there is none. */
bool range_allocator_find(const struct range_allocator *ra, uint64_t offset,
                          struct range_info *out_info);

/*
 * The range that contains offset, live or free; false only outside the space. Also the way to
 * iterate, and safe against changes between two steps:
 *
 *     for (at = base; range_allocator_range_at(ra, at, &info); at = info.offset + info.size)
 */
bool range_allocator_range_at(const struct range_allocator *ra, uint64_t offset,
                              struct range_info *out_info);

uint64_t range_allocator_free_bytes(const struct range_allocator *ra);

/* Exact. Not const: the bounds that it finds too high are lowered on the way. */
uint64_t range_allocator_largest_free(struct range_allocator *ra);

uint64_t range_allocator_live_count(const struct range_allocator *ra);
uint64_t range_allocator_hole_count(const struct range_allocator *ra);

/* All memory of the allocator, this struct included. It shrinks only at fini. */
uint64_t range_allocator_metadata_bytes(const struct range_allocator *ra);

/* Walk every invariant: NULL when all hold, or a sentence that says which does not. */
const char *range_allocator_check(const struct range_allocator *ra);

/* One line of text for each range, in address order. The text is lent for the call. */
void range_allocator_dump(const struct range_allocator *ra,
                          void (*print)(void *context, const char *line), void *context);

#endif
