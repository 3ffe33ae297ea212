/*
 * Interrupts: the progress of nodes, and routines at device IRQL.
 *
 * Place      refkmd, private.
 */
#ifndef REFKMD_INTERRUPT_H
#define REFKMD_INTERRUPT_H

#include "refkmd/adapter.h"

/* Which interrupts the driver wants while it runs. */
ULONG refkmd_interrupt_mask(const struct refkmd_adapter *adapter);

/*
 * Report submissions that the node has completed since it was last asked. TRUE if anything was.
 * is_signalled says that the node's completion interrupt was pending, which makes COMPLETED news
 * even if it reads as before. At device IRQL only.
 */
BOOLEAN refkmd_report_progress(struct refkmd_adapter *adapter, UINT ordinal, BOOLEAN is_signalled);

/*
 * The node has let go of its queue: report a preemption that is pending, and forget the submissions
 * that were dropped. TRUE if there was one. After refkmd_report_progress(), at device IRQL only.
 */
BOOLEAN refkmd_report_preemption(struct refkmd_adapter *adapter, UINT ordinal);

/* What the ring has of a queue that goes, whose work has ended, does not name it any more. */
void refkmd_leave_queue(struct refkmd_adapter *adapter, const struct refkmd_hw_queue *queue);

/* Nothing submitted to the node is unfinished. */
BOOLEAN refkmd_node_is_drained(const struct refkmd_node *node);

/* Submissions under way on the node will not run: they count in no save area. */
void refkmd_drop_submissions(struct refkmd_node *node);

/* Run routine(context) at device IRQL, not at the same time as the interrupt routine. */
void refkmd_synchronize(struct refkmd_adapter *adapter, PKSYNCHRONIZE_ROUTINE routine,
                        void *context);

#endif
