/*
 * DxgkDdiPresent: the commands of a present. In the physical model Patch patches them as Render's;
 * where the context has virtual addresses, the list has those of source and destination, which stay
 * as they are, and there is no list of places (RES-009).
 *
 * The kernel says from where to where, in pixels of surfaces, and which parts of the destination
 * are written; it has clipped them. Each sub-rectangle becomes a packet of its own, a copy or a
 * fill, so the buffer may be split in front of any of them. What the source and the destination
 * are is known from the places that they have in the allocation list. The user-mode half says in
 * private data which render of the workload it is.
 */
#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"
#include "refkmd/work/packet.h"

#include <ntstatus.h>

/* Bytes of a surface of which a rectangle is made. */
struct strip {
    UINT64 offset, bytes;
};

/* A surface is as wide as the blitter: rectangles of other widths have no strip. */
static BOOLEAN strip_of(const RECT *rectangle, const struct refkmd_opening *opening,
                        struct strip *out)
{
    UINT64 rows = ROUND_TO_PAGES(opening->allocation->bytes) >> SGPU_PAGE_SHIFT;

    if (rectangle->left != 0 || rectangle->right != SGPU_ROW_PIXELS || rectangle->top < 0 ||
        rectangle->bottom < rectangle->top || (UINT64)rectangle->bottom > rows)
        return FALSE;
    out->offset = (UINT64)rectangle->top << SGPU_PAGE_SHIFT;
    out->bytes = (UINT64)(rectangle->bottom - rectangle->top) << SGPU_PAGE_SHIFT;
    return out->offset <= MAXULONG;
}

/*
 * One reference of a packet, and its place in the patch list: also where the list has an address
 * already, which may be another one by the time the buffer is submitted (PATCH-011). Without a
 * location the address is a virtual one.
 */
static void emit(const struct refkmd_adapter *adapter, const DXGKARG_PRESENT *args, UINT entry,
                 const struct strip *strip, UINT packet_offset, struct sgpu_render_ref *out,
                 D3DDDI_PATCHLOCATIONLIST *location)
{
    const DXGK_ALLOCATIONLIST *listed = &args->pAllocationList[entry];
    const struct refkmd_opening *opening = listed->hDeviceSpecificAllocation;

    RtlZeroMemory(out, sizeof *out);
    if (!location) {
        out->address = listed->VirtualAddress + strip->offset;
        out->bytes = strip->bytes;
        return;
    }
    out->address = listed->SegmentId ? refkmd_listed_address(adapter, listed, strip->offset) : 0;
    out->bytes = strip->bytes;
    if (opening->allocation->flags & SGPU_UMD_TILED)
        out->flags = SGPU_REF_TILED;

    RtlZeroMemory(location, sizeof *location);
    location->AllocationIndex = entry;
    location->AllocationOffset = (UINT)strip->offset;
    location->PatchOffset = (UINT)((UCHAR *)&out->address - (UCHAR *)args->pDmaBuffer);
    location->SplitOffset = packet_offset;
}

/* The part of the source that goes with a part of the destination: there is no stretching. */
static RECT source_of(const DXGKARG_PRESENT *args, const RECT *part)
{
    RECT source = *part;

    source.top += args->SrcRect.top - args->DstRect.top;
    source.bottom += args->SrcRect.top - args->DstRect.top;
    return source;
}

/* The packet of sub-rectangle index. FALSE: there is no room for it, and nothing is written. */
static BOOLEAN write_packet(const struct refkmd_adapter *adapter, const DXGKARG_PRESENT *args,
                            const struct sgpu_umd_present *request, UINT index,
                            const struct strip *source, const struct strip *destination,
                            struct packet_writer *writer, D3DDDI_PATCHLOCATIONLIST *locations,
                            UINT locations_left)
{
    UINT count = args->Flags.Blt ? 2 : 1;
    UINT location_count = locations ? count : 0;
    BOOLEAN is_last = index + 1 == args->SubRectCnt;
    UINT packet_offset = packet_writer_end(writer);
    struct sgpu_packet_render *packet;
    struct sgpu_render_ref *written;

    if (location_count > locations_left)
        return FALSE;
    packet = packet_begin(writer, SGPU_OP_RENDER,
                          (UINT)(sizeof *packet + count * sizeof packet->refs[0]));
    if (!packet)
        return FALSE;
    packet->flags = (index ? SGPU_RENDER_CONTINUES : 0) | (is_last ? 0 : SGPU_RENDER_GOES_ON);
    packet->token = request->token;
    packet->duration_ns = is_last ? request->duration_ns : 0;
    packet->ref_count = count;
    packet->reserved = 0;
    written = &packet->refs[count - 1];
    if (args->Flags.Blt) {
        emit(adapter, args, DXGK_PRESENT_SOURCE_INDEX, source, packet_offset, &packet->refs[0],
             locations);
        packet->refs[0].flags |= SGPU_REF_READ;
        packet->refs[0].index = 2 * index;
    }
    emit(adapter, args, DXGK_PRESENT_DESTINATION_INDEX, destination, packet_offset, written,
         locations ? &locations[count - 1] : NULL);
    written->flags |= SGPU_REF_WRITE | (args->Flags.Blt ? SGPU_REF_COPY : SGPU_REF_FILL);
    written->key = args->Color;
    written->index = count * index + count - 1;
    return TRUE;
}

/*
 * MultipassOffset is the number of the first sub-rectangle that is left. Color keys,
 * rotation and stretching are not of this hardware.
 */
NTSTATUS NTAPI RefKmdPresent(IN_CONST_HANDLE hContext, INOUT_PDXGKARG_PRESENT args)
{
    const struct refkmd_context *context = refkmd_context_of(hContext);
    const struct refkmd_adapter *adapter = context->device->adapter;
    const DXGK_ALLOCATIONLIST *list = args->pAllocationList;
    const struct refkmd_opening *from = list[DXGK_PRESENT_SOURCE_INDEX].hDeviceSpecificAllocation;
    const struct refkmd_opening *to =
        list[DXGK_PRESENT_DESTINATION_INDEX].hDeviceSpecificAllocation;
    D3DDDI_PATCHLOCATIONLIST *next = context->is_virtual ? NULL : args->pPatchLocationListOut;
    UINT count = args->Flags.Blt ? 2 : 1;
    UINT left = args->PatchLocationListOutSize;
    struct sgpu_umd_present request;
    struct packet_writer writer;
    NTSTATUS status = STATUS_SUCCESS;
    UINT index;

    PAGED_CODE();

    /* A flip is by registers, so there is nothing to put in a buffer. */
    if (args->Flags.Flip)
        return from && !args->pDmaBuffer ? STATUS_SUCCESS : STATUS_INVALID_HANDLE;
    if (!args->pPrivateDriverData || args->PrivateDriverDataSize < sizeof request)
        return STATUS_ILLEGAL_INSTRUCTION;
    RtlCopyMemory(&request, args->pPrivateDriverData, sizeof request);
    if (request.version != SGPU_UMD_VERSION || request.reserved || (args->Flags.Value & ~3u) ||
        args->Flags.Blt == args->Flags.ColorFill)
        return STATUS_ILLEGAL_INSTRUCTION;
    if (!to || (args->Flags.Blt && !from) || !list[DXGK_PRESENT_DESTINATION_INDEX].WriteOperation)
        return STATUS_INVALID_HANDLE;
    if (args->SrcRect.bottom - args->SrcRect.top != args->DstRect.bottom - args->DstRect.top)
        return STATUS_ILLEGAL_INSTRUCTION;

    packet_writer_begin(&writer, args->pDmaBuffer, args->DmaSize);
    for (index = args->MultipassOffset; index < args->SubRectCnt; index++) {
        RECT part = source_of(args, &args->pDstSubRects[index]);
        struct strip source = {0, 0}, destination;

        if (!strip_of(&args->pDstSubRects[index], to, &destination) ||
            (args->Flags.Blt && !strip_of(&part, from, &source)))
            return STATUS_ILLEGAL_INSTRUCTION;
        if (!write_packet(adapter, args, &request, index, &source, &destination, &writer, next,
                          left)) {
            status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
            break;
        }
        if (next) {
            next += count;
            left -= count;
        }
    }
    args->pDmaBuffer = (UCHAR *)args->pDmaBuffer + packet_writer_end(&writer);
    if (next)
        args->pPatchLocationListOut = next;
    args->MultipassOffset = index;
    return status;
}
