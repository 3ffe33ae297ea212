/*
 * DxgkDdiRender and DxgkDdiPatch: commands of the physical model.
 *
 * The user-mode half writes struct sgpu_umd_render records that name allocations by their place in
 * the allocation list. Render turns each into a RENDER packet and lists the places of its
 * addresses; Patch writes the addresses, once the kernel knows them.
 *
 * Every packet starts at a multiple of SGPU_SUBMIT_ALIGN and needs nothing from earlier ones, so
 * the kernel may split the buffer in front of any of them (PATCH-012): SplitOffset of a reference
 * is the start of its packet. A command becomes one packet, or several where the user-mode half
 * says that its render may be interrupted; paging may then run in between, and the packets need not
 * be in one DMA buffer (PATCH-014).
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"
#include "refkmd/work/packet.h"

#include <ntstatus.h>

#define REF_FLAGS (SGPU_REF_READ | SGPU_REF_WRITE)

/* The progress of one call of Render. Published to the kernel at its end. */
struct translation {
    const struct refkmd_adapter *adapter;
    const DXGKARG_RENDER *args;
    struct packet_writer writer;
    D3DDDI_PATCHLOCATIONLIST *next_location;
    UINT locations_left;
    UINT command_offset; /* of the first command that is not translated whole */
    UINT first_ref;      /* of its references, the first that is not translated */
};

/*
 * Commands lie in user memory, which may vanish or change under the driver: it is read under
 * guard, once, and only the copy is looked at (PATCH-016).
 */
#ifdef _MSC_VER
/* A call: some compilers guard calls alone, and a copy that they expand in place is none. */
static __declspec(noinline) void copy_bytes(void *destination, const void *source, SIZE_T bytes)
{
    RtlCopyMemory(destination, source, bytes);
}
#endif

static NTSTATUS copy_from_user(void *destination, const void *source, SIZE_T bytes)
{
#ifdef _MSC_VER
    __try {
        copy_bytes(destination, source, bytes);
    } __except (EXCEPTION_EXECUTE_HANDLER) {
        return STATUS_INVALID_USER_BUFFER;
    }
#else
    RtlCopyMemory(destination, source, bytes);
#endif
    return STATUS_SUCCESS;
}

/*
 * The reference names an allocation that is in the list, stays inside of it, and the kernel has
 * been told if it writes. A patch location holds offsets of 32 bits.
 */
static BOOLEAN is_valid_ref(const DXGKARG_RENDER *args, const struct sgpu_umd_ref *ref)
{
    const DXGK_ALLOCATIONLIST *entry;
    const struct refkmd_opening *opening;
    UINT64 bytes;

    if (ref->allocation_index >= args->AllocationListSize || (ref->flags & ~REF_FLAGS))
        return FALSE;
    entry = &args->pAllocationList[ref->allocation_index];
    opening = entry->hDeviceSpecificAllocation;
    if (!opening || ((ref->flags & SGPU_REF_WRITE) && !entry->WriteOperation))
        return FALSE;
    bytes = ROUND_TO_PAGES(opening->allocation->bytes);
    return ref->offset <= MAXULONG && ref->offset <= bytes && ref->bytes <= bytes - ref->offset;
}

/*
 * Write the reference with the address that the list has now, if it has one: should nothing move,
 * Patch is not needed (PATCH-011). The place goes to the patch list in any case.
 */
static void emit_ref(struct translation *translation, const struct sgpu_umd_ref *ref,
                     struct sgpu_render_ref *out, UINT packet_offset)
{
    const DXGKARG_RENDER *args = translation->args;
    const DXGK_ALLOCATIONLIST *entry = &args->pAllocationList[ref->allocation_index];
    D3DDDI_PATCHLOCATIONLIST *location = translation->next_location++;

    out->address =
        entry->SegmentId ? refkmd_listed_address(translation->adapter, entry, ref->offset) : 0;
    out->bytes = ref->bytes;
    out->key = ref->key;
    out->flags = ref->flags;
    if (((const struct refkmd_opening *)entry->hDeviceSpecificAllocation)->allocation->flags &
        SGPU_UMD_TILED)
        out->flags |= SGPU_REF_TILED;
    out->index = ref->index;

    RtlZeroMemory(location, sizeof *location);
    location->AllocationIndex = ref->allocation_index;
    location->AllocationOffset = (UINT)ref->offset;
    location->PatchOffset = (UINT)((UCHAR *)&out->address - (UCHAR *)args->pDmaBuffer);
    location->SplitOffset = packet_offset;
    translation->locations_left--;
}

/* How many references, from first on, stand in front of the next place for a split. */
static NTSTATUS piece_length(const UCHAR *refs, UINT first, UINT ref_count, UINT *out_length)
{
    struct sgpu_umd_ref ref;
    NTSTATUS status;
    UINT i;

    for (i = first + 1; i < ref_count; i++) {
        status = copy_from_user(&ref, refs + i * sizeof ref, sizeof ref);
        if (!NT_SUCCESS(status))
            return status;
        if (ref.starts_piece)
            break;
    }
    *out_length = i < ref_count ? i - first : ref_count - first;
    return STATUS_SUCCESS;
}

static UINT64 piece_bytes(UINT length)
{
    return sizeof(struct sgpu_packet_render) + length * (UINT64)sizeof(struct sgpu_render_ref);
}

/* A packet is followed by zeros up to where the next one may begin. */
static BOOLEAN has_room(const struct translation *translation, UINT length)
{
    UINT64 room = (UINT64)(translation->writer.end - translation->writer.next);
    UINT64 bytes = (piece_bytes(length) + SGPU_SUBMIT_ALIGN - 1) & ~(UINT64)(SGPU_SUBMIT_ALIGN - 1);

    return bytes <= room && length <= translation->locations_left;
}

/* One packet, for which there is room: the references [first, first + length) of the command. */
static NTSTATUS translate_piece(struct translation *translation,
                                const struct sgpu_umd_render *command, const UCHAR *refs,
                                UINT first, UINT length)
{
    BOOLEAN is_last = first + length == command->ref_count;
    UINT packet_offset = packet_writer_end(&translation->writer);
    struct sgpu_packet_render *packet =
        packet_begin(&translation->writer, SGPU_OP_RENDER, (UINT)piece_bytes(length));
    UINT i;

    if (!packet)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    packet->flags = (first ? SGPU_RENDER_CONTINUES : 0) | (is_last ? 0 : SGPU_RENDER_GOES_ON);
    packet->token = command->token;
    packet->duration_ns = is_last ? command->duration_ns : 0;
    packet->ref_count = length;
    packet->reserved = 0;
    for (i = 0; i < length; i++) {
        struct sgpu_umd_ref ref;
        NTSTATUS status = copy_from_user(&ref, refs + (first + i) * sizeof ref, sizeof ref);

        if (!NT_SUCCESS(status))
            return status;
        if (!is_valid_ref(translation->args, &ref))
            return STATUS_INVALID_USER_BUFFER;
        emit_ref(translation, &ref, &packet->refs[i], packet_offset);
    }
    return STATUS_SUCCESS;
}

/* The command at command_offset, and how many bytes it has with its references. */
static NTSTATUS read_command(const struct translation *translation, struct sgpu_umd_render *out,
                             UINT *out_bytes)
{
    const DXGKARG_RENDER *args = translation->args;
    UINT left = args->CommandLength - translation->command_offset;
    NTSTATUS status;

    if (left < sizeof *out)
        return STATUS_INVALID_USER_BUFFER;
    status = copy_from_user(out, (const UCHAR *)args->pCommand + translation->command_offset,
                            sizeof *out);
    if (!NT_SUCCESS(status))
        return status;
    if (out->version != SGPU_UMD_VERSION ||
        out->ref_count > (left - sizeof *out) / sizeof(struct sgpu_umd_ref))
        return STATUS_INVALID_USER_BUFFER;
    *out_bytes = (UINT)(sizeof *out + out->ref_count * sizeof(struct sgpu_umd_ref));
    return STATUS_SUCCESS;
}

/*
 * What is left of the command buffer, as MultipassOffset says: the offset of a command, or of a
 * reference within one. The client may have changed the commands in between.
 */
static NTSTATUS find_rest(struct translation *translation, UINT offset)
{
    while (translation->command_offset < offset) {
        UINT into = offset - translation->command_offset, bytes;
        struct sgpu_umd_render command;
        NTSTATUS status = read_command(translation, &command, &bytes);

        if (!NT_SUCCESS(status))
            return status;
        if (into < bytes) {
            if (into < sizeof command || (into - sizeof command) % sizeof(struct sgpu_umd_ref))
                return STATUS_INVALID_USER_BUFFER;
            translation->first_ref = (UINT)((into - sizeof command) / sizeof(struct sgpu_umd_ref));
            break;
        }
        translation->command_offset += bytes;
    }
    return STATUS_SUCCESS;
}

static UINT rest_of(const struct translation *translation)
{
    return translation->command_offset +
           (translation->first_ref ? (UINT)(sizeof(struct sgpu_umd_render) +
                                            translation->first_ref * sizeof(struct sgpu_umd_ref))
                                   : 0);
}

/* Translate what is left of the command at command_offset, piece by piece, and step over it. */
static NTSTATUS translate_one(struct translation *translation)
{
    const UCHAR *refs = (const UCHAR *)translation->args->pCommand + translation->command_offset +
                        sizeof(struct sgpu_umd_render);
    struct sgpu_umd_render command;
    UINT bytes;
    NTSTATUS status = read_command(translation, &command, &bytes);

    if (!NT_SUCCESS(status))
        return status;
    do {
        UINT length;

        packet_writer_end(&translation->writer);
        status = piece_length(refs, translation->first_ref, command.ref_count, &length);
        if (NT_SUCCESS(status) && !has_room(translation, length))
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        if (NT_SUCCESS(status))
            status = translate_piece(translation, &command, refs, translation->first_ref, length);
        if (status != STATUS_SUCCESS)
            return status;
        translation->first_ref += length;
    } while (translation->first_ref < command.ref_count);
    translation->command_offset += bytes;
    translation->first_ref = 0;
    return STATUS_SUCCESS;
}

/*
 * Translate until the commands are done or the buffer or the list is full. Then MultipassOffset
 * says where what is left begins (PATCH-014): a command, or a piece of one. A piece that no buffer
 * can hold is refused instead. On refusal nothing is published. Keeps PATCH-011, PATCH-012,
 * PATCH-016.
 */
NTSTATUS NTAPI RefKmdRender(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_RENDER args)
{
    const struct refkmd_context *context = refkmd_context_of(hContext);
    struct translation translation = {
        .adapter = context->device->adapter,
        .args = args,
        .next_location = args->pPatchLocationListOut,
        .locations_left = args->PatchLocationListOutSize,
    };
    NTSTATUS status;
    UINT bytes;

    PAGED_CODE();

    packet_writer_begin(&translation.writer, args->pDmaBuffer, args->DmaSize);
    status = find_rest(&translation, args->MultipassOffset);
    while (status == STATUS_SUCCESS && translation.command_offset < args->CommandLength)
        status = translate_one(&translation);
    if (status != STATUS_SUCCESS && status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        return status;
    bytes = packet_writer_end(&translation.writer);
    if (status != STATUS_SUCCESS && !bytes)
        return STATUS_INVALID_USER_BUFFER; /* the first piece does not fit, and never will */
    args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + bytes;
    args->pPatchLocationListOut = translation.next_location;
    args->MultipassOffset = rest_of(&translation);
    return status;
}

/*
 * The location is one of Render's, so this always holds; a write anywhere else would be worse than
 * one address too few. It lies in the part of the buffer that is submitted (PATCH-005), and the
 * allocation that it names is in the list (PATCH-013).
 */
static BOOLEAN is_in_submission(const DXGKARG_PATCH *args, const D3DDDI_PATCHLOCATIONLIST *location)
{
    UINT end = args->DmaBufferSubmissionEndOffset;

    return location->AllocationIndex < args->AllocationListSize &&
           args->pAllocationList[location->AllocationIndex].hDeviceSpecificAllocation &&
           end <= args->DmaBufferSize && end >= sizeof(UINT64) &&
           location->PatchOffset >= args->DmaBufferSubmissionStartOffset &&
           location->PatchOffset <= end - sizeof(UINT64);
}

/*
 * Write the addresses of the locations in the range of this submission; the rest of the list is
 * not for us (PATCH-003). The address goes over whatever is there, so that the same buffer can be
 * patched again after a move (PATCH-006), and nothing else changes (PATCH-007). A paging buffer
 * has no locations, and is complete as it was built (PATCH-009). The fence goes to a register at
 * submission, not into the buffer (PATCH-008). Keeps PATCH-002, PATCH-004.
 */
NTSTATUS NTAPI RefKmdPatch(IN_CONST_HANDLE hAdapter, IN_CONST_PDXGKARG_PATCH args)
{
    UINT first = args->PatchLocationListSubmissionStart;
    UINT i;

    if (args->Flags.Paging)
        return STATUS_SUCCESS;
    for (i = 0; i < args->PatchLocationListSubmissionLength; i++) {
        const D3DDDI_PATCHLOCATIONLIST *location = &args->pPatchLocationList[first + i];
        const DXGK_ALLOCATIONLIST *entry;
        UINT64 address;

        if (first + i >= args->PatchLocationListSize || !is_in_submission(args, location)) {
            DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL,
                       "refkmd: patch location %u is not of this submission\n", first + i);
            continue;
        }
        entry = &args->pAllocationList[location->AllocationIndex];
        address = refkmd_listed_address(hAdapter, entry, location->AllocationOffset);
        RtlCopyMemory((UCHAR *)args->pDmaBuffer + location->PatchOffset, &address, sizeof address);
    }
    return STATUS_SUCCESS;
}
