/*
 * Requests within a budget: refused with the bytes to trim when they would go beyond it.
 *
 * Source     contract.md RES-004, RES-015.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/budget.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

/* Bytes that the request would add to the group: an allocation counts once, where it wants to be.
 */
static uint64_t added(struct vidmm *vidmm, unsigned count,
                      struct vidmm_allocation *const *allocations, enum vidmm_budget_group group)
{
    uint64_t bytes = 0;
    unsigned i, j;

    for (i = 0; i < count; i++) {
        struct vidmm_allocation *a = allocations[i];
        const struct segment *segment =
            a->place.segment ? a->place.segment : segment_by_id(vidmm, a->preference[0]);

        if (allocation_holds(a) || budget_group_of(segment) != group)
            continue;
        for (j = 0; j < i && allocations[j] != a; j++)
            ;
        bytes += j == i ? segment_footprint(segment, a) : 0;
    }
    return bytes;
}

NTSTATUS vidmm_make_resident_in_budget(struct vidmm_device *device, unsigned count,
                                       struct vidmm_allocation *const *allocations, vidmm_done done,
                                       void *context, uint64_t *out_fence_value,
                                       uint64_t *out_bytes_to_trim)
{
    unsigned group;

    *out_fence_value = 0;
    *out_bytes_to_trim = 0;
    for (group = 0; group < ARRAY_COUNT(device->process->budgets); group++) {
        const struct budget *budget = &device->process->budgets[group];
        uint64_t bytes;

        if (budget->limit == UINT64_MAX)
            continue;
        bytes = added(device->vidmm, count, allocations, (enum vidmm_budget_group)group);
        if (bytes && budget_held(budget) + bytes > budget->limit)
            *out_bytes_to_trim += budget_held(budget) + bytes - budget->limit;
    }
    if (*out_bytes_to_trim)
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    return vidmm_make_resident(device, count, allocations, done, context, out_fence_value);
}
