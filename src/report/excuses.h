/*
 * Excuses: findings that are told and make no campaign fail: those of a baseline, and those of
 * rules that the user allows.
 *
 * Place      report. Used by check and merge, and of the findings of one run by run.
 * Model      A baseline is a text that people keep beside their driver and read in differences:
 *
 *                drydock-baseline 1
 *                # a comment
 *                PB-004-e4458707  DxgkDdiBuildPagingBuffer(FILL).pDmaBuffer: moved 288 bytes ...
 *                  PAGE-001-1a2b3c4d  what some seeds show of the line above
 *
 *            A line has the id of a finding (report_finding_id()), then words for people. An
 *            indented line is another view of the finding above: it is known as well, and nobody
 *            misses it. A finding of the baseline that was not seen is gone.
 *
 *            Allowed is a word: a rule ("PB-004"), all rules of an area ("PB-*"), a kind of finding
 *            that no rule names ("leak"), or an id.
 * Ownership  excuses_create() gives; texts given are freed with free().
 * Errors     bool and one line of text, with FILE:LINE where a file is wrong.
 */
#ifndef DRYDOCK_REPORT_EXCUSES_H
#define DRYDOCK_REPORT_EXCUSES_H

#include "bench/campaign/campaign.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct excuses;

struct excuses *excuses_create(void); /* NULL: no memory */
void excuses_free(struct excuses *excuses);

bool excuses_allow(struct excuses *excuses, const char *word, char error[512]);

bool excuses_read_baseline(struct excuses *excuses, const char *path, char error[512]);
/* The same of a text; path is for messages. */
bool excuses_parse_baseline(struct excuses *excuses, const char *text, size_t size,
                            const char *path, char error[512]);

enum campaign_excuse excuses_of(const struct excuses *excuses, const char *kind, const char *rule,
                                const char *id);
/* The same of a finding of a record. */
enum campaign_excuse excuses_of_record(const struct excuses *excuses,
                                       const struct campaign_finding *finding);

/*
 * Marks each cause of a settled summary, and notes which lines of the baseline were seen. has_all:
 * all that there is was played, so that what was not seen is gone.
 */
void excuses_apply(struct excuses *excuses, struct campaign_summary *summary, bool has_all);

/*
 * Marks the findings of one run that are excused. Whether all are that make it fail: what follows
 * from an excused one does not, nor does advice.
 */
struct report_finding;
bool excuses_apply_to_run(const struct excuses *excuses, struct report_finding *findings,
                          size_t count);

/* After excuses_apply(): what is gone, and a line with how many are new, known, allowed, gone. */
void excuses_report(FILE *out, const struct excuses *excuses,
                    const struct campaign_summary *summary);
/* The same, as an object; null without a baseline and without allowed words. */
json_t *excuses_json(const struct excuses *excuses, const struct campaign_summary *summary);

/* A baseline of all causes that are not allowed. NULL: no memory. */
char *excuses_baseline_text(const struct campaign_summary *summary);

/*
 * The baseline at the path, or a new one where there is none, and behind it a line for each finding
 * of one run that makes it fail. NULL with a line of text.
 */
char *excuses_extended_text(const struct excuses *excuses, const char *path,
                            const struct report_finding *findings, size_t count, char error[512]);

#endif
