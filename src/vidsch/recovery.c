/*
 * vidsch: packets that do not end. Preemption, the watchdog, resets.
 *
 * A node that is asked to preempt gets nothing new until it has answered. Between the answer and
 * the next submission its list of submitted packets is taken apart:
 *
 *     completed          retired before, by vidsch_retire_completed()
 *     paging packets     to node.resubmit, in order, with their ids
 *     the others         to the head of their context's queue, in order
 *
 * A reset of the engine does the same with the packets behind the one that it aborted.
 */
#include "vidsch/vidsch_private.h"

#include <stdio.h>

/* A node that hangs is not asked to leave anything: the gate is closed for a reset at once. */
void vidsch_set_gate(struct vidsch *vidsch, enum vidsch_gate gate)
{
    const enum vidsch_gate was = vidsch->gate;

    vidsch->gate = gate;
    if (was == VIDSCH_OPEN && gate == VIDSCH_PAGING_ONLY)
        vidsch_keep_all_off(vidsch);
    else if (gate == VIDSCH_OPEN)
        vidsch_let_all_on(vidsch);
    vidsch_run(vidsch);
}

static bool has_left(const struct list *submitted)
{
    const struct vidsch_packet *packet;

    list_for_each (packet, submitted, struct vidsch_packet, node) {
        if (packet->context->first->suspension != SUSPENDED)
            return false;
    }
    return true;
}

bool vidsch_is_drained(const struct vidsch *vidsch)
{
    for (unsigned i = 0; i < vidsch->config.node_count; i++) {
        const struct node *node = &vidsch->nodes[i];

        if (!has_left(&node->submitted) || !list_is_empty(&node->resubmit) || node->is_preempting)
            return false;
    }
    return true;
}

void vidsch_cancel(struct vidsch_packet *packet, NTSTATUS status)
{
    packet->is_cancelled = true;
    packet->failure = status;
}

/* ---- Preemption ---- */

static void put_back(struct vidsch_packet *packet)
{
    struct vidsch_context *context = packet->context;
    struct vidsch_packet *head = first_packet(&context->queue);

    if (head)
        list_remove(&head->waiter);
    list_remove(&context->ready);
    list_remove(&packet->node);
    list_push_front(&context->queue, &packet->node);
    vidsch_place_context(context);
}

/* Packets that the driver let go of without running them, newest first. */
static void take_apart(const struct vidsch *vidsch, struct node *node)
{
    struct list *link = node->submitted.prev;

    while (link != &node->submitted) {
        struct vidsch_packet *packet = list_entry(link, struct vidsch_packet, node);

        link = link->prev;
        if (!packet->has_failed)
            node->in_flight--;
        else if (!packet->is_paging)
            continue; /* it is its turn as soon as it is the first */
        vidsch_tell(vidsch, VIDSCH_CAME_BACK, packet, STATUS_SUCCESS);
        packet->is_with_driver = false;
        if (packet->is_paging) {
            packet->is_resubmission = true;
            list_remove(&packet->node);
            list_push_front(&node->resubmit, &packet->node);
        } else {
            packet->is_resubmission = !packet->has_failed;
            put_back(packet);
        }
    }
}

void vidsch_end_preemption(struct vidsch *vidsch, struct node *node)
{
    if (!node->is_preempted)
        return;
    node->is_preempting = node->is_answered = node->is_preempted = false;
    node->watched = 0;
    take_apart(vidsch, node);
    vidsch->run_again = true;
}

bool vidsch_preempt(struct vidsch *vidsch, unsigned node_index)
{
    struct node *node = &vidsch->nodes[node_index];
    DXGKARG_PREEMPTCOMMAND args = {0};
    NTSTATUS status;

    ASSERT(node_index < vidsch->config.node_count);
    ASSERT(!vidsch->is_submitting);
    if (node->is_preempting || node->queue_count || node->is_off ||
        !miniport_has(vidsch->miniport, MINIPORT_DDI_PreemptCommand))
        return false;
    node->is_preempting = true;
    args.PreemptionFenceId = ++node->preemption_id;
    args.NodeOrdinal = node_index;
    status = miniport_preempt_command(vidsch->miniport, NULL, &args);
    if (NT_SUCCESS(status))
        return true;
    node->is_preempting = node->is_answered = false;
    vidsch->events->driver_error(vidsch->events->context, "FENCE-009",
                                 "PreemptCommand failed; only STATUS_SUCCESS is lawful");
    return false;
}

/* ---- The watchdog ---- */

/*
 * Asks the driver for its last completed id. True if that was news: an interrupt had got lost
 * (FENCE-006).
 */
static bool query_finds_progress(struct vidsch *vidsch, unsigned node_index)
{
    struct node *node = &vidsch->nodes[node_index];
    DXGKARG_QUERYCURRENTFENCE args = {0};
    uint32_t reported = node->reported_id;
    bool was_answered = node->is_answered;
    char text[128];

    if (node->queue_count) {
        uint64_t suspension = vidsch_oldest_suspension(vidsch, node_index);

        args.NodeOrdinal = node_index;
        if (suspension && miniport_has(vidsch->miniport, MINIPORT_DDI_QueryCurrentFence))
            miniport_query_current_fence(vidsch->miniport, NULL, &args);
        if (!vidsch_look_at_queues(vidsch, node_index) &&
            suspension == vidsch_oldest_suspension(vidsch, node_index))
            return false;
        vidsch_run(vidsch);
        return true;
    }
    if (!miniport_has(vidsch->miniport, MINIPORT_DDI_QueryCurrentFence))
        return false;
    args.NodeOrdinal = node_index;
    if (!NT_SUCCESS(miniport_query_current_fence(vidsch->miniport, NULL, &args)))
        return false;
    if (is_after(args.CurrentFence, node->reported_id) &&
        !is_after(args.CurrentFence, node->submitted_id)) {
        snprintf(text, sizeof text,
                 "QueryCurrentFence answered %" PRIu32 " on node %u without having reported it; "
                 "reported last: %" PRIu32,
                 args.CurrentFence, node_index, node->reported_id);
        vidsch->events->driver_error(vidsch->events->context, "FENCE-006", text);
    }
    return node->reported_id != reported || node->is_answered != was_answered;
}

void vidsch_query_fence(struct vidsch *vidsch, unsigned node)
{
    ASSERT(!vidsch->is_running);
    if (vidsch->gate != VIDSCH_CLOSED)
        query_finds_progress(vidsch, node);
}

void vidsch_node_fences(const struct vidsch *vidsch, unsigned node, ULONGLONG *out_submitted,
                        ULONGLONG *out_completed)
{
    *out_submitted = vidsch->nodes[node].submitted_id;
    *out_completed = vidsch->nodes[node].reported_id;
}

static uint64_t oldest_serial(const struct node *node)
{
    const struct vidsch_packet *packet;

    list_for_each (packet, &node->submitted, struct vidsch_packet, node) {
        if (!packet->has_failed && packet->context->first->suspension != SUSPENDED)
            return packet->serial;
    }
    return 0;
}

/* A suspension that is not acknowledged in time is a time-out of the engine. */
static bool suspension_is_late(const struct vidsch *vidsch, unsigned node_index, uint64_t now_ns)
{
    const uint64_t oldest = vidsch_oldest_suspension(vidsch, node_index);
    struct node *node = &vidsch->nodes[node_index];

    if (oldest != node->watched_suspension) {
        node->watched_suspension = oldest;
        node->suspension_since_ns = now_ns;
    }
    return oldest && now_ns - node->suspension_since_ns >= vidsch->config.timeout_ns;
}

static void watch_node(struct vidsch *vidsch, unsigned node_index, uint64_t now_ns)
{
    struct node *node = &vidsch->nodes[node_index];
    uint64_t serial = oldest_serial(node);
    bool is_late = suspension_is_late(vidsch, node_index, now_ns);
    uint64_t since_ns, suspension_since_ns;

    if (!node->is_preempting && serial != node->watched) {
        node->watched = serial;
        node->since_ns = now_ns;
    }
    is_late = is_late || ((serial || node->is_preempting) &&
                          now_ns - node->since_ns >= vidsch->config.timeout_ns);
    if (!is_late || node->is_answered || node->reported_id != node->completed_id)
        return;
    since_ns = node->since_ns;
    suspension_since_ns = node->suspension_since_ns;
    node->since_ns = node->suspension_since_ns = now_ns;
    if (query_finds_progress(vidsch, node_index))
        return;
    if (!node->is_preempting && vidsch_preempt(vidsch, node_index))
        return;
    if (!vidsch->events->timed_out(vidsch->events->context, node_index)) {
        node->since_ns = since_ns;
        node->suspension_since_ns = suspension_since_ns;
    }
}

static const char *explain_node(const struct vidsch *vidsch, unsigned node_index, char *text,
                                size_t size)
{
    const struct node *node = &vidsch->nodes[node_index];
    const struct vidsch_packet *packet;

    if (node->is_preempting && !node->is_answered) {
        snprintf(text, size, "preemption 0x%" PRIx32 " was asked for on node %u, and not answered",
                 node->preemption_id, node_index);
        return "FENCE-007";
    }
    if (node->reported_id != node->completed_id || (node->is_answered && !node->is_preempted)) {
        snprintf(text, size,
                 "fence 0x%" PRIx32 " of node %u was reported last, and no DPC called "
                 "DxgkCbNotifyDpc after it",
                 node->reported_id, node_index);
        return "FENCE-004";
    }
    if (vidsch_oldest_suspension(vidsch, node_index)) {
        snprintf(text, size,
                 "a context of node %u is to be suspended, and SUSPEND_CONTEXT_COMPLETED was not "
                 "reported",
                 node_index);
        return "HWQ-016";
    }
    list_for_each (packet, &node->submitted, struct vidsch_packet, node) {
        if (packet->has_failed || packet->context->first->suspension == SUSPENDED)
            continue;
        if (packet->progress_id) {
            snprintf(text, size,
                     "progress fence id 0x%" PRIx64
                     " was submitted to a hardware queue of node %u, "
                     "whose fence has 0x%" PRIx64,
                     packet->progress_id, node_index, *packet->context->progress);
            return "HWQ-006";
        }
        snprintf(text, size,
                 "fence 0x%" PRIx32 " of node %u, a %s, was submitted, and not reported complete",
                 packet->fence_id, node_index,
                 packet->is_paging ? "paging packet" : "packet of a client");
        return "FENCE-004";
    }
    return NULL;
}

const char *vidsch_explain_wait(const struct vidsch *vidsch, char *text, size_t size)
{
    const char *rule = NULL;

    for (unsigned i = 0; i < vidsch->config.node_count && !rule; i++)
        rule = explain_node(vidsch, i, text, size);
    return rule;
}

void vidsch_watch(struct vidsch *vidsch, uint64_t now_ns)
{
    ASSERT(!vidsch->is_running);
    for (unsigned i = 0; i < vidsch->config.node_count && vidsch->gate != VIDSCH_CLOSED; i++)
        watch_node(vidsch, i, now_ns);
}

/* ---- Resets ---- */

/* Reported ids count, whether their DPC has run or not. */
static void settle(struct vidsch *vidsch, struct node *node)
{
    node->completed_id = node->reported_id;
    node->faults.count = 0;
    node->is_preempting = node->is_answered = node->is_preempted = node->goes_on = false;
    node->watched = 0;
    vidsch_retire_completed(vidsch, node);
}

/* Retires the driver's packets up to an id. True if a paging packet was among them. */
static bool abort_through(struct vidsch *vidsch, struct node *node, uint32_t last_id,
                          NTSTATUS status)
{
    struct vidsch_packet *packet;
    bool hit_paging = false;

    node->reported_id = node->completed_id = last_id;
    while ((packet = first_packet(&node->submitted)) != NULL) {
        if (is_after(packet->fence_id, last_id))
            break;
        if (!packet->has_failed) {
            node->in_flight--;
            hit_paging |= packet->is_paging;
        }
        vidsch_retire(vidsch, packet, packet->has_failed ? packet->failure : status);
    }
    return hit_paging;
}

void vidsch_end_fault(struct vidsch *vidsch, struct node *node)
{
    struct vidsch_packet *packet;

    if (!node->goes_on)
        return;
    node->goes_on = false;
    packet = vidsch_find_submitted(node, node->faulted_id);
    if (!packet || !packet->progress_id) {
        abort_through(vidsch, node, node->faulted_id, STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE);
    } else if (!packet->has_failed) { /* other queues go on: it retires in its turn */
        node->in_flight--;
        packet->has_failed = true;
        packet->failure = STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE;
    }
    vidsch->run_again = true;
}

NTSTATUS vidsch_reset_engine(struct vidsch *vidsch, unsigned node_index, NTSTATUS status,
                             bool *out_hit_paging)
{
    struct node *node = &vidsch->nodes[node_index];
    DXGKARG_RESETENGINE args = {0};
    bool was_running = vidsch->is_running;
    char text[160];
    NTSTATUS reset;

    *out_hit_paging = false;
    if (node->queue_count || !miniport_has(vidsch->miniport, MINIPORT_DDI_ResetEngine))
        return STATUS_NOT_SUPPORTED;
    args.NodeOrdinal = node_index;
    reset = miniport_reset_engine(vidsch->miniport, NULL, &args);
    if (!NT_SUCCESS(reset))
        return reset;
    if (is_after(node->heard_id, args.LastAbortedFenceId) ||
        is_after(args.LastAbortedFenceId, node->submitted_id)) {
        snprintf(text, sizeof text,
                 "ResetEngine of node %u reported LastAbortedFenceId %" PRIu32
                 "; completed: %" PRIu32 ", last submitted: %" PRIu32,
                 node_index, args.LastAbortedFenceId, node->reported_id, node->submitted_id);
        vidsch->events->driver_error(vidsch->events->context, "TDR-007", text);
        return STATUS_INVALID_PARAMETER;
    }
    /* Packets that the retired functions submit go afterwards. */
    vidsch->is_running = true;
    settle(vidsch, node);
    node->heard_id = args.LastAbortedFenceId;
    if (is_after(args.LastAbortedFenceId, node->reported_id))
        *out_hit_paging = abort_through(vidsch, node, args.LastAbortedFenceId, status);
    take_apart(vidsch, node);
    vidsch->is_running = was_running;
    if (!*out_hit_paging) /* otherwise the adapter is reset first (TDR-009) */
        vidsch_run(vidsch);
    return STATUS_SUCCESS;
}

/* Paging packets that have not gone yet rely on lost content. In order, of all contexts. */
static void drop_paging_queues(struct vidsch *vidsch, NTSTATUS status)
{
    struct list dropped = LIST_INITIALIZER(dropped);
    struct vidsch_context *context;
    struct vidsch_packet *packet;

    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        if (context->is_paging)
            vidsch_take_queue(context, &dropped);
    }
    while ((packet = first_packet(&dropped)) != NULL)
        vidsch_retire(vidsch, packet, status);
}

void vidsch_reset_adapter(struct vidsch *vidsch, NTSTATUS status)
{
    bool was_running = vidsch->is_running;

    ASSERT(vidsch->gate == VIDSCH_CLOSED);
    vidsch->is_running = true;
    vidsch_end_suspensions(vidsch, false);
    for (unsigned i = 0; i < vidsch->config.node_count; i++) {
        struct node *node = &vidsch->nodes[i];

        settle(vidsch, node);
        node->has_list = false;
        /* Preempted paging packets that wait to go again are with the driver as much as others. */
        list_splice(&node->submitted, &node->resubmit);
        node->in_flight = (unsigned)list_count(&node->submitted);
        node->submitted_id = node->next_id - 1;
        abort_through(vidsch, node, node->submitted_id, status);
        ASSERT(list_is_empty(&node->submitted));
        node->in_flight = 0;
    }
    drop_paging_queues(vidsch, status);
    vidsch->is_running = was_running;
}
