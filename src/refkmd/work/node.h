/*
 * A node: what it has, and routines at device IRQL.
 *
 * Place      refkmd, private; above adapter.h. Its ring is filled by doorbell.c and emptied by
 *            interrupt.c.
 */
#ifndef REFKMD_NODE_H
#define REFKMD_NODE_H

#include "refkmd/adapter.h"

/* Nothing submitted to the node is unfinished. */
BOOLEAN refkmd_node_is_drained(const struct refkmd_node *node);

/* Submissions under way on the node will not run: they count in no save area. */
void refkmd_drop_submissions(struct refkmd_node *node);

/* Run routine(context) at device IRQL, not at the same time as the interrupt routine. */
void refkmd_synchronize(struct refkmd_adapter *adapter, PKSYNCHRONIZE_ROUTINE routine,
                        void *context);

#endif
