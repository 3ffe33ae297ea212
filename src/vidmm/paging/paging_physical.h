/*
 * Physical paging: the generators that move allocations in the physical model.
 *
 * Place      vidmm. Tables of operations for struct vidmm_allocation.job.
 * Source     contract.md XFER, FILL, DISC, APER; sequences S-03, S-04, S-06, S-11, S-12.
 */
#ifndef VIDMM_PAGING_PHYSICAL_H
#define VIDMM_PAGING_PHYSICAL_H

#include "vidmm/paging/job.h"

extern const struct job_ops physical_enter_ops, physical_leave_ops, physical_die_ops;
extern const struct job_ops physical_drop_ops, physical_move_ops;

#endif
