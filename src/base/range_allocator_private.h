/*
 * Range allocator: what its files share. range_allocator.c takes, releases and finds;
 * range_allocator_check.c looks whether all of it is whole, and prints it.
 *
 * Place      base, private to these files.
 */
#ifndef DRYDOCK_BASE_RANGE_ALLOCATOR_PRIVATE_H
#define DRYDOCK_BASE_RANGE_ALLOCATOR_PRIVATE_H

#include "base/range_allocator.h"

#include "base/bits.h"

#define BIN_STEPS_LOG2 4 /* bins for each power of two */

static inline struct range_node *nodes_of(const struct range_allocator *ra)
{
    return ra->nodes.items;
}

/* The wall stands before the first tile and behind the last one, and is never free. */
static inline uint32_t wall_of(const struct range_allocator *ra)
{
    return ra->bin_count;
}

/* Of a live range without its slack, or of a hole. */
static inline uint64_t taken_units(const struct range_node *node)
{
    return range_units(node) - (range_is_live(node) ? range_slack(node) : 0);
}

static inline uint32_t tile_count(const struct range_allocator *ra)
{
    return ra->nodes.count - ra->nodes.spare_count - wall_of(ra) - 1;
}

/* Bins below 2 * 16 hold one size each; above, the bin is exponent and top four bits. */
static inline unsigned bin_of(uint64_t units)
{
    unsigned exponent = log2_floor_u64(units | 1);
    unsigned shift = exponent < BIN_STEPS_LOG2 ? 0 : exponent - BIN_STEPS_LOG2;
    unsigned bin = (shift << BIN_STEPS_LOG2) + (unsigned)(units >> shift);

    return bin < RANGE_BIN_COUNT ? bin : RANGE_BIN_COUNT - 1;
}

/* Of a hole, by what is behind the first place with the alignment of the keys. */
static inline unsigned bin_for(const struct range_allocator *ra, uint64_t start, uint64_t units)
{
    return bin_of(range_units_behind(start, units, ra->key_mask));
}

#endif
