/*
 * Explain: a run with findings is played a second time, to tell which of the driver's instructions
 * wrote what is wrong.
 *
 * Place      bench, above child_run.h; used by the verbs that play one case, and by campaigns for
 *            the first run of a cause.
 * Model      The same configuration, workload and seed make the same calls. So the second run, in a
 *            process of its own, watches the calls that the findings of the first one name
 *            (bench/run/run_writers.h). What it tells of a finding that it has as well goes to the
 *            finding of the first run. Nothing else of it counts.
 * Errors     None: a finding that the second run does not have stays as it is.
 */
#ifndef DRYDOCK_BENCH_EXPLAIN_H
#define DRYDOCK_BENCH_EXPLAIN_H

#include "bench/run/run_result.h"

/* A finding of the first run; rule and text are what it is known by. */
struct explained {
    const char *rule, *text;
    struct finding_detail *detail;
};

void explain_findings(const struct run_config *config, const struct workload *workload,
                      double seconds, const struct explained *findings, size_t count);

void explain_result(const struct run_config *config, const struct workload *workload,
                    double seconds, struct run_result *result);

#endif
