/*
 * Late end: a node that hangs ends its packet after all, when the driver is asked for the state of
 * the node.
 *
 * Place      layers. Knows no GPU: the embedder ends the packet.
 * Model      DxgkDdiQueryEngineStatus is the last question before an engine is reset. The packet
 *            ends in front of it, so that the queue of the node may run empty before the reset
 *            (TDR-008).
 * Ownership  late_end_layer_create() gives a miniport that owns next.
 * Errors     STATUS_NO_MEMORY; next is still the caller's.
 */
#ifndef DRYDOCK_LAYERS_LATE_END_H
#define DRYDOCK_LAYERS_LATE_END_H

#include "base/services.h"
#include "miniport/miniport.h"

/* end(context, node) ends the packet, if the node hangs. */
NTSTATUS late_end_layer_create(const struct base_services *services,
                               void (*end)(void *context, unsigned node), void *context,
                               struct miniport *next, struct miniport **out_layer);

#endif
