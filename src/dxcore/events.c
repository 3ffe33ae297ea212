#define _GNU_SOURCE
#include "dxcore/events.h"

#include "dxcore/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)

struct wait {
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU arguments; /* its arrays are those below */
    D3DKMT_HANDLE handles[D3DDDI_MAX_OBJECT_WAITED_ON];
    UINT64 values[D3DDDI_MAX_OBJECT_WAITED_ON];
    const void *caller;
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

static void *wait_for_it(void *context)
{
    struct wait *wait = context;
    const NTSTATUS status = connection_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu,
                                            &wait->arguments, wait->caller);

    if (status >= 0 || status == STATUS_DEVICE_REMOVED)
        set(wait->event);
    close(wait->event);
    free(wait);
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

NTSTATUS events_wait(const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments,
                     const void *caller)
{
    static atomic_uintptr_t numbers;
    const int event = fcntl((int)(intptr_t)arguments->hAsyncEvent, F_DUPFD_CLOEXEC, 0);
    const uintptr_t number = (atomic_fetch_add(&numbers, 1) + 1) * 2; /* as d3dkmt.h wants it */
    struct wait *wait = calloc(1, sizeof *wait);
    NTSTATUS status = STATUS_NO_MEMORY;

    if (event < 0 || !is_event(event)) {
        status = STATUS_INVALID_HANDLE;
        goto close_event;
    }
    if (!wait)
        goto close_event;
    wait->arguments = *arguments;
    wait->arguments.hAsyncEvent = (HANDLE)number;
    wait->caller = caller;
    wait->event = event;
    status =
        connection_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &wait->arguments, caller);
    if (status == STATUS_PENDING) {
        keep_arrays(wait);
        wait->arguments.hAsyncEvent = (HANDLE)(number + 1);
        if (start(wait))
            return STATUS_SUCCESS;
        status = STATUS_NO_MEMORY;
    } else if (status >= 0) {
        set(event);
    }

close_event:
    if (event >= 0)
        close(event);
    free(wait);
    return status;
}
