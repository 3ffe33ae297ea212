/*
 * GPU virtual addresses: mappings of allocations are made, and end.
 *
 * Place      vidmm. Uses the page tree, the paging queue and requests; public functions are in
 *            vidmm.h. mapping.h answers what others ask of a mapping.
 * Ownership  A mapping ends with vidmm_unmap_gpu_va(), or with its allocation.
 * Errors     As page_tables_prepare(); STATUS_INVALID_PARAMETER; nothing has changed then. Where
 *            there is no room for the tables, the mapping waits for it.
 * Source     contract.md PT-013..017, PT-024, PT-025, TLB-003, TLB-004; sequence S-13.
 */
#ifndef VIDMM_GPU_VA_H
#define VIDMM_GPU_VA_H

#include "vidmm/mappings/mapping.h"

/* As vidmm_map_gpu_va(), for any role: tile.c has mappings of its own. The caller pumps. */
NTSTATUS mapping_create(struct vidmm_process *process, const struct vidmm_map_request *request,
                        enum mapping_role role, uint64_t *out_va);
/* Makes the tables again that have left. As page_tables_prepare(). */
NTSTATUS mapping_restore_tables(struct mapping *mapping);
/* Frees a mapping whose entries are gone; its address range too. */
void mapping_free(struct mapping *mapping);

#endif
