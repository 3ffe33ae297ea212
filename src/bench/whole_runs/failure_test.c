/*
 * Allocations of the manager that fail in whole runs: for what the scenarios of
 * vidmm_failure_test.c do not reach without a machine, a GPU and a driver that answer.
 *
 * Each case plays the public functions that its entry names, which a run without a failure proves.
 * Then the n-th allocation of the manager fails, for ever larger n, until there is none so late:
 * the run is refused by a status, or repeats the call that failed and ends as if nothing had been.
 * All content is compared, vidmm_check() walks the invariants, and a leak is a finding.
 */
#include "bench/whole_runs/test_run.h"

struct failing_case {
    const char *name;
    bool (*is_used)(const struct run_result *result);
    bool is_physical;
};

static uint64_t operations(const struct run_result *result, DXGK_BUILDPAGINGBUFFER_OPERATION which)
{
    return result->statistics.operations[which];
}

static bool has_fences(const struct run_result *result)
{
    return operations(result, DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY) > 1;
}

static bool has_updates(const struct run_result *result)
{
    return operations(result, DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION) > 0;
}

static bool was_preempted(const struct run_result *result)
{
    return result->statistics.preemptions > 0;
}

static bool was_reset(const struct run_result *result)
{
    return result->statistics.adapter_resets > 0;
}

static bool has_timed_out(const struct run_result *result)
{
    return result->statistics.timeouts > 0;
}

static bool has_run(const struct run_result *result)
{
    return result->submissions > 0;
}

static uint64_t calls(const struct run_result *result, const char *ddi)
{
    for (unsigned i = 0; i < result->ddi_count; i++) {
        if (strcmp(result->ddi_names[i], ddi) == 0)
            return result->ddi_calls[i];
    }
    return 0;
}

static bool has_presents(const struct run_result *result)
{
    return calls(result, "DxgkDdiPresent") > 0;
}

static bool has_drawn_by_address(const struct run_result *result)
{
    return calls(result, "DxgkDdiRenderGdi") > 0;
}

static bool has_drawn(const struct run_result *result)
{
    return calls(result, "DxgkDdiRenderKm") > 0;
}

/* The early caps are what says that it may be remapped, or the run is refused. */
static bool has_switched(const struct run_result *result)
{
    return result->config.remaps_dma && calls(result, "DxgkDdiBeginExclusiveAccess") == 2 &&
           calls(result, "DxgkDdiEndExclusiveAccess") == 2;
}

static bool was_removed(const struct run_result *result)
{
    return result->driver_heard_of_removal && result->aborted_submissions > 0;
}

/* The wait has ended, for the run has, and not by a value: the case expects none. */
static bool was_cancelled(const struct run_result *result)
{
    return result->statistics.timeouts > 0 && calls(result, "DxgkDdiUpdateMonitoredValues") > 0;
}

static struct run_result *play(const struct failing_case *failing, uint64_t n)
{
    struct workload *workload = test_load(failing->name);
    struct run_result *result = calloc(1, sizeof *result);
    struct run_config config;

    assert_non_null(result);
    run_config_defaults(&config);
    config.model = failing->is_physical ? RUN_PHYSICAL : RUN_GPUMMU;
    run_config_from_workload(&config, workload);
    config.reference = RUN_REFERENCE_NEVER;
    config.fail_allocation = n;
    run_execute(&config, workload, result);
    workload_free(workload);
    return result;
}

static void assert_whole(const struct failing_case *failing, const struct run_result *result,
                         uint64_t n)
{
    if (result->outcome == RUN_REFUSED && n) {
        assert_int_equal(result->finding_count, 0);
        return;
    }
    if (result->outcome != RUN_CLEAN)
        fail_msg("%s, allocation %llu fails: %s %s", failing->name, (unsigned long long)n,
                 run_outcome_name(result->outcome),
                 result->finding_count ? result->findings[0].text : result->error);
    assert_int_equal(result->mismatches, 0);
}

/* The first ones each, later ones at ever larger steps. */
static void fail_each(const struct failing_case *failing)
{
    struct run_result *result = play(failing, 0);
    uint64_t failures = 0;
    bool has_failed = true;

    assert_whole(failing, result, 0);
    if (!failing->is_used(result))
        fail_msg("%s does not do what it is here for", failing->name);
    test_finish(result);
    for (uint64_t n = 1; has_failed; n += 1 + n / 24) {
        result = play(failing, n);
        has_failed = result->has_failed_allocation;
        failures += has_failed;
        assert_whole(failing, result, n);
        test_finish(result);
    }
    assert_true(failures > 20);
}

static void native_fences(void **state)
{
    fail_each(&(struct failing_case){.name = "sequences/NTF-010-native-fences.case",
                                     .is_used = has_fences});
    fail_each(&(struct failing_case){.name = "sequences/FENCE-014-native-fence-waits.case",
                                     .is_used = has_fences});
    fail_each(&(struct failing_case){.name = "fences-in-local-memory.case", .is_used = has_fences});
}

static bool has_shown(const struct run_result *result)
{
    return result->rules.evaluated[RULE_FENCE_021] > 0;
}

static void primaries_that_are_shown(void **state)
{
    fail_each(&(struct failing_case){.name = "flips.case", .is_used = has_shown});
}

static void waits_that_are_given_up(void **state)
{
    fail_each(&(struct failing_case){.name = "sequences/FENCE-014-wait-given-up.case",
                                     .is_used = was_cancelled});
}

static void exclusive_access(void **state)
{
    fail_each(&(struct failing_case){.name = "domain-switch.case", .is_used = has_switched});
}

static void a_surprise_removal(void **state)
{
    fail_each(&(struct failing_case){.name = "surprise-removal.case", .is_used = was_removed});
}

static void updates_of_context_allocations(void **state)
{
    fail_each(&(struct failing_case){.name = "sequences/S-20-context-allocation.case",
                                     .is_used = has_updates});
}

static void preemptions(void **state)
{
    fail_each(&(struct failing_case){.name = "preemption.case", .is_used = was_preempted});
}

static void resets(void **state)
{
    fail_each(&(struct failing_case){.name = "reset-before-paging.case", .is_used = was_reset});
}

static void the_watchdog(void **state)
{
    fail_each(&(struct failing_case){.name = "sequences/S-17-tdr-in-the-middle-of-paging.case",
                                     .is_used = has_timed_out});
}

static void what_the_kernel_draws(void **state)
{
    fail_each(&(struct failing_case){
        .name = "drawn-by-the-kernel.case", .is_used = has_drawn, .is_physical = true});
    fail_each(
        &(struct failing_case){.name = "drawn-by-address.case", .is_used = has_drawn_by_address});
}

static void presents(void **state)
{
    fail_each(&(struct failing_case){
        .name = "presents.case", .is_used = has_presents, .is_physical = true});
    fail_each(&(struct failing_case){.name = "presents.case", .is_used = has_presents});
}

static void host_apertures(void **state)
{
    fail_each(&(struct failing_case){.name = "host-aperture.case", .is_used = has_run});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primaries_that_are_shown),
        cmocka_unit_test(native_fences),
        cmocka_unit_test(updates_of_context_allocations),
        cmocka_unit_test(preemptions),
        cmocka_unit_test(resets),
        cmocka_unit_test(the_watchdog),
        cmocka_unit_test(host_apertures),
        cmocka_unit_test(presents),
        cmocka_unit_test(what_the_kernel_draws),
        cmocka_unit_test(waits_that_are_given_up),
        cmocka_unit_test(exclusive_access),
        cmocka_unit_test(a_surprise_removal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
