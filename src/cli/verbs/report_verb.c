/*
 * drydock report: what happened in a run, as a page.
 */
#include "cli/cli.h"
#include "cli/verbs/report_campaign.h"
#include "cli/terminal.h"

#include "report/compare/compare.h"
#include "report/document.h"
#include "report/page/folder_page.h"
#include "report/page/page.h"
#include "report/plain_text.h"
#include "report/text_json.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS(ROW)                                                                               \
    ROW(COMPARE, "compare", 0, "RUN", "put this run beside that of FOLDER: what is different")     \
    ROW(OUT, "out", 'o', "FILE", "the page (report.html in the folder; compare.html)")             \
    ROW(NO_PLAY, "no-play", 0, NULL,                                                               \
        "of a campaign: do not play the cases of causes again, for their pages")                   \
    ROW(TRUST_CASE, CLI_TRUST_CASE)                                                                \
    ROW(JSON, "json", 0, NULL, "say what was written as JSON; of --compare: the comparison")
CLI_OPTIONS(OPTIONS)

/* Writes the page to --out, or into the folder under this name; path says where. */
static enum cli_status save(const struct cli_arguments *arguments, const char *folder,
                            const char *name, const char *html, char path[600])
{
    const char *out = arguments->values[OPTION_OUT];
    size_t length = strlen(folder);
    char error[512];

    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (out)
        snprintf(path, 600, "%s", out);
    else
        snprintf(path, 600, "%.*s/%s", (int)(length < 500 ? length : 500), folder, name);
    if (out)
        return cli_write_text(out, html) ? CLI_FINE : CLI_USAGE;
    if (report_page_save(folder, name, html, error))
        return CLI_FINE;
    cli_error("%s", error);
    return CLI_USAGE;
}

/* The page is in its place: says so, and what it lacks. */
static void tell(const struct cli_arguments *arguments, const char *path, size_t size,
                 const struct report_run *run)
{
    if (arguments->values[OPTION_JSON]) {
        json_t *json = report_document("report"), *notes = json_array();

        for (unsigned i = 0; i < run->note_count; i++)
            json_array_append_new(notes, report_text_json(run->notes[i]));
        json_object_set_new(json, "report", report_text_json(path));
        json_object_set_new(json, "bytes", json_integer((json_int_t)size));
        json_object_set_new(json, "left_out", report_left_out_json(run->story));
        json_object_set_new(json, "notes", notes);
        cli_print_json(json);
        return;
    }
    for (unsigned i = 0; i < run->note_count; i++)
        cli_error("%s", run->notes[i]);
    if (terminal_is_quiet())
        return;
    plain_text_print(stdout, "%s (%.1f MB)\n", path, (double)size / 1e6);
    report_left_out_text(stdout, run->story);
}

static enum cli_status report_run(const struct cli_arguments *arguments, const char *folder)
{
    enum cli_status status;
    struct report_run run;
    char error[512], path[600], *html;
    size_t size;

    if (!report_run_load(folder, &run, error)) {
        cli_error("%s", error);
        return CLI_USAGE;
    }
    html = report_run_html(&run, &size, error);
    if (!html) {
        cli_error("%s", error);
        report_run_fini(&run);
        return CLI_INTERNAL;
    }
    status = save(arguments, folder, "report.html", html, path);
    if (status == CLI_FINE)
        tell(arguments, path, size, &run);
    free(html);
    report_run_fini(&run);
    return status;
}

bool cli_report_run(const char *folder, char path[600])
{
    struct report_run run;
    char error[512], *html = NULL;
    size_t size;
    bool is_written;

    if (!report_page_is_built()) {
        cli_error("%s", report_page_not_built());
        return false;
    }
    if (!report_run_load(folder, &run, error)) {
        cli_error("%s", error);
        return false;
    }
    html = report_run_html(&run, &size, error);
    is_written = html && report_page_save(folder, "report.html", html, error);
    for (unsigned i = 0; i < run.note_count; i++)
        cli_error("%s", run.notes[i]);
    if (is_written)
        snprintf(path, 600, "%.580s/report.html", run.name);
    else
        cli_error("%s", error);
    free(html);
    report_run_fini(&run);
    return is_written;
}

/* ---- Two runs -------------------------------------------------------------------------------- */

static enum cli_status compare_runs(const struct cli_arguments *arguments, struct report_run *a,
                                    struct report_run *b)
{
    json_t *comparison = report_compare(a, b);
    enum cli_status status = CLI_FINE, saved;
    char error[512], path[600], *html = NULL;
    size_t size;

    if (!comparison) {
        cli_error("no memory to compare the runs");
        return CLI_INTERNAL;
    }
    for (unsigned i = 0; i < a->note_count; i++)
        cli_error("%s: %s", a->name, a->notes[i]);
    for (unsigned i = 0; i < b->note_count; i++)
        cli_error("%s: %s", b->name, b->notes[i]);
    if (arguments->values[OPTION_JSON]) {
        json_t *json = report_document("comparison");

        json_object_update(json, comparison);
        if (!cli_print_json(json))
            status = CLI_INTERNAL;
    } else {
        report_compare_text(stdout, a, b, comparison);
    }
    if (report_page_is_built()) {
        html = report_compare_html(a, b, comparison, &size, error);
        saved = html ? save(arguments, b->name, "compare.html", html, path) : CLI_INTERNAL;
        if (!html)
            cli_error("%s", error);
        else if (saved == CLI_FINE && !arguments->values[OPTION_JSON])
            plain_text_print(stdout, "\n%s (%.1f MB)\n", path, (double)size / 1e6);
        status = saved == CLI_FINE ? status : saved;
    } else if (arguments->values[OPTION_OUT]) {
        cli_error("%s", report_page_not_built());
        status = CLI_USAGE;
    }
    free(html);
    json_decref(comparison);
    return status;
}

static enum cli_status compare(const struct cli_arguments *arguments)
{
    const char *const folders[] = {arguments->values[OPTION_COMPARE], arguments->rest[0]};
    struct report_run runs[2] = {0};
    enum cli_status status = CLI_FINE;
    char error[512];

    for (unsigned i = 0; i < 2 && status == CLI_FINE; i++) {
        if (report_folder_kind(folders[i]) != REPORT_FOLDER_RUN) {
            cli_error("'%s' is no folder of a run: it has no run.json", folders[i]);
            status = CLI_USAGE;
        } else if (!report_run_load(folders[i], &runs[i], error)) {
            cli_error("%s", error);
            status = CLI_USAGE;
        }
    }
    if (status == CLI_FINE)
        status = compare_runs(arguments, &runs[0], &runs[1]);
    report_run_fini(&runs[0]);
    report_run_fini(&runs[1]);
    return status;
}

/* ---- A campaign ------------------------------------------------------------------------------ */

static enum cli_status report_campaign(const struct cli_arguments *arguments, const char *folder)
{
    struct campaign_pages how = {.plays = !arguments->values[OPTION_NO_PLAY],
                                 .is_trusted = arguments->values[OPTION_TRUST_CASE] != NULL};
    enum cli_status status;
    size_t length = strlen(folder);

    if (arguments->values[OPTION_OUT]) {
        cli_error("--out is for the page of one run: those of a campaign stand in its folder");
        return CLI_USAGE;
    }
    while (length > 1 && folder[length - 1] == '/')
        length--;
    status = cli_report_campaign(folder, &how);
    if (status != CLI_FINE)
        return status;
    if (arguments->values[OPTION_JSON]) {
        char path[600];
        json_t *json = report_document("campaign_report");

        snprintf(path, sizeof path, "%.*s/report.html", (int)(length < 580 ? length : 580), folder);
        json_object_set_new(json, "report", report_text_json(path));
        json_object_set_new(json, "bytes", json_integer((json_int_t)how.bytes));
        json_object_set_new(json, "causes", json_integer((json_int_t)how.causes));
        cli_print_json(json);
    } else if (!terminal_is_quiet()) {
        plain_text_print(stdout, "%.*s/report.html (%.1f MB), and %zu page%s of causes\n",
                         (int)length, folder, (double)how.bytes / 1e6, how.causes,
                         how.causes == 1 ? "" : "s");
    }
    return CLI_FINE;
}

static enum cli_status run(const struct cli_arguments *arguments)
{
    if (arguments->rest_count != 1) {
        cli_error("report takes the folder of a run or of a campaign (drydock report --help)");
        return CLI_USAGE;
    }
    if (arguments->values[OPTION_COMPARE])
        return compare(arguments);
    if (!report_page_is_built()) {
        cli_error("%s", report_page_not_built());
        return CLI_USAGE;
    }
    switch (report_folder_kind(arguments->rest[0])) {
    case REPORT_FOLDER_RUN:
        return report_run(arguments, arguments->rest[0]);
    case REPORT_FOLDER_CAMPAIGN:
    case REPORT_FOLDER_CAMPAIGNS:
        return report_campaign(arguments, arguments->rest[0]);
    case REPORT_FOLDER_NONE:
        break;
    }
    cli_error("'%s' is the folder of no run (run.json) and of no campaign (campaign.json)",
              arguments->rest[0]);
    return CLI_USAGE;
}

const struct cli_verb cli_report = {
    .name = "report",
    .usage = "FOLDER [options]",
    .summary = "Shows a run, a campaign or two runs, as a page for a browser",
    .details =
        "FOLDER is that of a run (runs/...) or of a campaign (drydock check --out). The page is\n"
        "one HTML file that needs no network. Of a run: an overview, a map of the segments over\n"
        "time, a timeline of engines, page tables, and each finding with the calls around it. Of "
        "a\n"
        "campaign: its causes, each with a page of its own, for which the smallest case is played\n"
        "again; what was covered; and where FOLDER has several campaigns, their trend\n"
        "(docs/reports.md).\n"
        "\n"
        "With --compare, that run and the one of FOLDER are put beside each other: the first call\n"
        "in which they differ, the operations aligned, the figures that differ. It is printed,\n"
        "too.",
    .options = options,
    .run = run,
};
