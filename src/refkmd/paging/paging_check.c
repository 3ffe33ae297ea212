/*
 * Paging operations, looked at before they are built.
 *
 * An operation is the kernel's word, and there is no way to refuse it (PB-008). But commands built
 * from a wrong handle, or from a range that leaves its allocation, destroy memory long after the
 * call, where nobody can tell why. So the operation's claims about the driver's own objects are
 * compared with the objects, and a contradiction is printed here, where it can be understood; the
 * operation is built as it was asked for all the same.
 */
#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

typedef const char *paging_checker(const struct paging_call *call);

/* ---- The driver's objects -------------------------------------------------------------------- */

/* NULL is an allocation that the driver did not create: a DMA buffer, a page table. */
static BOOLEAN is_allocation(HANDLE handle)
{
    const struct refkmd_allocation *allocation = handle;

    return !allocation || allocation->signature == REFKMD_ALLOCATION_SIGNATURE;
}

/* The kernel rounds sizes up to the pages that it hands out. */
static BOOLEAN is_part(const struct paging_call *call, HANDLE handle, UINT64 offset, UINT64 bytes)
{
    const struct refkmd_allocation *allocation = handle;
    UINT64 unit = refkmd_has_64k_pages(call->adapter) ? SGPU_64K_BYTES : SGPU_PAGE_BYTES;
    UINT64 whole;

    if (!is_allocation(handle))
        return FALSE;
    if (!allocation)
        return TRUE;
    whole = (allocation->kernel_bytes + unit - 1) & ~(unit - 1);
    return offset <= whole && bytes <= whole - offset;
}

/* NULL is the device of a primary (APER-006). */
static BOOLEAN is_device(HANDLE handle)
{
    const struct refkmd_device *device = handle;

    return !device || device->signature == REFKMD_DEVICE_SIGNATURE;
}

static BOOLEAN is_process(const struct paging_call *call, HANDLE handle)
{
    const struct refkmd_process *process = handle;

    return process && process->signature == REFKMD_PROCESS_SIGNATURE &&
           process->adapter == call->adapter;
}

static UINT64 bytes_of_pages(UINT64 pages)
{
    return pages << SGPU_PAGE_SHIFT;
}

/* ---- Content by physical address ------------------------------------------------------------- */

/*
 * Where the kernel cuts a transfer, the first part starts at the allocation's first byte and the
 * last one ends behind its last (XFER-006, XFER-007). TransferSize 0 is no transfer (XFER-016).
 */
static const char *check_transfer(const struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    UINT64 offset = args->Transfer.TransferOffset;

    if (!is_part(call, args->Transfer.hAllocation, offset, args->Transfer.TransferSize))
        return "XFER-002: hAllocation has no such part";
    if (args->Transfer.Flags.TransferStart && offset)
        return "XFER-007: TransferStart, but not at the start";
    if (args->Transfer.Flags.Swizzle && args->Transfer.Flags.Unswizzle)
        return "XFER-015: Swizzle and Unswizzle";
    return NULL;
}

static const char *check_fill(const struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    if (!is_part(call, args->Fill.hAllocation, 0, args->Fill.FillSize))
        return "FILL-005: FillSize is more than hAllocation has";
    if (!refkmd_is_in_segment(call->adapter, args->Fill.Destination.SegmentId,
                              (UINT64)args->Fill.Destination.SegmentAddress.QuadPart,
                              args->Fill.FillSize))
        return "FILL-002: Destination is not in its segment";
    return NULL;
}

static const char *check_discard_content(const struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    if (!is_allocation(args->DiscardContent.hAllocation))
        return "DISC-002: hAllocation is none";
    if (!refkmd_is_in_segment(call->adapter, args->DiscardContent.SegmentId,
                              (UINT64)args->DiscardContent.SegmentAddress.QuadPart, 0))
        return "DISC-002: SegmentAddress is not in its segment";
    return NULL;
}

/* 0 is system memory, and the MDL that describes it (CTX-006). */
static const char *check_init_context_resource(const struct paging_call *call)
{
    UINT segment = call->args->InitContextResource.Destination.SegmentId;

    return segment <= call->adapter->segment_count ? NULL : "CTX-006: there is no such segment";
}

/* ---- Aperture -------------------------------------------------------------------------------- */

static BOOLEAN are_slots(const struct paging_call *call, UINT segment, UINT64 first, UINT64 count)
{
    UINT64 slots = call->adapter->aperture_bytes >> SGPU_PAGE_SHIFT;

    return segment == refkmd_aperture_segment(call->adapter) && first <= slots &&
           count <= slots - first;
}

static const char *check_map_aperture_segment(const struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    if (!is_device(args->MapApertureSegment.hDevice))
        return "APER-006: hDevice is none";
    if (!is_part(call, args->MapApertureSegment.hAllocation, 0,
                 bytes_of_pages(args->MapApertureSegment.NumberOfPages)))
        return "APER-002: more pages than hAllocation has";
    if (!are_slots(call, args->MapApertureSegment.SegmentId, args->MapApertureSegment.OffsetInPages,
                   args->MapApertureSegment.NumberOfPages))
        return "APER-003: the slots are not in the aperture";
    return NULL;
}

static const char *check_map_aperture_segment2(const struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    if (!is_device(args->MapApertureSegment2.hDevice))
        return "APER-006: hDevice is none";
    if (!are_slots(call, args->MapApertureSegment2.SegmentId,
                   args->MapApertureSegment2.OffsetInPages,
                   args->MapApertureSegment2.NumberOfPages))
        return "APER-003: the slots are not in the aperture";
    if (args->MapApertureSegment2.AdlOffset + args->MapApertureSegment2.NumberOfPages >
        args->MapApertureSegment2.Adl.PageCount)
        return "ADL-007: the list is shorter";
    return NULL;
}

static const char *check_unmap_aperture_segment(const struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    if (!is_device(args->UnmapApertureSegment.hDevice))
        return "APER-006: hDevice is none";
    if (!are_slots(call, args->UnmapApertureSegment.SegmentId,
                   args->UnmapApertureSegment.OffsetInPages,
                   args->UnmapApertureSegment.NumberOfPages))
        return "APER-016: the slots are not in the aperture";
    return NULL;
}

/* ---- Content by virtual address, page tables ------------------------------------------------- */

/* Pages of 64 KiB are said of a board that has them, and begin at their own size (VX-007). */
static const char *check_virtual_transfer(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *transfer = &call->args->TransferVirtual;

    if (!is_part(call, transfer->hAllocation, transfer->AllocationOffsetInBytes,
                 transfer->TransferSizeInBytes))
        return "VX-003: hAllocation has no such part";
    if (transfer->TransferDirection != DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM &&
        transfer->TransferDirection != DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL &&
        transfer->TransferDirection != DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL)
        return "VX-005: no such TransferDirection";
    if ((transfer->Flags.Src64KBPages || transfer->Flags.Dst64KBPages) &&
        !refkmd_has_64k_leaves(call->adapter))
        return "VX-007: there are no pages of 64 KiB";
    if (transfer->SourcePageTable % SGPU_PAGE_BYTES ||
        transfer->DestinationPageTable % SGPU_PAGE_BYTES)
        return "VX-006: no table begins there";
    if (!(call->adapter->straps & SGPU_STRAP_TABLES_IN_COPY) &&
        (transfer->SourcePageTable || transfer->DestinationPageTable))
        return "VX-006: nobody asked for page tables";
    return NULL;
}

static const char *check_virtual_fill(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *fill = &call->args->FillVirtual;

    return is_part(call, fill->hAllocation, fill->AllocationOffsetInBytes, fill->FillSizeInBytes)
               ? NULL
               : "VX-008: hAllocation has no such part";
}

/* How much of the address space an entry of the level covers. */
static UINT64 entry_span(const struct paging_call *call,
                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    UINT64 span = SGPU_PAGE_BYTES;
    UINT level;

    if (update->PageTableLevel == 0 && update->Flags.Use64KBPages)
        return SGPU_64K_BYTES;
    for (level = 0; level < update->PageTableLevel && level < SGPU_MAX_LEVELS; level++)
        span <<= call->adapter->index_bits[level];
    return span;
}

/* An entry of the root is made valid that the driver has for itself (process.c). */
static BOOLEAN writes_own_range(const struct paging_call *call,
                                const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const struct refkmd_process *process = update->hProcess;
    UINT64 entry;

    if (!process->own_bytes || update->PageTableLevel + 1 != call->adapter->level_count)
        return FALSE;
    entry = process->own_va / process->own_bytes;
    if (!update->pPageTableEntries || entry < update->StartIndex ||
        entry - update->StartIndex >= update->NumPageTableEntries)
        return FALSE;
    return update->pPageTableEntries[update->Flags.Repeat ? 0 : entry - update->StartIndex].Valid;
}

static const char *check_update_page_table(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &call->args->UpdatePageTable;

    if (!is_part(call, update->hAllocation, update->AllocationOffsetInBytes, 0))
        return "PT-029: AllocationOffsetInBytes is not in hAllocation";
    if (!is_process(call, update->hProcess))
        return "PT-013: hProcess is none";
    if (update->FirstPteVirtualAddress & (entry_span(call, update) - 1) ||
        update->FirstPteVirtualAddress >> call->adapter->va_bits)
        return "PT-017: FirstPteVirtualAddress is not where an entry begins";
    if (writes_own_range(call, update))
        return "PT-045: an entry is valid that is the driver's";
    return NULL;
}

static const char *check_flush_tlb(const struct paging_call *call)
{
    return is_process(call, call->args->FlushTlb.hProcess) ? NULL : "TLB-001: hProcess is none";
}

/* ---- Notices --------------------------------------------------------------------------------- */

/*
 * Before an eviction no process is named, before pages leave the IOMMU one is (NTF-016, NTF-018).
 */
static const char *check_notify_alloc(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice = &call->args->NotifyAllocation;

    if (!is_part(call, notice->hAllocation, notice->OffsetInBytes, notice->SizeInBytes))
        return "NTF-016: hAllocation has no such part";
    if (notice->Flags.Eviction == notice->Flags.IoMmuUnmap)
        return "NTF-020: one of Eviction and IoMmuUnmap is what it is about";
    if (notice->Flags.IoMmuUnmap ? !is_process(call, notice->hKmdProcessHandle)
                                 : notice->hKmdProcessHandle != NULL)
        return "NTF-018: hKmdProcessHandle is for IoMmuUnmap";
    return NULL;
}

static const char *check_notify_residency2(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice = &call->args->NotifyResidency2;

    if (!is_part(call, notice->hAllocation, bytes_of_pages(notice->AllocationOffsetInPages),
                 bytes_of_pages(notice->SizeInPages)))
        return "NTF-014: hAllocation has no such part";
    if (notice->Resident && notice->SegmentId &&
        notice->PhysicalAddress.SegmentId != notice->SegmentId)
        return "NTF-014: PhysicalAddress is in another segment";
    if (notice->Resident && !notice->SegmentId && !notice->Mdl)
        return "NTF-014: resident, and neither in a segment nor in the pages of an MDL";
    return NULL;
}

/* ---- Auxiliary MMUs -------------------------------------------------------------------------- */

static UINT64 last_page(const DXGK_ADL *adl)
{
    return adl->Flags.Contiguous ? adl->BasePageNumber + adl->PageCount - 1
                                 : adl->Pages[adl->PageCount - 1];
}

/* The part, the MMU and pages that a device can name (ADL-004, ADL-005). */
static const char *check_map_mmu(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_MAPMMU *map = &call->args->MmapMmu;

    if (!map->MmuId || map->VirtualAddress % SGPU_PAGE_BYTES)
        return "NTF-012: MmuId or VirtualAddress is none";
    if (!is_part(call, map->hAllocation, bytes_of_pages(map->AllocationOffsetInPages),
                 bytes_of_pages(map->Adl.PageCount)))
        return "NTF-012: hAllocation has no such part";
    if (!map->Adl.PageCount || last_page(&map->Adl) >= SGPU_PA_SYSTEM >> SGPU_PAGE_SHIFT)
        return "NTF-012: pages that no device reaches";
    if (map->SegmentId && !refkmd_is_in_segment(call->adapter, map->SegmentId,
                                                call->adapter->segment_base[map->SegmentId] +
                                                    bytes_of_pages(last_page(&map->Adl)),
                                                SGPU_PAGE_BYTES))
        return "NTF-012: pages that are not in the segment";
    return NULL;
}

static const char *check_unmap_mmu(const struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_UNMAPMMU *unmap = &call->args->UnmapMmu;

    if (!unmap->MmuId || unmap->VirtualAddress % SGPU_PAGE_BYTES)
        return "NTF-012: MmuId or VirtualAddress is none";
    if (!is_part(call, unmap->hAllocation, bytes_of_pages(unmap->AllocationOffset),
                 bytes_of_pages(unmap->NumberOfPages)))
        return "NTF-012: hAllocation has no such part";
    return NULL;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static paging_checker *const checkers[] = {
    [DXGK_OPERATION_TRANSFER] = check_transfer,
    [DXGK_OPERATION_FILL] = check_fill,
    [DXGK_OPERATION_DISCARD_CONTENT] = check_discard_content,
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT] = check_map_aperture_segment,
    [DXGK_OPERATION_UNMAP_APERTURE_SEGMENT] = check_unmap_aperture_segment,
    [DXGK_OPERATION_VIRTUAL_TRANSFER] = check_virtual_transfer,
    [DXGK_OPERATION_VIRTUAL_FILL] = check_virtual_fill,
    [DXGK_OPERATION_INIT_CONTEXT_RESOURCE] = check_init_context_resource,
    [DXGK_OPERATION_UPDATE_PAGE_TABLE] = check_update_page_table,
    [DXGK_OPERATION_FLUSH_TLB] = check_flush_tlb,
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT2] = check_map_aperture_segment2,
    [DXGK_OPERATION_MAP_MMU] = check_map_mmu,
    [DXGK_OPERATION_UNMAP_MMU] = check_unmap_mmu,
    [DXGK_OPERATION_NOTIFY_RESIDENCY2] = check_notify_residency2,
    [DXGK_OPERATION_NOTIFY_ALLOC] = check_notify_alloc,
};

void paging_check(const struct paging_call *call)
{
    UINT operation = (UINT)call->args->Operation;
    const char *fault = NULL;

    if (operation < RTL_NUMBER_OF(checkers) && checkers[operation])
        fault = checkers[operation](call);
    if (fault)
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL,
                   "refkmd: paging operation %u contradicts itself: %s\n", operation, fault);
}
