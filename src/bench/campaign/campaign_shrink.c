/*
 * The smallest case of a cause: its case with the setup as options (campaign_case()), cut down.
 */
#include "bench/campaign/campaign_shrink.h"

#include "bench/child/child_run.h"
#include "bench/child/explain.h"
#include "bench/drivers/drivers.h"

#include <stdio.h>
#include <string.h>

#define TRY_SECONDS  5
#define HUNG_SECONDS 1 /* a run of a campaign takes milliseconds */

/* The record's item, alone; NULL: it cannot be made. */
static struct workload *case_of(const struct campaign_options *options,
                                const struct campaign_record *record, struct run_config *out_config)
{
    struct workload_error error;
    struct workload *workload = campaign_case(options, record, &error);

    if (!workload)
        return NULL;
    run_config_defaults(out_config);
    run_config_from_workload(out_config, workload);
    out_config->reference = RUN_REFERENCE_NEVER;
    return workload;
}

void campaign_explain(const struct campaign_options *options, struct campaign_record *record,
                      double seconds)
{
    struct explained findings[CAMPAIGN_MAX_FINDINGS];
    struct run_config config;
    struct workload *workload = case_of(options, record, &config);

    if (!workload)
        return;
    for (unsigned i = 0; i < record->finding_count; i++)
        findings[i] = (struct explained){record->findings[i].rule, record->findings[i].text,
                                         &record->findings[i].detail};
    explain_findings(&config, workload, seconds, findings, record->finding_count);
    workload_free(workload);
}

bool campaign_try_again(const struct campaign_options *options,
                        const struct campaign_record *record, double seconds,
                        struct run_result *out_result)
{
    struct run_config config;
    struct workload *workload = case_of(options, record, &config);
    bool is_played;

    memset(out_result, 0, sizeof *out_result);
    if (!workload)
        return false;
    is_played = child_run_execute(&config, workload, seconds, out_result);
    workload_free(workload);
    return is_played;
}

static bool shrink(const struct campaign_options *options, const struct campaign_record *record,
                   const struct repro *repro, const struct repro_shrink *how, struct workload **out,
                   struct workload_shrink_result *out_result, struct workload_error *error)
{
    struct repro_shrink limited = *how;
    struct workload *workload = campaign_case(options, record, error);
    bool is_done;

    *out = NULL;
    if (!workload)
        return false;
    if (!limited.try_seconds)
        limited.try_seconds = record->outcome == CAMPAIGN_HUNG ? HUNG_SECONDS : TRY_SECONDS;
    is_done = repro_shrink(&limited, repro, workload, out, out_result, error);
    workload_free(workload);
    return is_done;
}

bool campaign_shrink_finding(const struct campaign_options *options,
                             const struct campaign_record *record, unsigned finding,
                             const struct repro_shrink *how, struct workload **out,
                             struct workload_shrink_result *out_result, struct repro *out_repro,
                             struct workload_error *error)
{
    const struct campaign_finding *found = &record->findings[finding];

    repro_of_finding(out_repro, found->kind, found->rule, found->detail.where, found->text);
    return shrink(options, record, out_repro, how, out, out_result, error);
}

bool campaign_shrink_rule(const struct campaign_options *options,
                          const struct campaign_record *record, const char *rule,
                          const struct repro_shrink *how, struct workload **out,
                          struct workload_shrink_result *out_result, struct repro *out_repro,
                          struct workload_error *error)
{
    repro_of_rule(out_repro, rule);
    for (unsigned i = 0; i < record->finding_count && !out_repro->text[0]; i++) {
        if (strcmp(record->findings[i].rule, rule) == 0)
            snprintf(out_repro->text, sizeof out_repro->text, "%s", record->findings[i].text);
    }
    return shrink(options, record, out_repro, how, out, out_result, error);
}

bool campaign_save_cause(struct campaign_cause *cause, const struct workload *small,
                         const struct workload_shrink_result *result, const char *path,
                         struct workload_error *error)
{
    const struct campaign_finding *found = &cause->first.findings[cause->finding];
    struct repro repro;
    uint32_t option = 0;

    repro_of_finding(&repro, found->kind, found->rule, found->detail.where, found->text);
    if (!repro_save(&repro, small, result, path, error))
        return false;
    cause->shrunk_loads_code = run_next_code_option(small, &option) != NULL;
    snprintf(cause->shrunk_path, sizeof cause->shrunk_path, "%s", path);
    cause->shrunk_lines = result->lines_after;
    cause->shrunk_from = result->lines_before;
    cause->shrunk_in_part = !result->is_finished;
    return true;
}

bool campaign_shrink_cause(const struct campaign_options *options, struct campaign_cause *cause,
                           const struct repro_shrink *how, const char *path,
                           struct workload_error *error)
{
    struct workload_shrink_result result;
    struct workload *small;
    struct repro repro;
    bool is_saved;

    if (!campaign_shrink_finding(options, &cause->first, cause->finding, how, &small, &result,
                                 &repro, error))
        return false;
    is_saved = campaign_save_cause(cause, small, &result, path, error);
    workload_free(small);
    return is_saved;
}
