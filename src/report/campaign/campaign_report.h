/*
 * Campaign report: what a campaign leaves for people, for programs and for the next campaign.
 *
 * Place      report. Uses the bench's campaign records; jansson for JSON.
 * Model      A folder
 *
 *                DIR/campaign.json                 which campaign: driver, model, cases
 *                    results.jsonl                 a line for each item, in the order of their ends
 *                    rules.json                    how often each rule was evaluated and broken,
 * and how many runs had each alternative findings/MODEL-SEED.txt       each item with findings, for
 * people findings/MODEL-SEED.case      its random case
 *
 *            A line ends with a checksum of itself. A line that was cut off or changed costs the
 *            run that it told of and no other: resumed, the folder keeps the line aside, in
 *            results.aside, and the run is played again. Lines without a checksum, of earlier
 *            versions, are taken as they are. `drydock merge` puts several folders together.
 *
 *            rules.json is written now and then, and says how many bytes of results.jsonl it
 *            counts. Lines behind these are of runs whose rules were lost when the campaign was
 *            ended: resumed, the lines go aside and the runs are played again, so that rules.json
 *            counts every run. (The run
 * of a line that was damaged counts twice.)
 *
 *            One process has a folder at a time: opening it a second time fails. No file in it is
 *            followed to where a symbolic link leads (folder_files.h).
 * Ownership  A store is given by open() and ended by close(), and borrows the options meanwhile.
 *            Texts given are freed with free().
 * Errors     bool and one line in the caller's text.
 */
#ifndef DRYDOCK_REPORT_CAMPAIGN_REPORT_H
#define DRYDOCK_REPORT_CAMPAIGN_REPORT_H

#include "bench/campaign/campaign.h"

#include <stdbool.h>
#include <stdio.h>

struct excuses;

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Without its checksum. NULL: no memory. */
char *campaign_record_json(const struct campaign_record *record);
/* False: it is no record. */
bool campaign_record_parse(const char *text, struct campaign_record *out_record);

/* A line of results.jsonl: the record with its checksum, and the end of the line. */
char *campaign_line(const struct campaign_record *record);
/* False: it is none, or not as it was written. */
bool campaign_line_parse(const char *line, struct campaign_record *out_record);

/* ---- The folder ------------------------------------------------------------------------------ */

/* Lines that were cut off or changed; first: the number of the first of them, from 1. */
struct campaign_damage {
    uint64_t count, first;
};

struct campaign_store;

/*
 * Makes the folder, or goes on in one that is there: then each record that stays is handed to
 * known, and driver, model and cases have to be those that the folder was made with.
 */
bool campaign_store_open(const char *path, const struct campaign_options *options, bool is_resumed,
                         void (*known)(void *context, const struct campaign_record *record),
                         void *context, struct campaign_store **out_store, char error[512]);
/* Saves the counts of rules now; NULL is no store. */
void campaign_store_flush(struct campaign_store *store);
void campaign_store_close(struct campaign_store *store);

/* Whether the folder has a record of the item. */
bool campaign_store_has(const struct campaign_store *store, uint64_t seed, const char *case_path);

/*
 * Takes away what a campaign left in the folder: its own files, and those of findings that have the
 * names of a campaign's. Nothing there is a success; what is no campaign's folder is left alone.
 */
bool campaign_store_clear(const char *path, char error[512]);
/* The folder is one of a campaign of these options. */
bool campaign_store_is_of(const char *path, const struct campaign_options *options,
                          char error[512]);

/* Appends a line; with findings, also their files. */
bool campaign_store_add(struct campaign_store *store, const struct campaign_record *record,
                        char error[512]);

/*
 * Adds to the folder's counts of rules and of alternatives, which are no part of the lines.
 * arms NULL: none.
 */
bool campaign_store_count_rules(struct campaign_store *store, const struct rule_counts *counts,
                                const struct coverage_arm_counts *arms, uint64_t runs,
                                char error[512]);
const struct rule_counts *campaign_store_rules(const struct campaign_store *store);
const struct coverage_arm_counts *campaign_store_arms(const struct campaign_store *store);

/* The damaged lines that were put aside when the folder was opened. */
const struct campaign_damage *campaign_store_damage(const struct campaign_store *store);
/* The lines that were whole and put aside then, because their rules were not counted. */
uint64_t campaign_store_uncounted(const struct campaign_store *store);

/* Each record of a folder, in the order of its lines; the callback says whether to go on. */
bool campaign_store_read(const char *path,
                         bool (*record)(void *context, const struct campaign_record *record),
                         void *context, struct campaign_damage *out_damage, char error[512]);

/* ---- Summaries ------------------------------------------------------------------------------- */

/* A cause as a finding, whole. folder: where the findings' cases are, NULL: nowhere. */
void campaign_report_cause(FILE *out, const struct campaign_cause *cause, const char *folder);

/* All causes. */
void campaign_report_causes(FILE *out, const struct campaign_summary *summary, const char *folder);

/* All causes, then the totals. seconds 0: not told. */
void campaign_report_summary(FILE *out, const struct campaign_summary *summary, const char *folder,
                             double seconds);
/* The same as an object; the caller frees it. excuses NULL: none. NULL: no memory. */
char *campaign_report_json(const struct campaign_summary *summary, const char *folder,
                           double seconds, const char *stopped_by, const struct excuses *excuses);

#endif
