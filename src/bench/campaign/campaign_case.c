/*
 * What an item played, as a case that stands alone.
 */
#include "bench/campaign/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy of the case, or what the seed draws. NULL: the text is in error. */
static struct workload *workload_of(const struct campaign_options *options,
                                    const struct campaign_record *record,
                                    struct workload_error *error)
{
    struct workload *workload = NULL;
    size_t size;
    char *text;

    if (!record->case_path[0]) {
        campaign_draw_workload(record->seed, options, &workload, error);
        return workload;
    }
    snprintf(error->text, sizeof error->text, "%s: no case of this campaign", record->case_path);
    for (size_t i = 0; i < options->case_count; i++) {
        if (strcmp(options->cases[i]->path, record->case_path) != 0)
            continue;
        if (!workload_print(options->cases[i], &text, &size, error))
            return NULL;
        workload_parse(text, size, record->case_path, &workload, error);
        free(text);
        return workload;
    }
    return NULL;
}

struct workload *campaign_case(const struct campaign_options *options,
                               const struct campaign_record *record, struct workload_error *error)
{
    struct campaign_options of_record = *options;
    struct workload *workload = workload_of(options, record, error);
    struct campaign_setup setup;

    if (!workload)
        return NULL;
    of_record.model = record->model;
    campaign_draw_setup(&of_record, record->seed, workload, &setup);
    if (run_config_to_options(&setup.config, workload, error))
        return workload;
    workload_free(workload);
    return NULL;
}
