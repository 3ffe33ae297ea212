/*
 * Hardware queues: a context's work goes straight to a queue that the GPU sees.
 *
 * Place      vidmm. client.c makes and ends them with their contexts; submission.c submits.
 * Model      A context has a queue where the system has enabled hardware scheduling
 *            (vidmm_config.hardware_queues) and the metadata of its node say
 *            ContextSchedulingSupported and RingBufferFenceRelease. Its end is told by a progress
 *            fence: 8 bytes of a system page that each process with queues has, which the kernel
 *            sees by a CPU address and the GPU at an address of the process. The page is mapped
 *            once, by its number, in a leaf table's worth of addresses.
 *            Until the mapping is there, contexts with queues are held.
 * Several    A context may share another one's context of the driver (vidmm_hw_context_share()): it
 *            has a queue and a fence of its own. The root page table, priorities, suspension and
 *            resets are the driver's context's.
 * Priorities A driver that has the functions is told of the priority bands when the adapter starts,
 *            and of the band of each context with a queue before its first submission.
 * Logs       scheduling_log.h.
 * Suspension The scheduler's (vidsch_config.suspends): what it keeps back of a context with a queue
 *            does not run, and what the driver has of it may be moved.
 * Limits     Not played: nodes without RingBufferFenceRelease, whose fences user mode signals in
 *            its commands (their contexts have no queue); drawing for the kernel on a context with
 *            a queue (STATUS_NOT_SUPPORTED). NullRendering submits no bytes.
 * Errors     NTSTATUS; on failure nothing has changed, but that the process may keep its page, its
 *            addresses and a mapping that is under way.
 * Source     contract.md HWQ-001..HWQ-023.
 */
#ifndef VIDMM_HW_QUEUE_H
#define VIDMM_HW_QUEUE_H

#include "vidmm/vidmm.h"

#include "vidsch/vidsch.h"

struct submission;
struct vidmm_context;
struct vidmm_process;

#define QUEUE_FENCES 512 /* in a page */

/* Of a process. */
struct queue_fences {
    uint64_t first_page; /* 0: the process has had no queue so far */
    volatile uint64_t *cpu;
    uint64_t va;
    bool is_mapped, is_being_mapped;
    uint64_t taken[QUEUE_FENCES / 64];
};

/* Of a context. */
struct hw_queue {
    volatile uint64_t *progress; /* of its fence; NULL: the context has no queue */
    uint64_t progress_va;
    D3DKMT_HANDLE fence;
    HANDLE driver_queue;
    bool is_held;       /* the context is, until the page of the fence is mapped */
    unsigned number;    /* of all queues, in the order in which they were made */
    uint64_t submitted; /* to it */
};

/*
 * Asks for the metadata of the nodes, where the system enables queues. A driver that says that it
 * has queues and lacks functions for them is not started (HWQ-014).
 */
NTSTATUS hw_queues_init(struct vidmm *vidmm, struct vidmm_failure *failure);
/* What the scheduler is to be told of the configuration. */
void hw_queues_configure(const struct vidmm *vidmm, struct vidsch_config *scheduler);
/* A client's contexts of the node are to have one. */
bool hw_queues_are_on(const struct vidmm *vidmm, unsigned node);
/* The driver has made the context. The driver may change private_data. */
NTSTATUS hw_queue_create(struct vidmm_context *context, D3DDDI_CREATEHWQUEUEFLAGS flags,
                         void *private_data, uint32_t private_data_bytes);
/*
 * Before each submission, of any context. A page of fences whose mapping has failed is mapped again
 * and the context held until then. Errors: those of vidmm_map_physical() and of the device;
 * STATUS_INVALID_PARAMETER: the client is to make the queue, and there is none.
 */
NTSTATUS hw_queue_ready(struct vidmm_context *context);
/* The context's work is lost, and its device has failed (HWQ-019). */
void hw_queue_invalidate(struct vidmm_context *context);
/* Of any context; before the driver's context goes (HWQ-011). Then it may have another one. */
void hw_queue_destroy(struct vidmm_context *context);
/*
 * Of struct vidsch_packet_ops: DxgkDdiSubmitCommandToHwQueue, for the packet of a submission. The
 * client's data are freed behind the call (HWQ-013).
 */
NTSTATUS hw_queue_submit(struct vidsch_packet *packet, struct miniport *miniport);
void queue_fences_free(struct vidmm_process *process);

#endif
