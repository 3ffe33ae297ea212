/*
 * A campaign's summary, as text and as JSON.
 */
#include "report/alternatives.h"
#include "report/campaign/campaign_report.h"

#include "report/document.h"
#include "report/excuses.h"
#include "report/report.h"
#include "report/rules_report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

void campaign_report_cause(FILE *out, const struct campaign_cause *cause, const char *folder)
{
    char text[REPORT_RECORD_TEXT];
    struct report_finding finding = report_finding_of_cause(cause, folder, text);

    report_finding_text(out, &finding, 1, &finding);
}

void campaign_report_causes(FILE *out, const struct campaign_summary *summary, const char *folder)
{
    for (size_t i = 0; i < summary->cause_count; i++)
        campaign_report_cause(out, &summary->causes[i], folder);
}

void campaign_report_summary(FILE *out, const struct campaign_summary *summary, const char *folder,
                             double seconds)
{
    char number[REPORT_NUMBER_BYTES];
    unsigned evaluated = 0, broken = 0;
    size_t causes = 0;

    campaign_report_causes(out, summary, folder);
    for (size_t i = 0; i < summary->cause_count; i++)
        causes += !campaign_is_advice(&summary->causes[i]);
    for (unsigned i = 0; i < RULE_COUNT; i++) {
        evaluated += summary->rules.evaluated[i] != 0;
        broken += summary->rules.broken[i] != 0;
    }
    if (summary->causes_dropped)
        fprintf(out, "(and %s findings of further causes)\n",
                report_count(number, summary->causes_dropped));
    fprintf(out, "%s runs", report_count(number, summary->runs));
    for (unsigned i = 0; i < CAMPAIGN_ALL_MODELS; i++)
        fprintf(out, "%s%s %s", i ? ", " : " (", report_count(number, summary->runs_by_model[i]),
                campaign_model_name((enum campaign_model)i));
    if (seconds > 0)
        fprintf(out, ") in %.1f s, %.1f a second\n", seconds, (double)summary->runs / seconds);
    else
        fprintf(out, ")\n");
    fprintf(out, "  played    %s operations, ", report_count(number, summary->operations));
    fprintf(out, "%s submissions, ", report_count(number, summary->submissions));
    fprintf(out, "%s paging operations, ", report_count(number, summary->paging_operations));
    fprintf(out, "%s evictions\n", report_count(number, summary->evictions));
    fprintf(out, "  checked   %s pages, ", report_count(number, summary->pages_checked));
    fprintf(out, "%s translations; ", report_count(number, summary->translations_checked));
    fprintf(out, "%s mismatches\n", report_count(number, summary->mismatches));
    fprintf(out, "  rules     %u of %u evaluated, %u broken\n", evaluated, (unsigned)RULE_COUNT - 1,
            broken);
    report_rule_lacks(out, "", &summary->rules);
    fprintf(out, "  repeated  %s runs, ", report_count(number, summary->repeated_runs));
    fprintf(out, "%" PRIu64 " with another digest; digest of all %016" PRIx64 "\n",
            summary->runs_by_outcome[CAMPAIGN_UNREPEATABLE], summary->digest);
    if (summary->judged_runs || summary->unjudged_runs)
        fprintf(out, "  judged    %s runs again, without the driver; %" PRIu64 " could not be\n",
                report_count(number, summary->judged_runs), summary->unjudged_runs);
    fprintf(out, "  findings  %s runs, ", report_count(number, summary->findings));
    fprintf(out, "%zu cause%s", causes, causes == 1 ? "" : "s");
    for (unsigned i = 1; i < CAMPAIGN_OUTCOME_COUNT; i++) {
        if (summary->runs_by_outcome[i])
            fprintf(out, ", %" PRIu64 " %s", summary->runs_by_outcome[i],
                    campaign_outcome_name((enum campaign_outcome)i));
    }
    fprintf(out, "\n");
}

/* Keys of the finding, and of the record that has it. */
static json_t *cause_json(const struct campaign_cause *cause, const char *folder)
{
    char text[REPORT_RECORD_TEXT];
    struct report_finding finding = report_finding_of_cause(cause, folder, text);
    char *first = campaign_record_json(&cause->first);
    json_t *json;

    json = report_finding_json(&finding, 1, &finding);
    json_object_set_new(json, "finding", json_integer(cause->finding));
    json_object_set_new(json, "first", first ? json_loads(first, 0, NULL) : json_null());
    free(first);
    return json;
}

char *campaign_report_json(const struct campaign_summary *summary, const char *folder,
                           double seconds, const char *stopped_by, const struct excuses *excuses)
{
    json_t *json = report_document("check"), *models = json_object(), *outcomes = json_object(),
           *causes = json_array();
    char digest[24], *text;

    for (unsigned i = 0; i < CAMPAIGN_ALL_MODELS; i++)
        json_object_set_new(models, campaign_model_name((enum campaign_model)i),
                            json_integer((json_int_t)summary->runs_by_model[i]));
    for (unsigned i = 0; i < CAMPAIGN_OUTCOME_COUNT; i++)
        json_object_set_new(outcomes, campaign_outcome_name((enum campaign_outcome)i),
                            json_integer((json_int_t)summary->runs_by_outcome[i]));
    for (size_t i = 0; i < summary->cause_count; i++)
        json_array_append_new(causes, cause_json(&summary->causes[i], folder));
#define X(name) json_object_set_new(json, #name, json_integer((json_int_t)summary->name));
    X(runs)
    X(repeated_runs)
    X(findings)
    X(operations)
    X(submissions)
    X(paging_operations)
    X(evictions)
    X(pages_checked)
    X(translations_checked)
    X(mismatches)
    X(causes_dropped)
    X(judged_runs)
    X(unjudged_runs)
#undef X
    snprintf(digest, sizeof digest, "%016" PRIx64, summary->digest);
    json_object_set_new(json, "digest", json_string(digest));
    json_object_set_new(json, "models", models);
    json_object_set_new(json, "outcomes", outcomes);
    json_object_set_new(json, "causes", causes);
    json_object_set_new(json, "rules", report_rule_counts_json(&summary->rules));
    json_object_set_new(json, "alternatives", report_alternatives_json(&summary->arms));
    json_object_set_new(json, "seconds", json_real(seconds));
    json_object_set_new(json, "runs_per_second",
                        json_real(seconds > 0 ? (double)summary->runs / seconds : 0));
    json_object_set_new(json, "stopped_by", stopped_by ? json_string(stopped_by) : json_null());
    json_object_set_new(json, "baseline", excuses_json(excuses, summary));
    text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS);
    json_decref(json);
    return text;
}
