#include "check/test_tables.h"

static DXGKARGCB_CREATECONTEXTALLOCATION describe(bool is_shared)
{
    DXGKARGCB_CREATECONTEXTALLOCATION arg = {
        .hDevice = (HANDLE)0x100,
        .hDriverAllocation = (HANDLE)0x300,
        .Size = 4096,
        .SupportedSegmentSet = 2,
        .hAllocation = (HANDLE)0x400, /* the system's answer */
    };

    arg.ContextAllocationFlags.SharedAcrossContexts = is_shared;
    arg.hContext = is_shared ? NULL : (HANDLE)0x200;
    return arg;
}

static void ask(struct rig *rig, DXGKARGCB_CREATECONTEXTALLOCATION arg)
{
    rig->drivers_host->ops->create_context_allocation(rig->drivers_host, &arg);
}

static NTSTATUS ask_in_context(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_CreateContext)
        ask(rig, describe(false));
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(CTX_001)
{
    rig->answer = ask_in_context;
    rig_create_context(rig, rig->device, 0, true);
}

RULE_KEPT(CTX_001)
{
    rig->answer = ask_in_context;
    rig_create_context(rig, rig->device, 1, false);
}

RULE_BROKEN(CTX_002)
{
    DXGKARGCB_CREATECONTEXTALLOCATION arg = describe(true);

    arg.hContext = (HANDLE)0x200;
    ask(rig, arg);
}

RULE_KEPT(CTX_002)
{
    ask(rig, describe(true));
    ask(rig, describe(false));
}

/* The paging process sees the page at RIG_VA. */
static void initialise(struct rig *rig, HANDLE handle, void *cpu_address, uint64_t va)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_INIT_CONTEXT_RESOURCE};
    HANDLE process = rig->process;

    rig->process = rig->system_process;
    rig_initialise_table(rig, 0, RIG_VA);
    rig_map(rig, RIG_VA, NULL, 32, 1);
    rig_flush(rig, rig->system_process, 0, 0);
    rig->process = process;
    arg.InitContextResource.hAllocation = handle;
    arg.InitContextResource.Destination.SegmentId = 2;
    arg.InitContextResource.Destination.VirtualAddress = cpu_address;
    arg.InitContextResource.Destination.GpuVirtualAddress = va;
    rig_build(rig, &arg);
}

RULE_BROKEN(CTX_005)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
}

/* Again after a loss. */
RULE_KEPT(CTX_005)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    miniport_reset_from_timeout(rig->top, NULL);
    rig_new_buffer(rig);
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
}

RULE_BROKEN(CTX_007)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, rig->private_data, RIG_VA);
}

RULE_KEPT(CTX_007)
{
    DXGKARGCB_CREATECONTEXTALLOCATION arg = describe(false);

    arg.Flags.CpuVisible = arg.Flags.Protected = 1;
    ask(rig, arg);
    initialise(rig, (HANDLE)0x400, rig->private_data, RIG_VA);
}

RULE_BROKEN(CTX_008)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA + 4096);
}

RULE_KEPT(CTX_008)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
}

RULE_BROKEN(CTX_009)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x500, NULL, RIG_VA);
}

RULE_KEPT(CTX_009)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
}

static void update_content(struct rig *rig)
{
    DXGKARGCB_UPDATECONTEXTALLOCATION update = {.hAllocation = (HANDLE)0x400};

    rig->drivers_host->ops->update_context_allocation(rig->drivers_host, &update);
}

static NTSTATUS update_in_build(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_BuildPagingBuffer)
        update_content(rig);
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(CTX_012)
{
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(rig_create_allocation(rig, NULL));

    rig->answer = update_in_build;
    rig_build(rig, &fill);
}

RULE_KEPT(CTX_012)
{
    update_content(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE_PAIR(CTX_001), RULE_PAIR(CTX_002), RULE_PAIR(CTX_005), RULE_PAIR(CTX_007),
        RULE_PAIR(CTX_008), RULE_PAIR(CTX_009), RULE_PAIR(CTX_012),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
