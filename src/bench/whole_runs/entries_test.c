/*
 * A driver that writes a wrong entry of a page table: the first cause of all that is told is the
 * operation that wrote it, however late and wherever the GPU runs into it.
 */
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

#include "base/services.h"

#define MOST_ENTRIES  4096u
#define TABLE_ENTRIES 512u /* of the Drydock GPU */

/* One word of an array that is about to be written. */
typedef void change(DXGK_PTE *entry, UINT index, UINT level);
typedef void turn(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update);

static struct {
    change *change; /* of each entry that is valid */
    turn *turn;     /* of the operation */
} mistake;          /* of the driver "test:entries" */

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    static DXGK_PTE entries[MOST_ENTRIES];
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &as.UpdatePageTable;
    UINT count = update->Flags.Repeat ? 1 : update->NumPageTableEntries;

    if (arg->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || !update->pPageTableEntries ||
        count > MOST_ENTRIES)
        return miniport_forward_build_paging_buffer(self, object, arg);
    memcpy(entries, update->pPageTableEntries, count * sizeof entries[0]);
    for (UINT i = 0; mistake.change && i < count; i++)
        if (entries[i].Valid)
            mistake.change(&entries[i], update->StartIndex + i, update->PageTableLevel);
    update->pPageTableEntries = entries;
    if (mistake.turn)
        mistake.turn(update);
    return test_forward_build(self, object, arg, &as);
}

static NTSTATUS wrap(const struct run_driver *driver, const struct base_services *services,
                     struct miniport *next, struct miniport **out_layer)
{
    test_put_layer(services, next, out_layer)->build_paging_buffer = build;
    return STATUS_SUCCESS;
}

static bool find(const char *name, struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = "test:entries", .wrap = wrap};
    return strcmp(name, "test:entries") == 0;
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

static void next_page(DXGK_PTE *entry, UINT index, UINT level)
{
    entry->PageAddress += level == 0;
}

static void next_table(DXGK_PTE *entry, UINT index, UINT level)
{
    entry->PageAddress += level == 1;
}

static void no_directory(DXGK_PTE *entry, UINT index, UINT level)
{
    entry->Valid = level < 2;
}

static void read_only(DXGK_PTE *entry, UINT index, UINT level)
{
    entry->ReadOnly |= level == 0;
}

static void no_execute(DXGK_PTE *entry, UINT index, UINT level)
{
    entry->NoExecute |= level == 0;
}

static void zero(DXGK_PTE *entry, UINT index, UINT level)
{
    entry->Zero |= level == 0;
}

static void one_behind(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    if (!update->Flags.Repeat)
        update->StartIndex++;
}

static void last_missing(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    if (!update->Flags.Repeat)
        update->NumPageTableEntries--;
}

/* What takes mappings away, not what makes a table; and within the table. */
static void one_too_many(DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    if (update->Flags.Repeat && !update->Flags.InitialUpdate &&
        update->StartIndex + update->NumPageTableEntries < TABLE_ENTRIES)
        update->NumPageTableEntries++;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static struct run_result *play(const char *update_mode, bool is_planted)
{
    static const char text[] = "drydock-case 1\n"
                               "option model gpummu\n"
                               "option local-memory 2M\n"
                               "context c0\ncontext c1\n"
                               "alloc a size=1M\n"
                               "alloc b size=1M va=0x300000000\n"
                               "alloc c size=1M va=0x300100000\n"
                               "submit c0 a:w\nsubmit c1 b:w\nsubmit c0 c:w\n"
                               "free b\n"
                               "submit c0 a:r c:rw\nsubmit c1 a:rw\n"
                               "alloc d size=1M\n"
                               "submit c1 d:w\nsubmit c0 a:r c:r\nread d\n";
    struct workload *workload = test_parse(text);
    struct run_config config;
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    test_option(workload, "page-tables", update_mode);
    config = test_config(workload);
    config.driver = is_planted ? "test:entries" : "ref";
    run_execute(&config, workload, result);
    run_result_find_causes(result);
    workload_free(workload);
    return result;
}

static bool is_about_entries(const struct run_finding *finding, const char *rule)
{
    static const char where[] = "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE).";

    return strcmp(finding->rule, rule) == 0 &&
           strncmp(finding->detail.where, where, strlen(where)) == 0;
}

/*
 * The one cause is about an entry; that the GPU faulted follows from it. Without a rule there is no
 * cause.
 */
static void expect_entry(const struct run_result *result, const char *name, const char *rule)
{
    unsigned causes = 0;

    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct run_finding *finding = &result->findings[i];

        if (finding->consequence_of || run_finding_is_remark(finding->kind))
            continue;
        causes++;
        if (!rule || !is_about_entries(finding, rule))
            fail_msg("%s: %s %s at %s: %s", name, run_finding_kind_name(finding->kind),
                     finding->rule, finding->detail.where, finding->text);
    }
    if (causes != (rule != NULL))
        fail_msg("%s: %u causes", name, causes);
}

static void the_first_cause_is_the_operation_that_wrote_the_entry(void **state)
{
    static const char *const modes[] = {"gpu-virtual", "gpu-physical", "cpu"};
    static const struct {
        const char *name;
        change *change;
        turn *turn;
        const char *rule; /* PT-016: of the operation that was not asked for the entry */
    } mistakes[] = {
        {"next page", next_page, NULL, "PT-017"},
        {"next table", next_table, NULL, "PT-017"},
        {"no directory", no_directory, NULL, "PT-021"},
        {"read-only", read_only, NULL, "PT-017"},
        {"no-execute", no_execute, NULL, "PT-017"},
        {"zero", zero, NULL, "PT-017"},
        {"one behind", NULL, one_behind, "PT-017"},
        {"last missing", NULL, last_missing, "PT-021"},
        {"one too many", NULL, one_too_many, "PT-016"},
    };

    run_add_drivers(find);
    for (unsigned mode = 0; mode < ARRAY_COUNT(modes); mode++) {
        struct run_result *result = play(modes[mode], false);

        test_assert_clean(result);
        test_finish(result);
        for (unsigned i = 0; i < ARRAY_COUNT(mistakes); i++) {
            char name[64];

            snprintf(name, sizeof name, "%s, %s", mistakes[i].name, modes[mode]);
            mistake.change = mistakes[i].change;
            mistake.turn = mistakes[i].turn;
            result = play(modes[mode], true);
            /* Where nothing is mapped beside what goes, an invalid entry more harms nobody. */
            if (mistake.turn == one_too_many && strcmp(modes[mode], "gpu-physical") == 0)
                expect_entry(result, name, NULL);
            else
                expect_entry(result, name, mistakes[i].rule);
            test_finish(result);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_cause_is_the_operation_that_wrote_the_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
