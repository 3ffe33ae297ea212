/*
 * AGP flush: the GPU's writes through the bridge are in memory before the CPU reads them.
 *
 * Place      vidmm. Uses agp.h and the paging queue; used by locks.
 * Source     contract.md PHYS-004, PHYS-005.
 */
#ifndef VIDMM_AGP_FLUSH_H
#define VIDMM_AGP_FLUSH_H

#include <ntddk.h>

struct vidmm_allocation;

/*
 * STATUS_GRAPHICS_ALLOCATION_BUSY: the GPU's writes are still on their way to memory, which may
 * have begun now; ask again. STATUS_NO_MEMORY: the flush could not begin.
 */
NTSTATUS agp_flush(struct vidmm_allocation *allocation);

#endif
