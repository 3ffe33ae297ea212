/* Trace: the numbers that stand for handles in its lines. */
#include "trace/test_stage.h"

#include "base/rng.h"
#include "trace/trace_handles.h"

static void a_handle_that_comes_back_gets_a_new_number(void **state)
{
    struct stage stage;
    DXGK_ALLOCATIONINFO info[2] = {{0}};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = info};
    HANDLE list[2];
    DXGKARG_DESTROYALLOCATION destroy = {.NumAllocations = 2, .pAllocationList = list};
    DXGKARG_BUILDPAGINGBUFFER build = {0};
    char memory[4];

    stage_init(&stage, true);
    bottom_state.created = memory;
    create.NumAllocations = 2;
    miniport_create_allocation(stage.trace, NULL, &create);
    list[0] = info[1].hAllocation;
    list[1] = info[0].hAllocation;
    miniport_destroy_allocation(stage.trace, NULL, &destroy);
    assert_lines(
        &stage,
        "> DxgkDdiCreateAllocation PrivateDriverDataSize=0 NumAllocations=2 Flags=0x0 "
        "pAllocationInfo=[{PrivateDriverDataSize=0} {PrivateDriverDataSize=0}]\n"
        "< DxgkDdiCreateAllocation 0x00000000 pAllocationInfo=[{a1 Alignment=0 Size=65536 "
        "PitchAlignedSize=0 HintedBank=0x0 PreferredSegment=0x0 SupportedReadSegmentSet=0x0 "
        "SupportedWriteSegmentSet=0x0 EvictionSegmentSet=0x0 PhysicalAdapterIndex=0 Flags=0x0 "
        "AllocationPriority=0} {a2 Alignment=0 Size=65536 "
        "PitchAlignedSize=0 HintedBank=0x0 PreferredSegment=0x0 SupportedReadSegmentSet=0x0 "
        "SupportedWriteSegmentSet=0x0 EvictionSegmentSet=0x0 PhysicalAdapterIndex=0 Flags=0x0 "
        "AllocationPriority=0}]\n"
        "> DxgkDdiDestroyAllocation pAllocationList=[a2 a1] hResource=- Flags=0x0\n"
        "< DxgkDdiDestroyAllocation 0x00000000\n");

    /* Used after its end it is not a1; the same memory again, twice, is a4 and a5. */
    build.Operation = DXGK_OPERATION_FILL;
    build.Fill.hAllocation = memory;
    for (unsigned number = 3; number <= 5; number++) {
        char golden[32];

        if (number > 3) {
            create.NumAllocations = 1;
            miniport_create_allocation(stage.trace, NULL, &create);
        }
        stage.length = 0;
        build.Operation = DXGK_OPERATION_FILL;
        miniport_build_paging_buffer(stage.trace, NULL, &build);
        snprintf(golden, sizeof golden, " hAllocation=a%u ", number);
        assert_non_null(strstr(stage.text, golden));
    }

    /* A destroy call that fails destroys nothing. */
    list[0] = memory;
    destroy.NumAllocations = 1;
    bottom_state.status = STATUS_UNSUCCESSFUL;
    stage.length = 0;
    miniport_destroy_allocation(stage.trace, NULL, &destroy);
    miniport_destroy_allocation(stage.trace, NULL, &destroy);
    assert_lines(&stage, "> DxgkDdiDestroyAllocation pAllocationList=[a5] hResource=- Flags=0x0\n"
                         "< DxgkDdiDestroyAllocation 0xC0000001\n"
                         "> DxgkDdiDestroyAllocation pAllocationList=[a5] hResource=- Flags=0x0\n"
                         "< DxgkDdiDestroyAllocation 0xC0000001\n");
    stage_fini(&stage);
}

static void handles_of_each_kind_have_their_own_numbers(void **state)
{
    struct stage stage;
    char one; /* a driver whose handles are all the same value */
    DXGKARG_CREATEPROCESS process = {.hDxgkProcess = &one};
    DXGKARG_CREATEDEVICE device = {.hKmdProcess = &one};
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 1};
    DXGK_OPENALLOCATIONINFO info = {.hAllocation = 0x40};
    DXGKARG_OPENALLOCATION open = {.NumAllocations = 1, .pOpenAllocation = &info};
    HANDLE list[] = {&one};
    DXGKARG_CLOSEALLOCATION close = {.NumAllocations = 1, .pOpenHandleList = list};

    stage_init(&stage, true);
    bottom_state.created = &one;
    miniport_create_process(stage.trace, NULL, &process);
    miniport_create_device(stage.trace, NULL, &device);
    miniport_create_context(stage.trace, &one, &context);
    miniport_open_allocation(stage.trace, &one, &open);
    miniport_close_allocation(stage.trace, &one, &close);
    miniport_open_allocation(stage.trace, &one, &open);
    miniport_destroy_context(stage.trace, &one);
    miniport_destroy_device(stage.trace, &one);
    miniport_destroy_process(stage.trace, &one);
    miniport_create_process(stage.trace, NULL, &process);
    assert_lines(&stage, "> DxgkDdiCreateProcess hDxgkProcess=q1 Flags=0x0\n"
                         "< DxgkDdiCreateProcess 0x00000000 hKmdProcess=p1\n"
                         "> DxgkDdiCreateDevice Flags=0x0 hKmdProcess=p1\n"
                         "< DxgkDdiCreateDevice 0x00000000 hDevice=d1\n"
                         "> DxgkDdiCreateContext d1 NodeOrdinal=1 EngineAffinity=0x0 Flags=0x0 "
                         "PrivateDriverDataSize=0\n"
                         "< DxgkDdiCreateContext 0x00000000 hContext=c1 DmaBufferSize=0 "
                         "DmaBufferSegmentSet=0x0 DmaBufferPrivateDataSize=0 AllocationListSize=0 "
                         "PatchLocationListSize=0 Caps=0x0 PagingCompanionNodeId=0\n"
                         "> DxgkDdiOpenAllocation d1 Flags=0x0 pOpenAllocation=[0x40]\n"
                         "< DxgkDdiOpenAllocation 0x00000000 pOpenAllocation=[0x40:o1]\n"
                         "> DxgkDdiCloseAllocation d1 pOpenHandleList=[o1]\n"
                         "< DxgkDdiCloseAllocation 0x00000000\n"
                         "> DxgkDdiOpenAllocation d1 Flags=0x0 pOpenAllocation=[0x40]\n"
                         "< DxgkDdiOpenAllocation 0x00000000 pOpenAllocation=[0x40:o2]\n"
                         "> DxgkDdiDestroyContext c1\n"
                         "< DxgkDdiDestroyContext 0x00000000\n"
                         "> DxgkDdiDestroyDevice d1\n"
                         "< DxgkDdiDestroyDevice 0x00000000\n"
                         "> DxgkDdiDestroyProcess p1\n"
                         "< DxgkDdiDestroyProcess 0x00000000\n"
                         "> DxgkDdiCreateProcess hDxgkProcess=q2 Flags=0x0\n"
                         "< DxgkDdiCreateProcess 0x00000000 hKmdProcess=p2\n");
    stage_fini(&stage);
}

static void without_memory_only_the_numbers_are_lost(void **state)
{
    struct failing_services memory;
    struct stage stage;
    struct miniport *trace = &bottom;
    char handle;

    failing_services_init(&memory);
    failing_services_fail_at(&memory, 1);
    assert_int_equal(miniport_trace_create(&memory.services, &bottom, &trace), STATUS_NO_MEMORY);
    assert_null(trace);

    stage_init(&stage, true);
    failing_services_fail_at(&stage.memory, 1);
    assert_int_equal(miniport_destroy_device(stage.trace, &handle), STATUS_SUCCESS);
    assert_int_equal(miniport_destroy_device(stage.trace, &handle), STATUS_SUCCESS);
    assert_lines(&stage, "> DxgkDdiDestroyDevice d?\n"
                         "< DxgkDdiDestroyDevice 0x00000000\n"
                         "> DxgkDdiDestroyDevice d1\n"
                         "< DxgkDdiDestroyDevice 0x00000000\n");
    stage_fini(&stage);
}

static void random_handles_agree_with_a_plain_list(void **state)
{
    enum { HANDLE_COUNT = 300 };
    static const enum trace_handle_kind kinds[] = {TRACE_HANDLE_ALLOCATION, TRACE_HANDLE_CONTEXT};
    struct failing_services memory;
    struct trace_handles handles;
    uint64_t numbers[2][HANDLE_COUNT] = {{0}};
    uint64_t last[2] = {0};
    struct rng rng;

    failing_services_init(&memory);
    trace_handles_init(&handles, &memory.services);
    rng_init(&rng, 20);
    for (unsigned step = 0; step < 20000; step++) {
        unsigned kind = (unsigned)rng_below(&rng, 2);
        size_t i = (size_t)rng_below(&rng, HANDLE_COUNT);
        const void *handle = (const void *)(uintptr_t)(16 * (i + 1));

        if (rng_chance(&rng, 1, 2)) {
            trace_handles_forget(&handles, kinds[kind], handle);
            numbers[kind][i] = 0;
            continue;
        }
        if (!numbers[kind][i])
            numbers[kind][i] = ++last[kind];
        assert_int_equal(trace_handles_number(&handles, kinds[kind], handle), numbers[kind][i]);
    }
    for (size_t i = 0; i < HANDLE_COUNT; i++) {
        for (unsigned kind = 0; kind < 2; kind++) {
            if (numbers[kind][i])
                assert_int_equal(trace_handles_number(&handles, kinds[kind],
                                                      (const void *)(uintptr_t)(16 * (i + 1))),
                                 numbers[kind][i]);
        }
    }
    assert_int_equal(trace_handles_number(&handles, TRACE_HANDLE_DEVICE, NULL), 0);
    trace_handles_fini(&handles);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_handle_that_comes_back_gets_a_new_number),
        cmocka_unit_test(handles_of_each_kind_have_their_own_numbers),
        cmocka_unit_test(without_memory_only_the_numbers_are_lost),
        cmocka_unit_test(random_handles_agree_with_a_plain_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
