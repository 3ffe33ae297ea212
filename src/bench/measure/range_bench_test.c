#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/measure/page_bench.h"
#include "bench/measure/range_bench.h"

/* Times are the machine's business; what was packed is the seed's, and the same each time. */
static void each_stream_is_filled_and_repeatable(void **state)
{
    (void)state;
    for (int stream = 0; stream < RANGE_STREAM_COUNT; stream++) {
        struct range_bench a, b;

        assert_true(range_bench_run((enum range_stream)stream, 1000, 1, 7, &a));
        assert_true(range_bench_run((enum range_stream)stream, 1000, 1, 7, &b));
        assert_true(a.live_ranges > 500 && a.live_ranges < 2500);
        assert_int_equal(a.live_ranges, b.live_ranges);
        assert_int_equal(a.hole_count, b.hole_count);
        assert_true(a.failed_fraction >= 0 && a.failed_fraction < 1);
        assert_true(a.peer_failed_fraction >= 0 && a.peer_failed_fraction < 1);
        assert_true(a.failed_fraction == b.failed_fraction);
        assert_true(a.bytes_per_range > 16 && a.bytes_per_range == b.bytes_per_range);
        assert_true(a.comparison.ours_ns > 0 && a.comparison.peer_ns > 0);
        assert_non_null(range_stream_name((enum range_stream)stream));
    }
}

/* Each request finds what it is to find, or the bench says that it did not. */
static void each_search_is_what_it_says(void **state)
{
    struct comparison comparison;

    (void)state;
    for (int search = 0; search < RANGE_SEARCH_COUNT; search++) {
        assert_true(range_bench_search((enum range_search)search, 500, 1, &comparison));
        assert_true(comparison.ours_ns > 0 && comparison.peer_ns > 0);
        assert_non_null(range_search_name((enum range_search)search));
    }
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
        cmocka_unit_test(each_stream_is_filled_and_repeatable),
        cmocka_unit_test(each_search_is_what_it_says),
        cmocka_unit_test(pages_come_in_fewer_runs_than_from_the_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
