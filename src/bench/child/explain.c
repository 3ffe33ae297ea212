#include "bench/child/explain.h"

#include "bench/child/child_run.h"

#include <stdlib.h>
#include <string.h>

static bool has(const struct run_watched *watched, uint64_t event)
{
    for (uint32_t i = 0; i < watched->count; i++) {
        if (watched->events[i] == event)
            return true;
    }
    return false;
}

static void collect(const struct explained *findings, size_t count, struct run_watched *out)
{
    out->count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t event = findings[i].detail->commands.event;

        if (event && !has(out, event) && out->count < RUN_MOST_WATCHED)
            out->events[out->count++] = event;
    }
}

/* The same mistake at the same call, though the second run may count its findings otherwise. */
static bool is_same(const struct explained *first, const struct run_finding *second)
{
    return strcmp(first->rule, second->rule) == 0 && strcmp(first->text, second->text) == 0 &&
           first->detail->event == second->detail.event;
}

static void take(const struct explained *first, const struct run_result *second)
{
    for (uint32_t i = 0; i < second->finding_count; i++) {
        if (!is_same(first, &second->findings[i]))
            continue;
        memcpy(first->detail->writers, second->findings[i].detail.writers,
               sizeof first->detail->writers);
        return;
    }
}

void explain_findings(const struct run_config *config, const struct workload *workload,
                      double seconds, const struct explained *findings, size_t count)
{
    struct run_config again = *config;
    struct run_watched watched;
    struct run_result *second;

    collect(findings, count, &watched);
    second = watched.count ? calloc(1, sizeof *second) : NULL;
    if (!second)
        return;
    again.watched = &watched;
    again.record_file = 0;
    again.transcript_file = 0;
    again.reference = RUN_REFERENCE_NEVER;
    if (child_run_execute(&again, workload, seconds, second)) {
        for (size_t i = 0; i < count; i++)
            take(&findings[i], second);
        run_result_fini(second);
    }
    free(second);
}

void explain_result(const struct run_config *config, const struct workload *workload,
                    double seconds, struct run_result *result)
{
    struct explained findings[RUN_MAX_FINDINGS];

    for (uint32_t i = 0; i < result->finding_count; i++)
        findings[i] = (struct explained){result->findings[i].rule, result->findings[i].text,
                                         &result->findings[i].detail};
    explain_findings(config, workload, seconds, findings, result->finding_count);
}
