#include "check/rig/test_rig_submit.h"

#include <bugcodes.h>

static unsigned char buffer[24];

static DXGKARG_COLLECTDBGINFO lawful(void)
{
    return (DXGKARG_COLLECTDBGINFO){
        .Reason = VIDEO_TDR_TIMEOUT_DETECTED, .pBuffer = buffer, .BufferSize = sizeof buffer};
}

static void collect(struct rig *rig, const DXGKARG_COLLECTDBGINFO *arg)
{
    miniport_collect_dbg_info(rig->top, NULL, arg);
}

RULE_BROKEN(TDR_017)
{
    DXGKARG_COLLECTDBGINFO arg = lawful();

    arg.Reason = VIDEO_TDR_FAILURE;
    collect(rig, &arg);
    assert_string_equal(rig->last.text, "is 0x116 (expected 0x117, or from WDDM 1.2 on 0x141)");
}

RULE_KEPT(TDR_017)
{
    DXGKARG_COLLECTDBGINFO arg = lawful();

    collect(rig, &arg);
    arg.Reason = VIDEO_ENGINE_TIMEOUT_DETECTED;
    collect(rig, &arg);
    arg.pBuffer = NULL;
    arg.BufferSize = 0;
    collect(rig, &arg);
}

static void bytes_have_an_address(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_COLLECTDBGINFO arg = lawful();

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    arg.pBuffer = NULL;
    collect(rig, &arg);
    rig_expect_only(rig, RULE_TDR_017);
    assert_string_equal(rig->last.text, "is NULL, and BufferSize is 24");
    rig_fini(rig);
    free(rig);
}

static NTSTATUS answer_status;

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_CollectDbgInfo || ddi == MINIPORT_DDI_CollectDbgInfo2
               ? answer_status
               : rig_answer(rig, ddi, object, arg);
}

static void collect_with(struct rig *rig, NTSTATUS status)
{
    DXGKARG_COLLECTDBGINFO arg = lawful();

    rig->answer = answer;
    answer_status = status;
    collect(rig, &arg);
}

RULE_BROKEN(TDR_018)
{
    collect_with(rig, STATUS_BUFFER_TOO_SMALL);
}

RULE_KEPT(TDR_018)
{
    collect_with(rig, STATUS_SUCCESS);
    collect_with(rig, STATUS_NO_MEMORY);
    collect_with(rig, STATUS_UNSUCCESSFUL);
}

/* ---- DxgkDdiCollectDbgInfo2 ---- */

static DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT timeout;

/* The rig's driver is of WDDM 3.2 from here on; lacking: 0, or a function that it does not have. */
static void start_newest(struct rig *rig, enum miniport_ddi lacking)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_GPUMMU);
    rig->version = DXGKDDI_INTERFACE_VERSION_WDDM3_2;
    rig->lacking = lacking;
    rig_init_prepared(rig);
}

static DXGKARG_COLLECTDBGINFO2 lawful2(void)
{
    return (DXGKARG_COLLECTDBGINFO2){.Reason = VIDEO_ENGINE_TIMEOUT_DETECTED,
                                     .pBuffer = buffer,
                                     .BufferSize = sizeof buffer,
                                     .TdrType = DXGK_TDR_TYPE_ENGINE_TIMEOUT,
                                     .TdrPayload = &timeout,
                                     .TdrPayloadSize = sizeof timeout};
}

RULE_BROKEN(TDR_019)
{
    DXGKARG_COLLECTDBGINFO arg = lawful();

    start_newest(rig, 0);
    collect(rig, &arg);
    assert_string_equal(rig->last.text, "is called, and the driver has DxgkDdiCollectDbgInfo2");
}

RULE_KEPT(TDR_019)
{
    DXGKARG_COLLECTDBGINFO arg = lawful();

    start_newest(rig, MINIPORT_DDI_CollectDbgInfo2);
    collect(rig, &arg);
}

RULE_BROKEN(TDR_020)
{
    DXGKARG_COLLECTDBGINFO2 arg = lawful2();

    start_newest(rig, 0);
    arg.TdrPayloadSize = sizeof timeout - 1;
    miniport_collect_dbg_info2(rig->top, NULL, &arg);
    assert_string_equal(rig->last.text,
                        "is 39 (expected 0, or the structure of TdrType 6 at least: 40)");
}

RULE_KEPT(TDR_020)
{
    static unsigned char grown[sizeof timeout + 8];
    DXGKARG_COLLECTDBGINFO2 arg = lawful2();

    start_newest(rig, 0);
    miniport_collect_dbg_info2(rig->top, NULL, &arg);
    arg.TdrPayload = grown; /* by a later system */
    arg.TdrPayloadSize = sizeof grown;
    miniport_collect_dbg_info2(rig->top, NULL, &arg);
    arg.TdrPayload = NULL;
    arg.TdrPayloadSize = 0;
    miniport_collect_dbg_info2(rig->top, NULL, &arg);
    arg.Reason = VIDEO_TDR_TIMEOUT_DETECTED;
    arg.TdrType = DXGK_TDR_TYPE_ENGINE_TIMEOUT_PROMOTED;
    miniport_collect_dbg_info2(rig->top, NULL, &arg);
}

/* TDR-020 in its other members, TDR-017 and TDR-018 of the newer function. */
static void the_newer_function_is_judged_by_each_member(void **state)
{
    static const struct {
        UINT reason;
        DXGK_TDR_TYPE type;
        void *payload;
        UINT bytes;
        NTSTATUS status;
        enum rule_id rule;
    } rows[] = {
        {0x117, DXGK_TDR_TYPE_FORCED, NULL, 0, 0, RULE_NONE},
        {0x116, DXGK_TDR_TYPE_FORCED, NULL, 0, 0, RULE_TDR_017},
        {0x117, DXGK_TDR_TYPE_FORCED, NULL, 0, STATUS_BUFFER_TOO_SMALL, RULE_TDR_018},
        {0x117, DXGK_TDR_TYPE_UNKNOWN, NULL, 0, 0, RULE_TDR_020},
        {0x117, DXGK_TDR_TYPE_DISPLAY_ENGINE_FAULT + 1, NULL, 0, 0, RULE_TDR_020},
        {0x117, DXGK_TDR_TYPE_DISPLAY_ENGINE_FAULT, NULL, 0, 0, RULE_NONE},
        {0x141, DXGK_TDR_TYPE_PREEMPT_TIMEOUT, NULL, 0, 0, RULE_TDR_020},
        {0x141, DXGK_TDR_TYPE_PAGE_FAULT, NULL, 0, 0, RULE_TDR_020},
        {0x117, DXGK_TDR_TYPE_ENGINE_PAGE_FAULT, NULL, 0, 0, RULE_TDR_020},
        {0x141, DXGK_TDR_TYPE_ENGINE_PAGE_FAULT, NULL, 0, 0, RULE_NONE},
        {0x141, DXGK_TDR_TYPE_ENGINE_TIMEOUT, NULL, 40, 0, RULE_TDR_020},
        {0x117, DXGK_TDR_TYPE_FORCED, &timeout, sizeof timeout, 0, RULE_TDR_020},
        {0x117, DXGK_TDR_TYPE_VSYNC_TIMEOUT, &timeout, 16, 0, RULE_NONE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_COLLECTDBGINFO2 arg = lawful2();

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        start_newest(rig, 0);
        rig->answer = answer;
        answer_status = rows[i].status;
        arg.Reason = rows[i].reason;
        arg.TdrType = rows[i].type;
        arg.TdrPayload = rows[i].payload;
        arg.TdrPayloadSize = rows[i].bytes;
        miniport_collect_dbg_info2(rig->top, NULL, &arg);
        rig_expect_only(rig, rows[i].rule);
        rig_fini(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_an_address),
        cmocka_unit_test(the_newer_function_is_judged_by_each_member),
    };

    return RIG_RUN_TESTS(tests);
}
