/*
 * Lists of allocations: their members, and that asking by lists is asking by references, only
 * quicker. A twin of the rig gets every request of a list as one of its members one by one; driver,
 * machine and random numbers are the same, so whatever one does otherwise is seen.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/reference_list.h"
#include "vidmm/memory/segment.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/list.h"
#include "base/rng.h"

#define OBJECTS      14u
#define MEMBERS      10u /* of them, that may be in lists */
#define LISTS        6u
#define MOST_MEMBERS 6u

/* One of the two; what is of a list is NULL in the one that has none. */
struct side {
    struct rig *rig;
    struct rig_object objects[OBJECTS];
    struct vidmm_list *lists[LISTS];
    struct rig_done done[LISTS];
};

/* What both have been asked for. */
struct script {
    struct rng rng;
    struct side sides[2];
    unsigned members[LISTS][MOST_MEMBERS], counts[LISTS];
    unsigned references[LISTS]; /* that the list gives */
    bool is_pending[LISTS], is_offered[OBJECTS];
};

static unsigned members_of(const struct script *script, const struct side *side, unsigned list,
                           struct vidmm_allocation **out)
{
    for (unsigned i = 0; i < script->counts[list]; i++)
        out[i] = side->objects[script->members[list][i]].allocation;
    return script->counts[list];
}

static NTSTATUS ask(const struct script *script, struct side *side, unsigned list)
{
    struct vidmm_allocation *members[MOST_MEMBERS];
    uint64_t fence;

    side->done[list] = (struct rig_done){0};
    if (side->lists[list])
        return vidmm_list_make_resident(side->lists[list], rig_done, &side->done[list], &fence);
    return vidmm_make_resident(side->rig->device, members_of(script, side, list, members), members,
                               rig_done, &side->done[list], &fence);
}

static void give_up(const struct script *script, struct side *side, unsigned list)
{
    struct vidmm_allocation *members[MOST_MEMBERS];

    if (side->lists[list])
        vidmm_list_evict(side->lists[list]);
    else
        vidmm_evict(side->rig->device, members_of(script, side, list, members), members);
}

/* ---- Comparing ---- */

static unsigned number_of(const struct side *side, const struct vidmm_allocation *allocation)
{
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (side->objects[i].allocation == allocation)
            return i;
    }
    return OBJECTS;
}

static unsigned order_of(const struct side *side, unsigned *out)
{
    const struct vidmm *vidmm = side->rig->vidmm;
    unsigned count = 0;

    for (unsigned i = 0; i < vidmm->caps.segment_count; i++) {
        for (unsigned class = 0; class < VICTIM_CLASSES; class ++) {
            const struct vidmm_allocation *allocation;

            list_for_each (allocation, &vidmm->segments[i].lru[class], struct vidmm_allocation,
                           link) {
                assert_true(count < OBJECTS);
                out[count++] = number_of(side, allocation);
            }
        }
    }
    return count;
}

/* What can be seen without asking the lists to settle. */
static void assert_same_from_outside(const struct side *a, const struct side *b)
{
    assert_memory_equal(vidmm_statistics(a->rig->vidmm), vidmm_statistics(b->rig->vidmm),
                        sizeof(struct vidmm_statistics));
    assert_int_equal(a->rig->eviction_count, b->rig->eviction_count);
    assert_int_equal(number_of(a, a->rig->last_evicted), number_of(b, b->rig->last_evicted));
    assert_int_equal(a->rig->trim_count, b->rig->trim_count);
    for (unsigned i = 0; i < OBJECTS; i++)
        assert_int_equal(a->objects[i].allocation->state, b->objects[i].allocation->state);
    assert_true(vidmm_check(a->rig->vidmm) && vidmm_check(b->rig->vidmm));
}

static void assert_same_inside(struct side *a, struct side *b)
{
    unsigned order_a[OBJECTS], order_b[OBJECTS], count;

    reference_lists_settle(a->rig->vidmm);
    assert_true(vidmm_check(a->rig->vidmm));
    count = order_of(a, order_a);
    assert_int_equal(count, order_of(b, order_b));
    assert_memory_equal(order_a, order_b, count * sizeof *order_a);
    for (unsigned i = 0; i < OBJECTS; i++) {
        assert_int_equal(a->objects[i].allocation->holds, b->objects[i].allocation->holds);
        if (!a->objects[i].allocation->holds)
            assert_int_equal(a->objects[i].allocation->busy_until,
                             b->objects[i].allocation->busy_until);
    }
    for (unsigned group = 0; group < 2; group++) {
        struct vidmm_budget_info info_a, info_b;

        vidmm_budget_info(a->rig->process, (enum vidmm_budget_group)group, &info_a);
        vidmm_budget_info(b->rig->process, (enum vidmm_budget_group)group, &info_b);
        assert_memory_equal(&info_a, &info_b, sizeof info_a);
    }
}

/* ---- Steps ---- */

static void ask_or_give_up(struct script *script, unsigned list)
{
    struct side *sides = script->sides;
    NTSTATUS status;

    if (script->is_pending[list])
        return;
    if (script->references[list] && rng_chance(&script->rng, 4, 5)) {
        script->references[list]--;
        give_up(script, &sides[0], list);
        give_up(script, &sides[1], list);
        return;
    }
    status = ask(script, &sides[0], list);
    assert_int_equal(status, ask(script, &sides[1], list));
    script->is_pending[list] = status == STATUS_PENDING;
    script->references[list] += status == STATUS_SUCCESS;
}

/* Work on what a list gives references to. */
static void submit(struct script *script, unsigned list)
{
    if (script->is_pending[list] || !script->references[list] || !script->counts[list])
        return;
    for (unsigned i = 0; i < script->counts[list]; i++) {
        if (script->is_offered[script->members[list][i]])
            return;
    }
    for (unsigned s = 0; s < 2; s++) {
        struct side *side = &script->sides[s];
        struct rig_object *objects[MOST_MEMBERS];

        for (unsigned i = 0; i < script->counts[list]; i++)
            objects[i] = &side->objects[script->members[list][i]];
        assert_int_equal(
            rig_gpu_in(side->rig, side->rig->context, objects, script->counts[list], 4, NULL, NULL),
            STATUS_SUCCESS);
    }
}

/* References one by one, of whom lists know nothing. */
static void refer_alone(struct script *script, unsigned object)
{
    for (unsigned s = 0; s < 2; s++) {
        struct rig *rig = script->sides[s].rig;
        struct vidmm_allocation *allocation = script->sides[s].objects[object].allocation;
        struct rig_done done = {0};
        uint64_t fence;
        NTSTATUS status = vidmm_make_resident(rig->device, 1, &allocation, rig_done, &done, &fence);

        if (status == STATUS_PENDING) {
            rig_drain(rig);
            status = done.status;
        }
        if (NT_SUCCESS(status))
            vidmm_evict(rig->device, 1, &allocation);
    }
}

static void offer_or_reclaim(struct script *script, unsigned object)
{
    enum vidmm_offer_priority priority =
        (enum vidmm_offer_priority)rng_below(&script->rng, OFFER_CLASSES);
    NTSTATUS status[2];
    bool is_offered = script->is_offered[object];

    for (unsigned s = 0; s < 2; s++) {
        struct rig *rig = script->sides[s].rig;
        struct vidmm_allocation *allocation = script->sides[s].objects[object].allocation;
        enum vidmm_reclaim_result result;
        struct rig_done done = {0};
        uint64_t fence;

        rig_drain(rig);
        if (!is_offered) {
            status[s] = vidmm_offer(rig->device, 1, &allocation, priority);
        } else {
            status[s] =
                vidmm_reclaim(rig->device, 1, &allocation, &result, rig_done, &done, &fence);
            rig_drain(rig);
            if (status[s] == STATUS_PENDING)
                status[s] = done.status;
            assert_int_not_equal(result, VIDMM_RECLAIM_NOT_COMMITTED);
        }
    }
    assert_int_equal(status[0], status[1]);
    /* A reclaim that found no room has taken the offer back all the same. */
    script->is_offered[object] = !is_offered && NT_SUCCESS(status[0]);
}

static void change_members(struct script *script, unsigned list)
{
    struct vidmm_list *changed = script->sides[0].lists[list];
    unsigned *members = script->members[list];
    unsigned object = (unsigned)rng_below(&script->rng, MEMBERS);
    struct vidmm_allocation *allocation = script->sides[0].objects[object].allocation;

    if (script->is_pending[list] || script->references[list]) {
        assert_int_equal(vidmm_list_add(changed, allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        assert_int_equal(vidmm_list_remove(changed, allocation), STATUS_GRAPHICS_ALLOCATION_BUSY);
        return;
    }
    if (script->counts[list] < MOST_MEMBERS && rng_chance(&script->rng, 1, 2)) {
        assert_int_equal(vidmm_list_add(changed, allocation), STATUS_SUCCESS);
        members[script->counts[list]++] = object;
        return;
    }
    for (unsigned i = script->counts[list]; i-- > 0;) {
        if (members[i] != object)
            continue;
        assert_int_equal(vidmm_list_remove(changed, allocation), STATUS_SUCCESS);
        memmove(&members[i], &members[i + 1], (--script->counts[list] - i) * sizeof *members);
        return;
    }
    assert_int_equal(vidmm_list_remove(changed, allocation), STATUS_INVALID_PARAMETER);
}

/* What a client does with an allocation beside referring to it. */
static void use_object(struct script *script, unsigned object)
{
    static const uint32_t priorities[] = {D3DDDI_ALLOCATIONPRIORITY_MINIMUM,
                                          D3DDDI_ALLOCATIONPRIORITY_NORMAL,
                                          D3DDDI_ALLOCATIONPRIORITY_MAXIMUM};
    unsigned what = (unsigned)rng_below(&script->rng, 4);
    uint32_t priority = priorities[rng_below(&script->rng, 3)];
    unsigned segment = (unsigned)rng_between(&script->rng, 1, 2);
    NTSTATUS status[2] = {0};

    for (unsigned s = 0; s < 2; s++) {
        struct vidmm_allocation *allocation = script->sides[s].objects[object].allocation;

        if (what == 0)
            status[s] = vidmm_set_priority(allocation, priority);
        else if (what == 1)
            status[s] = vidmm_move(allocation, segment);
        else if (what == 2 && (status[s] = vidmm_lock(allocation)) == STATUS_SUCCESS)
            vidmm_unlock(allocation);
    }
    assert_int_equal(status[0], status[1]);
    if (what == 3)
        refer_alone(script, object);
}

static void run_machine(struct script *script, unsigned steps)
{
    for (unsigned s = 0; s < 2; s++) {
        for (unsigned i = 0; i < steps && rig_step_machine(script->sides[s].rig); i++)
            ;
    }
    for (unsigned list = 0; list < LISTS; list++) {
        const struct rig_done *done = &script->sides[0].done[list];

        assert_int_equal(done->calls, script->sides[1].done[list].calls);
        if (!script->is_pending[list] || !done->calls)
            continue;
        assert_int_equal(done->status, script->sides[1].done[list].status);
        script->is_pending[list] = false;
        script->references[list] += NT_SUCCESS(done->status);
    }
}

static void limit_budgets(struct script *script, bool are_limited)
{
    for (unsigned s = 0; s < 2; s++)
        vidmm_set_budget(script->sides[s].rig->process, VIDMM_BUDGET_LOCAL,
                         are_limited ? 100 * PAGE_BYTES : 0);
}

static void play_step(struct script *script)
{
    unsigned list = (unsigned)rng_below(&script->rng, LISTS);
    unsigned object = (unsigned)rng_below(&script->rng, OBJECTS);
    unsigned what = (unsigned)rng_below(&script->rng, 100);

    if (what < 64)
        ask_or_give_up(script, list);
    else if (what < 69)
        refer_alone(script, MEMBERS + object % (OBJECTS - MEMBERS));
    else if (what < 78)
        submit(script, list);
    else if (what < 92)
        run_machine(script, (unsigned)rng_between(&script->rng, 1, 30));
    else if (what < 95)
        use_object(script, object);
    else if (what < 97)
        change_members(script, list);
    else if (what < 98)
        offer_or_reclaim(script, object);
    else if (what < 99)
        limit_budgets(script, rng_chance(&script->rng, 1, 4));
    else
        run_machine(script, UINT32_MAX);
    run_machine(script, 0);
}

/* ---- Life ---- */

static void begin(struct script *script, uint64_t seed, unsigned model, bool has_room)
{
    struct rig_config config = rig_model(model);

    config.keeps_tables_in_system = true;
    config.memory_segments = 2;
    config.segment_pages[0] = config.segment_pages[1] = has_room ? 256 : 44;
    config.seed = seed;
    *script = (struct script){0};
    rng_init(&script->rng, seed);
    for (unsigned s = 0; s < 2; s++) {
        struct side *side = &script->sides[s];

        side->rig = rig_create(&config);
        for (unsigned i = 0; i < OBJECTS; i++) {
            struct rig_request request = {.bytes = (2 + i) * PAGE_BYTES,
                                          .preferred = {1 + i % 2, 2 - i % 2}};

            assert_int_equal(
                rig_try_object(side->rig, side->rig->device, &request, &side->objects[i]),
                STATUS_SUCCESS);
            rig_map(side->rig, &side->objects[i]);
        }
    }
    for (unsigned list = 0; list < LISTS; list++) {
        struct vidmm_allocation *members[MOST_MEMBERS];

        script->counts[list] = (unsigned)rng_below(&script->rng, MOST_MEMBERS);
        for (unsigned i = 0; i < script->counts[list]; i++)
            script->members[list][i] = (unsigned)rng_below(&script->rng, MEMBERS);
        assert_int_equal(vidmm_list_create(script->sides[0].rig->device,
                                           members_of(script, &script->sides[0], list, members),
                                           members, &script->sides[0].lists[list]),
                         STATUS_SUCCESS);
    }
}

static void end(struct script *script)
{
    for (unsigned object = 0; object < OBJECTS; object++) {
        if (script->is_offered[object])
            offer_or_reclaim(script, object);
    }
    run_machine(script, UINT32_MAX);
    for (unsigned list = 0; list < LISTS; list++) {
        for (; script->references[list]; script->references[list]--) {
            give_up(script, &script->sides[0], list);
            give_up(script, &script->sides[1], list);
        }
        vidmm_list_destroy(script->sides[0].lists[list]);
    }
    assert_same_inside(&script->sides[0], &script->sides[1]);
    for (unsigned s = 0; s < 2; s++) {
        struct side *side = &script->sides[s];

        rig_drain(side->rig);
        for (unsigned i = 0; i < OBJECTS; i++) {
            rig_cpu(side->rig, &side->objects[i], false);
            rig_destroy_object(side->rig, &side->objects[i]);
        }
        rig_free(side->rig);
    }
}

static void random_lists_do_what_their_members_one_by_one_do(void **state)
{
    unsigned owed = 0;

    for (unsigned seed = 1; seed <= 100; seed++) {
        struct script script;

        snprintf(rig_repeat, sizeof rig_repeat, "list_residency_test: seed %u", seed);
        begin(&script, seed, 1 + seed % 3, seed % 2 == 0);
        for (unsigned step = 0; step < 400; step++) {
            play_step(&script);
            owed += !list_is_empty(&script.sides[0].rig->vidmm->reference_lists.owing);
            assert_same_from_outside(&script.sides[0], &script.sides[1]);
            if (rng_chance(&script.rng, 1, 20))
                assert_same_inside(&script.sides[0], &script.sides[1]);
        }
        end(&script);
    }
    assert_true(owed > 5000); /* or the lists have done nothing that references do not do */
    rig_repeat[0] = 0;
}

/* ---- Directed ---- */

#define DIRECTED 3u

/* Members and another one, all of them resident once, and used in their order. */
struct directed {
    struct rig *rig;
    struct rig_object objects[DIRECTED], other;
    struct vidmm_allocation *members[DIRECTED];
    struct vidmm_list *list; /* NULL: it has been destroyed */
};

static NTSTATUS ask_list(const struct directed *directed)
{
    uint64_t fence;

    return vidmm_list_make_resident(directed->list, NULL, NULL, &fence);
}

static void directed_begin(struct directed *directed)
{
    struct rig_config config = rig_model(2);
    struct rig *rig;

    config.keeps_tables_in_system = true;
    config.memory_segments = 2;
    directed->rig = rig = rig_create(&config);
    for (unsigned i = 0; i < DIRECTED; i++) {
        const struct rig_request request = {.bytes = 4 * PAGE_BYTES, .preferred = {1, 2}};

        assert_int_equal(rig_try_object(rig, rig->device, &request, &directed->objects[i]),
                         STATUS_SUCCESS);
        directed->members[i] = directed->objects[i].allocation;
        rig_make_resident(rig, &directed->objects[i]);
        rig_evict(rig, &directed->objects[i]);
    }
    rig_object(rig, 4, 1, &directed->other);
    rig_make_resident(rig, &directed->other);
    rig_evict(rig, &directed->other);
    assert_int_equal(vidmm_list_create(rig->device, DIRECTED, directed->members, &directed->list),
                     STATUS_SUCCESS);
    assert_int_equal(ask_list(directed), STATUS_SUCCESS);
    assert_int_equal(directed->members[0]->holds, 1); /* the first time each member is asked */
    vidmm_list_evict(directed->list);
    rig_make_resident(rig, &directed->other); /* to the end of the line */
    rig_evict(rig, &directed->other);
}

static void directed_end(struct directed *directed)
{
    if (directed->list)
        vidmm_list_destroy(directed->list);
    assert_true(list_is_empty(&directed->rig->vidmm->reference_lists.owing));
    assert_true(vidmm_check(directed->rig->vidmm));
    for (unsigned i = 0; i < DIRECTED; i++)
        rig_destroy_object(directed->rig, &directed->objects[i]);
    rig_destroy_object(directed->rig, &directed->other);
    rig_free(directed->rig);
}

/* The one that leaves first of its class, when lists have paid what they owe. */
static const struct vidmm_allocation *first_in_line(const struct vidmm_allocation *allocation)
{
    reference_lists_settle(allocation->vidmm);
    return container_of(allocation_lru(allocation)->next, struct vidmm_allocation, link);
}

static void a_list_that_is_used_again_leaves_its_members_alone(void **state)
{
    struct directed directed;
    uint64_t hits;

    directed_begin(&directed);
    hits = vidmm_statistics(directed.rig->vidmm)->residency_hits;
    assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
    assert_int_equal(directed.members[0]->holds, 0);
    assert_int_equal(vidmm_statistics(directed.rig->vidmm)->residency_hits, hits + DIRECTED);
    assert_int_equal(allocation_holds(directed.members[0]), 1); /* who asks hears of it */
    vidmm_list_evict(directed.list);

    assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
    vidmm_list_evict(directed.list);
    assert_ptr_equal(first_in_line(directed.members[0]), directed.other.allocation);
    directed_end(&directed);
}

static void what_a_list_owes_counts_in_budgets(void **state)
{
    struct vidmm_budget_info info;
    struct directed directed;
    struct vidmm *vidmm;

    directed_begin(&directed);
    vidmm = directed.rig->vidmm;
    assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
    vidmm_budget_info(directed.rig->process, VIDMM_BUDGET_LOCAL, &info);
    assert_int_equal(info.held, DIRECTED * 4 * PAGE_BYTES);
    vidmm_list_evict(directed.list);
    vidmm_budget_info(directed.rig->process, VIDMM_BUDGET_LOCAL, &info);
    assert_int_equal(info.held, 0);

    assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
    vidmm_set_budget(directed.rig->process, VIDMM_BUDGET_LOCAL, PAGE_BYTES);
    assert_int_equal(vidmm_statistics(vidmm)->trim_requests, 1);
    vidmm_list_evict(directed.list);
    /* Under a limit each reference counts at once. */
    assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
    assert_int_equal(vidmm_statistics(vidmm)->trim_requests, 2);
    vidmm_list_evict(directed.list);
    directed_end(&directed);
}

static void what_a_list_owes_is_paid_before_it_changes_or_goes(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct directed directed;

        directed_begin(&directed);
        assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
        vidmm_list_evict(directed.list);
        if (i) {
            vidmm_list_destroy(directed.list);
            directed.list = NULL;
        } else {
            assert_int_equal(vidmm_list_remove(directed.list, directed.members[0]), STATUS_SUCCESS);
        }
        assert_true(list_is_empty(&directed.rig->vidmm->reference_lists.owing));
        assert_ptr_equal(first_in_line(directed.members[0]), directed.other.allocation);
        directed_end(&directed);
    }
}

/* It is released where it is then. */
static void a_member_that_has_moved_is_looked_at_again(void **state)
{
    struct directed directed;

    directed_begin(&directed);
    assert_int_equal(vidmm_move(directed.members[1], 2), STATUS_SUCCESS);
    rig_drain(directed.rig);
    assert_int_equal(directed.members[1]->place.segment->id, 2);
    assert_false(reference_list_is_checked(directed.list));
    assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
    assert_int_equal(directed.members[1]->holds, 1);
    vidmm_list_evict(directed.list);
    assert_int_equal(ask_list(&directed), STATUS_SUCCESS);
    vidmm_list_evict(directed.list);
    assert_ptr_equal(first_in_line(directed.members[1]), directed.members[1]);
    directed_end(&directed);
}

static void a_manager_that_refuses_requests_refuses_those_of_lists(void **state)
{
    struct directed directed;

    directed_begin(&directed);
    directed.rig->vidmm->refusal = STATUS_NO_MEMORY;
    assert_int_not_equal(ask_list(&directed), STATUS_SUCCESS);
    directed.rig->vidmm->refusal = STATUS_SUCCESS;
    rig_drain(directed.rig);
    directed_end(&directed);
}

static void lists_fail_without_memory_and_refuse_what_is_destroyed(void **state)
{
    struct rig_config config = rig_model(2);
    struct vidmm_allocation *members[2];
    struct rig_object objects[2];
    struct rig_done done = {0};
    struct vidmm_list *list;
    struct rig *rig;
    uint64_t fence;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    for (unsigned i = 0; i < 2; i++) {
        rig_object(rig, 4, 1, &objects[i]);
        members[i] = objects[i].allocation;
    }
    for (unsigned at = 1; at <= 2; at++) {
        failing_services_fail_at(&rig->memory, at);
        assert_int_equal(vidmm_list_create(rig->device, 2, members, &list), STATUS_NO_MEMORY);
        assert_null(list);
    }
    assert_int_equal(vidmm_list_create(rig->device, 2, members, &list), STATUS_SUCCESS);
    failing_services_fail_at(&rig->memory, 1);
    assert_int_equal(vidmm_list_add(list, members[0]), STATUS_NO_MEMORY);
    failing_services_fail_at(&rig->memory, 1);
    assert_int_equal(vidmm_list_make_resident(list, rig_done, &done, &fence), STATUS_NO_MEMORY);

    assert_int_equal(vidmm_list_make_resident(list, rig_done, &done, &fence), STATUS_PENDING);
    assert_int_equal(vidmm_list_remove(list, members[0]), STATUS_GRAPHICS_ALLOCATION_BUSY);
    rig_drain(rig);
    assert_int_equal(done.status, STATUS_SUCCESS);
    vidmm_list_evict(list);
    assert_int_equal(vidmm_list_remove(list, members[1]), STATUS_SUCCESS);
    rig_make_resident(rig, &objects[1]); /* so that its record stays */
    vidmm_allocation_destroy(members[1]);
    assert_int_equal(vidmm_list_add(list, members[1]), STATUS_INVALID_HANDLE);
    vidmm_evict(rig->device, 1, &members[1]);
    vidmm_list_destroy(list);
    rig_destroy_object(rig, &objects[0]);
    rig_free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lists_do_what_their_members_one_by_one_do),
        cmocka_unit_test(a_list_that_is_used_again_leaves_its_members_alone),
        cmocka_unit_test(what_a_list_owes_counts_in_budgets),
        cmocka_unit_test(what_a_list_owes_is_paid_before_it_changes_or_goes),
        cmocka_unit_test(a_member_that_has_moved_is_looked_at_again),
        cmocka_unit_test(a_manager_that_refuses_requests_refuses_those_of_lists),
        cmocka_unit_test(lists_fail_without_memory_and_refuse_what_is_destroyed),
    };

    return cmocka_run_group_tests_name("vidmm/list_residency", tests, NULL, NULL);
}
