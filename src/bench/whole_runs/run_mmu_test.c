/*
 * Whole runs about page tables: what entries say, and the shapes that tables can have.
 */
#include "bench/run/run.h"
#include "bench/whole_runs/test_run.h"

#include "base/bits.h"
#include "workload/generate/generate.h"

#include <drydock/sgpu.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct workload *parse(const char *text)
{
    struct workload_error error;
    struct workload *workload;

    if (!workload_parse(text, strlen(text), "test.case", &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static struct run_result *execute(struct workload *workload, const struct run_tamper *tamper)
{
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    config = test_config(workload);
    config.tamper = tamper;
    run_execute(&config, workload, result);
    return result;
}

static void finish(struct run_result *result)
{
    run_result_fini(result);
    free(result);
}

/* ---- Protections ----------------------------------------------------------------------------- */

static const char unique_text[] =
    "drydock-case 1\n"
    "alloc a size=1M flags=nomap\n"
    "map a va=0x200000000000 size=512K driver-protection=0x8000000000000001\n"
    "map a va=0x200001000000 offset=512K size=512K driver-protection=1\n"
    "map a va=0x200002000000 size=64K driver-protection=0x8000000000000001\n"
    "map a va=0x200003000000 offset=508K size=8K driver-protection=1\n"
    "map a va=0x200004000000 offset=512K size=64K driver-protection=0x8000000000000001\n";

static void a_mapping_that_conflicts_with_a_unique_protection_fails(void **state)
{
    struct workload *workload = parse(unique_text);
    struct run_result *result = execute(workload, NULL);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->finding_count, 2);
    assert_int_equal(result->findings[0].line, 6);
    assert_int_equal(result->findings[1].line, 7);
    assert_non_null(strstr(result->findings[0].text, "0xc000000d"));
    finish(result);
    workload_free(workload);
}

/* The line is told, and nothing is said of tables that could not become what the lines say. */
static void an_address_that_the_board_does_not_have_is_told_at_its_line(void **state)
{
    struct workload *workload =
        parse("drydock-case 1\noption page-table-levels 2\nalloc a size=64K flags=nomap\n"
              "pte p0 map va=0x600000000000 segment=local page=0x10 pages=4\n"
              "pte p0 unmap va=0x600000001000 pages=1\n"
              "map a va=0x10000000000\n"
              "map a va=0x8000000000\n");
    struct run_result *result = execute(workload, NULL);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->finding_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(result->findings[i].line, 4 + i);
        assert_non_null(strstr(result->findings[i].text, "of this board have 40 bits"));
    }
    finish(result);
    workload_free(workload);
}

/* Entries that such a GPU does not look at are asked for by the case: no word about the driver. */
static void a_line_that_cuts_a_gpu_page_of_local_memory_is_told(void **state)
{
    static const struct {
        const char *lines;
        bool is_told;
    } cases[] = {
        {"pte p0 map va=0x4000000000 segment=local page=0 pages=16\n", false},
        {"pte p0 map va=0x4000001000 segment=local page=1 pages=1\n", true},
        {"pte p0 map va=0x4000010000 segment=local page=1 pages=16\n", true},
        {"pte p0 map va=0x4000010000 segment=local page=16 pages=15\n", true},
        {"pte p0 map va=0x4000001000 segment=system page=1 pages=1\n", false},
        {"pte p0 unmap va=0x4000001000 pages=1\n", false},
        {"pte p0 map va=0x4000001000 segment=system page=1 pages=4\n"
         "pte p0 unmap va=0x4000002000 pages=1\n",
         false},
        {"pte p0 map va=0x4000010000 segment=local page=16 pages=16\n"
         "pte p0 unmap va=0x400000f000 pages=1\n"
         "pte p0 unmap va=0x4000020000 pages=1\n"
         "pte p0 unmap va=0x400000f000 pages=18\n",
         false},
        {"pte p0 map va=0x4000010000 segment=local page=16 pages=16\n"
         "pte p0 unmap va=0x400000f000 pages=2\n",
         true},
        {"pte p0 map va=0x4000010000 segment=local page=16 pages=16\n"
         "pte p0 map va=0x400001f000 segment=system page=1 pages=1\n",
         true},
        {"pte p0 map va=0x4000010000 segment=local page=16 pages=16\n"
         "pte p0 unmap va=0x4000010000 pages=16\n"
         "pte p0 map va=0x400001f000 segment=system page=1 pages=1\n"
         "pte p0 unmap va=0x400001f000 pages=2\n",
         false},
        {"process p1\npte p1 map va=0x4000010000 segment=local page=16 pages=16\n"
         "pte p0 map va=0x400001f000 segment=system page=1 pages=1\n",
         false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct workload *workload;
        struct run_result *result;
        char text[512];

        snprintf(text, sizeof text, "drydock-case 1\noption gpu-page 64K\nprocess p0\n%s",
                 cases[i].lines);
        workload = parse(text);
        result = execute(workload, NULL);
        assert_int_equal(result->outcome, cases[i].is_told ? RUN_FINDINGS : RUN_CLEAN);
        assert_int_equal(result->finding_count, cases[i].is_told);
        if (cases[i].is_told)
            assert_non_null(
                strstr(result->findings[0].text, "GPU pages of this board have 65536 bytes"));
        finish(result);
        workload_free(workload);
    }
}

static NTSTATUS refuse_process(struct miniport *self, HANDLE adapter, DXGKARG_CREATEPROCESS *args)
{
    return args->Flags.SystemProcess ? miniport_create_process(self->next, adapter, args)
                                     : STATUS_UNSUCCESSFUL;
}

static struct miniport *add_refusal(void *context, struct miniport *next)
{
    static struct miniport_ops ops;
    static struct miniport layer;

    ops = miniport_forward_ops;
    ops.create_process = refuse_process;
    layer = (struct miniport){.ops = &ops, .next = next};
    return &layer;
}

/* There is nothing to unmap when the run is taken down. */
static void a_process_that_the_driver_refuses_ends_the_run(void **state)
{
    struct workload *workload =
        parse("drydock-case 1\nprocess p0\n"
              "pte p0 map va=0x200000000000 segment=local page=0x10 pages=4\n");
    struct run_config config = test_config(workload);
    struct run_result *result;

    config.add_layer = add_refusal;
    result = test_execute(&config, workload);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_int_equal(result->translations_checked, 0);
    test_finish(result);
}

/* It is mapped where the manager chooses: not between two tiles, where the client's next one goes.
 */
static void a_buffer_of_a_present_leaves_the_addresses_of_tiles_alone(void **state)
{
    struct workload *workload = parse("drydock-case 1\n"
                                      "option page-tables gpu-physical\n"
                                      "option page-table-levels 2\n"
                                      "alloc a3 size=89461\n"
                                      "alloc a6 size=4K\n"
                                      "tile c0 map pool=a3 va=0x4000000000 page=0 pages=16\n"
                                      "tile c0 copy from=0x4000000000 to=0x4000180000 pages=16\n"
                                      "submit c0 present=1 a6:w\n"
                                      "alloc a28 size=150393\n"
                                      "tile c0 map pool=a28 va=0x4000000000 page=0 pages=32\n");
    struct run_config config = test_config(workload);
    struct run_result *result = test_execute(&config, workload);

    test_assert_clean(result);
    test_finish(result);
}

/* Takes the protection out of the entry of VA 0x200000000000. */
static void strip_entry(void *context, const struct run_live *live)
{
    unsigned segment;
    uint64_t root, entries, address, bytes, entry;
    struct page_store *store;
    struct sgpu_walk walk;
    struct vidmm_segment_info info = {0};

    assert_true(vidmm_process_root(live->processes[0], &segment, &root, &entries));
    if (segment)
        vidmm_segment_info(live->vidmm, segment, &info);
    sgpu_mmu_walk(live->gpu, (segment ? info.base : SGPU_PA_SYSTEM) + root, 0x200000000000, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_int_equal(walk.pte >> SGPU_PTE_PROTECTION_SHIFT, 9);
    assert_true(sgpu_resolve(live->gpu, walk.tables_pa[0], PAGE_BYTES, &store, &address, &bytes));
    entry = walk.pte & SGPU_PTE_ADDRESS_MASK;
    entry |= SGPU_PTE_VALID | (walk.pte & SGPU_PTE_SYSTEM);
    page_store_write(store, address, &entry, sizeof entry); /* index 0 of its table */
}

static void a_lost_protection_is_found_and_named(void **state)
{
    struct workload *workload = parse("drydock-case 1\n"
                                      "alloc a size=64K flags=nomap\n"
                                      "map a va=0x200000000000 protect=nx driver-protection=9\n"
                                      "submit c0 a:w\n"
                                      "wait all\n");
    const struct run_tamper tamper = {.op_index = UINT32_MAX, .fn = strip_entry};
    struct run_result *result = execute(workload, &tamper);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->translation_mismatches, 1);
    assert_non_null(strstr(result->findings[0].text, "'a' at VA 0x200000000000"));
    assert_string_equal(result->findings[0].rule, "PT-032");
    finish(result);
    workload_free(workload);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static struct workload *load(const char *name)
{
    struct workload_error error;
    struct workload *workload;
    char path[512];

    snprintf(path, sizeof path, "%s/cases/%s", DRYDOCK_SOURCE_DIR, name);
    if (!workload_load(path, &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static struct workload *generate(const char *seed)
{
    const char *const settings[] = {seed, "ops=300"};
    struct workload_error error;
    struct workload *workload;

    if (!workload_generate("random", settings, ARRAY_COUNT(settings), &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static void set(struct workload *workload, const char *key, const char *value)
{
    struct workload_error error;

    if (!workload_set_option(workload, key, value, &error))
        fail_msg("%s", error.text);
}

/* Plays the workload with the options that are set by now. */
static void assert_plays_cleanly(struct workload *workload)
{
    struct run_result *result;

    set(workload, "model", "gpummu");
    result = execute(workload, NULL);
    for (uint32_t i = 0; i < result->finding_count; i++)
        fprintf(stderr, "  line %u: %s\n", result->findings[i].line, result->findings[i].text);
    if (result->outcome != RUN_CLEAN)
        fail_msg("%s: %s %s", result->case_name, run_outcome_name(result->outcome), result->error);
    assert_int_equal(result->mismatches, 0);
    assert_int_equal(result->translation_mismatches, 0);
    finish(result);
}

/* S-14, single PTE: whoever writes the tables, and whatever is said of those that go. */
static void a_range_falls_back_to_4k_entries(void **state)
{
    static const char *const modes[] = {"gpu-virtual", "gpu-physical", "cpu"};

    for (size_t i = 0; i < 2 * ARRAY_COUNT(modes); i++) {
        struct workload *workload = load("sequences/S-14-64k-pages-single.case");
        struct run_result *result;

        set(workload, "page-tables", modes[i / 2]);
        set(workload, "clear-page-tables", i % 2 ? "yes" : "no");
        result = execute(workload, NULL);
        assert_int_equal(result->outcome, RUN_CLEAN);
        assert_int_equal(result->mismatches, 0);
        assert_int_equal(result->statistics.fallen_back_tables, 1);
        assert_true(result->rules.evaluated[RULE_PT_040] > 0);
        assert_true(result->rules.evaluated[RULE_PT_039] > 0);
        finish(result);
        workload_free(workload);
    }
}

/* Tables in system memory are pages at most, so the CPU writes only those of four levels and up. */
static void every_number_of_levels_plays_cleanly(void **state)
{
    static const char *const levels[] = {"2", "3", "4", "5", "6"};
    static const char *const modes[] = {"gpu-virtual", "gpu-physical", "cpu"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        for (size_t mode = 0; mode < (i < 2 ? 2 : ARRAY_COUNT(modes)); mode++) {
            struct workload *workloads[] = {load("evict-and-restore.case"), generate("seed=1"),
                                            generate("seed=2")};

            for (size_t w = 0; w < ARRAY_COUNT(workloads); w++) {
                set(workloads[w], "page-table-levels", levels[i]);
                set(workloads[w], "page-tables", modes[mode]);
                assert_plays_cleanly(workloads[w]);
                workload_free(workloads[w]);
            }
        }
    }
}

static void every_number_of_levels_plays_cleanly_with_64k_pages(void **state)
{
    static const char *const levels[] = {"3", "4", "5", "6"};
    static const char *const modes[] = {"gpu-virtual", "gpu-physical"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        struct workload *workloads[] = {load("evict-and-restore.case"), generate("seed=3"),
                                        generate("seed=4")};

        for (size_t w = 0; w < ARRAY_COUNT(workloads); w++) {
            set(workloads[w], "page-table-levels", levels[i]);
            set(workloads[w], "page-tables", modes[(i + w) % ARRAY_COUNT(modes)]);
            set(workloads[w], "pages-64k", "dual");
            assert_plays_cleanly(workloads[w]);
            workload_free(workloads[w]);
        }
    }
}

/*
 * So much goes in and out that scratch begins again from its start, where the entries of pieces of
 * 64 KiB and of 4 KiB that have been there are not in the same leaf tables.
 */
static void scratch_is_used_again_for_the_other_kind_of_leaf(void **state)
{
    static char text[32 * KiB];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "drydock-case 1\n"
                                   "option page-table-levels 6\n"
                                   "option pages-64k dual\n"
                                   "option page-tables cpu\n"
                                   "option local-memory 3M\n");
    struct workload *workload;

    for (unsigned i = 0; i < 24; i++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "alloc a%u size=%uK segments=local\n",
                             i, 64 * (1 + i % 4) + (i % 3 ? 4 * (i % 5) : 0));
    for (unsigned i = 0; i < 12 * 24; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "submit c0 a%u:%s\n",
                                 (i % 24 * 7 + i / 24 * 5) % 24, i < 24 ? "w" : "rw");
    assert_true(used < sizeof text);
    workload = parse(text);
    assert_plays_cleanly(workload);
    workload_free(workload);
}

static void every_number_of_levels_plays_cleanly_with_large_pages(void **state)
{
    static const char *const levels[] = {"2", "3", "4", "5", "6"};
    static const char *const modes[] = {"gpu-virtual", "gpu-physical"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        struct workload *workloads[] = {load("evict-and-restore.case"), load("large-pages.case"),
                                        generate("seed=5")};

        for (size_t w = 0; w < ARRAY_COUNT(workloads); w++) {
            set(workloads[w], "page-table-levels", levels[i]);
            set(workloads[w], "page-tables", modes[(i + w) % ARRAY_COUNT(modes)]);
            set(workloads[w], "large-pages", "yes");
            assert_plays_cleanly(workloads[w]);
            workload_free(workloads[w]);
        }
    }
}

static void tables_that_go_early_or_cleared_play_cleanly(void **state)
{
    static const char *const modes[] = {"gpu-virtual", "gpu-physical", "cpu"};
    static const char *const answers[][2] = {{"yes", "no"}, {"no", "yes"}, {"yes", "yes"}};
    static const char *const pages[] = {"none", "dual", "none"};

    for (size_t i = 0; i < ARRAY_COUNT(answers); i++) {
        for (size_t mode = 0; mode < ARRAY_COUNT(modes); mode++) {
            struct workload *workloads[] = {load("two-processes.case"), generate("seed=6"),
                                            generate("seed=7")};

            for (size_t w = 0; w < ARRAY_COUNT(workloads); w++) {
                set(workloads[w], "page-tables", modes[mode]);
                set(workloads[w], "free-page-tables", answers[i][0]);
                set(workloads[w], "clear-page-tables", answers[i][1]);
                set(workloads[w], "pages-64k", pages[w]);
                set(workloads[w], "page-table-levels", w == 2 ? "6" : "4");
                assert_plays_cleanly(workloads[w]);
                workload_free(workloads[w]);
            }
        }
    }
}

/* PT-044 and PT-045, where the manager and the player choose addresses, and where the case does. */
static void a_reserved_range_is_nobodys_at_any_number_of_levels(void **state)
{
    static const char *const levels[] = {"2", "3", "4", "5", "6"};
    static const char *const modes[] = {"gpu-virtual", "gpu-physical"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        struct workload *workloads[] = {load("two-processes.case"), generate("seed=8"),
                                        generate("seed=9")};

        for (size_t w = 0; w < ARRAY_COUNT(workloads); w++) {
            struct run_result *result;

            set(workloads[w], "page-table-levels", levels[i]);
            set(workloads[w], "page-tables", modes[(i + w) % ARRAY_COUNT(modes)]);
            set(workloads[w], "reserved-range", "yes");
            set(workloads[w], "model", "gpummu");
            result = execute(workloads[w], NULL);
            assert_int_equal(result->outcome, RUN_CLEAN);
            assert_int_equal(result->mismatches, 0);
            /* One call for each process, the paging process among them. */
            assert_int_equal(result->rules.evaluated[RULE_PT_044], workloads[w]->process_count + 1);
            assert_true(result->rules.evaluated[RULE_PT_045] > workloads[w]->process_count);
            finish(result);
            workload_free(workloads[w]);
        }
    }
}

static void a_mapping_into_a_reserved_range_fails(void **state)
{
    static const char *const answers[] = {"no", "yes"};

    for (size_t i = 0; i < ARRAY_COUNT(answers); i++) {
        struct workload *workload = parse("drydock-case 1\n"
                                          "option model gpummu\n"
                                          "alloc a size=64K flags=nomap\n"
                                          "map a va=0x7ffffff000 size=4K\n"
                                          "map a va=0x10000000000 size=4K\n"
                                          "map a va=0x8000000000 size=4K\n");
        struct run_result *result;

        set(workload, "reserved-range", answers[i]);
        result = execute(workload, NULL);
        assert_int_equal(result->finding_count, i);
        if (i) {
            assert_int_equal(result->findings[0].line, 6);
            assert_non_null(strstr(result->findings[0].text, "0xc0000708"));
        }
        finish(result);
        workload_free(workload);
    }
}

/* PT-035 holds for the root that a larger one has taken the place of as well. */
static void a_root_that_grows_is_cleared_before_it_goes(void **state)
{
    static const char *const modes[] = {"gpu-virtual", "gpu-physical"};

    for (size_t mode = 0; mode < ARRAY_COUNT(modes); mode++) {
        struct workload *workload = test_parse("drydock-case 1\n"
                                               "option page-table-levels 2\n"
                                               "option clear-page-tables yes\n"
                                               "context c save=4440 save-in=system save-by=va\n"
                                               "alloc a size=4K va=0x1000000000\n"
                                               "submit c a:w\n"
                                               "wait all\n"
                                               "read a\n");

        set(workload, "page-tables", modes[mode]);
        assert_plays_cleanly(workload);
        workload_free(workload);
    }
}

static void updates_of_idle_address_spaces_play_cleanly(void **state)
{
    static const char *const modes[] = {"gpu-virtual", "gpu-physical", "cpu"};

    for (size_t mode = 0; mode < ARRAY_COUNT(modes); mode++) {
        struct workload *workloads[] = {load("evict-and-restore.case"), load("two-processes.case"),
                                        generate("seed=8")};

        for (size_t w = 0; w < ARRAY_COUNT(workloads); w++) {
            set(workloads[w], "page-tables", modes[mode]);
            set(workloads[w], "idle-updates", "yes");
            assert_plays_cleanly(workloads[w]);
            workload_free(workloads[w]);
        }
    }
}

/* PT-006: what the driver would need is not lawful, so the adapter does not start. */
static void large_tables_in_system_memory_are_refused(void **state)
{
    struct workload *workload = load("main.case");
    struct run_result *result;

    set(workload, "model", "gpummu");
    set(workload, "page-table-levels", "3");
    set(workload, "page-tables", "cpu");
    result = execute(workload, NULL);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "PT-006"));
    finish(result);
    workload_free(workload);
}

static void entries_without_protections_play_cleanly(void **state)
{
    struct workload *workload = load("evict-and-restore.case");

    set(workload, "page-table-entries", "plain");
    assert_plays_cleanly(workload);
    workload_free(workload);
}

/* ---- Room ------------------------------------------------------------------------------------ */

static void page_tables_leave_and_move_for_what_has_to_be_in_one_piece(void **state)
{
    static const enum run_update_mode modes[] = {RUN_UPDATE_GPU_VIRTUAL, RUN_UPDATE_GPU_PHYSICAL};

    for (unsigned i = 0; i < ARRAY_COUNT(modes); i++) {
        for (unsigned clears = 0; clears < 2; clears++) {
            static const char *const names[] = {"tables-that-leave.case", "compaction.case",
                                                "compaction-of-a-primary.case"};

            for (unsigned n = 0; n < ARRAY_COUNT(names); n++) {
                struct workload *workload = load(names[n]);
                struct run_result *result = calloc(1, sizeof *result);
                struct run_config config;

                assert_non_null(result);
                run_config_defaults(&config);
                config.model = RUN_GPUMMU;
                config.update_mode = modes[i];
                config.mmu.clears_tables = clears;
                run_config_from_workload(&config, workload);
                config.reference = RUN_REFERENCE_NEVER;
                config.check_interval = 1;
                run_execute(&config, workload, result);
                assert_int_equal(result->outcome, RUN_CLEAN);
                assert_true(result->statistics.evicted_tables > 0);
                assert_int_equal(result->statistics.compactions, n > 0);
                assert_int_equal(result->statistics.moved_tables > 0, n > 0);
                finish(result);
                workload_free(workload);
            }
        }
    }
}

/*
 * TLB-003. Entries of tiles go invalid for a pool that is not resident, in the same update in which
 * the pages that they led to are shown elsewhere: what goes is named as that pool's, not as the
 * next one's.
 */
static void tiles_of_a_pool_move_beside_those_of_one_that_is_out(void **state)
{
    struct workload *workload =
        test_parse("drydock-case 1\n"
                   "option model gpummu\n"
                   "option page-tables cpu\n"
                   "alloc in size=544K\nalloc out size=116K\n"
                   "submit c0 in:rw\n"
                   "tile c0 map pool=in va=0x4000000000 page=0 pages=96\n"
                   "tile c0 copy from=0x4000000000 to=0x4000180000 pages=96\n"
                   "tile c0 map pool=out va=0x4000000000 page=0 pages=16\n"
                   "tile c0 copy from=0x4000000000 to=0x4000180000 pages=16\n"
                   "tile c0 copy from=0x4000170000 to=0x4000020000 pages=96\n"
                   "submit c0 in:r out:rw\nwait all\n");

    assert_plays_cleanly(workload);
    workload_free(workload);
}

/* A line that maps 56K from 172K on takes five pages of 16K: nothing else is placed in these. */
static void mappings_take_whole_pages_of_the_gpu(void **state)
{
    struct workload *workload = test_parse("drydock-case 1\n"
                                           "option model gpummu\n"
                                           "option gpu-page 16K\n"
                                           "alloc a size=384K\n"
                                           "map a va=0x1000110000 offset=172K size=56K\n");

    assert_plays_cleanly(workload);
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_that_the_board_does_not_have_is_told_at_its_line),
        cmocka_unit_test(a_line_that_cuts_a_gpu_page_of_local_memory_is_told),
        cmocka_unit_test(a_process_that_the_driver_refuses_ends_the_run),
        cmocka_unit_test(a_buffer_of_a_present_leaves_the_addresses_of_tiles_alone),
        cmocka_unit_test(a_mapping_that_conflicts_with_a_unique_protection_fails),
        cmocka_unit_test(a_lost_protection_is_found_and_named),
        cmocka_unit_test(every_number_of_levels_plays_cleanly),
        cmocka_unit_test(every_number_of_levels_plays_cleanly_with_64k_pages),
        cmocka_unit_test(a_range_falls_back_to_4k_entries),
        cmocka_unit_test(scratch_is_used_again_for_the_other_kind_of_leaf),
        cmocka_unit_test(every_number_of_levels_plays_cleanly_with_large_pages),
        cmocka_unit_test(tables_that_go_early_or_cleared_play_cleanly),
        cmocka_unit_test(a_reserved_range_is_nobodys_at_any_number_of_levels),
        cmocka_unit_test(a_mapping_into_a_reserved_range_fails),
        cmocka_unit_test(a_root_that_grows_is_cleared_before_it_goes),
        cmocka_unit_test(updates_of_idle_address_spaces_play_cleanly),
        cmocka_unit_test(large_tables_in_system_memory_are_refused),
        cmocka_unit_test(entries_without_protections_play_cleanly),
        cmocka_unit_test(tiles_of_a_pool_move_beside_those_of_one_that_is_out),
        cmocka_unit_test(mappings_take_whole_pages_of_the_gpu),
        cmocka_unit_test(page_tables_leave_and_move_for_what_has_to_be_in_one_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
