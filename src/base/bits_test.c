#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"

static void alignment_rounds_both_ways(void **state)
{
    uint64_t out = 7;

    (void)state;
    assert_int_equal(align_up(0, 8), 0);
    assert_int_equal(align_up(1, 8), 8);
    assert_int_equal(align_up(8, 8), 8);
    assert_int_equal(align_down(15, 8), 8);
    assert_true(is_aligned(64 * KiB, PAGE_BYTES));
    assert_false(is_aligned(PAGE_BYTES + 1, PAGE_BYTES));
    assert_true(align_up_checked(UINT64_MAX - 15, 16, &out));
    assert_true(out == UINT64_MAX - 15);
    assert_false(align_up_checked(UINT64_MAX - 14, 16, &out));
    assert_int_equal(out, 0);
}

static void overflow_is_reported(void **state)
{
    uint64_t out = 7;

    (void)state;
    assert_true(add_u64_checked(UINT64_MAX - 1, 1, &out));
    assert_true(out == UINT64_MAX);
    assert_false(add_u64_checked(UINT64_MAX, 1, &out));
    assert_int_equal(out, 0);
    assert_true(mul_u64_checked(UINT64_C(1) << 32, UINT32_MAX, &out));
    assert_true(out == UINT64_MAX - UINT32_MAX);
    assert_true(mul_u64_checked(7, 0, &out));
    assert_int_equal(out, 0);
    assert_false(mul_u64_checked(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
}

static void division_and_pages_round_up(void **state)
{
    (void)state;
    assert_int_equal(div_round_up(0, 10), 0);
    assert_int_equal(div_round_up(10, 10), 1);
    assert_int_equal(div_round_up(11, 10), 2);
    assert_true(div_round_up(UINT64_MAX, 2) == UINT64_C(1) << 63);
    assert_int_equal(bytes_to_pages(1), 1);
    assert_int_equal(bytes_to_pages(2 * PAGE_BYTES), 2);
    assert_int_equal(UINT64_C(1) << PAGE_SHIFT_BITS, PAGE_BYTES);
}

static void powers_and_logarithms_agree(void **state)
{
    (void)state;
    assert_false(is_power_of_two(0));
    assert_false(is_power_of_two(6));
    for (unsigned i = 0; i < 64; i++) {
        uint64_t power = UINT64_C(1) << i;

        assert_true(is_power_of_two(power));
        assert_int_equal(log2_floor_u64(power), i);
        assert_int_equal(log2_ceil_u64(power), i);
        assert_int_equal(ctz_u64(power), i);
        assert_int_equal(clz_u64(power), 63 - i);
        assert_int_equal(ctz_u64_portable(power | UINT64_C(1) << 63), i);
        assert_int_equal(clz_u64_portable(power | 1), 63 - i);
        if (i > 1) {
            assert_int_equal(log2_floor_u64(power - 1), i - 1);
            assert_int_equal(log2_ceil_u64(power - 1), i);
        }
        assert_int_equal(popcount_u64(low_mask_u64(i)), i);
        assert_int_equal(popcount_u64_portable(low_mask_u64(i)), i);
        assert_true(rotate_left_u64(1, i) == power);
    }
    assert_int_equal(popcount_u64_portable(UINT64_MAX), 64);
    assert_int_equal(popcount_u64_portable(UINT64_C(0xdeadbeef12345678)),
                     popcount_u64(UINT64_C(0xdeadbeef12345678)));
    assert_true(low_mask_u64(64) == UINT64_MAX);
    assert_int_equal(low_mask_u64(0), 0);
    assert_true(rotate_left_u64(UINT64_C(1) << 63, 1) == 1);
}

static void ranges_overlap_only_when_they_share_a_byte(void **state)
{
    (void)state;
    assert_true(ranges_overlap(0, 10, 9, 1));
    assert_false(ranges_overlap(0, 10, 10, 1));
    assert_true(ranges_overlap(5, 1, 0, 10));
    assert_false(ranges_overlap(5, 0, 0, 10));
    assert_true(ranges_overlap(UINT64_MAX, 1, UINT64_MAX - 1, 2));
    assert_int_equal(min_u64(1, 2), 1);
    assert_int_equal(max_u64(1, 2), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alignment_rounds_both_ways),
        cmocka_unit_test(overflow_is_reported),
        cmocka_unit_test(division_and_pages_round_up),
        cmocka_unit_test(powers_and_logarithms_agree),
        cmocka_unit_test(ranges_overlap_only_when_they_share_a_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
