/* A policy of the user's, played in both models. */
#include "bench/board/policy_file.h"

#include "bench/child/child_run.h"
#include "bench/whole_runs/test_run.h"

/* Memory for 10 MiB: an old small allocation and a large one, then a third. */
static const char third_needs_room[] = "drydock-case 1\n"
                                       "option local-memory 10M\n"
                                       "alloc small size=2M segments=local\n"
                                       "alloc large size=5M segments=local\n"
                                       "alloc third size=4M segments=local\n"
                                       "submit c0 small:w\n"
                                       "submit c0 large:w\n"
                                       "wait all\n"
                                       "step room\n"
                                       "submit c0 third:w\n"
                                       "wait all\n";

static void assert_moved_out(const char *model, const char *policy_file, uint64_t evictions,
                             uint64_t bytes)
{
    struct workload *workload = test_parse(third_needs_room);
    struct run_result *result;

    test_option(workload, "model", model);
    if (policy_file)
        test_option(workload, "policy-file", policy_file);
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(result->steps[1].evictions, evictions);
    assert_int_equal(result->steps[1].moved_out_bytes, bytes);
    test_finish(result);
}

static void the_example_lets_one_large_allocation_leave_where_lru_takes_two(void **state)
{
    assert_moved_out("physical", NULL, 2, 7 * MiB);
    assert_moved_out("physical", POLICY_FOLDER "/largest.so", 1, 5 * MiB);
    assert_moved_out("gpummu", POLICY_FOLDER "/largest.so", 1, 5 * MiB);
}

static void files_without_a_policy_are_refused(void **state)
{
    static const struct {
        const char *path, *says;
    } files[] = {
        {"no-such-policy.so", "no-such-policy.so"},
        {GPU_FOLDER "/tutorial.so", "it exports no vidmm_policy_own"},
        {POLICY_FOLDER "/odd-nameless.so", "its table has no name"},
    };

    for (unsigned i = 0; i < ARRAY_COUNT(files); i++) {
        struct workload *workload = test_parse(third_needs_room);
        struct run_result *result;
        char error[POLICY_FILE_ERROR_BYTES];

        assert_null(policy_file_load(files[i].path, error));
        assert_non_null(strstr(error, files[i].says));
        test_option(workload, "policy-file", files[i].path);
        result = test_play(workload);
        assert_int_equal(result->outcome, RUN_REFUSED);
        assert_non_null(strstr(result->error, files[i].says));
        test_finish(result);
    }
}

/* The driver is not: what is said names the policy, and does not guess at anybody else. */
static void a_policy_that_ends_badly_is_to_blame(void **state)
{
    static const struct {
        const char *path, *says;
        double seconds;
    } files[] = {
        {POLICY_FOLDER "/odd-crashing.so",
         "the policy's leaves_before(): ended by signal 11 (Segmentation fault); this", 20},
        {POLICY_FOLDER "/odd-leaving.so",
         "the policy's leaves_before(): ended with exit status 0; this", 20},
        {POLICY_FOLDER "/odd-hanging.so",
         "the policy's leaves_before(): no end within 1 s of wall time; this", 1},
        {POLICY_FOLDER "/odd-closing.so",
         "the policy's leaves_before(): it closes files of the bench; this", 20},
        {POLICY_FOLDER "/odd-starting.so",
         "the shared object, while it is loaded: ended with exit status 0; this", 20},
    };

    for (unsigned i = 0; i < ARRAY_COUNT(files); i++) {
        struct workload *workload = test_parse(third_needs_room);
        struct run_result *result = calloc(1, sizeof *result);
        struct run_config config;

        assert_non_null(result);
        test_option(workload, "model", "physical");
        test_option(workload, "policy-file", files[i].path);
        config = test_config(workload);
        assert_true(child_run_execute(&config, workload, files[i].seconds, result));
        if (result->outcome != RUN_REFUSED || !strstr(result->error, files[i].says))
            fail_msg("%s: %s, '%s'", files[i].path, run_outcome_name(result->outcome),
                     result->error);
        assert_int_equal(result->finding_totals[RUN_FINDING_CRASHED], 0);
        assert_int_equal(result->finding_totals[RUN_FINDING_HUNG], 0);
        test_finish(result);
        workload_free(workload);
    }
}

/* A copy of the process, made by the policy, is no second run: the one there is ends as it would.
 */
static void a_policy_that_makes_copies_of_the_process_has_one_run(void **state)
{
    struct workload *workload = test_parse(third_needs_room);
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    test_option(workload, "model", "physical");
    test_option(workload, "policy-file", POLICY_FOLDER "/odd-forking.so");
    config = test_config(workload);
    assert_true(child_run_execute(&config, workload, 20, result));
    test_assert_clean(result);
    test_finish(result);
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_lets_one_large_allocation_leave_where_lru_takes_two),
        cmocka_unit_test(files_without_a_policy_are_refused),
        cmocka_unit_test(a_policy_that_ends_badly_is_to_blame),
        cmocka_unit_test(a_policy_that_makes_copies_of_the_process_has_one_run),
    };

    return cmocka_run_group_tests_name("bench/policy_file", tests, NULL, NULL);
}
