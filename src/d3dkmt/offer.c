/*
 * Offer and reclaim.
 *
 * Each allocation that is reclaimed is an operation of the paging queue of its own: the fence that
 * the client is told stands behind all of them.
 */
#include "d3dkmt/front.h"

/*
 * The allocations that a list of handles or of resources names, in its order. A handle that is none
 * is NULL in the list. On failure there is no list.
 */
static NTSTATUS collect(struct d3dkmt_process *process, const struct device *device, UINT count,
                        const D3DKMT_HANDLE *handles, const D3DKMT_HANDLE *resources,
                        struct allocation ***out_list, UINT *out_count)
{
    struct allocation **list, *allocation;
    UINT found = 0;

    *out_list = NULL;
    if (!count || count > MOST_LIST || !handles == !resources)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; resources && i < count; i++) {
        const struct resource *resource = handle_find(process, resources[i], OBJECT_RESOURCE);

        if (!resource || resource->device != device)
            return STATUS_INVALID_PARAMETER;
        list_for_each (allocation, &resource->allocations, struct allocation, resource_link)
            found += !allocation->is_destroyed;
    }
    *out_count = handles ? count : found;
    if (!*out_count || *out_count > MOST_LIST)
        return STATUS_INVALID_PARAMETER;
    list = base_alloc_array(process->front->services, *out_count, sizeof(struct allocation *));
    if (!list)
        return STATUS_NO_MEMORY;
    found = 0;
    for (UINT i = 0; i < count; i++) {
        if (handles) {
            list[found++] = handle_find(process, handles[i], OBJECT_ALLOCATION);
            continue;
        }
        list_for_each (
            allocation,
            &((struct resource *)handle_find(process, resources[i], OBJECT_RESOURCE))->allocations,
            struct allocation, resource_link) {
            if (!allocation->is_destroyed && found < *out_count)
                list[found++] = allocation;
        }
    }
    *out_list = list;
    return STATUS_SUCCESS;
}

static void free_list(struct d3dkmt *front, struct allocation **list, UINT count)
{
    if (list)
        base_free_array(front->services, list, count, sizeof(struct allocation *));
}

/* All of the device, each once, offered or not. */
static bool are_all(struct allocation *const *list, UINT count, const struct device *device,
                    bool is_offered)
{
    for (UINT i = 0; i < count; i++) {
        if (!list[i] || list[i]->device != device || list[i]->is_offered != is_offered ||
            (!is_offered && allocation_is_had_by_others(list[i])))
            return false;
        list[i]->named = 0;
    }
    for (UINT i = 0; i < count; i++) {
        if (list[i]->named++)
            return false;
    }
    return true;
}

static bool find_priority(D3DKMT_OFFER_PRIORITY wanted, enum vidmm_offer_priority *out_priority)
{
    switch (wanted) {
    case D3DKMT_OFFER_PRIORITY_LOW:
        *out_priority = VIDMM_OFFER_LOW;
        return true;
    case D3DKMT_OFFER_PRIORITY_NORMAL:
    case D3DKMT_OFFER_PRIORITY_AUTO: /* the manager's own choice */
        *out_priority = VIDMM_OFFER_NORMAL;
        return true;
    case D3DKMT_OFFER_PRIORITY_HIGH:
        *out_priority = VIDMM_OFFER_HIGH;
        return true;
    default:
        return false;
    }
}

static NTSTATUS offer(const struct device *device, struct allocation **list, UINT count,
                      enum vidmm_offer_priority priority)
{
    struct d3dkmt *front = device->process->front;
    struct vidmm_allocation **handles =
        base_alloc_array(front->services, count, sizeof(struct vidmm_allocation *));
    NTSTATUS status;

    if (!handles)
        return STATUS_NO_MEMORY;
    for (UINT i = 0; i < count; i++)
        handles[i] = list[i]->handle;
    status = vidmm_offer(device->handle, count, handles, priority);
    for (UINT i = 0; i < count; i++) {
        list[i]->is_offered = NT_SUCCESS(status);
        front_tell(front, &(struct d3dkmt_deed){.kind = D3DKMT_DEED_OFFER,
                                                .count = 1,
                                                .allocations = &handles[i],
                                                .status = status,
                                                .priority = (unsigned)priority});
    }
    base_free_array(front->services, handles, count, sizeof(struct vidmm_allocation *));
    front->releases++;
    return status;
}

NTSTATUS d3dkmt_OfferAllocations(struct d3dkmt_call *call, const D3DKMT_OFFERALLOCATIONS *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    enum vidmm_offer_priority priority;
    struct allocation **list;
    UINT count;
    NTSTATUS status;

    if (!device || !find_priority(arguments->Priority, &priority))
        return STATUS_INVALID_PARAMETER;
    if (device->is_lost)
        return STATUS_DEVICE_REMOVED;
    status = collect(process, device, arguments->NumAllocations, arguments->HandleList,
                     arguments->pResources, &list, &count);
    if (!NT_SUCCESS(status))
        return status;
    status = are_all(list, count, device, false) ? offer(device, list, count, priority)
                                                 : STATUS_INVALID_PARAMETER;
    free_list(process->front, list, count);
    return status;
}

/* ---- Reclaiming ------------------------------------------------------------------------------ */

static NTSTATUS reclaim_one(struct paging_queue *queue, struct allocation *allocation,
                            enum vidmm_reclaim_result *out_result, uint64_t *out_value)
{
    struct d3dkmt *front = allocation->process->front;
    struct paging_operation *operation;
    uint64_t fence = 0;
    NTSTATUS status = paging_begin(queue, 0, &operation);

    if (!NT_SUCCESS(status))
        return status;
    operation->reclaimed = allocation->handle;
    operation->is_asking = true;
    *out_value = paging_commit(operation);
    status = vidmm_reclaim(allocation->device->handle, 1, &allocation->handle, out_result,
                           paging_done, operation, &fence);
    operation->manager_value = fence;
    operation->is_asking = false;
    front_tell(front, &(struct d3dkmt_deed){.kind = D3DKMT_DEED_RECLAIM,
                                            .device = allocation->device->handle,
                                            .count = 1,
                                            .allocations = &allocation->handle,
                                            .status = status,
                                            .fence = fence,
                                            .result = *out_result});
    allocation->is_offered = !NT_SUCCESS(status) || *out_result == VIDMM_RECLAIM_NOT_COMMITTED;
    paging_answered(operation, status);
    return status;
}

static NTSTATUS reclaim(struct paging_queue *queue, struct allocation **list, UINT count,
                        D3DKMT_RECLAIMALLOCATIONS2 *arguments)
{
    bool is_pending = false;
    NTSTATUS status = STATUS_SUCCESS;

    for (UINT i = 0, at = 0; i < count && NT_SUCCESS(status); i++) {
        enum vidmm_reclaim_result result = VIDMM_RECLAIM_NOT_COMMITTED;

        status = reclaim_one(queue, list[i], &result, &arguments->PagingFenceValue);
        is_pending |= status == STATUS_PENDING;
        if (!arguments->pResults || !NT_SUCCESS(status))
            continue;
        /* Of a resource: the worst of its allocations, which stand in the order of the list. */
        if (arguments->HandleList)
            at = i;
        while (arguments->pResources &&
               arguments->pResources[at] != list[i]->resource->object.handle)
            at++;
        if (arguments->pResults[at] < (D3DDDI_RECLAIM_RESULT)result)
            arguments->pResults[at] = (D3DDDI_RECLAIM_RESULT)result;
    }
    return NT_SUCCESS(status) && is_pending ? STATUS_PENDING : status;
}

NTSTATUS d3dkmt_ReclaimAllocations2(struct d3dkmt_call *call, D3DKMT_RECLAIMALLOCATIONS2 *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct paging_queue *queue = handle_find(process, arguments->hPagingQueue, OBJECT_PAGING_QUEUE);
    struct allocation **list;
    UINT count;
    NTSTATUS status;

    arguments->PagingFenceValue = 0;
    if (!queue)
        return STATUS_INVALID_PARAMETER;
    if (queue->device->is_lost)
        return STATUS_DEVICE_REMOVED;
    status = collect(process, queue->device, arguments->NumAllocations, arguments->HandleList,
                     arguments->pResources, &list, &count);
    if (!NT_SUCCESS(status))
        return status;
    for (UINT i = 0; arguments->pResults && i < arguments->NumAllocations; i++)
        arguments->pResults[i] = D3DDDI_RECLAIM_RESULT_OK;
    status = are_all(list, count, queue->device, true) ? reclaim(queue, list, count, arguments)
                                                       : STATUS_INVALID_PARAMETER;
    free_list(process->front, list, count);
    if (!NT_SUCCESS(status))
        arguments->PagingFenceValue = 0;
    return status;
}
