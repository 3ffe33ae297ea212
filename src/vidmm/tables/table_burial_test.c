/*
 * ExplicitPageTableInvalidation: a driver hears of every table that goes, by all of its entries.
 *
 * Model  Tables of a process by level and first address: how many began with InitialUpdate and have
 *        not ended with NotifyEviction.
 */
#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#define TABLES_MOST 64u
#define GENERATIONS 2u
#define FAR_APART   (UINT64_C(3) * GiB)

struct known_table {
    unsigned level;
    bool is_64k;
    uint64_t first_va;
    UINT entries[GENERATIONS]; /* that InitialUpdate wrote; a root that grows begins again */
    unsigned begun, ended;
};

static struct {
    HANDLE process;
    struct known_table tables[TABLES_MOST];
    unsigned count, ends, whole_flushes;
    bool process_ends; /* no table stays then: parents go first */
} seen;

static struct known_table *table_of(struct rig *rig,
                                    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const unsigned level = update->PageTableLevel;
    const uint64_t unit = level                        ? rig_reach(rig, level)
                          : update->Flags.Use64KBPages ? 64 * KiB
                                                       : PAGE_BYTES;
    const uint64_t first_va = update->FirstPteVirtualAddress - update->StartIndex * unit;
    struct known_table *table = seen.tables;

    for (; table < seen.tables + seen.count; table++) {
        if (table->level == level && table->first_va == first_va &&
            table->is_64k == update->Flags.Use64KBPages)
            return table;
    }
    EXPECT(seen.count < TABLES_MOST);
    *table = (struct known_table){
        .level = level, .first_va = first_va, .is_64k = update->Flags.Use64KBPages};
    seen.count++;
    return table;
}

/* Those above it have no entry any more that leads to it. */
static void expect_orphan(struct rig *rig, const struct known_table *child)
{
    for (const struct known_table *table = seen.tables; table < seen.tables + seen.count; table++) {
        if (table->level > child->level && child->first_va >= table->first_va &&
            (child->first_va - table->first_va) / rig_reach(rig, table->level) <
                table->entries[table->begun - 1])
            EXPECT(table->begun == table->ended);
    }
}

static void see_beginning(struct rig *rig, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    struct known_table *table = table_of(rig, update);

    EXPECT(table->begun < GENERATIONS);
    table->entries[table->begun++] = update->NumPageTableEntries;
}

static void see_end(struct rig *rig, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    static const DXGK_PTE zero;
    struct known_table *table = table_of(rig, update);

    EXPECT(update->Flags.Repeat && !update->StartIndex && !update->hAllocation);
    EXPECT(memcmp(&update->pPageTableEntries[0], &zero, sizeof zero) == 0);
    EXPECT(table->ended < table->begun);
    EXPECT(update->NumPageTableEntries == table->entries[table->ended]);
    if (seen.process_ends)
        expect_orphan(rig, table);
    table->ended++;
    seen.ends++;
    seen.whole_flushes = 0;
}

static void see(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_FLUSH_TLB && args->FlushTlb.hProcess == seen.process)
        seen.whole_flushes +=
            !args->FlushTlb.StartVirtualAddress && !args->FlushTlb.EndVirtualAddress;
    if (args->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE ||
        args->UpdatePageTable.hProcess != seen.process)
        return;
    if (args->UpdatePageTable.Flags.InitialUpdate)
        see_beginning(rig, &args->UpdatePageTable);
    else if (args->UpdatePageTable.Flags.NotifyEviction)
        see_end(rig, &args->UpdatePageTable);
}

static struct rig *start(unsigned model, enum rig_tables tables, bool invalidates)
{
    struct rig_config config = rig_model(model);
    struct rig *rig;

    config.tables = tables;
    config.invalidates_tables = invalidates;
    memset(&seen, 0, sizeof seen);
    rig = rig_new(&config);
    rig->watch = see;
    EXPECT(rig_start(rig) == STATUS_SUCCESS);
    EXPECT(rig_open(rig) == STATUS_SUCCESS);
    return rig;
}

/* PT-035. The first mapping has a small root, the second one a large one where roots grow. */
static void play(unsigned model, enum rig_tables tables, bool invalidates)
{
    struct rig *rig = start(model, tables, invalidates);
    struct vidmm_map_request far = {.bytes = 8 * PAGE_BYTES, .va = FAR_APART};
    struct rig_object objects[2];
    uint64_t va;

    seen.process = rig->process->space.driver_process;
    for (unsigned i = 0; i < 2; i++) {
        rig_object(rig, 8, 1, &objects[i]);
        rig_make_resident(rig, &objects[i]);
    }
    rig_map(rig, &objects[0]);
    rig_gpu(rig, &objects[0], 4);
    far.allocation = objects[1].allocation;
    EXPECT(vidmm_map_gpu_va(rig->process, &far, &va) == STATUS_SUCCESS);
    rig_drain(rig);
    objects[1].va = va;
    rig_gpu(rig, &objects[1], 4);
    EXPECT(seen.count >= (tables == RIG_TABLES_GROWING ? 3 : 5));
    EXPECT(seen.ends == (invalidates && tables == RIG_TABLES_GROWING));
    for (unsigned i = 0; i < 2; i++) {
        rig_evict(rig, &objects[i]);
        rig_destroy_object(rig, &objects[i]);
    }
    rig_drain(rig);
    seen.process_ends = true;
    rig_free(rig);
    EXPECT(!invalidates || seen.whole_flushes == 1);
}

static void every_table_of_a_process_that_ends_is_told_of(void **state)
{
    static const enum rig_tables shapes[] = {RIG_TABLES_PLAIN, RIG_TABLES_SMALL, RIG_TABLES_GROWING,
                                             RIG_TABLES_ONE_LEAF, RIG_TABLES_DUAL};

    for (unsigned model = 1; model < RIG_MODELS; model++) {
        for (unsigned i = 0; i < ARRAY_COUNT(shapes); i++) {
            /* A root that grows is larger than the one page that tables in system memory have. */
            if (shapes[i] == RIG_TABLES_GROWING &&
                rig_model(model).mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
                continue;
            play(model, shapes[i], true);
            for (unsigned j = 0; j < seen.count; j++)
                EXPECT(seen.tables[j].begun && seen.tables[j].ended == seen.tables[j].begun);
        }
    }
}

static void a_driver_that_does_not_ask_for_it_hears_of_none(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        play(model, RIG_TABLES_PLAIN, false);
        EXPECT(seen.count && !seen.ends);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_of_a_process_that_ends_is_told_of),
        cmocka_unit_test(a_driver_that_does_not_ask_for_it_hears_of_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
