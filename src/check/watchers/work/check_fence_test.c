#include "check/check_private.h"
#include "check/rig/test_rig_submit.h"

/* ---- What is submitted and reported ---- */

RULE_BROKEN(FENCE_001)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.SubmissionFenceId = 5;
    rig_submit_packet(rig, &packet);
    packet.SubmissionFenceId = 4;
    rig_submit_packet(rig, &packet);
    assert_string_equal(rig->last.text, "0x4 on node 1 follows 0x5: ids of a node rise");
}

/* They wrap, and each node has its own. */
RULE_KEPT(FENCE_001)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.SubmissionFenceId = 0xffffffff;
    rig_submit_packet(rig, &packet);
    packet.SubmissionFenceId = 0;
    rig_submit_packet(rig, &packet);
    packet.NodeOrdinal = 0;
    rig_submit_packet(rig, &packet);
}

RULE_BROKEN(FENCE_002)
{
    uint32_t fence = rig_render(rig);

    rig_run(rig, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_complete(rig, RIG_CLIENT_NODE, fence);
    assert_string_equal(rig->last.text, "0x1 of node 1 was reported before");
}

/* The later one means the earlier one too. */
RULE_KEPT(FENCE_002)
{
    uint32_t last;

    rig_render(rig);
    last = rig_render(rig);
    rig_complete(rig, RIG_CLIENT_NODE, last);
}

RULE_BROKEN(FENCE_003)
{
    uint32_t fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_complete(rig, RIG_CLIENT_NODE, fence);
}

RULE_KEPT(FENCE_003)
{
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
}

/* ---- How it is reported ---- */

struct way {
    uint32_t fence;
    unsigned irql, beyond, engine; /* so many nodes beyond that of the client */
    bool queues_dpc, notifies, disowns;
};

static NTSTATUS report_in_a_way(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct way *way = rig->told;
    struct miniport_host *host = rig->drivers_host;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
    unsigned before = rig->irql;

    data.DmaCompleted.SubmissionFenceId = way->fence;
    data.DmaCompleted.NodeOrdinal = RIG_CLIENT_NODE + way->beyond;
    data.DmaCompleted.EngineOrdinal = way->engine;
    if (ddi == MINIPORT_DDI_InterruptRoutine) {
        rig->irql = way->irql;
        host->ops->notify_interrupt(host, &data);
        rig->irql = before;
        if (way->queues_dpc)
            host->ops->queue_dpc(host);
        if (way->disowns)
            return STATUS_UNSUCCESSFUL; /* FALSE */
    } else if (ddi == MINIPORT_DDI_DpcRoutine && way->notifies) {
        host->ops->notify_dpc(host);
    }
    return rig_answer(rig, ddi, object, arg);
}

static void interrupt_in_a_way(struct rig *rig, struct way *way)
{
    way->fence = rig_render(rig);
    rig->answer = report_in_a_way;
    rig->told = way;
    miniport_interrupt(rig->top, 0);
    miniport_dpc(rig->top);
}

RULE_BROKEN(FENCE_004)
{
    struct way way = {.irql = 5, .notifies = true};

    interrupt_in_a_way(rig, &way);
    assert_string_equal(rig->last.detail.where, "DxgkDdiInterruptRoutine");
}

RULE_KEPT(FENCE_004)
{
    struct way way = {.irql = 5, .queues_dpc = true, .notifies = true};

    interrupt_in_a_way(rig, &way);
}

RULE_BROKEN(FENCE_017)
{
    struct way way = {.irql = 5, .queues_dpc = true, .notifies = true, .disowns = true};

    interrupt_in_a_way(rig, &way);
}

static NTSTATUS disown(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_InterruptRoutine ? STATUS_UNSUCCESSFUL
                                                : rig_answer(rig, ddi, object, arg);
}

/* And one of another device is not its own. */
RULE_KEPT(FENCE_017)
{
    struct way way = {.irql = 5, .queues_dpc = true, .notifies = true};

    interrupt_in_a_way(rig, &way);
    rig->answer = disown;
    miniport_interrupt(rig->top, 0);
}

static void a_report_of_no_engine_is_found(void **state)
{
    static const char *const members[] = {"NodeOrdinal", "EngineOrdinal"};
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (size_t i = 0; i < ARRAY_COUNT(members); i++) {
        struct way way = {.irql = 5,
                          .queues_dpc = true,
                          .notifies = true,
                          .beyond = i == 0 ? 7 : 0,
                          .engine = i == 1};

        rig_init(rig, RIG_GPUMMU);
        interrupt_in_a_way(rig, &way);
        rig_expect_only(rig, RULE_FENCE_004);
        assert_non_null(strstr(rig->last.detail.where, members[i]));
        rig_fini(rig);
    }
    free(rig);
}

static void a_dpc_that_tells_nobody_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct way way = {.irql = 5, .queues_dpc = true};

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    interrupt_in_a_way(rig, &way);
    rig_expect_only(rig, RULE_FENCE_004);
    assert_string_equal(rig->last.detail.where, "DxgkDdiDpcRoutine");
    assert_int_equal(check_stands_still(rig->check), 1);
    rig_expect_only(rig, RULE_FENCE_004);
    rig_complete(rig, RIG_CLIENT_NODE, rig_render(rig)); /* and is told of both */
    assert_int_equal(check_stands_still(rig->check), 0);
    rig_fini(rig);
    free(rig);
}

/* The kernel submits from within DxgkCbNotifyDpc, to a driver that is done when it has submitted.
 */
static NTSTATUS complete_at_once(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    struct way *way = rig->told;
    struct miniport_host *host = rig->drivers_host;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
    unsigned before = rig->irql;

    if (ddi == MINIPORT_DDI_SubmitCommand) {
        const DXGKARG_SUBMITCOMMAND *submit = arg;

        data.DmaCompleted.SubmissionFenceId = submit->SubmissionFenceId;
        data.DmaCompleted.NodeOrdinal = submit->NodeOrdinal;
        rig->irql = way->irql;
        host->ops->notify_interrupt(host, &data);
        rig->irql = before;
        host->ops->queue_dpc(host);
    } else if (ddi == MINIPORT_DDI_DpcRoutine) {
        host->ops->notify_dpc(host);
        if (way->queues_dpc) {
            way->queues_dpc = false;
            rig_render(rig); /* by the kernel, before the callback comes back */
        }
    }
    return rig_answer(rig, ddi, object, arg);
}

static void what_is_done_while_a_dpc_tells_is_told_by_the_next_one(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_told = 0; is_told < 2; is_told++) {
        struct way way = {.irql = 5, .queues_dpc = true};

        rig_init(rig, RIG_GPUMMU);
        rig->answer = complete_at_once;
        rig->told = &way;
        rig_render(rig);
        miniport_dpc(rig->top);
        rig_expect_only(rig, RULE_NONE);
        if (is_told)
            miniport_dpc(rig->top);
        assert_int_equal(check_stands_still(rig->check), !is_told);
        rig_expect_only(rig, is_told ? RULE_NONE : RULE_FENCE_004);
        rig_fini(rig);
    }
    free(rig);
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

/*
 * Nothing more happens: with a packet under way it is the driver's, else not, nor if the bench made
 * it hang. What comes after the reset that ended the hang is the driver's again.
 */
static void a_packet_that_is_never_reported_is_found_when_all_stands_still(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int way = 0; way < 4; way++) {
        uint32_t fence;

        rig_init(rig, RIG_GPUMMU);
        if (way == 3) {
            check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_HUNG});
            rig_reset_adapter(rig);
        }
        fence = rig_render(rig);
        if (way == 1)
            rig_complete(rig, RIG_CLIENT_NODE, fence);
        if (way == 2)
            check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_HUNG});
        assert_int_equal(check_stands_still(rig->check), way == 0 || way == 3);
        if (way == 0) {
            rig_expect_only(rig, RULE_FENCE_004);
            assert_non_null(strstr(rig->last.text, "never reported complete"));
            assert_true(check_holds(rig->check, RULE_PWR_007, true));
            check_report(rig->check, RULE_PWR_007, NULL, "", "not ended in order");
            rig_expect_only(rig, RULE_FENCE_004);
        }
        rig_fini(rig);
    }
    free(rig);
}

/* Right at the next level below: in the DPC. */
RULE_BROKEN(FENCE_005)
{
    struct way way = {.irql = DISPATCH_LEVEL, .queues_dpc = true, .notifies = true};

    interrupt_in_a_way(rig, &way);
}

RULE_KEPT(FENCE_005)
{
    struct way way = {.irql = DISPATCH_LEVEL + 1, .queues_dpc = true, .notifies = true};

    interrupt_in_a_way(rig, &way);
}

RULE_BROKEN(FENCE_006)
{
    uint32_t fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_query_fence(rig, RIG_CLIENT_NODE);
}

static NTSTATUS report_when_asked(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const uint32_t *fence = rig->told;

    if (ddi == MINIPORT_DDI_QueryCurrentFence) {
        rig_complete(rig, RIG_CLIENT_NODE, *fence);
        ((DXGKARG_QUERYCURRENTFENCE *)arg)->CurrentFence = *fence;
    }
    return rig_answer(rig, ddi, object, arg);
}

RULE_KEPT(FENCE_006)
{
    uint32_t fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig->answer = report_when_asked;
    rig->told = &fence;
    rig_query_fence(rig, RIG_CLIENT_NODE);
}

/* The packet ends while the driver, which has read its registers, is on its way back. */
static NTSTATUS end_while_asked(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const uint32_t *fence = rig->told;
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    if (ddi == MINIPORT_DDI_QueryCurrentFence || ddi == MINIPORT_DDI_ResetEngine)
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, *fence, 0);
    return status;
}

static void a_packet_that_ends_while_the_driver_is_asked_is_told_later(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_asked_again = 0; is_asked_again < 2; is_asked_again++) {
        uint32_t fence;

        rig_init(rig, RIG_GPUMMU);
        fence = rig_render(rig);
        rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
        rig->answer = end_while_asked;
        rig->told = &fence;
        rig_query_fence(rig, RIG_CLIENT_NODE);
        rig->answer = NULL;
        rig_expect_only(rig, RULE_NONE);
        if (is_asked_again)
            rig_query_fence(rig, RIG_CLIENT_NODE);
        else
            rig_complete(rig, RIG_CLIENT_NODE, fence);
        rig_expect_only(rig, is_asked_again ? RULE_FENCE_006 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

/* ---- Preemption ---- */

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

/* ---- Fences of 64 bits ---- */

static void signal_at(struct rig *rig, uint64_t va)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};

    arg.SignalMonitoredFence.MonitoredFenceGpuVa = va;
    arg.SignalMonitoredFence.MonitoredFenceValue = 1;
    rig_build(rig, &arg);
}

RULE_BROKEN(FENCE_011)
{
    signal_at(rig, 0x1004);
}

RULE_KEPT(FENCE_011)
{
    signal_at(rig, 0x1008);
}

static NTSTATUS report_fence(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};

    data.MonitoredFenceSignaled.NodeOrdinal = *(unsigned *)rig->told;
    if (ddi == MINIPORT_DDI_InterruptRoutine)
        rig_interrupt(rig, &data);
    return rig_answer(rig, ddi, object, arg);
}

static void pass_fence(struct rig *rig, unsigned told_node)
{
    static unsigned node; /* told at every interrupt from now on */

    node = told_node;
    rig->answer = report_fence;
    rig->told = &node;
    rig_gpu_event(rig, CHECK_GPU_FENCE, RIG_CLIENT_NODE, 0, 0);
    miniport_interrupt(rig->top, 0);
    miniport_dpc(rig->top); /* that the driver has queued */
}

/* Of another node than the one that passed it. */
RULE_BROKEN(FENCE_013)
{
    pass_fence(rig, 0);
}

/* Those that are not needed may be. */
RULE_KEPT(FENCE_013)
{
    pass_fence(rig, RIG_CLIENT_NODE);
    miniport_interrupt(rig->top, 0);
}

/* A driver that queues a DPC in the interrupt, and reports the fence from there, or does not. */
static NTSTATUS report_in_dpc(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED};

    data.NativeFenceSignaled.NodeOrdinal = RIG_CLIENT_NODE;
    if (ddi == MINIPORT_DDI_InterruptRoutine)
        rig->drivers_host->ops->queue_dpc(rig->drivers_host);
    else if (ddi == MINIPORT_DDI_DpcRoutine && *(const bool *)rig->told)
        rig_interrupt(rig, &data);
    if (ddi == MINIPORT_DDI_DpcRoutine)
        rig->drivers_host->ops->notify_dpc(rig->drivers_host);
    return rig_answer(rig, ddi, object, arg);
}

static void fences_may_be_reported_from_the_dpc(void **state)
{
    for (unsigned is_reported = 0; is_reported < 2; is_reported++) {
        struct rig *rig = malloc(sizeof *rig);
        bool is_told = is_reported;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig->answer = report_in_dpc;
        rig->told = &is_told;
        rig_gpu_event(rig, CHECK_GPU_FENCE, RIG_CLIENT_NODE, 0, 0);
        miniport_interrupt(rig->top, 0);
        assert_int_equal(rig->counts.broken[RULE_FENCE_013], 0);
        miniport_dpc(rig->top);
        if (is_reported)
            rig_expect_silence(rig, RULE_FENCE_013);
        else
            rig_expect_only(rig, RULE_FENCE_013);
        rig_fini(rig);
        free(rig);
    }
}

/* A driver that reports in the interrupt, if it is told to, and queues a DPC there. */
static NTSTATUS report_before_dpc(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED};

    data.NativeFenceSignaled.NodeOrdinal = RIG_CLIENT_NODE;
    if (ddi == MINIPORT_DDI_InterruptRoutine) {
        if (*(const bool *)rig->told)
            rig_interrupt(rig, &data);
        rig->drivers_host->ops->queue_dpc(rig->drivers_host);
    }
    if (ddi == MINIPORT_DDI_DpcRoutine)
        rig->drivers_host->ops->notify_dpc(rig->drivers_host);
    return rig_answer(rig, ddi, object, arg);
}

/* Nobody has told the driver of it yet: it is due for the next interrupt. */
static void a_fence_that_passes_before_the_dpc_is_not_missed(void **state)
{
    for (unsigned is_reported = 0; is_reported < 2; is_reported++) {
        struct rig *rig = malloc(sizeof *rig);
        bool is_told = true;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig->answer = report_before_dpc;
        rig->told = &is_told;
        rig_gpu_event(rig, CHECK_GPU_FENCE, RIG_CLIENT_NODE, 0, 0);
        miniport_interrupt(rig->top, 0);
        rig_gpu_event(rig, CHECK_GPU_FENCE, RIG_CLIENT_NODE, 0, 0);
        miniport_dpc(rig->top);
        assert_int_equal(rig->counts.broken[RULE_FENCE_013], 0);
        is_told = is_reported;
        miniport_interrupt(rig->top, 0);
        miniport_dpc(rig->top);
        if (is_reported)
            rig_expect_silence(rig, RULE_FENCE_013);
        else
            rig_expect_only(rig, RULE_FENCE_013);
        rig_fini(rig);
        free(rig);
    }
}

/* The interrupt that waits goes with the power: the next one does not tell of that fence. */
static void a_fence_that_passes_before_a_sleep_is_not_missed(void **state)
{
    for (unsigned sleeps = 0; sleeps < 2; sleeps++) {
        struct rig *rig = malloc(sizeof *rig);
        bool is_told = false;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig->answer = report_before_dpc;
        rig->told = &is_told;
        rig_gpu_event(rig, CHECK_GPU_FENCE, RIG_CLIENT_NODE, 0, 0);
        if (sleeps)
            miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
        miniport_set_power_state(rig->top, 0, PowerDeviceD0, PowerActionNone);
        miniport_interrupt(rig->top, 0);
        miniport_dpc(rig->top);
        assert_int_equal(rig->counts.broken[RULE_FENCE_013], !sleeps);
        rig_fini(rig);
        free(rig);
    }
}

/*
 * A driver whose name for a fence is not the kernel's, and which tells in the interrupt what it is
 * told to.
 */
static NTSTATUS name_fence(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED};

    if (ddi == MINIPORT_DDI_CreateNativeFence)
        ((DXGKARG_CREATENATIVEFENCE *)arg)->hGlobalNativeFence = rig;
    if (ddi == MINIPORT_DDI_CreateNativeFence || ddi == MINIPORT_DDI_DestroyNativeFence)
        return STATUS_SUCCESS;
    data.NativeFenceSignaled.NodeOrdinal = RIG_CLIENT_NODE;
    data.NativeFenceSignaled.SignaledNativeFenceCount = 1;
    data.NativeFenceSignaled.pSignaledNativeFenceArray = rig->told;
    if (ddi == MINIPORT_DDI_InterruptRoutine)
        rig_interrupt(rig, &data);
    return rig_answer(rig, ddi, object, arg);
}

/* FENCE-013: both names are good while the fence lives, and none afterwards. */
static void a_fence_that_is_told_of_lives(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_CREATENATIVEFENCE create = {.Type = D3DDDI_NATIVEFENCE_TYPE_DEFAULT};
    DXGKARG_DESTROYNATIVEFENCE destroy = {0};
    HANDLE kernel, told;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    create.hGlobalNativeFence = kernel = &create;
    rig->answer = name_fence;
    rig->told = &told;
    miniport_create_native_fence(rig->top, NULL, &create);
    told = kernel;
    miniport_interrupt(rig->top, 0);
    told = destroy.hGlobalNativeFence = create.hGlobalNativeFence;
    miniport_interrupt(rig->top, 0);
    rig_expect_silence(rig, RULE_FENCE_013);
    miniport_destroy_native_fence(rig->top, NULL, &destroy);
    miniport_interrupt(rig->top, 0);
    rig_expect_only(rig, RULE_FENCE_013);
    assert_non_null(strstr(rig->last.text, "element 0"));
    rig_fini(rig);
    free(rig);
}

/* A driver that writes some of the values, and says what it is told to. */
struct updater {
    UINT count;
    NTSTATUS status;
};

static NTSTATUS write_some(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct updater *updater = rig->told;
    const DXGKARG_UPDATEMONITOREDVALUES *update = arg;

    if (ddi != MINIPORT_DDI_UpdateMonitoredValues)
        return STATUS_SUCCESS;
    for (UINT i = 0; i < updater->count; i++)
        *(UINT64 *)update->MonitoredValueKernelCpuVa[i] = update->UpdatedValueArray[i];
    return updater->status;
}

static void update_two(struct rig *rig, const struct updater *updater)
{
    HANDLE fences[] = {rig, &rig->told};
    UINT64 memory[] = {UINT64_MAX, UINT64_MAX}, values[] = {41, 6};
    void *addresses[] = {&memory[0], &memory[1]};
    const DXGKARG_UPDATEMONITOREDVALUES args = {
        .NativeFenceArray = fences,
        .UpdatedValueArray = values,
        .MonitoredValueKernelCpuVa = addresses,
        .NumFences = 2,
    };
    struct updater told = *updater;

    rig->answer = write_some;
    rig->told = &told;
    miniport_update_monitored_values(rig->top, NULL, &args);
}

/* What it does not do before it comes back, it may do too late. */
RULE_BROKEN(FENCE_014)
{
    update_two(rig, &(struct updater){.count = 1});
    assert_string_equal(rig->last.text, "entry 1 of 2 holds 0xffffffffffffffff when the call comes "
                                        "back (expected 0x6)");
}

RULE_KEPT(FENCE_014)
{
    update_two(rig, &(struct updater){.count = 2});
}

static void rule_FENCE_014_is_found_when_the_update_fails(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig_init_prepared(rig);
    update_two(rig, &(struct updater){.count = 2, .status = STATUS_UNSUCCESSFUL});
    rig_expect_only(rig, RULE_FENCE_014);
    rig_fini(rig);
    free(rig);
}

static void say_native(struct rig *rig, unsigned has)
{
    DXGK_DRIVERCAPS caps = {0};

    rig->caps.SchedulingCaps.NativeGpuFence = has;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
}

RULE_BROKEN(FENCE_015)
{
    say_native(rig, 1);
}

RULE_KEPT(FENCE_015)
{
    say_native(rig, 0);
}

static void native_fences_may_be_where_they_are_enabled(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.enables_native_fences = true;
    rig_init_prepared(rig);
    say_native(rig, 1);
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

/* A driver that answers where fences may be: that the CPU sees segment 1 is the test's to say. */
struct storage_answer {
    DXGKARG_FENCESTORAGEVALUETYPE value;
    UINT set, preferred, private_bytes;
};

static NTSTATUS say_storage(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct storage_answer *answer = rig->told;
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args = arg;
    DXGK_ALLOCATIONINFO *info = &args->pCreateFenceStorageData->AllocationInfo;

    info->SupportedWriteSegmentSet = answer->set;
    info->PreferredSegment.SegmentId0 = answer->preferred;
    args->AllocationPrivateDriverDataSize = answer->private_bytes;
    return STATUS_SUCCESS;
}

static void ask_storage(struct rig *rig, struct storage_answer answer)
{
    D3DKMDT_FENCESTORAGESURFACEDATA storage = {.FenceStorageValueType = answer.value};
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args = {
        .StandardAllocationType = D3DKMDT_STANDARDALLOCATION_FENCESTORAGE,
        .pCreateFenceStorageData = &storage,
    };

    rig->answer = say_storage;
    rig->told = &answer;
    miniport_get_standard_allocation_driver_data(rig->top, NULL, &args);
    rig->answer = NULL;
}

RULE_BROKEN(FENCE_018)
{
    ask_storage(rig, (struct storage_answer){.set = 1, .preferred = 2});
    assert_string_equal(rig->last.text, "SegmentId0 is 2; SupportedWriteSegmentSet is 0x1");
}

RULE_KEPT(FENCE_018)
{
    ask_storage(rig, (struct storage_answer){.set = 1, .preferred = 1});
    ask_storage(rig, (struct storage_answer){.set = 3, .preferred = 0});
}

static void rule_FENCE_018_is_found_for_segments_that_are_not_there(void **state)
{
    static const UINT sets[] = {0, 1u << 20, 1u << 31 | 1};
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (size_t i = 0; i < ARRAY_COUNT(sets); i++) {
        rig_init(rig, RIG_GPUMMU);
        ask_storage(rig, (struct storage_answer){.set = sets[i]});
        rig_expect_only(rig, RULE_FENCE_018);
        rig_fini(rig);
    }
    free(rig);
}

/* Segment 1 is local memory; whether the CPU sees it is what the driver has reported. */
static void ask_monitored(struct rig *rig, bool is_seen, DXGKARG_FENCESTORAGEVALUETYPE value)
{
    rig->segments[0].Flags.CpuVisible = is_seen;
    rig->segments[0].CpuTranslatedAddress.QuadPart = is_seen ? RIG_BAR : 0;
    rig_query_segments(rig);
    ask_storage(rig, (struct storage_answer){.value = value, .set = 1, .preferred = 1});
}

RULE_BROKEN(FENCE_019)
{
    ask_monitored(rig, false, D3DKARG_FENCESTORAGETYPE_MONITOREDVALUE);
    assert_string_equal(rig->last.text,
                        "is 0x1 for monitored values; the CPU does not see segment 1");
}

RULE_KEPT(FENCE_019)
{
    ask_monitored(rig, true, D3DKARG_FENCESTORAGETYPE_MONITOREDVALUE);
}

static void current_values_may_be_where_the_cpu_sees_nothing(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    ask_monitored(rig, false, D3DKARG_FENCESTORAGETYPE_CURRENTVALUE);
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(FENCE_020)
{
    ask_storage(rig, (struct storage_answer){.set = 1, .private_bytes = 8});
}

RULE_KEPT(FENCE_020)
{
    ask_storage(rig, (struct storage_answer){.set = 1});
}

static NTSTATUS say_current_alone(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    if (ddi == MINIPORT_DDI_QueryCurrentFence)
        ((DXGKARG_QUERYCURRENTFENCE *)arg)->CurrentFence = *(const uint32_t *)rig->told;
    return status;
}

static NTSTATUS say_current(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = say_current_alone(rig, ddi, object, arg);

    return ddi == MINIPORT_DDI_SubmitCommandVirtual ? STATUS_INVALID_PARAMETER : status;
}

/* A packet has run and is reported, the next two are lost in a reset. What is said then. */
static void ask_behind_reset(struct rig *rig, uint32_t said)
{
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    rig_render(rig);
    assert_int_equal(rig_render(rig), 3);
    rig_reset_adapter(rig);
    rig->answer = say_current_alone;
    rig->told = &said;
    rig_query_fence(rig, RIG_CLIENT_NODE);
    rig->answer = NULL;
}

RULE_BROKEN(TDR_015)
{
    ask_behind_reset(rig, 1); /* the counter was not reset */
    assert_string_equal(rig->last.detail.where, "DxgkDdiQueryCurrentFence.CurrentFence");
}

RULE_KEPT(TDR_015)
{
    ask_behind_reset(rig, 3);
}

static void behind_a_reset_the_first_packet_lost_is_not_the_last_one(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (uint32_t said = 0; said < 5; said++) {
        rig_init(rig, RIG_GPUMMU);
        ask_behind_reset(rig, said);
        rig_expect_only(rig, said == 3 ? RULE_NONE : RULE_TDR_015);
        rig_fini(rig);
    }
    free(rig);
}

/* New work is under way, and is asked about or preempted. */
static void what_a_reset_ended_counts_while_new_work_waits(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (uint32_t said = 1; said < 4; said++) {
        for (int is_preempted = 0; is_preempted < 2; is_preempted++) {
            uint32_t first, lost, next;

            rig_init(rig, RIG_GPUMMU);
            first = rig_render(rig);
            rig_run(rig, RIG_CLIENT_NODE, first, RIG_CLIENT_BYTES);
            lost = rig_render(rig);
            rig_reset_adapter(rig);
            next = rig_render(rig);
            assert_int_equal(next, 3);
            rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, next, RIG_CLIENT_BYTES);
            if (is_preempted) {
                rig_preempt(rig, RIG_CLIENT_NODE, 100);
                rig_preempted(rig, RIG_CLIENT_NODE, 100, said);
                assert_int_equal(rig->counts.broken[RULE_TDR_015], said < lost);
            } else {
                rig->answer = say_current_alone;
                rig->told = &said;
                rig_query_fence(rig, RIG_CLIENT_NODE);
                rig->answer = NULL;
                assert_int_equal(rig->counts.broken[RULE_TDR_015], said < lost);
            }
            rig_fini(rig);
        }
    }
    free(rig);
}

/* SUB-012: a refused packet completes in its turn, so that the node had something when it was
 * asked. */
static void a_node_with_a_refused_packet_is_not_empty(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_refusal refusal = {MINIPORT_DDI_SubmitCommandVirtual, STATUS_INVALID_PARAMETER};
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    packet = rig_packet_virtual(rig);
    rig_refuse(rig, &refusal);
    rig_submit_virtual(rig, &packet);
    rig->answer = NULL;
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    rig_reset_adapter(rig);
    assert_int_equal(rig->finding_count, 0);
    rig_fini(rig);
    free(rig);
}

/* SUB-012: the driver refuses a packet behind one that it has reported. */
static void a_refused_packet_may_stand_for_the_current_one(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        DXGKARG_SUBMITCOMMANDVIRTUAL refused;
        uint32_t said;

        rig_init(rig, RIG_GPUMMU);
        rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
        refused = rig_packet_virtual(rig);
        said = refused.SubmissionFenceId + beyond;
        rig->answer = say_current;
        rig->told = &said;
        rig_submit_virtual(rig, &refused);
        rig_query_fence(rig, RIG_CLIENT_NODE);
        assert_int_equal(rig->counts.broken[RULE_FENCE_006], beyond);
        rig_fini(rig);
    }
    free(rig);
}

static void the_last_completed_fence_of_a_preemption_has_been_reported(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        uint32_t fence, said;

        rig_init(rig, RIG_PHYSICAL);
        rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
        fence = rig_render(rig);
        said = fence + beyond * 16;
        rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
        rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
        rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, fence);
        rig->answer = say_current;
        rig->told = &said;
        rig_query_fence(rig, RIG_CLIENT_NODE);
        assert_int_equal(rig->counts.broken[RULE_FENCE_006], beyond);
        rig_fini(rig);
    }
    free(rig);
}

static void a_current_fence_is_not_looked_at_without_a_gpu(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned has_gpu = 0; has_gpu < 2; has_gpu++) {
        uint32_t fence;

        rig_init(rig, RIG_GPUMMU);
        fence = rig_render(rig);
        if (has_gpu)
            rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
        rig_query_fence(rig, RIG_CLIENT_NODE);
        rig_expect_only(rig, RULE_NONE);
        assert_int_equal(rig->counts.evaluated[RULE_FENCE_006], has_gpu);
        rig_fini(rig);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_that_ends_while_the_driver_is_asked_is_told_later),
        cmocka_unit_test(fences_may_be_reported_from_the_dpc),
        cmocka_unit_test(a_fence_that_passes_before_the_dpc_is_not_missed),
        cmocka_unit_test(a_fence_that_passes_before_a_sleep_is_not_missed),
        cmocka_unit_test(a_report_of_no_engine_is_found),
        cmocka_unit_test(a_dpc_that_tells_nobody_is_found),
        cmocka_unit_test(what_is_done_while_a_dpc_tells_is_told_by_the_next_one),
        cmocka_unit_test(a_preemption_that_is_never_reported_is_found_when_all_stands_still),
        cmocka_unit_test(a_packet_that_is_never_reported_is_found_when_all_stands_still),
        cmocka_unit_test(a_packet_that_runs_behind_its_preemption_is_found),
        cmocka_unit_test(the_reset_of_an_engine_takes_what_was_preempted),
        cmocka_unit_test(a_preemption_is_not_reported_before_the_gpu_has_dropped_its_work),
        cmocka_unit_test(a_preemption_that_nobody_asked_for_is_found),
        cmocka_unit_test(a_fence_that_is_told_of_lives),
        cmocka_unit_test(rule_FENCE_014_is_found_when_the_update_fails),
        cmocka_unit_test(native_fences_may_be_where_they_are_enabled),
        cmocka_unit_test(rule_FENCE_018_is_found_for_segments_that_are_not_there),
        cmocka_unit_test(current_values_may_be_where_the_cpu_sees_nothing),
        cmocka_unit_test(a_node_with_a_refused_packet_is_not_empty),
        cmocka_unit_test(a_refused_packet_may_stand_for_the_current_one),
        cmocka_unit_test(behind_a_reset_the_first_packet_lost_is_not_the_last_one),
        cmocka_unit_test(what_a_reset_ended_counts_while_new_work_waits),
        cmocka_unit_test(the_last_completed_fence_of_a_preemption_has_been_reported),
        cmocka_unit_test(a_current_fence_is_not_looked_at_without_a_gpu),
    };

    return RIG_RUN_TESTS(tests);
}
