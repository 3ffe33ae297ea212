/*
 * Defects of accounting: what the driver says that it wrote, and what it wrote.
 */
#include "zoo/zoo_tables.h"

static NTSTATUS keep_pointer(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    void *start = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    arg->pDmaBuffer = start;
    return status;
}

static void plant_pointer_stays(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = keep_pointer;
}

static NTSTATUS overrun_pointer(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *end = (char *)arg->pDmaBuffer + arg->DmaSize;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        arg->pDmaBuffer = end + 32;
    return status;
}

static void plant_pointer_overruns(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = overrun_pointer;
}

const struct zoo_defect zoo_buffer_defects[] = {
    {
        .id = "D10-pointer-stays",
        .sentence = "does not advance pDmaBuffer though it wrote",
        .models = ZOO_ALL,
        .rules = "PB-004",
        .since = "0.2",
        .plant = plant_pointer_stays,
    },
    {
        .id = "D10-pointer-overruns",
        .sentence = "moves pDmaBuffer 32 bytes behind the end when the buffer is full",
        .models = ZOO_ALL,
        .rules = "PB-004",
        .since = "0.2",
        .plant = plant_pointer_overruns,
    },
    {0},
};
