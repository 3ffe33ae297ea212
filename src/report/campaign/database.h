/*
 * Database: results of campaigns in one file of SQLite, for questions.
 *
 * Place      report. `drydock check --db FILE` writes it as runs end, beside a folder or without
 *            one; `drydock query` asks it, and makes one of folders.
 * Model      Tables, of which `drydock query --schema` prints the text:
 *
 *                campaigns   driver, profile, board: what a record depends on besides its seed
 *                runs        one for each seed, case and model of a campaign
 *                findings    of a run, in their order; id is report_finding_id(); is_cause 0 for
 *                            what follows from another one
 *                rules       how often each was evaluated and broken, by campaign
 *
 *            A run that is there already is replaced: a database may be filled twice (counts of
 *            rules add up). Several processes may write one file, and wait for each other. Each run
 *            is a transaction, without a wait for the disk: who is killed loses none that was
 *            added, and a machine that loses power may lose the file, but not the folder.
 * Ownership  A database is given by open() and ended by close().
 * Errors     bool and one line. A file of another program, or of a later version, is refused.
 */
#ifndef DRYDOCK_REPORT_DATABASE_H
#define DRYDOCK_REPORT_DATABASE_H

#include "bench/campaign/campaign.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct database;

/* path NULL: in memory. */
bool database_open(const char *path, struct database **out, char error[512]);
/* One that is there, for questions alone: nothing in it changes. */
bool database_open_to_read(const char *path, struct database **out, char error[512]);
/* False: what was not kept yet is lost, and error says why. NULL is nothing. */
bool database_close(struct database *database, char error[512]);

/* What is added between them is one transaction: many runs at once. False: nothing of it is kept.
 */
bool database_begin(struct database *database, char error[512]);
bool database_end(struct database *database, char error[512]);

/* has_rules: the record's counts of rules are added (those of a folder's lines are not known). */
bool database_add(struct database *database, const struct campaign_record *record, bool has_rules,
                  char error[512]);
/* Adds counts of rules to the campaign of the record that was added last. */
bool database_add_rules(struct database *database, const struct rule_counts *counts,
                        char error[512]);

/* The text of its tables. */
const char *database_schema(void);

/* The i-th prepared question; NULL: there are no more. */
struct database_question {
    const char *name, *summary, *sql;
};
const struct database_question *database_question(size_t i);

/* Asks; rows are handed over as JSON: texts, integers, reals, null. */
bool database_ask(struct database *database, const char *sql, json_t **out_columns,
                  json_t **out_rows, char error[512]);

#endif
