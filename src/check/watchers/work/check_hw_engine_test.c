/* Resets of engines with hardware queues (HWQ-019, HWQ-020). */
#include "check/rig/test_rig_queue.h"

#include "check/check_private.h"

static void invalidate(struct rig *rig, HANDLE context, UINT collateral)
{
    DXGKARGCB_INVALIDATEHWCONTEXT arg = {.hHwContext = context};

    arg.Flags.CollateralDamage = collateral & 1;
    rig->drivers_host->ops->invalidate_hw_context(rig->drivers_host, &arg);
}

static void name_cause(struct rig *rig)
{
    invalidate(rig, rig_queues.q[0].kernels, 0);
}

static void name_both(struct rig *rig)
{
    invalidate(rig, rig_queues.q[1].kernels, 1);
    name_cause(rig);
}

static void name_cause_as_collateral(struct rig *rig)
{
    invalidate(rig, rig_queues.q[0].kernels, 1);
}

static void name_drivers_handle(struct rig *rig)
{
    name_cause(rig);
    invalidate(rig, rig_queues.q[0].context, 0);
}

static void reset(struct rig *rig)
{
    DXGKARG_RESETHWENGINE arg = {.NodeOrdinal = RIG_CLIENT_NODE};

    miniport_reset_hw_engine(rig->top, NULL, &arg);
}

static void resume(struct rig *rig)
{
    DXGKARG_RESUMEHWENGINE arg = {.NodeOrdinal = RIG_CLIENT_NODE};

    miniport_resume_hw_engine(rig->top, NULL, &arg);
}

/* The engine hangs in a submission of the first context; one of the second is behind it. */
static void hang(struct rig *rig, void (*in_reset)(struct rig *rig))
{
    rig_queues_begin(rig);
    rig_queues.in_reset = in_reset;
    rig_queue_submit(rig, 0, 5);
    rig_queue_submit(rig, 1, 6);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 6);
}

/* What was dropped of the other context is handed over again. */
static void go_on(struct rig *rig)
{
    rig_queue_gpu(rig, CHECK_GPU_DROPPED, 6);
    resume(rig);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 6);
    rig_queue_run(rig, 1, 6);
    rig_queue_tell(rig);
}

RULE_BROKEN(HWQ_019)
{
    hang(rig, NULL);
    reset(rig);
}

RULE_KEPT(HWQ_019)
{
    hang(rig, name_cause);
    reset(rig);
    go_on(rig);
}

RULE_BROKEN(HWQ_020)
{
    hang(rig, name_cause);
    reset(rig);
    rig_queue_submit(rig, 1, 7);
}

RULE_KEPT(HWQ_020)
{
    hang(rig, name_cause);
    reset(rig);
    go_on(rig);
    rig_queue_submit(rig, 1, 7);
}

static void names_another_one_as_collateral(struct rig *rig)
{
    hang(rig, name_both);
    reset(rig);
}

static void names_the_cause_as_collateral(struct rig *rig)
{
    hang(rig, name_cause_as_collateral);
    reset(rig);
}

static void names_its_own_handle(struct rig *rig)
{
    hang(rig, name_drivers_handle);
    reset(rig);
}

static void had_ended_all(struct rig *rig)
{
    rig_queues_begin(rig);
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    rig_queue_run(rig, 0, 5);
    reset(rig);
    resume(rig);
    rig_queue_tell(rig);
}

/* The engine was in the last packet, whose fence is reached: nobody is the cause. */
static void had_ended_all_and_names_nobody(struct rig *rig)
{
    rig_queues_begin(rig);
    rig_queues.in_reset = NULL;
    rig_queue_submit(rig, 0, 5);
    rig_queue_gpu(rig, CHECK_GPU_QUEUED, 5);
    rig_queues.q[0].value = 5;
    reset(rig);
}

static void refuses_the_reset(struct rig *rig)
{
    hang(rig, NULL);
    rig_queues.resets = STATUS_UNSUCCESSFUL;
    reset(rig);
}

static void submits_to_an_invalid_context(struct rig *rig)
{
    hang(rig, name_cause);
    reset(rig);
    go_on(rig);
    rig_queue_submit(rig, 0, 9);
}

static void resumes_what_was_not_reset(struct rig *rig)
{
    rig_queues_begin(rig);
    resume(rig);
}

static void submits_behind_a_failed_resumption(struct rig *rig)
{
    hang(rig, name_cause);
    reset(rig);
    rig_queues.resumes = STATUS_UNSUCCESSFUL;
    resume(rig);
    rig_queue_submit(rig, 1, 7);
}

static void resets_the_adapter_then(struct rig *rig)
{
    hang(rig, name_cause);
    reset(rig);
    rig_queue_gpu(rig, CHECK_GPU_DROPPED, 6);
    rig_queues.resumes = STATUS_UNSUCCESSFUL;
    resume(rig);
    rig_reset_adapter(rig);
    rig_queue_submit(rig, 1, 7);
}

static void each_way_to_break_a_rule_is_found(void **state)
{
    static const struct {
        void (*act)(struct rig *rig);
        enum rule_id rule; /* RULE_NONE: lawful */
    } ways[] = {
        {names_another_one_as_collateral, RULE_NONE},
        {names_the_cause_as_collateral, RULE_HWQ_019},
        {names_its_own_handle, RULE_HWQ_019},
        {had_ended_all, RULE_NONE},
        {had_ended_all_and_names_nobody, RULE_NONE},
        {refuses_the_reset, RULE_NONE},
        {submits_to_an_invalid_context, RULE_HWQ_020},
        {resumes_what_was_not_reset, RULE_HWQ_020},
        {submits_behind_a_failed_resumption, RULE_HWQ_020},
        {resets_the_adapter_then, RULE_NONE},
    };

    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
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
