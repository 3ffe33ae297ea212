/*
 * Blits: a RENDER packet that copies rows of one surface to another, or fills them with a color,
 * for DxgkDdiPresent, DxgkDdiRenderKm and DxgkDdiRenderGdi.
 *
 * Place      refkmd. Uses packets and segments.
 * Model      Surfaces are as wide as the blitter: a row is a page, and a rectangle has whole rows.
 *            Each sub-rectangle becomes a packet of its own, so a buffer may be split in front of
 *            any of them. What the source and the destination are is known from the places that
 *            they have in the allocation list.
 * Source     contract.md PATCH-011, PATCH-012.
 */
#ifndef REFKMD_BLIT_H
#define REFKMD_BLIT_H

#include "refkmd/objects.h"
#include "refkmd/work/packet.h"

/* Bytes of a surface of which a rectangle is made. */
struct blit_strip {
    UINT64 offset, bytes;
};

/* What all packets of a call have in common. */
struct blit {
    const struct refkmd_adapter *adapter;
    const DXGK_ALLOCATIONLIST *list;
    const void *dma_buffer; /* where it begins */
    UINT64 token;           /* 0: the kernel's, which has none */
    UINT64 duration_ns;     /* of the last packet */
};

/* One packet: which of how many, of what. */
struct blit_part {
    BOOLEAN is_copy;          /* otherwise a fill */
    UINT source, destination; /* elements of the list */
    UINT color;
    UINT first_reference; /* number of the packet's first one among all of the call's */
    BOOLEAN is_first, is_last;
    struct blit_strip from, to;
};

/* FALSE: the rectangle has no strip, or one that a patch location cannot name. */
BOOLEAN blit_strip_of(const RECT *rectangle, const struct refkmd_opening *opening,
                      struct blit_strip *out);

/* The part of the source that goes with a part of the destination: there is no stretching. */
RECT blit_source_of(const RECT *source, const RECT *destination, const RECT *part);

/*
 * Writes the packet and its locations, one or two; without locations (NULL) the list has virtual
 * addresses. FALSE: there is no room for it, and nothing is written.
 */
BOOLEAN blit_write(const struct blit *blit, const struct blit_part *part,
                   struct packet_writer *writer, D3DDDI_PATCHLOCATIONLIST *locations,
                   UINT locations_left);

static inline UINT blit_reference_count(const struct blit_part *part)
{
    return part->is_copy ? 2 : 1;
}

#endif
