#include "nt/threads/wait.h"

#include "nt/exceptions/exception_private.h"
#include "nt/machine/boundary.h"
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <stdio.h>

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

/* ---- Names ----------------------------------------------------------------------------------- */

static void name_thread(const struct nt_thread *thread, char *text, size_t size)
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

    name_thread(wait->thread, name, sizeof name);
    if (wait->count && !wait->objects[0])
        snprintf(what, sizeof what, "a %s whose memory was freed", wait->what);
    else if (wait->count && !wait->take && is_thread(nt, wait->objects[0]))
        name_thread(wait->objects[0], what, sizeof what);
    else if (wait->count)
        nt_describe(nt, wait->what, wait->objects[0], what, sizeof what);
    if (wait->caller)
        exception_name_address(nt, wait->caller, place, sizeof place);
    snprintf(text, size, "%s waits for %s%s in %s%s%s since %llu ns", name, what,
             wait->count > 1 ? " and others" : "", wait->service, place[0] ? ", called at " : "",
             place, (unsigned long long)wait->since_ns);
}

void nt_describe_thread(const struct nt_thread *thread, char *text, size_t size)
{
    char wait[600] = "";

    if (thread->wait)
        describe_wait(thread->nt, thread->wait, wait, sizeof wait);
    snprintf(text, size, "thread %u, created at %llu ns, has not ended%s%s", thread->number,
             (unsigned long long)thread->created_ns, thread->wait ? ": " : "", wait);
}

/* ---- Objects of a wait ----------------------------------------------------------------------- */

static bool is_signalled(const struct nt_thread *thread, const void *object)
{
    const struct nt_dispatcher *head = object;
    const struct nt_mutex *mutex = object;

    if (!object)
        return false; /* its memory was freed */
    return head->state > 0 || (head->kind == NT_MUTEX && mutex->owner == thread);
}

/* The end of a wait changes the object that was signalled. */
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

/* Whether the wait is over now; then its thread has got the objects or the lock. */
static bool try_wait(struct nt_wait *wait)
{
    if (!wait->count)
        return false;
    return wait->take ? try_locks(wait) : wait->is_all ? try_all(wait) : try_any(wait);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void end_wait(struct nt_wait *wait)
{
    struct nt *nt = wait->thread->nt;

    wait->is_over = true;
    list_remove(&wait->link);
    if (wait->has_timeout)
        machine_cancel(nt->machine, &wait->timeout);
    if (wait->thread->number)
        nt_make_ready(wait->thread, nt_now(nt) + nt_delay(nt, NT_TURN_MIN_NS, NT_TURN_MAX_NS));
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
    nt_schedule_deferred(nt);
}

/* STATUS_TIMEOUT when it is over for that. */
static NTSTATUS block(struct nt *nt, struct nt_wait *wait, uint64_t timeout_ns)
{
    struct nt_thread *thread = nt->scheduler.current;

    wait->thread = thread;
    wait->outer = thread->wait;
    wait->since_ns = nt_now(nt);
    wait->caller = nt->image ? nt_caller(nt) : 0;
    thread->wait = wait;
    list_push_back(&nt->scheduler.waits, &wait->link);
    wait->has_timeout = timeout_ns != UINT64_MAX;
    if (wait->has_timeout && nt->machine)
        machine_schedule(nt->machine, &wait->timeout, wait->since_ns + timeout_ns, time_out, wait);
    if (thread->number) {
        thread->state = NT_WAITING;
        nt_leave(nt);
    } else {
        run_machine(nt, wait);
    }
    thread->wait = wait->outer;
    nt->scheduler.look_count = 0;
    return wait->status;
}

/* A thread that gives up the processor at DISPATCH_LEVEL is the bug check that says so. */
static void require_switch(struct nt *nt)
{
    if (nt->irql >= DISPATCH_LEVEL)
        KeBugCheckEx(NT_ATTEMPTED_SWITCH_FROM_DPC, (ULONG_PTR)nt->scheduler.current, 0, 0, 0);
}

/* ---- For services ---------------------------------------------------------------------------- */

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
    wait.what = nt_kind_name(((const struct nt_dispatcher *)objects[0])->kind);
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
    block(nt, &wait, max_u64(nt_timeout_ns(nt, interval), NT_TURN_MIN_NS));
    return STATUS_SUCCESS;
}

/* ---- The end of memory, and of threads ------------------------------------------------------- */

static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct nt_wait *wait;
    char text[600];

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

/* The waits lie on the stacks that are about to go. */
static void end_threads(struct nt *nt)
{
    struct nt_wait *wait;

    list_for_each (wait, &nt->scheduler.waits, struct nt_wait, link) {
        if (nt->machine)
            machine_cancel(nt->machine, &wait->timeout);
    }
    list_init(&nt->scheduler.waits);
    nt->scheduler.first.wait = NULL;
}

const struct nt_area nt_wait_area = {.end_threads = end_threads, .freed = freed};
