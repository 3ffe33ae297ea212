/*
 * CPU host aperture: how the CPU reaches pages of a memory segment that it does not see.
 *
 * The driver points slots of the aperture at pages of the segment when asked to; which slots, the
 * manager says and keeps account of (CHA-003). Page tables of the paging process hold a slot each
 * for as long as they live, a locked allocation one for each of its pages until it is unlocked.
 * Pages are those of the segment: of 64 KiB where it has Use64KBPages (CHA-002). Tables in one of
 * them share its slot.
 *
 * While the adapter is in D3 nothing is mapped (CHA-005): all slots are unmapped before, and mapped
 * again to the pages they showed. Their owners do not notice, as the CPU does not touch them
 * meanwhile.
 *
 * Source     contract.md CHA-001..005.
 */
#include "vidmm/views/host_aperture.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/page_allocator.h"
#include "base/services.h"

/* Slots that the driver is told of in one call. */
#define BATCH 64u

static void release_slots(struct segment *segment, const uint32_t *slots, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        enum page_status status = page_allocator_release(&segment->host_slots, slots[i], 1);

        ASSERT(status == PAGE_OK);
        (void)status;
    }
}

static void unmap(struct vidmm *vidmm, struct segment *segment, uint32_t *slots, uint64_t count)
{
    DXGKARG_UNMAPCPUHOSTAPERTURE args = {0};
    NTSTATUS status;
    uint64_t i;

    for (i = 0; i < count; i++)
        segment->host_shown[slots[i]].page = 0;
    if (segment->host_is_closed)
        return;
    args.NumberOfPages = count;
    args.pCpuHostAperturePages = slots;
    args.SegmentId = (WORD)segment->id;
    status = miniport_unmap_cpu_host_aperture(vidmm->miniport, NULL, &args);
    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "CHA-004",
                           "DxgkDdiUnmapCpuHostAperture returned 0x%08x; it must succeed",
                           (unsigned)status);
}

static NTSTATUS map(struct vidmm *vidmm, struct segment *segment, HANDLE driver_allocation,
                    uint32_t *slots, uint64_t *pages, uint64_t count)
{
    DXGKARG_MAPCPUHOSTAPERTURE args = {0};
    NTSTATUS status;
    uint64_t i;

    args.hAllocation = driver_allocation;
    args.SegmentId = (WORD)segment->id;
    args.NumberOfPages = count;
    args.pCpuHostAperturePages = slots;
    args.pMemorySegmentPages = pages;
    status = miniport_map_cpu_host_aperture(vidmm->miniport, NULL, &args);
    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "CHA-002",
                           "DxgkDdiMapCpuHostAperture of %llu pages returned 0x%08x",
                           (unsigned long long)count, (unsigned)status);
    for (i = 0; NT_SUCCESS(status) && i < count; i++)
        segment->host_shown[slots[i]].page = pages[i] + 1;
    return status;
}

/* Pages of the segment that [first_page, + count), in pages of 4 KiB, lies in. */
static uint64_t unit_count(const struct segment *segment, uint64_t first_page, uint64_t count)
{
    return (first_page + count - 1) / segment->unit_pages - first_page / segment->unit_pages + 1;
}

static void unmap_units(struct vidmm *vidmm, struct segment *segment, uint32_t first_slot,
                        uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++) {
        uint32_t slot = first_slot + (uint32_t)i;

        if (segment->host_shown[slot].sharers) {
            segment->host_shown[slot].sharers--;
            continue;
        }
        unmap(vidmm, segment, &slot, 1);
        release_slots(segment, &slot, 1);
    }
}

/* A slot that shows the page already; host_pages: there is none. */
static uint32_t find_shown(const struct segment *segment, uint64_t page)
{
    uint32_t slot = 0;

    while (slot < segment->caps->host_pages && segment->host_shown[slot].page != page + 1)
        slot++;
    return slot;
}

void host_aperture_unmap_range(struct vidmm *vidmm, struct segment *segment, uint32_t first_slot,
                               uint64_t first_page, uint64_t count)
{
    unmap_units(vidmm, segment, first_slot, unit_count(segment, first_page, count));
}

NTSTATUS host_aperture_map_range(struct vidmm *vidmm, struct segment *segment, uint64_t first_page,
                                 uint64_t count, uint32_t *out_first_slot, uint64_t *out_address)
{
    uint64_t first_slot, i;

    *out_first_slot = 0;
    *out_address = 0;
    count = unit_count(segment, first_page, count);
    if (segment->unit_pages > 1 && count == 1) {
        uint32_t shared = find_shown(segment, first_page / segment->unit_pages);

        if (shared < segment->caps->host_pages) {
            segment->host_shown[shared].sharers++;
            *out_first_slot = shared;
            *out_address = host_aperture_address(segment, shared) +
                           PAGE_BYTES_OF(first_page % segment->unit_pages);
            return STATUS_SUCCESS;
        }
    }
    if (page_allocator_take_contiguous(&segment->host_slots, count, 1, &first_slot) != PAGE_OK)
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    for (i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(first_slot + i);
        uint64_t page = first_page / segment->unit_pages + i;
        NTSTATUS status = map(vidmm, segment, NULL, &slot, &page, 1);

        if (!NT_SUCCESS(status)) {
            unmap_units(vidmm, segment, (uint32_t)first_slot, i);
            page_allocator_release(&segment->host_slots, first_slot + i, count - i);
            return status;
        }
    }
    *out_first_slot = (uint32_t)first_slot;
    *out_address = host_aperture_address(segment, (uint32_t)first_slot) +
                   PAGE_BYTES_OF(first_page % segment->unit_pages);
    return STATUS_SUCCESS;
}

static void unmap_pages(struct vidmm_allocation *allocation, uint64_t count)
{
    uint64_t done, part;

    for (done = 0; done < count; done += part) {
        part = min_u64(count - done, BATCH);
        unmap(allocation->vidmm, allocation->place.segment, allocation->host_slots + done, part);
    }
}

/* Slots for the allocation, which begins with a page of the segment. */
static uint64_t slot_count(const struct vidmm_allocation *allocation)
{
    return unit_count(allocation->place.segment, 0, allocation->page_count);
}

static NTSTATUS map_pages(struct vidmm_allocation *allocation)
{
    const uint64_t count = slot_count(allocation);
    const uint64_t unit_pages = allocation->place.segment->unit_pages;
    uint64_t pages[BATCH];
    uint64_t done, part, i;
    NTSTATUS status;

    for (done = 0; done < count; done += part) {
        part = min_u64(count - done, BATCH);
        for (i = 0; i < part; i++)
            pages[i] = segment_page_offset(allocation, (done + i) * unit_pages) /
                       PAGE_BYTES_OF(unit_pages);
        status = map(allocation->vidmm, allocation->place.segment, allocation->driver_handle,
                     allocation->host_slots + done, pages, part);
        if (!NT_SUCCESS(status)) {
            unmap_pages(allocation, done);
            return status;
        }
    }
    return STATUS_SUCCESS;
}

NTSTATUS host_aperture_map_allocation(struct vidmm_allocation *allocation)
{
    struct segment *segment = allocation->place.segment;
    const struct base_services *services = allocation->vidmm->services;
    uint64_t count = slot_count(allocation);
    uint64_t taken;
    NTSTATUS status = STATUS_GRAPHICS_NO_VIDEO_MEMORY;

    if (page_allocator_free_count(&segment->host_slots) < count)
        return status;
    allocation->host_slots = base_alloc_array(services, count, sizeof *allocation->host_slots);
    if (!allocation->host_slots)
        return STATUS_NO_MEMORY;
    for (taken = 0; taken < count; taken++) {
        struct page_run run;
        size_t run_count;

        if (page_allocator_take(&segment->host_slots, 1, PAGE_FILL_GAPS, &run, 1, &run_count) !=
            PAGE_OK)
            goto release;
        allocation->host_slots[taken] = (uint32_t)run.first_page;
    }
    status = map_pages(allocation);
    if (NT_SUCCESS(status))
        return status;

release:
    release_slots(segment, allocation->host_slots, taken);
    base_free_array(services, allocation->host_slots, count, sizeof *allocation->host_slots);
    allocation->host_slots = NULL;
    return status;
}

void host_aperture_unmap_allocation(struct vidmm_allocation *allocation)
{
    uint64_t count;

    if (!allocation->host_slots)
        return;
    count = slot_count(allocation);
    unmap_pages(allocation, count);
    release_slots(allocation->place.segment, allocation->host_slots, count);
    base_free_array(allocation->vidmm->services, allocation->host_slots, count,
                    sizeof *allocation->host_slots);
    allocation->host_slots = NULL;
}

/* ---- Sleep ----------------------------------------------------------------------------------- */

/* Tells the driver of all slots that show something: to unmap them, or to map them as they were. */
static void tell_all(struct vidmm *vidmm, struct segment *segment, bool is_map)
{
    uint32_t slots[BATCH];
    uint64_t pages[BATCH];
    uint64_t slot, count = 0;

    for (slot = 0; slot < segment->caps->host_pages; slot++) {
        if (segment->host_shown[slot].page) {
            slots[count] = (uint32_t)slot;
            pages[count++] = segment->host_shown[slot].page - 1;
        }
        if (!count || (count < BATCH && slot + 1 < segment->caps->host_pages))
            continue;
        if (is_map) {
            map(vidmm, segment, NULL, slots, pages, count);
        } else {
            uint64_t i;

            unmap(vidmm, segment, slots, count);
            for (i = 0; i < count; i++)
                segment->host_shown[slots[i]].page = pages[i] + 1;
        }
        count = 0;
    }
}

void host_apertures_close(struct vidmm *vidmm)
{
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if (!vidmm->segments[i].host_shown)
            continue;
        tell_all(vidmm, &vidmm->segments[i], false);
        vidmm->segments[i].host_is_closed = true;
    }
}

void host_apertures_open(struct vidmm *vidmm)
{
    unsigned i;

    for (i = 0; i < vidmm->caps.segment_count; i++) {
        if (!vidmm->segments[i].host_is_closed)
            continue;
        vidmm->segments[i].host_is_closed = false;
        tell_all(vidmm, &vidmm->segments[i], true);
    }
}
