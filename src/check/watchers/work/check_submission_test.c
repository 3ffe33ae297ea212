#include "check/rig/test_rig_submit.h"

#include "base/failing_services.h"

/* ---- What SubmitCommand returns ---- */

static struct rig_refusal refuses_submissions = {MINIPORT_DDI_SubmitCommand, STATUS_NO_MEMORY};

RULE_BROKEN(SUB_001)
{
    rig_refuse(rig, &refuses_submissions);
    rig_render(rig);
    assert_string_equal(rig->last.detail.where, "DxgkDdiSubmitCommand.status");
    assert_string_equal(rig->last.text, "0xc0000017 for fence 0x1 (expected STATUS_SUCCESS)");
}

RULE_KEPT(SUB_001)
{
    rig_render(rig);
}

static NTSTATUS raise_level(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_SubmitCommand)
        rig->irql = 5;
    return rig_answer(rig, ddi, object, arg);
}

static void the_level_is_that_before(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->answer = raise_level;
    rig_render(rig);
    rig_expect_only(rig, RULE_SUB_001);
    assert_string_equal(rig->last.text, "came back at IRQL 5 (expected DISPATCH_LEVEL)");
    rig_fini(rig);
    free(rig);
}

/* ---- What the GPU is handed ---- */

RULE_BROKEN(SUB_002)
{
    uint32_t fence = rig_render(rig);

    rig_run(rig, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES - 16);
    assert_string_equal(rig->last.detail.where, "DxgkDdiSubmitCommand");
    assert_string_equal(rig->last.text, "was handed 0x30 bytes with fence 0x1; 0x40 were "
                                        "submitted");
}

RULE_KEPT(SUB_002)
{
    uint32_t fence = rig_render(rig);

    rig_run(rig, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
}

/* Bytes 0x40 on of a buffer in system memory, as the driver has the GPU fetch them: wrongly, or
 * not. */
static void commands_are_fetched_where_the_submission_says(void **state)
{
    static const struct {
        bool in_system;
        uint64_t first_byte;
        bool is_right;
    } starts[] = {{true, 0x8040, true}, {false, 0x8040, false}, {true, 0x8000, false}};

    for (size_t i = 0; i < ARRAY_COUNT(starts); i++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_SUBMITCOMMAND packet;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        packet = rig_packet(rig);
        packet.DmaBufferPhysicalAddress.QuadPart = 0x8000;
        packet.DmaBufferSubmissionStartOffset = 0x40;
        packet.DmaBufferSubmissionEndOffset = 0x80;
        rig_submit_packet(rig, &packet);
        check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED,
                                                        .node = RIG_CLIENT_NODE,
                                                        .fence = packet.SubmissionFenceId,
                                                        .bytes = 0x40,
                                                        .has_start = true,
                                                        .starts_in_system = starts[i].in_system,
                                                        .first_byte = starts[i].first_byte});
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, packet.SubmissionFenceId, 0);
        rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
        if (!starts[i].is_right)
            rig_expect_only(rig, RULE_SUB_002);
        if (rig->finding_count != !starts[i].is_right)
            fail_msg("%s", rig->last.text);
        rig_fini(rig);
        free(rig);
    }
}

static void what_is_never_or_twice_handed_over_is_found(void **state)
{
    for (unsigned times = 0; times < 3; times += 2) {
        struct rig *rig = malloc(sizeof *rig);
        uint32_t first, second;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        first = rig_render(rig);
        rig_run(rig, RIG_CLIENT_NODE, first, RIG_CLIENT_BYTES);
        second = rig_render(rig);
        for (unsigned i = 0; i < times; i++)
            rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, second, RIG_CLIENT_BYTES);
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, second, 0);
        rig_complete(rig, RIG_CLIENT_NODE, second);
        rig_expect_only(rig, RULE_SUB_002);
        assert_non_null(strstr(rig->last.text, times ? "again" : "was never handed"));
        rig_fini(rig);
        free(rig);
    }
}

/* ---- Handles and private data ---- */

/* A driver that looks into the context of a paging packet, where there may be none. */
RULE_BROKEN_IN(SUB_003, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_refuse(rig, &refuses_submissions);
    rig_build(rig, &fill);
    rig_submit(rig);
}

RULE_KEPT_IN(SUB_003, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_build(rig, &fill);
    rig_complete(rig, 0, rig_submit(rig));
}

RULE_BROKEN_IN(SUB_006, RIG_PHYSICAL)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.DmaBufferPrivateDataSubmissionStartOffset = 16;
    rig_submit_packet(rig, &packet);
}

RULE_KEPT_IN(SUB_006, RIG_PHYSICAL)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    DXGKARG_SUBMITCOMMAND paging = rig_packet(rig);
    DXGKARG_SUBMITCOMMAND packet;

    rig_build(rig, &fill);
    paging.hContext = NULL;
    paging.NodeOrdinal = 0;
    paging.Flags.Paging = 1;
    paging.DmaBufferSubmissionEndOffset = RIG_PACKET_BYTES;
    rig_submit_packet(rig, &paging);
    packet = rig_packet(rig);
    rig_submit_packet(rig, &packet);
}

static NTSTATUS use_private_data(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer)
        return rig_answer(rig, ddi, object, arg);
    build->pDmaBufferPrivateData = (char *)build->pDmaBufferPrivateData + 4;
    return *(const bool *)rig->told ? rig_answer(rig, ddi, object, arg) : STATUS_SUCCESS;
}

/*
 * A submission has the private data from where its first operation with commands was built on. One
 * without commands may have been built into another buffer before, and may be left out.
 */
static void private_data_begins_where_the_first_commands_have_theirs(void **state)
{
    static const struct {
        bool has_first_commands;
        UINT start, end;
        bool is_right;
    } cases[] = {{true, 0, 8, true},
                 {true, 4, 8, false},
                 {false, 0, 8, true},
                 {false, 4, 8, true},
                 {false, 4, 4, false}};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER fill;
        DXGKARG_SUBMITCOMMAND paging;
        bool has_commands = cases[i].has_first_commands;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        rig->answer = use_private_data;
        rig->told = &has_commands;
        fill = rig_fill(rig_create_allocation(rig, NULL));
        for (unsigned piece = 0; piece < 2; piece++) {
            fill.pDmaBuffer = rig->buffer + rig->buffer_used;
            fill.DmaSize = rig->buffer_bytes - rig->buffer_used;
            fill.pDmaBufferPrivateData = rig->private_data + 4 * piece;
            fill.DmaBufferPrivateDataSize = RIG_PRIVATE_BYTES - 4 * piece;
            fill.hSystemContext = rig->system_context;
            assert_int_equal(miniport_build_paging_buffer(rig->top, NULL, &fill), STATUS_SUCCESS);
            rig->buffer_used = (uint32_t)((char *)fill.pDmaBuffer - rig->buffer);
            has_commands = true;
        }
        paging = rig_packet(rig);
        paging.hContext = rig->system_context;
        paging.NodeOrdinal = 0;
        paging.Flags.Paging = 1;
        paging.DmaBufferSubmissionEndOffset = rig->buffer_used;
        paging.DmaBufferPrivateDataSubmissionStartOffset = cases[i].start;
        paging.DmaBufferPrivateDataSubmissionEndOffset = cases[i].end;
        rig_submit_packet(rig, &paging);
        if (!cases[i].is_right)
            rig_expect_only(rig, RULE_SUB_006);
        if (rig->finding_count != !cases[i].is_right)
            fail_msg("case %zu: %s", i, rig->last.text);
        rig_fini(rig);
        free(rig);
    }
}

static void submit_without_private_data(struct rig *rig)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.pDmaBufferPrivateData = NULL;
    packet.DmaBufferPrivateDataSize = packet.DmaBufferPrivateDataSubmissionEndOffset = 0;
    rig_submit_packet(rig, &packet);
}

RULE_BROKEN(SUB_007)
{
    rig_refuse(rig, &refuses_submissions);
    submit_without_private_data(rig);
}

RULE_KEPT(SUB_007)
{
    submit_without_private_data(rig);
}

/* ---- What need not run ---- */

RULE_BROKEN(SUB_004)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.DmaBufferSubmissionEndOffset = 0;
    packet.Flags.ContextSwitch = 1;
    rig_submit_packet(rig, &packet);
    rig_query_fence(rig, RIG_CLIENT_NODE);
    rig_reset_adapter(rig);
}

RULE_KEPT(SUB_004)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.DmaBufferSubmissionEndOffset = 0;
    packet.Flags.ContextSwitch = 1;
    rig_submit_packet(rig, &packet);
    rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
    rig_reset_adapter(rig);
}

/* A submission without commands, behind which the node is reset, or the adapter. */
static void reset_behind_empty_packet(struct rig *rig, bool resets_adapter)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.DmaBufferSubmissionEndOffset = 0;
    packet.Flags.ContextSwitch = 1;
    rig_submit_packet(rig, &packet);
    rig_query_fence(rig, RIG_CLIENT_NODE);
    if (resets_adapter)
        rig_reset_adapter(rig);
    else
        rig_reset_engine(rig);
}

/* What a fault has stopped need not arrive; what is submitted behind the reset must. */
static void a_packet_without_commands_arrives_unless_a_fault_stops_its_node(void **state)
{
    for (unsigned resets_adapter = 0; resets_adapter < 2; resets_adapter++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_gpu_event(rig, CHECK_GPU_FAULT, RIG_CLIENT_NODE, rig_render(rig), 0);
        for (unsigned round = 0; round < 2; round++) {
            reset_behind_empty_packet(rig, resets_adapter);
            assert_int_equal(rig->counts.broken[RULE_SUB_004], round);
        }
        rig_fini(rig);
        free(rig);
    }
}

/* Commands that never ended are in front of it. */
static void a_packet_without_commands_waits_behind_one_that_has_some(void **state)
{
    for (unsigned resets_adapter = 0; resets_adapter < 2; resets_adapter++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_render(rig);
        reset_behind_empty_packet(rig, resets_adapter);
        assert_int_equal(rig->counts.broken[RULE_SUB_004], 0);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(SUB_005)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.Flags.NullRendering = 1;
    rig_submit_packet(rig, &packet);
    rig_run(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId, RIG_CLIENT_BYTES);
}

RULE_KEPT(SUB_005)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.Flags.NullRendering = 1;
    rig_submit_packet(rig, &packet);
    rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
}

/* ---- What comes back ---- */

RULE_BROKEN(SUB_008)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.Flags.Resubmission = 1;
    rig_submit_packet(rig, &packet);
}

/* Marked or not, a client's packet that was preempted comes back; what is behind it is new. */
RULE_KEPT(SUB_008)
{
    for (unsigned is_marked = 0; is_marked < 2; is_marked++) {
        DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

        rig_submit_packet(rig, &packet);
        rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
        rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, packet.SubmissionFenceId - 1);
        packet.SubmissionFenceId = ++rig->fence;
        packet.Flags.Resubmission = is_marked;
        rig_submit_packet(rig, &packet);
        rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
    }
    rig_render(rig);
}

/* The node is switched to a null context in front of a client's packet that comes back. */
static void a_switch_is_not_what_comes_back(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SUBMITCOMMAND packet, other;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    packet = rig_packet(rig);
    rig_submit_packet(rig, &packet);
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, packet.SubmissionFenceId - 1);
    other = packet;
    other.SubmissionFenceId = ++rig->fence;
    other.Flags.ContextSwitch = 1;
    rig_submit_packet(rig, &other);
    packet.SubmissionFenceId = ++rig->fence;
    packet.Flags.Resubmission = 1;
    rig_submit_packet(rig, &packet);
    rig_expect_silence(rig, RULE_SUB_008);
    rig_fini(rig);
    free(rig);
}

/* What leads out of the context comes back behind new work of it. */
static void a_switch_comes_back_behind_other_packets(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SUBMITCOMMAND packet, other;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    packet = rig_packet(rig);
    packet.Flags.ContextSwitch = 1;
    rig_submit_packet(rig, &packet);
    rig_preempt(rig, RIG_CLIENT_NODE, ++rig->fence);
    rig_preempted(rig, RIG_CLIENT_NODE, rig->fence, packet.SubmissionFenceId - 1);
    other = rig_packet(rig);
    rig_submit_packet(rig, &other);
    packet.SubmissionFenceId = ++rig->fence;
    packet.Flags.Resubmission = 1;
    rig_submit_packet(rig, &packet);
    rig_expect_silence(rig, RULE_SUB_008);
    packet.SubmissionFenceId = ++rig->fence; /* once is enough */
    rig_submit_packet(rig, &packet);
    rig_expect_only(rig, RULE_SUB_008);
    rig_fini(rig);
    free(rig);
}

/* A paging packet that was preempted before it began. */
static DXGKARG_SUBMITCOMMAND preempted_paging_packet(struct rig *rig)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    rig_build(rig, &fill);
    packet.hContext = rig->system_context;
    packet.NodeOrdinal = 0;
    packet.Flags.Paging = 1;
    packet.DmaBufferSubmissionEndOffset = RIG_PACKET_BYTES;
    rig_submit_packet(rig, &packet);
    rig_preempt(rig, 0, ++rig->fence);
    rig_preempted(rig, 0, rig->fence, 0);
    packet.Flags.Resubmission = 1;
    return packet;
}

RULE_BROKEN(SUB_009)
{
    DXGKARG_SUBMITCOMMAND other, packet = preempted_paging_packet(rig);

    other = rig_packet(rig);
    other.NodeOrdinal = 0;
    rig_submit_packet(rig, &other);
    rig_submit_packet(rig, &packet);
}

RULE_KEPT(SUB_009)
{
    DXGKARG_SUBMITCOMMAND other, packet = preempted_paging_packet(rig);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig_submit_packet(rig, &packet);
    rig_new_buffer(rig);
    rig_build(rig, &fill);
    other = packet;
    other.Flags.Resubmission = 0;
    other.SubmissionFenceId = ++rig->fence;
    rig_submit_packet(rig, &other);
    rig_preempt(rig, 0, ++rig->fence);
    rig_preempted(rig, 0, rig->fence, 0);
    /* Two of them, in their order, and then what is new. */
    rig_submit_packet(rig, &packet);
    other.Flags.Resubmission = 1;
    rig_submit_packet(rig, &other);
    other = rig_packet(rig);
    other.NodeOrdinal = 0;
    rig_submit_packet(rig, &other);
}

RULE_BROKEN(SUB_010)
{
    DXGKARG_SUBMITCOMMAND packet = preempted_paging_packet(rig);

    rig_refuse(rig, &refuses_submissions);
    rig_submit_packet(rig, &packet);
}

RULE_KEPT(SUB_010)
{
    DXGKARG_SUBMITCOMMAND packet = preempted_paging_packet(rig);

    rig_submit_packet(rig, &packet);
    rig_run(rig, 0, packet.SubmissionFenceId, RIG_PACKET_BYTES);
}

/* It took the packet, and threw it away as one that has run. */
static void what_comes_back_must_reach_the_gpu(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SUBMITCOMMAND packet;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    packet = preempted_paging_packet(rig);
    rig_submit_packet(rig, &packet);
    rig_reset_adapter(rig);
    rig_expect_only(rig, RULE_SUB_010);
    rig_fini(rig);
    free(rig);
}

/* ---- SubmitCommandVirtual ---- */

RULE_BROKEN(SUB_011)
{
    struct rig_refusal refusal = {MINIPORT_DDI_SubmitCommandVirtual, STATUS_NO_MEMORY};
    DXGKARG_SUBMITCOMMANDVIRTUAL packet = rig_packet_virtual(rig);

    rig_refuse(rig, &refusal);
    rig_submit_virtual(rig, &packet);
}

static struct rig_refusal finds_invalid = {MINIPORT_DDI_SubmitCommandVirtual,
                                           STATUS_INVALID_PARAMETER};

RULE_KEPT(SUB_011)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL packet = rig_packet_virtual(rig);

    rig_submit_virtual(rig, &packet);
    rig_refuse(rig, &finds_invalid);
    packet = rig_packet_virtual(rig);
    rig_submit_virtual(rig, &packet);
}

/* The GPU gets the packet with a root table: that of the context, or another one. */
static void the_root_in_use_is_that_of_the_context(void **state)
{
    static const struct {
        bool has_root, is_system;
        uint64_t root;
        enum rule_id expected;
    } cases[] = {
        {true, false, 103 * 4096, RULE_NONE},
        {false, false, 0, RULE_NONE}, /* nobody knows */
        {true, false, 104 * 4096, RULE_SUB_011},
        {true, true, 103 * 4096, RULE_SUB_011},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_SUBMITCOMMANDVIRTUAL packet;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        packet = rig_packet_virtual(rig);
        rig_submit_virtual(rig, &packet);
        check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_QUEUED,
                                                        .node = RIG_CLIENT_NODE,
                                                        .fence = packet.SubmissionFenceId,
                                                        .bytes = packet.DmaBufferSize,
                                                        .has_root = cases[i].has_root,
                                                        .root = cases[i].root,
                                                        .is_system = cases[i].is_system});
        if (cases[i].expected)
            rig_expect_only(rig, cases[i].expected);
        else
            rig_expect_silence(rig, RULE_SUB_011);
        rig_fini(rig);
        free(rig);
    }
}

struct current {
    uint32_t fence;
};

static NTSTATUS refuse_and_tell(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct current *current = rig->told;

    if (ddi == MINIPORT_DDI_SubmitCommandVirtual)
        return STATUS_INVALID_PARAMETER;
    if (ddi == MINIPORT_DDI_QueryCurrentFence)
        ((DXGKARG_QUERYCURRENTFENCE *)arg)->CurrentFence = current->fence;
    return rig_answer(rig, ddi, object, arg);
}

static void refuse_and_ask(struct rig *rig, uint32_t answer)
{
    struct current current = {.fence = answer};
    DXGKARG_SUBMITCOMMANDVIRTUAL packet = rig_packet_virtual(rig);

    rig->answer = refuse_and_tell;
    rig->told = &current;
    rig_submit_virtual(rig, &packet);
    rig_query_fence(rig, RIG_CLIENT_NODE);
}

RULE_BROKEN(SUB_012)
{
    refuse_and_ask(rig, 0);
}

RULE_KEPT(SUB_012)
{
    refuse_and_ask(rig, 1);
}

static NTSTATUS tell_fence(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct current *current = rig->told;

    if (ddi == MINIPORT_DDI_QueryCurrentFence)
        ((DXGKARG_QUERYCURRENTFENCE *)arg)->CurrentFence = current->fence;
    return rig_answer(rig, ddi, object, arg);
}

static void a_reset_of_the_engine_takes_the_turn_of_what_was_refused(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct current current = {.fence = 0};
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->answer = refuse_and_tell;
    rig->told = &current;
    packet = rig_packet_virtual(rig);
    rig_submit_virtual(rig, &packet);
    rig_reset_engine(rig);
    rig_query_fence(rig, RIG_CLIENT_NODE);
    assert_int_equal(rig->counts.broken[RULE_SUB_012], 0);
    rig_fini(rig);
    free(rig);
}

/* The driver may report the refused fence; what it says of it when it is asked is judged then, too.
 */
static void a_refused_fence_that_was_reported_is_asked_for(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct current current = {.fence = 1};
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->answer = refuse_and_tell;
    rig->told = &current;
    packet = rig_packet_virtual(rig);
    rig_submit_virtual(rig, &packet);
    rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
    rig_query_fence(rig, RIG_CLIENT_NODE);
    assert_int_equal(rig->counts.evaluated[RULE_SUB_012], 1);
    assert_int_equal(rig->counts.broken[RULE_SUB_012], 0);
    rig_fini(rig);
    free(rig);
}

/* Fences wrap: what was refused more than half of their range ago is behind no present one. */
static void a_fence_that_was_refused_long_ago_is_forgotten(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct current current = {.fence = 0xffffff00};
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->answer = refuse_and_tell;
    packet = rig_packet_virtual(rig);
    rig_submit_virtual(rig, &packet);
    rig->answer = tell_fence;
    rig->told = &current;
    for (unsigned i = 0; i < 2; i++) {
        packet = rig_packet_virtual(rig);
        packet.SubmissionFenceId = i ? current.fence : 0x60000000;
        rig_submit_virtual(rig, &packet);
        rig_complete(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId);
    }
    rig_query_fence(rig, RIG_CLIENT_NODE);
    assert_int_equal(rig->counts.broken[RULE_SUB_012], 0);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(SUB_013)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL packet = rig_packet_virtual(rig);

    packet.DmaBufferUmdPrivateDataSize = RIG_PRIVATE_BYTES + 1;
    rig_submit_virtual(rig, &packet);
}

RULE_KEPT(SUB_013)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL packet = rig_packet_virtual(rig);

    packet.DmaBufferUmdPrivateDataSize = RIG_PRIVATE_BYTES;
    rig_submit_virtual(rig, &packet);
}

/* Of paging, 0 is the start of a buffer without an address; of a client it is no place. */
static void only_paging_begins_at_address_0(void **state)
{
    for (unsigned is_paging = 0; is_paging < 2; is_paging++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_SUBMITCOMMANDVIRTUAL packet;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        packet = rig_packet_virtual(rig);
        packet.DmaBufferVirtualAddress = 0;
        packet.Flags.Paging = is_paging;
        rig_submit_virtual(rig, &packet);
        if (is_paging)
            assert_int_equal(rig->counts.broken[RULE_SUB_013], 0);
        else
            rig_expect_only(rig, RULE_SUB_013);
        rig_fini(rig);
        free(rig);
    }
}

/* ---- What a packet depends on ---- */

static void use_after(struct rig *rig, bool has_arrived)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));
    DXGK_ALLOCATIONLIST entry = {.SegmentId = 1, .PhysicalAddress.QuadPart = 0};
    /* So near to the end that nobody knows what bits it needs. */
    D3DDDI_PATCHLOCATIONLIST location = {.AllocationOffset = 61440,
                                         .PatchOffset = RIG_CLIENT_BYTES - 4};
    DXGKARG_PATCH patch = {
        .hContext = rig->context,
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .DmaBufferSubmissionEndOffset = RIG_CLIENT_BYTES,
        .pAllocationList = &entry,
        .AllocationListSize = 1,
        .pPatchLocationList = &location,
        .PatchLocationListSize = 1,
        .PatchLocationListSubmissionLength = 1,
    };
    uint32_t fence;

    rig_build(rig, &fill);
    fence = rig_submit(rig);
    if (has_arrived)
        rig_run(rig, 0, fence, RIG_PACKET_BYTES);
    miniport_patch(rig->top, NULL, &patch);
}

RULE_BROKEN_IN(SUB_014, RIG_PHYSICAL)
{
    use_after(rig, false);
    assert_string_equal(rig->last.text,
                        "allocation 0, at 0x0 of segment 1, still arrives there: the paging packet "
                        "with fence 0x1 of node 0 has not ended");
}

RULE_KEPT_IN(SUB_014, RIG_PHYSICAL)
{
    use_after(rig, true);
}

/* Behind those that are nowhere, or of no allocation: the last location is the one that arrives. */
static void each_location_of_a_patch_is_looked_at(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER fill;
    DXGK_ALLOCATIONLIST entries[] = {
        {.SegmentId = 0}, {.SegmentId = 1, .PhysicalAddress.QuadPart = 1 << 20}, {.SegmentId = 1}};
    D3DDDI_PATCHLOCATIONLIST locations[] = {
        {.AllocationIndex = 0},                    /* not in a segment */
        {.AllocationIndex = ARRAY_COUNT(entries)}, /* not in the list */
        {.AllocationIndex = 1},                    /* nothing arrives there */
        {.AllocationIndex = 2, .AllocationOffset = 61440},
    };
    DXGKARG_PATCH patch = {
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .DmaBufferSubmissionEndOffset = RIG_CLIENT_BYTES,
        .pAllocationList = entries,
        .AllocationListSize = ARRAY_COUNT(entries),
        .pPatchLocationList = locations,
        .PatchLocationListSize = ARRAY_COUNT(locations),
        .PatchLocationListSubmissionLength = ARRAY_COUNT(locations),
    };

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    for (unsigned i = 0; i < ARRAY_COUNT(locations); i++)
        locations[i].PatchOffset = RIG_CLIENT_BYTES - 4; /* as above */
    fill = rig_fill(rig_create_allocation(rig, NULL));
    patch.hContext = rig->context;
    rig_build(rig, &fill);
    rig_submit(rig);
    miniport_patch(rig->top, NULL, &patch);
    assert_int_equal(rig->counts.broken[RULE_SUB_014], 1);
    patch.PatchLocationListSubmissionLength--;
    miniport_patch(rig->top, NULL, &patch);
    assert_int_equal(rig->counts.broken[RULE_SUB_014], 1);
    rig_fini(rig);
    free(rig);
}

static NTSTATUS write_nothing(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_BuildPagingBuffer ? STATUS_SUCCESS
                                                 : rig_answer(rig, ddi, object, arg);
}

/* A piece without commands is in the packet of its neighbours, and waits for none of them. */
static void what_needs_no_commands_has_arrived_when_it_is_built(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER other;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    other = rig_fill(rig_create_allocation(rig, NULL));
    other.Fill.Destination.SegmentAddress.QuadPart = 1 << 20;
    rig_build(rig, &other);
    rig->answer = write_nothing;
    use_after(rig, false);
    rig_expect_silence(rig, RULE_SUB_014);
    rig_fini(rig);
    free(rig);
}

/* The check says that it is not whole; the driver's call goes on. */
static void a_packet_that_finds_no_memory_is_not_followed(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct failing_services memory;
    bool has_failed = true;

    assert_non_null(rig);
    for (uint64_t n = 1; has_failed; n++) {
        failing_services_init(&memory);
        rig_prepare(rig, RIG_GPUMMU);
        rig->config.services = &memory.services;
        rig_init_prepared(rig);
        failing_services_fail_at(&memory, n);
        rig_render(rig);
        has_failed = memory.has_failed;
        assert_int_equal(check_is_whole(rig->check), !has_failed);
        rig_expect_only(rig, RULE_NONE);
        rig_fini(rig);
        assert_int_equal(memory.live_blocks, 0);
        assert_true(n > 1 || has_failed);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_level_is_that_before),
        cmocka_unit_test(a_packet_without_commands_arrives_unless_a_fault_stops_its_node),
        cmocka_unit_test(a_packet_without_commands_waits_behind_one_that_has_some),
        cmocka_unit_test(a_reset_of_the_engine_takes_the_turn_of_what_was_refused),
        cmocka_unit_test(a_refused_fence_that_was_reported_is_asked_for),
        cmocka_unit_test(a_fence_that_was_refused_long_ago_is_forgotten),
        cmocka_unit_test(commands_are_fetched_where_the_submission_says),
        cmocka_unit_test(what_is_never_or_twice_handed_over_is_found),
        cmocka_unit_test(private_data_begins_where_the_first_commands_have_theirs),
        cmocka_unit_test(a_switch_is_not_what_comes_back),
        cmocka_unit_test(a_switch_comes_back_behind_other_packets),
        cmocka_unit_test(what_comes_back_must_reach_the_gpu),
        cmocka_unit_test(only_paging_begins_at_address_0),
        cmocka_unit_test(the_root_in_use_is_that_of_the_context),
        cmocka_unit_test(what_needs_no_commands_has_arrived_when_it_is_built),
        cmocka_unit_test(each_location_of_a_patch_is_looked_at),
        cmocka_unit_test(a_packet_that_finds_no_memory_is_not_followed),
    };

    return RIG_RUN_TESTS(tests);
}
