/*
 * Watcher: escapes (ESC). They are the client's business and the driver's; what the kernel owes is
 * whose they are, their data, and level two for those that reach for the hardware.
 */
#include "check/check_watch.h"

static bool is_known(const void *handle, const void *found)
{
    return !handle || found;
}

static void check_handles(struct check *check, const DXGKARG_ESCAPE *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_device *device = check_find_device(ledger, arg->hDevice);
    const struct check_context *context = check_find_context(ledger, arg->hContext);
    const struct check_process *process = check_find_process(ledger, arg->hKmdProcessHandle);

    CHECK_RULE(check, RULE_ESC_001, is_known(arg->hDevice, device), NULL, "hDevice",
               "is {no device of the driver's}{=~a device of the driver's~}");
    CHECK_RULE(check, RULE_ESC_001,
               is_known(arg->hContext, context) && (!context || context->device == device), NULL,
               "hContext", "is {no context of hDevice}{=~a context of hDevice~}");
    CHECK_RULE(check, RULE_ESC_001,
               is_known(arg->hKmdProcessHandle, process) &&
                   (!process || !device || device->process == process),
               NULL, "hKmdProcessHandle",
               "is {not the process of hDevice}{=~the process of hDevice~}");
}

static void check_data(struct check *check, const DXGKARG_ESCAPE *arg)
{
    CHECK_RULE(check, RULE_ESC_001, arg->pPrivateDriverData || !arg->PrivateDriverDataSize, NULL,
               "pPrivateDriverData", "is {NULL}, and PrivateDriverDataSize is %u{=~not NULL~}",
               arg->PrivateDriverDataSize);
    CHECK_RULE(check, RULE_ESC_001, check_irql(check) == PASSIVE_LEVEL, NULL, "",
               "is called at IRQL %u (expected PASSIVE_LEVEL)", check_irql(check));
}

static void check_level_two(struct check *check, const struct check_call *call)
{
    const struct check_call *outer = check_call_around(call);
    const struct check_packet *left = check_find_in_flight(check_ledger(check));

    if (outer)
        CHECK_RULE(check, RULE_ESC_002, false, NULL, "Flags.HardwareAccess",
                   "is called in the middle of %s", miniport_ddi_name(outer->ddi));
    else
        CHECK_RULE(check, RULE_ESC_002, !left, NULL, "Flags.HardwareAccess",
                   "is called while the packet with fence 0x%x of node %u is under way",
                   left ? left->fence : 0, left ? left->node : 0);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_ESCAPE *arg = call->arg.escape;

    check_handles(check, arg);
    check_data(check, arg);
    if (arg->Flags.HardwareAccess)
        check_level_two(check, call);
}

const struct check_watcher check_escape_watcher = {
    .name = "escape",
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_Escape),
};
