#include "vidmm/rig/test_rig_gpu.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_views.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/list.h"

static const unsigned index_bits[][RIG_LEVELS] = {
    [RIG_TABLES_PLAIN] = {6, 6, 8}, [RIG_TABLES_SMALL] = {3, 9, 8},
    [RIG_TABLES_GROWING] = {6, 14}, [RIG_TABLES_ONE_LEAF] = {6, 6, 8},
    [RIG_TABLES_DUAL] = {6, 6, 8},
};

unsigned rig_index_bits(const struct rig *rig, unsigned level)
{
    return index_bits[rig->config.tables][level];
}

unsigned rig_level_count(const struct rig *rig)
{
    return rig->config.tables == RIG_TABLES_GROWING ? 2 : RIG_LEVELS;
}

uint64_t rig_reach(const struct rig *rig, unsigned level)
{
    uint64_t bytes = PAGE_BYTES;

    for (unsigned i = 0; i < level; i++)
        bytes <<= rig_index_bits(rig, i);
    return bytes;
}

uint64_t rig_coverage(unsigned level)
{
    uint64_t bytes = PAGE_BYTES;

    for (unsigned i = 0; i < level; i++)
        bytes <<= index_bits[RIG_TABLES_PLAIN][i];
    return bytes;
}

static unsigned rig_index(const struct rig *rig, unsigned level, uint64_t va)
{
    return (unsigned)(va / rig_reach(rig, level) & ((1u << rig_index_bits(rig, level)) - 1));
}

/* Bytes that an entry of a leaf translates, and entries that it has. */
static uint64_t rig_leaf_unit(bool is_64k)
{
    return is_64k ? 64 * KiB : PAGE_BYTES;
}

static unsigned rig_entry_count(const struct rig *rig, unsigned level, bool is_64k)
{
    return (1u << rig_index_bits(rig, level)) / (is_64k ? 16 : 1);
}

struct rig_allocation *rig_allocation_of(struct rig *rig, HANDLE handle)
{
    struct rig_allocation *allocation = handle;

    EXPECT(allocation && allocation->is_live);
    return allocation;
}

static bool rig_is_alive(const struct rig *rig, uint32_t owner)
{
    return owner && owner <= rig->allocation_count && rig->allocations[owner - 1]->is_live;
}

bool rig_is_system(const struct rig *rig, HANDLE process)
{
    return rig->system_context && rig->system_context->process == process;
}

/* ---- Translation ----------------------------------------------------------------------------- */

static struct rig_table *rig_table_at(struct rig *rig, unsigned segment, uint64_t page)
{
    struct rig_page *memory = rig_page(rig, segment, page);

    EXPECT(memory->table);
    return &rig->tables[memory->table - 1];
}

/* The entry of a leaf of 64 KiB pages, as one of the 4 KiB page at the address. */
static DXGK_PTE rig_walk_64k(struct rig *rig, DXGK_PTE pointer, uint64_t va)
{
    struct rig_table *leaf = rig_table_at(rig, pointer.Segment, pointer.PageAddress);
    DXGK_PTE entry;

    EXPECT(leaf->is_initialised && leaf->level == 0 && leaf->is_64k);
    entry = leaf->entries[rig_index(rig, 0, va) / 16];
    if (entry.Valid)
        entry.PageAddress += va / PAGE_BYTES % 16;
    return entry;
}

DXGK_PTE rig_walk(struct rig *rig, D3DGPU_PHYSICAL_ADDRESS root, uint64_t va)
{
    struct rig_table *table = rig_table_at(rig, root.SegmentId, root.SegmentOffset / PAGE_BYTES);
    DXGK_PTE large = {0}, entry = {0};

    for (unsigned level = rig_level_count(rig); level-- > 0;) {
        unsigned index = rig_index(rig, level, va);

        EXPECT(table->is_initialised && table->level == level && !table->is_64k);
        EXPECT(index < table->entry_count || level + 1 == rig_level_count(rig));
        if (index >= table->entry_count)
            return (DXGK_PTE){0}; /* behind the end of a root that grows */
        if (level == 1 && table->entries_64k && table->entries_64k[index].Valid)
            large = rig_walk_64k(rig, table->entries_64k[index], va);
        entry = table->entries[index];
        if (!entry.Valid || level == 0)
            break;
        if (entry.PageTablePageSize == DXGK_PTE_PAGE_TABLE_PAGE_64KB)
            return rig_walk_64k(rig, entry, va);
        table = rig_table_at(rig, entry.Segment, entry.PageAddress);
    }
    EXPECT(!large.Valid || !entry.Valid || table->level == 1);
    return large.Valid ? large : table->level == 0 ? entry : (DXGK_PTE){0};
}

static struct rig_tlb_entry *rig_tlb_slot(struct rig *rig, HANDLE process, uint64_t va)
{
    uint64_t key = va / PAGE_BYTES + (uintptr_t)process * 31;

    return &rig->tlb[(key ^ key >> 20) % RIG_TLB_ENTRIES];
}

/* As the hardware does it: what was cached counts until it is flushed, and must not be stale. */
static DXGK_PTE rig_translate(struct rig *rig, HANDLE process, D3DGPU_PHYSICAL_ADDRESS root,
                              uint64_t va)
{
    struct rig_tlb_entry *slot = rig_tlb_slot(rig, process, va);
    DXGK_PTE entry = rig_walk(rig, root, va);

    if (slot->is_used && slot->process == process && slot->page == va / PAGE_BYTES) {
        EXPECT(slot->entry.Flags == entry.Flags && slot->entry.PageAddress == entry.PageAddress);
        return slot->entry;
    }
    if (entry.Valid || rig->config.caches_invalid)
        *slot = (struct rig_tlb_entry){true, process, va / PAGE_BYTES, entry};
    return entry;
}

struct rig_page *rig_access(struct rig *rig, HANDLE process, D3DGPU_PHYSICAL_ADDRESS root,
                            uint64_t va)
{
    DXGK_PTE entry = rig_translate(rig, process, root, va);

    EXPECT(entry.Valid);
    return rig_page(rig, entry.Segment, entry.PageAddress);
}

static void rig_flush(struct rig *rig, const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *flush)
{
    bool is_all = !flush->StartVirtualAddress && !flush->EndVirtualAddress;

    for (unsigned i = 0; i < RIG_TLB_ENTRIES; i++) {
        struct rig_tlb_entry *slot = &rig->tlb[i];
        uint64_t va = slot->page * PAGE_BYTES;

        if (slot->process == flush->hProcess &&
            (is_all || (va >= flush->StartVirtualAddress && va < flush->EndVirtualAddress)))
            slot->is_used = false;
    }
}

/* ---- Page tables ----------------------------------------------------------------------------- */

static struct rig_page *rig_table_page(struct rig *rig,
                                       const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const DXGK_PAGETABLEUPDATEADDRESS *address = &update->PageTableAddress;

    switch (update->UpdateMode) {
    case DXGK_PAGETABLEUPDATE_CPU_VIRTUAL:
        return rig_cpu_table_page(rig, address->CpuVirtual);
    case DXGK_PAGETABLEUPDATE_GPU_VIRTUAL:
        return rig_access(rig, rig->system_context->process, rig->system_context->root,
                          address->GpuVirtual);
    case DXGK_PAGETABLEUPDATE_GPU_PHYSICAL:
        break;
    }
    return rig_page(rig, address->GpuPhysical.SegmentId,
                    address->GpuPhysical.SegmentOffset / PAGE_BYTES);
}

void rig_free_entries(struct rig_table *table)
{
    free(table->entries);
    free(table->entries_64k);
    free(table->protections);
    free(table->mapped);
}

static struct rig_table *rig_fresh_table(struct rig *rig, struct rig_page *page,
                                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    unsigned level = update->PageTableLevel;
    struct rig_table *table;
    size_t count;

    EXPECT(!rig_is_alive(rig, page->owner));
    page->owner = 0;
    if (!page->table) {
        if (rig->table_count == rig->table_capacity) {
            rig->table_capacity = rig->table_capacity * 2 + 64;
            rig->tables = realloc(rig->tables, rig->table_capacity * sizeof *rig->tables);
            EXPECT(rig->tables);
        }
        rig->tables[rig->table_count] = (struct rig_table){0};
        page->table = (uint32_t)++rig->table_count;
    }
    table = &rig->tables[page->table - 1];
    rig_free_entries(table);
    *table =
        (struct rig_table){.level = level,
                           .process = update->hProcess,
                           .first_va = update->FirstPteVirtualAddress,
                           .is_64k = update->Flags.Use64KBPages,
                           .entry_count = rig_entry_count(rig, level, update->Flags.Use64KBPages)};
    if (level && level + 1 == rig_level_count(rig) && rig->config.tables == RIG_TABLES_GROWING)
        table->entry_count = update->NumPageTableEntries;
    count = table->entry_count;
    table->entries = malloc(count * sizeof *table->entries);
    table->protections = calloc(count, sizeof *table->protections);
    table->mapped = calloc(count, sizeof *table->mapped);
    EXPECT(table->entries && table->protections && table->mapped);
    memset(table->entries, 0xff, count * sizeof *table->entries); /* garbage: valid, and nowhere */
    if (level == 1 && rig->config.tables == RIG_TABLES_DUAL) {
        table->entries_64k = malloc(count * sizeof *table->entries_64k);
        EXPECT(table->entries_64k);
        memset(table->entries_64k, 0xff, count * sizeof *table->entries_64k);
    }
    return table;
}

/* No packet that has been submitted and is not done reaches va through the old entry. */
static void rig_check_unused(struct rig *rig, HANDLE process, uint64_t va)
{
    for (unsigned node = 0; node < 2; node++) {
        const struct rig_packet *packet;

        list_for_each (packet, &rig->queued[node], struct rig_packet, link) {
            if (!packet->program || packet->program->process != process)
                continue;
            for (unsigned i = 0; i < packet->program->count; i++)
                EXPECT(packet->program->steps[i].va / PAGE_BYTES != va / PAGE_BYTES);
        }
    }
}

/* The pages of the entry are those of the allocation that it is said to map. */
static void rig_check_leaf(struct rig *rig, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                           const DXGK_PTE *entry, uint64_t unit)
{
    const struct rig_allocation *allocation = update->hAllocation;
    uint64_t pages = rig_leaf_unit(update->Flags.Use64KBPages) / PAGE_BYTES;
    uint64_t wanted = update->AllocationOffsetInBytes / PAGE_BYTES + unit * pages;

    if (!entry->Valid || !allocation || rig_is_system(rig, update->hProcess))
        return;
    EXPECT(entry->PageAddress % pages == 0);
    for (uint64_t i = 0; i < pages && wanted + i < allocation->page_count; i++) {
        struct rig_page *page = rig_page(rig, entry->Segment, entry->PageAddress + i);

        if (!entry->Segment && !page->owner) {
            page->owner = allocation->number;
            page->owner_page = (uint32_t)(wanted + i);
        }
        if (entry->Segment && !page->owner && page->pin_owner == allocation->number)
            continue; /* it was offered, and dropped while this entry was on its way */
        EXPECT(page->owner == allocation->number);
        EXPECT(page->owner_page == wanted + i);
    }
}

/* What is unmapped by name was mapped by it. */
static void rig_note_mapped(struct rig *rig, const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update,
                            struct rig_table *table, uint64_t unit, bool is_valid)
{
    uint64_t pages = rig_leaf_unit(update->Flags.Use64KBPages) / PAGE_BYTES;
    uint64_t *mapped = &table->mapped[update->StartIndex + unit];
    uint64_t wanted = update->AllocationOffsetInBytes / PAGE_BYTES + unit * pages + 1;

    if (!update->hAllocation || rig_is_system(rig, update->hProcess))
        wanted = 0;
    if (!is_valid && wanted && *mapped)
        EXPECT(*mapped == wanted);
    *mapped = is_valid ? wanted : 0;
}

bool rig_is_farewell(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    return update->Flags.NotifyEviction && !update->NumPageTableEntries;
}

/* A pointer to a table of the level below, of the kind and at the address that the entry says. */
static void rig_check_pointer(struct rig *rig, const struct rig_table *table, const DXGK_PTE *entry,
                              bool is_64k, uint64_t va)
{
    const struct rig_table *below;

    if (!entry->Valid)
        return;
    below = rig_table_at(rig, entry->Segment, entry->PageAddress);
    EXPECT(below->is_initialised);
    EXPECT(below->level == table->level - 1 && below->process == table->process);
    EXPECT(below->first_va == va && below->is_64k == is_64k);
}

static void rig_write_entry(struct rig *rig, struct rig_operation *operation,
                            struct rig_table *table, uint64_t unit)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &operation->args.UpdatePageTable;
    const DXGK_PTE *entry = &operation->entries[update->Flags.Repeat ? 0 : unit];
    DXGK_PTE *place = &table->entries[update->StartIndex + unit];
    uint64_t bytes = table->level ? rig_reach(rig, table->level) : rig_leaf_unit(table->is_64k);
    uint64_t va = update->FirstPteVirtualAddress + unit * bytes;

    EXPECT(update->StartIndex + unit < table->entry_count);
    if (table->level) {
        rig_check_pointer(rig, table, entry, entry->PageTablePageSize, va);
        EXPECT(!entry->PageTablePageSize ||
               (table->level == 1 && rig->config.tables == RIG_TABLES_ONE_LEAF));
    } else {
        rig_check_leaf(rig, update, entry, unit);
        if (table->is_initialised && place->Valid &&
            (!entry->Valid || entry->Segment != place->Segment ||
             entry->PageAddress != place->PageAddress)) {
            for (uint64_t at = va; at < va + bytes; at += PAGE_BYTES)
                rig_check_unused(rig, update->hProcess, at);
        }
        rig_note_mapped(rig, update, table, unit, entry->Valid);
        rig->large_entries += table->is_64k && entry->Valid;
    }
    *place = *entry;
    table->protections[update->StartIndex + unit] = update->DriverProtection;
    if (table->entries_64k) {
        rig_check_pointer(rig, table, &operation->entry_64k, true, va);
        table->entries_64k[update->StartIndex + unit] = operation->entry_64k;
    }
}

static void rig_run_update(struct rig *rig, struct rig_operation *operation, uint64_t first,
                           uint64_t count)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &operation->args.UpdatePageTable;
    struct rig_page *page = rig_table_page(rig, update);
    unsigned level = update->PageTableLevel;
    struct rig_table *table;

    if (update->Flags.InitialUpdate && !update->StartIndex && first == 0)
        rig_fresh_table(rig, page, update);
    EXPECT(page->table);
    table = &rig->tables[page->table - 1];
    if (rig_is_farewell(update)) {
        table->is_initialised = false; /* nobody walks it from here on */
        return;
    }
    EXPECT(table->is_initialised != update->Flags.InitialUpdate);
    EXPECT(table->level == level && table->process == update->hProcess);
    EXPECT(table->is_64k == update->Flags.Use64KBPages);
    EXPECT(update->FirstPteVirtualAddress ==
           table->first_va +
               update->StartIndex * (level ? rig_reach(rig, level) : rig_leaf_unit(table->is_64k)));
    for (uint64_t unit = first; unit < first + count; unit++)
        rig_write_entry(rig, operation, table, unit);
    if (update->Flags.InitialUpdate && first + count == operation->units) {
        table->initial_entries += update->NumPageTableEntries;
        table->is_initialised = table->initial_entries == table->entry_count;
    }
}

/* Valid and invalid entries stand in one array. */
static bool is_mixed(const struct rig_operation *operation)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &operation->args.UpdatePageTable;

    for (UINT i = 1; !update->Flags.Repeat && i < update->NumPageTableEntries; i++) {
        if (operation->entries[i].Valid != operation->entries[0].Valid)
            return true;
    }
    return false;
}

void rig_accept_update(struct rig *rig, struct rig_operation *operation)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &operation->args.UpdatePageTable;
    unsigned level = update->PageTableLevel;
    bool is_64k = update->Flags.Use64KBPages;
    unsigned entries = rig_entry_count(rig, level, is_64k);
    uint64_t pages = rig_leaf_unit(is_64k) / PAGE_BYTES;
    const struct rig_allocation *allocation = update->hAllocation;

    EXPECT(level < rig_level_count(rig));
    EXPECT(!rig_is_farewell(update) || !update->pPageTableEntries);
    EXPECT(update->NumPageTableEntries > 0 || rig_is_farewell(update));
    EXPECT(update->StartIndex + update->NumPageTableEntries <= entries);
    EXPECT(!is_64k || (!level && rig->config.tables >= RIG_TABLES_ONE_LEAF));
    EXPECT((update->pPageTableEntries64KB != NULL) ==
           (level == 1 && rig->config.tables == RIG_TABLES_DUAL));
    EXPECT(rig_index(rig, level, update->FirstPteVirtualAddress) / (level ? 1 : pages) ==
           update->StartIndex);
    EXPECT(update->FirstPteVirtualAddress %
               (level ? rig_reach(rig, level) : rig_leaf_unit(is_64k)) ==
           0);
    EXPECT(!level || (!allocation && !update->DriverProtection));
    if (update->pPageTableEntries64KB)
        operation->entry_64k = *update->pPageTableEntries64KB;
    if (update->Flags.InitialUpdate) {
        bool grows =
            level && level + 1 == rig_level_count(rig) && rig->config.tables == RIG_TABLES_GROWING;

        EXPECT(!operation->entries[0].Valid);
        EXPECT(rig->config.initialises_in_pieces ||
               (update->Flags.Repeat && update->StartIndex == 0 &&
                (grows || update->NumPageTableEntries == entries)));
        rig->initial_updates++;
    }
    rig->mixed_updates += is_mixed(operation);
    for (uint64_t i = 0; i < update->NumPageTableEntries; i++) {
        const DXGK_PTE *entry = &operation->entries[update->Flags.Repeat ? 0 : i];
        uint64_t wanted = update->AllocationOffsetInBytes / PAGE_BYTES + i * pages;

        EXPECT(rig->config.has_protections ||
               (!entry->ReadOnly && !entry->NoExecute && !entry->CacheCoherent));
        EXPECT(!entry->Zero && !entry->LargePage);
        if (!entry->Valid || !allocation)
            continue;
        rig_allocation_of(rig, update->hAllocation);
        EXPECT(wanted < allocation->page_count);
        for (uint64_t j = 0; j < pages && wanted + j < allocation->page_count; j++) {
            struct rig_page *page = rig_page(rig, entry->Segment, entry->PageAddress + j);

            rig_pin(operation, page, allocation->number);
            if (entry->Segment)
                EXPECT(page->owner == allocation->number || !rig_is_alive(rig, page->owner));
            if (rig_is_system(rig, update->hProcess))
                EXPECT(!page->packet_pins); /* it is about to move */
        }
    }
}

/* The leaf entry at an address that COPY_PAGE_TABLE_ENTRIES names. */
static DXGK_PTE *rig_copied_entry(struct rig *rig, uint64_t address, uint64_t index,
                                  HANDLE *out_process, uint64_t *out_va)
{
    const uint64_t entry_bytes = PAGE_BYTES >> rig_index_bits(rig, 0);
    uint64_t va = address + index * entry_bytes;
    const struct rig_page *page =
        rig_access(rig, rig->system_context->process, rig->system_context->root, va);
    struct rig_table *table;

    EXPECT(page->table && is_aligned(address, 64 * KiB));
    table = &rig->tables[page->table - 1];
    index = va % PAGE_BYTES / entry_bytes;
    EXPECT(table->is_initialised && table->level == 0 && !table->is_64k);
    *out_process = table->process;
    *out_va = table->first_va + index * PAGE_BYTES;
    return &table->entries[index];
}

static void rig_run_copy(struct rig *rig, const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range)
{
    for (UINT i = 0; i < range->NumPageTableEntries; i++) {
        HANDLE source_process, process;
        uint64_t source_va, va;
        const DXGK_PTE *source =
            rig_copied_entry(rig, range->SrcPageTableAddress, range->SrcStartPteIndex + i,
                             &source_process, &source_va);
        DXGK_PTE *place = rig_copied_entry(rig, range->DstPageTableAddress,
                                           range->DstStartPteIndex + i, &process, &va);

        EXPECT(source_process == process && source_va != va);
        if (place->Valid)
            rig_check_unused(rig, process, va);
        *place = *source;
    }
}

/* ---- Moves, GpuMmu --------------------------------------------------------------------------- */

static struct rig_page *rig_scratch(struct rig *rig, uint64_t va)
{
    uint64_t size = UINT64_C(1) << RIG_VA_BITS;

    EXPECT(va >= size / 4 && va < size / 2);
    return rig_access(rig, rig->system_context->process, rig->system_context->root, va);
}

/* Both sides of unit pages of VIRTUAL_TRANSFER or VIRTUAL_FILL; source is NULL for a fill. */
static void rig_virtual_sides(struct rig *rig, const struct rig_operation *operation, uint64_t unit,
                              struct rig_page **source, struct rig_page **destination,
                              uint32_t *allocation_page)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;

    *source = NULL;
    if (args->Operation == DXGK_OPERATION_VIRTUAL_FILL) {
        *destination =
            rig_scratch(rig, args->FillVirtual.DestinationVirtualAddress + unit * PAGE_BYTES);
        *allocation_page =
            (uint32_t)(args->FillVirtual.AllocationOffsetInBytes / PAGE_BYTES + unit);
        return;
    }
    *source = rig_scratch(rig, args->TransferVirtual.SourceVirtualAddress + unit * PAGE_BYTES);
    *destination =
        rig_scratch(rig, args->TransferVirtual.DestinationVirtualAddress + unit * PAGE_BYTES);
    *allocation_page =
        (uint32_t)(args->TransferVirtual.AllocationOffsetInBytes / PAGE_BYTES + unit);
}

static bool rig_is_segment_page(const struct rig *rig, const struct rig_page *page)
{
    return page < rig->system || page >= rig->system + rig->config.system_pages;
}

static void rig_own(struct rig_page *page, uint32_t owner, uint32_t owner_page)
{
    page->owner = owner;
    page->owner_page = owner_page;
    page->table = 0;
}

static void rig_run_virtual_move(struct rig *rig, struct rig_operation *operation, uint64_t unit)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    const struct rig_allocation *allocation = args->TransferVirtual.hAllocation;
    struct rig_page *source, *destination;
    uint32_t page;

    rig_virtual_sides(rig, operation, unit, &source, &destination, &page);
    EXPECT(!rig_is_alive(rig, destination->owner) || destination->owner == allocation->number);
    rig_own(destination, allocation->number, page);
    destination->content = source ? source->content : 0;
    if (!source) {
        EXPECT(rig_is_segment_page(rig, destination));
        return;
    }
    EXPECT(args->TransferVirtual.TransferDirection ==
           (!rig_is_segment_page(rig, source)       ? DXGK_MEMORY_TRANSFER_SYSTEM_TO_LOCAL
            : rig_is_segment_page(rig, destination) ? DXGK_MEMORY_TRANSFER_LOCAL_TO_LOCAL
                                                    : DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM));
    EXPECT(rig_is_segment_page(rig, source) || rig_is_segment_page(rig, destination));
    EXPECT(source != destination);
    if (rig_is_segment_page(rig, source)) {
        EXPECT(source->owner == allocation->number && source->owner_page == page);
        source->owner = 0;
        source->content = RIG_POISON;
    }
}

void rig_accept_virtual_move(struct rig *rig, struct rig_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    bool is_fill = args->Operation == DXGK_OPERATION_VIRTUAL_FILL;
    struct rig_allocation *allocation = rig_allocation_of(
        rig, is_fill ? args->FillVirtual.hAllocation : args->TransferVirtual.hAllocation);
    uint64_t offset = is_fill ? args->FillVirtual.AllocationOffsetInBytes
                              : args->TransferVirtual.AllocationOffsetInBytes;

    EXPECT(offset / PAGE_BYTES == allocation->next_transfer);
    allocation->next_transfer += operation->units;
    EXPECT(allocation->next_transfer <= allocation->page_count);
    if (allocation->next_transfer == allocation->page_count)
        allocation->next_transfer = 0;
    if (rig->config.mode != DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
        return;
    /* Tables are written already, and nothing else will pin what they show. */
    for (uint64_t unit = 0; unit < operation->units; unit++) {
        D3DGPU_PHYSICAL_ADDRESS root = rig->system_context->root;
        uint64_t va[2] = {(is_fill ? args->FillVirtual.DestinationVirtualAddress
                                   : args->TransferVirtual.DestinationVirtualAddress) +
                              unit * PAGE_BYTES,
                          args->TransferVirtual.SourceVirtualAddress + unit * PAGE_BYTES};

        for (unsigned side = 0; side < (is_fill ? 1 : 2); side++) {
            DXGK_PTE entry = rig_walk(rig, root, va[side]);
            struct rig_page *page;

            EXPECT(entry.Valid);
            page = rig_page(rig, entry.Segment, entry.PageAddress);
            rig_pin(operation, page, allocation->number);
            EXPECT(!page->packet_pins);
            if (side == 0)
                rig_own(page, allocation->number, (uint32_t)(offset / PAGE_BYTES + unit));
        }
    }
}

/* ---- Moves, physical model ------------------------------------------------------------------- */

/* What TRANSFER and SPECIAL_LOCK_TRANSFER have in common. Segment 0 is the MDL. */
struct rig_transfer {
    HANDLE allocation;
    unsigned source, destination; /* segments */
    uint64_t source_address, destination_address;
    uint64_t offset;
    DXGK_TRANSFERFLAGS flags;
};

static struct rig_transfer rig_transfer_of(const DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        return (struct rig_transfer){
            args->SpecialLockTransfer.hAllocation,
            args->SpecialLockTransfer.Source.SegmentId,
            args->SpecialLockTransfer.Destination.SegmentId,
            (uint64_t)args->SpecialLockTransfer.Source.SegmentAddress.QuadPart,
            (uint64_t)args->SpecialLockTransfer.Destination.SegmentAddress.QuadPart,
            args->SpecialLockTransfer.TransferOffset,
            args->SpecialLockTransfer.Flags};
    return (struct rig_transfer){args->Transfer.hAllocation,
                                 args->Transfer.Source.SegmentId,
                                 args->Transfer.Destination.SegmentId,
                                 (uint64_t)args->Transfer.Source.SegmentAddress.QuadPart,
                                 (uint64_t)args->Transfer.Destination.SegmentAddress.QuadPart,
                                 args->Transfer.TransferOffset,
                                 args->Transfer.Flags};
}

/* The page of one side of a transfer. */
static struct rig_page *rig_side(struct rig *rig, const struct rig_operation *operation,
                                 unsigned segment, uint64_t address, uint64_t unit)
{
    uint64_t page;

    if (!segment)
        return rig_page(rig, 0, operation->pfns[unit]);
    EXPECT(segment <= rig->segment_count && address >> 40 == segment);
    page = (address - rig_segment_base(segment) + rig_transfer_of(&operation->args).offset) /
               PAGE_BYTES +
           unit;
    if (!rig_is_aperture(rig, segment))
        return rig_page(rig, segment, page);
    EXPECT(page < rig->config.aperture_pages);
    page = rig_slot(rig, segment, page);
    EXPECT(rig->slots[page]);
    return rig_page(rig, 0, rig->slots[page] - 1);
}

static void rig_run_transfer(struct rig *rig, struct rig_operation *operation, uint64_t unit)
{
    const struct rig_transfer transfer = rig_transfer_of(&operation->args);
    const struct rig_allocation *allocation = transfer.allocation;
    struct rig_page *source =
        rig_side(rig, operation, transfer.source, transfer.source_address, unit);
    struct rig_page *destination =
        rig_side(rig, operation, transfer.destination, transfer.destination_address, unit);
    uint32_t page = (uint32_t)(transfer.offset / PAGE_BYTES + unit);

    EXPECT(rig_is_segment_page(rig, source) || rig_is_segment_page(rig, destination));
    EXPECT(source != destination);
    EXPECT(!rig_is_alive(rig, destination->owner) || destination->owner == allocation->number);
    destination->content = transfer.flags.Swizzle     ? rig_swizzle(source->content)
                           : transfer.flags.Unswizzle ? rig_unswizzle(source->content)
                                                      : source->content;
    rig_own(destination, allocation->number, page);
    if (rig_is_segment_page(rig, source)) {
        EXPECT(source->owner == allocation->number && source->owner_page == page);
        source->owner = 0;
        source->content = RIG_POISON;
    }
}

/* SLT-001, SLT-004: the range of the allocation, which shows it only while it is in memory. */
static void rig_check_range(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const struct rig_range *range = &rig->ranges[args->SpecialLockTransfer.SwizzlingRangeId];

    EXPECT(args->SpecialLockTransfer.SwizzlingRangeId < rig->config.swizzling_ranges);
    if (args->SpecialLockTransfer.Source.SegmentId)
        EXPECT(range->owner == args->SpecialLockTransfer.hAllocation &&
               range->data == args->SpecialLockTransfer.SwizzlingRangeData);
    else
        EXPECT(!range->owner);
}

void rig_accept_transfer(struct rig *rig, struct rig_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    const struct rig_transfer transfer = rig_transfer_of(args);
    struct rig_allocation *allocation = rig_allocation_of(rig, transfer.allocation);
    bool is_in = !transfer.source;
    unsigned local = is_in ? transfer.destination : transfer.source;
    uint64_t offset = transfer.offset / PAGE_BYTES;

    EXPECT(local && !rig_is_aperture(rig, local));
    EXPECT(transfer.offset % PAGE_BYTES == 0);
    EXPECT(offset == allocation->next_transfer);
    EXPECT(transfer.flags.TransferStart == (offset == 0));
    EXPECT(transfer.flags.TransferEnd == (offset + operation->units == allocation->page_count));
    EXPECT(!transfer.flags.Swizzle || (is_in && allocation->is_swizzled));
    EXPECT(!transfer.flags.Unswizzle || (!is_in && allocation->is_swizzled));
    if (args->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        rig_check_range(rig, args);
    else if (operation->pfns)
        EXPECT(args->Transfer.MdlOffset == offset);
    allocation->next_transfer = transfer.flags.TransferEnd ? 0 : offset + operation->units;
    for (uint64_t unit = 0; unit < operation->units; unit++) {
        struct rig_page *page =
            rig_side(rig, operation, local,
                     is_in ? transfer.destination_address : transfer.source_address, unit);

        EXPECT(!page->packet_pins);
        EXPECT(page->owner == allocation->number || (is_in && !rig_is_alive(rig, page->owner)));
        rig_pin(operation, page, allocation->number);
        if (!operation->pfns)
            continue;
        page = rig_page(rig, 0, operation->pfns[unit]);
        EXPECT(!page->packet_pins);
        rig_pin(operation, page, allocation->number);
    }
}

static struct rig_page *rig_fill_page(struct rig *rig, unsigned segment, uint64_t address,
                                      uint64_t unit)
{
    EXPECT(segment && !rig_is_aperture(rig, segment) && address >> 40 == segment);
    return rig_page(rig, segment, (address - rig_segment_base(segment)) / PAGE_BYTES + unit);
}

void rig_accept_fill(struct rig *rig, struct rig_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    const struct rig_allocation *allocation = rig_allocation_of(rig, args->Fill.hAllocation);

    EXPECT(operation->units == allocation->page_count);
    for (uint64_t unit = 0; unit < operation->units; unit++) {
        struct rig_page *page =
            rig_fill_page(rig, args->Fill.Destination.SegmentId,
                          (uint64_t)args->Fill.Destination.SegmentAddress.QuadPart, unit);

        EXPECT(!page->packet_pins && !rig_is_alive(rig, page->owner));
        rig_pin(operation, page, allocation->number);
    }
}

void rig_accept_discard(struct rig *rig, struct rig_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    const struct rig_allocation *allocation =
        rig_allocation_of(rig, args->DiscardContent.hAllocation);

    for (uint64_t unit = 0; unit < allocation->page_count; unit++) {
        struct rig_page *page =
            rig_fill_page(rig, args->DiscardContent.SegmentId,
                          (uint64_t)args->DiscardContent.SegmentAddress.QuadPart, unit);

        EXPECT(!page->packet_pins);
        EXPECT(page->owner == allocation->number && page->owner_page == unit);
        page->owner = 0;
        rig_pin(operation, page, allocation->number);
    }
}

/* ---- The aperture ---------------------------------------------------------------------------- */

/* How many of these pages one operation maps. */
static uint64_t rig_piece(const struct rig *rig, uint64_t pages)
{
    const uint64_t most = rig->manager.aperture_piece_pages;

    return most ? min_u64(most, pages) : pages;
}

void rig_accept_map(struct rig *rig, struct rig_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    const struct rig_allocation *allocation =
        rig_allocation_of(rig, args->MapApertureSegment.hAllocation);
    uint64_t first = args->MapApertureSegment.OffsetInPages;
    const uint64_t page_index = args->MapApertureSegment.MdlOffset;

    EXPECT(rig_is_aperture(rig, args->MapApertureSegment.SegmentId));
    EXPECT(page_index < allocation->page_count);
    EXPECT(operation->units == rig_piece(rig, allocation->page_count - page_index));
    EXPECT(first + operation->units <= rig->config.aperture_pages);
    first = rig_slot(rig, args->MapApertureSegment.SegmentId, first);
    EXPECT((args->MapApertureSegment.hDevice != NULL) == !allocation->is_primary);
    EXPECT(args->MapApertureSegment.Flags.CacheCoherent ==
           (allocation->is_cached && rig->config.is_coherent));
    for (uint64_t unit = 0; unit < operation->units; unit++) {
        struct rig_page *page = rig_page(rig, 0, operation->pfns[unit]);

        /* Its own slots may be mapped again right behind their unmapping: after a reset they are.
         */
        EXPECT(rig->slot_is_busy[first + unit] ? rig->slot_owner[first + unit] == allocation->number
                                               : !rig->slot_owner[first + unit]);
        rig->slot_is_busy[first + unit] = false;
        rig->slot_owner[first + unit] = allocation->number;
        EXPECT(!page->owner || page->owner == allocation->number);
        rig_own(page, allocation->number, (uint32_t)(page_index + unit));
        rig_pin(operation, page, allocation->number);
    }
}

void rig_accept_unmap(struct rig *rig, struct rig_operation *operation)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    const struct rig_allocation *allocation =
        rig_allocation_of(rig, args->UnmapApertureSegment.hAllocation);
    uint64_t first = args->UnmapApertureSegment.OffsetInPages;

    EXPECT(rig_is_aperture(rig, args->UnmapApertureSegment.SegmentId));
    EXPECT(operation->units <= rig_piece(rig, allocation->page_count));
    EXPECT(rig->manager.aperture_piece_pages || operation->units == allocation->page_count);
    EXPECT((uint64_t)args->UnmapApertureSegment.DummyPage.QuadPart ==
           PAGE_BYTES_OF(rig->vidmm->dummy_page));
    rig_page(rig, 0, rig->vidmm->dummy_page); /* the platform's, still */
    EXPECT(first + operation->units <= rig->config.aperture_pages);
    first = rig_slot(rig, args->UnmapApertureSegment.SegmentId, first);
    for (uint64_t unit = 0; unit < operation->units; unit++) {
        EXPECT(rig->slot_owner[first + unit] == allocation->number);
        if (rig->slots[first + unit])
            EXPECT(!rig_page(rig, 0, rig->slots[first + unit] - 1)->packet_pins);
        rig->slot_is_busy[first + unit] = true;
    }
}

/* ---- Monitored fences ------------------------------------------------------------------------ */

/* Fences lie in memory that no allocation owns; the interrupt comes with the write. */
static void rig_write_fence(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE *signal = &args->SignalMonitoredFence;
    uint64_t va = signal->MonitoredFenceGpuVa;
    DXGK_PTE entry =
        rig_translate(rig, rig->system_context->process, rig->system_context->root, va);
    uint64_t address = entry.PageAddress * PAGE_BYTES + va % PAGE_BYTES;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};
    const struct rig_block *block = rig_block_at(rig, address);
    uint64_t *value = (uint64_t *)(block->memory + (address - PAGE_BYTES * block->first_page));

    EXPECT(entry.Valid && entry.Segment == 0);
    EXPECT(*value < signal->MonitoredFenceValue);
    *value = signal->MonitoredFenceValue;
    vidmm_notify_interrupt(rig->vidmm, &data);
}

/* ---- Running a record ------------------------------------------------------------------------ */

void rig_run_operation(struct rig *rig, struct rig_operation *operation, uint64_t first,
                       uint64_t count)
{
    const DXGKARG_BUILDPAGINGBUFFER *args = &operation->args;
    const struct rig_allocation *allocation;
    uint64_t unit;

    switch ((int)args->Operation) {
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        rig_run_update(rig, operation, first, count);
        break;
    case DXGK_OPERATION_COPY_PAGE_TABLE_ENTRIES:
        for (unit = first; unit < first + count; unit++)
            rig_run_copy(rig, &operation->ranges[unit]);
        break;
    case DXGK_OPERATION_FLUSH_TLB:
        rig_flush(rig, &args->FlushTlb);
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        for (unit = first; unit < first + count; unit++)
            rig_run_virtual_move(rig, operation, unit);
        break;
    case DXGK_OPERATION_TRANSFER:
    case DXGK_OPERATION_SPECIAL_LOCK_TRANSFER:
        for (unit = first; unit < first + count; unit++)
            rig_run_transfer(rig, operation, unit);
        break;
    case DXGK_OPERATION_FILL:
        allocation = args->Fill.hAllocation;
        for (unit = first; unit < first + count; unit++) {
            struct rig_page *page =
                rig_fill_page(rig, args->Fill.Destination.SegmentId,
                              (uint64_t)args->Fill.Destination.SegmentAddress.QuadPart, unit);

            page->content = 0;
            rig_own(page, allocation->number, (uint32_t)unit);
        }
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
        for (unit = first; unit < first + count; unit++) {
            EXPECT(!rig->slots[rig_slot(rig, args->MapApertureSegment.SegmentId,
                                        args->MapApertureSegment.OffsetInPages + unit)]);
            rig->slots[rig_slot(rig, args->MapApertureSegment.SegmentId,
                                args->MapApertureSegment.OffsetInPages + unit)] =
                operation->pfns[unit] + 1;
        }
        break;
    case DXGK_OPERATION_UNMAP_APERTURE_SEGMENT:
        for (unit = 0; unit < operation->units; unit++)
            rig->slots[rig_slot(rig, args->UnmapApertureSegment.SegmentId,
                                args->UnmapApertureSegment.OffsetInPages + unit)] = 0;
        break;
    case DXGK_OPERATION_SIGNAL_MONITORED_FENCE:
        rig_write_fence(rig, args);
        break;
    default:
        break;
    }
}
