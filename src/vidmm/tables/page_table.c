/*
 * Page tables: a tree of tables for each address space, and the operations that write them.
 *
 * A table exists here from the moment a mapping needs it; its memory is garbage until the job of
 * that mapping has initialised it and linked it into its parent, both by UPDATE_PAGE_TABLE. Tables
 * stay until the address space goes, unless others want their memory (table_eviction.c).
 *
 * How an operation names the table depends on the driver's update mode (PT-019): by CPU pointer, by
 * segment and offset, or by the address at which the paging process sees it through its window.
 *
 * Source     contract.md PT-009..034, TLB-001..004; sequences S-02, S-05, S-07, S-13.
 */
#include "vidmm/tables/page_table.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/tables/root_change.h"
#include "vidmm/tables/table_fallback.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

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

static unsigned table_index(const struct vidmm *vidmm, unsigned level, uint64_t va)
{
    return (unsigned)((va / page_table_coverage(vidmm, level)) &
                      (page_table_entries(vidmm, level) - 1));
}

/* ---- The tree -------------------------------------------------------------------------------- */

static void destroy_table(struct address_space *space, struct page_table *table)
{
    struct vidmm *vidmm = space->vidmm;

    if (table->is_detached)
        ; /* it is not there, and its parent may be gone */
    else if (table->parent)
        table->parent->children[table->index] = NULL;
    else if (space->root == table)
        space->root = NULL;
    list_remove(&table->fresh);
    table_memory_release(space, &table->memory);
    vidmm->statistics.page_table_count--;
    base_free_array(vidmm->services, table->children, table->child_count, sizeof *table->children);
    base_free_array(vidmm->services, table->physical,
                    table->physical ? page_table_entries(vidmm, 0) : 0, sizeof *table->physical);
    base_free(vidmm->services, table, sizeof *table);
}

/*
 * Places for children of a table: two for an entry of level 1 that has, or chooses from, two kinds.
 */
static uint64_t child_count(const struct vidmm *vidmm, unsigned level, uint64_t entry_count)
{
    return level == 1 && page_table_has_64k_leaves(vidmm) ? 2 * entry_count : entry_count;
}

static NTSTATUS create_table(struct address_space *space, unsigned level, struct page_table *parent,
                             unsigned index, uint64_t first_va, uint64_t bytes,
                             uint64_t entry_count, struct page_table **out_table)
{
    struct vidmm *vidmm = space->vidmm;
    struct page_table *table;
    NTSTATUS status;

    *out_table = NULL;
    table = base_alloc(vidmm->services, sizeof *table);
    if (!table)
        return STATUS_NO_MEMORY;
    vidmm->statistics.page_table_count++;
    table->level = level;
    table->index = index;
    table->first_va = first_va;
    list_init(&table->fresh);
    if (level) {
        status = STATUS_NO_MEMORY;
        uint64_t count = child_count(vidmm, level, entry_count);

        table->children = base_alloc_array(vidmm->services, (size_t)count, sizeof *table->children);
        if (!table->children)
            goto destroy;
        table->child_count = count;
    }
    status = table_memory_take(space, level, bytes, entry_count, &table->memory);
    if (!NT_SUCCESS(status))
        goto destroy;
    table->parent = parent;
    if (parent)
        parent->children[index] = table;
    else
        space->root = table;
    *out_table = table;
    return STATUS_SUCCESS;

destroy:
    destroy_table(space, table);
    return status;
}

/* A root that reaches end at least. */
static NTSTATUS create_root(struct address_space *space, uint64_t end, struct list *fresh)
{
    struct vidmm *vidmm = space->vidmm;
    unsigned level = vidmm->caps.level_count - 1;
    uint64_t entry_count = page_table_entries(vidmm, level);
    uint64_t bytes = vidmm->caps.levels[level].table_bytes;
    struct page_table *root;
    NTSTATUS status;

    if (vidmm->caps.root_is_resizable) {
        if (space->is_paging_process)
            end = vidmm->paging.va_end;
        entry_count = div_round_up(end, page_table_coverage(vidmm, level));
        status = root_size(vidmm, &entry_count, &bytes);
        if (!NT_SUCCESS(status))
            return status;
    }
    status = create_table(space, level, NULL, 0, 0, bytes, entry_count, &root);
    if (NT_SUCCESS(status))
        list_push_back(fresh, &root->fresh);
    return status;
}

void page_table_free_detached(struct address_space *space, struct page_table *table)
{
    ASSERT(table->is_detached);
    if (space->root == table)
        space->root = NULL;
    destroy_table(space, table);
}

void page_tables_abandon(struct address_space *space, struct list *fresh)
{
    while (!list_is_empty(fresh))
        destroy_table(space, container_of(fresh->prev, struct page_table, fresh));
}

/* Makes the child of an entry unless it is there; is_64k: the 64 KiB leaf. */
static NTSTATUS prepare_child(struct address_space *space, struct page_table *table, uint64_t va,
                              bool is_64k, struct list *fresh, struct page_table **out_child)
{
    struct vidmm *vidmm = space->vidmm;
    unsigned level = table->level - 1;
    uint64_t bytes = is_64k ? vidmm->caps.leaf_64k_bytes : vidmm->caps.levels[level].table_bytes;
    uint64_t entry_count = page_table_entries(vidmm, level) / (is_64k ? PAGES_64K : 1);
    uint64_t index = table_index(vidmm, table->level, va) +
                     (is_64k ? page_table_entries(vidmm, table->level) : 0);
    NTSTATUS status;

    *out_child = table->children[index];
    if (*out_child)
        return STATUS_SUCCESS;
    status = create_table(space, level, table, (unsigned)index,
                          align_down(va, page_table_coverage(vidmm, table->level)), bytes,
                          entry_count, out_child);
    if (!NT_SUCCESS(status))
        return status;
    (*out_child)->is_64k = is_64k;
    list_push_back(fresh, &(*out_child)->fresh);
    return STATUS_SUCCESS;
}

/*
 * The leaf of an entry with one pointer: a 64 KiB one where the range starts with it, and only
 * until a 4 KiB one is needed (PT-040).
 */
static NTSTATUS prepare_one_leaf(struct address_space *space, struct page_table *table, uint64_t va,
                                 unsigned kinds, struct list *fresh)
{
    unsigned index = table_index(space->vidmm, 1, va);
    struct page_table *large = table->children[page_table_entries(space->vidmm, 1) + index];
    bool falls_back = large && !table->children[index];
    struct page_table *leaf;
    NTSTATUS status;

    if (!(kinds & LEAVES_4K))
        return table->children[index] ? STATUS_SUCCESS
                                      : prepare_child(space, table, va, true, fresh, &leaf);
    status = prepare_child(space, table, va, false, fresh, &leaf);
    if (!NT_SUCCESS(status) || !falls_back)
        return status;
    list_remove(&leaf->fresh);
    status = table_fallback_begin(space, leaf);
    if (!NT_SUCCESS(status))
        destroy_table(space, leaf);
    return status;
}

NTSTATUS page_tables_prepare(struct address_space *space, uint64_t va, uint64_t bytes,
                             unsigned kinds, struct list *fresh)
{
    struct vidmm *vidmm = space->vidmm;
    uint64_t leaf = page_table_coverage(vidmm, 1);
    uint64_t end = va + bytes;
    NTSTATUS status;

    status = space->root ? root_reserve(space, end) : create_root(space, end, fresh);
    for (va = align_down(va, leaf); va < end && NT_SUCCESS(status); va += leaf) {
        struct page_table *table = space->root;
        struct page_table *child;

        while (NT_SUCCESS(status) && table->level > 1) {
            status = prepare_child(space, table, va, false, fresh, &child);
            table = child;
        }
        if (NT_SUCCESS(status) && vidmm->caps.chooses_leaf_size) {
            status = prepare_one_leaf(space, table, va, kinds, fresh);
            continue;
        }
        if (NT_SUCCESS(status) && (kinds & LEAVES_4K))
            status = prepare_child(space, table, va, false, fresh, &child);
        if (NT_SUCCESS(status) && (kinds & LEAVES_64K))
            status = prepare_child(space, table, va, true, fresh, &child);
    }
    if (!NT_SUCCESS(status))
        page_tables_abandon(space, fresh);
    return status;
}

uint64_t page_tables_bytes(const struct address_space *space, uint64_t bytes)
{
    const struct vidmm *vidmm = space->vidmm;
    uint64_t total = 0;
    unsigned level;

    for (level = 0; level < vidmm->caps.level_count; level++)
        total += (bytes / page_table_coverage(vidmm, level + 1) + 2) *
                 max_u64(vidmm->caps.levels[level].table_bytes, PAGE_BYTES);
    return total;
}

static void free_tree(struct address_space *space, struct page_table *table)
{
    if (table->level > 0) {
        uint64_t i;

        for (i = 0; i < table->child_count; i++) {
            if (table->children[i])
                free_tree(space, table->children[i]);
        }
    }
    destroy_table(space, table);
}

void page_tables_free(struct address_space *space)
{
    if (space->root)
        free_tree(space, space->root);
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
        unsigned index = table_index(space->vidmm, table->level, va);

        table = index < table->child_count ? table->children[index] : NULL;
    }
    return table;
}

struct page_table *page_table_find_64k(const struct address_space *space, uint64_t va)
{
    const struct vidmm *vidmm = space->vidmm;
    struct page_table *table = space->root;

    while (table && table->level > 1) {
        unsigned index = table_index(vidmm, table->level, va);

        table = index < table->child_count ? table->children[index] : NULL;
    }
    if (!table || table->child_count <= page_table_entries(vidmm, 1)) /* a root may be shorter */
        return NULL;
    return table->children[page_table_entries(vidmm, 1) + table_index(vidmm, 1, va)];
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

/* Only what the driver has said that it knows (PT-032). */
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
 * As Windows has been seen to (docs/observed.md): by Repeat what lies before some entries, then
 * what lies behind them, then those.
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
 * What an entry above the leaf says of a child; invalid while there is none, or none that is
 * linked.
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

/* Writes the parent's entry for a table by what is in its place in the tree now. */
static void point(struct address_space *space, struct page_table *table,
                  DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    const struct page_table *parent = table->parent;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = begin_update(space, parent, args);
    unsigned entries = (unsigned)page_table_entries(vidmm, parent->level);
    unsigned index = table->is_64k ? table->index - entries : table->index;
    const struct page_table *child;

    child = parent->children[index];
    if (vidmm->caps.chooses_leaf_size && parent->level == 1 && !(child && child->is_linked))
        child = parent->children[entries + index];
    set_pointer(vidmm, &update->pPageTableEntries[0], child);
    if (update->pPageTableEntries64KB)
        set_pointer(vidmm, update->pPageTableEntries64KB, parent->children[entries + index]);
    set_range(vidmm, update, table->first_va, index, 1);
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
    set_range(vidmm, update, va, table_index(vidmm, 0, va), table->memory.page_count);
}

/*
 * The table for va and how many of its pages it holds from there, at most page_count. In a 64 KiB
 * table they have one entry to 16; *is_64k becomes false where a 4 KiB one has taken its place.
 */
static uint64_t table_part(struct address_space *space, uint64_t va, uint64_t page_count,
                           bool *is_64k, struct page_table **out_table, unsigned *out_index)
{
    struct vidmm *vidmm = space->vidmm;
    unsigned index = table_index(vidmm, 0, va);
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

static void fill_from_placement(DXGK_PTE *entries, ULONGLONG flags,
                                struct vidmm_allocation *allocation, uint64_t first_page,
                                uint64_t count)
{
    while (count) {
        uint64_t offset;
        uint64_t run = min_u64(segment_run(allocation, first_page, &offset), count);
        uint64_t page = offset / PAGE_BYTES;
        uint64_t i;

        for (i = 0; i < run; i++) {
            entries[i].Flags = flags;
            entries[i].PageAddress = page + i;
        }
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
                         uint64_t va, struct vidmm_allocation *allocation, uint64_t first_page,
                         uint64_t page_count, uint64_t driver_protection)
{
    const struct vidmm_caps *caps = &space->vidmm->caps;
    uint64_t bytes = page_table_coverage(space->vidmm, 1);
    uint64_t offset;

    if (!caps->has_large_pages || caps->has_64k_leaves || caps->root_is_resizable ||
        space->is_paging_process || !leaf->is_linked || allocation->forbids_large_pages ||
        driver_protection || !is_aligned(va, bytes) || PAGE_BYTES_OF(page_count) < bytes)
        return false;
    return PAGE_BYTES_OF(segment_run(allocation, first_page, &offset)) >= bytes &&
           (caps->allows_unaligned_large_pages || is_aligned(offset, bytes));
}

/* The parent's entry of a leaf maps its whole range itself. */
static uint64_t map_large(struct address_space *space, struct page_table *leaf,
                          struct vidmm_allocation *allocation, uint64_t first_page,
                          uint32_t protect, DXGKARG_BUILDPAGINGBUFFER *args)
{
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = begin_update(space, leaf->parent, args);
    DXGK_PTE *entry = &update->pPageTableEntries[0];

    leaf->is_shadowed = true;
    update->hAllocation = allocation->driver_handle;
    update->AllocationOffsetInBytes = PAGE_BYTES_OF(first_page);
    set_entry(entry, allocation->place.segment->id,
              segment_page_offset(allocation, first_page) / PAGE_BYTES);
    set_protection(space->vidmm, entry, protect);
    entry->LargePage = 1;
    set_range(space->vidmm, update, leaf->first_va, leaf->index, 1);
    return page_table_entries(space->vidmm, 0);
}

uint64_t page_table_op_map(struct address_space *space, uint64_t va,
                           struct vidmm_allocation *allocation, uint64_t first_page,
                           uint64_t page_count, bool from_backing, bool is_64k, uint32_t protect,
                           uint64_t driver_protection, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm *vidmm = space->vidmm;
    struct page_table *table;
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update;
    DXGK_PTE flags;
    unsigned index;
    uint64_t count = table_part(space, va, page_count, &is_64k, &table, &index);

    if (!from_backing &&
        can_be_large(space, table, va, allocation, first_page, page_count, driver_protection))
        return map_large(space, table, allocation, first_page, protect, args);
    update = begin_update(space, table, args);
    update->hAllocation = allocation->driver_handle;
    update->AllocationOffsetInBytes = PAGE_BYTES_OF(first_page);
    update->DriverProtection = driver_protection;
    set_entry(&flags, from_backing ? 0 : allocation->place.segment->id, 0);
    set_protection(vidmm, &flags, protect);
    flags.CacheCoherent = from_backing && allocation->is_cached && vidmm->caps.has_cache_coherent;
    if (is_64k)
        fill_64k(update->pPageTableEntries, flags.Flags, allocation, first_page, count);
    else if (from_backing)
        fill_from_backing(vidmm, update->pPageTableEntries, flags.Flags,
                          allocation_backing_pages(allocation) + first_page, count);
    else
        fill_from_placement(update->pPageTableEntries, flags.Flags, allocation, first_page, count);
    set_range(vidmm, update, va, index, is_64k ? count / PAGES_64K : count);
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
    uint64_t i;

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
    for (i = 0; i < count; i++) {
        update->pPageTableEntries[i] = entry;
        entry.PageAddress++;
    }
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
    *out_index = table_index(vidmm, 0, va) + (UINT)((address - *out_address) / entry_bytes);
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
