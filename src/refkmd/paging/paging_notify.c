/*
 * Paging operations that tell: a fence its value, and the driver where things are.
 */
#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"

#include <ntstatus.h>

/*
 * The value goes to memory behind everything that was built before, because packets run in order,
 * and in one piece: the GPU writes 64 bits at once, so No64BitAtomics is not declared (FENCE-012).
 * The interrupt makes threads that wait on the CPU look again (NTF-007, NTF-009). The address is in
 * the paging process.
 */
NTSTATUS paging_build_signal_monitored_fence(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE *signal = &call->args->SignalMonitoredFence;
    struct sgpu_packet_fence *packet;

    packet = packet_begin(&call->writer, SGPU_OP_FENCE, sizeof *packet);
    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    packet->flags = SGPU_FENCE_INTERRUPT;
    packet->address = signal->MonitoredFenceGpuVa;
    packet->value = signal->MonitoredFenceValue;
    return STATUS_SUCCESS;
}

/*
 * The place of an allocation that is accessed physically, from now on, or that it is about to leave
 * its place. Operations built later may name the address; the content is not there before the
 * copies built earlier have run, so nothing is read here (NTF-006). The driver takes note and
 * writes no command (PB-027).
 */
NTSTATUS paging_build_notify_residency(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice = &call->args->NotifyResidency;
    struct refkmd_allocation *allocation = notice->hAllocation;

    allocation->is_resident = notice->Resident != 0;
    allocation->resident_address = 0;
    if (notice->Resident)
        allocation->resident_address =
            refkmd_physical_address(call->adapter, notice->PhysicalAddress.SegmentId,
                                    notice->PhysicalAddress.SegmentOffset);
    return STATUS_SUCCESS;
}

/*
 * An allocation leaves system memory: the GPU's caches write their part of it back now. Before an
 * eviction the address is in the paging process (NTF-016), before its pages leave the IOMMU it is
 * in the process named (NTF-018); operations built later do not touch it (NTF-019). A process whose
 * contexts have never run has nothing in a cache.
 */
NTSTATUS paging_build_notify_alloc(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice = &call->args->NotifyAllocation;
    const struct refkmd_process *process = notice->hKmdProcessHandle;
    struct sgpu_packet_clean *clean;

    if (process && !process->root)
        return STATUS_SUCCESS;
    clean = packet_begin(&call->writer, SGPU_OP_CLEAN, sizeof *clean);
    if (!clean)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    clean->flags = 0;
    clean->root = process ? process->root : 0;
    clean->address = notice->GpuVirtualAddressAtOffset;
    clean->bytes = notice->SizeInBytes;
    return STATUS_SUCCESS;
}

/*
 * The same for a part of an allocation. The first part tells where it begins; it is contiguous, so
 * that says where the rest is (ALLOC-016). One in system memory may be told of by the list of its
 * pages, and then has no address that is worth noting. The field set differs between kits: this is
 * the newest public one (NTF-014).
 */
NTSTATUS paging_build_notify_residency2(struct paging_call *call)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice = &call->args->NotifyResidency2;
    struct refkmd_allocation *allocation = notice->hAllocation;

    if (notice->AllocationOffsetInPages)
        return STATUS_SUCCESS;
    allocation->is_resident = notice->Resident != 0;
    allocation->resident_address = 0;
    if (notice->Resident && notice->SegmentId)
        allocation->resident_address = refkmd_physical_address(
            call->adapter, notice->SegmentId, notice->PhysicalAddress.SegmentOffset);
    return STATUS_SUCCESS;
}

/*
 * MAP_MMU and UNMAP_MMU are about MMUs beside that of the engines. The GPU has none, and the driver
 * reports none; a kernel that asks all the same is answered without harm (NTF-013).
 */
NTSTATUS paging_build_for_absent_hardware(struct paging_call *call)
{
    UNREFERENCED_PARAMETER(call);
    return STATUS_SUCCESS;
}
