/* Policies: who leaves, and what comes in before it is asked for. In both models. */
#include "vidmm/residency/ahead.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/policy.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#define MS UINT64_C(1000000)

/* 256 pages of memory. */
static struct rig *create(unsigned model, const struct vidmm_policy *policy)
{
    struct rig_config config = rig_model(model);

    config.keeps_tables_in_system = true;
    config.policy = policy;
    return rig_create(&config);
}

static void use(struct rig *rig, struct rig_object *object)
{
    if (rig->config.is_virtual && !object->va)
        rig_map(rig, object);
    if (rig->config.is_virtual)
        rig_make_resident(rig, object);
    rig_gpu(rig, object, 4);
    if (rig->config.is_virtual)
        rig_evict(rig, object);
    rig_drain(rig);
}

static void tell(struct rig_object *object, uint64_t use_ns)
{
    assert_int_equal(vidmm_forecast_uses(object->allocation, 1, &use_ns), STATUS_SUCCESS);
}

static bool is_resident(const struct rig_object *object)
{
    return vidmm_allocation_is_resident(object->allocation);
}

static void the_farthest_next_use_leaves_and_without_a_policy_the_oldest(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        static const struct vidmm_policy *const policies[] = {NULL, &vidmm_policy_lru,
                                                              &vidmm_policy_hinted};

        for (unsigned i = 0; i < 3; i++) {
            struct rig *rig = create(model, policies[i]);
            struct rig_object objects[4];
            unsigned expected = policies[i] == &vidmm_policy_hinted ? 1 : 0;

            for (unsigned j = 0; j < 4; j++)
                rig_object(rig, 80, 1, &objects[j]);
            tell(&objects[0], 5000 * MS);
            tell(&objects[1], 9000 * MS);
            tell(&objects[2], 7000 * MS);
            for (unsigned j = 0; j < 4; j++)
                use(rig, &objects[j]);
            assert_int_equal(rig->eviction_count, 1);
            assert_ptr_equal(rig->last_evicted, objects[expected].allocation);
            for (unsigned j = 0; j < 4; j++)
                rig_destroy_object(rig, &objects[j]);
            rig_free(rig);
        }
    }
}

static void a_policy_without_a_comparison_lets_the_oldest_leave(void **state)
{
    static const struct vidmm_policy policy = {.name = "none", .compared = 4};
    struct rig *rig = create(0, &policy);
    struct rig_object objects[4];

    for (unsigned j = 0; j < 4; j++) {
        rig_object(rig, 80, 1, &objects[j]);
        use(rig, &objects[j]);
    }
    assert_int_equal(rig->eviction_count, 1);
    assert_ptr_equal(rig->last_evicted, objects[0].allocation);
    for (unsigned j = 0; j < 4; j++)
        rig_destroy_object(rig, &objects[j]);
    rig_free(rig);
}

static void what_will_not_be_used_again_leaves_before_what_nobody_knows(void **state)
{
    struct rig *rig = create(2, &vidmm_policy_hinted);
    struct rig_object objects[4];

    for (unsigned j = 0; j < 4; j++)
        rig_object(rig, 80, 1, &objects[j]);
    tell(&objects[0], 5000 * MS);
    assert_int_equal(vidmm_forecast_uses(objects[2].allocation, 0, NULL), STATUS_SUCCESS);
    for (unsigned j = 0; j < 4; j++)
        use(rig, &objects[j]);
    assert_ptr_equal(rig->last_evicted, objects[1].allocation); /* unknown, and the oldest such */
    use(rig, &objects[1]);
    assert_int_equal(rig->eviction_count, 2);
    assert_ptr_equal(rig->last_evicted, objects[2].allocation);
    for (unsigned j = 0; j < 4; j++)
        rig_destroy_object(rig, &objects[j]);
    rig_free(rig);
}

static void what_a_waiting_request_wants_leaves_last(void **state)
{
    static const struct vidmm_policy *const policies[] = {&vidmm_policy_lru,
                                                          &vidmm_policy_look_ahead};

    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = create(2, policies[i]);
        struct rig_object objects[4];
        struct rig_done done[2] = {{0}, {0}};
        uint64_t fence;

        for (unsigned j = 0; j < 4; j++)
            rig_object(rig, 80, 1, &objects[j]);
        for (unsigned j = 0; j < 3; j++)
            use(rig, &objects[j]);
        /* Both wait until the pump runs: the second wants the one that was used longest ago. */
        rig->vidmm->callback_depth++;
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &objects[3].allocation, rig_done, &done[0], &fence),
            STATUS_PENDING);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &objects[0].allocation, rig_done, &done[1], &fence),
            STATUS_PENDING);
        rig->vidmm->callback_depth--;
        vidmm_forecast_time(rig->vidmm, 0, 0); /* which pumps */
        rig_drain(rig);
        assert_true(done[0].calls == 1 && done[1].calls == 1);
        assert_int_equal(rig->eviction_count, i ? 1 : 2);
        objects[3].references = objects[0].references = 1;
        for (unsigned j = 0; j < 4; j++)
            rig_destroy_object(rig, &objects[j]);
        rig_free(rig);
    }
}

/* Two of 100 pages fill the memory but for 56; the third one is away and will be used first. */
static struct rig *with_one_away(unsigned model, const struct vidmm_policy *policy,
                                 struct rig_object objects[3], uint64_t first_ns,
                                 uint64_t second_ns, uint64_t away_ns)
{
    struct rig *rig = create(model, policy);

    for (unsigned j = 0; j < 3; j++)
        rig_object(rig, 100, 1, &objects[j]);
    rig_cpu(rig, &objects[2], true);
    use(rig, &objects[0]);
    use(rig, &objects[1]);
    tell(&objects[0], first_ns);
    tell(&objects[1], second_ns);
    tell(&objects[2], away_ns);
    return rig;
}

static void destroy_all(struct rig *rig, struct rig_object *objects, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        rig_destroy_object(rig, &objects[i]);
    rig_free(rig);
}

static void what_is_used_soon_comes_in_for_what_is_used_later(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_object objects[3];
        struct rig *rig =
            with_one_away(model, &vidmm_policy_hinted, objects, 50 * MS, 900 * MS, 20 * MS);

        vidmm_forecast_time(rig->vidmm, 1, 1);
        rig_drain(rig);
        assert_true(is_resident(&objects[2]) && is_resident(&objects[0]));
        assert_false(is_resident(&objects[1])); /* it was the farthest */
        assert_int_equal(vidmm_statistics(rig->vidmm)->ahead, 1);
        use(rig, &objects[2]);
        assert_int_equal(rig->eviction_count, 1); /* nothing more when it is asked for */
        rig_cpu(rig, &objects[1], false);
        destroy_all(rig, objects, 3);
    }
}

/* A policy says how long before a use others leave: not yet 20 ms before it, or never. */
static void others_leave_when_the_policy_says(void **state)
{
    static const struct {
        uint64_t lead_ns, most_ns;
        bool leaves;
    } rows[] = {
        {40 * MS, 200 * MS, true}, {10 * MS, 200 * MS, false}, {40 * MS, 10 * MS, false},
        {0, 200 * MS, false},      {40 * MS, 0, false},
    };

    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
        struct vidmm_policy policy = vidmm_policy_hinted;
        struct rig_object objects[3];
        struct rig *rig;

        policy.evict_lead_ns = rows[i].lead_ns;
        policy.evict_most_ns = rows[i].most_ns;
        rig = with_one_away(2, &policy, objects, 50 * MS, 900 * MS, 20 * MS);
        vidmm_forecast_time(rig->vidmm, 1, 1);
        rig_drain(rig);
        assert_int_equal(rig->eviction_count, rows[i].leaves);
        assert_int_equal(vidmm_statistics(rig->vidmm)->ahead, rows[i].leaves);
        vidmm_forecast_time(rig->vidmm, 11 * MS, 11 * MS);
        rig_drain(rig);
        assert_int_equal(rig->eviction_count, rows[i].lead_ns && rows[i].most_ns);
        vidmm_forecast_time(rig->vidmm, 20 * MS, 20 * MS); /* the use is due */
        rig_drain(rig);
        assert_int_equal(rig->eviction_count, rows[i].lead_ns && rows[i].most_ns);
        destroy_all(rig, objects, 3);
    }
}

static void nothing_leaves_early_for_what_is_used_later_still(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_object objects[3];
        struct rig *rig =
            with_one_away(model, &vidmm_policy_hinted, objects, 5 * MS, 10 * MS, 20 * MS);

        vidmm_forecast_time(rig->vidmm, 1, 1);
        rig_drain(rig);
        assert_int_equal(vidmm_statistics(rig->vidmm)->ahead, 0);
        assert_int_equal(rig->eviction_count, 0);
        vidmm_forecast_time(rig->vidmm, 6 * MS, 6 * MS); /* objects[0] is used no more */
        rig_drain(rig);
        assert_true(is_resident(&objects[2]) && !is_resident(&objects[0]));
        destroy_all(rig, objects, 3);
    }
}

static void what_fits_comes_in_if_it_will_still_fit_when_it_is_used(void **state)
{
    for (unsigned created = 0; created < 2; created++) {
        const struct vidmm_demand demand = {.at_ns = 300 * MS, .created = 20 * PAGE_BYTES};
        struct rig *rig = create(2, &vidmm_policy_hinted);
        struct rig_object kept, away;

        rig_object(rig, 200, 1, &kept);
        rig_object(rig, 50, 1, &away);
        rig_cpu(rig, &away, true);
        use(rig, &kept);
        tell(&kept, 400 * MS);
        tell(&away, 500 * MS);
        if (created)
            assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
        vidmm_forecast_time(rig->vidmm, 1, 1);
        rig_drain(rig);
        assert_int_equal(is_resident(&away), !created);
        assert_int_equal(rig->eviction_count, 0);
        rig_destroy_object(rig, &kept);
        rig_destroy_object(rig, &away);
        rig_free(rig);
    }
}

static void room_is_made_for_what_will_be_created(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        const struct vidmm_demand demand = {.at_ns = 30 * MS, .created = 100 * PAGE_BYTES};
        struct rig *rig = create(model, &vidmm_policy_hinted);
        struct rig_object objects[2];

        for (unsigned j = 0; j < 2; j++) {
            rig_object(rig, 100, 1, &objects[j]);
            use(rig, &objects[j]);
        }
        tell(&objects[0], 800 * MS);
        tell(&objects[1], 700 * MS);
        assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
        vidmm_forecast_time(rig->vidmm, 1, 1);
        rig_drain(rig);
        assert_int_equal(rig->eviction_count, 1);
        assert_ptr_equal(rig->last_evicted, objects[0].allocation);
        destroy_all(rig, objects, 2);
    }
}

/* Room is wanted within 300 ms; what is used before 600 ms may not be the best to leave then. */
static void nothing_leaves_early_that_is_used_less_than_twice_as_far(void **state)
{
    const struct vidmm_demand demand = {.at_ns = 30 * MS, .created = 100 * PAGE_BYTES};
    struct rig *rig = create(2, &vidmm_policy_hinted);
    struct rig_object kept;

    rig_object(rig, 200, 1, &kept);
    use(rig, &kept);
    tell(&kept, 599 * MS);
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
    vidmm_forecast_time(rig->vidmm, 1, 1);
    rig_drain(rig);
    assert_int_equal(rig->eviction_count, 0);
    tell(&kept, 601 * MS);
    vidmm_forecast_time(rig->vidmm, 2, 2);
    rig_drain(rig);
    assert_int_equal(rig->eviction_count, 1);
    destroy_all(rig, &kept, 1);
}

/* The queue's future: what nobody has queued again may leave early for what is created. */
static void without_a_forecast_it_leaves_early(void **state)
{
    const struct vidmm_demand demand = {.at_ns = 30 * MS, .created = 100 * PAGE_BYTES};
    struct rig *rig = create(2, &vidmm_policy_look_ahead);
    struct rig_object objects[2];

    for (unsigned j = 0; j < 2; j++) {
        rig_object(rig, 100, 1, &objects[j]);
        use(rig, &objects[j]);
    }
    tell(&objects[0], 20 * MS);
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
    vidmm_forecast_time(rig->vidmm, 1, 1);
    rig_drain(rig);
    assert_int_equal(rig->eviction_count, 1);
    assert_ptr_equal(rig->last_evicted, objects[1].allocation);
    destroy_all(rig, objects, 2);
}

/*
 * GpuMmu: four are to leave for what will be created, and what is asked for next waits for the two
 * chunks that are with the GPU, not for the others.
 */
static void what_leaves_early_gives_way_to_what_is_asked_for(void **state)
{
    const struct vidmm_demand demand = {.at_ns = 30 * MS, .created = 200 * PAGE_BYTES};
    struct rig *rig = create(2, &vidmm_policy_hinted);
    struct rig_done done = {0};
    struct rig_object objects[5];
    uint64_t fence;

    for (unsigned j = 0; j < 4; j++) {
        rig_object(rig, 60, 1, &objects[j]);
        use(rig, &objects[j]);
        tell(&objects[j], 800 * MS);
    }
    rig_object(rig, 10, 1, &objects[4]);
    rig_map(rig, &objects[4]);
    rig_drain(rig);
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
    vidmm_forecast_time(rig->vidmm, 1, 1);
    assert_int_equal(rig->eviction_count, 4);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &objects[4].allocation, rig_done, &done, &fence),
        STATUS_PENDING);
    while (!done.calls)
        assert_true(rig_step_machine(rig));
    assert_true(rig_count(rig, DXGK_OPERATION_VIRTUAL_TRANSFER) <= 3); /* of 16 */
    rig_drain(rig);
    assert_int_equal(rig_count(rig, DXGK_OPERATION_VIRTUAL_TRANSFER), 16);
    for (unsigned j = 0; j < 4; j++)
        assert_int_equal(objects[j].allocation->state, ALLOCATION_BACKED);
    objects[4].references = 1;
    for (unsigned j = 0; j < 4; j++)
        rig_cpu(rig, &objects[j], false);
    destroy_all(rig, objects, 5);
}

/* GpuMmu: the same of what comes in early. */
static void what_comes_in_early_gives_way_to_what_is_asked_for(void **state)
{
    struct rig *rig = create(2, &vidmm_policy_hinted);
    struct rig_done done = {0};
    struct rig_object early, asked;
    uint64_t fence;

    rig_object(rig, 200, 1, &early);
    rig_cpu(rig, &early, true);
    rig_object(rig, 10, 1, &asked);
    rig_map(rig, &asked);
    rig_drain(rig);
    tell(&early, 500 * MS);
    vidmm_forecast_time(rig->vidmm, 1, 1);
    assert_int_equal(vidmm_statistics(rig->vidmm)->ahead, 1);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &asked.allocation, rig_done, &done, &fence),
        STATUS_PENDING);
    while (!done.calls)
        assert_true(rig_step_machine(rig));
    assert_true(rig_count(rig, DXGK_OPERATION_VIRTUAL_TRANSFER) <= 6); /* of 13 */
    rig_drain(rig);
    assert_int_equal(rig_count(rig, DXGK_OPERATION_VIRTUAL_TRANSFER), 13);
    assert_true(is_resident(&early));
    asked.references = 1;
    rig_destroy_object(rig, &asked);
    rig_destroy_object(rig, &early);
    rig_free(rig);
}

/* What comes or goes early hurries when it is asked for, and gives way no more the next time. */
static void what_is_asked_for_gives_way_no_longer(void **state)
{
    struct rig *rig = create(2, &vidmm_policy_hinted);
    const struct vidmm_demand demand = {.at_ns = 30 * MS, .created = 200 * PAGE_BYTES};
    struct rig_done done[2] = {{0}};
    struct rig_object early, other;
    struct job *job;
    uint64_t fence;

    rig_object(rig, 200, 1, &early);
    rig_object(rig, 200, 1, &other);
    rig_cpu(rig, &early, true);
    tell(&early, 700 * MS);
    job = &early.allocation->job;
    vidmm_forecast_time(rig->vidmm, 1, 1);
    assert_int_equal(early.allocation->state, ALLOCATION_ENTERING);
    assert_true(job->gives_way);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &early.allocation, rig_done, &done[0], &fence),
        STATUS_PENDING);
    assert_false(job->gives_way);
    rig_drain(rig);
    assert_int_equal(done[0].calls, 1);
    vidmm_evict(rig->device, 1, &early.allocation);

    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
    vidmm_forecast_time(rig->vidmm, 2, 2);
    assert_int_equal(early.allocation->state, ALLOCATION_LEAVING);
    assert_true(job->gives_way);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &early.allocation, rig_done, &done[1], &fence),
        STATUS_PENDING);
    assert_false(job->gives_way);
    rig_drain(rig);
    assert_int_equal(done[1].calls, 1);
    vidmm_evict(rig->device, 1, &early.allocation);

    rig_cpu(rig, &early, false);
    assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 0, NULL), STATUS_SUCCESS);
    tell(&early, 600 * MS);
    vidmm_forecast_time(rig->vidmm, 3, 3);
    rig_drain(rig);
    use(rig, &other); /* for which it leaves */
    assert_false(is_resident(&early));
    assert_false(job->gives_way);
    rig_destroy_object(rig, &early);
    rig_destroy_object(rig, &other);
    rig_free(rig);
}

/* Three are to leave for what will be created: all at once, one after the other, or never. */
static void only_so_much_leaves_early_at_once(void **state)
{
    static const struct {
        uint64_t leaving_bytes;
        unsigned at_once, in_all;
    } rows[] = {{UINT64_MAX, 3, 3}, {PAGE_BYTES, 1, 3}, {60 * PAGE_BYTES + 1, 2, 3}, {0, 0, 0}};

    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
        const struct vidmm_demand demand = {.at_ns = 30 * MS, .created = 190 * PAGE_BYTES};
        struct vidmm_policy policy = vidmm_policy_hinted;
        struct rig_object objects[4];
        struct rig *rig;

        policy.leaving_bytes = rows[i].leaving_bytes;
        rig = create(2, &policy);
        for (unsigned j = 0; j < 4; j++) {
            rig_object(rig, 60, 1, &objects[j]);
            use(rig, &objects[j]);
            tell(&objects[j], 800 * MS);
        }
        assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
        vidmm_forecast_time(rig->vidmm, 1, 1);
        assert_int_equal(rig->eviction_count, rows[i].at_once);
        rig_drain(rig);
        assert_int_equal(rig->eviction_count, rows[i].in_all);
        destroy_all(rig, objects, 4);
    }
}

/* There is room for it 50 ms before its use, if not sooner: others leave when that is too late. */
static void others_stay_when_there_will_be_room_in_time(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct vidmm_demand demand[] = {{.at_ns = 40 * MS, .destroyed = 100 * PAGE_BYTES},
                                              {.at_ns = 120 * MS}};
        struct vidmm_policy policy = vidmm_policy_hinted;
        struct rig_object objects[3];
        struct rig *rig;

        policy.entry_ns = i ? 50 * MS : 90 * MS;
        rig = with_one_away(2, &policy, objects, 110 * MS, 900 * MS, 100 * MS);
        assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 2, demand), STATUS_SUCCESS);
        vidmm_forecast_time(rig->vidmm, 1, 1);
        rig_drain(rig);
        assert_int_equal(rig->eviction_count, !i);
        assert_int_equal(is_resident(&objects[2]), !i);
        destroy_all(rig, objects, 3);
    }
}

/* Some is kept free, and what left for that will be used: it does not come in and leave again. */
static void what_left_for_spare_room_does_not_come_back_at_once(void **state)
{
    struct vidmm_policy policy = vidmm_policy_hinted;
    struct rig_object objects[4];
    unsigned steps = 0;
    struct rig *rig;

    policy.spare_bytes = 200 * PAGE_BYTES;
    policy.evict_lead_ns = 0;
    rig = create(2, &policy);
    for (unsigned j = 0; j < 4; j++) {
        rig_object(rig, 85, 1, &objects[j]);
        tell(&objects[j], (900 - 100 * j) * MS);
    }
    for (unsigned j = 0; j < 3; j++)
        use(rig, &objects[j]);
    vidmm_forecast_time(rig->vidmm, 1, 1);
    use(rig, &objects[3]); /* one leaves for it, and another one so that four pages are free */
    while (rig_step_machine(rig))
        assert_true(++steps < 200);
    assert_int_equal(rig->eviction_count, 2);
    assert_int_equal(vidmm_statistics(rig->vidmm)->ahead, 0);
    vidmm_forecast_time(rig->vidmm, 2, 1); /* nothing has ended */
    assert_int_equal(vidmm_statistics(rig->vidmm)->ahead, 0);
    destroy_all(rig, objects, 4);
}

static void what_is_locked_or_offered_stays_away(void **state)
{
    for (unsigned offered = 0; offered < 2; offered++) {
        struct rig *rig = create(2, &vidmm_policy_hinted);
        struct rig_object away;

        rig_object(rig, 50, 1, &away);
        if (offered) {
            rig_cpu(rig, &away, true);
            assert_int_equal(vidmm_offer(rig->device, 1, &away.allocation, VIDMM_OFFER_NORMAL),
                             STATUS_SUCCESS);
        } else {
            rig_lock(rig, &away);
        }
        tell(&away, 10 * MS);
        vidmm_forecast_time(rig->vidmm, 1, 1);
        rig_drain(rig);
        assert_false(is_resident(&away));
        assert_int_equal(vidmm_statistics(rig->vidmm)->ahead, 0);
        if (!offered)
            vidmm_unlock(away.allocation);
        rig_destroy_object(rig, &away);
        rig_free(rig);
    }
}

static void what_leaves_for_the_cpu_stays_until_it_is_asked_for(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct rig_config config = rig_model(model);
        struct rig_object object;
        struct rig *rig;

        config.keeps_tables_in_system = true;
        config.hides_segment[0] = true;
        config.policy = &vidmm_policy_hinted;
        rig = rig_create(&config);
        rig_object(rig, 50, 1, &object);
        use(rig, &object);
        tell(&object, 10 * MS);
        vidmm_forecast_time(rig->vidmm, 1, 1);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        rig_drain(rig);
        assert_int_equal(vidmm_lock(object.allocation), STATUS_SUCCESS);
        rig_touch_locked(rig, &object, true);
        vidmm_unlock(object.allocation);
        vidmm_forecast_time(rig->vidmm, 2, 2);
        rig_drain(rig);
        assert_false(is_resident(&object));
        use(rig, &object);
        assert_true(is_resident(&object));
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

/*
 * It left in the GPU's order, and comes back for the lock. Bringing something else in for it before
 * the lock is repeated would let the two take turns for ever.
 */
static void what_comes_in_for_a_lock_stays_until_the_lock_has_it(void **state)
{
    const struct rig_request request = {
        .bytes = 150 * PAGE_BYTES, .preferred[0] = 1, .flags = 1u << 7 /* Swizzled */};
    struct rig *rig = create(0, &vidmm_policy_hinted);
    struct rig_object locked, soon;
    unsigned attempts = 0;
    NTSTATUS status;

    assert_int_equal(rig_try_object(rig, rig->device, &request, &locked), STATUS_SUCCESS);
    rig_object(rig, 150, 1, &soon);
    use(rig, &locked);
    use(rig, &soon);
    assert_true(!is_resident(&locked) && is_resident(&soon));
    tell(&locked, 35 * MS);
    tell(&soon, 10 * MS);
    vidmm_forecast_time(rig->vidmm, 1, 1);
    while ((status = vidmm_lock(locked.allocation)) == STATUS_GRAPHICS_ALLOCATION_BUSY &&
           attempts++ < 8)
        rig_drain(rig);
    assert_int_equal(status, STATUS_SUCCESS);
    rig_touch_locked(rig, &locked, true);
    vidmm_unlock(locked.allocation);
    rig_drain(rig);
    assert_true(is_resident(&soon)); /* there is room for it now */
    rig_destroy_object(rig, &locked);
    rig_destroy_object(rig, &soon);
    rig_free(rig);
}

/* 256 pages, of which a 64th is kept free; three of 85 pages leave one page. */
static void room_is_kept_free_once_something_had_to_leave(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        for (unsigned spares = 0; spares < 2; spares++) {
            struct vidmm_policy policy = {.name = "spare",
                                          .spare_bytes = spares ? 200 * PAGE_BYTES : 0};
            struct rig *rig = create(model, &policy);
            struct rig_object objects[5];

            for (unsigned j = 0; j < 4; j++)
                rig_object(rig, 85, 1, &objects[j]);
            rig_object(rig, 80, 1, &objects[4]);
            for (unsigned j = 0; j < 3; j++)
                use(rig, &objects[j]);
            assert_int_equal(rig->eviction_count, 0); /* it just fits */
            use(rig, &objects[3]);
            assert_int_equal(rig->eviction_count, 1 + spares);
            assert_ptr_equal(rig->last_evicted, objects[spares].allocation);
            use(rig, &objects[4]); /* finds room, and leaves six pages: that is enough */
            assert_int_equal(rig->eviction_count, 2);
            assert_true(is_resident(&objects[2]) && is_resident(&objects[3]));
            destroy_all(rig, objects, 5);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_farthest_next_use_leaves_and_without_a_policy_the_oldest),
        cmocka_unit_test(a_policy_without_a_comparison_lets_the_oldest_leave),
        cmocka_unit_test(what_will_not_be_used_again_leaves_before_what_nobody_knows),
        cmocka_unit_test(what_a_waiting_request_wants_leaves_last),
        cmocka_unit_test(what_is_used_soon_comes_in_for_what_is_used_later),
        cmocka_unit_test(others_leave_when_the_policy_says),
        cmocka_unit_test(nothing_leaves_early_for_what_is_used_later_still),
        cmocka_unit_test(what_fits_comes_in_if_it_will_still_fit_when_it_is_used),
        cmocka_unit_test(room_is_made_for_what_will_be_created),
        cmocka_unit_test(nothing_leaves_early_that_is_used_less_than_twice_as_far),
        cmocka_unit_test(without_a_forecast_it_leaves_early),
        cmocka_unit_test(what_leaves_early_gives_way_to_what_is_asked_for),
        cmocka_unit_test(what_comes_in_early_gives_way_to_what_is_asked_for),
        cmocka_unit_test(what_is_asked_for_gives_way_no_longer),
        cmocka_unit_test(only_so_much_leaves_early_at_once),
        cmocka_unit_test(others_stay_when_there_will_be_room_in_time),
        cmocka_unit_test(what_left_for_spare_room_does_not_come_back_at_once),
        cmocka_unit_test(what_is_locked_or_offered_stays_away),
        cmocka_unit_test(room_is_kept_free_once_something_had_to_leave),
        cmocka_unit_test(what_leaves_for_the_cpu_stays_until_it_is_asked_for),
        cmocka_unit_test(what_comes_in_for_a_lock_stays_until_the_lock_has_it),
    };

    return cmocka_run_group_tests_name("vidmm/ahead", tests, NULL, NULL);
}
