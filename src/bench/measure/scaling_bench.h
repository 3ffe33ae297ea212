/*
 * Scaling bench: how the cost of a run grows with one thing in it.
 *
 * Place      bench. Used by `drydock bench scaling`.
 * Model      A subject is a thing of which a case has n: operations, allocations, contexts,
 *            processes, mappings far apart. Its case is made and run, with rules and content
 *            checked, for one n after the other, each in a process of its own. The exponent of the
 *            growth is the slope of the line through log n and log of the time, fitted by least
 *            squares: 1 is linear. The host memory of a thing is how much more the largest run took
 *            than the smallest: manager, checks, machine and case.
 * Units      Time of the processor; host memory in bytes, of the whole process at its highest.
 * Errors     False: no memory or process, or a run that was not clean.
 */
#ifndef DRYDOCK_BENCH_SCALING_BENCH_H
#define DRYDOCK_BENCH_SCALING_BENCH_H

#include "bench/run/run_result.h"

#include <stddef.h>

#define SCALING_BENCH_SIZES 3

struct scaling_subject {
    const char *name; /* of what there are n: a word, plural */
    enum run_model model;
    uint64_t sizes[SCALING_BENCH_SIZES];       /* growing */
    uint64_t quick_sizes[SCALING_BENCH_SIZES]; /* for a look in some seconds */
    bool (*make)(uint64_t n, struct workload **out);
};

extern const struct scaling_subject scaling_subjects[];
extern const size_t scaling_subject_count;

struct scaling_bench {
    uint64_t n;
    uint64_t paging_operations; /* completed */
    double seconds;      /* of the processor, for the whole run: set up, played, taken down */
    uint64_t host_bytes; /* of the process, at its highest in the run */
};

bool scaling_bench_run(const struct scaling_subject *subject, uint64_t n,
                       struct scaling_bench *out_result);

/* The exponent of the growth from count runs of one subject; 0 for fewer than two. */
double scaling_bench_exponent(const struct scaling_bench *runs, size_t count);

/* Host memory of each thing, by what the last of count runs took more than the first; 0: no more.
 */
double scaling_bench_host_bytes_each(const struct scaling_bench *runs, size_t count);

#endif
