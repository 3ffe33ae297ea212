#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"

/* The first outputs of the published reference code for this seeding. */
static void the_sequence_is_that_of_the_reference(void **state)
{
    uint64_t seed = 0;
    struct rng rng;

    (void)state;
    assert_true(splitmix64(&seed) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(splitmix64(&seed) == UINT64_C(0x6e789e6aa1b965f4));
    rng.state[0] = 1;
    rng.state[1] = 2;
    rng.state[2] = 3;
    rng.state[3] = 4;
    assert_int_equal(rng_next(&rng), 11520);
    assert_int_equal(rng_next(&rng), 0);
    assert_int_equal(rng_next(&rng), 1509978240);
    assert_int_equal(rng_next(&rng), 1215971899390074240);
}

static void the_same_seed_gives_the_same_sequence(void **state)
{
    struct rng a, b, c;
    unsigned same = 0;

    (void)state;
    rng_init(&a, 42);
    rng_init(&b, 42);
    rng_init(&c, 43);
    for (int i = 0; i < 100; i++) {
        uint64_t value = rng_next(&a);

        assert_true(value == rng_next(&b));
        same += value == rng_next(&c);
    }
    assert_int_equal(same, 0);
}

static void bounds_are_kept_and_all_values_are_reached(void **state)
{
    unsigned seen[6] = {0};
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 6000; i++) {
        uint64_t value = rng_below(&rng, 6);
        double unit = rng_unit(&rng);

        assert_true(value < 6);
        seen[value]++;
        assert_true(unit >= 0.0 && unit < 1.0);
        value = rng_between(&rng, 10, 12);
        assert_true(value >= 10 && value <= 12);
    }
    for (int i = 0; i < 6; i++)
        assert_true(seen[i] > 850 && seen[i] < 1150);
    assert_int_equal(rng_below(&rng, 1), 0);
    assert_int_equal(rng_between(&rng, 5, 5), 5);
    (void)rng_between(&rng, 0, UINT64_MAX);
}

static void a_chance_comes_true_as_often_as_it_says(void **state)
{
    unsigned hits = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, 2);
    for (int i = 0; i < 10000; i++) {
        hits += rng_chance(&rng, 1, 4);
        assert_false(rng_chance(&rng, 0, 4));
        assert_true(rng_chance(&rng, 4, 4));
    }
    assert_true(hits > 2300 && hits < 2700);
}

static void a_shuffle_permutes(void **state)
{
    uint64_t values[64];
    uint64_t seen = 0;
    unsigned kept = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (uint64_t i = 0; i < 64; i++)
        values[i] = i;
    rng_shuffle_u64(&rng, values, 64);
    for (uint64_t i = 0; i < 64; i++) {
        seen |= UINT64_C(1) << values[i];
        kept += values[i] == i;
    }
    assert_true(seen == UINT64_MAX);
    assert_true(kept < 8);
    rng_shuffle_u64(&rng, values, 0);
}

static void a_fork_differs_by_stream_and_leaves_the_parent(void **state)
{
    struct rng parent, untouched, a, b, again;
    uint64_t value;

    (void)state;
    rng_init(&parent, 4);
    untouched = parent;
    rng_fork(&parent, 0, &a);
    rng_fork(&parent, 1, &b);
    rng_fork(&parent, 0, &again);
    value = rng_next(&a);
    assert_true(value != rng_next(&b));
    assert_true(value == rng_next(&again));
    assert_true(rng_next(&parent) == rng_next(&untouched));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sequence_is_that_of_the_reference),
        cmocka_unit_test(the_same_seed_gives_the_same_sequence),
        cmocka_unit_test(bounds_are_kept_and_all_values_are_reached),
        cmocka_unit_test(a_chance_comes_true_as_often_as_it_says),
        cmocka_unit_test(a_shuffle_permutes),
        cmocka_unit_test(a_fork_differs_by_stream_and_leaves_the_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
