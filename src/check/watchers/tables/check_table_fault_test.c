#include "check/check_watch.h"
#include "check/rig/test_rig_memory.h"
#include "check/rig/test_rig_submit.h"

/*
 * Work of the context faults at an address whose entry is valid in memory, or is not; or the GPU
 * cannot read the commands that it finds where its buffer is mapped, whose entry has been lost
 * since, or has not.
 */
static void fault_of(struct rig *rig, uint64_t va, bool is_of_commands, bool is_lost)
{
    struct check_gpu_event event = {.kind = CHECK_GPU_FAULT,
                                    .node = 1,
                                    .fence = 1,
                                    .address = is_of_commands ? 0 : va,
                                    .is_malformed_packet = is_of_commands};
    const struct check_gpu_event queued = {
        .kind = CHECK_GPU_QUEUED, .node = 1, .fence = 1, .bytes = RIG_PACKET_BYTES, .address = va};
    DXGKARG_SUBMITCOMMANDVIRTUAL submit = {.hContext = rig->context,
                                           .DmaBufferVirtualAddress = RIG_VA,
                                           .DmaBufferSize = RIG_PACKET_BYTES,
                                           .SubmissionFenceId = 1,
                                           .NodeOrdinal = 1};
    struct rig_memory memory;

    rig->gpummu.InvalidTlbEntriesNotCached = 1;
    rig_query_mmu(rig);
    rig_make_memory(rig, &memory);
    rig_carry_out_map(rig, RIG_VA, NO_MISTAKE);
    rig->irql = DISPATCH_LEVEL;
    submit.DmaBufferVirtualAddress = is_of_commands ? va : RIG_VA;
    miniport_submit_command_virtual(rig->top, NULL, &submit);
    if (is_of_commands)
        check_gpu(rig->check, &queued);
    if (is_lost)
        memory.leaf[va >> 12 & 511].is_valid = false;
    check_gpu(rig->check, &event);
    rig->walk = NULL;
}

static void fault_at(struct rig *rig, uint64_t va)
{
    fault_of(rig, va, false, false);
}

static void a_fault_is_blamed_on_the_entry_that_is_not_as_asked(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < 4; i++) {
        rig_init(rig, RIG_GPUMMU);
        if (i == 3) /* an entry that was never to be valid */
            fault_of(rig, RIG_VA + 0x10000, false, true);
        else
            fault_of(rig, RIG_VA + 0x5000, i > 0, i < 2);
        rig_expect_only(rig, i < 2 ? RULE_PT_017 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN(TLB_005)
{
    fault_at(rig, RIG_VA + 0xf000);
}

RULE_KEPT(TLB_005)
{
    fault_at(rig, RIG_VA + 0x10000);
}

static void begin_mapped(struct rig *rig, struct rig_memory *memory, uint64_t va)
{
    rig_init(rig, RIG_GPUMMU);
    rig_make_memory(rig, memory);
    rig_carry_out_map(rig, va, NO_MISTAKE);
}

static void fault_in_context(struct rig *rig, uint64_t va)
{
    const struct check_gpu_event event = {
        .kind = CHECK_GPU_FAULT, .node = 1, .fence = 1, .address = va};
    DXGKARG_SUBMITCOMMANDVIRTUAL submit = {.hContext = rig->context,
                                           .DmaBufferVirtualAddress = RIG_VA,
                                           .DmaBufferSize = RIG_PACKET_BYTES,
                                           .SubmissionFenceId = 1,
                                           .NodeOrdinal = 1};

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_virtual(rig->top, NULL, &submit);
    check_gpu(rig->check, &event);
    rig->walk = NULL;
}

/* What of the way to RIG_VA is not as asked for, when work of the context faults there. */
static void a_fault_is_blamed_on_the_first_entry_from_the_root_that_is_wrong(void **state)
{
    static const struct {
        const char *text; /* NULL: nothing is wrong */
        unsigned level;
        struct check_gpu_entry wrong;
    } cases[] = {
        {NULL, 3, {0}},
        {"entry 1 of level 2, VA 0x40000000, is invalid", 2, {0}},
        {"entry 0 of level 1, VA 0x40000000, leads to GPU address 0x66000",
         1,
         {.is_valid = true, .address = 0x66000}},
        {"entry 0 of level 1, VA 0x40000000, leads to GPU address 0x65000, a large page",
         1,
         {.is_valid = true, .is_large = true, .address = 0x65000}},
        {"entry 0 of level 1, VA 0x40000000, leads to GPU address 0x65000, a table of 64 KiB",
         1,
         {.is_valid = true, .has_64k_table = true, .address = 0x65000}},
        {"entry 0 of level 0, VA 0x40000000, leads to GPU address 0x20000, read-only",
         0,
         {.is_valid = true, .is_read_only = true, .address = 0x20000}},
        {"entry 0 of level 0, VA 0x40000000, leads to GPU address 0x20000, zero",
         0,
         {.is_valid = true, .is_zero = true, .address = 0x20000}},
    };
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < ARRAY_COUNT(cases); i++) {
        struct rig_memory memory;

        begin_mapped(rig, &memory, RIG_VA);
        if (cases[i].level < 3)
            memory.leaf[0].is_valid = false;
        if (cases[i].level == 2)
            memory.root[1] = cases[i].wrong;
        if (cases[i].level == 1)
            memory.middle[0] = cases[i].wrong;
        if (cases[i].level == 0)
            memory.leaf[0] = cases[i].wrong;
        fault_in_context(rig, RIG_VA);
        if (cases[i].text) {
            assert_non_null(strstr(rig->last.text, cases[i].text));
            assert_string_equal(rig->last.detail.where,
                                "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).pPageTableEntries");
        } else {
            rig_expect_only(rig, RULE_NONE);
        }
        rig_fini(rig);
    }
    free(rig);
}

/* Nor is an old translation the reason, where the table has a wrong one. */
static void a_wrong_entry_is_told_as_nothing_else(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_memory memory;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    rig->gpummu.InvalidTlbEntriesNotCached = 1;
    rig_query_mmu(rig);
    rig_make_memory(rig, &memory);
    rig_carry_out_map(rig, RIG_VA, NO_MISTAKE);
    memory.leaf[3].address += 0x1000;
    fault_in_context(rig, RIG_VA + 0x3000);
    rig_expect_only(rig, RULE_PT_017);
    rig_fini(rig);
    free(rig);
}

/* Whether the GPU comes to it, or finds nothing there and goes to the other leaf table. */
static void a_wrong_entry_of_64k_is_found_on_the_way(void **state)
{
    enum { AS_ASKED, ELSEWHERE, LOST, STRAY, WAYS };
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int way = 0; way < WAYS; way++) {
        struct rig_memory memory;
        struct rig_update update;

        rig_init(rig, RIG_GPUMMU);
        rig_make_memory_64k(rig, &memory, NO_MISTAKE);
        rig_begin_map_64k(rig, &update, RIG_VA + 0x20000);
        rig_carry_out(rig, &update, NO_MISTAKE);
        memory.leaf_64k[2].address += way == ELSEWHERE ? 0x10000 : 0;
        memory.leaf_64k[2].is_valid = way != LOST;
        memory.leaf_64k[3].is_valid = way == STRAY;
        fault_in_context(rig, RIG_VA + (way == STRAY ? 0x35000 : 0x25000));
        rig_expect_only(rig, way == AS_ASKED ? RULE_NONE
                             : way == STRAY  ? RULE_PT_014
                                             : RULE_PT_039);
        if (way == STRAY)
            assert_non_null(strstr(rig->last.text, "entry 3 of level 0"));
        rig_fini(rig);
    }
    free(rig);
}

/* An operation of which a part is built may have been carried out in part, and no other one. */
static void what_may_be_under_way_is_not_judged(void **state)
{
    enum { NO_PART, THIS, ITS_NEIGHBOURS, BUILT };
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int built = 0; built < BUILT; built++) {
        struct rig_memory memory;
        struct rig_update update, neighbours;

        begin_mapped(rig, &memory, RIG_VA);
        rig_begin_map(rig, &update, RIG_VA, NULL, 64, 4);
        rig_begin_map(rig, &neighbours, RIG_VA + 0x4000, NULL, 64, 4);
        rig->answer = rig_answer_in_part;
        if (built)
            rig_update(rig, built == THIS ? &update : &neighbours);
        rig->answer = NULL;
        rig_write_memory(rig, &update, NO_MISTAKE);
        fault_in_context(rig, RIG_VA + 0x3000);
        rig_expect_only(rig, built == THIS ? RULE_NONE : RULE_PT_017);
        rig_fini(rig);
    }
    free(rig);
}

/* What stands in the packet before the command that faults has been carried out. */
static void a_fault_of_paging_is_behind_what_stands_before_it(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct check_gpu_event event = {
            .kind = CHECK_GPU_FAULT, .address = RIG_VA + 0x3000, .offset = RIG_PACKET_BYTES};
        struct rig_memory memory;
        struct rig_update first, second;

        rig_init(rig, RIG_GPUMMU);
        rig->system_context = /* of the process whose tables the rig has in memory */
            rig_create_context(rig, rig_create_device(rig, rig->process), 0, true);
        rig_make_memory(rig, &memory);
        rig_begin_map(rig, &first, RIG_VA, NULL, 32, 16);
        rig_update(rig, &first);
        rig_begin_map(rig, &second, RIG_VA + 0x20000, NULL, 64, 16);
        rig_update(rig, &second);
        event.fence = rig_submit(rig);
        if (!is_wrong)
            rig_write_memory(rig, &first, NO_MISTAKE);
        check_gpu(rig->check, &event);
        rig->walk = NULL;
        rig_expect_only(rig, is_wrong ? RULE_PT_019 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

/* Of an entry that no operation has written nobody knows what is in memory. */
static void what_nobody_asked_for_is_not_judged(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_written = 0; is_written < 2; is_written++) {
        struct rig_memory memory;

        begin_mapped(rig, &memory, RIG_VA);
        memory.leaf[20] = (struct check_gpu_entry){.is_valid = true, .address = 0x5000};
        if (!is_written) /* nobody remembers that it was */
            check_ledger(rig->check)->tables.asking_count = 0;
        fault_in_context(rig, RIG_VA + 0x14000);
        rig_expect_only(rig, is_written ? RULE_PT_014 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

/*
 * The account is ahead of the GPU: the mapping that it faulted at is to be taken away by an
 * operation that has not been carried out.
 */
static void what_is_still_to_be_written_is_not_missed(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < 3; i++) {
        const bool is_wrong = i == 1, is_carried_out = i == 2; /* though nobody was told */
        struct rig_memory memory;

        begin_mapped(rig, &memory, RIG_VA);
        memory.leaf[3].address += is_wrong ? 0x1000 : 0;
        rig_unmap(rig, RIG_VA, NULL, 16);
        memory.leaf[3].is_valid = !is_carried_out;
        fault_in_context(rig, RIG_VA + 0x3000);
        rig_expect_only(rig, is_wrong ? RULE_PT_017 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

/* A later operation writes one entry too many, and its commands were the last to write there. */
static void an_entry_that_another_operation_has_written_is_that_one_s(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (int is_told = 0; is_told < 2; is_told++) {
        struct check_gpu_event written = {
            .kind = CHECK_GPU_ENTRIES, .node = 0, .bytes = 18 * 8, .place = {true, 0x5000}};
        struct rig_memory memory;
        struct rig_update update;

        begin_mapped(rig, &memory, RIG_VA + 0x10000);
        rig_begin_map(rig, &update, RIG_VA, NULL, 64, 16);
        rig_update(rig, &update);
        written.fence = rig_submit(rig);
        if (is_told)
            check_gpu(rig->check, &written);
        rig_write_memory(rig, &update, NO_MISTAKE);
        rig_complete(rig, 0, written.fence);
        memory.leaf[17] = (struct check_gpu_entry){.is_placed = true, .place = {true, 0x5088}};
        fault_in_context(rig, RIG_VA + 0x11000);
        rig_expect_only(rig, RULE_PT_017);
        assert_string_equal(rig->last.detail.where,
                            is_told
                                ? "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).NumPageTableEntries"
                                : "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).pPageTableEntries");
        rig_fini(rig);
    }
    free(rig);
}

/* ---- Commands that are none ---- */

static unsigned walks;

static bool count_walk(struct rig *rig, bool is_system, uint64_t root, uint64_t va,
                       struct check_gpu_walk *out)
{
    walks++;
    return rig_walk_memory(rig, is_system, root, va, out);
}

/* The GPU cannot read the commands of a packet at va. Gives how many ways there were gone. */
static unsigned fail_at_commands(struct rig *rig, uint64_t va, uint32_t bytes)
{
    DXGKARG_SUBMITCOMMANDVIRTUAL submit = rig_packet_virtual(rig);
    struct check_gpu_event event = {.kind = CHECK_GPU_QUEUED,
                                    .node = submit.NodeOrdinal,
                                    .fence = submit.SubmissionFenceId,
                                    .bytes = bytes,
                                    .address = va};

    submit.DmaBufferVirtualAddress = va;
    submit.DmaBufferSize = bytes;
    rig_submit_virtual(rig, &submit);
    check_gpu(rig->check, &event);
    event.kind = CHECK_GPU_FAULT;
    event.is_malformed_packet = true;
    rig->walk = count_walk;
    walks = 0;
    check_gpu(rig->check, &event);
    rig->walk = NULL;
    return walks;
}

/* Wherever in the packet the GPU has lost its way, an entry of one of its pages is the reason. */
static void all_pages_of_commands_are_looked_at(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned page = 0; page < 5; page++) {
        struct rig_memory memory;

        begin_mapped(rig, &memory, RIG_VA);
        memory.leaf[page].is_valid = memory.leaf[page + 1].is_valid = false;
        fail_at_commands(rig, RIG_VA + 0x800, 0x3000);
        rig_expect_only(rig, page == 0 ? RULE_PT_019 : page < 4 ? RULE_PT_017 : RULE_NONE);
        assert_int_equal(rig->finding_count, page < 4); /* of the first that is wrong */
        rig_fini(rig);
    }
    free(rig);
}

/* A driver may say any number of bytes, and that is no work for ever. */
static void a_packet_of_any_size_is_looked_at_for_a_while(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct rig_memory memory;

    assert_non_null(rig);
    begin_mapped(rig, &memory, RIG_VA);
    assert_int_equal(fail_at_commands(rig, RIG_VA, 0x3fffff), 1023 + 1);
    rig_fini(rig);
    begin_mapped(rig, &memory, RIG_VA);
    assert_int_equal(fail_at_commands(rig, RIG_VA, UINT32_MAX), 1024);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_is_blamed_on_the_entry_that_is_not_as_asked),
        cmocka_unit_test(a_fault_is_blamed_on_the_first_entry_from_the_root_that_is_wrong),
        cmocka_unit_test(a_wrong_entry_is_told_as_nothing_else),
        cmocka_unit_test(a_wrong_entry_of_64k_is_found_on_the_way),
        cmocka_unit_test(what_may_be_under_way_is_not_judged),
        cmocka_unit_test(a_fault_of_paging_is_behind_what_stands_before_it),
        cmocka_unit_test(what_nobody_asked_for_is_not_judged),
        cmocka_unit_test(what_is_still_to_be_written_is_not_missed),
        cmocka_unit_test(an_entry_that_another_operation_has_written_is_that_one_s),
        cmocka_unit_test(all_pages_of_commands_are_looked_at),
        cmocka_unit_test(a_packet_of_any_size_is_looked_at_for_a_while),
    };

    return RIG_RUN_TESTS(tests);
}
