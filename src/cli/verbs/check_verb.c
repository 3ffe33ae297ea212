/*
 * drydock check: a campaign of seeds over a driver. New causes are told in a line as they come; at
 * the end each cause gets its smallest case, and is told whole.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "base/hash.h"
#include "bench/campaign/campaign_shrink.h"
#include "bench/campaign/campaign_shrinker.h"
#include "bench/config/command_line.h"
#include "bench/config/profile.h"
#include "bench/drivers/source_places.h"
#include "bench/child/judge.h"
#include "report/campaign/campaign_report.h"
#include "report/page/campaign_page.h"
#include "report/campaign/database.h"
#include "report/campaign/folder_files.h"
#include "report/document.h"
#include "report/excuses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(DRIVER, "driver", 0, "NAME", "ref, the reference miniport")                                \
    ROW(MODEL, "model", 'm', "MODEL", "physical, gpummu, iommu or all (all that the driver has)")  \
    ROW(PROFILE, "profile", 'p', "NAME", "readings, levels and faults; list: which there are")     \
    ROW(SEEDS, "seeds", 'n', "N", "seeds to play, each with every case (100)")                     \
    ROW(FIRST_SEED, "first-seed", 0, "S", "the first of them (1)")                                 \
    ROW(FOCUS, "focus", 0, "WORDS",                                                                \
        "each seed has them, options and settings of `gen random`: 'pitch=yes rows=yes'")          \
    ROW(JOBS, "jobs", 'j', "J", "worker processes (the processors of this machine)")               \
    ROW(REPEAT, "repeat", 0, "N", "play every N-th seed twice; 0: none (32)")                      \
    ROW(JUDGE, "judge", 0, "N",                                                                    \
        "judge one of N clean runs again, without the driver; 0: none (of images 20, else 0)")     \
    ROW(MAX_FINDINGS, "max-findings", 0, "M", "stop after so many runs with findings")             \
    ROW(TIME_LIMIT, "time-limit", 0, "S", "begin no run after so many seconds")                    \
    ROW(RUN_LIMIT, "run-limit", 0, "S", "seconds after which one run counts as hung (60)")         \
    ROW(OUT, "out", 'o', "DIR", "folder for results and findings (none is written)")               \
    ROW(DB, "db", 0, "FILE", "add results to a database, too (drydock query asks it)")             \
    ROW(FINDINGS, "findings", 0, "DIR",                                                            \
        "folder for the smallest case of each cause (findings in that of --out)")                  \
    ROW(CASES, "cases", 0, "DIR", "folder for the whole case of each run, clean or not")           \
    ROW(SHRINK_SECONDS, "shrink-seconds", 0, "S",                                                  \
        "to make the case of a cause smaller, at most (10)")                                       \
    ROW(NO_SHRINK, "no-shrink", 0, NULL, "make no case smaller")                                   \
    ROW(FORCE, "force", 0, NULL, "begin anew in a folder that has a campaign: its files go")       \
    ROW(RERUN_FAILED, "rerun-failed", 0, NULL,                                                     \
        "play what had findings in the folder, and nothing else; the folder stays as it is")       \
    ROW(RESUME, "resume", 0, NULL, "go on with the folder: what it has is not played again")       \
    ROW(SHARD, "shard", 0, "I/N", "only every N-th run, beginning with the I-th (1/1)")            \
    ROW(TRUST_CASE, CLI_TRUST_CASE)                                                                \
    ROW(BASELINE, CLI_BASELINE)                                                                    \
    ROW(UPDATE_BASELINE, CLI_UPDATE_BASELINE)                                                      \
    ROW(ALLOW, CLI_ALLOW)                                                                          \
    ROW(JSON, "json", 0, NULL, "print the summary as JSON")                                        \
    ROW(JUNIT, "junit", 0, "FILE", "write a test case for each rule, as JUnit XML")                \
    ROW(SARIF, "sarif", 0, "FILE", "write a result for each cause, as SARIF 2.1.0")
CLI_OPTIONS(OPTIONS)

struct request {
    struct campaign_options options;
    struct workload *cases[CLI_MAX_FILES];
    struct campaign_store *store; /* NULL: nothing is written */
    const char *folder;           /* of it */
    struct database *database;    /* of --db; NULL: none */
    const char *junit, *sarif;    /* files, NULL: not wanted */
    struct campaign_summary summary;
    double started;      /* wall time */
    uint64_t first_done; /* known from the folder */
    char findings[512];  /* folder of smallest cases; "": none are made */
    const char *whole;   /* folder of whole cases, NULL: not wanted */
    uint64_t shrink_seconds;
    struct campaign_shrinker *shrinker; /* beside the campaign; NULL: none */
    bool is_json, is_resumed;
    struct excuses *excuses;
    /* Of --rerun-failed: which items there are, sorted. */
    bool is_rerun;
    uint64_t *failed;
    size_t failed_count, failed_room;
    const struct cli_arguments *arguments;
    char unjudged_why[256];        /* of the last run that could not be judged again */
    struct campaign_record placed; /* the last one that showed something new, with places */
};

/* ---- Options --------------------------------------------------------------------------------- */

static bool get_number(const struct cli_arguments *arguments, int option, uint64_t min,
                       uint64_t max, uint64_t fallback, uint64_t *out)
{
    *out = fallback;
    return !arguments->values[option] ||
           cli_number(options[option].name, arguments->values[option], min, max, out);
}

static bool get_shard(const char *text, struct campaign_options *out)
{
    unsigned shard = 1, count = 1;
    char behind;

    if (text &&
        (sscanf(text, "%u/%u%c", &shard, &count, &behind) != 2 || !shard || shard > count)) {
        cli_error("option --shard: '%s' is no shard (expected I/N, I from 1 to N)", text);
        return false;
    }
    out->shard = shard - 1;
    out->shard_count = count;
    return true;
}

/* After driver and model. */
static bool get_profile(const char *name, struct campaign_options *out)
{
    bool has_model = false;

    if (name && !run_find_profile(name)) {
        cli_error("option --profile: unknown profile '%s' (--profile list names them)", name);
        return false;
    }
    out->profile = name;
    for (unsigned i = 0; i < CAMPAIGN_ALL_MODELS; i++) {
        if (out->model == CAMPAIGN_ALL_MODELS || out->model == i)
            has_model |= campaign_has_model(out, (enum campaign_model)i);
    }
    if (!has_model)
        cli_error("driver '%s' has no level of the %s model in profile %s", out->driver,
                  out->model == CAMPAIGN_ALL_MODELS ? "any" : campaign_model_name(out->model),
                  name ? name : RUN_PROFILE_DEFAULT);
    return has_model;
}

static enum cli_status list_profiles(bool is_json)
{
    json_t *json = is_json ? report_document("profiles") : NULL, *list = json_array();
    const struct run_profile *profile;

    for (unsigned i = 0; json && (profile = run_profile_at(i)) != NULL; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "name", profile->name, "summary", profile->summary));
    if (json) {
        json_object_set_new(json, "profiles", list);
        return cli_print_json(json) ? CLI_FINE : CLI_INTERNAL;
    }
    json_decref(list);
    for (unsigned i = 0; (profile = run_profile_at(i)) != NULL; i++)
        printf("%-26s %s\n", profile->name, profile->summary);
    return CLI_FINE;
}

/* Options of cases that the command line states. */
static bool get_settings(const struct cli_arguments *arguments, struct campaign_options *out)
{
    struct workload_error error;

    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        out->settings[i] = arguments->case_values[i];
        if (out->settings[i] &&
            !workload_check_option(workload_options[i].key, out->settings[i], &error)) {
            cli_error("%s", error.text);
            return false;
        }
    }
    return true;
}

static bool get_focus(const char *focus, struct campaign_options *out)
{
    struct workload *drawn = NULL;
    struct workload_error error;

    out->focus = focus;
    if (focus &&
        !campaign_draw_workload(1, &(struct campaign_options){.focus = focus}, &drawn, &error)) {
        cli_error("option --focus: %s", error.text);
        return false;
    }
    workload_free(drawn);
    return true;
}

static bool get_options(const struct cli_arguments *arguments, struct campaign_options *out)
{
    const char *const *values = arguments->values;
    uint64_t jobs, repeat, judge, time_limit, run_limit;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    *out = (struct campaign_options){.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
    if (values[OPTION_DRIVER]) {
        if (!cli_find_driver(values[OPTION_DRIVER]))
            return false;
        out->driver = values[OPTION_DRIVER];
    }
    if (!get_settings(arguments, out) || !get_focus(values[OPTION_FOCUS], out))
        return false;
    if (values[OPTION_MODEL] && !campaign_find_model(values[OPTION_MODEL], &out->model)) {
        cli_error("option --model: unknown word '%s' (expected physical, gpummu, iommu, all)",
                  values[OPTION_MODEL]);
        return false;
    }
    if (!get_profile(values[OPTION_PROFILE], out))
        return false;
    if (!out->focus && out->profile)
        out->focus = run_find_profile(out->profile)->focus;
    if ((values[OPTION_RESUME] || values[OPTION_FORCE] || values[OPTION_RERUN_FAILED]) &&
        !values[OPTION_OUT]) {
        cli_error("--%s needs the folder of a campaign (--out)", values[OPTION_RESUME] ? "resume"
                                                                 : values[OPTION_FORCE]
                                                                     ? "force"
                                                                     : "rerun-failed");
        return false;
    }
    if (!!values[OPTION_RESUME] + !!values[OPTION_FORCE] + !!values[OPTION_RERUN_FAILED] > 1) {
        cli_error("one of --resume, --force and --rerun-failed is possible");
        return false;
    }
    if (!get_number(arguments, OPTION_SEEDS, 1, UINT64_C(1) << 40, 100, &out->seed_count) ||
        !get_number(arguments, OPTION_FIRST_SEED, 0, INT64_MAX, 1, &out->first_seed) ||
        !get_number(arguments, OPTION_JOBS, 1, 256, processors > 0 ? (uint64_t)processors : 1,
                    &jobs) ||
        !get_number(arguments, OPTION_REPEAT, 0, UINT32_MAX, 32, &repeat) ||
        !get_number(arguments, OPTION_MAX_FINDINGS, 1, UINT64_MAX, 0, &out->max_findings) ||
        !get_number(arguments, OPTION_JUDGE, 0, UINT32_MAX, campaign_judge_every(out->driver),
                    &judge) ||
        !get_number(arguments, OPTION_TIME_LIMIT, 1, 1u << 30, 0, &time_limit) ||
        !get_number(arguments, OPTION_RUN_LIMIT, 1, 1u << 30, 60, &run_limit) ||
        !get_shard(values[OPTION_SHARD], out))
        return false;
    out->trusts_cases = values[OPTION_TRUST_CASE] != NULL;
    out->jobs = (unsigned)jobs;
    out->repeat_every = (unsigned)repeat;
    out->judge_every = (unsigned)judge;
    out->time_limit_seconds = (double)time_limit;
    out->run_limit_seconds = (double)run_limit;
    return true;
}

static bool load_cases(const struct cli_arguments *arguments, struct request *request)
{
    for (size_t i = 0; i < arguments->rest_count; i++) {
        request->cases[i] = cli_load(arguments->rest[i], 0);
        if (!request->cases[i])
            return false;
        request->options.case_count++;
        if (!cli_may_play(arguments, request->options.trusts_cases, request->options.driver,
                          request->cases[i]))
            return false;
    }
    request->options.cases = (const struct workload *const *)request->cases;
    return true;
}

/* ---- What failed before ---------------------------------------------------------------------- */

static uint64_t item_key(uint64_t seed, const char *case_path)
{
    return hash_pair(seed, hash_string(case_path));
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;

    return (*first > *second) - (*first < *second);
}

static bool is_failed(const struct request *request, uint64_t key)
{
    return request->failed_count &&
           bsearch(&key, request->failed, request->failed_count, sizeof key, compare_keys) != NULL;
}

struct failed_reading {
    struct request *request;
    uint64_t first, last; /* seeds that failed */
};

static bool take_failed(void *context, const struct campaign_record *record)
{
    struct failed_reading *reading = context;
    struct request *request = reading->request;

    if (record->outcome == CAMPAIGN_CLEAN)
        return true;
    if (request->failed_count == request->failed_room) {
        size_t room = request->failed_room ? 2 * request->failed_room : 256;
        uint64_t *keys = realloc(request->failed, room * sizeof *keys);

        if (!keys)
            return false;
        request->failed = keys;
        request->failed_room = room;
    }
    if (!request->failed_count || record->seed < reading->first)
        reading->first = record->seed;
    if (!request->failed_count || record->seed > reading->last)
        reading->last = record->seed;
    request->failed[request->failed_count++] = item_key(record->seed, record->case_path);
    return true;
}

/* The items are those of the folder that had findings. */
static bool choose_failed(struct request *request)
{
    struct failed_reading reading = {.request = request};
    struct campaign_damage damage;
    size_t unique = 0;
    char error[512];

    if (!campaign_store_is_of(request->folder, &request->options, error) ||
        !campaign_store_read(request->folder, take_failed, &reading, &damage, error)) {
        cli_error("%s", error);
        return false;
    }
    if (damage.count)
        cli_note("note: %s/results.jsonl:%" PRIu64 ": %" PRIu64
                 " damaged line(s): what they told is not played",
                 request->folder, damage.first, damage.count);
    if (request->failed_count)
        qsort(request->failed, request->failed_count, sizeof *request->failed, compare_keys);
    for (size_t i = 0; i < request->failed_count; i++) {
        if (!unique || request->failed[i] != request->failed[unique - 1])
            request->failed[unique++] = request->failed[i];
    }
    request->failed_count = unique;
    request->options.first_seed = reading.first;
    request->options.seed_count = unique ? reading.last - reading.first + 1 : 0;
    return true;
}

/* ---- Judgements without the driver ----------------------------------------------------------- */

static void take_judgement(void *context, const struct judgement *judgement)
{
    struct request *request = context;

    request->summary.judged_runs +=
        judgement->kind == JUDGEMENT_AGREES || judgement->kind == JUDGEMENT_DIFFERS;
    if (judgement->kind != JUDGEMENT_UNKNOWN)
        return;
    request->summary.unjudged_runs++;
    snprintf(request->unjudged_why, sizeof request->unjudged_why, "%s", judgement->why);
}

static void tell_judgements(const struct request *request)
{
    if (request->summary.unjudged_runs)
        cli_note("note: %" PRIu64 " runs were not judged again without the driver: %s",
                 request->summary.unjudged_runs, request->unjudged_why);
}

/* ---- Watching -------------------------------------------------------------------------------- */

static bool is_known(void *context, uint64_t seed, size_t case_index)
{
    const struct request *request = context;

    if (request->is_rerun)
        return !is_failed(
            request,
            item_key(seed, request->options.case_count ? request->cases[case_index]->path : ""));
    return request->store &&
           campaign_store_has(request->store, seed,
                              request->options.case_count ? request->cases[case_index]->path : "");
}

static void take_known(void *context, const struct campaign_record *record)
{
    struct request *request = context;

    request->first_done++;
    campaign_summary_add(&request->summary, record);
}

#define EXPLAIN_SECONDS 10

/* A record that is the first of a cause says where in the driver's source its findings are. */
static const struct campaign_record *place_causes(struct request *request,
                                                  const struct campaign_record *record)
{
    uint64_t key = campaign_record_key(record);
    bool is_first = false;

    for (size_t i = 0; i < request->summary.cause_count; i++)
        is_first |= campaign_record_key(&request->summary.causes[i].first) == key;
    if (!is_first)
        return record;
    request->placed = *record;
    campaign_explain(&request->options, &request->placed, EXPLAIN_SECONDS);
    source_places_add_to_record(&request->placed);
    for (size_t i = 0; i < request->summary.cause_count; i++) {
        if (campaign_record_key(&request->summary.causes[i].first) == key)
            request->summary.causes[i].first = request->placed;
    }
    return &request->placed;
}

/*
 * A new cause is told at once, in a line: the finding itself stands in the summary, once, with its
 * smallest case.
 */
static void tell_cause(const struct request *request, const struct campaign_cause *cause)
{
    const struct campaign_finding *finding = &cause->first.findings[cause->finding];

    if (campaign_is_advice(cause) || excuses_of_record(request->excuses, finding) ||
        campaign_follows(&request->summary, cause))
        return;
    campaign_shrinker_add(request->shrinker, cause);
    if (request->is_json)
        return;
    cli_note("found %s%s%s: %.*s (seed %" PRIu64 ", %s)",
             finding->rule[0] ? finding->rule : finding->kind, finding->detail.where[0] ? " " : "",
             finding->detail.where, (int)strcspn(finding->text, "\n"), finding->text,
             cause->first.seed, campaign_model_name(cause->first.model));
}

/* DIR/seed-12.case, or DIR/seed-12-main.case of a campaign over main.case: what the run played. */
static bool write_whole_case(const struct request *request, const struct campaign_record *record)
{
    const char *name = strrchr(record->case_path, '/');
    struct workload_error error;
    struct workload *workload;
    bool is_written = false;
    char path[1024];

    name = name ? name + 1 : record->case_path;
    snprintf(path, sizeof path, "%s/seed-%" PRIu64 "%s%.*s.case", request->whole, record->seed,
             *name ? "-" : "", (int)strcspn(name, "."), name);
    workload = campaign_case(&request->options, record, &error);
    if (workload && !folder_may_write(path))
        snprintf(error.text, sizeof error.text, "%.400s: %s", path, strerror(errno));
    else
        is_written = workload && workload_save(workload, path, &error);
    workload_free(workload);
    if (!is_written)
        cli_error("the case of seed %" PRIu64 ": %s", record->seed, error.text);
    return is_written;
}

static bool take_record(void *context, const struct campaign_record *record)
{
    struct request *request = context;
    size_t causes = request->summary.cause_count;
    struct coverage_arm_counts arms = {{0}};
    char error[512];

    campaign_summary_add(&request->summary, record);
    if (record->outcome != CAMPAIGN_CLEAN)
        record = place_causes(request, record);
    for (size_t i = causes; i < request->summary.cause_count; i++)
        tell_cause(request, &request->summary.causes[i]);
    if (request->database && !database_add(request->database, record, true, error)) {
        cli_error("%s", error);
        return false;
    }
    if (request->whole && !write_whole_case(request, record))
        return false;
    coverage_arm_counts_add_run(&arms, &record->arms);
    if (!request->store ||
        (campaign_store_add(request->store, record, error) &&
         campaign_store_count_rules(request->store, &record->rules, &arms, 1, error)))
        return true;
    cli_error("%s", error);
    return false;
}

/* Findings that are all excused, or follow from excused ones, do not end a campaign. */
static bool counts(void *context, const struct campaign_record *record)
{
    const struct request *request = context;

    for (unsigned i = 0; i < record->finding_count; i++) {
        const struct campaign_finding *finding = &record->findings[i];
        const struct campaign_cause *cause;

        if (finding->consequence_of || excuses_of_record(request->excuses, finding))
            continue;
        cause = campaign_find_cause(&request->summary, finding);
        if (!cause || !campaign_follows(&request->summary, cause))
            return true;
    }
    return !record->finding_count;
}

static void draw_progress(void *context, uint64_t done, uint64_t total)
{
    struct request *request = context;

    campaign_shrinker_look(request->shrinker);
    terminal_progress(&(struct terminal_task){.what = "check",
                                              .unit = "runs",
                                              .done = done,
                                              .total = total,
                                              .before = request->first_done,
                                              .findings = request->summary.findings,
                                              .findings_name = "with findings",
                                              .most_seconds = request->options.time_limit_seconds});
}

/* ---- Smallest cases -------------------------------------------------------------------------- */

#define BESIDE_TIMES_SLOWER 4

/* Which cause it is, for the progress bar. */
struct shrinking {
    size_t index, count;
    double seconds; /* for each, at most */
};

static void draw_shrinking(void *context, uint32_t before, uint32_t lines, uint32_t tries)
{
    const struct shrinking *shrinking = context;
    char what[32], note[64];

    snprintf(what, sizeof what, "shrink %zu/%zu", shrinking->index + 1, shrinking->count);
    snprintf(note, sizeof note, "%u of %u operations, %u tries", lines, before, tries);
    terminal_progress(&(struct terminal_task){.what = what,
                                              .note = note,
                                              .unit = "tries",
                                              .hides_count = true,
                                              .done = tries,
                                              .most_seconds = shrinking->seconds});
}

/*
 * Beside the campaign, from when a cause appears: NULL where no cases are wanted. The processors
 * are shared with the campaign, so a cause has more time there.
 */
static struct campaign_shrinker *begin_shrinking(const struct request *request,
                                                 struct shrinking *shrinking)
{
    const struct repro_shrink how = {.seconds =
                                         BESIDE_TIMES_SLOWER * (double)request->shrink_seconds,
                                     .progress = draw_shrinking,
                                     .progress_context = shrinking};

    return request->findings[0] ? campaign_shrinker_create(&request->options, &how) : NULL;
}

/*
 * FOLDER/PB-004-1.case for the first cause of that rule, and so on, each within its time. What
 * cannot be made smaller (it was not shown again, most often) keeps the campaign's command.
 */
static bool shrink_causes(struct request *request, struct shrinking *shrinking)
{
    struct campaign_summary *summary = &request->summary;
    const struct repro_shrink how = {.seconds = (double)request->shrink_seconds,
                                     .progress = draw_shrinking,
                                     .progress_context = shrinking};
    bool is_fine = true;

    if (!request->findings[0] || !summary->cause_count)
        return true;
    shrinking->count = summary->cause_count;
    shrinking->seconds = how.seconds;
    if (mkdir(request->findings, 0777) != 0 && errno != EEXIST) {
        cli_error("cannot make '%s': %s", request->findings, strerror(errno));
        return false;
    }
    for (; shrinking->index < summary->cause_count && !interrupt_came(); shrinking->index++) {
        struct campaign_cause *cause = &summary->causes[shrinking->index];
        struct workload_error error;
        char name[REPORT_CAUSE_NAME], path[700];

        if (campaign_is_advice(cause) || cause->excuse)
            continue;
        report_cause_name(summary, shrinking->index, name);
        snprintf(path, sizeof path, "%s/%s.case", request->findings, name);
        if (!folder_may_write(path)) {
            cli_error("cannot write '%s': %s", path, strerror(errno));
            is_fine = false;
            continue;
        }
        if (campaign_shrinker_take(request->shrinker, cause, path) || interrupt_came())
            continue;
        if (!campaign_shrink_cause(&request->options, cause, &how, path, &error) &&
            !interrupt_came())
            cli_error("the case of %s is not made smaller: %s", name, error.text);
    }
    terminal_end();
    return is_fine;
}

static bool get_shrinking(const struct cli_arguments *arguments, struct request *request)
{
    const char *const *values = arguments->values;

    if (!values[OPTION_NO_SHRINK] && values[OPTION_FINDINGS])
        snprintf(request->findings, sizeof request->findings, "%s", values[OPTION_FINDINGS]);
    else if (!values[OPTION_NO_SHRINK] && request->folder && !request->is_rerun)
        snprintf(request->findings, sizeof request->findings, "%s/findings", request->folder);
    request->whole = values[OPTION_CASES];
    if (request->whole && mkdir(request->whole, 0777) != 0 && errno != EEXIST) {
        cli_error("cannot make '%s': %s", request->whole, strerror(errno));
        return false;
    }
    return get_number(arguments, OPTION_SHRINK_SECONDS, 1, 1u << 20, 10, &request->shrink_seconds);
}

/* ---- The verb -------------------------------------------------------------------------------- */

/* What is in the folder is not played again; without one, all is. */
static enum cli_status tell_interrupted(const struct request *request, bool has_more)
{
    char command[4096];

    cli_command_line(request->arguments, command, sizeof command);
    if (request->folder && !request->is_resumed)
        command_line_append(command, sizeof command, "--resume");
    if (!request->folder && has_more)
        cli_note("nothing of it is kept: with --out DIR a campaign can go on");
    return cli_interrupted(request->folder, command);
}

static enum cli_status finish(struct request *request, enum campaign_stop stop)
{
    static const char *const reasons[] = {
        [CAMPAIGN_DONE] = NULL,
        [CAMPAIGN_STOPPED_BY_FINDINGS] = "findings",
        [CAMPAIGN_STOPPED_BY_TIME] = "time",
        [CAMPAIGN_STOPPED_BY_CALLER] = "error",
        [CAMPAIGN_INTERRUPTED] = "interrupt",
        [CAMPAIGN_NO_WORKERS] = "error",
    };
    struct campaign_summary *summary = &request->summary;
    double seconds = terminal_now() - request->started;

    if (request->is_json) {
        char *json = campaign_report_json(summary, request->folder, seconds, reasons[stop],
                                          request->excuses);

        puts(json ? json : "{}");
        free(json);
    } else if (terminal_is_quiet()) {
        campaign_report_causes(stdout, summary, request->folder);
    } else {
        campaign_report_summary(stdout, summary, request->folder,
                                request->first_done ? 0 : seconds);
        if (stop == CAMPAIGN_STOPPED_BY_FINDINGS || stop == CAMPAIGN_STOPPED_BY_TIME)
            printf("  stopped   by --%s\n",
                   stop == CAMPAIGN_STOPPED_BY_TIME ? "time-limit" : "max-findings");
        excuses_report(stdout, request->excuses, summary);
        if (request->is_rerun)
            printf("  rerun     %" PRIu64 " of %zu runs that had findings have some still\n",
                   summary->findings, request->failed_count);
    }
    if (interrupt_came()) {
        cli_write_reports(summary, request->folder, request->junit, request->sarif, seconds);
        return tell_interrupted(request, stop == CAMPAIGN_INTERRUPTED);
    }
    if (stop == CAMPAIGN_NO_WORKERS)
        cli_error("worker processes cannot be made");
    if (stop == CAMPAIGN_NO_WORKERS || stop == CAMPAIGN_STOPPED_BY_CALLER)
        return CLI_INTERNAL;
    if (!cli_write_reports(summary, request->folder, request->junit, request->sarif, seconds))
        return CLI_USAGE;
    if (request->arguments->values[OPTION_UPDATE_BASELINE] &&
        !cli_update_baseline(request->arguments->values[OPTION_BASELINE], request->excuses,
                             summary))
        return CLI_USAGE;
    return campaign_fails(summary) ? cli_found(campaign_is_ours(summary)) : CLI_FINE;
}

/* Nothing was left out: what a baseline has and nobody saw is gone. */
static bool has_all(const struct request *request, enum campaign_stop stop)
{
    return stop == CAMPAIGN_DONE && request->options.shard_count == 1 && !request->is_rerun;
}

static enum cli_status run_campaign(struct request *request)
{
    const struct campaign_watcher watcher = {.context = request,
                                             .is_known = is_known,
                                             .record = take_record,
                                             .counts = counts,
                                             .judged = take_judgement,
                                             .progress = draw_progress};
    struct shrinking shrinking = {0};
    enum campaign_stop stop;
    enum cli_status status;
    bool are_shrunk;
    char error[512];

    if (request->is_rerun && !choose_failed(request))
        return CLI_USAGE;
    if (request->arguments->values[OPTION_FORCE] && !campaign_store_clear(request->folder, error)) {
        cli_error("%s", error);
        return CLI_USAGE;
    }
    if (request->folder && !request->is_rerun &&
        !campaign_store_open(request->folder, &request->options, request->is_resumed, take_known,
                             request, &request->store, error)) {
        cli_error("%s", error);
        return CLI_USAGE;
    }
    if (request->store) {
        const struct campaign_damage *damage = campaign_store_damage(request->store);

        request->summary.rules = *campaign_store_rules(request->store);
        request->summary.arms = *campaign_store_arms(request->store);
        if (damage->count)
            cli_error("%s/results.jsonl:%" PRIu64 ": %" PRIu64
                      " damaged line(s) put aside in results.aside; their runs are played again",
                      request->folder, damage->first, damage->count);
        if (campaign_store_uncounted(request->store))
            cli_error("%s: the rules of %" PRIu64
                      " run(s) were not counted when it ended; the runs are played again",
                      request->folder, campaign_store_uncounted(request->store));
    }
    if (request->arguments->values[OPTION_DB] &&
        !database_open(request->arguments->values[OPTION_DB], &request->database, error)) {
        cli_error("%s", error);
        campaign_store_close(request->store);
        return CLI_USAGE;
    }
    request->started = terminal_now();
    request->shrinker = begin_shrinking(request, &shrinking);
    stop = campaign_run(&request->options, &watcher);
    terminal_end();
    tell_judgements(request);
    campaign_store_flush(request->store);
    campaign_summary_settle(&request->summary);
    excuses_apply(request->excuses, &request->summary, has_all(request, stop));
    are_shrunk = shrink_causes(request, &shrinking);
    campaign_shrinker_destroy(request->shrinker);
    status = finish(request, stop); /* what was found is told, wherever it can be written */
    if (!are_shrunk && status < CLI_USAGE)
        status = CLI_USAGE;
    if (!database_close(request->database, error)) {
        cli_error("%s", error);
        status = CLI_USAGE;
    }
    campaign_store_close(request->store); /* nobody else has had the folder meanwhile */
    return status;
}

static enum cli_status check(const struct cli_arguments *arguments)
{
    const char *profile = arguments->values[OPTION_PROFILE];
    struct request *request;
    enum cli_status status = CLI_USAGE;

    if (profile && strcmp(profile, "list") == 0)
        return list_profiles(arguments->values[OPTION_JSON] != NULL);
    request = calloc(1, sizeof *request);
    if (!request || !campaign_summary_init(&request->summary)) {
        free(request);
        cli_error("no memory");
        return CLI_INTERNAL;
    }
    interrupt_catch();
    request->is_json = arguments->values[OPTION_JSON] != NULL;
    request->arguments = arguments;
    request->is_resumed = arguments->values[OPTION_RESUME] != NULL;
    request->folder = arguments->values[OPTION_OUT];
    request->is_rerun = arguments->values[OPTION_RERUN_FAILED] != NULL;
    request->excuses = cli_excuses(arguments->values[OPTION_BASELINE],
                                   arguments->values[OPTION_UPDATE_BASELINE] != NULL, arguments);
    request->junit = arguments->values[OPTION_JUNIT];
    request->sarif = arguments->values[OPTION_SARIF];
    if (request->excuses && get_options(arguments, &request->options) &&
        get_shrinking(arguments, request) && load_cases(arguments, request))
        status = run_campaign(request);
    for (size_t i = 0; i < request->options.case_count; i++)
        workload_free(request->cases[i]);
    campaign_summary_fini(&request->summary);
    excuses_free(request->excuses);
    free(request->failed);
    free(request);
    return status;
}

const struct cli_verb cli_check = {
    .name = "check",
    .usage = "[CASE...] [options]",
    .summary = "Plays many seeds, each a case in a configuration that it draws",
    .details =
        "A seed draws the level of the driver, the sizes of paging buffers, how page tables are\n"
        "updated, how system pages are scattered and more (docs/campaigns.md), and without a CASE\n"
        "also a case of random operations. A run that crashes or hangs is a finding like any\n"
        "other. What a seed gives depends on driver, case and model only.",
    .options = options,
    .repeated_options = CLI_REPEATED(OPTION_ALLOW),
    .case_options = CLI_OF_CHECK,
    .run = check,
};
