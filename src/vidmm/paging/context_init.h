/*
 * First content of context allocations: INIT_CONTEXT_RESOURCE.
 *
 * Place      vidmm. Used by the generators of allocations, in the place of a fill.
 * Model      The destination is named by its address in the segment, or shown to the paging process
 *            through a scratch view.
 * Source     contract.md CTX-003..006, CTX-014; sequence S-20.
 */
#ifndef VIDMM_CONTEXT_INIT_H
#define VIDMM_CONTEXT_INIT_H

#include "vidmm/mappings/scratch_view.h"

/* At the address in the segment. */
void context_allocation_op_init(const struct vidmm_allocation *allocation,
                                DXGKARG_BUILDPAGINGBUFFER *args);
/* At the address of the view. */
scratch_view_use context_allocation_init_view;

#endif
