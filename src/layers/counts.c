/*
 * Counts: DmaSize is what is left.
 */
#include "layers/counts.h"

#include "base/list.h"

struct counts_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
};

static NTSTATUS counts_build_paging_buffer(struct miniport *self, HANDLE object,
                                           DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const char *start = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    arg->DmaSize -= (UINT)((const char *)arg->pDmaBuffer - start);
    return status;
}

static void counts_destroy(struct miniport *self)
{
    struct counts_layer *layer = container_of(self, struct counts_layer, miniport);

    base_free(layer->services, layer, sizeof *layer);
}

NTSTATUS miniport_counts_create(const struct base_services *services, struct miniport *next,
                                struct miniport **out_layer)
{
    struct counts_layer *layer = base_alloc(services, sizeof *layer);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->services = services;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "counts";
    layer->ops.destroy = counts_destroy;
    layer->ops.build_paging_buffer = counts_build_paging_buffer;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
