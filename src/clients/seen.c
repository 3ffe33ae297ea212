#include "clients/seen_own.h"

#include "base/bits.h"

#include <drydock/sgpu.h>

#include <stdlib.h>
#include <string.h>

#define MOST_BATCH_BYTES (1u << 20)

/* ---- Processes ------------------------------------------------------------------------------- */

void seen_init(struct seen *seen, const struct seen_source *source)
{
    memset(seen, 0, sizeof *seen);
    seen->source = *source;
    list_init(&seen->processes);
    list_init(&seen->bodies);
    list_init(&seen->shared);
}

/* What others go on with knows its contexts no more. */
static void forget_contexts(struct seen_process *process)
{
    struct seen_body *body;

    list_for_each (body, &process->seen->bodies, struct seen_body, link) {
        if (body->signaller && body->signaller->process == process)
            body->signaller = NULL;
        if (body->read.context && body->read.context->process == process)
            body->read.context = NULL;
        if (body->written.context && body->written.context->process == process)
            body->written.context = NULL;
    }
}

static void free_process(struct seen_process *process)
{
    struct seen_object *object, *following;

    forget_contexts(process);
    list_for_each_safe (object, following, &process->objects, struct seen_object, link)
        seen_free_object(object);
    list_for_each_safe (object, following, &process->fences, struct seen_object, link)
        seen_free_object(object);
    list_remove(&process->link);
    free(process->slots);
    free(process->mappings);
    seen_ranges_fini(&process->reserved);
    seen_ranges_fini(&process->given);
    free(process);
}

void seen_fini(struct seen *seen)
{
    struct seen_process *process, *following;
    struct seen_shared *shared, *next_shared;

    list_for_each_safe (process, following, &seen->processes, struct seen_process, link)
        free_process(process);
    list_for_each_safe (shared, next_shared, &seen->shared, struct seen_shared, link)
        seen_free_shared(seen, shared);
}

struct seen_process *seen_process_of(struct seen *seen, void *client)
{
    struct seen_process *process;

    list_for_each (process, &seen->processes, struct seen_process, link) {
        if (process->client == client)
            return process;
    }
    return NULL;
}

static struct seen_process *process_of(struct seen *seen, void *client)
{
    struct seen_process *process = seen_process_of(seen, client);

    if (process || seen->is_lost)
        return process;
    process = calloc(1, sizeof *process);
    if (!process) {
        seen->is_lost = true;
        return NULL;
    }
    process->seen = seen;
    process->client = client;
    process->number = ++seen->process_count;
    list_init(&process->objects);
    list_init(&process->fences);
    list_push_back(&seen->processes, &process->link);
    return process;
}

static struct seen_object *add(struct seen *seen, struct seen_process *process, enum seen_kind kind,
                               D3DKMT_HANDLE handle, struct seen_object *device)
{
    return seen_add_sight(seen, process, kind, handle, device, NULL);
}

static void unmap_of(struct seen_process *process, const struct seen_object *allocation)
{
    size_t kept = 0;

    for (size_t i = 0; i < process->mapping_count; i++) {
        if (process->mappings[i].allocation != allocation)
            process->mappings[kept++] = process->mappings[i];
    }
    process->mapping_count = kept;
}

/* A hardware queue ends when what runs has ended, and what waits in it is dropped. */
static void forget_queued(struct seen_object *context)
{
    memset(context->signals, 0, sizeof context->signals);
    memset(context->awaited, 0, sizeof context->awaited);
    context->next_signal = 0;
}

static void destroy(struct seen_object *object)
{
    struct seen_object *other;

    if (!object || object->is_destroyed)
        return;
    object->is_destroyed = true;
    if (object->shared && object->shared->holder == object)
        object->shared->holder = NULL;
    if (object->kind == SEEN_ALLOCATION)
        unmap_of(object->process, object);
    if (object->kind == SEEN_QUEUE || object->kind == SEEN_HW_QUEUE)
        destroy(object->fence);
    if (object->kind == SEEN_HW_QUEUE) {
        forget_queued(object->context);
        object->context->is_destroyed |= object->context->further_of != NULL;
    }
    if (object->kind != SEEN_DEVICE && object->kind != SEEN_RESOURCE && !object->is_for_hw_queues)
        return;
    list_for_each (other, &object->process->fences, struct seen_object, link) {
        if (object->kind == SEEN_DEVICE && other->device == object)
            destroy(other);
    }
    list_for_each (other, &object->process->objects, struct seen_object, link) {
        if ((object->kind == SEEN_DEVICE && other->device == object) ||
            (object->kind == SEEN_RESOURCE && other->resource == object) ||
            (other->kind == SEEN_HW_QUEUE &&
             (other->context == object || other->context->further_of == object)))
            destroy(other);
    }
}

/* ---- Mappings -------------------------------------------------------------------------------- */

const struct seen_mapping *seen_mapping_at(const struct seen_process *process, uint64_t va)
{
    size_t low = 0, high = process->mapping_count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (process->mappings[middle].end <= va)
            low = middle + 1;
        else
            high = middle;
    }
    return low < process->mapping_count && process->mappings[low].start <= va
               ? &process->mappings[low]
               : NULL;
}

static void unmap(struct seen_process *process, uint64_t start, uint64_t end)
{
    size_t kept = 0;

    for (size_t i = 0; i < process->mapping_count; i++) {
        if (process->mappings[i].start >= end || process->mappings[i].end <= start)
            process->mappings[kept++] = process->mappings[i];
    }
    process->mapping_count = kept;
}

static void map(struct seen *seen, struct seen_process *process, const struct seen_mapping *mapping)
{
    size_t at;

    unmap(process, mapping->start, mapping->end);
    if (process->mapping_count == process->mapping_room) {
        const size_t room = process->mapping_room ? process->mapping_room * 2 : 64;
        struct seen_mapping *more = realloc(process->mappings, room * sizeof *more);

        if (!more) {
            seen->is_lost = true;
            return;
        }
        process->mappings = more;
        process->mapping_room = room;
    }
    for (at = process->mapping_count; at && process->mappings[at - 1].start > mapping->start; at--)
        process->mappings[at] = process->mappings[at - 1];
    process->mappings[at] = *mapping;
    process->mapping_count++;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void created_allocations(struct seen *seen, struct seen_process *process,
                                const struct client_call *call)
{
    const D3DKMT_CREATEALLOCATION *arguments = call->arguments;
    struct seen_object *device = seen_find(process, arguments->hDevice, SEEN_DEVICE);
    struct seen_object *resource =
        arguments->Flags.CreateResource
            ? add(seen, process, SEEN_RESOURCE, arguments->hResource, device)
            : seen_find(process, arguments->hResource, SEEN_RESOURCE);
    struct seen_shared *shared =
        resource && arguments->Flags.CreateShared ? seen_share_resource(seen, call) : NULL;

    if (shared)
        seen_keep_shared(shared, resource);
    for (UINT i = 0; i < arguments->NumAllocations && !seen->is_lost; i++) {
        const D3DDDI_ALLOCATIONINFO2 *info = &arguments->pAllocationInfo2[i];
        struct seen_object *allocation =
            add(seen, process, SEEN_ALLOCATION, info->hAllocation, device);

        if (!allocation)
            return;
        allocation->resource = resource;
        allocation->client_address = (uintptr_t)info->pSystemMem;
        if (shared)
            seen_keep_body(shared, allocation);
        seen_note_private_data(allocation, info->pPrivateDriverData, info->PrivateDriverDataSize);
    }
}

static void mapped(struct seen *seen, struct seen_process *process,
                   const D3DDDI_MAPGPUVIRTUALADDRESS *arguments)
{
    struct seen_object *allocation = seen_find(process, arguments->hAllocation, SEEN_ALLOCATION);
    struct seen_object *queue = seen_find(process, arguments->hPagingQueue, SEEN_QUEUE);

    if (!allocation)
        return;
    allocation->mapped_bytes =
        max_u64(allocation->mapped_bytes,
                (arguments->OffsetInPages + arguments->SizeInPages) * UINT64_C(4096));
    seen->is_lost |= !seen_ranges_add(&process->given, arguments->VirtualAddress,
                                      arguments->VirtualAddress + arguments->SizeInPages * 4096);
    map(seen, process,
        &(struct seen_mapping){.start = arguments->VirtualAddress,
                               .end = arguments->VirtualAddress + arguments->SizeInPages * 4096,
                               .offset = arguments->OffsetInPages * 4096,
                               .allocation = allocation,
                               .is_writable = arguments->Protection.Write,
                               .value = arguments->PagingFenceValue,
                               .queue = queue});
}

static void freed_addresses(struct seen *seen, struct seen_process *process, uint64_t start,
                            uint64_t end)
{
    unmap(process, start, end);
    seen->is_lost |= !seen_ranges_remove(&process->reserved, start, end) ||
                     !seen_ranges_remove(&process->given, start, end);
}

static void made_resident(struct seen_process *process, const D3DDDI_MAKERESIDENT *arguments)
{
    struct seen_object *queue = seen_find(process, arguments->hPagingQueue, SEEN_QUEUE);

    for (UINT i = 0; i < arguments->NumAllocations; i++) {
        struct seen_object *allocation =
            seen_find(process, arguments->AllocationList[i], SEEN_ALLOCATION);

        if (!allocation)
            continue;
        allocation->is_refused = false;
        if (!allocation->references++) {
            allocation->is_reclaimed = false;
            allocation->resident_value = arguments->PagingFenceValue;
            allocation->resident_queue = queue;
        }
    }
}

static void promise(struct seen_object *fence, uint64_t value, struct seen_object *context)
{
    if (!fence)
        return;
    fence->body->promised = max_u64(fence->body->promised, value);
    fence->body->last_signal = value;
    fence->body->signaller = context;
    if (context)
        context->signals[context->next_signal++ % SEEN_SIGNALS] =
            (struct seen_signal){fence, value, context->submitted};
}

static void promise_all(struct seen_process *process, const struct seen_sync *signal)
{
    for (UINT i = 0; i < signal->count; i++)
        promise(seen_find(process, signal->handles[i], SEEN_FENCE), signal->values[i],
                signal->context);
}

struct signals {
    const struct seen_process *process;
    struct seen_object *context;
};

static void note_use(const struct signals *signals, uint64_t va)
{
    struct seen_mapping *mapping =
        (struct seen_mapping *)(uintptr_t)seen_mapping_at(signals->process, va);
    const struct seen_use use = {signals->context, signals->context->submitted};

    if (!mapping || !mapping->allocation)
        return;
    mapping->used = use;
    mapping->allocation->used = use;
}

static void note_access(void *context, const struct seen_access *access)
{
    const struct signals *signals = context;

    if (access->kind == SEEN_UNKNOWN)
        signals->context->process->has_opaque_work = true;
    if (access->kind == SEEN_SIGNAL) {
        promise(seen_fence_at(signals->process, access->destination), access->value,
                signals->context);
        return;
    }
    if (access->source)
        note_use(signals, access->source);
    if (access->destination)
        note_use(signals, access->destination);
}

static void await(struct seen_object *context, struct seen_object *fence, uint64_t value)
{
    for (unsigned i = 0; context && fence && i < SEEN_AWAITED; i++) {
        struct seen_awaited *awaited = &context->awaited[i];

        if (awaited->fence && awaited->fence != fence)
            continue;
        awaited->fence = fence;
        awaited->value = max_u64(awaited->value, value);
        return;
    }
}

/* What the CPU waits for stands in front of nothing on the GPU. */
static void await_all(const struct seen_process *process, const struct seen_sync *wait)
{
    for (UINT i = 0; wait->context && i < wait->count; i++)
        await(wait->context, seen_find(process, wait->handles[i], SEEN_FENCE), wait->values[i]);
}

static void set_event(struct seen_process *process, uint64_t event, struct seen_object *context)
{
    if (event && context)
        process->events[process->next_event++ % SEEN_EVENTS] = (struct seen_event){event, context};
}

static void set_all(struct seen_process *process, const struct seen_setting *setting)
{
    set_event(process, setting->event, setting->context);
    for (UINT i = 0; !setting->is_enqueued && i < setting->count; i++) {
        const struct seen_object *notification =
            seen_find(process, setting->handles[i], SEEN_NOTIFICATION);

        if (notification)
            set_event(process, notification->event, setting->context);
    }
}

static void submitted(struct seen *seen, struct seen_process *process, const struct seen_work *work)
{
    struct signals signals = {.process = process, .context = work->context};

    seen->submissions++;
    if (!signals.context)
        return;
    signals.context->submitted = seen->submissions;
    /* The miniport of another board may signal as well, by what private data asks it for. */
    if (!seen_walk_batch(process, work->va, work->bytes, note_access, &signals) ||
        seen->source.walk_batch)
        process->has_opaque_work = true;
    if (work->hw_queue)
        promise(work->hw_queue->fence, work->progress_id, work->context);
}

static bool has_hw_queue(const struct seen_process *process, const struct seen_object *context)
{
    const struct seen_object *object;

    list_for_each (object, &process->objects, struct seen_object, link) {
        if (object->kind == SEEN_HW_QUEUE && object->context == context && !object->is_destroyed)
            return true;
    }
    return false;
}

/* The queue is entered behind it, so that the handle is the queue's. */
static struct seen_object *add_further(struct seen *seen, struct seen_process *process,
                                       struct seen_object *first, D3DKMT_HANDLE handle)
{
    struct seen_object *context = add(seen, process, SEEN_CONTEXT, handle, first->device);

    if (!context)
        return NULL;
    context->further_of = first;
    context->node = first->node;
    context->is_for_hw_queues = true;
    return context;
}

static void created_hw_queue(struct seen *seen, struct seen_process *process,
                             const D3DKMT_CREATEHWQUEUE *arguments)
{
    struct seen_object *context = seen_find(process, arguments->hHwContext, SEEN_CONTEXT);
    struct seen_object *queue;

    if (context && has_hw_queue(process, context))
        context = add_further(seen, process, context, arguments->hHwQueue);
    if (!context)
        return;
    queue = add(seen, process, SEEN_HW_QUEUE, arguments->hHwQueue, context->device);
    if (!queue)
        return;
    queue->context = context;
    queue->fence =
        add(seen, process, SEEN_FENCE, arguments->hHwQueueProgressFence, context->device);
    if (!queue->fence)
        return;
    queue->fence->hw_queue = queue;
    queue->fence->cpu_address = (uintptr_t)arguments->HwQueueProgressFenceCPUVirtualAddress;
    queue->fence->va = arguments->HwQueueProgressFenceGPUVirtualAddress;
}

static void destroyed_allocations(struct seen_process *process,
                                  const D3DKMT_DESTROYALLOCATION2 *arguments)
{
    process->given_up++;
    if (arguments->hResource && !arguments->AllocationCount)
        destroy(seen_find(process, arguments->hResource, SEEN_RESOURCE));
    for (UINT i = 0; arguments->phAllocationList && i < arguments->AllocationCount; i++)
        destroy(seen_find(process, arguments->phAllocationList[i], SEEN_ALLOCATION));
}

static void offered(void *context, struct seen_object *allocation, UINT i)
{
    allocation->is_offered = true;
}

static void reclaimed(void *context, struct seen_object *allocation, UINT i)
{
    const D3DKMT_RECLAIMALLOCATIONS2 *arguments = context;

    allocation->is_offered = false;
    allocation->resident_value = arguments->PagingFenceValue;
    allocation->resident_queue =
        seen_find(allocation->process, arguments->hPagingQueue, SEEN_QUEUE);
    allocation->is_reclaimed = true;
    allocation->is_discarded |=
        arguments->pResults && arguments->pResults[i] == D3DDDI_RECLAIM_RESULT_DISCARDED;
}

/* device NULL: the registration is over. */
static void registered(struct seen_process *process, struct seen_object *device, const void *handle)
{
    struct seen_object **place = &process->registered[(uintptr_t)handle % SEEN_MOST_TRIM_NOTICES];

    if (*place)
        (*place)->registrations--;
    *place = device;
    if (device)
        device->registrations++;
}

static void ended(struct seen *seen, struct seen_process *process, const struct client_call *call)
{
    struct seen_object *object, *device;
    struct seen_work work;
    struct seen_setting setting;
    struct seen_sync sync;

    if (seen_work_of(process, call->function, call->arguments, &work))
        submitted(seen, process, &work);
    else if (seen_setting_of(process, call->function, call->arguments, &setting))
        set_all(process, &setting);
    else if (seen_wait_of(process, call->function, call->arguments, &sync))
        await_all(process, &sync);
    else if (seen_signal_of(process, call->function, call->arguments, &sync))
        promise_all(process, &sync);
    switch (call->function) {
    case D3DKMT_FN_OpenAdapterFromLuid:
        add(seen, process, SEEN_ADAPTER,
            ((const D3DKMT_OPENADAPTERFROMLUID *)call->arguments)->hAdapter, NULL);
        break;
    case D3DKMT_FN_CloseAdapter:
        destroy(seen_find(process, ((const D3DKMT_CLOSEADAPTER *)call->arguments)->hAdapter,
                          SEEN_ADAPTER));
        break;
    case D3DKMT_FN_CreateDevice: {
        const D3DKMT_CREATEDEVICE *arguments = call->arguments;

        add(seen, process, SEEN_DEVICE, arguments->hDevice,
            seen_find(process, arguments->hAdapter, SEEN_ADAPTER));
        break;
    }
    case D3DKMT_FN_RegisterTrimNotification:
        object =
            seen_find(process, ((const D3DKMT_REGISTERTRIMNOTIFICATION *)call->arguments)->hDevice,
                      SEEN_DEVICE);
        if (object)
            registered(process, object,
                       ((const D3DKMT_REGISTERTRIMNOTIFICATION *)call->arguments)->Handle);
        break;
    case D3DKMT_FN_UnregisterTrimNotification:
        registered(process, NULL,
                   ((const D3DKMT_UNREGISTERTRIMNOTIFICATION *)call->arguments)->Handle);
        break;
    case D3DKMT_FN_CreateContextVirtual: {
        const D3DKMT_CREATECONTEXTVIRTUAL *arguments = call->arguments;

        device = seen_find(process, arguments->hDevice, SEEN_DEVICE);
        object = add(seen, process, SEEN_CONTEXT, arguments->hContext, device);
        if (!object)
            break;
        object->node = arguments->NodeOrdinal;
        object->is_for_hw_queues = arguments->Flags.HwQueueSupported;
        break;
    }
    case D3DKMT_FN_CreateHwQueue:
        created_hw_queue(seen, process, call->arguments);
        break;
    case D3DKMT_FN_DestroyHwQueue:
        destroy(seen_find(process, ((const D3DKMT_DESTROYHWQUEUE *)call->arguments)->hHwQueue,
                          SEEN_HW_QUEUE));
        break;
    case D3DKMT_FN_CreatePagingQueue: {
        const D3DKMT_CREATEPAGINGQUEUE *arguments = call->arguments;

        device = seen_find(process, arguments->hDevice, SEEN_DEVICE);
        object = add(seen, process, SEEN_QUEUE, arguments->hPagingQueue, device);
        if (!object)
            break;
        object->fence = add(seen, process, SEEN_FENCE, arguments->hSyncObject, device);
        if (!object->fence)
            break;
        object->fence->queue = object;
        object->fence->cpu_address = (uintptr_t)arguments->FenceValueCPUVirtualAddress;
        break;
    }
    case D3DKMT_FN_CreateSynchronizationObject2: {
        const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments = call->arguments;

        device = seen_find(process, arguments->hDevice, SEEN_DEVICE);
        if (arguments->Info.Type == D3DDDI_CPU_NOTIFICATION) {
            object = add(seen, process, SEEN_NOTIFICATION, arguments->hSyncObject, device);
            if (object)
                object->event = (uintptr_t)arguments->Info.CPUNotification.Event;
        }
        if (arguments->Info.Type != D3DDDI_MONITORED_FENCE)
            break;
        object = add(seen, process, SEEN_FENCE, arguments->hSyncObject, device);
        if (!object)
            break;
        object->cpu_address = (uintptr_t)arguments->Info.MonitoredFence.FenceValueCPUVirtualAddress;
        object->va = arguments->Info.MonitoredFence.FenceValueGPUVirtualAddress;
        object->body->promised = object->body->last_signal =
            arguments->Info.MonitoredFence.InitialFenceValue;
        object->is_wait_only = arguments->Info.Flags.NoSignal;
        object->is_signal_only = arguments->Info.Flags.NoWait;
        if (arguments->Info.Flags.NtSecuritySharing)
            seen_share_fence(seen, object, call->nt_object);
        break;
    }
    case D3DKMT_FN_CreateAllocation2:
        created_allocations(seen, process, call);
        break;
    case D3DKMT_FN_MapGpuVirtualAddress:
        mapped(seen, process, call->arguments);
        break;
    case D3DKMT_FN_FreeGpuVirtualAddress: {
        const D3DKMT_FREEGPUVIRTUALADDRESS *arguments = call->arguments;

        const uint64_t start = arguments->BaseAddress & ((UINT64_C(1) << 48) - 1);

        freed_addresses(seen, process, start, start + arguments->Size);
        break;
    }
    case D3DKMT_FN_ReserveGpuVirtualAddress: {
        const D3DDDI_RESERVEGPUVIRTUALADDRESS *arguments = call->arguments;
        const uint64_t start = arguments->VirtualAddress, end = start + arguments->Size;

        seen->is_lost |= !seen_ranges_add(&process->reserved, start, end) ||
                         !seen_ranges_add(&process->given, start, end);
        break;
    }
    case D3DKMT_FN_MakeResident:
        made_resident(process, call->arguments);
        break;
    case D3DKMT_FN_Evict: {
        const D3DKMT_EVICT *arguments = call->arguments;

        process->given_up++;
        for (UINT i = 0; i < arguments->NumAllocations; i++) {
            object = seen_find(process, arguments->AllocationList[i], SEEN_ALLOCATION);
            if (object && object->references)
                object->references--;
        }
        break;
    }
    case D3DKMT_FN_Lock2: {
        const D3DKMT_LOCK2 *arguments = call->arguments;

        object = seen_find(process, arguments->hAllocation, SEEN_ALLOCATION);
        if (object) {
            object->locks++;
            object->lock_address = (uintptr_t)arguments->pData;
            object->hidden_address = 0;
        }
        break;
    }
    case D3DKMT_FN_Unlock2: {
        const D3DKMT_UNLOCK2 *arguments = call->arguments;

        object = seen_find(process, arguments->hAllocation, SEEN_ALLOCATION);
        if (object && object->locks && !--object->locks) {
            object->hidden_address = object->client_address ? 0 : object->lock_address;
            object->lock_address = 0;
        }
        break;
    }
    case D3DKMT_FN_OfferAllocations: {
        const D3DKMT_OFFERALLOCATIONS *arguments = call->arguments;

        process->given_up++;
        seen_each_named(process, arguments->NumAllocations, arguments->HandleList,
                        arguments->pResources, offered, NULL);
        break;
    }
    case D3DKMT_FN_ReclaimAllocations2: {
        D3DKMT_RECLAIMALLOCATIONS2 *arguments = call->arguments;

        seen_each_named(process, arguments->NumAllocations, arguments->HandleList,
                        arguments->pResources, reclaimed, arguments);
        break;
    }
    case D3DKMT_FN_UpdateGpuVirtualAddress: {
        const D3DKMT_UPDATEGPUVIRTUALADDRESS *arguments = call->arguments;

        promise(seen_find(process, arguments->hFenceObject, SEEN_FENCE), arguments->FenceValue + 1,
                seen_find(process, arguments->hContext, SEEN_CONTEXT));
        break;
    }
    case D3DKMT_FN_DestroyAllocation2:
        destroyed_allocations(process, call->arguments);
        break;
    case D3DKMT_FN_DestroySynchronizationObject: {
        const D3DKMT_HANDLE handle =
            ((const D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *)call->arguments)->hSyncObject;

        destroy(seen_find(process, handle, SEEN_FENCE));
        destroy(seen_find(process, handle, SEEN_NOTIFICATION));
        break;
    }
    case D3DKMT_FN_DestroyContext:
        destroy(seen_find(process, ((const D3DKMT_DESTROYCONTEXT *)call->arguments)->hContext,
                          SEEN_CONTEXT));
        break;
    case D3DKMT_FN_DestroyPagingQueue:
        destroy(seen_find(process,
                          ((const D3DDDI_DESTROYPAGINGQUEUE *)call->arguments)->hPagingQueue,
                          SEEN_QUEUE));
        break;
    case D3DKMT_FN_DestroyDevice:
        destroy(seen_find(process, ((const D3DKMT_DESTROYDEVICE *)call->arguments)->hDevice,
                          SEEN_DEVICE));
        break;
    case D3DKMT_FN_DestroyKeyedMutex:
        destroy(seen_find(process, ((const D3DKMT_DESTROYKEYEDMUTEX *)call->arguments)->hKeyedMutex,
                          SEEN_KEYED_MUTEX));
        break;
    default:
        seen_sharing_ended(seen, process, call);
        break;
    }
}

void seen_ended(struct seen *seen, void *client, const struct client_call *call)
{
    struct seen_process *process = process_of(seen, client);

    if (process && NT_SUCCESS(call->status))
        ended(seen, process, call);
}

void seen_closed(struct seen *seen, void *client)
{
    struct seen_process *process = seen_process_of(seen, client);

    if (process)
        free_process(process);
}

/* ---- Memory and work ------------------------------------------------------------------------- */

bool seen_read(const struct seen_process *process, uint64_t address, void *out, uint64_t bytes)
{
    return process->seen->source.read(process->client, address, out, bytes);
}

bool seen_is_readable(const struct seen_object *allocation)
{
    return allocation && allocation->bytes && seen_cpu_address(allocation);
}

const struct seen_object *seen_who_sees(const struct seen *seen,
                                        const struct seen_object *allocation)
{
    const struct seen_process *process;
    const struct seen_object *sight;

    if (seen_cpu_address(allocation) || !allocation->body->is_shared)
        return seen_cpu_address(allocation) ? allocation : NULL;
    list_for_each (process, &seen->processes, struct seen_process, link) {
        list_for_each (sight, &process->objects, struct seen_object, link) {
            if (sight->kind == SEEN_ALLOCATION && sight->body == allocation->body &&
                !sight->is_destroyed && seen_cpu_address(sight))
                return sight;
        }
    }
    return NULL;
}

uint64_t seen_cpu_address(const struct seen_object *allocation)
{
    return allocation->client_address ? allocation->client_address
           : allocation->locks        ? allocation->lock_address
                                      : 0;
}

static void tell_render(const struct sgpu_packet_render *packet, uint64_t bytes,
                        void (*each)(void *context, const struct seen_access *access),
                        void *context)
{
    for (uint64_t i = 0; i < packet->ref_count && sizeof *packet + (i + 1) * 32 <= bytes; i++) {
        const struct sgpu_render_ref *ref = &packet->refs[i];

        if (ref->flags & SGPU_REF_READ)
            each(context, &(struct seen_access){
                              .kind = SEEN_RENDER, .source = ref->address, .bytes = ref->bytes});
        if (ref->flags & SGPU_REF_WRITE)
            each(context, &(struct seen_access){.kind = SEEN_RENDER,
                                                .destination = ref->address,
                                                .bytes = ref->bytes});
    }
}

static void tell_packet(const uint64_t *words, uint64_t bytes,
                        void (*each)(void *context, const struct seen_access *access),
                        void *context)
{
    const void *packet = words;

    switch (SGPU_PACKET_OPCODE((uint32_t)words[0])) {
    case SGPU_OP_COPY: {
        const struct sgpu_packet_copy *copy = packet;

        if (bytes < sizeof *copy)
            return;
        each(context, &(struct seen_access){.kind = SEEN_COPY,
                                            .source = copy->source,
                                            .destination = copy->destination,
                                            .bytes = copy->bytes});
        return;
    }
    case SGPU_OP_FILL: {
        const struct sgpu_packet_fill *fill = packet;

        if (bytes < sizeof *fill)
            return;
        each(context, &(struct seen_access){.kind = SEEN_FILL,
                                            .destination = fill->destination,
                                            .bytes = fill->bytes,
                                            .value = fill->pattern});
        return;
    }
    case SGPU_OP_FENCE: {
        const struct sgpu_packet_fence *fence = packet;

        if (bytes < sizeof *fence)
            return;
        each(context, &(struct seen_access){.kind = SEEN_SIGNAL,
                                            .destination = fence->address,
                                            .bytes = 8,
                                            .value = fence->value});
        return;
    }
    case SGPU_OP_RENDER:
        if (bytes >= sizeof(struct sgpu_packet_render))
            tell_render(packet, bytes, each, context);
        return;
    case SGPU_OP_NOP:
    case SGPU_OP_TOUCH:
        return;
    default:
        each(context, &(struct seen_access){.kind = SEEN_UNKNOWN});
    }
}

/* A walk by the board's model. */
struct model_walk {
    const struct seen_process *process;
    void (*each)(void *context, const struct seen_access *access);
    void *context;
};

static bool read_for_model(void *context, uint64_t va, void *out, uint64_t bytes)
{
    const struct model_walk *walk = context;
    const struct seen_mapping *mapping = seen_mapping_at(walk->process, va);
    const uint64_t address =
        mapping && mapping->allocation ? seen_cpu_address(mapping->allocation) : 0;

    return address && bytes <= mapping->end - va &&
           seen_read(walk->process, address + mapping->offset + (va - mapping->start), out, bytes);
}

/* What is written where a fence has its value is a signal. */
static void tell_of_model(void *context, const struct drydock_gpu_access *access)
{
    static const enum seen_access_kind kinds[] = {[DRYDOCK_GPU_COPY] = SEEN_COPY,
                                                  [DRYDOCK_GPU_FILL] = SEEN_FILL,
                                                  [DRYDOCK_GPU_READ] = SEEN_RENDER,
                                                  [DRYDOCK_GPU_WRITE] = SEEN_RENDER,
                                                  [DRYDOCK_GPU_UNKNOWN] = SEEN_UNKNOWN};
    const struct model_walk *walk = context;
    struct seen_access seen = {
        .kind = (size_t)access->kind < ARRAY_COUNT(kinds) ? kinds[access->kind] : SEEN_UNKNOWN,
        .source = access->from,
        .destination = access->to,
        .bytes = access->bytes,
        .value = access->value};

    if (access->kind == DRYDOCK_GPU_WRITE && seen_fence_at(walk->process, access->to))
        seen.kind = access->value ? SEEN_SIGNAL : SEEN_UNKNOWN;
    walk->each(walk->context, &seen);
}

bool seen_walk_batch(const struct seen_process *process, uint64_t va, uint64_t bytes,
                     void (*each)(void *context, const struct seen_access *access), void *context)
{
    const struct seen_mapping *mapping;
    uint64_t *words, at, address;
    bool is_whole;

    va &= (UINT64_C(1) << 48) - 1;
    if (process->seen->source.walk_batch) {
        struct model_walk walk = {process, each, context};

        return process->seen->source.walk_batch(process->seen->source.context, va, bytes,
                                                &(struct drydock_gpu_walk){.context = &walk,
                                                                           .read = read_for_model,
                                                                           .each = tell_of_model});
    }
    mapping = seen_mapping_at(process, va);
    address = mapping && seen_is_readable(mapping->allocation)
                  ? seen_cpu_address(mapping->allocation)
                  : 0;
    if (!address || !bytes || bytes > MOST_BATCH_BYTES || bytes > mapping->end - va)
        return false;
    words = malloc(align_up(bytes, 8) + 8);
    if (!words)
        return false;
    address += mapping->offset + (va - mapping->start);
    is_whole = seen_read(process, address, words, bytes);
    for (at = 0; is_whole && at + 8 <= bytes;) {
        const uint64_t size = UINT64_C(4) * SGPU_PACKET_WORDS((uint32_t)words[at / 8]);

        is_whole = size >= 8 && size % 8 == 0 && size <= bytes - at;
        if (is_whole)
            tell_packet(words + at / 8, size, each, context);
        at += size;
    }
    free(words);
    return is_whole;
}
