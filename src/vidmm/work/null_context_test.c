/* When a node is told to leave the context whose work it had last. The rig judges each operation.
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "vidsch/vidsch.h"

static NTSTATUS set_power_state(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    struct rig *rig = rig_of(self);

    rig->is_asleep = state != PowerDeviceD0;
    if (rig->is_asleep)
        EXPECT(!rig->current[0] || !rig->current[0]->is_system);
    if (rig->is_asleep)
        EXPECT(!rig->current[1] || !rig->current[1]->is_system);
    return STATUS_SUCCESS;
}

/* What the CPU looks at leaves its segment. */
static struct rig *start(unsigned model, bool switches)
{
    struct rig_config config = rig_model(model);
    struct rig *rig;

    config.hides_segment[0] = true;
    config.keeps_tables_in_system = true;
    config.switches_to_null = switches;
    rig = rig_create(&config);
    rig->ops.set_power_state = set_power_state;
    return rig;
}

static void create_used(struct rig *rig, struct rig_object *object)
{
    rig_object(rig, 4, 1, object);
    if (rig->config.is_virtual) {
        rig_make_resident(rig, object);
        rig_map(rig, object);
    }
    rig_gpu(rig, object, 4);
}

/* By the CPU, which reads it; nothing holds it then. */
static void take_away(struct rig *rig, struct rig_object *object)
{
    uint64_t evictions = vidmm_statistics(rig->vidmm)->evictions;

    if (rig->config.is_virtual)
        rig_evict(rig, object);
    rig_cpu(rig, object, false);
    assert_int_equal(vidmm_statistics(rig->vidmm)->evictions, evictions + 1);
}

static void bring_back(struct rig *rig, struct rig_object *object)
{
    if (rig->config.is_virtual)
        rig_make_resident(rig, object);
    rig_gpu(rig, object, 4);
}

static void a_node_leaves_the_context_whose_allocation_is_evicted(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = start(model, true);
        struct rig_object object;

        create_used(rig, &object);
        assert_ptr_equal(rig->current[0]->device, object.driver->device);
        for (unsigned turn = 1; turn <= 3; turn++) {
            take_away(rig, &object);
            assert_int_equal(rig->switches, turn);
            assert_int_equal(vidmm_statistics(rig->vidmm)->context_switches, turn);
            assert_null(rig->current[0]);
            bring_back(rig, &object);
            assert_non_null(rig->current[0]);
        }
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void nobody_is_told_without_the_option(void **state)
{
    struct rig *rig = start(0, false);
    struct rig_object object;

    create_used(rig, &object);
    take_away(rig, &object);
    assert_int_equal(rig->switches + vidmm_statistics(rig->vidmm)->context_switches, 0);
    assert_null(rig->vidmm->null_contexts);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* Each node has a context of its own, and both are left; that of another device is not. */
static void contexts_of_the_device_are_left_on_every_node_and_those_of_others_on_none(void **state)
{
    for (unsigned is_other = 0; is_other < 2; is_other++) {
        struct rig *rig = start(0, true);
        struct vidmm_device *device = rig->device;
        struct vidmm_context *second;
        struct rig_object object;
        struct rig_object *objects[1] = {&object};
        struct rig_done done = {0};

        create_used(rig, &object);
        if (is_other)
            assert_int_equal(vidmm_device_create(rig->process, &device), STATUS_SUCCESS);
        assert_int_equal(vidmm_context_create(device, is_other ? 0 : 1, NULL, 0, &second),
                         STATUS_SUCCESS);
        if (is_other) {
            struct rig_object theirs;
            struct rig_object *list[1] = {&theirs};
            const struct rig_request request = {.bytes = PAGE_BYTES, .preferred = {1}};

            assert_int_equal(rig_try_object(rig, device, &request, &theirs), STATUS_SUCCESS);
            assert_int_equal(rig_gpu_in(rig, second, list, 1, 1, rig_done, &done), STATUS_SUCCESS);
            rig_drain(rig);
            take_away(rig, &object);
            assert_int_equal(rig->switches, 0);
            assert_non_null(rig->current[0]);
            rig_destroy_object(rig, &theirs);
        } else {
            assert_int_equal(rig_gpu_in(rig, second, objects, 1, 1, rig_done, &done),
                             STATUS_SUCCESS);
            rig_drain(rig);
            assert_true(rig->current[0] && rig->current[1] && !rig->current[1]->is_system);
            take_away(rig, &object);
            assert_int_equal(rig->switches, 2);
            assert_null(rig->current[0]);
        }
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        vidmm_context_destroy(second);
        if (is_other)
            vidmm_device_destroy(device);
        rig_free(rig);
    }
}

static void a_context_that_was_destroyed_is_not_left(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = start(model, true);
        struct rig_object object;

        create_used(rig, &object);
        vidmm_context_destroy(rig->context);
        rig->context = NULL;
        take_away(rig, &object);
        assert_int_equal(rig->switches, 0);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* SUB-004: with Paging; it may not be the context that ran last when the adapter is off. */
static void a_sleep_leaves_the_context_of_the_system(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = start(model, true);
        struct rig_object object;

        create_used(rig, &object);
        for (unsigned turn = 0; turn < 2; turn++) {
            unsigned switches = rig->switches;

            rig_gpu(rig, &object, 4); /* pages it in, where the last sleep has moved it out */
            assert_int_equal(vidmm_power_down(rig->vidmm, VIDMM_SLEEP_HIBERNATE, NULL, NULL),
                             STATUS_SUCCESS);
            rig_drain(rig);
            assert_true(rig->is_asleep && rig->switches > switches);
            assert_int_equal(vidmm_power_up(rig->vidmm), STATUS_SUCCESS);
            rig_drain(rig);
        }
        rig_gpu(rig, &object, 4);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/* The switch waits behind other packets; the other context's work gets to the node before it. */
static void work_of_another_context_makes_a_queued_switch_needless(void **state)
{
    struct rig *rig = start(0, true);
    struct vidmm_device *device;
    struct vidmm_context *second;
    struct rig_object object, theirs;
    struct rig_object *list[1] = {&theirs};
    const struct rig_request request = {.bytes = PAGE_BYTES, .preferred = {1}};
    struct rig_done done = {0};
    unsigned submitted = 0;

    create_used(rig, &object);
    assert_int_equal(vidmm_device_create(rig->process, &device), STATUS_SUCCESS);
    assert_int_equal(vidmm_context_create(device, 0, NULL, 0, &second), STATUS_SUCCESS);
    assert_int_equal(rig_try_object(rig, device, &request, &theirs), STATUS_SUCCESS);
    assert_int_equal(rig_gpu_in(rig, second, list, 1, 1, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    rig_gpu(rig, &object, 1); /* the first one's again */
    for (submitted = 0; submitted < 20; submitted++)
        assert_int_equal(rig_gpu_in(rig, second, list, 1, 1, rig_done, &done), STATUS_SUCCESS);
    take_away(rig, &object);
    assert_int_equal(rig->switches, 0);
    assert_int_equal(done.calls, 1 + submitted);
    rig_destroy_object(rig, &object);
    rig_destroy_object(rig, &theirs);
    rig_drain(rig);
    vidmm_context_destroy(second);
    vidmm_device_destroy(device);
    rig_free(rig);
}

/* The switch waits behind other packets, and the context that it would leave ends. */
static void a_queued_switch_goes_with_the_context_that_it_would_leave(void **state)
{
    struct rig *rig = start(0, true);
    struct vidmm_device *device;
    struct vidmm_context *leaving;
    struct rig_object object, theirs;
    struct rig_object *list[1] = {&theirs};
    const struct rig_request request = {.bytes = PAGE_BYTES, .preferred = {1}};
    struct rig_done done = {0};

    create_used(rig, &object);
    assert_int_equal(vidmm_device_create(rig->process, &device), STATUS_SUCCESS);
    assert_int_equal(vidmm_context_create(device, 0, NULL, 0, &leaving), STATUS_SUCCESS);
    assert_int_equal(rig_try_object(rig, device, &request, &theirs), STATUS_SUCCESS);
    assert_int_equal(rig_gpu_in(rig, leaving, list, 1, 1, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    vidsch_set_gate(rig->vidmm->vidsch, VIDSCH_CLOSED); /* nothing goes to the GPU */
    assert_int_equal(vidmm_lock(theirs.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_int_equal(vidmm_statistics(rig->vidmm)->context_switches, 1);
    assert_int_equal(rig->switches, 0);
    vidmm_context_destroy(leaving);
    vidsch_set_gate(rig->vidmm->vidsch, VIDSCH_OPEN);
    vidmm_notify_dpc(rig->vidmm);
    rig_drain(rig);
    assert_int_equal(rig->switches, 0);
    assert_int_equal(vidmm_lock(theirs.allocation), STATUS_SUCCESS); /* it has left all the same */
    vidmm_unlock(theirs.allocation);
    rig_destroy_object(rig, &theirs);
    rig_destroy_object(rig, &object);
    rig_drain(rig);
    vidmm_device_destroy(device);
    rig_free(rig);
}

/* SUB-004, ALLOC-015: before contexts are held for the move; and those of later moves go again. */
static void nodes_are_left_again_behind_a_move_that_pages_synchronously(void **state)
{
    const DXGK_ALLOCATIONINFOFLAGS flags = {{{.SynchronousPaging = 1}}};
    const struct rig_request request = {
        .bytes = 4 * PAGE_BYTES, .preferred = {1}, .flags = flags.Value};
    struct rig *rig = start(0, true);
    struct rig_object object, synchronous;

    create_used(rig, &object);
    assert_int_equal(rig_try_object(rig, rig->device, &request, &synchronous), STATUS_SUCCESS);
    for (unsigned turn = 0; turn < 2; turn++) {
        rig_gpu(rig, &synchronous, 4);
        take_away(rig, &synchronous);
        assert_int_equal(rig->switches, 2 * turn + 1);
        rig_gpu(rig, &object, 4);
        take_away(rig, &object);
        assert_int_equal(rig->switches, 2 * turn + 2);
    }
    rig_destroy_object(rig, &synchronous);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* The second node's context is held for the first move when what it used last has to leave. */
static void a_context_that_is_held_for_a_move_is_left_before_the_next_one(void **state)
{
    const DXGK_ALLOCATIONINFOFLAGS flags = {{{.SynchronousPaging = 1}}};
    const struct rig_request request = {
        .bytes = 4 * PAGE_BYTES, .preferred = {1}, .flags = flags.Value};
    struct rig *rig = start(0, true);
    struct vidmm_device *device;
    struct vidmm_context *second;
    struct rig_object synchronous, theirs;
    struct rig_object *list[1] = {&theirs};
    struct rig_done done = {0};

    assert_int_equal(rig_try_object(rig, rig->device, &request, &synchronous), STATUS_SUCCESS);
    assert_int_equal(vidmm_device_create(rig->process, &device), STATUS_SUCCESS);
    assert_int_equal(vidmm_context_create(device, 0, NULL, 0, &second), STATUS_SUCCESS);
    assert_int_equal(rig_try_object(rig, device, &request, &theirs), STATUS_SUCCESS);
    rig_gpu(rig, &synchronous, 4);
    assert_int_equal(rig_gpu_in(rig, second, list, 1, 1, rig_done, &done), STATUS_SUCCESS);
    rig_drain(rig);
    assert_ptr_equal(rig->current[0]->device, theirs.driver->device);
    assert_int_equal(vidmm_lock(synchronous.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_true(rig->synchronous_operations);
    assert_int_equal(vidmm_lock(theirs.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_int_equal(rig->switches, 0); /* ALLOC-015: the first move is under way */
    rig_drain(rig);
    assert_int_equal(rig->switches, 1);
    assert_null(rig->current[0]);
    rig_destroy_object(rig, &synchronous);
    rig_destroy_object(rig, &theirs);
    rig_drain(rig);
    vidmm_context_destroy(second);
    vidmm_device_destroy(device);
    rig_free(rig);
}

static void every_nth_allocation_failure_leaves_nothing(void **state)
{
    NTSTATUS status = STATUS_NO_MEMORY;

    for (uint64_t n = 1; status == STATUS_NO_MEMORY; n++) {
        struct rig_config config = rig_model(0);
        struct rig *rig;

        config.switches_to_null = true;
        rig = rig_new(&config);
        failing_services_fail_at(&rig->memory, n);
        status = rig_start(rig);
        rig_free(rig);
    }
    assert_int_equal(status, STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_leaves_the_context_whose_allocation_is_evicted),
        cmocka_unit_test(nobody_is_told_without_the_option),
        cmocka_unit_test(contexts_of_the_device_are_left_on_every_node_and_those_of_others_on_none),
        cmocka_unit_test(a_context_that_was_destroyed_is_not_left),
        cmocka_unit_test(a_sleep_leaves_the_context_of_the_system),
        cmocka_unit_test(work_of_another_context_makes_a_queued_switch_needless),
        cmocka_unit_test(a_queued_switch_goes_with_the_context_that_it_would_leave),
        cmocka_unit_test(nodes_are_left_again_behind_a_move_that_pages_synchronously),
        cmocka_unit_test(a_context_that_is_held_for_a_move_is_left_before_the_next_one),
        cmocka_unit_test(every_nth_allocation_failure_leaves_nothing),
    };

    return cmocka_run_group_tests_name("vidmm/null_context", tests, NULL, NULL);
}
