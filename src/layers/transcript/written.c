#include "layers/transcript/written.h"

#include "base/bits.h"

#include <string.h>

#define CHUNK_PAGES 64u
#define NEAR_BYTES  32u /* changes that lie so near are told as one */

struct written_page {
    uint8_t *copy; /* NULL: none */
    uint32_t look; /* the one that it is of */
};

struct written_chunk {
    struct written_chunk *next;
    uint32_t used;
    uint8_t pages[CHUNK_PAGES][PAGE_BYTES];
};

bool written_init(struct written *written, const struct base_services *services,
                  struct machine *machine)
{
    *written = (struct written){.services = services, .look = 1};
    written->stores[0].store = machine_ram(machine);
    written->stores[1].store = machine_local(machine);
    for (unsigned i = 0; i < ARRAY_COUNT(written->stores); i++) {
        struct written_store *of = &written->stores[i];

        if (!of->store)
            continue;
        of->pages = base_alloc_array(services, page_store_page_count(of->store), sizeof *of->pages);
        if (!of->pages) {
            written_fini(written);
            return false;
        }
    }
    return true;
}

void written_fini(struct written *written)
{
    for (unsigned i = 0; i < ARRAY_COUNT(written->stores); i++) {
        struct written_store *of = &written->stores[i];

        if (of->pages)
            base_free_array(written->services, of->pages, page_store_page_count(of->store),
                            sizeof *of->pages);
        of->pages = NULL;
    }
    while (written->chunks) {
        struct written_chunk *chunk = written->chunks;

        written->chunks = chunk->next;
        base_free(written->services, chunk, sizeof *chunk);
    }
}

static uint8_t *take_copy(struct written *written)
{
    struct written_chunk *chunk = written->chunks;

    if (!chunk || chunk->used == CHUNK_PAGES) {
        chunk = base_alloc(written->services, sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = written->chunks;
        written->chunks = chunk;
    }
    return chunk->pages[chunk->used++];
}

/* The changes of a page, those that are near each other as one. */
static void tell_changes(const uint8_t *now, const uint8_t *was, written_tell *tell, void *context,
                         bool is_local, uint64_t page)
{
    uint32_t from = 0, end, at;

    while (from < PAGE_BYTES) {
        if (now[from] == was[from]) {
            from++;
            continue;
        }
        end = from + 1;
        for (at = end; at < PAGE_BYTES && at - end < NEAR_BYTES; at++) {
            if (now[at] != was[at])
                end = at + 1;
        }
        tell(context, is_local, page, from, now + from, end - from);
        from = end;
    }
}

/* tell: NULL, nobody wants to know. */
static bool look_at(struct written *written, unsigned index, uint64_t number, written_tell *tell,
                    void *context)
{
    struct written_page *page = &written->stores[index].pages[number];
    const uint8_t *now = page_store_peek_bytes(written->stores[index].store, number);

    if (!page->copy && !(page->copy = take_copy(written)))
        return false;
    if (tell && page->look != written->look) {
        tell(context, index, number, 0, now, PAGE_BYTES);
        memcpy(page->copy, now, PAGE_BYTES);
    } else if (memcmp(page->copy, now, PAGE_BYTES) != 0) {
        if (tell)
            tell_changes(now, page->copy, tell, context, index, number);
        memcpy(page->copy, now, PAGE_BYTES);
    }
    return true;
}

static bool look_at_all(struct written *written, uint32_t look, written_tell *tell, void *context)
{
    for (unsigned i = 0; i < ARRAY_COUNT(written->stores); i++) {
        const struct written_store *of = &written->stores[i];
        uint64_t page = of->store ? page_store_next_pinned(of->store, 0) : UINT64_MAX;

        for (; page != UINT64_MAX; page = page_store_next_pinned(of->store, page + 1)) {
            if (!look_at(written, i, page, tell, context))
                return false;
            of->pages[page].look = look;
        }
    }
    written->look = look;
    return true;
}

bool written_look(struct written *written)
{
    return look_at_all(written, written->look + 1, NULL, NULL);
}

bool written_find(struct written *written, written_tell *tell, void *context)
{
    return look_at_all(written, written->look + 1, tell, context);
}
