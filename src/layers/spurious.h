/*
 * Spurious: a layer that calls the driver's interrupt routine for another device's interrupts.
 *
 * Place      layers. Nearest to the manager, above the layers that record and judge.
 * Model      The interrupt line is shared, so the routine of each device on it is called when any
 *            of them raises it: behind one of four DPCs and of eight submissions, as the seed
 *            chooses. (The player does it whenever the device has just gone to sleep and its
 *            registers do not answer.) A driver whose device has raised nothing returns FALSE and
 *            does nothing else. Where its own device has raised the line, the call is one that came
 *            early.
 * Ownership  Gives a miniport that owns next; on failure next is still the caller's.
 * Errors     STATUS_NO_MEMORY, from the constructor.
 * Source     nc-dispmprt-dxgkddi_interrupt_routine.
 */
#ifndef DRYDOCK_LAYERS_SPURIOUS_H
#define DRYDOCK_LAYERS_SPURIOUS_H

#include "base/services.h"
#include "machine/machine.h"
#include "miniport/miniport.h"

#include <stdint.h>

/* The machine, whose line it is, is borrowed. */
NTSTATUS spurious_layer_create(const struct base_services *services, struct machine *machine,
                               uint64_t seed, struct miniport *next, struct miniport **out_layer);

#endif
