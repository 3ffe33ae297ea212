/*
 * Events of clients: what sets them, and the call by which a client's library is told.
 *
 * An event is known here by the number that the library has given it (d3dkmt.h). Somebody may set
 * it as long as it has users: a wait of the CPU's, a CPU notification, a signal in a queue. The
 * library is told of each time by one call, which waits for it; when the last user has gone and all
 * has been told, the next call says so, or finds nothing.
 */
#include "d3dkmt/front.h"

/* ---- Events ---------------------------------------------------------------------------------- */

static struct event *find_event(struct d3dkmt_process *process, uint64_t number)
{
    struct event *event;

    list_for_each (event, &process->events, struct event, link) {
        if (event->number == number)
            return event;
    }
    return NULL;
}

NTSTATUS event_create(struct d3dkmt_process *process, uint64_t number, struct event **out_event)
{
    struct event *event;

    *out_event = NULL;
    if (!number || number & 1 || find_event(process, number))
        return STATUS_INVALID_PARAMETER;
    event = process->event_count < D3DKMT_MOST_EVENTS ? front_alloc(process->front, sizeof *event)
                                                      : NULL;
    if (!event)
        return STATUS_NO_MEMORY;
    event->process = process;
    event->number = number;
    event->users = 1;
    process->event_count++;
    list_push_back(&process->events, &event->link);
    *out_event = event;
    return STATUS_SUCCESS;
}

static void free_event(struct event *event)
{
    list_remove(&event->link);
    event->process->event_count--;
    front_free(event->process->front, event, sizeof *event);
}

void events_free(struct d3dkmt_process *process)
{
    struct event *event, *following;

    list_for_each_safe (event, following, &process->events, struct event, link)
        free_event(event);
}

void event_keep(struct event *event)
{
    event->users++;
}

void event_leave(struct event *event, NTSTATUS status)
{
    if (!--event->users)
        event->end = status;
    front_changed(event->process->front);
}

void event_set(struct event *event)
{
    event->sets++;
    front_changed(event->process->front);
}

/* Two may have been told the same number: who comes second finds none. */
static bool collect_again(struct d3dkmt_call *call)
{
    struct event *event = find_event(call->process, *(const uint64_t *)call->state);
    const bool is_set = event && event->sets;
    const NTSTATUS status = !event   ? STATUS_INVALID_PARAMETER
                            : is_set ? STATUS_SUCCESS
                                     : event->end;

    if (event && !is_set && event->users)
        return false;
    if (is_set)
        event->sets--;
    if (event && !event->sets && !event->users)
        free_event(event);
    return call_end(call, status);
}

NTSTATUS event_collect(struct d3dkmt_call *call, uint64_t number)
{
    uint64_t *state = front_alloc(call->process->front, sizeof *state);

    if (!state)
        return STATUS_NO_MEMORY;
    *state = number;
    return call_wait(call, collect_again, state, sizeof *state);
}

/* ---- CPU notifications ----------------------------------------------------------------------- */

NTSTATUS notification_create(struct device *device, D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments)
{
    const uint64_t number = (uintptr_t)arguments->Info.CPUNotification.Event;
    struct d3dkmt_process *process = device->process;
    struct notification *notification;
    NTSTATUS status;

    if (!number)
        return STATUS_INVALID_HANDLE;
    if (arguments->Info.Flags.Shared || arguments->Info.Flags.SignalByKmd)
        return STATUS_NOT_SUPPORTED;
    notification = front_alloc(process->front, sizeof *notification);
    if (!notification)
        return STATUS_NO_MEMORY;
    notification->device = device;
    status = event_create(process, number, &notification->event);
    if (!NT_SUCCESS(status))
        goto free_notification;
    status = handle_give(process, &notification->object, OBJECT_NOTIFICATION);
    if (!NT_SUCCESS(status))
        goto free_event;
    list_push_back(&device->notifications, &notification->link);
    arguments->hSyncObject = notification->object.handle;
    return STATUS_SUCCESS;

free_event:
    free_event(notification->event);
free_notification:
    front_free(process->front, notification, sizeof *notification);
    return status;
}

void notification_destroy(struct notification *notification)
{
    struct d3dkmt_process *process = notification->device->process;

    handle_take(process, &notification->object);
    list_remove(&notification->link);
    event_leave(notification->event, STATUS_INVALID_HANDLE);
    front_free(process->front, notification, sizeof *notification);
}
