/*
 * Auxiliary MMUs: MAP_MMU and UNMAP_MMU (WDDM 3.2).
 *
 * No public page says how an adapter reports MMUs beside that of its engines, nor the units of the
 * fields. The reading here: the embedder says how many there are (config.auxiliary_mmus), and they
 * have numbers from 1 on. An allocation that is accessed physically and resident in a segment is
 * mapped in each of them, at the address that the GPU reaches it by physically, part by part, and
 * unmapped from them before it leaves; in an aperture behind its slots and before they go. Offsets
 * and counts are pages. SegmentId gives the list's unit: pages of that memory segment, which are
 * one range, or, 0, of system memory, which are one if the part happens to be. Where an IOMMU
 * remaps the device they are logical pages, and always one range: the backing store is (ADL-008).
 *
 * Source     contract.md NTF-012, NTF-013, ADL-004, ADL-005, ADL-008; docs/contract-choices.md, U9.
 */
#include "vidmm/paging/auxiliary_mmu.h"

#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/bits.h"

#define PART_PAGES UINT64_C(64)

/* In the segment, where a physically accessed allocation is one range (CTX-014, ALLOC-016). */
static uint64_t address_of_page(struct vidmm_allocation *allocation, uint64_t page)
{
    return allocation->place.segment->kind == SEGMENT_PAGES
               ? segment_page_offset(allocation, page)
               : allocation->place.offset + PAGE_BYTES_OF(page);
}

static bool wants_auxiliary_mmus(const struct vidmm_allocation *allocation)
{
    const struct vidmm *vidmm = allocation->vidmm;

    return vidmm->config.auxiliary_mmus && allocation->is_accessed_physically &&
           allocation->place.segment && allocation->place.segment->kind != SEGMENT_SYSTEM &&
           vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM3_2;
}

/* The pages [first, + count) of the allocation. */
static void describe_part(struct vidmm_allocation *allocation, uint64_t first, uint64_t count,
                          DXGKARG_BUILDPAGINGBUFFER *args)
{
    DXGK_ADL *adl = &args->MmapMmu.Adl;
    const struct vidmm *vidmm = allocation->vidmm;
    uint64_t *pages;
    uint64_t base, run = 1;

    adl->PageCount = (UINT32)count;
    if (allocation->place.segment->kind != SEGMENT_APERTURE) {
        args->MmapMmu.SegmentId = (UINT16)allocation->place.segment->id;
        adl->Flags.Contiguous = 1;
        adl->BasePageNumber = address_of_page(allocation, first) / PAGE_BYTES;
        return;
    }
    pages = allocation_backing_pages(allocation) + first;
    base = device_page(vidmm, pages[0]);
    while (run < count && device_page(vidmm, pages[run]) == base + run)
        run++;
    adl->Flags.Contiguous = run == count;
    ASSERT(adl->Flags.Contiguous || !vidmm->config.platform.device_page);
    if (adl->Flags.Contiguous)
        adl->BasePageNumber = base;
    else
        adl->Pages = (DXGK_PAGE_NUMBER *)pages;
}

bool auxiliary_mmu_next(struct vidmm_allocation *allocation, bool is_map,
                        DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t parts = div_round_up(allocation->page_count, PART_PAGES);
    uint64_t index = allocation->job.cursor;
    uint64_t first = index % parts * PART_PAGES;
    uint64_t count = min_u64(PART_PAGES, allocation->page_count - first);
    uint64_t address;
    unsigned mmu = (unsigned)(index / parts) + 1;

    if (!wants_auxiliary_mmus(allocation) || mmu > allocation->vidmm->config.auxiliary_mmus) {
        allocation->job.cursor = 0;
        return false;
    }
    allocation->job.cursor++;
    address = allocation->place.segment->caps->base + address_of_page(allocation, first);
    if (is_map) {
        args->Operation = DXGK_OPERATION_MAP_MMU;
        args->MmapMmu.hAllocation = allocation->driver_handle;
        args->MmapMmu.VirtualAddress = address;
        args->MmapMmu.MmuId = (UINT16)mmu;
        args->MmapMmu.AllocationOffsetInPages = (UINT)first;
        describe_part(allocation, first, count, args);
        return true;
    }
    args->Operation = DXGK_OPERATION_UNMAP_MMU;
    args->UnmapMmu.hAllocation = allocation->driver_handle;
    args->UnmapMmu.VirtualAddress = address;
    args->UnmapMmu.MmuId = (UINT16)mmu;
    args->UnmapMmu.AllocationOffset = (UINT)first;
    args->UnmapMmu.NumberOfPages = (UINT)count;
    return true;
}
