/*
 * A program of the kind that drydock exec is for: a user-mode driver of the Drydock GPU and its
 * application in one, which knows libdxcore.so and nothing else of Drydock.
 *
 *     client copy BUFFERS MIB ROUNDS [THREADS]   writes, copies by the GPU, evicts, reads, compares
 *     client keep BUFFERS MIB ROUNDS [FOLDER]    the same with buffers that stay resident; with a
 *                                                folder: begins when two of them have theirs
 *     client locks COUNT THREADS ROUNDS [MOVES]  threads write records through locks, some of which
 *                                                are held for long, while the GPU copies others,
 *                                                so many (4) in each round
 *     client die BUFFERS MIB                     the same, killed by itself in the midst of a copy
 *     client wait                                waits for a fence that nobody signals
 *     client leave THREADS BUFFERS [LIBRARY]
 *                                                ends amid calls of all threads, when so many
 *                                                buffers have been made; with a library: slowly
 *     client queues BUFFERS MIB ROUNDS           writes, copies and reads by hardware queues
 *     client events                              waits that set an event
 *     client notify [lie|starved|many]           signals that set an event; some that are wrong;
 *                                                where no thread can start; beside many threads
 *     client adapter                             what DXCore tells, beside what the calls tell
 *     client calls                               measures what a call costs, beside a socket
 *     client share BUFFERS MIB                   holds them, and trims when another process comes
 *     client careless                            evicts memory that a copy still uses
 *     client wild                                hands over a list that leads nowhere
 *     client lie                                 makes calls that no driver makes
 *
 * Exit status 0: every word was right. The memory that transfers go through is protected while the
 * GPU has it, as a shipped driver does.
 */
#define _GNU_SOURCE
#include "client.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- The application ------------------------------------------------------------------------- */

struct work {
    unsigned number, buffers, rounds;
    uint64_t bytes, wrong, moved;
};

static uint64_t word(const struct work *work, unsigned round, unsigned buffer, uint64_t i)
{
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)work->number << 48 ^
           (uint64_t)round << 32 ^ buffer;
}

static void *play(void *context)
{
    struct work *work = context;
    struct buffer *buffers = calloc(work->buffers, sizeof *buffers);
    uint64_t *memory =
        mmap(NULL, work->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct driver driver;

    start(&driver);
    for (unsigned b = 0; b < work->buffers; b++) {
        buffers[b] = create(&driver, SGPU_UMD_NO_APERTURE, work->bytes, NULL);
        map(&driver, &buffers[b], 0);
    }
    for (unsigned round = 0; round < work->rounds; round++) {
        for (unsigned b = 0; b < work->buffers; b++) {
            for (uint64_t i = 0; i < work->bytes / 8; i++)
                memory[i] = word(work, round, b, i);
            transfer(&driver, &buffers[b], (uint8_t *)memory, 0);
        }
        for (unsigned b = 0; b < work->buffers; b++) {
            memset(memory, 0xee, work->bytes);
            transfer(&driver, &buffers[b], (uint8_t *)memory, 1);
            for (uint64_t i = 0; i < work->bytes / 8; i++)
                work->wrong += memory[i] != word(work, round, b, i);
            work->moved += 2 * work->bytes;
        }
    }
    must("DestroyDevice", D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){driver.device}));
    munmap(memory, work->bytes);
    free(buffers);
    return NULL;
}

static int copies(unsigned buffers, uint64_t bytes, unsigned rounds, unsigned threads)
{
    struct timespec begin, end;
    pthread_t handles[64];
    struct work works[64] = {{0}};
    uint64_t wrong = 0, moved = 0;
    double seconds;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (unsigned i = 0; i < threads; i++) {
        works[i] = (struct work){.number = (unsigned)getpid() * 64 + i,
                                 .buffers = buffers,
                                 .rounds = rounds,
                                 .bytes = bytes};
        pthread_create(&handles[i], NULL, play, &works[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        wrong += works[i].wrong;
        moved += works[i].moved;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
    must("CloseAdapter", D3DKMTCloseAdapter(&(D3DKMT_CLOSEADAPTER){adapter}));
    printf("%llu wrong words; %llu bytes in %.2f s\n", (unsigned long long)wrong,
           (unsigned long long)moved, seconds);
    return wrong != 0;
}

static int die(unsigned buffers, uint64_t bytes)
{
    struct driver driver;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct buffer host, buffer;

    start(&driver);
    host = create(&driver, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, bytes, memory);
    map(&driver, &host, 0);
    make_resident(&driver, &host);
    for (unsigned b = 0; b < buffers; b++) {
        buffer = create(&driver, SGPU_UMD_NO_APERTURE, bytes, NULL);
        map(&driver, &buffer, 0);
        make_resident(&driver, &buffer);
        copy(&driver, buffer.va, host.va, bytes);
        if (b + 1 < buffers)
            evict(&driver, &buffer);
    }
    raise(SIGKILL);
    return 3;
}

static int wait_for_ever(void)
{
    struct driver driver;

    start(&driver);
    alarm(1); /* ends the process, in the midst of the call */
    wait_until(&driver, driver.fence, 1);
    return 3;
}

/* Waits until two processes have called this with one folder; each leaves a file there. */
static void meet(const char *folder)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    char path[4096];
    unsigned files;
    FILE *mine;

    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    mine = fopen(path, "w");
    if (!mine || fclose(mine) != 0)
        fail(path, 0);
    for (unsigned moments = 0; moments < 12000; moments++, nanosleep(&moment, NULL)) {
        DIR *open = opendir(folder);

        if (!open)
            fail(folder, 0);
        files = 0;
        for (struct dirent *file; (file = readdir(open)) != NULL;)
            files += file->d_name[0] != '.';
        closedir(open);
        if (files >= 2)
            return;
    }
    fail("nobody came to the meeting", 0);
}

/* Buffers that stay resident, written and read again and again: who wants more has to wait. */
static int keep(unsigned buffers, uint64_t bytes, unsigned rounds, const char *folder)
{
    struct work work = {.number = (unsigned)getpid(), .buffers = buffers, .bytes = bytes};
    struct buffer *held = calloc(buffers, sizeof *held), host;
    uint64_t *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct driver driver;

    start(&driver);
    host = create(&driver, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, bytes, memory);
    map(&driver, &host, 0);
    make_resident(&driver, &host);
    for (unsigned b = 0; b < buffers; b++) {
        held[b] = create(&driver, SGPU_UMD_NO_APERTURE, bytes, NULL);
        map(&driver, &held[b], 0);
        make_resident(&driver, &held[b]);
    }
    if (folder)
        meet(folder);
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned b = 0; b < buffers; b++) {
            for (uint64_t i = 0; i < bytes / 8; i++)
                memory[i] = word(&work, round, b, i);
            wait_until(&driver, driver.fence, copy(&driver, held[b].va, host.va, bytes));
        }
        for (unsigned b = 0; b < buffers; b++) {
            memset(memory, 0xee, bytes);
            wait_until(&driver, driver.fence, copy(&driver, host.va, held[b].va, bytes));
            for (uint64_t i = 0; i < bytes / 8; i++)
                work.wrong += memory[i] != word(&work, round, b, i);
        }
    }
    must("DestroyDevice", D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){driver.device}));
    must("CloseAdapter", D3DKMTCloseAdapter(&(D3DKMT_CLOSEADAPTER){adapter}));
    printf("%llu wrong words\n", (unsigned long long)work.wrong);
    free(held);
    return work.wrong != 0;
}

/* ---- Memory of several programs -------------------------------------------------------------- */

static volatile unsigned long long asked_to_trim, asked_times, asked_periodically;

static VOID D3DKMT_CALL trim(D3DKMT_TRIMNOTIFICATION *notification)
{
    if (notification->Flags.TrimToBudget) {
        asked_to_trim = notification->NumBytesToTrim;
        asked_times++;
    }
    asked_periodically += notification->Flags.PeriodicTrim;
}

static D3DKMT_QUERYVIDEOMEMORYINFO budget(void)
{
    D3DKMT_QUERYVIDEOMEMORYINFO info = {.hAdapter = adapter,
                                        .MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL};

    must("QueryVideoMemoryInfo", D3DKMTQueryVideoMemoryInfo(&info));
    return info;
}

/* Holds everything, until another process comes and this one is asked to trim: then it does. */
static int share(unsigned buffers, uint64_t bytes)
{
    struct buffer *held = calloc(buffers, sizeof *held);
    D3DKMT_REGISTERTRIMNOTIFICATION registration = {.Callback = trim};
    D3DKMT_UNREGISTERTRIMNOTIFICATION end = {0};
    struct driver driver, other;
    unsigned count = 0;
    char byte = 0;
    int files[2];
    pid_t child;

    if (pipe(files))
        fail("a pipe", 0);
    child = fork(); /* before this process joins */
    if (child == 0) {
        if (read(files[0], &byte, 1) != 1)
            _exit(1);
        open_adapter();
        start(&other);
        usleep(300000);
        printf("the other one: %llu\n", (unsigned long long)budget().Budget >> 20);
        fflush(stdout);
        _exit(0);
    }
    open_adapter();
    start(&driver);
    registration.hDevice = driver.device;
    registration.AdapterLuid = adapter_luid;
    must("RegisterTrimNotification", D3DKMTRegisterTrimNotification(&registration));
    while (count < buffers) {
        held[count] = create(&driver, SGPU_UMD_NO_APERTURE, bytes, NULL);
        map(&driver, &held[count], 0);
        make_resident(&driver, &held[count++]);
    }
    if (write(files[1], &byte, 1) != 1)
        fail("a pipe", 0);
    for (unsigned i = 0; i < 3000 && !asked_times; i++)
        usleep(1000);
    for (uint64_t given = 0; count && given < asked_to_trim; given += bytes)
        evict(&driver, &held[--count]);
    printf("asked to trim: %llu; usage %llu of %llu\n", asked_to_trim >> 20,
           (unsigned long long)budget().CurrentUsage >> 20,
           (unsigned long long)budget().Budget >> 20);
    waitpid(child, NULL, 0);
    for (unsigned i = 0; i < 3000 && !asked_periodically; i++)
        usleep(1000);
    end.Handle = registration.Handle;
    must("UnregisterTrimNotification", D3DKMTUnregisterTrimNotification(&end));
    must("DestroyDevice", D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){driver.device}));
    must("CloseAdapter", D3DKMTCloseAdapter(&(D3DKMT_CLOSEADAPTER){adapter}));
    free(held);
    return !asked_times || !asked_periodically;
}

/* What no driver may do: memory is evicted while a copy uses it. */
__attribute__((noinline)) static int careless(void)
{
    struct driver driver;
    struct buffer from, to;

    start(&driver);
    from = create(&driver, SGPU_UMD_APERTURE_ONLY, 16 << 20, NULL);
    to = create(&driver, SGPU_UMD_APERTURE_ONLY, 16 << 20, NULL);
    map(&driver, &from, 0);
    map(&driver, &to, 0);
    make_resident(&driver, &from);
    make_resident(&driver, &to);
    /* The copy waits for a value that is signalled behind the call that comes too early. */
    hold(&driver);
    copy(&driver, to.va, from.va, to.bytes);
    evict(&driver, &from);
    let_go(&driver);
    wait_until(&driver, driver.fence, driver.value);
    return 0;
}

/* Every call here is wrong; what counts is the status, and that the server goes on. */
static unsigned lie_in_sizes(struct driver *driver)
{
    const UINT64 one = 1;
    const UINT priority = 0x78000000;
    struct buffer buffer = create(driver, 0, 65536, NULL);
    D3DDDI_MAPGPUVIRTUALADDRESS mapping = {.hPagingQueue = driver->queue,
                                           .hAllocation = buffer.handle,
                                           .SizeInPages = UINT64_MAX / 4096 + 2,
                                           .Protection = {.Write = 1}};
    D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = {
        .hAdapter = adapter, .BaseAddress = UINT64_MAX - 4095, .Size = 65536};
    D3DKMT_ESCAPE escape = {
        .hAdapter = adapter, .pPrivateDriverData = &escape, .PrivateDriverDataSize = UINT32_MAX};
    unsigned answered = 0;

    answered += D3DKMTMapGpuVirtualAddress(&mapping) == STATUS_INVALID_PARAMETER;
    mapping.SizeInPages = 1;
    mapping.OffsetInPages = UINT64_MAX;
    answered += D3DKMTMapGpuVirtualAddress(&mapping) == STATUS_INVALID_PARAMETER;
    answered += D3DKMTReserveGpuVirtualAddress(&reserve) == STATUS_INVALID_PARAMETER;
    answered +=
        D3DKMTFreeGpuVirtualAddress(&(D3DKMT_FREEGPUVIRTUALADDRESS){
            .hAdapter = adapter, .BaseAddress = UINT64_MAX - 4095, .Size = UINT64_MAX - 4095}) ==
        STATUS_INVALID_PARAMETER;
    answered +=
        D3DKMTSubmitCommand(&(D3DKMT_SUBMITCOMMAND){.Commands = (uintptr_t)driver->memory,
                                                    .BroadcastContextCount = 1,
                                                    .BroadcastContext = {driver->context}}) ==
        STATUS_INVALID_PARAMETER;
    answered +=
        D3DKMTWaitForSynchronizationObjectFromCpu(&(D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU){
            .hDevice = driver->device,
            .ObjectCount = UINT32_MAX,
            .ObjectHandleArray = &driver->fence,
            .FenceValueArray = &one}) == STATUS_INVALID_PARAMETER;
    answered += D3DKMTSetAllocationPriority(&(D3DKMT_SETALLOCATIONPRIORITY){
                    .hDevice = driver->device,
                    .phAllocationList = &buffer.handle,
                    .AllocationCount = UINT32_MAX,
                    .pPriorities = &priority}) == STATUS_INVALID_PARAMETER;
    answered += D3DKMTEscape(&escape) == STATUS_INVALID_PARAMETER;
    answered +=
        D3DKMTOfferAllocations(&(D3DKMT_OFFERALLOCATIONS){.hDevice = driver->device,
                                                          .HandleList = &buffer.handle,
                                                          .Priority = D3DKMT_OFFER_PRIORITY_LOW}) ==
        STATUS_INVALID_PARAMETER;
    answered += D3DKMTChangeVideoMemoryReservation(&(D3DKMT_CHANGEVIDEOMEMORYRESERVATION){
                    .hAdapter = adapter,
                    .MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL,
                    .Reservation = UINT64_MAX}) == STATUS_INVALID_PARAMETER;
    return answered;
}

static int lie(void)
{
    struct driver driver;
    D3DDDI_MAKERESIDENT resident = {.NumAllocations = 1};
    D3DKMT_HANDLE wild = 0x12345;
    D3DKMT_LOCK2 lock = {.hAllocation = 0xffffffff};
    struct sgpu_umd_allocation data = {.version = SGPU_UMD_VERSION, .bytes = UINT64_MAX - 4095};
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = &data,
                                   .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION allocation = {.NumAllocations = 1, .pAllocationInfo2 = &info};
    D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = {.hAdapter = adapter, .Size = UINT64_MAX - 4095};
    unsigned answered = 0;

    start(&driver);
    resident.hPagingQueue = driver.queue;
    resident.AllocationList = &wild;
    answered += D3DKMTMakeResident(&resident) == STATUS_INVALID_PARAMETER;
    lock.hDevice = driver.device;
    answered += D3DKMTLock2(&lock) == STATUS_INVALID_PARAMETER;
    allocation.hDevice = driver.device;
    answered += D3DKMTCreateAllocation2(&allocation) < 0;
    allocation.NumAllocations = 0x40000000; /* more than a message can have */
    answered += D3DKMTCreateAllocation2(&allocation) == STATUS_INVALID_PARAMETER;
    allocation.NumAllocations = 1;
    info.pSystemMem = (void *)0x1000; /* nobody has memory there */
    data.bytes = 65536;
    data.flags = SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY;
    answered += D3DKMTCreateAllocation2(&allocation) == STATUS_INVALID_PARAMETER;
    answered += D3DKMTReserveGpuVirtualAddress(&reserve) == STATUS_INVALID_PARAMETER;
    answered += D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){wild}) == STATUS_INVALID_PARAMETER;
    answered += D3DKMTCreateHwQueue(&(D3DKMT_CREATEHWQUEUE){0}) == STATUS_NOT_SUPPORTED;
    answered += lie_in_sizes(&driver);
    printf("%u of 18 answered as documented\n", answered);
    return answered != 18;
}

/* A list that leads nowhere: the process is ended by its own fault, and nobody else. */
static int point_wildly(void)
{
    struct driver driver;
    D3DDDI_MAKERESIDENT resident = {.NumAllocations = 4,
                                    .AllocationList = (const D3DKMT_HANDLE *)(uintptr_t)64};

    start(&driver);
    resident.hPagingQueue = driver.queue;
    D3DKMTMakeResident(&resident);
    return 3;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const unsigned buffers = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    const uint64_t bytes = argc > 3 ? (uint64_t)atoi(argv[3]) << 20 : 0;
    const unsigned rounds = argc > 4 ? (unsigned)atoi(argv[4]) : 1;
    const unsigned threads = argc > 5 ? (unsigned)atoi(argv[5]) : 1;
    const unsigned moves = argc > 5 ? (unsigned)atoi(argv[5]) : 4;

    if (!strcmp(what, "share") && buffers && bytes)
        return share(buffers, bytes);
    if (!strcmp(what, "sharing") && argc > 4 && atoi(argv[2]) > 0)
        return sharing((uint64_t)atoi(argv[2]) << 20, (unsigned)atoi(argv[3]), argv[4]);
    if (!strcmp(what, "mutexes") && argc > 3 && atoi(argv[2]) > 0)
        return mutexes((uint64_t)atoi(argv[2]) << 20, (unsigned)atoi(argv[3]));
    if (!strcmp(what, "mutexes-lie"))
        return mutexes_lie();
    if (!strcmp(what, "sharing-lies"))
        return sharing_lies(UINT64_C(1) << 20);
    open_adapter();
    if (!strcmp(what, "copy") && buffers && bytes && threads && threads <= 64)
        return copies(buffers, bytes, rounds, threads);
    if (!strcmp(what, "keep") && buffers && bytes)
        return keep(buffers, bytes, rounds, argc > 5 ? argv[5] : NULL);
    if (!strcmp(what, "die") && buffers && bytes)
        return die(buffers, bytes);
    if (!strcmp(what, "locks") && argc > 4)
        return locks((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), rounds, moves);
    if (!strcmp(what, "calls"))
        return calls();
    if (!strcmp(what, "leave") && argc > 3 && buffers && buffers <= 32 && atoi(argv[3]) > 0)
        return leave(buffers, (unsigned)atoi(argv[3]), argc > 4 && argv[4][0] ? argv[4] : NULL);
    if (!strcmp(what, "queues") && buffers && bytes)
        return queues(buffers, bytes, rounds);
    if (!strcmp(what, "events"))
        return events();
    if (!strcmp(what, "notify") && argc > 2 && !strcmp(argv[2], "starved"))
        return events_without_threads();
    if (!strcmp(what, "notify") && argc > 2 && !strcmp(argv[2], "unheard"))
        return events_without_connections();
    if (!strcmp(what, "notify") && argc > 2 && !strcmp(argv[2], "many"))
        return events_beside_threads();
    if (!strcmp(what, "notify"))
        return notifications(argc > 2 && !strcmp(argv[2], "lie"));
    if (!strcmp(what, "adapter"))
        return tell_adapter();
    if (!strcmp(what, "wait"))
        return wait_for_ever();
    if (!strcmp(what, "wild"))
        return point_wildly();
    if (!strcmp(what, "careless"))
        return careless();
    if (!strcmp(what, "lie"))
        return lie();
    fprintf(stderr,
            "usage: client copy|keep|locks|queues|die|wait|leave|calls|events|notify|adapter|"
            "share|sharing|sharing-lies|mutexes|mutexes-lie|careless|wild|lie ...\n");
    return 2;
}
