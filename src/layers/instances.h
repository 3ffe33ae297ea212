/*
 * Instances: two layers between which each instance of a renamed allocation has a handle of its
 * own.
 *
 * Place      layers. `instances` stands above the oracle and the checking layer, `one handle` below
 *            them; the trace above and the driver below see the one hAllocation that there is
 *            (ALLOC-022).
 * Model      Oracle and ledger follow an allocation by its handle, to one place. The upper layer
 *            asks the manager which instance a paging operation is about. Where that is another
 *            instance than the one that the allocation was made with, the upper layer puts the
 *            instance's name for hAllocation, and the lower layer puts the handle back. Allocation
 *            lists keep the driver's handles: there an entry says a place. Operations of WDDM 1
 *            alone: no other drivers' allocations are renamed.
 * Ownership  Each layer owns its next one; on failure next is still the caller's. struct instances
 *            is the caller's and outlives both.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md ALLOC-022.
 */
#ifndef DRYDOCK_LAYERS_INSTANCES_H
#define DRYDOCK_LAYERS_INSTANCES_H

#include "base/services.h"
#include "miniport/miniport.h"

struct instances {
    /* Gives the instance that the operation under way is about, as vidmm_paging_instance(). */
    const void *(*instance)(void *context);
    void *context;
    HANDLE name, handle; /* of the call that is under way; NULL: none is renamed */
};

NTSTATUS instances_layer_create(struct instances *instances, const struct base_services *services,
                                struct miniport *next, struct miniport **out_layer);
NTSTATUS one_handle_layer_create(struct instances *instances, const struct base_services *services,
                                 struct miniport *next, struct miniport **out_layer);

#endif
