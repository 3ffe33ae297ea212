#include "vidmm/memory/resource.h"

#include "vidmm/memory/handles.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/services.h"

#include <stddef.h>
#include <string.h>

struct resource {
    struct vidmm_device *device;
    HANDLE driver_handle;
    D3DKMT_HANDLE own_handle; /* 0: nobody has asked for it */
    bool is_made;             /* the driver has it */
    bool ends_whole;
    unsigned shares;
    unsigned capacity; /* allocations that it may have */
    unsigned member_count;
    /* Of those that are gone, which the driver still has. */
    unsigned driver_count, device_count;
    /* hAllocation from 0 on, hDeviceSpecificAllocation from capacity on; then the members. */
    HANDLE handles[];
};

static size_t bytes_of(unsigned capacity)
{
    return offsetof(struct resource, handles) + 2 * capacity * sizeof(HANDLE) +
           capacity * sizeof(D3DKMT_HANDLE);
}

static D3DKMT_HANDLE *members_of(struct resource *resource)
{
    return (D3DKMT_HANDLE *)(resource->handles + 2 * resource->capacity);
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

void resource_join(struct resource *resource, D3DKMT_HANDLE member)
{
    resource->shares++;
    members_of(resource)[resource->member_count++] = member;
}

static void lose_member(struct resource *resource, D3DKMT_HANDLE member)
{
    D3DKMT_HANDLE *members = members_of(resource);
    unsigned i = 0;

    while (i < resource->member_count && members[i] != member)
        i++;
    if (i == resource->member_count)
        return;
    resource->member_count--;
    memmove(members + i, members + i + 1, (resource->member_count - i) * sizeof *members);
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
    if (resource->shares)
        return;
    handles_release(resource->device->vidmm, resource->own_handle);
    base_free(resource->device->vidmm->services, resource, bytes_of(resource->capacity));
}

void resource_let_go(struct resource *resource, bool ends_whole)
{
    resource->ends_whole = ends_whole;
    drop_share(resource);
}

void resource_lose(struct resource *resource, D3DKMT_HANDLE member, HANDLE driver_handle,
                   HANDLE device_handle)
{
    lose_member(resource, member);
    if (driver_handle)
        resource->handles[resource->driver_count++] = driver_handle;
    if (device_handle)
        resource->handles[resource->capacity + resource->device_count++] = device_handle;
    drop_share(resource);
}

HANDLE resource_data(const struct resource *resource)
{
    return resource->driver_handle;
}

D3DKMT_HANDLE resource_handle(struct resource *resource)
{
    if (!resource->own_handle)
        resource->own_handle = handles_take(resource->device->vidmm, NULL, resource);
    return resource->own_handle;
}

D3DKMT_HANDLE resource_member(const struct resource *resource, unsigned index)
{
    return index < resource->member_count ? members_of((struct resource *)resource)[index] : 0;
}
