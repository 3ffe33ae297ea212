/*
 * What processes share, as it is seen: resources, fences, keyed mutexes.
 *
 * A shared object is known by the name that NT handles of it have, or by its global handle, from
 * the call that makes it until whoever answers the calls says that nobody has it (seen_unshared()),
 * if anybody says so.
 */
#include "clients/seen_own.h"

#include <stdlib.h>

/* ---- Shared objects -------------------------------------------------------------------------- */

void seen_free_shared(struct seen *seen, struct seen_shared *shared)
{
    struct seen_shared *other;

    while (!list_is_empty(&shared->sights))
        seen_leave_shared(list_first_entry(&shared->sights, struct seen_object, shared_link));
    list_for_each (other, &seen->shared, struct seen_shared, link) {
        if (other->mutex == shared)
            other->mutex = NULL;
        for (unsigned i = 0; i < SEEN_MOST_PARTS; i++) {
            if (other->parts[i] == shared)
                other->parts[i] = NULL;
        }
    }
    for (UINT i = 0; i < shared->count; i++)
        seen_drop_body(shared->bodies[i]);
    list_remove(&shared->link);
    free(shared);
}

void seen_unshared(struct seen *seen, uint64_t nt_object)
{
    struct seen_shared *shared, *following;

    list_for_each_safe (shared, following, &seen->shared, struct seen_shared, link) {
        if (nt_object && shared->name == nt_object)
            seen_free_shared(seen, shared);
    }
}

static struct seen_shared *part_of(struct seen_shared *shared, enum seen_kind kind)
{
    if (shared->kind == kind)
        return shared;
    for (unsigned i = 0; i < SEEN_MOST_PARTS; i++) {
        if (shared->parts[i] && shared->parts[i]->kind == kind)
            return shared->parts[i];
    }
    return NULL;
}

struct seen_shared *seen_find_shared(const struct seen *seen, enum seen_kind kind, uint64_t name,
                                     D3DKMT_HANDLE global)
{
    struct seen_shared *shared, *found = NULL;

    /* The last one: a global handle may be another object's that has ended. */
    list_for_each (shared, &seen->shared, struct seen_shared, link) {
        if (name && shared->name == name)
            found = part_of(shared, kind);
        else if (global && shared->kind == kind && shared->global == global)
            found = shared;
    }
    return found;
}

static struct seen_shared *new_shared(struct seen *seen, enum seen_kind kind, uint64_t name,
                                      UINT count)
{
    struct seen_shared *shared = calloc(1, sizeof *shared + count * sizeof(struct seen_body *));

    if (!shared) {
        seen->is_lost = true;
        return NULL;
    }
    shared->kind = kind;
    shared->name = name;
    list_init(&shared->sights);
    list_push_back(&seen->shared, &shared->link);
    return shared;
}

void seen_keep_shared(struct seen_shared *shared, struct seen_object *sight)
{
    sight->shared = shared;
    list_push_back(&shared->sights, &sight->shared_link);
}

void seen_keep_body(struct seen_shared *shared, struct seen_object *sight)
{
    seen_keep_shared(shared, sight);
    sight->body->users++;
    sight->body->is_shared = true;
    shared->bodies[shared->count++] = sight->body;
}

struct seen_shared *seen_share_resource(struct seen *seen, const struct client_call *call)
{
    const D3DKMT_CREATEALLOCATION *arguments = call->arguments;
    struct seen_shared *shared =
        new_shared(seen, SEEN_RESOURCE, call->nt_object, arguments->NumAllocations);

    if (!shared)
        return NULL;
    shared->global = arguments->hGlobalShare;
    shared->runtime_bytes = arguments->PrivateRuntimeDataSize;
    shared->driver_bytes = arguments->PrivateDriverDataSize;
    for (UINT i = 0; i < arguments->NumAllocations; i++)
        shared->total_bytes += arguments->pAllocationInfo2[i].PrivateDriverDataSize;
    return shared;
}

void seen_share_fence(struct seen *seen, struct seen_object *fence, uint64_t name)
{
    struct seen_shared *shared = new_shared(seen, SEEN_FENCE, name, 1);

    if (shared)
        seen_keep_body(shared, fence);
}

/* ---- Sharing --------------------------------------------------------------------------------- */

struct seen_object *seen_find_shareable(const struct seen_process *process, D3DKMT_HANDLE handle)
{
    static const enum seen_kind kinds[] = {SEEN_RESOURCE, SEEN_FENCE, SEEN_ALLOCATION,
                                           SEEN_KEYED_MUTEX};
    struct seen_object *object = NULL;

    for (size_t i = 0; !object && i < sizeof kinds / sizeof kinds[0]; i++)
        object = seen_find(process, handle, kinds[i]);
    return object;
}

/* Several of one NT handle: the mutex is there for the resource. */
static void share_together(struct seen *seen, uint64_t name, struct seen_shared *const *parts)
{
    struct seen_shared *together = new_shared(seen, SEEN_NOTHING, name, 0), *resource;

    if (!together)
        return;
    for (unsigned i = 0; i < SEEN_MOST_PARTS; i++)
        together->parts[i] = parts[i];
    resource = part_of(together, SEEN_RESOURCE);
    if (resource)
        resource->mutex = part_of(together, SEEN_KEYED_MUTEX);
}

static void shared_objects(struct seen *seen, const struct seen_process *process,
                           const struct client_call *call)
{
    const THUNK_SHARE_OBJECTS *arguments = call->arguments;
    struct seen_shared *parts[SEEN_MOST_PARTS] = {NULL};

    for (UINT i = 0; i < arguments->cObjects && i < SEEN_MOST_PARTS; i++) {
        const struct seen_object *object = seen_find_shareable(process, arguments->hObjects[i]);

        parts[i] = object ? object->shared : NULL;
    }
    if (arguments->cObjects == SEEN_MOST_PARTS)
        share_together(seen, call->nt_object, parts);
    else if (parts[0])
        parts[0]->name = call->nt_object;
}

static void opened_resource(struct seen *seen, struct seen_process *process,
                            struct seen_shared *shared, D3DKMT_HANDLE device_handle,
                            D3DKMT_HANDLE handle, const D3DDDI_OPENALLOCATIONINFO2 *infos,
                            UINT count)
{
    struct seen_object *device = seen_find(process, device_handle, SEEN_DEVICE);
    struct seen_object *resource;

    if (!shared || shared->count != count) /* what it is was not seen */
        return;
    resource = seen_add_sight(seen, process, SEEN_RESOURCE, handle, device, NULL);
    if (resource)
        seen_keep_shared(shared, resource);
    for (UINT i = 0; resource && i < count; i++) {
        struct seen_object *allocation = seen_add_sight(
            seen, process, SEEN_ALLOCATION, infos[i].hAllocation, device, shared->bodies[i]);

        if (!allocation)
            return;
        allocation->resource = resource;
        seen_keep_shared(shared, allocation);
        seen_note_private_data(allocation, infos[i].pPrivateDriverData,
                               infos[i].PrivateDriverDataSize);
    }
}

static struct seen_object *opened_fence(struct seen *seen, struct seen_process *process,
                                        uint64_t name, D3DKMT_HANDLE device, D3DKMT_HANDLE handle)
{
    struct seen_shared *shared = seen_find_shared(seen, SEEN_FENCE, name, 0);
    struct seen_object *fence =
        seen_add_sight(seen, process, SEEN_FENCE, handle, seen_find(process, device, SEEN_DEVICE),
                       shared ? shared->bodies[0] : NULL);

    if (!fence)
        return NULL;
    if (shared)
        seen_keep_shared(shared, fence);
    fence->body->is_shared = true; /* somebody has made it so, also where that was not seen */
    return fence;
}

static void opened_fence_by(struct seen *seen, struct seen_process *process, uint64_t name,
                            const D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *arguments)
{
    struct seen_object *fence =
        opened_fence(seen, process, name, arguments->hDevice, arguments->hSyncObject);

    if (!fence)
        return;
    fence->cpu_address = (uintptr_t)arguments->MonitoredFence.FenceValueCPUVirtualAddress;
    fence->va = arguments->MonitoredFence.FenceValueGPUVirtualAddress;
    fence->is_wait_only = arguments->Flags.NoSignal;
    fence->is_signal_only = arguments->Flags.NoWait;
}

/* ---- Keyed mutexes --------------------------------------------------------------------------- */

static void made_mutex(struct seen *seen, struct seen_process *process, uint64_t name,
                       D3DKMT_HANDLE global, D3DKMT_HANDLE handle)
{
    struct seen_object *mutex = seen_add_sight(seen, process, SEEN_KEYED_MUTEX, handle, NULL, NULL);
    struct seen_shared *shared = mutex ? new_shared(seen, SEEN_KEYED_MUTEX, name, 0) : NULL;

    if (!shared)
        return;
    shared->global = global;
    seen_keep_shared(shared, mutex);
}

static void opened_mutex(struct seen *seen, struct seen_process *process, uint64_t name,
                         D3DKMT_HANDLE global, D3DKMT_HANDLE handle)
{
    struct seen_shared *shared = seen_find_shared(seen, SEEN_KEYED_MUTEX, name, global);
    struct seen_object *mutex = seen_add_sight(seen, process, SEEN_KEYED_MUTEX, handle, NULL, NULL);

    if (mutex && shared)
        seen_keep_shared(shared, mutex);
}

/* A wait that was in vain is no failure (STATUS_TIMEOUT). */
static void acquired(struct seen_object *mutex, NTSTATUS status)
{
    if (mutex && status == STATUS_ABANDONED)
        mutex->is_abandoned = true;
    if (mutex && mutex->shared && status == STATUS_SUCCESS)
        mutex->shared->holder = mutex;
}

static void released(const struct seen_object *mutex)
{
    if (mutex && mutex->shared)
        mutex->shared->holder = NULL;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void opened_by_nt_handle(struct seen *seen, struct seen_process *process, uint64_t name,
                                const D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments)
{
    opened_resource(seen, process, seen_find_shared(seen, SEEN_RESOURCE, name, 0),
                    arguments->hDevice, arguments->hResource, arguments->pOpenAllocationInfo2,
                    arguments->NumAllocations);
    if (arguments->hKeyedMutex)
        opened_mutex(seen, process, name, 0, arguments->hKeyedMutex);
    if (arguments->hSyncObject)
        opened_fence(seen, process, name, arguments->hDevice, arguments->hSyncObject);
}

void seen_sharing_ended(struct seen *seen, struct seen_process *process,
                        const struct client_call *call)
{
    switch (call->function) {
    case D3DKMT_FN_ShareObjects:
        shared_objects(seen, process, call);
        break;
    case D3DKMT_FN_OpenSyncObjectFromNtHandle2:
        opened_fence_by(seen, process, call->nt_object, call->arguments);
        break;
    case D3DKMT_FN_OpenResource: {
        const D3DKMT_OPENRESOURCE *arguments = call->arguments;

        opened_resource(seen, process,
                        seen_find_shared(seen, SEEN_RESOURCE, 0, arguments->hGlobalShare),
                        arguments->hDevice, arguments->hResource, arguments->pOpenAllocationInfo2,
                        arguments->NumAllocations);
        break;
    }
    case D3DKMT_FN_OpenResourceFromNtHandle:
        opened_by_nt_handle(seen, process, call->nt_object, call->arguments);
        break;
    case D3DKMT_FN_CreateKeyedMutex: {
        const D3DKMT_CREATEKEYEDMUTEX *arguments = call->arguments;

        made_mutex(seen, process, call->nt_object, arguments->hSharedHandle,
                   arguments->hKeyedMutex);
        break;
    }
    case D3DKMT_FN_CreateKeyedMutex2: {
        const D3DKMT_CREATEKEYEDMUTEX2 *arguments = call->arguments;

        made_mutex(seen, process, call->nt_object, arguments->hSharedHandle,
                   arguments->hKeyedMutex);
        break;
    }
    case D3DKMT_FN_OpenKeyedMutex: {
        const D3DKMT_OPENKEYEDMUTEX *arguments = call->arguments;

        opened_mutex(seen, process, 0, arguments->hSharedHandle, arguments->hKeyedMutex);
        break;
    }
    case D3DKMT_FN_OpenKeyedMutex2: {
        const D3DKMT_OPENKEYEDMUTEX2 *arguments = call->arguments;

        opened_mutex(seen, process, 0, arguments->hSharedHandle, arguments->hKeyedMutex);
        break;
    }
    case D3DKMT_FN_OpenKeyedMutexFromNtHandle:
        opened_mutex(seen, process, call->nt_object, 0,
                     ((const D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *)call->arguments)->hKeyedMutex);
        break;
    case D3DKMT_FN_AcquireKeyedMutex:
    case D3DKMT_FN_AcquireKeyedMutex2: /* which begins alike */
        acquired(seen_find(process,
                           ((const D3DKMT_ACQUIREKEYEDMUTEX *)call->arguments)->hKeyedMutex,
                           SEEN_KEYED_MUTEX),
                 call->status);
        break;
    case D3DKMT_FN_ReleaseKeyedMutex:
    case D3DKMT_FN_ReleaseKeyedMutex2: /* the same */
        released(seen_find(process,
                           ((const D3DKMT_RELEASEKEYEDMUTEX *)call->arguments)->hKeyedMutex,
                           SEEN_KEYED_MUTEX));
        break;
    default:
        break;
    }
}
