/*
 * Trace: one line of an event.
 *
 * Fields keep their WDK names, in the order of the structure, as name=value; unnamed unions show
 * the member that is in force. Before the call a line shows the arguments that go in, after it the
 * status and the arguments that come out. A line of a DDI without fields to show (display,
 * diagnostics) is its name and its object.
 */
#include "trace/trace_line.h"

#include "base/bits.h"
#include "base/hash.h"
#include "miniport/operation.h"

#include <inttypes.h>
#include <string.h>

/* Values of an UpdateMonitoredValues that a line shows: a line is for people. */
#define TRACE_MOST_MONITORED_VALUES 4u

/* ---- Names ---- */

const char *trace_callback_name(enum trace_callback callback)
{
    static const char *const names[] = {
#define X(function, name) name,
        TRACE_CALLBACK_LIST(X)
#undef X
    };

    return (unsigned)callback < TRACE_CALLBACK_COUNT ? names[callback] : "?";
}

const char *trace_interrupt_name(unsigned type)
{
    switch (type) {
#define INTERRUPT(value, name)                                                                     \
    case value:                                                                                    \
        return name;
#define QUERY(value, name)
#include "ddi_names.inc"
#undef QUERY
#undef INTERRUPT
    default:
        return "?";
    }
}

const char *trace_query_name(unsigned type)
{
    switch (type) {
#define INTERRUPT(value, name)
#define QUERY(value, name)                                                                         \
    case value:                                                                                    \
        return name;
#include "ddi_names.inc"
#undef QUERY
#undef INTERRUPT
    default:
        return "?";
    }
}

/* ---- Objects ---- */

static void put_standard_allocation(struct trace_line *line,
                                    const DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg,
                                    bool is_after)
{
    const D3DKMDT_SHAREDPRIMARYSURFACEDATA *primary = arg->pCreateSharedPrimarySurfaceData;
    const D3DKMDT_FENCESTORAGESURFACEDATA *storage = arg->pCreateFenceStorageData;

    if (is_after) {
        trace_put_number(line, "AllocationPrivateDriverDataSize",
                         arg->AllocationPrivateDriverDataSize);
        trace_put_number(line, "ResourcePrivateDriverDataSize", arg->ResourcePrivateDriverDataSize);
        if (arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE && storage) {
            trace_put_hex(line, "SupportedWriteSegmentSet",
                          storage->AllocationInfo.SupportedWriteSegmentSet);
            trace_put_hex(line, "EvictionSegmentSet", storage->AllocationInfo.EvictionSegmentSet);
            trace_put_hex(line, "PreferredSegment", storage->AllocationInfo.PreferredSegment.Value);
        }
        return;
    }
    trace_put_number(line, "StandardAllocationType", (uint64_t)arg->StandardAllocationType);
    if (arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE && storage) {
        trace_put_number(line, "FenceStorageValueType", (uint64_t)storage->FenceStorageValueType);
        trace_put_number(line, "FenceStorageType", (uint64_t)storage->FenceStorageType);
    }
    if (arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE && primary) {
        trace_put_number(line, "Width", primary->Width);
        trace_put_number(line, "Height", primary->Height);
        trace_put_number(line, "Format", (uint64_t)primary->Format);
        trace_put_number(line, "VidPnSourceId", primary->VidPnSourceId);
    }
}

static void put_create_allocation(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_CREATEALLOCATION *arg = event->argument;

    if (event->phase == TRACE_BEFORE) {
        trace_put_number(line, "PrivateDriverDataSize", arg->PrivateDriverDataSize);
        trace_put_number(line, "NumAllocations", arg->NumAllocations);
        trace_put_hex(line, "Flags", arg->Flags.Value);
    }
    if (arg->hResource || arg->Flags.Resource)
        trace_put_handle(line, "hResource", TRACE_HANDLE_RESOURCE, arg->hResource);
    trace_put_words(line, "pAllocationInfo", "[");
    for (UINT i = 0; arg->pAllocationInfo && i < arg->NumAllocations; i++) {
        const DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];

        trace_put_text(line, i ? " {" : "{");
        if (event->phase == TRACE_BEFORE) {
            trace_put(line, "PrivateDriverDataSize=%" PRIu32 "}", info->PrivateDriverDataSize);
            continue;
        }
        trace_put_handle_value(line, TRACE_HANDLE_ALLOCATION, info->hAllocation);
        trace_put_number(line, "Alignment", info->Alignment);
        trace_put_number(line, "Size", info->Size);
        trace_put_number(line, "PitchAlignedSize", info->PitchAlignedSize);
        trace_put_hex(line, "HintedBank", info->HintedBank.Value);
        trace_put_hex(line, "PreferredSegment", info->PreferredSegment.Value);
        trace_put_hex(line, "SupportedReadSegmentSet", info->SupportedReadSegmentSet);
        trace_put_hex(line, "SupportedWriteSegmentSet", info->SupportedWriteSegmentSet);
        trace_put_hex(line, "EvictionSegmentSet", info->EvictionSegmentSet);
        trace_put_number(line, "PhysicalAdapterIndex", info->PhysicalAdapterIndex);
        trace_put_hex(line, "Flags", info->Flags.Value);
        trace_put_number(line, "AllocationPriority", info->AllocationPriority);
        trace_put_text(line, "}");
    }
    trace_put_text(line, "]");
}

static void put_open_allocation(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_OPENALLOCATION *arg = event->argument;

    if (event->phase == TRACE_BEFORE)
        trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_words(line, "pOpenAllocation", "[");
    for (UINT i = 0; arg->pOpenAllocation && i < arg->NumAllocations; i++) {
        trace_put(line, "%s0x%" PRIx32, i ? " " : "",
                  (uint32_t)arg->pOpenAllocation[i].hAllocation);
        if (event->phase == TRACE_BEFORE)
            continue;
        trace_put(line, ":");
        trace_put_handle_value(line, TRACE_HANDLE_OPEN,
                               arg->pOpenAllocation[i].hDeviceSpecificAllocation);
    }
    trace_put_text(line, "]");
}

static void put_create_process(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_CREATEPROCESS *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put_handle(line, "hKmdProcess", TRACE_HANDLE_PROCESS, arg->hKmdProcess);
        return;
    }
    trace_put_handle(line, "hDxgkProcess", TRACE_HANDLE_OS_PROCESS, arg->hDxgkProcess);
    trace_put_hex(line, "Flags", arg->Flags.Value);
}

/* Addresses have more than the 32 bits of flags; under Windows nothing but no memory below this. */
#ifdef _WIN32
#define LOWEST_ADDRESS 0x10000u
#else
#define LOWEST_ADDRESS (UINT64_C(1) << 32)
#endif

/*
 * pInfo, for a driver without contexts, shares its place with Flags. An address is another in every
 * run: it is not written.
 */
static const DXGK_DEVICEINFO *device_info(const DXGKARG_CREATEDEVICE *arg)
{
    return (uint64_t)(uintptr_t)arg->pInfo >= LOWEST_ADDRESS ? arg->pInfo : NULL;
}

static void put_create_device(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_CREATEDEVICE *arg = event->argument;
    const DXGK_DEVICEINFO *info = device_info(arg);

    if (event->phase == TRACE_AFTER) {
        trace_put_handle(line, "hDevice", TRACE_HANDLE_DEVICE, arg->hDevice);
        if (info)
            trace_put(line,
                      " DmaBufferSize=%" PRIu32 " DmaBufferSegmentSet=0x%" PRIx32
                      " DmaBufferPrivateDataSize=%" PRIu32 " AllocationListSize=%" PRIu32
                      " PatchLocationListSize=%" PRIu32,
                      info->DmaBufferSize, info->DmaBufferSegmentSet,
                      info->DmaBufferPrivateDataSize, info->AllocationListSize,
                      info->PatchLocationListSize);
        return;
    }
    if (!info)
        trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_handle(line, "hKmdProcess", TRACE_HANDLE_PROCESS, arg->hKmdProcess);
}

static void put_create_context(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_CREATECONTEXT *arg = event->argument;
    const DXGK_CONTEXTINFO *info = &arg->ContextInfo;

    if (event->phase == TRACE_BEFORE) {
        trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
        trace_put_hex(line, "EngineAffinity", arg->EngineAffinity);
        trace_put_hex(line, "Flags", arg->Flags.Value);
        trace_put_number(line, "PrivateDriverDataSize", arg->PrivateDriverDataSize);
        return;
    }
    trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
    trace_put_number(line, "DmaBufferSize", info->DmaBufferSize);
    trace_put_hex(line, "DmaBufferSegmentSet", info->DmaBufferSegmentSet);
    trace_put_number(line, "DmaBufferPrivateDataSize", info->DmaBufferPrivateDataSize);
    trace_put_number(line, "AllocationListSize", info->AllocationListSize);
    trace_put_number(line, "PatchLocationListSize", info->PatchLocationListSize);
    trace_put_hex(line, "Caps", info->Caps.Value);
    trace_put_number(line, "PagingCompanionNodeId", info->PagingCompanionNodeId);
}

static void put_cpu_host_aperture(struct trace_line *line, const DXGKARG_MAPCPUHOSTAPERTURE *arg)
{
    trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->hAllocation);
    trace_put_number(line, "SegmentId", arg->SegmentId);
    trace_put_number(line, "PhysicalAdapterIndex", arg->PhysicalAdapterIndex);
    trace_put_number(line, "NumberOfPages", arg->NumberOfPages);
    trace_put(line, " [");
    for (UINT64 i = 0; i < arg->NumberOfPages && i < TRACE_ARRAY_SHOWN; i++)
        trace_put(line, "%s%" PRIu32 ">0x%" PRIx64, i ? " " : "", arg->pCpuHostAperturePages[i],
                  (uint64_t)arg->pMemorySegmentPages[i]);
    if (arg->NumberOfPages > TRACE_ARRAY_SHOWN)
        trace_put(line, " .. #%016" PRIx64,
                  hash_bytes(arg->pMemorySegmentPages,
                             (size_t)arg->NumberOfPages * sizeof *arg->pMemorySegmentPages, 0));
    trace_put_text(line, "]");
}

/* DDIs whose line is the same before and after the call, or says more only before it. */
static void put_plain_argument(struct trace_line *line, const struct trace_event *event)
{
    const void *argument = event->argument;
    bool is_after = event->phase == TRACE_AFTER;

    switch ((unsigned)event->ddi) {
    case MINIPORT_DDI_QueryAdapterInfo: {
        const DXGKARG_QUERYADAPTERINFO *arg = argument;

        trace_put_words(line, "Type", trace_query_name((unsigned)arg->Type));
        if (!is_after) {
            trace_put_number(line, "InputDataSize", arg->InputDataSize);
            trace_put_number(line, "OutputDataSize", arg->OutputDataSize);
        }
        break;
    }
    case MINIPORT_DDI_PreemptCommand: {
        const DXGKARG_PREEMPTCOMMAND *arg = argument;

        trace_put_number(line, "PreemptionFenceId", arg->PreemptionFenceId);
        trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
        break;
    }
    case MINIPORT_DDI_QueryCurrentFence: {
        const DXGKARG_QUERYCURRENTFENCE *arg = argument;

        trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
        if (is_after)
            trace_put_number(line, "CurrentFence", arg->CurrentFence);
        break;
    }
    case MINIPORT_DDI_ResetEngine: {
        const DXGKARG_RESETENGINE *arg = argument;

        trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
        if (is_after)
            trace_put_number(line, "LastAbortedFenceId", arg->LastAbortedFenceId);
        break;
    }
    case MINIPORT_DDI_SetRootPageTable: {
        const DXGKARG_SETROOTPAGETABLE *arg = argument;

        if (is_after)
            break;
        trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
        trace_put_gpu_physical(line, "Address", &arg->Address);
        trace_put_number(line, "NumEntries", arg->NumEntries);
        break;
    }
    case MINIPORT_DDI_GetRootPageTableSize: {
        const DXGKARG_GETROOTPAGETABLESIZE *arg = argument;

        trace_put_number(line, "NumberOfPte", arg->NumberOfPte);
        trace_put_number(line, "PhysicalAdapterIndex", arg->PhysicalAdapterIndex);
        if (is_after)
            trace_put_number(line, "bytes", event->values[0]);
        break;
    }
    case MINIPORT_DDI_UnmapCpuHostAperture: {
        const DXGKARG_UNMAPCPUHOSTAPERTURE *arg = argument;

        trace_put_number(line, "SegmentId", arg->SegmentId);
        trace_put_number(line, "PhysicalAdapterIndex", arg->PhysicalAdapterIndex);
        trace_put_number(line, "NumberOfPages", arg->NumberOfPages);
        break;
    }
    case MINIPORT_DDI_AcquireSwizzlingRange: {
        const DXGKARG_ACQUIRESWIZZLINGRANGE *arg = argument;

        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->hAllocation);
        trace_put_number(line, "PrivateDriverData", arg->PrivateDriverData);
        trace_put_number(line, "RangeId", arg->RangeId);
        trace_put_number(line, "SegmentId", arg->SegmentId);
        trace_put_number(line, "RangeSize", arg->RangeSize);
        trace_put_hex(line, "CPUTranslatedAddress", (uint64_t)arg->CPUTranslatedAddress.QuadPart);
        break;
    }
    case MINIPORT_DDI_ReleaseSwizzlingRange: {
        const DXGKARG_RELEASESWIZZLINGRANGE *arg = argument;

        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->hAllocation);
        trace_put_number(line, "PrivateDriverData", arg->PrivateDriverData);
        trace_put_number(line, "RangeId", arg->RangeId);
        break;
    }
    case MINIPORT_DDI_CreateNativeFence: {
        const DXGKARG_CREATENATIVEFENCE *arg = argument;

        if (is_after)
            trace_put_handle(line, "hGlobalNativeFence", TRACE_HANDLE_FENCE,
                             arg->hGlobalNativeFence);
        else
            trace_put_number(line, "Type", (uint64_t)arg->Type);
        break;
    }
    case MINIPORT_DDI_GetStandardAllocationDriverData: {
        const DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg = argument;

        put_standard_allocation(line, arg, is_after);
        break;
    }
    case MINIPORT_DDI_SetVidPnSourceAddress: {
        const DXGKARG_SETVIDPNSOURCEADDRESS *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "VidPnSourceId", arg->VidPnSourceId);
        trace_put_number(line, "PrimarySegment", arg->PrimarySegment);
        trace_put_hex(line, "PrimaryAddress", (uint64_t)arg->PrimaryAddress.QuadPart);
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->hAllocation);
        trace_put_number(line, "ContextCount", arg->ContextCount);
        trace_put_hex(line, "Flags", arg->Flags.Value);
        break;
    }
    case MINIPORT_DDI_SetVidPnSourceVisibility: {
        const DXGKARG_SETVIDPNSOURCEVISIBILITY *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "VidPnSourceId", arg->VidPnSourceId);
        trace_put_number(line, "Visible", arg->Visible);
        break;
    }
    case MINIPORT_DDI_IsSupportedVidPn: {
        const DXGKARG_ISSUPPORTEDVIDPN *arg = argument;

        if (is_after)
            trace_put_number(line, "IsVidPnSupported", arg->IsVidPnSupported);
        break;
    }
    case MINIPORT_DDI_EnumVidPnCofuncModality: {
        const DXGKARG_ENUMVIDPNCOFUNCMODALITY *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "EnumPivotType", (uint64_t)arg->EnumPivotType);
        trace_put_hex(line, "VidPnSourceId", arg->EnumPivot.VidPnSourceId);
        trace_put_hex(line, "VidPnTargetId", arg->EnumPivot.VidPnTargetId);
        break;
    }
    case MINIPORT_DDI_CommitVidPn: {
        const DXGKARG_COMMITVIDPN *arg = argument;

        if (is_after)
            break;
        trace_put_hex(line, "AffectedVidPnSourceId", arg->AffectedVidPnSourceId);
        trace_put_number(line, "PathPowerTransition", arg->Flags.PathPowerTransition);
        trace_put_number(line, "PathPoweredOff", arg->Flags.PathPoweredOff);
        break;
    }
    case MINIPORT_DDI_PresentDisplayOnly: {
        const DXGKARG_PRESENT_DISPLAYONLY *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "VidPnSourceId", arg->VidPnSourceId);
        trace_put_number(line, "BytesPerPixel", arg->BytesPerPixel);
        trace_put_number(line, "Pitch", (uint64_t)arg->Pitch);
        trace_put_number(line, "NumMoves", arg->NumMoves);
        trace_put_number(line, "NumDirtyRects", arg->NumDirtyRects);
        break;
    }
    case MINIPORT_DDI_SetPointerPosition: {
        const DXGKARG_SETPOINTERPOSITION *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "X", (uint64_t)(int64_t)arg->X);
        trace_put_number(line, "Y", (uint64_t)(int64_t)arg->Y);
        trace_put_hex(line, "Flags", arg->Flags.Value);
        break;
    }
    case MINIPORT_DDI_SetPointerShape: {
        const DXGKARG_SETPOINTERSHAPE *arg = argument;

        if (is_after)
            break;
        trace_put_hex(line, "Flags", arg->Flags.Value);
        trace_put_number(line, "Width", arg->Width);
        trace_put_number(line, "Height", arg->Height);
        trace_put_number(line, "Pitch", arg->Pitch);
        break;
    }
    case MINIPORT_DDI_QueryChildRelations: {
        const struct miniport_children *arg = argument;

        if (!is_after)
            trace_put_number(line, "ChildRelationsSize", arg->ChildRelationsSize);
        break;
    }
    case MINIPORT_DDI_QueryChildStatus: {
        const struct miniport_child_status *arg = argument;

        if (!arg->ChildStatus)
            break;
        trace_put_hex(line, "ChildUid", arg->ChildStatus->ChildUid);
        trace_put_number(line, is_after ? "Connected" : "Type",
                         is_after ? arg->ChildStatus->HotPlug.Connected
                                  : (uint64_t)arg->ChildStatus->Type);
        break;
    }
    case MINIPORT_DDI_QueryDeviceDescriptor: {
        const struct miniport_descriptor *arg = argument;

        if (is_after)
            break;
        trace_put_hex(line, "ChildUid", arg->ChildUid);
        if (!arg->DeviceDescriptor)
            break;
        trace_put_number(line, "DescriptorOffset", arg->DeviceDescriptor->DescriptorOffset);
        trace_put_number(line, "DescriptorLength", arg->DeviceDescriptor->DescriptorLength);
        break;
    }
    case MINIPORT_DDI_StopDeviceAndReleasePostDisplayOwnership: {
        const struct miniport_post_display *arg = argument;

        if (!is_after) {
            trace_put_hex(line, "TargetId", arg->TargetId);
            break;
        }
        if (!arg->DisplayInfo)
            break;
        trace_put_number(line, "Width", arg->DisplayInfo->Width);
        trace_put_number(line, "Height", arg->DisplayInfo->Height);
        trace_put_number(line, "Pitch", arg->DisplayInfo->Pitch);
        break;
    }
    case MINIPORT_DDI_Escape: {
        const DXGKARG_ESCAPE *arg = argument;

        if (is_after)
            break;
        trace_put_handle(line, "hDevice", TRACE_HANDLE_DEVICE, arg->hDevice);
        trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
        trace_put_hex(line, "Flags", arg->Flags.Value);
        trace_put_number(line, "PrivateDriverDataSize", arg->PrivateDriverDataSize);
        break;
    }
    case MINIPORT_DDI_CollectDbgInfo: {
        const DXGKARG_COLLECTDBGINFO *arg = argument;

        if (is_after)
            break;
        trace_put_hex(line, "Reason", arg->Reason);
        trace_put_number(line, "BufferSize", arg->BufferSize);
        break;
    }
    case MINIPORT_DDI_CollectDbgInfo2: {
        const DXGKARG_COLLECTDBGINFO2 *arg = argument;

        if (is_after)
            break;
        trace_put_hex(line, "Reason", arg->Reason);
        trace_put_number(line, "BufferSize", arg->BufferSize);
        trace_put_number(line, "TdrType", (uint64_t)arg->TdrType);
        trace_put_number(line, "TdrPayloadSize", arg->TdrPayloadSize);
        break;
    }
    case MINIPORT_DDI_SetPowerComponentFState: {
        const struct miniport_f_state *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "ComponentIndex", arg->ComponentIndex);
        trace_put_number(line, "FState", arg->FState);
        break;
    }
    case MINIPORT_DDI_PowerRuntimeControlRequest: {
        const struct miniport_power_control *arg = argument;

        if (!is_after)
            trace_put(line, " %s",
                      miniport_power_phase_name(miniport_power_phase(arg->PowerControlCode)));
        break;
    }
    case MINIPORT_DDI_ControlInterrupt: {
        const struct miniport_interrupt *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "InterruptType", (uint64_t)arg->InterruptType);
        trace_put_number(line, "EnableInterrupt", arg->EnableInterrupt);
        break;
    }
    case MINIPORT_DDI_ControlInterrupt2: {
        const DXGKARG_CONTROLINTERRUPT2 *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "InterruptType", (uint64_t)arg->InterruptType);
        trace_put_number(line, "CrtcVsyncState", (uint64_t)arg->CrtcVsyncState);
        break;
    }
    case MINIPORT_DDI_ControlInterrupt3: {
        const DXGKARG_CONTROLINTERRUPT3 *arg = argument;

        if (is_after)
            break;
        trace_put_number(line, "InterruptType", (uint64_t)arg->InterruptType);
        trace_put_number(line, "CrtcVsyncState", (uint64_t)arg->CrtcVsyncState);
        trace_put_hex(line, "VidPnSourceId", arg->VidPnSourceId);
        break;
    }
    case MINIPORT_DDI_DestroyNativeFence: {
        const DXGKARG_DESTROYNATIVEFENCE *arg = argument;

        trace_put_handle(line, "hGlobalNativeFence", TRACE_HANDLE_FENCE, arg->hGlobalNativeFence);
        break;
    }
    case MINIPORT_DDI_UpdateMonitoredValues: {
        const DXGKARG_UPDATEMONITOREDVALUES *arg = argument;

        trace_put_number(line, "NumFences", arg->NumFences);
        for (UINT i = 0; i < arg->NumFences && i < TRACE_MOST_MONITORED_VALUES; i++) {
            trace_put_handle(line, "fence", TRACE_HANDLE_FENCE, arg->NativeFenceArray[i]);
            trace_put_hex(line, "value", arg->UpdatedValueArray[i]);
        }
        break;
    }
    case MINIPORT_DDI_StartDevice:
        if (is_after) {
            trace_put_number(line, "sources", event->values[0]);
            trace_put_number(line, "children", event->values[1]);
        }
        break;
    case MINIPORT_DDI_SetPowerState:
        if (!is_after) {
            trace_put_hex(line, "uid", event->values[0]);
            trace_put(line, " state=D%" PRIu64, event->values[1] - PowerDeviceD0);
            trace_put_number(line, "action", event->values[2]);
        }
        break;
    case MINIPORT_DDI_NotifySurpriseRemoval:
        if (!is_after)
            trace_put_number(line, "type", event->values[0]);
        break;
    case MINIPORT_DDI_InterruptRoutine:
        trace_put_number(line, is_after ? "ours" : "message", event->values[0]);
        break;
    default:
        break;
    }
}

static void put_ddi(struct trace_line *line, const struct trace_event *event)
{
    const void *argument = event->argument;
    bool is_before = event->phase == TRACE_BEFORE;

    switch ((unsigned)event->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        trace_put_build_paging_buffer(line, event);
        break;
    case MINIPORT_DDI_CalibrateGpuClock: {
        const struct miniport_clock *arg = argument;

        trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
        if (is_before)
            break;
        trace_put_number(line, "GpuFrequency", arg->calibration.GpuFrequency);
        trace_put_number(line, "GpuClockCounter", arg->calibration.GpuClockCounter);
        trace_put_number(line, "CpuClockCounter", arg->calibration.CpuClockCounter);
        break;
    }
    case MINIPORT_DDI_CreateAllocation:
        put_create_allocation(line, event);
        break;
    case MINIPORT_DDI_DestroyAllocation: {
        const DXGKARG_DESTROYALLOCATION *arg = argument;

        if (!is_before)
            break;
        trace_put_handles(line, "pAllocationList", TRACE_HANDLE_ALLOCATION, arg->pAllocationList,
                          arg->NumAllocations);
        trace_put_handle(line, "hResource", TRACE_HANDLE_RESOURCE, arg->hResource);
        trace_put_hex(line, "Flags", arg->Flags.Value);
        break;
    }
    case MINIPORT_DDI_OpenAllocation:
        put_open_allocation(line, event);
        break;
    case MINIPORT_DDI_CloseAllocation: {
        const DXGKARG_CLOSEALLOCATION *arg = argument;

        if (is_before)
            trace_put_handles(line, "pOpenHandleList", TRACE_HANDLE_OPEN, arg->pOpenHandleList,
                              arg->NumAllocations);
        break;
    }
    case MINIPORT_DDI_CreateProcess:
        put_create_process(line, event);
        break;
    case MINIPORT_DDI_CreateDevice:
        put_create_device(line, event);
        break;
    case MINIPORT_DDI_CreateContext:
        put_create_context(line, event);
        break;
    case MINIPORT_DDI_MapCpuHostAperture:
        if (is_before)
            put_cpu_host_aperture(line, argument);
        break;
    default:
        if (!trace_put_work(line, event))
            put_plain_argument(line, event);
        break;
    }
}

/* ---- The line ---- */

/* The kind of object that a call of the DDI is made on. */
static enum trace_handle_kind object_kind(enum miniport_ddi ddi)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_DestroyContext:
    case MINIPORT_DDI_Render:
    case MINIPORT_DDI_RenderKm:
    case MINIPORT_DDI_RenderGdi:
    case MINIPORT_DDI_Present:
    case MINIPORT_DDI_CreateHwQueue:
        return TRACE_HANDLE_CONTEXT;
    case MINIPORT_DDI_DestroyHwQueue:
    case MINIPORT_DDI_PresentToHwQueue:
        return TRACE_HANDLE_QUEUE;
    case MINIPORT_DDI_DestroyProcess:
        return TRACE_HANDLE_PROCESS;
    default:
        return TRACE_HANDLE_DEVICE;
    }
}

const char *trace_event_name(const struct trace_event *event)
{
    if (!event->is_callback)
        return miniport_ddi_name(event->ddi);
    if (event->callback == TRACE_CALLBACK_display)
        return miniport_ask_name(((const struct miniport_display_request *)event->argument)->kind);
    if (event->callback == TRACE_CALLBACK_power)
        return miniport_power_name(((const struct miniport_power_request *)event->argument)->kind);
    if (event->callback == TRACE_CALLBACK_memory)
        return miniport_memory_name(
            ((const struct miniport_memory_request *)event->argument)->kind);
    return trace_callback_name(event->callback);
}

char trace_event_object_kind(const struct trace_event *event)
{
    return (char)object_kind(event->ddi);
}

bool trace_event_has_object(const struct trace_event *event)
{
    return !event->is_callback && event->object && event->phase == TRACE_BEFORE;
}

static void put_fields(struct trace_line *line, const struct trace_event *event)
{
    if (event->is_callback)
        trace_put_callback(line, event);
    else
        put_ddi(line, event);
}

void trace_event_visit(const struct trace_event *event, const struct trace_visitor *visitor)
{
    struct trace_line line = {.handles = event->handles, .visitor = visitor};

    if (visitor->values)
        line.values = *visitor->values;
    put_fields(&line, event);
    if (visitor->values)
        *visitor->values = line.values;
}

size_t trace_event_format(const struct trace_event *event, char *buffer, size_t size)
{
    struct trace_line line = {.buffer = buffer, .size = size, .handles = event->handles};

    if (size)
        buffer[0] = '\0';
    for (unsigned i = 0; i < event->depth; i++)
        trace_put_text(&line, "  ");
    trace_put_text(&line, event->phase == TRACE_BEFORE ? "> " : "< ");
    trace_put_text(&line, trace_event_name(event));
    if (!event->is_callback && event->ddi == MINIPORT_DDI_BuildPagingBuffer) {
        trace_put_text(&line, " ");
        trace_put_text(&line, miniport_operation_name(event->operation));
        if (event->operation >= MINIPORT_OPERATION_COUNT)
            trace_put_number(&line, "Operation", event->operation);
    }
    if (trace_event_has_object(event)) {
        trace_put_text(&line, " ");
        trace_put_handle_value(&line, object_kind(event->ddi), event->object);
    }
    if (event->phase == TRACE_AFTER)
        trace_put_status(&line, event->status);
    put_fields(&line, event);
    return line.length;
}
