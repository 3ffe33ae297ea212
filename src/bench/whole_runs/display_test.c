/* The reference display-only driver in whole runs: monitors that come and go, and the pointer. */
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"
#include "workload/shrink.h"

static struct {
    unsigned relations, edids, enumerations, commits, shown, hidden, presents, pointers;
    char
        order[64]; /* e: EDID, n: a network is enumerated first, c: commit, v, h: visible, hidden */
    bool is_visible;
} seen;

static void note(char what)
{
    const size_t length = strlen(seen.order);

    if (length + 1 < sizeof seen.order && (!length || seen.order[length - 1] != what))
        seen.order[length] = what;
}

static NTSTATUS see_relations(struct miniport *self, HANDLE object,
                              const struct miniport_children *arg)
{
    seen.relations++;
    return miniport_forward_query_child_relations(self, object, arg);
}

static NTSTATUS see_descriptor(struct miniport *self, HANDLE object,
                               const struct miniport_descriptor *arg)
{
    seen.edids++;
    note('e');
    return miniport_forward_query_device_descriptor(self, object, arg);
}

static NTSTATUS see_enumeration(struct miniport *self, HANDLE object,
                                const DXGKARG_ENUMVIDPNCOFUNCMODALITY *arg)
{
    seen.enumerations++;
    note('n');
    return miniport_forward_enum_vid_pn_cofunc_modality(self, object, arg);
}

static NTSTATUS see_commit(struct miniport *self, HANDLE object, const DXGKARG_COMMITVIDPN *arg)
{
    seen.commits++;
    note('c');
    return miniport_forward_commit_vid_pn(self, object, arg);
}

static NTSTATUS see_visibility(struct miniport *self, HANDLE object,
                               const DXGKARG_SETVIDPNSOURCEVISIBILITY *arg)
{
    seen.shown += arg->Visible;
    seen.hidden += !arg->Visible;
    seen.is_visible = arg->Visible;
    note(arg->Visible ? 'v' : 'h');
    return miniport_forward_set_vid_pn_source_visibility(self, object, arg);
}

static NTSTATUS see_present(struct miniport *self, HANDLE object,
                            const DXGKARG_PRESENT_DISPLAYONLY *arg)
{
    assert_true(seen.is_visible);
    seen.presents++;
    return miniport_forward_present_display_only(self, object, arg);
}

/* The board has no pointer; these three play a driver of one that has. */
static NTSTATUS tell_pointer(struct miniport *self, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    DXGK_DRIVERCAPS *caps = arg->pOutputData;

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_DRIVERCAPS) {
        caps->MaxPointerWidth = caps->MaxPointerHeight = 32;
        caps->PointerCaps.Color = 1;
    }
    return status;
}

static NTSTATUS take_shape(struct miniport *self, HANDLE object, const DXGKARG_SETPOINTERSHAPE *arg)
{
    return STATUS_SUCCESS;
}

static NTSTATUS see_pointer(struct miniport *self, HANDLE object,
                            const DXGKARG_SETPOINTERPOSITION *arg)
{
    assert_true(seen.is_visible);
    seen.pointers++;
    return STATUS_SUCCESS;
}

/* What the driver tells of children that go comes to the kernel as `tells` wants it. */
static struct {
    struct miniport_host_layer layer;
    struct miniport_host_ops ops;
    ULONG instead, besides; /* a child; 0: as it is */
} tells;

static NTSTATUS tell_of_child(struct miniport_host *host,
                              const struct miniport_display_request *request)
{
    struct miniport_host *upper = tells.layer.upper;
    struct miniport_display_request as = *request;
    DXGK_CHILD_STATUS status;

    if (request->kind != MINIPORT_ASK_IndicateChildStatus || request->child->HotPlug.Connected)
        return upper->ops->display(upper, request);
    status = *request->child;
    as.child = &status;
    if (tells.besides) {
        status.ChildUid = tells.besides;
        upper->ops->display(upper, &as);
        status.ChildUid = request->child->ChildUid;
    }
    if (tells.instead)
        status.ChildUid = tells.instead;
    return upper->ops->display(upper, &as);
}

static void hear_host(struct miniport *self, struct miniport_host *host)
{
    tells.ops = miniport_host_forward_ops;
    tells.ops.display = tell_of_child;
    tells.layer = (struct miniport_host_layer){.host = {.ops = &tells.ops}, .upper = host};
    miniport_set_host(self->next, &tells.layer.host);
}

static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;
    struct miniport_ops *ops = test_put_layer(base_services_libc(), next, &layer);

    ops->query_child_relations = see_relations;
    ops->query_device_descriptor = see_descriptor;
    ops->enum_vid_pn_cofunc_modality = see_enumeration;
    ops->commit_vid_pn = see_commit;
    ops->set_vid_pn_source_visibility = see_visibility;
    ops->present_display_only = see_present;
    ops->query_adapter_info = tell_pointer;
    ops->set_pointer_shape = take_shape;
    ops->set_pointer_position = see_pointer;
    ops->set_host = hear_host;
    return layer;
}

static struct run_result *play(const char *driver, const char *lines)
{
    struct workload *workload;
    struct run_config config;
    char text[512];

    snprintf(text, sizeof text, "drydock-case 1\n%s", lines);
    workload = test_parse(text);
    config = test_config(workload);
    config.driver = driver;
    config.add_layer = put_on_top;
    memset(&seen, 0, sizeof seen);
    return test_execute(&config, workload);
}

static unsigned presents_of(const struct workload *workload)
{
    struct run_config config = test_config(workload);
    struct run_result *result = calloc(1, sizeof *result);
    unsigned presents;

    assert_non_null(result);
    config.driver = RUN_DRIVER_DISPLAY;
    config.add_layer = put_on_top;
    memset(&seen, 0, sizeof seen);
    run_execute(&config, workload, result);
    presents = seen.presents;
    test_finish(result);
    return presents;
}

static void play_clean(const char *lines)
{
    struct run_result *result = play(RUN_DRIVER_DISPLAY, lines);

    test_assert_clean(result);
    test_finish(result);
}

/* Started twice: each start is the same. */
static void a_monitor_that_is_there_is_shown(void **state)
{
    play_clean("");
    assert_int_equal(seen.relations, 2);
    assert_int_equal(seen.edids, 2);
    assert_int_equal(seen.commits, 2);
    assert_string_equal(seen.order, "encvhencvh");
    assert_true(seen.presents > 6);
}

static void what_is_shown_ends_with_its_monitor_and_begins_with_the_next(void **state)
{
    unsigned presents;

    play_clean("note \"shown\"\n");
    presents = seen.presents;
    play_clean("unplug\nplug\n");
    assert_string_equal(seen.order, "encvhc"
                                    "encvh"
                                    "encvh");
    assert_int_equal(seen.edids, 3);
    assert_int_equal(seen.presents, presents + 1); /* of the monitor that has come */
}

/* Nothing is presented meanwhile, whatever else happens; at the end the monitor comes back. */
static void without_a_monitor_nothing_is_shown(void **state)
{
    play_clean("unplug\nstep \"no mode\"\npower standby\npower on\nunplug\n");
    assert_string_equal(seen.order, "encvhc"
                                    "encvh"
                                    "encvh");
    assert_int_equal(seen.hidden, 3);
    play_clean("plug\nplug\n"); /* it is there */
    assert_string_equal(seen.order, "encvhencvh");
}

static void a_second_monitor_is_as_the_first(void **state)
{
    play_clean("unplug\nplug\nstep \"a mode\"\nunplug\nplug\npower d3\npower on\n");
    assert_int_equal(seen.edids, 4);
    assert_true(seen.is_visible == false);
}

/* It is moved while something is shown, and only then: see_pointer() looks. */
static void the_pointer_is_not_moved_on_an_invisible_source(void **state)
{
    unsigned pointers;

    play_clean("step \"a mode\"\n");
    pointers = seen.pointers;
    assert_true(pointers > 0);
    play_clean("unplug\nstep \"no mode\"\nplug\n");
    assert_true(seen.pointers < pointers); /* none of that step */
}

/* A child that has nothing to do with what is shown is neither here nor there. */
static void departures_are_judged_by_the_child_that_is_shown(void **state)
{
    for (ULONG other = 0; other < 2; other++) {
        struct run_result *result;
        bool is_found = false;

        tells.besides = other ? 0 : 2;
        tells.instead = other ? 2 : 0;
        result = play(RUN_DRIVER_DISPLAY, "unplug\nplug\n");
        for (uint32_t i = 0; i < result->finding_count; i++)
            is_found |= strcmp(result->findings[i].rule, "VIDPN-009") == 0;
        assert_int_equal(is_found, other);
        if (!other)
            test_assert_clean(result);
        test_finish(result);
        tells.besides = tells.instead = 0;
    }
}

struct wanted {
    unsigned presents, plays;
};

static bool shows_enough(void *context, const struct workload *candidate)
{
    struct wanted *wanted = context;

    wanted->plays++;
    return presents_of(candidate) >= wanted->presents;
}

/* One image more is one line, whatever else the case is about. */
static void a_case_shrinks_to_the_images_that_matter(void **state)
{
    static const char text[] = "drydock-case 1\ncontext c0\nalloc a size=4K\nalloc b size=4K\n"
                               "submit c0 a:w\nread a\nsubmit c0 b:w\nread b\nunplug\nplug\n"
                               "submit c0 a:r b:w\nread b\nwait c0\nread a\nsubmit c0 b:r\n"
                               "read a\nfree a\nread b\nwait all\nfree b\n";
    struct workload *empty = test_parse("drydock-case 1\n"), *whole = test_parse(text), *small;
    struct wanted wanted = {.presents = presents_of(empty) + 2};
    const struct workload_shrink shrink = {.context = &wanted, .shows = shows_enough};
    struct workload_shrink_result result;
    struct workload_error error;

    assert_true(workload_shrink(&shrink, whole, &small, &result, &error));
    assert_int_equal(result.lines_before, 18);
    assert_in_range(result.lines_after, 1, 3);
    assert_true(presents_of(small) >= wanted.presents);
    workload_free(small);
    workload_free(whole);
    workload_free(empty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_monitor_that_is_there_is_shown),
        cmocka_unit_test(what_is_shown_ends_with_its_monitor_and_begins_with_the_next),
        cmocka_unit_test(without_a_monitor_nothing_is_shown),
        cmocka_unit_test(a_second_monitor_is_as_the_first),
        cmocka_unit_test(the_pointer_is_not_moved_on_an_invisible_source),
        cmocka_unit_test(departures_are_judged_by_the_child_that_is_shown),
        cmocka_unit_test(a_case_shrinks_to_the_images_that_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
