#define _GNU_SOURCE
#include "dxcore/events.h"

#include "dxcore/connection.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
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

static void set(int event)
{
    const uint64_t one = 1;
    const ssize_t written = write(event, &one, sizeof one);

    (void)written; /* a full counter is set, and a reader that has gone wants nothing */
}

static void *wait_for_it(void *context)
{
    struct wait *wait = context;

    if (connection_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &wait->arguments,
                        wait->caller) >= 0)
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

/* The server has looked at the arrays: there are at most so many. */
static struct wait *copy(const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments,
                         const void *caller, int event)
{
    struct wait *wait = calloc(1, sizeof *wait);
    const UINT count = arguments->ObjectCount;

    if (!wait || count > D3DDDI_MAX_OBJECT_WAITED_ON) {
        free(wait);
        return NULL;
    }
    memcpy(wait->handles, arguments->ObjectHandleArray, count * sizeof wait->handles[0]);
    memcpy(wait->values, arguments->FenceValueArray, count * sizeof wait->values[0]);
    wait->arguments = (D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){
        .hDevice = arguments->hDevice,
        .ObjectCount = count,
        .ObjectHandleArray = wait->handles,
        .FenceValueArray = wait->values,
        .Flags = arguments->Flags,
    };
    wait->caller = caller;
    wait->event = event;
    return wait;
}

NTSTATUS events_wait(const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments,
                     const void *caller)
{
    const int event = fcntl((int)(intptr_t)arguments->hAsyncEvent, F_DUPFD_CLOEXEC, 0);
    struct wait *wait;
    NTSTATUS status;

    if (event < 0)
        return STATUS_INVALID_HANDLE;
    /* With an event the server looks, and does not wait. */
    status = connection_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu,
                             (void *)(uintptr_t)arguments, caller);
    if (status == STATUS_PENDING) {
        wait = copy(arguments, caller, event);
        if (wait && start(wait))
            return STATUS_SUCCESS;
        free(wait);
        status = STATUS_NO_MEMORY;
    } else if (status >= 0) {
        set(event);
    }
    close(event);
    return status;
}
