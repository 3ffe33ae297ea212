/*
 * Validation of what a child process hands back that ran a driver, before anybody believes it.
 *
 * Place      bench, used by the parent of that process (child_run.c, campaign_pool.c).
 * Model      An image runs in the address space of its run, and may have written over the results
 *            in shared memory or over what the child sends. So they are treated like a file from
 *            elsewhere: texts end, counts and enumerations are in range, truth values are 0 or 1,
 *            and a pointer counts only if it leads to a text here. Numbers may be any: they harm
 *            nobody.
 * Errors     None: a value that makes no sense becomes the least one that does.
 */
#ifndef DRYDOCK_BENCH_VALIDATE_H
#define DRYDOCK_BENCH_VALIDATE_H

#include "bench/campaign/campaign.h"
#include "bench/run/run_result.h"
#include "bench/child/crash_recorder.h"

/* Nobody writes to the result any more. The run was one of this configuration. */
void validate_result(struct run_result *result, const struct run_config *config,
                     const struct workload *workload, uint32_t most_steps);
void validate_finding(struct run_finding *finding);
void validate_crash_recorder(struct crash_recorder *recorder);
void validate_record(struct campaign_record *record);

#endif
