/*
 * Child end: a wait for the end of a process that does not have to come by itself.
 *
 * Place      bench. For whoever has made a process that runs drivers (child_run.h, driver_look.h,
 *            campaign_pool.c).
 * Model      A driver can block every signal but one, close what its parent listens to, and go on.
 *            So no wait for a process that has run one is without a limit: behind it comes SIGKILL.
 * Errors     None.
 */
#ifndef DRYDOCK_BENCH_CHILD_END_H
#define DRYDOCK_BENCH_CHILD_END_H

#include <stdbool.h>
#include <sys/types.h>

/* Time for a process that has nothing more to do. */
#define CHILD_END_SECONDS 5.0

/*
 * Seconds in which the process (its first thread) was ready, and others had the processors: no
 * fault of its own. 0 where the kernel does not count them, or there is no such process.
 */
double child_end_stood_ready(pid_t child);

/* The status as of waitpid(). *out_is_late: the process was ended after so many seconds. */
int child_end_wait(pid_t child, double seconds, bool *out_is_late);

#endif
