/*
 * Scheduler internals: its objects, shared by vidsch.c (submission and completion) and recovery.c
 * (preemption, the watchdog, resets). The two files call each other: a completion may end a
 * preemption, and the end of a preemption submits again.
 *
 * Place      vidsch, included by its own files only.
 * Model      Packets of a context wait in its queue. The first one makes the context ready; a node
 *            takes from its ready contexts, paging before all others, in the order of submission.
 *            Packets that are with the driver are in node.submitted, in the order of fence ids.
 */
#ifndef VIDSCH_PRIVATE_H
#define VIDSCH_PRIVATE_H

#include "vidsch/vidsch.h"

#include "base/assert.h"
#include "base/bits.h"

#include <inttypes.h>

/* Wrong reports kept from interrupt time to the DPC. More are counted, not kept. */
#define ERROR_RING_COUNT 8

enum error_kind {
    ERROR_ID,        /* an id that the node may not report */
    ERROR_NODE,      /* a node that is not there */
    ERROR_PREEMPTED, /* a preemption that nobody asked for */
    ERROR_LAST,      /* a preemption whose last completed id cannot be */
    ERROR_FAULTED,   /* the reserved interrupt type */
    ERROR_FAULT_ID,  /* a page fault in a packet that is not under way */
    ERROR_FAULT_RING /* more page faults than packets */
};

struct report_error {
    enum error_kind kind;
    unsigned node;
    uint32_t id;
    uint32_t reported; /* of the node, when it was reported */
    uint32_t submitted;
};

struct node {
    struct list submitted; /* packets, in the order of their fence ids */
    struct list resubmit;  /* preempted paging packets, which go before anything else */
    struct list ready[2];  /* contexts that can submit: [0] paging, [1] the others */
    unsigned in_flight;    /* packets in submitted that the driver accepted */
    unsigned most_in_flight;
    unsigned queue_count;  /* contexts with a hardware queue */
    uint64_t progress;     /* the last id of a queue's packet; 0: there was none */
    uint32_t next_id;      /* of the next packet */
    bool is_off;           /* its engine has no power: nothing goes to the driver */
    bool has_wrapped;      /* or will soon: ids leap no further */
    uint32_t submitted_id; /* last one that went to SubmitCommand */
    uint32_t reported_id;  /* last one that an interrupt reported */
    uint32_t completed_id; /* reported_id as of the last DPC */
    uint32_t heard_id;     /* last one that the driver named; a reset counts more as reported
                              (TDR-006) */

    /* A preemption. From the request to the end of its DPC nothing is submitted to the node. */
    uint32_t preemption_id; /* of the last request */
    bool is_preempting;
    bool is_answered;  /* an interrupt said that it is done ... */
    bool is_preempted; /* ... and a DPC came after it */

    /* The watchdog. */
    uint64_t watched;  /* serial number of the packet that is with the GPU, 0: none */
    uint64_t since_ns; /* seen there at this time first, or the preemption was requested then */
    uint64_t watched_suspension;  /* number of the oldest that is not acknowledged, 0: none */
    uint64_t suspension_since_ns; /* seen at this time first */
    struct {
        DXGKARGCB_NOTIFY_INTERRUPT_DATA *data; /* ring of hardware_queue_depth */
        unsigned first;
        unsigned count;
    } faults;
    bool has_list; /* the engine was switched to these contexts, of which each may be NULL */
    const struct vidsch_context *list[2];
    bool goes_on;        /* the node goes on behind a packet that faulted, without a reset ... */
    uint32_t faulted_id; /* ... of this id, which retires as faulted when it is its turn */
};

struct vidsch {
    const struct base_services *services;
    struct miniport *miniport;
    const struct vidsch_events *events;
    struct vidsch_config config;
    struct node *nodes;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA *faults; /* behind all nodes' rings */
    struct list contexts;
    struct list aborted; /* packets that vidsch_abort() is retiring */
    uint64_t last_sequence;
    uint64_t last_serial;     /* of submissions to the driver, resubmissions included */
    uint64_t last_suspension; /* of any context */
    uint64_t outstanding;     /* packets submitted and not retired */

    struct report_error errors[ERROR_RING_COUNT];
    unsigned error_count;
    unsigned lost_error_count;

    bool has_invalid; /* contexts that may have packets with the driver */
    bool is_dpc_pending;
    bool is_running;
    bool run_again;
    bool is_submitting; /* inside prepare() or submit() */
    enum vidsch_gate gate;
};

enum suspension { RESUMED, SUSPENDING, SUSPENDED }; /* suspension.c */

struct vidsch_context {
    struct vidsch *vidsch;
    unsigned node;
    bool is_paging;
    struct list link;  /* in vidsch->contexts */
    struct list ready; /* in the node's ready list */
    struct list queue; /* packets that are not submitted yet */
    uint64_t submitted_sequence;
    uint64_t retired_sequence;
    uint64_t outstanding;
    unsigned holds;                    /* see vidsch_context_hold() */
    const volatile uint64_t *progress; /* of its hardware queue; NULL: it has none */
    uint64_t reached;                  /* ... as it was looked at last */
    bool has_left;                     /* it had one, and is held until it has another one */
    /*
     * The first context of those whose queues are of one context of the driver's: itself, or
     * another one. What follows is the driver's context's, and the first one has it.
     */
    struct vidsch_context *first;
    HANDLE driver_handle, system_handle;
    enum suspension suspension;
    uint64_t suspend_fence;  /* of the last suspension, */
    uint64_t suspend_number; /* which is this one of all contexts */
    bool is_invalid;         /* nothing of it goes to the driver any more */
};

/* True when id a comes after id b, across the wrap. */
static inline bool is_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

static inline struct vidsch_packet *first_packet(const struct list *head)
{
    struct list *node = list_first(head);

    return node ? list_entry(node, struct vidsch_packet, node) : NULL;
}

static inline void vidsch_tell(const struct vidsch *vidsch, enum vidsch_step step,
                               const struct vidsch_packet *packet, NTSTATUS status)
{
    unsigned node = packet->context->node;

    if (vidsch->events->told)
        vidsch->events->told(vidsch->events->context,
                             &(struct vidsch_told){.step = step,
                                                   .packet = packet,
                                                   .node = node,
                                                   .in_flight = vidsch->nodes[node].in_flight,
                                                   .status = status});
}

/* ---- vidsch.c ---- */

/* Submits and retires as long as it can; safe from any callback. */
void vidsch_run(struct vidsch *vidsch);

/* Puts a context with a new head packet into the ready list, or has it wait for its fence. */
void vidsch_place_context(struct vidsch_context *context);

/*
 * Moves the packets that the context has queued to their places in taken, which is in the order of
 * submission.
 */
void vidsch_take_queue(struct vidsch_context *context, struct list *taken);

/* The packet leaves; neither it nor its context is touched after its function was called. */
void vidsch_retire(struct vidsch *vidsch, struct vidsch_packet *packet, NTSTATUS status);

/* The packet of that id that the driver took, and that has not retired; NULL: there is none. */
struct vidsch_packet *vidsch_find_submitted(const struct node *node, uint32_t id);

/* How far the hardware queues of the node are now. True: further than when it was asked last. */
bool vidsch_look_at_queues(struct vidsch *vidsch, unsigned node);

/* Retires the packets up to the node's completed_id, and those that its queues have ended. */
void vidsch_retire_completed(struct vidsch *vidsch, struct node *node);

/* ---- suspension.c ---- */

/* Its work is kept back from now on, by one reason more. */
void vidsch_keep_off(struct vidsch_context *context);
/* It is not suspended any more, whatever keeps its work back. */
void vidsch_resume(struct vidsch_context *context);
/* Nothing is done while there is a reason left. */
void vidsch_let_on(struct vidsch_context *context);
void vidsch_keep_all_off(struct vidsch *vidsch);
void vidsch_let_all_on(struct vidsch *vidsch);
/* SUSPEND_CONTEXT_COMPLETED, at device IRQL. */
void vidsch_note_suspension(struct vidsch *vidsch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
/* A reset has taken all from the GPU. is_over: so has the end of the adapter, for good. */
void vidsch_end_suspensions(struct vidsch *vidsch, bool is_over);
/* A suspension of a context of the node is not acknowledged. */
/* The number of the oldest suspension of the node that is not acknowledged; 0: none. */
uint64_t vidsch_oldest_suspension(const struct vidsch *vidsch, unsigned node);

/* ---- context_list.c ---- */

/* Switches the engine to the contexts that it is to run, when they have changed. */
void vidsch_switch_contexts(struct vidsch *vidsch, unsigned node);

/* ---- recovery.c ---- */

/* Retires the packet that faulted on a node that goes on by itself, if there is one. */
void vidsch_end_fault(struct vidsch *vidsch, struct node *node);

/* The preemption is over: packets that did not run go back to where they came from. */
void vidsch_end_preemption(struct vidsch *vidsch, struct node *node);

#endif
