#include "vidmm/memory/handles.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/resource.h"
#include "vidmm/vidmm_private.h"

#include "base/services.h"

#include <string.h>

/* A free slot holds the next free handle, shifted, with bit 0 set. */
static struct vidmm_allocation *free_slot(D3DKMT_HANDLE next)
{
    return (void *)(((uintptr_t)next << 1) | 1);
}

static bool grow(struct vidmm *vidmm)
{
    uint32_t capacity = vidmm->handle_capacity ? vidmm->handle_capacity * 2 : 256;
    struct handle_slot *handles = base_alloc_array(vidmm->services, capacity, sizeof *handles);

    if (!handles)
        return false;
    if (vidmm->handle_capacity)
        memcpy(handles, vidmm->handles, vidmm->handle_capacity * sizeof *handles);
    for (uint32_t i = capacity; i > vidmm->handle_capacity; i--) {
        handles[i - 1].allocation = free_slot(vidmm->handle_free);
        vidmm->handle_free = i;
    }
    base_free_array(vidmm->services, vidmm->handles, vidmm->handle_capacity, sizeof *handles);
    vidmm->handles = handles;
    vidmm->handle_capacity = capacity;
    return true;
}

D3DKMT_HANDLE handles_take(struct vidmm *vidmm, struct vidmm_allocation *allocation,
                           struct resource *resource)
{
    D3DKMT_HANDLE handle;
    struct handle_slot *slot;

    if (!vidmm->handle_free && !grow(vidmm))
        return 0;
    handle = vidmm->handle_free;
    slot = &vidmm->handles[handle - 1];
    vidmm->handle_free = (uint32_t)((uintptr_t)slot->allocation >> 1);
    *slot = (struct handle_slot){.allocation = allocation, .resource = resource};
    return handle;
}

void handles_release(struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    if (!handle)
        return;
    vidmm->handles[handle - 1].allocation = free_slot(vidmm->handle_free);
    vidmm->handle_free = handle;
}

void handles_fini(struct vidmm *vidmm)
{
    base_free_array(vidmm->services, vidmm->handles, vidmm->handle_capacity,
                    sizeof *vidmm->handles);
    vidmm->handles = NULL;
    vidmm->handle_capacity = vidmm->handle_free = 0;
}

/* NULL: nobody has the handle. */
static const struct handle_slot *slot_of(const struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    const struct handle_slot *slot;

    if (handle == 0 || handle > vidmm->handle_capacity)
        return NULL;
    slot = &vidmm->handles[handle - 1];
    return (uintptr_t)slot->allocation & 1 ? NULL : slot;
}

struct vidmm_allocation *allocation_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    const struct handle_slot *slot = slot_of(vidmm, handle);

    return slot ? slot->allocation : NULL;
}

struct resource *resource_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    const struct handle_slot *slot = slot_of(vidmm, handle);

    return slot && !slot->allocation ? slot->resource : NULL;
}

/* ---- What the driver asks -------------------------------------------------------------------- */

HANDLE vidmm_handle_data(struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    const struct vidmm_allocation *allocation = allocation_by_handle(vidmm, handle);

    return allocation ? allocation->driver_handle : NULL;
}

HANDLE vidmm_resource_data(struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    const struct resource *resource = resource_by_handle(vidmm, handle);

    return resource ? resource_data(resource) : NULL;
}

D3DKMT_HANDLE vidmm_handle_parent(struct vidmm *vidmm, D3DKMT_HANDLE allocation)
{
    const struct handle_slot *slot = slot_of(vidmm, allocation);

    return slot && slot->allocation && slot->resource ? resource_handle(slot->resource) : 0;
}

D3DKMT_HANDLE vidmm_handle_child(struct vidmm *vidmm, D3DKMT_HANDLE resource, unsigned index)
{
    const struct resource *found = resource_by_handle(vidmm, resource);

    return found ? resource_member(found, index) : 0;
}
