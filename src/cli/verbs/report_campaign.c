/*
 * The pages of a campaign's folder: report.html, and for each cause a page in pages/. Where the
 * folder has a case that shows the cause, the case is played again and recorded, so that the page
 * shows what happened; its folder is one of a run like any other.
 */
#include "cli/verbs/report_campaign.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#include "bench/config/command_line.h"
#include "bench/drivers/drivers.h"
#include "bench/drivers/source_places.h"
#include "report/campaign/folder_files.h"
#include "report/page/campaign_page.h"
#include "report/page/folder_page.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAY_SECONDS 60.0

#define FINDINGS_WITH_CASE 20 /* of a run: the text is there for each of them */

/* Plays a case into a folder of a run. False: it could not be; why says so in a sentence. */
static bool play_into(const char *case_path, bool is_trusted, const char *run_folder, char why[512])
{
    struct run_result *result = calloc(1, sizeof *result);
    struct workload *workload = result ? cli_load(case_path, 0) : NULL;
    struct report_folder folder = {0};
    struct run_config config;
    char replay[1200] = "drydock replay", record_path[600], error[512] = "no memory", *json = NULL;
    const struct report_origin origin = {case_path, replay};
    uint32_t index = 0;
    bool is_done = false;

    snprintf(why, 512, "The case of this cause could not be played again.");
    if (!workload)
        goto free_result;
    command_line_append(replay, sizeof replay, case_path);
    if (!is_trusted && run_next_code_option(workload, &index)) {
        snprintf(why, 512,
                 "The case of this cause names code in a file, so it was not played again: this "
                 "page has the finding alone. drydock report --trust-case plays it.");
        goto free_workload;
    }
    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    if (!cli_find_driver(config.driver) || !report_folder_begin(&folder, run_folder, error)) {
        snprintf(why, 512, "The case of this cause could not be played again: %.440s", error);
        goto free_workload;
    }
    snprintf(record_path, sizeof record_path, "%s/record.ddr", folder.partial);
    config.record_file = open(record_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    is_done = cli_play(&config, workload, PLAY_SECONDS, false, result);
    result->config.record_file = 0;
    if (config.record_file > 0)
        close(config.record_file);
    if (is_done) {
        source_places_add_to_result(result);
        json = report_run_json(result, &origin, 1);
        is_done = json && report_folder_write(&folder, "run.json", json, error) &&
                  report_folder_end(&folder, error);
    }
    if (!is_done)
        report_folder_abandon(&folder);
    free(json);
free_workload:
    workload_free(workload);
free_result:
    if (result)
        run_result_fini(result);
    free(result);
    return is_done;
}

/* Findings of the run of a cause have the case that was played: it is the smallest there is. */
static void add_case_text(struct report_run *run, json_t *text)
{
    json_t *finding;
    size_t i;

    json_array_foreach(json_object_get(run->json, "findings"), i, finding)
    {
        if (text && i < FINDINGS_WITH_CASE)
            json_object_set(finding, "case_text", text);
    }
}

/* The page of the run of a cause, without a word on the screen. */
static bool write_run_page(const char *folder, json_t *case_text, char error[512])
{
    struct report_run run;
    size_t size;
    char *html;
    bool is_written;

    if (!report_run_load(folder, &run, error))
        return false;
    add_case_text(&run, case_text);
    html = report_run_html(&run, &size, error);
    is_written = html && report_page_save(folder, "report.html", html, error);
    free(html);
    report_run_fini(&run);
    return is_written;
}

/* FOLDER/pages, made when it is not there; -1 with a message: it leads elsewhere. */
static int open_pages(const struct report_campaign *campaign)
{
    int folder = folder_open(campaign->folder);
    int pages = folder < 0 ? -1 : folder_open_within(folder, "pages");

    if (pages < 0)
        cli_error("cannot make '%s/pages': %s", campaign->folder, strerror(errno));
    if (folder >= 0)
        close(folder);
    return pages;
}

/* The page of a cause; its path is told to the campaign. False with a message. */
static bool make_cause_page(struct report_campaign *campaign, const struct campaign_pages *how,
                            size_t cause, int pages)
{
    char name[REPORT_CAUSE_NAME], case_path[1100], run_folder[700], path[400], file[80];
    char why[512] = "The folder has no case of this cause, so it was not played again: this page "
                    "has the finding alone.";
    char error[512], *html;
    size_t size;
    bool is_written;

    report_cause_name(&campaign->summary, cause, name);
    snprintf(run_folder, sizeof run_folder, "%s/pages/%s", campaign->folder, name);
    if (!how->plays)
        snprintf(why, sizeof why, "The case was not played again (--no-play).");
    if (how->plays && report_cause_case(campaign, cause, case_path) &&
        play_into(case_path, how->is_trusted, run_folder, why)) {
        json_t *text = report_cause_case_text(campaign, cause);

        is_written = write_run_page(run_folder, text, error);
        json_decref(text);
        if (!is_written) {
            cli_error("%s", error);
            return false;
        }
        snprintf(path, sizeof path, "%s/pages/%s/report.html", how->prefix, name);
        report_campaign_set_page(campaign, cause, path + (how->prefix[0] == '\0'));
        return true;
    }
    html = report_cause_html(campaign, cause, why, &size, error);
    if (!html) {
        cli_error("%s", error);
        return false;
    }
    snprintf(file, sizeof file, "%s.html", name);
    is_written = folder_replace(pages, file, html);
    if (!is_written)
        cli_error("cannot write '%s/pages/%s': %s", campaign->folder, file, strerror(errno));
    free(html);
    snprintf(path, sizeof path, "%s/pages/%s", how->prefix, file);
    report_campaign_set_page(campaign, cause, path + (how->prefix[0] == '\0'));
    return is_written;
}

static bool make_pages(struct report_campaign *campaign, const struct campaign_pages *how)
{
    int pages = campaign->summary.cause_count ? open_pages(campaign) : -1;
    bool is_fine = pages >= 0 || !campaign->summary.cause_count;

    for (size_t i = 0; i < campaign->summary.cause_count && is_fine; i++) {
        terminal_progress(&(struct terminal_task){
            .what = "pages", .unit = "causes", .done = i, .total = campaign->summary.cause_count});
        is_fine = make_cause_page(campaign, how, i, pages);
    }
    terminal_end();
    if (pages >= 0)
        close(pages);
    return is_fine;
}

enum cli_status cli_report_campaign(const char *folder, struct campaign_pages *how)
{
    struct report_campaign campaign;
    enum cli_status status = CLI_USAGE;
    char error[512], *html = NULL;
    size_t size = 0;

    if (!report_campaign_load(folder, &campaign, error)) {
        cli_error("%s", error);
        return CLI_USAGE;
    }
    /* In a folder of campaigns, the newest one's pages are a folder further down. */
    snprintf(how->prefix, sizeof how->prefix, "%s",
             report_folder_kind(folder) == REPORT_FOLDER_CAMPAIGNS
                 ? strrchr(campaign.folder, '/') + 1
                 : "");
    if (campaign.damage.count)
        cli_error("%s: line %llu of results.jsonl is damaged, and %llu in all: their runs are not "
                  "on the page",
                  campaign.folder, (unsigned long long)campaign.damage.first,
                  (unsigned long long)campaign.damage.count);
    if (make_pages(&campaign, how)) {
        html = report_campaign_html(&campaign, &size, error);
        if (html && report_page_save(folder, "report.html", html, error))
            status = CLI_FINE;
        else
            cli_error("%s", error);
    }
    how->causes = campaign.summary.cause_count;
    how->bytes = size;
    free(html);
    report_campaign_fini(&campaign);
    return status;
}
