/*
 * The adapter: its life, and what it says of itself. DriverEntry is at the end.
 */
#include "driver.h"

#define POOL_TAG 0x6c656e49u /* "Inel" in memory */

void *intel_alloc(SIZE_T bytes)
{
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, bytes, POOL_TAG);
}

void intel_free(void *memory)
{
    if (memory)
        ExFreePoolWithTag(memory, POOL_TAG);
}

/* ---- What it says ---------------------------------------------------------------------------- */

/* Entries of page tables have that many bits of an address. */
static NTSTATUS query_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_DRIVERCAPS caps;

    RtlZeroMemory(&caps, sizeof caps);
    caps.HighestAcceptableAddress.QuadPart = (LONGLONG)((1ull << SYSTEM_ADDRESS_BITS) - 1);
    caps.MaxAllocationListSlotId = 1;
    caps.SchedulingCaps.MultiEngineAware = 1;
    caps.SchedulingCaps.PreemptionAware = 1;
    caps.MemoryManagementCaps.PagingNode = IBLT_NODE_PAGING;
    caps.MemoryManagementCaps.VirtualAddressingSupported = 1;
    caps.MemoryManagementCaps.GpuMmuSupported = 1;
    caps.GpuEngineTopology.NbAsymetricProcessingNodes = IBLT_ENGINES;
    caps.WDDMVersion = DXGKDDI_WDDMv2_6;
    caps.PreemptionCaps.GraphicsPreemptionGranularity =
        D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.PreemptionCaps.ComputePreemptionGranularity =
        D3DKMDT_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.SupportNonVGA = TRUE;
    RtlZeroMemory(query->pOutputData, query->OutputDataSize);
    RtlCopyMemory(query->pOutputData, &caps,
                  (SIZE_T)smaller_of(query->OutputDataSize, sizeof caps));
    return STATUS_SUCCESS;
}

static NTSTATUS query_physical_adapter(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_PHYSICALADAPTERCAPS *caps = (DXGK_PHYSICALADAPTERCAPS *)query->pOutputData;

    caps->NumExecutionNodes = IBLT_ENGINES;
    caps->PagingNodeIndex = IBLT_NODE_PAGING;
    caps->Flags.Value = 0;
    caps->Flags.GpuMmuSupported = 1;
    caps->VPRPagingNode = 0;
    return STATUS_SUCCESS;
}

/* What is not known is not there: STATUS_NOT_SUPPORTED. */
static NTSTATUS NTAPI QueryAdapterInfo(IN_CONST_HANDLE hAdapter,
                                       IN_CONST_PDXGKARG_QUERYADAPTERINFO query)
{
    static const struct {
        DXGK_QUERYADAPTERINFOTYPE type;
        UINT bytes; /* of the answer, at least */
    } answers[] = {
        {DXGKQAITYPE_DRIVERCAPS, RTL_SIZEOF_THROUGH_FIELD(DXGK_DRIVERCAPS, GpuEngineTopology)},
        {DXGKQAITYPE_PHYSICALADAPTERCAPS,
         RTL_SIZEOF_THROUGH_FIELD(DXGK_PHYSICALADAPTERCAPS, VPRPagingNode)},
        {DXGKQAITYPE_QUERYSEGMENT4, sizeof(DXGK_QUERYSEGMENTOUT4)},
        {DXGKQAITYPE_GPUMMUCAPS, sizeof(DXGK_GPUMMUCAPS)},
        {DXGKQAITYPE_PAGETABLELEVELDESC, sizeof(DXGK_PAGE_TABLE_LEVEL_DESC)},
        {DXGKQAITYPE_UMDRIVERPRIVATE, 4},
    };
    UINT i = 0;

    while (i < RTL_NUMBER_OF(answers) && answers[i].type != query->Type)
        i++;
    if (i == RTL_NUMBER_OF(answers))
        return STATUS_NOT_SUPPORTED;
    if (!query->pOutputData || query->OutputDataSize < answers[i].bytes)
        return STATUS_BUFFER_TOO_SMALL;
    switch ((UINT)query->Type) {
    case DXGKQAITYPE_DRIVERCAPS:
        return query_caps(query);
    case DXGKQAITYPE_PHYSICALADAPTERCAPS:
        return query_physical_adapter(query);
    case DXGKQAITYPE_QUERYSEGMENT4:
        return intel_query_segments((const struct adapter *)hAdapter, query);
    case DXGKQAITYPE_UMDRIVERPRIVATE:
        return intel_query_user_mode((const struct adapter *)hAdapter, query);
    case DXGKQAITYPE_GPUMMUCAPS:
        return intel_query_mmu(query);
    default:
        return intel_query_level(query);
    }
}

static NTSTATUS NTAPI GetNodeMetadata(IN_CONST_HANDLE hAdapter, UINT NodeOrdinalAndAdapterIndex,
                                      OUT_PDXGKARG_GETNODEMETADATA metadata)
{
    static const DXGK_ENGINE_TYPE types[IBLT_ENGINES] = {
        DXGK_ENGINE_TYPE_3D,
        DXGK_ENGINE_TYPE_VIDEO_DECODE,
        DXGK_ENGINE_TYPE_COPY,
        DXGK_ENGINE_TYPE_COPY,
    };

    UNREFERENCED_PARAMETER(hAdapter);
    if (NodeOrdinalAndAdapterIndex >= IBLT_ENGINES)
        return STATUS_INVALID_PARAMETER;
    RtlZeroMemory(metadata, sizeof *metadata);
    metadata->EngineType = types[NodeOrdinalAndAdapterIndex];
    metadata->GpuMmuSupported = TRUE;
    return STATUS_SUCCESS;
}

/* ---- Its life -------------------------------------------------------------------------------- */

static NTSTATUS NTAPI AddDevice(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
                                OUT_PPVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(PhysicalDeviceObject);
    *MiniportDeviceContext = intel_alloc(sizeof(struct adapter));
    return *MiniportDeviceContext ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS NTAPI RemoveDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    intel_free(MiniportDeviceContext);
    return STATUS_SUCCESS;
}

/* From 4 GiB on a range says its length in larger units. */
static UINT64 length_of(const CM_PARTIAL_RESOURCE_DESCRIPTOR *range)
{
    if (range->Type == CmResourceTypeMemory)
        return range->u.Memory.Length;
    if (range->Flags & CM_RESOURCE_MEMORY_LARGE_40)
        return (UINT64)range->u.Memory40.Length40 << 8;
    if (range->Flags & CM_RESOURCE_MEMORY_LARGE_48)
        return (UINT64)range->u.Memory48.Length48 << 16;
    return (UINT64)range->u.Memory64.Length64 << 32;
}

/* Memory ranges come in the order of the base addresses: registers, local memory. */
static NTSTATUS find_ranges(struct adapter *adapter, const CM_RESOURCE_LIST *resources)
{
    PHYSICAL_ADDRESS *const places[] = {&adapter->registers_pa, &adapter->window_pa};
    const CM_PARTIAL_RESOURCE_LIST *list;
    UINT found = 0;
    ULONG i;

    if (!resources || !resources->Count)
        return STATUS_DEVICE_NOT_CONNECTED;
    list = &resources->List[0].PartialResourceList;
    for (i = 0; i < list->Count && found < RTL_NUMBER_OF(places); i++) {
        const CM_PARTIAL_RESOURCE_DESCRIPTOR *range = &list->PartialDescriptors[i];

        if (range->Type != CmResourceTypeMemory && range->Type != CmResourceTypeMemoryLarge)
            continue;
        if (found == 1)
            adapter->local_bytes = length_of(range);
        *places[found++] = range->u.Memory.Start;
    }
    return found == RTL_NUMBER_OF(places) ? STATUS_SUCCESS : STATUS_DEVICE_NOT_CONNECTED;
}

static NTSTATUS map(struct adapter *adapter, PHYSICAL_ADDRESS address, ULONG bytes, UCHAR **out)
{
    PVOID mapped = NULL;
    NTSTATUS status = adapter->dxgkrnl.DxgkCbMapMemory(adapter->dxgkrnl.DeviceHandle, address,
                                                       bytes, FALSE, FALSE, MmNonCached, &mapped);

    *out = (UCHAR *)mapped;
    return status;
}

static void unmap(struct adapter *adapter, UCHAR **mapped)
{
    if (*mapped)
        adapter->dxgkrnl.DxgkCbUnmapMemory(adapter->dxgkrnl.DeviceHandle, *mapped);
    *mapped = NULL;
}

static NTSTATUS NTAPI StopDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;

    unmap(adapter, &adapter->registers);
    intel_rings_close(adapter);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI StartDevice(IN_CONST_PVOID MiniportDeviceContext,
                                  IN_PDXGK_START_INFO DxgkStartInfo,
                                  IN_PDXGKRNL_INTERFACE DxgkInterface,
                                  OUT_PULONG NumberOfVideoPresentSources,
                                  OUT_PULONG NumberOfChildren)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;
    DXGK_DEVICE_INFO info;
    NTSTATUS status;

    *NumberOfVideoPresentSources = 0;
    *NumberOfChildren = 0;
    if (DxgkStartInfo->RequiredDmaQueueEntry > QUEUE_SLOTS)
        return STATUS_NOT_SUPPORTED;
    RtlZeroMemory(adapter, sizeof *adapter);
    RtlCopyMemory(&adapter->dxgkrnl, DxgkInterface,
                  (SIZE_T)smaller_of(DxgkInterface->Size, sizeof adapter->dxgkrnl));
    RtlZeroMemory(&info, sizeof info);
    status = adapter->dxgkrnl.DxgkCbGetDeviceInformation(adapter->dxgkrnl.DeviceHandle, &info);
    if (NT_SUCCESS(status))
        status = find_ranges(adapter, info.TranslatedResourceList);
    if (NT_SUCCESS(status))
        status = map(adapter, adapter->registers_pa, IBLT_REGISTER_BYTES, &adapter->registers);
    if (NT_SUCCESS(status))
        status = intel_rings_open(adapter);
    if (NT_SUCCESS(status))
        intel_rings_start(adapter);
    else
        StopDevice(adapter);
    return status;
}

/* Before it goes to sleep nothing is under way; what it forgets there it is told again. */
static NTSTATUS NTAPI SetPowerState(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG DeviceUid,
                                    IN_DEVICE_POWER_STATE DevicePowerState,
                                    IN_POWER_ACTION ActionType)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;

    UNREFERENCED_PARAMETER(DeviceUid);
    UNREFERENCED_PARAMETER(ActionType);
    if (DevicePowerState == PowerDeviceD0 && adapter->registers)
        intel_rings_start(adapter);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI QueryChildRelations(IN_CONST_PVOID MiniportDeviceContext,
                                          INOUT_PDXGK_CHILD_DESCRIPTOR ChildRelations,
                                          IN_ULONG ChildRelationsSize)
{
    UNREFERENCED_PARAMETER(MiniportDeviceContext);
    UNREFERENCED_PARAMETER(ChildRelations);
    UNREFERENCED_PARAMETER(ChildRelationsSize);
    return STATUS_SUCCESS;
}

static VOID NTAPI ResetDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(MiniportDeviceContext);
}

static VOID NTAPI Unload(VOID)
{
}

NTSTATUS NTAPI DriverEntry(DRIVER_OBJECT *DriverObject, UNICODE_STRING *RegistryPath)
{
    DRIVER_INITIALIZATION_DATA table;

    RtlZeroMemory(&table, sizeof table);
    table.Version = DXGKDDI_INTERFACE_VERSION_WDDM2_6;
    table.DxgkDdiAddDevice = AddDevice;
    table.DxgkDdiStartDevice = StartDevice;
    table.DxgkDdiStopDevice = StopDevice;
    table.DxgkDdiRemoveDevice = RemoveDevice;
    table.DxgkDdiSetPowerState = SetPowerState;
    table.DxgkDdiQueryChildRelations = QueryChildRelations;
    table.DxgkDdiResetDevice = ResetDevice;
    table.DxgkDdiUnload = Unload;
    table.DxgkDdiQueryAdapterInfo = QueryAdapterInfo;
    table.DxgkDdiGetNodeMetadata = GetNodeMetadata;
    intel_register_memory(&table);
    intel_register_paging(&table);
    intel_register_ring(&table);
    return DxgkInitialize(DriverObject, RegistryPath, &table);
}
