/*
 * Locks: the CPU's access to allocations.
 *
 * A lock holds the allocation where it is, when the CPU can reach it there in linear order or can
 * be given a way: a CPU host aperture, a swizzling range. What has rows with a pitch there is
 * packed for the CPU only in its backing store (XFER-018). With PermanentSysMem, and over memory of
 * the client's, the CPU gets the backing store, in the GpuMmu model unless residency references
 * hold the allocation; the end of the lock brings the content back to its segment. Otherwise
 * it leaves for its backing store first, and the caller asks again. A lock of an allocation without
 * content makes the backing store. A lock of an allocation that work uses waits, or renames it with
 * Discard (rename.c).
 *
 * Source     contract.md ALLOC-012, ALLOC-013, ALLOC-022, SWZ-001, SWZ-009, CHA, XFER-018.
 */
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/views/agp_flush.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_paging.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/views/alternate_va.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/forecast.h"
#include "vidmm/views/host_aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/rename.h"
#include "vidmm/memory/segment.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "base/list.h"

/* Work that may use it has not retired. */
static bool is_in_use(const struct vidmm_allocation *allocation)
{
    const struct vidmm_device *device = allocation->device;

    if (!allocation->vidmm->caps.is_virtual)
        return allocation->uses > 0;
    if (allocation_holds(allocation) > allocation->lock_count)
        return device->pending_requests || !list_is_empty(&device->vidmm->submissions);
    return !allocation_is_idle(allocation);
}

/* The CPU reaches the content where it is, or can be given a way there. */
static bool make_reachable(struct vidmm_allocation *allocation)
{
    const struct segment *segment = allocation->place.segment;

    if (!segment || !segment_holds_content(segment))
        return true;
    if (allocation_is_pitched(allocation))
        return false;
    if (segment->caps->has_host_aperture)
        return allocation->host_slots || NT_SUCCESS(host_aperture_map_allocation(allocation));
    return segment->caps->is_cpu_visible;
}

/* The CPU sees the content in linear order where it is, or can be given a way to. */
static bool is_in_order(struct vidmm_allocation *allocation, unsigned flags)
{
    const struct segment *segment = allocation->place.segment;
    bool needs_range = allocation->is_swizzled || (flags & VIDMM_LOCK_ACQUIRE_APERTURE);

    if (!segment_holds_content(segment))
        return true;
    if (allocation->vidmm->caps.is_virtual)
        return !allocation->is_permanent || allocation_holds(allocation);
    if (allocation->is_permanent)
        return false;
    if (needs_range || allocation->uses_alternate_va)
        alternate_va_open(allocation);
    return !needs_range || alternate_va_is_acquired(allocation);
}

NTSTATUS vidmm_lock(struct vidmm_allocation *allocation)
{
    return vidmm_lock_with(allocation, 0);
}

/* A request for a lock that waits has ended. */
static void fetched(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct vidmm_allocation *allocation = context;

    (void)needed;
    (void)available;
    allocation->is_fetched = false;
    if (NT_SUCCESS(status)) {
        allocation_unhold(allocation);
        forecast_note_cpu(allocation);
    } else {
        allocation->fetch_status = status;
    }
}

/*
 * The allocation is BACKED in its own order, and is wanted by the CPU: has it paged in.
 * STATUS_GRAPHICS_ALLOCATION_BUSY, or why it cannot be.
 */
static NTSTATUS fetch(struct vidmm_allocation *allocation)
{
    NTSTATUS status = allocation->fetch_status;
    struct request *request;

    allocation->fetch_status = STATUS_SUCCESS;
    if (!NT_SUCCESS(status))
        return status;
    if (!allocation->is_fetched) {
        status = request_create(allocation->device, 1, fetched, allocation, &request);
        if (!NT_SUCCESS(status))
            return status;
        request->kind = VIDMM_REQUEST_LOCK;
        request->allocations[0] = allocation;
        allocation->is_fetched = true;
        request_queue(request);
        vidmm_pump(allocation->vidmm);
    }
    return STATUS_GRAPHICS_ALLOCATION_BUSY;
}

NTSTATUS vidmm_lock_with(struct vidmm_allocation *named, unsigned flags)
{
    struct vidmm_allocation *allocation = allocation_current(named);
    NTSTATUS status;

    if (!NT_SUCCESS(allocation->vidmm->refusal))
        return allocation->vidmm->refusal;
    if (allocation->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if (allocation->is_offered)
        return STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE;
    if (allocation->is_protected)
        return STATUS_ACCESS_DENIED;
    if ((flags & VIDMM_LOCK_IGNORE_SYNC) && allocation->is_swizzled)
        return STATUS_INVALID_PARAMETER; /* SWZ-009 */
    if (allocation->vidmm->power.state != POWER_ON)
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    if (is_in_use(allocation) && !(flags & VIDMM_LOCK_IGNORE_SYNC)) {
        allocation = flags & VIDMM_LOCK_DISCARD ? allocation_rename(allocation) : NULL;
        if (!allocation)
            return STATUS_GRAPHICS_ALLOCATION_BUSY;
    }
    switch (allocation->state) {
    case ALLOCATION_ENTERING:
    case ALLOCATION_LEAVING:
    case ALLOCATION_DYING:
        return STATUS_GRAPHICS_ALLOCATION_BUSY;
    case ALLOCATION_EMPTY:
        status = allocation_take_backing(allocation);
        if (!NT_SUCCESS(status))
            return status;
        allocation->has_content = true;
        allocation->backing_is_linear = true;
        allocation_set_state(allocation, ALLOCATION_BACKED);
        break;
    case ALLOCATION_BACKED:
        if (allocation->is_swizzled && !allocation->backing_is_linear)
            return fetch(allocation);
        break;
    case ALLOCATION_RESIDENT:
        status = agp_flush(allocation);
        if (!NT_SUCCESS(status))
            return status;
        if (is_in_order(allocation, flags) && make_reachable(allocation)) {
            allocation->is_dirty = true; /* the CPU may write where it is */
            break;
        }
        if (allocation_holds(allocation) || allocation->is_pinned)
            return STATUS_GRAPHICS_CANT_EVICT_PINNED_ALLOCATION;
        allocation->comes_back = allocation->is_permanent;
        status = allocation_leave_for_cpu(allocation);
        vidmm_pump(allocation->vidmm);
        if (NT_SUCCESS(status) && allocation->state == ALLOCATION_BACKED)
            break; /* it was clean, was discarded, and took no packet */
        return NT_SUCCESS(status) ? STATUS_GRAPHICS_ALLOCATION_BUSY : status;
    }
    allocation_hold(allocation);
    allocation->lock_count++;
    return STATUS_SUCCESS;
}

static void updated(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    (void)needed;
    (void)available;
    if (NT_SUCCESS(status))
        allocation_unhold(context);
}

/* Where there is no room or memory for it, its next user brings it in. */
static void update_segment(struct vidmm_allocation *allocation)
{
    struct request *request;

    allocation->comes_back = false;
    if (allocation->is_destroyed || allocation->state != ALLOCATION_BACKED ||
        !NT_SUCCESS(request_create(allocation->device, 1, updated, allocation, &request)))
        return;
    request->kind = VIDMM_REQUEST_LOCK;
    request->allocations[0] = allocation;
    request_queue(request);
}

void vidmm_unlock(struct vidmm_allocation *named)
{
    struct vidmm_allocation *allocation = allocation_current(named);

    ASSERT(allocation->lock_count > 0);
    if (--allocation->lock_count == 0)
        host_aperture_unmap_allocation(allocation);
    if (!allocation->lock_count && allocation->comes_back)
        update_segment(allocation);
    allocation_unhold(allocation);
    vidmm_pump(allocation->vidmm);
}

bool vidmm_lock_is_settled(const struct vidmm_allocation *named)
{
    const struct vidmm_allocation *allocation = allocation_current(named);

    ASSERT(allocation->lock_count > 0);
    /* One that is backed and has a place will come to it (a sleep, a reset). */
    return allocation->state == ALLOCATION_RESIDENT
               ? !allocation->other
               : allocation->state == ALLOCATION_BACKED && !allocation->place.segment;
}

/*
 * A primary without an alternate address is seen in the aperture that it is mapped in, where the
 * driver says where the CPU finds that; all else that an aperture shows, in system memory.
 */
static bool is_seen_in_aperture(const struct vidmm_allocation *allocation)
{
    const struct segment *segment = allocation->place.segment;

    return segment && segment->kind == SEGMENT_APERTURE && segment->caps->cpu_address &&
           allocation->state == ALLOCATION_RESIDENT && allocation->is_primary &&
           !allocation->uses_alternate_va && !allocation->vidmm->caps.is_virtual;
}

uint64_t vidmm_locked_page_address(const struct vidmm_allocation *named, uint64_t page)
{
    struct vidmm_allocation *allocation = allocation_current(named);

    ASSERT(allocation->lock_count > 0 && page < allocation->page_count);
    if (is_seen_in_aperture(allocation))
        return allocation->place.segment->caps->cpu_address + allocation->place.offset +
               PAGE_BYTES_OF(page);
    if (!allocation->place.segment || !segment_holds_content(allocation->place.segment))
        return PAGE_BYTES_OF(allocation_backing_pages(allocation)[page]);
    if (allocation->range && alternate_va_is_acquired(allocation))
        return alternate_va_address(allocation) + PAGE_BYTES_OF(page);
    if (allocation->host_slots)
        return host_aperture_address(
                   allocation->place.segment,
                   allocation->host_slots[page / allocation->place.segment->unit_pages]) +
               PAGE_BYTES_OF(page % allocation->place.segment->unit_pages);
    return allocation->place.segment->caps->cpu_address + segment_page_offset(allocation, page);
}
