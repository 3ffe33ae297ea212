/*
 * Row map: the row of a table by a number, or by several numbers together.
 *
 * Place      story, private.
 * Model      Open addressing by a hash of the key. The key itself is its hash: hash_u64() of one
 *            number is a bijection, and those of several meet by chance of 1 in 2^64.
 * Errors     Without memory a row is not entered, and failed is set.
 */
#ifndef DRYDOCK_STORY_ROW_MAP_H
#define DRYDOCK_STORY_ROW_MAP_H

#include "base/hash.h"
#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct row_slot {
    uint64_t key;
    uint64_t row; /* plus one; 0: the slot is free */
};

struct row_map {
    const struct base_services *services;
    struct row_slot *slots;
    size_t count, room;
    bool failed;
};

/* Enters a row, plus one, or replaces the one of this key. */
void row_map_set(struct row_map *map, uint64_t key, uint64_t row);

/* The row plus one, or 0. */
uint64_t row_map_get(const struct row_map *map, uint64_t key);

void row_map_fini(struct row_map *map);

static inline uint64_t row_key(uint64_t number)
{
    return hash_u64(number);
}

static inline uint64_t row_key2(uint64_t a, uint64_t b)
{
    return hash_pair(a, b);
}

#endif
