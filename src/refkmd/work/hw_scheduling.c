/*
 * DxgkDdiSuspendContext, DxgkDdiResumeContext, DxgkDdiSwitchToHwContextList, DxgkDdiResetHwEngine
 * and DxgkDdiResumeHwEngine.
 */
#include "refkmd/ddi.h"
#include "refkmd/objects.h"
#include "refkmd/registers.h"
#include "refkmd/work/interrupt.h"
#include "refkmd/work/schedule.h"

#include <ntstatus.h>

/* ---- Suspension ------------------------------------------------------------------------------ */

struct context_call {
    struct refkmd_adapter *adapter;
    struct refkmd_context *context;
    UINT64 fence;
    NTSTATUS status;
};

static BOOLEAN is_in_ring(const struct refkmd_node *node, const struct refkmd_context *context)
{
    UINT i;

    for (i = node->oldest; i != node->newest; i++) {
        if (refkmd_context_of_submission(&node->submissions[i % SGPU_QUEUE_SLOTS]) == context)
            return TRUE;
    }
    return FALSE;
}

static BOOLEAN NTAPI suspend_at_device_irql(PVOID call_context)
{
    struct context_call *call = call_context;
    struct refkmd_context *context = call->context;
    struct refkmd_adapter *adapter = call->adapter;
    struct refkmd_node *node = &adapter->nodes[context->node];

    if (refkmd_report_progress(adapter, context->node, FALSE))
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    if (context->is_suspended && !context->is_leaving) {
        call->status = STATUS_SUCCESS;
        return TRUE;
    }
    call->status = STATUS_PENDING;
    context->is_suspended = TRUE;
    context->suspend_fence = call->fence;
    if (!is_in_ring(node, context)) {
        refkmd_forget_leaving(node, context);
        refkmd_report_suspension(adapter, context);
        return TRUE;
    }
    if (!context->is_leaving) {
        context->is_leaving = TRUE;
        context->next_leaving = node->leaving;
        node->leaving = context;
    }
    refkmd_yield(adapter, context->node);
    return TRUE;
}

/*
 * The node is preempted: what it runs ends, and what it has of the context stays with the driver
 * until the context is resumed. Its tables and its save area may be elsewhere by then. A context
 * that the node is not in is suspended at once; one that is suspended stays so.
 */
NTSTATUS NTAPI RefKmdSuspendContext(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUSPENDCONTEXT args)
{
    struct context_call call = {hAdapter, refkmd_context_of(args->hContext),
                                args->contextSuspendFence, STATUS_PENDING};

    if (!call.context || !refkmd_node_has_queues(call.adapter, call.context->node))
        return STATUS_INVALID_PARAMETER;
    refkmd_synchronize(call.adapter, suspend_at_device_irql, &call);
    return call.status;
}

static BOOLEAN NTAPI resume_at_device_irql(PVOID call_context)
{
    struct context_call *call = call_context;
    struct refkmd_context *context = call->context;

    context->is_suspended = FALSE;
    refkmd_forget_leaving(&call->adapter->nodes[context->node], context);
    refkmd_hand_over_parked(call->adapter, context->node);
    return TRUE;
}

/* A suspension that is not over is none any more, and nobody waits for its end. */
NTSTATUS NTAPI RefKmdResumeContext(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_RESUMECONTEXT args)
{
    struct context_call call = {hAdapter, refkmd_context_of(args->hContext), 0, STATUS_SUCCESS};

    if (!call.context || !refkmd_node_has_queues(call.adapter, call.context->node))
        return STATUS_INVALID_PARAMETER;
    refkmd_synchronize(call.adapter, resume_at_device_irql, &call);
    return STATUS_SUCCESS;
}

/* ---- Lists of contexts ----------------------------------------------------------------------- */

struct list_call {
    struct refkmd_adapter *adapter;
    UINT ordinal;
    const struct refkmd_context *first, *second;
};

static BOOLEAN has_parked(const struct refkmd_node *node, const struct refkmd_context *context)
{
    UINT i;

    for (i = 0; i < node->parked_count; i++) {
        if (context && refkmd_context_of_submission(&node->parked[i]) == context)
            return TRUE;
    }
    return FALSE;
}

/*
 * What the node has is what it is to run, in that order, and what is handed over now comes behind
 * it. The submission that it runs ends in any case.
 */
static BOOLEAN ring_follows_list(const struct refkmd_node *node)
{
    const BOOLEAN is_first_parked = has_parked(node, node->list[0]);
    BOOLEAN is_behind_second = FALSE;
    UINT i;

    for (i = node->oldest; i != node->newest; i++) {
        const struct refkmd_context *context =
            refkmd_context_of_submission(&node->submissions[i % SGPU_QUEUE_SLOTS]);

        if (!context)
            continue;
        if (!refkmd_is_listed(node, context) || (is_behind_second && context == node->list[0]) ||
            (is_first_parked && context != node->list[0] && i != node->oldest))
            return FALSE;
        is_behind_second = is_behind_second || context != node->list[0];
    }
    return TRUE;
}

static BOOLEAN NTAPI switch_at_device_irql(PVOID context)
{
    const struct list_call *call = context;
    struct refkmd_node *node = &call->adapter->nodes[call->ordinal];

    if (refkmd_report_progress(call->adapter, call->ordinal, FALSE))
        call->adapter->dxgkrnl.DxgkCbQueueDpc(call->adapter->dxgkrnl.DeviceHandle);
    node->has_list = TRUE;
    node->list[0] = call->first;
    node->list[1] = call->second;
    if (ring_follows_list(node))
        refkmd_hand_over_parked(call->adapter, call->ordinal);
    else
        refkmd_yield(call->adapter, call->ordinal);
    return TRUE;
}

/*
 * The board looks at nothing but the order of what it has: the first context's work is handed over
 * in front of the second one's, and nobody else's is (HWQ-023).
 */
NTSTATUS NTAPI RefKmdSwitchToHwContextList(IN_CONST_HANDLE hAdapter,
                                           IN_CONST_PDXGKARG_SWITCHTOHWCONTEXTLIST args)
{
    struct list_call call = {hAdapter, args->NodeOrdinal, refkmd_context_of(args->hHwContextFirst),
                             refkmd_context_of(args->hHwContextSecond)};

    if (!refkmd_node_has_queues(call.adapter, args->NodeOrdinal) || args->EngineOrdinal)
        return STATUS_INVALID_PARAMETER;
    refkmd_synchronize(call.adapter, switch_at_device_irql, &call);
    return STATUS_SUCCESS;
}

/* ---- One engine ------------------------------------------------------------------------------ */

struct engine_call {
    struct refkmd_adapter *adapter;
    UINT ordinal;
    const struct refkmd_context *cause; /* the one whose submission the node ran; NULL: none */
};

static BOOLEAN NTAPI reset_engine_at_device_irql(PVOID context)
{
    struct engine_call *call = context;
    struct refkmd_adapter *adapter = call->adapter;
    struct refkmd_node *node = &adapter->nodes[call->ordinal];
    ULONG block = SGPU_REG_NODE(call->ordinal);

    if (refkmd_report_progress(adapter, call->ordinal, FALSE))
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    if (!refkmd_node_is_drained(node))
        call->cause =
            refkmd_context_of_submission(&node->submissions[node->oldest % SGPU_QUEUE_SLOTS]);
    refkmd_write(adapter, block + SGPU_NODE_CONTROL, SGPU_CONTROL_RESET);
    refkmd_write(adapter, SGPU_REG_IRQ_STATUS,
                 SGPU_IRQ_COMPLETED(call->ordinal) | SGPU_IRQ_FAULTED(call->ordinal) |
                     SGPU_IRQ_FENCE(call->ordinal) | SGPU_IRQ_PREEMPTED(call->ordinal));
    node->completed_register = refkmd_read(adapter, block + SGPU_NODE_COMPLETED);
    node->is_yielding = FALSE;
    node->is_stopped = TRUE;
    refkmd_park_ring(node, call->cause);
    return TRUE;
}

/*
 * One submission runs at a time, so that one context is hit, and it is the cause (HWQ-019): the
 * kernel takes back what the driver has of it. All others' work stays parked until the engine is
 * resumed.
 */
NTSTATUS NTAPI RefKmdResetHwEngine(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_RESETHWENGINE args)
{
    struct engine_call call = {hAdapter, args->NodeOrdinal, NULL};
    DXGKARGCB_INVALIDATEHWCONTEXT invalid;

    if (!refkmd_node_has_queues(call.adapter, args->NodeOrdinal) || args->EngineOrdinal)
        return STATUS_INVALID_PARAMETER;
    refkmd_synchronize(call.adapter, reset_engine_at_device_irql, &call);
    if (!call.cause)
        return STATUS_SUCCESS;
    RtlZeroMemory(&invalid, sizeof invalid);
    invalid.hAdapter = call.adapter->dxgkrnl.DeviceHandle;
    invalid.hHwContext = call.cause->handle;
    call.adapter->dxgkrnl.DxgkCbInvalidateHwContext(&invalid);
    return STATUS_SUCCESS;
}

static BOOLEAN NTAPI resume_engine_at_device_irql(PVOID context)
{
    const struct engine_call *call = context;

    call->adapter->nodes[call->ordinal].is_stopped = FALSE;
    refkmd_hand_over_parked(call->adapter, call->ordinal);
    refkmd_report_suspensions(call->adapter, call->ordinal);
    return TRUE;
}

NTSTATUS NTAPI RefKmdResumeHwEngine(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_RESUMEHWENGINE args)
{
    struct engine_call call = {hAdapter, args->NodeOrdinal, NULL};

    if (!refkmd_node_has_queues(call.adapter, args->NodeOrdinal) || args->EngineOrdinal)
        return STATUS_INVALID_PARAMETER;
    refkmd_synchronize(call.adapter, resume_engine_at_device_irql, &call);
    return STATUS_SUCCESS;
}
