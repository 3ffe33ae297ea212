/*
 * AGP: an aperture of the bridge, not of the GPU.
 *
 * The bridge's GART driver, here the platform, maps system pages in the AGP window; the display
 * driver sees no operation 5 or 6 for them (BANK-008) and gets bus addresses in that window
 * (BANK-007). The bridge may still hold the GPU's writes when the CPU wants to read them: before
 * the CPU gets such an allocation, the GPU writes to a scratch page of ours and reads from the
 * allocation, and when those have run everything written before them is in memory (PHYS-004,
 * PHYS-005).
 *
 * Source     contract.md BANK-006..008, PHYS-001..005.
 */
#include "vidmm/views/agp.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"
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
