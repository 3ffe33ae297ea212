/*
 * Power components: parts of the adapter whose idle states (F-states) the system chooses.
 *
 * Place      vidmm, the adapter. Known to the pump, to power.c, and to who starts and stops.
 * Model      A component is active while somebody needs it: the driver (DxgkCbSetPowerComponent-
 *            Active), work of its engine, allocations in its segment, or a component that has it
 *            for a provider. One that is idle for a while goes down to the deepest F-state whose
 *            latency is tolerated and whose residency is made up for by the time that it has been
 *            idle; a longer idle time takes it deeper, by way of F0. It comes back to F0 when it is
 *            needed, its providers first, and only then does work of its engine go on.
 *            A component is what its driver has completed: a transition is over when the driver's
 *            function returns, or when it has called DxgkCbCompleteFStateTransition.
 * Time       vidmm_platform.now_ns and wake. Without both, all components stay active.
 * Source     contract.md PWC.
 */
#ifndef VIDMM_COMPONENTS_H
#define VIDMM_COMPONENTS_H

#include "vidmm/vidmm.h"

#include <stdbool.h>
#include <stdint.h>

struct vidmm_component;

struct vidmm_components {
    struct vidmm_component *array;
    uint32_t count;
    bool is_started;   /* the driver has been told: what it says before changes no state yet */
    bool is_shared;    /* another driver needs those of type SHARED */
    bool is_abandoned; /* the board has gone: the driver is not called any more */
    uint64_t wake_ns;  /* the wake that was asked for last; 0: none */
};

/* Asks the driver for its components and starts them. NTSTATUS: STATUS_NO_MEMORY. */
NTSTATUS components_init(struct vidmm *vidmm);
/* Tells the driver that they are stopped, and forgets them. */
void components_fini(struct vidmm *vidmm);
void components_abandon(struct vidmm *vidmm);

/* A step of the pump. */
bool components_run(struct vidmm *vidmm);

/* No transition is under way, and those that have to be are in F0: a sleep may begin. */
bool components_may_sleep(const struct vidmm *vidmm);

/* No transition is under way. */
bool components_are_settled(const struct vidmm *vidmm);

/* The rule that a transition which does not end breaks; NULL: there is none. */
const char *components_explain_wait(const struct vidmm *vidmm, char *text, size_t size);

#endif
