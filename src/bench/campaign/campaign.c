/*
 * One item of a campaign, its record, and what many records sum up to.
 */
#include "bench/campaign/campaign_private.h"

#include "base/hash.h"
#include "bench/config/command_line.h"
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

/* How the run ended follows from what its driver had done. */
static void add_outcome(struct campaign_record *record, const char *kind, const char *text)
{
    bool has_cause = record->finding_count && !record->findings[0].consequence_of &&
                     !run_finding_kind_is_remark(record->findings[0].kind);
    struct campaign_finding *finding = add_finding(record, kind, text);

    if (finding)
        finding->consequence_of = has_cause;
}

static void take_finding(struct campaign_record *record, const struct run_finding *from)
{
    struct campaign_finding *finding =
        add_finding(record, run_finding_kind_name(from->kind), from->text);

    if (!finding)
        return;
    finding->line = from->line;
    finding->seen = from->seen;
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
 * When a finding is taken: causes before consequences, one of each rule before a second one (what a
 * driver says at every start does not hide the rest), advice last.
 */
enum { TURN_CAUSE, TURN_SAME_CAUSE, TURN_CONSEQUENCE, TURN_SAME_CONSEQUENCE, TURN_ADVICE, TURNS };

static unsigned turn_of(const struct run_result *result, uint32_t place)
{
    const struct run_finding *finding = &result->findings[place];

    if (run_finding_is_remark(finding->kind))
        return TURN_ADVICE;
    return (finding->consequence_of ? TURN_CONSEQUENCE : TURN_CAUSE) +
           !is_first_of_rule(result, place);
}

void campaign_take_findings(struct campaign_record *record, const struct run_result *result)
{
    bool is_stopped = result->outcome == RUN_REFUSED || result->outcome == RUN_BROKEN;
    uint32_t places[RUN_MAX_FINDINGS + 1] = {0}; /* in the record, from 1 */
    uint64_t total = 0;

    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++)
        total += run_finding_is_remark((enum run_finding_kind)i) ? 0 : result->finding_totals[i];
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (uint32_t i = 0; i < result->finding_count; i++) {
            if (record->finding_count + is_stopped == CAMPAIGN_MAX_FINDINGS ||
                turn_of(result, i) != turn)
                continue;
            take_finding(record, &result->findings[i]);
            places[i + 1] = record->finding_count;
            record->findings[record->finding_count - 1].consequence_of =
                places[result->findings[i].consequence_of];
        }
    }
    record->finding_total = total;
    if (is_stopped)
        add_outcome(record, run_outcome_name(result->outcome), result->error);
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
    campaign_take_findings(record, result);
}

/* The play of the record, with that outcome, and another of the same seed. */
static void compare(struct campaign_record *record, enum run_outcome outcome,
                    const struct run_result *again)
{
    char text[256];

    if (again->digest == record->digest && again->outcome == outcome)
        return;
    snprintf(text, sizeof text,
             "the run is not repeatable: digest %016" PRIx64 " and %s, then %016" PRIx64 " and %s",
             record->digest, run_outcome_name(outcome), again->digest,
             run_outcome_name(again->outcome));
    record->outcome = CAMPAIGN_UNREPEATABLE;
    add_finding(record, "digest", text);
}

/* Plays once more and compares. */
static void repeat(const struct campaign_setup *setup, const struct workload *workload,
                   struct campaign_record *record, struct run_result *result)
{
    const enum run_outcome outcome = result->outcome;

    run_result_fini(result);
    run_execute(&setup->config, workload, result);
    record->was_repeated = true;
    compare(record, outcome, result);
}

void campaign_compare(struct campaign_record *record, const struct run_result *again)
{
    compare(record, RUN_CLEAN, again);
}

static void name_board(struct campaign_record *record, const char *option, const char *value)
{
    char name[WORKLOAD_MAX_NAME + 3];

    if (!value)
        return;
    snprintf(name, sizeof name, "--%s", option);
    command_line_append(record->board, sizeof record->board, name);
    command_line_append(record->board, sizeof record->board, value);
}

void campaign_name_record(const struct campaign_options *options, struct campaign_record *record)
{
    bool is_default = !options->profile || strcmp(options->profile, RUN_PROFILE_DEFAULT) == 0;

    snprintf(record->driver, sizeof record->driver, "%s", options->driver);
    snprintf(record->profile, sizeof record->profile, "%s", is_default ? "" : options->profile);
    record->board[0] = '\0';
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++)
        name_board(record, workload_options[i].key, options->settings[i]);
    name_board(record, "focus", options->focus);
    if (options->trusts_cases)
        command_line_append(record->board, sizeof record->board, "--trust-case");
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
    setup.config.coverage = coverage_create_counting(); /* without memory nothing is counted */
    run_execute(&setup.config, workload, result);
    take_result(record, result);
    if (setup.config.coverage)
        coverage_arms_seen(setup.config.coverage, &record->arms);
    coverage_destroy(setup.config.coverage);
    setup.config.coverage = result->config.coverage = NULL;
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
    if (!campaign_draw_workload(seed, options, &drawn, &error)) {
        out_record->outcome = CAMPAIGN_REFUSED;
        add_finding(out_record, "refused", error.text);
        return;
    }
    play_workload(options, seed, drawn, out_record);
    workload_free(drawn);
}

/* ---- Records --------------------------------------------------------------------------------- */

void campaign_replay_command(const struct campaign_record *record, char *out, size_t out_bytes)
{
    size_t used;

    snprintf(out, out_bytes, "check");
    if (record->case_path[0])
        command_line_append(out, out_bytes, record->case_path);
    command_line_append(out, out_bytes, "--driver");
    command_line_append(out, out_bytes, record->driver);
    used = strlen(out);
    snprintf(out + used, out_bytes - used, " --model %s --first-seed %" PRIu64 " --seeds 1",
             campaign_model_name(record->model), record->seed);
    if (record->profile[0]) {
        command_line_append(out, out_bytes, "--profile");
        command_line_append(out, out_bytes, record->profile);
    }
    used = strlen(out);
    snprintf(out + used, out_bytes - used, "%s", record->board);
}

void campaign_shrunk_command(const struct campaign_cause *cause, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "replay");
    command_line_append(out, out_bytes, cause->shrunk_path);
    if (cause->shrunk_loads_code)
        command_line_append(out, out_bytes, "--trust-case");
}

void campaign_shrink_again_command(const struct campaign_cause *cause, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "shrink --seconds 60");
    command_line_append(out, out_bytes, cause->shrunk_path);
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
