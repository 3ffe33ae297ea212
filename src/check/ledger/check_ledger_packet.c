/*
 * Ledger: built pieces of operations, and the packets in which they go to the GPU.
 *
 * Each context of the system has a stream of the pieces that were built for it, in order. A packet
 * takes pieces of its own length from the start of the stream, and keeps them until it retires.
 */
#include "check/ledger/check_ledger.h"

#include "base/bits.h"
#include "check/check_watch.h"
#include "miniport/operation.h"

/* ---- Built pieces ---------------------------------------------------------------------------- */

static void end_built(struct check_ledger *ledger, struct check_built *piece, bool is_done)
{
    check_ledger_note_ended(ledger, piece, is_done);
    list_remove(&piece->link);
    base_free(ledger->services, piece, sizeof *piece);
}

static void forget_built(struct check_ledger *ledger, struct list *built, bool is_done)
{
    while (!list_is_empty(built))
        end_built(ledger, list_first_entry(built, struct check_built, link), is_done);
}

static void forget_packet(struct check_ledger *ledger, struct check_packet *packet)
{
    list_remove(&packet->link);
    forget_built(ledger, &packet->built, packet->state == CHECK_COMPLETED);
    base_free(ledger->services, packet, sizeof *packet);
}

void check_ledger_forget_packets(struct check_ledger *ledger)
{
    while (!list_is_empty(&ledger->packets))
        forget_packet(ledger, list_first_entry(&ledger->packets, struct check_packet, link));
}

static struct check_stream *stream_of(struct check_ledger *ledger, HANDLE context)
{
    struct check_stream *stream;

    for (unsigned i = 0; i < ledger->stream_count && !context; i++) {
        if (!list_is_empty(&ledger->streams[i].built))
            return &ledger->streams[i]; /* nobody's (SUB-003): the first stream with pieces */
    }
    for (unsigned i = 0; i < ledger->stream_count; i++) {
        if (ledger->streams[i].context == context)
            return &ledger->streams[i];
    }
    if (ledger->stream_count == CHECK_MAX_STREAMS)
        return &ledger->streams[CHECK_MAX_STREAMS - 1];
    stream = &ledger->streams[ledger->stream_count++];
    stream->context = context;
    list_init(&stream->built);
    return stream;
}

/* Where the operation puts content or maps pages, in the physical model. */
static void enter_target(const struct check_ledger *ledger, struct check_built *piece,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    enum miniport_operation_kind kind = miniport_operation_kind((unsigned)arg->Operation);
    struct miniport_place to = miniport_operation_destination(arg);
    const struct check_segment *segment = check_find_segment(ledger, to.segment);

    if (kind == MINIPORT_KIND_MAP && segment)
        piece->target = segment->base + to.address * PAGE_SIZE;
    else if ((kind == MINIPORT_KIND_TRANSFER || kind == MINIPORT_KIND_FILL) && to.segment)
        piece->target = to.address + miniport_operation_offset(arg);
    else
        return;
    piece->target_segment = to.segment;
    piece->target_bytes = miniport_operation_bytes(arg);
}

void check_ledger_build(struct check_ledger *ledger, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;
    uint64_t moved = (uint64_t)((uintptr_t)arg->pDmaBuffer - (uintptr_t)was->pDmaBuffer);
    bool is_short = call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    bool is_first = !ledger->is_operation_open;
    struct check_built *piece;

    if (is_first)
        ledger->operation++;
    if (!was->pDmaBuffer)
        return; /* at once, also between two parts of another */
    ledger->is_operation_open = is_short;
    if (!NT_SUCCESS(call->status) && !is_short)
        return;
    piece = base_alloc(ledger->services, sizeof *piece);
    if (!piece) {
        ledger->is_whole = false;
        return;
    }
    *piece = (struct check_built){
        .number = ledger->operation,
        .event = call->event,
        .operation = (unsigned)was->Operation,
        .bytes = moved <= was->DmaSize ? (uint32_t)moved : 0,
        .is_end = !is_short,
        .private_start = (uintptr_t)was->pDmaBufferPrivateData,
        .private_end = (uintptr_t)arg->pDmaBufferPrivateData,
    };
    enter_target(ledger, piece, was);
    list_init(&piece->link);
    check_ledger_note_built(ledger, call, is_first, piece);
    list_push_back(&stream_of(ledger, was->hSystemContext)->built, &piece->link);
}

/* Pieces from first on that are bytes long together: the one behind them, or NULL. */
static struct list *find_end(struct list *head, struct list *first, uint64_t bytes)
{
    uint64_t sum = 0;

    for (; first != head; first = first->next) {
        uint32_t next = list_entry(first, struct check_built, link)->bytes;

        if (sum + next > bytes)
            break;
        sum += next;
    }
    return sum == bytes ? first : NULL;
}

static void drop_built(struct check_ledger *ledger, struct check_built *lost)
{
    end_built(ledger, lost, false);
}

/*
 * After a reset the pieces built before it have most likely been dropped. They are dropped here
 * when the pieces built since are as long as the packet.
 */
static struct list *find_end_since_reset(struct check_ledger *ledger, struct check_stream *stream,
                                         uint64_t bytes)
{
    struct list *first = stream->built.next;
    struct list *end;

    while (first != &stream->built && list_entry(first, struct check_built, link)->is_before_reset)
        first = first->next;
    end = first == &stream->built ? NULL : find_end(&stream->built, first, bytes);
    while (end && stream->built.next != first)
        drop_built(ledger, list_first_entry(&stream->built, struct check_built, link));
    return end;
}

/*
 * Moves the next pieces, as many bytes together, from the stream to the packet. A piece of no bytes
 * goes with the piece before it.
 */
static bool take_built(struct check_ledger *ledger, struct check_stream *stream, uint64_t bytes,
                       struct list *out_built)
{
    struct list *end = stream->may_skip ? find_end_since_reset(ledger, stream, bytes) : NULL;

    if (!end)
        end = find_end(&stream->built, stream->built.next, bytes);
    while (!end && stream->may_skip && !list_is_empty(&stream->built)) {
        drop_built(ledger, list_first_entry(&stream->built, struct check_built, link));
        end = find_end(&stream->built, stream->built.next, bytes);
    }
    if (!end)
        return false;
    while (stream->built.next != end) {
        struct list *piece = stream->built.next;

        list_remove(piece);
        list_push_back(out_built, piece);
        check_ledger_note_submitted(ledger, list_entry(piece, struct check_built, link));
    }
    stream->may_skip = false;
    return true;
}

void check_ledger_forget_built(struct check_ledger *ledger)
{
    for (unsigned i = 0; i < ledger->stream_count; i++)
        forget_built(ledger, &ledger->streams[i].built, false);
}

/* Behind all that was submitted there are pieces of no bytes at most: nothing is left to run. */
static bool has_run_dry(const struct check_stream *stream)
{
    const struct check_built *piece;

    list_for_each (piece, &stream->built, struct check_built, link) {
        if (piece->bytes || !piece->is_end)
            return false;
    }
    return true;
}

void check_ledger_lose_built(struct check_ledger *ledger)
{
    for (unsigned i = 0; i < ledger->stream_count; i++) {
        struct check_built *piece;

        ledger->streams[i].may_skip = true;
        if (has_run_dry(&ledger->streams[i]))
            continue;
        list_for_each (piece, &ledger->streams[i].built, struct check_built, link) {
            piece->is_before_reset = true;
            check_ledger_note_ended(ledger, piece, false);
            piece->allocation_number = 0; /* it may run or not */
        }
    }
    ledger->is_operation_open = false;
}

/* ---- Packets --------------------------------------------------------------------------------- */

/* A client's packet that did not run comes back as a new one, while there is its context. */
static void forget_preempted(struct check_ledger *ledger, struct check_packet *packet)
{
    struct check_context *context = check_find_context(ledger, packet->context);

    if (context && packet->is_switch)
        context->preempted_switches++;
    else if (context)
        context->preempted++;
    forget_packet(ledger, packet);
}

void check_ledger_abort_packets(struct check_ledger *ledger, const DXGKARG_RESETENGINE *reset)
{
    struct check_packet *packet, *following;

    list_for_each_safe (packet, following, &ledger->packets, struct check_packet, link) {
        if (packet->node != reset->NodeOrdinal)
            continue;
        if (packet->is_paging && !check_fence_reached(packet->fence, reset->LastAbortedFenceId))
            packet->state = CHECK_PREEMPTED;
        else if (!check_fence_reached(packet->fence, reset->LastAbortedFenceId))
            forget_preempted(ledger, packet);
        else
            forget_packet(ledger, packet);
    }
}

static void note_queued(const struct check_ledger *ledger, const struct check_packet *packet)
{
    struct check_queue *queue = check_find_queue(ledger, packet->queue);

    if (!queue)
        return;
    queue->former = queue->submitted;
    queue->submitted = packet->progress;
    queue->ids[queue->id_count++ % CHECK_QUEUE_IDS] = packet->progress;
}

static struct check_packet plain_packet(const DXGKARG_SUBMITCOMMAND *arg)
{
    return (struct check_packet){
        .node = arg->NodeOrdinal,
        .fence = arg->SubmissionFenceId,
        .context = arg->hContext,
        .is_paging = arg->Flags.Paging,
        .bytes = arg->DmaBufferSubmissionEndOffset - arg->DmaBufferSubmissionStartOffset,
        .segment = arg->DmaBufferSegmentId,
        .first_byte =
            (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart + arg->DmaBufferSubmissionStartOffset,
        .start =
            (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart + arg->DmaBufferSubmissionStartOffset,
        .is_null = arg->Flags.NullRendering,
        .is_switch = arg->Flags.ContextSwitch,
    };
}

static struct check_packet packet_by_address(const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    return (struct check_packet){
        .node = arg->NodeOrdinal,
        .fence = arg->SubmissionFenceId,
        .context = arg->hContext,
        .is_paging = arg->Flags.Paging,
        .is_virtual = true,
        .bytes = arg->DmaBufferSize,
        .start = arg->DmaBufferVirtualAddress,
        .is_null = arg->Flags.NullRendering,
        .is_switch = arg->Flags.ContextSwitch,
    };
}

/* Its node and its context are the queue's. */
static struct check_packet packet_of_queue(const struct check_ledger *ledger,
                                           const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    const struct check_queue *queue = check_find_queue(ledger, arg->hHwQueue);

    return (struct check_packet){
        .node = queue ? queue->node : 0,
        .fence = (uint32_t)arg->HwQueueProgressFenceId,
        .context = queue ? queue->context : NULL,
        .queue = arg->hHwQueue,
        .progress = arg->HwQueueProgressFenceId,
        .is_virtual = true,
        .bytes = arg->DmaBufferSize,
        .start = arg->DmaBufferVirtualAddress,
    };
}

struct check_packet *check_ledger_submit(struct check_ledger *ledger, const struct check_call *call)
{
    DXGK_SUBMITCOMMANDFLAGS flags = call->ddi == MINIPORT_DDI_SubmitCommandToHwQueue
                                        ? call->arg.submit_command_to_hw_queue->Flags
                                    : call->ddi == MINIPORT_DDI_SubmitCommandVirtual
                                        ? call->arg.submit_command_virtual->Flags
                                        : call->arg.submit_command->Flags;
    struct check_packet seen = call->ddi == MINIPORT_DDI_SubmitCommandToHwQueue
                                   ? packet_of_queue(ledger, call->arg.submit_command_to_hw_queue)
                               : call->ddi == MINIPORT_DDI_SubmitCommandVirtual
                                   ? packet_by_address(call->arg.submit_command_virtual)
                                   : plain_packet(call->arg.submit_command);
    struct check_packet *packet =
        seen.queue ? NULL : check_find_packet(ledger, seen.node, seen.fence);
    struct check_context *owner;

    seen.event = call->event;
    seen.submit_count = 1;
    seen.is_matched = true;
    if (packet && packet->state == CHECK_PREEMPTED) {
        packet->state = CHECK_SUBMITTED;
        packet->event = call->event;
        packet->segment = seen.segment;
        packet->first_byte = seen.first_byte;
        packet->start = seen.start;
        packet->submit_count++;
        packet->gpu_queued = packet->gpu_done = 0;
        packet->was_yielded = false;
        list_remove(&packet->link);
        list_push_back(&ledger->packets, &packet->link);
        return packet;
    }
    packet = base_alloc(ledger->services, sizeof *packet);
    if (!packet)
        return NULL;
    owner = seen.is_paging ? NULL : check_find_context(ledger, seen.context);
    if (owner && owner->device && owner->device->process)
        owner->device->process->scheduled = call->event;
    if (owner && !seen.is_switch && owner->preempted) {
        seen.may_be_back = true;
        owner->preempted--;
    } else if (owner && seen.is_switch && owner->preempted_switches) {
        /* One that does not say so may be another one, which goes ahead of what comes back. */
        seen.may_be_back = true;
        owner->preempted_switches -= flags.Resubmission;
    }
    seen.number = ++ledger->packets_submitted;
    *packet = seen;
    list_init(&packet->link);
    list_init(&packet->built);
    if (packet->is_paging)
        packet->is_matched = take_built(
            ledger, stream_of(ledger, check_has_contexts(ledger) ? packet->context : NULL),
            packet->bytes, &packet->built);
    list_push_back(&ledger->packets, &packet->link);
    if (packet->queue)
        note_queued(ledger, packet);
    return packet;
}

void check_ledger_forget_queue(struct check_ledger *ledger, HANDLE queue)
{
    struct check_packet *packet, *following;

    list_for_each_safe (packet, following, &ledger->packets, struct check_packet, link)
        if (packet->queue == queue)
            forget_packet(ledger, packet);
}

void check_ledger_suspend(struct check_ledger *ledger, struct check_context *context)
{
    const HANDLE handle = (HANDLE)(uintptr_t)context->object.handle;
    struct id_map *queues = &ledger->objects[CHECK_QUEUE];
    struct check_packet *packet;
    struct check_queue *queue;
    size_t position = 0;

    context->is_suspending = false;
    context->is_suspended = true;
    while ((queue = id_map_next(queues, &position))) {
        if (queue->context == handle)
            queue->left_at = *queue->progress;
    }
    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        queue = check_find_queue(ledger, packet->queue);
        if (queue && packet->context == handle && packet->state == CHECK_SUBMITTED &&
            *queue->progress < packet->progress)
            packet->state = CHECK_SUSPENDED;
    }
}

void check_ledger_resume(struct check_ledger *ledger, struct check_context *context)
{
    const HANDLE handle = (HANDLE)(uintptr_t)context->object.handle;
    struct check_packet *packet;

    context->is_suspending = context->is_suspended = false;
    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (packet->context == handle && packet->state == CHECK_SUSPENDED)
            packet->state = CHECK_SUBMITTED;
    }
}

void check_ledger_lose_context(struct check_ledger *ledger, HANDLE context)
{
    struct check_packet *packet, *following;

    list_for_each_safe (packet, following, &ledger->packets, struct check_packet, link) {
        if (packet->context == context)
            forget_packet(ledger, packet);
    }
}

void check_ledger_refuse_queued(struct check_ledger *ledger,
                                const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    struct check_packet *packet, *following;

    list_for_each_safe (packet, following, &ledger->packets, struct check_packet, link) {
        if (packet->queue == arg->hHwQueue && packet->progress == arg->HwQueueProgressFenceId)
            forget_packet(ledger, packet);
    }
}

void check_ledger_refuse(struct check_ledger *ledger, const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    struct check_packet *packet =
        check_find_packet(ledger, arg->NodeOrdinal, arg->SubmissionFenceId);

    if (packet && !packet->is_paging && packet->state == CHECK_SUBMITTED)
        packet->state = CHECK_REFUSED;
}

/*
 * What is before the packet that faulted is complete. The packet itself goes with a reset, or,
 * where none is asked for, now.
 */
static void enter_fault(struct check_ledger *ledger, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                        void (*retired)(void *context, const struct check_packet *packet),
                        void *context)
{
    UINT flags = data->DmaPageFaulted.PageFaultFlags;
    struct check_packet *packet, *following;

    if (flags & DXGK_PAGE_FAULT_FENCE_INVALID)
        return;
    list_for_each_safe (packet, following, &ledger->packets, struct check_packet, link) {
        bool is_faulted = packet->fence == data->DmaPageFaulted.FaultedFenceId;

        if (packet->node != data->DmaPageFaulted.NodeOrdinal || packet->queue ||
            packet->state != CHECK_SUBMITTED ||
            !check_fence_reached(packet->fence, data->DmaPageFaulted.FaultedFenceId))
            continue;
        if (!is_faulted) {
            packet->state = CHECK_COMPLETED;
            retired(context, packet);
            forget_packet(ledger, packet);
        } else if (!(flags & (DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED |
                              DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED))) {
            forget_packet(ledger, packet);
        }
    }
}

/* What the fences of the node's queues say is complete. */
static void end_queued(struct check_ledger *ledger, unsigned node,
                       void (*retired)(void *context, const struct check_packet *packet),
                       void *context)
{
    struct check_packet *packet, *following;

    list_for_each_safe (packet, following, &ledger->packets, struct check_packet, link) {
        const struct check_queue *queue = check_find_queue(ledger, packet->queue);

        if (!queue || packet->node != node || *queue->progress < packet->progress)
            continue;
        packet->state = CHECK_COMPLETED;
        retired(context, packet);
        forget_packet(ledger, packet);
    }
}

void check_ledger_interrupt(struct check_ledger *ledger,
                            const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                            void (*retired)(void *context, const struct check_packet *packet),
                            void *context)
{
    bool is_preemption = data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED;
    unsigned node = is_preemption ? data->DmaPreempted.NodeOrdinal : data->DmaCompleted.NodeOrdinal;
    uint32_t fence = is_preemption ? data->DmaPreempted.LastCompletedFenceId
                                   : data->DmaCompleted.SubmissionFenceId;
    struct check_packet *packet, *following;

    if (data->InterruptType == DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED)
        end_queued(ledger, data->MonitoredFenceSignaled.NodeOrdinal, retired, context);
    if (data->InterruptType == DXGK_INTERRUPT_DMA_PAGE_FAULTED)
        enter_fault(ledger, data, retired, context);
    if (!is_preemption && data->InterruptType != DXGK_INTERRUPT_DMA_COMPLETED)
        return;
    list_for_each_safe (packet, following, &ledger->packets, struct check_packet, link) {
        if (packet->node != node || packet->queue)
            continue;
        if (packet->state == CHECK_REFUSED && check_fence_reached(packet->fence, fence))
            forget_packet(ledger, packet);
        else if (packet->state != CHECK_SUBMITTED)
            continue;
        else if (check_fence_reached(packet->fence, fence)) {
            packet->state = CHECK_COMPLETED;
            retired(context, packet);
            forget_packet(ledger, packet);
        } else if (is_preemption) {
            packet->state = CHECK_PREEMPTED;
            if (packet->is_paging)
                continue; /* it comes back with its fence */
            retired(context, packet);
            forget_preempted(ledger, packet);
        }
    }
}
