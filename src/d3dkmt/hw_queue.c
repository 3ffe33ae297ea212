/*
 * Hardware queues: made for a context, with a monitored fence that tells of their progress.
 *
 * Submissions to them, waits and signals stand in the queue of a context (queue.c). Of the hardware
 * queues of a client's context one has the queue of that, and each of the others a further context
 * of its own, which shares the driver's.
 */
#include "d3dkmt/front.h"

static NTSTATUS further_create(struct context *first, struct context **out_context)
{
    struct d3dkmt *front = first->device->process->front;
    struct context *context = front_alloc(front, sizeof *context);
    NTSTATUS status;

    if (!context)
        return STATUS_NO_MEMORY;
    status = vidmm_hw_context_share(first->handle, &context->handle);
    if (!NT_SUCCESS(status)) {
        front_free(front, context, sizeof *context);
        return status;
    }
    context->device = first->device;
    context->first = first;
    context->is_for_queues = true;
    context->is_null = first->is_null;
    list_init(&context->queue);
    list_init(&context->running);
    list_push_front(&first->device->contexts, &context->link);
    *out_context = context;
    return STATUS_SUCCESS;
}

static void further_free(struct context *context)
{
    list_remove(&context->link);
    vidmm_context_destroy(context->handle);
    front_free(context->device->process->front, context, sizeof *context);
}

void hw_queue_free(struct hw_queue *queue)
{
    struct context *context = queue->context;
    struct d3dkmt_process *process = context->device->process;

    context->hw_queue = NULL;
    handle_take(process, &queue->object);
    vidmm_hw_queue_destroy(context->handle);
    fence_destroy(queue->fence);
    fence_unuse(queue->fence);
    front_free(process->front, queue, sizeof *queue);
    if (context->first != context)
        further_free(context);
}

/* Behind what runs. What the queue has not begun is dropped, as with a context. */
static bool go_again(struct d3dkmt_call *call, NTSTATUS status)
{
    struct hw_queue *queue =
        handle_find_going(call->process, *(D3DKMT_HANDLE *)call->state, OBJECT_HW_QUEUE);

    if (queue && !list_is_empty(&queue->context->running))
        return false;
    if (queue) /* else it has gone with its context meanwhile */
        hw_queue_free(queue);
    return call_end(call, status);
}

static void begin_to_go(struct hw_queue *queue)
{
    queue->object.is_going = true;
    context_drop_queue(queue->context);
}

/* It may have work, of who has guessed its handle. */
static bool give_up_again(struct d3dkmt_call *call)
{
    return go_again(call, STATUS_NO_MEMORY);
}

static bool destroy_again(struct d3dkmt_call *call)
{
    return go_again(call, STATUS_SUCCESS);
}

/* The page of the fence must be there for the GPU before the client learns of it. */
static bool create_again(struct d3dkmt_call *call)
{
    D3DKMT_CREATEHWQUEUE *arguments = call->arguments;
    struct hw_queue *queue =
        handle_find(call->process, *(D3DKMT_HANDLE *)call->state, OBJECT_HW_QUEUE);

    if (!queue) /* it has gone with its device */
        return call_end(call, STATUS_INVALID_HANDLE);
    if (!queue->fence->page->is_mapped && !queue->fence->page->is_failed)
        return false;
    if (queue->fence->page->is_failed) {
        begin_to_go(queue);
        call->again = give_up_again;
        return give_up_again(call);
    }
    arguments->hHwQueue = queue->object.handle;
    arguments->hHwQueueProgressFence = queue->fence->object.handle;
    arguments->HwQueueProgressFenceCPUVirtualAddress =
        (VOID *)(uintptr_t)queue->fence->client_address;
    arguments->HwQueueProgressFenceGPUVirtualAddress = queue->fence->va;
    return call_end(call, STATUS_SUCCESS);
}

static bool is_supported(D3DDDI_CREATEHWQUEUEFLAGS flags)
{
    return !flags.UserModeSubmission && !flags.NativeProgressFence && !flags.TestQueue;
}

static bool has_hw_queues(const struct vidmm *vidmm)
{
    for (unsigned node = 0; node < vidmm_node_count(vidmm); node++) {
        if (vidmm_has_hw_queues(vidmm, node))
            return true;
    }
    return false;
}

/* With handles of its own, and the driver's queue. */
static NTSTATUS open_queue(struct hw_queue *queue, const D3DKMT_CREATEHWQUEUE *arguments)
{
    struct context *context = queue->context;
    struct d3dkmt_process *process = context->device->process;
    NTSTATUS status = fence_create(context->device, 0, &queue->fence);

    if (!NT_SUCCESS(status))
        return status;
    queue->fence->is_progress = true;
    queue->fence->uses++;
    status = handle_give(process, &queue->fence->object, OBJECT_FENCE);
    if (!NT_SUCCESS(status))
        goto drop_fence;
    status = handle_give(process, &queue->object, OBJECT_HW_QUEUE);
    if (!NT_SUCCESS(status))
        goto drop_fence;
    status = vidmm_hw_queue_create(context->handle, arguments->Flags, arguments->pPrivateDriverData,
                                   arguments->PrivateDriverDataSize);
    if (!NT_SUCCESS(status))
        goto take_handle;
    context->hw_queue = queue;
    return STATUS_SUCCESS;

take_handle:
    handle_take(process, &queue->object);
drop_fence:
    fence_destroy(queue->fence);
    fence_unuse(queue->fence);
    return status;
}

NTSTATUS d3dkmt_CreateHwQueue(struct d3dkmt_call *call, D3DKMT_CREATEHWQUEUE *arguments)
{
    struct d3dkmt *front = call->process->front;
    struct context *context = handle_find(call->process, arguments->hHwContext, OBJECT_CONTEXT);
    struct hw_queue *queue;
    D3DKMT_HANDLE *state;
    NTSTATUS status;

    arguments->hHwQueue = 0;
    arguments->hHwQueueProgressFence = 0;
    arguments->HwQueueProgressFenceCPUVirtualAddress = NULL;
    arguments->HwQueueProgressFenceGPUVirtualAddress = 0;
    if (!has_hw_queues(front->config.vidmm))
        return STATUS_NOT_SUPPORTED;
    if (!context || !context->is_for_queues || arguments->Flags.Reserved ||
        arguments->PrivateDriverDataSize > MOST_PRIVATE_DATA ||
        (arguments->PrivateDriverDataSize && !arguments->pPrivateDriverData))
        return STATUS_INVALID_PARAMETER;
    if (!is_supported(arguments->Flags))
        return STATUS_NOT_SUPPORTED;
    if (context->device->is_lost)
        return STATUS_DEVICE_REMOVED;
    state = front_alloc(front, sizeof *state);
    queue = front_alloc(front, sizeof *queue);
    if (!state || !queue) {
        status = STATUS_NO_MEMORY;
        goto free_memory;
    }
    queue->context = context;
    if (context->hw_queue) {
        status = further_create(context, &queue->context);
        if (!NT_SUCCESS(status))
            goto free_memory;
    }
    status = open_queue(queue, arguments);
    if (!NT_SUCCESS(status))
        goto free_further;
    *state = queue->object.handle;
    return call_wait(call, create_again, state, sizeof *state);

free_further:
    if (queue->context != context)
        further_free(queue->context);
free_memory:
    front_free(front, queue, sizeof *queue);
    front_free(front, state, sizeof *state);
    return status;
}

NTSTATUS d3dkmt_DestroyHwQueue(struct d3dkmt_call *call, const D3DKMT_DESTROYHWQUEUE *arguments)
{
    struct d3dkmt *front = call->process->front;
    struct hw_queue *queue = handle_find(call->process, arguments->hHwQueue, OBJECT_HW_QUEUE);
    D3DKMT_HANDLE *state;

    if (!queue)
        return STATUS_INVALID_PARAMETER;
    state = front_alloc(front, sizeof *state);
    if (!state)
        return STATUS_NO_MEMORY;
    *state = arguments->hHwQueue;
    begin_to_go(queue);
    return call_wait(call, destroy_again, state, sizeof *state);
}
