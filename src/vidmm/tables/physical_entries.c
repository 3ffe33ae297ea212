/*
 * Physical entries: the entries that mappings of physical pages have left in each leaf table.
 *
 * Nobody but the caller of vidmm_map_physical() knows why those pages are mapped there, so when a
 * sleep or a reset takes the page tables, the entries can be written again from a record only:
 *
 *     table->physical[i]    0, or   page : 54 | segment : 6 | protection : 3 | 1
 *
 * A leaf gets its record, one word for each entry, before the first job that writes physical
 * entries to it is queued. It is changed when a job is queued, not when that runs: a recovery
 * writes the entries of the end, and jobs that had not finished come to the same behind it.
 *
 * Source     contract.md PWR-009, PT-013; sequence S-16.
 */
#include "vidmm/tables/physical_entries.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"
#include "base/range_allocator.h"
#include "base/services.h"

#define IS_THERE     UINT64_C(1)
#define PROTECT_AT   1
#define PROTECT_MASK (VIDMM_PROTECT_READ_ONLY | VIDMM_PROTECT_NO_EXECUTE | VIDMM_PROTECT_ZERO)
#define SEGMENT_AT   4
#define SEGMENT_MASK 63u
#define PAGE_AT      10
#define NEXT_PAGE    (UINT64_C(1) << PAGE_AT)

_Static_assert(PROTECT_MASK << PROTECT_AT < 1u << SEGMENT_AT, "a protection has three bits");
_Static_assert(VIDMM_MAX_SEGMENTS <= SEGMENT_MASK, "a segment's id has six bits");

static uint32_t protection_of(uint64_t entry)
{
    return (uint32_t)(entry >> PROTECT_AT) & PROTECT_MASK;
}

static unsigned segment_of(uint64_t entry)
{
    return (unsigned)(entry >> SEGMENT_AT) & SEGMENT_MASK;
}

/* The entry behind it when both are of one run. */
static uint64_t follower(uint64_t entry)
{
    return protection_of(entry) & VIDMM_PROTECT_ZERO ? entry : entry + NEXT_PAGE;
}

NTSTATUS physical_entries_make(struct address_space *space, uint64_t va, uint64_t bytes)
{
    struct vidmm *vidmm = space->vidmm;
    uint64_t leaf = page_table_coverage(vidmm, 1);
    uint64_t end = va + bytes;

    for (va = align_down(va, leaf); va < end; va += leaf) {
        struct page_table *table = page_table_find(space, va);

        if (table->physical)
            continue;
        table->physical = base_alloc_array(vidmm->services, (size_t)page_table_entries(vidmm, 0),
                                           sizeof *table->physical);
        if (!table->physical)
            return STATUS_NO_MEMORY;
    }
    return STATUS_SUCCESS;
}

void physical_entries_set(struct address_space *space, uint64_t va, unsigned segment,
                          uint64_t first_page, uint64_t page_count, uint32_t protect)
{
    uint64_t entry_count = page_table_entries(space->vidmm, 0);
    uint64_t index = va / PAGE_BYTES % entry_count;
    uint64_t entry = IS_THERE | (uint64_t)(protect & PROTECT_MASK) << PROTECT_AT |
                     (uint64_t)segment << SEGMENT_AT | first_page << PAGE_AT;

    while (page_count) {
        struct page_table *table = page_table_find(space, va);
        uint64_t count = min_u64(entry_count - index, page_count);

        va += PAGE_BYTES_OF(count);
        page_count -= count;
        for (; count; count--, index++, entry = follower(entry))
            table->physical[index] = entry;
        index = 0;
    }
}

void physical_entries_clear(struct address_space *space, uint64_t va, uint64_t page_count)
{
    uint64_t entry_count = page_table_entries(space->vidmm, 0);
    uint64_t end = va + PAGE_BYTES_OF(page_count);
    struct range_info info;

    for (va = max_u64(va, space->ranges_start);
         va < end && range_allocator_range_at(&space->ranges, va, &info);) {
        struct page_table *table = info.owner == OWNER_PHYSICAL ? page_table_find(space, va) : NULL;
        uint64_t index = va / PAGE_BYTES % entry_count;
        uint64_t count = min_u64(entry_count - index, (end - va) / PAGE_BYTES);

        if (info.owner != OWNER_PHYSICAL) {
            va = info.offset + info.size;
            continue;
        }
        va += PAGE_BYTES_OF(count);
        for (; table && table->physical && count; count--, index++)
            table->physical[index] = 0;
    }
}

bool physical_entries_op_next(struct address_space *space, const struct page_table *table,
                              uint64_t *index, DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t entry_count = page_table_entries(space->vidmm, 0);
    uint64_t first, entry;

    while (table->physical && *index < entry_count && !table->physical[*index])
        ++*index;
    if (!table->physical || *index >= entry_count)
        return false;
    first = *index;
    entry = table->physical[first];
    do
        ++*index;
    while (*index < entry_count &&
           table->physical[*index] == follower(table->physical[*index - 1]));
    page_table_op_map_physical(space, table->first_va + PAGE_BYTES_OF(first), segment_of(entry),
                               entry >> PAGE_AT, *index - first, protection_of(entry), args);
    return true;
}

static void look_for_memory(struct page_table *table, void *context)
{
    struct address_space *space = ((void **)context)[0];
    bool *is_found = ((void **)context)[1];
    uint64_t i;

    for (i = 0; table->physical && i < page_table_entries(space->vidmm, 0); i++)
        *is_found = *is_found || segment_of(table->physical[i]);
}

bool physical_entries_show_memory(struct address_space *space)
{
    bool is_found = false;
    void *context[] = {space, &is_found};

    page_tables_visit(space, look_for_memory, context);
    return is_found;
}
