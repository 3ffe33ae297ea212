#include "check/rig/test_rig_tables.h"

/* ---- First use ---- */

RULE_BROKEN(PT_013)
{
    rig_map(rig, RIG_VA, NULL, 1, 1);
}

RULE_KEPT(PT_013)
{
    rig_initialise_table(rig, 0, RIG_VA);
    rig_map(rig, RIG_VA, NULL, 1, 1);
}

/*
 * In which order the pieces come is not said; what they leave out is missed by who goes through the
 * table.
 */
static void a_table_begun_in_pieces_is_whole_when_linked(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_update update;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_initialise_table(rig, 1, RIG_VA);
    for (unsigned i = 0; i < 3; i++) {
        static const unsigned first[] = {0, 101, 100}, count[] = {100, 411, 1};

        rig_begin_update(rig, &update, 0, RIG_VA + first[i] * UINT64_C(4096), count[i]);
        update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
        rig_update(rig, &update);
    }
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    rig_update(rig, &update);
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_initialise_table(rig, 1, RIG_VA);
    rig_begin_update(rig, &update, 0, RIG_VA, 100);
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    rig_update(rig, &update);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    rig_update(rig, &update);
    rig_expect_only(rig, RULE_PT_015);
    rig_fini(rig);
    free(rig);
}

/* What was written before a reset is of no account afterwards. */
static void a_reset_makes_tables_unknown(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_update update;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_make_tables(rig);
    miniport_reset_from_timeout(rig->top, NULL);
    rig_new_buffer(rig);
    rig_map(rig, RIG_VA, NULL, 1, 1);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    rig_update(rig, &update);
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(PT_015)
{
    struct rig_update update;

    rig_initialise_table(rig, 1, RIG_VA);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    rig_update(rig, &update);
}

RULE_KEPT(PT_015)
{
    struct rig_update update;

    rig_initialise_table(rig, 1, RIG_VA);
    rig_initialise_table(rig, 0, RIG_VA);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    rig_update(rig, &update);
}

/* With GPU_PHYSICAL operations say where tables are. */
static void use_places(struct rig *rig)
{
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    rig_query_mmu(rig);
}

static void place_update(struct rig_update *update, uint64_t page)
{
    DXGK_PAGETABLEUPDATEADDRESS *address = &update->arg.UpdatePageTable.PageTableAddress;

    memset(address, 0, sizeof *address);
    address->GpuPhysical.SegmentId = 1;
    address->GpuPhysical.SegmentOffset = page * 4096;
}

static void initialise_at(struct rig *rig, unsigned level, uint64_t va, uint64_t page)
{
    struct rig_update update;

    rig_begin_update(rig, &update, level, va, RIG_ENTRIES);
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    update.arg.UpdatePageTable.StartIndex = 0;
    update.arg.UpdatePageTable.FirstPteVirtualAddress = level == 2 ? 0 : va;
    place_update(&update, page);
    rig_update(rig, &update);
}

static void link_at(struct rig *rig, unsigned level, uint64_t va, uint64_t at, uint64_t page,
                    bool is_valid)
{
    struct rig_update update;

    rig_begin_link(rig, &update, level, va, page);
    update.entries[0].Valid = is_valid;
    place_update(&update, at);
    rig_update(rig, &update);
}

/* Tables for RIG_VA: the root at page 103, level 1 at 102, the leaf at 101. */
static void make_tables_at(struct rig *rig)
{
    use_places(rig);
    for (unsigned level = 0; level < 3; level++)
        initialise_at(rig, level, RIG_VA, 101 + level);
    link_at(rig, 1, RIG_VA, 102, 101, true);
    link_at(rig, 2, RIG_VA, 103, 102, true);
    rig_set_root(rig, rig->context);
}

static void run_with_tables(void (*act)(struct rig *rig), enum rule_id expected)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    make_tables_at(rig);
    rig_expect_only(rig, RULE_NONE);
    act(rig);
    rig_expect_only(rig, expected);
    rig_fini(rig);
    free(rig);
}

static void lead_elsewhere(struct rig *rig)
{
    link_at(rig, 1, RIG_VA, 102, 99, true);
    assert_non_null(strstr(rig->last.text, "leads to segment 1, page 0x63"));
}

static void reuse_memory(struct rig *rig)
{
    initialise_at(rig, 0, RIG_VA + (2 << 20), 101);
}

static void unlink_and_reuse_memory(struct rig *rig)
{
    link_at(rig, 1, RIG_VA, 102, 0, false);
    reuse_memory(rig);
}

static void reuse_memory_of_branch(struct rig *rig)
{
    link_at(rig, 2, RIG_VA, 103, 0, false); /* what is below cannot be reached any more */
    reuse_memory(rig);
}

static void reuse_memory_without_contexts(struct rig *rig)
{
    miniport_destroy_context(rig->top, rig->context);
    reuse_memory(rig);
}

static void a_pointer_leads_to_the_table(void **state)
{
    run_with_tables(lead_elsewhere, RULE_PT_015);
}

static void memory_that_is_led_to_is_not_reused(void **state)
{
    run_with_tables(reuse_memory, RULE_PT_015);
    run_with_tables(unlink_and_reuse_memory, RULE_NONE);
    run_with_tables(reuse_memory_of_branch, RULE_NONE);
    run_with_tables(reuse_memory_without_contexts, RULE_NONE);
}

static void say_farewell(struct rig *rig)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_update(rig, &update, 0, RIG_VA, 0);
    update.arg.UpdatePageTable.pPageTableEntries = NULL;
    update.arg.UpdatePageTable.Flags.NotifyEviction = 1;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_037)
{
    say_farewell(rig);
    rig_map(rig, RIG_VA, NULL, 1, 1);
}

RULE_KEPT(PT_037)
{
    rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    rig_query_mmu(rig);
    initialise_at(rig, 0, RIG_VA, 101);
    {
        struct rig_update update;

        rig_begin_update(rig, &update, 0, RIG_VA, 0);
        update.arg.UpdatePageTable.pPageTableEntries = NULL;
        update.arg.UpdatePageTable.Flags.NotifyEviction = 1;
        place_update(&update, 101);
        rig_update(rig, &update);
    }
    initialise_at(rig, 0, RIG_VA, 101);
}

/* ---- The end of tables ---- */

static void require_invalidation(struct rig *rig)
{
    rig->gpummu.ExplicitPageTableInvalidation = 1;
    rig_query_mmu(rig);
    rig_initialise_table(rig, 0, RIG_VA);
    rig_map(rig, RIG_VA, NULL, 1, 16);
}

RULE_BROKEN(PT_035)
{
    require_invalidation(rig);
    rig_unmap(rig, RIG_VA, NULL, 15);
    miniport_destroy_process(rig->top, rig->process);
}

RULE_KEPT(PT_035)
{
    require_invalidation(rig);
    rig_unmap(rig, RIG_VA, NULL, 16);
    miniport_destroy_process(rig->top, rig->process);
}

/* ---- Two page sizes ---- */

static void use_64k(struct rig *rig, bool is_dual)
{
    rig->gpummu.LeafPageTableSizeFor64KPagesInBytes = 4096;
    rig->gpummu.DualPteSupported = is_dual;
    rig_query_mmu(rig);
    rig->segments[0].Flags.Use64KBPages = 1;
    rig_query_segments(rig);
    rig_initialise_table(rig, 1, RIG_VA);
    rig_initialise_table(rig, 0, RIG_VA);
}

static void begin_64k(struct rig *rig, struct rig_update *update, uint64_t va, unsigned count)
{
    rig_begin_update(rig, update, 0, va, count);
    update->arg.UpdatePageTable.Flags.Use64KBPages = 1;
    update->arg.UpdatePageTable.StartIndex = (va >> 16) & 31;
    update->arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
}

static void initialise_64k(struct rig *rig)
{
    struct rig_update update;

    begin_64k(rig, &update, RIG_VA, RIG_ENTRIES / 16);
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    rig_update(rig, &update);
}

static void map_64k(struct rig *rig, uint64_t va, uint64_t page)
{
    struct rig_update update;

    begin_64k(rig, &update, va, 1);
    update.entries[0].Valid = 1;
    update.entries[0].Segment = 1;
    update.entries[0].PageAddress = page;
    rig_update(rig, &update);
}

static void point(struct rig *rig, unsigned page_size)
{
    struct rig_update update;

    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    update.entries[0].PageTablePageSize = page_size;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_040)
{
    use_64k(rig, false);
    initialise_64k(rig);
    point(rig, DXGK_PTE_PAGE_TABLE_PAGE_4KB);
    point(rig, DXGK_PTE_PAGE_TABLE_PAGE_64KB);
}

RULE_KEPT(PT_040)
{
    use_64k(rig, false);
    initialise_64k(rig);
    point(rig, DXGK_PTE_PAGE_TABLE_PAGE_64KB);
    point(rig, DXGK_PTE_PAGE_TABLE_PAGE_4KB);
}

/*
 * Both kinds of leaf were made for the same addresses, and one entry leads to the kind that it
 * names: the memory of the other kind may get another use.
 */
static void an_entry_leads_to_the_kind_that_it_names(void **state)
{
    static const unsigned names[] = {DXGK_PTE_PAGE_TABLE_PAGE_64KB, DXGK_PTE_PAGE_TABLE_PAGE_4KB};

    for (unsigned i = 0; i < 2; i++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_update update;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
        rig->levels[1].PageTableSegmentId = rig->levels[2].PageTableSegmentId = 0;
        use_64k(rig, false);
        initialise_64k(rig);
        rig_initialise_table(rig, 2, RIG_VA);
        point(rig, names[i]);
        rig_begin_link(rig, &update, 2, RIG_VA, 102);
        rig_update(rig, &update);
        rig_set_root(rig, rig->context);
        rig_expect_only(rig, RULE_NONE);
        begin_64k(rig, &update, RIG_VA, RIG_ENTRIES); /* its memory, for the leaf behind */
        update.arg.UpdatePageTable.FirstPteVirtualAddress += 2 << 20;
        update.arg.UpdatePageTable.Flags.Use64KBPages = 0;
        update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat =
            1;
        rig_update(rig, &update);
        rig_expect_only(rig, names[i] == DXGK_PTE_PAGE_TABLE_PAGE_64KB ? RULE_PT_015 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(PT_042)
{
    use_64k(rig, true);
    initialise_64k(rig);
    map_64k(rig, RIG_VA + 65536, 16);
    rig_map(rig, RIG_VA + 31 * 4096, NULL, 17, 1);
    rig_submit(rig);
}

/* Side by side, and the same range while the batch is being built. */
RULE_KEPT(PT_042)
{
    use_64k(rig, true);
    initialise_64k(rig);
    map_64k(rig, RIG_VA + 65536, 16);
    rig_map(rig, RIG_VA + 31 * 4096, NULL, 17, 2);
    rig_unmap(rig, RIG_VA + 31 * 4096, NULL, 1);
    rig_submit(rig);
}

/* ---- The paging process and the driver's ranges ---- */

static void map_system(struct rig *rig, uint64_t va)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, 0, RIG_ENTRIES);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    rig_update(rig, &update);
    rig_begin_map(rig, &update, va, NULL, 1, 1);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_043)
{
    map_system(rig, 0);
}

RULE_KEPT(PT_043)
{
    map_system(rig, 4096);
}

/* A driver that reserves a range while a process is created. */
static NTSTATUS reserve_in_process(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_CreateProcess)
        rig->drivers_host->ops->reserve_gpu_virtual_address_range(
            rig->drivers_host, ((DXGKARG_CREATEPROCESS *)arg)->hDxgkProcess, rig->told);
    return rig_answer(rig, ddi, object, arg);
}

static void create_reserving(struct rig *rig, uint64_t va, uint64_t bytes)
{
    static DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range;

    range = (DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE){
        .SizeInBytes = bytes, .BaseAddress = va, .StartVirtualAddress = va};
    rig->answer = reserve_in_process;
    rig->told = &range;
    rig->process = rig_create_process(rig, false);
}

RULE_BROKEN(PT_044)
{
    create_reserving(rig, UINT64_C(2) << 30, UINT64_C(3) << 29);
}

RULE_KEPT(PT_044)
{
    create_reserving(rig, UINT64_C(2) << 30, UINT64_C(2) << 30);
}

static void a_range_reserved_outside_of_the_process_breaks_PT_044(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {.SizeInBytes = 1 << 30};

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->drivers_host->ops->reserve_gpu_virtual_address_range(rig->drivers_host, NULL, &range);
    rig_expect_only(rig, RULE_PT_044);
    rig_fini(rig);
    free(rig);
}

/* The root, with one entry valid; the range that the driver reserved is of entries 2 and 3. */
static void write_root(struct rig *rig, unsigned valid)
{
    struct rig_update update;

    create_reserving(rig, UINT64_C(2) << 30, UINT64_C(2) << 30);
    rig_initialise_table(rig, 1, UINT64_C(1) << 30);
    rig_initialise_table(rig, 1, UINT64_C(3) << 30);
    rig_begin_update(rig, &update, 2, 0, RIG_ENTRIES);
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.entries[valid].Valid = 1;
    update.entries[valid].Segment = 1;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_045)
{
    write_root(rig, 3);
}

RULE_KEPT(PT_045)
{
    write_root(rig, 1);
}

/* PT-045: what was reserved in a process goes with it, and takes no room of others. */
static void ranges_of_processes_that_are_gone_are_forgotten(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    for (unsigned i = 0; i < 40; i++) {
        create_reserving(rig, UINT64_C(2) << 30, UINT64_C(2) << 30);
        miniport_destroy_process(rig->top, rig->process);
    }
    write_root(rig, 3);
    rig_expect_only(rig, RULE_PT_045);
    rig_fini(rig);
    free(rig);
}

static void a_range_is_looked_at_behind_one_of_another_process(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    create_reserving(rig, UINT64_C(2) << 30, UINT64_C(2) << 30);
    write_root(rig, 3);
    rig_expect_only(rig, RULE_PT_045);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_begun_in_pieces_is_whole_when_linked),
        cmocka_unit_test(a_reset_makes_tables_unknown),
        cmocka_unit_test(a_pointer_leads_to_the_table),
        cmocka_unit_test(memory_that_is_led_to_is_not_reused),
        cmocka_unit_test(an_entry_leads_to_the_kind_that_it_names),
        cmocka_unit_test(a_range_reserved_outside_of_the_process_breaks_PT_044),
        cmocka_unit_test(ranges_of_processes_that_are_gone_are_forgotten),
        cmocka_unit_test(a_range_is_looked_at_behind_one_of_another_process),
    };

    return RIG_RUN_TESTS(tests);
}
