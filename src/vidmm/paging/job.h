/*
 * Job: a generator of paging operations, which is how all work reaches the paging queue.
 *
 * Place      vidmm. Embedded in the object that the work is for: an allocation, a mapping, a table
 *            that moves. Only the paging queue calls it, and recovery.c after a reset.
 * Model      Jobs run strictly in the order in which they were queued. The queue asks the first job
 *            for its next operation until the job says JOB_DONE, and then asks the next job. So a
 *            generator sees earlier jobs as the GPU will see them when the operation runs. A job
 *            is finished when the packet that holds its last operation, and what other jobs do for
 *            it (struct scratch_debt), has retired. A job that was begun ahead of any request gives
 *            way: between two of its chunks the jobs behind it go first.
 *
 *                request                 job                    operation
 *                (residency.h)  queues   (allocation, mapping,  next() fills one
 *                waits in line  ------>  table ...)  ------->   DXGKARG_BUILDPAGINGBUFFER
 *                     ^                                              | the driver builds it
 *                     | done()                                       v
 *                barrier job                                    paging buffer
 *                     ^ finished()                                   | one packet a submission
 *                     |                                              v
 *                retirement  <------ fence of the packet ------ scheduler and GPU
 *
 * Ownership  The job belongs to its object, which stays from paging_queue_add() to finished().
 * Errors     A queued job cannot fail on our side: its memory is reserved before it is queued.
 */
#ifndef VIDMM_JOB_H
#define VIDMM_JOB_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct companion;
struct job;

enum job_step {
    JOB_OPERATION, /* *args holds the next operation */
    JOB_WAIT,      /* nothing now: ask again when a paging buffer has retired */
    JOB_DONE,      /* that was all */
    JOB_PAUSE,     /* nothing is half done, and the job gives way: others may go first */
};

/* Which job it is, for those who treat some of them alike. */
enum job_kind {
    JOB_OTHER,
    /* struct vidmm_allocation.job, by the fate of the allocation. */
    JOB_ENTER,     /* it is paged in */
    JOB_LEAVE,     /* it is paged out */
    JOB_DROP,      /* it was offered, and goes without its content */
    JOB_DIE,       /* it was destroyed */
    JOB_MOVE,      /* it gets another place in local memory */
    JOB_MAP_AGAIN, /* its tables are new: the entries of its mappings */
    /* Each recovery makes these anew. */
    JOB_OF_RECOVERY,
};

struct job_ops {
    enum job_kind kind;
    const char *name; /* for notes; NULL: by the kind */
    /*
     * Fills operation and its member of the union; the rest of *args is the queue's. Arrays
     * that args points to stay valid until the next call.
     */
    enum job_step (*next)(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
    /* Everything the job generated has retired. May free the job and queue others. */
    void (*finished)(struct job *job);
    /*
     * Operations that the job generated are lost (the adapter was reset, or slept), tables are as
     * new, and the job will be asked again from phase 0 and cursor 0 on: forget the rest. NULL:
     * there is no rest.
     */
    void (*restarted)(struct job *job);
};

struct job {
    const struct job_ops *ops;
    struct list link;     /* in the queue, then in the submission that holds its end */
    unsigned phase;       /* generator state */
    bool gives_way : 1;   /* nobody waits for it: it goes in small chunks, between others */
    bool is_paused : 1;   /* it has given way, and has not been asked since */
    unsigned number : 30; /* for notes (notes/note.h) */
    uint64_t cursor;
    struct companion *companion; /* that its operations run on; NULL: the system context */
};

/* Somebody waits for the job now: it gives way no longer. */
static inline void job_hurry(struct job *job)
{
    job->gives_way = job->is_paused = false;
}

static inline bool job_is_of_allocation(const struct job *job)
{
    return job->ops->kind != JOB_OTHER && job->ops->kind != JOB_OF_RECOVERY;
}

#endif
