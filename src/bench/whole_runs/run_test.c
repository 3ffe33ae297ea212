/*
 * Whole runs: the bundled cases and small ones made here, in both models.
 */
#include "bench/drivers/drivers.h"
#include "bench/run/run.h"

#include "base/bits.h"
#include "miniport/miniport.h"

#include <drydock/sgpu.h>

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct workload *parse(const char *text)
{
    struct workload_error error;
    struct workload *workload;

    if (!workload_parse(text, strlen(text), "test.case", &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

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

static struct run_config config_for(const struct workload *workload, enum run_model model)
{
    struct run_config config;

    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = model;
    config.reference = RUN_REFERENCE_NEVER;
    if (config.remaps_dma && model == RUN_PHYSICAL) { /* whose levels know of none */
        config.remaps_dma = false;
        config.wddm = 0;
    }
    if (config.wddm && !run_driver_entry(model, &config.wddm)) /* a level of the other model */
        config.wddm = 0;
    return config;
}

static void print_result(const char *name, const struct run_result *result)
{
    fprintf(stderr, "%s, %s: %s %s\n", name, run_model_name(result->config.model),
            run_outcome_name(result->outcome), result->error);
    for (uint32_t i = 0; i < result->finding_count; i++)
        fprintf(stderr, "  line %u: %s\n", result->findings[i].line, result->findings[i].text);
}

static struct run_result *execute(const struct run_config *config, const struct workload *workload)
{
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    run_execute(config, workload, result);
    return result;
}

static void finish(struct run_result *result)
{
    run_result_fini(result);
    free(result);
}

static void assert_clean(const char *name, const struct run_result *result)
{
    if (result->outcome != RUN_CLEAN)
        print_result(name, result);
    assert_int_equal(result->outcome, RUN_CLEAN);
    assert_int_equal(result->mismatches, 0);
    assert_int_equal(result->translation_mismatches, 0);
    assert_int_equal(result->failed_submissions, 0);
}

static const struct run_finding *find_finding(const struct run_result *result,
                                              enum run_finding_kind kind)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        if (result->findings[i].kind == kind)
            return &result->findings[i];
    }
    print_result("no such finding", result);
    fail_msg("no finding of kind %s", run_finding_kind_name(kind));
    return NULL;
}

/* ---- What is right --------------------------------------------------------------------------- */

static void every_case_plays_cleanly_in_both_models(void **state)
{
    glob_t cases;

    assert_int_equal(glob(DRYDOCK_SOURCE_DIR "/cases/*.case", 0, NULL, &cases), 0);
    for (size_t i = 0; i < cases.gl_pathc; i++) {
        struct workload *workload = load(strrchr(cases.gl_pathv[i], '/') + 1);
        const bool is_others = workload_option(workload, "driver") != NULL; /* of displays alone */

        for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU && !is_others; model++) {
            struct run_config config = config_for(workload, (enum run_model)model);
            struct run_result *result = execute(&config, workload);

            assert_clean(cases.gl_pathv[i], result);
            assert_int_equal(result->operations_played, workload->op_count);
            if (workload->allocation_count)
                assert_true(result->pages_checked > 0);
            finish(result);
        }
        workload_free(workload);
    }
    globfree(&cases);
}

/* 64 KiB go in once, whichever way, and never out. */
static void the_smallest_case_moves_what_it_says(void **state)
{
    struct workload *workload = load("first-page-in.case");
    struct run_config config = config_for(workload, RUN_PHYSICAL);
    struct run_result *result = execute(&config, workload);

    assert_int_equal(result->statistics.moved_in_bytes, 64 * KiB);
    assert_int_equal(result->statistics.moved_out_bytes, 0);
    assert_int_equal(result->statistics.operations[DXGK_OPERATION_TRANSFER], 1);
    assert_int_equal(result->statistics.operations[DXGK_OPERATION_DISCARD_CONTENT], 1);
    assert_int_equal(result->submissions, 2);
    assert_int_equal(result->kernel_ns, 40000);
    assert_int_equal(result->step_count, 4);
    assert_string_equal(result->steps[2].name, "first use");
    assert_int_equal(result->steps[2].moved_in_bytes, 64 * KiB);
    assert_int_equal(result->steps[3].moved_in_bytes, 0);
    finish(result);

    config = config_for(workload, RUN_GPUMMU);
    result = execute(&config, workload);
    assert_int_equal(result->statistics.moved_in_bytes, 64 * KiB);
    assert_int_equal(result->statistics.operations[DXGK_OPERATION_VIRTUAL_TRANSFER], 1);
    assert_true(result->statistics.operations[DXGK_OPERATION_UPDATE_PAGE_TABLE] > 0);
    assert_true(result->statistics.operations[DXGK_OPERATION_FLUSH_TLB] > 0);
    finish(result);
    workload_free(workload);
}

static void the_page_table_case_checks_every_page(void **state)
{
    struct workload *workload = load("page-tables.case");
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct run_result *result = execute(&config, workload);

    assert_clean("page-tables", result);
    assert_int_equal(result->translations_checked, 4 + 4 + 8 + 512);
    finish(result);

    config = config_for(workload, RUN_PHYSICAL);
    result = execute(&config, workload);
    assert_clean("page-tables", result);
    assert_int_equal(result->translations_checked, 0);
    assert_int_equal(result->page_table_lines_skipped, 5);
    finish(result);
    workload_free(workload);
}

static void the_same_seed_gives_the_same_digest(void **state)
{
    struct workload *workload = load("two-processes.case");

    for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        struct run_config config = config_for(workload, (enum run_model)model);
        struct run_result *first = execute(&config, workload);
        struct run_result *second = execute(&config, workload);
        struct run_result *other;

        assert_int_equal(first->digest, second->digest);
        assert_int_equal(first->virtual_time_ns, second->virtual_time_ns);
        config.seed++;
        other = execute(&config, workload);
        assert_clean("another seed", other);
        assert_int_not_equal(first->digest, other->digest);
        finish(first);
        finish(second);
        finish(other);
    }
    workload_free(workload);
}

/* Does more work in less memory: runs of it meet every path of eviction. */
static const char pressure_text[] =
    "drydock-case 1\n"
    "option local-memory 5M\n"
    "alloc a size=2M segments=local flags=cpu-visible\n"
    "alloc b size=1536K flags=cpu-visible\n"
    "alloc c size=1M segments=local flags=cpu-visible\n"
    "alloc d size=300001 segments=aperture flags=cpu-visible,cached\n"
    "alloc e size=1M segments=aperture,local flags=cpu-visible\n"
    "write a\n"
    "write d offset=5 size=70000\n"
    "submit c0 duration=1000 a:r b:w d:r\n"
    "submit c0 duration=1000 b:r c:w\n"
    "submit c0 duration=1000 c:r a:rw e:w\n"
    "free c\n"
    "alloc c size=2M segments=local flags=cpu-visible\n"
    "submit c0 duration=1000 b@4096+100000:rw c:w\n"
    "write b offset=1000 size=9000\n"
    "submit c0 duration=1000 e:r a:r\n"
    "wait all\n"
    "read a\nread b\nread c\nread d\nread e\n"
    "submit c0 duration=1000 b:r\n"
    "submit c0\n"
    "free a\n";

static void pressure_keeps_content_however_the_run_is_set_up(void **state)
{
    static const struct {
        const char *name;
        enum run_update_mode update_mode;
        bool has_tables_in_system_memory;
        uint32_t paging_buffer_bytes;
        unsigned paging_buffer_count, queue_depth, hardware_queue_depth;
        enum machine_scatter scatter;
        bool has_hidden_memory;
    } variants[] = {
        {.name = "as it comes"},
        {.name = "physical updates", .update_mode = RUN_UPDATE_GPU_PHYSICAL},
        {.name = "CPU updates", .update_mode = RUN_UPDATE_CPU},
        {.name = "tables in system memory", .has_tables_in_system_memory = true},
        {.name = "CPU updates, tables in system memory",
         .update_mode = RUN_UPDATE_CPU,
         .has_tables_in_system_memory = true},
        {.name = "small buffers", .paging_buffer_bytes = 4096},
        {.name = "tiny buffers", .paging_buffer_bytes = 512},
        {.name = "one tiny buffer", .paging_buffer_bytes = 512, .paging_buffer_count = 1},
        {.name = "one at a time", .queue_depth = 1, .hardware_queue_depth = 1},
        {.name = "deep", .queue_depth = 64, .hardware_queue_depth = 8},
        {.name = "contiguous pages", .scatter = MACHINE_CONTIGUOUS},
        {.name = "fragmented pages", .scatter = MACHINE_FRAGMENTED},
        {.name = "half of local memory hidden", .has_hidden_memory = true},
    };
    struct workload *workload = parse(pressure_text);

    for (size_t i = 0; i < ARRAY_COUNT(variants); i++) {
        for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
            struct run_config config = config_for(workload, (enum run_model)model);
            struct run_result *result;

            config.update_mode = variants[i].update_mode;
            config.has_tables_in_system_memory = variants[i].has_tables_in_system_memory;
            config.paging_buffer_bytes = variants[i].paging_buffer_bytes;
            config.paging_buffer_count = variants[i].paging_buffer_count;
            config.queue_depth = variants[i].queue_depth;
            config.hardware_queue_depth = variants[i].hardware_queue_depth;
            config.scatter = variants[i].scatter;
            if (variants[i].has_hidden_memory) {
                config.local_bytes = 8 * MiB;
                config.visible_bytes = 4 * MiB;
            }
            config.check_interval = 1;
            result = execute(&config, workload);
            assert_clean(variants[i].name, result);
            assert_true(result->pages_checked > 0);
            if (!variants[i].has_hidden_memory)
                assert_true(result->statistics.evictions > 0);
            finish(result);
        }
    }
    workload_free(workload);
}

/* Two allocations that live at the same time have no use for one address: that stays a finding. */
static void an_address_that_stays_taken_is_a_finding_of_its_line(void **state)
{
    struct workload *workload = parse("drydock-case 1\n"
                                      "option local-memory 8M\n"
                                      "alloc a size=64K segments=local va=0x300000000000\n"
                                      "alloc b size=64K segments=local va=0x300000000000\n"
                                      "submit c0 duration=1000 a:w\n"
                                      "free a\n"
                                      "alloc c size=64K segments=local va=0x300000000000\n"
                                      "submit c0 duration=1000 c:w\n"
                                      "unmap c\n"
                                      "map b va=0x300000000000\n"
                                      "submit c0 duration=1000 b:w\n");
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct run_result *result = execute(&config, workload);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->finding_totals[RUN_FINDING_SUBMISSION], 1);
    assert_int_equal(find_finding(result, RUN_FINDING_SUBMISSION)->line, 4);
    assert_int_equal(result->submissions, 3);
    finish(result);
    workload_free(workload);
}

/*
 * A TiB that nothing is written to costs no time of the processor; more than a run can follow is
 * refused.
 */
static void sizes_that_are_not_played_cost_nothing(void **state)
{
    struct workload *workload = parse("drydock-case 1\n"
                                      "option local-memory 64M\n"
                                      "alloc a size=1024G segments=local\n"
                                      "submit c0 a:r\n"
                                      "wait all\n");

    for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        struct run_config config = config_for(workload, (enum run_model)model);
        clock_t before = clock();
        struct run_result *result = execute(&config, workload);

        assert_int_equal(result->outcome, RUN_FINDINGS);
        /* With physical addresses there is none of that size; else there is no room for it. */
        assert_int_equal(find_finding(result, RUN_FINDING_SUBMISSION)->needed,
                         model == RUN_PHYSICAL ? 0 : 1024 * GiB);
        assert_true(clock() - before < 20 * CLOCKS_PER_SEC);
        finish(result);
    }
    workload_free(workload);

    workload = parse("drydock-case 1\nalloc a size=1024G\nalloc b size=4K\n");
    for (int model = RUN_PHYSICAL; model <= RUN_IOMMU; model++) {
        struct run_config config = config_for(workload, (enum run_model)model);
        struct run_result *result = execute(&config, workload);

        assert_int_equal(result->outcome, RUN_REFUSED);
        assert_non_null(strstr(result->error, "1099511631872 bytes are alive at the peak"));
        finish(result);
    }
    workload_free(workload);
}

/* What does not fit is told against all that could be had, not what is free at the moment. */
static void what_is_available_counts_what_could_be_evicted(void **state)
{
    struct workload *workload = parse("drydock-case 1\n"
                                      "option local-memory 8M\n"
                                      "alloc a size=3M segments=local\n"
                                      "alloc b size=7M segments=local\n"
                                      "alloc c size=3M segments=local\n"
                                      "submit c0 c:w\n"
                                      "wait all\n"
                                      "submit c0 a:w b:w\n"
                                      "wait all\n");
    struct run_config config = config_for(workload, RUN_PHYSICAL);
    struct run_result *result = execute(&config, workload);
    const struct run_finding *finding = find_finding(result, RUN_FINDING_SUBMISSION);

    assert_int_equal(finding->line, 8);
    assert_int_equal(finding->needed, 10 * MiB);
    assert_int_equal(finding->available, 8 * MiB);
    finish(result);
    workload_free(workload);
}

static void a_slowdown_is_measured_against_a_run_without_paging(void **state)
{
    struct workload *workload = load("working-set-cliff.case");
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct run_result *result;

    config.reference = RUN_REFERENCE_ALWAYS;
    result = execute(&config, workload);
    assert_clean("working-set-cliff", result);
    assert_true(result->is_slowdown_measured);
    assert_true(result->slowdown > 1.0);
    assert_true(result->reference_ns >= result->kernel_ns);
    finish(result);
    workload_free(workload);
}

/* ---- What is found --------------------------------------------------------------------------- */

/* 16 pages named 0x1000 and on are in local memory when operation 3 is about to be played. */
static const char watched_text[] = "drydock-case 1\n"
                                   "option local-memory 16M\n"
                                   "alloc watched size=64K segments=local flags=cpu-visible\n"
                                   "write watched key=0x1000\n"
                                   "submit c0 watched:r\n"
                                   "submit c0 watched:r\n"
                                   "wait all\n";

/* The page of the store whose content has this name; fails the test when there is none. */
static uint64_t find_tag(const struct page_store *store, uint64_t tag)
{
    for (uint64_t page = 0; page < page_store_page_count(store); page++) {
        if (page_store_kind(store, page) == PAGE_TAG && page_store_value(store, page) == tag)
            return page;
    }
    fail_msg("content 0x%llx is not in local memory", (unsigned long long)tag);
    return 0;
}

static void flip_byte(void *context, const struct run_live *live)
{
    struct page_store *store = machine_local(live->machine);
    uint64_t address = find_tag(store, 0x1005) * PAGE_BYTES + 123;
    uint8_t byte;

    page_store_read(store, address, &byte, 1);
    byte ^= 0x10;
    page_store_write(store, address, &byte, 1);
}

static void swap_tag(void *context, const struct run_live *live)
{
    struct page_store *store = machine_local(live->machine);

    page_store_write_tag(store, find_tag(store, 0x1009) * PAGE_BYTES, PAGE_BYTES, 0x777);
}

static void assert_tamper_is_found(void (*fn)(void *context, const struct run_live *live),
                                   uint32_t op_index, const char *page, const char *offset)
{
    struct workload *workload = parse(watched_text);

    for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        const struct run_tamper tamper = {.op_index = op_index, .fn = fn};
        struct run_config config = config_for(workload, (enum run_model)model);
        struct run_result *result;
        const struct run_finding *finding;

        config.tamper = &tamper;
        result = execute(&config, workload);
        assert_int_equal(result->outcome, RUN_FINDINGS);
        assert_true(result->mismatches > 0);
        finding = find_finding(result, RUN_FINDING_CONTENT);
        assert_non_null(strstr(finding->text, "watched"));
        assert_non_null(strstr(finding->text, page));
        assert_non_null(strstr(finding->text, offset));
        /* One line that stands alone; bytes and explanation beside it. */
        assert_null(strchr(finding->text, '\n'));
        assert_non_null(strstr(finding->detail.objects, "\nwhere    "));
        assert_non_null(strstr(finding->detail.bytes, "  found "));
        assert_true(finding->detail.where[0] != '\0');
        /* What an operation brings to light tells its call. */
        if (strncmp(finding->detail.where, "DxgkDdi", 7) == 0)
            assert_non_null(strstr(finding->detail.arguments, "hAllocation"));
        else
            assert_string_equal(finding->detail.arguments, "");
        finish(result);
    }
    workload_free(workload);
}

static void a_flipped_byte_of_local_memory_is_found_and_named(void **state)
{
    assert_tamper_is_found(flip_byte, 3, "page 5", "0x507b");
}

static void a_changed_page_is_found_and_named(void **state)
{
    assert_tamper_is_found(swap_tag, 3, "page 9", "0x9000");
}

/* Nothing reads it any more: only the look at everything alive can see it. */
static void a_flipped_byte_at_the_end_is_found(void **state)
{
    assert_tamper_is_found(flip_byte, 5, "page 5", "0x507b");
}

/* Points the entry of VA 0x600000000000 one page further. */
static void bend_entry(void *context, const struct run_live *live)
{
    unsigned segment;
    uint64_t root, entries, address, bytes, entry;
    struct page_store *store;
    struct sgpu_walk walk;
    struct vidmm_segment_info info = {0};

    assert_true(vidmm_process_root(live->processes[0], &segment, &root, &entries));
    if (segment)
        vidmm_segment_info(live->vidmm, segment, &info);
    sgpu_mmu_walk(live->gpu, (segment ? info.base : SGPU_PA_SYSTEM) + root, 0x600000000000, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_true(sgpu_resolve(live->gpu, walk.tables_pa[0], PAGE_BYTES, &store, &address, &bytes));
    entry = walk.pte + PAGE_BYTES;
    page_store_write(store, address, &entry, sizeof entry); /* index 0 of its table */
}

static void a_bent_page_table_entry_is_found_and_named(void **state)
{
    struct workload *workload = load("page-tables.case");
    const struct run_tamper tamper = {.op_index = UINT32_MAX, .fn = bend_entry};
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct run_result *result;
    const struct run_finding *finding;

    config.tamper = &tamper;
    result = execute(&config, workload);
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->translation_mismatches, 1);
    finding = find_finding(result, RUN_FINDING_TRANSLATION);
    assert_non_null(strstr(finding->text, "0x600000000000"));
    assert_string_equal(finding->rule, "PT-017"); /* it says what belongs to the next one */
    finish(result);
    workload_free(workload);
}

/* ---- What cannot be done --------------------------------------------------------------------- */

/* Line 6 needs 8 MiB at once; what is around it fits. */
static const char too_large_text[] = "drydock-case 1\n"
                                     "option local-memory 5M\n"
                                     "alloc a size=4M segments=local\n"
                                     "alloc b size=4M segments=local\n"
                                     "submit c0 duration=1000 a:w\n"
                                     "submit c0 duration=1000 a:r b:w\n"
                                     "submit c0 duration=1000 b:w\n"
                                     "submit c0 duration=1000 a:r\n"
                                     "wait all\n";

static void a_submission_that_cannot_fit_fails_and_the_run_goes_on(void **state)
{
    struct workload *workload = parse(too_large_text);

    for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        struct run_config config = config_for(workload, (enum run_model)model);
        struct run_result *result = execute(&config, workload);
        const struct run_finding *finding = find_finding(result, RUN_FINDING_SUBMISSION);

        assert_int_equal(result->outcome, RUN_FINDINGS);
        assert_int_equal(result->failed_submissions, 1);
        assert_int_equal(result->submissions, 3);
        assert_int_equal(result->mismatches, 0);
        assert_int_equal(finding->line, 6);
        assert_true(finding->needed > finding->available);
        assert_true(finding->needed >= 4 * MiB && finding->needed <= 9 * MiB);
        assert_non_null(strstr(finding->text, "c0"));
        finish(result);
    }
    workload_free(workload);
}

static void a_reference_that_is_not_mapped_is_a_failed_submission(void **state)
{
    struct workload *workload = parse("drydock-case 1\n"
                                      "alloc a size=64K flags=nomap\n"
                                      "submit c0 a:w\n"
                                      "map a va=0x200000000000\n"
                                      "submit c0 a:w\n"
                                      "wait all\n");
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct run_result *result = execute(&config, workload);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->failed_submissions, 1);
    assert_int_equal(result->submissions, 1);
    assert_int_equal(find_finding(result, RUN_FINDING_SUBMISSION)->line, 3);
    finish(result);
    workload_free(workload);
}

static void an_impossible_machine_is_refused(void **state)
{
    struct workload *workload = parse(watched_text);
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct run_result *result;

    config.node_count = 9;
    result = execute(&config, workload);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "9 nodes"));
    finish(result);
    config = config_for(workload, RUN_GPUMMU);
    config.local_bytes = config.visible_bytes = 64 * KiB;
    result = execute(&config, workload);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "take up to 576 KiB, and segment 1 has 64 KiB"));
    finish(result);
    workload_free(workload);
}

/* Wherever the manager runs out of memory: a status, all content right, nothing left behind. */
static void every_nth_allocation_failure_leaves_the_run_whole(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option local-memory 2M\n"
                               "alloc a size=1M segments=local flags=cpu-visible\n"
                               "alloc b size=1M segments=local flags=cpu-visible\n"
                               "write a\n"
                               "submit c0 a:r b:w\n"
                               "alloc c size=1M segments=local\n"
                               "submit c0 c:w\n"
                               "submit c0 a:rw\n"
                               "wait all\n"
                               "read b\n"
                               "free a\n";
    struct workload *workload = parse(text);

    for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        uint64_t refused = 0, repeated = 0;

        for (uint64_t n = 1;; n++) {
            struct run_config config = config_for(workload, (enum run_model)model);
            struct run_result *result;
            bool has_failed;

            config.local_bytes = (model == RUN_PHYSICAL ? 2 : 3) * MiB;
            config.visible_bytes = config.local_bytes;
            config.fail_allocation = n;
            result = execute(&config, workload);
            has_failed = result->has_failed_allocation;
            if (result->outcome == RUN_REFUSED) {
                refused++;
                assert_int_equal(result->finding_count, 0);
            } else {
                if (result->outcome != RUN_CLEAN)
                    fprintf(stderr, "allocation %llu of the manager failed\n",
                            (unsigned long long)n);
                assert_clean("failing allocations", result);
                repeated += result->no_memory_retries != 0;
            }
            finish(result);
            if (!has_failed)
                break;
        }
        assert_true(refused > 0);
        assert_true(repeated > 0);
    }
    workload_free(workload);
}

/* ---- When the driver fails ------------------------------------------------------------------- */

/* A layer that swallows one kind of call from the n-th on, and says that all is well. */
struct swallower {
    struct miniport layer; /* first: the layer's functions find the swallower by it */
    struct miniport_ops ops;
    unsigned passes; /* calls that still go through */
};

static NTSTATUS swallow_update(struct miniport *layer, HANDLE object,
                               DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct swallower *swallower = (struct swallower *)layer;

    if (args->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || swallower->passes) {
        if (args->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE)
            swallower->passes--;
        return miniport_build_paging_buffer(layer->next, object, args);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS swallow_submission(struct miniport *layer, HANDLE object,
                                   const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    struct swallower *swallower = (struct swallower *)layer;

    if (!swallower->passes)
        return STATUS_SUCCESS;
    swallower->passes--;
    return miniport_submit_command_virtual(layer->next, object, args);
}

static struct miniport *add_update_swallower(void *context, struct miniport *next)
{
    struct swallower *swallower = context;

    swallower->ops = miniport_forward_ops;
    swallower->ops.build_paging_buffer = swallow_update;
    swallower->layer = (struct miniport){.ops = &swallower->ops, .next = next};
    return &swallower->layer;
}

static struct miniport *add_submission_swallower(void *context, struct miniport *next)
{
    struct swallower *swallower = context;

    swallower->ops = miniport_forward_ops;
    swallower->ops.submit_command_virtual = swallow_submission;
    swallower->layer = (struct miniport){.ops = &swallower->ops, .next = next};
    return &swallower->layer;
}

/* However many updates get through before: faults and lost content are findings, never a hang. */
static void lost_page_table_updates_become_findings(void **state)
{
    struct workload *workload = load("evict-and-restore.case");
    unsigned with_findings = 0;

    for (unsigned passes = 400; passes < 500; passes += 5) {
        struct swallower swallower = {.passes = passes};
        struct run_config config = config_for(workload, RUN_GPUMMU);
        struct run_result *result;

        config.add_layer = add_update_swallower;
        config.layer_context = &swallower;
        result = execute(&config, workload);
        if (result->outcome != RUN_CLEAN && result->outcome != RUN_FINDINGS)
            print_result("lost updates", result);
        assert_true(result->outcome == RUN_CLEAN || result->outcome == RUN_FINDINGS);
        with_findings += result->outcome == RUN_FINDINGS;
        finish(result);
    }
    assert_true(with_findings > 0);
    workload_free(workload);
}

static void a_lost_submission_ends_the_run_with_what_is_pending(void **state)
{
    struct workload *workload = load("first-page-in.case");

    for (unsigned passes = 0; passes < 3; passes++) {
        struct swallower swallower = {.passes = passes};
        struct run_config config = config_for(workload, RUN_GPUMMU);
        struct run_result *result;

        config.add_layer = add_submission_swallower;
        config.layer_context = &swallower;
        result = execute(&config, workload);
        assert_int_equal(result->outcome, RUN_BROKEN);
        assert_non_null(strstr(result->error, "nothing more happens"));
        /* The layer stands above those that judge: they have not seen the submission. */
        assert_non_null(strstr(result->error, "The memory manager was to act: fence 0x"));
        assert_non_null(strstr(result->error, "was submitted, and not reported complete"));
        assert_non_null(strstr(result->error, "owes nothing of the kind, FENCE-004"));
        finish(result);
    }
    workload_free(workload);
}

/* Nobody has judged the calls: what the manager waits for is the driver's to do. */
static void a_lost_submission_is_the_drivers_where_no_call_is_judged(void **state)
{
    struct workload *workload = load("first-page-in.case");
    struct swallower swallower = {.passes = 1};
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct run_result *result;
    const struct run_finding *finding;

    config.add_layer = add_submission_swallower;
    config.layer_context = &swallower;
    config.checks_rules = false;
    result = execute(&config, workload);
    assert_int_equal(result->outcome, RUN_FINDINGS);
    finding = find_finding(result, RUN_FINDING_DRIVER);
    assert_string_equal(finding->rule, "FENCE-004");
    assert_non_null(strstr(finding->text, "not reported complete: nothing is left"));
    finish(result);
    workload_free(workload);
}

/* The manager answers a tile line when the run has been given up: the line has long ended. */
static void a_lost_submission_of_tiles_ends_the_run_too(void **state)
{
    struct workload *workload = load("tiles-of-pools-that-go.case");
    unsigned broken = 0;

    for (unsigned passes = 0; passes < 40; passes++) {
        struct swallower swallower = {.passes = passes};
        struct run_config config = config_for(workload, RUN_GPUMMU);
        struct run_result *result;

        config.add_layer = add_submission_swallower;
        config.layer_context = &swallower;
        result = execute(&config, workload);
        broken += result->outcome == RUN_BROKEN;
        finish(result);
    }
    assert_true(broken > 0);
    workload_free(workload);
}

/* What a driver does that frees memory which it never had. */
static NTSTATUS stop_the_machine(struct miniport *layer, HANDLE object,
                                 const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    uint64_t not_from_the_pool[8] = {0};

    ExFreePoolWithTag(&not_from_the_pool[4], 0);
    fail_msg("the kernel went on after a bug check");
    return STATUS_SUCCESS;
}

static struct miniport *add_stopper(void *context, struct miniport *next)
{
    struct swallower *swallower = context;

    swallower->ops = miniport_forward_ops;
    swallower->ops.submit_command_virtual = stop_the_machine;
    swallower->layer = (struct miniport){.ops = &swallower->ops, .next = next};
    return &swallower->layer;
}

static void a_bug_check_ends_the_run_as_a_finding(void **state)
{
    struct workload *workload = load("first-page-in.case");
    struct run_config config = config_for(workload, RUN_GPUMMU);
    struct swallower swallower = {.passes = 0};
    struct run_result *result;

    config.add_layer = add_stopper;
    config.layer_context = &swallower;
    result = execute(&config, workload);
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_non_null(strstr(find_finding(result, RUN_FINDING_DRIVER)->text, "bug check 0xc2"));
    finish(result);

    /* The next run is none the worse for it. */
    config.add_layer = NULL;
    result = execute(&config, workload);
    assert_clean("after a bug check", result);
    finish(result);
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_plays_cleanly_in_both_models),
        cmocka_unit_test(the_smallest_case_moves_what_it_says),
        cmocka_unit_test(the_page_table_case_checks_every_page),
        cmocka_unit_test(the_same_seed_gives_the_same_digest),
        cmocka_unit_test(pressure_keeps_content_however_the_run_is_set_up),
        cmocka_unit_test(an_address_that_stays_taken_is_a_finding_of_its_line),
        cmocka_unit_test(sizes_that_are_not_played_cost_nothing),
        cmocka_unit_test(what_is_available_counts_what_could_be_evicted),
        cmocka_unit_test(a_slowdown_is_measured_against_a_run_without_paging),
        cmocka_unit_test(a_flipped_byte_of_local_memory_is_found_and_named),
        cmocka_unit_test(a_changed_page_is_found_and_named),
        cmocka_unit_test(a_flipped_byte_at_the_end_is_found),
        cmocka_unit_test(a_bent_page_table_entry_is_found_and_named),
        cmocka_unit_test(a_submission_that_cannot_fit_fails_and_the_run_goes_on),
        cmocka_unit_test(a_reference_that_is_not_mapped_is_a_failed_submission),
        cmocka_unit_test(an_impossible_machine_is_refused),
        cmocka_unit_test(every_nth_allocation_failure_leaves_the_run_whole),
        cmocka_unit_test(lost_page_table_updates_become_findings),
        cmocka_unit_test(a_lost_submission_ends_the_run_with_what_is_pending),
        cmocka_unit_test(a_lost_submission_is_the_drivers_where_no_call_is_judged),
        cmocka_unit_test(a_lost_submission_of_tiles_ends_the_run_too),
        cmocka_unit_test(a_bug_check_ends_the_run_as_a_finding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
