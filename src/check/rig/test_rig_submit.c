/* Test rig: clients' packets, preemption, and the GPU. */
#include "check/rig/test_rig_submit.h"

DXGKARG_SUBMITCOMMAND rig_packet(struct rig *rig)
{
    return (DXGKARG_SUBMITCOMMAND){
        .hContext = rig->context,
        .DmaBufferSize = RIG_BUFFER_BYTES,
        .DmaBufferPhysicalAddress.QuadPart = 0x20000,
        .DmaBufferSubmissionEndOffset = RIG_CLIENT_BYTES,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = RIG_PRIVATE_BYTES,
        .DmaBufferPrivateDataSubmissionEndOffset = RIG_PRIVATE_BYTES,
        .SubmissionFenceId = ++rig->fence,
        .NodeOrdinal = RIG_CLIENT_NODE,
    };
}

DXGKARG_SUBMITCOMMANDVIRTUAL rig_packet_virtual(struct rig *rig)
{
    return (DXGKARG_SUBMITCOMMANDVIRTUAL){
        .hContext = rig->context,
        .DmaBufferVirtualAddress = 0x100000,
        .DmaBufferSize = RIG_CLIENT_BYTES,
        .pDmaBufferPrivateData = rig->private_data,
        .DmaBufferPrivateDataSize = RIG_PRIVATE_BYTES,
        .SubmissionFenceId = ++rig->fence,
        .NodeOrdinal = RIG_CLIENT_NODE,
    };
}

NTSTATUS rig_submit_packet(struct rig *rig, const DXGKARG_SUBMITCOMMAND *packet)
{
    unsigned before = rig->irql;
    NTSTATUS status;

    rig->irql = DISPATCH_LEVEL;
    status = miniport_submit_command(rig->top, NULL, packet);
    rig->irql = before;
    return status;
}

NTSTATUS rig_submit_virtual(struct rig *rig, const DXGKARG_SUBMITCOMMANDVIRTUAL *packet)
{
    unsigned before = rig->irql;
    NTSTATUS status;

    rig->irql = DISPATCH_LEVEL;
    status = miniport_submit_command_virtual(rig->top, NULL, packet);
    rig->irql = before;
    return status;
}

/* ---- The GPU ---- */

void rig_gpu_event(struct rig *rig, enum check_gpu_kind kind, unsigned node, uint32_t fence,
                   uint32_t bytes)
{
    check_gpu(rig->check, &(struct check_gpu_event){
                              .kind = kind, .node = node, .fence = fence, .bytes = bytes});
}

void rig_run(struct rig *rig, unsigned node, uint32_t fence, uint32_t bytes)
{
    rig_gpu_event(rig, CHECK_GPU_QUEUED, node, fence, bytes);
    rig_gpu_event(rig, CHECK_GPU_DONE, node, fence, 0);
    rig_complete(rig, node, fence);
}

uint32_t rig_render(struct rig *rig)
{
    DXGKARG_SUBMITCOMMAND packet = rig_packet(rig);

    rig_submit_packet(rig, &packet);
    return packet.SubmissionFenceId;
}

/* ---- Preemption and resets ---- */

NTSTATUS rig_preempt(struct rig *rig, unsigned node, uint32_t preemption)
{
    const DXGKARG_PREEMPTCOMMAND arg = {.PreemptionFenceId = preemption, .NodeOrdinal = node};
    unsigned before = rig->irql;
    NTSTATUS status;

    rig->irql = DISPATCH_LEVEL;
    status = miniport_preempt_command(rig->top, NULL, &arg);
    rig->irql = before;
    return status;
}

void rig_interrupt(struct rig *rig, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    unsigned before = rig->irql;

    rig->irql = 5; /* the device's */
    rig->drivers_host->ops->notify_interrupt(rig->drivers_host, data);
    rig->drivers_host->ops->queue_dpc(rig->drivers_host);
    rig->irql = DISPATCH_LEVEL;
    rig->drivers_host->ops->notify_dpc(rig->drivers_host);
    rig->irql = before;
}

void rig_preempted(struct rig *rig, unsigned node, uint32_t preemption, uint32_t last)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED};

    data.DmaPreempted.PreemptionFenceId = preemption;
    data.DmaPreempted.LastCompletedFenceId = last;
    data.DmaPreempted.NodeOrdinal = node;
    rig_interrupt(rig, &data);
}

uint32_t rig_query_fence(struct rig *rig, unsigned node)
{
    DXGKARG_QUERYCURRENTFENCE arg = {.NodeOrdinal = node};
    unsigned before = rig->irql;

    rig->irql = DISPATCH_LEVEL;
    miniport_query_current_fence(rig->top, NULL, &arg);
    rig->irql = before;
    return arg.CurrentFence;
}

void rig_reset_adapter(struct rig *rig)
{
    miniport_reset_from_timeout(rig->top, NULL);
    miniport_restart_from_timeout(rig->top, NULL);
}

uint32_t rig_reset_engine(struct rig *rig)
{
    DXGKARG_RESETENGINE arg = {.NodeOrdinal = RIG_CLIENT_NODE};

    miniport_reset_engine(rig->top, NULL, &arg);
    return arg.LastAbortedFenceId;
}

/* ---- One call that is answered otherwise ---- */

/* As rig_answer(), but rig->told says which DDI returns what instead. */
static NTSTATUS rig_answer_refusal(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const struct rig_refusal *refusal = rig->told;
    NTSTATUS status = rig_answer(rig, ddi, object, arg);

    return ddi == refusal->ddi ? refusal->status : status;
}

void rig_refuse(struct rig *rig, struct rig_refusal *refusal)
{
    rig->answer = rig_answer_refusal;
    rig->told = refusal;
}
