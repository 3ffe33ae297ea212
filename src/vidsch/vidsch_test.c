/* vidsch: directed tests of each rule, with packets that only write down what happened. */
#include "vidsch/vidsch.h"

#include "vidsch/test_told.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "tests/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define EVENT_COUNT 64

struct bench;

struct test_packet {
    struct vidsch_packet base;
    struct bench *bench;
    char name;
    NTSTATUS prepare_result;
    NTSTATUS submit_result;
    bool completes_at_once;   /* interrupt and DPC inside submit() */
    struct test_packet *then; /* submitted to the same context by retired() */
    bool destroys_context;    /* by retired() */
    bool aborts;              /* by retired() */
};

/* What happened, one letter pair an event: "pA" prepared, "sA" submitted, "rA" retired, "fA". */
struct bench {
    struct failing_services memory;
    struct vidsch *vidsch;
    char log[3 * EVENT_COUNT + 1];
    char last_rule[16];
    char last_text[192];
    unsigned error_count;
    unsigned fault_count;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA last_fault;
    uint32_t fault_ids; /* their decimal digits, one behind the other */
    bool aborts_on_fault;
    NTSTATUS last_status;
};

static void write_down(struct bench *bench, char what, char name)
{
    size_t length = strlen(bench->log);

    assert_true(length + 3 < sizeof bench->log);
    if (length)
        bench->log[length++] = ' ';
    bench->log[length++] = what;
    bench->log[length++] = name;
    bench->log[length] = '\0';
    told_number((uint64_t)what << 8 | (uint8_t)name);
    vidsch_told_state(bench->vidsch);
}

static void report(struct bench *bench, unsigned node, uint32_t id)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.SubmissionFenceId = id;
    data.DmaCompleted.NodeOrdinal = node;
    vidsch_notify_interrupt(bench->vidsch, &data);
}

static void complete(struct bench *bench, unsigned node, uint32_t id)
{
    report(bench, node, id);
    vidsch_notify_dpc(bench->vidsch);
}

static NTSTATUS prepare(struct vidsch_packet *base, struct miniport *miniport)
{
    struct test_packet *packet = container_of(base, struct test_packet, base);

    assert_null(miniport);
    write_down(packet->bench, 'p', packet->name);
    return packet->prepare_result;
}

static NTSTATUS submit(struct vidsch_packet *base, struct miniport *miniport)
{
    struct test_packet *packet = container_of(base, struct test_packet, base);

    assert_null(miniport);
    write_down(packet->bench, 's', packet->name);
    if (packet->completes_at_once)
        complete(packet->bench, 0, base->fence_id);
    return packet->submit_result;
}

static void retired(struct vidsch_packet *base, NTSTATUS status)
{
    struct test_packet *packet = container_of(base, struct test_packet, base);
    struct bench *bench = packet->bench;
    struct vidsch_context *context = base->context;

    memset(base, 0xdd, sizeof *base); /* vidsch does not touch it any more */
    write_down(bench, NT_SUCCESS(status) ? 'r' : 'f', packet->name);
    bench->last_status = status;
    if (packet->then)
        vidsch_submit(context, &packet->then->base);
    if (packet->aborts)
        vidsch_abort(bench->vidsch, STATUS_DEVICE_REMOVED);
    if (packet->destroys_context)
        vidsch_context_destroy(context);
}

static const struct vidsch_packet_ops prepared_ops = {prepare, submit, retired, 0};
static const struct vidsch_packet_ops plain_ops = {NULL, submit, retired, 0};

static void driver_error(void *context, const char *rule, const char *text)
{
    struct bench *bench = context;

    bench->error_count++;
    snprintf(bench->last_rule, sizeof bench->last_rule, "%s", rule);
    snprintf(bench->last_text, sizeof bench->last_text, "%s", text);
    told_text(text);
}

static void page_fault(void *context, unsigned node, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                       const struct vidsch_packet *packet)
{
    struct bench *bench = context;

    assert_int_equal(node, data->DmaPageFaulted.NodeOrdinal);
    bench->fault_count++;
    bench->last_fault = *data;
    bench->fault_ids = bench->fault_ids * 10 + data->DmaPageFaulted.FaultedFenceId % 10;
    if (bench->aborts_on_fault)
        vidsch_abort(bench->vidsch, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
}

static struct vidsch_events events = {.driver_error = driver_error, .page_fault = page_fault};

static void bench_init_as(struct bench *bench, const struct vidsch_config *config)
{
    memset(bench, 0, sizeof *bench);
    failing_services_init(&bench->memory);
    events.context = bench;
    assert_int_equal(vidsch_create(&bench->memory.services, NULL, config, &events, &bench->vidsch),
                     STATUS_SUCCESS);
}

static void bench_init(struct bench *bench, unsigned node_count, unsigned depth, uint32_t first_id)
{
    bench_init_as(bench, &(struct vidsch_config){.node_count = node_count,
                                                 .hardware_queue_depth = depth,
                                                 .first_fence_id = first_id});
}

static void bench_fini(struct bench *bench)
{
    vidsch_told_state(bench->vidsch);
    vidsch_check(bench->vidsch);
    assert_true(vidsch_is_idle(bench->vidsch));
    vidsch_destroy(bench->vidsch);
    assert_int_equal(bench->memory.live_blocks, 0);
}

static struct vidsch_context *new_context(struct bench *bench, unsigned node, bool is_paging)
{
    struct vidsch_context *context;

    assert_int_equal(vidsch_context_create(bench->vidsch, node, is_paging, &context),
                     STATUS_SUCCESS);
    return context;
}

static void packets_init(struct bench *bench, struct test_packet *packets, unsigned count)
{
    memset(packets, 0, count * sizeof *packets);
    for (unsigned i = 0; i < count; i++) {
        packets[i].base.ops = &plain_ops;
        packets[i].bench = bench;
        packets[i].name = (char)('A' + i);
    }
}

static void a_packet_goes_at_once_and_retires_at_the_dpc(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packet;

    bench_init(&bench, 1, 4, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, &packet, 1);
    packet.base.ops = &prepared_ops;

    vidsch_submit(context, &packet.base);
    assert_string_equal(bench.log, "pA sA");
    assert_int_equal(packet.base.fence_id, 1);
    assert_false(vidsch_context_is_idle(context));
    report(&bench, 0, 1);
    vidsch_check(bench.vidsch);
    assert_string_equal(bench.log, "pA sA");
    assert_int_equal(vidsch_context_retired(context), 0);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "pA sA rA");
    assert_int_equal(vidsch_context_submitted(context), 1);
    assert_int_equal(vidsch_context_retired(context), 1);
    assert_int_equal(bench.error_count, 0);

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void one_id_retires_all_before_it_in_order(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[3];

    bench_init(&bench, 1, 4, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 3);
    for (unsigned i = 0; i < 3; i++)
        vidsch_submit(context, &packets[i].base);
    complete(&bench, 0, 2);
    assert_string_equal(bench.log, "sA sB sC rA rB");
    complete(&bench, 0, 3);
    assert_string_equal(bench.log, "sA sB sC rA rB rC");
    assert_int_equal(bench.error_count, 0);

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void contexts_take_turns_and_paging_goes_first(void **state)
{
    struct bench bench;
    struct vidsch_context *contexts[3];
    struct test_packet packets[7];

    bench_init(&bench, 1, 1, 0);
    contexts[0] = new_context(&bench, 0, false);
    contexts[1] = new_context(&bench, 0, false);
    contexts[2] = new_context(&bench, 0, true);
    packets_init(&bench, packets, 7);
    vidsch_submit(contexts[0], &packets[0].base);
    vidsch_submit(contexts[0], &packets[1].base);
    vidsch_submit(contexts[0], &packets[2].base);
    vidsch_submit(contexts[1], &packets[3].base);
    vidsch_submit(contexts[1], &packets[4].base);
    vidsch_submit(contexts[2], &packets[5].base);
    vidsch_submit(contexts[2], &packets[6].base);
    for (uint32_t id = 1; id <= 7; id++) {
        complete(&bench, 0, id);
        vidsch_check(bench.vidsch);
    }
    assert_string_equal(bench.log, "sA rA sF rF sG rG sB rB sD rD sC rC sE rE");

    for (unsigned i = 0; i < ARRAY_COUNT(contexts); i++)
        vidsch_context_destroy(contexts[i]);
    bench_fini(&bench);
}

static void a_packet_waits_for_its_fence_and_holds_its_context(void **state)
{
    struct bench bench;
    struct vidsch_context *first, *second;
    struct vidsch_fence fence;
    struct test_packet packets[3];

    bench_init(&bench, 1, 4, 0);
    first = new_context(&bench, 0, false);
    second = new_context(&bench, 0, false);
    vidsch_fence_init(&fence);
    packets_init(&bench, packets, 3);
    packets[0].base.wait_fence = &fence;
    packets[0].base.wait_value = 5;
    vidsch_submit(first, &packets[0].base);
    vidsch_submit(first, &packets[1].base);
    vidsch_submit(second, &packets[2].base);
    assert_string_equal(bench.log, "sC");
    vidsch_fence_signal(bench.vidsch, &fence, 4);
    assert_string_equal(bench.log, "sC");
    vidsch_fence_signal(bench.vidsch, &fence, 5);
    assert_string_equal(bench.log, "sC sA sB");
    vidsch_fence_signal(bench.vidsch, &fence, 3);
    assert_int_equal(fence.value, 5);
    complete(&bench, 0, 3);

    vidsch_context_destroy(first);
    vidsch_context_destroy(second);
    bench_fini(&bench);
}

static void a_context_on_hold_does_not_go_when_its_fence_comes(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct vidsch_fence fence;
    struct test_packet packet;

    bench_init(&bench, 1, 2, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, &packet, 1);
    vidsch_fence_init(&fence);
    packet.base.wait_fence = &fence;
    packet.base.wait_value = 1;
    vidsch_submit(context, &packet.base);
    vidsch_context_hold(context);
    vidsch_context_release(context); /* it waits again, once */
    vidsch_context_hold(context);
    vidsch_fence_signal(bench.vidsch, &fence, 1);
    assert_string_equal(bench.log, "");
    vidsch_context_release(context);
    assert_string_equal(bench.log, "sA");
    complete(&bench, 0, 1);
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

/* The id of a packet that could not be prepared was taken, and its turn comes in the reset. */
static void an_adapter_reset_ends_a_packet_that_was_not_prepared(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[2];
    ULONGLONG submitted, completed;

    bench_init(&bench, 1, 4, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 2);
    packets[1].base.ops = &prepared_ops;
    packets[1].prepare_result = STATUS_NO_MEMORY;
    vidsch_submit(context, &packets[0].base);
    vidsch_submit(context, &packets[1].base);
    assert_string_equal(bench.log, "sA pB");
    vidsch_set_gate(bench.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(bench.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    assert_string_equal(bench.log, "sA pB fA fB");
    assert_int_equal(bench.last_status, STATUS_NO_MEMORY);
    vidsch_node_fences(bench.vidsch, 0, &submitted, &completed);
    assert_int_equal(submitted, 2);
    assert_int_equal(completed, 2);
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void fence_ids_leap_to_the_wrap_while_a_node_is_idle(void **state)
{
    struct vidsch_context *context;
    struct test_packet packets[12];
    uint32_t last = 0, leaps = 0, ids[ARRAY_COUNT(packets)];
    struct bench bench;

    bench_init_as(&bench, &(struct vidsch_config){
                              .node_count = 1, .hardware_queue_depth = 2, .ids_before_wrap = 2});
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, ARRAY_COUNT(packets));
    for (unsigned i = 0; i < ARRAY_COUNT(packets); i += 2) {
        uint32_t id;

        vidsch_submit(context, &packets[i].base);
        ids[i] = id = packets[i].base.fence_id;
        vidsch_submit(context, &packets[i + 1].base);
        /* The second one finds the node at work, and follows the first. */
        assert_int_equal(packets[i + 1].base.fence_id, (uint32_t)(id + 1));
        assert_true(id - last <= 0x60000001u);
        leaps += id - last > 0x1001;
        last = id + 1;
        complete(&bench, 0, last);
    }
    assert_int_equal(leaps, 3);
    assert_int_equal(ids[4], UINT32_MAX - 1);
    assert_int_equal(ids[6], 0x1000);
    assert_int_equal(ids[8], 0x1002);
    assert_int_equal(bench.error_count, 0);
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

/* What an adapter reset counts as reported the driver has not named: its ids go on as they were. */
static void fence_ids_leap_from_one_that_the_driver_has_named(void **state)
{
    struct vidsch_context *context;
    struct test_packet packets[3];
    struct bench bench;
    uint32_t id;

    bench_init_as(&bench, &(struct vidsch_config){
                              .node_count = 1, .hardware_queue_depth = 2, .ids_before_wrap = 2});
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, ARRAY_COUNT(packets));
    vidsch_submit(context, &packets[0].base);
    id = packets[0].base.fence_id;
    vidsch_set_gate(bench.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(bench.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    vidsch_set_gate(bench.vidsch, VIDSCH_OPEN);
    vidsch_submit(context, &packets[1].base);
    assert_int_equal(packets[1].base.fence_id, id + 1);
    complete(&bench, 0, id + 1);
    vidsch_submit(context, &packets[2].base);
    assert_true(packets[2].base.fence_id - id > 2);
    complete(&bench, 0, packets[2].base.fence_id);
    assert_int_equal(bench.error_count, 0);
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

/* Ids that have come to the wrap by themselves begin their leaps behind it. */
static void fence_ids_that_begin_at_the_wrap_leap_behind_it(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    static const uint32_t ids[] = {UINT32_MAX - 1, UINT32_MAX, 0x60000000};
    struct test_packet packets[ARRAY_COUNT(ids)];

    bench_init_as(&bench, &(struct vidsch_config){.node_count = 1,
                                                  .hardware_queue_depth = 2,
                                                  .ids_before_wrap = 2,
                                                  .first_fence_id = UINT32_MAX - 1});
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, ARRAY_COUNT(packets));
    for (unsigned i = 0; i < ARRAY_COUNT(packets); i++) {
        vidsch_submit(context, &packets[i].base);
        assert_int_equal(packets[i].base.fence_id, ids[i]);
        complete(&bench, 0, packets[i].base.fence_id);
    }
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void fence_ids_pass_the_wrap(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[4];

    bench_init(&bench, 1, 4, UINT32_MAX - 1);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 4);
    for (unsigned i = 0; i < 4; i++)
        vidsch_submit(context, &packets[i].base);
    assert_int_equal(packets[0].base.fence_id, UINT32_MAX - 1);
    assert_int_equal(packets[3].base.fence_id, 1);
    complete(&bench, 0, UINT32_MAX);
    assert_string_equal(bench.log, "sA sB sC sD rA rB");
    complete(&bench, 0, 1);
    assert_string_equal(bench.log, "sA sB sC sD rA rB rC rD");
    assert_int_equal(bench.error_count, 0);

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void rule_FENCE_002_is_found_when_broken(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[2];

    bench_init(&bench, 2, 4, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 2);
    vidsch_submit(context, &packets[0].base);
    vidsch_submit(context, &packets[1].base);

    complete(&bench, 0, 3); /* never submitted */
    assert_int_equal(bench.error_count, 1);
    assert_string_equal(bench.last_rule, "FENCE-002");
    assert_string_equal(bench.last_text, "DMA_COMPLETED reported fence id 3 on node 0; "
                                         "reported before: 0, last submitted: 2");
    complete(&bench, 1, 1); /* submitted to another node */
    assert_int_equal(bench.error_count, 2);
    complete(&bench, 2, 1); /* no such node */
    assert_int_equal(bench.error_count, 3);
    assert_string_equal(bench.last_text,
                        "fence id 1 was reported on node 2; the adapter has 2 nodes");
    assert_string_equal(bench.log, "sA sB");
    complete(&bench, 0, 2);
    assert_int_equal(bench.error_count, 3);
    complete(&bench, 0, 2); /* retired already */
    assert_int_equal(bench.error_count, 4);
    complete(&bench, 0, 1);
    assert_int_equal(bench.error_count, 5);
    assert_string_equal(bench.log, "sA sB rA rB");

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void a_storm_of_wrong_reports_is_counted(void **state)
{
    struct bench bench;

    bench_init(&bench, 1, 1, 0);
    for (unsigned i = 0; i < 100; i++)
        report(&bench, 0, 7);
    assert_int_equal(bench.error_count, 0);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.last_text, "92 more wrong interrupt reports before this DPC");
    assert_int_equal(bench.error_count, 9);
    bench_fini(&bench);
}

static void other_wrong_interrupts_name_their_rule(void **state)
{
    struct bench bench;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    bench_init(&bench, 1, 1, 0);
    data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.last_rule, "FENCE-007");
    data.InterruptType = DXGK_INTERRUPT_DMA_FAULTED;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.last_rule, "FENCE-010");
    data.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.error_count, 2);
    bench_fini(&bench);
}

static void a_packet_that_the_driver_refuses_retires_in_its_turn(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[4];

    bench_init(&bench, 1, 4, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 4);
    packets[1].submit_result = STATUS_INVALID_PARAMETER;
    packets[2].base.ops = &prepared_ops;
    packets[2].prepare_result = STATUS_UNSUCCESSFUL;
    vidsch_submit(context, &packets[0].base);
    vidsch_submit(context, &packets[1].base);
    assert_string_equal(bench.last_rule, "SUB-001");
    assert_string_equal(bench.last_text,
                        "SubmitCommand of fence id 2 on node 0 returned 0xC000000D");
    vidsch_submit(context, &packets[2].base);
    assert_string_equal(bench.last_rule, "PATCH-002");
    vidsch_submit(context, &packets[3].base);
    assert_string_equal(bench.log, "sA sB pC sD");
    vidsch_check(bench.vidsch);

    complete(&bench, 0, 1);
    assert_string_equal(bench.log, "sA sB pC sD rA fB fC");
    assert_int_equal(bench.last_status, STATUS_UNSUCCESSFUL);
    report(&bench, 0, 2); /* a refused id may be reported (SUB-012) */
    complete(&bench, 0, 4);
    assert_string_equal(bench.log, "sA sB pC sD rA fB fC rD");
    assert_int_equal(bench.error_count, 2);

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

/* SUB-011, SUB-012: lawful for what is not paging, and with no other status. */
static void a_virtual_submission_may_be_refused_as_invalid(void **state)
{
    static const struct {
        bool is_paging;
        NTSTATUS status;
        unsigned errors;
    } refusals[] = {
        {false, STATUS_INVALID_PARAMETER, 0},
        {false, STATUS_NO_MEMORY, 1},
        {true, STATUS_INVALID_PARAMETER, 1},
    };

    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct bench bench;
        struct vidsch_context *context;
        struct test_packet packets[2];

        bench_init(&bench, 1, 4, 0);
        context = new_context(&bench, 0, refusals[i].is_paging);
        packets_init(&bench, packets, 2);
        for (unsigned n = 0; n < 2; n++) {
            packets[n].base.is_virtual = true;
            packets[n].base.is_paging = refusals[i].is_paging;
        }
        packets[1].submit_result = refusals[i].status;
        vidsch_submit(context, &packets[0].base);
        vidsch_submit(context, &packets[1].base);
        assert_int_equal(bench.error_count, refusals[i].errors);
        if (refusals[i].errors)
            assert_string_equal(bench.last_rule, "SUB-011");
        complete(&bench, 0, 1);
        assert_string_equal(bench.log, "sA sB rA fB");
        assert_int_equal(bench.last_status, refusals[i].status);
        vidsch_context_destroy(context);
        bench_fini(&bench);
    }
}

static void a_driver_may_complete_inside_submit(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[3];

    bench_init(&bench, 1, 1, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 3);
    for (unsigned i = 0; i < 3; i++)
        packets[i].completes_at_once = true;
    packets[0].then = &packets[1];
    packets[1].then = &packets[2];
    packets[2].destroys_context = true;
    vidsch_submit(context, &packets[0].base);
    assert_string_equal(bench.log, "sA rA sB rB sC rC");
    assert_int_equal(bench.error_count, 0);
    bench_fini(&bench);
}

static void abort_retires_everything_in_order(void **state)
{
    struct bench bench;
    struct vidsch_context *context, *waiting;
    struct vidsch_fence fence;
    struct test_packet packets[6];

    bench_init(&bench, 1, 1, 0);
    context = new_context(&bench, 0, false);
    waiting = new_context(&bench, 0, false);
    vidsch_fence_init(&fence);
    packets_init(&bench, packets, 6);
    packets[3].base.wait_fence = &fence;
    packets[3].base.wait_value = 1;
    packets[0].then = &packets[5];
    for (unsigned i = 0; i < 3; i++)
        vidsch_submit(context, &packets[i].base);
    vidsch_submit(waiting, &packets[3].base);
    vidsch_submit(waiting, &packets[4].base);
    report(&bench, 0, 1); /* and no DPC: the abort swallows it */

    vidsch_abort(bench.vidsch, STATUS_DEVICE_REMOVED);
    assert_string_equal(bench.log, "sA fA fB fC fD fE sF");
    assert_int_equal(bench.last_status, STATUS_DEVICE_REMOVED);
    assert_true(list_is_empty(&fence.waiters));
    assert_true(vidsch_context_is_idle(waiting));
    vidsch_check(bench.vidsch);
    complete(&bench, 0, 1); /* TDR-006: nothing old is reported later */
    assert_string_equal(bench.last_rule, "FENCE-002");
    complete(&bench, 0, 2);
    assert_string_equal(bench.log, "sA fA fB fC fD fE sF rF");

    vidsch_context_destroy(context);
    vidsch_context_destroy(waiting);
    bench_fini(&bench);
}

static void abort_may_come_from_a_retired_packet(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[5];

    bench_init(&bench, 1, 3, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 5);
    packets[0].aborts = true;
    packets[2].aborts = true;
    packets[2].then = &packets[4];
    for (unsigned i = 0; i < 4; i++)
        vidsch_submit(context, &packets[i].base);
    complete(&bench, 0, 2);
    assert_string_equal(bench.log, "sA sB sC rA fB fC fD fE");
    assert_true(vidsch_context_is_idle(context));
    assert_int_equal(vidsch_context_retired(context), 5);

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void a_page_fault_is_told_before_anything_retires(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[2];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    bench_init(&bench, 1, 2, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 2);
    vidsch_submit(context, &packets[0].base);
    vidsch_submit(context, &packets[1].base);
    data.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
    data.DmaPageFaulted.FaultedFenceId = 1;
    data.DmaPageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
    vidsch_notify_interrupt(bench.vidsch, &data);
    assert_int_equal(bench.fault_count, 0);
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.fault_count, 1);
    assert_string_equal(bench.log, "sA sB");

    /* Two more fit; the next is one too many for two packets. */
    for (unsigned i = 0; i < 3; i++)
        vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.fault_count, 3);
    assert_int_equal(bench.error_count, 1);
    assert_string_equal(bench.last_rule, "FENCE-010");

    /* Neither a packet that was never submitted, nor one that is complete. */
    data.DmaPageFaulted.FaultedFenceId = 3;
    vidsch_notify_interrupt(bench.vidsch, &data);
    data.DmaPageFaulted.FaultedFenceId = 0;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.fault_count, 3);
    assert_int_equal(bench.error_count, 3);
    assert_string_equal(bench.last_rule, "FENCE-010");

    data.DmaPageFaulted.NodeOrdinal = 1;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.last_rule, "FENCE-002");

    data.DmaPageFaulted.NodeOrdinal = 0;
    data.DmaPageFaulted.FaultedFenceId = 2;
    bench.aborts_on_fault = true;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB fA fB");

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void faults_in_front_of_one_DPC_are_told_in_their_order(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[3];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    bench_init(&bench, 1, 3, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 3);
    for (unsigned i = 0; i < 3; i++)
        vidsch_submit(context, &packets[i].base);
    data.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
    for (unsigned id = 1; id <= 2; id++) {
        data.DmaPageFaulted.FaultedFenceId = id;
        vidsch_notify_interrupt(bench.vidsch, &data);
    }
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.fault_ids, 12);
    complete(&bench, 0, 3);
    assert_int_equal(bench.error_count, 0);

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void a_fault_that_needs_no_reset_costs_its_packet_alone(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[3];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    bench_init(&bench, 1, 3, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 3);
    for (unsigned i = 0; i < 3; i++)
        vidsch_submit(context, &packets[i].base);
    data.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
    data.DmaPageFaulted.FaultedFenceId = 2;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB sC rA fB");
    assert_int_equal(bench.last_status, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
    complete(&bench, 0, 3);
    assert_string_equal(bench.log, "sA sB sC rA fB rC");
    assert_int_equal(bench.error_count, 0);

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

/* The owner resets the engine, as it was asked to: until then the packet stays. */
static void a_reset_after_a_fault_takes_at_least_the_packet_that_faulted(void **state)
{
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[2];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    bench_init(&bench, 1, 2, 0);
    context = new_context(&bench, 0, false);
    packets_init(&bench, packets, 2);
    vidsch_submit(context, &packets[0].base);
    vidsch_submit(context, &packets[1].base);
    data.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
    data.DmaPageFaulted.FaultedFenceId = 2;
    data.DmaPageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB rA");
    vidsch_set_gate(bench.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(bench.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    assert_string_equal(bench.log, "sA sB rA fB");

    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void wrong_arguments_are_refused(void **state)
{
    struct bench bench;
    struct vidsch *vidsch = (struct vidsch *)1;
    struct vidsch_context *context = (struct vidsch_context *)1;
    struct vidsch_config no_nodes = {.node_count = 0, .hardware_queue_depth = 1};
    struct vidsch_config no_depth = {.node_count = 1, .hardware_queue_depth = 0};
    const struct base_services *services = base_services_libc();

    assert_int_equal(vidsch_create(services, NULL, &no_nodes, &events, &vidsch),
                     STATUS_INVALID_PARAMETER);
    assert_null(vidsch);
    assert_int_equal(vidsch_create(services, NULL, &no_depth, &events, &vidsch),
                     STATUS_INVALID_PARAMETER);
    bench_init(&bench, 2, 1, 0);
    assert_int_equal(vidsch_context_create(bench.vidsch, 2, false, &context),
                     STATUS_INVALID_PARAMETER);
    assert_null(context);
    bench_fini(&bench);
    vidsch_destroy(NULL);
}

static void every_nth_allocation_failure_leaves_it_whole(void **state)
{
    struct vidsch_config config = {.node_count = 2, .hardware_queue_depth = 2};
    struct failing_services memory;
    unsigned failure_count = 0;

    for (uint64_t n = 1;; n++) {
        struct vidsch *vidsch = NULL;
        struct vidsch_context *context = NULL;
        NTSTATUS status;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        status = vidsch_create(&memory.services, NULL, &config, &events, &vidsch);
        if (NT_SUCCESS(status)) {
            status = vidsch_context_create(vidsch, 1, true, &context);
            vidsch_check(vidsch);
        }
        if (NT_SUCCESS(status))
            vidsch_context_destroy(context);
        else
            assert_null(context);
        vidsch_destroy(vidsch);
        assert_int_equal(memory.live_blocks, 0);
        assert_int_equal(status, memory.has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
        if (!memory.has_failed)
            break;
        failure_count++;
    }
    assert_int_equal(failure_count, 4);
}

/* ---- Hardware queues ---- */

/* Each queue is as far as its own fence says, in a DPC; the nodes' fence ids say nothing of it. */
static void packets_of_queues_end_by_the_fences_of_their_queues(void **state)
{
    volatile uint64_t values[2] = {0, 0};
    struct bench bench;
    struct vidsch_context *contexts[2];
    struct test_packet packets[3];

    bench_init(&bench, 1, 4, 0);
    packets_init(&bench, packets, 3);
    for (unsigned i = 0; i < 2; i++) {
        contexts[i] = new_context(&bench, 0, false);
        vidsch_context_set_queue(contexts[i], &values[i]);
    }
    vidsch_submit(contexts[0], &packets[0].base);
    vidsch_submit(contexts[1], &packets[1].base);
    vidsch_submit(contexts[0], &packets[2].base);
    assert_int_equal(packets[0].base.progress_id, 1);
    assert_int_equal(packets[1].base.progress_id, 2);
    assert_int_equal(packets[2].base.progress_id, 3);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB sC");
    values[1] = 2;
    vidsch_check(bench.vidsch);
    assert_string_equal(bench.log, "sA sB sC");
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB sC rB");
    values[0] = 3;
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB sC rB rA rC");
    assert_int_equal(bench.error_count, 0);
    vidsch_context_destroy(contexts[0]);
    vidsch_context_destroy(contexts[1]);
    bench_fini(&bench);
}

static void a_queue_is_limited_and_its_ids_go_on_behind_the_wrap(void **state)
{
    volatile uint64_t value = 0;
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[3];

    bench_init(&bench, 1, 4, 0xffffffff);
    vidsch_limit_node(bench.vidsch, 0, 0); /* there is none */
    vidsch_limit_node(bench.vidsch, 0, 2);
    context = new_context(&bench, 0, false);
    vidsch_context_set_queue(context, &value);
    packets_init(&bench, packets, 3);
    for (unsigned i = 0; i < 3; i++)
        vidsch_submit(context, &packets[i].base);
    assert_string_equal(bench.log, "sA sB");
    assert_int_equal(packets[0].base.progress_id, UINT64_C(0xffffffff));
    assert_int_equal(packets[1].base.progress_id, UINT64_C(0x100000000));
    value = UINT64_C(0xffffffff);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB rA sC");
    value = UINT64_C(0x100000001);
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB rA sC rB rC");
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

/* An interrupt had got lost: the watchdog looks at the fence. Nobody preempts. */
static void the_watchdog_looks_at_the_fence_of_a_queue(void **state)
{
    volatile uint64_t value = 0;
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packet;
    char text[160];

    bench_init(&bench, 1, 4, 0);
    context = new_context(&bench, 0, false);
    vidsch_context_set_queue(context, &value);
    packets_init(&bench, &packet, 1);
    vidsch_submit(context, &packet.base);
    assert_false(vidsch_preempt(bench.vidsch, 0));
    assert_string_equal(vidsch_explain_wait(bench.vidsch, text, sizeof text), "HWQ-006");
    vidsch_watch(bench.vidsch, 0);
    value = 1;
    vidsch_watch(bench.vidsch, VIDSCH_DEFAULT_TIMEOUT_NS);
    assert_string_equal(bench.log, "sA rA");
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static bool note_time_out(void *context, unsigned node)
{
    ((struct bench *)context)->error_count++;
    return true;
}

/* A fence that stays where it is is no news. */
static void a_queue_without_progress_times_out(void **state)
{
    const uint64_t timeout_ns = VIDSCH_DEFAULT_TIMEOUT_NS;
    volatile uint64_t value = 0;
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[2];

    bench_init(&bench, 1, 4, 0);
    events.timed_out = note_time_out;
    context = new_context(&bench, 0, false);
    vidsch_context_set_queue(context, &value);
    packets_init(&bench, packets, 2);
    vidsch_submit(context, &packets[0].base);
    vidsch_submit(context, &packets[1].base);
    value = 1;
    vidsch_notify_dpc(bench.vidsch);
    vidsch_watch(bench.vidsch, 0);
    vidsch_watch(bench.vidsch, timeout_ns - 1);
    assert_int_equal(bench.error_count, 0);
    vidsch_watch(bench.vidsch, timeout_ns);
    assert_int_equal(bench.error_count, 1);
    value = 2;
    vidsch_watch(bench.vidsch, 2 * timeout_ns);
    assert_int_equal(bench.error_count, 1);
    assert_string_equal(bench.log, "sA sB rA rB");
    vidsch_context_destroy(context);
    bench_fini(&bench);
    events.timed_out = NULL;
}

static void a_queue_that_the_driver_refuses_fails_in_its_turn(void **state)
{
    volatile uint64_t value = 0;
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packets[2];

    bench_init(&bench, 1, 4, 0);
    context = new_context(&bench, 0, false);
    vidsch_context_set_queue(context, &value);
    packets_init(&bench, packets, 2);
    packets[1].submit_result = STATUS_NO_MEMORY;
    vidsch_submit(context, &packets[0].base);
    vidsch_submit(context, &packets[1].base);
    assert_string_equal(bench.log, "sA sB");
    value = 1;
    vidsch_notify_dpc(bench.vidsch);
    assert_string_equal(bench.log, "sA sB rA fB");
    assert_int_equal(bench.last_status, STATUS_NO_MEMORY);
    assert_int_equal(bench.error_count, 0);
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

static void a_fault_in_a_queue_is_told_like_any_other(void **state)
{
    volatile uint64_t value = 0;
    struct bench bench;
    struct vidsch_context *context;
    struct test_packet packet;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED,
                                            .HwQueuePageFaulted.NodeOrdinal = 1};
    const __typeof__(data.DmaPageFaulted) *fault = &bench.last_fault.DmaPageFaulted;

    bench_init(&bench, 2, 4, 0);
    bench.aborts_on_fault = true;
    context = new_context(&bench, 1, false);
    vidsch_context_set_queue(context, &value);
    packets_init(&bench, &packet, 1);
    vidsch_submit(context, &packet.base);
    data.HwQueuePageFaulted.FaultedFenceId = packet.base.progress_id;
    data.HwQueuePageFaulted.FaultedPipelineStage = DXGK_RENDER_PIPELINE_STAGE_PIXEL_SHADER;
    data.HwQueuePageFaulted.FaultedBindTableEntry = 3;
    data.HwQueuePageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
    data.HwQueuePageFaulted.FaultedVirtualAddress = 0x12345000;
    data.HwQueuePageFaulted.EngineOrdinal = 5;
    data.HwQueuePageFaulted.PageTableLevel = 2;
    data.HwQueuePageFaulted.FaultErrorCode.GeneralErrorCode = 7;
    data.HwQueuePageFaulted.NodeOrdinal = 2; /* is no node */
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.fault_count, 0);
    data.HwQueuePageFaulted.NodeOrdinal = 1;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.fault_count, 1);
    assert_int_equal(fault->FaultedFenceId, 1);
    assert_int_equal(fault->FaultedPipelineStage, DXGK_RENDER_PIPELINE_STAGE_PIXEL_SHADER);
    assert_int_equal(fault->FaultedBindTableEntry, 3);
    assert_int_equal(fault->PageFaultFlags, DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED);
    assert_int_equal(fault->FaultedVirtualAddress, 0x12345000);
    assert_int_equal(fault->NodeOrdinal, 1);
    assert_int_equal(fault->EngineOrdinal, 5);
    assert_int_equal(fault->PageTableLevel, 2);
    assert_int_equal(fault->FaultErrorCode.GeneralErrorCode, 7);
    assert_string_equal(bench.log, "sA fA");
    vidsch_context_destroy(context);
    bench_fini(&bench);
}

/* The other queue's packet is older, and goes on; so does what its own queue has behind it. */
static void a_fault_in_a_queue_that_needs_no_reset_costs_its_packet_alone(void **state)
{
    volatile uint64_t values[2] = {0, 0};
    struct bench bench;
    struct vidsch_context *contexts[2];
    struct test_packet packets[3];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED};

    bench_init(&bench, 1, 4, 0);
    for (unsigned i = 0; i < 2; i++) {
        contexts[i] = new_context(&bench, 0, false);
        vidsch_context_set_queue(contexts[i], &values[i]);
    }
    packets_init(&bench, packets, 3);
    vidsch_submit(contexts[0], &packets[0].base);
    vidsch_submit(contexts[1], &packets[1].base);
    vidsch_submit(contexts[1], &packets[2].base);
    data.HwQueuePageFaulted.FaultedFenceId = packets[1].base.progress_id;
    vidsch_notify_interrupt(bench.vidsch, &data);
    vidsch_notify_dpc(bench.vidsch);
    assert_int_equal(bench.fault_count, 1);
    assert_string_equal(bench.log, "sA sB sC");
    values[0] = packets[0].base.progress_id;
    values[1] = packets[2].base.progress_id;
    vidsch_notify_dpc(bench.vidsch);
    assert_null(strstr(bench.log, "fA"));
    assert_non_null(strstr(bench.log, "rA"));
    assert_non_null(strstr(bench.log, "fB"));
    assert_non_null(strstr(bench.log, "rC"));
    assert_int_equal(bench.error_count, 0);
    for (unsigned i = 0; i < 2; i++)
        vidsch_context_destroy(contexts[i]);
    bench_fini(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_in_a_queue_that_needs_no_reset_costs_its_packet_alone),
        cmocka_unit_test(packets_of_queues_end_by_the_fences_of_their_queues),
        cmocka_unit_test(a_queue_is_limited_and_its_ids_go_on_behind_the_wrap),
        cmocka_unit_test(the_watchdog_looks_at_the_fence_of_a_queue),
        cmocka_unit_test(a_queue_without_progress_times_out),
        cmocka_unit_test(a_queue_that_the_driver_refuses_fails_in_its_turn),
        cmocka_unit_test(a_fault_in_a_queue_is_told_like_any_other),
        cmocka_unit_test(a_packet_goes_at_once_and_retires_at_the_dpc),
        cmocka_unit_test(one_id_retires_all_before_it_in_order),
        cmocka_unit_test(contexts_take_turns_and_paging_goes_first),
        cmocka_unit_test(a_packet_waits_for_its_fence_and_holds_its_context),
        cmocka_unit_test(a_context_on_hold_does_not_go_when_its_fence_comes),
        cmocka_unit_test(an_adapter_reset_ends_a_packet_that_was_not_prepared),
        cmocka_unit_test(fence_ids_leap_from_one_that_the_driver_has_named),
        cmocka_unit_test(fence_ids_that_begin_at_the_wrap_leap_behind_it),
        cmocka_unit_test(fence_ids_pass_the_wrap),
        cmocka_unit_test(fence_ids_leap_to_the_wrap_while_a_node_is_idle),
        cmocka_unit_test(rule_FENCE_002_is_found_when_broken),
        cmocka_unit_test(a_storm_of_wrong_reports_is_counted),
        cmocka_unit_test(other_wrong_interrupts_name_their_rule),
        cmocka_unit_test(a_packet_that_the_driver_refuses_retires_in_its_turn),
        cmocka_unit_test(a_virtual_submission_may_be_refused_as_invalid),
        cmocka_unit_test(a_driver_may_complete_inside_submit),
        cmocka_unit_test(abort_retires_everything_in_order),
        cmocka_unit_test(abort_may_come_from_a_retired_packet),
        cmocka_unit_test(a_page_fault_is_told_before_anything_retires),
        cmocka_unit_test(faults_in_front_of_one_DPC_are_told_in_their_order),
        cmocka_unit_test(a_fault_that_needs_no_reset_costs_its_packet_alone),
        cmocka_unit_test(a_reset_after_a_fault_takes_at_least_the_packet_that_faulted),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(every_nth_allocation_failure_leaves_it_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
