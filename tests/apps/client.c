/*
 * A program of the kind that drydock exec is for: a user-mode driver of the Drydock GPU and its
 * application in one, which knows libdxcore.so and nothing else of Drydock.
 *
 *     client copy BUFFERS MIB ROUNDS [THREADS]   writes, copies by the GPU, evicts, reads, compares
 *     client keep BUFFERS MIB ROUNDS [FOLDER]    the same with buffers that stay resident; with a
 *                                                folder: begins when two of them have theirs
 *     client locks COUNT THREADS ROUNDS          threads write records through locks, some of which
 *                                                are held for long, while the GPU copies others
 *     client die BUFFERS MIB                     the same, killed by itself in the midst of a copy
 *     client wait                                waits for a fence that nobody signals
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
#include <drydock/sgpu.h>
#include <dxcore.h>
#include <ntstatus.h>

#include <dirent.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_BYTES 65536u

static D3DKMT_HANDLE adapter;
static LUID adapter_luid;

struct driver {
    D3DKMT_HANDLE device, queue, queue_fence, context, fence, gate;
    const volatile uint64_t *paging, *done;
    uint64_t fence_va, value;
    D3DKMT_HANDLE commands;
    uint8_t *memory;
    uint64_t at;
};

struct buffer {
    D3DKMT_HANDLE handle;
    uint64_t va, bytes;
};

static void fail(const char *what, NTSTATUS status)
{
    fprintf(stderr, "client: %s: status 0x%08x\n", what, (unsigned)status);
    exit(3);
}

static void must(const char *what, NTSTATUS status)
{
    if (status < 0)
        fail(what, status);
}

/* ---- The driver ------------------------------------------------------------------------------ */

static void open_adapter(void)
{
    static const GUID compute = {
        0x248e2800, 0xa793, 0x4724, {0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90}};
    D3DKMT_OPENADAPTERFROMLUID open = {0};
    IDXCoreAdapterFactory *factory;
    IDXCoreAdapterList *list;
    IDXCoreAdapter *first;
    char text[64] = "";

    if (DXCoreCreateAdapterFactory(NULL, (void **)&factory) ||
        factory->lpVtbl->CreateAdapterList(factory, 1, &compute, NULL, (void **)&list) ||
        !list->lpVtbl->GetAdapterCount(list) ||
        list->lpVtbl->GetAdapter(list, 0, NULL, (void **)&first) ||
        first->lpVtbl->GetProperty(first, DXCoreAdapterProperty_InstanceLuid,
                                   sizeof open.AdapterLuid, &open.AdapterLuid) ||
        first->lpVtbl->GetProperty(first, DXCoreAdapterProperty_DriverDescription, sizeof text,
                                   text))
        fail("there is no adapter", 0);
    must("OpenAdapterFromLuid", D3DKMTOpenAdapterFromLuid(&open));
    adapter = open.hAdapter;
    adapter_luid = open.AdapterLuid;
}

static void wait_until(const struct driver *driver, D3DKMT_HANDLE fence, uint64_t value)
{
    const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {.hDevice = driver->device,
                                                             .ObjectCount = 1,
                                                             .ObjectHandleArray = &fence,
                                                             .FenceValueArray = &value};

    must("WaitForSynchronizationObjectFromCpu", D3DKMTWaitForSynchronizationObjectFromCpu(&wait));
}

static struct buffer create(struct driver *driver, uint32_t flags, uint64_t bytes, const void *over)
{
    struct sgpu_umd_allocation data = {.version = SGPU_UMD_VERSION, .flags = flags, .bytes = bytes};
    D3DDDI_ALLOCATIONINFO2 info = {
        .pSystemMem = over, .pPrivateDriverData = &data, .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION call = {
        .hDevice = driver->device, .NumAllocations = 1, .pAllocationInfo2 = &info};

    must("CreateAllocation2", D3DKMTCreateAllocation2(&call));
    return (struct buffer){.handle = info.hAllocation, .bytes = bytes};
}

static void map(struct driver *driver, struct buffer *buffer, uint64_t va)
{
    D3DDDI_MAPGPUVIRTUALADDRESS call = {.hPagingQueue = driver->queue,
                                        .BaseAddress = va,
                                        .hAllocation = buffer->handle,
                                        .SizeInPages = buffer->bytes / 4096,
                                        .Protection = {.Write = 1}};

    must("MapGpuVirtualAddress", D3DKMTMapGpuVirtualAddress(&call));
    wait_until(driver, driver->queue_fence, call.PagingFenceValue);
    buffer->va = call.VirtualAddress;
}

static void make_resident(struct driver *driver, const struct buffer *buffer)
{
    D3DDDI_MAKERESIDENT call = {.hPagingQueue = driver->queue,
                                .NumAllocations = 1,
                                .AllocationList = &buffer->handle,
                                .Flags = {{{.CantTrimFurther = 1}}}};

    must("MakeResident", D3DKMTMakeResident(&call));
    wait_until(driver, driver->queue_fence, call.PagingFenceValue);
}

static void evict(struct driver *driver, const struct buffer *buffer)
{
    D3DKMT_EVICT call = {
        .hDevice = driver->device, .NumAllocations = 1, .AllocationList = &buffer->handle};

    must("Evict", D3DKMTEvict(&call));
}

static void destroy(struct driver *driver, const struct buffer *buffer)
{
    const D3DKMT_DESTROYALLOCATION2 call = {.hDevice = driver->device,
                                            .phAllocationList = &buffer->handle,
                                            .AllocationCount = 1,
                                            .Flags = {{{.AssumeNotInUse = 1}}}};

    must("DestroyAllocation2", D3DKMTDestroyAllocation2(&call));
}

static void start(struct driver *driver)
{
    D3DKMT_CREATEDEVICE device = {.hAdapter = adapter};
    D3DKMT_CREATEPAGINGQUEUE queue = {0};
    D3DKMT_CREATECONTEXTVIRTUAL context = {.NodeOrdinal = SGPU_NODE_COPY};
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info = {.Type = D3DDDI_MONITORED_FENCE}};
    D3DKMT_LOCK2 lock = {0};
    struct buffer commands;

    memset(driver, 0, sizeof *driver);
    must("CreateDevice", D3DKMTCreateDevice(&device));
    driver->device = queue.hDevice = context.hDevice = fence.hDevice = lock.hDevice =
        device.hDevice;
    must("CreatePagingQueue", D3DKMTCreatePagingQueue(&queue));
    driver->queue = queue.hPagingQueue;
    driver->queue_fence = queue.hSyncObject;
    driver->paging = queue.FenceValueCPUVirtualAddress;
    must("CreateContextVirtual", D3DKMTCreateContextVirtual(&context));
    driver->context = context.hContext;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&fence));
    driver->fence = fence.hSyncObject;
    driver->done = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
    driver->fence_va = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
    commands = create(driver, SGPU_UMD_APERTURE_ONLY | SGPU_UMD_CPU_VISIBLE, COMMAND_BYTES, NULL);
    driver->commands = lock.hAllocation = commands.handle;
    must("Lock2", D3DKMTLock2(&lock));
    driver->memory = lock.pData;
    map(driver, &commands, (uintptr_t)driver->memory); /* where the CPU sees it */
    make_resident(driver, &commands);
}

/* Starts a copy; the driver's fence has the value behind it. */
static uint64_t copy(struct driver *driver, uint64_t to, uint64_t from, uint64_t bytes)
{
    struct {
        struct sgpu_packet_copy copy;
        struct sgpu_packet_fence fence;
    } packets = {
        .copy = {.header = SGPU_PACKET_HEADER(SGPU_OP_COPY, sizeof packets.copy / 4),
                 .source = from,
                 .destination = to,
                 .bytes = bytes},
        .fence = {.header = SGPU_PACKET_HEADER(SGPU_OP_FENCE, sizeof packets.fence / 4),
                  .address = driver->fence_va,
                  .value = ++driver->value},
    };
    D3DKMT_SUBMITCOMMAND call = {.CommandLength = sizeof packets, .BroadcastContextCount = 1};

    memcpy(driver->memory + driver->at, &packets, sizeof packets);
    call.Commands = (uintptr_t)driver->memory + driver->at;
    call.BroadcastContext[0] = driver->context;
    driver->at = (driver->at + 128) % COMMAND_BYTES;
    must("SubmitCommand", D3DKMTSubmitCommand(&call));
    return driver->value;
}

/* Work that is submitted from here on waits until let_go(). */
static void hold(struct driver *driver)
{
    const UINT64 value = 1;
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 gate = {.Info = {.Type = D3DDDI_MONITORED_FENCE}};
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU wait = {
        .ObjectCount = 1, .ObjectHandleArray = &driver->gate, .MonitoredFenceValueArray = &value};

    gate.hDevice = driver->device;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&gate));
    driver->gate = gate.hSyncObject;
    wait.hContext = driver->context;
    must("WaitForSynchronizationObjectFromGpu", D3DKMTWaitForSynchronizationObjectFromGpu(&wait));
}

static void let_go(struct driver *driver)
{
    const UINT64 value = 1;

    must("SignalSynchronizationObjectFromCpu",
         D3DKMTSignalSynchronizationObjectFromCpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = driver->device,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &driver->gate,
                                                          .FenceValueArray = &value}));
}

/* One transfer between the application's memory and a buffer, by the GPU. */
static void transfer(struct driver *driver, const struct buffer *buffer, uint8_t *memory,
                     int is_read)
{
    struct buffer host =
        create(driver, SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY, buffer->bytes, memory);

    map(driver, &host, 0);
    make_resident(driver, &host);
    make_resident(driver, buffer);
    mprotect(memory, buffer->bytes, PROT_NONE);
    wait_until(driver, driver->fence,
               is_read ? copy(driver, host.va, buffer->va, buffer->bytes)
                       : copy(driver, buffer->va, host.va, buffer->bytes));
    mprotect(memory, buffer->bytes, PROT_READ | PROT_WRITE);
    evict(driver, buffer);
    destroy(driver, &host);
}

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

/* ---- Locks ----------------------------------------------------------------------------------- */

#define RECORD_BYTES 65536u
#define RECORD_WORDS (RECORD_BYTES / 8)
#define HELD_LOCKS   8u /* of each thread, at any time */

struct record {
    struct buffer buffer;
    uint64_t seed;    /* of what it holds; 0: nothing yet */
    uint64_t *memory; /* while it is locked */
};

struct locker {
    unsigned number, count, rounds;
    uint64_t wrong, written, copied, random;
};

static uint64_t next_random(struct locker *locker)
{
    locker->random = locker->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return locker->random >> 24;
}

/* The last word is a sum of those in front of it. */
static void write_record(struct record *record, uint64_t seed)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i + 1 < RECORD_WORDS; i++) {
        record->memory[i] = (i + seed) * UINT64_C(0x9e3779b97f4a7c15);
        sum += record->memory[i];
    }
    record->memory[RECORD_WORDS - 1] = sum;
    record->seed = seed;
}

static uint64_t wrong_words(const struct record *record)
{
    uint64_t sum = 0, wrong = 0;

    for (unsigned i = 0; record->seed && i + 1 < RECORD_WORDS; i++) {
        wrong += record->memory[i] != (i + record->seed) * UINT64_C(0x9e3779b97f4a7c15);
        sum += record->memory[i];
    }
    return wrong + (record->seed && sum != record->memory[RECORD_WORDS - 1]);
}

static void lock_record(struct locker *locker, struct driver *driver, struct record *record)
{
    D3DKMT_LOCK2 lock = {.hDevice = driver->device, .hAllocation = record->buffer.handle};

    must("Lock2", D3DKMTLock2(&lock));
    record->memory = lock.pData;
    locker->wrong += wrong_words(record);
}

static void unlock_record(struct driver *driver, struct record *record)
{
    must("Unlock2", D3DKMTUnlock2(&(D3DKMT_UNLOCK2){.hDevice = driver->device,
                                                    .hAllocation = record->buffer.handle}));
    record->memory = NULL;
}

/* The GPU copies one that is not locked to another one. */
static void copy_record(struct locker *locker, struct driver *driver, struct record *to,
                        const struct record *from)
{
    if (to == from || to->memory || from->memory)
        return;
    make_resident(driver, &from->buffer);
    make_resident(driver, &to->buffer);
    wait_until(driver, driver->fence, copy(driver, to->buffer.va, from->buffer.va, RECORD_BYTES));
    evict(driver, &from->buffer);
    evict(driver, &to->buffer);
    to->seed = from->seed;
    locker->copied++;
}

static void *play_locks(void *context)
{
    struct locker *locker = context;
    struct record *records = calloc(locker->count, sizeof *records);
    struct driver driver;

    start(&driver);
    for (unsigned i = 0; i < locker->count; i++) {
        records[i].buffer = create(&driver, SGPU_UMD_CPU_VISIBLE, RECORD_BYTES, NULL);
        map(&driver, &records[i].buffer, 0);
    }
    for (unsigned round = 0; round < locker->rounds; round++) {
        struct record *oldest = &records[(round + locker->count - HELD_LOCKS) % locker->count];
        struct record *one = &records[round % locker->count];

        if (oldest->memory) {
            locker->wrong += wrong_words(oldest);
            unlock_record(&driver, oldest);
        }
        lock_record(locker, &driver, one);
        for (unsigned i = 0; i < 4; i++) { /* into those that are locked, whichever they are */
            one = &records[next_random(locker) % locker->count];
            if (one->memory) {
                locker->wrong += wrong_words(one);
                write_record(one, next_random(locker) | 1);
                locker->written++;
            }
        }
        for (unsigned i = 0; i < 4; i++)
            copy_record(locker, &driver, &records[next_random(locker) % locker->count],
                        &records[next_random(locker) % locker->count]);
    }
    for (unsigned i = 0; i < locker->count; i++) {
        if (!records[i].memory)
            lock_record(locker, &driver, &records[i]);
        locker->wrong += wrong_words(&records[i]);
        unlock_record(&driver, &records[i]);
    }
    must("DestroyDevice", D3DKMTDestroyDevice(&(D3DKMT_DESTROYDEVICE){driver.device}));
    free(records);
    return NULL;
}

static int locks(unsigned count, unsigned threads, unsigned rounds)
{
    struct locker lockers[64] = {{0}};
    pthread_t handles[64];
    uint64_t wrong = 0, written = 0, copied = 0;

    for (unsigned i = 0; i < threads; i++) {
        lockers[i] = (struct locker){
            .number = i, .count = count / threads, .rounds = rounds, .random = i + 1};
        pthread_create(&handles[i], NULL, play_locks, &lockers[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        wrong += lockers[i].wrong;
        written += lockers[i].written;
        copied += lockers[i].copied;
    }
    printf("%llu wrong words in %u records, of which %llu times one was written through a lock and "
           "%llu times copied by the GPU\n",
           (unsigned long long)wrong, count, (unsigned long long)written,
           (unsigned long long)copied);
    must("CloseAdapter", D3DKMTCloseAdapter(&(D3DKMT_CLOSEADAPTER){adapter}));
    return wrong != 0;
}

/* ---- What a call costs ----------------------------------------------------------------------- */

#define BATCH   250u
#define BATCHES 400u

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Microseconds of one, in the median batch and in the fastest. */
static void measure(void (*one)(void *context), void *context, double *median, double *fastest)
{
    static double costs[BATCHES];

    for (unsigned batch = 0; batch < BATCHES; batch++) {
        struct timespec begin, end;

        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (unsigned i = 0; i < BATCH; i++)
            one(context);
        clock_gettime(CLOCK_MONOTONIC, &end);
        costs[batch] =
            ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
            1e3 / BATCH;
    }
    qsort(costs, BATCHES, sizeof *costs, by_value);
    *median = costs[BATCHES / 2];
    *fastest = costs[0];
}

static void one_call(void *context)
{
    must("GetDeviceState", D3DKMTGetDeviceState(context));
}

static void one_round_trip(void *context)
{
    const int file = *(const int *)context;
    char message[80] = "";

    if (send(file, message, sizeof message, MSG_NOSIGNAL) != (ssize_t)sizeof message ||
        recv(file, message, sizeof message, MSG_WAITALL) != (ssize_t)sizeof message)
        fail("a socket", 0);
}

static void futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

/* Two wakes by futex, to another process and back, with nothing between. */
static void one_pair_of_wakes(void *context)
{
    _Atomic uint32_t *word = context;

    atomic_store(word, 1);
    futex(word, FUTEX_WAKE, 1);
    while (atomic_load(word) == 1)
        futex(word, FUTEX_WAIT, 1);
}

static void measure_wakes(double *median, double *fastest)
{
    _Atomic uint32_t *word =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;

    if (word == MAP_FAILED)
        fail("a page", 0);
    child = fork();
    while (child == 0 && atomic_load(word) != 2) {
        if (atomic_load(word) == 0) {
            futex(word, FUTEX_WAIT, 0);
            continue;
        }
        atomic_store(word, 0);
        futex(word, FUTEX_WAKE, 1);
    }
    if (child == 0)
        _exit(0);
    measure(one_pair_of_wakes, word, median, fastest);
    atomic_store(word, 2);
    futex(word, FUTEX_WAKE, 1);
    waitpid(child, NULL, 0);
    munmap(word, 4096);
}

/* Microseconds of processor time that a process has used; 0: it is another's. */
static double used_us(pid_t process)
{
    struct timespec used = {0};
    clockid_t clock;

    if (!clock_getcpuclockid(process, &clock))
        clock_gettime(clock, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

/*
 * The call, and what of it are times of processors, of this process and of the server, which has
 * started it; a round trip of such a message to a process that answers at once; and what two wakes
 * alone take there.
 */
static int calls(void)
{
    double median, fastest, socket_median, socket_fastest, wakes_median, wakes_fastest;
    double own, server;
    struct driver driver;
    D3DKMT_GETDEVICESTATE state = {.StateType = D3DKMT_DEVICESTATE_EXECUTION};
    char message[80] = "";
    int files[2];
    pid_t child;

    start(&driver);
    state.hDevice = driver.device;
    own = used_us(getpid());
    server = used_us(getppid());
    measure(one_call, &state, &median, &fastest);
    own = (used_us(getpid()) - own) / (BATCH * BATCHES);
    server = (used_us(getppid()) - server) / (BATCH * BATCHES);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, files))
        fail("a socket", 0);
    child = fork();
    if (child == 0) {
        close(files[0]);
        while (recv(files[1], message, sizeof message, MSG_WAITALL) == (ssize_t)sizeof message)
            send(files[1], message, sizeof message, MSG_NOSIGNAL);
        _exit(0);
    }
    close(files[1]);
    measure(one_round_trip, &files[0], &socket_median, &socket_fastest);
    close(files[0]);
    waitpid(child, NULL, 0);
    measure_wakes(&wakes_median, &wakes_fastest);
    printf(
        "a call: %.2f us (fastest batch %.2f), of processors %.2f us here and %.2f us in the "
        "server; a round trip of such a message through a socket: %.2f us (%.2f); two bare wakes: "
        "%.2f us (%.2f), a call is %.2f of them (%.2f)\n",
        median, fastest, own, server, socket_median, socket_fastest, wakes_median, wakes_fastest,
        median / wakes_median, fastest / wakes_fastest);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const unsigned buffers = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    const uint64_t bytes = argc > 3 ? (uint64_t)atoi(argv[3]) << 20 : 0;
    const unsigned rounds = argc > 4 ? (unsigned)atoi(argv[4]) : 1;
    const unsigned threads = argc > 5 ? (unsigned)atoi(argv[5]) : 1;

    if (!strcmp(what, "share") && buffers && bytes)
        return share(buffers, bytes);
    open_adapter();
    if (!strcmp(what, "copy") && buffers && bytes && threads && threads <= 64)
        return copies(buffers, bytes, rounds, threads);
    if (!strcmp(what, "keep") && buffers && bytes)
        return keep(buffers, bytes, rounds, argc > 5 ? argv[5] : NULL);
    if (!strcmp(what, "die") && buffers && bytes)
        return die(buffers, bytes);
    if (!strcmp(what, "locks") && argc > 4 && atoi(argv[3]) > 0 && atoi(argv[3]) <= 64 &&
        atoi(argv[2]) / atoi(argv[3]) > (int)HELD_LOCKS)
        return locks((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]));
    if (!strcmp(what, "calls"))
        return calls();
    if (!strcmp(what, "wait"))
        return wait_for_ever();
    if (!strcmp(what, "wild"))
        return point_wildly();
    if (!strcmp(what, "careless"))
        return careless();
    if (!strcmp(what, "lie"))
        return lie();
    fprintf(stderr, "usage: client copy|keep|locks|die|wait|calls|share|careless|wild|lie ...\n");
    return 2;
}
