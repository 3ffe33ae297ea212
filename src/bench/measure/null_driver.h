/*
 * Null driver: a layer that, while it is closed, answers for the driver and the GPU.
 *
 * Place      bench. What is measured behind it is the manager alone.
 * Model      A closed layer takes paging operations, command buffers and submissions. An operation
 *            is NULL_DRIVER_BYTES of a buffer; a command buffer has a patch location for each of
 *            its references. A submission has run by the time that it has been made: its interrupt
 *            comes out of the call, and null_driver_settle() brings the DPC. Operations are counted
 *            and never written, so nothing of what they have moved is anywhere: the layer stays
 *            closed until all allocations are destroyed.
 *            No GPU writes monitored fences: the driver is made out to be of WDDM 2.1 at most,
 *            whose paging fences are packets that retire.
 */
#ifndef DRYDOCK_BENCH_NULL_DRIVER_H
#define DRYDOCK_BENCH_NULL_DRIVER_H

#include "miniport/miniport.h"

#include <stdbool.h>
#include <stdint.h>

struct vidmm;

#define NULL_DRIVER_BYTES 64

struct null_driver {
    struct miniport layer; /* first: the layer's functions find the null driver by it */
    struct miniport_ops ops;
    struct vidmm *vidmm; /* while it is closed; NULL: it is open */
    uint64_t operations;
};

/* For live_manager.add_layer: puts the layer of *null_driver upon next. */
struct miniport *null_driver_init(struct null_driver *null_driver, struct miniport *next);

/* DPCs until the manager has nothing left to do; false: it waits for something else. */
bool null_driver_settle(struct null_driver *null_driver);

#endif
