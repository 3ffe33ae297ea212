/*
 * Lowered size: DmaSize becomes the number of bytes that are left behind pDmaBuffer.
 */
#include "layers/lowered_size.h"

#include "layers/layer.h"

static NTSTATUS lower_size(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const char *start = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    arg->DmaSize -= (UINT)((const char *)arg->pDmaBuffer - start);
    return status;
}

NTSTATUS lowered_size_layer_create(const struct base_services *services, struct miniport *next,
                                   struct miniport **out_layer)
{
    struct layer *layer = layer_create(services, sizeof *layer, "lowered size", next);

    *out_layer = layer ? &layer->miniport : NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->ops.build_paging_buffer = lower_size;
    return STATUS_SUCCESS;
}
