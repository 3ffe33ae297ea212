/*
 * Entry jobs: the tables of a range are made, its entries written, its tables linked.
 *
 * Place      vidmm. The generator of mappings (gpu_va.c) and of updates of physical pages
 *            (physical_va.c).
 * Model      The phases are the same for both (entry_job.c); which entries are written, and which
 *            flush comes behind them, is each one's own.
 * Ownership  Embedded in the object that the entries are for. Its fresh tables are the tree's.
 * Source     contract.md PT-013..017, PT-024, PT-025, TLB-003; sequence S-13.
 */
#ifndef VIDMM_ENTRY_JOB_H
#define VIDMM_ENTRY_JOB_H

#include "vidmm/paging/job.h"

struct address_space;
struct entry_job;

struct entry_job_ops {
    struct job_ops job; /* .next = entry_job_next, .restarted = entry_job_restarted */
    /* The next operation on entries, counted by job.cursor in pages; false: there are no more. */
    bool (*next_entries)(struct entry_job *entry_job, DXGKARG_BUILDPAGINGBUFFER *args);
    /* All tables are linked. The flush of the range; false: none is needed. */
    bool (*flush)(struct entry_job *entry_job, DXGKARG_BUILDPAGINGBUFFER *args);
};

struct entry_job {
    struct job job;
    const struct entry_job_ops *ops;
    struct address_space *space;
    struct list fresh; /* tables to initialise and link, parents before children */
    struct list *at;   /* where the job is in fresh */
};

void entry_job_init(struct entry_job *entry_job, struct address_space *space,
                    const struct entry_job_ops *ops);
enum job_step entry_job_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
void entry_job_restarted(struct job *job);

#endif
