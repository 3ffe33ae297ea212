#define _GNU_SOURCE
#include "dxcore/events.h"

#include "dxcore/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10)

/*
 * One event of the program's, and the thread that sets it when the server says so. The thread is
 * there, with what its call goes by, before the server is told of the event, so that nothing is
 * left there which nobody collects.
 */
struct wait {
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU arguments; /* its arrays are those below */
    D3DKMT_HANDLE handles[D3DDDI_MAX_OBJECT_WAITED_ON];
    UINT64 values[D3DDDI_MAX_OBJECT_WAITED_ON];
    const void *caller;
    uintptr_t number; /* as d3dkmt.h wants it */
    bool goes_on;     /* it is set more than once */
    int event;
    bool can_call;        /* the thread has what its calls go by */
    sem_t stands, begins; /* ... or has found none; it may begin */
    bool is_over;         /* the thread ends when it begins */
};

/* One whose thread has nothing to do: most waits are short, and threads cost more than calls. */
static _Atomic(struct wait *) spare;

/* A child of fork() has none of these threads. */
static void forget_spare(void)
{
    atomic_store(&spare, NULL);
}

static void expect_forks(void)
{
    pthread_atfork(NULL, NULL, forget_spare);
}

static bool keep_spare(struct wait *wait)
{
    struct wait *none = NULL;

    return atomic_compare_exchange_strong(&spare, &none, wait);
}

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

/* A server that is gone sets every event. */
static void wait_for_it(struct wait *wait)
{
    NTSTATUS status;

    wait->arguments.hAsyncEvent = (HANDLE)(wait->number + 1);
    do {
        status = connection_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &wait->arguments,
                                 wait->caller);
        if (status >= 0 || status == STATUS_DEVICE_REMOVED)
            set(wait->event);
    } while (wait->goes_on && status >= 0);
    close(wait->event);
}

static void await(sem_t *semaphore)
{
    while (sem_wait(semaphore))
        continue;
}

static void release(struct wait *wait)
{
    sem_destroy(&wait->stands);
    sem_destroy(&wait->begins);
    free(wait);
}

static void *run(void *context)
{
    struct wait *wait = context;

    wait->can_call = connection_stand_back();
    sem_post(&wait->stands);
    do {
        await(&wait->begins);
        if (wait->is_over)
            break;
        wait_for_it(wait);
    } while (keep_spare(wait));
    release(wait);
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
    has_started = !pthread_create(&thread, &attributes, run, wait);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return has_started;
}

/* From here on the wait is its thread's. */
static void let_begin(struct wait *wait)
{
    sem_post(&wait->begins);
}

static void let_end(struct wait *wait)
{
    wait->is_over = true;
    let_begin(wait);
}

/* NULL: no memory, no thread, or none that could make a call. */
static struct wait *take(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct wait *wait = atomic_exchange(&spare, NULL);

    if (wait)
        return wait;
    pthread_once(&once, expect_forks);
    wait = calloc(1, sizeof *wait);
    if (!wait)
        return NULL;
    sem_init(&wait->stands, 0, 0);
    sem_init(&wait->begins, 0, 0);
    if (!start(wait)) {
        release(wait);
        return NULL;
    }
    await(&wait->stands);
    if (wait->can_call)
        return wait;
    let_end(wait);
    return NULL;
}

/* There is nothing to wait for. */
static void end(struct wait *wait)
{
    if (wait->event >= 0)
        close(wait->event);
    if (keep_spare(wait))
        return;
    let_end(wait);
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
    struct wait *wait = take();

    *out_wait = wait;
    if (!wait)
        return STATUS_NO_MEMORY;
    wait->arguments = (D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){0};
    wait->caller = caller;
    wait->number = 0;
    wait->goes_on = false;
    wait->event = -1;
    errno = EBADF;
    if ((uintptr_t)handle <= INT_MAX)
        wait->event = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
    if (wait->event < 0 && errno != EBADF) { /* there are no descriptors left */
        end(wait);
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
        let_begin(wait);
        return STATUS_SUCCESS;
    }
    if (status >= 0)
        set(wait->event);

end_wait:
    if (wait)
        end(wait);
    return status;
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
    if (status < 0) {
        end(wait);
        return status;
    }
    arguments->hSyncObject = create.hSyncObject;
    wait->goes_on = true;
    let_begin(wait);
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
    if (status < 0)
        end(wait);
    else
        let_begin(wait);
    return status;
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
