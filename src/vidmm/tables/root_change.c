/*
 * Root changes: with two levels of page tables the root is as large as the addresses in use need.
 *
 * Addresses beyond the root's reach are asked for at once, in the tree; the table in memory follows
 * by a job, in the order of the paging queue:
 *
 *     contexts of the process are held and become quiet
 *     new root: shown in the window, set invalid throughout, children linked
 *     FLUSH_TLB of the old root
 *     ExplicitPageTableInvalidation: all entries of the old root set invalid, with NotifyEviction
 *     when all of that has retired: SetRootPageTable for each context; they go on; the old
 *     root's memory is free
 *
 * Operations generated before the job see the old root, those after it the new one. Until the
 * contexts have been told, space->root_changes counts the job: what a driver looks up by the root
 * that it knows waits for that (paging_virtual.c).
 *
 * Source     contract.md PT-007..011, PT-013, PT-015, PT-035.
 */
#include "vidmm/tables/root_change.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/space_contexts.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/services.h"
#include "miniport/miniport.h"

enum phase {
    PHASE_HOLD,
    PHASE_QUIET,
    PHASE_SHOW_FLUSH,
    PHASE_INITIALISE,
    PHASE_LINK,
    PHASE_FLUSH,
    PHASE_CLEAR,
    PHASE_END,
};

struct root_change {
    struct job job;
    struct address_space *space;
    struct table_memory memory; /* the new one; once that is in use, the old one */
    bool is_rebuilt; /* by a recovery, which writes all tables: only the contexts are to be told */
};

static unsigned root_segment(const struct address_space *space)
{
    const struct vidmm_caps *caps = &space->vidmm->caps;
    const struct vidmm_level_caps *root = &caps->levels[caps->level_count - 1];

    return space->is_paging_process ? root->paging_segment : root->segment;
}

NTSTATUS root_size(struct address_space *space, uint64_t *entry_count, uint64_t *out_bytes)
{
    struct vidmm *vidmm = space->vidmm;
    uint64_t most = page_table_entries(vidmm, vidmm->caps.level_count - 1);
    DXGKARG_GETROOTPAGETABLESIZE args = {0};
    unsigned segment = root_segment(space);
    bool has_64k = segment && vidmm->caps.segments[segment - 1].uses_64kb_pages;

    *out_bytes = 0;
    if (*entry_count > most)
        return STATUS_INVALID_PARAMETER;
    args.NumberOfPte = (UINT)*entry_count;
    *out_bytes = miniport_get_root_page_table_size(vidmm->miniport, &args);
    if (args.NumberOfPte < *entry_count || !*out_bytes ||
        !is_aligned(*out_bytes, has_64k ? 64 * KiB : PAGE_BYTES)) {
        vidmm_driver_error(vidmm, "PT-008",
                           "DxgkDdiGetRootPageTableSize for %u entries said %llu bytes for %u "
                           "entries; expected whole pages and as many entries",
                           (unsigned)*entry_count, (unsigned long long)*out_bytes,
                           args.NumberOfPte);
        *out_bytes = 0;
        return STATUS_INVALID_PARAMETER;
    }
    if (!segment && *out_bytes > PAGE_BYTES) {
        vidmm_driver_error(vidmm, "PT-006",
                           "DxgkDdiGetRootPageTableSize for %u entries said %llu bytes; expected "
                           "at most one page, as the root is in system memory",
                           (unsigned)*entry_count, (unsigned long long)*out_bytes);
        *out_bytes = 0;
        return STATUS_INVALID_PARAMETER;
    }
    *entry_count = min_u64(args.NumberOfPte, most);
    return STATUS_SUCCESS;
}

static void flush_old_root(const struct root_change *change, DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_FLUSH_TLB;
    args->FlushTlb.RootPageTableAddress.SegmentId = change->memory.segment;
    args->FlushTlb.RootPageTableAddress.SegmentOffset =
        PAGE_BYTES_OF(table_memory_device_page(change->space->vidmm, &change->memory));
    args->FlushTlb.hProcess = change->space->driver_process;
}

/* The two places change roles. */
static void swap_roots(struct root_change *change)
{
    struct table_memory old = change->space->root->memory;

    change->space->root->memory = change->memory;
    change->memory = old;
}

static enum job_step change_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct root_change *change = container_of(job, struct root_change, job);
    struct address_space *space = change->space;
    struct vidmm *vidmm = space->vidmm;
    struct page_table *root = space->root;

    if (change->is_rebuilt)
        return JOB_DONE;
    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_HOLD:
            space_hold(space);
            job->phase = PHASE_QUIET;
            break;

        case PHASE_QUIET:
            if (!space_is_quiet(space))
                return JOB_WAIT;
            swap_roots(change);
            space->root_changes++;
            job->phase = PHASE_INITIALISE;
            if (!root->memory.window_slot)
                break;
            job->phase = PHASE_SHOW_FLUSH;
            page_table_op_show(space, root, args);
            return JOB_OPERATION;

        case PHASE_SHOW_FLUSH:
            job->phase = PHASE_INITIALISE;
            if (vidmm->caps.invalid_not_cached && !root->memory.slot_is_used)
                break;
            page_table_op_flush(&vidmm->paging.space, vidmm->paging.window_va,
                                PAGE_BYTES_OF(vidmm->paging.window_next), args);
            return JOB_OPERATION;

        case PHASE_INITIALISE:
            job->phase = PHASE_LINK;
            page_table_op_initialise(space, root, args);
            return JOB_OPERATION;

        case PHASE_LINK:
            while (job->cursor < root->child_count) {
                struct page_table *child = root->children[job->cursor++];

                if (!child || !child->is_linked)
                    continue;
                page_table_op_link(space, child, args);
                return JOB_OPERATION;
            }
            job->phase = PHASE_FLUSH;
            break;

        case PHASE_FLUSH:
            job->phase = vidmm->caps.explicit_invalidation ? PHASE_CLEAR : PHASE_END;
            flush_old_root(change, args);
            return JOB_OPERATION;

        case PHASE_CLEAR:
            job->phase = PHASE_END;
            swap_roots(change);
            page_table_op_clear(space, root, args);
            swap_roots(change);
            return JOB_OPERATION;

        case PHASE_END:
            return JOB_DONE;
        }
    }
}

static void change_finished(struct job *job)
{
    struct root_change *change = container_of(job, struct root_change, job);
    struct address_space *space = change->space;

    space_set_root(space);
    if (!change->is_rebuilt)
        space->root_changes--;
    space_release(space);
    table_memory_release(space, &change->memory);
    base_free(space->vidmm->services, change, sizeof *change);
}

static void change_restarted(struct job *job)
{
    struct root_change *change = container_of(job, struct root_change, job);

    if (change->is_rebuilt)
        return;
    if (job->phase == PHASE_HOLD)
        space_hold(change->space);
    if (job->phase <= PHASE_QUIET)
        swap_roots(change);
    else
        change->space->root_changes--;
    change->is_rebuilt = true;
}

static const struct job_ops change_ops = {.name = "change root",
                                          .next = change_next,
                                          .finished = change_finished,
                                          .restarted = change_restarted};

NTSTATUS root_reserve(struct address_space *space, uint64_t end)
{
    struct vidmm *vidmm = space->vidmm;
    struct page_table *root = space->root;
    uint64_t needed = div_round_up(end, page_table_coverage(vidmm, root->level));
    uint64_t most = page_table_entries(vidmm, root->level);
    /* In system memory the root has one page, which need not hold more than is needed. */
    uint64_t wished = root_segment(space) ? max_u64(needed, 2 * root->child_count) : needed;
    uint64_t entry_count = min_u64(wished, most);
    struct page_table **children;
    struct root_change *change;
    uint64_t bytes, i;
    NTSTATUS status;

    if (needed <= root->child_count)
        return STATUS_SUCCESS;
    ASSERT(vidmm->caps.root_is_resizable && !space->is_paging_process);
    status = root_size(space, &entry_count, &bytes);
    if (!NT_SUCCESS(status))
        return status;
    change = base_alloc(vidmm->services, sizeof *change);
    if (!change)
        return STATUS_NO_MEMORY;
    children = base_alloc_array(vidmm->services, (size_t)entry_count, sizeof(struct page_table *));
    status = STATUS_NO_MEMORY;
    if (!children)
        goto free_change;
    status = table_memory_take(space, root->level, bytes, entry_count, &change->memory);
    if (!NT_SUCCESS(status))
        goto free_children;

    for (i = 0; i < root->child_count; i++)
        children[i] = root->children[i];
    base_free_array(vidmm->services, root->children, root->child_count, sizeof *children);
    root->children = children;
    root->child_count = entry_count;
    change->space = space;
    change->job.ops = &change_ops;
    paging_queue_add(vidmm, &change->job);
    return STATUS_SUCCESS;

free_children:
    base_free_array(vidmm->services, children, entry_count, sizeof *children);
free_change:
    base_free(vidmm->services, change, sizeof *change);
    return status;
}
