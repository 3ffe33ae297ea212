/*
 * Page tables as they lie in memory: their shape, the walk to one translation, and the list of all.
 *
 * Nothing here is cached, and every walk reads what is in memory now.
 */
#include "sgpu/sgpu_private.h"

#include <string.h>

/* A page-aligned physical address beyond everything. */
#define PA_NOWHERE (UINT64_C(1) << 62)

#define PAGES_64K_SHIFT 16
#define PLAIN_RESERVED                                                                             \
    (SGPU_PTE_ZERO | SGPU_PTE_READ_ONLY | SGPU_PTE_NO_EXECUTE | SGPU_PTE_COHERENT)

bool sgpu_mmu_init(struct sgpu *gpu)
{
    static const uint8_t ordinary[SGPU_MAX_LEVELS] = {SGPU_INDEX_BITS, SGPU_INDEX_BITS,
                                                      SGPU_INDEX_BITS, SGPU_INDEX_BITS};
    const uint8_t *bits = gpu->config.index_bits[0] ? gpu->config.index_bits : ordinary;
    const uint32_t straps = gpu->config.straps;
    struct mmu_shape *mmu = &gpu->mmu;
    unsigned shift = SGPU_PAGE_SHIFT;

    for (; mmu->levels < SGPU_MAX_LEVELS && bits[mmu->levels]; mmu->levels++) {
        mmu->bits[mmu->levels] = bits[mmu->levels];
        mmu->shift[mmu->levels] = (uint8_t)shift;
        shift += bits[mmu->levels];
        if (bits[mmu->levels] > SGPU_MAX_INDEX_BITS ||
            (mmu->levels && bits[mmu->levels - 1] < SGPU_MIN_INDEX_BITS))
            return false;
    }
    if (mmu->levels < 2 || shift > SGPU_VA_BITS)
        return false;
    mmu->shift[mmu->levels] = (uint8_t)shift;
    mmu->va_limit = UINT64_C(1) << shift;
    mmu->reserved = straps & SGPU_STRAP_PLAIN_ENTRIES ? PLAIN_RESERVED : 0;
    mmu->has_64k_dual = (straps & SGPU_STRAP_64K_DUAL) != 0;
    mmu->has_64k_single = (straps & SGPU_STRAP_64K_SINGLE) != 0;
    mmu->has_large = (straps & SGPU_STRAP_LARGE_PAGES) != 0;
    mmu->gpu_page_entries = SGPU_GPU_PAGE_ENTRIES(straps);
    return !(mmu->has_64k_dual && mmu->has_64k_single) &&
           (mmu->gpu_page_entries == 1 || !(mmu->has_64k_dual || mmu->has_64k_single)) &&
           mmu->gpu_page_entries <= SGPU_64K_ENTRIES;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/*
 * The 512 words of the page at a physical address: in place when the page has bytes, else in the
 * buffer. NULL when no memory answers.
 */
static const uint64_t *read_page(struct sgpu *gpu, uint64_t pa, uint64_t buffer[SGPU_TABLE_ENTRIES])
{
    static const uint64_t empty_table[SGPU_TABLE_ENTRIES];
    struct page_store *store;
    uint64_t address, bytes;
    const uint8_t *in_place;

    if (!sgpu_resolve(gpu, align_down(pa, PAGE_BYTES), PAGE_BYTES, &store, &address, &bytes) ||
        bytes < PAGE_BYTES)
        return NULL;
    in_place = page_store_peek_bytes(store, address / PAGE_BYTES);
    if (in_place)
        return (const uint64_t *)(const void *)in_place;
    if (page_store_kind(store, address / PAGE_BYTES) == PAGE_ZERO)
        return empty_table;
    page_store_read(store, address, buffer, PAGE_BYTES);
    return buffer;
}

static bool read_word(struct sgpu *gpu, uint64_t table_pa, uint64_t word, uint64_t *out_value)
{
    uint64_t buffer[SGPU_TABLE_ENTRIES];
    const uint64_t *page = read_page(gpu, table_pa + word * sizeof(uint64_t), buffer);

    *out_value = page ? page[word % SGPU_TABLE_ENTRIES] : 0;
    return page != NULL;
}

/* The physical address in an entry. One that claims to be local and is not has no answer. */
static uint64_t entry_target(const struct sgpu *gpu, uint64_t entry)
{
    uint64_t address = entry & SGPU_PTE_ADDRESS_MASK;

    if (entry & SGPU_PTE_SYSTEM)
        return SGPU_PA_SYSTEM | address;
    return address < gpu->local_bytes ? address : PA_NOWHERE;
}

static bool is_usable(const struct mmu_shape *mmu, uint64_t entry)
{
    return (entry & SGPU_PTE_VALID) && !(entry & mmu->reserved);
}

static uint64_t table_index(const struct mmu_shape *mmu, uint64_t va, uint32_t level)
{
    return va >> mmu->shift[level] & ((UINT64_C(1) << mmu->bits[level]) - 1);
}

static uint64_t table_index_64k(const struct mmu_shape *mmu, uint64_t va)
{
    return table_index(mmu, va, 0) / SGPU_64K_ENTRIES;
}

/* How many entries the root has. */
static uint64_t root_entries(const struct mmu_shape *mmu, uint64_t root)
{
    uint64_t bits = root & SGPU_ROOT_BITS_MASK;
    uint64_t most = mmu->bits[mmu->levels - 1];

    return UINT64_C(1) << (bits && bits < most ? bits : most);
}

uint64_t sgpu_root_entries(const struct sgpu *gpu, uint64_t root)
{
    return root_entries(&gpu->mmu, root);
}

static bool leads_to_local(const struct mmu_shape *mmu, uint64_t entry)
{
    return is_usable(mmu, entry) && !(entry & (SGPU_PTE_SYSTEM | SGPU_PTE_ZERO));
}

/*
 * What words of a 4 KiB leaf table mean, each for its own 4 KiB, where a GPU page is larger: what
 * the first entry of each GPU page makes of the others. The words are whole GPU pages; the meaning
 * is written to the buffer, which may be where the words are.
 */
static void write_meaning(const struct mmu_shape *mmu, const uint64_t *words, uint64_t word_count,
                          uint64_t *buffer)
{
    const uint64_t count = mmu->gpu_page_entries;

    for (uint64_t first = 0; first < word_count; first += count) {
        const uint64_t entry = words[first] & ~((count - 1) * PAGE_BYTES);
        const bool is_whole = leads_to_local(mmu, entry);

        for (uint64_t i = 0; i < count; i++) {
            const uint64_t word = words[first + i];

            buffer[first + i] = is_whole                    ? entry + i * PAGE_BYTES
                                : leads_to_local(mmu, word) ? 0
                                                            : word;
        }
    }
}

/* The page of a 4 KiB leaf table that has the entry of an index, by its meaning; NULL as above. */
static const uint64_t *read_leaf_page(struct sgpu *gpu, uint64_t table_pa, uint64_t index,
                                      uint64_t buffer[SGPU_TABLE_ENTRIES])
{
    const uint64_t *page = read_page(gpu, table_pa + index * sizeof(uint64_t), buffer);

    if (!page || gpu->mmu.gpu_page_entries == 1)
        return page;
    write_meaning(&gpu->mmu, page, SGPU_TABLE_ENTRIES, buffer);
    return buffer;
}

/* Words of an entry at a level. */
static uint64_t entry_words(const struct mmu_shape *mmu, uint32_t level)
{
    return level == 1 && mmu->has_64k_dual ? 2 : 1;
}

/* ---- One translation ------------------------------------------------------------------------ */

/* Where a walk ended well: a 4 KiB leaf table, or the one entry that maps more than 4 KiB. */
struct leaf {
    uint64_t table_pa;   /* of the table that the entry is in */
    uint64_t entry_pa;   /* of the entry */
    uint64_t entry;      /* not of a 4 KiB leaf */
    uint32_t level;      /* of the entry */
    uint64_t page_bytes; /* that it maps */
    bool is_beside_64k;  /* of a 4 KiB leaf: each 64 KiB of it may have an entry elsewhere */
};

/* Bits of an entry above the leaf that say something to other GPUs. */
static uint64_t ignored_bits(const struct mmu_shape *mmu, uint32_t level)
{
    return (mmu->has_large ? 0 : SGPU_PTE_LARGE) |
           (mmu->has_64k_single && level == 1 ? 0 : SGPU_PTE_TABLE_64K);
}

/* The 64 KiB entry for va behind the word of a level 1 entry, if it is valid; else a fault. */
static uint32_t find_64k(struct sgpu *gpu, uint64_t pointer, uint64_t va, struct leaf *out)
{
    out->table_pa = entry_target(gpu, pointer);
    out->entry_pa = out->table_pa + table_index_64k(&gpu->mmu, va) * sizeof(uint64_t);
    out->level = 0;
    out->page_bytes = UINT64_C(1) << PAGES_64K_SHIFT;
    if (!read_word(gpu, out->table_pa, table_index_64k(&gpu->mmu, va), &out->entry))
        return SGPU_FAULT_BUS;
    return is_usable(&gpu->mmu, out->entry) ? SGPU_FAULT_NONE : SGPU_FAULT_NOT_VALID;
}

/* Walks down to the leaf for va. The trace (may be NULL) takes what is seen on the way. */
static uint32_t find_leaf(struct sgpu *gpu, uint64_t root, uint64_t va, struct leaf *out,
                          struct sgpu_walk *trace)
{
    const struct mmu_shape *mmu = &gpu->mmu;
    uint64_t table_pa = align_down(root, PAGE_BYTES);
    uint32_t level = mmu->levels - 1;
    uint64_t pointer_64k = 0;

    if (table_index(mmu, va, level) >= root_entries(mmu, root))
        return SGPU_FAULT_NOT_VALID;
    for (; level > 0; level--) {
        uint64_t word = table_index(mmu, va, level) * entry_words(mmu, level);
        uint64_t entry;

        if (trace)
            trace->level = level;
        if (!read_word(gpu, table_pa, word, &entry) ||
            (entry_words(mmu, level) == 2 && !read_word(gpu, table_pa, word + 1, &pointer_64k)))
            return SGPU_FAULT_BUS;
        if (trace) {
            trace->read_levels |= 1u << level;
            trace->tables_pa[level] = table_pa;
            trace->entries_pa[level] = table_pa + word * sizeof(uint64_t);
            trace->entries[level] = entry & ~ignored_bits(mmu, level);
        }
        if (is_usable(mmu, pointer_64k) && find_64k(gpu, pointer_64k, va, out) == SGPU_FAULT_NONE)
            return SGPU_FAULT_NONE;
        *out = (struct leaf){0};
        if (!is_usable(mmu, entry))
            return SGPU_FAULT_NOT_VALID;
        if (mmu->has_large && (entry & SGPU_PTE_LARGE)) {
            *out = (struct leaf){.table_pa = table_pa,
                                 .entry_pa = table_pa + word * sizeof(uint64_t),
                                 .entry = entry,
                                 .level = level,
                                 .page_bytes = UINT64_C(1) << mmu->shift[level]};
            return SGPU_FAULT_NONE;
        }
        if (level == 1 && mmu->has_64k_single && (entry & SGPU_PTE_TABLE_64K))
            return find_64k(gpu, entry, va, out);
        table_pa = entry_target(gpu, entry);
    }
    *out = (struct leaf){.table_pa = table_pa,
                         .page_bytes = PAGE_BYTES,
                         .is_beside_64k = is_usable(mmu, pointer_64k)};
    return SGPU_FAULT_NONE;
}

static bool read_leaf_entry(struct sgpu *gpu, uint64_t va, struct leaf *leaf)
{
    const uint64_t index = table_index(&gpu->mmu, va, 0), count = gpu->mmu.gpu_page_entries;
    uint64_t buffer[SGPU_TABLE_ENTRIES];
    const uint64_t *page = read_page(gpu, leaf->table_pa + index * sizeof(uint64_t), buffer);
    uint64_t in_page = index % SGPU_TABLE_ENTRIES;

    if (page && count > 1) {
        write_meaning(&gpu->mmu, page + align_down(in_page, count), count, buffer);
        page = buffer;
        in_page %= count;
    }
    leaf->entry_pa = leaf->table_pa + index * sizeof(uint64_t);
    leaf->entry = page ? page[in_page] : 0;
    return page != NULL;
}

void sgpu_mmu_walk(struct sgpu *gpu, uint64_t root, uint64_t va, struct sgpu_walk *out_walk)
{
    struct sgpu_walk walk = {.fault = SGPU_FAULT_NOT_VALID, .level = gpu->mmu.levels - 1};
    struct leaf leaf = {0};

    if (va < gpu->mmu.va_limit)
        walk.fault = find_leaf(gpu, root, va, &leaf, &walk);
    if (leaf.page_bytes) /* found, though perhaps not valid */
        walk.level = leaf.level;
    if (walk.fault == SGPU_FAULT_NONE) {
        if (leaf.page_bytes == PAGE_BYTES)
            walk.gpu_page_bytes = gpu->mmu.gpu_page_entries * PAGE_BYTES;
        if (leaf.page_bytes == PAGE_BYTES && !read_leaf_entry(gpu, va, &leaf))
            walk.fault = SGPU_FAULT_BUS;
        else if (!is_usable(&gpu->mmu, leaf.entry))
            walk.fault = SGPU_FAULT_NOT_VALID;
    }
    if (walk.level == 0 && walk.fault != SGPU_FAULT_BUS && leaf.page_bytes) {
        walk.read_levels |= 1;
        walk.tables_pa[0] = leaf.table_pa;
        walk.entries_pa[0] = leaf.entry_pa;
        walk.entries[0] = leaf.entry;
        walk.pte = leaf.entry;
        walk.page_bytes = leaf.page_bytes;
    }
    if (walk.fault == SGPU_FAULT_NONE) {
        walk.pte = leaf.entry;
        walk.page_bytes = leaf.page_bytes;
        walk.pa = entry_target(gpu, leaf.entry) + va % leaf.page_bytes;
    }
    *out_walk = walk;
}

/* ---- For the translation cache -------------------------------------------------------------- */

/* The translation of page i of a page of more than 4 KiB. */
static uint64_t piece_of(const struct leaf *leaf, uint64_t i)
{
    return (leaf->entry & ~(uint64_t)(SGPU_PTE_LARGE | SGPU_PTE_TABLE_64K)) +
           (leaf->entry & SGPU_PTE_ZERO ? 0 : i * PAGE_BYTES);
}

/*
 * Entries that are valid, where no translation is: without a branch, for it is done for each page.
 */
static void take_over(uint64_t *translations, const uint64_t *entries, uint64_t count)
{
    _Static_assert(SGPU_PTE_VALID == 1, "a mask is made of the bit");

    for (uint64_t i = 0; i < count; i++) {
        uint64_t mask = 0 - (entries[i] & ~translations[i] & SGPU_PTE_VALID);

        translations[i] ^= (translations[i] ^ entries[i]) & mask;
    }
}

uint32_t sgpu_tables_fill(struct sgpu *gpu, uint64_t root, uint64_t va, uint64_t *translations)
{
    uint64_t buffer[SGPU_TABLE_ENTRIES];
    uint64_t wanted = va / PAGE_BYTES % SGPU_TABLE_ENTRIES;
    struct leaf leaf;
    uint32_t fault = find_leaf(gpu, root, va, &leaf, NULL);
    uint64_t count, first;
    const uint64_t *entries = NULL;

    if (fault != SGPU_FAULT_NONE)
        return fault;
    count = leaf.page_bytes == PAGE_BYTES ? UINT64_C(1) << gpu->mmu.bits[0]
                                          : leaf.page_bytes / PAGE_BYTES;
    count = min_u64(count, leaf.is_beside_64k ? SGPU_64K_ENTRIES : TLB_FILL);
    first = align_down(wanted, count);
    if (leaf.page_bytes == PAGE_BYTES) {
        uint64_t index = align_down(table_index(&gpu->mmu, va, 0), count);

        entries = read_leaf_page(gpu, leaf.table_pa, index, buffer);
        if (!entries)
            return SGPU_FAULT_BUS;
        entries += index % SGPU_TABLE_ENTRIES;
    }
    if (entries && !gpu->mmu.reserved) {
        take_over(translations + first, entries, count);
        count = 0; /* that are left */
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = va % leaf.page_bytes / PAGE_BYTES - (wanted - first) + i;
        uint64_t entry = entries ? entries[i] : piece_of(&leaf, at);

        if (!(translations[first + i] & SGPU_PTE_VALID) && is_usable(&gpu->mmu, entry))
            translations[first + i] = entry;
    }
    return translations[wanted] & SGPU_PTE_VALID ? SGPU_FAULT_NONE : SGPU_FAULT_NOT_VALID;
}

/* ---- Every run ------------------------------------------------------------------------------ */

struct run_walk {
    struct sgpu *gpu;
    uint64_t start;
    uint64_t end;
    bool (*callback)(void *context, const struct sgpu_run *run);
    void *context;
    struct sgpu_run run; /* found and not yet reported; bytes 0: none */
};

static bool report_run(struct run_walk *walk)
{
    bool goes_on = walk->run.bytes == 0 || walk->callback(walk->context, &walk->run);

    walk->run.bytes = 0;
    return goes_on;
}

/* Append a run, or report the one before and begin with this. */
static bool add_run(struct run_walk *walk, const struct sgpu_run *next)
{
    struct sgpu_run *run = &walk->run;
    bool is_zero = next->attributes & SGPU_PTE_ZERO;

    if (run->bytes && run->va + run->bytes == next->va && run->attributes == next->attributes &&
        (is_zero || run->pa + run->bytes == next->pa)) {
        run->bytes += next->bytes;
        return true;
    }
    if (!report_run(walk))
        return false;
    *run = *next;
    return true;
}

/* What an entry, and those after it that go on where it goes, map from va on. */
static bool add_entry(struct run_walk *walk, uint64_t entry, uint64_t va, uint64_t bytes)
{
    uint64_t skipped = max_u64(walk->start, va) - va;
    uint64_t end = min_u64(va + bytes, walk->end);
    struct sgpu_run run;

    ASSERT(va + skipped < end);
    run = (struct sgpu_run){
        .va = va + skipped,
        .bytes = end - va - skipped,
        .pa = entry & SGPU_PTE_ZERO ? 0 : entry_target(walk->gpu, entry) + skipped,
        .attributes = entry & ~(SGPU_PTE_ADDRESS_MASK | SGPU_PTE_LARGE | SGPU_PTE_TABLE_64K),
    };
    return add_run(walk, &run);
}

static bool walk_leaf(struct run_walk *walk, const uint64_t *entries, uint64_t count, uint64_t va)
{
    for (uint64_t i = 0; i < count;) {
        uint64_t run = 1;

        if (is_usable(&walk->gpu->mmu, entries[i])) {
            run = sgpu_run_length(entries, i, count - i);
            if (!add_entry(walk, entries[i], va + i * PAGE_BYTES, run * PAGE_BYTES))
                return false;
        }
        i += run;
    }
    return true;
}

static bool walk_table(struct run_walk *walk, uint64_t table_pa, uint32_t level, uint64_t base_va,
                       uint64_t entry_count);

/* A 64 KiB table; where it has nothing, the 4 KiB table beside it (pointer 0: none). */
static bool walk_64k(struct run_walk *walk, uint64_t pointer_64k, uint64_t pointer,
                     uint64_t base_va)
{
    const struct mmu_shape *mmu = &walk->gpu->mmu;
    uint64_t table_pa = entry_target(walk->gpu, pointer_64k);
    uint64_t page_bytes = UINT64_C(1) << PAGES_64K_SHIFT;
    uint64_t count = (UINT64_C(1) << mmu->bits[0]) / SGPU_64K_ENTRIES;
    uint64_t start = walk->start, end = walk->end;
    bool goes_on = true;

    for (uint64_t i = 0; i < count && goes_on; i++) {
        uint64_t va = base_va + i * page_bytes;
        uint64_t entry;

        if (va + page_bytes <= start || va >= end)
            continue;
        if (!read_word(walk->gpu, table_pa, i, &entry))
            return false;
        if (is_usable(mmu, entry)) {
            goes_on = add_entry(walk, entry, va, page_bytes);
        } else if (is_usable(mmu, pointer)) {
            walk->start = max_u64(start, va);
            walk->end = min_u64(end, va + page_bytes);
            goes_on = walk_table(walk, entry_target(walk->gpu, pointer), 0, base_va,
                                 UINT64_C(1) << mmu->bits[0]);
            walk->start = start;
            walk->end = end;
        }
    }
    return goes_on;
}

/* What an entry above the leaf leads to; its second word is 0 where there is none. */
static bool walk_pointer(struct run_walk *walk, uint64_t pointer, uint64_t pointer_64k,
                         uint32_t level, uint64_t va)
{
    const struct mmu_shape *mmu = &walk->gpu->mmu;

    if (is_usable(mmu, pointer_64k))
        return walk_64k(walk, pointer_64k, pointer, va);
    if (!is_usable(mmu, pointer))
        return true;
    if (mmu->has_large && (pointer & SGPU_PTE_LARGE))
        return add_entry(walk, pointer, va, UINT64_C(1) << mmu->shift[level]);
    if (level == 1 && mmu->has_64k_single && (pointer & SGPU_PTE_TABLE_64K))
        return walk_64k(walk, pointer, 0, va);
    return walk_table(walk, entry_target(walk->gpu, pointer), level - 1, va,
                      UINT64_C(1) << mmu->bits[level - 1]);
}

static bool walk_table(struct run_walk *walk, uint64_t table_pa, uint32_t level, uint64_t base_va,
                       uint64_t entry_count)
{
    const struct mmu_shape *mmu = &walk->gpu->mmu;
    uint64_t buffer[SGPU_TABLE_ENTRIES];
    uint64_t words = entry_words(mmu, level);
    unsigned shift = mmu->shift[level];
    uint64_t i = (max_u64(walk->start, base_va) - base_va) >> shift;
    uint64_t end = min_u64(((walk->end - 1 - base_va) >> shift) + 1, entry_count);

    while (i < end) {
        uint64_t at = i * words % SGPU_TABLE_ENTRIES;
        uint64_t count = min_u64(end - i, (SGPU_TABLE_ENTRIES - at) / words);
        const uint64_t *page =
            level ? read_page(walk->gpu, table_pa + i * words * sizeof(uint64_t), buffer)
                  : read_leaf_page(walk->gpu, table_pa, i, buffer);

        if (!page || (level == 0 && !walk_leaf(walk, page + at, count, base_va + (i << shift))))
            return false;
        for (uint64_t j = 0; level && j < count; j++) {
            if (!walk_pointer(walk, page[at + j * words], words == 2 ? page[at + j * words + 1] : 0,
                              level, base_va + ((i + j) << shift)))
                return false;
        }
        i += count;
    }
    return true;
}

bool sgpu_mmu_for_each_run(struct sgpu *gpu, uint64_t root, uint64_t va_start, uint64_t va_end,
                           bool (*callback)(void *context, const struct sgpu_run *run),
                           void *context)
{
    struct run_walk walk = {
        .gpu = gpu,
        .start = va_start,
        .end = min_u64(va_end, gpu->mmu.va_limit),
        .callback = callback,
        .context = context,
    };

    if (walk.start >= walk.end)
        return true;
    return walk_table(&walk, align_down(root, PAGE_BYTES), gpu->mmu.levels - 1, 0,
                      root_entries(&gpu->mmu, root)) &&
           report_run(&walk);
}
