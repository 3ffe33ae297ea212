/*
 * AGP flush: what the GPU wrote through the bridge is in memory before the CPU reads it.
 *
 * Place      vidmm. Uses agp.h and the paging queue; used by locks.
 * Source     contract.md PHYS-004, PHYS-005.
 */
#ifndef VIDMM_AGP_FLUSH_H
#define VIDMM_AGP_FLUSH_H

#include <stdbool.h>

struct vidmm_allocation;

/*
 * True: what the GPU wrote is still on its way to memory; ask again. It may have been started now.
 */
bool agp_flush(struct vidmm_allocation *allocation);

#endif
