/*
 * Submissions that are not to run, of no bytes, and of nobody: whole runs, and what the rules saw.
 */
#include "bench/whole_runs/test_run.h"

#include "check/rules/rules.h"

static const char *const models[] = {"physical", "gpummu", "iommu"};

static struct run_result *play(const char *name, const char *model)
{
    struct workload *workload = test_load(name);

    test_option(workload, "model", model);
    return test_play(workload);
}

static void work_that_is_not_run_completes_and_changes_nothing(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("null-rendering.case", models[i]);

        test_assert_clean(result);
        assert_int_equal(result->submissions, 5);
        assert_true(result->rules.evaluated[RULE_SUB_005] > 0);
        test_finish(result);
    }
}

static void presents_say_the_same_in_both_calls(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("redirected-presents.case", models[i]);

        test_assert_clean(result);
        assert_int_equal(result->submissions, 4);
        assert_int_equal(result->rules.evaluated[RULE_PATCH_018] > 0, i == 0);
        test_finish(result);
    }
}

/* Looks at what the driver is told, and what it answers. */
struct observer {
    struct miniport layer; /* first: the layer's functions find the observer by it */
    struct miniport_ops ops;
    bool hides_present;
    unsigned presents, drawings, drawings_by_address, short_buffers, patched, submitted;
};

static NTSTATUS observe_present(struct miniport *layer, HANDLE context, DXGKARG_PRESENT *args)
{
    struct observer *observer = (struct observer *)layer;
    const DXGK_ALLOCATIONLIST *list = args->pAllocationList;
    NTSTATUS status;

    assert_null(list[0].hDeviceSpecificAllocation);
    assert_int_equal(args->Flags.Blt, list[1].hDeviceSpecificAllocation != NULL);
    assert_int_equal(args->Flags.ColorFill, !args->Flags.Blt);
    assert_true(list[2].hDeviceSpecificAllocation && list[2].WriteOperation);
    status = miniport_forward_present(layer, context, args);
    observer->presents++;
    observer->short_buffers += status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return status;
}

static NTSTATUS observe_render_km(struct miniport *layer, HANDLE context, DXGKARG_RENDER *args)
{
    struct observer *observer = (struct observer *)layer;
    NTSTATUS status = miniport_forward_render_km(layer, context, args);

    observer->drawings++;
    observer->short_buffers += status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return status;
}

static NTSTATUS observe_render_gdi(struct miniport *layer, HANDLE context, DXGKARG_RENDERGDI *args)
{
    struct observer *observer = (struct observer *)layer;
    NTSTATUS status = miniport_forward_render_gdi(layer, context, args);

    observer->drawings_by_address++;
    observer->short_buffers += status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return status;
}

static NTSTATUS observe_patch(struct miniport *layer, HANDLE object, const DXGKARG_PATCH *args)
{
    ((struct observer *)layer)->patched += args->Flags.Present;
    return miniport_forward_patch(layer, object, args);
}

static NTSTATUS observe_submit(struct miniport *layer, HANDLE object,
                               const DXGKARG_SUBMITCOMMAND *args)
{
    ((struct observer *)layer)->submitted += args->Flags.Present;
    return miniport_forward_submit_command(layer, object, args);
}

static NTSTATUS observe_submit_virtual(struct miniport *layer, HANDLE object,
                                       const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    ((struct observer *)layer)->submitted += args->Flags.Present;
    return miniport_forward_submit_command_virtual(layer, object, args);
}

static bool has_no_present(struct miniport *layer, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_Present && miniport_has(layer->next, ddi);
}

static struct miniport *add_observer(void *context, struct miniport *next)
{
    struct observer *observer = context;

    observer->ops = miniport_forward_ops;
    observer->ops.present = observe_present;
    observer->ops.render_km = observe_render_km;
    observer->ops.render_gdi = observe_render_gdi;
    observer->ops.patch = observe_patch;
    observer->ops.submit_command = observe_submit;
    observer->ops.submit_command_virtual = observe_submit_virtual;
    if (observer->hides_present)
        observer->ops.has = has_no_present;
    observer->layer = (struct miniport){.ops = &observer->ops, .next = next};
    return &observer->layer;
}

static struct run_result *present(struct observer *observer, const char *model, const char *split)
{
    struct workload *workload = test_load("presents.case");
    struct run_config config;

    test_option(workload, "model", model);
    test_option(workload, "dma-split", split);
    config = test_config(workload);
    config.add_layer = add_observer;
    config.layer_context = observer;
    return test_execute(&config, workload);
}

/*
 * PATCH-019, PATCH-020, PATCH-023. One present needs a second buffer, and each buffer is a
 * submission. Where addresses are virtual, nothing is patched.
 */
static void presents_are_made_by_the_driver(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct observer observer = {.presents = 0};
        struct run_result *result = present(&observer, models[i], "needed");

        test_assert_clean(result);
        assert_int_equal(result->submissions, 9);
        assert_int_equal(observer.presents, 6);
        assert_int_equal(observer.short_buffers, 1);
        assert_int_equal(observer.patched, i == 0 ? 6 : 0);
        assert_int_equal(observer.submitted, 6);
        assert_true(result->rules.evaluated[RULE_PATCH_021] > 0);
        assert_int_equal(result->rules.evaluated[RULE_PATCH_023] > 0, i != 0);
        test_finish(result);
    }
}

/* Where addresses are virtual a driver need not have the function: the client copies by itself. */
static void a_client_presents_without_the_driver(void **state)
{
    for (size_t i = 1; i < ARRAY_COUNT(models); i++) {
        struct observer observer = {.hides_present = true};
        struct run_result *result = present(&observer, models[i], "needed");

        test_assert_clean(result);
        assert_int_equal(result->submissions, 9);
        assert_int_equal(observer.presents + observer.submitted, 0);
        test_finish(result);
    }
}

/*
 * Behind a present that waits for its DMA buffer nothing of the context gets ahead: what is copied
 * is what was written in front of it, and what is read behind it is the copy.
 */
static void presents_keep_their_place_among_submissions(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct workload *workload = test_load("presents-in-turn.case");
        struct observer observer = {.presents = 0};
        struct run_config config;
        struct run_result *result;

        test_option(workload, "model", models[i]);
        config = test_config(workload);
        config.add_layer = add_observer;
        config.layer_context = &observer;
        result = test_execute(&config, workload);
        test_assert_clean(result);
        assert_int_equal(observer.presents, 8);
        test_finish(result);
    }
}

/* In front of each rectangle the buffer may be cut (PATCH-012). */
static void presents_are_cut_between_rectangles(void **state)
{
    struct observer observer = {.presents = 0};
    struct run_result *result = present(&observer, "physical", "always");

    test_assert_clean(result);
    assert_int_equal(observer.presents, 6);
    assert_int_equal(observer.submitted, 1 + 3 + 2000 + 2 + 5);
    assert_int_equal(observer.patched, observer.submitted);
    test_finish(result);
}

/*
 * PATCH-025, PATCH-026. Every byte is checked, though no private data says whose the commands are;
 * one present needs further buffers. A driver without support for it is asked for presents.
 */
static void what_the_kernel_draws_is_made_by_render_km(void **state)
{
    static const char *const splits[] = {"needed", "always"};

    for (size_t i = 0; i < 4; i++) {
        bool has_support = i % 2;
        struct workload *workload = test_load("drawn-by-the-kernel.case");
        struct observer observer = {.presents = 0};
        struct run_config config;
        struct run_result *result;

        test_option(workload, "coherent-aperture", has_support ? "yes" : "no");
        test_option(workload, "dma-split", splits[i / 2]);
        config = test_config(workload);
        config.add_layer = add_observer;
        config.layer_context = &observer;
        result = test_execute(&config, workload);
        test_assert_clean(result);
        assert_int_equal(result->submissions, 9);
        assert_int_equal(observer.drawings > 5, has_support);
        assert_int_equal(observer.presents > 5, !has_support);
        assert_true(observer.short_buffers > 0);
        assert_int_equal(observer.submitted > 0, !has_support);
        assert_int_equal(result->rules.evaluated[RULE_PATCH_026] > 5, has_support);
        test_finish(result);
    }
}

/* PATCH-023, PATCH-025, PATCH-026, where the commands get virtual addresses. */
static void what_the_kernel_draws_by_address_is_made_by_render_gdi(void **state)
{
    for (size_t i = 0; i < 4; i++) {
        bool has_support = i % 2;
        struct workload *workload = test_load("drawn-by-address.case");
        struct observer observer = {.presents = 0};
        struct run_config config;
        struct run_result *result;

        test_option(workload, "model", models[1 + i / 2]);
        test_option(workload, "coherent-aperture", has_support ? "yes" : "no");
        config = test_config(workload);
        config.add_layer = add_observer;
        config.layer_context = &observer;
        result = test_execute(&config, workload);
        test_assert_clean(result);
        assert_int_equal(result->submissions, 9);
        assert_int_equal(observer.drawings, 0);
        assert_int_equal(observer.drawings_by_address > 5, has_support);
        assert_int_equal(observer.presents > 5, !has_support);
        assert_true(observer.short_buffers > 0);
        assert_int_equal(observer.submitted > 0, !has_support);
        assert_int_equal(result->rules.evaluated[RULE_PATCH_026] > 5, has_support);
        test_finish(result);
    }
}

static void nodes_leave_a_context_before_its_allocations_go(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("null-context.case", models[i]);

        test_assert_clean(result);
        /* Where everything is in system memory nothing is ever taken away. */
        assert_int_equal(result->statistics.context_switches > 1, strcmp(models[i], "iommu") != 0);
        assert_int_equal(result->rules.evaluated[RULE_SUB_004] > 0,
                         result->statistics.context_switches > 0);
        test_finish(result);
    }
}

/*
 * The switch has gone to the driver when the adapter goes to sleep. It is a submission of the
 * context's process, whose tables are to change in its idle time alone.
 */
static void a_switch_that_is_under_way_keeps_its_process_busy(void **state)
{
    struct workload *workload =
        test_parse("drydock-case 1\noption local-memory 655360\noption idle-updates yes\n"
                   "option null-context yes\noption model gpummu\ncontext c0\n"
                   "alloc a0 size=9\nalloc a2 size=72K\nsubmit c0 a0:w\nsubmit c0\n"
                   "submit c0 a2:w\nsubmit c0\nsubmit c0\npower d3\n");
    struct run_result *result = test_play(workload);

    test_assert_clean(result);
    assert_true(result->statistics.context_switches > 0);
    assert_true(result->rules.evaluated[RULE_PT_036] > 0);
    test_finish(result);
}

/* A reset finds a switch that is queued, and nothing but paging goes on before tables are there. */
static void a_queued_switch_is_not_waited_for_behind_a_reset(void **state)
{
    struct workload *workload =
        test_parse("drydock-case 1\noption local-memory 1376256\noption local-invisible 528384\n"
                   "option pages-64k dual\noption idle-updates yes\noption null-context yes\n"
                   "option hardware-queue 1\noption model gpummu\ncontext c0\ncontext c4\n"
                   "alloc a47 size=494450\nalloc a53 size=4K\nsubmit c0 a47:r\n"
                   "fault c4 reach=beyond-root\nalloc a95 size=4K flags=cpu-visible\n"
                   "submit c4 a95:r a53:r\nsubmit c0\nresident a95\nreset\n"
                   "tile c4 unmap va=0x40000e0000 pages=16\n");
    struct run_result *result = test_play(workload);

    test_assert_clean(result);
    assert_int_equal(result->statistics.adapter_resets, 1);
    test_finish(result);
}

static void nodes_are_not_told_unless_wanted(void **state)
{
    struct workload *workload = test_load("null-context.case");
    struct run_result *result;

    test_option(workload, "null-context", "no");
    test_option(workload, "model", "physical");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(result->statistics.context_switches, 0);
    test_finish(result);
}

static void drivers_below_1_2_have_no_flag_for_it(void **state)
{
    struct workload *workload = test_load("null-context.case");
    struct run_result *result;

    test_option(workload, "model", "physical");
    test_option(workload, "wddm", "1.1");
    result = test_play(workload);
    test_assert_clean(result);
    assert_int_equal(result->statistics.context_switches, 0);
    assert_int_equal(result->rules.evaluated[RULE_SUB_003], 0);
    test_finish(result);
}

static void what_a_sleep_empties_is_nobodys_in_the_physical_model(void **state)
{
    for (size_t i = 0; i < ARRAY_COUNT(models); i++) {
        struct run_result *result = play("sequences/S-16-hibernate-and-resume.case", models[i]);

        test_assert_clean(result);
        assert_int_equal(result->rules.evaluated[RULE_SUB_003] > 0,
                         strcmp(models[i], "physical") == 0);
        test_finish(result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_that_is_not_run_completes_and_changes_nothing),
        cmocka_unit_test(presents_say_the_same_in_both_calls),
        cmocka_unit_test(presents_are_made_by_the_driver),
        cmocka_unit_test(a_client_presents_without_the_driver),
        cmocka_unit_test(presents_keep_their_place_among_submissions),
        cmocka_unit_test(presents_are_cut_between_rectangles),
        cmocka_unit_test(what_the_kernel_draws_is_made_by_render_km),
        cmocka_unit_test(what_the_kernel_draws_by_address_is_made_by_render_gdi),
        cmocka_unit_test(nodes_leave_a_context_before_its_allocations_go),
        cmocka_unit_test(a_switch_that_is_under_way_keeps_its_process_busy),
        cmocka_unit_test(a_queued_switch_is_not_waited_for_behind_a_reset),
        cmocka_unit_test(nodes_are_not_told_unless_wanted),
        cmocka_unit_test(drivers_below_1_2_have_no_flag_for_it),
        cmocka_unit_test(what_a_sleep_empties_is_nobodys_in_the_physical_model),
    };

    return cmocka_run_group_tests_name("bench/unrun work", tests, NULL, NULL);
}
