/*
 * One item of a campaign, its record, and what many records sum up to.
 */
#include "bench/campaign/campaign.h"

#include "base/hash.h"
#include "bench/config/profile.h"
#include "bench/run/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const outcome_names[] = {
    [CAMPAIGN_CLEAN] = "clean",     [CAMPAIGN_FINDINGS] = "findings",
    [CAMPAIGN_REFUSED] = "refused", [CAMPAIGN_BROKEN] = "broken",
    [CAMPAIGN_CRASHED] = "crashed", [CAMPAIGN_UNREPEATABLE] = "unrepeatable",
    [CAMPAIGN_HUNG] = "hung",
};

const char *campaign_outcome_name(enum campaign_outcome outcome)
{
    return outcome_names[outcome];
}

bool campaign_find_outcome(const char *name, enum campaign_outcome *out)
{
    for (size_t i = 0; i < ARRAY_COUNT(outcome_names); i++) {
        if (strcmp(outcome_names[i], name) == 0) {
            *out = (enum campaign_outcome)i;
            return true;
        }
    }
    return false;
}

/* ---- One item -------------------------------------------------------------------------------- */

static struct campaign_finding *add_finding(struct campaign_record *record, const char *kind,
                                            const char *text)
{
    struct campaign_finding *finding;

    record->finding_total++;
    if (record->finding_count == CAMPAIGN_MAX_FINDINGS)
        return NULL;
    finding = &record->findings[record->finding_count++];
    snprintf(finding->kind, sizeof finding->kind, "%s", kind);
    snprintf(finding->text, sizeof finding->text, "%s", text);
    return finding;
}

static void take_finding(struct campaign_record *record, const struct run_finding *from)
{
    struct campaign_finding *finding =
        add_finding(record, run_finding_kind_name(from->kind), from->text);

    if (!finding)
        return;
    finding->line = from->line;
    snprintf(finding->rule, sizeof finding->rule, "%s", from->rule);
    finding->detail = from->detail;
}

static bool is_first_of_rule(const struct run_result *result, uint32_t place)
{
    const struct run_finding *finding = &result->findings[place];

    for (uint32_t i = 0; i < place; i++) {
        if (result->findings[i].kind == finding->kind &&
            strcmp(result->findings[i].rule, finding->rule) == 0)
            return false;
    }
    return true;
}

/*
 * One of each rule before a second one: what a driver says at every start does not hide the rest.
 * Advice comes last.
 */
static void take_findings(struct campaign_record *record, const struct run_result *result)
{
    bool is_stopped = result->outcome == RUN_REFUSED || result->outcome == RUN_BROKEN;
    uint64_t total = 0;

    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++)
        total += i == RUN_FINDING_ADVICE ? 0 : result->finding_totals[i];
    for (unsigned pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < result->finding_count; i++) {
            unsigned turn =
                result->findings[i].kind == RUN_FINDING_ADVICE ? 2 : !is_first_of_rule(result, i);

            if (record->finding_count + is_stopped < CAMPAIGN_MAX_FINDINGS && turn == pass)
                take_finding(record, &result->findings[i]);
        }
    }
    record->finding_total = total;
    if (is_stopped)
        add_finding(record, run_outcome_name(result->outcome), result->error);
}

static void take_result(struct campaign_record *record, const struct run_result *result)
{
    static const enum campaign_outcome outcomes[] = {
        [RUN_CLEAN] = CAMPAIGN_CLEAN,
        [RUN_FINDINGS] = CAMPAIGN_FINDINGS,
        [RUN_REFUSED] = CAMPAIGN_REFUSED,
        [RUN_BROKEN] = CAMPAIGN_BROKEN,
    };

    record->outcome = outcomes[result->outcome];
    record->digest = result->digest;
    record->operations = result->operations_played;
    record->submissions = result->submissions;
    for (size_t i = 0; i < ARRAY_COUNT(result->statistics.operations); i++)
        record->paging_operations += result->statistics.operations[i];
    record->evictions = result->statistics.evictions;
    record->pages_checked = result->pages_checked;
    record->translations_checked = result->translations_checked;
    record->mismatches = result->mismatches + result->translation_mismatches;
    record->rules = result->rules;
    take_findings(record, result);
}

/* Plays once more and compares. */
static void repeat(const struct campaign_setup *setup, const struct workload *workload,
                   struct campaign_record *record, struct run_result *result)
{
    uint64_t digest = result->digest;
    enum run_outcome outcome = result->outcome;
    char text[256];

    run_result_fini(result);
    run_execute(&setup->config, workload, result);
    record->was_repeated = true;
    if (result->digest == digest && result->outcome == outcome)
        return;
    snprintf(text, sizeof text,
             "the run is not repeatable: digest %016" PRIx64 " and %s, then %016" PRIx64 " and %s",
             digest, run_outcome_name(outcome), result->digest, run_outcome_name(result->outcome));
    record->outcome = CAMPAIGN_UNREPEATABLE;
    add_finding(record, "digest", text);
}

static void name_board(struct campaign_record *record, const char *option, const char *value)
{
    size_t used = strlen(record->board);

    if (value)
        snprintf(record->board + used, sizeof record->board - used, " --%s '%s'", option, value);
}

void campaign_name_record(const struct campaign_options *options, struct campaign_record *record)
{
    bool is_default = !options->profile || strcmp(options->profile, RUN_PROFILE_DEFAULT) == 0;

    snprintf(record->driver, sizeof record->driver, "%s", options->driver);
    snprintf(record->profile, sizeof record->profile, "%s", is_default ? "" : options->profile);
    record->board[0] = '\0';
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++)
        name_board(record, workload_options[i].key, options->settings[i]);
}

static void play_workload(const struct campaign_options *options, uint64_t seed,
                          const struct workload *workload, struct campaign_record *record)
{
    struct run_result *result = malloc(sizeof *result);
    struct campaign_setup setup;

    campaign_draw_setup(options, seed, workload, &setup);
    record->model = setup.model;
    record->wddm = setup.config.wddm;
    memcpy(record->setup, setup.text, sizeof record->setup);
    if (!result) {
        record->outcome = CAMPAIGN_REFUSED;
        add_finding(record, "refused", "no memory");
        return;
    }
    run_execute(&setup.config, workload, result);
    take_result(record, result);
    if (options->repeat_every && seed % options->repeat_every == 0)
        repeat(&setup, workload, record, result);
    run_result_fini(result);
    free(result);
}

void campaign_play(const struct campaign_options *options, uint64_t seed, size_t case_index,
                   struct campaign_record *out_record)
{
    struct workload_error error;
    struct workload *drawn;

    memset(out_record, 0, sizeof *out_record);
    out_record->seed = seed;
    out_record->model = options->model;
    campaign_name_record(options, out_record);
    if (options->case_count) {
        snprintf(out_record->case_path, sizeof out_record->case_path, "%s",
                 options->cases[case_index]->path);
        play_workload(options, seed, options->cases[case_index], out_record);
        return;
    }
    if (!campaign_draw_workload(seed, &drawn, &error)) {
        out_record->outcome = CAMPAIGN_REFUSED;
        add_finding(out_record, "refused", error.text);
        return;
    }
    play_workload(options, seed, drawn, out_record);
    workload_free(drawn);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* A word of a shell's command line. */
static size_t append_quoted(char *out, size_t out_bytes, const char *word)
{
    bool is_plain = word[strcspn(word, " \t'\"\\$`!*?[](){};&|<>~#")] == '\0';

    return (size_t)snprintf(out, out_bytes, is_plain ? "%s" : "'%s'", word);
}

void campaign_replay_command(const struct campaign_record *record, char *out, size_t out_bytes)
{
    size_t used = (size_t)snprintf(out, out_bytes, "check ");

    if (record->case_path[0] && used < out_bytes) {
        used += append_quoted(out + used, out_bytes - used, record->case_path);
        if (used < out_bytes)
            used += (size_t)snprintf(out + used, out_bytes - used, " ");
    }
    if (used < out_bytes)
        used += (size_t)snprintf(out + used, out_bytes - used,
                                 "--driver %s --model %s --first-seed %" PRIu64 " --seeds 1",
                                 record->driver, campaign_model_name(record->model), record->seed);
    if (record->profile[0] && used < out_bytes)
        used += (size_t)snprintf(out + used, out_bytes - used, " --profile %s", record->profile);
    if (used < out_bytes)
        snprintf(out + used, out_bytes - used, "%s", record->board);
}

void campaign_shrunk_command(const struct campaign_cause *cause, char *out, size_t out_bytes)
{
    size_t used = (size_t)snprintf(out, out_bytes, "replay ");

    append_quoted(out + used, out_bytes - used, cause->shrunk_path);
}

uint64_t campaign_record_key(const struct campaign_record *record)
{
    struct hash hash;

    hash_init(&hash, 0);
    hash_update(&hash, record->driver, strlen(record->driver));
    hash_update(&hash, record->profile, strlen(record->profile));
    hash_update(&hash, record->board, strlen(record->board));
    hash_update(&hash, record->case_path, strlen(record->case_path));
    hash_update_u64(&hash, record->seed);
    hash_update_u64(&hash, record->model);
    return hash_final(&hash);
}

/* ---- Summary --------------------------------------------------------------------------------- */

bool campaign_summary_init(struct campaign_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->causes = calloc(CAMPAIGN_MAX_CAUSES, sizeof *summary->causes);
    return summary->causes != NULL;
}

void campaign_summary_fini(struct campaign_summary *summary)
{
    free(summary->causes);
    summary->causes = NULL;
}

static uint64_t cause_of(const struct campaign_finding *finding)
{
    return hash_pair(hash_string(finding->kind),
                     finding_cause(rule_find(finding->rule), finding->detail.where, finding->text));
}

bool campaign_is_advice(const struct campaign_cause *cause)
{
    return strcmp(cause->first.findings[cause->finding].kind,
                  run_finding_kind_name(RUN_FINDING_ADVICE)) == 0;
}

static void add_cause(struct campaign_summary *summary, const struct campaign_record *record,
                      unsigned finding)
{
    uint64_t hash = cause_of(&record->findings[finding]);
    struct campaign_cause *cause = summary->causes;
    size_t i = 0;

    while (i < summary->cause_count && cause[i].hash != hash)
        i++;
    if (i == CAMPAIGN_MAX_CAUSES) {
        summary->causes_dropped++;
        return;
    }
    if (i == summary->cause_count) {
        cause[summary->cause_count++] =
            (struct campaign_cause){.hash = hash, .first = *record, .finding = finding};
    } else if (record->seed < cause[i].first.seed) {
        cause[i].first = *record;
        cause[i].finding = finding;
    }
    cause[i].count++;
}

void campaign_summary_add(struct campaign_summary *summary, const struct campaign_record *record)
{
    struct hash hash;

    summary->runs++;
    if (record->model < CAMPAIGN_ALL_MODELS)
        summary->runs_by_model[record->model]++;
    summary->runs_by_outcome[record->outcome]++;
    summary->repeated_runs += record->was_repeated;
    summary->findings += record->outcome != CAMPAIGN_CLEAN;
    summary->operations += record->operations;
    summary->submissions += record->submissions;
    summary->paging_operations += record->paging_operations;
    summary->evictions += record->evictions;
    summary->pages_checked += record->pages_checked;
    summary->translations_checked += record->translations_checked;
    summary->mismatches += record->mismatches;
    rule_counts_add(&summary->rules, &record->rules);
    hash_init(&hash, 0);
    hash_update_u64(&hash, campaign_record_key(record));
    hash_update_u64(&hash, record->digest);
    hash_update_u64(&hash, record->outcome);
    summary->digest += hash_final(&hash);
    for (unsigned i = 0; i < record->finding_count; i++) {
        bool is_new = true;

        for (unsigned j = 0; j < i && is_new; j++)
            is_new = cause_of(&record->findings[i]) != cause_of(&record->findings[j]);
        if (is_new)
            add_cause(summary, record, i);
    }
}
