/* Who gets the driver's swizzling ranges, and what is said of drivers that refuse them wrongly. */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/rig/test_rig_views.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

static struct rig *start(unsigned ranges)
{
    struct rig_config config = rig_model(0);

    config.swizzling_ranges = ranges;
    return rig_create(&config);
}

static void create_used(struct rig *rig, struct rig_request request, struct rig_object *object)
{
    request.bytes = PAGE_BYTES_OF(5);
    request.preferred[0] = 1;
    assert_int_equal(rig_try_object(rig, rig->device, &request, object), STATUS_SUCCESS);
    rig_gpu(rig, object, 8);
}

static void lock(struct rig *rig, struct rig_object *object)
{
    NTSTATUS status = vidmm_lock_with(object->allocation, VIDMM_LOCK_ACQUIRE_APERTURE);

    if (status == STATUS_GRAPHICS_ALLOCATION_BUSY) {
        rig_drain(rig);
        status = vidmm_lock_with(object->allocation, VIDMM_LOCK_ACQUIRE_APERTURE);
    }
    assert_int_equal(status, STATUS_SUCCESS);
}

static void use(struct rig *rig, struct rig_object *object)
{
    lock(rig, object);
    rig_touch_locked(rig, object, true);
    vidmm_unlock(object->allocation);
}

static bool is_seen_in_memory(const struct rig_object *object)
{
    return vidmm_locked_page_address(object->allocation, 0) >= rig_segment_window(0);
}

static const uint32_t swizzled = 1u << 7; /* DXGK_ALLOCATIONINFOFLAGS.Swizzled */

static void a_range_outlives_its_lock_until_another_allocation_needs_it(void **state)
{
    struct rig *rig = start(2);
    struct rig_object objects[3];

    for (unsigned i = 0; i < 3; i++)
        create_used(rig, (struct rig_request){.flags = i == 1 ? swizzled : 0}, &objects[i]);
    use(rig, &objects[0]);
    use(rig, &objects[0]);
    use(rig, &objects[1]);
    assert_int_equal(rig->acquired_ranges, 2);
    assert_ptr_equal(rig->ranges[0].owner, objects[0].driver);
    assert_ptr_equal(rig->ranges[1].owner, objects[1].driver);
    lock(rig, &objects[0]);
    use(rig, &objects[2]); /* takes the one that is not locked */
    assert_ptr_equal(rig->ranges[0].owner, objects[0].driver);
    assert_ptr_equal(rig->ranges[1].owner, objects[2].driver);
    vidmm_unlock(objects[0].allocation);
    for (unsigned i = 0; i < 3; i++) {
        rig_gpu(rig, &objects[i], 8);
        rig_destroy_object(rig, &objects[i]);
    }
    rig_drain(rig);
    assert_true(rig_shows_nothing(rig));
    rig_free(rig);
}

/* SWZ-001: where all ranges are locked, the CPU sees the next one in system memory. */
static void an_allocation_without_a_range_is_seen_in_system_memory(void **state)
{
    struct rig *rig = start(1);
    struct rig_object holder, object;

    create_used(rig, (struct rig_request){0}, &holder);
    create_used(rig, (struct rig_request){.flags = swizzled}, &object);
    lock(rig, &holder);
    assert_true(is_seen_in_memory(&holder));
    lock(rig, &object);
    assert_false(is_seen_in_memory(&object));
    rig_touch_locked(rig, &object, true);
    vidmm_unlock(object.allocation);
    vidmm_unlock(holder.allocation);
    rig_gpu(rig, &object, 8);
    lock(rig, &object);
    assert_true(is_seen_in_memory(&object));
    rig_touch_locked(rig, &object, true);
    vidmm_unlock(object.allocation);
    rig_destroy_object(rig, &holder);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static struct {
    NTSTATUS status[3]; /* of the next calls; the last one counts for all that follow */
    unsigned calls;
    UINT ids[8];
} answer;

static NTSTATUS acquire(struct miniport *self, HANDLE object, DXGKARG_ACQUIRESWIZZLINGRANGE *args)
{
    NTSTATUS status = answer.status[answer.calls < 2 ? answer.calls : 2];

    answer.ids[answer.calls++ % ARRAY_COUNT(answer.ids)] = args->RangeId;
    return NT_SUCCESS(status) ? rig_acquire_range(self, object, args) : status;
}

/* SWZ-003: UNAVAILABLE asks for another range, UNSUPPORTED for none of this allocation any more. */
static void a_refusal_says_whether_another_range_would_do(void **state)
{
    const NTSTATUS unavailable = STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE;
    const NTSTATUS unsupported = STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    const struct {
        NTSTATUS status[3];
        unsigned calls, later_calls; /* by the first lock, and by another one */
        bool is_seen_in_memory;
        unsigned told;
    } rows[] = {
        {{0, 0, 0}, 1, 0, true, 0},
        {{unavailable, unavailable, unavailable}, 3, 3, false, 0},
        {{unsupported, 0, 0}, 1, 0, false, 0},
        {{unavailable, unsupported, 0}, 2, 0, false, 0},
        {{STATUS_INVALID_PARAMETER, 0, 0}, 1, 0, false, 1},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig *rig = start(3);
        struct rig_object object;

        create_used(rig, (struct rig_request){0}, &object);
        rig->ops.acquire_swizzling_range = acquire;
        rig->expected_rules = "SWZ-003";
        answer.calls = 0;
        memcpy(answer.status, rows[i].status, sizeof answer.status);
        lock(rig, &object);
        assert_int_equal(is_seen_in_memory(&object), rows[i].is_seen_in_memory);
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        assert_int_equal(answer.calls, rows[i].calls);
        assert_int_equal(rig->rule_count, rows[i].told);
        rig_gpu(rig, &object, 8);
        lock(rig, &object);
        vidmm_unlock(object.allocation);
        assert_int_equal(answer.calls, rows[i].calls + rows[i].later_calls);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static NTSTATUS fail_to_release(struct miniport *self, HANDLE object,
                                const DXGKARG_RELEASESWIZZLINGRANGE *args)
{
    rig_release_range(self, object, args);
    return STATUS_INVALID_PARAMETER;
}

static void rule_SWZ_004_is_told_when_a_release_fails(void **state)
{
    struct rig *rig = start(1);
    struct rig_object object;

    create_used(rig, (struct rig_request){0}, &object);
    use(rig, &object);
    rig->expected_rules = "SWZ-004";
    rig->ops.release_swizzling_range = fail_to_release;
    assert_int_equal(rig->rule_count, 0);
    rig_destroy_object(rig, &object);
    rig_drain(rig);
    assert_int_equal(rig->rule_count, 1);
    rig_free(rig);
}

/* SLT-001, SLT-004: out and back by SPECIAL_LOCK_TRANSFER, under the number that it had. */
static void an_alternate_address_is_set_up_again_when_the_allocation_comes_back(void **state)
{
    for (unsigned is_swizzled = 0; is_swizzled < 2; is_swizzled++) {
        struct rig *rig = start(2);
        struct rig_object primary, filler;
        struct rig_request request = {.is_primary = true,
                                      .flags =
                                          (is_swizzled ? swizzled : 0) |
                                          (DXGK_ALLOCATIONINFOFLAGS){.UseAlternateVA = 1}.Value};

        create_used(rig, request, &primary);
        use(rig, &primary);
        assert_ptr_equal(rig->ranges[0].owner, primary.driver);
        rig_object(rig, 256, 1, &filler); /* the whole segment */
        rig_gpu(rig, &filler, 4);
        assert_null(rig->ranges[0].owner);
        assert_int_equal(rig_count(rig, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 1);
        rig_gpu(rig, &primary, 8);
        assert_int_equal(rig_count(rig, DXGK_OPERATION_SPECIAL_LOCK_TRANSFER), 2);
        assert_ptr_equal(rig->ranges[0].owner, primary.driver);
        use(rig, &primary);
        rig_destroy_object(rig, &filler);
        rig_destroy_object(rig, &primary);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_outlives_its_lock_until_another_allocation_needs_it),
        cmocka_unit_test(an_allocation_without_a_range_is_seen_in_system_memory),
        cmocka_unit_test(a_refusal_says_whether_another_range_would_do),
        cmocka_unit_test(rule_SWZ_004_is_told_when_a_release_fails),
        cmocka_unit_test(an_alternate_address_is_set_up_again_when_the_allocation_comes_back),
    };

    return cmocka_run_group_tests_name("vidmm/alternate_va", tests, NULL, NULL);
}
