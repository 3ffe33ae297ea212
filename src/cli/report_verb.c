/*
 * drydock report: what happened in a run, as a page.
 */
#include "cli/cli.h"

#include "report/page/folder_page.h"
#include "report/page/page.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(ROW)                                                                               \
    ROW(OUT, "out", 'o', "FILE", "the page (report.html in the folder)")                           \
    ROW(JSON, "json", 0, NULL, "say what was written as JSON")
CLI_OPTIONS(OPTIONS)

/* The page is in its place: says so, and what it lacks. */
static void tell(const struct cli_arguments *arguments, const char *path, size_t size,
                 const struct report_run *run)
{
    const char *left_out;

    if (arguments->values[OPTION_JSON]) {
        json_t *json = json_object(), *list = json_array(), *notes = json_array();
        char *text;

        for (size_t i = 0; run->story && report_left_out(run->story, i, &left_out); i++)
            json_array_append_new(list, json_string(left_out));
        for (unsigned i = 0; i < run->note_count; i++)
            json_array_append_new(notes, json_string(run->notes[i]));
        json_object_set_new(json, "report", json_string(path));
        json_object_set_new(json, "bytes", json_integer((json_int_t)size));
        json_object_set_new(json, "left_out", list);
        json_object_set_new(json, "notes", notes);
        text = json_dumps(json, JSON_INDENT(2));
        puts(text ? text : "{}");
        free(text);
        json_decref(json);
        return;
    }
    for (unsigned i = 0; i < run->note_count; i++)
        cli_error("%s", run->notes[i]);
    printf("%s (%.1f MB)\n", path, (double)size / 1e6);
    for (size_t i = 0; run->story && report_left_out(run->story, i, &left_out); i++)
        printf("  left out: %s\n", left_out);
}

static enum cli_status report_run(const struct cli_arguments *arguments, const char *folder)
{
    const char *out = arguments->values[OPTION_OUT];
    enum cli_status status = CLI_FINE;
    struct report_run run;
    char error[512], path[600], *html;
    size_t size;

    if (!report_run_load(folder, &run, error)) {
        cli_error("%s", error);
        return CLI_USAGE;
    }
    snprintf(path, sizeof path, "%s/report.html", run.name);
    html = report_run_html(&run, &size, error);
    if (!html) {
        cli_error("%s", error);
        status = CLI_INTERNAL;
    } else if (out) {
        status = cli_write_text(out, html) ? CLI_FINE : CLI_USAGE;
    } else if (!report_page_save(folder, "report.html", html, error)) {
        cli_error("%s", error);
        status = CLI_USAGE;
    }
    if (status == CLI_FINE)
        tell(arguments, out ? out : path, size, &run);
    free(html);
    report_run_fini(&run);
    return status;
}

static enum cli_status run(const struct cli_arguments *arguments)
{
    if (arguments->rest_count != 1) {
        cli_error("report takes the folder of a run (drydock report --help)");
        return CLI_USAGE;
    }
    if (!report_page_is_built()) {
        cli_error("%s", report_page_not_built());
        return CLI_USAGE;
    }
    switch (report_folder_kind(arguments->rest[0])) {
    case REPORT_FOLDER_RUN:
        return report_run(arguments, arguments->rest[0]);
    case REPORT_FOLDER_CAMPAIGN:
    case REPORT_FOLDER_CAMPAIGNS:
    case REPORT_FOLDER_NONE:
        break;
    }
    cli_error("'%s' is no folder of a run: it has no run.json (drydock run --out makes one)",
              arguments->rest[0]);
    return CLI_USAGE;
}

const struct cli_verb cli_report = {
    .name = "report",
    .usage = "FOLDER [options]",
    .summary = "Shows what happened in a run, as a page for a browser",
    .details =
        "FOLDER is that of a run (runs/...). The page is one HTML file that needs no network: an\n"
        "overview, a map of the segments over time, a timeline of engines, page tables, and each\n"
        "finding with the calls around it (docs/reports.md).",
    .options = options,
    .repeated_option = -1,
    .run = run,
};
