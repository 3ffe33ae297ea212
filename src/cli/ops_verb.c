#include "cli/cli.h"

#include "bench/run.h"
#include "miniport/miniport.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_JSON };

static const struct cli_option options[] = {
    [OPTION_JSON] = {"json", 0, NULL, "print as JSON"},
    {NULL, 0, NULL, NULL},
};

/* Which models' runs can contain an operation in this build. */
#define PHYSICAL 1u
#define GPUMMU   2u
static const unsigned supported[MINIPORT_OPERATION_COUNT] = {
    [DXGK_OPERATION_TRANSFER] = PHYSICAL,
    [DXGK_OPERATION_FILL] = PHYSICAL,
    [DXGK_OPERATION_DISCARD_CONTENT] = PHYSICAL,
    [DXGK_OPERATION_MAP_APERTURE_SEGMENT] = PHYSICAL | GPUMMU,
    [DXGK_OPERATION_UNMAP_APERTURE_SEGMENT] = PHYSICAL | GPUMMU,
    [DXGK_OPERATION_VIRTUAL_TRANSFER] = GPUMMU,
    [DXGK_OPERATION_VIRTUAL_FILL] = GPUMMU,
    [DXGK_OPERATION_UPDATE_PAGE_TABLE] = GPUMMU,
    [DXGK_OPERATION_FLUSH_TLB] = GPUMMU,
    [DXGK_OPERATION_SIGNAL_MONITORED_FENCE] = GPUMMU,
};

static const char *models_text(unsigned models)
{
    switch (models) {
    case PHYSICAL:
        return "physical";
    case GPUMMU:
        return "gpummu";
    case PHYSICAL | GPUMMU:
        return "physical, gpummu";
    default:
        return "not in this build";
    }
}

static void print_table(const struct run_result *results)
{
    printf("%3s  %-26s %-20s%s\n", "", "operation", "in runs of model",
           results ? "     physical       gpummu" : "");
    for (unsigned op = 0; op < MINIPORT_OPERATION_COUNT; op++) {
        printf("%3u  %-26s %-20s", op, miniport_operation_name(op), models_text(supported[op]));
        for (unsigned i = 0; results && i < 2; i++) {
            char number[REPORT_NUMBER_BYTES];
            uint64_t count = results[i].statistics.operations[op];

            printf(" %12s", count ? report_count(number, count) : "-");
        }
        printf("\n");
    }
}

static void print_json(const struct run_result *results)
{
    printf("{\n");
    for (unsigned op = 0; op < MINIPORT_OPERATION_COUNT; op++) {
        printf("  \"%s\": {\"number\": %u, \"physical\": %s, \"gpummu\": %s",
               miniport_operation_name(op), op, supported[op] & PHYSICAL ? "true" : "false",
               supported[op] & GPUMMU ? "true" : "false");
        if (results)
            printf(", \"physical_count\": %" PRIu64 ", \"gpummu_count\": %" PRIu64,
                   results[0].statistics.operations[op], results[1].statistics.operations[op]);
        printf("}%s\n", op + 1 < MINIPORT_OPERATION_COUNT ? "," : "");
    }
    printf("}\n");
}

static enum cli_status print_runs(const char *path, bool as_json)
{
    struct workload *workload = cli_load(path, 0);
    struct run_result *results = calloc(2, sizeof *results);
    struct run_config config;
    enum cli_status status = CLI_FINE;

    if (!workload || !results) {
        workload_free(workload);
        free(results);
        return CLI_USAGE;
    }
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    config.progress = cli_progress;
    for (unsigned i = 0; i < 2; i++) {
        config.model = i ? RUN_GPUMMU : RUN_PHYSICAL;
        run_execute(&config, workload, &results[i]);
        cli_progress_end();
        if (results[i].error[0])
            cli_error("%s: %s: %s", path, run_model_name(config.model), results[i].error);
        report_findings(stderr, path, &results[i]);
        if (results[i].outcome == RUN_BROKEN)
            status = CLI_INTERNAL;
        else if (results[i].outcome != RUN_CLEAN && status == CLI_FINE)
            status = results[i].outcome == RUN_REFUSED ? CLI_USAGE : CLI_FINDINGS;
    }
    if (as_json)
        print_json(results);
    else
        print_table(results);
    for (unsigned i = 0; i < 2; i++)
        run_result_fini(&results[i]);
    free(results);
    workload_free(workload);
    return status;
}

static enum cli_status ops(const struct cli_arguments *arguments)
{
    bool as_json = arguments->values[OPTION_JSON] != NULL;

    if (arguments->rest_count > 1) {
        cli_error("ops takes at most one case (drydock ops --help)");
        return CLI_USAGE;
    }
    if (arguments->rest_count == 1)
        return print_runs(arguments->rest[0], as_json);
    if (as_json)
        print_json(NULL);
    else
        print_table(NULL);
    return CLI_FINE;
}

const struct cli_verb cli_ops = {
    .name = "ops",
    .usage = "[CASE]",
    .summary = "Which paging operations this build has, and how often a case's runs use them",
    .options = options,
    .repeated_option = -1,
    .run = ops,
};
