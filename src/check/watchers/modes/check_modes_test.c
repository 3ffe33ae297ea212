#include "check/rig/test_rig.h"

#include <string.h>

/* ---- Children -------------------------------------------------------------------------------- */

#define CHILDREN 2u

/* What the driver of a test answers with. */
static struct answers {
    ULONG identifiers[CHILDREN + 1]; /* 0: the element is left alone */
    NTSTATUS status;
    bool is_pending;
} answers;

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct miniport_children *children = arg;

    if (ddi == MINIPORT_DDI_PresentDisplayOnly)
        return answers.is_pending ? STATUS_PENDING : STATUS_SUCCESS;
    for (unsigned i = 0; ddi == MINIPORT_DDI_QueryChildRelations && i < CHILDREN + 1; i++) {
        if (answers.identifiers[i]) {
            children->ChildRelations[i].ChildDeviceType = TypeVideoOutput;
            children->ChildRelations[i].ChildUid = answers.identifiers[i];
        }
    }
    return answers.status;
}

static void begin(struct rig *rig)
{
    memset(&answers, 0, sizeof answers);
    rig->answer = answer;
}

static void ask_children(struct rig *rig, ULONG first, ULONG second, ULONG third)
{
    DXGK_CHILD_DESCRIPTOR children[CHILDREN + 1];
    const struct miniport_children arg = {children, sizeof children};

    memset(children, 0, sizeof children);
    begin(rig);
    answers.identifiers[0] = first;
    answers.identifiers[1] = second;
    answers.identifiers[2] = third;
    miniport_query_child_relations(rig->top, NULL, &arg);
}

RULE_BROKEN(VIDPN_001)
{
    ask_children(rig, 1, 2, 3);
    assert_string_equal(rig->last.text,
                        "has something in element 2, the last one, which has to be zero");
}

RULE_KEPT(VIDPN_001)
{
    ask_children(rig, 1, 2, 0);
}

RULE_BROKEN(VIDPN_002)
{
    ask_children(rig, 5, 5, 0);
    assert_string_equal(rig->last.text, "of element 1 is 0x5, as that of element 0");
}

RULE_KEPT(VIDPN_002)
{
    ask_children(rig, 5, 6, 0);
}

static void describe(struct rig *rig, NTSTATUS status)
{
    unsigned char edid[128] = {0};
    DXGK_DEVICE_DESCRIPTOR descriptor = {.DescriptorLength = sizeof edid, .DescriptorBuffer = edid};
    const struct miniport_descriptor arg = {1, &descriptor};

    begin(rig);
    answers.status = status;
    miniport_query_device_descriptor(rig->top, NULL, &arg);
}

RULE_BROKEN(VIDPN_003)
{
    describe(rig, STATUS_NOT_SUPPORTED);
}

RULE_KEPT(VIDPN_003)
{
    describe(rig, STATUS_SUCCESS);
    describe(rig, STATUS_GRAPHICS_CHILD_DESCRIPTOR_NOT_SUPPORTED);
    describe(rig, STATUS_MONITOR_NO_DESCRIPTOR);
    describe(rig, STATUS_MONITOR_NO_MORE_DESCRIPTOR_DATA);
}

/* ---- Modes ----------------------------------------------------------------------------------- */

static void enumerated(struct rig *rig, bool is_pivot_changed, unsigned source_modes,
                       unsigned target_modes)
{
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_ENUMERATED,
                                                          .is_pivot_changed = is_pivot_changed,
                                                          .source_modes = source_modes,
                                                          .target_modes = target_modes});
}

RULE_BROKEN(VIDPN_004)
{
    enumerated(rig, true, 1, 1);
}

RULE_KEPT(VIDPN_004)
{
    enumerated(rig, false, 1, 1);
}

RULE_BROKEN(VIDPN_005)
{
    enumerated(rig, false, 3, 0);
    assert_string_equal(rig->last.text, "has 3 source modes and 0 target modes now");
}

RULE_KEPT(VIDPN_005)
{
    enumerated(rig, false, 3, 1);
}

/* ---- Presents -------------------------------------------------------------------------------- */

static void present(struct rig *rig, bool is_pending)
{
    const DXGKARG_PRESENT_DISPLAYONLY arg = {.VidPnSourceId = 1};

    begin(rig);
    answers.is_pending = is_pending;
    miniport_present_display_only(rig->top, NULL, &arg);
}

static void report(struct rig *rig, UINT source)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS};

    data.DisplayOnlyPresentProgress.VidPnSourceId = source;
    rig->irql = 5;
    rig->drivers_host->ops->notify_interrupt(rig->drivers_host, &data);
    rig->irql = PASSIVE_LEVEL;
}

RULE_BROKEN(VIDPN_006)
{
    present(rig, true);
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_PRESENT_LATE});
}

RULE_KEPT(VIDPN_006)
{
    present(rig, true);
    report(rig, 1);
}

RULE_BROKEN(VIDPN_007)
{
    present(rig, true);
    report(rig, 1);
    report(rig, 1);
    assert_string_equal(rig->last.text, "is reported of source 1, which has no present pending");
}

RULE_KEPT(VIDPN_007)
{
    present(rig, true);
    report(rig, 1);
    present(rig, false);
    present(rig, true);
    report(rig, 1);
}

static void show(struct rig *rig, const struct check_client_shown *shown)
{
    present(rig, false);
    check_client(rig->check,
                 &(struct check_client_event){.kind = CHECK_CLIENT_SHOWN, .shown = *shown});
}

RULE_BROKEN(VIDPN_008)
{
    show(rig, &(struct check_client_shown){.is_other = true,
                                           .x = 7,
                                           .y = 9,
                                           .shown = 0x10,
                                           .presented = 0xff0000,
                                           .width = 640,
                                           .height = 480,
                                           .part = CHECK_SHOWN_MOVED,
                                           .index = 2});
    assert_string_equal(rig->last.text, "has 0xff0000 at (7, 9), where the screen shows 0x000010 "
                                        "(mode 640x480): the move pMoves[2] covers it");
}

RULE_KEPT(VIDPN_008)
{
    show(rig, &(struct check_client_shown){.width = 640, .height = 480});
}

/* ---- Monitors that come and go --------------------------------------------------------------- */

static void plug(struct rig *rig, bool is_plugged, bool is_told)
{
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_PLUGGED,
                                                          .is_plugged = is_plugged,
                                                          .is_told = is_told});
}

RULE_BROKEN(VIDPN_009)
{
    plug(rig, true, true);
    plug(rig, false, false);
    assert_string_equal(
        rig->last.text,
        "a monitor has been pulled out, and no DxgkCbIndicateChildStatus has told so");
}

RULE_KEPT(VIDPN_009)
{
    plug(rig, false, true);
    plug(rig, true, true);
}

static void a_report_names_the_source_of_the_present(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    present(rig, true);
    report(rig, 0);
    rig_expect_only(rig, RULE_VIDPN_007);
    assert_string_equal(rig->last.text, "is 0; the present that is pending is of 1");
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_names_the_source_of_the_present),
    };

    return RIG_RUN_TESTS(tests);
}
