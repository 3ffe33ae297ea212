/*
 * What check and merge write for other tools.
 */
#include "cli/cli.h"

#include "report/finding_report.h"

#include <stdlib.h>

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
