/*
 * Calls that share resources, keyed mutexes and fences, and open shared resources.
 *
 * An NT handle is of one of these, or of a bundle: a resource, a keyed mutex and a fence, which
 * D3DKMTOpenResourceFromNtHandle opens together.
 *
 * An NT handle of the arguments is not looked at: call->nt_object says what it names. Where nothing
 * has that name the status is STATUS_INVALID_HANDLE. Opening is all or nothing.
 */
#include "d3dkmt/front.h"

#include <string.h>

/* ---- Sharing --------------------------------------------------------------------------------- */

/* What a handle shares: a resource (it may name an allocation of it), a keyed mutex or a fence. */
static struct shared *shared_of(struct d3dkmt_process *process, D3DKMT_HANDLE handle)
{
    const struct resource *resource = handle_find(process, handle, OBJECT_RESOURCE);
    const struct allocation *allocation = handle_find(process, handle, OBJECT_ALLOCATION);
    const struct keyed_mutex *mutex = handle_find(process, handle, OBJECT_KEYED_MUTEX);
    const struct fence *fence = handle_find(process, handle, OBJECT_FENCE);

    return resource     ? resource->shared
           : allocation ? allocation->memory->shared
           : mutex      ? mutex->shared
           : fence      ? fence->page->shared
                        : NULL;
}

/* False: allocations of it have been destroyed, for good. */
static bool is_whole(const struct shared *shared)
{
    for (UINT i = 0; i < shared->count; i++) {
        if (!shared->memories[i].handle)
            return false;
    }
    return true;
}

#define PATH_SEPARATOR '\\'

/* A name has a root: with RootDirectory NULL it begins with a backslash. */
static NTSTATUS take_title(HANDLE root, UINT attributes, const VOID *name, UINT bytes,
                           struct title *out_title)
{
    uint16_t first;

    *out_title = (struct title){
        .name = name, .bytes = bytes, .ignores_case = attributes & OBJ_CASE_INSENSITIVE};
    if (root) /* no handle here is one of a directory */
        return STATUS_INVALID_HANDLE;
    if (!name || !bytes || bytes % 2 || bytes > D3DKMT_MOST_NAME_BYTES)
        return STATUS_OBJECT_NAME_INVALID;
    memcpy(&first, name, sizeof first);
    return first == PATH_SEPARATOR ? STATUS_SUCCESS : STATUS_OBJECT_PATH_SYNTAX_BAD;
}

bool d3dkmt_gives_nt_handle(enum d3dkmt_function function)
{
    return function == D3DKMT_FN_ShareObjects || function == D3DKMT_FN_OpenNtHandleFromName ||
           function == D3DKMT_FN_OpenSyncObjectNtHandleFromName;
}

/* It has no other one. */
static NTSTATUS give_title(struct shared *shared, const THUNK_SHARE_OBJECTS *arguments)
{
    struct title title;
    NTSTATUS status;

    if (!arguments->Name || !arguments->NameBytes)
        return STATUS_SUCCESS;
    status = take_title(arguments->RootDirectory, arguments->Attributes, arguments->Name,
                        arguments->NameBytes, &title);
    if (!NT_SUCCESS(status))
        return status;
    if (shared_find_titled(shared->front, &title))
        return STATUS_OBJECT_NAME_COLLISION;
    return shared->title ? STATUS_INVALID_PARAMETER : shared_give_title(shared, &title);
}

static void give_nt_handle(struct d3dkmt_call *call, struct shared *shared)
{
    shared->nt_handles++;
    call->nt_object = shared->name;
}

/* Gives a bundle of these with one user. */
static NTSTATUS bundle_create(struct d3dkmt *front, struct shared *const *parts,
                              struct shared **out_bundle)
{
    const NTSTATUS status = shared_create(front, OBJECT_BUNDLE, out_bundle);

    for (unsigned i = 0; NT_SUCCESS(status) && i < MOST_PARTS; i++) {
        (*out_bundle)->parts[i] = parts[i];
        parts[i]->bundles++;
        shared_keep(parts[i]);
    }
    return status;
}

static bool has_type(struct shared *const *parts, enum object_type type)
{
    for (unsigned i = 0; i < MOST_PARTS; i++) {
        if (parts[i]->type == type)
            return true;
    }
    return false;
}

/* Gives what the NT handle is to name, with a user more; in whatever order the objects are. */
static NTSTATUS find_objects(struct d3dkmt_process *process, const THUNK_SHARE_OBJECTS *arguments,
                             struct shared **out_shared)
{
    struct shared *parts[MOST_PARTS];

    if (arguments->cObjects != 1 && arguments->cObjects != MOST_PARTS)
        return STATUS_INVALID_PARAMETER;
    for (unsigned i = 0; i < arguments->cObjects; i++) {
        parts[i] = shared_of(process, arguments->hObjects[i]);
        if (!parts[i] || parts[i]->global || !is_whole(parts[i]))
            return STATUS_INVALID_PARAMETER;
    }
    if (arguments->cObjects == MOST_PARTS)
        return has_type(parts, OBJECT_RESOURCE) && has_type(parts, OBJECT_KEYED_MUTEX) &&
                       has_type(parts, OBJECT_FENCE)
                   ? bundle_create(process->front, parts, out_shared)
                   : STATUS_INVALID_PARAMETER;
    if (parts[0]->type == OBJECT_KEYED_MUTEX)
        return STATUS_INVALID_PARAMETER;
    *out_shared = parts[0];
    shared_keep(parts[0]);
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_ShareObjects(struct d3dkmt_call *call, THUNK_SHARE_OBJECTS *arguments)
{
    struct shared *shared;
    NTSTATUS status;

    call->nt_object = 0;
    if (!arguments->hObjects)
        return STATUS_INVALID_PARAMETER;
    status = find_objects(call->process, arguments, &shared);
    if (!NT_SUCCESS(status))
        return status;
    status = call->takes_nt_handle ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
    call->gave_title = !shared->title;
    if (NT_SUCCESS(status))
        status = give_title(shared, arguments);
    call->gave_title &= shared->title != NULL;
    if (NT_SUCCESS(status))
        give_nt_handle(call, shared);
    shared_drop(shared); /* who has it keeps it, or the NT handle */
    return status;
}

/* What a function that is for this type may open. */
static bool is_for(const struct shared *shared, enum object_type type)
{
    return shared->type == type || (shared->type == OBJECT_BUNDLE && type == OBJECT_RESOURCE);
}

static NTSTATUS open_titled(struct d3dkmt_call *call, const THUNK_OPEN_BY_NAME *arguments,
                            enum object_type type)
{
    struct shared *shared;
    struct title title;
    NTSTATUS status;

    call->nt_object = 0;
    call->gave_title = false;
    status = take_title(arguments->RootDirectory, arguments->Attributes, arguments->Name,
                        arguments->NameBytes, &title);
    if (!NT_SUCCESS(status))
        return status;
    shared = shared_find_titled(call->process->front, &title);
    if (!shared)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    if (!is_for(shared, type))
        return STATUS_OBJECT_TYPE_MISMATCH;
    if (!call->takes_nt_handle)
        return STATUS_NOT_SUPPORTED;
    give_nt_handle(call, shared);
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_OpenNtHandleFromName(struct d3dkmt_call *call, THUNK_OPEN_BY_NAME *arguments)
{
    return open_titled(call, arguments, OBJECT_RESOURCE);
}

NTSTATUS d3dkmt_OpenSyncObjectNtHandleFromName(struct d3dkmt_call *call,
                                               THUNK_OPEN_BY_NAME *arguments)
{
    return open_titled(call, arguments, OBJECT_FENCE);
}

/* ---- Resources ------------------------------------------------------------------------------- */

/* What both forms of a query ask for. */
struct query {
    VOID *runtime_data;
    UINT *runtime_bytes, *total_bytes, *driver_bytes, *count;
};

static NTSTATUS query(const struct shared *shared, const struct query *query)
{
    if (query->runtime_data && *query->runtime_bytes < shared->runtime_bytes)
        return STATUS_INVALID_PARAMETER;
    if (query->runtime_data && shared->runtime_bytes)
        memcpy(query->runtime_data, shared->runtime_data, shared->runtime_bytes);
    *query->runtime_bytes = shared->runtime_bytes;
    *query->total_bytes = shared->total_bytes;
    *query->driver_bytes = shared->driver_bytes;
    *query->count = shared->count;
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_QueryResourceInfo(struct d3dkmt_call *call, D3DKMT_QUERYRESOURCEINFO *arguments)
{
    const struct shared *shared =
        shared_find(call->process->front, OBJECT_RESOURCE, 0, arguments->hGlobalShare);

    if (!shared || !handle_find(call->process, arguments->hDevice, OBJECT_DEVICE))
        return STATUS_INVALID_PARAMETER;
    return query(shared, &(struct query){.runtime_data = arguments->pPrivateRuntimeData,
                                         .runtime_bytes = &arguments->PrivateRuntimeDataSize,
                                         .total_bytes = &arguments->TotalPrivateDriverDataSize,
                                         .driver_bytes = &arguments->ResourcePrivateDriverDataSize,
                                         .count = &arguments->NumAllocations});
}

NTSTATUS
d3dkmt_QueryResourceInfoFromNtHandle(struct d3dkmt_call *call,
                                     D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *arguments)
{
    const struct shared *shared =
        shared_find(call->process->front, OBJECT_RESOURCE, call->nt_object, 0);

    if (!shared)
        return STATUS_INVALID_HANDLE;
    if (!handle_find(call->process, arguments->hDevice, OBJECT_DEVICE))
        return STATUS_INVALID_PARAMETER;
    return query(shared, &(struct query){.runtime_data = arguments->pPrivateRuntimeData,
                                         .runtime_bytes = &arguments->PrivateRuntimeDataSize,
                                         .total_bytes = &arguments->TotalPrivateDriverDataSize,
                                         .driver_bytes = &arguments->ResourcePrivateDriverDataSize,
                                         .count = &arguments->NumAllocations});
}

/* Private data that goes to the caller; its buffer has room for it all. */
struct room {
    VOID *data;
    UINT bytes;
};

static bool has_room(const struct room *room, UINT bytes)
{
    return !bytes || (room->data && room->bytes >= bytes);
}

/* What both forms of opening a resource have. */
struct opening {
    UINT count;
    D3DDDI_OPENALLOCATIONINFO2 *infos;
    struct room runtime, driver, total;
    UINT *total_bytes;
    D3DKMT_HANDLE *resource;
};

static void copy_out(const struct shared *shared, const struct opening *opening)
{
    uint8_t *at = opening->total.data;

    if (shared->runtime_bytes)
        memcpy(opening->runtime.data, shared->runtime_data, shared->runtime_bytes);
    if (shared->driver_bytes)
        memcpy(opening->driver.data, shared->driver_data, shared->driver_bytes);
    for (UINT i = 0; i < shared->count; i++) {
        const struct memory *memory = &shared->memories[i];

        opening->infos[i].pPrivateDriverData = memory->private_bytes ? at : NULL;
        opening->infos[i].PrivateDriverDataSize = memory->private_bytes;
        opening->infos[i].GpuVirtualAddress = 0;
        if (memory->private_bytes) {
            memcpy(at, memory->private_data, memory->private_bytes);
            at += memory->private_bytes;
        }
    }
    *opening->total_bytes = shared->total_bytes;
}

static void undo_opening(struct resource *resource)
{
    struct allocation *allocation;

    list_for_each (allocation, &resource->allocations, struct allocation, resource_link) {
        if (!allocation->is_destroyed)
            allocation_begin_destroy(allocation, false);
    }
    resource_free(resource);
}

static NTSTATUS open_resource(struct device *device, struct shared *shared,
                              const struct opening *opening)
{
    struct resource *resource;
    NTSTATUS status;

    if (!device || opening->count != shared->count || !opening->infos ||
        !has_room(&opening->runtime, shared->runtime_bytes) ||
        !has_room(&opening->driver, shared->driver_bytes) ||
        !has_room(&opening->total, shared->total_bytes) || !is_whole(shared))
        return STATUS_INVALID_PARAMETER;
    if (device->is_lost)
        return STATUS_DEVICE_REMOVED;
    status = resource_create(device, &resource);
    if (!NT_SUCCESS(status))
        return status;
    resource->shared = shared;
    shared_keep(shared);
    for (UINT i = 0; i < shared->count && NT_SUCCESS(status); i++)
        status =
            allocation_open(device, resource, &shared->memories[i], &opening->infos[i].hAllocation);
    if (!NT_SUCCESS(status)) {
        undo_opening(resource);
        for (UINT i = 0; i < shared->count; i++)
            opening->infos[i].hAllocation = 0;
        return status;
    }
    copy_out(shared, opening);
    *opening->resource = resource->object.handle;
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_OpenResource(struct d3dkmt_call *call, D3DKMT_OPENRESOURCE *arguments)
{
    struct shared *shared =
        shared_find(call->process->front, OBJECT_RESOURCE, 0, arguments->hGlobalShare);

    arguments->hResource = 0;
    if (!shared)
        return STATUS_INVALID_PARAMETER;
    return open_resource(
        handle_find(call->process, arguments->hDevice, OBJECT_DEVICE), shared,
        &(struct opening){
            .count = arguments->NumAllocations,
            .infos = arguments->pOpenAllocationInfo2,
            .runtime = {arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize},
            .driver = {arguments->pResourcePrivateDriverData,
                       arguments->ResourcePrivateDriverDataSize},
            .total = {arguments->pTotalPrivateDriverDataBuffer,
                      arguments->TotalPrivateDriverDataBufferSize},
            .total_bytes = &arguments->TotalPrivateDriverDataBufferSize,
            .resource = &arguments->hResource});
}

/* What opening a bundle has given so far. */
struct bundle_opening {
    D3DKMT_HANDLE resource, mutex, fence;
};

static void undo_bundle(struct d3dkmt_process *process, const struct bundle_opening *opening,
                        D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments)
{
    struct resource *resource = handle_find(process, opening->resource, OBJECT_RESOURCE);
    struct keyed_mutex *mutex = handle_find(process, opening->mutex, OBJECT_KEYED_MUTEX);

    if (resource)
        undo_opening(resource);
    if (mutex)
        keyed_mutex_close(mutex);
    arguments->hResource = arguments->hKeyedMutex = 0;
    for (UINT i = 0; i < arguments->NumAllocations; i++)
        arguments->pOpenAllocationInfo2[i].hAllocation = 0;
}

static bool open_bundle_again(struct d3dkmt_call *call)
{
    D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments = call->arguments;
    const struct bundle_opening *opening = call->state;
    struct fence *fence;
    NTSTATUS status;

    if (!fence_is_there(call->process, opening->fence, &fence, &status))
        return false;
    if (NT_SUCCESS(status))
        arguments->hSyncObject = opening->fence;
    else
        undo_bundle(call->process, opening, arguments);
    return call_end(call, status);
}

static NTSTATUS open_fence_of(struct device *device, struct shared *shared,
                              D3DKMT_HANDLE *out_handle)
{
    struct fence *fence;
    NTSTATUS status = fence_open(device, shared, &fence);

    if (!NT_SUCCESS(status))
        return status;
    status = handle_give(device->process, &fence->object, OBJECT_FENCE);
    if (!NT_SUCCESS(status))
        fence_destroy(fence);
    else
        *out_handle = fence->object.handle;
    return status;
}

/* The resource is open. What the fence may do is not said: everything. */
static NTSTATUS open_bundle(struct d3dkmt_call *call, D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments)
{
    struct d3dkmt_process *process = call->process;
    const struct private_data data = {arguments->pKeyedMutexPrivateRuntimeData,
                                      arguments->KeyedMutexPrivateRuntimeDataSize};
    struct shared *mutex = shared_find(process->front, OBJECT_KEYED_MUTEX, call->nt_object, 0);
    struct shared *fence = shared_find(process->front, OBJECT_FENCE, call->nt_object, 0);
    struct bundle_opening *opening = front_alloc(process->front, sizeof *opening);
    const struct bundle_opening none = {.resource = arguments->hResource};
    NTSTATUS status = STATUS_NO_MEMORY;

    if (opening) {
        *opening = none;
        status = open_fence_of(handle_find(process, arguments->hDevice, OBJECT_DEVICE), fence,
                               &opening->fence);
    }
    if (!NT_SUCCESS(status))
        goto undo;
    status = keyed_mutex_open(process, mutex, &data, &opening->mutex);
    if (!NT_SUCCESS(status)) {
        fence_destroy(handle_find(process, opening->fence, OBJECT_FENCE));
        goto undo;
    }
    arguments->hKeyedMutex = opening->mutex;
    return call_wait(call, open_bundle_again, opening, sizeof *opening);

undo:
    undo_bundle(process, &none, arguments);
    front_free(process->front, opening, sizeof *opening);
    return status;
}

NTSTATUS d3dkmt_OpenResourceFromNtHandle(struct d3dkmt_call *call,
                                         D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments)
{
    struct shared *shared = shared_find(call->process->front, OBJECT_RESOURCE, call->nt_object, 0);
    NTSTATUS status;

    arguments->hResource = 0;
    arguments->hKeyedMutex = 0;
    arguments->hSyncObject = 0;
    if (!shared)
        return STATUS_INVALID_HANDLE;
    if (arguments->KeyedMutexPrivateRuntimeDataSize && !arguments->pKeyedMutexPrivateRuntimeData)
        return STATUS_INVALID_PARAMETER;
    status =
        open_resource(handle_find(call->process, arguments->hDevice, OBJECT_DEVICE), shared,
                      &(struct opening){.count = arguments->NumAllocations,
                                        .infos = arguments->pOpenAllocationInfo2,
                                        .runtime = {arguments->pPrivateRuntimeData,
                                                    arguments->PrivateRuntimeDataSize},
                                        .driver = {arguments->pResourcePrivateDriverData,
                                                   arguments->ResourcePrivateDriverDataSize},
                                        .total = {arguments->pTotalPrivateDriverDataBuffer,
                                                  arguments->TotalPrivateDriverDataBufferSize},
                                        .total_bytes = &arguments->TotalPrivateDriverDataBufferSize,
                                        .resource = &arguments->hResource});
    if (!NT_SUCCESS(status) ||
        !shared_find(call->process->front, OBJECT_KEYED_MUTEX, call->nt_object, 0))
        return status;
    return open_bundle(call, arguments);
}
