#include "base/rng.h"
#include "check/check_watch.h"
#include "check/rig/test_rig_tables.h"

/* ---- The range ---- */

RULE_BROKEN(PT_002)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, RIG_VA, 1);
    update.arg.UpdatePageTable.PageTableLevel = 3;
    rig_update(rig, &update);
}

RULE_KEPT(PT_002)
{
    rig_make_tables(rig);
}

RULE_BROKEN(PT_018)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_update(rig, &update, 0, RIG_VA + 511 * 4096, 2);
    rig_update(rig, &update);
    assert_string_equal(rig->last.text,
                        "2 entries from index 511 on; the table of level 0 has 512");
}

RULE_KEPT(PT_018)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_update(rig, &update, 0, RIG_VA + 511 * 4096, 1);
    rig_update(rig, &update);
}

RULE_BROKEN(PT_024)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_update(rig, &update, 0, RIG_VA + 4096, 1);
    update.arg.UpdatePageTable.StartIndex = 2;
    rig_update(rig, &update);
}

RULE_KEPT(PT_024)
{
    rig_make_tables(rig);
    rig_map(rig, RIG_VA + 4096, NULL, 1, 1);
}

static void an_unknown_process_breaks_PT_024(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_update update;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_begin_update(rig, &update, 0, RIG_VA, 1);
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.arg.UpdatePageTable.hProcess = rig->device;
    rig_update(rig, &update);
    rig_expect_only(rig, RULE_PT_024);
    rig_fini(rig);
    free(rig);
}

/* A driver that numbers its processes gives 0, and no document says that NULL is no process. */
static NTSTATUS number_processes(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    if (ddi == MINIPORT_DDI_CreateProcess && !((DXGKARG_CREATEPROCESS *)arg)->Flags.SystemProcess)
        ((DXGKARG_CREATEPROCESS *)arg)->hKmdProcess = NULL;
    return status;
}

static void a_process_may_have_the_handle_NULL(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->answer = number_processes;
    rig_init_prepared(rig);
    assert_null(rig->process);
    rig_make_tables(rig);
    rig_map(rig, RIG_VA + 4096, NULL, 1, 1);
    assert_int_equal(rig->finding_count, 0);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(PT_020)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_update(rig, &update, 0, RIG_VA, 1);
    update.arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_GPU_PHYSICAL;
    update.arg.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentId = 1;
    update.arg.UpdatePageTable.PageTableAddress.GpuPhysical.SegmentOffset = 0x100000;
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.arg.UpdatePageTable.NumPageTableEntries = RIG_ENTRIES;
    rig_update(rig, &update);
}

/* The paging process is set up by the CPU whatever the driver's mode. */
RULE_KEPT(PT_020)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, RIG_VA, RIG_ENTRIES);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    update.arg.UpdatePageTable.PageTableAddress.CpuVirtual = rig->buffer;
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    miniport_build_paging_buffer(rig->top, NULL, &update.arg);
}

/* ---- The allocation ---- */

RULE_BROKEN(PT_012)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    update.arg.UpdatePageTable.hAllocation = rig_create_allocation(rig, NULL);
    rig_update(rig, &update);
}

RULE_KEPT(PT_012)
{
    rig_make_tables(rig);
    rig_map(rig, RIG_VA, rig_create_allocation(rig, NULL), 1, 16);
}

RULE_BROKEN(PT_025)
{
    rig_make_tables(rig);
    rig_map(rig, RIG_VA, rig_create_allocation(rig, NULL), 1, 17);
    assert_string_equal(rig->last.text,
                        "0x11000 bytes from offset 0x0 on; the allocation has 0x10000");
}

/* Its pages lie anywhere; what is not valid maps none. */
RULE_KEPT(PT_025)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_map(rig, &update, RIG_VA, allocation, 1, 16);
    update.entries[3].PageAddress = 77;
    rig_update(rig, &update);
    rig_unmap(rig, RIG_VA, allocation, 32);
    rig_begin_map(rig, &update, RIG_VA, allocation, 1, 18);
    update.entries[16].Valid = update.entries[17].Valid = 0;
    rig_update(rig, &update);
}

/* As many pages as the allocation has, and one of them behind its end. */
static void a_range_that_begins_too_late_breaks_PT_025(void **state)
{
    for (unsigned pages = 15; pages <= 16; pages++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_update update;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_make_tables(rig);
        rig_begin_map(rig, &update, RIG_VA, rig_create_allocation(rig, NULL), 1, pages);
        update.arg.UpdatePageTable.AllocationOffsetInBytes = 4096;
        rig_update(rig, &update);
        if (pages == 16)
            rig_expect_only(rig, RULE_PT_025);
        else
            rig_expect_silence(rig, RULE_PT_025);
        rig_fini(rig);
        free(rig);
    }
}

static void two_pages_in_one_place_break_PT_025(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_update update;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_make_tables(rig);
    rig_begin_map(rig, &update, RIG_VA, rig_create_allocation(rig, NULL), 1, 4);
    update.entries[2].PageAddress = update.entries[1].PageAddress;
    rig_update(rig, &update);
    rig_expect_only(rig, RULE_PT_025);
    assert_string_equal(
        rig->last.detail.where,
        "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).pPageTableEntries[2].PageAddress");
    rig_fini(rig);
    free(rig);
}

/* What the account keeps of a table is each entry, however they follow each other. */
static void entries_are_known_one_by_one(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    const struct check_process *process;
    uint64_t pages[24] = {0}; /* 0: invalid */
    struct rng rng;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_make_tables(rig);
    process = check_find_process(check_ledger(rig->check), rig->process);
    assert_non_null(process);
    rng_init(&rng, 1);
    for (unsigned round = 0; round < 400; round++) {
        const unsigned first = (unsigned)rng_below(&rng, 24);
        const unsigned count = 1 + (unsigned)rng_below(&rng, 24 - first);
        const bool is_repeat = rng_below(&rng, 4) == 0;
        uint64_t page = 100 + rng_below(&rng, 4);
        struct rig_update update;

        rig_begin_update(rig, &update, 0, RIG_VA + first * 4096, count);
        update.arg.UpdatePageTable.Flags.Repeat = is_repeat;
        for (unsigned i = 0; i < count; i++) {
            if (!is_repeat)
                page += rng_below(&rng, 3);
            update.entries[i].Valid = is_repeat || rng_below(&rng, 8) != 0;
            update.entries[i].Segment = 1;
            update.entries[i].PageAddress = page;
            pages[first + i] = update.entries[i].Valid ? page : 0;
        }
        rig_update(rig, &update);
        for (unsigned i = 0; i < 24; i++) {
            uint64_t found = 0, word;

            word = check_translate(check_ledger(rig->check), process, RIG_VA + i * 4096, &found);
            assert_int_equal(word ? check_word_page(word) : 0, pages[i]);
        }
    }
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(PT_027)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    update.arg.UpdatePageTable.DriverProtection = 5;
    rig_update(rig, &update);
}

RULE_KEPT(PT_027)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_map(rig, &update, RIG_VA, rig_create_allocation(rig, NULL), 1, 1);
    update.arg.UpdatePageTable.DriverProtection = 5;
    rig_update(rig, &update);
}

static void map_protected(struct rig *rig, uint64_t va, HANDLE allocation, uint64_t protection)
{
    struct rig_update update;

    rig_begin_map(rig, &update, va, allocation, 1, 16);
    update.arg.UpdatePageTable.DriverProtection = protection;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_029)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);

    rig_make_tables(rig);
    map_protected(rig, RIG_VA, allocation, UINT64_C(1) << 63 | 1);
    map_protected(rig, RIG_VA + 0x20000, allocation, 2);
}

/* The same once more, and another one when the first is gone. */
RULE_KEPT(PT_029)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    uint64_t unique = UINT64_C(1) << 63 | 1;

    rig_make_tables(rig);
    map_protected(rig, RIG_VA, allocation, unique);
    map_protected(rig, RIG_VA + 0x20000, allocation, unique);
    rig_unmap(rig, RIG_VA, allocation, 16);
    rig_unmap(rig, RIG_VA + 0x20000, allocation, 16);
    map_protected(rig, RIG_VA + 0x20000, allocation, 2);
}

static void destroy_the_process(struct rig *rig, HANDLE allocation)
{
    miniport_destroy_process(rig->top, rig->process);
}

static void reset(struct rig *rig, HANDLE allocation)
{
    miniport_reset_from_timeout(rig->top, NULL);
}

static void sleep(struct rig *rig, HANDLE allocation)
{
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
}

/* PT-029 is about mappings that there are: none outlives its process, its allocation, the tables.
 */
static void unique_protections_end_with_what_they_were_of(void **state)
{
    static void (*const ends[])(struct rig * rig, HANDLE allocation) = {
        destroy_the_process, reset, sleep, rig_destroy_allocation};

    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        struct rig rig;
        HANDLE allocation;

        rig_init(&rig, RIG_GPUMMU);
        allocation = rig_create_allocation(&rig, NULL);
        rig_make_tables(&rig);
        map_protected(&rig, RIG_VA, allocation, UINT64_C(1) << 63 | 1);
        ends[i](&rig, allocation);
        rig.process = rig_create_process(&rig, false);
        map_protected(&rig, RIG_VA + 0x20000, allocation, 2);
        assert_int_equal(rig.counts.broken[RULE_PT_029], 0);
        rig_fini(&rig);
    }
}

/* ---- Entries ---- */

RULE_BROKEN(PT_030)
{
    rig_make_tables(rig);
    rig_map(rig, RIG_VA, NULL, (16 << 20) / 4096, 1); /* the page behind the segment */
}

RULE_KEPT(PT_030)
{
    rig_make_tables(rig);
    rig_map(rig, RIG_VA, NULL, (16 << 20) / 4096 - 1, 1);
}

RULE_BROKEN(PT_031)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_map(rig, &update, RIG_VA, NULL, 1, 2);
    update.entries[1].Zero = 1;
    rig_update(rig, &update);
}

RULE_KEPT(PT_031)
{
    struct rig_update update;

    rig->gpummu.ZeroInPteSupported = 1;
    rig_query_mmu(rig);
    rig_make_tables(rig);
    rig_begin_map(rig, &update, RIG_VA, NULL, 1, 2);
    update.entries[1].Zero = 1;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_032)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_map(rig, &update, RIG_VA, NULL, 1, 1);
    update.entries[0].NoExecute = 1;
    rig_update(rig, &update);
}

RULE_KEPT(PT_032)
{
    struct rig_update update;

    rig_make_tables(rig);
    rig_begin_map(rig, &update, RIG_VA, NULL, 1, 1);
    update.entries[0].ReadOnly = 1; /* the rig's driver supports that one */
    rig_update(rig, &update);
}

static HANDLE create_large(struct rig *rig, bool forbids)
{
    DXGK_ALLOCATIONINFO info = {.Size = 4 << 20};

    info.FlagsWddm2.DisableLargePageMapping = forbids;
    rig->gpummu.LargePageSupported = 1;
    rig_query_mmu(rig);
    rig_make_tables(rig);
    return rig_create_allocation(rig, &info);
}

static void map_large(struct rig *rig, HANDLE allocation, uint64_t page)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 1, RIG_VA, 1);
    update.arg.UpdatePageTable.hAllocation = allocation;
    update.entries[0].Valid = update.entries[0].LargePage = 1;
    update.entries[0].Segment = 1;
    update.entries[0].PageAddress = page;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_033)
{
    map_large(rig, create_large(rig, false), 513);
}

RULE_KEPT(PT_033)
{
    map_large(rig, create_large(rig, false), 512);
}

RULE_BROKEN(PT_034)
{
    map_large(rig, create_large(rig, true), 512);
}

RULE_KEPT(PT_034)
{
    map_large(rig, create_large(rig, false), 512);
}

/* A table of tables comes with pointers to leaf tables of 64 KiB pages. */
static void link_with_two_arrays(struct rig *rig, unsigned is_dual)
{
    struct rig_update update;

    rig->gpummu.LeafPageTableSizeFor64KPagesInBytes = 4096;
    rig->gpummu.DualPteSupported = is_dual;
    rig_query_mmu(rig);
    rig_begin_update(rig, &update, 1, RIG_VA, RIG_ENTRIES);
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    update.arg.UpdatePageTable.pPageTableEntries64KB = update.entries_64k;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_047)
{
    link_with_two_arrays(rig, 0);
}

RULE_KEPT(PT_047)
{
    link_with_two_arrays(rig, 1);
}

static void map_64k(struct rig *rig, uint64_t page)
{
    struct rig_update update;

    rig->gpummu.LeafPageTableSizeFor64KPagesInBytes = 4096;
    rig->gpummu.DualPteSupported = 1;
    rig_query_mmu(rig);
    rig->segments[0].Flags.Use64KBPages = 1;
    rig_query_segments(rig);
    rig_begin_update(rig, &update, 0, RIG_VA, RIG_ENTRIES / 16);
    update.arg.UpdatePageTable.Flags.Use64KBPages = 1;
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    rig_update(rig, &update);
    rig_begin_update(rig, &update, 0, RIG_VA + 65536, 1);
    update.arg.UpdatePageTable.StartIndex = 1;
    update.arg.UpdatePageTable.Flags.Use64KBPages = 1;
    update.entries[0].Valid = 1;
    update.entries[0].Segment = 1;
    update.entries[0].PageAddress = page;
    rig_update(rig, &update);
}

RULE_BROKEN(PT_038)
{
    map_64k(rig, 17);
}

RULE_KEPT(PT_038)
{
    map_64k(rig, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_that_begins_too_late_breaks_PT_025),
        cmocka_unit_test(an_unknown_process_breaks_PT_024),
        cmocka_unit_test(a_process_may_have_the_handle_NULL),
        cmocka_unit_test(two_pages_in_one_place_break_PT_025),
        cmocka_unit_test(entries_are_known_one_by_one),
        cmocka_unit_test(unique_protections_end_with_what_they_were_of),
    };

    return RIG_RUN_TESTS(tests);
}
