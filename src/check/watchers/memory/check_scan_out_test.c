#include "check/check_private.h"
#include "check/rig/test_rig_submit.h"

#define SURFACE_BYTES 65536

static DXGKARG_SETVIDPNSOURCEADDRESS mode_at(HANDLE surface, uint64_t address)
{
    DXGKARG_SETVIDPNSOURCEADDRESS arg = {.PrimarySegment = 1, .hAllocation = surface};

    arg.PrimaryAddress.QuadPart = (LONGLONG)address;
    arg.Flags.ModeChange = 1;
    return arg;
}

/* The surface at the start of local memory is shown, as far as the kernel is concerned. */
static HANDLE show(struct rig *rig, uint64_t address)
{
    DXGK_ALLOCATIONINFO info = {0};
    HANDLE surface = rig_create_allocation(rig, &info);
    DXGKARG_SETVIDPNSOURCEADDRESS arg = mode_at(surface, address);

    miniport_set_vid_pn_source_address(rig->top, NULL, &arg);
    return surface;
}

static void hide(struct rig *rig)
{
    const DXGKARG_SETVIDPNSOURCEVISIBILITY arg = {.Visible = FALSE};

    miniport_set_vid_pn_source_visibility(rig->top, NULL, &arg);
}

static void scan(struct rig *rig, uint64_t address)
{
    check_gpu(rig->check, &(struct check_gpu_event){.kind = CHECK_GPU_SCANS, .address = address});
}

static void report(struct rig *rig, uint64_t address)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC};

    data.CrtcVsync.PhysicalAddress.QuadPart = (LONGLONG)address;
    rig_interrupt(rig, &data);
}

static void fill(struct rig *rig, HANDLE surface)
{
    DXGKARG_BUILDPAGINGBUFFER arg = rig_fill(surface);

    rig_build(rig, &arg);
}

/* ---- The surface stays ---- */

RULE_BROKEN_IN(RES_018, RIG_PHYSICAL)
{
    fill(rig, show(rig, 0));
    assert_string_equal(rig->last.text,
                        "is scanned out, or was and the driver has not reported another one");
}

/* Before it is shown, and when it is not any more. */
RULE_KEPT_IN(RES_018, RIG_PHYSICAL)
{
    DXGK_ALLOCATIONINFO info = {0};
    HANDLE other = rig_create_allocation(rig, &info), surface = show(rig, 0);

    scan(rig, 0);
    report(rig, 0);
    fill(rig, other);
    hide(rig);
    fill(rig, surface);
}

static void the_surface_before_stays_until_another_one_is_reported(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_told = 0; is_told < 2; is_told++) {
        HANDLE before;

        rig_init(rig, RIG_PHYSICAL);
        before = show(rig, 0);
        scan(rig, 0);
        report(rig, 0);
        show(rig, SURFACE_BYTES);
        scan(rig, SURFACE_BYTES);
        if (is_told)
            report(rig, SURFACE_BYTES);
        fill(rig, before);
        rig_expect_only(rig, is_told ? RULE_NONE : RULE_RES_018);
        rig_fini(rig);
    }
    free(rig);
}

static void rule_RES_018_is_found_when_a_shown_surface_is_destroyed(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    rig_destroy_allocation(rig, show(rig, 0));
    assert_true(rig->counts.broken[RULE_RES_018] > 0);
    rig_fini(rig);
    free(rig);
}

/* ---- Its address ---- */

RULE_BROKEN_IN(PATCH_024, RIG_PHYSICAL)
{
    show(rig, UINT64_C(1) << 40);
}

RULE_KEPT_IN(PATCH_024, RIG_PHYSICAL)
{
    show(rig, SURFACE_BYTES);
}

static void rule_PATCH_024_is_found_for_a_change_of_mode_with_contexts(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGK_ALLOCATIONINFO info = {0};
    DXGKARG_SETVIDPNSOURCEADDRESS arg;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    arg = mode_at(rig_create_allocation(rig, &info), 0);
    arg.ContextCount = 1;
    miniport_set_vid_pn_source_address(rig->top, NULL, &arg);
    rig_expect_only(rig, RULE_PATCH_024);
    rig_fini(rig);
    free(rig);
}

/* ---- What the driver makes of it ---- */

RULE_BROKEN_IN(FENCE_021, RIG_PHYSICAL)
{
    show(rig, 0);
    scan(rig, 4096);
    assert_string_equal(rig->last.text, "the hardware scans out 0x1000; the address given is 0x0");
}

RULE_KEPT_IN(FENCE_021, RIG_PHYSICAL)
{
    show(rig, 0);
    scan(rig, 0);
}

/* Unless it is hidden before it could be, or nobody sees what the hardware does. */
static void rule_FENCE_021_is_found_when_nothing_scans_out_what_was_given(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned way = 0; way < 3; way++) {
        bool is_broken = way == 0, is_hidden = way == 1, is_seen = way != 2;

        rig_init(rig, RIG_PHYSICAL);
        if (is_seen) {
            show(rig, 0);
            scan(rig, 0);
            report(rig, 0);
        }
        show(rig, SURFACE_BYTES);
        if (is_hidden)
            hide(rig);
        assert_int_equal(check_stands_still(rig->check), is_broken);
        if (is_broken)
            assert_string_equal(rig->last.text,
                                "0x10000 was given, and the hardware does not scan it out");
        rig_expect_only(rig, is_broken ? RULE_FENCE_021 : RULE_NONE);
        rig_fini(rig);
    }
    free(rig);
}

RULE_BROKEN_IN(FENCE_022, RIG_PHYSICAL)
{
    show(rig, SURFACE_BYTES);
    scan(rig, SURFACE_BYTES);
    assert_int_equal(check_stands_still(rig->check), 1);
    assert_string_equal(rig->last.text,
                        "0x10000 is scanned out, and no DXGK_INTERRUPT_CRTC_VSYNC has said so");
    assert_int_equal(check_stands_still(rig->check), 0); /* told once */
}

RULE_KEPT_IN(FENCE_022, RIG_PHYSICAL)
{
    rig_gpu_event(rig, CHECK_GPU_HUNG, 0, 0, 0); /* there is a GPU that tells */
    show(rig, SURFACE_BYTES);
    scan(rig, SURFACE_BYTES);
    report(rig, SURFACE_BYTES);
    assert_int_equal(check_stands_still(rig->check), 0);
}

/* ---- Syncs that are switched ---- */

/* By the function that the rig's driver is to be asked by, or another one. */
static void switch_syncs(struct rig *rig, enum miniport_ddi ddi, DXGK_INTERRUPT_TYPE type,
                         UINT source)
{
    const struct miniport_interrupt first = {type, TRUE};
    const DXGKARG_CONTROLINTERRUPT2 second = {.InterruptType = type};
    const DXGKARG_CONTROLINTERRUPT3 third = {.InterruptType = type, .VidPnSourceId = source};

    if (ddi == MINIPORT_DDI_ControlInterrupt3)
        miniport_control_interrupt3(rig->top, NULL, &third);
    else if (ddi == MINIPORT_DDI_ControlInterrupt2)
        miniport_control_interrupt2(rig->top, NULL, &second);
    else
        miniport_control_interrupt(rig->top, NULL, &first);
}

RULE_BROKEN(FENCE_023)
{
    switch_syncs(rig, MINIPORT_DDI_ControlInterrupt2, DXGK_INTERRUPT_CRTC_VSYNC, 0);
    assert_string_equal(rig->last.text, "is called, and the driver has DxgkDdiControlInterrupt3");
}

RULE_KEPT(FENCE_023)
{
    switch_syncs(rig, MINIPORT_DDI_ControlInterrupt3, DXGK_INTERRUPT_CRTC_VSYNC, D3DDDI_ID_ALL);
}

static void one_source_is_named_where_the_driver_tells_them_apart(void **state)
{
    for (unsigned can = 0; can < 2; can++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->version = DXGKDDI_INTERFACE_VERSION_WDDM2_7;
        rig->caps.MiscCaps.IndependentVidPnVSyncControl = can;
        rig_init_prepared(rig);
        switch_syncs(rig, MINIPORT_DDI_ControlInterrupt3, DXGK_INTERRUPT_CRTC_VSYNC, 0);
        rig_expect_only(rig, can ? RULE_NONE : RULE_FENCE_023);
        rig_fini(rig);
        free(rig);
    }
}

static NTSTATUS control_status;

static NTSTATUS answer_control(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_ControlInterrupt3 || ddi == MINIPORT_DDI_ControlInterrupt
               ? control_status
               : rig_answer(rig, ddi, object, arg);
}

static void switch_with(struct rig *rig, NTSTATUS status, DXGK_INTERRUPT_TYPE type)
{
    rig->answer = answer_control;
    control_status = status;
    switch_syncs(rig, MINIPORT_DDI_ControlInterrupt3, type, D3DDDI_ID_ALL);
}

RULE_BROKEN(FENCE_024)
{
    switch_with(rig, STATUS_NOT_SUPPORTED, DXGK_INTERRUPT_CRTC_VSYNC);
}

RULE_KEPT(FENCE_024)
{
    switch_with(rig, STATUS_NOT_IMPLEMENTED, DXGK_INTERRUPT_CRTC_VSYNC);
    switch_with(rig, STATUS_SUCCESS, DXGK_INTERRUPT_CRTC_VSYNC);
    switch_with(rig, STATUS_SUCCESS, DXGK_INTERRUPT_DMA_COMPLETED);
}

/* FENCE-024: the first of the three functions, of drivers that have no other. */
static void the_first_function_is_for_syncs_alone(void **state)
{
    for (unsigned knows = 0; knows < 2; knows++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        rig->answer = answer_control;
        control_status = STATUS_SUCCESS;
        switch_syncs(rig, MINIPORT_DDI_ControlInterrupt,
                     knows ? DXGK_INTERRUPT_CRTC_VSYNC : DXGK_INTERRUPT_DMA_COMPLETED, 0);
        assert_int_equal(rig->counts.broken[RULE_FENCE_024], !knows);
        rig_fini(rig);
        free(rig);
    }
}

static void start_with(struct rig *rig, enum miniport_ddi lacking)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM2_7;
    rig->caps.MiscCaps.IndependentVidPnVSyncControl = 1;
    rig->lacking = lacking;
    rig_init_prepared(rig);
}

RULE_BROKEN(FENCE_025)
{
    start_with(rig, MINIPORT_DDI_ControlInterrupt3);
}

RULE_KEPT(FENCE_025)
{
    start_with(rig, 0);
}

/* ---- How it is described ---- */

static NTSTATUS describe(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args = arg;
    const UINT *bytes = rig->told;

    if (ddi == MINIPORT_DDI_GetStandardAllocationDriverData)
        args->AllocationPrivateDriverDataSize = bytes[args->pAllocationPrivateDriverData != NULL];
    return STATUS_SUCCESS;
}

static void ask_description(struct rig *rig, UINT without, UINT with)
{
    D3DKMDT_SHAREDPRIMARYSURFACEDATA surface = {.Width = 1024, .Height = 1};
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA arg = {
        .StandardAllocationType = D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE,
        .pCreateSharedPrimarySurfaceData = &surface,
    };
    UINT bytes[] = {without, with};
    char buffer[64];

    rig->answer = describe;
    rig->told = bytes;
    miniport_get_standard_allocation_driver_data(rig->top, NULL, &arg);
    arg.pAllocationPrivateDriverData = buffer;
    miniport_get_standard_allocation_driver_data(rig->top, NULL, &arg);
    rig->answer = NULL;
}

RULE_BROKEN_IN(ALLOC_025, RIG_PHYSICAL)
{
    ask_description(rig, 24, 32);
    assert_string_equal(rig->last.text, "is 32 with a buffer, and was 24 without");
}

RULE_KEPT_IN(ALLOC_025, RIG_PHYSICAL)
{
    ask_description(rig, 24, 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_surface_before_stays_until_another_one_is_reported),
        cmocka_unit_test(rule_RES_018_is_found_when_a_shown_surface_is_destroyed),
        cmocka_unit_test(rule_PATCH_024_is_found_for_a_change_of_mode_with_contexts),
        cmocka_unit_test(one_source_is_named_where_the_driver_tells_them_apart),
        cmocka_unit_test(the_first_function_is_for_syncs_alone),
        cmocka_unit_test(rule_FENCE_021_is_found_when_nothing_scans_out_what_was_given),
    };

    return RIG_RUN_TESTS(tests);
}
