/*
 * Threads, as drivers make, name and end them.
 */
#include "nt/exports.h"
#include "nt/nt_internal.h"

#define THREAD_ID_STEP 4u /* identifiers are multiples of it */
#define FIRST_ID       0x100u
#define BASE_PRIORITY  8

NTSTATUS NTAPI PsCreateSystemThread(PHANDLE ThreadHandle, ULONG DesiredAccess,
                                    POBJECT_ATTRIBUTES ObjectAttributes, HANDLE ProcessHandle,
                                    PCLIENT_ID ClientId, PKSTART_ROUTINE StartRoutine,
                                    PVOID StartContext)
{
    struct nt *nt = nt_current();
    struct nt_thread *thread;
    NTSTATUS status;

    nt_require_irql(nt, "PsCreateSystemThread", PASSIVE_LEVEL);
    if (!ThreadHandle || !StartRoutine)
        return STATUS_INVALID_PARAMETER;
    *ThreadHandle = NULL;
    status = nt_thread_create(nt, (const void *)StartRoutine, NULL, StartContext, &thread);
    if (!NT_SUCCESS(status))
        return status;
    status = nt_handle_create(nt, &thread->object, ThreadHandle);
    if (!NT_SUCCESS(status)) {
        nt_thread_undo(thread);
        return status;
    }
    if (ClientId) {
        ClientId->UniqueProcess = (HANDLE)(uintptr_t)THREAD_ID_STEP; /* the system's */
        ClientId->UniqueThread = PsGetThreadId((PETHREAD)thread);
    }
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI PsTerminateSystemThread(NTSTATUS ExitStatus)
{
    struct nt *nt = nt_current();

    if (nt_is_first_thread(nt))
        return STATUS_INVALID_PARAMETER;
    if (nt->scheduler.current->bench_main)
        KeBugCheckEx(NT_ACTIVE_EX_WORKER_THREAD_TERMINATION, (ULONG_PTR)nt->scheduler.current, 0, 0,
                     0);
    nt_thread_exit(nt, ExitStatus);
}

/* NULL, told: it is no thread. */
static struct nt_thread *thread_of(const char *service, void *thread)
{
    return nt_dispatcher_is(nt_current(), service, thread, 1u << NT_THREAD) ? thread : NULL;
}

PKTHREAD NTAPI KeGetCurrentThread(VOID)
{
    return (PKTHREAD)nt_current()->scheduler.current;
}

PETHREAD NTAPI PsGetCurrentThread(VOID)
{
    return (PETHREAD)nt_current()->scheduler.current;
}

HANDLE NTAPI PsGetThreadId(PETHREAD Thread)
{
    const struct nt_thread *thread = thread_of("PsGetThreadId", Thread);

    return thread ? (HANDLE)(uintptr_t)(FIRST_ID + THREAD_ID_STEP * thread->number) : NULL;
}

HANDLE NTAPI PsGetCurrentThreadId(VOID)
{
    return PsGetThreadId(PsGetCurrentThread());
}

/* The driver is called by threads of processes. */
BOOLEAN NTAPI PsIsSystemThread(PETHREAD Thread)
{
    const struct nt_thread *thread = thread_of("PsIsSystemThread", Thread);

    nt_require_irql(nt_current(), "PsIsSystemThread", DISPATCH_LEVEL);
    return thread && thread->number != 0;
}

NTSTATUS NTAPI PsGetThreadExitStatus(PETHREAD Thread)
{
    const struct nt_thread *thread = thread_of("PsGetThreadExitStatus", Thread);

    nt_require_irql(nt_current(), "PsGetThreadExitStatus", APC_LEVEL);
    if (!thread)
        return STATUS_INVALID_PARAMETER;
    return thread->state == NT_TERMINATED ? thread->exit_status : STATUS_PENDING;
}

/* ---- Priorities: kept, and asked for by nobody: turns are the seed's choice ------------------ */

KPRIORITY NTAPI KeQueryPriorityThread(PKTHREAD Thread)
{
    const struct nt_thread *thread = thread_of("KeQueryPriorityThread", Thread);

    nt_require_irql(nt_current(), "KeQueryPriorityThread", PASSIVE_LEVEL);
    return thread ? thread->priority : 0;
}

KPRIORITY NTAPI KeSetPriorityThread(PKTHREAD Thread, KPRIORITY Priority)
{
    struct nt_thread *thread = thread_of("KeSetPriorityThread", Thread);
    KPRIORITY before;

    if (!thread)
        return 0;
    nt_require_irql(thread->nt, "KeSetPriorityThread", DISPATCH_LEVEL);
    if (Priority < 1 || Priority > HIGH_PRIORITY)
        nt_misuse(thread->nt, "KeSetPriorityThread: there is no priority %d", Priority);
    before = thread->priority;
    thread->priority = Priority;
    return before;
}

LONG NTAPI KeSetBasePriorityThread(PKTHREAD Thread, LONG Increment)
{
    struct nt_thread *thread = thread_of("KeSetBasePriorityThread", Thread);
    LONG before;

    nt_require_irql(nt_current(), "KeSetBasePriorityThread", PASSIVE_LEVEL);
    if (!thread)
        return 0;
    before = thread->priority - BASE_PRIORITY;
    thread->priority = BASE_PRIORITY + Increment;
    return before;
}

/* ---- Time ------------------------------------------------------------------------------------ */

NTSTATUS NTAPI KeDelayExecutionThread(KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                                      PLARGE_INTEGER Interval)
{
    return nt_sleep_for(nt_current(), "KeDelayExecutionThread", Interval);
}

/* ---- Regions without APCs: there are none, so only the counts are kept ----------------------- */

static void leave_region(const char *service, int32_t *depth)
{
    if (*depth)
        --*depth;
    else
        nt_misuse(nt_current(), "%s: the thread is in no such region", service);
}

VOID NTAPI KeEnterCriticalRegion(VOID)
{
    nt_current()->scheduler.current->critical_depth++;
}

VOID NTAPI KeLeaveCriticalRegion(VOID)
{
    leave_region("KeLeaveCriticalRegion", &nt_current()->scheduler.current->critical_depth);
}

VOID NTAPI KeEnterGuardedRegion(VOID)
{
    nt_current()->scheduler.current->guarded_depth++;
}

VOID NTAPI KeLeaveGuardedRegion(VOID)
{
    leave_region("KeLeaveGuardedRegion", &nt_current()->scheduler.current->guarded_depth);
}

BOOLEAN NTAPI KeAreAllApcsDisabled(VOID)
{
    const struct nt *nt = nt_current();

    return nt->irql >= APC_LEVEL || nt->scheduler.current->guarded_depth > 0;
}

BOOLEAN NTAPI KeAreApcsDisabled(VOID)
{
    const struct nt *nt = nt_current();

    return KeAreAllApcsDisabled() || nt->scheduler.current->critical_depth > 0;
}

const struct nt_export nt_thread_exports[] = {
    NT_SERVICE(PsCreateSystemThread),
    NT_SERVICE(PsTerminateSystemThread),
    NT_SERVICE(KeGetCurrentThread),
    NT_SERVICE(PsGetCurrentThread),
    NT_SERVICE(PsGetCurrentThreadId),
    NT_SERVICE(PsGetThreadId),
    NT_SERVICE(PsIsSystemThread),
    NT_SERVICE(PsGetThreadExitStatus),
    NT_SERVICE(KeSetPriorityThread),
    NT_SERVICE(KeQueryPriorityThread),
    NT_SERVICE(KeSetBasePriorityThread),
    NT_SERVICE(KeDelayExecutionThread),
    NT_SERVICE(KeEnterCriticalRegion),
    NT_SERVICE(KeLeaveCriticalRegion),
    NT_SERVICE(KeEnterGuardedRegion),
    NT_SERVICE(KeLeaveGuardedRegion),
    NT_SERVICE(KeAreApcsDisabled),
    NT_SERVICE(KeAreAllApcsDisabled),
    {0},
};
