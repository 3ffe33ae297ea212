/*
 * Ledger: the checking layer's own account of objects, and of work that is under way.
 *
 * Place      check, private. Entered by check_layer.c from what passes the driver's interface and
 *            from nothing else; read by the watchers.
 * Model      Objects are numbered in the order in which they were created, each kind from 1, as the
 *            trace does, and remember the last things that happened to them. Paging operations are
 *            numbered from 1. Built bytes are matched by length with submitted bytes, as the
 *            manager may build ahead. A packet is one submission and lives until the driver reports
 *            it finished or a reset ends it.
 * Ownership  Objects belong to the ledger until the call that destroys them has been shown to all
 *            watchers.
 * Errors     check_lost() when there is no memory: an object that was not entered is not judged.
 */
#ifndef DRYDOCK_CHECK_LEDGER_H
#define DRYDOCK_CHECK_LEDGER_H

#include "base/list.h"
#include "check/check.h"
#include "check/ledger/check_tables.h"
#include "check/ledger/id_map.h"
#include "miniport/miniport.h"

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#include <stdbool.h>
#include <stdint.h>

#define CHECK_MAX_SEGMENTS 32
#define CHECK_MAX_NODES    64
#define CHECK_MAX_LEVELS   8
#define CHECK_HISTORY      6

/*
 * Instances of renamed allocations (ALLOC-022) are allocations of the ledger, with numbers from
 * here on. The driver knows one hAllocation for all; on the way to the checking layer each but the
 * first is given a handle of its own (CHECK_CLIENT_RENAMED), which is put back below it.
 */
#define CHECK_FIRST_INSTANCE 1000001u

enum check_kind {
    CHECK_PROCESS,
    CHECK_DEVICE,
    CHECK_CONTEXT,
    CHECK_ALLOCATION,
    CHECK_OPEN_ALLOCATION,
    CHECK_QUEUE, /* of hardware */
    CHECK_KIND_COUNT
};

/* Six of them are in every allocation, and few are ever told: they become text then. */
struct check_happening {
    uint64_t event;
    const char *format; /* of the segment, an unsigned, and the address, an unsigned long long */
    uint64_t address;
    unsigned segment;
};

/* What all objects have; first in each of them. */
struct check_object {
    enum check_kind kind;
    uint64_t handle; /* the driver's */
    uint64_t number;
    struct check_happening history[CHECK_HISTORY]; /* a ring */
    unsigned happening_count;                      /* ever */
    bool is_doubled; /* another object had the handle when this one was made */
};

struct check_process {
    struct check_object object;
    bool is_system;             /* the paging process */
    uint64_t scheduled;         /* event of its last packet that is no paging packet; 0: none */
    struct id_map tables;       /* those that are current */
    struct list table_list;     /* struct check_table, all of them */
    uint64_t root, former_root; /* CHECK_PLACE() that SetRootPageTable named, of any context */
    bool has_root, has_former_root;
    bool is_root_replaced; /* in other memory, and SetRootPageTable has not named that yet */
};

struct check_device {
    struct check_object object;
    struct check_process *process; /* NULL: none was named */
    unsigned context_count, open_count;
    const void *client;         /* the client's name for it, NULL: it has told none */
    unsigned missing_count;     /* allocations that it holds and that are out */
    uint64_t last_paging_fence; /* of the requests that have ended */
    uint64_t told_fence;        /* of the request that ended last, whatever became of it */
};

struct check_context {
    struct check_object object;
    struct check_device *device; /* NULL: of none that we know */
    unsigned node;
    DXGK_CREATECONTEXTFLAGS flags;
    DXGK_CONTEXTINFO info;
    bool has_root;                    /* SetRootPageTable was called for it */
    bool is_scheduled;                /* SetContextSchedulingProperties was */
    HANDLE kernel;                    /* the system's handle of it */
    uint64_t suspend_fence;           /* of the last SuspendContext; 0: there was none */
    bool is_suspending, is_suspended; /* asked for and not acknowledged; acknowledged */
    bool is_invalid;                  /* a reset of its engine has hit it */
    unsigned preempted;               /* packets that may come back, under other fences */
    unsigned preempted_switches; /* of those that switch contexts: these and others may overtake
                                    each other */
    DXGKARG_SETROOTPAGETABLE root;
};

#define CHECK_QUEUE_IDS 64u

struct check_queue {
    struct check_object object;
    HANDLE kernel, context; /* the system's handle of it; the driver's of its context */
    unsigned node;
    const volatile uint64_t *progress; /* its fence: where the system sees it, */
    uint64_t progress_va;              /* and the GPU */
    uint64_t submitted, former;        /* the last id, and the one before */
    uint64_t ids[CHECK_QUEUE_IDS];     /* the last ones, a ring */
    uint64_t id_count;                 /* that were submitted */
    uint64_t seen;                     /* the value at the last report */
    uint64_t left_at;                  /* the value when its context was suspended */
};

/* What paging operations said of an allocation; kept by check_transfer.c and check_virtual.c. */
struct check_movement {
    uint64_t epoch;   /* of what follows but the range: a reset or a sleep begins another */
    unsigned segment; /* the memory segment in which FILL or TRANSFER left it, 0: none */
    uint64_t address;
    unsigned busy_operation; /* that came back with BUSY and is due, + 1; 0: none */
    bool is_used;            /* last by a packet that was patched: */
    unsigned use_node;
    uint32_t use_fence;
    uint64_t next_chunk; /* offset at which its VIRTUAL operations go on, 0: none is under way */
    uint64_t
        former_chunk; /* it was under way in the epoch before: it begins anew or goes on there */
    unsigned chunk_operation;
    bool had_range, has_range; /* a swizzling range was, or is, acquired for it: */
    unsigned range_id, range_data;
};

/* The last reclaim's answer about the content, until somebody writes to it or brings it in. */
enum check_reclaimed { CHECK_RECLAIMED_NOT, CHECK_RECLAIMED_WHOLE, CHECK_RECLAIMED_EMPTY };

/* What a device of the client has to do with an allocation; it stays until the allocation goes. */
struct check_holder {
    struct check_holder *next;
    uint64_t device;        /* its number */
    unsigned made, evicted; /* residency references, given and taken back */
    uint64_t first_packet;  /* that may have been submitted since the first was made */
    uint64_t last_packet;   /* submitted last when the last of them was taken back */
};

struct check_allocation {
    struct check_object object;
    uint64_t bytes;           /* as the driver said */
    DXGK_ALLOCATIONINFO info; /* the driver's answer; its pointers are dead */
    bool is_noticed;          /* NOTIFY_RESIDENCY said last that it is resident */
    uint64_t notice_epoch;    /* of struct check_tables, in which it did */
    struct check_movement movement;
    const void *client; /* the client's name for it, NULL: it has told none */
    /* Of an allocation that is renamed: the others, oldest first; the last one is in force. */
    struct list instances;
    struct list instance_link; /* of another one: in the first one's list */
    struct check_allocation
        *first;         /* the allocation whose instance this is; NULL: the first itself */
    bool is_first_over; /* the first has ended as an instance; it is there as the handle */
    bool is_primary;    /* says the client */
    struct check_client_memory memory; /* that it is made over */
    bool is_dying;                     /* the client has destroyed it */
    unsigned open_count;               /* handles of devices */
    uint64_t creator;        /* number of the device that made it, 0: not seen, or closed there */
    bool was_made_by_device; /* creator was not always 0 */

    /* By the operations built so far: where it is in one piece. */
    bool is_placed;
    unsigned segment;
    uint64_t address;    /* as operations say it: the segment's base is in it */
    bool is_out;         /* it had a place in a memory segment, and content has not come back yet */
    bool has_content;    /* something was brought in, filled or taken out */
    bool is_written;     /* since it was brought in from system memory; true also when unknown */
    uint64_t slot_count; /* aperture slots that show it */
    bool is_place_lost;  /* nothing is known of its place */
    unsigned stay;       /* changes when it leaves its place */
    bool has_use;        /* a list named it: that of the packet with this fence */
    unsigned use_node;
    uint32_t use_fence;
    /* Operations that bring content in, built: in no packet yet, and not finished. */
    unsigned entering_unsubmitted, entering;
    unsigned pending; /* all operations that name it, built and not finished */
    unsigned
        work_count; /* of clients, queued with the manager and not ended, whose list names it */

    struct check_holder *holders;
    unsigned lock_count;
    bool is_offered, is_reclaiming; /* the latter until its request has ended */
    unsigned offer_class;
    bool departs;     /* while it is offered: the manager has decided that it leaves its place */
    bool is_dropped;  /* content was given up since it was offered */
    bool had_content; /* when it was offered */
    bool has_entered; /* while it was offered, for work that was queued before */
    enum check_reclaimed reclaimed;
    bool wants_aperture;    /* somebody locked it with AcquireAperture */
    bool is_in_own_order;   /* Swizzled: so it was taken out */
    bool may_be_in_memory;  /* brought into a memory segment, and not taken out since */
    bool is_history_lost;   /* a reset may have undone operations on it; until it is taken out */
    bool is_locked_outside; /* while not resident; and it can be in no aperture */
};

/* A handle may be the same in all devices that have the allocation open: the driver's choice. */
struct check_open_allocation {
    struct check_object object;
    unsigned times;
    void *allocation; /* the driver's handle, NULL: it has not asked for it */
    uint64_t allocation_number;
};

struct check_segment {
    unsigned id; /* from 1 */
    DXGK_SEGMENTFLAGS flags;
    uint64_t base, size, commit_limit;
    DXGK_SEGMENTDESCRIPTOR4 whole; /* members that the version of the query lacks are 0 */
};

enum check_packet_state {
    CHECK_SUBMITTED,
    CHECK_COMPLETED,
    CHECK_PREEMPTED, /* and not submitted again yet */
    CHECK_SUSPENDED, /* the driver has it, and the GPU has left its context */
    CHECK_REFUSED,   /* it does nothing, and may be reported in its turn (SUB-012) */
};

struct check_packet {
    struct list link;
    uint64_t number; /* of all submissions, from 1 */
    uint64_t event;  /* of the submission */
    unsigned node;
    uint32_t fence;
    HANDLE context;
    HANDLE queue;      /* of hardware, that it went to; NULL: none */
    uint64_t progress; /* ... and its id there, whose low half is the fence */
    bool is_paging, is_virtual;
    enum check_packet_state state;
    unsigned submit_count; /* more than 1: it came back after a preemption */
    bool may_be_back;      /* one of its context that is no paging packet was preempted */
    uint64_t bytes;        /* submitted */
    unsigned segment;      /* not is_virtual: of its first byte, and */
    uint64_t first_byte;   /* ... where that is, as the submission says it */
    bool is_null;          /* NullRendering: it is not to run */
    bool is_switch;        /* ContextSwitch */
    bool is_patched;       /* Patch was called for it (PATCH-009: it need not be, for paging) */
    uint64_t start;        /* where the GPU finds its commands, as the submission says it */
    uint64_t gpu_address;  /* of its commands, as the GPU was handed it last */
    bool was_yielded;      /* dropped from the ring of a node with queues, so it may come again */
    unsigned gpu_queued;   /* times that the GPU was handed it, since it was submitted last */
    bool is_gpu_done;      /* it has run */
    bool is_gpu_held;      /* a GPU that tells what it drops has it */
    uint64_t gpu_order;    /* of what the GPU was handed, the last time */
    unsigned gpu_done;     /* times that the GPU said so */
    /* Paging: the pieces that were built into it, struct check_built in order. */
    struct list built;
    bool is_matched; /* the pieces are as long as the submission */
};

/* What an operation does to its allocation. */
enum check_effect {
    CHECK_EFFECT_NONE,
    CHECK_EFFECT_IN,      /* content to a memory segment: a fill, a transfer, an image */
    CHECK_EFFECT_OUT,     /* content from a memory segment to system memory, or to eviction slots */
    CHECK_EFFECT_MOVE,    /* from one place in memory segments to another */
    CHECK_EFFECT_DISCARD, /* the place is given up */
    CHECK_EFFECT_MAP,     /* aperture slots */
    CHECK_EFFECT_UNMAP,
    CHECK_EFFECT_VALID, /* page-table entries of a process */
    CHECK_EFFECT_INVALID,
};

/* What one call of DxgkDdiBuildPagingBuffer left: an operation, or a part of one. */
struct check_built {
    struct list link;
    uint64_t number; /* of the operation */
    uint64_t event;  /* of the call */
    unsigned operation;
    uint32_t bytes;
    bool is_end;                          /* the operation is complete with it */
    bool is_before_reset;                 /* it may have been dropped */
    uintptr_t private_start, private_end; /* where pDmaBufferPrivateData was and came to be */
    unsigned target_segment;              /* where it puts content or maps pages; 0: nowhere */
    uint64_t target, target_bytes;
    enum check_effect effect;
    void *allocation;           /* the driver's handle, NULL: none that exists */
    uint64_t allocation_number; /* 0: none */
    bool is_counted;            /* at its allocation: it wrote something, and so has yet to run */
    bool is_submitted;
    /* IN, MOVE: the destination, as the operation says it; segment 0: it does not say one. */
    unsigned segment;
    uint64_t address, size;
    unsigned from_segment; /* OUT, MOVE, DISCARD: the place that it leaves, as far as known */
    uint64_t from_address;
};

/* The buffers of one system context: they are submitted in the order in which they were built. */
#define CHECK_MAX_STREAMS 8
struct check_stream {
    HANDLE context;
    struct list built; /* and not submitted yet */
    bool may_skip;     /* a reset may have dropped some */
};

struct check_caps {
    bool has_driver, has_gpummu, has_physical;
    DXGK_DRIVERCAPS driver;
    DXGK_GPUMMUCAPS gpummu;
    DXGK_PHYSICALADAPTERCAPS physical;
    unsigned level_count;
    bool has_level[CHECK_MAX_LEVELS];
    DXGK_PAGE_TABLE_LEVEL_DESC levels[CHECK_MAX_LEVELS]; /* of physical adapter 0 */
    uint32_t paging_buffer_bytes, paging_private_bytes;
    unsigned paging_segment;
};

/* Allocations of one call that are followed by their place in it. */
#define CHECK_MAX_ASKED 16

struct check_ledger {
    const struct base_services *services;
    ULONG interface_version;
    bool has_ddi[MINIPORT_DDI_COUNT]; /* the driver */
    struct check_caps caps;
    struct check_segment segments[CHECK_MAX_SEGMENTS];
    unsigned segment_count;

    struct check_tables tables;
    struct check_process *system_process;    /* NULL: none yet */
    struct id_map objects[CHECK_KIND_COUNT]; /* by the driver's handle */
    uint64_t created[CHECK_KIND_COUNT];      /* ever: the last number */
    uint64_t instances_created;
    bool is_whole;
    bool has_gpu;            /* the GPU tells its events */
    uint64_t hung_nodes;     /* that the bench made hang, and that were not reset since */
    bool is_pulled_out;      /* by surprise: the rest is torn down, and no rule is about that */
    uint64_t movement_epoch; /* of struct check_movement */

    uint64_t operation;     /* number of the paging operation that is being, or was, built */
    bool is_operation_open; /* its last part is not built yet */
    struct check_stream streams[CHECK_MAX_STREAMS];
    unsigned stream_count;
    uint64_t packets_submitted;
    uint64_t packets_handed; /* to the GPU, some of them more than once */
    struct id_map clients;   /* by the client's name: allocations and devices */
    /* Of the last CreateAllocation; NULL: a name has been told of it. */
    struct check_allocation *newest_allocations[CHECK_MAX_ASKED];
    unsigned newest_named; /* of them, or gone */
    struct check_device *newest_device;
    bool has_client; /* the client tells its events */
    bool is_next_primary;
    struct check_client_memory next_memory; /* of the next allocation that is created */
    bool is_gone;                           /* the adapter goes: says the client */
    bool is_asleep;                         /* or on the way there: says the client */
    void *asked[CHECK_MAX_ASKED];           /* OpenAllocation: answers of DxgkCbGetHandleData */
    struct id_map graves;                   /* handles of allocations that were destroyed */
    struct id_map context_allocations;      /* by the system's handles: the driver's */
    struct list packets;                    /* submitted, neither finished nor lost, oldest first */
    struct list works; /* of clients: queued and not ended (check_ledger_work.c) */
};

void check_ledger_init(struct check_ledger *ledger, const struct base_services *services);
void check_ledger_fini(struct check_ledger *ledger);

/* ---- Questions (check_find.c) ---- */

/* What the node runs: of what a GPU has that tells what it drops, the first; NULL: nothing. */
const struct check_packet *check_find_executing(const struct check_ledger *ledger, unsigned node);

/* NULL: there is none with that handle. */
struct check_object *check_find(const struct check_ledger *ledger, enum check_kind kind,
                                const void *handle);
struct check_allocation *check_find_allocation(const struct check_ledger *ledger,
                                               const void *handle);
/* The driver has contexts; else each device is entered as one, by its own handle, too (CTX-017). */
bool check_has_contexts(const struct check_ledger *ledger);
struct check_queue *check_find_queue(const struct check_ledger *ledger, const void *handle);
bool check_node_has_queue(const struct check_ledger *ledger, unsigned node);
struct check_context *check_find_context(const struct check_ledger *ledger, const void *handle);
struct check_process *check_find_process(const struct check_ledger *ledger, const void *handle);
struct check_device *check_find_device(const struct check_ledger *ledger, const void *handle);
/* NULL: id is 0 or not reported. */
const struct check_segment *check_find_segment(const struct check_ledger *ledger, unsigned id);
/* Neither an aperture nor AGP; false for a segment that is not there. */
bool check_is_memory_segment(const struct check_segment *segment);
bool check_is_memory(const struct check_ledger *ledger, unsigned id);
/* The driver's interface is of that version or later. */
bool check_is_version(const struct check_ledger *ledger, ULONG least);
/* The oldest live packet of the node with that SubmissionFenceId; NULL: none. */
struct check_packet *check_find_packet(const struct check_ledger *ledger, unsigned node,
                                       uint32_t fence);
/*
 * The packet that the GPU means by the fence. Of a hardware queue that is the low half of its
 * progress fence's value, which other queues and SubmissionFenceIds may have, too. A node runs them
 * in order, so it is the oldest one that the GPU has not ended (has not got, where it tells that
 * one arrives); the last one where there is none of these; NULL: none.
 */
struct check_packet *check_find_run(const struct check_ledger *ledger, unsigned node,
                                    uint32_t fence, bool is_arriving);
/* The allocation of an open handle of a device; NULL: not known, or gone. */
struct check_allocation *check_find_opened(const struct check_ledger *ledger, const void *handle);
/*
 * The allocation that an entry of an allocation list means. Of a renamed allocation it is the
 * instance at that place; where there is none, the instance whose place is not known; else the
 * instance in force. NULL: nobody could tell, as in an AGP segment, where no operation says a
 * place.
 */
struct check_allocation *check_find_listed(const struct check_ledger *ledger,
                                           const DXGK_ALLOCATIONLIST *entry);
/* The instance that has ended (CHECK_CLIENT_INSTANCE_ENDED); NULL: unknown. */
struct check_client_event;
struct check_allocation *check_find_ended(const struct check_ledger *ledger,
                                          const struct check_client_event *event);
/* How many instances of it exist. */
unsigned check_instance_count(const struct check_allocation *first);
/* By the client's names; NULL: it has told none. */
struct check_allocation *check_find_client_allocation(const struct check_ledger *ledger,
                                                      const void *name);
struct check_device *check_find_client_device(const struct check_ledger *ledger, const void *name);
/* The allocation of the piece; NULL: none that still exists. */
struct check_allocation *check_built_allocation(const struct check_ledger *ledger,
                                                const struct check_built *piece);
/*
 * The operation's effect on its allocation, and for IN and MOVE the destination. The entries of a
 * page table are told by the first of them.
 */
enum check_effect check_paging_effect(const struct check_ledger *ledger,
                                      const DXGKARG_BUILDPAGINGBUFFER *arg, unsigned *out_segment,
                                      uint64_t *out_address, uint64_t *out_size);
/* The oldest packet of clients that may use the allocation and has not finished; NULL: none. */
const struct check_packet *check_find_user(const struct check_ledger *ledger,
                                           const struct check_allocation *allocation);
/*
 * It is with the GPU, as far as that tells: what a driver lost, or has not told of, is the driver's
 * and not still under way.
 */
bool check_is_in_flight(const struct check_ledger *ledger, const struct check_packet *packet);
/* The oldest one; NULL: none. */
const struct check_packet *check_find_in_flight(const struct check_ledger *ledger);
/* a <= b for fences, which wrap. */
bool check_fence_reached(uint32_t fence, uint32_t reached);

/*
 * The last operation up to which all are with the driver when the paging packet, which is not
 * empty, is; and the last one up to which all have run when it has. Whatever the context.
 */
uint64_t check_packet_end(const struct check_ledger *ledger, const struct check_packet *packet);
uint64_t check_packet_last(const struct check_ledger *ledger, const struct check_packet *packet);

/* "allocation a3", "process p1": into out, which it gives back. */
const char *check_object_name(const struct check_object *object, char *out, size_t size);
/*
 * Remembers it in the object's history. The format is a literal; it has the segment, the segment
 * and the address in this order, or neither.
 */
void check_remember(struct check_object *object, uint64_t event, const char *format,
                    unsigned segment, uint64_t address);

/* The allocation's movements in the present epoch: of an earlier one they are forgotten. */
struct check_movement *check_movement_of(const struct check_ledger *ledger,
                                         struct check_allocation *allocation);
/* In pages, as the driver answered. */
uint64_t check_allocation_pages(const struct check_allocation *allocation);
/* Bytes that it takes in the segment: with PitchAlignment more than its own (XFER-018). */
uint64_t check_bytes_in(const struct check_ledger *ledger,
                        const struct check_allocation *allocation, unsigned segment_id);

/* ---- For check_layer.c: what a call that succeeded, or a callback, changes ---- */

struct check_call;
struct check_callback;

/* Before the watchers see that the call came back; false: no memory. */
bool check_ledger_enter(struct check_ledger *ledger, const struct check_call *call);
/*
 * A submission is entered before it goes down: the driver may report it finished from inside. NULL:
 * no memory.
 */
struct check_packet *check_ledger_submit(struct check_ledger *ledger,
                                         const struct check_call *call);
/* Before the watchers see it, and after. */
struct check_client_event;
bool check_ledger_client(struct check_ledger *ledger, const struct check_client_event *event);
/* DxgkCbGetHandleData, asked in the midst of a call. */
/* Context allocations come and go by callbacks. leave gives the driver's handle, or NULL. */
void check_ledger_enter_context_allocation(struct check_ledger *ledger,
                                           const DXGKARGCB_CREATECONTEXTALLOCATION *made);
HANDLE check_ledger_leave_context_allocation(struct check_ledger *ledger, HANDLE system_handle);
void check_ledger_handle_data(struct check_ledger *ledger, const struct check_callback *callback);
/*
 * The client's allocation is another instance now, whose handle is given; and after the watchers
 * saw its end.
 */
bool check_ledger_enter_instance(struct check_ledger *ledger, struct check_allocation *allocation,
                                 const struct check_client_event *event);
void check_ledger_leave_instance(struct check_ledger *ledger,
                                 const struct check_client_event *event);
/* A handle that the driver makes for a context's allocation may have been another one's before. */
void check_ledger_reuse_handle(struct check_ledger *ledger, const void *handle);
/* After the watchers have seen it. */
void check_ledger_leave(struct check_ledger *ledger, const struct check_call *call);

/* The driver refused the packet. */
void check_ledger_refuse(struct check_ledger *ledger, const DXGKARG_SUBMITCOMMANDVIRTUAL *arg);
/* The same of a hardware queue: it is not under way, and its fence says nothing of it. */
void check_ledger_refuse_queued(struct check_ledger *ledger,
                                const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg);
/* The context is suspended, or goes on; or nothing that was submitted of it comes to an end. */
void check_ledger_suspend(struct check_ledger *ledger, struct check_context *context);
void check_ledger_resume(struct check_ledger *ledger, struct check_context *context);
void check_ledger_lose_context(struct check_ledger *ledger, HANDLE context);
/* A hardware queue goes, and its handle may be another one's next. */
void check_ledger_forget_queue(struct check_ledger *ledger, HANDLE queue);
/*
 * What an interrupt of a node means: hands each packet that it finishes to retired, oldest first,
 * then forgets it.
 */
void check_ledger_interrupt(struct check_ledger *ledger,
                            const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                            void (*retired)(void *context, const struct check_packet *packet),
                            void *context);

/* ---- For check_ledger.c: built pieces, and packets (check_ledger_packet.c) ---- */

void check_ledger_build(struct check_ledger *ledger, const struct check_call *call);
/* A reset or a sleep: the pieces that are built may run or not. */
void check_ledger_lose_built(struct check_ledger *ledger);
void check_ledger_forget_built(struct check_ledger *ledger);
void check_ledger_forget_packets(struct check_ledger *ledger);
/* Packets that the engine did not reach are submitted again, paging packets with the fences they
 * had. */
void check_ledger_abort_packets(struct check_ledger *ledger, const DXGKARG_RESETENGINE *reset);

/* ---- For check_ledger_client.c: work of clients (check_ledger_work.c) ---- */

void check_ledger_queue_work(struct check_ledger *ledger, const struct check_client_event *event);
void check_ledger_end_work(struct check_ledger *ledger, const void *name);
void check_ledger_forget_work(struct check_ledger *ledger);

/* ---- For check_ledger*.c: the way of an operation (check_ledger_place.c) ---- */

void check_ledger_note_built(struct check_ledger *ledger, const struct check_call *call,
                             bool is_first, struct check_built *piece);
void check_ledger_note_submitted(struct check_ledger *ledger, struct check_built *piece);
/* It is done, or lost. */
void check_ledger_note_ended(struct check_ledger *ledger, const struct check_built *piece,
                             bool is_done);
void check_ledger_note_leaving(struct check_ledger *ledger, struct check_object *object);
/* Its content is out of memory, or in it; nobody knows; it is offered, or a reclaim pages it in. */
void check_ledger_set_out(struct check_ledger *ledger, struct check_allocation *allocation,
                          bool is_out);
void check_ledger_lose_history(struct check_allocation *allocation);
void check_ledger_set_offered(struct check_ledger *ledger, struct check_allocation *allocation,
                              bool is_offered, bool is_reclaiming);
/* A device that holds it may not run. */
bool check_is_missing(const struct check_allocation *allocation);
/* A reset: no place in a memory segment is known any more. */
void check_ledger_forget_places(struct check_ledger *ledger);
/* A reset: content in memory segments may be the old one, or not. */
void check_ledger_forget_content(struct check_ledger *ledger);

#endif
