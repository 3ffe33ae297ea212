/*
 * Lawful drivers that build paging buffers as few do.
 */
#include "zoo/zoo_tables.h"

#include "drydock/sgpu.h"
#include "miniport/operation.h"

#include <string.h>

/* ---- L03: operations padded to 512 bytes ---- */

#define PADDED_BYTES   512u
#define DECLARED_BYTES (64u * 1024)

/* The first of two calls asks how many segments there are, and tells nothing else. */
static NTSTATUS query_buffer(struct miniport *self, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *arg, UINT bytes)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    UINT *size = NULL;

    if (!NT_SUCCESS(status) || !arg->pOutputData)
        return status;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT)
        size = &((DXGK_QUERYSEGMENTOUT *)arg->pOutputData)->PagingBufferSize;
    else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3)
        size = &((DXGK_QUERYSEGMENTOUT3 *)arg->pOutputData)->PagingBufferSize;
    else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT4)
        size = &((DXGK_QUERYSEGMENTOUT4 *)arg->pOutputData)->PagingBufferSize;
    if (size && *size)
        *size = bytes;
    return status;
}

static NTSTATUS query_large_buffer(struct miniport *self, HANDLE object,
                                   const DXGKARG_QUERYADAPTERINFO *arg)
{
    return query_buffer(self, object, arg, DECLARED_BYTES);
}

/* Behind the operation's packets stand NOPs, up to the next multiple of 512 bytes. */
static NTSTATUS build_padded(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    const UINT size = arg->DmaSize;
    char *start = arg->pDmaBuffer;
    size_t used, padding;
    NTSTATUS status;

    if (!start)
        return miniport_forward_build_paging_buffer(self, object, arg);
    as.DmaSize = arg->DmaSize / PADDED_BYTES * PADDED_BYTES;
    status = zoo_build_as(self, object, arg, &as);
    used = (size_t)((char *)as.pDmaBuffer - start);
    padding = (PADDED_BYTES - used % PADDED_BYTES) % PADDED_BYTES;
    if (padding) {
        uint32_t header = SGPU_PACKET_HEADER(SGPU_OP_NOP, padding / 4);

        memset(as.pDmaBuffer, 0, padding);
        memcpy(as.pDmaBuffer, &header, sizeof header);
        arg->pDmaBuffer = start + used + padding;
    }
    arg->DmaSize = size; /* what the kernel offered stays there */
    return status;
}

static void plant_padding(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_large_buffer;
    layer->ops.build_paging_buffer = build_padded;
}

/* ---- L05: slots that the CPU writes ---- */

/* state[0]: the device has gone. */
static NTSTATUS note_gone(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    zoo_layer_of(self)->state[0] = 1;
    return miniport_forward_ops.notify_surprise_removal(self, type);
}

/* Does what the packets of slots would do, from at to end. */
static void write_slots(const struct zoo_layer *layer, const char *at, const char *end)
{
    struct sgpu_packet_gart gart;

    for (; at < end; at += 4 * SGPU_PACKET_WORDS(gart.header)) {
        const char *pages = at + sizeof gart;
        bool is_fill;

        memcpy(&gart.header, at, sizeof gart.header);
        if (SGPU_PACKET_OPCODE(gart.header) == SGPU_OP_NOP)
            continue;
        memcpy(&gart, at, sizeof gart);
        is_fill = SGPU_PACKET_OPCODE(gart.header) == SGPU_OP_GART_FILL;
        WRITE_REGISTER_ULONG((volatile ULONG *)(layer->registers + SGPU_REG_SLOT),
                             gart.first_slot |
                                 (gart.flags & SGPU_GART_COHERENT ? SGPU_SLOT_COHERENT : 0));
        for (uint32_t i = 0; i < gart.slot_count; i++) {
            uint64_t page;

            memcpy(&page, pages + (is_fill ? 0 : i) * sizeof page, sizeof page);
            WRITE_REGISTER_ULONG64((volatile ULONG64 *)(layer->registers + SGPU_REG_SLOT_PAGE),
                                   page);
        }
    }
}

/* Maps and unmaps have taken effect when the call returns; there is nothing to submit. */
static NTSTATUS build_slots_now(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    char packets[4096];
    NTSTATUS status;

    if (!arg->pDmaBuffer || (arg->Operation != DXGK_OPERATION_MAP_APERTURE_SEGMENT &&
                             arg->Operation != DXGK_OPERATION_MAP_APERTURE_SEGMENT2 &&
                             arg->Operation != DXGK_OPERATION_UNMAP_APERTURE_SEGMENT))
        return miniport_forward_build_paging_buffer(self, object, arg);
    as.pDmaBufferPrivateData = NULL;
    as.DmaBufferPrivateDataSize = 0;
    do {
        as.pDmaBuffer = packets;
        as.DmaSize = sizeof packets;
        status = miniport_forward_build_paging_buffer(self, object, &as);
        if (!layer->state[0])
            write_slots(layer, packets, as.pDmaBuffer);
    } while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    return status;
}

static void plant_slots_now(struct zoo_layer *layer)
{
    zoo_note_registers(layer);
    layer->ops.notify_surprise_removal = note_gone;
    layer->ops.build_paging_buffer = build_slots_now;
}

/* ---- L06: paging buffers that Patch completes ---- */

#define UNFINISHED UINT32_C(0x80) /* in an opcode: the GPU knows none with it */

/* Whatever is built is no packet of the GPU's before it is patched. */
static NTSTATUS build_unfinished(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    char *at = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);
    uint32_t header;

    for (; at && at < (char *)arg->pDmaBuffer; at += 4 * SGPU_PACKET_WORDS(header)) {
        memcpy(&header, at, sizeof header);
        *at = (char)(*at | UNFINISHED);
        if (!SGPU_PACKET_WORDS(header))
            break;
    }
    return status;
}

static NTSTATUS patch_unfinished(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    char *at = (char *)arg->pDmaBuffer + arg->DmaBufferSubmissionStartOffset;
    char *end = (char *)arg->pDmaBuffer + arg->DmaBufferSubmissionEndOffset;
    uint32_t header;

    for (; arg->Flags.Paging && at < end; at += 4 * SGPU_PACKET_WORDS(header)) {
        memcpy(&header, at, sizeof header);
        *at = (char)(*at & ~UNFINISHED);
        if (!SGPU_PACKET_WORDS(header))
            break;
    }
    return miniport_forward_patch(self, object, arg);
}

static void plant_unfinished(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_unfinished;
    layer->ops.patch = patch_unfinished;
}

/* ---- L07: progress that the driver keeps ---- */

/* MultipassOffset stays 0: how far the operation is stands in state[0], and a reset ends it. */
static NTSTATUS build_by_memory(struct miniport *self, HANDLE object,
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

static NTSTATUS forget_in_reset(struct miniport *self, HANDLE object)
{
    zoo_layer_of(self)->state[0] = 0;
    return miniport_forward_reset_from_timeout(self, object);
}

static void plant_memory(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_by_memory;
    layer->ops.reset_from_timeout = forget_in_reset;
}

/* ---- L09: flushes that end where they are asked to ---- */

/* The reference driver flushes one page more (docs/contract-choices.md, U4). */
static NTSTATUS build_exact_flush(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_FLUSHTLB *asked = &arg->FlushTlb;
    char *at = arg->pDmaBuffer;
    struct sgpu_packet_tlb_flush packet;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    if (arg->Operation != DXGK_OPERATION_FLUSH_TLB || !at || arg->pDmaBuffer == at)
        return status;
    memcpy(&packet, at, sizeof packet);
    if (!(packet.flags & SGPU_TLB_ALL) && asked->EndVirtualAddress > packet.start)
        packet.end = asked->EndVirtualAddress;
    memcpy(at, &packet, sizeof packet);
    return status;
}

static void plant_exact_flush(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_exact_flush;
}

/* ---- L10: room that is not used ---- */

/*
 * Behind other operations; a paging buffer begins at a page. Neither an unknown operation needs
 * room, nor one on the slots of a paging buffer, which are written by registers.
 */
static bool is_behind_others(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const enum miniport_operation_kind kind = miniport_operation_kind((unsigned)arg->Operation);
    bool is_of_buffer = (kind == MINIPORT_KIND_MAP || kind == MINIPORT_KIND_UNMAP) &&
                        !miniport_operation_allocation(arg);

    return arg->pDmaBuffer && ((uintptr_t)arg->pDmaBuffer & 4095) != 0 &&
           kind != MINIPORT_KIND_NONE && !is_of_buffer;
}

/* Now and then the rest of a buffer is not to its liking. */
static NTSTATUS build_in_fresh_sometimes(struct miniport *self, HANDLE object,
                                         DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_behind_others(arg) && EVERY(zoo_layer_of(self), 3))
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static void plant_fresh_sometimes(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_in_fresh_sometimes;
}

/* ---- L11: one operation a buffer ---- */

static NTSTATUS build_alone(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (is_behind_others(arg))
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static void plant_alone(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_alone;
}

/* ---- L12: little at a time ---- */

#define LITTLE_BYTES 384u

/* However much room there is, the driver fills this much of it in a call. */
static NTSTATUS build_little(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    const UINT size = arg->DmaSize;
    NTSTATUS status;

    if (arg->pDmaBuffer && as.DmaSize > LITTLE_BYTES)
        as.DmaSize = LITTLE_BYTES;
    status = zoo_build_as(self, object, arg, &as);
    arg->DmaSize = size;
    return status;
}

static void plant_little(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_little;
}

/* ---- L13: NOPs in front ---- */

#define FRONT_BYTES 64u

/* In front of the packets of each operation stand NOPs, too, where there is room for them. */
static NTSTATUS build_behind_nops(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    const uint32_t header = SGPU_PACKET_HEADER(SGPU_OP_NOP, FRONT_BYTES / 4);
    const UINT size = arg->DmaSize;
    char *start = arg->pDmaBuffer;
    NTSTATUS status;

    if (!start || size <= 4 * FRONT_BYTES)
        return miniport_forward_build_paging_buffer(self, object, arg);
    as.pDmaBuffer = start + FRONT_BYTES;
    as.DmaSize = size - FRONT_BYTES;
    as.DmaBufferWriteOffset += FRONT_BYTES;
    status = zoo_build_as(self, object, arg, &as);
    arg->DmaSize = size;
    if (as.pDmaBuffer == start + FRONT_BYTES) {
        arg->pDmaBuffer = start; /* no packet, no NOPs */
        return status;
    }
    memset(start, 0, FRONT_BYTES);
    memcpy(start, &header, sizeof header);
    return status;
}

static void plant_nops(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_behind_nops;
}

/* ---- L14: notices without commands ---- */

/* Fences that move their homes are the hardware's business, the others are not. */
static NTSTATUS build_no_notice(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const enum miniport_operation_kind kind = miniport_operation_kind((unsigned)arg->Operation);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    char packets[4096];

    if (!arg->pDmaBuffer || arg->Operation == DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY ||
        (kind != MINIPORT_KIND_NOTICE && kind != MINIPORT_KIND_DISCARD))
        return miniport_forward_build_paging_buffer(self, object, arg);
    as.pDmaBuffer = packets;
    as.DmaSize = sizeof packets;
    as.pDmaBufferPrivateData = NULL;
    as.DmaBufferPrivateDataSize = 0;
    return miniport_forward_build_paging_buffer(self, object, &as);
}

static void plant_no_notice(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_no_notice;
}

/* ---- L15: everything is flushed ---- */

static NTSTATUS build_whole_flush(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    if (arg->Operation == DXGK_OPERATION_FLUSH_TLB)
        as.FlushTlb.StartVirtualAddress = as.FlushTlb.EndVirtualAddress = 0;
    return zoo_build_as(self, object, arg, &as);
}

static void plant_whole_flush(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_whole_flush;
}

/* ---- L34: paging buffers of an odd size ---- */

#define ODD_BYTES 50004u /* no multiple of a page */

static NTSTATUS query_odd_buffer(struct miniport *self, HANDLE object,
                                 const DXGKARG_QUERYADAPTERINFO *arg)
{
    return query_buffer(self, object, arg, ODD_BYTES);
}

static void plant_odd_buffer(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_odd_buffer;
}

/*
 * Has the driver build one operation more behind the one that arg has come back from, in the rest
 * of the `size` bytes that were offered. The caller knows that there is room for it.
 */
static void build_behind(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                         DXGKARG_BUILDPAGINGBUFFER *more, UINT size)
{
    const size_t used = (size_t)((char *)arg->pDmaBuffer - (char *)more->pDmaBuffer);

    more->pDmaBuffer = arg->pDmaBuffer;
    more->DmaSize = size - (UINT)used;
    more->DmaBufferWriteOffset += used;
    more->DmaBufferPrivateDataSize -=
        (UINT)((char *)arg->pDmaBufferPrivateData - (char *)more->pDmaBufferPrivateData);
    more->pDmaBufferPrivateData = arg->pDmaBufferPrivateData;
    miniport_forward_build_paging_buffer(self, object, more);
    arg->pDmaBuffer = more->pDmaBuffer;
    arg->pDmaBufferPrivateData = more->pDmaBufferPrivateData;
    arg->DmaSize = size;
}

/* ---- L35: the second half first ---- */

#define ROOM_FOR_TWO 2048u /* bytes that the packets of two fills, or copies, need at most */
#define MOST_HALVED  (1u << 20)

/* As for the half from `from` on, of `bytes` bytes, where this operation has halves. */
static void take_part(DXGKARG_BUILDPAGINGBUFFER *as, uint64_t from, uint64_t bytes)
{
    switch ((unsigned)as->Operation) {
    case DXGK_OPERATION_FILL:
        as->Fill.FillSize = (SIZE_T)bytes;
        as->Fill.Destination.SegmentAddress.QuadPart += (LONGLONG)from;
        break;
    case DXGK_OPERATION_VIRTUAL_FILL:
        as->FillVirtual.FillSizeInBytes = bytes;
        as->FillVirtual.AllocationOffsetInBytes += from;
        as->FillVirtual.DestinationVirtualAddress += from;
        break;
    default:
        as->TransferVirtual.TransferSizeInBytes = bytes;
        as->TransferVirtual.AllocationOffsetInBytes += from;
        as->TransferVirtual.SourceVirtualAddress += from;
        as->TransferVirtual.DestinationVirtualAddress += from;
        break;
    }
}

/* 0: it is no such operation. */
static uint64_t bytes_in_halves(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_FILL:
        return arg->Fill.FillSize;
    case DXGK_OPERATION_VIRTUAL_FILL:
        return arg->FillVirtual.FillSizeInBytes;
    case DXGK_OPERATION_VIRTUAL_TRANSFER:
        return arg->TransferVirtual.TransferSizeInBytes;
    default:
        return 0;
    }
}

/* Fills, and copies by address, go from their end to their start where there is room for both. */
static NTSTATUS build_backwards(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const uint64_t bytes = bytes_in_halves(arg), half = bytes / 2 & ~UINT64_C(4095);
    DXGKARG_BUILDPAGINGBUFFER as = *arg, first = *arg;
    const UINT size = arg->DmaSize;
    NTSTATUS status;

    if (!half || bytes > MOST_HALVED || size < ROOM_FOR_TWO || arg->MultipassOffset)
        return miniport_forward_build_paging_buffer(self, object, arg);
    take_part(&as, half, bytes - half);
    status = zoo_build_as(self, object, arg, &as);
    if (status != STATUS_SUCCESS)
        return status;
    take_part(&first, 0, half);
    build_behind(self, object, arg, &first, size);
    return status;
}

static void plant_backwards(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_backwards;
}

/* ---- L36: a flush behind each update ---- */

#define ROOM_FOR_FLUSH 256u

static NTSTATUS build_and_flush(struct miniport *self, HANDLE object,
                                DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const UINT size = arg->DmaSize;
    const char *start = arg->pDmaBuffer;
    DXGKARG_BUILDPAGINGBUFFER flush = *arg;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    if (arg->Operation != DXGK_OPERATION_UPDATE_PAGE_TABLE || status != STATUS_SUCCESS || !start ||
        size - (size_t)((char *)arg->pDmaBuffer - start) < ROOM_FOR_FLUSH)
        return status;
    flush.Operation = DXGK_OPERATION_FLUSH_TLB;
    flush.FlushTlb = (DXGK_BUILDPAGINGBUFFER_FLUSHTLB){.hProcess = arg->UpdatePageTable.hProcess};
    build_behind(self, object, arg, &flush, size);
    return status;
}

static void plant_flush(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = build_and_flush;
}

/* clang-format off */
const struct zoo_defect zoo_lawful_paging[] = {
    {.id = "L03-padded-operations", .models = ZOO_ALL, .rules = "", .is_particular = true,
     .sentence = "pads each operation to 512 bytes, and declares paging buffers of 64 KiB",
     .lawful = "ns-_dxgk_querysegmentout3", .plant = plant_padding},
    {.id = "L05-slots-by-cpu", .models = ZOO_ALL, .rules = "",
     .sentence = "writes aperture slots by registers while it builds, and no commands for them",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_slots_now},
    {.id = "L06-paging-patched", .models = ZOO_PHYSICAL, .rules = "", .is_particular = true,
     .sentence = "completes its paging buffers in DxgkDdiPatch",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_unfinished},
    {.id = "L07-progress-kept", .models = ZOO_ALL, .rules = "",
     .sentence = "knows how far an operation is, leaves MultipassOffset 0, and forgets in a reset",
     .lawful = "ns-_dxgkarg_buildpagingbuffer", .plant = plant_memory},
    {.id = "L09-exact-flush", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "flushes [start, end) of the address space, and not a page more",
     .lawful = "ns-_dxgk_buildpagingbuffer_flushtlb", .plant = plant_exact_flush},
    {.id = "L10-room-refused", .models = ZOO_ALL, .rules = "",
     .sentence = "answers INSUFFICIENT now and then though there is room behind other operations",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_fresh_sometimes},
    {.id = "L11-one-a-buffer", .models = ZOO_ALL, .rules = "",
     .sentence = "wants a fresh paging buffer for each operation",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_alone},
    {.id = "L12-little-at-a-time", .models = ZOO_ALL, .rules = "",
     .sentence = "fills 384 bytes in a call at most, however much room there is",
     .lawful = "ns-_dxgkarg_buildpagingbuffer", .plant = plant_little},
    {.id = "L13-nops-in-front", .models = ZOO_PHYSICAL | ZOO_IOMMU, .rules = "",
     .sentence = "puts NOPs in front of each operation",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_nops},
    {.id = "L14-notices-noted", .models = ZOO_ALL, .rules = "",
     .sentence = "notes notices and discards by the CPU, and builds nothing for them",
     .lawful = "ne-_dxgk_buildpagingbuffer_operation", .plant = plant_no_notice},
    {.id = "L15-whole-flush", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "flushes the whole address space, whatever it is asked to flush",
     .lawful = "ns-_dxgk_buildpagingbuffer_flushtlb", .plant = plant_whole_flush},
    {.id = "L34-odd-paging-buffer", .models = ZOO_ALL, .rules = "", .is_particular = true,
     .sentence = "declares paging buffers of 50,004 bytes",
     .lawful = "ns-_dxgk_querysegmentout3", .plant = plant_odd_buffer},
    {.id = "L35-second-half-first", .models = ZOO_ALL, .rules = "",
     .sentence = "fills, and copies by address, the second half of what is asked for before the first",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_backwards},
    {.id = "L36-flush-behind", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "flushes the whole address space behind each update of a page table",
     .lawful = "ns-_dxgk_buildpagingbuffer_updatepagetable", .plant = plant_flush},
    {0},
};
/* clang-format on */
