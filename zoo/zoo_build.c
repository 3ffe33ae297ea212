/* Zoo: what the defects share. */
#include "zoo/zoo.h"

#include "drydock/sgpu.h"

#include <string.h>

NTSTATUS zoo_build_as(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                      DXGKARG_BUILDPAGINGBUFFER *as)
{
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, as);

    arg->pDmaBuffer = as->pDmaBuffer;
    arg->DmaSize = as->DmaSize;
    arg->pDmaBufferPrivateData = as->pDmaBufferPrivateData;
    arg->MultipassOffset = as->MultipassOffset;
    return status;
}

NTSTATUS zoo_render_nothing(DXGKARG_RENDER *arg)
{
    const uint32_t words = 16, header = SGPU_PACKET_HEADER(SGPU_OP_NOP, words);

    memset(arg->pDmaBuffer, 0, words * 4);
    memcpy(arg->pDmaBuffer, &header, sizeof header);
    arg->pDmaBuffer = (char *)arg->pDmaBuffer + words * 4;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

void zoo_tell_preempted(struct zoo_layer *layer, unsigned node, uint64_t preemption_fence,
                        uint64_t last_fence)
{
    struct miniport_host *kernel = layer->host.upper;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

    memset(&data, 0, sizeof data);
    data.InterruptType = DXGK_INTERRUPT_DMA_PREEMPTED;
    data.DmaPreempted.PreemptionFenceId = (UINT)preemption_fence;
    data.DmaPreempted.LastCompletedFenceId = (UINT)last_fence;
    data.DmaPreempted.NodeOrdinal = node;
    kernel->ops->notify_interrupt(kernel, &data);
    kernel->ops->queue_dpc(kernel);
}
