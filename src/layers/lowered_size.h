/*
 * Lowered size: a layer that plays the driver which lowers DmaSize by what it has written.
 *
 * Place      layers. Below the layers that record and judge.
 * Model      The documents call DmaSize an output too, and do not say of what (U1). The reference
 *            driver leaves DmaSize as it was; above this layer DmaSize is the number of bytes that
 *            are left behind pDmaBuffer, whatever the status.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md PB-007; docs/contract-choices.md U1.
 */
#ifndef DRYDOCK_LAYERS_LOWERED_SIZE_H
#define DRYDOCK_LAYERS_LOWERED_SIZE_H

#include "base/services.h"
#include "miniport/miniport.h"

NTSTATUS lowered_size_layer_create(const struct base_services *services, struct miniport *next,
                                   struct miniport **out_layer);

#endif
