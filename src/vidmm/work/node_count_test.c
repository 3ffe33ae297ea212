/* What nodes have done: time, switches between contexts, packets; of processes and of the system.
 */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/node_count.h"
#include "vidmm/work/submission.h"

static uint64_t clock_ns, tick_ns; /* it goes on by a tick when it is read */

static uint64_t read_clock(void *context)
{
    return clock_ns += tick_ns;
}

static NTSTATUS do_nothing(struct miniport *self, HANDLE adapter)
{
    return STATUS_SUCCESS;
}

struct party {
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;
    struct rig_object object;
    struct rig_done done;
};

static void act_as(struct rig *rig, const struct party *party)
{
    rig->process = party->process;
    rig->device = party->device;
    rig->context = party->context;
}

static struct rig *make(struct party parties[2])
{
    struct rig_config config = rig_model(0);
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    rig->ops.reset_from_timeout = rig->ops.restart_from_timeout = do_nothing;
    rig->vidmm->config.platform.now_ns = read_clock;
    clock_ns = tick_ns = 0;
    for (unsigned i = 0; i < 2; i++) {
        parties[i] =
            (struct party){.process = rig->process, .device = rig->device, .context = rig->context};
        rig_object(rig, 4, 1, &parties[i].object);
        if (config.is_virtual)
            rig_map(rig, &parties[i].object);
        rig_make_resident(rig, &parties[i].object);
        if (!i)
            assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    }
    rig_drain(rig);
    return rig;
}

static void submit_at(struct rig *rig, struct party *party, uint64_t ns)
{
    struct rig_object *object = &party->object;

    clock_ns = ns;
    assert_int_equal(rig_gpu_in(rig, party->context, &object, 1, 1, rig_done, &party->done),
                     STATUS_SUCCESS);
}

static void run_at(struct rig *rig, unsigned node, uint64_t ns)
{
    clock_ns = ns;
    rig_run_next(rig, node);
    rig_tell(rig);
}

static struct vidmm_node_counts part_of(const struct party *party)
{
    struct vidmm_node_counts counts;

    vidmm_process_node_counts(party->process, party->context->node, &counts);
    return counts;
}

static struct vidmm_node_counts all_of(const struct rig *rig, unsigned node)
{
    struct vidmm_node_counts all, system;

    vidmm_node_counts(rig->vidmm, node, &all, &system);
    assert_int_equal(system.work.queued, 0);
    return all;
}

static void end(struct rig *rig, struct party parties[2])
{
    for (unsigned i = 0; i < 2; i++) {
        vidmm_device_clear_error(parties[i].device);
        act_as(rig, &parties[i]);
        rig_destroy_object(rig, &parties[i].object);
    }
    rig_drain(rig);
    vidmm_context_destroy(parties[0].context);
    vidmm_device_destroy(parties[0].device);
    vidmm_process_destroy(parties[0].process);
    rig_drain(rig);
    act_as(rig, &parties[1]);
    rig_free(rig);
}

/* Two of one process and one of another, which stand in line; then one that never ends. */
static void time_is_of_the_packet_that_ends_next(void **state)
{
    struct party parties[2];
    struct rig *rig = make(parties);
    const unsigned node = parties[0].context->node;
    const struct vidmm_node_counts before = all_of(rig, node);
    struct vidmm_node_counts all;

    assert_int_equal(part_of(&parties[0]).switches, 0);
    submit_at(rig, &parties[0], 100);
    submit_at(rig, &parties[1], 150);
    run_at(rig, node, 250);
    assert_int_equal(part_of(&parties[0]).running_ns, 150);
    assert_int_equal(part_of(&parties[1]).running_ns, 0);
    run_at(rig, node, 300);
    assert_int_equal(part_of(&parties[1]).running_ns, 50);
    submit_at(rig, &parties[0], 1000); /* while it is idle no time is counted */
    run_at(rig, node, 1007);
    assert_int_equal(part_of(&parties[0]).running_ns, 157);
    submit_at(rig, &parties[0], 1100); /* in the context that the node is in */
    run_at(rig, node, 1103);
    assert_int_equal(part_of(&parties[0]).switches, 2);
    assert_int_equal(part_of(&parties[1]).switches, 1);
    assert_int_equal(part_of(&parties[0]).work.queued, 3);
    assert_int_equal(part_of(&parties[0]).work.submitted, 3);
    assert_int_equal(part_of(&parties[0]).work.completed, 3);
    all = all_of(rig, node);
    assert_int_equal(all.running_ns, before.running_ns + 210);
    assert_int_equal(all.switches, before.switches + 3);
    assert_int_equal(all.work.completed, before.work.completed + 4);

    submit_at(rig, &parties[1], 2000);
    submit_at(rig, &parties[1], 2000);
    submit_at(rig, &parties[1], 2000); /* the driver has no room for it */
    rig_hang(rig);
    clock_ns = 2040;
    tick_ns = 5;
    vidmm_reset(rig->vidmm);
    tick_ns = 0;
    assert_int_equal(part_of(&parties[1]).work.failed, 3);
    assert_int_equal(part_of(&parties[1]).work.completed, 1);
    assert_int_equal(part_of(&parties[1]).work.submitted, 3);
    assert_int_equal(part_of(&parties[1]).running_ns, 50 + 45 + 5); /* none of the third */
    rig_drain(rig);
    end(rig, parties);
}

/* The scheduler tells of the newest one first, which has not begun. */
static void time_before_a_preemption_is_of_the_packet_that_ran(void **state)
{
    struct party parties[2];
    struct rig *rig = make(parties);
    const unsigned node = parties[0].context->node;
    struct vidsch_packet *packets[2];

    submit_at(rig, &parties[0], 100);
    submit_at(rig, &parties[1], 110);
    packets[0] = &list_first_entry(&rig->vidmm->submissions, struct submission, link)->packet;
    packets[1] = &container_of(rig->vidmm->submissions.prev, struct submission, link)->packet;
    assert_ptr_not_equal(packets[0], packets[1]);
    clock_ns = 300;
    for (unsigned i = 2; i-- > 0;)
        node_counts_told(rig->vidmm, &(struct vidsch_told){.step = VIDSCH_CAME_BACK,
                                                           .packet = packets[i],
                                                           .node = node,
                                                           .in_flight = i});
    assert_int_equal(part_of(&parties[0]).running_ns, 200);
    assert_int_equal(part_of(&parties[1]).running_ns, 0);
    assert_int_equal(part_of(&parties[1]).work.came_back, 1);
    for (unsigned i = 0; i < 2; i++) /* they go again */
        node_counts_told(rig->vidmm, &(struct vidsch_told){.step = VIDSCH_SUBMITTED,
                                                           .packet = packets[i],
                                                           .node = node,
                                                           .in_flight = i + 1});
    rig_drain(rig);
    end(rig, parties);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_of_the_packet_that_ends_next),
        cmocka_unit_test(time_before_a_preemption_is_of_the_packet_that_ran),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
