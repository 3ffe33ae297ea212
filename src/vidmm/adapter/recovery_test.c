/* Resets that come amid other things: a recovery that is just ending, a sleep. */
#include "vidmm/adapter/pump.h"
#include "vidmm/adapter/recovery.h"

#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

#define TIMEOUT_NS 1000u

struct silence {
    UINT last_fences[2]; /* submitted, by node */
    NTSTATUS engine_status;
    unsigned asked, engines; /* nodes, as bits: for their state; that were reset */
    NTSTATUS(*submit)
    (struct miniport *self, HANDLE context, const DXGKARG_SUBMITCOMMANDVIRTUAL *args);
    bool is_silent;
    unsigned resets, submitted;
};

static NTSTATUS begin_silence(struct miniport *self, HANDLE adapter)
{
    struct silence *silence = rig_of(self)->test;

    silence->is_silent = true;
    silence->resets++;
    return STATUS_SUCCESS;
}

static NTSTATUS end_silence(struct miniport *self, HANDLE adapter)
{
    struct silence *silence = rig_of(self)->test;

    silence->is_silent = false;
    return STATUS_SUCCESS;
}

static NTSTATUS submit(struct miniport *self, HANDLE context,
                       const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    struct silence *silence = rig_of(self)->test;

    assert_false(silence->is_silent); /* TDR-003 */
    silence->submitted++;
    silence->last_fences[args->NodeOrdinal] = args->SubmissionFenceId;
    return silence->submit(self, context, args);
}

static NTSTATUS set_power_state(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

/* The transfer of nothing that tells of a lost place: the model of the rig has no such thing. */
static bool skip_lost_places(struct rig *rig, DXGKARG_BUILDPAGINGBUFFER *args, NTSTATUS *status)
{
    *status = STATUS_SUCCESS;
    return args->Operation == DXGK_OPERATION_TRANSFER && !args->Transfer.TransferSize;
}

static struct rig *make_rig_of(struct silence *silence, struct rig_config config)
{
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_new(&config);
    rig->manager.timeout_ns = TIMEOUT_NS;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    *silence = (struct silence){.submit = rig->ops.submit_command_virtual};
    rig->test = silence;
    rig->ops.reset_from_timeout = begin_silence;
    rig->ops.restart_from_timeout = end_silence;
    rig->ops.submit_command_virtual = submit;
    rig->ops.set_power_state = set_power_state;
    rig->build_hook = skip_lost_places;
    return rig;
}

static struct rig *make_rig(struct silence *silence)
{
    return make_rig_of(silence, rig_model(2));
}

/* The last packet of a recovery is complete, and its DPC has not run: the next reset retires it. */
static void a_recovery_that_ends_in_a_reset_lets_no_work_go(void **state)
{
    struct silence silence;
    struct rig *rig = make_rig(&silence);
    const struct rig_request in_aperture = {
        .bytes = 16 * PAGE_BYTES, .preferred = {2}, .is_physical = true};
    struct rig_object object;
    unsigned node;

    assert_int_equal(rig_try_object(rig, rig->device, &in_aperture, &object), STATUS_SUCCESS);
    rig_make_resident(rig, &object);
    rig_drain(rig);
    vidmm_reset(rig->vidmm);
    for (;;) {
        for (node = 0; node < 2 && list_is_empty(&rig->queued[node]); node++)
            ;
        if (node == 2)
            break;
        rig_run_next(rig, node);
        if (!list_is_empty(&rig->queued[node]))
            rig_tell(rig);
    }
    silence.submitted = 0;
    vidmm_reset(rig->vidmm);
    rig_drain(rig);
    assert_int_equal(silence.resets, 2);
    assert_true(silence.submitted > 0);
    vidmm_device_clear_error(rig->device);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* One device has made it and, where it has left it, has it no more; one has it open; one has not.
 */
static void lost_content_is_the_loss_of_each_device_that_has_it(void **state)
{
    for (int has_left = 0; has_left < 2; has_left++) {
        struct silence silence;
        struct rig *rig = make_rig(&silence);
        const struct rig_request request = {.bytes = 4 * PAGE_BYTES, .preferred = {1}};
        struct vidmm_device *maker, *stranger;
        struct rig_object object;

        assert_int_equal(vidmm_device_create(rig->process, &maker), STATUS_SUCCESS);
        assert_int_equal(vidmm_device_create(rig->process, &stranger), STATUS_SUCCESS);
        assert_int_equal(rig_try_object(rig, maker, &request, &object), STATUS_SUCCESS);
        assert_int_equal(vidmm_allocation_open(rig->device, object.allocation, NULL, 0),
                         STATUS_SUCCESS);
        if (has_left)
            assert_int_equal(vidmm_allocation_leave(object.allocation), STATUS_SUCCESS);
        rig_make_resident(rig, &object);
        vidmm_reset(rig->vidmm);
        rig_drain(rig);
        assert_true(rig->vidmm->statistics.lost_allocations > 0);
        assert_true(vidmm_device_is_in_error(rig->device));
        assert_int_equal(vidmm_device_is_in_error(maker), !has_left);
        assert_false(vidmm_device_is_in_error(stranger));
        vidmm_device_clear_error(rig->device);
        vidmm_device_clear_error(maker);
        rig_destroy_object(rig, &object);
        rig_drain(rig);
        vidmm_device_destroy(stranger);
        vidmm_device_destroy(maker);
        rig_free(rig);
    }
}

/* All pages of the object have been moved out of their place, which the model makes void then. */
static bool is_moved(struct rig *rig, const struct rig_object *object)
{
    uint64_t page = 0;

    while (page < object->pages &&
           rig_page(rig, 1, segment_page_offset(object->allocation, page) / PAGE_BYTES)->content ==
               RIG_POISON)
        page++;
    return page == object->pages;
}

/*
 * Small allocations leave one behind the other, in paging buffers of a few operations, and so many
 * packets run before the reset. Some leave, and their content has arrived: it is kept. That of
 * others has not, and is lost.
 */
static void what_has_arrived_before_a_reset_is_kept(void **state)
{
    unsigned kept = 0, lost = 0;

    for (unsigned packets = 0; packets < 12; packets++) {
        struct rig_config config = rig_model(1);
        struct silence silence;
        struct rig_object small[4], large;
        struct rig_done done = {0};
        bool leaves[4], is_out[4];
        uint64_t fence;
        struct rig *rig;

        config.buffer_bytes = 512;
        rig = make_rig_of(&silence, config);
        for (unsigned i = 0; i < ARRAY_COUNT(small); i++) {
            rig_object(rig, 4, 1, &small[i]);
            rig_map(rig, &small[i]);
            rig_make_resident(rig, &small[i]);
            rig_gpu(rig, &small[i], 4);
            rig_drain(rig);
            rig_evict(rig, &small[i]);
        }
        rig_object(rig, 250, 1, &large);
        assert_int_equal(
            vidmm_make_resident(rig->device, 1, &large.allocation, rig_done, &done, &fence),
            STATUS_PENDING);
        for (unsigned i = 0; i < packets && !list_is_empty(&rig->queued[1]); i++) {
            rig_run_next(rig, 1);
            rig_tell(rig);
        }
        for (unsigned i = 0; i < ARRAY_COUNT(small); i++) {
            leaves[i] = small[i].allocation->state == ALLOCATION_LEAVING;
            is_out[i] = leaves[i] && is_moved(rig, &small[i]);
        }
        rig_hang(rig);
        vidmm_reset(rig->vidmm);
        for (unsigned i = 0; i < ARRAY_COUNT(small); i++) {
            assert_true(!leaves[i] || small[i].allocation->has_content == is_out[i]);
            kept += is_out[i];
            lost += leaves[i] && !is_out[i];
        }
        for (unsigned i = 0; i < 8 && !vidmm_is_idle(rig->vidmm); i++) {
            vidmm_abort(rig->vidmm, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
            rig_forget_packets(rig);
        }
        assert_int_equal(done.calls, 1);
        large.references = NT_SUCCESS(done.status);
        for (unsigned i = 0; i < ARRAY_COUNT(small); i++)
            rig_destroy_object(rig, &small[i]);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
    assert_true(kept > 0 && lost > 0);
}

/* ALLOC-012: its content is in the backing store, too, while it is in memory and while it leaves.
 */
static void what_the_backing_store_has_is_kept(void **state)
{
    for (unsigned turn = 0; turn < 4; turn++) {
        const bool is_written = turn & 1, leaves = turn & 2; /* by the GPU, behind the lock */
        struct rig_config config = rig_model(0);
        struct rig_request request = {.bytes = 4 * PAGE_BYTES, .preferred = {1}};
        struct rig_object object, large, *list[1] = {&large};
        struct rig_done done = {0};
        struct silence silence;
        struct rig *rig = make_rig_of(&silence, config);
        const DXGK_ALLOCATIONINFOFLAGS flags = {{{.PermanentSysMem = 1, .CpuVisible = 1}}};

        request.flags = flags.Value;
        assert_int_equal(rig_try_object(rig, rig->device, &request, &object), STATUS_SUCCESS);
        rig_object(rig, 253, 1, &large);
        rig_gpu(rig, &object, 4);
        rig_lock(rig, &object);
        vidmm_unlock(object.allocation); /* what the lock took out comes back */
        rig_drain(rig);
        if (is_written)
            rig_gpu(rig, &object, 4);
        if (leaves)
            assert_int_equal(rig_gpu_in(rig, rig->context, list, 1, 4, rig_done, &done),
                             STATUS_SUCCESS);
        assert_int_equal(object.allocation->state,
                         leaves ? ALLOCATION_LEAVING : ALLOCATION_RESIDENT);
        rig_hang(rig);
        vidmm_reset(rig->vidmm);
        assert_int_equal(object.allocation->has_content, !is_written);
        for (unsigned i = 0; i < 8 && !vidmm_is_idle(rig->vidmm); i++) {
            vidmm_abort(rig->vidmm, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
            rig_forget_packets(rig);
        }
        rig_destroy_object(rig, &object);
        rig_destroy_object(rig, &large);
        rig_free(rig);
    }
}

/* It keeps its place through the sleep for a holder, who lets it go meanwhile. */
static void what_was_destroyed_in_a_sleep_goes_after_a_reset_too(void **state)
{
    struct silence silence;
    struct rig *rig = make_rig(&silence);
    struct rig_object object;
    struct rig_done done = {0};

    rig_object(rig, 16, 1, &object);
    rig_make_resident(rig, &object);
    assert_int_equal(vidmm_power_down(rig->vidmm, VIDMM_SLEEP_STANDBY, rig_done, &done),
                     STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(done.calls, 1);
    rig_evict(rig, &object);
    rig_destroy_object(rig, &object);
    vidmm_reset(rig->vidmm);
    while (rig_step_machine(rig)) /* it falls asleep once more */
        ;
    assert_int_equal(vidmm_power_up(rig->vidmm), STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(rig->live_handles, 0);
    rig_free(rig);
}

/* The GPU answers neither that nor anything else. */
static NTSTATUS preempt(struct miniport *self, HANDLE adapter, const DXGKARG_PREEMPTCOMMAND *args)
{
    return STATUS_SUCCESS;
}

static NTSTATUS query_fence(struct miniport *self, HANDLE adapter, DXGKARG_QUERYCURRENTFENCE *args)
{
    return STATUS_NOT_SUPPORTED;
}

/*
 * TDR-002: the driver waits for an update of a context allocation, in a call. The wait ends first,
 * and the reset is that of the next look, which is not a time-out away.
 */
static void a_time_out_while_the_driver_waits_is_dealt_with_at_the_next_look(void **state)
{
    struct silence silence;
    struct rig *rig = make_rig(&silence);
    DXGKARGCB_CREATECONTEXTALLOCATION create = {
        .hContext = rig->context,
        .hDriverAllocation = &silence,
        .Size = PAGE_BYTES,
        .Alignment = PAGE_BYTES,
        .SupportedSegmentSet = 1,
        .PreferredSegment = {.SegmentId0 = 1},
    };
    DXGKARGCB_UPDATECONTEXTALLOCATION update = {0};
    struct rig_object object, other;
    struct rig_object *list[] = {&object};
    struct rig_done done = {0}, ran = {0}, resident = {0};
    uint64_t fence;

    rig->ops.preempt_command = preempt;
    rig->ops.query_current_fence = query_fence;
    rig_object(rig, 16, 1, &object);
    rig_object(rig, 16, 1, &other);
    rig_map(rig, &object);
    rig_make_resident(rig, &object);
    assert_int_equal(rig_gpu_in(rig, rig->context, list, 1, 4, rig_done, &ran), STATUS_SUCCESS);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &other.allocation, rig_done, &resident, &fence),
        STATUS_PENDING);
    rig_hang(rig);
    assert_int_equal(vidmm_context_allocation_create(rig->vidmm, &create), STATUS_SUCCESS);
    update.hAllocation = create.hAllocation;
    assert_int_equal(vidmm_context_allocation_update(rig->vidmm, &update, rig_done, &done),
                     STATUS_PENDING);
    vidmm_watch(rig->vidmm, TIMEOUT_NS);
    vidmm_watch(rig->vidmm, 2 * TIMEOUT_NS); /* it is asked to preempt */
    assert_int_equal(done.calls, 0);
    vidmm_watch(rig->vidmm, 3 * TIMEOUT_NS);
    assert_int_equal(done.calls, 1);
    assert_int_equal(silence.resets, 0);
    vidmm_watch(rig->vidmm, 3 * TIMEOUT_NS + 1);
    assert_int_equal(silence.resets, 1);
    for (unsigned i = 0; i < 8 && !vidmm_is_idle(rig->vidmm); i++) {
        vidmm_abort(rig->vidmm, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
        rig_forget_packets(rig);
    }
    assert_int_equal(ran.calls, 1);
    assert_int_equal(vidmm_context_allocation_destroy(rig->vidmm, create.hAllocation),
                     STATUS_SUCCESS);
    assert_int_equal(resident.calls, 1);
    other.references = NT_SUCCESS(resident.status);
    rig_destroy_object(rig, &other);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

/* TDR-012: two are suffered within a window; what is as long ago as the window is wide is not. */
static void the_adapter_ends_when_it_times_out_too_often_within_a_window(void **state)
{
    static const uint64_t times[] = {10, 20, 110, 119};
    struct silence silence;
    struct rig *rig = make_rig(&silence);

    rig->vidmm->config.timeout_limit = 2;
    rig->vidmm->config.timeout_window_ns = 100;
    assert_int_equal(vidmm_preempt(rig->vidmm, 2), STATUS_INVALID_PARAMETER); /* of two nodes */
    for (unsigned i = 0; i < ARRAY_COUNT(times); i++) {
        assert_false(rig->vidmm->is_removed);
        if (i == 3)
            rig->expected_rules = "TDR-012";
        rig->vidmm->recovery.now_ns = times[i];
        assert_true(recovery_timed_out(rig->vidmm, 0));
        vidmm_pump(rig->vidmm);
        assert_int_equal(silence.resets, i + 1);
        rig_drain(rig);
    }
    assert_int_equal(rig->rule_count, 1);
    assert_true(rig->vidmm->is_removed);
    rig_free(rig);
}

/* The GPU drops what it was given. */
static NTSTATUS drop_packets(struct miniport *self, HANDLE adapter)
{
    rig_forget_packets(rig_of(self));
    return begin_silence(self, adapter);
}

/*
 * The GPU has written the value of a request, and is reset before anybody has looked: the request
 * ends before its paging is built anew, and its value is not written a second time.
 */
static void a_value_that_was_written_before_a_reset_ends_its_request(void **state)
{
    struct silence silence;
    struct rig *rig = make_rig(&silence);
    struct rig_done resident = {0};
    struct rig_object object;
    uint64_t fence, signals;

    rig->ops.reset_from_timeout = drop_packets;
    rig_object(rig, 10, 1, &object);
    assert_int_equal(
        vidmm_make_resident(rig->device, 1, &object.allocation, rig_done, &resident, &fence),
        STATUS_PENDING);
    *rig->device->paging_fence.cpu = fence; /* by a packet that has not ended */
    assert_int_equal(resident.calls, 0);
    signals = rig_count(rig, DXGK_OPERATION_SIGNAL_MONITORED_FENCE);
    vidmm_reset(rig->vidmm);
    assert_true(resident.calls == 1 && resident.status == STATUS_SUCCESS);
    rig_drain(rig);
    assert_int_equal(resident.calls, 1);
    assert_int_equal(vidmm_device_paging_fence(rig->device), fence);
    assert_int_equal(rig_count(rig, DXGK_OPERATION_SIGNAL_MONITORED_FENCE), signals);
    object.references = 1;
    vidmm_device_clear_error(rig->device);
    rig_destroy_object(rig, &object);
    rig_free(rig);
}

static NTSTATUS tell_dependent(struct miniport *self, HANDLE adapter,
                               DXGKARG_QUERYDEPENDENTENGINEGROUP *args)
{
    assert_int_equal(args->NodeOrdinal, 0);
    args->DependentNodeOrdinalMask = 2;
    return STATUS_SUCCESS;
}

static NTSTATUS tell_engine(struct miniport *self, HANDLE adapter, DXGKARG_QUERYENGINESTATUS *args)
{
    struct silence *silence = rig_of(self)->test;

    silence->asked |= 1u << args->NodeOrdinal;
    return silence->engine_status;
}

static NTSTATUS reset_engine(struct miniport *self, HANDLE adapter, DXGKARG_RESETENGINE *args)
{
    struct silence *silence = rig_of(self)->test;

    rig_forget_packets(rig_of(self));
    silence->engines |= 1u << args->NodeOrdinal;
    args->LastAbortedFenceId = silence->last_fences[args->NodeOrdinal];
    return STATUS_SUCCESS;
}

/*
 * TDR-013: the driver is asked for the state of the node that timed out, and every answer but
 * success is told. The node is reset with those that depend on it, whatever the answer is.
 */
static void nodes_that_depend_on_each_other_are_reset_and_the_adapter_is_not(void **state)
{
    for (unsigned fails = 0; fails < 2; fails++) {
        struct silence silence;
        struct rig *rig = make_rig(&silence);
        struct rig_done done = {0};
        struct rig_object object;
        struct rig_object *list[1] = {&object};

        rig->vidmm->caps.resets_engines = true;
        rig->ops.query_dependent_engine_group = tell_dependent;
        rig->ops.query_engine_status = tell_engine;
        rig->ops.reset_engine = reset_engine;
        rig_object(rig, 4, 1, &object);
        rig_make_resident(rig, &object);
        rig_map(rig, &object);
        assert_int_equal(rig_gpu_in(rig, rig->context, list, 1, 1, rig_done, &done),
                         STATUS_SUCCESS);
        silence.engine_status = fails ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
        rig->expected_rules = fails ? "TDR-013" : NULL;
        assert_true(recovery_timed_out(rig->vidmm, 0));
        vidmm_pump(rig->vidmm);
        assert_int_equal(rig->rule_count, fails);
        assert_int_equal(silence.asked, 1);
        assert_int_equal(silence.engines, 3);
        assert_int_equal(silence.resets, 0);
        assert_int_equal(vidmm_statistics(rig->vidmm)->engine_resets, 2);
        assert_int_equal(done.calls, 1);
        assert_int_equal(done.status, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
        vidmm_device_clear_error(rig->device);
        rig_gpu(rig, &object, 4);
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recovery_that_ends_in_a_reset_lets_no_work_go),
        cmocka_unit_test(lost_content_is_the_loss_of_each_device_that_has_it),
        cmocka_unit_test(what_has_arrived_before_a_reset_is_kept),
        cmocka_unit_test(what_the_backing_store_has_is_kept),
        cmocka_unit_test(what_was_destroyed_in_a_sleep_goes_after_a_reset_too),
        cmocka_unit_test(the_adapter_ends_when_it_times_out_too_often_within_a_window),
        cmocka_unit_test(a_time_out_while_the_driver_waits_is_dealt_with_at_the_next_look),
        cmocka_unit_test(nodes_that_depend_on_each_other_are_reset_and_the_adapter_is_not),
        cmocka_unit_test(a_value_that_was_written_before_a_reset_ends_its_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
