/*
 * Recorder: writes down what a driver answers and does (transcript.h).
 *
 * Place      layers. Made before DriverEntry; its layer stands right above the driver.
 * Model      The driver "runs" between a call of it and the return, but not while a callback, a
 *            register or an event has the control. While it runs, what it does to the machine is
 *            written down (machine_set_witness()), its callbacks as they pass, and in front of each
 *            of these what it has written into memory (written.h). What it answers is
 *            found by the table of loans.
 *
 *            An event of the machine that is set while the driver runs is the driver's: a timer,
 *            a deferred call, the turn of a thread, the end of a wait. While it happens the driver
 *            runs. Code of the driver that runs in any other way is not written down: the
 *            transcript says so (TRANSCRIPT_UNFOLLOWED) and ends there.
 * Ownership  recorder_create() gives the recorder; file, machine and kernel are borrowed. Its layer
 *            does not own it, and goes first.
 * Errors     STATUS_NO_MEMORY. A transcript that cannot be written ends in the middle.
 */
#ifndef DRYDOCK_LAYERS_RECORD_H
#define DRYDOCK_LAYERS_RECORD_H

#include "base/services.h"
#include "machine/machine.h"
#include "miniport/miniport.h"
#include "nt/nt.h"

struct recorder;

NTSTATUS recorder_create(const struct base_services *services, struct machine *machine,
                         struct nt *nt, int file, struct recorder **out_recorder);
void recorder_destroy(struct recorder *recorder);

NTSTATUS record_layer_create(struct recorder *recorder, struct miniport *next,
                             struct miniport **out_layer);

/* Around DriverEntry (driver: its table, when there is one) and Unload (NULL). NULL: nothing. */
void recorder_begin(struct recorder *recorder);
void recorder_end(struct recorder *recorder, struct miniport *driver);

#endif
