/*
 * Counts: a layer that plays the driver which lowers DmaSize by what it has written.
 *
 * Place      miniport. Above the driver and below what records and judges.
 * Model      The documents call DmaSize an output too, and do not say of what (U1). The reference
 *            driver leaves it as it was; above this layer it tells what is left behind pDmaBuffer,
 *            whatever the status.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md PB-007; docs/contract-choices.md U1.
 */
#ifndef MINIPORT_COUNTS_H
#define MINIPORT_COUNTS_H

#include "base/services.h"
#include "miniport/miniport.h"

NTSTATUS miniport_counts_create(const struct base_services *services, struct miniport *next,
                                struct miniport **out_layer);

#endif
