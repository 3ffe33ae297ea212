/*
 * Allocations, resources and locks.
 *
 * An allocation that is destroyed leaves its handle at once. The manager is told when the requests
 * for its residency have ended, and, unless the client says that it is not in use, when the queues
 * of the device are empty. What is with the GPU by then keeps it for as long as need be: that is
 * the manager's business, and of the pages of the client's memory, which it releases.
 *
 * A lock holds the content where it is (vidmm_lock()), so that the address that the client has
 * stays right. Work on the GPU does not wait for it, nor it for work: the client knows its fences.
 */
#include "d3dkmt/front.h"

/* ---- Creation -------------------------------------------------------------------------------- */

/* The manager and the GPU have no more to do with the client's pages. */
static void pages_released(void *context)
{
    struct allocation *allocation = context;

    allocation->has_pages = false;
    front_changed(allocation->process->front);
}

static void free_client_pages(struct allocation *allocation)
{
    struct d3dkmt_process *process = allocation->process;
    const struct d3dkmt_board *board = &process->front->config.board;

    if (!allocation->client_pages)
        return;
    board->release_client_pages(board->context, process->client, allocation->client_page_count,
                                allocation->client_pages);
    base_free_array(process->front->services, allocation->client_pages,
                    allocation->client_page_count, sizeof *allocation->client_pages);
    allocation->client_pages = NULL;
}

static void free_allocation(struct allocation *allocation)
{
    free_client_pages(allocation);
    list_remove(&allocation->link);
    list_remove(&allocation->resource_link);
    list_remove(&allocation->grave_link);
    front_free(allocation->process->front, allocation, sizeof *allocation);
}

/*
 * How many pages the client's memory has is known only from the driver's answer, which comes when
 * it is asked to make the allocation. So pages are taken for the size that the embedder's
 * description gives, and an allocation that turns out to be larger is refused (ALLOC-023).
 */
static NTSTATUS take_client_pages(struct allocation *allocation, uint64_t address, uint64_t bytes)
{
    struct d3dkmt *front = allocation->process->front;
    const struct d3dkmt_board *board = &front->config.board;
    const uint64_t count = bytes / PAGE_SIZE_BYTES;
    NTSTATUS status;

    if (!is_aligned(address, PAGE_SIZE_BYTES) || !count)
        return STATUS_INVALID_PARAMETER;
    allocation->client_pages =
        base_alloc_array(front->services, count, sizeof *allocation->client_pages);
    if (!allocation->client_pages)
        return STATUS_NO_MEMORY;
    allocation->client_page_count = count;
    allocation->client_address = address;
    status = board->take_client_pages(board->context, allocation->process->client, address, count,
                                      allocation->client_pages);
    if (!NT_SUCCESS(status)) {
        base_free_array(front->services, allocation->client_pages, count,
                        sizeof *allocation->client_pages);
        allocation->client_pages = NULL;
        return status;
    }
    front->statistics.client_pages += count;
    return STATUS_SUCCESS;
}

static NTSTATUS make(struct allocation *allocation, const D3DDDI_ALLOCATIONINFO2 *info)
{
    struct vidmm_device *device = allocation->device->handle;
    struct d3dkmt *front = allocation->process->front;
    const struct d3dkmt_board *board = &front->config.board;
    struct vidmm_client_memory memory = {.released = pages_released, .context = allocation};
    uint64_t bytes = 0;
    NTSTATUS status;

    if (info->pSystemMem) {
        if (!board->size_of || !board->size_of(board->context, info->pPrivateDriverData,
                                               info->PrivateDriverDataSize, &bytes))
            return STATUS_NOT_SUPPORTED;
        status = take_client_pages(allocation, (uintptr_t)info->pSystemMem, bytes);
        if (!NT_SUCCESS(status))
            return status;
        memory.pages = allocation->client_pages;
        memory.page_count = allocation->client_page_count;
    }
    front_tell(front, &(struct d3dkmt_deed){.kind = D3DKMT_DEED_CREATE,
                                            .pages = memory.pages,
                                            .page_count = memory.page_count});
    status =
        info->pSystemMem
            ? vidmm_allocation_create_over(device, info->pPrivateDriverData,
                                           info->PrivateDriverDataSize, allocation, &memory,
                                           &allocation->handle)
            : vidmm_allocation_create(device, info->pPrivateDriverData, info->PrivateDriverDataSize,
                                      allocation, &allocation->handle);
    front_tell_of(front, D3DKMT_DEED_CREATED, allocation->handle, status);
    allocation->has_pages = NT_SUCCESS(status) && info->pSystemMem;
    return status;
}

static NTSTATUS create_one(struct device *device, struct resource *resource,
                           D3DDDI_ALLOCATIONINFO2 *info)
{
    struct d3dkmt_process *process = device->process;
    struct allocation *allocation;
    NTSTATUS status;

    if (info->PrivateDriverDataSize > MOST_PRIVATE_DATA ||
        (info->PrivateDriverDataSize && !info->pPrivateDriverData))
        return STATUS_INVALID_PARAMETER;
    allocation = front_alloc(process->front, sizeof *allocation);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->process = process;
    allocation->device = device;
    allocation->resource = resource;
    list_init(&allocation->link);
    list_init(&allocation->resource_link);
    list_init(&allocation->grave_link);
    status = make(allocation, info);
    if (!NT_SUCCESS(status))
        goto free_memory;
    allocation->bytes = vidmm_allocation_size(allocation->handle);
    status = handle_give(process, &allocation->object, OBJECT_ALLOCATION);
    list_push_back(&device->allocations, &allocation->link);
    if (resource)
        list_push_back(&resource->allocations, &allocation->resource_link);
    if (!NT_SUCCESS(status)) {
        allocation_begin_destroy(allocation, false);
        return status;
    }
    if (info->Flags.OverridePriority)
        vidmm_set_priority(allocation->handle, info->Priority);
    info->hAllocation = allocation->object.handle;
    return STATUS_SUCCESS;

free_memory:
    free_allocation(allocation);
    return status;
}

NTSTATUS d3dkmt_CreateAllocation2(struct d3dkmt_call *call, D3DKMT_CREATEALLOCATION *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    struct resource *resource = NULL;
    const UINT count = arguments->NumAllocations;
    NTSTATUS status = STATUS_SUCCESS;
    UINT made = 0;

    if (!device || !count || count > MOST_LIST || !arguments->pAllocationInfo2)
        return STATUS_INVALID_PARAMETER;
    if (arguments->Flags.StandardAllocation || arguments->Flags.ExistingSection ||
        arguments->Flags.CrossAdapter || arguments->Flags.CreateProtected)
        return STATUS_NOT_SUPPORTED;
    for (UINT i = 0; i < count; i++)
        arguments->pAllocationInfo2[i].hAllocation = 0;
    if (arguments->Flags.CreateResource) {
        resource = front_alloc(process->front, sizeof *resource);
        if (!resource)
            return STATUS_NO_MEMORY;
        resource->device = device;
        list_init(&resource->allocations);
        status = handle_give(process, &resource->object, OBJECT_RESOURCE);
        if (!NT_SUCCESS(status)) {
            front_free(process->front, resource, sizeof *resource);
            return status;
        }
        list_push_back(&device->resources, &resource->link);
    } else if (arguments->hResource) {
        resource = handle_find(process, arguments->hResource, OBJECT_RESOURCE);
        if (!resource || resource->device != device)
            return STATUS_INVALID_PARAMETER;
    }
    while (made < count && NT_SUCCESS(status)) {
        status = create_one(device, resource, &arguments->pAllocationInfo2[made]);
        made += NT_SUCCESS(status);
    }
    if (NT_SUCCESS(status)) {
        if (arguments->Flags.CreateResource)
            arguments->hResource = resource->object.handle;
        return STATUS_SUCCESS;
    }
    while (made-- > 0) {
        D3DDDI_ALLOCATIONINFO2 *info = &arguments->pAllocationInfo2[made];

        allocation_begin_destroy(handle_find(process, info->hAllocation, OBJECT_ALLOCATION), false);
        info->hAllocation = 0;
    }
    if (arguments->Flags.CreateResource)
        resource_free(resource);
    return status;
}

/* ---- Destruction ----------------------------------------------------------------------------- */

static void hide(struct allocation *allocation)
{
    struct d3dkmt_process *process = allocation->process;
    const struct d3dkmt_board *board = &process->front->config.board;

    if (allocation->lock_pages)
        board->hide(board->context, process->client, allocation->lock_address,
                    allocation->lock_pages);
    allocation->lock_pages = 0;
    allocation->lock_address = 0;
}

D3DKMT_HANDLE d3dkmt_handle_of(const struct vidmm_allocation *allocation, void **out_client)
{
    const struct allocation *own = vidmm_allocation_cookie(allocation);

    *out_client = own->process->client;
    return own->is_destroyed ? 0 : own->object.handle;
}

void allocation_begin_destroy(struct allocation *allocation, bool waits_for_queues)
{
    allocation->is_destroyed = true;
    allocation->waits_for_queues = waits_for_queues;
    list_push_back(&allocation->process->front->graves, &allocation->grave_link);
    handle_take(allocation->process, &allocation->object);
    va_forget_allocation(allocation->process, allocation);
    front_changed(allocation->process->front);
}

/* The manager is told, once. */
static void kill(struct allocation *allocation)
{
    struct d3dkmt *front = allocation->process->front;

    if (allocation->locks) {
        hide(allocation);
        if (!allocation->client_pages) {
            front_tell_of(front, D3DKMT_DEED_UNLOCK, allocation->handle, STATUS_SUCCESS);
            vidmm_unlock(allocation->handle);
        }
        allocation->locks = 0;
    }
    allocation->is_dead = true;
    front->releases++;
    allocation_evict(allocation, allocation->residency);
    front_tell_of(front, D3DKMT_DEED_DESTROY, allocation->handle, STATUS_SUCCESS);
    vidmm_allocation_destroy(allocation->handle);
}

bool allocation_bury(struct allocation *allocation)
{
    if (allocation->waits_for_queues && !allocation->device->object.is_going &&
        device_has_queued(allocation->device))
        return false;
    if (allocation->requests || allocation->queued)
        return false;
    if (!allocation->is_dead)
        kill(allocation);
    if (allocation->has_pages)
        return false;
    free_allocation(allocation);
    return true;
}

void resource_free(struct resource *resource)
{
    struct allocation *allocation, *following;

    list_for_each_safe (allocation, following, &resource->allocations, struct allocation,
                        resource_link) {
        list_remove(&allocation->resource_link);
        allocation->resource = NULL;
    }
    list_remove(&resource->link);
    handle_take(resource->device->process, &resource->object);
    front_free(resource->device->process->front, resource, sizeof *resource);
}

static NTSTATUS destroy_resource(struct d3dkmt_process *process, struct device *device,
                                 D3DKMT_HANDLE handle, bool waits_for_queues)
{
    struct resource *resource = handle_find(process, handle, OBJECT_RESOURCE);
    struct allocation *allocation, *following;

    if (!resource || resource->device != device)
        return STATUS_INVALID_PARAMETER;
    list_for_each_safe (allocation, following, &resource->allocations, struct allocation,
                        resource_link) {
        if (!allocation->is_destroyed)
            allocation_begin_destroy(allocation, waits_for_queues);
    }
    resource_free(resource);
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_DestroyAllocation2(struct d3dkmt_call *call,
                                   const D3DKMT_DESTROYALLOCATION2 *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    const bool waits = !arguments->Flags.AssumeNotInUse;

    if (!device || (!arguments->hResource && !arguments->AllocationCount) ||
        arguments->AllocationCount > MOST_LIST)
        return STATUS_INVALID_PARAMETER;
    if (arguments->hResource && !arguments->AllocationCount)
        return destroy_resource(process, device, arguments->hResource, waits);
    if (!arguments->phAllocationList)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < arguments->AllocationCount; i++) {
        const struct allocation *allocation =
            handle_find(process, arguments->phAllocationList[i], OBJECT_ALLOCATION);

        if (!allocation || allocation->device != device)
            return STATUS_INVALID_PARAMETER;
    }
    for (UINT i = 0; i < arguments->AllocationCount; i++) {
        struct allocation *allocation =
            handle_find(process, arguments->phAllocationList[i], OBJECT_ALLOCATION);

        if (allocation) /* else the list names it twice */
            allocation_begin_destroy(allocation, waits);
    }
    return STATUS_SUCCESS;
}

/* ---- Locks ----------------------------------------------------------------------------------- */

static NTSTATUS show(struct allocation *allocation)
{
    struct d3dkmt_process *process = allocation->process;
    struct d3dkmt *front = process->front;
    const struct d3dkmt_board *board = &front->config.board;
    const uint64_t count = allocation->bytes / PAGE_SIZE_BYTES;
    uint64_t *addresses = base_alloc_array(front->services, count, sizeof *addresses);
    NTSTATUS status;

    if (!addresses)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++)
        addresses[i] = vidmm_locked_page_address(allocation->handle, i);
    status =
        board->show(board->context, process->client, count, addresses, &allocation->lock_address);
    base_free_array(front->services, addresses, count, sizeof *addresses);
    if (NT_SUCCESS(status))
        allocation->lock_pages = count;
    return status;
}

static bool lock_again(struct d3dkmt_call *call)
{
    D3DKMT_LOCK2 *arguments = call->arguments;
    struct allocation *allocation =
        handle_find(call->process, *(D3DKMT_HANDLE *)call->state, OBJECT_ALLOCATION);
    NTSTATUS status;

    if (!allocation)
        return call_end(call, STATUS_INVALID_HANDLE);
    if (!allocation->locks) {
        status = vidmm_lock_with(allocation->handle, VIDMM_LOCK_IGNORE_SYNC);
        if (status == STATUS_GRAPHICS_ALLOCATION_BUSY)
            return false;
        front_tell_of(call->process->front, D3DKMT_DEED_LOCKED, allocation->handle, status);
        if (!NT_SUCCESS(status))
            return call_end(call, status);
        status = show(allocation);
        if (!NT_SUCCESS(status)) {
            front_tell_of(call->process->front, D3DKMT_DEED_UNLOCK, allocation->handle, status);
            vidmm_unlock(allocation->handle);
            return call_end(call, status);
        }
    }
    allocation->locks++;
    arguments->pData = (VOID *)(uintptr_t)allocation->lock_address;
    return call_end(call, STATUS_SUCCESS);
}

NTSTATUS d3dkmt_Lock2(struct d3dkmt_call *call, D3DKMT_LOCK2 *arguments)
{
    struct allocation *allocation =
        handle_find(call->process, arguments->hAllocation, OBJECT_ALLOCATION);
    D3DKMT_HANDLE *state;

    arguments->pData = NULL;
    if (!allocation || !handle_find(call->process, arguments->hDevice, OBJECT_DEVICE) ||
        allocation->device->object.handle != arguments->hDevice || allocation->locks == UINT32_MAX)
        return STATUS_INVALID_PARAMETER;
    if (allocation->client_pages) { /* the client's own memory is where it was */
        allocation->locks++;
        arguments->pData = (VOID *)(uintptr_t)allocation->client_address;
        return STATUS_SUCCESS;
    }
    state = front_alloc(call->process->front, sizeof *state);
    if (!state)
        return STATUS_NO_MEMORY;
    *state = arguments->hAllocation;
    if (!allocation->locks)
        front_tell_of(call->process->front, D3DKMT_DEED_LOCK, allocation->handle, STATUS_SUCCESS);
    return call_wait(call, lock_again, state, sizeof *state);
}

NTSTATUS d3dkmt_Unlock2(struct d3dkmt_call *call, const D3DKMT_UNLOCK2 *arguments)
{
    struct allocation *allocation =
        handle_find(call->process, arguments->hAllocation, OBJECT_ALLOCATION);

    if (!allocation || allocation->device->object.handle != arguments->hDevice ||
        !allocation->locks)
        return STATUS_INVALID_PARAMETER;
    if (--allocation->locks || allocation->client_pages)
        return STATUS_SUCCESS;
    hide(allocation);
    front_tell_of(call->process->front, D3DKMT_DEED_UNLOCK, allocation->handle, STATUS_SUCCESS);
    vidmm_unlock(allocation->handle);
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_InvalidateCache(struct d3dkmt_call *call, const D3DKMT_INVALIDATECACHE *arguments)
{
    const struct allocation *allocation =
        handle_find(call->process, arguments->hAllocation, OBJECT_ALLOCATION);

    if (!allocation || !handle_find(call->process, arguments->hDevice, OBJECT_DEVICE) ||
        arguments->Offset > allocation->bytes ||
        arguments->Length > allocation->bytes - arguments->Offset)
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS; /* the CPU's caches are coherent */
}
