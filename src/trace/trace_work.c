/*
 * Trace: the fields of what makes, submits and schedules work: Render and Present, Patch,
 * submissions, hardware queues and their contexts.
 */
#include "trace/trace_line.h"

#include "base/hash.h"

#include <inttypes.h>

static void put_patch_locations(struct trace_line *line, const DXGKARG_PATCH *arg)
{
    UINT start = arg->PatchLocationListSubmissionStart;
    UINT length = arg->PatchLocationListSubmissionLength;

    trace_put_number(line, "PatchLocationListSubmissionStart", start);
    trace_put_number(line, "PatchLocationListSubmissionLength", length);
    if (!arg->pPatchLocationList)
        return;
    trace_put(line, " [");
    for (UINT i = 0; i < length && i < TRACE_ARRAY_SHOWN; i++) {
        const D3DDDI_PATCHLOCATIONLIST *location = &arg->pPatchLocationList[start + i];

        trace_put(line, "%s%" PRIu32 "+0x%" PRIx32 ">0x%" PRIx32, i ? " " : "",
                  location->AllocationIndex, location->AllocationOffset, location->PatchOffset);
    }
    if (length > TRACE_ARRAY_SHOWN)
        trace_put(line, " .. #%016" PRIx64,
                  hash_bytes(&arg->pPatchLocationList[start],
                             (size_t)length * sizeof *arg->pPatchLocationList, 0));
    trace_put_text(line, "]");
}

static void put_allocation_list(struct trace_line *line, const DXGK_ALLOCATIONLIST *list,
                                UINT count)
{
    trace_put_words(line, "pAllocationList", "[");
    for (UINT i = 0; list && i < count; i++) {
        if (i)
            trace_put_text(line, " ");
        trace_put_handle_value(line, TRACE_HANDLE_OPEN, list[i].hDeviceSpecificAllocation);
        trace_put_text(line, list[i].WriteOperation ? "w" : "");
        trace_put(line, "@%" PRIu32, (uint32_t)list[i].SegmentId);
        trace_put_plain_hex(line, ":", 1, (uint64_t)list[i].PhysicalAddress.QuadPart);
    }
    trace_put_text(line, "]");
}

static void put_patch(struct trace_line *line, const DXGKARG_PATCH *arg)
{
    trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
    trace_put(line, " DmaBuffer=%" PRIu32 ":0x%" PRIx64 "+%" PRIu32, arg->DmaBufferSegmentId,
              (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart, arg->DmaBufferSize);
    trace_put(line, " Submission=[%" PRIu32 ",%" PRIu32 ")", arg->DmaBufferSubmissionStartOffset,
              arg->DmaBufferSubmissionEndOffset);
    trace_put(line, " PrivateData=[%" PRIu32 ",%" PRIu32 ")/%" PRIu32,
              arg->DmaBufferPrivateDataSubmissionStartOffset,
              arg->DmaBufferPrivateDataSubmissionEndOffset, arg->DmaBufferPrivateDataSize);
    trace_put_number(line, "SubmissionFenceId", arg->SubmissionFenceId);
    trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
    put_allocation_list(line, arg->pAllocationList, arg->AllocationListSize);
    put_patch_locations(line, arg);
}

static void put_submit_command(struct trace_line *line, const DXGKARG_SUBMITCOMMAND *arg)
{
    trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
    trace_put(line, " DmaBuffer=%" PRIu32 ":0x%" PRIx64 "+%" PRIu32, arg->DmaBufferSegmentId,
              (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart, arg->DmaBufferSize);
    trace_put(line, " Submission=[%" PRIu32 ",%" PRIu32 ")", arg->DmaBufferSubmissionStartOffset,
              arg->DmaBufferSubmissionEndOffset);
    trace_put(line, " PrivateData=[%" PRIu32 ",%" PRIu32 ")/%" PRIu32,
              arg->DmaBufferPrivateDataSubmissionStartOffset,
              arg->DmaBufferPrivateDataSubmissionEndOffset, arg->DmaBufferPrivateDataSize);
    trace_put_number(line, "SubmissionFenceId", arg->SubmissionFenceId);
    trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
    trace_put_hex(line, "DmaBufferVirtualAddress", arg->DmaBufferVirtualAddress);
    trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
}

static void put_submit_command_virtual(struct trace_line *line,
                                       const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
    trace_put_hex(line, "DmaBufferVirtualAddress", arg->DmaBufferVirtualAddress);
    trace_put_number(line, "DmaBufferSize", arg->DmaBufferSize);
    trace_put_number(line, "DmaBufferPrivateDataSize", arg->DmaBufferPrivateDataSize);
    trace_put_number(line, "DmaBufferUmdPrivateDataSize", arg->DmaBufferUmdPrivateDataSize);
    trace_put_number(line, "SubmissionFenceId", arg->SubmissionFenceId);
    trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
    trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
}

static void put_submit_to_queue(struct trace_line *line, const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    trace_put_handle(line, "hHwQueue", TRACE_HANDLE_QUEUE, arg->hHwQueue);
    trace_put_number(line, "HwQueueProgressFenceId", arg->HwQueueProgressFenceId);
    trace_put_hex(line, "DmaBufferVirtualAddress", arg->DmaBufferVirtualAddress);
    trace_put_number(line, "DmaBufferSize", arg->DmaBufferSize);
    trace_put_number(line, "DmaBufferPrivateDataSize", arg->DmaBufferPrivateDataSize);
    trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_hex(line, "HwQueueProgressFenceGpuVa", arg->HwQueueProgressFenceGpuVa);
}

static void put_bands(struct trace_line *line, const DXGKARG_SETUPPRIORITYBANDS *arg)
{
    for (unsigned i = 0; i < DXGK_SCHEDULING_PRIORITY_BAND_COUNT; i++) {
        trace_put_number(line, "gracePeriodForBand", arg->gracePeriodForBand[i]);
        trace_put_number(line, "processQuantumForBand", arg->processQuantumForBand[i]);
        trace_put_number(line, "processGracePeriodForBand", arg->processGracePeriodForBand[i]);
    }
    trace_put_number(line, "targetNormalBandPercentage", arg->targetNormalBandPercentage);
}

static void put_scheduling(struct trace_line *line,
                           const DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES *arg)
{
    trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
    trace_put_number(line, "priorityBand", (uint64_t)arg->priorityBand);
    trace_put(line, " realtimeBandPriorityLevel=%d inProcessPriority=%d",
              arg->realtimeBandPriorityLevel, arg->inProcessPriority);
    trace_put_number(line, "quantum", arg->quantum);
    trace_put_number(line, "gracePeriodSamePriority", arg->gracePeriodSamePriority);
    trace_put_number(line, "gracePeriodLowerPriority", arg->gracePeriodLowerPriority);
}

static void put_log_buffer(struct trace_line *line, const DXGKARG_SETSCHEDULINGLOGBUFFER *arg)
{
    trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
    trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
    trace_put_number(line, "NumberOfEntries", arg->NumberOfEntries);
    trace_put_hex(line, "LogBufferGpuVa", arg->LogBufferGpuVa);
    trace_put_number(line, "InterruptEntry", arg->InterruptEntry);
}

static void put_suspension(struct trace_line *line, const DXGKARG_SUSPENDCONTEXT *arg)
{
    trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
    trace_put_number(line, "contextSuspendFence", arg->contextSuspendFence);
}

static void put_engine(struct trace_line *line, const DXGKARG_RESETHWENGINE *arg)
{
    trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
    trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
}

static void put_context_list(struct trace_line *line, const DXGKARG_SWITCHTOHWCONTEXTLIST *arg)
{
    trace_put_handle(line, "hHwContextFirst", TRACE_HANDLE_CONTEXT, arg->hHwContextFirst);
    trace_put_handle(line, "hHwContextSecond", TRACE_HANDLE_CONTEXT, arg->hHwContextSecond);
    trace_put_number(line, "NodeOrdinal", arg->NodeOrdinal);
    trace_put_number(line, "EngineOrdinal", arg->EngineOrdinal);
}

static void put_create_queue(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_CREATEHWQUEUE *arg = event->argument;

    trace_put_handle(line, "hHwQueue", TRACE_HANDLE_QUEUE, arg->hHwQueue);
    if (event->phase == TRACE_AFTER)
        return;
    trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_number(line, "PrivateDriverDataSize", arg->PrivateDriverDataSize);
    trace_put_hex(line, "hHwQueueProgressFence", arg->hHwQueueProgressFence);
    trace_put_hex(line, "HwQueueProgressFenceGPUVirtualAddress",
                  arg->HwQueueProgressFenceGPUVirtualAddress);
}

static void put_node_metadata(struct trace_line *line, const struct trace_event *event)
{
    const struct miniport_node *arg = event->argument;

    if (event->phase == TRACE_BEFORE) {
        trace_put_hex(line, "NodeOrdinalAndAdapterIndex", arg->NodeOrdinalAndAdapterIndex);
        return;
    }
    trace_put_number(line, "EngineType", (uint64_t)arg->metadata.EngineType);
    trace_put_hex(line, "Flags", arg->metadata.Flags.Value);
}

static void put_render(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_RENDER *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put(line, " written=%" PRId64, event->written);
        trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
        return;
    }
    trace_put_number(line, "CommandLength", arg->CommandLength);
    trace_put_number(line, "DmaSize", arg->DmaSize);
    trace_put_number(line, "DmaBufferPrivateDataSize", arg->DmaBufferPrivateDataSize);
    trace_put_number(line, "PatchLocationListInSize", arg->PatchLocationListInSize);
    trace_put_number(line, "PatchLocationListOutSize", arg->PatchLocationListOutSize);
    trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
    trace_put_place(line, "DmaBuffer", arg->DmaBufferSegmentId,
                    (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart);
    put_allocation_list(line, arg->pAllocationList, arg->AllocationListSize);
}

static void put_render_gdi(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_RENDERGDI *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put(line, " written=%" PRId64, event->written);
        trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
        return;
    }
    trace_put_number(line, "CommandLength", arg->CommandLength);
    trace_put_number(line, "DmaSize", arg->DmaSize);
    trace_put_number(line, "DmaBufferPrivateDataSize", arg->DmaBufferPrivateDataSize);
    trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
    trace_put_hex(line, "DmaBufferGpuVirtualAddress", arg->DmaBufferGpuVirtualAddress);
    put_allocation_list(line, arg->pAllocationList, arg->AllocationListSize);
}

static void put_present(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_PRESENT *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put(line, " written=%" PRId64, event->written);
        trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
        return;
    }
    trace_put_hex(line, "Flags", arg->Flags.Value);
    trace_put_hex(line, "Color", arg->Color);
    trace_put(line, " SrcRect=%d..%d DstRect=%d..%d", (int)arg->SrcRect.top,
              (int)arg->SrcRect.bottom, (int)arg->DstRect.top, (int)arg->DstRect.bottom);
    trace_put_number(line, "SubRectCnt", arg->SubRectCnt);
    trace_put_number(line, "DmaSize", arg->DmaSize);
    trace_put_number(line, "PatchLocationListOutSize", arg->PatchLocationListOutSize);
    trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
    trace_put_place(line, "DmaBuffer", arg->DmaBufferSegmentId,
                    (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart);
    if (arg->DmaBufferGpuVirtualAddress)
        trace_put_hex(line, "DmaBufferGpuVirtualAddress", arg->DmaBufferGpuVirtualAddress);
    put_allocation_list(line, arg->pAllocationList, MINIPORT_PRESENT_ALLOCATIONS);
}

bool trace_put_work(struct trace_line *line, const struct trace_event *event)
{
    const void *argument = event->argument;
    bool is_before = event->phase == TRACE_BEFORE;

    switch ((unsigned)event->ddi) {
    case MINIPORT_DDI_Render:
    case MINIPORT_DDI_RenderKm:
        put_render(line, event);
        break;
    case MINIPORT_DDI_RenderGdi:
        put_render_gdi(line, event);
        break;
    case MINIPORT_DDI_Present:
    case MINIPORT_DDI_PresentToHwQueue:
        put_present(line, event);
        break;
    case MINIPORT_DDI_Patch:
        if (is_before)
            put_patch(line, argument);
        break;
    case MINIPORT_DDI_SubmitCommand:
        if (is_before)
            put_submit_command(line, argument);
        break;
    case MINIPORT_DDI_SubmitCommandVirtual:
        if (is_before)
            put_submit_command_virtual(line, argument);
        break;
    case MINIPORT_DDI_SubmitCommandToHwQueue:
        if (is_before)
            put_submit_to_queue(line, argument);
        break;
    case MINIPORT_DDI_CreateHwQueue:
        put_create_queue(line, event);
        break;
    case MINIPORT_DDI_SetupPriorityBands:
        if (is_before)
            put_bands(line, argument);
        break;
    case MINIPORT_DDI_SetSchedulingLogBuffer:
        if (is_before)
            put_log_buffer(line, argument);
        break;
    case MINIPORT_DDI_SetContextSchedulingProperties:
        if (is_before)
            put_scheduling(line, argument);
        break;
    case MINIPORT_DDI_SuspendContext:
        if (is_before)
            put_suspension(line, argument);
        break;
    case MINIPORT_DDI_ResumeContext:
        if (is_before)
            trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT,
                             ((const DXGKARG_RESUMECONTEXT *)argument)->hContext);
        break;
    case MINIPORT_DDI_ResetHwEngine:
    case MINIPORT_DDI_ResumeHwEngine: /* the two have the same members */
        if (is_before)
            put_engine(line, argument);
        break;
    case MINIPORT_DDI_SwitchToHwContextList:
        if (is_before)
            put_context_list(line, argument);
        break;
    case MINIPORT_DDI_GetNodeMetadata:
        put_node_metadata(line, event);
        break;
    default:
        return false;
    }
    return true;
}
