/*
 * virtio: a display miniport for a virtio-gpu device (examples/gpu/virtio_gpu.c). It manages one
 * aperture.
 *
 * Model      WDDM 1.3, one node, one aperture segment that exists in the kernel's books alone: an
 *            allocation is a resource of the host, and mapping it into the aperture gives the host
 *            the list of its pages (ATTACH_BACKING), unmapping takes it back (DETACH_BACKING). Both
 *            are told to the host while DxgkDdiBuildPagingBuffer runs, by its control queue, whose
 *            order is the order of all that the host does; paging buffers stay empty, as those of
 *            the open drivers viogpu3d and mali do.
 *
 *            queue.c is the device: requests stand in a list of the driver's (pending) until the
 *            ring has room, and the interrupt of the control queue asks for a DPC, which takes what
 *            has ended out of it.
 * Mistakes   VIRTIO_MISTAKE=1: MdlOffset is not looked at; 2: the host is not told of unmappings.
 * Data       Allocations and commands come as the model's client writes them: ten dwords of options
 *            and a size; a kind, a size and the host's command. Patch locations are the client's.
 * Source     Virtual I/O Device (VIRTIO) 1.2, chapters 2.7, 4.1 and 5.7; contract.md; rules are
 *            named where they are kept.
 */
#include "virtio.h"

#ifndef VIRTIO_MISTAKE
#define VIRTIO_MISTAKE 0
#endif

EXTERN_C DRIVER_INITIALIZE DriverEntry;

/* ---- Submissions ----------------------------------------------------------------------------- */

/* An empty one ends behind what the host has before it, like all others. */
static NTSTATUS NTAPI SubmitCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
    struct adapter *adapter = (struct adapter *)hAdapter;
    struct pending pending = {0};

    pending.address =
        (UINT64)args->DmaBufferPhysicalAddress.QuadPart + args->DmaBufferSubmissionStartOffset;
    pending.bytes = args->DmaBufferSubmissionEndOffset - args->DmaBufferSubmissionStartOffset;
    pending.fence = adapter->submitted_fence = args->SubmissionFenceId;
    if (!pending.bytes || args->Flags.NullRendering) { /* SUB-005 */
        pending.address = adapter->rings_pa + FIELD_OFFSET(struct rings, nothing);
        pending.bytes = sizeof adapter->rings->nothing;
    }
    ask(adapter, &pending);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI PreemptCommand(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
    struct adapter *adapter = (struct adapter *)hAdapter;

    adapter->preemption_fence = args->PreemptionFenceId;
    adapter->is_preempted = TRUE;
    end_preemption(adapter);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI QueryCurrentFence(IN_CONST_HANDLE hAdapter,
                                        INOUT_PDXGKARG_QUERYCURRENTFENCE args)
{
    args->CurrentFence = ((const struct adapter *)hAdapter)->completed_fence;
    return STATUS_SUCCESS;
}

/*
 * The client's command is the host's but for what stands before it: DMA buffers are requests as
 * they are.
 */
static NTSTATUS NTAPI Render(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_RENDER args)
{
    struct submit_header *submit = (struct submit_header *)args->pDmaBuffer;
    UINT head[2], i;

    UNREFERENCED_PARAMETER(hContext);
    if (args->CommandLength < sizeof head ||
        args->PatchLocationListInSize > args->PatchLocationListOutSize)
        return STATUS_INVALID_USER_BUFFER;
    RtlCopyMemory(head, args->pCommand, sizeof head);
    if (head[1] > args->CommandLength - sizeof head || args->DmaSize < sizeof *submit ||
        head[1] > args->DmaSize - sizeof *submit)
        return STATUS_INVALID_USER_BUFFER;
    RtlZeroMemory(submit, sizeof *submit);
    submit->header.type = SUBMIT_3D;
    submit->header.context = CONTEXT;
    submit->bytes = head[1];
    RtlCopyMemory(submit + 1, (const UCHAR *)args->pCommand + sizeof head, head[1]);
    for (i = 0; i < args->PatchLocationListInSize; i++) {
        *args->pPatchLocationListOut = args->pPatchLocationListIn[i];
        args->pPatchLocationListOut->SlotId = 0; /* PATCH-013: there is one */
        args->pPatchLocationListOut++;
    }
    args->pDmaBuffer = (UCHAR *)(submit + 1) + head[1];
    args->MultipassOffset = args->CommandLength;
    return STATUS_SUCCESS;
}

/* The host knows resources, and no addresses. */
static NTSTATUS NTAPI Patch(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PATCH args)
{
    UNREFERENCED_PARAMETER(hAdapter);
    UNREFERENCED_PARAMETER(args);
    return STATUS_SUCCESS;
}

/* ---- Paging ---------------------------------------------------------------------------------- */

static void attach(struct adapter *adapter, const struct allocation *allocation)
{
    SIZE_T bytes = FIELD_OFFSET(struct resource_request, entries) +
                   allocation->page_count * sizeof((struct resource_request *)0)->entries[0];
    struct resource_request *request = (struct resource_request *)take_contiguous(bytes);
    UINT i;

    for (i = 0; request && i < allocation->page_count; i++) {
        request->entries[i].address = allocation->pages[i];
        request->entries[i].bytes = PAGE;
    }
    if (request) {
        request->id = allocation->id;
        request->count = allocation->page_count;
    }
    ask_with(adapter, request, bytes, ATTACH_BACKING);
}

/*
 * It may come in pieces, in the order of the allocation, and the host takes a backing as a whole.
 * Of the list, the pages from MdlOffset on (APER-002), which say nothing of where in the allocation
 * they are: the aperture does.
 */
static void map(struct adapter *adapter, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct allocation *allocation = (struct allocation *)args->MapApertureSegment.hAllocation;
    const PFN_NUMBER *pages = MmGetMdlPfnArray(args->MapApertureSegment.pMdl) +
                              (VIRTIO_MISTAKE == 1 ? 0 : args->MapApertureSegment.MdlOffset);
    UINT64 slot = args->MapApertureSegment.OffsetInPages;
    UINT count = (UINT)args->MapApertureSegment.NumberOfPages, i;

    if (!allocation->mapped_count)
        allocation->first_slot = slot;
    for (i = 0; i < count && slot - allocation->first_slot + i < allocation->page_count; i++)
        allocation->pages[slot - allocation->first_slot + i] = (UINT64)pages[i] * PAGE;
    allocation->mapped_count += i;
    if (allocation->mapped_count == allocation->page_count)
        attach(adapter, allocation);
}

static void unmap(struct adapter *adapter, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct allocation *allocation = (struct allocation *)args->UnmapApertureSegment.hAllocation;
    UINT count = (UINT)args->UnmapApertureSegment.NumberOfPages;

    if (allocation->mapped_count == allocation->page_count && VIRTIO_MISTAKE != 2)
        ask_about(adapter, DETACH_BACKING, allocation->id);
    allocation->mapped_count -= count < allocation->mapped_count ? count : allocation->mapped_count;
}

/* Buffers are mapped without an allocation (APER-005): the host reads them where they are. */
static NTSTATUS NTAPI BuildPagingBuffer(IN_CONST_HANDLE hAdapter,
                                        IN_PDXGKARG_BUILDPAGINGBUFFER args)
{
    struct adapter *adapter = (struct adapter *)hAdapter;

    switch ((UINT)args->Operation) {
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        if (args->MapApertureSegment.hAllocation)
            map(adapter, args);
        break;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        if (args->UnmapApertureSegment.hAllocation)
            unmap(adapter, args);
        break;
    default:
        break;
    }
    return STATUS_SUCCESS; /* PB-009: there is no other answer */
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void destroy_one(struct allocation *allocation)
{
    ask_about(allocation->adapter, RESOURCE_UNREF, allocation->id);
    RemoveEntryList(&allocation->link);
    give_back(allocation);
}

static NTSTATUS create_one(struct adapter *adapter, DXGK_ALLOCATIONINFO *info)
{
    struct allocation *allocation;
    struct exchange data;
    NTSTATUS status;
    UINT64 pages;

    if (!info->pPrivateDriverData || info->PrivateDriverDataSize < sizeof data)
        return STATUS_INVALID_PARAMETER;
    RtlCopyMemory(&data, info->pPrivateDriverData, sizeof data);
    pages = ((data.size[0] | (UINT64)data.size[1] << 32) + PAGE - 1) / PAGE;
    if (!pages || pages > APERTURE_BYTES / PAGE)
        return STATUS_INVALID_PARAMETER;
    allocation = (struct allocation *)take(sizeof *allocation + (SIZE_T)(pages - 1) * sizeof pages);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->adapter = adapter;
    allocation->size = data.size[0] | (UINT64)data.size[1] << 32;
    allocation->page_count = (UINT)pages;
    allocation->id = ++adapter->last_id;
    RtlCopyMemory(allocation->options, data.options, sizeof data.options);
    status = create_resource(adapter, allocation);
    if (!NT_SUCCESS(status)) {
        give_back(allocation);
        return status;
    }
    InsertTailList(&adapter->allocations, &allocation->link);
    info->Alignment = PAGE;
    info->Size = (SIZE_T)allocation->size;
    info->PitchAlignedSize = 0;
    info->HintedBank.Value = 0;
    info->PreferredSegment.Value = 0;
    info->PreferredSegment.SegmentId0 = 1;
    info->SupportedReadSegmentSet = 1;
    info->SupportedWriteSegmentSet = 1;
    info->EvictionSegmentSet = 0;
    info->MaximumRenamingListLength = 1; /* 0: any; the host has one backing of it */
    info->pAllocationUsageHint = NULL;
    info->AllocationPriority = PRIORITY_NORMAL;
    info->Flags.Value = 0;
    info->Flags.CpuVisible = 1;
    info->hAllocation = allocation;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateAllocation(IN_CONST_HANDLE hAdapter,
                                       INOUT_PDXGKARG_CREATEALLOCATION args)
{
    NTSTATUS status = STATUS_SUCCESS;
    UINT i;

    for (i = 0; i < args->NumAllocations && NT_SUCCESS(status); i++)
        status = create_one((struct adapter *)hAdapter, &args->pAllocationInfo[i]);
    if (!NT_SUCCESS(status))
        for (i--; i > 0; i--)
            destroy_one((struct allocation *)args->pAllocationInfo[i - 1].hAllocation);
    return status;
}

static NTSTATUS NTAPI DestroyAllocation(IN_CONST_HANDLE hAdapter,
                                        IN_CONST_PDXGKARG_DESTROYALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hAdapter);
    for (i = 0; i < args->NumAllocations; i++)
        destroy_one((struct allocation *)args->pAllocationList[i]);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DescribeAllocation(IN_CONST_HANDLE hAdapter,
                                         INOUT_PDXGKARG_DESCRIBEALLOCATION args)
{
    const struct allocation *allocation = (const struct allocation *)args->hAllocation;

    UNREFERENCED_PARAMETER(hAdapter);
    args->Width = (UINT)allocation->size;
    args->Height = 1;
    args->Format = D3DDDIFMT_UNKNOWN;
    args->MultisampleMethod.NumSamples = 0;
    args->MultisampleMethod.NumQualityLevels = 0;
    args->RefreshRate.Numerator = 0;
    args->RefreshRate.Denominator = 1;
    args->PrivateDriverFormatAttribute = 0;
    args->Rotation = D3DDDI_ROTATION_IDENTITY;
    return STATUS_SUCCESS;
}

/* All of them or none. */
static NTSTATUS NTAPI OpenAllocation(IN_CONST_HANDLE hDevice, IN_CONST_PDXGKARG_OPENALLOCATION args)
{
    const struct adapter *adapter = ((const struct device *)hDevice)->adapter;
    UINT opened;

    for (opened = 0; opened < args->NumAllocations; opened++) {
        DXGK_OPENALLOCATIONINFO *info = &args->pOpenAllocation[opened];
        DXGKARGCB_GETHANDLEDATA query = {info->hAllocation, DXGK_HANDLE_ALLOCATION, {{{0}}}};
        struct opening *opening = (struct opening *)take(sizeof *opening);

        if (!opening)
            break;
        opening->allocation = (struct allocation *)adapter->dxgkrnl.DxgkCbGetHandleData(&query);
        info->hDeviceSpecificAllocation = opening;
    }
    if (opened == args->NumAllocations)
        return STATUS_SUCCESS;
    while (opened > 0)
        give_back(args->pOpenAllocation[--opened].hDeviceSpecificAllocation);
    return STATUS_NO_MEMORY;
}

static NTSTATUS NTAPI CloseAllocation(IN_CONST_HANDLE hDevice,
                                      IN_CONST_PDXGKARG_CLOSEALLOCATION args)
{
    UINT i;

    UNREFERENCED_PARAMETER(hDevice);
    for (i = 0; i < args->NumAllocations; i++)
        give_back(args->pOpenHandleList[i]);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateDevice(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_CREATEDEVICE args)
{
    struct device *device = (struct device *)take(sizeof *device);

    args->hDevice = device;
    if (!device)
        return STATUS_NO_MEMORY;
    device->adapter = (struct adapter *)hAdapter;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyDevice(IN_CONST_HANDLE hDevice)
{
    give_back(hDevice);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI CreateContext(IN_CONST_HANDLE hDevice, INOUT_PDXGKARG_CREATECONTEXT args)
{
    args->hContext = args->NodeOrdinal == 0 ? take(sizeof(UINT64)) : NULL;
    if (!args->hContext)
        return args->NodeOrdinal == 0 ? STATUS_NO_MEMORY : STATUS_INVALID_PARAMETER;
    UNREFERENCED_PARAMETER(hDevice);
    args->ContextInfo.DmaBufferSize = DMA_BUFFER_BYTES;
    args->ContextInfo.DmaBufferSegmentSet = 0;
    args->ContextInfo.DmaBufferPrivateDataSize = 0;
    args->ContextInfo.AllocationListSize = LIST_ENTRIES;
    args->ContextInfo.PatchLocationListSize = LIST_ENTRIES;
    args->ContextInfo.Reserved = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI DestroyContext(IN_CONST_HANDLE hContext)
{
    give_back(hContext);
    return STATUS_SUCCESS;
}

/* ---- What the adapter says ------------------------------------------------------------------- */

static NTSTATUS query_caps(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_DRIVERCAPS caps;

    RtlZeroMemory(&caps, sizeof caps);
    caps.HighestAcceptableAddress.QuadPart = MAXLONGLONG;
    caps.MaxAllocationListSlotId = 1;
    caps.ApertureSegmentCommitLimit = APERTURE_BYTES;
    caps.SchedulingCaps.MultiEngineAware = 1;
    caps.SchedulingCaps.PreemptionAware = 1;
    caps.GpuEngineTopology.NbAsymetricProcessingNodes = 1;
    caps.WDDMVersion = DXGKDDI_WDDMv1_3;
    caps.PreemptionCaps.GraphicsPreemptionGranularity =
        D3DKMDT_GRAPHICS_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.PreemptionCaps.ComputePreemptionGranularity =
        D3DKMDT_COMPUTE_PREEMPTION_DMA_BUFFER_BOUNDARY;
    caps.SupportNonVGA = TRUE;
    RtlZeroMemory(query->pOutputData, query->OutputDataSize);
    RtlCopyMemory(query->pOutputData, &caps,
                  query->OutputDataSize < sizeof caps ? query->OutputDataSize : sizeof caps);
    return STATUS_SUCCESS;
}

static NTSTATUS query_segments(const DXGKARG_QUERYADAPTERINFO *query)
{
    DXGK_QUERYSEGMENTOUT3 *out = (DXGK_QUERYSEGMENTOUT3 *)query->pOutputData;
    DXGK_SEGMENTDESCRIPTOR3 *descriptor = out->pSegmentDescriptor;

    out->NbSegment = 1;
    if (!descriptor)
        return STATUS_SUCCESS;
    RtlZeroMemory(descriptor, sizeof *descriptor);
    descriptor->Flags.Aperture = 1;
    descriptor->Flags.CacheCoherent = 1;
    descriptor->BaseAddress.QuadPart = APERTURE_BASE;
    descriptor->Size = APERTURE_BYTES;
    descriptor->CommitLimit = APERTURE_BYTES;
    out->PagingBufferSegmentId = 0;
    out->PagingBufferSize = PAGE;
    out->PagingBufferPrivateDataSize = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI QueryAdapterInfo(IN_CONST_HANDLE hAdapter,
                                       IN_CONST_PDXGKARG_QUERYADAPTERINFO query)
{
    UNREFERENCED_PARAMETER(hAdapter);
    if (query->Type == DXGKQAITYPE_DRIVERCAPS)
        return query->pOutputData &&
                       query->OutputDataSize >=
                           RTL_SIZEOF_THROUGH_FIELD(DXGK_DRIVERCAPS, GpuEngineTopology)
                   ? query_caps(query)
                   : STATUS_BUFFER_TOO_SMALL;
    if (query->Type == DXGKQAITYPE_QUERYSEGMENT3)
        return query->pOutputData && query->OutputDataSize >= sizeof(DXGK_QUERYSEGMENTOUT3)
                   ? query_segments(query)
                   : STATUS_BUFFER_TOO_SMALL;
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS NTAPI GetNodeMetadata(IN_CONST_HANDLE hAdapter, UINT NodeOrdinalAndAdapterIndex,
                                      OUT_PDXGKARG_GETNODEMETADATA metadata)
{
    UNREFERENCED_PARAMETER(hAdapter);
    if (NodeOrdinalAndAdapterIndex)
        return STATUS_INVALID_PARAMETER;
    RtlZeroMemory(metadata, sizeof *metadata);
    metadata->EngineType = DXGK_ENGINE_TYPE_3D;
    return STATUS_SUCCESS;
}

/* ---- The adapter's life ---------------------------------------------------------------------- */

/* All that was submitted counts as complete (TDR-015). */
static NTSTATUS NTAPI ResetFromTimeout(IN_CONST_HANDLE hAdapter)
{
    struct adapter *adapter = (struct adapter *)hAdapter;

    device_end(adapter);
    adapter->completed_fence = adapter->submitted_fence;
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI RestartFromTimeout(IN_CONST_HANDLE hAdapter)
{
    return device_begin((struct adapter *)hAdapter);
}

static NTSTATUS NTAPI CollectDbgInfo(IN_CONST_HANDLE hAdapter,
                                     IN_CONST_PDXGKARG_COLLECTDBGINFO args)
{
    UNREFERENCED_PARAMETER(hAdapter);
    RtlZeroMemory(args->pBuffer, args->BufferSize);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI StartDevice(IN_CONST_PVOID MiniportDeviceContext,
                                  IN_PDXGK_START_INFO DxgkStartInfo,
                                  IN_PDXGKRNL_INTERFACE DxgkInterface,
                                  OUT_PULONG NumberOfVideoPresentSources,
                                  OUT_PULONG NumberOfChildren)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;

    UNREFERENCED_PARAMETER(DxgkStartInfo);
    *NumberOfVideoPresentSources = 0;
    *NumberOfChildren = 0;
    RtlZeroMemory(adapter, sizeof *adapter);
    RtlCopyMemory(&adapter->dxgkrnl, DxgkInterface,
                  DxgkInterface->Size < sizeof adapter->dxgkrnl ? DxgkInterface->Size
                                                                : sizeof adapter->dxgkrnl);
    KeInitializeSpinLock(&adapter->lock);
    InitializeListHead(&adapter->allocations);
    return device_open(adapter);
}

static NTSTATUS NTAPI StopDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    device_close((struct adapter *)MiniportDeviceContext);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI SetPowerState(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG DeviceUid,
                                    IN_DEVICE_POWER_STATE DevicePowerState,
                                    IN_POWER_ACTION ActionType)
{
    struct adapter *adapter = (struct adapter *)MiniportDeviceContext;

    UNREFERENCED_PARAMETER(ActionType);
    if (DeviceUid != DISPLAY_ADAPTER_HW_ID)
        return STATUS_SUCCESS;
    if (DevicePowerState == PowerDeviceD0)
        return device_begin(adapter);
    device_end(adapter);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI AddDevice(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject,
                                OUT_PPVOID MiniportDeviceContext)
{
    UNREFERENCED_PARAMETER(PhysicalDeviceObject);
    *MiniportDeviceContext = take(sizeof(struct adapter));
    return *MiniportDeviceContext ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static NTSTATUS NTAPI RemoveDevice(IN_CONST_PVOID MiniportDeviceContext)
{
    give_back(MiniportDeviceContext);
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI QueryChildRelations(IN_CONST_PVOID MiniportDeviceContext,
                                          PDXGK_CHILD_DESCRIPTOR ChildRelations,
                                          ULONG ChildRelationsSize)
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
    table.Version = DXGKDDI_INTERFACE_VERSION_WDDM1_3;
    table.DxgkDdiAddDevice = AddDevice;
    table.DxgkDdiStartDevice = StartDevice;
    table.DxgkDdiStopDevice = StopDevice;
    table.DxgkDdiRemoveDevice = RemoveDevice;
    table.DxgkDdiSetPowerState = SetPowerState;
    table.DxgkDdiQueryChildRelations = QueryChildRelations;
    table.DxgkDdiResetDevice = ResetDevice;
    table.DxgkDdiUnload = Unload;
    table.DxgkDdiInterruptRoutine = InterruptRoutine;
    table.DxgkDdiDpcRoutine = DpcRoutine;
    table.DxgkDdiQueryAdapterInfo = QueryAdapterInfo;
    table.DxgkDdiGetNodeMetadata = GetNodeMetadata;
    table.DxgkDdiCreateAllocation = CreateAllocation;
    table.DxgkDdiDestroyAllocation = DestroyAllocation;
    table.DxgkDdiDescribeAllocation = DescribeAllocation;
    table.DxgkDdiOpenAllocation = OpenAllocation;
    table.DxgkDdiCloseAllocation = CloseAllocation;
    table.DxgkDdiCreateDevice = CreateDevice;
    table.DxgkDdiDestroyDevice = DestroyDevice;
    table.DxgkDdiCreateContext = CreateContext;
    table.DxgkDdiDestroyContext = DestroyContext;
    table.DxgkDdiRender = Render;
    table.DxgkDdiPatch = Patch;
    table.DxgkDdiBuildPagingBuffer = BuildPagingBuffer;
    table.DxgkDdiSubmitCommand = SubmitCommand;
    table.DxgkDdiPreemptCommand = PreemptCommand;
    table.DxgkDdiQueryCurrentFence = QueryCurrentFence;
    table.DxgkDdiResetFromTimeout = ResetFromTimeout;
    table.DxgkDdiRestartFromTimeout = RestartFromTimeout;
    table.DxgkDdiCollectDbgInfo = CollectDbgInfo;
    return DxgkInitialize(DriverObject, RegistryPath, &table);
}
