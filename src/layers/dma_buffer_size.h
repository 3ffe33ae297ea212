/*
 * DMA buffer size: a layer that changes how large the driver says a DMA buffer must be.
 *
 * Place      layers. Below the layers that judge: for them, too, the changed size is the driver's.
 * Model      A driver declares the size with each context, or with each device where it has no
 *            contexts, and is given buffers of exactly so many bytes. The layer declares another
 *            size, so that what DxgkDdiRender and DxgkDdiPresent write does not fit into one buffer
 *            (PATCH-014). The system context, whose buffers are paging buffers, is left alone, and
 *            so is a driver that declares 0.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 */
#ifndef DRYDOCK_LAYERS_DMA_BUFFER_SIZE_H
#define DRYDOCK_LAYERS_DMA_BUFFER_SIZE_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdint.h>

NTSTATUS dma_buffer_size_layer_create(const struct base_services *services, uint32_t bytes,
                                      struct miniport *next, struct miniport **out_layer);

#endif
