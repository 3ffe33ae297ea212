/* Arrays of page-table entries in ranges, against a model that looks at one entry at a time. */
#include "miniport/entries.h"

#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MOST 40u

static DXGK_PTE entry_of(bool is_valid, unsigned segment, uint64_t page)
{
    DXGK_PTE entry = {0};

    entry.Valid = is_valid;
    entry.Segment = segment;
    entry.PageAddress = page;
    return entry;
}

/* Stretches of pages that go on, of pages by chance, and of invalid entries. */
static unsigned draw(struct rng *rng, DXGK_PTE entries[MOST])
{
    unsigned count = 0;

    while (count < MOST) {
        const bool is_valid = rng_below(rng, 4) != 0, goes_on = rng_below(rng, 3) != 0;
        const unsigned segment = (unsigned)rng_below(rng, 2);
        const uint64_t stride = rng_below(rng, 3);
        uint64_t page = rng_below(rng, 1000);

        for (uint64_t left = 1 + rng_below(rng, 20); left && count < MOST; left--) {
            entries[count++] = entry_of(is_valid, segment, page);
            page = goes_on ? page + stride : rng_below(rng, 1000);
        }
    }
    return 1 + (unsigned)rng_below(rng, MOST);
}

/* So many are one range: the plain form of what the header says. */
static uint64_t model_count(const DXGK_PTE *entries, uint64_t count, bool *out_is_even)
{
    const uint64_t stride = count > 1 ? entries[1].PageAddress - entries[0].PageAddress : 0;
    uint64_t at = 1;

    *out_is_even = true;
    for (; at < count; at++) {
        if (!entries[0].Valid && entries[at].Valid)
            break;
        if (entries[0].Valid && entries[at].Flags != entries[0].Flags)
            break;
        if (entries[at].PageAddress == entries[0].PageAddress + at * stride)
            continue;
        if (entries[0].Valid && entries[0].Segment)
            break;
        *out_is_even = false;
    }
    return at;
}

static void ranges_are_those_of_a_plain_model(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 5);
    for (unsigned round = 0; round < 5000; round++) {
        DXGK_PTE entries[MOST];
        const uint64_t count = draw(&rng, entries);

        for (uint64_t at = 0; at < count;) {
            const struct miniport_entries range =
                miniport_entries_first(entries + at, count - at, 0);
            bool is_even;

            assert_int_equal(range.count, model_count(entries + at, count - at, &is_even));
            assert_int_equal(range.is_scattered, entries[at].Valid && !is_even);
            if (entries[at].Valid && range.count > 1 && is_even)
                assert_int_equal(range.stride,
                                 entries[at + 1].PageAddress - entries[at].PageAddress);
            else
                assert_int_equal(range.stride, 0);
            if (entries[at].Valid && is_even) {
                const struct miniport_entries known = miniport_entries_first(
                    entries + at, count - at, 1 + rng_below(&rng, range.count));

                assert_int_equal(known.count, range.count);
                assert_int_equal(known.stride, range.stride);
                assert_int_equal(known.is_scattered, range.is_scattered);
                assert_true(known.hash == range.hash);
            }
            at += range.count;
        }
    }
}

static void the_hash_is_that_of_the_ranges_and_of_nothing_else(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 6);
    for (unsigned round = 0; round < 2000; round++) {
        DXGK_PTE entries[MOST], other[MOST];
        const uint64_t count = draw(&rng, entries);
        const uint64_t first = miniport_entries_first(entries, count, 0).count;
        uint64_t hash = 0;

        for (uint64_t at = 0; at < count;) {
            const struct miniport_entries range =
                miniport_entries_first(entries + at, count - at, 0);

            hash = miniport_entries_add_hash(hash, range.hash);
            at += range.count;
        }
        assert_true(hash == miniport_entries_hash(entries, count));

        memcpy(other, entries, sizeof other);
        memset(other + count, 0x5a, (MOST - count) * sizeof *other);
        assert_true(hash == miniport_entries_hash(other, count));
        assert_true(count == first || hash != miniport_entries_hash(entries, first));
    }
}

static void one_bit_of_an_entry_makes_another_hash(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (unsigned round = 0; round < 200; round++) {
        DXGK_PTE entries[MOST];
        const uint64_t count = draw(&rng, entries);
        const uint64_t hash = miniport_entries_hash(entries, count);

        for (uint64_t at = 0; at < count; at++) {
            for (unsigned bit = 0; bit < 64; bit++) {
                entries[at].Flags ^= UINT64_C(1) << bit;
                assert_true(hash != miniport_entries_hash(entries, count));
                entries[at].Flags ^= UINT64_C(1) << bit;
                entries[at].PageAddress ^= UINT64_C(1) << bit;
                assert_true(hash != miniport_entries_hash(entries, count));
                entries[at].PageAddress ^= UINT64_C(1) << bit;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_those_of_a_plain_model),
        cmocka_unit_test(the_hash_is_that_of_the_ranges_and_of_nothing_else),
        cmocka_unit_test(one_bit_of_an_entry_makes_another_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
