/*
 * Physical paging: the operations that move an allocation in the physical model.
 *
 * Place      vidmm. Generators for struct vidmm_allocation.job; allocation_paging.c queues them.
 * Model      Each fills the next operation of its job, or says JOB_DONE (job.h). The tables of
 *            operations for each kind of segment are at the head of paging_physical.c.
 * Source     contract.md XFER, FILL, DISC, APER; sequences S-03, S-04, S-06, S-11, S-12.
 */
#ifndef VIDMM_PAGING_PHYSICAL_H
#define VIDMM_PAGING_PHYSICAL_H

#include "vidmm/paging/job.h"

enum job_step physical_enter_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
enum job_step physical_leave_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
enum job_step physical_move_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
/* The content goes: of an allocation that was destroyed, or was offered and is dropped. */
enum job_step physical_die_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);

#endif
