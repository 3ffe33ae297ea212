/*
 * Preemption, and engines and adapters that do not come back: PreemptCommand, ResetEngine,
 * ResetFromTimeout, RestartFromTimeout and the questions of the kernel around them.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/own_memory.h"
#include "refkmd/registers.h"
#include "refkmd/work/components.h"
#include "refkmd/work/interrupt.h"
#include "refkmd/work/schedule.h"

#include <ntstatus.h>

/* A call about one node, on its way to device IRQL. */
struct node_call {
    struct refkmd_adapter *adapter;
    UINT ordinal;
    UINT fence; /* of a preemption, in; the last aborted one of a reset, out */
};

/* ---- Preemption ------------------------------------------------------------------------------ */

static BOOLEAN NTAPI preempt_at_device_irql(PVOID context)
{
    struct node_call *call = context;
    struct refkmd_adapter *adapter = call->adapter;
    struct refkmd_node *node = &adapter->nodes[call->ordinal];
    BOOLEAN is_reported;

    node->preemption_fence = call->fence;
    node->preemption_is_pending = TRUE;
    is_reported = refkmd_report_progress(adapter, call->ordinal, FALSE);
    if (refkmd_node_is_drained(node))
        is_reported |= refkmd_report_preemption(adapter, call->ordinal);
    else
        refkmd_write(adapter, SGPU_REG_NODE(call->ordinal) + SGPU_NODE_CONTROL,
                     SGPU_CONTROL_PREEMPT);
    if (is_reported) /* the interrupt of the progress may not come (FENCE-004) */
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return TRUE;
}

/*
 * The GPU ends the submission that it executes and drops those that are queued behind it; its
 * interrupt reports the preemption. With nothing under way there is nothing to interrupt about, and
 * the report is made at once (FENCE-008). Keeps FENCE-007, FENCE-009.
 */
NTSTATUS NTAPI RefKmdPreemptCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
    struct node_call call = {hAdapter, args->NodeOrdinal, args->PreemptionFenceId};

    refkmd_synchronize(call.adapter, preempt_at_device_irql, &call);
    return STATUS_SUCCESS;
}

/* ---- One engine ------------------------------------------------------------------------------ */

/*
 * All that the node had is dropped, and interrupts of the time before say nothing any more
 * (TDR-010). From then on the fence last_aborted counts as completed.
 */
static void reset_node(struct refkmd_adapter *adapter, UINT ordinal, UINT last_aborted)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    ULONG block = SGPU_REG_NODE(ordinal);

    if (refkmd_is_on(adapter, ordinal)) /* else it has nothing to drop */
        refkmd_write(adapter, block + SGPU_NODE_CONTROL, SGPU_CONTROL_RESET);
    refkmd_write(adapter, SGPU_REG_IRQ_STATUS,
                 SGPU_IRQ_COMPLETED(ordinal) | SGPU_IRQ_FAULTED(ordinal) | SGPU_IRQ_FENCE(ordinal) |
                     SGPU_IRQ_PREEMPTED(ordinal));
    node->last_completed_fence = last_aborted;
    refkmd_drop_submissions(node);
    refkmd_forget_parked(node);
    node->completed_register = refkmd_read(adapter, block + SGPU_NODE_COMPLETED);
    node->preemption_is_pending = FALSE;
}

/* The last SubmissionFenceId of the node: work of hardware queues has none. */
static UINT newest_fence(const struct refkmd_node *node)
{
    UINT i;

    for (i = node->newest; i != node->oldest; i--) {
        const struct refkmd_submission *submission = &node->submissions[(i - 1) % SGPU_QUEUE_SLOTS];

        if (!submission->queue)
            return submission->fence;
    }
    return node->last_completed_fence;
}

/*
 * Submissions that have completed by now are reported first; the oldest of the rest is the one that
 * ran.
 */
static BOOLEAN NTAPI reset_engine_at_device_irql(PVOID context)
{
    struct node_call *call = context;
    struct refkmd_adapter *adapter = call->adapter;
    const struct refkmd_node *node = &adapter->nodes[call->ordinal];

    if (refkmd_report_progress(adapter, call->ordinal, FALSE))
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    call->fence = refkmd_node_is_drained(node)
                      ? node->last_completed_fence
                      : node->submissions[node->oldest % SGPU_QUEUE_SLOTS].fence;
    reset_node(adapter, call->ordinal, call->fence);
    return TRUE;
}

/*
 * Done when it returns, with an empty queue and ready for work (TDR-007). The submission that ran
 * is the last one aborted; those behind it have not been touched, and the kernel submits them
 * again. If the queue ran empty before the reset, it is the last completed one (TDR-008).
 */
NTSTATUS NTAPI RefKmdResetEngine(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_RESETENGINE args)
{
    struct node_call call = {hAdapter, args->NodeOrdinal, 0};

    refkmd_synchronize(call.adapter, reset_engine_at_device_irql, &call);
    args->LastAbortedFenceId = call.fence;
    return STATUS_SUCCESS;
}

/* Nodes do not share anything that a reset would take from another (TDR-013). */
NTSTATUS NTAPI RefKmdQueryDependentEngineGroup(IN_CONST_HANDLE hAdapter,
                                               INOUT_DXGKARG_QUERYDEPENDENTENGINEGROUP args)
{
    UNREFERENCED_PARAMETER(hAdapter);
    args->DependentNodeOrdinalMask = 1ull << args->NodeOrdinal;
    return STATUS_SUCCESS;
}

/*
 * Never fails (TDR-013). A node that has work makes progress when more has ended than was looked at
 * last, by the interrupt or by a query for the fence: the kernel asks when that was long ago. One
 * that has stopped on a fault makes none (TDR-016).
 */
NTSTATUS NTAPI RefKmdQueryEngineStatus(IN_CONST_HANDLE hAdapter,
                                       INOUT_PDXGKARG_QUERYENGINESTATUS args)
{
    struct refkmd_adapter *adapter = hAdapter;
    const struct refkmd_node *node = &adapter->nodes[args->NodeOrdinal];
    ULONG block = SGPU_REG_NODE(args->NodeOrdinal);
    BOOLEAN makes_progress =
        refkmd_node_is_drained(node) ||
        refkmd_read(adapter, block + SGPU_NODE_COMPLETED) != node->completed_register;

    args->EngineStatus.Value = 0;
    args->EngineStatus.Responsive =
        makes_progress && refkmd_read(adapter, block + SGPU_NODE_FAULT_KIND) == SGPU_FAULT_NONE;
    return STATUS_SUCCESS;
}

/* ---- The whole adapter ----------------------------------------------------------------------- */

static BOOLEAN NTAPI reset_all_at_device_irql(PVOID context)
{
    struct refkmd_adapter *adapter = context;
    UINT i;

    refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, 0);
    for (i = 0; i < adapter->node_count; i++) {
        reset_node(adapter, i, newest_fence(&adapter->nodes[i]));
        adapter->nodes[i].device_resets++;
    }
    refkmd_write(adapter, SGPU_REG_RESET, SGPU_RESET_KEY);
    for (i = 0; i < adapter->node_count; i++) /* those that were off have kept theirs until now */
        adapter->nodes[i].completed_register =
            refkmd_read(adapter, SGPU_REG_NODE(i) + SGPU_NODE_COMPLETED);
    return TRUE;
}

/*
 * The GPU touches no memory and raises no interrupt from here on, until RestartFromTimeout
 * (TDR-001). The last fence submitted on each node counts as completed (TDR-006). Paging operations
 * of the clean-up in between are built like all others: building touches a buffer, not the GPU
 * (TDR-004).
 */
NTSTATUS NTAPI RefKmdResetFromTimeout(IN_CONST_HANDLE hAdapter)
{
    refkmd_synchronize(hAdapter, reset_all_at_device_irql, hAdapter);
    return STATUS_SUCCESS;
}

/* Keeps TDR-005. */
NTSTATUS NTAPI RefKmdRestartFromTimeout(IN_CONST_HANDLE hAdapter)
{
    struct refkmd_adapter *adapter = hAdapter;

    refkmd_write(adapter, SGPU_REG_IRQ_STATUS, MAXULONG);
    refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, refkmd_interrupt_mask(adapter));
    refkmd_complete_components(adapter, TRUE);
    refkmd_fill_own_memory(adapter); /* the reset has lost what was there */
    return STATUS_SUCCESS;
}

/* The first node that has not finished what it was given last; node_count: there is none. */
static UINT first_busy_node(const struct refkmd_adapter *adapter)
{
    UINT i;

    for (i = 0; i < adapter->node_count; i++) {
        if (refkmd_read(adapter, SGPU_REG_NODE(i) + SGPU_NODE_FREE) != SGPU_QUEUE_SLOTS)
            break;
    }
    return i;
}

/* Each node's registers, as far as there is room. */
static void write_registers(const struct refkmd_adapter *adapter, ULONG *out, SIZE_T bytes)
{
    SIZE_T room = bytes / sizeof *out;
    ULONG reg;
    UINT i;

    for (i = 0; i < adapter->node_count; i++) {
        for (reg = SGPU_NODE_ADDRESS; reg <= SGPU_NODE_QUEUED && room; reg += sizeof *out) {
            *out++ = refkmd_read(adapter, SGPU_REG_NODE(i) + reg);
            room--;
        }
    }
}

/*
 * A debug report gets the registers. Reports of the same node belong together: its number, from 1
 * on, is the key. The board does not say how far in a buffer it is, so CurrentDmaBufferOffset stays
 * as it is.
 */
NTSTATUS NTAPI RefKmdCollectDbgInfo(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_COLLECTDBGINFO args)
{
    const struct refkmd_adapter *adapter = hAdapter;

    write_registers(adapter, args->pBuffer, args->BufferSize);
    if (args->pExtension)
        args->pExtension->BucketingKey = first_busy_node(adapter) + 1;
    return STATUS_SUCCESS;
}

/*
 * The same where the system tells what has happened, so that the node need not be guessed. There
 * may be no payload, or a later system's with more behind it: its size is asked before it is read.
 * The board does not tell which context a node is in, so hContext stays NULL.
 */
NTSTATUS NTAPI RefKmdCollectDbgInfo2(IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_COLLECTDBGINFO2 args)
{
    const struct refkmd_adapter *adapter = hAdapter;
    const DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT *timeout = args->TdrPayload;
    UINT node;

    if (args->TdrType == DXGK_TDR_TYPE_ENGINE_TIMEOUT && timeout &&
        args->TdrPayloadSize >= sizeof *timeout)
        node = timeout->NodeOrdinal;
    else
        node = first_busy_node(adapter);
    write_registers(adapter, args->pBuffer, args->BufferSize);
    if (args->pExtension)
        args->pExtension->BucketingKey = node + 1;
    return STATUS_SUCCESS;
}
