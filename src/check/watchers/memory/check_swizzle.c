/*
 * Watcher: swizzling ranges, and the order of allocations that are marked Swizzled (SWZ). The
 * CPU's reads are compared by the oracle.
 */
#include "check/check_watch.h"
#include "miniport/operation.h"

#define MAX_RANGES 64u

struct swizzle_watch {
    /* Who has a range, by number. */
    struct {
        bool is_taken, is_known;
        void *allocation;
        UINT data;
    } ranges[MAX_RANGES];
    bool has_queued; /* the GPU was handed something in the midst of a call about a range */
};

static bool is_new(struct check *check)
{
    return check_ledger(check)->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;
}

static bool is_about_range(const struct check_call *call)
{
    return call && (call->ddi == MINIPORT_DDI_AcquireSwizzlingRange ||
                    call->ddi == MINIPORT_DDI_ReleaseSwizzlingRange);
}

/* Marked, and there is memory for it where its own order means something (SWZ-008). */
static bool is_swizzled(struct check *check, const struct check_allocation *allocation)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (!allocation || is_new(check) || !allocation->info.Flags.Swizzled)
        return false;
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        if ((allocation->info.SupportedWriteSegmentSet >> i & 1) &&
            check_is_memory(check_ledger(check), i + 1))
            return true;
    }
    return false;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static void check_range_id(struct check *check, const struct check_call *call,
                           const struct check_object *object, unsigned id)
{
    const struct check_caps *caps = &check_ledger(check)->caps;

    CHECK_RULE(check, RULE_SWZ_006,
               !is_about_range(call->outer) &&
                   (!caps->has_driver || id < caps->driver.NumberOfSwizzlingRanges),
               object, "RangeId",
               is_about_range(call->outer) ? "%u: another call about a range has not returned "
                                             "(the adapter has %u)"
                                           : "is {%u}; the adapter has {=~less than ~%u} ranges",
               id, caps->driver.NumberOfSwizzlingRanges);
}

static void check_is_old(struct check *check, const struct check_object *object)
{
    if (is_new(check))
        CHECK_RULE(check, RULE_SWZ_010, false, object, "",
                   "swizzling ranges are for drivers below WDDM 2.0");
}

static void before_acquire(struct check *check, struct swizzle_watch *watch,
                           const struct check_call *call)
{
    const DXGKARG_ACQUIRESWIZZLINGRANGE *arg = call->arg.acquire_swizzling_range;
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_allocation *allocation = check_find_allocation(ledger, arg->hAllocation);
    const struct check_object *object = allocation ? &allocation->object : NULL;
    bool was_asked = !ledger->has_client || (allocation && (allocation->wants_aperture ||
                                                            allocation->info.Flags.UseAlternateVA ||
                                                            allocation->info.Flags.Swizzled));
    bool is_in_memory = check_is_memory(check_ledger(check), arg->SegmentId);
    unsigned id = arg->RangeId;

    check_is_old(check, object);
    if (is_new(check))
        return;
    CHECK_RULE(check, RULE_SWZ_001, was_asked && is_in_memory, object,
               is_in_memory ? "hAllocation" : "SegmentId",
               is_in_memory ? "nobody locked it with AcquireAperture (segment %u)"
                            : "segment %u is no memory segment",
               arg->SegmentId);
    check_range_id(check, call, object, id);
    if (id >= MAX_RANGES || !watch->ranges[id].is_taken)
        return;
    CHECK_RULE(check, RULE_SWZ_006, watch->ranges[id].allocation == arg->hAllocation, object,
               "RangeId", "%u has not been released by another allocation", id);
}

static void after_acquire(struct check *check, struct swizzle_watch *watch,
                          const struct check_call *call)
{
    const DXGKARG_ACQUIRESWIZZLINGRANGE *arg = call->arg.acquire_swizzling_range;
    const DXGKARG_ACQUIRESWIZZLINGRANGE *was = call->before.acquire_swizzling_range;
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), was->hAllocation);
    const struct check_object *object = allocation ? &allocation->object : NULL;
    bool may_resize = allocation && allocation->info.Flags.UseAlternateVA;
    bool is_kept = arg->hAllocation == was->hAllocation && arg->RangeId == was->RangeId &&
                   arg->PrivateDriverData == was->PrivateDriverData &&
                   arg->SegmentId == was->SegmentId &&
                   (may_resize || arg->RangeSize == was->RangeSize);

    CHECK_RULE(check, RULE_SWZ_003,
               call->status == STATUS_SUCCESS ||
                   call->status == STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED ||
                   call->status == STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE,
               object, "status",
               "{0x%08x} (expected {=STATUS_SUCCESS or an UNSWIZZLING_APERTURE status})",
               (unsigned)call->status);
    if (!NT_SUCCESS(call->status))
        return;
    CHECK_RULE(check, RULE_SWZ_002, is_kept, object,
               arg->RangeSize == was->RangeSize ? "RangeId" : "RangeSize",
               "range %u of segment %u and 0x%llx bytes came back as range %u of segment %u "
               "and 0x%llx bytes",
               was->RangeId, was->SegmentId, (unsigned long long)was->RangeSize, arg->RangeId,
               arg->SegmentId, (unsigned long long)arg->RangeSize);
    if (was->RangeId >= MAX_RANGES)
        return;
    watch->ranges[was->RangeId].is_taken = watch->ranges[was->RangeId].is_known = true;
    watch->ranges[was->RangeId].allocation = was->hAllocation;
    watch->ranges[was->RangeId].data = was->PrivateDriverData;
}

static void before_release(struct check *check, struct swizzle_watch *watch,
                           const struct check_call *call)
{
    const DXGKARG_RELEASESWIZZLINGRANGE *arg = call->arg.release_swizzling_range;
    const struct check_object *object =
        check_find(check_ledger(check), CHECK_ALLOCATION, arg->hAllocation);
    unsigned id = arg->RangeId;

    check_is_old(check, object);
    if (is_new(check))
        return;
    check_range_id(check, call, object, id);
    if (id >= MAX_RANGES || !watch->ranges[id].is_known)
        return;
    CHECK_RULE(check, RULE_SWZ_006,
               watch->ranges[id].is_taken && watch->ranges[id].allocation == arg->hAllocation &&
                   watch->ranges[id].data == arg->PrivateDriverData,
               object, "RangeId", "%u is not this allocation's with private data 0x%x", id,
               arg->PrivateDriverData);
    watch->ranges[id].is_taken = false;
}

static void after_release(struct check *check, const struct check_call *call)
{
    const struct check_object *object = check_find(
        check_ledger(check), CHECK_ALLOCATION, call->before.release_swizzling_range->hAllocation);

    CHECK_RULE(check, RULE_SWZ_004, call->status == STATUS_SUCCESS, object, "status",
               "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status);
}

static void check_quiet(struct check *check, struct swizzle_watch *watch)
{
    CHECK_RULE(check, RULE_SWZ_005, !watch->has_queued, NULL, "",
               "the GPU was handed a packet in the midst of the call (expected registers only)");
    watch->has_queued = false;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static void before_build(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *allocation =
        check_find_allocation(ledger, miniport_operation_allocation(arg));
    DXGK_TRANSFERFLAGS flags = {0};
    uint64_t address, size;
    unsigned segment;
    enum check_effect effect;
    bool is_linear_wanted;

    if (!is_swizzled(check, allocation) || ledger->is_operation_open)
        return;
    if (arg->Operation == DXGK_OPERATION_TRANSFER && !arg->Transfer.TransferSize)
        return; /* a reset took it (XFER-016): its order in system memory holds again */
    effect = check_paging_effect(ledger, arg, &segment, &address, &size);
    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        flags = arg->Transfer.Flags;
    else if (arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER)
        flags = arg->SpecialLockTransfer.Flags;
    switch (effect) {
    case CHECK_EFFECT_IN:
        if (allocation->is_history_lost)
            break;
        is_linear_wanted = arg->Operation != DXGK_OPERATION_FILL && !allocation->is_in_own_order;
        CHECK_RULE(check, RULE_SWZ_008, flags.Swizzle == is_linear_wanted && !flags.Unswizzle,
                   &allocation->object, "Flags",
                   "Swizzle is %u, Unswizzle %u; in system memory it is in %s order", flags.Swizzle,
                   flags.Unswizzle, allocation->is_in_own_order ? "its own" : "linear");
        break;
    case CHECK_EFFECT_OUT:
    case CHECK_EFFECT_MOVE:
        CHECK_RULE(check, RULE_SWZ_008,
                   !flags.Swizzle && (effect == CHECK_EFFECT_OUT || !flags.Unswizzle),
                   &allocation->object, "Flags",
                   "Swizzle is %u, Unswizzle %u: in memory it is in its own order, where it "
                   "%s",
                   flags.Swizzle, flags.Unswizzle, effect == CHECK_EFFECT_OUT ? "leaves" : "stays");
        if (effect == CHECK_EFFECT_OUT) /* what a move leaves in system memory stays as it is */
            allocation->is_in_own_order = !flags.Unswizzle;
        break;
    case CHECK_EFFECT_MAP:
        CHECK_RULE(check, RULE_SWZ_008, allocation->is_placed || allocation->is_in_own_order,
                   &allocation->object, "SegmentId",
                   "%u: it is in linear order, and would be shown to the GPU so", segment);
        break;
    default:
        break;
    }
}

/* ---- All ------------------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct swizzle_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_AcquireSwizzlingRange:
        before_acquire(check, watch, call);
        break;
    case MINIPORT_DDI_ReleaseSwizzlingRange:
        before_release(check, watch, call);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, call->arg.build_paging_buffer);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct swizzle_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_AcquireSwizzlingRange:
        after_acquire(check, watch, call);
        check_quiet(check, watch);
        break;
    case MINIPORT_DDI_ReleaseSwizzlingRange:
        after_release(check, call);
        check_quiet(check, watch);
        break;
    case MINIPORT_DDI_StartDevice:
        for (unsigned i = 0; i < MAX_RANGES; i++)
            watch->ranges[i].is_known = true;
        if (is_new(check)) /* from here on none may come */
            check_looked_at(check, RULE_SWZ_010);
        break;
    case MINIPORT_DDI_ResetFromTimeout: /* ranges are the driver's registers: what is kept is
                                           unknown */
        for (unsigned i = 0; i < MAX_RANGES; i++)
            watch->ranges[i].is_known = watch->ranges[i].is_taken = false;
        break;
    default:
        break;
    }
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct swizzle_watch *watch = state;

    if (event->kind == CHECK_GPU_QUEUED && is_about_range(check_current_call(check)))
        watch->has_queued = true;
}

static void client(struct check *check, void *state, const struct check_client_event *event)
{
    struct check_allocation *allocation =
        event->count ? check_find_client_allocation(check_ledger(check), event->allocations[0])
                     : NULL;

    if (!allocation)
        return;
    if (event->kind == CHECK_CLIENT_LOCK)
        allocation->wants_aperture |= event->wants_aperture;
    if (event->kind == CHECK_CLIENT_LOCKED && is_swizzled(check, allocation))
        CHECK_RULE(check, RULE_SWZ_009, !event->ignores_sync || !NT_SUCCESS(event->status),
                   &allocation->object, "flags", "IgnoreSync was granted; it is marked Swizzled");
}

const struct check_watcher check_swizzle_watcher = {
    .name = "swizzle",
    .state_bytes = sizeof(struct swizzle_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_AcquireSwizzlingRange,
                                MINIPORT_DDI_ReleaseSwizzlingRange, MINIPORT_DDI_BuildPagingBuffer),
    .after = after,
    .after_calls =
        CHECK_CALLS(MINIPORT_DDI_AcquireSwizzlingRange, MINIPORT_DDI_ReleaseSwizzlingRange,
                    MINIPORT_DDI_StartDevice, MINIPORT_DDI_ResetFromTimeout),
    .gpu = gpu,
    .client = client,
};
