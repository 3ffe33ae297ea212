/*
 * The front: dispatch of calls, those that wait, and the pump.
 *
 * The manager is called from calls and from the pump; what it says comes by callbacks, which only
 * note it (front_changed()) and never call a client back. So a call->ended() comes from
 * d3dkmt_pump() alone, with nothing of the front under way.
 */
#include "d3dkmt/front.h"

#define MOST_TIMEOUT (INT64_MAX / 100) /* of those that anybody waits for: centuries */

static NTSTATUS dispatch(struct d3dkmt_call *call)
{
    switch (call->function) {
#define D3DKMT_CASE(name, type)                                                                    \
    case D3DKMT_FN_##name:                                                                         \
        return d3dkmt_##name(call, call->arguments);
        THUNK_FUNCTIONS(D3DKMT_CASE)
#undef D3DKMT_CASE
    case D3DKMT_FN_COUNT:
        break;
    }
    return STATUS_INVALID_PARAMETER;
}

static bool is_by_nt_handle(enum d3dkmt_function function)
{
    return function == D3DKMT_FN_QueryResourceInfoFromNtHandle ||
           function == D3DKMT_FN_OpenResourceFromNtHandle ||
           function == D3DKMT_FN_OpenSyncObjectFromNtHandle2 ||
           function == D3DKMT_FN_OpenKeyedMutexFromNtHandle;
}

static void end_call(struct d3dkmt *front, struct d3dkmt_call *call)
{
    front_free(front, call->state, call->state_bytes);
    call->state = NULL;
    front->statistics.failed_calls += !NT_SUCCESS(call->status);
    front_tap(front, D3DKMT_ENDED, call->process->client, call);
}

bool d3dkmt_call(struct d3dkmt_process *process, struct d3dkmt_call *call)
{
    struct d3dkmt *front = process->front;
    NTSTATUS status;

    call->process = process;
    call->again = NULL;
    call->clock = D3DKMT_NO_CLOCK;
    if (!is_by_nt_handle(call->function))
        call->nt_object = 0;
    call->state = NULL;
    call->state_bytes = 0;
    list_init(&call->link);
    if ((unsigned)call->function >= D3DKMT_FN_COUNT || process->is_closed) {
        call->status = STATUS_INVALID_PARAMETER;
        return true;
    }
    front->statistics.calls[call->function]++;
    front_tap(front, D3DKMT_CALLED, process->client, call);
    status = dispatch(call);
    if (status == D3DKMT_WAITS && !call->again(call)) {
        front->statistics.waited_calls++;
        list_push_back(&front->waiting, &call->link);
        front_changed(front);
        return false;
    }
    if (status != D3DKMT_WAITS)
        call->status = status;
    end_call(front, call);
    front_changed(front);
    return true;
}

static bool pump_calls(struct d3dkmt *front)
{
    struct d3dkmt_call *call, *following;
    struct d3dkmt_process *process;
    bool did = false;

    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        did |= event_waits_look(process);
        did |= fence_pages_leave(process);
    }
    list_for_each_safe (call, following, &front->waiting, struct d3dkmt_call, link) {
        if (!call->again(call))
            continue;
        list_remove(&call->link);
        end_call(front, call);
        did = true;
        call->ended(call);
    }
    return did;
}

static bool bury_destroyed(struct d3dkmt *front)
{
    struct allocation *allocation, *following;
    bool did = false;

    list_for_each_safe (allocation, following, &front->graves, struct allocation, grave_link)
        did |= allocation_bury(allocation);
    return did;
}

bool d3dkmt_pump(struct d3dkmt *front)
{
    bool did = false;

    if (front->is_pumping)
        return false;
    front->is_pumping = true;
    for (bool again = true; again;) {
        again = front->has_changed;
        front->has_changed = false;
        again |= contexts_pump(front);
        again |= bury_destroyed(front);
        again |= starved_pump(front);
        again |= pump_calls(front);
        again |= processes_bury(front);
        did |= again;
    }
    front->is_pumping = false;
    return did;
}

bool d3dkmt_wants_idle(const struct d3dkmt *front)
{
    return front->wants_idle;
}

uint64_t d3dkmt_next_timeout(const struct d3dkmt *front)
{
    const struct d3dkmt_board *board = &front->config.board;
    const struct d3dkmt_call *call;
    int64_t least = MOST_TIMEOUT;

    list_for_each (call, &front->waiting, struct d3dkmt_call, link) {
        const int64_t now = call->clock ? board->now(board->context, call->clock) : 0;

        if (call->clock && call->end_by - now < least)
            least = call->end_by > now ? call->end_by - now : 0;
    }
    return least == MOST_TIMEOUT ? UINT64_MAX : (uint64_t)least * 100;
}

bool d3dkmt_is_idle(const struct d3dkmt *front)
{
    const struct d3dkmt_process *process;
    const struct device *device;
    const struct context *context;

    if (!list_is_empty(&front->waiting) || front->has_changed)
        return false;
    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        if (process->is_closed || process->pending)
            return false;
        list_for_each (device, &process->devices, struct device, link) {
            list_for_each (context, &device->contexts, struct context, link) {
                if (!list_is_empty(&context->queue) || !list_is_empty(&context->running))
                    return false;
            }
        }
    }
    return true;
}

const struct d3dkmt_statistics *d3dkmt_statistics(const struct d3dkmt *front)
{
    return &front->statistics;
}

NTSTATUS d3dkmt_create(const struct d3dkmt_config *config, struct d3dkmt **out_front)
{
    struct d3dkmt *front;

    *out_front = NULL;
    if (!vidmm_has_page_tables(config->vidmm))
        return STATUS_NOT_SUPPORTED;
    front = base_alloc(config->services, sizeof *front);
    if (!front)
        return STATUS_NO_MEMORY;
    front->services = config->services;
    front->config = *config;
    if (!front->config.most_files)
        front->config.most_files = MOST_FILES;
    list_init(&front->processes);
    list_init(&front->waiting);
    list_init(&front->graves);
    shared_init(front);
    list_init(&front->files);
    list_init(&front->starved);
    *out_front = front;
    return STATUS_SUCCESS;
}

void d3dkmt_destroy(struct d3dkmt *front)
{
    if (front)
        base_free(front->services, front, sizeof *front);
}

void d3dkmt_note_device_error(struct d3dkmt *front, struct vidmm_device *handle)
{
    struct d3dkmt_process *process;
    struct device *device;

    list_for_each (process, &front->processes, struct d3dkmt_process, link) {
        list_for_each (device, &process->devices, struct device, link) {
            if (device->handle == handle)
                device_lose(device, false);
        }
    }
}
