/*
 * Whole runs whose adapter is stopped, or pulled out, in the middle of its work: no wait goes on,
 * nothing is left, and the driver touches no hardware that is not there.
 */
#include "bench/whole_runs/test_run.h"

#define TEXT_BYTES 4096u

/* Twice the local memory, sleeps and hangs on the way, and the last line somewhere in it. */
static struct run_result *play(const char *model, const char *page_tables, const char *end,
                               const char *last)
{
    static char text[TEXT_BYTES];
    struct workload *workload;

    snprintf(text, sizeof text,
             "drydock-case 1\noption local-memory 2M\noption timeout 100000\n"
             "option queue-depth 6\n"
             "context c0\ncontext c1 node=1\n"
             "alloc a size=1M segments=local flags=cpu-visible\n"
             "alloc b size=1300K segments=local\n"
             "alloc c size=700K segments=local,aperture\n"
             "alloc d size=300K segments=aperture\n"
             "write a\n%s"
             "submit c0 duration=20000 a:rw d:w\n"
             "submit c0 duration=20000 b:w\nsubmit c1 duration=9000 c:w\n"
             "offer d\n"
             "hang 0 after=3\n"
             "submit c0 duration=20000 b:r c:r\nsubmit c1 duration=70000\n"
             "map c va=auto\n"
             "submit c0 duration=20000 a:r\nsubmit c0 duration=20000 b:rw\n"
             "wait all\nreclaim d\npower standby\npower on\n"
             "submit c0 duration=20000 a:r c:rw\nsubmit c0 duration=20000 b:r\n%s",
             end, last);
    workload = test_parse(text);
    test_option(workload, "model", model);
    if (page_tables)
        test_option(workload, "page-tables", page_tables);
    return test_play(workload);
}

static void a_board_may_be_pulled_out_at_any_time(void **state)
{
    static const struct {
        const char *model, *page_tables;
    } runs[] = {{"physical", NULL},
                {"gpummu", "gpu-virtual"},
                {"gpummu", "gpu-physical"},
                {"gpummu", "cpu"},
                {"iommu", NULL}};

    for (unsigned i = 0; i < ARRAY_COUNT(runs); i++) {
        uint64_t time_ns = 1;
        bool has_ended_late = false;

        for (unsigned at = 0; at < 60; at++) {
            char line[64];
            struct run_result *result;

            snprintf(line, sizeof line, "remove after=%llu\n", (unsigned long long)time_ns);
            result = play(runs[i].model, runs[i].page_tables, line, "");
            test_assert_clean(result);
            assert_true(result->driver_heard_of_removal ==
                        (i != 0)); /* WDDM 1.3 knows no such cap */
            has_ended_late |= result->device_errors > 0;
            test_finish(result);
            time_ns += 1 + at * 450;
        }
        assert_true(has_ended_late); /* some came after the hang and its reset */
    }
}

static void a_board_may_be_pulled_out_while_it_is_asleep(void **state)
{
    static const char *const models[] = {"physical", "gpummu", "iommu"};
    static const char *const sleeps[] = {"standby", "hibernate", "d3"};

    for (unsigned i = 0; i < 9; i++) {
        char lines[64];
        struct run_result *result;

        snprintf(lines, sizeof lines, "power %s\nremove\n", sleeps[i / 3]);
        result = play(models[i % 3], NULL, "", lines);
        test_assert_clean(result);
        assert_true(result->driver_heard_of_removal);
        test_finish(result);
    }
}

static void a_driver_that_is_stopped_with_work_ends_what_the_gpu_has(void **state)
{
    static const char *const models[] = {"physical", "gpummu", "iommu"};

    for (unsigned i = 0; i < 3; i++) {
        struct run_result *result = play(models[i], NULL, "", "stop\n");

        test_assert_clean(result);
        assert_true(result->submissions > 0);
        assert_true(result->aborted_submissions > 0);
        assert_false(result->driver_heard_of_removal);
        test_finish(result);
    }
}

static void the_same_removal_gives_the_same_run(void **state)
{
    struct run_result *one = play("gpummu", NULL, "remove after=60000\n", "");
    struct run_result *two = play("gpummu", NULL, "remove after=60000\n", "");

    assert_true(one->digest == two->digest);
    test_finish(one);
    test_finish(two);
}

/* Sees which calls of the driver are under way when it is told of its removal. */
struct guard {
    struct miniport layer; /* first: the layer's functions find the guard by it */
    struct miniport_ops ops;
    unsigned depth, told, told_inside;
};

static NTSTATUS guard_set_root(struct miniport *layer, HANDLE object,
                               const DXGKARG_SETROOTPAGETABLE *args)
{
    struct guard *guard = (struct guard *)layer;
    NTSTATUS status;

    guard->depth++;
    status = miniport_set_root_page_table(layer->next, object, args);
    guard->depth--;
    return status;
}

static NTSTATUS guard_removal(struct miniport *layer, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    struct guard *guard = (struct guard *)layer;

    guard->told++;
    guard->told_inside += guard->depth != 0;
    return miniport_notify_surprise_removal(layer->next, type);
}

static struct miniport *add_guard(void *context, struct miniport *next)
{
    struct guard *guard = context;

    guard->ops = miniport_forward_ops;
    guard->ops.set_root_page_table = guard_set_root;
    guard->ops.notify_surprise_removal = guard_removal;
    guard->layer = (struct miniport){.ops = &guard->ops, .next = next};
    return &guard->layer;
}

/*
 * DxgkDdiSetRootPageTable waits for an update behind a node that hangs when the board goes: the
 * call returns, and then the driver hears of it.
 */
static void a_call_that_waits_returns_before_the_removal(void **state)
{
    struct guard guard = {0};
    struct workload *workload =
        test_parse("drydock-case 1\noption model gpummu\nprocess p0\ndevice d0 process=p0\n"
                   "context c0 device=d0 node=0\n"
                   "context c1 device=d0 node=0 save=20480 save-in=system save-by=address "
                   "save-for=device\n"
                   "submit c0\nhang 1\nremove after=1000000\nsubmit c1\nwait all\n");
    struct run_result *result;
    struct run_config config;

    config = test_config(workload);
    config.add_layer = add_guard;
    config.layer_context = &guard;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    assert_true(result->driver_heard_of_removal);
    assert_int_equal(result->statistics.timeouts, 0);
    assert_int_equal(guard.told, 1);
    assert_int_equal(guard.told_inside, 0);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_board_may_be_pulled_out_at_any_time),
        cmocka_unit_test(a_board_may_be_pulled_out_while_it_is_asleep),
        cmocka_unit_test(a_driver_that_is_stopped_with_work_ends_what_the_gpu_has),
        cmocka_unit_test(the_same_removal_gives_the_same_run),
        cmocka_unit_test(a_call_that_waits_returns_before_the_removal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
