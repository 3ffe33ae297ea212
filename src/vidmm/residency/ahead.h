/*
 * Ahead: what comes in, and what leaves, before anybody asks.
 *
 * Place      vidmm. A step of the pump, behind the requests; does nothing unless the policy has
 *            ahead_ns and the client has told its future (forecast.h).
 * Model      While no request waits, the allocation that is not resident and will be used first
 *            comes in, if it fits until then beside what will be created. If it does not,
 *            allocations leave whose next use is later. Nothing is held: whoever asks for something
 *            else finds what came in ahead to be a victim like any other.
 * Errors     None. What cannot come in is asked for later.
 */
#ifndef VIDMM_AHEAD_H
#define VIDMM_AHEAD_H

#include "vidmm/vidmm.h"

#include <stdbool.h>

struct vidmm;

/* Jobs that are under way at once: what is asked for meanwhile waits behind them. */
#define AHEAD_MOST 2

struct ahead {
    D3DKMT_HANDLE entering[AHEAD_MOST]; /* 0: none */
    struct segment *pressed;            /* where something had to leave last; NULL: nowhere */
};

bool ahead_run(struct vidmm *vidmm);

#endif
