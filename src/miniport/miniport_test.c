/* Miniport: the names of the DDIs, and a stack of forwards over a fake bottom. */
#include "miniport/miniport.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- A bottom that notes which function was called, with what ---- */

static struct call {
    enum miniport_ddi which;
    const void *object;
    const void *argument;
    unsigned count;
} called;

static struct miniport_host *bottom_host;
static unsigned destroyed_count;

static NTSTATUS note(enum miniport_ddi ddi, const void *object, const void *argument)
{
    called.which = ddi;
    called.object = object;
    called.argument = argument;
    called.count++;
    return (NTSTATUS)(0x1000 + ddi);
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS bottom_##function(struct miniport *m, HANDLE object, argument arg)             \
    {                                                                                              \
        return note(MINIPORT_DDI_##ddi, object, arg);                                              \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static NTSTATUS bottom_##function(struct miniport *m, HANDLE object)                           \
    {                                                                                              \
        return note(MINIPORT_DDI_##ddi, object, NULL);                                             \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static SIZE_T bottom_get_root_page_table_size(struct miniport *m, DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    return (SIZE_T)note(MINIPORT_DDI_GetRootPageTableSize, NULL, arg);
}

static void bottom_destroy(struct miniport *m)
{
    destroyed_count++;
}

static ULONG bottom_interface_version(struct miniport *m)
{
    return DXGKDDI_INTERFACE_VERSION_WDDM2_0;
}

static void bottom_set_host(struct miniport *m, struct miniport_host *host)
{
    bottom_host = host;
}

static bool bottom_has(struct miniport *m, enum miniport_ddi ddi)
{
    return ddi == MINIPORT_DDI_Patch;
}

static NTSTATUS bottom_add_device(struct miniport *m)
{
    return note(MINIPORT_DDI_AddDevice, NULL, NULL);
}

static NTSTATUS bottom_start_device(struct miniport *m, const DXGK_START_INFO *start,
                                    ULONG *video_present_sources, ULONG *children)
{
    *video_present_sources = 2;
    *children = 3;
    return note(MINIPORT_DDI_StartDevice, NULL, start);
}

static NTSTATUS bottom_stop_device(struct miniport *m)
{
    return note(MINIPORT_DDI_StopDevice, NULL, NULL);
}

static NTSTATUS bottom_remove_device(struct miniport *m)
{
    return note(MINIPORT_DDI_RemoveDevice, NULL, NULL);
}

static NTSTATUS bottom_set_power_state(struct miniport *m, ULONG device_uid,
                                       DEVICE_POWER_STATE state, POWER_ACTION action)
{
    assert_int_equal(device_uid, 7);
    assert_int_equal(state, PowerDeviceD3);
    assert_int_equal(action, PowerActionHibernate);
    return note(MINIPORT_DDI_SetPowerState, NULL, NULL);
}

static NTSTATUS bottom_notify_surprise_removal(struct miniport *m, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    assert_int_equal(type, DxgkRemovalPnPNotify);
    return note(MINIPORT_DDI_NotifySurpriseRemoval, NULL, NULL);
}

static bool bottom_interrupt(struct miniport *m, ULONG message)
{
    note(MINIPORT_DDI_InterruptRoutine, NULL, NULL);
    return message == 5;
}

static void bottom_dpc(struct miniport *m)
{
    note(MINIPORT_DDI_DpcRoutine, NULL, NULL);
}

static const struct miniport_ops bottom_ops = {
    .name = "bottom",
    .destroy = bottom_destroy,
    .interface_version = bottom_interface_version,
    .set_host = bottom_set_host,
    .has = bottom_has,
    .add_device = bottom_add_device,
    .start_device = bottom_start_device,
    .stop_device = bottom_stop_device,
    .remove_device = bottom_remove_device,
    .set_power_state = bottom_set_power_state,
    .notify_surprise_removal = bottom_notify_surprise_removal,
    .interrupt = bottom_interrupt,
    .dpc = bottom_dpc,
    .get_root_page_table_size = bottom_get_root_page_table_size,
#define X(function, ddi, argument) .function = bottom_##function,
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = bottom_##function,
        MINIPORT_PLAIN_LIST(X)
#undef X
};

static struct miniport bottom = {&bottom_ops, NULL};
static struct miniport lower = {&miniport_forward_ops, &bottom};
static struct miniport upper = {&miniport_forward_ops, &lower};

static void every_ddi_reaches_the_bottom_unchanged(void **state)
{
    char object = 0, argument = 0;
    unsigned count = 0;

    memset(&called, 0, sizeof called);
#define X(function, ddi, type)                                                                     \
    assert_int_equal(miniport_##function(&upper, &object, (type)(void *)&argument),                \
                     0x1000 + MINIPORT_DDI_##ddi);                                                 \
    assert_int_equal(called.which, MINIPORT_DDI_##ddi);                                            \
    assert_ptr_equal(called.object, &object);                                                      \
    assert_ptr_equal(called.argument, &argument);                                                  \
    assert_int_equal(called.count, ++count);
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    assert_int_equal(miniport_##function(&upper, &object), 0x1000 + MINIPORT_DDI_##ddi);           \
    assert_int_equal(called.which, MINIPORT_DDI_##ddi);                                            \
    assert_ptr_equal(called.object, &object);                                                      \
    assert_int_equal(called.count, ++count);
    MINIPORT_PLAIN_LIST(X)
#undef X
    assert_int_equal(miniport_get_root_page_table_size(&upper, (void *)&argument),
                     0x1000 + MINIPORT_DDI_GetRootPageTableSize);
    assert_ptr_equal(called.argument, &argument);
    assert_int_equal(called.count, ++count);
    assert_int_equal(count, MINIPORT_DDI_AddDevice);
}

static void the_life_of_a_device_reaches_the_bottom(void **state)
{
    struct miniport_host host = {NULL};
    DXGK_START_INFO start = {0};
    ULONG sources = 0, children = 0;

    memset(&called, 0, sizeof called);
    miniport_set_host(&upper, &host);
    assert_ptr_equal(bottom_host, &host);
    assert_int_equal(miniport_interface_version(&upper), DXGKDDI_INTERFACE_VERSION_WDDM2_0);
    assert_true(miniport_has(&upper, MINIPORT_DDI_Patch));
    assert_false(miniport_has(&upper, MINIPORT_DDI_Render));
    assert_int_equal(miniport_add_device(&upper), 0x1000 + MINIPORT_DDI_AddDevice);
    assert_int_equal(miniport_start_device(&upper, &start, &sources, &children),
                     0x1000 + MINIPORT_DDI_StartDevice);
    assert_ptr_equal(called.argument, &start);
    assert_int_equal(sources, 2);
    assert_int_equal(children, 3);
    assert_int_equal(miniport_set_power_state(&upper, 7, PowerDeviceD3, PowerActionHibernate),
                     0x1000 + MINIPORT_DDI_SetPowerState);
    assert_int_equal(miniport_notify_surprise_removal(&upper, DxgkRemovalPnPNotify),
                     0x1000 + MINIPORT_DDI_NotifySurpriseRemoval);
    assert_true(miniport_interrupt(&upper, 5));
    assert_false(miniport_interrupt(&upper, 4));
    miniport_dpc(&upper);
    assert_int_equal(called.which, MINIPORT_DDI_DpcRoutine);
    assert_int_equal(miniport_stop_device(&upper), 0x1000 + MINIPORT_DDI_StopDevice);
    assert_int_equal(miniport_remove_device(&upper), 0x1000 + MINIPORT_DDI_RemoveDevice);
    assert_int_equal(called.count, 9);
}

static void destroy_goes_down_the_stack_once(void **state)
{
    struct miniport_ops counting = miniport_forward_ops;
    struct miniport middle = {&counting, &bottom};
    struct miniport first = {&counting, &middle};

    counting.destroy = bottom_destroy;
    destroyed_count = 0;
    miniport_destroy(&first);
    assert_int_equal(destroyed_count, 3);
    miniport_destroy(&upper); /* forwards are their caller's memory */
    assert_int_equal(destroyed_count, 4);
    miniport_destroy(NULL);
    assert_int_equal(destroyed_count, 4);
}

/* ---- Up ---- */

static struct {
    char name[48];
    struct miniport_host *host;
    const void *argument;
} up;

static NTSTATUS note_up(struct miniport_host *host, const char *name, const void *argument)
{
    snprintf(up.name, sizeof up.name, "%s", name);
    up.host = host;
    up.argument = argument;
    return STATUS_PENDING;
}

static NTSTATUS top_get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    return note_up(host, __func__, info);
}

static NTSTATUS top_map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated,
                               ULONG length, BOOLEAN in_io_space, BOOLEAN map_to_user_mode,
                               ULONG cache_type, PVOID *virtual_address)
{
    assert_int_equal(translated.QuadPart, 0x1234);
    assert_int_equal(length, 16);
    assert_true(in_io_space);
    assert_false(map_to_user_mode);
    assert_int_equal(cache_type, 2);
    return note_up(host, __func__, virtual_address);
}

static NTSTATUS top_unmap_memory(struct miniport_host *host, PVOID virtual_address)
{
    return note_up(host, __func__, virtual_address);
}

static NTSTATUS top_read_device_space(struct miniport_host *host, struct miniport_space *space)
{
    return note_up(host, __func__, space);
}

static NTSTATUS top_write_device_space(struct miniport_host *host, struct miniport_space *space)
{
    return note_up(host, __func__, space);
}

static void top_notify_interrupt(struct miniport_host *host,
                                 const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    note_up(host, __func__, data);
}

static void top_notify_dpc(struct miniport_host *host)
{
    note_up(host, __func__, NULL);
}

static bool top_queue_dpc(struct miniport_host *host)
{
    note_up(host, __func__, NULL);
    return true;
}

static NTSTATUS top_synchronize_execution(struct miniport_host *host, PKSYNCHRONIZE_ROUTINE routine,
                                          PVOID context, ULONG message, BOOLEAN *return_value)
{
    assert_int_equal(message, 3);
    *return_value = TRUE;
    return note_up(host, __func__, context);
}

static PVOID top_get_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    note_up(host, __func__, data);
    return host;
}

static D3DKMT_HANDLE top_get_handle_parent(struct miniport_host *host, D3DKMT_HANDLE allocation)
{
    note_up(host, __func__, NULL);
    return allocation + 1;
}

static D3DKMT_HANDLE top_enum_handle_children(struct miniport_host *host,
                                              const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    note_up(host, __func__, children);
    return 9;
}

static NTSTATUS
top_reserve_gpu_virtual_address_range(struct miniport_host *host, HANDLE process,
                                      DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    assert_ptr_equal(process, &up);
    return note_up(host, __func__, range);
}

static NTSTATUS top_create_context_allocation(struct miniport_host *host,
                                              DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    return note_up(host, __func__, allocation);
}

static NTSTATUS top_destroy_context_allocation(struct miniport_host *host, HANDLE allocation)
{
    return note_up(host, __func__, allocation);
}

static D3DGPU_VIRTUAL_ADDRESS top_map_context_allocation(struct miniport_host *host,
                                                         const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    note_up(host, __func__, map);
    return 0x5000;
}

static NTSTATUS top_update_context_allocation(struct miniport_host *host,
                                              const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    return note_up(host, __func__, update);
}

static NTSTATUS top_is_feature_enabled(struct miniport_host *host,
                                       DXGKARGCB_ISFEATUREENABLED *feature)
{
    return note_up(host, __func__, feature);
}

static NTSTATUS top_invalidate_hw_context(struct miniport_host *host,
                                          const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    return note_up(host, __func__, context);
}

static NTSTATUS top_memory(struct miniport_host *host,
                           const struct miniport_memory_request *request)
{
    return note_up(host, __func__, request);
}

static void top_log(struct miniport_host *host, const char *text)
{
    note_up(host, __func__, text);
}

static void top_unsupported(struct miniport_host *host, const char *callback)
{
    note_up(host, __func__, callback);
}

static const struct miniport_host_ops top_ops = {
    .get_device_information = top_get_device_information,
    .map_memory = top_map_memory,
    .unmap_memory = top_unmap_memory,
    .read_device_space = top_read_device_space,
    .write_device_space = top_write_device_space,
    .notify_interrupt = top_notify_interrupt,
    .notify_dpc = top_notify_dpc,
    .queue_dpc = top_queue_dpc,
    .synchronize_execution = top_synchronize_execution,
    .get_handle_data = top_get_handle_data,
    .get_handle_parent = top_get_handle_parent,
    .enum_handle_children = top_enum_handle_children,
    .reserve_gpu_virtual_address_range = top_reserve_gpu_virtual_address_range,
    .create_context_allocation = top_create_context_allocation,
    .destroy_context_allocation = top_destroy_context_allocation,
    .map_context_allocation = top_map_context_allocation,
    .update_context_allocation = top_update_context_allocation,
    .is_feature_enabled = top_is_feature_enabled,
    .invalidate_hw_context = top_invalidate_hw_context,
    .memory = top_memory,
    .log = top_log,
    .unsupported = top_unsupported,
};

static void every_callback_reaches_the_top_unchanged(void **state)
{
    struct miniport_host top = {&top_ops};
    struct miniport_host_layer second = {{&miniport_host_forward_ops}, &top};
    struct miniport_host_layer first = {{&miniport_host_forward_ops}, &second.host};
    struct miniport_host *host = &first.host;
    const struct miniport_host_ops *ops = host->ops;
    PHYSICAL_ADDRESS address = {.QuadPart = 0x1234};
    BOOLEAN return_value = FALSE;
    char thing;
    PVOID pointer = NULL;

#define REACHES(call, what, with)                                                                  \
    assert_int_equal(ops->call, STATUS_PENDING);                                                   \
    WAS(what, with)
#define WAS(what, with)                                                                            \
    assert_string_equal(up.name, what);                                                            \
    assert_ptr_equal(up.host, &top);                                                               \
    assert_ptr_equal(up.argument, with)

    REACHES(get_device_information(host, (void *)&thing), "top_get_device_information", &thing);
    REACHES(map_memory(host, address, 16, TRUE, FALSE, 2, &pointer), "top_map_memory", &pointer);
    REACHES(unmap_memory(host, &thing), "top_unmap_memory", &thing);
    REACHES(read_device_space(host, (void *)&thing), "top_read_device_space", &thing);
    REACHES(write_device_space(host, (void *)&thing), "top_write_device_space", &thing);
    REACHES(synchronize_execution(host, NULL, &thing, 3, &return_value),
            "top_synchronize_execution", &thing);
    assert_true(return_value);
    REACHES(reserve_gpu_virtual_address_range(host, &up, (void *)&thing),
            "top_reserve_gpu_virtual_address_range", &thing);
    REACHES(create_context_allocation(host, (void *)&thing), "top_create_context_allocation",
            &thing);
    REACHES(destroy_context_allocation(host, &thing), "top_destroy_context_allocation", &thing);
    REACHES(update_context_allocation(host, (void *)&thing), "top_update_context_allocation",
            &thing);
    REACHES(is_feature_enabled(host, (void *)&thing), "top_is_feature_enabled", &thing);
    REACHES(invalidate_hw_context(host, (void *)&thing), "top_invalidate_hw_context", &thing);
    REACHES(memory(host, (void *)&thing), "top_memory", &thing);
    assert_int_equal(ops->map_context_allocation(host, (void *)&thing), 0x5000);
    WAS("top_map_context_allocation", &thing);
    ops->notify_interrupt(host, (void *)&thing);
    WAS("top_notify_interrupt", &thing);
    ops->notify_dpc(host);
    WAS("top_notify_dpc", NULL);
    assert_true(ops->queue_dpc(host));
    WAS("top_queue_dpc", NULL);
    assert_ptr_equal(ops->get_handle_data(host, (void *)&thing), &top);
    WAS("top_get_handle_data", &thing);
    assert_int_equal(ops->get_handle_parent(host, 4), 5);
    WAS("top_get_handle_parent", NULL);
    assert_int_equal(ops->enum_handle_children(host, (void *)&thing), 9);
    WAS("top_enum_handle_children", &thing);
    ops->log(host, &thing);
    WAS("top_log", &thing);
    ops->unsupported(host, &thing);
    WAS("top_unsupported", &thing);
#undef WAS
#undef REACHES
}

/* ---- Names ---- */

static void memory_callbacks_have_the_names_of_their_slots(void **state)
{
    assert_string_equal(miniport_memory_name(MINIPORT_MEMORY_allocate_adl), "DxgkCbAllocateAdl");
    assert_string_equal(miniport_memory_type(MINIPORT_MEMORY_free_adl),
                        "const DXGKARGCB_FREE_ADL *");
    assert_int_equal(miniport_memory_bytes(MINIPORT_MEMORY_free_adl), sizeof(DXGKARGCB_FREE_ADL));
    assert_string_equal(miniport_memory_name(MINIPORT_MEMORY_COUNT), "?");
    assert_int_equal(miniport_memory_bytes(MINIPORT_MEMORY_COUNT), 0);
    for (unsigned kind = 0; kind < MINIPORT_MEMORY_COUNT; kind++)
        assert_memory_equal(miniport_memory_name(kind), "DxgkCb", 6);
    assert_true(miniport_memory_is_old(MINIPORT_MEMORY_unmap_mdl));
    assert_false(miniport_memory_is_old(MINIPORT_MEMORY_create_object));
}

static void ddis_have_the_names_of_their_slots(void **state)
{
    assert_string_equal(miniport_ddi_name(MINIPORT_DDI_BuildPagingBuffer),
                        "DxgkDdiBuildPagingBuffer");
    assert_string_equal(miniport_ddi_name(MINIPORT_DDI_DpcRoutine), "DxgkDdiDpcRoutine");
    assert_string_equal(miniport_ddi_name(MINIPORT_DDI_COUNT), "?");
    for (unsigned ddi = 0; ddi < MINIPORT_DDI_COUNT; ddi++) {
        assert_non_null(miniport_ddi_name(ddi));
        assert_memory_equal(miniport_ddi_name(ddi), "DxgkDdi", 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ddi_reaches_the_bottom_unchanged),
        cmocka_unit_test(the_life_of_a_device_reaches_the_bottom),
        cmocka_unit_test(destroy_goes_down_the_stack_once),
        cmocka_unit_test(every_callback_reaches_the_top_unchanged),
        cmocka_unit_test(memory_callbacks_have_the_names_of_their_slots),
        cmocka_unit_test(ddis_have_the_names_of_their_slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
