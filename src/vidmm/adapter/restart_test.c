/* A manager that has stopped starts again, with the same driver, as if it were new. */
#include "vidmm/rig/test_rig_notes.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

static void work(struct rig *rig)
{
    struct rig_object objects[3];

    for (unsigned i = 0; i < ARRAY_COUNT(objects); i++)
        rig_object(rig, 100, i == 2 ? rig->segment_count : 1, &objects[i]);
    for (unsigned turn = 0; turn < 6; turn++) {
        struct rig_object *object = &objects[turn % 2]; /* there is no room for both and tables */

        if (rig->config.is_virtual && turn < 2)
            rig_map(rig, object);
        if (rig->config.is_virtual)
            rig_make_resident(rig, object);
        rig_gpu(rig, object, 8);
        if (rig->config.is_virtual)
            rig_evict(rig, object);
        rig_cpu(rig, object, true);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(objects); i++)
        rig_destroy_object(rig, &objects[i]);
    rig_drain(rig);
}

static void stop(struct rig *rig)
{
    vidmm_context_destroy(rig->context);
    rig_drain(rig);
    vidmm_device_destroy(rig->device);
    vidmm_process_destroy(rig->process);
    rig->context = NULL;
    rig->device = NULL;
    rig->process = NULL;
    rig_notes_check(rig);
    vidmm_stop(rig->vidmm);
    assert_int_equal(rig->taken_pages, 0);
    assert_int_equal(rig->taken_blocks, 0);
}

static void a_stopped_manager_starts_again(void **state)
{
    for (unsigned variant = 0; variant < 2 * RIG_MODELS; variant++) {
        struct rig_config config = rig_model(variant / 2);
        struct rig *rig;

        config.segment_pages[0] = 160;
        config.aperture_pages = 128;
        config.buffer_bytes = 256;
        if (variant % 2) {
            config.switches_to_null = true;
            config.pages_through_aperture = !config.is_virtual;
            config.host_slots = config.is_virtual ? 200 : 0;
        }
        rig = rig_create(&config);
        for (unsigned life = 0; life < 3; life++) {
            struct vidmm_failure failure;
            uint64_t build_calls;

            work(rig);
            build_calls = vidmm_statistics(rig->vidmm)->build_calls;
            stop(rig);
            rig_notes_stopped(rig);
            assert_int_equal(vidmm_start(rig->vidmm, &failure), STATUS_SUCCESS);
            assert_int_equal(rig_open(rig), STATUS_SUCCESS);
            assert_true(vidmm_statistics(rig->vidmm)->build_calls <= build_calls + 100);
        }
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_manager_starts_again),
    };

    return cmocka_run_group_tests_name("vidmm/restart", tests, NULL, NULL);
}
