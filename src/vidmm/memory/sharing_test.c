/*
 * Sharing: openings in other devices, and that they are closed before the allocation is destroyed.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"
#include "miniport/miniport.h"

static struct {
    unsigned opens, closes, destroys;
    HANDLE last_open;
    struct miniport_ops ops;
    struct miniport layer;
} ledger;

static NTSTATUS count_open(struct miniport *self, HANDLE object, const DXGKARG_OPENALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_open_allocation(self, object, arg);

    ledger.opens += NT_SUCCESS(status);
    ledger.last_open = arg->pOpenAllocation[0].hDeviceSpecificAllocation;
    return status;
}

static NTSTATUS count_close(struct miniport *self, HANDLE object,
                            const DXGKARG_CLOSEALLOCATION *arg)
{
    ledger.closes++;
    return miniport_forward_close_allocation(self, object, arg);
}

static NTSTATUS count_destroy(struct miniport *self, HANDLE object,
                              const DXGKARG_DESTROYALLOCATION *arg)
{
    assert_int_equal(ledger.closes, ledger.opens); /* ALLOC-018 */
    ledger.destroys++;
    return miniport_forward_destroy_allocation(self, object, arg);
}

static struct rig *rig_with_ledger(unsigned model)
{
    struct rig_config config = rig_model(model);
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    memset(&ledger, 0, sizeof ledger);
    ledger.ops = miniport_forward_ops;
    ledger.ops.open_allocation = count_open;
    ledger.ops.close_allocation = count_close;
    ledger.ops.destroy_allocation = count_destroy;
    ledger.layer.ops = &ledger.ops;
    ledger.layer.next = rig->vidmm->miniport;
    rig->vidmm->miniport = &ledger.layer;
    return rig;
}

static void an_allocation_is_opened_once_in_each_other_device(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = rig_with_ledger(model);
        struct vidmm_device *other;
        struct rig_object object;
        struct rig_request private_data = {.bytes = PAGE_BYTES, .preferred = {1}};

        assert_int_equal(vidmm_device_create(rig->process, &other), STATUS_SUCCESS);
        rig_object(rig, 8, 1, &object);
        assert_int_equal(ledger.opens, 1);
        assert_int_equal(vidmm_allocation_open(rig->device, object.allocation, &private_data,
                                               sizeof private_data),
                         STATUS_INVALID_PARAMETER);
        assert_int_equal(
            vidmm_allocation_open(other, object.allocation, &private_data, sizeof private_data),
            STATUS_SUCCESS);
        assert_int_equal(
            vidmm_allocation_open(other, object.allocation, &private_data, sizeof private_data),
            STATUS_INVALID_PARAMETER);
        assert_int_equal(ledger.opens, 2);
        assert_ptr_equal(allocation_handle_in(object.allocation, other), ledger.last_open);
        assert_ptr_equal(allocation_handle_in(object.allocation, rig->device),
                         object.allocation->device_handle);
        assert_int_equal(vidmm_allocation_close(other, object.allocation), STATUS_SUCCESS);
        assert_int_equal(vidmm_allocation_close(other, object.allocation),
                         STATUS_INVALID_PARAMETER);
        assert_int_equal(ledger.closes, 1);
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        vidmm_device_destroy(other);
        rig_free(rig);
    }
}

static void openings_that_are_left_go_with_the_allocation_or_the_device(void **state)
{
    struct rig *rig = rig_with_ledger(0);
    struct vidmm_device *others[2];
    struct rig_object object;

    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(vidmm_device_create(rig->process, &others[i]), STATUS_SUCCESS);
    rig_object(rig, 8, 1, &object);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(vidmm_allocation_open(others[i], object.allocation, NULL, 0),
                         STATUS_SUCCESS);
    vidmm_device_destroy(others[0]);
    assert_int_equal(ledger.closes, 1);
    rig_destroy_object(rig, &object);
    rig_drain(rig);
    assert_true(ledger.closes == 3 && ledger.destroys == 1);
    vidmm_device_destroy(others[1]);
    rig_free(rig);
}

/* The device that made it closes it and goes; who has it open has it, until it is destroyed. */
static void an_allocation_outlives_the_device_that_made_it(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = rig_with_ledger(model);
        struct rig_request request = {.bytes = PAGE_BYTES, .preferred = {1}};
        struct vidmm_device *maker;
        struct rig_object object;

        assert_int_equal(vidmm_device_create(rig->process, &maker), STATUS_SUCCESS);
        assert_int_equal(rig_try_object(rig, maker, &request, &object), STATUS_SUCCESS);
        assert_int_equal(vidmm_allocation_open(rig->device, object.allocation, NULL, 0),
                         STATUS_SUCCESS);
        assert_int_equal(vidmm_allocation_leave(object.allocation), STATUS_SUCCESS);
        assert_int_equal(vidmm_allocation_leave(object.allocation), STATUS_INVALID_PARAMETER);
        assert_int_equal(ledger.closes, 1);
        assert_null(allocation_handle_in(object.allocation, maker));
        assert_ptr_equal(allocation_owner(object.allocation), rig->device->driver_device);
        /* It may open what it has left. */
        assert_int_equal(vidmm_allocation_open(maker, object.allocation, NULL, 0), STATUS_SUCCESS);
        assert_ptr_equal(allocation_handle_in(object.allocation, maker), ledger.last_open);
        vidmm_device_destroy(maker);
        assert_int_equal(ledger.closes, 2);
        assert_int_equal(vidmm_allocation_close(rig->device, object.allocation), STATUS_SUCCESS);
        assert_null(allocation_owner(object.allocation));
        assert_int_equal(vidmm_allocation_open(rig->device, object.allocation, NULL, 0),
                         STATUS_SUCCESS);
        assert_int_equal(ledger.destroys, 0);
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        assert_int_equal(ledger.destroys, 1);
        assert_true(vidmm_check(rig->vidmm));
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_allocation_is_opened_once_in_each_other_device),
        cmocka_unit_test(an_allocation_outlives_the_device_that_made_it),
        cmocka_unit_test(openings_that_are_left_go_with_the_allocation_or_the_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
