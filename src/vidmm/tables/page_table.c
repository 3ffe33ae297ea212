/*
 * Page tables: how a table is found in its tree, and the operations that write it.
 *
 * How an operation names the table depends on the driver's update mode (PT-019): by CPU pointer, by
 * segment and offset, or by the address at which the paging process sees it through its window.
 *
 * Source     contract.md PT-009..034, TLB-001..004; sequences S-02, S-05, S-07, S-13.
 */
#include "vidmm/tables/page_table.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"
#include "base/list.h"

#include <string.h>

uint64_t page_table_entries(const struct vidmm *vidmm, unsigned level)
{
    return UINT64_C(1) << vidmm->caps.levels[level].index_bits;
}

uint64_t page_table_coverage(const struct vidmm *vidmm, unsigned level)
{
    unsigned bits = PAGE_SHIFT_BITS;
    unsigned i;

    for (i = 0; i < level; i++)
        bits += vidmm->caps.levels[i].index_bits;
    return UINT64_C(1) << bits;
}

bool page_table_has_64k_leaves(const struct vidmm *vidmm)
{
    return vidmm->caps.has_64k_leaves &&
           (vidmm->caps.has_dual_pte || vidmm->caps.chooses_leaf_size);
}

unsigned page_table_index(const struct vidmm *vidmm, unsigned level, uint64_t va)
{
    return (unsigned)((va / page_table_coverage(vidmm, level)) &
                      (page_table_entries(vidmm, level) - 1));
}

/* ---- The tree -------------------------------------------------------------------------------- */

uint64_t page_tables_bytes(const struct address_space *space, uint64_t bytes)
{
    const struct vidmm *vidmm = space->vidmm;
    uint64_t total = 0;
    unsigned level;

    for (level = 0; level < vidmm->caps.level_count; level++)
        total += (bytes / page_table_coverage(vidmm, level + 1) + 2) *
                 align_up(max_u64(vidmm->caps.levels[level].table_bytes, PAGE_BYTES),
                          vidmm->caps.levels[level].alignment);
    return total;
}

static void collect(struct page_table *table, struct list *tables)
{
    uint64_t i;

    list_remove(&table->fresh);
    list_push_back(tables, &table->fresh);
    table->is_initialised = table->is_linked = table->is_shadowed = false;
    table->initialised_parts = 0;
    for (i = 0; i < table->child_count; i++) {
        if (table->children[i])
            collect(table->children[i], tables);
    }
}

void page_tables_collect(struct address_space *space, struct list *tables)
{
    if (space->root)
        collect(space->root, tables);
}

static void visit_tree(struct page_table *table, page_table_visit *visit, void *context)
{
    uint64_t i;

    for (i = 0; i < table->child_count; i++) {
        if (table->children[i])
            visit_tree(table->children[i], visit, context);
    }
    visit(table, context);
}

void page_tables_visit(struct address_space *space, page_table_visit *visit, void *context)
{
    if (space->root)
        visit_tree(space->root, visit, context);
}

struct page_table *page_table_find(const struct address_space *space, uint64_t va)
{
    struct page_table *table = space->root;

    while (table && table->level > 0) {
        unsigned index = page_table_index(space->vidmm, table->level, va);

        table = index < table->child_count ? table->children[index] : NULL;
    }
    return table;
}

struct page_table *page_table_find_64k(const struct address_space *space, uint64_t va)
{
    const struct vidmm *vidmm = space->vidmm;
    struct page_table *table = space->root;

    while (table && table->level > 1) {
        unsigned index = page_table_index(vidmm, table->level, va);

        table = index < table->child_count ? table->children[index] : NULL;
    }
    if (!table || table->child_count <= page_table_entries(vidmm, 1)) /* a root may be shorter */
        return NULL;
    return table->children[page_table_entries(vidmm, 1) + page_table_index(vidmm, 1, va)];
}

/* ---- Operations ------------------------------------------------------------------------------ */

static DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *begin_update(struct address_space *space,
                                                            const struct page_table *table,
                                                            DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;

    args->Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE;
    update->PageTableLevel = table->level;
    update->hProcess = space->driver_process;
    update->Flags.Use64KBPages = table->is_64k;
    /* An operation that waits for a buffer keeps its entries while others are executed at once. */
    update->pPageTableEntries = vidmm->paging.is_ready ? vidmm->entries : vidmm->immediate_entries;
    vidmm->even.entries = NULL;
    if (table->level == 1 && vidmm->caps.has_64k_leaves && vidmm->caps.has_dual_pte) {
        update->pPageTableEntries64KB =
            vidmm->paging.is_ready ? &vidmm->entry_64k : &vidmm->immediate_entry_64k;
        memset(update->pPageTableEntries64KB, 0, sizeof(DXGK_PTE));
    }
    update->UpdateMode =
        vidmm->paging.is_ready ? vidmm->caps.update_mode : DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    switch (update->UpdateMode) {
    case DXGK_PAGETABLEUPDATE_CPU_VIRTUAL:
        update->PageTableAddress.CpuVirtual = table->memory.cpu;
        break;
    case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
        update->PageTableAddress.GpuVirtual =
            paging_process_slot_va(&vidmm->paging, table->memory.window_slot);
        break;
    case DXGK_PAGETABLEUPDATE_GPU_PHYSICAL:
        update->PageTableAddress.GpuPhysical.SegmentId = table->memory.segment;
        update->PageTableAddress.GpuPhysical.SegmentOffset =
            PAGE_BYTES_OF(table_memory_device_page(vidmm, &table->memory));
        break;
    }
    return update;
}

static void set_range(struct vidmm *vidmm, DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                      uint64_t va, unsigned index, uint64_t count)
{
    update->StartIndex = index;
    update->NumPageTableEntries = (UINT)count;
    update->FirstPteVirtualAddress = va;
    vidmm->statistics.page_table_entries_written += count;
}

static void set_entry(DXGK_PTE *entry, unsigned segment, uint64_t page)
{
    entry->Flags = 0;
    entry->Valid = 1;
    entry->Segment = segment;
    entry->PageAddress = page;
}

/* Only bits that the driver has said that it knows (PT-032). */
static void set_protection(const struct vidmm *vidmm, DXGK_PTE *entry, uint32_t protect)
{
    entry->ReadOnly = (protect & VIDMM_PROTECT_READ_ONLY) && vidmm->caps.has_read_only;
    entry->NoExecute = (protect & VIDMM_PROTECT_NO_EXECUTE) && vidmm->caps.has_no_execute;
}

void page_table_op_initialise(struct address_space *space, struct page_table *table,
                              DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = begin_update(space, table, args);

    memset(&update->pPageTableEntries[0], 0, sizeof(DXGK_PTE));
    update->Flags.InitialUpdate = 1;
    update->Flags.Repeat = 1;
    set_range(vidmm, update, table->first_va, 0, table->memory.entry_count);
    table->is_initialised = true;
}

/* As many entries of a new table come without Repeat where it comes in pieces. */
#define LISTED_ENTRIES 16

/*
 * As Windows has been seen to (docs/observed.md): by Repeat the entries before some of them, then
 * the entries behind those, then those.
 */
bool page_table_op_initialise_part(struct address_space *space, struct page_table *table,
                                   DXGKARG_BUILDPAGINGBUFFER *args)
{
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &args->UpdatePageTable;
    uint64_t count = table->memory.entry_count, first, length;
    uint64_t bytes =
        table->is_64k ? PAGES_64K * PAGE_BYTES : page_table_coverage(space->vidmm, table->level);

    page_table_op_initialise(space, table, args);
    if (!space->vidmm->config.initialises_in_pieces || update->pPageTableEntries64KB ||
        count < 4 * LISTED_ENTRIES)
        return true;
    first = 1 + (7 * table->index) % (count - LISTED_ENTRIES - 1);
    length = LISTED_ENTRIES;
    switch (table->initialised_parts++) {
    case 0:
        length = first;
        first = 0;
        break;
    case 1:
        first += LISTED_ENTRIES;
        length = count - first;
        break;
    default:
        update->Flags.Repeat = 0;
        memset(update->pPageTableEntries, 0, LISTED_ENTRIES * sizeof(DXGK_PTE));
        table->initialised_parts = 0;
        break;
    }
    space->vidmm->statistics.page_table_entries_written -= count;
    set_range(space->vidmm, update, table->first_va + first * bytes, (unsigned)first, length);
    table->is_initialised = !table->initialised_parts;
    return table->is_initialised;
}

/*
 * An entry above the leaf for a child; invalid while there is none, or none that is linked.
 */
static void set_pointer(const struct vidmm *vidmm, DXGK_PTE *entry, const struct page_table *child)
{
    memset(entry, 0, sizeof *entry);
    if (!child || !child->is_linked)
        return;
    set_entry(entry, child->memory.segment, table_memory_device_page(vidmm, &child->memory));
    if (child->is_64k && vidmm->caps.chooses_leaf_size)
        entry->PageTablePageSize = DXGK_PTE_PAGE_TABLE_PAGE_64KB;
}

void page_table_op_farewell(struct address_space *space, struct page_table *table,
                            DXGKARG_BUILDPAGINGBUFFER *args)
{
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = begin_update(space, table, args);

    update->pPageTableEntries = NULL;
    update->Flags.NotifyEviction = 1;
    set_range(space->vidmm, update, table->first_va, 0, 0);
}

/* So many entries on each side of those that change, at most, where neighbours are written. */
#define NEIGHBOURS 3

static bool writes_neighbours(const struct address_space *space)
{
    return space->vidmm->config.writes_neighbours && !space->is_paging_process;
}

/* The entry is a pointer, or invalid: it maps no large page, and is not the driver's own. */
static bool may_be_written(const struct address_space *space, const struct page_table *parent,
                           uint64_t index)
{
    const struct page_table *child = parent->children[index];
    struct range_info range;

    return !(child && child->is_shadowed) &&
           !(range_allocator_find(&space->ranges,
                                  parent->first_va +
                                      index * page_table_coverage(space->vidmm, parent->level),
                                  &range) &&
             range.owner == OWNER_RESERVED);
}

/*
 * The entries of a parent that one call writes: the one at index, and some beside it, which are
 * written as they are. Not where an entry is two pointers or one of two sizes.
 */
static void choose_pointers(const struct address_space *space, const struct page_table *parent,
                            unsigned index, unsigned *out_first, unsigned *out_end)
{
    const struct vidmm_caps *caps = &space->vidmm->caps;
    uint64_t count = min_u64(parent->memory.entry_count, parent->child_count);

    *out_first = index;
    *out_end = index + 1;
    if (!writes_neighbours(space) || (parent->level == 1 && caps->has_64k_leaves))
        return;
    while (*out_first && index - *out_first < NEIGHBOURS &&
           may_be_written(space, parent, *out_first - 1))
        (*out_first)--;
    while (*out_end < count && *out_end - index <= NEIGHBOURS &&
           may_be_written(space, parent, *out_end))
        (*out_end)++;
}

/* Writes the parent's entry for a table, by the tables that are in the tree now. */
static void point(struct address_space *space, struct page_table *table,
                  DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    const struct page_table *parent = table->parent;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = begin_update(space, parent, args);
    unsigned entries = (unsigned)page_table_entries(vidmm, parent->level);
    unsigned index = table->is_64k ? table->index - entries : table->index;
    const struct page_table *child;
    unsigned first, end, i;

    choose_pointers(space, parent, index, &first, &end);
    for (i = first; i < end; i++)
        set_pointer(vidmm, &update->pPageTableEntries[i - first], parent->children[i]);
    child = parent->children[index];
    if (vidmm->caps.chooses_leaf_size && parent->level == 1 && !(child && child->is_linked))
        set_pointer(vidmm, &update->pPageTableEntries[index - first],
                    parent->children[entries + index]);
    if (update->pPageTableEntries64KB)
        set_pointer(vidmm, update->pPageTableEntries64KB, parent->children[entries + index]);
    set_range(vidmm, update,
              table->first_va - (index - first) * page_table_coverage(vidmm, parent->level), first,
              end - first);
}

void page_table_op_link(struct address_space *space, struct page_table *table,
                        DXGKARG_BUILDPAGINGBUFFER *args)
{
    table->is_linked = true;
    point(space, table, args);
}

void page_table_op_unlink(struct address_space *space, struct page_table *table,
                          DXGKARG_BUILDPAGINGBUFFER *args)
{
    point(space, table, args);
}

void page_table_op_clear(struct address_space *space, struct page_table *table,
                         DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = begin_update(space, table, args);

    memset(&update->pPageTableEntries[0], 0, sizeof(DXGK_PTE));
    update->Flags.Repeat = 1;
    update->Flags.NotifyEviction = 1;
    set_range(vidmm, update, table->first_va, 0, table->memory.entry_count);
}

void page_table_op_show(struct address_space *space, struct page_table *table,
                        DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    uint64_t va = paging_process_slot_va(&vidmm->paging, table->memory.window_slot);
    struct page_table *window = page_table_find(&vidmm->paging.space, va);
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update =
        begin_update(&vidmm->paging.space, window, args);
    uint64_t i;

    for (i = 0; i < table->memory.page_count; i++)
        set_entry(&update->pPageTableEntries[i], table->memory.segment,
                  table_memory_device_page(vidmm, &table->memory) + i);
    set_range(vidmm, update, va, page_table_index(vidmm, 0, va), table->memory.page_count);
}

/*
 * The table for va and how many of its pages it holds from there, at most page_count. In a 64 KiB
 * table they have one entry to 16; *is_64k becomes false where a 4 KiB one has taken its place.
 */
static uint64_t table_part(struct address_space *space, uint64_t va, uint64_t page_count,
                           bool *is_64k, struct page_table **out_table, unsigned *out_index)
{
    struct vidmm *vidmm = space->vidmm;
    unsigned index = page_table_index(vidmm, 0, va);
    struct page_table *small = page_table_find(space, va);

    if (vidmm->caps.chooses_leaf_size && small && small->is_linked)
        *is_64k = false;
    *out_table = *is_64k ? page_table_find_64k(space, va) : small;
    *out_index = *is_64k ? index / PAGES_64K : index;
    return min_u64(page_count, page_table_entries(vidmm, 0) - index);
}

/* 64 KiB entries for pages of a placement, which lies in 64 KiB pages. */
static void fill_64k(DXGK_PTE *entries, ULONGLONG flags, struct vidmm_allocation *allocation,
                     uint64_t first_page, uint64_t page_count)
{
    uint64_t i;

    for (i = 0; i < page_count / PAGES_64K; i++) {
        entries[i].Flags = flags;
        entries[i].PageAddress =
            segment_page_offset(allocation, first_page + i * PAGES_64K) / PAGE_BYTES;
    }
}

static void fill_from_backing(const struct vidmm *vidmm, DXGK_PTE *entries, ULONGLONG flags,
                              const uint64_t *pages, uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++) {
        entries[i].Flags = flags;
        entries[i].PageAddress = device_page(vidmm, pages[i]);
    }
}

static void fill_run(DXGK_PTE *entries, ULONGLONG flags, uint64_t page, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        entries[i].Flags = flags;
        entries[i].PageAddress = page + i;
    }
}

static void note_even(struct vidmm *vidmm, const DXGK_PTE *entries, uint64_t count)
{
    vidmm->even.entries = entries;
    vidmm->even.count = count;
}

static void fill_from_placement(struct vidmm *vidmm, DXGK_PTE *entries, ULONGLONG flags,
                                struct vidmm_allocation *allocation, uint64_t first_page,
                                uint64_t count)
{
    while (count) {
        uint64_t offset;
        uint64_t run = min_u64(segment_run(allocation, first_page, &offset), count);

        fill_run(entries, flags, offset / PAGE_BYTES, run);
        if (!vidmm->even.entries)
            note_even(vidmm, entries, run);
        entries += run;
        first_page += run;
        count -= run;
    }
}

/*
 * PT-033, PT-034: one piece of the allocation fills the range of a whole leaf table. Not for an
 * entry of two words or of a root that grows, nor with a driver protection, which only leaf entries
 * have (PT-027); and not before the leaf is linked, for linking it would end the large page.
 */
static bool can_be_large(const struct address_space *space, const struct page_table *leaf,
                         uint64_t va, const struct mapped_pages *pages)
{
    const struct vidmm_caps *caps = &space->vidmm->caps;
    uint64_t bytes = page_table_coverage(space->vidmm, 1);
    uint64_t offset;

    if (!caps->has_large_pages || caps->has_64k_leaves || caps->root_is_resizable ||
        space->is_paging_process || !leaf->is_linked || pages->allocation->forbids_large_pages ||
        pages->driver_protection || !is_aligned(va, bytes) ||
        PAGE_BYTES_OF(pages->page_count) < bytes)
        return false;
    return PAGE_BYTES_OF(segment_run(pages->allocation, pages->first_page, &offset)) >= bytes &&
           (caps->allows_unaligned_large_pages || is_aligned(offset, bytes));
}

/* The parent's entry of a leaf maps its whole range itself. */
static uint64_t map_large(struct address_space *space, struct page_table *leaf,
                          const struct mapped_pages *pages, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = pages->allocation;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = begin_update(space, leaf->parent, args);
    DXGK_PTE *entry = &update->pPageTableEntries[0];

    leaf->is_shadowed = true;
    update->hAllocation = allocation->driver_handle;
    update->AllocationOffsetInBytes = PAGE_BYTES_OF(pages->first_page);
    set_entry(entry, allocation->place.segment->id,
              segment_page_offset(allocation, pages->first_page) / PAGE_BYTES);
    set_protection(space->vidmm, entry, pages->protect);
    entry->LargePage = 1;
    set_range(space->vidmm, update, leaf->first_va, leaf->index, 1);
    return page_table_entries(space->vidmm, 0);
}

/* Entries from va on, at most so many of its table, that translate addresses of nobody. */
static uint64_t count_free_entries(const struct address_space *space, uint64_t va, uint64_t most)
{
    struct range_info range;

    if (!writes_neighbours(space) || !most ||
        !range_allocator_range_at(&space->ranges, va, &range) || !range.is_free)
        return 0;
    return min_u64(min_u64(most, NEIGHBOURS), (range.offset + range.size - va) / PAGE_BYTES);
}

uint64_t page_table_op_map(struct address_space *space, uint64_t va,
                           const struct mapped_pages *pages, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    struct vidmm_allocation *allocation = pages->allocation;
    uint64_t first_page = pages->first_page;
    bool is_64k = pages->is_64k;
    struct page_table *table;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update;
    DXGK_PTE flags;
    unsigned index;
    uint64_t count = table_part(space, va, pages->page_count, &is_64k, &table, &index);
    uint64_t behind = 0;

    if (!pages->from_backing && can_be_large(space, table, va, pages))
        return map_large(space, table, pages, args);
    update = begin_update(space, table, args);
    update->hAllocation = allocation->driver_handle;
    update->AllocationOffsetInBytes = PAGE_BYTES_OF(first_page);
    update->DriverProtection = pages->driver_protection;
    set_entry(&flags, pages->from_backing ? 0 : allocation->place.segment->id, 0);
    set_protection(vidmm, &flags, pages->protect);
    flags.CacheCoherent =
        pages->from_backing && allocation->is_cached && vidmm->caps.has_cache_coherent;
    if (is_64k)
        fill_64k(update->pPageTableEntries, flags.Flags, allocation, first_page, count);
    else if (pages->from_backing)
        fill_from_backing(vidmm, update->pPageTableEntries, flags.Flags,
                          allocation_backing_pages(allocation) + first_page, count);
    else
        fill_from_placement(vidmm, update->pPageTableEntries, flags.Flags, allocation, first_page,
                            count);
    if (!is_64k)
        behind = count_free_entries(space, va + PAGE_BYTES_OF(count),
                                    page_table_entries(vidmm, 0) - index - count);
    memset(update->pPageTableEntries + count, 0, behind * sizeof(DXGK_PTE));
    set_range(vidmm, update, va, index, (is_64k ? count / PAGES_64K : count) + behind);
    return count;
}

uint64_t page_table_op_map_physical(struct address_space *space, uint64_t va, unsigned segment,
                                    uint64_t first_page, uint64_t page_count, uint32_t protect,
                                    DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    struct page_table *table;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update;
    unsigned index;
    bool is_64k = false;
    uint64_t count = table_part(space, va, page_count, &is_64k, &table, &index);
    DXGK_PTE entry;

    update = begin_update(space, table, args);
    set_entry(&entry, segment, first_page);
    set_protection(vidmm, &entry, protect);
    if (protect & VIDMM_PROTECT_ZERO) {
        entry.Zero = 1;
        update->Flags.Repeat = 1;
        update->pPageTableEntries[0] = entry;
        set_range(vidmm, update, va, index, count);
        return count;
    }
    fill_run(update->pPageTableEntries, entry.Flags, first_page, count);
    note_even(vidmm, update->pPageTableEntries, count);
    set_range(vidmm, update, va, index, count);
    return count;
}

void page_table_entry_address(struct address_space *space, uint64_t va,
                              D3DGPU_VIRTUAL_ADDRESS *out_address, UINT *out_index)
{
    struct vidmm *vidmm = space->vidmm;
    uint64_t entry_bytes = vidmm->caps.levels[0].table_bytes / page_table_entries(vidmm, 0);
    const struct page_table *table = page_table_find(space, va);
    uint64_t address = paging_process_slot_va(&vidmm->paging, table->memory.window_slot);

    *out_address = align_down(address, 64 * KiB);
    *out_index = page_table_index(vidmm, 0, va) + (UINT)((address - *out_address) / entry_bytes);
}

uint64_t page_table_op_unmap(struct address_space *space, uint64_t va, uint64_t page_count,
                             bool is_64k, HANDLE driver_allocation, uint64_t first_page,
                             DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    struct page_table *table;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update;
    unsigned index;
    uint64_t count = table_part(space, va, page_count, &is_64k, &table, &index);

    if (!table)
        return count;
    if (table->is_shadowed) {
        table->is_shadowed = false;
        page_table_op_link(space, table, args);
        return count;
    }
    update = begin_update(space, table, args);
    update->hAllocation = driver_allocation;
    update->AllocationOffsetInBytes = PAGE_BYTES_OF(first_page);
    update->Flags.Repeat = 1;
    memset(&update->pPageTableEntries[0], 0, sizeof(DXGK_PTE));
    set_range(vidmm, update, va, index, is_64k ? count / PAGES_64K : count);
    return count;
}

void page_table_op_flush(struct address_space *space, uint64_t va, uint64_t bytes,
                         DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_FLUSH_TLB;
    args->FlushTlb.RootPageTableAddress.SegmentId = space->root->memory.segment;
    args->FlushTlb.RootPageTableAddress.SegmentOffset =
        PAGE_BYTES_OF(table_memory_device_page(space->vidmm, &space->root->memory));
    args->FlushTlb.hProcess = space->driver_process;
    args->FlushTlb.StartVirtualAddress = va;
    args->FlushTlb.EndVirtualAddress = va + bytes;
}
