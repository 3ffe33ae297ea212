/*
 * Resource: allocations that the driver has made by one call, and what it has of them together.
 *
 * Place      vidmm. Found by the D3DKMT handles of its allocations (struct handle_slot).
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

#include <ntddk.h>

#include <stdbool.h>

struct resource;
struct vidmm_device;

/* Gives one of which the creator has the only share; NULL: no memory. */
struct resource *resource_alloc(struct vidmm_device *device, unsigned capacity);
void resource_join(struct resource *resource);

/* The driver has made it, and its allocations. */
void resource_made(struct resource *resource, HANDLE driver_handle);

/* The end of the creator's share. */
void resource_let_go(struct resource *resource, bool ends_whole);

/* The end of an allocation's share; a handle that the driver has not given is NULL. */
void resource_lose(struct resource *resource, HANDLE driver_handle, HANDLE device_handle);

#endif
