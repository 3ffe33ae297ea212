/*
 * Child end: a wait for the end of a process that does not have to come by itself, and what it
 * writes to standard error until then.
 *
 * Place      bench. For whoever has made a process that runs drivers (child_run.h, driver_look.h,
 *            campaign_pool.c).
 * Model      A driver can block every signal but one, close what its parent listens to, and go on.
 *            So no wait for a process that has run one is without a limit: behind it comes SIGKILL.
 *            What it writes stays in memory of its parent's when it has ended, so that is a file
 *            of a fixed size, at the end of which a write fails.
 * Errors     -1: there is no file. Else none.
 */
#ifndef DRYDOCK_BENCH_CHILD_END_H
#define DRYDOCK_BENCH_CHILD_END_H

#include <stdbool.h>
#include <sys/types.h>

/* Time for a process that has nothing more to do. */
#define CHILD_END_SECONDS 5.0

/* A moment in the life of a process: from it on its time is counted. */
struct child_moment {
    pid_t child;
    double wall, stood; /* seconds: the clock's, and how long it had stood ready by then */
};

/* How it came that a process had to be ended. */
enum child_hang {
    CHILD_ENDS,    /* it had not to be */
    CHILD_OVERDUE, /* its time was over */
    CHILD_CUT_OFF, /* it told its parent no more, and did not end within CHILD_END_SECONDS */
};

struct child_moment child_moment_now(pid_t child);

/*
 * Whether so many seconds have passed since then. On a machine that is busy with others, a run that
 * is only slow is no hang: time in which the process (its first thread) was ready, and others had
 * the processors, does not count, up to ten times the seconds. All time counts where the kernel
 * does not say how long that was.
 */
bool child_moment_is_over(const struct child_moment *since, double seconds);

/* The status as of waitpid(). *out_is_late: the process was ended after so many seconds. */
int child_end_wait(pid_t child, double seconds, bool *out_is_late);

/*
 * A file for standard error of CRASH_RECORDER_TEXT bytes: zero where nothing has been written. The
 * caller closes it.
 */
int child_errors_open(const char *name);

/* Everything is zero again, and what is written next comes first. In the process that writes. */
void child_errors_clear(int file);

#endif
