/*
 * Fence storage: blocks, the driver's wishes, pages in segments.
 *
 * DxgkDdiGetStandardAllocationDriverData is asked for each kind of value that may be in a segment
 * (config.native_fence_memory) when a block is made. A wish for a segment that is not there, that
 * the CPU cannot see, or that has no pages of its own (an aperture shows system memory) is passed
 * over: the values stay in system memory.
 *
 * Source     contract.md FENCE-018..020, NTF-010; docs/contract-choices.md, C8.
 */
#include "vidmm/paging/fence_storage.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/tables/segment_tables.h"
#include "vidmm/views/aperture.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "base/services.h"

#include <string.h>

#define FENCE_STRIDE 64u
#define ROOM_SHARE   8u /* of a segment is free when values come back to it */

_Static_assert(VIDMM_MAX_NATIVE_FENCES_A_PAGE *FENCE_STRIDE == PAGE_BYTES,
               "a page is full of them");

/* ---- Pages ----------------------------------------------------------------------------------- */

static uint8_t *system_cpu(const struct fence_block *block, enum fence_value value)
{
    return block->cpu + PAGE_BYTES_OF((uint64_t)value);
}

static uint8_t *page_cpu(const struct fence_block *block, const struct fence_page *page,
                         enum fence_value value)
{
    return page->segment ? page->cpu : system_cpu(block, value);
}

static void copy_words(uint8_t *to, const uint8_t *from)
{
    volatile uint64_t *words = (volatile uint64_t *)(void *)to;
    const volatile uint64_t *source = (const volatile uint64_t *)(const void *)from;

    for (unsigned i = 0; i < PAGE_BYTES / sizeof *words; i++)
        words[i] = source[i];
}

static void poison(uint8_t *cpu)
{
    volatile uint64_t *words = (volatile uint64_t *)(void *)cpu;

    for (unsigned i = 0; i < PAGE_BYTES / sizeof *words; i++)
        words[i] = FENCE_POISON;
}

static void release_page(struct vidmm *vidmm, struct fence_page *page)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    if (!page->segment)
        return;
    platform->unmap_bus(platform->context, page->cpu, PAGE_BYTES);
    segment_release_pages(vidmm, page->segment, page->page, 1, 1);
    *page = (struct fence_page){0};
}

/* A page of the segment that the CPU sees. False: there is no room, or no address. */
static bool take_page(struct vidmm *vidmm, const struct segment *segment,
                      struct fence_page *out_page)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    if (segment_free(vidmm, segment) < segment->size / ROOM_SHARE ||
        !NT_SUCCESS(segment_take_pages(vidmm, segment->id, 1, 1, true, &out_page->page)))
        return false;
    out_page->segment = segment->id;
    out_page->cpu = platform->map_bus(
        platform->context, segment->caps->cpu_address + PAGE_BYTES_OF(out_page->page), PAGE_BYTES);
    if (out_page->cpu)
        return true;
    segment_release_pages(vidmm, segment->id, out_page->page, 1, 1);
    *out_page = (struct fence_page){0};
    return false;
}

/* ---- The driver's wishes --------------------------------------------------------------------- */

static bool is_seen(const struct segment *segment)
{
    return segment->kind == SEGMENT_PAGES && segment->caps->is_cpu_visible &&
           segment->caps->cpu_address;
}

static bool is_in(uint32_t set, unsigned id)
{
    return id && id <= 32 && (set >> (id - 1) & 1);
}

static void note_wish(struct vidmm *vidmm, uint8_t wishes[FENCE_WISHES], unsigned id)
{
    unsigned at = 0;

    if (!is_seen(segment_by_id(vidmm, id)))
        return;
    while (at < FENCE_WISHES && wishes[at] && wishes[at] != id)
        at++;
    if (at < FENCE_WISHES)
        wishes[at] = (uint8_t)id;
}

/* Those that are preferred, then the others of the set. */
static void note_wishes(struct vidmm *vidmm, const DXGK_ALLOCATIONINFO *info, uint32_t set,
                        uint8_t wishes[FENCE_WISHES])
{
    const DXGK_SEGMENTPREFERENCE *preferred = &info->PreferredSegment;
    const unsigned ids[] = {preferred->SegmentId0, preferred->SegmentId1, preferred->SegmentId2,
                            preferred->SegmentId3, preferred->SegmentId4};

    for (unsigned i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (is_in(set, ids[i]))
            note_wish(vidmm, wishes, ids[i]);
    }
    for (unsigned id = 1; id <= vidmm->caps.segment_count; id++) {
        if (is_in(set, id))
            note_wish(vidmm, wishes, id);
    }
}

static NTSTATUS ask_driver(struct vidmm *vidmm, enum fence_value value,
                           uint8_t wishes[FENCE_WISHES])
{
    static const char *const names[] = {"current", "monitored"};
    D3DKMDT_FENCESTORAGESURFACEDATA storage = {
        .FenceStorageValueType = value == FENCE_CURRENT ? D3DKARG_FENCESTORAGETYPE_CURRENTVALUE
                                                        : D3DKARG_FENCESTORAGETYPE_MONITOREDVALUE,
        .FenceStorageType = D3DDDI_NATIVEFENCE_TYPE_DEFAULT,
    };
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args = {
        .StandardAllocationType = D3DKMDT_STANDARDALLOCATION_FENCESTORAGE,
        .pCreateFenceStorageData = &storage,
    };
    NTSTATUS status = miniport_get_standard_allocation_driver_data(vidmm->miniport, NULL, &args);
    uint32_t all = (uint32_t)((UINT64_C(1) << vidmm->caps.segment_count) - 1);
    uint32_t set = storage.AllocationInfo.SupportedWriteSegmentSet;

    if (status != STATUS_SUCCESS)
        return status == STATUS_NO_MEMORY ? status : STATUS_NOT_SUPPORTED;
    if (!set || (set & ~all))
        vidmm_driver_error(vidmm, "FENCE-018",
                           "SupportedWriteSegmentSet of %s values is 0x%x; the adapter has 0x%x",
                           names[value], (unsigned)set, (unsigned)all);
    set &= all;
    for (unsigned id = 1; value == FENCE_MONITORED && id <= vidmm->caps.segment_count; id++) {
        if (is_in(set, id) && segment_by_id(vidmm, id)->kind == SEGMENT_PAGES &&
            !segment_by_id(vidmm, id)->caps->is_cpu_visible)
            vidmm_driver_error(vidmm, "FENCE-019",
                               "monitored values may be in segment %u, which is not CpuVisible",
                               id);
    }
    note_wishes(vidmm, &storage.AllocationInfo, set, wishes);
    return STATUS_SUCCESS;
}

/* A driver that has no such function, or knows no such allocation, has no wish. */
static NTSTATUS ask_wishes(struct vidmm *vidmm, struct fence_block *block)
{
    unsigned memory = vidmm->config.native_fence_memory;
    NTSTATUS status = STATUS_SUCCESS;

    if (memory == VIDMM_FENCES_IN_SYSTEM ||
        miniport_interface_version(vidmm->miniport) < DXGKDDI_INTERFACE_VERSION_WDDM3_2 ||
        !miniport_has(vidmm->miniport, MINIPORT_DDI_GetStandardAllocationDriverData))
        return STATUS_SUCCESS;
    if (memory == VIDMM_FENCES_IN_SEGMENTS)
        status = ask_driver(vidmm, FENCE_CURRENT, block->wishes[FENCE_CURRENT]);
    if (NT_SUCCESS(status) || status == STATUS_NOT_SUPPORTED)
        status = ask_driver(vidmm, FENCE_MONITORED, block->wishes[FENCE_MONITORED]);
    return status == STATUS_NOT_SUPPORTED ? STATUS_SUCCESS : status;
}

/* ---- Life ------------------------------------------------------------------------------------ */

NTSTATUS fence_block_create(struct vidmm *vidmm, struct fence_block **out_block)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    struct fence_block *block = base_alloc(vidmm->services, sizeof *block);
    NTSTATUS status;

    *out_block = NULL;
    if (!block)
        return STATUS_NO_MEMORY;
    status = ask_wishes(vidmm, block);
    if (!NT_SUCCESS(status))
        goto free_block;
    status = platform->take_contiguous(platform->context, FENCE_VALUES, &block->first_page);
    if (!NT_SUCCESS(status))
        goto free_block;
    block->cpu = platform->map_bus(platform->context, PAGE_BYTES_OF(block->first_page),
                                   PAGE_BYTES_OF(FENCE_VALUES));
    if (!block->cpu) {
        status = STATUS_NO_MEMORY;
        goto release_pages;
    }
    *out_block = block;
    return STATUS_SUCCESS;

release_pages:
    platform->release_contiguous(platform->context, FENCE_VALUES, block->first_page);
free_block:
    base_free(vidmm->services, block, sizeof *block);
    return status;
}

void fence_block_destroy(struct vidmm *vidmm, struct fence_block *block)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;

    for (unsigned value = 0; value < FENCE_VALUES; value++) {
        release_page(vidmm, &block->places[value]);
        release_page(vidmm, &block->formers[value]);
    }
    platform->unmap_bus(platform->context, block->cpu, PAGE_BYTES_OF(FENCE_VALUES));
    platform->release_contiguous(platform->context, FENCE_VALUES, block->first_page);
    base_free(vidmm->services, block, sizeof *block);
}

/* ---- Where values are ------------------------------------------------------------------------ */

volatile uint64_t *fence_block_word(const struct fence_block *block, enum fence_value value,
                                    unsigned slot)
{
    return (volatile uint64_t *)(void *)(page_cpu(block, &block->places[value], value) +
                                         slot * FENCE_STRIDE);
}

D3DGPU_PHYSICAL_ADDRESS fence_block_address(const struct vidmm *vidmm,
                                            const struct fence_block *block, enum fence_value value,
                                            unsigned slot)
{
    const struct fence_page *place = &block->places[value];
    uint64_t page =
        place->segment ? place->page : device_page(vidmm, block->first_page + (uint64_t)value);

    return (D3DGPU_PHYSICAL_ADDRESS){
        .SegmentId = place->segment,
        .SegmentOffset = PAGE_BYTES_OF(page) + slot * FENCE_STRIDE,
    };
}

/* ---- Coming and going ------------------------------------------------------------------------ */

bool fence_block_is_moving(const struct fence_block *block)
{
    return block->has_moved[FENCE_CURRENT] || block->has_moved[FENCE_MONITORED];
}

bool fence_block_enter(struct vidmm *vidmm, struct fence_block *block)
{
    bool has_any = false;

    for (unsigned value = 0; value < FENCE_VALUES; value++) {
        struct fence_page page = {0};

        if (block->places[value].segment || block->has_moved[value])
            continue;
        for (unsigned i = 0; i < FENCE_WISHES && block->wishes[value][i] && !page.segment; i++)
            take_page(vidmm, segment_by_id(vidmm, block->wishes[value][i]), &page);
        if (!page.segment)
            continue;
        copy_words(page.cpu, system_cpu(block, value));
        block->formers[value] = block->places[value];
        block->places[value] = page;
        block->has_moved[value] = has_any = true;
    }
    return has_any;
}

bool fence_block_leave(struct fence_block *block, const struct segment *segment)
{
    bool has_any = false;

    for (unsigned value = 0; value < FENCE_VALUES; value++) {
        struct fence_page *place = &block->places[value];

        if (!place->segment || (segment && place->segment != segment->id))
            continue;
        copy_words(system_cpu(block, value), place->cpu);
        block->formers[value] = *place;
        *place = (struct fence_page){0};
        block->has_moved[value] = has_any = true;
    }
    return has_any;
}

void fence_block_settle(struct vidmm *vidmm, struct fence_block *block)
{
    for (unsigned value = 0; value < FENCE_VALUES; value++) {
        struct fence_page *former = &block->formers[value];

        if (!block->has_moved[value])
            continue;
        block->has_moved[value] = false;
        if (!former->segment || !vidmm->is_removed)
            poison(page_cpu(block, former, value));
        release_page(vidmm, former);
    }
}

void fence_block_rescue(struct fence_block *block)
{
    for (unsigned value = 0; value < FENCE_VALUES; value++) {
        struct fence_page *place = &block->places[value];

        if (!place->segment)
            continue;
        copy_words(system_cpu(block, value), place->cpu);
        block->formers[value] = *place;
        *place = (struct fence_page){0};
        block->has_moved[value] = false;
    }
}

void fence_block_drop(struct vidmm *vidmm, struct fence_block *block)
{
    for (unsigned value = 0; value < FENCE_VALUES; value++) {
        block->has_moved[value] = false;
        release_page(vidmm, &block->formers[value]);
    }
}
