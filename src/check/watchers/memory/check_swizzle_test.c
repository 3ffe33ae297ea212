#include "check/rig/test_rig.h"

/* A WDDM 1 adapter with four ranges. */
static void describe(struct rig *rig)
{
    DXGK_DRIVERCAPS caps;

    rig->caps.NumberOfSwizzlingRanges = 4;
    rig_query(rig, DXGKQAITYPE_DRIVERCAPS, NULL, 0, &caps, sizeof caps);
}

static const void *name_of(struct rig *rig)
{
    return &rig->caps; /* any pointer */
}

/* An allocation that the client knows, and has locked with AcquireAperture or without. */
static HANDLE create_locked(struct rig *rig, DXGK_ALLOCATIONINFO info, bool wants_aperture)
{
    const void *name = name_of(rig);
    HANDLE allocation;

    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE});
    allocation = rig_create_allocation(rig, &info);
    check_client(rig->check, &(struct check_client_event){
                                 .kind = CHECK_CLIENT_CREATED, .count = 1, .allocations = &name});
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_LOCK,
                                                          .count = 1,
                                                          .allocations = &name,
                                                          .wants_aperture = wants_aperture});
    return allocation;
}

static NTSTATUS acquire_for(struct rig *rig, HANDLE allocation, UINT range, UINT segment)
{
    DXGKARG_ACQUIRESWIZZLINGRANGE arg = {
        .hAllocation = allocation,
        .PrivateDriverData = 7,
        .RangeId = range,
        .SegmentId = segment,
        .RangeSize = 65536,
    };

    return miniport_acquire_swizzling_range(rig->top, NULL, &arg);
}

static void release_of(struct rig *rig, HANDLE allocation, UINT range)
{
    const DXGKARG_RELEASESWIZZLINGRANGE arg = {
        .hAllocation = allocation, .PrivateDriverData = 7, .RangeId = range};

    miniport_release_swizzling_range(rig->top, NULL, &arg);
}

static void acquire_after_lock(struct rig *rig, bool wants_aperture, UINT range)
{
    describe(rig);
    acquire_for(rig, create_locked(rig, (DXGK_ALLOCATIONINFO){0}, wants_aperture), range, 1);
}

RULE_BROKEN_IN(SWZ_001, RIG_PHYSICAL)
{
    acquire_after_lock(rig, false, 0);
}

RULE_KEPT_IN(SWZ_001, RIG_PHYSICAL)
{
    acquire_after_lock(rig, true, 0);
}

static NTSTATUS answer_range(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_AcquireSwizzlingRange)
        ((DXGKARG_ACQUIRESWIZZLINGRANGE *)arg)->RangeSize += *(SIZE_T *)rig->told;
    return rig_answer(rig, ddi, object, arg);
}

static void acquire_resized(struct rig *rig, SIZE_T more)
{
    rig->answer = answer_range;
    rig->told = &more;
    acquire_after_lock(rig, true, 0);
}

RULE_BROKEN_IN(SWZ_002, RIG_PHYSICAL)
{
    acquire_resized(rig, 4096);
}

RULE_KEPT_IN(SWZ_002, RIG_PHYSICAL)
{
    acquire_resized(rig, 0);
}

static NTSTATUS answer_status(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_AcquireSwizzlingRange || ddi == MINIPORT_DDI_ReleaseSwizzlingRange)
        return *(NTSTATUS *)rig->told;
    return rig_answer(rig, ddi, object, arg);
}

static void acquire_with_status(struct rig *rig, NTSTATUS status)
{
    rig->answer = answer_status;
    rig->told = &status;
    acquire_after_lock(rig, true, 0);
}

RULE_BROKEN_IN(SWZ_003, RIG_PHYSICAL)
{
    acquire_with_status(rig, STATUS_NO_MEMORY);
}

RULE_KEPT_IN(SWZ_003, RIG_PHYSICAL)
{
    acquire_with_status(rig, STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE);
}

static void release_with_status(struct rig *rig, NTSTATUS status)
{
    HANDLE allocation;

    describe(rig);
    allocation = create_locked(rig, (DXGK_ALLOCATIONINFO){0}, true);
    acquire_for(rig, allocation, 0, 1);
    rig->answer = answer_status;
    rig->told = &status;
    release_of(rig, allocation, 0);
}

RULE_BROKEN_IN(SWZ_004, RIG_PHYSICAL)
{
    release_with_status(rig, STATUS_INVALID_PARAMETER);
}

RULE_KEPT_IN(SWZ_004, RIG_PHYSICAL)
{
    release_with_status(rig, STATUS_SUCCESS);
}

/* The GPU is handed the packet that was submitted last: in the midst of the call, or behind it. */
static NTSTATUS queue_in_call(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_AcquireSwizzlingRange)
        check_gpu(rig->check, rig->told);
    return rig_answer(rig, ddi, object, arg);
}

static void acquire_beside_gpu(struct rig *rig, bool in_call)
{
    HANDLE allocation;
    DXGKARG_BUILDPAGINGBUFFER fill;
    struct check_gpu_event event = {.kind = CHECK_GPU_QUEUED, .bytes = RIG_PACKET_BYTES};

    describe(rig);
    allocation = create_locked(rig, (DXGK_ALLOCATIONINFO){0}, true);
    fill = rig_fill(allocation);
    rig_build(rig, &fill);
    event.fence = rig_submit(rig);
    rig->told = &event;
    if (in_call)
        rig->answer = queue_in_call;
    else
        check_gpu(rig->check, &event);
    acquire_for(rig, allocation, 0, 1);
}

RULE_BROKEN_IN(SWZ_005, RIG_PHYSICAL)
{
    acquire_beside_gpu(rig, true);
}

RULE_KEPT_IN(SWZ_005, RIG_PHYSICAL)
{
    acquire_beside_gpu(rig, false);
}

RULE_BROKEN_IN(SWZ_006, RIG_PHYSICAL)
{
    acquire_after_lock(rig, true, 4);
}

RULE_KEPT_IN(SWZ_006, RIG_PHYSICAL)
{
    acquire_after_lock(rig, true, 3);
}

static void a_range_of_somebody_else_is_found(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    HANDLE allocation;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    describe(rig);
    allocation = create_locked(rig, (DXGK_ALLOCATIONINFO){0}, true);
    acquire_for(rig, allocation, 0, 1);
    release_of(rig, rig_create_allocation(rig, NULL), 0);
    rig_expect_only(rig, RULE_SWZ_006);
    rig_fini(rig);
    free(rig);
}

static void transfer(struct rig *rig, HANDLE allocation, bool is_in, UINT flags)
{
    static MDL mdl;
    DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

    arg.Transfer.hAllocation = allocation;
    arg.Transfer.TransferSize = 65536;
    arg.Transfer.Flags.Value = flags;
    arg.Transfer.Flags.TransferStart = arg.Transfer.Flags.TransferEnd = 1;
    if (is_in) {
        arg.Transfer.Source.pMdl = &mdl;
        arg.Transfer.Destination.SegmentId = 1;
    } else {
        arg.Transfer.Source.SegmentId = 1;
        arg.Transfer.Destination.pMdl = &mdl;
    }
    rig_build(rig, &arg);
    rig_complete(rig, 0, rig_submit(rig));
}

/* It leaves in its own order, and comes back. */
static void leave_and_return(struct rig *rig, UINT flags)
{
    HANDLE allocation = rig_create_allocation(rig, &(DXGK_ALLOCATIONINFO){.Flags.Swizzled = 1});
    DXGKARG_BUILDPAGINGBUFFER fill = rig_fill(allocation);

    rig_build(rig, &fill);
    rig_complete(rig, 0, rig_submit(rig));
    transfer(rig, allocation, false, 0);
    transfer(rig, allocation, true, flags);
}

RULE_BROKEN_IN(SWZ_008, RIG_PHYSICAL)
{
    leave_and_return(rig, 1); /* Swizzle */
}

RULE_KEPT_IN(SWZ_008, RIG_PHYSICAL)
{
    leave_and_return(rig, 0);
}

/*
 * It was linear outside when it came in, and what a reset takes from the segment does not change
 * that.
 */
static void what_a_reset_takes_comes_back_in_the_order_outside(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER fill, lost = {.Operation = DXGK_OPERATION_TRANSFER};
    HANDLE allocation;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    allocation = rig_create_allocation(rig, &(DXGK_ALLOCATIONINFO){.Flags.Swizzled = 1});
    fill = rig_fill(allocation);
    rig_build(rig, &fill);
    rig_complete(rig, 0, rig_submit(rig));
    transfer(rig, allocation, false, 2); /* Unswizzle */
    transfer(rig, allocation, true, 1);  /* Swizzle */
    lost.Transfer.hAllocation = allocation;
    lost.Transfer.Source.SegmentId = 1;
    lost.Transfer.Flags.TransferStart = lost.Transfer.Flags.TransferEnd = 1;
    rig_build(rig, &lost);
    transfer(rig, allocation, true, 1);
    assert_int_equal(rig->counts.broken[RULE_SWZ_008], 0);
    assert_true(rig->counts.evaluated[RULE_SWZ_008] >= 3);
    rig_fini(rig);
    free(rig);
}

/* It leaves in its own order, comes back, moves, is discarded unchanged, and comes back so. */
static void a_move_does_not_change_the_order_outside(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    DXGKARG_BUILDPAGINGBUFFER fill, move = {.Operation = DXGK_OPERATION_TRANSFER};
    DXGKARG_BUILDPAGINGBUFFER discard = {.Operation = DXGK_OPERATION_DISCARD_CONTENT};
    HANDLE allocation;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    allocation = rig_create_allocation(rig, &(DXGK_ALLOCATIONINFO){.Flags.Swizzled = 1});
    fill = rig_fill(allocation);
    rig_build(rig, &fill);
    rig_complete(rig, 0, rig_submit(rig));
    transfer(rig, allocation, false, 0);
    transfer(rig, allocation, true, 0);
    move.Transfer.hAllocation = allocation;
    move.Transfer.TransferSize = 65536;
    move.Transfer.Source.SegmentId = move.Transfer.Destination.SegmentId = 1;
    move.Transfer.Destination.SegmentAddress.QuadPart = 0x20000;
    move.Transfer.Flags.TransferStart = move.Transfer.Flags.TransferEnd = 1;
    rig_build(rig, &move);
    discard.DiscardContent.hAllocation = allocation;
    discard.DiscardContent.SegmentId = 1;
    discard.DiscardContent.SegmentAddress.QuadPart = 0x20000;
    rig_build(rig, &discard);
    rig_complete(rig, 0, rig_submit(rig));
    transfer(rig, allocation, true, 0);
    assert_int_equal(rig->counts.broken[RULE_SWZ_008], 0);
    assert_int_equal(rig->counts.evaluated[RULE_SWZ_008], 5);
    rig_fini(rig);
    free(rig);
}

/* It had left in its own order; then its content was dropped. The CPU writes it anew, in lines. */
static void what_was_dropped_is_in_no_order(void **state)
{
    struct rig *rig = malloc(sizeof *rig);
    const void *name;
    DXGKARG_BUILDPAGINGBUFFER fill;
    HANDLE allocation;

    assert_non_null(rig);
    rig_init(rig, RIG_PHYSICAL);
    name = name_of(rig);
    allocation = create_locked(rig, (DXGK_ALLOCATIONINFO){.Flags.Swizzled = 1}, false);
    fill = rig_fill(allocation);
    rig_build(rig, &fill);
    rig_complete(rig, 0, rig_submit(rig));
    transfer(rig, allocation, false, 0);
    check_client(rig->check, &(struct check_client_event){
                                 .kind = CHECK_CLIENT_OFFER, .count = 1, .allocations = &name});
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_RECLAIM,
                                                          .count = 1,
                                                          .allocations = &name,
                                                          .result = CHECK_RECLAIM_DISCARDED});
    check_client(rig->check, &(struct check_client_event){
                                 .kind = CHECK_CLIENT_LOCKED, .count = 1, .allocations = &name});
    transfer(rig, allocation, true, 1); /* Swizzle */
    assert_int_equal(rig->counts.broken[RULE_SWZ_008], 0);
    assert_int_equal(rig->counts.evaluated[RULE_SWZ_008], 3);
    rig_fini(rig);
    free(rig);
}

static void lock_ignoring_sync(struct rig *rig, NTSTATUS status)
{
    const void *name = name_of(rig);

    create_locked(rig, (DXGK_ALLOCATIONINFO){.Flags.Swizzled = 1}, true);
    check_client(rig->check, &(struct check_client_event){.kind = CHECK_CLIENT_LOCKED,
                                                          .count = 1,
                                                          .allocations = &name,
                                                          .ignores_sync = true,
                                                          .status = status});
}

RULE_BROKEN_IN(SWZ_009, RIG_PHYSICAL)
{
    lock_ignoring_sync(rig, STATUS_SUCCESS);
}

RULE_KEPT_IN(SWZ_009, RIG_PHYSICAL)
{
    lock_ignoring_sync(rig, STATUS_INVALID_PARAMETER);
}

RULE_BROKEN(SWZ_010)
{
    acquire_for(rig, rig_create_allocation(rig, NULL), 0, 1);
}

RULE_KEPT(SWZ_010)
{
    rig_create_allocation(rig, NULL); /* the adapter has started, and no call was made */
}

/* It left in lines; a special lock transfer brings it back with the flag, or without. */
static void a_special_lock_transfer_is_judged_by_its_own_flags(void **state)
{
    static MDL mdl;
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    for (unsigned is_broken = 0; is_broken < 2; is_broken++) {
        DXGKARG_BUILDPAGINGBUFFER fill;
        DXGKARG_BUILDPAGINGBUFFER back = {.Operation = DXGK_OPERATION_SPECIAL_LOCK_TRANSFER};
        HANDLE allocation;

        rig_init(rig, RIG_PHYSICAL);
        allocation = rig_create_allocation(rig, &(DXGK_ALLOCATIONINFO){.Flags.Swizzled = 1});
        fill = rig_fill(allocation);
        rig_build(rig, &fill);
        rig_complete(rig, 0, rig_submit(rig));
        transfer(rig, allocation, false, 2); /* Unswizzle */
        back.SpecialLockTransfer.hAllocation = allocation;
        back.SpecialLockTransfer.TransferSize = 65536;
        back.SpecialLockTransfer.Source.pMdl = &mdl;
        back.SpecialLockTransfer.Destination.SegmentId = 1;
        back.SpecialLockTransfer.Flags.Swizzle = !is_broken;
        back.SpecialLockTransfer.Flags.TransferStart = 1;
        back.SpecialLockTransfer.Flags.TransferEnd = 1;
        rig_build(rig, &back);
        assert_int_equal(rig->counts.broken[RULE_SWZ_008], is_broken);
        rig_fini(rig);
    }
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_of_somebody_else_is_found),
        cmocka_unit_test(what_a_reset_takes_comes_back_in_the_order_outside),
        cmocka_unit_test(a_move_does_not_change_the_order_outside),
        cmocka_unit_test(what_was_dropped_is_in_no_order),
        cmocka_unit_test(a_special_lock_transfer_is_judged_by_its_own_flags),
    };

    return RIG_RUN_TESTS(tests);
}
