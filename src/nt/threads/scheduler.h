/*
 * Scheduler: which thread of the driver runs, and virtual time.
 *
 * Place      nt, private. Knows no wait: those stand on it (wait.h), and so does the making and
 *            ending of threads (thread.h).
 * Model      The first thread is the one that calls the driver's functions: it plays the workload
 *            and lets the machine's events happen. Every other thread was made by the driver or
 *            serves its work items, and has stacks of its own (boundary.h).
 *
 *            One runs at a time. A thread that is ready gets its turn as an event of the machine,
 *            after a delay that the seed draws, and keeps it until it waits, stalls below
 *            DISPATCH_LEVEL, or ends. When the first thread waits, inside a call of the driver, it
 *            lets the machine's events happen until the wait is over: interrupts, DPCs, time-outs,
 *            turns of others. Meanwhile the bench's own wish to call the driver for something else
 *            is put off until the call has returned: nt_defer().
 *
 *            An event that would run code of the driver asks the IRQL first: while a driver stalls
 *            at a raised IRQL, only events above it happen.
 * Units      Virtual nanoseconds.
 */
#ifndef DRYDOCK_NT_SCHEDULER_H
#define DRYDOCK_NT_SCHEDULER_H

#include "nt/devices/object.h"
#include "nt/threads/dispatcher.h"

#include "base/rng.h"

struct boundary;
struct boundary_thread;

/* After a delay between these a thread that has become ready gets its turn. */
#define NT_TURN_MIN_NS 500u
#define NT_TURN_MAX_NS 30000u

enum nt_thread_state { NT_READY, NT_RUNNING, NT_WAITING, NT_STALLING, NT_TERMINATED };

struct nt_thread {
    struct nt_dispatcher head; /* first: drivers wait for the pointer that they have */
    struct nt *nt;
    struct nt_object object;
    struct list link; /* in nt->scheduler.threads, oldest first */
    uint32_t number;  /* the first thread is 0 */

    /* Its code: the driver's function, or one of the bench's. */
    const void *start;
    void (*bench_main)(void *context);
    void *context;

    /* Its turns. */
    enum nt_thread_state state;
    struct boundary_thread *stack; /* NULL: the first thread, or one that has ended */
    KIRQL irql;                    /* while it does not run */
    struct machine_event turn;
    uint64_t created_ns, stall_end_ns;
    struct nt_wait *wait; /* the innermost one under way */

    /* Its regions, mutexes and priority, as the driver sets them. */
    uint32_t owned_mutexes;
    const void *owned_mutex; /* the last one that it took */
    int32_t critical_depth, guarded_depth;
    int32_t priority;
    NTSTATUS exit_status;
};

struct nt_scheduler {
    struct rng rng;
    struct list threads; /* of struct nt_thread that have not ended */
    struct list waits;   /* of struct nt_wait, longest first */
    struct nt_thread first;
    struct nt_thread *current;
    struct boundary *stacks;      /* of a driver that is linked in, once it has threads */
    struct boundary_thread *home; /* where turns are given from */
    uint32_t depth;               /* calls of the driver that wait, nested */
    uint32_t thread_count;        /* ever */

    bool is_thread_played; /* where no driver is: a thread of one runs (nt_set_moment()) */

    /* The bench's own work that has been put off. */
    struct list deferred;
    struct machine_event drain;

    /* A look at the clock that follows others lets time pass. */
    uint64_t looked_ns;
    uint32_t look_count;

    /* How a thread of the driver has stopped the machine (bug_check.c). */
    struct {
        bool is_pending, is_deadlock;
        uint32_t thread;
        uint32_t code;
        uint64_t parameters[4];
        const struct nt_crash *crash; /* NULL: a bug check */
        char text[2048];              /* of a deadlock */
    } stop;
};

/* ---- Time and chance ------------------------------------------------------------------------- */

uint64_t nt_now(const struct nt *nt);
uint64_t nt_system_time(const struct nt *nt); /* 100 ns since 1601 */
uint64_t nt_delay(struct nt *nt, uint64_t low_ns, uint64_t high_ns);

/*
 * From now on. UINT64_MAX for NULL. A relative time is negative; an absolute one that is past is
 * now.
 */
uint64_t nt_timeout_ns(const struct nt *nt, const LARGE_INTEGER *timeout);

/* Lets time pass with the processor busy: at a raised IRQL only events above it happen. */
void nt_stall(struct nt *nt, uint64_t ns);

/* The driver looks at the clock: a loop that does nothing else must see it move. */
void nt_look_at_clock(struct nt *nt);

/* ---- Turns ----------------------------------------------------------------------------------- */

/* The thread gets its turn at that time. */
void nt_make_ready(struct nt_thread *thread, uint64_t time_ns);

/* A thread other than the first gives its turn back; returns at its next turn. */
void nt_leave(struct nt *nt);

/* When no call of the driver waits and no lock is held any more, work put off becomes an event. */
void nt_schedule_deferred(struct nt *nt);

/* Where the driver is while it does something, as the bench's own work depends on it. */
struct nt_moment {
    KIRQL irql;
    bool is_thread; /* of the driver's own */
    uint32_t depth; /* calls of the driver that wait */
    uint32_t locks; /* spin locks that it holds */
};
struct nt_moment nt_get_moment(const struct nt *nt);
/* For who plays a driver that is not there. */
void nt_set_moment(struct nt *nt, const struct nt_moment *moment);

/* Whether an event with this function is that work, and none of the driver's. */
bool nt_is_drain(void (*function)(void *context));

#endif
