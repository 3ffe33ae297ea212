/*
 * Offer and reclaim: content that its owner can do without.
 *
 * An offered allocation stands on a list of victims that comes before all others, LOW, NORMAL,
 * HIGH, and its residency references are put aside. When room is needed it is dropped: nothing is
 * copied, the physical model says DISCARD_CONTENT, GpuMmu makes the mappings invalid. System pages
 * of offered allocations that are out are dropped when there is no system memory left; for that
 * they stand on a list of the manager.
 *
 *     offered, resident   pressure on its segment     dropped
 *     offered, out        no system memory            dropped, at once
 *     reclaimed           not dropped                 OK: as it was before
 *                         dropped                     DISCARDED: empty, its next page-in fills
 *                         dropped, no system memory   NOT_COMMITTED: still offered
 *
 * References that were put aside come back with the reclaim: at once where the allocation is
 * resident, else with a request like any other.
 *
 * Source     contract.md OFFER-001..005, DISC-001; sequence S-18.
 */
#include "vidmm/residency/offer.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

/* ---- Offering -------------------------------------------------------------------------------- */

static NTSTATUS may_be_offered(const struct vidmm_allocation *allocation)
{
    if (allocation->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if (allocation->is_offered || allocation->is_over_memory) /* which nobody else could get */
        return STATUS_INVALID_PARAMETER;
    if (scan_out_keeps(allocation))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    if (allocation->is_pinned) /* it could not be dropped (ALLOC-014) */
        return STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION;
    /* GpuMmu: what holds it besides locks and requests under way are residency references. */
    if (allocation->lock_count || (allocation->vidmm->caps.is_virtual && allocation->uses))
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    return STATUS_SUCCESS;
}

static void offer(struct vidmm_allocation *allocation, enum vidmm_offer_priority priority)
{
    bool is_listed;

    reference_lists_note_change(allocation);
    is_listed = allocation->state == ALLOCATION_RESIDENT && !allocation->holds;
    if (is_listed)
        segment_lru_remove(allocation);
    if (allocation->vidmm->caps.is_virtual && allocation->holds) {
        allocation->offered_holds = allocation->holds;
        allocation->has_holds_aside = true;
        allocation->holds = 0;
        allocation->busy_until = allocation->vidmm->submitted; /* OFFER-002 */
        is_listed = allocation->state == ALLOCATION_RESIDENT;
    }
    allocation->is_offered = true;
    allocation->is_dropped = allocation->state == ALLOCATION_EMPTY;
    allocation->had_content = allocation->state != ALLOCATION_EMPTY;
    allocation->offer_class = priority;
    if (notes_are_heard(allocation->vidmm))
        note_offer(allocation);
    if (is_listed)
        segment_lru_add(allocation);
    allocation_list_if_offered(allocation);
}

NTSTATUS vidmm_offer(struct vidmm_device *device, unsigned count,
                     struct vidmm_allocation *const *allocations,
                     enum vidmm_offer_priority priority)
{
    unsigned i, j;

    if (!NT_SUCCESS(device->vidmm->refusal))
        return device->vidmm->refusal;
    if ((unsigned)priority >= OFFER_CLASSES)
        return STATUS_INVALID_PARAMETER;
    for (i = 0; i < count; i++) {
        NTSTATUS status = may_be_offered(allocation_current(allocations[i]));

        if (!NT_SUCCESS(status))
            return status;
        for (j = 0; j < i; j++) {
            if (allocations[j] == allocations[i])
                return STATUS_INVALID_PARAMETER;
        }
    }
    for (i = 0; i < count; i++)
        offer(allocation_current(allocations[i]), priority);
    vidmm_pump(device->vidmm);
    return STATUS_SUCCESS;
}

/* ---- Reclaiming ------------------------------------------------------------------------------ */

/* Off the lists of offered ones; its references stay aside. */
static void withdraw(struct vidmm_allocation *allocation)
{
    bool is_listed;

    reference_lists_note_change(allocation);
    is_listed = allocation->state == ALLOCATION_RESIDENT && !allocation->holds;
    allocation_leave_list(allocation);
    allocation->is_offered = false;
    allocation->is_dropped = false;
    if (notes_are_heard(allocation->vidmm))
        note_offer(allocation);
    if (is_listed)
        segment_lru_add(allocation);
}

void offer_drop_hold(struct vidmm_allocation *allocation)
{
    allocation->has_holds_aside = --allocation->offered_holds != 0;
}

static void restore_references(struct vidmm_allocation *allocation)
{
    while (allocation->has_holds_aside) {
        offer_drop_hold(allocation);
        allocation_hold(allocation);
    }
}

void offer_cancel(struct vidmm_allocation *allocation)
{
    if (!allocation->is_offered)
        return;
    withdraw(allocation);
    restore_references(allocation);
}

void offer_settle_reclaim(struct vidmm_allocation *allocation, bool is_resident)
{
    restore_references(allocation);
    if (is_resident)
        allocation_unhold(allocation); /* the request's own, which a failed one has given back */
}

/*
 * The pages of what was dropped are committed when they are needed; here it is found out whether
 * they could be.
 */
static bool can_be_committed(struct vidmm_allocation *allocation)
{
    if (allocation->mdl || allocation->state != ALLOCATION_EMPTY)
        return true;
    if (!NT_SUCCESS(allocation_take_backing(allocation)))
        return false;
    allocation_release_backing(allocation);
    return true;
}

static enum vidmm_reclaim_result result_of(struct vidmm_allocation *allocation)
{
    if (!allocation->is_dropped || !allocation->had_content)
        return allocation->is_dropped && !can_be_committed(allocation) ? VIDMM_RECLAIM_NOT_COMMITTED
                                                                       : VIDMM_RECLAIM_OK;
    return can_be_committed(allocation) ? VIDMM_RECLAIM_DISCARDED : VIDMM_RECLAIM_NOT_COMMITTED;
}

NTSTATUS vidmm_reclaim(struct vidmm_device *device, unsigned count,
                       struct vidmm_allocation *const *allocations,
                       enum vidmm_reclaim_result *out_results, vidmm_done done, void *context,
                       uint64_t *out_fence_value)
{
    struct request *request = NULL;
    unsigned absent = 0;
    NTSTATUS status;
    unsigned i;

    *out_fence_value = 0;
    if (!NT_SUCCESS(device->vidmm->refusal))
        return device->vidmm->refusal;
    for (i = 0; i < count; i++) {
        if (!allocation_current(allocations[i])->is_offered)
            return STATUS_INVALID_PARAMETER;
    }
    for (i = 0; i < count; i++) {
        struct vidmm_allocation *allocation = allocation_current(allocations[i]);

        out_results[i] = result_of(allocation);
        if (out_results[i] != VIDMM_RECLAIM_NOT_COMMITTED && allocation->offered_holds &&
            !allocation_is_usable(allocation))
            absent++;
    }
    if (absent) {
        status = request_create(device, absent, done, context, &request);
        if (!NT_SUCCESS(status))
            return status;
        request->is_reclaim = true;
    }
    absent = 0;
    for (i = 0; i < count; i++) {
        struct vidmm_allocation *allocation = allocation_current(allocations[i]);

        if (out_results[i] == VIDMM_RECLAIM_NOT_COMMITTED)
            continue;
        withdraw(allocation);
        if (allocation->offered_holds && !allocation_is_usable(allocation))
            request->allocations[absent++] = allocation;
        else
            restore_references(allocation);
    }
    if (!request)
        return STATUS_SUCCESS;
    *out_fence_value = request->fence_value = ++device->requests_made;
    request_queue(request);
    vidmm_pump(device->vidmm);
    return STATUS_PENDING;
}
