/*
 * AGP: an aperture of the bridge, not of the GPU.
 *
 * The bridge's GART driver, here the platform, maps system pages in the AGP window; the display
 * driver sees no operation 5 or 6 for them (BANK-008) and gets bus addresses in that window
 * (BANK-007). The bridge may still hold what the GPU wrote when the CPU wants to read it: before
 * the CPU gets such an allocation, the GPU writes to a scratch page of ours and reads from the
 * allocation, and when those have run everything written before them is in memory (PHYS-004,
 * PHYS-005).
 *
 * Source     contract.md BANK-006..008, PHYS-001..005.
 */
#include "vidmm/memory/agp.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"

/* The scratch page is the window's last. */
static uint64_t scratch_offset(const struct segment *segment)
{
    return segment->size - PAGE_BYTES;
}

NTSTATUS agp_open(struct vidmm *vidmm, struct segment *segment)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    NTSTATUS status = platform->take_pages(platform->context, 1, &vidmm->agp_scratch);

    if (!NT_SUCCESS(status))
        return status;
    vidmm->has_agp_scratch = true;
    status = platform->map_agp(platform->context, scratch_offset(segment), 1, &vidmm->agp_scratch);
    if (!NT_SUCCESS(status))
        return status;
    vidmm->agp = segment;
    return range_allocator_take_at(&segment->ranges, scratch_offset(segment), PAGE_BYTES, 0) ==
                   RANGE_OK
               ? STATUS_SUCCESS
               : STATUS_NO_MEMORY;
}

void agp_close(struct vidmm *vidmm)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    if (vidmm->agp)
        platform->unmap_agp(platform->context, scratch_offset(vidmm->agp), 1);
    if (vidmm->has_agp_scratch)
        platform->release_pages(platform->context, 1, &vidmm->agp_scratch);
    vidmm->agp = NULL;
    vidmm->has_agp_scratch = false;
}

NTSTATUS agp_map(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;

    return platform->map_agp(platform->context, allocation->place.offset, allocation->page_count,
                             allocation_backing_pages(allocation));
}

void agp_unmap(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;

    platform->unmap_agp(platform->context, allocation->place.offset, allocation->page_count);
}

bool agp_op_flush(struct vidmm_allocation *allocation, unsigned *step,
                  DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t base = allocation->place.segment->caps->base;

    switch ((*step)++) {
    case 0:
        args->Operation = DXGK_OPERATION_WRITE_PHYSICAL;
        args->WritePhysical.SegmentId = allocation->place.segment->id;
        args->WritePhysical.PhysicalAddress.QuadPart =
            (LONGLONG)(base + scratch_offset(allocation->place.segment));
        return true;
    case 1:
        args->Operation = DXGK_OPERATION_READ_PHYSICAL;
        args->ReadPhysical.SegmentId = allocation->place.segment->id;
        args->ReadPhysical.PhysicalAddress.QuadPart = (LONGLONG)(base + allocation->place.offset);
        return true;
    default:
        allocation->is_agp_dirty = false;
        return false;
    }
}

static enum job_step flush_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, flush_job);

    return agp_op_flush(allocation, &job->phase, args) ? JOB_OPERATION : JOB_DONE;
}

static void flush_finished(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, flush_job);

    allocation->is_flushing = false;
    allocation_unhold(allocation);
}

static const struct job_ops flush_ops = {.next = flush_next, .finished = flush_finished};

bool agp_flush(struct vidmm_allocation *allocation)
{
    if (allocation->place.segment != allocation->vidmm->agp || !allocation->place.segment)
        return false;
    if (!allocation->is_flushing) {
        if (!allocation->is_agp_dirty)
            return false;
        allocation->is_flushing = true;
        allocation_hold(allocation);
        allocation->flush_job.ops = &flush_ops;
        paging_queue_add(allocation->vidmm, &allocation->flush_job);
        vidmm_pump(allocation->vidmm);
    }
    return true;
}
