/*
 * The end of a record, which its run could not write: findings as JSON.
 */
#include "report/report.h"

#include "record/record_reader.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void put_fact(struct record *record, const char *key, const char *value, uint64_t now_ns)
{
    RECORD_ITEM(record, run, now_ns, .key = record_text(record, key),
                .value = record_text(record, value));
}

/* The call behind which each finding was made, as the run has noted it; 0: not known. */
static void find_sequences(int file, const struct run_result *result,
                           uint64_t sequences[REPORT_RUN_FINDINGS])
{
    struct record_reader_item item;
    struct record_reader *reader;
    char error[256];

    memset(sequences, 0, REPORT_RUN_FINDINGS * sizeof *sequences);
    if (!result->finding_count)
        return;
    reader = record_reader_open_file(base_services_libc(), "record", file, error);
    while (reader && record_reader_next(reader, &item)) {
        const struct record_found *found = RECORD_FIELDS(found, &item);

        if (item.kind == RECORD_KIND_found && found->number - 1 < REPORT_RUN_FINDINGS)
            sequences[found->number - 1] = found->sequence;
    }
    record_reader_close(reader);
}

static void put_findings(struct record *record, const struct run_result *result,
                         const struct report_origin *origin, const uint64_t *sequences)
{
    struct report_finding *findings = calloc(REPORT_RUN_FINDINGS, sizeof *findings);
    size_t count = findings ? report_findings_of_run(result, origin, findings) : 0;

    for (size_t i = 0; i < count; i++) {
        const struct run_finding *found = i < result->finding_count ? &result->findings[i] : NULL;
        json_t *json = report_finding_json(findings, count, &findings[i]);
        char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);

        RECORD_ITEM(record, finding, found ? found->time_ns : result->virtual_time_ns,
                    .number = i + 1, .sequence = sequences[i], .json = record_text(record, text));
        free(text);
        json_decref(json);
    }
    free(findings);
}

bool report_finish_record(int file, const struct run_result *result,
                          const struct report_origin *origin, char error[256])
{
    uint64_t sequences[REPORT_RUN_FINDINGS];
    struct record *record;
    bool was_cut;

    find_sequences(file, result, sequences);
    record = record_resume(base_services_libc(), file, NULL, &was_cut, error);
    if (!record)
        return false;
    put_findings(record, result, origin, sequences);
    if (was_cut) {
        put_fact(record, "outcome", run_outcome_name(result->outcome), result->virtual_time_ns);
        RECORD_ITEM(record, cut, result->virtual_time_ns,
                    .what = record_text(record, "the process of the run did not come to its end"));
    }
    if (origin && origin->replay)
        put_fact(record, "replay", origin->replay, result->virtual_time_ns);
    return record_close(record, error);
}
