#include "vidmm/memory/resource.h"

#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/services.h"

#include <stddef.h>

struct resource {
    struct vidmm_device *device;
    HANDLE driver_handle;
    bool is_made; /* the driver has it */
    bool ends_whole;
    unsigned shares;
    unsigned capacity; /* allocations that it may have */
    /* Of those that are gone, which the driver still has. */
    unsigned driver_count, device_count;
    HANDLE handles[]; /* hAllocation from 0 on, hDeviceSpecificAllocation from capacity on */
};

static size_t bytes_of(unsigned capacity)
{
    return offsetof(struct resource, handles) + 2 * capacity * sizeof(HANDLE);
}

struct resource *resource_alloc(struct vidmm_device *device, unsigned capacity)
{
    struct resource *resource = base_alloc(device->vidmm->services, bytes_of(capacity));

    if (!resource)
        return NULL;
    *resource =
        (struct resource){.device = device, .ends_whole = true, .shares = 1, .capacity = capacity};
    return resource;
}

void resource_join(struct resource *resource)
{
    resource->shares++;
}

void resource_made(struct resource *resource, HANDLE driver_handle)
{
    resource->is_made = true;
    resource->driver_handle = driver_handle;
}

/* The driver gives up what it has of allocations that are gone. */
static void end_in_driver(struct resource *resource)
{
    struct vidmm_device *device = resource->device;
    DXGKARG_CLOSEALLOCATION close = {0};
    DXGKARG_DESTROYALLOCATION destroy = {0};

    close.NumAllocations = resource->device_count;
    close.pOpenHandleList = resource->handles + resource->capacity;
    if (close.NumAllocations)
        miniport_close_allocation(device->vidmm->miniport, device->driver_device, &close);
    destroy.NumAllocations = resource->driver_count;
    destroy.pAllocationList = resource->handles;
    destroy.hResource = resource->driver_handle;
    destroy.Flags.DestroyResource = resource->is_made && !resource->shares;
    if (destroy.NumAllocations)
        miniport_destroy_allocation(device->vidmm->miniport, NULL, &destroy);
    resource->driver_count = resource->device_count = 0;
}

static void drop_share(struct resource *resource)
{
    if (--resource->shares && resource->ends_whole)
        return;
    end_in_driver(resource);
    if (!resource->shares)
        base_free(resource->device->vidmm->services, resource, bytes_of(resource->capacity));
}

void resource_let_go(struct resource *resource, bool ends_whole)
{
    resource->ends_whole = ends_whole;
    drop_share(resource);
}

void resource_lose(struct resource *resource, HANDLE driver_handle, HANDLE device_handle)
{
    if (driver_handle)
        resource->handles[resource->driver_count++] = driver_handle;
    if (device_handle)
        resource->handles[resource->capacity + resource->device_count++] = device_handle;
    drop_share(resource);
}
