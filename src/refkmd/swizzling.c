/*
 * Swizzling ranges and the transfer that goes with them (WDDM 1.x).
 *
 * A range is hardware through which the CPU sees an allocation in the order of its lines. This board
 * keeps everything linear, so a range is a part of the window on local memory, and what acquiring one
 * amounts to is a note of whose it is. There are REFKMD_SWIZZLING_RANGES of them.
 */
#include "paging.h"

#include <ntstatus.h>

/*
 * The kernel says where the CPU would see the allocation; that address is as good as any (SWZ-002).
 * Called with the GPU running, which is not disturbed (SWZ-005). Keeps SWZ-003: memory that the window
 * does not show cannot be shown by asking again; a range that is taken may be free the next time.
 */
NTSTATUS NTAPI RefKmdAcquireSwizzlingRange(IN_CONST_HANDLE hAdapter,
                                           INOUT_PDXGKARG_ACQUIRESWIZZLINGRANGE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    struct refkmd_range *range;

    if (args->RangeId >= REFKMD_SWIZZLING_RANGES || args->SegmentId != REFKMD_SEGMENT_LOCAL ||
        !args->CPUTranslatedAddress.QuadPart || args->RangeSize > adapter->visible_bytes)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    range = &adapter->ranges[args->RangeId];
    if (range->allocation)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE;
    range->allocation = args->hAllocation;
    range->data = args->PrivateDriverData;
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
    return STATUS_SUCCESS;
}

/*
 * The order of bytes that the CPU saw through the range is the linear one (SLT-004), so this is
 * a TRANSFER whose MDL starts at its first page (SLT-003). It is said if the range is not that of the
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
