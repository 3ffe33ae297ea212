/*
 * Doorbells: submissions on their way to the board.
 *
 * Place      refkmd, private; above adapter.h. submit.c makes them, schedule.c keeps some back.
 */
#ifndef REFKMD_DOORBELL_H
#define REFKMD_DOORBELL_H

#include "refkmd/adapter.h"

struct refkmd_context;

/* It runs in the context's save area, which counts it from now on. */
void refkmd_run_in_save_area(const struct refkmd_context *context,
                             struct refkmd_submission *submission);

/* To the node's registers; on a node with hardware queues at device IRQL. */
void refkmd_ring_doorbell(struct refkmd_adapter *adapter, UINT ordinal,
                          const struct refkmd_submission *submission);

#endif
