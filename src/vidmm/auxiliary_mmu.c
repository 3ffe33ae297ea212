/*
 * Auxiliary MMUs: MAP_MMU and UNMAP_MMU (WDDM 3.2).
 *
 * No public page says how an adapter reports MMUs beside that of its engines, nor the units of the
 * fields. The reading here: the embedder says how many there are (config.auxiliary_mmus), numbered from
 * 1. An allocation that is accessed physically and resident in an aperture is mapped in each of them
 * behind its slots, at the address that is its offset in the aperture, part by part, and unmapped from
 * them before its slots go. Offsets and counts are pages; SegmentId 0 says that the pages are system
 * memory; the list holds the pages of the part.
 *
 * Source     contract.md NTF-012, NTF-013; docs/contract-choices.md, U9.
 */
#include "vidmm/private.h"

#define PART_PAGES UINT64_C(64)

static bool wants_auxiliary_mmus(const struct vidmm_allocation *allocation)
{
    const struct vidmm *vidmm = allocation->vidmm;

    return vidmm->config.auxiliary_mmus && allocation->is_accessed_physically &&
           allocation->segment && allocation->segment->kind == SEGMENT_APERTURE &&
           vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM3_2 &&
           !vidmm->config.platform.device_page; /* a part need not be one range then */
}

bool auxiliary_mmu_next(struct vidmm_allocation *allocation, bool is_map,
                        DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t parts = div_round_up(allocation->page_count, PART_PAGES);
    uint64_t index = allocation->job.cursor;
    uint64_t first = index % parts * PART_PAGES;
    uint64_t count = min_u64(PART_PAGES, allocation->page_count - first);
    uint64_t address = allocation->offset + PAGE_BYTES_OF(first);
    unsigned mmu = (unsigned)(index / parts) + 1;

    if (!wants_auxiliary_mmus(allocation) || mmu > allocation->vidmm->config.auxiliary_mmus) {
        allocation->job.cursor = 0;
        return false;
    }
    allocation->job.cursor++;
    if (is_map) {
        args->Operation = DXGK_OPERATION_MAP_MMU;
        args->MmapMmu.hAllocation = allocation->driver_handle;
        args->MmapMmu.VirtualAddress = address;
        args->MmapMmu.MmuId = (UINT16)mmu;
        args->MmapMmu.AllocationOffsetInPages = (UINT)first;
        args->MmapMmu.Adl.PageCount = (UINT32)count;
        args->MmapMmu.Adl.Pages = (DXGK_PAGE_NUMBER *)allocation_backing_pages(allocation) + first;
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
