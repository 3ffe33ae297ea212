#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "check/guard/guard_map.h"

#include "base/bits.h"

#include <string.h>
#include <sys/mman.h>

#define SPARE_MAPS  8u
#define SPARE_BYTES ((size_t)1 << 20) /* of a map that is kept, at most */

static struct spare {
    char *map; /* NULL: the place is free */
    size_t bytes;
} spares[SPARE_MAPS];

/* The smallest that suffices, and is not more than twice as large: all of it is written. */
static struct spare *find_spare(size_t bytes)
{
    struct spare *best = NULL;

    for (unsigned i = 0; i < SPARE_MAPS; i++) {
        struct spare *spare = &spares[i];

        if (spare->map && spare->bytes >= bytes && spare->bytes / 2 <= bytes &&
            (!best || spare->bytes < best->bytes))
            best = spare;
    }
    return best;
}

static char *lay(size_t bytes)
{
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return NULL;
    mprotect(map, GUARD_PAGE, PROT_NONE);
    mprotect(map + bytes - GUARD_PAGE, GUARD_PAGE, PROT_NONE);
    return map;
}

char *guard_map_take(size_t bytes, int fill, size_t *out_map_bytes)
{
    struct spare *spare;
    char *map;

    bytes = align_up(bytes, GUARD_PAGE);
    spare = find_spare(bytes);
    if (spare) {
        map = spare->map;
        bytes = spare->bytes;
        spare->map = NULL;
    } else {
        map = lay(bytes);
    }
    *out_map_bytes = map ? bytes : 0;
    if (map)
        memset(map + GUARD_PAGE, fill, bytes - 2 * GUARD_PAGE);
    return map;
}

void guard_map_give(char *map, size_t map_bytes)
{
    if (!map)
        return;
    for (unsigned i = 0; i < SPARE_MAPS && map_bytes <= SPARE_BYTES; i++) {
        if (spares[i].map)
            continue;
        spares[i] = (struct spare){map, map_bytes};
        return;
    }
    munmap(map, map_bytes);
}
