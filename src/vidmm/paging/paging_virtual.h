/*
 * Virtual paging: the generators that move allocations in the GpuMmu and IoMmu models.
 *
 * Place      vidmm. Tables of operations for struct vidmm_allocation.job.
 * Source     contract.md VX-001..012, PT-020..025, TLB-003; sequences S-05, S-07.
 */
#ifndef VIDMM_PAGING_VIRTUAL_H
#define VIDMM_PAGING_VIRTUAL_H

#include "vidmm/paging/job.h"

extern const struct job_ops virtual_enter_ops, virtual_leave_ops, virtual_die_ops;
extern const struct job_ops virtual_drop_ops, virtual_move_ops, virtual_map_again_ops;

#endif
