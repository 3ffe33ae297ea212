/*
 * Allocations: creation, the backing store, entering and leaving a segment, and the end. The life
 * of an allocation is drawn in allocation_state.h.
 *
 * Source     contract.md ALLOC-001..020, RES-011..014; sequences S-03, S-04, S-06, S-12, S-15.
 */
#include "vidmm/memory/allocation.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/gpu_va.h"
#include "vidmm/memory/allocation_flags.h"
#include "vidmm/memory/allocation_info.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/alternate_va.h"
#include "vidmm/memory/aperture.h"
#include "vidmm/memory/iommu.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/rename.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/paging_physical.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/paging/paging_virtual.h"
#include "vidmm/residency/offer.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/node_pool.h"
#include "base/services.h"

#include <string.h>

#define MDL_MOST_BYTES 0xfffff000u /* whole pages that ByteCount can say */

/* ---- Handles --------------------------------------------------------------------------------- */

/* Handle h is slot h - 1; a free slot holds the next free handle, shifted, with bit 0 set. */
static NTSTATUS take_handle(struct vidmm *vidmm, struct vidmm_allocation *allocation)
{
    uint32_t slot;

    if (!vidmm->handle_free) {
        uint32_t capacity = vidmm->handle_capacity ? vidmm->handle_capacity * 2 : 256;
        struct vidmm_allocation **handles =
            base_alloc_array(vidmm->services, capacity, sizeof *handles);
        uint32_t i;

        if (!handles)
            return STATUS_NO_MEMORY;
        if (vidmm->handle_capacity)
            memcpy(handles, vidmm->handles, vidmm->handle_capacity * sizeof *handles);
        for (i = capacity; i > vidmm->handle_capacity; i--) {
            handles[i - 1] = (void *)(((uintptr_t)vidmm->handle_free << 1) | 1);
            vidmm->handle_free = i;
        }
        base_free_array(vidmm->services, vidmm->handles, vidmm->handle_capacity, sizeof *handles);
        vidmm->handles = handles;
        vidmm->handle_capacity = capacity;
    }
    slot = vidmm->handle_free - 1;
    vidmm->handle_free = (uint32_t)((uintptr_t)vidmm->handles[slot] >> 1);
    vidmm->handles[slot] = allocation;
    allocation->handle = slot + 1;
    return STATUS_SUCCESS;
}

static void release_handle(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    if (!allocation->handle)
        return;
    vidmm->handles[allocation->handle - 1] = (void *)(((uintptr_t)vidmm->handle_free << 1) | 1);
    vidmm->handle_free = allocation->handle;
    allocation->handle = 0;
}

struct vidmm_allocation *allocation_by_handle(const struct vidmm *vidmm, D3DKMT_HANDLE handle)
{
    struct vidmm_allocation *allocation;

    if (handle == 0 || handle > vidmm->handle_capacity)
        return NULL;
    allocation = vidmm->handles[handle - 1];
    return (uintptr_t)allocation & 1 ? NULL : allocation;
}

/* ---- Creation -------------------------------------------------------------------------------- */

static void close_driver_handles(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    openings_close_of_allocation(allocation);
    if (allocation->device_handle) {
        DXGKARG_CLOSEALLOCATION close = {0};

        close.NumAllocations = 1;
        close.pOpenHandleList = &allocation->device_handle;
        miniport_close_allocation(vidmm->miniport, allocation->device->driver_device, &close);
    }
    if (allocation->driver_handle && !allocation->context) {
        DXGKARG_DESTROYALLOCATION destroy = {0};

        destroy.NumAllocations = 1;
        destroy.pAllocationList = &allocation->driver_handle;
        miniport_destroy_allocation(vidmm->miniport, NULL, &destroy);
    }
}

static NTSTATUS create_in_driver(struct vidmm_allocation *allocation, void *private_data,
                                 uint32_t private_data_bytes)
{
    struct vidmm *vidmm = allocation->vidmm;
    DXGKARG_CREATEALLOCATION create = {0};
    DXGK_ALLOCATIONINFO info = {0};
    DXGKARG_OPENALLOCATION open = {0};
    DXGK_OPENALLOCATIONINFO open_info = {0};
    NTSTATUS status;

    info.pPrivateDriverData = private_data;
    info.PrivateDriverDataSize = private_data_bytes;
    create.NumAllocations = 1;
    create.pAllocationInfo = &info;
    status = miniport_create_allocation(vidmm->miniport, NULL, &create);
    if (!NT_SUCCESS(status))
        return status;
    allocation->driver_handle = info.hAllocation;
    if (!allocation_accept_info(allocation, &info))
        return STATUS_INVALID_PARAMETER;
    status = allocation_accept_flags(allocation, &info);
    if (!NT_SUCCESS(status))
        return status;
    if (!vidmm->caps.is_virtual && PAGE_BYTES_OF(allocation->page_count) > MDL_MOST_BYTES)
        return STATUS_NOT_SUPPORTED; /* neither an MDL nor TransferOffset could say where its end is
                                      */

    open_info.hAllocation = allocation->handle;
    open_info.pPrivateDriverData = private_data;
    open_info.PrivateDriverDataSize = private_data_bytes;
    open.NumAllocations = 1;
    open.pOpenAllocation = &open_info;
    open.Flags.Create = 1;
    status = miniport_open_allocation(vidmm->miniport, allocation->device->driver_device, &open);
    if (!NT_SUCCESS(status))
        return status;
    allocation->device_handle = open_info.hDeviceSpecificAllocation;
    return STATUS_SUCCESS;
}

struct vidmm_allocation *allocation_alloc(struct vidmm_device *device)
{
    struct vidmm_allocation *allocation = node_pool_get(&device->vidmm->allocation_pool);

    if (!allocation)
        return NULL;
    memset(allocation, 0, sizeof *allocation);
    allocation->vidmm = device->vidmm;
    allocation->device = device;
    list_init(&allocation->link);
    list_init(&allocation->mappings);
    list_init(&allocation->device_link);
    return allocation;
}

void allocation_free(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    base_free(vidmm->services, allocation->context, sizeof *allocation->context);
    node_pool_put(&vidmm->allocation_pool, allocation);
}

static NTSTATUS create_allocation(struct vidmm_device *device, const void *private_data,
                                  uint32_t private_data_bytes, void *cookie, bool is_primary,
                                  struct vidmm_allocation **out_allocation)
{
    struct vidmm *vidmm = device->vidmm;
    struct vidmm_allocation *allocation;
    void *private_copy = NULL;
    NTSTATUS status = STATUS_NO_MEMORY;

    *out_allocation = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    allocation = allocation_alloc(device);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->cookie = cookie;
    allocation->is_primary = is_primary;
    if (private_data_bytes) {
        private_copy = base_alloc(vidmm->services, private_data_bytes);
        if (!private_copy)
            goto fail;
        memcpy(private_copy, private_data, private_data_bytes);
    }
    status = take_handle(vidmm, allocation);
    if (!NT_SUCCESS(status))
        goto fail;
    status = create_in_driver(allocation, private_copy, private_data_bytes);
    if (!NT_SUCCESS(status))
        goto fail;
    base_free(vidmm->services, private_copy, private_data_bytes);
    list_push_back(&device->allocations, &allocation->device_link);
    *out_allocation = allocation;
    return STATUS_SUCCESS;

fail:
    close_driver_handles(allocation);
    release_handle(allocation);
    base_free(vidmm->services, private_copy, private_data_bytes);
    allocation_free(allocation);
    return status;
}

NTSTATUS vidmm_allocation_create(struct vidmm_device *device, const void *private_data,
                                 uint32_t private_data_bytes, void *cookie,
                                 struct vidmm_allocation **out_allocation)
{
    return create_allocation(device, private_data, private_data_bytes, cookie, false,
                             out_allocation);
}

NTSTATUS vidmm_primary_create(struct vidmm_device *device, const void *private_data,
                              uint32_t private_data_bytes, void *cookie,
                              struct vidmm_allocation **out_allocation)
{
    return create_allocation(device, private_data, private_data_bytes, cookie, true,
                             out_allocation);
}

NTSTATUS vidmm_set_priority(struct vidmm_allocation *named, uint32_t priority)
{
    struct vidmm_allocation *allocation = allocation_current(named);
    bool is_listed = allocation->listed == LISTED_EVICTABLE;

    if (!priority || allocation->is_destroyed)
        return priority ? STATUS_INVALID_HANDLE : STATUS_INVALID_PARAMETER;
    if (is_listed)
        segment_lru_remove(allocation);
    allocation->priority_class = allocation_priority_class(priority);
    if (is_listed)
        segment_lru_add(allocation);
    return STATUS_SUCCESS;
}

NTSTATUS allocation_create_for_context(struct vidmm_device *device, const DXGK_ALLOCATIONINFO *info,
                                       struct vidmm_allocation **out_allocation)
{
    struct vidmm *vidmm = device->vidmm;
    struct vidmm_allocation *allocation = allocation_alloc(device);
    NTSTATUS status = STATUS_NO_MEMORY;

    *out_allocation = NULL;
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->context = base_alloc(vidmm->services, sizeof *allocation->context);
    if (!allocation->context)
        goto fail;
    allocation->context->allocation = allocation;
    list_init(&allocation->context->link);
    status = take_handle(vidmm, allocation);
    if (!NT_SUCCESS(status))
        goto fail;
    if (!allocation_accept_info(allocation, info)) {
        status = STATUS_INVALID_PARAMETER;
        goto fail;
    }
    list_push_back(&device->allocations, &allocation->device_link);
    *out_allocation = allocation;
    return STATUS_SUCCESS;

fail:
    release_handle(allocation);
    allocation_free(allocation);
    return status;
}

void *vidmm_allocation_cookie(const struct vidmm_allocation *allocation)
{
    return allocation->cookie;
}

uint64_t vidmm_allocation_size(const struct vidmm_allocation *allocation)
{
    return PAGE_BYTES_OF(allocation->page_count);
}

bool vidmm_allocation_is_resident(const struct vidmm_allocation *allocation)
{
    return allocation_current(allocation)->state == ALLOCATION_RESIDENT;
}

/* ---- Backing store --------------------------------------------------------------------------- */

static size_t mdl_bytes(uint64_t page_count)
{
    return sizeof(MDL) + (size_t)page_count * sizeof(uint64_t);
}

/* Pages come zeroed; content that is there at first is something else if config.fill_pattern is. */
static NTSTATUS fill_backing(const struct vidmm_allocation *allocation, const uint64_t *pages)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    uint32_t pattern = allocation->vidmm->config.fill_pattern;
    uint32_t *words;

    if (!pattern || allocation->has_content)
        return STATUS_SUCCESS;
    if (platform->fill_pages) {
        platform->fill_pages(platform->context, allocation->page_count, pages, pattern);
        return STATUS_SUCCESS;
    }
    words = platform->map_pages(platform->context, allocation->page_count, pages);
    if (!words)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < PAGE_BYTES_OF(allocation->page_count) / sizeof *words; i++)
        words[i] = pattern;
    platform->unmap_pages(platform->context, words, allocation->page_count);
    return STATUS_SUCCESS;
}

static size_t backing_bytes(uint64_t page_count)
{
    return offsetof(struct backing, mdl) + mdl_bytes(page_count);
}

/* Size and ByteCount are too small for large allocations: they say as much as fits. */
static void describe_backing(MDL *mdl, uint64_t page_count)
{
    uint64_t bytes = PAGE_BYTES_OF(page_count);

    mdl->Size = (CSHORT)(mdl_bytes(page_count) < 0x7ff8 ? mdl_bytes(page_count) : 0x7ff8);
    mdl->MdlFlags = MDL_PAGES_LOCKED;
    mdl->ByteCount = bytes <= MDL_MOST_BYTES ? (ULONG)bytes : MDL_MOST_BYTES;
}

NTSTATUS allocation_take_backing(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    const struct base_services *services = allocation->vidmm->services;
    uint64_t count = allocation->page_count;
    struct backing *backing;
    uint64_t *pages;
    NTSTATUS status;

    ASSERT(!allocation->mdl);
    backing = base_alloc(services, backing_bytes(count));
    if (!backing)
        return STATUS_NO_MEMORY;
    pages = (uint64_t *)(&backing->mdl + 1);
    do {
        status = platform->take_pages(platform->context, count, pages);
    } while (!NT_SUCCESS(status) && offer_drop_backing(allocation->vidmm));
    if (!NT_SUCCESS(status)) {
        status = STATUS_NO_MEMORY;
        goto free_backing;
    }
    status = fill_backing(allocation, pages);
    if (!NT_SUCCESS(status))
        goto release_pages;
    describe_backing(&backing->mdl, count);
    if (allocation->context && allocation->context->wants_cpu_address) {
        backing->cpu_address = platform->map_pages(platform->context, count, pages);
        if (!backing->cpu_address) {
            status = STATUS_NO_MEMORY;
            goto release_pages;
        }
    }
    allocation->mdl = &backing->mdl;
    status = iommu_show_backing(allocation);
    if (!NT_SUCCESS(status))
        allocation_release_backing(allocation);
    return status;

release_pages:
    platform->release_pages(platform->context, count, pages);
free_backing:
    base_free(services, backing, backing_bytes(count));
    return status;
}

void allocation_release_backing(struct vidmm_allocation *allocation)
{
    const struct vidmm_platform *platform = &allocation->vidmm->config.platform;
    struct backing *backing = allocation_backing(allocation);

    if (!allocation->mdl)
        return;
    iommu_hide_backing(allocation);
    aperture_close_view(allocation);
    if (backing->cpu_address)
        platform->unmap_pages(platform->context, backing->cpu_address, allocation->page_count);
    platform->release_pages(platform->context, allocation->page_count,
                            allocation_backing_pages(allocation));
    base_free(allocation->vidmm->services, backing, backing_bytes(allocation->page_count));
    allocation->mdl = NULL;
}

/* ---- Holding and moving ---------------------------------------------------------------------- */

/* From here to allocation_unuse(): hot, so they reach the manager through the device (line 1). */

bool allocation_is_idle(const struct vidmm_allocation *allocation)
{
    const struct vidmm *vidmm = allocation->device->vidmm;

    /* Physical: whatever runs holds what it uses. */
    return !vidmm->caps.is_virtual || allocation->busy_until <= vidmm->retired;
}

void allocation_hold(struct vidmm_allocation *allocation)
{
    if (allocation->holds++ == 0 && allocation->state == ALLOCATION_RESIDENT)
        segment_lru_remove(allocation);
}

void allocation_unhold(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->holds > 0);
    if (--allocation->holds)
        return;
    allocation->busy_until = allocation->device->vidmm->submitted;
    if (allocation->state == ALLOCATION_RESIDENT)
        segment_lru_add(allocation);
    allocation_bury_if_dead(allocation);
}

void allocation_use(struct vidmm_allocation *allocation)
{
    allocation->uses++;
}

void allocation_unuse(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->uses > 0);
    allocation->uses--;
    allocation_bury_if_dead(allocation);
}

void allocation_enter(struct vidmm_allocation *allocation)
{
    ASSERT(allocation->place.segment);
    allocation_set_state(allocation, ALLOCATION_ENTERING);
    allocation->job.ops =
        allocation->vidmm->caps.is_virtual ? &virtual_enter_ops : &physical_enter_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

void allocation_entered(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);
    struct vidmm_statistics *statistics = &allocation->vidmm->statistics;
    uint64_t bytes = PAGE_BYTES_OF(allocation->page_count);

    if (segment_holds_content(allocation->place.segment)) {
        if (allocation->mdl)
            statistics->moved_in_bytes += bytes;
        else
            statistics->filled_bytes += bytes;
        allocation->is_dirty = !allocation->mdl;
        if (!allocation->is_permanent)
            allocation_release_backing(allocation);
    }
    allocation->has_content = true;
    alternate_va_entered(allocation);
    allocation_set_state(allocation, ALLOCATION_RESIDENT);
}

static NTSTATUS leave(struct vidmm_allocation *allocation, const char *reason, bool is_for_cpu)
{
    struct vidmm *vidmm = allocation->vidmm;
    NTSTATUS status;

    ASSERT(allocation->state == ALLOCATION_RESIDENT);
    if (segment_holds_content(allocation->place.segment) && !allocation->mdl) {
        status = allocation_take_backing(allocation);
        if (!NT_SUCCESS(status))
            return status;
    }
    alternate_va_leaves(allocation, is_for_cpu);
    if (!vidmm->caps.is_virtual && segment_holds_content(allocation->place.segment) &&
        !allocation->range && !allocation_is_clean(allocation))
        segment_take_eviction_slots(allocation);
    allocation_set_state(allocation, ALLOCATION_LEAVING);
    vidmm->statistics.evictions++;
    if (vidmm->config.events.evicted)
        vidmm->config.events.evicted(vidmm->config.events.context, allocation_first(allocation),
                                     reason);
    allocation->job.ops = vidmm->caps.is_virtual ? &virtual_leave_ops : &physical_leave_ops;
    paging_queue_add(vidmm, &allocation->job);
    return STATUS_SUCCESS;
}

NTSTATUS allocation_leave(struct vidmm_allocation *allocation, const char *reason)
{
    ASSERT(!allocation->holds);
    return leave(allocation, reason, false);
}

NTSTATUS allocation_leave_for_cpu(struct vidmm_allocation *allocation)
{
    return leave(allocation, "CPU access", true);
}

NTSTATUS allocation_park(struct vidmm_allocation *allocation)
{
    NTSTATUS status = leave(allocation, "power", false);

    allocation->is_parked = NT_SUCCESS(status);
    return status;
}

void allocation_map_again(struct vidmm_allocation *allocation)
{
    allocation->entries_valid = false;
    allocation_set_state(allocation, ALLOCATION_ENTERING);
    allocation->job.ops = &virtual_map_again_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

void allocation_mapped_again(struct job *job)
{
    allocation_set_state(container_of(job, struct vidmm_allocation, job), ALLOCATION_RESIDENT);
}

void allocation_left(struct job *job)
{
    struct vidmm_allocation *allocation = container_of(job, struct vidmm_allocation, job);
    struct vidmm_statistics *statistics = &allocation->vidmm->statistics;

    if (segment_holds_content(allocation->place.segment) && allocation_is_clean(allocation))
        statistics->discarded_bytes += PAGE_BYTES_OF(allocation->page_count);
    else if (segment_holds_content(allocation->place.segment)) {
        statistics->moved_out_bytes += PAGE_BYTES_OF(allocation->page_count);
        allocation->backing_is_linear = allocation->unswizzles;
    }
    segment_release_eviction_slots(allocation);
    alternate_va_left(allocation);
    if (!allocation->is_parked)
        segment_unplace(allocation);
    allocation_set_state(allocation, ALLOCATION_BACKED);
}

/* ---- The end --------------------------------------------------------------------------------- */

void allocation_doom(struct vidmm_allocation *allocation)
{
    ASSERT(!allocation->is_destroyed);
    allocation->is_destroyed = true;
    allocation->vidmm->doomed_count++;
    if (allocation->state != ALLOCATION_LEAVING)
        segment_set_departure(allocation, DOOMED);
    if (!allocation->holds)
        allocation->busy_until = allocation->vidmm->submitted;
    allocation_bury_if_dead(allocation);
}

void vidmm_allocation_destroy(struct vidmm_allocation *named)
{
    struct vidmm_allocation *allocation = allocation_current(named);

    offer_cancel(allocation);
    allocation_doom(allocation);
    vidmm_pump(allocation->vidmm);
}

static void free_allocation(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct vidmm_device *device = allocation->device;

    while (!list_is_empty(&allocation->mappings))
        mapping_free(container_of(allocation->mappings.next, struct mapping, allocation_link));
    alternate_va_close(allocation);
    if (allocation->place.segment)
        segment_unplace(allocation);
    allocation_release_backing(allocation);
    vidmm->doomed_count--;
    allocation = instance_ended(allocation);
    if (!allocation)
        return;
    close_driver_handles(allocation);
    release_handle(allocation);
    list_remove(&allocation->device_link);
    allocation_free(allocation);
    device_free_if_done(device);
}

void allocation_die(struct vidmm_allocation *allocation)
{
    if (allocation->place.segment && segment_holds_content(allocation->place.segment))
        allocation->vidmm->statistics.discarded_bytes += PAGE_BYTES_OF(allocation->page_count);
    allocation_set_state(allocation, ALLOCATION_DYING);
    allocation->job.ops = allocation->vidmm->caps.is_virtual ? &virtual_die_ops : &physical_die_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
}

void allocation_died(struct job *job)
{
    free_allocation(container_of(job, struct vidmm_allocation, job));
}

void allocation_cleaned_up(struct vidmm_allocation *allocation)
{
    segment_release_eviction_slots(allocation);
    switch (allocation->state) {
    case ALLOCATION_LEAVING:
        segment_unplace(allocation);
        allocation_set_state(allocation, allocation->mdl ? ALLOCATION_BACKED : ALLOCATION_EMPTY);
        break;
    case ALLOCATION_DYING:
        free_allocation(allocation);
        break;
    default:
        break; /* it has kept its place */
    }
}

bool allocations_bury(struct vidmm *vidmm)
{
    bool did_anything = false;

    while (!list_is_empty(&vidmm->dying)) {
        struct vidmm_allocation *allocation =
            container_of(vidmm->dying.next, struct vidmm_allocation, link);

        if (!allocation_is_idle(allocation))
            break;
        allocation_die(allocation);
        did_anything = true;
    }
    return did_anything;
}
