#include "vidmm/rig/test_rig_views.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_gpu.h"

#include "base/bits.h"

#define FIRST_RANGE 0x40u /* address >> 40 of the first swizzling range */

uint64_t rig_host_window(void)
{
    return UINT64_C(0x30) << 40;
}

uint64_t rig_host_unit(const struct rig *rig)
{
    return rig->config.has_64kb_pages[0] && rig->config.is_virtual ? 16 : 1;
}

/* ---- The order of swizzled allocations ------------------------------------------------------- */

/* Zero is zero in any order. */
uint64_t rig_swizzle(uint64_t linear)
{
    return linear << 8 | linear >> 56;
}

uint64_t rig_unswizzle(uint64_t word)
{
    return word >> 8 | word << 56;
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static struct rig_range *range_at(struct rig *rig, uint64_t address)
{
    unsigned id = (unsigned)(address >> 40) - FIRST_RANGE;

    EXPECT(id < rig->config.swizzling_ranges && rig->ranges[id].owner);
    return &rig->ranges[id];
}

struct rig_page *rig_bus_page(struct rig *rig, uint64_t address)
{
    uint64_t page = (address & (TiB - 1)) / PAGE_BYTES;
    unsigned place = (unsigned)(address >> 40);

    if (place >= FIRST_RANGE) {
        const struct rig_range *range = range_at(rig, address);

        EXPECT(page < range->owner->page_count);
        return rig_page(rig, range->segment, range->first_page + page);
    }
    if (place == rig_host_window() >> 40) {
        uint64_t unit = rig_host_unit(rig);

        EXPECT(page / unit < rig->config.host_slots && rig->host_shown[page / unit]);
        return rig_page(rig, 1, (rig->host_shown[page / unit] - 1) * unit + page % unit);
    }
    EXPECT(place == 0x11 ? !rig->config.host_slots && !rig->config.hides_segment[0]
                         : !rig->config.hides_segment[place - 0x11]);
    return rig_page(rig, place - 0x10, page);
}

/* A range shows the linear order; what is seen elsewhere must be in linear order there. */
static bool unswizzles(struct rig *rig, uint64_t address)
{
    return address >> 40 >= FIRST_RANGE && range_at(rig, address)->owner->is_swizzled;
}

uint64_t rig_cpu_read(struct rig *rig, uint64_t address)
{
    uint64_t word = rig_page_at(rig, address)->content;

    return unswizzles(rig, address) ? rig_unswizzle(word) : word;
}

void rig_cpu_write(struct rig *rig, uint64_t address, uint64_t value)
{
    rig_page_at(rig, address)->content = unswizzles(rig, address) ? rig_swizzle(value) : value;
}

bool rig_shows_nothing(const struct rig *rig)
{
    for (uint64_t slot = 0; slot < rig->config.host_slots; slot++) {
        if (rig->host_shown[slot])
            return false;
    }
    for (unsigned id = 0; id < rig->config.swizzling_ranges; id++) {
        if (rig->ranges[id].owner)
            return false;
    }
    return true;
}

/* ---- The CPU host aperture ------------------------------------------------------------------- */

/* Whose a page is that the CPU is to see. Behind a sleep it is not said for which allocation. */
static uint32_t owner_of(const struct rig *rig, const struct rig_page *page)
{
    return page->owner && rig->allocations[page->owner - 1]->is_live ? page->owner
                                                                     : RIG_TABLE_OWNER;
}

/* Pages of 64 KiB may hold several page tables, and neighbours of them. */
static void show(struct rig *rig, uint64_t unit_page, bool is_shown)
{
    struct rig_page *page = rig_page(rig, 1, unit_page * rig_host_unit(rig));

    if (rig_host_unit(rig) == 1)
        page->shown_owner = is_shown ? owner_of(rig, page) : 0;
}

NTSTATUS rig_map_host(struct miniport *self, HANDLE object, const DXGKARG_MAPCPUHOSTAPERTURE *map)
{
    struct rig *rig = rig_of(self);
    const uint64_t unit = rig_host_unit(rig);

    EXPECT(!object && map->SegmentId == 1 && map->NumberOfPages && !rig->is_asleep);
    if (rig->refused_host_map && --rig->refused_host_map == 0)
        return STATUS_NO_MEMORY;
    rig->host_maps++;
    for (uint64_t i = 0; i < map->NumberOfPages; i++) {
        uint32_t slot = map->pCpuHostAperturePages[i];
        uint64_t page = map->pMemorySegmentPages[i];

        EXPECT(slot < rig->config.host_slots && !rig->host_shown[slot]);
        EXPECT(page < div_round_up(rig->segment_pages[0], unit));
        if (map->hAllocation && !rig->is_hung)
            EXPECT(rig_page(rig, 1, page * unit)->owner ==
                   rig_allocation_of(rig, map->hAllocation)->number);
        for (uint64_t other = 0; other < rig->config.host_slots; other++)
            EXPECT(rig->host_shown[other] != page + 1); /* one that is there is shared */
        rig->host_shown[slot] = page + 1;
        show(rig, page, true);
    }
    return STATUS_SUCCESS;
}

NTSTATUS rig_unmap_host(struct miniport *self, HANDLE object,
                        const DXGKARG_UNMAPCPUHOSTAPERTURE *unmap)
{
    struct rig *rig = rig_of(self);

    EXPECT(!object && unmap->SegmentId == 1 && unmap->NumberOfPages && !rig->is_asleep);
    for (uint64_t i = 0; i < unmap->NumberOfPages; i++) {
        uint32_t slot = unmap->pCpuHostAperturePages[i];

        EXPECT(slot < rig->config.host_slots && rig->host_shown[slot]);
        show(rig, rig->host_shown[slot] - 1, false);
        rig->host_shown[slot] = 0;
    }
    return STATUS_SUCCESS;
}

/* ---- Swizzling ranges ------------------------------------------------------------------------ */

NTSTATUS rig_acquire_range(struct miniport *self, HANDLE object,
                           DXGKARG_ACQUIRESWIZZLINGRANGE *acquire)
{
    struct rig *rig = rig_of(self);
    struct rig_allocation *allocation = rig_allocation_of(rig, acquire->hAllocation);
    uint64_t address = (uint64_t)acquire->CPUTranslatedAddress.QuadPart;
    struct rig_range *range = &rig->ranges[acquire->RangeId];

    EXPECT(!object && acquire->RangeId < rig->config.swizzling_ranges && !range->owner);
    EXPECT(acquire->SegmentId && !rig_is_aperture(rig, acquire->SegmentId) &&
           !rig->config.hides_segment[acquire->SegmentId - 1]);
    EXPECT(acquire->RangeSize == PAGE_BYTES_OF(allocation->page_count));
    EXPECT(address >> 40 == acquire->SegmentId + 0x10 && is_aligned(address, PAGE_BYTES));
    if (allocation->has_no_range)
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNSUPPORTED;
    if (rig->config.refuses_ranges && rng_chance(&rig->rng, 1, 3))
        return STATUS_GRAPHICS_UNSWIZZLING_APERTURE_UNAVAILABLE;
    rig->acquired_ranges++;
    *range = (struct rig_range){.owner = allocation,
                                .data = acquire->PrivateDriverData,
                                .segment = acquire->SegmentId,
                                .first_page = (address & (TiB - 1)) / PAGE_BYTES};
    for (uint64_t i = 0; i < allocation->page_count; i++) {
        struct rig_page *page = rig_page(rig, range->segment, range->first_page + i);

        EXPECT(page->owner == allocation->number && page->owner_page == i);
        page->shown_owner = allocation->number;
    }
    acquire->CPUTranslatedAddress.QuadPart =
        (LONGLONG)((uint64_t)(FIRST_RANGE + acquire->RangeId) << 40);
    return STATUS_SUCCESS;
}

NTSTATUS rig_release_range(struct miniport *self, HANDLE object,
                           const DXGKARG_RELEASESWIZZLINGRANGE *release)
{
    struct rig *rig = rig_of(self);
    struct rig_range *range = &rig->ranges[release->RangeId];

    EXPECT(!object && release->RangeId < rig->config.swizzling_ranges);
    EXPECT(range->owner && range->owner == release->hAllocation &&
           range->data == release->PrivateDriverData);
    for (uint64_t i = 0; i < range->owner->page_count; i++)
        rig_page(rig, range->segment, range->first_page + i)->shown_owner = 0;
    range->owner = NULL;
    return STATUS_SUCCESS;
}
