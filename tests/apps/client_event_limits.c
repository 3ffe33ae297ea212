/* Events where no thread can start or none can call, and beside more threads than there are lanes.
 */
#define _GNU_SOURCE
#include "client.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TIMES     600u /* more events than a process may have at one time */
#define AT_ALL_MS 20000
#define MANY      80u /* more than there are lanes */
#define THREADS   20u
#define CALLS     200u

static int threads_fail, sockets_fail;

/* In place of the library's own, for libdxcore.so, too. */
int socket(int domain, int type, int protocol)
{
    int (*next)(int, int, int);
    void *found = dlsym(RTLD_NEXT, "socket");

    if (sockets_fail) {
        errno = EMFILE;
        return -1;
    }
    memcpy(&next, &found, sizeof next);
    return next(domain, type, protocol);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *context)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = dlsym(RTLD_NEXT, "pthread_create");

    if (threads_fail)
        return EAGAIN;
    memcpy(&next, &found, sizeof next);
    return next(thread, attributes, run, context);
}

static NTSTATUS notify(const struct driver *driver, int event, D3DKMT_HANDLE *out_notification)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = driver->device,
                                                  .Info.Type = D3DDDI_CPU_NOTIFICATION};
    NTSTATUS status;

    create.Info.CPUNotification.Event = (HANDLE)(intptr_t)event;
    status = D3DKMTCreateSynchronizationObject2(&create);
    *out_notification = create.hSyncObject;
    return status;
}

static NTSTATUS enqueue(const struct driver *driver, int event)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 signal = {.hContext = driver->context};

    signal.Flags.EnqueueCpuEvent = 1;
    signal.CpuEventHandle = (HANDLE)(intptr_t)event;
    return D3DKMTSignalSynchronizationObject2(&signal);
}

/* For a value that nobody has signalled. */
static NTSTATUS wait_with(const struct driver *driver, D3DKMT_HANDLE fence, int event)
{
    const UINT64 value = 1;

    return D3DKMTWaitForSynchronizationObjectFromCpu(
        &(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = driver->device,
                                                      .ObjectCount = 1,
                                                      .ObjectHandleArray = &fence,
                                                      .FenceValueArray = &value,
                                                      .hAsyncEvent = (HANDLE)(intptr_t)event});
}

static int is_set(int event)
{
    struct pollfd poller = {.fd = event, .events = POLLIN};
    uint64_t count;

    return poll(&poller, 1, AT_ALL_MS) == 1 && read(event, &count, sizeof count) == sizeof count;
}

int events_without_threads(void)
{
    const int event = eventfd(0, EFD_CLOEXEC);
    const UINT64 value = 1;
    struct driver driver;
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info.Type = D3DDDI_MONITORED_FENCE};
    D3DKMT_HANDLE notification;
    unsigned right = 0;

    start(&driver);
    fence.hDevice = driver.device;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&fence));
    threads_fail = 1;
    for (unsigned i = 0; i < TIMES; i++) {
        right += enqueue(&driver, event) == STATUS_NO_MEMORY;
        right += wait_with(&driver, fence.hSyncObject, event) == STATUS_NO_MEMORY;
        right += notify(&driver, event, &notification) == STATUS_NO_MEMORY;
    }
    /* Nothing of it has stayed with the server. */
    threads_fail = 0;
    right += !enqueue(&driver, event) && is_set(event);
    right += !wait_with(&driver, fence.hSyncObject, event);
    must("SignalSynchronizationObjectFromCpu",
         D3DKMTSignalSynchronizationObjectFromCpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = driver.device,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &fence.hSyncObject,
                                                          .FenceValueArray = &value}));
    right += is_set(event);
    right += !notify(&driver, event, &notification);
    printf("%u of %u right\n", right, 3 * TIMES + 4);
    return right != 3 * TIMES + 4;
}

/* Notifications have all lanes that are for events; a thread more has no connection. */
int events_without_connections(void)
{
    const int event = eventfd(0, EFD_CLOEXEC);
    const UINT64 value = 1;
    struct driver driver;
    struct pollfd poller = {.fd = event, .events = POLLIN};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info.Type = D3DDDI_MONITORED_FENCE};
    D3DKMT_HANDLE notification;
    unsigned right = 0;

    start(&driver);
    fence.hDevice = driver.device;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&fence));
    for (unsigned i = 0; i < MANY; i++)
        must("a notification", notify(&driver, eventfd(0, EFD_CLOEXEC), &notification));
    sockets_fail = 1;
    for (unsigned i = 0; i < TIMES; i++)
        right += wait_with(&driver, fence.hSyncObject, event) == STATUS_NO_MEMORY;
    right += poll(&poller, 1, 100) == 0; /* nobody has signalled the fence */
    sockets_fail = 0;
    right += !wait_with(&driver, fence.hSyncObject, event);
    right += poll(&poller, 1, 100) == 0;
    must("SignalSynchronizationObjectFromCpu",
         D3DKMTSignalSynchronizationObjectFromCpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = driver.device,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &fence.hSyncObject,
                                                          .FenceValueArray = &value}));
    right += is_set(event);
    printf("%u of %u right\n", right, TIMES + 4);
    return right != TIMES + 4;
}

static void *make_calls(void *context)
{
    D3DKMT_QUERYVIDEOMEMORYINFO query = {.hAdapter = adapter};
    unsigned *failed = context;

    for (unsigned i = 0; i < CALLS; i++)
        *failed += D3DKMTQueryVideoMemoryInfo(&query) != STATUS_SUCCESS;
    return NULL;
}

int events_beside_threads(void)
{
    static pthread_t threads[THREADS];
    static unsigned failed[THREADS];
    D3DKMT_HANDLE notifications[MANY];
    int events[MANY];
    struct driver driver;
    unsigned right = 0;

    start(&driver);
    for (unsigned i = 0; i < MANY; i++) {
        events[i] = eventfd(0, EFD_CLOEXEC);
        must("a notification", notify(&driver, events[i], &notifications[i]));
    }
    for (unsigned i = 0; i < MANY; i++) { /* each thread has made a call then */
        must("SignalSynchronizationObject",
             D3DKMTSignalSynchronizationObject(
                 &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECT){.hContext = driver.context,
                                                       .ObjectCount = 1,
                                                       .ObjectHandleArray = {notifications[i]}}));
        right += is_set(events[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, make_calls, &failed[i]))
            fail("pthread_create", 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        right += !failed[i];
    }
    printf("%u of %u right\n", right, MANY + THREADS);
    return right != MANY + THREADS;
}
