/*
 * DxgkDdiSubmitCommand, DxgkDdiSubmitCommandVirtual and DxgkDdiSubmitCommandToHwQueue: hand a piece
 * of a buffer to a node.
 *
 * They run at DISPATCH_LEVEL, never two at a time on an adapter, and may not fail. The node runs
 * its queue in order and reports the fence by itself when everything before it is visible
 * (FENCE-003).
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/save_area.h"
#include "refkmd/paging/paging_record.h"
#include "refkmd/registers.h"
#include "refkmd/work/scheduling_log.h"

#include <ntstatus.h>

/* One submission, in the terms of the node's registers. */
struct submission {
    UINT node;
    UINT64 address;
    UINT64 root;
    UINT bytes;
    UINT fence;
    UINT operations;                    /* paging operations in it */
    ULONG doorbell;                     /* SGPU_SUBMIT_* */
    struct refkmd_save_area *save_area; /* NULL: none */
    UINT64 save_runs;
    const struct refkmd_hw_queue *queue; /* NULL: none */
    UINT64 progress_va, progress;
    const volatile UINT64 *progress_value;
};

/*
 * The kernel keeps no more submissions under way than a node has slots: StartDevice refuses a
 * kernel that wants more. One too many would be lost, found by the timeout, and is said.
 */
static void ring_doorbell(struct refkmd_adapter *adapter, const struct submission *submission)
{
    struct refkmd_node *node = &adapter->nodes[submission->node];
    struct refkmd_submission *slot = &node->submissions[node->newest % SGPU_QUEUE_SLOTS];
    ULONG block = SGPU_REG_NODE(submission->node);

    if (node->newest - node->oldest >= SGPU_QUEUE_SLOTS) {
        DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL,
                   "refkmd: node %u has no slot for fence %u\n", submission->node,
                   submission->fence);
        return;
    }
    slot->fence = submission->fence;
    slot->operations = submission->operations;
    slot->queue = submission->queue;
    slot->progress = submission->progress;
    slot->progress_value = submission->progress_value;
    slot->save_area = submission->save_runs == SGPU_SAVE_RUNS_ANY ? NULL : submission->save_area;
    node->newest++; /* before the doorbell: the interrupt may come at once */
    if (submission->queue)
        refkmd_log_submission(adapter, submission->node);

    refkmd_write64(adapter, block + SGPU_NODE_ADDRESS, submission->address);
    refkmd_write64(adapter, block + SGPU_NODE_ROOT, submission->root);
    refkmd_write(adapter, block + SGPU_NODE_SIZE, submission->bytes);
    refkmd_write(adapter, block + SGPU_NODE_FENCE, submission->fence);
    if (submission->queue) {
        refkmd_write64(adapter, block + SGPU_NODE_PROGRESS_VA, submission->progress_va);
        refkmd_write64(adapter, block + SGPU_NODE_PROGRESS, submission->progress);
    }
    if (submission->save_area) {
        refkmd_write64(adapter, block + SGPU_NODE_SAVE_AREA,
                       refkmd_save_area_address(submission->save_area));
        refkmd_write64(adapter, block + SGPU_NODE_SAVE_RUNS, submission->save_runs);
        refkmd_write(adapter, block + SGPU_NODE_SAVE_BYTES,
                     (ULONG)submission->save_area->allocation.bytes);
    }
    refkmd_write(adapter, block + SGPU_NODE_DOORBELL, submission->doorbell);
}

/*
 * Which operations a paging submission holds, from the records in its part of the private data.
 * There may be no private data at all (SUB-007).
 */
static UINT paging_operations(const void *private_data, UINT bytes)
{
    const struct paging_record *record = private_data;
    UINT operations = 0;

    for (; record && bytes >= sizeof *record; record++, bytes -= sizeof *record)
        operations |= record->operation < 32 ? 1u << record->operation : 0;
    return operations;
}

/*
 * The kernel keeps the area resident while the context has work (CTX-003). The GPU checks that the
 * area says as many runs as there were, which proves that no move has lost any. Submissions that a
 * preemption or a reset of the node drops have not run, and are not counted
 * (refkmd_drop_submissions()); a reset of the device takes the content of local memory, and the
 * count is given up until there is a new image.
 */
static void run_in_save_area(const struct refkmd_context *context, struct submission *submission)
{
    struct refkmd_save_area *area = context->save_area;
    UINT device_resets = context->device->adapter->nodes[context->node].device_resets;

    if (area->device_resets != device_resets)
        area->has_lost_count = TRUE;
    area->device_resets = device_resets;
    submission->save_area = area;
    submission->save_runs = area->has_lost_count ? SGPU_SAVE_RUNS_ANY : area->runs++;
    submission->doorbell |= SGPU_SUBMIT_SAVE;
    if (area->va)
        submission->doorbell |= SGPU_SUBMIT_SAVE_VIRTUAL;
}

/*
 * Keeps SUB-001..SUB-007 and PATCH-010: exactly the bytes between the two offsets run, counted from
 * the start of the buffer; a paging submission may come without a context and then names its node;
 * an empty one, or one of NullRendering, still completes its fence.
 */
NTSTATUS NTAPI RefKmdSubmitCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
    struct refkmd_adapter *adapter = hAdapter;
    const struct refkmd_context *context = refkmd_context_of(args->hContext);
    UINT start = args->DmaBufferSubmissionStartOffset;
    struct submission submission = {
        .node = context ? context->node : args->NodeOrdinal,
        .bytes = args->DmaBufferSubmissionEndOffset - start,
        .fence = args->SubmissionFenceId,
    };

    if (context && context->is_virtual) {
        submission.address = args->DmaBufferVirtualAddress + start;
        submission.root = context->root;
        submission.doorbell |= SGPU_SUBMIT_VIRTUAL;
    } else {
        submission.address = (UINT64)args->DmaBufferPhysicalAddress.QuadPart + start;
        if (args->DmaBufferSegmentId == REFKMD_SEGMENT_SYSTEM)
            submission.address |= SGPU_PA_SYSTEM;
    }
    if (args->Flags.NullRendering)
        submission.bytes = 0;
    if (!submission.bytes)
        submission.doorbell |= SGPU_SUBMIT_FENCE_ONLY;
    else if (context && context->save_area)
        run_in_save_area(context, &submission);
    if (args->Flags.Paging && args->pDmaBufferPrivateData) {
        UINT records_start = args->DmaBufferPrivateDataSubmissionStartOffset;
        UINT records_end = args->DmaBufferPrivateDataSubmissionEndOffset;

        submission.operations =
            paging_operations((UCHAR *)args->pDmaBufferPrivateData + records_start,
                              records_end > records_start ? records_end - records_start : 0);
    }
    ring_doorbell(adapter, &submission);
    return STATUS_SUCCESS;
}

/*
 * A paging buffer without a virtual address is fetched by its physical one, which the first record
 * of the submission has; its commands name virtual addresses all the same.
 */
static void fetch_by_record(IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args,
                            struct submission *submission)
{
    const struct paging_record *first = args->pDmaBufferPrivateData;

    if (!first || args->DmaBufferPrivateDataSize < sizeof *first || !first->address)
        return;
    submission->address = first->address | SGPU_PA_SYSTEM;
    submission->doorbell |= SGPU_SUBMIT_FETCH_PHYSICAL;
}

/*
 * The root of the context's address space goes with each submission (SUB-011), a resubmitted one
 * too (SUB-010). A buffer that cannot start where user mode says, or a context without an address
 * space, is STATUS_INVALID_PARAMETER; its fence completes in its turn, with nothing run (SUB-012).
 */
NTSTATUS NTAPI RefKmdSubmitCommandVirtual(IN_CONST_HANDLE hAdapter,
                                          IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args)
{
    struct refkmd_adapter *adapter = hAdapter;
    const struct refkmd_context *context = args->hContext;
    BOOLEAN is_valid =
        context && context->has_root && args->DmaBufferVirtualAddress % SGPU_SUBMIT_ALIGN == 0;
    struct submission submission = {
        .node = context ? context->node : args->NodeOrdinal,
        .address = args->DmaBufferVirtualAddress,
        .root = context ? context->root : 0,
        .bytes = args->DmaBufferSize,
        .fence = args->SubmissionFenceId,
        .doorbell = adapter->model == REFKMD_IO_MMU ? SGPU_SUBMIT_PASID : SGPU_SUBMIT_VIRTUAL,
    };

    if (args->Flags.Paging)
        fetch_by_record(args, &submission);
    else
        submission.doorbell |= SGPU_SUBMIT_USER;
    if (args->Flags.NullRendering)
        submission.bytes = 0;
    if (!is_valid || !submission.bytes)
        submission.doorbell = SGPU_SUBMIT_FENCE_ONLY;
    else if (context->save_area)
        run_in_save_area(context, &submission);
    if (args->Flags.Paging) {
        submission.operations =
            paging_operations(args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
    }
    ring_doorbell(adapter, &submission);
    return is_valid ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

/*
 * The node signals the progress fence itself when the buffer has run (HWQ-005, HWQ-006), at the
 * address of the process that the kernel says. The id's low half is the name of the submission in
 * the node's registers; two queues may use the same one, so that what has ended is seen by the
 * value of the fence and not looked up (interrupt.c). The private data, of which there are none,
 * would be gone when this returns (HWQ-013).
 */
NTSTATUS NTAPI RefKmdSubmitCommandToHwQueue(IN_CONST_HANDLE hAdapter,
                                            IN_CONST_PDXGKARG_SUBMITCOMMANDTOHWQUEUE args)
{
    struct refkmd_adapter *adapter = hAdapter;
    const struct refkmd_hw_queue *queue = args->hHwQueue;
    const struct refkmd_context *context = queue->context;
    struct submission submission = {
        .node = context->node,
        .address = args->DmaBufferVirtualAddress,
        .root = context->root,
        .bytes = args->DmaBufferSize,
        .fence = (UINT)args->HwQueueProgressFenceId,
        .doorbell = SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_USER | SGPU_SUBMIT_PROGRESS,
        .queue = queue,
        .progress_va = args->HwQueueProgressFenceGpuVa,
        .progress = args->HwQueueProgressFenceId,
        .progress_value = args->HwQueueProgressFenceCpuVa,
    };

    if (!context->has_root || args->DmaBufferVirtualAddress % SGPU_SUBMIT_ALIGN)
        return STATUS_INVALID_PARAMETER;
    if (!submission.bytes)
        submission.doorbell |= SGPU_SUBMIT_FENCE_ONLY;
    else if (context->save_area)
        run_in_save_area(context, &submission);
    ring_doorbell(adapter, &submission);
    return STATUS_SUCCESS;
}
