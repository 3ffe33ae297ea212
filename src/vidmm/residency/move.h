/*
 * Moves: a resident allocation gets another place without going out to system memory.
 *
 * Place      vidmm. Used by compaction.c and vidmm_move(); the generators swap the two places.
 * Model      The new place is taken before anything moves and the old one released when the last
 *            packet has retired. Meanwhile the allocation is LEAVING for everybody else.
 * Errors     As segment_place().
 * Source     contract.md XFER-019, RES-011; sequence S-11.
 */
#ifndef VIDMM_MOVE_H
#define VIDMM_MOVE_H

#include "vidmm/memory/allocation.h"

/*
 * Takes another place in the target for a resident allocation, which is its `other` until
 * move_begin(), or move_release_other() when nothing comes of it.
 */
NTSTATUS move_take_place(struct vidmm_allocation *allocation, struct segment *target);
/* The two places of a moving allocation change roles. */
static inline void move_swap(struct vidmm_allocation *allocation)
{
    const struct placement place = allocation->place;

    allocation->place = *allocation->other;
    *allocation->other = place;
}

#endif
