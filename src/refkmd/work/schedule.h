/*
 * Hardware scheduling: which submissions of a node with hardware queues the board may have.
 *
 * Place      refkmd, private; above adapter.h. submit.c hands submissions over, interrupt.c tells
 *            when the node has let go of them; hw_scheduling.c has the DDIs.
 * Model      The board runs what it has in the order in which it came. So the driver parks what is
 *            not to run now: work of contexts that are suspended, or not on the list that the
 *            kernel has switched the node to, and everything while the node yields or its engine is
 *            reset. To leave a context the node is preempted: it ends the submission
 *            that it runs and lets go of all others, which are parked and handed over again.
 *            The kernel has no more submissions under way than the node has slots, parked ones
 *            among them.
 *            All is done at device IRQL, in the interrupt routine or synchronised with it.
 */
#ifndef REFKMD_SCHEDULE_H
#define REFKMD_SCHEDULE_H

#include "refkmd/adapter.h"

BOOLEAN refkmd_node_has_queues(const struct refkmd_adapter *adapter, UINT ordinal);

/* To the board, now or when it is its turn. Of a node with queues. */
void refkmd_schedule(struct refkmd_adapter *adapter, UINT ordinal,
                     const struct refkmd_submission *submission);

/* The node has let go of its queue, and its progress was reported: nothing if it was not asked. */
void refkmd_yielded(struct refkmd_adapter *adapter, UINT ordinal);
/* The adapter has power again. */
void refkmd_wake_nodes(struct refkmd_adapter *adapter);

/* A reset has taken all that was handed over. Lists and suspensions of contexts stay. */
void refkmd_forget_parked(struct refkmd_node *node);
/* The queue, or the context, goes. */
void refkmd_forget_queue(struct refkmd_node *node, const struct refkmd_hw_queue *queue);
void refkmd_leave_context(struct refkmd_context *context);

/* ---- For hw_scheduling.c, at device IRQL ---- */

/* What may go now goes. */
void refkmd_hand_over_parked(struct refkmd_adapter *adapter, UINT ordinal);
/* What the node has let go of is parked again, but work of the one context. NULL: all. */
void refkmd_park_ring(struct refkmd_node *node, const struct refkmd_context *lost);
/* The node is asked to let go of what it does not run: refkmd_yielded() follows. */
void refkmd_yield(struct refkmd_adapter *adapter, UINT ordinal);
/* NULL: the submission went to no hardware queue, and no suspension or list is about it. */
const struct refkmd_context *
refkmd_context_of_submission(const struct refkmd_submission *submission);
BOOLEAN refkmd_is_listed(const struct refkmd_node *node, const struct refkmd_context *context);
/* Of one context, or of all that are to leave the node, which has left them. */
void refkmd_report_suspension(struct refkmd_adapter *adapter, struct refkmd_context *context);
void refkmd_report_suspensions(struct refkmd_adapter *adapter, UINT ordinal);
void refkmd_forget_leaving(struct refkmd_node *node, struct refkmd_context *context);

#endif
