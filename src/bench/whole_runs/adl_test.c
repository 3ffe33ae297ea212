/*
 * Address descriptor lists and logical addresses, in whole runs: the lend layer gives the driver
 * lists that are poisoned outside of the pages of the call, and the IOMMU answers nothing at a
 * physical page number.
 */
#include "bench/whole_runs/test_run.h"

#define CASE "sequences/S-21-adl-mapping.case"

static void from_wddm_2_9_on_apertures_are_mapped_by_lists_only(void **state)
{
    struct run_result *result = test_play(test_load(CASE));

    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT), 0);
    assert_int_equal(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT2), 1 + 5 + 3);
    assert_int_equal(test_count(result, DXGK_OPERATION_UNMAP_APERTURE_SEGMENT), 5 + 3);
    test_finish(result);
}

static void before_that_by_mdls_only(void **state)
{
    struct workload *workload = test_load(CASE);
    struct run_result *result;

    test_option(workload, "wddm", "2.6");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT), 1 + 5 + 3);
    assert_int_equal(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT2), 0);
    test_finish(result);
}

static void everything_works_at_logical_addresses(void **state)
{
    static const char *const cases[] = {CASE, "main.case", "evict-and-restore.case",
                                        "page-tables.case"};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct workload *workload = test_load(cases[i]);
        struct run_result *result;

        test_option(workload, "model", "gpummu");
        test_option(workload, "dma-remapping", "yes");
        result = test_play(workload);
        /* Raw system pages of pte lines are names that no IOMMU knows; they are not accessed. */
        test_assert_clean(result);
        test_finish(result);
    }
}

static void a_driver_that_does_not_opt_in_cannot_be_remapped(void **state)
{
    struct workload *workload = test_load(CASE);
    struct run_result *result;

    test_option(workload, "wddm", "2.6");
    test_option(workload, "dma-remapping", "yes");
    result = test_play(workload);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "ADL-001"));
    test_finish(result);
}

static void lists_go_through_buffers_of_any_size(void **state)
{
    static const char *const sizes[] = {"256", "320", "1K", "4K"};

    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        struct workload *workload = test_load(CASE);
        struct run_result *result;

        test_option(workload, "paging-buffer", sizes[i]);
        result = test_play(workload);
        test_assert_clean(result);
        test_finish(result);
    }
}

static void lack_of_memory_is_survived_at_every_allocation(void **state)
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n += n < 60 ? 1 : 7) {
        struct workload *workload = test_load(CASE);
        struct run_config config;
        struct run_result result;

        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.reference = RUN_REFERENCE_NEVER;
        config.remaps_dma = n % 2;
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
        cmocka_unit_test(from_wddm_2_9_on_apertures_are_mapped_by_lists_only),
        cmocka_unit_test(before_that_by_mdls_only),
        cmocka_unit_test(everything_works_at_logical_addresses),
        cmocka_unit_test(a_driver_that_does_not_opt_in_cannot_be_remapped),
        cmocka_unit_test(lists_go_through_buffers_of_any_size),
        cmocka_unit_test(lack_of_memory_is_survived_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
