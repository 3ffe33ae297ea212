/*
 * DxgkDdiSetSchedulingLogBuffer, and what is written to the buffer.
 */
#include "refkmd/work/scheduling_log.h"

#include "refkmd/ddi.h"
#include "refkmd/objects.h"
#include "refkmd/work/node.h"

#include <ntstatus.h>

/* The context whose submission is the i-th of the ring; NULL: it is of no hardware queue. */
static const struct refkmd_context *context_at(const struct refkmd_node *node, UINT i)
{
    const struct refkmd_hw_queue *queue = node->submissions[i % SGPU_QUEUE_SLOTS].queue;

    return queue ? queue->context : NULL;
}

static UINT submissions_of(const struct refkmd_node *node, const struct refkmd_context *context)
{
    UINT count = 0, i;

    for (i = node->oldest; i != node->newest; i++)
        count += context_at(node, i) == context;
    return count;
}

/*
 * Index and count of wraparounds are one word: who reads the log never sees one without the other.
 * The board has no clock: the processor's stands for it. The kernel is told of the entry that it
 * has asked for (FENCE-004 wants a DPC behind that).
 */
static void write_entry(struct refkmd_adapter *adapter, UINT ordinal,
                        const struct refkmd_context *context,
                        DXGK_SCHEDULING_LOG_CONTEXT_STATE state)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    DXGK_SCHEDULING_LOG_HEADER *header = &node->log->Header;
    UINT index = header->FirstFreeEntryIndex;
    DXGK_SCHEDULING_LOG_ENTRY *entry = &node->log->Entries[index];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    RtlZeroMemory(entry, sizeof *entry);
    entry->GpuTimeStamp = (UINT64)KeQueryPerformanceCounter(NULL).QuadPart;
    entry->OperationType = DXGK_SCHEDULING_LOG_OPERATION_CONTEXT_STATE_CHANGE;
    entry->ContextStateChange.hKmdContext = (HANDLE)context;
    entry->ContextStateChange.newContextState = state;
    if (index + 1 < node->log_entries) {
        header->FirstFreeEntryIndex = index + 1;
    } else {
        ULARGE_INTEGER next;

        next.LowPart = 0;
        next.HighPart = header->WraparoundCount + 1;
        *(volatile ULONGLONG *)&header->AtomicWraparoundAndEntryIndex.QuadPart = next.QuadPart;
    }
    if (index != node->log_interrupt_entry)
        return;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_SCHEDULING_LOG_INTERRUPT;
    data.SchedulingLogInterrupt.NodeOrdinal = ordinal;
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, &data);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
}

/* The node runs what is oldest. */
static void log_running(struct refkmd_adapter *adapter, UINT ordinal)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    const struct refkmd_context *context =
        refkmd_node_is_drained(node) ? NULL : context_at(node, node->oldest);

    if (context && context != node->log_running)
        write_entry(adapter, ordinal, context, DXGK_SCHEDULING_LOG_CONTEXT_STATE_RUNNING);
    node->log_running = context;
}

struct log_call {
    struct refkmd_adapter *adapter;
    UINT ordinal;
    const DXGKARG_SETSCHEDULINGLOGBUFFER *buffer;
};

void refkmd_log_submission(struct refkmd_adapter *adapter, UINT ordinal)
{
    const struct refkmd_node *node = &adapter->nodes[ordinal];
    const struct refkmd_context *newest = context_at(node, node->newest - 1);

    if (!node->log)
        return;
    if (submissions_of(node, newest) == 1 && newest != context_at(node, node->oldest))
        write_entry(adapter, ordinal, newest, DXGK_SCHEDULING_LOG_CONTEXT_STATE_READY);
    log_running(adapter, ordinal);
}

void refkmd_log_end(struct refkmd_adapter *adapter, UINT ordinal,
                    const struct refkmd_context *context)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];

    if (!node->log)
        return;
    if (!submissions_of(node, context))
        write_entry(adapter, ordinal, context, DXGK_SCHEDULING_LOG_CONTEXT_STATE_IDLE);
    log_running(adapter, ordinal);
}

/* Whatever comes behind this goes to the new buffer (HWQ-022). */
static BOOLEAN NTAPI set_at_device_irql(PVOID context)
{
    const struct log_call *call = context;
    struct refkmd_node *node = &call->adapter->nodes[call->ordinal];

    node->log = call->buffer->LogBufferCpuVa;
    node->log_entries = call->buffer->NumberOfEntries;
    node->log_interrupt_entry = call->buffer->InterruptEntry;
    return TRUE;
}

NTSTATUS NTAPI RefKmdSetSchedulingLogBuffer(IN_CONST_HANDLE hAdapter,
                                            IN_CONST_PDXGKARG_SETSCHEDULINGLOGBUFFER args)
{
    struct log_call call = {hAdapter, args->NodeOrdinal, args};

    if (args->NodeOrdinal >= call.adapter->node_count || args->EngineOrdinal ||
        !args->NumberOfEntries || !args->LogBufferCpuVa)
        return STATUS_INVALID_PARAMETER;
    refkmd_synchronize(call.adapter, set_at_device_irql, &call);
    return STATUS_SUCCESS;
}
