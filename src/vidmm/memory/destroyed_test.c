/*
 * An allocation that was destroyed while work uses it: it lives until the work has ended, takes
 * part in nothing more, and each call that names it says so and leaves nothing.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

static NTSTATUS refuse_present(struct miniport *self, HANDLE context, DXGKARG_PRESENT *args)
{
    EXPECT(!"a present of what is gone");
    return STATUS_INVALID_PARAMETER;
}

/* Nothing comes of a call, so that the driver hears nothing of it. */
static void call_with(struct rig *rig, struct vidmm_device *other, struct rig_object *gone)
{
    struct vidmm_allocation *allocation = gone->allocation;
    const uint64_t uses[] = {1, 2};
    const struct vidmm_present present = {.destination = allocation};
    const struct vidmm_reference reference = {.allocation = allocation};
    struct vidmm_map_request map = {.allocation = allocation, .bytes = PAGE_BYTES};
    struct vidmm_list *list;
    uint64_t value, bytes;

    EXPECT(vidmm_allocation_open(other, allocation, NULL, 0) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_lock(allocation) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_lock_with(allocation, VIDMM_LOCK_IGNORE_SYNC) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_make_resident(rig->device, 1, &allocation, NULL, NULL, &value) ==
           STATUS_INVALID_HANDLE);
    EXPECT(vidmm_make_resident_or_fail(other, 1, &allocation, NULL, NULL, &value) ==
           STATUS_INVALID_HANDLE);
    EXPECT(vidmm_device_is_in_error(other) && !vidmm_device_is_in_error(rig->device));
    vidmm_device_clear_error(other);
    EXPECT(vidmm_make_resident_in_budget(rig->device, 1, &allocation, NULL, NULL, &value, &bytes) ==
           STATUS_INVALID_HANDLE);
    EXPECT(vidmm_list_create(rig->device, 1, &allocation, &list) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_offer(rig->device, 1, &allocation, VIDMM_OFFER_LOW) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_move(allocation, 2) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_set_priority(allocation, 0x78000000) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_set_priority(allocation, 0) == STATUS_INVALID_PARAMETER);
    EXPECT(vidmm_forecast_uses(allocation, 2, uses) == STATUS_INVALID_HANDLE);
    EXPECT(vidmm_present(rig->context, &present, NULL, NULL) == STATUS_INVALID_HANDLE);
    if (rig->config.is_virtual) {
        EXPECT(vidmm_map_gpu_va(rig->process, &map, &value) == STATUS_INVALID_HANDLE && !value);
        EXPECT(vidmm_unmap_gpu_va(rig->process, gone->va, NULL, NULL) == STATUS_NOT_FOUND);
    } else
        EXPECT(vidmm_render(rig->context, "", 1, 1, &reference, NULL, NULL) ==
               STATUS_INVALID_HANDLE);
}

static void a_call_that_names_a_destroyed_allocation_is_refused(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_object object, *objects[] = {&object};
        struct vidmm_allocation *allocation;
        struct rig_done done = {0};
        struct vidmm_device *other;
        struct rig *rig;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config);
        rig->ops.present = refuse_present;
        EXPECT(vidmm_device_create(rig->process, &other) == STATUS_SUCCESS);
        rig_object(rig, 8, 1, &object);
        if (config.is_virtual) {
            rig_make_resident(rig, &object);
            rig_map(rig, &object);
        }
        EXPECT(rig_gpu_in(rig, rig->context, objects, 1, 1, rig_done, &done) == STATUS_SUCCESS);
        allocation = object.allocation;
        rig_destroy_object(rig, &object);
        object.allocation = allocation;
        EXPECT(!done.calls && object.driver->is_live);
        call_with(rig, other, &object);
        EXPECT(!done.calls && object.driver->is_live);
        rig_drain(rig);
        EXPECT(done.calls == 1 && done.status == STATUS_SUCCESS && !object.driver->is_live);
        vidmm_device_destroy(other);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_names_a_destroyed_allocation_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
