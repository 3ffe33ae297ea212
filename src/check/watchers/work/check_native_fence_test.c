/* Fences of 64 bits, and where native ones are (FENCE-011 to FENCE-015, FENCE-018 to FENCE-020). */
#include "check/check_private.h"
#include "check/rig/test_rig_submit.h"

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

/* A driver that has named a fence which it does not create. */
static NTSTATUS create_in_vain(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = name_fence(rig, ddi, object, arg);

    return ddi == MINIPORT_DDI_CreateNativeFence ? STATUS_NO_MEMORY : status;
}

/* FENCE-013: neither name is one of a fence. */
static void a_fence_that_was_not_created_does_not_live(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_drivers = 0; is_drivers < 2; is_drivers++) {
        DXGKARG_CREATENATIVEFENCE create = {.Type = D3DDDI_NATIVEFENCE_TYPE_DEFAULT};
        HANDLE told = is_drivers ? (void *)rig : &create;

        rig_init(rig, RIG_GPUMMU);
        create.hGlobalNativeFence = &create;
        rig->answer = create_in_vain;
        rig->told = &told;
        miniport_create_native_fence(rig->top, NULL, &create);
        miniport_interrupt(rig->top, 0);
        rig_expect_only(rig, RULE_FENCE_013);
        rig_fini(rig);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_may_be_reported_from_the_dpc),
        cmocka_unit_test(a_fence_that_passes_before_the_dpc_is_not_missed),
        cmocka_unit_test(a_fence_that_passes_before_a_sleep_is_not_missed),
        cmocka_unit_test(a_fence_that_is_told_of_lives),
        cmocka_unit_test(a_fence_that_was_not_created_does_not_live),
        cmocka_unit_test(rule_FENCE_014_is_found_when_the_update_fails),
        cmocka_unit_test(native_fences_may_be_where_they_are_enabled),
        cmocka_unit_test(rule_FENCE_018_is_found_for_segments_that_are_not_there),
        cmocka_unit_test(current_values_may_be_where_the_cpu_sees_nothing),
    };

    return RIG_RUN_TESTS(tests);
}
