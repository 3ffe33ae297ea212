/*
 * Oracle: what a call of BuildPagingBuffer says.
 *
 * It is resolved to locations when it is made: MDLs, page lists and entries are the caller's,
 * aperture slots and the paging process's addresses change with later calls. It takes effect
 * later (oracle_paging.c).
 */
#include "check/oracle/oracle_private.h"

#include "miniport/operation.h"

#include <string.h>

static size_t operation_bytes(uint64_t location_count)
{
    return sizeof(struct paging_operation) + (size_t)location_count * sizeof(uint64_t);
}

void free_operation(struct oracle *oracle, struct paging_operation *operation)
{
    operation->allocation->operation_count--;
    allocation_put(oracle, operation->allocation);
    base_free(oracle->services, operation, operation_bytes(operation->location_count));
}

/*
 * An operation on [first_page, + page_count) of the allocation with that handle, its locations
 * still to be set, all of them. NULL when the workload does not know the allocation, or without
 * memory. Pages behind the workload's last (what a driver rounds up) are left out.
 */
static struct paging_operation *open_operation(struct oracle *oracle,
                                               const DXGKARG_BUILDPAGINGBUFFER *arg, HANDLE handle,
                                               enum operation_effect effect, uint64_t first_page,
                                               uint64_t page_count, bool is_linear)
{
    struct oracle_allocation *allocation =
        id_map_find(&oracle->by_handle, (uint64_t)(uintptr_t)handle);
    struct paging_operation *operation;
    uint64_t location_count;

    if (!allocation) {
        oracle->counters.operations_foreign++;
        return NULL;
    }
    if (first_page >= allocation->page_count)
        return NULL;
    page_count = min_u64(page_count, allocation->page_count - first_page);
    location_count = is_linear ? 1 : page_count;
    operation =
        oracle->services->allocate(oracle->services->context, operation_bytes(location_count));
    if (!operation || !ensure_locations(oracle, allocation)) {
        base_free(oracle->services, operation, operation_bytes(location_count));
        lose_operation(oracle);
        return NULL;
    }
    list_init(&operation->link);
    operation->allocation = allocation;
    operation->effect = effect;
    operation->operation = arg->Operation;
    operation->event = oracle_event(oracle);
    operation->arg = *arg;
    operation->has_list = operation->list_is_scattered = operation->is_repeated = false;
    operation->list_page = 0;
    operation->first_page = first_page;
    operation->page_count = page_count;
    operation->is_linear = is_linear;
    operation->location_count = location_count;
    allocation->operation_count++;
    allocation_get(allocation);
    return operation;
}

/* The same, with locations that are unknown. */
static struct paging_operation *new_operation(struct oracle *oracle,
                                              const DXGKARG_BUILDPAGINGBUFFER *arg, HANDLE handle,
                                              enum operation_effect effect, uint64_t first_page,
                                              uint64_t page_count, bool is_linear)
{
    struct paging_operation *operation =
        open_operation(oracle, arg, handle, effect, first_page, page_count, is_linear);

    if (operation)
        memset(operation->locations, 0, operation->location_count * sizeof(uint64_t));
    return operation;
}

/* Pages in an MDL. */
static uint64_t mdl_page_count(const MDL *mdl)
{
    return bytes_to_pages((uint64_t)mdl->ByteOffset + mdl->ByteCount);
}

/*
 * Where page i of the operation stands, counted from where its first page would stand if all were
 * linear: in front of that (and then as large as a negative number is) when the operation starts
 * amid a tile.
 */
static uint64_t page_in_order(const struct paging_operation *operation, uint64_t i,
                              bool is_reordered)
{
    if (!is_reordered || !operation->allocation->layout)
        return i;
    return operation->allocation->layout(operation->first_page + i) - operation->first_page;
}

static void set_from_mdl(struct oracle *oracle, struct paging_operation *operation, const MDL *mdl,
                         uint64_t first, bool is_reordered)
{
    uint64_t mdl_pages = mdl ? mdl_page_count(mdl) : 0;
    const PFN_NUMBER *pfns = mdl ? MmGetMdlPfnArray(mdl) : NULL;

    if (!is_reordered || !operation->allocation->layout) {
        uint64_t ram_pages = oracle->config.ram ? page_store_page_count(oracle->config.ram) : 0;
        uint64_t count = first < mdl_pages ? min_u64(operation->page_count, mdl_pages - first) : 0;

        for (uint64_t i = 0; i < count; i++) {
            PFN_NUMBER page = pfns[first + i];

            operation->locations[i] = page < ram_pages ? LOCATION_SYSTEM | page : LOCATION_UNKNOWN;
        }
        return;
    }
    for (uint64_t i = 0; i < operation->page_count; i++) {
        uint64_t page = first + page_in_order(operation, i, is_reordered);

        if (page < mdl_pages)
            operation->locations[i] = location_in(oracle, oracle->config.ram, pfns[page]);
    }
}

/*
 * The range of a segment that starts at a GPU address, where SegmentAddress includes the
 * segment's base.
 */
static void set_from_segment(struct oracle *oracle, struct paging_operation *operation, unsigned id,
                             uint64_t gpu_address, bool is_reordered)
{
    const struct oracle_segment *segment = find_segment(oracle, id);
    struct page_store *store;
    uint64_t address;

    if (!segment || gpu_address < segment->base)
        return;
    if (!operation->is_linear) {
        for (uint64_t i = 0; i < operation->page_count; i++) {
            uint64_t page = page_in_order(operation, i, is_reordered);

            operation->locations[i] =
                segment_location(oracle, id, gpu_address - segment->base + page * PAGE_BYTES);
        }
        return;
    }
    if (!oracle_segment_address(oracle, segment, gpu_address - segment->base,
                                operation->page_count * PAGE_BYTES, &store, &address) ||
        !location_in(oracle, store, address / PAGE_BYTES + operation->page_count - 1))
        return;
    operation->locations[0] = location_in(oracle, store, address / PAGE_BYTES);
}

/* Its place can be told by one location: a range of a memory segment, with its pages in order. */
static bool is_one_range(const struct oracle *oracle, HANDLE handle, unsigned segment_id)
{
    const struct oracle_allocation *allocation =
        id_map_find(&oracle->by_handle, (uint64_t)(uintptr_t)handle);

    return is_memory_segment(oracle, segment_id) && !(allocation && allocation->layout);
}

/* What a driver that takes the list for one run, or starts elsewhere in it, would use. */
static void note_list(struct paging_operation *operation, const DXGKARG_BUILDPAGINGBUFFER *arg,
                      uint64_t first)
{
    const MDL *mdl = !arg->Transfer.Destination.SegmentId ? arg->Transfer.Destination.pMdl
                     : !arg->Transfer.Source.SegmentId    ? arg->Transfer.Source.pMdl
                                                          : NULL;
    uint64_t count = mdl ? mdl_page_count(mdl) : 0;
    const PFN_NUMBER *pfns = mdl ? MmGetMdlPfnArray(mdl) : NULL;

    operation->has_list = first < count;
    if (!operation->has_list)
        return;
    operation->list_page = pfns[first];
    for (uint64_t i = 1; i < operation->page_count && first + i < count; i++) {
        operation->list_is_scattered = pfns[first + i] != pfns[first] + i;
        if (operation->list_is_scattered)
            break;
    }
}

/*
 * Pages that change places with each other in local memory do so within groups, tiles: where the
 * group begins that holds the page. Up to there as much was put further back as further to the
 * front.
 */
static uint64_t group_of_page(const struct oracle_allocation *allocation, uint64_t page)
{
    uint64_t start = 0, moved = 0; /* modulo 2^64 */

    for (uint64_t i = 0; i < page; i++) {
        moved += allocation->layout(i) - i;
        if (!moved)
            start = i + 1;
    }
    return start;
}

/* From one place in the order of tiles to another one. */
static bool stays_in_order(const struct oracle *oracle, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct oracle_allocation *allocation =
        id_map_find(&oracle->by_handle, (uint64_t)(uintptr_t)arg->Transfer.hAllocation);

    return allocation && !allocation->is_pitched &&
           has_layout_in(oracle, allocation, arg->Transfer.Source.SegmentId) &&
           has_layout_in(oracle, allocation, arg->Transfer.Destination.SegmentId);
}

/*
 * A part of a move that keeps the order of tiles brings either the pages from TransferOffset on, or
 * what stands there. What both bring by its end is there then; the rest of a tile is when the last
 * part has.
 */
static struct paging_operation *describe_move(struct oracle *oracle,
                                              const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct oracle_allocation *allocation =
        id_map_find(&oracle->by_handle, (uint64_t)(uintptr_t)arg->Transfer.hAllocation);
    uint64_t offset = arg->Transfer.TransferOffset / PAGE_BYTES;
    uint64_t end = offset + bytes_to_pages(arg->Transfer.TransferSize);
    uint64_t first = group_of_page(allocation, offset);
    struct paging_operation *operation = new_operation(oracle, arg, arg->Transfer.hAllocation,
                                                       EFFECT_PLACE, first, end - first, false);

    if (!operation)
        return NULL;
    set_from_segment(
        oracle, operation, arg->Transfer.Destination.SegmentId,
        (uint64_t)arg->Transfer.Destination.SegmentAddress.QuadPart + first * PAGE_BYTES, true);
    for (uint64_t i = 0; i < operation->page_count && !arg->Transfer.Flags.TransferEnd; i++) {
        if (allocation->layout(first + i) >= end)
            operation->locations[i] = LOCATION_UNKNOWN;
    }
    return operation;
}

/*
 * The segment side stands TransferOffset behind SegmentAddress; the MDL side starts at the page
 * with index mdl_offset, whatever TransferOffset says.
 */
static struct paging_operation *describe_transfer(struct oracle *oracle,
                                                  const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    unsigned id = arg->Transfer.Destination.SegmentId;
    uint64_t offset = arg->Transfer.TransferOffset;
    struct paging_operation *operation;
    bool is_reordered;

    if (!arg->Transfer.TransferSize)
        return NULL;
    if (stays_in_order(oracle, arg))
        return describe_move(oracle, arg);
    operation = new_operation(oracle, arg, arg->Transfer.hAllocation, EFFECT_PLACE,
                              offset / PAGE_BYTES, bytes_to_pages(arg->Transfer.TransferSize),
                              is_one_range(oracle, arg->Transfer.hAllocation, id));
    if (!operation)
        return NULL;
    note_list(operation, arg, miniport_operation_list_offset(arg));
    is_reordered = has_layout_in(oracle, operation->allocation, id) ||
                   (operation->allocation->is_swizzled && !arg->Transfer.Flags.Unswizzle);
    if (id)
        set_from_segment(oracle, operation, id,
                         (uint64_t)arg->Transfer.Destination.SegmentAddress.QuadPart + offset,
                         is_reordered);
    else
        set_from_mdl(oracle, operation, arg->Transfer.Destination.pMdl,
                     miniport_operation_list_offset(arg), is_reordered);
    return operation;
}

static struct paging_operation *describe_fill(struct oracle *oracle,
                                              const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    unsigned id = arg->Fill.Destination.SegmentId;
    struct paging_operation *operation = new_operation(
        oracle, arg, arg->Fill.hAllocation, EFFECT_PLACE, 0, bytes_to_pages(arg->Fill.FillSize),
        is_one_range(oracle, arg->Fill.hAllocation, id));

    if (operation)
        set_from_segment(oracle, operation, id,
                         (uint64_t)arg->Fill.Destination.SegmentAddress.QuadPart,
                         has_layout_in(oracle, operation->allocation, id));
    return operation;
}

static struct paging_operation *describe_discard(struct oracle *oracle,
                                                 const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return new_operation(oracle, arg, arg->DiscardContent.hAllocation, EFFECT_DISCARD, 0,
                         UINT64_MAX, true);
}

static struct paging_operation *describe_notice(struct oracle *oracle,
                                                const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice = &arg->NotifyResidency;
    bool is_resident = notice->Resident != 0;
    struct paging_operation *operation =
        new_operation(oracle, arg, notice->hAllocation,
                      is_resident ? EFFECT_NOTICE : EFFECT_FAREWELL, 0, UINT64_MAX, !is_resident);

    for (uint64_t i = 0; operation && is_resident && i < operation->page_count; i++)
        operation->locations[i] =
            segment_location(oracle, notice->PhysicalAddress.SegmentId,
                             notice->PhysicalAddress.SegmentOffset + i * PAGE_BYTES);
    return operation;
}

/* ---- Apertures ---- */

/*
 * A page list of the whole allocation says where its pages are; one of a part does not say of
 * which part.
 */
static struct paging_operation *describe_mapped_list(struct oracle *oracle,
                                                     const DXGKARG_BUILDPAGINGBUFFER *arg,
                                                     HANDLE handle, uint64_t list_pages)
{
    const struct oracle_allocation *allocation =
        id_map_find(&oracle->by_handle, (uint64_t)(uintptr_t)handle);

    if (!allocation || list_pages < allocation->page_count)
        return NULL;
    return new_operation(oracle, arg, handle, EFFECT_LEARN, 0, list_pages, false);
}

static struct paging_operation *map_aperture(struct oracle *oracle,
                                             const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const MDL *mdl = arg->MapApertureSegment.pMdl;
    uint64_t first = arg->MapApertureSegment.MdlOffset;
    uint64_t slot = arg->MapApertureSegment.OffsetInPages;
    uint64_t count = arg->MapApertureSegment.NumberOfPages;
    struct aperture *aperture = open_aperture(oracle, arg->MapApertureSegment.SegmentId);
    struct paging_operation *operation;

    if (!aperture || !mdl)
        return NULL;
    for (uint64_t i = 0; i < count && first + i < mdl_page_count(mdl); i++)
        set_slot(aperture, slot + i,
                 location_in(oracle, oracle->config.ram, MmGetMdlPfnArray(mdl)[first + i]));
    operation =
        describe_mapped_list(oracle, arg, arg->MapApertureSegment.hAllocation, mdl_page_count(mdl));
    if (operation)
        set_from_mdl(oracle, operation, mdl, 0, false);
    return operation;
}

static uint64_t adl_page(const DXGK_ADL *adl, uint64_t i)
{
    if (i >= adl->PageCount)
        return UINT64_MAX;
    return adl->Flags.Contiguous ? adl->BasePageNumber + i : adl->Pages[i];
}

static struct paging_operation *map_aperture2(struct oracle *oracle,
                                              const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_ADL *adl = &arg->MapApertureSegment2.Adl;
    uint64_t first = arg->MapApertureSegment2.AdlOffset;
    uint64_t slot = arg->MapApertureSegment2.OffsetInPages;
    uint64_t count = arg->MapApertureSegment2.NumberOfPages;
    struct aperture *aperture = open_aperture(oracle, arg->MapApertureSegment2.SegmentId);
    struct paging_operation *operation;

    if (!aperture)
        return NULL;
    for (uint64_t i = 0; i < count; i++)
        set_slot(aperture, slot + i, device_location(oracle, adl_page(adl, first + i)));
    operation =
        describe_mapped_list(oracle, arg, arg->MapApertureSegment2.hAllocation, adl->PageCount);
    for (uint64_t i = 0; operation && i < operation->page_count; i++)
        operation->locations[i] = device_location(oracle, adl_page(adl, i));
    return operation;
}

static struct paging_operation *unmap_aperture(struct oracle *oracle,
                                               const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct aperture *aperture = open_aperture(oracle, arg->UnmapApertureSegment.SegmentId);
    uint64_t dummy = (uint64_t)arg->UnmapApertureSegment.DummyPage.QuadPart / PAGE_BYTES;

    for (uint64_t i = 0; aperture && i < arg->UnmapApertureSegment.NumberOfPages; i++)
        set_slot(aperture, arg->UnmapApertureSegment.OffsetInPages + i,
                 device_location(oracle, dummy));
    return new_operation(oracle, arg, arg->UnmapApertureSegment.hAllocation, EFFECT_UNMAP, 0,
                         UINT64_MAX, true);
}

/* ---- Page tables ---- */

/* In bytes, from the start of the segment. Beyond 64 bits it is the last page that they can name.
 */
static uint64_t entry_offset(const DXGK_PTE *entry)
{
    return min_u64(entry->PageAddress, UINT64_MAX / PAGE_BYTES) * PAGE_BYTES;
}

static uint64_t entry_location(const struct oracle *oracle, const DXGK_PTE *entry)
{
    if (!entry->Valid || entry->Zero)
        return LOCATION_UNKNOWN;
    if (entry->Segment)
        return segment_location(oracle, entry->Segment, entry_offset(entry));
    return device_location(oracle, entry->PageAddress);
}

/* Addresses come in order: the chunk of the last one is the chunk of most. */
static struct va_chunk *find_chunk(struct oracle *oracle, uint64_t key)
{
    if (!oracle->last_chunk || oracle->last_chunk_key != key) {
        oracle->last_chunk = id_map_find(&oracle->va_chunks, key);
        oracle->last_chunk_key = key;
    }
    return oracle->last_chunk;
}

/*
 * The locations of va_page and what follows it in its chunk; NULL: no memory, or all stay unknown.
 */
static uint64_t *open_va(struct oracle *oracle, uint64_t va_page, bool is_known)
{
    uint64_t key = va_page / VA_CHUNK_PAGES;
    struct va_chunk *chunk = find_chunk(oracle, key);

    if (!chunk && is_known) {
        chunk = base_alloc(oracle->services, sizeof *chunk);
        if (!chunk || !id_map_set(&oracle->va_chunks, key, chunk)) {
            base_free(oracle->services, chunk, sizeof *chunk);
            lose_operation(oracle);
            return NULL;
        }
        oracle->last_chunk = chunk;
    }
    return chunk ? chunk->locations + va_page % VA_CHUNK_PAGES : NULL;
}

/* Pages of the paging process, which are behind each other from the location on, or nowhere. */
static void set_va_pages(struct oracle *oracle, uint64_t va_page, uint64_t count, uint64_t location)
{
    bool is_known = location != LOCATION_UNKNOWN;

    while (count) {
        uint64_t run = min_u64(count, VA_CHUNK_PAGES - va_page % VA_CHUNK_PAGES);
        uint64_t *at = open_va(oracle, va_page, is_known);

        if (at && is_known) {
            for (uint64_t i = 0; i < run; i++)
                at[i] = location + i;
        } else if (at) {
            memset(at, 0, run * sizeof *at);
        }
        va_page += run;
        count -= run;
        location += is_known ? run : 0;
    }
}

/*
 * The location of the first of count pages at consecutive addresses of the paging process, where
 * the others are behind it: one location tells of all. LOCATION_UNKNOWN otherwise.
 */
static uint64_t va_range_location(struct oracle *oracle, uint64_t va, uint64_t count)
{
    uint64_t page = va / PAGE_BYTES, first = LOCATION_UNKNOWN;

    for (uint64_t i = 0, run; i < count; i += run) {
        const struct va_chunk *chunk = find_chunk(oracle, (page + i) / VA_CHUNK_PAGES);
        uint64_t at = (page + i) % VA_CHUNK_PAGES;

        run = min_u64(count - i, VA_CHUNK_PAGES - at);
        if (!chunk)
            return LOCATION_UNKNOWN;
        if (!i)
            first = chunk->locations[at];
        if (first == LOCATION_UNKNOWN || chunk->locations[at] != first + i ||
            location_run(chunk->locations + at, run) != run)
            return LOCATION_UNKNOWN;
    }
    return first;
}

/* The operation, which is new, is at consecutive addresses of the paging process. */
static void set_from_va(struct oracle *oracle, struct paging_operation *operation, uint64_t va)
{
    uint64_t page = va / PAGE_BYTES;

    for (uint64_t i = 0, run; i < operation->page_count; i += run) {
        const struct va_chunk *chunk = find_chunk(oracle, (page + i) / VA_CHUNK_PAGES);
        uint64_t at = (page + i) % VA_CHUNK_PAGES;

        run = min_u64(operation->page_count - i, VA_CHUNK_PAGES - at);
        if (chunk)
            memcpy(operation->locations + i, chunk->locations + at, run * sizeof *chunk->locations);
        else
            memset(operation->locations + i, 0, run * sizeof *operation->locations);
    }
}

/* An operation on pages of the allocation that are at an address of the paging process. */
static struct paging_operation *describe_at_va(struct oracle *oracle,
                                               const DXGKARG_BUILDPAGINGBUFFER *arg, HANDLE handle,
                                               enum operation_effect effect, uint64_t offset,
                                               uint64_t bytes, uint64_t va)
{
    uint64_t pages = bytes_to_pages(bytes);
    uint64_t location = va_range_location(oracle, va, pages);
    struct paging_operation *operation = new_operation(
        oracle, arg, handle, effect, offset / PAGE_BYTES, pages, location != LOCATION_UNKNOWN);

    if (operation && operation->is_linear)
        operation->locations[0] = location;
    else if (operation)
        set_from_va(oracle, operation, va);
    return operation;
}

static bool is_known_entry(const DXGK_PTE *entry)
{
    return entry->Valid && !entry->Zero;
}

static bool is_system_entry(const DXGK_PTE *entry)
{
    return is_known_entry(entry) && !entry->Segment;
}

/* Entries of system pages, in any order, that are alike otherwise; how many there were. */
static uint64_t set_system_pages(struct oracle *oracle, uint64_t va_page, const DXGK_PTE *entries,
                                 uint64_t count)
{
    uint64_t ram_pages = oracle->config.ram ? page_store_page_count(oracle->config.ram) : 0;
    uint64_t *at = open_va(oracle, va_page, true);
    uint64_t i = 0;

    count = min_u64(count, VA_CHUNK_PAGES - va_page % VA_CHUNK_PAGES);
    for (; i < count && entries[i].Flags == entries[0].Flags; i++) {
        uint64_t page = entries[i].PageAddress;

        if (!at)
            continue;
        if (oracle->config.system_page)
            at[i] = device_location(oracle, page);
        else
            at[i] = page < ram_pages ? LOCATION_SYSTEM | page : LOCATION_UNKNOWN;
    }
    return i;
}

/*
 * How many entries from the first one on are empty, or name pages that follow each other in the
 * same memory.
 */
static uint64_t entry_run(const DXGK_PTE *entries, uint64_t count, uint64_t pages_each)
{
    const DXGK_PTE *first = entries;
    uint64_t i = 1;

    if (is_known_entry(first)) {
        while (i < count && entries[i].Flags == first->Flags &&
               entries[i].PageAddress == first->PageAddress + i * pages_each)
            i++;
    } else {
        while (i < count && !is_known_entry(&entries[i]))
            i++;
    }
    return i;
}

/* A range of a memory segment is one piece, if it can be reached at all. */
static uint64_t range_location(const struct oracle *oracle, const DXGK_PTE *entry, uint64_t pages)
{
    const struct oracle_segment *segment = find_segment(oracle, entry->Segment);
    struct page_store *store;
    uint64_t address;

    if (!segment || segment->is_aperture ||
        !oracle_segment_address(oracle, segment, entry_offset(entry), pages * PAGE_BYTES, &store,
                                &address) ||
        !location_in(oracle, store, address / PAGE_BYTES + pages - 1))
        return LOCATION_UNKNOWN;
    return location_in(oracle, store, address / PAGE_BYTES);
}

/* Pages that follow each other from the entry's on: as a range, or each by itself. */
static void set_from_entry(struct oracle *oracle, uint64_t va_page, const DXGK_PTE *entry,
                           uint64_t pages)
{
    uint64_t location = range_location(oracle, entry, pages);
    DXGK_PTE page = *entry;

    if (location != LOCATION_UNKNOWN) {
        set_va_pages(oracle, va_page, pages, location);
        return;
    }
    for (uint64_t i = 0; i < pages; i++, page.PageAddress++)
        set_va_pages(oracle, va_page + i, 1, entry_location(oracle, &page));
}

/*
 * The entries of the tables through which everything is moved, a run at a time: an entry by itself
 * was a tenth of what a checked run costs.
 */
static void update_paging_process(struct oracle *oracle,
                                  const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    uint64_t pages_each = update->Flags.Use64KBPages ? 16 : 1;
    uint64_t va_page = update->FirstPteVirtualAddress / PAGE_BYTES;
    uint64_t count = update->NumPageTableEntries, run;
    bool is_repeated = update->Flags.Repeat;

    for (uint64_t i = 0; i < count; i += run, va_page += run * pages_each) {
        const DXGK_PTE *entry = &update->pPageTableEntries[is_repeated ? 0 : i];

        if (!is_known_entry(entry)) {
            run = is_repeated ? count : entry_run(entry, count - i, pages_each);
            set_va_pages(oracle, va_page, run * pages_each, LOCATION_UNKNOWN);
        } else if (is_system_entry(entry) && !is_repeated && pages_each == 1) {
            run = set_system_pages(oracle, va_page, entry, count - i);
        } else {
            run = is_repeated ? 1 : entry_run(entry, count - i, pages_each);
            set_from_entry(oracle, va_page, entry, run * pages_each);
        }
    }
}

/*
 * Entries of another process teach where an allocation is as long as nothing else does: one
 * that lives in system memory is mapped there without ever being moved.
 */
static struct paging_operation *learn_from_entries(struct oracle *oracle,
                                                   const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;
    const struct oracle_allocation *allocation =
        id_map_find(&oracle->by_handle, (uint64_t)(uintptr_t)update->hAllocation);
    uint64_t first_page = update->AllocationOffsetInBytes / PAGE_BYTES;
    uint64_t mapped = miniport_update_mapped(update);
    struct paging_operation *operation;

    if (!allocation || allocation->operation_count || update->Flags.Repeat ||
        update->Flags.Use64KBPages || !mapped)
        return NULL;
    if (allocation->locations &&
        (first_page >= allocation->page_count || is_located(allocation->locations[first_page])))
        return NULL;
    operation =
        new_operation(oracle, arg, update->hAllocation, EFFECT_LEARN, first_page, mapped, false);
    for (uint64_t i = 0; operation && i < operation->page_count; i++)
        operation->locations[i] = entry_location(oracle, &update->pPageTableEntries[i]);
    return operation;
}

static struct paging_operation *update_page_table(struct oracle *oracle,
                                                  const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;

    if (update->PageTableLevel != 0 || !update->pPageTableEntries)
        return NULL;
    if (!oracle->has_paging_process ||
        (uint64_t)(uintptr_t)update->hProcess != oracle->paging_process)
        return learn_from_entries(oracle, arg);
    update_paging_process(oracle, update);
    return NULL;
}

static struct paging_operation *describe_virtual(struct oracle *oracle,
                                                 const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    uint64_t bytes = miniport_operation_bytes(arg);

    return bytes ? describe_at_va(oracle, arg, miniport_operation_allocation(arg), EFFECT_PLACE,
                                  miniport_operation_offset(arg), bytes,
                                  miniport_operation_destination(arg).address)
                 : NULL;
}

/* Parts are looked at one by one; that all of them came is not. */
static struct paging_operation *describe_part(struct oracle *oracle,
                                              const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice = &arg->NotifyResidency2;
    struct paging_operation *operation;

    if (!notice->Resident)
        return NULL;
    operation = new_operation(oracle, arg, notice->hAllocation, EFFECT_SHOWN,
                              notice->AllocationOffsetInPages, notice->SizeInPages, false);
    for (uint64_t i = 0; operation && notice->SegmentId && i < operation->page_count; i++)
        operation->locations[i] = segment_location(
            oracle, notice->SegmentId, notice->PhysicalAddress.SegmentOffset + i * PAGE_BYTES);
    if (operation && !notice->SegmentId && notice->Mdl)
        set_from_mdl(oracle, operation, notice->Mdl, notice->AllocationOffsetInPages, false);
    return operation;
}

/* Eviction: the address is in the paging process. Addresses of other processes are not followed. */
static struct paging_operation *describe_shown(struct oracle *oracle,
                                               const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice = &arg->NotifyAllocation;

    if (!notice->Flags.Eviction)
        return NULL;
    return describe_at_va(oracle, arg, notice->hAllocation, EFFECT_SHOWN, notice->OffsetInBytes,
                          notice->SizeInBytes, notice->GpuVirtualAddressAtOffset);
}

/* As enter_operation(), of one kind of operation. */
typedef struct paging_operation *describer(struct oracle *oracle,
                                           const DXGKARG_BUILDPAGINGBUFFER *arg);

static describer *const describers[MINIPORT_OPERATION_COUNT] = {
    [DXGK_OPERATION_TRANSFER] = describe_transfer,
    [DXGK_OPERATION_SPECIAL_LOCK_TRANSFER] = describe_transfer,
    [DXGK_OPERATION_FILL] = describe_fill,
    [DXGK_OPERATION_DISCARD_CONTENT] = describe_discard,
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT] = map_aperture,
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT2] = map_aperture2,
    [DXGK_OPERATION_UNMAP_APERTURE_SEGMENT] = unmap_aperture,
    [DXGK_OPERATION_VIRTUAL_TRANSFER] = describe_virtual,
    [DXGK_OPERATION_VIRTUAL_FILL] = describe_virtual,
    [DXGK_OPERATION_UPDATE_PAGE_TABLE] = update_page_table,
    [DXGK_OPERATION_NOTIFY_RESIDENCY] = describe_notice,
    [DXGK_OPERATION_NOTIFY_RESIDENCY2] = describe_part,
    [DXGK_OPERATION_NOTIFY_ALLOC] = describe_shown,
};

struct paging_operation *enter_operation(struct oracle *oracle,
                                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    unsigned operation = (unsigned)arg->Operation;

    return operation < MINIPORT_OPERATION_COUNT && describers[operation]
               ? describers[operation](oracle, arg)
               : NULL;
}
