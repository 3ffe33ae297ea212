/*
 * Residency: requests are served, in the order in which they were made.
 *
 * Place      vidmm. vidmm_pump() drives it. Uses everything that places an allocation or makes room
 *            for it.
 * Model      The first request holds its allocations and places those that are not resident; a
 *            barrier job behind the page-ins ends it (residency.c).
 * Source     contract.md RES-001..014; sequences S-03..S-07, S-12, S-22, S-23.
 */
#ifndef VIDMM_RESIDENCY_H
#define VIDMM_RESIDENCY_H

#include "vidmm/vidmm.h"

#include <stdbool.h>

struct request;

/* Ends the requests whose values have been written, if an interrupt has said that some were. */
void requests_rescan(struct vidmm *vidmm);
/* Whether one has said so or not: a reset has come between. */
void requests_end_reached(struct vidmm *vidmm);
bool residency_run(struct vidmm *vidmm);

/*
 * A request that is not queued yet, all of whose allocations are resident, with no request in front
 * of it that could change that: its allocations are held, and it has been served. It stays the
 * caller's, and done() is not called. False, and nothing has changed: it has to be queued.
 */
bool residency_serve_at_once(struct request *request);

/* vidmm_make_resident() of all members of a list, which hears of the end of a request. */
NTSTATUS residency_ask_for_list(struct vidmm_list *list, vidmm_done done, void *context,
                                uint64_t *out_fence_value);

/* Gives up one reference of each: what vidmm_evict() does. */
void residency_give_up(struct vidmm_device *device, unsigned count,
                       struct vidmm_allocation *const *allocations);
/* Sums of the segments, if they have changed since they were told last. */
void residency_tell_samples(struct vidmm *vidmm);

#endif
