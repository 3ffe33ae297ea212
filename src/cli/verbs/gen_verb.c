/*
 * drydock gen: a case from a generator, with its settings as KEY=VALUE. `clients=8` is the
 * generator clients with 8 as its first setting.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "report/report.h"
#include "workload/generate/generate.h"
#include "workload/summary.h"
#include "report/document.h"
#include "report/text_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(ROW)                                                                               \
    ROW(OUT, "out", 'o', "FILE", "the case; - is standard output (NAME.case)")                     \
    ROW(JSON, "json", 0, NULL, "print what was made, or the list of generators, as JSON")
CLI_OPTIONS(OPTIONS)

static void list_generators(FILE *out)
{
    for (const struct workload_generator *g = workload_generators; g->name; g++) {
        fprintf(out, "%s: %s\n", g->name, g->summary);
        for (const struct workload_param *p = g->params; p->name; p++) {
            char form[64];

            if (p->choices)
                snprintf(form, sizeof form, "%s=%s", p->name, p->choices);
            else
                snprintf(form, sizeof form, "%s=%" PRIu64, p->name, p->fallback);
            fprintf(out, "  %-28s %s\n", form, p->summary);
        }
    }
}

static void list_as_json(void)
{
    json_t *json = report_document("generators"), *list = json_array();

    for (const struct workload_generator *g = workload_generators; g->name; g++) {
        json_t *params = json_array();

        for (const struct workload_param *p = g->params; p->name; p++) {
            json_t *param = json_pack("{ss ss}", "name", p->name, "summary", p->summary);

            if (p->choices)
                json_object_set_new(param, "choices", json_string(p->choices));
            else
                json_object_set_new(param, "default", json_integer((json_int_t)p->fallback));
            json_array_append_new(params, param);
        }
        json_array_append_new(list, json_pack("{ss ss so}", "name", g->name, "summary", g->summary,
                                              "parameters", params));
    }
    json_object_set_new(json, "generators", list);
    cli_print_json(json);
}

static void report_as_json(const char *generator, const struct workload *workload,
                           const struct workload_summary *summary, const char *output)
{
    json_t *json = report_document("gen");

    json_object_update_new(
        json, json_pack("{ss so sI sI sI sI sI}", "generator", generator, "case",
                        report_text_json(output), "operations", (json_int_t)workload->op_count,
                        "allocations", (json_int_t)workload->allocation_count, "steps",
                        (json_int_t)summary->step_count, "peak_live_bytes",
                        (json_int_t)summary->peak_live_bytes, "largest_submission_bytes",
                        (json_int_t)summary->largest_submission_bytes));
    cli_print_json(json);
}

static enum cli_status unknown_generator(const char *name)
{
    const char *names[33] = {0};
    const char *nearest;
    size_t count = 0;

    for (const struct workload_generator *g = workload_generators; g->name && count < 32; g++)
        names[count++] = g->name;
    nearest = cli_nearest(name, names);
    if (nearest)
        cli_error("unknown generator '%s' (did you mean %s?)", name, nearest);
    else
        cli_error("unknown generator '%s' (drydock gen lists them)", name);
    return CLI_USAGE;
}

/*
 * The case that NAME [KEY=VALUE ...] asks for, where NAME=VALUE sets the first parameter of the
 * generator, too.
 */
static enum cli_status generate(const struct cli_arguments *arguments,
                                const struct workload_generator **out_generator,
                                struct workload **out)
{
    const char *first = arguments->rest[0], *equals = strchr(first, '=');
    const char **settings = calloc((size_t)arguments->rest_count + 1, sizeof *settings);
    char name[64], setting[128];
    struct workload_error error;
    size_t count = 0;
    bool is_made;

    if (!settings) {
        cli_error("out of memory");
        return CLI_INTERNAL;
    }
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - first : 63), first);
    *out_generator = workload_find_generator(name);
    if (!*out_generator) {
        free(settings);
        return unknown_generator(name);
    }
    if (equals) {
        snprintf(setting, sizeof setting, "%s%s", (*out_generator)->params[0].name, equals);
        settings[count++] = setting;
    }
    for (size_t i = 1; i < (size_t)arguments->rest_count; i++)
        settings[count++] = arguments->rest[i];
    is_made = workload_generate(name, settings, count, out, &error);
    free(settings);
    if (!is_made)
        cli_error("%s", error.text);
    return is_made ? CLI_FINE : CLI_USAGE;
}

static enum cli_status gen(const struct cli_arguments *arguments)
{
    const struct workload_generator *generator;
    enum cli_status status;
    struct workload_summary summary;
    struct workload *workload;
    char output[256], bytes[REPORT_NUMBER_BYTES];
    bool done;

    if (arguments->rest_count == 0) {
        if (arguments->values[OPTION_JSON])
            list_as_json();
        else
            list_generators(stdout);
        return CLI_FINE;
    }
    status = generate(arguments, &generator, &workload);
    if (status != CLI_FINE)
        return status;
    snprintf(output, sizeof output, "%s.case", generator->name);
    if (arguments->values[OPTION_OUT])
        snprintf(output, sizeof output, "%s", arguments->values[OPTION_OUT]);
    done = cli_save(workload, output);
    workload_summarise(workload, &summary);
    if (done && arguments->values[OPTION_JSON] && strcmp(output, "-") != 0)
        report_as_json(generator->name, workload, &summary, output);
    else if (done && !terminal_is_quiet())
        fprintf(strcmp(output, "-") == 0 ? stderr : stdout,
                "%s: %u operations, %u allocations, %s alive at the peak, written to %s\n",
                generator->name, workload->op_count, workload->allocation_count,
                report_bytes(bytes, summary.peak_live_bytes), output);
    workload_free(workload);
    return done ? CLI_FINE : CLI_USAGE;
}

const struct cli_verb cli_gen = {
    .name = "gen",
    .usage = "[NAME[=VALUE] [KEY=VALUE ...]] [-o CASE]",
    .summary = "Computes a case; without a name lists the generators",
    .details =
        "NAME=VALUE sets the first parameter of the generator, too: `drydock gen clients=4` is\n"
        "`drydock gen clients decode=4`.",
    .options = options,
    .run = gen,
};
