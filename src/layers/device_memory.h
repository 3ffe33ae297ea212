/*
 * Device memory: a layer that plays a driver which asks the graphics kernel for memory of its own.
 *
 * Place      layers. Below the layers that record and judge.
 * Model      While its device is started the driver has memory by each callback that its version
 *            has: before WDDM 2.9 pages, contiguous memory, and an MDL of its own that is mapped to
 *            the IOMMU; later objects, one created for the adapter and three opened for it, with
 *            views and ADLs. It writes into all of it, and gives it back when the device stops.
 *            What the kernel does not have, it does without.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     "IOMMU-based GPU isolation", "IOMMU DMA remapping"; contract.md IOMMU-008 to 021.
 */
#ifndef DRYDOCK_LAYERS_DEVICE_MEMORY_H
#define DRYDOCK_LAYERS_DEVICE_MEMORY_H

#include "base/services.h"
#include "miniport/miniport.h"

NTSTATUS device_memory_layer_create(const struct base_services *services, struct miniport *next,
                                    struct miniport **out_layer);

#endif
