/*
 * Adapters, devices, contexts and paging queues.
 */
#include "d3dkmt/front.h"

#include <string.h>

/* ---- Adapters -------------------------------------------------------------------------------- */

static NTSTATUS open_adapter(struct d3dkmt_process *process, D3DKMT_HANDLE *out_handle)
{
    struct adapter_opening *opening = front_alloc(process->front, sizeof *opening);
    NTSTATUS status;

    *out_handle = 0;
    if (!opening)
        return STATUS_NO_MEMORY;
    status = handle_give(process, &opening->object, OBJECT_ADAPTER);
    if (NT_SUCCESS(status))
        *out_handle = opening->object.handle;
    else
        front_free(process->front, opening, sizeof *opening);
    return status;
}

NTSTATUS d3dkmt_OpenAdapterFromLuid(struct d3dkmt_call *call, D3DKMT_OPENADAPTERFROMLUID *arguments)
{
    const LUID luid = call->process->front->config.luid;

    arguments->hAdapter = 0;
    if (arguments->AdapterLuid.LowPart != luid.LowPart ||
        arguments->AdapterLuid.HighPart != luid.HighPart)
        return STATUS_INVALID_PARAMETER;
    return open_adapter(call->process, &arguments->hAdapter);
}

NTSTATUS d3dkmt_CloseAdapter(struct d3dkmt_call *call, const D3DKMT_CLOSEADAPTER *arguments)
{
    struct adapter_opening *opening =
        handle_find(call->process, arguments->hAdapter, OBJECT_ADAPTER);

    if (!opening)
        return STATUS_INVALID_PARAMETER;
    handle_take(call->process, &opening->object);
    front_free(call->process->front, opening, sizeof *opening);
    return STATUS_SUCCESS;
}

static NTSTATUS enumerate(struct d3dkmt_process *process, ULONG *count, D3DKMT_ADAPTERINFO *infos)
{
    NTSTATUS status = STATUS_SUCCESS;

    if (infos && !*count)
        return STATUS_BUFFER_TOO_SMALL;
    *count = 1;
    if (infos) {
        infos[0] = (D3DKMT_ADAPTERINFO){.AdapterLuid = process->front->config.luid};
        status = open_adapter(process, &infos[0].hAdapter);
    }
    return status;
}

NTSTATUS d3dkmt_EnumAdapters2(struct d3dkmt_call *call, const D3DKMT_ENUMADAPTERS2 *arguments)
{
    /* The page has the structure const, and NumAdapters an answer. */
    return enumerate(call->process, (ULONG *)(uintptr_t)&arguments->NumAdapters,
                     arguments->pAdapters);
}

NTSTATUS d3dkmt_EnumAdapters3(struct d3dkmt_call *call, D3DKMT_ENUMADAPTERS3 *arguments)
{
    return enumerate(call->process, &arguments->NumAdapters, arguments->pAdapters);
}

static void count_segments(struct d3dkmt *front, D3DKMT_SEGMENTSIZEINFO *out)
{
    *out = (D3DKMT_SEGMENTSIZEINFO){0};
    for (unsigned id = 1; id <= vidmm_segment_count(front->config.vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(front->config.vidmm, id, &info);
        if (info.is_aperture)
            out->SharedSystemMemorySize += info.size;
        else
            out->DedicatedVideoMemorySize += info.size;
    }
}

/* FriendlyName has other characters in a client than in the driver. */
static NTSTATUS tell_node(struct d3dkmt *front, D3DKMT_WSL_NODEMETADATA *out)
{
    const unsigned node = out->NodeOrdinalAndAdapterIndex & UINT16_MAX;
    DXGKARG_GETNODEMETADATA metadata;
    NTSTATUS status;

    if (out->NodeOrdinalAndAdapterIndex >> 16)
        return STATUS_INVALID_PARAMETER;
    memset(&out->NodeData, 0, sizeof out->NodeData);
    status = vidmm_node_metadata(front->config.vidmm, node, &metadata);
    if (!NT_SUCCESS(status))
        return status;
    out->NodeData.EngineType = (UINT)metadata.EngineType;
    for (unsigned i = 0; i < D3DKMT_NODE_NAME_LENGTH - 1; i++)
        out->NodeData.FriendlyName[i] = metadata.FriendlyName[i];
    out->NodeData.Flags = metadata.Flags.Value;
    out->NodeData.GpuMmuSupported = metadata.GpuMmuSupported;
    out->NodeData.IoMmuSupported = metadata.IoMmuSupported;
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_QueryAdapterInfo(struct d3dkmt_call *call, const D3DKMT_QUERYADAPTERINFO *arguments)
{
    struct d3dkmt *front = call->process->front;
    const struct d3dkmt_board *board = &front->config.board;
    void *data = arguments->pPrivateDriverData;
    const UINT bytes = arguments->PrivateDriverDataSize;

    if (!handle_find(call->process, arguments->hAdapter, OBJECT_ADAPTER) || !data || !bytes)
        return STATUS_INVALID_PARAMETER;
    switch (arguments->Type) {
    case KMTQAITYPE_ADAPTERTYPE:
        if (bytes < sizeof(D3DKMT_ADAPTERTYPE))
            return STATUS_BUFFER_TOO_SMALL;
        *(D3DKMT_ADAPTERTYPE *)data = (D3DKMT_ADAPTERTYPE){{{.RenderSupported = 1}}};
        return STATUS_SUCCESS;
    case KMTQAITYPE_DRIVERVERSION:
        if (bytes < sizeof(D3DKMT_DRIVERVERSION))
            return STATUS_BUFFER_TOO_SMALL;
        *(D3DKMT_DRIVERVERSION *)data = (D3DKMT_DRIVERVERSION)(front->config.wddm * 100);
        return STATUS_SUCCESS;
    case KMTQAITYPE_GETSEGMENTSIZE:
        if (bytes < sizeof(D3DKMT_SEGMENTSIZEINFO))
            return STATUS_BUFFER_TOO_SMALL;
        count_segments(front, data);
        return STATUS_SUCCESS;
    case KMTQAITYPE_NODEMETADATA:
        if (bytes < sizeof(D3DKMT_WSL_NODEMETADATA))
            return STATUS_BUFFER_TOO_SMALL;
        return tell_node(front, data);
    case KMTQAITYPE_PHYSICALADAPTERCOUNT:
        if (bytes < sizeof(UINT))
            return STATUS_BUFFER_TOO_SMALL;
        *(UINT *)data = 1;
        return STATUS_SUCCESS;
    default:
        return board->query_adapter
                   ? board->query_adapter(board->context, (unsigned)arguments->Type, data, bytes)
                   : STATUS_NOT_SUPPORTED;
    }
}

NTSTATUS d3dkmt_Escape(struct d3dkmt_call *call, const D3DKMT_ESCAPE *arguments)
{
    const struct d3dkmt_board *board = &call->process->front->config.board;

    if (!handle_find(call->process, arguments->hAdapter, OBJECT_ADAPTER) ||
        (arguments->hDevice && !handle_find(call->process, arguments->hDevice, OBJECT_DEVICE)) ||
        (arguments->hContext && !handle_find(call->process, arguments->hContext, OBJECT_CONTEXT)))
        return STATUS_INVALID_PARAMETER;
    if (arguments->Type != D3DKMT_ESCAPE_DRIVERPRIVATE || !board->escape)
        return STATUS_NOT_SUPPORTED;
    return board->escape(board->context, arguments->pPrivateDriverData,
                         arguments->PrivateDriverDataSize);
}

/* ---- Destroying ----------------------------------------------------------------------------- */

/* The call waits and finds its object anew by the handle: it may go with its device meanwhile. */
static NTSTATUS wait_for_handle(struct d3dkmt_call *call, D3DKMT_HANDLE handle,
                                bool (*again)(struct d3dkmt_call *call))
{
    D3DKMT_HANDLE *state = front_alloc(call->process->front, sizeof *state);

    if (!state)
        return STATUS_NO_MEMORY;
    *state = handle;
    return call_wait(call, again, state, sizeof *state);
}

/* ---- Devices --------------------------------------------------------------------------------- */

NTSTATUS d3dkmt_CreateDevice(struct d3dkmt_call *call, D3DKMT_CREATEDEVICE *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device;
    NTSTATUS status;

    arguments->hDevice = 0;
    if (!handle_find(process, arguments->hAdapter, OBJECT_ADAPTER) || arguments->Flags.LegacyMode)
        return STATUS_INVALID_PARAMETER;
    device = front_alloc(process->front, sizeof *device);
    if (!device)
        return STATUS_NO_MEMORY;
    device->process = process;
    list_init(&device->contexts);
    list_init(&device->paging_queues);
    list_init(&device->fences);
    list_init(&device->notifications);
    list_init(&device->allocations);
    list_init(&device->resources);
    status = handle_give(process, &device->object, OBJECT_DEVICE);
    if (!NT_SUCCESS(status))
        goto free_device;
    status = vidmm_device_create(process->handle, &device->handle);
    if (!NT_SUCCESS(status))
        goto take_handle;
    list_push_back(&process->devices, &device->link);
    front_tell(process->front,
               &(struct d3dkmt_deed){.kind = D3DKMT_DEED_DEVICE, .device = device->handle});
    budgets_share(process->front);
    arguments->hDevice = device->object.handle;
    return STATUS_SUCCESS;

take_handle:
    handle_take(process, &device->object);
free_device:
    front_free(process->front, device, sizeof *device);
    return status;
}

static void free_paging_queue(struct paging_queue *queue)
{
    struct d3dkmt_process *process = queue->device->process;

    handle_take(process, &queue->object);
    list_remove(&queue->link);
    fence_unuse(queue->fence);
    front_free(process->front, queue, sizeof *queue);
}

/* Nothing is with the GPU any more: the context can go. */
static void free_context(struct context *context)
{
    struct d3dkmt_process *process = context->device->process;

    if (context->first != context) { /* the further one goes with its queue */
        hw_queue_free(context->hw_queue);
        return;
    }
    if (context->hw_queue)
        hw_queue_free(context->hw_queue);
    handle_take(process, &context->object);
    list_remove(&context->link);
    vidmm_context_destroy(context->handle);
    front_free(process->front, context, sizeof *context);
}

/* With its further ones, if it is the client's. */
static bool is_running(const struct context *context)
{
    const struct context *other;

    list_for_each (other, &context->device->contexts, struct context, link) {
        if ((other == context || other->first == context) && !list_is_empty(&other->running))
            return true;
    }
    return false;
}

static bool empty_contexts(struct device *device)
{
    struct context *context, *following;

    list_for_each_safe (context, following, &device->contexts, struct context, link) {
        context->object.is_going = true;
        context_drop_queue(context);
        if (!is_running(context))
            free_context(context);
    }
    return list_is_empty(&device->contexts);
}

bool device_empty(struct device *device)
{
    struct allocation *allocation, *next_allocation;
    struct paging_queue *queue, *next_queue;
    struct resource *resource, *next_resource;
    struct fence *fence, *next_fence;
    struct notification *notification, *next_notification;
    const bool has_contexts = !empty_contexts(device);

    list_for_each_safe (allocation, next_allocation, &device->allocations, struct allocation,
                        link) {
        if (!allocation->is_destroyed)
            allocation_begin_destroy(allocation, false);
        if (!has_contexts)
            allocation_bury(allocation);
    }
    list_for_each_safe (resource, next_resource, &device->resources, struct resource, link) {
        if (list_is_empty(&resource->allocations))
            resource_free(resource);
    }
    list_for_each_safe (queue, next_queue, &device->paging_queues, struct paging_queue, link) {
        if (list_is_empty(&queue->operations))
            free_paging_queue(queue);
    }
    list_for_each_safe (notification, next_notification, &device->notifications,
                        struct notification, link)
        notification_destroy(notification);
    if (!has_contexts && list_is_empty(&device->paging_queues)) {
        list_for_each_safe (fence, next_fence, &device->fences, struct fence, link)
            fence_destroy(fence);
    }
    return !has_contexts && list_is_empty(&device->allocations) &&
           list_is_empty(&device->paging_queues) && list_is_empty(&device->resources) &&
           list_is_empty(&device->fences);
}

void device_free(struct device *device)
{
    struct d3dkmt_process *process = device->process;

    front_want_idle(process->front, &device->wants_idle, false);
    vidmm_device_destroy(device->handle);
    list_remove(&device->link);
    trims_forget_device(process, device->object.handle);
    handle_take(process, &device->object);
    budgets_share(process->front);
    front_free(process->front, device, sizeof *device);
}

static bool destroy_again(struct d3dkmt_call *call)
{
    struct device *device =
        handle_find_going(call->process, *(D3DKMT_HANDLE *)call->state, OBJECT_DEVICE);
    struct d3dkmt *front = call->process->front;

    if (!device_empty(device))
        return false; /* fences may be waited for by other devices of the process, for ever */
    front_want_idle(front, &device->wants_idle, true);
    if (!vidmm_is_idle(front->config.vidmm))
        return false;
    device_free(device);
    return call_end(call, STATUS_SUCCESS);
}

NTSTATUS d3dkmt_DestroyDevice(struct d3dkmt_call *call, const D3DKMT_DESTROYDEVICE *arguments)
{
    struct device *device = handle_find(call->process, arguments->hDevice, OBJECT_DEVICE);
    NTSTATUS status;

    if (!device)
        return STATUS_INVALID_PARAMETER;
    status = wait_for_handle(call, arguments->hDevice, destroy_again);
    if (status == D3DKMT_WAITS)
        device->object.is_going = true;
    return status;
}

NTSTATUS d3dkmt_GetDeviceState(struct d3dkmt_call *call, D3DKMT_GETDEVICESTATE *arguments)
{
    struct device *device = handle_find(call->process, arguments->hDevice, OBJECT_DEVICE);

    if (!device)
        return STATUS_INVALID_PARAMETER;
    memset(arguments->Reserved, 0, sizeof arguments->Reserved);
    switch (arguments->StateType) {
    case D3DKMT_DEVICESTATE_EXECUTION:
        arguments->ExecutionState = !device->is_lost ? D3DKMT_DEVICEEXECUTION_ACTIVE
                                    : device->is_out_of_memory
                                        ? D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY
                                        : D3DKMT_DEVICEEXECUTION_HUNG;
        return STATUS_SUCCESS;
    case D3DKMT_DEVICESTATE_PRESENT:
    case D3DKMT_DEVICESTATE_RESET:
    case D3DKMT_DEVICESTATE_PAGE_FAULT:
        return STATUS_SUCCESS;
    default:
        return STATUS_INVALID_PARAMETER;
    }
}

/* ---- Contexts -------------------------------------------------------------------------------- */

NTSTATUS d3dkmt_CreateContextVirtual(struct d3dkmt_call *call,
                                     D3DKMT_CREATECONTEXTVIRTUAL *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    struct context *context;
    NTSTATUS status;

    arguments->hContext = 0;
    if (!device || arguments->NodeOrdinal >= vidmm_node_count(process->front->config.vidmm) ||
        arguments->EngineAffinity > 1 || arguments->PrivateDriverDataSize > MOST_PRIVATE_DATA ||
        (arguments->PrivateDriverDataSize && !arguments->pPrivateDriverData))
        return STATUS_INVALID_PARAMETER;
    context = front_alloc(process->front, sizeof *context);
    if (!context)
        return STATUS_NO_MEMORY;
    context->device = device;
    context->first = context;
    list_init(&context->queue);
    list_init(&context->running);
    status = handle_give(process, &context->object, OBJECT_CONTEXT);
    if (!NT_SUCCESS(status))
        goto free_memory;
    context->is_null = arguments->Flags.NullRendering;
    context->is_for_queues =
        arguments->Flags.HwQueueSupported &&
        vidmm_has_hw_queues(process->front->config.vidmm, arguments->NodeOrdinal);
    status = (context->is_for_queues ? vidmm_hw_context_create : vidmm_context_create)(
        device->handle, arguments->NodeOrdinal,
        arguments->PrivateDriverDataSize ? arguments->pPrivateDriverData : NULL,
        arguments->PrivateDriverDataSize, &context->handle);
    if (!NT_SUCCESS(status))
        goto take_handle;
    list_push_back(&device->contexts, &context->link);
    arguments->hContext = context->object.handle;
    return STATUS_SUCCESS;

take_handle:
    handle_take(process, &context->object);
free_memory:
    front_free(process->front, context, sizeof *context);
    return status;
}

static bool destroy_context_again(struct d3dkmt_call *call)
{
    struct context *first =
        handle_find_going(call->process, *(D3DKMT_HANDLE *)call->state, OBJECT_CONTEXT);
    struct context *context, *following;
    struct device *device;

    if (!first) /* it has gone with its device meanwhile */
        return call_end(call, STATUS_SUCCESS);
    if (is_running(first))
        return false;
    device = first->device;
    list_for_each_safe (context, following, &device->contexts, struct context, link) {
        if (context->first == first)
            free_context(context);
    }
    return call_end(call, STATUS_SUCCESS);
}

NTSTATUS d3dkmt_DestroyContext(struct d3dkmt_call *call, const D3DKMT_DESTROYCONTEXT *arguments)
{
    struct context *first = handle_find(call->process, arguments->hContext, OBJECT_CONTEXT);
    struct context *context;
    NTSTATUS status;

    if (!first)
        return STATUS_INVALID_PARAMETER;
    status = wait_for_handle(call, arguments->hContext, destroy_context_again);
    if (status != D3DKMT_WAITS)
        return status;
    first->object.is_going = true;
    list_for_each (context, &first->device->contexts, struct context, link) {
        if (context->first == first)
            context_drop_queue(context);
    }
    return status;
}

NTSTATUS
d3dkmt_SetContextSchedulingPriority(struct d3dkmt_call *call,
                                    const D3DKMT_SETCONTEXTSCHEDULINGPRIORITY *arguments)
{
    struct context *context = handle_find(call->process, arguments->hContext, OBJECT_CONTEXT);

    if (!context || arguments->Priority < -7 || arguments->Priority > 7)
        return STATUS_INVALID_PARAMETER;
    context->priority = arguments->Priority;
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_GetContextSchedulingPriority(struct d3dkmt_call *call,
                                             D3DKMT_GETCONTEXTSCHEDULINGPRIORITY *arguments)
{
    struct context *context = handle_find(call->process, arguments->hContext, OBJECT_CONTEXT);

    if (!context)
        return STATUS_INVALID_PARAMETER;
    arguments->Priority = context->priority;
    return STATUS_SUCCESS;
}

/* ---- Paging queues --------------------------------------------------------------------------- */

NTSTATUS d3dkmt_CreatePagingQueue(struct d3dkmt_call *call, D3DKMT_CREATEPAGINGQUEUE *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    struct paging_queue *queue;
    NTSTATUS status;

    arguments->hPagingQueue = 0;
    arguments->hSyncObject = 0;
    arguments->FenceValueCPUVirtualAddress = NULL;
    if (!device || arguments->PhysicalAdapterIndex ||
        arguments->Priority < D3DDDI_PAGINGQUEUE_PRIORITY_BELOW_NORMAL ||
        arguments->Priority > D3DDDI_PAGINGQUEUE_PRIORITY_ABOVE_NORMAL)
        return STATUS_INVALID_PARAMETER;
    queue = front_alloc(process->front, sizeof *queue);
    if (!queue)
        return STATUS_NO_MEMORY;
    queue->device = device;
    list_init(&queue->operations);
    status = fence_create(device, 0, &queue->fence);
    if (!NT_SUCCESS(status))
        goto free_queue;
    queue->fence->is_paging = true;
    queue->fence->uses++;
    status = handle_give(process, &queue->object, OBJECT_PAGING_QUEUE);
    if (NT_SUCCESS(status))
        status = handle_give(process, &queue->fence->object, OBJECT_FENCE);
    if (!NT_SUCCESS(status))
        goto drop_fence;
    list_push_back(&device->paging_queues, &queue->link);
    arguments->hPagingQueue = queue->object.handle;
    arguments->hSyncObject = queue->fence->object.handle;
    arguments->FenceValueCPUVirtualAddress = (VOID *)(uintptr_t)queue->fence->client_address;
    return STATUS_SUCCESS;

drop_fence:
    handle_take(process, &queue->object);
    fence_destroy(queue->fence);
    fence_unuse(queue->fence);
free_queue:
    front_free(process->front, queue, sizeof *queue);
    return status;
}

static bool destroy_queue_again(struct d3dkmt_call *call)
{
    struct paging_queue *queue =
        handle_find_going(call->process, *(D3DKMT_HANDLE *)call->state, OBJECT_PAGING_QUEUE);

    if (queue && !list_is_empty(&queue->operations))
        return false;
    if (queue) {
        if (!queue->fence->is_destroyed)
            fence_destroy(queue->fence);
        free_paging_queue(queue);
    }
    return call_end(call, STATUS_SUCCESS);
}

NTSTATUS d3dkmt_DestroyPagingQueue(struct d3dkmt_call *call, D3DDDI_DESTROYPAGINGQUEUE *arguments)
{
    struct paging_queue *queue =
        handle_find(call->process, arguments->hPagingQueue, OBJECT_PAGING_QUEUE);
    NTSTATUS status;

    if (!queue)
        return STATUS_INVALID_PARAMETER;
    status = wait_for_handle(call, arguments->hPagingQueue, destroy_queue_again);
    if (status == D3DKMT_WAITS)
        queue->object.is_going = true;
    return status;
}

/* ---- What nobody has ------------------------------------------------------------------------- */

/* See d3dkmt.h, Limits. */
#define NOT_SUPPORTED(name, type)                                                                  \
    NTSTATUS d3dkmt_##name(struct d3dkmt_call *call, type *arguments)                              \
    {                                                                                              \
        return STATUS_NOT_SUPPORTED;                                                               \
    }

NOT_SUPPORTED(CreateSynchronizationObject, D3DKMT_CREATESYNCHRONIZATIONOBJECT)
NOT_SUPPORTED(OpenSynchronizationObject, D3DKMT_OPENSYNCHRONIZATIONOBJECT)
NOT_SUPPORTED(OpenSyncObjectFromNtHandle, D3DKMT_OPENSYNCOBJECTFROMNTHANDLE)
NOT_SUPPORTED(WaitForSynchronizationObject, const D3DKMT_WAITFORSYNCHRONIZATIONOBJECT)
NOT_SUPPORTED(CreateAllocation, D3DKMT_CREATEALLOCATION)
