/*
 * Calls for GPU virtual addresses: reserve, map, free.
 *
 * What is freed is no longer in the lists (range.c) at once. Its entries go by the manager's
 * operations, so a call that wants the same addresses again waits for these.
 */
#include "d3dkmt/front.h"

#define VA_LIMIT  (UINT64_C(1) << 48)
#define ALIGNMENT UINT64_C(0x10000) /* of addresses that the front chooses */

/* ---- Limits of a call ------------------------------------------------------------------------ */

/* False: base and limits say nothing lawful. With a base low is it, and high its end. */
static bool window_of(const struct d3dkmt *front, uint64_t base, uint64_t minimum, uint64_t maximum,
                      uint64_t bytes, uint64_t *out_low, uint64_t *out_high)
{
    uint64_t end;

    *out_low = base ? base : minimum ? minimum : va_own_start(front);
    *out_high = base ? 0 : maximum ? maximum : va_own_end(front);
    if (!bytes || bytes % PAGE_SIZE_BYTES || base % PAGE_SIZE_BYTES ||
        !add_u64_checked(*out_low, bytes, &end) || end > VA_LIMIT)
        return false;
    if (base)
        *out_high = end;
    else if (!maximum && minimum)
        *out_high = VA_LIMIT;
    else if (maximum && !minimum)
        *out_low = ALIGNMENT;
    return *out_high <= VA_LIMIT && end <= *out_high;
}

/* Addresses come signed or cut to 48 bits. */
static uint64_t plain(uint64_t address)
{
    return address >> 47 == 0x1ffff ? address & (VA_LIMIT - 1) : address;
}

/* ---- Reserve, free --------------------------------------------------------------------------- */

NTSTATUS d3dkmt_ReserveGpuVirtualAddress(struct d3dkmt_call *call,
                                         D3DDDI_RESERVEGPUVIRTUALADDRESS *arguments)
{
    struct d3dkmt_process *process = call->process;
    const uint64_t bytes = arguments->Size, base = plain(arguments->BaseAddress);
    uint64_t low, high;

    arguments->VirtualAddress = 0;
    arguments->PagingFenceValue = 0;
    /* The first member was a paging queue below WDDM 2.2, and is an adapter since. */
    if (!handle_find(process, arguments->hAdapter, OBJECT_ADAPTER) &&
        !handle_find(process, arguments->hPagingQueue, OBJECT_PAGING_QUEUE))
        return STATUS_INVALID_PARAMETER;
    if (!window_of(process->front, base, plain(arguments->MinimumAddress),
                   plain(arguments->MaximumAddress), bytes, &low, &high))
        return STATUS_INVALID_PARAMETER;
    if (!base)
        low = va_choose(process, low, high, bytes, ALIGNMENT);
    else if (va_find(&process->reserved, low, high) || va_find(&process->mapped, low, high))
        return STATUS_INVALID_PARAMETER;
    if (!low ||
        !va_add(process, &process->reserved, &(struct va_range){.start = low, .end = low + bytes}))
        return STATUS_NO_MEMORY;
    arguments->VirtualAddress = low;
    return STATUS_SUCCESS;
}

static bool free_again(struct d3dkmt_call *call)
{
    const D3DKMT_FREEGPUVIRTUALADDRESS *arguments = call->arguments;
    const uint64_t start = plain(arguments->BaseAddress);

    return va_unmap(call->process, start, start + arguments->Size, NULL) &&
           call_end(call, STATUS_SUCCESS);
}

NTSTATUS d3dkmt_FreeGpuVirtualAddress(struct d3dkmt_call *call,
                                      const D3DKMT_FREEGPUVIRTUALADDRESS *arguments)
{
    struct d3dkmt_process *process = call->process;
    const uint64_t start = plain(arguments->BaseAddress);
    struct va_range *range;
    uint64_t end;

    if (!handle_find(process, arguments->hAdapter, OBJECT_ADAPTER) || !arguments->Size ||
        arguments->Size % PAGE_SIZE_BYTES || start % PAGE_SIZE_BYTES ||
        !add_u64_checked(start, arguments->Size, &end) || end > VA_LIMIT)
        return STATUS_INVALID_PARAMETER;
    range = va_find(&process->reserved, start, end);
    if (range && range->start >= start && range->end <= end)
        va_remove(&process->reserved, range);
    else if (!va_find(&process->mapped, start, end))
        return STATUS_INVALID_PARAMETER; /* nothing is there */
    return call_wait(call, free_again, NULL, 0);
}

/* ---- Map ------------------------------------------------------------------------------------- */

static bool is_inside(const struct allocation *allocation, uint64_t offset, uint64_t count)
{
    const uint64_t pages = allocation->bytes / PAGE_SIZE_BYTES;

    return count && offset < pages && count <= pages - offset;
}

/*
 * The range of an allocation that is destroyed here, and that others have: it is closed when its
 * device's queues are empty, which may wait for this very client. What runs uses the addresses;
 * what is queued does not any more, who wants them again says so. False: not yet.
 */
static bool clear_range(struct d3dkmt_process *process, const struct va_range *range)
{
    return !device_runs(range->allocation->device) &&
           va_unmap(process, range->start, range->end, range->allocation);
}

/* The manager says that the range is taken: entries of what was there are on their way out. */
static bool map_again(struct d3dkmt_call *call)
{
    D3DDDI_MAPGPUVIRTUALADDRESS *arguments = call->arguments;
    struct d3dkmt_process *process = call->process;
    struct paging_queue *queue = handle_find(process, arguments->hPagingQueue, OBJECT_PAGING_QUEUE);
    struct allocation *allocation = handle_find(process, arguments->hAllocation, OBJECT_ALLOCATION);
    const uint64_t bytes = arguments->SizeInPages * PAGE_SIZE_BYTES;
    const uint64_t base = plain(arguments->BaseAddress);
    const bool was_idle = !process->front->has_changed && !process->pending &&
                          vidmm_is_idle(process->front->config.vidmm);
    struct paging_operation *operation;
    uint64_t low, high, va;
    struct va_range *range = NULL;
    NTSTATUS status;

    if (!queue || !allocation || allocation->device != queue->device)
        return call_end(call, STATUS_INVALID_HANDLE);
    if (!is_inside(allocation, arguments->OffsetInPages, arguments->SizeInPages))
        return call_end(call, STATUS_INVALID_PARAMETER);
    if (!window_of(process->front, base, plain(arguments->MinimumAddress),
                   plain(arguments->MaximumAddress), bytes, &low, &high))
        return call_end(call, STATUS_INVALID_PARAMETER);
    if (!base)
        low = va_choose(process, low, high, bytes, ALIGNMENT);
    else
        range = va_find(&process->mapped, low, high);
    while (range && range->allocation && range->allocation->is_destroyed) {
        if (!clear_range(process, range))
            return false;
        range = va_find(&process->mapped, low, high);
    }
    if (range)
        return call_end(call, STATUS_INVALID_PARAMETER);
    if (!low)
        return call_end(call, STATUS_NO_MEMORY);
    status = paging_begin(queue, 0, &operation);
    if (!NT_SUCCESS(status))
        return call_end(call, status);
    operation->mapped_va = low;
    if (!va_add(process, &process->mapped,
                &(struct va_range){.start = low,
                                   .end = low + bytes,
                                   .allocation = allocation,
                                   .mapping = operation})) {
        paging_drop(operation);
        return call_end(call, STATUS_NO_MEMORY);
    }
    arguments->PagingFenceValue = paging_commit(operation);
    operation->map = (struct vidmm_map_request){
        .allocation = allocation->handle,
        .offset = arguments->OffsetInPages * PAGE_SIZE_BYTES,
        .bytes = bytes,
        .va = low,
        .protect = arguments->Protection.Write ? 0 : VIDMM_PROTECT_READ_ONLY,
        .driver_protection = arguments->DriverProtection & ~VIDMM_UNIQUE_PROTECTION,
        .done = paging_done,
        .context = operation,
    };
    status = vidmm_map_gpu_va(process->handle, &operation->map, &va);
    if (NT_SUCCESS(status)) {
        arguments->VirtualAddress = low;
        return call_end(call, STATUS_PENDING);
    }
    arguments->PagingFenceValue = 0;
    range = va_find(&process->mapped, low, low + bytes);
    va_remove(&process->mapped, range);
    process->pending--;
    queue->last_value--; /* nobody has seen it */
    paging_drop(operation);
    if (status == STATUS_RESOURCE_IN_USE && !was_idle)
        return false;
    return call_end(call, status == STATUS_RESOURCE_IN_USE ? STATUS_INVALID_PARAMETER : status);
}

NTSTATUS d3dkmt_MapGpuVirtualAddress(struct d3dkmt_call *call,
                                     D3DDDI_MAPGPUVIRTUALADDRESS *arguments)
{
    struct d3dkmt_process *process = call->process;
    const struct paging_queue *queue =
        handle_find(process, arguments->hPagingQueue, OBJECT_PAGING_QUEUE);
    const struct allocation *allocation =
        handle_find(process, arguments->hAllocation, OBJECT_ALLOCATION);

    arguments->VirtualAddress = 0;
    arguments->PagingFenceValue = 0;
    if (!queue || !allocation || allocation->device != queue->device ||
        arguments->Protection.NoAccess || arguments->Protection.Zero)
        return STATUS_INVALID_PARAMETER;
    return call_wait(call, map_again, NULL, 0);
}
