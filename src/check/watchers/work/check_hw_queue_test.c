/* Hardware queues (HWQ-001 to HWQ-012, HWQ-014, HWQ-015). */
#include "check/check_private.h"
#include "check/rig/test_rig_submit.h"
#include "check/rig/test_rig_tables.h"

#define FENCE_VA UINT64_C(0x7fe00000)

/* Of one queue; `context` is one of hardware queues. */
static struct {
    HANDLE context, queue;
    UINT64 value; /* of the progress fence */
    UINT64 other; /* of that of a second queue of the context */
    UINT limit;   /* MaxInFlightHwQueueBuffers */
    bool gives_kernels, reports, submits_inside;
    bool gives_one; /* the next handle is this: */
    HANDLE gives;
    UINT current; /* what DxgkDdiQueryCurrentFence says */
    NTSTATUS presents_as;
} test;

static DXGKARG_SUBMITCOMMANDTOHWQUEUE lawful_submission(UINT64 id)
{
    return (DXGKARG_SUBMITCOMMANDTOHWQUEUE){.hHwQueue = test.queue,
                                            .HwQueueProgressFenceId = id,
                                            .DmaBufferVirtualAddress = 0x10000,
                                            .DmaBufferSize = 64,
                                            .HwQueueProgressFenceGpuVa = FENCE_VA,
                                            .HwQueueProgressFenceCpuVa = &test.value};
}

static void submit_as(struct rig *rig, const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    unsigned before = rig->irql;

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_to_hw_queue(rig->top, NULL, arg);
    rig->irql = before;
}

static void submit(struct rig *rig, UINT64 id)
{
    const DXGKARG_SUBMITCOMMANDTOHWQUEUE arg = lawful_submission(id);

    submit_as(rig, &arg);
}

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};

    data.MonitoredFenceSignaled.NodeOrdinal = RIG_CLIENT_NODE;
    if (ddi == MINIPORT_DDI_GetNodeMetadata) {
        struct miniport_node *node = arg;

        node->metadata.Flags.ContextSchedulingSupported = 1;
        node->metadata.Flags.RingBufferFenceRelease = 1;
        node->metadata.Flags.MaxInFlightHwQueueBuffers = test.limit & 0xffff;
        return STATUS_SUCCESS;
    }
    if (ddi == MINIPORT_DDI_CreateHwQueue && !test.gives_kernels)
        ((DXGKARG_CREATEHWQUEUE *)arg)->hHwQueue = test.gives_one ? test.gives : rig_handle(rig);
    if (ddi == MINIPORT_DDI_InterruptRoutine && test.reports)
        rig_interrupt(rig, &data);
    if (ddi == MINIPORT_DDI_SubmitCommandToHwQueue && test.submits_inside) {
        test.submits_inside = false;
        submit(rig, ((const DXGKARG_SUBMITCOMMANDTOHWQUEUE *)arg)->HwQueueProgressFenceId + 1);
    }
    if (ddi == MINIPORT_DDI_PresentToHwQueue) {
        DXGKARG_PRESENT *present = arg;

        present->pDmaBuffer = (char *)present->pDmaBuffer + 64;
        return test.presents_as;
    }
    if (ddi == MINIPORT_DDI_QueryCurrentFence) {
        ((DXGKARG_QUERYCURRENTFENCE *)arg)->CurrentFence = test.current;
        return STATUS_SUCCESS;
    }
    return rig_answer(rig, ddi, object, arg);
}

static void ask_feature(struct rig *rig)
{
    DXGKARGCB_ISFEATUREENABLED feature = {.FeatureId = DXGK_FEATURE_HWSCH};

    rig->drivers_host->ops->is_feature_enabled(rig->drivers_host, &feature);
}

static void ask_metadata(struct rig *rig)
{
    struct miniport_node node = {.NodeOrdinalAndAdapterIndex = RIG_CLIENT_NODE};

    rig->answer = answer;
    miniport_get_node_metadata(rig->top, NULL, &node);
}

static HANDLE make_context(struct rig *rig)
{
    DXGKARG_CREATECONTEXT create = {.NodeOrdinal = RIG_CLIENT_NODE, .EngineAffinity = 1};

    create.Flags.VirtualAddressing = 1;
    create.Flags.HwQueueSupported = 1;
    miniport_create_context(rig->top, rig->device, &create);
    return create.hContext;
}

static DXGKARG_CREATEHWQUEUE lawful_queue(void)
{
    return (DXGKARG_CREATEHWQUEUE){.hHwQueue = &test,
                                   .hHwQueueProgressFence = 77,
                                   .HwQueueProgressFenceCPUVirtualAddress = &test.value,
                                   .HwQueueProgressFenceGPUVirtualAddress = FENCE_VA};
}

static void make_queue(struct rig *rig)
{
    DXGKARG_CREATEHWQUEUE create = lawful_queue();

    miniport_create_hw_queue(rig->top, test.context, &create);
    test.queue = create.hHwQueue;
}

/* Beside that, with a fence of its own. */
static DXGKARG_CREATEHWQUEUE second_queue(void)
{
    return (DXGKARG_CREATEHWQUEUE){.hHwQueue = &test.other,
                                   .hHwQueueProgressFence = 78,
                                   .HwQueueProgressFenceCPUVirtualAddress = &test.other,
                                   .HwQueueProgressFenceGPUVirtualAddress =
                                       FENCE_VA + sizeof test.other};
}

static HANDLE make_second(struct rig *rig)
{
    DXGKARG_CREATEHWQUEUE create = second_queue();

    miniport_create_hw_queue(rig->top, test.context, &create);
    return create.hHwQueue;
}

static void set_bands(struct rig *rig)
{
    const DXGKARG_SETUPPRIORITYBANDS bands = {.targetNormalBandPercentage = 10};

    miniport_setup_priority_bands(rig->top, NULL, &bands);
}

static void set_properties(struct rig *rig)
{
    const DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES properties = {
        .hContext = test.context, .priorityBand = DXGK_SCHEDULING_PRIORITY_BAND_NORMAL};

    miniport_set_context_scheduling_properties(rig->top, NULL, &properties);
}

/* The adapter has a node with queues, and a context on it has one; they have no priorities. */
static void begin_unscheduled(struct rig *rig)
{
    memset(&test, 0, sizeof test);
    test.reports = true;
    ask_feature(rig);
    ask_metadata(rig);
    test.context = make_context(rig);
    make_queue(rig);
    rig_set_root(rig, test.context);
}

static void begin(struct rig *rig)
{
    begin_unscheduled(rig);
    set_bands(rig);
    set_properties(rig);
}

/* The GPU runs it, the fence has its value, and the driver says so. */
static void run(struct rig *rig, UINT64 id)
{
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, (uint32_t)id, 64);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, (uint32_t)id, 0);
    test.value = id;
    miniport_interrupt(rig->top, 0);
}

/* ---- The system ---- */

RULE_BROKEN(HWQ_001)
{
    memset(&test, 0, sizeof test);
    make_context(rig);
}

RULE_KEPT(HWQ_001)
{
    begin(rig);
}

static void a_queue_is_of_such_a_context_and_has_a_fence(void **state)
{
    for (unsigned wrong = 0; wrong < 5; wrong++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_CREATEHWQUEUE create = second_queue();

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        begin(rig);
        if (wrong == 1)
            create.hHwQueueProgressFence = 0;
        if (wrong == 2)
            create.HwQueueProgressFenceCPUVirtualAddress = NULL;
        if (wrong == 3)
            create.HwQueueProgressFenceGPUVirtualAddress = 0;
        if (wrong == 4) /* that of the queue that is there */
            create.HwQueueProgressFenceCPUVirtualAddress = &test.value;
        miniport_create_hw_queue(rig->top, wrong ? test.context : rig->context, &create);
        rig_expect_only(rig, RULE_HWQ_001);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(HWQ_003)
{
    begin(rig);
    submit(rig, 5);
    submit(rig, 5);
}

RULE_KEPT(HWQ_003)
{
    begin(rig);
    submit(rig, 5);
    submit(rig, 9);
}

RULE_BROKEN(HWQ_004)
{
    DXGKARG_SUBMITCOMMANDTOHWQUEUE arg;

    begin(rig);
    arg = lawful_submission(1);
    arg.HwQueueProgressFenceGpuVa += 8;
    submit_as(rig, &arg);
}

RULE_KEPT(HWQ_004)
{
    begin(rig);
    submit(rig, 1);
}

static void a_submission_names_a_queue_that_lives(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    begin(rig);
    miniport_destroy_hw_queue(rig->top, test.queue);
    submit(rig, 1);
    rig_expect_only(rig, RULE_HWQ_004);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(HWQ_008)
{
    DXGKARG_SUBMITCOMMANDTOHWQUEUE arg;

    begin(rig);
    arg = lawful_submission(1);
    arg.Flags.NullRendering = 1;
    submit_as(rig, &arg);
}

RULE_KEPT(HWQ_008)
{
    begin(rig);
    submit(rig, 1);
}

/* A fill, of which the driver writes 64 bytes, where a submission of the queue begins. */
static void present(struct rig *rig)
{
    static const RECT part = {0, 0, 1024, 4};
    DXGK_ALLOCATIONLIST list[MINIPORT_PRESENT_ALLOCATIONS] = {{0}};
    DXGKARG_PRESENT arg = {
        .pDmaBuffer = rig->buffer,
        .DmaSize = 256,
        .pAllocationList = list,
        .DstRect = {0, 0, 1024, 8},
        .SubRectCnt = 1,
        .pDstSubRects = (RECT *)(uintptr_t)&part,
        .DmaBufferGpuVirtualAddress = lawful_submission(1).DmaBufferVirtualAddress,
    };

    list[DXGK_PRESENT_DESTINATION_INDEX].hDeviceSpecificAllocation = (HANDLE)0x500;
    list[DXGK_PRESENT_DESTINATION_INDEX].VirtualAddress = 0x20000;
    arg.Flags.ColorFill = 1;
    miniport_present_to_hw_queue(rig->top, test.queue, &arg);
}

/* Presents of the queue, then a submission with these flags and bytes. */
static void expect_of_present(enum rule_id rule, bool presents, unsigned says, UINT bytes)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SUBMITCOMMANDTOHWQUEUE arg;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    begin(rig);
    if (presents)
        present(rig);
    arg = lawful_submission(1);
    arg.Flags.Present = says;
    arg.DmaBufferSize = bytes;
    submit_as(rig, &arg);
    rig_expect_only(rig, rule);
    rig_fini(rig);
    free(rig);
}

static void what_was_presented_to_a_queue_is_submitted_as_a_present(void **state)
{
    expect_of_present(RULE_NONE, true, 1, 64);
    expect_of_present(RULE_NONE, true, 1, 0); /* NullRendering */
    expect_of_present(RULE_HWQ_008, true, 0, 64);
    expect_of_present(RULE_HWQ_008, false, 1, 64);
    expect_of_present(RULE_PATCH_023, true, 1, 32);
}

static void a_present_to_a_queue_is_one_as_any_other(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    begin(rig);
    test.presents_as = STATUS_INVALID_USER_BUFFER;
    present(rig);
    rig_expect_only(rig, RULE_PATCH_021);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(HWQ_009)
{
    begin(rig);
    test.submits_inside = true;
    submit(rig, 1);
}

RULE_KEPT(HWQ_009)
{
    begin(rig);
    submit(rig, 1);
    submit(rig, 2);
}

RULE_BROKEN(HWQ_010)
{
    begin(rig);
    test.limit = 2;
    ask_metadata(rig);
    for (unsigned id = 1; id < 4; id++)
        submit(rig, id);
}

RULE_KEPT(HWQ_010)
{
    begin(rig);
    test.limit = 2;
    ask_metadata(rig);
    submit(rig, 1);
    submit(rig, 2);
    run(rig, 1);
    submit(rig, 3);
}

RULE_BROKEN(HWQ_011)
{
    begin(rig);
    miniport_destroy_context(rig->top, test.context);
}

RULE_KEPT(HWQ_011)
{
    begin(rig);
    submit(rig, 1);
    run(rig, 1);
    miniport_destroy_hw_queue(rig->top, test.queue);
    miniport_destroy_context(rig->top, test.context);
}

RULE_BROKEN(HWQ_015)
{
    begin_unscheduled(rig);
    set_bands(rig);
    submit(rig, 1);
}

RULE_KEPT(HWQ_015)
{
    begin(rig);
    submit(rig, 1);
    set_bands(rig);
    set_properties(rig);
    submit(rig, 2);
}

static void forgets_the_bands(struct rig *rig)
{
    set_properties(rig);
    submit(rig, 1);
}

static void sets_bands_behind_work(struct rig *rig)
{
    const DXGKARG_SUBMITCOMMANDVIRTUAL packet = rig_packet_virtual(rig);

    rig_submit_virtual(rig, &packet);
    set_bands(rig);
}

static void schedules_no_context(struct rig *rig)
{
    test.context = &test;
    set_properties(rig);
}

static void priorities_come_before_work(void **state)
{
    static void (*const ways[])(struct rig * rig) = {forgets_the_bands, sets_bands_behind_work,
                                                     schedules_no_context};

    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        begin_unscheduled(rig);
        ways[i](rig);
        rig_expect_only(rig, RULE_HWQ_015);
        rig_fini(rig);
        free(rig);
    }
}

/* A driver that lacks them is never told. */
static void a_driver_without_the_functions_is_told_no_priorities(void **state)
{
    static const enum miniport_ddi lacking[] = {MINIPORT_DDI_SetupPriorityBands,
                                                MINIPORT_DDI_SetContextSchedulingProperties};

    for (size_t i = 0; i < ARRAY_COUNT(lacking); i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->lacking = lacking[i];
        rig_init_prepared(rig);
        begin_unscheduled(rig);
        if (lacking[i] == MINIPORT_DDI_SetupPriorityBands)
            set_properties(rig);
        else
            set_bands(rig);
        submit(rig, 1);
        rig_expect_only(rig, RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

static void a_queue_has_nothing_under_way_when_it_goes(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    begin(rig);
    submit(rig, 1);
    miniport_destroy_hw_queue(rig->top, test.queue);
    rig_expect_only(rig, RULE_HWQ_011);
    rig_fini(rig);
    free(rig);
}

/* ---- The driver ---- */

RULE_BROKEN(HWQ_002)
{
    begin(rig);
    test.gives_kernels = true;
    make_second(rig);
}

RULE_KEPT(HWQ_002)
{
    begin(rig);
    make_second(rig);
}

/* The fence has the value, and the GPU has not begun. */
RULE_BROKEN(HWQ_005)
{
    begin(rig);
    submit(rig, 1);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, 1, 64); /* a GPU that tells */
    test.value = 1;
    miniport_interrupt(rig->top, 0);
}

RULE_KEPT(HWQ_005)
{
    begin(rig);
    submit(rig, 1);
    run(rig, 1);
}

RULE_BROKEN(HWQ_006)
{
    begin(rig);
    submit(rig, 1);
    test.reports = false;
    run(rig, 1);
    assert_int_equal(check_stands_still(rig->check), 1);
}

RULE_KEPT(HWQ_006)
{
    begin(rig);
    submit(rig, 1);
    run(rig, 1);
}

static void what_never_ends_is_found_when_nothing_else_happens(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    begin(rig);
    submit(rig, 1);
    assert_int_equal(check_stands_still(rig->check), 1);
    rig_expect_only(rig, RULE_HWQ_006);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(HWQ_007)
{
    begin(rig);
    submit(rig, 3);
    run(rig, 3);
    test.value = 1;
    miniport_interrupt(rig->top, 0);
}

RULE_KEPT(HWQ_007)
{
    begin(rig);
    submit(rig, 3);
    run(rig, 3);
    miniport_interrupt(rig->top, 0);
}

RULE_BROKEN(HWQ_012)
{
    ask_metadata(rig);
}

RULE_KEPT(HWQ_012)
{
    ask_feature(rig);
    ask_metadata(rig);
}

static void start_without(struct rig *rig, enum miniport_ddi lacking)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->lacking = lacking;
    rig_init_prepared(rig);
    ask_feature(rig);
    ask_metadata(rig);
}

RULE_BROKEN(HWQ_014)
{
    start_without(rig, MINIPORT_DDI_DestroyHwQueue);
}

RULE_KEPT(HWQ_014)
{
    start_without(rig, 0);
}

/* ---- What else breaks them ---- */

static void submits_too_high(struct rig *rig)
{
    const DXGKARG_SUBMITCOMMANDTOHWQUEUE arg = lawful_submission(1);

    rig->irql = DISPATCH_LEVEL + 1;
    miniport_submit_command_to_hw_queue(rig->top, NULL, &arg);
    rig->irql = PASSIVE_LEVEL;
}

static void destroys_too_high(struct rig *rig)
{
    rig->irql = DISPATCH_LEVEL;
    miniport_destroy_hw_queue(rig->top, test.queue);
    rig->irql = PASSIVE_LEVEL;
}

static void names_another_address_of_the_cpu(struct rig *rig)
{
    DXGKARG_SUBMITCOMMANDTOHWQUEUE arg = lawful_submission(1);

    arg.HwQueueProgressFenceCpuVa = (char *)arg.HwQueueProgressFenceCpuVa + 8;
    submit_as(rig, &arg);
}

static void has_a_value_that_nobody_submitted(struct rig *rig)
{
    submit(rig, 3);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, 3, 64);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, 3, 0);
    test.value = 4;
    miniport_interrupt(rig->top, 0);
}

/* A second queue of the context, with a fence of its own, has 2 under way between 1 and 3. */
static void begin_two(struct rig *rig)
{
    DXGKARG_SUBMITCOMMANDTOHWQUEUE arg = lawful_submission(2);

    arg.hHwQueue = make_second(rig);
    arg.HwQueueProgressFenceGpuVa = FENCE_VA + sizeof test.other;
    arg.HwQueueProgressFenceCpuVa = &test.other;
    submit(rig, 1);
    submit_as(rig, &arg);
    submit(rig, 3);
    for (unsigned id = 1; id < 4; id++)
        rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, id, 64);
}

static void end_as(struct rig *rig, UINT64 id, UINT64 *fence)
{
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, (uint32_t)id, 0);
    *fence = id;
    miniport_interrupt(rig->top, 0);
}

static void ends_two_queues_beside_each_other(struct rig *rig)
{
    begin_two(rig);
    end_as(rig, 2, &test.other);
    end_as(rig, 1, &test.value);
    end_as(rig, 3, &test.value);
}

static void has_the_value_of_the_other_queue(struct rig *rig)
{
    begin_two(rig);
    end_as(rig, 1, &test.value);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, 2, 0);
    test.value = test.other = 2;
    miniport_interrupt(rig->top, 0);
}

static void gives_no_handle(struct rig *rig)
{
    test.gives = NULL;
    test.gives_one = true;
    make_second(rig);
}

static void gives_the_handle_of_another_queue(struct rig *rig)
{
    test.gives = test.queue;
    test.gives_one = true;
    make_second(rig);
}

static void says_nothing_until_the_reset(struct rig *rig)
{
    submit(rig, 1);
    test.reports = false;
    run(rig, 1);
    for (unsigned i = 0; i < 40; i++)
        miniport_interrupt(rig->top, 0);
    rig_reset_adapter(rig);
}

/* A single interrupt behind the end may be another one's. */
static void is_reset_with_an_interrupt_on_its_way(struct rig *rig)
{
    submit(rig, 1);
    test.reports = false;
    run(rig, 1);
    miniport_interrupt(rig->top, 0);
    rig_reset_adapter(rig);
}

/* The report was lost; the next queue has the handle and the fence of the one that is gone. */
static void has_the_handle_of_a_queue_that_is_gone(struct rig *rig)
{
    submit(rig, 1);
    test.reports = false;
    run(rig, 1);
    miniport_destroy_hw_queue(rig->top, test.queue);
    test.value = 0;
    test.reports = true;
    test.gives = test.queue;
    test.gives_one = true;
    make_queue(rig);
    miniport_destroy_hw_queue(rig->top, test.queue);
}

/* Values of queues are no SubmissionFenceIds: */
static void reset_behind_a_fence(struct rig *rig, UINT said)
{
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    submit(rig, 0x33);
    rig_reset_adapter(rig);
    test.current = said;
    rig_query_fence(rig, RIG_CLIENT_NODE);
}

static void has_the_last_fence_behind_a_reset(struct rig *rig)
{
    reset_behind_a_fence(rig, 1);
}

static void has_the_value_of_a_queue_behind_a_reset(struct rig *rig)
{
    reset_behind_a_fence(rig, 0x33);
}

/* A ring that is rewritten for a list or a suspension loses the node's other packets, too. */
static void hands_over_again_what_it_has_yielded(struct rig *rig)
{
    UINT fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DROPPED, RIG_CLIENT_NODE, fence, 0);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
    rig_complete(rig, RIG_CLIENT_NODE, fence);
}

static void hands_over_twice(struct rig *rig)
{
    UINT fence = rig_render(rig);

    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
}

static void reports_a_fence_beside_values_of_queues(struct rig *rig)
{
    UINT fence;

    for (fence = 0; fence < 5;) {
        fence = rig_render(rig);
        submit(rig, fence); /* the same number, of the queue */
        if (fence & 1)
            rig_run(rig, RIG_CLIENT_NODE, fence, RIG_CLIENT_BYTES);
        rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, 64);
        if (!(fence & 1)) {
            rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence, 64);
            rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
            rig_complete(rig, RIG_CLIENT_NODE, fence);
        }
        rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence, 0);
        test.value = fence;
        miniport_interrupt(rig->top, 0);
    }
    submit(rig, fence + 1);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence + 1, 64);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence + 1, 0);
    test.value = fence + 1; /* no interrupt yet */
    test.current = fence;
    rig_query_fence(rig, RIG_CLIENT_NODE);
    submit(rig, fence + 2);
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, fence + 2, 64);
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    rig_gpu_event(rig, CHECK_GPU_DONE, RIG_CLIENT_NODE, fence + 2, 0);
    test.value = fence + 2;
    miniport_interrupt(rig->top, 0);
}

/* The submission 0x100000007 has stopped the node. */
static void report_fault(struct rig *rig, UINT64 id, HANDLE queue, UINT flags)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED};
    const struct check_gpu_event fault = {.kind = CHECK_GPU_FAULT,
                                          .node = RIG_CLIENT_NODE,
                                          .fence = 7,
                                          .address = 0x12345000,
                                          .access = CHECK_GPU_READS};

    submit(rig, UINT64_C(0x100000007));
    rig_gpu_event(rig, CHECK_GPU_QUEUED, RIG_CLIENT_NODE, 7, 64);
    check_gpu(rig->check, &fault);
    data.HwQueuePageFaulted.FaultedFenceId = id;
    data.HwQueuePageFaulted.FaultedHwQueue = queue;
    data.HwQueuePageFaulted.FaultedVirtualAddress = fault.address;
    data.HwQueuePageFaulted.NodeOrdinal = RIG_CLIENT_NODE;
    data.HwQueuePageFaulted.PageFaultFlags = flags;
    rig_interrupt(rig, &data);
}

static void reports_its_fault(struct rig *rig)
{
    report_fault(rig, UINT64_C(0x100000007), &test, DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED);
}

static void reports_half_of_an_id(struct rig *rig)
{
    report_fault(rig, 7, &test, DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED);
}

static void reports_its_own_handle(struct rig *rig)
{
    report_fault(rig, UINT64_C(0x100000007), test.queue, DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED);
}

static void reports_another_handle(struct rig *rig)
{
    report_fault(rig, UINT64_C(0x100000007), test.context, DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED);
}

static void asks_for_no_reset(struct rig *rig)
{
    report_fault(rig, UINT64_C(0x100000007), &test, 0);
}

static void each_way_to_break_a_rule_is_found(void **state)
{
    static const struct {
        void (*act)(struct rig *rig);
        enum rule_id rule; /* RULE_NONE: lawful */
    } ways[] = {
        {submits_too_high, RULE_HWQ_009},
        {destroys_too_high, RULE_HWQ_009},
        {names_another_address_of_the_cpu, RULE_HWQ_004},
        {has_a_value_that_nobody_submitted, RULE_HWQ_007},
        {ends_two_queues_beside_each_other, RULE_NONE},
        {has_the_value_of_the_other_queue, RULE_HWQ_007},
        {gives_no_handle, RULE_HWQ_002},
        {gives_the_handle_of_another_queue, RULE_HWQ_002},
        {says_nothing_until_the_reset, RULE_HWQ_006},
        {is_reset_with_an_interrupt_on_its_way, RULE_NONE},
        {has_the_handle_of_a_queue_that_is_gone, RULE_NONE},
        {has_the_last_fence_behind_a_reset, RULE_NONE},
        {has_the_value_of_a_queue_behind_a_reset, RULE_TDR_015},
        {reports_a_fence_beside_values_of_queues, RULE_NONE},
        {hands_over_again_what_it_has_yielded, RULE_NONE},
        {hands_over_twice, RULE_SUB_002},
        {reports_its_fault, RULE_NONE},
        {reports_half_of_an_id, RULE_FENCE_010},
        {reports_its_own_handle, RULE_NONE},
        {reports_another_handle, RULE_FENCE_010},
        {asks_for_no_reset, RULE_FENCE_010},
    };

    for (size_t i = 0; i < ARRAY_COUNT(ways); i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        begin(rig);
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
        cmocka_unit_test(a_queue_is_of_such_a_context_and_has_a_fence),
        cmocka_unit_test(a_submission_names_a_queue_that_lives),
        cmocka_unit_test(what_was_presented_to_a_queue_is_submitted_as_a_present),
        cmocka_unit_test(a_present_to_a_queue_is_one_as_any_other),
        cmocka_unit_test(a_queue_has_nothing_under_way_when_it_goes),
        cmocka_unit_test(what_never_ends_is_found_when_nothing_else_happens),
        cmocka_unit_test(priorities_come_before_work),
        cmocka_unit_test(a_driver_without_the_functions_is_told_no_priorities),
    };

    return RIG_RUN_TESTS(tests);
}
