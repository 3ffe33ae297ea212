/*
 * Private data: QUERYSEGMENT tells another size of it.
 */
#include "layers/private_data.h"

#include "layers/layer.h"

struct private_layer {
    struct layer layer;
    uint32_t bytes;
};

/* The first of two calls only asks how many segments there are, and tells nothing else. */
static NTSTATUS declare_private_data(struct miniport *self, HANDLE object,
                                     const DXGKARG_QUERYADAPTERINFO *query)
{
    const struct private_layer *private_data = (const struct private_layer *)self;
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, query);

    if (!NT_SUCCESS(status) || !query->pOutputData)
        return status;
    if (query->Type == DXGKQAITYPE_QUERYSEGMENT) {
        DXGK_QUERYSEGMENTOUT *out = query->pOutputData;

        if (out->PagingBufferPrivateDataSize)
            out->PagingBufferPrivateDataSize = private_data->bytes;
    } else if (query->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        if (out->PagingBufferPrivateDataSize)
            out->PagingBufferPrivateDataSize = private_data->bytes;
    } else if (query->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;

        if (out->PagingBufferPrivateDataSize)
            out->PagingBufferPrivateDataSize = private_data->bytes;
    }
    return status;
}

NTSTATUS private_data_layer_create(const struct base_services *services, uint32_t bytes,
                                   struct miniport *next, struct miniport **out_layer)
{
    struct private_layer *private_data =
        layer_create(services, sizeof *private_data, "private data", next);

    *out_layer = private_data ? &private_data->layer.miniport : NULL;
    if (!private_data)
        return STATUS_NO_MEMORY;
    private_data->bytes = bytes;
    private_data->layer.ops.query_adapter_info = declare_private_data;
    return STATUS_SUCCESS;
}
