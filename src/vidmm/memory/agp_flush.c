/*
 * AGP flush: what the GPU wrote through the bridge is in memory before the CPU reads it.
 *
 * A job of two operations (agp_op_flush()), which holds the allocation while it runs.
 *
 * Source     contract.md PHYS-004, PHYS-005.
 */
#include "vidmm/memory/agp_flush.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/memory/agp.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/vidmm_private.h"

#include "base/list.h"

static enum job_step flush_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, flush_job);

    return agp_op_flush(allocation, &job->phase, args) ? JOB_OPERATION : JOB_DONE;
}

static void flush_finished(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, flush_job);

    allocation->is_flushing = false;
    allocation_unhold(allocation);
}

static const struct job_ops flush_ops = {.next = flush_next, .finished = flush_finished};

bool agp_flush(struct vidmm_allocation *allocation)
{
    if (allocation->place.segment != allocation->vidmm->agp || !allocation->place.segment)
        return false;
    if (!allocation->is_flushing) {
        if (!allocation->is_agp_dirty)
            return false;
        allocation->is_flushing = true;
        allocation_hold(allocation);
        allocation->flush_job.ops = &flush_ops;
        paging_queue_add(allocation->vidmm, &allocation->flush_job);
        vidmm_pump(allocation->vidmm);
    }
    return true;
}
