#define _GNU_SOURCE
#include "dxcore/sharing.h"

#include "dxcore/connection.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Views ----------------------------------------------------------------------------------- */

struct view {
    uint64_t address, bytes;
    dev_t device; /* of the file */
    ino_t inode;
};

static struct {
    pthread_mutex_t lock; /* nothing of the program's is touched inside */
    struct view *list;
    size_t count, room;
} views = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The child has another window. */
static void forget_views(void)
{
    views.count = 0;
    pthread_mutex_init(&views.lock, NULL);
}

static void expect_forks(void)
{
    pthread_atfork(NULL, NULL, forget_views);
}

static bool is_mapped(const struct view *view)
{
    for (size_t i = 0; i < views.count; i++) {
        const struct view *other = &views.list[i];

        if (other->address == view->address && other->bytes == view->bytes &&
            other->device == view->device && other->inode == view->inode)
            return true;
    }
    return false;
}

/* Those at its addresses are over. */
static void drop_overlapped(const struct view *view)
{
    size_t kept = 0;

    for (size_t i = 0; i < views.count; i++) {
        const struct view *other = &views.list[i];

        if (other->address >= view->address + view->bytes ||
            other->address + other->bytes <= view->address)
            views.list[kept++] = *other;
    }
    views.count = kept;
}

/* False: no memory. */
static bool has_room(void)
{
    if (views.count == views.room) {
        const size_t room = views.room ? views.room * 2 : 16;
        struct view *more = realloc(views.list, room * sizeof *more);

        if (!more)
            return false;
        views.list = more;
        views.room = room;
    }
    return true;
}

static bool show(const struct view *view, int file)
{
    drop_overlapped(view);
    if (!has_room() || mmap((void *)(uintptr_t)view->address, view->bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
        return false;
    views.list[views.count++] = *view;
    return true;
}

static bool map_view(uint64_t address)
{
    struct view view = {.address = address};
    struct stat status;
    bool is_there = false;
    int file;

    if (!connection_ask_view(address, &view.bytes, &file))
        return false;
    if (!fstat(file, &status)) {
        view.device = status.st_dev;
        view.inode = status.st_ino;
        is_there = is_mapped(&view) || show(&view, file);
    }
    close(file);
    return is_there;
}

/* A handler of the program's may make calls, too: none comes between. */
static bool see(uint64_t address)
{
    sigset_t all, before;
    bool is_there;

    if (!connection_is_view(address))
        return true;
    pthread_once(&once, expect_forks);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&views.lock);
    is_there = map_view(address);
    pthread_mutex_unlock(&views.lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_there;
}

NTSTATUS sharing_locked(const D3DKMT_LOCK2 *arguments)
{
    D3DKMT_UNLOCK2 unlock = {.hDevice = arguments->hDevice, .hAllocation = arguments->hAllocation};

    if (see((uintptr_t)arguments->pData))
        return STATUS_SUCCESS;
    connection_call(D3DKMT_FN_Unlock2, &unlock, NULL);
    return STATUS_NO_MEMORY;
}

NTSTATUS sharing_fence_given(D3DKMT_HANDLE fence, const VOID *address)
{
    D3DKMT_DESTROYSYNCHRONIZATIONOBJECT destroy = {.hSyncObject = fence};

    if (see((uintptr_t)address))
        return STATUS_SUCCESS;
    connection_call(D3DKMT_FN_DestroySynchronizationObject, &destroy, NULL);
    return STATUS_NO_MEMORY;
}

/* ---- NT handles ------------------------------------------------------------------------------ */

/* A call that gives an NT handle. */
static NTSTATUS call_for_handle(unsigned function, void *arguments, HANDLE *out_shared)
{
    struct connection_files files = {.given = -1};
    const NTSTATUS status = connection_call_with(function, arguments, &files);

    if (status < 0) {
        if (files.taken >= 0)
            close(files.taken);
        return status;
    }
    if (files.taken < 0)
        return STATUS_NO_MEMORY; /* the process has no more descriptors */
    *out_shared = (HANDLE)(intptr_t)files.taken;
    return status;
}

static bool are_attributes(const OBJECT_ATTRIBUTES *attributes)
{
    return !attributes || attributes->Length == sizeof *attributes;
}

/* NULL: it has no name. */
static const UNICODE_STRING *name_of(const OBJECT_ATTRIBUTES *attributes)
{
    return attributes ? attributes->ObjectName : NULL;
}

NTSTATUS sharing_share(UINT count, const D3DKMT_HANDLE *handles,
                       const OBJECT_ATTRIBUTES *attributes, DWORD access, HANDLE *out_shared)
{
    THUNK_SHARE_OBJECTS arguments = {
        .cObjects = count, .dwDesiredAccess = access, .hObjects = handles};
    const UNICODE_STRING *name;

    if (!are_attributes(attributes))
        return STATUS_INVALID_PARAMETER;
    name = name_of(attributes);
    if (name) {
        arguments.RootDirectory = attributes->RootDirectory;
        arguments.Attributes = attributes->Attributes;
        arguments.NameBytes = name->Length;
        arguments.Name = name->Buffer;
    }
    return call_for_handle(D3DKMT_FN_ShareObjects, &arguments, out_shared);
}

NTSTATUS sharing_open_by_name(unsigned function, DWORD access, const OBJECT_ATTRIBUTES *attributes,
                              HANDLE *out_shared)
{
    const UNICODE_STRING *name = are_attributes(attributes) ? name_of(attributes) : NULL;
    THUNK_OPEN_BY_NAME arguments = {.dwDesiredAccess = access};

    if (!name)
        return STATUS_INVALID_PARAMETER;
    arguments.RootDirectory = attributes->RootDirectory;
    arguments.Attributes = attributes->Attributes;
    arguments.NameBytes = name->Length;
    arguments.Name = name->Buffer;
    return call_for_handle(function, &arguments, out_shared);
}

NTSTATUS sharing_call_by(unsigned function, void *arguments, HANDLE handle)
{
    struct connection_files files = {.given = -1};
    NTSTATUS status;

    /* One of our own: the program may close its one meanwhile. */
    if ((uintptr_t)handle <= INT_MAX)
        files.given = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
    if (files.given < 0)
        return STATUS_INVALID_HANDLE;
    status = connection_call_with(function, arguments, &files);
    close(files.given);
    if (files.taken >= 0)
        close(files.taken);
    return status;
}

void sharing_opened(UINT count, D3DDDI_OPENALLOCATIONINFO2 *infos, VOID *buffer)
{
    const uint8_t *at = buffer;

    for (UINT i = 0; i < count; i++) {
        infos[i].pPrivateDriverData = infos[i].PrivateDriverDataSize ? at : NULL;
        at += infos[i].PrivateDriverDataSize;
    }
}
