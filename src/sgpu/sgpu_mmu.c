/*
 * Addresses: physical ones, and virtual ones through the translation cache.
 *
 * The cache decides what a forgotten flush does, so it forgets nothing on its own but by
 * replacement, and a flush drops exactly the pages of its range, never a neighbour by luck.
 */
#include "sgpu/sgpu_private.h"

#include "base/hash.h"

#include <string.h>

/* ---- Physical addresses --------------------------------------------------------------------- */

static void resolve_aperture(struct sgpu *gpu, uint64_t offset, uint64_t bytes,
                             struct sgpu_span *span)
{
    uint64_t slot = offset / PAGE_BYTES;
    uint64_t page, following;
    uint64_t run = 1;

    if (!sgpu_system_page(gpu, sgpu_aperture_page(gpu, slot), &page))
        return;
    while (run * PAGE_BYTES - offset % PAGE_BYTES < bytes && slot + run < gpu->slot_count &&
           sgpu_system_page(gpu, sgpu_aperture_page(gpu, slot + run), &following) &&
           following == page + run)
        run++;
    span->store = gpu->ram;
    span->is_system = true;
    span->address = page * PAGE_BYTES + offset % PAGE_BYTES;
    span->bytes = min_u64(bytes, run * PAGE_BYTES - offset % PAGE_BYTES);
}

/* How much of local memory answers from here on, at most bytes. */
static inline uint64_t local_run(const struct sgpu *gpu, uint64_t address, uint64_t bytes)
{
    if (address < gpu->dead_start)
        return min_u64(bytes, gpu->dead_start - address);
    return address < gpu->dead_end ? 0 : min_u64(bytes, gpu->local_bytes - address);
}

/* span->bytes stays 0 when nothing answers. */
static void resolve(struct sgpu *gpu, uint64_t pa, uint64_t bytes, struct sgpu_span *span)
{
    memset(span, 0, sizeof *span);
    if (pa < gpu->local_bytes) {
        span->store = gpu->local;
        span->address = pa;
        span->bytes = local_run(gpu, pa, bytes);
    } else if (pa >= SGPU_PA_SYSTEM) {
        sgpu_resolve_system(gpu, pa - SGPU_PA_SYSTEM, bytes, span);
    } else if (pa >= SGPU_PA_APERTURE && pa - SGPU_PA_APERTURE < gpu->aperture_bytes) {
        resolve_aperture(gpu, pa - SGPU_PA_APERTURE, bytes, span);
    }
}

bool sgpu_resolve(struct sgpu *gpu, uint64_t pa, uint64_t bytes, struct page_store **out_store,
                  uint64_t *out_address, uint64_t *out_bytes)
{
    struct sgpu_span span;

    resolve(gpu, pa, bytes, &span);
    *out_store = span.store;
    *out_address = span.address;
    *out_bytes = span.bytes;
    return span.bytes != 0;
}

uint64_t sgpu_aperture_page(const struct sgpu *gpu, uint64_t slot)
{
    uint64_t value = slot < gpu->slot_count ? gpu->slots[slot] & ~SLOT_COHERENT : 0;

    return value ? value - 1 : SGPU_NO_PAGE;
}

bool sgpu_aperture_is_coherent(const struct sgpu *gpu, uint64_t slot)
{
    return slot < gpu->slot_count && (gpu->slots[slot] & SLOT_COHERENT);
}

/* ---- Runs of entries ------------------------------------------------------------------------- */

uint64_t sgpu_run_length(const uint64_t *table, uint64_t index, uint64_t limit)
{
    const uint64_t first = table[index];
    const uint64_t step = first & SGPU_PTE_ZERO ? 0 : PAGE_BYTES;
    const uint64_t ignored = first & SGPU_PTE_ZERO ? SGPU_PTE_ADDRESS_MASK : 0;
    uint64_t count = 1;

    if (limit > 1 && ((table[index + 1] ^ (first + step)) & ~ignored) != 0)
        return 1;

    /* Eight at a time while all go on; then to the exact place. */
    for (; count + 8 <= limit; count += 8) {
        uint64_t wrong = 0;

        for (uint64_t j = 0; j < 8; j++)
            wrong |= (table[index + count + j] ^ (first + (count + j) * step)) & ~ignored;
        if (wrong)
            break;
    }
    while (count < limit && ((table[index + count] ^ (first + count * step)) & ~ignored) == 0)
        count++;
    return count;
}

/* ---- Translation cache ---------------------------------------------------------------------- */

static struct tlb_entry *tlb_set(struct tlb *tlb, uint64_t root_pa, uint64_t block)
{
    return tlb->entries[hash_u64(root_pa ^ block << 20) % TLB_SETS];
}

static bool is_entry_for(const struct tlb_entry *entry, uint64_t root_pa, uint64_t block)
{
    return entry->stamp && entry->block == block && entry->root_pa == root_pa;
}

static struct tlb_entry *tlb_find(struct tlb *tlb, uint64_t root_pa, uint64_t block)
{
    struct tlb_entry *set = tlb_set(tlb, root_pa, block);

    for (uint32_t way = 0; way < TLB_WAYS; way++)
        if (is_entry_for(&set[way], root_pa, block))
            return &set[way];
    return NULL;
}

/* Never fails: replaces the least recently used. */
static struct tlb_entry *tlb_take(struct sgpu_node *node, uint64_t root_pa, uint64_t block)
{
    struct tlb *tlb = &node->tlb;
    struct tlb_entry *set = tlb_set(tlb, root_pa, block);
    struct tlb_entry *oldest = &set[0];

    for (uint32_t way = 1; way < TLB_WAYS; way++)
        if (set[way].stamp < oldest->stamp)
            oldest = &set[way];
    if (!oldest->table)
        oldest->table = base_alloc(node->gpu->services, PAGE_BYTES);
    if (!oldest->table) {
        oldest = &tlb->spare;
        oldest->table = tlb->spare_table;
    }
    memset(oldest->table, 0, PAGE_BYTES);
    oldest->root_pa = root_pa;
    oldest->block = block;
    return oldest;
}

static struct tlb_entry *tlb_lookup(struct sgpu_node *node, uint64_t root_pa, uint64_t va)
{
    struct tlb *tlb = &node->tlb;
    uint64_t block = va >> TLB_BLOCK_BITS;
    struct tlb_entry *entry = tlb->last;

    if (!entry || !is_entry_for(entry, root_pa, block)) {
        entry = tlb_find(tlb, root_pa, block);
        if (!entry)
            entry = tlb_take(node, root_pa, block);
        tlb->last = entry == &tlb->spare ? NULL : entry;
        entry->stamp = ++tlb->next_stamp;
    }
    return entry;
}

static bool set_fault(struct sgpu_span *span, uint32_t kind, uint64_t address)
{
    memset(span, 0, sizeof *span);
    span->fault = kind;
    span->fault_address = address;
    return false;
}

/* resolve() of what a leaf entry points to, the path of every page of every reference. */
static inline bool resolve_entry(const struct sgpu *gpu, uint64_t pte, uint64_t in_page,
                                 uint64_t bytes, struct sgpu_span *out_span)
{
    bool is_system = pte & SGPU_PTE_SYSTEM;
    uint64_t address = (pte & SGPU_PTE_ADDRESS_MASK) + in_page;
    uint64_t limit = is_system ? gpu->ram_bytes : gpu->local_bytes;

    if (is_system && machine_iommu_is_remapping(gpu->iommu)) {
        sgpu_resolve_system(gpu, address, bytes, out_span);
        return out_span->bytes != 0;
    }
    if (address >= limit)
        return false;
    if (is_system)
        sgpu_note_system(gpu);
    *out_span = (struct sgpu_span){
        .store = is_system ? gpu->ram : gpu->local,
        .address = address,
        .bytes = is_system ? min_u64(bytes, limit - address) : local_run(gpu, address, bytes),
        .is_system = is_system,
    };
    return out_span->bytes != 0;
}

/*
 * How many translations from index on follow each other, at most limit. Where those that are cached
 * end, the next ones are taken over, as they would be by whoever uses all of the address range;
 * where they cannot be, it is told to who comes there.
 */
static uint64_t cached_run(struct sgpu_node *node, uint64_t root, uint64_t va, uint64_t *table,
                           uint64_t index, uint64_t limit)
{
    uint64_t run = sgpu_run_length(table, index, limit);

    while (run < limit && !table[index + run] &&
           sgpu_tables_fill(node->gpu, root, va + run * PAGE_BYTES, table) == SGPU_FAULT_NONE) {
        node->gpu->statistics.tlb_misses++;
        run += sgpu_run_length(table, index + run - 1, limit - run + 1) - 1;
    }
    return run;
}

/*
 * What is read of a table at once. With SGPU_STRAP_MAY_CACHE_INVALID it is remembered of the others
 * that they were not valid.
 */
#define TLB_LINE_ENTRIES  8u
#define TLB_KNOWN_INVALID SGPU_PTE_SYSTEM /* in the cache: not valid, and not asked for again */

static void note_invalid(struct sgpu_node *node, uint64_t root, uint64_t va, uint64_t *table)
{
    uint64_t line = align_down(va, TLB_LINE_ENTRIES * PAGE_BYTES);

    for (unsigned i = 0; i < TLB_LINE_ENTRIES; i++, line += PAGE_BYTES) {
        uint64_t *entry = &table[line / PAGE_BYTES % SGPU_TABLE_ENTRIES];

        if (!*entry && sgpu_tables_fill(node->gpu, root, line, table) == SGPU_FAULT_NOT_VALID)
            *entry = TLB_KNOWN_INVALID;
    }
}

static bool translate_virtual(struct sgpu_node *node, uint64_t root, uint64_t va, uint64_t bytes,
                              enum sgpu_access access, struct sgpu_span *out_span)
{
    struct tlb_entry *entry;
    uint64_t index = va / PAGE_BYTES % SGPU_TABLE_ENTRIES;
    uint64_t in_page = va % PAGE_BYTES;
    uint64_t limit = SGPU_TABLE_ENTRIES - index;
    uint64_t pte;

    if (va >= node->gpu->mmu.va_limit)
        return set_fault(out_span, SGPU_FAULT_NOT_VALID, va);
    entry = tlb_lookup(node, align_down(root, PAGE_BYTES), va);
    if (entry->table[index] & SGPU_PTE_VALID) {
        node->gpu->statistics.tlb_hits++;
    } else {
        uint32_t fault = entry->table[index] ? SGPU_FAULT_NOT_VALID
                                             : sgpu_tables_fill(node->gpu, root, va, entry->table);

        node->gpu->statistics.tlb_misses++;
        if (fault != SGPU_FAULT_NONE)
            return set_fault(out_span, fault, va);
        if (node->gpu->config.straps & SGPU_STRAP_MAY_CACHE_INVALID)
            note_invalid(node, root, va, entry->table);
    }

    pte = entry->table[index];
    if (access == SGPU_ACCESS_WRITE && (pte & SGPU_PTE_READ_ONLY))
        return set_fault(out_span, SGPU_FAULT_READ_ONLY, va);
    if (access == SGPU_ACCESS_FETCH && (pte & SGPU_PTE_NO_EXECUTE))
        return set_fault(out_span, SGPU_FAULT_NO_EXECUTE, va);
    /* Compared so that in_page + bytes cannot overflow. */
    if (bytes <= limit * PAGE_BYTES - in_page)
        limit = bytes_to_pages(in_page + bytes);
    bytes = min_u64(bytes,
                    cached_run(node, root, va - in_page, entry->table, index, limit) * PAGE_BYTES -
                        in_page);
    if (pte & SGPU_PTE_ZERO) {
        *out_span = (struct sgpu_span){.address = in_page, .bytes = bytes};
        return true;
    }
    return resolve_entry(node->gpu, pte, in_page, bytes, out_span)
               ? true
               : set_fault(out_span, SGPU_FAULT_BUS, va);
}

bool sgpu_translate(struct sgpu_node *node, const struct sgpu_space *space, uint64_t address,
                    uint64_t bytes, enum sgpu_access access, struct sgpu_span *out_span)
{
    if (space->is_virtual)
        return translate_virtual(node, space->root_pa, address, bytes, access, out_span);
    if (space->pasid != MACHINE_NO_PASID) {
        sgpu_resolve_process(node->gpu, space->pasid, address, bytes, out_span);
        return out_span->bytes ? true : set_fault(out_span, SGPU_FAULT_NOT_VALID, address);
    }
    resolve(node->gpu, address, bytes, out_span);
    return out_span->bytes ? true : set_fault(out_span, SGPU_FAULT_BUS, address);
}

static void drop_entries(struct tlb_entry *entry, uint64_t start, uint64_t end)
{
    uint64_t base = entry->block << TLB_BLOCK_BITS;
    uint64_t size = UINT64_C(1) << TLB_BLOCK_BITS;
    uint64_t first = start > base ? (start - base) / PAGE_BYTES : 0;
    uint64_t last = end < base + size ? bytes_to_pages(end - base) : SGPU_TABLE_ENTRIES;

    memset(entry->table + first, 0, (last - first) * sizeof *entry->table);
}

static void tlb_flush_node(struct sgpu_node *node, uint64_t root_pa, uint64_t start, uint64_t end)
{
    struct tlb *tlb = &node->tlb;
    uint64_t first_block = start >> TLB_BLOCK_BITS;
    uint64_t last_block = (end - 1) >> TLB_BLOCK_BITS;

    tlb->spare.stamp = 0;
    if (last_block - first_block < TLB_SETS) {
        for (uint64_t block = first_block; block <= last_block; block++) {
            struct tlb_entry *entry = tlb_find(tlb, root_pa, block);

            if (entry)
                drop_entries(entry, start, end);
        }
        return;
    }
    for (uint32_t i = 0; i < TLB_SETS * TLB_WAYS; i++) {
        struct tlb_entry *entry = &tlb->entries[i / TLB_WAYS][i % TLB_WAYS];

        if (entry->stamp && entry->root_pa == root_pa && entry->block >= first_block &&
            entry->block <= last_block)
            drop_entries(entry, start, end);
    }
}

void sgpu_tlb_flush(struct sgpu *gpu, uint64_t root_pa, uint64_t start, uint64_t end)
{
    gpu->statistics.tlb_flushes++;
    if (gpu->config.ignores_tlb_flush || start >= end)
        return;
    for (uint32_t i = 0; i < gpu->node_count; i++)
        tlb_flush_node(&gpu->nodes[i], align_down(root_pa, PAGE_BYTES), start, end);
}

void sgpu_tlb_reset(struct sgpu_node *node)
{
    struct tlb *tlb = &node->tlb;

    tlb->spare.stamp = 0;
    for (uint32_t i = 0; i < TLB_SETS * TLB_WAYS; i++)
        tlb->entries[i / TLB_WAYS][i % TLB_WAYS].stamp = 0;
}

void sgpu_tlb_fini(struct sgpu_node *node)
{
    for (uint32_t i = 0; i < TLB_SETS * TLB_WAYS; i++)
        base_free(node->gpu->services, node->tlb.entries[i / TLB_WAYS][i % TLB_WAYS].table,
                  PAGE_BYTES);
}
