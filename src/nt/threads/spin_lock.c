/*
 * Spin locks: there is one processor, so one that is held when it is acquired is held for good.
 */
#include "nt/threads/spin_lock.h"

#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"

VOID NTAPI KeInitializeSpinLock(PKSPIN_LOCK SpinLock)
{
    *SpinLock = 0;
}

void nt_spin_lock_acquire(struct nt *nt, PKSPIN_LOCK lock)
{
    if (*lock)
        KeBugCheckEx(NT_SPIN_LOCK_ALREADY_OWNED, (ULONG_PTR)lock, 0, 0, 0);
    *lock = 1;
    nt->held_locks++;
}

static void let_go(struct nt *nt)
{
    if (nt->held_locks) /* else one that was forgotten */
        nt->held_locks--;
    nt_schedule_deferred(nt);
}

void nt_forget_locks(struct nt *nt, uint32_t count)
{
    if (nt->held_locks > count) {
        nt->held_locks = count;
        nt_schedule_deferred(nt);
    }
}

void nt_spin_lock_release(struct nt *nt, PKSPIN_LOCK lock)
{
    if (!*lock)
        KeBugCheckEx(NT_SPIN_LOCK_NOT_OWNED, (ULONG_PTR)lock, 0, 0, 0);
    *lock = 0;
    let_go(nt);
}

KIRQL NTAPI KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock)
{
    struct nt *nt = nt_current();
    KIRQL before = nt->irql;

    if (before > DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, (ULONG_PTR)SpinLock, before, 0, 0);
    nt_set_irql(nt, DISPATCH_LEVEL);
    nt_spin_lock_acquire(nt, SpinLock);
    return before;
}

VOID NTAPI KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql)
{
    struct nt *nt = nt_current();

    if (nt->irql != DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_GREATER_OR_EQUAL, (ULONG_PTR)SpinLock, nt->irql, 0, 0);
    nt_spin_lock_release(nt, SpinLock);
    nt_set_irql(nt, NewIrql);
}

VOID NTAPI KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
    struct nt *nt = nt_current();

    if (nt->irql < DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_GREATER_OR_EQUAL, (ULONG_PTR)SpinLock, nt->irql, 0, 0);
    nt_spin_lock_acquire(nt, SpinLock);
}

VOID NTAPI KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock)
{
    struct nt *nt = nt_current();

    if (nt->irql < DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_GREATER_OR_EQUAL, (ULONG_PTR)SpinLock, nt->irql, 0, 0);
    nt_spin_lock_release(nt, SpinLock);
}

BOOLEAN NTAPI KeTryToAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock)
{
    struct nt *nt = nt_current();

    if (nt->irql < DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_GREATER_OR_EQUAL, (ULONG_PTR)SpinLock, nt->irql, 0, 0);
    if (*SpinLock)
        return FALSE;
    nt_spin_lock_acquire(nt, SpinLock);
    return TRUE;
}

/* TRUE: it can be had. */
BOOLEAN NTAPI KeTestSpinLock(PKSPIN_LOCK SpinLock)
{
    nt_look_at_clock(nt_current());
    return *SpinLock == 0;
}

/* For a DPC routine that may be a threaded one, below DISPATCH_LEVEL. */
KIRQL NTAPI KeAcquireSpinLockForDpc(PKSPIN_LOCK SpinLock)
{
    return KeAcquireSpinLockRaiseToDpc(SpinLock);
}

VOID NTAPI KeReleaseSpinLockForDpc(PKSPIN_LOCK SpinLock, KIRQL OldIrql)
{
    KeReleaseSpinLock(SpinLock, OldIrql);
}

/* ---- Queued ---------------------------------------------------------------------------------- */

VOID NTAPI KeAcquireInStackQueuedSpinLock(PKSPIN_LOCK SpinLock, PKLOCK_QUEUE_HANDLE LockHandle)
{
    LockHandle->LockQueue.Next = NULL;
    LockHandle->LockQueue.Lock = SpinLock;
    LockHandle->OldIrql = KeAcquireSpinLockRaiseToDpc(SpinLock);
}

VOID NTAPI KeReleaseInStackQueuedSpinLock(PKLOCK_QUEUE_HANDLE LockHandle)
{
    KeReleaseSpinLock(LockHandle->LockQueue.Lock, LockHandle->OldIrql);
}

VOID NTAPI KeAcquireInStackQueuedSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock,
                                                    PKLOCK_QUEUE_HANDLE LockHandle)
{
    LockHandle->LockQueue.Next = NULL;
    LockHandle->LockQueue.Lock = SpinLock;
    KeAcquireSpinLockAtDpcLevel(SpinLock);
}

VOID NTAPI KeReleaseInStackQueuedSpinLockFromDpcLevel(PKLOCK_QUEUE_HANDLE LockHandle)
{
    KeReleaseSpinLockFromDpcLevel(LockHandle->LockQueue.Lock);
}

/* ---- Readers and a writer -------------------------------------------------------------------- */

#define EXCLUSIVE ((LONG)0x80000000)

static KIRQL raise_for(struct nt *nt, const volatile void *lock)
{
    if (nt->irql > DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, (ULONG_PTR)lock, nt->irql, 0, 0);
    return nt_set_irql(nt, DISPATCH_LEVEL);
}

KIRQL NTAPI ExAcquireSpinLockExclusive(PEX_SPIN_LOCK SpinLock)
{
    struct nt *nt = nt_current();
    KIRQL before = raise_for(nt, SpinLock);

    if (*SpinLock)
        KeBugCheckEx(NT_SPIN_LOCK_ALREADY_OWNED, (ULONG_PTR)SpinLock, 0, 0, 0);
    *SpinLock = EXCLUSIVE;
    nt->held_locks++;
    return before;
}

KIRQL NTAPI ExAcquireSpinLockShared(PEX_SPIN_LOCK SpinLock)
{
    struct nt *nt = nt_current();
    KIRQL before = raise_for(nt, SpinLock);

    if (*SpinLock == EXCLUSIVE)
        KeBugCheckEx(NT_SPIN_LOCK_ALREADY_OWNED, (ULONG_PTR)SpinLock, 0, 0, 0);
    ++*SpinLock;
    nt->held_locks++;
    return before;
}

static void release_for(PEX_SPIN_LOCK lock, bool is_held, LONG left, KIRQL irql)
{
    struct nt *nt = nt_current();

    if (!is_held)
        KeBugCheckEx(NT_SPIN_LOCK_NOT_OWNED, (ULONG_PTR)lock, 0, 0, 0);
    *lock = left;
    let_go(nt);
    nt_set_irql(nt, irql);
}

VOID NTAPI ExReleaseSpinLockExclusive(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    release_for(SpinLock, *SpinLock == EXCLUSIVE, 0, OldIrql);
}

VOID NTAPI ExReleaseSpinLockShared(PEX_SPIN_LOCK SpinLock, KIRQL OldIrql)
{
    release_for(SpinLock, *SpinLock > 0, *SpinLock - 1, OldIrql);
}

static const struct nt_export services[] = {
    NT_SERVICE(KeInitializeSpinLock),
    NT_SERVICE(KeAcquireSpinLockRaiseToDpc),
    NT_SERVICE(KeReleaseSpinLock),
    NT_SERVICE(KeAcquireSpinLockAtDpcLevel),
    NT_SERVICE(KeReleaseSpinLockFromDpcLevel),
    NT_SERVICE(KeTryToAcquireSpinLockAtDpcLevel),
    NT_SERVICE(KeTestSpinLock),
    NT_SERVICE(KeAcquireSpinLockForDpc),
    NT_SERVICE(KeReleaseSpinLockForDpc),
    NT_SERVICE(KeAcquireInStackQueuedSpinLock),
    NT_SERVICE(KeReleaseInStackQueuedSpinLock),
    NT_SERVICE(KeAcquireInStackQueuedSpinLockAtDpcLevel),
    NT_SERVICE(KeReleaseInStackQueuedSpinLockFromDpcLevel),
    NT_SERVICE(ExAcquireSpinLockExclusive),
    NT_SERVICE(ExReleaseSpinLockExclusive),
    NT_SERVICE(ExAcquireSpinLockShared),
    NT_SERVICE(ExReleaseSpinLockShared),
    {0},
};

const struct nt_area nt_spin_lock_area = {.exports = services};
