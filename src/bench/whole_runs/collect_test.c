/* Debug reports: in front of each reset, and when a case asks. */
#include "bench/whole_runs/test_run.h"

#include <bugcodes.h>

/* The calls, in order: a reason, or one of these. */
enum { RESET_ENGINE = 1, RESET_ADAPTER };

static struct {
    UINT calls[16];
    unsigned count;
    SIZE_T bytes; /* of the last report */
    UINT key;     /* and the driver's answer */
    /* What the newer function heard more, of each call. */
    DXGK_TDR_TYPE types[16];
    unsigned type_count;
    DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT timeout; /* the last one */
} seen;

static void note(UINT call)
{
    assert_true(seen.count < sizeof seen.calls / sizeof *seen.calls);
    seen.calls[seen.count++] = call;
}

static NTSTATUS see_report(struct miniport *self, HANDLE object, const DXGKARG_COLLECTDBGINFO *arg)
{
    NTSTATUS status = miniport_forward_collect_dbg_info(self, object, arg);

    note(arg->Reason);
    seen.bytes = arg->BufferSize;
    seen.key = arg->pExtension->BucketingKey;
    return status;
}

static NTSTATUS see_newer_report(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *arg)
{
    NTSTATUS status = miniport_forward_collect_dbg_info2(self, object, arg);

    note(arg->Reason);
    seen.types[seen.type_count++] = arg->TdrType;
    if (arg->TdrPayload) {
        assert_int_equal(arg->TdrPayloadSize, sizeof seen.timeout);
        memcpy(&seen.timeout, arg->TdrPayload, sizeof seen.timeout);
    }
    seen.bytes = arg->BufferSize;
    seen.key = arg->pExtension->BucketingKey;
    return status;
}

static NTSTATUS see_engine(struct miniport *self, HANDLE object, DXGKARG_RESETENGINE *arg)
{
    note(RESET_ENGINE);
    return miniport_forward_reset_engine(self, object, arg);
}

static NTSTATUS see_adapter(struct miniport *self, HANDLE object)
{
    note(RESET_ADAPTER);
    return miniport_forward_reset_from_timeout(self, object);
}

static struct miniport *put_on_top(void *context, struct miniport *next)
{
    struct miniport *layer = NULL;
    struct miniport_ops *ops = test_put_layer(base_services_libc(), next, &layer);

    ops->collect_dbg_info = see_report;
    ops->collect_dbg_info2 = see_newer_report;
    ops->reset_engine = see_engine;
    ops->reset_from_timeout = see_adapter;
    return layer;
}

static void play_at(const char *model, const char *wddm, const char *lines)
{
    char text[512];
    struct workload *workload;
    struct run_config config;
    struct run_result *result;

    memset(&seen, 0, sizeof seen);
    snprintf(text, sizeof text,
             "drydock-case 1\noption timeout 300000\n%s"
             "context c0\ncontext c1 node=1\nalloc a size=64K\n%s",
             strstr(lines, "adapter") ? "option resets adapter\n" : "", lines);
    workload = test_parse(text);
    test_option(workload, "model", model);
    if (wddm)
        test_option(workload, "wddm", wddm);
    config = test_config(workload);
    config.add_layer = put_on_top;
    result = test_execute(&config, workload);
    test_assert_clean(result);
    test_finish(result);
}

static void play(const char *model, const char *lines)
{
    play_at(model, NULL, lines);
}

static void an_engine_tells_before_it_is_reset(void **state)
{
    play("gpummu", "hang 0\nsubmit c0 duration=1000 a:w\nwait all\n");
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.calls[0], VIDEO_ENGINE_TIMEOUT_DETECTED);
    assert_int_equal(seen.calls[1], RESET_ENGINE);
    assert_int_equal(seen.key, 1); /* node 0 is at work */
}

static void the_adapter_tells_before_it_is_reset(void **state)
{
    play("physical", "hang 0 # resets the adapter\nsubmit c0 duration=1000 a:w\nwait all\n");
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.calls[0], VIDEO_TDR_TIMEOUT_DETECTED);
    assert_int_equal(seen.calls[1], RESET_ADAPTER);
    assert_int_equal(seen.key, 1);
}

static void a_line_asks_amid_work(void **state)
{
    play("gpummu", "submit c0 duration=90000 a:w\ncollect\n");
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.calls[0], VIDEO_TDR_TIMEOUT_DETECTED);
    assert_int_equal(seen.bytes, 2048);
    assert_int_equal(seen.key, 2); /* node 1 clears a */
    play("iommu", "collect for=engine bytes=7\ncollect bytes=0\n");
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.calls[0], VIDEO_ENGINE_TIMEOUT_DETECTED);
    assert_int_equal(seen.bytes, 0);
}

static void a_newer_driver_hears_which_engine_timed_out(void **state)
{
    play_at("gpummu", "3.2",
            "submit c1 a:w\nwait all\nhang 0\nsubmit c0 duration=1000 a:w\nwait all\n");
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.calls[0], VIDEO_ENGINE_TIMEOUT_DETECTED);
    assert_int_equal(seen.calls[1], RESET_ENGINE);
    assert_int_equal(seen.type_count, 1);
    assert_int_equal(seen.types[0], DXGK_TDR_TYPE_ENGINE_TIMEOUT);
    assert_int_equal(seen.timeout.NodeOrdinal, 0);
    assert_int_equal(seen.timeout.LastHwSubmittedFenceId,
                     seen.timeout.LastHwCompletedFenceId + 1); /* the packet that hangs */
    assert_int_equal(seen.key, 1);
}

static void a_newer_driver_hears_why_the_adapter_is_reset(void **state)
{
    play_at("gpummu", "3.2",
            "hang 0 # resets the adapter\nsubmit c0 duration=1000 a:w\nwait all\n"
            "reset\ncollect\ncollect for=engine\n");
    assert_int_equal(seen.type_count, 4);
    assert_int_equal(seen.types[0], DXGK_TDR_TYPE_PREEMPT_TIMEOUT);
    assert_int_equal(seen.types[1], DXGK_TDR_TYPE_FORCED);
    assert_int_equal(seen.types[2], DXGK_TDR_TYPE_FORCED);
    assert_int_equal(seen.types[3], DXGK_TDR_TYPE_ENGINE_TIMEOUT);
    assert_int_equal(seen.timeout.LastHwSubmittedFenceId, 0); /* no payload was there */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_engine_tells_before_it_is_reset),
        cmocka_unit_test(the_adapter_tells_before_it_is_reset),
        cmocka_unit_test(a_line_asks_amid_work),
        cmocka_unit_test(a_newer_driver_hears_which_engine_timed_out),
        cmocka_unit_test(a_newer_driver_hears_why_the_adapter_is_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
