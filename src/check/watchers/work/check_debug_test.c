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
    return ddi == MINIPORT_DDI_CollectDbgInfo ? answer_status : rig_answer(rig, ddi, object, arg);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_an_address),
    };

    return RIG_RUN_TESTS(tests);
}
