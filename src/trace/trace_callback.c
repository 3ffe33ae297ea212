/*
 * Trace: the fields of what a driver asks of the graphics kernel: its callbacks.
 */
#include "trace/trace_line.h"

static void put_interrupt(struct trace_line *line, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    trace_put_text(line, " ");
    trace_put_text(line, trace_interrupt_name((unsigned)data->InterruptType));
    switch ((unsigned)data->InterruptType) {
    case DXGK_INTERRUPT_DMA_COMPLETED:
        trace_put_number(line, "SubmissionFenceId", data->DmaCompleted.SubmissionFenceId);
        trace_put_number(line, "NodeOrdinal", data->DmaCompleted.NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", data->DmaCompleted.EngineOrdinal);
        break;
    case DXGK_INTERRUPT_DMA_PREEMPTED:
        trace_put_number(line, "PreemptionFenceId", data->DmaPreempted.PreemptionFenceId);
        trace_put_number(line, "LastCompletedFenceId", data->DmaPreempted.LastCompletedFenceId);
        trace_put_number(line, "NodeOrdinal", data->DmaPreempted.NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", data->DmaPreempted.EngineOrdinal);
        break;
    case DXGK_INTERRUPT_DMA_FAULTED:
        trace_put_number(line, "FaultedFenceId", data->DmaFaulted.FaultedFenceId);
        trace_put_hex(line, "Status", (uint32_t)data->DmaFaulted.Status);
        trace_put_number(line, "NodeOrdinal", data->DmaFaulted.NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", data->DmaFaulted.EngineOrdinal);
        break;
    case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
        trace_put_number(line, "FaultedFenceId", data->DmaPageFaulted.FaultedFenceId);
        trace_put_hex(line, "PageFaultFlags", (uint64_t)data->DmaPageFaulted.PageFaultFlags);
        trace_put_hex(line, "FaultedVirtualAddress", data->DmaPageFaulted.FaultedVirtualAddress);
        trace_put_number(line, "NodeOrdinal", data->DmaPageFaulted.NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", data->DmaPageFaulted.EngineOrdinal);
        trace_put_number(line, "PageTableLevel", data->DmaPageFaulted.PageTableLevel);
        trace_put_handle(line, "FaultedProcessHandle", TRACE_HANDLE_PROCESS,
                         data->DmaPageFaulted.FaultedProcessHandle);
        break;
    case DXGK_INTERRUPT_CRTC_VSYNC:
        trace_put_number(line, "VidPnTargetId", data->CrtcVsync.VidPnTargetId);
        trace_put_hex(line, "PhysicalAddress", (uint64_t)data->CrtcVsync.PhysicalAddress.QuadPart);
        break;
    case DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED:
        trace_put_number(line, "NodeOrdinal", data->MonitoredFenceSignaled.NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", data->MonitoredFenceSignaled.EngineOrdinal);
        break;
    case DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED:
        trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT,
                         data->SuspendContextCompleted.hContext);
        trace_put_number(line, "ContextSuspendFence",
                         data->SuspendContextCompleted.ContextSuspendFence);
        break;
    case DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT:
        trace_put_number(line, "NodeOrdinal", data->SchedulingLogInterrupt.NodeOrdinal);
        trace_put_number(line, "EngineOrdinal", data->SchedulingLogInterrupt.EngineOrdinal);
        break;
    default:
        break;
    }
}

static void put_map_context_allocation(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARGCB_MAPCONTEXTALLOCATION *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put_hex(line, "address", (uint64_t)(uintptr_t)event->object);
        return;
    }
    trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->hAllocation);
    trace_put_hex(line, "BaseAddress", arg->BaseAddress);
    trace_put_hex(line, "MinimumAddress", arg->MinimumAddress);
    trace_put_hex(line, "MaximumAddress", arg->MaximumAddress);
    trace_put_number(line, "OffsetInPages", arg->OffsetInPages);
    trace_put_number(line, "SizeInPages", arg->SizeInPages);
    trace_put_hex(line, "Protection", arg->Protection.Value);
    trace_put_hex(line, "DriverProtection", arg->DriverProtection);
}

static void put_update_context_allocation(struct trace_line *line,
                                          const DXGKARGCB_UPDATECONTEXTALLOCATION *arg)
{
    trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->hAllocation);
    trace_put_number(line, "PrivateDriverDataSize", arg->PrivateDriverDataSize);
}

static void put_create_context_allocation(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARGCB_CREATECONTEXTALLOCATION *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, arg->hAllocation);
        return;
    }
    trace_put_hex(line, "ContextAllocationFlags", arg->ContextAllocationFlags.Value);
    trace_put_handle(line, "hDevice", TRACE_HANDLE_DEVICE, arg->hDevice);
    trace_put_handle(line, "hContext", TRACE_HANDLE_CONTEXT, arg->hContext);
    trace_put_number(line, "Size", arg->Size);
    trace_put_number(line, "Alignment", arg->Alignment);
    trace_put_hex(line, "SupportedSegmentSet", arg->SupportedSegmentSet);
    trace_put_hex(line, "EvictionSegmentSet", arg->EvictionSegmentSet);
    trace_put_hex(line, "PreferredSegment", arg->PreferredSegment.Value);
    trace_put_hex(line, "Flags", arg->Flags.Value);
}

static void put_reserve_range(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put_hex(line, "StartVirtualAddress", arg->StartVirtualAddress);
        return;
    }
    trace_put_handle(line, "hDxgkProcess", TRACE_HANDLE_OS_PROCESS, arg->hDxgkProcess);
    trace_put_number(line, "SizeInBytes", arg->SizeInBytes);
    trace_put_number(line, "Alignment", arg->Alignment);
    trace_put_hex(line, "BaseAddress", arg->BaseAddress);
    trace_put_hex(line, "Flags", arg->Flags);
}

void trace_put_callback(struct trace_line *line, const struct trace_event *event)
{
    bool is_before = event->phase == TRACE_BEFORE;

    switch (event->callback) {
    case TRACE_CALLBACK_notify_interrupt:
        if (is_before)
            put_interrupt(line, event->argument);
        break;
    case TRACE_CALLBACK_map_memory:
        if (is_before) {
            trace_put_hex(line, "TranslatedAddress", event->values[0]);
            trace_put_number(line, "Length", event->values[1]);
        }
        break;
    case TRACE_CALLBACK_read_device_space:
    case TRACE_CALLBACK_write_device_space: {
        const struct miniport_space *space = event->argument;

        if (is_before) {
            trace_put_hex(line, "DataType", space->type);
            trace_put_hex(line, "Offset", space->offset);
            trace_put_number(line, "Length", space->length);
        } else {
            trace_put_number(line, "done", space->done);
        }
        break;
    }
    case TRACE_CALLBACK_queue_dpc:
        if (!is_before)
            trace_put_number(line, "queued", event->values[0]);
        break;
    case TRACE_CALLBACK_synchronize_execution:
        trace_put_number(line, is_before ? "message" : "result", event->values[0]);
        break;
    case TRACE_CALLBACK_get_handle_data: {
        const DXGKARGCB_GETHANDLEDATA *data = event->argument;

        trace_put_hex(line, "hObject", data->hObject);
        trace_put_number(line, "Type", (uint64_t)data->Type);
        trace_put_hex(line, "Flags", data->Flags.Value);
        if (!is_before)
            trace_put_text(line, event->object ? " found" : " unknown");
        break;
    }
    case TRACE_CALLBACK_get_handle_parent:
        trace_put_hex(line, is_before ? "hAllocation" : "hResource", event->values[0]);
        break;
    case TRACE_CALLBACK_enum_handle_children: {
        const DXGKARGCB_ENUMHANDLECHILDREN *children = event->argument;

        trace_put_hex(line, "hObject", children->hObject);
        trace_put_number(line, "Index", children->Index);
        if (!is_before)
            trace_put_hex(line, "hAllocation", event->values[0]);
        break;
    }
    case TRACE_CALLBACK_reserve_gpu_virtual_address_range:
        put_reserve_range(line, event);
        break;
    case TRACE_CALLBACK_create_context_allocation:
        put_create_context_allocation(line, event);
        break;
    case TRACE_CALLBACK_destroy_context_allocation:
        if (is_before)
            trace_put_handle(line, "hAllocation", TRACE_HANDLE_ALLOCATION, event->argument);
        break;
    case TRACE_CALLBACK_map_context_allocation:
        put_map_context_allocation(line, event);
        break;
    case TRACE_CALLBACK_update_context_allocation:
        if (is_before)
            put_update_context_allocation(line, event->argument);
        break;
    case TRACE_CALLBACK_is_feature_enabled: {
        const DXGKARGCB_ISFEATUREENABLED *arg = event->argument;

        trace_put_number(line, is_before ? "FeatureId" : "Enabled",
                         is_before ? (uint64_t)arg->FeatureId : arg->Enabled);
        break;
    }
    case TRACE_CALLBACK_invalidate_hw_context: {
        const DXGKARGCB_INVALIDATEHWCONTEXT *arg = event->argument;

        if (!is_before)
            break;
        trace_put_handle(line, "hHwContext", TRACE_HANDLE_CONTEXT, arg->hHwContext);
        trace_put_hex(line, "Flags", arg->Flags.Value);
        break;
    }
    case TRACE_CALLBACK_memory:
        trace_put_memory(line, event);
        break;
    case TRACE_CALLBACK_power: {
        const struct miniport_power_request *arg = event->argument;

        if (!is_before || arg->kind == MINIPORT_POWER_PowerRuntimeControlRequest)
            break;
        trace_put_number(line, "ComponentIndex", arg->ComponentIndex);
        if (arg->kind == MINIPORT_POWER_SetPowerComponentLatency ||
            arg->kind == MINIPORT_POWER_SetPowerComponentResidency)
            trace_put_number(line, "time", arg->time);
        break;
    }
    case TRACE_CALLBACK_log:
    case TRACE_CALLBACK_unsupported:
        if (is_before)
            trace_put(line, " %s", (const char *)event->argument);
        break;
    default:
        break;
    }
}
