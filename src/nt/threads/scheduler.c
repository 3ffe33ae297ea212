/*
 * The scheduler runs on the first thread: turns of others are events, given from wherever the first
 * thread lets events happen. So others never run events, and a longjmp() out of the run, which only
 * the first thread makes, leaves them where they stand.
 */
#include "nt/threads/scheduler.h"

#include "nt/machine/boundary.h"
#include "nt/machine/bug_check.h"
#include "nt/machine/processor.h"
#include "nt/nt_private.h"

#include "base/assert.h"
#include "base/bits.h"

#define RNG_STREAM       0x74687265616473u            /* "threads" */
#define RETRY_NS         200u                         /* until the IRQL is looked at again */
#define LOOKS_UNTIL_TIME 32u                          /* at the clock, without anything else */
#define LOOK_NS          1000u                        /* that pass then */
#define SYSTEM_TIME_BASE UINT64_C(133800000000000000) /* an instant in 2024 */

/* ---- Time and chance ------------------------------------------------------------------------- */

uint64_t nt_now(const struct nt *nt)
{
    return nt->machine ? machine_now(nt->machine) : 0;
}

uint64_t nt_system_time(const struct nt *nt)
{
    return SYSTEM_TIME_BASE + nt_now(nt) / 100;
}

uint64_t nt_delay(struct nt *nt, uint64_t low_ns, uint64_t high_ns)
{
    return rng_between(&nt->scheduler.rng, low_ns, high_ns);
}

uint64_t nt_timeout_ns(const struct nt *nt, const LARGE_INTEGER *timeout)
{
    uint64_t now = nt_system_time(nt), at;

    if (!timeout)
        return UINT64_MAX;
    if (timeout->QuadPart <= 0)
        return min_u64(0 - (uint64_t)timeout->QuadPart, UINT64_MAX / 200) * 100;
    at = (uint64_t)timeout->QuadPart;
    return at > now ? min_u64(at - now, UINT64_MAX / 200) * 100 : 0;
}

/* ---- Turns ----------------------------------------------------------------------------------- */

static void take_turn(void *context);

void nt_make_ready(struct nt_thread *thread, uint64_t time_ns)
{
    thread->state = NT_READY;
    machine_schedule(thread->nt->machine, &thread->turn, time_ns, take_turn, thread);
}

void nt_leave(struct nt *nt)
{
    boundary_switch(nt->scheduler.home);
}

static void give_turn(struct nt *nt, struct nt_thread *thread)
{
    struct nt_scheduler *scheduler = &nt->scheduler;
    struct boundary *boundary = nt->boundary ? nt->boundary : scheduler->stacks;
    struct nt_thread *from = scheduler->current;
    KIRQL irql = nt->irql;

    ASSERT(from == &scheduler->first);
    scheduler->home = boundary_current_thread(boundary);
    for (;;) {
        scheduler->current = thread;
        processor_set_thread(thread);
        thread->state = NT_RUNNING;
        nt_set_irql(nt, thread->irql);
        boundary_switch(thread->stack);
        thread->irql = nt->irql;
        scheduler->current = from;
        processor_set_thread(from);
        if (scheduler->stop.is_pending)
            nt_stop_run(nt);
        if (thread->state != NT_STALLING)
            break;
        /* At its IRQL: an event that is not above finds so, and comes again. */
        scheduler->depth++;
        machine_run_until(nt->machine, thread->stall_end_ns);
        scheduler->depth--;
        nt_schedule_deferred(nt);
    }
    nt_set_irql(nt, irql);
    if (thread->state == NT_TERMINATED) {
        boundary_thread_destroy(thread->stack);
        thread->stack = NULL;
        thread->object.is_held = false;
        nt_object_dereference(nt, &thread->object);
    }
}

static void take_turn(void *context)
{
    struct nt_thread *thread = context;

    if (thread->nt->irql >= DISPATCH_LEVEL)
        nt_make_ready(thread, nt_now(thread->nt) + RETRY_NS);
    else
        give_turn(thread->nt, thread);
}

/* ---- The bench's own work -------------------------------------------------------------------- */

/* Under a spin lock of the driver's nothing goes on either: it may be the one that a call takes. */
static uint32_t depth_of(const struct nt *nt)
{
    return nt->scheduler.depth + nt->held_locks;
}

bool nt_is_amid_call(const struct nt *nt)
{
    return depth_of(nt) || !nt_is_first_thread(nt) || nt->scheduler.is_thread_played;
}

struct nt_moment nt_get_moment(const struct nt *nt)
{
    return (struct nt_moment){nt->irql, !nt_is_first_thread(nt), nt->scheduler.depth,
                              nt->held_locks};
}

void nt_set_moment(struct nt *nt, const struct nt_moment *moment)
{
    const bool has_waited = depth_of(nt) && !moment->depth && !moment->locks;

    nt_set_irql(nt, moment->irql);
    nt->scheduler.is_thread_played = moment->is_thread;
    nt->scheduler.depth = moment->depth;
    nt->held_locks = moment->locks;
    if (has_waited)
        nt_schedule_deferred(nt);
}

static void drain(void *context)
{
    struct nt *nt = context;
    struct list *node;

    while (!depth_of(nt) && (node = list_pop_front(&nt->scheduler.deferred))) {
        struct nt_deferred *deferred = container_of(node, struct nt_deferred, link);

        deferred->is_queued = false;
        deferred->function(deferred->context);
    }
}

bool nt_is_drain(void (*function)(void *context))
{
    return function == drain;
}

void nt_schedule_deferred(struct nt *nt)
{
    if (!depth_of(nt) && !list_is_empty(&nt->scheduler.deferred) &&
        !nt->scheduler.drain.is_scheduled)
        machine_schedule(nt->machine, &nt->scheduler.drain, nt_now(nt), drain, nt);
}

void nt_defer(struct nt *nt, struct nt_deferred *deferred, void (*function)(void *context),
              void *context)
{
    if (deferred->is_queued)
        return;
    *deferred = (struct nt_deferred){.function = function, .context = context, .is_queued = true};
    list_push_back(&nt->scheduler.deferred, &deferred->link);
    nt_schedule_deferred(nt);
}

void nt_cancel_deferred(struct nt *nt, struct nt_deferred *deferred)
{
    if (deferred->is_queued)
        list_remove(&deferred->link);
    deferred->is_queued = false;
}

/* ---- Time that passes ------------------------------------------------------------------------ */

void nt_stall(struct nt *nt, uint64_t ns)
{
    struct nt_scheduler *scheduler = &nt->scheduler;
    struct nt_thread *thread = scheduler->current;
    uint64_t end = nt_now(nt) + ns;

    scheduler->look_count = 0;
    if (!nt->machine)
        return;
    if (!thread->number) {
        scheduler->depth++;
        machine_run_until(nt->machine, end);
        scheduler->depth--;
        nt_schedule_deferred(nt);
    } else if (nt->irql >= DISPATCH_LEVEL) {
        thread->state = NT_STALLING;
        thread->stall_end_ns = end;
        nt_leave(nt);
    } else {
        nt_make_ready(thread, end);
        nt_leave(nt);
    }
}

void nt_look_at_clock(struct nt *nt)
{
    struct nt_scheduler *scheduler = &nt->scheduler;
    uint32_t count = scheduler->looked_ns == nt_now(nt) ? scheduler->look_count + 1 : 1;

    if (count > LOOKS_UNTIL_TIME)
        nt_stall(nt, LOOK_NS);
    scheduler->look_count = count;
    scheduler->looked_ns = nt_now(nt);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Waits lie on stacks that are gone, and the machine knows some of them: it is not asked again. */
void nt_abandon(struct nt *nt)
{
    nt->machine = NULL;
    list_init(&nt->scheduler.waits);
    nt->scheduler.current = &nt->scheduler.first;
    nt->scheduler.depth = 0;
    nt->scheduler.stop.is_pending = false;
    nt->scheduler.stop.thread = 0;
}

static void destroy_thread(struct nt *nt, struct nt_object *object)
{
    base_free(nt->services, object->body, sizeof(struct nt_thread));
}

const struct nt_object_type nt_thread_type = {"thread", destroy_thread};

static void init(struct nt *nt)
{
    struct nt_scheduler *scheduler = &nt->scheduler;

    list_init(&scheduler->threads);
    list_init(&scheduler->waits);
    list_init(&scheduler->deferred);
    if (nt->machine)
        machine_fork_rng(nt->machine, RNG_STREAM, &scheduler->rng);
    scheduler->first = (struct nt_thread){.nt = nt, .state = NT_RUNNING, .priority = 8};
    scheduler->current = &scheduler->first;
    processor_set_thread(&scheduler->first);
    nt_dispatcher_init(&scheduler->first, NT_THREAD, 0);
    nt_object_init(nt, &scheduler->first.object, &nt_thread_type, &scheduler->first);
    scheduler->first.object.is_held = true;
}

static void fini(struct nt *nt)
{
    if (nt->machine)
        machine_cancel(nt->machine, &nt->scheduler.drain);
    list_remove(&nt->scheduler.first.object.link); /* it is no block of memory */
}

const struct nt_area nt_scheduler_area = {.init = init, .fini = fini};
