/* Hardware queues, in whole runs of the reference driver. */
#include "bench/whole_runs/test_run.h"

static struct {
    unsigned contexts; /* of the driver's, for queues */
    unsigned created, destroyed, submitted, by_fence, metadata, resets;
    unsigned banded, scheduled, bands, logged;
    unsigned suspended, suspended_at_once, resumed, engine_resets, engine_resumptions;
    unsigned lists, empty_lists;
    unsigned presented, submitted_presents;
    uint64_t last_id;
} seen;

static NTSTATUS see_bands(struct miniport *self, HANDLE object,
                          const DXGKARG_SETUPPRIORITYBANDS *arg)
{
    assert_int_equal(seen.scheduled + seen.submitted + seen.by_fence, 0);
    seen.banded++;
    return miniport_forward_setup_priority_bands(self, object, arg);
}

static NTSTATUS see_properties(struct miniport *self, HANDLE object,
                               const DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES *arg)
{
    seen.scheduled++;
    seen.bands |= 1u << arg->priorityBand;
    return miniport_forward_set_context_scheduling_properties(self, object, arg);
}

static NTSTATUS see_log(struct miniport *self, HANDLE object,
                        const DXGKARG_SETSCHEDULINGLOGBUFFER *arg)
{
    seen.logged++;
    return miniport_forward_set_scheduling_log_buffer(self, object, arg);
}

/* Contexts and queues that are made behind a reset of an engine: so many, then so many not. */
static struct {
    unsigned made, refused;
} behind_reset;

static bool is_refused(void)
{
    unsigned *left = behind_reset.made ? &behind_reset.made : &behind_reset.refused;

    if (!seen.engine_resets || !*left)
        return false;
    --*left;
    return left == &behind_reset.refused;
}

static NTSTATUS see_context(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *arg)
{
    if (is_refused())
        return STATUS_NO_MEMORY;
    seen.contexts += arg->Flags.HwQueueSupported;
    return miniport_forward_create_context(self, object, arg);
}

static NTSTATUS see_create(struct miniport *self, HANDLE object, DXGKARG_CREATEHWQUEUE *arg)
{
    if (is_refused())
        return STATUS_NO_MEMORY;
    seen.created++;
    assert_int_equal(*(const volatile UINT64 *)arg->HwQueueProgressFenceCPUVirtualAddress, 0);
    return miniport_forward_create_hw_queue(self, object, arg);
}

static NTSTATUS see_destroy(struct miniport *self, HANDLE object)
{
    seen.destroyed++;
    return miniport_forward_destroy_hw_queue(self, object);
}

static NTSTATUS see_submit(struct miniport *self, HANDLE object,
                           const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    seen.submitted++;
    seen.submitted_presents += arg->Flags.Present;
    seen.last_id = arg->HwQueueProgressFenceId;
    return miniport_forward_submit_command_to_hw_queue(self, object, arg);
}

static NTSTATUS see_virtual(struct miniport *self, HANDLE object,
                            const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    seen.by_fence += !arg->Flags.Paging;
    return miniport_forward_submit_command_virtual(self, object, arg);
}

static NTSTATUS see_metadata(struct miniport *self, HANDLE object, struct miniport_node *arg)
{
    seen.metadata++;
    return miniport_forward_get_node_metadata(self, object, arg);
}

static NTSTATUS see_reset(struct miniport *self, HANDLE object)
{
    seen.resets++;
    return miniport_forward_reset_from_timeout(self, object);
}

static bool resumes_no_engine;

static NTSTATUS see_suspend(struct miniport *self, HANDLE object, const DXGKARG_SUSPENDCONTEXT *arg)
{
    NTSTATUS status = miniport_forward_suspend_context(self, object, arg);

    assert_true(status == STATUS_SUCCESS || status == STATUS_PENDING);
    seen.suspended++;
    seen.suspended_at_once += status == STATUS_SUCCESS;
    return status;
}

static NTSTATUS see_resume(struct miniport *self, HANDLE object, const DXGKARG_RESUMECONTEXT *arg)
{
    seen.resumed++;
    return miniport_forward_resume_context(self, object, arg);
}

static NTSTATUS see_engine_reset(struct miniport *self, HANDLE object, DXGKARG_RESETHWENGINE *arg)
{
    seen.engine_resets++;
    return miniport_forward_reset_hw_engine(self, object, arg);
}

static NTSTATUS see_engine_resumption(struct miniport *self, HANDLE object,
                                      DXGKARG_RESUMEHWENGINE *arg)
{
    seen.engine_resumptions++;
    return resumes_no_engine ? STATUS_UNSUCCESSFUL
                             : miniport_forward_resume_hw_engine(self, object, arg);
}

static NTSTATUS see_list(struct miniport *self, HANDLE object,
                         const DXGKARG_SWITCHTOHWCONTEXTLIST *arg)
{
    seen.lists++;
    seen.empty_lists += !arg->hHwContextFirst;
    assert_true(arg->hHwContextFirst || !arg->hHwContextSecond);
    return miniport_forward_switch_to_hw_context_list(self, object, arg);
}

static NTSTATUS see_present(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    NTSTATUS status = miniport_forward_present_to_hw_queue(self, object, arg);

    assert_true(NT_SUCCESS(status));
    seen.presented++;
    return status;
}

static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;
    struct miniport_ops *ops = test_put_layer(base_services_libc(), next, &layer);

    ops->create_context = see_context;
    ops->create_hw_queue = see_create;
    ops->setup_priority_bands = see_bands;
    ops->set_context_scheduling_properties = see_properties;
    ops->set_scheduling_log_buffer = see_log;
    ops->destroy_hw_queue = see_destroy;
    ops->submit_command_to_hw_queue = see_submit;
    ops->present_to_hw_queue = see_present;
    ops->submit_command_virtual = see_virtual;
    ops->get_node_metadata = see_metadata;
    ops->reset_from_timeout = see_reset;
    ops->suspend_context = see_suspend;
    ops->resume_context = see_resume;
    ops->reset_hw_engine = see_engine_reset;
    ops->resume_hw_engine = see_engine_resumption;
    ops->switch_to_hw_context_list = see_list;
    return layer;
}

#define MORE_CONTEXTS "context c3\ncontext c4\n"

static void play(const char *is_on, const char *lines)
{
    char text[1024];
    struct workload *workload;
    struct run_config config;
    struct run_result *result;

    memset(&seen, 0, sizeof seen);
    snprintf(text, sizeof text,
             "drydock-case 1\noption timeout 300000\noption hardware-queues %s\n"
             "context c0\ncontext c1\ncontext c2 node=1\n%salloc a size=64K\n%s",
             is_on, strstr(is_on, "queues-per-context") ? MORE_CONTEXTS : "", lines);
    workload = test_parse(text);
    config = test_config(workload);
    config.add_layer = put_on_top;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    test_finish(result);
}

/* Of the node that renders alone; c2 goes by fence ids. */
static void contexts_of_a_node_with_queues_submit_to_them(void **state)
{
    play("yes", "submit c0 duration=5000 a:w\nsubmit c1 duration=1000 a:r\n"
                "submit c2 duration=1000 a:r\nsubmit c0 duration=1000 a:rw\nwait all\n");
    assert_int_equal(seen.metadata, 2);
    assert_int_equal(seen.created, 2);
    assert_int_equal(seen.destroyed, 2);
    assert_int_equal(seen.submitted, 3);
    assert_int_equal(seen.by_fence, 1);
}

/* Its DMA buffer is the manager's, and runs in the order of the queue; contents are compared. */
static void presents_go_to_the_queue_of_their_context(void **state)
{
    static const char lines[] =
        "alloc b size=64K\nsubmit c0 duration=5000 a:w\nsubmit c0 duration=1000 present=3 a:r b:w\n"
        "submit c0 duration=1000 b:rw\nsubmit c2 duration=1000 present=1 a:r b:w\nwait all\nread "
        "b\n";

    play("yes", lines);
    assert_true(seen.presented > 0);
    assert_int_equal(seen.submitted_presents, seen.presented);
    assert_int_equal(seen.submitted, 2 + seen.presented);
    play("no", lines);
    assert_int_equal(seen.presented, 0);
}

static void nobody_asks_where_the_system_does_not_enable_them(void **state)
{
    play("no", "submit c0 duration=5000 a:w\nwait all\n");
    assert_int_equal(seen.metadata, 0);
    assert_int_equal(seen.created, 0);
    assert_int_equal(seen.submitted, 0);
    assert_int_equal(seen.by_fence, 1);
}

static void a_context_that_comes_again_has_a_queue_again(void **state)
{
    play("yes", "submit c0 duration=1000 a:w\nrenew c0\nsubmit c0 duration=1000 a:r\nwait all\n");
    assert_int_equal(seen.created, 3);
    assert_int_equal(seen.destroyed, 3);
    assert_int_equal(seen.submitted, 2);
}

#define TOGETHER "yes\noption queues-per-context 2"

/* c0 and c1, and c3 and c4; c2 is on a node without queues. */
static void contexts_are_queues_of_one_context_of_the_drivers(void **state)
{
    static const char lines[] =
        "submit c0 duration=5000 a:w\nsubmit c1 duration=1000\nsubmit c3 duration=1000\nwait all\n"
        "submit c0 duration=1000 a:rw\nwait c0\nsubmit c1 duration=1000 a:r\nwait all\n";

    play(TOGETHER "\noption context-lists newest\noption suspended-contexts all", lines);
    assert_int_equal(seen.contexts, 2);
    assert_int_equal(seen.created, 4);
    assert_int_equal(seen.destroyed, 4);
    assert_int_equal(seen.submitted, 5);
}

static void a_queue_goes_alone_and_the_first_one_with_all_of_its_context(void **state)
{
    play(TOGETHER, "submit c0 duration=50000 a:w\nsubmit c1 duration=1000\nrenew c1\n"
                   "submit c1 duration=1000\nwait all\n");
    assert_int_equal(seen.contexts, 2);
    assert_int_equal(seen.created, 5);
    play(TOGETHER, "submit c0 duration=1000 a:w\nsubmit c1 duration=1000\nrenew c0\n"
                   "submit c1 duration=1000 a:r\nsubmit c0 duration=1000\nwait all\n");
    assert_int_equal(seen.contexts, 3);
    assert_int_equal(seen.created, 6);
    assert_int_equal(seen.destroyed, 6);
}

/* Whichever of them hangs, the driver's context is invalid with both. */
static void a_hang_in_one_queue_is_one_of_its_context(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        play(TOGETHER,
             i ? "hang 0\nsubmit c0 duration=1000 a:w\nsubmit c1 duration=1000\nwait all\n"
                 "submit c0 duration=1000 a:w\nsubmit c1 duration=1000\nwait all\n"
               : "hang 0\nsubmit c1 duration=1000 a:w\nsubmit c0 duration=1000\nwait all\n"
                 "submit c0 duration=1000 a:w\nsubmit c1 duration=1000\nwait all\n");
        assert_int_equal(seen.engine_resets, 1);
        assert_int_equal(seen.resets, 0);
        assert_int_equal(seen.contexts, 3);
        assert_int_equal(seen.created, 6);
        assert_int_equal(seen.destroyed, 6);
    }
}

/* The second queue is refused, and a context of its own for it, too: the first one goes again. */
static void queues_that_cannot_all_be_made_anew_stay_until_they_can(void **state)
{
    behind_reset.made = 2;
    behind_reset.refused = 5;
    play(TOGETHER, "hang 0\nsubmit c0 duration=1000 a:w\nsubmit c1 duration=1000\nwait all\n"
                   "submit c1 duration=1000\nsubmit c0 duration=1000 a:w\nwait all\n"
                   "submit c0 duration=1000 a:w\nsubmit c1 duration=1000 a:r\nwait all\n");
    assert_int_equal(behind_reset.refused, 0);
    assert_int_equal(seen.engine_resets, 1);
    assert_int_equal(seen.contexts, 4);
    assert_int_equal(seen.created, 7);
    assert_int_equal(seen.destroyed, 7);
    assert_true(seen.submitted >= 3);
}

/* Its context ends, and another one, with a queue of its own, takes its place. */
static void a_hang_in_a_queue_resets_the_engine(void **state)
{
    play("yes", "submit c1 duration=1000 a:w\nwait all\nhang 0\nsubmit c0 duration=1000 a:w\n"
                "submit c1 duration=1000 a:r\nwait all\nsubmit c0 duration=1000 a:w\nwait all\n");
    assert_int_equal(seen.engine_resets, 1);
    assert_int_equal(seen.engine_resumptions, 1);
    assert_int_equal(seen.resets, 0);
    assert_int_equal(seen.created, 3);
    assert_int_equal(seen.destroyed, 3);
    assert_true(seen.submitted >= 4);
}

/* The queues go on with higher ids. */
static void where_the_engine_is_not_resumed_the_adapter_is_reset(void **state)
{
    resumes_no_engine = true;
    play("yes", "hang 0\nsubmit c0 duration=1000 a:w\nwait all\n"
                "submit c1 duration=1000 a:w\nwait all\n");
    resumes_no_engine = false;
    assert_int_equal(seen.engine_resumptions, 1);
    assert_int_equal(seen.resets, 1);
    assert_true(seen.last_id >= 2);
}

static void contexts_are_suspended_in_front_of_a_sleep(void **state)
{
    static const char lines[] =
        "alloc b size=64K\nsubmit c2 duration=1000 b:w\nsubmit c0 duration=1000 a:w\nwait all\n"
        "submit c0 duration=200000 a:w\nsubmit c0 duration=1000 a:rw\n"
        "submit c1 duration=1000 a:r\nsubmit c2 duration=50000 b:w\nwait c2\n"
        "power d3\npower on\nwait all\n";

    play("yes", lines);
    assert_int_equal(seen.suspended, 0);
    play("yes\noption suspended-contexts busy", lines);
    assert_true(seen.suspended > 0);
    assert_int_equal(seen.resumed, seen.suspended);
    play("yes\noption suspended-contexts all", lines);
    assert_true(seen.suspended > seen.created);
    assert_int_equal(seen.submitted, 4);
}

static void engines_are_switched_to_lists_of_contexts(void **state)
{
    static const char lines[] = "submit c0 duration=5000 a:w\nsubmit c1 duration=1000 a:r\n"
                                "submit c0 duration=1000 a:rw\nwait all\n";

    play("yes", lines);
    assert_int_equal(seen.lists, 0);
    play("yes\noption context-lists oldest", lines);
    assert_true(seen.lists > 1);
    assert_true(seen.empty_lists > 0);
    play("yes\noption context-lists newest", lines);
    assert_true(seen.lists > 1);
    assert_int_equal(seen.submitted, 3);
}

static void contexts_have_priorities_and_nodes_have_logs(void **state)
{
    play("yes", "submit c0 duration=1000 a:w\nsubmit c1 duration=1000 a:r\nwait all\n");
    assert_int_equal(seen.banded, 1);
    assert_int_equal(seen.scheduled, 2);
    assert_int_equal(seen.bands, 1u << DXGK_SCHEDULING_PRIORITY_BAND_NORMAL);
    assert_int_equal(seen.logged, 1);
    play("yes\noption priority-bands mixed\noption log-entries 3",
         "submit c0 duration=1000 a:w\nsubmit c1 duration=1000 a:r\nwait all\n");
    assert_int_equal(seen.bands, 1u << DXGK_SCHEDULING_PRIORITY_BAND_NORMAL |
                                     1u << DXGK_SCHEDULING_PRIORITY_BAND_FOCUS);
    assert_true(seen.logged > 1);
    play("yes\noption log-entries 0", "submit c0 duration=1000 a:w\nwait all\n");
    assert_int_equal(seen.logged, 0);
    play("no", "submit c0 duration=1000 a:w\nwait all\n");
    assert_int_equal(seen.banded + seen.scheduled + seen.logged, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_of_a_node_with_queues_submit_to_them),
        cmocka_unit_test(presents_go_to_the_queue_of_their_context),
        cmocka_unit_test(nobody_asks_where_the_system_does_not_enable_them),
        cmocka_unit_test(a_context_that_comes_again_has_a_queue_again),
        cmocka_unit_test(contexts_are_queues_of_one_context_of_the_drivers),
        cmocka_unit_test(a_queue_goes_alone_and_the_first_one_with_all_of_its_context),
        cmocka_unit_test(a_hang_in_one_queue_is_one_of_its_context),
        cmocka_unit_test(queues_that_cannot_all_be_made_anew_stay_until_they_can),
        cmocka_unit_test(a_hang_in_a_queue_resets_the_engine),
        cmocka_unit_test(where_the_engine_is_not_resumed_the_adapter_is_reset),
        cmocka_unit_test(contexts_are_suspended_in_front_of_a_sleep),
        cmocka_unit_test(engines_are_switched_to_lists_of_contexts),
        cmocka_unit_test(contexts_have_priorities_and_nodes_have_logs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
