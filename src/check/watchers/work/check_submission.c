/*
 * Watcher: submissions, and what the GPU gets of them (SUB).
 *
 * The GPU's word stands behind the driver's: it was handed each packet once, with the
 * bytes that were submitted.
 */
#include "check/check_watch.h"

#include <string.h>

#define MAX_REFUSED CHECK_MAX_NODES

struct submission_watch {
    /* SubmitCommandVirtual answered INVALID_PARAMETER: the fence counts as complete. */
    struct {
        bool is_any;
        bool is_due; /* nothing before it was left when QueryCurrentFence began */
        uint32_t fence;
    } refused[MAX_REFUSED];
    uint64_t asked[CHECK_MAX_NODES]; /* event of the last QueryCurrentFence */
    uint64_t stopped; /* nodes that a fault or the bench stopped and that were not reset since */
};

/* ---- Before ---------------------------------------------------------------------------------- */

/* After a preemption, preempted paging packets come first, with their fences. */
static void check_order(struct check *check, const struct check_packet *packet)
{
    const struct check_packet *other, *oldest = NULL;

    list_for_each (other, &check_ledger(check)->packets, struct check_packet, link) {
        if (other != packet && other->node == packet->node && other->state == CHECK_PREEMPTED &&
            (!oldest || other->number < oldest->number))
            oldest = other;
    }
    if (!oldest)
        return;
    CHECK_RULE(check, RULE_SUB_009, packet->submit_count > 1 && packet->number < oldest->number,
               check_find(check_ledger(check), CHECK_CONTEXT, packet->context), "SubmissionFenceId",
               "0x%x is submitted to node %u before the paging packet with fence 0x%x, which "
               "was preempted there",
               packet->fence, packet->node, oldest->fence);
}

static void check_flags(struct check *check, const struct check_packet *packet,
                        DXGK_SUBMITCOMMANDFLAGS flags)
{
    bool has_flag = check_ledger(check)->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;
    bool is_back = packet->submit_count > 1 && has_flag;
    /* A client's packet comes back under another fence, and is marked then or is a new one. */
    bool may_be_back = packet->may_be_back && has_flag;

    CHECK_RULE(check, RULE_SUB_008, may_be_back || !!flags.Resubmission == is_back,
               check_find(check_ledger(check), CHECK_CONTEXT, packet->context),
               "Flags.Resubmission", "is {%u} on the %s submission of fence 0x%x",
               flags.Resubmission, packet->submit_count > 1 ? "second" : "first", packet->fence);
}

/* Offsets follow where the driver left pDmaBufferPrivateData when the packet was built. */
static void check_private_offsets(struct check *check, const struct check_call *call)
{
    const DXGKARG_SUBMITCOMMAND *arg = call->arg.submit_command;
    const struct check_packet *packet = call->packet;
    uintptr_t base = (uintptr_t)arg->pDmaBufferPrivateData;
    bool holds = true;

    if (!packet->is_paging) {
        holds = arg->DmaBufferPrivateDataSubmissionStartOffset == 0;
    } else if (!list_is_empty(&packet->built) && base && packet->is_matched) {
        /* What wrote no bytes may have been built into another buffer. */
        const struct check_built *piece;
        bool is_start = false, is_end = false, has_bytes = false, has_moved = false;

        list_for_each (piece, &packet->built, struct check_built, link) {
            if (!has_bytes)
                is_start |=
                    base + arg->DmaBufferPrivateDataSubmissionStartOffset == piece->private_start;
            has_bytes |= piece->bytes != 0;
            has_moved |= piece->private_end != piece->private_start;
            is_end = base + arg->DmaBufferPrivateDataSubmissionEndOffset == piece->private_end ||
                     (is_end && !piece->bytes);
        }
        /* One that the driver leaves in place is shared by all submissions of the buffer. */
        holds = (is_start && is_end) ||
                (!has_moved && !arg->DmaBufferPrivateDataSubmissionStartOffset &&
                 arg->DmaBufferPrivateDataSubmissionEndOffset == arg->DmaBufferPrivateDataSize);
    } else {
        return;
    }
    CHECK_RULE(check, RULE_SUB_006, holds,
               check_find(check_ledger(check), CHECK_CONTEXT, packet->context),
               "DmaBufferPrivateDataSubmissionStartOffset",
               "0x%x to 0x%x is not where the driver left its private data",
               arg->DmaBufferPrivateDataSubmissionStartOffset,
               arg->DmaBufferPrivateDataSubmissionEndOffset);
}

static void before_virtual(struct check *check, const struct check_call *call)
{
    const DXGKARG_SUBMITCOMMANDVIRTUAL *arg = call->arg.submit_command_virtual;

    CHECK_RULE(check, RULE_SUB_013,
               arg->DmaBufferUmdPrivateDataSize <= arg->DmaBufferPrivateDataSize &&
                   (arg->DmaBufferVirtualAddress || !arg->DmaBufferSize ||
                    arg->Flags.Paging /* in a buffer without an address: its start */),
               check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext),
               arg->DmaBufferVirtualAddress ? "DmaBufferUmdPrivateDataSize"
                                            : "DmaBufferVirtualAddress",
               "%u bytes of private data are user mode's, of %u; the buffer of %u bytes is at "
               "VA 0x%llx",
               arg->DmaBufferUmdPrivateDataSize, arg->DmaBufferPrivateDataSize, arg->DmaBufferSize,
               (unsigned long long)arg->DmaBufferVirtualAddress);
}

/*
 * A paging packet of another node that has not ended and puts something there. An operation for
 * which the driver wrote no commands was over when it was built.
 */
static const struct check_packet *pending_at(struct check *check, unsigned node, unsigned segment,
                                             uint64_t address)
{
    const struct check_packet *packet;
    const struct check_built *piece;

    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if (!packet->is_paging || packet->node == node ||
            !check_is_in_flight(check_ledger(check), packet))
            continue;
        list_for_each (piece, &packet->built, struct check_built, link) {
            if (piece->bytes && piece->target_segment == segment && address >= piece->target &&
                address - piece->target < piece->target_bytes)
                return packet;
        }
    }
    return NULL;
}

/*
 * Nodes run beside each other: what a packet uses has arrived before it is patched and submitted.
 */
static void before_patch(struct check *check, const DXGKARG_PATCH *arg)
{
    const struct check_context *context = check_find_context(check_ledger(check), arg->hContext);

    if (!context || arg->Flags.Paging)
        return;
    for (UINT i = 0; i < arg->PatchLocationListSubmissionLength; i++) {
        UINT at = arg->PatchLocationListSubmissionStart + i;
        const D3DDDI_PATCHLOCATIONLIST *location;
        const DXGK_ALLOCATIONLIST *entry;
        const struct check_packet *packet;

        if (at >= arg->PatchLocationListSize)
            return;
        location = &arg->pPatchLocationList[at];
        if (location->AllocationIndex >= arg->AllocationListSize)
            continue;
        entry = &arg->pAllocationList[location->AllocationIndex];
        if (!entry->SegmentId)
            continue;
        packet = pending_at(check, context->node, entry->SegmentId,
                            (uint64_t)entry->PhysicalAddress.QuadPart + location->AllocationOffset);
        CHECK_RULE(check, RULE_SUB_014, !packet, &context->object, "pAllocationList",
                   "allocation %u, at 0x%llx of segment %u, still arrives there: the paging "
                   "packet with fence 0x%x of node %u has not ended",
                   location->AllocationIndex, (unsigned long long)entry->PhysicalAddress.QuadPart,
                   entry->SegmentId, packet->fence, packet->node);
    }
}

/*
 * Fences are compared over half of their range: one that was refused longer ago than that is not
 * before the present ones any more.
 */
static void forget_long_ago(struct submission_watch *watch, const struct check_packet *packet)
{
    if (packet->node < MAX_REFUSED && watch->refused[packet->node].is_any &&
        !check_fence_reached(watch->refused[packet->node].fence, packet->fence))
        watch->refused[packet->node].is_any = false;
}

/* It has its turn in the GPU's queue, too. */
static bool is_refusal_due(const struct check_ledger *ledger, const struct submission_watch *watch,
                           unsigned node)
{
    const uint32_t fence = watch->refused[node].fence;
    const struct check_packet *packet;

    if (!watch->refused[node].is_any)
        return false;
    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        bool is_refused = packet->fence == fence;

        if (packet->node == node && check_fence_reached(packet->fence, fence) &&
            (!is_refused || (packet->gpu_queued && !packet->is_gpu_done)))
            return false;
    }
    return true;
}

static void before_query_fence(struct check *check, struct submission_watch *watch,
                               const DXGKARG_QUERYCURRENTFENCE *arg)
{
    if (arg->NodeOrdinal < MAX_REFUSED)
        watch->refused[arg->NodeOrdinal].is_due =
            is_refusal_due(check_ledger(check), watch, arg->NodeOrdinal);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    bool is_virtual = call->ddi == MINIPORT_DDI_SubmitCommandVirtual;

    if (call->ddi == MINIPORT_DDI_QueryCurrentFence)
        before_query_fence(check, state, call->arg.query_current_fence);

    if (call->ddi == MINIPORT_DDI_Patch)
        before_patch(check, call->arg.patch);
    if ((!is_virtual && call->ddi != MINIPORT_DDI_SubmitCommand) || !call->packet)
        return;
    check_order(check, call->packet);
    forget_long_ago(state, call->packet);
    if (is_virtual) {
        check_flags(check, call->packet, call->arg.submit_command_virtual->Flags);
        before_virtual(check, call);
    } else {
        check_flags(check, call->packet, call->arg.submit_command->Flags);
        check_private_offsets(check, call);
    }
}

/* ---- After ----------------------------------------------------------------------------------- */

/* The rule that a failed submission breaks: of its special kind, or the plain one. */
static enum rule_id rule_of_failure(const DXGKARG_SUBMITCOMMAND *arg)
{
    if (arg->Flags.Resubmission)
        return RULE_SUB_010;
    if (arg->Flags.Paging && !arg->hContext)
        return RULE_SUB_003;
    if (!arg->DmaBufferPrivateDataSize)
        return RULE_SUB_007;
    return RULE_SUB_001;
}

static void after_submit(struct check *check, const struct check_call *call)
{
    const DXGKARG_SUBMITCOMMAND *arg = call->arg.submit_command;
    enum rule_id rule = rule_of_failure(arg);
    bool is_level = check_irql(check) == DISPATCH_LEVEL;

    if (rule != RULE_SUB_001)
        check_looked_at(check, RULE_SUB_001);
    if (CHECK_RULE(check, rule, call->status == STATUS_SUCCESS,
                   check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext), "status",
                   "{0x%08x} for fence 0x%x (expected {=STATUS_SUCCESS})%s", (unsigned)call->status,
                   arg->SubmissionFenceId,
                   rule == RULE_SUB_003   ? "; the handles are NULL, as they may be for paging"
                   : rule == RULE_SUB_007 ? "; there are no private data"
                   : rule == RULE_SUB_010 ? "; the packet was preempted before and comes back"
                                          : "") &&
        !is_level)
        check_report(check, RULE_SUB_001,
                     check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext), "",
                     "came back at IRQL %u (expected DISPATCH_LEVEL)", check_irql(check));
}

static void after_virtual(struct check *check, struct submission_watch *watch,
                          const struct check_call *call)
{
    const DXGKARG_SUBMITCOMMANDVIRTUAL *arg = call->arg.submit_command_virtual;

    CHECK_RULE(check, RULE_SUB_011,
               call->status == STATUS_SUCCESS || call->status == STATUS_INVALID_PARAMETER,
               check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext), "status",
               "{0x%08x} for fence 0x%x (expected {=STATUS_SUCCESS or STATUS_INVALID_PARAMETER})",
               (unsigned)call->status, arg->SubmissionFenceId);
    if (call->status == STATUS_INVALID_PARAMETER && arg->NodeOrdinal < MAX_REFUSED) {
        watch->refused[arg->NodeOrdinal].is_any = true;
        watch->refused[arg->NodeOrdinal].fence = arg->SubmissionFenceId;
    }
}

/* A refused fence counts as complete once everything before it is. */
static void after_query_fence(struct check *check, struct submission_watch *watch,
                              const struct check_call *call)
{
    const DXGKARG_QUERYCURRENTFENCE *arg = call->arg.query_current_fence;
    uint32_t fence;

    if (arg->NodeOrdinal < CHECK_MAX_NODES)
        watch->asked[arg->NodeOrdinal] = call->event;
    if (!NT_SUCCESS(call->status) || arg->NodeOrdinal >= MAX_REFUSED ||
        !watch->refused[arg->NodeOrdinal].is_due)
        return;
    fence = watch->refused[arg->NodeOrdinal].fence;
    CHECK_RULE(check, RULE_SUB_012, check_fence_reached(fence, arg->CurrentFence), NULL,
               "CurrentFence",
               "is {0x%x} on node %u; {=0x%x} was refused, and nothing before it is left",
               arg->CurrentFence, arg->NodeOrdinal, fence);
}

static void forget_refusals(struct submission_watch *watch, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end && i < MAX_REFUSED; i++)
        watch->refused[i].is_any = watch->refused[i].is_due = false;
}

/*
 * The GPU did not answer in time: was there anything that it should not have needed time for? An
 * empty packet that the driver was not asked about had not taken long.
 */
static void check_left(struct check *check, const struct submission_watch *watch, unsigned node,
                       bool is_every_node)
{
    const struct check_packet *packet;
    bool was_asked;

    if (watch->stopped)
        return; /* the reset comes from there, and at any time */
    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if ((packet->node != node && !is_every_node) || packet->state != CHECK_SUBMITTED)
            continue;
        was_asked = packet->node < CHECK_MAX_NODES && packet->event < watch->asked[packet->node];
        if (was_asked && packet->bytes == 0)
            CHECK_RULE(check, RULE_SUB_004, false,
                       check_find(check_ledger(check), CHECK_CONTEXT, packet->context),
                       "SubmissionFenceId",
                       "0x%x of a packet without commands was never reported complete on node %u",
                       packet->fence, packet->node);
        if (was_asked && packet->is_null)
            CHECK_RULE(check, RULE_SUB_005, false,
                       check_find(check_ledger(check), CHECK_CONTEXT, packet->context),
                       "SubmissionFenceId",
                       "0x%x of a packet that was not to run was never reported complete on node "
                       "%u",
                       packet->fence, packet->node);
        if (packet->submit_count > 1 && check_ledger(check)->has_gpu)
            CHECK_RULE(check, RULE_SUB_010, packet->gpu_queued != 0,
                       check_find(check_ledger(check), CHECK_CONTEXT, packet->context),
                       "SubmissionFenceId",
                       "0x%x came back after a preemption, and the GPU of node %u never got it",
                       packet->fence, packet->node);
        if (!is_every_node || packet->bytes)
            return; /* the others wait behind it */
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct submission_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_SubmitCommand:
        after_submit(check, call);
        break;
    case MINIPORT_DDI_SubmitCommandVirtual:
        after_virtual(check, watch, call);
        break;
    case MINIPORT_DDI_QueryCurrentFence:
        after_query_fence(check, watch, call);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
        check_left(check, watch, 0, true);
        memset(watch->refused, 0, sizeof watch->refused);
        watch->stopped = 0;
        break;
    case MINIPORT_DDI_ResetEngine:
        check_left(check, watch, call->arg.reset_engine->NodeOrdinal, false);
        forget_refusals(watch, call->arg.reset_engine->NodeOrdinal,
                        call->arg.reset_engine->NodeOrdinal + 1);
        if (call->arg.reset_engine->NodeOrdinal < 64)
            watch->stopped &= ~(UINT64_C(1) << call->arg.reset_engine->NodeOrdinal);
        break;
    default:
        break;
    }
}

/* ---- The GPU --------------------------------------------------------------------------------- */

/* SUB-011: the GPU works with the root that the context has. */
static void check_root_in_use(struct check *check, const struct check_gpu_event *event)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, event->packet->context);
    const D3DGPU_PHYSICAL_ADDRESS *root = context ? &context->root.Address : NULL;
    const struct check_segment *segment = root ? check_find_segment(ledger, root->SegmentId) : NULL;
    uint64_t address;

    if (!event->has_root || !context || !context->has_root || (root->SegmentId && !segment))
        return;
    address = root->SegmentOffset + (segment ? segment->base : 0);
    CHECK_RULE(
        check, RULE_SUB_011, event->root == address && event->is_system == (root->SegmentId == 0),
        &context->object, "",
        "the GPU was handed fence 0x%x with the root table at 0x%llx%s; the root of the "
        "context is at 0x%llx of segment %u",
        event->fence, (unsigned long long)event->root, event->is_system ? " of system memory" : "",
        (unsigned long long)root->SegmentOffset, root->SegmentId);
}

/* SUB-002: the GPU begins where the submission does, in the segment that it names. */
static void check_first_byte(struct check *check, const struct check_gpu_event *event)
{
    const struct check_packet *packet = event->packet;

    if (!event->has_start || packet->is_virtual)
        return;
    CHECK_RULE(check, RULE_SUB_002,
               event->first_byte == packet->first_byte &&
                   event->starts_in_system == (packet->segment == 0),
               check_find(check_ledger(check), CHECK_CONTEXT, packet->context), "",
               "the GPU was handed fence 0x%x from 0x%llx of %s on; the submission begins at "
               "0x%llx of segment %u",
               event->fence, (unsigned long long)event->first_byte,
               event->starts_in_system ? "system memory" : "its own memory",
               (unsigned long long)packet->first_byte, packet->segment);
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct submission_watch *watch = state;
    const struct check_packet *packet = event->packet;

    if ((event->kind == CHECK_GPU_FAULT || event->kind == CHECK_GPU_HUNG) && event->node < 64)
        watch->stopped |= UINT64_C(1) << event->node;
    if (event->kind != CHECK_GPU_QUEUED || !packet)
        return;
    check_blame_packet(check, packet);
    if (packet->is_virtual && !packet->is_null && packet->bytes)
        check_root_in_use(check, event);
    if (packet->is_null) {
        CHECK_RULE(check, RULE_SUB_005, event->bytes == 0,
                   check_find(check_ledger(check), CHECK_CONTEXT, packet->context), "",
                   "was handed 0x%x bytes with fence 0x%x, which is not to run", event->bytes,
                   event->fence);
    } else if (packet->bytes == 0) {
        check_looked_at(check, RULE_SUB_004);
    } else {
        CHECK_RULE(
            check, RULE_SUB_002,
            event->bytes == packet->bytes && (packet->gpu_queued == 1 || packet->was_yielded),
            check_find(check_ledger(check), CHECK_CONTEXT, packet->context), "",
            packet->gpu_queued == 1 || packet->was_yielded
                ? "was handed {0x%x} bytes with fence 0x%x; {=0x%llx} were submitted"
                : "was handed {0x%x} bytes with fence 0x%x again; {=0x%llx} were submitted once",
            event->bytes, event->fence, (unsigned long long)packet->bytes);
        check_first_byte(check, event);
    }
    check_blame_current(check);
}

/* Reported complete: it has been handed over, then. */
static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    enum rule_id rule = packet->submit_count > 1 ? RULE_SUB_010 : RULE_SUB_002;

    if (packet->state != CHECK_COMPLETED)
        return;
    if (packet->submit_count > 1)
        check_looked_at(check, RULE_SUB_010);
    if (packet->is_paging && !packet->context)
        check_looked_at(check, RULE_SUB_003);
    if (!packet->bytes)
        check_looked_at(check, RULE_SUB_004);
    if (packet->is_null)
        check_looked_at(check, RULE_SUB_005);
    if (!check_ledger(check)->has_gpu || packet->is_null || !packet->bytes)
        return;
    check_blame_packet(check, packet);
    CHECK_RULE(check, rule, packet->gpu_queued != 0,
               check_find(check_ledger(check), CHECK_CONTEXT, packet->context), "SubmissionFenceId",
               "0x%x is reported complete; the GPU of node %u was never handed its 0x%llx "
               "bytes",
               packet->fence, packet->node, (unsigned long long)packet->bytes);
    check_blame_current(check);
}

/*
 * A preemption ends what the node had, and a packet that did not run may be among it. Behind a
 * completion the refused fence still counts: it is asked for then (SUB-012).
 */
static void callback(struct check *check, void *state, const struct check_callback *event)
{
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = event->data;
    struct submission_watch *watch = state;

    if (event->callback == TRACE_CALLBACK_notify_interrupt &&
        data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
        forget_refusals(watch, data->DmaPreempted.NodeOrdinal, data->DmaPreempted.NodeOrdinal + 1);
}

const struct check_watcher check_submission_watcher = {
    .name = "submission",
    .state_bytes = sizeof(struct submission_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SubmitCommandVirtual, MINIPORT_DDI_QueryCurrentFence,
                                MINIPORT_DDI_Patch, MINIPORT_DDI_SubmitCommand),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                               MINIPORT_DDI_QueryCurrentFence, MINIPORT_DDI_ResetFromTimeout,
                               MINIPORT_DDI_ResetEngine),
    .callback = callback,
    .retired = retired,
    .gpu = gpu,
};
