/*
 * Watcher: what Render, RenderKm, RenderGdi and Present make, and what Patch makes of it (PATCH).
 *
 * The bits that a GPU takes for an address are told by the bench
 * (check_config.patched_address), so that the bytes of a patched buffer are compared and not only
 * seen to change.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "check/guard/check_patch_guard.h"

#include <string.h>

/* A DMA buffer, as Render or Present filled it last. */
struct patched_buffer {
    bool is_present;
    uint64_t physical; /* 0: not told */
    uint32_t patched_end;
};

/* The Patch of the next submission from a place. */
struct pending_patch {
    DXGKARG_PATCH arg;
    bool is_pending;
};

/* A DMA buffer with a virtual address, as Present or RenderGdi filled it last. */
struct shown_buffer {
    HANDLE context; /* NULL: it has gone */
    uint64_t va;
    uint32_t bytes;
    bool is_present;
};

struct patch_watch {
    struct id_map buffers; /* by their address */
    struct id_map patches; /* by physical address and segment */
    struct id_map shown;   /* by virtual address and context */
    HANDLE wanting;        /* the context whose last answer was that it wants another DMA buffer */
    uint32_t wanted;       /* so many times, one after the other */
};

/* NULL: no memory. */
static void *find_or_make(struct check *check, struct id_map *map, uint64_t key, size_t size)
{
    const struct base_services *services = check_configuration(check)->services;
    void *value = id_map_find(map, key);

    if (value)
        return value;
    value = base_alloc(services, size);
    if (!value || !id_map_set(map, key, value)) {
        base_free(services, value, size);
        check_lost(check);
        return NULL;
    }
    return value;
}

static struct patched_buffer *buffer_at(struct check *check, struct patch_watch *watch,
                                        const void *start)
{
    return find_or_make(check, &watch->buffers, (uint64_t)(uintptr_t)start,
                        sizeof(struct patched_buffer));
}

static uint64_t key_of_place(unsigned segment, uint64_t address)
{
    return address << 5 | segment;
}

static uint64_t key_of_shown(HANDLE context, uint64_t va)
{
    return (uint64_t)(uintptr_t)context * UINT64_C(0x9e3779b97f4a7c15) ^ va;
}

/* The driver's context that the call is for; of a hardware queue, the one that it belongs to. */
static HANDLE context_of(struct check *check, const struct check_call *call)
{
    const struct check_queue *queue;

    if (call->ddi != MINIPORT_DDI_PresentToHwQueue)
        return call->object;
    queue = check_find_queue(check_ledger(check), call->object);
    return queue ? queue->context : NULL;
}

/* Its commands hold virtual addresses, and nobody patches them. */
static bool is_by_address(struct check *check, HANDLE handle)
{
    const struct check_context *context = check_find_context(check_ledger(check), handle);

    return context && context->flags.VirtualAddressing;
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void check_list(struct check *check, const struct check_object *context,
                       const DXGK_ALLOCATIONLIST *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const DXGK_ALLOCATIONLIST *entry = &list[i];
        const struct check_segment *segment =
            check_find_segment(check_ledger(check), entry->SegmentId);
        uint64_t address = (uint64_t)entry->PhysicalAddress.QuadPart;
        bool is_somewhere = entry->SegmentId != 0;
        /* Where the window of an AGP bridge is, is not the driver's to say (BANK-007). */
        bool is_inside =
            segment && (segment->flags.Agp ||
                        (address >= segment->base && address - segment->base < segment->size));

        CHECK_RULE(check, RULE_PATCH_015, !entry->Reserved && (!is_somewhere || is_inside), context,
                   check_field(check, "pAllocationList[%u]", i),
                   "segment %u, address 0x%llx, reserved bits 0x%x: %s", entry->SegmentId,
                   (unsigned long long)address, entry->Reserved,
                   entry->Reserved ? "the reserved bits are 0"
                   : segment       ? "the address is not of the segment"
                                   : "there is no such segment");
    }
}

/* The bits that the GPU is to find at the location; false: unknown. */
static bool expected_bits(struct check *check, const DXGK_ALLOCATIONLIST *entry,
                          const D3DDDI_PATCHLOCATIONLIST *location, uint64_t *out_bits)
{
    const struct check_config *config = check_configuration(check);
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_segment *segment = check_find_segment(ledger, entry->SegmentId);
    const struct check_allocation *allocation =
        check_find_opened(ledger, entry->hDeviceSpecificAllocation);

    if (!segment || !config->patched_address)
        return false;
    return config->patched_address(
        config->context, segment->flags, (uint64_t)entry->PhysicalAddress.QuadPart,
        location->AllocationOffset,
        allocation && check_bytes_in(ledger, allocation, segment->id) != allocation->bytes,
        out_bits);
}

/* ---- Render and Present ---------------------------------------------------------------------- */

/* What both have, before the call and after it. */
struct making {
    const void *buffer, *buffer_end;
    uint32_t buffer_bytes;
    const D3DDDI_PATCHLOCATIONLIST *locations, *locations_end;
    uint32_t location_count;
    const DXGK_ALLOCATIONLIST *allocations;
    uint32_t allocation_count;
    uint32_t multipass, multipass_end;
    uint32_t most_buffers; /* that it can fill: each takes a word of the commands, or a rectangle */
    uint32_t segment;
    uint64_t address;
    uint64_t va; /* where commands hold virtual addresses; 0: a Render's has none */
    bool is_present;
};

#define MOST_EMPTY_BUFFERS 64u /* a driver may begin with something of its own */

/* DXGKARG_RENDER and DXGKARG_PRESENT have these members under the same names. */
#define MAKING(before, arg, count, steps, gpu_va, is_of_present)                                   \
    {                                                                                              \
        .buffer = (before)->pDmaBuffer, .buffer_end = (arg)->pDmaBuffer,                           \
        .buffer_bytes = (before)->DmaSize, .locations = (before)->pPatchLocationListOut,           \
        .locations_end = (arg)->pPatchLocationListOut,                                             \
        .location_count = (before)->PatchLocationListOutSize,                                      \
        .allocations = (arg)->pAllocationList, .allocation_count = count,                          \
        .multipass = (before)->MultipassOffset, .multipass_end = (arg)->MultipassOffset,           \
        .most_buffers = MOST_EMPTY_BUFFERS + (steps), .segment = (before)->DmaBufferSegmentId,     \
        .address = (uint64_t)(before)->DmaBufferPhysicalAddress.QuadPart, .va = gpu_va,            \
        .is_present = is_of_present                                                                \
    }

/* What the driver put there where it knew the address already: it is right without Patch. */
static void check_prepatched(struct check *check, const struct check_object *context,
                             const struct making *making, uint64_t bytes,
                             const D3DDDI_PATCHLOCATIONLIST *location, uint32_t index)
{
    const DXGK_ALLOCATIONLIST *entry;
    uint64_t expected, found;

    if (location->AllocationIndex >= making->allocation_count)
        return;
    entry = &making->allocations[location->AllocationIndex];
    if (!entry->SegmentId || (uint64_t)location->PatchOffset + sizeof found > bytes ||
        !expected_bits(check, entry, location, &expected))
        return;
    memcpy(&found, (const char *)making->buffer + location->PatchOffset, sizeof found);
    CHECK_RULE(check, RULE_PATCH_011, found == expected, context,
               check_field(check, "pPatchLocationListOut[%u]", index),
               "0x%llx stands at 0x%x; allocation %u is in segment %u already, and 0x%llx would "
               "be right without Patch",
               (unsigned long long)found, location->PatchOffset, location->AllocationIndex,
               entry->SegmentId, (unsigned long long)expected);
}

/* Behind the last page of the allocation lies memory of others. */
static void check_offset(struct check *check, const struct check_object *context,
                         const struct making *making, const D3DDDI_PATCHLOCATIONLIST *location,
                         uint32_t index)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_allocation *allocation;
    uint64_t bytes;

    if (location->AllocationIndex >= making->allocation_count)
        return;
    allocation = check_find_opened(
        ledger, making->allocations[location->AllocationIndex].hDeviceSpecificAllocation);
    if (!allocation)
        return;
    bytes = ROUND_TO_PAGES(max_u64(allocation->bytes, allocation->info.PitchAlignedSize));
    CHECK_RULE(check, RULE_PATCH_022, location->AllocationOffset <= bytes, context,
               check_field(check, "pPatchLocationListOut[%u].AllocationOffset", index),
               "is {0x%x}; allocation %u of the list has {=~less than ~0x%llx} bytes",
               location->AllocationOffset, location->AllocationIndex, (unsigned long long)bytes);
}

static void check_locations(struct check *check, const struct check_object *context,
                            const struct making *making, uint64_t bytes, uint64_t count)
{
    const D3DDDI_PATCHLOCATIONLIST *list = making->locations;
    uint32_t slots = check_ledger(check)->caps.driver.MaxAllocationListSlotId;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t last = i ? list[i - 1].SplitOffset : 0;
        bool has_slot = !list[i].SlotId || list[i].SlotId < slots;
        bool has_entry = list[i].AllocationIndex < making->allocation_count;

        CHECK_RULE(check, RULE_PATCH_012,
                   list[i].SplitOffset >= last && list[i].SplitOffset <= bytes, context,
                   check_field(check, "pPatchLocationListOut[%u]", i),
                   "splits at 0x%x, behind 0x%x of the one before; 0x%llx bytes were made",
                   list[i].SplitOffset, last, (unsigned long long)bytes);
        CHECK_RULE(check, RULE_PATCH_013, has_slot && has_entry, context,
                   check_field(check, "pPatchLocationListOut[%u]", i),
                   has_entry ? "slot {%u}; MaxAllocationListSlotId is {=~at most ~%u}"
                             : "allocation {%u}; the list has {=~less than ~%u}",
                   has_entry ? list[i].SlotId : list[i].AllocationIndex,
                   has_entry ? slots : making->allocation_count);
        check_offset(check, context, making, &list[i], i);
        check_prepatched(check, context, making, bytes, &list[i], i);
    }
}

/*
 * An address without a location is patched by nobody, and what it names may be nowhere in memory.
 */
static void check_all_listed(struct check *check, const struct check_object *context,
                             const void *buffer, uint64_t bytes, uint64_t count)
{
    const struct check_config *config = check_configuration(check);
    uint32_t references;

    if (!config->count_references)
        return;
    references = config->count_references(config->context, buffer, bytes);
    CHECK_RULE(check, RULE_PATCH_011, count >= references, context, "pPatchLocationListOut",
               "{moved by %llu}; the commands of 0x%llx bytes have {=~at least ~%u} addresses of "
               "allocations",
               (unsigned long long)count, (unsigned long long)bytes, references);
}

/* The statuses of nc-dxgkddi_render. */
static bool is_status_of_render(NTSTATUS status)
{
    static const NTSTATUS documented[] = {
        STATUS_SUCCESS,
        STATUS_NO_MEMORY,
        STATUS_INVALID_PARAMETER,
        STATUS_INVALID_USER_BUFFER,
        STATUS_INVALID_HANDLE,
        STATUS_PRIVILEGED_INSTRUCTION,
        STATUS_ILLEGAL_INSTRUCTION,
        STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE,
    };

    for (size_t i = 0; i < sizeof documented / sizeof *documented; i++) {
        if (status == documented[i])
            return true;
    }
    return false;
}

/* The statuses of nc-dxgkddi_present. */
static bool is_status_of_present(NTSTATUS status)
{
    static const NTSTATUS documented[] = {
        STATUS_SUCCESS,
        STATUS_NO_MEMORY,
        STATUS_INSUFFICIENT_RESOURCES,
        STATUS_INVALID_HANDLE,
        STATUS_PRIVILEGED_INSTRUCTION,
        STATUS_ILLEGAL_INSTRUCTION,
        STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        STATUS_GRAPHICS_CANNOTCOLORCONVERT,
        STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE,
    };

    for (size_t i = 0; i < sizeof documented / sizeof *documented; i++) {
        if (status == documented[i])
            return true;
    }
    return false;
}

/* The statuses of nc-d3dkmddi-dxgkddi_renderkm. */
static bool is_status_of_render_km(NTSTATUS status)
{
    static const NTSTATUS documented[] = {
        STATUS_SUCCESS,
        STATUS_NO_MEMORY,
        STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        STATUS_INVALID_PARAMETER,
        STATUS_ILLEGAL_INSTRUCTION,
        STATUS_INVALID_USER_BUFFER,
        STATUS_INVALID_HANDLE,
        STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE,
    };

    for (size_t i = 0; i < sizeof documented / sizeof *documented; i++) {
        if (status == documented[i])
            return true;
    }
    return false;
}

static void note_shown(struct check *check, struct patch_watch *watch, HANDLE context,
                       const struct making *making, uint32_t bytes)
{
    struct shown_buffer *shown =
        find_or_make(check, &watch->shown, key_of_shown(context, making->va), sizeof *shown);

    if (shown)
        *shown = (struct shown_buffer){
            .context = context, .va = making->va, .bytes = bytes, .is_present = making->is_present};
}

/* The command buffer of a Render may be guaranteed to fit, the rectangles of a Present never. */
static void check_making(struct check *check, struct patch_watch *watch,
                         const struct check_call *call, const struct making *making)
{
    const HANDLE handle = context_of(check, call);
    const struct check_object *context = check_find(check_ledger(check), CHECK_CONTEXT, handle);
    int64_t moved = (int64_t)((uintptr_t)making->buffer_end - (uintptr_t)making->buffer);
    int64_t listed = (int64_t)((uintptr_t)making->locations_end - (uintptr_t)making->locations) /
                     (int64_t)sizeof *making->locations;
    bool is_short = call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    bool is_inside = moved >= 0 && moved <= (int64_t)making->buffer_bytes && listed >= 0 &&
                     listed <= (int64_t)making->location_count;
    bool is_guaranteed = !making->is_present && check_configuration(check)->guarantees_one_buffer;
    struct patched_buffer *buffer;

    if (!NT_SUCCESS(call->status) && !is_short)
        return;
    if (!CHECK_RULE(
            check, RULE_PATCH_014, is_inside, context, "pDmaBuffer",
            "{moved by %lld bytes and %lld patch locations}; {=~at most ~%u and %u} were offered",
            (long long)moved, (long long)listed, making->buffer_bytes, making->location_count))
        return;
    if (is_short)
        CHECK_RULE(check, RULE_PATCH_014,
                   (moved || making->multipass_end != making->multipass) && !is_guaranteed, context,
                   "status",
                   is_guaranteed
                       ? "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER after %lld bytes; one buffer of "
                         "%u is guaranteed to be enough"
                       : "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER after %lld bytes of %u, and "
                         "MultipassOffset has not moved",
                   (long long)moved, making->buffer_bytes);
    watch->wanted = is_short ? (handle == watch->wanting ? watch->wanted : 0) + 1 : 0;
    watch->wanting = handle;
    if (is_short)
        CHECK_RULE(
            check, RULE_PATCH_014, watch->wanted < making->most_buffers, context, "status",
            "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER for the %uth time, one after the other: "
            "what is to be translated does not fill so many DMA buffers",
            watch->wanted);
    if (is_by_address(check, handle)) {
        if (making->va)
            note_shown(check, watch, handle, making, (uint32_t)moved);
        return;
    }
    check_all_listed(check, context, making->buffer, (uint64_t)moved, (uint64_t)listed);
    check_locations(check, context, making, (uint64_t)moved, (uint64_t)listed);
    buffer = buffer_at(check, watch, making->buffer);
    if (buffer)
        *buffer = (struct patched_buffer){
            .is_present = making->is_present,
            /* Where an aperture shows it, it may be shown elsewhere by then. */
            .physical = making->segment ? 0 : making->address,
        };
}

static void after_render(struct check *check, struct patch_watch *watch,
                         const struct check_call *call)
{
    const struct making making =
        MAKING(call->before.render, call->arg.render, call->arg.render->AllocationListSize,
               call->before.render->CommandLength / sizeof(ULONG), 0, false);
    const struct check_object *context =
        check_find(check_ledger(check), CHECK_CONTEXT, call->object);

    if (call->ddi == MINIPORT_DDI_RenderKm)
        CHECK_RULE(check, RULE_PATCH_026, is_status_of_render_km(call->status), context, "status",
                   "{0x%08x} is no status of this call{=~a status of this call~}",
                   (unsigned)call->status);
    else
        CHECK_RULE(check, RULE_PATCH_016, is_status_of_render(call->status), context, "status",
                   "{0x%08x} is no status of this call{=~a status of this call~}",
                   (unsigned)call->status);
    check_making(check, watch, call, &making);
}

/* The page knows success alone; docs/contract-choices.md has the reading of the other one. */
static void after_render_gdi(struct check *check, struct patch_watch *watch,
                             const struct check_call *call)
{
    const DXGKARG_RENDERGDI *before = call->before.render_gdi, *arg = call->arg.render_gdi;
    const struct making making = {
        .buffer = before->pDmaBuffer,
        .buffer_end = arg->pDmaBuffer,
        .buffer_bytes = before->DmaSize,
        .multipass = before->MultipassOffset,
        .multipass_end = arg->MultipassOffset,
        .most_buffers = MOST_EMPTY_BUFFERS + before->CommandLength / (uint32_t)sizeof(ULONG),
        .va = before->DmaBufferGpuVirtualAddress,
    };

    CHECK_RULE(
        check, RULE_PATCH_026,
        call->status == STATUS_SUCCESS || call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER,
        check_find(check_ledger(check), CHECK_CONTEXT, call->object), "status",
        "{0x%08x} is no status of this call{=~a status of this call~}", (unsigned)call->status);
    check_making(check, watch, call, &making);
}

static void after_present(struct check *check, struct patch_watch *watch,
                          const struct check_call *call)
{
    const struct making making = MAKING(
        call->before.present, call->arg.present, MINIPORT_PRESENT_ALLOCATIONS,
        call->before.present->SubRectCnt, call->before.present->DmaBufferGpuVirtualAddress, true);
    bool makes_nothing = call->before.present->Flags.Flip && !call->before.present->pDmaBuffer;

    CHECK_RULE(check, RULE_PATCH_021, is_status_of_present(call->status),
               check_find(check_ledger(check), CHECK_CONTEXT, context_of(check, call)), "status",
               "{0x%08x} is no status of this call{=~a status of this call~}",
               (unsigned)call->status);
    if (!makes_nothing)
        check_making(check, watch, call, &making);
}

/* An element has where the process sees its allocation, and no place. */
static void check_seen(struct check *check, const struct check_object *context,
                       const DXGK_ALLOCATIONLIST *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const DXGK_ALLOCATIONLIST *entry = &list[i];
        bool has_address = entry->VirtualAddress && entry->VirtualAddress % PAGE_SIZE == 0;

        CHECK_RULE(check, RULE_PATCH_023,
                   entry->hDeviceSpecificAllocation ? has_address && !entry->SegmentId
                                                    : !entry->VirtualAddress && !entry->SegmentId,
                   context, check_field(check, "pAllocationList[%u].VirtualAddress", i),
                   "is {0x%llx}, in segment %u (expected {=%s, in segment 0})",
                   (unsigned long long)entry->VirtualAddress, entry->SegmentId,
                   entry->hDeviceSpecificAllocation ? "the address of a page" : "0");
    }
}

/* What the driver is told where its commands name virtual addresses. */
static void check_addresses(struct check *check, const struct check_object *context,
                            const DXGKARG_PRESENT *arg)
{
    CHECK_RULE(check, RULE_PATCH_023,
               arg->DmaBufferGpuVirtualAddress && !arg->DmaBufferSegmentId &&
                   !arg->PatchLocationListOutSize,
               context, "DmaBufferGpuVirtualAddress",
               "is 0x%llx, DmaBufferSegmentId %u, and there is a list of %u patch locations",
               (unsigned long long)arg->DmaBufferGpuVirtualAddress, arg->DmaBufferSegmentId,
               arg->PatchLocationListOutSize);
    check_seen(check, context, arg->pAllocationList, MINIPORT_PRESENT_ALLOCATIONS);
}

/* ---- What the kernel draws ---- */

/* What the commands that copy or fill have; others are not looked into. */
struct drawing {
    const RECT *rectangles;
    RECT destination;
    UINT count, highest_index;
};

static bool drawing_of(const DXGK_RENDERKM_COMMAND *command, struct drawing *out)
{
    const DXGK_GDIARG_BITBLT *copy = &command->Command.BitBlt;
    const DXGK_GDIARG_COLORFILL *fill = &command->Command.ColorFill;

    if (command->OpCode == DXGK_GDIOP_BITBLT)
        *out = (struct drawing){copy->pSubRects, copy->DstRect, copy->NumSubRects,
                                copy->SrcAllocationIndex > copy->DstAllocationIndex
                                    ? copy->SrcAllocationIndex
                                    : copy->DstAllocationIndex};
    else if (command->OpCode == DXGK_GDIOP_COLORFILL)
        *out = (struct drawing){fill->pSubRects, fill->DstRect, fill->NumSubRects,
                                fill->DstAllocationIndex};
    else
        return false;
    return true;
}

static bool is_in(const RECT *part, const RECT *all)
{
    return part->left >= all->left && part->right <= all->right && part->top >= all->top &&
           part->bottom <= all->bottom;
}

/* The commands fill the buffer, name elements of the list, and draw where they say. */
static void check_drawings(struct check *check, const struct check_object *context,
                           const void *commands, UINT bytes, UINT surface_count)
{
    UINT offset = 0;

    while (offset < bytes) {
        const DXGK_RENDERKM_COMMAND *command = (const void *)((const char *)commands + offset);
        UINT left = bytes - offset;
        struct drawing drawing = {0};
        bool is_drawn = true;

        if (!CHECK_RULE(check, RULE_PATCH_025,
                        left >= sizeof *command && command->CommandSize >= sizeof *command &&
                            command->CommandSize <= left,
                        context, "CommandLength",
                        "%u bytes are left at 0x%x, and no command fills them", left, offset))
            return;
        if (drawing_of(command, &drawing)) {
            for (UINT i = 0; is_drawn && i < drawing.count; i++)
                is_drawn = is_in(&drawing.rectangles[i], &drawing.destination);
            CHECK_RULE(check, RULE_PATCH_025, is_drawn && drawing.highest_index < surface_count,
                       context, "pCommand",
                       is_drawn ? "the command at 0x%x names allocation %u of %u"
                                : "a sub-rectangle of the command at 0x%x is outside of DstRect "
                                  "(allocation %u of %u)",
                       offset, drawing.highest_index, surface_count);
        }
        offset += command->CommandSize;
    }
}

static void check_asked_to_draw(struct check *check, const struct check_context *context,
                                const void *commands, UINT bytes, UINT surface_count)
{
    const struct check_object *object = context ? &context->object : NULL;

    CHECK_RULE(check, RULE_PATCH_025,
               check_ledger(check)->caps.driver.PresentationCaps.SupportKernelModeCommandBuffer,
               object, "",
               "is called, and the driver does not report SupportKernelModeCommandBuffer");
    check_drawings(check, object, commands, bytes, surface_count);
}

static void before_render(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, call->object);
    bool is_kernels = call->ddi == MINIPORT_DDI_RenderKm;

    check_list(check, context ? &context->object : NULL, call->arg.render->pAllocationList,
               call->arg.render->AllocationListSize);
    if (context)
        CHECK_RULE(check, RULE_PATCH_025, context->flags.GdiContext == is_kernels, &context->object,
                   "hContext", "was made with GdiContext %u", (unsigned)context->flags.GdiContext);
    if (is_kernels)
        check_asked_to_draw(check, context, call->arg.render->pCommand,
                            call->arg.render->CommandLength, call->arg.render->AllocationListSize);
}

static void before_render_gdi(struct check *check, const struct check_call *call)
{
    const DXGKARG_RENDERGDI *arg = call->arg.render_gdi;
    const struct check_context *context = check_find_context(check_ledger(check), call->object);
    const struct check_object *object = context ? &context->object : NULL;

    if (context)
        CHECK_RULE(check, RULE_PATCH_025,
                   context->flags.GdiContext && context->flags.VirtualAddressing, object,
                   "hContext", "was made with GdiContext %u, VirtualAddressing %u",
                   (unsigned)context->flags.GdiContext, (unsigned)context->flags.VirtualAddressing);
    CHECK_RULE(check, RULE_PATCH_023, arg->DmaBufferGpuVirtualAddress != 0, object,
               "DmaBufferGpuVirtualAddress", "is 0: the DMA buffer is not paged in");
    check_seen(check, object, arg->pAllocationList, arg->AllocationListSize);
    check_asked_to_draw(check, context, arg->pCommand, arg->CommandLength, arg->AllocationListSize);
}

/* A copy has both, a fill no source; what is written lies in the rectangle of the destination. */
static void before_present(struct check *check, const struct check_call *call)
{
    const DXGKARG_PRESENT *arg = call->arg.present;
    const HANDLE handle = context_of(check, call);
    const struct check_object *context = check_find(check_ledger(check), CHECK_CONTEXT, handle);
    const DXGK_ALLOCATIONLIST *list = arg->pAllocationList;
    bool has_source = list[DXGK_PRESENT_SOURCE_INDEX].hDeviceSpecificAllocation != NULL;
    bool has_destination = list[DXGK_PRESENT_DESTINATION_INDEX].hDeviceSpecificAllocation != NULL;

    if (arg->Flags.Flip && !arg->pDmaBuffer)
        ; /* by registers: no address is in any command */
    else if (is_by_address(check, handle))
        check_addresses(check, context, arg);
    else
        check_list(check, context, list, MINIPORT_PRESENT_ALLOCATIONS);
    CHECK_RULE(check, RULE_PATCH_019,
               !list[0].hDeviceSpecificAllocation && has_source == !arg->Flags.ColorFill &&
                   has_destination == (arg->Flags.Blt || arg->Flags.ColorFill),
               context, "pAllocationList",
               "element 0 is %p, there is %s source and %s destination; Flags is 0x%x",
               list[0].hDeviceSpecificAllocation, has_source ? "a" : "no",
               has_destination ? "a" : "no", arg->Flags.Value);
    for (uint32_t i = 0; i < arg->SubRectCnt; i++) {
        const RECT *part = &arg->pDstSubRects[i], *all = &arg->DstRect;

        CHECK_RULE(check, RULE_PATCH_019,
                   part->left >= all->left && part->right <= all->right && part->top >= all->top &&
                       part->bottom <= all->bottom,
                   context, check_field(check, "pDstSubRects[%u]", i),
                   "(%d, %d) to (%d, %d) is not clipped to (%d, %d) to (%d, %d)", (int)part->left,
                   (int)part->top, (int)part->right, (int)part->bottom, (int)all->left,
                   (int)all->top, (int)all->right, (int)all->bottom);
    }
}

/* ---- Patch ----------------------------------------------------------------------------------- */

/* That the slots there show the buffer is for the watcher of apertures. */
static void check_place(struct check *check, HANDLE handle, unsigned segment)
{
    const struct check_context *context = check_find_context(check_ledger(check), handle);
    UINT set = context ? context->info.DmaBufferSegmentSet : 0;

    if (context && !context->flags.VirtualAddressing)
        CHECK_RULE(check, RULE_PATCH_017,
                   set ? segment && segment <= 32 && set >> (segment - 1) & 1 : !segment,
                   &context->object, "DmaBufferSegmentId",
                   "is {%u}; DmaBufferSegmentSet of the context is {=~one of ~0x%x}", segment, set);
}

static void before_patch(struct check *check, struct patch_watch *watch,
                         const struct check_call *call)
{
    const DXGKARG_PATCH *arg = call->arg.patch;
    const struct check_object *context =
        check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext);
    uint64_t physical = (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart;
    struct patched_buffer *buffer;

    if (arg->Flags.Paging)
        return; /* its lists are empty (PB-031) */
    check_place(check, arg->hContext, arg->DmaBufferSegmentId);
    check_list(check, context, arg->pAllocationList, arg->AllocationListSize);
    for (uint32_t i = 0; i < arg->PatchLocationListSubmissionLength; i++) {
        uint32_t at = arg->PatchLocationListSubmissionStart + i;
        const D3DDDI_PATCHLOCATIONLIST *location;

        if (at >= arg->PatchLocationListSize)
            break;
        location = &arg->pPatchLocationList[at];
        CHECK_RULE(check, RULE_PATCH_005,
                   location->PatchOffset >= arg->DmaBufferSubmissionStartOffset &&
                       location->PatchOffset < arg->DmaBufferSubmissionEndOffset,
                   context, check_field(check, "pPatchLocationList[%u]", at),
                   "{patches 0x%x}; the submission is {=0x%x to 0x%x}", location->PatchOffset,
                   arg->DmaBufferSubmissionStartOffset, arg->DmaBufferSubmissionEndOffset);
        if (location->AllocationIndex < arg->AllocationListSize)
            CHECK_RULE(check, RULE_PATCH_001,
                       arg->pAllocationList[location->AllocationIndex].SegmentId != 0, context,
                       check_field(check, "pPatchLocationList[%u]", at),
                       "allocation %u of the list is not resident", location->AllocationIndex);
    }
    buffer = id_map_find(&watch->buffers, (uint64_t)(uintptr_t)arg->pDmaBuffer);
    if (buffer)
        CHECK_RULE(check, RULE_PATCH_020, buffer->is_present == arg->Flags.Present, context,
                   "Flags", "0x%x; DxgkDdi%s has made the buffer", arg->Flags.Value,
                   buffer->is_present ? "Present" : "Render");
    if (buffer && buffer->physical)
        CHECK_RULE(check, RULE_PATCH_010, buffer->physical == physical, context,
                   "DmaBufferPhysicalAddress", "{0x%llx}; the buffer starts at {=0x%llx}",
                   (unsigned long long)physical, (unsigned long long)buffer->physical);
}

/* The bytes at each location, once patched. */
static void check_bytes(struct check *check, const struct check_object *context,
                        const DXGKARG_PATCH *arg, enum rule_id rule)
{
    for (uint32_t i = 0; i < arg->PatchLocationListSubmissionLength; i++) {
        uint32_t at = arg->PatchLocationListSubmissionStart + i;
        const D3DDDI_PATCHLOCATIONLIST *location;
        uint64_t expected, found;

        if (at >= arg->PatchLocationListSize)
            return;
        location = &arg->pPatchLocationList[at];
        if (location->AllocationIndex >= arg->AllocationListSize ||
            location->PatchOffset < arg->DmaBufferSubmissionStartOffset ||
            (uint64_t)location->PatchOffset + sizeof found > arg->DmaBufferSubmissionEndOffset ||
            !expected_bits(check, &arg->pAllocationList[location->AllocationIndex], location,
                           &expected))
            continue;
        memcpy(&found, (char *)arg->pDmaBuffer + location->PatchOffset, sizeof found);
        CHECK_RULE(check, rule, found == expected, context,
                   check_field(check, "pPatchLocationList[%u]", at),
                   "{0x%llx} stands at 0x%x%s; allocation %u is in segment %u, and the GPU needs "
                   "{=0x%llx}",
                   (unsigned long long)found, location->PatchOffset,
                   rule == RULE_PATCH_006 ? ", patched for the second time" : "",
                   location->AllocationIndex,
                   arg->pAllocationList[location->AllocationIndex].SegmentId,
                   (unsigned long long)expected);
    }
}

static void check_edits(struct check *check, const struct check_object *context,
                        const struct check_call *call)
{
    const DXGKARG_PATCH *arg = call->arg.patch;
    const struct patch_verdict *verdict = call->patch_verdict;

    if (!verdict)
        return;
    if (arg->PatchLocationListSize > arg->PatchLocationListSubmissionLength && !verdict->is_kept)
        CHECK_RULE(check, RULE_PATCH_003, !verdict->is_foreign, context, "pPatchLocationList",
                   "a location outside of %u to %u was processed, which are those of the "
                   "submission",
                   arg->PatchLocationListSubmissionStart,
                   arg->PatchLocationListSubmissionStart + arg->PatchLocationListSubmissionLength);
    CHECK_RULE(check, RULE_PATCH_007, !verdict->is_outside || verdict->is_foreign, context,
               "pDmaBuffer", "byte %lld was written; the submission is 0x%x to 0x%x",
               (long long)verdict->outside_offset, arg->DmaBufferSubmissionStartOffset,
               arg->DmaBufferSubmissionEndOffset);
    if (arg->Flags.Paging)
        CHECK_ADVICE(check, RULE_PATCH_009,
                     check_configuration(check)->profile.wants_built_complete, !verdict->is_edited,
                     context, "pDmaBuffer",
                     "byte 0x%x of a paging buffer changed: by the page of BuildPagingBuffer Patch "
                     "is called for it, by that of submission it need not be, and then the buffer "
                     "has to be complete without",
                     verdict->edited_offset);
}

static void after_patch(struct check *check, struct patch_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_PATCH *arg = call->arg.patch;
    const struct check_object *context =
        check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext);
    uint64_t place =
        key_of_place(arg->DmaBufferSegmentId, (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart);
    struct pending_patch *pending;
    struct patched_buffer *buffer;
    bool is_again;

    CHECK_RULE(check, RULE_PATCH_002, call->status == STATUS_SUCCESS, context, "status",
               "{0x%08x} (expected {=STATUS_SUCCESS})", (unsigned)call->status);
    check_edits(check, context, call);
    pending = find_or_make(check, &watch->patches, place, sizeof *pending);
    if (pending) {
        pending->arg = *arg;
        pending->is_pending = true;
    }
    if (arg->Flags.Paging)
        return;
    buffer = id_map_find(&watch->buffers, (uint64_t)(uintptr_t)arg->pDmaBuffer);
    is_again = buffer && arg->DmaBufferSubmissionStartOffset < buffer->patched_end;
    if (buffer && buffer->patched_end < arg->DmaBufferSubmissionEndOffset)
        buffer->patched_end = arg->DmaBufferSubmissionEndOffset;
    if (NT_SUCCESS(call->status))
        check_bytes(check, context, arg, is_again ? RULE_PATCH_006 : RULE_PATCH_004);
}

/* Both are about the same bytes. */
static void before_submit(struct check *check, struct patch_watch *watch,
                          const DXGKARG_SUBMITCOMMAND *arg)
{
    struct pending_patch *pending = id_map_find(
        &watch->patches,
        key_of_place(arg->DmaBufferSegmentId, (uint64_t)arg->DmaBufferPhysicalAddress.QuadPart));
    const DXGKARG_PATCH *patch;

    if (!arg->Flags.Paging && arg->DmaBufferSize)
        check_place(check, arg->hContext, arg->DmaBufferSegmentId);
    if (!pending || !pending->is_pending || pending->arg.Flags.Paging != arg->Flags.Paging)
        return;
    pending->is_pending = false;
    patch = &pending->arg;
    CHECK_RULE(check, RULE_PATCH_018,
               patch->Flags.Present == arg->Flags.Present &&
                   patch->Flags.RedirectedPresent == arg->Flags.RedirectedPresent &&
                   patch->Flags.NullRendering == arg->Flags.NullRendering,
               check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext), "Flags",
               "{0x%x}; those of Patch were {=0x%x}", arg->Flags.Value, patch->Flags.Value);
    CHECK_RULE(check, RULE_PATCH_001,
               patch->SubmissionFenceId == arg->SubmissionFenceId &&
                   patch->DmaBufferSubmissionStartOffset == arg->DmaBufferSubmissionStartOffset &&
                   patch->DmaBufferSubmissionEndOffset == arg->DmaBufferSubmissionEndOffset &&
                   patch->DmaBufferPrivateDataSubmissionStartOffset ==
                       arg->DmaBufferPrivateDataSubmissionStartOffset &&
                   patch->DmaBufferPrivateDataSubmissionEndOffset ==
                       arg->DmaBufferPrivateDataSubmissionEndOffset,
               check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext), "",
               "bytes 0x%x to 0x%x with fence 0x%x; Patch was called for 0x%x to 0x%x and "
               "fence 0x%x",
               arg->DmaBufferSubmissionStartOffset, arg->DmaBufferSubmissionEndOffset,
               arg->SubmissionFenceId, patch->DmaBufferSubmissionStartOffset,
               patch->DmaBufferSubmissionEndOffset, patch->SubmissionFenceId);
}

/* Who has made the buffer is known from its address; NULL: a client, whose commands are elsewhere.
 */
static const struct shown_buffer *maker_of(const struct patch_watch *watch, HANDLE context,
                                           uint64_t va)
{
    const struct shown_buffer *shown = id_map_find(&watch->shown, key_of_shown(context, va));

    return shown && shown->context == context ? shown : NULL;
}

static void check_made(struct check *check, const struct check_object *context,
                       const struct shown_buffer *shown, uint32_t bytes)
{
    if (shown)
        CHECK_RULE(check, RULE_PATCH_023, bytes == shown->bytes, context, "DmaBufferSize",
                   "is {%u}; DxgkDdi%s has made {=%u} bytes", bytes,
                   shown->is_present ? "Present" : "RenderGdi", shown->bytes);
}

static void before_submit_virtual(struct check *check, struct patch_watch *watch,
                                  const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    const struct check_object *context =
        check_find(check_ledger(check), CHECK_CONTEXT, arg->hContext);
    const struct shown_buffer *shown = maker_of(watch, arg->hContext, arg->DmaBufferVirtualAddress);
    bool is_present = shown && shown->is_present;

    if (arg->Flags.Paging)
        return;
    CHECK_RULE(check, RULE_PATCH_020, is_present == arg->Flags.Present, context, "Flags",
               "0x%x; DxgkDdiPresent has made %s buffer at 0x%llx", arg->Flags.Value,
               is_present ? "the" : "no", (unsigned long long)arg->DmaBufferVirtualAddress);
    check_made(check, context, shown, arg->DmaBufferSize);
}

/* NullRendering has no flag here: of such a submission there are no bytes. */
static void before_submit_to_queue(struct check *check, struct patch_watch *watch,
                                   const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    const struct check_queue *queue = check_find_queue(check_ledger(check), arg->hHwQueue);
    const struct shown_buffer *shown =
        queue ? maker_of(watch, queue->context, arg->DmaBufferVirtualAddress) : NULL;
    bool is_present = shown && shown->is_present;

    if (!queue)
        return;
    CHECK_RULE(check, RULE_HWQ_008, is_present == arg->Flags.Present, &queue->object, "Flags",
               "is {0x%x}; DxgkDdiPresentToHwQueue has made %s buffer at 0x%llx{=~%u~}",
               arg->Flags.Value, is_present ? "the" : "no",
               (unsigned long long)arg->DmaBufferVirtualAddress, (unsigned)is_present);
    if (arg->DmaBufferSize)
        check_made(check, &queue->object, shown, arg->DmaBufferSize);
}

/* Its addresses may be those of other buffers now. */
static void forget_context(struct patch_watch *watch, HANDLE context)
{
    size_t position = 0;
    struct shown_buffer *shown;

    while ((shown = id_map_next(&watch->shown, &position))) {
        if (shown->context == context)
            shown->context = NULL;
    }
}

/* ---- The watcher ----------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_Render || call->ddi == MINIPORT_DDI_RenderKm)
        before_render(check, call);
    else if (call->ddi == MINIPORT_DDI_RenderGdi)
        before_render_gdi(check, call);
    else if (call->ddi == MINIPORT_DDI_Present || call->ddi == MINIPORT_DDI_PresentToHwQueue)
        before_present(check, call);
    else if (call->ddi == MINIPORT_DDI_Patch)
        before_patch(check, state, call);
    else if (call->ddi == MINIPORT_DDI_SubmitCommand)
        before_submit(check, state, call->arg.submit_command);
    else if (call->ddi == MINIPORT_DDI_SubmitCommandVirtual)
        before_submit_virtual(check, state, call->arg.submit_command_virtual);
    else if (call->ddi == MINIPORT_DDI_SubmitCommandToHwQueue)
        before_submit_to_queue(check, state, call->arg.submit_command_to_hw_queue);
    else if (call->ddi == MINIPORT_DDI_DestroyContext)
        forget_context(state, call->object);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_Render || call->ddi == MINIPORT_DDI_RenderKm)
        after_render(check, state, call);
    else if (call->ddi == MINIPORT_DDI_RenderGdi)
        after_render_gdi(check, state, call);
    else if (call->ddi == MINIPORT_DDI_Present || call->ddi == MINIPORT_DDI_PresentToHwQueue)
        after_present(check, state, call);
    else if (call->ddi == MINIPORT_DDI_Patch)
        after_patch(check, state, call);
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    const struct check_packet *packet = event->packet;

    if (!packet || packet->is_paging || packet->is_virtual)
        return;
    /* A GPU whose addresses nobody knows shows a wrong one when it uses the address. */
    if (event->kind == CHECK_GPU_FAULT && !event->is_malformed_packet &&
        !check_configuration(check)->patched_address)
        CHECK_RULE(check, RULE_PATCH_004, false,
                   check_find(check_ledger(check), CHECK_CONTEXT, packet->context), "",
                   "faulted at 0x%llx in the packet with fence 0x%x",
                   (unsigned long long)event->address, packet->fence);
    if (event->kind != CHECK_GPU_DONE)
        return;
    check_blame_packet(check, packet);
    CHECK_RULE(check, RULE_PATCH_008, packet->gpu_done == 1,
               check_find(check_ledger(check), CHECK_CONTEXT, packet->context), "",
               "signalled fence 0x%x %u times: it is in the buffer, or written at Submit",
               packet->fence, packet->gpu_done);
    check_blame_current(check);
}

static void init(struct check *check, void *state)
{
    struct patch_watch *watch = state;

    id_map_init(&watch->buffers, check_configuration(check)->services);
    id_map_init(&watch->patches, check_configuration(check)->services);
    id_map_init(&watch->shown, check_configuration(check)->services);
}

static void free_values(struct check *check, struct id_map *map, size_t size)
{
    size_t position = 0;
    void *value;

    while ((value = id_map_next(map, &position)))
        base_free(check_configuration(check)->services, value, size);
    id_map_fini(map);
}

static void fini(struct check *check, void *state)
{
    struct patch_watch *watch = state;

    free_values(check, &watch->buffers, sizeof(struct patched_buffer));
    free_values(check, &watch->patches, sizeof(struct pending_patch));
    free_values(check, &watch->shown, sizeof(struct shown_buffer));
}

const struct check_watcher check_patch_watcher = {
    .name = "patch",
    .state_bytes = sizeof(struct patch_watch),
    .init = init,
    .fini = fini,
    .before = before,
    .before_calls =
        CHECK_CALLS(MINIPORT_DDI_Render, MINIPORT_DDI_RenderKm, MINIPORT_DDI_RenderGdi,
                    MINIPORT_DDI_Present, MINIPORT_DDI_Patch, MINIPORT_DDI_SubmitCommand,
                    MINIPORT_DDI_SubmitCommandVirtual, MINIPORT_DDI_PresentToHwQueue,
                    MINIPORT_DDI_SubmitCommandToHwQueue, MINIPORT_DDI_DestroyContext),
    .after = after,
    .after_calls =
        CHECK_CALLS(MINIPORT_DDI_Render, MINIPORT_DDI_RenderKm, MINIPORT_DDI_RenderGdi,
                    MINIPORT_DDI_Present, MINIPORT_DDI_PresentToHwQueue, MINIPORT_DDI_Patch),
    .gpu = gpu,
};
