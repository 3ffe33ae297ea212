/* What is preempted, and what is reported of it (FENCE-007 to FENCE-009). */
#include "check/check_private.h"
#include "check/rig/test_rig_submit.h"

/* One packet has run, one has not; the driver says that `said` was the last. */
static void preempt_between(struct rig *rig, bool says_truth)
{
    uint32_t first = rig_render(rig);
    uint32_t second = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, first, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, second, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, first, 0);
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, says_truth ? first : second);
}

RULE_BROKEN(FENCE_007)
{
    preempt_between(rig, false);
    assert_non_null(strstr(rig->last.text, "0x2 has not run"));
}

RULE_KEPT(FENCE_007)
{
    preempt_between(rig, true);
}

/*
 * What is reported as not run does not run before it is submitted again: a driver may not answer
 * before the GPU has dropped it.
 */
static void a_packet_that_runs_behind_its_preemption_is_found(void **state)
{
    enum { LEFT_TO_RUN, RUNS_TWICE, COMES_BACK, IS_RESET, WAYS };
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int way = 0; way < WAYS; way++) {
        DXGKARG_BUILDPAGINGBUFFER fill;
        DXGKARG_SUBMITCOMMAND packet;

        rig_init(rig, RIG_GPUMMU);
        fill = rig_fill(rig_create_allocation(rig, NULL));
        rig_build(rig, &fill);
        packet = rig_packet(rig);
        packet.hContext = rig->system_context;
        packet.NodeOrdinal = 0;
        packet.Flags.Paging = true;
        packet.DmaBufferSubmissionEndOffset = RIG_PACKET_BYTES;
        rig_submit_packet(rig, &packet);
        rig_gpu_event(rig, CHECK_GPU_QUEUED, packet.NodeOrdinal, packet.SubmissionFenceId,
                      RIG_PACKET_BYTES);
        rig_preempt(rig, packet.NodeOrdinal, ++rig->fence);
        rig_preempted(rig, packet.NodeOrdinal, rig->fence, packet.SubmissionFenceId - 1);
        rig_expect_only(rig, RULE_NONE);
        if (way == IS_RESET)
            rig_reset_adapter(rig);
        if (way == COMES_BACK || way == RUNS_TWICE) {
            packet.Flags.Resubmission = true;
            rig_submit_packet(rig, &packet);
            rig_gpu_event(rig, CHECK_GPU_QUEUED, packet.NodeOrdinal, packet.SubmissionFenceId,
                          RIG_PACKET_BYTES);
            rig_gpu_event(rig, CHECK_GPU_DONE, packet.NodeOrdinal, packet.SubmissionFenceId, 0);
            rig_expect_only(rig, RULE_NONE);
        }
        if (way != COMES_BACK)
            rig_gpu_event(rig, CHECK_GPU_DONE, packet.NodeOrdinal, packet.SubmissionFenceId, 0);
        if (way == COMES_BACK || way == IS_RESET) {
            rig_expect_only(rig, way == IS_RESET ? RULE_TDR_001 : RULE_NONE);
        } else {
            rig_expect_only(rig, RULE_FENCE_007);
            assert_string_equal(rig->last.detail.where, "DxgkDdiPreemptCommand.PreemptionFenceId");
            assert_non_null(strstr(rig->last.text, "nobody has submitted it again"));
            rig_gpu_event(rig, CHECK_GPU_DONE, packet.NodeOrdinal, packet.SubmissionFenceId, 0);
            assert_int_equal(rig->counts.broken[RULE_FENCE_007], 1); /* it is told once */
        }
        rig_fini(rig);
    }
    free(rig);
}

static void the_reset_of_an_engine_takes_what_was_preempted(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_reset = 0; is_reset < 2; is_reset++) {
        uint32_t fence;

        rig_init(rig, RIG_GPUMMU);
        fence = rig_render(rig);
        rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
        rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
        rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, fence - 1);
        if (is_reset)
            rig_reset_engine(rig);
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
        assert_int_equal(rig->counts.broken[RULE_FENCE_007], !is_reset);
        rig_fini(rig);
    }
    free(rig);
}

/* Where the GPU tells what it drops, the report itself is wrong. */
static void a_preemption_is_not_reported_before_the_gpu_has_dropped_its_work(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_dropped = 0; is_dropped < 2; is_dropped++) {
        uint32_t fence;

        rig_init(rig, RIG_GPUMMU);
        fence = rig_render(rig);
        check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED,
                                                        .node = RIG_CLIENT_NODE,
                                                        .fence = fence,
                                                        .bytes = RIG_CLIENT_BYTES,
                                                        .tells_drops = true});
        rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
        if (is_dropped)
            rig_gpu_event(rig, CHECK_GPU_DROPPED, RIG_CLIENT_NODE, fence, 0);
        rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, fence - 1);
        rig_expect_only(rig, is_dropped ? RULE_NONE : RULE_FENCE_007);
        if (!is_dropped)
            assert_string_equal(rig->last.detail.where, "DxgkDdiPreemptCommand.PreemptionFenceId");
        rig_fini(rig);
    }
    free(rig);
}

static void a_preemption_that_nobody_asked_for_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_preempt(rig, RIG_CLIENT_NODE, 7);
    rig_preempted(rig, RIG_CLIENT_NODE, 8, 0);
    rig_expect_only(rig, RULE_FENCE_007);
    assert_string_equal(rig->last.text, "0x8 on node 1 was not asked for (0x7 was)");
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(FENCE_008)
{
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    rig_reset_adapter(rig);
    assert_string_equal(rig->last.detail.where, "DxgkDdiPreemptCommand.PreemptionFenceId");
}

RULE_KEPT(FENCE_008)
{
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, 0);
    rig_reset_adapter(rig);
}

RULE_BROKEN(FENCE_009)
{
    struct rig_refusal refusal = {MINIPORT_DDI_PreemptCommand, STATUS_UNSUCCESSFUL};

    rig_refuse(rig, &refusal);
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
}

RULE_KEPT(FENCE_009)
{
    const DXGKARG_CANCELCOMMAND cancel = {.hContext = rig->context};

    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    miniport_cancel_command(rig->top, NULL, &cancel);
}

static void a_preemption_that_is_never_reported_is_found_when_all_stands_still(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int way = 0; way < 2; way++) {
        DXGKARG_PREEMPTCOMMAND arg = {.PreemptionFenceId = 9, .NodeOrdinal = RIG_CLIENT_NODE};
        uint32_t fence;

        rig_init(rig, RIG_GPUMMU);
        fence = way == 0 ? rig_render(rig) : 0;
        miniport_preempt_command(rig->top, NULL, &arg);
        if (way == 0)
            rig_complete(rig, RIG_CLIENT_NODE, fence);
        assert_int_equal(check_stands_still(rig->check), 1);
        rig_expect_only(rig, way == 0 ? RULE_FENCE_007 : RULE_FENCE_008);
        assert_non_null(strstr(rig->last.text, way == 0 ? "never reported" : "never answered"));
        rig_fini(rig);
    }
    free(rig);
}

/* A packet that outlives its context is nobody's when it comes back. */
static void what_is_preempted_may_have_lost_its_context(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    fence = rig_render(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    miniport_destroy_context(rig->top, rig->context);
    assert_non_null(check_find_in_flight(check_ledger(rig->check)));
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, fence - 1);
    assert_null(check_find_in_flight(check_ledger(rig->check)));
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_preemption_that_is_never_reported_is_found_when_all_stands_still),
        cmocka_unit_test(a_packet_that_runs_behind_its_preemption_is_found),
        cmocka_unit_test(the_reset_of_an_engine_takes_what_was_preempted),
        cmocka_unit_test(a_preemption_is_not_reported_before_the_gpu_has_dropped_its_work),
        cmocka_unit_test(a_preemption_that_nobody_asked_for_is_found),
        cmocka_unit_test(what_is_preempted_may_have_lost_its_context),
    };

    return RIG_RUN_TESTS(tests);
}
