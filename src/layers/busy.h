/*
 * Busy: a layer that plays the hardware whose register cannot change while an allocation is in use.
 *
 * Place      layers. Below the layers that record and judge.
 * Model      TRANSFER, DISCARD_CONTENT and SPECIAL_LOCK_TRANSFER come back with
 *            STATUS_GRAPHICS_ALLOCATION_BUSY and nothing written until the manager says
 *            AllocationIsIdle. From then on, and for every other operation, the call goes to the
 *            driver.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md XFER-011..013, DISC-004, SLT-006; sequence S-10.
 */
#ifndef DRYDOCK_LAYERS_BUSY_H
#define DRYDOCK_LAYERS_BUSY_H

#include "base/services.h"
#include "miniport/miniport.h"

NTSTATUS busy_layer_create(const struct base_services *services, struct miniport *next,
                           struct miniport **out_layer);

#endif
