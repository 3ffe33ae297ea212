/*
 * Sharing: openings of an allocation in other devices than its own.
 *
 * Place      vidmm. Openings hang on the allocation and on the device that opened it.
 * Source     contract.md ALLOC-017 to ALLOC-019.
 */
#ifndef VIDMM_SHARING_H
#define VIDMM_SHARING_H

#include "vidmm/memory/allocation.h"

#include <ntddk.h>

/* The driver's handle of an allocation in a device: of its opening there, or else its owner's. */
HANDLE opening_handle_in(const struct vidmm_allocation *allocation,
                         const struct vidmm_device *device);
/* The same, fast in the owner's device. */
static inline HANDLE allocation_handle_in(const struct vidmm_allocation *allocation,
                                          const struct vidmm_device *device)
{
    return device == allocation->device && !allocation->is_orphan
               ? allocation->device_handle
               : opening_handle_in(allocation, device);
}
/* The driver's device that owns an allocation whose own device has left it; NULL: nobody. */
HANDLE opening_owner(const struct vidmm_allocation *allocation);
/* Each device that has the allocation is in error from now on; see device_fail(). */
void allocation_fail_devices(struct vidmm_allocation *allocation, const char *reason);
void openings_close_of_allocation(struct vidmm_allocation *allocation);
void openings_close_of_device(struct vidmm_device *device);

#endif
