/*
 * CPU host aperture: how the CPU reaches pages of a memory segment that it does not see.
 *
 * Place      vidmm. Uses segment.h; used by locks and by tables of the paging process.
 * Model      The driver points slots of the aperture at pages of the segment. A slot shows one page
 *            of the segment: 4 KiB, or 64 KiB with Use64KBPages, which several tables may share.
 * Ownership  Slots are the caller's until the unmap function of the same name.
 * Errors     STATUS_GRAPHICS_NO_VIDEO_MEMORY: no such slots are free. STATUS_NO_MEMORY; the
 *            driver's own status.
 * Units      Pages of 4 KiB, one behind the other in segment and aperture.
 * Source     contract.md CHA-001..005.
 */
#ifndef VIDMM_HOST_APERTURE_H
#define VIDMM_HOST_APERTURE_H

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"

struct host_slot {
    uint64_t page;    /* number + 1 of the segment's page in the slot; 0: none */
    uint32_t sharers; /* besides the first: page tables in the same page */
};

/* *out_address: where the CPU sees the first page. */
NTSTATUS host_aperture_map_range(struct vidmm *vidmm, struct segment *segment, uint64_t first_page,
                                 uint64_t count, uint32_t *out_first_slot, uint64_t *out_address);
void host_aperture_unmap_range(struct vidmm *vidmm, struct segment *segment, uint32_t first_slot,
                               uint64_t first_page, uint64_t count);
/* Around D3: in between nothing is mapped, and the driver hears of no slot that is released. */
void host_apertures_close(struct vidmm *vidmm);
void host_apertures_open(struct vidmm *vidmm);
/* All pages of a placed allocation, until it is unmapped; it must not move meanwhile. */
NTSTATUS host_aperture_map_allocation(struct vidmm_allocation *allocation);
void host_aperture_unmap_allocation(struct vidmm_allocation *allocation);

static inline uint64_t host_aperture_address(const struct segment *segment, uint32_t slot)
{
    return segment->caps->host_address + PAGE_BYTES_OF((uint64_t)slot * segment->unit_pages);
}

#endif
