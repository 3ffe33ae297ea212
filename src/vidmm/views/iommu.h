/*
 * IoMmu model: the GPU goes by the process's own addresses, through the system's IOMMU.
 *
 * Place      vidmm. Nothing here does anything in the other models, but iommu_check().
 * Model      Mapping an allocation shows its backing store at an address of the process, at once.
 * Errors     STATUS_NOT_SUPPORTED: the driver wants an IOMMU and the platform has none; the
 *            platform's own status.
 * Source     contract.md RES-017, IOMMU-003, PT-001.
 */
#ifndef VIDMM_IOMMU_H
#define VIDMM_IOMMU_H

#include <ntddk.h>

struct mapping;
struct vidmm;
struct vidmm_allocation;
struct vidmm_process;

NTSTATUS iommu_check(const struct vidmm *vidmm);
/* A PASID for the process. */
NTSTATUS iommu_open_process(struct vidmm_process *process);
void iommu_close_process(struct vidmm_process *process);
/* Shows the backing store at the mapping's address; takes one for an allocation that has none. */
NTSTATUS iommu_show_mapping(struct mapping *mapping);
void iommu_hide_mapping(struct mapping *mapping);
/*
 * The same of all mappings, when the allocation gets another backing store, or loses the one it
 * has.
 */
NTSTATUS iommu_show_backing(struct vidmm_allocation *allocation);
void iommu_hide_backing(struct vidmm_allocation *allocation);

#endif
