/*
 * Swizzling ranges and the transfer that goes with them (WDDM 1.x).
 *
 * A range is hardware through which the CPU sees a tiled allocation in the order of its lines: a
 * part of the window on local memory that puts its pages in order. An allocation that is linear is
 * seen as it is everywhere in the window, and acquiring a range for it only notes the owner. There
 * are REFKMD_SWIZZLING_RANGES of them.
 */
#include "refkmd/memory/swizzling.h"

#include "refkmd/ddi.h"
#include "refkmd/paging/paging.h"
#include "refkmd/registers.h"

#include <ntstatus.h>

static void show(const struct refkmd_adapter *adapter, UINT id, UINT first, UINT end)
{
    refkmd_write(adapter, SGPU_REG_RANGE_END(id), 0); /* nothing while it changes */
    refkmd_write(adapter, SGPU_REG_RANGE_FIRST(id), first);
    refkmd_write(adapter, SGPU_REG_RANGE_END(id), end);
}

/* The board forgets them with its power. */
void refkmd_restore_ranges(const struct refkmd_adapter *adapter)
{
    UINT id;

    for (id = 0; id < REFKMD_SWIZZLING_RANGES; id++) {
        if (adapter->ranges[id].allocation)
            show(adapter, id, adapter->ranges[id].first_page, adapter->ranges[id].end_page);
    }
}

/*
 * The kernel says where the CPU would see the allocation; that address is as good as any (SWZ-002).
 * Called with the GPU running, which is not disturbed (SWZ-005). Keeps SWZ-003: memory that the
 * window does not show cannot be shown by asking again; a range that is taken may be free the next
 * time.
 */
NTSTATUS NTAPI RefKmdAcquireSwizzlingRange(IN_CONST_HANDLE hAdapter,
                                           INOUT_PDXGKARG_ACQUIRESWIZZLINGRANGE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    const struct refkmd_allocation *allocation = args->hAllocation;
    UINT64 offset;
    struct refkmd_range *range;

    if (args->RangeId >= REFKMD_SWIZZLING_RANGES || args->SegmentId != REFKMD_SEGMENT_LOCAL ||
        !args->CPUTranslatedAddress.QuadPart || args->RangeSize > adapter->visible_bytes)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    range = &adapter->ranges[args->RangeId];
    if (range->allocation)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE;
    range->allocation = args->hAllocation;
    range->data = args->PrivateDriverData;
    range->first_page = range->end_page = 0;
    if (allocation->flags & SGPU_UMD_TILED) {
        offset = (UINT64)args->CPUTranslatedAddress.QuadPart - (UINT64)adapter->window_pa.QuadPart;
        range->first_page = (UINT)(offset >> SGPU_PAGE_SHIFT);
        range->end_page = range->first_page + (UINT)(args->RangeSize >> SGPU_PAGE_SHIFT);
        show(adapter, args->RangeId, range->first_page, range->end_page);
    }
    return STATUS_SUCCESS;
}

/* Only this range (SWZ-004). */
NTSTATUS NTAPI RefKmdReleaseSwizzlingRange(IN_CONST_HANDLE hAdapter,
                                           IN_CONST_PDXGKARG_RELEASESWIZZLINGRANGE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    struct refkmd_range *range;

    if (args->RangeId >= REFKMD_SWIZZLING_RANGES)
        return STATUS_SUCCESS;
    range = &adapter->ranges[args->RangeId];
    if (range->allocation == args->hAllocation && range->data == args->PrivateDriverData)
        range->allocation = NULL;
    else
        return STATUS_SUCCESS;
    show(adapter, args->RangeId, 0, 0);
    return STATUS_SUCCESS;
}

/*
 * The order of bytes that the CPU saw through the range is the linear one, and the one that it must
 * find in system memory (SLT-004). That is what a TRANSFER makes of it, so this is a TRANSFER whose
 * MDL starts at its first page (SLT-003). A message says so if the range is not that of the
 * allocation (SLT-005): on the way out it is acquired, on the way in it will be. Keeps SLT-006.
 */
NTSTATUS paging_build_special_lock_transfer(struct paging_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = call->args;
    UINT id = args->SpecialLockTransfer.SwizzlingRangeId;
    DXGKARG_BUILDPAGINGBUFFER plain = *args;
    struct paging_call transfer = {
        .adapter = call->adapter, .args = &plain, .writer = call->writer};
    NTSTATUS status;

    if (args->SpecialLockTransfer.Source.SegmentId &&
        (id >= REFKMD_SWIZZLING_RANGES ||
         call->adapter->ranges[id].allocation != args->SpecialLockTransfer.hAllocation ||
         call->adapter->ranges[id].data != args->SpecialLockTransfer.SwizzlingRangeData))
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_WARNING_LEVEL,
                   "refkmd: special transfer out of range %u, which is not the allocation's\n", id);
    plain.Operation = DXGK_OPERATION_TRANSFER;
    plain.Transfer.hAllocation = args->SpecialLockTransfer.hAllocation;
    plain.Transfer.TransferOffset = args->SpecialLockTransfer.TransferOffset;
    plain.Transfer.TransferSize = args->SpecialLockTransfer.TransferSize;
    plain.Transfer.Source.SegmentId = args->SpecialLockTransfer.Source.SegmentId;
    plain.Transfer.Source.SegmentAddress = args->SpecialLockTransfer.Source.SegmentAddress;
    plain.Transfer.Destination.SegmentId = args->SpecialLockTransfer.Destination.SegmentId;
    plain.Transfer.Destination.SegmentAddress =
        args->SpecialLockTransfer.Destination.SegmentAddress;
    plain.Transfer.Flags = args->SpecialLockTransfer.Flags;
    plain.Transfer.MdlOffset = 0;
    status = paging_build_transfer(&transfer);
    call->writer = transfer.writer;
    call->args->MultipassOffset = plain.MultipassOffset;
    return status;
}
