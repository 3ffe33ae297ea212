/*
 * Monitored fences: a 64-bit value in a page that the client, the front and the GPU see.
 *
 * A page has 64 fences, one in each 64 bytes, and is mapped in the address space of its process for
 * as long as one of them lives. The value is what memory says: the client may write it as the GPU
 * may, and harms only who waits for it. So the front keeps no copy, and looks whenever something
 * has happened.
 *
 * A shared fence has a page of its own, in a file that its clients have views of; each of them has
 * it mapped for itself. When the fence is destroyed in a process, its page there goes as soon as
 * nothing of the process runs that was handed over before.
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
    if (page->shared) {
        board->end_view(board->context, process->client, page->shared->file->file,
                        page->client_address);
        shared_drop(page->shared);
    } else {
        board->release_shared_page(board->context, process->client, page->page,
                                   page->client_address);
    }
    front_free(process->front, page, sizeof *page);
}

/* Shown to the client: of a shared fence, or of the process's own. */
static NTSTATUS show_page(struct d3dkmt_process *process, struct shared *shared,
                          struct fence_page *page)
{
    const struct d3dkmt_board *board = &process->front->config.board;
    NTSTATUS status;
    void *view;

    if (!shared) {
        status = board->take_shared_page(board->context, process->client, &page->page, &view,
                                         &page->client_address);
        page->view = view;
        return status;
    }
    status = board->begin_view(board->context, process->client, shared->file->file,
                               &page->client_address);
    if (!NT_SUCCESS(status))
        return status;
    page->shared = shared;
    page->page = shared->page;
    page->view = shared->view;
    shared_keep(shared);
    return STATUS_SUCCESS;
}

static NTSTATUS add_page(struct d3dkmt_process *process, struct shared *shared,
                         struct fence_page **out_page)
{
    struct d3dkmt *front = process->front;
    struct fence_page *page = front_alloc(front, sizeof *page);
    NTSTATUS status;

    if (!page)
        return STATUS_NO_MEMORY;
    status = show_page(process, shared, page);
    if (!NT_SUCCESS(status)) {
        front_free(front, page, sizeof *page);
        return status;
    }
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

/* True: it has gone. */
static bool page_leaves(struct d3dkmt_process *process, struct fence_page *page)
{
    if (page->is_mapped && page->used != UINT64_MAX) {
        page->used = UINT64_MAX; /* it is being unmapped */
        if (!NT_SUCCESS(vidmm_unmap_physical(process->handle, page->va, PAGE_SIZE_BYTES,
                                             page_unmapped, page)))
            page->is_failed = true;
    }
    if (!page->is_failed)
        return false;
    free_page(process, page);
    return true;
}

bool fence_pages_gone(struct d3dkmt_process *process)
{
    struct fence_page *page, *following;

    list_for_each_safe (page, following, &process->fence_pages, struct fence_page, link)
        page_leaves(process, page);
    return list_is_empty(&process->fence_pages);
}

/* Something that was handed over among the first so many submissions; a context's end in order. */
static bool runs_of(const struct d3dkmt_process *process, uint64_t number)
{
    const struct device *device;
    const struct context *context;

    list_for_each (device, &process->devices, struct device, link) {
        list_for_each (context, &device->contexts, struct context, link) {
            if (!list_is_empty(&context->running) &&
                list_first_entry(&context->running, struct item, link)->number <= number)
                return true;
        }
    }
    return false;
}

static void page_begin_to_leave(const struct d3dkmt_process *process, struct fence_page *page)
{
    page->is_leaving = true;
    page->left = process->front->handed_over;
}

bool fence_pages_leave(struct d3dkmt_process *process)
{
    struct fence_page *page, *following;
    bool did = false;

    list_for_each_safe (page, following, &process->fence_pages, struct fence_page, link) {
        if (page->is_leaving && (page->used == UINT64_MAX || !runs_of(process, page->left)))
            did |= page_leaves(process, page);
    }
    return did;
}

/* ---- Fences ---------------------------------------------------------------------------------- */

/* In the first place of the page that is free. */
static NTSTATUS place_fence(struct device *device, struct fence_page *page,
                            struct fence **out_fence)
{
    struct fence *fence = front_alloc(device->process->front, sizeof *fence);
    const unsigned slot = ctz_u64(~page->used);

    if (!fence)
        return STATUS_NO_MEMORY;
    page->used |= UINT64_C(1) << slot;
    fence->process = device->process;
    fence->device = device;
    fence->page = page;
    fence->value = page->view + slot * WORDS_A_FENCE;
    fence->client_address = page->client_address + slot * WORDS_A_FENCE * sizeof(uint64_t);
    fence->va = page->va + slot * WORDS_A_FENCE * sizeof(uint64_t);
    list_push_back(&device->fences, &fence->link);
    *out_fence = fence;
    return STATUS_SUCCESS;
}

NTSTATUS fence_create(struct device *device, uint64_t value, struct fence **out_fence)
{
    struct d3dkmt_process *process = device->process;
    struct fence_page *page, *found = NULL;
    NTSTATUS status = STATUS_SUCCESS;

    *out_fence = NULL;
    list_for_each (page, &process->fence_pages, struct fence_page, link) {
        if (!page->is_failed && page->used != UINT64_MAX && !page->shared)
            found = page;
    }
    if (!found)
        status = add_page(process, NULL, &found);
    if (NT_SUCCESS(status))
        status = place_fence(device, found, out_fence);
    if (NT_SUCCESS(status))
        *(*out_fence)->value = value;
    return status;
}

NTSTATUS fence_share(struct d3dkmt_process *process, uint64_t value, struct shared **out_shared)
{
    const struct d3dkmt_board *board = &process->front->config.board;
    NTSTATUS status = shared_create(process->front, OBJECT_FENCE, out_shared);
    struct shared *shared = *out_shared;
    void *view;

    if (!NT_SUCCESS(status))
        return status;
    status = shared_file_open(process, 1, &shared->file);
    if (NT_SUCCESS(status))
        status = board->take_file_page(board->context, shared->file->file, &shared->page, &view);
    if (!NT_SUCCESS(status)) {
        shared_drop(shared);
        *out_shared = NULL;
        return status;
    }
    shared->view = view;
    *shared->view = value;
    return STATUS_SUCCESS;
}

NTSTATUS fence_open(struct device *device, struct shared *shared, struct fence **out_fence)
{
    struct fence_page *page;
    NTSTATUS status = add_page(device->process, shared, &page);

    *out_fence = NULL;
    if (!NT_SUCCESS(status))
        return status;
    status = place_fence(device, page, out_fence);
    if (!NT_SUCCESS(status))
        page_begin_to_leave(device->process, page);
    return status;
}

NTSTATUS fence_set_flags(struct fence *fence, D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags)
{
    fence->keeps_value_on_loss = flags.NoSignalMaxValueOnTdr;
    fence->is_wait_only = flags.NoSignal;
    fence->is_signal_only = flags.NoWait;
    return flags.NoSignal && flags.NoWait ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS;
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
    if (fence->page->shared)
        page_begin_to_leave(fence->process, fence->page);
    else
        fence->page->used &= ~(UINT64_C(1) << offset / (WORDS_A_FENCE * sizeof(uint64_t)));
    front_changed(fence->process->front);
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
bool fence_is_there(struct d3dkmt_process *process, D3DKMT_HANDLE handle, struct fence **out_fence,
                    NTSTATUS *out_status)
{
    struct fence *fence = handle_find(process, handle, OBJECT_FENCE);

    *out_fence = fence;
    *out_status = STATUS_SUCCESS;
    if (!fence) { /* another call has guessed its handle, and destroyed it */
        *out_status = STATUS_INVALID_HANDLE;
    } else if (fence->page->is_failed) {
        fence_destroy(fence);
        *out_status = STATUS_NO_MEMORY;
    }
    return !fence || fence->page->is_mapped || !NT_SUCCESS(*out_status);
}

static bool is_there(struct d3dkmt_call *call, struct fence **out_fence, NTSTATUS *out_status)
{
    return fence_is_there(call->process, *(D3DKMT_HANDLE *)call->state, out_fence, out_status);
}

static bool create_again(struct d3dkmt_call *call)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments = call->arguments;
    struct fence *fence;
    NTSTATUS status;

    if (!is_there(call, &fence, &status))
        return false;
    if (!NT_SUCCESS(status))
        return call_end(call, status);
    arguments->hSyncObject = fence->object.handle;
    arguments->Info.MonitoredFence.FenceValueCPUVirtualAddress =
        (VOID *)(uintptr_t)fence->client_address;
    arguments->Info.MonitoredFence.FenceValueGPUVirtualAddress = fence->va;
    return call_end(call, STATUS_SUCCESS);
}

static bool open_again(struct d3dkmt_call *call)
{
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *arguments = call->arguments;
    struct fence *fence;
    NTSTATUS status;

    if (!is_there(call, &fence, &status))
        return false;
    if (!NT_SUCCESS(status))
        return call_end(call, status);
    arguments->hSyncObject = fence->object.handle;
    arguments->MonitoredFence.FenceValueCPUVirtualAddress =
        (VOID *)(uintptr_t)fence->client_address;
    arguments->MonitoredFence.FenceValueGPUVirtualAddress = fence->va;
    return call_end(call, STATUS_SUCCESS);
}

/* The call ends when the fence, which it has made or opened, is there for the GPU. */
static NTSTATUS give_fence(struct d3dkmt_call *call, struct fence *fence,
                           D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags,
                           bool (*again)(struct d3dkmt_call *call))
{
    struct d3dkmt *front = call->process->front;
    NTSTATUS status = fence_set_flags(fence, flags);
    D3DKMT_HANDLE *state = front_alloc(front, sizeof *state);

    if (NT_SUCCESS(status))
        status =
            state ? handle_give(call->process, &fence->object, OBJECT_FENCE) : STATUS_NO_MEMORY;
    if (!NT_SUCCESS(status)) {
        fence_destroy(fence);
        front_free(front, state, sizeof *state);
        return status;
    }
    *state = fence->object.handle;
    return call_wait(call, again, state, sizeof *state);
}

/* Of flags that nobody else can open there is nothing to share (d3dkmt.h, Limits). */
static NTSTATUS create(struct d3dkmt_call *call, struct device *device,
                       const D3DDDI_SYNCHRONIZATIONOBJECTINFO2 *info, struct fence **out_fence)
{
    const uint64_t value = info->MonitoredFence.InitialFenceValue;
    struct shared *shared;
    NTSTATUS status;

    if (!info->Flags.NtSecuritySharing)
        return fence_create(device, value, out_fence);
    status = fence_share(device->process, value, &shared);
    if (!NT_SUCCESS(status))
        return status;
    call->nt_object = shared->name;
    status = fence_open(device, shared, out_fence);
    shared_drop(shared); /* its page keeps it */
    return status;
}

NTSTATUS d3dkmt_CreateSynchronizationObject2(struct d3dkmt_call *call,
                                             D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments)
{
    struct device *device = handle_find(call->process, arguments->hDevice, OBJECT_DEVICE);
    const D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags = arguments->Info.Flags;
    struct fence *fence;
    NTSTATUS status;

    arguments->hSyncObject = 0;
    if (!device)
        return STATUS_INVALID_PARAMETER;
    if (arguments->Info.Type == D3DDDI_CPU_NOTIFICATION)
        return notification_create(device, arguments);
    if (arguments->Info.Type != D3DDDI_MONITORED_FENCE || flags.CrossAdapter)
        return STATUS_NOT_SUPPORTED;
    if (flags.NtSecuritySharing && !flags.Shared)
        return STATUS_INVALID_PARAMETER;
    status = create(call, device, &arguments->Info, &fence);
    return NT_SUCCESS(status) ? give_fence(call, fence, flags, create_again) : status;
}

NTSTATUS d3dkmt_OpenSyncObjectFromNtHandle2(struct d3dkmt_call *call,
                                            D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *arguments)
{
    struct device *device = handle_find(call->process, arguments->hDevice, OBJECT_DEVICE);
    struct shared *shared = shared_find(call->process->front, OBJECT_FENCE, call->nt_object, 0);
    struct fence *fence;
    NTSTATUS status;

    arguments->hSyncObject = 0;
    if (!shared)
        return STATUS_INVALID_HANDLE;
    if (!device)
        return STATUS_INVALID_PARAMETER;
    status = fence_open(device, shared, &fence);
    return NT_SUCCESS(status) ? give_fence(call, fence, arguments->Flags, open_again) : status;
}

NTSTATUS
d3dkmt_DestroySynchronizationObject(struct d3dkmt_call *call,
                                    const D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *arguments)
{
    struct notification *notification =
        handle_find(call->process, arguments->hSyncObject, OBJECT_NOTIFICATION);
    struct fence *fence = handle_find(call->process, arguments->hSyncObject, OBJECT_FENCE);

    if (notification) {
        notification_destroy(notification);
        return STATUS_SUCCESS;
    }
    if (!fence || fence_is_of_queue(fence)) /* that one goes with its queue */
        return STATUS_INVALID_PARAMETER;
    event_waits_look(call->process); /* the GPU may have reached the value, and nobody has looked */
    fence_destroy(fence);
    return STATUS_SUCCESS;
}

/* ---- The CPU --------------------------------------------------------------------------------- */

struct cpu_wait {
    struct list link;    /* of process->event_waits: one that holds no call up */
    struct event *event; /* there */
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

static size_t bytes_of(const struct cpu_wait *wait)
{
    return sizeof *wait + wait->count * sizeof wait->fences[0];
}

static void end_event_wait(struct d3dkmt_process *process, struct cpu_wait *wait, NTSTATUS status)
{
    if (NT_SUCCESS(status))
        event_set(wait->event);
    event_leave(wait->event, status);
    list_remove(&wait->link);
    front_free(process->front, wait, bytes_of(wait));
}

bool event_waits_look(struct d3dkmt_process *process)
{
    struct cpu_wait *wait, *following;
    bool did = false;

    list_for_each_safe (wait, following, &process->event_waits, struct cpu_wait, link) {
        const NTSTATUS status = look(process, wait);

        if (status == STATUS_PENDING)
            continue;
        end_event_wait(process, wait, status);
        did = true;
    }
    return did;
}

void event_waits_end(struct d3dkmt_process *process)
{
    struct cpu_wait *wait, *following;

    list_for_each_safe (wait, following, &process->event_waits, struct cpu_wait, link)
        end_event_wait(process, wait, STATUS_CANCELLED);
}

/* STATUS_PENDING: it is entered. STATUS_SUCCESS: nothing is to be waited for. */
static NTSTATUS enter_event_wait(struct d3dkmt_process *process, struct cpu_wait *wait,
                                 uint64_t event)
{
    NTSTATUS status = look(process, wait);

    if (status != STATUS_PENDING)
        return status;
    status = event_create(process, event, &wait->event);
    if (!NT_SUCCESS(status))
        return status;
    list_push_back(&process->event_waits, &wait->link);
    return STATUS_PENDING;
}

NTSTATUS
d3dkmt_WaitForSynchronizationObjectFromCpu(
    struct d3dkmt_call *call, const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments)
{
    const uint64_t event = (uintptr_t)arguments->hAsyncEvent;
    const UINT count = arguments->ObjectCount;
    struct cpu_wait *wait;
    size_t bytes;

    if (event & 1) {
        event_waits_look(call->process);
        return event_collect(call, event - 1);
    }
    if (!handle_find(call->process, arguments->hDevice, OBJECT_DEVICE) || !count ||
        count > D3DDDI_MAX_OBJECT_WAITED_ON || !arguments->ObjectHandleArray ||
        !arguments->FenceValueArray)
        return STATUS_INVALID_PARAMETER;
    for (UINT i = 0; i < count; i++) {
        const struct fence *fence =
            handle_find(call->process, arguments->ObjectHandleArray[i], OBJECT_FENCE);

        if (!fence)
            return STATUS_INVALID_PARAMETER;
        if (!NT_SUCCESS(fence_refusal(fence, false)))
            return STATUS_ACCESS_DENIED;
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
        if (!NT_SUCCESS(fence_refusal(fence, true)))
            return STATUS_ACCESS_DENIED;
    }
    for (UINT i = 0; i < count; i++)
        fence_set(handle_find(call->process, arguments->ObjectHandleArray[i], OBJECT_FENCE),
                  arguments->FenceValueArray[i]);
    event_waits_look(call->process); /* the next signal may take the value back */
    return STATUS_SUCCESS;
}
