#define _GNU_SOURCE
#include "dxcore/events.h"

#include "dxcore/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)

/* One event of the program's, which a thread sets when the server says so. */
struct wait {
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU arguments; /* its arrays are those below */
    D3DKMT_HANDLE handles[D3DDDI_MAX_OBJECT_WAITED_ON];
    UINT64 values[D3DDDI_MAX_OBJECT_WAITED_ON];
    const void *caller;
    uintptr_t number; /* as d3dkmt.h wants it */
    bool goes_on;     /* it is set more than once */
    int event;
};

static bool is_event(int descriptor)
{
    char link[64], target[32] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    return readlink(link, target, sizeof target - 1) < 0 || strstr(target, "[eventfd]");
}

/* An event that counts no further is set, and would hold the caller up. */
static void set(int event)
{
    const uint64_t one = 1;
    struct pollfd room = {.fd = event, .events = POLLOUT};

    if (poll(&room, 1, 0) == 1 && room.revents & POLLOUT && write(event, &one, sizeof one) < 0)
        return; /* somebody else has filled it meanwhile */
}

static void end(struct wait *wait)
{
    if (wait->event >= 0)
        close(wait->event);
    free(wait);
}

/* A server that is gone sets every event. */
static void *wait_for_it(void *context)
{
    struct wait *wait = context;
    NTSTATUS status;

    do {
        status = connection_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &wait->arguments,
                                 wait->caller);
        if (status >= 0 || status == STATUS_DEVICE_REMOVED)
            set(wait->event);
    } while (wait->goes_on && status >= 0);
    end(wait);
    return NULL;
}

/* With all signals blocked: they are the program's. */
static bool start(struct wait *wait)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t thread;
    bool has_started;

    if (pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    wait->arguments.hAsyncEvent = (HANDLE)(wait->number + 1);
    has_started = !pthread_create(&thread, &attributes, wait_for_it, wait);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return has_started;
}

/*
 * The arrays may change once the call has returned. What arguments point at may change at any time:
 * the count is that of the copy, which the server has found to be small enough.
 */
static void keep_arrays(struct wait *wait)
{
    const UINT count = wait->arguments.ObjectCount;

    memcpy(wait->handles, wait->arguments.ObjectHandleArray, count * sizeof wait->handles[0]);
    memcpy(wait->values, wait->arguments.FenceValueArray, count * sizeof wait->values[0]);
    wait->arguments.ObjectHandleArray = wait->handles;
    wait->arguments.FenceValueArray = wait->values;
}

/*
 * STATUS_NO_MEMORY. STATUS_INVALID_HANDLE: there is a wait with the number 0, which the server may
 * be told of.
 */
static NTSTATUS begin(HANDLE handle, const void *caller, struct wait **out_wait)
{
    static atomic_uintptr_t numbers;
    struct wait *wait = calloc(1, sizeof *wait);

    *out_wait = wait;
    if (!wait)
        return STATUS_NO_MEMORY;
    wait->caller = caller;
    wait->event = -1;
    errno = EBADF;
    if ((uintptr_t)handle <= INT_MAX)
        wait->event = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
    if (wait->event < 0 && errno != EBADF) { /* there are no descriptors left */
        free(wait);
        *out_wait = NULL;
        return STATUS_NO_MEMORY;
    }
    if (wait->event < 0 || !is_event(wait->event))
        return STATUS_INVALID_HANDLE;
    wait->number = (atomic_fetch_add(&numbers, 1) + 1) * 2;
    return STATUS_SUCCESS;
}

NTSTATUS events_wait(const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments,
                     const void *caller)
{
    struct wait *wait;
    NTSTATUS status = begin(arguments->hAsyncEvent, caller, &wait);

    if (status < 0)
        goto end_wait;
    wait->arguments = *arguments;
    wait->arguments.hAsyncEvent = (HANDLE)wait->number;
    status =
        connection_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &wait->arguments, caller);
    if (status == STATUS_PENDING) {
        keep_arrays(wait);
        if (start(wait))
            return STATUS_SUCCESS;
        status = STATUS_NO_MEMORY;
    } else if (status >= 0) {
        set(wait->event);
    }

end_wait:
    if (wait)
        end(wait);
    return status;
}

/* Of a notification that has no thread. */
static void destroy(D3DKMT_HANDLE object)
{
    D3DKMT_DESTROYSYNCHRONIZATIONOBJECT destroy = {.hSyncObject = object};

    connection_call(D3DKMT_FN_DestroySynchronizationObject, &destroy, NULL);
}

NTSTATUS events_notify(D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments, const void *caller)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = *arguments;
    struct wait *wait;
    NTSTATUS status = begin(create.Info.CPUNotification.Event, caller, &wait);

    if (!wait)
        return status;
    /* Of what is no event the server hears as well: it tells a rule of it. */
    create.Info.CPUNotification.Event = (HANDLE)wait->number;
    status = connection_call(D3DKMT_FN_CreateSynchronizationObject2, &create, caller);
    wait->goes_on = true;
    if (status >= 0 && start(wait)) {
        arguments->hSyncObject = create.hSyncObject;
        return status;
    }
    if (status >= 0) {
        destroy(create.hSyncObject);
        status = STATUS_NO_MEMORY;
    }
    end(wait);
    return status;
}

/* event: where the arguments have their CpuEventHandle. */
static NTSTATUS enqueue(unsigned function, void *arguments, HANDLE *event, const void *caller)
{
    struct wait *wait;
    NTSTATUS status = begin(*event, caller, &wait);

    if (!wait)
        return status;
    *event = (HANDLE)wait->number;
    status = connection_call(function, arguments, caller);
    if (status >= 0 && start(wait))
        return status;
    end(wait);
    return status < 0 ? status : STATUS_NO_MEMORY;
}

NTSTATUS events_enqueue(const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *arguments, const void *caller)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 signal = *arguments;

    return enqueue(D3DKMT_FN_SignalSynchronizationObject2, &signal, &signal.CpuEventHandle, caller);
}

NTSTATUS events_enqueue_from_gpu(const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *arguments,
                                 const void *caller)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 signal = *arguments;

    return enqueue(D3DKMT_FN_SignalSynchronizationObjectFromGpu2, &signal, &signal.CpuEventHandle,
                   caller);
}
