/*
 * Operations that tell: paging fences in memory, residency notices, context allocations. Whole runs,
 * with a layer that watches the calls and may swallow one kind of them.
 */
#include "bench/run.h"

#include "base/bits.h"
#include "miniport/miniport.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- Runs --------------------------------------------------------------------------------------- */

static struct workload *load(const char *name)
{
    struct workload_error error;
    struct workload *workload;
    char path[512];

    snprintf(path, sizeof path, "%s/cases/%s", DRYDOCK_SOURCE_DIR, name);
    if (!workload_load(path, &workload, &error))
        fail_msg("%s", error.text);
    return workload;
}

static struct run_config config_for(const struct workload *workload)
{
    struct run_config config;

    run_config_defaults(&config);
    run_config_from_workload(&config, workload);
    config.model = RUN_GPUMMU;
    config.reference = RUN_REFERENCE_NEVER;
    return config;
}

static struct run_result *execute(const struct run_config *config, const struct workload *workload)
{
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    run_execute(config, workload, result);
    return result;
}

static void finish(struct run_result *result)
{
    run_result_fini(result);
    free(result);
}

static void assert_outcome(const struct run_result *result, enum run_outcome outcome)
{
    if (result->outcome != outcome) {
        fprintf(stderr, "%s %s\n", run_outcome_name(result->outcome), result->error);
        for (uint32_t i = 0; i < result->finding_count; i++)
            fprintf(stderr, "  line %u: %s\n", result->findings[i].line, result->findings[i].text);
    }
    assert_int_equal(result->outcome, outcome);
    assert_int_equal(result->mismatches, 0);
}

/* A layer that looks at the calls in the order in which the driver gets them. */
struct watcher {
    struct miniport layer; /* first: the layer's functions find the watcher by it */
    struct miniport_ops ops;
    unsigned swallowed; /* operation that the driver is not told of; UINT_MAX: none */
    uint64_t counts[MINIPORT_OPERATION_COUNT];
    void (*look)(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args);
    uint64_t last_value;
    D3DGPU_VIRTUAL_ADDRESS last_va;
};

static NTSTATUS watch_build(struct miniport *layer, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct watcher *watcher = (struct watcher *)layer;
    DXGKARG_BUILDPAGINGBUFFER before = *args;
    NTSTATUS status;

    if ((unsigned)args->Operation == watcher->swallowed)
        return STATUS_SUCCESS;
    status = miniport_build_paging_buffer(layer->next, object, args);
    if (status == STATUS_SUCCESS) {
        watcher->counts[before.Operation]++;
        if (watcher->look)
            watcher->look(watcher, &before);
    }
    return status;
}

static struct miniport *add_watcher(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.build_paging_buffer = watch_build;
    watcher->layer = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->layer;
}

static struct run_result *watch(struct watcher *watcher, const struct workload *workload)
{
    struct run_config config = config_for(workload);

    config.add_layer = add_watcher;
    config.layer_context = watcher;
    return execute(&config, workload);
}

/* ---- SIGNAL_MONITORED_FENCE --------------------------------------------------------------------- */

static void look_at_fence(struct watcher *watcher, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    if (args->Operation != DXGK_OPERATION_SIGNAL_MONITORED_FENCE)
        return;
    assert_int_equal(args->SignalMonitoredFence.MonitoredFenceGpuVa % 8, 0); /* FENCE-011 */
    if (args->SignalMonitoredFence.MonitoredFenceGpuVa == watcher->last_va)
        assert_true(args->SignalMonitoredFence.MonitoredFenceValue > watcher->last_value);
    watcher->last_va = args->SignalMonitoredFence.MonitoredFenceGpuVa;
    watcher->last_value = args->SignalMonitoredFence.MonitoredFenceValue;
}

static void every_batch_ends_with_a_rising_value(void **state)
{
    struct workload *workload = load("evict-and-restore.case");
    struct watcher watcher = {.swallowed = UINT_MAX, .look = look_at_fence};
    struct run_result *result = watch(&watcher, workload);

    assert_outcome(result, RUN_CLEAN);
    assert_true(watcher.counts[DXGK_OPERATION_SIGNAL_MONITORED_FENCE] > 0);
    finish(result);
    workload_free(workload);
}

/* A driver that does not write the value is found, and the run goes on by its packets. */
static void a_fence_that_is_not_written_is_found(void **state)
{
    struct workload *workload = load("evict-and-restore.case");
    struct watcher watcher = {.swallowed = DXGK_OPERATION_SIGNAL_MONITORED_FENCE};
    struct run_result *result = watch(&watcher, workload);

    assert_outcome(result, RUN_FINDINGS);
    assert_true(result->finding_count > 0);
    assert_int_equal(result->findings[0].kind, RUN_FINDING_DRIVER);
    assert_string_equal(result->findings[0].rule, "NTF-007");
    finish(result);
    workload_free(workload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_batch_ends_with_a_rising_value),
        cmocka_unit_test(a_fence_that_is_not_written_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
