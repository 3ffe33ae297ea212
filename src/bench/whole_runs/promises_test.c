/*
 * What bundled cases promise in their comments, in numbers; and, where the traces are at hand, what
 * a policy is measured by. Content is checked by run_test.c.
 */
#include "bench/whole_runs/test_run.h"

#include "workload/import/import.h"

#include <drydock/sgpu.h>

#include <limits.h>
#include <unistd.h>

static const char *const model_names[] = {"physical", "gpummu"};

static struct run_result *play_in(struct workload *workload, const char *model)
{
    struct run_result *result;

    test_option(workload, "model", model);
    result = test_play(workload);
    return result;
}

static struct run_result *play_case(const char *name, unsigned model)
{
    struct run_result *result = play_in(test_load(name), model_names[model]);

    test_assert_clean(result);
    return result;
}

/* Step 0 is what comes before the first `step` line. */
static void assert_step(const struct run_result *result, unsigned step, uint64_t evictions,
                        uint64_t moved_in, uint64_t moved_out)
{
    assert_true(step < result->step_count);
    assert_int_equal(result->steps[step].evictions, evictions);
    assert_int_equal(result->steps[step].moved_in_bytes, moved_in);
    assert_int_equal(result->steps[step].moved_out_bytes, moved_out);
}

static void a_low_priority_goes_before_the_least_recently_used(void **state)
{
    for (unsigned model = 0; model < 2; model++) {
        struct run_result *result = play_case("priorities.case", model);

        assert_step(result, 1, 0, 0, 0);
        assert_step(result, 2, 1, 0, 4 * MiB); /* scratch goes ... */
        assert_step(result, 3, 0, 0, 0);       /* ... so texture is still there */
        test_finish(result);
    }
}

static void a_ring_larger_than_memory_moves_whole_and_one_that_fits_not_at_all(void **state)
{
    for (unsigned model = 0; model < 2; model++) {
        struct run_result *result = play_case("working-set-cliff.case", model);

        assert_step(result, 1, 1, 0, 4 * MiB);
        for (unsigned step = 2; step < 5; step++)
            assert_step(result, step, 6, 24 * MiB, 24 * MiB);
        assert_step(result, 5, 0, 4 * MiB, 0); /* what the last round left out */
        assert_step(result, 6, 0, 0, 0);
        test_finish(result);
    }
}

/* c waits for what a leaves: the most that was there is a and b. */
static void the_peak_of_a_segment_is_what_was_in_it_at_once(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option local-memory 10M\n"
                               "alloc a size=5M segments=local\n"
                               "alloc b size=2M segments=local\n"
                               "alloc c size=4M segments=local\n"
                               "submit c0 a:w b:w\n"
                               "wait all\n"
                               "free a\n"
                               "wait all\n"
                               "submit c0 c:w\n"
                               "wait all\n";

    struct run_result *result = play_in(test_parse(text), "physical");

    test_assert_clean(result);
    assert_int_equal(result->segments[0].peak_used, 7 * MiB);
    test_finish(result);
    result = play_in(test_parse(text), "gpummu");
    test_assert_clean(result);
    /* Page tables come on top. */
    assert_in_range(result->segments[0].peak_used, 7 * MiB + 3 * PAGE_BYTES, 8 * MiB);
    test_finish(result);
}

/* Tables of three levels and two leaves, and nothing else that would be placed after them. */
static void page_tables_count_for_the_peak(void **state)
{
    struct run_result *result =
        play_in(test_parse("drydock-case 1\n"
                           "option local-memory 4M\n"
                           "pte p0 map va=0x600000000000 segment=system page=1 pages=1024\n"
                           "wait all\n"),
                "gpummu");

    test_assert_clean(result);
    assert_true(result->segments[0].peak_used >= 5 * PAGE_BYTES);
    test_finish(result);
}

/* What dies soon is waited for: nothing else is put out in its stead. */
static void what_is_about_to_be_free_is_waited_for(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option local-memory 16M\n"
                               "alloc kept size=6M segments=local\n"
                               "alloc gone size=6M segments=local\n"
                               "submit c0 duration=50000 kept:w\n"
                               "wait all\n"
                               "step use\n"
                               "submit c0 duration=900000 gone:w\n"
                               "free gone\n"
                               "alloc next size=6M segments=local\n"
                               "submit c0 duration=50000 next:w\n"
                               "wait all\n"
                               "submit c0 duration=50000 kept:r next:r\n"
                               "wait all\n";

    for (unsigned model = 0; model < 2; model++) {
        struct run_result *result = play_in(test_parse(text), model_names[model]);

        test_assert_clean(result);
        assert_step(result, 1, 0, 0, 0);
        test_finish(result);
    }
}

/* ---- Both ways at once ---- */

static uint64_t time_of(const char *name, const char *model, const char *copy_engine)
{
    struct workload *workload = test_load(name);
    struct run_result *result;
    uint64_t ns;

    test_option(workload, "queue-depth", "16");
    test_option(workload, "copy-engine", copy_engine);
    result = play_in(workload, model);
    test_assert_clean(result);
    ns = result->virtual_time_ns;
    test_finish(result);
    return ns;
}

static void copies_out_and_in_at_once_save_time_and_change_no_byte(void **state)
{
    static const struct {
        const char *name, *model;
        unsigned most_percent; /* of the time in turn */
    } rows[] = {
        {"main.case", "physical", 95},
        {"main.case", "gpummu", 95},
        {"working-set-cliff.case", "physical", 80},
        {"working-set-cliff.case", "gpummu", 99},
    };

    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
        uint64_t in_turn = time_of(rows[i].name, rows[i].model, "one-way");
        uint64_t at_once = time_of(rows[i].name, rows[i].model, "both-ways");

        assert_true(at_once * 100 <= in_turn * rows[i].most_percent);
    }
}

/* ---- Protections ---- */

#define PROTECTED_VA UINT64_C(0x200000000000) /* index 0 of its leaf table */

/* Behind the manager's back the entry of the first page becomes read-only. */
static void make_read_only(void *context, const struct run_live *live)
{
    struct vidmm_segment_info info = {0};
    uint64_t root, entries, address, bytes, entry;
    struct page_store *store;
    struct sgpu_walk walk;
    unsigned segment;

    assert_true(vidmm_process_root(live->processes[0], &segment, &root, &entries));
    if (segment)
        vidmm_segment_info(live->vidmm, segment, &info);
    sgpu_mmu_walk(live->gpu, (segment ? info.base : SGPU_PA_SYSTEM) + root, PROTECTED_VA, &walk);
    assert_int_equal(walk.fault, SGPU_FAULT_NONE);
    assert_true(sgpu_resolve(live->gpu, walk.tables_pa[0], PAGE_BYTES, &store, &address, &bytes));
    entry = walk.pte | SGPU_PTE_READ_ONLY;
    page_store_write(store, address, &entry, sizeof entry);
}

/* Room is made for what will be created, and what has just been offered goes first. */
static void what_is_offered_may_be_dropped_in_the_call(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option model physical\n"
                               "option policy hinted\n"
                               "alloc a8 size=424168\n"
                               "alloc a39 size=384K\n"
                               "read a39\n"
                               "alloc a50 size=6922 priority=min\n"
                               "submit c0 a39:w a50:r\n"
                               "submit c0 duration=20611 a8:w\n"
                               "wait all\n"
                               "offer priority=high a39\n"
                               "submit c0 a50:r\n"
                               "alloc large0 size=16640K\n";
    struct workload *workload = test_parse(text);
    struct run_config config = test_config(workload);
    struct run_result result;

    run_execute(&config, workload, &result);
    test_assert_clean(&result);
    assert_true(test_count(&result, DXGK_OPERATION_DISCARD_CONTENT) > 0);
    run_result_fini(&result);
    workload_free(workload);
}

/*
 * A lawful workload never writes where it may not (the player picks another mapping), so the bit
 * comes from outside. Reads go on; the write ends the run, in the line that asked for it.
 */
static void a_write_through_a_read_only_entry_faults(void **state)
{
    for (unsigned is_write = 0; is_write < 2; is_write++) {
        struct workload *workload = test_parse(is_write ? "drydock-case 1\n"
                                                          "alloc a size=64K segments=local "
                                                          "va=0x200000000000\n"
                                                          "evict a\n"
                                                          "resident a\n"
                                                          "wait all\n"
                                                          "submit c0 a:w\n"
                                                          "wait all\n"
                                                        : "drydock-case 1\n"
                                                          "alloc a size=64K segments=local "
                                                          "va=0x200000000000\n"
                                                          "evict a\n"
                                                          "resident a\n"
                                                          "wait all\n"
                                                          "submit c0 a:r\n"
                                                          "wait all\n");
        const struct run_tamper tamper = {.op_index = 4, .fn = make_read_only};
        struct run_config config;
        struct run_result result;

        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.model = RUN_GPUMMU;
        config.reference = RUN_REFERENCE_NEVER;
        config.tamper = &tamper;
        run_execute(&config, workload, &result);
        if (is_write) {
            assert_int_equal(result.outcome, RUN_FINDINGS);
            assert_string_equal(result.findings[0].rule, "PT-017"); /* the entry comes first */
            assert_int_equal(result.findings[1].kind, RUN_FINDING_FAULT);
            assert_int_equal(result.findings[1].line, 6);
            assert_non_null(strstr(result.findings[1].text, "write to a read-only page"));
        } else {
            test_assert_clean(&result);
        }
        run_result_fini(&result);
        workload_free(workload);
    }
}

/* ---- A training step ------------------------------------------------------------------------- */

/*
 * BERT, batch 256, in 40 GiB, GpuMmu: memory that is about to be free is waited for, and what
 * enters together makes room at once. The bound is what that reaches; without the first it is a
 * good deal more.
 */
static void bert_256_in_40_gib_moves_what_it_has_to(void **state)
{
    static const char path[] = DRYDOCK_SOURCE_DIR "/../shared/traces/bert256.trace";
    const struct workload_import_options options = {0};
    struct workload_import_report report;
    struct workload_error error;
    struct workload *workload;
    const struct run_step *second;
    struct run_config config;
    struct run_result result;

    if (access(path, R_OK) != 0) {
        print_message("skipped: there is no %s\n", path);
        skip();
    }
    if (!workload_import(path, &options, &workload, &report, &error))
        fail_msg("%s", error.text);
    test_option(workload, "local-memory", "40G");
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = RUN_GPUMMU;
    config.reference = RUN_REFERENCE_NEVER;
    config.checks_content = false;
    config.hashes_calls = false;
    config.check_interval = UINT_MAX;
    run_execute(&config, workload, &result);
    test_assert_clean(&result);
    second = &result.steps[result.step_count - 1];
    print_message("step 2: %llu bytes in\n", (unsigned long long)second->moved_in_bytes);
    assert_in_range(second->moved_in_bytes, 1, UINT64_C(107) * GiB / 10);
    run_result_fini(&result);
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_low_priority_goes_before_the_least_recently_used),
        cmocka_unit_test(a_ring_larger_than_memory_moves_whole_and_one_that_fits_not_at_all),
        cmocka_unit_test(the_peak_of_a_segment_is_what_was_in_it_at_once),
        cmocka_unit_test(page_tables_count_for_the_peak),
        cmocka_unit_test(copies_out_and_in_at_once_save_time_and_change_no_byte),
        cmocka_unit_test(what_is_about_to_be_free_is_waited_for),
        cmocka_unit_test(what_is_offered_may_be_dropped_in_the_call),
        cmocka_unit_test(a_write_through_a_read_only_entry_faults),
        cmocka_unit_test(bert_256_in_40_gib_moves_what_it_has_to),
    };

    return cmocka_run_group_tests_name("bench/promises", tests, NULL, NULL);
}
