/*
 * Probe: a layer that asks the driver now and then for an operation that no driver can know.
 *
 * Place      layers. Right above the layer that judges, so that the answers are judged; the layers
 *            above never hear of the question.
 * Model      Before some operations of DxgkDdiBuildPagingBuffer, never between a part and its
 *            repeat, the driver is called with an operation that does not exist (yet), the same
 *            buffer, and the rest of the structure zero. A lawful driver writes nothing and reports
 *            success; whatever it does to the buffer's pointer is taken back, so that what follows
 *            is built as if nobody had asked. Which operations: a choice of the seed.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md PB-028.
 */
#ifndef DRYDOCK_LAYERS_PROBE_H
#define DRYDOCK_LAYERS_PROBE_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdint.h>

NTSTATUS probe_layer_create(const struct base_services *services, uint64_t seed,
                            struct miniport *next, struct miniport **out_layer);

#endif
