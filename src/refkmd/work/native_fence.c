/*
 * Native fences: fences that the GPU keeps itself, for boards that have a unit for them.
 *
 * The unit goes by physical addresses. The kernel makes the driver an object, says with
 * NOTIFY_FENCE_RESIDENCY where its two values are, and says it again whenever they are somewhere
 * else: the driver passes that on to the unit in the order of the paging buffers, so that
 * operations built later find the new place (NTF-010, NTF-011). The user-mode half learns the
 * fence's number from its private data, and signals it from its command buffers without a kernel
 * call.
 *
 * Waits on the CPU are the kernel's business: it tells the driver, for each fence, the value beyond
 * which a signal must interrupt.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"
#include "refkmd/paging/paging.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

/* A native fence, and the place that NOTIFY_FENCE_RESIDENCY told last. */
struct refkmd_native_fence {
    struct refkmd_adapter *adapter;
    UINT number; /* of the GPU's fence unit */
    void *current_cpu, *monitored_cpu;
};

/*
 * Fences between engines without CPU access would be at home in local memory; this driver has none
 * of those.
 */
NTSTATUS NTAPI RefKmdCreateNativeFence(IN_CONST_HANDLE hAdapter,
                                       INOUT_PDXGKARG_CREATENATIVEFENCE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    struct sgpu_umd_native_fence *answer = (void *)args->pPrivateDriverData;
    struct refkmd_native_fence *fence;
    UINT number = 0;

    if (!refkmd_has_native_fences(adapter) || args->Type != D3DDDI_NATIVEFENCE_TYPE_DEFAULT)
        return STATUS_NOT_SUPPORTED;
    while (number < SGPU_FENCES && adapter->native_fences[number])
        number++;
    if (number == SGPU_FENCES)
        return STATUS_INSUFFICIENT_RESOURCES;
    fence = refkmd_alloc(sizeof *fence);
    if (!fence)
        return STATUS_NO_MEMORY;
    fence->adapter = adapter;
    fence->number = number;
    adapter->native_fences[number] = fence;
    answer->version = SGPU_UMD_VERSION;
    answer->fence = number;
    args->hGlobalNativeFence = fence;
    return STATUS_SUCCESS;
}

/* The kernel takes the memory back when this returns, so the unit forgets it first. */
NTSTATUS NTAPI RefKmdDestroyNativeFence(INOUT_PDXGKARG_DESTROYNATIVEFENCE args)
{
    struct refkmd_native_fence *fence = args->hGlobalNativeFence;

    refkmd_write(fence->adapter, SGPU_REG_FENCE_FORGET, fence->number);
    fence->adapter->native_fences[fence->number] = NULL;
    refkmd_free(fence);
    return STATUS_SUCCESS;
}

/*
 * The unit reads the monitored value from memory behind every write of a current value, and keeps
 * no copy of it. So it is enough that the new value is in memory when this returns: a signal that
 * read the old one has written its current value before, and the kernel looks at that afterwards. A
 * unit with a copy would have to be told here, and waited for (FENCE-014).
 */
NTSTATUS NTAPI RefKmdUpdateMonitoredValues(IN_CONST_PDXGKARG_UPDATEMONITOREDVALUES args)
{
    for (UINT i = 0; i < args->NumFences; i++)
        *(volatile UINT64 *)args->MonitoredValueKernelCpuVa[i] = args->UpdatedValueArray[i];
    KeMemoryBarrier();
    return STATUS_SUCCESS;
}

/*
 * One packet a fence. The CPU's addresses of it are noted for a debugger.
 */
static UINT build_homes(struct paging_call *call, UINT64 first, UINT64 limit)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice = &call->args->NotifyFenceResidency;
    UINT built;

    for (built = 0; built < limit; built++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &notice->FenceResidencyInfo[first + built];
        struct refkmd_native_fence *fence = info->hGlobalNativeFence;
        struct sgpu_packet_fence_home *home;

        home = packet_begin(&call->writer, SGPU_OP_FENCE_HOME, sizeof *home);
        if (!home)
            break;
        fence->current_cpu = info->CurrentValueKernelCpuVa;
        fence->monitored_cpu = info->MonitoredValueKernelCpuVa;
        home->flags = 0;
        home->fence = fence->number;
        home->reserved = 0;
        home->current =
            refkmd_physical_address(call->adapter, info->CurrentValuePhysicalAddress.SegmentId,
                                    info->CurrentValuePhysicalAddress.SegmentOffset);
        home->monitored =
            refkmd_physical_address(call->adapter, info->MonitoredValuePhysicalAddress.SegmentId,
                                    info->MonitoredValuePhysicalAddress.SegmentOffset);
    }
    return built;
}

/* A kernel that asks a driver without such fences is answered without harm. */
NTSTATUS paging_build_notify_fence_residency(struct paging_call *call)
{
    if (!refkmd_has_native_fences(call->adapter))
        return STATUS_SUCCESS;
    return paging_build_units(call, call->args->NotifyFenceResidency.NumFences, build_homes);
}
