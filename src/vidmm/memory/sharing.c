/*
 * Sharing: an allocation that other devices than its own have opened.
 *
 * The driver's allocation belongs to the adapter (ALLOC-017); each device that uses it has an
 * opening of its own, with a handle from DxgkDdiOpenAllocation, and the allocation lists of its
 * packets carry that handle. All openings are closed before DxgkDdiDestroyAllocation (ALLOC-018).
 *
 * Source     contract.md ALLOC-017 to ALLOC-019.
 */
#include "vidmm/memory/sharing.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"

#include "base/list.h"
#include "base/services.h"

#include <string.h>

struct opening {
    struct opening *next; /* of the allocation, oldest first */
    struct list device_link;
    struct vidmm_allocation *allocation;
    struct vidmm_device *device;
    HANDLE handle; /* hDeviceSpecificAllocation */
};

static struct opening *find_opening(const struct vidmm_allocation *allocation,
                                    const struct vidmm_device *device)
{
    struct opening *opening;

    for (opening = allocation->openings; opening; opening = opening->next) {
        if (opening->device == device)
            return opening;
    }
    return NULL;
}

HANDLE opening_handle_in(const struct vidmm_allocation *allocation,
                         const struct vidmm_device *device)
{
    const struct opening *opening = find_opening(allocation_first(allocation), device);

    return opening ? opening->handle : allocation->device_handle;
}

static void close_opening(struct opening *opening)
{
    struct vidmm *vidmm = opening->device->vidmm;
    struct opening **at;
    DXGKARG_CLOSEALLOCATION close = {.NumAllocations = 1, .pOpenHandleList = &opening->handle};

    miniport_close_allocation(vidmm->miniport, opening->device->driver_device, &close);
    for (at = &opening->allocation->openings; *at != opening; at = &(*at)->next)
        ;
    *at = opening->next;
    list_remove(&opening->device_link);
    base_free(vidmm->services, opening, sizeof *opening);
}

NTSTATUS vidmm_allocation_open(struct vidmm_device *device, struct vidmm_allocation *allocation,
                               const void *private_data, uint32_t private_data_bytes)
{
    struct vidmm *vidmm = device->vidmm;
    DXGK_OPENALLOCATIONINFO info = {.hAllocation = allocation->handle};
    DXGKARG_OPENALLOCATION open = {.NumAllocations = 1, .pOpenAllocation = &info};
    struct opening *opening, **last;
    void *copy;
    NTSTATUS status;

    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (allocation_current(allocation)->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if ((device == allocation->device && !allocation->is_orphan) ||
        find_opening(allocation, device))
        return STATUS_INVALID_PARAMETER;
    opening = base_alloc(vidmm->services, sizeof *opening);
    copy = private_data_bytes ? base_alloc(vidmm->services, private_data_bytes) : NULL;
    if (!opening || (private_data_bytes && !copy)) {
        base_free(vidmm->services, copy, private_data_bytes);
        base_free(vidmm->services, opening, sizeof *opening);
        return STATUS_NO_MEMORY;
    }
    if (copy)
        memcpy(copy, private_data, private_data_bytes);
    info.pPrivateDriverData = copy;
    info.PrivateDriverDataSize = private_data_bytes;
    status = miniport_open_allocation(vidmm->miniport, device->driver_device, &open);
    base_free(vidmm->services, copy, private_data_bytes);
    if (!NT_SUCCESS(status)) {
        base_free(vidmm->services, opening, sizeof *opening);
        return status;
    }
    opening->allocation = allocation;
    opening->device = device;
    opening->handle = info.hDeviceSpecificAllocation;
    for (last = &allocation->openings; *last; last = &(*last)->next)
        ;
    *last = opening;
    list_push_back(&device->openings, &opening->device_link);
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_allocation_close(struct vidmm_device *device, struct vidmm_allocation *allocation)
{
    struct opening *opening = find_opening(allocation, device);

    if (!opening)
        return STATUS_INVALID_PARAMETER;
    /* A packet that has not been patched yet will carry the handle. */
    if (device->submission_count)
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    close_opening(opening);
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_allocation_leave(struct vidmm_allocation *allocation)
{
    struct vidmm_device *device = allocation->device;
    DXGKARG_CLOSEALLOCATION close = {.NumAllocations = 1,
                                     .pOpenHandleList = &allocation->device_handle};

    if (allocation->is_orphan || allocation_current(allocation)->is_destroyed)
        return STATUS_INVALID_PARAMETER;
    if (device->submission_count)
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    miniport_close_allocation(device->vidmm->miniport, device->driver_device, &close);
    allocation->device_handle = NULL;
    allocation->is_orphan = true;
    return STATUS_SUCCESS;
}

HANDLE opening_owner(const struct vidmm_allocation *allocation)
{
    return allocation->openings ? allocation->openings->device->driver_device : NULL;
}

void allocation_fail_devices(struct vidmm_allocation *allocation, const char *reason)
{
    const struct vidmm_allocation *first = allocation_first(allocation);

    if (!first->is_orphan)
        device_fail(first->device, reason);
    for (struct opening *opening = first->openings; opening; opening = opening->next)
        device_fail(opening->device, reason);
}

void openings_close_of_allocation(struct vidmm_allocation *allocation)
{
    while (allocation->openings)
        close_opening(allocation->openings);
}

void openings_close_of_device(struct vidmm_device *device)
{
    while (!list_is_empty(&device->openings))
        close_opening(list_first_entry(&device->openings, struct opening, device_link));
}
