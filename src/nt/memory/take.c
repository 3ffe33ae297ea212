#include "nt/memory/take.h"

#include "nt/nt_private.h"

#include "base/bits.h"

static bool is_in_range(const struct nt_page_range *range, uint64_t pfn)
{
    uint64_t first = pfn * PAGE_SIZE, last = first + PAGE_SIZE - 1, away = 0;

    if (first < range->lowest)
        return false;
    if (range->skip)
        away = (first - range->lowest) / range->skip * range->skip;
    return last - away <= range->highest;
}

/*
 * As many of count pages as lie in the range: pages are taken, and those elsewhere put aside until
 * it is done, so that the free pages in the range are found. Returns how many; they stand first.
 */
static uint64_t take_in_range(struct nt *nt, const struct nt_page_range *range, uint64_t count,
                              uint64_t *pfns, uint64_t room)
{
    uint64_t kept = 0, taken = 0;

    while (kept < count) {
        uint64_t wanted = min_u64(count - kept, room - taken);

        if (!wanted || !machine_alloc_pages(nt->machine, wanted, pfns + taken))
            break;
        for (uint64_t end = taken + wanted; taken < end; taken++) {
            uint64_t pfn = pfns[taken];

            if (is_in_range(range, pfn)) {
                pfns[taken] = pfns[kept];
                pfns[kept++] = pfn;
            }
        }
    }
    if (taken > kept)
        machine_free_pages(nt->machine, pfns + kept, taken - kept);
    return kept;
}

/* count pages from first on; NULL: no memory. */
static uint64_t *list_from(struct nt *nt, uint64_t first, uint64_t count)
{
    uint64_t *pfns = base_alloc_array(nt->services, count, sizeof *pfns);

    for (uint64_t i = 0; pfns && i < count; i++)
        pfns[i] = first + i;
    return pfns;
}

static uint64_t power_of_two_for(uint64_t pages)
{
    uint64_t power = 1;

    while (power < pages)
        power *= 2;
    return power;
}

uint64_t *nt_take_contiguous(struct nt *nt, const struct nt_page_range *range, uint64_t bytes,
                             uint64_t boundary, uint64_t *out_count)
{
    uint64_t count = div_round_up(bytes, PAGE_SIZE), first, *pfns = NULL;

    *out_count = 0;
    if (!nt->machine || !count || (boundary && bytes > boundary) ||
        !machine_alloc_contiguous(nt->machine, count, boundary ? power_of_two_for(count) : 1,
                                  &first))
        return NULL;
    if (is_in_range(range, first) && is_in_range(range, first + count - 1))
        pfns = list_from(nt, first, count);
    if (!pfns)
        machine_free_contiguous(nt->machine, first, count);
    else
        *out_count = count;
    return pfns;
}

/* An array of exactly the pages that were kept, in place of one with more room. */
static uint64_t *shorten(struct nt *nt, uint64_t *pfns, uint64_t room, uint64_t kept)
{
    uint64_t *shorter = kept ? base_alloc_array(nt->services, kept, sizeof *pfns) : NULL;

    for (uint64_t i = 0; shorter && i < kept; i++)
        shorter[i] = pfns[i];
    if (kept && !shorter)
        machine_free_pages(nt->machine, pfns, kept);
    base_free_array(nt->services, pfns, room, sizeof *pfns);
    return shorter;
}

static uint64_t *take_anywhere(struct nt *nt, const struct nt_page_range *range, uint64_t count,
                               bool needs_all, uint64_t *out_count)
{
    uint64_t room = count, kept, *pfns;

    if (range->lowest || range->skip ||
        range->highest < machine_get_config(nt->machine)->ram_bytes - 1)
        room = max_u64(count, machine_free_page_count(nt->machine));
    pfns = base_alloc_array(nt->services, room, sizeof *pfns);
    if (!pfns)
        return NULL;
    kept = take_in_range(nt, range, count, pfns, room);
    if (kept < count && needs_all) {
        if (kept)
            machine_free_pages(nt->machine, pfns, kept);
        kept = 0;
    }
    *out_count = kept;
    return room == kept ? pfns : shorten(nt, pfns, room, kept);
}

uint64_t *nt_take_pages(struct nt *nt, const struct nt_page_range *range, uint64_t bytes,
                        ULONG flags, uint64_t *out_count)
{
    uint64_t count = div_round_up(bytes, PAGE_SIZE), *pfns;

    *out_count = 0;
    if (!nt->machine || !count || count > (UINT32_MAX - PAGE_SIZE) / PAGE_SIZE)
        return NULL;
    pfns =
        flags & MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS
            ? nt_take_contiguous(nt, range, bytes, 0, out_count)
            : take_anywhere(nt, range, count, (flags & MM_ALLOCATE_FULLY_REQUIRED) != 0, out_count);
    if (!pfns)
        *out_count = 0;
    for (uint64_t i = 0; !(flags & MM_DONT_ZERO_ALLOCATION) && i < *out_count; i++)
        page_store_fill(machine_ram(nt->machine), pfns[i] * PAGE_SIZE, PAGE_SIZE, 0);
    return pfns;
}

void nt_free_taken(struct nt *nt, uint64_t *pfns, uint64_t count)
{
    machine_free_pages(nt->machine, pfns, count);
    base_free_array(nt->services, pfns, count, sizeof *pfns);
}
