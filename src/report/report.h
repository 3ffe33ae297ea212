/*
 * Report: what a run leaves for people and for programs.
 *
 * Place      report. Uses base and the bench's public results; jansson for JSON.
 * Model      Three forms of the same facts: run.json (every key, always, sorted), a summary of
 *            one screen with a column a run, and a folder
 *
 *                runs/<case>-<model>-<seed>/run.json      the result
 *                                           record.ddr    what happened (docs/record.md)
 *                                           events.txt    its calls as text
 *
 *            which is built under another name beside its place and renamed when it is complete.
 * Ownership  Strings given are freed with free(). A folder is the caller's memory.
 * Errors     bool, and one line in the caller's text.
 */
#ifndef DRYDOCK_REPORT_REPORT_H
#define DRYDOCK_REPORT_REPORT_H

#include "bench/run/run_result.h"
#include "report/finding_report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- JSON ------------------------------------------------------------------------------------ */

/*
 * One run as an object; several as an array of such objects. Origins: one for each run, NULL: not
 * known. NULL: no memory.
 */
char *report_run_json(const struct run_result *results, const struct report_origin *origins,
                      size_t count);

/* ---- Summary --------------------------------------------------------------------------------- */

/* Results of one workload, at most 4: the columns. */
void report_summary(FILE *out, const struct workload *workload, const struct run_result *results,
                    size_t count);

/*
 * The findings that were kept, whole, and how many more there are of each kind. Those that are
 * excused (NULL: none) have a line each.
 */
struct excuses;
void report_findings(FILE *out, const struct report_origin *origin, const struct run_result *result,
                     const struct excuses *excuses);

/* "1.5 GiB", "640 bytes"; "1,234,567". The buffer is returned. */
#define REPORT_NUMBER_BYTES 32
const char *report_bytes(char text[REPORT_NUMBER_BYTES], uint64_t bytes);
const char *report_count(char text[REPORT_NUMBER_BYTES], uint64_t count);
const char *report_time(char text[REPORT_NUMBER_BYTES], uint64_t ns);

/* ---- Record ---------------------------------------------------------------------------------- */

/*
 * Adds to the record of a run that is over what is known of it now: its findings, each as the
 * object that run.json has, and the command that plays it again. A record whose process did not
 * come to its end gets one, and says so. The file is open for reading and writing.
 */
bool report_finish_record(int file, const struct run_result *result,
                          const struct report_origin *origin, char error[256]);

/* ---- Folder ---------------------------------------------------------------------------------- */

struct report_folder {
    char path[512];    /* where it will be */
    char partial[544]; /* where it is being built */
    size_t made;       /* length of the first folder above path that was made for it; 0: none */
    bool is_open;
};

/*
 * Makes the partial folder, and the folders above it. A folder at path must be one of ours (it has
 * a run.json): it will be replaced.
 */
bool report_folder_begin(struct report_folder *folder, const char *path, char error[512]);

/* Writes a file into it. */
bool report_folder_write(struct report_folder *folder, const char *name, const char *text,
                         char error[512]);

/* Puts it in its place. On failure nothing is left of it, and what was there before is. */
bool report_folder_end(struct report_folder *folder, char error[512]);

/* Removes it. Harmless when it is not open. */
void report_folder_abandon(struct report_folder *folder);

#endif
