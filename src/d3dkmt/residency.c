/*
 * Residency: references to allocations, paging fences, priorities and budgets.
 *
 * A paging queue numbers what it was asked for. The manager's requests end in its own order, and
 * mappings beside them; the fence goes up to the last number before which nothing is left.
 */
#include "d3dkmt/front.h"

/* ---- Paging queues --------------------------------------------------------------------------- */

NTSTATUS paging_begin(struct paging_queue *queue, unsigned count,
                      struct paging_operation **out_operation)
{
    struct paging_operation *operation = front_alloc(
        queue->device->process->front, sizeof *operation + count * sizeof *operation->allocations);

    *out_operation = operation;
    if (!operation)
        return STATUS_NO_MEMORY;
    operation->queue = queue;
    operation->process = queue->device->process;
    operation->device = queue->device;
    operation->count = count;
    list_init(&operation->link);
    return STATUS_SUCCESS;
}

void paging_drop(struct paging_operation *operation)
{
    struct d3dkmt *front = operation->process->front;

    list_remove(&operation->link);
    front_free(front, operation,
               sizeof *operation + operation->count * sizeof *operation->allocations);
}

static void advance(struct paging_queue *queue)
{
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

/* References of a request that has failed are gone in the manager. */
static void references_failed(struct paging_operation *operation)
{
    for (unsigned i = 0; i < operation->count; i++) {
        struct allocation *allocation = operation->allocations[i];

        allocation->residency--;
        if (allocation->evict_later)
            allocation->evict_later--;
    }
}

static void requests_ended(struct paging_operation *operation)
{
    for (unsigned i = 0; i < operation->count; i++) {
        struct allocation *allocation = operation->allocations[i];
        unsigned later = allocation->evict_later;

        if (--allocation->requests || !later)
            continue;
        allocation->evict_later = 0;
        allocation->residency -= later;
        while (later-- > 0)
            vidmm_evict(allocation->device->handle, 1, &allocation->handle);
    }
}

void paging_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct paging_operation *operation = context;
    struct d3dkmt_process *process = operation->process;
    struct va_range *range = operation->mapped_va ? va_find(&process->mapped, operation->mapped_va,
                                                            operation->mapped_va + PAGE_SIZE_BYTES)
                                                  : NULL;

    if (range && range->mapping == operation) {
        range->mapping = NULL;
        if (!NT_SUCCESS(status))
            va_remove(&process->mapped, range);
    }
    if (!NT_SUCCESS(status)) {
        references_failed(operation);
        /* The client has been told that it would be there. */
        if (!operation->device->object.is_going && status != STATUS_CANCELLED)
            device_lose(operation->device, true);
    }
    requests_ended(operation);
    operation->has_ended = true;
    operation->status = status;
    process->pending--;
    front_changed(process->front);
    advance(operation->queue);
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

static NTSTATUS ask(struct paging_operation *operation, D3DDDI_MAKERESIDENT *arguments,
                    struct vidmm_allocation **handles)
{
    struct vidmm_device *device = operation->device->handle;
    uint64_t value;

    arguments->NumBytesToTrim = 0;
    if (arguments->Flags.MustSucceed)
        return vidmm_make_resident_or_fail(device, operation->count, handles, paging_done,
                                           operation, &value);
    if (arguments->Flags.CantTrimFurther)
        return vidmm_make_resident(device, operation->count, handles, paging_done, operation,
                                   &value);
    return vidmm_make_resident_in_budget(device, operation->count, handles, paging_done, operation,
                                         &value, &arguments->NumBytesToTrim);
}

NTSTATUS d3dkmt_MakeResident(struct d3dkmt_call *call, D3DDDI_MAKERESIDENT *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct d3dkmt *front = process->front;
    struct paging_queue *queue = handle_find(process, arguments->hPagingQueue, OBJECT_PAGING_QUEUE);
    const UINT count = arguments->NumAllocations;
    struct vidmm_allocation **handles;
    struct paging_operation *operation;
    NTSTATUS status;

    arguments->PagingFenceValue = 0;
    arguments->NumBytesToTrim = 0;
    if (!queue || !count || count > MOST_LIST || !arguments->AllocationList)
        return STATUS_INVALID_PARAMETER;
    status = paging_begin(queue, count, &operation);
    if (!NT_SUCCESS(status))
        return status;
    handles = base_alloc_array(front->services, count, sizeof(struct vidmm_allocation *));
    status = handles ? find_allocations(process, queue->device, count, arguments->AllocationList,
                                        operation->allocations)
                     : STATUS_NO_MEMORY;
    if (!NT_SUCCESS(status)) {
        paging_drop(operation);
        goto free_handles;
    }
    for (UINT i = 0; i < count; i++) {
        handles[i] = operation->allocations[i]->handle;
        operation->allocations[i]->residency++;
        operation->allocations[i]->requests++;
    }
    /* Committed before the manager is asked, which may end it from inside of the call. */
    arguments->PagingFenceValue = paging_commit(operation);
    status = ask(operation, arguments, handles);
    if (status != STATUS_PENDING) {
        const bool is_refused = !NT_SUCCESS(status);

        if (is_refused)
            references_failed(operation);
        requests_ended(operation);
        operation->has_ended = true;
        process->pending--;
        advance(queue);
        front->statistics.refused_residency += is_refused;
        if (is_refused)
            arguments->PagingFenceValue = 0;
    }

free_handles:
    base_free_array(front->services, handles, count, sizeof(struct vidmm_allocation *));
    return status;
}

static void give_up(struct allocation *allocation)
{
    if (allocation->requests) {
        allocation->evict_later++;
        return;
    }
    allocation->residency--;
    vidmm_evict(allocation->device->handle, 1, &allocation->handle);
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
    for (UINT i = 0; i < count && NT_SUCCESS(status); i++) {
        unsigned named = 0;

        for (UINT k = 0; k < count && allocations[i]->residency < count; k++)
            named += allocations[k] == allocations[i];
        if (named + allocations[i]->evict_later > allocations[i]->residency ||
            !allocations[i]->residency)
            status = STATUS_INVALID_PARAMETER;
    }
    for (UINT i = 0; i < count && NT_SUCCESS(status); i++)
        give_up(allocations[i]);
    base_free_array(process->front->services, allocations, count, sizeof(struct allocation *));
    return status;
}

/* ---- Priorities, budgets --------------------------------------------------------------------- */

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

NTSTATUS d3dkmt_QueryVideoMemoryInfo(struct d3dkmt_call *call,
                                     D3DKMT_QUERYVIDEOMEMORYINFO *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct vidmm_budget_info info;
    uint64_t size = 0;

    if (!handle_find(process, arguments->hAdapter, OBJECT_ADAPTER) ||
        arguments->PhysicalAdapterIndex || arguments->hProcess ||
        (arguments->MemorySegmentGroup != D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL &&
         arguments->MemorySegmentGroup != D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL))
        return STATUS_INVALID_PARAMETER;
    vidmm_budget_info(process->handle,
                      arguments->MemorySegmentGroup == D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL
                          ? VIDMM_BUDGET_LOCAL
                          : VIDMM_BUDGET_NON_LOCAL,
                      &info);
    for (unsigned id = 1; id <= vidmm_segment_count(process->front->config.vidmm); id++) {
        struct vidmm_segment_info segment;

        vidmm_segment_info(process->front->config.vidmm, id, &segment);
        if (segment.is_aperture ==
            (arguments->MemorySegmentGroup == D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL))
            size += segment.size;
    }
    arguments->Budget = info.budget ? info.budget : size;
    arguments->CurrentUsage = info.resident;
    arguments->CurrentReservation = 0;
    arguments->AvailableForReservation = 0;
    return STATUS_SUCCESS;
}
