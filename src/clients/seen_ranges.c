#include "clients/seen_ranges.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

void seen_ranges_fini(struct seen_ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct seen_ranges){0};
}

/* The first that ends behind the address, or at it. */
static size_t first_at(const struct seen_ranges *ranges, uint64_t address)
{
    size_t low = 0, high = ranges->count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (ranges->list[middle].end < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* [first, last) becomes these. */
static bool replace(struct seen_ranges *ranges, size_t first, size_t last,
                    const struct seen_range *with, size_t count)
{
    const size_t after = ranges->count - last;

    if (ranges->count + count > ranges->room) {
        const size_t room = ranges->room ? ranges->room * 2 : 16;
        struct seen_range *more = realloc(ranges->list, room * sizeof *more);

        if (!more)
            return false;
        ranges->list = more;
        ranges->room = room;
    }
    if (after)
        memmove(ranges->list + first + count, ranges->list + last, after * sizeof *ranges->list);
    if (count)
        memcpy(ranges->list + first, with, count * sizeof *with);
    ranges->count = first + count + after;
    return true;
}

bool seen_ranges_add(struct seen_ranges *ranges, uint64_t start, uint64_t end)
{
    const size_t first = first_at(ranges, start);
    struct seen_range whole = {start, end};
    size_t last = first;

    if (start >= end)
        return true;
    for (; last < ranges->count && ranges->list[last].start <= end; last++) {
        whole.start = min_u64(whole.start, ranges->list[last].start);
        whole.end = max_u64(whole.end, ranges->list[last].end);
    }
    return replace(ranges, first, last, &whole, 1);
}

bool seen_ranges_remove(struct seen_ranges *ranges, uint64_t start, uint64_t end)
{
    const size_t first = first_at(ranges, start);
    struct seen_range pieces[2];
    size_t last = first, count = 0;

    if (start >= end)
        return true;
    for (; last < ranges->count && ranges->list[last].start < end; last++) {
        const struct seen_range old = ranges->list[last];

        if (old.start < start)
            pieces[count++] = (struct seen_range){old.start, min_u64(old.end, start)};
        if (old.end > end)
            pieces[count++] = (struct seen_range){max_u64(old.start, end), old.end};
    }
    return replace(ranges, first, last, pieces, count);
}

bool seen_ranges_touch(const struct seen_ranges *ranges, uint64_t start, uint64_t end)
{
    const size_t first = first_at(ranges, start + 1);

    return start < end && first < ranges->count && ranges->list[first].start < end;
}

bool seen_ranges_cover(const struct seen_ranges *ranges, uint64_t start, uint64_t end)
{
    const size_t first = first_at(ranges, start + 1);

    return first < ranges->count && ranges->list[first].start <= start &&
           ranges->list[first].end >= end;
}
