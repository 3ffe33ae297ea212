/*
 * What a client may ask of the manager, line by line: residency in three ways, waits for the paging
 * fence, openings that are closed.
 */
#include "bench/whole_runs/test_run.h"

static void each_case_plays_cleanly_in_each_model(void **state)
{
    static const char *const names[] = {"client/asked-for.case", "client/closed.case"};
    static const char *const models[] = {"physical", "gpummu", "iommu"};

    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        for (size_t j = 0; j < ARRAY_COUNT(models); j++) {
            struct workload *workload = test_load(names[i]);
            struct run_result *result;

            test_option(workload, "model", models[j]);
            result = test_play(workload);
            test_assert_clean(result);
            test_finish(result);
        }
    }
}

static void read_held(void *context, const struct run_live *live)
{
    struct vidmm_budget_info info;

    vidmm_budget_info(live->processes[0], VIDMM_BUDGET_LOCAL, &info);
    *(uint64_t *)context = info.held;
}

/* What the process holds behind the lines, in a budget of 4 MiB. */
static uint64_t held_behind(const char *lines)
{
    char text[512];
    uint64_t held = UINT64_MAX;
    struct run_tamper tamper = {.fn = read_held, .context = &held};
    struct run_result *result = calloc(1, sizeof *result);
    struct workload *workload;
    struct run_config config;

    assert_non_null(result);
    snprintf(text, sizeof text,
             "drydock-case 1\noption model gpummu\noption local-memory 8M\noption budget 4M\n"
             "alloc a size=2M segments=local\nalloc b size=2M segments=local\n"
             "alloc c size=2M segments=local\n%s",
             lines);
    workload = test_parse(text);
    tamper.op_index = workload->op_count;
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    config.tamper = &tamper;
    run_execute(&config, workload, result);
    test_assert_clean(result);
    test_finish(result);
    workload_free(workload);
    return held;
}

static void who_can_trim_keeps_within_the_budget(void **state)
{
    assert_int_equal(held_behind("resident a b\nresident c\n"), 6 * MiB);
    assert_int_equal(held_behind("resident ask=can-trim a b\nresident ask=can-trim c\n"), 2 * MiB);
    assert_int_equal(held_behind("resident ask=can-trim a b\nevict a\n"
                                 "resident ask=can-trim c\n"),
                     4 * MiB);
}

static void who_must_succeed_and_does_not_has_a_device_in_error(void **state)
{
    static const char *const asks[] = {"", "ask=must-succeed "};

    for (size_t i = 0; i < ARRAY_COUNT(asks); i++) {
        char text[256];
        struct run_result *result;

        snprintf(text, sizeof text,
                 "drydock-case 1\noption model gpummu\noption local-memory 4M\n"
                 "alloc a size=1M segments=local\nalloc huge size=6M segments=local\n"
                 "resident %shuge\nresident %sa\nsubmit c0 a:w\n",
                 asks[i], asks[i]);
        result = test_play(test_parse(text));
        assert_int_equal(result->device_errors, i);
        assert_int_equal(result->finding_count, 1 - i);
        test_finish(result);
    }
}

static uint64_t time_with(const char *line)
{
    char text[512];
    struct run_result *result;
    uint64_t time_ns;

    snprintf(text, sizeof text,
             "drydock-case 1\noption model gpummu\noption local-memory 8M\ncontext c node=0\n"
             "context d node=0\nalloc a size=6M segments=local\nalloc b size=6M segments=local\n"
             "submit c a:w\nwait all\nsubmit c b:w\n%ssubmit d duration=2000000\nwait all\n",
             line);
    result = test_play(test_parse(text));
    test_assert_clean(result);
    time_ns = result->virtual_time_ns;
    test_finish(result);
    return time_ns;
}

static void work_waits_for_paging_on_the_cpu_or_on_the_gpu(void **state)
{
    const uint64_t most_of_the_paging_ns = 200000;
    uint64_t at_once = time_with("");

    assert_true(time_with("wait-paging d by=gpu\n") > at_once + most_of_the_paging_ns);
    assert_true(time_with("wait-paging d by=cpu\n") > at_once + most_of_the_paging_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_plays_cleanly_in_each_model),
        cmocka_unit_test(who_can_trim_keeps_within_the_budget),
        cmocka_unit_test(who_must_succeed_and_does_not_has_a_device_in_error),
        cmocka_unit_test(work_waits_for_paging_on_the_cpu_or_on_the_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
