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

/* Where the driver has not said how many nodes there are, each may be one: it has no packets. */
static void a_report_of_a_node_that_nobody_knows_is_of_nothing_under_way(void **state)
{
    struct way way = {.irql = 5, .queues_dpc = true, .notifies = true, .beyond = 1000};
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->caps.GpuEngineTopology.NbAsymetricProcessingNodes = 0;
    rig_init_prepared(rig);
    interrupt_in_a_way(rig, &way);
    rig_expect_only(rig, RULE_FENCE_002);
    rig_fini(rig);
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

/* ---- The current fence ---- */

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
        cmocka_unit_test(a_report_of_no_engine_is_found),
        cmocka_unit_test(a_report_of_a_node_that_nobody_knows_is_of_nothing_under_way),
        cmocka_unit_test(a_dpc_that_tells_nobody_is_found),
        cmocka_unit_test(what_is_done_while_a_dpc_tells_is_told_by_the_next_one),
        cmocka_unit_test(a_packet_that_is_never_reported_is_found_when_all_stands_still),
        cmocka_unit_test(a_node_with_a_refused_packet_is_not_empty),
        cmocka_unit_test(a_refused_packet_may_stand_for_the_current_one),
        cmocka_unit_test(behind_a_reset_the_first_packet_lost_is_not_the_last_one),
        cmocka_unit_test(what_a_reset_ended_counts_while_new_work_waits),
        cmocka_unit_test(the_last_completed_fence_of_a_preemption_has_been_reported),
        cmocka_unit_test(a_current_fence_is_not_looked_at_without_a_gpu),
    };

    return RIG_RUN_TESTS(tests);
}
