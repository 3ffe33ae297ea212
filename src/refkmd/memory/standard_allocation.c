/*
 * Standard allocations: what the kernel asks for by itself, without the user-mode half.
 *
 * The kernel says what it needs, and the driver answers how to make it: by private data that comes
 * back in DxgkDdiCreateAllocation, or, for the storage of native fences, by the segments alone.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

/*
 * The fence unit reads the monitored value behind each signal, and in local memory that is no trip
 * over the bus. The CPU writes monitored values and reads current ones, so both stay where it sees
 * them (FENCE-019). There is no private data, and the pointer to it is not looked at (FENCE-020).
 */
static NTSTATUS place_fences(const struct refkmd_adapter *adapter,
                             D3DKMDT_FENCESTORAGESURFACEDATA *storage)
{
    UINT aperture = refkmd_aperture_segment(adapter);
    UINT best =
        adapter->has_memory_segments && adapter->visible_bytes ? REFKMD_SEGMENT_LOCAL : aperture;

    if (!refkmd_has_native_fences(adapter) ||
        !NT_SUCCESS(refkmd_check_physical_adapter(storage->PhysicalAdapterIndex)))
        return STATUS_INVALID_PARAMETER;
    storage->AllocationInfo.SupportedWriteSegmentSet =
        REFKMD_SEGMENT_BIT(best) | REFKMD_SEGMENT_BIT(aperture);
    storage->AllocationInfo.EvictionSegmentSet = REFKMD_SEGMENT_BIT(aperture);
    storage->AllocationInfo.PreferredSegment.Value = 0;
    storage->AllocationInfo.PreferredSegment.SegmentId0 = best;
    return STATUS_SUCCESS;
}

/*
 * A surface of rows as the user-mode half would describe it. Without a buffer the kernel asks for
 * the size alone; the description comes back in DxgkDdiCreateAllocation (ALLOC-025).
 */
static NTSTATUS describe_primary(const struct refkmd_adapter *adapter,
                                 DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args)
{
    const D3DKMDT_SHAREDPRIMARYSURFACEDATA *surface = args->pCreateSharedPrimarySurfaceData;
    struct sgpu_umd_allocation *description = args->pAllocationPrivateDriverData;

    if (!refkmd_has_display(adapter) || surface->VidPnSourceId != 0)
        return STATUS_INVALID_PARAMETER;
    if (description) {
        RtlZeroMemory(description, sizeof *description);
        description->version = SGPU_UMD_VERSION;
        description->flags = SGPU_UMD_PRIMARY;
        description->bytes = (UINT64)surface->Width * surface->Height * sizeof(UINT);
    }
    args->AllocationPrivateDriverDataSize = sizeof *description;
    args->ResourcePrivateDriverDataSize = 0;
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI RefKmdGetStandardAllocationDriverData(
    IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args)
{
    switch (args->StandardAllocationType) {
    case D3DKMDT_STANDARDALLOCATION_FENCESTORAGE:
        return place_fences(hAdapter, args->pCreateFenceStorageData);
    case D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE:
        return describe_primary(hAdapter, args);
    default:
        return STATUS_INVALID_PARAMETER;
    }
}
