#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/measure/compare.h"

struct told {
    const double *times; /* the first slice does not count */
    unsigned count;
    unsigned next;
};

static double tell(void *context)
{
    struct told *told = context;

    return told->times[told->next++ % told->count];
}

static void a_ratio_is_that_of_the_medians(void **state)
{
    const double ours[] = {900, 20, 22, 21, 20, 90};
    const double peer[] = {1, 10, 11, 10, 10, 45};
    struct told a = {ours, 6, 0}, b = {peer, 6, 0};
    struct comparison result;

    (void)state;
    assert_true(compare_run(tell, &a, tell, &b, 5, &result));
    assert_true(result.ours_ns == 21 && result.peer_ns == 10 && result.ratio == 2.1);
    assert_true(result.spread < 0.06);
    assert_true(result.is_steady);
}

static void a_wide_spread_gives_no_ratio(void **state)
{
    const double ours[] = {1, 10, 20, 30, 10, 20};
    const double peer[] = {1, 10, 10, 10, 10, 10};
    struct told a = {ours, 6, 0}, b = {peer, 6, 0};
    struct comparison result;

    (void)state;
    assert_true(compare_run(tell, &a, tell, &b, 5, &result));
    assert_false(result.is_steady);
    assert_true(result.spread > COMPARE_SPREAD_MAX);
}

static void a_slice_that_fails_ends_it(void **state)
{
    const double ours[] = {1, 10, -1, 10};
    const double peer[] = {1, 10, 10, 10};
    struct told a = {ours, 4, 0}, b = {peer, 4, 0};
    struct comparison result;

    (void)state;
    assert_false(compare_run(tell, &a, tell, &b, 3, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ratio_is_that_of_the_medians),
        cmocka_unit_test(a_wide_spread_gives_no_ratio),
        cmocka_unit_test(a_slice_that_fails_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
