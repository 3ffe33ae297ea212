/*
 * Defects of operations that take more than one buffer (D21 to D25).
 */
#include "zoo/zoo_tables.h"

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static void forget_progress(struct zoo_layer *layer, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    arg->MultipassOffset = 0;
}

/* The progress is in the driver: what the kernel hands back is not looked at. */
static NTSTATUS global_progress(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    NTSTATUS status;

    as.MultipassOffset = (UINT)layer->state[0];
    status = zoo_build_as(self, object, arg, &as);
    layer->state[0] = status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER ? as.MultipassOffset : 0;
    arg->MultipassOffset = 0;
    return status;
}

static NTSTATUS no_progress(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    void *start = arg->pDmaBuffer, *data = arg->pDmaBufferPrivateData;
    UINT passes = arg->MultipassOffset;
    NTSTATUS status;

    if (passes)
        return build(self, object, arg);
    status = build(self, object, arg);
    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
        arg->pDmaBuffer = start;
        arg->pDmaBufferPrivateData = data;
        arg->MultipassOffset = passes;
    }
    return status;
}

/* The first buffer is all that there is. */
static NTSTATUS leave_bytes(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    void *start = arg->pDmaBuffer;
    NTSTATUS status = build(self, object, arg);

    return status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER && arg->pDmaBuffer != start
               ? STATUS_SUCCESS
               : status;
}

static NTSTATUS skip_a_step(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    UINT before = arg->MultipassOffset;
    NTSTATUS status = build(self, object, arg);

    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER && arg->MultipassOffset > before)
        arg->MultipassOffset++;
    return status;
}

#define PARTS "PB-014 XFER-006 PB-011 FILL-005 VX-002 VX-003 VX-008 PT-017 PT-013 APER-002 XFER-003"

/* clang-format off */
const struct zoo_defect zoo_multipass_defects[] = {
    {.id = "D21-offset-ignored", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "ignores MultipassOffset: begins anew in every buffer", .alter = forget_progress},
    {.id = "D22-progress-global", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "keeps its progress in a global, which a reset does not forget", .build = global_progress,
     .profile = "strict-open", .focus = "paging-buffer=256 ops=600"},
    {.id = "D23-no-progress", .models = ZOO_ALL, .rules = "PB-012 PB-020", .since = ZOO_SINCE,
     .sentence = "asks for more room for ever and achieves nothing", .build = no_progress},
    {.id = "D24-bytes-left", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "reports SUCCESS after the first buffer, with bytes left behind", .build = leave_bytes},
    {.id = "D24-step-skipped", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "loses one step of an operation between two buffers", .build = skip_a_step},
    {0},
};
/* clang-format on */
