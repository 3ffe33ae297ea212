/*
 * vidsch: preemption, the watchdog, resets; a driver of three functions, packets that write down.
 */
#include "vidsch/vidsch.h"

#include "vidsch/test_told.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/rng.h"
#include "tests/told.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMEOUT 1000u

struct stage;

struct test_packet {
    struct vidsch_packet base;
    struct stage *stage;
    char name;
    uint32_t first_id;
    unsigned submit_count, retire_count;
    NTSTATUS status;
    NTSTATUS submit_result;
    struct test_packet *then; /* sent to the same context when this one retires */
};

/* The driver: what it was given on node 0 and has not reported. */
struct stage {
    struct miniport miniport;
    struct miniport_ops ops;
    struct vidsch_events events;
    struct vidsch *vidsch;
    char log[2048];
    uint32_t queue[64];
    unsigned queue_count;
    uint32_t completed;
    uint32_t preemption_id;
    bool is_preempting;
    NTSTATUS preempt_result;
    bool puts_off;         /* a time-out cannot be dealt with now */
    bool hides_completion; /* its interrupt gets lost */
    unsigned preempt_count, query_count, timeout_count, error_count;
    uint32_t last_aborted; /* what ResetEngine answers */
    NTSTATUS reset_result;
    unsigned reset_node; /* that it was asked of last */
    char last_rule[16];
    const char *waits_for; /* when the last error was told: the rule of what the driver is to do */
};

static struct stage *stage_of(struct miniport *miniport)
{
    return container_of(miniport, struct stage, miniport);
}

static void write_down(struct stage *stage, const char *format, ...)
{
    size_t length = strlen(stage->log);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(stage->log + length, sizeof stage->log - length, format, arguments);
    va_end(arguments);
    told_text(stage->log + length);
    vidsch_told_state(stage->vidsch);
}

static void report_completed(struct stage *stage)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.SubmissionFenceId = stage->completed;
    vidsch_notify_interrupt(stage->vidsch, &data);
}

/* The GPU finishes the first count submissions. */
static void finish(struct stage *stage, unsigned count)
{
    assert_true(count && count <= stage->queue_count);
    stage->completed = stage->queue[count - 1];
    stage->queue_count -= count;
    memmove(stage->queue, stage->queue + count, stage->queue_count * sizeof stage->queue[0]);
    if (stage->hides_completion)
        return;
    report_completed(stage);
    vidsch_notify_dpc(stage->vidsch);
}

static void notify_preempted(struct stage *stage, uint32_t id, uint32_t last)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {0};

    data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    data.DmaPreempted.PreemptionFenceId = id;
    data.DmaPreempted.LastCompletedFenceId = last;
    stage->queue_count = 0;
    stage->is_preempting = false;
    vidsch_notify_interrupt(stage->vidsch, &data);
}

static void answer_preemption(struct stage *stage, uint32_t id, uint32_t last)
{
    notify_preempted(stage, id, last);
    vidsch_notify_dpc(stage->vidsch);
}

static bool driver_has(struct miniport *self, enum miniport_ddi ddi)
{
    return true;
}

static NTSTATUS driver_preempt(struct miniport *self, HANDLE object,
                               const DXGKARG_PREEMPTCOMMAND *args)
{
    struct stage *stage = stage_of(self);

    assert_int_equal(args->NodeOrdinal, 0);
    stage->preempt_count++;
    stage->preemption_id = args->PreemptionFenceId;
    stage->is_preempting = NT_SUCCESS(stage->preempt_result);
    return stage->preempt_result;
}

static NTSTATUS driver_query_fence(struct miniport *self, HANDLE object,
                                   DXGKARG_QUERYCURRENTFENCE *args)
{
    struct stage *stage = stage_of(self);

    stage->query_count++;
    if (stage->hides_completion && stage->completed) {
        stage->hides_completion = false;
        report_completed(stage);
    }
    args->CurrentFence = stage->completed;
    return STATUS_SUCCESS;
}

static NTSTATUS driver_reset_engine(struct miniport *self, HANDLE object, DXGKARG_RESETENGINE *args)
{
    struct stage *stage = stage_of(self);

    stage->reset_node = args->NodeOrdinal;
    if (!NT_SUCCESS(stage->reset_result))
        return stage->reset_result;
    args->LastAbortedFenceId = stage->last_aborted;
    stage->completed = stage->last_aborted;
    stage->queue_count = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS submit(struct vidsch_packet *base, struct miniport *miniport)
{
    struct test_packet *packet = container_of(base, struct test_packet, base);
    struct stage *stage = packet->stage;

    assert_false(stage->is_preempting); /* nothing until it has answered */
    assert_true(stage->queue_count < ARRAY_COUNT(stage->queue));
    stage->queue[stage->queue_count++] = base->fence_id;
    if (packet->submit_count++ == 0)
        packet->first_id = base->fence_id;
    else if (base->is_paging)
        assert_int_equal(base->fence_id, packet->first_id); /* SUB-009 */
    else
        assert_int_not_equal(base->fence_id, packet->first_id);
    assert_int_equal(base->is_resubmission, packet->submit_count > 1);
    write_down(stage, "%c%u ", packet->name, base->fence_id);
    return packet->submit_result;
}

static NTSTATUS prepare(struct vidsch_packet *base, struct miniport *miniport)
{
    write_down(container_of(base, struct test_packet, base)->stage, "p");
    return STATUS_SUCCESS;
}

static void retired(struct vidsch_packet *base, NTSTATUS status)
{
    struct test_packet *packet = container_of(base, struct test_packet, base);

    packet->retire_count++;
    packet->status = status;
    write_down(packet->stage, "%c%c ", NT_SUCCESS(status) ? '-' : '!', packet->name);
    if (packet->then)
        vidsch_submit(base->context, &packet->then->base);
}

static const struct vidsch_packet_ops packet_ops = {prepare, submit, retired, 0};

static void driver_error(void *context, const char *rule, const char *text)
{
    struct stage *stage = context;

    char wait[160];

    stage->error_count++;
    snprintf(stage->last_rule, sizeof stage->last_rule, "%s", rule);
    stage->waits_for = vidsch_explain_wait(stage->vidsch, wait, sizeof wait);
    told_text(text);
}

static bool timed_out(void *context, unsigned node)
{
    struct stage *stage = context;

    assert_int_equal(node, 0);
    stage->timeout_count++;
    return !stage->puts_off;
}

static void stage_init_nodes(struct stage *stage, unsigned depth, unsigned node_count)
{
    const struct vidsch_config config = {
        .node_count = node_count, .hardware_queue_depth = depth, .timeout_ns = TIMEOUT};

    memset(stage, 0, sizeof *stage);
    stage->ops = miniport_forward_ops;
    stage->ops.has = driver_has;
    stage->ops.preempt_command = driver_preempt;
    stage->ops.query_current_fence = driver_query_fence;
    stage->ops.reset_engine = driver_reset_engine;
    stage->miniport.ops = &stage->ops;
    stage->events = (struct vidsch_events){
        .context = stage, .driver_error = driver_error, .timed_out = timed_out};
    assert_int_equal(vidsch_create(base_services_libc(), &stage->miniport, &config, &stage->events,
                                   &stage->vidsch),
                     STATUS_SUCCESS);
}

static void stage_init(struct stage *stage, unsigned depth)
{
    stage_init_nodes(stage, depth, 1);
}

static struct vidsch_context *open_context(struct stage *stage, bool is_paging)
{
    struct vidsch_context *context;

    assert_int_equal(vidsch_context_create(stage->vidsch, 0, is_paging, &context), STATUS_SUCCESS);
    return context;
}

static void packet_init(struct stage *stage, bool is_paging, struct test_packet *packet, char name)
{
    memset(packet, 0, sizeof *packet);
    packet->base.ops = &packet_ops;
    packet->base.is_paging = is_paging;
    packet->stage = stage;
    packet->name = name;
}

static void send(struct stage *stage, struct vidsch_context *context, bool is_paging,
                 struct test_packet *packet, char name)
{
    packet_init(stage, is_paging, packet, name);
    vidsch_submit(context, &packet->base);
}

static void expect_log(struct stage *stage, const char *log)
{
    assert_string_equal(stage->log, log);
    stage->log[0] = '\0';
    vidsch_check(stage->vidsch);
    vidsch_told_state(stage->vidsch);
}

static void stage_fini(struct stage *stage, struct vidsch_context *one, struct vidsch_context *two)
{
    vidsch_check(stage->vidsch);
    assert_true(vidsch_is_drained(stage->vidsch));
    vidsch_context_destroy(one);
    vidsch_context_destroy(two);
    vidsch_destroy(stage->vidsch);
}

/* SUB-009: paging packets come back first with old ids, render packets in order with new ones. */
static void preempted_packets_come_back(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p[6];
    struct stage stage;

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    send(&stage, render, false, &p[0], 'A');
    send(&stage, render, false, &p[1], 'B');
    send(&stage, paging, true, &p[2], 'P');
    send(&stage, render, false, &p[3], 'C');
    send(&stage, render, false, &p[4], 'D');
    expect_log(&stage, "pA1 pB2 pP3 pC4 ");
    assert_true(vidsch_preempt(stage.vidsch, 0));
    assert_false(vidsch_preempt(stage.vidsch, 0));
    send(&stage, paging, true, &p[5], 'Q');
    expect_log(&stage, "");
    stage.completed = 1; /* reported by the preemption alone */
    answer_preemption(&stage, stage.preemption_id, 1);
    expect_log(&stage, "-A pP3 pQ5 pB6 pC7 ");
    finish(&stage, 4);
    expect_log(&stage, "-P -Q -B -C pD8 ");
    finish(&stage, 1);
    expect_log(&stage, "-D ");
    assert_int_equal(stage.error_count, 0);
    stage_fini(&stage, paging, render);
}

static void assert_waits_for(const struct stage *stage, const char *rule, const char *part)
{
    char text[160] = "";
    const char *told = vidsch_explain_wait(stage->vidsch, text, sizeof text);

    assert_non_null(told);
    assert_string_equal(told, rule);
    assert_non_null(strstr(text, part));
}

static void who_asks_is_told_what_the_driver_was_to_do(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p;
    struct stage stage;
    char text[160];

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    assert_null(vidsch_explain_wait(stage.vidsch, text, sizeof text));
    send(&stage, render, false, &p, 'A');
    assert_waits_for(&stage, "FENCE-004", "fence 0x1 of node 0, a packet of a client");
    assert_true(vidsch_preempt(stage.vidsch, 0));
    assert_waits_for(&stage, "FENCE-007", "was asked for on node 0, and not answered");
    notify_preempted(&stage, stage.preemption_id, 0);
    assert_waits_for(&stage, "FENCE-004", "no DPC called DxgkCbNotifyDpc after it");
    vidsch_notify_dpc(stage.vidsch);
    assert_waits_for(&stage, "FENCE-004", "fence 0x2 of node 0, a packet of a client");
    finish(&stage, 1);
    assert_null(vidsch_explain_wait(stage.vidsch, text, sizeof text));
    stage_fini(&stage, paging, render);
}

static void an_unlawful_answer_is_a_driver_error(void **state)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA of_no_node = {.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED};
    struct vidsch_context *paging, *render;
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    send(&stage, render, false, &p[0], 'A');
    answer_preemption(&stage, 9, 0); /* nobody asked */
    assert_string_equal(stage.last_rule, "FENCE-007");
    stage.queue[stage.queue_count++] = 1;
    assert_true(vidsch_preempt(stage.vidsch, 0));
    answer_preemption(&stage, stage.preemption_id + 1, 0);
    assert_int_equal(stage.error_count, 2);
    stage.is_preempting = true;
    answer_preemption(&stage, stage.preemption_id, 7); /* was never submitted */
    assert_int_equal(stage.error_count, 3);
    assert_string_equal(stage.last_rule, "FENCE-007");
    of_no_node.DmaPreempted.PreemptionFenceId = stage.preemption_id;
    of_no_node.DmaPreempted.NodeOrdinal = 1;
    vidsch_notify_interrupt(stage.vidsch, &of_no_node);
    vidsch_notify_dpc(stage.vidsch);
    assert_int_equal(stage.error_count, 4);
    finish(&stage, 1);
    assert_int_equal(p[0].retire_count, 1);
    stage_fini(&stage, paging, render);
}

/* FENCE-009: nothing was asked for, so work goes on. */
static void a_preemption_that_fails_is_none(void **state)
{
    struct vidsch_context *render;
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, 4);
    render = open_context(&stage, false);
    send(&stage, render, false, &p[0], 'A');
    stage.preempt_result = STATUS_UNSUCCESSFUL;
    assert_false(vidsch_preempt(stage.vidsch, 0));
    assert_int_equal(stage.preempt_count, 1);
    assert_string_equal(stage.last_rule, "FENCE-009");
    send(&stage, render, false, &p[1], 'B');
    expect_log(&stage, "pA1 pB2 ");
    finish(&stage, 2);
    expect_log(&stage, "-A -B ");
    vidsch_context_destroy(render);
    vidsch_destroy(stage.vidsch);
}

/* FENCE-006: a fence that was submitted is reported before it is said to be the current one. */
static void who_is_asked_for_the_current_fence_has_reported_it(void **state)
{
    struct vidsch_context *render;
    struct test_packet packet;
    struct stage stage;

    stage_init(&stage, 4);
    render = open_context(&stage, false);
    send(&stage, render, false, &packet, 'A');
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    vidsch_query_fence(stage.vidsch, 0);
    assert_int_equal(stage.query_count, 0);
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    vidsch_query_fence(stage.vidsch, 0);
    assert_int_equal(stage.query_count, 1);
    stage.completed = 2; /* which was never submitted */
    vidsch_query_fence(stage.vidsch, 0);
    assert_int_equal(stage.error_count, 0);
    stage.completed = 1;
    vidsch_query_fence(stage.vidsch, 0);
    assert_int_equal(stage.error_count, 1);
    assert_string_equal(stage.last_rule, "FENCE-006");
    finish(&stage, 1);
    expect_log(&stage, "pA1 -A ");
    vidsch_context_destroy(render);
    vidsch_destroy(stage.vidsch);
}

/* FENCE-006: what the interrupt did not say, the query finds. */
static void the_watchdog_asks_before_it_preempts(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p;
    struct stage stage;

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    vidsch_watch(stage.vidsch, 0);
    send(&stage, render, false, &p, 'A');
    vidsch_watch(stage.vidsch, 500);
    vidsch_watch(stage.vidsch, 500 + TIMEOUT - 1);
    assert_int_equal(stage.query_count, 0);
    stage.hides_completion = true;
    finish(&stage, 1);
    vidsch_watch(stage.vidsch, 500 + TIMEOUT);
    assert_int_equal(stage.query_count, 1);
    vidsch_notify_dpc(stage.vidsch);
    expect_log(&stage, "pA1 -A ");
    vidsch_watch(stage.vidsch, 9 * TIMEOUT);
    assert_int_equal(stage.preempt_count + stage.timeout_count, 0);
    stage_fini(&stage, paging, render);
}

/* S-17.1, TDR-007: query, preemption, time-out; the reset aborts one and gives the rest back. */
static void a_packet_that_does_not_end_is_reset(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p[3];
    struct stage stage;
    bool hit_paging;

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    send(&stage, render, false, &p[0], 'A');
    send(&stage, paging, true, &p[1], 'P');
    send(&stage, render, false, &p[2], 'B');
    expect_log(&stage, "pA1 pP2 pB3 ");
    vidsch_watch(stage.vidsch, 0);
    vidsch_watch(stage.vidsch, TIMEOUT);
    assert_int_equal(stage.query_count, 1);
    assert_int_equal(stage.preempt_count, 1);
    assert_int_equal(stage.timeout_count, 0);
    stage.puts_off = true;
    vidsch_watch(stage.vidsch, 2 * TIMEOUT);
    assert_int_equal(stage.timeout_count, 1);
    stage.puts_off = false;
    vidsch_watch(stage.vidsch, 2 * TIMEOUT + 1);
    assert_int_equal(stage.timeout_count, 2);
    vidsch_watch(stage.vidsch, 2 * TIMEOUT + 2);
    assert_int_equal(stage.timeout_count, 2);

    stage.is_preempting = false;
    stage.last_aborted = 4;
    assert_int_equal(
        vidsch_reset_engine(stage.vidsch, 0, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, &hit_paging),
        STATUS_INVALID_PARAMETER);
    assert_string_equal(stage.last_rule, "TDR-007");
    stage.last_aborted = 1;
    stage.reset_result = STATUS_UNSUCCESSFUL;
    assert_int_equal(
        vidsch_reset_engine(stage.vidsch, 0, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, &hit_paging),
        STATUS_UNSUCCESSFUL);
    stage.reset_result = STATUS_SUCCESS;
    assert_int_equal(
        vidsch_reset_engine(stage.vidsch, 0, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, &hit_paging),
        STATUS_SUCCESS);
    assert_false(hit_paging);
    expect_log(&stage, "!A pP2 pB4 ");
    stage.last_aborted = 2;
    assert_int_equal(
        vidsch_reset_engine(stage.vidsch, 0, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, &hit_paging),
        STATUS_SUCCESS);
    assert_true(hit_paging);
    assert_string_equal(stage.log, "!P "); /* nothing goes before the adapter is reset */
    stage.log[0] = '\0';
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(stage.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    expect_log(&stage, "pB5 ");
    finish(&stage, 1);
    expect_log(&stage, "-B ");
    stage_fini(&stage, paging, render);
}

/*
 * TDR-006, TDR-007: what was with the driver when the adapter was reset counts as reported, though
 * the driver never named it; a reset of the engine that names less takes nothing back.
 */
static void an_engine_reset_takes_back_nothing_that_was_reported(void **state)
{
    struct vidsch_context *render;
    ULONGLONG submitted, completed;
    struct test_packet p[2];
    struct stage stage;
    bool hit_paging;

    stage_init(&stage, 2);
    render = open_context(&stage, false);
    send(&stage, render, false, &p[0], 'A');
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(stage.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    stage.queue_count = 0;
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    send(&stage, render, false, &p[1], 'B');
    expect_log(&stage, "pA1 !A pB2 ");
    stage.last_aborted = 0;
    assert_int_equal(
        vidsch_reset_engine(stage.vidsch, 0, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, &hit_paging),
        STATUS_SUCCESS);
    expect_log(&stage, "pB3 ");
    vidsch_node_fences(stage.vidsch, 0, &submitted, &completed);
    assert_int_equal(submitted, 3);
    assert_int_equal(completed, 1);
    finish(&stage, 1);
    expect_log(&stage, "-B ");
    assert_int_equal(stage.error_count, 0);
    vidsch_context_destroy(render);
    vidsch_destroy(stage.vidsch);
}

static void an_engine_is_reset_by_its_own_number(void **state)
{
    struct stage stage;

    stage_init_nodes(&stage, 2, 3);
    for (unsigned node = 0; node < 3; node++) {
        bool hit_paging = true;

        stage.reset_node = 99;
        assert_int_equal(vidsch_reset_engine(stage.vidsch, node,
                                             STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, &hit_paging),
                         STATUS_SUCCESS);
        assert_int_equal(stage.reset_node, node);
        assert_false(hit_paging);
    }
    vidsch_destroy(stage.vidsch);
}

/* TDR-006: what was with the driver counts as completed, what is queued goes on afterwards. */
static void an_adapter_reset_keeps_what_is_queued(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p[5];
    struct stage stage;

    stage_init(&stage, 2);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    for (unsigned i = 0; i < 4; i++)
        send(&stage, render, false, &p[i], (char)('A' + i));
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(stage.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    stage.queue_count = 0;
    expect_log(&stage, "pA1 pB2 !A !B ");
    assert_int_equal(p[0].status, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    vidsch_cancel(&p[2].base, STATUS_CANCELLED);
    vidsch_set_gate(stage.vidsch, VIDSCH_PAGING_ONLY);
    send(&stage, paging, true, &p[4], 'P');
    expect_log(&stage, "pP3 ");
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    expect_log(&stage, "pD5 ");
    finish(&stage, 2);
    expect_log(&stage, "-P !C -D ");
    assert_int_equal(p[2].status, STATUS_CANCELLED);
    assert_int_equal(p[2].submit_count, 0);
    stage_fini(&stage, paging, render);
}

/* A paging packet that waits behind one relies on what the reset has lost. */
static void an_adapter_reset_ends_paging_that_waits(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p[4];
    struct stage stage;

    stage_init(&stage, 2);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    for (unsigned i = 0; i < 3; i++)
        send(&stage, paging, true, &p[i], (char)('P' + i));
    send(&stage, render, false, &p[3], 'A');
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(stage.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    stage.queue_count = 0;
    expect_log(&stage, "pP1 pQ2 !P !Q !R ");
    assert_int_equal(p[2].status, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    expect_log(&stage, "pA3 ");
    finish(&stage, 1);
    expect_log(&stage, "-A ");
    stage_fini(&stage, paging, render);
}

/* What the driver has, paging and other work that came back from it, and what never went. */
static void an_abort_ends_every_packet(void **state)
{
    for (unsigned answers = 0; answers < 2; answers++) {
        struct vidsch_context *paging, *render;
        struct test_packet p[4];
        struct stage stage;

        stage_init(&stage, 2);
        paging = open_context(&stage, true);
        render = open_context(&stage, false);
        for (unsigned i = 0; i < 3; i++)
            send(&stage, i == 1 ? paging : render, i == 1, &p[i], "APB"[i]);
        expect_log(&stage, "pA1 pP2 ");
        assert_true(vidsch_preempt(stage.vidsch, 0));
        vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
        if (answers)
            answer_preemption(&stage, stage.preemption_id, 0);
        vidsch_abort(stage.vidsch, STATUS_DEVICE_REMOVED);
        expect_log(&stage, answers ? "!P !A !B " : "!A !P !B ");
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(p[i].retire_count, 1);
            assert_int_equal(p[i].status, STATUS_DEVICE_REMOVED);
        }
        stage.queue_count = 0;
        stage.is_preempting = false;
        vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
        send(&stage, render, false, &p[3], 'D'); /* the node takes work again */
        assert_int_equal(stage.queue_count, 1);
        finish(&stage, 1);
        assert_int_equal(p[3].status, STATUS_SUCCESS);
        stage.log[0] = '\0';
        stage_fini(&stage, paging, render);
    }
}

#define RANDOM_PACKETS 400u

/* Each packet retires once and in order of its context, whatever is preempted when. */
static void random_preemptions_lose_nothing(void **state)
{
    static struct test_packet packets[RANDOM_PACKETS];

    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct vidsch_context *contexts[2];
        unsigned sent = 0, done = 0;
        struct stage stage;
        struct rng rng;

        rng_init(&rng, seed);
        stage_init(&stage, 1 + (unsigned)rng_below(&rng, 4));
        contexts[0] = open_context(&stage, true);
        contexts[1] = open_context(&stage, false);
        while (sent < RANDOM_PACKETS || !vidsch_is_idle(stage.vidsch)) {
            unsigned choice = (unsigned)rng_below(&rng, 8);

            stage.log[0] = '\0';
            if (choice < 3 && sent < RANDOM_PACKETS) {
                bool is_paging = rng_below(&rng, 2);

                send(&stage, contexts[is_paging ? 0 : 1], is_paging, &packets[sent++], 'x');
            } else if (choice < 6 && stage.queue_count) {
                finish(&stage, 1 + (unsigned)rng_below(&rng, stage.queue_count));
            } else if (choice == 6) {
                vidsch_preempt(stage.vidsch, 0);
            } else if (stage.is_preempting) {
                /* One more may have run meanwhile. */
                if (stage.queue_count && rng_below(&rng, 2))
                    stage.completed = stage.queue[0];
                answer_preemption(&stage, stage.preemption_id, stage.completed);
            }
            vidsch_check(stage.vidsch);
        }
        for (unsigned i = 0; i < RANDOM_PACKETS; i++) {
            assert_int_equal(packets[i].retire_count, 1);
            assert_int_equal(packets[i].status, STATUS_SUCCESS);
            done += packets[i].submit_count;
        }
        assert_true(done > RANDOM_PACKETS); /* some went twice */
        assert_int_equal(stage.error_count, 0);
        if (stage.is_preempting)
            answer_preemption(&stage, stage.preemption_id, stage.completed);
        stage_fini(&stage, contexts[0], contexts[1]);
    }
}

/* Of a packet that it refuses it is to do nothing, even before that has retired. */
static void nobody_waits_for_a_packet_that_was_refused(void **state)
{
    struct vidsch_context *render;
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, 4);
    render = open_context(&stage, false);
    packet_init(&stage, false, &p[0], 'A');
    p[0].submit_result = STATUS_UNSUCCESSFUL;
    vidsch_submit(render, &p[0].base);
    assert_int_equal(stage.error_count, 1);
    assert_string_equal(stage.last_rule, "SUB-001");
    assert_null(stage.waits_for);
    expect_log(&stage, "pA1 !A ");
    vidsch_watch(stage.vidsch, 0);
    vidsch_watch(stage.vidsch, 5 * TIMEOUT);
    assert_int_equal(stage.query_count, 0);
    vidsch_context_destroy(render);
    vidsch_destroy(stage.vidsch);
}

/* Nothing is asked of a node that has nothing, nor of one that waits for a DPC alone. */
static void the_watchdog_lets_a_node_be_that_owes_nothing(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    vidsch_watch(stage.vidsch, 0);
    vidsch_watch(stage.vidsch, 9 * TIMEOUT);
    send(&stage, render, false, &p[0], 'A');
    vidsch_watch(stage.vidsch, 10 * TIMEOUT);
    stage.completed = 1;
    stage.queue_count = 0;
    report_completed(&stage);
    vidsch_watch(stage.vidsch, 12 * TIMEOUT); /* it is reported, and no DPC has been */
    vidsch_notify_dpc(stage.vidsch);
    send(&stage, render, false, &p[1], 'B');
    vidsch_watch(stage.vidsch, 20 * TIMEOUT);
    assert_true(vidsch_preempt(stage.vidsch, 0));
    notify_preempted(&stage, stage.preemption_id, 1);
    vidsch_watch(stage.vidsch, 22 * TIMEOUT); /* the same of a preemption */
    assert_int_equal(stage.query_count + stage.timeout_count, 0);
    assert_int_equal(stage.preempt_count, 1);
    vidsch_notify_dpc(stage.vidsch);
    finish(&stage, 1);
    stage_fini(&stage, paging, render);
}

/* All packets may have ended: the driver still owes the answer. */
static void a_preemption_that_is_not_answered_times_out(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p;
    struct stage stage;

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    send(&stage, render, false, &p, 'A');
    vidsch_watch(stage.vidsch, 0);
    assert_true(vidsch_preempt(stage.vidsch, 0));
    finish(&stage, 1);
    vidsch_watch(stage.vidsch, TIMEOUT - 1);
    assert_int_equal(stage.timeout_count, 0);
    vidsch_watch(stage.vidsch, TIMEOUT);
    assert_int_equal(stage.timeout_count, 1);
    assert_int_equal(stage.preempt_count, 1); /* it is not asked again */
    answer_preemption(&stage, stage.preemption_id, 1);
    stage_fini(&stage, paging, render);
}

static void a_scheduler_is_drained_when_the_driver_has_nothing_and_owes_nothing(void **state)
{
    struct vidsch_context *paging, *render;
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, 4);
    paging = open_context(&stage, true);
    render = open_context(&stage, false);
    assert_true(vidsch_is_drained(stage.vidsch));
    send(&stage, paging, true, &p[0], 'P');
    assert_false(vidsch_is_drained(stage.vidsch));
    assert_true(vidsch_preempt(stage.vidsch, 0));
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    answer_preemption(&stage, stage.preemption_id, 0);
    assert_false(vidsch_is_drained(stage.vidsch)); /* a packet is to go again */
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    assert_true(vidsch_preempt(stage.vidsch, 0));
    finish(&stage, 1);
    assert_false(vidsch_is_drained(stage.vidsch)); /* a preemption is not answered */
    answer_preemption(&stage, stage.preemption_id, 1);
    assert_true(vidsch_is_drained(stage.vidsch));
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    send(&stage, render, false, &p[1], 'A'); /* that has not gone */
    assert_true(vidsch_is_drained(stage.vidsch));
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    finish(&stage, 1);
    stage_fini(&stage, paging, render);
}

/* ... and nothing of it is taken for done. */
static void what_is_sent_during_a_reset_goes_afterwards(void **state)
{
    for (unsigned of_engine = 0; of_engine < 2; of_engine++) {
        struct vidsch_context *paging, *render;
        struct test_packet p[4];
        struct stage stage;
        bool hit_paging;

        stage_init(&stage, 4);
        paging = open_context(&stage, true);
        render = open_context(&stage, false);
        send(&stage, render, false, &p[0], 'A');
        send(&stage, render, false, &p[1], 'B');
        send(&stage, render, false, &p[2], 'C');
        packet_init(&stage, false, &p[3], 'D');
        p[0].then = &p[3];
        expect_log(&stage, "pA1 pB2 pC3 ");
        if (of_engine) {
            stage.last_aborted = 2;
            assert_int_equal(vidsch_reset_engine(stage.vidsch, 0, STATUS_UNSUCCESSFUL, &hit_paging),
                             STATUS_SUCCESS);
            assert_false(hit_paging);
            expect_log(&stage, "!A !B pC4 pD5 ");
        } else {
            vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
            vidsch_reset_adapter(stage.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
            stage.queue_count = 0;
            expect_log(&stage, "!A !B !C ");
            vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
            expect_log(&stage, "pD4 ");
        }
        finish(&stage, of_engine ? 2 : 1);
        stage_fini(&stage, paging, render);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preempted_packets_come_back),
        cmocka_unit_test(who_asks_is_told_what_the_driver_was_to_do),
        cmocka_unit_test(an_unlawful_answer_is_a_driver_error),
        cmocka_unit_test(a_preemption_that_fails_is_none),
        cmocka_unit_test(who_is_asked_for_the_current_fence_has_reported_it),
        cmocka_unit_test(the_watchdog_asks_before_it_preempts),
        cmocka_unit_test(a_packet_that_does_not_end_is_reset),
        cmocka_unit_test(an_engine_reset_takes_back_nothing_that_was_reported),
        cmocka_unit_test(an_engine_is_reset_by_its_own_number),
        cmocka_unit_test(an_adapter_reset_keeps_what_is_queued),
        cmocka_unit_test(an_adapter_reset_ends_paging_that_waits),
        cmocka_unit_test(an_abort_ends_every_packet),
        cmocka_unit_test(nobody_waits_for_a_packet_that_was_refused),
        cmocka_unit_test(the_watchdog_lets_a_node_be_that_owes_nothing),
        cmocka_unit_test(a_preemption_that_is_not_answered_times_out),
        cmocka_unit_test(a_scheduler_is_drained_when_the_driver_has_nothing_and_owes_nothing),
        cmocka_unit_test(what_is_sent_during_a_reset_goes_afterwards),
        cmocka_unit_test(random_preemptions_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
