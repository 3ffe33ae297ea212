/*
 * Watcher: debug reports (TDR-017, TDR-018). What is written around the buffer the guards tell
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

static void before(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_COLLECTDBGINFO *arg = call->arg.collect_dbg_info;

    CHECK_RULE(check, RULE_TDR_017, is_reason(check, arg->Reason), NULL, "Reason",
               "is {0x%x} (expected {=0x117, or from WDDM 1.2 on 0x141})", arg->Reason);
    CHECK_RULE(check, RULE_TDR_017, arg->pBuffer || !arg->BufferSize, NULL, "pBuffer",
               "is {NULL}, and BufferSize is %llu{=~not NULL~}",
               (unsigned long long)arg->BufferSize);
    CHECK_RULE(check, RULE_TDR_017, check_irql(check) == PASSIVE_LEVEL, NULL, "",
               "is called at IRQL %u (expected PASSIVE_LEVEL)", check_irql(check));
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
    .before_calls = CHECK_CALLS(MINIPORT_DDI_CollectDbgInfo),
    .after_calls = CHECK_CALLS(MINIPORT_DDI_CollectDbgInfo),
};
