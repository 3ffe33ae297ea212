/*
 * Compaction: one piece of a segment, made by moving the allocations and page tables in it.
 *
 * The last resort of a request (residency.c), GpuMmu only: nothing is pending in the manager, all
 * that may be evicted has been, and there is room, but in pieces, between allocations that are held
 * and page tables. Contexts are held while it goes on, so that what somebody holds may move too: to
 * the GPU it never was anywhere else.
 *
 *     survey   each unit of the segment: free, movable or fixed
 *     window   the run of units without a fixed one that has the least to move
 *     close    its free units are taken, so that nothing new gets there
 *     move     allocations (move.c) and page tables (table_move.c), each to a place outside
 *     open     when all have arrived, the taken units are free: the request is asked again
 *
 * All places are taken before anything moves. Fixed are: what is locked, or of a context, or of the
 * paging process (PT-043), tables of tiles, whose entries are copies, and invalid ranges.
 * One segment at a time, for requests are served one at a time.
 *
 * Source     contract.md PT-009, PT-043, XFER-019, RES-011, ALLOC-016.
 */
#include "vidmm/residency/compaction.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_paging.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/residency/move.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/table_eviction.h"
#include "vidmm/tables/table_move.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/space_contexts.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/page_allocator.h"
#include "base/services.h"

enum unit { UNIT_FREE, UNIT_MOVABLE, UNIT_FIXED };

static bool is_movable(const struct vidmm_allocation *allocation, const struct segment *segment)
{
    return allocation->place.segment == segment && allocation->state == ALLOCATION_RESIDENT &&
           !allocation->lock_count && !allocation_is_internal(allocation) &&
           !allocation->is_pinned && !allocation->is_destroyed && !scan_out_keeps(allocation);
}

/* Calls it for every allocation of every process; stops, and says so, when it fails. */
static NTSTATUS for_each_allocation(struct vidmm *vidmm,
                                    NTSTATUS (*function)(struct compaction *compaction,
                                                         struct vidmm_allocation *allocation))
{
    const struct vidmm_process *process;
    const struct vidmm_device *device;
    struct vidmm_allocation *allocation;
    NTSTATUS status;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link) {
            list_for_each (allocation, &device->allocations, struct vidmm_allocation, device_link) {
                status = function(&vidmm->compaction, allocation);
                if (!NT_SUCCESS(status))
                    return status;
            }
        }
    }
    return STATUS_SUCCESS;
}

/* ---- Survey ---------------------------------------------------------------------------------- */

static void mark(struct compaction *compaction, uint64_t first_page, uint64_t page_count,
                 enum unit unit)
{
    uint64_t unit_pages = compaction->segment->unit_pages;
    uint64_t at;

    for (at = first_page / unit_pages; at < div_round_up(first_page + page_count, unit_pages); at++)
        compaction->units[at] = (uint8_t)unit;
}

static NTSTATUS mark_allocation(struct compaction *compaction, struct vidmm_allocation *allocation)
{
    const struct placed_runs *runs = allocation->place.runs;
    uint32_t i;

    if (!is_movable(allocation, compaction->segment))
        return STATUS_SUCCESS;
    for (i = 0; i < runs->count; i++)
        mark(compaction, runs->run[i].first_page, runs->run[i].page_count, UNIT_MOVABLE);
    return STATUS_SUCCESS;
}

struct table_walk {
    struct compaction *compaction;
    struct address_space *space;
    bool is_for_fixed;
    struct list *moves;
    NTSTATUS status;
};

static bool may_move(const struct address_space *space, const struct page_table *table)
{
    return !space->is_paging_process && table->is_initialised &&
           (table->is_linked || !table->parent) && table_is_reproducible(space, table);
}

static void mark_table(struct page_table *table, void *context)
{
    struct table_walk *walk = context;
    bool is_fixed = !may_move(walk->space, table);

    if (table->memory.segment == walk->compaction->segment->id && is_fixed == walk->is_for_fixed)
        mark(walk->compaction, table->memory.first_page, table->memory.page_count,
             is_fixed ? UNIT_FIXED : UNIT_MOVABLE);
}

/* Tables share units: one that is fixed fixes the others. */
static void mark_tables(struct compaction *compaction, struct vidmm *vidmm)
{
    struct table_walk walk = {.compaction = compaction};
    struct vidmm_process *process;
    unsigned i;

    for (i = 0; i < 2; i++) {
        walk.is_for_fixed = i == 1;
        list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
            walk.space = &process->space;
            page_tables_visit(walk.space, mark_table, &walk);
        }
        walk.space = &vidmm->paging.space;
        page_tables_visit(walk.space, mark_table, &walk);
    }
}

static void survey(struct compaction *compaction, struct vidmm *vidmm)
{
    uint64_t i;

    for (i = 0; i < compaction->unit_count; i++)
        compaction->units[i] =
            page_allocator_is_free(&compaction->segment->pages, i) ? UNIT_FREE : UNIT_FIXED;
    for_each_allocation(vidmm, mark_allocation);
    mark_tables(compaction, vidmm);
}

/* ---- Window ---------------------------------------------------------------------------------- */

/* The run of so many units, aligned, without a fixed one, that has the fewest to move. */
static bool find_window(struct compaction *compaction, uint64_t count, uint64_t alignment)
{
    uint64_t fixed = 0, movable = 0, best = UINT64_MAX;
    uint64_t end;

    for (end = 1; end <= compaction->unit_count; end++) {
        uint8_t entering = compaction->units[end - 1];

        fixed += entering == UNIT_FIXED;
        movable += entering == UNIT_MOVABLE;
        if (end > count) {
            uint8_t leaving = compaction->units[end - 1 - count];

            fixed -= leaving == UNIT_FIXED;
            movable -= leaving == UNIT_MOVABLE;
        }
        if (end < count || !is_aligned(end - count, alignment) || fixed || movable >= best)
            continue;
        best = movable;
        compaction->first_unit = end - count;
    }
    compaction->window_count = count;
    return best != UINT64_MAX && best != 0;
}

/* Takes, or gives back, the ranges that were free in the window when it was chosen. */
static void set_window_closed(struct compaction *compaction, bool is_closed)
{
    struct page_allocator *pages = &compaction->segment->pages;
    uint64_t i;

    for (i = compaction->first_unit; i < compaction->first_unit + compaction->window_count; i++) {
        enum page_status status = PAGE_OK;

        if (compaction->units[i] == UNIT_FREE)
            status = is_closed ? page_allocator_take_at(pages, i, 1)
                               : page_allocator_release(pages, i, 1);
        ASSERT(status == PAGE_OK);
        (void)status;
    }
    compaction->is_closed = is_closed;
}

/* ---- Places ---------------------------------------------------------------------------------- */

static bool has_to_move(const struct compaction *compaction,
                        const struct vidmm_allocation *allocation)
{
    const struct placed_runs *runs = allocation->place.runs;
    uint32_t i;

    if (!is_movable(allocation, compaction->segment) || allocation->other)
        return false;
    for (i = 0; i < runs->count; i++) {
        if (compaction_is_in_window(compaction, runs->run[i].first_page, runs->run[i].page_count))
            return true;
    }
    return false;
}

static NTSTATUS take_place(struct compaction *compaction, struct vidmm_allocation *allocation)
{
    if (segment_places_whole(allocation) != compaction->is_for_pieces ||
        !has_to_move(compaction, allocation))
        return STATUS_SUCCESS;
    return move_take_place(allocation, compaction->segment);
}

static void take_table_place(struct page_table *table, void *context)
{
    struct table_walk *walk = context;
    struct table_move *move;

    if (!NT_SUCCESS(walk->status) || table->memory.segment != walk->compaction->segment->id ||
        !compaction_is_in_window(walk->compaction, table->memory.first_page,
                                 table->memory.page_count))
        return;
    walk->status = table_move_create(walk->space, table, &move);
    if (NT_SUCCESS(walk->status))
        list_push_back(walk->moves, &move->link);
}

/* The hardest to place first: allocations in one piece, then tables, then the rest. */
static NTSTATUS take_places(struct compaction *compaction, struct vidmm *vidmm, struct list *moves)
{
    struct table_walk walk = {.compaction = compaction, .moves = moves};
    struct vidmm_process *process;
    NTSTATUS status;

    compaction->is_for_pieces = true;
    status = for_each_allocation(vidmm, take_place);
    if (!NT_SUCCESS(status))
        return status;
    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        walk.space = &process->space;
        page_tables_visit(walk.space, take_table_place, &walk);
    }
    if (!NT_SUCCESS(walk.status))
        return walk.status;
    compaction->is_for_pieces = false;
    return for_each_allocation(vidmm, take_place);
}

static NTSTATUS give_place_back(struct compaction *compaction, struct vidmm_allocation *allocation)
{
    if (allocation->state == ALLOCATION_RESIDENT)
        move_release_other(allocation);
    return STATUS_SUCCESS;
}

static NTSTATUS begin_move(struct compaction *compaction, struct vidmm_allocation *allocation)
{
    if (allocation->state == ALLOCATION_RESIDENT && allocation->other)
        move_begin(allocation);
    return STATUS_SUCCESS;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static enum job_step end_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    return JOB_DONE;
}

static void open_window(struct compaction *compaction, struct vidmm *vidmm)
{
    set_window_closed(compaction, false);
    base_free_array(vidmm->services, compaction->units, compaction->unit_count,
                    sizeof *compaction->units);
    compaction->units = NULL;
}

static void end_finished(struct job *job)
{
    struct vidmm *vidmm = container_of(job, struct vidmm, compaction.end_job);
    struct vidmm_process *process;

    open_window(&vidmm->compaction, vidmm);
    vidmm->compaction.is_under_way = false;
    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        if (!process->space.is_held_for_moves)
            continue;
        process->space.is_held_for_moves = false;
        space_release(&process->space);
    }
}

static const struct job_ops end_ops = {
    .name = "compaction", .next = end_next, .finished = end_finished};

static void begin_moves(struct compaction *compaction, struct vidmm *vidmm, struct list *moves)
{
    struct vidmm_process *process;
    struct list *link;

    compaction->is_under_way = true;
    vidmm->statistics.compactions++;
    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        process->space.is_held_for_moves = true;
        space_hold(&process->space);
    }
    for_each_allocation(vidmm, begin_move);
    while ((link = list_pop_front(moves)) != NULL)
        table_move_begin(container_of(link, struct table_move, link));
    compaction->end_job.ops = &end_ops;
    paging_queue_add(vidmm, &compaction->end_job);
}

bool compaction_begin(struct vidmm *vidmm, struct segment *segment, uint64_t page_count,
                      uint64_t alignment_pages)
{
    struct compaction *compaction = &vidmm->compaction;
    uint64_t count = div_round_up(page_count, segment->unit_pages);
    struct list moves, *link;

    if (segment->kind != SEGMENT_PAGES || !vidmm->caps.has_page_tables ||
        !list_is_empty(&vidmm->tile_updates) || count > page_allocator_free_count(&segment->pages))
        return false;
    ASSERT(!compaction->is_under_way && !compaction->units);
    compaction->segment = segment;
    compaction->unit_count = segment->extent / PAGE_BYTES / segment->unit_pages;
    compaction->units =
        base_alloc_array(vidmm->services, compaction->unit_count, sizeof *compaction->units);
    if (!compaction->units)
        return false;
    survey(compaction, vidmm);
    if (!find_window(compaction, count, max_u64(alignment_pages / segment->unit_pages, 1)))
        goto free_units;
    set_window_closed(compaction, true);
    list_init(&moves);
    if (!NT_SUCCESS(take_places(compaction, vidmm, &moves)))
        goto give_back;
    begin_moves(compaction, vidmm, &moves);
    return true;

give_back:
    while ((link = list_pop_front(&moves)) != NULL)
        table_move_abandon(container_of(link, struct table_move, link));
    for_each_allocation(vidmm, give_place_back);
    set_window_closed(compaction, false);
free_units:
    base_free_array(vidmm->services, compaction->units, compaction->unit_count,
                    sizeof *compaction->units);
    compaction->units = NULL;
    return false;
}
