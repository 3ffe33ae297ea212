/*
 * Interrupt: a user's Ctrl-C ends what goes on in order, with what there is until then.
 *
 * Place      bench. A verb that can stop in the middle catches it; loops that take long ask.
 * Model      The first SIGINT is noted and does nothing else. A second one, a third of a second
 *            later or more (timeout(1) sends two at once), does what it did before it was caught:
 *            for a user who does not want to wait. A terminal sends the signal to all processes of
 *            the command. Those that play for another one leave it to their parent, which stops
 *            or ends them. Where the signal is ignored (nohup, a script's background), it stays
 *            ignored.
 */
#ifndef DRYDOCK_BENCH_INTERRUPT_H
#define DRYDOCK_BENCH_INTERRUPT_H

#include <stdbool.h>

/* What an interrupted program's exit status is, by custom. */
#define INTERRUPT_STATUS 130

void interrupt_catch(void);
bool interrupt_came(void);

/* In a process that plays for its parent: what the parent catches is nothing here. */
void interrupt_leave_to_parent(void);

#endif
