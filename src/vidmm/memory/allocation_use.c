/*
 * Use of allocations: who keeps one where it is, and who keeps it alive.
 *
 * Source     contract.md RES-011..014.
 */
#include "vidmm/memory/allocation_use.h"

#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/budget.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"

bool allocation_is_idle(const struct vidmm_allocation *allocation)
{
    const struct vidmm *vidmm = allocation->device->vidmm;

    /* Physical: whatever runs holds what it uses. */
    return !vidmm->caps.is_virtual || allocation->busy_until <= vidmm->retired;
}

void allocation_hold(struct vidmm_allocation *allocation)
{
    if (allocation->holds++ == 0 && allocation->state == ALLOCATION_RESIDENT) {
        segment_lru_remove(allocation);
        budget_settled(allocation);
    }
}

void allocation_unhold(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->holds > 0);
    if (--allocation->holds)
        return;
    allocation->busy_until = allocation->device->vidmm->submitted;
    if (allocation->state == ALLOCATION_RESIDENT)
        segment_lru_add(allocation);
    allocation_bury_if_dead(allocation);
}

void allocation_use(struct vidmm_allocation *allocation)
{
    allocation->uses++;
}

void allocation_unuse(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->uses > 0);
    allocation->uses--;
    allocation_bury_if_dead(allocation);
}

void allocation_doom(struct vidmm_allocation *allocation)
{
    ASSERT(!allocation->is_destroyed);
    allocation->is_destroyed = true;
    allocation->vidmm->doomed_count++;
    if (allocation->state != ALLOCATION_LEAVING)
        segment_set_departure(allocation, DOOMED);
    if (!allocation->holds)
        allocation->busy_until = allocation->vidmm->submitted;
    allocation_bury_if_dead(allocation);
}
