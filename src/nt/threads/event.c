/*
 * Events, semaphores and mutexes. They lie in the driver's memory: a state, a mark, and no pointer.
 */
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/wait.h"

#include "base/bits.h"

_Static_assert(sizeof(struct nt_dispatcher) == sizeof(KEVENT), "as long as the kernel's");
_Static_assert(sizeof(struct nt_semaphore) == sizeof(KSEMAPHORE), "as long as the kernel's");
_Static_assert(sizeof(struct nt_mutex) == sizeof(KMUTEX), "as long as the kernel's");

/* ---- Events ---------------------------------------------------------------------------------- */

VOID NTAPI KeInitializeEvent(PRKEVENT Event, EVENT_TYPE Type, BOOLEAN State)
{
    nt_dispatcher_init(
        Event, Type == SynchronizationEvent ? NT_SYNCHRONIZATION_EVENT : NT_NOTIFICATION_EVENT,
        State ? 1 : 0);
}

/* NULL, told: it is no event. */
static struct nt_dispatcher *event_of(struct nt *nt, const char *service, PRKEVENT event)
{
    nt_require_irql(nt, service, DISPATCH_LEVEL);
    return nt_dispatcher_is(nt, service, event, NT_EVENTS) ? (struct nt_dispatcher *)event : NULL;
}

static LONG set_state(const char *service, PRKEVENT event, LONG state)
{
    struct nt *nt = nt_current();
    struct nt_dispatcher *head = event_of(nt, service, event);
    LONG before;

    if (!head)
        return 0;
    before = head->state;
    head->state = state;
    if (state)
        nt_signal(nt, event);
    return before;
}

/*
 * Wait promises that a wait follows at once; the IRQL would stay raised until then, and must be
 * below DISPATCH_LEVEL.
 */
LONG NTAPI KeSetEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait)
{
    if (Wait)
        nt_require_irql(nt_current(), "KeSetEvent with Wait", APC_LEVEL);
    return set_state("KeSetEvent", Event, 1);
}

LONG NTAPI KeResetEvent(PRKEVENT Event)
{
    nt_require_irql(nt_current(), "KeResetEvent", DISPATCH_LEVEL);
    return set_state("KeResetEvent", Event, 0);
}

VOID NTAPI KeClearEvent(PRKEVENT Event)
{
    nt_require_irql(nt_current(), "KeClearEvent", DISPATCH_LEVEL);
    set_state("KeClearEvent", Event, 0);
}

LONG NTAPI KePulseEvent(PRKEVENT Event, KPRIORITY Increment, BOOLEAN Wait)
{
    LONG before = set_state("KePulseEvent", Event, 1);

    set_state("KePulseEvent", Event, 0);
    return before;
}

LONG NTAPI KeReadStateEvent(PRKEVENT Event)
{
    struct nt *nt = nt_current();
    struct nt_dispatcher *head = event_of(nt, "KeReadStateEvent", Event);

    nt_require_irql(nt_current(), "KeReadStateEvent", DISPATCH_LEVEL);
    nt_look_at_clock(nt);
    return head ? head->state : 0;
}

/* ---- Events with handles --------------------------------------------------------------------- */

struct event_object {
    struct nt_dispatcher event; /* first: drivers have its address */
    struct nt_object object;
};

static void destroy_event(struct nt *nt, struct nt_object *object)
{
    nt_memory_freed(nt, object->body, sizeof(struct event_object));
    base_free(nt->services, object->body, sizeof(struct event_object));
}

const struct nt_object_type nt_event_type = {"event", destroy_event};

static PKEVENT create_event(const char *service, PHANDLE handle, EVENT_TYPE type)
{
    struct nt *nt = nt_current();
    struct event_object *event;
    NTSTATUS status;

    nt_require_irql(nt, service, PASSIVE_LEVEL);
    event = base_alloc(nt->services, sizeof *event);
    if (!event)
        return NULL;
    KeInitializeEvent((PRKEVENT)&event->event, type, TRUE);
    nt_object_init(nt, &event->object, &nt_event_type, event);
    status = nt_handle_create(nt, &event->object, handle);
    nt_object_dereference(nt, &event->object);
    return NT_SUCCESS(status) ? (PKEVENT)event : NULL;
}

/* Names are not kept: no other driver is there to open them. */
PKEVENT NTAPI IoCreateNotificationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle)
{
    return create_event("IoCreateNotificationEvent", EventHandle, NotificationEvent);
}

PKEVENT NTAPI IoCreateSynchronizationEvent(PUNICODE_STRING EventName, PHANDLE EventHandle)
{
    return create_event("IoCreateSynchronizationEvent", EventHandle, SynchronizationEvent);
}

/* ---- Semaphores ------------------------------------------------------------------------------ */

VOID NTAPI KeInitializeSemaphore(PRKSEMAPHORE Semaphore, LONG Count, LONG Limit)
{
    struct nt_semaphore *semaphore = (struct nt_semaphore *)Semaphore;

    if (Count < 0 || Limit < 1 || Count > Limit)
        nt_misuse(nt_current(), "KeInitializeSemaphore: a count of %d and a limit of %d", Count,
                  Limit);
    nt_dispatcher_init(&semaphore->head, NT_SEMAPHORE, Count);
    semaphore->limit = Limit;
}

LONG NTAPI KeReleaseSemaphore(PRKSEMAPHORE Semaphore, KPRIORITY Increment, LONG Adjustment,
                              BOOLEAN Wait)
{
    struct nt_semaphore *semaphore = (struct nt_semaphore *)Semaphore;
    struct nt *nt = nt_current();
    LONG before;

    nt_require_irql(nt, "KeReleaseSemaphore", Wait ? APC_LEVEL : DISPATCH_LEVEL);
    if (!nt_dispatcher_is(nt, "KeReleaseSemaphore", Semaphore, 1u << NT_SEMAPHORE))
        return 0;
    before = semaphore->head.state;
    /* Windows raises STATUS_SEMAPHORE_LIMIT_EXCEEDED, and the count stays. */
    if (Adjustment < 1 || Adjustment > semaphore->limit - before) {
        nt_misuse(nt,
                  "KeReleaseSemaphore: %d are released, %d were there and the limit is %d; Windows "
                  "raises STATUS_SEMAPHORE_LIMIT_EXCEEDED",
                  Adjustment, before, semaphore->limit);
        return before;
    }
    semaphore->head.state += Adjustment;
    nt_signal(nt, Semaphore);
    return before;
}

LONG NTAPI KeReadStateSemaphore(PRKSEMAPHORE Semaphore)
{
    struct nt *nt = nt_current();

    if (!nt_dispatcher_is(nt, "KeReadStateSemaphore", Semaphore, 1u << NT_SEMAPHORE))
        return 0;
    nt_look_at_clock(nt);
    return ((struct nt_semaphore *)Semaphore)->head.state;
}

/* ---- Mutexes --------------------------------------------------------------------------------- */

VOID NTAPI KeInitializeMutex(PRKMUTEX Mutex, ULONG Level)
{
    struct nt_mutex *mutex = (struct nt_mutex *)Mutex;

    *mutex = (struct nt_mutex){.owner = NULL};
    nt_dispatcher_init(&mutex->head, NT_MUTEX, 1);
}

/* Returns 0 when it is free now, as the kernel's does: the state before, where 1 is free. */
LONG NTAPI KeReleaseMutex(PRKMUTEX Mutex, BOOLEAN Wait)
{
    struct nt_mutex *mutex = (struct nt_mutex *)Mutex;
    struct nt *nt = nt_current();
    struct nt_thread *thread = nt->scheduler.current;
    LONG before;

    nt_require_irql(nt, "KeReleaseMutex", Wait ? APC_LEVEL : DISPATCH_LEVEL);
    if (!nt_dispatcher_is(nt, "KeReleaseMutex", Mutex, 1u << NT_MUTEX))
        return 0;
    if (mutex->owner != thread)
        KeBugCheckEx(NT_THREAD_NOT_MUTEX_OWNER, (ULONG_PTR)Mutex, (ULONG_PTR)thread,
                     (ULONG_PTR)mutex->owner, 0);
    before = 1 - (LONG)mutex->depth;
    if (--mutex->depth)
        return before;
    mutex->owner = NULL;
    mutex->head.state = 1;
    thread->owned_mutexes--;
    nt_signal(nt, Mutex);
    return before;
}

LONG NTAPI KeReadStateMutex(PRKMUTEX Mutex)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt_current(), "KeReadStateMutex", DISPATCH_LEVEL);
    if (!nt_dispatcher_is(nt, "KeReadStateMutex", Mutex, 1u << NT_MUTEX))
        return 0;
    nt_look_at_clock(nt);
    return 1 - (LONG)((struct nt_mutex *)Mutex)->depth;
}

/* ---- Waiting for them ------------------------------------------------------------------------ */

NTSTATUS NTAPI KeWaitForSingleObject(PVOID Object, KWAIT_REASON WaitReason,
                                     KPROCESSOR_MODE WaitMode, BOOLEAN Alertable,
                                     PLARGE_INTEGER Timeout)
{
    return nt_wait_for(nt_current(), "KeWaitForSingleObject", 1, &Object, false, Timeout);
}

NTSTATUS NTAPI KeWaitForMultipleObjects(ULONG Count, PVOID Object[], WAIT_TYPE WaitType,
                                        KWAIT_REASON WaitReason, KPROCESSOR_MODE WaitMode,
                                        BOOLEAN Alertable, PLARGE_INTEGER Timeout,
                                        PKWAIT_BLOCK WaitBlockArray)
{
    struct nt *nt = nt_current();

    if (!Count || Count > (WaitBlockArray ? MAXIMUM_WAIT_OBJECTS : THREAD_WAIT_OBJECTS))
        KeBugCheckEx(NT_MAXIMUM_WAIT_OBJECTS_EXCEEDED, 0, 0, 0, 0);
    return nt_wait_for(nt, "KeWaitForMultipleObjects", Count, Object, WaitType == WaitAll, Timeout);
}

static const struct nt_export services[] = {
    NT_SERVICE(KeInitializeEvent),
    NT_SERVICE(KeSetEvent),
    NT_SERVICE(KeResetEvent),
    NT_SERVICE(KeClearEvent),
    NT_SERVICE(KePulseEvent),
    NT_SERVICE(KeReadStateEvent),
    NT_SERVICE(IoCreateNotificationEvent),
    NT_SERVICE(IoCreateSynchronizationEvent),
    NT_SERVICE(KeInitializeSemaphore),
    NT_SERVICE(KeReleaseSemaphore),
    NT_SERVICE(KeReadStateSemaphore),
    NT_SERVICE(KeInitializeMutex),
    NT_SERVICE(KeReleaseMutex),
    NT_SERVICE(KeReadStateMutex),
    NT_SERVICE(KeWaitForSingleObject),
    NT_SERVICE(KeWaitForMultipleObjects),
    {"KeWaitForMutexObject", (const void *)KeWaitForSingleObject, NT_EXPORT_SERVICE, NULL},
    {0},
};

const struct nt_area nt_event_area = {.exports = services};
