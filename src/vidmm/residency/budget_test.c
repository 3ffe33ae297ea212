/* Budgets: accounting, requests that are refused, trim requests, who is demoted. */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/budget.h"

static struct vidmm_budget_info info_of(const struct rig *rig)
{
    struct vidmm_budget_info info;

    vidmm_budget_info(rig->process, VIDMM_BUDGET_LOCAL, &info);
    return info;
}

static struct rig *rig_of_256_pages(void)
{
    struct rig_config config = rig_model(2);

    config.keeps_tables_in_system = true;
    return rig_create(&config);
}

static void what_is_resident_and_held_is_counted(void **state)
{
    struct rig *rig = rig_of_256_pages();
    struct rig_object first, second;

    rig_object(rig, 64, 1, &first);
    rig_object(rig, 32, 1, &second);
    assert_int_equal(info_of(rig).resident, 0);
    rig_make_resident(rig, &first);
    rig_make_resident(rig, &second);
    assert_int_equal(info_of(rig).resident, 96 * PAGE_BYTES);
    assert_int_equal(info_of(rig).held, 96 * PAGE_BYTES);
    rig_evict(rig, &first);
    assert_int_equal(info_of(rig).resident, 96 * PAGE_BYTES);
    assert_int_equal(info_of(rig).held, 32 * PAGE_BYTES);
    rig_destroy_object(rig, &first);
    rig_destroy_object(rig, &second);
    rig_drain(rig);
    assert_int_equal(info_of(rig).resident, 0);
    rig_free(rig);
}

/* It goes, to make room, until its packet has run: the process does not hold it any more. */
static void what_is_leaving_is_not_held(void **state)
{
    struct rig *rig = rig_of_256_pages();
    struct rig_object first, second;
    struct rig_done done = {0};
    uint64_t fence;

    rig_object(rig, 200, 1, &first);
    rig_object(rig, 100, 1, &second);
    rig_make_resident(rig, &first);
    rig_evict(rig, &first);
    assert_int_equal(info_of(rig).held, 0);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &second.allocation, rig_done, &done, &fence),
        STATUS_PENDING);
    assert_int_equal(rig->eviction_count, 1);
    assert_int_equal(done.calls, 0);
    assert_int_equal(info_of(rig).held, info_of(rig).resident - 200 * PAGE_BYTES);
    rig_drain(rig);
    second.references = 1;
    assert_int_equal(info_of(rig).held, 100 * PAGE_BYTES);
    rig_destroy_object(rig, &first);
    rig_destroy_object(rig, &second);
    rig_free(rig);
}

static void a_request_over_the_budget_is_told_how_much_to_trim(void **state)
{
    struct rig *rig = rig_of_256_pages();
    struct rig_object first, second;
    struct rig_done done = {0};
    uint64_t fence, trim;

    rig_object(rig, 64, 1, &first);
    rig_object(rig, 64, 1, &second);
    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 64 * PAGE_BYTES); /* all of it is used */
    assert_int_equal(vidmm_make_resident_in_budget(rig->device, 1, &first.allocation, rig_done,
                                                   &done, &fence, &trim),
                     STATUS_PENDING);
    rig_drain(rig);
    first.references = 1;
    assert_int_equal(vidmm_make_resident_in_budget(rig->device, 1, &second.allocation, rig_done,
                                                   &done, &fence, &trim),
                     STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_int_equal(trim, 64 * PAGE_BYTES);
    assert_true(done.calls == 1 && fence == 0);
    rig_evict(rig, &first); /* it is still resident, but can go */
    assert_int_equal(vidmm_make_resident_in_budget(rig->device, 1, &second.allocation, rig_done,
                                                   &done, &fence, &trim),
                     STATUS_PENDING);
    rig_drain(rig);
    second.references = 1;
    assert_int_equal(rig->trim_count, 0);
    rig_destroy_object(rig, &first);
    rig_destroy_object(rig, &second);
    rig_free(rig);
}

static void whoever_gets_over_the_budget_is_asked_to_trim_once(void **state)
{
    struct rig *rig = rig_of_256_pages();
    struct rig_object objects[3];

    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 100 * PAGE_BYTES);
    for (unsigned i = 0; i < 3; i++) {
        rig_object(rig, 64, 1, &objects[i]);
        rig_make_resident(rig, &objects[i]); /* cannot trim */
        assert_int_equal(rig->trim_count, i > 0);
    }
    assert_int_equal(rig->last_trim_bytes, 28 * PAGE_BYTES);
    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 64 * PAGE_BYTES); /* at any time */
    assert_int_equal(rig->trim_count, 2);
    assert_int_equal(rig->last_trim_bytes, 128 * PAGE_BYTES);
    rig_evict(rig, &objects[0]);
    rig_evict(rig, &objects[1]);
    rig_make_resident(rig, &objects[1]); /* over it again */
    assert_int_equal(rig->trim_count, 3);
    for (unsigned i = 0; i < 3; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

/* While a better place is looked for both places count, and then the one that is not better goes.
 */
static void whoever_gets_over_the_budget_behind_a_move_is_asked_again(void **state)
{
    struct rig *rig = rig_of_256_pages();
    struct rig_object object;
    unsigned asked;

    rig_object(rig, 80, 1, &object);
    rig_make_resident(rig, &object);
    rig_evict(rig, &object);
    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 64 * PAGE_BYTES);
    assert_int_equal(vidmm_move(object.allocation, 1), STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_int_equal(info_of(rig).held, 0);
    asked = rig->trim_count;
    rig_make_resident(rig, &object);
    assert_int_equal(info_of(rig).held, 80 * PAGE_BYTES);
    assert_int_equal(rig->trim_count, asked + 1);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void who_is_over_the_budget_is_demoted_before_all_others(void **state)
{
    struct rig *rig = rig_of_256_pages();
    struct rig_object first, second, more;
    struct vidmm_process *other;
    struct vidmm_device *device;
    const struct rig_request request = {
        .bytes = 100 * PAGE_BYTES, .preferred = {1}, .priority = 0xc8000000};

    assert_int_equal(vidmm_process_create(rig->vidmm, &other), STATUS_SUCCESS);
    assert_int_equal(vidmm_device_create(other, &device), STATUS_SUCCESS);
    rig_object(rig, 100, 1, &first); /* longest unused, lower priority */
    assert_int_equal(rig_try_object(rig, device, &request, &second), STATUS_SUCCESS);
    rig_make_resident(rig, &first);
    rig_make_resident(rig, &second);
    rig_evict(rig, &first);
    rig_evict(rig, &second);
    vidmm_set_budget(other, VIDMM_BUDGET_LOCAL, 99 * PAGE_BYTES);
    rig_object(rig, 100, 1, &more);
    rig_make_resident(rig, &more);
    assert_ptr_equal(rig->last_evicted, second.allocation);
    rig_destroy_object(rig, &first);
    rig_destroy_object(rig, &second);
    rig_destroy_object(rig, &more);
    rig_drain(rig);
    vidmm_device_destroy(device);
    vidmm_process_destroy(other);
    rig_free(rig);
}

/* Memory that nobody holds goes, or its class changes: the process holds nothing, before and after.
 */
static void nobody_is_asked_to_trim_what_is_not_held(void **state)
{
    struct rig *rig = rig_of_256_pages();
    struct vidmm_process *other;
    struct vidmm_device *device;
    const struct rig_request request = {.bytes = 200 * PAGE_BYTES, .preferred = {1}};
    struct rig_object object, more;

    assert_int_equal(vidmm_process_create(rig->vidmm, &other), STATUS_SUCCESS);
    assert_int_equal(vidmm_device_create(other, &device), STATUS_SUCCESS);
    rig_object(rig, 80, 1, &object);
    rig_make_resident(rig, &object);
    rig_evict(rig, &object);
    vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 64 * PAGE_BYTES);
    assert_int_equal(vidmm_set_priority(object.allocation, 0xc8000000), STATUS_SUCCESS);
    assert_int_equal(rig_try_object(rig, device, &request, &more), STATUS_SUCCESS);
    rig_make_resident(rig, &more);
    assert_ptr_equal(rig->last_evicted, object.allocation);
    assert_int_equal(rig->trim_count, 0);
    rig_destroy_object(rig, &object);
    rig_destroy_object(rig, &more);
    rig_drain(rig);
    vidmm_device_destroy(device);
    vidmm_process_destroy(other);
    rig_free(rig);
}

/* The group that the descriptor's flags name comes first, then the kind of the segment. */
static void the_group_of_a_segment_is_what_its_flags_say(void **state)
{
    static const DXGK_SEGMENTFLAGS none = {0}, local = {.LocalBudgetGroup = 1},
                                   other = {.NonLocalBudgetGroup = 1},
                                   target = {.ApplicationTarget = 1};
    static const struct {
        enum segment_kind kind;
        const DXGK_SEGMENTFLAGS *flags;
        enum vidmm_budget_group group;
    } rows[] = {
        {SEGMENT_CONTIGUOUS, &none, VIDMM_BUDGET_LOCAL},
        {SEGMENT_PAGES, &none, VIDMM_BUDGET_LOCAL},
        {SEGMENT_APERTURE, &none, VIDMM_BUDGET_NON_LOCAL},
        {SEGMENT_PAGES, &other, VIDMM_BUDGET_NON_LOCAL},
        {SEGMENT_CONTIGUOUS, &other, VIDMM_BUDGET_NON_LOCAL},
        {SEGMENT_APERTURE, &local, VIDMM_BUDGET_LOCAL},
        {SEGMENT_APERTURE, &target, VIDMM_BUDGET_LOCAL},
        {SEGMENT_SYSTEM, NULL, VIDMM_BUDGET_NON_LOCAL},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct vidmm_segment_caps caps = {.flags = rows[i].flags ? rows[i].flags->Value : 0};
        struct segment segment = {.kind = rows[i].kind, .caps = rows[i].flags ? &caps : NULL};

        assert_int_equal(budget_group_of(&segment), rows[i].group);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_group_of_a_segment_is_what_its_flags_say),
        cmocka_unit_test(what_is_resident_and_held_is_counted),
        cmocka_unit_test(what_is_leaving_is_not_held),
        cmocka_unit_test(a_request_over_the_budget_is_told_how_much_to_trim),
        cmocka_unit_test(whoever_gets_over_the_budget_is_asked_to_trim_once),
        cmocka_unit_test(whoever_gets_over_the_budget_behind_a_move_is_asked_again),
        cmocka_unit_test(nobody_is_asked_to_trim_what_is_not_held),
        cmocka_unit_test(who_is_over_the_budget_is_demoted_before_all_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
