/*
 * Offer and reclaim: who is dropped and when, what comes back, references, priorities that change.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

static void offer(struct rig *rig, struct rig_object *object, enum vidmm_offer_priority priority)
{
    assert_int_equal(vidmm_offer(rig->device, 1, &object->allocation, priority), STATUS_SUCCESS);
}

/* Waits for what has to be paged in. */
static enum vidmm_reclaim_result reclaim(struct rig *rig, struct rig_object *object)
{
    enum vidmm_reclaim_result result = VIDMM_RECLAIM_NOT_COMMITTED;
    struct rig_done done = {0};
    uint64_t fence;
    NTSTATUS status =
        vidmm_reclaim(rig->device, 1, &object->allocation, &result, rig_done, &done, &fence);

    assert_true(status == STATUS_SUCCESS || status == STATUS_PENDING);
    assert_true((status == STATUS_PENDING) == (fence != 0));
    rig_drain(rig);
    assert_int_equal(done.calls, status == STATUS_PENDING);
    assert_true(NT_SUCCESS(done.status));
    return result;
}

/* The GPU uses it, and nobody keeps it afterwards, in whichever model. */
static void use_once(struct rig *rig, struct rig_object *object)
{
    if (rig->config.is_virtual && !object->va)
        rig_map(rig, object);
    if (rig->config.is_virtual)
        rig_make_resident(rig, object);
    rig_gpu(rig, object, 8);
    if (rig->config.is_virtual)
        rig_evict(rig, object);
}

static struct rig *rig_of_256_pages(unsigned model)
{
    struct rig_config config = rig_model(model);

    config.keeps_tables_in_system = true;
    return rig_create(&config);
}

static void offered_ones_are_dropped_first_low_before_normal_before_high(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        static const enum vidmm_offer_priority priorities[] = {VIDMM_OFFER_HIGH, VIDMM_OFFER_LOW,
                                                               VIDMM_OFFER_NORMAL};
        static const unsigned order[] = {1, 2, 0};
        struct rig *rig = rig_of_256_pages(model);
        struct rig_object kept, offered[3], more[4];

        rig_object(rig, 64, 1, &kept); /* longest unused, and last to go */
        use_once(rig, &kept);
        for (unsigned i = 0; i < 3; i++) {
            rig_object(rig, 64, 1, &offered[i]);
            use_once(rig, &offered[i]);
        }
        for (unsigned i = 0; i < 3; i++)
            offer(rig, &offered[i], priorities[i]);
        for (unsigned i = 0; i < 4; i++) {
            uint64_t moved_out = vidmm_statistics(rig->vidmm)->moved_out_bytes;

            rig_object(rig, 64, 1, &more[i]);
            use_once(rig, &more[i]);
            assert_ptr_equal(rig->last_evicted,
                             i < 3 ? offered[order[i]].allocation : kept.allocation);
            assert_int_equal(vidmm_statistics(rig->vidmm)->moved_out_bytes - moved_out,
                             i < 3 ? 0 : 64 * PAGE_BYTES); /* OFFER-001 */
        }
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(reclaim(rig, &offered[i]), VIDMM_RECLAIM_DISCARDED);
            assert_false(offered[i].allocation->has_content);
            rig_destroy_object(rig, &offered[i]);
        }
        for (unsigned i = 0; i < 4; i++)
            rig_destroy_object(rig, &more[i]);
        rig_destroy_object(rig, &kept);
        rig_free(rig);
    }
}

static void what_is_reclaimed_in_time_is_as_it_was(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig *rig = rig_of_256_pages(model);
        struct rig_object object, other;

        rig_object(rig, 100, 1, &object);
        use_once(rig, &object);
        offer(rig, &object, VIDMM_OFFER_LOW);
        assert_int_equal(vidmm_offer(rig->device, 1, &object.allocation, VIDMM_OFFER_LOW),
                         STATUS_INVALID_PARAMETER);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE);
        assert_int_equal(reclaim(rig, &object), VIDMM_RECLAIM_OK);
        rig_object(rig, 100, 1, &other);
        use_once(rig, &other);
        rig_cpu(rig, &object, false); /* checks what was written */
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &other);
        rig_free(rig);
    }
}

static void an_offer_waits_for_the_work_that_was_submitted_before(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig *rig = rig_of_256_pages(model);
        struct rig_done used = {0}, resident = {0};
        struct rig_object first, second, *objects[1] = {&first};
        uint64_t fence;

        rig_object(rig, 200, 1, &first);
        rig_object(rig, 200, 1, &second);
        rig_map(rig, &first);
        rig_make_resident(rig, &first);
        assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 8, rig_done, &used),
                         STATUS_SUCCESS);
        offer(rig, &first, VIDMM_OFFER_LOW);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &second.allocation, rig_done, &resident, &fence),
            STATUS_PENDING);
        assert_int_equal(rig->eviction_count, 0);
        rig_drain(rig);
        assert_true(used.calls == 1 && resident.calls == 1 && rig->eviction_count == 1);
        second.references = 1;
        rig_destroy_object(rig, &second);
        assert_int_equal(reclaim(rig, &first), VIDMM_RECLAIM_DISCARDED);
        assert_true(vidmm_allocation_is_resident(first.allocation)); /* OFFER-004 */
        assert_int_equal(first.allocation->holds, 1);
        rig_destroy_object(rig, &first);
        rig_free(rig);
    }
}

/* Empty when it is offered, written by work that was submitted before, then dropped. */
static void what_earlier_work_wrote_into_an_empty_one_is_lost_with_it(void **state)
{
    struct rig *rig = rig_of_256_pages(0);
    struct rig_object first, second, *objects[1] = {&first};
    struct rig_done used = {0};

    rig_object(rig, 200, 1, &first);
    rig_object(rig, 200, 1, &second);
    rig_gpu(rig, &second, 8); /* has to leave before the next one can enter */
    assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 8, rig_done, &used), STATUS_SUCCESS);
    assert_int_equal(first.allocation->state, ALLOCATION_EMPTY);
    offer(rig, &first, VIDMM_OFFER_LOW);
    rig_drain(rig);
    assert_int_equal(used.calls, 1);
    use_once(rig, &second);
    assert_int_equal(rig->eviction_count, 2);
    assert_int_equal(reclaim(rig, &first), VIDMM_RECLAIM_DISCARDED);
    rig_destroy_object(rig, &first);
    rig_destroy_object(rig, &second);
    rig_free(rig);
}

static void references_are_put_aside_and_come_back(void **state)
{
    struct rig *rig = rig_of_256_pages(2);
    struct rig_object object;

    rig_object(rig, 64, 1, &object);
    rig_make_resident(rig, &object);
    rig_make_resident(rig, &object);
    offer(rig, &object, VIDMM_OFFER_NORMAL);
    assert_true(object.allocation->holds == 0 && object.allocation->offered_holds == 2);
    vidmm_evict(rig->device, 1, &object.allocation);
    object.references--;
    assert_int_equal(reclaim(rig, &object), VIDMM_RECLAIM_OK);
    assert_true(object.allocation->holds == 1 && object.allocation->offered_holds == 0);

    offer(rig, &object, VIDMM_OFFER_NORMAL); /* destroyed while it is offered */
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static void a_locked_allocation_and_one_with_a_request_are_busy(void **state)
{
    struct rig *rig = rig_of_256_pages(2);
    struct rig_done done = {0};
    struct rig_object objects[2];
    struct vidmm_allocation *both[2];
    uint64_t fence;

    for (unsigned i = 0; i < 2; i++) {
        rig_object(rig, 64, 1, &objects[i]);
        both[i] = objects[i].allocation;
    }
    assert_int_equal(vidmm_lock(both[1]), STATUS_SUCCESS);
    assert_int_equal(vidmm_offer(rig->device, 2, both, VIDMM_OFFER_LOW),
                     STATUS_GRAPHICS_ALLOCATION_BUSY);
    assert_false(both[0]->is_offered); /* all or none */
    vidmm_unlock(both[1]);
    assert_int_equal(vidmm_make_resident(rig->device, 1, both, rig_done, &done, &fence),
                     STATUS_PENDING);
    assert_int_equal(vidmm_offer(rig->device, 2, both, VIDMM_OFFER_LOW),
                     STATUS_GRAPHICS_ALLOCATION_BUSY);
    rig_drain(rig);
    objects[0].references = 1;
    assert_int_equal(vidmm_offer(rig->device, 2, both, VIDMM_OFFER_LOW), STATUS_SUCCESS);
    assert_int_equal(vidmm_make_resident(rig->device, 1, both, rig_done, &done, &fence),
                     STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE);
    for (unsigned i = 0; i < 2; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

/* What is in local memory goes out to system memory. */
static void make_others_leave(struct rig *rig)
{
    struct rig_object large;

    rig_object(rig, 256, 1, &large);
    rig_make_resident(rig, &large);
    rig_evict(rig, &large);
    rig_destroy_object(rig, &large);
    rig_drain(rig);
}

static void system_pages_of_offered_ones_go_when_there_are_no_others(void **state)
{
    struct rig *rig = rig_of_256_pages(2);
    enum vidmm_reclaim_result result;
    struct rig_done done = {0};
    struct rig_object out, locked;
    uint64_t fence;

    rig_object(rig, 64, 1, &out);
    use_once(rig, &out);
    make_others_leave(rig);
    assert_non_null(out.allocation->mdl);
    offer(rig, &out, VIDMM_OFFER_HIGH);

    rig_object(rig, 64, 1, &locked);
    rig->fail_pages_at = 1;
    assert_int_equal(vidmm_lock(locked.allocation), STATUS_SUCCESS); /* with pages of out */
    assert_null(out.allocation->mdl);
    vidmm_unlock(locked.allocation);
    rig->fail_pages_at = 1;
    assert_int_equal(
        vidmm_reclaim(rig->device, 1, &out.allocation, &result, rig_done, &done, &fence),
        STATUS_SUCCESS);
    assert_int_equal(result, VIDMM_RECLAIM_NOT_COMMITTED);
    assert_true(out.allocation->is_offered);
    rig->fail_pages_at = 0;
    assert_int_equal(reclaim(rig, &out), VIDMM_RECLAIM_DISCARDED);
    assert_false(out.allocation->is_offered);
    rig_destroy_object(rig, &out);
    rig_destroy_object(rig, &locked);
    rig_free(rig);
}

static void a_priority_that_changes_changes_who_leaves_first(void **state)
{
    struct rig *rig = rig_of_256_pages(2);
    struct rig_object first, second, more;

    rig_object(rig, 128, 1, &first);
    rig_object(rig, 128, 1, &second);
    rig_make_resident(rig, &first);
    rig_make_resident(rig, &second);
    rig_evict(rig, &first);
    rig_evict(rig, &second);
    assert_int_equal(vidmm_set_priority(second.allocation, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(vidmm_set_priority(second.allocation, 0x28000000), STATUS_SUCCESS);
    rig_object(rig, 128, 1, &more);
    rig_make_resident(rig, &more);
    assert_ptr_equal(rig->last_evicted, second.allocation);
    rig_destroy_object(rig, &first);
    rig_destroy_object(rig, &second);
    rig_destroy_object(rig, &more);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offered_ones_are_dropped_first_low_before_normal_before_high),
        cmocka_unit_test(what_is_reclaimed_in_time_is_as_it_was),
        cmocka_unit_test(an_offer_waits_for_the_work_that_was_submitted_before),
        cmocka_unit_test(what_earlier_work_wrote_into_an_empty_one_is_lost_with_it),
        cmocka_unit_test(references_are_put_aside_and_come_back),
        cmocka_unit_test(a_locked_allocation_and_one_with_a_request_are_busy),
        cmocka_unit_test(system_pages_of_offered_ones_go_when_there_are_no_others),
        cmocka_unit_test(a_priority_that_changes_changes_who_leaves_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
