/* Contexts that are suspended (HWQ-016, HWQ-017, HWQ-018). */
#include "check/rig/test_rig_queue.h"

#include "check/check_private.h"

static void suspend(struct rig *rig, UINT64 fence)
{
    const DXGKARG_SUSPENDCONTEXT arg = {.hContext = rig_queues.q[0].context,
                                        .contextSuspendFence = fence};

    miniport_suspend_context(rig->top, NULL, &arg);
}

static void resume(struct rig *rig)
{
    const DXGKARG_RESUMECONTEXT arg = {.hContext = rig_queues.q[0].context};

    miniport_resume_context(rig->top, NULL, &arg);
}

static void report(struct rig *rig, HANDLE context, UINT64 fence)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED};

    data.SuspendContextCompleted.hContext = context;
    data.SuspendContextCompleted.ContextSuspendFence = fence;
    rig_interrupt(rig, &data);
}

/* The board has the submission, lets go of it, and the driver says so. */
static void suspend_work(struct rig *rig)
{
    rig_queues_begin(rig);
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    suspend(rig, 1);
    rig_queue_gpu(rig, CHECK_GPU_DROPPED, 5);
    report(rig, rig_queues.q[0].kernels, 1);
}

RULE_BROKEN(HWQ_016)
{
    rig_queues_begin(rig);
    rig_queues.suspends = STATUS_NOT_SUPPORTED;
    suspend(rig, 1);
}

RULE_KEPT(HWQ_016)
{
    suspend_work(rig);
    resume(rig);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    rig_queue_run(rig, 0, 5);
    rig_queue_tell(rig);
}

RULE_BROKEN(HWQ_017)
{
    rig_queues_begin(rig);
    suspend(rig, 2);
    report(rig, rig_queues.q[0].context, 2);
    suspend(rig, 2);
}

RULE_KEPT(HWQ_017)
{
    rig_queues_begin(rig);
    suspend(rig, 1);
    report(rig, rig_queues.q[0].context, 1);
    rig_queues.suspends = STATUS_SUCCESS;
    suspend(rig, 7);
}

RULE_BROKEN(HWQ_018)
{
    suspend_work(rig);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
}

RULE_KEPT(HWQ_018)
{
    suspend_work(rig);
}

static void has_the_work_still(struct rig *rig)
{
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    suspend(rig, 1);
    report(rig, rig_queues.q[0].kernels, 1);
}

static void has_another_ones_work(struct rig *rig)
{
    rig_queue_submit(rig, 1, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    suspend(rig, 1);
    report(rig, rig_queues.q[0].kernels, 1);
    rig_queue_run(rig, 1, 5);
    rig_queue_tell(rig);
}

static void runs_it_all_the_same(struct rig *rig)
{
    rig_queue_submit(rig, 0, 5);
    suspend(rig, 1);
    report(rig, rig_queues.q[0].kernels, 1);
    rig_queues.q[0].value = 5;
    rig_queue_tell(rig);
}

/* Its end was on its way when the suspension was over. */
static void had_run_it_before(struct rig *rig)
{
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    suspend(rig, 1);
    rig_queue_run(rig, 0, 5);
    report(rig, rig_queues.q[0].kernels, 1);
    rig_queue_tell(rig);
}

static void names_no_context(struct rig *rig)
{
    suspend(rig, 1);
    report(rig, rig, 1);
    report(rig, rig_queues.q[0].context, 1);
}

static void reports_another_number(struct rig *rig)
{
    suspend(rig, 1);
    report(rig, rig_queues.q[0].context, 2);
    report(rig, rig_queues.q[0].context, 1);
}

static void reports_what_nobody_asked_for(struct rig *rig)
{
    report(rig, rig_queues.q[0].context, 1);
}

/* The one before, which the system has not waited for. */
static void reports_late(struct rig *rig)
{
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    suspend(rig, 1);
    resume(rig);
    suspend(rig, 2);
    report(rig, rig_queues.q[0].context, 1);
    rig_queue_gpu(rig, CHECK_GPU_DROPPED, 5);
    report(rig, rig_queues.q[0].context, 2);
}

static void never_reports(struct rig *rig)
{
    suspend(rig, 1);
    check_stands_still(rig->check);
}

static void is_reset_for_it(struct rig *rig)
{
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    suspend(rig, 1);
    rig_queue_gpu(rig, CHECK_GPU_DROPPED, 5);
    for (unsigned i = 0; i < 40; i++)
        miniport_interrupt(rig->top, 0);
    rig_reset_adapter(rig);
}

static void hangs_in_it(struct rig *rig)
{
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    suspend(rig, 1);
    for (unsigned i = 0; i < 40; i++)
        miniport_interrupt(rig->top, 0);
    rig_reset_adapter(rig);
}

static void is_resumed_and_was_not_suspended(struct rig *rig)
{
    resume(rig);
}

static void each_way_to_break_a_rule_is_found(void **state)
{
    static const struct {
        void (*act)(struct rig *rig);
        enum rule_id rule; /* RULE_NONE: lawful */
    } ways[] = {
        {has_the_work_still, RULE_HWQ_018},
        {has_another_ones_work, RULE_NONE},
        {runs_it_all_the_same, RULE_HWQ_018},
        {had_run_it_before, RULE_NONE},
        {names_no_context, RULE_HWQ_016},
        {reports_another_number, RULE_HWQ_016},
        {reports_what_nobody_asked_for, RULE_HWQ_016},
        {reports_late, RULE_NONE},
        {never_reports, RULE_HWQ_016},
        {is_reset_for_it, RULE_HWQ_016},
        {hangs_in_it, RULE_NONE},
        {is_resumed_and_was_not_suspended, RULE_HWQ_017},
    };

    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_queues_begin(rig);
        ways[i].act(rig);
        rig_expect_only(rig, ways[i].rule);
        rig_fini(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_break_a_rule_is_found),
    };

    return RIG_RUN_TESTS(tests);
}
