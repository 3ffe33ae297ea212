#define _GNU_SOURCE /* process_vm_readv() */
#include "bench/child/distrust.h"
#include "bench/drivers/drivers.h"

#include "base/bits.h"
#include "check/rules/rules.h"

#include <ctype.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define LITERAL_BYTES 128

#define END(text) ((text)[sizeof(text) - 1] = '\0')

const char *distrust_literal(const char *text)
{
    char copy[LITERAL_BYTES];
    struct iovec to = {copy, sizeof copy}, from = {(void *)(uintptr_t)text, sizeof copy};
    size_t left = PAGE_BYTES - (uintptr_t)text % PAGE_BYTES;
    ssize_t got;

    if (!text)
        return NULL;
    from.iov_len = min_u64(from.iov_len, left); /* a whole page is there or is not */
    got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    for (ssize_t i = 0; i < got; i++) {
        if (!copy[i])
            return text;
        if (!isprint((unsigned char)copy[i]))
            return NULL;
    }
    return NULL;
}

bool distrust_truth(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, 1);
    return byte != 0;
}

static void set_truth(bool *value)
{
    bool is_true = distrust_truth(value);

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

static void distrust_detail(struct finding_detail *detail)
{
    END(detail->where);
    END(detail->function);
    END(detail->objects);
    END(detail->arguments);
    END(detail->bytes);
}

static void distrust_findings(struct run_result *result)
{
    result->finding_count = (uint32_t)min_u64(result->finding_count, RUN_MAX_FINDINGS);
    for (uint32_t i = 0; i < result->finding_count; i++) {
        struct run_finding *finding = &result->findings[i];

        LIMIT(finding->kind, RUN_FINDING_KIND_COUNT, RUN_FINDING_CRASHED);
        END(finding->rule);
        END(finding->text);
        distrust_detail(&finding->detail);
    }
}

void distrust_result(struct run_result *result, const struct run_config *config,
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
    set_truth(&result->is_slowdown_measured);
    set_truth(&result->driver_heard_of_removal);
    set_truth(&result->has_failed_allocation);
    result->step_count = (uint32_t)min_u64(result->step_count, most_steps);
    result->segment_count = (unsigned)min_u64(result->segment_count, RUN_MAX_SEGMENTS);
    for (unsigned i = 0; i < result->segment_count; i++)
        set_truth(&result->segments[i].is_aperture);
    result->ddi_count = (unsigned)min_u64(result->ddi_count, RUN_MAX_DDI);
    for (unsigned i = 0; i < result->ddi_count; i++)
        if (!distrust_literal(result->ddi_names[i]))
            result->ddi_names[i] = "?";
    result->eviction_reason_count =
        (unsigned)min_u64(result->eviction_reason_count, ARRAY_COUNT(result->eviction_reasons));
    for (unsigned i = 0; i < result->eviction_reason_count; i++)
        if (!distrust_literal(result->eviction_reasons[i]))
            result->eviction_reasons[i] = "?";
    distrust_findings(result);
}

void distrust_vigil(struct vigil *vigil)
{
    for (size_t i = 0; i < ARRAY_COUNT(vigil->lines); i++) {
        set_truth(&vigil->lines[i].is_paging);
        set_truth(&vigil->lines[i].has_returned);
        END(vigil->lines[i].text);
    }
    set_truth(&vigil->has_finding);
    set_truth(&vigil->is_image);
    LIMIT(vigil->finding.rule, RULE_COUNT, RULE_NONE);
    vigil->has_finding = vigil->has_finding && vigil->finding.rule != RULE_NONE;
    END(vigil->finding.text);
    distrust_detail(&vigil->finding.detail);
    END(vigil->ddi);
    END(vigil->place);
    vigil->model = distrust_literal(vigil->model);
}

void distrust_record(struct campaign_record *record)
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
        END(record->findings[i].kind);
        END(record->findings[i].rule);
        END(record->findings[i].text);
        distrust_detail(&record->findings[i].detail);
    }
}
