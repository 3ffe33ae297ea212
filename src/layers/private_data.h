/*
 * Private data: a layer that changes how much private data the driver says a paging buffer needs.
 *
 * Place      layers. Below the layers that judge: for them, too, the changed size is the driver's.
 * Model      A driver declares the size in DXGK_QUERYSEGMENTOUT* and is given exactly so many
 *            bytes. The layer declares another size, so that buffers run out of private data, or
 *            have none. A driver that declares 0 is left alone.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 */
#ifndef DRYDOCK_LAYERS_PRIVATE_DATA_H
#define DRYDOCK_LAYERS_PRIVATE_DATA_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdint.h>

NTSTATUS private_data_layer_create(const struct base_services *services, uint32_t bytes,
                                   struct miniport *next, struct miniport **out_layer);

#endif
