#include "check/check_private.h"
#include "check/rig/test_rig_memory.h"
#include "check/watchers/tables/check_table_memory.h"

static void map_sixteen(struct rig *rig, enum rig_mistake mistake)
{
    struct rig_memory memory;
    struct rig_update update;

    rig_make_memory(rig, &memory);
    memory.has_16k_pages = mistake == PACKS_ENTRIES || mistake == LEAVES_OUT_MIDDLES;
    rig_begin_map(rig, &update, RIG_VA + 0x10000, rig_create_allocation(rig, NULL), 32, 16);
    update.arg.UpdatePageTable.DriverProtection = 5;
    rig_carry_out(rig, &update, mistake);
    rig->tables = NULL;
    rig->walk = NULL;
}

RULE_BROKEN(PT_026)
{
    map_sixteen(rig, PACKS_ENTRIES);
}

RULE_KEPT(PT_026)
{
    map_sixteen(rig, LEAVES_OUT_MIDDLES);
}

RULE_BROKEN(PT_017)
{
    map_sixteen(rig, SHIFTS_ENTRIES);
    assert_string_equal(rig->last.detail.where,
                        "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).pPageTableEntries");
    assert_true(rig->last.detail.event && rig->last.detail.event < rig->calls.last);
}

RULE_KEPT(PT_017)
{
    map_sixteen(rig, NO_MISTAKE);
}

RULE_BROKEN(PT_028)
{
    map_sixteen(rig, FORGETS_PROTECTION);
    assert_non_null(strstr(rig->last.text, "leads to GPU address 0x20000, protection 0x0"));
}

RULE_KEPT(PT_028)
{
    map_sixteen(rig, NO_MISTAKE);
}

/* The paging process is set up by the CPU, without a buffer. */
static void update_by_cpu(struct rig *rig)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, RIG_VA, RIG_ENTRIES);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    update.arg.UpdatePageTable.PageTableAddress.CpuVirtual = rig->buffer;
    update.arg.UpdatePageTable.Flags.InitialUpdate = update.arg.UpdatePageTable.Flags.Repeat = 1;
    miniport_build_paging_buffer(rig->top, NULL, &update.arg);
}

enum ahead { NOT_BUILT, BUILT_IN_PART, BUILT_IN_PART_AND_CPU_UPDATED, AHEAD_COUNT };

/*
 * A mapping is built in part, and the GPU has carried that out when the packet in front of it,
 * which made the table and leads to it, is reported: its empty entries are not missed, whatever the
 * CPU writes before the rest is built. Else they are.
 */
static void write_ahead(struct rig *rig, enum ahead ahead)
{
    struct rig_memory memory;
    struct rig_update update, map;
    uint32_t fence;

    rig_make_memory(rig, &memory);
    rig_begin_link(rig, &update, 1, RIG_VA, 101);
    rig_update(rig, &update);
    fence = rig_submit(rig);
    rig_begin_map(rig, &map, RIG_VA, NULL, 32, RIG_ENTRIES);
    if (ahead != NOT_BUILT) {
        rig->answer = rig_answer_in_part;
        rig_update(rig, &map);
        rig->answer = NULL;
    }
    if (ahead == BUILT_IN_PART_AND_CPU_UPDATED)
        update_by_cpu(rig);
    rig_write_memory(rig, &map, NO_MISTAKE);
    rig_complete(rig, 0, fence);
    rig->walk = NULL;
}

static void an_operation_whose_first_part_has_run_is_no_mistake(void **state)
{
    for (unsigned ahead = 0; ahead < AHEAD_COUNT; ahead++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        write_ahead(rig, (enum ahead)ahead);
        rig_expect_only(rig, ahead == NOT_BUILT ? RULE_PT_014 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

static void initialise_again(struct rig *rig, enum rig_mistake mistake)
{
    struct rig_memory memory;
    struct rig_update update;

    rig_make_memory(rig, &memory);
    /* The table is made anew where it was; entries of its former life are still there. */
    for (unsigned i = 0; i < RIG_ENTRIES; i++)
        memory.leaf[i] = (struct check_gpu_entry){.is_valid = true, .address = 0x7000};
    rig_begin_table(rig, &update, 0);
    rig_carry_out(rig, &update, mistake);
    rig->walk = NULL;
}

RULE_BROKEN(PT_014)
{
    initialise_again(rig, KEEPS_OLD_BITS);
}

RULE_KEPT(PT_014)
{
    initialise_again(rig, NO_MISTAKE);
}

/* The new root is somewhere else, and nobody has been told where: the old one is not looked at. */
static void a_root_that_is_made_anew_is_not_the_old_one(void **state)
{
    for (unsigned is_new = 0; is_new < 2; is_new++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_memory memory;
        struct rig_update update;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        for (unsigned i = 0; i < RIG_ENTRIES; i++)
            memory.root[i] = (struct check_gpu_entry){.is_valid = true, .address = 0x7000};
        rig_begin_table(rig, &update, 2);
        if (is_new)
            update.arg.UpdatePageTable.PageTableAddress.GpuVirtual += 0x1000000;
        rig_carry_out(rig, &update, WRITES_ELSEWHERE);
        rig_expect_only(rig, is_new ? RULE_NONE : RULE_PT_014);
        rig->walk = NULL;
        rig_fini(rig);
        free(rig);
    }
}

static void clear_sixteen(struct rig *rig, enum rig_mistake mistake)
{
    struct rig_memory memory;
    struct rig_update update;

    rig_make_memory(rig, &memory);
    rig_carry_out_map(rig, RIG_VA, NO_MISTAKE);
    rig_begin_update(rig, &update, 0, RIG_VA, 16);
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    rig_carry_out(rig, &update, mistake);
    rig->walk = NULL;
}

RULE_BROKEN(PT_016)
{
    clear_sixteen(rig, WRITES_FIRST_ONLY);
}

RULE_KEPT(PT_016)
{
    clear_sixteen(rig, NO_MISTAKE);
}

/* Of three entries both ends are looked at, and the one between. */
static void the_entry_between_two_others_is_looked_at(void **state)
{
    for (unsigned wrong = 0; wrong < 4; wrong++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_memory memory;
        struct rig_update update;
        uint32_t fence;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 3);
        rig_update(rig, &update);
        fence = rig_submit(rig);
        rig_write_memory(rig, &update, NO_MISTAKE);
        memory.leaf[update.arg.UpdatePageTable.StartIndex + wrong].address ^= 0x100000;
        rig_complete(rig, 0, fence);
        rig_expect_only(rig, wrong < 3 ? RULE_PT_017 : RULE_NONE);
        rig->walk = NULL;
        rig_fini(rig);
        free(rig);
    }
}

static void map_one(struct rig *rig, enum rig_mistake mistake)
{
    struct rig_memory memory;
    struct rig_update update;

    rig_make_memory(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 1);
    rig_carry_out(rig, &update, mistake);
    rig->walk = NULL;
}

RULE_BROKEN(PT_019)
{
    map_one(rig, WRITES_ELSEWHERE);
}

RULE_KEPT(PT_019)
{
    map_one(rig, NO_MISTAKE);
}

/* Of more entries than the checker keeps until they are carried out, it keeps the last ones. */
static void of_too_many_entries_the_last_ones_are_looked_at(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_update many, wrong, last;
    struct rig_memory memory;
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig_make_memory(rig, &memory);
    for (unsigned i = 0; i < 300; i++) {
        rig_begin_map(rig, &many, RIG_VA + 0x10000, NULL, 32, 16);
        rig_update(rig, &many);
    }
    rig_begin_map(rig, &wrong, RIG_VA + 0x40000, NULL, 64, 1);
    rig_update(rig, &wrong);
    rig_begin_map(rig, &last, RIG_VA + 0x80000, NULL, 65, 1);
    rig_update(rig, &last);
    fence = rig_submit(rig);
    rig_write_memory(rig, &many, NO_MISTAKE);
    rig_write_memory(rig, &wrong, WRITES_ELSEWHERE);
    rig_write_memory(rig, &last, NO_MISTAKE);
    rig_complete(rig, 0, fence);
    rig_expect_only(rig, RULE_PT_019);
    rig->walk = NULL;
    rig_fini(rig);
    free(rig);
}

/* A driver of the CPU's mode, which writes before it returns, or not. */
static struct rig_update *current_update;

static NTSTATUS write_on_call(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        rig_write_memory(rig, current_update, *(enum rig_mistake *)rig->told);
    return rig_answer(rig, ddi, object, arg);
}

static void map_on_call(struct rig *rig, enum rig_mistake mistake, bool is_by_cpu)
{
    struct rig_update update;
    static enum rig_mistake told;

    if (is_by_cpu) {
        rig->gpummu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
        rig->levels[1].PageTableSegmentId = rig->levels[2].PageTableSegmentId = 0;
        rig_query_mmu(rig);
    }
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 1);
    if (is_by_cpu)
        update.arg.UpdatePageTable.PageTableAddress.CpuVirtual = rig->tables;
    current_update = &update;
    told = mistake;
    rig->told = &told;
    rig->answer = write_on_call;
    rig_update(rig, &update);
    rig->answer = NULL;
    rig->walk = NULL;
}

static void build_and_write(struct rig *rig, enum rig_mistake mistake, bool is_by_cpu)
{
    struct rig_memory memory;

    rig_make_memory(rig, &memory);
    map_on_call(rig, mistake, is_by_cpu);
}

RULE_BROKEN(PT_021)
{
    build_and_write(rig, WRITES_ELSEWHERE, true);
}

RULE_KEPT(PT_021)
{
    build_and_write(rig, NO_MISTAKE, true);
}

RULE_BROKEN(PT_023)
{
    build_and_write(rig, NO_MISTAKE, false);
}

RULE_KEPT(PT_023)
{
    build_and_write(rig, WRITES_ELSEWHERE, false); /* the GPU will */
}

/* ---- Entries beside those of an operation ---- */

#define TRESPASS "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).NumPageTableEntries"

/* Sixteen pages are mapped in front of others, or behind them, and a word of those changes. */
static void what_commands_write_beside_their_entries_is_found(void **state)
{
    enum { BEHIND, IN_FRONT, UNCHANGED, BY_NOBODY, WAYS };
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int way = 0; way < WAYS; way++) {
        const unsigned first = way == IN_FRONT ? 32 : 0, beside = way == IN_FRONT ? 31 : 16;
        struct check_gpu_event written = {.kind = CHECK_GPU_ENTRIES,
                                          .bytes = 17 * 8,
                                          .place = {true, way == IN_FRONT ? 0x50f8 : 0x5000}};
        struct rig_memory memory;
        struct rig_update update;

        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        rig_carry_out_map(rig, RIG_VA + 0x10000, NO_MISTAKE);
        rig_begin_map(rig, &update, RIG_VA + first * 4096, NULL, 64, 16);
        rig_update(rig, &update);
        written.fence = rig_submit(rig);
        if (way != BY_NOBODY)
            check_gpu(rig->check, &written);
        rig_write_memory(rig, &update, NO_MISTAKE);
        memory.leaf[beside].is_placed = true;
        memory.leaf[beside].place = (struct check_place){true, 0x5000 + beside * 8};
        memory.leaf[beside].is_valid = way == UNCHANGED;
        rig_complete(rig, 0, written.fence);
        rig_expect_only(rig, way < UNCHANGED ? RULE_PT_017 : RULE_NONE);
        if (way < UNCHANGED)
            assert_string_equal(rig->last.detail.where, TRESPASS);
        rig->walk = NULL;
        rig_fini(rig);
    }
    free(rig);
}

/* The CPU does so, or finds an entry that was wrong before. */
static void what_the_cpu_writes_beside_its_entries_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int was_wrong = 0; was_wrong < 2; was_wrong++) {
        struct rig_memory memory;

        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        rig_carry_out_map(rig, RIG_VA + 0x11000, NO_MISTAKE);
        memory.leaf[17].address += was_wrong ? 0x1000 : 0;
        map_on_call(rig, WRITES_ONE_MORE, true);
        rig_expect_only(rig, was_wrong ? RULE_NONE : RULE_PT_017);
        if (!was_wrong)
            assert_string_equal(rig->last.detail.where, TRESPASS);
        rig_fini(rig);
    }
    free(rig);
}

/* ---- Two page sizes ---- */

static void map_64k(struct rig *rig, enum rig_mistake of_leaf, enum rig_mistake of_pointer)
{
    struct rig_memory memory;
    struct rig_update update;

    rig_make_memory_64k(rig, &memory, of_pointer);
    rig_begin_map_64k(rig, &update, RIG_VA + 0x20000);
    /* The GPU sees an entry of 64 KiB where it was before, at another page. */
    memory.leaf_64k[2] = (struct check_gpu_entry){.is_valid = true, .address = 0x50000};
    rig_carry_out(rig, &update, of_leaf);
    rig->walk = NULL;
}

RULE_BROKEN(PT_039)
{
    map_64k(rig, COUNTS_IN_4K, NO_MISTAKE);
}

RULE_KEPT(PT_039)
{
    map_64k(rig, NO_MISTAKE, NO_MISTAKE);
}

RULE_BROKEN(PT_041)
{
    map_64k(rig, NO_MISTAKE, SWAPS_POINTERS);
}

RULE_KEPT(PT_041)
{
    map_64k(rig, NO_MISTAKE, NO_MISTAKE);
}

/* ---- Copies ---- */

static void begin_copy(DXGKARG_BUILDPAGINGBUFFER *arg, DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range)
{
    *range = (DXGK_BUILDPAGINGBUFFER_COPY_RANGE){
        .NumPageTableEntries = 16,
        .SrcPageTableAddress = rig_table_va(0, RIG_VA),
        .DstPageTableAddress = rig_table_va(0, RIG_VA),
        .SrcStartPteIndex = 16,
        .DstStartPteIndex = 64,
    };
    *arg = (DXGKARG_BUILDPAGINGBUFFER){.Operation = DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES};
    arg->CopyPageTableEntries.NumRanges = 1;
    arg->CopyPageTableEntries.pRanges = range;
}

/* The source changes in front of the copy, in the same buffer or in one that has retired. */
static void copy_entries(struct rig *rig, bool is_late, enum rig_mistake mistake)
{
    struct rig_memory memory, before;
    struct rig_update update;
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE range;
    DXGKARG_BUILDPAGINGBUFFER arg;
    uint32_t fence;

    rig_enter_companion(rig);
    rig_make_memory(rig, &memory);
    rig_begin_map(rig, &update, RIG_VA + 0x10000, NULL, 32, 16);
    if (!is_late)
        rig_carry_out(rig, &update, NO_MISTAKE);
    else
        rig_update(rig, &update);
    before = memory;
    begin_copy(&arg, &range);
    rig_build(rig, &arg);
    fence = rig_submit(rig);
    if (is_late)
        rig_write_memory(rig, &update, NO_MISTAKE);
    for (unsigned i = 0; i < 16 && mistake != WRITES_ELSEWHERE; i++)
        memory.leaf[64 + i] = mistake == READS_EARLY ? before.leaf[16 + i] : memory.leaf[16 + i];
    rig_complete(rig, 0, fence);
    rig->walk = NULL;
}

RULE_BROKEN(CPTE_002)
{
    copy_entries(rig, false, WRITES_ELSEWHERE);
}

RULE_KEPT(CPTE_002)
{
    copy_entries(rig, false, NO_MISTAKE);
}

RULE_BROKEN(CPTE_003)
{
    copy_entries(rig, true, READS_EARLY);
}

RULE_KEPT(CPTE_003)
{
    copy_entries(rig, true, NO_MISTAKE);
}

static NTSTATUS write_nothing(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return STATUS_SUCCESS;
}

/*
 * Behind a copy that waits in the buffer of another context the driver is asked for something that
 * needs no commands. It counts as run with the commands before it in its own buffer, and the copy
 * does not.
 */
static void what_writes_nothing_does_not_end_what_waits_before_it(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER copy, empty = {0};
    DXGK_BUILDPAGINGBUFFER_COPY_RANGE range;
    struct rig_memory memory;
    HANDLE first;
    uint32_t end;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    first = rig->system_context;
    rig_make_memory(rig, &memory);
    rig_carry_out_map(rig, RIG_VA + 0x10000, NO_MISTAKE);

    rig_flush(rig, rig->process, RIG_VA, RIG_VA + 0x20000);
    end = rig->buffer_used;
    rig_enter_companion(rig);
    begin_copy(&copy, &range);
    rig_build(rig, &copy);
    rig->system_context = first;
    rig->answer = write_nothing;
    empty.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)0x7fffffff;
    rig_build(rig, &empty);
    rig->answer = NULL;
    rig->buffer_used = end;
    rig_complete(rig, 0, rig_submit(rig));
    assert_int_equal(rig->counts.evaluated[RULE_CPTE_002], 0);
    assert_int_equal(rig->counts.broken[RULE_CPTE_002], 0);
    rig_fini(rig);
    free(rig);
}

/* A GPU whose entries hold a bit of it is compared in that bit. */
static void protection_is_compared_where_entries_hold_it(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_held = 0; is_held < 2; is_held++) {
        struct rig_update update;
        struct rig_memory memory;

        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        rig_begin_map(rig, &update, RIG_VA, NULL, 32, 1);
        update.arg.UpdatePageTable.DriverProtection = 0x22;
        rig_update(rig, &update);
        rig_write_memory(rig, &update, NO_MISTAKE);
        memory.leaf[0].protection = 0x20;
        memory.leaf[0].protection_mask = is_held ? 0x22 : 0x20;
        rig_complete(rig, 0, rig_submit(rig));
        if (is_held)
            rig_expect_only(rig, RULE_PT_028);
        else
            rig_expect_silence(rig, RULE_PT_028);
        rig->walk = NULL;
        rig_fini(rig);
    }
    free(rig);
}

/*
 * Behind a mapping that goes wrong the same table gets another one, before anybody could look. Only
 * what it changes of entries that were valid hides the mistake.
 */
static void entries_beside_a_wrong_one_do_not_hide_it(void **state)
{
    for (unsigned is_same = 0; is_same < 2; is_same++) {
        struct rig *rig = malloc(sizeof *rig);
        struct rig_update first, second;
        struct rig_memory memory;
        uint32_t fence;

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        rig_begin_map(rig, &first, RIG_VA + 0x10000, NULL, 32, 16);
        rig_update(rig, &first);
        fence = rig_submit(rig);
        rig_begin_map(rig, &second, RIG_VA + (is_same ? 0x10000 : 0x40000), NULL, 64, 16);
        rig_update(rig, &second);
        rig_write_memory(rig, &first, SHIFTS_ENTRIES);
        rig_complete(rig, 0, fence);
        assert_int_equal(rig->counts.broken[RULE_PT_017] != 0, !is_same);
        rig->walk = NULL;
        rig_fini(rig);
        free(rig);
    }
}

/* The way to it goes through an entry that is wrong, too: what comes behind that says nothing. */
static void the_entry_that_leads_to_a_wrong_one_is_told_first(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_way_wrong = 0; is_way_wrong < 2; is_way_wrong++) {
        struct rig_memory memory;

        rig_init(rig, RIG_GPUMMU);
        rig_make_memory(rig, &memory);
        memory.middle[0].address += is_way_wrong ? 0x1000 : 0;
        rig_carry_out_map(rig, RIG_VA, SHIFTS_ENTRIES);
        assert_non_null(strstr(rig->last.text, is_way_wrong ? "of level 1" : "of level 0"));
        rig_expect_only(rig, RULE_PT_017);
        rig->walk = NULL;
        rig_fini(rig);
    }
    free(rig);
}

/* A segment that the adapter does not have begins nowhere. */
static void a_place_has_an_address_where_its_segment_is_known(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    const struct check_ledger *ledger;
    uint64_t address;
    bool is_system;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    ledger = check_ledger(rig->check);
    assert_true(check_place_address(ledger, CHECK_PLACE(0, 3), &is_system, &address));
    assert_true(is_system && address == 0x3000);
    assert_true(check_place_address(ledger, CHECK_PLACE(1, 3), &is_system, &address));
    assert_true(!is_system && address == ledger->segments[0].base + 0x3000);
    assert_false(
        check_place_address(ledger, CHECK_PLACE(RIG_MAX_SEGMENTS + 1, 3), &is_system, &address));
    assert_false(check_place_address(ledger, CHECK_NOWHERE, &is_system, &address));
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_writes_nothing_does_not_end_what_waits_before_it),
        cmocka_unit_test(the_entry_between_two_others_is_looked_at),
        cmocka_unit_test(of_too_many_entries_the_last_ones_are_looked_at),
        cmocka_unit_test(an_operation_whose_first_part_has_run_is_no_mistake),
        cmocka_unit_test(what_commands_write_beside_their_entries_is_found),
        cmocka_unit_test(what_the_cpu_writes_beside_its_entries_is_found),
        cmocka_unit_test(a_root_that_is_made_anew_is_not_the_old_one),
        cmocka_unit_test(protection_is_compared_where_entries_hold_it),
        cmocka_unit_test(the_entry_that_leads_to_a_wrong_one_is_told_first),
        cmocka_unit_test(entries_beside_a_wrong_one_do_not_hide_it),
        cmocka_unit_test(a_place_has_an_address_where_its_segment_is_known),
    };

    return RIG_RUN_TESTS(tests);
}
