/*
 * Allocations, resources and locks.
 *
 * An allocation that is destroyed leaves its handle at once. The manager is told when the requests
 * for its residency have ended, and, unless the client says that it is not in use, when the queues
 * of the device are empty. What is with the GPU by then keeps it for as long as need be: that is
 * the manager's business, and of the pages of the client's memory, which it releases.
 *
 * Of a shared resource each device has allocations of its own over one memory. Who destroys them
 * while others have them, or an NT handle names the resource, closes them in its device only, when
 * nothing of that device runs; its addresses go, and its references. The last one ends the memory.
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
    list_remove(&allocation->memory_link);
    if (allocation->memory->shared)
        shared_drop(allocation->memory->shared);
    front_free(allocation->process->front, allocation, sizeof *allocation);
}

/* memory: of a shared resource; NULL: it has its own. */
static struct allocation *new_allocation(struct device *device, struct resource *resource,
                                         struct memory *memory)
{
    struct allocation *allocation = front_alloc(device->process->front, sizeof *allocation);

    if (!allocation)
        return NULL;
    allocation->process = device->process;
    allocation->device = device;
    allocation->resource = resource;
    list_init(&allocation->link);
    list_init(&allocation->resource_link);
    list_init(&allocation->grave_link);
    list_init(&allocation->own.openings);
    allocation->memory = memory ? memory : &allocation->own;
    list_push_back(&allocation->memory->openings, &allocation->memory_link);
    if (memory)
        shared_keep(memory->shared);
    return allocation;
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
                                           info->PrivateDriverDataSize, allocation->memory, &memory,
                                           &allocation->handle)
            : vidmm_allocation_create(device, info->pPrivateDriverData, info->PrivateDriverDataSize,
                                      allocation->memory, &allocation->handle);
    allocation->memory->handle = allocation->handle;
    front_tell_of(front, D3DKMT_DEED_CREATED, allocation->handle, status);
    allocation->has_pages = NT_SUCCESS(status) && info->pSystemMem;
    return status;
}

/* It is there, without a handle. */
static NTSTATUS enter(struct allocation *allocation, D3DKMT_HANDLE *out_handle)
{
    struct device *device = allocation->device;
    NTSTATUS status;

    allocation->bytes = vidmm_allocation_size(allocation->handle);
    status = handle_give(device->process, &allocation->object, OBJECT_ALLOCATION);
    list_push_back(&device->allocations, &allocation->link);
    if (allocation->resource)
        list_push_back(&allocation->resource->allocations, &allocation->resource_link);
    if (!NT_SUCCESS(status)) {
        allocation_begin_destroy(allocation, false);
        return status;
    }
    *out_handle = allocation->object.handle;
    return STATUS_SUCCESS;
}

static NTSTATUS create_one(struct device *device, struct resource *resource, struct memory *memory,
                           D3DDDI_ALLOCATIONINFO2 *info)
{
    struct allocation *allocation = new_allocation(device, resource, memory);
    NTSTATUS status;

    if (!allocation)
        return STATUS_NO_MEMORY;
    status = make(allocation, info);
    if (!NT_SUCCESS(status)) {
        free_allocation(allocation);
        return status;
    }
    if (memory)
        memory->maker = device;
    status = enter(allocation, &info->hAllocation);
    if (NT_SUCCESS(status) && info->Flags.OverridePriority)
        vidmm_set_priority(allocation->handle, info->Priority);
    return status;
}

static bool is_open_in(const struct memory *memory, const struct device *device,
                       const struct allocation *but)
{
    const struct allocation *opening;

    list_for_each (opening, &memory->openings, struct allocation, memory_link) {
        if (opening->device == device && opening != but)
            return true;
    }
    return false;
}

NTSTATUS allocation_open(struct device *device, struct resource *resource, struct memory *memory,
                         D3DKMT_HANDLE *out_handle)
{
    struct allocation *allocation;
    NTSTATUS status = STATUS_SUCCESS;

    if (!memory->handle)
        return STATUS_INVALID_PARAMETER;
    allocation = new_allocation(device, resource, memory);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->handle = memory->handle;
    if (!is_open_in(memory, device, allocation))
        status = vidmm_allocation_open(device->handle, memory->handle, memory->private_data,
                                       memory->private_bytes);
    if (!NT_SUCCESS(status)) {
        free_allocation(allocation);
        return status;
    }
    return enter(allocation, out_handle);
}

static bool is_data(const void *data, UINT bytes)
{
    return bytes <= MOST_PRIVATE_DATA && (data || !bytes);
}

/* What the flags of a call may be together, and the data that goes along. */
static NTSTATUS check_creation(const D3DKMT_CREATEALLOCATION *arguments)
{
    const D3DKMT_CREATEALLOCATIONFLAGS flags = arguments->Flags;

    if (flags.StandardAllocation || flags.ExistingSection || flags.CrossAdapter ||
        flags.CreateProtected)
        return STATUS_NOT_SUPPORTED;
    if ((flags.CreateShared && !flags.CreateResource) ||
        (flags.NtSecuritySharing && !flags.CreateShared))
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < arguments->NumAllocations; i++) {
        const D3DDDI_ALLOCATIONINFO2 *info = &arguments->pAllocationInfo2[i];

        if (!is_data(info->pPrivateDriverData, info->PrivateDriverDataSize))
            return STATUS_INVALID_PARAMETER;
        if (flags.CreateShared && info->pSystemMem) /* memory of one process alone */
            return STATUS_NOT_SUPPORTED;
    }
    return !flags.CreateShared ||
                   (is_data(arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize) &&
                    is_data(arguments->pPrivateDriverData, arguments->PrivateDriverDataSize))
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

static NTSTATUS share(struct resource *resource, const D3DKMT_CREATEALLOCATION *arguments)
{
    struct d3dkmt_process *process = resource->device->process;
    NTSTATUS status = shared_create(process->front, OBJECT_RESOURCE, &resource->shared);

    return NT_SUCCESS(status) ? shared_describe(resource->shared, process, arguments) : status;
}

NTSTATUS resource_create(struct device *device, struct resource **out_resource)
{
    struct d3dkmt_process *process = device->process;
    struct resource *resource = front_alloc(process->front, sizeof *resource);
    NTSTATUS status;

    *out_resource = NULL;
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
    *out_resource = resource;
    return STATUS_SUCCESS;
}

/* The one that the call makes, or adds to; NULL: none. */
static NTSTATUS find_resource(struct device *device, const D3DKMT_CREATEALLOCATION *arguments,
                              struct resource **out_resource)
{
    NTSTATUS status;

    *out_resource = NULL;
    if (arguments->Flags.CreateResource) {
        status = resource_create(device, out_resource);
        if (NT_SUCCESS(status) && arguments->Flags.CreateShared)
            status = share(*out_resource, arguments);
        if (!NT_SUCCESS(status) && *out_resource)
            resource_free(*out_resource);
        return status;
    }
    if (!arguments->hResource)
        return STATUS_SUCCESS;
    *out_resource = handle_find(device->process, arguments->hResource, OBJECT_RESOURCE);
    return *out_resource && (*out_resource)->device == device && !(*out_resource)->shared
               ? STATUS_SUCCESS
               : STATUS_INVALID_PARAMETER;
}

NTSTATUS d3dkmt_CreateAllocation2(struct d3dkmt_call *call, D3DKMT_CREATEALLOCATION *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    struct resource *resource;
    const UINT count = arguments->NumAllocations;
    NTSTATUS status;
    UINT made = 0;

    if (!device || !count || count > MOST_LIST || !arguments->pAllocationInfo2)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < count; i++)
        arguments->pAllocationInfo2[i].hAllocation = 0;
    status = check_creation(arguments);
    if (NT_SUCCESS(status))
        status = find_resource(device, arguments, &resource);
    if (!NT_SUCCESS(status))
        return status;
    while (made < count && NT_SUCCESS(status)) {
        status = create_one(device, resource,
                            resource && resource->shared ? &resource->shared->memories[made] : NULL,
                            &arguments->pAllocationInfo2[made]);
        made += NT_SUCCESS(status);
    }
    if (NT_SUCCESS(status)) {
        if (arguments->Flags.CreateResource) {
            arguments->hResource = resource->object.handle;
            arguments->hGlobalShare = resource->shared ? resource->shared->global : 0;
            call->nt_object = resource->shared ? resource->shared->name : 0;
        }
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

D3DKMT_HANDLE d3dkmt_handle_of(const struct vidmm_allocation *allocation,
                               const struct vidmm_device *device, void **out_client)
{
    const struct memory *memory = vidmm_allocation_cookie(allocation);
    const struct allocation *opening;

    *out_client = NULL;
    list_for_each (opening, &memory->openings, struct allocation, memory_link) {
        if (device && opening->device->handle != device)
            continue;
        *out_client = opening->process->client;
        if (!opening->is_destroyed)
            return opening->object.handle;
    }
    return 0;
}

bool allocation_is_had_by_others(const struct allocation *allocation)
{
    const struct memory *memory = allocation->memory;

    return memory->shared && !shared_is_last(memory->shared, memory);
}

void allocation_begin_destroy(struct allocation *allocation, bool waits_for_queues)
{
    allocation->is_destroyed = true;
    allocation->waits_for_queues = waits_for_queues;
    list_push_back(&allocation->process->front->graves, &allocation->grave_link);
    handle_take(allocation->process, &allocation->object);
    if (!allocation->memory->shared) /* what others may keep is unmapped here first */
        va_forget_allocation(allocation->process, allocation);
    front_changed(allocation->process->front);
}

/* The last lock of all has ended, or of all who have it. */
static void end_lock(struct allocation *allocation)
{
    struct d3dkmt *front = allocation->process->front;
    struct memory *memory = allocation->memory;

    if (memory->shared) {
        if (--memory->lock_count)
            return;
        front->config.board.hide_in_file(front->config.board.context, memory->file->file);
    } else {
        hide(allocation);
    }
    front_tell_of(front, D3DKMT_DEED_UNLOCK, allocation->handle, STATUS_SUCCESS);
    vidmm_unlock(allocation->handle);
}

/* What its device has of it goes back: locks, the sight of it, references. */
static void let_go(struct allocation *allocation)
{
    struct d3dkmt_process *process = allocation->process;
    const struct d3dkmt_board *board = &process->front->config.board;

    if (allocation->locks && !allocation->client_pages)
        end_lock(allocation);
    allocation->locks = 0;
    if (allocation->memory->shared && allocation->lock_address)
        board->end_view(board->context, process->client, allocation->memory->file->file,
                        allocation->lock_address);
    allocation->lock_address = 0;
    process->front->releases++;
    allocation_evict(allocation, allocation->residency);
}

/* The manager is told, once. */
static void kill(struct allocation *allocation)
{
    struct memory *memory = allocation->memory;

    let_go(allocation);
    allocation->is_dead = true;
    if (memory->shared) {
        va_forget_allocation(allocation->process, allocation);
        memory_end(memory);
        return;
    }
    front_tell_of(allocation->process->front, D3DKMT_DEED_DESTROY, allocation->handle,
                  STATUS_SUCCESS);
    vidmm_allocation_destroy(allocation->handle);
}

/* The device has it no more, if this was all that it had of it. */
static NTSTATUS close_in_device(struct allocation *allocation)
{
    struct memory *memory = allocation->memory;
    NTSTATUS status;

    if (is_open_in(memory, allocation->device, allocation))
        return STATUS_SUCCESS;
    if (memory->maker != allocation->device)
        return vidmm_allocation_close(allocation->device->handle, memory->handle);
    status = vidmm_allocation_leave(memory->handle);
    if (NT_SUCCESS(status))
        memory->maker = NULL;
    return status;
}

/* Others have it: it is closed here. False: not yet. */
static bool leave(struct allocation *allocation)
{
    struct device *device = allocation->device;

    if (!allocation->stops_device) {
        allocation->stops_device = true;
        device->closing++;
        let_go(allocation);
    }
    if (device_runs(device) || !va_unmap_allocation(allocation->process, allocation) ||
        !NT_SUCCESS(close_in_device(allocation)))
        return false;
    allocation->is_dead = true;
    return true;
}

bool allocation_bury(struct allocation *allocation)
{
    if (allocation->waits_for_queues && !allocation->device->object.is_going &&
        device_has_queued(allocation->device))
        return false;
    if (allocation->requests || allocation->queued)
        return false;
    if (!allocation->is_dead && allocation_is_had_by_others(allocation)) {
        if (!leave(allocation))
            return false;
    } else if (!allocation->is_dead) {
        kill(allocation);
    }
    if (allocation->has_pages)
        return false;
    if (allocation->stops_device) {
        allocation->device->closing--;
        front_changed(allocation->process->front);
    }
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
    if (resource->shared)
        shared_drop(resource->shared);
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

/* Its maker, as long as that is there: an opener's own files are not used up by others. */
static struct d3dkmt_process *payer_of(const struct allocation *allocation)
{
    struct d3dkmt_process *creator = allocation->memory->shared->creator;

    return creator && !creator->is_gone ? creator : allocation->process;
}

/* What the CPU sees of a shared one is in a file, which each of its clients has a view of. */
static NTSTATUS show_shared(struct allocation *allocation)
{
    struct memory *memory = allocation->memory;
    struct d3dkmt *front = allocation->process->front;
    const struct d3dkmt_board *board = &front->config.board;
    const uint64_t count = allocation->bytes / PAGE_SIZE_BYTES;
    uint64_t *addresses = base_alloc_array(front->services, count, sizeof *addresses);
    NTSTATUS status = addresses ? STATUS_SUCCESS : STATUS_NO_MEMORY;

    for (uint64_t i = 0; addresses && i < count; i++)
        addresses[i] = vidmm_locked_page_address(memory->handle, i);
    if (addresses && !memory->file)
        status = shared_file_open(payer_of(allocation), count, &memory->file);
    if (NT_SUCCESS(status))
        status = board->show_in_file(board->context, memory->file->file, addresses);
    base_free_array(front->services, addresses, count, sizeof *addresses);
    return status;
}

/* STATUS_GRAPHICS_ALLOCATION_BUSY: not yet. */
static NTSTATUS lock_in_manager(struct allocation *allocation)
{
    struct d3dkmt *front = allocation->process->front;
    struct memory *memory = allocation->memory;
    NTSTATUS status = vidmm_lock_with(allocation->handle, VIDMM_LOCK_IGNORE_SYNC);

    if (status == STATUS_GRAPHICS_ALLOCATION_BUSY)
        return status;
    front_tell_of(front, D3DKMT_DEED_LOCKED, allocation->handle, status);
    if (!NT_SUCCESS(status))
        return status;
    status = memory->shared ? show_shared(allocation) : show(allocation);
    if (!NT_SUCCESS(status)) {
        front_tell_of(front, D3DKMT_DEED_UNLOCK, allocation->handle, status);
        vidmm_unlock(allocation->handle);
    }
    return status;
}

/* The first lock of its device. */
static NTSTATUS lock_first(struct allocation *allocation)
{
    struct d3dkmt_process *process = allocation->process;
    const struct d3dkmt_board *board = &process->front->config.board;
    struct memory *memory = allocation->memory;
    NTSTATUS status = memory->lock_count ? STATUS_SUCCESS : lock_in_manager(allocation);

    if (!NT_SUCCESS(status) || !memory->shared)
        return status;
    memory->lock_count++;
    if (!allocation->lock_address)
        status = board->begin_view(board->context, process->client, memory->file->file,
                                   &allocation->lock_address);
    if (!NT_SUCCESS(status))
        end_lock(allocation);
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
        status = lock_first(allocation);
        if (status == STATUS_GRAPHICS_ALLOCATION_BUSY)
            return false;
        if (!NT_SUCCESS(status))
            return call_end(call, status);
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
    if (!allocation->locks && !allocation->memory->lock_count)
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
    if (!--allocation->locks && !allocation->client_pages)
        end_lock(allocation);
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
