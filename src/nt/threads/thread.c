/*
 * Threads, as drivers make, name and end them.
 */
#include "nt/threads/thread.h"

#include "nt/machine/boundary.h"
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/wait.h"

#include "base/assert.h"

#define THREAD_ID_STEP 4u /* identifiers are multiples of it */
#define FIRST_ID       0x100u
#define BASE_PRIORITY  8

/* ---- Made and ended -------------------------------------------------------------------------- */

/* The running thread ends; it is not the first. */
static void __attribute__((noreturn)) end_current(struct nt *nt, NTSTATUS status)
{
    struct nt_thread *thread = nt->scheduler.current;

    ASSERT(thread->number);
    if (nt->irql > PASSIVE_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, 0, nt->irql, 0, 0);
    if (thread->owned_mutexes)
        KeBugCheckEx(NT_THREAD_TERMINATE_HELD_MUTEX, (ULONG_PTR)thread,
                     (ULONG_PTR)thread->owned_mutex, 0, 0);
    if (thread->critical_depth || thread->guarded_depth)
        nt_misuse(nt, "thread %u ends inside a critical or guarded region", thread->number);
    thread->exit_status = status;
    thread->state = NT_TERMINATED;
    thread->head.state = 1;
    list_remove(&thread->link);
    nt_signal(nt, thread);
    for (;;)
        nt_leave(nt);
}

static void thread_main(void *argument)
{
    struct nt_thread *thread = argument;
    struct nt *nt = thread->nt;
    KSTART_ROUTINE *start;

    if (thread->bench_main) {
        thread->bench_main(thread->context);
    } else {
        start = (KSTART_ROUTINE *)nt_driver_function(nt, thread->start);
        if (start)
            start(thread->context);
    }
    end_current(nt, STATUS_SUCCESS);
}

static struct boundary *stacks_of(struct nt *nt)
{
    if (!nt->boundary && !nt->scheduler.stacks)
        nt->scheduler.stacks = boundary_create(nt->services, NULL, NULL);
    return nt->boundary ? nt->boundary : nt->scheduler.stacks;
}

NTSTATUS nt_thread_create(struct nt *nt, const void *start, void (*bench_main)(void *context),
                          void *context, struct nt_thread **out_thread)
{
    struct boundary *boundary = stacks_of(nt);
    struct nt_thread *thread;

    *out_thread = NULL;
    if (!boundary || !nt->machine)
        return STATUS_INSUFFICIENT_RESOURCES;
    thread = base_alloc(nt->services, sizeof *thread);
    if (!thread)
        return STATUS_INSUFFICIENT_RESOURCES;
    *thread = (struct nt_thread){.nt = nt,
                                 .start = start,
                                 .bench_main = bench_main,
                                 .context = context,
                                 .priority = 8,
                                 .created_ns = nt_now(nt)};
    thread->stack = boundary_thread_create(boundary, thread_main, thread);
    if (!thread->stack) {
        base_free(nt->services, thread, sizeof *thread);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    thread->number = ++nt->scheduler.thread_count;
    nt_dispatcher_init(thread, NT_THREAD, 0);
    nt_object_init(nt, &thread->object, &nt_thread_type, thread);
    thread->object.is_held = true;
    list_push_back(&nt->scheduler.threads, &thread->link);
    nt_make_ready(thread, nt_now(nt) + nt_delay(nt, NT_TURN_MIN_NS, NT_TURN_MAX_NS));
    *out_thread = thread;
    return STATUS_SUCCESS;
}

/* The thread never ran. */
static void undo(struct nt_thread *thread)
{
    struct nt *nt = thread->nt;

    machine_cancel(nt->machine, &thread->turn);
    list_remove(&thread->link);
    boundary_thread_destroy(thread->stack);
    nt_object_dereference(nt, &thread->object);
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    struct nt_thread *thread;
    char text[760];

    list_for_each (thread, &nt->scheduler.threads, struct nt_thread, link) {
        if (thread->bench_main)
            continue;
        nt_describe_thread(thread, text, sizeof text);
        tell(context, text);
    }
}

static void end_threads(struct nt *nt)
{
    struct nt_scheduler *scheduler = &nt->scheduler;
    struct nt_thread *thread;

    ASSERT(nt_is_first_thread(nt));
    list_for_each (thread, &scheduler->threads, struct nt_thread, link) {
        if (nt->machine)
            machine_cancel(nt->machine, &thread->turn);
        boundary_thread_destroy(thread->stack);
        thread->stack = NULL;
    }
    list_init(&scheduler->threads);
    boundary_destroy(scheduler->stacks);
    scheduler->stacks = NULL;
}

/* ---- Services -------------------------------------------------------------------------------- */

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
        undo(thread);
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
    end_current(nt, ExitStatus);
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

static const struct nt_export services[] = {
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

const struct nt_area nt_thread_area = {
    .exports = services,
    .end_threads = end_threads,
    .left = left,
};
