/*
 * DxgkDdiSubmitCommand, DxgkDdiSubmitCommandVirtual and DxgkDdiSubmitCommandToHwQueue: hand a piece
 * of a buffer to a node.
 *
 * They run at DISPATCH_LEVEL, never two at a time on an adapter, and may not fail. The node runs
 * its queue in order and reports the fence by itself when everything before it is visible
 * (FENCE-003).
 */
#include "refkmd/ddi.h"
#include "refkmd/objects.h"
#include "refkmd/paging/paging_record.h"
#include "refkmd/work/doorbell.h"
#include "refkmd/work/schedule.h"

#include <ntstatus.h>

/* On a node with hardware queues the interrupt routine may hand something over, too. */
static void hand_over(struct refkmd_adapter *adapter, UINT ordinal,
                      const struct refkmd_submission *submission)
{
    if (refkmd_node_has_queues(adapter, ordinal))
        refkmd_schedule(adapter, ordinal, submission);
    else
        refkmd_ring_doorbell(adapter, ordinal, submission);
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
 * Keeps SUB-001..SUB-007 and PATCH-010: exactly the bytes between the two offsets run, counted from
 * the start of the buffer; a paging submission may come without a context and then names its node;
 * an empty one, or one of NullRendering, still completes its fence.
 */
NTSTATUS NTAPI RefKmdSubmitCommand(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
    struct refkmd_adapter *adapter = hAdapter;
    const struct refkmd_context *context = refkmd_context_of(args->hContext);
    UINT start = args->DmaBufferSubmissionStartOffset;
    const UINT node = context ? context->node : args->NodeOrdinal;
    struct refkmd_submission submission = {
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
        refkmd_run_in_save_area(context, &submission);
    if (args->Flags.Paging && args->pDmaBufferPrivateData) {
        UINT records_start = args->DmaBufferPrivateDataSubmissionStartOffset;
        UINT records_end = args->DmaBufferPrivateDataSubmissionEndOffset;

        submission.operations =
            paging_operations((UCHAR *)args->pDmaBufferPrivateData + records_start,
                              records_end > records_start ? records_end - records_start : 0);
    }
    hand_over(adapter, node, &submission);
    return STATUS_SUCCESS;
}

/*
 * A paging buffer without a virtual address is fetched by its physical one, which the first record
 * of the submission has; its commands name virtual addresses all the same.
 */
static void fetch_by_record(IN_CONST_PDXGKARG_SUBMITCOMMANDVIRTUAL args,
                            struct refkmd_submission *submission)
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
    const UINT node = context ? context->node : args->NodeOrdinal;
    struct refkmd_submission submission = {
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
        refkmd_run_in_save_area(context, &submission);
    if (args->Flags.Paging) {
        submission.operations =
            paging_operations(args->pDmaBufferPrivateData, args->DmaBufferPrivateDataSize);
    }
    hand_over(adapter, node, &submission);
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
    struct refkmd_submission submission = {
        .address = args->DmaBufferVirtualAddress,
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
    hand_over(adapter, context->node, &submission);
    return STATUS_SUCCESS;
}
