/*
 * Client catalogue: the rules for those who call D3DKMT (data/d3dkmt/contract.md), as a table.
 *
 * Place      report, beside the rule table of drivers. Knows nothing of how they are judged
 *            (bench/exec/client_rules.h): the catalogue says whether they are.
 * Model      A rule is judged in every run of `drydock exec`, or it is advice, or no run judges it,
 *            and the note says why. Of a rule that is judged the note says what a run needs for it
 *            ("packets": a user-mode driver of the Drydock GPU), or is empty.
 */
#ifndef DRYDOCK_REPORT_CLIENT_CATALOGUE_H
#define DRYDOCK_REPORT_CLIENT_CATALOGUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum client_judged { CLIENT_JUDGED_YES, CLIENT_JUDGED_ADVICE, CLIENT_JUDGED_NO };

struct client_rule_row {
    const char *id, *sentence;
    const char *source; /* names of public pages, with commas between */
    bool is_documented; /* else it is inferred */
    enum client_judged judged;
    const char *note; /* "": nothing to say */
};

/* By place, in the order of the catalogue; NULL: there are no more. */
const struct client_rule_row *client_catalogue_at(unsigned place);
/* Upper or lower case; NULL: there is none. */
const struct client_rule_row *client_catalogue_find(const char *id);
/* Whether the rule's id begins so: "" all, "KMT", "KMT-004". */
bool client_catalogue_is_of(const struct client_rule_row *row, const char *prefix);
bool client_catalogue_has(const char *prefix);

/* A note as a sentence: what a run needs, or why none judges it. */
const char *client_catalogue_needs(const struct client_rule_row *row);

/* A table of those that begin so. */
void client_catalogue_text(FILE *out, const char *prefix);
/* The caller owns it. */
json_t *client_catalogue_row_json(const struct client_rule_row *row);
json_t *client_catalogue_json(const char *prefix);

#endif
