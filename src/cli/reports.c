/*
 * What check and merge write for other tools, and which findings they excuse; the files of a run's
 * folder.
 */
#include "cli/cli.h"

#include "report/excuses.h"
#include "report/finding_report.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool write_junit(const struct campaign_summary *summary, const struct report_causes *causes,
                        const char *path, double seconds)
{
    const struct report_suite suite = {
        .name = "drydock check",
        .rules = &summary->rules,
        .findings = causes->findings,
        .count = causes->count,
        .seconds = seconds,
    };
    char *text = report_junit(&suite, 1);
    bool is_fine = text && cli_write_text(path, text);

    free(text);
    return is_fine;
}

static bool write_sarif(const struct report_causes *causes, const char *path)
{
    char *text = report_sarif(causes->findings, causes->count);
    bool is_fine = text && cli_write_text(path, text);

    free(text);
    return is_fine;
}

bool cli_write_reports(const struct campaign_summary *summary, const char *folder,
                       const char *junit, const char *sarif, double seconds)
{
    struct report_causes causes;
    bool is_fine = true;

    if (!report_causes_init(&causes, summary, folder)) {
        cli_error("no memory");
        return false;
    }
    if (junit)
        is_fine = write_junit(summary, &causes, junit, seconds);
    if (sarif)
        is_fine = write_sarif(&causes, sarif) && is_fine;
    report_causes_fini(&causes);
    return is_fine;
}

/* ---- Excuses --------------------------------------------------------------------------------- */

struct excuses *cli_excuses(const char *baseline, bool is_updated,
                            const struct cli_arguments *arguments)
{
    struct excuses *excuses = excuses_create();
    bool is_fine = excuses != NULL;
    char error[512] = "no memory";
    const char *word;
    size_t at = 0;

    if (is_updated && !baseline) {
        cli_error("--update-baseline needs the file to write (--baseline FILE)");
        excuses_free(excuses);
        return NULL;
    }
    while (is_fine && (word = cli_next_repeated(arguments, "allow", &at)) != NULL) {
        is_fine = excuses_allow(excuses, word, error);
        if (!is_fine) {
            cli_error("option --allow: %s", error);
            excuses_free(excuses);
            return NULL;
        }
    }
    /* The file that is written need not be there yet. */
    if (is_fine && baseline && (!is_updated || access(baseline, F_OK) == 0))
        is_fine = excuses_read_baseline(excuses, baseline, error);
    if (is_fine)
        return excuses;
    cli_error("%s", error);
    excuses_free(excuses);
    return NULL;
}

bool cli_update_baseline(const char *path, struct excuses *excuses,
                         struct campaign_summary *summary)
{
    char *text = excuses_baseline_text(summary), error[512] = "no memory";
    bool is_fine = text && excuses_parse_baseline(excuses, text, strlen(text), path, error);

    if (!is_fine)
        cli_error("%s", error);
    is_fine = is_fine && cli_write_text(path, text);
    if (is_fine)
        excuses_apply(excuses, summary, false);
    free(text);
    return is_fine;
}

bool cli_extend_baseline(const char *path, struct excuses *excuses,
                         const struct report_finding *findings, size_t count)
{
    char error[512], *text = excuses_extended_text(excuses, path, findings, count, error);
    bool is_fine = text && excuses_parse_baseline(excuses, text, strlen(text), path, error);

    if (!is_fine)
        cli_error("%s", error);
    is_fine = is_fine && cli_write_text(path, text);
    free(text);
    return is_fine;
}

/* ---- The folder of a run --------------------------------------------------------------------- */

int cli_open_record(const struct report_folder *folder)
{
    char path[600];
    int file;

    snprintf(path, sizeof path, "%s/record.ddr", folder->partial);
    file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        cli_error("cannot write '%s': %s", path, strerror(errno));
    return file;
}

bool cli_finish_folder(struct report_folder *folder, const struct run_result *result,
                       const struct report_origin *origin)
{
    char *json = report_run_json(result, origin, 1);
    char error[512] = "no memory";
    bool done = json && report_folder_write(folder, "run.json", json, error) &&
                report_folder_end(folder, error);

    free(json);
    if (!done) {
        report_folder_abandon(folder);
        cli_error("%s", error);
    }
    return done;
}
