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
#include "vidmm/memory/forecast.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/rename.h"
#include "vidmm/memory/resource.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_physical.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/paging/paging_virtual.h"
#include "vidmm/residency/offer.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"
#include "vidmm/memory/handles.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

#include <string.h>

/* ---- Handles --------------------------------------------------------------------------------- */

static NTSTATUS take_handle(struct vidmm_allocation *allocation, struct resource *resource)
{
    allocation->handle = handles_take(allocation->vidmm, allocation, resource);
    return allocation->handle ? STATUS_SUCCESS : STATUS_NO_MEMORY;
}

static void release_handle(struct vidmm_allocation *allocation)
{
    if (allocation->handle)
        forecast_forget(allocation);
    handles_release(allocation->vidmm, allocation->handle);
    allocation->handle = 0;
}

/* ---- Creation -------------------------------------------------------------------------------- */

/* What the driver has of it ends: at once, or with the resource of which it is a part. */
static void close_driver_handles(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct resource *resource =
        allocation->handle ? vidmm->handles[allocation->handle - 1].resource : NULL;

    openings_close_of_allocation(allocation);
    if (resource) {
        resource_lose(resource, allocation->handle, allocation->driver_handle,
                      allocation->device_handle);
        return;
    }
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

/* What the driver says of an allocation that it has made. */
static NTSTATUS accept(struct vidmm_allocation *allocation, const DXGK_ALLOCATIONINFO *info,
                       const struct vidmm_client_memory *memory)
{
    struct vidmm *vidmm = allocation->vidmm;
    NTSTATUS status;

    if (!allocation_accept_info(allocation, info))
        return STATUS_INVALID_PARAMETER;
    status = allocation_accept_flags(allocation, info, memory);
    if (!NT_SUCCESS(status))
        return status;
    if (!vidmm->caps.is_virtual && PAGE_BYTES_OF(allocation->page_count) > MDL_MOST_BYTES) {
        vidmm_refuse(vidmm, "U3",
                     "%llu bytes: neither an MDL nor TransferOffset can say where the end is",
                     (unsigned long long)PAGE_BYTES_OF(allocation->page_count));
        return STATUS_NOT_SUPPORTED;
    }
    return memory ? allocation_adopt_memory(allocation, memory) : STATUS_SUCCESS;
}

/* Allocations that are made by one call; each has a copy of its private data. */
struct creation {
    unsigned count;
    struct vidmm_allocation *allocations[VIDMM_RESOURCE_MOST];
    void *copies[VIDMM_RESOURCE_MOST];
    uint32_t bytes[VIDMM_RESOURCE_MOST]; /* of the copies */
    const struct vidmm_new_allocation *wanted;
    struct resource *resource; /* NULL: one allocation that is of none */
};

static NTSTATUS open_in_driver(const struct creation *creation)
{
    struct vidmm_device *device = creation->allocations[0]->device;
    DXGK_OPENALLOCATIONINFO infos[VIDMM_RESOURCE_MOST];
    DXGKARG_OPENALLOCATION open = {0};
    NTSTATUS status;
    unsigned i;

    for (i = 0; i < creation->count; i++)
        infos[i] = (DXGK_OPENALLOCATIONINFO){
            .hAllocation = creation->allocations[i]->handle,
            .pPrivateDriverData = creation->copies[i],
            .PrivateDriverDataSize = creation->bytes[i],
        };
    open.NumAllocations = creation->count;
    open.pOpenAllocation = infos;
    open.Flags.Create = 1;
    status = miniport_open_allocation(device->vidmm->miniport, device->driver_device, &open);
    for (i = 0; NT_SUCCESS(status) && i < creation->count; i++)
        creation->allocations[i]->device_handle = infos[i].hDeviceSpecificAllocation;
    return status;
}

static NTSTATUS create_in_driver(const struct creation *creation)
{
    struct vidmm *vidmm = creation->allocations[0]->vidmm;
    DXGK_ALLOCATIONINFO infos[VIDMM_RESOURCE_MOST];
    DXGKARG_CREATEALLOCATION create = {0};
    NTSTATUS status;
    unsigned i;

    memset(infos, 0, creation->count * sizeof infos[0]);
    for (i = 0; i < creation->count; i++) {
        infos[i].pPrivateDriverData = creation->copies[i];
        infos[i].PrivateDriverDataSize = creation->bytes[i];
    }
    create.NumAllocations = creation->count;
    create.pAllocationInfo = infos;
    create.Flags.Resource = creation->resource != NULL;
    status = miniport_create_allocation(vidmm->miniport, NULL, &create);
    if (!NT_SUCCESS(status))
        return status;
    if (creation->resource)
        resource_made(creation->resource, create.hResource);
    for (i = 0; i < creation->count; i++)
        creation->allocations[i]->driver_handle = infos[i].hAllocation;
    for (i = 0; i < creation->count; i++) {
        status = accept(creation->allocations[i], &infos[i], creation->wanted[i].memory);
        if (!NT_SUCCESS(status))
            return status;
    }
    return open_in_driver(creation);
}

static void free_copies(struct vidmm *vidmm, struct creation *creation)
{
    unsigned i;

    for (i = 0; i < creation->count; i++)
        base_free(vidmm->services, creation->copies[i], creation->bytes[i]);
}

/* Another allocation of the creation, with a handle, which the driver does not know yet. */
static NTSTATUS add_to_creation(struct creation *creation, struct vidmm_device *device,
                                const struct vidmm_new_allocation *wanted, bool is_primary)
{
    struct vidmm *vidmm = device->vidmm;
    struct vidmm_allocation *allocation = allocation_alloc(device);
    unsigned i = creation->count;
    NTSTATUS status;

    if (!allocation)
        return STATUS_NO_MEMORY;
    creation->allocations[i] = allocation;
    creation->copies[i] = NULL;
    creation->bytes[i] = wanted->private_data_bytes;
    creation->count++;
    allocation->cookie = wanted->cookie;
    allocation->is_primary = is_primary;
    if (wanted->private_data_bytes) {
        creation->copies[i] = base_alloc(vidmm->services, wanted->private_data_bytes);
        if (!creation->copies[i])
            return STATUS_NO_MEMORY;
        memcpy(creation->copies[i], wanted->private_data, wanted->private_data_bytes);
    }
    status = take_handle(allocation, creation->resource);
    if (NT_SUCCESS(status) && creation->resource)
        resource_join(creation->resource, allocation->handle);
    return status;
}

static void undo_creation(struct creation *creation)
{
    struct vidmm *vidmm = creation->allocations[0]->vidmm;
    unsigned i;

    for (i = 0; i < creation->count; i++) {
        close_driver_handles(creation->allocations[i]);
        release_handle(creation->allocations[i]);
        allocation_end_backing(creation->allocations[i]);
        allocation_free(creation->allocations[i]);
    }
    free_copies(vidmm, creation);
}

/* All of them or none. */
static NTSTATUS create_allocations(struct vidmm_device *device, struct resource *resource,
                                   unsigned count, const struct vidmm_new_allocation *wanted,
                                   bool is_primary, struct vidmm_allocation **out_allocations)
{
    struct vidmm *vidmm = device->vidmm;
    struct creation creation = {.resource = resource, .wanted = wanted};
    NTSTATUS status = vidmm->refusal;
    unsigned i;

    memset(out_allocations, 0, count * sizeof(struct vidmm_allocation *));
    for (i = 0; NT_SUCCESS(status) && i < count; i++)
        status = add_to_creation(&creation, device, &wanted[i], is_primary);
    if (NT_SUCCESS(status))
        status = create_in_driver(&creation);
    if (!NT_SUCCESS(status)) {
        if (creation.count)
            undo_creation(&creation);
        return status;
    }
    free_copies(vidmm, &creation);
    for (i = 0; i < count; i++) {
        struct vidmm_allocation *allocation = creation.allocations[i];

        if (allocation->is_over_memory) {
            allocation_backing(allocation)->released = wanted[i].memory->released;
            allocation_backing(allocation)->released_context = wanted[i].memory->context;
        }
        list_push_back(&device->allocations, &allocation->device_link);
        if (notes_are_heard(vidmm))
            note_allocation(allocation, true);
        out_allocations[i] = allocation;
    }
    return STATUS_SUCCESS;
}

NTSTATUS vidmm_allocation_create(struct vidmm_device *device, const void *private_data,
                                 uint32_t private_data_bytes, void *cookie,
                                 struct vidmm_allocation **out_allocation)
{
    return vidmm_allocation_create_over(device, private_data, private_data_bytes, cookie, NULL,
                                        out_allocation);
}

NTSTATUS vidmm_allocation_create_over(struct vidmm_device *device, const void *private_data,
                                      uint32_t private_data_bytes, void *cookie,
                                      const struct vidmm_client_memory *memory,
                                      struct vidmm_allocation **out_allocation)
{
    return create_allocations(
        device, NULL, 1,
        &(struct vidmm_new_allocation){private_data, private_data_bytes, cookie, memory}, false,
        out_allocation);
}

NTSTATUS vidmm_primary_create(struct vidmm_device *device, const void *private_data,
                              uint32_t private_data_bytes, void *cookie,
                              struct vidmm_allocation **out_allocation)
{
    return create_allocations(
        device, NULL, 1,
        &(struct vidmm_new_allocation){private_data, private_data_bytes, cookie, NULL}, true,
        out_allocation);
}

/* Asks for the size, then for the description. */
static NTSTATUS describe_standard(struct vidmm *vidmm,
                                  DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *args, void **out_data)
{
    NTSTATUS status = miniport_get_standard_allocation_driver_data(vidmm->miniport, NULL, args);
    UINT bytes = args->AllocationPrivateDriverDataSize;

    *out_data = NULL;
    if (status != STATUS_SUCCESS)
        return status;
    if (!bytes || args->ResourcePrivateDriverDataSize)
        return STATUS_NOT_SUPPORTED; /* there is no resource to describe */
    *out_data = args->pAllocationPrivateDriverData = base_alloc(vidmm->services, bytes);
    if (!*out_data)
        return STATUS_NO_MEMORY;
    status = miniport_get_standard_allocation_driver_data(vidmm->miniport, NULL, args);
    if (status == STATUS_SUCCESS && args->AllocationPrivateDriverDataSize != bytes) {
        vidmm_driver_error(
            vidmm, "ALLOC-025",
            "AllocationPrivateDriverDataSize is %u with a buffer, and was %u without",
            args->AllocationPrivateDriverDataSize, bytes);
        status = STATUS_INVALID_PARAMETER;
    }
    if (status == STATUS_SUCCESS)
        return status;
    base_free(vidmm->services, *out_data, bytes);
    *out_data = NULL;
    return status;
}

NTSTATUS vidmm_shared_primary_create(struct vidmm_device *device, uint32_t width, uint32_t height,
                                     void *cookie, struct vidmm_allocation **out_allocation)
{
    struct vidmm *vidmm = device->vidmm;
    D3DKMDT_SHAREDPRIMARYSURFACEDATA surface = {
        .Width = width,
        .Height = height,
        .Format = D3DDDIFMT_A8R8G8B8,
        .RefreshRate = {.Numerator = 60, .Denominator = 1},
    };
    DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA args = {
        .StandardAllocationType = D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE,
        .pCreateSharedPrimarySurfaceData = &surface,
    };
    NTSTATUS status;
    void *data;

    *out_allocation = NULL;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (!vidmm->caps.flips_by_registers ||
        !miniport_has(vidmm->miniport, MINIPORT_DDI_GetStandardAllocationDriverData))
        return STATUS_NOT_SUPPORTED;
    status = describe_standard(vidmm, &args, &data);
    if (!NT_SUCCESS(status))
        return status;
    status = vidmm_primary_create(device, data, args.AllocationPrivateDriverDataSize, cookie,
                                  out_allocation);
    base_free(vidmm->services, data, args.AllocationPrivateDriverDataSize);
    return status;
}

NTSTATUS vidmm_resource_create(struct vidmm_device *device, bool ends_whole, unsigned count,
                               const struct vidmm_new_allocation *wanted,
                               struct vidmm_allocation **out_allocations)
{
    struct resource *resource;
    NTSTATUS status;

    if (!count || count > VIDMM_RESOURCE_MOST)
        return STATUS_INVALID_PARAMETER;
    resource = resource_alloc(device, count);
    if (!resource)
        return STATUS_NO_MEMORY;
    status = create_allocations(device, resource, count, wanted, false, out_allocations);
    resource_let_go(resource, ends_whole || !NT_SUCCESS(status));
    return status;
}

NTSTATUS vidmm_set_priority(struct vidmm_allocation *named, uint32_t priority)
{
    struct vidmm_allocation *allocation = allocation_current(named);
    bool is_listed;

    reference_lists_note_change(allocation);
    is_listed = allocation->listed == LISTED_EVICTABLE;
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
    status = take_handle(allocation, NULL);
    if (!NT_SUCCESS(status))
        goto fail;
    if (!allocation_accept_info(allocation, info)) {
        status = STATUS_INVALID_PARAMETER;
        goto fail;
    }
    list_push_back(&device->allocations, &allocation->device_link);
    if (notes_are_heard(vidmm))
        note_allocation(allocation, true);
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
    if (!segment_set) /* system memory, which has a segment where addresses are virtual */
        allocation->preference[allocation->preference_count++] = 0;
    status = allocation_take_backing(allocation);
    if (!NT_SUCCESS(status)) {
        allocation_free(allocation);
        return status;
    }
    allocation_set_state(allocation, ALLOCATION_BACKED);
    list_push_back(&device->allocations, &allocation->device_link);
    if (notes_are_heard(allocation->vidmm))
        note_allocation(allocation, true);
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

    if (scan_out_keeps(allocation))
        scan_out_hide(allocation->vidmm);
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
    allocation_end_backing(allocation);
    vidmm->doomed_count--;
    allocation = instance_ended(allocation);
    if (!allocation)
        return;
    if (notes_are_heard(vidmm))
        note_allocation(allocation, false);
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
