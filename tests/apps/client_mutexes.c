/*
 * Two processes that take turns by a keyed mutex, as runtimes do: a resource, the mutex and a fence
 * by one NT handle; who has acquired the mutex lets its GPU work wait for the fence value beside
 * it, and releases with the value that its own work signals. And a holder that is killed.
 */
#define _GNU_SOURCE
#include "client.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MILLISECOND INT64_C(10000) /* of 100 ns */

static const char first_data[] = "of the maker", second_data[] = "of the opener";

struct guarded {
    struct buffer buffer;
    D3DKMT_HANDLE resource, mutex, fence;
};

/* ---- Making and opening ---------------------------------------------------------------------- */

static int make(struct driver *driver, uint64_t bytes, struct guarded *guarded)
{
    struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION, .flags = SGPU_UMD_NO_APERTURE, .bytes = bytes};
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = &data,
                                   .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION create = {
        .hDevice = driver->device,
        .NumAllocations = 1,
        .pAllocationInfo2 = &info,
        .Flags = {{{.CreateResource = 1, .CreateShared = 1, .NtSecuritySharing = 1}}}};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.hDevice = driver->device,
                                                 .Info = {.Type = D3DDDI_MONITORED_FENCE}};
    D3DKMT_CREATEKEYEDMUTEX2 mutex = {.pPrivateRuntimeData = (VOID *)(uintptr_t)first_data,
                                      .PrivateRuntimeDataSize = sizeof first_data,
                                      .Flags = {{{.NtSecuritySharing = 1}}}};
    HANDLE shared = NULL;

    must("CreateAllocation2", D3DKMTCreateAllocation2(&create));
    fence.Info.Flags.Shared = fence.Info.Flags.NtSecuritySharing = 1;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&fence));
    must("CreateKeyedMutex2", D3DKMTCreateKeyedMutex2(&mutex));
    *guarded = (struct guarded){
        {info.hAllocation, 0, bytes}, create.hResource, mutex.hKeyedMutex, fence.hSyncObject};
    must("ShareObjects",
         D3DKMTShareObjects(3, (D3DKMT_HANDLE[]){guarded->resource, guarded->mutex, guarded->fence},
                            NULL, 1, &shared));
    return (int)(intptr_t)shared;
}

static void open_guarded(const struct driver *driver, int file, uint64_t bytes,
                         struct guarded *guarded)
{
    struct sgpu_umd_allocation data;
    D3DDDI_OPENALLOCATIONINFO2 info = {0};
    D3DKMT_OPENRESOURCEFROMNTHANDLE open = {.hDevice = driver->device,
                                            .hNtHandle = (HANDLE)(intptr_t)file,
                                            .NumAllocations = 1,
                                            .pOpenAllocationInfo2 = &info,
                                            .TotalPrivateDriverDataBufferSize = sizeof data,
                                            .pTotalPrivateDriverDataBuffer = &data,
                                            .pKeyedMutexPrivateRuntimeData =
                                                (VOID *)(uintptr_t)second_data,
                                            .KeyedMutexPrivateRuntimeDataSize = sizeof second_data};

    must("OpenResourceFromNtHandle", D3DKMTOpenResourceFromNtHandle(&open));
    *guarded = (struct guarded){
        {info.hAllocation, 0, bytes}, open.hResource, open.hKeyedMutex, open.hSyncObject};
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static NTSTATUS acquire(D3DKMT_HANDLE mutex, UINT64 key, LARGE_INTEGER *timeout,
                        UINT64 *out_fence_value, char data[32])
{
    D3DKMT_ACQUIREKEYEDMUTEX2 call = {.hKeyedMutex = mutex,
                                      .Key = key,
                                      .pTimeout = timeout,
                                      .pPrivateRuntimeData = data,
                                      .PrivateRuntimeDataSize = data ? 32 : 0};
    const NTSTATUS status = D3DKMTAcquireKeyedMutex2(&call);

    *out_fence_value = call.FenceValue;
    return status;
}

static void release(D3DKMT_HANDLE mutex, UINT64 key, UINT64 fence_value, const char *data)
{
    must("ReleaseKeyedMutex2", D3DKMTReleaseKeyedMutex2(&(D3DKMT_RELEASEKEYEDMUTEX2){
                                   .hKeyedMutex = mutex,
                                   .Key = key,
                                   .FenceValue = fence_value,
                                   .pPrivateRuntimeData = (VOID *)(uintptr_t)data,
                                   .PrivateRuntimeDataSize = (UINT)strlen(data) + 1}));
}

static void wait_on_gpu(const struct driver *driver, D3DKMT_HANDLE fence, UINT64 value)
{
    must("WaitForSynchronizationObjectFromGpu",
         D3DKMTWaitForSynchronizationObjectFromGpu(
             &(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU){.hContext = driver->context,
                                                           .ObjectCount = 1,
                                                           .ObjectHandleArray = &fence,
                                                           .MonitoredFenceValueArray = &value}));
}

static void signal_on_gpu(const struct driver *driver, D3DKMT_HANDLE fence, UINT64 value)
{
    must("SignalSynchronizationObjectFromGpu",
         D3DKMTSignalSynchronizationObjectFromGpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){.hContext = driver->context,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &fence,
                                                          .MonitoredFenceValueArray = &value}));
}

static uint64_t word_of(uint64_t turn, uint64_t i)
{
    return (turn << 40 | i) * 0x9e3779b97f4a7c15;
}

static uint64_t *see(const struct driver *driver, const struct buffer *buffer)
{
    D3DKMT_LOCK2 call = {.hDevice = driver->device, .hAllocation = buffer->handle};

    must("Lock2", D3DKMTLock2(&call));
    return call.pData;
}

/* The turns of one side: 0, 2, 4 ... or 1, 3, 5 ...; each finds what the one before has left. */
static uint64_t take_turns(struct driver *driver, struct guarded *guarded, unsigned side,
                           unsigned rounds)
{
    const uint64_t bytes = guarded->buffer.bytes;
    struct buffer in = create(driver, SGPU_UMD_CPU_VISIBLE, bytes, NULL);
    struct buffer out = create(driver, SGPU_UMD_CPU_VISIBLE, bytes, NULL);
    uint64_t *read = see(driver, &in), *written = see(driver, &out), wrong = 0;

    map(driver, &in, 0);
    map(driver, &out, 0);
    map(driver, &guarded->buffer, 0);
    make_resident(driver, &in);
    make_resident(driver, &out);
    make_resident(driver, &guarded->buffer);
    for (uint64_t turn = side; turn < 2 * (uint64_t)rounds; turn += 2) {
        char data[32] = "", expected[32], next[32];
        uint64_t done, behind;
        UINT64 value;

        for (uint64_t i = 0; i < bytes / 8; i++)
            written[i] = word_of(turn + 1, i);
        must("AcquireKeyedMutex2", acquire(guarded->mutex, side, NULL, &value, data));
        wait_on_gpu(driver, guarded->fence, value);
        done = copy(driver, in.va, guarded->buffer.va, bytes);
        behind = copy(driver, guarded->buffer.va, out.va, bytes);
        signal_on_gpu(driver, guarded->fence, turn + 1);
        snprintf(next, sizeof next, "turn %u", (unsigned)turn + 1);
        release(guarded->mutex, !side, turn + 1, next);
        snprintf(expected, sizeof expected, turn ? "turn %u" : first_data, (unsigned)turn);
        wrong += value != turn || strcmp(data, expected) != 0;
        wait_until(driver, driver->fence, done);
        for (uint64_t i = 0; turn && i < bytes / 8; i++)
            wrong += read[i] != word_of(turn, i);
        wait_until(driver, driver->fence, behind); /* what it reads is ours until then */
    }
    return wrong;
}

static int play_opener(int file, uint64_t bytes, unsigned rounds)
{
    struct guarded guarded;
    struct driver driver;

    open_adapter();
    start(&driver);
    open_guarded(&driver, file, bytes, &guarded);
    close(file);
    return take_turns(&driver, &guarded, 1, rounds) != 0;
}

/* ---- A holder that is killed ----------------------------------------------------------------- */

static unsigned right, asked;

static void expect(const char *what, NTSTATUS status, NTSTATUS expected)
{
    asked++;
    right += status == expected;
    if (status != expected)
        fprintf(stderr, "%s: 0x%x, expected 0x%x\n", what, (unsigned)status, (unsigned)expected);
}

static void hold_and_die(D3DKMT_HANDLE global, int pipe)
{
    D3DKMT_OPENKEYEDMUTEX open = {.hSharedHandle = global};
    UINT64 value;

    must("OpenKeyedMutex", D3DKMTOpenKeyedMutex(&open));
    must("AcquireKeyedMutex2", acquire(open.hKeyedMutex, 1, NULL, &value, NULL));
    if (write(pipe, "", 1) != 1)
        fail("write", 0);
    pause();
}

/* How long the call for that key waits, which nobody releases; in 100 ns. */
static int64_t wait_in_vain(D3DKMT_HANDLE mutex, int64_t timeout)
{
    LARGE_INTEGER room = {.QuadPart = timeout};
    struct timespec from, to;
    UINT64 value;

    clock_gettime(CLOCK_MONOTONIC, &from);
    expect("a wait in vain", acquire(mutex, 77, &room, &value, NULL), STATUS_TIMEOUT);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 10000000 + (to.tv_nsec - from.tv_nsec) / 100;
}

static void try_timeouts(D3DKMT_HANDLE mutex)
{
    struct timespec now;
    int64_t system;

    asked += 3;
    right += wait_in_vain(mutex, 0) < 5000 * MILLISECOND;
    right += wait_in_vain(mutex, -50 * MILLISECOND) >= 50 * MILLISECOND;
    clock_gettime(CLOCK_REALTIME, &now);
    system = (now.tv_sec + INT64_C(11644473600)) * 10000000 + now.tv_nsec / 100;
    right += wait_in_vain(mutex, system + 50 * MILLISECOND) >= 45 * MILLISECOND;
}

int mutexes_lie(void)
{
    D3DKMT_CREATEKEYEDMUTEX create = {.InitialValue = 1};
    int pipes[2], status;
    UINT64 value;
    pid_t child;
    char byte;

    open_adapter();
    must("CreateKeyedMutex", D3DKMTCreateKeyedMutex(&create));
    try_timeouts(create.hKeyedMutex);
    expect("a release of what is free",
           D3DKMTReleaseKeyedMutex(&(D3DKMT_RELEASEKEYEDMUTEX){.hKeyedMutex = create.hKeyedMutex}),
           STATUS_INVALID_PARAMETER);
    if (pipe(pipes))
        fail("pipe", 0);
    child = fork();
    if (!child)
        hold_and_die(create.hSharedHandle, pipes[1]);
    if (read(pipes[0], &byte, 1) != 1)
        fail("read", 0);
    kill(child, SIGKILL);
    expect("the mutex of who was killed", acquire(create.hKeyedMutex, 1, NULL, &value, NULL),
           STATUS_ABANDONED);
    waitpid(child, &status, 0);
    expect("the same again", acquire(create.hKeyedMutex, 1, NULL, &value, NULL), STATUS_ABANDONED);
    must("DestroyKeyedMutex",
         D3DKMTDestroyKeyedMutex(&(D3DKMT_DESTROYKEYEDMUTEX){create.hKeyedMutex}));
    printf("%u of %u right\n", right, asked);
    return right != asked;
}

int mutexes(uint64_t bytes, unsigned rounds)
{
    struct guarded guarded;
    struct driver driver;
    uint64_t wrong;
    int file, status;
    pid_t child;

    open_adapter();
    start(&driver);
    file = make(&driver, bytes, &guarded);
    child = fork();
    if (!child)
        _exit(play_opener(file, bytes, rounds));
    close(file);
    wrong = take_turns(&driver, &guarded, 0, rounds);
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status))
        fail("the other process", 0);
    printf("%llu wrong words\n", (unsigned long long)wrong);
    return wrong != 0;
}
