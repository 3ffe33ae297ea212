/*
 * Smallest cases of what a campaign has found.
 *
 * Place      bench, above campaign and repro.
 * Model      A record names its seed, and the seed its case and setup; with the setup as options
 *            the case stands alone, and is made smaller as long as it shows the same rule (or,
 *            without one, a finding of the same cause).
 * Errors     bool and a line in struct workload_error: it is not shown a second time, or not within
 *            the limits, or the file cannot be written.
 */
#ifndef DRYDOCK_BENCH_CAMPAIGN_SHRINK_H
#define DRYDOCK_BENCH_CAMPAIGN_SHRINK_H

#include "bench/campaign/campaign.h"
#include "bench/child/repro.h"

/*
 * Plays a record's item again in a process of its own, for so many seconds at most: unlike the
 * record of a run that hung, the result says what was found until then. The caller ends it, true or
 * false.
 */
bool campaign_try_again(const struct campaign_options *options,
                        const struct campaign_record *record, double seconds,
                        struct run_result *out_result);

/* The record's findings name the driver's instructions (bench/child/explain.h). */
void campaign_explain(const struct campaign_options *options, struct campaign_record *record,
                      double seconds);

/* Gives the smaller case, and what it shows. */
bool campaign_shrink_finding(const struct campaign_options *options,
                             const struct campaign_record *record, unsigned finding,
                             const struct repro_shrink *how, struct workload **out,
                             struct workload_shrink_result *out_result, struct repro *out_repro,
                             struct workload_error *error);

/* The same of a rule that the record's run broke, whether one of its findings says so or not. */
bool campaign_shrink_rule(const struct campaign_options *options,
                          const struct campaign_record *record, const char *rule,
                          const struct repro_shrink *how, struct workload **out,
                          struct workload_shrink_result *out_result, struct repro *out_repro,
                          struct workload_error *error);

/* Writes the smallest case of a cause into a file, which the cause names from then on. */
bool campaign_save_cause(struct campaign_cause *cause, const struct workload *small,
                         const struct workload_shrink_result *result, const char *path,
                         struct workload_error *error);

/* The same of a cause, into a file, which the cause names from then on. */
bool campaign_shrink_cause(const struct campaign_options *options, struct campaign_cause *cause,
                           const struct repro_shrink *how, const char *path,
                           struct workload_error *error);

#endif
