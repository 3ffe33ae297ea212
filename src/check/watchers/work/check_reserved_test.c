#include "check/rig/test_rig_submit.h"

static void submit(struct rig *rig, UINT reserved)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    packet.Flags.Reserved = reserved;
    rig_submit_packet(rig, &packet);
    rig_run(rig, RIG_CLIENT_NODE, packet.SubmissionFenceId, RIG_CLIENT_BYTES);
}

RULE_BROKEN_IN(CALL_001, RIG_PHYSICAL)
{
    submit(rig, 1);
    assert_string_equal(rig->last.detail.where, "DxgkDdiSubmitCommand.Flags.Reserved");
}

RULE_KEPT_IN(CALL_001, RIG_PHYSICAL)
{
    submit(rig, 0);
}

static NTSTATUS fill_in(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    if (ddi == MINIPORT_DDI_CreateContext)
        ((DXGKARG_CREATECONTEXT *)arg)->ContextInfo.Reserved = *(const UINT *)rig->told;
    return status;
}

static void create(struct rig *rig, UINT reserved)
{
    rig->answer = fill_in;
    rig->told = &reserved;
    rig_create_context(rig, rig->device, RIG_CLIENT_NODE, false);
    rig->answer = NULL;
}

RULE_BROKEN_IN(CALL_002, RIG_PHYSICAL)
{
    rig_fini(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.profile.wants_reserved_zero = true;
    rig_init_prepared(rig);
    create(rig, 7);
    assert_string_equal(rig->last.detail.where, "DxgkDdiCreateContext.ContextInfo.Reserved");
}

RULE_KEPT_IN(CALL_002, RIG_PHYSICAL)
{
    create(rig, 0);
}

/* ---- The table that a driver registers ---- */

static bool is_code(void *context, const void *address)
{
    return address == (const void *)&is_code;
}

static DRIVER_INITIALIZATION_DATA registered;

static void start_with(struct rig *rig, const DRIVER_INITIALIZATION_DATA *table)
{
    registered = *table;
    rig_fini(rig);
    rig_prepare(rig, RIG_PHYSICAL);
    rig->config.registered = &registered;
    rig->config.is_code = is_code;
    rig_init_prepared(rig);
}

RULE_BROKEN_IN(CALL_003, RIG_PHYSICAL)
{
    DRIVER_INITIALIZATION_DATA table = {.DxgkDdiPatch = (void *)is_code};

    memset(&table.DxgkDdiEscape, 0x5a, sizeof table.DxgkDdiEscape);
    start_with(rig, &table);
    assert_string_equal(rig->last.detail.where, "DxgkDdiAddDevice.DxgkDdiEscape");
}

RULE_KEPT_IN(CALL_003, RIG_PHYSICAL)
{
    start_with(rig, &(DRIVER_INITIALIZATION_DATA){.DxgkDdiPatch = (void *)is_code});
}

static void reserved_members_of_the_table_are_advice(void **state)
{
    DRIVER_INITIALIZATION_DATA table = {0};
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    memset(&table.Reserved1, 0x5a, sizeof table.Reserved1);
    rig_init(rig, RIG_PHYSICAL);
    start_with(rig, &table);
    assert_true(rig->last.is_advice);
    assert_int_equal(rig->last.rule, RULE_CALL_002);
    assert_string_equal(rig->last.detail.where, "DxgkDdiAddDevice.Reserved1");
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

/* What the driver hands to a callback, from a stack that it has not set to zero. */
static void reserved_bits_in_callbacks_are_advice(void **state)
{
    for (UINT reserved = 0; reserved < 2; reserved++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_SUBMITCOMMAND packet;
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        packet = rig_packet(rig);
        rig_submit_packet(rig, &packet);
        data.DmaCompleted.SubmissionFenceId = packet.SubmissionFenceId;
        data.DmaCompleted.NodeOrdinal = RIG_CLIENT_NODE;
        data.Flags.Reserved = reserved;
        rig_interrupt(rig, &data);
        assert_int_equal(rig->last.rule, reserved ? RULE_CALL_002 : RULE_NONE);
        if (reserved)
            assert_string_equal(rig->last.detail.where, "DxgkCbNotifyInterrupt.Flags.Reserved");
        rig_expect_only(rig, RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

static void what_is_handed_to_other_callbacks_is_looked_at(void **state)
{
    static const char *const where[] = {
        "DxgkCbGetHandleData.Flags.Reserved",
        "DxgkCbCreateContextAllocation.ContextAllocationFlags.Reserved",
    };
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned i = 0; i < 2; i++) {
        DXGKARGCB_GETHANDLEDATA data = {0};
        DXGKARGCB_CREATECONTEXTALLOCATION made = {.Size = 4096, .hDevice = (HANDLE)0x100};

        rig_init(rig, RIG_PHYSICAL);
        data.Flags.Reserved = 1;
        made.ContextAllocationFlags.SharedAcrossContexts = 1;
        made.ContextAllocationFlags.Reserved = 1;
        if (i == 0)
            rig->drivers_host->ops->get_handle_data(rig->drivers_host, &data);
        else
            rig->drivers_host->ops->create_context_allocation(rig->drivers_host, &made);
        assert_int_equal(rig->last.rule, RULE_CALL_002);
        assert_true(rig->last.is_advice);
        assert_string_equal(rig->last.detail.where, where[i]);
        rig_fini(rig);
    }
    free(rig);
}

static void what_a_driver_leaves_in_reserved_members_is_advice(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    create(rig, 7);
    assert_true(rig->last.is_advice);
    assert_int_equal(rig->last.rule, RULE_CALL_002);
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

static NTSTATUS answer_caps(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    NTSTATUS status = rig_answer(rig, ddi, object, arg);
    const DXGKARG_QUERYADAPTERINFO *query = arg;

    if (ddi == MINIPORT_DDI_QueryAdapterInfo && query->Type == DXGKQAITYPE_DRIVERCAPS) {
        DXGK_DRIVERCAPS *caps = query->pOutputData;

        caps->MemoryManagementCaps.Reserved = *(const UINT *)rig->told;
    }
    return status;
}

/* Of all caps, those of the structures in it too; what has a name may be set. */
static void reserved_bits_of_caps_are_looked_at(void **state)
{
    for (UINT reserved = 0; reserved < 2; reserved++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGK_DRIVERCAPS caps = {0};
        DXGKARG_QUERYADAPTERINFO query = {
            .Type = DXGKQAITYPE_DRIVERCAPS, .pOutputData = &caps, .OutputDataSize = sizeof caps};

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        caps.MemoryManagementCaps.OutOfOrderLock = 1;
        rig->told = &reserved;
        rig->answer = answer_caps;
        miniport_query_adapter_info(rig->top, NULL, &query);
        assert_int_equal(rig->last.rule, reserved ? RULE_CALL_002 : RULE_NONE);
        if (reserved)
            assert_non_null(strstr(rig->last.detail.where, "MemoryManagementCaps.Reserved"));
        rig_fini(rig);
        free(rig);
    }
}

/* Each operation has members of its own: those of another one lie in the same bytes. */
static void members_of_the_operation_are_looked_at(void **state)
{
    for (unsigned is_reserved = 0; is_reserved < 2; is_reserved++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER fill;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        fill = rig_fill(rig_create_allocation(rig, NULL));
        rig_build(rig, &fill);
        fill = (DXGKARG_BUILDPAGINGBUFFER){
            .Operation = DXGK_OPERATION_DISCARD_CONTENT,
            .DiscardContent = {.hAllocation = fill.Fill.hAllocation, .SegmentId = 1}};
        fill.DiscardContent.Flags.Reserved = is_reserved;
        rig_build(rig, &fill);
        assert_int_equal(rig->counts.broken[RULE_CALL_001], is_reserved);
        rig_fini(rig);
        free(rig);
    }
}

/* EngineOrdinal of Patch is reserved, and is called otherwise. */
static void the_engine_of_patch_is_looked_at(void **state)
{
    for (UINT engine = 0; engine < 2; engine++) {
        struct rig *rig = malloc(sizeof *rig);
        const DXGKARG_PATCH patch = {.hContext = NULL, .Flags.Paging = 1, .EngineOrdinal = engine};

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        miniport_patch(rig->top, NULL, &patch);
        assert_int_equal(rig->counts.broken[RULE_CALL_001], engine);
        if (engine)
            assert_non_null(strstr(rig->last.detail.where, "EngineOrdinal"));
        rig_fini(rig);
        free(rig);
    }
}

/* What its members are, nobody knows: none of them is a reserved one. */
static void an_operation_without_a_name_has_no_reserved_members(void **state)
{
    for (unsigned operation = 24; operation < 40; operation++) {
        struct rig *rig = malloc(sizeof *rig);
        DXGKARG_BUILDPAGINGBUFFER probe;

        assert_non_null(rig);
        rig_init(rig, RIG_PHYSICAL);
        memset(&probe, 0xff, sizeof probe);
        probe.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)operation;
        probe.pDmaBuffer = rig->buffer;
        probe.DmaSize = 64;
        probe.pDmaBufferPrivateData = NULL;
        probe.DmaBufferPrivateDataSize = 0;
        probe.MultipassOffset = 0;
        miniport_build_paging_buffer(rig->top, NULL, &probe);
        assert_int_equal(rig->counts.broken[RULE_CALL_001], 0);
        rig_fini(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_members_of_the_table_are_advice),
        cmocka_unit_test(reserved_bits_in_callbacks_are_advice),
        cmocka_unit_test(what_is_handed_to_other_callbacks_is_looked_at),
        cmocka_unit_test(what_a_driver_leaves_in_reserved_members_is_advice),
        cmocka_unit_test(members_of_the_operation_are_looked_at),
        cmocka_unit_test(the_engine_of_patch_is_looked_at),
        cmocka_unit_test(an_operation_without_a_name_has_no_reserved_members),
        cmocka_unit_test(reserved_bits_of_caps_are_looked_at),
    };

    return RIG_RUN_TESTS(tests);
}
