/*
 * The scheduling log of a node: which context runs, is ready, or has nothing to do.
 *
 * Place      refkmd, private; above adapter.h. submit.c and interrupt.c tell it what comes and what
 *            goes.
 * Model      The board has no scheduler of its own, so the driver writes the log, by the processor.
 *            All is written at device IRQL, in the interrupt routine or synchronised with it.
 */
#ifndef REFKMD_SCHEDULING_LOG_H
#define REFKMD_SCHEDULING_LOG_H

#include "refkmd/adapter.h"

/*
 * The newest submission of the node has been entered; its doorbell is not rung yet. At device IRQL.
 */
void refkmd_log_submission(struct refkmd_adapter *adapter, UINT ordinal);
/* The context's submission has left the node. At device IRQL. */
void refkmd_log_end(struct refkmd_adapter *adapter, UINT ordinal,
                    const struct refkmd_context *context);

#endif
