/* Guard: what lies around a copy, whatever stood there before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "check/check_guard.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canaries_stand_wherever_copies_were),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
