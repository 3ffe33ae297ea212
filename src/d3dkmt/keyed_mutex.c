/*
 * Keyed mutexes: a mutex that is acquired for a key, and released to one.
 *
 * It is free for one key at a time, that of its creation or of the last release. A handle holds it;
 * two handles of one process are two, and a handle that acquires again what it holds waits, as
 * anybody does. Who waits for one key has it in the order of the calls. Beside the mutex lie the
 * fence value and the private data of the last release, for who acquires it.
 *
 * When the handle goes that holds it, with its process or before, the mutex is abandoned for good:
 * nobody knows how far the work has come that it orders.
 */
#include "d3dkmt/front.h"

#include <string.h>

/* ---- Private data ---------------------------------------------------------------------------- */

static NTSTATUS check_data(const struct private_data *data)
{
    if (data->bytes && !data->data)
        return STATUS_INVALID_PARAMETER;
    return data->bytes > MOST_PRIVATE_DATA ? STATUS_NO_MEMORY : STATUS_SUCCESS;
}

/* Without data the mutex keeps what it has. STATUS_NO_MEMORY: it does, too. */
static NTSTATUS give_data(struct shared *shared, const struct private_data *data)
{
    void *copy;

    if (!data->bytes)
        return STATUS_SUCCESS;
    copy = front_alloc(shared->front, data->bytes);
    if (!copy)
        return STATUS_NO_MEMORY;
    memcpy(copy, data->data, data->bytes);
    front_free(shared->front, shared->runtime_data, shared->runtime_bytes);
    shared->runtime_data = copy;
    shared->runtime_bytes = data->bytes;
    return STATUS_SUCCESS;
}

/* ---- Handles --------------------------------------------------------------------------------- */

NTSTATUS keyed_mutex_open(struct d3dkmt_process *process, struct shared *shared,
                          const struct private_data *initial, D3DKMT_HANDLE *out_handle)
{
    struct keyed_mutex *mutex;
    NTSTATUS status = check_data(initial);

    *out_handle = 0;
    if (!NT_SUCCESS(status))
        return status;
    mutex = front_alloc(process->front, sizeof *mutex);
    if (!mutex)
        return STATUS_NO_MEMORY;
    status = handle_give(process, &mutex->object, OBJECT_KEYED_MUTEX);
    if (!NT_SUCCESS(status))
        goto free_mutex;
    if (!shared->runtime_bytes)
        status = give_data(shared, initial);
    if (!NT_SUCCESS(status))
        goto take_handle;
    mutex->process = process;
    mutex->shared = shared;
    shared_keep(shared);
    list_push_back(&process->keyed_mutexes, &mutex->link);
    *out_handle = mutex->object.handle;
    return STATUS_SUCCESS;

take_handle:
    handle_take(process, &mutex->object);
free_mutex:
    front_free(process->front, mutex, sizeof *mutex);
    return status;
}

void keyed_mutex_close(struct keyed_mutex *mutex)
{
    struct d3dkmt_process *process = mutex->process;
    struct shared *shared = mutex->shared;

    if (shared->holder == mutex) {
        shared->holder = NULL;
        shared->is_abandoned = true;
        front_changed(process->front);
    }
    handle_take(process, &mutex->object);
    list_remove(&mutex->link);
    shared_drop(shared);
    front_free(process->front, mutex, sizeof *mutex);
}

void keyed_mutexes_close(struct d3dkmt_process *process)
{
    while (!list_is_empty(&process->keyed_mutexes))
        keyed_mutex_close(list_first_entry(&process->keyed_mutexes, struct keyed_mutex, link));
}

static NTSTATUS create(struct d3dkmt_call *call, UINT64 key, bool is_by_nt_handles,
                       const struct private_data *data, D3DKMT_HANDLE *out_global,
                       D3DKMT_HANDLE *out_handle)
{
    struct shared *shared;
    NTSTATUS status;

    *out_global = *out_handle = 0;
    status = shared_create(call->process->front, OBJECT_KEYED_MUTEX, &shared);
    if (!NT_SUCCESS(status))
        return status;
    shared->key = key;
    if (!is_by_nt_handles)
        shared_give_global(shared);
    status = keyed_mutex_open(call->process, shared, data, out_handle);
    if (NT_SUCCESS(status)) {
        *out_global = shared->global;
        call->nt_object = shared->name;
    }
    shared_drop(shared); /* the handle keeps it */
    return status;
}

NTSTATUS d3dkmt_CreateKeyedMutex(struct d3dkmt_call *call, D3DKMT_CREATEKEYEDMUTEX *arguments)
{
    return create(call, arguments->InitialValue, false, &(struct private_data){0},
                  &arguments->hSharedHandle, &arguments->hKeyedMutex);
}

NTSTATUS d3dkmt_CreateKeyedMutex2(struct d3dkmt_call *call, D3DKMT_CREATEKEYEDMUTEX2 *arguments)
{
    return create(
        call, arguments->InitialValue, arguments->Flags.NtSecuritySharing,
        &(struct private_data){arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize},
        &arguments->hSharedHandle, &arguments->hKeyedMutex);
}

static NTSTATUS open_global(struct d3dkmt_call *call, D3DKMT_HANDLE global,
                            const struct private_data *data, D3DKMT_HANDLE *out_handle)
{
    struct shared *shared = shared_find(call->process->front, OBJECT_KEYED_MUTEX, 0, global);

    *out_handle = 0;
    return shared ? keyed_mutex_open(call->process, shared, data, out_handle)
                  : STATUS_INVALID_PARAMETER;
}

NTSTATUS d3dkmt_OpenKeyedMutex(struct d3dkmt_call *call, D3DKMT_OPENKEYEDMUTEX *arguments)
{
    return open_global(call, arguments->hSharedHandle, &(struct private_data){0},
                       &arguments->hKeyedMutex);
}

NTSTATUS d3dkmt_OpenKeyedMutex2(struct d3dkmt_call *call, D3DKMT_OPENKEYEDMUTEX2 *arguments)
{
    return open_global(
        call, arguments->hSharedHandle,
        &(struct private_data){arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize},
        &arguments->hKeyedMutex);
}

NTSTATUS d3dkmt_OpenKeyedMutexFromNtHandle(struct d3dkmt_call *call,
                                           D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *arguments)
{
    struct shared *shared =
        shared_find(call->process->front, OBJECT_KEYED_MUTEX, call->nt_object, 0);

    arguments->hKeyedMutex = 0;
    if (!shared)
        return STATUS_INVALID_HANDLE;
    return keyed_mutex_open(
        call->process, shared,
        &(struct private_data){arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize},
        &arguments->hKeyedMutex);
}

NTSTATUS d3dkmt_DestroyKeyedMutex(struct d3dkmt_call *call,
                                  const D3DKMT_DESTROYKEYEDMUTEX *arguments)
{
    struct keyed_mutex *mutex =
        handle_find(call->process, arguments->hKeyedMutex, OBJECT_KEYED_MUTEX);

    if (!mutex)
        return STATUS_INVALID_PARAMETER;
    keyed_mutex_close(mutex);
    return STATUS_SUCCESS;
}

/* ---- Acquiring ------------------------------------------------------------------------------- */

/* What both forms have. */
struct acquisition {
    D3DKMT_HANDLE handle;
    UINT64 key, *fence_value;
    const LARGE_INTEGER *timeout;
    struct private_data room;
};

static struct acquisition acquisition_of(const struct d3dkmt_call *call)
{
    if (call->function == D3DKMT_FN_AcquireKeyedMutex2) {
        D3DKMT_ACQUIREKEYEDMUTEX2 *arguments = call->arguments;

        return (struct acquisition){
            arguments->hKeyedMutex,
            arguments->Key,
            &arguments->FenceValue,
            arguments->pTimeout,
            {arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize}};
    }
    D3DKMT_ACQUIREKEYEDMUTEX *arguments = call->arguments;

    return (struct acquisition){
        arguments->hKeyedMutex, arguments->Key, &arguments->FenceValue, arguments->pTimeout, {0}};
}

/* It is free for the key. Where the data has no room it stays so. */
static NTSTATUS take(struct keyed_mutex *mutex, const struct acquisition *acquisition)
{
    struct shared *shared = mutex->shared;

    if (acquisition->room.data && acquisition->room.bytes < shared->runtime_bytes)
        return STATUS_INVALID_PARAMETER;
    if (acquisition->room.data && shared->runtime_bytes)
        memcpy(acquisition->room.data, shared->runtime_data, shared->runtime_bytes);
    *acquisition->fence_value = shared->fence_value;
    shared->holder = mutex;
    return STATUS_SUCCESS;
}

static bool acquire_again(struct d3dkmt_call *call)
{
    const struct acquisition acquisition = acquisition_of(call);
    struct keyed_mutex *mutex = handle_find(call->process, acquisition.handle, OBJECT_KEYED_MUTEX);
    const struct shared *shared = mutex ? mutex->shared : NULL;

    if (!mutex) /* another call has destroyed it */
        return call_end(call, STATUS_INVALID_HANDLE);
    if (call->is_deserted)
        return call_end(call, STATUS_CANCELLED);
    if (shared->is_abandoned)
        return call_end(call, STATUS_ABANDONED);
    if (!shared->holder && shared->key == acquisition.key)
        return call_end(call, take(mutex, &acquisition));
    return call_is_late(call) && call_end(call, STATUS_TIMEOUT);
}

static NTSTATUS acquire(struct d3dkmt_call *call)
{
    const struct acquisition acquisition = acquisition_of(call);
    const NTSTATUS status = check_data(&acquisition.room);

    *acquisition.fence_value = 0;
    if (!handle_find(call->process, acquisition.handle, OBJECT_KEYED_MUTEX))
        return STATUS_INVALID_PARAMETER;
    if (!NT_SUCCESS(status))
        return status;
    if (acquisition.timeout)
        call_end_by(call, acquisition.timeout->QuadPart);
    return call_wait(call, acquire_again, NULL, 0);
}

NTSTATUS d3dkmt_AcquireKeyedMutex(struct d3dkmt_call *call, D3DKMT_ACQUIREKEYEDMUTEX *arguments)
{
    return acquire(call);
}

NTSTATUS d3dkmt_AcquireKeyedMutex2(struct d3dkmt_call *call, D3DKMT_ACQUIREKEYEDMUTEX2 *arguments)
{
    return acquire(call);
}

/* ---- Releasing ------------------------------------------------------------------------------- */

static NTSTATUS release(struct d3dkmt_call *call, D3DKMT_HANDLE handle, UINT64 key,
                        UINT64 fence_value, const struct private_data *data)
{
    struct keyed_mutex *mutex = handle_find(call->process, handle, OBJECT_KEYED_MUTEX);
    NTSTATUS status = check_data(data);

    if (!mutex || mutex->shared->holder != mutex)
        return STATUS_INVALID_PARAMETER;
    if (NT_SUCCESS(status))
        status = give_data(mutex->shared, data);
    if (!NT_SUCCESS(status))
        return status;
    mutex->shared->key = key;
    mutex->shared->fence_value = fence_value;
    mutex->shared->holder = NULL;
    return STATUS_SUCCESS;
}

NTSTATUS d3dkmt_ReleaseKeyedMutex(struct d3dkmt_call *call, D3DKMT_RELEASEKEYEDMUTEX *arguments)
{
    return release(call, arguments->hKeyedMutex, arguments->Key, arguments->FenceValue,
                   &(struct private_data){0});
}

NTSTATUS d3dkmt_ReleaseKeyedMutex2(struct d3dkmt_call *call, D3DKMT_RELEASEKEYEDMUTEX2 *arguments)
{
    return release(
        call, arguments->hKeyedMutex, arguments->Key, arguments->FenceValue,
        &(struct private_data){arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize});
}
