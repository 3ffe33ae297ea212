/* How long a thread looks at a word before it sleeps. */
#define _GNU_SOURCE
#include "thunk/lane.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct word {
    unsigned looks, over_at; /* over_at: the look that finds it over; 0: none does */
};

static bool is_over(const void *context)
{
    struct word *word = (struct word *)(uintptr_t)context;

    return ++word->looks == word->over_at;
}

static void nobody_looks_unless_a_time_is_given(void **state)
{
    struct lane_patience patience = {0};
    struct word word = {.over_at = 1};

    assert_false(lane_spin(&patience, 0, is_over, &word));
    assert_int_equal(word.looks, 0);
    assert_int_equal(patience.looks, 0);
}

static void a_look_ends_when_it_has_seen_the_end(void **state)
{
    struct lane_patience patience = {0};
    struct word word = {.over_at = 5};

    assert_true(lane_spin(&patience, LANE_MOST_SPIN_NS, is_over, &word));
    assert_int_equal(word.looks, 5);
    assert_int_equal(patience.looks, 1);
}

/* After the first look in vain one is left out, after the second three, and so on. */
static void looks_in_vain_become_fewer_and_one_with_success_brings_them_back(void **state)
{
    struct lane_patience patience = {0};
    struct word word = {0};
    unsigned calls = 0;

    for (unsigned look = 0, apart = 1; look < 10; look++) {
        for (unsigned call = 0; call < apart; call++, calls++)
            assert_false(lane_spin(&patience, 1, is_over, &word));
        assert_int_equal(patience.looks, look + 1);
        apart = apart * 2 > LANE_MOST_SKIPPED ? LANE_MOST_SKIPPED + 1 : apart * 2;
    }
    assert_int_equal(patience.left, LANE_MOST_SKIPPED);
    patience.left = 0;
    word.over_at = word.looks + 1;
    assert_true(lane_spin(&patience, 1, is_over, &word));
    word.over_at = word.looks + 1;
    assert_true(lane_spin(&patience, 1, is_over, &word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_looks_unless_a_time_is_given),
        cmocka_unit_test(a_look_ends_when_it_has_seen_the_end),
        cmocka_unit_test(looks_in_vain_become_fewer_and_one_with_success_brings_them_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
