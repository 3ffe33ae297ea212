/*
 * The folder of a campaign.
 */
#define _GNU_SOURCE /* getline(), ftruncate() */
#include "report/campaign/campaign_report.h"

#include "base/hash.h"
#include "bench/config/profile.h"
#include "bench/drivers/drivers.h"
#include "report/finding_report.h"
#include "report/campaign/folder_files.h"
#include "report/plain_text.h"
#include "report/rules_report.h"
#include "report/text_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Counts of rules are saved after so many runs, or so many seconds, that the file does not have. */
#define RULES_SAVED_EVERY   256
#define RULES_SAVED_SECONDS 2

struct campaign_store {
    char path[512];
    int folder, findings; /* descriptors, -1: not open */
    FILE *lines;
    struct report_rule_file rules;
    struct campaign_damage damage; /* found when it was opened */
    uint64_t uncounted;            /* lines that were whole and put aside then */
    uint64_t counted_bytes;        /* of results.jsonl: the lines whose rules are counted */
    uint64_t runs_saved;           /* of rules.runs: what the file has */
    time_t saved_at;               /* seconds of the monotonic clock */
    uint64_t *keys;                /* open addressing, 0: free */
    size_t key_count, key_room;
    struct campaign_options options; /* its names are the caller's */
};

static uint64_t key_of(uint64_t seed, const char *case_path)
{
    uint64_t key = hash_pair(seed, hash_string(case_path));

    return key ? key : 1;
}

static void place_key(uint64_t *keys, size_t room, uint64_t key)
{
    size_t at = key % room;

    while (keys[at] && keys[at] != key)
        at = (at + 1) % room;
    keys[at] = key;
}

static bool add_key(struct campaign_store *store, uint64_t key)
{
    if (2 * (store->key_count + 1) > store->key_room) {
        size_t room = store->key_room ? 2 * store->key_room : 1024;
        uint64_t *keys = calloc(room, sizeof *keys);

        if (!keys)
            return false;
        for (size_t i = 0; i < store->key_room; i++) {
            if (store->keys[i])
                place_key(keys, room, store->keys[i]);
        }
        free(store->keys);
        store->keys = keys;
        store->key_room = room;
    }
    place_key(store->keys, store->key_room, key);
    store->key_count++;
    return true;
}

bool campaign_store_has(const struct campaign_store *store, uint64_t seed, const char *case_path)
{
    uint64_t key = key_of(seed, case_path);
    size_t at;

    if (!store->key_room)
        return false;
    for (at = key % store->key_room; store->keys[at]; at = (at + 1) % store->key_room) {
        if (store->keys[at] == key)
            return true;
    }
    return false;
}

static bool fail(char error[512], const char *what, const char *path)
{
    snprintf(error, 512, "%s '%.400s': %s", what, path, strerror(errno));
    return false;
}

static bool join(char out[600], const char *folder, const char *name)
{
    return (size_t)snprintf(out, 600, "%s/%s", folder, name) < 600;
}

/*
 * Hands over the lines of the file: each with its record, which is NULL when the line is damaged.
 * False: no memory, or the callback said so.
 */
static bool read_lines(FILE *file,
                       bool (*take)(void *context, const char *line, size_t length,
                                    const struct campaign_record *record),
                       void *context)
{
    struct campaign_record *record = malloc(sizeof *record);
    char *line = NULL;
    size_t room = 0;
    bool goes_on = record != NULL;
    ssize_t length;

    while (goes_on && (length = getline(&line, &room, file)) > 0) {
        bool is_whole = strlen(line) == (size_t)length && campaign_line_parse(line, record);

        goes_on = take(context, line, (size_t)length, is_whole ? record : NULL);
    }
    goes_on = goes_on && !ferror(file);
    free(line);
    free(record);
    return goes_on;
}

struct reading {
    bool (*record)(void *context, const struct campaign_record *record);
    void *context;
    struct campaign_damage damage;
    uint64_t number;
    bool has_ended; /* as the callback wanted */
};

static bool take_line(void *context, const char *line, size_t length,
                      const struct campaign_record *record)
{
    struct reading *reading = context;

    reading->number++;
    if (!record) {
        /* The last line of a campaign that was ended is no damage. */
        if (line[length - 1] == '\n' && !reading->damage.count++)
            reading->damage.first = reading->number;
        return true;
    }
    reading->has_ended = !reading->record(reading->context, record);
    return !reading->has_ended;
}

bool campaign_store_read(const char *path,
                         bool (*record)(void *context, const struct campaign_record *record),
                         void *context, struct campaign_damage *out_damage, char error[512])
{
    struct reading reading = {.record = record, .context = context};
    int folder = folder_open(path);
    FILE *file = folder < 0 ? NULL : folder_fopen(folder, "results.jsonl", "r");
    bool is_fine;

    memset(out_damage, 0, sizeof *out_damage);
    if (!file) {
        char name[600];

        join(name, path, "results.jsonl");
        fail(error, "cannot read", name);
        if (folder >= 0)
            close(folder);
        return false;
    }
    is_fine = read_lines(file, take_line, &reading) || reading.has_ended;
    if (!is_fine)
        snprintf(error, 512, "no memory");
    *out_damage = reading.damage;
    fclose(file);
    close(folder);
    return is_fine;
}

/* ---- Resuming -------------------------------------------------------------------------------- */

struct resume {
    struct campaign_store *store;
    void (*known)(void *context, const struct campaign_record *record);
    void *context;
    FILE *kept;             /* becomes results.jsonl */
    FILE *aside;            /* results.aside, opened when there is something for it */
    uint64_t at;            /* offset of the line in the old file */
    uint64_t number, drops; /* lines, and those that do not stay */
    bool has_failed;
};

static bool put_aside(struct resume *resume, const char *line, size_t length)
{
    if (!resume->aside)
        resume->aside = folder_fopen(resume->store->folder, "results.aside", "a");
    return resume->aside && fwrite(line, 1, length, resume->aside) == length &&
           (line[length - 1] == '\n' || fputc('\n', resume->aside) != EOF);
}

static bool resume_line(void *context, const char *line, size_t length,
                        const struct campaign_record *record)
{
    struct resume *resume = context;
    bool is_counted = resume->at < resume->store->rules.results_bytes;

    resume->at += length;
    resume->number++;
    if (!record && line[length - 1] == '\n' && !resume->store->damage.count++)
        resume->store->damage.first = resume->number;
    if (!record || !is_counted) {
        resume->drops++;
        resume->store->uncounted += record != NULL;
        resume->has_failed = !put_aside(resume, line, length);
        return !resume->has_failed;
    }
    resume->has_failed = fwrite(line, 1, length, resume->kept) != length ||
                         !add_key(resume->store, key_of(record->seed, record->case_path));
    if (!resume->has_failed && resume->known)
        resume->known(resume->context, record);
    return !resume->has_failed;
}

/*
 * Takes over the lines that are whole and whose rules are counted, and leaves a results.jsonl of
 * these, when there are others. The file stays open for more.
 */
static bool take_over_lines(struct resume *resume, char error[512])
{
    struct campaign_store *store = resume->store;
    FILE *old = folder_fopen(store->folder, "results.jsonl", "r");
    bool is_fine = true;

    if (!old && errno != ENOENT)
        return fail(error, "cannot read 'results.jsonl' in", store->path);
    if (old) {
        unlinkat(store->folder, "results.partial", 0);
        resume->kept = folder_fopen(store->folder, "results.partial", "w");
        is_fine = resume->kept && read_lines(old, resume_line, resume);
        if (resume->aside)
            is_fine &= fclose(resume->aside) == 0;
        if (resume->kept)
            is_fine &= fclose(resume->kept) == 0;
        if (is_fine && resume->drops)
            is_fine =
                renameat(store->folder, "results.partial", store->folder, "results.jsonl") == 0;
        else
            unlinkat(store->folder, "results.partial", 0);
        fclose(old);
    }
    if (is_fine)
        store->lines = folder_fopen(store->folder, "results.jsonl", "a");
    return (is_fine && store->lines) || fail(error, "cannot write 'results.jsonl' in", store->path);
}

/* The facts besides its seed on which a record depends. */
static json_t *identity_json(const struct campaign_options *options)
{
    json_t *json = json_object(), *cases = json_array();
    struct campaign_record named;

    json_object_set_new(json, "driver", report_text_json(options->driver));
    json_object_set_new(json, "model", json_string(campaign_model_name(options->model)));
    for (size_t i = 0; i < options->case_count; i++)
        json_array_append_new(cases, report_text_json(options->cases[i]->path));
    json_object_set_new(json, "cases", cases);
    if (options->profile && strcmp(options->profile, RUN_PROFILE_DEFAULT) != 0)
        json_object_set_new(json, "profile", report_text_json(options->profile));
    campaign_name_record(options, &named);
    if (named.board[0])
        json_object_set_new(json, "board", report_text_json(named.board));
    return json;
}

static bool check_identity(const struct campaign_store *store, bool is_resumed, char error[512])
{
    json_t *wanted = identity_json(&store->options), *found = NULL;
    FILE *file = folder_fopen(store->folder, "campaign.json", "r");
    bool is_fine = true;

    if (!file && errno != ENOENT) {
        is_fine = fail(error, "cannot read 'campaign.json' in", store->path);
    } else if (file && !is_resumed) {
        snprintf(error, 512,
                 "'%.400s/campaign.json' is there already (--resume goes on with it, "
                 "--force begins anew",
                 store->path);
        is_fine = false;
    } else if (file) {
        found = json_loadf(file, 0, NULL);
        is_fine = found && json_equal(wanted, found);
        snprintf(error, 512,
                 "'%.400s/campaign.json' is of another campaign: driver, profile, model or cases "
                 "differ",
                 store->path);
    } else if (!is_resumed && faccessat(store->folder, "results.jsonl", F_OK, 0) == 0) {
        snprintf(error, 512, "'%.400s/results.jsonl' is there already, and of no known campaign",
                 store->path);
        is_fine = false;
    } else {
        char *text = json_dumps(wanted, JSON_INDENT(2) | JSON_SORT_KEYS);

        is_fine = text && folder_replace(store->folder, "campaign.json", text);
        if (!is_fine)
            fail(error, "cannot write 'campaign.json' in", store->path);
        free(text);
    }
    if (file)
        fclose(file);
    json_decref(wanted);
    json_decref(found);
    return is_fine;
}

static bool make_folders(const char *path, char error[512])
{
    char name[600];

    snprintf(name, sizeof name, "%s", path);
    for (char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(name, 0777) != 0 && errno != EEXIST)
            return fail(error, "cannot make the folder", name);
        *slash = '/';
    }
    if (mkdir(name, 0777) != 0 && errno != EEXIST)
        return fail(error, "cannot make the folder", name);
    return true;
}

static bool lock_folder(const struct campaign_store *store, char error[512])
{
    if (flock(store->folder, LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK)
        return fail(error, "cannot lock the folder", store->path);
    snprintf(error, 512, "'%.400s' is in use by another drydock", store->path);
    return false;
}

/* The folder and its place for findings are opened, and nobody else's until the store is closed. */
static bool open_folders(struct campaign_store *store, char error[512])
{
    char name[600];

    store->folder = folder_open(store->path);
    if (store->folder < 0)
        return fail(error, "cannot open the folder", store->path);
    if (!lock_folder(store, error))
        return false;
    store->findings = folder_open_within(store->folder, "findings");
    join(name, store->path, "findings");
    return store->findings >= 0 || fail(error, "cannot open the folder", name);
}

/* "gpummu-17.case", "PB-004-1.case": letters, digits and dashes, and one of the two ends. */
static bool is_of_findings(const char *name)
{
    const size_t stem =
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-");

    return stem && (strcmp(name + stem, ".case") == 0 || strcmp(name + stem, ".txt") == 0) &&
           strchr(name, '-');
}

static bool clear_findings(int folder)
{
    int findings = openat(folder, "findings", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *listing = findings < 0 ? NULL : fdopendir(findings);
    bool is_fine = true;

    if (findings < 0)
        return errno == ENOENT;
    if (!listing) {
        close(findings);
        return false;
    }
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;)
        if (is_of_findings(entry->d_name))
            is_fine &= unlinkat(findings, entry->d_name, 0) == 0;
    closedir(listing);
    return is_fine;
}

bool campaign_store_clear(const char *path, char error[512])
{
    /* campaign.json last: while it is there, the rest may be taken away once more. */
    static const char *const names[] = {"results.jsonl", "results.aside", "results.partial",
                                        "rules.json", "campaign.json"};
    struct campaign_store store = {.folder = folder_open(path)};
    bool is_fine = true;

    if (store.folder < 0)
        return errno == ENOENT || fail(error, "cannot open the folder", path);
    snprintf(store.path, sizeof store.path, "%s", path);
    if (faccessat(store.folder, "campaign.json", F_OK, 0) != 0) {
        close(store.folder);
        return true; /* none is there: who opens it says what is wrong with the folder */
    }
    if (!lock_folder(&store, error)) {
        close(store.folder);
        return false;
    }
    is_fine = clear_findings(store.folder);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && is_fine; i++)
        is_fine = unlinkat(store.folder, names[i], 0) == 0 || errno == ENOENT;
    if (!is_fine)
        fail(error, "cannot clear the folder", path);
    close(store.folder);
    return is_fine;
}

bool campaign_store_is_of(const char *path, const struct campaign_options *options, char error[512])
{
    struct campaign_store store = {.folder = folder_open(path), .options = *options};
    bool is_fine;

    if (store.folder < 0)
        return fail(error, "cannot open the folder", path);
    snprintf(store.path, sizeof store.path, "%s", path);
    if (faccessat(store.folder, "campaign.json", F_OK, 0) == 0)
        is_fine = check_identity(&store, true, error);
    else
        is_fine = fail(error, "cannot read 'campaign.json' in", path);
    close(store.folder);
    return is_fine;
}

static time_t seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* The rules of all lines that are in the file are counted. */
static void count_lines(struct campaign_store *store)
{
    struct stat status;

    store->counted_bytes =
        fstat(fileno(store->lines), &status) == 0 ? (uint64_t)status.st_size : UINT64_MAX;
}

static bool save_rules(struct campaign_store *store, char error[512])
{
    store->rules.results_bytes = store->counted_bytes;
    store->runs_saved = store->rules.runs;
    store->saved_at = seconds_now();
    return report_rule_file_write(store->folder, &store->rules, error);
}

bool campaign_store_open(const char *path, const struct campaign_options *options, bool is_resumed,
                         void (*known)(void *context, const struct campaign_record *record),
                         void *context, struct campaign_store **out_store, char error[512])
{
    struct campaign_store *store = calloc(1, sizeof *store);
    struct resume resume = {.store = store, .known = known, .context = context};

    *out_store = NULL;
    snprintf(error, 512, "no memory");
    if (!store)
        return false;
    store->folder = store->findings = -1;
    store->options = *options;
    if ((size_t)snprintf(store->path, sizeof store->path, "%s", path) >= sizeof store->path) {
        snprintf(error, 512, "the name of the folder is too long");
        goto free_store;
    }
    if (!make_folders(path, error) || !open_folders(store, error) ||
        !check_identity(store, is_resumed, error) ||
        !report_rule_file_read(store->folder, &store->rules, error))
        goto free_store;
    if (!take_over_lines(&resume, error))
        goto free_store;
    count_lines(store);
    if (!save_rules(store, error))
        goto free_store;
    *out_store = store;
    return true;

free_store:
    campaign_store_close(store);
    return false;
}

const struct rule_counts *campaign_store_rules(const struct campaign_store *store)
{
    return &store->rules.counts;
}

const struct campaign_damage *campaign_store_damage(const struct campaign_store *store)
{
    return &store->damage;
}

uint64_t campaign_store_uncounted(const struct campaign_store *store)
{
    return store->uncounted;
}

const struct coverage_arm_counts *campaign_store_arms(const struct campaign_store *store)
{
    return &store->rules.arms;
}

bool campaign_store_count_rules(struct campaign_store *store, const struct rule_counts *counts,
                                const struct coverage_arm_counts *arms, uint64_t runs,
                                char error[512])
{
    rule_counts_add(&store->rules.counts, counts);
    if (arms)
        coverage_arm_counts_add(&store->rules.arms, arms);
    store->rules.runs += runs;
    count_lines(store);
    if (store->rules.runs - store->runs_saved < RULES_SAVED_EVERY &&
        seconds_now() - store->saved_at < RULES_SAVED_SECONDS)
        return true;
    return save_rules(store, error);
}

void campaign_store_flush(struct campaign_store *store)
{
    char error[512];

    if (store && store->lines)
        save_rules(store, error);
}

void campaign_store_close(struct campaign_store *store)
{
    if (!store)
        return;
    campaign_store_flush(store);
    if (store->lines)
        fclose(store->lines);
    if (store->findings >= 0)
        close(store->findings);
    if (store->folder >= 0)
        close(store->folder); /* unlocks it */
    report_rule_file_fini(&store->rules);
    free(store->keys);
    free(store);
}

/*
 * The case that a seed draws, with its setup: to be played alone, and for editing. There is none of
 * a driver whose name no option can have (a path with blanks), nor of a board that was said to
 * another campaign (`drydock merge`): then why says so, and nothing is written.
 */
static bool write_case(const struct campaign_store *store, const struct campaign_record *record,
                       const char *name, bool *out_is_written, bool *out_loads_code,
                       struct workload_error *why)
{
    struct campaign_options options = store->options;
    struct campaign_record named;
    struct workload *workload;
    uint32_t option = 0;
    bool is_fine;

    *out_is_written = *out_loads_code = false;
    options.driver = record->driver;
    options.profile = record->profile[0] ? record->profile : NULL;
    options.model = record->model;
    campaign_name_record(&options, &named);
    if (strcmp(named.board, record->board) != 0) {
        snprintf(why->text, sizeof why->text, "its board is known as%.400s only", record->board);
        return true;
    }
    workload = campaign_case(&options, record, why);
    *out_is_written = workload != NULL;
    *out_loads_code = workload && run_next_code_option(workload, &option);
    is_fine = !workload || folder_may_write(name);
    if (!is_fine)
        snprintf(why->text, sizeof why->text, "cannot write '%.400s': %s", name, strerror(errno));
    else if (workload)
        is_fine = workload_save(workload, name, why);
    workload_free(workload);
    return is_fine;
}

/* For people; of random operations also the case. */
static bool write_finding(struct campaign_store *store, const struct campaign_record *record,
                          char error[512])
{
    struct report_finding views[CAMPAIGN_MAX_FINDINGS];
    char name[640], case_name[640], text[REPORT_RECORD_TEXT];
    struct workload_error why;
    bool has_case = false, loads_code = false;
    FILE *file;

    snprintf(name, sizeof name, "%s/findings/%s-%" PRIu64 ".txt", store->path,
             campaign_model_name(record->model), record->seed);
    snprintf(case_name, sizeof case_name, "%s/findings/%s-%" PRIu64 ".case", store->path,
             campaign_model_name(record->model), record->seed);
    if (!record->case_path[0] &&
        !write_case(store, record, case_name, &has_case, &loads_code, &why)) {
        snprintf(error, 512, "%.500s", why.text);
        return false;
    }
    file = folder_fopen(store->findings, strrchr(name, '/') + 1, record->case_path[0] ? "a" : "w");
    if (!file)
        return fail(error, "cannot write", name);
    for (unsigned i = 0; i < record->finding_count; i++) {
        const uint32_t of = record->findings[i].consequence_of;

        views[i] = report_finding_of_record(record, i, store->path, text);
        views[i].cause = of ? &views[of - 1] : NULL;
    }
    report_finding_list(file, views, record->finding_count);
    fprintf(file, "%" PRIu64 " findings in this run\n", record->finding_total);
    if (has_case)
        fprintf(file, "  of the case alone: drydock replay %s%s\n", case_name,
                loads_code ? " --trust-case" : "");
    else if (!record->case_path[0])
        fprintf(file, "  its case cannot be written: %s\n", why.text);
    fputc('\n', file);
    plain_text_write(file, record->detail, strlen(record->detail)); /* whole */
    fputc('\n', file);
    return fclose(file) == 0 || fail(error, "cannot write", name);
}

bool campaign_store_add(struct campaign_store *store, const struct campaign_record *record,
                        char error[512])
{
    char *line = campaign_line(record);
    bool is_fine;

    snprintf(error, 512, "no memory");
    if (!line)
        return false;
    is_fine = fputs(line, store->lines) >= 0 && fflush(store->lines) == 0;
    free(line);
    if (!is_fine)
        return fail(error, "cannot write to", store->path);
    return record->outcome == CAMPAIGN_CLEAN || write_finding(store, record, error);
}
