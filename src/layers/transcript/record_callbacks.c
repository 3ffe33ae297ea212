/*
 * Record: what the driver asks of the host, and what it is told.
 */
#include "layers/transcript/record_private.h"

#include <string.h>

static struct recorder *recorder_of_host(struct miniport_host *host)
{
    return (struct recorder *)((char *)host - offsetof(struct recorder, up.host));
}

#define UP(recorder) ((recorder)->up.upper)

static void begin_up(struct recorder *recorder, const struct transcript_callback *callback,
                     const void *tail, size_t bytes)
{
    if (!recorder->is_running)
        record_give_up(recorder, "it calls back when it was not called");
    record_stop_running(recorder);
    record_put(recorder, TRANSCRIPT_CALLBACK, callback, sizeof *callback, tail, bytes);
}

static void end_up(struct recorder *recorder, uint64_t value, const void *handle)
{
    const struct transcript_result result = {value, (uintptr_t)handle};

    record_go_on_running(recorder);
    record_put(recorder, TRANSCRIPT_RESULT, &result, sizeof result, NULL, 0);
}

#define BEGIN_UP(recorder, callback, tail, bytes, ...)                                             \
    begin_up(                                                                                      \
        recorder,                                                                                  \
        &(struct transcript_callback){.name = TRANSCRIPT_##callback, .arguments = {__VA_ARGS__}},  \
        tail, bytes)

static NTSTATUS up_get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, get_device_information, NULL, 0, 0);
    status = UP(recorder)->ops->get_device_information(UP(recorder), info);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static NTSTATUS up_map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                              BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                              PVOID *virtual_address)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, map_memory, NULL, 0, (uint64_t)translated.QuadPart, length, in_io_space,
             map_to_user_mode, cache_type);
    status = UP(recorder)->ops->map_memory(UP(recorder), translated, length, in_io_space,
                                           map_to_user_mode, cache_type, virtual_address);
    end_up(recorder, (uint32_t)status, *virtual_address);
    return status;
}

static NTSTATUS up_unmap_memory(struct miniport_host *host, PVOID virtual_address)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, unmap_memory, NULL, 0, (uintptr_t)virtual_address);
    status = UP(recorder)->ops->unmap_memory(UP(recorder), virtual_address);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static NTSTATUS up_read_device_space(struct miniport_host *host, struct miniport_space *space)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, read_device_space, NULL, 0, space->type, space->offset, space->length);
    status = UP(recorder)->ops->read_device_space(UP(recorder), space);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static NTSTATUS up_write_device_space(struct miniport_host *host, struct miniport_space *space)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, write_device_space, space->buffer, space->length, space->type, space->offset,
             space->length);
    status = UP(recorder)->ops->write_device_space(UP(recorder), space);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static void up_notify_interrupt(struct miniport_host *host,
                                const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct recorder *recorder = recorder_of_host(host);

    BEGIN_UP(recorder, notify_interrupt, data, sizeof *data, 0);
    UP(recorder)->ops->notify_interrupt(UP(recorder), data);
    end_up(recorder, 0, NULL);
}

static void up_notify_dpc(struct miniport_host *host)
{
    struct recorder *recorder = recorder_of_host(host);

    BEGIN_UP(recorder, notify_dpc, NULL, 0, 0);
    UP(recorder)->ops->notify_dpc(UP(recorder));
    end_up(recorder, 0, NULL);
}

static bool up_queue_dpc(struct miniport_host *host)
{
    struct recorder *recorder = recorder_of_host(host);
    bool is_queued;

    BEGIN_UP(recorder, queue_dpc, NULL, 0, 0);
    is_queued = UP(recorder)->ops->queue_dpc(UP(recorder));
    end_up(recorder, is_queued, NULL);
    return is_queued;
}

/* The driver's routine, as the host calls it. */
struct routine {
    struct recorder *recorder;
    PKSYNCHRONIZE_ROUTINE routine;
    PVOID context;
};

static BOOLEAN NTAPI run_routine(PVOID context)
{
    const struct routine *routine = context;
    struct transcript_end back = {0};

    record_go_on_running(routine->recorder);
    back.value = routine->routine(routine->context);
    record_stop_running(routine->recorder);
    record_put(routine->recorder, TRANSCRIPT_END, &back, sizeof back, NULL, 0);
    return (BOOLEAN)back.value;
}

static NTSTATUS up_synchronize_execution(struct miniport_host *host, PKSYNCHRONIZE_ROUTINE function,
                                         PVOID context, ULONG message, BOOLEAN *return_value)
{
    struct recorder *recorder = recorder_of_host(host);
    struct routine routine = {recorder, function, context};
    NTSTATUS status;

    BEGIN_UP(recorder, synchronize_execution, NULL, 0, message, function != NULL,
             return_value != NULL);
    status = UP(recorder)->ops->synchronize_execution(UP(recorder), function ? run_routine : NULL,
                                                      &routine, message, return_value);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static PVOID up_get_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    struct recorder *recorder = recorder_of_host(host);
    PVOID found;

    BEGIN_UP(recorder, get_handle_data, data, sizeof *data, 0);
    found = UP(recorder)->ops->get_handle_data(UP(recorder), data);
    end_up(recorder, 0, NULL); /* it is the driver's own */
    return found;
}

static D3DKMT_HANDLE up_get_handle_parent(struct miniport_host *host, D3DKMT_HANDLE allocation)
{
    struct recorder *recorder = recorder_of_host(host);
    D3DKMT_HANDLE found;

    BEGIN_UP(recorder, get_handle_parent, NULL, 0, allocation);
    found = UP(recorder)->ops->get_handle_parent(UP(recorder), allocation);
    end_up(recorder, found, NULL);
    return found;
}

static D3DKMT_HANDLE up_enum_handle_children(struct miniport_host *host,
                                             const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    struct recorder *recorder = recorder_of_host(host);
    D3DKMT_HANDLE found;

    BEGIN_UP(recorder, enum_handle_children, children, sizeof *children, 0);
    found = UP(recorder)->ops->enum_handle_children(UP(recorder), children);
    end_up(recorder, found, NULL);
    return found;
}

static NTSTATUS up_reserve(struct miniport_host *host, HANDLE process,
                           DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, reserve_gpu_virtual_address_range, range, sizeof *range, (uintptr_t)process);
    status = UP(recorder)->ops->reserve_gpu_virtual_address_range(UP(recorder), process, range);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static NTSTATUS up_create_context_allocation(struct miniport_host *host,
                                             DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, create_context_allocation, allocation, sizeof *allocation, 0);
    status = UP(recorder)->ops->create_context_allocation(UP(recorder), allocation);
    end_up(recorder, (uint32_t)status, NT_SUCCESS(status) ? allocation->hAllocation : NULL);
    return status;
}

static NTSTATUS up_is_feature_enabled(struct miniport_host *host,
                                      DXGKARGCB_ISFEATUREENABLED *feature)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, is_feature_enabled, feature, sizeof *feature, 0);
    status = UP(recorder)->ops->is_feature_enabled(UP(recorder), feature);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static NTSTATUS up_invalidate_hw_context(struct miniport_host *host,
                                         const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, invalidate_hw_context, context, sizeof *context, 0);
    status = UP(recorder)->ops->invalidate_hw_context(UP(recorder), context);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static NTSTATUS up_destroy_context_allocation(struct miniport_host *host, HANDLE allocation)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, destroy_context_allocation, NULL, 0, (uintptr_t)allocation);
    status = UP(recorder)->ops->destroy_context_allocation(UP(recorder), allocation);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

static D3DGPU_VIRTUAL_ADDRESS up_map_context_allocation(struct miniport_host *host,
                                                        const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    struct recorder *recorder = recorder_of_host(host);
    D3DGPU_VIRTUAL_ADDRESS address;

    BEGIN_UP(recorder, map_context_allocation, map, sizeof *map, 0);
    address = UP(recorder)->ops->map_context_allocation(UP(recorder), map);
    end_up(recorder, address, NULL);
    return address;
}

/* Behind the structure stands the private data. */
static NTSTATUS up_update_context_allocation(struct miniport_host *host,
                                             const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct recorder *recorder = recorder_of_host(host);
    const size_t data = update->pPrivateDriverData ? update->PrivateDriverDataSize : 0;
    uint8_t *tail = base_alloc(recorder->services, sizeof *update + data);
    NTSTATUS status;

    if (tail) {
        memcpy(tail, update, sizeof *update);
        memcpy(tail + sizeof *update, update->pPrivateDriverData, data);
    } else {
        record_give_up(recorder, "there is no memory to follow what it asks for");
    }
    BEGIN_UP(recorder, update_context_allocation, tail, sizeof *update + data, 0);
    base_free(recorder->services, tail, sizeof *update + data);
    status = UP(recorder)->ops->update_context_allocation(UP(recorder), update);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

/* Behind the structure stands the MDL that it leads to. */
static const void *copy_request(struct recorder *recorder,
                                const struct miniport_memory_request *request, size_t *out_bytes)
{
    const size_t bytes = miniport_memory_bytes(request->kind);
    const MDL *mdl = request->kind == MINIPORT_MEMORY_map_mdl ? request->map_mdl->pMdl : NULL;
    const size_t list =
        mdl ? sizeof *mdl + sizeof(PFN_NUMBER) *
                                ADDRESS_AND_SIZE_TO_SPAN_PAGES(mdl->ByteOffset, mdl->ByteCount)
            : 0;
    uint8_t *copy = base_alloc(recorder->services, bytes + list);

    *out_bytes = bytes + list;
    if (!copy) {
        record_give_up(recorder, "there is no memory to follow what it asks for");
        return NULL;
    }
    memcpy(copy, request->any, bytes);
    if (mdl)
        memcpy(copy + bytes, mdl, list);
    return copy;
}

/* What the driver gets and names again later; its handles are the same in each run. */
static const void *given_address(const struct miniport_memory_request *request, NTSTATUS status)
{
    if (!NT_SUCCESS(status))
        return NULL;
    if (request->kind == MINIPORT_MEMORY_map_object)
        return request->map_object->pMappedAddress;
    if (request->kind == MINIPORT_MEMORY_map_save_area)
        return request->map_save_area->pBaseAddress;
    return request->kind == MINIPORT_MEMORY_allocate_adl ? request->allocate_adl->pAdl : NULL;
}

static NTSTATUS up_memory(struct miniport_host *host, const struct miniport_memory_request *request)
{
    struct recorder *recorder = recorder_of_host(host);
    size_t bytes;
    const void *copy = copy_request(recorder, request, &bytes);
    NTSTATUS status;

    BEGIN_UP(recorder, memory, copy, bytes, request->kind);
    base_free(recorder->services, (void *)(uintptr_t)copy, bytes);
    status = UP(recorder)->ops->memory(UP(recorder), request);
    if (status == STATUS_MEMORY_NOT_ALLOCATED || status == STATUS_CONFLICTING_ADDRESSES)
        record_give_up(recorder, "it has freed or changed an MDL that the device is shown");
    end_up(recorder, (uint32_t)status, given_address(request, status));
    return status;
}

static void up_log(struct miniport_host *host, const char *text)
{
    struct recorder *recorder = recorder_of_host(host);

    BEGIN_UP(recorder, log, text, strlen(text), 0);
    UP(recorder)->ops->log(UP(recorder), text);
    end_up(recorder, 0, NULL);
}

static void up_unsupported(struct miniport_host *host, const char *callback)
{
    struct recorder *recorder = recorder_of_host(host);

    BEGIN_UP(recorder, unsupported, callback, strlen(callback), 0);
    UP(recorder)->ops->unsupported(UP(recorder), callback);
    end_up(recorder, 0, NULL);
}

/*
 * What a driver does with networks and monitors is not in a transcript. Where the kernel has
 * nothing of it to answer with, the question is one more callback that is not there.
 */
static NTSTATUS up_display(struct miniport_host *host,
                           const struct miniport_display_request *request)
{
    struct recorder *recorder = recorder_of_host(host);
    const char *name = miniport_ask_name(request->kind);
    NTSTATUS status;

    BEGIN_UP(recorder, unsupported, name, strlen(name), 0);
    status = UP(recorder)->ops->display(UP(recorder), request);
    if (status != STATUS_NOT_SUPPORTED)
        record_give_up(recorder, "it negotiates modes");
    end_up(recorder, 0, NULL);
    return status;
}

static NTSTATUS up_power(struct miniport_host *host, const struct miniport_power_request *request)
{
    struct recorder *recorder = recorder_of_host(host);
    NTSTATUS status;

    BEGIN_UP(recorder, power, request, sizeof *request, 0);
    status = UP(recorder)->ops->power(UP(recorder), request);
    end_up(recorder, (uint32_t)status, NULL);
    return status;
}

const struct miniport_host_ops record_host_ops = {
    .get_device_information = up_get_device_information,
    .map_memory = up_map_memory,
    .unmap_memory = up_unmap_memory,
    .read_device_space = up_read_device_space,
    .write_device_space = up_write_device_space,
    .notify_interrupt = up_notify_interrupt,
    .notify_dpc = up_notify_dpc,
    .queue_dpc = up_queue_dpc,
    .synchronize_execution = up_synchronize_execution,
    .get_handle_data = up_get_handle_data,
    .get_handle_parent = up_get_handle_parent,
    .enum_handle_children = up_enum_handle_children,
    .reserve_gpu_virtual_address_range = up_reserve,
    .create_context_allocation = up_create_context_allocation,
    .is_feature_enabled = up_is_feature_enabled,
    .invalidate_hw_context = up_invalidate_hw_context,
    .destroy_context_allocation = up_destroy_context_allocation,
    .map_context_allocation = up_map_context_allocation,
    .update_context_allocation = up_update_context_allocation,
    .memory = up_memory,
    .display = up_display,
    .power = up_power,
    .log = up_log,
    .unsupported = up_unsupported,
};
