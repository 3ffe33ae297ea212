/*
 * Alternatives: which of the arms of operations (coverage/coverage.h) the runs of a campaign had.
 *
 * Place      report. Used by the store of campaigns, by summaries and by the campaign's page.
 * Model      JSON has an alternative under its name, the structure and the arm:
 *            {"TRANSFER: system memory to segment": 12} is one that 12 runs had. Those that no run
 *            had are left out, but in the list for the page.
 * Ownership  JSON that is given is the caller's.
 * Errors     bool.
 */
#ifndef DRYDOCK_REPORT_ALTERNATIVES_H
#define DRYDOCK_REPORT_ALTERNATIVES_H

#include "coverage/coverage.h"

#include <jansson.h>
#include <stdbool.h>

json_t *report_alternatives_json(const struct coverage_arm_counts *counts);

/*
 * Adds the object to the counts. NULL is an empty one. others: a list of those of other versions,
 * made where there are some; NULL: they are left out. False: it is no such object.
 */
bool report_alternatives_parse(const json_t *json, struct coverage_arm_counts *counts,
                               json_t **others);

/* Of rules.json in the folder; a folder of an older version has none. False: it is damaged. */
bool report_alternatives_load(const char *folder, struct coverage_arm_counts *counts);

/*
 * All of them: [{"structure", "name", "condition", "source", "runs", "reason"}]. source: the rule
 * of the contract; reason: why no run can have it, or "".
 */
json_t *report_alternatives_list(const struct coverage_arm_counts *counts);

#endif
