#include "bench/record/run_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_slot_has_what_was_in_use_when_it_began(void **state)
{
    struct run_samples samples = {0};

    run_samples_begin(&samples, 100);
    assert_true(run_samples_want(&samples, 0));
    run_samples_note(&samples, 0, 10);
    assert_false(run_samples_want(&samples, samples.period_ns - 1));
    run_samples_note(&samples, samples.period_ns - 1, 99); /* within the first slot */
    run_samples_note(&samples, 3 * samples.period_ns, 40);
    assert_int_equal(samples.count, 4);
    assert_int_equal(samples.used[0], 10);
    assert_int_equal(samples.used[1], 10); /* nothing was told meanwhile */
    assert_int_equal(samples.used[2], 10);
    assert_int_equal(samples.used[3], 40);
}

static void any_length_fits_and_keeps_its_shape(void **state)
{
    struct run_samples samples = {0};
    const uint64_t end_ns = UINT64_C(1) << 40;

    run_samples_begin(&samples, 1000);
    for (uint64_t i = 0; i <= 1000; i++) /* a ramp */
        run_samples_note(&samples, end_ns / 1000 * i, i);
    assert_in_range(samples.count, RUN_SAMPLES / 2, RUN_SAMPLES);
    for (uint32_t i = 0; i < samples.count; i++) {
        double at = 1000.0 * (double)samples.period_ns * i / (double)end_ns;

        assert_true((double)samples.used[i] >= at - 2 && (double)samples.used[i] <= at + 2);
    }
}

static void a_leap_in_time_is_one_value(void **state)
{
    struct run_samples samples = {0};

    run_samples_begin(&samples, 8);
    run_samples_note(&samples, 0, 1);
    run_samples_note(&samples, UINT64_MAX / 2, 2);
    assert_true(samples.count <= RUN_SAMPLES);
    assert_int_equal(samples.used[0], 1);
    assert_int_equal(samples.used[samples.count - 2], 1);
    assert_int_equal(samples.used[samples.count - 1], 2);
}

static void without_local_memory_there_are_none(void **state)
{
    struct run_samples samples = {0};

    assert_false(run_samples_want(&samples, 5));
    run_samples_note(&samples, 5, 5);
    assert_int_equal(samples.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_has_what_was_in_use_when_it_began),
        cmocka_unit_test(any_length_fits_and_keeps_its_shape),
        cmocka_unit_test(a_leap_in_time_is_one_value),
        cmocka_unit_test(without_local_memory_there_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
