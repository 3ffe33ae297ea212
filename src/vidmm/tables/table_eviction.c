/*
 * Table eviction: page tables that leave local memory when others want it, and come back.
 *
 * A leaf may leave while none of its entries is valid: all that is mapped in its range is out
 * itself, or nothing is. What is left without children above it goes too; the root stays, for
 * contexts name it. Nothing is saved: a table comes back as a new one, initialised (InitialUpdate),
 * when a request has an allocation of its mappings placed, and the mapping's own job writes what is
 * there by then.
 *
 * Not where entries are there whatever is resident: mappings of physical pages; and not where
 * nobody could write them again: tiles, whose entries are copies.
 *
 * Source     contract.md PT-012, PT-013, PT-015, PT-035, PT-037, TLB-003.
 */
#include "vidmm/tables/table_eviction.h"

#include "vidmm/mappings/gpu_va.h"
#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/segment.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/table_burial.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"

struct eviction {
    struct address_space *space;
    const struct segment *segment;
    struct table_burial *burial;
};

bool table_is_reproducible(const struct address_space *space, const struct page_table *table)
{
    uint64_t va = table->first_va;
    uint64_t end = va + page_table_coverage(space->vidmm, 1);

    while (table->level == 0 && va < end) {
        bool is_physical;
        const struct mapping *mapping = mapping_at(space, va, &va, &is_physical);

        if (mapping && mapping->role != MAPPING_ORDINARY)
            return false;
    }
    return true;
}

static bool holds_nothing(const struct address_space *space, const struct page_table *table)
{
    uint64_t va = table->first_va;
    uint64_t end = va + page_table_coverage(space->vidmm, 1);

    while (va < end) {
        bool is_physical;
        const struct mapping *mapping = mapping_at(space, va, &va, &is_physical);

        if (is_physical || (mapping && mapping->has_tables && mapping->allocation->entries_valid))
            return false;
    }
    return true;
}

/* Its mappings are without tables from now on. */
static void tell_mappings(const struct address_space *space, const struct page_table *table)
{
    uint64_t va = table->first_va;
    uint64_t end = va + page_table_coverage(space->vidmm, 1);

    while (va < end) {
        bool is_physical;
        struct mapping *mapping = mapping_at(space, va, &va, &is_physical);

        if (!mapping || !mapping->has_tables)
            continue;
        mapping->is_live = false;
        mapping->tables_left = true;
        mapping->allocation->tables_left = true;
    }
}

static void evict_leaf(struct page_table *table, void *context)
{
    struct eviction *eviction = context;
    struct address_space *space = eviction->space;

    if (table->level || table->memory.segment != eviction->segment->id || table->is_detached ||
        !table->is_linked || !table_is_reproducible(space, table) || !holds_nothing(space, table))
        return;
    tell_mappings(space, table);
    table_detach(table, &eviction->burial->tables);
}

bool tables_evict(struct vidmm *vidmm, const struct segment *segment)
{
    struct vidmm_process *process;
    bool has_any = false;

    if (!vidmm->caps.has_page_tables || segment->kind != SEGMENT_PAGES)
        return false;
    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        struct eviction eviction = {.space = &process->space, .segment = segment};

        if (!NT_SUCCESS(table_burial_create(&process->space, &eviction.burial)))
            break; /* what it would give is not had */
        eviction.burial->is_eviction = true;
        page_tables_visit(&process->space, evict_leaf, &eviction);
        has_any = has_any || !list_is_empty(&eviction.burial->tables);
        vidmm->statistics.evicted_tables += list_count(&eviction.burial->tables);
        table_burial_begin(eviction.burial, 0, 0);
    }
    return has_any;
}

NTSTATUS tables_restore(struct vidmm_allocation *allocation)
{
    struct mapping *mapping;

    list_for_each (mapping, &allocation->mappings, struct mapping, allocation_link) {
        NTSTATUS status;

        if (!mapping->tables_left || mapping->is_doomed)
            continue;
        status = mapping_restore_tables(mapping);
        if (!NT_SUCCESS(status))
            return status;
    }
    allocation->tables_left = false;
    return STATUS_SUCCESS;
}
