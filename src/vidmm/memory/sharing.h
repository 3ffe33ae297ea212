/*
 * Sharing: openings of an allocation in other devices than its own.
 *
 * Place      vidmm. Openings hang on the allocation and on the device that opened it.
 * Source     contract.md ALLOC-017 to ALLOC-019.
 */
#ifndef VIDMM_SHARING_H
#define VIDMM_SHARING_H

#include <ntddk.h>

struct vidmm_allocation;
struct vidmm_device;

/* The driver's handle of the allocation in a device: of its opening, or else its owner's. */
HANDLE allocation_handle_in(const struct vidmm_allocation *allocation,
                            const struct vidmm_device *device);
void openings_close_of_allocation(struct vidmm_allocation *allocation);
void openings_close_of_device(struct vidmm_device *device);

#endif
