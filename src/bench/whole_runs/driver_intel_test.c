/*
 * The miniport for Intel's copy engines (examples/driver-intel), linked in, with their model as a
 * plug-in: batches, page tables of three sizes of pages and private data in tokens.
 */
static int mistake;
static unsigned large_pages;
#define INTEL_LARGE_PAGES large_pages
#define INTEL_MISTAKE     mistake

/* The driver is part of this file; a program has several of them. */
#define DriverEntry driver_intel_driver_entry
#include "../examples/driver-intel/adapter.c"
#include "../examples/driver-intel/memory.c"
#include "../examples/driver-intel/paging.c"
#include "../examples/driver-intel/ring.c"
#include "../examples/driver-intel/umd.c"

/* The bench has other ideas of these. */
#undef PAGE

#include "base/bits.h"
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

static bool intel_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                        unsigned *out_wddm)
{
    *out_model = RUN_GPUMMU;
    *out_wddm = 26;
    return index == 0;
}

static bool find_intel(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, "test:intel") != 0)
        return false;
    *out_driver = (struct run_driver){.name = "test:intel",
                                      .entry = DriverEntry,
                                      .level = intel_level,
                                      .gpu = GPU_FOLDER "/intel_blt.so"};
    return true;
}

static struct run_result *play(struct workload *workload)
{
    test_option(workload, "driver", "test:intel");
    return test_play(workload);
}

static bool has_rule(const struct run_result *result, const char *rule)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        if (strcmp(result->findings[i].rule, rule) == 0)
            return true;
    }
    return false;
}

static void play_mistake(int which, const char *rule)
{
    struct run_result *result;

    mistake = which;
    result = play(test_load("../examples/driver-intel/intel.case"));
    mistake = 0;
    assert_int_equal(result->outcome, RUN_FINDINGS);
    if (!has_rule(result, rule))
        fail_msg("mistake %d: no finding of %s, but %s", which, rule, result->findings[0].rule);
    test_finish(result);
}

/* ---- Clean ----------------------------------------------------------------------------------- */

static void what_its_packets_do_is_followed(void **state)
{
    static const char *const cases[] = {
        "../examples/driver-intel/intel.case",
        "evict-and-restore.case",
        "two-processes.case",
        "partial-writes.case",
        "preemption.case",
        "gpu-va-map.case",
        "tables-that-go.case",
        "kept-part.case",
        "stop-with-work.case",
        "surprise-removal.case",
        "reset-before-paging.case",
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct run_result *result = play(test_load(cases[i]));

        test_assert_clean(result);
        test_finish(result);
    }
}

/* Content through its engines, entries by its translate(), flushes by what it tells of them. */
static void its_model_tells_what_is_judged(void **state)
{
    static const enum rule_id rules[] = {RULE_VX_003, RULE_VX_008,  RULE_PT_017,
                                         RULE_PT_019, RULE_TLB_002, RULE_TLB_006};
    struct run_result *result = play(test_load("../examples/driver-intel/intel.case"));

    test_assert_clean(result);
    for (size_t i = 0; i < ARRAY_COUNT(rules); i++)
        assert_true(result->rules.evaluated[rules[i]] > 0);
    assert_int_equal(result->submissions, 9);
    assert_true(test_count(result, DXGK_OPERATION_VIRTUAL_TRANSFER) >= 5);
    assert_true(result->pages_checked > 6 * MiB / 4096);
    test_finish(result);
}

/* 2 MiB in one entry, where the other way has tables of 64 KiB pages. */
static void both_ways_to_map_local_memory_are_clean(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option local-memory 16M\n"
                               "context c node=2\n"
                               "alloc a size=4M segments=local va=0x40000000\n"
                               "alloc b size=4M segments=local va=0x50000000\n"
                               "alloc d size=6M segments=local\n"
                               "alloc e size=6M segments=local\n"
                               "submit c a:w b:w\n"
                               "submit c d:w e:w\n"
                               "submit c a:r b:r\n"
                               "submit c d:r e:r\n"
                               "wait all\n";

    for (large_pages = 0; large_pages < 2; large_pages++) {
        struct run_result *result = play(test_parse(text));

        test_assert_clean(result);
        assert_true(result->rules.evaluated[RULE_PT_017] > 0);
        assert_int_equal(result->rules.evaluated[RULE_PT_033] > 0, large_pages);
        assert_int_equal(result->rules.evaluated[RULE_PT_039] > 0, !large_pages);
        assert_true(result->statistics.evictions > 0);
        test_finish(result);
    }
    large_pages = 0;
}

/* A page that reads as zeros is an entry of its own here. */
static void zero_pages_are_said(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "alloc a size=64K\n"
                               "pte p0 zero va=0x10000000 pages=1\n"
                               "submit c0 a:w\n"
                               "wait all\n";
    struct run_result *result = play(test_parse(text));

    test_assert_clean(result);
    assert_int_equal(result->page_table_lines_skipped, 0);
    test_finish(result);
}

/* ---- Private data ---------------------------------------------------------------------------- */

#define NESTED(id, words) (id) | TOKEN_NESTED, 0, 4 * (words), (words)
#define DWORD(id, value)  (id) | 1u << 16, (value)

/* 64 KiB, with one flag, and tokens before it that are not known. */
static void tokens_say_what_an_allocation_is(void **state)
{
    static const struct {
        UINT flag;
        bool is_local, is_system, is_visible, is_existing;
    } rows[] = {
        {TOKEN_LOCAL_ONLY, true, false, true, false},
        {TOKEN_NON_LOCAL_ONLY, false, true, true, false},
        {TOKEN_NOT_LOCKABLE, false, false, false, false},
        {TOKEN_EXISTING, false, true, true, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const UINT words[] = {
            DWORD(999, 5),
            NESTED(TOKEN_RESOURCE, 30),
            NESTED(TOKEN_RESOURCE_BODY, 26),
            NESTED(4000, 3),
            DWORD(TOKEN_SIZE, 5),
            0,
            NESTED(TOKEN_SURFACE, 15),
            TOKEN_SIZE | 2u << 16,
            0x10000,
            0,
            NESTED(TOKEN_FLAGS, 8),
            NESTED(TOKEN_INFO_FLAGS, 4),
            DWORD(3790, 1),
            DWORD(rows[i].flag, 1),
        };
        struct resource resource;

        assert_true(read_resource(words, sizeof words / 4, &resource));
        assert_int_equal(resource.size, 0x10000);
        assert_int_equal(resource.is_local, rows[i].is_local);
        assert_int_equal(resource.is_system, rows[i].is_system);
        assert_int_equal(resource.is_visible, rows[i].is_visible);
        assert_int_equal(resource.is_existing, rows[i].is_existing);
        assert_int_equal(resource.alignment, rows[i].is_system ? 4096 : PAGE_64K);
        /* Cut anywhere it says nothing, and no word behind the cut is looked at. */
        for (UINT cut = 0; cut < sizeof words / 4; cut++) {
            UINT *copy = malloc(4 * cut + 1);

            memcpy(copy, words, 4 * cut);
            assert_false(read_resource(copy, cut, &resource));
            free(copy);
        }
    }
}

/* ---- Mistakes -------------------------------------------------------------------------------- */

static void a_wrong_entry_is_found(void **state)
{
    play_mistake(1, "PT-017");
}

static void a_wrong_length_is_found(void **state)
{
    play_mistake(2, "VX-003");
}

static void a_flush_of_one_engine_that_is_missing_is_found(void **state)
{
    play_mistake(3, "TLB-002");
}

static void a_fence_that_is_not_written_is_found(void **state)
{
    play_mistake(4, "FENCE-004");
}

static void an_entry_of_the_wrong_memory_is_found(void **state)
{
    play_mistake(5, "PT-039");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_its_packets_do_is_followed),
        cmocka_unit_test(its_model_tells_what_is_judged),
        cmocka_unit_test(both_ways_to_map_local_memory_are_clean),
        cmocka_unit_test(zero_pages_are_said),
        cmocka_unit_test(tokens_say_what_an_allocation_is),
        cmocka_unit_test(a_wrong_entry_is_found),
        cmocka_unit_test(a_wrong_length_is_found),
        cmocka_unit_test(a_flush_of_one_engine_that_is_missing_is_found),
        cmocka_unit_test(a_fence_that_is_not_written_is_found),
        cmocka_unit_test(an_entry_of_the_wrong_memory_is_found),
    };

    run_add_drivers(find_intel);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
