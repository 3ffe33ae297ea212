#include "report/page/folder_page.h"
#include "report/campaign/folder_files.h"
#include "report/page/page.h"
#include "report/plain_text.h"
#include "report/text_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_JSON_BYTES  ((size_t)256 << 20)
#define RECORD_FINDINGS 1000 /* of a run without a run.json */

static bool has_file(int folder, const char *name)
{
    int file = folder_open_file(folder, name, O_RDONLY);

    if (file >= 0)
        close(file);
    return file >= 0;
}

/* What the folder itself has. */
/* Whatever it is. */
static bool is_there(int folder, const char *name)
{
    struct stat status;

    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static enum report_folder_kind own_kind(const char *path)
{
    int folder = folder_open(path);
    enum report_folder_kind kind = REPORT_FOLDER_NONE;

    if (folder < 0)
        return REPORT_FOLDER_NONE;
    if (has_file(folder, "run.json"))
        kind = REPORT_FOLDER_RUN;
    else if (has_file(folder, "campaign.json"))
        kind = REPORT_FOLDER_CAMPAIGN;
    else if (has_file(folder, "record.ddr")) /* the run was ended before it wrote the rest */
        kind = REPORT_FOLDER_RUN;
    close(folder);
    return kind;
}

enum report_folder_kind report_folder_kind(const char *path)
{
    enum report_folder_kind kind = own_kind(path);
    DIR *directory = kind == REPORT_FOLDER_NONE ? opendir(path) : NULL;
    const struct dirent *entry;

    while (directory && kind == REPORT_FOLDER_NONE && (entry = readdir(directory))) {
        char inner[1100];
        size_t length = (size_t)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);

        if (entry->d_name[0] != '.' && length < sizeof inner &&
            own_kind(inner) == REPORT_FOLDER_CAMPAIGN)
            kind = REPORT_FOLDER_CAMPAIGNS;
    }
    if (directory)
        closedir(directory);
    return kind;
}

/* ---- A run ----------------------------------------------------------------------------------- */

static void note(struct report_run *run, const char *text)
{
    if (run->note_count < REPORT_RUN_NOTES)
        snprintf(run->notes[run->note_count++], REPORT_RUN_NOTE_BYTES, "%s", text);
}

static bool load_json(int folder, struct report_run *run, char error[512])
{
    int file = folder_open_file(folder, "run.json", O_RDONLY);
    FILE *stream = file < 0 ? NULL : fdopen(file, "r");
    json_error_t reason;
    struct stat status;

    if (!stream) {
        snprintf(error, 512, "cannot read '%.300s/run.json': %s", run->name, strerror(errno));
        if (file >= 0)
            close(file);
        return false;
    }
    if (fstat(file, &status) != 0 || (uint64_t)status.st_size > RUN_JSON_BYTES) {
        snprintf(error, 512, "'%.300s/run.json' is larger than any that drydock writes", run->name);
        fclose(stream);
        return false;
    }
    run->json = json_loadf(stream, 0, &reason);
    fclose(stream);
    if (!json_is_object(run->json)) {
        if (run->json)
            snprintf(error, 512, "'%.300s/run.json' is no run: it has no object", run->name);
        else
            snprintf(error, 512, "'%.200s/run.json' is no run: line %d: %.160s", run->name,
                     reason.line, reason.text);
        return false;
    }
    return true;
}

/* What a record lacks is a note, and no error. */
static void load_story(int folder, struct report_run *run)
{
    static const char *const states[] = {"cut", "damaged"};
    char path[600], reason[512] = "", text[REPORT_RUN_NOTE_BYTES];

    if (!has_file(folder, "record.ddr")) {
        note(run,
             errno == ENOENT
                 ? "The run has no record.ddr, so this page has its figures and findings only. "
                   "Play it again with this version of drydock to see what happened in it."
                 : "The run's record.ddr is no ordinary file, and was not read.");
        return;
    }
    snprintf(path, sizeof path, "%s/record.ddr", run->name);
    run->story = story_read(base_services_libc(), path, NULL, reason);
    if (!run->story) {
        snprintf(text, sizeof text,
                 "The run's record cannot be read, so this page has its figures and findings "
                 "only: %.480s",
                 reason);
        note(run, text);
        return;
    }
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        const char *words = story_fact_of(run->story, states[i]);

        if (words) {
            snprintf(text, sizeof text, "The record is not whole: %.600s", words);
            note(run, text);
        }
    }
}

/* The findings of the record: in whole, as the end of a run writes them, or in their words. */
static json_t *findings_of(const struct story *story)
{
    json_t *list = json_array();

    for (size_t i = 0; i < story_rows(story, STORY_FINDINGS) && i < RECORD_FINDINGS; i++) {
        uint64_t call = story_get(story, STORY_FINDINGS_CALL, i);
        json_t *json =
            json_loads(story_text_of(story, story_get(story, STORY_FINDINGS_JSON, i)), 0, NULL);

        if (!json_is_object(json)) {
            json_decref(json);
            json = json_object();
            json_object_set_new(
                json, "rule",
                report_text_json(story_text_of(story, story_get(story, STORY_FINDINGS_RULE, i))));
            json_object_set_new(
                json, "text",
                report_text_json(story_text_of(story, story_get(story, STORY_FINDINGS_TEXT, i))));
            if (call)
                json_object_set_new(json, "event",
                                    json_integer((json_int_t)story_get(story, STORY_CALLS_SEQUENCE,
                                                                       (size_t)call - 1)));
        }
        json_array_append_new(list, json);
    }
    return list;
}

/* A run that was ended in the middle, by the system or a user, has its record alone. */
static bool load_unfinished(int folder, struct report_run *run, char error[512])
{
    static const char *const facts[] = {"case",         "driver", "model",   "version", "seed",
                                        "local_memory", "digest", "outcome", "replay"};
    char text[REPORT_RUN_NOTE_BYTES];

    snprintf(
        text, sizeof text,
        "The run did not come to its end: the folder has no run.json. The figures are missing, "
        "and this page shows what the record has up to there.");
    note(run, text);
    load_story(folder, run);
    if (!run->story) {
        snprintf(error, 512, "'%.200s' has no run.json, and its record is of no use: %.240s",
                 run->name, run->notes[run->note_count - 1]);
        return false;
    }
    run->json = json_object();
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        const char *value = story_fact_of(run->story, facts[i]);

        if (value)
            json_object_set_new(run->json, facts[i], report_text_json(value));
    }
    if (!story_fact_of(run->story, "outcome"))
        json_object_set_new(run->json, "outcome", json_string("unfinished"));
    json_object_set_new(run->json, "findings", findings_of(run->story));
    return true;
}

bool report_run_load(const char *folder, struct report_run *out_run, char error[512])
{
    int descriptor = folder_open(folder);
    size_t length;
    bool is_loaded;

    *out_run = (struct report_run){0};
    if (descriptor < 0) {
        snprintf(error, 512, "cannot open the folder '%.300s': %s", folder, strerror(errno));
        return false;
    }
    for (length = strlen(folder); length > 1 && folder[length - 1] == '/';)
        length--;
    if (length >= sizeof out_run->name) {
        snprintf(error, 512, "the name of the folder is too long: '%.300s...'", folder);
        close(descriptor);
        return false;
    }
    memcpy(out_run->name, folder, length);
    if (!is_there(descriptor, "run.json") && has_file(descriptor, "record.ddr")) {
        is_loaded = load_unfinished(descriptor, out_run, error);
    } else {
        is_loaded = load_json(descriptor, out_run, error);
        if (is_loaded)
            load_story(descriptor, out_run);
    }
    if (!is_loaded)
        report_run_fini(out_run);
    close(descriptor);
    return is_loaded;
}

void report_run_fini(struct report_run *run)
{
    json_decref(run->json);
    story_destroy(run->story);
    *run = (struct report_run){0};
}

static const char *text_of(const struct report_run *run, const char *key)
{
    const char *text = json_string_value(json_object_get(run->json, key));

    return text ? text : "";
}

char *report_run_html(struct report_run *run, size_t *out_size, char error[512])
{
    json_t *facts = json_copy(run->json), *notes = json_array();
    struct report_page page = {.story = run->story, .name = run->name};
    char title[512], *text, *html = NULL;

    for (unsigned i = 0; i < run->note_count; i++)
        json_array_append_new(notes, report_text_json(run->notes[i]));
    json_object_set_new(facts, "page", json_string("run"));
    json_object_set_new(facts, "folder", report_text_json(run->name));
    json_object_set_new(facts, "notes", notes);
    text = json_dumps(facts, JSON_SORT_KEYS);
    snprintf(title, sizeof title, "%.200s, %.40s: %.40s - Drydock", text_of(run, "case"),
             text_of(run, "model"), text_of(run, "outcome"));
    page.title = title;
    page.facts = text;
    if (text)
        html = report_page_html(&page, out_size, error);
    else
        snprintf(error, 512, "no memory for the page");
    free(text);
    json_decref(facts);
    return html;
}

bool report_page_save(const char *folder, const char *name, const char *html, char error[512])
{
    int descriptor = folder_open(folder);
    bool is_written = descriptor >= 0 && folder_replace(descriptor, name, html);

    if (!is_written)
        snprintf(error, 512, "cannot write '%.300s/%s': %s", folder, name, strerror(errno));
    if (descriptor >= 0)
        close(descriptor);
    return is_written;
}

/* The text of a fact "left_out" or "not_recorded"; NULL: the row is another fact. */
static const char *left_out(const struct story *story, size_t row)
{
    const char *key = story_text_of(story, story_get(story, STORY_FACTS_KEY, row));

    return strcmp(key, "left_out") == 0 || strcmp(key, "not_recorded") == 0
               ? story_text_of(story, story_get(story, STORY_FACTS_VALUE, row))
               : NULL;
}

json_t *report_left_out_json(const struct story *story)
{
    json_t *list = json_array();

    for (size_t i = 0; story && i < story_rows(story, STORY_FACTS); i++) {
        if (left_out(story, i))
            json_array_append_new(list, report_text_json(left_out(story, i)));
    }
    return list;
}

void report_left_out_text(FILE *out, const struct story *story)
{
    struct plain_text plain;

    plain_text_begin(&plain);
    for (size_t i = 0; story && plain.stream && i < story_rows(story, STORY_FACTS); i++) {
        if (left_out(story, i))
            fprintf(plain.stream, "  left out: %s\n", left_out(story, i));
    }
    plain_text_end(&plain, out);
}
