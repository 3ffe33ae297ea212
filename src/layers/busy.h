/*
 * Busy: a layer that plays the hardware whose register cannot change while an allocation is in use.
 *
 * Place      miniport. Above the driver and below what records and judges.
 * Model      TRANSFER, DISCARD_CONTENT and SPECIAL_LOCK_TRANSFER come back with
 *            STATUS_GRAPHICS_ALLOCATION_BUSY and nothing written until the manager says
 *            AllocationIsIdle; then, and for every other operation, the call goes to the driver.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md XFER-011..013, DISC-004, SLT-006; sequence S-10.
 */
#ifndef MINIPORT_BUSY_H
#define MINIPORT_BUSY_H

#include "base/services.h"
#include "miniport/miniport.h"

NTSTATUS miniport_busy_create(const struct base_services *services, struct miniport *next,
                              struct miniport **out_layer);

#endif
