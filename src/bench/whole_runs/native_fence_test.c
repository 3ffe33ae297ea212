/*
 * Native fences: whole runs of NTF-010-native-fences.case and FENCE-014-native-fence-waits.case,
 * with paging buffers of several sizes, drivers that are told something wrong or nothing, and
 * allocations that fail.
 */
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

struct watcher {
    struct miniport layer; /* first: the layer's functions find the watcher by it */
    struct miniport_ops ops;
    unsigned told;                /* notices */
    UINT most;                    /* fences in one */
    unsigned asked;               /* where storage may be */
    unsigned in_segments;         /* monitored values that were told of there */
    unsigned updated, waited_for; /* UpdateMonitoredValues; entries with a value to be passed */
    /* Changes a notice; true: the driver does not hear of it. */
    bool (*bend)(struct watcher *watcher, DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice);
};

static NTSTATUS watch_build(struct miniport *layer, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct watcher *watcher = (struct watcher *)layer;

    if (args->Operation == DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY) {
        watcher->told++;
        for (UINT i = 0; i < args->NotifyFenceResidency.NumFences; i++)
            watcher->in_segments += args->NotifyFenceResidency.FenceResidencyInfo[i]
                                        .MonitoredValuePhysicalAddress.SegmentId != 0;
        if (args->NotifyFenceResidency.NumFences > watcher->most)
            watcher->most = args->NotifyFenceResidency.NumFences;
        if (watcher->bend && watcher->bend(watcher, &args->NotifyFenceResidency))
            return STATUS_SUCCESS;
    }
    return miniport_build_paging_buffer(layer->next, object, args);
}

static NTSTATUS watch_update(struct miniport *layer, HANDLE object,
                             const DXGKARG_UPDATEMONITOREDVALUES *args)
{
    struct watcher *watcher = (struct watcher *)layer;

    watcher->updated++;
    for (UINT i = 0; i < args->NumFences; i++)
        watcher->waited_for += args->UpdatedValueArray[i] != UINT64_MAX;
    return miniport_update_monitored_values(layer->next, object, args);
}

static NTSTATUS watch_storage(struct miniport *layer, HANDLE object,
                              DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args)
{
    ((struct watcher *)layer)->asked++;
    return miniport_get_standard_allocation_driver_data(layer->next, object, args);
}

static struct miniport *add_watcher(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.build_paging_buffer = watch_build;
    watcher->ops.update_monitored_values = watch_update;
    watcher->ops.get_standard_allocation_driver_data = watch_storage;
    watcher->layer = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->layer;
}

static struct run_result *run_watched(struct watcher *watcher, const struct run_config *config,
                                      const struct workload *workload)
{
    struct run_config watched = *config;
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    watched.add_layer = add_watcher;
    watched.layer_context = watcher;
    run_execute(&watched, workload, result);
    return result;
}

static struct run_config config_for(const struct workload *workload)
{
    struct run_config config;

    config = test_config(workload);
    return config;
}

static void fences_keep_their_values_with_any_buffer(void **state)
{
    static const uint32_t buffers[] = {64, 128, 4096, 65536};
    struct workload *workload = test_load("sequences/NTF-010-native-fences.case");

    for (size_t i = 0; i < ARRAY_COUNT(buffers); i++) {
        struct watcher watcher = {0};
        struct run_config config = config_for(workload);
        struct run_result *result;

        config.paging_buffer_bytes = buffers[i];
        config.remaps_dma = i % 2;
        result = run_watched(&watcher, &config, workload);
        test_assert_clean(result);
        assert_true(watcher.told >= 10);
        assert_int_equal(watcher.most, 4);
        test_finish(result);
    }
    workload_free(workload);
}

/* Both values in segments, one of them, none: what the driver is told of is where it wants them. */
static void fences_keep_their_values_in_segments(void **state)
{
    struct workload *workload = test_load("fences-in-local-memory.case");

    for (unsigned memory = 0; memory <= VIDMM_FENCES_IN_SEGMENTS; memory++) {
        struct watcher watcher = {0};
        struct run_config config = config_for(workload);
        struct run_result *result;

        config.native_fence_memory = (enum vidmm_fence_memory)memory;
        config.paging_buffer_bytes = memory == 1 ? 64 : 65536;
        config.remaps_dma = memory == 2;
        result = run_watched(&watcher, &config, workload);
        test_assert_clean(result);
        assert_int_equal(watcher.in_segments != 0, memory != 0);
        assert_int_equal(watcher.asked, 2 * memory); /* pages of values, of two blocks */
        assert_true(memory == 0 || result->rules.evaluated[RULE_FENCE_019] > 0);
        test_finish(result);
    }
    workload_free(workload);
}

static bool has_finding(const struct run_result *result, const char *text)
{
    for (uint32_t i = 0; i < result->finding_count; i++) {
        if (strstr(result->findings[i].text, text))
            return true;
    }
    return false;
}

/* ---- Waiting on the CPU ---- */

/* One update before each of the five waits for what is not there, and one behind it. */
static void waits_end_with_the_value(void **state)
{
    struct workload *workload = test_load("sequences/FENCE-014-native-fence-waits.case");
    struct watcher watcher = {0};
    struct run_config config = config_for(workload);
    struct run_result *result = run_watched(&watcher, &config, workload);

    test_assert_clean(result);
    assert_int_equal(watcher.waited_for, 5);
    assert_int_equal(watcher.updated, 10);
    test_finish(result);
    workload_free(workload);
}

static void every_nth_allocation_failure_leaves_waits_whole(void **state)
{
    struct workload *workload = test_load("sequences/FENCE-014-native-fence-waits.case");

    for (uint64_t n = 1; n < 300; n += 3) {
        struct watcher watcher = {0};
        struct run_config config = config_for(workload);
        struct run_result *result;

        config.fail_allocation = n;
        result = run_watched(&watcher, &config, workload);
        assert_true(result->outcome == RUN_CLEAN || result->outcome == RUN_REFUSED);
        test_finish(result);
    }
    workload_free(workload);
}

/* A wait that a reset leaves without its signal is given up; without a reset it is a finding. */
static void a_wait_for_what_nobody_signals_is_told(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option model gpummu\n"
                               "option wddm 3.2\n"
                               "option native-fences 2\n"
                               "option local-memory 16M\n"
                               "alloc data size=64K\n"
                               "fence 0 create value=1\n"
                               "submit c0 duration=20000 signal=0 value=2 data:w\n"
                               "fence 0 wait value=3\n"
                               "fence 0 wait value=2\n";
    struct workload_error error;
    struct workload *workload;
    struct watcher watcher = {0};
    struct run_config config;
    struct run_result *result;

    assert_true(workload_parse(text, sizeof text - 1, "waits", &workload, &error));
    config = config_for(workload);
    result = run_watched(&watcher, &config, workload);
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_true(has_finding(result, "fence 0 has the value 2; a wait for 3 has not ended"));
    test_finish(result);
    workload_free(workload);
}

/* The interrupt of the fence goes with the reset, and no DPC follows it. */
static void a_wait_ends_with_the_reset_that_took_the_interrupt(void **state)
{
    struct run_result *result = test_play(test_load("wait-ends-with-the-reset.case"));

    test_assert_clean(result);
    assert_int_equal(result->statistics.engine_resets, 1);
    assert_int_equal(result->submissions, 1);
    test_finish(result);
}

/* ---- What is wrong ---- */

static bool swallow_moves(struct watcher *watcher,
                          DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    return notice->NumFences == 2;
}

static bool swallow_all(struct watcher *watcher,
                        DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    return true;
}

static bool name_another_word(struct watcher *watcher,
                              DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    notice->FenceResidencyInfo[0].CurrentValuePhysicalAddress.SegmentOffset += 8;
    return false;
}

static bool name_half_a_word(struct watcher *watcher,
                             DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    notice->FenceResidencyInfo[0].MonitoredValuePhysicalAddress.SegmentOffset += 4;
    return false;
}

static void wrong_notices_are_found(void **state)
{
    static const struct {
        bool (*bend)(struct watcher *watcher,
                     DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice);
        const char *text;
    } cases[] = {
        {swallow_moves, "fence 4 has the value 104; expected 204"},
        {swallow_all, "fence without a home is signalled"},
        {name_another_word, "the two addresses of the current value of a fence lead to"},
        {name_half_a_word, "expected a multiple of 8 in system memory"},
    };
    struct workload *workload = test_load("sequences/NTF-010-native-fences.case");

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct watcher watcher = {.bend = cases[i].bend};
        struct run_config config = config_for(workload);
        struct run_result *result = run_watched(&watcher, &config, workload);

        assert_int_equal(result->outcome, RUN_FINDINGS);
        if (!has_finding(result, cases[i].text))
            fail_msg("'%s' is not among the findings; the first is '%s'", cases[i].text,
                     result->findings[0].text);
        test_finish(result);
    }
    workload_free(workload);
}

static NTSTATUS claim_fences(struct miniport *layer, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *query)
{
    NTSTATUS status = miniport_query_adapter_info(layer->next, object, query);

    if (NT_SUCCESS(status) && query->Type == DXGKQAITYPE_DRIVERCAPS)
        ((DXGK_DRIVERCAPS *)query->pOutputData)->SchedulingCaps.NativeGpuFence = 1;
    return status;
}

static struct miniport *add_claimer(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.query_adapter_info = claim_fences;
    watcher->layer = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->layer;
}

static void rule_FENCE_015_is_found_when_broken(void **state)
{
    struct workload *workload = test_load("sequences/NTF-010-native-fences.case");
    struct watcher watcher = {0};
    struct run_config config = config_for(workload);
    struct run_result *result = calloc(1, sizeof *result);

    assert_non_null(result);
    config.native_fences = 0;
    config.add_layer = add_claimer;
    config.layer_context = &watcher;
    run_execute(&config, workload, result);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "NativeGpuFence is 1; expected 0"));
    test_finish(result);
    workload_free(workload);
}

static void older_drivers_have_no_fences(void **state)
{
    struct workload *workload = test_load("sequences/NTF-010-native-fences.case");
    struct watcher watcher = {0};
    struct run_config config = config_for(workload);
    struct run_result *result;

    config.wddm = 30;
    result = run_watched(&watcher, &config, workload);
    test_assert_clean(result);
    assert_int_equal(watcher.told, 0);
    test_finish(result);
    workload_free(workload);
}

/* One allocation of the manager fails: the run repeats the call, or does not start. */
static void every_nth_allocation_failure_leaves_it_whole(void **state)
{
    struct workload *workload = test_load("sequences/NTF-010-native-fences.case");

    for (uint64_t n = 1; n < 400; n += 3) {
        struct watcher watcher = {0};
        struct run_config config = config_for(workload);
        struct run_result *result;

        config.fail_allocation = n;
        result = run_watched(&watcher, &config, workload);
        assert_true(result->outcome == RUN_CLEAN || result->outcome == RUN_REFUSED);
        test_finish(result);
    }
    workload_free(workload);
}

/* A driver below the checking layer that takes note of the first place of a fence alone. */
static HANDLE told[64];
static unsigned told_count;

static NTSTATUS keep_first_place(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice = &arg->NotifyFenceResidency;
    bool has_news = false;

    if (arg->Operation != DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY)
        return miniport_forward_build_paging_buffer(self, object, arg);
    for (UINT i = 0; i < notice->NumFences; i++) {
        HANDLE fence = notice->FenceResidencyInfo[i].hGlobalNativeFence;
        unsigned at = 0;

        while (at < told_count && told[at] != fence)
            at++;
        if (at == told_count && told_count < ARRAY_COUNT(told)) {
            told[told_count++] = fence;
            has_news = true;
        }
    }
    return has_news ? miniport_forward_build_paging_buffer(self, object, arg) : STATUS_SUCCESS;
}

static NTSTATUS wrap_keeping(const struct run_driver *driver, const struct base_services *services,
                             struct miniport *next, struct miniport **out_layer)
{
    test_put_layer(services, next, out_layer)->build_paging_buffer = keep_first_place;
    return STATUS_SUCCESS;
}

static bool find_keeping(const char *name, struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = "test:keeps", .wrap = wrap_keeping};
    return strcmp(name, "test:keeps") == 0;
}

static void a_fence_that_the_driver_leaves_where_it_was_breaks_NTF_011(void **state)
{
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        struct workload *workload = test_load("sequences/NTF-010-native-fences.case");
        struct run_config config = test_config(workload);
        struct run_result *result;

        config.model = RUN_GPUMMU;
        config.driver = keeps ? "test:keeps" : "ref";
        told_count = 0;
        result = test_execute(&config, workload);
        assert_int_equal(result->rules.broken[RULE_NTF_011] != 0, keeps);
        assert_true(result->rules.evaluated[RULE_NTF_011] > 0);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_keep_their_values_with_any_buffer),
        cmocka_unit_test(fences_keep_their_values_in_segments),
        cmocka_unit_test(waits_end_with_the_value),
        cmocka_unit_test(every_nth_allocation_failure_leaves_waits_whole),
        cmocka_unit_test(a_wait_for_what_nobody_signals_is_told),
        cmocka_unit_test(a_wait_ends_with_the_reset_that_took_the_interrupt),
        cmocka_unit_test(wrong_notices_are_found),
        cmocka_unit_test(a_fence_that_the_driver_leaves_where_it_was_breaks_NTF_011),
        cmocka_unit_test(rule_FENCE_015_is_found_when_broken),
        cmocka_unit_test(older_drivers_have_no_fences),
        cmocka_unit_test(every_nth_allocation_failure_leaves_it_whole),
    };

    run_add_drivers(find_keeping);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
