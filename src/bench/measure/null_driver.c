#include "bench/measure/null_driver.h"

#include "vidmm/vidmm.h"

static struct null_driver *closed(struct miniport *layer)
{
    struct null_driver *null_driver = (struct null_driver *)layer;

    return null_driver->vidmm ? null_driver : NULL;
}

static NTSTATUS build_paging_buffer(struct miniport *layer, HANDLE object,
                                    DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct null_driver *null_driver = closed(layer);

    if (!null_driver)
        return miniport_build_paging_buffer(layer->next, object, args);
    if (!args->pDmaBuffer) { /* it is to be done at once */
        null_driver->operations++;
        return STATUS_SUCCESS;
    }
    if (args->DmaSize < NULL_DRIVER_BYTES)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + NULL_DRIVER_BYTES;
    null_driver->operations++;
    return STATUS_SUCCESS;
}

static NTSTATUS render(struct miniport *layer, HANDLE object, DXGKARG_RENDER *args)
{
    if (!closed(layer))
        return miniport_render(layer->next, object, args);
    for (UINT i = 0; i < args->AllocationListSize; i++)
        args->pPatchLocationListOut[i] = (D3DDDI_PATCHLOCATIONLIST){.AllocationIndex = i};
    args->pPatchLocationListOut += args->AllocationListSize;
    args->pDmaBuffer = (uint8_t *)args->pDmaBuffer + NULL_DRIVER_BYTES;
    return STATUS_SUCCESS;
}

static NTSTATUS patch(struct miniport *layer, HANDLE object, const DXGKARG_PATCH *args)
{
    return closed(layer) ? STATUS_SUCCESS : miniport_patch(layer->next, object, args);
}

static void complete(struct null_driver *null_driver, UINT fence, UINT node)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};

    data.DmaCompleted.SubmissionFenceId = fence;
    data.DmaCompleted.NodeOrdinal = node;
    vidmm_notify_interrupt(null_driver->vidmm, &data);
}

static NTSTATUS submit_command(struct miniport *layer, HANDLE object,
                               const DXGKARG_SUBMITCOMMAND *args)
{
    struct null_driver *null_driver = closed(layer);

    if (!null_driver)
        return miniport_submit_command(layer->next, object, args);
    complete(null_driver, args->SubmissionFenceId, args->NodeOrdinal);
    return STATUS_SUCCESS;
}

static NTSTATUS submit_command_virtual(struct miniport *layer, HANDLE object,
                                       const DXGKARG_SUBMITCOMMANDVIRTUAL *args)
{
    struct null_driver *null_driver = closed(layer);

    if (!null_driver)
        return miniport_submit_command_virtual(layer->next, object, args);
    complete(null_driver, args->SubmissionFenceId, args->NodeOrdinal);
    return STATUS_SUCCESS;
}

static ULONG interface_version(struct miniport *layer)
{
    ULONG version = miniport_interface_version(layer->next);

    return version < DXGKDDI_INTERFACE_VERSION_WDDM2_1 ? version
                                                       : DXGKDDI_INTERFACE_VERSION_WDDM2_1;
}

struct miniport *null_driver_init(struct null_driver *null_driver, struct miniport *next)
{
    null_driver->ops = miniport_forward_ops;
    null_driver->ops.name = "null driver";
    null_driver->ops.interface_version = interface_version;
    null_driver->ops.build_paging_buffer = build_paging_buffer;
    null_driver->ops.render = render;
    null_driver->ops.patch = patch;
    null_driver->ops.submit_command = submit_command;
    null_driver->ops.submit_command_virtual = submit_command_virtual;
    null_driver->layer = (struct miniport){.ops = &null_driver->ops, .next = next};
    return &null_driver->layer;
}

bool null_driver_settle(struct null_driver *null_driver)
{
    for (unsigned i = 0; !vidmm_is_idle(null_driver->vidmm); i++) {
        if (i == 100000)
            return false;
        vidmm_notify_dpc(null_driver->vidmm);
    }
    return true;
}
