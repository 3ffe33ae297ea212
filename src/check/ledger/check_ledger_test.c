/* Whom the ledger takes a name or a handle for: the order of calls, callbacks and client events. */
#include "check/check_watch.h"
#include "check/rig/test_rig.h"

static const char first_name, second_name;

static HANDLE make_device(struct rig *rig)
{
    return rig_create_device(rig, rig->process);
}

static void name_device(struct rig *rig, const void *name)
{
    check_client(rig->check,
                 &(struct check_client_event){.kind = CHECK_CLIENT_DEVICE, .device = name});
}

static void destroy_device(struct rig *rig, HANDLE device)
{
    miniport_destroy_device(rig->top, device);
}

/* The newest one, be another one destroyed in between; nobody when the newest one has gone. */
static void a_client_names_the_device_that_was_made_last(void **state)
{
    struct check_ledger *ledger;
    struct rig rig;
    HANDLE first, second;

    rig_init(&rig, RIG_GPUMMU);
    ledger = check_ledger(rig.check);
    first = make_device(&rig);
    name_device(&rig, &first_name);
    assert_ptr_equal(check_find_client_device(ledger, &first_name),
                     check_find_device(ledger, first));
    second = make_device(&rig);
    destroy_device(&rig, first);
    assert_null(check_find_client_device(ledger, &first_name));
    name_device(&rig, &second_name);
    assert_ptr_equal(check_find_client_device(ledger, &second_name),
                     check_find_device(ledger, second));
    first = make_device(&rig);
    destroy_device(&rig, first);
    name_device(&rig, &first_name);
    assert_null(check_find_client_device(ledger, &first_name));
    destroy_device(&rig, second);
    rig_fini(&rig);
}

/* A process is destroyed before its device, and a device before its context. */
static void what_outlives_its_owner_is_left_without_one(void **state)
{
    struct check_ledger *ledger;
    HANDLE processes[2], devices[2], contexts[2];
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    ledger = check_ledger(rig.check);
    for (unsigned i = 0; i < 2; i++) {
        processes[i] = rig_create_process(&rig, false);
        devices[i] = rig_create_device(&rig, processes[i]);
        contexts[i] = rig_create_context(&rig, devices[i], 0, false);
    }
    miniport_destroy_process(rig.top, processes[0]);
    assert_null(check_find_device(ledger, devices[0])->process);
    assert_ptr_equal(check_find_device(ledger, devices[1])->process,
                     check_find_process(ledger, processes[1]));
    destroy_device(&rig, devices[1]);
    assert_null(check_find_context(ledger, contexts[1])->device);
    assert_ptr_equal(check_find_context(ledger, contexts[0])->device,
                     check_find_device(ledger, devices[0]));
    for (unsigned i = 0; i < 2; i++)
        miniport_destroy_context(rig.top, contexts[i]);
    destroy_device(&rig, devices[0]);
    miniport_destroy_process(rig.top, processes[1]);
    rig_fini(&rig);
}

/* rig->told: whether the driver asks what the handle stands for. */
static NTSTATUS ask_or_not(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_OpenAllocation && rig->told) {
        const DXGKARG_OPENALLOCATION *open = arg;
        const DXGKARGCB_GETHANDLEDATA data = {.hObject = open->pOpenAllocation[0].hAllocation};

        rig->drivers_host->ops->get_handle_data(rig->drivers_host, &data);
    }
    return rig_answer(rig, ddi, object, arg);
}

static HANDLE open_asking(struct rig *rig, HANDLE allocation, bool asks)
{
    DXGK_OPENALLOCATIONINFO info = {.hAllocation = (D3DKMT_HANDLE)(uintptr_t)allocation};
    const DXGKARG_OPENALLOCATION open = {.NumAllocations = 1, .pOpenAllocation = &info};

    rig->answer = ask_or_not;
    rig->told = asks ? rig : NULL;
    miniport_open_allocation(rig->top, rig->device, &open);
    rig->answer = NULL;
    return info.hDeviceSpecificAllocation;
}

static void an_opening_is_of_what_the_driver_asked_for_in_it(void **state)
{
    struct check_ledger *ledger;
    HANDLE allocation, opened, blind;
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    ledger = check_ledger(rig.check);
    allocation = rig_create_allocation(&rig, NULL);
    opened = open_asking(&rig, allocation, true);
    assert_ptr_equal(check_find_opened(ledger, opened), check_find_allocation(ledger, allocation));
    blind = open_asking(&rig, allocation, false); /* right behind it, without a call between them */
    assert_null(check_find_opened(ledger, blind));
    assert_int_equal(check_find_device(ledger, rig.device)->open_count, 2);
    assert_int_equal(check_find_allocation(ledger, allocation)->open_count, 1);
    rig_fini(&rig);
}

/* Past operations are found by their numbers, whichever stop of the adapter they were built before.
 */
static void operations_behind_a_stop_are_counted_on(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER fill;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig_build(rig, &fill);
    assert_int_equal(check_ledger(rig->check)->operation, 1);
    assert_true(check_begin_again(rig->check));
    assert_int_equal(check_ledger(rig->check)->operation, 1);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_names_the_device_that_was_made_last),
        cmocka_unit_test(what_outlives_its_owner_is_left_without_one),
        cmocka_unit_test(an_opening_is_of_what_the_driver_asked_for_in_it),
        cmocka_unit_test(operations_behind_a_stop_are_counted_on),
    };

    return cmocka_run_group_tests_name("check/ledger", tests, NULL, NULL);
}
