/*
 * vidsch: contexts with hardware queues that are suspended, made invalid, or put on a list; a
 * driver that writes down what it is asked.
 */
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

#define TIMEOUT 1000u
#define QUEUES  3u

struct test_packet {
    struct vidsch_packet base;
    struct stage *stage;
    char name;
    unsigned retire_count;
    NTSTATUS status;
};

struct stage {
    struct failing_services memory;
    struct miniport miniport;
    struct miniport_ops ops;
    struct vidsch_events events;
    struct vidsch *vidsch;
    struct vidsch_context *contexts[QUEUES]; /* 'a', 'b' have queues; 'c' has none */
    char handles[QUEUES];                    /* the driver's, by their addresses */
    uint64_t values[QUEUES];
    char log[512];
    NTSTATUS suspends, resumes, resets, restarts, switches;
    uint64_t last_fence; /* of a suspension */
    int invalid;         /* the context that a reset hits; -1: none */
    unsigned timeouts, errors, queries;
    bool acknowledges; /* within the call */
    bool cannot_reset; /* now */
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

static char name_of(const struct stage *stage, HANDLE handle)
{
    return handle ? (char)('a' + ((char *)handle - stage->handles)) : '-';
}

static void acknowledge(struct stage *stage, unsigned which, uint64_t fence)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED};

    data.SuspendContextCompleted.hContext = stage->contexts[which];
    data.SuspendContextCompleted.ContextSuspendFence = fence;
    vidsch_notify_interrupt(stage->vidsch, &data);
    vidsch_notify_dpc(stage->vidsch);
}

static bool driver_has(struct miniport *self, enum miniport_ddi ddi)
{
    return true;
}

static NTSTATUS driver_suspend(struct miniport *self, HANDLE object,
                               const DXGKARG_SUSPENDCONTEXT *args)
{
    struct stage *stage = stage_of(self);
    unsigned which = (unsigned)((char *)args->hContext - stage->handles);

    assert_true(args->contextSuspendFence > 0);
    stage->last_fence = args->contextSuspendFence;
    write_down(stage, "S%c%u ", 'a' + which, (unsigned)args->contextSuspendFence);
    if (stage->acknowledges)
        acknowledge(stage, which, args->contextSuspendFence);
    return stage->suspends;
}

static NTSTATUS driver_resume(struct miniport *self, HANDLE object,
                              const DXGKARG_RESUMECONTEXT *args)
{
    struct stage *stage = stage_of(self);

    write_down(stage, "R%c ", name_of(stage, args->hContext));
    return stage->resumes;
}

static NTSTATUS driver_reset(struct miniport *self, HANDLE object, DXGKARG_RESETHWENGINE *args)
{
    struct stage *stage = stage_of(self);

    write_down(stage, "reset ");
    if (stage->invalid >= 0)
        vidsch_context_invalidate(stage->contexts[stage->invalid]);
    return stage->resets;
}

static NTSTATUS driver_restart(struct miniport *self, HANDLE object, DXGKARG_RESUMEHWENGINE *args)
{
    struct stage *stage = stage_of(self);

    write_down(stage, "restart ");
    return stage->restarts;
}

static NTSTATUS driver_switch(struct miniport *self, HANDLE object,
                              const DXGKARG_SWITCHTOHWCONTEXTLIST *args)
{
    struct stage *stage = stage_of(self);

    write_down(stage, "[%c%c] ", name_of(stage, args->hHwContextFirst),
               name_of(stage, args->hHwContextSecond));
    return stage->switches;
}

static NTSTATUS driver_query(struct miniport *self, HANDLE object, DXGKARG_QUERYCURRENTFENCE *args)
{
    stage_of(self)->queries++;
    args->CurrentFence = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS submit(struct vidsch_packet *base, struct miniport *miniport)
{
    struct test_packet *packet = container_of(base, struct test_packet, base);

    write_down(packet->stage, "%c ", packet->name);
    return STATUS_SUCCESS;
}

static void retired(struct vidsch_packet *base, NTSTATUS status)
{
    struct test_packet *packet = container_of(base, struct test_packet, base);

    packet->retire_count++;
    packet->status = status;
    write_down(packet->stage, "%c%c ", NT_SUCCESS(status) ? '-' : '!', packet->name);
}

static const struct vidsch_packet_ops packet_ops = {NULL, submit, retired, 0};

static void driver_error(void *context, const char *rule, const char *text)
{
    struct stage *stage = context;

    stage->errors++;
    told_text(text);
}

static bool timed_out(void *context, unsigned node)
{
    struct stage *stage = context;

    stage->timeouts++;
    return !stage->cannot_reset;
}

static void stage_init(struct stage *stage, enum vidsch_suspends suspends, enum vidsch_lists lists)
{
    const struct vidsch_config config = {.node_count = 1,
                                         .hardware_queue_depth = 8,
                                         .timeout_ns = TIMEOUT,
                                         .suspends = suspends,
                                         .lists = lists};

    memset(stage, 0, sizeof *stage);
    failing_services_init(&stage->memory);
    stage->ops = miniport_forward_ops;
    stage->ops.has = driver_has;
    stage->ops.suspend_context = driver_suspend;
    stage->ops.resume_context = driver_resume;
    stage->ops.reset_hw_engine = driver_reset;
    stage->ops.resume_hw_engine = driver_restart;
    stage->ops.switch_to_hw_context_list = driver_switch;
    stage->ops.query_current_fence = driver_query;
    stage->miniport.ops = &stage->ops;
    stage->suspends = STATUS_PENDING;
    stage->invalid = -1;
    stage->events = (struct vidsch_events){
        .context = stage, .driver_error = driver_error, .timed_out = timed_out};
    assert_int_equal(vidsch_create(&stage->memory.services, &stage->miniport, &config,
                                   &stage->events, &stage->vidsch),
                     STATUS_SUCCESS);
    for (unsigned i = 0; i < QUEUES; i++) {
        assert_int_equal(vidsch_context_create(stage->vidsch, 0, false, &stage->contexts[i]),
                         STATUS_SUCCESS);
        if (i == 2)
            continue;
        vidsch_context_set_queue(stage->contexts[i], &stage->values[i]);
        vidsch_context_set_handles(stage->contexts[i], stage->handles + i, stage->contexts[i]);
    }
}

static void stage_fini(struct stage *stage)
{
    vidsch_check(stage->vidsch);
    for (unsigned i = QUEUES; i-- > 0;) /* who shares goes first */
        vidsch_context_destroy(stage->contexts[i]);
    vidsch_destroy(stage->vidsch);
}

static void send(struct stage *stage, unsigned which, struct test_packet *packet, char name)
{
    memset(packet, 0, sizeof *packet);
    packet->base.ops = &packet_ops;
    packet->stage = stage;
    packet->name = name;
    vidsch_submit(stage->contexts[which], &packet->base);
}

/* The queue's fence gets the packet's value. */
static void finish(struct stage *stage, unsigned which, const struct test_packet *packet)
{
    stage->values[which] = packet->base.progress_id;
    vidsch_notify_dpc(stage->vidsch);
}

static void expect_log(struct stage *stage, const char *log)
{
    assert_string_equal(stage->log, log);
    stage->log[0] = '\0';
    vidsch_check(stage->vidsch);
}

static void a_held_context_is_suspended_and_quiet_while_the_driver_has_its_work(void **state)
{
    struct test_packet p[3];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    vidsch_context_hold(stage.contexts[1]); /* it has no work, */
    vidsch_context_hold(stage.contexts[2]); /* ... and it no queue */
    vidsch_context_hold(stage.contexts[0]);
    vidsch_context_hold(stage.contexts[0]);
    send(&stage, 0, &p[1], 'B');
    expect_log(&stage, "A Sa1 ");
    assert_false(vidsch_context_is_quiet(stage.contexts[0]));
    assert_false(vidsch_is_drained(stage.vidsch));
    acknowledge(&stage, 0, 1);
    assert_true(vidsch_context_is_quiet(stage.contexts[0]));
    assert_true(vidsch_is_drained(stage.vidsch));
    assert_false(vidsch_context_is_idle(stage.contexts[0]));
    vidsch_context_release(stage.contexts[0]);
    expect_log(&stage, "");
    vidsch_context_release(stage.contexts[0]);
    vidsch_context_release(stage.contexts[1]);
    vidsch_context_release(stage.contexts[2]);
    assert_false(vidsch_context_is_quiet(stage.contexts[0]));
    finish(&stage, 0, &p[1]);
    expect_log(&stage, "Ra B -A -B ");
    assert_int_equal(stage.errors, 0);
    stage_fini(&stage);
}

/* The system resumes it without waiting; the late answer is not that to the next suspension. */
static void a_late_acknowledgement_is_not_that_of_the_next_suspension(void **state)
{
    struct test_packet p;
    struct stage stage;
    char text[160];

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p, 'A');
    vidsch_context_hold(stage.contexts[0]);
    vidsch_context_release(stage.contexts[0]);
    vidsch_context_hold(stage.contexts[0]);
    acknowledge(&stage, 0, 1);
    assert_false(vidsch_context_is_quiet(stage.contexts[0]));
    assert_string_equal(vidsch_explain_wait(stage.vidsch, text, sizeof text), "HWQ-016");
    acknowledge(&stage, 1, 2); /* of another context */
    assert_false(vidsch_context_is_quiet(stage.contexts[0]));
    acknowledge(&stage, 0, 2);
    assert_true(vidsch_context_is_quiet(stage.contexts[0]));
    assert_null(vidsch_explain_wait(stage.vidsch, text, sizeof text));
    vidsch_context_release(stage.contexts[0]);
    finish(&stage, 0, &p);
    expect_log(&stage, "A Sa1 Ra Sa2 Ra -A ");
    stage_fini(&stage);
}

static void contexts_may_be_suspended_for_each_reason_and_at_their_end(void **state)
{
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_ALL, VIDSCH_LISTS_NONE);
    stage.acknowledges = true;
    vidsch_context_hold(stage.contexts[0]);
    stage.suspends = STATUS_SUCCESS; /* it is, already */
    stage.acknowledges = false;
    vidsch_set_gate(stage.vidsch, VIDSCH_PAGING_ONLY);
    vidsch_context_release(stage.contexts[0]);
    expect_log(&stage, "Sa1 Sa2 Sb1 ");
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    expect_log(&stage, "Ra Rb ");
    vidsch_context_leave(stage.contexts[0]);
    stage.suspends = STATUS_PENDING;
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    vidsch_context_leave(stage.contexts[1]); /* nobody can wait for it */
    expect_log(&stage, "Sa3 Sb2 Rb ");
    stage_fini(&stage);
}

/* 'c' is for a second queue of the driver's context a. */
static void stage_init_shared(struct stage *stage, enum vidsch_suspends suspends,
                              enum vidsch_lists lists)
{
    stage_init(stage, suspends, lists);
    vidsch_context_share(stage->contexts[2], stage->contexts[0]);
    vidsch_context_set_queue(stage->contexts[2], &stage->values[2]);
}

static void queues_of_a_context_are_suspended_together(void **state)
{
    struct test_packet p[4];
    struct stage stage;

    stage_init_shared(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    send(&stage, 0, &p[1], 'B');
    vidsch_context_hold(stage.contexts[2]); /* the other one is not kept back */
    expect_log(&stage, "A B ");
    send(&stage, 2, &p[2], 'C');
    vidsch_context_hold(stage.contexts[0]);
    expect_log(&stage, "Sa1 ");
    assert_false(vidsch_context_is_quiet(stage.contexts[0]));
    acknowledge(&stage, 0, 1);
    assert_true(vidsch_context_is_quiet(stage.contexts[0]));
    vidsch_context_release(stage.contexts[2]);
    expect_log(&stage, "Ra C ");
    assert_false(vidsch_context_is_quiet(stage.contexts[0]));
    vidsch_context_hold(stage.contexts[2]);
    expect_log(&stage, "Sa2 ");
    acknowledge(&stage, 0, 2);
    vidsch_context_release(stage.contexts[0]);
    vidsch_context_release(stage.contexts[2]);
    expect_log(&stage, "Ra ");

    /* Each has an order of its own. */
    finish(&stage, 2, &p[2]);
    finish(&stage, 0, &p[0]);
    finish(&stage, 0, &p[1]);
    expect_log(&stage, "-C -A -B ");
    stage_fini(&stage);
}

static void a_queue_that_leaves_does_not_suspend_the_others(void **state)
{
    struct test_packet p[2];
    struct stage stage;

    stage_init_shared(&stage, VIDSCH_SUSPENDS_ALL, VIDSCH_LISTS_NONE);
    send(&stage, 2, &p[0], 'A');
    vidsch_context_leave(stage.contexts[0]);
    vidsch_context_left(stage.contexts[0]);
    send(&stage, 2, &p[1], 'B');
    expect_log(&stage, "A B ");
    stage.suspends = STATUS_SUCCESS;
    vidsch_context_hold(stage.contexts[2]);
    vidsch_context_set_queue(stage.contexts[0], &stage.values[0]); /* it goes on with both */
    vidsch_context_release(stage.contexts[2]);
    finish(&stage, 2, &p[1]);
    expect_log(&stage, "Sa1 Ra -A -B ");
    stage_fini(&stage);
}

/* What waits for the others to be quiet goes on waiting. */
static void a_queue_that_leaves_does_not_resume_the_others(void **state)
{
    struct test_packet p;
    struct stage stage;

    stage_init_shared(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p, 'A');
    vidsch_context_hold(stage.contexts[2]);
    vidsch_context_hold(stage.contexts[0]);
    vidsch_context_leave(stage.contexts[2]);
    vidsch_context_left(stage.contexts[2]);
    expect_log(&stage, "A Sa1 ");
    acknowledge(&stage, 0, 1);
    assert_true(vidsch_context_is_quiet(stage.contexts[0]));
    vidsch_context_release(stage.contexts[0]);
    finish(&stage, 0, &p);
    expect_log(&stage, "Ra -A ");
    stage_fini(&stage);
}

static void queues_of_a_context_are_one_entry_of_a_list(void **state)
{
    struct test_packet p[3];
    struct stage stage;

    stage_init_shared(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_OLDEST);
    send(&stage, 2, &p[0], 'A');
    send(&stage, 0, &p[1], 'B');
    send(&stage, 1, &p[2], 'C');
    expect_log(&stage, "A [a-] B C [ab] ");
    finish(&stage, 2, &p[0]);
    finish(&stage, 0, &p[1]);
    finish(&stage, 1, &p[2]);
    expect_log(&stage, "-A -B [b-] -C [--] ");
    stage_fini(&stage);
}

static void all_queues_of_a_context_are_invalid(void **state)
{
    struct test_packet p[3];
    struct stage stage;

    stage_init_shared(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    send(&stage, 2, &p[1], 'B');
    send(&stage, 1, &p[2], 'C');
    vidsch_context_invalidate(stage.contexts[0]);
    expect_log(&stage, "A B C !A !B ");
    assert_true(vidsch_context_is_invalid(stage.contexts[2]));
    assert_false(vidsch_context_is_invalid(stage.contexts[1]));
    send(&stage, 2, &p[1], 'D');
    finish(&stage, 1, &p[2]); /* it retires in its turn */
    expect_log(&stage, "-C !D ");
    stage_fini(&stage);
}

static void a_driver_that_refuses_ends_the_work_first(void **state)
{
    struct test_packet p;
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p, 'A');
    stage.suspends = STATUS_NOT_SUPPORTED;
    vidsch_context_hold(stage.contexts[0]);
    assert_int_equal(stage.errors, 1);
    assert_false(vidsch_context_is_quiet(stage.contexts[0]));
    finish(&stage, 0, &p);
    assert_true(vidsch_context_is_quiet(stage.contexts[0]));
    vidsch_context_release(stage.contexts[0]);
    expect_log(&stage, "A Sa1 -A ");
    stage_fini(&stage);
}

/* The context counts as resumed: what it waits with goes to the driver. */
static void a_driver_that_does_not_resume_is_in_error(void **state)
{
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    vidsch_context_hold(stage.contexts[0]);
    send(&stage, 0, &p[1], 'B');
    acknowledge(&stage, 0, 1);
    stage.resumes = STATUS_UNSUCCESSFUL;
    vidsch_context_release(stage.contexts[0]);
    assert_int_equal(stage.errors, 1);
    expect_log(&stage, "A Sa1 Ra B ");
    finish(&stage, 0, &p[1]);
    stage_fini(&stage);
}

static void
a_suspension_that_is_not_acknowledged_times_out_and_work_that_is_suspended_does_not(void **state)
{
    struct test_packet p;
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    vidsch_watch(stage.vidsch, 0);
    send(&stage, 0, &p, 'A');
    vidsch_context_hold(stage.contexts[0]);
    vidsch_watch(stage.vidsch, 100);
    vidsch_watch(stage.vidsch, 100 + TIMEOUT - 1);
    assert_int_equal(stage.timeouts, 0);
    vidsch_watch(stage.vidsch, 100 + TIMEOUT);
    assert_int_equal(stage.queries, 1); /* the interrupt may have got lost */
    assert_int_equal(stage.timeouts, 1);
    acknowledge(&stage, 0, 1);
    vidsch_watch(stage.vidsch, 100 + 5 * TIMEOUT);
    vidsch_watch(stage.vidsch, 100 + 9 * TIMEOUT);
    assert_int_equal(stage.timeouts, 1);
    vidsch_context_release(stage.contexts[0]);
    vidsch_watch(stage.vidsch, 100 + 10 * TIMEOUT);
    vidsch_watch(stage.vidsch, 100 + 11 * TIMEOUT);
    assert_int_equal(stage.timeouts, 2);
    finish(&stage, 0, &p);
    stage_fini(&stage);
}

/* It is told again at once until somebody can act on it. */
static void a_suspension_stays_late_until_it_can_be_acted_on(void **state)
{
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_ALL, VIDSCH_LISTS_NONE);
    vidsch_context_hold(stage.contexts[0]);
    vidsch_watch(stage.vidsch, 0);
    stage.cannot_reset = true;
    for (unsigned i = 0; i < 3; i++) {
        vidsch_watch(stage.vidsch, TIMEOUT + i);
        assert_int_equal(stage.timeouts, 1 + i);
    }
    stage.cannot_reset = false;
    for (unsigned i = 3; i < 6; i++)
        vidsch_watch(stage.vidsch, TIMEOUT + i);
    assert_int_equal(stage.timeouts, 4);
    acknowledge(&stage, 0, 1);
    vidsch_context_release(stage.contexts[0]);
    stage_fini(&stage);
}

/* Each in its time, whatever the watchdog has seen before. */
static void the_time_of_a_suspension_is_its_own(void **state)
{
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_ALL, VIDSCH_LISTS_NONE);
    vidsch_context_hold(stage.contexts[0]);
    vidsch_watch(stage.vidsch, 0);
    for (unsigned i = 1; i < 6; i++) {
        const unsigned one = i % 2, other = !one;

        acknowledge(&stage, other, stage.last_fence);
        vidsch_context_hold(stage.contexts[one]);
        vidsch_context_release(stage.contexts[other]);
        vidsch_watch(stage.vidsch, i * (TIMEOUT - 1));
    }
    assert_int_equal(stage.timeouts, 0);
    vidsch_watch(stage.vidsch, 5 * (TIMEOUT - 1) + TIMEOUT);
    assert_int_equal(stage.timeouts, 1);
    acknowledge(&stage, 1, stage.last_fence);
    vidsch_context_release(stage.contexts[1]);
    stage_fini(&stage);
}

/* A packet that never went to the driver is not kept by one that the driver keeps. */
static void what_has_failed_retires_behind_what_is_suspended(void **state)
{
    struct test_packet p[3];
    struct stage stage;

    for (unsigned is_at_once = 0; is_at_once < 2; is_at_once++) {
        stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
        stage.suspends = is_at_once ? STATUS_SUCCESS : STATUS_PENDING;
        send(&stage, 0, &p[0], 'A');
        vidsch_context_invalidate(stage.contexts[1]);
        send(&stage, 1, &p[1], 'B');
        expect_log(&stage, "A ");
        vidsch_context_hold(stage.contexts[0]);
        if (!is_at_once)
            acknowledge(&stage, 0, 1);
        expect_log(&stage, "Sa1 !B ");
        assert_true(vidsch_is_drained(stage.vidsch));
        send(&stage, 1, &p[2], 'C');
        expect_log(&stage, "!C ");
        vidsch_context_release(stage.contexts[0]);
        finish(&stage, 0, &p[0]);
        expect_log(&stage, "Ra -A ");
        stage_fini(&stage);
    }
}

/* Where paging runs on the node, a full one is waited for: what is suspended keeps its room. */
static void a_full_node_that_pages_is_not_suspended(void **state)
{
    struct vidsch_context *paging;
    struct test_packet p[9], paged;
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    assert_int_equal(vidsch_context_create(stage.vidsch, 0, true, &paging), STATUS_SUCCESS);
    for (unsigned i = 0; i < 8; i++)
        send(&stage, 0, &p[i], (char)('A' + i));
    vidsch_context_hold(stage.contexts[0]);
    expect_log(&stage, "A B C D E F G H ");
    memset(&paged, 0, sizeof paged);
    paged = (struct test_packet){.base.ops = &packet_ops, .stage = &stage, .name = 'P'};
    vidsch_submit(paging, &paged.base);
    expect_log(&stage, "");
    finish(&stage, 0, &p[0]);
    expect_log(&stage, "-A P ");
    finish(&stage, 0, &p[7]);
    vidsch_context_release(stage.contexts[0]);
    stage.log[0] = '\0';
    send(&stage, 0, &p[8], 'I');
    vidsch_context_hold(stage.contexts[0]); /* there is room */
    expect_log(&stage, "I Sa1 ");
    vidsch_context_release(stage.contexts[0]);
    finish(&stage, 0, &p[8]);
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED); /* the paging packet has no end */
    vidsch_reset_adapter(stage.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    vidsch_context_destroy(paging);
    stage_fini(&stage);
}

static void a_full_node_is_suspended_where_nothing_pages(void **state)
{
    struct test_packet p[8];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    for (unsigned i = 0; i < 8; i++)
        send(&stage, 0, &p[i], (char)('A' + i));
    vidsch_context_hold(stage.contexts[0]);
    expect_log(&stage, "A B C D E F G H Sa1 ");
    vidsch_context_release(stage.contexts[0]);
    finish(&stage, 0, &p[7]);
    stage_fini(&stage);
}

static void a_reset_of_the_adapter_ends_suspensions(void **state)
{
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    vidsch_context_hold(stage.contexts[0]);
    vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
    vidsch_reset_adapter(stage.vidsch, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    assert_true(vidsch_context_is_quiet(stage.contexts[0]));
    vidsch_context_release(stage.contexts[0]);
    expect_log(&stage, "A Sa1 !A ");
    vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
    send(&stage, 0, &p[1], 'B');
    finish(&stage, 0, &p[1]);
    expect_log(&stage, "Ra B -B ");
    stage_fini(&stage);
}

/* What the driver has of the context that was hit is lost; the other one's work goes on. */
static void a_reset_of_an_engine_costs_the_contexts_that_it_has_hit(void **state)
{
    struct test_packet p[4];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    send(&stage, 1, &p[1], 'B');
    send(&stage, 0, &p[2], 'C');
    stage.invalid = 0;
    assert_int_equal(vidsch_reset_hw_engine(stage.vidsch, 0), STATUS_SUCCESS);
    expect_log(&stage, "A B C reset restart !A !C ");
    assert_int_equal(p[0].status, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
    send(&stage, 0, &p[3], 'D'); /* never again */
    assert_int_equal(p[3].retire_count, 0);
    finish(&stage, 1, &p[1]);
    expect_log(&stage, "-B !D ");
    assert_true(vidsch_context_is_invalid(stage.contexts[0]));
    assert_false(vidsch_context_is_invalid(stage.contexts[1]));
    stage_fini(&stage);
}

/*
 * What a queue had ended when its engine was reset is complete, though no DPC has told of it: it is
 * over before the engine goes on, and costs its context nothing.
 */
static void what_a_queue_has_ended_is_complete_in_a_reset_of_its_engine(void **state)
{
    for (unsigned goes_on = 0; goes_on < 2; goes_on++) {
        struct test_packet p[2];
        struct stage stage;

        stage_init(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_NONE);
        stage.restarts = goes_on ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
        send(&stage, 0, &p[0], 'A');
        send(&stage, 0, &p[1], 'B');
        stage.values[0] = p[0].base.progress_id;
        stage.invalid = 0;
        assert_int_equal(vidsch_reset_hw_engine(stage.vidsch, 0), stage.restarts);
        if (!goes_on) { /* the adapter is reset instead */
            expect_log(&stage, "A B reset -A restart ");
            vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
            expect_log(&stage, "!B ");
        } else {
            expect_log(&stage, "A B reset -A restart !B ");
        }
        stage_fini(&stage);
    }
}

/* HWQ-020: nothing of a context that was invalidated goes to the driver, nor does its resumption.
 */
static void a_suspended_context_that_a_reset_has_hit_is_not_resumed(void **state)
{
    for (unsigned is_acknowledged = 0; is_acknowledged < 2; is_acknowledged++) {
        struct test_packet p[2];
        struct stage stage;

        stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_NONE);
        send(&stage, 0, &p[0], 'A');
        send(&stage, 1, &p[1], 'B');
        vidsch_context_hold(stage.contexts[0]);
        vidsch_context_hold(stage.contexts[1]);
        if (is_acknowledged) {
            acknowledge(&stage, 0, 1);
            acknowledge(&stage, 1, 1);
        }
        stage.invalid = 0;
        assert_int_equal(vidsch_reset_hw_engine(stage.vidsch, 0), STATUS_SUCCESS);
        expect_log(&stage, "A B Sa1 Sb1 reset restart !A ");
        vidsch_context_release(stage.contexts[0]);
        expect_log(&stage, "");
        vidsch_context_release(stage.contexts[1]);
        expect_log(&stage, "Rb ");
        finish(&stage, 1, &p[1]);
        expect_log(&stage, "-B ");
        stage_fini(&stage);
    }
}

static void an_engine_that_is_not_resumed_leaves_the_rest_to_a_reset_of_the_adapter(void **state)
{
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    stage.resets = STATUS_NOT_SUPPORTED;
    assert_int_equal(vidsch_reset_hw_engine(stage.vidsch, 0), STATUS_NOT_SUPPORTED);
    stage.resets = STATUS_SUCCESS;
    stage.restarts = STATUS_UNSUCCESSFUL;
    assert_int_equal(vidsch_reset_hw_engine(stage.vidsch, 0), STATUS_UNSUCCESSFUL);
    expect_log(&stage, "A reset reset restart ");
    finish(&stage, 0, &p[0]);
    send(&stage, 2, &p[1], 'B'); /* by its fence id */
    assert_int_equal(vidsch_reset_hw_engine(stage.vidsch, 0), STATUS_NOT_SUPPORTED);
    vidsch_abort(stage.vidsch, STATUS_CANCELLED);
    expect_log(&stage, "-A B !B ");
    stage_fini(&stage);
}

/* On a node with queues: whatever the driver has of these, before it and behind it. */
static void a_packet_without_a_queue_ends_by_its_fence(void **state)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
    struct test_packet p[4];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_NONE);
    send(&stage, 0, &p[0], 'A');
    send(&stage, 2, &p[1], 'B');
    send(&stage, 1, &p[2], 'C');
    send(&stage, 2, &p[3], 'D');
    for (unsigned i = 1; i < 4; i += 2) {
        data.DmaCompleted.SubmissionFenceId = p[i].base.fence_id;
        vidsch_notify_interrupt(stage.vidsch, &data);
        vidsch_notify_dpc(stage.vidsch);
    }
    expect_log(&stage, "A B C D -B -D ");
    finish(&stage, 1, &p[2]);
    finish(&stage, 0, &p[0]);
    expect_log(&stage, "-C -A ");
    stage_fini(&stage);
}

static void an_engine_is_switched_to_the_oldest_contexts(void **state)
{
    struct test_packet p[4];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_BUSY, VIDSCH_LISTS_OLDEST);
    send(&stage, 1, &p[0], 'A');
    send(&stage, 1, &p[1], 'B');
    send(&stage, 0, &p[2], 'C');
    finish(&stage, 1, &p[0]);
    finish(&stage, 1, &p[1]);
    finish(&stage, 0, &p[2]);
    expect_log(&stage, "A [b-] B C [ba] -A -B [a-] -C [--] ");
    send(&stage, 0, &p[3], 'D');
    vidsch_context_hold(stage.contexts[0]);
    vidsch_notify_dpc(stage.vidsch);
    expect_log(&stage, "D [a-] Sa1 [--] ");
    vidsch_context_release(stage.contexts[0]);
    finish(&stage, 0, &p[3]);
    expect_log(&stage, "Ra [a-] -D [--] ");
    stage_fini(&stage);
}

static void an_engine_is_switched_to_the_newest_contexts(void **state)
{
    struct test_packet p[2];
    struct stage stage;

    stage_init(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_NEWEST);
    send(&stage, 1, &p[0], 'A');
    stage.switches = STATUS_UNSUCCESSFUL;
    send(&stage, 0, &p[1], 'B');
    assert_int_equal(stage.errors, 1);
    finish(&stage, 0, &p[1]);
    finish(&stage, 1, &p[0]);
    expect_log(&stage, "A [b-] B [ab] -B [b-] -A [--] ");
    stage_fini(&stage);
}

/* HWQ-023: an engine that was left in a context that ended is switched to the one made next. */
static void the_list_of_an_engine_is_void_when_a_context_of_it_ends(void **state)
{
    struct vidsch_context **context;
    struct test_packet p[4];
    struct stage stage;

    for (unsigned which = 0; which < 2; which++) {
        stage_init(&stage, VIDSCH_SUSPENDS_NONE, VIDSCH_LISTS_OLDEST);
        context = &stage.contexts[which];
        send(&stage, 0, &p[0], 'A');
        send(&stage, 1, &p[1], 'B');
        expect_log(&stage, "A [a-] B [ab] ");
        vidsch_set_gate(stage.vidsch, VIDSCH_CLOSED);
        stage.values[0] = p[0].base.progress_id;
        stage.values[1] = p[1].base.progress_id;
        vidsch_notify_dpc(stage.vidsch);
        expect_log(&stage, "-A -B ");
        /* It may come to the same address, and the driver may give it the same handle. */
        vidsch_context_destroy(*context);
        assert_int_equal(vidsch_context_create(stage.vidsch, 0, false, context), STATUS_SUCCESS);
        vidsch_context_set_queue(*context, &stage.values[which]);
        vidsch_context_set_handles(*context, stage.handles + which, *context);
        send(&stage, 0, &p[2], 'C');
        send(&stage, 1, &p[3], 'D');
        vidsch_set_gate(stage.vidsch, VIDSCH_OPEN);
        expect_log(&stage, "C D [ab] ");
        finish(&stage, 0, &p[2]);
        finish(&stage, 1, &p[3]);
        expect_log(&stage, "-C [b-] -D [--] ");
        stage_fini(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_held_context_is_suspended_and_quiet_while_the_driver_has_its_work),
        cmocka_unit_test(a_late_acknowledgement_is_not_that_of_the_next_suspension),
        cmocka_unit_test(contexts_may_be_suspended_for_each_reason_and_at_their_end),
        cmocka_unit_test(queues_of_a_context_are_suspended_together),
        cmocka_unit_test(a_queue_that_leaves_does_not_suspend_the_others),
        cmocka_unit_test(a_queue_that_leaves_does_not_resume_the_others),
        cmocka_unit_test(queues_of_a_context_are_one_entry_of_a_list),
        cmocka_unit_test(all_queues_of_a_context_are_invalid),
        cmocka_unit_test(a_driver_that_refuses_ends_the_work_first),
        cmocka_unit_test(a_driver_that_does_not_resume_is_in_error),
        cmocka_unit_test(
            a_suspension_that_is_not_acknowledged_times_out_and_work_that_is_suspended_does_not),
        cmocka_unit_test(a_suspension_stays_late_until_it_can_be_acted_on),
        cmocka_unit_test(the_time_of_a_suspension_is_its_own),
        cmocka_unit_test(what_has_failed_retires_behind_what_is_suspended),
        cmocka_unit_test(a_full_node_that_pages_is_not_suspended),
        cmocka_unit_test(a_full_node_is_suspended_where_nothing_pages),
        cmocka_unit_test(a_reset_of_the_adapter_ends_suspensions),
        cmocka_unit_test(a_reset_of_an_engine_costs_the_contexts_that_it_has_hit),
        cmocka_unit_test(what_a_queue_has_ended_is_complete_in_a_reset_of_its_engine),
        cmocka_unit_test(a_suspended_context_that_a_reset_has_hit_is_not_resumed),
        cmocka_unit_test(an_engine_that_is_not_resumed_leaves_the_rest_to_a_reset_of_the_adapter),
        cmocka_unit_test(a_packet_without_a_queue_ends_by_its_fence),
        cmocka_unit_test(an_engine_is_switched_to_the_oldest_contexts),
        cmocka_unit_test(an_engine_is_switched_to_the_newest_contexts),
        cmocka_unit_test(the_list_of_an_engine_is_void_when_a_context_of_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
