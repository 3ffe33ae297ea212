/*
 * Private data: a layer that changes how much of it the driver says a paging buffer needs.
 *
 * Place      bench, a miniport above the others, so that only the manager hears of it. A driver
 *            declares the size in DXGK_QUERYSEGMENTOUT* and is given exactly that; the layer
 *            declares another, so that buffers run out of private data, or have none.
 * Ownership  Takes next; on failure next is still the caller's.
 */
#ifndef DRYDOCK_BENCH_PRIVATE_DATA_H
#define DRYDOCK_BENCH_PRIVATE_DATA_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdint.h>

NTSTATUS private_data_create(const struct base_services *services, uint32_t bytes,
                             struct miniport *next, struct miniport **out_layer);

#endif
