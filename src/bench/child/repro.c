#include "bench/child/repro.h"

#include "bench/child/interrupt.h"

#include "base/hash.h"
#include "bench/child/child_run.h"
#include "bench/child/judge.h"
#include "bench/config/command_line.h"
#include "bench/drivers/drivers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALL_SECONDS  60
#define TRY_SECONDS  10
#define COMMENT_SIZE 2048
#define LINE_WIDTH   96

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- The finding to be shown
 * --------------------------------------------------------------------- */

void repro_of_rule(struct repro *out, const char *rule)
{
    *out = (struct repro){0};
    snprintf(out->rule, sizeof out->rule, "%s", rule);
}

void repro_of_finding(struct repro *out, const char *kind, const char *rule, const char *where,
                      const char *text)
{
    repro_of_rule(out, rule);
    snprintf(out->kind, sizeof out->kind, "%s", kind);
    snprintf(out->text, sizeof out->text, "%s", text);
    out->cause = finding_cause(rule_find(rule), where, text);
}

bool repro_of_result(struct repro *out, const struct run_result *result)
{
    const struct run_finding *best = NULL;
    unsigned best_rank = 0;

    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct run_finding *finding = &result->findings[i];
        unsigned rank = 1 + (finding->rule[0] != '\0') +
                        (finding->rule[0] && finding->kind != RUN_FINDING_MANAGER);

        if (finding->consequence_of)
            continue;

        if (rank > best_rank) {
            best = finding;
            best_rank = rank;
        }
    }
    *out = (struct repro){0};
    if (best)
        repro_of_finding(out, run_finding_kind_name(best->kind), best->rule, best->detail.where,
                         best->text);
    else if (result->error[0])
        repro_of_finding(out, run_outcome_name(result->outcome), "", "", result->error);
    return best || result->error[0];
}

bool repro_is_shown(const struct repro *repro, const struct run_result *result)
{
    enum rule_id rule = rule_find(repro->rule);

    if (rule != RULE_NONE && result->rules.broken[rule])
        return true;
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct run_finding *finding = &result->findings[i];

        if (repro->rule[0] ? strcmp(finding->rule, repro->rule) == 0
                           : strcmp(run_finding_kind_name(finding->kind), repro->kind) == 0 &&
                                 finding_cause(RULE_NONE, finding->detail.where, finding->text) ==
                                     repro->cause)
            return true;
    }
    return !repro->rule[0] && result->error[0] &&
           strcmp(run_outcome_name(result->outcome), repro->kind) == 0 &&
           finding_cause(RULE_NONE, "", result->error) == repro->cause;
}

/* ---- The smallest case ----------------------------------------------------------------------- */

struct shrinking {
    const struct repro_shrink *how;
    const struct repro *repro;
    struct run_result *results; /* two */
    double started, seconds, try_seconds;
    uint32_t lines_before;
};

static bool play(struct shrinking *shrinking, const struct workload *candidate,
                 struct run_result *result)
{
    struct judgement judgement;
    struct run_config config;

    run_config_defaults(&config);
    run_config_from_workload(&config, candidate);
    config.reference = RUN_REFERENCE_NEVER;
    if (strcmp(shrinking->repro->kind, run_finding_kind_name(RUN_FINDING_HOSTILE)) != 0)
        return child_run_execute(&config, candidate, shrinking->try_seconds, result);
    return judge_execute(&config, candidate, shrinking->try_seconds, result, &judgement);
}

static bool shows(void *context, const struct workload *candidate)
{
    struct shrinking *shrinking = context;
    struct run_result *first = &shrinking->results[0], *second = &shrinking->results[1];
    bool is_shown, is_played = play(shrinking, candidate, first);

    if (strcmp(shrinking->repro->kind, "digest") == 0) {
        is_shown = is_played && play(shrinking, candidate, second) &&
                   (first->digest != second->digest || first->outcome != second->outcome);
        run_result_fini(second);
    } else {
        is_shown = is_played && repro_is_shown(shrinking->repro, first);
    }
    is_shown &= !first->is_interrupted;
    run_result_fini(first);
    return is_shown;
}

static bool note_progress(void *context, uint32_t lines, uint32_t tries)
{
    struct shrinking *shrinking = context;
    const struct repro_shrink *how = shrinking->how;

    if (!shrinking->lines_before)
        shrinking->lines_before = lines;
    if (how->progress)
        how->progress(how->progress_context, shrinking->lines_before, lines, tries);
    return !interrupt_came() && wall_now() - shrinking->started < shrinking->seconds;
}

bool repro_shrink(const struct repro_shrink *how, const struct repro *repro,
                  const struct workload *workload, struct workload **out,
                  struct workload_shrink_result *out_result, struct workload_error *error)
{
    struct shrinking shrinking = {
        .how = how,
        .repro = repro,
        .results = calloc(2, sizeof *shrinking.results),
        .started = wall_now(),
        .seconds = how->seconds ? how->seconds : ALL_SECONDS,
        .try_seconds = how->try_seconds ? how->try_seconds : TRY_SECONDS,
    };
    const struct workload_shrink shrink = {
        .context = &shrinking,
        .shows = shows,
        .progress = note_progress,
        .most_tries = UINT32_MAX,
        .keeps_sizes = strcmp(repro->kind, "submission") == 0 && !repro->rule[0],
    };
    bool is_done;

    *out = NULL;
    if (!shrinking.results) {
        snprintf(error->text, sizeof error->text, "no memory to make the case smaller");
        return false;
    }
    is_done = workload_shrink(&shrink, workload, out, out_result, error);
    free(shrinking.results);
    return is_done;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* A text as comment lines, broken between words. */
static size_t add_comment(char *comment, size_t used, const char *text)
{
    while (*text && used < COMMENT_SIZE) {
        size_t line = strcspn(text, "\n"), part = line;

        if (part > LINE_WIDTH) {
            for (part = LINE_WIDTH; part && text[part] != ' '; part--)
                ;
            part = part ? part : LINE_WIDTH;
        }
        used += (size_t)snprintf(comment + used, COMMENT_SIZE - used, "# %.*s\n", (int)part, text);
        text += part;
        text += *text == '\n' || *text == ' ';
    }
    return used;
}

bool repro_save(const struct repro *repro, const struct workload *workload,
                const struct workload_shrink_result *result, const char *path,
                struct workload_error *error)
{
    enum rule_id rule = rule_find(repro->rule);
    uint32_t option = 0;
    char comment[COMMENT_SIZE] = "", text[FINDING_TEXT_BYTES + 64];
    size_t used;

    snprintf(text, sizeof text, "%s%s%s", repro->rule[0] ? repro->rule : repro->kind,
             repro->text[0] ? ": " : "", repro->text);
    used = add_comment(comment, 0, text);
    if (rule != RULE_NONE) {
        snprintf(text, sizeof text, "rule: %s", rule_get(rule)->sentence);
        used = add_comment(comment, used, text);
    }
    snprintf(text, sizeof text, "shrunk from %u operations to %u in %u tries%s",
             result->lines_before, result->lines_after, result->tries,
             result->is_finished ? "" : ", when time ran out");
    used = add_comment(comment, used, text);
    snprintf(text, sizeof text, "drydock replay");
    command_line_append(text, sizeof text, path);
    if (repro->rule[0]) {
        command_line_append(text, sizeof text, "--expect");
        command_line_append(text, sizeof text, repro->rule);
    }
    if (run_next_code_option(workload, &option))
        command_line_append(text, sizeof text, "--trust-case");
    add_comment(comment, used, text);
    return workload_save_commented(workload, comment, path, error);
}
