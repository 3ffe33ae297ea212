/*
 * Notices: paging operations that move nothing and tell the driver where things are.
 *
 * NOTIFY_RESIDENCY says once a commit, behind the operations that bring the content, at which
 * physical address an allocation is that is accessed physically, and once an eviction, before the
 * first operation that takes it away, that it goes. Destroying a resident allocation is an
 * eviction, too.
 *
 * config.residency_part_pages has drivers of WDDM 3.2 told by NOTIFY_RESIDENCY2, part by part,
 * instead; config.lists_residency by the pages of the backing store, where one part is enough.
 *
 * NOTIFY_ALLOC (WDDM 3.2) goes to drivers that keep content in caches of their own: before an
 * allocation leaves system memory or an aperture, for each address of its owners (IoMmuUnmap, while
 * the address is still good), and then chunk by chunk at an address in the paging process
 * (Eviction).
 *
 * Source     contract.md NTF-001..006, NTF-015..020; steps of S-05, S-07; sequence S-26.
 */
#include "vidmm/paging/notice.h"

#include "vidmm/mappings/mapping.h"
#include "vidmm/mappings/scratch_view.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/paging/job.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/bits.h"

static D3DGPU_PHYSICAL_ADDRESS address_of(struct vidmm_allocation *allocation, uint64_t page)
{
    return (D3DGPU_PHYSICAL_ADDRESS){
        .SegmentId = allocation->place.segment->id,
        .SegmentOffset = allocation->place.segment->kind == SEGMENT_PAGES
                             ? segment_page_offset(allocation, page)
                             : allocation->place.offset + PAGE_BYTES_OF(page),
    };
}

static bool is_in_parts(const struct vidmm *vidmm)
{
    return vidmm->config.residency_part_pages &&
           vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM3_2;
}

/*
 * A list of all pages, of what is in an aperture: no page says where in a list a part would begin.
 * The driver's own allocations are reached by the address.
 */
static bool is_told_by_list(const struct vidmm_allocation *allocation, uint64_t count)
{
    return allocation->vidmm->config.lists_residency && count == allocation->page_count &&
           allocation->place.segment->kind == SEGMENT_APERTURE && allocation->mdl &&
           !allocation->context && !allocation->vidmm->config.platform.device_page;
}

/* NOTIFY_RESIDENCY2 says the same of one part after the other. */
static void tell_part(struct vidmm_allocation *allocation, bool is_resident,
                      DXGKARG_BUILDPAGINGBUFFER *args)
{
    DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice = &args->NotifyResidency2;
    uint64_t first = allocation->notice_cursor;
    uint64_t count =
        min_u64(allocation->vidmm->config.residency_part_pages, allocation->page_count - first);
    bool is_last = first + count == allocation->page_count;

    args->Operation = DXGK_OPERATION_NOTIFY_RESIDENCY2;
    notice->hAllocation = allocation->driver_handle;
    notice->AllocationOffsetInPages = (UINT)first;
    notice->SizeInPages = (UINT)count;
    notice->Resident = is_resident;
    if (is_resident && is_told_by_list(allocation, count)) {
        notice->Mdl = allocation->mdl;
    } else if (is_resident) {
        notice->SegmentId = (UINT16)allocation->place.segment->id;
        notice->PhysicalAddress = address_of(allocation, first);
    }
    allocation->notice_cursor = is_last ? 0 : first + count;
    allocation->is_noticed = is_resident || !is_last;
}

void notice_op_residency(struct vidmm_allocation *allocation, bool is_resident,
                         DXGKARG_BUILDPAGINGBUFFER *args)
{
    DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice = &args->NotifyResidency;

    if (allocation->notice_is_resident != is_resident)
        allocation->notice_cursor = 0;
    allocation->notice_is_resident = is_resident;
    if (is_in_parts(allocation->vidmm)) {
        tell_part(allocation, is_resident, args);
        return;
    }
    args->Operation = DXGK_OPERATION_NOTIFY_RESIDENCY;
    notice->hAllocation = allocation->driver_handle;
    notice->Resident = is_resident;
    allocation->is_noticed = is_resident;
    if (!is_resident)
        return; /* address (0, 0): NTF-004 */
    notice->PhysicalAddress = address_of(allocation, 0);
}

/* The operation was made and then never shown to the driver: it is told the same as before. */
void notice_take_back(struct vidmm_allocation *allocation, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *part = &args->NotifyResidency2;

    if (args->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY) {
        allocation->is_noticed = !args->NotifyResidency.Resident;
    } else if (args->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY2) {
        allocation->notice_cursor = part->AllocationOffsetInPages;
        allocation->is_noticed = !part->Resident || part->AllocationOffsetInPages;
    }
}

void notice_op_iommu_unmap(const struct mapping *mapping, DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_NOTIFY_ALLOC;
    args->NotifyAllocation.hAllocation = mapping->allocation->driver_handle;
    args->NotifyAllocation.hKmdProcessHandle = mapping->process->space.driver_process;
    args->NotifyAllocation.Flags.IoMmuUnmap = 1;
    args->NotifyAllocation.OffsetInBytes = PAGE_BYTES_OF(mapping->first_page);
    args->NotifyAllocation.SizeInBytes = PAGE_BYTES_OF(mapping->page_count);
    args->NotifyAllocation.GpuVirtualAddressAtOffset = mapping->va;
}

static void use_view(struct scratch_view *view, DXGKARG_BUILDPAGINGBUFFER *args)
{
    args->Operation = DXGK_OPERATION_NOTIFY_ALLOC;
    args->NotifyAllocation.hAllocation = view->allocation->driver_handle;
    args->NotifyAllocation.Flags.Eviction = 1;
    args->NotifyAllocation.OffsetInBytes = PAGE_BYTES_OF(view->first_page);
    args->NotifyAllocation.SizeInBytes = PAGE_BYTES_OF(view->page_count);
    args->NotifyAllocation.GpuVirtualAddressAtOffset = view->va;
}

enum job_step notice_next_of_eviction(struct vidmm_allocation *allocation,
                                      DXGKARG_BUILDPAGINGBUFFER *args)
{
    struct scratch_view *view = &allocation->vidmm->queue.generation.view;
    struct job *job = &allocation->job;

    for (;;) {
        enum job_step step;

        if (!view->use) {
            uint64_t left = allocation->page_count - job->cursor;

            if (!left)
                return JOB_DONE;
            scratch_view_begin(view, allocation, job->cursor,
                               min_u64(left, paging_process_chunk_pages(allocation->vidmm)),
                               use_view);
        }
        step = scratch_view_next(view, args);
        if (step != JOB_DONE)
            return step;
        job->cursor += view->page_count;
        view->use = NULL;
    }
}
