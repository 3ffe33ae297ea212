/*
 * vidsch: the GPU scheduler. Contexts, nodes, in-order packets, fence ids, completions.
 *
 * Place      libvidmm. Uses base and miniport; used by vidmm (paging packets) and through it by
 *            clients (render packets). Knows nothing of memory.
 * Model      A node is one engine of the adapter; it runs packets in the order of their fence
 *            ids. A context is a queue of packets for one node. A packet waits at the head of its
 *            context until the fence that it waits for has its value and the node's hardware queue
 *            has room; then it is prepared (Patch), gets the next fence id of the node, and goes
 *            to the driver. Contexts of a node take turns; paging contexts go first.
 *            The driver reports fence ids from its interrupt routine (notify_interrupt) and the
 *            packets retire when its DPC calls notify_dpc: in order, each exactly once.
 * Queues     A context may have a hardware queue (vidsch_context_set_queue()): its packets go to
 *            that, up to the node's limit, and each is complete when the queue's progress fence, a
 *            value in memory, has the packet's id. They complete in their order within the queue,
 *            and in any order beside those of other queues, be these of the same context of the
 *            driver's (vidsch_context_share()) or of others. Ids of all queues of a node are
 *            different; the low half of one is the node's fence id. A node with queues is not
 *            preempted. A reset of its engine costs contexts, not packets. What keeps work of a
 *            context with a queue back may suspend the context (vidsch_config.suspends).
 * Preemption A node can be told to let go of unfinished packets (vidsch_preempt()). Packets that
 *            have not run come back: paging packets with the fence ids they had, in order and
 *            before anything else, others to the head of their context, with new ids.
 * Watchdog   The owner tells the time (vidsch_watch()). A packet that stays with the GPU for longer
 *            than the time-out is asked about (a completion may have got lost), then preempted;
 *            when that is not answered in time either, events->timed_out is told, and the owner
 *            resets an engine (vidsch_reset_engine()) or the adapter (vidsch_reset_adapter()).
 * Ownership  A packet is memory of its submitter, lent to vidsch from vidsch_submit() until its
 *            retired function is called, which may free it. Contexts are destroyed empty.
 *            Callbacks may call back in: a retired function may submit, signal, abort, and destroy
 *            its context; prepare and submit may take interrupts and DPCs, but may not abort.
 * Errors     NTSTATUS. SubmitCommand and Patch may not fail, SubmitCommandVirtual only with
 *            STATUS_INVALID_PARAMETER and not for paging; if the driver fails one otherwise, or
 *            reports a fence that it was not given, vidsch tells events->driver_error. It stays in
 *            a defined state: the packet retires in its turn with the driver's status.
 * Source     contract.md PATCH-001..010, SUB-001..014, FENCE-001..009, TDR-005..013; sequences
 *            S-17, S-22, S-23.
 */
#ifndef VIDSCH_VIDSCH_H
#define VIDSCH_VIDSCH_H

#include "base/list.h"
#include "base/services.h"
#include "miniport/miniport.h"

struct vidsch;
struct vidsch_context;

/* A value that only grows, and the packets that wait for it (a monitored fence of the OS). */
struct vidsch_fence {
    uint64_t value;      /* reached */
    struct list waiters; /* packets at the head of a context */
};
void vidsch_fence_init(struct vidsch_fence *fence);

struct vidsch_packet;
struct vidsch_packet_ops {
    /*
     * Just before submission: make the buffer final (call Patch). packet->fence_id is set. Not
     * called for kinds that need no preparation (NULL).
     */
    NTSTATUS (*prepare)(struct vidsch_packet *packet, struct miniport *miniport);
    /* Calls SubmitCommand or SubmitCommandVirtual. */
    NTSTATUS (*submit)(struct vidsch_packet *packet, struct miniport *miniport);
    /* The packet has run, or failed with status. vidsch does not touch it any more. */
    void (*retired)(struct vidsch_packet *packet, NTSTATUS status);
    unsigned kind; /* the submitter's: which of its packets these are */
};

struct vidsch_packet {
    const struct vidsch_packet_ops *ops;
    struct vidsch_fence *wait_fence; /* NULL: none */
    uint64_t wait_value;
    bool is_paging;
    bool is_virtual; /* goes by SubmitCommandVirtual, which may refuse what is not paging (SUB-011)
                      */

    /* Set by vidsch. */
    struct vidsch_context *context;
    struct list node;     /* in the context's queue, then in the node's submitted list */
    struct list waiter;   /* in wait_fence->waiters */
    uint32_t fence_id;    /* SubmissionFenceId, from submission on */
    uint64_t progress_id; /* HwQueueProgressFenceId; 0: it goes to no hardware queue */
    uint64_t sequence;    /* order of vidsch_submit() over the whole adapter, from 1 */
    uint64_t serial;      /* order of submission to the driver; changes when it comes back */
    bool is_resubmission; /* on its way again after a preemption (SUB-008) */
    bool is_cancelled;    /* it retires in its turn without having gone to the driver */
    bool is_with_driver;  /* the driver has accepted it; also while it is told that it leaves */
    bool has_failed;      /* the driver refused it; it retires in its turn with failure */
    NTSTATUS failure;
};

/* What becomes of a packet. */
enum vidsch_step {
    VIDSCH_QUEUED,
    VIDSCH_SUBMITTED, /* it goes to the driver */
    VIDSCH_CAME_BACK, /* the driver was told to let go of it: it will be submitted again */
    VIDSCH_RETIRED,   /* with the status; its retired function is called next */
};

struct vidsch_told {
    enum vidsch_step step;
    const struct vidsch_packet *packet;
    unsigned node;
    unsigned in_flight; /* packets that the driver has of the node, with this one */
    NTSTATUS status;    /* RETIRED */
};

struct vidsch_events {
    void *context;
    /* A broken contract of the driver; text names the rule. */
    void (*driver_error)(void *context, const char *rule, const char *text);
    /*
     * The GPU faulted in a packet of this node (DMA_PAGE_FAULTED); data is the driver's report.
     * Packets in front of it are complete. The packet itself, lent for the call, is still with the
     * driver: where the report asks for a reset (vidsch_fault_needs_reset()), the owner makes one
     * when the call has returned; elsewhere the packet retires by itself. NULL: the driver does not
     * know it.
     */
    void (*page_fault)(void *context, unsigned node, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                       const struct vidsch_packet *packet);
    /*
     * The node answers neither its packet nor a preemption. Out of vidsch_watch(). False: nothing
     * can be done now; the next vidsch_watch() asks again.
     */
    bool (*timed_out)(void *context, unsigned node);
    /* Hears of each step of each packet; NULL: nobody asks. Nothing may be called from here. */
    void (*told)(void *context, const struct vidsch_told *told);
};

/* The node has stopped: its engine, or the adapter, must be reset. */
static inline bool vidsch_fault_needs_reset(const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    return data->DmaPageFaulted.PageFaultFlags &
           (DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED | DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED |
            DXGK_PAGE_FAULT_FENCE_INVALID);
}

/* Which contexts with hardware queues are suspended when their work is kept back. */
enum vidsch_suspends {
    VIDSCH_SUSPENDS_NONE, /* their work ends */
    VIDSCH_SUSPENDS_BUSY, /* those of which the driver has work */
    VIDSCH_SUSPENDS_ALL,  /* all, once more for each reason, and those that are about to go */
};

/* To which contexts with hardware queues engines are switched. */
enum vidsch_lists {
    VIDSCH_LISTS_NONE,   /* they choose by themselves */
    VIDSCH_LISTS_OLDEST, /* those whose packets the driver has had for longest */
    VIDSCH_LISTS_NEWEST, /* the last ones: what runs is interrupted */
};

#define VIDSCH_DEFAULT_TIMEOUT_NS UINT64_C(2000000000) /* TDR-012 */

struct vidsch_config {
    unsigned node_count;
    unsigned hardware_queue_depth; /* packets with the driver at once, a node; at least 1 */
    uint32_t first_fence_id; /* of every node; 0 stands for 1. Another value tests the wrap. */
    uint32_t
        ids_before_wrap; /* ids leap, while a node is idle, to so many before the wrap; 0: no */
    uint64_t timeout_ns; /* of a packet, a preemption or a suspension; 0:
                            VIDSCH_DEFAULT_TIMEOUT_NS */
    enum vidsch_suspends suspends; /* a driver without the functions, and it is none */
    enum vidsch_lists lists;       /* the same */
};

/* Gives the scheduler. Services, miniport and events are borrowed for its life. */
NTSTATUS vidsch_create(const struct base_services *services, struct miniport *miniport,
                       const struct vidsch_config *config, const struct vidsch_events *events,
                       struct vidsch **out_vidsch);
void vidsch_destroy(struct vidsch *vidsch);

/* Gives a context on a node. STATUS_INVALID_PARAMETER: no such node. */
NTSTATUS vidsch_context_create(struct vidsch *vidsch, unsigned node, bool is_paging,
                               struct vidsch_context **out_context);
/* The context is idle. */
void vidsch_context_destroy(struct vidsch_context *context);
bool vidsch_context_is_idle(const struct vidsch_context *context);

/*
 * From now on the packets of the idle context, which has no queue, go to its hardware queue, and
 * the value at progress, which only rises, tells how far that is. It is looked at in each DPC of
 * the driver and by the watchdog, until the queue has left or the context is destroyed. A context
 * whose queue has left goes on.
 */
void vidsch_context_set_queue(struct vidsch_context *context, const volatile uint64_t *progress);
/*
 * The new context, which has no queue yet, is for one more queue of the driver's context that first
 * is for: they are suspended, listed and invalid together, and each has an order of its own. The
 * first one goes last.
 */
void vidsch_context_share(struct vidsch_context *context, struct vidsch_context *first);
/* The driver's name for the context, by which it is suspended, and the system's. */
void vidsch_context_set_handles(struct vidsch_context *context, HANDLE drivers, HANDLE systems);
/*
 * The idle context's queue is about to go: its engine is switched to others, and it is suspended,
 * where the configuration says so. It stays held.
 */
void vidsch_context_leave(struct vidsch_context *context);
/* ... and has gone: nobody looks at its progress any more. */
void vidsch_context_left(struct vidsch_context *context);
/*
 * A reset of its engine has hit the context: what the driver has of it retires with
 * STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE, and so does in its turn what is queued, then and later.
 */
void vidsch_context_invalidate(struct vidsch_context *context);
bool vidsch_context_is_invalid(const struct vidsch_context *context);
/* Of any context of the node. */
bool vidsch_has_queues(const struct vidsch *vidsch, unsigned node);
/* At most so many packets are with the driver at once; more than hardware_queue_depth change
 * nothing. */
void vidsch_limit_node(struct vidsch *vidsch, unsigned node, unsigned most_in_flight);

/* While the engine of the node has no power, its packets wait in their contexts. */
void vidsch_power_node(struct vidsch *vidsch, unsigned node, bool is_on);
/* The driver has packets of the node or is letting go of some, or there are some that could go. */
bool vidsch_node_has_work(const struct vidsch *vidsch, unsigned node);

/*
 * A held context gives nothing more to the driver; holds are counted. It is quiet once all that the
 * driver had of it has retired, or when it is suspended: the GPU does not touch what is of it.
 */
void vidsch_context_hold(struct vidsch_context *context);
void vidsch_context_release(struct vidsch_context *context);
bool vidsch_context_is_quiet(const struct vidsch_context *context);

/* Queues a packet; it may go to the driver before this returns. */
void vidsch_submit(struct vidsch_context *context, struct vidsch_packet *packet);

/* Sequence number of the last packet submitted to, and of the last one retired by, the context. */
uint64_t vidsch_context_submitted(const struct vidsch_context *context);
uint64_t vidsch_context_retired(const struct vidsch_context *context);

/* Sets the fence to value (never lower than it is) and lets waiting packets go. */
void vidsch_fence_signal(struct vidsch *vidsch, struct vidsch_fence *fence, uint64_t value);

/* From the driver's DxgkCbNotifyInterrupt, at device IRQL: only records. */
void vidsch_notify_interrupt(struct vidsch *vidsch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
/* From the driver's DxgkCbNotifyDpc: retires reported packets, submits all that can go. */
void vidsch_notify_dpc(struct vidsch *vidsch);

/* No packet queued or submitted anywhere. */
bool vidsch_is_idle(const struct vidsch *vidsch);

/*
 * Drops every packet that is queued or submitted: each retires with status, in order. Ids that
 * were submitted count as reported (TDR-006). What a retired function submits is new and goes
 * afterwards; an abort from a retired function ends the one around it with its own status.
 */
void vidsch_abort(struct vidsch *vidsch, NTSTATUS status);

/*
 * The packet, which is queued, retires with status when its turn comes, without going to the
 * driver. Nothing happens to one that is with the driver.
 */
void vidsch_cancel(struct vidsch_packet *packet, NTSTATUS status);

/* ---- Preemption, time-outs, resets (recovery.c) ---------------------------------------------- */

/* Which packets may go to the driver. */
enum vidsch_gate { VIDSCH_OPEN, VIDSCH_PAGING_ONLY, VIDSCH_CLOSED };
void vidsch_set_gate(struct vidsch *vidsch, enum vidsch_gate gate);

/* No packet is with the driver but of suspended contexts, none is on its way back from it. */
bool vidsch_is_drained(const struct vidsch *vidsch);

/*
 * Asks the driver to preempt the node; packets that did not run come back by themselves. False: the
 * driver has no DxgkDdiPreemptCommand, or refused, or a preemption is under way already.
 */
bool vidsch_preempt(struct vidsch *vidsch, unsigned node);

/*
 * Asks the driver for the last completed fence of the node, as the watchdog does (FENCE-006). Not
 * from inside a callback.
 */
void vidsch_query_fence(struct vidsch *vidsch, unsigned node);

/* The last fence ids that the driver was given for the node, and that it has completed there. */
void vidsch_node_fences(const struct vidsch *vidsch, unsigned node, ULONGLONG *out_submitted,
                        ULONGLONG *out_completed);

/*
 * For what of the driver's the scheduler waits, as a sentence in text, and the rule by which the
 * driver owes it. NULL, and text as it was: nothing is with the driver.
 */
const char *vidsch_explain_wait(const struct vidsch *vidsch, char *text, size_t size);

/* The time has come to look at packets that do not end. Not from inside a callback. */
void vidsch_watch(struct vidsch *vidsch, uint64_t now_ns);

/*
 * Resets one engine. What ran on it retires with status, what stood behind comes back as after a
 * preemption. *out_hit_paging: a paging packet was among what ran, so that an adapter-wide reset
 * must follow (TDR-009); until then nothing is submitted. A failure, or an id that cannot be
 * (TDR-007), leaves all as it was: STATUS_NOT_SUPPORTED of an engine with hardware queues.
 */
NTSTATUS vidsch_reset_engine(struct vidsch *vidsch, unsigned node, NTSTATUS status,
                             bool *out_hit_paging);

/*
 * Resets an engine with hardware queues (hw_engine.c): DxgkDdiResetHwEngine, in which the driver
 * names the contexts that are invalid from then on, and DxgkDdiResumeHwEngine. What it has of other
 * contexts stays with it. STATUS_NOT_SUPPORTED: it lacks a function, or packets without a queue are
 * with it, too. After any failure the adapter is to be reset.
 */
NTSTATUS vidsch_reset_hw_engine(struct vidsch *vidsch, unsigned node);

/*
 * The adapter has been reset (DxgkDdiResetFromTimeout has returned): everything that was with the
 * driver retires with status and counts as completed (TDR-006), then paging packets that are
 * queued; others that are queued stay. The gate is closed, before and after.
 */
void vidsch_reset_adapter(struct vidsch *vidsch, NTSTATUS status);

/* Invariant walk. */
void vidsch_check(const struct vidsch *vidsch);

#endif
