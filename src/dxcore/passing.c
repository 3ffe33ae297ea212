#define _GNU_SOURCE
#include "dxcore/passing.h"

#include "base/bits.h"
#include "clients/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASS_VARIABLE     "DRYDOCK_PASS"
#define RECORD_VARIABLE   "DRYDOCK_RECORD"
#define USUAL_LOCAL_BYTES (UINT64_C(4) << 30) /* where the other library does not say */
#define MOST_SYSTEM_BYTES (UINT64_C(1) << 40) /* of a case */

/* Its calls of its own functions are not ours; sanitizers do not have that. */
#ifdef __SANITIZE_ADDRESS__
#define OWN_NAMES_FIRST 0
#else
#define OWN_NAMES_FIRST RTLD_DEEPBIND
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t handles = PTHREAD_MUTEX_INITIALIZER; /* before the lock */
static struct {
    bool is_on;
    void *library; /* the other one; NULL: it could not be opened */
    void *functions[D3DKMT_FN_COUNT];
    /* Of the record; under the lock. */
    pid_t recorded; /* the process; 0: none */
    int memory;     /* its own, as a file: reading does not fault */
    struct seen seen;
    struct recorder_case *recorder;
    uint64_t local_bytes;
    char record[2 * PATH_MAX]; /* its path */
} passing;

static bool read_own(void *client, uint64_t address, void *out, uint64_t bytes)
{
    return pread(passing.memory, out, bytes, (off_t)address) == (ssize_t)bytes;
}

/* The library at the path is the one that asks: it is the other one of one that passes. */
static bool is_own_file(const char *path)
{
    struct stat own, named;
    Dl_info info;

    return dladdr(&passing, &info) && info.dli_fname && !stat(info.dli_fname, &own) &&
           !stat(path, &named) && own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

/* Where the record goes: each process has a file of its own, the second one with its number. */
static bool choose_record(void)
{
    const char *path = getenv(RECORD_VARIABLE);
    char folder[PATH_MAX] = "";
    int length;

    if (!path || !*path)
        return false;
    if (path[0] != '/' && !getcwd(folder, sizeof folder))
        folder[0] = '\0';
    length = snprintf(passing.record, sizeof passing.record, "%s%s%s", folder, folder[0] ? "/" : "",
                      path);
    if (length > 0 && (size_t)length + 12 < sizeof passing.record && !access(passing.record, F_OK))
        snprintf(passing.record + length, 12, ".%d", (int)getpid());
    return true;
}

static void open_library(void)
{
    const struct seen_source source = {.read = read_own};
    const char *path = getenv(PASS_VARIABLE);

    passing.is_on = path && *path && !is_own_file(path);
    if (!passing.is_on)
        return;
    /* Not dlopen(): libdrydock-wsl.so gives this library in place of WSL's there. */
    passing.library = dlmopen(LM_ID_BASE, path, RTLD_NOW | RTLD_LOCAL | OWN_NAMES_FIRST);
    if (!passing.library) {
        fprintf(stderr, "drydock: " PASS_VARIABLE ": %s\n", dlerror());
        return;
    }
    if (!choose_record())
        return;
    passing.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    seen_init(&passing.seen, &source);
    passing.recorder = recorder_case_create(&passing.seen);
    passing.local_bytes = USUAL_LOCAL_BYTES;
    if (passing.memory >= 0 && passing.recorder)
        passing.recorded = getpid();
    else
        fprintf(stderr, "drydock: " RECORD_VARIABLE ": no memory for a record\n");
}

bool passing_is_on(void)
{
    pthread_once(&once, open_library);
    return passing.is_on;
}

void *passing_symbol(const char *name)
{
    return passing.library ? dlsym(passing.library, name) : NULL;
}

static void *function_of(unsigned function)
{
    char name[96];

    if (!passing.functions[function]) {
        snprintf(name, sizeof name, "D3DKMT%s", d3dkmt_function_name(function));
        passing.functions[function] = passing_symbol(name);
    }
    return passing.functions[function];
}

/* ---- The record ------------------------------------------------------------------------------ */

/* There is one client. */
static void *the_client(void)
{
    return &passing;
}

static void refer_to_all(UINT count, const D3DKMT_HANDLE *handles, bool is_gain)
{
    for (UINT i = 0; handles && i < count; i++)
        recorder_case_refer(passing.recorder, the_client(), handles[i], is_gain);
    recorder_case_end_refer(passing.recorder);
}

/* Nobody says where another driver wants its allocations: local memory first, if not its own. */
static void tell_created(const D3DKMT_CREATEALLOCATION *arguments)
{
    for (UINT i = 0; i < arguments->NumAllocations; i++) {
        const bool is_own = arguments->pAllocationInfo2[i].pSystemMem != NULL;

        recorder_case_created(passing.recorder,
                              &(struct recorder_created){.first_is_local = !is_own,
                                                         .has_second = !is_own,
                                                         .is_visible = true});
    }
}

/* How much local memory there is for the process, as the other library says. */
static void ask_for_memory(D3DKMT_HANDLE adapter)
{
    D3DKMT_QUERYVIDEOMEMORYINFO query = {.hAdapter = adapter,
                                         .MemorySegmentGroup = D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL};
    NTSTATUS(*other)
    (void *) = (NTSTATUS(*)(void *))(uintptr_t)function_of(D3DKMT_FN_QueryVideoMemoryInfo);

    if (other && NT_SUCCESS(other(&query)) && query.Budget)
        passing.local_bytes = query.Budget / 4096 * 4096;
}

/* A wait with an event is one call here, where it begins: that it is two is our own front's way. */
static void tell_of_call(const struct client_call *made)
{
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait;
    struct client_call told = *made, *const call = &told;
    struct seen_work work;

    if (call->function == D3DKMT_FN_WaitForSynchronizationObjectFromCpu) {
        wait = *(const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *)call->arguments;
        wait.hAsyncEvent = NULL;
        call->arguments = &wait;
    }
    if (call->function == D3DKMT_FN_CreateAllocation2 && NT_SUCCESS(call->status))
        tell_created(call->arguments);
    recorder_case_before(passing.recorder, the_client(), call);
    seen_ended(&passing.seen, the_client(), call);
    recorder_case_behind(passing.recorder, the_client(), call);
    if (!NT_SUCCESS(call->status))
        return;
    if (seen_work_of(seen_process_of(&passing.seen, the_client()), call->function, call->arguments,
                     &work) &&
        work.context)
        recorder_case_handed_over(passing.recorder, the_client(), work.context->handle);
    switch (call->function) {
    case D3DKMT_FN_MakeResident: {
        const D3DDDI_MAKERESIDENT *arguments = call->arguments;

        refer_to_all(arguments->NumAllocations, arguments->AllocationList, true);
        break;
    }
    case D3DKMT_FN_Evict: {
        const D3DKMT_EVICT *arguments = call->arguments;

        refer_to_all(arguments->NumAllocations, arguments->AllocationList, false);
        break;
    }
    default:
        break;
    }
}

/* True: the lock is held, and the record goes on. It ends while other threads make calls. */
static bool begin_telling(void)
{
    if (!passing.recorder)
        return false;
    pthread_mutex_lock(&lock);
    if (passing.recorded && passing.recorded == getpid())
        return true;
    pthread_mutex_unlock(&lock);
    return false;
}

/* A handle that goes may be another object's as soon as the call that destroys has returned. */
static bool gives_or_takes_handles(unsigned function)
{
    const char *name = d3dkmt_function_name(function);

    return name && (strncmp(name, "Create", 6) == 0 || strncmp(name, "Destroy", 7) == 0 ||
                    strncmp(name, "Open", 4) == 0);
}

NTSTATUS passing_call(unsigned function, void *arguments)
{
    NTSTATUS (*other)(void *) = (NTSTATUS(*)(void *))(uintptr_t)function_of(function);
    struct client_call call = {.function = function, .arguments = arguments};
    const bool is_in_order = passing.recorder && gives_or_takes_handles(function);

    if (!other)
        return STATUS_NOT_SUPPORTED;
    if (is_in_order)
        pthread_mutex_lock(&handles);
    if (begin_telling()) {
        recorder_case_called(passing.recorder, the_client(), &call);
        pthread_mutex_unlock(&lock);
    }
    call.status = other(arguments); /* which may wait for other threads' calls */
    if (function == D3DKMT_FN_CreateDevice && NT_SUCCESS(call.status))
        ask_for_memory(((const D3DKMT_CREATEDEVICE *)arguments)->hAdapter);
    if (begin_telling()) {
        tell_of_call(&call);
        pthread_mutex_unlock(&lock);
    }
    if (is_in_order)
        pthread_mutex_unlock(&handles);
    return call.status;
}

static void __attribute__((destructor)) write_record(void)
{
    const char *path = passing.record;
    const struct recorder_board board = {
        .title = program_invocation_short_name,
        .local_bytes = passing.local_bytes,
        .system_bytes = min_u64((uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE),
                                MOST_SYSTEM_BYTES),
        .seed = 1};
    FILE *file;

    if (!passing.recorded || passing.recorded != getpid())
        return;
    pthread_mutex_lock(&lock);
    passing.recorded = 0;
    recorder_case_closed(passing.recorder, the_client());
    file = fopen(path, "we");
    if (!file || !recorder_case_write(passing.recorder, file, &board))
        fprintf(stderr, "drydock: " RECORD_VARIABLE ": cannot write '%s': %s\n", path,
                passing.seen.is_lost ? "no memory" : strerror(errno));
    if (file)
        fclose(file);
    pthread_mutex_unlock(&lock); /* what there is of the record goes with the process */
}
