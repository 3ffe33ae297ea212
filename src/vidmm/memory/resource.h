/*
 * Resource: allocations that the driver has made by one call, and what it has of them together.
 *
 * Place      vidmm. Found by the D3DKMT handles of its allocations (handles.h), and by its own.
 * Model      Each of its allocations has a share in it, and its creator has one while it is being
 *            made. An allocation that is gone loses its share; with the last one the driver
 *            destroys the resource, too (DestroyResource). A resource that ends whole keeps the
 *            driver's handles of those that are gone, and closes and destroys all of them by one
 *            call then. Until its creator has let go, it ends whole.
 * Ownership  The last share frees it.
 * Source     DXGKARG_CREATEALLOCATION, DXGKARG_DESTROYALLOCATION; contract.md ALLOC-018.
 */
#ifndef VIDMM_RESOURCE_H
#define VIDMM_RESOURCE_H

#include <d3dkmddi.h>

#include <stdbool.h>

struct resource;
struct vidmm_device;

/* Gives one of which the creator has the only share; NULL: no memory. */
struct resource *resource_alloc(struct vidmm_device *device, unsigned capacity);
void resource_join(struct resource *resource, D3DKMT_HANDLE member);

/* The driver has made it, and its allocations. */
void resource_made(struct resource *resource, HANDLE driver_handle);

/* The end of the creator's share. */
void resource_let_go(struct resource *resource, bool ends_whole);

/* The end of an allocation's share; a handle that the driver has not given is NULL. */
void resource_lose(struct resource *resource, D3DKMT_HANDLE member, HANDLE driver_handle,
                   HANDLE device_handle);

/* hResource, as the driver has set it. */
HANDLE resource_data(const struct resource *resource);

/* Its own handle, made when it is first asked for; 0: no memory. */
D3DKMT_HANDLE resource_handle(struct resource *resource);

/* The allocation of an index, of those that are there, in the order of their creation; 0: none. */
D3DKMT_HANDLE resource_member(const struct resource *resource, unsigned index);

#endif
