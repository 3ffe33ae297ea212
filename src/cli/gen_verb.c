#include "cli/cli.h"

#include "report/report.h"
#include "workload/generate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { OPTION_OUT };

static const struct cli_option options[] = {
    [OPTION_OUT] = {"out", 'o', "FILE", "the case; - is standard output (NAME.case)"},
    {NULL, 0, NULL, NULL},
};

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

static enum cli_status gen(const struct cli_arguments *arguments)
{
    struct workload_summary summary;
    struct workload_error error;
    struct workload *workload;
    char output[256], bytes[REPORT_NUMBER_BYTES];
    bool done;

    if (arguments->rest_count == 0) {
        list_generators(stdout);
        return CLI_FINE;
    }
    if (!workload_find_generator(arguments->rest[0]))
        return unknown_generator(arguments->rest[0]);
    if (!workload_generate(arguments->rest[0], arguments->rest + 1, arguments->rest_count - 1,
                           &workload, &error)) {
        cli_error("%s", error.text);
        return CLI_USAGE;
    }
    snprintf(output, sizeof output, "%s.case", arguments->rest[0]);
    if (arguments->values[OPTION_OUT])
        snprintf(output, sizeof output, "%s", arguments->values[OPTION_OUT]);
    done = cli_save(workload, output);
    workload_summarise(workload, &summary);
    if (done)
        fprintf(strcmp(output, "-") == 0 ? stderr : stdout,
                "%s: %u operations, %u allocations, %s alive at the peak, written to %s\n",
                arguments->rest[0], workload->op_count, workload->allocation_count,
                report_bytes(bytes, summary.peak_live_bytes), output);
    workload_free(workload);
    return done ? CLI_FINE : CLI_USAGE;
}

const struct cli_verb cli_gen = {
    .name = "gen",
    .usage = "[NAME [KEY=VALUE ...]] [-o CASE]",
    .summary = "Computes a case; without a name lists the generators",
    .options = options,
    .repeated_option = -1,
    .run = gen,
};
