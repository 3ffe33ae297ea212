/*
 * Interrupts: work that the GPU has done, reported to the kernel.
 *
 * The kernel may be told about completions at device IRQL only: from the interrupt routine, or from
 * a routine that DxgkCbSynchronizeExecution runs at that IRQL and never at the same time.
 * Everything here that reports is called from one of the two (FENCE-005).
 */
#include "refkmd/work/interrupt.h"

#include "refkmd/ddi.h"
#include "refkmd/memory/save_area.h"
#include "refkmd/registers.h"
#include "refkmd/traits.h"
#include "refkmd/work/components.h"
#include "refkmd/work/schedule.h"
#include "refkmd/work/scheduling_log.h"

#include <ntstatus.h>

ULONG refkmd_interrupt_mask(const struct refkmd_adapter *adapter)
{
    ULONG mask = 0;
    UINT i;

    for (i = 0; i < adapter->node_count; i++)
        mask |=
            SGPU_IRQ_COMPLETED(i) | SGPU_IRQ_FAULTED(i) | SGPU_IRQ_FENCE(i) | SGPU_IRQ_PREEMPTED(i);
    if (adapter->wants_syncs)
        mask |= SGPU_IRQ_SYNC;
    if (refkmd_has_slow_components(adapter))
        mask |= SGPU_IRQ_POWER;
    return mask;
}

static void notify(struct refkmd_adapter *adapter, DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    adapter->dxgkrnl.DxgkCbNotifyInterrupt(adapter->dxgkrnl.DeviceHandle, data);
}

/*
 * Remove submissions up to the one with this fence. FALSE, and none removed, if none has it. Those
 * of hardware queues have no such fence.
 */
static BOOLEAN retire_through(struct refkmd_node *node, UINT fence)
{
    UINT i;

    for (i = node->oldest; i != node->newest; i++) {
        const struct refkmd_submission *submission = &node->submissions[i % SGPU_QUEUE_SLOTS];

        if (submission->fence == fence && !submission->queue) {
            node->oldest = i + 1;
            return TRUE;
        }
    }
    return FALSE;
}

/* A fence in memory has got its value: threads that wait for one are to look again (NTF-009). */
static void report_fence_write(struct refkmd_adapter *adapter, UINT ordinal)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    if (adapter->model == REFKMD_PHYSICAL)
        return;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED;
    data.MonitoredFenceSignaled.NodeOrdinal = ordinal;
    notify(adapter, &data);
}

static BOOLEAN has_value(const struct refkmd_submission *submission)
{
    return *submission->progress_value >= submission->progress;
}

/*
 * Removes submissions to hardware queues that have ended: the node has written their values. The
 * kernel hears of it (HWQ-006). What else is under way there is reported by its fence, as
 * everywhere.
 */
static BOOLEAN report_queues(struct refkmd_adapter *adapter, UINT ordinal)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    UINT oldest = node->oldest;

    while (!refkmd_node_is_drained(node)) {
        const struct refkmd_submission *submission =
            &node->submissions[node->oldest % SGPU_QUEUE_SLOTS];

        if (!submission->queue || !has_value(submission))
            break;
        node->oldest++;
        if (submission->queue->context) /* else its queue has gone, and the end is in the log */
            refkmd_log_end(adapter, ordinal, submission->queue->context);
    }
    if (node->oldest == oldest)
        return FALSE;
    report_fence_write(adapter, ordinal);
    return TRUE;
}

struct leaving_queue {
    struct refkmd_adapter *adapter;
    const struct refkmd_hw_queue *queue;
};

static BOOLEAN NTAPI leave_queue(PVOID context)
{
    static const struct refkmd_hw_queue gone;
    static const volatile UINT64 nothing;
    const struct leaving_queue *leaving = context;
    const UINT ordinal = leaving->queue->context->node;
    struct refkmd_node *node = &leaving->adapter->nodes[ordinal];
    UINT i;

    report_queues(leaving->adapter, ordinal);
    for (i = node->oldest; i != node->newest; i++) {
        struct refkmd_submission *submission = &node->submissions[i % SGPU_QUEUE_SLOTS];

        if (submission->queue != leaving->queue)
            continue;
        submission->queue = &gone;
        submission->progress = 0;
        submission->progress_value = &nothing;
        refkmd_log_end(leaving->adapter, ordinal, leaving->queue->context);
    }
    refkmd_forget_queue(node, leaving->queue);
    return TRUE;
}

/*
 * The kernel knows the end of the queue's work by the values in memory (HWQ-011), and the interrupt
 * that tells of it may not have come, or be lost: what the ring has of the queue does not name it
 * any more.
 */
void refkmd_leave_queue(struct refkmd_adapter *adapter, const struct refkmd_hw_queue *queue)
{
    struct leaving_queue leaving;

    leaving.adapter = adapter;
    leaving.queue = queue;
    refkmd_synchronize(adapter, leave_queue, &leaving);
}

/*
 * The last completed fence stands for all before it, so several completions may be one report
 * (FENCE-002). Each id is reported once, and only if it was submitted. Keeps FENCE-004.
 */
BOOLEAN refkmd_report_progress(struct refkmd_adapter *adapter, UINT ordinal, BOOLEAN is_signalled)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    UINT completed = refkmd_read(adapter, SGPU_REG_NODE(ordinal) + SGPU_NODE_COMPLETED);
    BOOLEAN has_queue_news = adapter->has_queues && report_queues(adapter, ordinal);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    if (completed == node->completed_register && !is_signalled)
        return has_queue_news;
    node->completed_register = completed;
    if (!retire_through(node, completed))
        return has_queue_news;
    node->last_completed_fence = completed;

    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    data.DmaCompleted.SubmissionFenceId = completed;
    data.DmaCompleted.NodeOrdinal = ordinal;
    notify(adapter, &data);
    if (adapter->has_queues) /* what stood behind it */
        report_queues(adapter, ordinal);
    return TRUE;
}

/*
 * LastCompletedFenceId is the true one: submissions behind it never ran, and the kernel will submit
 * it again (FENCE-007).
 */
BOOLEAN refkmd_report_preemption(struct refkmd_adapter *adapter, UINT ordinal)
{
    struct refkmd_node *node = &adapter->nodes[ordinal];
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    if (!node->preemption_is_pending)
        return FALSE;
    node->preemption_is_pending = FALSE;
    refkmd_drop_submissions(node);

    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    data.DmaPreempted.PreemptionFenceId = node->preemption_fence;
    data.DmaPreempted.LastCompletedFenceId = node->last_completed_fence;
    data.DmaPreempted.NodeOrdinal = ordinal;
    notify(adapter, &data);
    return TRUE;
}

/* Which paging operations the submission with this fence holds; 0 if it is not under way. */
static UINT operations_of(const struct refkmd_node *node, UINT fence)
{
    UINT i;

    for (i = node->oldest; i != node->newest; i++) {
        const struct refkmd_submission *submission = &node->submissions[i % SGPU_QUEUE_SLOTS];

        if (submission->fence == fence)
            return submission->operations;
    }
    return 0;
}

/*
 * The node has stopped in a submission of a hardware queue: FALSE if it is of none. All in front of
 * it has ended, and is reported first.
 */
static BOOLEAN report_queue_fault(struct refkmd_adapter *adapter, UINT ordinal, UINT kind,
                                  UINT64 address)
{
    const struct refkmd_node *node = &adapter->nodes[ordinal];
    const struct refkmd_submission *submission;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    if (!adapter->has_queues)
        return FALSE;
    refkmd_report_progress(adapter, ordinal, FALSE);
    submission = &node->submissions[node->oldest % SGPU_QUEUE_SLOTS];
    if (refkmd_node_is_drained(node) || !submission->queue)
        return FALSE;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED;
    data.HwQueuePageFaulted.FaultedFenceId = submission->progress;
    data.HwQueuePageFaulted.FaultedVirtualAddress = address;
    data.HwQueuePageFaulted.FaultedHwQueue = submission->queue->handle;
    data.HwQueuePageFaulted.NodeOrdinal = ordinal;
    data.HwQueuePageFaulted.FaultedPipelineStage = DXGK_RENDER_PIPELINE_STAGE_UNKNOWN;
    data.HwQueuePageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
    if (kind == SGPU_FAULT_READ_ONLY)
        data.HwQueuePageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_WRITE;
    data.HwQueuePageFaulted.FaultErrorCode.GeneralErrorCode =
        kind == SGPU_FAULT_PACKET ? DXGK_GENERAL_ERROR_INVALID_INSTRUCTION
                                  : DXGK_GENERAL_ERROR_PAGE_FAULT;
    notify(adapter, &data);
    return TRUE;
}

/*
 * The node has stopped at a bad address or packet and needs a reset (RES-010, FENCE-010). There is
 * no such report before WDDM 2.0, and DMA_FAULTED is reserved: an older kernel finds out by its
 * timeout.
 */
static void report_fault(struct refkmd_adapter *adapter, UINT ordinal)
{
    ULONG block = SGPU_REG_NODE(ordinal);
    UINT fence = refkmd_read(adapter, block + SGPU_NODE_FAULT_FENCE);
    UINT kind = refkmd_read(adapter, block + SGPU_NODE_FAULT_KIND);
    UINT64 address = refkmd_read64(adapter, block + SGPU_NODE_FAULT_VA);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_WARNING_LEVEL,
               "refkmd: node %u stopped in fence %u (paging operations 0x%x) at 0x%I64x, kind %u\n",
               ordinal, fence, operations_of(&adapter->nodes[ordinal], fence), address, kind);
    if (adapter->model == REFKMD_PHYSICAL)
        return;

    if (report_queue_fault(adapter, ordinal, kind, address))
        return;
    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_PAGE_FAULTED;
    data.DmaPageFaulted.FaultedFenceId = fence;
    data.DmaPageFaulted.FaultedPipelineStage = DXGK_RENDER_PIPELINE_STAGE_UNKNOWN;
    data.DmaPageFaulted.PageFaultFlags = DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED;
    if (adapter->model == REFKMD_IO_MMU)
        data.DmaPageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_IOMMU;
    if (kind == SGPU_FAULT_READ_ONLY)
        data.DmaPageFaulted.PageFaultFlags |= DXGK_PAGE_FAULT_WRITE;
    data.DmaPageFaulted.FaultedVirtualAddress = address;
    data.DmaPageFaulted.NodeOrdinal = ordinal;
    data.DmaPageFaulted.FaultErrorCode.GeneralErrorCode =
        kind == SGPU_FAULT_PACKET ? DXGK_GENERAL_ERROR_INVALID_INSTRUCTION
                                  : DXGK_GENERAL_ERROR_PAGE_FAULT;
    notify(adapter, &data);
}

/* The surface before may go once the kernel knows that another one is scanned out (FENCE-022). */
static void report_sync(struct refkmd_adapter *adapter)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    RtlZeroMemory(&data, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC;
    data.CrtcVsync.VidPnTargetId = 0;
    data.CrtcVsync.PhysicalAddress.QuadPart =
        (LONGLONG)refkmd_read64(adapter, SGPU_REG_SCAN_CURRENT);
    notify(adapter, &data);
}

/*
 * Acknowledge first and look afterwards: an event in between raises the line again. A device
 * without power reads as all ones, and is not the one that calls. The DPC is queued before leaving
 * (FENCE-004).
 */
BOOLEAN NTAPI RefKmdInterruptRoutine(IN_CONST_PVOID MiniportDeviceContext, IN_ULONG MessageNumber)
{
    struct refkmd_adapter *adapter = MiniportDeviceContext;
    ULONG pending;
    UINT i;

    UNREFERENCED_PARAMETER(MessageNumber);
    pending = refkmd_read(adapter, SGPU_REG_IRQ_STATUS);
    if (pending == MAXULONG || !(pending & refkmd_interrupt_mask(adapter)))
        return FALSE;
    refkmd_write(adapter, SGPU_REG_IRQ_STATUS, pending);

    for (i = 0; i < adapter->node_count; i++) {
        if (pending & SGPU_IRQ_FENCE(i)) /* written before the submission that wrote it was done */
            report_fence_write(adapter, i);
        if (pending & SGPU_IRQ_COMPLETED(i))
            refkmd_report_progress(adapter, i, TRUE);
        if (pending & SGPU_IRQ_PREEMPTED(i)) {
            refkmd_report_progress(adapter, i, FALSE);
            refkmd_report_preemption(adapter, i);
            refkmd_yielded(adapter, i);
        }
        if (pending & SGPU_IRQ_FAULTED(i))
            report_fault(adapter, i);
    }
    if (adapter->wants_syncs && pending & SGPU_IRQ_SYNC) /* behind those of engines (FENCE-005) */
        report_sync(adapter);
    adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    return TRUE;
}

/* Keeps FENCE-004. */
VOID NTAPI RefKmdDpcRoutine(IN_CONST_PVOID MiniportDeviceContext)
{
    struct refkmd_adapter *adapter = MiniportDeviceContext;

    if (refkmd_has_slow_components(adapter))
        refkmd_complete_components(adapter, FALSE);
    adapter->dxgkrnl.DxgkCbNotifyDpc(adapter->dxgkrnl.DeviceHandle);
}

/* ---- DxgkDdiQueryCurrentFence ---------------------------------------------------------------- */

struct fence_query {
    struct refkmd_adapter *adapter;
    DXGKARG_QUERYCURRENTFENCE *args;
};

static BOOLEAN NTAPI query_fence_at_device_irql(PVOID context)
{
    struct fence_query *query = context;
    struct refkmd_adapter *adapter = query->adapter;
    UINT ordinal = query->args->NodeOrdinal;
    /* Looked at first: what ends behind this look is in the register of the progress. */
    BOOLEAN is_empty =
        refkmd_read(adapter, SGPU_REG_NODE(ordinal) + SGPU_NODE_FREE) == SGPU_QUEUE_SLOTS;
    BOOLEAN has_news = refkmd_report_progress(adapter, ordinal, FALSE);

    /*
     * A preemption is over when nothing is left on the node, whatever became of its interrupt. One
     * that is on its way must not be taken for that of the next preemption. The same holds for what
     * the driver itself has had the node let go of.
     */
    if (is_empty && adapter->nodes[ordinal].preemption_is_pending) {
        refkmd_write(adapter, SGPU_REG_IRQ_STATUS, SGPU_IRQ_PREEMPTED(ordinal));
        refkmd_report_preemption(adapter, ordinal);
        has_news = TRUE;
    }
    if (is_empty && adapter->nodes[ordinal].is_yielding) {
        refkmd_write(adapter, SGPU_REG_IRQ_STATUS, SGPU_IRQ_PREEMPTED(ordinal));
        refkmd_yielded(adapter, ordinal);
    }
    if (has_news)
        adapter->dxgkrnl.DxgkCbQueueDpc(adapter->dxgkrnl.DeviceHandle);
    query->args->CurrentFence = adapter->nodes[ordinal].last_completed_fence;
    return TRUE;
}

/*
 * Asked when an interrupt may have been lost: report the progress that it would have reported
 * (FENCE-006).
 */
NTSTATUS NTAPI RefKmdQueryCurrentFence(IN_CONST_HANDLE hAdapter,
                                       INOUT_PDXGKARG_QUERYCURRENTFENCE args)
{
    struct fence_query query = {hAdapter, args};

    refkmd_synchronize(query.adapter, query_fence_at_device_irql, &query);
    return STATUS_SUCCESS;
}
