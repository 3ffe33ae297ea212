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

#include <stdbool.h>

struct vidmm;

/* Ends the requests whose values have been written, if an interrupt has said that some were. */
void requests_rescan(struct vidmm *vidmm);
bool residency_run(struct vidmm *vidmm);

#endif
