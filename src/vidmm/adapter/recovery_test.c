/* Resets that come amid other things: a recovery that is just ending, a sleep. */
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

struct silence {
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

static struct rig *make_rig(struct silence *silence)
{
    struct rig_config config = rig_model(2);
    struct rig *rig;

    config.keeps_tables_in_system = true;
    rig = rig_create(&config);
    *silence = (struct silence){.submit = rig->ops.submit_command_virtual};
    rig->test = silence;
    rig->ops.reset_from_timeout = begin_silence;
    rig->ops.restart_from_timeout = end_silence;
    rig->ops.submit_command_virtual = submit;
    rig->ops.set_power_state = set_power_state;
    rig->build_hook = skip_lost_places;
    return rig;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recovery_that_ends_in_a_reset_lets_no_work_go),
        cmocka_unit_test(what_was_destroyed_in_a_sleep_goes_after_a_reset_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
