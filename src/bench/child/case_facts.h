/*
 * Case facts: what a run of a case without findings must have done, whatever the driver was.
 *
 * Place      bench. Used by journal_reader.c. Knows the case and its configuration alone, nothing
 *            of the process that played it.
 * Model      Rows of a table, each a count of the run and its least value: a run in which nothing
 *            is found has played each line of the case, has run each submission or aborted it,
 *            has called the driver for each, has evaluated rules at each call, and has compared
 *            pages if the case reads what it wrote.
 * Errors     None.
 */
#ifndef DRYDOCK_BENCH_CASE_FACTS_H
#define DRYDOCK_BENCH_CASE_FACTS_H

#include "bench/child/journal.h"

/* False: the counts can be those of a clean run of the case. Else a sentence. */
bool case_contradiction(const struct run_config *config, const struct workload *workload,
                        const struct journal_tally *tally, char *why, size_t why_bytes);

#endif
