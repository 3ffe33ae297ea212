/*
 * Child run: a run in a process of its own, so that a driver that crashes or hangs is one finding
 * more.
 *
 * Place      bench, above run; used by the verbs that play one case, and for trying many while a
 *            case is made smaller (repro.h). A try is a fork without an exec: milliseconds.
 * Model      The result is in memory that both processes have: findings from before the end are
 *            there, whatever the end was. A process that ends in the middle adds a finding of kind
 *            "crashed", with the rule PB-005 or PB-023 where a guard page tells; one without an end
 *            is made to write where it is, ended, and adds one of kind "hung". result->ending then
 *            holds its output, the backtrace and the last calls.
 * Ownership  As run_execute(): the caller ends the result with run_result_fini().
 * Errors     false: no process or no memory; nothing was run. Progress is drawn by the caller's
 *            process.
 */
#ifndef DRYDOCK_BENCH_CHILD_RUN_H
#define DRYDOCK_BENCH_CHILD_RUN_H

#include "bench/run/run_result.h"

/* seconds: of wall time until it counts as hung; 0: no limit. */
bool child_run_execute(const struct run_config *config, const struct workload *workload,
                       double seconds, struct run_result *out_result);

#endif
