/*
 * Locks with readers and a writer, and rundown protection: push locks, ERESOURCEs.
 */
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/wait.h"

#include <stdio.h>

#define SHARED    1u
#define EXCLUSIVE 0u

/* APCs would let a thread be stopped while it holds the lock. */
static void require_region(struct nt *nt, const char *service)
{
    nt_require_irql(nt, service, APC_LEVEL);
    if (!KeAreApcsDisabled())
        nt_misuse(nt, "%s is called where APCs come; it is for critical regions", service);
}

/* ---- Push locks: 0 free, 1 exclusive, 2 for each reader -------------------------------------- */

#define PUSH_EXCLUSIVE 1u
#define PUSH_READER    2u

static bool take_push_lock(struct nt_thread *thread, void *lock, uint64_t mode)
{
    PEX_PUSH_LOCK push = lock;

    if (mode == SHARED ? *push & PUSH_EXCLUSIVE : *push != 0)
        return false;
    *push += mode == SHARED ? PUSH_READER : PUSH_EXCLUSIVE;
    return true;
}

VOID NTAPI ExInitializePushLock(PEX_PUSH_LOCK PushLock)
{
    *PushLock = 0;
}

VOID NTAPI ExAcquirePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    struct nt *nt = nt_current();

    require_region(nt, "ExAcquirePushLockExclusiveEx");
    nt_wait_to_take(nt, "ExAcquirePushLockExclusiveEx", "push lock", PushLock, take_push_lock,
                    EXCLUSIVE);
}

VOID NTAPI ExAcquirePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    struct nt *nt = nt_current();

    require_region(nt, "ExAcquirePushLockSharedEx");
    nt_wait_to_take(nt, "ExAcquirePushLockSharedEx", "push lock", PushLock, take_push_lock, SHARED);
}

static void release_push_lock(const char *service, PEX_PUSH_LOCK lock, bool is_held, uint32_t part)
{
    struct nt *nt = nt_current();

    require_region(nt, service);
    if (!is_held) {
        nt_misuse(nt, "%s: the push lock is not held so", service);
        return;
    }
    *lock -= part;
    nt_signal(nt, lock);
}

VOID NTAPI ExReleasePushLockExclusiveEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    release_push_lock("ExReleasePushLockExclusiveEx", PushLock, *PushLock == PUSH_EXCLUSIVE,
                      PUSH_EXCLUSIVE);
}

VOID NTAPI ExReleasePushLockSharedEx(PEX_PUSH_LOCK PushLock, ULONG Flags)
{
    release_push_lock("ExReleasePushLockSharedEx", PushLock,
                      *PushLock >= PUSH_READER && !(*PushLock & PUSH_EXCLUSIVE), PUSH_READER);
}

/* ---- ERESOURCEs ------------------------------------------------------------------------------ */

#define READERS 8u

/* Readers beyond those that are known by number cannot acquire it a second time past a writer. */
struct resource {
    struct nt_dispatcher head;
    struct nt_thread *writer;
    uint32_t depth; /* of the writer */
    uint32_t reader_count, waiting_writers;
    uint32_t unused;
    struct {
        uint32_t number, count;
    } readers[READERS - 1];
};

_Static_assert(sizeof(struct resource) == sizeof(ERESOURCE), "as long as the kernel's");

static uint32_t reads_of(const struct resource *resource, const struct nt_thread *thread)
{
    for (uint32_t i = 0; i < READERS - 1; i++) {
        if (resource->readers[i].count && resource->readers[i].number == thread->number)
            return resource->readers[i].count;
    }
    return 0;
}

static void count_reader(struct resource *resource, const struct nt_thread *thread, int change)
{
    uint32_t place = READERS;

    resource->reader_count += (uint32_t)change;
    for (uint32_t i = 0; i < READERS - 1; i++) {
        if (resource->readers[i].count && resource->readers[i].number == thread->number)
            place = i;
        else if (!resource->readers[i].count && place == READERS && change > 0)
            place = i;
    }
    if (place == READERS)
        return;
    resource->readers[place].number = thread->number;
    resource->readers[place].count += (uint32_t)change;
}

static bool take_resource(struct nt_thread *thread, void *lock, uint64_t mode)
{
    struct resource *resource = lock;

    if (resource->writer == thread) {
        resource->depth++;
        return true;
    }
    if (resource->writer || (mode == EXCLUSIVE && resource->reader_count))
        return false;
    if (mode == SHARED) {
        if (resource->waiting_writers && !reads_of(resource, thread))
            return false;
        count_reader(resource, thread, 1);
    } else {
        resource->writer = thread;
        resource->depth = 1;
    }
    return true;
}

static struct resource *resource_of(struct nt *nt, const char *service, PERESOURCE resource)
{
    return nt_dispatcher_is(nt, service, resource, 1u << NT_RESOURCE) ? (struct resource *)resource
                                                                      : NULL;
}

static BOOLEAN acquire(const char *service, PERESOURCE object, uint64_t mode, BOOLEAN wait)
{
    struct nt *nt = nt_current();
    struct nt_thread *thread = nt->scheduler.current;
    struct resource *resource = resource_of(nt, service, object);

    require_region(nt, service);
    if (!resource)
        return FALSE;
    if (!wait)
        return take_resource(thread, resource, mode);
    if (mode == EXCLUSIVE && reads_of(resource, thread))
        nt_misuse(nt, "%s: the thread has the resource for reading; it waits for itself", service);
    resource->waiting_writers += mode == EXCLUSIVE;
    nt_wait_to_take(nt, service, "resource", resource, take_resource, mode);
    resource->waiting_writers -= mode == EXCLUSIVE;
    return TRUE;
}

/*
 * The system's list of resources, which on Windows goes through the resources themselves: memory of
 * one that was not deleted corrupts it when something else comes to lie there.
 */
struct live_resource {
    struct list link;
    const struct resource *resource;
};

static struct list *live_of(const struct nt *nt)
{
    return NT_STATE(nt, resource);
}

static struct live_resource *find_live(const struct nt *nt, const struct resource *resource)
{
    struct live_resource *live;

    list_for_each (live, live_of(nt), struct live_resource, link) {
        if (live->resource == resource)
            return live;
    }
    return NULL;
}

static void forget_live(struct nt *nt, struct live_resource *live)
{
    list_remove(&live->link);
    base_free(nt->services, live, sizeof *live);
}

static void note_live(struct nt *nt, const struct resource *resource)
{
    struct live_resource *live = find_live(nt, resource);

    if (live) {
        nt_misuse(nt, "ExInitializeResourceLite: the resource is in use since it was initialised "
                      "before; ExDeleteResourceLite comes between");
        return;
    }
    live = base_alloc(nt->services, sizeof *live);
    if (live) {
        live->resource = resource;
        list_push_back(live_of(nt), &live->link);
    }
}

NTSTATUS NTAPI ExInitializeResourceLite(PERESOURCE Resource)
{
    struct resource *resource = (struct resource *)Resource;

    nt_require_irql(nt_current(), "ExInitializeResourceLite", DISPATCH_LEVEL);
    note_live(nt_current(), resource);
    *resource = (struct resource){.writer = NULL};
    nt_dispatcher_init(resource, NT_RESOURCE, 0);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI ExDeleteResourceLite(PERESOURCE Resource)
{
    struct nt *nt = nt_current();
    struct resource *resource = resource_of(nt, "ExDeleteResourceLite", Resource);
    struct live_resource *live;

    nt_require_irql(nt_current(), "ExDeleteResourceLite", APC_LEVEL);
    if (!resource)
        return STATUS_INVALID_PARAMETER;
    if (resource->writer || resource->reader_count)
        nt_misuse(nt, "ExDeleteResourceLite: somebody has the resource");
    resource->head.mark = 0;
    live = find_live(nt, resource);
    if (live)
        forget_live(nt, live);
    return STATUS_SUCCESS;
}

BOOLEAN NTAPI ExAcquireResourceExclusiveLite(PERESOURCE Resource, BOOLEAN Wait)
{
    return acquire("ExAcquireResourceExclusiveLite", Resource, EXCLUSIVE, Wait);
}

BOOLEAN NTAPI ExAcquireResourceSharedLite(PERESOURCE Resource, BOOLEAN Wait)
{
    return acquire("ExAcquireResourceSharedLite", Resource, SHARED, Wait);
}

VOID NTAPI ExReleaseResourceLite(PERESOURCE Resource)
{
    struct nt *nt = nt_current();
    struct nt_thread *thread = nt->scheduler.current;
    struct resource *resource = resource_of(nt, "ExReleaseResourceLite", Resource);

    if (!resource)
        return;
    nt_require_irql(nt, "ExReleaseResourceLite", DISPATCH_LEVEL);
    if (resource->writer == thread) {
        if (--resource->depth)
            return;
        resource->writer = NULL;
    } else if (resource->reader_count) {
        count_reader(resource, thread, -1);
    } else {
        KeBugCheckEx(NT_RESOURCE_NOT_OWNED, (ULONG_PTR)resource, (ULONG_PTR)thread, 0, 0);
    }
    nt_signal(nt, resource);
}

BOOLEAN NTAPI ExIsResourceAcquiredExclusiveLite(PERESOURCE Resource)
{
    struct nt *nt = nt_current();
    struct resource *resource = resource_of(nt, "ExIsResourceAcquiredExclusiveLite", Resource);

    return resource && resource->writer == nt->scheduler.current;
}

ULONG NTAPI ExIsResourceAcquiredSharedLite(PERESOURCE Resource)
{
    struct nt *nt = nt_current();
    struct resource *resource = resource_of(nt, "ExIsResourceAcquiredSharedLite", Resource);

    if (!resource)
        return 0;
    return resource->writer == nt->scheduler.current ? resource->depth
                                                     : reads_of(resource, nt->scheduler.current);
}

PVOID NTAPI ExEnterCriticalRegionAndAcquireResourceExclusive(PERESOURCE Resource)
{
    KeEnterCriticalRegion();
    ExAcquireResourceExclusiveLite(Resource, TRUE);
    return NULL;
}

PVOID NTAPI ExEnterCriticalRegionAndAcquireResourceShared(PERESOURCE Resource)
{
    KeEnterCriticalRegion();
    ExAcquireResourceSharedLite(Resource, TRUE);
    return NULL;
}

VOID NTAPI ExReleaseResourceAndLeaveCriticalRegion(PERESOURCE Resource)
{
    ExReleaseResourceLite(Resource);
    KeLeaveCriticalRegion();
}

/* ---- Rundown protection: 1 running down or over, 2 for each who is protected ----------------- */

#define RUNDOWN_ACTIVE 1u
#define RUNDOWN_USER   2u

static bool is_run_down(struct nt_thread *thread, void *reference, uint64_t argument)
{
    PEX_RUNDOWN_REF rundown = reference;

    rundown->Count |= RUNDOWN_ACTIVE;
    return rundown->Count == RUNDOWN_ACTIVE;
}

VOID NTAPI ExInitializeRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    nt_require_irql(nt_current(), "ExInitializeRundownProtection", APC_LEVEL);
    RunRef->Count = 0;
}

VOID NTAPI ExReInitializeRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    nt_require_irql(nt_current(), "ExReInitializeRundownProtection", APC_LEVEL);
    if (RunRef->Count != RUNDOWN_ACTIVE)
        nt_misuse(nt_current(), "ExReInitializeRundownProtection: it has not been run down");
    RunRef->Count = 0;
}

BOOLEAN NTAPI ExAcquireRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count)
{
    nt_require_irql(nt_current(), "ExAcquireRundownProtection", DISPATCH_LEVEL);
    if (RunRef->Count & RUNDOWN_ACTIVE)
        return FALSE;
    RunRef->Count += (ULONG_PTR)RUNDOWN_USER * Count;
    return TRUE;
}

BOOLEAN NTAPI ExAcquireRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    return ExAcquireRundownProtectionEx(RunRef, 1);
}

VOID NTAPI ExReleaseRundownProtectionEx(PEX_RUNDOWN_REF RunRef, ULONG Count)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "ExReleaseRundownProtection", DISPATCH_LEVEL);
    if (RunRef->Count / RUNDOWN_USER < Count) {
        nt_misuse(nt, "ExReleaseRundownProtection: %u are released, %llu were acquired", Count,
                  (unsigned long long)(RunRef->Count / RUNDOWN_USER));
        return;
    }
    RunRef->Count -= (ULONG_PTR)RUNDOWN_USER * Count;
    nt_signal(nt, RunRef);
}

VOID NTAPI ExReleaseRundownProtection(PEX_RUNDOWN_REF RunRef)
{
    ExReleaseRundownProtectionEx(RunRef, 1);
}

VOID NTAPI ExWaitForRundownProtectionRelease(PEX_RUNDOWN_REF RunRef)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "ExWaitForRundownProtectionRelease", APC_LEVEL);
    nt_wait_to_take(nt, "ExWaitForRundownProtectionRelease", "rundown protection", RunRef,
                    is_run_down, 0);
}

VOID NTAPI ExRundownCompleted(PEX_RUNDOWN_REF RunRef)
{
    nt_require_irql(nt_current(), "ExRundownCompleted", APC_LEVEL);
    RunRef->Count = RUNDOWN_ACTIVE;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct live_resource *live, *following;
    char what[160];

    list_for_each_safe (live, following, live_of(nt), struct live_resource, link) {
        if ((uintptr_t)live->resource - (uintptr_t)memory >= bytes)
            continue;
        nt_describe(nt, "resource", live->resource, what, sizeof what);
        nt_misuse(nt,
                  "the memory of %s is freed without ExDeleteResourceLite; Driver Verifier stops "
                  "with bug check 0xC4 (0xD2)",
                  what);
        forget_live(nt, live);
    }
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    const struct live_resource *live;
    char what[160], text[256];

    list_for_each (live, live_of(nt), struct live_resource, link) {
        nt_describe(nt, "resource", live->resource, what, sizeof what);
        snprintf(text, sizeof text, "%s has not been deleted (ExDeleteResourceLite)", what);
        tell(context, text);
    }
}

static void init(struct nt *nt)
{
    list_init(live_of(nt));
}

static void fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(live_of(nt))))
        forget_live(nt, container_of(node, struct live_resource, link));
}

static const struct nt_export services[] = {
    NT_SERVICE(ExInitializePushLock),
    NT_SERVICE(ExAcquirePushLockExclusiveEx),
    NT_SERVICE(ExReleasePushLockExclusiveEx),
    NT_SERVICE(ExAcquirePushLockSharedEx),
    NT_SERVICE(ExReleasePushLockSharedEx),
    NT_SERVICE(ExInitializeResourceLite),
    NT_SERVICE(ExDeleteResourceLite),
    NT_SERVICE(ExAcquireResourceExclusiveLite),
    NT_SERVICE(ExAcquireResourceSharedLite),
    NT_SERVICE(ExReleaseResourceLite),
    NT_SERVICE(ExIsResourceAcquiredExclusiveLite),
    NT_SERVICE(ExIsResourceAcquiredSharedLite),
    NT_SERVICE(ExEnterCriticalRegionAndAcquireResourceExclusive),
    NT_SERVICE(ExEnterCriticalRegionAndAcquireResourceShared),
    NT_SERVICE(ExReleaseResourceAndLeaveCriticalRegion),
    NT_SERVICE(ExInitializeRundownProtection),
    NT_SERVICE(ExReInitializeRundownProtection),
    NT_SERVICE(ExAcquireRundownProtection),
    NT_SERVICE(ExAcquireRundownProtectionEx),
    NT_SERVICE(ExReleaseRundownProtection),
    NT_SERVICE(ExReleaseRundownProtectionEx),
    NT_SERVICE(ExWaitForRundownProtectionRelease),
    NT_SERVICE(ExRundownCompleted),
    {0},
};

const struct nt_area nt_resource_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .left = left,
    .freed = freed,
};
