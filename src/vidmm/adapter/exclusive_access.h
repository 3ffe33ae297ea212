/*
 * Exclusive access: the device is silent while the IOMMU gives it another domain.
 *
 * Place      vidmm, driven by power.c, whose states it uses.
 * Source     contract.md IOMMU-001, IOMMU-002; DXGKDDI_BEGINEXCLUSIVEACCESS.
 */
#ifndef VIDMM_EXCLUSIVE_ACCESS_H
#define VIDMM_EXCLUSIVE_ACCESS_H

struct vidmm;

/* Everything has been drained: the window opens, unless the driver refuses. */
void exclusive_access_open(struct vidmm *vidmm);

#endif
