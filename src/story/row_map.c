#include "story/row_map.h"

static struct row_slot *find(const struct row_map *map, uint64_t key)
{
    size_t at = (size_t)key & (map->room - 1);

    while (map->slots[at].row && map->slots[at].key != key)
        at = (at + 1) & (map->room - 1);
    return &map->slots[at];
}

static bool grow(struct row_map *map)
{
    struct row_map grown = {.services = map->services, .room = map->room ? map->room * 2 : 256};

    if (map->count < map->room / 2)
        return true;
    grown.slots = base_alloc_array(map->services, grown.room, sizeof *grown.slots);
    if (!grown.slots) {
        map->failed = true;
        return false;
    }
    for (size_t i = 0; i < map->room; i++) {
        if (map->slots[i].row)
            *find(&grown, map->slots[i].key) = map->slots[i];
    }
    base_free_array(map->services, map->slots, map->room, sizeof *map->slots);
    map->slots = grown.slots;
    map->room = grown.room;
    return true;
}

void row_map_set(struct row_map *map, uint64_t key, uint64_t row)
{
    struct row_slot *slot;

    if (!row || !grow(map))
        return;
    slot = find(map, key);
    map->count += !slot->row;
    *slot = (struct row_slot){key, row};
}

uint64_t row_map_get(const struct row_map *map, uint64_t key)
{
    return map->room ? find(map, key)->row : 0;
}

void row_map_fini(struct row_map *map)
{
    base_free_array(map->services, map->slots, map->room, sizeof *map->slots);
    *map = (struct row_map){.services = map->services};
}
