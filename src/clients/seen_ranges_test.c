/*
 * A set of ranges beside a map of single places that does the same.
 */
#include "clients/seen_ranges.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PLACES 64u

static void a_set_of_ranges_is_as_a_map_of_places(void **state)
{
    struct seen_ranges ranges = {0};
    bool has[PLACES] = {false};
    struct rng rng;

    rng_init(&rng, 1);
    for (unsigned round = 0; round < 20000; round++) {
        const uint64_t a = rng_next(&rng) % PLACES, b = rng_next(&rng) % (PLACES + 1);
        const uint64_t start = a < b ? a : b, end = a < b ? b : a;
        bool touches = false, covers = start < end;

        for (uint64_t i = start; i < end; i++) {
            touches |= has[i];
            covers &= has[i];
        }
        assert_int_equal(seen_ranges_touch(&ranges, start, end), touches);
        if (start < end)
            assert_int_equal(seen_ranges_cover(&ranges, start, end), covers);
        if (rng_next(&rng) % 2) {
            assert_true(seen_ranges_add(&ranges, start, end));
            memset(has + start, true, end - start);
        } else {
            assert_true(seen_ranges_remove(&ranges, start, end));
            memset(has + start, false, end - start);
        }
        for (size_t i = 1; i < ranges.count; i++)
            assert_true(ranges.list[i - 1].end < ranges.list[i].start);
    }
    seen_ranges_fini(&ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_of_ranges_is_as_a_map_of_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
