/*
 * IRQL: a layer that calls each DDI at the interrupt request level at which Windows does.
 *
 * Place      layers. Above the layers that judge: they see the level that the driver is called at.
 * Model      The memory manager is a library and knows no IRQL; it works when a DPC tells it that
 *            something was finished, as Windows works in a thread that the DPC wakes. So a DDI that
 *            is documented to run at PASSIVE_LEVEL runs there, and those of the scheduler at
 *            DISPATCH_LEVEL, whatever the level of the caller; behind the call it is restored, and
 *            a driver that left another level behind has been seen by then. A spin lock that it has
 *            kept does not hold up what comes later.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md PB-030, SUB-001; the pages of DxgkDdiSubmitCommand,
 *            DxgkDdiSubmitCommandVirtual, DxgkDdiSubmitCommandToHwQueue, DxgkDdiPreemptCommand
 *            and DxgkDdiQueryCurrentFence.
 */
#ifndef DRYDOCK_LAYERS_IRQL_H
#define DRYDOCK_LAYERS_IRQL_H

#include "base/services.h"
#include "miniport/miniport.h"
#include "nt/nt.h"

NTSTATUS irql_layer_create(const struct base_services *services, struct nt *nt,
                           struct miniport *next, struct miniport **out_layer);

#endif
