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
#include "base/list.h"

bool allocation_is_idle(const struct vidmm_allocation *allocation)
{
    const struct vidmm *vidmm = allocation->device->vidmm;

    allocation_settle(allocation);
    /* Physical: whatever runs holds what it uses. */
    return !vidmm->caps.is_virtual || allocation->busy_until <= vidmm->retired;
}

void allocation_hold(struct vidmm_allocation *allocation)
{
    allocation_settle(allocation);
    if (allocation->holds++ == 0 && allocation->state == ALLOCATION_RESIDENT) {
        segment_lru_remove(allocation);
        budget_settled(allocation);
    }
}

void allocation_unhold(struct vidmm_allocation *allocation)
{
    allocation_settle(allocation);
    ASSERT(allocation->holds > 0);
    if (--allocation->holds)
        return;
    allocation->busy_until = allocation->device->vidmm->submitted;
    if (allocation->state == ALLOCATION_RESIDENT)
        segment_lru_add(allocation);
    if (allocation->is_destroyed)
        allocation_bury_if_dead(allocation);
}

/* ---- Lists ---- */

/* Bytes of neighbours in a list, of one device and segment, that become idle or stop to be. */
struct idle_sum {
    const struct vidmm_device *device;
    const struct segment *segment;
    struct budget *budget;
    uint64_t held, unheld;
};

static void pay(struct idle_sum *sum)
{
    if (!sum->budget)
        return;
    ASSERT(sum->budget->idle + sum->unheld >= sum->held);
    sum->budget->idle += sum->unheld - sum->held;
    sum->held = sum->unheld = 0;
}

static inline void count_for(struct idle_sum *sum, const struct vidmm_allocation *allocation)
{
    if (allocation->device == sum->device && allocation->place.segment == sum->segment)
        return;
    pay(sum);
    sum->device = allocation->device;
    sum->segment = allocation->place.segment;
    sum->budget = budget_of_place(allocation);
}

/* Without limits no budget asks anybody, and the sums are all that budgets need. */
void allocations_hold(unsigned count, struct vidmm_allocation *const *allocations)
{
    bool is_limited = count && allocations[0]->device->vidmm->limited_budgets;
    struct idle_sum sum = {0};

    for (unsigned i = 0; i < count; i++) {
        struct vidmm_allocation *allocation = allocations[i];

        allocation_settle(allocation);
        if (is_limited) {
            allocation_hold(allocation);
        } else if (allocation->holds++ == 0 && allocation->state == ALLOCATION_RESIDENT &&
                   allocation->listed == LISTED_EVICTABLE) {
            list_remove(&allocation->link);
            allocation->listed = LISTED_NOWHERE;
            count_for(&sum, allocation);
            sum.held += placement_bytes(&allocation->place);
        }
    }
    pay(&sum);
}

void allocations_unhold(unsigned count, struct vidmm_allocation *const *allocations)
{
    struct vidmm *vidmm = count ? allocations[0]->device->vidmm : NULL;
    struct idle_sum sum = {0};

    for (unsigned i = 0; i < count; i++) {
        struct vidmm_allocation *allocation = allocations[i];

        allocation_settle(allocation);
        if (vidmm->limited_budgets || allocation->is_destroyed || allocation->is_pinned ||
            allocation->state != ALLOCATION_RESIDENT) {
            pay(&sum);
            allocation_unhold(allocation);
            continue;
        }
        ASSERT(allocation->holds > 0);
        if (--allocation->holds)
            continue;
        allocation->busy_until = vidmm->submitted;
        ASSERT(allocation->listed == LISTED_NOWHERE);
        list_push_back(allocation_lru(allocation), &allocation->link);
        allocation->listed = LISTED_EVICTABLE;
        count_for(&sum, allocation);
        sum.unheld += placement_bytes(&allocation->place);
    }
    pay(&sum);
}

void allocation_doom(struct vidmm_allocation *allocation)
{
    ASSERT(!allocation->is_destroyed);
    reference_lists_note_change(allocation);
    allocation->is_destroyed = true;
    allocation->vidmm->doomed_count++;
    if (allocation->state != ALLOCATION_LEAVING)
        segment_set_departure(allocation, DOOMED);
    if (!allocation->holds)
        allocation->busy_until = allocation->vidmm->submitted;
    allocation_bury_if_dead(allocation);
}
