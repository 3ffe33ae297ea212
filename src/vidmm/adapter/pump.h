/*
 * Pump: where all work of the manager goes on.
 *
 * Place      vidmm, above everything else. Called by public functions, when they have changed
 *            something that others may wait for.
 * Model      It buries destroyed allocations, serves requests and tile updates, runs the paging
 *            queue and the power until none of them can do anything. While the driver's completions
 *            are delivered it holds still, so that a request is never judged hopeless half way.
 */
#ifndef VIDMM_PUMP_H
#define VIDMM_PUMP_H

struct vidmm;

/* May be called while it runs: it then goes round once more. */
void vidmm_pump(struct vidmm *vidmm);

#endif
