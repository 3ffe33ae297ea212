/*
 * vidsch: one loop that does all the work, so that callbacks may call back in.
 *
 * Where a packet is, and what moves it on:
 *
 *     vidsch_submit()             run()                       run()
 *   ---------------> context.queue -------> node.submitted -------> retired()
 *                    head waits for fence,  with the driver,       DMA_COMPLETED and DPC,
 *                    else context.ready     or failed              or its failure is its turn
 *
 * Ready      A context with a head packet whose wait is over stands in its node's ready list
 *            (one for paging, one for the others), at the back: that is the round robin. A head
 *            that waits stands in the waiters list of its fence. Exactly one of the two holds for
 *            every context with a queue; vidsch_check() walks it.
 * Reports    Interrupt time touches only numbers: the newest id a node reported, a fixed ring of
 *            page faults, a fixed ring of errors. The DPC copies the id; run() acts on it.
 * Re-entry   Driver and submitter may call any function from any callback, with two exceptions:
 *            vidsch_destroy() never, vidsch_abort() not from prepare() or submit(). run() runs
 *            once; a nested call only asks it to go round again. After each callback it looks at
 *            the lists afresh and at nothing that the callback may have freed.
 * Fence ids  Consecutive on each node, compared by the sign of the 32-bit difference. A report is
 *            lawful in (reported, submitted]. The id of a packet that the driver refused may be
 *            reported or not (SUB-012): it stays lawful until a newer id is reported.
 */
#include "vidsch/vidsch_private.h"

#include <stdio.h>

static bool is_waiting(const struct vidsch_packet *packet)
{
    return packet->wait_fence && packet->wait_fence->value < packet->wait_value;
}

/* ---- Life ---- */

NTSTATUS vidsch_create(const struct base_services *services, struct miniport *miniport,
                       const struct vidsch_config *config, const struct vidsch_events *events,
                       struct vidsch **out_vidsch)
{
    uint32_t first_id = config->first_fence_id ? config->first_fence_id : 1;
    uint64_t fault_count = (uint64_t)config->node_count * config->hardware_queue_depth;
    struct vidsch *vidsch;

    *out_vidsch = NULL;
    if (!config->node_count || !config->hardware_queue_depth || fault_count > SIZE_MAX)
        return STATUS_INVALID_PARAMETER;

    vidsch = base_alloc(services, sizeof *vidsch);
    if (!vidsch)
        return STATUS_NO_MEMORY;
    vidsch->nodes = base_alloc_array(services, config->node_count, sizeof *vidsch->nodes);
    if (!vidsch->nodes)
        goto free_vidsch;
    vidsch->faults = base_alloc_array(services, (size_t)fault_count, sizeof *vidsch->faults);
    if (!vidsch->faults)
        goto free_nodes;

    vidsch->services = services;
    vidsch->miniport = miniport;
    vidsch->events = events;
    vidsch->config = *config;
    if (!vidsch->config.timeout_ns)
        vidsch->config.timeout_ns = VIDSCH_DEFAULT_TIMEOUT_NS;
    list_init(&vidsch->contexts);
    list_init(&vidsch->aborted);
    for (unsigned i = 0; i < config->node_count; i++) {
        struct node *node = &vidsch->nodes[i];

        list_init(&node->submitted);
        list_init(&node->resubmit);
        list_init(&node->ready[0]);
        list_init(&node->ready[1]);
        node->next_id = first_id;
        node->submitted_id = first_id - 1;
        node->reported_id = first_id - 1;
        node->completed_id = first_id - 1;
        node->heard_id = first_id - 1;
        node->most_in_flight = config->hardware_queue_depth;
        node->faults.data = vidsch->faults + (size_t)i * config->hardware_queue_depth;
    }
    *out_vidsch = vidsch;
    return STATUS_SUCCESS;

free_nodes:
    base_free_array(services, vidsch->nodes, config->node_count, sizeof *vidsch->nodes);
free_vidsch:
    base_free(services, vidsch, sizeof *vidsch);
    return STATUS_NO_MEMORY;
}

void vidsch_destroy(struct vidsch *vidsch)
{
    const struct base_services *services;
    size_t node_count;

    if (!vidsch)
        return;
    ASSERT(!vidsch->is_running);
    ASSERT(list_is_empty(&vidsch->contexts));
    services = vidsch->services;
    node_count = vidsch->config.node_count;
    base_free_array(services, vidsch->faults, node_count * vidsch->config.hardware_queue_depth,
                    sizeof *vidsch->faults);
    base_free_array(services, vidsch->nodes, node_count, sizeof *vidsch->nodes);
    base_free(services, vidsch, sizeof *vidsch);
}

NTSTATUS vidsch_context_create(struct vidsch *vidsch, unsigned node, bool is_paging,
                               struct vidsch_context **out_context)
{
    struct vidsch_context *context;

    *out_context = NULL;
    if (node >= vidsch->config.node_count)
        return STATUS_INVALID_PARAMETER;
    context = base_alloc(vidsch->services, sizeof *context);
    if (!context)
        return STATUS_NO_MEMORY;

    context->vidsch = vidsch;
    context->node = node;
    context->is_paging = is_paging;
    context->first = context;
    list_init(&context->ready);
    list_init(&context->queue);
    list_push_back(&vidsch->contexts, &context->link);
    *out_context = context;
    return STATUS_SUCCESS;
}

void vidsch_context_destroy(struct vidsch_context *context)
{
    struct node *node = &context->vidsch->nodes[context->node];

    ASSERT(vidsch_context_is_idle(context));
    ASSERT(!list_is_linked(&context->ready));
    if (context->progress)
        node->queue_count--;
    node->has_list = node->has_list && node->list[0] != context && node->list[1] != context;
    list_remove(&context->link);
    base_free(context->vidsch->services, context, sizeof *context);
}

void vidsch_context_set_queue(struct vidsch_context *context, const volatile uint64_t *progress)
{
    ASSERT(!context->progress && vidsch_context_is_idle(context));
    context->progress = progress;
    context->reached = *progress;
    context->vidsch->nodes[context->node].queue_count++;
    if (!context->has_left) {
        vidsch_let_on(context);
        return;
    }
    context->has_left = false;
    vidsch_context_release(context);
}

void vidsch_context_share(struct vidsch_context *context, struct vidsch_context *first)
{
    ASSERT(!context->progress && vidsch_context_is_idle(context) && !context->driver_handle);
    ASSERT(first->first == first && first->node == context->node);
    context->first = first;
}

void vidsch_context_set_handles(struct vidsch_context *context, HANDLE drivers, HANDLE systems)
{
    context->driver_handle = drivers;
    context->system_handle = systems;
}

static bool is_last_queue(const struct vidsch_context *context)
{
    const struct vidsch_context *other;

    list_for_each (other, &context->vidsch->contexts, struct vidsch_context, link) {
        if (other != context && other->first == context->first && other->progress)
            return false;
    }
    return true;
}

/*
 * Nobody waits here: behind the last queue of the driver's context, an acknowledgement that has not
 * come is not to come behind the end either.
 */
void vidsch_context_leave(struct vidsch_context *context)
{
    ASSERT(vidsch_context_is_idle(context));
    vidsch_switch_contexts(context->vidsch, context->node);
    vidsch_context_hold(context);
    if (context->first->suspension == SUSPENDING && is_last_queue(context))
        vidsch_resume(context->first);
}

void vidsch_context_left(struct vidsch_context *context)
{
    ASSERT(context->progress && context->holds);
    context->progress = NULL;
    context->has_left = true;
    context->vidsch->nodes[context->node].queue_count--;
}

bool vidsch_has_queues(const struct vidsch *vidsch, unsigned node)
{
    return vidsch->nodes[node].queue_count != 0;
}

void vidsch_limit_node(struct vidsch *vidsch, unsigned node, unsigned most_in_flight)
{
    if (most_in_flight && most_in_flight < vidsch->nodes[node].most_in_flight)
        vidsch->nodes[node].most_in_flight = most_in_flight;
}

bool vidsch_context_is_idle(const struct vidsch_context *context)
{
    return context->outstanding == 0;
}

bool vidsch_context_is_quiet(const struct vidsch_context *context)
{
    return context->first->suspension == SUSPENDED ||
           context->outstanding == list_count(&context->queue);
}

uint64_t vidsch_context_submitted(const struct vidsch_context *context)
{
    return context->submitted_sequence;
}

uint64_t vidsch_context_retired(const struct vidsch_context *context)
{
    return context->retired_sequence;
}

bool vidsch_is_idle(const struct vidsch *vidsch)
{
    return vidsch->outstanding == 0;
}

/* ---- From the submitter to the driver ---- */

/* Puts a context with a new head packet where it belongs: ready, or waiting for its fence. */
void vidsch_place_context(struct vidsch_context *context)
{
    struct node *node = &context->vidsch->nodes[context->node];
    struct vidsch_packet *packet = first_packet(&context->queue);

    ASSERT(!list_is_linked(&context->ready));
    if (!packet || context->holds)
        return;
    if (is_waiting(packet))
        list_push_back(&packet->wait_fence->waiters, &packet->waiter);
    else
        list_push_back(&node->ready[context->is_paging ? 0 : 1], &context->ready);
}

void vidsch_context_hold(struct vidsch_context *context)
{
    struct vidsch_packet *packet = first_packet(&context->queue);

    if (!context->holds++) {
        list_remove(&context->ready);
        if (packet)
            list_remove(&packet->waiter);
    }
    vidsch_keep_off(context);
    /* A DPC came in the call, or what failed behind the context's packets can retire now. */
    if (context->vidsch->run_again || context->first->suspension == SUSPENDED)
        vidsch_run(context->vidsch);
}

void vidsch_context_release(struct vidsch_context *context)
{
    ASSERT(context->holds);
    if (--context->holds)
        return;
    vidsch_let_on(context);
    vidsch_place_context(context);
    vidsch_run(context->vidsch);
}

void vidsch_submit(struct vidsch_context *context, struct vidsch_packet *packet)
{
    struct vidsch *vidsch = context->vidsch;
    bool was_empty = list_is_empty(&context->queue);

    packet->context = context;
    packet->fence_id = 0;
    packet->progress_id = 0;
    packet->sequence = ++vidsch->last_sequence;
    packet->is_resubmission = false;
    packet->is_cancelled = false;
    packet->is_with_driver = false;
    packet->has_failed = false;
    packet->failure = STATUS_SUCCESS;
    list_init(&packet->waiter);
    list_push_back(&context->queue, &packet->node);
    context->submitted_sequence = packet->sequence;
    context->outstanding++;
    vidsch->outstanding++;
    vidsch_tell(vidsch, VIDSCH_QUEUED, packet, STATUS_SUCCESS);
    if (was_empty)
        vidsch_place_context(context);
    vidsch_run(vidsch);
}

void vidsch_fence_init(struct vidsch_fence *fence)
{
    fence->value = 0;
    list_init(&fence->waiters);
}

void vidsch_fence_signal(struct vidsch *vidsch, struct vidsch_fence *fence, uint64_t value)
{
    struct vidsch_packet *packet;
    struct vidsch_packet *following;

    if (value <= fence->value)
        return;
    fence->value = value;
    list_for_each_safe (packet, following, &fence->waiters, struct vidsch_packet, waiter) {
        if (is_waiting(packet))
            continue;
        list_remove(&packet->waiter);
        vidsch_place_context(packet->context);
    }
    vidsch_run(vidsch);
}

static void tell_driver_refused(struct vidsch *vidsch, const char *rule, const char *ddi,
                                unsigned node, uint32_t id, NTSTATUS status)
{
    char text[128];

    snprintf(text, sizeof text, "%s of fence id %" PRIu32 " on node %u returned 0x%08" PRIX32, ddi,
             id, node, (uint32_t)status);
    vidsch->events->driver_error(vidsch->events->context, rule, text);
}

/*
 * Takes a packet to the driver. It is on the submitted list before the driver hears of it, because
 * a driver may complete it at once. A DPC that it runs inside waits for vidsch_run(), so the packet
 * stays ours.
 */
static void submit_packet(struct vidsch *vidsch, unsigned node_index, struct vidsch_packet *packet)
{
    struct node *node = &vidsch->nodes[node_index];
    const char *rule = "PATCH-002";
    const char *ddi = "Patch";
    bool is_lawful = false;
    NTSTATUS status = STATUS_SUCCESS;

    packet->serial = ++vidsch->last_serial;
    node->in_flight++;
    packet->is_with_driver = true;
    vidsch_tell(vidsch, VIDSCH_SUBMITTED, packet, STATUS_SUCCESS);
    vidsch->is_submitting = true;
    if (packet->ops->prepare)
        status = packet->ops->prepare(packet, vidsch->miniport);
    if (NT_SUCCESS(status)) {
        rule = packet->is_virtual ? "SUB-011" : "SUB-001";
        ddi = packet->is_virtual ? "SubmitCommandVirtual" : "SubmitCommand";
        if (is_after(packet->fence_id, node->submitted_id))
            node->submitted_id = packet->fence_id;
        status = packet->ops->submit(packet, vidsch->miniport);
        is_lawful = packet->progress_id || (packet->is_virtual && !packet->is_paging &&
                                            status == STATUS_INVALID_PARAMETER);
    }
    vidsch->is_submitting = false;
    if (NT_SUCCESS(status))
        return;

    packet->has_failed = true;
    packet->is_with_driver = false;
    packet->failure = status;
    node->in_flight--;
    if (!is_lawful)
        tell_driver_refused(vidsch, rule, ddi, node_index, packet->fence_id, status);
}

#define LEAP UINT32_C(0x60000000) /* further, what is before might be taken for behind */
#define FIRST_BEHIND                                                                               \
    UINT32_C(0x1000) /* behind the wrap: ids before the leaps do not come again                    \
                      */

/*
 * Towards the wrap, as if days had gone by. Only from an id that the driver has reported, and that
 * has been taken for complete here: whatever is compared with the next one is one leap behind at
 * most.
 */
static void leap(const struct vidsch *vidsch, struct node *node)
{
    const uint32_t target = 0 - vidsch->config.ids_before_wrap;

    if (node->has_wrapped && !node->next_id)
        node->next_id = FIRST_BEHIND;
    if (!vidsch->config.ids_before_wrap || node->next_id >= target ||
        !list_is_empty(&node->submitted) || !list_is_empty(&node->resubmit) ||
        node->heard_id != node->next_id - 1 || node->completed_id != node->next_id - 1 ||
        node->has_wrapped)
        return;
    node->next_id += LEAP < target - node->next_id ? LEAP : target - node->next_id;
    node->has_wrapped = node->next_id == target;
}

/* Takes the next packet of the context that is first in line to the driver. */
static void submit_one(struct vidsch *vidsch, unsigned node_index, struct list *ready)
{
    struct node *node = &vidsch->nodes[node_index];
    struct vidsch_context *context = list_first_entry(ready, struct vidsch_context, ready);
    struct vidsch_packet *packet = first_packet(&context->queue);

    leap(vidsch, node);
    list_remove(&context->ready);
    list_move_back(&node->submitted, &packet->node);
    vidsch_place_context(context);
    packet->fence_id = node->next_id++;
    if (context->progress) {
        node->progress += (uint32_t)(packet->fence_id - (uint32_t)node->progress);
        packet->progress_id = node->progress;
    }
    if (context->first->is_invalid && !packet->is_cancelled)
        vidsch_cancel(packet, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
    if (packet->is_cancelled)
        packet->has_failed = true; /* it retires in its turn */
    else
        submit_packet(vidsch, node_index, packet);
}

/* A preempted paging packet comes back with its old id (SUB-009). */
static void resubmit_one(struct vidsch *vidsch, unsigned node_index)
{
    struct node *node = &vidsch->nodes[node_index];
    struct vidsch_packet *packet = first_packet(&node->resubmit);

    list_move_back(&node->submitted, &packet->node);
    if (!packet->has_failed)
        submit_packet(vidsch, node_index, packet);
}

/* Submits all packets that can go on this node. True if any went. */
static bool submit_ready(struct vidsch *vidsch, unsigned node_index)
{
    struct node *node = &vidsch->nodes[node_index];
    bool has_submitted = false;

    while (node->in_flight < node->most_in_flight && !node->is_preempting && !node->is_off &&
           vidsch->gate != VIDSCH_CLOSED) {
        if (!list_is_empty(&node->resubmit))
            resubmit_one(vidsch, node_index);
        else if (!list_is_empty(&node->ready[0]))
            submit_one(vidsch, node_index, &node->ready[0]);
        else if (!list_is_empty(&node->ready[1]) && vidsch->gate == VIDSCH_OPEN)
            submit_one(vidsch, node_index, &node->ready[1]);
        else
            break;
        has_submitted = true;
    }
    return has_submitted;
}

void vidsch_power_node(struct vidsch *vidsch, unsigned node, bool is_on)
{
    vidsch->nodes[node].is_off = !is_on;
    if (is_on)
        vidsch_run(vidsch);
}

bool vidsch_node_has_work(const struct vidsch *vidsch, unsigned node_index)
{
    const struct node *node = &vidsch->nodes[node_index];

    return !list_is_empty(&node->submitted) || !list_is_empty(&node->resubmit) ||
           !list_is_empty(&node->ready[0]) || !list_is_empty(&node->ready[1]) ||
           node->is_preempting;
}

/* ---- From the driver to the submitter ---- */

/* The packet leaves; neither it nor its context is touched after its function was called. */
void vidsch_retire(struct vidsch *vidsch, struct vidsch_packet *packet, NTSTATUS status)
{
    struct vidsch_context *context = packet->context;

    vidsch_tell(vidsch, VIDSCH_RETIRED, packet, status);
    list_remove(&packet->node);
    context->retired_sequence = packet->sequence;
    context->outstanding--;
    vidsch->outstanding--;
    packet->ops->retired(packet, status);
}

/*
 * The first packet that is complete; of those that go by fence ids only the first one of the node
 * can be, and one that failed only in its turn: what a suspended context has in front of it does
 * not count, for it ends when that context goes on.
 */
static struct vidsch_packet *first_ended(const struct node *node)
{
    bool is_first = true;
    bool is_first_by_fence = true;
    struct vidsch_packet *packet;

    list_for_each (packet, &node->submitted, struct vidsch_packet, node) {
        bool is_by_fence = !packet->progress_id;
        bool is_complete = is_by_fence ? !is_after(packet->fence_id, node->completed_id)
                                       : packet->progress_id <= packet->context->reached;

        const bool is_suspended = packet->context->first->suspension == SUSPENDED;
        const bool is_in_turn =
            is_first && (!is_suspended || packet->node.prev == &node->submitted);

        if (packet->has_failed ? is_in_turn : is_complete && (!is_by_fence || is_first_by_fence))
            return packet;
        if (!node->queue_count)
            break;
        is_first = is_first && is_suspended;
        is_first_by_fence = is_first_by_fence && !is_by_fence;
    }
    return NULL;
}

void vidsch_retire_completed(struct vidsch *vidsch, struct node *node)
{
    struct vidsch_packet *packet;

    while ((packet = first_ended(node)) != NULL) {
        if (!packet->has_failed)
            node->in_flight--;
        vidsch_retire(vidsch, packet, packet->has_failed ? packet->failure : STATUS_SUCCESS);
    }
}

bool vidsch_look_at_queues(struct vidsch *vidsch, unsigned node)
{
    struct vidsch_context *context;
    bool has_risen = false;

    if (!vidsch->nodes[node].queue_count)
        return false;
    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        uint64_t value;

        if (context->node != node || !context->progress)
            continue;
        value = *context->progress;
        has_risen = has_risen || value > context->reached;
        context->reached = max_u64(context->reached, value);
    }
    return has_risen;
}

static void record_error(struct vidsch *vidsch, enum error_kind kind, unsigned node_index,
                         uint32_t id)
{
    struct report_error *error;

    if (vidsch->error_count == ERROR_RING_COUNT) {
        vidsch->lost_error_count++;
        return;
    }
    error = &vidsch->errors[vidsch->error_count++];
    error->kind = kind;
    error->node = node_index;
    error->id = id;
    if (node_index < vidsch->config.node_count) {
        error->reported = vidsch->nodes[node_index].reported_id;
        error->submitted = vidsch->nodes[node_index].submitted_id;
    }
}

static bool names_packet(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    return !(data->DmaPageFaulted.PageFaultFlags & DXGK_PAGE_FAULT_FENCE_INVALID);
}

/* The node of a fault that there is room for; NULL: it is an error of the driver's. */
static struct node *node_of_fault(struct vidsch *vidsch, unsigned node_index, uint32_t id)
{
    struct node *node;

    if (node_index >= vidsch->config.node_count) {
        record_error(vidsch, ERROR_NODE, node_index, id);
        return NULL;
    }
    node = &vidsch->nodes[node_index];
    if (node->faults.count < vidsch->config.hardware_queue_depth)
        return node;
    record_error(vidsch, ERROR_FAULT_RING, node_index, id);
    return NULL;
}

static void push_fault(struct vidsch *vidsch, struct node *node,
                       const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    unsigned slot =
        (node->faults.first + node->faults.count++) % vidsch->config.hardware_queue_depth;

    node->faults.data[slot] = *data;
}

/* What is before the packet that faulted is complete; a reset counts that packet, too. */
static void record_fault(struct vidsch *vidsch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    uint32_t id = data->DmaPageFaulted.FaultedFenceId;
    struct node *node = node_of_fault(vidsch, data->DmaPageFaulted.NodeOrdinal, id);

    if (!node)
        return;
    if (names_packet(data)) {
        if (!is_after(id, node->reported_id) || is_after(id, node->submitted_id)) {
            record_error(vidsch, ERROR_FAULT_ID, data->DmaPageFaulted.NodeOrdinal, id);
            return;
        }
        node->reported_id = id - 1;
        node->heard_id = id;
    }
    push_fault(vidsch, node, data);
}

/*
 * A fault in a packet of a hardware queue, in the words of one in any other packet: the low half of
 * its id is the node's. Other queues may have got less far than it has.
 */
static void record_queue_fault(struct vidsch *vidsch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA fault = {.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED};
    const UINT id = (UINT)data->HwQueuePageFaulted.FaultedFenceId;
    struct node *node = node_of_fault(vidsch, data->HwQueuePageFaulted.NodeOrdinal, id);

    if (!node)
        return;
    fault.DmaPageFaulted.FaultedFenceId = id;
    fault.DmaPageFaulted.FaultedPipelineStage = data->HwQueuePageFaulted.FaultedPipelineStage;
    fault.DmaPageFaulted.FaultedBindTableEntry = data->HwQueuePageFaulted.FaultedBindTableEntry;
    fault.DmaPageFaulted.PageFaultFlags = data->HwQueuePageFaulted.PageFaultFlags;
    fault.DmaPageFaulted.FaultedVirtualAddress = data->HwQueuePageFaulted.FaultedVirtualAddress;
    fault.DmaPageFaulted.NodeOrdinal = data->HwQueuePageFaulted.NodeOrdinal;
    fault.DmaPageFaulted.EngineOrdinal = data->HwQueuePageFaulted.EngineOrdinal;
    fault.DmaPageFaulted.PageTableLevel = data->HwQueuePageFaulted.PageTableLevel;
    fault.DmaPageFaulted.FaultErrorCode = data->HwQueuePageFaulted.FaultErrorCode;
    push_fault(vidsch, node, &fault);
}

static void note_preemption(struct vidsch *vidsch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    unsigned node_index = data->DmaPreempted.NodeOrdinal;
    uint32_t last = data->DmaPreempted.LastCompletedFenceId;
    struct node *node;

    if (node_index >= vidsch->config.node_count) {
        record_error(vidsch, ERROR_NODE, node_index, data->DmaPreempted.PreemptionFenceId);
        return;
    }
    node = &vidsch->nodes[node_index];
    if (!node->is_preempting || node->is_answered ||
        data->DmaPreempted.PreemptionFenceId != node->preemption_id) {
        record_error(vidsch, ERROR_PREEMPTED, node_index, data->DmaPreempted.PreemptionFenceId);
        return;
    }
    if (is_after(node->heard_id, last) || is_after(last, node->submitted_id)) {
        record_error(vidsch, ERROR_LAST, node_index, last);
    } else {
        node->heard_id = last;
        if (is_after(last, node->reported_id))
            node->reported_id = last;
    }
    node->is_answered = true;
}

void vidsch_notify_interrupt(struct vidsch *vidsch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    unsigned node_index;
    uint32_t id;

    switch (data->InterruptType) {
    case DXGK_INTERRUPT_DMA_COMPLETED:
        node_index = data->DmaCompleted.NodeOrdinal;
        id = data->DmaCompleted.SubmissionFenceId;
        if (node_index >= vidsch->config.node_count)
            record_error(vidsch, ERROR_NODE, node_index, id);
        else if (!is_after(id, vidsch->nodes[node_index].reported_id) ||
                 is_after(id, vidsch->nodes[node_index].submitted_id))
            record_error(vidsch, ERROR_ID, node_index, id);
        else
            vidsch->nodes[node_index].reported_id = vidsch->nodes[node_index].heard_id = id;
        break;
    case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
        record_fault(vidsch, data);
        break;
    case DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
        record_queue_fault(vidsch, data);
        break;
    case DXGK_INTERRUPT_DMA_PREEMPTED:
        note_preemption(vidsch, data);
        break;
    case DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED:
        vidsch_note_suspension(vidsch, data);
        break;
    case DXGK_INTERRUPT_DMA_FAULTED:
        record_error(vidsch, ERROR_FAULTED, data->DmaFaulted.NodeOrdinal,
                     data->DmaFaulted.FaultedFenceId);
        break;
    default:
        /* Display, monitored fences, logs: not the scheduler's. */
        break;
    }
}

void vidsch_notify_dpc(struct vidsch *vidsch)
{
    for (unsigned i = 0; i < vidsch->config.node_count; i++) {
        vidsch->nodes[i].completed_id = vidsch->nodes[i].reported_id;
        vidsch->nodes[i].is_preempted = vidsch->nodes[i].is_answered;
        vidsch_look_at_queues(vidsch, i);
    }
    vidsch->is_dpc_pending = true;
    vidsch_run(vidsch);
}

static void tell_error(struct vidsch *vidsch, const struct report_error *error)
{
    const char *rule = "FENCE-002";
    char text[192];

    switch (error->kind) {
    case ERROR_ID:
        snprintf(text, sizeof text,
                 "DMA_COMPLETED reported fence id %" PRIu32 " on node %u; reported before: %" PRIu32
                 ", last submitted: %" PRIu32,
                 error->id, error->node, error->reported, error->submitted);
        break;
    case ERROR_NODE:
        snprintf(text, sizeof text,
                 "fence id %" PRIu32 " was reported on node %u; the adapter has %u nodes",
                 error->id, error->node, vidsch->config.node_count);
        break;
    case ERROR_PREEMPTED:
        rule = "FENCE-007";
        snprintf(text, sizeof text,
                 "DMA_PREEMPTED reported preemption %" PRIu32 " on node %u; none was requested",
                 error->id, error->node);
        break;
    case ERROR_LAST:
        rule = "FENCE-007";
        snprintf(text, sizeof text,
                 "DMA_PREEMPTED reported fence id %" PRIu32
                 " as the last completed one on node %u; reported before: %" PRIu32
                 ", last submitted: %" PRIu32,
                 error->id, error->node, error->reported, error->submitted);
        break;
    case ERROR_FAULTED:
        rule = "FENCE-010";
        snprintf(text, sizeof text,
                 "DMA_FAULTED is reserved; it reported fence id %" PRIu32 " on node %u", error->id,
                 error->node);
        break;
    case ERROR_FAULT_ID:
        rule = "FENCE-010";
        snprintf(text, sizeof text,
                 "DMA_PAGE_FAULTED reported fence id %" PRIu32
                 " on node %u; reported before: %" PRIu32 ", last submitted: %" PRIu32,
                 error->id, error->node, error->reported, error->submitted);
        break;
    case ERROR_FAULT_RING:
    default:
        rule = "FENCE-010";
        snprintf(text, sizeof text,
                 "DMA_PAGE_FAULTED reported fence id %" PRIu32
                 " on node %u; more faults than the %u packets it can have",
                 error->id, error->node, vidsch->config.hardware_queue_depth);
        break;
    }
    vidsch->events->driver_error(vidsch->events->context, rule, text);
}

struct vidsch_packet *vidsch_find_submitted(const struct node *node, uint32_t id)
{
    struct vidsch_packet *packet;

    list_for_each (packet, &node->submitted, struct vidsch_packet, node) {
        if (packet->fence_id == id && !packet->has_failed)
            return packet;
    }
    return NULL;
}

/* A fault that asks for no reset has cost its packet, and the node goes on behind it. */
static void tell_fault(struct vidsch *vidsch, unsigned node_index,
                       const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct node *node = &vidsch->nodes[node_index];
    const struct vidsch_packet *packet = NULL;

    if (names_packet(data))
        packet = vidsch_find_submitted(node, data->DmaPageFaulted.FaultedFenceId);
    if (packet && !vidsch_fault_needs_reset(data)) {
        node->goes_on = true;
        node->faulted_id = packet->fence_id;
    }
    vidsch->events->page_fault(vidsch->events->context, node_index, data, packet);
}

/* Tells of the interrupts' other records: errors and page faults. */
static void tell_recorded(struct vidsch *vidsch)
{
    struct report_error errors[ERROR_RING_COUNT];
    unsigned error_count = vidsch->error_count;
    unsigned lost_error_count = vidsch->lost_error_count;

    for (unsigned i = 0; i < error_count; i++)
        errors[i] = vidsch->errors[i];
    vidsch->error_count = 0;
    vidsch->lost_error_count = 0;
    for (unsigned i = 0; i < error_count; i++)
        tell_error(vidsch, &errors[i]);
    if (lost_error_count) {
        char text[96];

        snprintf(text, sizeof text, "%u more wrong interrupt reports before this DPC",
                 lost_error_count);
        vidsch->events->driver_error(vidsch->events->context, "FENCE-002", text);
    }

    for (unsigned i = 0; i < vidsch->config.node_count; i++) {
        struct node *node = &vidsch->nodes[i];

        while (node->faults.count) {
            DXGKARGCB_NOTIFY_INTERRUPT_DATA data = node->faults.data[node->faults.first];

            node->faults.first = (node->faults.first + 1) % vidsch->config.hardware_queue_depth;
            node->faults.count--;
            tell_fault(vidsch, i, &data);
        }
    }
}

/* ---- Contexts that a reset of their engine has hit ---- */

void vidsch_context_invalidate(struct vidsch_context *context)
{
    context->first->is_invalid = context->vidsch->has_invalid = true;
    vidsch_run(context->vidsch);
}

bool vidsch_context_is_invalid(const struct vidsch_context *context)
{
    return context->first->is_invalid;
}

static struct vidsch_packet *first_invalid(const struct node *node)
{
    struct vidsch_packet *packet;

    list_for_each (packet, &node->submitted, struct vidsch_packet, node) {
        if (packet->context->first->is_invalid)
            return packet;
    }
    return NULL;
}

static void drop_invalid(struct vidsch *vidsch)
{
    vidsch->has_invalid = false;
    for (unsigned i = 0; i < vidsch->config.node_count; i++) {
        struct node *node = &vidsch->nodes[i];
        struct vidsch_packet *packet;

        while ((packet = first_invalid(node)) != NULL) {
            if (!packet->has_failed)
                node->in_flight--;
            vidsch_retire(vidsch, packet,
                          packet->has_failed ? packet->failure
                                             : STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
        }
    }
}

/* ---- The loop ---- */

void vidsch_run(struct vidsch *vidsch)
{
    if (vidsch->is_running) {
        vidsch->run_again = true;
        return;
    }
    vidsch->is_running = true;
    do {
        vidsch->run_again = false;
        if (vidsch->is_dpc_pending) {
            vidsch->is_dpc_pending = false;
            tell_recorded(vidsch);
        }
        if (vidsch->has_invalid)
            drop_invalid(vidsch);
        for (unsigned i = 0; i < vidsch->config.node_count; i++)
            vidsch_retire_completed(vidsch, &vidsch->nodes[i]);
        for (unsigned i = 0; i < vidsch->config.node_count; i++)
            vidsch_end_fault(vidsch, &vidsch->nodes[i]);
        for (unsigned i = 0; i < vidsch->config.node_count; i++)
            vidsch_end_preemption(vidsch, &vidsch->nodes[i]);
        /* A packet that went may have been refused, and then it is to retire. */
        for (unsigned i = 0; i < vidsch->config.node_count; i++) {
            if (submit_ready(vidsch, i))
                vidsch->run_again = true;
        }
        for (unsigned i = 0; i < vidsch->config.node_count; i++)
            vidsch_switch_contexts(vidsch, i);
    } while (vidsch->run_again);
    vidsch->is_running = false;
}

/* ---- Abort ---- */

void vidsch_take_queue(struct vidsch_context *context, struct list *taken)
{
    struct vidsch_packet *head = first_packet(&context->queue);
    struct list *at = taken->next;
    struct list *link;

    if (head)
        list_remove(&head->waiter);
    list_remove(&context->ready);
    while ((link = list_pop_front(&context->queue)) != NULL) {
        struct vidsch_packet *packet = list_entry(link, struct vidsch_packet, node);

        while (at != taken &&
               list_entry(at, struct vidsch_packet, node)->sequence < packet->sequence)
            at = at->next;
        list_insert_before(at, &packet->node);
    }
}

/* Collects every packet, each node's submitted ones first, then those that contexts have queued. */
static void collect_packets(struct vidsch *vidsch)
{
    struct list queued = LIST_INITIALIZER(queued);
    struct vidsch_context *context;

    for (unsigned i = 0; i < vidsch->config.node_count; i++) {
        struct node *node = &vidsch->nodes[i];

        list_splice(&vidsch->aborted, &node->submitted);
        list_splice(&vidsch->aborted, &node->resubmit);
        node->is_preempting = node->is_answered = node->is_preempted = false;
        node->watched = 0;
        node->in_flight = 0;
        node->reported_id = node->submitted_id;
        node->completed_id = node->submitted_id;
        node->faults.count = 0;
        node->goes_on = false;
    }
    vidsch_end_suspensions(vidsch, true);
    list_for_each (context, &vidsch->contexts, struct vidsch_context, link)
        vidsch_take_queue(context, &queued);
    list_splice(&vidsch->aborted, &queued);
}

void vidsch_abort(struct vidsch *vidsch, NTSTATUS status)
{
    struct vidsch_packet *packet;
    bool was_running = vidsch->is_running;

    ASSERT(!vidsch->is_submitting);

    /* Packets that the retired functions submit are new: not dropped, they go afterwards. */
    vidsch->is_running = true;
    collect_packets(vidsch);
    while ((packet = first_packet(&vidsch->aborted)) != NULL)
        vidsch_retire(vidsch, packet, packet->has_failed ? packet->failure : status);
    vidsch->is_running = was_running;
    vidsch_run(vidsch);
}

/* ---- Invariant walk ---- */

/* Returns the number of packets on the node. */
static uint64_t check_node(const struct vidsch *vidsch, unsigned node_index)
{
    const struct node *node = &vidsch->nodes[node_index];
    const struct vidsch_packet *packet;
    const struct vidsch_context *context;
    uint64_t packet_count = 0;
    unsigned in_flight = 0;
    uint32_t last_id = 0;

    list_for_each (packet, &node->submitted, struct vidsch_packet, node) {
        ASSERT(packet->context->node == node_index);
        ASSERT(!packet_count || is_after(packet->fence_id, last_id));
        ASSERT(is_after(node->next_id, packet->fence_id));
        last_id = packet->fence_id;
        in_flight += !packet->has_failed;
        packet_count++;
    }
    ASSERT(in_flight == node->in_flight);
    ASSERT(in_flight <= vidsch->config.hardware_queue_depth);
    ASSERT(!is_after(node->reported_id, node->submitted_id));
    ASSERT(!is_after(node->completed_id, node->reported_id));
    ASSERT(node->faults.count <= vidsch->config.hardware_queue_depth);

    for (unsigned i = 0; i < ARRAY_COUNT(node->ready); i++) {
        list_for_each (context, &node->ready[i], struct vidsch_context, ready) {
            ASSERT(context->node == node_index);
            ASSERT(context->is_paging == (i == 0));
            ASSERT(!list_is_empty(&context->queue));
        }
    }

    /* Nothing that could go is left behind, except while the loop is on its way to it. */
    ASSERT(vidsch->is_running || in_flight == node->most_in_flight || node->is_preempting ||
           node->is_off || vidsch->gate != VIDSCH_OPEN ||
           (list_is_empty(&node->ready[0]) && list_is_empty(&node->ready[1])));
    list_for_each (packet, &node->resubmit, struct vidsch_packet, node) {
        ASSERT(packet->is_paging && packet->context->node == node_index);
        packet_count++;
    }
    (void)last_id;
    return packet_count;
}

static uint64_t check_context(const struct vidsch *vidsch, const struct vidsch_context *context)
{
    const struct vidsch_packet *packet;
    uint64_t packet_count = 0;
    uint64_t last_sequence = context->retired_sequence;

    ASSERT(context->vidsch == vidsch);
    list_for_each (packet, &context->queue, struct vidsch_packet, node) {
        bool is_head = packet_count == 0;

        ASSERT(packet->context == context);
        ASSERT(packet->sequence > last_sequence);
        ASSERT(list_is_linked(&packet->waiter) ==
               (is_head && !context->holds && is_waiting(packet)));
        ASSERT(!is_head || context->holds ||
               list_is_linked(&context->ready) != list_is_linked(&packet->waiter));
        (void)is_head;
        last_sequence = packet->sequence;
        packet_count++;
    }
    ASSERT((packet_count && !context->holds) || !list_is_linked(&context->ready));
    ASSERT(last_sequence <= context->submitted_sequence);
    ASSERT(packet_count <= context->outstanding);
    return packet_count;
}

void vidsch_check(const struct vidsch *vidsch)
{
    const struct vidsch_context *context;
    uint64_t packet_count = list_count(&vidsch->aborted);
    uint64_t outstanding = 0;

    for (unsigned i = 0; i < vidsch->config.node_count; i++)
        packet_count += check_node(vidsch, i);
    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        packet_count += check_context(vidsch, context);
        outstanding += context->outstanding;
    }
    ASSERT(packet_count == vidsch->outstanding);
    ASSERT(outstanding == vidsch->outstanding);
    (void)packet_count;
    (void)outstanding;
}
