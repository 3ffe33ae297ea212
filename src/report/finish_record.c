/*
 * The end of a record, which its run could not write: findings as JSON.
 */
#include "report/report.h"

#include "record/record.h"

#include <jansson.h>
#include <stdlib.h>

static void put_fact(struct record *record, const char *key, const char *value, uint64_t now_ns)
{
    RECORD_ITEM(record, run, now_ns, .key = record_text(record, key),
                .value = record_text(record, value));
}

static void put_findings(struct record *record, const struct run_result *result,
                         const struct report_origin *origin)
{
    struct report_finding *findings = calloc(REPORT_RUN_FINDINGS, sizeof *findings);
    size_t count = findings ? report_findings_of_run(result, origin, findings) : 0;

    for (size_t i = 0; i < count; i++) {
        const struct run_finding *found = i < result->finding_count ? &result->findings[i] : NULL;
        json_t *json = report_finding_json(findings, count, &findings[i]);
        char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);

        RECORD_ITEM(record, finding, found ? found->time_ns : result->virtual_time_ns,
                    .number = i + 1, .json = record_text(record, text));
        free(text);
        json_decref(json);
    }
    free(findings);
}

bool report_finish_record(int file, const struct run_result *result,
                          const struct report_origin *origin, char error[256])
{
    bool was_cut;
    struct record *record = record_resume(base_services_libc(), file, NULL, &was_cut, error);

    if (!record)
        return false;
    put_findings(record, result, origin);
    if (was_cut) {
        put_fact(record, "outcome", run_outcome_name(result->outcome), result->virtual_time_ns);
        RECORD_ITEM(record, cut, result->virtual_time_ns,
                    .what =
                        record_text(record, "the end: the process of the run did not come to it"));
    }
    if (origin && origin->replay)
        put_fact(record, "replay", origin->replay, result->virtual_time_ns);
    return record_close(record, error);
}
