/*
 * Lawful drivers (L01, ...): each does what few drivers do and what the contract allows. The bench
 * has nothing to say about them.
 */
#include "zoo/zoo_tables.h"

#include "drydock/sgpu.h"

#include <string.h>

/* ---- L01: another success status ---- */

static NTSTATUS set_power_state(struct miniport *self, ULONG device_uid, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    NTSTATUS status = miniport_set_power_state(self->next, device_uid, state, action);

    return status == STATUS_SUCCESS ? STATUS_OBJECT_NAME_EXISTS : status;
}

static void plant_power_status(struct zoo_layer *layer)
{
    layer->ops.set_power_state = set_power_state;
}

/* ---- L02: an end without its flag ---- */

static NTSTATUS query_end(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);

    if (!NT_SUCCESS(status) || !arg->pOutputData)
        return status;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

        for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
            DXGK_SEGMENTDESCRIPTOR3 *one = &out->pSegmentDescriptor[i];

            if (!one->Flags.PartiallyPreservedDuringHibernate)
                one->SystemMemoryEndAddress = one->Size - 1;
        }
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        DXGK_QUERYSEGMENTOUT4 *out = arg->pOutputData;

        for (UINT i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++) {
            DXGK_SEGMENTDESCRIPTOR4 *one =
                (void *)(out->pSegmentDescriptor + i * out->SegmentDescriptorStride);

            if (!one->Flags.PartiallyPreservedDuringHibernate)
                one->SystemMemoryEndAddress = one->Size - 1;
        }
    }
    return status;
}

static void plant_end(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_end;
}

/* ---- L03: operations padded to 512 bytes ---- */

#define PADDED_BYTES   512u
#define DECLARED_BYTES (64u * 1024)

/* The first of two calls asks how many segments there are, and tells nothing else. */
static NTSTATUS query_large_buffer(struct miniport *self, HANDLE object,
                                   const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);

    if (!NT_SUCCESS(status) || !arg->pOutputData)
        return status;
    if (arg->Type == DXGKQAITYPE_QUERYSEGMENT) {
        DXGK_QUERYSEGMENTOUT *out = arg->pOutputData;

        out->PagingBufferSize = out->PagingBufferSize ? DECLARED_BYTES : 0;
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT3) {
        DXGK_QUERYSEGMENTOUT3 *out = arg->pOutputData;

        out->PagingBufferSize = out->PagingBufferSize ? DECLARED_BYTES : 0;
    } else if (arg->Type == DXGKQAITYPE_QUERYSEGMENT4) {
        DXGK_QUERYSEGMENTOUT4 *out = arg->pOutputData;

        out->PagingBufferSize = out->PagingBufferSize ? DECLARED_BYTES : 0;
    }
    return status;
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

/* ---- L04: read and write sets that do not meet ---- */

/* Where there are several segments, the first one is for writing, the others for reading. */
static NTSTATUS create_split(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        UINT set = info->SupportedWriteSegmentSet, first = set & (0u - set);

        if (set == first)
            continue;
        info->SupportedWriteSegmentSet = first;
        info->SupportedReadSegmentSet = set & ~first;
    }
    return status;
}

static void plant_split(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_split;
}

/* ---- L05: slots that the CPU writes ---- */

/* state[0]: where the registers are mapped; state[1]: the device has gone. */
static NTSTATUS map_registers(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                              BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                              PVOID *virtual_address)
{
    NTSTATUS status = miniport_host_forward_ops.map_memory(
        host, translated, length, in_io_space, map_to_user_mode, cache_type, virtual_address);

    if (NT_SUCCESS(status) && length == SGPU_BAR0_BYTES)
        zoo_layer_of_host(host)->state[0] = (uintptr_t)*virtual_address;
    return status;
}

static NTSTATUS note_gone(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    zoo_layer_of(self)->state[1] = 1;
    return miniport_forward_ops.notify_surprise_removal(self, type);
}

/* Does what the packets of slots would do, from at to end. */
static void write_slots(const struct zoo_layer *layer, const char *at, const char *end)
{
    char *registers = (char *)(uintptr_t)layer->state[0];
    struct sgpu_packet_gart gart;

    for (; at < end; at += 4 * SGPU_PACKET_WORDS(gart.header)) {
        const char *pages = at + sizeof gart;
        bool is_fill;

        memcpy(&gart.header, at, sizeof gart.header);
        if (SGPU_PACKET_OPCODE(gart.header) == SGPU_OP_NOP)
            continue;
        memcpy(&gart, at, sizeof gart);
        is_fill = SGPU_PACKET_OPCODE(gart.header) == SGPU_OP_GART_FILL;
        WRITE_REGISTER_ULONG((volatile ULONG *)(registers + SGPU_REG_SLOT),
                             gart.first_slot |
                                 (gart.flags & SGPU_GART_COHERENT ? SGPU_SLOT_COHERENT : 0));
        for (uint32_t i = 0; i < gart.slot_count; i++) {
            uint64_t page;

            memcpy(&page, pages + (is_fill ? 0 : i) * sizeof page, sizeof page);
            WRITE_REGISTER_ULONG64((volatile ULONG64 *)(registers + SGPU_REG_SLOT_PAGE), page);
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
        if (!layer->state[1])
            write_slots(layer, packets, as.pDmaBuffer);
    } while (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
    return status;
}

static void plant_slots_now(struct zoo_layer *layer)
{
    layer->host_ops.map_memory = map_registers;
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

/* ---- L08: an alignment that is no power of two ---- */

static NTSTATUS create_aligned(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++) {
        if (arg->pAllocationInfo[i].Alignment <= 4096)
            arg->pAllocationInfo[i].Alignment = 3 * 4096;
    }
    return status;
}

static void plant_alignment(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_aligned;
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

/* clang-format off */
const struct zoo_defect zoo_lawful_drivers[] = {
    {.id = "L01-power-status", .models = ZOO_ALL, .rules = "",
     .sentence = "answers DxgkDdiSetPowerState with another success status than STATUS_SUCCESS",
     .lawful = "nc-dispmprt-dxgkddi_set_power_state", .plant = plant_power_status},
    {.id = "L02-memory-end", .models = ZOO_ALL, .rules = "",
     .sentence = "reports a SystemMemoryEndAddress without PartiallyPreservedDuringHibernate",
     .lawful = "ns-_dxgk_segmentdescriptor3", .plant = plant_end},
    {.id = "L03-padded-operations", .models = ZOO_ALL, .rules = "", .is_particular = true,
     .sentence = "pads each operation to 512 bytes, and declares paging buffers of 64 KiB",
     .lawful = "ns-_dxgk_querysegmentout3", .plant = plant_padding},
    {.id = "L04-split-sets", .models = ZOO_PHYSICAL, .rules = "",
     .sentence = "supports one segment for writing and others for reading",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_split},
    {.id = "L05-slots-by-cpu", .models = ZOO_ALL, .rules = "",
     .sentence = "writes aperture slots by registers while it builds, and no commands for them",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_slots_now},
    {.id = "L06-paging-patched", .models = ZOO_PHYSICAL, .rules = "", .is_particular = true,
     .sentence = "completes its paging buffers in DxgkDdiPatch",
     .lawful = "nc-dxgkddi_buildpagingbuffer", .plant = plant_unfinished},
    {.id = "L07-progress-kept", .models = ZOO_ALL, .rules = "",
     .sentence = "knows how far an operation is, leaves MultipassOffset 0, and forgets in a reset",
     .lawful = "ns-_dxgkarg_buildpagingbuffer", .plant = plant_memory},
    {.id = "L08-alignment", .models = ZOO_ALL, .rules = "",
     .sentence = "wants allocations at multiples of 12 KiB",
     .lawful = "ns-_dxgk_allocationinfo", .plant = plant_alignment},
    {.id = "L09-exact-flush", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "flushes [start, end) of the address space, and not a page more",
     .lawful = "ns-_dxgk_buildpagingbuffer_flushtlb", .plant = plant_exact_flush},
    {0},
};
/* clang-format on */
