/* Page bulk: copies and fills give the bytes of plain ones, through the cache and around it. */
#include "machine/page_bulk.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES (16 * PAGE_BYTES)

static void what_is_large_depends_on_the_whole(void **state)
{
    assert_false(page_bulk_is_large_copy(PAGE_BYTES));
    assert_true(page_bulk_is_large_copy(UINT64_C(1) << 36));
    assert_false(page_bulk_is_large_fill(PAGE_BYTES));
    assert_true(page_bulk_is_large_fill(UINT64_C(1) << 36));
}

static void a_copy_has_the_bytes_either_way(void **state)
{
    uint8_t *from = aligned_alloc(PAGE_BYTES, BYTES);
    uint8_t *to = aligned_alloc(PAGE_BYTES, BYTES);

    for (int is_large = 0; is_large <= 1; is_large++) {
        for (uint64_t i = 0; i < BYTES; i++)
            from[i] = (uint8_t)(i * 7 + (i >> 8) + (uint64_t)is_large);
        memset(to, 0, BYTES);
        page_bulk_copy(to + PAGE_BYTES, from, BYTES - 2 * PAGE_BYTES, is_large);
        assert_int_equal(to[PAGE_BYTES - 1], 0);
        assert_memory_equal(to + PAGE_BYTES, from, BYTES - 2 * PAGE_BYTES);
        assert_int_equal(to[BYTES - PAGE_BYTES], 0);
    }
    free(from);
    free(to);
}

static void ranges_of_a_copy_may_overlap_in_both_directions(void **state)
{
    uint8_t *bytes = aligned_alloc(PAGE_BYTES, BYTES);
    uint8_t *before = aligned_alloc(PAGE_BYTES, BYTES);

    for (int i = 0; i < 4; i++) {
        uint64_t from = i % 2 ? 0 : PAGE_BYTES, to = i % 2 ? PAGE_BYTES : 0;

        for (uint64_t at = 0; at < BYTES; at++)
            before[at] = bytes[at] = (uint8_t)(at * 13 + (at >> 8));
        page_bulk_copy(bytes + to, bytes + from, BYTES - PAGE_BYTES, i / 2);
        assert_memory_equal(bytes + to, before + from, BYTES - PAGE_BYTES);
    }
    free(bytes);
    free(before);
}

static void a_fill_begins_with_the_pattern_and_ends_where_it_is_to(void **state)
{
    static const uint32_t patterns[] = {0, 0x5a5a5a5a, 0x01020304, 0xff000000};
    static const uint64_t lengths[] = {0, 1, 3, 63, 64, 65, 4095, PAGE_BYTES, 3 * PAGE_BYTES + 7};
    uint8_t *to = aligned_alloc(PAGE_BYTES, BYTES);

    for (unsigned i = 0; i < ARRAY_COUNT(patterns) * ARRAY_COUNT(lengths) * 4; i++) {
        const uint32_t pattern = patterns[i / 4 % ARRAY_COUNT(patterns)];
        const uint64_t length = lengths[i / 4 / ARRAY_COUNT(patterns)];
        uint8_t *start = to + 64 + (i % 4 / 2 ? 5 : 0);

        memset(to, 0x77, BYTES);
        page_bulk_fill(start, length, pattern, i % 2);
        assert_int_equal(start[-1], 0x77);
        for (uint64_t at = 0; at < length; at++)
            assert_int_equal(start[at], (uint8_t)(pattern >> 8 * (at % 4)));
        assert_int_equal(start[length], 0x77);
    }
    free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_large_depends_on_the_whole),
        cmocka_unit_test(a_copy_has_the_bytes_either_way),
        cmocka_unit_test(ranges_of_a_copy_may_overlap_in_both_directions),
        cmocka_unit_test(a_fill_begins_with_the_pattern_and_ends_where_it_is_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
