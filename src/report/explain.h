/*
 * Explain: a rule as it is taught to somebody who meets it for the first time.
 *
 * Place      report. Uses the rule table, its examples and counts. Knows no driver: what else shows
 *            the rule (the zoo) is told by the caller.
 * Model      Sentence in plain words, who obeys, where it comes from, what Windows does, how
 *            Drydock checks it or why it cannot, an example that keeps it and one that breaks it,
 *            and the abbreviations that occurred, spelled out. A rule without an example of its own
 *            gets the pair of its area.
 */
#ifndef DRYDOCK_REPORT_EXPLAIN_H
#define DRYDOCK_REPORT_EXPLAIN_H

#include "check/rules/rules.h"
#include "report/client_catalogue.h"

#include <stdio.h>

/* counts of a campaign, NULL: none were given. */
void report_explain(FILE *out, enum rule_id rule, const struct rule_counts *counts);
/* A rule for those who call D3DKMT. */
void report_explain_client(FILE *out, const struct client_rule_row *row);

#endif
