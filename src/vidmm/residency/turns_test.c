/* Turns: whose requests are served, when a turn ends, and what comes in for the next one. */
#include "vidmm/residency/turns.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/policy.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#define MS UINT64_C(1000000)

static uint64_t clock_ns;

static uint64_t read_clock(void *context)
{
    (void)context;
    return clock_ns;
}

struct client {
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;
    struct rig_object objects[2];
    struct rig_done asked, ran;
};

/* Calls of the rig are calls of this client from now on. */
static void act_as(struct rig *rig, const struct client *client)
{
    rig->process = client->process;
    rig->device = client->device;
    rig->context = client->context;
}

/* Two clients, each with two objects of 100 pages, where there are 256. */
static struct rig *create_with(unsigned model, const struct vidmm_policy *policy,
                               struct client clients[2])
{
    struct rig_config config = rig_model(model);
    struct rig *rig;

    config.hides_segment[0] = true;
    config.keeps_tables_in_system = true;
    config.policy = policy;
    rig = rig_create(&config);
    rig->vidmm->config.platform.now_ns = read_clock;
    clock_ns = 1;
    for (unsigned i = 0; i < 2; i++) {
        clients[i] = (struct client){
            .process = rig->process, .device = rig->device, .context = rig->context};
        for (unsigned j = 0; j < 2; j++) {
            rig_object(rig, 100, 1, &clients[i].objects[j]);
            if (config.is_virtual)
                rig_map(rig, &clients[i].objects[j]);
        }
        if (!i)
            assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    }
    return rig;
}

static struct rig *create(unsigned model, struct client clients[2])
{
    return create_with(model, &vidmm_policy_turns, clients);
}

static void close_client(struct rig *rig, struct client *client)
{
    act_as(rig, client);
    for (unsigned j = 0; j < 2; j++) {
        if (client->objects[j].allocation)
            rig_destroy_object(rig, &client->objects[j]);
    }
    rig_drain(rig);
}

static void close_second(struct rig *rig, struct client *client)
{
    close_client(rig, client);
    vidmm_context_destroy(rig->context);
    rig_drain(rig);
    vidmm_device_destroy(rig->device);
    vidmm_process_destroy(rig->process);
}

static void end(struct rig *rig, struct client clients[2])
{
    if (clients[1].process)
        close_second(rig, &clients[1]);
    close_client(rig, &clients[0]);
    assert_int_equal(rig->vidmm->turns.away_bytes, 0);
    rig_free(rig);
}

/* Whatever the machine does by itself; what then waits, waits for a turn. */
static void settle(struct rig *rig)
{
    vidmm_forecast_time(rig->vidmm, 0, 0); /* which pumps */
    while (rig_step_machine(rig))
        ;
}

/* Resident, used by the GPU, and let go. */
static void use(struct rig *rig, const struct client *client, struct rig_object *object)
{
    act_as(rig, client);
    if (rig->config.is_virtual)
        rig_make_resident(rig, object);
    rig_gpu(rig, object, 4);
    if (rig->config.is_virtual)
        rig_evict(rig, object);
    rig_drain(rig);
}

/* Nobody waits for the answer. In the physical model a submission asks. */
static void ask(struct rig *rig, struct client *client, struct rig_object *object)
{
    uint64_t fence;

    act_as(rig, client);
    client->asked = (struct rig_done){0};
    if (!rig->config.is_virtual) {
        assert_int_equal(rig_gpu_in(rig, rig->context, &object, 1, 4, rig_done, &client->asked),
                         STATUS_SUCCESS);
        return;
    }
    assert_int_equal(vidmm_make_resident(client->device, 1, &object->allocation, rig_done,
                                         &client->asked, &fence),
                     STATUS_PENDING);
    object->references++;
}

static bool is_answered(const struct client *client)
{
    if (client->asked.calls)
        assert_int_equal(client->asked.status, STATUS_SUCCESS);
    return client->asked.calls != 0;
}

/* The first client has used both of its objects, and has the turn; the second waits for one. */
static struct rig *create_waiting(unsigned model, struct client clients[2])
{
    struct rig *rig = create(model, clients);

    use(rig, &clients[0], &clients[0].objects[0]);
    use(rig, &clients[0], &clients[0].objects[1]);
    assert_ptr_equal(rig->vidmm->turns.holder, clients[0].process);
    ask(rig, &clients[1], &clients[1].objects[0]);
    settle(rig);
    assert_false(is_answered(&clients[1]));
    assert_int_equal(rig->eviction_count, 0);
    return rig;
}

static void who_does_not_have_the_turn_waits_until_the_other_is_idle(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create_waiting(model, clients);

        clock_ns += 10 * MS - 1; /* a hundredth of a second's turn, less 1 ns */
        settle(rig);
        assert_false(is_answered(&clients[1]));
        clock_ns++;
        settle(rig);
        assert_true(is_answered(&clients[1]));
        assert_ptr_equal(rig->last_evicted, clients[0].objects[0].allocation);
        assert_ptr_equal(rig->vidmm->turns.holder, clients[1].process);
        end(rig, clients);
    }
}

static void a_turn_ends_by_time_though_there_is_work(void **state)
{
    struct client clients[2];
    struct rig *rig = create_waiting(2, clients);
    struct rig_object *working = &clients[0].objects[1];

    act_as(rig, &clients[0]);
    rig_make_resident(rig, working);
    assert_int_equal(rig_gpu_in(rig, rig->context, &working, 1, 4, rig_done, &clients[0].ran),
                     STATUS_SUCCESS);
    clock_ns += 1000 * MS - 1;
    vidmm_forecast_time(rig->vidmm, 0, 0);
    assert_int_equal(rig->eviction_count, 0); /* it works, so it is not idle */
    clock_ns++;
    vidmm_forecast_time(rig->vidmm, 0, 0);
    assert_int_equal(rig->eviction_count, 1);
    assert_ptr_equal(rig->last_evicted, clients[0].objects[0].allocation);
    settle(rig);
    assert_true(is_answered(&clients[1]));
    assert_int_equal(clients[0].ran.calls, 1);
    end(rig, clients);
}

/* The end of its work is told while nobody looks at turns. */
static void a_process_is_idle_from_the_end_of_its_work_on(void **state)
{
    struct client clients[2];
    struct rig *rig = create_waiting(2, clients);
    struct rig_object *working = &clients[0].objects[1];

    act_as(rig, &clients[0]);
    rig_make_resident(rig, working);
    assert_int_equal(rig_gpu_in(rig, rig->context, &working, 1, 4, rig_done, &clients[0].ran),
                     STATUS_SUCCESS);
    clock_ns += 500 * MS;
    while (rig_step_machine(rig))
        ;
    assert_int_equal(clients[0].ran.calls, 1);
    clock_ns += 10 * MS - 1;
    settle(rig);
    assert_false(is_answered(&clients[1]));
    clock_ns++;
    settle(rig);
    assert_true(is_answered(&clients[1]));
    end(rig, clients);
}

/* It waits for what leaves; its turn is over by time, and the other one waits again. */
static void a_request_that_is_being_served_is_served_to_its_end(void **state)
{
    struct client clients[2];
    struct rig *rig = create_waiting(2, clients);

    assert_true(vidmm_pass_turn(rig->vidmm));
    assert_false(is_answered(&clients[1]));
    assert_false(vidmm_pass_turn(rig->vidmm));
    ask(rig, &clients[0], &clients[0].objects[0]);
    clock_ns += 2000 * MS;
    vidmm_forecast_time(rig->vidmm, 0, 0);
    assert_ptr_equal(rig->vidmm->turns.holder, clients[1].process);
    while (!is_answered(&clients[1]))
        assert_true(rig_step_machine(rig));
    settle(rig);
    assert_true(is_answered(&clients[0]));
    end(rig, clients);
}

/* One more client with one object, mapped. */
static struct client open_third(struct rig *rig, uint64_t pages)
{
    struct client third = {.process = NULL};

    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    third.process = rig->process;
    third.device = rig->device;
    third.context = rig->context;
    rig_object(rig, pages, 1, &third.objects[0]);
    if (rig->config.is_virtual)
        rig_map(rig, &third.objects[0]);
    return third;
}

static void who_waits_for_nothing_gets_no_turn(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create(model, clients);
        struct client third = open_third(rig, 100);

        use(rig, &clients[0], &clients[0].objects[0]);
        use(rig, &clients[0], &clients[0].objects[1]);
        ask(rig, &third, &third.objects[0]);
        clock_ns += 10 * MS;
        settle(rig);
        assert_ptr_equal(rig->vidmm->turns.holder, third.process);
        assert_true(is_answered(&third));
        close_second(rig, &third);
        end(rig, clients);
    }
}

/* Its submission runs, and no request of it waits now: the third would take its memory. */
static void who_has_work_gets_its_turn_though_no_request_waits(void **state)
{
    struct client clients[2];
    struct rig *rig = create(2, clients);
    struct client third = open_third(rig, 200);
    struct rig_object *working = &clients[1].objects[0];

    use(rig, &clients[0], &clients[0].objects[0]);
    act_as(rig, &clients[1]);
    rig_make_resident(rig, working);
    assert_int_equal(rig_gpu_in(rig, rig->context, &working, 1, 4, rig_done, &clients[1].ran),
                     STATUS_SUCCESS);
    ask(rig, &third, &third.objects[0]);
    clock_ns += 10 * MS;
    vidmm_forecast_time(rig->vidmm, 0, 0);
    assert_ptr_equal(rig->vidmm->turns.holder, clients[1].process);
    assert_int_equal(third.process->turn.order, 1);
    act_as(rig, &clients[1]);
    rig_evict(rig, working);
    settle(rig);
    clock_ns += 10 * MS;
    settle(rig);
    assert_true(is_answered(&third));
    close_second(rig, &third);
    end(rig, clients);
}

/* In the midst of a turn of another one. */
static void who_begins_to_wait_gets_its_place_in_the_order(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create(model, clients);

        use(rig, &clients[0], &clients[0].objects[0]);
        use(rig, &clients[0], &clients[0].objects[1]);
        assert_int_equal(clients[1].process->turn.order, VIDMM_NO_TURN);
        ask(rig, &clients[1], &clients[1].objects[0]);
        assert_ptr_equal(rig->vidmm->turns.holder, clients[0].process);
        assert_int_equal(clients[1].process->turn.order, 1);
        clock_ns += 10 * MS;
        settle(rig);
        end(rig, clients);
    }
}

static void the_embedder_passes_a_turn_on_when_nothing_else_will_happen(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create_waiting(model, clients);

        assert_true(vidmm_pass_turn(rig->vidmm));
        settle(rig);
        assert_true(is_answered(&clients[1]));
        assert_false(vidmm_pass_turn(rig->vidmm)); /* nobody waits */
        end(rig, clients);
    }
}

static void without_a_clock_or_turns_requests_are_served_in_their_order(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct client clients[2];
        struct rig *rig = create(2, clients);

        if (i)
            rig->vidmm->config.policy = &vidmm_policy_lru;
        else
            rig->vidmm->config.platform.now_ns = NULL;
        use(rig, &clients[0], &clients[0].objects[0]);
        use(rig, &clients[0], &clients[0].objects[1]);
        ask(rig, &clients[1], &clients[1].objects[0]);
        settle(rig);
        assert_true(is_answered(&clients[1]));
        assert_null(rig->vidmm->turns.holder);
        assert_false(vidmm_pass_turn(rig->vidmm));
        end(rig, clients);
    }
}

static void what_fits_is_served_out_of_turn(void **state)
{
    struct client clients[2];
    struct rig *rig = create(2, clients);

    use(rig, &clients[0], &clients[0].objects[0]);
    ask(rig, &clients[1], &clients[1].objects[0]);
    settle(rig);
    assert_true(is_answered(&clients[1]));
    assert_ptr_equal(rig->vidmm->turns.holder, clients[0].process);
    end(rig, clients);
}

/* Requests of a device end in the order in which they were made. */
static void what_fits_is_not_served_before_an_older_request_of_its_device(void **state)
{
    struct client clients[2];
    struct rig *rig = create(2, clients);
    struct client again = clients[1];
    struct rig_object small;

    act_as(rig, &again);
    rig_object(rig, 20, 1, &small);
    rig_map(rig, &small);
    use(rig, &clients[0], &clients[0].objects[0]);
    use(rig, &clients[0], &clients[0].objects[1]);
    ask(rig, &clients[1], &clients[1].objects[0]);
    ask(rig, &again, &small);
    settle(rig);
    assert_false(is_answered(&again));
    clock_ns += 10 * MS;
    settle(rig);
    assert_true(is_answered(&clients[1]) && is_answered(&again));
    act_as(rig, &again);
    rig_destroy_object(rig, &small);
    end(rig, clients);
}

/* The second has the turn, and the first one's older object is away. */
static struct rig *create_away(unsigned model, struct client clients[2])
{
    struct rig *rig = create_waiting(model, clients);

    clock_ns += 10 * MS;
    settle(rig);
    assert_true(is_answered(&clients[1]));
    assert_ptr_equal(rig->vidmm->turns.holder, clients[1].process);
    assert_int_equal(clients[0].objects[0].allocation->listed, LISTED_AWAY);
    assert_int_equal(rig->vidmm->turns.away_bytes, 100 * PAGE_BYTES);
    return rig;
}

/* Its turn is the next: as soon as there is room, for all that the other one still wants. */
static void what_has_left_comes_in_for_the_next_turn(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create_away(model, clients);

        clients[0].process->turn.order = 1; /* it would have to have had work */
        settle(rig);
        assert_false(vidmm_allocation_is_resident(clients[0].objects[0].allocation));
        assert_int_equal(rig->vidmm->statistics.ahead, 0);
        act_as(rig, &clients[1]);
        rig_destroy_object(rig, &clients[1].objects[0]);
        settle(rig);
        assert_int_equal(rig->vidmm->statistics.ahead, 1);
        assert_true(vidmm_allocation_is_resident(clients[0].objects[0].allocation));
        assert_int_equal(rig->vidmm->turns.away_bytes, 0);
        end(rig, clients);
    }
}

/* With it in, too little is spare: it comes in, leaves again, and stays away until work has ended.
 */
static void what_left_for_spare_room_does_not_come_and_go(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct vidmm_policy policy = vidmm_policy_turns;
        struct client clients[2];
        struct rig_object small;
        unsigned steps = 0;
        struct rig *rig;

        policy.spare_bytes = UINT64_MAX; /* a part of the segment: 4 pages */
        rig = create_away(model, clients);
        act_as(rig, &clients[1]);
        rig_object(rig, 54, 1, &small);
        if (rig->config.is_virtual)
            rig_map(rig, &small);
        use(rig, &clients[1], &small);
        rig->vidmm->config.policy = &policy;
        clients[0].process->turn.order = 1;
        rig_destroy_object(rig, &clients[1].objects[0]);
        while (rig_step_machine(rig))
            assert_true(++steps < 500);
        assert_true(rig->vidmm->statistics.ahead <= 2);
        act_as(rig, &clients[1]);
        rig_destroy_object(rig, &small);
        end(rig, clients);
    }
}

/*
 * The first client has lost both of its objects, and the older one comes in ahead. It would run dry
 * before the other one comes in, so it waits; but when the holder has no work, somebody had better
 * run.
 */
static void who_has_lost_some_of_its_set_waits_while_the_holder_works(void **state)
{
    struct client clients[2];
    struct rig *rig = create_away(2, clients);
    struct rig_object *working = &clients[1].objects[0];

    ask(rig, &clients[1], &clients[1].objects[1]);
    settle(rig);
    act_as(rig, &clients[1]);
    rig_destroy_object(rig, &clients[1].objects[1]);
    settle(rig);
    assert_int_equal(rig_gpu_in(rig, rig->context, &working, 1, 4, rig_done, &clients[1].ran),
                     STATUS_SUCCESS);
    ask(rig, &clients[0], &clients[0].objects[0]);
    vidmm_forecast_time(rig->vidmm, 0, 0);
    assert_int_equal(clients[0].objects[0].allocation->state, ALLOCATION_ENTERING);
    assert_int_equal(clients[0].objects[1].allocation->listed, LISTED_AWAY);
    assert_false(list_is_empty(&rig->vidmm->requests));
    while (!clients[1].ran.calls)
        assert_true(rig_step_machine(rig));
    settle(rig);
    assert_true(is_answered(&clients[0]));
    assert_ptr_equal(rig->vidmm->turns.holder, clients[1].process);
    end(rig, clients);
}

/* 56 pages are free, and 100 are away. */
static void what_fits_beside_what_is_away_only_waits_for_its_turn(void **state)
{
    struct client clients[2];
    struct rig *rig = create_away(2, clients);
    struct rig_object small;

    act_as(rig, &clients[0]);
    rig_object(rig, 20, 1, &small);
    rig_map(rig, &small);
    ask(rig, &clients[0], &small);
    settle(rig);
    assert_false(is_answered(&clients[0]));
    clock_ns += 10 * MS;
    settle(rig);
    assert_true(is_answered(&clients[0]));
    act_as(rig, &clients[0]);
    rig_destroy_object(rig, &small);
    end(rig, clients);
}

/* The request needs two that leave, and has the room of both: what is away waits. */
static void nothing_comes_in_for_a_turn_while_a_request_is_served(void **state)
{
    struct client clients[2];
    struct rig *rig = create_away(2, clients);
    struct rig_object large;

    act_as(rig, &clients[1]);
    rig_evict(rig, &clients[1].objects[0]);
    rig_object(rig, 200, 1, &large);
    rig_map(rig, &large);
    clients[0].process->turn.order = 1;
    ask(rig, &clients[1], &large);
    settle(rig);
    assert_true(is_answered(&clients[1]));
    assert_int_equal(rig->eviction_count, 3);
    assert_int_equal(rig->vidmm->statistics.ahead, 0);
    act_as(rig, &clients[1]);
    rig_destroy_object(rig, &large);
    end(rig, clients);
}

/* The third client's turn is farther than the first one's, whose older object is away. */
static void what_is_farther_leaves_for_the_next_turn(void **state)
{
    struct client clients[2];
    struct rig *rig = create(2, clients);
    struct client third = open_third(rig, 50);

    use(rig, &clients[0], &clients[0].objects[0]);
    use(rig, &clients[0], &clients[0].objects[1]);
    use(rig, &third, &third.objects[0]);
    ask(rig, &clients[1], &clients[1].objects[0]);
    clock_ns += 10 * MS;
    settle(rig);
    assert_true(is_answered(&clients[1]));
    assert_int_equal(rig->eviction_count, 1);
    assert_int_equal(clients[0].objects[0].allocation->listed, LISTED_AWAY);
    clients[0].process->turn.order = 1; /* it would have to have had work */
    settle(rig);
    assert_int_equal(rig->eviction_count, 2);
    assert_ptr_equal(rig->last_evicted, third.objects[0].allocation);
    close_second(rig, &third);
    end(rig, clients);
}

/* Turns decide within a group: a low priority, and who is over the budget, go before. */
static void priorities_and_budgets_come_before_turns(void **state)
{
    enum { BY_USE, BY_PRIORITY, BY_BUDGET, WAYS };

    for (unsigned way = BY_USE; way < WAYS; way++) {
        struct client clients[2];
        struct rig *rig = create(2, clients);
        struct client third = open_third(rig, 100);

        use(rig, &clients[0], &clients[0].objects[0]);
        use(rig, &third, &third.objects[0]);
        if (way == BY_PRIORITY)
            assert_int_equal(
                vidmm_set_priority(third.objects[0].allocation, D3DDDI_ALLOCATIONPRIORITY_MINIMUM),
                STATUS_SUCCESS);
        if (way == BY_BUDGET)
            vidmm_set_budget(third.process, VIDMM_BUDGET_LOCAL, 50 * PAGE_BYTES);
        ask(rig, &clients[1], &clients[1].objects[0]);
        clock_ns += 10 * MS;
        settle(rig);
        assert_true(is_answered(&clients[1]));
        assert_int_equal(rig->eviction_count, 1);
        assert_ptr_equal(rig->last_evicted, way == BY_USE ? clients[0].objects[0].allocation
                                                          : third.objects[0].allocation);
        close_second(rig, &third);
        end(rig, clients);
    }
}

/* The time of a turn counts from when the last of what the holder had lost came in. */
static void a_turn_begins_when_its_memory_is_there(void **state)
{
    struct client clients[2];
    struct rig *rig = create_away(2, clients);

    act_as(rig, &clients[1]);
    rig_destroy_object(rig, &clients[1].objects[0]);
    settle(rig);
    rig->vidmm->turns.holder = clients[0].process;
    clock_ns += 300 * MS;
    settle(rig);
    assert_int_equal(rig->vidmm->statistics.ahead, 1);
    assert_int_equal(rig->vidmm->turns.since_ns, clock_ns);
    end(rig, clients);
}

/* The first client has had a second turn since it used its older object. */
static void what_was_not_used_in_the_last_turn_is_not_away(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create(model, clients);

        use(rig, &clients[0], &clients[0].objects[0]);
        clock_ns += 10 * MS;
        use(rig, &clients[1], &clients[1].objects[0]);
        clock_ns += 10 * MS;
        use(rig, &clients[0], &clients[0].objects[1]);
        assert_ptr_equal(rig->last_evicted, clients[1].objects[0].allocation);
        assert_int_equal(clients[1].objects[0].allocation->listed, LISTED_AWAY);
        clock_ns += 10 * MS;
        use(rig, &clients[1], &clients[1].objects[0]);
        assert_ptr_equal(rig->last_evicted, clients[0].objects[0].allocation);
        assert_int_equal(clients[0].objects[0].allocation->listed, LISTED_NOWHERE);
        assert_int_equal(rig->vidmm->turns.away_bytes, 0);
        end(rig, clients);
    }
}

/* The first client has another turn without an end of the one before: others have no work. */
static void what_was_used_before_a_turn_was_given_again_is_away(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create(model, clients);

        use(rig, &clients[0], &clients[0].objects[0]);
        clock_ns += 1000 * MS;
        use(rig, &clients[0], &clients[0].objects[1]);
        assert_ptr_equal(rig->vidmm->turns.holder, clients[0].process);
        assert_int_equal(rig->vidmm->turns.since_ns, clock_ns);
        clock_ns += 10 * MS;
        use(rig, &clients[1], &clients[1].objects[0]);
        assert_ptr_equal(rig->last_evicted, clients[0].objects[0].allocation);
        assert_int_equal(clients[0].objects[0].allocation->listed, LISTED_AWAY);
        end(rig, clients);
    }
}

/* The second client used its older object before its first turn, for which it fitted. */
static void what_was_used_before_the_first_turn_is_away(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create(model, clients);

        use(rig, &clients[0], &clients[0].objects[0]);
        use(rig, &clients[1], &clients[1].objects[0]);
        assert_ptr_equal(rig->vidmm->turns.holder, clients[0].process);
        clock_ns += 10 * MS;
        use(rig, &clients[1], &clients[1].objects[1]);
        assert_ptr_equal(rig->vidmm->turns.holder, clients[1].process);
        assert_ptr_equal(rig->last_evicted, clients[0].objects[0].allocation);
        clock_ns += 10 * MS;
        use(rig, &clients[0], &clients[0].objects[1]);
        assert_false(vidmm_allocation_is_resident(clients[1].objects[0].allocation));
        assert_int_equal(clients[1].objects[0].allocation->listed, LISTED_AWAY);
        end(rig, clients);
    }
}

static void what_is_offered_or_destroyed_is_not_away(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct client clients[2];
        struct rig *rig = create_away(2, clients);
        struct rig_object *away = &clients[0].objects[0];

        act_as(rig, &clients[0]);
        if (i) {
            rig_destroy_object(rig, away);
        } else {
            assert_int_equal(vidmm_offer(rig->device, 1, &away->allocation, VIDMM_OFFER_NORMAL),
                             STATUS_SUCCESS);
            assert_int_equal(away->allocation->listed, LISTED_OFFERED);
        }
        settle(rig);
        assert_true(list_is_empty(&clients[0].process->turn.away));
        assert_int_equal(rig->vidmm->turns.away_bytes, 0);
        end(rig, clients);
    }
}

/* It would come in and leave again for as long as the lock waits. */
static void what_leaves_for_the_cpu_is_not_away(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        struct client clients[2];
        struct rig *rig = create_away(model, clients);
        struct rig_object *object = &clients[0].objects[1];

        assert_true(vidmm_allocation_is_resident(object->allocation));
        act_as(rig, &clients[0]);
        rig_cpu(rig, object, false);
        assert_false(vidmm_allocation_is_resident(object->allocation));
        assert_int_equal(object->allocation->listed, LISTED_NOWHERE);
        assert_int_equal(rig->vidmm->turns.away_bytes, 100 * PAGE_BYTES);
        end(rig, clients);
    }
}

static void tell(struct rig_object *object, uint64_t use_ns)
{
    assert_int_equal(vidmm_forecast_uses(object->allocation, 1, &use_ns), STATUS_SUCCESS);
}

/* The clock of the forecast does not move, so what comes and goes now would do so for ever. */
static void settle_at(struct rig *rig, uint64_t done_ns)
{
    unsigned steps = 0;

    vidmm_forecast_time(rig->vidmm, done_ns, done_ns);
    while (rig_step_machine(rig))
        assert_true(++steps < 200);
}

/*
 * Hints and turns together. The first client's object is used last, so it leaves for what will be
 * created; the turn of its process is the next one, and there is room for it until then.
 */
static void what_has_left_for_what_is_created_does_not_come_back_for_a_turn(void **state)
{
    for (unsigned model = 0; model < RIG_MODELS; model++) {
        const struct vidmm_demand demand = {.at_ns = 30 * MS, .created = 100 * PAGE_BYTES};
        struct vidmm_policy policy = vidmm_policy_hinted;
        struct client clients[2];
        struct rig_object *last;
        struct rig *rig;

        policy.turn_ns = 1000 * MS;
        rig = create_with(model, &policy, clients);
        last = &clients[0].objects[0];
        use(rig, &clients[0], last);
        clock_ns += 10 * MS;
        use(rig, &clients[1], &clients[1].objects[0]);
        assert_ptr_equal(rig->vidmm->turns.holder, clients[1].process);
        assert_int_equal(rig->eviction_count, 0);
        clients[0].process->turn.order = 1; /* it would have to have had work */
        tell(last, 800 * MS);
        tell(&clients[1].objects[0], 700 * MS);
        assert_int_equal(vidmm_forecast_demand(rig->vidmm, 1, 1, &demand), STATUS_SUCCESS);
        settle_at(rig, 1);
        assert_int_equal(rig->eviction_count, 1);
        assert_ptr_equal(rig->last_evicted, last->allocation);
        assert_false(vidmm_allocation_is_resident(last->allocation));
        assert_int_equal(rig->vidmm->statistics.ahead, 0);
        assert_int_equal(rig->vidmm->turns.away_bytes, 0);
        end(rig, clients);
    }
}

static void who_is_destroyed_has_no_turn(void **state)
{
    struct client clients[2];
    struct rig *rig = create_away(2, clients);

    close_second(rig, &clients[1]);
    clients[1].process = NULL;
    assert_null(rig->vidmm->turns.holder);
    use(rig, &clients[0], &clients[0].objects[0]);
    assert_ptr_equal(rig->vidmm->turns.holder, clients[0].process);
    end(rig, clients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_have_the_turn_waits_until_the_other_is_idle),
        cmocka_unit_test(a_turn_ends_by_time_though_there_is_work),
        cmocka_unit_test(a_process_is_idle_from_the_end_of_its_work_on),
        cmocka_unit_test(a_request_that_is_being_served_is_served_to_its_end),
        cmocka_unit_test(who_waits_for_nothing_gets_no_turn),
        cmocka_unit_test(who_has_work_gets_its_turn_though_no_request_waits),
        cmocka_unit_test(who_begins_to_wait_gets_its_place_in_the_order),
        cmocka_unit_test(the_embedder_passes_a_turn_on_when_nothing_else_will_happen),
        cmocka_unit_test(without_a_clock_or_turns_requests_are_served_in_their_order),
        cmocka_unit_test(what_fits_is_served_out_of_turn),
        cmocka_unit_test(what_fits_is_not_served_before_an_older_request_of_its_device),
        cmocka_unit_test(what_has_left_comes_in_for_the_next_turn),
        cmocka_unit_test(what_left_for_spare_room_does_not_come_and_go),
        cmocka_unit_test(who_has_lost_some_of_its_set_waits_while_the_holder_works),
        cmocka_unit_test(what_fits_beside_what_is_away_only_waits_for_its_turn),
        cmocka_unit_test(nothing_comes_in_for_a_turn_while_a_request_is_served),
        cmocka_unit_test(what_is_farther_leaves_for_the_next_turn),
        cmocka_unit_test(priorities_and_budgets_come_before_turns),
        cmocka_unit_test(a_turn_begins_when_its_memory_is_there),
        cmocka_unit_test(what_was_not_used_in_the_last_turn_is_not_away),
        cmocka_unit_test(what_was_used_before_a_turn_was_given_again_is_away),
        cmocka_unit_test(what_was_used_before_the_first_turn_is_away),
        cmocka_unit_test(what_is_offered_or_destroyed_is_not_away),
        cmocka_unit_test(what_leaves_for_the_cpu_is_not_away),
        cmocka_unit_test(what_has_left_for_what_is_created_does_not_come_back_for_a_turn),
        cmocka_unit_test(who_is_destroyed_has_no_turn),
    };

    return cmocka_run_group_tests_name("vidmm/turns", tests, NULL, NULL);
}
