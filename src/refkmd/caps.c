/*
 * DxgkDdiQueryAdapterInfo: what the adapter says about itself, DxgkDdiGetNodeMetadata, and
 * DxgkDdiCalibrateGpuClock.
 *
 * A query that the driver does not know is STATUS_NOT_SUPPORTED, which is how the kernel learns
 * that the feature behind it is absent. One whose buffer is too small is STATUS_BUFFER_TOO_SMALL.
 * Output is written whole: members without an answer are zero.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/mmu.h"
#include "refkmd/memory/segments.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"
#include "refkmd/work/components.h"

#include <ntstatus.h>

/* ---- Driver capabilities --------------------------------------------------------------------- */

/*
 * The version of which the driver is where the kernel's interface is of that version: what it tells
 * by DRIVERCAPS and by WDDMDEVICECAPS.
 */
static DXGK_WDDMVERSION wddm_version(const struct refkmd_adapter *adapter, ULONG interface_version)
{
    if (interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM3_2)
        return DXGKDDI_WDDMv3_2;
    if (interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_9)
        return DXGKDDI_WDDMv3_0;
    if (adapter->model != REFKMD_PHYSICAL)
        return DXGKDDI_WDDMv2_6;
    return interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM1_3 ? DXGKDDI_WDDMv1_3
                                                                  : DXGKDDI_WDDMv1;
}

/*
 * DXGK_DRIVERCAPS has grown at its end with every version. The kernel's own is as long as
 * OutputDataSize says; it gets that much of ours, but at least the members of WDDM 1.1. Keeps
 * PT-001, PATCH-013, TDR-013, ADL-001.
 */
static NTSTATUS query_driver_caps(struct refkmd_adapter *adapter,
                                  const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_DRIVERCAPS caps;
    UINT bytes = query->OutputDataSize;

    RtlZeroMemory(&caps, sizeof caps);
    caps.HighestAcceptableAddress.QuadPart = (LONGLONG)(SGPU_PA_SYSTEM - 1);
    caps.MaxAllocationListSlotId = 1;
    if (adapter->model == REFKMD_PHYSICAL && !(adapter->straps & SGPU_STRAP_NO_RANGES))
        caps.NumberOfSwizzlingRanges = REFKMD_SWIZZLING_RANGES;
    caps.ApertureSegmentCommitLimit = adapter->aperture_bytes;
    caps.SchedulingCaps.MultiEngineAware = refkmd_has_contexts(adapter);
    caps.SchedulingCaps.PreemptionAware = 1;
    caps.FlipCaps.FlipOnVSyncMmIo = refkmd_has_display(adapter);
    caps.MiscCaps.IndependentVidPnVSyncControl =
        refkmd_has_display(adapter) &&
        refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_7);
    /* The page wants an aperture that snoops the caches for it. */
    if (refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WIN7) &&
        (adapter->straps & SGPU_STRAP_COHERENT_APERTURE)) {
        caps.PresentationCaps.SupportKernelModeCommandBuffer = 1;
        caps.PresentationCaps.AlignmentShift = 2; /* the least there is: 4 bytes */
    }
    caps.MemoryManagementCaps.PagingNode =
        refkmd_has_contexts(adapter) ? SGPU_NODE_COPY : SGPU_NODE_RENDER;
    caps.GpuEngineTopology.NbAsymetricProcessingNodes = adapter->node_count;
    caps.WDDMVersion = wddm_version(adapter, adapter->dxgkrnl.Version);
    caps.PreemptionCaps.GraphicsPreemptionGranularity =
        D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.PreemptionCaps.ComputePreemptionGranularity =
        D3DKMDT_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.SupportNonVGA = TRUE;
    caps.SupportPerEngineTDR = TRUE;
    caps.SupportRuntimePowerManagement = refkmd_has_components(adapter);
    caps.SupportSurpriseRemovalInHibernation = TRUE;
    if (adapter->model != REFKMD_PHYSICAL) {
        caps.SupportSurpriseRemoval = TRUE;
        caps.MemoryManagementCaps.VirtualAddressingSupported = 1;
        caps.MemoryManagementCaps.GpuMmuSupported = adapter->model == REFKMD_GPU_MMU;
        caps.MemoryManagementCaps.IoMmuSupported = adapter->model == REFKMD_IO_MMU;
    }
    if (refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_9))
        caps.MemoryManagementCaps.MapAperture2Supported = 1;
    caps.SchedulingCaps.NativeGpuFence = refkmd_has_native_fences(adapter);

    RtlZeroMemory(query->pOutputData, bytes);
    RtlCopyMemory(query->pOutputData, &caps, bytes < sizeof caps ? bytes : sizeof caps);
    return STATUS_SUCCESS;
}

/* ---- Physical adapter ------------------------------------------------------------------------ */

/*
 * DxgkPhysicalAdapterHandle is the kernel's, and left alone. The kernel of WDDM 2.0 gives room up
 * to the flags, a newer one more: members at the end are written only where there is room for them.
 * Keeps VX-009.
 */
static NTSTATUS query_physical_adapter_caps(struct refkmd_adapter *adapter,
                                            const DXGKARG_QUERYADAPTERINFO *query)
{
    const DXGK_QUERYPHYSICALADAPTERCAPSIN *in = query->pInputData;
    DXGK_PHYSICALADAPTERCAPS *caps = query->pOutputData;

    if (in && !NT_SUCCESS(refkmd_check_physical_adapter(in->PhysicalAdapterIndex)))
        return STATUS_INVALID_PARAMETER;
    caps->NumExecutionNodes = (WORD)adapter->node_count;
    caps->PagingNodeIndex = SGPU_NODE_COPY;
    caps->Flags.Value = 0;
    caps->Flags.GpuMmuSupported = adapter->model == REFKMD_GPU_MMU;
    caps->Flags.IoMmuSupported = adapter->model == REFKMD_IO_MMU;
    if (query->OutputDataSize >= RTL_SIZEOF_THROUGH_FIELD(DXGK_PHYSICALADAPTERCAPS, VPRPagingNode))
        caps->VPRPagingNode = 0;
    return STATUS_SUCCESS;
}

/*
 * The highest address of system memory: the device's own addresses have room for no more
 * (IOMMU-004).
 */
static NTSTATUS query_physical_memory_caps(struct refkmd_adapter *adapter,
                                           const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_PHYSICAL_MEMORY_CAPS *caps = query->pOutputData;

    UNREFERENCED_PARAMETER(adapter);
    caps->HighestVisibleAddress.QuadPart = SGPU_PA_SYSTEM - 1;
    return STATUS_SUCCESS;
}

/*
 * Asked, as the query above is, before the device starts: nothing is known of the board yet.
 * Pages of the system are numbers here that go to the hardware as they come, and the CPU is never
 * sent after them: so they may as well be logical ones (ADL-010, IOMMU-004).
 */
static NTSTATUS query_iommu_caps(struct refkmd_adapter *adapter,
                                 const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_IOMMU_CAPS *caps = query->pOutputData;

    UNREFERENCED_PARAMETER(adapter);
    caps->Value = 0;
    caps->DmaRemappingSupported = 1;
    return STATUS_SUCCESS;
}

/* ---- What the kernel asks besides ------------------------------------------------------------ */

/* One for each node: nothing is logged, and so no bit of a time stamp is valid. */
static NTSTATUS query_history_precision(struct refkmd_adapter *adapter,
                                        const DXGKARG_QUERYADAPTERINFO *query)
{
    UNREFERENCED_PARAMETER(adapter);
    RtlZeroMemory(query->pOutputData, query->OutputDataSize);
    return STATUS_SUCCESS;
}

/* Of local memory outside of segments: what they have the kernel saves by evictions. */
static NTSTATUS query_save_size(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_FRAMEBUFFERSAVEAREA *area = query->pOutputData;

    area->MaximumSize = (SIZE_T)adapter->own_bytes;
    return STATUS_SUCCESS;
}

/* Asked before the device starts: the input says what the interface will be that it gets then. */
static NTSTATUS query_device_caps(struct refkmd_adapter *adapter,
                                  const DXGKARG_QUERYADAPTERINFO *query)
{
    const DXGK_WDDMDEVICECAPSIN *in = query->pInputData;
    DXGK_WDDMDEVICECAPS *caps = query->pOutputData;

    if (!in || query->InputDataSize < sizeof *in)
        return STATUS_INVALID_PARAMETER;
    caps->WDDMVersion = wddm_version(adapter, in->DxgkrnlInterfaceVersion);
    return STATUS_SUCCESS;
}

static NTSTATUS query_device_type(struct refkmd_adapter *adapter,
                                  const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_DEVICE_TYPE_CAPS *caps = query->pOutputData;

    UNREFERENCED_PARAMETER(adapter);
    caps->Value = 0;
    caps->Discrete = 1;
    return STATUS_SUCCESS;
}

/* ---- Dispatch -------------------------------------------------------------------------------- */

#define IN_PHYSICAL (1u << REFKMD_PHYSICAL)
#define IN_GPU_MMU  (1u << REFKMD_GPU_MMU)
#define IN_WDDM_2   (IN_GPU_MMU | 1u << REFKMD_IO_MMU)

struct query_handler {
    DXGK_QUERYADAPTERINFOTYPE type;
    UINT models;       /* in which the query has an answer */
    UINT output_bytes; /* at least */
    NTSTATUS (*query)(struct refkmd_adapter *adapter, const DXGKARG_QUERYADAPTERINFO *query);
};

static const struct query_handler handlers[] = {
    {DXGKQAITYPE_DRIVERCAPS, IN_PHYSICAL | IN_WDDM_2,
     RTL_SIZEOF_THROUGH_FIELD(DXGK_DRIVERCAPS, GpuEngineTopology), query_driver_caps},
    {DXGKQAITYPE_QUERYSEGMENT, IN_PHYSICAL, sizeof(DXGK_QUERYSEGMENTOUT), refkmd_query_segments},
    {DXGKQAITYPE_QUERYSEGMENT3, IN_PHYSICAL, sizeof(DXGK_QUERYSEGMENTOUT3), refkmd_query_segments3},
    {DXGKQAITYPE_QUERYSEGMENT4, IN_WDDM_2, sizeof(DXGK_QUERYSEGMENTOUT4), refkmd_query_segments4},
    {DXGKQAITYPE_SEGMENTMEMORYSTATE, IN_GPU_MMU, sizeof(DXGK_QUERYSEGMENTMEMORYSTATE),
     refkmd_query_segment_memory_state},
    {DXGKQAITYPE_UEFIFRAMEBUFFERRANGES, IN_GPU_MMU, sizeof(DXGK_QUERYSEGMENTMEMORYSTATE),
     refkmd_query_firmware_ranges},
    {DXGKQAITYPE_PHYSICALADAPTERCAPS, IN_WDDM_2,
     RTL_SIZEOF_THROUGH_FIELD(DXGK_PHYSICALADAPTERCAPS, Flags), query_physical_adapter_caps},
    {DXGKQAITYPE_PHYSICAL_MEMORY_CAPS, IN_WDDM_2, sizeof(DXGK_PHYSICAL_MEMORY_CAPS),
     query_physical_memory_caps},
    {DXGKQAITYPE_NUMPOWERCOMPONENTS, IN_PHYSICAL | IN_WDDM_2, sizeof(UINT),
     refkmd_query_component_count},
    {DXGKQAITYPE_POWERCOMPONENTINFO, IN_PHYSICAL | IN_WDDM_2, sizeof(DXGK_POWER_RUNTIME_COMPONENT),
     refkmd_query_component},
    {DXGKQAITYPE_HISTORYBUFFERPRECISION, IN_PHYSICAL | IN_WDDM_2,
     sizeof(DXGKARG_HISTORYBUFFERPRECISION), query_history_precision},
    {DXGKQAITYPE_FRAMEBUFFERSAVESIZE, IN_WDDM_2, sizeof(DXGK_FRAMEBUFFERSAVEAREA), query_save_size},
    {DXGKQAITYPE_DEVICE_TYPE_CAPS, IN_WDDM_2, sizeof(DXGK_DEVICE_TYPE_CAPS), query_device_type},
    {DXGKQAITYPE_WDDMDEVICECAPS, IN_WDDM_2, sizeof(DXGK_WDDMDEVICECAPS), query_device_caps},
    {DXGKQAITYPE_IOMMU_CAPS, IN_WDDM_2, sizeof(DXGK_IOMMU_CAPS), query_iommu_caps},
    {DXGKQAITYPE_GPUMMUCAPS, IN_GPU_MMU, sizeof(DXGK_GPUMMUCAPS), refkmd_query_gpu_mmu_caps},
    {DXGKQAITYPE_PAGETABLELEVELDESC, IN_GPU_MMU, sizeof(DXGK_PAGE_TABLE_LEVEL_DESC),
     refkmd_query_page_table_level},
};

NTSTATUS NTAPI RefKmdQueryAdapterInfo(IN_CONST_HANDLE hAdapter,
                                      IN_CONST_PDXGKARG_QUERYADAPTERINFO query)
{
    struct refkmd_adapter *adapter = hAdapter;
    UINT i;

    for (i = 0; i < RTL_NUMBER_OF(handlers); i++) {
        const struct query_handler *handler = &handlers[i];

        if (handler->type != query->Type || !(handler->models & (1u << adapter->model)))
            continue;
        if (!query->pOutputData || query->OutputDataSize < handler->output_bytes)
            return STATUS_BUFFER_TOO_SMALL;
        return handler->query(adapter, query);
    }
    return STATUS_NOT_SUPPORTED;
}

/* All nodes have one clock. The two counters are read as near to each other as can be. */
NTSTATUS NTAPI RefKmdCalibrateGpuClock(IN_CONST_HANDLE hAdapter, UINT32 NodeOrdinal,
                                       UINT32 EngineOrdinal,
                                       OUT_PDXGKARG_CALIBRATEGPUCLOCK calibration)
{
    struct refkmd_adapter *adapter = hAdapter;

    if (NodeOrdinal >= adapter->node_count || EngineOrdinal)
        return STATUS_INVALID_PARAMETER;
    calibration->GpuFrequency = SGPU_CLOCK_HZ;
    calibration->GpuClockCounter = refkmd_read64(adapter, SGPU_REG_CLOCK);
    calibration->CpuClockCounter = (UINT64)KeQueryPerformanceCounter(NULL).QuadPart;
    return STATUS_SUCCESS;
}

/* The node is in the low half; the high half is the physical adapter. */
NTSTATUS NTAPI RefKmdGetNodeMetadata(IN_CONST_HANDLE hAdapter, UINT NodeOrdinalAndAdapterIndex,
                                     OUT_PDXGKARG_GETNODEMETADATA metadata)
{
    struct refkmd_adapter *adapter = hAdapter;
    UINT node = NodeOrdinalAndAdapterIndex & MAXUSHORT;

    if (node >= adapter->node_count || NodeOrdinalAndAdapterIndex >> 16)
        return STATUS_INVALID_PARAMETER;
    RtlZeroMemory(metadata, sizeof *metadata);
    metadata->EngineType = node == SGPU_NODE_RENDER ? DXGK_ENGINE_TYPE_3D : DXGK_ENGINE_TYPE_COPY;
    metadata->GpuMmuSupported = adapter->model == REFKMD_GPU_MMU;
    if (adapter->has_queues && node == SGPU_NODE_RENDER) {
        metadata->Flags.ContextSchedulingSupported = 1;
        metadata->Flags.RingBufferFenceRelease = 1;
        metadata->Flags.MaxInFlightHwQueueBuffers = SGPU_QUEUE_SLOTS;
    }
    return STATUS_SUCCESS;
}
