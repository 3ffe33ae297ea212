/*
 * DMA buffer size: contexts and devices tell another one.
 */
#include "layers/dma_buffer_size.h"

#include "layers/layer.h"

struct size_layer {
    struct layer layer;
    uint32_t bytes;
};

static NTSTATUS create_context(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *args)
{
    const struct size_layer *size = (const struct size_layer *)self;
    NTSTATUS status = miniport_create_context(self->next, object, args);

    if (NT_SUCCESS(status) && !args->Flags.SystemContext && args->ContextInfo.DmaBufferSize)
        args->ContextInfo.DmaBufferSize = size->bytes;
    return status;
}

static NTSTATUS create_device(struct miniport *self, HANDLE object, DXGKARG_CREATEDEVICE *args)
{
    const struct size_layer *size = (const struct size_layer *)self;
    bool has_contexts = miniport_has(self, MINIPORT_DDI_CreateContext);
    NTSTATUS status = miniport_create_device(self->next, object, args);

    if (NT_SUCCESS(status) && !has_contexts && args->pInfo && args->pInfo->DmaBufferSize)
        args->pInfo->DmaBufferSize = size->bytes;
    return status;
}

NTSTATUS dma_buffer_size_layer_create(const struct base_services *services, uint32_t bytes,
                                      struct miniport *next, struct miniport **out_layer)
{
    struct size_layer *size = layer_create(services, sizeof *size, "DMA buffer size", next);

    *out_layer = size ? &size->layer.miniport : NULL;
    if (!size)
        return STATUS_NO_MEMORY;
    size->bytes = bytes;
    size->layer.ops.create_context = create_context;
    size->layer.ops.create_device = create_device;
    return STATUS_SUCCESS;
}
