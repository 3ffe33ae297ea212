/*
 * The faults of callbacks and of time, in whole runs: each happens where it is switched on and
 * nowhere else, and the reference driver lives with it.
 */
#include "bench/whole_runs/test_run.h"

#define SAVES "sequences/S-20-context-allocation-kinds.case"

/* Nearest to the kernel: sees the adapter's starts. */
struct watcher {
    struct miniport_ops ops;
    struct miniport miniport;
    unsigned adds, starts, failures, removes, stops;
    unsigned contexts_failed, dpcs;
};

static struct watcher *watcher_of(struct miniport *self)
{
    return (struct watcher *)((char *)self - offsetof(struct watcher, miniport));
}

static NTSTATUS see_add(struct miniport *self)
{
    watcher_of(self)->adds++;
    return miniport_add_device(self->next);
}

static NTSTATUS see_start(struct miniport *self, const DXGK_START_INFO *start, ULONG *sources,
                          ULONG *children)
{
    NTSTATUS status = miniport_start_device(self->next, start, sources, children);

    watcher_of(self)->starts++;
    watcher_of(self)->failures += !NT_SUCCESS(status);
    return status;
}

static NTSTATUS see_stop(struct miniport *self)
{
    watcher_of(self)->stops++;
    return miniport_stop_device(self->next);
}

static NTSTATUS see_remove(struct miniport *self)
{
    watcher_of(self)->removes++;
    return miniport_remove_device(self->next);
}

static NTSTATUS see_create_context(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *arg)
{
    NTSTATUS status = miniport_forward_create_context(self, object, arg);

    watcher_of(self)->contexts_failed += status == STATUS_NO_MEMORY;
    return status;
}

static void see_dpc(struct miniport *self)
{
    watcher_of(self)->dpcs++;
    miniport_forward_ops.dpc(self);
}

static void see_destroy(struct miniport *self)
{
}

static struct miniport *add_watcher(void *context, struct miniport *next)
{
    struct watcher *watcher = context;

    watcher->ops = miniport_forward_ops;
    watcher->ops.destroy = see_destroy;
    watcher->ops.add_device = see_add;
    watcher->ops.start_device = see_start;
    watcher->ops.stop_device = see_stop;
    watcher->ops.remove_device = see_remove;
    watcher->ops.dpc = see_dpc;
    watcher->ops.create_context = see_create_context;
    watcher->miniport = (struct miniport){.ops = &watcher->ops, .next = next};
    return &watcher->miniport;
}

static struct run_result *play(const char *name, enum run_model model, unsigned faults,
                               uint64_t seed, struct watcher *watcher)
{
    struct workload *workload = test_load(name);
    struct run_result *result;
    struct run_config config;

    memset(watcher, 0, sizeof *watcher);
    config = test_config(workload);
    config.model = model;
    config.faults = faults;
    config.seed = seed;
    config.add_layer = add_watcher;
    config.layer_context = watcher;
    result = test_execute(&config, workload);
    return result;
}

/* One of four seeds denies the second mapping of a start, of which the driver makes one. */
static void a_start_that_fails_is_undone_and_tried_again(void **state)
{
    unsigned failures = 0;

    for (unsigned model = 0; model < 3; model++) {
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct watcher watcher;
            struct run_result *result =
                play("first-page-in.case", (enum run_model)model, RUN_FAULT_START, seed, &watcher);

            test_assert_clean(result);
            assert_in_range(watcher.failures, 0, 1);
            assert_int_equal(watcher.adds, 1 + watcher.failures);
            assert_int_equal(watcher.starts, 1 + watcher.failures);
            assert_int_equal(watcher.removes, 1 + watcher.failures);
            assert_int_equal(watcher.stops, 1);
            failures += watcher.failures;
            test_finish(result);
        }
    }
    assert_in_range(failures, 6, 11);
}

static void a_context_whose_area_is_denied_is_made_when_asked_for_again(void **state)
{
    unsigned failed = 0;

    for (unsigned model = RUN_PHYSICAL; model <= RUN_GPUMMU; model++) {
        for (uint64_t seed = 0; seed < 8; seed++) {
            struct watcher watcher;
            struct run_result *result =
                play(SAVES, (enum run_model)model, RUN_FAULT_CONTEXT_ALLOCATIONS, seed, &watcher);

            test_assert_clean(result);
            failed += watcher.contexts_failed;
            test_finish(result);
        }
    }
    assert_true(failed >= 8);
}

static void preemptions_come_by_themselves(void **state)
{
    for (unsigned model = 0; model < 3; model++) {
        struct watcher watcher;
        struct run_result *result =
            play("main.case", (enum run_model)model, RUN_FAULT_PREEMPTIONS, 1, &watcher);

        test_assert_clean(result);
        assert_true(result->statistics.preemptions > 8);
        test_finish(result);
        result = play("main.case", (enum run_model)model, 0, 1, &watcher);
        assert_int_equal(result->statistics.preemptions, 0);
        assert_int_equal(watcher.adds, 1);
        test_finish(result);
    }
}

static void late_dpcs_are_of_more_interrupts_each(void **state)
{
    struct watcher watchers[2];
    struct run_result *soon = play("main.case", RUN_GPUMMU, 0, 1, &watchers[0]);
    struct run_result *late = play("main.case", RUN_GPUMMU, RUN_FAULT_LATE_DPCS, 1, &watchers[1]);

    test_assert_clean(late);
    assert_true(watchers[1].dpcs * soon->interrupts < watchers[0].dpcs * late->interrupts);
    test_finish(soon);
    test_finish(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_that_fails_is_undone_and_tried_again),
        cmocka_unit_test(a_context_whose_area_is_denied_is_made_when_asked_for_again),
        cmocka_unit_test(preemptions_come_by_themselves),
        cmocka_unit_test(late_dpcs_are_of_more_interrupts_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
