/*
 * Client bench: processes whose memory does not fit together, by policy.
 *
 * Place      bench. Used by `drydock bench clients`.
 * Model      Eight decode loops of 85 MB in 160 MiB, a hundredth of 8.5 GB in 16 GB with everything
 *            else in proportion (docs/policy.md, "Turns"). Each row is the same case under another
 *            policy, beside the ideal schedule: the time of the work of the busiest node, with all
 *            that moves beside it (run_result_ideal_ns()).
 * Units      Virtual time, so there is no spread.
 * Errors     False: no memory or process, or a run that was not clean.
 */
#ifndef DRYDOCK_BENCH_CLIENT_BENCH_H
#define DRYDOCK_BENCH_CLIENT_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_subject {
    const char *name; /* of the row */
    const char *policy;
    const char *turn; /* ns; NULL: the policy's */
    bool is_long;     /* not with --quick */
};

extern const struct client_subject client_subjects[];
extern const size_t client_subject_count;

struct client_bench {
    uint64_t virtual_ns, ideal_ns;
    uint64_t loops_ns, loops_work_ns; /* of the step `run` alone: all, and the work in it */
    uint64_t moved_in_bytes;
    double fairness; /* Jain's index */
};

bool client_bench_run(const struct client_subject *subject, struct client_bench *out_result);

#endif
