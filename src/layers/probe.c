#include "layers/probe.h"

#include "base/rng.h"

#include <string.h>

#define PROBE_RNG_STREAM 0x70726f6265u /* "probe" */
#define ONE_IN           48u           /* operations, one is preceded by a probe */

struct probe_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
    struct rng rng;
    bool is_repeat_due;
};

/* Those that a later kit is said to have, and one that nobody will. */
static const unsigned unknown_operations[] = {23, 24, 25, 0x7fffffff};

static void probe(struct probe_layer *layer, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER unknown = {
        .pDmaBuffer = arg->pDmaBuffer,
        .DmaSize = arg->DmaSize,
        .pDmaBufferPrivateData = arg->pDmaBufferPrivateData,
        .DmaBufferPrivateDataSize = arg->DmaBufferPrivateDataSize,
        .hSystemContext = arg->hSystemContext,
        .DmaBufferGpuVirtualAddress = arg->DmaBufferGpuVirtualAddress,
        .DmaBufferWriteOffset = arg->DmaBufferWriteOffset,
    };

    unknown.Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)unknown_operations[rng_below(
        &layer->rng, sizeof unknown_operations / sizeof unknown_operations[0])];
    miniport_build_paging_buffer(layer->miniport.next, NULL, &unknown);
}

static NTSTATUS probe_build_paging_buffer(struct miniport *self, HANDLE object,
                                          DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct probe_layer *layer = (struct probe_layer *)self;
    NTSTATUS status;

    if (!arg->pDmaBuffer) /* carried out by the call; it may come before a repeat, and ends nothing
                           */
        return miniport_forward_build_paging_buffer(self, object, arg);
    if (!layer->is_repeat_due && rng_below(&layer->rng, ONE_IN) == 0)
        probe(layer, arg);
    status = miniport_forward_build_paging_buffer(self, object, arg);
    layer->is_repeat_due = status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER ||
                           status == STATUS_GRAPHICS_ALLOCATION_BUSY;
    return status;
}

static void probe_destroy(struct miniport *self)
{
    base_free(((struct probe_layer *)self)->services, self, sizeof(struct probe_layer));
}

NTSTATUS miniport_probe_create(const struct base_services *services, uint64_t seed,
                               struct miniport *next, struct miniport **out_layer)
{
    struct probe_layer *layer = base_alloc(services, sizeof *layer);
    struct rng parent;

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    memset(layer, 0, sizeof *layer);
    rng_init(&parent, seed);
    rng_fork(&parent, PROBE_RNG_STREAM, &layer->rng);
    layer->services = services;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "probe";
    layer->ops.destroy = probe_destroy;
    layer->ops.build_paging_buffer = probe_build_paging_buffer;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
