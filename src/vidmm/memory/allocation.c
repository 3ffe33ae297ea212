/*
 * Allocations: creation, the backing store, entering and leaving a segment, and the end. The life
 * of an allocation is drawn in allocation_state.h.
 *
 * Source     contract.md ALLOC-001..020, RES-011..014; sequences S-03, S-04, S-06, S-12, S-15.
 */
#include "vidmm/memory/allocation.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/mappings/gpu_va.h"
#include "vidmm/memory/allocation_flags.h"
#include "vidmm/memory/allocation_info.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/views/alternate_va.h"
#include "vidmm/memory/backing.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/rename.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_physical.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/paging/paging_virtual.h"
#include "vidmm/residency/offer.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#include <string.h>

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
    if (!vidmm->caps.is_virtual && PAGE_BYTES_OF(allocation->page_count) > MDL_MOST_BYTES) {
        vidmm_refuse(vidmm, "U3",
                     "%llu bytes: neither an MDL nor TransferOffset can say where the end is",
                     (unsigned long long)PAGE_BYTES_OF(allocation->page_count));
        return STATUS_NOT_SUPPORTED;
    }

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

NTSTATUS allocation_create_for_buffer(struct vidmm_device *device, uint64_t bytes,
                                      uint32_t segment_set,
                                      struct vidmm_allocation **out_allocation)
{
    struct vidmm_allocation *allocation = allocation_alloc(device);
    NTSTATUS status;

    *out_allocation = NULL;
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->is_dma_buffer = true;
    allocation->has_content = true; /* commands, which the CPU writes */
    allocation->is_dirty = true;
    allocation->backing_is_linear = true;
    allocation->page_count = div_round_up(bytes, PAGE_BYTES);
    allocation->pitched_pages = allocation->page_count;
    allocation->alignment = (uint32_t)PAGE_BYTES;
    allocation->priority_class = allocation_priority_class(D3DDDI_ALLOCATIONPRIORITY_NORMAL);
    for (unsigned id = 1; id <= device->vidmm->caps.segment_count; id++) {
        if (segment_set >> (id - 1) & 1)
            allocation->preference[allocation->preference_count++] = (uint8_t)id;
    }
    status = allocation_take_backing(allocation);
    if (!NT_SUCCESS(status)) {
        allocation_free(allocation);
        return status;
    }
    allocation_set_state(allocation, ALLOCATION_BACKED);
    list_push_back(&device->allocations, &allocation->device_link);
    *out_allocation = allocation;
    return STATUS_SUCCESS;
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

/* ---- Holding and moving ---------------------------------------------------------------------- */

/* From here to allocation_unuse(): hot, so they reach the manager through the device (line 1). */

/* ---- The end --------------------------------------------------------------------------------- */

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

static void died(struct job *job)
{
    free_allocation(container_of(job, struct vidmm_allocation, job));
}

static const struct job_ops physical_die_ops = {
    .kind = JOB_DIE, .next = physical_die_next, .finished = died};

static const struct job_ops virtual_die_ops = {
    .kind = JOB_DIE, .next = virtual_die_next, .finished = died};

void allocation_die(struct vidmm_allocation *allocation)
{
    if (allocation->place.segment && segment_holds_content(allocation->place.segment))
        allocation->vidmm->statistics.discarded_bytes += PAGE_BYTES_OF(allocation->page_count);
    allocation_set_state(allocation, ALLOCATION_DYING);
    allocation->job.ops = allocation->vidmm->caps.is_virtual ? &virtual_die_ops : &physical_die_ops;
    paging_queue_add(allocation->vidmm, &allocation->job);
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
        /* It has kept its place, or was parked and is wanted by nobody any more. */
        if (allocation->listed != LISTED_DYING)
            allocation_bury_if_dead(allocation);
        break;
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
