/*
 * Blocks of a page and more, and all of a guarded or open pool, have pages of their own (pages.h).
 * Guarded, a block ends (or begins) at a page that nobody may touch; the rest of its last page is
 * filled with a pattern that must be there when it is freed, and a use of the block afterwards
 * faults. Open, it is followed by memory, as mostly in a kernel's pool: a driver that reads too far
 * reads zeros, and goes on. The pages become pages of the machine when somebody asks for their
 * physical address.
 */
#include "nt/memory/pool.h"

#include "nt/memory/paging.h"

#include "nt/nt_private.h"

#include "base/bits.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define FREED_BYTE 0xdd

/* Pages behind a block of an open pool. */
#define PAGES_BEHIND 16u

/* A guarded block costs the host two mappings, of which a process has 65,530. */
#define MOST_GUARDED 20000u

struct nt_pool *nt_pool_of(const struct nt *nt)
{
    return NT_STATE(nt, pool_blocks);
}

static struct list *bucket_of(const struct nt *nt, const void *memory)
{
    return &nt_pool_of(nt)->by_address[hash_u64((uintptr_t)memory) % NT_POOL_BUCKETS];
}

static void init(struct nt *nt)
{
    struct nt_pool *pool = nt_pool_of(nt);

    list_init(&pool->blocks);
    list_init(&pool->paged);
    for (uint32_t i = 0; i < NT_POOL_BUCKETS; i++)
        list_init(&pool->by_address[i]);
}

/* ---- Pages of the machine -------------------------------------------------------------------- */

/* From here on its bytes are those of pages of the machine. */
static bool back(struct nt *nt, struct pool_header *header)
{
    struct page_store *ram;

    if (header->pfns)
        return true;
    if (!header->pages || !nt->machine)
        return false;
    nt_paging_bring_in(nt);
    header->pfns = base_alloc_array(nt->services, header->page_count, sizeof *header->pfns);
    if (!header->pfns)
        return false;
    if (!machine_alloc_pages(nt->machine, header->page_count, header->pfns))
        goto free_pfns;
    ram = machine_ram(nt->machine);
    machine_write_pages(nt->machine, header->pfns, header->page_count, header->pages);
    if (!page_store_map_at(ram, header->pfns, header->page_count, header->pages, &header->view))
        goto free_pages;
    return true;

free_pages: /* the view may have covered the content: it is put back */
    if (nt_pages_open(header->pages, header->page_count)) {
        for (uint64_t i = 0; i < header->page_count; i++)
            page_store_read(ram, header->pfns[i] * PAGE_SIZE, header->pages + i * PAGE_SIZE,
                            PAGE_SIZE);
    }
    machine_free_pages(nt->machine, header->pfns, header->page_count);
free_pfns:
    base_free_array(nt->services, header->pfns, header->page_count, sizeof *header->pfns);
    header->pfns = NULL;
    return false;
}

bool nt_pool_pfn(struct nt *nt, const void *address, bool *out_is_pool, uint64_t *out_pfn)
{
    struct pool_header *header;

    *out_is_pool = false;
    list_for_each (header, &nt_pool_of(nt)->blocks, struct pool_header, block) {
        uintptr_t offset = (uintptr_t)address - (uintptr_t)header->pages;

        if (!header->pages) {
            *out_is_pool |= (uintptr_t)address - (uintptr_t)header->memory < header->bytes;
            continue;
        }
        if ((uintptr_t)address < (uintptr_t)header->pages ||
            offset >= header->page_count * PAGE_SIZE)
            continue;
        *out_is_pool = true;
        if (!back(nt, header))
            return false;
        *out_pfn = header->pfns[offset / PAGE_SIZE];
        return true;
    }
    return false;
}

/* ---- Give back ------------------------------------------------------------------------------- */

static struct nt_pool_block describe(const struct pool_header *header)
{
    return (struct nt_pool_block){header->memory, header->bytes, header->tag, header->sequence,
                                  header->during};
}

static void remember_freed(struct nt *nt, const struct pool_header *header)
{
    struct nt_pool *pool = nt_pool_of(nt);

    pool->freed[pool->freed_count++ % NT_POOL_REMEMBERED] = describe(header);
}

const struct nt_pool_block *nt_pool_find_freed(const struct nt *nt, const void *address)
{
    const struct nt_pool *pool = nt_pool_of(nt);

    for (uint64_t n = 0; n < NT_POOL_REMEMBERED && n < pool->freed_count; n++) {
        const struct nt_pool_block *block =
            &pool->freed[(pool->freed_count - 1 - n) % NT_POOL_REMEMBERED];

        if ((uintptr_t)address - (uintptr_t)block->memory < block->bytes)
            return block;
    }
    return NULL;
}

void nt_pool_destroy(struct nt *nt, struct pool_header *header)
{
    struct nt_pool *pool = nt_pool_of(nt);
    uint64_t bytes = header->bytes;

    list_remove(&header->block);
    list_remove(&header->bucket);
    if (header->is_paged && header->pages)
        list_remove(&header->paged);
    pool->live_blocks--;
    pool->live_bytes -= bytes;
    if (!header->pages) {
        memset(header, FREED_BYTE, sizeof *header + bytes);
        base_free(nt->services, header, sizeof *header + bytes);
        return;
    }
    pool->guarded_blocks--;
    if (header->pfns) {
        page_store_unmap(machine_ram(nt->machine), &header->view);
        machine_free_pages(nt->machine, header->pfns, header->page_count);
        base_free_array(nt->services, header->pfns, header->page_count, sizeof *header->pfns);
    } else {
        nt_pages_close(header->pages, header->page_count);
    }
    if (header->pages_behind)
        nt_pages_close(header->pages + header->page_count * PAGE_SIZE, header->pages_behind);
    remember_freed(nt, header);
    base_free(nt->services, header, sizeof *header);
}

static void fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(&nt_pool_of(nt)->blocks)))
        nt_pool_destroy(nt, container_of(node, struct pool_header, block));
}

/* ---- Take ------------------------------------------------------------------------------------ */

static struct pool_header *take_pages(struct nt *nt, uint64_t bytes)
{
    struct nt_pool *pool = nt_pool_of(nt);
    struct pool_header *header = base_alloc(nt->services, sizeof *header);

    if (!header)
        return NULL;
    header->page_count = div_round_up(bytes, PAGE_SIZE);
    header->is_guarded = pool->guard == NT_POOL_GUARD_END || pool->guard == NT_POOL_GUARD_BEGIN;
    header->pages_behind = pool->guard == NT_POOL_OPEN ? PAGES_BEHIND : 0;
    header->pages = nt_pages_take(&nt->pages, header->page_count + header->pages_behind);
    if (!header->pages ||
        !nt_pages_open(header->pages, header->page_count + header->pages_behind)) {
        base_free(nt->services, header, sizeof *header);
        return NULL;
    }
    /* A block of a page or more begins at one, as the kernel promises. */
    header->memory = header->pages;
    if (pool->guard == NT_POOL_GUARD_END && bytes < PAGE_SIZE)
        header->memory += PAGE_SIZE - align_up(bytes, 16);
    if (header->is_guarded) {
        uint64_t before = (uint64_t)(header->memory - header->pages);

        memset(header->pages, NT_POOL_SLACK_BYTE, before);
        memset(header->memory + bytes, NT_POOL_SLACK_BYTE,
               header->page_count * PAGE_SIZE - before - bytes);
    }
    pool->guarded_blocks++;
    return header;
}

static struct pool_header *take(struct nt *nt, uint64_t bytes, bool is_paged)
{
    struct pool_header *header = NULL;

    if ((nt_pool_of(nt)->guard != NT_POOL_CHEAP || bytes >= PAGE_SIZE || is_paged) &&
        nt_pool_of(nt)->guarded_blocks < MOST_GUARDED)
        header = take_pages(nt, bytes);
    if (header)
        return header;
    header = base_alloc(nt->services, sizeof *header + bytes);
    if (header)
        header->memory = (uint8_t *)(header + 1);
    return header;
}

struct pool_header *nt_pool_take(struct nt *nt, uint64_t bytes, uint32_t tag, bool is_paged)
{
    struct nt_pool *pool = nt_pool_of(nt);
    struct pool_header *header = take(nt, bytes, is_paged);

    if (!header)
        return NULL;
    header->bytes = bytes;
    header->sequence = pool->allocation_count;
    header->during = nt->host.running ? nt->host.running(nt->host.context) : NULL;
    header->tag = tag;
    header->is_paged = is_paged;
    if (is_paged && header->pages) {
        list_push_back(&pool->paged, &header->paged);
        nt_paging_begin(nt);
    }
    list_push_back(&pool->blocks, &header->block);
    list_push_back(bucket_of(nt, header->memory), &header->bucket);
    pool->live_blocks++;
    pool->live_bytes += bytes;
    return header;
}

/* ---- The block of an address ----------------------------------------------------------------- */

struct pool_header *nt_pool_header(const struct nt *nt, const void *memory)
{
    struct pool_header *header;

    list_for_each (header, bucket_of(nt, memory), struct pool_header, bucket) {
        if (header->memory == memory)
            return header;
    }
    return NULL;
}

bool nt_pool_find(const struct nt *nt, const void *memory, struct nt_pool_block *out)
{
    const struct pool_header *header = nt_pool_header(nt, memory);

    if (header)
        *out = describe(header);
    return header != NULL;
}

bool nt_pool_has(const struct nt *nt, const void *address)
{
    const struct pool_header *header;

    list_for_each (header, &nt_pool_of(nt)->blocks, struct pool_header, block) {
        const uint8_t *first = header->pages ? header->pages : header->memory;
        uint64_t bytes = header->pages ? header->page_count * PAGE_SIZE : header->bytes;

        if ((uintptr_t)address >= (uintptr_t)first && (uintptr_t)address - (uintptr_t)first < bytes)
            return true;
    }
    return false;
}

bool nt_pool_is_paged(const struct nt *nt, const void *address)
{
    const struct pool_header *header;

    list_for_each (header, &nt_pool_of(nt)->blocks, struct pool_header, block) {
        if ((uintptr_t)address - (uintptr_t)header->memory < header->bytes)
            return header->is_paged;
    }
    return false;
}

uint64_t nt_pool_count(const struct nt *nt, uint32_t tag, uint64_t bytes)
{
    const struct pool_header *header;
    uint64_t count = 0;

    list_for_each (header, &nt_pool_of(nt)->blocks, struct pool_header, block)
        count += header->tag == tag && header->bytes == bytes;
    return count;
}

void nt_put_tag(uint32_t tag, char text[5])
{
    for (int i = 0; i < 4; i++) {
        char c = (char)(tag >> (8 * i));

        text[i] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
    }
    text[4] = '\0';
}

bool nt_pool_explain(const struct nt *nt, const void *address, char *text, size_t size)
{
    const struct nt_pool_block *freed = nt_pool_find_freed(nt, address);
    const struct pool_header *header;
    char tag[5];

    if (freed) {
        nt_put_tag(freed->tag, tag);
        snprintf(text, size,
                 "%llu bytes into pool block %llu (%llu bytes, tag '%s'), which was freed",
                 (unsigned long long)((const uint8_t *)address - (const uint8_t *)freed->memory),
                 (unsigned long long)freed->sequence, (unsigned long long)freed->bytes, tag);
        return true;
    }
    list_for_each (header, &nt_pool_of(nt)->blocks, struct pool_header, block) {
        uintptr_t first = (uintptr_t)header->pages, at = (uintptr_t)address;
        bool is_behind = at >= (uintptr_t)header->memory + header->bytes;

        /* The pages around belong to it as well. */
        if (!header->pages || at < first - PAGE_SIZE ||
            at >= first + (header->page_count + 1) * PAGE_SIZE)
            continue;
        if (!is_behind && at >= (uintptr_t)header->memory)
            return false;
        nt_put_tag(header->tag, tag);
        snprintf(text, size, "%llu bytes %s pool block %llu (%llu bytes, tag '%s')",
                 (unsigned long long)(is_behind ? at - (uintptr_t)header->memory - header->bytes
                                                : (uintptr_t)header->memory - at),
                 is_behind ? "behind" : "before", (unsigned long long)header->sequence,
                 (unsigned long long)header->bytes, tag);
        return true;
    }
    return false;
}

/* ---- For the host ---------------------------------------------------------------------------- */

void nt_pool_set_guard(struct nt *nt, enum nt_pool_guard guard)
{
    nt_pool_of(nt)->guard = guard;
}

uint64_t nt_pool_live_blocks(const struct nt *nt)
{
    return nt_pool_of(nt)->live_blocks;
}

uint64_t nt_pool_live_bytes(const struct nt *nt)
{
    return nt_pool_of(nt)->live_bytes;
}

uint64_t nt_pool_allocation_count(const struct nt *nt)
{
    return nt_pool_of(nt)->allocation_count;
}

void nt_pool_fail_at(struct nt *nt, uint64_t n)
{
    nt_pool_of(nt)->fail_at = n ? nt_pool_of(nt)->allocation_count + n : 0;
}

void nt_pool_for_each(const struct nt *nt,
                      void (*callback)(void *context, const struct nt_pool_block *block),
                      void *context)
{
    struct pool_header *header;

    list_for_each (header, &nt_pool_of(nt)->blocks, struct pool_header, block) {
        const struct nt_pool_block block = describe(header);

        callback(context, &block);
    }
}

const struct nt_area nt_pool_blocks_area = {
    .state_bytes = sizeof(struct nt_pool), .init = init, .fini = fini};
