/*
 * Scheduler: which thread of the driver runs, and what those that do not run wait for.
 *
 * Place      nt, private: what the files of services that wait stand on.
 * Model      The first thread is the one that calls the driver's functions: it plays the workload
 *            and lets the machine's events happen. Every other thread was made by the driver or
 *            serves its work items, and has stacks of its own (boundary.h).
 *
 *            One runs at a time. A thread that is ready gets its turn as an event of the machine,
 *            after a delay that the seed draws, and keeps it until it waits, stalls below
 *            DISPATCH_LEVEL, or ends. When the first thread waits, inside a call of the driver, it
 *            lets the machine's events happen until the wait is over: interrupts, DPCs, time-outs,
 *            turns of others. What the bench itself would do then (calling the driver for something
 *            else) is put off until the call has returned: nt_defer().
 *
 *            Waits are kept here and not in the driver's objects, which hold a state and a mark
 *            only: an object that is freed while somebody waits for it, or was never initialised,
 *            is told and breaks nothing of the bench.
 *
 *            A wait of the first thread that nothing can end any more is a deadlock: the host is
 *            told, and the run ends. So is one without a time-out that has lasted NT_ENDLESS_NS.
 *
 *            An event that would run code of the driver asks the level first: while a driver stalls
 *            at a raised level, only what is above it happens.
 * Units      Virtual nanoseconds.
 */
#ifndef DRYDOCK_NT_SCHEDULER_H
#define DRYDOCK_NT_SCHEDULER_H

#include "nt/devices/object.h"

#include "base/rng.h"

struct boundary_thread;

#define NT_ENDLESS_NS UINT64_C(600000000000)

/* ---- What can be waited for ------------------------------------------------------------------ */

enum nt_kind {
    NT_NOTIFICATION_EVENT = 1,
    NT_SYNCHRONIZATION_EVENT,
    NT_SEMAPHORE,
    NT_MUTEX,
    NT_THREAD,
    NT_NOTIFICATION_TIMER,
    NT_SYNCHRONIZATION_TIMER,
    NT_FAST_MUTEX,
    NT_RESOURCE,
    NT_KIND_COUNT,
};

/* The head of an object in the driver's memory, as long as the kernel's own. */
struct nt_dispatcher {
    uint16_t mark; /* NT_MARK once it has been initialised */
    uint8_t kind;
    uint8_t reserved;
    int32_t state; /* above 0: signalled */
    uint64_t unused[2];
};

#define NT_MARK 0x6b6eu

struct nt_mutex {
    struct nt_dispatcher head; /* state 1: nobody has it */
    struct nt_thread *owner;
    uint64_t depth;
    uint64_t unused[2];
};

struct nt_semaphore {
    struct nt_dispatcher head;
    int32_t limit;
    int32_t unused;
};

void nt_dispatcher_init(void *object, enum nt_kind kind, int32_t state);

/*
 * Whether it is one of these kinds, a mask of 1 << kind; otherwise it is told, with the service's
 * name.
 */
bool nt_dispatcher_is(struct nt *nt, const char *service, const void *object, uint32_t kinds);

#define NT_EVENTS (1u << NT_NOTIFICATION_EVENT | 1u << NT_SYNCHRONIZATION_EVENT)
#define NT_TIMERS (1u << NT_NOTIFICATION_TIMER | 1u << NT_SYNCHRONIZATION_TIMER)
#define NT_WAIT_KINDS                                                                              \
    (NT_EVENTS | NT_TIMERS | 1u << NT_SEMAPHORE | 1u << NT_MUTEX | 1u << NT_THREAD)

/* "the event at byte 16 of block 7 of the pool (tag 'abcd')". */
void nt_describe(struct nt *nt, const char *what, const void *object, char *text, size_t size);

/* ---- Threads --------------------------------------------------------------------------------- */

enum nt_thread_state { NT_READY, NT_RUNNING, NT_WAITING, NT_STALLING, NT_TERMINATED };

struct nt_thread {
    struct nt_dispatcher head; /* first: drivers wait for the pointer that they have */
    struct nt *nt;
    struct nt_object object;
    struct list link; /* in nt->threads, oldest first */
    uint32_t number;  /* the first thread is 0 */
    enum nt_thread_state state;
    struct boundary_thread *stack;     /* NULL: the first thread, or one that has ended */
    void (*bench_main)(void *context); /* of the bench's own threads; else NULL */
    const void *start;                 /* the driver's function */
    void *context;
    KIRQL irql; /* while it does not run */
    struct machine_event turn;
    struct nt_wait *wait; /* the innermost one under way */
    uint64_t created_ns, stall_end_ns;
    uint32_t owned_mutexes;
    const void *owned_mutex; /* the last that it took */
    int32_t critical_depth, guarded_depth;
    int32_t priority;
    NTSTATUS exit_status;
};

extern const struct nt_object_type nt_thread_type, nt_event_type, nt_file_type;

/*
 * Either start, the driver's, or bench_main. The object has one reference, the running thread's
 * own.
 */
NTSTATUS nt_thread_create(struct nt *nt, const void *start, void (*bench_main)(void *context),
                          void *context, struct nt_thread **out_thread);

/* It never ran. */
void nt_thread_undo(struct nt_thread *thread);

/* Of the running thread, which is not the first. */
void nt_thread_exit(struct nt *nt, NTSTATUS status) __attribute__((noreturn));

bool nt_is_first_thread(const struct nt *nt);

/* What it waits for, or that it has not ended. */
void nt_describe_thread(const struct nt_thread *thread, char *text, size_t size);

/* "thread 2". */
void nt_thread_name(const struct nt_thread *thread, char *text, size_t size);

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Takes a lock for the thread if it can be had now. */
typedef bool nt_take(struct nt_thread *thread, void *lock, uint64_t argument);

/* For objects with a head. Timeout as KeWaitForMultipleObjects(). */
NTSTATUS nt_wait_for(struct nt *nt, const char *service, uint32_t count, void *const *objects,
                     bool is_all, const LARGE_INTEGER *timeout);

/* For locks: behind it the thread has it. The caller has looked at the level. */
void nt_wait_to_take(struct nt *nt, const char *service, const char *what, void *lock,
                     nt_take *take, uint64_t argument);

/* The object is signalled, the lock can be had: who waits for it longest gets it first. */
void nt_signal(struct nt *nt, void *object);

/* Lets time pass. */
NTSTATUS nt_sleep_for(struct nt *nt, const char *service, const LARGE_INTEGER *interval);

/* The same with the processor busy: at a raised level only what is above it happens. */
void nt_stall(struct nt *nt, uint64_t ns);

/* Somebody looks at the clock: one who does nothing else must see it move. */
void nt_look_at_clock(struct nt *nt);

/*
 * From now on. UINT64_MAX for NULL; relative times are negative; absolute ones that are past are
 * now.
 */
uint64_t nt_timeout_ns(const struct nt *nt, const LARGE_INTEGER *timeout);

uint64_t nt_now(const struct nt *nt);
uint64_t nt_system_time(const struct nt *nt); /* 100 ns since 1601 */
uint64_t nt_delay(struct nt *nt, uint64_t low_ns, uint64_t high_ns);

/* ---- Rules ----------------------------------------------------------------------------------- */

/* The service was called above the level that it is documented for: told. */
void nt_require_irql(struct nt *nt, const char *service, KIRQL highest);

void nt_misuse(struct nt *nt, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What a deadlock is told as; ends the run. */
void nt_deadlock(struct nt *nt, const char *text) __attribute__((noreturn));

/* On a thread of the driver: the bug check happens on the first one. Returns there. */
void nt_stop_from_thread(struct nt *nt, uint32_t code, const uint64_t parameters[4]);
void nt_crash_from_thread(struct nt *nt, const struct nt_crash *crash);

/* ---- Life ------------------------------------------------------------------------------------ */

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
    struct list deferred;
    struct machine_event drain;
    uint64_t looked_ns;
    uint32_t look_count;
    struct {
        bool is_pending, is_deadlock;
        uint32_t thread;
        uint32_t code;
        uint64_t parameters[4];
        const struct nt_crash *crash; /* NULL: a bug check */
        char text[2048];
    } stop;

    struct list timers;    /* that are set */
    struct list ex_timers; /* that ExAllocateTimer() gave */
    struct list dpcs;      /* queued, in the order in which they will run */
    struct machine_event dpc_event;
    bool is_dpc_late;       /* the event comes late: only DPCs of low importance are queued */
    struct list work;       /* queued */
    struct list workers;    /* threads that serve it */
    struct list work_items; /* that IoAllocateWorkItem() gave */
};

void nt_scheduler_init(struct nt *nt);
void nt_scheduler_fini(struct nt *nt);

/* ---- DPCs ------------------------------------------------------------------------------------ */

/*
 * Queues the driver's routine with four arguments, for the object that key is. False: that is
 * queued already.
 */
bool nt_dpc_queue(struct nt *nt, const void *key, const void *routine, void *const arguments[4],
                  unsigned importance);
bool nt_dpc_remove(struct nt *nt, const void *key);
bool nt_dpc_insert(struct nt *nt, const char *service, PRKDPC dpc, void *first, void *second);

/* ---- What the other files add ---------------------------------------------------------------- */

void nt_timers_fini(struct nt *nt);
void nt_dpcs_fini(struct nt *nt);
void nt_work_fini(struct nt *nt);
typedef void nt_leftover(void *context, const char *text);
void nt_timers_left(struct nt *nt, nt_leftover *tell, void *context);
void nt_dpcs_left(struct nt *nt, nt_leftover *tell, void *context);
void nt_work_left(struct nt *nt, nt_leftover *tell, void *context);
void nt_reserved_left(struct nt *nt, nt_leftover *tell, void *context);
void nt_devices_left(struct nt *nt, nt_leftover *tell, void *context);
void nt_callbacks_left(struct nt *nt, nt_leftover *tell, void *context);

/* Memory of the driver's ends: what is still set or queued in it is bug check 0xC7. */
void nt_memory_freed(struct nt *nt, const void *memory, uint64_t bytes);
const void *nt_work_in(struct nt *nt, const void *memory, uint64_t bytes);
const void *nt_timer_in(struct nt *nt, const void *memory, uint64_t bytes);
const void *nt_dpc_in(struct nt *nt, const void *memory, uint64_t bytes);

#endif
