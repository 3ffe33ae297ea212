/*
 * Records as lines of JSON, and the folder that they are in.
 */
#include "report/campaign_report.h"

#include "base/hash.h"
#include "bench/config/profile.h"
#include "report/finding_report.h"
#include "report/rules_report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RULES_SAVED_EVERY 256 /* runs: what an end in the middle may leave uncounted */

/* ---- Lines ----------------------------------------------------------------------------------- */

static json_t *text_json(const char *text)
{
    json_t *json = json_string(text);

    /* Names come from cases, which are bytes: what is no UTF-8 is not printed. */
    return json ? json : json_string("(not UTF-8)");
}

/* All counts of a record, in one list for both directions. */
#define COUNTS(X)                                                                                  \
    X(seed)                                                                                        \
    X(operations)                                                                                  \
    X(submissions)                                                                                 \
    X(paging_operations)                                                                           \
    X(evictions)                                                                                   \
    X(pages_checked)                                                                               \
    X(translations_checked)                                                                        \
    X(mismatches)                                                                                  \
    X(finding_total)

char *campaign_record_json(const struct campaign_record *record)
{
    json_t *json = json_object(), *findings = json_array();
    char digest[24], replay[CAMPAIGN_REPLAY_BYTES], *text;

#define X(name) json_object_set_new(json, #name, json_integer((json_int_t)record->name));
    COUNTS(X)
#undef X
    snprintf(digest, sizeof digest, "%016" PRIx64, record->digest);
    campaign_replay_command(record, replay, sizeof replay);
    json_object_set_new(json, "digest", json_string(digest));
    json_object_set_new(json, "case", text_json(record->case_path));
    json_object_set_new(json, "driver", text_json(record->driver));
    json_object_set_new(json, "profile",
                        text_json(record->profile[0] ? record->profile : RUN_PROFILE_DEFAULT));
    if (record->board[0])
        json_object_set_new(json, "board", text_json(record->board));
    json_object_set_new(json, "model", json_string(campaign_model_name(record->model)));
    json_object_set_new(json, "wddm", json_integer(record->wddm));
    json_object_set_new(json, "outcome", json_string(campaign_outcome_name(record->outcome)));
    json_object_set_new(json, "was_repeated", json_boolean(record->was_repeated));
    json_object_set_new(json, "setup", text_json(record->setup));
    json_object_set_new(json, "detail", text_json(record->detail));
    json_object_set_new(json, "replay", text_json(replay));
    for (unsigned i = 0; i < record->finding_count; i++) {
        const struct campaign_finding *finding = &record->findings[i];
        json_t *one = json_object();

        json_object_set_new(one, "kind", text_json(finding->kind));
        json_object_set_new(one, "rule", text_json(finding->rule));
        json_object_set_new(one, "line", json_integer(finding->line));
        json_object_set_new(one, "text", text_json(finding->text));
        json_object_set_new(one, "event", json_integer((json_int_t)finding->detail.event));
        json_object_set_new(one, "where", text_json(finding->detail.where));
        json_object_set_new(one, "function", text_json(finding->detail.function));
        json_object_set_new(one, "objects", text_json(finding->detail.objects));
        json_object_set_new(one, "arguments", text_json(finding->detail.arguments));
        json_object_set_new(one, "bytes", text_json(finding->detail.bytes));
        json_array_append_new(findings, one);
    }
    json_object_set_new(json, "findings", findings);
    text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}

static bool get_text(const json_t *json, const char *key, char *out, size_t out_bytes)
{
    const char *text = json_string_value(json_object_get(json, key));

    snprintf(out, out_bytes, "%s", text ? text : "");
    return text != NULL;
}

#define GET_TEXT(json, key, field) get_text(json, key, field, sizeof(field))

static bool parse_findings(const json_t *list, struct campaign_record *record)
{
    record->finding_count = 0;
    for (size_t i = 0; i < json_array_size(list) && i < CAMPAIGN_MAX_FINDINGS; i++) {
        struct campaign_finding *finding = &record->findings[record->finding_count++];
        const json_t *one = json_array_get(list, i);

        if (!GET_TEXT(one, "kind", finding->kind) || !GET_TEXT(one, "rule", finding->rule) ||
            !GET_TEXT(one, "text", finding->text) ||
            !GET_TEXT(one, "where", finding->detail.where) ||
            !GET_TEXT(one, "function", finding->detail.function) ||
            !GET_TEXT(one, "objects", finding->detail.objects) ||
            !GET_TEXT(one, "arguments", finding->detail.arguments) ||
            !GET_TEXT(one, "bytes", finding->detail.bytes))
            return false;
        finding->detail.event = (uint64_t)json_integer_value(json_object_get(one, "event"));
        finding->line = (uint32_t)json_integer_value(json_object_get(one, "line"));
    }
    return json_is_array(list);
}

static bool parse_object(const json_t *json, struct campaign_record *record)
{
    char digest[24], model[16], outcome[16];

#define X(name)                                                                                    \
    if (!json_is_integer(json_object_get(json, #name)))                                            \
        return false;                                                                              \
    record->name = (uint64_t)json_integer_value(json_object_get(json, #name));
    COUNTS(X)
#undef X
    if (!GET_TEXT(json, "digest", digest) || !GET_TEXT(json, "model", model) ||
        !GET_TEXT(json, "outcome", outcome) || !GET_TEXT(json, "case", record->case_path) ||
        !GET_TEXT(json, "driver", record->driver) || !GET_TEXT(json, "setup", record->setup) ||
        !GET_TEXT(json, "detail", record->detail) || !campaign_find_model(model, &record->model) ||
        !campaign_find_outcome(outcome, &record->outcome))
        return false;
    GET_TEXT(json, "profile", record->profile); /* older folders have none: by default */
    GET_TEXT(json, "board", record->board);     /* where something is said of it */
    if (strcmp(record->profile, RUN_PROFILE_DEFAULT) == 0)
        memset(record->profile, 0, sizeof record->profile);
    record->digest = strtoull(digest, NULL, 16);
    record->wddm = (unsigned)json_integer_value(json_object_get(json, "wddm"));
    record->was_repeated = json_is_true(json_object_get(json, "was_repeated"));
    return parse_findings(json_object_get(json, "findings"), record);
}

bool campaign_record_parse(const char *text, struct campaign_record *out_record)
{
    json_t *json = json_loads(text, 0, NULL);
    bool is_fine;

    memset(out_record, 0, sizeof *out_record);
    is_fine = json_is_object(json) && parse_object(json, out_record);
    json_decref(json);
    return is_fine;
}

/* ---- The folder ------------------------------------------------------------------------------ */

struct campaign_store {
    char path[512];
    FILE *lines;
    struct rule_counts rules;
    uint64_t rule_runs, rule_runs_saved; /* counted in rules; of them, what the file has */
    uint64_t *keys;                      /* open addressing, 0: free */
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

bool campaign_store_read(const char *path,
                         bool (*record)(void *context, const struct campaign_record *record),
                         void *context, char error[512])
{
    struct campaign_record *one = malloc(sizeof *one);
    char name[600], *line = NULL;
    size_t room = 0, number = 0;
    bool goes_on = true, is_fine = one != NULL;
    ssize_t length;
    FILE *file;

    snprintf(error, 512, "no memory");
    join(name, path, "results.jsonl");
    file = fopen(name, "r");
    if (!file) {
        free(one);
        return fail(error, "cannot read", name);
    }
    while (is_fine && goes_on && (length = getline(&line, &room, file)) > 0) {
        number++;
        if (line[length - 1] != '\n')
            break; /* half written */
        is_fine = campaign_record_parse(line, one);
        if (is_fine)
            goes_on = record(context, one);
        else
            snprintf(error, 512, "%.400s:%zu: no record of a campaign", name, number);
    }
    free(line);
    free(one);
    fclose(file);
    return is_fine;
}

struct resume {
    struct campaign_store *store;
    void (*known)(void *context, const struct campaign_record *record);
    void *context;
    bool has_memory;
};

static bool take_known(void *context, const struct campaign_record *record)
{
    struct resume *resume = context;

    resume->has_memory = add_key(resume->store, key_of(record->seed, record->case_path));
    if (resume->known)
        resume->known(resume->context, record);
    return resume->has_memory;
}

/* What a record depends on besides its seed. */
static json_t *identity_json(const struct campaign_options *options)
{
    json_t *json = json_object(), *cases = json_array();
    struct campaign_record named;

    json_object_set_new(json, "driver", text_json(options->driver));
    json_object_set_new(json, "model", json_string(campaign_model_name(options->model)));
    for (size_t i = 0; i < options->case_count; i++)
        json_array_append_new(cases, text_json(options->cases[i]->path));
    json_object_set_new(json, "cases", cases);
    if (options->profile && strcmp(options->profile, RUN_PROFILE_DEFAULT) != 0)
        json_object_set_new(json, "profile", text_json(options->profile));
    campaign_name_record(options, &named);
    if (named.board[0])
        json_object_set_new(json, "board", text_json(named.board));
    return json;
}

static bool check_identity(const struct campaign_options *options, const char *name,
                           bool is_resumed, char error[512])
{
    json_t *wanted = identity_json(options), *found = json_load_file(name, 0, NULL);
    bool is_fine = true;

    if (!is_resumed && found) {
        snprintf(error, 512, "'%.400s' is there already (--resume goes on with it)", name);
        is_fine = false;
    } else if (found && !json_equal(wanted, found)) {
        snprintf(error, 512,
                 "'%.400s' is of another campaign: driver, profile, model or cases differ", name);
        is_fine = false;
    } else if (!found && json_dump_file(wanted, name, JSON_INDENT(2) | JSON_SORT_KEYS) != 0) {
        is_fine = fail(error, "cannot write", name);
    }
    json_decref(wanted);
    json_decref(found);
    return is_fine;
}

/* Cuts off what is behind the last end of a line. */
static bool cut_half_line(FILE *file)
{
    long end;

    if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
        return false;
    for (long at = end; at > 0; at--) {
        if (fseek(file, at - 1, SEEK_SET) != 0)
            return false;
        if (fgetc(file) == '\n')
            return at == end || ftruncate(fileno(file), at) == 0;
    }
    return ftruncate(fileno(file), 0) == 0;
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
    join(name, path, "findings");
    if (mkdir(name, 0777) != 0 && errno != EEXIST)
        return fail(error, "cannot make the folder", name);
    return true;
}

bool campaign_store_open(const char *path, const struct campaign_options *options, bool is_resumed,
                         void (*known)(void *context, const struct campaign_record *record),
                         void *context, struct campaign_store **out_store, char error[512])
{
    struct campaign_store *store = calloc(1, sizeof *store);
    struct resume resume = {store, known, context, true};
    char name[600];

    *out_store = NULL;
    snprintf(error, 512, "no memory");
    if (!store)
        return false;
    store->options = *options;
    if ((size_t)snprintf(store->path, sizeof store->path, "%s", path) >= sizeof store->path) {
        snprintf(error, 512, "the name of the folder is too long");
        goto free_store;
    }
    if (!make_folders(path, error))
        goto free_store;
    join(name, path, "campaign.json");
    if (!check_identity(options, name, is_resumed, error))
        goto free_store;
    join(name, path, "results.jsonl");
    store->lines = fopen(name, "a+");
    if (!store->lines || !cut_half_line(store->lines)) {
        fail(error, "cannot write", name);
        goto free_store;
    }
    if (!campaign_store_read(path, take_known, &resume, error))
        goto free_store;
    if (!resume.has_memory)
        goto free_store;
    join(name, path, "rules.json");
    if (access(name, F_OK) == 0 &&
        !report_rule_counts_load(path, &store->rules, &store->rule_runs, error))
        goto free_store;
    store->rule_runs_saved = store->rule_runs;
    if (!report_rule_counts_save(path, &store->rules, store->rule_runs, error))
        goto free_store;
    *out_store = store;
    return true;

free_store:
    campaign_store_close(store);
    return false;
}

const struct rule_counts *campaign_store_rules(const struct campaign_store *store)
{
    return &store->rules;
}

bool campaign_store_count_rules(struct campaign_store *store, const struct rule_counts *counts,
                                uint64_t runs, char error[512])
{
    rule_counts_add(&store->rules, counts);
    store->rule_runs += runs;
    if (store->rule_runs - store->rule_runs_saved < RULES_SAVED_EVERY)
        return true;
    store->rule_runs_saved = store->rule_runs;
    return report_rule_counts_save(store->path, &store->rules, store->rule_runs, error);
}

void campaign_store_close(struct campaign_store *store)
{
    char error[512];

    if (!store)
        return;
    if (store->lines) {
        report_rule_counts_save(store->path, &store->rules, store->rule_runs, error);
        fclose(store->lines);
    }
    free(store->keys);
    free(store);
}

/*
 * The case that a seed draws, with its setup: to be played alone, and for editing. There is none of
 * a driver whose name no option can have (a path with blanks), nor of a board that was said to
 * another campaign (`drydock merge`): then why says so, and nothing is written.
 */
static bool write_case(const struct campaign_store *store, const struct campaign_record *record,
                       const char *name, bool *out_is_written, struct workload_error *why)
{
    struct campaign_options options = store->options;
    struct campaign_record named;
    struct workload *workload;
    bool is_fine;

    *out_is_written = false;
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
    is_fine = !workload || workload_save(workload, name, why);
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
    bool has_case = false;
    FILE *file;

    snprintf(name, sizeof name, "%s/findings/%s-%" PRIu64 ".txt", store->path,
             campaign_model_name(record->model), record->seed);
    snprintf(case_name, sizeof case_name, "%s/findings/%s-%" PRIu64 ".case", store->path,
             campaign_model_name(record->model), record->seed);
    if (!record->case_path[0] && !write_case(store, record, case_name, &has_case, &why)) {
        snprintf(error, 512, "%.500s", why.text);
        return false;
    }
    file = fopen(name, record->case_path[0] ? "a" : "w");
    if (!file)
        return fail(error, "cannot write", name);
    for (unsigned i = 0; i < record->finding_count; i++)
        views[i] = report_finding_of_record(record, i, store->path, text);
    report_finding_list(file, views, record->finding_count);
    fprintf(file, "%" PRIu64 " findings in this run\n", record->finding_total);
    if (has_case)
        fprintf(file, "  of the case alone: drydock replay %s\n", case_name);
    else if (!record->case_path[0])
        fprintf(file, "  its case cannot be written: %s\n", why.text);
    if (record->detail[0])
        fprintf(file, "\n%s\n", record->detail); /* whole */
    return fclose(file) == 0 || fail(error, "cannot write", name);
}

bool campaign_store_add(struct campaign_store *store, const struct campaign_record *record,
                        char error[512])
{
    char *line = campaign_record_json(record);
    bool is_fine;

    snprintf(error, 512, "no memory");
    if (!line)
        return false;
    is_fine = fprintf(store->lines, "%s\n", line) > 0 && fflush(store->lines) == 0;
    free(line);
    if (!is_fine)
        return fail(error, "cannot write to", store->path);
    return record->outcome == CAMPAIGN_CLEAN || write_finding(store, record, error);
}
