#include "check/rig/test_rig_tables.h"

static HANDLE create_noticed(struct rig *rig, bool is_physical)
{
    DXGK_ALLOCATIONINFO info = {0};

    info.FlagsWddm2.ExplicitResidencyNotification = 1;
    info.FlagsWddm2.AccessedPhysically = is_physical;
    return rig_create_allocation(rig, &info);
}

static void tell_residency(struct rig *rig, HANDLE allocation, bool is_resident, uint64_t offset)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_NOTIFY_RESIDENCY};

    arg.NotifyResidency.hAllocation = allocation;
    arg.NotifyResidency.Resident = is_resident;
    arg.NotifyResidency.PhysicalAddress.SegmentId = is_resident;
    arg.NotifyResidency.PhysicalAddress.SegmentOffset = offset;
    rig_build(rig, &arg);
}

RULE_BROKEN(NTF_001)
{
    tell_residency(rig, rig_create_allocation(rig, NULL), true, 0x10000);
}

RULE_KEPT(NTF_001)
{
    tell_residency(rig, create_noticed(rig, true), true, 0x10000);
}

RULE_BROKEN(NTF_002)
{
    create_noticed(rig, false);
}

RULE_KEPT(NTF_002)
{
    create_noticed(rig, true);
}

RULE_BROKEN(NTF_003)
{
    tell_residency(rig, create_noticed(rig, true), true, (16 << 20) - 4096);
}

RULE_KEPT(NTF_003)
{
    tell_residency(rig, create_noticed(rig, true), true, (16 << 20) - 65536);
}

RULE_BROKEN(NTF_004)
{
    HANDLE allocation = create_noticed(rig, true);

    tell_residency(rig, allocation, true, 0x10000);
    tell_residency(rig, allocation, false, 0x10000);
}

RULE_KEPT(NTF_004)
{
    HANDLE allocation = create_noticed(rig, true);

    tell_residency(rig, allocation, true, 0x10000);
    tell_residency(rig, allocation, false, 0);
}

RULE_BROKEN(NTF_005)
{
    HANDLE allocation = create_noticed(rig, true);

    tell_residency(rig, allocation, true, 0x10000);
    tell_residency(rig, allocation, true, 0x20000);
}

/* After a reset the system tells it once more. */
RULE_KEPT(NTF_005)
{
    HANDLE allocation = create_noticed(rig, true);

    tell_residency(rig, allocation, true, 0x10000);
    tell_residency(rig, allocation, false, 0);
    tell_residency(rig, allocation, true, 0x20000);
    miniport_reset_from_timeout(rig->top, NULL);
    rig_new_buffer(rig);
    tell_residency(rig, allocation, true, 0x20000);
}

RULE_BROKEN(NTF_006)
{
    rig->has_touched = true;
    tell_residency(rig, create_noticed(rig, true), true, 0x10000);
    assert_string_equal(rig->last.text,
                        "the driver touched byte 0x10008 of segment 1 while it was told that the "
                        "content comes there (0x10000 on): the copies may still be queued");
}

/* What an eviction tells of is there until the driver has come back. */
RULE_KEPT(NTF_006)
{
    HANDLE allocation = create_noticed(rig, true);

    tell_residency(rig, allocation, true, 0x10000);
    rig->has_touched = true;
    tell_residency(rig, allocation, false, 0);
}

static void signal_fence(struct rig *rig, uint64_t va, uint64_t value)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};

    arg.SignalMonitoredFence.MonitoredFenceGpuVa = va;
    arg.SignalMonitoredFence.MonitoredFenceValue = value;
    rig_build(rig, &arg);
}

RULE_BROKEN(NTF_008)
{
    signal_fence(rig, RIG_VA, 7);
    signal_fence(rig, RIG_VA, 7);
}

RULE_KEPT(NTF_008)
{
    signal_fence(rig, RIG_VA, 7);
    signal_fence(rig, RIG_VA + 8, 3);
    signal_fence(rig, RIG_VA, 9);
}

static void unmap_mmu(struct rig *rig, unsigned first, unsigned count)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UNMAP_MMU};

    arg.UnmapMmu.hAllocation = rig_create_allocation(rig, NULL);
    arg.UnmapMmu.VirtualAddress = RIG_VA;
    arg.UnmapMmu.AllocationOffset = first;
    arg.UnmapMmu.NumberOfPages = count;
    rig_build(rig, &arg);
}

RULE_BROKEN(NTF_012)
{
    unmap_mmu(rig, 1, 16);
}

RULE_KEPT(NTF_012)
{
    unmap_mmu(rig, 1, 15);
}

static void tell_part(struct rig *rig, unsigned first, unsigned count)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_NOTIFY_RESIDENCY2};

    arg.NotifyResidency2.hAllocation = create_noticed(rig, true);
    arg.NotifyResidency2.AllocationOffsetInPages = first;
    arg.NotifyResidency2.SizeInPages = count;
    arg.NotifyResidency2.SegmentId = 1;
    arg.NotifyResidency2.Resident = 1;
    rig_build(rig, &arg);
}

RULE_BROKEN(NTF_014)
{
    tell_part(rig, 15, 2);
}

RULE_KEPT(NTF_014)
{
    tell_part(rig, 15, 1);
}

static void a_notice_without_a_place_is_found(void **state)
{
    for (unsigned has_list = 0; has_list < 2; has_list++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_NOTIFY_RESIDENCY2};
        struct {
            MDL mdl;
            uint64_t pages[16];
        } list = {.mdl = {.ByteCount = 16 * 4096}};

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        arg.NotifyResidency2.hAllocation = create_noticed(rig, true);
        arg.NotifyResidency2.SizeInPages = 16;
        arg.NotifyResidency2.Resident = 1;
        arg.NotifyResidency2.Mdl = has_list ? &list.mdl : NULL;
        rig_build(rig, &arg);
        assert_int_equal(rig->counts.broken[RULE_NTF_014], has_list ? 0 : 1);
        rig_fini(rig);
        free(rig);
    }
}

/* A notice about an allocation that asks for it, which the paging process sees at RIG_VA. */
static void begin_notice(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *arg, bool is_eviction)
{
    DXGK_ALLOCATIONINFO info = {0};
    HANDLE process = rig->process, allocation;

    info.Flags2.NotifyEviction = info.Flags2.NotifyIoMmuUnmap = 1;
    allocation = rig_create_allocation(rig, &info);
    rig->process = rig->system_process;
    rig_initialise_table(rig, 0, RIG_VA);
    rig_map(rig, RIG_VA, allocation, 32, 16);
    rig_flush(rig, rig->system_process, 0, 0);
    rig->process = process;
    *arg = (DXGKARG_BUILDPAGINGBUFFER){.Operation = DXGK_OPERATION_NOTIFY_ALLOC};
    arg->NotifyAllocation.hAllocation = allocation;
    arg->NotifyAllocation.Flags.Eviction = is_eviction;
    arg->NotifyAllocation.Flags.IoMmuUnmap = !is_eviction;
    arg->NotifyAllocation.hKmdProcessHandle = is_eviction ? NULL : rig->process;
    arg->NotifyAllocation.SizeInBytes = 65536;
    arg->NotifyAllocation.GpuVirtualAddressAtOffset = RIG_VA;
}

static void give_notice(struct rig *rig, bool is_eviction)
{
    DXGKARG_BUILDPAGINGBUFFER arg;

    begin_notice(rig, &arg, is_eviction);
    rig_build(rig, &arg);
}

RULE_BROKEN(NTF_015)
{
    DXGKARG_BUILDPAGINGBUFFER arg;

    begin_notice(rig, &arg, false);
    arg.NotifyAllocation.hAllocation = rig_create_allocation(rig, NULL);
    rig_build(rig, &arg);
}

RULE_KEPT(NTF_015)
{
    give_notice(rig, false);
}

RULE_BROKEN(NTF_016)
{
    DXGKARG_BUILDPAGINGBUFFER arg;

    begin_notice(rig, &arg, true);
    arg.NotifyAllocation.GpuVirtualAddressAtOffset = RIG_VA + 0x10000;
    rig_build(rig, &arg);
}

RULE_KEPT(NTF_016)
{
    give_notice(rig, true);
}

RULE_BROKEN(NTF_018)
{
    DXGKARG_BUILDPAGINGBUFFER arg;

    begin_notice(rig, &arg, false);
    arg.NotifyAllocation.hKmdProcessHandle = NULL;
    rig_build(rig, &arg);
}

RULE_KEPT(NTF_018)
{
    give_notice(rig, false);
}

RULE_BROKEN(NTF_020)
{
    DXGKARG_BUILDPAGINGBUFFER arg;

    begin_notice(rig, &arg, true);
    arg.NotifyAllocation.Flags.IoMmuUnmap = 1;
    rig_build(rig, &arg);
}

RULE_KEPT(NTF_020)
{
    give_notice(rig, true);
}

/* A fence of the paging process at RIG_VA, in the page whose content the rig knows. */
static void signal_word(struct rig *rig, uint64_t value, uint64_t written, bool is_told)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};
    HANDLE process = rig->process;
    struct rig_update update;
    uint32_t fence;

    rig->process = rig->system_process;
    rig_initialise_table(rig, 0, RIG_VA);
    rig_begin_map(rig, &update, RIG_VA, NULL, RIG_DUMMY_PAGE, 1);
    update.entries[0].Segment = 0;
    rig_update(rig, &update);
    rig_flush(rig, rig->system_process, 0, 0);
    rig->process = process;
    arg.SignalMonitoredFence.MonitoredFenceGpuVa = RIG_VA + 16;
    arg.SignalMonitoredFence.MonitoredFenceValue = value;
    rig_build(rig, &arg);
    fence = rig_submit(rig);
    memcpy(rig->dummy + 16, &written, sizeof written);
    rig->told = is_told ? rig : NULL;
    rig->fence = fence;
}

static NTSTATUS report_fence(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};
    struct miniport_host *host = rig->drivers_host;

    if (ddi != MINIPORT_DDI_InterruptRoutine)
        return rig_answer(rig, ddi, object, arg);
    if (rig->told)
        host->ops->notify_interrupt(host, &data);
    data = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
    data.DmaCompleted.SubmissionFenceId = rig->fence;
    host->ops->notify_interrupt(host, &data);
    host->ops->queue_dpc(host);
    return STATUS_SUCCESS;
}

static NTSTATUS notify_dpc(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_DpcRoutine)
        rig->drivers_host->ops->notify_dpc(rig->drivers_host);
    return rig_answer(rig, ddi, object, arg);
}

/* The DPC that the driver has queued. */
static void run_dpc(struct rig *rig)
{
    rig->answer = notify_dpc;
    rig->irql = DISPATCH_LEVEL;
    miniport_dpc(rig->top);
    rig->irql = PASSIVE_LEVEL;
    rig->answer = NULL;
}

static void interrupt(struct rig *rig)
{
    rig->answer = report_fence;
    rig->irql = 5;
    miniport_interrupt(rig->top, 0);
    run_dpc(rig);
}

RULE_BROKEN(NTF_007)
{
    signal_word(rig, 7, 6, true);
    interrupt(rig);
}

RULE_KEPT(NTF_007)
{
    signal_word(rig, 7, 7, true);
    interrupt(rig);
}

/* The next request needed no operation: the CPU wrote its value behind that of the packet. */
static void a_packet_may_be_reported_behind_a_value_of_the_cpu(void **state)
{
    for (unsigned is_told = 0; is_told < 2; is_told++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        check_client(rig->check,
                     &(struct check_client_event){.kind = CHECK_CLIENT_DEVICE, .device = rig});
        if (is_told)
            check_client(rig->check, &(struct check_client_event){
                                         .kind = CHECK_CLIENT_RESIDENT, .device = rig, .fence = 8});
        signal_word(rig, 7, 8, true);
        interrupt(rig);
        rig_expect_only(rig, is_told ? RULE_NONE : RULE_NTF_007);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(NTF_009)
{
    signal_word(rig, 7, 7, false);
    interrupt(rig);
}

RULE_KEPT(NTF_009)
{
    signal_word(rig, 7, 7, true);
    interrupt(rig);
}

static NTSTATUS tell_fence_alone(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};
    struct miniport_host *host = rig->drivers_host;

    if (ddi != MINIPORT_DDI_InterruptRoutine || !rig->told)
        return rig_answer(rig, ddi, object, arg);
    host->ops->notify_interrupt(host, &data);
    host->ops->queue_dpc(host);
    return STATUS_SUCCESS;
}

/* The GPU is done while the driver's interrupt routine is at its registers. */
static NTSTATUS report_late_fence(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_InterruptRoutine) {
        check_gpu(rig->check, &(struct check_gpu_event){
                                  .kind = CHECK_GPU_QUEUED, .fence = rig->fence, .bytes = 64});
        check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_FLUSHED,
                                                        .is_everywhere = true,
                                                        .end = UINT64_MAX});
        check_gpu(rig->check,
                  &(struct check_gpu_event){.kind = CHECK_GPU_DONE, .fence = rig->fence});
    }
    return report_fence(rig, ddi, object, arg);
}

static void a_fence_written_during_an_interrupt_is_told_by_the_next_one(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_told = 0; is_told < 2; is_told++) {
        rig_init(rig, RIG_GPUMMU);
        signal_word(rig, 7, 7, false);
        rig->answer = report_late_fence;
        rig->irql = 5;
        miniport_interrupt(rig->top, 0);
        rig_expect_only(rig, RULE_NONE);
        rig->told = is_told ? rig : NULL;
        rig->answer = tell_fence_alone;
        miniport_interrupt(rig->top, 0);
        run_dpc(rig);
        rig_expect_only(rig, is_told ? RULE_NONE : RULE_NTF_009);
        rig_fini(rig);
    }
    free(rig);
}

static void tell_fences(struct rig *rig, uint64_t current, uint64_t monitored)
{
    DXGK_FENCE_RESIDENCY_INFO info = {
        .hGlobalNativeFence = (HANDLE)0x500,
        .CurrentValuePhysicalAddress.SegmentOffset = 0x5000 + current,
        .MonitoredValuePhysicalAddress.SegmentOffset = 0x5000 + monitored,
        .CurrentValueKernelCpuVa = rig->buffer + current, /* 4 KiB aligned; nothing is there */
        .MonitoredValueKernelCpuVa = rig->buffer + monitored,
    };
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY};

    arg.NotifyFenceResidency.NumFences = 1;
    arg.NotifyFenceResidency.FenceResidencyInfo = &info;
    rig_build(rig, &arg);
}

/* The packet is reported in the interrupt; the fence in the DPC that it queues, or never. */
static NTSTATUS report_fence_in_dpc(struct rig *rig, enum miniport_ddi ddi, HANDLE object,
                                    void *arg)
{
    struct miniport_host *host = rig->drivers_host;

    if (ddi == MINIPORT_DDI_InterruptRoutine) {
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};

        data.DmaCompleted.SubmissionFenceId = rig->fence;
        host->ops->notify_interrupt(host, &data);
        host->ops->queue_dpc(host);
        return STATUS_SUCCESS;
    }
    if (ddi == MINIPORT_DDI_DpcRoutine) {
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                    DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};

        if (rig->told)
            host->ops->notify_interrupt(host, &data);
        host->ops->notify_dpc(host);
        return STATUS_SUCCESS;
    }
    return rig_answer(rig, ddi, object, arg);
}

static void a_fence_may_be_reported_from_the_dpc(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_told = 0; is_told < 2; is_told++) {
        rig_init(rig, RIG_GPUMMU);
        signal_word(rig, 7, 7, is_told);
        rig->answer = report_fence_in_dpc;
        rig->irql = 5;
        miniport_interrupt(rig->top, 0);
        assert_int_equal(rig->counts.broken[RULE_NTF_009], 0);
        rig->irql = DISPATCH_LEVEL;
        miniport_dpc(rig->top);
        rig->irql = PASSIVE_LEVEL;
        rig->answer = NULL;
        assert_int_equal(rig->counts.broken[RULE_NTF_009], !is_told);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN(NTF_010)
{
    tell_fences(rig, 8, 8);
}

RULE_KEPT(NTF_010)
{
    tell_fences(rig, 8, 16);
}

/* The fence is told of at one place, then at another; the GPU writes to the first, or the second.
 */
static void write_moved_fence(struct rig *rig, uint64_t written)
{
    tell_fences(rig, 8, 16);
    rig_complete(rig, 0, rig_submit(rig));
    tell_fences(rig, 24, 32);
    rig_complete(rig, 0, rig_submit(rig));
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_VALUE,
                                                    .node = 1,
                                                    .is_system = true,
                                                    .address = 0x5000 + written});
}

RULE_BROKEN(NTF_011)
{
    write_moved_fence(rig, 8);
}

RULE_KEPT(NTF_011)
{
    write_moved_fence(rig, 24);
}

/* The same number in another memory is another place. */
static void rule_NTF_011_is_found_where_no_fence_is(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_system = 0; is_system < 2; is_system++) {
        rig_init(rig, RIG_GPUMMU);
        tell_fences(rig, 8, 16);
        rig_complete(rig, 0, rig_submit(rig));
        check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_VALUE,
                                                        .node = 1,
                                                        .is_system = is_system,
                                                        .address = 0x5000 + 8});
        rig_expect_only(rig, is_system ? RULE_NONE : RULE_NTF_011);
        rig_fini(rig);
    }
    free(rig);
}

/* Local memory, or aperture slots. */
static void notify_from(struct rig *rig, bool is_local)
{
    DXGKARG_BUILDPAGINGBUFFER arg, move;

    begin_notice(rig, &arg, true);
    move = rig_fill(arg.NotifyAllocation.hAllocation);
    move.Fill.Destination.SegmentAddress.QuadPart = 32 * 4096;
    if (is_local)
        rig_build(rig, &move);
    rig_build(rig, &arg);
}

RULE_BROKEN(NTF_017)
{
    notify_from(rig, true);
}

RULE_KEPT(NTF_017)
{
    notify_from(rig, false);
}

/* The driver's commands for the notice have run, and then others fault. */
static void touch(struct rig *rig, uint64_t va)
{
    struct check_gpu_event event = {.kind = CHECK_GPU_FAULT, .address = va};
    DXGKARG_BUILDPAGINGBUFFER arg, fill;

    begin_notice(rig, &arg, false);
    rig_build(rig, &arg);
    rig_complete(rig, 0, rig_submit(rig));
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig_build(rig, &fill);
    event.fence = rig_submit(rig);
    check_gpu(rig->check, &event);
}

RULE_BROKEN(NTF_019)
{
    touch(rig, RIG_VA + 65535);
}

RULE_KEPT(NTF_019)
{
    touch(rig, RIG_VA + 65536);
}

/* The fence is in the eighth page of an entry of 64 KiB. */
static void a_fence_in_a_large_page_is_read_where_it_is(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (uint64_t written = 6; written < 8; written++) {
        DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};
        struct rig_update update;
        HANDLE process;

        rig_init(rig, RIG_GPUMMU);
        process = rig->process;
        rig->gpummu.LeafPageTableSizeFor64KPagesInBytes = 4096;
        rig->gpummu.DualPteSupported = 1;
        rig_query_mmu(rig);
        rig->process = rig->system_process;
        rig_begin_update(rig, &update, 0, RIG_VA, 32);
        update.arg.UpdatePageTable.Flags.Use64KBPages = 1;
        update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
        update.arg.UpdatePageTable.Flags.Repeat = 1;
        rig_update(rig, &update);
        rig_begin_update(rig, &update, 0, RIG_VA, 1);
        update.arg.UpdatePageTable.Flags.Use64KBPages = 1;
        update.entries[0].Valid = 1;
        update.entries[0].PageAddress = RIG_DUMMY_PAGE / 16 * 16;
        rig_update(rig, &update);
        rig_flush(rig, rig->system_process, 0, 0);
        rig->process = process;
        arg.SignalMonitoredFence.MonitoredFenceGpuVa = RIG_VA + RIG_DUMMY_PAGE % 16 * 4096 + 16;
        arg.SignalMonitoredFence.MonitoredFenceValue = 7;
        rig_build(rig, &arg);
        rig->fence = rig_submit(rig);
        memcpy(rig->dummy + 16, &written, sizeof written);
        rig->told = rig;
        interrupt(rig);
        assert_int_equal(rig->counts.broken[RULE_NTF_007], written == 6);
        assert_int_equal(rig->counts.evaluated[RULE_NTF_007], 1);
        rig_fini(rig);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_NTF_011_is_found_where_no_fence_is),
        cmocka_unit_test(a_notice_without_a_place_is_found),
        cmocka_unit_test(a_packet_may_be_reported_behind_a_value_of_the_cpu),
        cmocka_unit_test(a_fence_written_during_an_interrupt_is_told_by_the_next_one),
        cmocka_unit_test(a_fence_may_be_reported_from_the_dpc),
        cmocka_unit_test(a_fence_in_a_large_page_is_read_where_it_is),
    };

    return RIG_RUN_TESTS(tests);
}
