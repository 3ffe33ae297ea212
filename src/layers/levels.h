/*
 * Levels: a layer that calls each DDI at the interrupt request level at which Windows does.
 *
 * Place      bench, above all layers that judge: what they see is what the driver is called at.
 * Model      The memory manager is a library and knows no IRQL; it works when a DPC tells it that
 *            something was finished, as Windows works in a thread that the DPC wakes. So a DDI that
 *            is documented to run at PASSIVE_LEVEL runs there, and those of the scheduler at
 *            DISPATCH_LEVEL, whatever the level of the caller; behind the call it is restored, and
 *            a driver that left another level behind has been seen by then.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY.
 * Source     contract.md PB-030, SUB-001; the pages of DxgkDdiSubmitCommand,
 *            DxgkDdiSubmitCommandVirtual, DxgkDdiPreemptCommand and DxgkDdiQueryCurrentFence.
 */
#ifndef DRYDOCK_BENCH_LEVELS_H
#define DRYDOCK_BENCH_LEVELS_H

#include "base/services.h"
#include "miniport/miniport.h"
#include "nt/nt.h"

NTSTATUS levels_create(const struct base_services *services, struct nt *nt, struct miniport *next,
                       struct miniport **out_layer);

#endif
