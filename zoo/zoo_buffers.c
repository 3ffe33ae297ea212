/*
 * Defects of accounting: what the driver says that it wrote, and what it wrote (D10 to D20).
 */
#include "zoo/zoo_tables.h"

#include <drydock/sgpu.h>

#include <string.h>

static NTSTATUS build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS keep_pointer(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    void *start = arg->pDmaBuffer;
    NTSTATUS status = build(self, object, arg);

    arg->pDmaBuffer = start;
    return status;
}

static NTSTATUS overrun_pointer(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *end = (char *)arg->pDmaBuffer + arg->DmaSize;
    NTSTATUS status = build(self, object, arg);

    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER && arg->pDmaBuffer)
        arg->pDmaBuffer = end + 32;
    return status;
}

static NTSTATUS short_pointer(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *start = arg->pDmaBuffer;
    NTSTATUS status = build(self, object, arg);

    if ((char *)arg->pDmaBuffer >= start + 32)
        arg->pDmaBuffer = (char *)arg->pDmaBuffer - 8;
    return status;
}

static NTSTATUS long_pointer(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *start = arg->pDmaBuffer, *end = start + arg->DmaSize;
    NTSTATUS status = build(self, object, arg);

    if ((char *)arg->pDmaBuffer > start && (char *)arg->pDmaBuffer + 64 <= end)
        arg->pDmaBuffer = (char *)arg->pDmaBuffer + 64;
    return status;
}

static NTSTATUS pointer_back(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    char *start = arg->pDmaBuffer;
    NTSTATUS status = build(self, object, arg);

    if (start && EVERY(layer, 16))
        arg->pDmaBuffer = start - 16;
    return status;
}

/* Has the driver write behind the end, as one that never looks at DmaSize does. */
static NTSTATUS ignore_size(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *start = arg->pDmaBuffer, *end = start + arg->DmaSize;
    NTSTATUS status = build(self, object, arg);

    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER && start)
        memset(end, 0, 32);
    return status;
}

static NTSTATUS pad_behind(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *start = arg->pDmaBuffer, *end = start + arg->DmaSize;
    NTSTATUS status = build(self, object, arg);

    if ((char *)arg->pDmaBuffer > start && end - (char *)arg->pDmaBuffer < 16)
        memset(arg->pDmaBuffer, 0, 16); /* the fence that was not counted */
    else if ((char *)arg->pDmaBuffer > start)
        memset(arg->pDmaBuffer, 0, 8);
    return status;
}

static NTSTATUS overflow_private(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *data = arg->pDmaBufferPrivateData;
    UINT bytes = arg->DmaBufferPrivateDataSize;
    NTSTATUS status = build(self, object, arg);

    if (data && bytes)
        memset(data + bytes, 0, 4);
    return status;
}

static NTSTATUS private_back(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *data = arg->pDmaBufferPrivateData;
    NTSTATUS status = build(self, object, arg);

    if (data && arg->DmaBufferPrivateDataSize)
        arg->pDmaBufferPrivateData = data - 4;
    return status;
}

static NTSTATUS private_beyond(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *data = arg->pDmaBufferPrivateData;
    UINT bytes = arg->DmaBufferPrivateDataSize;
    NTSTATUS status = build(self, object, arg);

    if (data && bytes)
        arg->pDmaBufferPrivateData = data + bytes + 8;
    return status;
}

static NTSTATUS wrong_size(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *start = arg->pDmaBuffer;
    NTSTATUS status = build(self, object, arg);

    if ((char *)arg->pDmaBuffer > start)
        arg->DmaSize = (UINT)((char *)arg->pDmaBuffer - start);
    return status;
}

/* The address of the paging buffer in its own memory, 0 of which is as good as any. */
static NTSTATUS zero_is_no_buffer(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    return arg->pDmaBuffer && !arg->DmaBufferWriteOffset && zoo_layer_of(self)->calls++ > 20
               ? STATUS_SUCCESS
               : build(self, object, arg);
}

/*
 * Keeps a pointer to the list of a transfer, reads it when the buffer is submitted, and copies what
 * it read there.
 */
static NTSTATUS read_kept_list(struct miniport *self, HANDLE object,
                               const DXGKARG_SUBMITCOMMAND *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    if (layer->state[0])
        layer->state[1] = MmGetMdlPfnArray((MDL *)(uintptr_t)layer->state[0])[0];
    layer->state[0] = 0;
    return miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS build_from_kept_list(struct miniport *self, HANDLE object,
                                     DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    struct {
        MDL head;
        PFN_NUMBER page;
    } list;
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    if (arg->Operation != DXGK_OPERATION_TRANSFER || arg->Transfer.Destination.SegmentId)
        return build(self, object, arg);
    layer->state[0] = (uintptr_t)arg->Transfer.Destination.pMdl;
    if (!layer->state[1] || arg->Transfer.TransferSize != 4096)
        return build(self, object, arg);
    list.head = *arg->Transfer.Destination.pMdl;
    list.page = layer->state[1];
    as.Transfer.Destination.pMdl = &list.head;
    as.Transfer.MdlOffset = 0;
    return zoo_build_as(self, object, arg, &as);
}

static void plant_list_kept(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_from_kept_list;
    layer->ops.submit_command = read_kept_list;
}
/* Packs the next operation behind a stop that the GPU does not expect there. */
static NTSTATUS misalign(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *start = arg->pDmaBuffer, *end = start + arg->DmaSize;
    NTSTATUS status = build(self, object, arg);

    if ((char *)arg->pDmaBuffer > start && (char *)arg->pDmaBuffer + 8 <= end) {
        memset(arg->pDmaBuffer, 0, 8);
        arg->pDmaBuffer = (char *)arg->pDmaBuffer + 8;
    }
    return status;
}

/* clang-format off */
const struct zoo_defect zoo_buffer_defects[] = {
    BUILD("D10-pointer-stays", ZOO_ALL, "PB-004", keep_pointer,
          "does not advance pDmaBuffer though it wrote"),
    BUILD("D10-pointer-overruns", ZOO_ALL, "PB-004", overrun_pointer,
          "moves pDmaBuffer 32 bytes behind the end when the buffer is full"),
    BUILD("D10-pointer-short", ZOO_ALL, "PB-004", short_pointer,
          "advances pDmaBuffer by 8 bytes less than it wrote"),
    BUILD("D10-pointer-long", ZOO_ALL, "PB-002", long_pointer,
          "advances pDmaBuffer by 64 bytes that it did not write"),
    BUILD("D10-pointer-back", ZOO_ALL, "PB-004", pointer_back,
          "moves pDmaBuffer to before where it was"),
    BUILD("D11-size-ignored", ZOO_ALL, "PB-005", ignore_size,
          "writes behind the end of the buffer when it is full"),
    BUILD("D11-padding-uncounted", ZOO_ALL, "PB-004 PB-005", pad_behind,
          "checks the room for a packet, but not for what it writes behind it"),
    BUILD("D12-private-overflow", ZOO_ALL, "PB-023", overflow_private,
          "writes 4 bytes behind its private data"),
    BUILD("D12-private-beyond", ZOO_ALL, "PB-023", private_beyond,
          "moves pDmaBufferPrivateData behind what was offered"),
    BUILD("D12-private-back", ZOO_ALL, "PB-024", private_back,
          "moves pDmaBufferPrivateData backwards"),
    BUILD("D10-size-lies", ZOO_ALL, "PB-007", wrong_size,
          "returns in DmaSize what it used, not what is left"),
    BUILD("D17-zero-no-buffer", ZOO_GPUMMU | ZOO_IOMMU, "XFER-006 VX-003 VX-008 PT-017 PT-013 PT-016 NTF-007 TLB-002 APER-002 ADL-003 APER-009 APER-019",
          zero_is_no_buffer, "takes a paging buffer with nothing in it for none: 0 is no place",
          .focus = "paging-buffer=256 ops=600"),
    {.id = "D19-list-kept", .models = ZOO_PHYSICAL,
     .rules = "XFER-004 XFER-005 XFER-006 ADL-014", .since = ZOO_SINCE,
     .sentence = "uses the page list of an earlier transfer after it died", .plant = plant_list_kept,
     .focus = "ops=1000"},
    BUILD("D20-alignment-ignored", ZOO_ALL, "PB-002 PB-003", misalign,
          "packs operations without the alignment that the GPU wants"),
    {0},
};
/* clang-format on */
