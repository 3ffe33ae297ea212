/*
 * Folder page: the page of a run, made of the files in its folder.
 *
 * Place      report. Uses story; jansson.
 * Model      run.json is the figures, and record.ddr what happened. A folder without a record, or
 *            with one that cannot be read, still has a page: the figures, and a note of what is
 *            missing. A folder with a record alone is that of a run that was ended in the middle:
 *            what the record has stands for run.json, and a note says so. The folder may be
 *            anybody's: its files are opened by folder_files.h, and nothing in them is believed.
 * Ownership  A run that was loaded is ended by report_run_fini(). Texts given are freed with
 *            free().
 * Errors     bool or NULL, and one line in the caller's text.
 */
#ifndef DRYDOCK_REPORT_PAGE_FOLDER_PAGE_H
#define DRYDOCK_REPORT_PAGE_FOLDER_PAGE_H

#include "story/story_read.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum report_folder_kind {
    REPORT_FOLDER_NONE,     /* no folder, or one of something else */
    REPORT_FOLDER_RUN,      /* has a run.json, or a record.ddr alone */
    REPORT_FOLDER_CAMPAIGN, /* has a campaign.json */
    REPORT_FOLDER_CAMPAIGNS /* has folders of campaigns */
};

enum report_folder_kind report_folder_kind(const char *path);

#define REPORT_RUN_NOTES      4
#define REPORT_RUN_NOTE_BYTES 640

/* A run as its folder has it. */
struct report_run {
    json_t *json;        /* run.json: an object */
    struct story *story; /* NULL: there is no record that can be read */
    char name[512];      /* of the folder, for people */
    unsigned note_count;
    char notes[REPORT_RUN_NOTES][REPORT_RUN_NOTE_BYTES];
};

bool report_run_load(const char *folder, struct report_run *out_run, char error[512]);
void report_run_fini(struct report_run *run);

/* The page of the run as HTML. */
char *report_run_html(struct report_run *run, size_t *out_size, char error[512]);

/* Writes a page into the folder under this name, in place of one that is there. */
bool report_page_save(const char *folder, const char *name, const char *html, char error[512]);

/* What a story lacks, its facts "left_out" and "not_recorded": as a list of texts, and as lines.
 * NULL: no story. */
json_t *report_left_out_json(const struct story *story);
void report_left_out_text(FILE *out, const struct story *story);

#endif
