/*
 * Range allocator: hands out contiguous ranges of one space.
 *
 * Place      base. The one allocator of contiguous ranges: segments, GPU virtual address spaces,
 *            apertures. Knows nothing of what lies in a range.
 * Model      The space [base, base + size) is tiled by ranges, each live (taken, with an owner
 *            cookie) or free (a hole). Two holes that are told of never touch. The allocator never
 *            moves or evicts anything; a full space is a status, and the caller decides.
 *            A live range has a handle until it is released. The same calls give the same offsets
 *            on every host.
 * Cost       A take that may lie anywhere, and a release by handle, take constant time: a search
 *            for a size bin, a look at three holes, the links of the neighbours. Half of them cost
 *            less: a range that is released by handle may be kept as it is, for the next request of
 *            its size, and becomes a hole when somebody asks for more than that. Such a debt is
 *            paid once, by a take that finds no hole, a request or a lookup by address.
 *            A request by address (LOWEST, HIGHEST, a window) and a lookup by address descend an
 *            index in O(log n); one that may lie anywhere in a window of an eighth of the space or
 *            more looks at a few holes of its size first. The allocator makes the index when there
 *            are more than 32 ranges and the first such call comes, and keeps it from then on. The
 *            index knows the holes behind alignments of 1, 16 and 512 units (64 KiB and 2 MiB where
 *            a unit is a page). With another alignment a hole that is large enough for the tier
 *            below may still not fit, and each of those is looked at; at worst those are all holes
 *            of the window. Where most requests have an alignment, a range that ends short of a
 *            multiple of it keeps the rest as slack: free, and no hole of its own, until a request
 *            by address or one with a smaller alignment needs it. A free choice asks the index only
 *            just before RANGE_FULL is the answer, and only when more holes than a few are left
 *            that could hold the request behind their padding.
 *            38 to 48 bytes for each live range at 90 % occupancy, twice that while the table
 *            grows; the index adds 10 to 16.
 * Ownership  The struct is the caller's memory; init allocates through services, which is borrowed
 *            until fini. A taken range is the caller's until it is released. The owner cookie is
 *            carried and never looked into.
 * Errors     enum range_status. On failure nothing has changed and out parameters hold zero.
 *            release never fails for lack of memory. Nothing fails for lack of memory for the
 *            index: without it, a search by address walks the ranges.
 * Units      Offsets and sizes in bytes, offsets absolute (base included). Granularity and
 *            alignments are powers of two.
 */
#ifndef DRYDOCK_BASE_RANGE_ALLOCATOR_H
#define DRYDOCK_BASE_RANGE_ALLOCATOR_H

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

/* Size bins: sixteen for each power of two, up to 2^24 units; the last one holds all beyond. */
#define RANGE_BIN_COUNT 337

/* Sizes of which ranges are kept whole for the next request. */
#define RANGE_KEPT_SIZES 128

/* Private: read it through the functions below. */
struct range_allocator {
    const struct base_services *services;
    struct range_table nodes; /* struct range_node; the first ones are the bins, then the wall */
    struct range_tree tree;
    uint64_t first_unit; /* the space, in units of granularity */
    uint64_t end_unit;
    unsigned unit_shift;
    uint32_t bin_count;
    /* Counts do not stand side by side: compilers join their updates, which then wait. */
    uint64_t live_count;
    uint64_t key_mask; /* the bins sort holes by what is left behind this alignment, - 1 */
    uint32_t key_tier; /* of that alignment */
    uint32_t votes;    /* for another key: requests of other tiers, less those of this one */
    uint64_t free_units;
    uint64_t slack_units;     /* of these, units that live ranges have as slack */
    uint64_t slack_mask;      /* no slack reaches a multiple of this + 1 */
    unsigned most_slack_log2; /* of most_slack + 1 */
    uint64_t most_slack;      /* that a range may have from now on: key_mask, or none */
    bool keeps_no_slack;      /* somebody has asked for what slack hides */
    uint64_t bin_bits[(RANGE_BIN_COUNT + 63) / 64]; /* which bins are not empty */
    uint64_t kept_below; /* ranges that begin below this unit are kept, */
    uint32_t kept_most;  /* up to so many */
    uint32_t kept_count;
    uint8_t kept_counts[RANGE_KEPT_SIZES]; /* by size, in multiples of most_slack + 1 */
    uint32_t kept[RANGE_KEPT_SIZES];       /* the last one, which knows the one before */
};

/*
 * Base and size are multiples of granularity; base + size is below 2^64, and size is below 2^54
 * units.
 */
enum range_status range_allocator_init(struct range_allocator *ra,
                                       const struct base_services *services, uint64_t base,
                                       uint64_t size, uint64_t granularity);

/* Ranges that are still live go with it. Fine on zeroed memory and after a failed init. */
void range_allocator_fini(struct range_allocator *ra);

enum range_status range_allocator_take(struct range_allocator *ra,
                                       const struct range_request *request, uint64_t *out_offset);

/* Gives a handle as well, by which the range is released without a search. It is never 0. */
enum range_status range_allocator_take_handle(struct range_allocator *ra,
                                              const struct range_request *request,
                                              uint64_t *out_offset, uint32_t *out_handle);

/* Take exactly [offset, offset + size): RANGE_FULL when any of it is live. */
enum range_status range_allocator_take_at(struct range_allocator *ra, uint64_t offset,
                                          uint64_t size, uint64_t owner);

/*
 * RANGE_INVALID where no live range has the handle. A handle is used again for a later range, so
 * this finds most stale ones, and not all.
 */
enum range_status range_allocator_release_handle(struct range_allocator *ra, uint32_t handle);

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
