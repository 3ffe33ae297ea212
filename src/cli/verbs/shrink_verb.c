/*
 * drydock shrink: the smallest case that shows what a case shows.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/child/repro.h"
#include "bench/child/child_run.h"
#include "bench/config/command_line.h"
#include "report/document.h"
#include "report/plain_text.h"
#include "report/text_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(ROW)                                                                               \
    ROW(RULE, "rule", 0, "RULE", "that must go on being broken (that of the first finding)")       \
    ROW(OUT, "out", 'o', "FILE", "the smaller case (standard output)")                             \
    ROW(SECONDS, "seconds", 0, "S", "to try for at most (60)")                                     \
    ROW(DRIVER, "driver", 0, "NAME", "of the run, in place of the case's")                         \
    ROW(JSON, CLI_JSON)                                                                            \
    ROW(TRUST_CASE, CLI_TRUST_CASE)                                                                \
    ROW(OPTION, "option", 0, "KEY=VALUE",                                                          \
        "sets an option of the case (drydock options); may be repeated")
CLI_OPTIONS(OPTIONS)

#define HUNG_SECONDS 60

static void draw_progress(void *context, uint32_t before, uint32_t lines, uint32_t tries)
{
    const double *seconds = context;
    char note[64];

    snprintf(note, sizeof note, "%u of %u operations, %u tries", lines, before, tries);
    terminal_progress(&(struct terminal_task){.what = "shrink",
                                              .note = note,
                                              .unit = "tries",
                                              .hides_count = true,
                                              .done = tries,
                                              .most_seconds = *seconds});
}

static void print_json(const struct repro *repro, const struct workload_shrink_result *shrunk,
                       const char *path)
{
    json_t *json = report_document("shrink");

    json_object_set_new(json, "case", report_text_json(path));
    json_object_set_new(json, "rule", repro->rule[0] ? json_string(repro->rule) : json_null());
    json_object_set_new(json, "kind", repro->kind[0] ? json_string(repro->kind) : json_null());
    json_object_set_new(json, "text", report_text_json(repro->text));
    json_object_set_new(json, "operations", json_integer(shrunk->lines_after));
    json_object_set_new(json, "operations_before", json_integer(shrunk->lines_before));
    json_object_set_new(json, "tries", json_integer(shrunk->tries));
    json_object_set_new(json, "is_finished", json_boolean(shrunk->is_finished));
    cli_print_json(json);
}

/* The smaller case in its place. The try that shows the finding has said how long one takes. */
static enum cli_status shrink(const struct cli_arguments *arguments, const struct repro *repro,
                              const struct workload *workload, double seconds, double try_seconds)
{
    const char *path = arguments->values[OPTION_OUT] ? arguments->values[OPTION_OUT] : "-";
    const struct repro_shrink how = {.seconds = seconds,
                                     .try_seconds = try_seconds,
                                     .progress = draw_progress,
                                     .progress_context = &seconds};
    struct workload_shrink_result shrunk;
    struct workload_error error;
    struct workload *small;
    bool is_saved;

    if (!repro_shrink(&how, repro, workload, &small, &shrunk, &error)) {
        if (interrupt_came())
            return cli_interrupted(NULL, NULL);
        cli_error("%s", error.text);
        return CLI_USAGE;
    }
    terminal_end();
    is_saved = repro_save(repro, small, &shrunk, path, &error);
    if (is_saved && arguments->values[OPTION_JSON] && strcmp(path, "-") != 0)
        print_json(repro, &shrunk, path);
    else if (is_saved && !terminal_is_quiet())
        plain_text_print(stderr, "%s: %s, %u operations, shrunk from %u in %u tries%s\n", path,
                         repro->rule[0] ? repro->rule : repro->kind, shrunk.lines_after,
                         shrunk.lines_before, shrunk.tries,
                         shrunk.is_finished ? ""
                         : interrupt_came() ? "; interrupted"
                                            : "; time ran out (--seconds)");
    if (!is_saved) {
        cli_error("%s", error.text);
        /* It took its time to be made. */
        if (strcmp(path, "-") != 0 && !arguments->values[OPTION_JSON])
            repro_save(repro, small, &shrunk, "-", &error);
    }
    workload_free(small);
    if (is_saved && interrupt_came()) {
        char command[1024] = "drydock shrink";

        command_line_append(command, sizeof command, path);
        return cli_interrupted(path, strcmp(path, "-") == 0 ? NULL : command);
    }
    return is_saved ? CLI_FINE : CLI_USAGE;
}

/* Plays it once, to see what it shows and how long that takes. */
static enum cli_status look_and_shrink(const struct cli_arguments *arguments,
                                       struct workload *workload, double seconds,
                                       struct run_result *result)
{
    const char *rule = arguments->values[OPTION_RULE];
    struct run_config config;
    struct workload_error error;
    struct repro repro;
    double try_seconds;

    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    interrupt_catch();
    config.progress = cli_progress;
    if (!cli_find_driver(config.driver))
        return CLI_USAGE;
    if (!cli_play(&config, workload, HUNG_SECONDS, cli_judges(false, false, config.driver),
                  result)) {
        cli_error("the process of the run cannot be made");
        return CLI_INTERNAL;
    }
    terminal_end();
    if (interrupt_came())
        return cli_interrupted(NULL, NULL);
    /*
     * Options that say what there is anyway go; the configuration's names are the workload's until
     * then.
     */
    if (!run_config_to_options(&config, workload, &error)) {
        cli_error("%s", error.text);
        return CLI_USAGE;
    }
    if (rule)
        repro_of_rule(&repro, rule);
    else if (!repro_of_result(&repro, result)) {
        cli_error("%s: nothing is found in this case", arguments->rest[0]);
        return CLI_USAGE;
    }
    for (uint32_t i = 0; i < result->finding_count && rule; i++) {
        if (strcmp(result->findings[i].rule, rule) == 0 && !repro.text[0])
            snprintf(repro.text, sizeof repro.text, "%s", result->findings[i].text);
    }
    try_seconds = result->finding_totals[RUN_FINDING_HUNG] ? 2 : 2 + 10 * result->wall_seconds;
    return shrink(arguments, &repro, workload, seconds, try_seconds);
}

static bool apply_options(const struct cli_arguments *arguments, struct workload *workload)
{
    struct workload_error error;

    if (!cli_may_play(arguments, arguments->values[OPTION_TRUST_CASE] != NULL,
                      arguments->values[OPTION_DRIVER], workload))
        return false;
    if (arguments->values[OPTION_DRIVER] &&
        !workload_set_option(workload, "driver", arguments->values[OPTION_DRIVER], &error)) {
        cli_error("%s", error.text);
        return false;
    }
    return cli_set_options(arguments, workload);
}

static enum cli_status shrink_case(const struct cli_arguments *arguments)
{
    const char *rule = arguments->values[OPTION_RULE];
    struct run_result *result = NULL;
    struct workload *workload;
    enum cli_status status = CLI_USAGE;
    uint64_t seconds = 60;

    if (arguments->rest_count != 1) {
        cli_error("shrink takes one case (drydock shrink --help)");
        return CLI_USAGE;
    }
    if (rule && rule_find(rule) == RULE_NONE) {
        cli_error("option --rule: there is no rule '%s' (drydock rules lists them)", rule);
        return CLI_USAGE;
    }
    if (arguments->values[OPTION_SECONDS] &&
        !cli_number("seconds", arguments->values[OPTION_SECONDS], 1, 1u << 30, &seconds))
        return CLI_USAGE;
    if (arguments->values[OPTION_OUT] && !cli_may_write(arguments->values[OPTION_OUT]))
        return CLI_USAGE;
    workload = cli_load(arguments->rest[0], 0);
    if (!workload)
        return CLI_USAGE;
    result = calloc(1, sizeof *result);
    if (!result) {
        cli_error("no memory");
        status = CLI_INTERNAL;
    } else if (apply_options(arguments, workload)) {
        status = look_and_shrink(arguments, workload, (double)seconds, result);
        run_result_fini(result);
    }
    free(result);
    workload_free(workload);
    return status;
}

const struct cli_verb cli_shrink = {
    .name = "shrink",
    .usage = "CASE [options]",
    .summary = "Makes a case with a finding as small as it can be with the same finding",
    .details =
        "Operations, references, sizes, contexts and options go for as long as the run breaks the\n"
        "same rule, or, where no rule names the finding, has one of the same cause. Each try is a\n"
        "run in a process of its own, so a crash or a hang can be made smaller too. The result\n"
        "stands alone: drydock replay plays it.",
    .options = options,
    .repeated_options = CLI_REPEATED(OPTION_OPTION),
    .run = shrink_case,
};
