/*
 * Rules report: which rules there are, which of them were checked, and how often.
 *
 * Place      report. Uses the rule table and the counts of runs and campaigns; jansson for JSON.
 * Model      A rule is checked when it was evaluated: counts of a run (run.json) or of a whole
 *            campaign (rules.json in its folder) say how often. Both hold
 *
 *                "rules": {"PB-004": {"broken": 0, "evaluated": 120934}, ...}
 *
 *            with the rules that were evaluated or broken at all. Without counts nothing is known.
 *
 *            | state     | means                                                               |
 *            | checked   | evaluated                                                           |
 *            | unchecked | never evaluated, though a run could see it                          |
 *            | cannot    | no run can see it; the reason is told                               |
 *            | unknown   | no counts were given                                                |
 * Ownership  Texts given are freed with free().
 * Errors     bool and one line in the caller's text; NULL: no memory.
 */
#ifndef DRYDOCK_REPORT_RULES_REPORT_H
#define DRYDOCK_REPORT_RULES_REPORT_H

#include "check/rules/rules.h"
#include "coverage/coverage.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum rule_state {
    RULE_STATE_CHECKED,
    RULE_STATE_UNCHECKED,
    RULE_STATE_CANNOT,
    RULE_STATE_UNKNOWN,
};
const char *rule_state_name(enum rule_state state);

/* counts NULL: none were given. */
enum rule_state rule_state(enum rule_id rule, const struct rule_counts *counts);

/* The object under "rules"; the caller owns it. */
json_t *report_rule_counts_json(const struct rule_counts *counts);
/* Adds it to the counts; false: it is no such object. A rule that is not known is left out. */
bool report_rule_counts_parse(const json_t *json, struct rule_counts *counts);

/*
 * Reads rules.json or run.json of a folder, or a file of either form. runs: how many are counted.
 */
bool report_rule_counts_load(const char *path, struct rule_counts *out_counts, uint64_t *out_runs,
                             char error[512]);

/* What rules.json of a campaign's folder holds. */
struct report_rule_file {
    struct rule_counts counts;
    uint64_t runs;
    uint64_t results_bytes; /* of results.jsonl, whose runs are counted; UINT64_MAX: all of it */
    json_t *others;         /* counts of rules that this version does not know, or NULL */
    struct coverage_arm_counts arms;
    json_t *other_arms; /* of alternatives that this version does not know, or NULL */
};

/* Without a file, no rule was evaluated and all of results.jsonl is taken for counted. False: it
 * cannot be read, or is damaged. */
bool report_rule_file_read(int folder, struct report_rule_file *out_file, char error[512]);
/* Whole, or not at all. */
bool report_rule_file_write(int folder, const struct report_rule_file *file, char error[512]);
void report_rule_file_fini(struct report_rule_file *file);

/* A rule of the catalogue, with its counts where they are given. The caller owns the object. */
json_t *report_rule_json(enum rule_id id, const struct rule_counts *counts);

/* A table of the rules whose id begins with prefix ("" all, "PB", "PB-004"). */
void report_rules_text(FILE *out, const char *prefix, const struct rule_counts *counts,
                       uint64_t runs);
char *report_rules_json(const char *prefix, const struct rule_counts *counts, uint64_t runs);
/* Why rules of those were not evaluated, a line for each reason, as part of a summary. */
void report_rule_lacks(FILE *out, const char *prefix, const struct rule_counts *counts);
/* Whether any rule begins so. */
bool report_has_rules(const char *prefix);

#endif
