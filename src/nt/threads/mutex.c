/*
 * Fast and guarded mutexes: one owner, no recursion. A fast mutex raises to APC_LEVEL while it is
 * held, a guarded one keeps its thread in a guarded region; in both no APC comes.
 */
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/wait.h"

struct fast_mutex {
    struct nt_dispatcher head; /* state 1: nobody has it */
    struct nt_thread *owner;
    KIRQL irql; /* of the owner before */
    uint64_t unused[2];
};

_Static_assert(sizeof(struct fast_mutex) == sizeof(FAST_MUTEX), "as long as the kernel's");

VOID NTAPI ExInitializeFastMutex(PFAST_MUTEX FastMutex)
{
    struct fast_mutex *mutex = (struct fast_mutex *)FastMutex;

    nt_require_irql(nt_current(), "ExInitializeFastMutex", DISPATCH_LEVEL);
    *mutex = (struct fast_mutex){.owner = NULL};
    nt_dispatcher_init(&mutex->head, NT_FAST_MUTEX, 1);
}

static bool take(struct nt_thread *thread, void *lock, uint64_t argument)
{
    struct fast_mutex *mutex = lock;

    if (!mutex->head.state)
        return false;
    mutex->head.state = 0;
    mutex->owner = thread;
    thread->owned_mutexes++;
    thread->owned_mutex = mutex;
    return true;
}

static struct fast_mutex *mutex_of(struct nt *nt, const char *service, PFAST_MUTEX mutex)
{
    nt_require_irql(nt, service, APC_LEVEL);
    return nt_dispatcher_is(nt, service, mutex, 1u << NT_FAST_MUTEX) ? (struct fast_mutex *)mutex
                                                                     : NULL;
}

/* NULL: it is none. */
static struct fast_mutex *acquire(const char *service, PFAST_MUTEX object)
{
    struct nt *nt = nt_current();
    struct fast_mutex *mutex = mutex_of(nt, service, object);

    if (!mutex)
        return NULL;
    if (mutex->owner == nt->scheduler.current)
        KeBugCheckEx(NT_MUTEX_ALREADY_OWNED, (ULONG_PTR)mutex, (ULONG_PTR)mutex->owner, 0, 0);
    nt_wait_to_take(nt, service, "fast mutex", mutex, take, 0);
    return mutex;
}

static struct fast_mutex *try_to_acquire(const char *service, PFAST_MUTEX object)
{
    struct nt *nt = nt_current();
    struct fast_mutex *mutex = mutex_of(nt, service, object);

    nt_look_at_clock(nt);
    return mutex && take(nt->scheduler.current, mutex, 0) ? mutex : NULL;
}

/* False: it is none. */
static bool release(const char *service, PFAST_MUTEX object)
{
    struct nt *nt = nt_current();
    struct fast_mutex *mutex = mutex_of(nt, service, object);

    if (!mutex)
        return false;
    if (mutex->owner != nt->scheduler.current)
        KeBugCheckEx(NT_THREAD_NOT_MUTEX_OWNER, (ULONG_PTR)mutex, (ULONG_PTR)nt->scheduler.current,
                     (ULONG_PTR)mutex->owner, 0);
    mutex->owner->owned_mutexes--;
    mutex->owner = NULL;
    mutex->head.state = 1;
    nt_signal(nt, mutex);
    return true;
}

/* The caller of the unsafe ones sees to it that no APC comes. */
static void require_no_apcs(const char *service)
{
    if (!KeAreApcsDisabled())
        nt_misuse(nt_current(),
                  "%s is called where APCs come; it is for APC_LEVEL, critical and guarded regions",
                  service);
}

/* ---- Fast ------------------------------------------------------------------------------------ */

VOID NTAPI ExAcquireFastMutex(PFAST_MUTEX FastMutex)
{
    struct fast_mutex *mutex = acquire("ExAcquireFastMutex", FastMutex);

    if (mutex)
        mutex->irql = nt_set_irql(nt_current(), APC_LEVEL);
}

BOOLEAN NTAPI ExTryToAcquireFastMutex(PFAST_MUTEX FastMutex)
{
    struct fast_mutex *mutex = try_to_acquire("ExTryToAcquireFastMutex", FastMutex);

    if (mutex)
        mutex->irql = nt_set_irql(nt_current(), APC_LEVEL);
    return mutex != NULL;
}

VOID NTAPI ExReleaseFastMutex(PFAST_MUTEX FastMutex)
{
    struct nt *nt = nt_current();
    KIRQL before = ((struct fast_mutex *)FastMutex)->irql;

    if (nt->irql != APC_LEVEL)
        nt_misuse(nt, "ExReleaseFastMutex is called at IRQL %u; it is for APC_LEVEL", nt->irql);
    if (release("ExReleaseFastMutex", FastMutex))
        nt_set_irql(nt, before);
}

VOID NTAPI ExAcquireFastMutexUnsafe(PFAST_MUTEX FastMutex)
{
    require_no_apcs("ExAcquireFastMutexUnsafe");
    acquire("ExAcquireFastMutexUnsafe", FastMutex);
}

VOID NTAPI ExReleaseFastMutexUnsafe(PFAST_MUTEX FastMutex)
{
    require_no_apcs("ExReleaseFastMutexUnsafe");
    release("ExReleaseFastMutexUnsafe", FastMutex);
}

/* ---- Guarded --------------------------------------------------------------------------------- */

VOID NTAPI KeInitializeGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    ExInitializeFastMutex(Mutex);
}

VOID NTAPI KeAcquireGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    KeEnterGuardedRegion();
    acquire("KeAcquireGuardedMutex", Mutex);
}

BOOLEAN NTAPI KeTryToAcquireGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    if (!try_to_acquire("KeTryToAcquireGuardedMutex", Mutex))
        return FALSE;
    KeEnterGuardedRegion();
    return TRUE;
}

VOID NTAPI KeReleaseGuardedMutex(PKGUARDED_MUTEX Mutex)
{
    release("KeReleaseGuardedMutex", Mutex);
    KeLeaveGuardedRegion();
}

VOID NTAPI KeAcquireGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex)
{
    require_no_apcs("KeAcquireGuardedMutexUnsafe");
    acquire("KeAcquireGuardedMutexUnsafe", Mutex);
}

VOID NTAPI KeReleaseGuardedMutexUnsafe(PKGUARDED_MUTEX Mutex)
{
    require_no_apcs("KeReleaseGuardedMutexUnsafe");
    release("KeReleaseGuardedMutexUnsafe", Mutex);
}

static const struct nt_export services[] = {
    NT_SERVICE(ExInitializeFastMutex),
    NT_SERVICE(ExAcquireFastMutex),
    NT_SERVICE(ExReleaseFastMutex),
    NT_SERVICE(ExTryToAcquireFastMutex),
    NT_SERVICE(ExAcquireFastMutexUnsafe),
    NT_SERVICE(ExReleaseFastMutexUnsafe),
    NT_SERVICE(KeInitializeGuardedMutex),
    NT_SERVICE(KeAcquireGuardedMutex),
    NT_SERVICE(KeReleaseGuardedMutex),
    NT_SERVICE(KeTryToAcquireGuardedMutex),
    NT_SERVICE(KeAcquireGuardedMutexUnsafe),
    NT_SERVICE(KeReleaseGuardedMutexUnsafe),
    {0},
};

const struct nt_area nt_mutex_area = {.exports = services};
