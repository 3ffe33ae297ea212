/*
 * Dispatcher objects: events, semaphores, mutexes, threads and timers, in the driver's memory.
 *
 * Place      nt, private. Uses the pool's blocks, to name an object; knows no thread and no wait.
 * Model      The head is as long as the kernel's own and holds a mark, a kind and a state. The
 *            waits for an object are kept apart (wait.h) and not in it: so an object that is freed
 *            while somebody waits, or was never initialised, is reported and breaks nothing of the
 *            bench.
 */
#ifndef DRYDOCK_NT_DISPATCHER_H
#define DRYDOCK_NT_DISPATCHER_H

#include "nt/nt.h"

struct nt_thread;

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

/* Masks of kinds. */
#define NT_EVENTS (1u << NT_NOTIFICATION_EVENT | 1u << NT_SYNCHRONIZATION_EVENT)
#define NT_TIMERS (1u << NT_NOTIFICATION_TIMER | 1u << NT_SYNCHRONIZATION_TIMER)
#define NT_WAIT_KINDS                                                                              \
    (NT_EVENTS | NT_TIMERS | 1u << NT_SEMAPHORE | 1u << NT_MUTEX | 1u << NT_THREAD)

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

/* The object is of one of these kinds, a mask of 1 << kind. False: a misuse of the service. */
bool nt_dispatcher_is(struct nt *nt, const char *service, const void *object, uint32_t kinds);

/* "synchronization event". */
const char *nt_kind_name(unsigned kind);

/* "the event at byte 16 of block 7 of the pool (tag 'abcd')". */
void nt_describe(struct nt *nt, const char *what, const void *object, char *text, size_t size);

#endif
