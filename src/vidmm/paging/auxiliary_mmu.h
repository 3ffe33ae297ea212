/*
 * Auxiliary MMUs: MAP_MMU and UNMAP_MMU, mappings in MMUs beside that of the engines (WDDM 3.2).
 *
 * Place      vidmm. Used by paging_virtual.c.
 * Source     contract.md NTF-012, NTF-013, ADL-004, ADL-005, ADL-008; docs/contract-choices.md, U9.
 */
#ifndef VIDMM_AUXILIARY_MMU_H
#define VIDMM_AUXILIARY_MMU_H

#include <stdbool.h>

#include <ntddk.h>
#include <d3dkmddi.h>

struct vidmm_allocation;

/* The next operation, counted by the allocation's job.cursor; false, and 0: no more. */
bool auxiliary_mmu_next(struct vidmm_allocation *allocation, bool is_map,
                        DXGKARG_BUILDPAGINGBUFFER *args);

#endif
