#include "check/rig/test_rig_tables.h"

static const char first_name, device_name;

static void tell(struct rig *rig, struct check_client_event event)
{
    const void *name = &first_name;

    event.device = &device_name;
    event.count = 1;
    event.allocations = &name;
    check_client(rig->check, &event);
}

/* An allocation that the client knows, and a device to go with it. */
static HANDLE create_named(struct rig *rig, DXGK_ALLOCATIONINFO info)
{
    HANDLE allocation;

    check_client(rig->check,
                 &(struct check_client_event){.kind = CHECK_CLIENT_DEVICE, .device = &device_name});
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_CREATE});
    allocation = rig_create_allocation(rig, &info);
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_CREATED});
    return allocation;
}

static uint32_t build_and_submit(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER arg)
{
    rig_build(rig, &arg);
    return rig_submit(rig);
}

static void run(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER arg)
{
    rig_complete(rig, 0, build_and_submit(rig, arg));
}

static DXGKARG_BUILDPAGINGBUFFER transfer_virtual(HANDLE allocation,
                                                  DXGK_MEMORY_TRANSFER_DIRECTION direction)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER};

    arg.TransferVirtual.hAllocation = allocation;
    arg.TransferVirtual.TransferSizeInBytes = 65536;
    arg.TransferVirtual.TransferDirection = direction;
    return arg;
}

static DXGKARG_BUILDPAGINGBUFFER fill_virtual(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};

    arg.FillVirtual.hAllocation = allocation;
    arg.FillVirtual.FillSizeInBytes = 65536;
    return arg;
}

static void submit_virtual(struct rig *rig, uint32_t fence)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL arg = {
        .hContext = rig->context,
        .NodeOrdinal = 1,
        .DmaBufferVirtualAddress = 0x100000,
        .DmaBufferSize = 64,
        .SubmissionFenceId = fence,
    };

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_virtual(rig->top, NULL, &arg);
    rig->irql = PASSIVE_LEVEL;
}

static DXGKARG_BUILDPAGINGBUFFER discard(HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

    arg.DiscardContent.hAllocation = allocation;
    arg.DiscardContent.SegmentId = 1;
    arg.DiscardContent.Flags.AllocationIsIdle = 1;
    return arg;
}

/* The driver asks what the handle stands for. */
static NTSTATUS open_properly(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_OpenAllocation) {
        const DXGKARG_OPENALLOCATION *open = arg;
        const DXGKARGCB_GETHANDLEDATA data = {.hObject = open->pOpenAllocation[0].hAllocation};

        rig->drivers_host->ops->get_handle_data(rig->drivers_host, &data);
    }
    return rig_answer(rig, ddi, object, arg);
}

static HANDLE open_allocation(struct rig *rig, HANDLE allocation)
{
    DXGK_OPENALLOCATIONINFO info = {.hAllocation = (D3DKMT_HANDLE)(uintptr_t)allocation};
    const DXGKARG_OPENALLOCATION open = {
        .NumAllocations = 1, .pOpenAllocation = &info, .Flags.Create = 1};

    rig->answer = open_properly;
    miniport_open_allocation(rig->top, rig->device, &open);
    return info.hDeviceSpecificAllocation;
}

static void patch_and_submit(struct rig *rig, HANDLE opened, unsigned segment, uint64_t address,
                             uint32_t fence)
{
    DXGK_ALLOCATIONLIST entry = {
        .hDeviceSpecificAllocation = opened,
        .SegmentId = segment,
        .PhysicalAddress.QuadPart = (LONGLONG)address,
    };
    const DXGKARG_PATCH patch = {
        .hContext = rig->context,
        .DmaBufferSize = 4096,
        .DmaBufferSubmissionEndOffset = 64,
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .pAllocationList = &entry,
        .AllocationListSize = 1,
        .SubmissionFenceId = fence,
    };
    const DXGKARG_SUBMITCOMMAND submit = {
        .hContext = rig->context,
        .NodeOrdinal = 1,
        .DmaBufferSize = 4096,
        .DmaBufferSubmissionEndOffset = 64,
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .SubmissionFenceId = fence,
    };

    miniport_patch(rig->top, NULL, &patch);
    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command(rig->top, NULL, &submit);
    rig->irql = PASSIVE_LEVEL;
}

/* ---- Residency ---- */

static void use_at(struct rig *rig, uint64_t address)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    HANDLE opened = open_allocation(rig, allocation);

    run(rig, rig_fill(allocation));
    patch_and_submit(rig, opened, 1, address, 1);
}

RULE_BROKEN_IN(RES_001, RIG_PHYSICAL)
{
    use_at(rig, 0x10000);
}

RULE_KEPT_IN(RES_001, RIG_PHYSICAL)
{
    use_at(rig, 0);
}

/* Made resident so many times, given back once less, and taken out. */
static void run_without(struct rig *rig, unsigned evictions, bool is_taken_out)
{
    HANDLE allocation = create_named(rig, (DXGK_ALLOCATIONINFO){0});

    run(rig, fill_virtual(allocation));
    for (unsigned i = 0; i <= evictions; i++)
        tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_MAKE_RESIDENT});
    for (unsigned i = 0; i < evictions; i++)
        tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_EVICT});
    if (is_taken_out)
        run(rig, transfer_virtual(allocation, DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM));
    submit_virtual(rig, 1);
}

RULE_BROKEN(RES_002)
{
    run_without(rig, 0, true);
}

RULE_KEPT(RES_002)
{
    run_without(rig, 0, false);
}

RULE_BROKEN(RES_003)
{
    run_without(rig, 1, true);
}

RULE_KEPT(RES_003)
{
    run_without(rig, 1, false);
}

RULE_BROKEN(RES_004)
{
    create_named(rig, (DXGK_ALLOCATIONINFO){0});
    tell(rig,
         (struct check_client_event){.kind = CHECK_CLIENT_MAKE_RESIDENT, .status = STATUS_PENDING});
}

RULE_KEPT(RES_004)
{
    create_named(rig, (DXGK_ALLOCATIONINFO){0});
    tell(rig, (struct check_client_event){
                  .kind = CHECK_CLIENT_MAKE_RESIDENT, .status = STATUS_PENDING, .fence = 1});
}

static void end_request(struct rig *rig, bool is_submitted)
{
    DXGKARG_BUILDPAGINGBUFFER fill = fill_virtual(create_named(rig, (DXGK_ALLOCATIONINFO){0}));

    rig_build(rig, &fill);
    if (is_submitted)
        rig_submit(rig);
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_RESIDENT, .fence = 1});
}

RULE_BROKEN(RES_005)
{
    end_request(rig, false);
}

RULE_KEPT(RES_005)
{
    end_request(rig, true);
}

static void end_two_requests(struct rig *rig, uint64_t second)
{
    create_named(rig, (DXGK_ALLOCATIONINFO){0});
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_RESIDENT, .fence = 2});
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_RESIDENT, .fence = second});
}

RULE_BROKEN(RES_006)
{
    end_two_requests(rig, 1);
}

RULE_KEPT(RES_006)
{
    end_two_requests(rig, 3);
}

RULE_BROKEN(RES_008)
{
    patch_and_submit(rig, open_allocation(rig, rig_create_allocation(rig, NULL)), 0, 0, 1);
}

RULE_KEPT(RES_008)
{
    patch_and_submit(rig, open_allocation(rig, rig_create_allocation(rig, NULL)), 1, 0, 1);
}

static NTSTATUS answer_context(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_CreateContext)
        ((DXGKARG_CREATECONTEXT *)arg)->ContextInfo = *(DXGK_CONTEXTINFO *)rig->told;
    return rig_answer(rig, ddi, object, arg);
}

static void create_context_with_list(struct rig *rig, UINT patch_locations)
{
    DXGK_CONTEXTINFO info = {.Caps.NoPatchingRequired = 1,
                             .AllocationListSize = 16,
                             .PatchLocationListSize = patch_locations};

    rig->answer = answer_context;
    rig->told = &info;
    rig_create_context(rig, rig->device, 1, false);
}

RULE_BROKEN(RES_009)
{
    create_context_with_list(rig, 1);
}

RULE_KEPT(RES_009)
{
    create_context_with_list(rig, 0);
}

/* Another allocation comes to where one is, or was. */
static void come_after(struct rig *rig, bool is_finished)
{
    HANDLE first = rig_create_allocation(rig, NULL);
    HANDLE opened = open_allocation(rig, first);

    run(rig, rig_fill(first));
    patch_and_submit(rig, opened, 1, 0, 1);
    run(rig, discard(first));
    if (is_finished)
        rig_complete(rig, 1, 1);
    run(rig, rig_fill(rig_create_allocation(rig, NULL)));
}

RULE_BROKEN_IN(RES_011, RIG_PHYSICAL)
{
    come_after(rig, false);
}

RULE_KEPT_IN(RES_011, RIG_PHYSICAL)
{
    come_after(rig, true);
}

static void two_at_one_place_are_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    run(rig, rig_fill(rig_create_allocation(rig, NULL)));
    run(rig, rig_fill(rig_create_allocation(rig, NULL)));
    rig_expect_only(rig, RULE_RES_011);
    rig_fini(rig);
    free(rig);
}

/*
 * A page comes to be another allocation's. Of the one that it was the mapping has gone with an
 * entry that names none, because it was destroyed; or else it is still there.
 */
static void a_page_of_what_is_destroyed_is_free(void **state)
{
    for (unsigned is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_make_tables(rig);
        rig_map(rig, RIG_VA, create_named(rig, (DXGK_ALLOCATIONINFO){0}), 32, 1);
        if (is_destroyed)
            tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_DESTROY});
        rig_map(rig, RIG_VA + 65536, rig_create_allocation(rig, NULL), 32, 1);
        rig_expect_only(rig, is_destroyed ? RULE_NONE : RULE_RES_011);
        rig_fini(rig);
        free(rig);
    }
}

static void destroy_used(struct rig *rig, bool is_finished)
{
    HANDLE allocation = create_named(rig, (DXGK_ALLOCATIONINFO){0});

    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_MAKE_RESIDENT});
    submit_virtual(rig, 1);
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_EVICT});
    if (is_finished)
        rig_complete(rig, 1, 1);
    rig_destroy_allocation(rig, allocation);
}

RULE_BROKEN(RES_012)
{
    destroy_used(rig, false);
}

RULE_KEPT(RES_012)
{
    destroy_used(rig, true);
}

static void lock_with_status(struct rig *rig, NTSTATUS status)
{
    create_named(rig, (DXGK_ALLOCATIONINFO){.Flags.CpuVisible = 1, .SupportedWriteSegmentSet = 3});
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_LOCKED, .status = status});
}

RULE_BROKEN(RES_013)
{
    lock_with_status(rig, STATUS_INVALID_PARAMETER);
}

RULE_KEPT(RES_013)
{
    lock_with_status(rig, STATUS_SUCCESS);
}

static void fill_locked(struct rig *rig, bool is_unlocked)
{
    HANDLE allocation = create_named(rig, (DXGK_ALLOCATIONINFO){0});

    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_LOCKED});
    if (is_unlocked)
        tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_UNLOCK});
    run(rig, fill_virtual(allocation));
}

RULE_BROKEN(RES_014)
{
    fill_locked(rig, false);
}

RULE_KEPT(RES_014)
{
    fill_locked(rig, true);
}

static void tell_budget(struct rig *rig, uint64_t held, uint64_t budget)
{
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_BUDGET,
                                          .bytes = 8192,
                                          .used = 8192,
                                          .held = held,
                                          .budget = budget});
}

RULE_BROKEN(RES_015)
{
    tell_budget(rig, 12288, 0);
}

RULE_KEPT(RES_015)
{
    tell_budget(rig, 8192, 0);
}

RULE_BROKEN(RES_016)
{
    tell_budget(rig, 8192, 4096);
}

RULE_KEPT(RES_016)
{
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_TRIM, .bytes = 4096});
    tell_budget(rig, 8192, 4096);
}

/* Who is asked to trim in one group, or is another process, may not be over a budget of this one.
 */
static void each_process_is_asked_to_trim_in_each_group(void **state)
{
    static const char processes[2];
    static const struct {
        const char *process;
        unsigned group;
        bool is_broken;
    } rows[] = {{&processes[0], 0, false}, {&processes[0], 1, true}, {&processes[1], 0, true}};

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        const struct check_client_event trim = {
            .kind = CHECK_CLIENT_TRIM, .device = &processes[0], .bytes = 4096};
        const struct check_client_event over = {.kind = CHECK_CLIENT_BUDGET,
                                                .device = rows[i].process,
                                                .group = rows[i].group,
                                                .bytes = 8192,
                                                .used = 8192,
                                                .held = 8192,
                                                .budget = 4096};
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        check_client(rig->check, &trim);
        check_client(rig->check, &over);
        if (rows[i].is_broken)
            rig_expect_only(rig, RULE_RES_016);
        else
            rig_expect_silence(rig, RULE_RES_016);
        rig_fini(rig);
        free(rig);
    }
}

/* The rig again, as an adapter of the IoMmu model, and a process of it. */
static void create_iommu_process(struct rig *rig, UINT pasids, bool has_list)
{
    ULONG pasid = 5;
    DXGKARG_CREATEPROCESS arg = {.NumPasid = pasids, .pPasid = has_list ? &pasid : NULL};
    DXGK_DRIVERCAPS caps;

    rig->caps.MemoryManagementCaps.GpuMmuSupported = 0;
    rig->caps.MemoryManagementCaps.IoMmuSupported = 1;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
    miniport_create_process(rig->top, NULL, &arg);
}

RULE_BROKEN(RES_017)
{
    create_iommu_process(rig, 0, false);
}

RULE_KEPT(RES_017)
{
    create_iommu_process(rig, 1, true);
}

/* RES-017: a number without the list, and a list of none. */
static void half_a_list_of_pasids_is_none(void **state)
{
    for (UINT pasids = 0; pasids < 2; pasids++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        create_iommu_process(rig, pasids, pasids == 0);
        rig_expect_only(rig, RULE_RES_017);
        rig_fini(rig);
        free(rig);
    }
}

/* ---- Offers ---- */

static const char second_name;

static void tell_of(struct rig *rig, const void *name, struct check_client_event event)
{
    event.count = 1;
    event.allocations = &name;
    check_client(rig->check, &event);
}

/* What the first allocation is doing when it is decided that one of the two is dropped. */
enum first_one { FIRST_IS_IDLE, FIRST_HAS_WORK, FIRST_HAD_WORK, FIRST_DEPARTS, FIRST_IS_LATE };

static void offer_second(struct rig *rig, bool is_dropped)
{
    tell_of(rig, &second_name,
            (struct check_client_event){.kind = CHECK_CLIENT_OFFER, .priority = 1});
    if (is_dropped)
        tell_of(rig, &second_name,
                (struct check_client_event){.kind = CHECK_CLIENT_DEPARTS, .is_dropped = true});
}

/* Two allocations side by side; the first one is offered low, the second one high. */
static void drop_one_of_two(struct rig *rig, bool is_first, enum first_one how)
{
    const void *names[2] = {&first_name, &second_name};
    DXGKARG_BUILDPAGINGBUFFER drop;
    HANDLE allocations[2];

    for (unsigned i = 0; i < 2; i++) {
        DXGKARG_BUILDPAGINGBUFFER fill;

        check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE});
        allocations[i] = rig_create_allocation(rig, NULL);
        tell_of(rig, names[i], (struct check_client_event){.kind = CHECK_CLIENT_CREATED});
        fill = rig_fill(allocations[i]);
        fill.Fill.Destination.SegmentAddress.QuadPart = i * 65536;
        run(rig, fill);
    }
    if (how == FIRST_HAS_WORK || how == FIRST_HAD_WORK)
        tell_of(rig, names[0],
                (struct check_client_event){.kind = CHECK_CLIENT_QUEUED, .work = rig});
    if (how == FIRST_IS_LATE)
        offer_second(rig, !is_first);
    tell_of(rig, names[0], (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
    if (how == FIRST_HAD_WORK)
        check_client(rig->check,
                     &(struct check_client_event){.kind = CHECK_CLIENT_ENDED, .work = rig});
    if (is_first || how == FIRST_DEPARTS)
        tell_of(rig, names[0],
                (struct check_client_event){.kind = CHECK_CLIENT_DEPARTS, .is_dropped = true});
    if (how != FIRST_IS_LATE)
        offer_second(rig, !is_first);
    drop = discard(allocations[is_first ? 0 : 1]);
    drop.DiscardContent.SegmentAddress.QuadPart = is_first ? 0 : 65536;
    run(rig, drop);
}

RULE_BROKEN_IN(OFFER_001, RIG_PHYSICAL)
{
    drop_one_of_two(rig, false, FIRST_IS_IDLE);
}

RULE_KEPT_IN(OFFER_001, RIG_PHYSICAL)
{
    drop_one_of_two(rig, true, FIRST_IS_IDLE);
}

static void drop_expecting(bool is_first, enum first_one how, enum rule_id rule)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    drop_one_of_two(rig, is_first, how);
    rig_expect_only(rig, rule);
    rig_fini(rig);
    free(rig);
}

/* The operation is built behind the offer; what it does was decided before. */
static void an_offer_comes_too_late_for_what_has_been_decided(void **state)
{
    drop_expecting(false, FIRST_IS_LATE, RULE_NONE);
}

static void what_leaves_already_is_not_asked_to_go_first(void **state)
{
    drop_expecting(false, FIRST_DEPARTS, RULE_NONE);
}

/* An offer takes effect behind the work that was queued before, though nothing of it runs yet. */
static void an_offer_takes_effect_behind_work_that_waits(void **state)
{
    drop_expecting(false, FIRST_HAS_WORK, RULE_NONE);
    drop_expecting(false, FIRST_HAD_WORK, RULE_OFFER_001);
    drop_expecting(true, FIRST_HAS_WORK, RULE_OFFER_002);
    drop_expecting(true, FIRST_HAD_WORK, RULE_NONE);
}

static void drop_used(struct rig *rig, bool is_finished)
{
    HANDLE allocation = create_named(rig, (DXGK_ALLOCATIONINFO){0});
    DXGK_PTE entry = {.Valid = 0};
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};

    run(rig, fill_virtual(allocation));
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_MAKE_RESIDENT});
    submit_virtual(rig, 1);
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
    if (is_finished)
        rig_complete(rig, 1, 1);
    arg.UpdatePageTable.hProcess = rig->process;
    arg.UpdatePageTable.pPageTableEntries = &entry;
    arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    arg.UpdatePageTable.NumPageTableEntries = 512;
    arg.UpdatePageTable.Flags.InitialUpdate = arg.UpdatePageTable.Flags.Repeat = 1;
    run(rig, arg);
    arg.UpdatePageTable.Flags.InitialUpdate = arg.UpdatePageTable.Flags.Repeat = 0;
    arg.UpdatePageTable.NumPageTableEntries = 1;
    arg.UpdatePageTable.hAllocation = allocation;
    run(rig, arg);
}

RULE_BROKEN(OFFER_002)
{
    drop_used(rig, false);
}

RULE_KEPT(OFFER_002)
{
    drop_used(rig, true);
}

static HANDLE reclaim_dropped(struct rig *rig, enum check_reclaim result, bool is_dropped)
{
    HANDLE allocation = create_named(rig, (DXGK_ALLOCATIONINFO){0});

    run(rig, rig_fill(allocation));
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
    if (is_dropped)
        run(rig, discard(allocation));
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_RECLAIM, .result = result});
    return allocation;
}

RULE_BROKEN_IN(OFFER_003, RIG_PHYSICAL)
{
    reclaim_dropped(rig, CHECK_RECLAIM_OK, true);
}

RULE_KEPT_IN(OFFER_003, RIG_PHYSICAL)
{
    reclaim_dropped(rig, CHECK_RECLAIM_OK, false);
}

/* The first reclaim told that the content is gone; the second one has nothing to lose. */
static void what_was_dropped_is_offered_and_reclaimed_again(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    HANDLE allocation;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    allocation = reclaim_dropped(rig, CHECK_RECLAIM_DISCARDED, true);
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
    tell(rig,
         (struct check_client_event){.kind = CHECK_CLIENT_RECLAIM, .result = CHECK_RECLAIM_OK});
    run(rig, rig_fill(allocation));
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

/* A reset takes what is in memory, and nothing that had left it. */
static void reclaim_behind_a_reset(struct rig *rig, bool has_left)
{
    static MDL list;
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};
    HANDLE allocation = create_named(rig, (DXGK_ALLOCATIONINFO){0});

    run(rig, rig_fill(allocation));
    arg.Transfer.hAllocation = allocation;
    arg.Transfer.TransferSize = 65536;
    arg.Transfer.Source.SegmentId = 1;
    arg.Transfer.Destination.pMdl = &list;
    arg.Transfer.Flags.AllocationIsIdle = 1;
    arg.Transfer.Flags.TransferStart = arg.Transfer.Flags.TransferEnd = 1;
    if (has_left)
        run(rig, arg);
    miniport_reset_from_timeout(rig->top, NULL);
    miniport_restart_from_timeout(rig->top, NULL);
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
    tell(rig,
         (struct check_client_event){.kind = CHECK_CLIENT_RECLAIM, .result = CHECK_RECLAIM_OK});
    run(rig, rig_fill(allocation));
}

static void what_had_left_memory_is_followed_through_a_reset(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned has_left = 0; has_left < 2; has_left++) {
        rig_init(rig, RIG_PHYSICAL);
        reclaim_behind_a_reset(rig, has_left);
        rig_expect_only(rig, has_left ? RULE_OFFER_003 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

static void reclaim_held(struct rig *rig, uint64_t fence)
{
    create_named(rig, (DXGK_ALLOCATIONINFO){0});
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_MAKE_RESIDENT});
    tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
    tell(rig, (struct check_client_event){
                  .kind = CHECK_CLIENT_RECLAIM, .status = STATUS_PENDING, .fence = fence});
}

RULE_BROKEN(OFFER_004)
{
    reclaim_held(rig, 0);
}

RULE_KEPT(OFFER_004)
{
    reclaim_held(rig, 1);
}

static void return_dropped(struct rig *rig, bool is_fill)
{
    static MDL mdl;
    HANDLE allocation = reclaim_dropped(rig, CHECK_RECLAIM_DISCARDED, true);
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    arg.Transfer.hAllocation = allocation;
    arg.Transfer.TransferSize = 65536;
    arg.Transfer.Source.pMdl = &mdl;
    arg.Transfer.Destination.SegmentId = 1;
    arg.Transfer.Flags.TransferStart = arg.Transfer.Flags.TransferEnd = 1;
    run(rig, is_fill ? rig_fill(allocation) : arg);
}

RULE_BROKEN_IN(OFFER_005, RIG_PHYSICAL)
{
    return_dropped(rig, false);
}

RULE_KEPT_IN(OFFER_005, RIG_PHYSICAL)
{
    return_dropped(rig, true);
}

static void who_is_dropped_first_does_not_matter_in_sleep(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_SLEEP});
    drop_one_of_two(rig, false, FIRST_IS_IDLE);
    assert_int_equal(rig->counts.broken[RULE_OFFER_001], 0);
    rig_fini(rig);
    free(rig);
}

/* It was whole; then it was offered anew, and what brings it in may leave the content away. */
static void an_offer_ends_what_the_reclaim_before_it_said(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_offered = 0; is_offered < 2; is_offered++) {
        HANDLE allocation;

        rig_init(rig, RIG_PHYSICAL);
        allocation = reclaim_dropped(rig, CHECK_RECLAIM_OK, false);
        if (is_offered)
            tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
        run(rig, rig_fill(allocation));
        rig_expect_only(rig, is_offered ? RULE_NONE : RULE_OFFER_003);
        rig_fini(rig);
    }
    free(rig);
}

/* A reset took it, and with it whatever was done to its content before. */
static void a_reclaim_behind_a_reset_is_not_held_to_what_was_before(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_reset = 0; is_reset < 2; is_reset++) {
        HANDLE allocation;

        rig_init(rig, RIG_PHYSICAL);
        allocation = create_named(rig, (DXGK_ALLOCATIONINFO){0});
        run(rig, rig_fill(allocation));
        tell(rig, (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
        run(rig, discard(allocation));
        if (is_reset) {
            miniport_reset_from_timeout(rig->top, NULL);
            miniport_restart_from_timeout(rig->top, NULL);
        }
        tell(rig,
             (struct check_client_event){.kind = CHECK_CLIENT_RECLAIM, .result = CHECK_RECLAIM_OK});
        rig_expect_only(rig, is_reset ? RULE_NONE : RULE_OFFER_003);
        rig_fini(rig);
    }
    free(rig);
}

/* An operation on the low one is dropped when the adapter loses power: nobody knows where it is. */
static void what_lost_its_place_does_not_have_to_go_first(void **state)
{
    const void *names[2] = {&first_name, &second_name};
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_lost = 0; is_lost < 2; is_lost++) {
        DXGKARG_BUILDPAGINGBUFFER fills[2];

        rig_init(rig, RIG_PHYSICAL);
        for (unsigned i = 0; i < 2; i++) {
            check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE});
            fills[i] = rig_fill(rig_create_allocation(rig, NULL));
            tell_of(rig, names[i], (struct check_client_event){.kind = CHECK_CLIENT_CREATED});
            fills[i].Fill.Destination.SegmentAddress.QuadPart = i * 65536;
            run(rig, fills[i]);
        }
        if (is_lost)
            rig_build(rig, &fills[0]);
        miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionHibernate);
        miniport_set_power_state(rig->top, 0, PowerDeviceD0, PowerActionNone);
        tell_of(rig, names[0], (struct check_client_event){.kind = CHECK_CLIENT_OFFER});
        offer_second(rig, true);
        assert_int_equal(rig->counts.broken[RULE_OFFER_001], !is_lost);
        rig_fini(rig);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offer_comes_too_late_for_what_has_been_decided),
        cmocka_unit_test(what_leaves_already_is_not_asked_to_go_first),
        cmocka_unit_test(an_offer_takes_effect_behind_work_that_waits),
        cmocka_unit_test(what_was_dropped_is_offered_and_reclaimed_again),
        cmocka_unit_test(what_had_left_memory_is_followed_through_a_reset),
        cmocka_unit_test(two_at_one_place_are_found),
        cmocka_unit_test(half_a_list_of_pasids_is_none),
        cmocka_unit_test(a_page_of_what_is_destroyed_is_free),
        cmocka_unit_test(who_is_dropped_first_does_not_matter_in_sleep),
        cmocka_unit_test(an_offer_ends_what_the_reclaim_before_it_said),
        cmocka_unit_test(a_reclaim_behind_a_reset_is_not_held_to_what_was_before),
        cmocka_unit_test(what_lost_its_place_does_not_have_to_go_first),
        cmocka_unit_test(each_process_is_asked_to_trim_in_each_group),
    };

    return RIG_RUN_TESTS(tests);
}
