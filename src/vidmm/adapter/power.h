/*
 * Power: everything that a sleep would take leaves, and comes back.
 *
 * Place      vidmm. vidmm_pump() drives it, and runs the other steps depending on its state.
 * Model      enum power_state; power.c draws its course. Exclusive access shares the states.
 * Source     contract.md PWR-001..011, PT-037; sequence S-16.
 */
#ifndef VIDMM_POWER_H
#define VIDMM_POWER_H

#include "vidmm/paging/job.h"
#include "vidmm/vidmm.h"

enum power_state {
    POWER_ON,
    POWER_DRAINING,
    POWER_PURGING,
    POWER_TABLES,
    POWER_OFF,
    POWER_SUSPENDING, /* exclusive_access.c: on, and drained for it */
    POWER_EXCLUSIVE,  /* nothing at all goes to the driver */
};

struct power {
    enum power_state state;
    enum vidmm_sleep sleep;
    NTSTATUS status; /* of the purge */
    vidmm_done done;
    void *context;
};

/* Goes on with a power-down when the queues are empty. True if it did anything. */
bool power_run(struct vidmm *vidmm);
/* The power-down, if one is under way, has ended in this state; done hears of it. */
void power_end(struct vidmm *vidmm, enum power_state state, NTSTATUS status);

#endif
