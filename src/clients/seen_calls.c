/*
 * Calls that hand in work, and calls that wait and signal, as one form each.
 *
 * A hardware queue stands for its context: what goes to the queue is the context's. A further one
 * of a context has a context of its own (seen_object.further_of).
 */
#include "clients/seen.h"

static struct seen_object *context_of_queue(const struct seen_process *process,
                                            D3DKMT_HANDLE handle)
{
    const struct seen_object *queue = seen_find(process, handle, SEEN_HW_QUEUE);

    return queue && !queue->context->is_destroyed ? queue->context : NULL;
}

bool seen_work_of(const struct seen_process *process, enum d3dkmt_function function,
                  const void *call_arguments, struct seen_work *out_work)
{
    *out_work = (struct seen_work){0};
    if (function == D3DKMT_FN_SubmitCommand) {
        const D3DKMT_SUBMITCOMMAND *arguments = call_arguments;

        if (arguments->BroadcastContextCount)
            out_work->context = seen_find(process, arguments->BroadcastContext[0], SEEN_CONTEXT);
        out_work->va = arguments->Commands;
        out_work->bytes = arguments->CommandLength;
        out_work->private_data_bytes = arguments->PrivateDriverDataSize;
        out_work->is_null = arguments->Flags.NullRendering;
        return true;
    }
    if (function == D3DKMT_FN_SubmitCommandToHwQueue) {
        const D3DKMT_SUBMITCOMMANDTOHWQUEUE *arguments = call_arguments;

        out_work->hw_queue = seen_find(process, arguments->hHwQueue, SEEN_HW_QUEUE);
        out_work->context = context_of_queue(process, arguments->hHwQueue);
        out_work->progress_id = arguments->HwQueueProgressFenceId;
        out_work->va = arguments->CommandBuffer;
        out_work->bytes = arguments->CommandLength;
        out_work->private_data_bytes = arguments->PrivateDriverDataSize;
        return true;
    }
    return false;
}

static void set_sync(struct seen_sync *sync, UINT count, const D3DKMT_HANDLE *handles,
                     const UINT64 *values)
{
    sync->count = count;
    sync->handles = handles;
    sync->values = values;
}

bool seen_wait_of(const struct seen_process *process, enum d3dkmt_function function,
                  const void *call_arguments, struct seen_sync *out_wait)
{
    *out_wait = (struct seen_sync){.begins = true, .ends = true};
    switch (function) {
    case D3DKMT_FN_WaitForSynchronizationObjectFromCpu: {
        const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments = call_arguments;

        out_wait->event = (uintptr_t)arguments->hAsyncEvent & ~UINT64_C(1);
        out_wait->begins = !((uintptr_t)arguments->hAsyncEvent & 1);
        out_wait->ends = !out_wait->event || !out_wait->begins;
        out_wait->is_by_cpu = true;
        set_sync(out_wait, arguments->ObjectCount, arguments->ObjectHandleArray,
                 arguments->FenceValueArray);
        return true;
    }
    case D3DKMT_FN_WaitForSynchronizationObjectFromGpu: {
        const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *arguments = call_arguments;

        out_wait->context = seen_find(process, arguments->hContext, SEEN_CONTEXT);
        set_sync(out_wait, arguments->ObjectCount, arguments->ObjectHandleArray,
                 arguments->MonitoredFenceValueArray);
        return true;
    }
    case D3DKMT_FN_SubmitWaitForSyncObjectsToHwQueue: {
        const D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *arguments = call_arguments;

        out_wait->context = context_of_queue(process, arguments->hHwQueue);
        set_sync(out_wait, arguments->ObjectCount, arguments->ObjectHandleArray,
                 arguments->FenceValueArray);
        return true;
    }
    default:
        return false;
    }
}

bool seen_signal_of(const struct seen_process *process, enum d3dkmt_function function,
                    const void *call_arguments, struct seen_sync *out_signal)
{
    *out_signal = (struct seen_sync){0};
    switch (function) {
    case D3DKMT_FN_SignalSynchronizationObjectFromCpu: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU *arguments = call_arguments;

        out_signal->is_by_cpu = true;
        out_signal->may_fall = arguments->Flags.AllowFenceRewind;
        set_sync(out_signal, arguments->ObjectCount, arguments->ObjectHandleArray,
                 arguments->FenceValueArray);
        return true;
    }
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *arguments = call_arguments;

        out_signal->context = seen_find(process, arguments->hContext, SEEN_CONTEXT);
        set_sync(out_signal, arguments->ObjectCount, arguments->ObjectHandleArray,
                 arguments->MonitoredFenceValueArray);
        return true;
    }
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu2: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *arguments = call_arguments;

        if (arguments->Flags.EnqueueCpuEvent)
            return false;
        if (arguments->BroadcastContextArray && arguments->BroadcastContextCount)
            out_signal->context =
                seen_find(process, arguments->BroadcastContextArray[0], SEEN_CONTEXT);
        out_signal->may_fall = arguments->Flags.AllowFenceRewind;
        set_sync(out_signal, arguments->ObjectCount, arguments->ObjectHandleArray,
                 arguments->MonitoredFenceValueArray);
        return true;
    }
    case D3DKMT_FN_SubmitSignalSyncObjectsToHwQueue: {
        const D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *arguments = call_arguments;

        if (arguments->Flags.EnqueueCpuEvent)
            return false;
        if (arguments->BroadcastHwQueueArray && arguments->BroadcastHwQueueCount)
            out_signal->context = context_of_queue(process, arguments->BroadcastHwQueueArray[0]);
        out_signal->may_fall = arguments->Flags.AllowFenceRewind;
        set_sync(out_signal, arguments->ObjectCount, arguments->ObjectHandleArray,
                 arguments->FenceValueArray);
        return true;
    }
    default:
        return false;
    }
}

static UINT at_most(UINT count, UINT most)
{
    return count < most ? count : most;
}

bool seen_setting_of(const struct seen_process *process, enum d3dkmt_function function,
                     const void *call_arguments, struct seen_setting *out_setting)
{
    *out_setting = (struct seen_setting){0};
    switch (function) {
    case D3DKMT_FN_SignalSynchronizationObject: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT *arguments = call_arguments;

        out_setting->context = seen_find(process, arguments->hContext, SEEN_CONTEXT);
        out_setting->count = at_most(arguments->ObjectCount, D3DDDI_MAX_OBJECT_SIGNALED);
        out_setting->handles = arguments->ObjectHandleArray;
        return true;
    }
    case D3DKMT_FN_SignalSynchronizationObject2: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *arguments = call_arguments;

        out_setting->context = seen_find(process, arguments->hContext, SEEN_CONTEXT);
        out_setting->count = at_most(arguments->ObjectCount, D3DDDI_MAX_OBJECT_SIGNALED);
        out_setting->handles = arguments->ObjectHandleArray;
        out_setting->is_enqueued = arguments->Flags.EnqueueCpuEvent;
        if (out_setting->is_enqueued)
            out_setting->event = (uintptr_t)arguments->CpuEventHandle;
        return true;
    }
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu2: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *arguments = call_arguments;

        if (!arguments->Flags.EnqueueCpuEvent)
            return false;
        if (arguments->BroadcastContextArray && arguments->BroadcastContextCount)
            out_setting->context =
                seen_find(process, arguments->BroadcastContextArray[0], SEEN_CONTEXT);
        out_setting->count = arguments->ObjectCount;
        out_setting->is_enqueued = true;
        out_setting->event = (uintptr_t)arguments->CpuEventHandle;
        return true;
    }
    default:
        return false;
    }
}

struct seen_object *seen_who_sets(const struct seen_process *process, uint64_t event)
{
    for (unsigned i = 0; event && i < SEEN_EVENTS; i++) {
        const struct seen_event *set =
            &process->events[(process->next_event - 1 - i) % SEEN_EVENTS];

        if (set->number == event)
            return set->context;
    }
    return NULL;
}
