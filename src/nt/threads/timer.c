/*
 * Timers: the driver's KTIMER holds a state, the bench knows which are set. EX_TIMERs are the
 * bench's.
 */
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/dpc.h"
#include "nt/threads/wait.h"

#include "base/bits.h"

#include <stdio.h>

#define NS_PER_MS     1000000u
#define RETRY_NS      200u
#define EX_PERIOD_MAX UINT64_C(86400000000000) /* of 100 ns: some months */

struct timer_object {
    struct nt_dispatcher head;
    uint64_t unused[5];
};

_Static_assert(sizeof(struct timer_object) == sizeof(KTIMER), "as long as the kernel's");

struct _EX_TIMER {
    struct nt_dispatcher head; /* drivers may wait for it */
    struct list link;          /* in ex_timers */
    const void *callback;
    void *context;
};

/* One that is set. */
struct set_timer {
    struct list link;
    struct nt *nt;
    void *timer;
    PKDPC dpc;
    struct _EX_TIMER *ex; /* the same as timer; NULL: it is none */
    uint64_t period_ns, due_ns;
    struct machine_event event;
};

static void expire(void *context);

/* The state of the area. */
struct timers {
    struct list set;       /* of struct set_timer */
    struct list allocated; /* of struct _EX_TIMER: ExAllocateTimer() gave them */
};

static struct timers *timers_of(const struct nt *nt)
{
    return NT_STATE(nt, timer);
}

static void arm(struct set_timer *set, uint64_t time_ns)
{
    machine_schedule(set->nt->machine, &set->event, time_ns, expire, set);
}

static void destroy(struct set_timer *set)
{
    list_remove(&set->link);
    if (set->nt->machine)
        machine_cancel(set->nt->machine, &set->event);
    base_free(set->nt->services, set, sizeof *set);
}

static void expire(void *context)
{
    struct set_timer *set = context;
    struct nt *nt = set->nt;
    struct set_timer now = *set;

    if (nt->irql >= DISPATCH_LEVEL) {
        arm(set, nt_now(nt) + RETRY_NS);
        return;
    }
    if (set->period_ns) {
        set->due_ns += set->period_ns;
        arm(set, set->due_ns);
    } else {
        destroy(set);
    }
    ((struct nt_dispatcher *)now.timer)->state = 1;
    nt_signal(nt, now.timer);
    if (now.dpc)
        nt_dpc_insert(nt, "KeSetTimer", now.dpc, NULL, NULL);
    if (now.ex && now.ex->callback)
        nt_dpc_queue(nt, now.ex, now.ex->callback,
                     (void *const[]){now.ex, now.ex->context, NULL, NULL}, MediumImportance);
}

static struct set_timer *find(struct nt *nt, const void *timer)
{
    struct set_timer *set;

    list_for_each (set, &timers_of(nt)->set, struct set_timer, link) {
        if (set->timer == timer)
            return set;
    }
    return NULL;
}

static bool cancel(struct nt *nt, const void *timer)
{
    struct set_timer *set = find(nt, timer);

    if (!set)
        return false;
    destroy(set);
    return true;
}

/* Whether it was set before. */
static bool set_timer(struct nt *nt, void *timer, PKDPC dpc, struct _EX_TIMER *ex,
                      const LARGE_INTEGER *due, uint64_t period_ns)
{
    bool was_set = cancel(nt, timer);
    struct set_timer *set = base_alloc(nt->services, sizeof *set);

    if (!set || !nt->machine)
        KeBugCheckEx(NT_NO_PAGES_AVAILABLE, 0, 0, 0, 0);
    ((struct nt_dispatcher *)timer)->state = 0;
    *set = (struct set_timer){.nt = nt,
                              .timer = timer,
                              .dpc = dpc,
                              .ex = ex,
                              .period_ns = period_ns,
                              .due_ns = nt_now(nt) + nt_timeout_ns(nt, due)};
    list_push_back(&timers_of(nt)->set, &set->link);
    arm(set, set->due_ns);
    return was_set;
}

/* ---- KTIMER ---------------------------------------------------------------------------------- */

VOID NTAPI KeInitializeTimerEx(PKTIMER Timer, TIMER_TYPE Type)
{
    struct nt *nt = nt_current();

    if (find(nt, Timer))
        KeBugCheckEx(NT_TIMER_OR_DPC_INVALID, 0, (ULONG_PTR)Timer, (ULONG_PTR)Timer,
                     (ULONG_PTR)(Timer + 1));
    nt_dispatcher_init(
        Timer, Type == SynchronizationTimer ? NT_SYNCHRONIZATION_TIMER : NT_NOTIFICATION_TIMER, 0);
}

VOID NTAPI KeInitializeTimer(PKTIMER Timer)
{
    KeInitializeTimerEx(Timer, NotificationTimer);
}

static bool is_timer(struct nt *nt, const char *service, PKTIMER timer)
{
    nt_require_irql(nt, service, DISPATCH_LEVEL);
    return nt_dispatcher_is(nt, service, timer, NT_TIMERS);
}

BOOLEAN NTAPI KeSetTimerEx(PKTIMER Timer, LARGE_INTEGER DueTime, LONG Period, PKDPC Dpc)
{
    struct nt *nt = nt_current();

    if (Period < 0) {
        nt_misuse(nt, "KeSetTimerEx: a period of %d ms", Period);
        Period = 0;
    }
    return is_timer(nt, "KeSetTimer", Timer) &&
           set_timer(nt, Timer, Dpc, NULL, &DueTime, (uint64_t)Period * NS_PER_MS);
}

BOOLEAN NTAPI KeSetTimer(PKTIMER Timer, LARGE_INTEGER DueTime, PKDPC Dpc)
{
    return KeSetTimerEx(Timer, DueTime, 0, Dpc);
}

/* Within the tolerance it comes on time. */
BOOLEAN NTAPI KeSetCoalescableTimer(PKTIMER Timer, LARGE_INTEGER DueTime, ULONG Period,
                                    ULONG TolerableDelay, PKDPC Dpc)
{
    return KeSetTimerEx(Timer, DueTime, (LONG)Period, Dpc);
}

BOOLEAN NTAPI KeCancelTimer(PKTIMER Timer)
{
    struct nt *nt = nt_current();

    return is_timer(nt, "KeCancelTimer", Timer) && cancel(nt, Timer);
}

BOOLEAN NTAPI KeReadStateTimer(PKTIMER Timer)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt_current(), "KeReadStateTimer", DISPATCH_LEVEL);
    nt_look_at_clock(nt);
    return is_timer(nt, "KeReadStateTimer", Timer) && ((struct nt_dispatcher *)Timer)->state != 0;
}

/* ---- EX_TIMER -------------------------------------------------------------------------------- */

PEX_TIMER NTAPI ExAllocateTimer(PEXT_CALLBACK Callback, PVOID CallbackContext, ULONG Attributes)
{
    struct nt *nt = nt_current();
    struct _EX_TIMER *timer;

    nt_require_irql(nt, "ExAllocateTimer", DISPATCH_LEVEL);
    timer = base_alloc(nt->services, sizeof *timer);
    if (!timer)
        return NULL;
    *timer = (struct _EX_TIMER){.callback = (const void *)Callback, .context = CallbackContext};
    nt_dispatcher_init(
        &timer->head,
        Attributes & EX_TIMER_NOTIFICATION ? NT_NOTIFICATION_TIMER : NT_SYNCHRONIZATION_TIMER, 0);
    list_push_back(&timers_of(nt)->allocated, &timer->link);
    return timer;
}

/* False, told: there is none. */
static bool is_ex_timer(struct nt *nt, const char *service, const struct _EX_TIMER *timer)
{
    const struct _EX_TIMER *one;

    nt_require_irql(nt, service, DISPATCH_LEVEL);
    list_for_each (one, &timers_of(nt)->allocated, struct _EX_TIMER, link) {
        if (one == timer)
            return true;
    }
    nt_misuse(nt, "%s: there is no such timer (it has been deleted, or never was one)", service);
    return false;
}

BOOLEAN NTAPI ExSetTimer(PEX_TIMER Timer, LONGLONG DueTime, LONGLONG Period,
                         PEXT_SET_PARAMETERS Parameters)
{
    struct nt *nt = nt_current();
    const LARGE_INTEGER due = {.QuadPart = DueTime};

    if (!is_ex_timer(nt, "ExSetTimer", Timer))
        return FALSE;
    if (Period < 0 || (uint64_t)Period > EX_PERIOD_MAX) {
        nt_misuse(nt, "ExSetTimer: a period of %lld", (long long)Period);
        Period = 0;
    }
    return set_timer(nt, Timer, NULL, Timer, &due, (uint64_t)Period * 100);
}

BOOLEAN NTAPI ExCancelTimer(PEX_TIMER Timer, PVOID Parameters)
{
    struct nt *nt = nt_current();

    return is_ex_timer(nt, "ExCancelTimer", Timer) && cancel(nt, Timer);
}

/* A callback that is under way runs at DISPATCH_LEVEL, and is over before anybody can get here. */
BOOLEAN NTAPI ExDeleteTimer(PEX_TIMER Timer, BOOLEAN Cancel, BOOLEAN Wait,
                            PEXT_DELETE_PARAMETERS Parameters)
{
    struct nt *nt = nt_current();
    EXT_DELETE_CALLBACK *done;
    bool was_set;

    if (!is_ex_timer(nt, "ExDeleteTimer", Timer))
        return FALSE;
    if (Wait)
        nt_require_irql(nt, "ExDeleteTimer with Wait", APC_LEVEL);
    if (Wait && !Cancel)
        nt_misuse(nt, "ExDeleteTimer: Wait without Cancel");
    was_set = cancel(nt, Timer);
    nt_dpc_remove(nt, Timer);
    list_remove(&Timer->link);
    base_free(nt->services, Timer, sizeof *Timer);
    if (Parameters && Parameters->DeleteCallback) {
        done =
            (EXT_DELETE_CALLBACK *)nt_driver_function(nt, (const void *)Parameters->DeleteCallback);
        if (done)
            done(Parameters->DeleteContext);
    }
    return was_set;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    const struct set_timer *set;

    list_for_each (set, &timers_of(nt)->set, struct set_timer, link) {
        if ((uintptr_t)set->timer - (uintptr_t)memory < bytes)
            KeBugCheckEx(NT_TIMER_OR_DPC_INVALID, 0, (ULONG_PTR)set->timer, (ULONG_PTR)memory,
                         (ULONG_PTR)memory + bytes);
    }
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    const struct set_timer *set;
    const struct _EX_TIMER *ex;
    char what[160], text[256];

    list_for_each (set, &timers_of(nt)->set, struct set_timer, link) {
        nt_describe(nt, "timer", set->timer, what, sizeof what);
        snprintf(text, sizeof text, "%s is set and has not been cancelled", what);
        tell(context, text);
    }
    list_for_each (ex, &timers_of(nt)->allocated, struct _EX_TIMER, link)
        tell(context, "a timer of ExAllocateTimer has not been deleted");
}

static void fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(&timers_of(nt)->set)))
        destroy(container_of(node, struct set_timer, link));
    while ((node = list_pop_front(&timers_of(nt)->allocated)))
        base_free(nt->services, container_of(node, struct _EX_TIMER, link),
                  sizeof(struct _EX_TIMER));
}

static void init(struct nt *nt)
{
    list_init(&timers_of(nt)->set);
    list_init(&timers_of(nt)->allocated);
}

static const struct nt_export services[] = {
    NT_SERVICE(KeInitializeTimer), NT_SERVICE(KeInitializeTimerEx),   NT_SERVICE(KeSetTimer),
    NT_SERVICE(KeSetTimerEx),      NT_SERVICE(KeSetCoalescableTimer), NT_SERVICE(KeCancelTimer),
    NT_SERVICE(KeReadStateTimer),  NT_SERVICE(ExAllocateTimer),       NT_SERVICE(ExSetTimer),
    NT_SERVICE(ExCancelTimer),     NT_SERVICE(ExDeleteTimer),         {0},
};

const struct nt_area nt_timer_area = {
    .exports = services,
    .state_bytes = sizeof(struct timers),
    .init = init,
    .fini = fini,
    .left = left,
    .freed = freed,
};
