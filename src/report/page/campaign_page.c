#include "report/page/campaign_page.h"
#include "bench/drivers/drivers.h"
#include "report/alternatives.h"
#include "report/campaign/folder_files.h"
#include "report/finding_report.h"
#include "report/page/folder_page.h"
#include "report/page/page.h"
#include "report/rules_report.h"
#include "report/text_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, report_text_json(text));
}

static void set(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* ---- Causes ---------------------------------------------------------------------------------- */

/* A name is part of paths, and the folder may be anybody's. */
static bool is_plain_name(const char *name)
{
    return name[0] && strlen(name) < 32 &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")] ==
               '\0';
}

static const char *short_name(const struct campaign_cause *cause)
{
    const struct campaign_finding *finding = &cause->first.findings[cause->finding];
    const char *name = finding->rule[0] ? finding->rule : finding->kind;

    return is_plain_name(name) ? name : "finding";
}

void report_cause_name(const struct campaign_summary *summary, size_t cause,
                       char out[REPORT_CAUSE_NAME])
{
    const char *name = short_name(&summary->causes[cause]);
    unsigned number = 1;

    for (size_t i = 0; i < cause; i++)
        number += strcmp(short_name(&summary->causes[i]), name) == 0;
    snprintf(out, REPORT_CAUSE_NAME, "%.40s-%u", name, number);
}

/* FOLDER/findings/NAME.case to read; -1: there is none, or a link leads elsewhere. */
static int open_case(const struct report_campaign *campaign, const char *name, char path[1100])
{
    const int folder = folder_open(campaign->folder);
    const int findings = folder < 0 ? -1 : folder_find_within(folder, "findings");
    char file_name[200];
    int file = -1;

    snprintf(file_name, sizeof file_name, "%s.case", name);
    snprintf(path, 1100, "%s/findings/%s", campaign->folder, file_name);
    if (findings >= 0)
        file = folder_open_file(findings, file_name, O_RDONLY);
    if (findings >= 0)
        close(findings);
    if (folder >= 0)
        close(folder);
    return file;
}

/* The smallest case, or the one that was played first. */
static int open_cause_case(const struct report_campaign *campaign, size_t cause, char path[1100])
{
    const struct campaign_record *first = &campaign->summary.causes[cause].first;
    char name[REPORT_CAUSE_NAME], seed[64];
    int file;

    report_cause_name(&campaign->summary, cause, name);
    file = open_case(campaign, name, path);
    if (file >= 0 || first->case_path[0])
        return file;
    snprintf(seed, sizeof seed, "%s-%" PRIu64, campaign_model_name(first->model), first->seed);
    return open_case(campaign, seed, path);
}

bool report_cause_case(const struct report_campaign *campaign, size_t cause, char path[1100])
{
    const int file = open_cause_case(campaign, cause, path);

    if (file >= 0)
        close(file);
    return file >= 0;
}

/* The text of a case that was opened, or -1, which is closed; false: there is none, or a longer
 * one. */
static bool read_case(int file, char text[CAMPAIGN_PAGE_CASE_BYTES + 1])
{
    FILE *stream = file < 0 ? NULL : fdopen(file, "r");
    size_t length;

    if (!stream) {
        if (file >= 0)
            close(file);
        return false;
    }
    length = fread(text, 1, CAMPAIGN_PAGE_CASE_BYTES + 1, stream);
    fclose(stream);
    if (!length || length > CAMPAIGN_PAGE_CASE_BYTES)
        return false;
    text[length] = '\0';
    return true;
}

json_t *report_cause_case_text(const struct report_campaign *campaign, size_t cause)
{
    char path[1100], text[CAMPAIGN_PAGE_CASE_BYTES + 1];

    return read_case(open_cause_case(campaign, cause, path), text) ? report_text_json(text) : NULL;
}

/*
 * What drydock check knew of the smallest case while it ran is read from the case that it left
 * (bench/child/repro.c writes the comment). A case without the comment is somebody's own: the run
 * of the lowest seed stays the one to play again.
 */
static void find_smallest(const struct report_campaign *campaign, size_t index)
{
    struct campaign_cause *cause = &campaign->summary.causes[index];
    char name[REPORT_CAUSE_NAME], path[1100], text[CAMPAIGN_PAGE_CASE_BYTES + 1];
    struct workload_error error;
    struct workload *workload = NULL;
    const char *comment;
    uint32_t option = 0;

    report_cause_name(&campaign->summary, index, name);
    if (!read_case(open_case(campaign, name, path), text) ||
        strlen(path) >= sizeof cause->shrunk_path)
        return;
    comment = strstr(text, "\n# shrunk from ");
    if (!comment || sscanf(comment, "\n# shrunk from %" SCNu32 " operations to %" SCNu32 " in ",
                           &cause->shrunk_from, &cause->shrunk_lines) != 2) {
        cause->shrunk_from = cause->shrunk_lines = 0;
        return;
    }
    cause->shrunk_in_part = strstr(comment, ", when time ran out\n") != NULL;
    if (workload_parse(text, strlen(text), path, &workload, &error))
        cause->shrunk_loads_code = run_next_code_option(workload, &option) != NULL;
    workload_free(workload);
    snprintf(cause->shrunk_path, sizeof cause->shrunk_path, "%.*s",
             (int)sizeof cause->shrunk_path - 1, path);
}

json_t *report_cause_json(const struct report_campaign *campaign, size_t cause)
{
    char text[REPORT_RECORD_TEXT];
    struct report_finding finding =
        report_finding_of_cause(&campaign->summary.causes[cause], campaign->folder, text);

    return report_finding_json(&finding, 1, &finding);
}

/* What findings of the cause have as "cause". */
static void cause_id(const struct campaign_cause *cause, char out[24])
{
    const struct campaign_finding *finding = &cause->first.findings[cause->finding];

    snprintf(out, 24, "%016" PRIx64,
             finding_cause(rule_find(finding->rule), finding->detail.where, finding->text));
}

void report_campaign_set_page(struct report_campaign *campaign, size_t cause, const char *path)
{
    char id[24];

    cause_id(&campaign->summary.causes[cause], id);
    json_object_set_new(campaign->pages, id, report_text_json(path));
}

/* ---- Loading --------------------------------------------------------------------------------- */

struct loading {
    struct campaign_summary *summary;
    json_t *seeds; /* NULL: not wanted */
};

static bool take_record(void *context, const struct campaign_record *record)
{
    struct loading *loading = context;
    json_t *json, *causes;

    campaign_summary_add(loading->summary, record);
    if (!loading->seeds || record->outcome == CAMPAIGN_CLEAN ||
        json_array_size(loading->seeds) >= CAMPAIGN_PAGE_SEEDS)
        return true;
    json = json_object();
    causes = json_array();
    set(json, "seed", record->seed);
    set_text(json, "model", campaign_model_name(record->model));
    set_text(json, "case", record->case_path);
    set_text(json, "outcome", campaign_outcome_name(record->outcome));
    set(json, "findings", record->finding_total);
    for (unsigned i = 0; i < record->finding_count; i++) {
        const struct campaign_finding *finding = &record->findings[i];
        char id[24];

        if (finding->consequence_of)
            continue;
        snprintf(id, sizeof id, "%016" PRIx64,
                 finding_cause(rule_find(finding->rule), finding->detail.where, finding->text));
        json_array_append_new(causes, json_string(id));
    }
    json_object_set_new(json, "causes", causes);
    json_array_append_new(loading->seeds, json);
    return true;
}

/* Reads a folder into a summary that was begun, with its rules. */
static bool read_campaign(const char *folder, struct campaign_summary *summary, json_t *seeds,
                          struct campaign_damage *damage, char error[512])
{
    struct loading loading = {summary, seeds};
    struct rule_counts *counts;
    uint64_t runs;
    bool is_read;

    if (!campaign_store_read(folder, take_record, &loading, damage, error))
        return false;
    counts = calloc(1, sizeof *counts);
    is_read = counts && report_rule_counts_load(folder, counts, &runs, error);
    if (is_read)
        rule_counts_add(&summary->rules, counts);
    if (is_read && !report_alternatives_load(folder, &summary->arms)) {
        snprintf(error, 512, "'%.300s/rules.json': the counts of alternatives are damaged", folder);
        is_read = false;
    } else if (!counts)
        snprintf(error, 512, "no memory");
    free(counts);
    campaign_summary_settle(summary);
    return is_read;
}

static bool is_in_trend(const json_t *trend, const char *cause)
{
    size_t i, k;
    json_t *campaign, *id;

    json_array_foreach(trend, i, campaign)
    {
        json_array_foreach(json_object_get(campaign, "causes"), k, id)
        {
            if (strcmp(json_string_value(id), cause) == 0)
                return true;
        }
    }
    return false;
}

/* A campaign in the trend. Causes that no campaign before it had are new. */
static void add_to_trend(json_t *trend, const char *folder, const struct campaign_summary *summary,
                         time_t time)
{
    json_t *json = json_object(), *causes = json_array(), *new_causes = json_array();
    unsigned evaluated = 0, broken = 0;

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        evaluated += summary->rules.evaluated[i] != 0;
        broken += summary->rules.broken[i] != 0;
    }
    for (size_t i = 0; i < summary->cause_count; i++) {
        char id[24];

        if (campaign_is_advice(&summary->causes[i]))
            continue;
        cause_id(&summary->causes[i], id);
        json_array_append_new(causes, json_string(id));
        if (!is_in_trend(trend, id))
            json_array_append_new(new_causes, json_string(id));
    }
    set_text(json, "name", folder);
    set_text(json, "driver", summary->cause_count ? summary->causes[0].first.driver : "");
    set(json, "time", time > 0 ? (uint64_t)time : 0);
    set(json, "runs", summary->runs);
    set(json, "findings", summary->findings);
    set(json, "rules_evaluated", evaluated);
    set(json, "rules_broken", broken);
    set(json, "alternatives", coverage_arm_counts_seen(&summary->arms));
    json_object_set_new(json, "causes", causes);
    json_object_set_new(json, "new_causes", new_causes);
    json_array_append_new(trend, json);
}

/* Of the last result, seconds since 1970; 0: not known. */
static time_t time_of(const char *folder)
{
    char path[1100];
    struct stat status;

    snprintf(path, sizeof path, "%.1000s/results.jsonl", folder);
    return stat(path, &status) == 0 ? status.st_mtime : 0;
}

#define TREND_MOST 200

struct dated {
    char name[256];
    time_t time;
};

static int by_time(const void *a, const void *b)
{
    const struct dated *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The campaigns in a folder, the oldest first; the newest TREND_MOST of them. */
static size_t list_campaigns(const char *folder, struct dated *list)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;

    while (directory && (entry = readdir(directory))) {
        char inner[1100];

        if (entry->d_name[0] == '.' ||
            (size_t)snprintf(inner, sizeof inner, "%s/%s", folder, entry->d_name) >= sizeof inner ||
            report_folder_kind(inner) != REPORT_FOLDER_CAMPAIGN)
            continue;
        if (count == TREND_MOST) {
            memmove(list, list + 1, (count - 1) * sizeof *list);
            count--;
        }
        snprintf(list[count].name, sizeof list[count].name, "%.255s", entry->d_name);
        list[count++].time = time_of(inner);
        qsort(list, count, sizeof *list, by_time);
    }
    if (directory)
        closedir(directory);
    return count;
}

/* Adds the older campaigns of the folder to the trend, and names the newest. */
static bool load_trend(const char *folder, struct report_campaign *campaign, char error[512])
{
    struct dated *list = calloc(TREND_MOST, sizeof *list);
    size_t count = list ? list_campaigns(folder, list) : 0;
    bool is_fine = count > 0;

    if (!list)
        snprintf(error, 512, "no memory");
    else if (!count)
        snprintf(error, 512, "'%.300s' has no campaigns", folder);
    for (size_t i = 0; i + 1 < count && is_fine; i++) {
        struct campaign_summary summary = {0};
        struct campaign_damage damage;
        char inner[1100];

        snprintf(inner, sizeof inner, "%s/%s", folder, list[i].name);
        is_fine =
            campaign_summary_init(&summary) && read_campaign(inner, &summary, NULL, &damage, error);
        if (is_fine)
            add_to_trend(campaign->trend, list[i].name, &summary, list[i].time);
        campaign_summary_fini(&summary);
    }
    if (is_fine && (size_t)snprintf(campaign->folder, sizeof campaign->folder, "%s/%s", folder,
                                    list[count - 1].name) >= sizeof campaign->folder) {
        snprintf(error, 512, "the name of the folder is too long");
        is_fine = false;
    }
    free(list);
    return is_fine;
}

/*
 * The id of the cause that a run counts for: what campaign_summary_settle() put under another cause
 * counts for that one.
 */
static void settled_id(const struct campaign_summary *summary, const char *id, char out[24])
{
    const uint64_t hash = strtoull(id, NULL, 16);

    snprintf(out, 24, "%s", id);
    for (size_t i = 0; i < summary->cause_count; i++) {
        cause_id(&summary->causes[i], out);
        if (strcmp(out, id) == 0)
            return;
    }
    for (size_t i = 0; i < summary->cause_count; i++) {
        const struct campaign_cause *cause = &summary->causes[i];

        for (unsigned k = 0; k < cause->consequence_count; k++) {
            if (cause->consequences[k].cause == hash && cause->consequences[k].alone) {
                cause_id(cause, out);
                return;
            }
        }
    }
    snprintf(out, 24, "%s", id);
}

/* Runs have the causes that the summary has, each once. */
static void settle_seeds(const struct report_campaign *campaign)
{
    size_t i, k, n;
    json_t *seed, *id, *other;

    json_array_foreach(campaign->seeds, i, seed)
    {
        json_t *causes = json_array();

        json_array_foreach(json_object_get(seed, "causes"), k, id)
        {
            char settled[24];
            bool is_there = false;

            settled_id(&campaign->summary, json_string_value(id), settled);
            json_array_foreach(causes, n, other) is_there |=
                strcmp(json_string_value(other), settled) == 0;
            if (!is_there)
                json_array_append_new(causes, json_string(settled));
        }
        json_object_set_new(seed, "causes", causes);
    }
}

static json_t *load_description(const char *folder, char error[512])
{
    int descriptor = folder_open(folder);
    FILE *file = descriptor < 0 ? NULL : folder_fopen(descriptor, "campaign.json", "r");
    json_error_t reason;
    json_t *json = file ? json_loadf(file, 0, &reason) : NULL;

    if (!file)
        snprintf(error, 512, "cannot read '%.300s/campaign.json': %s", folder, strerror(errno));
    else if (!json_is_object(json))
        snprintf(error, 512, "'%.200s/campaign.json' is damaged: %.160s", folder,
                 json ? "it has no object" : reason.text);
    if (file)
        fclose(file);
    if (descriptor >= 0)
        close(descriptor);
    if (!json_is_object(json)) {
        json_decref(json);
        return NULL;
    }
    return json;
}

bool report_campaign_load(const char *folder, struct report_campaign *out_campaign, char error[512])
{
    struct report_campaign *campaign = out_campaign;
    const char *slash;
    size_t length = strlen(folder);

    *campaign = (struct report_campaign){
        .seeds = json_array(), .pages = json_object(), .trend = json_array()};
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (length >= sizeof campaign->folder) {
        snprintf(error, 512, "the name of the folder is too long");
        goto failed;
    }
    memcpy(campaign->folder, folder, length);
    if (report_folder_kind(folder) == REPORT_FOLDER_CAMPAIGNS &&
        !load_trend(folder, campaign, error))
        goto failed;
    if (!campaign_summary_init(&campaign->summary)) {
        snprintf(error, 512, "no memory");
        goto failed;
    }
    campaign->description = load_description(campaign->folder, error);
    if (!campaign->description || !read_campaign(campaign->folder, &campaign->summary,
                                                 campaign->seeds, &campaign->damage, error))
        goto failed;
    settle_seeds(campaign);
    for (size_t i = 0; i < campaign->summary.cause_count; i++)
        find_smallest(campaign, i);
    slash = strrchr(campaign->folder, '/');
    add_to_trend(campaign->trend, slash ? slash + 1 : campaign->folder, &campaign->summary,
                 time_of(campaign->folder));
    return true;
failed:
    report_campaign_fini(campaign);
    return false;
}

void report_campaign_fini(struct report_campaign *campaign)
{
    campaign_summary_fini(&campaign->summary);
    json_decref(campaign->description);
    json_decref(campaign->seeds);
    json_decref(campaign->pages);
    json_decref(campaign->trend);
    *campaign = (struct report_campaign){0};
}

/* ---- The pages ------------------------------------------------------------------------------- */

static json_t *contract_json(void)
{
    json_t *list = json_array();

    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        const struct rule *rule = rule_get((enum rule_id)i);
        const char *reason = rule_reason_unchecked((enum rule_id)i);
        json_t *json = json_object();

        set_text(json, "id", rule->id);
        set_text(json, "sentence", rule->sentence);
        set_text(json, "side", rule_side_name(rule->side));
        set(json, "tier", rule->tier);
        set_text(json, "versions", rule->versions);
        set_text(json, "reason", reason ? reason : "");
        json_array_append_new(list, json);
    }
    return list;
}

static char *html_of(const char *title, json_t *facts, size_t *out_size, char error[512])
{
    char *text = json_dumps(facts, JSON_SORT_KEYS), *html = NULL;
    struct report_page page = {.title = title, .facts = text};

    if (text)
        html = report_page_html(&page, out_size, error);
    else
        snprintf(error, 512, "no memory for the page");
    free(text);
    return html;
}

static int by_value(const void *a, const void *b)
{
    json_int_t x = json_integer_value(*(json_t *const *)a);
    json_int_t y = json_integer_value(*(json_t *const *)b);

    return (x > y) - (x < y);
}

/* The numbers in rising order, as a list of its own; the list that was given is released. */
static json_t *sorted(json_t *numbers)
{
    json_t *copy = json_array(), *values[CAMPAIGN_PAGE_CAUSE_SEEDS];
    size_t count = json_array_size(numbers);

    for (size_t i = 0; i < count; i++)
        values[i] = json_array_get(numbers, i);
    qsort(values, count, sizeof values[0], by_value);
    for (size_t i = 0; i < count; i++)
        json_array_append(copy, values[i]);
    json_decref(numbers);
    return copy;
}

/* The page of each cause, and the seeds that it was seen in. */
static void complete_causes(const struct report_campaign *campaign, json_t *causes)
{
    size_t i, k, n, texts = 0;
    json_t *cause, *seed, *id;

    json_array_foreach(causes, i, cause)
    {
        const char *own = json_string_value(json_object_get(cause, "cause"));
        json_t *seeds = json_array(), *page = json_object_get(campaign->pages, own ? own : "");
        json_t *text = texts < CAMPAIGN_PAGE_CASES ? report_cause_case_text(campaign, i) : NULL;

        texts += text != NULL;
        if (text)
            json_object_set_new(cause, "case_text", text);

        json_array_foreach(campaign->seeds, k, seed)
        {
            json_array_foreach(json_object_get(seed, "causes"), n, id)
            {
                if (own && strcmp(json_string_value(id), own) == 0 &&
                    json_array_size(seeds) < CAMPAIGN_PAGE_CAUSE_SEEDS)
                    json_array_append(seeds, json_object_get(seed, "seed"));
            }
        }
        json_object_set_new(cause, "seeds", sorted(seeds));
        json_object_set(cause, "page", page ? page : json_null());
    }
}

char *report_campaign_html(const struct report_campaign *campaign, size_t *out_size,
                           char error[512])
{
    char *text = campaign_report_json(&campaign->summary, campaign->folder, 0, NULL, NULL);
    json_t *facts = text ? json_loads(text, 0, NULL) : NULL, *notes = json_array();
    char title[700], note[256], *html;

    free(text);
    if (!facts) {
        snprintf(error, 512, "no memory for the page");
        json_decref(notes);
        return NULL;
    }
    if (campaign->damage.count) {
        snprintf(note, sizeof note,
                 "%" PRIu64 " of the folder's lines are damaged, the first is line %" PRIu64
                 " of results.jsonl: their runs are not on this page.",
                 campaign->damage.count, campaign->damage.first);
        json_array_append_new(notes, json_string(note));
    }
    if (json_array_size(campaign->seeds) >= CAMPAIGN_PAGE_SEEDS)
        json_array_append_new(notes, json_string("The list of runs with findings has the first "
                                                 "20,000 of them."));
    /* The folder does not tell how long its runs took, nor why the last one was the last. */
    json_object_del(facts, "seconds");
    json_object_del(facts, "runs_per_second");
    json_object_del(facts, "stopped_by");
    json_object_update_missing(facts, campaign->description);
    json_object_set_new(facts, "page", json_string("campaign"));
    set_text(facts, "folder", campaign->folder);
    set_text(facts, "version", DRYDOCK_VERSION);
    json_object_set(facts, "seeds", campaign->seeds);
    json_object_set(facts, "trend", campaign->trend);
    json_object_set_new(facts, "contract", contract_json());
    json_object_set_new(facts, "alternatives", report_alternatives_list(&campaign->summary.arms));
    complete_causes(campaign, json_object_get(facts, "causes"));
    json_object_set_new(facts, "notes", notes);
    snprintf(title, sizeof title, "Campaign %s - Drydock", campaign->folder);
    html = html_of(title, facts, out_size, error);
    json_decref(facts);
    return html;
}

char *report_cause_html(const struct report_campaign *campaign, size_t cause, const char *why,
                        size_t *out_size, char error[512])
{
    const struct campaign_record *first = &campaign->summary.causes[cause].first;
    json_t *facts = json_object(), *notes = json_array(), *findings = json_array();
    json_t *finding = report_cause_json(campaign, cause);
    json_t *text = report_cause_case_text(campaign, cause);
    char name[REPORT_CAUSE_NAME], title[128], *html;

    if (text)
        json_object_set_new(finding, "case_text", text);
    json_array_append_new(findings, finding);
    json_array_append_new(notes, report_text_json(why));
    report_cause_name(&campaign->summary, cause, name);
    json_object_set_new(facts, "page", json_string("run"));
    set_text(facts, "folder", campaign->folder);
    set_text(facts, "version", DRYDOCK_VERSION);
    set_text(facts, "case", name);
    set_text(facts, "driver", first->driver);
    set_text(facts, "model", campaign_model_name(first->model));
    set(facts, "seed", first->seed);
    set_text(facts, "outcome", campaign_outcome_name(first->outcome));
    json_object_set_new(facts, "findings", findings);
    json_object_set_new(facts, "notes", notes);
    snprintf(title, sizeof title, "%s - Drydock", name);
    html = html_of(title, facts, out_size, error);
    json_decref(facts);
    return html;
}
