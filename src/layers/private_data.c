#include "layers/private_data.h"

#include <string.h>

struct private_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
    uint32_t bytes;
};

/* The first of two calls only asks how many segments there are, and tells nothing else. */
static NTSTATUS declare_private_data(struct miniport *self, HANDLE object,
                                     const DXGKARG_QUERYADAPTERINFO *query)
{
    const struct private_layer *layer = (const struct private_layer *)self;
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, query);

    if (!NT_SUCCESS(status) || !query->pOutputData)
        return status;
    if (query->Type == DXGKQAITYPE_QUERYSEGMENT) {
        DXGK_QUERYSEGMENTOUT *out = query->pOutputData;

        if (out->PagingBufferPrivateDataSize)
            out->PagingBufferPrivateDataSize = layer->bytes;
    } else if (query->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        if (out->PagingBufferPrivateDataSize)
            out->PagingBufferPrivateDataSize = layer->bytes;
    } else if (query->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;

        if (out->PagingBufferPrivateDataSize)
            out->PagingBufferPrivateDataSize = layer->bytes;
    }
    return status;
}

static void private_data_destroy(struct miniport *self)
{
    base_free(((struct private_layer *)self)->services, self, sizeof(struct private_layer));
}

NTSTATUS private_data_create(const struct base_services *services, uint32_t bytes,
                             struct miniport *next, struct miniport **out_layer)
{
    struct private_layer *layer = base_alloc(services, sizeof *layer);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    memset(layer, 0, sizeof *layer);
    layer->services = services;
    layer->bytes = bytes;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "private data";
    layer->ops.destroy = private_data_destroy;
    layer->ops.query_adapter_info = declare_private_data;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
