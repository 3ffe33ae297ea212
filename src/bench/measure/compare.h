/*
 * Compare: two ways to do the same work, timed in turn.
 *
 * Place      bench. Every ratio that `drydock bench` prints comes from here.
 * Model      Slices of ours and of the peer's run alternately, so that what else the machine does
 *            meets both alike. A slice's time is time of this thread on the processor. The ratio is
 *            that of the medians. Each slice of ours and the slice of the peer's behind it give a
 *            ratio, too: the spread is the distance of the quartiles of these, by their median.
 *            Above COMPARE_SPREAD_MAX the machine was too busy, and there is no ratio to print.
 * Errors     False: a slice said that it failed.
 */
#ifndef DRYDOCK_BENCH_COMPARE_H
#define DRYDOCK_BENCH_COMPARE_H

#include <stdbool.h>

#define COMPARE_SPREAD_MAX 0.30
#define COMPARE_SLICES_MAX 101

/* Does a slice of work; its time for each piece of work in ns, or a negative number on failure. */
typedef double (*compare_slice)(void *context);

struct comparison {
    double ours_ns; /* medians, for each piece of work */
    double peer_ns;
    double ratio;
    double spread;
    bool is_steady; /* the ratio may be told */
};

/* Nanoseconds of this thread on the processor. */
double compare_now(void);

/* One slice of each first, that does not count. */
bool compare_run(compare_slice ours, void *ours_context, compare_slice peer, void *peer_context,
                 unsigned slices, struct comparison *out_comparison);

#endif
