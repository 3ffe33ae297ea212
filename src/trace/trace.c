/*
 * Trace: the layer. Each function is begin, the next layer's function, end.
 *
 * The event lives on the stack of the call. begin() fills it only if there is a sink; a zero
 * sequence tells end() that it did not, so a sink may come and go at any time.
 */
#include "trace/trace.h"

#include "base/list.h"
#include "miniport/operation.h"
#include "trace/trace_handles.h"

#include <string.h>

struct trace {
    struct miniport miniport;
    struct miniport_host_layer up;
    const struct base_services *services;
    struct trace_counters counters;
    struct trace_sink sink;
    struct trace_handles handles;
    uint64_t last_sequence;
    unsigned depth;
};

static struct trace *trace_of(struct miniport *m)
{
    return container_of(m, struct trace, miniport);
}

static struct trace *trace_of_host(struct miniport_host *host)
{
    return container_of(host, struct trace, up.host);
}

/* ---- Events ---- */

static void open_event(struct trace *trace, struct trace_event *event)
{
    memset(event, 0, sizeof *event);
    event->sequence = ++trace->last_sequence;
    event->phase = TRACE_BEFORE;
    event->depth = trace->depth++;
    event->handles = &trace->handles;
}

static void hand_on(struct trace *trace, const struct trace_event *event)
{
    if (trace->sink.event)
        trace->sink.event(trace->sink.context, event);
}

static void close_event(struct trace *trace, struct trace_event *event, NTSTATUS status)
{
    trace->depth--;
    event->phase = TRACE_AFTER;
    event->status = status;
    hand_on(trace, event);
}

/* ---- Handles that come and go ---- */

static void forget(struct trace *trace, enum trace_handle_kind kind, const void *handle)
{
    trace_handles_forget(&trace->handles, kind, handle);
}

static void forget_all(struct trace *trace, enum trace_handle_kind kind, const HANDLE *handles,
                       UINT count)
{
    for (UINT i = 0; handles && i < count; i++)
        forget(trace, kind, handles[i]);
}

/*
 * A pointer that a create call gave is a new object, even if an older one had the same pointer
 * and went without a destroy call.
 */
static void forget_created(struct trace *trace, enum miniport_ddi ddi, const void *argument)
{
    const DXGKARG_CREATEALLOCATION *create = argument;
    const DXGKARG_OPENALLOCATION *open = argument;

    switch ((unsigned)ddi) {
    case MINIPORT_DDI_CreateProcess:
        forget(trace, TRACE_HANDLE_PROCESS, ((const DXGKARG_CREATEPROCESS *)argument)->hKmdProcess);
        break;
    case MINIPORT_DDI_CreateDevice:
        forget(trace, TRACE_HANDLE_DEVICE, ((const DXGKARG_CREATEDEVICE *)argument)->hDevice);
        /* In the place of a context, where the driver has none. */
        forget(trace, TRACE_HANDLE_CONTEXT, ((const DXGKARG_CREATEDEVICE *)argument)->hDevice);
        break;
    case MINIPORT_DDI_CreateContext:
        forget(trace, TRACE_HANDLE_CONTEXT, ((const DXGKARG_CREATECONTEXT *)argument)->hContext);
        break;
    case MINIPORT_DDI_CreateHwQueue:
        forget(trace, TRACE_HANDLE_QUEUE, ((const DXGKARG_CREATEHWQUEUE *)argument)->hHwQueue);
        break;
    case MINIPORT_DDI_CreateAllocation:
        for (UINT i = 0; create->pAllocationInfo && i < create->NumAllocations; i++)
            forget(trace, TRACE_HANDLE_ALLOCATION, create->pAllocationInfo[i].hAllocation);
        break;
    case MINIPORT_DDI_OpenAllocation:
        for (UINT i = 0; open->pOpenAllocation && i < open->NumAllocations; i++)
            forget(trace, TRACE_HANDLE_OPEN, open->pOpenAllocation[i].hDeviceSpecificAllocation);
        break;
    default:
        break;
    }
}

/*
 * The system's own handle of what is about to be made: a new object, too. The driver may name it to
 * the system at once, and what cannot be made is never destroyed.
 */
static void forget_announced(struct trace *trace, enum miniport_ddi ddi, const void *argument)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_CreateProcess:
        forget(trace, TRACE_HANDLE_OS_PROCESS,
               ((const DXGKARG_CREATEPROCESS *)argument)->hDxgkProcess);
        break;
    case MINIPORT_DDI_CreateDevice:
        forget(trace, TRACE_HANDLE_DEVICE, ((const DXGKARG_CREATEDEVICE *)argument)->hDevice);
        break;
    case MINIPORT_DDI_CreateContext:
        forget(trace, TRACE_HANDLE_CONTEXT, ((const DXGKARG_CREATECONTEXT *)argument)->hContext);
        break;
    case MINIPORT_DDI_CreateHwQueue:
        forget(trace, TRACE_HANDLE_QUEUE, ((const DXGKARG_CREATEHWQUEUE *)argument)->hHwQueue);
        break;
    default:
        break;
    }
}

static void forget_destroyed(struct trace *trace, enum miniport_ddi ddi, HANDLE object,
                             const void *argument)
{
    const DXGKARG_DESTROYALLOCATION *destroy = argument;
    const DXGKARG_CLOSEALLOCATION *close = argument;

    switch ((unsigned)ddi) {
    case MINIPORT_DDI_DestroyProcess:
        forget(trace, TRACE_HANDLE_PROCESS, object);
        break;
    case MINIPORT_DDI_DestroyDevice:
        forget(trace, TRACE_HANDLE_DEVICE, object);
        forget(trace, TRACE_HANDLE_CONTEXT, object);
        break;
    case MINIPORT_DDI_DestroyContext:
        forget(trace, TRACE_HANDLE_CONTEXT, object);
        break;
    case MINIPORT_DDI_DestroyHwQueue:
        forget(trace, TRACE_HANDLE_QUEUE, object);
        break;
    case MINIPORT_DDI_DestroyAllocation:
        forget_all(trace, TRACE_HANDLE_ALLOCATION, destroy->pAllocationList,
                   destroy->NumAllocations);
        if (destroy->Flags.DestroyResource)
            forget(trace, TRACE_HANDLE_RESOURCE, destroy->hResource);
        break;
    case MINIPORT_DDI_DestroyNativeFence:
        forget(trace, TRACE_HANDLE_FENCE,
               ((const DXGKARG_DESTROYNATIVEFENCE *)argument)->hGlobalNativeFence);
        break;
    case MINIPORT_DDI_CloseAllocation:
        forget_all(trace, TRACE_HANDLE_OPEN, close->pOpenHandleList, close->NumAllocations);
        break;
    default:
        break;
    }
}

/* ---- Down ---- */

static const char *dma_buffer_of(enum miniport_ddi ddi, const void *argument)
{
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        return ((const DXGKARG_BUILDPAGINGBUFFER *)argument)->pDmaBuffer;
    if (ddi == MINIPORT_DDI_Render || ddi == MINIPORT_DDI_RenderKm)
        return ((const DXGKARG_RENDER *)argument)->pDmaBuffer;
    if (ddi == MINIPORT_DDI_RenderGdi)
        return ((const DXGKARG_RENDERGDI *)argument)->pDmaBuffer;
    if (ddi == MINIPORT_DDI_Present || ddi == MINIPORT_DDI_PresentToHwQueue)
        return ((const DXGKARG_PRESENT *)argument)->pDmaBuffer;
    return NULL;
}

static uint32_t dma_size_of(enum miniport_ddi ddi, const void *argument)
{
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        return ((const DXGKARG_BUILDPAGINGBUFFER *)argument)->DmaSize;
    if (ddi == MINIPORT_DDI_Render || ddi == MINIPORT_DDI_RenderKm)
        return ((const DXGKARG_RENDER *)argument)->DmaSize;
    if (ddi == MINIPORT_DDI_RenderGdi)
        return ((const DXGKARG_RENDERGDI *)argument)->DmaSize;
    if (ddi == MINIPORT_DDI_Present || ddi == MINIPORT_DDI_PresentToHwQueue)
        return ((const DXGKARG_PRESENT *)argument)->DmaSize;
    return 0;
}

/* Distance by number: a driver may have left the buffer, where pointers have no difference. */
static int64_t distance(const char *start, const char *end)
{
    return (int64_t)((uint64_t)(uintptr_t)end - (uint64_t)(uintptr_t)start);
}

static void begin(struct trace *trace, enum miniport_ddi ddi, HANDLE object, const void *argument,
                  const uint64_t *values, struct trace_event *event)
{
    unsigned operation = 0;

    trace->counters.calls[ddi]++;
    if (ddi == MINIPORT_DDI_BuildPagingBuffer) {
        operation = (unsigned)((const DXGKARG_BUILDPAGINGBUFFER *)argument)->Operation;
        trace->counters
            .operations[operation < MINIPORT_OPERATION_COUNT ? operation
                                                             : MINIPORT_OPERATION_COUNT]++;
    }
    event->sequence = 0;
    event->dma_start = dma_buffer_of(ddi, argument);
    event->dma_bytes = dma_size_of(ddi, argument);
    if (!trace->sink.event)
        return;

    open_event(trace, event);
    event->dma_start = dma_buffer_of(ddi, argument);
    event->dma_bytes = dma_size_of(ddi, argument);
    event->ddi = ddi;
    event->object = object;
    event->operation = operation;
    event->argument = argument;
    if (values)
        memcpy(event->values, values, sizeof event->values);
    forget_announced(trace, ddi, argument);
    hand_on(trace, event);
}

static NTSTATUS end(struct trace *trace, enum miniport_ddi ddi, HANDLE object, const void *argument,
                    const uint64_t *values, NTSTATUS status, struct trace_event *event)
{
    int64_t written = distance(event->dma_start, dma_buffer_of(ddi, argument));

    event->dma_bytes =
        event->dma_start && written > 0 && written <= event->dma_bytes ? (uint32_t)written : 0;
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        trace->counters.paging_bytes += event->dma_bytes;
    if (!NT_SUCCESS(status))
        trace->counters.failures[ddi]++;
    if (!event->sequence)
        return status;

    if (NT_SUCCESS(status))
        forget_created(trace, ddi, argument);
    event->written = written;
    if (values)
        memcpy(event->values, values, sizeof event->values);
    close_event(trace, event, status);
    if (NT_SUCCESS(status))
        forget_destroyed(trace, ddi, object, argument);
    return status;
}

#define X(function, ddi, type)                                                                     \
    static NTSTATUS trace_##function(struct miniport *m, HANDLE object, type arg)                  \
    {                                                                                              \
        struct trace *trace = trace_of(m);                                                         \
        struct trace_event event;                                                                  \
        NTSTATUS status;                                                                           \
                                                                                                   \
        begin(trace, MINIPORT_DDI_##ddi, object, arg, NULL, &event);                               \
        status = miniport_##function(m->next, object, arg);                                        \
        return end(trace, MINIPORT_DDI_##ddi, object, arg, NULL, status, &event);                  \
    }
MINIPORT_DDI_LIST(X)
#undef X

#define X(function, ddi)                                                                           \
    static NTSTATUS trace_##function(struct miniport *m, HANDLE object)                            \
    {                                                                                              \
        struct trace *trace = trace_of(m);                                                         \
        struct trace_event event;                                                                  \
        NTSTATUS status;                                                                           \
                                                                                                   \
        begin(trace, MINIPORT_DDI_##ddi, object, NULL, NULL, &event);                              \
        status = miniport_##function(m->next, object);                                             \
        return end(trace, MINIPORT_DDI_##ddi, object, NULL, NULL, status, &event);                 \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static SIZE_T trace_get_root_page_table_size(struct miniport *m, DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    struct trace *trace = trace_of(m);
    uint64_t values[3] = {0};
    struct trace_event event;
    SIZE_T size;

    begin(trace, MINIPORT_DDI_GetRootPageTableSize, NULL, arg, NULL, &event);
    size = miniport_get_root_page_table_size(m->next, arg);
    values[0] = size;
    end(trace, MINIPORT_DDI_GetRootPageTableSize, NULL, arg, values, STATUS_SUCCESS, &event);
    return size;
}

static NTSTATUS trace_add_device(struct miniport *m)
{
    struct trace *trace = trace_of(m);
    struct trace_event event;
    NTSTATUS status;

    begin(trace, MINIPORT_DDI_AddDevice, NULL, NULL, NULL, &event);
    status = miniport_add_device(m->next);
    return end(trace, MINIPORT_DDI_AddDevice, NULL, NULL, NULL, status, &event);
}

static NTSTATUS trace_start_device(struct miniport *m, const DXGK_START_INFO *start,
                                   ULONG *video_present_sources, ULONG *children)
{
    struct trace *trace = trace_of(m);
    uint64_t values[3] = {0};
    struct trace_event event;
    NTSTATUS status;

    begin(trace, MINIPORT_DDI_StartDevice, NULL, start, NULL, &event);
    status = miniport_start_device(m->next, start, video_present_sources, children);
    values[0] = *video_present_sources;
    values[1] = *children;
    return end(trace, MINIPORT_DDI_StartDevice, NULL, start, values, status, &event);
}

static NTSTATUS trace_stop_device(struct miniport *m)
{
    struct trace *trace = trace_of(m);
    struct trace_event event;
    NTSTATUS status;

    begin(trace, MINIPORT_DDI_StopDevice, NULL, NULL, NULL, &event);
    status = miniport_stop_device(m->next);
    return end(trace, MINIPORT_DDI_StopDevice, NULL, NULL, NULL, status, &event);
}

static NTSTATUS trace_remove_device(struct miniport *m)
{
    struct trace *trace = trace_of(m);
    struct trace_event event;
    NTSTATUS status;

    begin(trace, MINIPORT_DDI_RemoveDevice, NULL, NULL, NULL, &event);
    status = miniport_remove_device(m->next);
    return end(trace, MINIPORT_DDI_RemoveDevice, NULL, NULL, NULL, status, &event);
}

static NTSTATUS trace_set_power_state(struct miniport *m, ULONG device_uid,
                                      DEVICE_POWER_STATE state, POWER_ACTION action)
{
    struct trace *trace = trace_of(m);
    uint64_t values[3] = {device_uid, (uint64_t)state, (uint64_t)action};
    struct trace_event event;
    NTSTATUS status;

    begin(trace, MINIPORT_DDI_SetPowerState, NULL, NULL, values, &event);
    status = miniport_set_power_state(m->next, device_uid, state, action);
    return end(trace, MINIPORT_DDI_SetPowerState, NULL, NULL, NULL, status, &event);
}

static NTSTATUS trace_notify_surprise_removal(struct miniport *m, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    struct trace *trace = trace_of(m);
    uint64_t values[3] = {(uint64_t)type};
    struct trace_event event;
    NTSTATUS status;

    begin(trace, MINIPORT_DDI_NotifySurpriseRemoval, NULL, NULL, values, &event);
    status = miniport_notify_surprise_removal(m->next, type);
    return end(trace, MINIPORT_DDI_NotifySurpriseRemoval, NULL, NULL, NULL, status, &event);
}

static bool trace_interrupt(struct miniport *m, ULONG message)
{
    struct trace *trace = trace_of(m);
    uint64_t values[3] = {message};
    struct trace_event event;
    bool is_ours;

    begin(trace, MINIPORT_DDI_InterruptRoutine, NULL, NULL, values, &event);
    is_ours = miniport_interrupt(m->next, message);
    values[0] = is_ours;
    end(trace, MINIPORT_DDI_InterruptRoutine, NULL, NULL, values, STATUS_SUCCESS, &event);
    return is_ours;
}

static void trace_dpc(struct miniport *m)
{
    struct trace *trace = trace_of(m);
    struct trace_event event;

    begin(trace, MINIPORT_DDI_DpcRoutine, NULL, NULL, NULL, &event);
    miniport_dpc(m->next);
    end(trace, MINIPORT_DDI_DpcRoutine, NULL, NULL, NULL, STATUS_SUCCESS, &event);
}

/* ---- Up ---- */

static void begin_up(struct trace *trace, enum trace_callback callback, const void *argument,
                     uint64_t first, uint64_t second, struct trace_event *event)
{
    trace->counters.callbacks[callback]++;
    event->sequence = 0;
    if (!trace->sink.event)
        return;
    open_event(trace, event);
    event->is_callback = true;
    event->callback = callback;
    event->argument = argument;
    event->values[0] = first;
    event->values[1] = second;
    hand_on(trace, event);
}

static void end_up(struct trace *trace, NTSTATUS status, uint64_t result, struct trace_event *event)
{
    if (!event->sequence)
        return;
    event->values[0] = result;
    close_event(trace, event, status);
}

static NTSTATUS up_get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_get_device_information, info, 0, 0, &event);
    status = miniport_host_forward_ops.get_device_information(host, info);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                              BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                              PVOID *virtual_address)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_map_memory, NULL, (uint64_t)translated.QuadPart, length, &event);
    status = miniport_host_forward_ops.map_memory(host, translated, length, in_io_space,
                                                  map_to_user_mode, cache_type, virtual_address);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_unmap_memory(struct miniport_host *host, PVOID virtual_address)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_unmap_memory, NULL, 0, 0, &event);
    status = miniport_host_forward_ops.unmap_memory(host, virtual_address);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_read_device_space(struct miniport_host *host, struct miniport_space *space)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_read_device_space, space, 0, 0, &event);
    status = miniport_host_forward_ops.read_device_space(host, space);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_write_device_space(struct miniport_host *host, struct miniport_space *space)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_write_device_space, space, 0, 0, &event);
    status = miniport_host_forward_ops.write_device_space(host, space);
    end_up(trace, status, 0, &event);
    return status;
}

static void up_notify_interrupt(struct miniport_host *host,
                                const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;

    begin_up(trace, TRACE_CALLBACK_notify_interrupt, data, 0, 0, &event);
    miniport_host_forward_ops.notify_interrupt(host, data);
    end_up(trace, STATUS_SUCCESS, 0, &event);
}

static void up_notify_dpc(struct miniport_host *host)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;

    begin_up(trace, TRACE_CALLBACK_notify_dpc, NULL, 0, 0, &event);
    miniport_host_forward_ops.notify_dpc(host);
    end_up(trace, STATUS_SUCCESS, 0, &event);
}

static bool up_queue_dpc(struct miniport_host *host)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    bool is_queued;

    begin_up(trace, TRACE_CALLBACK_queue_dpc, NULL, 0, 0, &event);
    is_queued = miniport_host_forward_ops.queue_dpc(host);
    end_up(trace, STATUS_SUCCESS, is_queued, &event);
    return is_queued;
}

static NTSTATUS up_synchronize_execution(struct miniport_host *host, PKSYNCHRONIZE_ROUTINE routine,
                                         PVOID context, ULONG message, BOOLEAN *return_value)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_synchronize_execution, NULL, message, 0, &event);
    status = miniport_host_forward_ops.synchronize_execution(host, routine, context, message,
                                                             return_value);
    end_up(trace, status, NT_SUCCESS(status) && *return_value, &event);
    return status;
}

static PVOID up_get_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    PVOID found;

    begin_up(trace, TRACE_CALLBACK_get_handle_data, data, 0, 0, &event);
    found = miniport_host_forward_ops.get_handle_data(host, data);
    if (event.sequence)
        event.object = found;
    end_up(trace, STATUS_SUCCESS, 0, &event);
    return found;
}

static D3DKMT_HANDLE up_get_handle_parent(struct miniport_host *host, D3DKMT_HANDLE allocation)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    D3DKMT_HANDLE found;

    begin_up(trace, TRACE_CALLBACK_get_handle_parent, NULL, allocation, 0, &event);
    found = miniport_host_forward_ops.get_handle_parent(host, allocation);
    end_up(trace, STATUS_SUCCESS, found, &event);
    return found;
}

static D3DKMT_HANDLE up_enum_handle_children(struct miniport_host *host,
                                             const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    D3DKMT_HANDLE found;

    begin_up(trace, TRACE_CALLBACK_enum_handle_children, children, 0, 0, &event);
    found = miniport_host_forward_ops.enum_handle_children(host, children);
    end_up(trace, STATUS_SUCCESS, found, &event);
    return found;
}

static NTSTATUS up_reserve_gpu_virtual_address_range(struct miniport_host *host, HANDLE process,
                                                     DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_reserve_gpu_virtual_address_range, range, 0, 0, &event);
    status = miniport_host_forward_ops.reserve_gpu_virtual_address_range(host, process, range);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_create_context_allocation(struct miniport_host *host,
                                             DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_create_context_allocation, allocation, 0, 0, &event);
    status = miniport_host_forward_ops.create_context_allocation(host, allocation);
    if (NT_SUCCESS(status))
        forget(trace, TRACE_HANDLE_ALLOCATION, allocation->hAllocation);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_is_feature_enabled(struct miniport_host *host,
                                      DXGKARGCB_ISFEATUREENABLED *feature)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_is_feature_enabled, feature, 0, 0, &event);
    status = miniport_host_forward_ops.is_feature_enabled(host, feature);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_invalidate_hw_context(struct miniport_host *host,
                                         const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_invalidate_hw_context, context, 0, 0, &event);
    status = miniport_host_forward_ops.invalidate_hw_context(host, context);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_destroy_context_allocation(struct miniport_host *host, HANDLE allocation)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_destroy_context_allocation, allocation, 0, 0, &event);
    status = miniport_host_forward_ops.destroy_context_allocation(host, allocation);
    end_up(trace, status, 0, &event);
    if (NT_SUCCESS(status))
        forget(trace, TRACE_HANDLE_ALLOCATION, allocation);
    return status;
}

static D3DGPU_VIRTUAL_ADDRESS up_map_context_allocation(struct miniport_host *host,
                                                        const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    struct trace *trace = trace_of_host(host);
    D3DGPU_VIRTUAL_ADDRESS address;
    struct trace_event event;

    begin_up(trace, TRACE_CALLBACK_map_context_allocation, map, 0, 0, &event);
    address = miniport_host_forward_ops.map_context_allocation(host, map);
    event.object = address ? (HANDLE)(uintptr_t)address : NULL;
    end_up(trace, address ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL, 0, &event);
    return address;
}

static NTSTATUS up_update_context_allocation(struct miniport_host *host,
                                             const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_update_context_allocation, update, 0, 0, &event);
    status = miniport_host_forward_ops.update_context_allocation(host, update);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_memory(struct miniport_host *host, const struct miniport_memory_request *request)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_memory, request, 0, 0, &event);
    status = miniport_host_forward_ops.memory(host, request);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_display(struct miniport_host *host,
                           const struct miniport_display_request *request)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_display, request, 0, 0, &event);
    status = miniport_host_forward_ops.display(host, request);
    end_up(trace, status, 0, &event);
    return status;
}

static NTSTATUS up_power(struct miniport_host *host, const struct miniport_power_request *request)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;
    NTSTATUS status;

    begin_up(trace, TRACE_CALLBACK_power, request, 0, 0, &event);
    status = miniport_host_forward_ops.power(host, request);
    end_up(trace, status, 0, &event);
    return status;
}

static void up_log(struct miniport_host *host, const char *text)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;

    begin_up(trace, TRACE_CALLBACK_log, text, 0, 0, &event);
    miniport_host_forward_ops.log(host, text);
    end_up(trace, STATUS_SUCCESS, 0, &event);
}

static void up_unsupported(struct miniport_host *host, const char *callback)
{
    struct trace *trace = trace_of_host(host);
    struct trace_event event;

    begin_up(trace, TRACE_CALLBACK_unsupported, callback, 0, 0, &event);
    miniport_host_forward_ops.unsupported(host, callback);
    end_up(trace, STATUS_NOT_SUPPORTED, 0, &event);
}

static const struct miniport_host_ops up_ops = {
#define X(function, name) .function = up_##function,
    TRACE_CALLBACK_LIST(X)
#undef X
};

/* ---- The layer ---- */

static ULONG trace_interface_version(struct miniport *m)
{
    return miniport_interface_version(m->next);
}

static bool trace_has(struct miniport *m, enum miniport_ddi ddi)
{
    return miniport_has(m->next, ddi);
}

static void trace_set_host(struct miniport *m, struct miniport_host *host)
{
    struct trace *trace = trace_of(m);

    trace->up.upper = host;
    miniport_set_host(m->next, host ? &trace->up.host : NULL);
}

static void trace_destroy(struct miniport *m)
{
    struct trace *trace = trace_of(m);

    trace_handles_fini(&trace->handles);
    base_free(trace->services, trace, sizeof *trace);
}

static const struct miniport_ops trace_ops = {
    .name = "trace",
    .destroy = trace_destroy,
    .interface_version = trace_interface_version,
    .set_host = trace_set_host,
    .has = trace_has,
    .add_device = trace_add_device,
    .start_device = trace_start_device,
    .stop_device = trace_stop_device,
    .remove_device = trace_remove_device,
    .set_power_state = trace_set_power_state,
    .notify_surprise_removal = trace_notify_surprise_removal,
    .interrupt = trace_interrupt,
    .dpc = trace_dpc,
    .get_root_page_table_size = trace_get_root_page_table_size,
#define X(function, ddi, type) .function = trace_##function,
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = trace_##function,
        MINIPORT_PLAIN_LIST(X)
#undef X
};

NTSTATUS miniport_trace_create(const struct base_services *services, struct miniport *next,
                               struct miniport **out_trace)
{
    struct trace *trace;

    *out_trace = NULL;
    trace = base_alloc(services, sizeof *trace);
    if (!trace)
        return STATUS_NO_MEMORY;
    trace->miniport.ops = &trace_ops;
    trace->miniport.next = next;
    trace->up.host.ops = &up_ops;
    trace->services = services;
    trace_handles_init(&trace->handles, services);
    *out_trace = &trace->miniport;
    return STATUS_SUCCESS;
}

void miniport_trace_set_sink(struct miniport *m, const struct trace_sink *sink)
{
    static const struct trace_sink none;

    trace_of(m)->sink = sink ? *sink : none;
}

struct trace_counters *miniport_trace_counters(struct miniport *m)
{
    return &trace_of(m)->counters;
}
