/*
 * Remove locks. Each acquisition is remembered with its tag, as Driver Verifier does it: a release
 * with another tag, or without an acquisition, is reported.
 */
#include "nt/nt_private.h"
#include "nt/threads/wait.h"

#include <wdm/remove_lock.h>

#define LOCK_MARK 0x4b4c6d52u /* "RmLK" */

struct remove_lock {
    uint32_t mark;
    uint8_t is_removed, unused[3];
    uint32_t high_water; /* 0: none */
    uint32_t count;      /* acquisitions that have not been released */
    uint64_t reserved[2];
};

_Static_assert(sizeof(struct remove_lock) == sizeof(IO_REMOVE_LOCK), "as long as the kernel's");

struct hold {
    struct list link;
    const struct remove_lock *lock;
    const void *tag;
};

/* The state of the area: of struct hold. */
static struct list *holds(const struct nt *nt)
{
    return NT_STATE(nt, remove_lock);
}

static struct remove_lock *lock_of(struct nt *nt, const char *service, PIO_REMOVE_LOCK lock)
{
    struct remove_lock *remove_lock = (struct remove_lock *)lock;

    if (remove_lock->mark == LOCK_MARK)
        return remove_lock;
    nt_misuse(nt, "%s: the lock was never initialised, or was written over since", service);
    return NULL;
}

static void forget(struct nt *nt, struct hold *hold)
{
    list_remove(&hold->link);
    base_free(nt->services, hold, sizeof *hold);
}

static void fini(struct nt *nt)
{
    struct hold *hold, *following;

    list_for_each_safe (hold, following, holds(nt), struct hold, link)
        forget(nt, hold);
}

static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct hold *hold, *following;
    unsigned count = 0;

    list_for_each_safe (hold, following, holds(nt), struct hold, link) {
        if ((uintptr_t)hold->lock - (uintptr_t)memory < bytes) {
            forget(nt, hold);
            count++;
        }
    }
    if (count)
        nt_misuse(nt,
                  "memory is freed with a remove lock in it that is held; it was acquired %u "
                  "times more often than released",
                  count);
}

VOID NTAPI IoInitializeRemoveLockEx(PIO_REMOVE_LOCK Lock, ULONG AllocateTag, ULONG MaxLockedMinutes,
                                    ULONG HighWatermark, ULONG RemlockSize)
{
    struct nt *nt = nt_current();
    struct remove_lock *lock = (struct remove_lock *)Lock;

    nt_require_irql(nt, "IoInitializeRemoveLock", PASSIVE_LEVEL);
    if (RemlockSize < sizeof *lock || HighWatermark > MAXLONG)
        nt_misuse(nt, "IoInitializeRemoveLock: a lock of %u bytes, a high water mark of %u",
                  RemlockSize, HighWatermark);
    *lock = (struct remove_lock){.mark = LOCK_MARK, .high_water = HighWatermark};
}

NTSTATUS NTAPI IoAcquireRemoveLockEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag, PCSTR File, ULONG Line,
                                     ULONG RemlockSize)
{
    struct nt *nt = nt_current();
    struct remove_lock *lock = lock_of(nt, "IoAcquireRemoveLock", RemoveLock);
    struct hold *hold;

    nt_require_irql(nt, "IoAcquireRemoveLock", DISPATCH_LEVEL);
    if (!lock || lock->is_removed)
        return STATUS_DELETE_PENDING;
    hold = base_alloc(nt->services, sizeof *hold);
    if (!hold)
        return STATUS_INSUFFICIENT_RESOURCES; /* the host's memory ends */
    hold->lock = lock;
    hold->tag = Tag;
    list_push_back(holds(nt), &hold->link);
    lock->count++;
    if (lock->high_water && lock->count > lock->high_water)
        nt_misuse(nt, "IoAcquireRemoveLock: the lock is held %u times; its high water mark is %u",
                  lock->count, lock->high_water);
    return STATUS_SUCCESS;
}

static bool release(struct nt *nt, const char *service, struct remove_lock *lock, const void *tag)
{
    struct hold *hold;

    if (!lock->count) {
        nt_misuse(nt, "%s: the lock is released more often than it was acquired", service);
        return false;
    }
    list_for_each (hold, holds(nt), struct hold, link) {
        if (hold->lock == lock && hold->tag == tag) {
            forget(nt, hold);
            lock->count--;
            return true;
        }
    }
    nt_misuse(nt, "%s: nobody holds the lock with this tag", service);
    list_for_each (hold, holds(nt), struct hold, link) {
        if (hold->lock == lock) {
            forget(nt, hold);
            break;
        }
    }
    lock->count--;
    return true;
}

VOID NTAPI IoReleaseRemoveLockEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag, ULONG RemlockSize)
{
    struct nt *nt = nt_current();
    struct remove_lock *lock = lock_of(nt, "IoReleaseRemoveLock", RemoveLock);

    nt_require_irql(nt, "IoReleaseRemoveLock", DISPATCH_LEVEL);
    if (lock && release(nt, "IoReleaseRemoveLock", lock, Tag))
        nt_signal(nt, lock);
}

static bool is_free(struct nt_thread *thread, void *lock, uint64_t argument)
{
    return ((struct remove_lock *)lock)->count == 0;
}

VOID NTAPI IoReleaseRemoveLockAndWaitEx(PIO_REMOVE_LOCK RemoveLock, PVOID Tag, ULONG RemlockSize)
{
    struct nt *nt = nt_current();
    struct remove_lock *lock = lock_of(nt, "IoReleaseRemoveLockAndWait", RemoveLock);

    nt_require_irql(nt, "IoReleaseRemoveLockAndWait", PASSIVE_LEVEL);
    if (!lock)
        return;
    if (lock->is_removed)
        nt_misuse(nt, "IoReleaseRemoveLockAndWait is called a second time for the same lock");
    lock->is_removed = true;
    if (release(nt, "IoReleaseRemoveLockAndWait", lock, Tag))
        nt_wait_to_take(nt, "IoReleaseRemoveLockAndWait", "remove lock", lock, is_free, 0);
}

static void init(struct nt *nt)
{
    list_init(holds(nt));
}

static const struct nt_export services[] = {
    NT_SERVICE(IoInitializeRemoveLockEx),
    NT_SERVICE(IoAcquireRemoveLockEx),
    NT_SERVICE(IoReleaseRemoveLockEx),
    NT_SERVICE(IoReleaseRemoveLockAndWaitEx),
    {0},
};

const struct nt_area nt_remove_lock_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .freed = freed,
};
