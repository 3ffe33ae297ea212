/*
 * drydock replay: a case as its own options say, in a process of its own. Nothing is written.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/child/repro.h"
#include "bench/config/command_line.h"
#include "bench/drivers/source_places.h"
#include "bench/child/child_run.h"
#include "report/plain_text.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(ROW)                                                                               \
    ROW(EXPECT, "expect", 0, "RULE", "exit status 0 if this rule is broken, else 1")               \
    ROW(JUDGE, CLI_JUDGE)                                                                          \
    ROW(NO_JUDGE, CLI_NO_JUDGE)                                                                    \
    ROW(SECONDS, "seconds", 0, "S", "of wall time until it counts as hung (60)")                   \
    ROW(TRUST_CASE, CLI_TRUST_CASE)                                                                \
    ROW(JSON, "json", 0, NULL, "print the run as JSON")
CLI_OPTIONS(OPTIONS)

static void print_result(const struct cli_arguments *arguments, const struct workload *workload,
                         const struct run_result *result)
{
    char replay[1024] = "drydock replay";
    struct report_origin origin = {.case_file = arguments->rest[0], .replay = replay};

    command_line_append(replay, sizeof replay, arguments->rest[0]);
    if (arguments->values[OPTION_TRUST_CASE])
        command_line_append(replay, sizeof replay, "--trust-case");
    if (arguments->values[OPTION_JSON]) {
        char *json = report_run_json(result, &origin, 1);

        puts(json ? json : "{}");
        free(json);
        return;
    }
    report_findings(stdout, &origin, result, NULL);
    if (result->error[0]) {
        printf("error %s\n  ", run_outcome_name(result->outcome));
        plain_text_write(stdout, result->error, strlen(result->error));
        putchar('\n');
    }
    if (result->outcome == RUN_CLEAN && !terminal_is_quiet())
        plain_text_print(stdout, "%s: nothing was found in %llu operations%s\n", arguments->rest[0],
                         (unsigned long long)result->operations_played,
                         result->is_judged ? ", nor when it was judged again without the driver"
                                           : "");
}

static enum cli_status status_of(const char *rule, const struct run_result *result)
{
    struct repro repro;

    if (!rule)
        return result->outcome == RUN_CLEAN ? CLI_FINE : cli_found(run_result_is_ours(result));
    repro_of_rule(&repro, rule);
    return repro_is_shown(&repro, result) ? CLI_FINE : CLI_FINDINGS;
}

static enum cli_status play(const struct cli_arguments *arguments, struct run_result *result)
{
    const char *rule = arguments->values[OPTION_EXPECT];
    enum cli_status status = CLI_INTERNAL;
    struct run_config config;
    struct workload *workload;
    uint64_t seconds = 60;

    if (arguments->values[OPTION_SECONDS] &&
        !cli_number("seconds", arguments->values[OPTION_SECONDS], 1, 1u << 30, &seconds))
        return CLI_USAGE;
    if (rule && rule_find(rule) == RULE_NONE) {
        cli_error("option --expect: there is no rule '%s' (drydock rules lists them)", rule);
        return CLI_USAGE;
    }
    workload = cli_load(arguments->rest[0], 0);
    if (!workload)
        return CLI_USAGE;
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    config.progress = cli_progress;
    if (!cli_may_play(arguments, arguments->values[OPTION_TRUST_CASE] != NULL, NULL, workload) ||
        !cli_find_driver(config.driver)) {
        status = CLI_USAGE;
    } else if (cli_play(&config, workload, (double)seconds,
                        cli_judges(arguments->values[OPTION_JUDGE] != NULL,
                                   arguments->values[OPTION_NO_JUDGE] != NULL, config.driver),
                        result)) {
        source_places_add_to_result(result);
        terminal_end();
        print_result(arguments, workload, result);
        status = status_of(rule, result);
    } else {
        cli_error("the process of the run cannot be made");
    }
    run_result_fini(result);
    workload_free(workload);
    return status;
}

static enum cli_status replay(const struct cli_arguments *arguments)
{
    struct run_result *result;
    enum cli_status status;

    if (arguments->rest_count != 1) {
        cli_error("replay takes one case (drydock replay --help)");
        return CLI_USAGE;
    }
    result = calloc(1, sizeof *result);
    if (!result) {
        cli_error("no memory");
        return CLI_INTERNAL;
    }
    status = play(arguments, result);
    free(result);
    return status;
}

const struct cli_verb cli_replay = {
    .name = "replay",
    .usage = "CASE [options]",
    .summary = "Plays a case as its own options say, and prints what it shows",
    .details =
        "For the cases of findings: driver, board, seed and all else are options of the case, and\n"
        "nothing is written. The run has a process of its own, so that a driver that crashes or\n"
        "hangs is a finding as well. Exit status 1: it has findings; with --expect RULE: 0 if\n"
        "this rule is among them, 1 if not.",
    .options = options,
    .run = replay,
};
