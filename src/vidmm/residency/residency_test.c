/* Residency: requests, who leaves first, what waits for whom, locks, the end of things in use. */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/list.h"
#include "base/rng.h"

/* Both used by one submission, which may fail; GpuMmu: both made resident, and given up again. */
static void rig_together(struct rig *rig, struct rig_object **objects, unsigned count,
                         struct rig_done *done)
{
    struct vidmm_allocation *allocations[3];
    uint64_t fence;

    assert_true(count <= ARRAY_COUNT(allocations));
    *done = (struct rig_done){0};
    for (unsigned i = 0; i < count; i++)
        allocations[i] = objects[i]->allocation;
    if (rig->config.is_virtual)
        assert_int_equal(
            vidmm_make_resident(rig->device, count, allocations, rig_done, done, &fence),
            STATUS_PENDING);
    else
        assert_int_equal(rig_gpu_in(rig, rig->context, objects, count, 4, rig_done, done),
                         STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(done->calls, 1);
    if (rig->config.is_virtual && NT_SUCCESS(done->status))
        vidmm_evict(rig->device, count, allocations);
}

/* ---- Requests (GpuMmu) ---- */

static void make_resident_succeeds_at_once_pends_or_fails_with_sizes(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_done done = {0};
    struct rig_object small, large, huge;
    struct vidmm_allocation *both[2];
    struct rig *rig;
    uint64_t fence;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config); /* 256 pages */
    rig_object(rig, 100, 1, &small);
    rig_object(rig, 200, 1, &large);
    rig_object(rig, 257, 1, &huge);
    both[0] = small.allocation;
    both[1] = large.allocation;

    assert_int_equal(vidmm_make_resident(rig->device, 1, both, rig_done, &done, &fence),
                     STATUS_PENDING);
    assert_int_equal(fence, 1);
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    assert_int_equal(vidmm_make_resident(rig->device, 1, both, rig_done, &done, &fence),
                     STATUS_SUCCESS);
    assert_true(fence == 0 && done.calls == 1);

    assert_int_equal(vidmm_make_resident(rig->device, 2, both, rig_done, &done, &fence),
                     STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(done.calls, 2);
    assert_int_equal(done.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_int_equal(done.needed, 300 * PAGE_BYTES);
    assert_int_equal(done.available, 256 * PAGE_BYTES);
    assert_int_equal(small.allocation->holds, 2); /* its references of before, and no more */
    assert_int_equal(large.allocation->holds, 0);

    assert_int_equal(vidmm_make_resident(rig->device, 1, &huge.allocation, rig_done, &done, &fence),
                     STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(done.calls, 3);
    assert_int_equal(done.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_int_equal(done.needed, 257 * PAGE_BYTES);
    small.references = 2;
    rig_destroy_object(rig, &small);
    rig_destroy_object(rig, &large);
    rig_destroy_object(rig, &huge);
    rig_free(rig);
}

static void a_device_whose_residency_must_succeed_is_in_error_when_it_does_not(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_done done = {0};
    struct rig_object small, huge, *objects[1] = {&small};
    struct rig *rig;
    uint64_t fence;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config); /* 256 pages */
    rig_object(rig, 100, 1, &small);
    rig_object(rig, 257, 1, &huge);
    rig_map(rig, &small);
    assert_int_equal(
        vidmm_make_resident_or_fail(rig->device, 1, &small.allocation, rig_done, &done, &fence),
        STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(done.status, STATUS_SUCCESS);
    assert_false(vidmm_device_is_in_error(rig->device));
    small.references = 1;

    assert_int_equal(vidmm_make_resident(rig->device, 1, &huge.allocation, rig_done, &done, &fence),
                     STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(done.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_false(vidmm_device_is_in_error(rig->device));

    assert_int_equal(
        vidmm_make_resident_or_fail(rig->device, 1, &huge.allocation, rig_done, &done, &fence),
        STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(done.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_true(vidmm_device_is_in_error(rig->device));
    assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 4, rig_done, &done),
                     STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
    vidmm_device_clear_error(rig->device);

    failing_services_fail_at(&rig->memory, 1);
    assert_int_equal(
        vidmm_make_resident_or_fail(rig->device, 1, &huge.allocation, rig_done, &done, &fence),
        STATUS_NO_MEMORY);
    assert_true(vidmm_device_is_in_error(rig->device));
    vidmm_device_clear_error(rig->device);
    rig_gpu(rig, &small, 4);
    rig_destroy_object(rig, &small);
    rig_destroy_object(rig, &huge);
    rig_free(rig);
}

/* What a list's references do to the order in which allocations leave, as if each stood alone. */
struct lru_model {
    struct vidmm_allocation *order[16];
    unsigned count;
    unsigned holds[16];
};

static void model_refer(struct lru_model *model, const struct rig_object *objects, unsigned number,
                        bool is_held)
{
    struct vidmm_allocation *allocation = objects[number].allocation;
    unsigned kept = 0;

    if (is_held ? model->holds[number]++ : --model->holds[number])
        return;
    for (unsigned i = 0; i < model->count; i++) {
        if (model->order[i] != allocation)
            model->order[kept++] = model->order[i];
    }
    model->count = kept;
    if (!is_held)
        model->order[model->count++] = allocation;
}

static void assert_leaves_in_order(const struct rig *rig, const struct lru_model *model,
                                   const struct segment *segment)
{
    const struct vidmm_allocation *allocation;
    struct vidmm_budget_info info;
    uint64_t held = 0;
    unsigned at = 0;

    for (unsigned class = 0; class < VICTIM_CLASSES; class ++) {
        list_for_each (allocation, &segment->lru[class], struct vidmm_allocation, link)
            assert_ptr_equal(allocation, model->order[at++]);
    }
    assert_int_equal(at, model->count);
    for (unsigned i = 0; i < ARRAY_COUNT(model->holds); i++)
        held += model->holds[i] ? (1 + i) * PAGE_BYTES : 0;
    vidmm_budget_info(rig->process, VIDMM_BUDGET_LOCAL, &info);
    assert_int_equal(info.held, held);
    assert_true(vidmm_check(rig->vidmm));
}

static void random_lists_leave_in_the_order_of_single_references(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_object objects[16];
    unsigned lists[8][6], counts[8] = {0};
    struct lru_model model = {.count = 0};
    struct segment *segment;
    struct rng rng;
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config); /* 256 pages */
    rng_init(&rng, 5);
    for (unsigned i = 0; i < ARRAY_COUNT(objects); i++) {
        rig_object(rig, 1 + i, 1, &objects[i]);
        rig_make_resident(rig, &objects[i]);
        rig_evict(rig, &objects[i]);
        model.order[model.count++] = objects[i].allocation;
    }
    segment = objects[0].allocation->place.segment;
    for (unsigned step = 0; step < 2000; step++) {
        unsigned list = (unsigned)rng_below(&rng, ARRAY_COUNT(counts));
        struct vidmm_allocation *allocations[6];
        bool is_held = counts[list] == 0;
        struct rig_done done = {0};
        uint64_t fence;

        if (step == 1000) /* sums are for processes without limits */
            vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 256 * PAGE_BYTES);
        if (is_held)
            counts[list] = (unsigned)rng_between(&rng, 1, ARRAY_COUNT(allocations));
        for (unsigned i = 0; i < counts[list]; i++) {
            if (is_held)
                lists[list][i] = (unsigned)rng_below(&rng, ARRAY_COUNT(objects));
            allocations[i] = objects[lists[list][i]].allocation;
            model_refer(&model, objects, lists[list][i], is_held);
        }
        if (is_held) {
            assert_int_equal(vidmm_make_resident(rig->device, counts[list], allocations, rig_done,
                                                 &done, &fence),
                             STATUS_SUCCESS);
        } else {
            vidmm_evict(rig->device, counts[list], allocations);
            counts[list] = 0;
        }
        assert_leaves_in_order(rig, &model, segment);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(objects); i++) {
        objects[i].references = model.holds[i];
        rig_destroy_object(rig, &objects[i]);
    }
    rig_free(rig);
}

/* Physical: nothing has to be brought in, so that no request stands in line, and nothing pages. */
static void random_packets_of_what_is_resident_are_with_the_driver_at_once(void **state)
{
    struct rig_config config = rig_model(0);
    struct rig *rig = rig_create(&config);
    struct lru_model model = {.count = 0};
    struct rig_object objects[16];
    struct rng rng;

    rng_init(&rng, 6);
    for (unsigned i = 0; i < ARRAY_COUNT(objects); i++) {
        rig_object(rig, 1 + i % 4, 1, &objects[i]);
        rig_gpu(rig, &objects[i], 1);
        model.order[model.count++] = objects[i].allocation;
    }
    for (unsigned step = 0; step < 500; step++) {
        unsigned numbers[6], count = 1 + (unsigned)rng_below(&rng, ARRAY_COUNT(numbers));
        struct rig_object *listed[6];
        struct rig_done done = {0};

        if (step == 250) /* sums are for processes without limits */
            vidmm_set_budget(rig->process, VIDMM_BUDGET_LOCAL, 256 * PAGE_BYTES);
        for (unsigned i = 0; i < count; i++) {
            numbers[i] = (unsigned)rng_below(&rng, ARRAY_COUNT(objects));
            listed[i] = &objects[numbers[i]];
            model_refer(&model, objects, numbers[i], true);
        }
        assert_int_equal(rig_gpu_in(rig, rig->context, listed, count, 8, rig_done, &done),
                         STATUS_SUCCESS);
        assert_true(list_is_empty(&rig->vidmm->requests) && !list_is_empty(&rig->queued[0]));
        assert_true(list_is_empty(&rig->queued[1])); /* no paging */
        for (unsigned i = 0; i < count; i++)
            assert_true(listed[i]->allocation->holds);
        rig_drain(rig);
        assert_int_equal(done.calls, 1);
        for (unsigned i = 0; i < count; i++)
            model_refer(&model, objects, numbers[i], false);
        assert_leaves_in_order(rig, &model, objects[0].allocation->place.segment);
    }
    for (unsigned i = 0; i < ARRAY_COUNT(objects); i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

/* Neighbours in a list are of one device, but not of one segment. */
static void a_list_of_two_segments_counts_for_both_budgets(void **state)
{
    struct rig_config config = rig_model(2);
    struct vidmm_allocation *list[3];
    struct rig_object objects[3];
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    for (unsigned i = 0; i < 3; i++) { /* the second one is in the aperture */
        rig_object(rig, 5 + i, i == 1 ? rig->segment_count : 1, &objects[i]);
        rig_make_resident(rig, &objects[i]);
        rig_evict(rig, &objects[i]);
        list[i] = objects[i].allocation;
    }
    for (unsigned round = 0; round < 2; round++) {
        bool is_held = round == 0;
        struct vidmm_budget_info local, other;
        struct rig_done done = {0};
        uint64_t fence;

        if (is_held)
            assert_int_equal(vidmm_make_resident(rig->device, 3, list, rig_done, &done, &fence),
                             STATUS_SUCCESS);
        else
            vidmm_evict(rig->device, 3, list);
        vidmm_budget_info(rig->process, VIDMM_BUDGET_LOCAL, &local);
        vidmm_budget_info(rig->process, VIDMM_BUDGET_NON_LOCAL, &other);
        assert_int_equal(local.held, is_held * (5 + 7) * PAGE_BYTES);
        assert_int_equal(other.held, is_held * 6 * PAGE_BYTES);
        assert_true(vidmm_check(rig->vidmm));
    }
    for (unsigned i = 0; i < 3; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

static void the_least_recently_used_of_the_lowest_priority_leaves_first(void **state)
{
    struct rig_config config = rig_model(2);
    static const uint32_t priorities[] = {0x78000000, 0x50000000, 0x78000000, 0x50000000};
    static const unsigned order[] = {1, 3, 2, 0};
    struct rig_object objects[4], more[4];
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    for (unsigned i = 0; i < 4; i++) {
        struct rig_request request = {
            .bytes = 64 * PAGE_BYTES, .preferred = {1}, .priority = priorities[i]};

        assert_int_equal(rig_try_object(rig, rig->device, &request, &objects[i]), STATUS_SUCCESS);
        rig_make_resident(rig, &objects[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        rig_evict(rig, &objects[i]);
    rig_make_resident(rig, &objects[0]); /* used again: behind the third */
    rig_evict(rig, &objects[0]);
    for (unsigned i = 0; i < 4; i++) {
        rig_object(rig, 64, 1, &more[i]);
        rig_make_resident(rig, &more[i]);
        assert_int_equal(rig->eviction_count, i + 1);
        assert_ptr_equal(rig->last_evicted, objects[order[i]].allocation);
    }
    for (unsigned i = 0; i < 4; i++) {
        rig_destroy_object(rig, &objects[i]);
        rig_destroy_object(rig, &more[i]);
    }
    rig_free(rig);
}

static void what_work_in_flight_may_use_stays(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_done used = {0}, resident = {0};
        struct rig_object first, second, *objects[1] = {&first};
        struct rig *rig;
        uint64_t fence;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config);
        rig_object(rig, 200, 1, &first);
        rig_object(rig, 200, 1, &second);
        rig_map(rig, &first);
        rig_make_resident(rig, &first);
        assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 8, rig_done, &used),
                         STATUS_SUCCESS);
        assert_int_equal(vidmm_lock(first.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        rig_evict(rig, &first);
        assert_int_equal(vidmm_lock(first.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &second.allocation, rig_done, &resident, &fence),
            STATUS_PENDING);
        assert_int_equal(rig->eviction_count, 0);
        assert_true(list_is_empty(&rig->queued[1])); /* no paging */
        rig_drain(rig);
        assert_true(used.calls == 1 && resident.calls == 1 && rig->eviction_count == 1);
        assert_false(vidmm_allocation_is_resident(first.allocation));
        rig_cpu(rig, &first, false);
        second.references = 1;
        rig_destroy_object(rig, &first);
        rig_destroy_object(rig, &second);
        rig_free(rig);
    }
}

static void a_destroyed_allocation_goes_when_its_work_and_its_references_have(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig *rig = rig_create(&config);
        struct rig_done done = {0};
        struct rig_object object, *objects[1] = {&object};

        rig_object(rig, 70, 1, &object);
        rig_map(rig, &object);
        rig_make_resident(rig, &object);
        assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 8, rig_done, &done),
                         STATUS_SUCCESS);
        vidmm_allocation_destroy(object.allocation);
        while (rig_step_machine(rig))
            ;
        assert_true(done.calls == 1 && rig->live_handles == 2);
        assert_false(vidmm_is_idle(rig->vidmm));
        assert_true(vidmm_check(rig->vidmm));
        vidmm_evict(rig->device, 1, &object.allocation);
        rig_drain(rig);
        assert_int_equal(rig->live_handles, 0);
        rig_free(rig);
    }
}

static void what_is_destroyed_is_refused(void **state)
{
    struct rig_config config = rig_model(1);
    struct rig *rig = rig_create(&config);
    struct rig_object object;
    uint64_t value = 0;

    rig_object(rig, 8, 1, &object);
    rig_make_resident(rig, &object);
    vidmm_allocation_destroy(object.allocation);
    assert_int_equal(vidmm_forecast_uses(object.allocation, 1, &value), STATUS_INVALID_HANDLE);
    assert_int_equal(vidmm_lock(object.allocation), STATUS_INVALID_HANDLE);
    assert_int_equal(vidmm_make_resident(rig->device, 1, &object.allocation, NULL, NULL, &value),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(vidmm_map_gpu_va(rig->process,
                                      &(struct vidmm_map_request){.allocation = object.allocation,
                                                                  .bytes = PAGE_BYTES},
                                      &value),
                     STATUS_INVALID_HANDLE);
    vidmm_evict(rig->device, 1, &object.allocation);
    rig_free(rig);
}

static void a_loser_that_was_destroyed_is_not_evicted_once_more(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig_done busy = {0}, lost = {0}, won = {0};
    struct rig_object used, loser, huge, wanted, *objects[1] = {&used};
    struct vidmm_allocation *list[2];
    struct rig *rig;
    uint64_t fence;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    rig_object(rig, 50, 1, &used);
    rig_object(rig, 100, 1, &loser);
    rig_object(rig, 257, 1, &huge);
    rig_object(rig, 200, 1, &wanted);
    rig_map(rig, &used);
    rig_make_resident(rig, &used);
    list[0] = loser.allocation;
    list[1] = huge.allocation;
    assert_int_equal(vidmm_make_resident(rig->device, 2, list, rig_done, &lost, &fence),
                     STATUS_PENDING);
    vidmm_allocation_destroy(loser.allocation);
    rig_drain(rig);
    assert_int_equal(lost.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    assert_int_equal(rig_gpu_in(rig, rig->context, objects, 1, 8, rig_done, &busy), STATUS_SUCCESS);
    rig_destroy_object(rig, &used);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &wanted.allocation, rig_done, &won, &fence),
        STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(won.status, STATUS_SUCCESS);
    assert_int_equal(rig->eviction_count, 0);
    wanted.references = 1;
    rig_destroy_object(rig, &wanted);
    rig_destroy_object(rig, &huge);
    rig_free(rig);
}

static void what_dies_with_a_failed_request_is_no_victim_of_the_next(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_done lost = {0}, won = {0};
        struct rig_object loser, large, next, *list[2] = {&loser, &large}, *one[1] = {&next};
        struct vidmm_allocation *both[2];
        struct rig *rig;
        uint64_t fence;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config); /* 256 pages */
        rig_object(rig, 150, 1, &loser);
        rig_object(rig, 200, 1, &large);
        rig_object(rig, 150, 1, &next);
        both[0] = loser.allocation;
        both[1] = large.allocation;
        if (config.is_virtual) {
            assert_int_equal(vidmm_make_resident(rig->device, 2, both, rig_done, &lost, &fence),
                             STATUS_PENDING);
            assert_int_equal(
                vidmm_make_resident(rig->device, 1, &next.allocation, rig_done, &won, &fence),
                STATUS_PENDING);
            next.references = 1;
        } else {
            assert_int_equal(rig_gpu_in(rig, rig->context, list, 2, 4, rig_done, &lost),
                             STATUS_SUCCESS);
            assert_int_equal(rig_gpu_in(rig, rig->context, one, 1, 4, rig_done, &won),
                             STATUS_SUCCESS);
        }
        vidmm_allocation_destroy(loser.allocation);
        rig_drain(rig);
        assert_int_equal(lost.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
        assert_true(won.calls == 1 && won.status == STATUS_SUCCESS);
        assert_int_equal(rig->eviction_count, 0);
        rig_destroy_object(rig, &large);
        rig_destroy_object(rig, &next);
        rig_free(rig);
    }
}

static void what_is_reached_by_address_is_aligned_and_in_one_piece(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_object objects[4];
        struct rig *rig;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config);
        for (unsigned i = 0; i < 4; i++) {
            struct rig_request request = {.bytes = (3 + i) * PAGE_BYTES,
                                          .preferred = {1},
                                          .is_physical = true,
                                          .alignment = 16 * PAGE_BYTES};
            struct vidmm_allocation *allocation;
            uint64_t offset;

            assert_int_equal(rig_try_object(rig, rig->device, &request, &objects[i]),
                             STATUS_SUCCESS);
            allocation = objects[i].allocation;
            if (config.is_virtual)
                rig_make_resident(rig, &objects[i]);
            else
                rig_gpu(rig, &objects[i], 4);
            assert_int_equal(segment_run(allocation, 0, &offset), 3 + i);
            assert_int_equal(offset % (16 * PAGE_BYTES), 0);
        }
        for (unsigned i = 0; i < 4; i++)
            rig_destroy_object(rig, &objects[i]);
        rig_free(rig);
    }
}

/* Every other unit of 64 KiB is free, and there are more of them than a place has as a rule. */
static void what_lies_in_many_pieces_has_each_unit_that_was_free(void **state)
{
    enum { PIECES = 65, UNIT = 16 /* pages */ };
    struct rig_config config = rig_model(1);
    struct rig_object units[2 * PIECES], whole;
    bool is_used[2 * PIECES] = {false};
    struct rig *rig;

    config.keeps_tables_in_system = true;
    config.has_64kb_pages[0] = true;
    config.segment_pages[0] = 2 * PIECES * UNIT;
    rig = rig_create(&config);
    for (unsigned i = 0; i < 2 * PIECES; i++) {
        rig_object(rig, 1, 1, &units[i]);
        rig_make_resident(rig, &units[i]);
    }
    for (unsigned i = 0; i < 2 * PIECES; i++) {
        uint64_t unit = segment_page_offset(units[i].allocation, 0) / PAGE_BYTES_OF(UNIT);

        is_used[unit] = unit % 2;
        if (!is_used[unit])
            rig_destroy_object(rig, &units[i]);
    }
    rig_object(rig, PIECES * UNIT, 1, &whole);
    rig_make_resident(rig, &whole);
    for (uint64_t page = 0; page < PIECES * UNIT; page++) {
        uint64_t at = segment_page_offset(whole.allocation, page) / PAGE_BYTES;

        assert_int_equal(at % UNIT, page % UNIT);
        if (page % UNIT)
            continue;
        assert_false(is_used[at / UNIT]);
        is_used[at / UNIT] = true;
    }
    for (unsigned i = 0; i < 2 * PIECES; i++) {
        if (units[i].allocation)
            rig_destroy_object(rig, &units[i]);
    }
    rig_destroy_object(rig, &whole);
    rig_free(rig);
}

/* What it still holds of its own lies between two pieces that are both too small. */
static void a_request_that_fits_in_pieces_only_starts_over(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        static const uint64_t pages[] = {100, 40, 180, 217};
        struct rig_object objects[4];
        struct rig_object *together[2], *too_much[2];
        struct rig_done done = {0};
        struct rig *rig;
        uint64_t offset;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config); /* 256 pages */
        for (unsigned i = 0; i < 4; i++) {
            struct rig_request request = {
                .bytes = pages[i] * PAGE_BYTES, .preferred = {1}, .is_physical = true};

            assert_int_equal(rig_try_object(rig, rig->device, &request, &objects[i]),
                             STATUS_SUCCESS);
            if (config.is_virtual)
                rig_map(rig, &objects[i]);
        }
        for (unsigned i = 0; i < 2; i++) {
            if (config.is_virtual)
                rig_make_resident(rig, &objects[i]);
            rig_gpu(rig, &objects[i], 4);
            if (config.is_virtual)
                rig_evict(rig, &objects[i]);
        }
        segment_run(objects[1].allocation, 0, &offset);
        assert_int_equal(offset, 100 * PAGE_BYTES);

        together[0] = &objects[1];
        together[1] = &objects[2];
        rig_together(rig, together, 2, &done);
        assert_int_equal(done.status, STATUS_SUCCESS);
        assert_int_equal(rig->eviction_count, 2);
        assert_int_equal(segment_run(objects[2].allocation, 0, &offset), 180);
        rig_cpu(rig, &objects[1], false);

        /* What does not fit by size either fails as before, and nothing of its own leaves. */
        too_much[0] = &objects[1];
        too_much[1] = &objects[3];
        rig_together(rig, too_much, 2, &done);
        assert_int_equal(done.status, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
        assert_true(vidmm_allocation_is_resident(objects[1].allocation));
        for (unsigned i = 0; i < 4; i++)
            rig_destroy_object(rig, &objects[i]);
        rig_free(rig);
    }
}

/*
 * Holes of 60 and 100 pages beside what is held; 50, 50 and 60 pages fit in them in one order only.
 */
static void a_request_that_starts_over_places_the_largest_first(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        static const uint64_t pages[] = {60, 96, 50, 50, 60};
        struct rig_object objects[5], *first[2], *together[3];
        struct rig_done done = {0};
        struct rig *rig;
        uint64_t offset;

        config.keeps_tables_in_system = true;
        rig = rig_create(&config); /* 256 pages */
        for (unsigned i = 0; i < 5; i++) {
            struct rig_request request = {
                .bytes = pages[i] * PAGE_BYTES, .preferred = {1}, .is_physical = true};

            assert_int_equal(rig_try_object(rig, rig->device, &request, &objects[i]),
                             STATUS_SUCCESS);
            if (config.is_virtual)
                rig_map(rig, &objects[i]);
        }
        first[0] = &objects[0];
        first[1] = &objects[1];
        rig_together(rig, first, 2, &done);
        assert_int_equal(done.status, STATUS_SUCCESS);
        segment_run(objects[1].allocation, 0, &offset);
        assert_int_equal(offset, 60 * PAGE_BYTES);
        rig_lock(rig, &objects[1]);
        rig_destroy_object(rig, &objects[0]);
        rig_drain(rig);

        for (unsigned i = 0; i < 3; i++)
            together[i] = &objects[2 + i];
        rig_together(rig, together, 3, &done);
        assert_int_equal(done.status, STATUS_SUCCESS);
        assert_int_equal(rig->eviction_count, 2); /* of its own: it has started over */
        assert_int_equal(vidmm_statistics(rig->vidmm)->compactions, 0);
        segment_run(objects[4].allocation, 0, &offset);
        assert_int_equal(offset, 0);
        vidmm_unlock(objects[1].allocation);
        for (unsigned i = 1; i < 5; i++)
            rig_destroy_object(rig, &objects[i]);
        rig_free(rig);
    }
}

/* ---- Locks ---- */

static void a_lock_keeps_content_where_the_cpu_sees_it(void **state)
{
    for (unsigned hidden = 0; hidden < 2; hidden++) {
        struct rig_config config = rig_model(2);
        struct rig_object object;
        struct rig *rig;

        config.keeps_tables_in_system = true;
        config.memory_segments = 2;
        config.hides_segment[1] = hidden;
        rig = rig_create(&config);
        rig_object(rig, 20, 2, &object);
        rig_cpu(rig, &object, true); /* without content and place */
        rig_make_resident(rig, &object);
        assert_int_equal(vidmm_lock(object.allocation),
                         hidden ? STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION : STATUS_SUCCESS);
        if (!hidden) {
            assert_int_equal(vidmm_locked_page_address(object.allocation, 3) >> 40, 0x12);
            rig_touch_locked(rig, &object, true);
            vidmm_unlock(object.allocation);
        }
        rig_evict(rig, &object);
        assert_int_equal(vidmm_lock(object.allocation),
                         hidden ? STATUS_GRAPHICS_ALLOCATION_BUSY : STATUS_SUCCESS);
        if (hidden) {
            assert_int_equal(vidmm_lock(object.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
            rig_drain(rig);
            assert_false(vidmm_allocation_is_resident(object.allocation));
            assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS);
        }
        assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS); /* locks nest */
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void what_is_locked_outside_its_segment_cannot_enter(void **state)
{
    struct rig_config config = rig_model(2);
    struct rig *rig = rig_create(&config);
    struct rig_done done = {0};
    struct rig_object object;
    uint64_t fence;

    rig_object(rig, 20, 1, &object);
    rig_lock(rig, &object);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &done, &fence),
        STATUS_PENDING);
    rig_drain(rig);
    assert_int_equal(done.status, STATUS_GRAPHICS_CANT_RENDER_LOCKED_ALLOCATION);
    assert_string_equal(rig->refusal_rule, "RES-014");
    vidmm_unlock(object.allocation);
    rig_make_resident(rig, &object);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(make_resident_succeeds_at_once_pends_or_fails_with_sizes),
        cmocka_unit_test(a_device_whose_residency_must_succeed_is_in_error_when_it_does_not),
        cmocka_unit_test(random_lists_leave_in_the_order_of_single_references),
        cmocka_unit_test(random_packets_of_what_is_resident_are_with_the_driver_at_once),
        cmocka_unit_test(a_list_of_two_segments_counts_for_both_budgets),
        cmocka_unit_test(the_least_recently_used_of_the_lowest_priority_leaves_first),
        cmocka_unit_test(what_work_in_flight_may_use_stays),
        cmocka_unit_test(a_destroyed_allocation_goes_when_its_work_and_its_references_have),
        cmocka_unit_test(what_is_destroyed_is_refused),
        cmocka_unit_test(a_loser_that_was_destroyed_is_not_evicted_once_more),
        cmocka_unit_test(what_dies_with_a_failed_request_is_no_victim_of_the_next),
        cmocka_unit_test(what_is_reached_by_address_is_aligned_and_in_one_piece),
        cmocka_unit_test(what_lies_in_many_pieces_has_each_unit_that_was_free),
        cmocka_unit_test(a_request_that_fits_in_pieces_only_starts_over),
        cmocka_unit_test(a_request_that_starts_over_places_the_largest_first),
        cmocka_unit_test(a_lock_keeps_content_where_the_cpu_sees_it),
        cmocka_unit_test(what_is_locked_outside_its_segment_cannot_enter),
    };

    return cmocka_run_group_tests_name("vidmm/residency", tests, NULL, NULL);
}
