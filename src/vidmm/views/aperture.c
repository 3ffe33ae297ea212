/*
 * Apertures: the operations that show an allocation's backing store in slots, and take it off
 * again.
 *
 * Up to WDDM 2.8 the pages come as an MDL (MAP_APERTURE_SEGMENT). A driver that opted in to
 * MAP_APERTURE_SEGMENT2 gets an address descriptor list instead, and nothing else (ADL-002): one
 * range where the pages ascend, as they always do where an IOMMU gives the device addresses of its
 * own, else an array. Unmapping is the same for both.
 *
 * config.aperture_piece_pages cuts a mapping into several operations: the list stays that of the
 * whole backing store, and AdlOffset or MdlOffset moves.
 *
 * Source     contract.md APER-001..019, ADL-001..014; sequences S-12, S-21.
 */
#include "vidmm/views/aperture.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/bits.h"

uint64_t device_page(const struct vidmm *vidmm, uint64_t page)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    return platform->device_page ? platform->device_page(platform->context, page) : page;
}

/* The whole backing store; its first page tells which kind of list it needs. */
static void describe_backing(struct vidmm_allocation *allocation, uint64_t at_page, DXGK_ADL *adl)
{
    const struct vidmm *vidmm = allocation->vidmm;
    struct backing *backing = allocation_backing(allocation);
    uint64_t *pages = allocation_backing_pages(allocation);
    uint64_t first = device_page(vidmm, pages[0]);
    uint64_t run = 1;

    if (at_page == 0) {
        while (run < allocation->page_count && device_page(vidmm, pages[run]) == first + run)
            run++;
        backing->is_contiguous_for_device = run == allocation->page_count;
    }
    adl->PageCount = (UINT32)allocation->page_count;
    adl->Flags.Contiguous = backing->is_contiguous_for_device;
    if (adl->Flags.Contiguous) {
        adl->BasePageNumber = first;
        return;
    }
    ASSERT(!vidmm->config.platform.device_page); /* ADL-008 */
    adl->Pages = (DXGK_PAGE_NUMBER *)pages;
}

static bool next_piece(struct vidmm_allocation *allocation, uint64_t *out_first,
                       uint64_t *out_count)
{
    uint64_t piece = allocation->vidmm->config.aperture_piece_pages;
    uint64_t *cursor = &allocation->vidmm->queue.generation.aperture_cursor;
    uint64_t left = allocation->page_count - *cursor;

    *out_first = *cursor;
    *out_count = piece ? min_u64(piece, left) : left;
    if (!left)
        *cursor = 0; /* ready for the next walk */
    else
        *cursor += *out_count;
    return left != 0;
}

bool aperture_op_map(struct vidmm_allocation *allocation, const struct segment *aperture,
                     uint64_t offset, DXGKARG_BUILDPAGINGBUFFER *args)
{
    bool is_coherent = allocation->is_cached && aperture->caps->is_cache_coherent;
    uint64_t first, count;

    if (!next_piece(allocation, &first, &count))
        return false;
    if (allocation->vidmm->caps.maps_aperture2) {
        args->Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT2;
        args->MapApertureSegment2.hDevice = allocation_owner(allocation);
        args->MapApertureSegment2.hAllocation = allocation->driver_handle;
        args->MapApertureSegment2.SegmentId = aperture->id;
        args->MapApertureSegment2.OffsetInPages = (SIZE_T)(offset / PAGE_BYTES + first);
        args->MapApertureSegment2.NumberOfPages = (SIZE_T)count;
        describe_backing(allocation, first, &args->MapApertureSegment2.Adl);
        args->MapApertureSegment2.Flags.CacheCoherent = is_coherent;
        args->MapApertureSegment2.AdlOffset = (ULONG)first;
        args->MapApertureSegment2.CpuVisibleAddress = allocation_backing(allocation)->cpu_view;
        return true;
    }
    args->Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT;
    args->MapApertureSegment.hDevice = allocation_owner(allocation);
    args->MapApertureSegment.hAllocation = allocation->driver_handle;
    args->MapApertureSegment.SegmentId = aperture->id;
    args->MapApertureSegment.OffsetInPages = (SIZE_T)(offset / PAGE_BYTES + first);
    args->MapApertureSegment.NumberOfPages = (SIZE_T)count;
    args->MapApertureSegment.pMdl = allocation->mdl;
    args->MapApertureSegment.MdlOffset = (ULONG)first;
    args->MapApertureSegment.Flags.CacheCoherent = is_coherent;
    return true;
}

bool aperture_op_unmap(struct vidmm_allocation *allocation, const struct segment *aperture,
                       uint64_t offset, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = allocation->vidmm;
    uint64_t first, count;

    if (!next_piece(allocation, &first, &count)) {
        aperture_close_view(allocation);
        return false;
    }
    args->Operation = DXGK_OPERATION_UNMAP_APERTURE_SEGMENT;
    args->UnmapApertureSegment.hDevice = allocation_owner(allocation);
    args->UnmapApertureSegment.hAllocation = allocation->driver_handle;
    args->UnmapApertureSegment.SegmentId = aperture->id;
    args->UnmapApertureSegment.OffsetInPages = (SIZE_T)(offset / PAGE_BYTES + first);
    args->UnmapApertureSegment.NumberOfPages = (SIZE_T)count;
    args->UnmapApertureSegment.DummyPage.QuadPart =
        (LONGLONG)PAGE_BYTES_OF(device_page(vidmm, vidmm->dummy_page));
    return true;
}

/* ---- What the driver's CPU side sees of it (ADL-011) ----------------------------------------- */

NTSTATUS aperture_open_view(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    struct backing *backing = allocation_backing(allocation);

    if (!allocation->wants_cpu_view || !allocation->mdl || backing->cpu_view)
        return STATUS_SUCCESS;
    backing->cpu_view = platform->map_pages(platform->context, allocation->page_count,
                                            allocation_backing_pages(allocation));
    return backing->cpu_view ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

void aperture_close_view(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    struct backing *backing = allocation_backing(allocation);

    if (!allocation->mdl || !backing->cpu_view)
        return;
    platform->unmap_pages(platform->context, backing->cpu_view, allocation->page_count);
    backing->cpu_view = NULL;
}
