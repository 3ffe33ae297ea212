/*
 * Notes: what the memory manager tells about itself while it works, so that an embedder can draw
 * where every allocation was, who had to leave for whom, and what each request waited for.
 *
 * Place      Public API of libvidmm, beside vidmm.h. vidmm_events.told hears every note, in the
 *            order of the decisions. NULL: nobody listens, and a place that would tell costs one
 *            branch.
 * Model      A note is a kind and a structure of that kind. Objects are named by their pointers: a
 *            pointer is the object from VIDMM_NOTE_OBJECT to VIDMM_NOTE_OBJECT_ENDS, and may then
 *            come back as another one. Requests, jobs, operations, packets and submissions are
 *            named by numbers: each kind counts from 1, 0 means none.
 *
 *            The notes are complete in this sense: who adds up PLACED and LEFT has the place of
 *            every allocation; with RANGE, all that is taken of a segment; with STATE, what
 *            vidmm_allocation_is_resident() says; with ENTRIES, the content of page tables as the
 *            GPU will find it when the operation has run.
 *
 *                REQUEST -> REQUEST_WAITS* -> REQUEST_BEGINS -> VICTIM*, DEPARTS*, PLACED*
 *                           -> REQUEST_WAITS -> REQUEST_ENDS
 *                JOB -> OPERATION -> OPERATION_BUILT* -> PACKET (queued, submitted, retired)
 *                    -> JOB_ENDS
 *                FENCE_WAITS -> FENCE_VALUE -> FENCE_WAIT_ENDS
 * Calls      The observer is called in the middle of a decision: it may call no function of vidmm.h
 *            but vidmm_allocation_cookie().
 * Ownership  A note and everything that it points to are lent for the call.
 * Errors     None: the observer answers nothing.
 * Units      Bytes; pages of 4 KiB where a name says so. There is no time in a note: the embedder
 *            has the clock.
 *
 * Example    Who evicted whom:
 *
 *                static void told(void *context, const struct vidmm_note *note)
 *                {
 *                    const struct vidmm_note_victim *victim = &note->victim;
 *
 *                    if (note->kind == VIDMM_NOTE_VICTIM)
 *                        draw_arrow(context, victim->request,
 *                                   vidmm_allocation_cookie(victim->allocation.named));
 *                }
 *
 *                config.events.told = told;
 *
 *            A map of a segment: a band begins with each run of PLACED and ends with LEFT. A curve
 *            of it: SAMPLE. The timeline of the paging queue: OPERATION_BUILT says in which buffer
 *            and packet (`paging`) an operation is; PACKET, when that has gone and has retired.
 */
#ifndef VIDMM_NOTES_H
#define VIDMM_NOTES_H

#include "base/api.h"

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

VIDMM_API_BEGIN

struct vidmm_allocation;
struct vidmm_context;
struct vidmm_device;
struct vidmm_list;
struct vidmm_native_fence;
struct vidmm_process;
struct vidmm_reference;

enum vidmm_note_kind {
    /* Objects of clients and of the driver. */
    VIDMM_NOTE_OBJECT,
    VIDMM_NOTE_OBJECT_ENDS,
    VIDMM_NOTE_LIST,

    /* Requests, and what makes room for them. */
    VIDMM_NOTE_REQUEST,
    VIDMM_NOTE_REQUEST_WAITS,
    VIDMM_NOTE_REQUEST_BEGINS,
    VIDMM_NOTE_REQUEST_ENDS,
    VIDMM_NOTE_GIVEN_UP,
    VIDMM_NOTE_VICTIM,
    VIDMM_NOTE_OFFER,
    VIDMM_NOTE_BUDGET,
    VIDMM_NOTE_TRIM,

    /* Places. */
    VIDMM_NOTE_DEPARTS,
    VIDMM_NOTE_PLACED,
    VIDMM_NOTE_LEFT,
    VIDMM_NOTE_STATE,
    VIDMM_NOTE_RANGE,
    VIDMM_NOTE_SAMPLE,
    VIDMM_NOTE_MAPPING,

    /* Work. */
    VIDMM_NOTE_JOB,
    VIDMM_NOTE_JOB_ENDS,
    VIDMM_NOTE_QUEUE_WAITS,
    VIDMM_NOTE_OPERATION,
    VIDMM_NOTE_OPERATION_BUILT,
    VIDMM_NOTE_ENTRIES,
    VIDMM_NOTE_SUBMISSION,
    VIDMM_NOTE_PACKET,

    /* Fences that clients wait for. */
    VIDMM_NOTE_FENCE_VALUE,
    VIDMM_NOTE_FENCE_WAITS,
    VIDMM_NOTE_FENCE_WAIT_ENDS,
    VIDMM_NOTE_KINDS
};

/* "placed"; "?" for a value that is no kind. */
const char *vidmm_note_name(unsigned kind);

/*
 * An allocation, or one of several instances of a renamed one (vidmm_allocation_instance()).
 * `named` is what the client has, or what was made for the driver or for DMA buffers; `instance`
 * is NULL for the place and the content that it was made with.
 */
struct vidmm_noted_allocation {
    const struct vidmm_allocation *named;
    const void *instance;
};

/*
 * Where the content of an allocation is: nowhere yet; in system memory; on its way in; where the
 * GPU uses it; on its way out or to another place; given up.
 */
enum vidmm_noted_state {
    VIDMM_STATE_EMPTY,
    VIDMM_STATE_BACKED,
    VIDMM_STATE_ENTERING,
    VIDMM_STATE_RESIDENT,
    VIDMM_STATE_LEAVING,
    VIDMM_STATE_DYING,
    VIDMM_STATES
};
const char *vidmm_state_name(unsigned state); /* "empty" ... */

/* ---- Objects ----------------------------------------------------------------------------------*/

enum vidmm_object_kind {
    VIDMM_OBJECT_PROCESS,
    VIDMM_OBJECT_DEVICE,
    VIDMM_OBJECT_CONTEXT,
    VIDMM_OBJECT_ALLOCATION,     /* of a client's */
    VIDMM_OBJECT_OWN_ALLOCATION, /* of the driver's own: a context allocation */
    VIDMM_OBJECT_BUFFER,         /* a DMA buffer, in an aperture or mapped by its address */
    VIDMM_OBJECT_INSTANCE,       /* another place of a renamed allocation */
    VIDMM_OBJECT_NATIVE_FENCE,
    VIDMM_OBJECT_KINDS
};
const char *vidmm_object_name(unsigned kind); /* "process", "device" ... */

/* VIDMM_NOTE_OBJECT, VIDMM_NOTE_OBJECT_ENDS (which has the kind and the object only). */
struct vidmm_note_object {
    enum vidmm_object_kind kind;
    const void *object;
    const void *parent;       /* process of a device, device of a context or allocation, allocation
                                 of an instance; NULL: none */
    HANDLE driver_handle;     /* as the driver knows it; NULL: it has none */
    uint64_t bytes;           /* of an allocation, in whole pages */
    const uint8_t *preferred; /* of an allocation: ids of its segments, best first */
    unsigned preferred_count;
    enum vidmm_noted_state state; /* of an allocation, when it is told of */
    unsigned node;                /* of a context */
    const void *paging_fence; /* of a device: vidmm_note_packet.wait_fence of packets that wait for
                                 its requests */
};

/* VIDMM_NOTE_LIST: a list of references has these members from here on; none when it ends. */
struct vidmm_note_list {
    const struct vidmm_list *list;
    unsigned count;
    struct vidmm_allocation *const *allocations;
};

/* ---- Requests ---------------------------------------------------------------------------------*/

enum vidmm_request_kind {
    VIDMM_REQUEST_CLIENT,     /* vidmm_make_resident() and its like */
    VIDMM_REQUEST_RECLAIM,    /* vidmm_reclaim() */
    VIDMM_REQUEST_SUBMISSION, /* what a submission uses, or its context's own allocations */
    VIDMM_REQUEST_LOCK,       /* for a lock of the CPU, or behind it */
    VIDMM_REQUEST_TABLES,     /* page tables of a mapping that found no room */
    VIDMM_REQUEST_UPDATE,     /* DxgkCbUpdateContextAllocation */
    VIDMM_REQUEST_KINDS
};
const char *vidmm_request_name(unsigned kind); /* "client", "reclaim" ... */

/*
 * VIDMM_NOTE_REQUEST: allocations are to be resident together. at_once: they are, nothing had to be
 * done, and no other note of this request follows. Where a list asks (`list`), and nothing had to
 * be done, allocations is NULL: they are the members of the list.
 */
struct vidmm_note_request {
    uint64_t number;
    enum vidmm_request_kind kind;
    const struct vidmm_device *device; /* NULL: for page tables */
    const struct vidmm_list *list;     /* NULL: no list */
    uint64_t fence_value;              /* of the device's paging fence that will end it; 0: none */
    uint64_t submission;               /* that it is for; 0: none */
    bool at_once;
    unsigned count;
    struct vidmm_allocation *const *allocations; /* instances: as vidmm_allocation_instance() */
    uint64_t table_bytes;                        /* for page tables: most that they can take */
};

enum vidmm_wait {
    VIDMM_WAIT_REQUEST,   /* the request in front of it */
    VIDMM_WAIT_TURN,      /* another process has the turn (vidmm/policy.h) */
    VIDMM_WAIT_ROOM,      /* room for the allocation in the segment: others are on their way out */
    VIDMM_WAIT_DEPARTURE, /* the allocation itself is on its way out or moves; then it comes back */
    VIDMM_WAIT_LOCK,      /* the allocation is locked where it is */
    VIDMM_WAIT_TABLES,    /* room for page tables in the segment */
    VIDMM_WAIT_COMPACTION, /* one piece of the segment: contexts become idle, and what lies in the
                              way moves */
    VIDMM_WAIT_PAGING,     /* all is placed: the operations have to run */
    VIDMM_WAITS
};
const char *vidmm_wait_name(unsigned wait); /* "request", "turn", "room" ... */

/*
 * VIDMM_NOTE_REQUEST_WAITS: from here on the request waits for this, until the next note of the
 * same request. A request that waits for the same thing as before is not told of again.
 */
struct vidmm_note_request_waits {
    uint64_t number;
    enum vidmm_wait wait;
    uint64_t request;                         /* WAIT_REQUEST */
    const struct vidmm_process *process;      /* WAIT_TURN: who has it; NULL: nobody */
    struct vidmm_noted_allocation allocation; /* ROOM, DEPARTURE, LOCK; else NULL */
    unsigned segment;                         /* ROOM, TABLES, COMPACTION */
};

/* VIDMM_NOTE_REQUEST_BEGINS: it holds what it asks for, and places what is not there. */
struct vidmm_note_request_begins {
    uint64_t number;
};

/* VIDMM_NOTE_REQUEST_ENDS, with what its owner is told. */
struct vidmm_note_request_ends {
    uint64_t number;
    NTSTATUS status;
    uint64_t needed, available;
};

/* VIDMM_NOTE_GIVEN_UP: the client gives up one reference of each (vidmm_evict()). */
struct vidmm_note_given_up {
    const struct vidmm_device *device;
    const struct vidmm_list *list; /* NULL: no list; else allocations is NULL */
    unsigned count;
    struct vidmm_allocation *const *allocations;
};

/* Which group of candidates a victim was in: the groups leave in this order. */
enum vidmm_victim_group { VIDMM_VICTIM_OFFERED, VIDMM_VICTIM_OVER_BUDGET, VIDMM_VICTIM_PRIORITY };
const char *vidmm_victim_group_name(unsigned group); /* "offered", "over budget", "priority" */

/*
 * VIDMM_NOTE_VICTIM: the policy chooses an allocation that leaves for the request (0: ahead of
 * any). DEPARTS follows.
 */
struct vidmm_note_victim {
    uint64_t request;
    struct vidmm_noted_allocation allocation;
    unsigned segment;
    const char *policy; /* its name */
    const char *reason; /* as vidmm_events.evicted is told */
    enum vidmm_victim_group group;
    unsigned priority; /* class within the group: 0 leaves first */
    unsigned compared; /* candidates that were compared, with the victim: 1 by last use alone */
    unsigned
        passed_over;   /* that were used less recently, but could not leave or stay by the policy */
    uint64_t last_use; /* number of the last submission when it was let go */
    bool is_forecast;  /* next_use_ns is known (struct vidmm_candidate) */
    uint64_t next_use_ns; /* VIDMM_NEVER: none */
    unsigned queued;      /* the first waiting request that wants it, from 1; 0: none */
    unsigned turn;        /* of its process; VIDMM_NO_TURN */
};

/* VIDMM_NOTE_OFFER: its content may be dropped, or may not any more. */
struct vidmm_note_offer {
    struct vidmm_noted_allocation allocation;
    bool is_offered;
    unsigned priority; /* enum vidmm_offer_priority */
};

/* VIDMM_NOTE_BUDGET (bytes 0: no limit), VIDMM_NOTE_TRIM (bytes above the budget). */
struct vidmm_note_budget {
    const struct vidmm_process *process;
    unsigned group; /* enum vidmm_budget_group */
    uint64_t bytes;
};

/* ---- Places -----------------------------------------------------------------------------------*/

/* Pages of a segment, in the order of the allocation. */
struct vidmm_noted_run {
    uint64_t first_page, page_count;
};

/* VIDMM_NOTE_DEPARTS: it has been decided that the allocation leaves, or moves. */
struct vidmm_note_departs {
    uint64_t request; /* that it leaves for; 0: none */
    struct vidmm_noted_allocation allocation;
    unsigned segment;
    unsigned how;       /* enum vidmm_departure */
    const char *reason; /* "memory pressure", "over budget", "CPU access" ... */
};

/*
 * VIDMM_NOTE_PLACED: a place has been taken. While an allocation moves, it has two.
 * VIDMM_NOTE_LEFT: a place is free again. An allocation in segment 0, system memory, has no runs.
 */
enum vidmm_place_reason {
    VIDMM_PLACE_ASKED, /* for a request */
    VIDMM_PLACE_AHEAD, /* before it is asked for */
    VIDMM_PLACE_MOVE,  /* of an allocation that is there: another place */
    VIDMM_LEFT_EVICTED,
    VIDMM_LEFT_DROPPED,   /* it was offered */
    VIDMM_LEFT_DESTROYED, /* with the allocation, or with an instance */
    VIDMM_LEFT_MOVED,
    VIDMM_LEFT_LOST,   /* the adapter was reset, or slept */
    VIDMM_LEFT_UNUSED, /* taken in vain: of two places the worse, or one that could not be shown */
    VIDMM_PLACE_REASONS
};
const char *vidmm_place_reason_name(unsigned reason); /* "asked", "evicted" ... */

struct vidmm_note_place {
    struct vidmm_noted_allocation allocation;
    uint64_t request; /* PLACED: on whose behalf; 0: nobody's */
    unsigned segment;
    enum vidmm_place_reason reason;
    uint64_t bytes; /* of the segment, with what a segment of larger pages adds */
    unsigned run_count;
    const struct vidmm_noted_run *runs;
};

/* VIDMM_NOTE_STATE */
struct vidmm_note_state {
    struct vidmm_noted_allocation allocation;
    enum vidmm_noted_state former, state;
};

/*
 * VIDMM_NOTE_RANGE: bytes of a segment are taken, or given back, by what is no allocation there:
 * page tables (which share units of 64 KiB), slots of an aperture that show paging buffers, and
 * slots through which an allocation leaves.
 */
enum vidmm_range_use {
    VIDMM_RANGE_TABLES,
    VIDMM_RANGE_BUFFERS,
    VIDMM_RANGE_EVICTION, /* counts in vidmm_note_sample.committed, and not as resident */
    VIDMM_RANGE_USES
};
const char *vidmm_range_name(unsigned use); /* "tables", "buffers", "eviction" */

struct vidmm_note_range {
    bool is_taken;
    enum vidmm_range_use use;
    unsigned segment;
    uint64_t offset, bytes;
};

/*
 * VIDMM_NOTE_SAMPLE: sums of a segment, after they have changed. demand: what is wanted there: what
 * lies there and does not leave, and what waiting requests have still to place.
 */
struct vidmm_note_sample {
    unsigned segment;
    uint64_t resident;  /* taken, page tables included */
    uint64_t free;      /* 0 in segment 0 */
    uint64_t leaving;   /* of resident: on their way out */
    uint64_t doomed;    /* of resident: destroyed, but work still uses them */
    uint64_t tables;    /* of resident: page tables, and slots of paging buffers */
    uint64_t committed; /* of an aperture: slots that are taken, by whomever */
    uint64_t demand;
};

/* VIDMM_NOTE_MAPPING: addresses of a process show pages of an allocation, or do not any more. */
struct vidmm_note_mapping {
    bool is_mapped;
    const struct vidmm_process *process;
    const struct vidmm_allocation *allocation;
    uint64_t va, bytes;
    uint64_t offset;  /* in the allocation */
    uint32_t protect; /* VIDMM_PROTECT_* */
    bool is_own;      /* of the manager: a tile pool, a DMA buffer, tables of tiles */
};

/* ---- Work -------------------------------------------------------------------------------------*/

/* VIDMM_NOTE_JOB, VIDMM_NOTE_JOB_ENDS: everything it generated has run. is_lost: the adapter was
 * reset before; what is still wanted is queued again as another job. */
struct vidmm_note_job {
    uint64_t number;
    const char *name;                         /* "enter", "leave", "map", "request" ... */
    uint64_t request;                         /* on whose behalf; 0: nobody's */
    struct vidmm_noted_allocation allocation; /* NULL: it is of something else */
    bool is_lost;                             /* JOB_ENDS */
};

enum vidmm_queue_wait {
    VIDMM_QUEUE_WAIT_JOB,       /* the job asks to wait: contexts of a process become idle */
    VIDMM_QUEUE_WAIT_IDLE,      /* contexts are held for an update of page tables */
    VIDMM_QUEUE_WAIT_CONTEXT,   /* a node has to leave its context first */
    VIDMM_QUEUE_WAIT_SLOTS,     /* work that goes through aperture slots has to end */
    VIDMM_QUEUE_WAIT_BUFFER,    /* all paging buffers are with the GPU */
    VIDMM_QUEUE_WAIT_GIVEN_WAY, /* jobs that give way have enough under way */
    VIDMM_QUEUE_WAITS
};
const char *vidmm_queue_wait_name(unsigned wait); /* "job", "idle", "context" ... */

/* VIDMM_NOTE_QUEUE_WAITS: the paging queue cannot go on with its first job, until the next note of
 * an operation or a job. */
struct vidmm_note_queue_waits {
    enum vidmm_queue_wait wait;
    uint64_t job;
};

/*
 * VIDMM_NOTE_OPERATION: a job has given its next operation. OPERATION_BUILT follows for each call
 * of DxgkDdiBuildPagingBuffer, unless a reset comes before.
 */
struct vidmm_note_operation {
    uint64_t number;
    uint64_t job;         /* 0: at once, without a buffer (page tables of the paging process) */
    const char *job_name; /* NULL where job is 0 */
    const DXGKARG_BUILDPAGINGBUFFER *arguments; /* without the members about the buffer */
    struct vidmm_noted_allocation allocation;   /* NULL: of none, or of several */
    const struct vidmm_process *process;        /* whose tables it changes; NULL: none, or the
                                                   paging process */
};

struct vidmm_note_operation_built {
    uint64_t number;
    NTSTATUS status;        /* of the call: the driver's */
    bool is_complete;       /* the operation has been built whole, or is dropped */
    unsigned buffer;        /* index of the paging buffer */
    uint32_t offset, bytes; /* that the driver has written of it */
    uint32_t multipass;     /* MultipassOffset that it was called with */
    uint64_t paging; /* vidmm_note_packet.subject of the packet that will hold the bytes; 0: none
                        were written */
};

/*
 * VIDMM_NOTE_ENTRIES: consecutive entries that an operation writes, by ranges in which all have the
 * same flags and addresses go on by the same stride. The operation's own note comes before. Count
 * 0: the table is given up.
 */
struct vidmm_note_entries {
    uint64_t operation;
    const struct vidmm_process *process; /* NULL: the paging process */
    unsigned level;                      /* 0: leaf */
    bool is_64k;                         /* a leaf of 64 KiB pages, or a pointer to one */
    uint64_t va, count;                  /* of the first entry; entries */
    uint64_t entry_bytes;                /* of address space that one entry translates */
    bool is_valid;
    unsigned segment;
    uint64_t offset; /* of what the first entry points at */
    int64_t stride;  /* from one entry to the next, in bytes */
    /*
     * System memory: the addresses follow no stride. Those of all entries are in `entries` (NULL:
     * there is one entry alone, or none), of which a range that repeats one has that one.
     */
    bool is_scattered;
    const DXGK_PTE *entries;
    uint64_t hash;  /* of all that the entries say; 0: not known, for one is repeated */
    uint64_t flags; /* DXGK_PTE.Flags without Valid, Segment: ReadOnly, LargePage ... */
};

/* VIDMM_NOTE_SUBMISSION: a client's work, or a part of it, before it goes to the scheduler. */
struct vidmm_note_submission {
    uint64_t number; /* vidmm_note_packet.subject */
    const struct vidmm_context *context;
    unsigned node;
    bool is_present, is_null;
    uint64_t va;                              /* GpuMmu; else 0 */
    uint32_t bytes;                           /* of commands */
    unsigned reference_count;                 /* physical */
    const struct vidmm_reference *references; /* an allocation may be NULL */
};

enum vidmm_packet_kind {
    VIDMM_PACKET_PAGING,     /* subject: number of the paging submission */
    VIDMM_PACKET_SUBMISSION, /* subject: vidmm_note_submission.number */
    VIDMM_PACKET_SWITCH,     /* a node leaves its context; subject: 0 */
    VIDMM_PACKET_KINDS
};
const char *vidmm_packet_name(unsigned kind); /* "paging", "submission", "switch" */

enum vidmm_packet_step {
    VIDMM_PACKET_QUEUED,
    VIDMM_PACKET_SUBMITTED, /* it goes to the driver, with this fence id */
    VIDMM_PACKET_CAME_BACK, /* preempted: it will be submitted again */
    VIDMM_PACKET_RETIRED,
    VIDMM_PACKET_STEPS
};
const char *vidmm_packet_step_name(unsigned step); /* "queued", "submitted" ... */

/* VIDMM_NOTE_PACKET */
struct vidmm_note_packet {
    enum vidmm_packet_step step;
    uint64_t number; /* in the order of queueing */
    enum vidmm_packet_kind kind;
    uint64_t subject;
    unsigned node;
    uint32_t fence_id;     /* from SUBMITTED on; else 0 */
    uint32_t bytes;        /* of commands */
    HANDLE driver_context; /* that it runs in; NULL: none, or the driver has no contexts */
    NTSTATUS status;       /* RETIRED */
    const void
        *wait_fence; /* QUEUED: it waits until this fence has wait_value; NULL: it does not */
    uint64_t wait_value;
    unsigned queue_depth; /* packets of the node that are with the driver then, this one included */
};

/* ---- Fences -----------------------------------------------------------------------------------*/

/*
 * VIDMM_NOTE_FENCE_VALUE: the manager learns, or has decided, that a fence has this value: a native
 * fence with its first value and when a wait for it is over (the GPU has written it before, and may
 * write values that nobody waits for, which are not told); the paging fence of a device when a
 * request has ended, before the packets go that wait for it.
 */
struct vidmm_note_fence {
    const struct vidmm_native_fence *fence; /* NULL: the paging fence */
    const struct vidmm_device *device;      /* of the paging fence; else NULL */
    uint64_t value;
    uint64_t request; /* that has ended; 0: none */
};

/*
 * VIDMM_NOTE_FENCE_WAITS: somebody waits on the CPU until the native fence has at least this value.
 * VIDMM_NOTE_FENCE_WAIT_ENDS, which has number and status only: not any more. Packets that wait are
 * in VIDMM_NOTE_PACKET.
 */
struct vidmm_note_fence_wait {
    uint64_t number;
    const struct vidmm_native_fence *fence;
    uint64_t value;
    NTSTATUS status;
};

struct vidmm_note {
    enum vidmm_note_kind kind;
    union {
        struct vidmm_note_object object;
        struct vidmm_note_list list;
        struct vidmm_note_request request;
        struct vidmm_note_request_waits request_waits;
        struct vidmm_note_request_begins request_begins;
        struct vidmm_note_request_ends request_ends;
        struct vidmm_note_given_up given_up;
        struct vidmm_note_victim victim;
        struct vidmm_note_offer offer;
        struct vidmm_note_budget budget;
        struct vidmm_note_departs departs;
        struct vidmm_note_place place;
        struct vidmm_note_state state;
        struct vidmm_note_range range;
        struct vidmm_note_sample sample;
        struct vidmm_note_mapping mapping;
        struct vidmm_note_job job;
        struct vidmm_note_queue_waits queue_waits;
        struct vidmm_note_operation operation;
        struct vidmm_note_operation_built built;
        struct vidmm_note_entries entries;
        struct vidmm_note_submission submission;
        struct vidmm_note_packet packet;
        struct vidmm_note_fence fence;
        struct vidmm_note_fence_wait fence_wait;
    };
};

VIDMM_API_END

#endif
