/*
 * The IoMmu model in whole runs: system memory only, no page tables, the process's own addresses.
 */
#include "bench/whole_runs/test_run.h"

#include <glob.h>

static void assert_no_paging(const struct run_result *result)
{
    static const unsigned never[] = {
        DXGK_OPERATION_TRANSFER,        DXGK_OPERATION_FILL,
        DXGK_OPERATION_DISCARD_CONTENT, DXGK_OPERATION_VIRTUAL_TRANSFER,
        DXGK_OPERATION_VIRTUAL_FILL,    DXGK_OPERATION_UPDATE_PAGE_TABLE,
        DXGK_OPERATION_FLUSH_TLB,       DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES,
    };

    for (size_t i = 0; i < ARRAY_COUNT(never); i++)
        assert_int_equal(test_count(result, never[i]), 0);
}

static void every_case_plays_cleanly_and_pages_nothing(void **state)
{
    glob_t cases;

    assert_int_equal(glob(DRYDOCK_SOURCE_DIR "/cases/*.case", 0, NULL, &cases), 0);
    for (size_t i = 0; i < cases.gl_pathc; i++) {
        struct workload *workload = test_load(strrchr(cases.gl_pathv[i], '/') + 1);
        struct run_result *result;

        /* Drivers of one level, and those of displays alone. */
        if (workload_option(workload, "wddm") || workload_option(workload, "driver")) {
            workload_free(workload);
            continue;
        }
        test_option(workload, "model", "iommu");
        result = test_play(workload);
        test_assert_clean(result);
        assert_no_paging(result);
        test_finish(result);
    }
    globfree(&cases);
}

static void what_is_accessed_physically_is_in_the_aperture_and_nothing_else(void **state)
{
    static const char *const levels[] = {"2.6", "3.0"};
    static const char *const remapping[] = {"no", "yes"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        for (size_t j = 0; j <= i; j++) { /* no remapping before 2.9 */
            struct workload *workload = test_load("sequences/S-21-adl-mapping.case");
            struct run_result *result;

            test_option(workload, "model", "iommu");
            test_option(workload, "wddm", levels[i]);
            test_option(workload, "dma-remapping", remapping[j]);
            result = test_play(workload);
            test_assert_clean(result);
            assert_no_paging(result);
            assert_int_equal(test_count(result, i ? DXGK_OPERATION_MAP_APERTURE_SEGMENT2
                                                  : DXGK_OPERATION_MAP_APERTURE_SEGMENT),
                             1 + 5 + 3);
            test_finish(result);
        }
    }
}

/* Each callback for memory that a level has is made, and what it gives is given back. */
static void a_driver_has_memory_of_its_own(void **state)
{
    static const struct {
        const char *wddm, *remapping;
        enum rule_id asked, not_asked;
    } rows[] = {
        {"2.6", "no", RULE_IOMMU_012, RULE_IOMMU_018},
        {"3.0", "no", RULE_IOMMU_018, RULE_IOMMU_012},
        {"3.2", "yes", RULE_IOMMU_018, RULE_IOMMU_012},
    };

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        struct workload *workload = test_load("sequences/S-21-adl-mapping.case");
        struct run_result *result;

        test_option(workload, "model", "gpummu");
        test_option(workload, "wddm", rows[i].wddm);
        test_option(workload, "dma-remapping", rows[i].remapping);
        test_option(workload, "device-memory", "yes");
        result = test_play(workload);
        test_assert_clean(result);
        assert_true(result->rules.evaluated[rows[i].asked] > 0);
        assert_true(result->rules.evaluated[RULE_IOMMU_013] > 0);
        assert_int_equal(result->rules.evaluated[rows[i].not_asked], 0);
        test_finish(result);
    }
}

static void each_process_has_addresses_of_its_own(void **state)
{
    struct run_result *result =
        test_play(test_parse("drydock-case 1\n"
                             "option model iommu\n"
                             "process p\nprocess q\n"
                             "device d process=p\ndevice e process=q\n"
                             "context c device=d\ncontext x device=e\n"
                             "alloc a device=d size=64K flags=shared,cpu-visible\n"
                             "write a\n"
                             "submit c a:rw\nwait all\n"
                             "submit x a:r\nwait all\n" /* a mapping of its own */
                             "unmap a\n"
                             "submit c a:r\nwait all\n"));

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_int_equal(result->mismatches, 0);
    assert_int_equal(result->submissions, 2);
    test_finish(result);
}

static void lack_of_memory_is_survived_at_every_allocation(void **state)
{
    bool has_failed = true;

    for (uint64_t n = 1; has_failed; n++) {
        struct workload *workload = test_load("sequences/S-21-adl-mapping.case");
        struct run_config config;
        struct run_result result;

        run_config_defaults(&config);
        run_config_from_workload(&config, workload);
        config.model = RUN_IOMMU;
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

/* Two windows where the driver has them; the second half pages nothing. */
static void a_domain_switch_leaves_everything_where_it_is(void **state)
{
    static const char *const levels[] = {"2.6", "3.0", "3.2"};

    for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
        struct workload *workload = test_load("domain-switch.case");
        struct run_result *result;

        test_option(workload, "wddm", levels[i]);
        test_option(workload, "dma-remapping", i ? "yes" : "no");
        result = test_play(workload);
        test_assert_clean(result);
        assert_int_equal(result->steps[1].moved_in_bytes, 0);
        assert_int_equal(result->rules.evaluated[RULE_IOMMU_001], 4);
        assert_int_equal(result->rules.evaluated[RULE_IOMMU_002], 2);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_plays_cleanly_and_pages_nothing),
        cmocka_unit_test(what_is_accessed_physically_is_in_the_aperture_and_nothing_else),
        cmocka_unit_test(a_driver_has_memory_of_its_own),
        cmocka_unit_test(each_process_has_addresses_of_its_own),
        cmocka_unit_test(lack_of_memory_is_survived_at_every_allocation),
        cmocka_unit_test(a_domain_switch_leaves_everything_where_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
