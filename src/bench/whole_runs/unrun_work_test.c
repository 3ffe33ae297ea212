/*
 * Submissions that are not to run, of no bytes, and of nobody: whole runs, and what the rules saw.
 */
#include "bench/whole_runs/test_run.h"

#include "check/rules/rules.h"

static const char *const models[] = {"physical", "gpummu", "iommu"};

static struct run_result *play(const char *name, const char *model)
{
    struct workload *workload = test_load(name);

    test_option(workload, "model", model);
    return test_play(workload);
}

static void work_that_is_not_run_completes_and_changes_nothing(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("null-rendering.case", models[i]);

        test_assert_clean(result);
        assert_int_equal(result->submissions, 5);
        assert_true(result->rules.evaluated[RULE_SUB_005] > 0);
        test_finish(result);
    }
}

static void presents_say_the_same_in_both_calls(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("redirected-presents.case", models[i]);

        test_assert_clean(result);
        assert_int_equal(result->submissions, 4);
        assert_int_equal(result->rules.evaluated[RULE_PATCH_018] > 0, i == 0);
        test_finish(result);
    }
}

static void nodes_leave_a_context_before_its_allocations_go(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("null-context.case", models[i]);

        test_assert_clean(result);
        /* Where everything is in system memory nothing is ever taken away. */
        assert_int_equal(result->statistics.context_switches > 1, strcmp(models[i], "iommu") != 0);
        assert_int_equal(result->rules.evaluated[RULE_SUB_004] > 0,
                         result->statistics.context_switches > 0);
        test_finish(result);
    }
}

static void nodes_are_not_told_unless_wanted(void **state)
{
    struct workload *workload = test_load("null-context.case");
    struct run_result *result;

    test_option(workload, "null-context", "no");
    test_option(workload, "model", "physical");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(result->statistics.context_switches, 0);
    test_finish(result);
}

static void drivers_below_1_2_have_no_flag_for_it(void **state)
{
    struct workload *workload = test_load("null-context.case");
    struct run_result *result;

    test_option(workload, "model", "physical");
    test_option(workload, "wddm", "1.1");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(result->statistics.context_switches, 0);
    assert_int_equal(result->rules.evaluated[RULE_SUB_003], 0);
    test_finish(result);
}

static void what_a_sleep_empties_is_nobodys_in_the_physical_model(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("sequences/S-16-hibernate-and-resume.case", models[i]);

        test_assert_clean(result);
        assert_int_equal(result->rules.evaluated[RULE_SUB_003] > 0,
                         strcmp(models[i], "physical") == 0);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_that_is_not_run_completes_and_changes_nothing),
        cmocka_unit_test(presents_say_the_same_in_both_calls),
        cmocka_unit_test(nodes_leave_a_context_before_its_allocations_go),
        cmocka_unit_test(nodes_are_not_told_unless_wanted),
        cmocka_unit_test(drivers_below_1_2_have_no_flag_for_it),
        cmocka_unit_test(what_a_sleep_empties_is_nobodys_in_the_physical_model),
    };

    return cmocka_run_group_tests_name("bench/unrun work", tests, NULL, NULL);
}
