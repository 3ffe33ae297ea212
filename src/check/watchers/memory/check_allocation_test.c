#include "check/rig/test_rig_aperture.h"
#include "check/rig/test_rig.h"

/* The next allocation, as the driver describes it. */
static HANDLE create_with(struct rig *rig, DXGK_ALLOCATIONINFO info)
{
    return rig_create_allocation(rig, &info);
}

static NTSTATUS answer_as_told(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    if (ddi == MINIPORT_DDI_CreateAllocation)
        *((DXGKARG_CREATEALLOCATION *)arg)->pAllocationInfo = *(DXGK_ALLOCATIONINFO *)rig->told;
    return status;
}

/* What the driver answers in so many words. */
static void create_answering(struct rig *rig, DXGK_ALLOCATIONINFO info)
{
    rig->answer = answer_as_told;
    rig->told = &info;
    rig_create_allocation(rig, NULL);
}

static DXGK_ALLOCATIONINFO plain_info(struct rig *rig)
{
    return (DXGK_ALLOCATIONINFO){
        .Size = 65536,
        .Alignment = 4096,
        .SupportedReadSegmentSet = 1,
        .SupportedWriteSegmentSet = 1,
        .AllocationPriority = D3DDDI_ALLOCATIONPRIORITY_NORMAL,
        .hAllocation = rig_handle(rig),
    };
}

RULE_BROKEN(ALLOC_001)
{
    DXGK_ALLOCATIONINFO info = plain_info(rig);

    info.Size = 0;
    create_answering(rig, info);
}

RULE_KEPT(ALLOC_001)
{
    create_answering(rig, plain_info(rig));
}

static void an_odd_alignment_is_advice(void **state)
{
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGK_ALLOCATIONINFO info;

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->config.profile.wants_power_of_two = is_strict;
        rig_init_prepared(rig);
        info = plain_info(rig);
        info.Alignment = 3 * 4096;
        create_answering(rig, info);
        assert_int_equal(rig->last.is_advice, !is_strict);
        assert_int_equal(rig->last.rule, RULE_ALLOC_001);
        rig_expect_only(rig, is_strict ? RULE_ALLOC_001 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

static void a_handle_of_a_live_allocation_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGK_ALLOCATIONINFO info;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    info = plain_info(rig);
    create_answering(rig, info);
    create_answering(rig, info);
    rig_expect_only(rig, RULE_ALLOC_001);
    rig_fini(rig);
    free(rig);
}

static void fill_bytes(struct rig *rig, SIZE_T bytes)
{
    DXGKARG_BUILDPAGINGBUFFER fill =
        rig_fill(create_with(rig, (DXGK_ALLOCATIONINFO){.Size = 65000}));

    fill.Fill.FillSize = bytes;
    rig_build(rig, &fill);
}

RULE_BROKEN(ALLOC_002)
{
    fill_bytes(rig, 2 * 65536);
}

RULE_KEPT(ALLOC_002)
{
    fill_bytes(rig, 65536);
}

static void create_in_large_pages(struct rig *rig, UINT alignment)
{
    DXGK_ALLOCATIONINFO info = plain_info(rig);

    rig->segments[0].Flags.Use64KBPages = 1;
    rig_query_segments(rig);
    info.Alignment = alignment;
    create_answering(rig, info);
}

RULE_BROKEN(ALLOC_003)
{
    create_in_large_pages(rig, 4096);
}

RULE_KEPT(ALLOC_003)
{
    create_in_large_pages(rig, 65536);
}

RULE_BROKEN(ALLOC_004)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.Size = 65536, .PitchAlignedSize = 61440});
}

RULE_KEPT(ALLOC_004)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.Size = 65536, .PitchAlignedSize = 69632});
}

RULE_BROKEN(ALLOC_005)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.PreferredSegment.SegmentId0 = 2});
}

RULE_KEPT(ALLOC_005)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.PreferredSegment.SegmentId0 = 1});
}

/* The leaf table, made as tables are, and then the update. */
static void update_table(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER update)
{
    DXGKARG_BUILDPAGINGBUFFER first = update;
    DXGK_PTE invalid = {0};

    first.UpdatePageTable.hAllocation = NULL;
    first.UpdatePageTable.pPageTableEntries = &invalid;
    first.UpdatePageTable.NumPageTableEntries = 512;
    first.UpdatePageTable.Flags.InitialUpdate = first.UpdatePageTable.Flags.Repeat = 1;
    rig_build(rig, &first);
    rig_build(rig, &update);
}

/* Page tables show an allocation that reads say may be in both, writes in the first segment. */
static void map_in_segment(struct rig *rig, unsigned segment)
{
    HANDLE allocation = create_with(
        rig, (DXGK_ALLOCATIONINFO){.SupportedReadSegmentSet = 5, .SupportedWriteSegmentSet = 1});
    DXGK_PTE entry = {.Valid = 1, .Segment = segment, .PageAddress = 16};
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};

    arg.UpdatePageTable.hAllocation = allocation;
    arg.UpdatePageTable.hProcess = rig->process;
    arg.UpdatePageTable.pPageTableEntries = &entry;
    arg.UpdatePageTable.NumPageTableEntries = 1;
    arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    update_table(rig, arg);
}

static void add_third_segment(struct rig *rig)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->segments[2] = rig->segments[0];
    rig->segments[2].BaseAddress.QuadPart = 16 << 20;
    rig->segment_count = 3;
    rig_init_prepared(rig);
}

RULE_BROKEN(ALLOC_006)
{
    add_third_segment(rig);
    map_in_segment(rig, 3);
}

RULE_KEPT(ALLOC_006)
{
    add_third_segment(rig);
    map_in_segment(rig, 1);
}

RULE_BROKEN_IN(ALLOC_007, RIG_PHYSICAL)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.EvictionSegmentSet = 1});
}

RULE_KEPT_IN(ALLOC_007, RIG_PHYSICAL)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.EvictionSegmentSet = 2});
}

RULE_BROKEN(ALLOC_008)
{
    DXGK_ALLOCATIONINFO info = plain_info(rig);

    info.AllocationPriority = 0;
    create_answering(rig, info);
}

RULE_KEPT(ALLOC_008)
{
    DXGK_ALLOCATIONINFO info = plain_info(rig);

    info.AllocationPriority = 1;
    create_answering(rig, info);
}

RULE_BROKEN(ALLOC_009)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.Cached = 1});
}

RULE_KEPT(ALLOC_009)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.Cached = 1, .Flags.CpuVisible = 1});
}

static void a_cached_primary_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    check_client(rig->check,
                 &(struct check_client_event){.kind = CHECK_CLIENT_CREATE, .is_primary = true});
    create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.Cached = 1, .Flags.CpuVisible = 1});
    rig_expect_only(rig, RULE_ALLOC_009);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(ALLOC_010)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.Protected = 1, .Flags.ExistingSysMem = 1});
}

RULE_KEPT(ALLOC_010)
{
    create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.Protected = 1});
}

static void create_with_alternate_address(struct rig *rig, bool is_primary)
{
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE,
                                                          .is_primary = is_primary});
    create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.UseAlternateVA = 1});
}

RULE_BROKEN_IN(ALLOC_011, RIG_PHYSICAL)
{
    create_with_alternate_address(rig, false);
}

RULE_KEPT_IN(ALLOC_011, RIG_PHYSICAL)
{
    create_with_alternate_address(rig, true);
}

/* A page-in from, or an eviction to, a page list, of 64 KiB at the start of local memory. */
static void transfer(struct rig *rig, HANDLE allocation, bool is_in)
{
    static MDL mdl;
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    arg.Transfer.hAllocation = allocation;
    arg.Transfer.TransferSize = 65536;
    arg.Transfer.Flags.TransferStart = arg.Transfer.Flags.TransferEnd = 1;
    if (is_in) {
        arg.Transfer.Source.pMdl = &mdl;
        arg.Transfer.Destination.SegmentId = 1;
    } else {
        arg.Transfer.Source.SegmentId = 1;
        arg.Transfer.Destination.pMdl = &mdl;
    }
    rig_build(rig, &arg);
    rig_complete(rig, 0, rig_submit(rig));
}

RULE_BROKEN_IN(ALLOC_012, RIG_PHYSICAL)
{
    HANDLE allocation =
        create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.PermanentSysMem = 1, .Flags.CpuVisible = 1});

    transfer(rig, allocation, true);
    transfer(rig, allocation, false);
}

RULE_KEPT_IN(ALLOC_012, RIG_PHYSICAL)
{
    HANDLE allocation =
        create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.PermanentSysMem = 1, .Flags.CpuVisible = 1});
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    rig_build(rig, &fill);
    rig_complete(rig, 0, rig_submit(rig));
    transfer(rig, allocation, false);
}

/*
 * The client is told that the content is lost, behind a reset: nobody knows any more what has
 * written to it, and an eviction says nothing.
 */
static void an_eviction_of_what_was_lost_is_no_mistake(void **state)
{
    static const char client_name, device_name;

    for (unsigned is_lost = 0; is_lost < 2; is_lost++) {
        const void *name = &client_name;
        struct check_client_event event = {
            .device = &device_name, .count = 1, .allocations = &name};
        struct rig *rig = malloc(sizeof *rig);
        HANDLE allocation;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        event.kind = CHECK_CLIENT_CREATE;
        check_client(rig->check, &event);
        allocation = create_with(
            rig, (DXGK_ALLOCATIONINFO){.Flags.PermanentSysMem = 1, .Flags.CpuVisible = 1});
        event.kind = CHECK_CLIENT_CREATED;
        check_client(rig->check, &event);
        transfer(rig, allocation, true);
        event.kind = CHECK_CLIENT_LOST;
        if (is_lost)
            check_client(rig->check, &event);
        transfer(rig, allocation, false);
        rig_expect_only(rig, is_lost ? RULE_NONE : RULE_ALLOC_012);
        rig_fini(rig);
        free(rig);
    }
}

static void evict_pinned(struct rig *rig, bool is_for_sleep)
{
    HANDLE allocation = create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.Overlay = 1});

    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE});
    transfer(rig, allocation, true);
    if (is_for_sleep)
        check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_SLEEP});
    transfer(rig, allocation, false);
}

RULE_BROKEN_IN(ALLOC_014, RIG_PHYSICAL)
{
    evict_pinned(rig, false);
}

RULE_KEPT_IN(ALLOC_014, RIG_PHYSICAL)
{
    evict_pinned(rig, true);
}

static void submit_render(struct rig *rig, uint32_t fence)
{
    DXGKARG_SUBMITCOMMAND arg = {
        .hContext = rig->context,
        .NodeOrdinal = 1,
        .DmaBufferSize = 4096,
        .DmaBufferSubmissionEndOffset = 64,
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .SubmissionFenceId = fence,
    };
    DXGKARG_PATCH patch = {
        .hContext = rig->context,
        .DmaBufferSize = 4096,
        .DmaBufferSubmissionEndOffset = 64,
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .SubmissionFenceId = fence,
    };

    miniport_patch(rig->top, NULL, &patch);
    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command(rig->top, NULL, &arg);
    rig->irql = PASSIVE_LEVEL;
}

static void page_synchronously(struct rig *rig, bool waits)
{
    DXGKARG_BUILDPAGINGBUFFER fill =
        rig_fill(create_with(rig, (DXGK_ALLOCATIONINFO){.Flags.SynchronousPaging = 1}));

    submit_render(rig, 1);
    if (waits)
        rig_complete(rig, 1, 1);
    rig_build(rig, &fill);
    rig_submit(rig);
}

RULE_BROKEN_IN(ALLOC_015, RIG_PHYSICAL)
{
    page_synchronously(rig, false);
}

RULE_KEPT_IN(ALLOC_015, RIG_PHYSICAL)
{
    page_synchronously(rig, true);
}

static void map_two_pages(struct rig *rig, uint64_t second)
{
    HANDLE allocation = create_with(rig, (DXGK_ALLOCATIONINFO){.FlagsWddm2.AccessedPhysically = 1});
    DXGK_PTE entries[2] = {{.Valid = 1, .Segment = 1, .PageAddress = 16},
                           {.Valid = 1, .Segment = 1, .PageAddress = second}};
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};

    arg.UpdatePageTable.hAllocation = allocation;
    arg.UpdatePageTable.hProcess = rig->process;
    arg.UpdatePageTable.pPageTableEntries = entries;
    arg.UpdatePageTable.NumPageTableEntries = 2;
    arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    update_table(rig, arg);
}

RULE_BROKEN(ALLOC_016)
{
    map_two_pages(rig, 18);
}

RULE_KEPT(ALLOC_016)
{
    map_two_pages(rig, 17);
}

/* A page in system memory is accessed physically through slots of an aperture alone. */
static void pages_in_system_memory_are_accessed_physically_through_an_aperture(void **state)
{
    for (unsigned is_shown = 0; is_shown < 2; is_shown++) {
        DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};
        DXGK_PTE entry = {.Valid = 1, .PageAddress = 0x100};
        struct rig_frames frames = rig_frames_of(0x100);
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER map;
        HANDLE allocation;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        allocation = create_with(rig, (DXGK_ALLOCATIONINFO){.FlagsWddm2.AccessedPhysically = 1});
        map = rig_map_of(rig, allocation, 8, &frames);
        if (is_shown)
            rig_build(rig, &map);
        arg.UpdatePageTable.hAllocation = allocation;
        arg.UpdatePageTable.hProcess = rig->process;
        arg.UpdatePageTable.pPageTableEntries = &entry;
        arg.UpdatePageTable.NumPageTableEntries = 1;
        arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
        update_table(rig, arg);
        assert_int_equal(rig->counts.broken[RULE_ALLOC_016], !is_shown);
        rig_fini(rig);
        free(rig);
    }
}

/* The driver asks what the handle stands for, as a driver must, and writes to the private data. */
static NTSTATUS open_properly(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_OpenAllocation) {
        const DXGKARG_OPENALLOCATION *open = arg;
        const DXGKARGCB_GETHANDLEDATA data = {.hObject = open->pOpenAllocation[0].hAllocation};

        rig->drivers_host->ops->get_handle_data(rig->drivers_host, &data);
        if (open->pOpenAllocation[0].pPrivateDriverData)
            *(char *)open->pOpenAllocation[0].pPrivateDriverData = 1;
    }
    if (ddi == MINIPORT_DDI_DestroyAllocation && rig->told)
        return STATUS_INVALID_PARAMETER;
    return rig_answer(rig, ddi, object, arg);
}

static HANDLE open_in(struct rig *rig, HANDLE device, HANDLE allocation, bool is_creator,
                      char *private_data)
{
    DXGK_OPENALLOCATIONINFO info = {
        .hAllocation = (D3DKMT_HANDLE)(uintptr_t)allocation,
        .pPrivateDriverData = private_data,
        .PrivateDriverDataSize = private_data ? 1 : 0,
    };
    const DXGKARG_OPENALLOCATION open = {
        .NumAllocations = 1, .pOpenAllocation = &info, .Flags.Create = is_creator};

    rig->answer = open_properly;
    miniport_open_allocation(rig->top, device, &open);
    return info.hDeviceSpecificAllocation;
}

static void close_in(struct rig *rig, HANDLE device, HANDLE opened)
{
    const DXGKARG_CLOSEALLOCATION close = {.NumAllocations = 1, .pOpenHandleList = &opened};

    miniport_close_allocation(rig->top, device, &close);
}

static void destroy_closed(struct rig *rig, void *told)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);

    close_in(rig, rig->device, open_in(rig, rig->device, allocation, true, NULL));
    rig->told = told;
    rig_destroy_allocation(rig, allocation);
}

RULE_BROKEN(ALLOC_017)
{
    destroy_closed(rig, rig);
}

RULE_KEPT(ALLOC_017)
{
    destroy_closed(rig, NULL);
}

RULE_BROKEN(ALLOC_018)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);

    open_in(rig, rig->device, allocation, true, NULL);
    rig_destroy_allocation(rig, allocation);
}

RULE_KEPT(ALLOC_018)
{
    destroy_closed(rig, NULL);
}

/* The driver has one handle for all devices: that is its choice. */
static NTSTATUS open_as_it_is(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = open_properly(rig, ddi, object, arg);
    const DXGKARG_OPENALLOCATION *open = arg;

    if (ddi == MINIPORT_DDI_OpenAllocation)
        open->pOpenAllocation[0].hDeviceSpecificAllocation = rig->told;
    return status;
}

static HANDLE open_alike(struct rig *rig, HANDLE device, HANDLE allocation, bool is_creator)
{
    DXGK_OPENALLOCATIONINFO info = {.hAllocation = (D3DKMT_HANDLE)(uintptr_t)allocation};
    const DXGKARG_OPENALLOCATION open = {
        .NumAllocations = 1, .pOpenAllocation = &info, .Flags.Create = is_creator};

    rig->answer = open_as_it_is;
    miniport_open_allocation(rig->top, device, &open);
    return info.hDeviceSpecificAllocation;
}

static void one_handle_may_serve_several_devices(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int closes_both = 0; closes_both < 2; closes_both++) {
        HANDLE allocation, second, opened;

        rig_init(rig, RIG_GPUMMU);
        second = rig_create_device(rig, rig->process);
        allocation = rig_create_allocation(rig, NULL);
        rig->told = rig; /* its handle in both */
        opened = open_alike(rig, rig->device, allocation, true);
        assert_ptr_equal(open_alike(rig, second, allocation, false), opened);
        close_in(rig, second, opened);
        if (closes_both)
            close_in(rig, rig->device, opened);
        rig->told = NULL;
        rig_destroy_allocation(rig, allocation);
        if (closes_both)
            rig_expect_silence(rig, RULE_ALLOC_018);
        else
            rig_expect_only(rig, RULE_ALLOC_018);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN(ALLOC_019)
{
    char private_data = 0;

    open_in(rig, rig->device, rig_create_allocation(rig, NULL), false, &private_data);
}

RULE_KEPT(ALLOC_019)
{
    char private_data = 1; /* what the driver writes: nothing changes */

    open_in(rig, rig->device, rig_create_allocation(rig, NULL), false, &private_data);
}

static void destroy_filled(struct rig *rig, bool waits)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER fill = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};
    uint32_t fence;

    fill.FillVirtual.hAllocation = allocation;
    fill.FillVirtual.FillSizeInBytes = 65536;
    rig_build(rig, &fill);
    fence = rig_submit(rig);
    if (waits)
        rig_complete(rig, 0, fence);
    rig_destroy_allocation(rig, allocation);
}

RULE_BROKEN(ALLOC_020)
{
    destroy_filled(rig, false);
}

RULE_KEPT(ALLOC_020)
{
    destroy_filled(rig, true);
}

static void what_was_destroyed_is_found_when_it_is_paged(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER fill;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig_destroy_allocation(rig, fill.Fill.hAllocation);
    rig_build(rig, &fill);
    rig_expect_only(rig, RULE_ALLOC_020);
    assert_non_null(strstr(rig->last.text, "it was allocation a1"));
    rig_fini(rig);
    free(rig);
}

/* ---- Over memory of the client's ------------------------------------------------------------- */

static const uint64_t memory_pages[16] = {70, 44, 71, 9};

static HANDLE create_over(struct rig *rig, bool is_kernels, uint64_t page_count,
                          DXGK_ALLOCATIONINFO info)
{
    check_client(rig->check,
                 &(struct check_client_event){.kind = CHECK_CLIENT_CREATE,
                                              .memory = {.pages = page_count ? memory_pages : NULL,
                                                         .page_count = page_count,
                                                         .is_kernels = is_kernels}});
    return create_with(rig, info);
}

/* The allocations that create_with() makes have 64 KiB. */
RULE_BROKEN(ALLOC_023)
{
    create_over(rig, false, 15, (DXGK_ALLOCATIONINFO){.Flags.ExistingSysMem = 1});
}

RULE_KEPT(ALLOC_023)
{
    create_over(rig, false, 16, (DXGK_ALLOCATIONINFO){.Flags.ExistingSysMem = 1});
    create_over(rig, true, 16, (DXGK_ALLOCATIONINFO){.Flags.ExistingKernelSysMem = 1});
}

static void memory_that_nobody_has_handed_over_is_found(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        if (i == 0)
            create_over(rig, false, 0, (DXGK_ALLOCATIONINFO){.Flags.ExistingSysMem = 1});
        else if (i == 1)
            create_over(rig, true, 16, (DXGK_ALLOCATIONINFO){.Flags.ExistingSysMem = 1});
        else
            create_over(rig, false, 16, (DXGK_ALLOCATIONINFO){.Flags.ExistingKernelSysMem = 1});
        rig_expect_only(rig, RULE_ALLOC_023);
        rig_fini(rig);
        free(rig);
    }
}

static void map_memory(struct rig *rig, uint64_t page)
{
    HANDLE allocation =
        create_over(rig, false, 16, (DXGK_ALLOCATIONINFO){.Flags.ExistingSysMem = 1});
    DXGK_PTE entry = {.Valid = 1, .PageAddress = page};
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};

    arg.UpdatePageTable.hAllocation = allocation;
    arg.UpdatePageTable.hProcess = rig->process;
    arg.UpdatePageTable.pPageTableEntries = &entry;
    arg.UpdatePageTable.NumPageTableEntries = 1;
    arg.UpdatePageTable.AllocationOffsetInBytes = 4096;
    arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    update_table(rig, arg);
}

RULE_BROKEN(ALLOC_024)
{
    map_memory(rig, 45);
}

RULE_KEPT(ALLOC_024)
{
    map_memory(rig, 44);
}

/* Of a list both ends are looked at. */
static void another_page_in_a_list_is_found(void **state)
{
    for (unsigned operation = 0; operation < 2; operation++) {
        for (unsigned wrong = 0; wrong < 3; wrong++) {
            struct rig *rig = malloc(sizeof *rig);
            struct {
                MDL mdl;
                uint64_t pages[3];
            } list = {.pages = {70, 44, 71}};
            DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};
            HANDLE allocation;

            assert_non_null(rig);
            rig_init(rig, RIG_PHYSICAL);
            allocation =
                create_over(rig, false, 16, (DXGK_ALLOCATIONINFO){.Flags.ExistingSysMem = 1});
            if (wrong)
                list.pages[wrong] ^= 256;
            if (operation == 0) {
                arg.Transfer.hAllocation = allocation;
                arg.Transfer.TransferOffset = 4096;
                arg.Transfer.TransferSize = 8192;
                arg.Transfer.MdlOffset = 1;
                arg.Transfer.Source.pMdl = &list.mdl;
                arg.Transfer.Destination.SegmentId = 1;
            } else {
                arg.Operation = DXGK_OPERATION_MAP_APERTURE_SEGMENT;
                arg.MapApertureSegment.hAllocation = allocation;
                arg.MapApertureSegment.SegmentId = 2;
                arg.MapApertureSegment.NumberOfPages = 2;
                arg.MapApertureSegment.MdlOffset = 1;
                arg.MapApertureSegment.pMdl = &list.mdl;
            }
            rig_build(rig, &arg);
            assert_int_equal(rig->counts.broken[RULE_ALLOC_024] != 0, wrong != 0);
            rig_fini(rig);
            free(rig);
        }
    }
}

static void create_sharing(struct rig *rig, unsigned shares)
{
    DXGKARG_CREATEALLOCATION arg;
    DXGK_ALLOCATIONINFO info = {.Flags2.ShareBackingStoreWithKmd = shares};

    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM3_1;
    rig_init_prepared(rig);
    arg = (DXGKARG_CREATEALLOCATION){.NumAllocations = 1, .pAllocationInfo = &info};
    miniport_create_allocation(rig->top, NULL, &arg);
}

RULE_BROKEN(ALLOC_021)
{
    create_sharing(rig, 1);
}

RULE_KEPT(ALLOC_021)
{
    create_sharing(rig, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_eviction_of_what_was_lost_is_no_mistake),
        cmocka_unit_test(a_handle_of_a_live_allocation_is_found),
        cmocka_unit_test(an_odd_alignment_is_advice),
        cmocka_unit_test(a_cached_primary_is_found),
        cmocka_unit_test(memory_that_nobody_has_handed_over_is_found),
        cmocka_unit_test(another_page_in_a_list_is_found),
        cmocka_unit_test(one_handle_may_serve_several_devices),
        cmocka_unit_test(what_was_destroyed_is_found_when_it_is_paged),
        cmocka_unit_test(pages_in_system_memory_are_accessed_physically_through_an_aperture),
    };

    return RIG_RUN_TESTS(tests);
}
