/*
 * Context allocations: memory of the driver's own that belongs to a context or to a device.
 *
 * Place      vidmm. Submissions hold them; context_init.h fills them for the first time. The
 *            driver's callbacks are in vidmm.h.
 * Source     contract.md CTX-001..014; sequence S-20.
 */
#ifndef VIDMM_CONTEXT_ALLOCATION_H
#define VIDMM_CONTEXT_ALLOCATION_H

#include "base/list.h"

struct vidmm;
struct vidmm_allocation;
struct vidmm_context;
struct vidmm_reference;

/* Those of the context and those that all contexts of its device share. */
unsigned context_allocations_count(const struct vidmm_context *context);
void context_allocations_refer(const struct vidmm_context *context,
                               struct vidmm_reference *references);
/*
 * Calls of the driver that wait for an update return now (the update comes all the same). True:
 * there were.
 */
bool context_updates_end_waits(struct vidmm *vidmm);
/* Destroys those that the driver has left in the list of a context or device, which goes. */
void context_allocations_drop(struct vidmm *vidmm, struct list *allocations);

#endif
