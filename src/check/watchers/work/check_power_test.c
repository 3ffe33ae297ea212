#include "check/rig/test_rig_submit.h"
#include "check/rig/test_rig_tables.h"

#define KEPT_BYTES (8u << 20) /* of a segment that hibernation keeps in part */

static MDL list;

/* ---- Rigs whose local memory outlives sleeps ---- */

static struct rig *new_rig(enum rig_model model, bool standby, bool hibernate, bool part)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_prepare(rig, model);
    rig->segments[0].Flags.PreservedDuringStandby = standby;
    rig->segments[0].Flags.PreservedDuringHibernate = hibernate;
    rig->segments[0].Flags.PartiallyPreservedDuringHibernate = part;
    rig->segments[0].SystemMemoryEndAddress = part ? KEPT_BYTES - 1 : 0;
    return rig;
}

static void end_rig(struct rig *rig, enum rule_id rule)
{
    check_end(rig->check, false);
    rig_expect_only(rig, rule);
    rig_fini(rig);
    free(rig);
}

/* The segments are queried again, with what the test says of the first. */
static void query_again(struct rig *rig, bool standby, bool hibernate, bool part, uint64_t end)
{
    rig->segments[0].Flags.PreservedDuringStandby = standby;
    rig->segments[0].Flags.PreservedDuringHibernate = hibernate;
    rig->segments[0].Flags.PartiallyPreservedDuringHibernate = part;
    rig->segments[0].SystemMemoryEndAddress = end;
    rig_query_segments(rig);
}

static void sleep_and_wake(struct rig *rig, POWER_ACTION action)
{
    rig->top->ops->set_power_state(rig->top, 0, PowerDeviceD3, action);
    rig->top->ops->set_power_state(rig->top, 0, PowerDeviceD0, PowerActionNone);
}

/* An allocation of 64 KiB at an address of local memory, all done. */
static HANDLE enter(struct rig *rig, uint64_t address)
{
    HANDLE allocation = rig_create_allocation(rig, NULL);
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    fill.Fill.Destination.SegmentAddress.QuadPart = (LONGLONG)address;
    rig_new_buffer(rig);
    rig_build(rig, &fill);
    rig_complete(rig, 0, rig_submit(rig));
    return allocation;
}

static void build_leave(struct rig *rig, HANDLE allocation)
{
    DXGKARG_BUILDPAGINGBUFFER out = {.Operation = DXGK_OPERATION_TRANSFER};

    out.Transfer.hAllocation = allocation;
    out.Transfer.TransferSize = 65536;
    out.Transfer.Source.SegmentId = 1;
    out.Transfer.Destination.pMdl = &list;
    out.Transfer.Flags.TransferStart = out.Transfer.Flags.TransferEnd = 1;
    rig_new_buffer(rig);
    rig_build(rig, &out);
    rig_complete(rig, 0, rig_submit(rig));
}

/* ---- What is reported ---- */

RULE_BROKEN(PWR_001)
{
    query_again(rig, false, true, false, 0);
    assert_string_equal(rig->last.text, "preserves standby 0, hibernate 1, hibernate in part 0 "
                                        "(expected 000, 100, 101 or 110)");
}

RULE_KEPT(PWR_001)
{
    query_again(rig, true, false, false, 0);
    query_again(rig, true, true, false, 0);
    query_again(rig, true, false, true, KEPT_BYTES - 1);
}

static void no_other_triple_is_lawful(void **state)
{
    for (unsigned i = 0; i < 8; i++) {
        bool is_lawful = i == 0 || i == 4 || i == 5 || i == 6;
        struct rig *rig = new_rig(RIG_PHYSICAL, i >> 2 & 1, i >> 1 & 1, i & 1);

        rig_init_prepared(rig);
        end_rig(rig, is_lawful ? RULE_NONE : RULE_PWR_001);
    }
}

RULE_BROKEN(PWR_006)
{
    query_again(rig, true, false, true, 16 << 20); /* behind the last byte */
}

RULE_KEPT(PWR_006)
{
    query_again(rig, true, false, true, (16 << 20) - 1);
}

/* Without its flag an end is advice, and a breach where the profile says so. */
static void an_end_goes_with_its_flag(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        struct rig *rig = new_rig(RIG_PHYSICAL, true, false, i == 2);

        rig->segments[0].SystemMemoryEndAddress = i == 2 ? 0 : KEPT_BYTES - 1;
        rig->config.profile.wants_end_with_flag = i == 1;
        rig_init_prepared(rig);
        assert_int_equal(rig->last.is_advice, i == 0);
        assert_int_equal(rig->finding_count, 1);
        end_rig(rig, i ? RULE_PWR_006 : RULE_NONE);
    }
}

/* ---- What leaves ---- */

RULE_BROKEN_IN(PWR_002, RIG_PHYSICAL)
{
    HANDLE allocation = enter(rig, 0);

    sleep_and_wake(rig, PowerActionSleep);
    build_leave(rig, allocation);
    assert_string_equal(rig->last.text,
                        "0x10000 bytes at 0x0 of segment 1 are used after a sleep that does not "
                        "keep them; they had to leave before");
    assert_non_null(strstr(rig->last.detail.objects, "allocation a1"));
}

RULE_KEPT_IN(PWR_002, RIG_PHYSICAL)
{
    HANDLE allocation = enter(rig, 0);

    build_leave(rig, allocation);
    sleep_and_wake(rig, PowerActionSleep);
}

RULE_BROKEN_IN(PWR_003, RIG_PHYSICAL)
{
    HANDLE allocation = enter(rig, 0);

    sleep_and_wake(rig, PowerActionHibernate);
    build_leave(rig, allocation);
}

RULE_KEPT_IN(PWR_003, RIG_PHYSICAL)
{
    HANDLE allocation = enter(rig, 0);

    build_leave(rig, allocation);
    sleep_and_wake(rig, PowerActionHibernate);
}

static void what_a_sleep_keeps_may_stay(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        bool keeps_hibernate = i & 1, hibernates = i >> 1;
        struct rig *rig = new_rig(RIG_PHYSICAL, true, keeps_hibernate, false);
        HANDLE allocation;

        rig_init_prepared(rig);
        allocation = enter(rig, 0);
        sleep_and_wake(rig, hibernates ? PowerActionHibernate : PowerActionSleep);
        build_leave(rig, allocation);
        end_rig(rig, hibernates && !keeps_hibernate ? RULE_PWR_003 : RULE_NONE);
    }
}

/* The commands of a client use it where it was. */
static void what_is_patched_was_not_lost(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL, false, false, false);
    DXGK_ALLOCATIONLIST entry = {.SegmentId = 1, .PhysicalAddress.QuadPart = 65536};
    const DXGKARG_PATCH patch = {
        .hContext = NULL, .pAllocationList = &entry, .AllocationListSize = 1};

    rig_init_prepared(rig);
    enter(rig, 0);
    enter(rig, 65536);
    sleep_and_wake(rig, PowerActionSleep);
    rig_expect_only(rig, RULE_NONE); /* both may have been destroyed */
    miniport_patch(rig->top, NULL, &patch);
    end_rig(rig, RULE_PWR_002);
}

/* What the processor locked behind an alternate address left by another operation. */
static void what_left_by_a_special_lock_is_not_lost(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL, false, false, false);
    DXGKARG_BUILDPAGINGBUFFER out = {.Operation = DXGK_OPERATION_SPECIAL_LOCK_TRANSFER};
    DXGK_ALLOCATIONLIST entry = {.SegmentId = 1};
    const DXGKARG_PATCH patch = {
        .hContext = NULL, .pAllocationList = &entry, .AllocationListSize = 1};

    rig_init_prepared(rig);
    out.SpecialLockTransfer.hAllocation = enter(rig, 0);
    out.SpecialLockTransfer.TransferSize = 65536;
    out.SpecialLockTransfer.Source.SegmentId = 1;
    out.SpecialLockTransfer.Destination.pMdl = &list;
    out.SpecialLockTransfer.Flags.TransferStart = out.SpecialLockTransfer.Flags.TransferEnd = 1;
    rig_new_buffer(rig);
    rig_build(rig, &out);
    rig_complete(rig, 0, rig_submit(rig));
    sleep_and_wake(rig, PowerActionSleep);
    miniport_patch(rig->top, NULL, &patch);
    end_rig(rig, RULE_SLT_002); /* which wants a range; nothing was lost */
}

/* The driver puts another save area where the first one was, and calls it by the same handle. */
static void the_handle_of_a_save_area_may_be_used_again(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        bool is_made_anew = i == 0;
        struct rig *rig = new_rig(RIG_PHYSICAL, false, false, false);
        DXGKARGCB_CREATECONTEXTALLOCATION made = {.hContext = (HANDLE)0x200,
                                                  .hDriverAllocation = (HANDLE)0x300,
                                                  .hAllocation = (HANDLE)0x400,
                                                  .Size = 65536,
                                                  .SupportedSegmentSet = 1};
        DXGKARG_BUILDPAGINGBUFFER first = {.Operation = DXGK_OPERATION_INIT_CONTEXT_RESOURCE};
        struct miniport_host *host;

        rig_init_prepared(rig);
        host = rig->drivers_host;
        first.InitContextResource.hAllocation = made.hDriverAllocation;
        first.InitContextResource.Destination.SegmentId = 1;
        host->ops->create_context_allocation(host, &made);
        rig_new_buffer(rig);
        rig_build(rig, &first);
        rig_complete(rig, 0, rig_submit(rig));
        if (is_made_anew) {
            host->ops->destroy_context_allocation(host, made.hAllocation);
            made.hAllocation = (HANDLE)0x500;
            host->ops->create_context_allocation(host, &made);
        }
        sleep_and_wake(rig, PowerActionSleep);
        if (is_made_anew) {
            rig_new_buffer(rig);
            rig_build(rig, &first);
            rig_complete(rig, 0, rig_submit(rig));
        }
        build_leave(rig, made.hDriverAllocation);
        end_rig(rig, is_made_anew ? RULE_NONE : RULE_PWR_002);
    }
}

/* The segment keeps its first half; it is queried when the test has begun, as the manager may. */
static void hibernate_with(struct rig *rig, uint64_t address)
{
    HANDLE allocation;

    query_again(rig, true, false, true, KEPT_BYTES - 1);
    allocation = enter(rig, address);
    sleep_and_wake(rig, PowerActionHibernate);
    build_leave(rig, allocation);
}

RULE_BROKEN_IN(PWR_004, RIG_PHYSICAL)
{
    hibernate_with(rig, KEPT_BYTES);
}

RULE_KEPT_IN(PWR_004, RIG_PHYSICAL)
{
    hibernate_with(rig, KEPT_BYTES - 65536);
}

RULE_BROKEN_IN(PWR_005, RIG_PHYSICAL)
{
    hibernate_with(rig, KEPT_BYTES - 65536 + 4096);
}

RULE_KEPT_IN(PWR_005, RIG_PHYSICAL)
{
    hibernate_with(rig, KEPT_BYTES - 65536);
}

static void a_profile_lets_straddling_stay(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL, true, false, true);

    rig->config.profile.keeps_straddling = true;
    rig_init_prepared(rig);
    hibernate_with(rig, KEPT_BYTES - 4096);
    end_rig(rig, RULE_NONE);
}

RULE_BROKEN_IN(PWR_011, RIG_PHYSICAL)
{
    HANDLE allocation = enter(rig, 0);
    DXGKARG_BUILDPAGINGBUFFER discard = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};

    discard.DiscardContent.hAllocation = allocation;
    discard.DiscardContent.SegmentId = 1;
    rig_new_buffer(rig);
    rig_build(rig, &discard);
    rig_complete(rig, 0, rig_submit(rig));
    build_leave(rig, allocation);
}

RULE_KEPT_IN(PWR_011, RIG_PHYSICAL)
{
    HANDLE allocation = enter(rig, 0);

    build_leave(rig, allocation);
}

/* ---- The sleep itself ---- */

RULE_BROKEN(PWR_007)
{
    rig_render(rig);
    sleep_and_wake(rig, PowerActionSleep);
}

RULE_KEPT(PWR_007)
{
    rig_run(rig, RIG_CLIENT_NODE, rig_render(rig), RIG_CLIENT_BYTES);
    sleep_and_wake(rig, PowerActionSleep);
    rig_render(rig);
}

static NTSTATUS sleep_meanwhile(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_CreateAllocation)
        rig->top->ops->set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
    return rig_answer(rig, ddi, object, arg);
}

static void a_sleep_in_the_middle_of_a_call_breaks_PWR_007(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL, false, false, false);

    rig_init_prepared(rig);
    rig->answer = sleep_meanwhile;
    rig_create_allocation(rig, NULL);
    rig->answer = NULL;
    assert_int_equal(rig->counts.broken[RULE_PWR_007], 1);
    assert_int_equal(rig->counts.broken[RULE_IOMMU_007], 1); /* and it is not alone */
    rig_fini(rig);
    free(rig);
}

static void nothing_is_built_for_a_device_that_sleeps(void **state)
{
    struct rig *rig = new_rig(RIG_PHYSICAL, false, false, false);
    DXGKARG_BUILDPAGINGBUFFER fill;

    rig_init_prepared(rig);
    fill = rig_fill(rig_create_allocation(rig, NULL));
    rig->top->ops->set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
    rig_build(rig, &fill);
    end_rig(rig, RULE_PWR_007);
}

RULE_BROKEN(PWR_008)
{
    struct rig_refusal refusal = {MINIPORT_DDI_SetPowerState, STATUS_UNSUCCESSFUL};

    rig_refuse(rig, &refusal);
    rig->top->ops->set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
    assert_string_equal(rig->last.text, "0xc0000001 for D3 (expected a success status)");
}

RULE_KEPT(PWR_008)
{
    sleep_and_wake(rig, PowerActionNone);
}

static void any_success_is_right_for_a_change_of_power(void **state)
{
    static const NTSTATUS lawful[] = {STATUS_WAIT_1, STATUS_PENDING, STATUS_OBJECT_NAME_EXISTS};

    for (size_t i = 0; i < sizeof lawful / sizeof *lawful; i++) {
        struct rig *rig = new_rig(RIG_PHYSICAL, false, false, false);
        struct rig_refusal refusal = {MINIPORT_DDI_SetPowerState, lawful[i]};

        rig_init_prepared(rig);
        rig_refuse(rig, &refusal);
        sleep_and_wake(rig, PowerActionSleep);
        end_rig(rig, RULE_NONE);
    }
}

/* ---- Page tables ---- */

/* The paging process's first leaf, by the CPU and without a buffer. */
static void write_system_table(struct rig *rig)
{
    static char table[4096];
    struct rig_update update;

    rig_begin_update(rig, &update, 0, 0, RIG_ENTRIES);
    update.arg.UpdatePageTable.hProcess = rig->system_process;
    update.arg.UpdatePageTable.UpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    update.arg.UpdatePageTable.PageTableAddress.CpuVirtual = table;
    update.arg.UpdatePageTable.Flags.InitialUpdate = 1;
    update.arg.UpdatePageTable.Flags.Repeat = 1;
    miniport_build_paging_buffer(rig->top, NULL, &update.arg);
}

/* A leaf of the client's process. */
static void write_table(struct rig *rig)
{
    rig_new_buffer(rig);
    rig_initialise_table(rig, 0, RIG_VA);
    rig_complete(rig, 0, rig_submit(rig));
}

RULE_BROKEN(PWR_009)
{
    write_system_table(rig);
    write_table(rig);
    sleep_and_wake(rig, PowerActionSleep);
    write_table(rig);
    assert_non_null(strstr(rig->last.text, "is of another process"));
}

RULE_KEPT(PWR_009)
{
    write_system_table(rig);
    write_table(rig);
    sleep_and_wake(rig, PowerActionSleep);
    write_system_table(rig);
    write_table(rig);
}

/* ---- Stop ---- */

RULE_BROKEN(PWR_013)
{
    rig->enabled_interrupts = 5;
    rig->top->ops->stop_device(rig->top);
    assert_string_equal(rig->last.text, "returns and the device may still interrupt: 0x5 is "
                                        "enabled (expected none)");
}

static NTSTATUS mask_in_stop(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_StopDevice)
        rig->enabled_interrupts = 0;
    return rig_answer(rig, ddi, object, arg);
}

RULE_KEPT(PWR_013)
{
    rig->enabled_interrupts = 5;
    rig->answer = mask_in_stop;
    rig->top->ops->stop_device(rig->top);
}

/* ---- A board that has gone ---- */

static void touch(struct rig *rig, enum check_gpu_access access)
{
    check_gpu(rig->check, &(struct check_gpu_event){
                              .kind = CHECK_GPU_TOUCHED, .access = access, .address = 0x18});
}

RULE_BROKEN(PWR_014)
{
    miniport_notify_surprise_removal(rig->top, DxgkRemovalPnPNotify);
    touch(rig, CHECK_GPU_WRITES);
    assert_string_equal(rig->last.text,
                        "a register of the board that has gone is written, at offset 0x18");
}

/* A driver that nobody has told yet cannot know. */
RULE_KEPT(PWR_014)
{
    touch(rig, CHECK_GPU_WRITES);
    miniport_notify_surprise_removal(rig->top, DxgkRemovalPnPNotify);
    rig->top->ops->stop_device(rig->top);
    touch(rig, CHECK_GPU_WRITES); /* by whoever starts it again */
}

static void a_look_whether_the_board_is_there_is_advice(void **state)
{
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_prepare(rig, RIG_GPUMMU);
        rig->config.profile.wants_gone_untouched = is_strict;
        rig_init_prepared(rig);
        miniport_notify_surprise_removal(rig->top, DxgkRemovalPnPNotify);
        touch(rig, CHECK_GPU_READS);
        assert_int_equal(rig->last.is_advice, !is_strict);
        assert_int_equal(rig->last.rule, RULE_PWR_014);
        rig_expect_only(rig, is_strict ? RULE_PWR_014 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

static NTSTATUS refuse_removal(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_NotifySurpriseRemoval ? STATUS_UNSUCCESSFUL
                                                     : rig_answer(rig, ddi, object, arg);
}

RULE_BROKEN(PWR_015)
{
    rig->answer = refuse_removal;
    miniport_notify_surprise_removal(rig->top, DxgkRemovalHibernation);
    assert_string_equal(rig->last.text, "0xc0000001 for DxgkRemovalHibernation (expected "
                                        "STATUS_SUCCESS)");
}

/* Of a board that went while it ran, the answer is ignored. */
RULE_KEPT(PWR_015)
{
    miniport_notify_surprise_removal(rig->top, DxgkRemovalHibernation);
    rig->answer = refuse_removal;
    miniport_notify_surprise_removal(rig->top, DxgkRemovalPnPNotify);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_whether_the_board_is_there_is_advice),
        cmocka_unit_test(no_other_triple_is_lawful),
        cmocka_unit_test(what_a_sleep_keeps_may_stay),
        cmocka_unit_test(what_is_patched_was_not_lost),
        cmocka_unit_test(the_handle_of_a_save_area_may_be_used_again),
        cmocka_unit_test(what_left_by_a_special_lock_is_not_lost),
        cmocka_unit_test(a_profile_lets_straddling_stay),
        cmocka_unit_test(an_end_goes_with_its_flag),
        cmocka_unit_test(nothing_is_built_for_a_device_that_sleeps),
        cmocka_unit_test(a_sleep_in_the_middle_of_a_call_breaks_PWR_007),
        cmocka_unit_test(any_success_is_right_for_a_change_of_power),
    };

    return RIG_RUN_TESTS(tests);
}
