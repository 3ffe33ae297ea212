/*
 * AGP flush: the GPU's writes through the bridge are in memory before the CPU reads them.
 *
 * A job of two operations (agp_op_flush()), which holds the allocation while it runs.
 *
 * Source     contract.md PHYS-004, PHYS-005.
 */
#include "vidmm/views/agp_flush.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/views/agp.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/services.h"

/* The part that an allocation has while the GPU's writes to it are on their way. */
struct flush {
    struct job job;
    struct vidmm_allocation *allocation;
};

static enum job_step flush_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct flush *flush = container_of(job, struct flush, job);

    return agp_op_flush(flush->allocation, &job->phase, args) ? JOB_OPERATION : JOB_DONE;
}

static void flush_finished(struct job *job)
{
    struct flush *flush = container_of(job, struct flush, job);
    struct vidmm_allocation *allocation = flush->allocation;

    base_free(allocation->vidmm->services, flush, sizeof *flush);
    allocation->is_flushing = false;
    allocation_unhold(allocation);
}

static const struct job_ops flush_ops = {
    .name = "flush", .next = flush_next, .finished = flush_finished};

NTSTATUS agp_flush(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct flush *flush;

    if (allocation->place.segment != vidmm->agp || !allocation->place.segment)
        return STATUS_SUCCESS;
    if (allocation->is_flushing)
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    if (!allocation->is_agp_dirty)
        return STATUS_SUCCESS;
    flush = base_alloc(vidmm->services, sizeof *flush);
    if (!flush)
        return STATUS_NO_MEMORY;
    flush->job.ops = &flush_ops;
    flush->allocation = allocation;
    allocation->is_flushing = true;
    allocation_hold(allocation);
    paging_queue_add(vidmm, &flush->job);
    vidmm_pump(vidmm);
    return STATUS_GRAPHICS_ALLOCATION_BUSY;
}
