/*
 * Watcher: debug reports (TDR-017 to TDR-020). What is written around the buffers the guards tell
 * (MEM-001).
 */
#include "check/check_watch.h"

#include <bugcodes.h>

static bool is_reason(struct check *check, UINT reason)
{
    return reason == VIDEO_TDR_TIMEOUT_DETECTED ||
           (reason == VIDEO_ENGINE_TIMEOUT_DETECTED &&
            check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WIN8));
}

/* The members that both functions have. */
static void check_common(struct check *check, UINT reason, const void *buffer, SIZE_T bytes)
{
    CHECK_RULE(check, RULE_TDR_017, is_reason(check, reason), NULL, "Reason",
               "is {0x%x} (expected {=0x117, or from WDDM 1.2 on 0x141})", reason);
    CHECK_RULE(check, RULE_TDR_017, buffer || !bytes, NULL, "pBuffer",
               "is {NULL}, and BufferSize is %llu{=~not NULL~}", (unsigned long long)bytes);
    CHECK_RULE(check, RULE_TDR_017, check_irql(check) == PASSIVE_LEVEL, NULL, "",
               "is called at IRQL %u (expected PASSIVE_LEVEL)", check_irql(check));
}

/* ---- What DxgkDdiCollectDbgInfo2 has more ---- */

/* The reset that the type is of, as its bug check code; 0: either. */
static UINT reason_of(DXGK_TDR_TYPE type)
{
    switch (type) {
    case DXGK_TDR_TYPE_PREEMPT_TIMEOUT:
    case DXGK_TDR_TYPE_ENGINE_TIMEOUT_PROMOTED:
    case DXGK_TDR_TYPE_PAGE_FAULT:
        return VIDEO_TDR_TIMEOUT_DETECTED;
    case DXGK_TDR_TYPE_ENGINE_PAGE_FAULT:
        return VIDEO_ENGINE_TIMEOUT_DETECTED;
    default:
        return 0;
    }
}

static size_t payload_bytes(DXGK_TDR_TYPE type)
{
    return type == DXGK_TDR_TYPE_ENGINE_TIMEOUT  ? sizeof(DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT)
           : type == DXGK_TDR_TYPE_VSYNC_TIMEOUT ? sizeof(DXGK_TDR_PAYLOAD_VSYNC_TIMEOUT)
                                                 : 0;
}

static void check_cause(struct check *check, const DXGKARG_COLLECTDBGINFO2 *arg)
{
    const UINT reason = reason_of(arg->TdrType);
    const size_t least = payload_bytes(arg->TdrType);

    CHECK_RULE(check, RULE_TDR_020,
               arg->TdrType > DXGK_TDR_TYPE_UNKNOWN &&
                   arg->TdrType <= DXGK_TDR_TYPE_DISPLAY_ENGINE_FAULT,
               NULL, "TdrType", "is {%u} (expected {=a DXGK_TDR_TYPE from FORCED (1) on})",
               (unsigned)arg->TdrType);
    CHECK_RULE(check, RULE_TDR_020, !reason || arg->Reason == reason, NULL, "Reason",
               "is {0x%x} with TdrType %u (expected {=0x%x})", arg->Reason, (unsigned)arg->TdrType,
               reason);
    CHECK_RULE(check, RULE_TDR_020, !arg->TdrPayload == !arg->TdrPayloadSize, NULL,
               "TdrPayloadSize", "is {%u}, and TdrPayload is %s", arg->TdrPayloadSize,
               arg->TdrPayload ? "not NULL" : "NULL");
    CHECK_RULE(check, RULE_TDR_020, !arg->TdrPayload || (least && arg->TdrPayloadSize >= least),
               NULL, "TdrPayloadSize",
               "is {%u} (expected {=0, or the structure of TdrType %u at least: %zu})",
               arg->TdrPayloadSize, (unsigned)arg->TdrType, least);
}

/* ---- The watcher ---- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_CollectDbgInfo2) {
        const DXGKARG_COLLECTDBGINFO2 *arg = call->arg.collect_dbg_info2;

        check_common(check, arg->Reason, arg->pBuffer, arg->BufferSize);
        check_cause(check, arg);
    } else {
        const DXGKARG_COLLECTDBGINFO *arg = call->arg.collect_dbg_info;
        const struct check_ledger *ledger = check_ledger(check);

        check_common(check, arg->Reason, arg->pBuffer, arg->BufferSize);
        if (check_is_version(ledger, DXGKDDI_INTERFACE_VERSION_WDDM3_2))
            CHECK_RULE(check, RULE_TDR_019, !ledger->has_ddi[MINIPORT_DDI_CollectDbgInfo2], NULL,
                       "", "is called, and the driver has DxgkDdiCollectDbgInfo2");
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    CHECK_RULE(check, RULE_TDR_018,
               call->status == STATUS_SUCCESS || call->status == STATUS_NO_MEMORY ||
                   call->status == STATUS_UNSUCCESSFUL,
               NULL, "status",
               "{0x%08x} (expected {=STATUS_SUCCESS, STATUS_NO_MEMORY or STATUS_UNSUCCESSFUL})",
               (unsigned)call->status);
}

const struct check_watcher check_debug_watcher = {
    .name = "debug",
    .before = before,
    .after = after,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_CollectDbgInfo, MINIPORT_DDI_CollectDbgInfo2),
    .after_calls = CHECK_CALLS(MINIPORT_DDI_CollectDbgInfo, MINIPORT_DDI_CollectDbgInfo2),
};
