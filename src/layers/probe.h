/*
 * Probe: a layer that asks now and then what no driver can know.
 *
 * Place      miniport. Above the layer that judges, so that the answers are judged; below the
 *            manager's own, which never hear of it.
 * Model      Before some operations of DxgkDdiBuildPagingBuffer, never between a part and its
 *            repeat, the driver is called with an operation that does not exist (yet), the same
 *            buffer, and the rest of the structure zero. A lawful driver writes nothing and reports
 *            success; whatever it does to the buffer's pointer is taken back, so that what follows
 *            is built as if nobody had asked. Which operations: a choice of the seed.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md PB-028.
 */
#ifndef MINIPORT_PROBE_H
#define MINIPORT_PROBE_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stdint.h>

NTSTATUS miniport_probe_create(const struct base_services *services, uint64_t seed,
                               struct miniport *next, struct miniport **out_layer);

#endif
