/*
 * Monitored fences: 64-bit values in memory that the GPU writes and everybody waits for.
 *
 * Storage    One block of contiguous system pages, mapped once in the paging process behind its
 *            other fixed ranges and once for the CPU; a fence is 8 bytes of it. The block is mapped
 *            before the first paging buffer runs and never moves, so that no flush is needed.
 * Waiting    Requests wait in vidmm->signalling in the order in which their barriers were queued,
 *            which is the order in which the paging queue writes their values: the first one whose
 *            value is not there yet ends the look. The look follows the interrupt
 *            MONITORED_FENCE_SIGNALED in the driver's next DPC.
 *
 * Source     contract.md NTF-007..009, FENCE-011, FENCE-012, RES-005, RES-006; sequence S-24.
 */
#include "vidmm/paging/monitored_fence.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "vidsch/vidsch.h"

#define FENCE_COUNT (MONITORED_FENCE_PAGES * PAGE_BYTES / sizeof(uint64_t))

_Static_assert(FENCE_COUNT == MONITORED_FENCES, "the bitmap has a bit for every fence");

NTSTATUS monitored_fences_init(struct vidmm *vidmm)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    struct monitored_fences *fences = &vidmm->fences;
    NTSTATUS status;

    if (!vidmm->caps.has_page_tables ||
        vidmm->caps.interface_version < DXGKDDI_INTERFACE_VERSION_WDDM2_2)
        return STATUS_SUCCESS;
    status =
        platform->take_contiguous(platform->context, MONITORED_FENCE_PAGES, &fences->first_page);
    if (!NT_SUCCESS(status)) {
        fences->first_page = 0;
        return status;
    }
    fences->cpu = platform->map_bus(platform->context, PAGE_BYTES_OF(fences->first_page),
                                    PAGE_BYTES_OF(MONITORED_FENCE_PAGES));
    return fences->cpu ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

void monitored_fences_fini(struct vidmm *vidmm)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    struct monitored_fences *fences = &vidmm->fences;
    static const struct monitored_fences empty;

    if (fences->cpu)
        platform->unmap_bus(platform->context, (void *)fences->cpu,
                            PAGE_BYTES_OF(MONITORED_FENCE_PAGES));
    if (fences->first_page)
        platform->release_contiguous(platform->context, MONITORED_FENCE_PAGES, fences->first_page);
    *fences = empty;
}

NTSTATUS monitored_fence_init(struct vidmm *vidmm, struct monitored_fence *fence, uint64_t value)
{
    struct monitored_fences *fences = &vidmm->fences;
    unsigned word;

    vidsch_fence_init(&fence->waiters);
    fence->waiters.value = value;
    fence->cpu = NULL;
    fence->va = 0;
    if (!fences->cpu)
        return STATUS_SUCCESS;
    for (word = 0; word < ARRAY_COUNT(fences->taken); word++) {
        unsigned bit = 0;

        if (fences->taken[word] == UINT64_MAX)
            continue;
        while (fences->taken[word] >> bit & 1)
            bit++;
        fences->taken[word] |= UINT64_C(1) << bit;
        fence->cpu = fences->cpu + word * 64 + bit;
        fence->va = vidmm->paging.fence_va + (word * 64 + bit) * sizeof(uint64_t);
        *fence->cpu = value;
        return STATUS_SUCCESS;
    }
    return STATUS_INSUFFICIENT_RESOURCES;
}

void monitored_fence_fini(struct vidmm *vidmm, struct monitored_fence *fence)
{
    size_t index;

    ASSERT(list_is_empty(&fence->waiters.waiters));
    if (!fence->cpu)
        return;
    index = (size_t)(fence->cpu - vidmm->fences.cpu);
    vidmm->fences.taken[index / 64] &= ~(UINT64_C(1) << (index % 64));
    fence->cpu = NULL;
}

void monitored_fence_op_signal(const struct monitored_fence *fence, uint64_t value,
                               DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE;
    args->SignalMonitoredFence.MonitoredFenceGpuVa = fence->va;
    args->SignalMonitoredFence.MonitoredFenceValue = value;
}

void monitored_fence_signal(struct vidmm *vidmm, struct monitored_fence *fence, uint64_t value)
{
    if (fence->cpu && *fence->cpu < value)
        *fence->cpu = value;
    vidsch_fence_signal(vidmm->vidsch, &fence->waiters, value);
}

void monitored_fences_interrupted(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType == DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED)
        vidmm->fences.was_signalled = true;
}
