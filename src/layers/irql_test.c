#include "layers/irql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A bottom that notes the level at which each of its functions is called. */
struct seen {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    struct nt *nt;
    PKSPIN_LOCK kept_lock; /* that it takes and does not release; NULL: none */
    unsigned calls, of_level[HIGH_LEVEL + 1];
};

static NTSTATUS note(struct miniport *self)
{
    struct seen *seen = (struct seen *)self;

    if (seen->kept_lock)
        KeAcquireSpinLockAtDpcLevel(seen->kept_lock);
    seen->calls++;
    seen->of_level[nt_irql(seen->nt)]++;
    return STATUS_SUCCESS;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS see_##function(struct miniport *self, HANDLE object, argument arg)             \
    {                                                                                              \
        return note(self);                                                                         \
    }
MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi)                                                                           \
    static NTSTATUS see_##function(struct miniport *self, HANDLE object)                           \
    {                                                                                              \
        return note(self);                                                                         \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static NTSTATUS see_start(struct miniport *self, const DXGK_START_INFO *start, ULONG *sources,
                          ULONG *children)
{
    return note(self);
}

static NTSTATUS see_power(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                          POWER_ACTION action)
{
    return note(self);
}

static NTSTATUS see_removal(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    return note(self);
}

static SIZE_T see_size(struct miniport *self, DXGKARG_GETROOTPAGETABLESIZE *size)
{
    return (SIZE_T)note(self);
}

static void see_nothing(struct miniport *self)
{
}

static struct miniport *over(struct seen *seen, struct nt *nt)
{
    struct miniport *layer;

    memset(seen, 0, sizeof *seen);
    seen->nt = nt;
    seen->ops = miniport_forward_ops;
#define X(function, ...) seen->ops.function = see_##function;
    MINIPORT_DDI_LIST(X)
    MINIPORT_PLAIN_LIST(X)
#undef X
    seen->ops.add_device = seen->ops.stop_device = seen->ops.remove_device = note;
    seen->ops.start_device = see_start;
    seen->ops.set_power_state = see_power;
    seen->ops.notify_surprise_removal = see_removal;
    seen->ops.get_root_page_table_size = see_size;
    seen->ops.destroy = see_nothing;
    seen->miniport.ops = &seen->ops;
    assert_int_equal(irql_layer_create(base_services_libc(), nt, &seen->miniport, &layer),
                     STATUS_SUCCESS);
    return layer;
}

/*
 * The manager works inside DxgkCbNotifyDpc: a driver that is put to sleep, stopped or removed there
 * is called as a thread of Windows calls it.
 */
static void functions_without_a_handle_are_called_at_passive_level(void **state)
{
    struct nt *nt = *state;
    DXGKARG_GETROOTPAGETABLESIZE size = {0};
    ULONG sources, children;
    struct seen seen;
    struct miniport *layer = over(&seen, nt);

    nt_set_irql(nt, DISPATCH_LEVEL);
    miniport_add_device(layer);
    miniport_start_device(layer, NULL, &sources, &children);
    miniport_set_power_state(layer, 0, PowerDeviceD3, PowerActionSleep);
    miniport_get_root_page_table_size(layer, &size);
    miniport_notify_surprise_removal(layer, DxgkRemovalPnPNotify);
    miniport_stop_device(layer);
    miniport_remove_device(layer);
    assert_int_equal(seen.of_level[PASSIVE_LEVEL], 7);
    assert_int_equal(nt_set_irql(nt, PASSIVE_LEVEL), DISPATCH_LEVEL);
    miniport_destroy(layer);
}

static void functions_of_the_scheduler_are_called_at_dispatch_level(void **state)
{
    struct nt *nt = *state;
    DXGKARG_SETVIDPNSOURCEADDRESS flip = {.ContextCount = 1}, mode = {0};
    struct seen seen;
    struct miniport *layer = over(&seen, nt);

    miniport_submit_command(layer, NULL, NULL);
    miniport_submit_command_virtual(layer, NULL, NULL);
    miniport_submit_command_to_hw_queue(layer, NULL, NULL);
    miniport_preempt_command(layer, NULL, NULL);
    miniport_query_current_fence(layer, NULL, NULL);
    assert_int_equal(seen.of_level[DISPATCH_LEVEL], 5);
    miniport_set_vid_pn_source_address(layer, NULL, &flip);
    assert_int_equal(seen.of_level[NT_DEVICE_IRQL], 1);
    miniport_set_vid_pn_source_address(layer, NULL, &mode);
    miniport_build_paging_buffer(layer, NULL, NULL);
    miniport_destroy_context(layer, NULL);
    assert_int_equal(seen.of_level[PASSIVE_LEVEL], 3);
    assert_int_equal(seen.calls, 9);
    assert_int_equal(nt_irql(nt), PASSIVE_LEVEL);
    miniport_destroy(layer);
}

/* It would hold up for ever what waits until the driver holds none. */
static void a_lock_that_is_kept_is_forgotten_behind_the_call(void **state)
{
    struct nt *nt = *state;
    KSPIN_LOCK outer = 0, kept = 0;
    struct seen seen;
    struct miniport *layer = over(&seen, nt);

    nt_set_irql(nt, DISPATCH_LEVEL);
    nt_bind(nt);
    KeAcquireSpinLockAtDpcLevel(&outer);
    seen.kept_lock = &kept;
    miniport_submit_command(layer, NULL, NULL);
    assert_int_equal(nt_held_lock_count(nt), 1);
    KeReleaseSpinLockFromDpcLevel(&kept);
    KeReleaseSpinLockFromDpcLevel(&outer);
    assert_int_equal(nt_held_lock_count(nt), 0);
    nt_set_irql(nt, PASSIVE_LEVEL);
    nt_bind(NULL);
    miniport_destroy(layer);
}

static int make(void **state)
{
    static const struct nt_host host = {0};

    *state = nt_create(base_services_libc(), NULL, &host);
    return *state ? 0 : -1;
}

static int drop(void **state)
{
    nt_destroy(*state);
    return 0;
}

#define LEVEL_TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LEVEL_TEST(functions_without_a_handle_are_called_at_passive_level),
        LEVEL_TEST(functions_of_the_scheduler_are_called_at_dispatch_level),
        LEVEL_TEST(a_lock_that_is_kept_is_forgotten_behind_the_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
