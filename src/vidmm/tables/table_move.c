/*
 * Table moves: a page table gets another place in its segment, with its entries.
 *
 * The entries are not copied: the manager knows them (table_is_reproducible()), and writes them
 * anew. While a table moves the contexts of its process are held, and have become quiet:
 *
 *     new memory   shown in the window, set invalid throughout (InitialUpdate)
 *                  a leaf: the entries of its mappings, of physical pages too, as they are
 *                  recorded (physical_entries.c); else the pointers to its children
 *     the parent's entry points at it, FLUSH_TLB
 *     old memory   NotifyEviction; with ExplicitPageTableInvalidation all its entries invalid too
 *     when all of that has retired: a root is told to its contexts; the old memory is free
 *
 * Operations generated before the job see the old place, those after it the new one.
 *
 * Source     contract.md PT-009, PT-010, PT-013, PT-015, PT-033, PT-035, PT-037, TLB-003.
 */
#include "vidmm/tables/table_move.h"

#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/physical_entries.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/space_contexts.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

enum phase {
    PHASE_QUIET,
    PHASE_SHOW_FLUSH,
    PHASE_INITIALISE,
    PHASE_ENTRIES,
    PHASE_PHYSICAL,
    PHASE_CHILDREN,
    PHASE_LINK,
    PHASE_FLUSH,
    PHASE_FAREWELL,
    PHASE_END,
};

static struct table_move *job_move(struct job *job)
{
    return container_of(job, struct table_move, job);
}

/* The two places change roles. */
static void swap_memory(struct table_move *move)
{
    struct table_memory memory = move->table->memory;

    move->table->memory = move->memory;
    move->memory = memory;
}

/* The bytes that the whole table translates. */
static uint64_t table_bytes(const struct table_move *move)
{
    return page_table_coverage(move->space->vidmm, move->table->level) *
           page_table_entries(move->space->vidmm, move->table->level);
}

/* Entries of one mapping from va on, at most up to end; false: it has none in this table. */
static bool op_entries(struct table_move *move, const struct mapping *mapping, uint64_t *va,
                       uint64_t end, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = mapping->allocation;
    uint64_t done = (*va - mapping->va) / PAGE_BYTES;

    if (!mapping->is_live || !allocation->entries_valid ||
        (move->space->vidmm->caps.has_dual_pte && mapping_is_64k(mapping) != move->table->is_64k))
        return false;
    *va += PAGE_BYTES_OF(page_table_op_map(
        move->space, *va,
        &(struct mapped_pages){.allocation = allocation,
                               .first_page = mapping->first_page + done,
                               .page_count =
                                   min_u64(mapping->page_count - done, (end - *va) / PAGE_BYTES),
                               .from_backing = allocation->place.segment->kind != SEGMENT_PAGES,
                               .is_64k = move->table->is_64k,
                               .protect = mapping->protect,
                               .driver_protection = mapping->driver_protection},
        args));
    return true;
}

/* The next entries of a leaf; false: that was all. */
static bool next_entries(struct table_move *move, DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t end = move->table->first_va + page_table_coverage(move->space->vidmm, 1);

    while (!move->table->is_shadowed && move->va < end) {
        uint64_t following;
        bool is_physical;
        const struct mapping *mapping = mapping_at(move->space, move->va, &following, &is_physical);

        if (mapping && op_entries(move, mapping, &move->va, end, args))
            return true;
        move->va = following;
    }
    return false;
}

/* The entry of the parent that maps the child's whole range, as it was. */
static void op_large(struct table_move *move, struct page_table *child,
                     DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t end;
    bool is_physical;
    const struct mapping *mapping = mapping_at(move->space, child->first_va, &end, &is_physical);
    uint64_t done = (child->first_va - mapping->va) / PAGE_BYTES;

    page_table_op_map(move->space, child->first_va,
                      &(struct mapped_pages){.allocation = mapping->allocation,
                                             .first_page = mapping->first_page + done,
                                             .page_count = mapping->page_count - done,
                                             .protect = mapping->protect,
                                             .driver_protection = mapping->driver_protection},
                      args);
    ASSERT(args->UpdatePageTable.pPageTableEntries[0].LargePage);
}

/* The next pointer of a table above the leaves; false: that was all. */
static bool next_child(struct table_move *move, DXGKARG_BUILDPAGINGBUFFER *args)
{
    while (move->job.cursor < move->table->child_count) {
        struct page_table *child = move->table->children[move->job.cursor++];

        if (!child || !child->is_linked)
            continue;
        if (child->is_shadowed)
            op_large(move, child, args);
        else
            page_table_op_link(move->space, child, args);
        return true;
    }
    return false;
}

static void op_farewell(struct table_move *move, DXGKARG_BUILDPAGINGBUFFER *args)
{
    swap_memory(move);
    if (move->space->vidmm->caps.explicit_invalidation)
        page_table_op_clear(move->space, move->table, args);
    else
        page_table_op_farewell(move->space, move->table, args);
    swap_memory(move);
}

/* Addresses translated through the old place; of a root, by which a TLB names entries: all. */
static void op_flush(struct table_move *move, DXGKARG_BUILDPAGINGBUFFER *args)
{
    bool is_root = !move->table->parent;

    if (is_root)
        swap_memory(move);
    page_table_op_flush(move->space, is_root ? 0 : move->table->first_va,
                        is_root ? 0 : table_bytes(move), args);
    if (is_root)
        swap_memory(move);
}

static enum job_step move_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct table_move *move = job_move(job);
    struct vidmm *vidmm = move->space->vidmm;
    struct page_table *table = move->table;

    if (move->is_rebuilt)
        return JOB_DONE;
    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_QUIET:
            if (!space_is_quiet(move->space))
                return JOB_WAIT;
            swap_memory(move);
            job->phase = PHASE_INITIALISE;
            if (!table->memory.window_slot)
                break;
            job->phase = PHASE_SHOW_FLUSH;
            page_table_op_show(move->space, table, args);
            return JOB_OPERATION;

        case PHASE_SHOW_FLUSH:
            job->phase = PHASE_INITIALISE;
            if (vidmm->caps.invalid_not_cached && !table->memory.slot_is_used)
                break;
            page_table_op_flush(&vidmm->paging.space, vidmm->paging.window_va,
                                PAGE_BYTES_OF(vidmm->paging.window_next), args);
            return JOB_OPERATION;

        case PHASE_INITIALISE:
            job->phase = table->level ? PHASE_CHILDREN : PHASE_ENTRIES;
            page_table_op_initialise(move->space, table, args);
            return JOB_OPERATION;

        case PHASE_ENTRIES:
            if (next_entries(move, args))
                return JOB_OPERATION;
            job->phase = PHASE_PHYSICAL;
            break;

        case PHASE_PHYSICAL:
            if (!table->is_shadowed &&
                physical_entries_op_next(move->space, table, &job->cursor, args))
                return JOB_OPERATION;
            job->phase = PHASE_LINK;
            break;

        case PHASE_CHILDREN:
            if (next_child(move, args))
                return JOB_OPERATION;
            job->phase = PHASE_LINK;
            break;

        case PHASE_LINK:
            job->phase = PHASE_FLUSH;
            if (!table->parent || table->is_shadowed || table->is_detached)
                break;
            page_table_op_link(move->space, table, args);
            return JOB_OPERATION;

        case PHASE_FLUSH:
            job->phase = PHASE_FAREWELL;
            op_flush(move, args);
            return JOB_OPERATION;

        case PHASE_FAREWELL:
            job->phase = PHASE_END;
            op_farewell(move, args);
            return JOB_OPERATION;

        case PHASE_END:
            return JOB_DONE;
        }
    }
}

static void move_finished(struct job *job)
{
    struct table_move *move = job_move(job);

    if (!move->table->parent)
        space_set_root(move->space);
    move->space->vidmm->statistics.moved_tables++;
    table_move_abandon(move);
}

static void move_restarted(struct job *job)
{
    struct table_move *move = job_move(job);

    if (move->is_rebuilt)
        return;
    if (job->phase == PHASE_QUIET)
        swap_memory(move);
    move->is_rebuilt = true;
}

static const struct job_ops move_ops = {.name = "move table",
                                        .next = move_next,
                                        .finished = move_finished,
                                        .restarted = move_restarted};

NTSTATUS table_move_create(struct address_space *space, struct page_table *table,
                           struct table_move **out_move)
{
    struct vidmm *vidmm = space->vidmm;
    struct table_move *move = base_alloc(vidmm->services, sizeof *move);
    NTSTATUS status;

    *out_move = NULL;
    if (!move)
        return STATUS_NO_MEMORY;
    status = table_memory_take(space, table->level, PAGE_BYTES_OF(table->memory.page_count),
                               table->memory.entry_count, &move->memory);
    if (!NT_SUCCESS(status)) {
        base_free(vidmm->services, move, sizeof *move);
        return status;
    }
    move->space = space;
    move->table = table;
    move->va = table->first_va;
    move->job.ops = &move_ops;
    list_init(&move->link);
    *out_move = move;
    return STATUS_SUCCESS;
}

void table_move_begin(struct table_move *move)
{
    paging_queue_add(move->space->vidmm, &move->job);
}

void table_move_abandon(struct table_move *move)
{
    struct vidmm *vidmm = move->space->vidmm;

    table_memory_release(move->space, &move->memory);
    base_free(vidmm->services, move, sizeof *move);
}
