/*
 * Distrust: what a process has left that ran a driver, before anybody believes it.
 *
 * Place      bench, used by who started that process (trial.c, campaign_pool.c).
 * Model      An image runs in the address space of its run, and may have written over what the run
 *            hands over, in shared memory and in what it sends. So it is treated like a file from
 *            elsewhere: texts end, counts and enumerations are in range, truth values are 0 or 1,
 *            and a pointer counts only if it leads to a text here. Numbers may be any: they harm
 *            nobody.
 * Errors     None: what makes no sense becomes the least that does.
 */
#ifndef DRYDOCK_BENCH_DISTRUST_H
#define DRYDOCK_BENCH_DISTRUST_H

#include "bench/campaign/campaign.h"
#include "bench/run/run_result.h"
#include "bench/child/vigil.h"

/* The pointer if it leads to a short text, else NULL. */
const char *distrust_literal(const char *text);

/* Whatever byte is there. */
bool distrust_truth(const bool *value);

/* Nobody writes to it any more. The run was one of this configuration. */
void distrust_result(struct run_result *result, const struct run_config *config,
                     const struct workload *workload, uint32_t most_steps);
void distrust_vigil(struct vigil *vigil);
void distrust_record(struct campaign_record *record);

#endif
