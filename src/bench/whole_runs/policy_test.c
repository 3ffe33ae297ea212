/*
 * Policies in whole runs: what the queue and the hints tell is worth time, and the training steps
 * of docs/policy.md reach what is written there.
 */
#include "bench/whole_runs/test_run.h"

#include "workload/import/import.h"

#include <limits.h>
#include <unistd.h>

/* ---- What is queued -------------------------------------------------------------------------- */

enum { OBJECTS = 10, ROUNDS = 8 };

/* Ten allocations of 2 MiB are used one after the other, again and again, where seven fit. */
static struct run_result *play_ring(const char *policy, const char *depth, const char *copies)
{
    char text[8192] = "drydock-case 1\n";
    size_t length = strlen(text);
    struct workload *workload;

    for (unsigned i = 0; i < OBJECTS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "alloc a%u size=2M segments=local\nsubmit c0 a%u:w\n", i, i);
    for (unsigned i = 0; i < OBJECTS * ROUNDS; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "submit c0 duration=150000 a%u:rw\n", i % OBJECTS);
    assert_true(length < sizeof text - 1);
    workload = test_parse(text);
    test_option(workload, "model", "gpummu");
    test_option(workload, "local-memory", "15M");
    test_option(workload, "policy", policy);
    test_option(workload, "queue-depth", depth);
    test_option(workload, "copy-engine", copies);
    return test_play(workload);
}

static void what_is_queued_comes_in_ahead_and_what_is_not_is_unknown(void **state)
{
    struct run_result *lru = play_ring("lru", "4", "both-ways");
    struct run_result *queue = play_ring("look-ahead", "4", "both-ways");
    struct run_result *alone = play_ring("look-ahead", "1", "both-ways");

    test_assert_clean(lru);
    test_assert_clean(queue);
    test_assert_clean(alone);
    assert_int_equal(queue->submissions, OBJECTS * (ROUNDS + 1));
    assert_int_equal(lru->statistics.ahead, 0);
    assert_int_equal(alone->statistics.ahead, 0);
    assert_true(queue->statistics.ahead > 0);
    assert_true(queue->statistics.moved_in_bytes <= lru->statistics.moved_in_bytes);
    assert_true(queue->virtual_time_ns * 10 < lru->virtual_time_ns * 8);
    assert_true(queue->virtual_time_ns * 10 < alone->virtual_time_ns * 8);
    test_finish(lru);
    test_finish(queue);
    test_finish(alone);
}

/* ---- Training steps -------------------------------------------------------------------------- */

/*
 * The second step at 40 GiB, 64 in flight, copies both ways, as in docs/policy.md; bounds are a
 * little above what is reached.
 */
static void training_steps_are_as_fast_as_the_document_says(void **state)
{
    static const struct {
        const char *net, *policy;
        uint64_t most_slowdown; /* in ten thousandths */
        uint64_t most_mib;      /* moved in */
    } rows[] = {
        {"bert256", "hinted", 10035, 8180},
        {"bert256", "look-ahead", 10600, 10000},
        {"vit1280", "hinted", 12150, 18430},
        {"vit1280", "look-ahead", 13750, 22000},
    };

    for (unsigned i = 0; i < ARRAY_COUNT(rows); i++) {
        const struct workload_import_options options = {0};
        struct workload_import_report report;
        struct workload_error error;
        struct workload *workload;
        const struct run_step *step;
        struct run_config config;
        struct run_result *result;
        char path[512];

        snprintf(path, sizeof path, "%s/../shared/traces/%s.trace", DRYDOCK_SOURCE_DIR,
                 rows[i].net);
        if (access(path, R_OK) != 0) {
            print_message("skipped: there is no %s\n", path);
            skip();
        }
        if (!workload_import(path, &options, &workload, &report, &error))
            fail_msg("%s", error.text);
        test_option(workload, "model", "gpummu");
        test_option(workload, "local-memory", "40G");
        test_option(workload, "queue-depth", "64");
        test_option(workload, "policy", rows[i].policy);
        test_option(workload, "copy-engine", "both-ways");
        test_option(workload, "hardware-queue", "32");
        test_option(workload, "paging-buffers", "32");
        config = test_config(workload);
        config.checks_content = false;
        config.hashes_calls = false;
        config.check_interval = UINT_MAX;
        result = test_execute(&config, workload);
        test_assert_clean(result);
        step = &result->steps[result->step_count - 1];
        print_message("%s, %s: %.4f, %.2f GiB in\n", rows[i].net, rows[i].policy,
                      (double)(step->end_ns - step->start_ns) / (double)step->kernel_ns,
                      (double)step->moved_in_bytes / (double)GiB);
        assert_true((step->end_ns - step->start_ns) * 10000 <=
                    step->kernel_ns * rows[i].most_slowdown);
        assert_in_range(step->moved_in_bytes, 1, rows[i].most_mib * MiB);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_queued_comes_in_ahead_and_what_is_not_is_unknown),
        cmocka_unit_test(training_steps_are_as_fast_as_the_document_says),
    };

    return cmocka_run_group_tests_name("bench/policy", tests, NULL, NULL);
}
