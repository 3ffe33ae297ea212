#include "bench/whole_runs/test_run.h"

#include "layers/layer.h"

struct workload *test_load(const char *name)
{
    struct workload_error error;
    struct workload *workload;
    char path[512];

    snprintf(path, sizeof path, "%s/cases/%s", DRYDOCK_SOURCE_DIR, name);
    if (!workload_load(path, &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

struct workload *test_parse(const char *text)
{
    struct workload_error error;
    struct workload *workload;

    if (!workload_parse(text, strlen(text), "test.case", &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

void test_option(struct workload *workload, const char *key, const char *value)
{
    struct workload_error error;

    if (!workload_set_option(workload, key, value, &error))
        fail_msg("%s", error.text);
}

struct run_config test_config(const struct workload *workload)
{
    struct run_config config;

    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    return config;
}

struct run_result *test_execute(const struct run_config *config, struct workload *workload)
{
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    run_execute(config, workload, result);
    for (uint32_t i = 0; i < result->step_count; i++)
        result->steps[i].name = NULL; /* lent by the workload */
    workload_free(workload);
    return result;
}

struct run_result *test_play(struct workload *workload)
{
    const struct run_config config = test_config(workload);

    return test_execute(&config, workload);
}

void test_finish(struct run_result *result)
{
    run_result_fini(result);
    free(result);
}

void test_assert_clean(const struct run_result *result)
{
    if (result->outcome != RUN_CLEAN) {
        fprintf(stderr, "%s, %s: %s %s\n", result->case_name, run_model_name(result->config.model),
                run_outcome_name(result->outcome), result->error);
        for (uint32_t i = 0; i < result->finding_count; i++)
            fprintf(stderr, "  line %u: %s %s: %s\n", result->findings[i].line,
                    result->findings[i].rule, result->findings[i].detail.where,
                    result->findings[i].text);
    }
    assert_int_equal(result->outcome, RUN_CLEAN);
    assert_int_equal(result->mismatches, 0);
    assert_int_equal(result->failed_submissions, 0);
}

uint64_t test_count(const struct run_result *result, unsigned operation)
{
    return result->statistics.operations[operation];
}

struct miniport_ops *test_put_layer(const struct base_services *services, struct miniport *next,
                                    struct miniport **out_layer)
{
    struct layer *layer = layer_create(services, sizeof *layer, "test", next);

    assert_non_null(layer);
    *out_layer = &layer->miniport;
    return &layer->ops;
}

NTSTATUS test_forward_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                            DXGKARG_BUILDPAGINGBUFFER *instead)
{
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, instead);

    arg->pDmaBuffer = instead->pDmaBuffer;
    arg->DmaSize = instead->DmaSize;
    arg->pDmaBufferPrivateData = instead->pDmaBufferPrivateData;
    arg->MultipassOffset = instead->MultipassOffset;
    return status;
}
