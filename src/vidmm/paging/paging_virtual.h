/*
 * Virtual paging: the operations that move an allocation in the GpuMmu and IoMmu models.
 *
 * Place      vidmm. Generators for struct vidmm_allocation.job; allocation_paging.c queues them.
 * Model      Each fills the next operation of its job, or says JOB_DONE (job.h). The tables of
 *            operations for each kind of segment are at the head of paging_virtual.c.
 * Source     contract.md VX-001..012, PT-020..025, TLB-003; sequences S-05, S-07.
 */
#ifndef VIDMM_PAGING_VIRTUAL_H
#define VIDMM_PAGING_VIRTUAL_H

#include "vidmm/paging/job.h"

enum job_step virtual_enter_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
enum job_step virtual_leave_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
enum job_step virtual_move_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
/* The content goes: of an allocation that was destroyed, or was offered and is dropped. */
enum job_step virtual_die_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);
/* The entries of its mappings alone: the tables are new. */
enum job_step virtual_map_again_next(struct job *job, DXGKARG_BUILDPAGINGBUFFER *args);

#endif
