/*
 * Paging operations on the aperture: MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2 and
 * UNMAP_APERTURE_SEGMENT.
 *
 * Slots change when the packet that changes them runs, in its place among the other packets of the
 * buffer (APER-014), and other slots are not disturbed (APER-013). Whose device it is makes no
 * difference (APER-006).
 *
 * A mapping without an allocation is one of a paging buffer, or of a client's DMA buffer
 * (APER-005). Commands to map a paging buffer would have to run in it, so the slots are written by
 * the CPU, before the call returns; and taken back in the same way, so that both keep their order.
 */
#include "refkmd/memory/save_area.h"
#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"
#include "refkmd/registers.h"

#include <ntstatus.h>

/* The register goes on to the next slot by itself. */
static NTSTATUS write_slots(const struct refkmd_adapter *adapter, UINT64 first_slot, UINT64 count,
                            const UINT64 *pages, UINT64 first_page, UINT64 step)
{
    UINT64 i;

    refkmd_write(adapter, SGPU_REG_SLOT, (ULONG)first_slot);
    for (i = 0; i < count; i++)
        refkmd_write64(adapter, SGPU_REG_SLOT_PAGE, pages ? pages[i] : first_page + i * step);
    return STATUS_SUCCESS;
}

/* first_page on, or as pages lists them. */
static NTSTATUS map_at_once(const struct refkmd_adapter *adapter, UINT64 first_slot, UINT64 count,
                            const UINT64 *pages, UINT64 first_page)
{
    return write_slots(adapter, first_slot, count, pages, first_page, 1);
}

static UINT build_map_pages(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    const PFN_NUMBER *pfn = MmGetMdlPfnArray(args->MapApertureSegment.pMdl) +
                            args->MapApertureSegment.MdlOffset + first;
    struct sgpu_packet_gart *gart;
    UINT count = packet_list_room(&call->writer, sizeof *gart, limit);
    UINT i;

    if (!count)
        return 0;
    gart = packet_begin(&call->writer, SGPU_OP_GART_WRITE,
                        sizeof *gart + count * PACKET_LIST_ELEMENT_BYTES);
    gart->flags = args->MapApertureSegment.Flags.CacheCoherent ? SGPU_GART_COHERENT : 0;
    gart->first_slot = (uint32_t)(args->MapApertureSegment.OffsetInPages + first);
    gart->slot_count = count;
    for (i = 0; i < count; i++)
        gart->pages[i] = pfn[i];
    return count;
}

/* MultipassOffset counts pages. Keeps APER-002, APER-007, APER-015. */
NTSTATUS paging_build_map_aperture_segment(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    UINT64 offset = (UINT64)args->MapApertureSegment.OffsetInPages << SGPU_PAGE_SHIFT;

    if (!args->MapApertureSegment.hAllocation)
        return map_at_once(call->adapter, args->MapApertureSegment.OffsetInPages,
                           args->MapApertureSegment.NumberOfPages,
                           (const UINT64 *)MmGetMdlPfnArray(args->MapApertureSegment.pMdl) +
                               args->MapApertureSegment.MdlOffset,
                           0);
    if (!args->MapApertureSegment.MdlOffset)
        refkmd_save_area_place(
            call->adapter, args->MapApertureSegment.hAllocation,
            refkmd_physical_address(call->adapter, args->MapApertureSegment.SegmentId, offset));
    return paging_build_units(call, args->MapApertureSegment.NumberOfPages, build_map_pages);
}

static UINT build_map2_pages(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    const DXGK_ADL *adl = &args->MapApertureSegment2.Adl;
    UINT64 start = args->MapApertureSegment2.AdlOffset + first;
    struct sgpu_packet_gart *gart;
    UINT count = packet_list_room(&call->writer, sizeof *gart, limit);
    UINT i;

    if (!count)
        return 0;
    gart = packet_begin(&call->writer, SGPU_OP_GART_WRITE,
                        sizeof *gart + count * PACKET_LIST_ELEMENT_BYTES);
    gart->flags = args->MapApertureSegment2.Flags.CacheCoherent ? SGPU_GART_COHERENT : 0;
    gart->first_slot = (uint32_t)(args->MapApertureSegment2.OffsetInPages + first);
    gart->slot_count = count;
    for (i = 0; i < count; i++)
        gart->pages[i] =
            adl->Flags.Contiguous ? adl->BasePageNumber + start + i : adl->Pages[start + i];
    return count;
}

/*
 * Which kind of list it is the list says, each time (ADL-003, ADL-009). Its page numbers go into
 * the slots and nowhere else: they may be logical addresses, which the CPU cannot reach (ADL-010).
 * For the CPU there is CpuVisibleAddress, kept until the pages are unmapped (ADL-011); the list
 * itself is the kernel's again when the call returns (ADL-014). MultipassOffset counts pages. Keeps
 * ADL-006.
 */
NTSTATUS paging_build_map_aperture_segment2(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    const DXGK_ADL *adl = &args->MapApertureSegment2.Adl;
    struct refkmd_allocation *allocation = args->MapApertureSegment2.hAllocation;

    if (!allocation)
        return map_at_once(call->adapter, args->MapApertureSegment2.OffsetInPages,
                           args->MapApertureSegment2.NumberOfPages,
                           adl->Flags.Contiguous
                               ? NULL
                               : (const UINT64 *)adl->Pages + args->MapApertureSegment2.AdlOffset,
                           adl->BasePageNumber + args->MapApertureSegment2.AdlOffset);
    allocation->cpu_view = args->MapApertureSegment2.CpuVisibleAddress;
    if (!args->MapApertureSegment2.AdlOffset)
        refkmd_save_area_place(
            call->adapter, allocation,
            refkmd_physical_address(call->adapter, args->MapApertureSegment2.SegmentId,
                                    (UINT64)args->MapApertureSegment2.OffsetInPages
                                        << SGPU_PAGE_SHIFT));
    return paging_build_units(call, args->MapApertureSegment2.NumberOfPages, build_map2_pages);
}

/*
 * The whole range points at the dummy page afterwards, and accesses to it work (APER-009,
 * APER-010). One packet does it for any number of pages. Keeps APER-015.
 */
NTSTATUS paging_build_unmap_aperture_segment(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    struct refkmd_allocation *allocation = args->UnmapApertureSegment.hAllocation;
    struct sgpu_packet_gart *gart;

    if (!allocation)
        return write_slots(call->adapter, args->UnmapApertureSegment.OffsetInPages,
                           args->UnmapApertureSegment.NumberOfPages, NULL,
                           (UINT64)args->UnmapApertureSegment.DummyPage.QuadPart >> SGPU_PAGE_SHIFT,
                           0);
    allocation->cpu_view = NULL; /* gone when the kernel goes on (ADL-011) */
    if (!args->UnmapApertureSegment.NumberOfPages)
        return STATUS_SUCCESS;
    gart = packet_begin(&call->writer, SGPU_OP_GART_FILL, sizeof *gart + PACKET_LIST_ELEMENT_BYTES);
    if (!gart)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    gart->flags = 0;
    gart->first_slot = (uint32_t)args->UnmapApertureSegment.OffsetInPages;
    gart->slot_count = (uint32_t)args->UnmapApertureSegment.NumberOfPages;
    gart->pages[0] = (UINT64)args->UnmapApertureSegment.DummyPage.QuadPart >> SGPU_PAGE_SHIFT;
    return STATUS_SUCCESS;
}
