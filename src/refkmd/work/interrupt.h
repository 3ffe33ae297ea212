/*
 * Interrupts: the progress of nodes.
 *
 * Place      refkmd, private.
 */
#ifndef REFKMD_INTERRUPT_H
#define REFKMD_INTERRUPT_H

#include "refkmd/work/node.h"

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

#endif
