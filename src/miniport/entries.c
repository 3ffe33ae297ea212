#include "miniport/entries.h"

#include "base/hash.h"

#include <stddef.h>
#include <string.h>

/* An entry as it is in memory: its flags and its address. */
typedef uint64_t entry_words __attribute__((vector_size(16)));

_Static_assert(sizeof(entry_words) == sizeof(DXGK_PTE) && offsetof(DXGK_PTE, PageAddress) == 8,
               "two words");

#define AT_ONCE 16u

static inline entry_words load_entry(const DXGK_PTE *entry)
{
    entry_words words;

    memcpy(&words, entry, sizeof words);
    return words;
}

/*
 * How many of the entries have the flags of the first and, if the mask is all ones, addresses that
 * go on by the stride; those before `known` do. Both words of an entry at once, and one jump for
 * AT_ONCE entries: entry i less i strides is what the first of them must be.
 */
static uint64_t count_alike(const DXGK_PTE *entries, uint64_t known, uint64_t count,
                            ULONGLONG stride, ULONGLONG mask)
{
    const entry_words step = {0, stride}, compared = {~UINT64_C(0), mask};
    entry_words wanted = load_entry(entries), steps[AT_ONCE] = {{0}};

    for (unsigned i = 1; i < AT_ONCE; i++)
        steps[i] = steps[i - 1] + step;
    wanted[1] += known * stride;
    for (; known + AT_ONCE <= count; known += AT_ONCE) {
        entry_words other = {0, 0};

        for (unsigned i = 0; i < AT_ONCE; i++)
            other |= (load_entry(&entries[known + i]) - steps[i]) ^ wanted;
        other &= compared;
        if (other[0] | other[1])
            break;
        wanted += AT_ONCE * step;
    }
    for (; known < count; known++) {
        entry_words other = (load_entry(&entries[known]) ^ wanted) & compared;

        if (other[0] | other[1])
            break;
        wanted += step;
    }
    return known;
}

static uint64_t hash_of_words(const DXGK_PTE *entries, uint64_t count)
{
    return hash_words(entries, (size_t)count * sizeof *entries / sizeof(uint64_t));
}

static uint64_t hash_of_stride(const DXGK_PTE *first, const struct miniport_entries *range)
{
    return hash_pair(hash_of_words(first, 1), hash_pair((uint64_t)range->stride, range->count));
}

/* Of entries with the same flags. */
static uint64_t hash_of_addresses(const DXGK_PTE *entries, uint64_t count)
{
    return hash_pair(entries->Flags, hash_every_other_word(&entries->PageAddress, (size_t)count));
}

/* Most arrays of invalid entries have one entry so many times. */
static uint64_t count_equal(const DXGK_PTE *entries, uint64_t count)
{
    return memcmp(entries, entries + 1, (size_t)(count - 1) * sizeof *entries) == 0
               ? count
               : count_alike(entries, 1, count, 0, ~UINT64_C(0));
}

static struct miniport_entries invalid_ones(const DXGK_PTE *entries, uint64_t count)
{
    struct miniport_entries range = {.count = count_equal(entries, count)};
    const uint64_t alike = range.count;

    while (range.count < count && !entries[range.count].Valid)
        range.count++;
    range.hash = range.count == alike ? hash_of_stride(entries, &range)
                                      : hash_of_words(entries, range.count);
    return range;
}

struct miniport_entries miniport_entries_first(const DXGK_PTE *entries, uint64_t count,
                                               uint64_t even)
{
    struct miniport_entries range = {.count = 1};
    const uint64_t known = even > 2 ? even : 2;
    ULONGLONG stride = 0;

    even = 1;
    if (!entries[0].Valid)
        return invalid_ones(entries, count);
    if (count > 1 && entries[1].Flags == entries[0].Flags) {
        stride = entries[1].PageAddress - entries[0].PageAddress;
        even = known < count ? count_alike(entries, known, count, stride, ~UINT64_C(0)) : count;
        range.count = entries[0].Segment ? even : count_alike(entries, even, count, 0, 0);
    }
    range.is_scattered = range.count != even;
    range.stride = range.is_scattered ? 0 : (int64_t)stride;
    range.hash = range.is_scattered ? hash_of_addresses(entries, range.count)
                                    : hash_of_stride(entries, &range);
    return range;
}

uint64_t miniport_entries_add_hash(uint64_t hash, uint64_t of_range)
{
    return hash_pair(hash, of_range);
}

uint64_t miniport_entries_hash(const DXGK_PTE *entries, uint64_t count)
{
    uint64_t hash = 0;

    for (uint64_t at = 0; at < count;) {
        const struct miniport_entries range = miniport_entries_first(entries + at, count - at, 0);

        hash = miniport_entries_add_hash(hash, range.hash);
        at += range.count;
    }
    return hash;
}
