/*
 * Paging queue: jobs into operations, operations into paging buffers, buffers to the GPU.
 *
 * Place      vidmm. Calls jobs (job.h), the driver and the scheduler. vidmm_pump() drives it.
 * Model      One buffer is current; operations are built into it one behind the other. When no
 *            further operation can be built now, those that have been built are submitted.
 *            INSUFFICIENT goes on in a fresh buffer with the same operation and the driver's
 *            MultipassOffset. A job ends in the submission that holds its last operation,
 *            and the clean-up that it owes (struct scratch_debt).
 * Ownership  paging_queue_add() lends the job until its finished() is called.
 * Errors     Whatever can fail for lack of memory fails in paging_queue_init(). A driver that
 *            breaks a rule is reported, and the operation is dropped.
 * Units      Bytes of buffers and private data; submissions are numbered from 1.
 * Source     contract.md PB-001..031, XFER-011/012, DISC-004/005, PATCH-009; sequences S-09, S-10.
 */
#ifndef VIDMM_PAGING_QUEUE_H
#define VIDMM_PAGING_QUEUE_H

#include "vidmm/mappings/scratch_view.h"
#include "vidmm/paging/job.h"
#include "vidsch/vidsch.h"

struct mapping;
struct vidmm;
struct vidmm_allocation;

struct paging_buffer {
    uint8_t *cpu;
    uint64_t first_page; /* contiguous system pages */
    bool has_slots;      /* ... seen through the aperture that the driver wants, from ... */
    uint64_t slots;      /* ... this byte offset on (paging_aperture.c) */
    bool is_mapped;      /* ... which show its pages now */
    uint64_t va;         /* in the paging process; 0 in the physical model */
    uint32_t bytes;      /* usable */
    uint32_t used;       /* built so far */
    uint32_t submitted;  /* ... and handed to the scheduler */
    uint8_t *private_data;
    uint32_t private_bytes;
    uint32_t private_used;
    uint32_t private_submitted;
    unsigned in_flight; /* submissions */
};

struct paging_submission {
    struct vidsch_packet packet;
    struct vidmm *vidmm;
    struct paging_buffer *buffer;
    struct companion *companion; /* the context that the buffer runs on; NULL: the system context */
    uint64_t number;             /* in the order of the queue, from 1 */
    uint32_t start, end;
    uint32_t private_start, private_end;
    HANDLE driver_context; /* NULL: nobody's, the node says where it runs (SUB-003) */
    struct list jobs;      /* that end here */
    struct list in_flight; /* in paging_queue.in_flight, or free */
};

#define PAGING_SUBMISSIONS 64

/*
 * What a generator that moves an allocation remembers from one operation to the next. One job is
 * generated at a time, so there is one of it, and it means nothing when a job begins.
 */
struct generation {
    struct mapping *walk; /* mapping whose entries are being written */
    uint64_t piece;       /* pages of walk, or of one side of the chunk, that are done */
    /* A chunk is the pages of the allocation, from job.cursor on, that scratch shows (GpuMmu). */
    uint64_t chunk_pages;
    uint64_t chunk_va;         /* source side; the destination follows it, and begins */
    uint64_t chunk_stride;     /* ... so many pages behind */
    uint64_t chunk_protection; /* driver protection: 0, or a unique one (VX-012) */
    /* What is made invalid behind it: scratch from here to its end, with what is owed. */
    uint64_t clean_va, clean_pages;
    uint64_t
        aperture_cursor; /* pages that have their map or unmap operation; 0 between two walks */
    struct scratch_view view; /* view.use is NULL: no view */
};

/*
 * Entries of scratch that still show what was moved: chunks of small allocations that move one
 * behind the other share the operations that make their entries invalid. Their jobs have not ended
 * before that.
 */
struct scratch_debt {
    uint64_t va;      /* where they begin; 0: there are none */
    struct list jobs; /* that are over but for it */
};

struct paging_queue {
    /* The operation that is being built. */
    struct list jobs;
    struct job *job;    /* the one of them that is being generated; NULL: none has begun */
    bool has_operation; /* operation is not complete yet */
    bool is_shown;      /* it was built, at least in part */
    bool needs_buffer;  /* the driver found the current one too small */
    bool is_pumping;
    bool is_building;                    /* the driver is in DxgkDdiBuildPagingBuffer */
    DXGKARG_BUILDPAGINGBUFFER operation; /* as the job gave it; repeated unchanged (PB-015) */
    struct vidmm_allocation *subject;    /* of the operation; NULL: no one allocation */
    unsigned fresh_failures;  /* INSUFFICIENT on fresh buffers without progress (PB-012) */
    unsigned aimless_repeats; /* ... with bytes written, and MultipassOffset as before (PB-014) */
    struct generation generation;

    /* Buffers, and submissions that are with the scheduler. */
    struct paging_buffer *buffers;
    unsigned buffer_count;
    unsigned current;  /* index into buffers */
    struct list ended; /* jobs whose end is in the current buffer, not submitted yet */
    struct scratch_debt debt;
    struct list in_flight;
    struct list idle;
    struct paging_submission submissions[PAGING_SUBMISSIONS];
    NTSTATUS retired_status;         /* of the packet whose jobs are being finished */
    struct companion *companion;     /* of built operations; NULL: the system context */
    struct companion *submitted_for; /* the same of the last submission */
    uint64_t submitted;              /* its number */
    struct vidsch_fence retired;     /* the number of the last one that has */
    uint64_t executed, refused;      /* ... that the GPU has run, and that it never got */
    /* Of what gives way, out and in: the submissions of the last chunk and of the one before. */
    uint64_t gave_way[2][2];
    uint64_t slot_user; /* the number of that with the last operation through aperture slots */

    /* The system context. */
    HANDLE driver_process, driver_device, driver_context;
    HANDLE spare_device; /* starts_as_observed: made, and never used */
    struct vidsch_context *context;
    unsigned node;
};

/*
 * The system's process, device and context in the driver; of a struct vidmm that knows its nodes.
 */
NTSTATUS paging_queue_create_context(void *vidmm);
NTSTATUS paging_queue_init(struct vidmm *vidmm);
void paging_queue_fini(struct vidmm *vidmm);
/* Paging buffers are not mapped in the paging process. */
bool paging_queue_hides_buffers(const struct vidmm *vidmm);

void paging_queue_add(struct vidmm *vidmm, struct job *job);
/* Builds and submits all it can; called by vidmm_pump(). True if it did anything. */
bool paging_queue_run(struct vidmm *vidmm);
/* The number of the submission that has, or will have, what was built last. */
uint64_t paging_queue_last(const struct vidmm *vidmm);
/* The job that is asked next when this one is over; NULL: that is not certain. */
const struct job *paging_queue_following(const struct vidmm *vidmm, const struct job *job);
/*
 * Has the driver execute an operation at once, without a buffer: page tables of the paging process
 * (PB-026, PT-020).
 */
void paging_queue_build_now(struct vidmm *vidmm, DXGKARG_BUILDPAGINGBUFFER *args);
/* Counts an operation that the driver has built. */
void paging_queue_count(struct vidmm *vidmm, const DXGKARG_BUILDPAGINGBUFFER *args);
bool paging_queue_is_idle(const struct vidmm *vidmm);
/* Nothing is left but what was queued behind the last words about tables (POWER_TABLES). */
bool paging_queue_may_sleep(const struct vidmm *vidmm);
/* Everything built so far has retired. */
bool paging_queue_is_drained(const struct vidmm *vidmm);

/*
 * The operation on an allocation that its job has given and the driver has not been shown; NULL:
 * there is none.
 */
const DXGKARG_BUILDPAGINGBUFFER *paging_queue_unseen(const struct vidmm *vidmm,
                                                     struct vidmm_allocation **out_subject);
/*
 * The adapter has been reset and nothing is with the driver: forgets built operations and appends
 * the jobs that have not finished, in their order, to unfinished.
 */
void paging_queue_reset(struct vidmm *vidmm, struct list *unfinished);
/* The companion goes, and none of its jobs is left. */
void paging_queue_leave(struct vidmm *vidmm, const struct companion *companion);
/* The adapter has gone: forgets built operations; jobs run to their ends without the driver. */
void paging_queue_abandon(struct vidmm *vidmm);

#endif
