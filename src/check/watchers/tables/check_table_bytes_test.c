/*
 * Tables that the CPU writes, without a model of the GPU: what is found of their bytes.
 */
#include "check/check_private.h"
#include "check/rig/test_rig.h"
#include "check/rig/test_rig_tables.h"

#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 8u

enum way {
    RIGHT,
    WRITES_NOTHING,
    SKIPS_ONE,  /* entry 9 of an initialisation */
    KEEPS_BITS, /* the upper half of what was there */
    WRITES_LATE,
    WAY_COUNT
};

struct writer {
    enum way way;
    _Alignas(uint64_t) uint8_t table[RIG_ENTRIES * ENTRY_BYTES];
    uint64_t *late_at;
};

static uint64_t hardware_entry(const DXGK_PTE *entry)
{
    return entry->Valid ? entry->PageAddress << 12 | 1 : 0;
}

static void write_entries(struct writer *writer,
                          const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    uint64_t *table = update->PageTableAddress.CpuVirtual;

    for (UINT i = 0; i < update->NumPageTableEntries; i++) {
        uint64_t *at = &table[update->StartIndex + i];
        uint64_t value = hardware_entry(&update->pPageTableEntries[update->Flags.Repeat ? 0 : i]);

        if (writer->way == SKIPS_ONE && i == 9)
            continue;
        *at = writer->way == KEEPS_BITS ? (*at & ~UINT64_C(0xffffffff)) | value : value;
    }
    writer->late_at = &table[update->StartIndex + 1];
}

static NTSTATUS write_by_cpu(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    struct writer *writer = rig->told;
    const DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi != MINIPORT_DDI_BuildPagingBuffer && writer->way == WRITES_LATE && writer->late_at)
        *writer->late_at ^= 1;
    if (ddi == MINIPORT_DDI_BuildPagingBuffer &&
        build->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && writer->way != WRITES_NOTHING) {
        write_entries(writer, &build->UpdatePageTable);
        return STATUS_SUCCESS;
    }
    return rig_answer(rig, ddi, object, arg);
}

static void update(struct rig *rig, struct writer *writer, bool is_initial, bool is_mapped)
{
    struct rig_update update;

    rig_begin_update(rig, &update, 0, RIG_VA, RIG_ENTRIES);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    update.arg.UpdatePageTable.PageTableAddress.CpuVirtual = writer->table;
    update.arg.UpdatePageTable.Flags.InitialUpdate = is_initial;
    update.arg.UpdatePageTable.Flags.Repeat = !is_mapped;
    for (unsigned i = 0; is_mapped && i < RIG_ENTRIES; i++) {
        update.entries[i].Valid = 1;
        update.entries[i].Segment = 1;
        update.entries[i].PageAddress = 64 + i;
    }
    miniport_build_paging_buffer(rig->top, NULL, &update.arg);
}

/* A table is made, mapped in, and cleared; then something else is called. */
static void play(struct rig *rig, struct writer *writer)
{
    rig_init(rig, RIG_GPUMMU);
    rig->check->config.walk = NULL;
    rig->told = writer;
    rig->answer = write_by_cpu;
    update(rig, writer, true, false);
    update(rig, writer, false, true);
    update(rig, writer, false, false);
    for (unsigned i = 0; i < 4; i++)
        rig_submit(rig);
    rig->answer = NULL;
}

static void mistakes_of_the_cpu_are_found_by_their_bytes(void **state)
{
    static const struct {
        enum rule_id rule;
        const char *text;
    } expected[WAY_COUNT] = {
        [WRITES_NOTHING] = {RULE_PT_014, "entry 0 of 512 is what the memory held before"},
        [SKIPS_ONE] = {RULE_PT_014, "entry 9 of 512 is what the memory held before"},
        [KEEPS_BITS] = {RULE_PT_014, "bits of what the memory held before were kept"},
        [WRITES_LATE] = {RULE_PT_021, "has changed when it had returned"},
    };
    struct rig *rig = malloc(sizeof *rig);
    struct writer *writer = malloc(sizeof *writer);

    assert_non_null(rig);
    assert_non_null(writer);
    for (unsigned way = 0; way < WAY_COUNT; way++) {
        memset(writer, 0, sizeof *writer);
        writer->way = (enum way)way;
        play(rig, writer);
        assert_int_equal(rig->counts.broken[RULE_PT_014] != 0, expected[way].rule == RULE_PT_014);
        assert_int_equal(rig->counts.broken[RULE_PT_021] != 0,
                         expected[way].rule == RULE_PT_021 || way == WRITES_NOTHING);
        if (expected[way].text && !rig->counts.broken[RULE_PT_021])
            assert_non_null(strstr(rig->last.text, expected[way].text));
        assert_true(rig->counts.evaluated[RULE_PT_014] && rig->counts.evaluated[RULE_PT_021]);
        if (way == WRITES_LATE) /* however often it changes */
            assert_int_equal(rig->counts.broken[RULE_PT_021], 1);
        rig_fini(rig);
    }
    free(writer);
    free(rig);
}

/* With a model the entries themselves are read, and memory is nobody's to fill. */
static void nothing_is_touched_where_a_model_reads_entries(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    struct writer *writer = calloc(1, sizeof *writer);

    assert_non_null(rig);
    assert_non_null(writer);
    rig_init(rig, RIG_GPUMMU);
    writer->way = WRITES_NOTHING;
    rig->told = writer;
    rig->answer = write_by_cpu;
    update(rig, writer, true, false);
    for (size_t i = 0; i < sizeof writer->table; i++)
        assert_int_equal(writer->table[i], 0);
    rig_fini(rig);
    free(writer);
    free(rig);
}

/* What is not looked at is not filled with anything before the driver is called, either. */
static void calls_that_are_not_looked_at_find_memory_as_it_was(void **state)
{
    enum {
        OF_64K_PAGES,
        WITHOUT_ENTRIES,
        WITHOUT_ADDRESS,
        WITHOUT_COUNT,
        OTHER_OPERATION, /* in whose words the same stands */
        ITS_SECOND_BUFFER,
        BY_THE_GPU,
        WITH_DUAL_ENTRIES,
        OF_A_ROOT_THAT_GROWS,
        KINDS
    };
    struct rig *rig = malloc(sizeof *rig);
    struct writer *writer = malloc(sizeof *writer);

    assert_non_null(rig);
    assert_non_null(writer);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *arg;
        struct check_caps *caps;
        struct rig_update update;

        rig_init(rig, RIG_GPUMMU);
        rig->check->config.walk = NULL;
        memset(writer, 0, sizeof *writer);
        rig_begin_update(rig, &update, 0, RIG_VA, RIG_ENTRIES);
        arg = &update.arg.UpdatePageTable;
        arg->hProcess = rig->system_process;
        arg->UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
        arg->Flags.InitialUpdate = 1;
        arg->Flags.Repeat = 1;
        arg->Flags.Use64KBPages = kind == OF_64K_PAGES;
        if (kind == WITHOUT_ENTRIES)
            arg->pPageTableEntries = NULL;
        arg->PageTableAddress.CpuVirtual = kind == WITHOUT_ADDRESS ? NULL : writer->table;
        if (kind == WITHOUT_COUNT)
            arg->NumPageTableEntries = 0;
        if (kind == OTHER_OPERATION)
            update.arg.Operation = DXGK_OPERATION_FLUSH_TLB;
        if (kind == ITS_SECOND_BUFFER)
            update.arg.MultipassOffset = 1;
        if (kind == BY_THE_GPU)
            arg->UpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
        caps = &check_ledger(rig->check)->caps;
        caps->gpummu.DualPteSupported = kind == WITH_DUAL_ENTRIES;
        if (kind == OF_A_ROOT_THAT_GROWS) {
            caps->level_count = 2;
            caps->levels[1].PageTableIndexBitCount = 0;
            arg->PageTableLevel = 1;
        }
        miniport_build_paging_buffer(rig->top, NULL, &update.arg);
        for (size_t i = 0; i < sizeof writer->table; i++)
            assert_int_equal(writer->table[i], 0);
        rig_fini(rig);
    }
    free(writer);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_of_the_cpu_are_found_by_their_bytes),
        cmocka_unit_test(nothing_is_touched_where_a_model_reads_entries),
        cmocka_unit_test(calls_that_are_not_looked_at_find_memory_as_it_was),
    };

    return RIG_RUN_TESTS(tests);
}
