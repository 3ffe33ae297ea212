/*
 * Residency: references to allocations, paging fences and priorities.
 *
 * A request that finds no room is starved: it is asked for again when somebody has given up
 * something, oldest first. Who cannot go on without (CantTrimFurther, MustSucceed) gets
 * STATUS_PENDING for it at once. When nothing more happens, the embedder gives the oldest up
 * (d3dkmt_give_up()), and its device is lost.
 *
 * A paging queue numbers what it was asked for. The manager's requests end in its own order, and
 * mappings beside them; the fence goes up to the last number before which nothing is left.
 */
#include "d3dkmt/front.h"

/* ---- Paging queues --------------------------------------------------------------------------- */

static size_t operation_bytes(unsigned count)
{
    const struct paging_operation *operation = NULL;

    return sizeof *operation +
           count * (sizeof *operation->allocations + sizeof *operation->handles);
}

NTSTATUS paging_begin_for(struct device *device, unsigned count,
                          struct paging_operation **out_operation)
{
    struct paging_operation *operation =
        front_alloc(device->process->front, operation_bytes(count));

    *out_operation = operation;
    if (!operation)
        return STATUS_NO_MEMORY;
    operation->process = device->process;
    operation->device = device;
    operation->count = operation->room = count;
    operation->handles = (struct vidmm_allocation **)(operation->allocations + count);
    list_init(&operation->link);
    list_init(&operation->starved_link);
    return STATUS_SUCCESS;
}

NTSTATUS paging_begin(struct paging_queue *queue, unsigned count,
                      struct paging_operation **out_operation)
{
    NTSTATUS status = paging_begin_for(queue->device, count, out_operation);

    if (NT_SUCCESS(status))
        (*out_operation)->queue = queue;
    return status;
}

void paging_drop(struct paging_operation *operation)
{
    struct d3dkmt *front = operation->process->front;

    list_remove(&operation->link);
    front_free(front, operation, operation_bytes(operation->room));
}

/* An operation has ended: it goes with those in front of it, or at once where no client waits. */
static void advance(struct paging_operation *ended)
{
    struct paging_queue *queue = ended->queue;

    if (!queue) {
        paging_drop(ended);
        return;
    }
    while (!list_is_empty(&queue->operations)) {
        struct paging_operation *first =
            container_of(queue->operations.next, struct paging_operation, link);

        if (!first->has_ended)
            return;
        fence_set(queue->fence, first->value);
        paging_drop(first);
    }
}

uint64_t paging_commit(struct paging_operation *operation)
{
    struct paging_queue *queue = operation->queue;
    const uint64_t value = ++queue->last_value;

    operation->value = value;
    list_push_back(&queue->operations, &operation->link);
    operation->process->pending++;
    return value;
}

void allocation_evict(struct allocation *allocation, unsigned count)
{
    const unsigned demoted = (unsigned)min_u64(count, allocation->demoted);

    allocation->residency -= count;
    /* Of those the manager has none. */
    allocation->demoted -= demoted;
    allocation->device->demoted -= demoted;
    if (demoted)
        front_changed(allocation->process->front);
    allocation_give_back(allocation, count - demoted);
}

void allocation_give_back(struct allocation *allocation, unsigned count)
{
    allocation->process->front->releases += count;
    while (count-- > 0) {
        front_tell(allocation->process->front,
                   &(struct d3dkmt_deed){.kind = D3DKMT_DEED_EVICT,
                                         .device = allocation->device->handle,
                                         .count = 1,
                                         .allocations = &allocation->handle});
        vidmm_evict(allocation->device->handle, 1, &allocation->handle);
    }
}

/* References of a request that has failed are gone in the manager. */
static void references_failed(struct paging_operation *operation)
{
    for (unsigned i = 0; i < operation->count; i++) {
        struct allocation *allocation = operation->allocations[i];

        if (operation->is_restore)
            continue; /* they are the client's, and stay demoted */
        allocation->residency--;
        if (allocation->evict_later)
            allocation->evict_later--;
    }
}

/* What had been demoted is there again; the device goes on with the last of it. */
static void references_restored(struct paging_operation *operation)
{
    for (unsigned i = 0; i < operation->count; i++) {
        operation->allocations[i]->demoted--;
        operation->device->demoted--;
    }
}

static void requests_ended(struct paging_operation *operation)
{
    if (operation->makes_way) { /* they may have other memory now */
        operation->process->front->releases++;
        front_changed(operation->process->front);
    }
    for (unsigned i = 0; i < operation->count; i++) {
        struct allocation *allocation = operation->allocations[i];
        const unsigned later = allocation->evict_later;

        if (--allocation->requests || !later)
            continue;
        allocation->evict_later = 0;
        allocation_evict(allocation, later);
    }
}

/* In the line of the starved, which is in the order of their numbers. */
static void take_place(struct paging_operation *operation)
{
    struct list *at = operation->process->front->starved.prev;

    while (at != &operation->process->front->starved &&
           container_of(at, struct paging_operation, starved_link)->starved_number >
               operation->starved_number)
        at = at->prev;
    list_insert_after(at, &operation->starved_link);
}

static void starve(struct paging_operation *operation)
{
    struct d3dkmt *front = operation->process->front;

    operation->has_ended = false;
    operation->releases = front->releases;
    if (!operation->was_starved)
        operation->starved_number = ++front->statistics.starved_requests;
    operation->was_starved = true;
    take_place(operation);
}

/* Of a mapping that is being made; NULL: its allocation is destroyed, or it is none. */
static struct va_range *mapped_range(const struct paging_operation *operation)
{
    struct va_range *range = operation->mapped_va
                                 ? va_find(&operation->process->mapped, operation->mapped_va,
                                           operation->mapped_va + PAGE_SIZE_BYTES)
                                 : NULL;

    return range && range->mapping == operation ? range : NULL;
}

static bool may_starve(const struct paging_operation *operation, NTSTATUS status)
{
    return (operation->count || mapped_range(operation)) &&
           status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && !operation->device->object.is_going &&
           !operation->is_given_up;
}

static void paging_end(struct paging_operation *operation)
{
    struct d3dkmt_process *process = operation->process;
    const NTSTATUS status = operation->status;
    struct va_range *range = mapped_range(operation);
    const bool is_wanted = operation->count || range || operation->reclaimed;

    if (range && !may_starve(operation, status)) {
        range->mapping = NULL;
        if (!NT_SUCCESS(status))
            va_remove(&process->mapped, range);
    }
    if (operation->count || operation->reclaimed)
        front_tell(process->front,
                   &(struct d3dkmt_deed){.kind = D3DKMT_DEED_RESIDENT,
                                         .device = operation->device->handle,
                                         .count = operation->reclaimed ? 1 : operation->count,
                                         .allocations = operation->reclaimed ? &operation->reclaimed
                                                                             : operation->handles,
                                         .status = status,
                                         .fence = operation->manager_value,
                                         .is_reclaim = operation->reclaimed != NULL});
    if (may_starve(operation, status)) {
        starve(operation);
        return;
    }
    if (NT_SUCCESS(status) && operation->is_restore)
        references_restored(operation);
    if (!NT_SUCCESS(status)) {
        references_failed(operation);
        /* The client has been told that it would be there. */
        if (is_wanted && !operation->device->object.is_going && status != STATUS_CANCELLED)
            device_lose(operation->device, true);
    }
    requests_ended(operation);
    process->pending--;
    front_changed(process->front);
    advance(operation);
}

void paging_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct paging_operation *operation = context;

    operation->has_ended = true;
    operation->status = status;
    if (!operation->is_asking)
        paging_end(operation);
}

/* ---- MakeResident, Evict --------------------------------------------------------------------- */

/* The allocations that handles name, of the device; all or none. */
static NTSTATUS find_allocations(struct d3dkmt_process *process, const struct device *device,
                                 UINT count, const D3DKMT_HANDLE *handles,
                                 struct allocation **out_allocations)
{
    for (UINT i = 0; i < count; i++) {
        out_allocations[i] = handle_find(process, handles[i], OBJECT_ALLOCATION);
        if (!out_allocations[i] || out_allocations[i]->device != device)
            return STATUS_INVALID_PARAMETER;
    }
    return STATUS_SUCCESS;
}

static NTSTATUS ask(struct paging_operation *operation, bool is_within_budget,
                    uint64_t *out_bytes_to_trim)
{
    struct vidmm_device *device = operation->device->handle;
    NTSTATUS status;

    *out_bytes_to_trim = 0;
    operation->is_asking = true;
    status = is_within_budget
                 ? vidmm_make_resident_in_budget(device, operation->count, operation->handles,
                                                 paging_done, operation, &operation->manager_value,
                                                 out_bytes_to_trim)
                 : vidmm_make_resident(device, operation->count, operation->handles, paging_done,
                                       operation, &operation->manager_value);
    operation->is_asking = false;
    front_tell(operation->process->front,
               &(struct d3dkmt_deed){.kind = D3DKMT_DEED_MAKE_RESIDENT,
                                     .device = device,
                                     .count = operation->count,
                                     .allocations = operation->handles,
                                     .status = status,
                                     .fence = operation->manager_value,
                                     .is_within_budget = is_within_budget,
                                     .bytes_to_trim = *out_bytes_to_trim});
    return status;
}

/* The answer to what was asked; the operation is over, or goes on. */
void paging_answered(struct paging_operation *operation, NTSTATUS status)
{
    struct va_range *range;

    if (status == STATUS_PENDING) {
        if (operation->has_ended) /* from inside of the call */
            paging_end(operation);
        return;
    }
    if (may_starve(operation, status)) {
        starve(operation);
        return;
    }
    range = mapped_range(operation);
    if (range)
        va_remove(&operation->process->mapped, range);
    if (NT_SUCCESS(status) && operation->is_restore)
        references_restored(operation);
    if (!NT_SUCCESS(status)) {
        references_failed(operation);
        if (operation->was_starved && !operation->device->object.is_going)
            device_lose(operation->device, true);
    }
    requests_ended(operation);
    operation->has_ended = true;
    operation->process->pending--;
    advance(operation);
}

void paging_wait_for_room(struct paging_operation *operation)
{
    operation->process->pending++;
    starve(operation);
}

/* Destroyed, but for queued work of its device, which may use it. */
static bool is_still_used(const struct allocation *allocation)
{
    return !allocation->is_destroyed ||
           (allocation->waits_for_queues && device_has_queued(allocation->device));
}

/*
 * What a client has destroyed or evicted meanwhile is not taken again. The manager is asked for the
 * rest, and at the end of it the allocations that go can go.
 */
static void shrink_restore(struct paging_operation *operation)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < operation->count; i++) {
        struct allocation *allocation = operation->allocations[i];

        if (is_still_used(allocation) && !allocation->evict_later) {
            operation->allocations[kept] = allocation;
            operation->handles[kept++] = allocation->handle;
            continue;
        }
        allocation->demoted--;
        operation->device->demoted--;
        allocation->residency--;
        allocation->requests--;
        if (allocation->evict_later)
            allocation->evict_later--;
    }
    if (operation->count != kept)
        front_changed(operation->process->front);
    operation->count = kept;
}

/* Something that it names is destroyed, or its device: nobody waits for it any more. */
static bool is_pointless(const struct paging_operation *operation)
{
    const struct va_range *range;

    if (operation->is_restore)
        return operation->device->object.is_going || !operation->count;
    for (unsigned i = 0; i < operation->count; i++) {
        if (operation->allocations[i]->is_destroyed)
            return true;
    }
    range = mapped_range(operation);
    return operation->device->object.is_going ||
           (operation->mapped_va && (!range || range->allocation->is_destroyed));
}

static NTSTATUS map_again(struct paging_operation *operation)
{
    NTSTATUS status;
    uint64_t va;

    operation->map.allocation = mapped_range(operation)->allocation->handle;
    operation->is_asking = true;
    status = vidmm_map_gpu_va(operation->process->handle, &operation->map, &va);
    operation->is_asking = false;
    return NT_SUCCESS(status) ? STATUS_PENDING : status;
}

bool starved_pump(struct d3dkmt *front)
{
    struct paging_operation *operation, *following;
    uint64_t bytes_to_trim;
    bool did = false;

    list_for_each_safe (operation, following, &front->starved, struct paging_operation,
                        starved_link) {
        if (operation->is_restore)
            shrink_restore(operation);
        if (is_pointless(operation)) {
            list_remove(&operation->starved_link);
            operation->is_given_up = true;
            operation->was_starved = false; /* no device is lost by it */
            paging_answered(operation, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
        } else if (operation->releases != front->releases) {
            list_remove(&operation->starved_link);
            paging_answered(operation, operation->mapped_va
                                           ? map_again(operation)
                                           : ask(operation, false, &bytes_to_trim));
        } else {
            continue;
        }
        did = true;
    }
    return did;
}

static struct paging_operation *oldest_starved(const struct d3dkmt *front)
{
    return list_is_empty(&front->starved)
               ? NULL
               : container_of(front->starved.next, struct paging_operation, starved_link);
}

uint64_t d3dkmt_oldest_starved(const struct d3dkmt *front)
{
    const struct paging_operation *operation = oldest_starved(front);

    return operation ? operation->starved_number : 0;
}

uint64_t d3dkmt_releases(const struct d3dkmt *front)
{
    return front->releases;
}

bool d3dkmt_give_up(struct d3dkmt *front)
{
    struct paging_operation *operation = oldest_starved(front);

    if (!operation)
        return false;
    list_remove(&operation->starved_link);
    operation->is_given_up = true;
    paging_answered(operation, STATUS_GRAPHICS_NO_VIDEO_MEMORY);
    return true;
}

NTSTATUS d3dkmt_MakeResident(struct d3dkmt_call *call, D3DDDI_MAKERESIDENT *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct paging_queue *queue = handle_find(process, arguments->hPagingQueue, OBJECT_PAGING_QUEUE);
    const UINT count = arguments->NumAllocations;
    const bool is_within_budget =
        !arguments->Flags.MustSucceed && !arguments->Flags.CantTrimFurther;
    struct paging_operation *operation;
    bool is_starved;
    NTSTATUS status;

    arguments->PagingFenceValue = 0;
    arguments->NumBytesToTrim = 0;
    if (!queue || !count || count > MOST_LIST || !arguments->AllocationList)
        return STATUS_INVALID_PARAMETER;
    status = paging_begin(queue, count, &operation);
    if (!NT_SUCCESS(status))
        return status;
    status = find_allocations(process, queue->device, count, arguments->AllocationList,
                              operation->allocations);
    if (!NT_SUCCESS(status)) {
        paging_drop(operation);
        return status;
    }
    for (UINT i = 0; i < count; i++) {
        operation->handles[i] = operation->allocations[i]->handle;
        operation->allocations[i]->residency++;
        operation->allocations[i]->requests++;
    }
    /* Numbered before the manager is asked, which cannot end it before this function goes on. */
    arguments->PagingFenceValue = paging_commit(operation);
    paging_make_way(operation);
    operation->is_given_up = is_within_budget; /* which is told to trim instead */
    status = ask(operation, is_within_budget, &arguments->NumBytesToTrim);
    is_starved = !is_within_budget && may_starve(operation, status);
    if (status == STATUS_PENDING)
        operation->is_given_up = false;
    paging_answered(operation, status);
    if (is_starved)
        return STATUS_PENDING;
    if (!NT_SUCCESS(status)) {
        process->front->statistics.refused_residency++;
        arguments->PagingFenceValue = 0;
    }
    return status;
}

static void give_up(struct allocation *allocation)
{
    if (allocation->requests) {
        allocation->evict_later++;
        return;
    }
    allocation_evict(allocation, 1);
}

NTSTATUS d3dkmt_Evict(struct d3dkmt_call *call, D3DKMT_EVICT *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    const UINT count = arguments->NumAllocations;
    struct allocation **allocations;
    NTSTATUS status;

    arguments->NumBytesToTrim = 0;
    if (!device || !count || count > MOST_LIST || !arguments->AllocationList)
        return STATUS_INVALID_PARAMETER;
    allocations = base_alloc_array(process->front->services, count, sizeof(struct allocation *));
    if (!allocations)
        return STATUS_NO_MEMORY;
    status = find_allocations(process, device, count, arguments->AllocationList, allocations);
    /* A list may name one as often as it has references. */
    for (UINT i = 0; i < count && NT_SUCCESS(status); i++)
        allocations[i]->named = 0;
    for (UINT i = 0; i < count && NT_SUCCESS(status); i++) {
        if (++allocations[i]->named + allocations[i]->evict_later > allocations[i]->residency)
            status = STATUS_INVALID_PARAMETER;
    }
    for (UINT i = 0; i < count && NT_SUCCESS(status); i++)
        give_up(allocations[i]);
    base_free_array(process->front->services, allocations, count, sizeof(struct allocation *));
    return status;
}

/* ---- Priorities ------------------------------------------------------------------------------ */

NTSTATUS d3dkmt_SetAllocationPriority(struct d3dkmt_call *call,
                                      const D3DKMT_SETALLOCATIONPRIORITY *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    NTSTATUS status = STATUS_SUCCESS;

    if (!device || !arguments->pPriorities)
        return STATUS_INVALID_PARAMETER;
    if (arguments->hResource && !arguments->AllocationCount) {
        const struct resource *resource =
            handle_find(process, arguments->hResource, OBJECT_RESOURCE);
        const struct allocation *allocation;

        if (!resource || resource->device != device)
            return STATUS_INVALID_PARAMETER;
        list_for_each (allocation, &resource->allocations, struct allocation, resource_link) {
            if (NT_SUCCESS(status) && !allocation->is_destroyed)
                status = vidmm_set_priority(allocation->handle, arguments->pPriorities[0]);
        }
        return status;
    }
    if (!arguments->AllocationCount || arguments->AllocationCount > MOST_LIST ||
        !arguments->phAllocationList)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < arguments->AllocationCount; i++) {
        const struct allocation *allocation =
            handle_find(process, arguments->phAllocationList[i], OBJECT_ALLOCATION);

        if (!allocation || allocation->device != device)
            return STATUS_INVALID_PARAMETER;
    }
    for (UINT i = 0; i < arguments->AllocationCount && NT_SUCCESS(status); i++) {
        const struct allocation *allocation =
            handle_find(process, arguments->phAllocationList[i], OBJECT_ALLOCATION);

        status = vidmm_set_priority(allocation->handle, arguments->pPriorities[i]);
    }
    return status;
}
