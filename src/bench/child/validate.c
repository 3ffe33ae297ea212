/*
 * Results, records and crash recorders that a child has left are made to make sense.
 */
#include "bench/child/validate.h"

#include "bench/child/validate_value.h"
#include "bench/drivers/drivers.h"

#include "base/bits.h"
#include "check/rules/rules.h"

#include <string.h>

#define END(text) ((text)[sizeof(text) - 1] = '\0')

static void set_truth(bool *value)
{
    bool is_true = validate_truth(value);

    memcpy(value, &is_true, sizeof is_true);
}

/* An enumeration of count values, which all are from 0 on. */
#define LIMIT(value, count, otherwise)                                                             \
    do {                                                                                           \
        unsigned number;                                                                           \
                                                                                                   \
        memcpy(&number, &(value), sizeof number);                                                  \
        if (number >= (unsigned)(count))                                                           \
            (value) = (otherwise);                                                                 \
    } while (0)

static void validate_detail(struct finding_detail *detail)
{
    END(detail->where);
    END(detail->function);
    END(detail->objects);
    END(detail->arguments);
    END(detail->argument.name);
    END(detail->argument.value);
    END(detail->argument.expected);
    END(detail->bytes);
    END(detail->printed);
    END(detail->writers);
}

/* A rule is part of the names of files: only one of the catalogue is one. */
static void validate_rule(char rule[16])
{
    rule[15] = '\0';
    if (rule_find(rule) == RULE_NONE)
        memset(rule, 0, 16);
}

/* So is a kind, where there is no rule. */
static void validate_kind(char kind[16])
{
    kind[15] = '\0';
    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++)
        if (strcmp(kind, run_finding_kind_name((enum run_finding_kind)i)) == 0)
            return;
    for (unsigned i = 0; i < CAMPAIGN_OUTCOME_COUNT; i++)
        if (strcmp(kind, campaign_outcome_name((enum campaign_outcome)i)) == 0)
            return;
    if (strcmp(kind, "digest") == 0)
        return;
    memset(kind, 0, 16);
    strcpy(kind, run_finding_kind_name(RUN_FINDING_HOSTILE));
}

void validate_finding(struct run_finding *finding)
{
    LIMIT(finding->kind, RUN_FINDING_KIND_COUNT, RUN_FINDING_CRASHED);
    validate_rule(finding->rule);
    END(finding->text);
    validate_detail(&finding->detail);
}

static void validate_findings(struct run_result *result)
{
    END(result->printed);
    result->finding_count = (uint32_t)min_u64(result->finding_count, RUN_MAX_FINDINGS);
    for (uint32_t i = 0; i < result->finding_count; i++)
        validate_finding(&result->findings[i]);
}

void validate_result(struct run_result *result, const struct run_config *config,
                     const struct workload *workload, uint32_t most_steps)
{
    uint32_t buffers = result->config.paging_buffer_count;
    uint32_t bytes = result->config.paging_buffer_bytes;

    result->config = *config;
    run_config_complete(&result->config, workload);
    result->config.paging_buffer_count = buffers;
    result->config.paging_buffer_bytes = bytes;
    LIMIT(result->outcome, RUN_BROKEN + 1, RUN_FINDINGS);
    END(result->case_name);
    END(result->error);
    END(result->ending);
    END(result->record_error);
    result->is_interrupted = false; /* that is the parent's to say */
    result->is_judged = false;      /* and so is this */
    set_truth(&result->is_slowdown_measured);
    set_truth(&result->driver_heard_of_removal);
    set_truth(&result->has_failed_allocation);
    result->step_count = (uint32_t)min_u64(result->step_count, most_steps);
    result->process_count = (unsigned)min_u64(result->process_count, RUN_MAX_PROCESSES);
    for (unsigned i = 0; i < result->process_count; i++)
        END(result->processes[i].name);
    result->segment_count = (unsigned)min_u64(result->segment_count, RUN_MAX_SEGMENTS);
    for (unsigned i = 0; i < result->segment_count; i++)
        set_truth(&result->segments[i].is_aperture);
    result->local_samples.count = (uint32_t)min_u64(result->local_samples.count, RUN_SAMPLES);
    result->ddi_count = (unsigned)min_u64(result->ddi_count, RUN_MAX_DDI);
    for (unsigned i = 0; i < result->ddi_count; i++)
        if (!validate_literal(result->ddi_names[i]))
            result->ddi_names[i] = "?";
    result->eviction_reason_count =
        (unsigned)min_u64(result->eviction_reason_count, ARRAY_COUNT(result->eviction_reasons));
    for (unsigned i = 0; i < result->eviction_reason_count; i++)
        if (!validate_literal(result->eviction_reasons[i]))
            result->eviction_reasons[i] = "?";
    validate_findings(result);
}

void validate_crash_recorder(struct crash_recorder *recorder)
{
    for (size_t i = 0; i < ARRAY_COUNT(recorder->lines); i++) {
        set_truth(&recorder->lines[i].is_paging);
        set_truth(&recorder->lines[i].has_returned);
        END(recorder->lines[i].text);
    }
    set_truth(&recorder->has_finding);
    set_truth(&recorder->is_image);
    LIMIT(recorder->finding.rule, RULE_COUNT, RULE_NONE);
    recorder->has_finding = recorder->has_finding && recorder->finding.rule != RULE_NONE;
    END(recorder->finding.text);
    validate_detail(&recorder->finding.detail);
    END(recorder->ddi);
    END(recorder->place);
    recorder->model = validate_literal(recorder->model);
}

void validate_record(struct campaign_record *record)
{
    END(record->case_path);
    END(record->driver);
    END(record->profile);
    END(record->board);
    END(record->setup);
    END(record->detail);
    LIMIT(record->model, CAMPAIGN_ALL_MODELS, CAMPAIGN_PHYSICAL);
    LIMIT(record->outcome, CAMPAIGN_OUTCOME_COUNT, CAMPAIGN_CRASHED);
    set_truth(&record->was_repeated);
    record->finding_count = (unsigned)min_u64(record->finding_count, CAMPAIGN_MAX_FINDINGS);
    for (unsigned i = 0; i < record->finding_count; i++) {
        validate_kind(record->findings[i].kind);
        validate_rule(record->findings[i].rule);
        END(record->findings[i].text);
        if (record->findings[i].consequence_of > i) /* causes stand first */
            record->findings[i].consequence_of = 0;
        validate_detail(&record->findings[i].detail);
    }
}
