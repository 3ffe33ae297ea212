/*
 * Ranges of addresses that a client process has: a set, ascending, of which no two touch.
 *
 * Place      clients. Of seen.h: what is reserved, and what calls have given at any time.
 * Errors     seen_ranges_add(): false, no memory; the set is as before.
 * Units      Half open, [start, end).
 */
#ifndef DRYDOCK_CLIENTS_SEEN_RANGES_H
#define DRYDOCK_CLIENTS_SEEN_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seen_range {
    uint64_t start, end;
};

struct seen_ranges {
    struct seen_range *list;
    size_t count, room;
};

void seen_ranges_fini(struct seen_ranges *ranges);
bool seen_ranges_add(struct seen_ranges *ranges, uint64_t start, uint64_t end);
/* False: no memory for the second piece of a range that is cut in two; nothing is taken out. */
bool seen_ranges_remove(struct seen_ranges *ranges, uint64_t start, uint64_t end);
/* Whether any of it, or all of it, is in the set. */
bool seen_ranges_touch(const struct seen_ranges *ranges, uint64_t start, uint64_t end);
bool seen_ranges_cover(const struct seen_ranges *ranges, uint64_t start, uint64_t end);

#endif
