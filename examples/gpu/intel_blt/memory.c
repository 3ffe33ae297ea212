/*
 * Addresses: global ones, those of an address space, and what each engine has cached of its own.
 */
#include "model.h"

#include <string.h>

#define TABLE_BITS    (IBLT_PAGE_BITS + IBLT_LEVEL_BITS) /* of the addresses of a last table */
#define TABLE_ENTRIES (1u << IBLT_LEVEL_BITS)

/* An address of an entry that a walk has found, as an entry of 4 KiB; 0: there is none. */
static uint64_t leaf_of(uint64_t entry, unsigned bits, uint64_t va, uint64_t writable)
{
    const uint64_t offsets = (UINT64_C(1) << bits) - 1;
    uint64_t address = (entry & IBLT_PTE_ADDRESS_MASK & ~offsets) | (va & offsets);

    return (address & IBLT_PTE_ADDRESS_MASK) |
           (entry & (IBLT_PTE_PRESENT | IBLT_PTE_LOCAL | IBLT_PTE_NULL)) | writable;
}

static bool read_entry(const struct iblt *gpu, uint64_t table, uint64_t index, uint64_t *out)
{
    const struct drydock_gpu_place place = {true, (table & IBLT_PTE_ADDRESS_MASK) + 8 * index};

    return gpu->host->read(gpu->host->context, place, out, sizeof *out);
}

static uint64_t index_of(uint64_t va, unsigned shift, unsigned bits)
{
    return va >> shift & ((UINT64_C(1) << bits) - 1);
}

/* The last table: of 4 KiB pages, 16 of which may be one of 64 KiB, or of 64 KiB pages. */
static bool walk_last(const struct iblt *gpu, uint64_t pointer, uint64_t va, uint64_t writable,
                      uint64_t *out, unsigned *out_bits)
{
    const bool is_64k = pointer & IBLT_PDE_TABLE_64K;
    const unsigned shift = is_64k ? IBLT_64K_BITS : IBLT_PAGE_BITS;
    uint64_t index = index_of(va, shift, IBLT_LEVEL_BITS + IBLT_PAGE_BITS - shift), entry;

    *out_bits = shift;
    if (!read_entry(gpu, pointer, index, &entry))
        return false;
    if (!is_64k && (entry & IBLT_PTE_PRESENT) && (entry & IBLT_PTE_64K)) {
        if (!read_entry(gpu, pointer, index & ~UINT64_C(15), &entry))
            return false;
        if (entry & IBLT_PTE_PRESENT)
            *out = leaf_of(entry, IBLT_64K_BITS, va, entry & writable);
        return true;
    }
    if (entry & IBLT_PTE_PRESENT)
        *out = leaf_of(entry, shift, va, entry & writable);
    return true;
}

/*
 * The pointer to the last table of an address; 0: there is none, and out has the entry of a large
 * page or nothing. False: nothing answers for a table.
 */
static bool find_table(const struct iblt *gpu, uint64_t root, uint64_t va, uint64_t *out_pointer,
                       uint64_t *out_writable, uint64_t *out, unsigned *out_bits)
{
    uint64_t table = root, writable = IBLT_PTE_WRITABLE, entry;

    *out = *out_pointer = 0;
    *out_bits = IBLT_PAGE_BITS;
    for (unsigned level = IBLT_LEVELS - 1; level; level--) {
        unsigned shift = IBLT_PAGE_BITS + IBLT_LEVEL_BITS * level;

        if (!read_entry(gpu, table, index_of(va, shift, IBLT_LEVEL_BITS), &entry))
            return false;
        if (!(entry & IBLT_PTE_PRESENT))
            return true;
        writable &= entry;
        if (level < 3 && (entry & IBLT_PDE_LARGE)) {
            *out = leaf_of(entry, shift, va, writable);
            *out_bits = shift;
            return true;
        }
        table = entry;
    }
    *out_pointer = table;
    *out_writable = writable;
    return true;
}

bool iblt_walk(const struct iblt *gpu, uint64_t root, uint64_t va, uint64_t *out,
               unsigned *out_bits)
{
    uint64_t pointer, writable;

    return find_table(gpu, root, va, &pointer, &writable, out, out_bits) &&
           (!pointer || walk_last(gpu, pointer, va, writable, out, out_bits));
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* A last table of 4 KiB pages, read as a whole for pages that follow each other. */
struct table {
    uint64_t number; /* of the 2 MiB of addresses, from 1; 0: nothing is read */
    uint64_t writable;
    uint64_t entries[TABLE_ENTRIES];
};

/* False: the address has no such table. */
static bool read_table(const struct engine *engine, uint64_t va, struct table *table)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    struct drydock_gpu_place place = {.is_local = true};
    uint64_t pointer, entry;
    unsigned bits;

    table->number = 0;
    if (!find_table(engine->gpu, engine->root, va, &pointer, &table->writable, &entry, &bits) ||
        !pointer || (pointer & IBLT_PDE_TABLE_64K))
        return false;
    place.address = pointer & IBLT_PTE_ADDRESS_MASK;
    if (!host->read(host->context, place, table->entries, sizeof table->entries))
        return false;
    table->number = (va >> TABLE_BITS) + 1;
    return true;
}

/* As iblt_walk() would find it, but for pages of other sizes: those are not there. */
static bool find_in_table(const struct engine *engine, uint64_t va, struct table *table,
                          uint64_t *out)
{
    uint64_t entry;

    if (table->number != (va >> TABLE_BITS) + 1 && !read_table(engine, va, table))
        return false;
    entry = table->entries[index_of(va, IBLT_PAGE_BITS, IBLT_LEVEL_BITS)];
    *out = leaf_of(entry, IBLT_PAGE_BITS, va, entry & table->writable);
    return (entry & IBLT_PTE_PRESENT) && !(entry & IBLT_PTE_64K);
}

/* table: of a run, or NULL. */
static bool find_virtual(struct engine *engine, uint64_t va, bool is_write, struct table *table,
                         struct piece *out)
{
    const uint64_t page = (va & VA_MASK) >> IBLT_PAGE_BITS;
    struct cached *cached = &engine->cache[page % CACHE_ENTRIES];

    if (cached->page != page + 1) {
        uint64_t entry;
        unsigned bits;

        if (!engine->has_root)
            return false;
        if (!(table && find_in_table(engine, va & VA_MASK, table, &entry)) &&
            (!iblt_walk(engine->gpu, engine->root, va & VA_MASK, &entry, &bits) || !entry))
            return false;
        *cached = (struct cached){page + 1, entry};
        engine->has_cached = true;
    }
    if (is_write && !(cached->entry & IBLT_PTE_WRITABLE))
        return false;
    *out = (struct piece){
        .place = {.is_local = cached->entry & IBLT_PTE_LOCAL,
                  .address = (cached->entry & IBLT_PTE_ADDRESS_MASK) + va % PAGE},
        .bytes = PAGE - va % PAGE,
        .is_null = cached->entry & IBLT_PTE_NULL,
    };
    return true;
}

bool iblt_find_run(struct engine *engine, uint64_t va, bool is_write, uint64_t most,
                   struct piece *out)
{
    struct table table;
    struct piece next;

    table.number = 0;
    if (!find_virtual(engine, va, is_write, NULL, out))
        return false;
    while (!out->is_null && out->bytes < most &&
           find_virtual(engine, va + out->bytes, is_write, &table, &next) && !next.is_null &&
           next.place.is_local == out->place.is_local &&
           next.place.address == out->place.address + out->bytes)
        out->bytes += next.bytes;
    out->bytes = iblt_smaller(out->bytes, most);
    return true;
}

/* False: nothing is there, or nothing that may be written. */
bool iblt_find(struct engine *engine, bool is_virtual, uint64_t address, bool is_write,
               struct piece *out)
{
    uint64_t entry;

    if (is_virtual)
        return find_virtual(engine, address, is_write, NULL, out);
    if (address / PAGE >= IBLT_GGTT_ENTRIES)
        return false;
    entry = engine->gpu->ggtt[address / PAGE];
    *out = (struct piece){
        .place = {.is_local = entry & IBLT_GGTT_LOCAL,
                  .address = (entry & IBLT_PTE_ADDRESS_MASK) + address % PAGE},
        .bytes = PAGE - address % PAGE,
    };
    return entry & IBLT_PTE_PRESENT;
}

bool iblt_read(struct engine *engine, bool is_virtual, uint64_t from, void *out, uint64_t bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    uint8_t *at = out;
    struct piece piece;

    for (; bytes; bytes -= piece.bytes, from += piece.bytes, at += piece.bytes) {
        if (!iblt_find(engine, is_virtual, from, false, &piece))
            return false;
        piece.bytes = iblt_smaller(piece.bytes, bytes);
        if (piece.is_null)
            memset(at, 0, piece.bytes);
        else if (!host->read(host->context, piece.place, at, piece.bytes))
            return false;
    }
    return true;
}

bool iblt_write(struct engine *engine, bool is_virtual, uint64_t to, const void *from,
                uint64_t bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    const uint8_t *at = from;
    struct piece piece;

    for (; bytes; bytes -= piece.bytes, to += piece.bytes, at += piece.bytes) {
        if (!iblt_find(engine, is_virtual, to, true, &piece))
            return false;
        piece.bytes = iblt_smaller(piece.bytes, bytes);
        if (!piece.is_null && !host->write(host->context, piece.place, at, piece.bytes))
            return false;
    }
    return true;
}

void iblt_forget(struct engine *engine)
{
    if (engine->has_cached)
        memset(engine->cache, 0, sizeof engine->cache);
    engine->has_cached = false;
}

/* Who asks for a flush of an address space wants it gone from all engines that have cached it. */
void iblt_invalidate(struct engine *engine)
{
    struct iblt *gpu = engine->gpu;
    const struct drydock_gpu_place root = {true, engine->root};
    bool are_all = true, is_root = engine->has_root;

    iblt_forget(engine);
    for (unsigned i = 0; i < IBLT_ENGINES; i++) {
        const struct engine *other = &gpu->engines[i];

        are_all &= !other->has_cached;
        is_root &= !other->has_cached || other->root != engine->root;
    }
    if (are_all)
        gpu->host->flushed(gpu->host->context, NULL, 0, 0);
    else if (is_root)
        gpu->host->flushed(gpu->host->context, &root, 0, 0);
}
