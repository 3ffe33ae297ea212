#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "bench/run/run_memory.h"

#include <string.h>

/* About what is pooled, smaller than what is mapped, about as large, larger. */
static const size_t sizes[] = {1,       100, 4 * KiB - 32, 4 * KiB - 31, MiB - 32,
                               MiB - 1, MiB, MiB + 1,      8 * MiB};

static void blocks_of_every_size_are_zero_when_they_are_used_again(void **state)
{
    struct run_memory memory;

    (void)state;
    run_memory_init(&memory);
    for (unsigned round = 0; round < 3; round++) {
        unsigned char *blocks[ARRAY_COUNT(sizes)];
        uint64_t bytes = 0;

        for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
            blocks[i] = base_alloc(&memory.services, sizes[i]);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % 16, 0);
            for (size_t at = 0; at < sizes[i]; at++)
                assert_true(blocks[i][at] == 0);
            memset(blocks[i], 0x5a, sizes[i]);
            bytes += sizes[i];
            assert_int_equal(memory.live_bytes, bytes);
        }
        for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++)
            base_free(&memory.services, blocks[i], sizes[i]);
        assert_int_equal(memory.live_blocks, 0);
        assert_int_equal(memory.live_bytes, 0);
    }
}

static void what_is_left_is_known_and_given_up_as_a_whole(void **state)
{
    struct run_memory memory;

    (void)state;
    run_memory_init(&memory);
    for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++)
        assert_non_null(base_alloc(&memory.services, sizes[i]));
    assert_int_equal(memory.live_blocks, ARRAY_COUNT(sizes));
    run_memory_free_all(&memory);
    assert_int_equal(memory.live_blocks, 0);
    assert_int_equal(memory.live_bytes, 0);
}

static void small_blocks_that_one_run_had_are_the_next_ones(void **state)
{
    enum { BLOCKS = 300 };
    unsigned char *blocks[BLOCKS];
    struct run_memory memory;

    (void)state;
    for (unsigned run = 0; run < 4; run++) {
        run_memory_init(&memory);
        for (unsigned i = 0; i < BLOCKS; i++) {
            const size_t size = 1 + (i * 37 + run * 11) % 5000;

            blocks[i] = base_alloc(&memory.services, size);
            assert_non_null(blocks[i]);
            for (size_t at = 0; at < size; at++)
                assert_true(blocks[i][at] == 0);
            memset(blocks[i], (int)(i % 251 + 1), size);
        }
        for (unsigned i = 0; i < BLOCKS; i++) { /* no two of them are the same memory */
            const size_t size = 1 + (i * 37 + run * 11) % 5000;

            for (size_t at = 0; at < size; at++)
                assert_int_equal(blocks[i][at], i % 251 + 1);
            if (i % 2)
                base_free(&memory.services, blocks[i], size);
        }
        assert_int_equal(memory.live_blocks, BLOCKS / 2);
        run_memory_free_all(&memory);
    }
}

static void the_nth_allocation_fails_whatever_its_size(void **state)
{
    struct run_memory memory;

    (void)state;
    run_memory_init(&memory);
    for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
        memory.fail_at = 1;
        memory.has_failed = false;
        assert_null(base_alloc(&memory.services, sizes[i]));
        assert_true(memory.has_failed);
    }
    assert_null(base_alloc(&memory.services, SIZE_MAX));
    assert_int_equal(memory.live_blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_every_size_are_zero_when_they_are_used_again),
        cmocka_unit_test(what_is_left_is_known_and_given_up_as_a_whole),
        cmocka_unit_test(small_blocks_that_one_run_had_are_the_next_ones),
        cmocka_unit_test(the_nth_allocation_fails_whatever_its_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
