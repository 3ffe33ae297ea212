/*
 * Scratch view: part of an allocation, seen by the paging process for the length of one operation.
 *
 *     take      pages of the scratch range; not now while its entries are still in use
 *     map       entries at the pages where they are: the placement, or the backing store
 *     flush     where invalid entries may be cached, or when the CPU has written the entries
 *     use       the operation that the view is for
 *     hide      entries invalid again, flush; not when the CPU writes entries, for the operation
 *               has not run yet
 *
 * Source     contract.md PT-043, VX-001; sequences S-20, S-26.
 */
#include "vidmm/mappings/scratch_view.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm_private.h"

enum step { STEP_TAKE, STEP_MAP, STEP_FLUSH, STEP_USE, STEP_HIDE, STEP_HIDE_FLUSH, STEP_END };

void scratch_view_begin(struct scratch_view *view, struct vidmm_allocation *allocation,
                        uint64_t first_page, uint64_t page_count, scratch_view_use *use)
{
    view->allocation = allocation;
    view->first_page = first_page;
    view->page_count = page_count;
    view->use = use;
    view->step = STEP_TAKE;
    view->done = 0;
    view->is_of_backing = !allocation->place.segment ||
                          allocation->place.segment->kind != SEGMENT_PAGES ||
                          allocation->state == ALLOCATION_LEAVING;
}

enum job_step scratch_view_next(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = view->allocation;
    struct vidmm *vidmm = allocation->vidmm;
    struct address_space *space = &vidmm->paging.space;
    bool writes_at_once = vidmm->caps.update_mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    uint64_t left = view->page_count - view->done;

    for (;;) {
        switch ((enum step)view->step) {
        case STEP_TAKE:
            if (!paging_process_take_scratch(vidmm, view->page_count, &view->va))
                return JOB_WAIT;
            view->step = STEP_MAP;
            break;
        case STEP_MAP:
            if (left) {
                view->done += page_table_op_map(
                    space, view->va + PAGE_BYTES_OF(view->done),
                    &(struct mapped_pages){.allocation = allocation,
                                           .first_page = view->first_page + view->done,
                                           .page_count = left,
                                           .from_backing = view->is_of_backing},
                    args);
                return JOB_OPERATION;
            }
            view->step = STEP_FLUSH;
            break;
        case STEP_FLUSH:
            view->step = STEP_USE;
            if (vidmm->caps.invalid_not_cached && !writes_at_once)
                break;
            page_table_op_flush(space, view->va, PAGE_BYTES_OF(view->page_count), args);
            return JOB_OPERATION;
        case STEP_USE:
            view->done = 0;
            left = view->page_count;
            view->step = writes_at_once ? STEP_END : STEP_HIDE;
            view->use(view, args);
            return JOB_OPERATION;
        case STEP_HIDE:
            if (left) {
                view->done += page_table_op_unmap(space, view->va + PAGE_BYTES_OF(view->done), left,
                                                  false, allocation->driver_handle,
                                                  view->first_page + view->done, args);
                return JOB_OPERATION;
            }
            view->step = STEP_HIDE_FLUSH;
            break;
        case STEP_HIDE_FLUSH:
            view->step = STEP_END;
            page_table_op_flush(space, view->va, PAGE_BYTES_OF(view->page_count), args);
            return JOB_OPERATION;
        case STEP_END:
            return JOB_DONE;
        }
    }
}
