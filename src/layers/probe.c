/*
 * Probe: operations that no driver can know, between those that it does, and types of interrupts
 * that no driver may switch by DxgkDdiControlInterrupt.
 */
#include "layers/probe.h"

#include "base/rng.h"
#include "layers/layer.h"
#include "miniport/operation.h"

#define PROBE_RNG_STREAM 0x70726f6265u /* "probe" */
#define ONE_IN           48u           /* operations, one is preceded by a probe */

struct probe_layer {
    struct layer layer;
    struct rng rng;
    bool is_repeat_due;
};

/* Numbers of operations that a later kit is said to have, and one that no kit will have. */
static const unsigned unknown_operations[] = {MINIPORT_OPERATION_COUNT,
                                              MINIPORT_OPERATION_COUNT + 1,
                                              MINIPORT_OPERATION_COUNT + 2, 0x7fffffff};

static void ask(struct probe_layer *probe, const DXGKARG_BUILDPAGINGBUFFER *arg)
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
        &probe->rng, sizeof unknown_operations / sizeof unknown_operations[0])];
    miniport_build_paging_buffer(probe->layer.miniport.next, NULL, &unknown);
}

static NTSTATUS probe_build_paging_buffer(struct miniport *self, HANDLE object,
                                          DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct probe_layer *probe = (struct probe_layer *)self;
    NTSTATUS status;

    /* An operation without a buffer is carried out by the call, and may stand before a repeat. */
    if (!arg->pDmaBuffer)
        return miniport_forward_build_paging_buffer(self, object, arg);
    if (!probe->is_repeat_due && rng_below(&probe->rng, ONE_IN) == 0)
        ask(probe, arg);
    status = miniport_forward_build_paging_buffer(self, object, arg);
    probe->is_repeat_due = status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER ||
                           status == STATUS_GRAPHICS_ALLOCATION_BUSY;
    return status;
}

static NTSTATUS probe_control_interrupt(struct miniport *self, HANDLE object,
                                        const struct miniport_interrupt *arg)
{
    const struct miniport_interrupt other = {DXGK_INTERRUPT_DMA_COMPLETED, arg->EnableInterrupt};

    miniport_control_interrupt(self->next, object, &other);
    return miniport_forward_control_interrupt(self, object, arg);
}

NTSTATUS probe_layer_create(const struct base_services *services, uint64_t seed,
                            struct miniport *next, struct miniport **out_layer)
{
    struct probe_layer *probe = layer_create(services, sizeof *probe, "probe", next);
    struct rng parent;

    *out_layer = probe ? &probe->layer.miniport : NULL;
    if (!probe)
        return STATUS_NO_MEMORY;
    rng_init(&parent, seed);
    rng_fork(&parent, PROBE_RNG_STREAM, &probe->rng);
    probe->layer.ops.build_paging_buffer = probe_build_paging_buffer;
    probe->layer.ops.control_interrupt = probe_control_interrupt;
    return STATUS_SUCCESS;
}
