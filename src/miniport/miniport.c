/*
 * Miniport: names, forwards and the end of a stack. All from the lists in miniport.h, so a DDI
 * that is added there is named and forwarded here.
 */
#include "miniport/miniport.h"

#include "base/bits.h"

const char *miniport_ddi_name(enum miniport_ddi ddi)
{
    static const char *const names[] = {
#define X(function, ddi, argument) [MINIPORT_DDI_##ddi] = "DxgkDdi" #ddi,
        MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) [MINIPORT_DDI_##ddi] = "DxgkDdi" #ddi,
            MINIPORT_PLAIN_LIST(X)
#undef X
                [MINIPORT_DDI_GetRootPageTableSize] = "DxgkDdiGetRootPageTableSize",
        [MINIPORT_DDI_AddDevice] = "DxgkDdiAddDevice",
        [MINIPORT_DDI_StartDevice] = "DxgkDdiStartDevice",
        [MINIPORT_DDI_StopDevice] = "DxgkDdiStopDevice",
        [MINIPORT_DDI_RemoveDevice] = "DxgkDdiRemoveDevice",
        [MINIPORT_DDI_SetPowerState] = "DxgkDdiSetPowerState",
        [MINIPORT_DDI_InterruptRoutine] = "DxgkDdiInterruptRoutine",
        [MINIPORT_DDI_DpcRoutine] = "DxgkDdiDpcRoutine",
        [MINIPORT_DDI_NotifySurpriseRemoval] = "DxgkDdiNotifySurpriseRemoval",
    };

    _Static_assert(ARRAY_COUNT(names) == MINIPORT_DDI_COUNT, "every DDI has a name");
    return (unsigned)ddi < MINIPORT_DDI_COUNT ? names[ddi] : "?";
}

void miniport_destroy(struct miniport *m)
{
    while (m) {
        struct miniport *next = m->next;

        m->ops->destroy(m);
        m = next;
    }
}

/* ---- Down: forwards ---- */

#define X(function, ddi, argument)                                                                 \
    NTSTATUS miniport_forward_##function(struct miniport *m, HANDLE object, argument arg)          \
    {                                                                                              \
        return miniport_##function(m->next, object, arg);                                          \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    NTSTATUS miniport_forward_##function(struct miniport *m, HANDLE object)                        \
    {                                                                                              \
        return miniport_##function(m->next, object);                                               \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

SIZE_T miniport_forward_get_root_page_table_size(struct miniport *m,
                                                 DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    return miniport_get_root_page_table_size(m->next, arg);
}

static void destroy_nothing(struct miniport *m)
{
}

static ULONG forward_interface_version(struct miniport *m)
{
    return miniport_interface_version(m->next);
}

static void forward_set_host(struct miniport *m, struct miniport_host *host)
{
    miniport_set_host(m->next, host);
}

static bool forward_has(struct miniport *m, enum miniport_ddi ddi)
{
    return miniport_has(m->next, ddi);
}

static NTSTATUS forward_add_device(struct miniport *m)
{
    return miniport_add_device(m->next);
}

static NTSTATUS forward_start_device(struct miniport *m, const DXGK_START_INFO *start,
                                     ULONG *video_present_sources, ULONG *children)
{
    return miniport_start_device(m->next, start, video_present_sources, children);
}

static NTSTATUS forward_stop_device(struct miniport *m)
{
    return miniport_stop_device(m->next);
}

static NTSTATUS forward_remove_device(struct miniport *m)
{
    return miniport_remove_device(m->next);
}

static NTSTATUS forward_set_power_state(struct miniport *m, ULONG device_uid,
                                        DEVICE_POWER_STATE state, POWER_ACTION action)
{
    return miniport_set_power_state(m->next, device_uid, state, action);
}

static NTSTATUS forward_notify_surprise_removal(struct miniport *m, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    return miniport_notify_surprise_removal(m->next, type);
}

static bool forward_interrupt(struct miniport *m, ULONG message)
{
    return miniport_interrupt(m->next, message);
}

static void forward_dpc(struct miniport *m)
{
    miniport_dpc(m->next);
}

const struct miniport_ops miniport_forward_ops = {
    .name = "forward",
    .destroy = destroy_nothing,
    .interface_version = forward_interface_version,
    .set_host = forward_set_host,
    .has = forward_has,
    .add_device = forward_add_device,
    .start_device = forward_start_device,
    .stop_device = forward_stop_device,
    .remove_device = forward_remove_device,
    .set_power_state = forward_set_power_state,
    .notify_surprise_removal = forward_notify_surprise_removal,
    .interrupt = forward_interrupt,
    .dpc = forward_dpc,
#define X(function, ddi, argument) .function = miniport_forward_##function,
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = miniport_forward_##function,
        MINIPORT_PLAIN_LIST(X)
#undef X
            .get_root_page_table_size = miniport_forward_get_root_page_table_size,
};

/* ---- Up: forwards ---- */

static struct miniport_host *upper_of(struct miniport_host *host)
{
    return ((struct miniport_host_layer *)host)->upper;
}

static NTSTATUS up_get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    host = upper_of(host);
    return host->ops->get_device_information(host, info);
}

static NTSTATUS up_map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                              BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                              PVOID *virtual_address)
{
    host = upper_of(host);
    return host->ops->map_memory(host, translated, length, in_io_space, map_to_user_mode,
                                 cache_type, virtual_address);
}

static NTSTATUS up_unmap_memory(struct miniport_host *host, PVOID virtual_address)
{
    host = upper_of(host);
    return host->ops->unmap_memory(host, virtual_address);
}

static NTSTATUS up_read_device_space(struct miniport_host *host, struct miniport_space *space)
{
    host = upper_of(host);
    return host->ops->read_device_space(host, space);
}

static NTSTATUS up_write_device_space(struct miniport_host *host, struct miniport_space *space)
{
    host = upper_of(host);
    return host->ops->write_device_space(host, space);
}

static void up_notify_interrupt(struct miniport_host *host,
                                const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    host = upper_of(host);
    host->ops->notify_interrupt(host, data);
}

static void up_notify_dpc(struct miniport_host *host)
{
    host = upper_of(host);
    host->ops->notify_dpc(host);
}

static bool up_queue_dpc(struct miniport_host *host)
{
    host = upper_of(host);
    return host->ops->queue_dpc(host);
}

static NTSTATUS up_synchronize_execution(struct miniport_host *host, PKSYNCHRONIZE_ROUTINE routine,
                                         PVOID context, ULONG message, BOOLEAN *return_value)
{
    host = upper_of(host);
    return host->ops->synchronize_execution(host, routine, context, message, return_value);
}

static PVOID up_get_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    host = upper_of(host);
    return host->ops->get_handle_data(host, data);
}

static D3DKMT_HANDLE up_get_handle_parent(struct miniport_host *host, D3DKMT_HANDLE allocation)
{
    host = upper_of(host);
    return host->ops->get_handle_parent(host, allocation);
}

static D3DKMT_HANDLE up_enum_handle_children(struct miniport_host *host,
                                             const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    host = upper_of(host);
    return host->ops->enum_handle_children(host, children);
}

static NTSTATUS up_reserve_gpu_virtual_address_range(struct miniport_host *host, HANDLE process,
                                                     DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    host = upper_of(host);
    return host->ops->reserve_gpu_virtual_address_range(host, process, range);
}

static NTSTATUS up_create_context_allocation(struct miniport_host *host,
                                             DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    host = upper_of(host);
    return host->ops->create_context_allocation(host, allocation);
}

static NTSTATUS up_destroy_context_allocation(struct miniport_host *host, HANDLE allocation)
{
    host = upper_of(host);
    return host->ops->destroy_context_allocation(host, allocation);
}

static D3DGPU_VIRTUAL_ADDRESS up_map_context_allocation(struct miniport_host *host,
                                                        const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    host = upper_of(host);
    return host->ops->map_context_allocation(host, map);
}

static NTSTATUS up_update_context_allocation(struct miniport_host *host,
                                             const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    host = upper_of(host);
    return host->ops->update_context_allocation(host, update);
}

static NTSTATUS up_is_feature_enabled(struct miniport_host *host,
                                      DXGKARGCB_ISFEATUREENABLED *feature)
{
    host = upper_of(host);
    return host->ops->is_feature_enabled(host, feature);
}

static NTSTATUS up_invalidate_hw_context(struct miniport_host *host,
                                         const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    host = upper_of(host);
    return host->ops->invalidate_hw_context(host, context);
}

static NTSTATUS up_memory(struct miniport_host *host, const struct miniport_memory_request *request)
{
    host = upper_of(host);
    return host->ops->memory(host, request);
}

static NTSTATUS up_display(struct miniport_host *host,
                           const struct miniport_display_request *request)
{
    host = upper_of(host);
    return host->ops->display(host, request);
}

static NTSTATUS up_power(struct miniport_host *host, const struct miniport_power_request *request)
{
    host = upper_of(host);
    return host->ops->power(host, request);
}

static void up_log(struct miniport_host *host, const char *text)
{
    host = upper_of(host);
    host->ops->log(host, text);
}

static void up_unsupported(struct miniport_host *host, const char *callback)
{
    host = upper_of(host);
    host->ops->unsupported(host, callback);
}

const struct miniport_host_ops miniport_host_forward_ops = {
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
    .reserve_gpu_virtual_address_range = up_reserve_gpu_virtual_address_range,
    .create_context_allocation = up_create_context_allocation,
    .destroy_context_allocation = up_destroy_context_allocation,
    .map_context_allocation = up_map_context_allocation,
    .update_context_allocation = up_update_context_allocation,
    .is_feature_enabled = up_is_feature_enabled,
    .invalidate_hw_context = up_invalidate_hw_context,
    .memory = up_memory,
    .display = up_display,
    .power = up_power,
    .log = up_log,
    .unsupported = up_unsupported,
};
