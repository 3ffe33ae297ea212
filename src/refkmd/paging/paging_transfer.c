/*
 * Paging operations that move or make content: TRANSFER, FILL and DISCARD_CONTENT by physical
 * address, VIRTUAL_TRANSFER and VIRTUAL_FILL by virtual address.
 *
 * The GPU copies straight between memory and scattered system pages, and it copies in the order of
 * the buffer. So no operation here ever waits for an allocation to become idle, and none answers
 * ALLOCATION_BUSY (XFER-011, XFER-013, DISC-004, VX-010).
 *
 * Content of tiled allocations is tiled in local memory. In system memory it is linear, unless the
 * allocation is marked Swizzled: then it stays as it was, and the kernel keeps account of that.
 * Fills are the same in any order (FILL-007), and local memory is tiled throughout, so that only
 * copies between it and system pages have to look. Surfaces of rows have a pitch in one segment and
 * are packed in all others (XFER-018), so that each side of a transfer has to be looked at by
 * itself.
 */
#include "refkmd/memory/save_area.h"
#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"

#include <ntstatus.h>

/* A COPY holds the engine while it runs. At most this much at a time, to let it answer a reset. */
#define COPY_PIECE_PAGES 4096u /* 16 MiB */

static UINT64 pages_of(UINT64 bytes)
{
    return (bytes >> SGPU_PAGE_SHIFT) + (bytes % SGPU_PAGE_BYTES != 0);
}

/* How many bytes of an operation of total bytes lie in pages [first_page, + pages). */
static UINT64 bytes_in_pages(UINT64 total, UINT64 first_page, UINT64 pages)
{
    return smaller_of(pages << SGPU_PAGE_SHIFT, total - (first_page << SGPU_PAGE_SHIFT));
}

/* ---- TRANSFER -------------------------------------------------------------------------------- */

/*
 * One side of a TRANSFER: a linear physical range, or the pages of an MDL. TransferOffset counts
 * on the side of a segment only (XFER-003), MdlOffset on the side of an MDL only (XFER-004).
 */
struct transfer_side {
    UINT64 linear;             /* where the transfer starts, unless... */
    const PFN_NUMBER *mdl_pfn; /* ...the page frame numbers from there on, not NULL */
    BOOLEAN is_pitched;        /* linear is the start of rows with a pitch, and... */
    UINT64 row_page; /* ...the transfer starts so many pages of the packed surface behind */
};

static struct transfer_side transfer_side(const struct paging_call *call, UINT segment,
                                          LARGE_INTEGER address, MDL *mdl)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    struct transfer_side side = {0, NULL, FALSE, 0};

    side.is_pitched = refkmd_is_pitched(call->adapter, args->Transfer.hAllocation, segment);
    if (side.is_pitched) {
        side.linear = (UINT64)address.QuadPart;
        side.row_page = args->Transfer.TransferOffset >> SGPU_PAGE_SHIFT;
    } else if (segment)
        side.linear = (UINT64)address.QuadPart + args->Transfer.TransferOffset;
    else
        side.mdl_pfn = MmGetMdlPfnArray(mdl) + args->Transfer.MdlOffset;
    return side;
}

static UINT64 side_address(const struct transfer_side *side, UINT64 page)
{
    if (side->mdl_pfn)
        return SGPU_PA_SYSTEM | ((UINT64)side->mdl_pfn[page] << SGPU_PAGE_SHIFT);
    if (side->is_pitched)
        return SGPU_PITCHED(side->linear, (side->row_page + page) << SGPU_PAGE_SHIFT);
    return side->linear + (page << SGPU_PAGE_SHIFT);
}

/* How many pages from this one on follow each other on that side. */
static UINT64 pages_in_row(const struct transfer_side *side, UINT64 page)
{
    UINT64 row_pages = SGPU_ROW_BYTES >> SGPU_PAGE_SHIFT;

    return side->is_pitched ? row_pages - (side->row_page + page) % row_pages : COPY_PIECE_PAGES;
}

/*
 * Whether the order of pages changes on the way. For an allocation that is marked Swizzled the
 * kernel says so (XFER-014, SWZ-008); all others are linear outside local memory, and its flags do
 * not matter (SWZ-007). Without an allocation bytes are bytes (XFER-010).
 */
static BOOLEAN is_reordered(const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct refkmd_allocation *allocation = args->Transfer.hAllocation;

    if (!allocation || !(allocation->flags & SGPU_UMD_TILED))
        return FALSE;
    if (!(allocation->flags & SGPU_UMD_SWIZZLED))
        return TRUE;
    return args->Transfer.Source.SegmentId ? args->Transfer.Flags.Unswizzle
                                           : args->Transfer.Flags.Swizzle;
}

/* Whole pages between a linear range and a list of system pages; 0 when not even one fits. */
static UINT copy_page_list(struct paging_call *call, const struct transfer_side *source,
                           const struct transfer_side *destination, UINT64 first, UINT64 limit)
{
    BOOLEAN to_pages = destination->mdl_pfn != NULL;
    const PFN_NUMBER *pfn = (to_pages ? destination : source)->mdl_pfn + first;
    struct sgpu_packet_copy_pages *copy;
    UINT count = packet_list_room(&call->writer, sizeof *copy, limit);
    UINT i;

    if (!count)
        return 0;
    copy = packet_begin(&call->writer, SGPU_OP_COPY_PAGES,
                        sizeof *copy + count * PACKET_LIST_ELEMENT_BYTES);
    copy->flags = to_pages ? SGPU_COPY_TO_PAGES : 0;
    if (is_reordered(call->args))
        copy->flags |= SGPU_COPY_TILED;
    copy->linear = side_address(to_pages ? source : destination, first);
    if (source->is_pitched || destination->is_pitched)
        copy->linear |= SGPU_PA_PITCHED;
    copy->page_count = count;
    copy->reserved = 0;
    for (i = 0; i < count; i++)
        copy->pages[i] = pfn[i];
    return count;
}

/*
 * Pages of a system page list are wherever they are (XFER-005). An end that does not fill a page is
 * copied by its bytes: exactly TransferSize of them move.
 */
static UINT build_transfer_pages(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    UINT64 total = args->Transfer.TransferSize;
    struct transfer_side source =
        transfer_side(call, args->Transfer.Source.SegmentId, args->Transfer.Source.SegmentAddress,
                      args->Transfer.Source.pMdl);
    struct transfer_side destination =
        transfer_side(call, args->Transfer.Destination.SegmentId,
                      args->Transfer.Destination.SegmentAddress, args->Transfer.Destination.pMdl);
    BOOLEAN is_linear = !source.mdl_pfn && !destination.mdl_pfn;
    BOOLEAN is_listed = !source.mdl_pfn != !destination.mdl_pfn;
    UINT64 whole_pages = (total >> SGPU_PAGE_SHIFT) - smaller_of(total >> SGPU_PAGE_SHIFT, first);
    UINT pages;

    if (is_listed && whole_pages)
        return copy_page_list(call, &source, &destination, first, whole_pages);
    pages = is_linear ? (UINT)smaller_of(limit, smaller_of(pages_in_row(&source, first),
                                                           pages_in_row(&destination, first)))
                      : 1;
    if (!packet_copy(&call->writer, SGPU_PACKET_PHYSICAL, side_address(&source, first),
                     side_address(&destination, first), bytes_in_pages(total, first, pages)))
        return 0;
    return pages;
}

/*
 * MultipassOffset counts pages. Start and end of a transfer, which the flags tell, mean nothing to
 * a driver that keeps no state of it (XFER-007, XFER-008), and the allocation, which may be NULL,
 * tells nothing but its layout (XFER-010). Segments may be on both sides (XFER-019). A TransferSize
 * of 0 says that an allocation was lost in a reset: no packet, no access to the GPU (XFER-016,
 * XFER-017).
 */
NTSTATUS paging_build_transfer(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    if (args->Transfer.Destination.SegmentId)
        refkmd_save_area_place(call->adapter, args->Transfer.hAllocation,
                               (UINT64)args->Transfer.Destination.SegmentAddress.QuadPart);
    return paging_build_units(call, pages_of(args->Transfer.TransferSize), build_transfer_pages);
}

/* ---- FILL, DISCARD_CONTENT ------------------------------------------------------------------- */

static NTSTATUS build_fill(struct paging_call *call, ULONG flags, UINT64 address, UINT64 bytes,
                           ULONG pattern)
{
    if (bytes && !packet_fill(&call->writer, flags, address, bytes, pattern))
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return STATUS_SUCCESS;
}

/* One packet fills any size in units of 4 bytes (FILL-006). Keeps FILL-004, FILL-005. */
NTSTATUS paging_build_fill(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;

    return build_fill(call, SGPU_PACKET_PHYSICAL,
                      (UINT64)args->Fill.Destination.SegmentAddress.QuadPart, args->Fill.FillSize,
                      args->Fill.FillPattern);
}

/* The GPU keeps nothing that belongs to a resident allocation. Keeps DISC-003, PB-027. */
NTSTATUS paging_build_discard_content(struct paging_call *call)
{
    UNREFERENCED_PARAMETER(call);
    return STATUS_SUCCESS;
}

/* ---- VIRTUAL_TRANSFER, VIRTUAL_FILL ---------------------------------------------------------- */

static UINT build_virtual_transfer_pages(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_TRANSFERVIRTUAL *transfer = &call->args->TransferVirtual;
    UINT pages = (UINT)smaller_of(limit, COPY_PIECE_PAGES);
    UINT64 offset = first << SGPU_PAGE_SHIFT;

    if (!packet_copy(&call->writer, 0, transfer->SourceVirtualAddress + offset,
                     transfer->DestinationVirtualAddress + offset,
                     bytes_in_pages(transfer->TransferSizeInBytes, first, pages)))
        return 0;
    return pages;
}

/*
 * Both addresses are in the paging process, mapped where the content is; they already point at
 * the chunk, so AllocationOffsetInBytes is not added (VX-002), and the direction follows from
 * where they are mapped (VX-004, VX-005). MultipassOffset counts pages.
 */
NTSTATUS paging_build_virtual_transfer(struct paging_call *call)
{
    return paging_build_units(call, pages_of(call->args->TransferVirtual.TransferSizeInBytes),
                              build_virtual_transfer_pages);
}

/* Keeps VX-002, VX-008. */
NTSTATUS paging_build_virtual_fill(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_FILLVIRTUAL *fill = &call->args->FillVirtual;

    return build_fill(call, 0, fill->DestinationVirtualAddress, fill->FillSizeInBytes,
                      fill->FillPattern);
}
