/*
 * Suspension of contexts with hardware queues, on a board that loses its power meanwhile.
 */
#include "refkmd/rig/test_kernel.h"

#include "refkmd/adapter.h"

#define NODE     SGPU_NODE_RENDER
#define LOCAL    1u
#define KERNELS  ((HANDLE)(uintptr_t)0x5150)
#define FENCE_VA 0x7fe00000u

static struct test_kernel kernel;
static HANDLE device, context, queue;
static volatile UINT64 progress;

static NTSTATUS NTAPI enable(DXGKARGCB_ISFEATUREENABLED *feature)
{
    feature->Enabled = feature->FeatureId == DXGK_FEATURE_HWSCH;
    return STATUS_SUCCESS;
}

static int set_up(void **state)
{
    DXGKARG_CREATEDEVICE make_device = {0};
    DXGKARG_CREATECONTEXT make_context = {.NodeOrdinal = NODE, .hContext = KERNELS};
    DXGKARG_CREATEHWQUEUE make_queue = {.hHwQueue = (HANDLE)&progress,
                                        .hHwQueueProgressFence = 7,
                                        .HwQueueProgressFenceCPUVirtualAddress = (void *)&progress,
                                        .HwQueueProgressFenceGPUVirtualAddress = FENCE_VA};
    DXGKARG_SETROOTPAGETABLE root = {.NumEntries = SGPU_TABLE_ENTRIES};
    struct machine_config config;
    struct sgpu_config gpu_config;

    test_config_defaults(&config, &gpu_config);
    gpu_config.straps = SGPU_STRAP_QUEUES;
    test_create(&kernel, RefKmdDriverEntryGpuMmu, &config, &gpu_config);
    kernel.dxgkrnl.DxgkCbIsFeatureEnabled = enable;
    assert_int_equal(test_start(&kernel), STATUS_SUCCESS);
    assert_int_equal(kernel.ddi.DxgkDdiCreateDevice(kernel.adapter, &make_device), STATUS_SUCCESS);
    device = make_device.hDevice;
    make_context.Flags.VirtualAddressing = 1;
    make_context.Flags.HwQueueSupported = 1;
    assert_int_equal(kernel.ddi.DxgkDdiCreateContext(device, &make_context), STATUS_SUCCESS);
    context = make_context.hContext;
    root.hContext = context;
    root.Address.SegmentId = LOCAL;
    kernel.ddi.DxgkDdiSetRootPageTable(kernel.adapter, &root);
    progress = 0;
    assert_int_equal(kernel.ddi.DxgkDdiCreateHwQueue(context, &make_queue), STATUS_SUCCESS);
    queue = make_queue.hHwQueue;
    return 0;
}

static int tear_down(void **state)
{
    assert_int_equal(kernel.ddi.DxgkDdiDestroyHwQueue(queue), STATUS_SUCCESS);
    assert_int_equal(kernel.ddi.DxgkDdiDestroyContext(context), STATUS_SUCCESS);
    assert_int_equal(kernel.ddi.DxgkDdiDestroyDevice(device), STATUS_SUCCESS);
    test_destroy(&kernel);
    return 0;
}

static void submit(UINT64 id)
{
    const DXGKARG_SUBMITCOMMANDTOHWQUEUE args = {.hHwQueue = queue,
                                                 .HwQueueProgressFenceId = id,
                                                 .DmaBufferVirtualAddress = 0x10000,
                                                 .DmaBufferSize = 64,
                                                 .HwQueueProgressFenceGpuVa = FENCE_VA,
                                                 .HwQueueProgressFenceCpuVa = (void *)&progress};

    assert_int_equal(kernel.ddi.DxgkDdiSubmitCommandToHwQueue(kernel.adapter, &args),
                     STATUS_SUCCESS);
}

static unsigned count_reports(DXGK_INTERRUPT_TYPE type)
{
    unsigned count = 0;

    for (int i = 0; i < kernel.log_count; i++)
        count += kernel.log[i].InterruptType == type;
    return count;
}

static void sleep_and_wake(void)
{
    assert_int_equal(
        kernel.ddi.DxgkDdiSetPowerState(kernel.adapter, 0, PowerDeviceD3, PowerActionSleep),
        STATUS_SUCCESS);
    sgpu_power_off(kernel.gpu, SGPU_SLEEP_D3);
    sgpu_power_on(kernel.gpu);
    assert_int_equal(
        kernel.ddi.DxgkDdiSetPowerState(kernel.adapter, 0, PowerDeviceD0, PowerActionNone),
        STATUS_SUCCESS);
}

/* HWQ-016. The node has been asked to let go of its ring, and its answer went with its power. */
static void a_node_that_lost_its_power_has_left_the_context(void **state)
{
    const struct refkmd_adapter *adapter = kernel.adapter;
    const struct refkmd_node *node = &adapter->nodes[NODE];
    DXGKARG_SUSPENDCONTEXT suspend = {.hContext = context, .contextSuspendFence = 3};
    DXGKARG_RESUMECONTEXT resume = {.hContext = context};

    submit(1);
    assert_int_equal(kernel.ddi.DxgkDdiSuspendContext(kernel.adapter, &suspend), STATUS_PENDING);
    assert_int_equal(count_reports(DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED), 0);
    progress = 1; /* it has run, and neither interrupt has come */
    sleep_and_wake();
    assert_int_equal(count_reports(DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED), 1);
    assert_int_equal(kernel.ddi.DxgkDdiResumeContext(kernel.adapter, &resume), STATUS_SUCCESS);
    assert_int_equal(node->oldest, node->newest);
    submit(2);
    assert_int_equal(node->parked_count, 0);
    assert_int_equal(node->newest - node->oldest, 1);
    progress = 2;
}

/* Nobody has asked: nothing is told of any context. */
static void a_sleep_suspends_no_context(void **state)
{
    sleep_and_wake();
    assert_int_equal(count_reports(DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_that_lost_its_power_has_left_the_context, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_sleep_suspends_no_context, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
