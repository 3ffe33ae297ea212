/*
 * Watcher: the driver's reports of fences (FENCE).
 */
#include "check/check_watch.h"

#include "base/bits.h"

struct fence_node {
    bool has_submitted, has_reported;
    bool was_reset;       /* with the adapter, and nothing has been submitted since */
    bool is_engine_reset; /* alone, the same */
    uint32_t submitted, reported;
    bool is_by_reset;  /* the adapter was reset, and nothing was reported since: `reported` is what
                          counts as complete by that */
    bool has_newest;   /* something is under way when the adapter is reset: */
    uint32_t newest;   /* ... the last of it that the driver was handed */
    bool is_fence_due; /* a native fence passed the awaited value, and nobody was told */
    bool is_fence_missed; /* that was so when the interrupt was taken, and still is */
    bool is_preempting;
    bool was_empty;                                /* when the preemption was asked for */
    bool has_preemption, has_aborted, has_refused; /* since the last reset of the adapter */
    uint32_t preemption, aborted, refused;
    uint64_t preempt_event; /* of the call that asked for it */
    uint64_t done_before; /* number of the last packet that had run when the call began; 0: none */
};

#define MAX_FENCES                                                                                 \
    256 /* native ones that live at once; of more than that nobody says which are dead */

#define MAX_DROPPED 64 /* packets that are remembered; of more than that the last ones */

/*
 * A packet that was reported as not run, with a preemption, of a GPU that does not tell what it
 * drops: it may run all the same.
 */
struct dropped_packet {
    unsigned node;
    uint32_t fence, preemption;
    uint64_t preempt_event; /* of the call that asked for the preemption */
    unsigned due;           /* times that the GPU may still run it: it was submitted again */
};

/* A native fence that lives. */
struct native_fence {
    HANDLE kernel, driver;
};

struct fence_watch {
    struct fence_node nodes[CHECK_MAX_NODES];
    struct native_fence fences[MAX_FENCES];
    unsigned fence_count;
    bool has_unknown_fences;
    struct dropped_packet dropped[MAX_DROPPED];
    unsigned dropped_count; /* ever; the next one is entered at its remainder */
    unsigned in_interrupt;  /* callbacks of NotifyInterrupt under way */
    bool is_dpc_due;        /* an event was reported, and no DPC queued yet */
    bool has_told;          /* in this call of the interrupt routine, of an event */
    bool is_dpc_queued;     /* and has not begun to run */
    bool is_notify_due;     /* ... and NotifyDpc not called yet */
    bool is_notify_owed;    /* ... since before the DPC that runs: this one has to call it */
    bool is_notify_missed;  /* ... nor by the DPC that was there for it, nor since */
};

static struct fence_node *node_of(struct fence_watch *watch, unsigned node)
{
    return node < CHECK_MAX_NODES ? &watch->nodes[node] : NULL;
}

static void note_reported(struct fence_node *node, uint32_t fence)
{
    node->has_reported = true;
    node->is_by_reset = false;
    node->reported = fence;
}

/* A packet that the driver refused is under way until its fence completes in its turn (SUB-012). */
static bool is_empty(struct check *check, unsigned node)
{
    const struct check_packet *packet;

    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->node == node &&
            (packet->state == CHECK_SUBMITTED || packet->state == CHECK_REFUSED))
            return false;
    }
    return true;
}

/* ---- Packets that were preempted ------------------------------------------------------------- */

static struct dropped_packet *find_dropped(struct fence_watch *watch, unsigned node, uint32_t fence)
{
    for (unsigned i = 0; i < MAX_DROPPED && i < watch->dropped_count; i++) {
        struct dropped_packet *dropped = &watch->dropped[i];

        if (dropped->preempt_event && dropped->node == node && dropped->fence == fence)
            return dropped;
    }
    return NULL;
}

static void remember_dropped(struct fence_watch *watch, const struct fence_node *node,
                             const struct check_packet *packet)
{
    struct dropped_packet *dropped = find_dropped(watch, packet->node, packet->fence);

    if (!dropped)
        dropped = &watch->dropped[watch->dropped_count++ % MAX_DROPPED];
    *dropped = (struct dropped_packet){.node = packet->node,
                                       .fence = packet->fence,
                                       .preemption = node->preemption,
                                       .preempt_event = node->preempt_event};
}

/* A reset takes from the GPU what it has. */
static void forget_dropped(struct fence_watch *watch, unsigned first, unsigned end)
{
    for (unsigned i = 0; i < MAX_DROPPED; i++) {
        if (watch->dropped[i].node >= first && watch->dropped[i].node < end)
            watch->dropped[i].preempt_event = 0;
    }
}

/* The GPU has run a packet: none that is the system's to submit again. */
static void check_dropped(struct check *check, struct fence_watch *watch,
                          const struct check_gpu_event *event)
{
    struct dropped_packet *dropped = find_dropped(watch, event->node, event->fence);

    if (!dropped)
        return;
    if (dropped->due) {
        dropped->due--;
        check_looked_at(check, RULE_FENCE_007);
        return;
    }
    check_blame_call(check, MINIPORT_DDI_PreemptCommand, dropped->preempt_event);
    CHECK_RULE(check, RULE_FENCE_007, false, NULL, "PreemptionFenceId",
               "0x%x was reported for node %u, and with it that 0x%x had not run; the GPU runs "
               "that, and nobody has submitted it again",
               dropped->preemption, dropped->node, dropped->fence);
    check_blame_current(check);
    dropped->preempt_event = 0; /* it is told once */
}

/* ---- Fences of 64 bits ----------------------------------------------------------------------- */

static void forget_native(struct fence_watch *watch, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end && i < CHECK_MAX_NODES; i++)
        watch->nodes[i].is_fence_due = watch->nodes[i].is_fence_missed = false;
}

/*
 * Reports that were due when the driver took the interrupt have been made when it leaves, or when
 * the DPC has run that it has queued: a driver may report from there (DxgkCbSynchronizeExecution).
 */
static void check_native(struct check *check, struct fence_watch *watch)
{
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        struct fence_node *node = &watch->nodes[i];

        if (!node->is_fence_missed)
            continue;
        CHECK_RULE(check, RULE_FENCE_013, !node->is_fence_due, NULL, "",
                   "a native fence of node %u passed the value that is waited for, and no "
                   "interrupt of a fence was reported",
                   i);
        node->is_fence_due = node->is_fence_missed = false;
    }
}

static void note_created(struct fence_watch *watch, const struct check_call *call)
{
    if (watch->fence_count == MAX_FENCES) {
        watch->has_unknown_fences = true;
        return;
    }
    watch->fences[watch->fence_count++] =
        (struct native_fence){.kernel = call->before.create_native_fence->hGlobalNativeFence,
                              .driver = call->arg.create_native_fence->hGlobalNativeFence};
}

static void note_destroyed(struct fence_watch *watch, const struct check_call *call)
{
    for (unsigned i = 0; i < watch->fence_count; i++) {
        if (watch->fences[i].driver != call->before.destroy_native_fence->hGlobalNativeFence)
            continue;
        watch->fences[i] = watch->fences[--watch->fence_count];
        break;
    }
}

/* By the kernel's name for it or the driver's: the pages do not say which the array holds. */
static bool is_alive(const struct fence_watch *watch, HANDLE fence)
{
    for (unsigned i = 0; i < watch->fence_count; i++) {
        if (watch->fences[i].kernel == fence || watch->fences[i].driver == fence)
            return true;
    }
    return watch->has_unknown_fences;
}

static void check_signalled(struct check *check, const struct fence_watch *watch,
                            const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    HANDLE *fences = data->NativeFenceSignaled.pSignaledNativeFenceArray;
    UINT count = data->NativeFenceSignaled.SignaledNativeFenceCount;

    if (!CHECK_RULE(check, RULE_FENCE_013, count <= MAX_FENCES, NULL, "SignaledNativeFenceCount",
                    "is {%u}; there have never been so many native fences", count))
        return;
    for (UINT i = 0; fences && i < count; i++) {
        CHECK_RULE(
            check, RULE_FENCE_013, is_alive(watch, fences[i]), NULL, "pSignaledNativeFenceArray",
            "element %u is %p, which is no native fence, or one that was destroyed", i, fences[i]);
    }
}

static void after_caps(struct check *check, const struct check_call *call)
{
    const DXGKARG_QUERYADAPTERINFO *query = call->arg.query_adapter_info;

    if (query->Type != DXGKQAITYPE_DRIVERCAPS || !NT_SUCCESS(call->status))
        return;
    CHECK_RULE(check, RULE_FENCE_015,
               !check_ledger(check)->caps.driver.SchedulingCaps.NativeGpuFence ||
                   check_configuration(check)->enables_native_fences,
               NULL, "pOutputData, SchedulingCaps.NativeGpuFence",
               "is {1}, and the system has not enabled native fences{=~0~}");
}

static void before_signal(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    D3DGPU_VIRTUAL_ADDRESS va = arg->SignalMonitoredFence.MonitoredFenceGpuVa;

    CHECK_RULE(check, RULE_FENCE_011, va % 8 == 0, NULL, "SignalMonitoredFence.MonitoredFenceGpuVa",
               "{0x%llx} is no {=multiple of 8}, the bytes of its value", (unsigned long long)va);
}

/* The values that the driver was to write are in memory when it comes back. */
static void after_update(struct check *check, const struct check_call *call)
{
    const DXGKARG_UPDATEMONITOREDVALUES *arg = call->arg.update_monitored_values;

    if (!CHECK_RULE(check, RULE_FENCE_014, call->status == STATUS_SUCCESS, NULL, "status",
                    "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status))
        return;
    for (UINT i = 0; i < arg->NumFences; i++) {
        uint64_t value = *(const volatile uint64_t *)arg->MonitoredValueKernelCpuVa[i];

        if (!CHECK_RULE(
                check, RULE_FENCE_014, value == arg->UpdatedValueArray[i], NULL,
                "MonitoredValueKernelCpuVa",
                "entry %u of %u holds {0x%llx} when the call comes back (expected {=0x%llx})", i,
                arg->NumFences, (unsigned long long)value,
                (unsigned long long)arg->UpdatedValueArray[i]))
            return;
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void before_submission(struct check *check, struct fence_watch *watch,
                              const struct check_packet *packet)
{
    struct fence_node *node = node_of(watch, packet->node);
    enum rule_id rule = node && node->was_reset ? RULE_TDR_006 : RULE_FENCE_001;
    struct dropped_packet *dropped = find_dropped(watch, packet->node, packet->fence);

    if (dropped)
        dropped->due++;
    if (node)
        node->is_engine_reset = false;
    if (!node || packet->submit_count > 1)
        return;
    if (node->has_submitted)
        CHECK_RULE(
            check, rule,
            packet->fence != node->submitted && check_fence_reached(node->submitted, packet->fence),
            NULL, "SubmissionFenceId",
            node->was_reset
                ? "0x%x on node %u was not submitted after the reset: 0x%x counts as complete"
                : "0x%x on node %u follows 0x%x: ids of a node rise",
            packet->fence, packet->node, node->submitted);
    node->was_reset = false;
    node->has_submitted = true;
    node->submitted = packet->fence;
}

/* What runs while a call is under way may be reported by the next interrupt. */
static void note_done(struct check *check, struct fence_watch *watch, unsigned ordinal)
{
    struct fence_node *node = node_of(watch, ordinal);
    const struct check_packet *packet;

    if (!node)
        return;
    node->done_before = 0;
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->node == ordinal && packet->state == CHECK_SUBMITTED && packet->is_gpu_done &&
            packet->number > node->done_before)
            node->done_before = packet->number;
    }
}

static bool was_done(struct fence_watch *watch, const struct check_packet *packet)
{
    const struct fence_node *node = node_of(watch, packet->node);

    return packet->is_gpu_done && node && packet->number <= node->done_before;
}

/* What is under way when the adapter is reset: the packet of each node that came last. */
static void before_reset(struct check *check, struct fence_watch *watch)
{
    const struct check_packet *packet;

    for (unsigned i = 0; i < CHECK_MAX_NODES; i++)
        watch->nodes[i].has_newest = false;
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        struct fence_node *node = node_of(watch, packet->node);

        if (!node || packet->state != CHECK_SUBMITTED || packet->queue)
            continue;
        node->has_newest = true;
        node->newest = packet->fence;
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct fence_watch *watch = state;
    struct fence_node *node;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
        if (call->packet)
            before_submission(check, watch, call->packet);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        if (call->arg.build_paging_buffer->Operation == DXGK_OPERATION_SIGNAL_MONITORED_FENCE)
            before_signal(check, call->arg.build_paging_buffer);
        break;
    case MINIPORT_DDI_InterruptRoutine:
        for (unsigned i = 0; i < CHECK_MAX_NODES; i++)
            watch->nodes[i].is_fence_missed = watch->nodes[i].is_fence_due;
        break;
    case MINIPORT_DDI_DpcRoutine:
        watch->is_dpc_queued = false;
        watch->is_notify_owed = watch->is_notify_due;
        break;
    case MINIPORT_DDI_QueryCurrentFence:
        note_done(check, watch, call->arg.query_current_fence->NodeOrdinal);
        break;
    case MINIPORT_DDI_ResetEngine:
        note_done(check, watch, call->arg.reset_engine->NodeOrdinal);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
        before_reset(check, watch);
        break;
    case MINIPORT_DDI_PreemptCommand:
        node = node_of(watch, call->arg.preempt_command->NodeOrdinal);
        if (!node)
            break;
        node->is_preempting = true;
        node->is_engine_reset = false; /* it is asked again */
        node->was_empty = is_empty(check, call->arg.preempt_command->NodeOrdinal);
        node->preemption = call->arg.preempt_command->PreemptionFenceId;
        node->has_preemption = true;
        node->preempt_event = call->event;
        break;
    default:
        break;
    }
}

/*
 * Nothing is under way on the node: the current fence is the last one that was reported. The last
 * one that a reset of the engine aborted, one that the driver refused (SUB-012) and the last
 * preemption, which passes the GPU in some hardware, may stand for it.
 */
static void check_current(struct check *check, const struct fence_node *node,
                          const DXGKARG_QUERYCURRENTFENCE *arg)
{
    uint32_t current = arg->CurrentFence;

    if (!node->has_reported || node->is_preempting || node->is_by_reset)
        return;
    CHECK_RULE(check, RULE_FENCE_006,
               current == node->reported || (node->has_aborted && current == node->aborted) ||
                   (node->has_refused && current == node->refused) ||
                   (node->has_preemption && current == node->preemption),
               NULL, "CurrentFence",
               "is {0x%x} on node %u, where nothing is under way; {=0x%x} was reported last",
               current, arg->NodeOrdinal, node->reported);
}

/*
 * The adapter was reset, and nothing has been reported since: the current fence is the last one
 * that was submitted before, or one of those that have been submitted since.
 */
static void check_since_reset(struct check *check, const struct fence_node *node,
                              const DXGKARG_QUERYCURRENTFENCE *arg)
{
    const uint32_t current = arg->CurrentFence;

    if (!node->is_by_reset)
        return;
    CHECK_RULE(check, RULE_TDR_015,
               (check_fence_reached(node->reported, current) &&
                check_fence_reached(current, node->submitted)) ||
                   (node->has_refused && current == node->refused) ||
                   (node->has_preemption && current == node->preemption),
               NULL, "CurrentFence",
               "is {0x%x} on node %u; the adapter was reset, by which {=0x%x}, the last fence that "
               "was submitted before, counts as complete",
               current, arg->NodeOrdinal, node->reported);
}

/* Packets that have run must be reported before the call comes back. */
static void after_query(struct check *check, struct fence_watch *watch,
                        const DXGKARG_QUERYCURRENTFENCE *arg)
{
    const struct fence_node *node = node_of(watch, arg->NodeOrdinal);
    const struct check_packet *packet;

    if (node)
        check_since_reset(check, node, arg);
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->node != arg->NodeOrdinal || packet->queue || packet->state == CHECK_REFUSED)
            continue;
        if (packet->state == CHECK_SUBMITTED && check_ledger(check)->has_gpu)
            CHECK_RULE(
                check, RULE_FENCE_006, !was_done(watch, packet), NULL, "CurrentFence",
                "{=0x%x} of node %u has run and is not reported; {0x%x} is said to be current",
                packet->fence, packet->node, arg->CurrentFence);
        return;
    }
    if (node)
        check_current(check, node, arg);
}

static void check_unanswered(struct check *check, struct fence_watch *watch, unsigned first,
                             unsigned end)
{
    for (unsigned i = first; i < end && i < CHECK_MAX_NODES; i++) {
        struct fence_node *node = &watch->nodes[i];

        if (node->is_preempting && node->was_empty) {
            check_blame_call(check, MINIPORT_DDI_PreemptCommand, node->preempt_event);
            CHECK_RULE(check, RULE_FENCE_008, false, NULL, "PreemptionFenceId",
                       "0x%x was asked for on node %u, where nothing was under way, and never "
                       "answered",
                       node->preemption, i);
            check_blame_current(check);
        }
        node->is_preempting = false;
    }
}

/* An engine is reset with its progress known: packets that have run are reported before. */
static void check_unreported(struct check *check, struct fence_watch *watch, unsigned node)
{
    const struct check_packet *packet;

    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->node != node || packet->queue || packet->state != CHECK_SUBMITTED ||
            !was_done(watch, packet))
            continue;
        CHECK_RULE(check, RULE_FENCE_004, false, NULL, "",
                   "fence 0x%x of node %u has run and was never reported", packet->fence, node);
        break;
    }
}

/* The oldest packet of each node that is still under way. How many nodes have one. */
static unsigned check_stuck(struct check *check)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_packet *packet;
    uint64_t nodes = 0;
    unsigned count = 0;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        const struct check_context *context = check_find_context(ledger, packet->context);

        if (packet->state != CHECK_SUBMITTED || packet->queue || packet->node >= CHECK_MAX_NODES ||
            (nodes & UINT64_C(1) << packet->node))
            continue;
        nodes |= UINT64_C(1) << packet->node;
        count++;
        CHECK_RULE(check, RULE_FENCE_004, false, context ? &context->object : NULL, "",
                   "fence 0x%x of node %u, a %s, was submitted and is never reported complete: "
                   "nothing is left that could happen (Windows resets the adapter after 2 s)",
                   packet->fence, packet->node,
                   packet->is_paging ? "paging packet" : "packet of a client");
    }
    return count;
}

/*
 * A report of an interrupt without a DPC has been found when it was made, and one that a DPC did
 * not pass on, too.
 */
static unsigned stands_still(struct check *check, void *state)
{
    struct fence_watch *watch = state;
    unsigned count = check_stuck(check) + (watch->is_notify_missed || watch->is_notify_due);

    if (watch->is_notify_due)
        CHECK_RULE(check, RULE_FENCE_004, false, NULL, "",
                   "an event was reported, and no DPC called DxgkCbNotifyDpc after it: nothing is "
                   "left that could happen (Windows resets the adapter after 2 s)");
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        const struct fence_node *node = &watch->nodes[i];

        if (!node->is_preempting)
            continue;
        count++;
        if (node->was_empty)
            continue;
        check_blame_call(check, MINIPORT_DDI_PreemptCommand, 0); /* it may be hindered since */
        CHECK_RULE(check, RULE_FENCE_007, false, NULL, "PreemptionFenceId",
                   "0x%x was asked for on node %u and is never reported: nothing is left that "
                   "could happen (Windows resets the adapter after 2 s)",
                   node->preemption, i);
        check_blame_current(check);
    }
    check_unanswered(check, watch, 0, CHECK_MAX_NODES);
    return count;
}

/*
 * All that was under way counts as complete. A node that had nothing under way stays where it was;
 * packets of its that were preempted may count, too (a driver may not know of them any more).
 * Packets that have run may stay untold (TDR-006).
 */
static void after_reset(struct check *check, struct fence_watch *watch)
{
    check_unanswered(check, watch, 0, CHECK_MAX_NODES);
    forget_native(watch, 0, CHECK_MAX_NODES);
    forget_dropped(watch, 0, CHECK_MAX_NODES);
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        struct fence_node *node = &watch->nodes[i];

        if (node->has_newest) {
            node->has_reported = true;
            node->reported = node->newest;
        }
        node->has_reported &= check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WIN8);
        node->is_by_reset = node->has_reported;
        node->was_reset = true;
        node->is_engine_reset = node->has_preemption = node->has_aborted = node->has_refused =
            false;
    }
}

/* A refused submission counts as complete in its turn. */
static void note_refused(struct fence_watch *watch, const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    struct fence_node *node = node_of(watch, arg->NodeOrdinal);

    if (!node)
        return;
    node->has_refused = true;
    node->refused = arg->SubmissionFenceId;
}

/* ---- Where native fences may be -------------------------------------------------------------- */

static bool is_in(uint32_t set, unsigned id)
{
    return id && id <= 32 && (set >> (id - 1) & 1);
}

/* FENCE-018: the segments are there, and what is preferred is among them. */
static void check_storage_segments(struct check *check, const DXGK_ALLOCATIONINFO *info)
{
    const uint32_t all = (uint32_t)((UINT64_C(1) << check_ledger(check)->segment_count) - 1);
    const uint32_t set = info->SupportedWriteSegmentSet;
    const DXGK_SEGMENTPREFERENCE *preferred = &info->PreferredSegment;
    const unsigned ids[] = {preferred->SegmentId0, preferred->SegmentId1, preferred->SegmentId2,
                            preferred->SegmentId3, preferred->SegmentId4};

    if (!CHECK_RULE(check, RULE_FENCE_018, set && !(set & ~all), NULL,
                    "pCreateFenceStorageData.AllocationInfo.SupportedWriteSegmentSet",
                    "is {0x%x}; the adapter has segments {=~some of ~0x%x}", set, all))
        return;
    for (unsigned i = 0; i < ARRAY_COUNT(ids); i++)
        CHECK_RULE(check, RULE_FENCE_018, !ids[i] || is_in(set, ids[i]), NULL,
                   "pCreateFenceStorageData.AllocationInfo.PreferredSegment",
                   "SegmentId%u is %u; SupportedWriteSegmentSet is 0x%x", i, ids[i], set);
}

static void after_storage(struct check *check, const DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    const D3DKMDT_FENCESTORAGESURFACEDATA *storage = arg->pCreateFenceStorageData;
    const struct check_ledger *ledger = check_ledger(check);

    check_storage_segments(check, &storage->AllocationInfo);
    for (unsigned id = 1; id <= ledger->segment_count; id++) {
        if (storage->FenceStorageValueType == D3DKARG_FENCESTORAGETYPE_MONITOREDVALUE &&
            is_in(storage->AllocationInfo.SupportedWriteSegmentSet, id) &&
            check_is_memory(ledger, id))
            CHECK_RULE(check, RULE_FENCE_019, ledger->segments[id - 1].flags.CpuVisible, NULL,
                       "pCreateFenceStorageData.AllocationInfo.SupportedWriteSegmentSet",
                       "is {0x%x} for monitored values; the CPU does not see segment %u",
                       storage->AllocationInfo.SupportedWriteSegmentSet, id);
    }
    CHECK_RULE(check, RULE_FENCE_020,
               !arg->AllocationPrivateDriverDataSize && !arg->ResourcePrivateDriverDataSize &&
                   !storage->PrivateDriverDataSize,
               NULL, "AllocationPrivateDriverDataSize",
               "is {%u}, ResourcePrivateDriverDataSize %u, PrivateDriverDataSize %u: fence storage "
               "has no private data{=~0~}",
               arg->AllocationPrivateDriverDataSize, arg->ResourcePrivateDriverDataSize,
               storage->PrivateDriverDataSize);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct fence_watch *watch = state;
    struct fence_node *node;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_QueryAdapterInfo:
        after_caps(check, call);
        break;
    case MINIPORT_DDI_InterruptRoutine:
        if (!watch->is_dpc_queued)
            check_native(check, watch);
        if (watch->is_dpc_due)
            CHECK_RULE(check, RULE_FENCE_004, !watch->is_dpc_due, NULL, "",
                       "an event was reported and no DPC queued (DxgkCbQueueDpc)");
        watch->is_dpc_due = false;
        if (watch->has_told)
            CHECK_RULE(check, RULE_FENCE_017, call->is_ours, NULL, "",
                       "returned FALSE, and has told the system of an event: the interrupt was "
                       "that of the adapter (expected TRUE)");
        watch->has_told = false;
        break;
    case MINIPORT_DDI_DpcRoutine:
        if (!watch->is_dpc_queued)
            check_native(check, watch);
        /* An event of the time in which the DPC ran is the next one's, if need be. */
        CHECK_RULE(check, RULE_FENCE_004, !watch->is_notify_owed, NULL, "",
                   "an event was reported, and the DPC did not call DxgkCbNotifyDpc");
        watch->is_notify_missed |= watch->is_notify_owed;
        if (watch->is_notify_owed)
            watch->is_notify_due = watch->is_notify_owed = false;
        break;
    case MINIPORT_DDI_PreemptCommand:
    case MINIPORT_DDI_CancelCommand:
        CHECK_RULE(check, RULE_FENCE_009, call->status == STATUS_SUCCESS, NULL, "status",
                   "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status);
        break;
    case MINIPORT_DDI_SubmitCommandVirtual:
        if (call->status == STATUS_INVALID_PARAMETER)
            note_refused(watch, call->arg.submit_command_virtual);
        break;
    case MINIPORT_DDI_UpdateMonitoredValues:
        after_update(check, call);
        break;
    case MINIPORT_DDI_CreateNativeFence:
        if (NT_SUCCESS(call->status))
            note_created(watch, call);
        break;
    case MINIPORT_DDI_DestroyNativeFence:
        note_destroyed(watch, call);
        break;
    case MINIPORT_DDI_GetStandardAllocationDriverData:
        if (NT_SUCCESS(call->status) &&
            call->before.get_standard_allocation_driver_data->StandardAllocationType ==
                D3DKMDT_STANDARDALLOCATION_FENCESTORAGE)
            after_storage(check, call->arg.get_standard_allocation_driver_data);
        break;
    case MINIPORT_DDI_QueryCurrentFence:
        if (NT_SUCCESS(call->status))
            after_query(check, watch, call->arg.query_current_fence);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
        after_reset(check, watch);
        break;
    case MINIPORT_DDI_SetPowerState:
        if (call->power_state != PowerDeviceD0) /* an interrupt that waits goes with the power */
            forget_native(watch, 0, CHECK_MAX_NODES);
        break;
    case MINIPORT_DDI_ResetEngine:
        check_unanswered(check, watch, call->arg.reset_engine->NodeOrdinal,
                         call->arg.reset_engine->NodeOrdinal + 1);
        check_unreported(check, watch, call->arg.reset_engine->NodeOrdinal);
        forget_native(watch, call->arg.reset_engine->NodeOrdinal,
                      call->arg.reset_engine->NodeOrdinal + 1);
        forget_dropped(watch, call->arg.reset_engine->NodeOrdinal,
                       call->arg.reset_engine->NodeOrdinal + 1);
        node = node_of(watch, call->arg.reset_engine->NodeOrdinal);
        if (node && NT_SUCCESS(call->status)) {
            node->is_by_reset = false;
            node->is_engine_reset = node->has_aborted = true;
            node->aborted = call->arg.reset_engine->LastAbortedFenceId;
            check_looked_at(check, RULE_TDR_010);
        }
        break;
    default:
        break;
    }
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

/* Of a node that the driver has, and of its one engine: no adapters are linked here. */
static bool is_of_an_engine(struct check *check, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    const UINT nodes =
        check_ledger(check)->caps.driver.GpuEngineTopology.NbAsymetricProcessingNodes;
    const UINT node = data->DmaCompleted.NodeOrdinal, engine = data->DmaCompleted.EngineOrdinal;

    CHECK_RULE(check, RULE_FENCE_004, engine == 0, NULL, "DmaCompleted.EngineOrdinal",
               "is {%u} for node %u; no adapters are linked (expected {=0})", engine, node);
    return CHECK_RULE(check, RULE_FENCE_004, node < nodes || !nodes, NULL,
                      "DmaCompleted.NodeOrdinal",
                      "is {%u}; the adapter has {=~less than ~%u} nodes", node, nodes);
}

static void check_completed(struct check *check, struct fence_watch *watch,
                            const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    const struct check_packet *packet, *reported = NULL, *undone = NULL;
    unsigned ordinal = data->DmaCompleted.NodeOrdinal;
    uint32_t fence = data->DmaCompleted.SubmissionFenceId;
    struct fence_node *node = node_of(watch, ordinal);

    if (!is_of_an_engine(check, data))
        return;
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (packet->node != ordinal || packet->queue ||
            (packet->state != CHECK_SUBMITTED && packet->state != CHECK_REFUSED))
            continue;
        if (packet->fence == fence)
            reported = packet;
        if (packet->state == CHECK_SUBMITTED && check_fence_reached(packet->fence, fence) &&
            !packet->is_gpu_done && packet->bytes && packet->gpu_queued && !undone)
            undone = packet;
    }
    if (CHECK_RULE(check, RULE_FENCE_002, reported != NULL, NULL, "DmaCompleted.SubmissionFenceId",
                   !node || !node->has_reported || node->reported != fence
                       ? "0x%x is of nothing that is under way on node %u"
                   : node->is_by_reset
                       ? "0x%x of node %u counts as complete since the adapter was reset"
                       : "0x%x of node %u was reported before",
                   fence, ordinal) &&
        check_ledger(check)->has_gpu)
        CHECK_RULE(check, RULE_FENCE_003, !undone, NULL, "DmaCompleted.SubmissionFenceId",
                   "{0x%x} of node %u is reported; {=0x%x} is still running there", fence, ordinal,
                   undone->fence);
    if (node)
        note_reported(node, fence);
}

static void check_preempted(struct check *check, struct fence_watch *watch,
                            const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    unsigned ordinal = data->DmaPreempted.NodeOrdinal;
    uint32_t fence = data->DmaPreempted.PreemptionFenceId;
    uint32_t last = data->DmaPreempted.LastCompletedFenceId;
    struct fence_node *node = node_of(watch, ordinal);
    const struct check_packet *packet, *wrong = NULL, *held = NULL;
    bool ends_packet = false; /* the report tells of its end, too */
    bool is_asked = node && node->is_preempting && node->preemption == fence;
    bool is_back = node && node->has_reported && !check_fence_reached(node->reported, last);

    /* A packet that has run is not preempted; one that has not run is not complete. */
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        bool is_reached = check_fence_reached(packet->fence, last);

        if (packet->node != ordinal || packet->queue || packet->state != CHECK_SUBMITTED)
            continue;
        ends_packet |= packet->fence == last;
        if (packet->bytes && packet->gpu_queued && packet->is_gpu_done != is_reached && !wrong)
            wrong = packet;
        if (!is_asked || is_reached || packet->is_gpu_done)
            continue;
        if (!packet->is_gpu_held)
            remember_dropped(watch, node, packet);
        else if (!held)
            held = packet;
    }
    if (held) {
        check_blame_call(check, MINIPORT_DDI_PreemptCommand, node->preempt_event);
        CHECK_RULE(check, RULE_FENCE_007, false, NULL, "PreemptionFenceId",
                   "0x%x was reported for node %u, and with it that 0x%x had not run; the GPU has "
                   "that still, and was not made to drop it",
                   fence, ordinal, held->fence);
        check_blame_current(check);
    }
    if (is_asked && is_back) {
        CHECK_RULE(check, node->is_by_reset ? RULE_TDR_015 : RULE_FENCE_007, false, NULL,
                   "DmaPreempted.LastCompletedFenceId",
                   node->is_by_reset
                       ? "0x%x on node %u; 0x%x counts as complete since the adapter was reset"
                       : "0x%x on node %u; 0x%x was reported before",
                   last, ordinal, node->reported);
    } else {
        CHECK_RULE(
            check, RULE_FENCE_007, is_asked && (!wrong || !check_ledger(check)->has_gpu), NULL,
            is_asked ? "DmaPreempted.LastCompletedFenceId" : "DmaPreempted.PreemptionFenceId",
            is_asked ? "0x%x on node %u; 0x%x has %s"
                     : "0x%x on node %u was not asked for (0x%x %s)",
            is_asked ? last : fence, ordinal,
            is_asked ? wrong->fence
            : node   ? node->preemption
                     : 0,
            !is_asked            ? "was"
            : wrong->is_gpu_done ? "run"
                                 : "not run");
    }
    if (node && node->was_empty)
        check_looked_at(check, RULE_FENCE_008);
    if (is_asked && !is_back && ends_packet)
        note_reported(node, last);
    if (node)
        node->is_preempting = false;
}

/* The packets up to the one that faulted count as complete (DXGK_PAGE_FAULT_FENCE_INVALID). */
static void note_faulted(struct fence_watch *watch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct fence_node *node = node_of(watch, data->DmaPageFaulted.NodeOrdinal);

    if (!node || (data->DmaPageFaulted.PageFaultFlags & DXGK_PAGE_FAULT_FENCE_INVALID))
        return;
    note_reported(node, data->DmaPageFaulted.FaultedFenceId);
}

/*
 * Of a node, or of all where the interrupt tells of fences and not of nodes. A fence that passes
 * between this report and the DPC is due for the next interrupt.
 */
static void note_told(struct check *check, struct fence_watch *watch, const struct fence_node *told)
{
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        struct fence_node *node = &watch->nodes[i];

        if (told && told != node)
            continue;
        if (node->is_fence_missed)
            check_looked_at(check, RULE_FENCE_013);
        node->is_fence_due = node->is_fence_missed = false;
    }
}

/* An engine that was reset has nothing to say before it gets work again. */
static bool is_of_reset_engine(struct check *check, struct fence_watch *watch,
                               const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    bool is_completion = data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED;
    unsigned ordinal =
        is_completion ? data->DmaCompleted.NodeOrdinal : data->DmaPreempted.NodeOrdinal;
    const struct fence_node *node = node_of(watch, ordinal);

    if ((!is_completion && data->InterruptType != DXGK_INTERRUPT_DMA_PREEMPTED) || !node ||
        !node->is_engine_reset)
        return false;
    CHECK_RULE(check, RULE_TDR_010, false, NULL, "InterruptType",
               "fence 0x%x of node %u, whose engine was reset and has got no work since",
               is_completion ? data->DmaCompleted.SubmissionFenceId
                             : data->DmaPreempted.PreemptionFenceId,
               ordinal);
    return true;
}

static void callback(struct check *check, void *state, const struct check_callback *event)
{
    struct fence_watch *watch = state;
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = event->data;

    switch (event->callback) {
    case TRACE_CALLBACK_notify_interrupt:
        CHECK_RULE(check, RULE_FENCE_005, check_irql(check) > DISPATCH_LEVEL, NULL, "",
                   "is called at IRQL %u, below the device's", check_irql(check));
        watch->is_dpc_due = event->outer && event->outer->ddi == MINIPORT_DDI_InterruptRoutine;
        watch->has_told |= watch->is_dpc_due;
        watch->is_notify_due = true;
        if (data->InterruptType == DXGK_INTERRUPT_NATIVE_FENCE_SIGNALED) {
            note_told(check, watch, NULL);
            check_signalled(check, watch, data);
        } else if (data->InterruptType == DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED) {
            note_told(check, watch, node_of(watch, data->MonitoredFenceSignaled.NodeOrdinal));
        }
        if (is_of_reset_engine(check, watch, data))
            break;
        if (data->InterruptType == DXGK_INTERRUPT_DMA_COMPLETED)
            check_completed(check, watch, data);
        else if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
            check_preempted(check, watch, data);
        else if (data->InterruptType == DXGK_INTERRUPT_DMA_PAGE_FAULTED)
            note_faulted(watch, data);
        break;
    case TRACE_CALLBACK_queue_dpc:
        watch->is_dpc_due = false;
        watch->is_dpc_queued = true;
        break;
    case TRACE_CALLBACK_notify_dpc:
        watch->is_notify_missed = false;
        watch->is_notify_due = watch->is_notify_owed = false;
        break;
    default:
        break;
    }
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct fence_node *node = node_of(state, event->node);

    if (event->kind == CHECK_GPU_FENCE && node)
        node->is_fence_due = true;
    else if (event->kind == CHECK_GPU_DONE)
        check_dropped(check, state, event);
    else if (event->kind == CHECK_GPU_HUNG)
        forget_native(state, 0, CHECK_MAX_NODES); /* it may have gone */
}

const struct check_watcher check_fence_watcher = {
    .name = "fence",
    .state_bytes = sizeof(struct fence_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                                MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_InterruptRoutine,
                                MINIPORT_DDI_DpcRoutine, MINIPORT_DDI_QueryCurrentFence,
                                MINIPORT_DDI_ResetEngine, MINIPORT_DDI_ResetFromTimeout,
                                MINIPORT_DDI_PreemptCommand),
    .after = after,
    .after_calls = CHECK_CALLS(
        MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_InterruptRoutine, MINIPORT_DDI_DpcRoutine,
        MINIPORT_DDI_PreemptCommand, MINIPORT_DDI_CancelCommand, MINIPORT_DDI_SubmitCommandVirtual,
        MINIPORT_DDI_UpdateMonitoredValues, MINIPORT_DDI_CreateNativeFence,
        MINIPORT_DDI_DestroyNativeFence, MINIPORT_DDI_QueryCurrentFence,
        MINIPORT_DDI_GetStandardAllocationDriverData, MINIPORT_DDI_ResetFromTimeout,
        MINIPORT_DDI_SetPowerState, MINIPORT_DDI_ResetEngine),
    .callback = callback,
    .gpu = gpu,
    .stands_still = stands_still,
};
