/*
 * Adapters that end with work outstanding: what ends, what is refused, what still goes to the
 * driver.
 */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

static void expect_refusals(struct rig *rig, struct rig_object *object)
{
    const struct vidmm_reference reference = {object->allocation, true};
    struct vidmm_allocation *allocation;
    struct vidmm_process *process;
    struct vidmm_context *context;
    struct vidmm_device *device;
    uint64_t value;

    assert_int_equal(vidmm_process_create(rig->vidmm, &process), STATUS_DEVICE_REMOVED);
    assert_null(process);
    assert_int_equal(vidmm_device_create(rig->process, &device), STATUS_DEVICE_REMOVED);
    assert_null(device);
    assert_int_equal(vidmm_context_create(rig->device, 0, NULL, 0, &context),
                     STATUS_DEVICE_REMOVED);
    assert_null(context);
    assert_int_equal(vidmm_allocation_create(rig->device, NULL, 0, NULL, &allocation),
                     STATUS_DEVICE_REMOVED);
    assert_null(allocation);
    assert_int_equal(vidmm_make_resident(rig->device, 1, &object->allocation, NULL, NULL, &value),
                     STATUS_DEVICE_REMOVED);
    assert_int_equal(value, 0);
    assert_int_equal(vidmm_offer(rig->device, 1, &object->allocation, VIDMM_OFFER_LOW),
                     STATUS_DEVICE_REMOVED);
    assert_int_equal(vidmm_lock(object->allocation), STATUS_DEVICE_REMOVED);
    assert_int_equal(vidmm_move(object->allocation, 1), STATUS_DEVICE_REMOVED);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object->allocation,
                                                                  .bytes = PAGE_BYTES},
                                      &value),
                     STATUS_DEVICE_REMOVED);
    assert_int_equal(value, 0);
    if (rig->config.is_virtual)
        assert_int_equal(vidmm_submit_virtual(rig->context, 0, 64, NULL, NULL),
                         STATUS_DEVICE_REMOVED);
    else
        assert_int_equal(vidmm_render(rig->context, "", 1, 1, &reference, NULL, NULL),
                         STATUS_DEVICE_REMOVED);
    assert_int_equal(vidmm_power_down(rig->vidmm, VIDMM_SLEEP_STANDBY, NULL, NULL),
                     STATUS_DEVICE_REMOVED);
    assert_true(vidmm_device_is_in_error(rig->device));
    vidmm_device_clear_error(rig->device);
    assert_true(vidmm_device_is_in_error(rig->device));
}

static void an_adapter_that_is_stopped_ends_what_waits_and_refuses_the_rest(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_object first, second;
        struct rig_done done = {0};
        uint64_t value = 0;

        rig_object(rig, 16, 1, &first);
        rig_object(rig, 16, 1, &second);
        if (config.is_virtual) {
            rig_map(rig, &first);
            rig_make_resident(rig, &first);
        }
        rig_gpu(rig, &first, 8);
        if (config.is_virtual)
            assert_int_equal(
                vidmm_make_resident(rig->device, 1, &second.allocation, rig_done, &done, &value),
                STATUS_PENDING);
        assert_int_equal(vidmm_end_work(rig->vidmm), STATUS_SUCCESS);
        assert_int_equal(vidmm_end_work(rig->vidmm), STATUS_INVALID_DEVICE_STATE);
        rig_drain(rig);
        assert_int_equal(done.calls, config.is_virtual);
        if (config.is_virtual && NT_SUCCESS(done.status)) /* it was being paged in already */
            vidmm_evict(rig->device, 1, &second.allocation);
        expect_refusals(rig, &first);
        if (config.is_virtual)
            rig_evict(rig, &first);
        rig_destroy_object(rig, &first);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

static void an_adapter_that_has_gone_is_destroyed_without_the_driver_building_anything(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_object object;
        uint64_t build_calls;

        rig_object(rig, 16, 1, &object);
        if (config.is_virtual) {
            rig_map(rig, &object);
            rig_make_resident(rig, &object);
        }
        rig_gpu(rig, &object, 8);
        rig_drain(rig);
        build_calls = vidmm_statistics(rig->vidmm)->build_calls;
        /* The rig's driver does not say that it could be told. */
        assert_int_equal(vidmm_remove(rig->vidmm), STATUS_NOT_SUPPORTED);
        assert_int_equal(vidmm_remove(rig->vidmm), STATUS_INVALID_DEVICE_STATE);
        assert_int_equal(vidmm_preempt(rig->vidmm, 0), STATUS_DEVICE_REMOVED);
        vidmm_reset(rig->vidmm);
        expect_refusals(rig, &object);
        if (config.is_virtual)
            rig_evict(rig, &object);
        vidmm_allocation_destroy(object.allocation);
        assert_true(vidmm_is_idle(rig->vidmm));
        assert_int_equal(vidmm_statistics(rig->vidmm)->build_calls, build_calls);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_adapter_that_is_stopped_ends_what_waits_and_refuses_the_rest),
        cmocka_unit_test(
            an_adapter_that_has_gone_is_destroyed_without_the_driver_building_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
