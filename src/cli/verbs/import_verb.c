/*
 * drydock import: a trace or a capture of another tool becomes a case.
 */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "report/plain_text.h"
#include "report/report.h"
#include "workload/import/import.h"
#include "workload/summary.h"
#include "report/document.h"
#include "report/text_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OPTIONS(ROW)                                                                               \
    ROW(OUT, "out", 'o', "FILE", "the case (input's name with .case); - is standard output")       \
    ROW(STEPS, "steps", 0, "N", "of a .trace: how often its step is repeated (2)")                 \
    ROW(JSON, "json", 0, NULL, "print what was found as JSON")
CLI_OPTIONS(OPTIONS)

static const char *format_name(enum workload_import_format format)
{
    static const char *const names[] = {
        [WORKLOAD_IMPORT_CASE] = "case",
        [WORKLOAD_IMPORT_TRACE] = "trace",
        [WORKLOAD_IMPORT_RMV] = "rmv",
    };

    return names[format];
}

/* "bert256.trace" -> "bert256.case", in the current folder. */
static void default_output(char out[512], const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dot;

    snprintf(out, 500, "%s", strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path);
    dot = strrchr(out, '.');
    if (dot && dot != out)
        *dot = '\0';
    strcat(out, ".case");
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat first, second;

    return strcmp(a, "-") != 0 && strcmp(b, "-") != 0 && stat(a, &first) == 0 &&
           stat(b, &second) == 0 && S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static void print_report(FILE *out, const struct workload *workload,
                         const struct workload_import_report *report, const char *path)
{
    struct workload_summary summary;
    char bytes[REPORT_NUMBER_BYTES];

    workload_summarise(workload, &summary);
    plain_text_print(out, "%s: %s, %u operations, %u allocations, %s alive at the peak\n", path,
                     format_name(report->format), workload->op_count, workload->allocation_count,
                     report_bytes(bytes, summary.peak_live_bytes));
    if (report->format == WORKLOAD_IMPORT_TRACE)
        fprintf(out, "  %u tensors, %u kernels a step, %u steps\n", report->tensor_count,
                report->kernel_count, summary.step_count);
    if (report->format == WORKLOAD_IMPORT_RMV)
        fprintf(out,
                "  %u page-table updates, %u virtual allocations, %u frees, %u resources, %u "
                "residency changes, %" PRIu64 " tokens\n",
                report->page_table_update_count, report->virtual_allocation_count,
                report->virtual_free_count, report->resource_count, report->residency_update_count,
                report->token_count);
}

static void print_json(const struct workload *workload, const struct workload_import_report *report,
                       const char *path, const char *output)
{
    json_t *json = report_document("import");
    struct workload_summary summary;

    workload_summarise(workload, &summary);
    json_object_set_new(json, "file", report_text_json(path));
    json_object_set_new(json, "kind", json_string(format_name(report->format)));
    json_object_set_new(json, "case", report_text_json(output));
#define SET(name, value) json_object_set_new(json, name, json_integer((json_int_t)(value)))
    SET("operations", workload->op_count);
    SET("allocations", workload->allocation_count);
    SET("peak_live_bytes", summary.peak_live_bytes);
    SET("steps", summary.step_count);
    SET("tensors", report->tensor_count);
    SET("kernels", report->kernel_count);
    SET("page_table_updates", report->page_table_update_count);
    SET("virtual_allocations", report->virtual_allocation_count);
    SET("virtual_frees", report->virtual_free_count);
    SET("resources", report->resource_count);
    SET("residency_updates", report->residency_update_count);
    SET("tokens", report->token_count);
#undef SET
    cli_print_json(json);
}

static void tell_progress(void *context, uint64_t operations)
{
    terminal_progress(
        &(struct terminal_task){.what = "import", .unit = "operations", .done = operations});
}

static enum cli_status import(const struct cli_arguments *arguments)
{
    struct workload_import_options import_options = {.progress = tell_progress};
    struct workload_import_report report;
    struct workload_error error;
    struct workload *workload;
    char output[512];
    uint64_t steps;
    bool done;

    if (arguments->rest_count != 1) {
        cli_error("import takes one file (drydock import --help)");
        return CLI_USAGE;
    }
    if (arguments->values[OPTION_STEPS]) {
        if (!cli_number("steps", arguments->values[OPTION_STEPS], 1, 1000, &steps))
            return CLI_USAGE;
        import_options.steps = (uint32_t)steps;
    }
    if (arguments->values[OPTION_OUT])
        snprintf(output, sizeof output, "%s", arguments->values[OPTION_OUT]);
    else
        default_output(output, arguments->rest[0]);
    if (is_same_file(arguments->rest[0], output)) {
        cli_error("'%s' would be written over itself (-o FILE names another file)", output);
        return CLI_USAGE;
    }
    if (!workload_import(arguments->rest[0], &import_options, &workload, &report, &error)) {
        cli_error("%s", error.text);
        return CLI_USAGE;
    }
    terminal_end();
    done = cli_save(workload, output);
    if (done && arguments->values[OPTION_JSON] && strcmp(output, "-") != 0)
        print_json(workload, &report, arguments->rest[0], output);
    else if (done && !terminal_is_quiet())
        print_report(strcmp(output, "-") == 0 ? stderr : stdout, workload, &report,
                     arguments->rest[0]);
    if (done && strcmp(output, "-") != 0 && !arguments->values[OPTION_JSON] && !terminal_is_quiet())
        plain_text_print(stdout, "  written to %s\n", output);
    workload_free(workload);
    return done ? CLI_FINE : CLI_USAGE;
}

const struct cli_verb cli_import = {
    .name = "import",
    .usage = "FILE [-o CASE]",
    .summary = "Turns a real trace into a case",
    .details = "Takes .trace (tensors and kernels of a training step) and .rmv (Radeon Memory\n"
               "Visualizer captures); recognises them by their content. Never writes over FILE.",
    .options = options,
    .run = import,
};
