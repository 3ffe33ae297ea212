/* Work that reaches what it may not: it fails, and nobody else's does. */
#include "bench/whole_runs/test_run.h"

static const char *const kinds[] = {"unmapped",   "freed",       "read-only",
                                    "no-execute", "beyond-root", "refused"};

/*
 * Two devices share a node, a third is on another one. How many submissions are lost to a fault of
 * the first.
 */
static struct run_result *play(const char *kind, const char *access, const char *model,
                               const char *resets)
{
    char text[2048];
    struct workload *workload;

    snprintf(text, sizeof text,
             "drydock-case 1\n"
             "option nodes 3\n"
             "process p\nprocess q\n"
             "device d process=p\ndevice e process=q\n"
             "context bad device=d node=0\n"
             "context same device=e node=0\n"
             "context other device=e node=2\n"
             "alloc a size=256K device=e\n"
             "write a key=0x11\n"
             "submit same duration=200000 a:rw\n"
             "submit other duration=300000\n"
             "submit same duration=100000 a:rw\n"
             "fault bad reach=%s access=%s\n"
             "submit same duration=50000 a:rw\n"
             "wait all\n"
             "read a\n",
             kind, access);
    workload = test_parse(text);
    test_option(workload, "model", model);
    test_option(workload, "resets", resets);
    return test_play(workload);
}

static void a_fault_costs_its_submission_and_no_other(void **state)
{
    static const char *const models[] = {"gpummu", "iommu"};

    for (size_t m = 0; m < ARRAY_COUNT(models); m++) {
        for (size_t k = 0; k < ARRAY_COUNT(kinds); k++) {
            bool is_refused = strcmp(kinds[k], "refused") == 0;

            for (unsigned is_write = 0; is_write < 2; is_write++) {
                struct run_result *result =
                    play(kinds[k], is_write ? "write" : "read", models[m], "engine");

                test_assert_clean(result);
                assert_int_equal(result->aborted_submissions, 1);
                assert_int_equal(result->failed_submissions, 0);
                assert_int_equal(result->device_errors, 1);
                assert_int_equal(result->lost_pages, 0);
                assert_int_equal(result->statistics.page_faults, !is_refused);
                assert_int_equal(result->statistics.engine_resets, !is_refused);
                assert_int_equal(result->statistics.adapter_resets, 0);
                assert_int_equal(result->statistics.timeouts, 0);
                test_finish(result);
            }
        }
    }
}

/* A manager that resets the whole adapter does so at once, and asks for nothing first. */
static void a_fault_may_be_one_of_the_whole_adapter(void **state)
{
    struct run_result *result = play("unmapped", "read", "gpummu", "adapter");

    test_assert_clean(result);
    assert_int_equal(result->statistics.page_faults, 1);
    assert_int_equal(result->statistics.engine_resets, 0);
    assert_int_equal(result->statistics.adapter_resets, 1);
    assert_int_equal(result->statistics.timeouts, 0);
    test_finish(result);
}

static void there_are_no_faults_in_the_physical_model(void **state)
{
    struct run_result *result = play("freed", "write", "physical", "engine");

    test_assert_clean(result);
    assert_int_equal(result->aborted_submissions, 0);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_costs_its_submission_and_no_other),
        cmocka_unit_test(a_fault_may_be_one_of_the_whole_adapter),
        cmocka_unit_test(there_are_no_faults_in_the_physical_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
