/*
 * What the board may have of the work of hardware queues, and what waits with the driver.
 */
#include "refkmd/work/schedule.h"

#include "refkmd/objects.h"
#include "refkmd/registers.h"
#include "refkmd/work/doorbell.h"
#include "refkmd/work/node.h"

BOOLEAN refkmd_node_has_queues(const struct refkmd_adapter *adapter, UINT ordinal)
{
    return adapter->has_queues && ordinal == SGPU_NODE_RENDER;
}

/* ---- What is parked -------------------------------------------------------------------------- */

/* NULL: the submission went to no hardware queue, and no suspension or list is about it. */
const struct refkmd_context *
refkmd_context_of_submission(const struct refkmd_submission *submission)
{
    return submission->queue ? submission->queue->context : NULL;
}

BOOLEAN refkmd_is_listed(const struct refkmd_node *node, const struct refkmd_context *context)
{
    return !node->has_list || context == node->list[0] || context == node->list[1];
}

static BOOLEAN must_wait(const struct refkmd_node *node, const struct refkmd_submission *submission)
{
    const struct refkmd_context *context = refkmd_context_of_submission(submission);

    return node->is_yielding || node->is_stopped ||
           (context && (context->is_suspended || !refkmd_is_listed(node, context)));
}

static BOOLEAN has_ended(const struct refkmd_submission *submission)
{
    return submission->queue && *submission->progress_value >= submission->progress;
}

static void park(struct refkmd_node *node, const struct refkmd_submission *submission)
{
    if (node->parked_count < SGPU_QUEUE_SLOTS)
        node->parked[node->parked_count++] = *submission;
}

/* Of one context, or, where it is NULL, of all. Each keeps its order. */
static void hand_over_of(struct refkmd_adapter *adapter, UINT ordinal,
                         const struct refkmd_context *context)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    UINT count = node->parked_count, kept = 0, i;

    for (i = 0; i < count; i++) {
        const struct refkmd_submission submission = node->parked[i];

        if (must_wait(node, &submission) ||
            (context && context != refkmd_context_of_submission(&submission)))
            node->parked[kept++] = submission;
        else
            refkmd_ring_doorbell(adapter, ordinal, &submission);
    }
    node->parked_count = kept;
}

void refkmd_hand_over_parked(struct refkmd_adapter *adapter, UINT ordinal)
{
    const struct refkmd_node *node = &adapter->nodes[ordinal];

    if (node->has_list && node->list[0])
        hand_over_of(adapter, ordinal, node->list[0]);
    hand_over_of(adapter, ordinal, NULL);
}

/* What the node has let go of came before all that is parked. Work of the one context is lost. */
void refkmd_park_ring(struct refkmd_node *node, const struct refkmd_context *lost)
{
    UINT count = node->newest - node->oldest, kept = 0, i;

    for (i = 0; i < count; i++)
        node->parked[node->parked_count + i] =
            node->submissions[(node->oldest + i) % SGPU_QUEUE_SLOTS];
    refkmd_drop_submissions(node);
    /* The parked ones stand in front: turn them round, by as many as there are. */
    for (i = 0; i < node->parked_count; i++) {
        const struct refkmd_submission first = node->parked[0];

        RtlMoveMemory(node->parked, node->parked + 1,
                      (node->parked_count + count - 1) * sizeof node->parked[0]);
        node->parked[node->parked_count + count - 1] = first;
    }
    for (i = 0; i < node->parked_count + count; i++) {
        const struct refkmd_context *context = refkmd_context_of_submission(&node->parked[i]);

        if (!has_ended(&node->parked[i]) && (!lost || context != lost))
            node->parked[kept++] = node->parked[i];
    }
    node->parked_count = kept;
}

void refkmd_yield(struct refkmd_adapter *adapter, UINT ordinal)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];

    if (node->is_yielding)
        return;
    node->is_yielding = TRUE;
    refkmd_write(adapter, SGPU_REG_NODE(ordinal) + SGPU_NODE_CONTROL, SGPU_CONTROL_PREEMPT);
}

/* Something of another context than the first one is in front of what that is about to get. */
static BOOLEAN stands_behind_others(const struct refkmd_node *node,
                                    const struct refkmd_context *context)
{
    UINT i;

    for (i = node->oldest; node->has_list && context == node->list[0] && i != node->newest; i++) {
        const struct refkmd_context *other =
            refkmd_context_of_submission(&node->submissions[i % SGPU_QUEUE_SLOTS]);

        if (other && other != context)
            return TRUE;
    }
    return FALSE;
}

struct schedule_call {
    struct refkmd_adapter *adapter;
    UINT ordinal;
    const struct refkmd_submission *submission;
};

static BOOLEAN NTAPI schedule_at_device_irql(PVOID context)
{
    const struct schedule_call *call = context;
    struct refkmd_node *node = &call->adapter->nodes[call->ordinal];

    if (!must_wait(node, call->submission) &&
        !stands_behind_others(node, refkmd_context_of_submission(call->submission))) {
        refkmd_ring_doorbell(call->adapter, call->ordinal, call->submission);
        return TRUE;
    }
    if (!must_wait(node, call->submission))
        refkmd_yield(call->adapter, call->ordinal);
    park(node, call->submission);
    return TRUE;
}

void refkmd_schedule(struct refkmd_adapter *adapter, UINT ordinal,
                     const struct refkmd_submission *submission)
{
    struct schedule_call call = {adapter, ordinal, submission};

    refkmd_synchronize(adapter, schedule_at_device_irql, &call);
}

/* ---- Suspension ------------------------------------------------------------------------------ */

void refkmd_report_suspension(struct refkmd_adapter *adapter, struct refkmd_context *context)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    context->is_leaving = FALSE;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED;
    data.SuspendContextCompleted.hContext = context->handle;
    data.SuspendContextCompleted.ContextSuspendFence = context->suspend_fence;
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, &data);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
}

/* The node has nothing of these contexts (HWQ-016, HWQ-018). */
void refkmd_report_suspensions(struct refkmd_adapter *adapter, UINT ordinal)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];

    while (node->leaving) {
        struct refkmd_context *context = node->leaving;

        node->leaving = context->next_leaving;
        refkmd_report_suspension(adapter, context);
    }
}

void refkmd_forget_leaving(struct refkmd_node *node, struct refkmd_context *context)
{
    struct refkmd_context **at = &node->leaving;

    while (*at && *at != context)
        at = &(*at)->next_leaving;
    if (*at)
        *at = context->next_leaving;
    context->is_leaving = FALSE;
}

void refkmd_yielded(struct refkmd_adapter *adapter, UINT ordinal)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];

    if (!node->is_yielding)
        return;
    node->is_yielding = FALSE;
    refkmd_park_ring(node, NULL);
    refkmd_hand_over_parked(adapter, ordinal);
    refkmd_report_suspensions(adapter, ordinal);
}

static BOOLEAN NTAPI wake_at_device_irql(PVOID context)
{
    struct refkmd_adapter *adapter = context;
    UINT i;

    for (i = 0; i < adapter->node_count; i++) {
        if (!adapter->nodes[i].is_yielding)
            continue;
        refkmd_write(adapter, SGPU_REG_IRQ_STATUS, SGPU_IRQ_PREEMPTED(i));
        refkmd_yielded(adapter, i);
    }
    return TRUE;
}

/* A node that was to yield when its power went has done so, and does not tell any more. */
void refkmd_wake_nodes(struct refkmd_adapter *adapter)
{
    if (adapter->has_queues)
        refkmd_synchronize(adapter, wake_at_device_irql, adapter);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

void refkmd_forget_parked(struct refkmd_node *node)
{
    node->parked_count = 0;
    node->is_yielding = node->is_stopped = FALSE;
    while (node->leaving)
        refkmd_forget_leaving(node, node->leaving);
}

void refkmd_forget_queue(struct refkmd_node *node, const struct refkmd_hw_queue *queue)
{
    UINT kept = 0, i;

    for (i = 0; i < node->parked_count; i++) {
        if (node->parked[i].queue != queue)
            node->parked[kept++] = node->parked[i];
    }
    node->parked_count = kept;
}

static BOOLEAN NTAPI leave_context(PVOID call_context)
{
    struct refkmd_context *context = call_context;
    struct refkmd_node *node = &context->device->adapter->nodes[context->node];
    UINT i;

    refkmd_forget_leaving(node, context);
    for (i = 0; i < 2; i++) {
        if (node->list[i] == context)
            node->list[i] = NULL;
    }
    return TRUE;
}

void refkmd_leave_context(struct refkmd_context *context)
{
    struct refkmd_adapter *adapter = context->device->adapter;

    if (refkmd_node_has_queues(adapter, context->node))
        refkmd_synchronize(adapter, leave_context, context);
}
