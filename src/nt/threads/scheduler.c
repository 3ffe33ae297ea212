/*
 * The scheduler runs on the first thread: turns of others are events, given from wherever the first
 * thread lets events happen. So others never run events, and a longjmp() out of the run, which only
 * the first thread makes, leaves them where they stand.
 */
#include "nt/threads/scheduler.h"

#include "nt/machine/boundary.h"
#include "nt/machine/exception_internal.h"
#include "nt/nt_internal.h"
#include "nt/machine/processor.h"

#include "base/assert.h"
#include "base/bits.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RNG_STREAM       0x74687265616473u /* "threads" */
#define TURN_MIN_NS      500u
#define TURN_MAX_NS      30000u
#define RETRY_NS         200u                         /* until the level is looked at again */
#define LOOKS_UNTIL_TIME 32u                          /* at the clock, without anything else */
#define LOOK_NS          1000u                        /* that pass then */
#define SYSTEM_TIME_BASE UINT64_C(133800000000000000) /* an instant in 2024 */

struct nt_wait {
    struct list link; /* in nt->scheduler.waits */
    struct nt_thread *thread;
    struct nt_wait *outer; /* of the first thread: calls of the driver nest */
    void *objects[MAXIMUM_WAIT_OBJECTS];
    uint32_t count;
    bool is_all, is_over, has_timeout;
    nt_take *take; /* of a lock; NULL: objects with a head */
    uint64_t argument;
    const char *service, *what;
    uint64_t caller; /* in the image; 0: none */
    NTSTATUS status;
    uint64_t since_ns;
    struct machine_event timeout;
};

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

/* ---- Reports --------------------------------------------------------------------------------- */

void nt_misuse(struct nt *nt, const char *format, ...)
{
    char text[760];
    va_list arguments;

    if (!nt->host.misuse)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    nt->host.misuse(nt->host.context, text);
}

void nt_require_irql(struct nt *nt, const char *service, KIRQL highest)
{
    if (nt->irql > highest)
        nt_misuse(nt, "%s is called at IRQL %u; it is for IRQL %u at most", service, nt->irql,
                  highest);
}

struct search {
    const void *object;
    struct nt_pool_block found;
};

static void look_in_block(void *context, const struct nt_pool_block *block)
{
    struct search *search = context;
    uint64_t offset = (uintptr_t)search->object - (uintptr_t)block->memory;

    if ((uintptr_t)search->object >= (uintptr_t)block->memory && offset < block->bytes)
        search->found = *block;
}

/* By what does not change from one run of a seed to the next, as far as there is such. */
void nt_describe(struct nt *nt, const char *what, const void *object, char *text, size_t size)
{
    struct search search = {.object = object};

    nt_pool_for_each(nt, look_in_block, &search);
    if (search.found.memory)
        snprintf(text, size, "the %s at byte %llu of block %llu of the pool (tag '%.4s')", what,
                 (unsigned long long)((uintptr_t)object - (uintptr_t)search.found.memory),
                 (unsigned long long)search.found.sequence, (const char *)&search.found.tag);
    else
        snprintf(text, size, "the %s at 0x%llx", what, (unsigned long long)(uintptr_t)object);
}

static const char *kind_name(unsigned kind)
{
    static const char *const names[NT_KIND_COUNT] = {
        [NT_NOTIFICATION_EVENT] = "notification event",
        [NT_SYNCHRONIZATION_EVENT] = "synchronization event",
        [NT_SEMAPHORE] = "semaphore",
        [NT_MUTEX] = "mutex",
        [NT_THREAD] = "thread",
        [NT_NOTIFICATION_TIMER] = "notification timer",
        [NT_SYNCHRONIZATION_TIMER] = "synchronization timer",
        [NT_FAST_MUTEX] = "fast mutex",
        [NT_RESOURCE] = "resource",
    };

    return kind < NT_KIND_COUNT && names[kind] ? names[kind] : "object";
}

void nt_thread_name(const struct nt_thread *thread, char *text, size_t size)
{
    if (thread->number)
        snprintf(text, size, "thread %u", thread->number);
    else
        snprintf(text, size, "the thread that called the driver");
}

static bool is_thread(struct nt *nt, const void *object)
{
    const struct nt_object *one;

    list_for_each (one, &nt->objects, struct nt_object, link) {
        if (one->body == object && one->type == &nt_thread_type)
            return true;
    }
    return false;
}

static void describe_wait(struct nt *nt, const struct nt_wait *wait, char *text, size_t size)
{
    char name[64], what[160] = "time to pass", place[200] = "";

    nt_thread_name(wait->thread, name, sizeof name);
    if (wait->count && !wait->objects[0])
        snprintf(what, sizeof what, "a %s whose memory was freed", wait->what);
    else if (wait->count && !wait->take && is_thread(nt, wait->objects[0]))
        nt_thread_name(wait->objects[0], what, sizeof what);
    else if (wait->count)
        nt_describe(nt, wait->what, wait->objects[0], what, sizeof what);
    if (wait->caller)
        exception_name_address(nt, wait->caller, place, sizeof place);
    snprintf(text, size, "%s waits for %s%s in %s%s%s since %llu ns", name, what,
             wait->count > 1 ? " and others" : "", wait->service, place[0] ? ", called at " : "",
             place, (unsigned long long)wait->since_ns);
}

/* ---- Objects with a head --------------------------------------------------------------------- */

void nt_dispatcher_init(void *object, enum nt_kind kind, int32_t state)
{
    struct nt_dispatcher *head = object;

    *head = (struct nt_dispatcher){.mark = NT_MARK, .kind = (uint8_t)kind, .state = state};
}

bool nt_dispatcher_is(struct nt *nt, const char *service, const void *object, uint32_t kinds)
{
    const struct nt_dispatcher *head = object;
    char text[160];

    if (head && head->mark == NT_MARK && head->kind < NT_KIND_COUNT && kinds >> head->kind & 1)
        return true;
    nt_describe(nt, "object", object, text, sizeof text);
    nt_misuse(nt, "%s: %s is none that this is for%s", service, text,
              head && head->mark == NT_MARK ? "" : " (never initialised, or written over since)");
    return false;
}

static bool is_signalled(const struct nt_thread *thread, const void *object)
{
    const struct nt_dispatcher *head = object;
    const struct nt_mutex *mutex = object;

    if (!object)
        return false; /* its memory was freed */
    return head->state > 0 || (head->kind == NT_MUTEX && mutex->owner == thread);
}

/* What a wait does to an object that is signalled. */
static void consume(struct nt_thread *thread, void *object)
{
    struct nt_dispatcher *head = object;
    struct nt_mutex *mutex = object;

    switch ((enum nt_kind)head->kind) {
    case NT_SYNCHRONIZATION_EVENT:
    case NT_SYNCHRONIZATION_TIMER:
        head->state = 0;
        break;
    case NT_SEMAPHORE:
        head->state--;
        break;
    case NT_MUTEX:
        if (!mutex->depth++) {
            mutex->owner = thread;
            thread->owned_mutexes++;
            thread->owned_mutex = mutex;
        }
        head->state = 0;
        break;
    default:
        break;
    }
}

static bool try_locks(struct nt_wait *wait)
{
    wait->status = STATUS_SUCCESS;
    return wait->objects[0] && wait->take(wait->thread, wait->objects[0], wait->argument);
}

static bool try_any(struct nt_wait *wait)
{
    for (uint32_t i = 0; i < wait->count; i++) {
        if (is_signalled(wait->thread, wait->objects[i])) {
            consume(wait->thread, wait->objects[i]);
            wait->status = STATUS_WAIT_0 + (NTSTATUS)i;
            return true;
        }
    }
    return false;
}

static bool try_all(struct nt_wait *wait)
{
    for (uint32_t i = 0; i < wait->count; i++) {
        if (!is_signalled(wait->thread, wait->objects[i]))
            return false;
    }
    for (uint32_t i = 0; i < wait->count; i++)
        consume(wait->thread, wait->objects[i]);
    wait->status = STATUS_SUCCESS;
    return true;
}

/* Whether the wait is over now; then it has got what it waited for. */
static bool try_wait(struct nt_wait *wait)
{
    if (!wait->count)
        return false;
    return wait->take ? try_locks(wait) : wait->is_all ? try_all(wait) : try_any(wait);
}

/* ---- Turns ----------------------------------------------------------------------------------- */

bool nt_is_first_thread(const struct nt *nt)
{
    return nt->scheduler.current == &nt->scheduler.first;
}

uint32_t nt_running_thread(const struct nt *nt)
{
    return nt->scheduler.stop.thread ? nt->scheduler.stop.thread : nt->scheduler.current->number;
}

static void take_turn(void *context);

static void make_ready(struct nt_thread *thread, uint64_t time_ns)
{
    thread->state = NT_READY;
    machine_schedule(thread->nt->machine, &thread->turn, time_ns, take_turn, thread);
}

/* Back to the first thread, which gave the turn; returns at the next one. */
static void leave(struct nt *nt)
{
    boundary_switch(nt->scheduler.home);
}

static void stop_run(struct nt *nt)
{
    nt->scheduler.stop.is_pending = false;
    if (nt->scheduler.stop.is_deadlock)
        nt_deadlock(nt, nt->scheduler.stop.text);
    if (nt->scheduler.stop.crash)
        nt->host.crash(nt->host.context, nt->scheduler.stop.crash);
    KeBugCheckEx(nt->scheduler.stop.code, nt->scheduler.stop.parameters[0],
                 nt->scheduler.stop.parameters[1], nt->scheduler.stop.parameters[2],
                 nt->scheduler.stop.parameters[3]);
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
        nt->irql = thread->irql;
        boundary_switch(thread->stack);
        thread->irql = nt->irql;
        scheduler->current = from;
        processor_set_thread(from);
        if (scheduler->stop.is_pending)
            stop_run(nt);
        if (thread->state != NT_STALLING)
            break;
        /* At its level: what is not above that finds so, and comes again. */
        scheduler->depth++;
        machine_run_until(nt->machine, thread->stall_end_ns);
        scheduler->depth--;
    }
    nt->irql = irql;
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
        make_ready(thread, nt_now(thread->nt) + RETRY_NS);
    else
        give_turn(thread->nt, thread);
}

/* ---- The bench's own work -------------------------------------------------------------------- */

bool nt_is_amid_call(const struct nt *nt)
{
    return nt->scheduler.depth || !nt_is_first_thread(nt);
}

static void drain(void *context)
{
    struct nt *nt = context;
    struct list *node;

    while (!nt->scheduler.depth && (node = list_pop_front(&nt->scheduler.deferred))) {
        struct nt_deferred *deferred = container_of(node, struct nt_deferred, link);

        deferred->is_queued = false;
        deferred->function(deferred->context);
    }
}

static void schedule_drain(struct nt *nt)
{
    if (!nt->scheduler.depth && !list_is_empty(&nt->scheduler.deferred) &&
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
    schedule_drain(nt);
}

void nt_cancel_deferred(struct nt *nt, struct nt_deferred *deferred)
{
    if (deferred->is_queued)
        list_remove(&deferred->link);
    deferred->is_queued = false;
}

/* ---- Waits ----------------------------------------------------------------------------------- */

static void end_wait(struct nt_wait *wait)
{
    struct nt *nt = wait->thread->nt;

    wait->is_over = true;
    list_remove(&wait->link);
    if (wait->has_timeout)
        machine_cancel(nt->machine, &wait->timeout);
    if (wait->thread->number)
        make_ready(wait->thread, nt_now(nt) + nt_delay(nt, TURN_MIN_NS, TURN_MAX_NS));
}

static void time_out(void *context)
{
    struct nt_wait *wait = context;

    wait->status = STATUS_TIMEOUT;
    end_wait(wait);
}

void nt_signal(struct nt *nt, void *object)
{
    struct nt_wait *wait, *following;

    list_for_each_safe (wait, following, &nt->scheduler.waits, struct nt_wait, link) {
        for (uint32_t i = 0; i < wait->count; i++) {
            if (wait->objects[i] == object) {
                if (try_wait(wait))
                    end_wait(wait);
                break;
            }
        }
    }
}

/* All waits, that of the thread that nothing comes for first. */
static void stuck(struct nt *nt, const struct nt_wait *first)
{
    const struct nt_wait *wait;
    char text[sizeof nt->scheduler.stop.text], line[600];
    size_t length;

    describe_wait(nt, first, line, sizeof line);
    length = (size_t)snprintf(text, sizeof text, "deadlock: %s, and nothing can end that", line);
    list_for_each (wait, &nt->scheduler.waits, struct nt_wait, link) {
        if (wait == first || wait->thread->bench_main || length >= sizeof text)
            continue;
        describe_wait(nt, wait, line, sizeof line);
        length += (size_t)snprintf(text + length, sizeof text - length, "; %s", line);
    }
    nt_deadlock(nt, text);
}

/* The first thread: the machine runs on until the wait is over. */
static void run_machine(struct nt *nt, struct nt_wait *wait)
{
    uint64_t limit = wait->has_timeout ? UINT64_MAX : wait->since_ns + NT_ENDLESS_NS;

    nt->scheduler.depth++;
    while (!wait->is_over) {
        if (!nt->machine || machine_next_event_time(nt->machine) > limit ||
            !machine_run_next(nt->machine))
            stuck(nt, wait);
    }
    nt->scheduler.depth--;
    schedule_drain(nt);
}

static uint64_t caller_of(const struct nt *nt)
{
    const struct boundary_registers *caller = nt->image ? boundary_caller(nt->boundary) : NULL;

    return caller ? caller->rip : 0;
}

/* STATUS_TIMEOUT when it is over for that. */
static NTSTATUS block(struct nt *nt, struct nt_wait *wait, uint64_t timeout_ns)
{
    struct nt_thread *thread = nt->scheduler.current;

    wait->thread = thread;
    wait->outer = thread->wait;
    wait->since_ns = nt_now(nt);
    wait->caller = caller_of(nt);
    thread->wait = wait;
    list_push_back(&nt->scheduler.waits, &wait->link);
    wait->has_timeout = timeout_ns != UINT64_MAX;
    if (wait->has_timeout && nt->machine)
        machine_schedule(nt->machine, &wait->timeout, wait->since_ns + timeout_ns, time_out, wait);
    if (thread->number) {
        thread->state = NT_WAITING;
        leave(nt);
    } else {
        run_machine(nt, wait);
    }
    thread->wait = wait->outer;
    nt->scheduler.look_count = 0;
    return wait->status;
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

/* A thread that gives up the processor at DISPATCH_LEVEL is the bug check that says so. */
static void require_switch(struct nt *nt)
{
    if (nt->irql >= DISPATCH_LEVEL)
        KeBugCheckEx(NT_ATTEMPTED_SWITCH_FROM_DPC, (ULONG_PTR)nt->scheduler.current, 0, 0, 0);
}

NTSTATUS nt_wait_for(struct nt *nt, const char *service, uint32_t count, void *const *objects,
                     bool is_all, const LARGE_INTEGER *timeout)
{
    struct nt_wait wait = {
        .thread = nt->scheduler.current, .count = count, .is_all = is_all, .service = service};
    uint64_t timeout_ns = nt_timeout_ns(nt, timeout);

    if (nt->irql > DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, (ULONG_PTR)objects[0], nt->irql, 1, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (!nt_dispatcher_is(nt, service, objects[i], NT_WAIT_KINDS))
            return STATUS_INVALID_PARAMETER;
        wait.objects[i] = objects[i];
    }
    wait.what = kind_name(((const struct nt_dispatcher *)objects[0])->kind);
    if (nt->irql == DISPATCH_LEVEL && timeout_ns)
        nt_misuse(nt,
                  "%s is called at DISPATCH_LEVEL %s; there a time-out of zero is all that it "
                  "may be given",
                  service, timeout ? "with a time-out" : "without a time-out");
    if (try_wait(&wait))
        return wait.status;
    if (!timeout_ns) {
        nt_look_at_clock(nt);
        return STATUS_TIMEOUT;
    }
    require_switch(nt);
    return block(nt, &wait, timeout_ns);
}

void nt_wait_to_take(struct nt *nt, const char *service, const char *what, void *lock,
                     nt_take *take, uint64_t argument)
{
    struct nt_wait wait = {
        .count = 1, .take = take, .argument = argument, .service = service, .what = what};

    if (take(nt->scheduler.current, lock, argument))
        return;
    require_switch(nt);
    wait.objects[0] = lock;
    block(nt, &wait, UINT64_MAX);
}

/* No time at all is one that others can run in. */
NTSTATUS nt_sleep_for(struct nt *nt, const char *service, const LARGE_INTEGER *interval)
{
    struct nt_wait wait = {.service = service};

    require_switch(nt);
    block(nt, &wait, max_u64(nt_timeout_ns(nt, interval), TURN_MIN_NS));
    return STATUS_SUCCESS;
}

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
        schedule_drain(nt);
    } else if (nt->irql >= DISPATCH_LEVEL) {
        thread->state = NT_STALLING;
        thread->stall_end_ns = end;
        leave(nt);
    } else {
        make_ready(thread, end);
        leave(nt);
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

/* ---- Threads --------------------------------------------------------------------------------- */

static void destroy_thread(struct nt *nt, struct nt_object *object)
{
    base_free(nt->services, object->body, sizeof(struct nt_thread));
}

const struct nt_object_type nt_thread_type = {"thread", destroy_thread};

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
    nt_thread_exit(nt, STATUS_SUCCESS);
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
    make_ready(thread, nt_now(nt) + nt_delay(nt, TURN_MIN_NS, TURN_MAX_NS));
    *out_thread = thread;
    return STATUS_SUCCESS;
}

void nt_thread_undo(struct nt_thread *thread)
{
    struct nt *nt = thread->nt;

    machine_cancel(nt->machine, &thread->turn);
    list_remove(&thread->link);
    boundary_thread_destroy(thread->stack);
    nt_object_dereference(nt, &thread->object);
}

void nt_thread_exit(struct nt *nt, NTSTATUS status)
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
        leave(nt);
}

/* ---- The end --------------------------------------------------------------------------------- */

void nt_stop_from_thread(struct nt *nt, uint32_t code, const uint64_t parameters[4])
{
    if (nt_is_first_thread(nt))
        return;
    nt->scheduler.stop.is_pending = true;
    nt->scheduler.stop.thread = nt->scheduler.current->number;
    nt->scheduler.stop.is_deadlock = false;
    nt->scheduler.stop.code = code;
    memcpy(nt->scheduler.stop.parameters, parameters, sizeof nt->scheduler.stop.parameters);
    for (;;)
        leave(nt);
}

void nt_crash_from_thread(struct nt *nt, const struct nt_crash *crash)
{
    nt->scheduler.stop.crash = crash;
    nt_stop_from_thread(nt, crash->bug_check, crash->parameters);
}

void nt_deadlock(struct nt *nt, const char *text)
{
    if (!nt_is_first_thread(nt)) {
        nt->scheduler.stop.is_pending = nt->scheduler.stop.is_deadlock = true;
        nt->scheduler.stop.thread = nt->scheduler.current->number;
        snprintf(nt->scheduler.stop.text, sizeof nt->scheduler.stop.text, "%s", text);
        for (;;)
            leave(nt);
    }
    if (nt->host.deadlock)
        nt->host.deadlock(nt->host.context, text);
    fprintf(stderr, "nt: %s\n", text);
    abort();
}

void nt_memory_freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    const void *timer = nt_timer_in(nt, memory, bytes), *dpc = nt_dpc_in(nt, memory, bytes);
    const void *work = nt_work_in(nt, memory, bytes);
    struct nt_wait *wait;
    char text[600];

    if (work)
        KeBugCheckEx(NT_WORKER_INVALID, 0, (ULONG_PTR)work, (ULONG_PTR)memory,
                     (ULONG_PTR)memory + bytes);
    if (timer)
        KeBugCheckEx(NT_TIMER_OR_DPC_INVALID, 0, (ULONG_PTR)timer, (ULONG_PTR)memory,
                     (ULONG_PTR)memory + bytes);
    if (dpc)
        KeBugCheckEx(NT_TIMER_OR_DPC_INVALID, 1, (ULONG_PTR)dpc, (ULONG_PTR)memory,
                     (ULONG_PTR)memory + bytes);
    nt_lookasides_freed(nt, memory, bytes);
    nt_remove_locks_freed(nt, memory, bytes);
    list_for_each (wait, &nt->scheduler.waits, struct nt_wait, link) {
        for (uint32_t i = 0; i < wait->count; i++) {
            if ((uintptr_t)wait->objects[i] - (uintptr_t)memory < bytes) {
                describe_wait(nt, wait, text, sizeof text);
                nt_misuse(nt, "memory is freed while %s", text);
                wait->objects[i] = NULL;
            }
        }
    }
}

void nt_describe_thread(const struct nt_thread *thread, char *text, size_t size)
{
    char wait[600] = "";

    if (thread->wait)
        describe_wait(thread->nt, thread->wait, wait, sizeof wait);
    snprintf(text, size, "thread %u, created at %llu ns, has not ended%s%s", thread->number,
             (unsigned long long)thread->created_ns, thread->wait ? ": " : "", wait);
}

void nt_for_each_leftover(struct nt *nt, void (*tell)(void *context, const char *text),
                          void *context)
{
    struct nt_thread *thread;
    char text[760];

    list_for_each (thread, &nt->scheduler.threads, struct nt_thread, link) {
        if (thread->bench_main)
            continue;
        nt_describe_thread(thread, text, sizeof text);
        tell(context, text);
    }
    for (uint32_t i = 0; i < nt->handle_count; i++) {
        const struct nt_object *object = nt->handles[i].object;

        if (!object)
            continue;
        snprintf(text, sizeof text, "a handle of a %s has not been closed", object->type->name);
        tell(context, text);
    }
    nt_timers_left(nt, tell, context);
    nt_dpcs_left(nt, tell, context);
    nt_work_left(nt, tell, context);
    nt_devices_left(nt, tell, context);
    nt_callbacks_left(nt, tell, context);
    nt_lookasides_left(nt, tell, context);
    nt_reserved_left(nt, tell, context);
    nt_interfaces_left(nt, tell, context);
}

void nt_end_threads(struct nt *nt)
{
    struct nt_scheduler *scheduler = &nt->scheduler;
    struct nt_thread *thread;
    struct nt_wait *wait;

    ASSERT(nt_is_first_thread(nt));
    nt_work_fini(nt);
    list_for_each (wait, &scheduler->waits, struct nt_wait, link) {
        if (nt->machine)
            machine_cancel(nt->machine, &wait->timeout);
    }
    list_for_each (thread, &scheduler->threads, struct nt_thread, link) {
        if (nt->machine)
            machine_cancel(nt->machine, &thread->turn);
        boundary_thread_destroy(thread->stack);
        thread->stack = NULL;
    }
    list_init(&scheduler->threads);
    list_init(&scheduler->waits);
    scheduler->first.wait = NULL;
    boundary_destroy(scheduler->stacks);
    scheduler->stacks = NULL;
}

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

void nt_scheduler_init(struct nt *nt)
{
    struct nt_scheduler *scheduler = &nt->scheduler;

    list_init(&scheduler->threads);
    list_init(&scheduler->waits);
    list_init(&scheduler->deferred);
    list_init(&scheduler->timers);
    list_init(&scheduler->ex_timers);
    list_init(&scheduler->dpcs);
    list_init(&scheduler->work);
    list_init(&scheduler->workers);
    list_init(&scheduler->work_items);
    if (nt->machine)
        machine_fork_rng(nt->machine, RNG_STREAM, &scheduler->rng);
    scheduler->first = (struct nt_thread){.nt = nt, .state = NT_RUNNING, .priority = 8};
    scheduler->current = &scheduler->first;
    processor_set_thread(&scheduler->first);
    nt_dispatcher_init(&scheduler->first, NT_THREAD, 0);
    nt_object_init(nt, &scheduler->first.object, &nt_thread_type, &scheduler->first);
    scheduler->first.object.is_held = true;
}

void nt_scheduler_fini(struct nt *nt)
{
    struct nt_object *object, *following;

    nt_end_threads(nt);
    nt_timers_fini(nt);
    nt_dpcs_fini(nt);
    if (nt->machine)
        machine_cancel(nt->machine, &nt->scheduler.drain);
    list_remove(&nt->scheduler.first.object.link);
    list_for_each_safe (object, following, &nt->objects, struct nt_object, link) {
        list_remove(&object->link);
        object->type->destroy(nt, object);
    }
    nt_objects_fini(nt);
}
