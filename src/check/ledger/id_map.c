/* Id map: linear probing; removal moves later slots of the cluster back, so there are no graves. */
#include "check/ledger/id_map.h"

#include "base/hash.h"

void id_map_init(struct id_map *map, const struct base_services *services)
{
    *map = (struct id_map){.services = services};
}

void id_map_fini(struct id_map *map)
{
    base_free_array(map->services, map->slots, map->slot_count, sizeof *map->slots);
    id_map_init(map, map->services);
}

static size_t home_of(const struct id_map *map, uint64_t key)
{
    return id_map_home(map, key);
}

static struct id_slot *probe(const struct id_map *map, uint64_t key)
{
    return id_map_probe(map, key);
}

static bool grow(struct id_map *map)
{
    struct id_map larger = *map;

    larger.slot_count = map->slot_count ? 2 * map->slot_count : 16;
    larger.slots = base_alloc_array(map->services, larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].value)
            *probe(&larger, map->slots[i].key) = map->slots[i];
    }
    base_free_array(map->services, map->slots, map->slot_count, sizeof *map->slots);
    *map = larger;
    return true;
}

bool id_map_set(struct id_map *map, uint64_t key, void *value)
{
    struct id_slot *slot = map->slot_count ? probe(map, key) : NULL;

    if (!slot || !slot->value) {
        if (2 * (map->count + 1) > map->slot_count && !grow(map))
            return false;
        slot = probe(map, key);
        map->count++;
    }
    *slot = (struct id_slot){.key = key, .value = value};
    return true;
}

void *id_map_remove(struct id_map *map, uint64_t key)
{
    struct id_slot *hole = map->slot_count ? probe(map, key) : NULL;
    void *value = hole ? hole->value : NULL;
    size_t mask = map->slot_count - 1;

    if (!value)
        return NULL;
    for (size_t i = (size_t)(hole - map->slots);;) {
        struct id_slot *slot;

        i = (i + 1) & mask;
        slot = &map->slots[i];
        if (!slot->value)
            break;
        /* It may move into the hole when its home does not lie after the hole. */
        if (((i - home_of(map, slot->key)) & mask) >= ((i - (size_t)(hole - map->slots)) & mask)) {
            *hole = *slot;
            hole = slot;
        }
    }
    *hole = (struct id_slot){0};
    map->count--;
    return value;
}

void *id_map_next(const struct id_map *map, size_t *position)
{
    while (*position < map->slot_count) {
        void *value = map->slots[(*position)++].value;

        if (value)
            return value;
    }
    return NULL;
}
