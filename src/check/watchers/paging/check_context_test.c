#include "check/rig/test_rig_submit.h"
#include "check/rig/test_rig_tables.h"

#include "base/list.h"

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

/* A context whose allocations the driver asks for in the midst of its creation. */
static NTSTATUS ask_for_both(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    bool is_shared = rig->told != NULL;

    if (ddi == MINIPORT_DDI_CreateContext) {
        DXGKARGCB_CREATECONTEXTALLOCATION wanted = describe(is_shared);

        if (!is_shared)
            wanted.hContext = ((DXGKARG_CREATECONTEXT *)arg)->hContext;
        ask(rig, wanted);
    }
    return rig_answer(rig, ddi, object, arg);
}

/* Gives the context. */
static HANDLE submit_in(struct rig *rig, bool is_shared, bool is_resident)
{
    DXGKARG_CREATECONTEXT create = {
        .hContext = (HANDLE)0x200, .NodeOrdinal = 1, .EngineAffinity = 1};
    DXGKARG_SUBMITCOMMANDVIRTUAL submit = {.DmaBufferVirtualAddress = 0x1000,
                                           .DmaBufferSize = RIG_PACKET_BYTES,
                                           .SubmissionFenceId = 1,
                                           .NodeOrdinal = 1};
    DXGKARG_SETROOTPAGETABLE root = {.NumEntries = 512};

    rig->told = is_shared ? rig : NULL;
    rig->answer = ask_for_both;
    miniport_create_context(rig->top, rig->device, &create);
    rig->answer = NULL;
    root.hContext = create.hContext;
    root.Address.SegmentId = 1;
    root.Address.SegmentOffset = 103 * 4096;
    miniport_set_root_page_table(rig->top, NULL, &root);
    if (is_resident)
        initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    submit.hContext = create.hContext;
    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_virtual(rig->top, NULL, &submit);
    return create.hContext;
}

RULE_BROKEN(CTX_003)
{
    submit_in(rig, false, false);
}

RULE_KEPT(CTX_003)
{
    submit_in(rig, false, true);
}

RULE_BROKEN(CTX_004)
{
    submit_in(rig, true, false);
}

RULE_KEPT(CTX_004)
{
    submit_in(rig, true, true);
}

static NTSTATUS write_nothing(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_BUILDPAGINGBUFFER *build = arg;

    if (ddi == MINIPORT_DDI_BuildPagingBuffer &&
        (build->Operation == DXGK_OPERATION_INIT_CONTEXT_RESOURCE ||
         build->Operation == DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION))
        return STATUS_SUCCESS;
    return rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(CTX_006)
{
    ask(rig, describe(false));
    rig->answer = write_nothing;
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
}

RULE_KEPT(CTX_006)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
}

/* The content at RIG_VA is to change. */
static void build_update(struct rig *rig)
{
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_UPDATE_CONTEXT_ALLOCATION};

    arg.UpdateContextAllocation.ContextAllocation = RIG_VA;
    arg.UpdateContextAllocation.ContextAllocationSize = 4096;
    arg.UpdateContextAllocation.pDriverPrivateData = rig;
    arg.UpdateContextAllocation.DriverPrivateDataSize = 8;
    rig_build(rig, &arg);
}

RULE_BROKEN(CTX_010)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    rig->answer = write_nothing;
    build_update(rig);
}

RULE_KEPT(CTX_010)
{
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    build_update(rig);
}

/* A system that comes back when it has built the operation, or when the GPU has run it. */
static NTSTATUS answer_update(struct miniport_host *host,
                              const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct rig *rig = container_of(host, struct rig, host);
    uint32_t fence;

    build_update(rig);
    fence = rig_submit(rig);
    if (rig->told)
        rig_complete(rig, 0, fence);
    return STATUS_SUCCESS;
}

static void update_from_outside(struct rig *rig, bool waits)
{
    struct miniport_host_ops ops = *rig->host.ops;

    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    ops.update_context_allocation = answer_update;
    rig->host.ops = &ops;
    rig->told = waits ? rig : NULL;
    update_content(rig);
    rig->host.ops = &rig_host_ops;
}

/* A reset takes the update, and it is built and run again before the system comes back. */
static NTSTATUS answer_behind_a_reset(struct miniport_host *host,
                                      const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct rig *rig = container_of(host, struct rig, host);

    if (rig->told) {
        miniport_reset_from_timeout(rig->top, NULL);
        miniport_restart_from_timeout(rig->top, NULL);
        rig_new_buffer(rig);
        initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    }
    build_update(rig);
    rig_complete(rig, 0, rig_submit(rig));
    return STATUS_SUCCESS;
}

static void an_update_that_a_reset_takes_is_run_again(void **state)
{
    struct miniport_host_ops ops = rig_host_ops;
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    ask(rig, describe(false));
    initialise(rig, (HANDLE)0x400, NULL, RIG_VA);
    ops.update_context_allocation = answer_behind_a_reset;
    rig->host.ops = &ops;
    rig->told = NULL;
    update_content(rig);
    rig->told = rig;
    update_content(rig);
    rig->host.ops = &rig_host_ops;
    rig_expect_only(rig, RULE_NONE);
    assert_int_equal(rig->counts.evaluated[RULE_CTX_011], 2);
    rig_fini(rig);
    free(rig);
}

RULE_BROKEN(CTX_011)
{
    update_from_outside(rig, false);
}

RULE_KEPT(CTX_011)
{
    update_from_outside(rig, true);
}

/*
 * The root of the context moves, and the driver asks for an update in the middle of the call, which
 * cannot wait. The context runs when the update has run, or before.
 */
static NTSTATUS update_in_call(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_SetRootPageTable)
        update_content(rig);
    return rig_answer(rig, ddi, object, arg);
}

/* With an answer of the system's own, the update of the context's allocation is the first of two.
 */
static void update_amid_a_call(NTSTATUS (*answer)(struct miniport_host *host,
                                                  const DXGKARGCB_UPDATECONTEXTALLOCATION *),
                               bool waits, enum rule_id broken)
{
    struct miniport_host_ops ops = rig_host_ops;
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SETROOTPAGETABLE root = {.NumEntries = 512,
                                     .Address = {.SegmentId = 1, .SegmentOffset = 104 * 4096}};
    DXGKARG_SUBMITCOMMANDVIRTUAL submit = {.DmaBufferVirtualAddress = 0x1000,
                                           .DmaBufferSize = RIG_PACKET_BYTES,
                                           .SubmissionFenceId = 2,
                                           .NodeOrdinal = 1};
    uint32_t fence;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    submit.hContext = root.hContext = submit_in(rig, false, true);
    rig_complete(rig, 1, 1);
    rig_complete(rig, 0, rig_submit(rig)); /* what brought the allocation in */
    rig->irql = PASSIVE_LEVEL;
    if (answer) {
        ops.update_context_allocation = answer;
        rig->host.ops = &ops;
    }
    rig->answer = update_in_call;
    miniport_set_root_page_table(rig->top, NULL, &root);
    rig->answer = NULL;
    rig->host.ops = &rig_host_ops;
    if (!answer)
        build_update(rig);
    fence = rig_submit(rig);
    if (waits)
        rig_complete(rig, 0, fence);
    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_virtual(rig->top, NULL, &submit);
    rig_expect_only(rig, broken);
    assert_int_not_equal(rig->counts.evaluated[RULE_CTX_011], 0);
    rig_fini(rig);
    free(rig);
}

static void a_context_runs_before_the_update_of_a_call_that_cannot_wait(void **state)
{
    update_amid_a_call(NULL, false, RULE_CTX_011);
}

static void a_context_runs_behind_the_update_of_a_call_that_cannot_wait(void **state)
{
    update_amid_a_call(NULL, true, RULE_NONE);
}

/*
 * While the system waits for the update of one allocation, the driver asks for that of another one,
 * which is built second and comes back first.
 */
static NTSTATUS answer_with_another(struct miniport_host *host,
                                    const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct rig *rig = container_of(host, struct rig, host);
    DXGKARGCB_UPDATECONTEXTALLOCATION another = {.hAllocation = (HANDLE)0x401};

    build_update(rig);
    if (update->hAllocation == (HANDLE)0x400) {
        uint32_t fence = rig_submit(rig);

        rig->drivers_host->ops->update_context_allocation(rig->drivers_host, &another);
        rig_complete(rig, 0, fence);
    }
    return STATUS_SUCCESS;
}

static void updates_are_counted_in_the_order_in_which_they_are_asked_for(void **state)
{
    update_amid_a_call(answer_with_another, false, RULE_NONE);
}

RULE_BROKEN(CTX_014)
{
    DXGKARGCB_CREATECONTEXTALLOCATION arg = describe(false);

    arg.Flags.AccessedPhysically = 1;
    arg.SupportedSegmentSet = 0;
    ask(rig, arg);
}

RULE_KEPT(CTX_014)
{
    DXGKARGCB_CREATECONTEXTALLOCATION arg = describe(false);

    arg.Flags.AccessedPhysically = 1;
    ask(rig, arg);
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
    update_from_outside(rig, true);
}

/* ---- Drivers without contexts ---------------------------------------------------------------- */

static void lose_contexts(struct rig *rig)
{
    rig->lacking = MINIPORT_DDI_CreateContext;
    miniport_add_device(rig->top); /* what a driver has is looked at there */
}

static void ask_whether_it_is_aware(struct rig *rig, bool is_aware)
{
    DXGK_DRIVERCAPS caps;

    lose_contexts(rig);
    rig->caps.SchedulingCaps.MultiEngineAware = is_aware;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
}

RULE_BROKEN_IN(CTX_016, RIG_PHYSICAL)
{
    ask_whether_it_is_aware(rig, true);
}

RULE_KEPT_IN(CTX_016, RIG_PHYSICAL)
{
    ask_whether_it_is_aware(rig, false);
}

static HANDLE create_described_device(struct rig *rig)
{
    DXGK_DEVICEINFO info = {.DmaBufferSize = 4096};
    DXGKARG_CREATEDEVICE create = {.pInfo = &info};

    lose_contexts(rig);
    assert_int_equal(miniport_create_device(rig->top, NULL, &create), STATUS_SUCCESS);
    return create.hDevice;
}

RULE_BROKEN_IN(CTX_017, RIG_PHYSICAL)
{
    DXGKARG_SUBMITCOMMAND packet;

    create_described_device(rig);
    packet = rig_packet(rig); /* of a context */
    rig_submit_packet(rig, &packet);
    rig_run(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId, RIG_CLIENT_BYTES);
}

RULE_KEPT_IN(CTX_017, RIG_PHYSICAL)
{
    HANDLE device = create_described_device(rig);
    DXGKARG_BUILDPAGINGBUFFER fill;
    DXGKARG_SUBMITCOMMAND packet;

    rig->system_context = NULL;
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig_build(rig, &fill);
    rig->system_context = device;
    rig_complete(rig, 0, rig_submit(rig)); /* matched with what was built */
    rig->context = device;
    packet = rig_packet(rig);
    packet.NodeOrdinal = 0;
    rig_submit_packet(rig, &packet);
    rig_run(rig, 0, packet.SubmissionFenceId, RIG_CLIENT_BYTES);
}

/* CTX-015 for the set that a device names. */
static void a_device_s_buffers_are_in_apertures_too(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGK_DEVICEINFO info = {.DmaBufferSegmentSet = 1};
    DXGKARG_CREATEDEVICE create = {.pInfo = &info};

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    lose_contexts(rig);
    miniport_create_device(rig->top, NULL, &create);
    rig_expect_only(rig, RULE_CTX_015);
    rig_fini(rig);
    free(rig);
}

/* It has its first content, and is taken out: the work of its context would miss it. */
static void a_context_allocation_that_was_taken_out_is_missed(void **state)
{
    DXGKARG_BUILDPAGINGBUFFER out = {.Operation = DXGK_OPERATION_VIRTUAL_TRANSFER};
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_SUBMITCOMMANDVIRTUAL packet;
    HANDLE context;

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    context = submit_in(rig, false, true);
    rig->irql = PASSIVE_LEVEL;
    assert_int_equal(rig->counts.broken[RULE_CTX_003], 0);
    out.TransferVirtual.hAllocation = (HANDLE)0x400;
    out.TransferVirtual.TransferSizeInBytes = 4096;
    out.TransferVirtual.SourceVirtualAddress = RIG_VA;
    out.TransferVirtual.TransferDirection = DXGK_MEMORY_TRANSFER_LOCAL_TO_SYSTEM;
    rig_build(rig, &out);
    packet = rig_packet_virtual(rig);
    packet.hContext = context;
    rig_submit_virtual(rig, &packet);
    assert_int_equal(rig->counts.broken[RULE_CTX_003], 1);
    rig_fini(rig);
    free(rig);
}

/* NOTIFY_RESIDENCY tells where it is as well as an operation that moves it. */
static void a_context_allocation_is_where_the_driver_is_told_that_it_is(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_resident = 0; is_resident < 2; is_resident++) {
        DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_NOTIFY_RESIDENCY};
        DXGKARG_SUBMITCOMMANDVIRTUAL packet;
        HANDLE context;

        rig_init(rig, RIG_GPUMMU);
        context = submit_in(rig, false, !is_resident);
        rig->irql = PASSIVE_LEVEL;
        assert_int_equal(rig->counts.broken[RULE_CTX_003], is_resident);
        arg.NotifyResidency.hAllocation = (HANDLE)0x400;
        arg.NotifyResidency.Resident = is_resident;
        arg.NotifyResidency.PhysicalAddress.SegmentId = is_resident;
        rig_build(rig, &arg);
        packet = rig_packet_virtual(rig);
        packet.hContext = context;
        rig_submit_virtual(rig, &packet);
        assert_int_equal(rig->counts.broken[RULE_CTX_003], 1);
        rig_fini(rig);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_s_buffers_are_in_apertures_too),
        cmocka_unit_test(a_context_allocation_that_was_taken_out_is_missed),
        cmocka_unit_test(a_context_allocation_is_where_the_driver_is_told_that_it_is),
        cmocka_unit_test(a_context_runs_before_the_update_of_a_call_that_cannot_wait),
        cmocka_unit_test(a_context_runs_behind_the_update_of_a_call_that_cannot_wait),
        cmocka_unit_test(an_update_that_a_reset_takes_is_run_again),
        cmocka_unit_test(updates_are_counted_in_the_order_in_which_they_are_asked_for),
    };

    return RIG_RUN_TESTS(tests);
}
