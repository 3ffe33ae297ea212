/*
 * Use of allocations: who keeps one where it is, and who keeps it alive.
 *
 * Place      vidmm. Uses states and segments; used by requests, submissions and locks.
 * Model      A hold keeps a resident allocation where it is: it is in no LRU list. A use keeps an
 *            allocation that is destroyed from going. Work that the GPU has been given is neither:
 *            busy_until says which submissions have to retire before an allocation is idle.
 * Source     contract.md RES-011..014.
 */
#ifndef VIDMM_ALLOCATION_USE_H
#define VIDMM_ALLOCATION_USE_H

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/reference_list.h"

#include "base/assert.h"

void allocation_hold(struct vidmm_allocation *allocation);
void allocation_unhold(struct vidmm_allocation *allocation);
/* The same for each of the list, in its order. */
void allocations_hold(unsigned count, struct vidmm_allocation *const *allocations);
void allocations_unhold(unsigned count, struct vidmm_allocation *const *allocations);
/* A packet of the physical model refers to it, from the client's call to the packet's end. */
static inline void allocation_use(struct vidmm_allocation *allocation)
{
    allocation->uses++;
}
static inline void allocation_unuse(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->uses > 0);
    allocation->uses--;
    if (allocation->is_destroyed)
        allocation_bury_if_dead(allocation);
}

/* What lists owe it has been done to it: its holds, its place in an LRU list, busy_until. */
static inline void allocation_settle(const struct vidmm_allocation *allocation)
{
    if (allocation->was_in_list)
        reference_lists_settle(allocation->vidmm);
}

/* References, packets and locks that hold it. */
static inline uint32_t allocation_holds(const struct vidmm_allocation *allocation)
{
    allocation_settle(allocation);
    return allocation->holds;
}

/* No work that the GPU has been given may still use it; holds are not looked at. */
bool allocation_is_idle(const struct vidmm_allocation *allocation);
/* It waits for its burial, and nothing that is queued uses it. */
static inline bool allocation_is_dead(const struct vidmm_allocation *allocation)
{
    return allocation->is_destroyed && !allocation_holds(allocation) && !allocation->uses &&
           allocation_is_idle(allocation);
}
/* Nobody asks for it any more: it goes when nothing uses it. */
void allocation_doom(struct vidmm_allocation *allocation);

#endif
