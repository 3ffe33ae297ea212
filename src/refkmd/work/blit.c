#include "refkmd/work/blit.h"

#include "refkmd/ddi.h"
#include "refkmd/memory/segments.h"

BOOLEAN blit_strip_of(const RECT *rectangle, const struct refkmd_opening *opening,
                      struct blit_strip *out)
{
    UINT64 rows = ROUND_TO_PAGES(opening->allocation->bytes) >> SGPU_PAGE_SHIFT;

    if (rectangle->left != 0 || rectangle->right != SGPU_ROW_PIXELS || rectangle->top < 0 ||
        rectangle->bottom < rectangle->top || (UINT64)rectangle->bottom > rows)
        return FALSE;
    out->offset = (UINT64)rectangle->top << SGPU_PAGE_SHIFT;
    out->bytes = (UINT64)(rectangle->bottom - rectangle->top) << SGPU_PAGE_SHIFT;
    return out->offset <= MAXULONG;
}

RECT blit_source_of(const RECT *source, const RECT *destination, const RECT *part)
{
    RECT out = *part;

    out.top += source->top - destination->top;
    out.bottom += source->top - destination->top;
    return out;
}

/*
 * One reference of a packet, and its place in the patch list: also where the list has an address
 * already, which may be another one by the time the buffer is submitted (PATCH-011). Without a
 * location the address is a virtual one.
 */
static void emit(const struct blit *blit, UINT entry, const struct blit_strip *strip,
                 UINT packet_offset, struct sgpu_render_ref *out,
                 D3DDDI_PATCHLOCATIONLIST *location)
{
    const DXGK_ALLOCATIONLIST *listed = &blit->list[entry];
    const struct refkmd_opening *opening = listed->hDeviceSpecificAllocation;

    RtlZeroMemory(out, sizeof *out);
    if (!location) {
        out->address = listed->VirtualAddress + strip->offset;
        out->bytes = strip->bytes;
        return;
    }
    out->address =
        listed->SegmentId ? refkmd_listed_address(blit->adapter, listed, strip->offset) : 0;
    out->bytes = strip->bytes;
    if (opening->allocation->flags & SGPU_UMD_TILED)
        out->flags = SGPU_REF_TILED;

    RtlZeroMemory(location, sizeof *location);
    location->AllocationIndex = entry;
    location->AllocationOffset = (UINT)strip->offset;
    location->PatchOffset = (UINT)((const UCHAR *)&out->address - (const UCHAR *)blit->dma_buffer);
    location->SplitOffset = packet_offset;
}

BOOLEAN blit_write(const struct blit *blit, const struct blit_part *part,
                   struct packet_writer *writer, D3DDDI_PATCHLOCATIONLIST *locations,
                   UINT locations_left)
{
    UINT count = blit_reference_count(part);
    UINT packet_offset = packet_writer_end(writer);
    struct sgpu_packet_render *packet;
    struct sgpu_render_ref *written;

    if (locations && count > locations_left)
        return FALSE;
    packet = packet_begin(writer, SGPU_OP_RENDER,
                          (UINT)(sizeof *packet + count * sizeof packet->refs[0]));
    if (!packet)
        return FALSE;
    packet->flags =
        (part->is_first ? 0 : SGPU_RENDER_CONTINUES) | (part->is_last ? 0 : SGPU_RENDER_GOES_ON);
    packet->token = blit->token;
    packet->duration_ns = part->is_last ? blit->duration_ns : 0;
    packet->ref_count = count;
    packet->reserved = 0;
    written = &packet->refs[count - 1];
    if (part->is_copy) {
        emit(blit, part->source, &part->from, packet_offset, &packet->refs[0], locations);
        packet->refs[0].flags |= SGPU_REF_READ;
        packet->refs[0].index = part->first_reference;
    }
    emit(blit, part->destination, &part->to, packet_offset, written,
         locations ? &locations[count - 1] : NULL);
    written->flags |= SGPU_REF_WRITE | (part->is_copy ? SGPU_REF_COPY : SGPU_REF_FILL);
    written->key = part->color;
    written->index = part->first_reference + count - 1;
    return TRUE;
}
