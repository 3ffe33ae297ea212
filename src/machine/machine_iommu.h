/*
 * IOMMU: what stands between the device and system memory.
 *
 * Place      machine. Uses base only; the machine owns one. The GPU model asks it, the bench's
 *            platform programs it.
 * Model      Address spaces, named by a PASID; each is a table of pages:
 *
 *            | PASID             | whose addresses                                              |
 *            | MACHINE_NO_PASID  | what the device says without one: system pages by number.    |
 *            |                   | Translated only when the IOMMU remaps; else they are RAM's.  |
 *            | 1, 2, ...         | of a process: its CPU addresses                              |
 *
 *            | MACHINE_AGP       | the AGP window of the bus, through the bridge's GART; its     |
 *            |                   | pages count from MACHINE_AGP_BASE                            |
 *
 *            A page that is not mapped answers nothing. Nothing is cached: a page that is unmapped
 *            is out of reach at once.
 * Ownership  machine_iommu_create() gives the IOMMU; spaces live until destroyed or it goes.
 * Errors     false: no memory, or a page that is mapped already; nothing has changed then.
 * Units      Pages of 4 KiB, by number; below MACHINE_IOMMU_PAGES.
 */
#ifndef DRYDOCK_MACHINE_MACHINE_IOMMU_H
#define DRYDOCK_MACHINE_MACHINE_IOMMU_H

#include "base/services.h"

#include <stdbool.h>
#include <stdint.h>

#define MACHINE_NO_PASID 0u
#define MACHINE_AGP      4096u
#define MACHINE_AGP_BASE                                                                           \
    (UINT64_C(1) << 45) /* bus address; RAM of a machine with AGP ends before */
#define MACHINE_IOMMU_PAGES (UINT64_C(1) << 36) /* 48 bits of address */

struct machine_iommu;

struct machine_iommu *machine_iommu_create(const struct base_services *services);
void machine_iommu_destroy(struct machine_iommu *iommu);

/* Whether pages that the device names without a PASID are translated. At first they are not. */
void machine_iommu_set_remapping(struct machine_iommu *iommu, bool remaps);
bool machine_iommu_is_remapping(const struct machine_iommu *iommu);

/* A new, empty space of a process. */
bool machine_iommu_space_create(struct machine_iommu *iommu, uint32_t *out_pasid);
void machine_iommu_space_destroy(struct machine_iommu *iommu, uint32_t pasid);

/* Shows RAM pages pfns[0..count) at [first_page, + count). All or nothing. */
bool machine_iommu_map(struct machine_iommu *iommu, uint32_t pasid, uint64_t first_page,
                       uint64_t count, const uint64_t *pfns);
/* What is not mapped stays so. */
void machine_iommu_unmap(struct machine_iommu *iommu, uint32_t pasid, uint64_t first_page,
                         uint64_t count);

/* The RAM page behind a page of the space; false: nothing answers. */
bool machine_iommu_find(const struct machine_iommu *iommu, uint32_t pasid, uint64_t page,
                        uint64_t *out_pfn);
/* Pages mapped now, all spaces. */
uint64_t machine_iommu_mapped_pages(const struct machine_iommu *iommu);

#endif
