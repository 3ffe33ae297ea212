/*
 * Two processes that share a resource and a fence: one makes them, the other one gets descriptors
 * by a socket or by fork(), both work on the memory in turns and compare each word. And what is not
 * lawful: other descriptors, closed ones, processes that end amid it.
 */
#define _GNU_SOURCE
#include "client.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 2 };

static const char runtime_data[] = "made by the first process";

struct shared {
    D3DKMT_HANDLE resource, fence;
    struct buffer buffers[COUNT];
    const volatile uint64_t *value;
    uint64_t fence_va;
    int files[2]; /* NT handles: of the resource, of the fence */
};

/* ---- Making, sharing, opening ---------------------------------------------------------------- */

static int share_object(D3DKMT_HANDLE object)
{
    HANDLE shared = NULL;

    must("ShareObjects", D3DKMTShareObjects(1, &object, NULL, 1, &shared));
    if (!(fcntl((int)(intptr_t)shared, F_GETFD) & FD_CLOEXEC))
        fail("an NT handle that programs inherit", 0);
    return (int)(intptr_t)shared;
}

static D3DKMT_HANDLE make_resource(struct driver *driver, uint64_t bytes, int is_by_nt_handles,
                                   struct buffer *out_buffers, D3DKMT_HANDLE *out_global)
{
    struct sgpu_umd_allocation data[COUNT];
    D3DDDI_ALLOCATIONINFO2 infos[COUNT];
    D3DKMT_CREATEALLOCATION call = {.hDevice = driver->device,
                                    .pPrivateRuntimeData = runtime_data,
                                    .PrivateRuntimeDataSize = sizeof runtime_data,
                                    .NumAllocations = COUNT,
                                    .pAllocationInfo2 = infos,
                                    .Flags = {{{.CreateResource = 1, .CreateShared = 1}}}};

    call.Flags.NtSecuritySharing = is_by_nt_handles != 0;
    for (unsigned i = 0; i < COUNT; i++) {
        data[i] = (struct sgpu_umd_allocation){.version = SGPU_UMD_VERSION,
                                               .flags = SGPU_UMD_NO_APERTURE | SGPU_UMD_CPU_VISIBLE,
                                               .bytes = bytes};
        infos[i] = (D3DDDI_ALLOCATIONINFO2){.pPrivateDriverData = &data[i],
                                            .PrivateDriverDataSize = sizeof data[i]};
    }
    must("CreateAllocation2", D3DKMTCreateAllocation2(&call));
    for (unsigned i = 0; i < COUNT; i++)
        out_buffers[i] = (struct buffer){.handle = infos[i].hAllocation, .bytes = bytes};
    *out_global = call.hGlobalShare;
    return call.hResource;
}

static void make(struct driver *driver, uint64_t bytes, struct shared *shared)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.hDevice = driver->device,
                                                 .Info = {.Type = D3DDDI_MONITORED_FENCE}};
    D3DKMT_HANDLE global;

    shared->resource = make_resource(driver, bytes, 1, shared->buffers, &global);
    fence.Info.Flags.Shared = fence.Info.Flags.NtSecuritySharing = 1;
    must("CreateSynchronizationObject2", D3DKMTCreateSynchronizationObject2(&fence));
    shared->fence = fence.hSyncObject;
    shared->value = fence.Info.MonitoredFence.FenceValueCPUVirtualAddress;
    shared->fence_va = fence.Info.MonitoredFence.FenceValueGPUVirtualAddress;
    shared->files[0] = share_object(shared->resource);
    shared->files[1] = share_object(shared->fence);
}

static NTSTATUS query(const struct driver *driver, int file,
                      D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *out_info)
{
    *out_info = (D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE){.hDevice = driver->device,
                                                       .hNtHandle = (HANDLE)(intptr_t)file};
    return D3DKMTQueryResourceInfoFromNtHandle(out_info);
}

struct opening {
    char runtime[64];
    struct sgpu_umd_allocation data[COUNT];
    D3DDDI_OPENALLOCATIONINFO2 infos[COUNT];
    D3DKMT_OPENRESOURCEFROMNTHANDLE call;
};

static NTSTATUS open_resource(const struct driver *driver, int file, unsigned count,
                              struct opening *opening)
{
    memset(opening, 0, sizeof *opening);
    opening->call =
        (D3DKMT_OPENRESOURCEFROMNTHANDLE){.hDevice = driver->device,
                                          .hNtHandle = (HANDLE)(intptr_t)file,
                                          .NumAllocations = count,
                                          .pOpenAllocationInfo2 = opening->infos,
                                          .PrivateRuntimeDataSize = sizeof opening->runtime,
                                          .pPrivateRuntimeData = opening->runtime,
                                          .TotalPrivateDriverDataBufferSize = sizeof opening->data,
                                          .pTotalPrivateDriverDataBuffer = opening->data};
    return D3DKMTOpenResourceFromNtHandle(&opening->call);
}

static NTSTATUS open_fence(const struct driver *driver, int file,
                           D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *out_call)
{
    *out_call = (D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2){.hNtHandle = (HANDLE)(intptr_t)file,
                                                     .hDevice = driver->device};
    return D3DKMTOpenSyncObjectFromNtHandle2(out_call);
}

static void open_shared(struct driver *driver, const int files[2], uint64_t bytes,
                        struct shared *shared)
{
    D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE info;
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 fence;
    struct opening opening;

    must("QueryResourceInfoFromNtHandle", query(driver, files[0], &info));
    if (info.NumAllocations != COUNT || info.PrivateRuntimeDataSize != sizeof runtime_data ||
        info.TotalPrivateDriverDataSize != sizeof opening.data ||
        info.ResourcePrivateDriverDataSize)
        fail("QueryResourceInfoFromNtHandle: sizes", 0);
    must("OpenResourceFromNtHandle", open_resource(driver, files[0], COUNT, &opening));
    if (strcmp(opening.runtime, runtime_data) != 0)
        fail("OpenResourceFromNtHandle: runtime data", 0);
    shared->resource = opening.call.hResource;
    for (unsigned i = 0; i < COUNT; i++) {
        const D3DDDI_OPENALLOCATIONINFO2 *info2 = &opening.infos[i];

        if (info2->pPrivateDriverData != &opening.data[i] || opening.data[i].bytes != bytes ||
            info2->PrivateDriverDataSize != sizeof opening.data[i])
            fail("OpenResourceFromNtHandle: private data", 0);
        shared->buffers[i] = (struct buffer){.handle = info2->hAllocation, .bytes = bytes};
    }
    must("OpenSyncObjectFromNtHandle2", open_fence(driver, files[1], &fence));
    shared->fence = fence.hSyncObject;
    shared->value = fence.MonitoredFence.FenceValueCPUVirtualAddress;
    shared->fence_va = fence.MonitoredFence.FenceValueGPUVirtualAddress;
}

static void destroy_resource(const struct driver *driver, D3DKMT_HANDLE resource)
{
    must("DestroyAllocation2", D3DKMTDestroyAllocation2(&(D3DKMT_DESTROYALLOCATION2){
                                   .hDevice = driver->device, .hResource = resource}));
}

/* ---- Descriptors on their way ---------------------------------------------------------------- */

static void send_files(int socket, const int files[2])
{
    char byte = 1;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr pack = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes};

    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(2 * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), files, 2 * sizeof(int));
    if (sendmsg(socket, &pack, 0) != 1)
        fail("sendmsg", 0);
}

static void take_files(int socket, int files[2])
{
    char byte;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr pack = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes};

    if (recvmsg(socket, &pack, MSG_CMSG_CLOEXEC) != 1 ||
        control.header.cmsg_len != CMSG_LEN(2 * sizeof(int)))
        fail("recvmsg", 0);
    memcpy(files, CMSG_DATA(&control.header), 2 * sizeof(int));
}

/* ---- Work ------------------------------------------------------------------------------------ */

static uint64_t word_of(uint64_t seed, uint64_t i)
{
    return (seed << 40 | i) * 0x9e3779b97f4a7c15;
}

static uint64_t *lock(const struct driver *driver, const struct buffer *buffer)
{
    D3DKMT_LOCK2 call = {.hDevice = driver->device, .hAllocation = buffer->handle};

    must("Lock2", D3DKMTLock2(&call));
    return call.pData;
}

static void unlock(const struct driver *driver, const struct buffer *buffer)
{
    must("Unlock2", D3DKMTUnlock2(&(D3DKMT_UNLOCK2){.hDevice = driver->device,
                                                    .hAllocation = buffer->handle}));
}

static void fill(const struct driver *driver, const struct buffer *buffer, uint64_t seed)
{
    uint64_t *words = lock(driver, buffer);

    for (uint64_t i = 0; i < buffer->bytes / 8; i++)
        words[i] = word_of(seed, i);
    unlock(driver, buffer);
}

static uint64_t wrong_words(const struct driver *driver, const struct buffer *buffer, uint64_t seed)
{
    const uint64_t *words = lock(driver, buffer);
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < buffer->bytes / 8; i++)
        wrong += words[i] != word_of(seed, i);
    unlock(driver, buffer);
    return wrong;
}

static void signal_by_cpu(const struct driver *driver, D3DKMT_HANDLE fence, UINT64 value)
{
    must("SignalSynchronizationObjectFromCpu",
         D3DKMTSignalSynchronizationObjectFromCpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU){.hDevice = driver->device,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &fence,
                                                          .FenceValueArray = &value}));
}

static void signal_by_gpu(const struct driver *driver, D3DKMT_HANDLE fence, UINT64 value)
{
    must("SignalSynchronizationObjectFromGpu",
         D3DKMTSignalSynchronizationObjectFromGpu(
             &(D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU){.hContext = driver->context,
                                                          .ObjectCount = 1,
                                                          .ObjectHandleArray = &fence,
                                                          .MonitoredFenceValueArray = &value}));
}

/* What the process has for itself is used, and takes the room of what is shared. */
static void crowd(struct driver *driver, const struct buffer own[COUNT])
{
    for (unsigned i = 0; i < COUNT; i++)
        make_resident(driver, &own[i]);
    wait_until(driver, driver->fence, copy(driver, own[1].va, own[0].va, own[0].bytes));
    for (unsigned i = 0; i < COUNT; i++)
        evict(driver, &own[i]);
}

static void make_own(struct driver *driver, uint64_t bytes, struct buffer own[COUNT])
{
    for (unsigned i = 0; i < COUNT; i++) {
        own[i] = create(driver, SGPU_UMD_NO_APERTURE, bytes, NULL);
        map(driver, &own[i], 0);
    }
}

static void copy_shared(struct driver *driver, struct shared *shared)
{
    for (unsigned i = 0; i < COUNT; i++)
        make_resident(driver, &shared->buffers[i]);
    wait_until(
        driver, driver->fence,
        copy(driver, shared->buffers[1].va, shared->buffers[0].va, shared->buffers[0].bytes));
    for (unsigned i = 0; i < COUNT; i++)
        evict(driver, &shared->buffers[i]);
}

/* Copies what it finds by the GPU, and writes over it by the CPU. */
static int play_opener(const int files[2], uint64_t bytes, unsigned rounds)
{
    struct driver driver;
    struct shared shared;
    struct buffer own[COUNT];

    open_adapter();
    start(&driver);
    open_shared(&driver, files, bytes, &shared);
    close(files[0]);
    close(files[1]);
    make_own(&driver, bytes, own);
    for (unsigned i = 0; i < COUNT; i++)
        map(&driver, &shared.buffers[i], 0);
    for (uint64_t round = 0; round < rounds; round++) {
        wait_until(&driver, shared.fence, 2 * round + 1);
        copy_shared(&driver, &shared);
        crowd(&driver, own);
        fill(&driver, &shared.buffers[0], 1000 + round);
        if (round % 2)
            signal_by_gpu(&driver, shared.fence, 2 * round + 2);
        else
            signal_by_cpu(&driver, shared.fence, 2 * round + 2);
    }
    wait_until(&driver, shared.fence, 2 * rounds + 1);
    destroy_resource(&driver, shared.resource);
    return 0;
}

static uint64_t play_maker(struct driver *driver, struct shared *shared, unsigned rounds)
{
    struct buffer own[COUNT];
    uint64_t wrong = 0;

    make_own(driver, shared->buffers[0].bytes, own);
    for (uint64_t round = 0; round < rounds; round++) {
        fill(driver, &shared->buffers[0], round);
        crowd(driver, own);
        signal_by_cpu(driver, shared->fence, 2 * round + 1);
        wait_until(driver, shared->fence, 2 * round + 2);
        wrong += *shared->value < 2 * round + 2;
        wrong += wrong_words(driver, &shared->buffers[1], round);
        crowd(driver, own);
        wrong += wrong_words(driver, &shared->buffers[0], 1000 + round);
    }
    signal_by_cpu(driver, shared->fence, 2 * rounds + 1);
    return wrong;
}

static int ended_well(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The names of what the process with that number shares: two, of the same length. */
#define NAMES 2u
static UNICODE_STRING name_it(unsigned which, pid_t maker, WCHAR units[32])
{
    char text[32];
    UNICODE_STRING name = {.Buffer = units};

    name.Length = (USHORT)(2 * snprintf(text, sizeof text, "\\Shared\\%u-%d", which, (int)maker));
    name.MaximumLength = name.Length;
    for (unsigned i = 0; i < name.Length / 2u; i++)
        units[i] = (WCHAR)text[i];
    return name;
}

static int share_by_name(D3DKMT_HANDLE object, unsigned which)
{
    WCHAR units[32];
    UNICODE_STRING name = name_it(which, getpid(), units);
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof attributes, .ObjectName = &name};
    HANDLE shared = NULL;

    must("ShareObjects", D3DKMTShareObjects(1, &object, &attributes, 1, &shared));
    return (int)(intptr_t)shared;
}

static NTSTATUS open_by_name(unsigned which, int is_fence, pid_t maker, int *out_file)
{
    WCHAR units[32];
    UNICODE_STRING name = name_it(which, maker, units);
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof attributes, .ObjectName = &name};
    D3DKMT_OPENNTHANDLEFROMNAME resource = {.dwDesiredAccess = 1, .pObjAttrib = &attributes};
    D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME fence = {.dwDesiredAccess = 1, .pObjAttrib = &attributes};
    const NTSTATUS status = is_fence ? D3DKMTOpenSyncObjectNtHandleFromName(&fence)
                                     : D3DKMTOpenNtHandleFromName(&resource);

    *out_file = (int)(intptr_t)(is_fence ? fence.hNtHandle : resource.hNtHandle);
    return status;
}

/* One word there, that names are given, and one back, that they are not needed any more. */
static void pass_word(int socket, int is_there)
{
    char word = 0;

    if (is_there ? write(socket, &word, 1) != 1 : read(socket, &word, 1) != 1)
        fail("a word by the socket", 0);
}

static void take_by_names(int socket, int files[NAMES])
{
    const pid_t maker = getppid();
    int none;

    pass_word(socket, 0);
    if (open_by_name(0, 0, maker + 1, &none) != STATUS_OBJECT_NAME_NOT_FOUND)
        fail("a name that nobody has given leads somewhere", 0);
    for (unsigned i = 0; i < NAMES; i++)
        must("OpenNtHandleFromName", open_by_name(i, i == 1, maker, &files[i]));
    pass_word(socket, 1);
}

/* The names go with the last descriptor of the object, which the other process may have. */
static void give_by_names(int socket, struct shared *shared)
{
    for (unsigned i = 0; i < NAMES; i++) {
        close(shared->files[i]);
        shared->files[i] = share_by_name(i ? shared->fence : shared->resource, i);
    }
    pass_word(socket, 1);
    pass_word(socket, 0);
}

/* The other process is there first, and gets its descriptors by a socket, or by names. */
static pid_t start_by_socket(int *out_socket, int is_by_names, uint64_t bytes, unsigned rounds)
{
    int ends[2], files[2];
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        fail("socketpair", 0);
    child = fork();
    if (!child) {
        close(ends[0]);
        if (is_by_names)
            take_by_names(ends[1], files);
        else
            take_files(ends[1], files);
        _exit(play_opener(files, bytes, rounds));
    }
    close(ends[1]);
    *out_socket = ends[0];
    return child;
}

int sharing(uint64_t bytes, unsigned rounds, const char *how)
{
    const int is_by_fork = !strcmp(how, "fork"), is_by_names = !strcmp(how, "name");
    struct driver driver;
    struct shared shared;
    uint64_t wrong;
    int socket = -1;
    pid_t child = is_by_fork ? 0 : start_by_socket(&socket, is_by_names, bytes, rounds);

    open_adapter();
    start(&driver);
    make(&driver, bytes, &shared);
    if (is_by_fork) {
        child = fork();
        if (!child)
            _exit(play_opener(shared.files, bytes, rounds));
    } else if (is_by_names) {
        give_by_names(socket, &shared);
    } else {
        send_files(socket, shared.files);
    }
    close(shared.files[0]);
    close(shared.files[1]);
    wrong = play_maker(&driver, &shared, rounds);
    if (!ended_well(child))
        fail("the other process", 0);
    wrong += wrong_words(&driver, &shared.buffers[0], 1000 + rounds - 1);
    destroy_resource(&driver, shared.resource);
    printf("%llu wrong words\n", (unsigned long long)wrong);
    return wrong != 0;
}

/* ---- What is wrong --------------------------------------------------------------------------- */

static unsigned right, asked;

static void expect(const char *what, NTSTATUS status, NTSTATUS expected)
{
    asked++;
    right += status == expected;
    if (status != expected)
        printf("wrong: %s: 0x%x, expected 0x%x\n", what, (unsigned)status, (unsigned)expected);
}

/* Nothing that the process can make itself names anything. */
static void try_descriptor(const struct driver *driver, const char *what, int file)
{
    D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE info;
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 fence;
    struct opening opening;

    expect(what, query(driver, file, &info), STATUS_INVALID_HANDLE);
    expect(what, open_resource(driver, file, COUNT, &opening), STATUS_INVALID_HANDLE);
    expect(what, open_fence(driver, file, &fence), STATUS_INVALID_HANDLE);
}

static void try_others(const struct driver *driver)
{
    int pipes[2], sockets[2];

    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        fail("pipe", 0);
    try_descriptor(driver, "a pipe's writing end", pipes[1]);
    try_descriptor(driver, "a pipe's reading end", pipes[0]);
    try_descriptor(driver, "a socket", sockets[0]);
    try_descriptor(driver, "an event", eventfd(0, EFD_CLOEXEC));
    try_descriptor(driver, "memory", memfd_create("pipe:[1]", MFD_CLOEXEC));
    try_descriptor(driver, "a device", open("/dev/null", O_RDWR | O_CLOEXEC));
    try_descriptor(driver, "a folder", open("/", O_RDONLY | O_CLOEXEC));
    try_descriptor(driver, "a path", open("/", O_PATH | O_CLOEXEC));
    try_descriptor(driver, "no descriptor", 1000000);
    try_descriptor(driver, "a negative one", -1);
}

/* An opener that is killed amid its work, with everything open and locked. */
static void die_with_it(const int files[2], uint64_t bytes)
{
    struct driver driver;
    struct shared shared;

    open_adapter();
    start(&driver);
    open_shared(&driver, files, bytes, &shared);
    for (unsigned i = 0; i < COUNT; i++)
        map(&driver, &shared.buffers[i], 0);
    make_resident(&driver, &shared.buffers[0]);
    make_resident(&driver, &shared.buffers[1]);
    lock(&driver, &shared.buffers[0])[0] = word_of(5, 0);
    copy(&driver, shared.buffers[1].va, shared.buffers[0].va, bytes);
    signal_by_cpu(&driver, shared.fence, 1);
    kill(getpid(), SIGKILL);
}

/* The maker is killed when the other one has it: who has it, has it still. */
static int outlive_maker(uint64_t bytes)
{
    struct driver driver;
    struct shared shared;
    int ends[2], files[2];
    uint64_t wrong = 0;
    pid_t maker;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        fail("socketpair", 0);
    maker = fork();
    if (!maker) {
        open_adapter();
        start(&driver);
        make(&driver, bytes, &shared);
        fill(&driver, &shared.buffers[0], 6);
        send_files(ends[1], shared.files);
        pause();
    }
    take_files(ends[0], files);
    open_adapter();
    start(&driver);
    open_shared(&driver, files, bytes, &shared);
    kill(maker, SIGKILL);
    waitpid(maker, NULL, 0);
    for (unsigned i = 0; i < COUNT; i++)
        map(&driver, &shared.buffers[i], 0);
    copy_shared(&driver, &shared);
    wrong += wrong_words(&driver, &shared.buffers[0], 6);
    wrong += wrong_words(&driver, &shared.buffers[1], 6);
    destroy_resource(&driver, shared.resource);
    /* Only the descriptors have it now; then nobody. */
    open_shared(&driver, files, bytes, &shared);
    wrong += wrong_words(&driver, &shared.buffers[1], 6);
    destroy_resource(&driver, shared.resource);
    return wrong != 0;
}

static void try_calls(struct driver *driver, struct shared *shared)
{
    D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE info;
    D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 fence;
    struct opening opening;
    struct buffer plain = create(driver, 0, 65536, NULL);
    D3DKMT_HANDLE handles[2] = {plain.handle, shared->resource}, global;
    struct buffer buffers[COUNT];
    HANDLE nothing = NULL;

    expect("an allocation of no shared resource", D3DKMTShareObjects(1, handles, NULL, 1, &nothing),
           STATUS_INVALID_PARAMETER);
    expect("a fence of its own", D3DKMTShareObjects(1, &driver->fence, NULL, 1, &nothing),
           STATUS_INVALID_PARAMETER);
    expect("two objects", D3DKMTShareObjects(2, handles, NULL, 1, &nothing),
           STATUS_INVALID_PARAMETER);
    expect("no object", D3DKMTShareObjects(0, handles, NULL, 1, &nothing),
           STATUS_INVALID_PARAMETER);
    handles[0] = make_resource(driver, 65536, 0, buffers, &global);
    expect("one with a global handle", D3DKMTShareObjects(1, handles, NULL, 1, &nothing),
           STATUS_INVALID_PARAMETER);
    expect("a fence as a resource", open_resource(driver, shared->files[1], COUNT, &opening),
           STATUS_INVALID_HANDLE);
    expect("a resource as a fence", open_fence(driver, shared->files[0], &fence),
           STATUS_INVALID_HANDLE);
    expect("one allocation too few", open_resource(driver, shared->files[0], COUNT - 1, &opening),
           STATUS_INVALID_PARAMETER);
    info = (D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE){.hDevice = adapter,
                                                  .hNtHandle = (HANDLE)(intptr_t)shared->files[0]};
    expect("no device", D3DKMTQueryResourceInfoFromNtHandle(&info), STATUS_INVALID_PARAMETER);
    expect("a guess",
           D3DKMTOpenResource(
               &(D3DKMT_OPENRESOURCE){.hDevice = driver->device, .hGlobalShare = global + 1}),
           STATUS_INVALID_PARAMETER);
}

static void try_names(const struct shared *shared)
{
    const HANDLE somewhere = (HANDLE)(intptr_t)shared->files[0];
    WCHAR units[32];
    UNICODE_STRING name = name_it(0, getpid(), units), cut = name;
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof attributes, .ObjectName = &name};
    D3DKMT_OPENNTHANDLEFROMNAME open = {.pObjAttrib = &attributes};
    HANDLE nothing = NULL;
    int file, named;

    expect("a name that is not given yet", open_by_name(0, 0, getpid(), &file),
           STATUS_OBJECT_NAME_NOT_FOUND);
    named = share_by_name(shared->resource, 0);
    expect("a resource's name for a fence", open_by_name(0, 1, getpid(), &file),
           STATUS_OBJECT_TYPE_MISMATCH);
    expect("a name that is taken", D3DKMTShareObjects(1, &shared->fence, &attributes, 1, &nothing),
           STATUS_OBJECT_NAME_COLLISION);
    attributes.RootDirectory = somewhere;
    expect("a name below what is no directory", D3DKMTOpenNtHandleFromName(&open),
           STATUS_INVALID_HANDLE);
    attributes.RootDirectory = NULL;
    cut.Buffer++;
    cut.Length -= 2;
    attributes.ObjectName = &cut;
    expect("a name without a root", D3DKMTOpenNtHandleFromName(&open),
           STATUS_OBJECT_PATH_SYNTAX_BAD);
    attributes.ObjectName = &name;
    attributes.Length--;
    expect("attributes of another length",
           D3DKMTShareObjects(1, &shared->fence, &attributes, 1, &nothing),
           STATUS_INVALID_PARAMETER);
    expect("the same to open", D3DKMTOpenNtHandleFromName(&open), STATUS_INVALID_PARAMETER);
    attributes.Length++;
    attributes.ObjectName = NULL;
    expect("no name", D3DKMTOpenNtHandleFromName(&open), STATUS_INVALID_PARAMETER);
    open.pObjAttrib = NULL;
    expect("no attributes", D3DKMTOpenNtHandleFromName(&open), STATUS_INVALID_PARAMETER);
    expect("the name as it is", open_by_name(0, 0, getpid(), &file), STATUS_SUCCESS);
    close(file);
    close(named);
}

int sharing_lies(uint64_t bytes)
{
    struct driver driver;
    struct shared shared;
    int copies[2], status;
    pid_t child = fork();

    if (!child)
        _exit(outlive_maker(bytes));
    asked++;
    right += ended_well(child);
    open_adapter();
    start(&driver);
    make(&driver, bytes, &shared);
    try_others(&driver);
    try_calls(&driver, &shared);
    try_names(&shared);

    fill(&driver, &shared.buffers[0], 5);
    for (unsigned i = 0; i < 4; i++) {
        child = fork();
        if (!child)
            die_with_it(shared.files, bytes);
        waitpid(child, &status, 0);
        asked++;
        right += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    wait_until(&driver, shared.fence, 1);
    asked++;
    right += !wrong_words(&driver, &shared.buffers[0], 5);

    /* A copy is as good, and the last one that is closed ends it. */
    copies[0] = dup(shared.files[0]);
    close(shared.files[0]);
    try_descriptor(&driver, "a closed one", shared.files[0]);
    copies[1] = shared.files[1];
    destroy_resource(&driver, shared.resource);
    open_shared(&driver, copies, bytes, &shared);
    asked++;
    right += !wrong_words(&driver, &shared.buffers[0], 5);
    close(copies[0]);
    try_descriptor(&driver, "the last one, closed", copies[0]);
    asked++;
    right += !wrong_words(&driver, &shared.buffers[0], 5);
    destroy_resource(&driver, shared.resource);
    printf("%u of %u right\n", right, asked);
    return right != asked;
}
