/*
 * Handles: the D3DKMT handles by which the driver asks for what it has of an object.
 *
 * Place      vidmm. An allocation has one from its creation on; a resource from the first time that
 *            the driver asks for the parent of one of its allocations.
 * Model      Handle h is slot h - 1 of a table that doubles. Free slots are chained through it.
 * Errors     0 and NULL are no handle and no object.
 */
#ifndef VIDMM_HANDLES_H
#define VIDMM_HANDLES_H

#include <d3dkmddi.h>

struct resource;
struct told_uses;
struct vidmm;
struct vidmm_allocation;

struct handle_slot {
    struct vidmm_allocation *allocation; /* NULL: the handle is the resource's own */
    struct resource *resource;           /* of which it is a part (resource.h); NULL: none */
    struct told_uses *uses;              /* that the client has told (forecast.h); NULL: none */
};

/* A handle that stands for this; 0: no memory. */
D3DKMT_HANDLE handles_take(struct vidmm *vidmm, struct vidmm_allocation *allocation,
                           struct resource *resource);
void handles_release(struct vidmm *vidmm, D3DKMT_HANDLE handle);
void handles_fini(struct vidmm *vidmm);

struct vidmm_allocation *allocation_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle);
struct resource *resource_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle);

#endif
