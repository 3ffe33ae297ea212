/*
 * What only WDDM 1.x has, in whole runs.
 */
#include "bench/test_run.h"

static struct run_result *play_physical(const char *name, const char *wddm, const char *buffer)
{
    struct workload *workload = test_load(name);

    test_option(workload, "model", "physical");
    if (wddm)
        test_option(workload, "wddm", wddm);
    if (buffer)
        test_option(workload, "paging-buffer", buffer);
    return test_play(workload);
}

static void agp_memory_is_flushed_before_the_cpu_looks(void **state)
{
    static const char *const levels[] = {"1.1", "1.3"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        struct run_result *result = play_physical("agp.case", levels[i], "256");

        test_assert_clean(result);
        assert_true(test_count(result, DXGK_OPERATION_READ_PHYSICAL) >= 3);
        assert_int_equal(test_count(result, DXGK_OPERATION_READ_PHYSICAL),
                         test_count(result, DXGK_OPERATION_WRITE_PHYSICAL));
        assert_int_equal(result->gpu.touches, 2 * test_count(result, DXGK_OPERATION_READ_PHYSICAL));
        test_finish(result);
    }
}

/* The bridge's driver maps: as long as everything fits, operations 5 and 6 are not needed. */
static void an_agp_segment_gets_no_map_operations(void **state)
{
    struct workload *workload = test_load("agp.case");
    struct run_result *result;

    test_option(workload, "model", "physical");
    test_option(workload, "agp", "4M");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT), 0);
    assert_int_equal(test_count(result, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT), 0);
    test_finish(result);
}

static void without_a_bridge_nothing_is_flushed(void **state)
{
    struct workload *workload = test_load("agp.case");
    struct run_result *result;

    test_option(workload, "model", "physical");
    test_option(workload, "agp", "0");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_READ_PHYSICAL), 0);
    test_finish(result);
}

static void lack_of_memory_is_survived_with_a_bridge(void **state)
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct workload *workload = test_load("agp.case");
        struct run_config config;
        struct run_result result;

        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.model = RUN_PHYSICAL;
        config.reference = RUN_REFERENCE_NEVER;
        config.fail_allocation = n;
        run_execute(&config, workload, &result);
        assert_int_not_equal(result.outcome, RUN_BROKEN);
        assert_int_equal(result.mismatches, 0);
        assert_int_equal(result.finding_totals[RUN_FINDING_LEAK], 0);
        has_failed = result.has_failed_allocation;
        run_result_fini(&result);
        workload_free(workload);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agp_memory_is_flushed_before_the_cpu_looks),
        cmocka_unit_test(an_agp_segment_gets_no_map_operations),
        cmocka_unit_test(without_a_bridge_nothing_is_flushed),
        cmocka_unit_test(lack_of_memory_is_survived_with_a_bridge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
