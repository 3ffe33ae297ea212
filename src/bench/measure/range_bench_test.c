#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/measure/page_bench.h"
#include "bench/measure/range_bench.h"

/* Times are the machine's business; what was packed is the seed's, and the same each time. */
static void each_subject_is_filled_and_repeatable(void **state)
{
    const enum range_bench_subject subjects[] = {
        RANGE_BENCH_OURS,
        RANGE_BENCH_SEGREGATED_FIT,
        RANGE_BENCH_FIRST_FIT,
    };

    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        struct range_bench_result a, b;

        assert_true(range_bench_run_subject(subjects[i], 1000, 0.9, 6400, 7, &a));
        assert_true(range_bench_run_subject(subjects[i], 1000, 0.9, 6400, 7, &b));
        assert_int_equal(a.operations, 6400);
        assert_true(a.live_ranges > 500 && a.live_ranges < 2500);
        assert_int_equal(a.live_ranges, b.live_ranges);
        assert_true(a.failed_bytes_fraction >= 0 && a.failed_bytes_fraction < 1);
        assert_true(a.failed_bytes_fraction == b.failed_bytes_fraction);
        assert_int_equal(a.metadata_peak_bytes, b.metadata_peak_bytes);
        assert_true(a.metadata_bytes_per_range > 16 && a.metadata_bytes_per_range < 64);
        assert_non_null(range_bench_subject_name(subjects[i]));
    }
}

static void ours_fails_fewer_bytes_than_the_peers(void **state)
{
    struct range_bench_result ours = range_bench_run(3000, 0.9, 64000, 1);
    struct range_bench_result segregated, first;

    (void)state;
    assert_true(
        range_bench_run_subject(RANGE_BENCH_SEGREGATED_FIT, 3000, 0.9, 64000, 1, &segregated));
    assert_true(range_bench_run_subject(RANGE_BENCH_FIRST_FIT, 3000, 0.9, 64000, 1, &first));
    assert_true(ours.failed_bytes_fraction < segregated.failed_bytes_fraction);
    assert_true(ours.failed_bytes_fraction < first.failed_bytes_fraction);
}

static void pages_come_in_fewer_runs_than_from_the_peer(void **state)
{
    struct page_bench_result result;

    (void)state;
    assert_true(page_bench_run(1 << 16, 1000, 8, 3, &result));
    assert_int_equal(result.fresh_takes, 65);
    assert_int_equal(result.fragmented_takes, 8);
    assert_true(result.fragmented_runs_per_take < result.fragmented_peer_runs_per_take);
    assert_true(result.metadata_bits_per_page < 2);
    assert_false(page_bench_run(10, 11, 1, 3, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_subject_is_filled_and_repeatable),
        cmocka_unit_test(ours_fails_fewer_bytes_than_the_peers),
        cmocka_unit_test(pages_come_in_fewer_runs_than_from_the_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
