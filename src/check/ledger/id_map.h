/*
 * Id map: finds objects by a 64-bit number. Open addressing, one slot a cache line quarter.
 *
 * Place      check. Uses base only.
 * Model      Any number is a key; a value is a pointer that is not NULL. Slots grow to stay at
 *            most half full, so a look-up is one or two probes.
 * Ownership  Values are borrowed. id_map_init() on zeroed or fresh memory, id_map_fini() frees.
 * Errors     id_map_set() is false when a new key finds no memory; nothing has changed then.
 */
#ifndef DRYDOCK_CHECK_ID_MAP_H
#define DRYDOCK_CHECK_ID_MAP_H

#include "base/hash.h"
#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_slot {
    uint64_t key;
    void *value; /* NULL: free */
};

struct id_map {
    const struct base_services *services;
    struct id_slot *slots;
    size_t slot_count; /* 0 or a power of two */
    size_t count;
};

void id_map_init(struct id_map *map, const struct base_services *services);
void id_map_fini(struct id_map *map);

/* Where the search for the key starts. There are slots. */
static inline size_t id_map_home(const struct id_map *map, uint64_t key)
{
    return (size_t)hash_u64(key) & (map->slot_count - 1);
}

/* The slot of the key, or the free one where it belongs. There is a free slot. */
static inline struct id_slot *id_map_probe(const struct id_map *map, uint64_t key)
{
    size_t i = id_map_home(map, key);

    while (map->slots[i].value && map->slots[i].key != key)
        i = (i + 1) & (map->slot_count - 1);
    return &map->slots[i];
}

/* NULL: not there. Here, for each call is looked up in half a dozen maps. */
static inline void *id_map_find(const struct id_map *map, uint64_t key)
{
    return map->slot_count ? id_map_probe(map, key)->value : NULL;
}

bool id_map_set(struct id_map *map, uint64_t key, void *value);

/* Gives the value that was there, or NULL. */
void *id_map_remove(struct id_map *map, uint64_t key);

/* For walks: slots with a value, from *position on (start with 0); NULL at the end. */
void *id_map_next(const struct id_map *map, size_t *position);

#endif
