/*
 * Pump: where all work of the manager goes on.
 *
 * Place      vidmm. Knows of the parts of the manager only what struct pump_step says; adapter.c
 *            has the table of them. Called by public functions, when they have changed something
 *            that others may wait for.
 * Model      It runs the steps in their order, again and again, until none of them can do anything.
 *            While the driver's completions are delivered it holds still, so that a request is
 *            never judged hopeless before the callbacks that would have released memory have run.
 */
#ifndef VIDMM_PUMP_H
#define VIDMM_PUMP_H

#include <stdbool.h>

struct vidmm;

/* A part of the manager that goes on by itself when it can. */
struct pump_step {
    bool (*run)(struct vidmm *vidmm); /* true: it did something; NULL: the end of the table */
    unsigned power_states;            /* the states it runs in: 1u << enum power_state */
};

/* May be called while it runs: it then goes round once more. */
void vidmm_pump(struct vidmm *vidmm);

#endif
