/*
 * Scan-out: what the driver is told of a primary that is shown, and how long it stays where it is.
 */
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/failing_services.h"

#define PAGES 16

/* The driver: what it was told last, and how often. */
struct display {
    struct rig *rig;
    DXGKARG_SETVIDPNSOURCEADDRESS last;
    unsigned addresses, shown, hidden;
    NTSTATUS status, visibility_status;
    struct rig_object front, back;
    unsigned controls;
    DXGKARG_CONTROLINTERRUPT3 control; /* the last one */
    struct rig_done done;
};

static NTSTATUS set_address(struct miniport *self, HANDLE object,
                            const DXGKARG_SETVIDPNSOURCEADDRESS *args)
{
    struct display *display = rig_of(self)->test;

    display->addresses++;
    display->last = *args;
    return display->status;
}

static NTSTATUS set_visibility(struct miniport *self, HANDLE object,
                               const DXGKARG_SETVIDPNSOURCEVISIBILITY *args)
{
    struct display *display = rig_of(self)->test;

    *(args->Visible ? &display->shown : &display->hidden) += 1;
    return display->visibility_status;
}

static NTSTATUS control(struct miniport *self, HANDLE object, const DXGKARG_CONTROLINTERRUPT3 *args)
{
    struct display *display = rig_of(self)->test;

    assert_int_equal(args->InterruptType, DXGK_INTERRUPT_CRTC_VSYNC);
    display->controls++;
    display->control = *args;
    return STATUS_SUCCESS;
}

static NTSTATUS flip(struct miniport *self, HANDLE context, DXGKARG_PRESENT *args)
{
    assert_true(args->Flags.Flip && !args->pDmaBuffer);
    assert_non_null(args->pAllocationList[DXGK_PRESENT_SOURCE_INDEX].hDeviceSpecificAllocation);
    return STATUS_SUCCESS;
}

static NTSTATUS set_power(struct miniport *self, ULONG device, DEVICE_POWER_STATE state,
                          POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

static void init(struct display *display, unsigned model)
{
    struct rig_config config = rig_model(model);
    struct rig *rig;

    config.keeps_tables_in_system = model == 2;
    rig = rig_new(&config);
    rig->ops.set_power_state = set_power;
    rig->ops.set_vid_pn_source_address = set_address;
    rig->ops.set_vid_pn_source_visibility = set_visibility;
    rig->ops.present = flip;
    rig->ops.control_interrupt3 = control;
    *display = (struct display){.rig = rig};
    rig->test = display;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    rig->vidmm->caps.flips_by_registers = true;
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    rig_object(rig, PAGES, 1, &display->front);
    rig_object(rig, PAGES, 1, &display->back);
    display->front.allocation->is_primary = display->back.allocation->is_primary = true;
}

static void fini(struct display *display)
{
    rig_destroy_object(display->rig, &display->front);
    rig_destroy_object(display->rig, &display->back);
    rig_drain(display->rig);
    rig_free(display->rig);
}

static void show(struct display *display, struct rig_object *object)
{
    assert_int_equal(vidmm_show(object->allocation, rig_done, &display->done), STATUS_PENDING);
    rig_drain(display->rig);
}

static void sync(struct display *display, uint64_t address)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC};

    data.CrtcVsync.PhysicalAddress.QuadPart = (LONGLONG)address;
    vidmm_notify_interrupt(display->rig->vidmm, &data);
    vidmm_notify_dpc(display->rig->vidmm);
}

static uint64_t address_of(const struct display *display)
{
    return (uint64_t)display->last.PrimaryAddress.QuadPart;
}

static void the_first_one_changes_the_mode_and_others_are_flips(void **state)
{
    for (unsigned model = 0; model <= 2; model += 2) {
        struct display display;

        init(&display, model);
        show(&display, &display.front);
        assert_int_equal(display.addresses, 1);
        assert_true(display.last.Flags.ModeChange && !display.last.ContextCount);
        assert_int_equal(display.last.PrimarySegment, 1);
        assert_ptr_equal(display.last.hAllocation, display.front.allocation->driver_handle);
        assert_int_equal(display.shown, 1);
        assert_int_equal(display.done.calls, 0);
        assert_int_equal(vidmm_show(display.back.allocation, NULL, NULL), STATUS_DEVICE_BUSY);
        sync(&display, address_of(&display) + PAGE_BYTES); /* of something else */
        assert_int_equal(display.done.calls, 0);
        sync(&display, address_of(&display));
        assert_int_equal(display.done.calls, 1);
        assert_int_equal(display.done.status, STATUS_SUCCESS);
        show(&display, &display.back);
        assert_true(!display.last.Flags.ModeChange && display.last.ContextCount == 1);
        assert_int_equal(display.shown, 1);
        sync(&display, address_of(&display));
        assert_int_equal(display.done.calls, 2);
        fini(&display);
        assert_int_equal(display.hidden, 1);
    }
}

/* Both stay until the new one is scanned out; then the one before may go. */
static void the_one_before_stays_until_a_sync_tells_of_the_other(void **state)
{
    struct display display;

    init(&display, 2);
    show(&display, &display.front);
    sync(&display, address_of(&display));
    show(&display, &display.back);
    assert_true(scan_out_keeps(display.front.allocation));
    assert_int_equal(vidmm_move(display.front.allocation, 1), STATUS_GRAPHICS_ALLOCATION_BUSY);
    sync(&display, address_of(&display));
    assert_false(scan_out_keeps(display.front.allocation));
    assert_true(scan_out_keeps(display.back.allocation));
    assert_int_equal(vidmm_hide(display.rig->vidmm), STATUS_SUCCESS);
    assert_false(scan_out_keeps(display.back.allocation));
    assert_int_equal(display.hidden, 1);
    fini(&display);
    assert_int_equal(display.hidden, 1);
}

static void a_reset_a_sleep_and_the_end_of_it_show_nothing(void **state)
{
    struct rig_done slept = {0};
    struct display display;

    init(&display, 2);
    show(&display, &display.front);
    scan_out_forget(display.rig->vidmm, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    assert_int_equal(display.done.calls, 1);
    assert_int_equal(display.done.status, STATUS_GRAPHICS_ADAPTER_WAS_RESET);
    assert_int_equal(display.hidden, 0); /* the hardware does not show it either */
    show(&display, &display.back);
    sync(&display, address_of(&display));
    assert_int_equal(vidmm_power_down(display.rig->vidmm, VIDMM_SLEEP_STANDBY, rig_done, &slept),
                     STATUS_SUCCESS);
    assert_int_equal(display.hidden, 1);
    rig_drain(display.rig);
    assert_int_equal(slept.status, STATUS_SUCCESS);
    assert_int_equal(vidmm_show(display.back.allocation, NULL, NULL), STATUS_DEVICE_BUSY);
    assert_int_equal(vidmm_power_up(display.rig->vidmm), STATUS_SUCCESS);
    rig_drain(display.rig);
    show(&display, &display.back);
    assert_true(display.last.Flags.ModeChange);
    rig_destroy_object(display.rig, &display.back);
    assert_int_equal(display.hidden, 2);
    assert_int_equal(display.done.status, STATUS_CANCELLED);
    rig_object(display.rig, PAGES, 1, &display.back);
    fini(&display);
}

static void what_cannot_be_shown_is_refused(void **state)
{
    struct display display;

    init(&display, 2);
    display.back.allocation->is_primary = false;
    assert_int_equal(vidmm_show(display.back.allocation, NULL, NULL), STATUS_INVALID_PARAMETER);
    display.rig->expected_rules = "FENCE-021";
    display.status = STATUS_INVALID_PARAMETER;
    show(&display, &display.front);
    assert_int_equal(display.done.calls, 1);
    assert_int_equal(display.done.status, STATUS_INVALID_PARAMETER);
    assert_false(scan_out_keeps(display.front.allocation));
    display.rig->vidmm->caps.flips_by_registers = false;
    assert_int_equal(vidmm_show(display.front.allocation, NULL, NULL), STATUS_NOT_SUPPORTED);
    assert_int_equal(vidmm_hide(display.rig->vidmm), STATUS_NOT_SUPPORTED);
    fini(&display);
}

/* Hidden while it is brought in: it is not shown when it is there. */
static void what_is_hidden_before_it_is_there_is_not_shown(void **state)
{
    struct display display;

    init(&display, 2);
    assert_int_equal(vidmm_show(display.front.allocation, rig_done, &display.done), STATUS_PENDING);
    assert_int_equal(display.addresses, 0);
    assert_int_equal(vidmm_hide(display.rig->vidmm), STATUS_SUCCESS);
    rig_drain(display.rig);
    assert_int_equal(display.done.calls, 1);
    assert_int_equal(display.done.status, STATUS_CANCELLED);
    assert_int_equal(display.addresses + display.hidden, 0);
    assert_false(scan_out_keeps(display.front.allocation));
    show(&display, &display.front);
    assert_int_equal(display.addresses, 1);
    sync(&display, address_of(&display));
    assert_int_equal(display.done.status, STATUS_SUCCESS);
    fini(&display);
}

/* The driver may not refuse; what it does is told, and the primary is hidden all the same. */
static void a_driver_that_does_not_hide_is_told(void **state)
{
    struct display display;
    unsigned errors;

    init(&display, 2);
    show(&display, &display.front);
    sync(&display, address_of(&display));
    display.visibility_status = STATUS_UNSUCCESSFUL;
    display.rig->expected_rules = "FENCE-021";
    errors = display.rig->rule_count;
    assert_int_equal(vidmm_hide(display.rig->vidmm), STATUS_SUCCESS);
    assert_int_equal(display.rig->rule_count, errors + 1);
    assert_false(scan_out_keeps(display.front.allocation));
    display.visibility_status = STATUS_SUCCESS;
    fini(&display);
}

static void a_call_without_memory_changes_nothing(void **state)
{
    struct display display;

    init(&display, 2);
    failing_services_fail_at(&display.rig->memory, 1);
    assert_int_equal(vidmm_show(display.front.allocation, rig_done, &display.done),
                     STATUS_NO_MEMORY);
    failing_services_fail_at(&display.rig->memory, 0);
    show(&display, &display.front);
    sync(&display, address_of(&display));
    assert_int_equal(display.done.calls, 1);
    fini(&display);
}

/* FENCE-023: on in front of a flip, off in phase behind it, off for good when nothing is shown. */
static void syncs_are_on_while_somebody_waits_for_one(void **state)
{
    for (unsigned sources = 0; sources < 2; sources++) {
        struct display display;

        init(&display, 0);
        display.rig->vidmm->caps.controls_sources = sources;
        show(&display, &display.front);
        assert_int_equal(display.controls, 1);
        assert_int_equal(display.control.CrtcVsyncState, DXGK_VSYNC_ENABLE);
        assert_int_equal(display.control.VidPnSourceId, sources ? 0 : D3DDDI_ID_ALL);
        sync(&display, address_of(&display));
        assert_int_equal(display.controls, 2);
        assert_int_equal(display.control.CrtcVsyncState, DXGK_VSYNC_DISABLE_KEEP_PHASE);
        show(&display, &display.back);
        assert_int_equal(display.controls, 3);
        assert_int_equal(display.control.CrtcVsyncState, DXGK_VSYNC_ENABLE);
        assert_int_equal(vidmm_hide(display.rig->vidmm), STATUS_SUCCESS);
        assert_int_equal(display.controls, 4);
        assert_int_equal(display.control.CrtcVsyncState, DXGK_VSYNC_DISABLE_NO_PHASE);
        assert_int_equal(display.control.VidPnSourceId, D3DDDI_ID_ALL);
        fini(&display);
    }
}

/* Which of the three functions was called, and with what. */
static struct {
    unsigned lacking; /* of the newest ones: the driver does not have so many */
    unsigned first, second;
    bool is_on;
    DXGK_CRTC_VSYNC_STATE state;
} older;

static bool has_older(struct miniport *self, enum miniport_ddi ddi)
{
    if (ddi == MINIPORT_DDI_ControlInterrupt3)
        return older.lacking < 1;
    if (ddi == MINIPORT_DDI_ControlInterrupt2)
        return older.lacking < 2;
    if (ddi == MINIPORT_DDI_ControlInterrupt)
        return older.lacking < 3;
    return rig_has(self, ddi);
}

static NTSTATUS control_first(struct miniport *self, HANDLE object,
                              const struct miniport_interrupt *args)
{
    assert_int_equal(args->InterruptType, DXGK_INTERRUPT_CRTC_VSYNC);
    older.first++;
    older.is_on = args->EnableInterrupt;
    return STATUS_SUCCESS;
}

static NTSTATUS control_second(struct miniport *self, HANDLE object,
                               const DXGKARG_CONTROLINTERRUPT2 *args)
{
    assert_int_equal(args->InterruptType, DXGK_INTERRUPT_CRTC_VSYNC);
    older.second++;
    older.state = args->CrtcVsyncState;
    return STATUS_SUCCESS;
}

/* FENCE-023: the newest that there is, and no other one. */
static void syncs_are_switched_by_the_newest_function_of_the_driver(void **state)
{
    for (unsigned lacking = 0; lacking <= 3; lacking++) {
        struct display display;

        init(&display, 0);
        memset(&older, 0, sizeof older);
        older.lacking = lacking;
        display.rig->ops.has = has_older;
        display.rig->ops.control_interrupt = control_first;
        display.rig->ops.control_interrupt2 = control_second;
        show(&display, &display.front);
        assert_int_equal(display.controls, lacking == 0);
        assert_int_equal(older.second, lacking == 1);
        assert_int_equal(older.first, lacking == 2);
        assert_true(lacking != 1 || older.state == DXGK_VSYNC_ENABLE);
        assert_true(lacking != 2 || older.is_on);
        sync(&display, address_of(&display));
        assert_int_equal(display.done.calls, 1);
        assert_int_equal(display.controls, 2 * (lacking == 0));
        assert_int_equal(older.second, 2 * (lacking == 1));
        assert_int_equal(older.first, 2 * (lacking == 2));
        assert_true(lacking != 1 || older.state == DXGK_VSYNC_DISABLE_KEEP_PHASE);
        assert_false(older.is_on);
        fini(&display);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_one_changes_the_mode_and_others_are_flips),
        cmocka_unit_test(the_one_before_stays_until_a_sync_tells_of_the_other),
        cmocka_unit_test(a_reset_a_sleep_and_the_end_of_it_show_nothing),
        cmocka_unit_test(what_cannot_be_shown_is_refused),
        cmocka_unit_test(what_is_hidden_before_it_is_there_is_not_shown),
        cmocka_unit_test(a_driver_that_does_not_hide_is_told),
        cmocka_unit_test(a_call_without_memory_changes_nothing),
        cmocka_unit_test(syncs_are_on_while_somebody_waits_for_one),
        cmocka_unit_test(syncs_are_switched_by_the_newest_function_of_the_driver),
    };

    return cmocka_run_group_tests_name("vidmm/scan_out", tests, NULL, NULL);
}
