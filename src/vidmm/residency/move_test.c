/* Moves: between segments, to better places, and what they wait for. */
#include "vidmm/memory/allocation.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

static struct rig *rig_of_two_segments(unsigned model)
{
    struct rig_config config = rig_model(model);

    config.keeps_tables_in_system = true;
    config.memory_segments = 2;
    return rig_create(&config);
}

static void make_object(struct rig *rig, uint64_t pages, struct rig_object *object)
{
    const struct rig_request request = {.bytes = pages * PAGE_BYTES, .preferred = {1, 2}};

    assert_int_equal(rig_try_object(rig, rig->device, &request, object), STATUS_SUCCESS);
}

static void use(struct rig *rig, struct rig_object *object)
{
    if (rig->config.is_virtual && !object->va)
        rig_map(rig, object);
    if (rig->config.is_virtual)
        rig_make_resident(rig, object);
    rig_gpu(rig, object, 8);
    if (rig->config.is_virtual)
        rig_evict(rig, object);
}

static unsigned segment_of(const struct rig_object *object)
{
    unsigned segment;

    assert_true(vidmm_allocation_segment(object->allocation, &segment));
    return segment;
}

static void content_moves_between_segments_and_never_goes_out(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = rig_of_two_segments(model);
        struct rig_object object;

        make_object(rig, 70, &object);
        assert_int_equal(vidmm_move(object.allocation, 2), STATUS_INVALID_PARAMETER);
        use(rig, &object);
        for (unsigned segment = 2; segment > 0; segment--) {
            const bool is_there = segment == segment_of(&object);

            assert_int_equal(vidmm_move(object.allocation, segment),
                             is_there ? STATUS_GRAPHICS_NO_VIDEO_MEMORY : STATUS_SUCCESS);
            assert_true(vidmm_check(rig->vidmm)); /* in the middle of it */
            rig_drain(rig);
            assert_true(vidmm_check(rig->vidmm));
            assert_int_equal(segment_of(&object), segment);
            use(rig, &object);
        }
        rig_cpu(rig, &object, false);
        assert_int_equal(vidmm_statistics(rig->vidmm)->moved_bytes, 2 * 70 * PAGE_BYTES);
        assert_int_equal(vidmm_move(object.allocation, 9), STATUS_INVALID_PARAMETER);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void a_move_within_a_segment_goes_to_a_better_place_only(void **state)
{
    struct rig *rig = rig_of_two_segments(0);
    struct rig_object first, second;

    make_object(rig, 50, &first);
    make_object(rig, 50, &second);
    use(rig, &first);
    use(rig, &second);
    assert_int_equal(vidmm_move(second.allocation, 1), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    rig_destroy_object(rig, &first);
    rig_drain(rig);
    assert_int_equal(vidmm_move(second.allocation, 1), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(second.allocation->place.offset, 0);
    use(rig, &second);
    rig_destroy_object(rig, &second);
    rig_free(rig);
}

static void what_is_held_or_used_does_not_move(void **state)
{
    struct rig *rig = rig_of_two_segments(2);
    struct rig_object object, *objects[1] = {&object};
    struct rig_done done = {0};

    make_object(rig, 50, &object);
    use(rig, &object);
    rig_make_resident(rig, &object);
    assert_int_equal(vidmm_move(object.allocation, 2), STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 4, rig_done, &done), STATUS_SUCCESS);
    rig_evict(rig, &object);
    assert_int_equal(vidmm_move(object.allocation, 2), STATUS_GRAPHICS_ALLOCATION_BUSY);
    rig_drain(rig);
    assert_int_equal(vidmm_move(object.allocation, 2), STATUS_SUCCESS);
    assert_int_equal(vidmm_move(object.allocation, 2), STATUS_GRAPHICS_ALLOCATION_BUSY);
    rig_make_resident(rig, &object); /* waits for the move */
    assert_int_equal(segment_of(&object), 2);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void it_may_be_destroyed_on_its_way(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = rig_of_two_segments(model);
        struct rig_object object;

        make_object(rig, 50, &object);
        use(rig, &object);
        assert_int_equal(vidmm_move(object.allocation, 2), STATUS_SUCCESS);
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        assert_true(vidmm_check(rig->vidmm));
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_moves_between_segments_and_never_goes_out),
        cmocka_unit_test(a_move_within_a_segment_goes_to_a_better_place_only),
        cmocka_unit_test(what_is_held_or_used_does_not_move),
        cmocka_unit_test(it_may_be_destroyed_on_its_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
