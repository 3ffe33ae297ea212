/*
 * Processes, and the order in which everything of a process goes.
 *
 * What goes when a process is closed: queued items; then, when the GPU has done what was handed
 * over, allocations, contexts, fences; then, when the manager is idle, devices and the address
 * space. No work of anybody is handed over from the moment on in which only that idleness is
 * missing: so it comes.
 *
 * Of a process that has made what others still have, that much stays: its process of the manager's.
 */
#include "d3dkmt/front.h"

NTSTATUS d3dkmt_process_create(struct d3dkmt *front, void *client,
                               struct d3dkmt_process **out_process)
{
    struct d3dkmt_process *process;
    NTSTATUS status;

    *out_process = NULL;
    process = front_alloc(front, sizeof *process);
    if (!process)
        return STATUS_NO_MEMORY;
    process->front = front;
    process->client = client;
    list_init(&process->devices);
    list_init(&process->fence_pages);
    list_init(&process->event_waits);
    list_init(&process->events);
    list_init(&process->keyed_mutexes);
    status = vidmm_process_create(front->config.vidmm, &process->handle);
    if (!NT_SUCCESS(status)) {
        front_free(front, process, sizeof *process);
        return status;
    }
    list_push_back(&front->processes, &process->link);
    front->statistics.processes++;
    *out_process = process;
    return STATUS_SUCCESS;
}

static void cancel_calls(struct d3dkmt_process *process)
{
    struct d3dkmt *front = process->front;
    struct d3dkmt_call *call, *following;

    list_for_each_safe (call, following, &front->waiting, struct d3dkmt_call, link) {
        if (call->process != process)
            continue;
        list_remove(&call->link);
        front_free(front, call->state, call->state_bytes);
        call->state = NULL;
        call->status = STATUS_CANCELLED;
        call->ended(call);
    }
}

void d3dkmt_process_close(struct d3dkmt_process *process, void (*gone)(void *context),
                          void *context)
{
    struct device *device;

    if (process->is_closed)
        return;
    process->is_closed = true;
    process->gone = gone;
    process->gone_context = context;
    cancel_calls(process);
    event_waits_end(process);
    front_tap(process->front, D3DKMT_CLOSED, process->client, NULL);
    keyed_mutexes_close(process);
    list_for_each (device, &process->devices, struct device, link)
        device->object.is_going = true;
    budgets_share(process->front);
    front_changed(process->front);
}

/* Nobody has anything of it any more. True: it is freed. */
static bool process_free(struct d3dkmt_process *process)
{
    struct d3dkmt *front = process->front;

    if (process->shared_count)
        return false;
    front_want_idle(front, &process->wants_idle, true);
    if (!vidmm_is_idle(front->config.vidmm))
        return false;
    vidmm_process_destroy(process->handle);
    front_want_idle(front, &process->wants_idle, false);
    list_remove(&process->link);
    front_free(front, process, sizeof *process);
    return true;
}

static void free_handles(struct d3dkmt_process *process)
{
    struct d3dkmt *front = process->front;

    va_free_lists(process);
    events_free(process);
    for (uint32_t i = 1; i < process->slot_count; i++) {
        struct object *object = process->slots[i].object;

        if (object && object->type == OBJECT_ADAPTER)
            front_free(front, object, sizeof(struct adapter_opening));
    }
    base_free_array(front->services, process->slots, process->slot_count, sizeof *process->slots);
    process->slots = NULL;
    process->slot_count = 0;
}

/* True: its client is told. */
static bool process_bury(struct d3dkmt_process *process)
{
    struct d3dkmt *front = process->front;
    struct device *device, *following;
    void (*gone)(void *) = process->gone;
    void *context = process->gone_context;

    if (process->is_gone)
        return process_free(process);
    list_for_each_safe (device, following, &process->devices, struct device, link)
        device_empty(device);
    list_for_each (device, &process->devices, struct device, link) {
        if (!device_empty(device))
            return false;
    }
    if (process->pending)
        return false;
    front_want_idle(front, &process->wants_idle, true);
    if (!vidmm_is_idle(front->config.vidmm))
        return false;
    list_for_each_safe (device, following, &process->devices, struct device, link)
        device_free(device);
    if (!fence_pages_gone(process) || !vidmm_is_idle(front->config.vidmm))
        return false;
    front_want_idle(front, &process->wants_idle, false);
    free_handles(process);
    shared_files_forget(process);
    process->is_gone = true;
    process->client = NULL;
    process_free(process);
    if (gone)
        gone(context);
    return true;
}

bool processes_bury(struct d3dkmt *front)
{
    struct d3dkmt_process *process, *following;
    bool did = false;

    list_for_each_safe (process, following, &front->processes, struct d3dkmt_process, link)
        did |= process->is_closed && process_bury(process);
    return did;
}
