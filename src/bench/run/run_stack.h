/*
 * The stack of layers of a run: every layer between the driver and the memory manager, in one
 * table.
 *
 * Place      bench, private to the files of a run. Called when the driver has registered.
 * Model      A row is a layer; the rows stand in the order from the driver up. run_raise_stack()
 *            goes through the table once and puts each layer whose `is_in` holds upon run->top.
 *            Which layers a run has follows from its configuration, its driver and its GPU.
 *            docs/architecture.md shows the same table, and run_stack_test.c compares the two.
 *
 *            A new layer is a file in src/layers (layers/layer.h) and a row in run_stack.c.
 * Ownership  Each layer owns the one below it. Some are also borrowed by the assembly, which asks
 *            them later (run->trace, run->deny, run->foreign_board).
 * Errors     False: no memory for a layer. The run is refused with a sentence that names it, and
 *            run->top is the stack up to there.
 */
#ifndef DRYDOCK_BENCH_RUN_STACK_H
#define DRYDOCK_BENCH_RUN_STACK_H

#include "bench/run/run_private.h"

struct run_layer {
    const char *name;     /* as struct miniport_ops.name of the layer; NULL: not one name */
    const char *when;     /* when a run has it, for readers */
    const char *sentence; /* what it does, for readers */
    bool (*is_in)(const struct run_assembly *run); /* NULL: every run has it */
    NTSTATUS(*create)
    (struct run_assembly *run, struct miniport *next, struct miniport **out_layer);
};

/* By number from 0, the lowest; NULL behind the highest. */
const struct run_layer *run_layer_at(unsigned index);

/* Puts the layers upon run->top, which is the raw bottom. */
bool run_raise_stack(struct run_assembly *run);

#endif
