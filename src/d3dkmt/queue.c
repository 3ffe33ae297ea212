/*
 * The queue of a context: submissions, waits, signals and tile updates in the order of their calls.
 *
 * The first item goes when it can: a wait when its fences have the values, a submission at once, a
 * signal and an update when all submissions in front of them have ended. While somebody needs the
 * manager idle, nothing is handed over.
 */
#include "d3dkmt/front.h"

#include <string.h>

/* What one context may have queued; more is STATUS_NO_MEMORY. */
#define MOST_QUEUED 65536u

static void item_free(struct item *item)
{
    struct d3dkmt *front = item->context->device->process->front;

    for (unsigned i = 0; i < item->count; i++)
        fence_unuse(item->fences[i]);
    for (unsigned i = 0; i < item->event_count; i++)
        event_leave(item->events[i], STATUS_CANCELLED);
    for (unsigned i = 0; i < item->pool_count; i++)
        item->pools[i]->queued--;
    if (item->progress)
        fence_unuse(item->progress);
    list_remove(&item->link);
    front_free(front, item, item->bytes);
}

/* With room behind it for extra bytes, at item + 1. */
static struct item *item_create(struct context *context, enum item_kind kind, size_t extra)
{
    struct item *item = front_alloc(context->device->process->front, sizeof *item + extra);

    if (!item)
        return NULL;
    item->bytes = sizeof *item + extra;
    item->context = context;
    item->kind = kind;
    list_init(&item->link);
    return item;
}

static void item_queue(struct item *item)
{
    item->sequence = ++item->context->queued;
    list_push_back(&item->context->queue, &item->link);
    front_changed(item->context->device->process->front);
}

static void retired(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct item *item = context;
    struct device *device = item->context->device;

    if (!NT_SUCCESS(status) && !device->object.is_going)
        device_lose(device, status == STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    if (item->progress && !device->is_lost)
        fence_set(item->progress, item->progress_id);
    device->process->front->releases++;
    front_changed(device->process->front);
    item_free(item);
}

/* ---- Items that go --------------------------------------------------------------------------- */

static bool wait_is_over(const struct item *item)
{
    for (unsigned i = 0; i < item->count; i++) {
        if (*item->fences[i]->value < item->values[i])
            return false;
    }
    return true;
}

static bool work_goes(struct item *item)
{
    struct context *context = item->context;
    struct d3dkmt *front = context->device->process->front;
    NTSTATUS status;

    if (front->wants_idle || context->device->demoted || context->device->closing)
        return false;
    context->device->last_work = item->number = ++front->handed_over;
    list_remove(&item->link);
    list_push_back(&context->running, &item->link);
    front_tell(front, &(struct d3dkmt_deed){.kind = D3DKMT_DEED_SUBMIT,
                                            .client = context->device->process->client,
                                            .context = context->first == context
                                                           ? context->object.handle
                                                           : context->hw_queue->object.handle});
    vidmm_context_set_null_rendering(context->handle, item->is_null);
    status = vidmm_submit_virtual_with(context->handle, &item->work, retired, item);
    if (!NT_SUCCESS(status))
        retired(item, status, 0, 0);
    return true;
}

static bool signal_goes(struct item *item)
{
    if (!list_is_empty(&item->context->running))
        return false;
    for (unsigned i = 0; i < item->count; i++)
        fence_set(item->fences[i], item->values[i]);
    for (unsigned i = 0; i < item->event_count; i++)
        event_set(item->events[i]);
    item_free(item);
    return true;
}

static bool tiles_go(struct item *item)
{
    struct context *context = item->context;
    NTSTATUS status;

    if (context->device->process->front->wants_idle || context->device->closing)
        return false;
    item->number = context->device->process->front->handed_over;
    list_remove(&item->link);
    list_push_back(&context->running, &item->link);
    status = vidmm_update_gpu_va(context->handle, item->tile_count, item->tiles, retired, item);
    if (status == STATUS_DEVICE_BUSY) {
        list_remove(&item->link);
        list_push_front(&context->queue, &item->link);
        return false;
    }
    if (!NT_SUCCESS(status))
        retired(item, status, 0, 0);
    return true;
}

static bool item_goes(struct item *item)
{
    switch (item->kind) {
    case ITEM_WAIT:
        if (!wait_is_over(item))
            return false;
        item_free(item);
        return true;
    case ITEM_WORK:
        return work_goes(item);
    case ITEM_SIGNAL:
        return signal_goes(item);
    case ITEM_TILES:
        return tiles_go(item);
    }
    return false;
}

static bool context_pump(struct context *context)
{
    bool did = false;

    while (!list_is_empty(&context->queue) &&
           item_goes(container_of(context->queue.next, struct item, link)))
        did = true;
    return did;
}

bool contexts_pump(struct d3dkmt *front)
{
    struct d3dkmt_process *process;
    struct device *device;
    struct context *context;
    bool did = false;

    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        list_for_each (device, &process->devices, struct device, link) {
            list_for_each (context, &device->contexts, struct context, link)
                did |= context_pump(context);
        }
    }
    return did;
}

void context_drop_queue(struct context *context)
{
    struct item *item, *following;

    list_for_each_safe (item, following, &context->queue, struct item, link)
        item_free(item);
}

bool device_has_queued(const struct device *device)
{
    const struct context *context;

    list_for_each (context, &device->contexts, struct context, link) {
        if (!list_is_empty(&context->queue))
            return true;
    }
    return false;
}

bool device_runs(const struct device *device)
{
    const struct context *context;

    list_for_each (context, &device->contexts, struct context, link) {
        if (!list_is_empty(&context->running))
            return true;
    }
    return false;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static bool has_room(const struct context *context)
{
    return context->queued < MOST_QUEUED || list_is_empty(&context->queue) ||
           context->queued - container_of(context->queue.next, struct item, link)->sequence <
               MOST_QUEUED;
}

/* Work as both functions hand it in; is_null: NullRendering of the call. */
static NTSTATUS queue_work(struct context *context, const struct vidmm_virtual_work *work,
                           bool is_null, struct hw_queue *queue, uint64_t progress_id)
{
    const uint32_t private_bytes = work->private_data_bytes;
    struct item *item;

    if (context->device->is_lost)
        return STATUS_DEVICE_REMOVED;
    item = has_room(context) ? item_create(context, ITEM_WORK, private_bytes) : NULL;
    if (!item)
        return STATUS_NO_MEMORY;
    item->is_null = is_null || context->is_null;
    item->work = *work;
    item->work.va &= (UINT64_C(1) << 48) - 1; /* the canonical form is taken, too */
    item->work.private_data = private_bytes ? item + 1 : NULL;
    if (private_bytes)
        memcpy(item + 1, work->private_data, private_bytes);
    if (queue) {
        queue->last_id = progress_id;
        item->progress = queue->fence;
        item->progress->uses++;
        item->progress_id = progress_id;
    }
    context->device->process->front->statistics.submissions++;
    item_queue(item);
    return STATUS_SUCCESS;
}

static bool is_private_data(const struct context *context, UINT bytes, const void *data)
{
    return bytes <= vidmm_context_private_data_bytes(context->handle) && (!bytes || data);
}

NTSTATUS d3dkmt_SubmitCommand(struct d3dkmt_call *call, const D3DKMT_SUBMITCOMMAND *arguments)
{
    const UINT private_bytes = arguments->PrivateDriverDataSize;
    struct context *context;

    if (arguments->BroadcastContextCount != 1 || !arguments->CommandLength ||
        arguments->NumPrimaries > D3DDDI_MAX_WRITTEN_PRIMARIES ||
        private_bytes > MOST_PRIVATE_DATA || arguments->NumHistoryBuffers)
        return STATUS_INVALID_PARAMETER;
    context = handle_find(call->process, arguments->BroadcastContext[0], OBJECT_CONTEXT);
    if (!context || context->is_for_queues ||
        !is_private_data(context, private_bytes, arguments->pPrivateDriverData))
        return STATUS_INVALID_PARAMETER;
    return queue_work(context,
                      &(struct vidmm_virtual_work){.va = arguments->Commands,
                                                   .bytes = arguments->CommandLength,
                                                   .private_data = arguments->pPrivateDriverData,
                                                   .private_data_bytes = private_bytes},
                      arguments->Flags.NullRendering, NULL, 0);
}

/* NULL: it is no queue of the process's, or goes, or its context does. */
static struct hw_queue *find_hw_queue(const struct d3dkmt_call *call, D3DKMT_HANDLE handle)
{
    struct hw_queue *queue = handle_find(call->process, handle, OBJECT_HW_QUEUE);

    return queue && !queue->context->first->object.is_going ? queue : NULL;
}

NTSTATUS d3dkmt_SubmitCommandToHwQueue(struct d3dkmt_call *call,
                                       const D3DKMT_SUBMITCOMMANDTOHWQUEUE *arguments)
{
    const UINT private_bytes = arguments->PrivateDriverDataSize;
    struct hw_queue *queue = find_hw_queue(call, arguments->hHwQueue);
    const uint64_t id = arguments->HwQueueProgressFenceId;

    if (!queue || !arguments->CommandLength || private_bytes > MOST_PRIVATE_DATA ||
        arguments->NumPrimaries > D3DDDI_MAX_WRITTEN_PRIMARIES ||
        (arguments->NumPrimaries && !arguments->WrittenPrimaries) ||
        !is_private_data(queue->context, private_bytes, arguments->pPrivateDriverData))
        return STATUS_INVALID_PARAMETER;
    if (id <= queue->last_id || id == UINT64_MAX) /* that one tells that the device is lost */
        return STATUS_INVALID_PARAMETER;
    return queue_work(queue->context,
                      &(struct vidmm_virtual_work){.va = arguments->CommandBuffer,
                                                   .bytes = arguments->CommandLength,
                                                   .private_data = arguments->pPrivateDriverData,
                                                   .private_data_bytes = private_bytes},
                      false, queue, id);
}

static NTSTATUS queue_fences(struct d3dkmt_process *process, struct context *context,
                             enum item_kind kind, unsigned count, const D3DKMT_HANDLE *handles,
                             const UINT64 *values)
{
    struct item *item;

    for (unsigned i = 0; i < count; i++) {
        const struct fence *fence = handle_find(process, handles[i], OBJECT_FENCE);

        if (!fence || (kind == ITEM_SIGNAL && fence_is_of_queue(fence)))
            return STATUS_INVALID_PARAMETER;
        if (!NT_SUCCESS(fence_refusal(fence, kind == ITEM_SIGNAL)))
            return STATUS_ACCESS_DENIED;
    }
    item = has_room(context)
               ? item_create(context, kind, count * (sizeof *item->fences + sizeof *item->values))
               : NULL;
    if (!item)
        return STATUS_NO_MEMORY;
    item->values = (uint64_t *)(item + 1);
    item->fences = (struct fence **)(item->values + count);
    for (unsigned i = 0; i < count; i++) {
        item->fences[i] = handle_find(process, handles[i], OBJECT_FENCE);
        item->fences[i]->uses++;
        item->values[i] = values[i];
    }
    item->count = count;
    item_queue(item);
    return STATUS_SUCCESS;
}

NTSTATUS
d3dkmt_WaitForSynchronizationObjectFromGpu(
    struct d3dkmt_call *call, const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *arguments)
{
    struct context *context = handle_find(call->process, arguments->hContext, OBJECT_CONTEXT);

    if (!context || !arguments->ObjectCount ||
        arguments->ObjectCount > D3DDDI_MAX_OBJECT_WAITED_ON || !arguments->ObjectHandleArray ||
        !arguments->MonitoredFenceValueArray)
        return STATUS_INVALID_PARAMETER;
    return queue_fences(call->process, context, ITEM_WAIT, arguments->ObjectCount,
                        arguments->ObjectHandleArray, arguments->MonitoredFenceValueArray);
}

NTSTATUS
d3dkmt_SignalSynchronizationObjectFromGpu(
    struct d3dkmt_call *call, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *arguments)
{
    struct context *context = handle_find(call->process, arguments->hContext, OBJECT_CONTEXT);

    if (!context || !arguments->ObjectCount ||
        arguments->ObjectCount > D3DDDI_MAX_OBJECT_SIGNALED || !arguments->ObjectHandleArray ||
        !arguments->MonitoredFenceValueArray)
        return STATUS_INVALID_PARAMETER;
    return queue_fences(call->process, context, ITEM_SIGNAL, arguments->ObjectCount,
                        arguments->ObjectHandleArray, arguments->MonitoredFenceValueArray);
}

/* Gives an item without events, which has room for so many. */
static NTSTATUS create_event_item(struct context *context, unsigned count, struct item **out_item)
{
    struct item *item =
        has_room(context) ? item_create(context, ITEM_SIGNAL, count * sizeof *item->events) : NULL;

    *out_item = item;
    if (!item)
        return STATUS_NO_MEMORY;
    item->events = (struct event **)(item + 1);
    return STATUS_SUCCESS;
}

/* The event alone is set. */
static NTSTATUS enqueue_event(struct d3dkmt_process *process, D3DKMT_HANDLE handle, UINT count,
                              HANDLE event)
{
    struct context *context = handle_find(process, handle, OBJECT_CONTEXT);
    struct item *item;
    NTSTATUS status;

    if (!context || count)
        return STATUS_INVALID_PARAMETER;
    if (!event)
        return STATUS_INVALID_HANDLE;
    status = create_event_item(context, 1, &item);
    if (!NT_SUCCESS(status))
        return status;
    status = event_create(process, (uintptr_t)event, &item->events[0]);
    if (!NT_SUCCESS(status)) {
        item_free(item);
        return status;
    }
    item->event_count = 1;
    item_queue(item);
    return STATUS_SUCCESS;
}

/* CPU notifications; fences have values, and calls of their own. */
static NTSTATUS queue_notifications(struct d3dkmt_process *process, D3DKMT_HANDLE handle,
                                    UINT count, const D3DKMT_HANDLE *handles)
{
    struct context *context = handle_find(process, handle, OBJECT_CONTEXT);
    struct item *item;
    NTSTATUS status;

    if (!context || !count || count > D3DDDI_MAX_OBJECT_SIGNALED)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < count; i++) {
        if (!handle_find(process, handles[i], OBJECT_NOTIFICATION))
            return STATUS_INVALID_PARAMETER;
    }
    status = create_event_item(context, count, &item);
    if (!NT_SUCCESS(status))
        return status;
    for (UINT i = 0; i < count; i++) {
        const struct notification *notification =
            handle_find(process, handles[i], OBJECT_NOTIFICATION);

        item->events[item->event_count++] = notification->event;
        event_keep(notification->event);
    }
    item_queue(item);
    return STATUS_SUCCESS;
}

NTSTATUS
d3dkmt_SignalSynchronizationObject(struct d3dkmt_call *call,
                                   const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT *arguments)
{
    if (arguments->Flags.EnqueueCpuEvent) /* which the structure has no place for */
        return STATUS_INVALID_PARAMETER;
    return queue_notifications(call->process, arguments->hContext, arguments->ObjectCount,
                               arguments->ObjectHandleArray);
}

NTSTATUS
d3dkmt_SignalSynchronizationObject2(struct d3dkmt_call *call,
                                    const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *arguments)
{
    if (arguments->BroadcastContextCount) /* beside hContext */
        return STATUS_NOT_SUPPORTED;
    return arguments->Flags.EnqueueCpuEvent
               ? enqueue_event(call->process, arguments->hContext, arguments->ObjectCount,
                               arguments->CpuEventHandle)
               : queue_notifications(call->process, arguments->hContext, arguments->ObjectCount,
                                     arguments->ObjectHandleArray);
}

NTSTATUS
d3dkmt_SignalSynchronizationObjectFromGpu2(
    struct d3dkmt_call *call, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *arguments)
{
    struct context *context;

    if (arguments->BroadcastContextCount != 1)
        return STATUS_NOT_SUPPORTED;
    if (arguments->Flags.EnqueueCpuEvent)
        return arguments->BroadcastContextArray
                   ? enqueue_event(call->process, arguments->BroadcastContextArray[0],
                                   arguments->ObjectCount, arguments->CpuEventHandle)
                   : STATUS_INVALID_PARAMETER;
    if (!arguments->BroadcastContextArray || !arguments->ObjectCount ||
        arguments->ObjectCount > D3DDDI_MAX_OBJECT_SIGNALED || !arguments->ObjectHandleArray ||
        !arguments->MonitoredFenceValueArray)
        return STATUS_INVALID_PARAMETER;
    context = handle_find(call->process, arguments->BroadcastContextArray[0], OBJECT_CONTEXT);
    if (!context)
        return STATUS_INVALID_PARAMETER;
    return queue_fences(call->process, context, ITEM_SIGNAL, arguments->ObjectCount,
                        arguments->ObjectHandleArray, arguments->MonitoredFenceValueArray);
}

NTSTATUS
d3dkmt_SubmitWaitForSyncObjectsToHwQueue(struct d3dkmt_call *call,
                                         const D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *arguments)
{
    struct hw_queue *queue = find_hw_queue(call, arguments->hHwQueue);

    if (!queue || !arguments->ObjectCount || arguments->ObjectCount > D3DDDI_MAX_OBJECT_WAITED_ON ||
        !arguments->ObjectHandleArray || !arguments->FenceValueArray)
        return STATUS_INVALID_PARAMETER;
    return queue_fences(call->process, queue->context, ITEM_WAIT, arguments->ObjectCount,
                        arguments->ObjectHandleArray, arguments->FenceValueArray);
}

NTSTATUS
d3dkmt_SubmitSignalSyncObjectsToHwQueue(struct d3dkmt_call *call,
                                        const D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *arguments)
{
    struct hw_queue *queue;

    if (!arguments->BroadcastHwQueueCount || !arguments->BroadcastHwQueueArray ||
        !arguments->ObjectCount || arguments->ObjectCount > D3DDDI_MAX_OBJECT_SIGNALED ||
        !arguments->ObjectHandleArray || !arguments->FenceValueArray)
        return STATUS_INVALID_PARAMETER;
    if (arguments->Flags.EnqueueCpuEvent || arguments->BroadcastHwQueueCount != 1)
        return STATUS_NOT_SUPPORTED;
    queue = find_hw_queue(call, arguments->BroadcastHwQueueArray[0]);
    if (!queue)
        return STATUS_INVALID_PARAMETER;
    return queue_fences(call->process, queue->context, ITEM_SIGNAL, arguments->ObjectCount,
                        arguments->ObjectHandleArray, arguments->FenceValueArray);
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

static bool is_tiles(uint64_t address, uint64_t bytes)
{
    uint64_t end;

    return bytes && is_aligned(address, VIDMM_TILE_BYTES) && is_aligned(bytes, VIDMM_TILE_BYTES) &&
           add_u64_checked(address, bytes, &end);
}

/* Inside what the client has reserved. */
static bool is_reserved(struct d3dkmt_process *process, uint64_t address, uint64_t bytes)
{
    const struct va_range *range = va_find(&process->reserved, address, address + bytes);

    return range && range->start <= address && range->end >= address + bytes;
}

static NTSTATUS take_tiles(struct item *item,
                           const D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *operation,
                           struct vidmm_tile_operation *out)
{
    struct d3dkmt_process *process = item->context->device->process;
    struct allocation *pool;

    *out = (struct vidmm_tile_operation){0};
    switch (operation->OperationType) {
    case D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP:
    case D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT:
        pool = handle_find(process, operation->Map.hAllocation, OBJECT_ALLOCATION);
        out->kind = VIDMM_TILE_MAP;
        out->va = operation->Map.BaseAddress;
        out->page_count = operation->Map.SizeInBytes / PAGE_SIZE_BYTES;
        if (!pool || !is_tiles(out->va, operation->Map.SizeInBytes) ||
            !is_aligned(operation->Map.AllocationOffsetInBytes, VIDMM_TILE_BYTES) ||
            operation->Map.AllocationOffsetInBytes > pool->bytes ||
            operation->Map.SizeInBytes > pool->bytes - operation->Map.AllocationOffsetInBytes)
            return STATUS_INVALID_PARAMETER;
        out->pool = pool->handle;
        item->pools[item->pool_count++] = pool;
        pool->queued++;
        out->first_page = operation->Map.AllocationOffsetInBytes / PAGE_SIZE_BYTES;
        break;
    case D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP:
        out->kind = VIDMM_TILE_UNMAP;
        out->va = operation->Unmap.BaseAddress;
        out->page_count = operation->Unmap.SizeInBytes / PAGE_SIZE_BYTES;
        if (!is_tiles(out->va, operation->Unmap.SizeInBytes))
            return STATUS_INVALID_PARAMETER;
        break;
    case D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY:
        out->kind = VIDMM_TILE_COPY;
        out->va = operation->Copy.DestAddress;
        out->source_va = operation->Copy.SourceAddress;
        out->page_count = operation->Copy.SizeInBytes / PAGE_SIZE_BYTES;
        if (!is_tiles(out->va, operation->Copy.SizeInBytes) ||
            !is_tiles(out->source_va, operation->Copy.SizeInBytes) ||
            ranges_overlap(out->va, operation->Copy.SizeInBytes, out->source_va,
                           operation->Copy.SizeInBytes) ||
            !is_reserved(process, out->source_va, operation->Copy.SizeInBytes))
            return STATUS_INVALID_PARAMETER;
        break;
    default:
        return STATUS_INVALID_PARAMETER;
    }
    return is_reserved(process, out->va, out->page_count * PAGE_SIZE_BYTES)
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

NTSTATUS d3dkmt_UpdateGpuVirtualAddress(struct d3dkmt_call *call,
                                        const D3DKMT_UPDATEGPUVIRTUALADDRESS *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct context *context = handle_find(process, arguments->hContext, OBJECT_CONTEXT);
    const UINT count = arguments->NumOperations;
    const UINT64 after = arguments->FenceValue + 1;
    NTSTATUS status = STATUS_SUCCESS;
    struct item *item;

    if (!context || !handle_find(process, arguments->hDevice, OBJECT_DEVICE) || !count ||
        count > MOST_LIST || !arguments->Operations ||
        (arguments->hFenceObject && !handle_find(process, arguments->hFenceObject, OBJECT_FENCE)))
        return STATUS_INVALID_PARAMETER;
    item = has_room(context) ? item_create(context, ITEM_TILES,
                                           count * (sizeof *item->tiles + sizeof *item->pools))
                             : NULL;
    if (!item)
        return STATUS_NO_MEMORY;
    item->tiles = (struct vidmm_tile_operation *)(item + 1);
    item->pools = (struct allocation **)(item->tiles + count);
    item->tile_count = count;
    for (UINT i = 0; i < count && NT_SUCCESS(status); i++)
        status = take_tiles(item, &arguments->Operations[i], &item->tiles[i]);
    if (NT_SUCCESS(status) && arguments->hFenceObject && !arguments->Flags.DoNotWait)
        status = queue_fences(process, context, ITEM_WAIT, 1, &arguments->hFenceObject,
                              &arguments->FenceValue);
    if (!NT_SUCCESS(status)) {
        item_free(item);
        return status;
    }
    item_queue(item);
    return arguments->hFenceObject
               ? queue_fences(process, context, ITEM_SIGNAL, 1, &arguments->hFenceObject, &after)
               : STATUS_SUCCESS;
}
