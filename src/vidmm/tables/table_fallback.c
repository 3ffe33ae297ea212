/*
 * Table fallback: a leaf table of 64 KiB pages gives way to one of 4 KiB pages.
 *
 * Where an entry of level 1 has one pointer (no DualPteSupported), its range is translated by 64
 * KiB entries or by 4 KiB ones. A range starts with 64 KiB entries when the first mapping in it can
 * be nowhere but in 64 KiB pages; the first one that needs 4 KiB entries ends that, before its own
 * tables are made. There is no way back as long as the range has a table (PT-040). While this goes
 * on the contexts of the process are held, and have become quiet:
 *
 *     new table    shown in the window, set invalid throughout (InitialUpdate)
 *                  everything that is mapped in its range, by 4 KiB entries
 *     the entry of level 1 points at it, PageTablePageSize says 4 KiB, FLUSH_TLB
 *     old table    NotifyEviction; with ExplicitPageTableInvalidation all its entries invalid too
 *     when all of that has retired: the old table is free, contexts go on
 *
 * Operations generated before the job write the old table, those after it the new one.
 *
 * Source     contract.md PT-013, PT-015, PT-035, PT-037, PT-038, PT-040, TLB-003; sequence S-14.
 */
#include "vidmm/tables/table_fallback.h"

#include "vidmm/mappings/mapping.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/page_tree.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/space_contexts.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

enum phase {
    PHASE_HOLD,
    PHASE_QUIET,
    PHASE_SHOW_FLUSH,
    PHASE_INITIALISE,
    PHASE_ENTRIES,
    PHASE_LINK,
    PHASE_FLUSH,
    PHASE_FAREWELL,
    PHASE_END,
};

struct table_fallback {
    struct job job;
    struct address_space *space;
    struct page_table *table; /* the new one */
    struct page_table *old;   /* once it is out of the tree; NULL: it has gone without us */
    uint64_t va;              /* up to where entries have been written */
    bool is_held;             /* the contexts, by this */
    bool is_rebuilt;          /* by a recovery, which writes all tables */
};

/* The next entries of the new table; false: that was all. */
static bool next_entries(struct table_fallback *fallback, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct address_space *space = fallback->space;
    uint64_t end = fallback->table->first_va + page_table_coverage(space->vidmm, 1);

    while (fallback->va < end) {
        uint64_t va = max_u64(fallback->va, space->ranges_start);
        bool is_physical;
        const struct mapping *mapping = mapping_at(space, va, &fallback->va, &is_physical);
        uint64_t first;

        if (!mapping || !mapping->is_live || !mapping->allocation->entries_valid)
            continue;
        first = (va - mapping->va) / PAGE_BYTES;
        fallback->va =
            va +
            PAGE_BYTES_OF(page_table_op_map(
                space, va,
                &(struct mapped_pages){
                    .allocation = mapping->allocation,
                    .first_page = mapping->first_page + first,
                    .page_count = min_u64(mapping->page_count - first, (end - va) / PAGE_BYTES),
                    .from_backing = mapping->allocation->place.segment->kind != SEGMENT_PAGES,
                    .protect = mapping->protect,
                    .driver_protection = mapping->driver_protection},
                args));
        return true;
    }
    return false;
}

/* The old table leaves the tree; the new one has all of its translations. */
static void take_old(struct table_fallback *fallback)
{
    struct page_table *old = page_table_find_64k(fallback->space, fallback->table->first_va);

    if (!old || old->is_detached)
        return;
    old->parent->children[old->index] = NULL;
    old->is_detached = true;
    list_remove(&old->fresh);
    fallback->old = old;
}

static enum job_step fallback_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct table_fallback *fallback = container_of(job, struct table_fallback, job);
    struct address_space *space = fallback->space;
    struct page_table *table = fallback->table;
    struct vidmm *vidmm = space->vidmm;

    if (fallback->is_rebuilt) {
        if (!fallback->old)
            take_old(fallback);
        return JOB_DONE;
    }
    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_HOLD:
            space_hold(space);
            fallback->is_held = true;
            job->phase = PHASE_QUIET;
            break;

        case PHASE_QUIET:
            if (!space_is_quiet(space))
                return JOB_WAIT;
            job->phase = PHASE_INITIALISE;
            if (!table->memory.window_slot)
                break;
            job->phase = PHASE_SHOW_FLUSH;
            page_table_op_show(space, table, args);
            return JOB_OPERATION;

        case PHASE_SHOW_FLUSH:
            job->phase = PHASE_INITIALISE;
            if (vidmm->caps.invalid_not_cached && !table->memory.slot_is_used)
                break;
            page_table_op_flush(&vidmm->paging.space, vidmm->paging.window_va,
                                PAGE_BYTES_OF(vidmm->paging.window_next), args);
            return JOB_OPERATION;

        case PHASE_INITIALISE:
            job->phase = PHASE_ENTRIES;
            page_table_op_initialise(space, table, args);
            return JOB_OPERATION;

        case PHASE_ENTRIES:
            if (next_entries(fallback, args))
                return JOB_OPERATION;
            job->phase = PHASE_LINK;
            break;

        case PHASE_LINK:
            job->phase = PHASE_FLUSH;
            take_old(fallback);
            if (table->is_detached)
                break;
            page_table_op_link(space, table, args);
            return JOB_OPERATION;

        case PHASE_FLUSH:
            job->phase = PHASE_FAREWELL;
            page_table_op_flush(space, table->first_va, page_table_coverage(vidmm, 1), args);
            return JOB_OPERATION;

        case PHASE_FAREWELL:
            job->phase = PHASE_END;
            if (!fallback->old || !fallback->old->is_initialised)
                break;
            if (vidmm->caps.explicit_invalidation)
                page_table_op_clear(space, fallback->old, args);
            else
                page_table_op_farewell(space, fallback->old, args);
            return JOB_OPERATION;

        case PHASE_END:
            return JOB_DONE;
        }
    }
}

static void fallback_finished(struct job *job)
{
    struct table_fallback *fallback = container_of(job, struct table_fallback, job);
    struct address_space *space = fallback->space;

    if (fallback->old)
        page_table_free_detached(space, fallback->old);
    if (fallback->is_held)
        space_release(space);
    base_free(space->vidmm->services, fallback, sizeof *fallback);
}

static void fallback_restarted(struct job *job)
{
    container_of(job, struct table_fallback, job)->is_rebuilt = true;
}

static const struct job_ops fallback_ops = {.name = "smaller pages",
                                            .next = fallback_next,
                                            .finished = fallback_finished,
                                            .restarted = fallback_restarted};

NTSTATUS table_fallback_begin(struct address_space *space, struct page_table *table)
{
    struct vidmm *vidmm = space->vidmm;
    struct table_fallback *fallback = base_alloc(vidmm->services, sizeof *fallback);

    if (!fallback)
        return STATUS_NO_MEMORY;
    fallback->space = space;
    fallback->table = table;
    fallback->va = table->first_va;
    fallback->job.ops = &fallback_ops;
    vidmm->statistics.fallen_back_tables++;
    paging_queue_add(vidmm, &fallback->job);
    return STATUS_SUCCESS;
}
