/*
 * Seen: what client processes have, as their calls tell it.
 *
 * Place      clients. Stands beside whoever answers the calls, the bench's front or another
 *            libdxcore.so, and knows nothing of it but calls and their answers. recorder.h makes
 *            cases of it, bench/exec/client_rules.h judges by it.
 * Model      A process has objects by handle: devices, contexts, paging queues, hardware queues,
 *            fences, allocations; and mappings by address. seen_ended() is told of a call when it
 *            has ended, and before anything else happens. A fence or an allocation is a process's
 *            sight of a body, which several processes may share. What a user-mode driver of the
 *            Drydock GPU says in its private data and its packets is read; of another one it stays
 *            opaque.
 * Ownership  Objects are lent until the process has destroyed them, and the call has been seen.
 * Errors     Without memory seen->is_lost, and nothing more is followed.
 */
#ifndef DRYDOCK_CLIENTS_SEEN_H
#define DRYDOCK_CLIENTS_SEEN_H

#include "base/list.h"
#include "clients/seen_ranges.h"
#include "thunk/thunk.h"

#include <stdbool.h>
#include <stdint.h>

#include <drydock/gpu_model.h>

/* A call of a thunk function, as it is made and as it has ended. */
struct client_call {
    enum d3dkmt_function function;
    void *arguments; /* the structure of the function */
    NTSTATUS status; /* when it has ended */
    /* What its NT handle names, in or out, or will name of what it makes; 0: nobody knows. */
    uint64_t nt_object;
};

/* Registrations for notices to trim that a process has at one time, at most. */
#define SEEN_MOST_TRIM_NOTICES 64u

enum seen_kind {
    SEEN_NOTHING,
    SEEN_ADAPTER,
    SEEN_DEVICE,
    SEEN_CONTEXT,
    SEEN_QUEUE,
    SEEN_HW_QUEUE,
    SEEN_FENCE,
    SEEN_NOTIFICATION,
    SEEN_KEYED_MUTEX,
    SEEN_ALLOCATION,
    SEEN_RESOURCE,
};

/* A range whose content has a name. */
struct seen_content {
    uint64_t offset, bytes;
    uint64_t key;   /* of its first page; 0: unknown */
    uint64_t hash;  /* of all its bytes; 0: unknown */
    bool is_unread; /* the GPU has written it, and no line of a case reads it yet */
};

/* The newest work of a context on something. */
struct seen_use {
    struct seen_object *context; /* NULL: none */
    uint64_t sequence;           /* of all submissions */
};

/* A context signals: what it got up to there has run when the fence has the value. */
#define SEEN_SIGNALS 16u
struct seen_signal {
    struct seen_object *fence; /* NULL: free */
    uint64_t value, sequence;
};

/* A context waits for these from now on, the highest value of each. */
#define SEEN_AWAITED 8u
struct seen_awaited {
    struct seen_object *fence;
    uint64_t value;
};

/* A context sets an event: the client that learns of it knows that what went before has run. */
#define SEEN_EVENTS 16u
struct seen_event {
    uint64_t number; /* 0: free */
    struct seen_object *context;
};

/* What is the same for all processes that have a fence or an allocation. */
struct seen_body {
    struct list link; /* of all */
    unsigned users;   /* objects that are, or have been, and what is shared */
    bool is_shared;   /* made to be shared */

    /* FENCE */
    struct seen_object *signaller; /* the context whose work, or whose queue, signals it */
    uint64_t promised;             /* the highest value that somebody is to signal */
    uint64_t last_signal;          /* the newest */

    /* ALLOCATION: the recorder's */
    unsigned number; /* in lines: that of the first object */
    unsigned sights; /* of its line: those that it has not ended for */
    unsigned held;   /* references that the manager has: fewer, while others have the memory */
    struct seen_use read, written;
    uint64_t line_bytes; /* as the manager has it; 0: no line names it (any more) */
    unsigned held_names; /* times that work names it which is not handed over */
    bool is_freed_later; /* ... and it is destroyed */
    struct seen_content *contents;
    unsigned content_count, content_room;
};

/* A resource, a fence or a keyed mutex that was made to be shared. */
#define SEEN_MOST_PARTS 3u
struct seen_shared {
    struct list link;     /* of all */
    enum seen_kind kind;  /* NOTHING: an NT handle's, of these parts */
    uint64_t name;        /* what NT handles of it name; 0: nobody knows */
    D3DKMT_HANDLE global; /* 0: none */
    struct list sights;   /* objects that have it, or had it */
    struct seen_shared *parts[SEEN_MOST_PARTS];
    struct seen_shared *mutex; /* RESOURCE: that it was shared with last; NULL: none */
    /* KEYED_MUTEX */
    const struct seen_object *holder; /* NULL: none */
    /* As a query tells it. */
    UINT runtime_bytes, driver_bytes, total_bytes, count;
    struct seen_body *bodies[]; /* of a fence: one */
};

struct seen_object {
    struct list link; /* of its process */
    enum seen_kind kind;
    D3DKMT_HANDLE handle;
    unsigned number; /* of its kind, from 1, of all processes */
    struct seen_process *process;
    struct seen_object *device;   /* of a device: its adapter */
    struct seen_object *resource; /* ALLOCATION; NULL: none */
    struct seen_body *body;       /* FENCE, ALLOCATION */
    /* RESOURCE, FENCE, KEYED_MUTEX, ALLOCATION: of the resource's; NULL: none that is known. */
    struct seen_shared *shared;
    struct list shared_link; /* of its sights */
    bool is_destroyed;
    bool is_going; /* client rules, DEVICE, CONTEXT, HW_QUEUE: a call that destroys it has begun */

    /* DEVICE */
    unsigned registrations; /* for notices to trim */

    /* RESOURCE */
    unsigned named; /* its place in the list that is looked at, from 1; else 0 */

    /* CONTEXT */
    unsigned node, refused; /* times that work was refused, because the device is lost */
    bool is_for_hw_queues;  /* made with HwQueueSupported */
    /* The client's context; of a further hardware queue of that, which stands for a context of its
     * own, under the queue's handle, and goes with it. Else NULL. */
    struct seen_object *further_of;
    struct seen_signal signals[SEEN_SIGNALS];
    unsigned next_signal;
    struct seen_awaited awaited[SEEN_AWAITED];
    uint64_t submitted;      /* sequence of its last submission */
    uint64_t handed, waited; /* recorder: of what the manager has; of what has been waited for */

    /* FENCE */
    uint64_t cpu_address, va;
    struct seen_object *queue;         /* whose paging fence it is; NULL: a client's */
    struct seen_object *hw_queue;      /* whose progress fence it is; NULL: none */
    bool is_wait_only, is_signal_only; /* NoSignal, NoWait */

    /* NOTIFICATION */
    uint64_t event; /* its number */

    /* KEYED_MUTEX */
    bool is_abandoned; /* the client has been told so */

    /* QUEUE, HW_QUEUE */
    struct seen_object *fence;
    struct seen_object *context; /* HW_QUEUE */

    /* ALLOCATION */
    uint64_t bytes;
    uint32_t flags; /* SGPU_UMD_*; 0 where the data is another driver's */
    uint64_t client_address, lock_address;
    uint64_t hidden_address; /* where a lock was, that has ended; 0: nowhere */
    uint64_t mapped_bytes;   /* from its start, as far as it was ever mapped */
    unsigned locks, references;
    uint64_t resident_value; /* paging fence value behind which it may be used */
    struct seen_object *resident_queue;
    bool is_offered, is_reclaimed, is_discarded;
    bool is_refused;        /* client rules: the newest request for its residency was */
    uint64_t refused_after; /* ... when the process had given up so often */
    struct seen_use used;   /* by work, in whichever way */
    bool has_line;          /* recorder: its body has one, also for it */
    unsigned held;          /* recorder: of the body's references, those by it */
};

struct seen_mapping {
    uint64_t start, end, offset;
    struct seen_object *allocation; /* NULL: reserved only */
    bool is_writable;
    struct seen_use used;
    uint64_t value; /* paging fence value behind which it may be used */
    struct seen_object *queue;
};

struct seen_process {
    struct list link;
    const struct seen *seen;
    void *client; /* of whoever tells: the source knows it */
    unsigned number;
    uint64_t told[2]; /* rules of client_rules.h, a bit for each that has been told of it */
    struct list objects, fences; /* the second ones are not among the first */
    struct seen_object **slots;  /* by handle, open addressing */
    size_t slot_count, used;
    struct seen_object *registered[SEEN_MOST_TRIM_NOTICES]; /* devices, by registration */
    struct seen_mapping *mappings;                          /* ascending */
    size_t mapping_count, mapping_room;
    struct seen_ranges reserved; /* addresses by ReserveGpuVirtualAddress */
    struct seen_ranges given; /* these, and what was mapped, until it is freed by its addresses */
    uint64_t given_up;        /* references, offers and allocations, so far */
    struct seen_event events[SEEN_EVENTS]; /* the newest signals that set one */
    unsigned next_event;
    bool has_opaque_work; /* some batch could not be read: who signals what is not known */
};

/* Where the memory of clients is, and who reads their packets. */
struct seen_source {
    /* Bytes of a client's memory; false: it has none there. */
    bool (*read)(void *client, uint64_t address, void *out, uint64_t bytes);
    /* Tells what a batch accesses (drydock/gpu_model.h); NULL: batches are of the Drydock GPU. */
    bool (*walk_batch)(const void *context, uint64_t va, uint64_t bytes,
                       const struct drydock_gpu_walk *walk);
    const void *context; /* of walk_batch */
    /* A read has failed because the client's process has ended; NULL: it never does. */
    bool (*is_gone)(void *client);
};

struct seen {
    struct seen_source source;
    struct list processes, bodies, shared;
    unsigned counts[SEEN_RESOURCE + 1]; /* numbers given so far */
    unsigned process_count;
    uint64_t submissions;
    bool is_lost;
};

void seen_init(struct seen *seen, const struct seen_source *source);
void seen_fini(struct seen *seen);

/* By what an NT handle names, or by a global handle; NULL: nothing that was seen. */
struct seen_shared *seen_find_shared(const struct seen *seen, enum seen_kind kind, uint64_t name,
                                     D3DKMT_HANDLE global);

/* NULL: not seen yet. */
struct seen_process *seen_process_of(struct seen *seen, void *client);
struct seen_object *seen_find(const struct seen_process *process, D3DKMT_HANDLE handle,
                              enum seen_kind kind);
/* Of a resource, an allocation of one, a fence or a keyed mutex; NULL: of none of these. */
struct seen_object *seen_find_shareable(const struct seen_process *process, D3DKMT_HANDLE handle);
const struct seen_mapping *seen_mapping_at(const struct seen_process *process, uint64_t va);

/*
 * Each allocation of a list of handles or, where that is NULL, of resources; i is its place, or its
 * resource's, in the list.
 */
void seen_each_named(const struct seen_process *process, UINT count, const D3DKMT_HANDLE *handles,
                     const D3DKMT_HANDLE *resources,
                     void (*each)(void *context, struct seen_object *allocation, UINT i),
                     void *context);

/* True: the handle was an object's, which has been destroyed. */
bool seen_was_destroyed(const struct seen_process *process, D3DKMT_HANDLE handle);
/* The fence whose value lies at that GPU address; NULL: none. */
struct seen_object *seen_fence_at(const struct seen_process *process, uint64_t va);

/* A call has ended; the process is no more. */
void seen_ended(struct seen *seen, void *client, const struct client_call *call);
void seen_closed(struct seen *seen, void *client);
/* Nobody has it any more that NT handles name so. */
void seen_unshared(struct seen *seen, uint64_t nt_object);

/* ---- Work ------------------------------------------------------------------------------------ */

/* What a call hands in, to a context or to its hardware queue. */
struct seen_work {
    struct seen_object *context;  /* NULL: none that is known */
    struct seen_object *hw_queue; /* NULL: it goes to a context, or to a queue that is not known */
    uint64_t va;                  /* of the commands, as the call says it */
    UINT bytes, private_data_bytes;
    uint64_t progress_id; /* of a hardware queue's */
    bool is_null;
};
/* False: the call hands in no work. */
bool seen_work_of(const struct seen_process *process, enum d3dkmt_function function,
                  const void *arguments, struct seen_work *out_work);

/* Fences and values that a call waits for, or signals. */
struct seen_sync {
    bool is_by_cpu;
    /* A wait with hAsyncEvent is two calls (D3DKMT_MOST_EVENTS): one where it begins, one
     * where it ends. Any other is one where it begins and ends. */
    bool begins, ends;
    uint64_t event;              /* of such a wait: its number; 0: it is none */
    struct seen_object *context; /* in whose queue it stands; NULL: the CPU's, or not known */
    bool may_fall;               /* a signal with AllowFenceRewind */
    UINT count;
    const D3DKMT_HANDLE *handles; /* as the call says them: NULL in a call that is wrong */
    const UINT64 *values;
};
/* False: the call is no such one. */
bool seen_wait_of(const struct seen_process *process, enum d3dkmt_function function,
                  const void *arguments, struct seen_sync *out_wait);
bool seen_signal_of(const struct seen_process *process, enum d3dkmt_function function,
                    const void *arguments, struct seen_sync *out_signal);

/* Signals that set events of the client's: CPU notifications, or one event by itself. */
struct seen_setting {
    struct seen_object *context; /* NULL: not known */
    UINT count;
    const D3DKMT_HANDLE *handles; /* of notifications */
    bool is_enqueued;             /* with EnqueueCpuEvent */
    uint64_t event;               /* its number then */
};
/* False: the call is no such one. */
bool seen_setting_of(const struct seen_process *process, enum d3dkmt_function function,
                     const void *arguments, struct seen_setting *out_setting);
/* The context that has set the event last; NULL: nobody knows. */
struct seen_object *seen_who_sets(const struct seen_process *process, uint64_t event);

enum seen_access_kind { SEEN_COPY, SEEN_FILL, SEEN_RENDER, SEEN_SIGNAL, SEEN_UNKNOWN };
struct seen_access {
    enum seen_access_kind kind;
    uint64_t source, destination; /* addresses; source of COPY and of a RENDER that reads */
    uint64_t bytes;
    uint64_t value; /* SIGNAL, FILL */
};

/*
 * The packets of a batch, in order. False: the batch cannot be read, or is none, or the board's
 * model does not tell.
 */
bool seen_walk_batch(const struct seen_process *process, uint64_t va, uint64_t bytes,
                     void (*each)(void *context, const struct seen_access *access), void *context);

/* Bytes of the client's own memory. False: it has none there. */
bool seen_read(const struct seen_process *process, uint64_t address, void *out, uint64_t bytes);
/*
 * True: commands in it can be read, because the client sees it, and they are of a user-mode driver
 * of the Drydock GPU, as its private data says.
 */
bool seen_is_readable(const struct seen_object *allocation);
/* Another process's sight of the same memory, or this one, that sees it; NULL: none does. */
const struct seen_object *seen_who_sees(const struct seen *seen,
                                        const struct seen_object *allocation);
/* Where the client itself sees the allocation; 0: nowhere. */
uint64_t seen_cpu_address(const struct seen_object *allocation);

#endif
