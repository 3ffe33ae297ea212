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

bool zoo_is_of_registers(ULONG length, ULONG cache_type)
{
    return length == SGPU_BAR0_BYTES && cache_type == MmNonCached;
}

static NTSTATUS map_and_note(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                             BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                             PVOID *virtual_address)
{
    NTSTATUS status = miniport_host_forward_ops.map_memory(
        host, translated, length, in_io_space, map_to_user_mode, cache_type, virtual_address);

    if (NT_SUCCESS(status) && zoo_is_of_registers(length, cache_type))
        zoo_layer_of_host(host)->registers = *virtual_address;
    return status;
}

void zoo_note_registers(struct zoo_layer *layer)
{
    layer->host_ops.map_memory = map_and_note;
}
