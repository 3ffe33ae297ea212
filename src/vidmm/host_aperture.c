/*
 * CPU host aperture: how the CPU reaches pages of a memory segment that it does not see.
 *
 * The driver points slots of the aperture at pages of the segment when asked to; which slots, the
 * manager says and keeps account of (CHA-003). Page tables of the paging process hold a slot each for
 * as long as they live, a locked allocation one for each of its pages until it is unlocked.
 *
 * Source     contract.md CHA-001..005.
 */
#include "vidmm/private.h"

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
    return status;
}

void host_aperture_unmap_range(struct vidmm *vidmm, struct segment *segment, uint32_t first_slot,
                               uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++) {
        uint32_t slot = first_slot + (uint32_t)i;

        unmap(vidmm, segment, &slot, 1);
        release_slots(segment, &slot, 1);
    }
}

NTSTATUS host_aperture_map_range(struct vidmm *vidmm, struct segment *segment, uint64_t first_page,
                                 uint64_t count, uint32_t *out_first_slot)
{
    uint64_t first_slot, i;

    *out_first_slot = 0;
    if (page_allocator_take_contiguous(&segment->host_slots, count, 1, &first_slot) != PAGE_OK)
        return STATUS_GRAPHICS_NO_VIDEO_MEMORY;
    for (i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(first_slot + i);
        uint64_t page = first_page + i;
        NTSTATUS status = map(vidmm, segment, NULL, &slot, &page, 1);

        if (!NT_SUCCESS(status)) {
            host_aperture_unmap_range(vidmm, segment, (uint32_t)first_slot, i);
            page_allocator_release(&segment->host_slots, first_slot + i, count - i);
            return status;
        }
    }
    *out_first_slot = (uint32_t)first_slot;
    return STATUS_SUCCESS;
}

static void unmap_pages(struct vidmm_allocation *allocation, uint64_t count)
{
    uint64_t done, part;

    for (done = 0; done < count; done += part) {
        part = min_u64(count - done, BATCH);
        unmap(allocation->vidmm, allocation->segment, allocation->host_slots + done, part);
    }
}

static NTSTATUS map_pages(struct vidmm_allocation *allocation)
{
    uint64_t pages[BATCH];
    uint64_t done, part, i;
    NTSTATUS status;

    for (done = 0; done < allocation->page_count; done += part) {
        part = min_u64(allocation->page_count - done, BATCH);
        for (i = 0; i < part; i++)
            pages[i] = segment_page_offset(allocation, done + i) / PAGE_BYTES;
        status = map(allocation->vidmm, allocation->segment, allocation->driver_handle,
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
    struct segment *segment = allocation->segment;
    const struct base_services *services = allocation->vidmm->services;
    uint64_t count = allocation->page_count;
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
    if (!allocation->host_slots)
        return;
    unmap_pages(allocation, allocation->page_count);
    release_slots(allocation->segment, allocation->host_slots, allocation->page_count);
    base_free_array(allocation->vidmm->services, allocation->host_slots, allocation->page_count,
                    sizeof *allocation->host_slots);
    allocation->host_slots = NULL;
}
