/*
 * Scratch view: part of an allocation, seen by the paging process for the length of one operation.
 *
 * Place      vidmm. A step of a generator: the job's next() calls scratch_view_next() until that
 *            says JOB_DONE.
 * Ownership  Embedded in the object whose job uses it. One view at a time.
 * Units      Pages of 4 KiB of the allocation; va in bytes.
 * Source     contract.md PT-043, VX-001; sequences S-20, S-26.
 */
#ifndef VIDMM_SCRATCH_VIEW_H
#define VIDMM_SCRATCH_VIEW_H

#include "vidmm/paging/job.h"

struct vidmm_allocation;

struct scratch_view;
typedef void scratch_view_use(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args);
struct scratch_view {
    struct vidmm_allocation *allocation;
    uint64_t first_page, page_count;
    uint64_t va;   /* good from use() on, until the operations that follow it */
    uint64_t done; /* pages, of the current step */
    unsigned step;
    bool is_of_backing;    /* else of the placement */
    scratch_view_use *use; /* fills the operation */
};

/* The pages are taken where they are now: jobs that were queued before have run by then. */
void scratch_view_begin(struct scratch_view *view, struct vidmm_allocation *allocation,
                        uint64_t first_page, uint64_t page_count, scratch_view_use *use);
enum job_step scratch_view_next(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args);

#endif
