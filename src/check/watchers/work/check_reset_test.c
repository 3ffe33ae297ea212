#include "check/rig/test_rig_submit.h"

/* Memory of the system, as a page list: nobody looks into it. */
static MDL list;

static DXGKARG_BUILDPAGINGBUFFER transfer(HANDLE allocation, unsigned from, unsigned to)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    arg.Transfer.hAllocation = allocation;
    arg.Transfer.TransferSize = 65536;
    arg.Transfer.Source.SegmentId = from;
    arg.Transfer.Destination.SegmentId = to;
    if (!from)
        arg.Transfer.Source.pMdl = &list;
    if (!to)
        arg.Transfer.Destination.pMdl = &list;
    arg.Transfer.Flags.TransferStart = arg.Transfer.Flags.TransferEnd = 1;
    return arg;
}

/* It was there, and is not any more. */
static DXGKARG_BUILDPAGINGBUFFER loss(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = transfer(allocation, 1, 0);

    arg.Transfer.TransferSize = 0;
    arg.Transfer.Destination.pMdl = NULL;
    return arg;
}

/* ---- The whole adapter ---- */

RULE_BROKEN(TDR_001)
{
    struct rig_refusal refusal = {MINIPORT_DDI_ResetFromTimeout, STATUS_UNSUCCESSFUL};

    rig_refuse(rig, &refusal);
    miniport_reset_from_timeout(rig->top, NULL);
}

RULE_KEPT(TDR_001)
{
    uint32_t fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_reset_adapter(rig);
}

static void a_gpu_that_goes_on_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    fence = rig_render(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    miniport_reset_from_timeout(rig->top, NULL);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_expect_only(rig, RULE_TDR_001);
    rig_fini(rig);
    free(rig);
}

/* TDR-001 is of what the GPU had: a packet that the driver kept back is no sign of a reset. */
static void a_packet_that_the_gpu_did_not_have_says_nothing_of_a_reset(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    fence = rig_render(rig);
    rig_reset_adapter(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_expect_silence(rig, RULE_TDR_001);
    rig_fini(rig);
    free(rig);
}

/* The driver says that it has reset the GPU, and has not; nor has the GPU been in a hurry. */
static void a_gpu_that_was_not_reset_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    fence = rig_render(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_reset_adapter(rig);
    rig_expect_silence(rig, RULE_TDR_001);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_expect_only(rig, RULE_TDR_001);
    assert_string_equal(rig->last.detail.where, "DxgkDdiResetFromTimeout");
    rig_fini(rig);
    free(rig);
}

/* The manager calls again while the driver resets. */
static NTSTATUS call_in_reset(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_QUERYENGINESTATUS status = {0};

    if (ddi == MINIPORT_DDI_ResetFromTimeout) {
        if (rig->told)
            miniport_query_engine_status(rig->top, NULL, &status);
        else
            miniport_interrupt(rig->top, 0);
    }
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN_IN(TDR_002, RIG_PHYSICAL)
{
    rig->answer = call_in_reset;
    rig->told = rig;
    miniport_reset_from_timeout(rig->top, NULL);
    assert_string_equal(rig->last.text, "is called in the middle of DxgkDdiResetFromTimeout: a "
                                        "reset is alone in the driver");
}

RULE_KEPT(TDR_002)
{
    rig->answer = call_in_reset;
    miniport_reset_from_timeout(rig->top, NULL);
}

static NTSTATUS preempt_in_preemption(struct rig *rig, enum miniport_ddi ddi, HANDLE object,
                                      void *arg)
{
    rig->answer = rig_answer;
    if (ddi == MINIPORT_DDI_PreemptCommand)
        rig_preempt(rig, 0, ++rig->fence);
    return rig_answer(rig, ddi, object, arg);
}

/* A call within a call is not what this rule is about, when neither is a reset. */
static void a_call_within_another_is_no_reset(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->answer = preempt_in_preemption;
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    assert_int_equal(rig->counts.evaluated[RULE_TDR_002], 0);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN_IN(TDR_003, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    miniport_reset_from_timeout(rig->top, NULL);
    rig_build(rig, &fill);
    miniport_restart_from_timeout(rig->top, NULL);
}

RULE_KEPT_IN(TDR_003, RIG_PHYSICAL)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation), lost = loss(allocation);

    miniport_reset_from_timeout(rig->top, NULL);
    rig_build(rig, &lost);
    miniport_restart_from_timeout(rig->top, NULL);
    rig_build(rig, &fill);
    rig_submit(rig);
}

static NTSTATUS start_gpu(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        rig_gpu_event(rig, CHECK_GPU_QUEUED, 0, 77, RIG_PACKET_BYTES);
    return rig_answer(rig, ddi, object, arg);
}

static void build_in_clean_up(struct rig *rig)
{
    DXGKARG_BUILDPAGINGBUFFER lost = loss(rig_create_allocation(rig, NULL));

    miniport_reset_from_timeout(rig->top, NULL);
    rig_build(rig, &lost);
    miniport_restart_from_timeout(rig->top, NULL);
}

RULE_BROKEN_IN(TDR_004, RIG_PHYSICAL)
{
    rig->answer = start_gpu;
    build_in_clean_up(rig);
}

RULE_KEPT_IN(TDR_004, RIG_PHYSICAL)
{
    build_in_clean_up(rig);
}

RULE_BROKEN(TDR_005)
{
    struct rig_refusal refusal = {MINIPORT_DDI_RestartFromTimeout, STATUS_UNSUCCESSFUL};

    rig_refuse(rig, &refusal);
    rig_reset_adapter(rig);
}

RULE_KEPT(TDR_005)
{
    rig_reset_adapter(rig);
}

RULE_BROKEN(TDR_006)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    rig_submit_packet(rig, &packet);
    rig_reset_adapter(rig);
    rig_submit_packet(rig, &packet); /* it counts as complete */
}

RULE_KEPT(TDR_006)
{
    rig_render(rig);
    rig_reset_adapter(rig);
    rig_render(rig);
}

/* ---- One engine ---- */

static NTSTATUS abort_as_told(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_ResetEngine)
        ((DXGKARG_RESETENGINE *)arg)->LastAbortedFenceId = *(uint32_t *)rig->told;
    return rig_answer(rig, ddi, object, arg);
}

static void reset_engine(struct rig *rig, uint32_t last_aborted)
{
    rig->answer = abort_as_told;
    rig->told = &last_aborted;
    rig_reset_engine(rig);
    rig->answer = NULL;
}

/* Packets 1, 2 and 3 of the node; 1 has run. */
static void have_work(struct rig *rig)
{
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    rig_render(rig);
    rig_render(rig);
}

RULE_BROKEN(TDR_007)
{
    have_work(rig);
    reset_engine(rig, 4);
    assert_string_equal(rig->last.text, "is 0x4; on node 1 0x1 is the last that completed and 0x3 "
                                        "the last that was submitted");
}

RULE_KEPT(TDR_007)
{
    have_work(rig);
    reset_engine(rig, 3);
}

/* TDR-007: whatever is in front of the last packet that was submitted, while none has completed. */
static void the_last_aborted_packet_is_none_in_front_of_the_last_that_completed(void **state)
{
    for (unsigned has_completed = 0; has_completed < 2; has_completed++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        if (has_completed)
            rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
        rig_render(rig);
        reset_engine(rig, 0);
        assert_int_equal(rig->counts.evaluated[RULE_TDR_007], 1);
        assert_int_equal(rig->counts.broken[RULE_TDR_007], has_completed);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(TDR_008)
{
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    reset_engine(rig, 2);
}

RULE_KEPT(TDR_008)
{
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    reset_engine(rig, 1);
}

/* Nothing has completed and nothing is queued: any fence is the last one. */
static void the_fence_of_an_engine_without_work_is_not_judged(void **state)
{
    struct rig rig;

    rig_init(&rig, RIG_GPUMMU);
    reset_engine(&rig, 0x7777);
    assert_int_equal(rig.counts.evaluated[RULE_TDR_007] + rig.counts.evaluated[RULE_TDR_008], 0);
    assert_int_equal(rig.finding_count, 0);
    rig_fini(&rig);
}

/* The engine runs paging work when it is reset. */
static void reset_in_paging(struct rig *rig, bool resets_adapter)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    rig_build(rig, &fill);
    packet.hContext = rig->system_context;
    packet.Flags.Paging = 1;
    packet.DmaBufferSubmissionEndOffset = RIG_PACKET_BYTES;
    rig_submit_packet(rig, &packet);
    reset_engine(rig, packet.SubmissionFenceId);
    if (resets_adapter)
        rig_reset_adapter(rig);
    rig_render(rig);
}

RULE_BROKEN(TDR_009)
{
    reset_in_paging(rig, false);
}

RULE_KEPT(TDR_009)
{
    reset_in_paging(rig, true);
}

RULE_BROKEN(TDR_010)
{
    have_work(rig);
    reset_engine(rig, 2);
    rig_complete(rig, RIG_CLIENT_NODE, 2);
}

RULE_KEPT(TDR_010)
{
    have_work(rig);
    reset_engine(rig, 3);
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
}

/* ---- Content and time ---- */

static void evict_after_reset(struct rig *rig, bool comes_back)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);
    DXGKARG_BUILDPAGINGBUFFER out = transfer(allocation, 1, 0);

    rig_build(rig, &fill);
    rig_submit(rig);
    rig_reset_adapter(rig);
    rig_new_buffer(rig);
    fill = rig_fill(allocation);
    if (comes_back)
        rig_build(rig, &fill);
    rig_build(rig, &out);
    rig_submit(rig);
}

RULE_BROKEN_IN(TDR_011, RIG_PHYSICAL)
{
    evict_after_reset(rig, false);
}

RULE_KEPT_IN(TDR_011, RIG_PHYSICAL)
{
    evict_after_reset(rig, true);
}

/* Content that was put there by the last call before the reset is lost as any other. */
static void the_last_call_before_a_reset_is_before_it(void **state)
{
    struct rig rig;
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER fill, out;

    rig_init(&rig, RIG_PHYSICAL);
    allocation = rig_create_allocation(&rig, NULL);
    fill = rig_fill(allocation);
    out = transfer(allocation, 1, 0);
    rig_build(&rig, &fill);
    miniport_reset_from_timeout(rig.top, NULL);
    miniport_restart_from_timeout(rig.top, NULL);
    rig_new_buffer(&rig);
    rig_build(&rig, &out);
    rig_expect_only(&rig, RULE_TDR_011);
    rig_fini(&rig);
}

/* The reset was the end of another save area, which had the handle before. */
static void the_handle_of_a_save_area_may_be_used_again(void **state)
{
    DXGKARGCB_CREATECONTEXTALLOCATION made = {.hContext = (HANDLE)0x200,
                                              .hDriverAllocation = (HANDLE)0x300,
                                              .hAllocation = (HANDLE)0x400,
                                              .Size = 65536,
                                              .SupportedSegmentSet = 1};
    DXGKARG_BUILDPAGINGBUFFER first = {.Operation = DXGK_OPERATION_INIT_CONTEXT_RESOURCE};
    DXGKARG_BUILDPAGINGBUFFER out = transfer(made.hDriverAllocation, 1, 0);
    struct rig rig;

    first.InitContextResource.hAllocation = made.hDriverAllocation;
    first.InitContextResource.Destination.SegmentId = 1;
    for (unsigned i = 0; i < 2; i++) {
        struct miniport_host *host;

        rig_init(&rig, RIG_PHYSICAL);
        host = rig.drivers_host;
        host->ops->create_context_allocation(host, &made);
        rig_build(&rig, &first);
        rig_submit(&rig);
        rig_reset_adapter(&rig);
        rig_new_buffer(&rig);
        if (i == 1) {
            host->ops->destroy_context_allocation(host, made.hAllocation);
            host->ops->create_context_allocation(host, &made);
            rig_build(&rig, &first);
        }
        rig_build(&rig, &out);
        rig_submit(&rig);
        rig_expect_only(&rig, i == 1 ? RULE_NONE : RULE_TDR_011);
        rig_fini(&rig);
    }
}

static void hang_in_paging(struct rig *rig, bool is_excused)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    uint32_t fence;

    rig_build(rig, &fill);
    rig_run(rig, 0, rig_submit(rig), RIG_PACKET_BYTES);
    rig_new_buffer(rig);
    fill = rig_fill(fill.Fill.hAllocation);
    rig_build(rig, &fill);
    fence = rig_submit(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, 0, fence, RIG_PACKET_BYTES);
    if (is_excused)
        rig_gpu_event(rig, CHECK_GPU_HUNG, 0, 0, 0);
    rig_reset_adapter(rig);
}

RULE_BROKEN_IN(TDR_012, RIG_PHYSICAL)
{
    hang_in_paging(rig, false);
}

RULE_KEPT_IN(TDR_012, RIG_PHYSICAL)
{
    hang_in_paging(rig, true);
}

static uint64_t tell_time(void *context)
{
    const struct rig *rig = context;

    return *(const uint64_t *)rig->told;
}

/* Two paging packets, one behind the other, on a board that tells nothing but the time. */
static void take_time(uint64_t first_ns, uint64_t second_ns, bool is_reset, bool is_excused,
                      enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER fill;
    uint64_t time_ns = 5000000000;
    uint32_t fences[2];

    assert_non_null(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.now = tell_time;
    rig->config.timeout_ns = 2000000000;
    rig->told = &time_ns;
    rig_init_prepared(rig);
    allocation = rig_create_allocation(rig, NULL);
    for (unsigned i = 0; i < 2; i++) {
        fill = rig_fill(allocation);
        rig_build(rig, &fill);
        fences[i] = rig_submit(rig);
    }
    time_ns += first_ns;
    rig_complete(rig, 0, fences[0]);
    time_ns += second_ns;
    if (is_excused)
        rig_gpu_event(rig, CHECK_GPU_HUNG, 0, 0, 0);
    if (is_reset)
        rig_reset_adapter(rig);
    else
        rig_complete(rig, 0, fences[1]);
    assert_true(rig->counts.evaluated[RULE_TDR_012] > 0);
    if (expected == RULE_NONE)
        assert_int_equal(rig->finding_count, 0);
    else
        rig_expect_only(rig, expected);
    rig_fini(rig);
    free(rig);
}

/* A packet's time begins when the one in front of it has ended. */
static void without_a_model_the_clock_tells_what_takes_too_long(void **state)
{
    take_time(2000000000, 2000000000, false, false, RULE_NONE);
    take_time(2000000000, 2000000000, true, false, RULE_NONE);
    take_time(2000000001, 0, false, false, RULE_TDR_012);
    take_time(0, 2000000001, false, false, RULE_TDR_012);
    take_time(0, 2000000001, true, false, RULE_TDR_012);
    take_time(0, 2000000001, true, true, RULE_NONE);
}

/* Without a time-out, or where a model tells of its packets, the clock tells nothing. */
static void the_clock_is_asked_where_nothing_else_tells(void **state)
{
    for (unsigned has_model = 0; has_model < 2; has_model++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER fill;
        uint64_t time_ns = 5000000000;
        uint32_t fence;

        assert_non_null(rig);
        rig_prepare(rig, RIG_PHYSICAL);
        rig->config.now = tell_time;
        rig->config.timeout_ns = has_model ? 2000000000 : 0;
        rig->told = &time_ns;
        rig_init_prepared(rig);
        fill = rig_fill(rig_create_allocation(rig, NULL));
        rig_build(rig, &fill);
        fence = rig_submit(rig);
        time_ns += 10000000000;
        if (has_model)
            rig_run(rig, 0, fence, RIG_PACKET_BYTES);
        else
            rig_complete(rig, 0, fence);
        rig_expect_only(rig, RULE_NONE);
        assert_int_equal(rig->counts.evaluated[RULE_TDR_012], has_model);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(TDR_013)
{
    DXGKARG_QUERYENGINESTATUS status = {0};
    struct rig_refusal refusal = {MINIPORT_DDI_QueryEngineStatus, STATUS_UNSUCCESSFUL};

    rig_refuse(rig, &refusal);
    miniport_query_engine_status(rig->top, NULL, &status);
}

RULE_KEPT(TDR_013)
{
    DXGKARG_QUERYENGINESTATUS status = {0};

    miniport_query_engine_status(rig->top, NULL, &status);
}

static NTSTATUS say_responsive(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_QueryEngineStatus)
        ((DXGKARG_QUERYENGINESTATUS *)arg)->EngineStatus.Responsive = *(const bool *)rig->told;
    return rig_answer(rig, ddi, object, arg);
}

enum since { NO_EVENT, RUNS, IS_REPORTED, IS_PREEMPTED, ENGINE_IS_RESET, ADAPTER_IS_RESET, SINCE };

static void let_happen(struct rig *rig, enum since since, uint32_t fence)
{
    switch (since) {
    case RUNS:
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
        break;
    case IS_REPORTED:
        rig_complete(rig, RIG_CLIENT_NODE, fence);
        break;
    case IS_PREEMPTED:
        rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, fence - 1);
        break;
    case ENGINE_IS_RESET:
        reset_engine(rig, fence);
        break;
    case ADAPTER_IS_RESET:
        rig_reset_adapter(rig);
        break;
    default:
        break;
    }
}

/* Of a node that was to be preempted, or that has come to a fault, whatever has happened since. */
static void ask_whether_responsive(struct rig *rig, bool is_strict, bool has_fault,
                                   enum since since, bool answer)
{
    DXGKARG_QUERYENGINESTATUS status = {.NodeOrdinal = RIG_CLIENT_NODE};
    uint32_t fence;

    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->config.profile.wants_stuck_told = is_strict;
    rig_init_prepared(rig);
    fence = rig_render(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    if (has_fault)
        rig_gpu_event(rig, CHECK_GPU_FAULT, RIG_CLIENT_NODE, fence, 0);
    else
        rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    let_happen(rig, since, fence);
    rig->answer = say_responsive;
    rig->told = &answer;
    miniport_query_engine_status(rig->top, NULL, &status);
    rig->answer = NULL;
}

RULE_BROKEN(TDR_016)
{
    ask_whether_responsive(rig, true, false, NO_EVENT, true);
    assert_non_null(strstr(rig->last.text, "was asked to preempt and has ended nothing since"));
}

RULE_KEPT(TDR_016)
{
    ask_whether_responsive(rig, true, false, NO_EVENT, false);
}

static void a_stuck_engine_that_is_called_responsive_is_advice(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    ask_whether_responsive(rig, false, false, NO_EVENT, true);
    assert_true(rig->last.is_advice);
    assert_int_equal(rig->last.rule, RULE_TDR_016);
    rig_expect_only(rig, RULE_NONE);
    ask_whether_responsive(rig, true, true, NO_EVENT, true);
    assert_int_equal(rig->counts.broken[RULE_TDR_016], 1);
    rig_fini(rig);
    free(rig);
}

static void an_engine_that_goes_on_is_not_stuck(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_QUERYENGINESTATUS status = {.NodeOrdinal = RIG_CLIENT_NODE};
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    for (enum since since = RUNS; since < SINCE; since++) {
        ask_whether_responsive(rig, true, false, since, true);
        assert_int_equal(rig->counts.evaluated[RULE_TDR_016], 0);
    }
    for (enum since since = ENGINE_IS_RESET; since < SINCE; since++) {
        ask_whether_responsive(rig, true, true, since, true);
        assert_int_equal(rig->counts.evaluated[RULE_TDR_016], 0);
    }
    rig_fini(rig);
    /* Asked to preempt what has run, and is not reported yet. */
    rig_init(rig, RIG_GPUMMU);
    fence = rig_render(rig);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    miniport_query_engine_status(rig->top, NULL, &status);
    assert_int_equal(rig->counts.evaluated[RULE_TDR_016], 0);
    rig_fini(rig);
    free(rig);
}

static NTSTATUS refuse_virtual(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_SubmitCommandVirtual)
        return STATUS_INVALID_PARAMETER;
    return rig_answer(rig, ddi, object, arg);
}

/*
 * TDR-008: a packet that the driver refused counts as complete in its turn, or not yet. A reset
 * takes its turn.
 */
static void a_refused_packet_may_be_the_last_aborted_one(void **state)
{
    for (uint32_t said = 1; said <= 3; said++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_SUBMITCOMMANDVIRTUAL refused;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
        refused = rig_packet_virtual(rig);
        assert_int_equal(refused.SubmissionFenceId, 2);
        rig->answer = refuse_virtual;
        rig_submit_virtual(rig, &refused);
        rig->answer = rig_answer;
        reset_engine(rig, said);
        assert_int_equal(rig->counts.broken[RULE_TDR_008], said == 3);
        reset_engine(rig, said == 1 ? 2 : said);
        assert_int_equal(rig->counts.broken[RULE_TDR_008], said != 2);
        rig_fini(rig);
        free(rig);
    }
}

/*
 * TDR-007: ids may leap at a refused packet, too. What is queued behind it is then more than half a
 * circle of ids behind the last one that completed.
 */
static void a_refused_packet_is_a_bound_of_the_last_aborted_one(void **state)
{
    static const uint32_t last = 0xa0000000u;

    for (unsigned is_before = 0; is_before < 2; is_before++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_SUBMITCOMMANDVIRTUAL packet;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
        packet = rig_packet_virtual(rig);
        packet.SubmissionFenceId = 0x60000000;
        rig->answer = refuse_virtual;
        rig_submit_virtual(rig, &packet);
        rig->answer = rig_answer;
        packet.SubmissionFenceId = last;
        rig_submit_virtual(rig, &packet);
        reset_engine(rig, is_before ? 0x50000000 : last);
        assert_int_equal(rig->counts.broken[RULE_TDR_007], 0);
        rig_fini(rig);
        free(rig);
    }
}

static NTSTATUS answer_group(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi != MINIPORT_DDI_QueryDependentEngineGroup)
        return rig_answer(rig, ddi, object, arg);
    ((DXGKARG_QUERYDEPENDENTENGINEGROUP *)arg)->DependentNodeOrdinalMask =
        *(const ULONGLONG *)rig->told;
    return STATUS_SUCCESS;
}

static void ask_for_group(struct rig *rig, UINT node, ULONGLONG mask)
{
    DXGKARG_QUERYDEPENDENTENGINEGROUP group = {.NodeOrdinal = node};

    rig->answer = answer_group;
    rig->told = &mask;
    miniport_query_dependent_engine_group(rig->top, NULL, &group);
    rig->answer = NULL;
}

RULE_BROKEN(TDR_014)
{
    ask_for_group(rig, 1, 1); /* the ordinal in the place of its bit */
}

RULE_KEPT(TDR_014)
{
    ask_for_group(rig, 1, 2);
    ask_for_group(rig, 1, 3);
}

static void a_group_has_no_nodes_that_there_are_none_of(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    ask_for_group(rig, 0, 1 | UINT64_C(1) << 63);
    rig_expect_only(rig, RULE_TDR_014);
    rig_fini(rig);
    free(rig);
}

static void engines_that_are_reset_need_their_ddis(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->caps.SupportPerEngineTDR = 1;
        rig->lacking = i ? MINIPORT_DDI_QueryDependentEngineGroup : 0;
        rig_init_prepared(rig);
        rig_expect_only(rig, i ? RULE_TDR_013 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stuck_engine_that_is_called_responsive_is_advice),
        cmocka_unit_test(an_engine_that_goes_on_is_not_stuck),
        cmocka_unit_test(without_a_model_the_clock_tells_what_takes_too_long),
        cmocka_unit_test(the_clock_is_asked_where_nothing_else_tells),
        cmocka_unit_test(the_last_call_before_a_reset_is_before_it),
        cmocka_unit_test(a_call_within_another_is_no_reset),
        cmocka_unit_test(the_last_aborted_packet_is_none_in_front_of_the_last_that_completed),
        cmocka_unit_test(the_handle_of_a_save_area_may_be_used_again),
        cmocka_unit_test(the_fence_of_an_engine_without_work_is_not_judged),
        cmocka_unit_test(a_gpu_that_goes_on_is_found),
        cmocka_unit_test(a_packet_that_the_gpu_did_not_have_says_nothing_of_a_reset),
        cmocka_unit_test(a_gpu_that_was_not_reset_is_found),
        cmocka_unit_test(a_refused_packet_may_be_the_last_aborted_one),
        cmocka_unit_test(a_refused_packet_is_a_bound_of_the_last_aborted_one),
        cmocka_unit_test(a_group_has_no_nodes_that_there_are_none_of),
        cmocka_unit_test(engines_that_are_reset_need_their_ddis),
    };

    return RIG_RUN_TESTS(tests);
}
