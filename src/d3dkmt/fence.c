/*
 * Monitored fences: a 64-bit value in a page that the client, the front and the GPU see.
 *
 * A page has 64 fences, one in each 64 bytes, and is mapped in the address space of its process for
 * as long as one of them lives. The value is what memory says: the client may write it as the GPU
 * may, and harms only who waits for it. So the front keeps no copy, and looks whenever something
 * has happened.
 *
 * A client learns from its fences that a device is lost, so device_lose() is here.
 */
#include "d3dkmt/front.h"

#define FENCES_A_PAGE 64u
#define WORDS_A_FENCE (PAGE_SIZE_BYTES / FENCES_A_PAGE / sizeof(uint64_t))

/* ---- Pages ----------------------------------------------------------------------------------- */

static void page_mapped(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct fence_page *page = context;

    page->is_mapped = NT_SUCCESS(status);
    page->is_failed = !NT_SUCCESS(status);
}

static void free_page(struct d3dkmt_process *process, struct fence_page *page)
{
    const struct d3dkmt_board *board = &process->front->config.board;
    struct va_range *range = va_find(&process->mapped, page->va, page->va + PAGE_SIZE_BYTES);

    if (range)
        va_remove(&process->mapped, range);
    list_remove(&page->link);
    board->release_shared_page(board->context, process->client, page->page, page->client_address);
    front_free(process->front, page, sizeof *page);
}

static NTSTATUS add_page(struct d3dkmt_process *process, struct fence_page **out_page)
{
    struct d3dkmt *front = process->front;
    const struct d3dkmt_board *board = &front->config.board;
    struct fence_page *page = front_alloc(front, sizeof *page);
    void *view;
    NTSTATUS status;

    if (!page)
        return STATUS_NO_MEMORY;
    status = board->take_shared_page(board->context, process->client, &page->page, &view,
                                     &page->client_address);
    if (!NT_SUCCESS(status)) {
        front_free(front, page, sizeof *page);
        return status;
    }
    page->view = view;
    list_push_back(&process->fence_pages, &page->link);
    page->va = va_choose(process, va_fences_start(front), va_own_start(front), PAGE_SIZE_BYTES,
                         PAGE_SIZE_BYTES);
    if (!page->va ||
        !va_add(process, &process->mapped,
                &(struct va_range){.start = page->va, .end = page->va + PAGE_SIZE_BYTES})) {
        free_page(process, page);
        return STATUS_NO_MEMORY;
    }
    status = vidmm_map_physical(process->handle, page->va, 0, page->page, 1, 0, page_mapped, page);
    if (!NT_SUCCESS(status)) {
        free_page(process, page);
        return status;
    }
    *out_page = page;
    return STATUS_SUCCESS;
}

static void page_unmapped(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct fence_page *page = context;

    page->is_mapped = false;
    page->is_failed = true;
}

bool fence_pages_gone(struct d3dkmt_process *process)
{
    struct fence_page *page, *following;

    list_for_each_safe (page, following, &process->fence_pages, struct fence_page, link) {
        if (page->is_mapped && page->used != UINT64_MAX) {
            page->used = UINT64_MAX; /* it is being unmapped */
            if (!NT_SUCCESS(vidmm_unmap_physical(process->handle, page->va, PAGE_SIZE_BYTES,
                                                 page_unmapped, page)))
                page->is_failed = true;
        }
        if (page->is_failed)
            free_page(process, page);
    }
    return list_is_empty(&process->fence_pages);
}

/* ---- Fences ---------------------------------------------------------------------------------- */

NTSTATUS fence_create(struct device *device, uint64_t value, struct fence **out_fence)
{
    struct d3dkmt_process *process = device->process;
    struct fence_page *page, *found = NULL;
    struct fence *fence;
    unsigned slot;
    NTSTATUS status = STATUS_SUCCESS;

    *out_fence = NULL;
    list_for_each (page, &process->fence_pages, struct fence_page, link) {
        if (!page->is_failed && page->used != UINT64_MAX)
            found = page;
    }
    if (!found)
        status = add_page(process, &found);
    if (!NT_SUCCESS(status))
        return status;
    fence = front_alloc(process->front, sizeof *fence);
    if (!fence)
        return STATUS_NO_MEMORY;
    slot = ctz_u64(~found->used);
    found->used |= UINT64_C(1) << slot;
    fence->process = process;
    fence->device = device;
    fence->page = found;
    fence->value = found->view + slot * WORDS_A_FENCE;
    fence->client_address = found->client_address + slot * WORDS_A_FENCE * sizeof(uint64_t);
    fence->va = found->va + slot * WORDS_A_FENCE * sizeof(uint64_t);
    *fence->value = value;
    list_push_back(&device->fences, &fence->link);
    *out_fence = fence;
    return STATUS_SUCCESS;
}

void fence_set(struct fence *fence, uint64_t value)
{
    *fence->value = value;
    front_changed(fence->process->front);
}

static void free_if_unused(struct fence *fence)
{
    const uint64_t offset = fence->va - fence->page->va;

    if (!fence->is_destroyed || fence->uses)
        return;
    fence->page->used &= ~(UINT64_C(1) << offset / (WORDS_A_FENCE * sizeof(uint64_t)));
    list_remove(&fence->link);
    front_free(fence->process->front, fence, sizeof *fence);
}

void fence_unuse(struct fence *fence)
{
    fence->uses--;
    free_if_unused(fence);
}

void fence_destroy(struct fence *fence)
{
    if (fence->is_destroyed)
        return;
    fence->is_destroyed = true;
    handle_take(fence->process, &fence->object);
    free_if_unused(fence);
}

void device_lose(struct device *device, bool is_out_of_memory)
{
    struct fence *fence;

    if (device->is_lost)
        return;
    device->is_lost = true;
    device->is_out_of_memory = is_out_of_memory;
    list_for_each (fence, &device->fences, struct fence, link) {
        if (!fence->keeps_value_on_loss && !fence->is_paging)
            fence_set(fence, UINT64_MAX);
    }
    front_changed(device->process->front);
}

/* The page must be there for the GPU before the client learns of the fence. */
static bool create_again(struct d3dkmt_call *call)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments = call->arguments;
    struct fence *fence = handle_find(call->process, *(D3DKMT_HANDLE *)call->state, OBJECT_FENCE);

    if (!fence) /* another call has guessed its handle, and destroyed it */
        return call_end(call, STATUS_INVALID_HANDLE);
    if (!fence->page->is_mapped && !fence->page->is_failed)
        return false;
    if (fence->page->is_failed) {
        fence_destroy(fence);
        return call_end(call, STATUS_NO_MEMORY);
    }
    arguments->hSyncObject = fence->object.handle;
    arguments->Info.MonitoredFence.FenceValueCPUVirtualAddress =
        (VOID *)(uintptr_t)fence->client_address;
    arguments->Info.MonitoredFence.FenceValueGPUVirtualAddress = fence->va;
    return call_end(call, STATUS_SUCCESS);
}

NTSTATUS d3dkmt_CreateSynchronizationObject2(struct d3dkmt_call *call,
                                             D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments)
{
    struct d3dkmt_process *process = call->process;
    struct device *device = handle_find(process, arguments->hDevice, OBJECT_DEVICE);
    struct fence *fence;
    D3DKMT_HANDLE *state;
    NTSTATUS status;

    arguments->hSyncObject = 0;
    if (!device)
        return STATUS_INVALID_PARAMETER;
    /* One that may be shared is one like any other: nobody can open it (d3dkmt.h, Limits). */
    if (arguments->Info.Type != D3DDDI_MONITORED_FENCE || arguments->Info.Flags.CrossAdapter)
        return STATUS_NOT_SUPPORTED;
    state = front_alloc(process->front, sizeof *state);
    if (!state)
        return STATUS_NO_MEMORY;
    status = fence_create(device, arguments->Info.MonitoredFence.InitialFenceValue, &fence);
    if (!NT_SUCCESS(status))
        goto free_state;
    fence->keeps_value_on_loss = arguments->Info.Flags.NoSignalMaxValueOnTdr;
    status = handle_give(process, &fence->object, OBJECT_FENCE);
    if (!NT_SUCCESS(status)) {
        fence_destroy(fence);
        goto free_state;
    }
    *state = fence->object.handle;
    return call_wait(call, create_again, state, sizeof *state);

free_state:
    front_free(process->front, state, sizeof *state);
    return status;
}

NTSTATUS
d3dkmt_DestroySynchronizationObject(struct d3dkmt_call *call,
                                    const D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *arguments)
{
    struct fence *fence = handle_find(call->process, arguments->hSyncObject, OBJECT_FENCE);

    if (!fence || fence_is_of_queue(fence)) /* that one goes with its queue */
        return STATUS_INVALID_PARAMETER;
    event_waits_look(call->process); /* the GPU may have reached the value, and nobody has looked */
    fence_destroy(fence);
    return STATUS_SUCCESS;
}

/* ---- The CPU --------------------------------------------------------------------------------- */

struct cpu_wait {
    struct list link; /* of process->event_waits: one that holds no call up */
    uint64_t event;   /* its number there */
    NTSTATUS status;  /* STATUS_PENDING until it has ended, there */
    unsigned count;
    bool is_any;
    struct {
        D3DKMT_HANDLE handle;
        uint64_t value;
    } fences[];
};

/*
 * STATUS_PENDING: not yet. A fence that has been destroyed meanwhile is one that nobody can wait
 * for any more.
 */
static NTSTATUS look(struct d3dkmt_process *process, const struct cpu_wait *wait)
{
    unsigned reached = 0;

    for (unsigned i = 0; i < wait->count; i++) {
        const struct fence *fence = handle_find(process, wait->fences[i].handle, OBJECT_FENCE);

        if (!fence)
            return STATUS_INVALID_HANDLE;
        reached += *fence->value >= wait->fences[i].value;
    }
    return (wait->is_any ? reached > 0 : reached == wait->count) ? STATUS_SUCCESS : STATUS_PENDING;
}

static bool wait_again(struct d3dkmt_call *call)
{
    const NTSTATUS status = look(call->process, call->state);

    return status != STATUS_PENDING && call_end(call, status);
}

/* ---- Waits that hold no call up ---- */

bool event_waits_look(struct d3dkmt_process *process)
{
    struct cpu_wait *wait;
    bool did = false;

    list_for_each (wait, &process->event_waits, struct cpu_wait, link) {
        if (wait->status != STATUS_PENDING)
            continue;
        wait->status = look(process, wait);
        did |= wait->status != STATUS_PENDING;
    }
    return did;
}

static void free_event_wait(struct d3dkmt_process *process, struct cpu_wait *wait)
{
    list_remove(&wait->link);
    process->event_wait_count--;
    front_free(process->front, wait, sizeof *wait + wait->count * sizeof wait->fences[0]);
}

void event_waits_free(struct d3dkmt_process *process)
{
    struct cpu_wait *wait, *following;

    list_for_each_safe (wait, following, &process->event_waits, struct cpu_wait, link)
        free_event_wait(process, wait);
}

static struct cpu_wait *find_event_wait(struct d3dkmt_process *process, uint64_t event)
{
    struct cpu_wait *wait;

    list_for_each (wait, &process->event_waits, struct cpu_wait, link) {
        if (wait->event == event)
            return wait;
    }
    return NULL;
}

/* Two may have been told the same number: who comes second finds none. */
static bool collect_again(struct d3dkmt_call *call)
{
    struct cpu_wait *wait = find_event_wait(call->process, *(const uint64_t *)call->state);
    NTSTATUS status;

    if (!wait)
        return call_end(call, STATUS_INVALID_PARAMETER);
    status = wait->status == STATUS_PENDING ? look(call->process, wait) : wait->status;
    if (status == STATUS_PENDING)
        return false;
    free_event_wait(call->process, wait);
    return call_end(call, status);
}

static NTSTATUS collect(struct d3dkmt_call *call, uint64_t event)
{
    uint64_t *state = front_alloc(call->process->front, sizeof *state);

    if (!state)
        return STATUS_NO_MEMORY;
    *state = event;
    return call_wait(call, collect_again, state, sizeof *state);
}

/* STATUS_SUCCESS: nothing is to be waited for. */
static NTSTATUS enter_event_wait(struct d3dkmt_process *process, struct cpu_wait *wait,
                                 uint64_t event)
{
    wait->status = look(process, wait);
    if (wait->status == STATUS_PENDING && process->event_wait_count < D3DKMT_MOST_EVENT_WAITS) {
        wait->event = event;
        list_push_back(&process->event_waits, &wait->link);
        process->event_wait_count++;
        return STATUS_PENDING;
    }
    return wait->status == STATUS_PENDING ? STATUS_NO_MEMORY : wait->status;
}

NTSTATUS
d3dkmt_WaitForSynchronizationObjectFromCpu(
    struct d3dkmt_call *call, const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments)
{
    const uint64_t event = (uintptr_t)arguments->hAsyncEvent;
    const UINT count = arguments->ObjectCount;
    struct cpu_wait *wait;
    size_t bytes;

    if (event & 1)
        return collect(call, event - 1);
    if (!handle_find(call->process, arguments->hDevice, OBJECT_DEVICE) || !count ||
        count > D3DDDI_MAX_OBJECT_WAITED_ON || !arguments->ObjectHandleArray ||
        !arguments->FenceValueArray)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < count; i++) {
        if (!handle_find(call->process, arguments->ObjectHandleArray[i], OBJECT_FENCE))
            return STATUS_INVALID_PARAMETER;
    }
    bytes = sizeof *wait + count * sizeof wait->fences[0];
    wait = front_alloc(call->process->front, bytes);
    if (!wait)
        return STATUS_NO_MEMORY;
    wait->count = count;
    wait->is_any = arguments->Flags.WaitAny;
    for (UINT i = 0; i < count; i++) {
        wait->fences[i].handle = arguments->ObjectHandleArray[i];
        wait->fences[i].value = arguments->FenceValueArray[i];
    }
    if (event) {
        const NTSTATUS status = enter_event_wait(call->process, wait, event);

        if (status != STATUS_PENDING)
            front_free(call->process->front, wait, bytes);
        return status;
    }
    return call_wait(call, wait_again, wait, bytes);
}

NTSTATUS
d3dkmt_SignalSynchronizationObjectFromCpu(
    struct d3dkmt_call *call, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU *arguments)
{
    const UINT count = arguments->ObjectCount;

    if (!handle_find(call->process, arguments->hDevice, OBJECT_DEVICE) || !count ||
        count > D3DDDI_MAX_OBJECT_SIGNALED || !arguments->ObjectHandleArray ||
        !arguments->FenceValueArray)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < count; i++) {
        const struct fence *fence =
            handle_find(call->process, arguments->ObjectHandleArray[i], OBJECT_FENCE);

        if (!fence || fence_is_of_queue(fence))
            return STATUS_INVALID_PARAMETER;
    }
    for (UINT i = 0; i < count; i++)
        fence_set(handle_find(call->process, arguments->ObjectHandleArray[i], OBJECT_FENCE),
                  arguments->FenceValueArray[i]);
    event_waits_look(call->process); /* the next signal may take the value back */
    return STATUS_SUCCESS;
}
