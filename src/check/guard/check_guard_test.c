/* Guard: what lies around a copy, whatever stood there before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "check/guard/check_guard.h"
#include "check/guard/guard_map.h"

#include <stdlib.h>
#include <string.h>

#define PAGE       4096u
#define REAL_BYTES (3 * PAGE)

/* All bytes between the guard pages that are not of the copy. */
static void assert_canaries(const struct guard *guard)
{
    for (const char *at = guard->map + PAGE; at < guard->map + guard->map_bytes - PAGE; at++)
        if (at < guard->copy || at >= guard->copy + guard->size)
            assert_true(*at == GUARD_CANARY);
}

/* By a pointer that the driver kept: found once, at its first byte, and made whole again. */
static void what_is_written_behind_a_call_is_found_and_undone(void **state)
{
    char *real = calloc(1, REAL_BYTES);

    assert_non_null(real);
    for (unsigned is_lent = 0; is_lent < 2; is_lent++) {
        struct guard guard = {0};
        struct guard_verdict verdict;
        size_t offset = 0;
        char *at;

        assert_false(guard_find_late(&guard, &offset)); /* nothing was lent */
        at = is_lent ? guard_lend(&guard, real, PAGE) : guard_begin(&guard, real, real, PAGE);
        assert_non_null(at);
        assert_false(guard_find_late(&guard, &offset)); /* it is the driver's now */
        memset(at, 0x11, 32);
        assert_true(is_lent ? guard_return(&guard, 32, &verdict)
                            : guard_end(&guard, real, PAGE, 32, &verdict));
        assert_false(guard_find_late(&guard, &offset));
        at[7] = 0x22;
        assert_true(guard_find_late(&guard, &offset));
        assert_int_equal(offset, 7);
        assert_int_equal(guard.left_whole, PAGE);
        assert_int_equal(at[7], 0x11);
        assert_false(guard_find_late(&guard, &offset));
        at[GUARD_LEFT_BYTES - 1] ^= 1;
        assert_true(guard_find_late(&guard, &offset));
        assert_int_equal(offset, GUARD_LEFT_BYTES - 1);
        guard_settle(&guard);
        assert_int_equal(real[7], 0x11);
        guard_fini(&guard);
    }
    free(real);
}

static void canaries_stand_wherever_copies_were(void **state)
{
    char *real = calloc(1, REAL_BYTES);
    struct guard guards[2] = {0}; /* one for each kind of use */
    struct rng rng;

    (void)state;
    assert_non_null(real);
    rng_init(&rng, 1);
    for (unsigned i = 0; i < 2000; i++) {
        size_t offset = 8 * (size_t)rng_below(&rng, PAGE / 8);
        size_t bytes = 8 + 8 * (size_t)rng_below(&rng, PAGE / 4);
        struct guard_verdict verdict;
        bool is_lent = rng_chance(&rng, 1, 2);
        struct guard *guard = &guards[is_lent];
        char *at;

        memset(real, (int)i, REAL_BYTES);
        at = is_lent ? guard_lend(guard, real + offset, bytes)
                     : guard_begin(guard, real + offset, real + offset, bytes);
        assert_non_null(at);
        assert_int_equal(guard->size, bytes);
        assert_canaries(guard);
        for (size_t j = 0; j < bytes; j++)
            assert_true((unsigned char)at[j] == (is_lent ? (unsigned char)i : GUARD_FILL));
        memset(at, 0x11, bytes);
        assert_true(is_lent ? guard_return(guard, bytes, &verdict)
                            : guard_end(guard, real + offset, bytes, bytes, &verdict));
        for (size_t j = 0; j < bytes; j++)
            assert_true(real[offset + j] == 0x11);
    }
    guard_fini(&guards[0]);
    guard_fini(&guards[1]);
    free(real);
}

/* A driver that needs an alignment has the one of the buffer, whatever was lent before. */
static void a_copy_lies_in_its_page_as_the_buffer_does(void **state)
{
    char *real = aligned_alloc(PAGE, REAL_BYTES);
    struct guard guard = {0};
    struct guard_verdict verdict;

    assert_non_null(real);
    for (unsigned i = 0; i < 4; i++) {
        char *start = real + (i % 2) * PAGE + (i / 2) * 64;
        char *at = guard_begin(&guard, start, start, PAGE);

        assert_non_null(at);
        assert_int_equal((uintptr_t)at % PAGE, (uintptr_t)start % PAGE);
        memset(at, (int)i, 8);
        assert_true(guard_end(&guard, start, PAGE, 8, &verdict));
        assert_int_equal(start[7], i);
    }
    guard_fini(&guard);
    free(real);
}

static void what_is_no_buffer_or_too_large_for_a_copy_has_none(void **state)
{
    char real[64] = {0};
    struct guard guard = {0};

    (void)state;
    assert_null(guard_begin(&guard, real, real, GUARD_MOST_BYTES + 1));
    assert_null(guard_begin(&guard, real, real + 8, GUARD_MOST_BYTES - 7));
    assert_null(guard_begin(&guard, real + 8, real, 32)); /* in front of its own start */
    assert_null(guard.map);
    assert_non_null(guard_begin(&guard, real, real + 8, 32));
    guard_fini(&guard);
}

/* Whatever was written to it by who had it before. */
static void a_map_that_comes_back_is_lent_clean(void **state)
{
    size_t bytes, again_bytes;
    char *map = guard_map_take(6 * PAGE, GUARD_CANARY, &bytes);
    char *again;

    (void)state;
    assert_non_null(map);
    assert_int_equal(bytes, 6 * PAGE);
    memset(map + PAGE, 1, bytes - 2 * PAGE);
    guard_map_give(map, bytes);

    assert_null(guard_map_take(SIZE_MAX / 2, GUARD_FILL, &again_bytes));
    assert_int_equal(again_bytes, 0);
    again = guard_map_take(5 * PAGE, GUARD_FILL, &again_bytes);
    assert_ptr_equal(again, map);
    assert_int_equal(again_bytes, bytes);
    for (size_t i = PAGE; i < again_bytes - PAGE; i++)
        assert_int_equal((unsigned char)again[i], GUARD_FILL);
    guard_map_give(again, again_bytes);

    /* All of a map is written: one that is much too large is left alone. */
    again = guard_map_take(2 * PAGE, GUARD_FILL, &again_bytes);
    assert_ptr_not_equal(again, map);
    assert_int_equal(again_bytes, 2 * PAGE);
    guard_map_give(again, again_bytes);
}

/* Calls that share a private buffer, each from where the last one stopped. */
static void a_call_that_goes_on_finds_what_is_behind_the_pointer(void **state)
{
    enum { MOST = 3000, LAST = MOST - 1 };
    unsigned char real[MOST], other[300] = {0};
    struct guard guard = {0};
    struct guard_verdict verdict;
    char *first, *second;

    (void)state;
    memset(real, 1, sizeof real);
    first = guard_lend(&guard, (char *)real, MOST);
    assert_non_null(first);
    memset(first, 2, sizeof real);
    assert_true(guard_return(&guard, 1000, &verdict));
    assert_int_equal(real[999], 2);

    second = guard_lend(&guard, (char *)real + 1000, MOST - 1000);
    assert_ptr_equal(second, first + 1000);
    assert_int_equal(second[LAST - 1000], 2);
    second[0] = 3;
    assert_true(guard_return(&guard, 0, &verdict));
    assert_int_equal(real[1000], 3); /* shown, though the pointer was not moved over it */

    second = guard_lend(&guard, (char *)real + 1000, MOST - 1000);
    assert_int_equal(second[0], 3);
    assert_true(guard_return(&guard, 0, &verdict));
    guard_settle(&guard);
    assert_int_equal(real[LAST], 2);

    real[1000] = 4; /* settled: somebody else may have written to it */
    second = guard_lend(&guard, (char *)real + 1000, MOST - 1000);
    assert_int_equal(second[0], 4);
    second[LAST - 1000] = 5;
    assert_true(guard_return(&guard, 0, &verdict));
    assert_non_null(guard_lend(&guard, (char *)other, sizeof other));
    assert_int_equal(real[LAST], 5);

    /* A pointer that is not in the buffer any more: all is given back, and nothing is kept. */
    *guard.copy = 6;
    assert_true(guard_return(&guard, sizeof other + 1, &verdict));
    assert_int_equal(other[0], 6);
    assert_false(guard.is_shared);
    guard_fini(&guard);
}

static void what_earlier_calls_moved_over_is_looked_at(void **state)
{
    static const size_t moves[] = {8, 300};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        unsigned char real[600] = {0};
        struct guard guard = {0};
        struct guard_verdict verdict;
        char *at = guard_lend(&guard, (char *)real, sizeof real);

        assert_non_null(at);
        assert_true(guard_return(&guard, moves[i], &verdict));
        at = guard_lend(&guard, (char *)real + moves[i], sizeof real - moves[i]);
        at[-3] = 1;
        assert_false(guard_return(&guard, 1, &verdict));
        assert_true(verdict.is_before);
        assert_int_equal(verdict.before_offset, 3);
        assert_int_equal(at[-3], 0);
        assert_int_equal(real[moves[i] - 3], 0);

        at = guard_lend(&guard, (char *)real + moves[i] + 1, sizeof real - moves[i] - 1);
        assert_true(guard_return(&guard, 1, &verdict));
        guard_fini(&guard);
    }
}

/* In front of the whole buffer, from a part amid it: counted from the part. */
static void canaries_in_front_are_counted_from_the_part(void **state)
{
    unsigned char real[64] = {0};
    struct guard guard = {0};
    struct guard_verdict verdict;
    char *at = guard_lend(&guard, (char *)real, sizeof real);

    (void)state;
    assert_non_null(at);
    assert_true(guard_return(&guard, 16, &verdict));
    at = guard_lend(&guard, (char *)real + 16, sizeof real - 16);
    at[-20] = 1;
    assert_false(guard_return(&guard, 16, &verdict));
    assert_true(verdict.is_before && !verdict.is_behind);
    assert_int_equal(verdict.before_offset, 20);
    guard_fini(&guard);
}

/* Two operations behind each other, of 64 bytes of which nobody's follow; each is written so. */
static void a_marked_buffer_tells_what_was_written_to_it(void **state)
{
    enum { SIZE = 64 };
    char buffer[SIZE + GUARD_NEAR_BYTES];
    struct guard_verdict verdict;
    struct guard guard = {0};

    guard_mark(&guard, buffer, SIZE);
    memset(buffer, 1, 24);
    assert_true(guard_look(&guard, buffer, SIZE, 24, &verdict));
    guard_mark(&guard, buffer + 24, SIZE - 24);
    assert_int_equal(buffer[23], 1);
    memset(buffer + 24, 2, SIZE - 24);
    assert_true(guard_look(&guard, buffer + 24, SIZE - 24, SIZE - 24, &verdict));

    guard_mark(&guard, buffer, SIZE); /* from its start again */
    memset(buffer, 3, 20);
    buffer[SIZE + 5] = 3;
    assert_false(guard_look(&guard, buffer, SIZE, 16, &verdict));
    assert_true(verdict.is_unsaid && verdict.is_behind);
    assert_false(verdict.is_gap || verdict.is_before);
    assert_int_equal(verdict.unsaid_offset, 0);
    assert_int_equal(verdict.behind_offset, 5);
    guard_mark(&guard, buffer + 16, SIZE - 16); /* what was wrong is put right */
    assert_false(guard_look(&guard, buffer + 16, SIZE - 16, 8, &verdict));
    assert_true(verdict.is_gap);
    assert_false(verdict.is_unsaid || verdict.is_behind);
    assert_int_equal(verdict.gap_bytes, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: no map has come back before. */
        cmocka_unit_test(a_map_that_comes_back_is_lent_clean),
        cmocka_unit_test(what_is_no_buffer_or_too_large_for_a_copy_has_none),
        cmocka_unit_test(a_copy_lies_in_its_page_as_the_buffer_does),
        cmocka_unit_test(a_marked_buffer_tells_what_was_written_to_it),
        cmocka_unit_test(a_call_that_goes_on_finds_what_is_behind_the_pointer),
        cmocka_unit_test(what_earlier_calls_moved_over_is_looked_at),
        cmocka_unit_test(canaries_in_front_are_counted_from_the_part),
        cmocka_unit_test(what_is_written_behind_a_call_is_found_and_undone),
        cmocka_unit_test(canaries_stand_wherever_copies_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
