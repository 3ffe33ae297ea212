/*
 * Entry jobs: the tables of a range are made, its entries written, its tables linked.
 *
 *     PHASE_SHOW          each new table gets its entry in the paging process's window
 *     PHASE_SHOW_FLUSH    once, where the GPU may have cached the former entry of a slot
 *     PHASE_INITIALISE    each new table is set invalid throughout
 *     PHASE_ENTRIES       the entries that the job is for (next_entries())
 *     PHASE_LINK          the tables, children before their parents: only now the GPU finds them
 *     PHASE_FLUSH         of the range, where it is needed (flush())
 *
 * A driver that writes tables by a GPU address finds them through the window (GPU_VIRTUAL); for the
 * others the first two phases are empty.
 *
 * Source     contract.md PT-013..017, PT-024, PT-025, TLB-003; sequence S-13.
 */
#include "vidmm/mappings/entry_job.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/paging/job.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/vidmm_private.h"

#include "base/list.h"

enum phase {
    PHASE_SHOW,
    PHASE_SHOW_FLUSH,
    PHASE_INITIALISE,
    PHASE_ENTRIES,
    PHASE_LINK,
    PHASE_FLUSH,
    PHASE_END,
};

static bool has_used_slot(const struct list *fresh)
{
    const struct page_table *table;

    list_for_each (table, fresh, struct page_table, fresh) {
        if (table->memory.slot_is_used)
            return true;
    }
    return false;
}

/*
 * The next operation that makes the tables, in the phases before PHASE_ENTRIES. JOB_DONE: on to the
 * entries.
 */
static enum job_step next_of_tables(struct entry_job *entry_job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct address_space *space = entry_job->space;
    struct list *fresh = &entry_job->fresh;
    struct list **at = &entry_job->at;
    struct job *job = &entry_job->job;
    struct vidmm *vidmm = space->vidmm;
    bool is_shown = vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;

    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_SHOW:
            if (!*at)
                *at = fresh->next;
            if (*at == fresh || !is_shown) {
                job->phase = PHASE_SHOW_FLUSH;
                break;
            }
            page_table_op_show(space, container_of(*at, struct page_table, fresh), args);
            *at = (*at)->next;
            return JOB_OPERATION;

        case PHASE_SHOW_FLUSH:
            *at = fresh->next;
            job->phase = PHASE_INITIALISE;
            if (!is_shown || list_is_empty(fresh) ||
                (vidmm->caps.invalid_not_cached && !has_used_slot(fresh)))
                break;
            page_table_op_flush(&vidmm->paging.space, vidmm->paging.window_va,
                                PAGE_BYTES_OF(vidmm->paging.window_next), args);
            return JOB_OPERATION;

        case PHASE_INITIALISE:
            if (*at == fresh) {
                job->phase = PHASE_ENTRIES;
                break;
            }
            if (page_table_op_initialise_part(space, container_of(*at, struct page_table, fresh),
                                              args))
                *at = (*at)->next;
            return JOB_OPERATION;

        default:
            return JOB_DONE;
        }
    }
}

/* Links the tables, children first; they leave the list. JOB_DONE when all are linked. */
static enum job_step next_of_links(struct address_space *space, struct list *fresh,
                                   DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct list *link;

    while ((link = list_pop_back(fresh)) != NULL) {
        struct page_table *table = container_of(link, struct page_table, fresh);

        if (!table->parent)
            continue;
        page_table_op_link(space, table, args);
        return JOB_OPERATION;
    }
    return JOB_DONE;
}

enum job_step entry_job_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct entry_job *entry_job = container_of(job, struct entry_job, job);
    enum job_step step;

    for (;;) {
        switch ((enum phase)job->phase) {
        case PHASE_SHOW:
        case PHASE_SHOW_FLUSH:
        case PHASE_INITIALISE:
            step = next_of_tables(entry_job, args);
            if (step != JOB_DONE)
                return step;
            break;
        case PHASE_ENTRIES:
            if (entry_job->ops->next_entries(entry_job, args))
                return JOB_OPERATION;
            job->phase = PHASE_LINK;
            break;
        case PHASE_LINK:
            step = next_of_links(entry_job->space, &entry_job->fresh, args);
            if (step != JOB_DONE)
                return step;
            job->phase = PHASE_FLUSH;
            break;
        case PHASE_FLUSH:
            job->phase = PHASE_END;
            if (entry_job->ops->flush(entry_job, args))
                return JOB_OPERATION;
            break;
        case PHASE_END:
            return JOB_DONE;
        }
    }
}

void entry_job_restarted(struct job *job)
{
    container_of(job, struct entry_job, job)->at = NULL;
}

void entry_job_init(struct entry_job *entry_job, struct address_space *space,
                    const struct entry_job_ops *ops)
{
    entry_job->job.ops = &ops->job;
    entry_job->ops = ops;
    entry_job->space = space;
    list_init(&entry_job->fresh);
}
