/*
 * Waits that set an event: of the GPU's work, of a signal of the CPU's, of any of several fences;
 * and those that set none. CPU notifications, and signals that set an event by themselves.
 */
#define _GNU_SOURCE
#include "client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SOON_MS   50
#define AT_ALL_MS 20000
#define ROUNDS    50u

static int make_event(void)
{
    const int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    if (event < 0)
        fail("eventfd", 0);
    return event;
}

/* How often it has been set since the last look, within the time. */
static uint64_t times_set(int event, int ms)
{
    struct pollfd poller = {.fd = event, .events = POLLIN};
    uint64_t count = 0;

    return poll(&poller, 1, ms) == 1 && read(event, &count, sizeof count) == sizeof count ? count
                                                                                          : 0;
}

static D3DKMT_HANDLE make_fence(const struct driver *driver)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = driver->device,
                                                  .Info.Type = D3DDDI_MONITORED_FENCE};

    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&create));
    return create.hSyncObject;
}

static NTSTATUS wait_with(const struct driver *driver, int event, unsigned count,
                          const D3DKMT_HANDLE *fences, const UINT64 *values, int is_any)
{
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {.hDevice = driver->device,
                                                       .ObjectCount = count,
                                                       .ObjectHandleArray = fences,
                                                       .FenceValueArray = values,
                                                       .hAsyncEvent = (HANDLE)(intptr_t)event};

    wait.Flags.WaitAny = is_any != 0;
    return D3DKMTWaitForSynchronizationObjectFromCpu(&wait);
}

static void signal(const struct driver *driver, D3DKMT_HANDLE fence, UINT64 value)
{
    must("SignalSynchronizationObjectFromCpu",
         D3DKMTSignalSynchronizationObjectFromCpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = driver->device,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &fence,
                                                          .FenceValueArray = &value}));
}

static void signal_back(const struct driver *driver, D3DKMT_HANDLE fence)
{
    const UINT64 zero = 0;
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU back = {.hDevice = driver->device,
                                                      .ObjectCount = 1,
                                                      .ObjectHandleArray = &fence,
                                                      .FenceValueArray = &zero};

    back.Flags.AllowFenceRewind = 1;
    must("SignalSynchronizationObjectFromCpu", D3DKMTSignalSynchronizationObjectFromCpu(&back));
}

static void count_as(unsigned *right, const char *what, int is_right)
{
    *right += is_right != 0;
    if (!is_right)
        printf("wrong: %s\n", what);
}

int events(void)
{
    struct driver driver;
    struct buffer a, b;
    D3DKMT_HANDLE fences[2], gone;
    const UINT64 both[2] = {3, 3}, one = 1;
    UINT64 value;
    unsigned right = 0, sets = 0;
    int event = make_event(), closed = make_event(), pipes[2];

    start(&driver);
    fences[0] = make_fence(&driver);
    fences[1] = make_fence(&driver);
    gone = make_fence(&driver);
    a = create(&driver, 0, 1 << 20, NULL);
    b = create(&driver, 0, 1 << 20, NULL);
    map(&driver, &a, 0);
    map(&driver, &b, 0);
    make_resident(&driver, &a);
    make_resident(&driver, &b);

    hold(&driver);
    value = copy(&driver, b.va, a.va, b.bytes);
    must("of the GPU", wait_with(&driver, event, 1, &driver.fence, &value, 0));
    count_as(&right, "set before its work has run", !times_set(event, SOON_MS));
    let_go(&driver);
    count_as(&right, "not set by the GPU's work", times_set(event, AT_ALL_MS) == 1);
    must("once more", wait_with(&driver, event, 1, &driver.fence, &value, 0));
    count_as(&right, "a wait that is satisfied sets nothing", times_set(event, SOON_MS) == 1);

    must("of two", wait_with(&driver, event, 2, fences, both, 0));
    signal(&driver, fences[0], 3);
    count_as(&right, "set by one of two", !times_set(event, SOON_MS));
    signal(&driver, fences[1], 3);
    count_as(&right, "not set by the second of two", times_set(event, AT_ALL_MS) == 1);
    must("of any", wait_with(&driver, event, 2, fences, (const UINT64[]){9, 4}, 1));
    must("of any, by a descriptor that is closed",
         wait_with(&driver, closed, 2, fences, (const UINT64[]){9, 4}, 1));
    close(closed);
    signal(&driver, fences[1], 4);
    count_as(&right, "not set by any of two", times_set(event, AT_ALL_MS) == 1);

    /* The wait is entered when its call returns: what is reached then counts, whatever follows. */
    for (unsigned i = 0; i < ROUNDS; i++) {
        const UINT64 next = 1;
        const D3DKMT_HANDLE fence = make_fence(&driver);

        must("of one that falls", wait_with(&driver, event, 1, &fence, &next, 0));
        signal(&driver, fence, 1);
        signal_back(&driver, fence);
        must("of one that is reached and goes", wait_with(&driver, event, 1, &fence, &next, 0));
        signal(&driver, fence, 1);
        must("DestroySynchronizationObject",
             D3DKMTDestroySynchronizationObject(&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){fence}));
        while (sets < 2 * i + 2 && (value = times_set(event, AT_ALL_MS)))
            sets += (unsigned)value;
    }
    count_as(&right, "values that were reached and lost", sets == 2 * ROUNDS);

    must("of one that goes", wait_with(&driver, event, 1, &gone, &one, 0));
    must("DestroySynchronizationObject",
         D3DKMTDestroySynchronizationObject(&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){gone}));
    count_as(&right, "set for a fence that has gone", !times_set(event, SOON_MS));
    count_as(&right, "a fence that has gone is awaited",
             wait_with(&driver, event, 1, &gone, &one, 0) == STATUS_INVALID_PARAMETER);
    count_as(&right, "no descriptor is waited with",
             wait_with(&driver, 1000000, 1, fences, both, 0) == STATUS_INVALID_HANDLE);
    count_as(&right, "a pipe is waited with",
             !pipe(pipes) &&
                 wait_with(&driver, pipes[1], 1, fences, both, 0) == STATUS_INVALID_HANDLE);
    count_as(&right, "33 fences are awaited",
             wait_with(&driver, event, 33, fences, both, 0) == STATUS_INVALID_PARAMETER);
    count_as(&right, "what was refused has set the event", !times_set(event, SOON_MS));
    printf("%u of 13 right\n", right);
    return right != 13;
}

/* ---- CPU notifications ----------------------------------------------------------------------- */

static NTSTATUS notify_by(const struct driver *driver, int event, D3DKMT_HANDLE *out_notification)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 create = {.hDevice = driver->device,
                                                  .Info.Type = D3DDDI_CPU_NOTIFICATION};
    NTSTATUS status;

    create.Info.CPUNotification.Event = (HANDLE)(intptr_t)event;
    status = D3DKMTCreateSynchronizationObject2(&create);
    if (create.Info.CPUNotification.Event != (HANDLE)(intptr_t)event)
        fail("the event has become another", status);
    *out_notification = create.hSyncObject;
    return status;
}

static void signal_notification(const struct driver *driver, D3DKMT_HANDLE notification)
{
    must("SignalSynchronizationObject",
         D3DKMTSignalSynchronizationObject(&(D3DKMT_SIGNALSYNCHRONIZATIONOBJECT){
             .hContext = driver->context, .ObjectCount = 1, .ObjectHandleArray = {notification}}));
}

static NTSTATUS enqueue(const struct driver *driver, int event)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 signal = {.BroadcastContextCount = 1,
                                                         .BroadcastContextArray = &driver->context};

    signal.Flags.EnqueueCpuEvent = 1;
    signal.CpuEventHandle = (HANDLE)(intptr_t)event;
    return D3DKMTSignalSynchronizationObjectFromGpu2(&signal);
}

static NTSTATUS enqueue2(const struct driver *driver, int event, unsigned count)
{
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 signal = {
        .hContext = driver->context, .ObjectCount = count, .ObjectHandleArray = {driver->fence}};

    signal.Flags.EnqueueCpuEvent = 1;
    signal.CpuEventHandle = (HANDLE)(intptr_t)event;
    return D3DKMTSignalSynchronizationObject2(&signal);
}

static unsigned times_in_all(int event, unsigned wanted)
{
    unsigned sets = 0;
    uint64_t more;

    while (sets < wanted && (more = times_set(event, AT_ALL_MS)))
        sets += (unsigned)more;
    return sets + (unsigned)times_set(event, SOON_MS);
}

static void destroy_object(D3DKMT_HANDLE object)
{
    must("DestroySynchronizationObject",
         D3DKMTDestroySynchronizationObject(&(D3DKMT_DESTROYSYNCHRONIZATIONOBJECT){object}));
}

/* What the GPU has copied is there when the event is set: so many rounds, and some wrong. */
static unsigned copy_and_hear(struct driver *driver, D3DKMT_HANDLE notification, int event)
{
    struct buffer from = create(driver, SGPU_UMD_CPU_VISIBLE, 1 << 20, NULL);
    struct buffer to = create(driver, SGPU_UMD_CPU_VISIBLE, 1 << 20, NULL);
    volatile uint64_t *memory[2];
    unsigned wrong = 0;

    for (unsigned i = 0; i < 2; i++) {
        D3DKMT_LOCK2 lock = {.hDevice = driver->device, .hAllocation = i ? to.handle : from.handle};

        map(driver, i ? &to : &from, 0);
        make_resident(driver, i ? &to : &from);
        must("Lock2", D3DKMTLock2(&lock));
        memory[i] = lock.pData;
    }
    for (unsigned i = 1; i <= ROUNDS; i++) {
        memory[0][i] = i;
        copy(driver, to.va, from.va, from.bytes);
        if (i % 2)
            signal_notification(driver, notification);
        else
            must("EnqueueCpuEvent", enqueue(driver, event));
        wrong += times_set(event, AT_ALL_MS) != 1 || memory[1][i] != i;
    }
    for (unsigned i = 0; i < 2; i++)
        must("Unlock2",
             D3DKMTUnlock2(&(D3DKMT_UNLOCK2){.hDevice = driver->device,
                                             .hAllocation = i ? to.handle : from.handle}));
    return wrong;
}

int notifications(int is_lying)
{
    const int event = make_event(), other = make_event();
    struct driver driver;
    D3DKMT_HANDLE notification, second;
    unsigned right = 0;

    start(&driver);
    must("a notification", notify_by(&driver, event, &notification));
    count_as(&right, "a copy is not there", copy_and_hear(&driver, notification, event) == 0);

    hold(&driver);
    signal_notification(&driver, notification);
    must("EnqueueCpuEvent", enqueue2(&driver, other, 0));
    count_as(&right, "set before its turn", !times_set(event, SOON_MS) && !times_set(other, 0));
    let_go(&driver);
    count_as(&right, "not set in its turn", times_in_all(event, 1) == 1);
    count_as(&right, "an event of a signal is not set", times_in_all(other, 1) == 1);
    for (unsigned i = 0; i < ROUNDS; i++)
        signal_notification(&driver, notification);
    count_as(&right, "not set for each signal", times_in_all(event, ROUNDS) == ROUNDS);

    /* Signals outlive their notification, and the program's descriptor. */
    must("a second one", notify_by(&driver, other, &second));
    hold(&driver);
    signal_notification(&driver, second);
    signal_notification(&driver, notification);
    destroy_object(second);
    destroy_object(notification);
    close(event);
    let_go(&driver);
    count_as(&right, "not set for one that has gone", times_in_all(other, 1) == 1);
    if (is_lying) {
        count_as(&right, "no descriptor is notified",
                 notify_by(&driver, 1000000, &second) == STATUS_INVALID_HANDLE);
        count_as(&right, "no descriptor is set", enqueue(&driver, 0) == STATUS_INVALID_HANDLE);
        count_as(&right, "an event beside an object",
                 enqueue2(&driver, other, 1) == STATUS_INVALID_PARAMETER);
        count_as(&right, "what was refused has set the event", !times_set(other, SOON_MS));
    }
    printf("%u of %u right\n", right, is_lying ? 10u : 6u);
    return right != (is_lying ? 10 : 6);
}
