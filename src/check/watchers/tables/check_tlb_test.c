#include "check/rig/test_rig_tables.h"

/* A packet of the context, which is of node 1. */
static uint32_t submit_work(struct rig *rig, HANDLE context)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL arg = {
        .hContext = context,
        .DmaBufferVirtualAddress = RIG_VA,
        .DmaBufferSize = 64,
        .SubmissionFenceId = ++rig->fence,
        .NodeOrdinal = 1,
    };
    unsigned before = rig->irql;

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_virtual(rig->top, NULL, &arg);
    rig->irql = before;
    return rig->fence;
}

/* ---- Roots ---- */

RULE_BROKEN(PT_009)
{
    DXGKARG_CREATECONTEXT arg = {.NodeOrdinal = 1, .EngineAffinity = 1};

    miniport_create_context(rig->top, rig->device, &arg);
    submit_work(rig, arg.hContext);
}

RULE_KEPT(PT_009)
{
    rig_set_root(rig, rig->context);
    submit_work(rig, rig->context);
}

static void initialise_root_at(struct rig *rig, uint64_t page)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 2, 0, RIG_ENTRIES);
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    memset(&update.arg.UpdatePageTable.PageTableAddress, 0,
           sizeof update.arg.UpdatePageTable.PageTableAddress);
    update.arg.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = 1;
    update.arg.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = page * 4096;
    rig_update(rig, &update);
}

static void run_with_root(uint64_t page, enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    rig_query_mmu(rig);
    rig_set_root(rig, rig->context);
    initialise_root_at(rig, page);
    submit_work(rig, rig->context);
    rig_expect_only(rig, expected);
    rig_fini(rig);
    free(rig);
}

static void a_context_has_the_root_of_its_process(void **state)
{
    run_with_root(103, RULE_NONE);
    run_with_root(105, RULE_PT_009);
}

RULE_BROKEN(PT_010)
{
    rig_set_root(rig, rig->context);
    submit_work(rig, rig->context);
    rig_set_root(rig, rig->context);
}

RULE_KEPT(PT_010)
{
    rig_set_root(rig, rig->context);
    rig_complete(rig, 1, submit_work(rig, rig->context));
    rig_set_root(rig, rig->context);
}

/* ---- Idle ---- */

static void require_idle(struct rig *rig)
{
    rig->gpummu.PageTableUpdateRequireAddressSpaceIdle = 1;
    rig_query_mmu(rig);
    rig_set_root(rig, rig->context);
    rig_initialise_table(rig, 0, RIG_VA);
}

RULE_BROKEN(PT_036)
{
    require_idle(rig);
    rig_submit(rig);
    submit_work(rig, rig->context);
}

RULE_KEPT(PT_036)
{
    require_idle(rig);
    rig_complete(rig, 0, rig_submit(rig));
    submit_work(rig, rig->context);
}

static NTSTATUS write_nothing(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_BuildPagingBuffer ? STATUS_SUCCESS
                                                 : rig_answer(rig, ddi, object, arg);
}

/* An update for which the driver has nothing to do is in no packet, and none is waited for. */
static void an_update_without_bytes_is_over_at_once(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    require_idle(rig);
    fence = rig_submit(rig);
    rig->answer = write_nothing;
    rig_map(rig, RIG_VA, NULL, 1, 1);
    rig->answer = NULL;
    rig_complete(rig, 0, fence);
    submit_work(rig, rig->context);
    rig_flush(rig, rig->system_process, 0, 0);
    rig_submit(rig); /* paging of another process, while the work runs */
    rig_expect_silence(rig, RULE_PT_036);
    rig_fini(rig);
    free(rig);
}

static void tables_do_not_change_under_work(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    require_idle(rig);
    rig_complete(rig, 0, rig_submit(rig));
    submit_work(rig, rig->context);
    rig_map(rig, RIG_VA, NULL, 1, 1);
    rig_expect_only(rig, RULE_NONE); /* it is built; the GPU has not got it */
    rig_submit(rig);
    rig_expect_only(rig, RULE_PT_036);
    rig_fini(rig);
    free(rig);
}

/* A process of its own, whose tables an operation changes; gives a context of it. */
static HANDLE update_another_process(struct rig *rig)
{
    HANDLE context;

    rig->process = rig_create_process(rig, false);
    context = rig_create_context(rig, rig_create_device(rig, rig->process), 1, false);
    rig_set_root(rig, context);
    rig_initialise_table(rig, 0, RIG_VA);
    return context;
}

/* 64 processes whose tables change at a time are followed, and no more. */
static void work_of_as_many_updated_processes_as_are_followed_is_judged(void **state)
{
    enum { FOLLOWED = 64 };
    struct rig *rig = malloc(sizeof *rig);
    HANDLE last = NULL, behind;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->gpummu.PageTableUpdateRequireAddressSpaceIdle = 1;
    rig_query_mmu(rig);
    for (unsigned i = 0; i < FOLLOWED; i++)
        last = update_another_process(rig);
    behind = update_another_process(rig);
    rig_submit(rig);
    submit_work(rig, behind);
    rig_expect_only(rig, RULE_NONE);
    submit_work(rig, last);
    rig_expect_only(rig, RULE_PT_036);
    rig_fini(rig);
    free(rig);
}

/* ---- Flushes ---- */

RULE_BROKEN(TLB_001)
{
    rig_set_root(rig, rig->context);
    rig_flush(rig, rig->process, 0x2000, 0x1000);
}

RULE_KEPT(TLB_001)
{
    rig_set_root(rig, rig->context);
    rig_flush(rig, rig->process, 0x1000, 0x2000);
    rig_flush(rig, rig->process, 0, 0);
}

static void flush_root(struct rig *rig, unsigned segment, uint64_t page)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_FLUSH_TLB};

    arg.FlushTlb.hProcess = rig->process;
    arg.FlushTlb.RootPageTableAddress.SegmentId = segment;
    arg.FlushTlb.RootPageTableAddress.SegmentOffset = page * 4096;
    rig_build(rig, &arg);
}

static void set_root_at(struct rig *rig, uint64_t page)
{
    DXGKARG_SETROOTPAGETABLE root = {.hContext = rig->context, .NumEntries = RIG_ENTRIES};

    root.Address.SegmentId = 1;
    root.Address.SegmentOffset = page * 4096;
    miniport_set_root_page_table(rig->top, NULL, &root);
}

static void a_flush_of_another_root_breaks_TLB_001(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_set_root(rig, rig->context);
    flush_root(rig, 1, 104);
    rig_expect_only(rig, RULE_TLB_001);
    rig_fini(rig);
    free(rig);
}

/* What is cached under the root before is flushed still; under the one before that, no more. */
static void a_flush_of_the_former_root_is_lawful(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU); /* with the root at page 103 */
    set_root_at(rig, 105);
    flush_root(rig, 1, 103);
    flush_root(rig, 1, 105);
    rig_expect_silence(rig, RULE_TLB_001);
    set_root_at(rig, 106);
    flush_root(rig, 1, 105);
    rig_expect_silence(rig, RULE_TLB_001);
    flush_root(rig, 1, 103);
    rig_expect_only(rig, RULE_TLB_001);
    rig_fini(rig);
    free(rig);
}

static void a_first_root_has_no_former_one(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    flush_root(rig, 0, 0);
    rig_expect_only(rig, RULE_TLB_001);
    rig_fini(rig);
    free(rig);
}

static void map_two(struct rig *rig, HANDLE *first, HANDLE *second)
{
    *first = rig_create_allocation(rig, NULL);
    *second = rig_create_allocation(rig, NULL);
    rig_make_tables(rig);
    rig_map(rig, RIG_VA, *first, 32, 16);
    rig_unmap(rig, RIG_VA, *first, 16);
}

RULE_BROKEN(TLB_003)
{
    HANDLE first, second;

    map_two(rig, &first, &second);
    rig_map(rig, RIG_VA + 0x100000, second, 47, 16);
    assert_non_null(strstr(rig->last.text, "page 0x2f of segment 1 gets another use"));
}

RULE_KEPT(TLB_003)
{
    HANDLE first, second;

    map_two(rig, &first, &second);
    rig_map(rig, RIG_VA + 0x100000, second, 48, 16); /* the page behind */
    rig_flush(rig, rig->process, RIG_VA, RIG_VA + 0x10000);
    rig_unmap(rig, RIG_VA + 0x100000, second, 16);
    rig_flush(rig, rig->process, 0, 0);
    rig_map(rig, RIG_VA + 0x200000 - 0x10000, second, 32, 16);
}

/* A table for the addresses, in other memory than the one before it, which the parent leads to. */
static void take_over(struct rig *rig, uint64_t va, uint64_t page)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, va, RIG_ENTRIES);
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    update.arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
    rig_update(rig, &update);
    rig_begin_link(rig, &update, 1, va, page);
    rig_update(rig, &update);
    rig_flush(rig, rig->process, 0, 0);
}

/* What is written to memory whose role another table has translates nothing any more. */
static void a_table_whose_role_is_taken_needs_no_flush(void **state)
{
    for (unsigned is_taken = 0; is_taken < 2; is_taken++) {
        struct rig *rig = malloc(sizeof *rig);
        HANDLE first, second;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        map_two(rig, &first, &second);
        rig_flush(rig, rig->process, 0, 0);
        rig_map(rig, RIG_VA, first, 32, 16);
        if (is_taken)
            take_over(rig, RIG_VA, 110);
        rig_unmap(rig, RIG_VA, first, 16); /* by the address of the first table */
        rig_initialise_table(rig, 0, RIG_VA + 0x200000);
        rig_map(rig, RIG_VA + 0x200000, second, 32, 16);
        rig_expect_only(rig, is_taken ? RULE_NONE : RULE_TLB_003);
        rig_fini(rig);
        free(rig);
    }
}

static void a_flush_of_less_breaks_TLB_003(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    HANDLE first, second;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    map_two(rig, &first, &second);
    rig_flush(rig, rig->process, RIG_VA, RIG_VA + 0xf000);
    rig_map(rig, RIG_VA + 0x100000, second, 32, 15);
    rig_expect_only(rig, RULE_NONE);
    rig_map(rig, RIG_VA + 0x180000, second, 47, 1);
    rig_expect_only(rig, RULE_TLB_003);
    rig_fini(rig);
    free(rig);
}

/* The paging process sees an allocation through scratch, then fills it. */
static void fill_through_scratch(struct rig *rig, bool flushes)
{
    HANDLE process = rig->process, allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};

    rig->process = rig->system_process;
    rig_initialise_table(rig, 0, RIG_VA);
    rig_map(rig, RIG_VA, allocation, 32, 16);
    if (flushes)
        rig_flush(rig, rig->system_process, RIG_VA, RIG_VA + 65536);
    rig->process = process;
    arg.FillVirtual.hAllocation = allocation;
    arg.FillVirtual.FillSizeInBytes = 65536;
    arg.FillVirtual.DestinationVirtualAddress = RIG_VA;
    rig_build(rig, &arg);
}

RULE_BROKEN(TLB_004)
{
    fill_through_scratch(rig, false);
}

RULE_KEPT(TLB_004)
{
    rig->gpummu.InvalidTlbEntriesNotCached = 0;
    rig_query_mmu(rig);
    fill_through_scratch(rig, true);
    rig->process = rig->system_process;
    rig_map(rig, RIG_VA + 0x100000, NULL, 64, 1); /* not used yet */
    {
        DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};

        arg.FillVirtual.hAllocation = rig_create_allocation(rig, NULL);
        arg.FillVirtual.FillSizeInBytes = 4096;
        arg.FillVirtual.DestinationVirtualAddress = RIG_VA;
        rig_build(rig, &arg);
    }
}

/* A page of a client's process, mapped, and then a packet of its context. */
#define NO_OPERATION 23 /* that anybody knows */

static void use_mapped_page(struct rig *rig, bool is_cached, bool is_flushed, unsigned next)
{
    DXGKARG_BUILDPAGINGBUFFER behind = {.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)next};

    rig->gpummu.InvalidTlbEntriesNotCached = !is_cached;
    rig_query_mmu(rig);
    rig_set_root(rig, rig->context);
    rig_initialise_table(rig, 0, RIG_VA);
    rig_complete(rig, 1, submit_work(rig, rig->context));
    rig_map(rig, RIG_VA, rig_create_allocation(rig, NULL), 32, 1);
    if (is_flushed)
        rig_flush(rig, rig->process, RIG_VA, RIG_VA + 4096);
    behind.SignalMonitoredFence.MonitoredFenceGpuVa = 8 * RIG_VA;
    if (next == DXGK_OPERATION_UPDATE_PAGE_TABLE)
        rig_map(rig, RIG_VA + 0x8000, rig_create_allocation(rig, NULL), 40, 1);
    else
        rig_build(rig, &behind);
    rig_complete(rig, 0, rig_submit(rig));
    submit_work(rig, rig->context);
}

static void what_a_client_maps_is_flushed_where_invalid_entries_are_cached(void **state)
{
    static const struct {
        bool is_cached, is_flushed;
        unsigned next; /* operation, before anything else runs */
        bool is_broken;
    } rows[] = {{true, true, DXGK_OPERATION_SIGNAL_MONITORED_FENCE, false},
                {true, false, DXGK_OPERATION_SIGNAL_MONITORED_FENCE, true},
                {true, false, NO_OPERATION, false}, /* the flush may still come */
                {true, false, DXGK_OPERATION_UPDATE_PAGE_TABLE, false}, /* ... behind more */
                {false, false, DXGK_OPERATION_SIGNAL_MONITORED_FENCE, false}};

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct rig rig;

        rig_init(&rig, RIG_GPUMMU);
        use_mapped_page(&rig, rows[i].is_cached, rows[i].is_flushed, rows[i].next);
        assert_int_equal(rig.counts.broken[RULE_TLB_004], rows[i].is_broken);
        rig_fini(&rig);
    }
}

/* Where a new root is nobody knows before SetRootPageTable names it. */
static void a_root_in_other_memory_may_be_flushed_before_it_is_named(void **state)
{
    for (unsigned is_new = 0; is_new < 2; is_new++) {
        DXGKARG_BUILDPAGINGBUFFER flush = {.Operation = DXGK_OPERATION_FLUSH_TLB};
        struct rig_update update;
        struct rig rig;

        rig_init(&rig, RIG_GPUMMU);
        rig_set_root(&rig, rig.context);
        rig_make_tables(&rig);
        rig_begin_update(&rig, &update, 2, 0, RIG_ENTRIES);
        update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
        update.arg.UpdatePageTable.Flags.Repeat = 1;
        if (is_new)
            update.arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
        rig_update(&rig, &update);
        flush.FlushTlb.hProcess = rig.process;
        flush.FlushTlb.RootPageTableAddress.SegmentId = 1;
        flush.FlushTlb.RootPageTableAddress.SegmentOffset = 203 * 4096;
        rig_build(&rig, &flush);
        rig_expect_only(&rig, is_new ? RULE_NONE : RULE_TLB_001);
        rig_fini(&rig);
    }
}

static void fill_scratch_page(struct rig *rig, uint64_t va)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_VIRTUAL_FILL};

    arg.FillVirtual.hAllocation = rig_create_allocation(rig, NULL);
    arg.FillVirtual.FillSizeInBytes = 4096;
    arg.FillVirtual.DestinationVirtualAddress = va;
    rig_build(rig, &arg);
}

/* A flush in the middle of what has changed leaves what is in front of it, and what is behind. */
static void flush_the_middle(uint64_t used_page, enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->gpummu.InvalidTlbEntriesNotCached = 1;
    rig_query_mmu(rig);
    rig->process = rig->system_process;
    rig_make_tables(rig);
    rig_map(rig, RIG_VA, NULL, 64, 32);
    rig_map(rig, RIG_VA, NULL, 256, 32);
    rig_flush(rig, rig->system_process, RIG_VA + 0x8000, RIG_VA + 0xa000);
    fill_scratch_page(rig, RIG_VA + used_page * 4096);
    rig_expect_only(rig, expected);
    rig_fini(rig);
    free(rig);
}

static void a_flush_in_the_middle_leaves_both_sides(void **state)
{
    flush_the_middle(8, RULE_NONE);
    flush_the_middle(9, RULE_NONE);
    flush_the_middle(7, RULE_TLB_003);
    flush_the_middle(12, RULE_TLB_003);
}

/* ---- Copies ---- */

static void copy_entries(struct rig *rig, uint64_t source)
{
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE range = {
        .NumPageTableEntries = 16,
        .SrcPageTableAddress = source,
        .DstPageTableAddress = rig_table_va(0, RIG_VA),
        .SrcStartPteIndex = 16,
        .DstStartPteIndex = 32,
    };
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES};

    arg.CopyPageTableEntries.NumRanges = 1;
    arg.CopyPageTableEntries.pRanges = &range;
    rig_build(rig, &arg);
}

RULE_BROKEN(CPTE_001)
{
    rig_make_tables(rig);
    copy_entries(rig, rig_table_va(0, RIG_VA));
}

RULE_KEPT(CPTE_001)
{
    rig_make_tables(rig);
    rig_enter_companion(rig);
    copy_entries(rig, rig_table_va(0, RIG_VA));
}

/* Another system context is no companion where nobody named its node; nor is one of a client. */
static void copy_on(bool is_system, unsigned node)
{
    struct rig *rig = malloc(sizeof *rig);
    HANDLE device;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_make_tables(rig);
    device = is_system ? rig_create_device(rig, rig->system_process) : rig->device;
    rig->system_context = rig_create_context(rig, device, node, true);
    copy_entries(rig, rig_table_va(0, RIG_VA));
    rig_expect_only(rig, RULE_CPTE_001);
    rig_fini(rig);
    free(rig);
}

static void a_copy_on_another_context_breaks_CPTE_001(void **state)
{
    copy_on(true, 1);
    copy_on(false, 0);
}

RULE_BROKEN(CPTE_004)
{
    rig_make_tables(rig);
    rig_enter_companion(rig);
    copy_entries(rig, rig_table_va(0, RIG_VA) + 0x10000);
}

RULE_KEPT(CPTE_004)
{
    rig_make_tables(rig);
    rig_map(rig, RIG_VA + 0x10000, NULL, 64, 16);
    rig_enter_companion(rig);
    copy_entries(rig, rig_table_va(0, RIG_VA));
}

/*
 * Tables that a sleep kept are not known any more. A table that is made afterwards and gets entries
 * from them is one that nobody knows either: no fault of who copies on from there.
 */
static void entries_from_before_a_sleep_may_be_copied_on(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint64_t later = RIG_VA + (UINT64_C(1) << rig_level_shift(1));
    uint64_t old_table = rig_table_va(0, RIG_VA), new_table = rig_table_va(0, later);
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE ranges[] = {
        {.NumPageTableEntries = 16,
         .SrcPageTableAddress = old_table,
         .DstPageTableAddress = new_table,
         .SrcStartPteIndex = 16,
         .DstStartPteIndex = 32},
        {.NumPageTableEntries = 16,
         .SrcPageTableAddress = new_table,
         .DstPageTableAddress = old_table,
         .SrcStartPteIndex = 32,
         .DstStartPteIndex = 64},
    };
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES};

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_make_tables(rig);
    rig_map(rig, RIG_VA + 0x10000, NULL, 64, 16);
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionHibernate);
    miniport_set_power_state(rig->top, 0, PowerDeviceD0, PowerActionNone);
    rig_initialise_table(rig, 0, later);
    rig_enter_companion(rig);
    for (unsigned i = 0; i < 2; i++) {
        arg.CopyPageTableEntries.NumRanges = 1;
        arg.CopyPageTableEntries.pRanges = &ranges[i];
        rig_build(rig, &arg);
    }
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

/* A range from a table that a sleep kept says nothing about the range behind it. */
static void each_range_of_a_copy_is_looked_at(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    uint64_t later = RIG_VA + (UINT64_C(1) << rig_level_shift(1));
    uint64_t old_table = rig_table_va(0, RIG_VA), new_table = rig_table_va(0, later);
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE ranges[] = {
        {.NumPageTableEntries = 1,
         .SrcPageTableAddress = old_table,
         .DstPageTableAddress = new_table},
        {.NumPageTableEntries = 1,
         .SrcPageTableAddress = new_table + 0x10000,
         .DstPageTableAddress = new_table,
         .DstStartPteIndex = 1},
    };
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES};

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_make_tables(rig);
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionHibernate);
    miniport_set_power_state(rig->top, 0, PowerDeviceD0, PowerActionNone);
    rig_initialise_table(rig, 0, later);
    rig_enter_companion(rig);
    arg.CopyPageTableEntries.NumRanges = 2;
    arg.CopyPageTableEntries.pRanges = ranges;
    rig_build(rig, &arg);
    rig_expect_only(rig, RULE_CPTE_004);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(CPTE_005)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    rig->levels[1].PageTableSegmentId = rig->levels[2].PageTableSegmentId = 0;
    rig_query_mmu(rig);
    rig_begin_update(rig, &update, 0, RIG_VA, 1);
    rig_enter_companion(rig);
    copy_entries(rig, rig_table_va(0, RIG_VA));
}

RULE_KEPT(CPTE_005)
{
    rig_make_tables(rig);
    rig_enter_companion(rig);
    copy_entries(rig, rig_table_va(0, RIG_VA));
}

static NTSTATUS name_node(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_CreateContext)
        ((DXGKARG_CREATECONTEXT *)arg)->ContextInfo.PagingCompanionNodeId = *(unsigned *)rig->told;
    return rig_answer(rig, ddi, object, arg);
}

static void create_on_node(struct rig *rig, unsigned node)
{
    rig->answer = name_node;
    rig->told = &node;
    rig_create_context(rig, rig->device, 1, false);
    rig->answer = NULL;
}

RULE_BROKEN(CPTE_007)
{
    create_on_node(rig, 2);
}

RULE_KEPT(CPTE_007)
{
    create_on_node(rig, 1);
}

/* The list of processes under way has so many places; one that is over frees its own. */
static void the_tables_of_many_processes_are_followed_one_behind_the_other(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    HANDLE client;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    client = rig->process;
    rig->gpummu.PageTableUpdateRequireAddressSpaceIdle = 1;
    rig_query_mmu(rig);
    rig_set_root(rig, rig->context);
    for (unsigned i = 1; i <= 64; i++) {
        rig->process = rig_create_process(rig, false);
        rig_initialise_table(rig, 0, RIG_VA + ((uint64_t)i << rig_level_shift(1)));
        rig_complete(rig, 0, rig_submit(rig));
        rig_new_buffer(rig);
    }
    rig_expect_only(rig, RULE_NONE);
    rig->process = client;
    rig_initialise_table(rig, 0, RIG_VA);
    rig_submit(rig);
    submit_work(rig, rig->context);
    rig_expect_only(rig, RULE_PT_036);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_on_another_context_breaks_CPTE_001),
        cmocka_unit_test(a_context_has_the_root_of_its_process),
        cmocka_unit_test(entries_from_before_a_sleep_may_be_copied_on),
        cmocka_unit_test(each_range_of_a_copy_is_looked_at),
        cmocka_unit_test(tables_do_not_change_under_work),
        cmocka_unit_test(work_of_as_many_updated_processes_as_are_followed_is_judged),
        cmocka_unit_test(an_update_without_bytes_is_over_at_once),
        cmocka_unit_test(a_flush_of_another_root_breaks_TLB_001),
        cmocka_unit_test(a_flush_of_the_former_root_is_lawful),
        cmocka_unit_test(a_first_root_has_no_former_one),
        cmocka_unit_test(a_table_whose_role_is_taken_needs_no_flush),
        cmocka_unit_test(a_flush_of_less_breaks_TLB_003),
        cmocka_unit_test(a_root_in_other_memory_may_be_flushed_before_it_is_named),
        cmocka_unit_test(what_a_client_maps_is_flushed_where_invalid_entries_are_cached),
        cmocka_unit_test(a_flush_in_the_middle_leaves_both_sides),
        cmocka_unit_test(the_tables_of_many_processes_are_followed_one_behind_the_other),
    };

    return RIG_RUN_TESTS(tests);
}
