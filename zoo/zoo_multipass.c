/*
 * Defects of operations that take more than one paging buffer (D21 to D25), of command buffers that
 * take more than one DMA buffer, and of the packets that commands become.
 */
#include "zoo/zoo_tables.h"

#include <drydock/sgpu.h>

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

/* ---- Command buffers that take more than one DMA buffer -------------------------------------- */

/* What is left behind the first DMA buffer is forgotten: all of it. */
static NTSTATUS leave_commands(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    if (++zoo_layer_of(self)->calls % 4)
        return miniport_forward_render(self, object, arg);
    zoo_render_nothing(arg);
    return STATUS_SUCCESS;
}

static void plant_leave_commands(struct zoo_layer *layer)
{
    layer->ops.render = leave_commands;
}

static NTSTATUS ask_without_progress(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    return ++zoo_layer_of(self)->calls % 4 ? miniport_forward_render(self, object, arg)
                                           : STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static void plant_ask_without_progress(struct zoo_layer *layer)
{
    layer->ops.render = ask_without_progress;
}

/* In the second DMA buffer the commands that went into the first one stand again. */
static NTSTATUS render_anew(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    const bool is_second = arg->MultipassOffset != 0;
    NTSTATUS status;

    arg->MultipassOffset = 0;
    status = miniport_forward_render(self, object, arg);
    if (status != STATUS_SUCCESS || is_second)
        return status;
    arg->MultipassOffset = 1;
    return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
}

static void plant_render_anew(struct zoo_layer *layer)
{
    layer->ops.render = render_anew;
}

/* It asks for one DMA buffer after the other, and none of them is the last. */
static NTSTATUS render_for_ever(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    return zoo_render_nothing(arg);
}

static void plant_render_for_ever(struct zoo_layer *layer)
{
    layer->ops.render = render_for_ever;
}

/* Of a command that goes on in another DMA buffer, one reference is taken for translated. */
static NTSTATUS skip_a_reference(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    NTSTATUS status = miniport_forward_render(self, object, arg);

    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        arg->MultipassOffset += sizeof(struct sgpu_umd_ref);
    return status;
}

static void plant_skip_a_reference(struct zoo_layer *layer)
{
    layer->ops.render = skip_a_reference;
}

/* Places are counted from the start of all that the command buffer has become. */
static NTSTATUS go_on_counting(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    D3DDDI_PATCHLOCATIONLIST *location = arg->pPatchLocationListOut;
    const char *start = arg->pDmaBuffer;
    NTSTATUS status;

    if (!arg->MultipassOffset)
        layer->state[0] = 0;
    status = miniport_forward_render(self, object, arg);
    for (; NT_SUCCESS(status) || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER; location++) {
        if (location == arg->pPatchLocationListOut)
            break;
        location->PatchOffset += (UINT)layer->state[0];
        location->SplitOffset += (UINT)layer->state[0];
    }
    layer->state[0] += (uint64_t)((const char *)arg->pDmaBuffer - start);
    return status;
}

static void plant_go_on_counting(struct zoo_layer *layer)
{
    layer->ops.render = go_on_counting;
}

/* ---- Packets that commands become ------------------------------------------------------------ */

/* Every fourth packet that Render has written goes through change, with its first location. */
static NTSTATUS render_as(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg,
                          void (*change)(struct sgpu_packet_render *packet,
                                         D3DDDI_PATCHLOCATIONLIST *locations))
{
    struct zoo_layer *layer = zoo_layer_of(self);
    D3DDDI_PATCHLOCATIONLIST *locations = arg->pPatchLocationListOut;
    char *next = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_render(self, object, arg);

    if (!NT_SUCCESS(status) && status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        return status;
    while (next < (char *)arg->pDmaBuffer) {
        struct sgpu_packet_render *packet = (void *)next;
        uint32_t words = SGPU_PACKET_WORDS(packet->header);

        if (SGPU_PACKET_OPCODE(packet->header) == SGPU_OP_RENDER) {
            if (packet->ref_count && EVERY(layer, 4))
                change(packet, locations);
            locations += packet->ref_count;
        }
        next += words ? words * 4 : 4;
    }
    return status;
}

#define PACKET(name)                                                                               \
    static NTSTATUS name##_call(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)         \
    {                                                                                              \
        return render_as(self, object, arg, name);                                                 \
    }                                                                                              \
                                                                                                   \
    static void plant_##name(struct zoo_layer *layer)                                              \
    {                                                                                              \
        layer->ops.render = name##_call;                                                           \
    }

static void take_whole_pages(struct sgpu_packet_render *packet, D3DDDI_PATCHLOCATIONLIST *locations)
{
    for (uint32_t i = 0; i < packet->ref_count; i++)
        packet->refs[i].bytes = packet->refs[i].bytes / 4096 * 4096;
}
PACKET(take_whole_pages)

static void forget_the_last(struct sgpu_packet_render *packet, D3DDDI_PATCHLOCATIONLIST *locations)
{
    packet->refs[packet->ref_count - 1].flags &= ~SGPU_REF_WRITE;
}
PACKET(forget_the_last)

static void cut_size(struct sgpu_packet_render *packet, D3DDDI_PATCHLOCATIONLIST *locations)
{
    for (uint32_t i = 0; i < packet->ref_count; i++)
        packet->refs[i].bytes &= 0xffff;
}
PACKET(cut_size)

static void name_the_first(struct sgpu_packet_render *packet, D3DDDI_PATCHLOCATIONLIST *locations)
{
    for (uint32_t i = 1; i < packet->ref_count; i++)
        locations[i].AllocationIndex = locations[0].AllocationIndex;
}
PACKET(name_the_first)

static void patch_the_size(struct sgpu_packet_render *packet, D3DDDI_PATCHLOCATIONLIST *locations)
{
    locations[packet->ref_count - 1].PatchOffset += 8;
}
PACKET(patch_the_size)

static void forget_offsets(struct sgpu_packet_render *packet, D3DDDI_PATCHLOCATIONLIST *locations)
{
    for (uint32_t i = 0; i < packet->ref_count; i++)
        locations[i].AllocationOffset = 0;
}
PACKET(forget_offsets)

static void name_another_command(struct sgpu_packet_render *packet,
                                 D3DDDI_PATCHLOCATIONLIST *locations)
{
    packet->header ^= 0x80;
}
PACKET(name_another_command)

#define PARTS "PB-014 XFER-006 PB-011 FILL-005 VX-002 VX-003 VX-008 PT-017 PT-013 APER-002 XFER-003"

/* clang-format off */
const struct zoo_defect zoo_multipass_defects[] = {
    {.id = "D21-offset-ignored", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "ignores MultipassOffset: begins anew in every buffer", .alter = forget_progress},
    {.id = "D22-progress-global", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "keeps its progress in a global, which a reset does not forget",
     .build = global_progress,
     .profile = "strict-open", .focus = "paging-buffer=256 ops=600"},
    {.id = "D23-no-progress", .models = ZOO_ALL, .rules = "PB-012 PB-020", .since = ZOO_SINCE,
     .sentence = "asks for more room for ever and achieves nothing", .build = no_progress},
    {.id = "D24-bytes-left", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "reports SUCCESS after the first buffer, with bytes left behind",
     .build = leave_bytes},
    {.id = "D24-step-skipped", .models = ZOO_ALL, .rules = PARTS, .since = ZOO_SINCE,
     .sentence = "loses one step of an operation between two buffers", .build = skip_a_step},
    {.id = "RENDER-commands-left", .models = ZOO_PHYSICAL, .rules = "content", .since = ZOO_SINCE,
     .sentence = "reports SUCCESS of Render after a first DMA buffer, with commands left behind",
     .plant = plant_leave_commands},
    {.id = "RENDER-no-progress", .models = ZOO_PHYSICAL, .rules = "PATCH-014", .since = ZOO_SINCE,
     .sentence = "wants another DMA buffer for a command buffer and has come no further",
     .plant = plant_ask_without_progress},
    {.id = "RENDER-begins-anew", .models = ZOO_PHYSICAL, .rules = "content", .since = ZOO_SINCE,
     .sentence = "begins a command buffer anew in the second DMA buffer",
     .plant = plant_render_anew},
    {.id = "RENDER-for-ever", .models = ZOO_PHYSICAL, .rules = "PATCH-014", .since = ZOO_SINCE,
     .sentence = "wants one DMA buffer after the other for a command buffer, and ends with none",
     .plant = plant_render_for_ever},
    {.id = "RENDER-reference-skipped", .models = ZOO_PHYSICAL, .rules = "content",
     .since = ZOO_SINCE,
     .sentence = "loses one reference of a command between two DMA buffers",
     .plant = plant_skip_a_reference},
    {.id = "RENDER-goes-on-counting", .models = ZOO_PHYSICAL, .rules = "PATCH-012 PATCH-013",
     .since = ZOO_SINCE,
     .sentence = "counts the places of a second DMA buffer from the start of the first one",
     .plant = plant_go_on_counting},
    {.id = "PACKET-whole-pages", .models = ZOO_PHYSICAL, .rules = "content", .since = ZOO_SINCE,
     .sentence = "writes into every fourth packet of Render whole pages alone",
     .plant = plant_take_whole_pages},
    {.id = "PACKET-write-forgotten", .models = ZOO_PHYSICAL, .rules = "content", .since = ZOO_SINCE,
     .sentence = "does not say in every fourth packet that the last reference is written",
     .plant = plant_forget_the_last},
    {.id = "PACKET-size-cut", .models = ZOO_PHYSICAL, .rules = "content", .since = ZOO_SINCE,
     .sentence = "keeps 16 bits of each size in every fourth packet of Render",
     .plant = plant_cut_size},
    {.id = "PACKET-first-allocation", .models = ZOO_PHYSICAL, .rules = "content fault PATCH-013",
     .since = ZOO_SINCE,
     .sentence = "names the first allocation for all references of every fourth packet",
     .plant = plant_name_the_first},
    {.id = "PACKET-size-patched", .models = ZOO_PHYSICAL, .rules = "content fault PATCH-022",
     .since = ZOO_SINCE,
     .sentence = "lists the place of a size instead of the one of an address",
     .plant = plant_patch_the_size},
    {.id = "PACKET-offset-forgotten", .models = ZOO_PHYSICAL, .rules = "content",
     .since = ZOO_SINCE,
     .sentence = "lists every fourth packet's addresses without AllocationOffset",
     .plant = plant_forget_offsets},
    {.id = "PACKET-unknown-command", .models = ZOO_PHYSICAL, .rules = "fault", .since = ZOO_SINCE,
     .sentence = "writes a command that the GPU does not know into every fourth packet",
     .plant = plant_name_another_command},
    {0},
};
/* clang-format on */
