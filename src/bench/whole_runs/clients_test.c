/*
 * Many clients: processes whose memory does not fit together, played by the least recently used and
 * by turns, with content and rules checked.
 */
#include "bench/whole_runs/test_run.h"

#include "base/bits.h"
#include "workload/generate/generate.h"

/* Memory in turns of a time, or, without one, by the least recently used. */
static struct run_result *play(const char *const *settings, size_t count, enum run_model model,
                               const char *turn)
{
    struct workload_error error;
    struct workload *workload;

    if (!workload_generate("clients", settings, count, &workload, &error))
        fail_msg("%s", error.text);
    test_option(workload, "model", run_model_name(model));
    if (turn) {
        test_option(workload, "policy", "turns");
        test_option(workload, "turn", turn);
    }
    return test_play(workload);
}

/*
 * Eight loops of 19 rounds of 0.26 ms each, where two of their sets fit, and a bit. The link takes
 * as long for a set in one direction.
 */
static const char *const loops[] = {"decode=8",  "decode-set=4M", "layers=4",
                                    "busy-ms=5", "bandwidth=16",  "local-memory=11M"};

static void turns_move_less_and_take_less_time_than_the_least_recently_used(void **state)
{
    for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        struct run_result *lru = play(loops, ARRAY_COUNT(loops), (enum run_model)model, NULL);
        struct run_result *turns =
            play(loops, ARRAY_COUNT(loops), (enum run_model)model, "2500000");
        uint64_t last_ns = 0;

        test_assert_clean(lru);
        test_assert_clean(turns);
        assert_int_equal(lru->submissions, 8 * (4 + 19 * 4));
        assert_int_equal(turns->submissions, lru->submissions);
        assert_true(turns->statistics.moved_in_bytes * 2 < lru->statistics.moved_in_bytes);
        assert_true(turns->virtual_time_ns < lru->virtual_time_ns);
        assert_int_equal(lru->statistics.ahead, 0);
        assert_true(turns->statistics.ahead > 0);
        assert_int_equal(turns->process_count, 8);
        assert_string_equal(turns->processes[7].name, "decode7");
        for (unsigned i = 0; i < 8; i++) {
            assert_int_equal(turns->processes[i].submissions, 4 + 19 * 4);
            assert_int_equal(turns->processes[i].work_ns, turns->kernel_ns / 8);
            assert_true(turns->processes[i].begun_ns < turns->processes[i].ended_ns);
            assert_true(turns->processes[i].ended_ns - turns->processes[i].begun_ns >=
                        turns->processes[i].work_ns);
            last_ns = max_u64(last_ns, turns->processes[i].ended_ns);
        }
        assert_true(last_ns > turns->virtual_time_ns * 9 / 10);
        assert_int_equal(run_result_ideal_ns(turns), turns->kernel_ns);
        assert_true(run_result_ideal_ns(turns) <= turns->virtual_time_ns);
        assert_true(run_result_fairness(turns) > 0.6 && run_result_fairness(turns) <= 1.0);
        test_finish(lru);
        test_finish(turns);
    }
}

static void the_fairness_index_is_jains(void **state)
{
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    assert_true(run_result_fairness(result) == 0);
    result->process_count = 3; /* the third one has not worked */
    for (unsigned i = 0; i < 2; i++)
        result->processes[i] =
            (struct run_process){.work_ns = 100, .begun_ns = 50, .ended_ns = 150};
    assert_true(run_result_fairness(result) == 1);
    result->processes[1].ended_ns = 350; /* a rate of 1/3 of the other: (4/3)^2 / (2 * 10/9) */
    assert_in_range((uint64_t)(run_result_fairness(result) * 1e6 + 0.5), 799999, 800001);
    free(result);
}

/* A context that waits for memory does not keep the lines of another one from being played. */
static void with_a_backlog_no_context_waits_for_another(void **state)
{
    static const char *const text =
        "drydock-case 1\noption local-memory 8M\noption queue-depth 1\n%scontext c0\ncontext c1 "
        "node=1\n"
        "alloc a size=4K segments=local\nalloc b size=4K segments=local\n";
    uint64_t times[2];

    for (unsigned i = 0; i < 2; i++) {
        char all[1024];
        struct run_result *result;
        int length = snprintf(all, sizeof all, text, i ? "option backlog 8\n" : "");

        for (unsigned j = 0; j < 2; j++) {
            for (unsigned k = 0; k < 4; k++)
                length += snprintf(all + length, sizeof all - (size_t)length,
                                   "submit c%u duration=1000000 %c:w\n", j, 'a' + (int)j);
        }
        result = test_play(test_parse(all));
        test_assert_clean(result);
        assert_int_equal(result->submissions, 8);
        assert_int_equal(run_result_ideal_ns(result), 4000000); /* a node beside the other */
        times[i] = result->virtual_time_ns;
        test_finish(result);
    }
    assert_true(times[0] > 6500000); /* four, but for the last one's beginning, and four */
    assert_true(times[1] < 5000000); /* four beside four */
}

static uint64_t moved_in(const char *turn)
{
    struct run_result *result = play(loops, ARRAY_COUNT(loops), RUN_GPUMMU, turn);
    uint64_t bytes = result->statistics.moved_in_bytes;

    test_assert_clean(result);
    test_finish(result);
    return bytes;
}

static void shorter_turns_move_more(void **state)
{
    assert_true(moved_in("300000") > moved_in("2500000"));
}

/* The same in 16 layers: what submissions in flight use is a part of the set only. */
static const char *const layers[] = {"decode=8",  "decode-set=4M", "layers=16",
                                     "busy-ms=5", "bandwidth=16",  "local-memory=11M"};

/* Five turns each: all loops end near the end, and the GPU has work nearly all the time. */
static void with_several_turns_each_nobody_starves(void **state)
{
    for (int model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        struct run_result *result =
            play(layers, ARRAY_COUNT(layers), (enum run_model)model, "1000000");

        test_assert_clean(result);
        assert_int_equal(result->process_count, 8);
        for (unsigned i = 0; i < 8; i++)
            assert_true(result->processes[i].ended_ns > result->virtual_time_ns * 3 / 4);
        assert_true(run_result_fairness(result) > 0.99);
        assert_true(run_result_ideal_ns(result) > result->virtual_time_ns * 87 / 100);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_move_less_and_take_less_time_than_the_least_recently_used),
        cmocka_unit_test(the_fairness_index_is_jains),
        cmocka_unit_test(with_a_backlog_no_context_waits_for_another),
        cmocka_unit_test(shorter_turns_move_more),
        cmocka_unit_test(with_several_turns_each_nobody_starves),
    };

    return cmocka_run_group_tests_name("bench/clients", tests, NULL, NULL);
}
