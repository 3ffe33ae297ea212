/*
 * Preemption, and engines and adapters that do not come back: PreemptCommand, ResetEngine,
 * ResetFromTimeout, RestartFromTimeout and what the kernel asks around them.
 */
#include "adapter.h"

#include <ntstatus.h>

/* A call about one node, on its way to device IRQL. */
struct node_call {
    struct refkmd_adapter *adapter;
    UINT ordinal;
    UINT fence; /* of a preemption, in; the last aborted one of a reset, out */
};

/* ---- Preemption --------------------------------------------------------------------------- */

static BOOLEAN NTAPI preempt_at_device_irql(PVOID context)
{
    struct node_call *call = context;
    struct refkmd_adapter *adapter = call->adapter;
    struct refkmd_node *node = &adapter->nodes[call->ordinal];

    node->preemption_fence = call->fence;
    node->preemption_is_pending = TRUE;
    if (refkmd_report_progress(adapter, call->ordinal, FALSE))
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return TRUE;
}

/*
 * What is in the node's queue runs to its end; then the preemption is reported, which is at once
 * if there is nothing (FENCE-008). Keeps FENCE-007, FENCE-009.
 */
NTSTATUS NTAPI RefKmdPreemptCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PREEMPTCOMMAND args)
{
    struct node_call call = {hAdapter, args->NodeOrdinal, args->PreemptionFenceId};

    refkmd_synchronize(call.adapter, preempt_at_device_irql, &call);
    return STATUS_SUCCESS;
}

/* ---- One engine --------------------------------------------------------------------------- */

/*
 * What has completed by now is reported, all else is dropped. From then on the last fence submitted
 * counts as completed, and interrupts of the time before say nothing (TDR-006, TDR-010).
 */
static void reset_node(struct refkmd_adapter *adapter, UINT ordinal)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    ULONG block = SGPU_REG_NODE(ordinal);

    refkmd_write(adapter, block + SGPU_NODE_CONTROL, SGPU_CONTROL_RESET);
    refkmd_write(adapter, SGPU_REG_IRQ_STATUS,
                 SGPU_IRQ_COMPLETED(ordinal) | SGPU_IRQ_FAULTED(ordinal) | SGPU_IRQ_FENCE(ordinal));
    if (!refkmd_node_is_drained(node))
        node->last_completed_fence = node->submissions[(node->newest - 1) % SGPU_QUEUE_SLOTS].fence;
    node->oldest = node->newest;
    node->completed_register = refkmd_read(adapter, block + SGPU_NODE_COMPLETED);
    node->preemption_is_pending = FALSE;
}

static BOOLEAN NTAPI reset_engine_at_device_irql(PVOID context)
{
    struct node_call *call = context;
    struct refkmd_adapter *adapter = call->adapter;

    if (refkmd_report_progress(adapter, call->ordinal, FALSE))
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    reset_node(adapter, call->ordinal);
    call->fence = adapter->nodes[call->ordinal].last_completed_fence;
    return TRUE;
}

/*
 * Done when it returns, with an empty queue and ready for work (TDR-007). If the queue ran empty
 * before the reset, the last aborted fence is the last completed one (TDR-008).
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

/* Never fails. A node that has stopped on a fault does not respond (TDR-013). */
NTSTATUS NTAPI RefKmdQueryEngineStatus(IN_CONST_HANDLE hAdapter,
                                       INOUT_PDXGKARG_QUERYENGINESTATUS args)
{
    struct refkmd_adapter *adapter = hAdapter;
    ULONG kind = refkmd_read(adapter, SGPU_REG_NODE(args->NodeOrdinal) + SGPU_NODE_FAULT_KIND);

    args->EngineStatus.Value = 0;
    args->EngineStatus.Responsive = kind == SGPU_FAULT_NONE;
    return STATUS_SUCCESS;
}

/* ---- The whole adapter -------------------------------------------------------------------- */

static BOOLEAN NTAPI reset_all_at_device_irql(PVOID context)
{
    struct refkmd_adapter *adapter = context;
    UINT i;

    refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, 0);
    for (i = 0; i < adapter->node_count; i++)
        reset_node(adapter, i);
    return TRUE;
}

/*
 * The GPU touches no memory and raises no interrupt from here on, until RestartFromTimeout
 * (TDR-001). Paging operations of the clean-up in between are built like all others: building
 * touches a buffer, not the GPU (TDR-004).
 */
NTSTATUS NTAPI RefKmdResetFromTimeout(IN_CONST_HANDLE hAdapter)
{
    refkmd_synchronize(hAdapter, reset_all_at_device_irql, hAdapter);
    return STATUS_SUCCESS;
}

/* Keeps TDR-005. */
NTSTATUS NTAPI RefKmdRestartFromTimeout(IN_CONST_HANDLE hAdapter)
{
    const struct refkmd_adapter *adapter = hAdapter;

    refkmd_write(adapter, SGPU_REG_IRQ_STATUS, MAXULONG);
    refkmd_write(adapter, SGPU_REG_IRQ_ENABLE, refkmd_interrupt_mask(adapter));
    return STATUS_SUCCESS;
}

/* What a crash dump gets: each node's registers, as far as there is room. */
NTSTATUS NTAPI RefKmdCollectDbgInfo(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_COLLECTDBGINFO args)
{
    const struct refkmd_adapter *adapter = hAdapter;
    ULONG *out = args->pBuffer;
    SIZE_T room = args->BufferSize / sizeof *out;
    ULONG reg;
    UINT i;

    for (i = 0; i < adapter->node_count; i++) {
        for (reg = SGPU_NODE_ADDRESS; reg <= SGPU_NODE_QUEUED && room; reg += sizeof *out) {
            *out++ = refkmd_read(adapter, SGPU_REG_NODE(i) + reg);
            room--;
        }
    }
    return STATUS_SUCCESS;
}
