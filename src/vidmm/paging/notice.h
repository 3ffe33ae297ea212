/*
 * Notices: paging operations that move nothing and tell the driver where an allocation is.
 *
 * Place      vidmm. Used by the generators of allocations (paging_physical.c, paging_virtual.c) and
 *            by recovery.
 * Model      NOTIFY_RESIDENCY, or NOTIFY_RESIDENCY2 part by part; NOTIFY_ALLOC before content
 *            leaves system memory.
 * Source     contract.md NTF-001..006, NTF-015..020; steps of S-05, S-07; sequence S-26.
 */
#ifndef VIDMM_NOTICE_H
#define VIDMM_NOTICE_H

#include "vidmm/memory/allocation.h"
#include "vidmm/paging/job.h"

struct mapping;

/* The driver learns that the placed allocation is there, or goes. */
void notice_op_residency(struct vidmm_allocation *allocation, bool is_resident,
                         DXGKARG_BUILDPAGINGBUFFER *args);
/* That operation is dropped, and was never shown to the driver. */
void notice_take_back(struct vidmm_allocation *allocation, const DXGKARG_BUILDPAGINGBUFFER *args);
/* The driver has not been told all of it. */
static inline bool notice_is_due(const struct vidmm_allocation *allocation)
{
    return allocation->wants_residency_notice &&
           (!allocation->is_noticed || allocation->notice_cursor);
}

void notice_op_iommu_unmap(const struct mapping *mapping, DXGKARG_BUILDPAGINGBUFFER *args);
/* Chunk by chunk through scratch; view.use is NULL and job.cursor 0 at first. */
enum job_step notice_next_of_eviction(struct vidmm_allocation *allocation,
                                      DXGKARG_BUILDPAGINGBUFFER *args);

#endif
