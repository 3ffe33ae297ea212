/*
 * Paging queue: jobs into operations, operations into buffers, buffers to the GPU.
 *
 * One buffer is current. Operations are built into it one behind the other; when no
 * further one can be built now, they are submitted, and building goes on behind it in the same
 * buffer until the driver says INSUFFICIENT. Then the next buffer that has no submission in flight
 * becomes current, always starting on a page. A job ends in the submission that holds its last
 * operation, or, when that is empty, in the one before; where it owes a clean-up of scratch, in
 * that with the clean-up (struct scratch_debt).
 *
 * Operations for a companion context are in buffers of their own and runs on another node. It is
 * built in its turn like everything else, whatever is still with the GPU; its submission waits, in
 * the scheduler, until the one in front of it has retired, and so does the first one behind it. So
 * submissions run in the order of the queue on whatever nodes they are.
 *
 * Source     contract.md PB-001..031, XFER-011/012, DISC-004/005, PATCH-009; sequences S-09, S-10.
 */
#include "vidmm/paging/paging_queue.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/power.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/views/aperture.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/paging/job.h"
#include "vidmm/paging/paging_aperture.h"
#include "vidmm/work/companion.h"
#include "vidmm/work/idle_updates.h"
#include "vidmm/work/null_context.h"
#include "vidmm/tables/paging_process.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/device.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"
#include "miniport/operation.h"
#include "vidsch/vidsch.h"

#include <string.h>

static const struct vidsch_packet_ops paging_packet_ops;

static struct paging_buffer *current_buffer(struct paging_queue *queue)
{
    return &queue->buffers[queue->current];
}

NTSTATUS paging_queue_create_context(void *opaque)
{
    struct vidmm *vidmm = opaque;
    struct paging_queue *queue = &vidmm->queue;
    DXGKARG_CREATEDEVICE device = {0};
    DXGKARG_CREATECONTEXT context = {0};
    DXGK_DEVICEINFO info = {0};
    NTSTATUS status;

    if (vidmm->caps.is_virtual) {
        DXGKARG_CREATEPROCESS process = {0};

        process.hDxgkProcess = PAGING_PROCESS_HANDLE;
        process.Flags.SystemProcess = 1;
        vidmm->process_in_creation = process.hDxgkProcess;
        status = miniport_create_process(vidmm->miniport, NULL, &process);
        vidmm->process_in_creation = NULL;
        if (!NT_SUCCESS(status))
            return status;
        queue->driver_process = process.hKmdProcess;
        device.hKmdProcess = process.hKmdProcess;
    }

    if (vidmm->caps.has_contexts)
        device.Flags.SystemDevice = 1;
    else
        device.pInfo = &info; /* of no interest: paging buffers are as PagingBufferSize says */
    device.hDevice = (HANDLE)(uintptr_t)1;
    status = miniport_create_device(vidmm->miniport, NULL, &device);
    if (!NT_SUCCESS(status))
        return status;
    queue->driver_device = device.hDevice;
    if (vidmm->config.starts_as_observed) { /* nothing is ever done with the second one */
        device.hDevice = (HANDLE)(uintptr_t)2;
        status = miniport_create_device(vidmm->miniport, NULL, &device);
        if (!NT_SUCCESS(status))
            return status;
        queue->spare_device = device.hDevice;
    }
    if (!vidmm->caps.has_contexts)
        return STATUS_SUCCESS;

    context.hContext = (HANDLE)(uintptr_t)1;
    context.NodeOrdinal = vidmm->caps.paging_node;
    context.EngineAffinity = 1;
    context.Flags.SystemContext = 1;
    if (vidmm->caps.has_page_tables)
        context.Flags.VirtualAddressing = 1;
    status = miniport_create_context(vidmm->miniport, queue->driver_device, &context);
    if (!NT_SUCCESS(status))
        return status;
    queue->driver_context = context.hContext;
    return STATUS_SUCCESS;
}

bool paging_queue_hides_buffers(const struct vidmm *vidmm)
{
    return vidmm->config.hides_buffer_address && vidmm->caps.has_page_tables &&
           !vidmm->caps.paging_buffer_segment && !vidmm->config.platform.device_page;
}

static void destroy_system_context(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;

    if (queue->context)
        vidsch_context_destroy(queue->context);
    if (queue->driver_context)
        miniport_destroy_context(vidmm->miniport, queue->driver_context);
    if (queue->spare_device)
        miniport_destroy_device(vidmm->miniport, queue->spare_device);
    if (queue->driver_device)
        miniport_destroy_device(vidmm->miniport, queue->driver_device);
    if (queue->driver_process)
        miniport_destroy_process(vidmm->miniport, queue->driver_process);
    queue->context = NULL;
    queue->driver_context = queue->driver_device = queue->driver_process = NULL;
    queue->spare_device = NULL;
}

static NTSTATUS create_buffer(struct vidmm *vidmm, struct paging_buffer *buffer)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    uint64_t page_count = div_round_up(vidmm->caps.paging_buffer_bytes, PAGE_BYTES);
    NTSTATUS status;

    buffer->bytes = vidmm->caps.paging_buffer_bytes;
    if (vidmm->config.paging_buffer_bytes && vidmm->config.paging_buffer_bytes < buffer->bytes)
        buffer->bytes = vidmm->config.paging_buffer_bytes;
    buffer->private_bytes = vidmm->caps.paging_private_bytes;

    status = platform->take_contiguous(platform->context, page_count, &buffer->first_page);
    if (!NT_SUCCESS(status)) {
        buffer->first_page = 0;
        return status;
    }
    buffer->cpu = platform->map_bus(platform->context, PAGE_BYTES_OF(buffer->first_page),
                                    PAGE_BYTES_OF(page_count));
    if (!buffer->cpu)
        return STATUS_NO_MEMORY;
    if (buffer->private_bytes) {
        buffer->private_data = base_alloc(vidmm->services, buffer->private_bytes);
        if (!buffer->private_data)
            return STATUS_NO_MEMORY;
    }
    return paging_aperture_take(vidmm, buffer);
}

static void destroy_buffer(struct vidmm *vidmm, struct paging_buffer *buffer)
{
    const struct vidmm_platform *platform = &vidmm->config.platform;
    uint64_t page_count = div_round_up(vidmm->caps.paging_buffer_bytes, PAGE_BYTES);

    paging_aperture_release(vidmm, buffer);
    base_free(vidmm->services, buffer->private_data, buffer->private_bytes);
    if (buffer->cpu)
        platform->unmap_bus(platform->context, buffer->cpu, PAGE_BYTES_OF(page_count));
    if (buffer->first_page)
        platform->release_contiguous(platform->context, page_count, buffer->first_page);
}

NTSTATUS paging_queue_init(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    NTSTATUS status;
    unsigned i;

    list_init(&queue->jobs);
    list_init(&queue->ended);
    list_init(&queue->debt.jobs);
    list_init(&queue->in_flight);
    list_init(&queue->idle);
    vidsch_fence_init(&queue->retired);
    for (i = 0; i < PAGING_SUBMISSIONS; i++) {
        struct paging_submission *submission = &queue->submissions[i];

        submission->vidmm = vidmm;
        submission->packet.ops = &paging_packet_ops;
        submission->packet.is_paging = true;
        submission->packet.is_virtual = vidmm->caps.has_page_tables;
        list_init(&submission->jobs);
        list_push_back(&queue->idle, &submission->in_flight);
    }
    queue->node = vidmm->caps.paging_node;
    queue->buffers = base_alloc_array(vidmm->services, vidmm->config.paging_buffer_count,
                                      sizeof *queue->buffers);
    if (!queue->buffers)
        return STATUS_NO_MEMORY;
    queue->buffer_count = vidmm->config.paging_buffer_count;
    for (i = 0; i < queue->buffer_count; i++) {
        status = create_buffer(vidmm, &queue->buffers[i]);
        if (!NT_SUCCESS(status))
            return status;
    }
    if (!queue->driver_device) {
        status = paging_queue_create_context(vidmm);
        if (!NT_SUCCESS(status))
            return status;
    }
    return vidsch_context_create(vidmm->vidsch, queue->node, true, &queue->context);
}

void paging_queue_fini(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    unsigned i;

    paging_aperture_unmap(vidmm);
    destroy_system_context(vidmm);
    for (i = 0; i < queue->buffer_count; i++)
        destroy_buffer(vidmm, &queue->buffers[i]);
    base_free_array(vidmm->services, queue->buffers, queue->buffer_count, sizeof *queue->buffers);
    memset(queue, 0, sizeof *queue);
}

void paging_queue_add(struct vidmm *vidmm, struct job *job)
{
    job->phase = 0;
    job->cursor = 0;
    job_hurry(job);
    list_push_back(&vidmm->queue.jobs, &job->link);
    if (notes_are_heard(vidmm))
        note_job(vidmm, job);
    vidmm->pump_again = true;
}

/* Behind the NotifyEviction of tables for a sleep nothing is written to them (PT-037). */
static bool waits_for_wake(const struct vidmm *vidmm, const struct job *job)
{
    return vidmm->power.state == POWER_TABLES && job->ops->kind != JOB_OF_RECOVERY;
}

bool paging_queue_may_sleep(const struct vidmm *vidmm)
{
    const struct paging_queue *queue = &vidmm->queue;
    const struct job *job;

    list_for_each (job, &queue->jobs, struct job, link) {
        if (!waits_for_wake(vidmm, job))
            return false;
    }
    return !queue->buffers || (list_is_empty(&queue->ended) && !queue->debt.va &&
                               list_is_empty(&queue->in_flight) && !queue->has_operation);
}

bool paging_queue_is_idle(const struct vidmm *vidmm)
{
    return !vidmm->queue.buffers ||
           (list_is_empty(&vidmm->queue.jobs) && paging_queue_may_sleep(vidmm));
}

bool paging_queue_is_drained(const struct vidmm *vidmm)
{
    const struct paging_queue *queue = &vidmm->queue;
    const struct paging_buffer *buffer = &queue->buffers[queue->current];

    return list_is_empty(&queue->in_flight) && buffer->used == buffer->submitted;
}

const DXGKARG_BUILDPAGINGBUFFER *paging_queue_unseen(const struct vidmm *vidmm,
                                                     struct vidmm_allocation **out_subject)
{
    const struct paging_queue *queue = &vidmm->queue;
    bool is_unseen = queue->has_operation && !queue->is_shown && queue->subject;

    *out_subject = is_unseen ? queue->subject : NULL;
    return is_unseen ? &queue->operation : NULL;
}

void paging_queue_reset(struct vidmm *vidmm, struct list *unfinished)
{
    struct paging_queue *queue = &vidmm->queue;
    unsigned i;

    ASSERT(list_is_empty(&queue->in_flight));
    list_splice(unfinished, &queue->ended);
    list_splice(unfinished, &queue->debt.jobs);
    list_splice(unfinished, &queue->jobs);
    queue->debt.va = 0;
    for (i = 0; i < queue->buffer_count; i++) {
        struct paging_buffer *buffer = &queue->buffers[i];

        ASSERT(!buffer->in_flight);
        buffer->used = buffer->submitted = 0;
        buffer->private_used = buffer->private_submitted = 0;
    }
    queue->current = 0;
    queue->companion = NULL;
    queue->job = NULL;
    queue->has_operation = false;
    queue->needs_buffer = false;
    queue->fresh_failures = 0;
    queue->generation = (struct generation){0};
}

void paging_queue_abandon(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    unsigned i;

    ASSERT(list_is_empty(&queue->in_flight));
    for (i = 0; i < queue->buffer_count; i++) {
        queue->buffers[i].used = queue->buffers[i].submitted = 0;
        queue->buffers[i].private_used = queue->buffers[i].private_submitted = 0;
    }
    queue->has_operation = false;
    queue->debt.va = 0;
    list_splice(&queue->ended, &queue->debt.jobs);
    vidmm->pump_again = true;
}

uint64_t paging_queue_last(const struct vidmm *vidmm)
{
    const struct paging_queue *queue = &vidmm->queue;
    const struct paging_buffer *buffer = &queue->buffers[queue->current];

    return queue->submitted + (buffer->used != buffer->submitted);
}

const struct job *paging_queue_following(const struct vidmm *vidmm, const struct job *job)
{
    const struct list *jobs = &vidmm->queue.jobs;
    const struct job *next;

    if (jobs->next != &job->link || job->link.next == jobs || job->gives_way || vidmm->is_removed)
        return NULL;
    next = container_of(job->link.next, struct job, link);
    return next->gives_way || next->companion != job->companion || waits_for_wake(vidmm, next)
               ? NULL
               : next;
}

static void finish_jobs(struct vidmm *vidmm, struct list *jobs)
{
    struct list *link;

    while ((link = list_pop_front(jobs)) != NULL) {
        struct job *job = container_of(link, struct job, link);

        if (notes_are_heard(vidmm))
            note_job_ends(vidmm, job, false);
        job->ops->finished(job);
    }
}

/* ---- Submission ------------------------------------------------------------------------------ */

/*
 * What empties the segments for a sleep is nobody's in the physical model, whose drivers are told
 * the node from WDDM 1.2 on; older ones could only guess it, unless they have one node and no
 * contexts.
 */
static HANDLE context_of_submission(const struct vidmm *vidmm)
{
    bool is_nobodys = vidmm->power.state == POWER_PURGING && !vidmm->caps.has_page_tables &&
                      (vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WIN8 ||
                       !vidmm->caps.has_contexts);

    if (is_nobodys)
        return NULL;
    return vidmm->caps.has_contexts ? vidmm->queue.driver_context : vidmm->queue.driver_device;
}

/*
 * Hands the built operations of the current buffer to the scheduler, with the jobs that ended in
 * it. Jobs whose operations wrote nothing end with the submission before, or now if there is none.
 */
static void submit_built(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    struct paging_buffer *buffer = current_buffer(queue);
    struct paging_submission *submission;

    if (buffer->used == buffer->submitted) {
        if (list_is_empty(&queue->ended))
            return;
        if (list_is_empty(&queue->in_flight)) {
            finish_jobs(vidmm, &queue->ended);
        } else {
            submission = container_of(queue->in_flight.prev, struct paging_submission, in_flight);
            list_splice(&submission->jobs, &queue->ended);
        }
        return;
    }

    ASSERT(!list_is_empty(&queue->idle));
    submission = container_of(list_pop_front(&queue->idle), struct paging_submission, in_flight);
    submission->buffer = buffer;
    submission->companion = queue->companion;
    submission->number = queue->submitted + 1;
    submission->packet.wait_fence =
        queue->companion != queue->submitted_for ? &queue->retired : NULL;
    submission->packet.wait_value = queue->submitted;
    queue->submitted_for = queue->companion;
    queue->submitted = submission->number;
    submission->start = buffer->submitted;
    submission->end = buffer->used;
    submission->driver_context = context_of_submission(vidmm);
    submission->private_start = buffer->private_submitted;
    submission->private_end = buffer->private_used;
    if (submission->private_start == submission->private_end) {
        /* One private range for all submissions of the buffer (PB-024). */
        submission->private_start = 0;
        submission->private_end = buffer->private_bytes;
    }
    buffer->submitted = buffer->used;
    buffer->private_submitted = buffer->private_used;
    buffer->in_flight++;
    list_splice(&submission->jobs, &queue->ended);
    list_push_back(&queue->in_flight, &submission->in_flight);
    vidmm->statistics.paging_submissions++;
    vidsch_submit(queue->companion ? queue->companion->scheduler : queue->context,
                  &submission->packet);
}

static NTSTATUS prepare_paging(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct paging_submission *submission = container_of(packet, struct paging_submission, packet);
    struct paging_buffer *buffer = submission->buffer;
    struct vidmm *vidmm = submission->vidmm;
    DXGKARG_PATCH patch = {0};

    if (vidmm->caps.has_page_tables || vidmm->config.skips_patch_for_paging)
        return STATUS_SUCCESS;
    patch.hContext = submission->driver_context;
    patch.DmaBufferPhysicalAddress.QuadPart =
        (LONGLONG)paging_aperture_address(vidmm, buffer, &patch.DmaBufferSegmentId);
    patch.pDmaBuffer = buffer->cpu;
    patch.DmaBufferSize = buffer->bytes;
    patch.DmaBufferSubmissionStartOffset = submission->start;
    patch.DmaBufferSubmissionEndOffset = submission->end;
    patch.pDmaBufferPrivateData = buffer->private_data;
    patch.DmaBufferPrivateDataSize = buffer->private_bytes;
    patch.DmaBufferPrivateDataSubmissionStartOffset = submission->private_start;
    patch.DmaBufferPrivateDataSubmissionEndOffset = submission->private_end;
    patch.SubmissionFenceId = packet->fence_id;
    patch.Flags.Paging = 1;
    return miniport_patch(miniport, NULL, &patch);
}

static NTSTATUS submit_paging(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct paging_submission *submission = container_of(packet, struct paging_submission, packet);
    struct paging_buffer *buffer = submission->buffer;
    struct vidmm *vidmm = submission->vidmm;

    if (submission->companion)
        null_contexts_ran_companion(vidmm, submission->companion->node);
    else
        null_contexts_ran(vidmm, vidmm->queue.node, NULL);
    if (vidmm->caps.has_page_tables) {
        DXGKARG_SUBMITCOMMANDVIRTUAL args = {0};

        args.hContext = submission->companion ? submission->companion->driver_context
                                              : vidmm->queue.driver_context;
        args.DmaBufferVirtualAddress = buffer->va + submission->start;
        args.DmaBufferSize = submission->end - submission->start;
        if (buffer->private_data)
            args.pDmaBufferPrivateData = buffer->private_data + submission->private_start;
        args.DmaBufferPrivateDataSize = submission->private_end - submission->private_start;
        args.SubmissionFenceId = packet->fence_id;
        args.Flags.Paging = 1;
        args.Flags.Resubmission = packet->is_resubmission; /* 2.0 and later only (SUB-008) */
        args.NodeOrdinal = submission->companion ? submission->companion->node : vidmm->queue.node;
        return miniport_submit_command_virtual(miniport, NULL, &args);
    } else {
        DXGKARG_SUBMITCOMMAND args = {0};

        args.hContext = submission->driver_context;
        args.DmaBufferPhysicalAddress.QuadPart =
            (LONGLONG)paging_aperture_address(vidmm, buffer, &args.DmaBufferSegmentId);
        args.DmaBufferSize = buffer->bytes;
        args.DmaBufferSubmissionStartOffset = submission->start;
        args.DmaBufferSubmissionEndOffset = submission->end;
        args.pDmaBufferPrivateData = buffer->private_data;
        args.DmaBufferPrivateDataSize = buffer->private_bytes;
        args.DmaBufferPrivateDataSubmissionStartOffset = submission->private_start;
        args.DmaBufferPrivateDataSubmissionEndOffset = submission->private_end;
        args.SubmissionFenceId = packet->fence_id;
        args.Flags.Paging = 1;
        args.Flags.Resubmission = /* always 0 on 1.x (SUB-008) */
            packet->is_resubmission &&
            vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;
        args.NodeOrdinal = vidmm->queue.node;
        return miniport_submit_command(miniport, NULL, &args);
    }
}

/* A reset has aborted the packet of the jobs: recovery has them run again. */
static void keep_jobs(struct vidmm *vidmm, struct list *jobs)
{
    struct list *link;

    for (link = jobs->next; link != jobs && vidmm->recovery.blames_owners; link = link->next) {
        struct vidmm_allocation *allocation =
            allocation_of_job(container_of(link, struct job, link));

        if (allocation)
            allocation_fail_devices(allocation,
                                    "its allocation was in a paging buffer that did not end");
    }
    list_splice(&vidmm->recovery.unfinished, jobs);
}

static void paging_retired(struct vidsch_packet *packet, NTSTATUS status)
{
    struct paging_submission *submission = container_of(packet, struct paging_submission, packet);
    struct vidmm *vidmm = submission->vidmm;
    struct list jobs;

    list_init(&jobs);
    list_splice(&jobs, &submission->jobs);
    submission->buffer->in_flight--;
    list_remove(&submission->in_flight);
    list_push_back(&vidmm->queue.idle, &submission->in_flight);
    vidsch_fence_signal(vidmm->vidsch, &vidmm->queue.retired, submission->number);
    if (!NT_SUCCESS(status) && vidmm->recovery.is_under_way) {
        keep_jobs(vidmm, &jobs);
        return;
    }
    *(NT_SUCCESS(status) ? &vidmm->queue.executed : &vidmm->queue.refused) = submission->number;
    vidmm->queue.retired_status = status;
    finish_jobs(vidmm, &jobs);
    vidmm->queue.retired_status = STATUS_SUCCESS;
}

static const struct vidsch_packet_ops paging_packet_ops = {
    .kind = VIDMM_PACKET_PAGING,
    .prepare = prepare_paging,
    .submit = submit_paging,
    .retired = paging_retired,
};

/* ---- Aperture slots -------------------------------------------------------------------------- */

static bool is_behind_slots(struct vidmm *vidmm, struct miniport_place place)
{
    const struct segment *segment = segment_by_id(vidmm, place.segment);

    return place.kind == MINIPORT_PLACE_VIRTUAL || /* whose entries may name an aperture */
           (segment && segment->kind == SEGMENT_APERTURE);
}

static bool changes_slots(const DXGKARG_BUILDPAGINGBUFFER *operation)
{
    enum miniport_operation_kind kind = miniport_operation_kind((unsigned)operation->Operation);

    return kind == MINIPORT_KIND_MAP || kind == MINIPORT_KIND_UNMAP;
}

/* Commands of the operation have been written: they run in the next submission. */
static void note_slot_user(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    const DXGKARG_BUILDPAGINGBUFFER *operation = &queue->operation;

    if (queue->slot_user == queue->submitted + 1) /* another one in front of it does */
        return;
    if (!changes_slots(operation) &&
        (is_behind_slots(vidmm, miniport_operation_source(operation)) ||
         is_behind_slots(vidmm, miniport_operation_destination(operation))))
        queue->slot_user = queue->submitted + 1;
}

/*
 * A driver may take slots away by registers, before it returns from the call (APER-013). So all
 * that was built to go through slots has retired by then (APER-012).
 */
static bool slots_may_change(const struct vidmm *vidmm)
{
    const struct paging_queue *queue = &vidmm->queue;

    return miniport_operation_kind((unsigned)queue->operation.Operation) != MINIPORT_KIND_UNMAP ||
           queue->slot_user <= queue->retired.value || paging_queue_is_drained(vidmm);
}

/* ---- Building -------------------------------------------------------------------------------- */

/* Makes a buffer current that has nothing in flight. False: all are busy. */
static bool take_fresh_buffer(struct paging_queue *queue)
{
    unsigned i;

    for (i = 1; i <= queue->buffer_count; i++) {
        unsigned candidate = (queue->current + i) % queue->buffer_count;
        struct paging_buffer *buffer = &queue->buffers[candidate];

        if (buffer->in_flight == 0 && buffer->used == buffer->submitted) {
            queue->current = candidate;
            buffer->used = buffer->submitted = 0;
            buffer->private_used = buffer->private_submitted = 0;
            return true;
        }
    }
    return false;
}

/*
 * Takes over the driver's pointers behind the buffer and the private data. A pointer outside of the
 * room that was offered is the driver's error, and nothing of the call is used.
 */
static bool accept_output(struct vidmm *vidmm, struct paging_buffer *buffer,
                          const DXGKARG_BUILDPAGINGBUFFER *args)
{
    uint64_t written =
        (uint64_t)((uintptr_t)args->pDmaBuffer - (uintptr_t)(buffer->cpu + buffer->used));
    uint64_t private_written = 0;

    if (buffer->private_data)
        private_written = (uint64_t)((uintptr_t)args->pDmaBufferPrivateData -
                                     (uintptr_t)(buffer->private_data + buffer->private_used));
    if (written > buffer->bytes - buffer->used) {
        vidmm_driver_error(
            vidmm, "PB-004",
            "DxgkDdiBuildPagingBuffer(%s).pDmaBuffer: moved by %lld bytes; %u were offered",
            miniport_operation_name(args->Operation), (long long)written,
            buffer->bytes - buffer->used);
        return false;
    }
    if (private_written > buffer->private_bytes - buffer->private_used) {
        vidmm_driver_error(
            vidmm, "PB-023",
            "DxgkDdiBuildPagingBuffer(%s).pDmaBufferPrivateData: moved by %lld bytes; %u "
            "were offered",
            miniport_operation_name(args->Operation), (long long)private_written,
            buffer->private_bytes - buffer->private_used);
        return false;
    }
    if (written)
        note_slot_user(vidmm);
    buffer->used += (uint32_t)written;
    buffer->private_used += (uint32_t)private_written;
    vidmm->statistics.paging_bytes += written;
    return true;
}

enum build_result { BUILD_COMPLETE, BUILD_AGAIN, BUILD_NO_BUFFER };

/* The driver has been called for the current operation, and was offered the buffer from offset on.
 */
static void note_built(struct vidmm *vidmm, uint32_t offset, NTSTATUS status, bool is_complete)
{
    struct paging_queue *queue = &vidmm->queue;
    uint32_t bytes = current_buffer(queue)->used - offset;

    note_operation_built(vidmm, &(struct vidmm_note_operation_built){
                                    .status = status,
                                    .is_complete = is_complete,
                                    .buffer = queue->current,
                                    .offset = offset,
                                    .bytes = bytes,
                                    .multipass = queue->operation.MultipassOffset,
                                    .paging = bytes ? queue->submitted + 1 : 0,
                                });
}

static inline void tell_built(struct vidmm *vidmm, uint32_t offset, NTSTATUS status,
                              bool is_complete)
{
    if (notes_are_heard(vidmm))
        note_built(vidmm, offset, status, is_complete);
}

/* One call of DxgkDdiBuildPagingBuffer for the current operation. */
static enum build_result build(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    struct paging_buffer *buffer = current_buffer(queue);
    DXGKARG_BUILDPAGINGBUFFER args = queue->operation;
    bool was_fresh = buffer->used == 0;
    uint32_t offset = buffer->used;
    bool is_accepted;
    NTSTATUS status;

    args.pDmaBuffer = buffer->cpu + buffer->used;
    args.DmaSize = buffer->bytes - buffer->used;
    if (buffer->private_data) {
        args.pDmaBufferPrivateData = buffer->private_data + buffer->private_used;
        args.DmaBufferPrivateDataSize = buffer->private_bytes - buffer->private_used;
    }
    args.DmaBufferGpuVirtualAddress = buffer->va;
    args.DmaBufferWriteOffset = buffer->used;
    args.hSystemContext =
        queue->companion ? queue->companion->driver_context : queue->driver_context;

    vidmm->statistics.build_calls++;
    if (args.MultipassOffset)
        vidmm->statistics.multipass_calls++;
    queue->is_building = queue->is_shown = true;
    status = miniport_build_paging_buffer(vidmm->miniport, NULL, &args);
    queue->is_building = false;

    switch ((uint32_t)status) {
    case (uint32_t)STATUS_SUCCESS:
        accept_output(vidmm, buffer, &args);
        tell_built(vidmm, offset, status, true);
        return BUILD_COMPLETE;

    case (uint32_t)STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER:
        is_accepted = accept_output(vidmm, buffer, &args);
        tell_built(vidmm, offset, status, false);
        if (is_accepted && (!was_fresh || buffer->used ||
                            args.MultipassOffset != queue->operation.MultipassOffset)) {
            queue->fresh_failures = 0;
            queue->aimless_repeats = args.MultipassOffset == queue->operation.MultipassOffset
                                         ? queue->aimless_repeats + 1
                                         : 0;
            queue->operation.MultipassOffset = args.MultipassOffset;
            if (queue->aimless_repeats >= miniport_operation_most_aimless(&queue->operation)) {
                vidmm_driver_error(
                    vidmm, "PB-014",
                    "DxgkDdiBuildPagingBuffer(%s): MultipassOffset stayed %u over %u "
                    "buffers; the operation is dropped",
                    miniport_operation_name(args.Operation), args.MultipassOffset,
                    queue->aimless_repeats);
                queue->needs_buffer = true;
                tell_built(vidmm, buffer->used, status, true);
                return BUILD_COMPLETE;
            }
        } else if (was_fresh && ++queue->fresh_failures >= 2) {
            vidmm_driver_error(vidmm, "PB-012",
                               "DxgkDdiBuildPagingBuffer(%s): no progress on two fresh buffers of "
                               "%u bytes; the operation is dropped",
                               miniport_operation_name(args.Operation), buffer->bytes);
            tell_built(vidmm, buffer->used, status, true);
            return BUILD_COMPLETE;
        }
        submit_built(vidmm);
        return BUILD_NO_BUFFER;

    case (uint32_t)STATUS_GRAPHICS_ALLOCATION_BUSY:
        if (miniport_operation_may_be_busy(&queue->operation)) {
            tell_built(vidmm, offset, status, false);
            miniport_operation_set_idle(&queue->operation);
            return BUILD_AGAIN;
        }
        /* fall through */
    default:
        vidmm_driver_error(
            vidmm, "PB-008",
            "DxgkDdiBuildPagingBuffer(%s) returned 0x%08x, which is not lawful for it",
            miniport_operation_name(args.Operation), (unsigned)status);
        tell_built(vidmm, offset, status, true);
        return BUILD_COMPLETE;
    }
}

/* True if there is room to start: a buffer with bytes left, and a submission to carry it. */
static bool has_room(struct paging_queue *queue)
{
    const struct paging_buffer *buffer = current_buffer(queue);

    if (list_is_empty(&queue->idle))
        return false;
    if (!queue->needs_buffer && buffer->used < buffer->bytes)
        return true;
    if (buffer->used != buffer->submitted) /* full to the last byte, and not on its way yet */
        return false;
    if (!take_fresh_buffer(queue))
        return false;
    queue->needs_buffer = false;
    return true;
}

void paging_queue_count(struct vidmm *vidmm, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    unsigned operation = (unsigned)args->Operation;

    ASSERT(operation < ARRAY_COUNT(vidmm->statistics.operations));
    vidmm->statistics.operations[operation]++;
}

void paging_queue_build_now(struct vidmm *vidmm, DXGKARG_BUILDPAGINGBUFFER *args)
{
    NTSTATUS status;

    if (vidmm->is_removed)
        return;
    args->hSystemContext = vidmm->queue.driver_context;
    if (vidmm->config.starts_as_observed) /* of the buffer that there is none of yet */
        args->DmaSize = vidmm->caps.paging_buffer_bytes;
    vidmm->statistics.build_calls++;
    paging_queue_count(vidmm, args);
    if (notes_are_heard(vidmm))
        note_operation(vidmm, NULL, args);
    status = miniport_build_paging_buffer(vidmm->miniport, NULL, args);
    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "PB-008",
                           "DxgkDdiBuildPagingBuffer(%s) without a buffer returned 0x%08x; only "
                           "STATUS_SUCCESS is lawful",
                           miniport_operation_name(args->Operation), (unsigned)status);
}

/* Operations for another context are submitted: each buffer is for one. */
static bool enter_context(struct vidmm *vidmm, struct companion *companion)
{
    struct paging_queue *queue = &vidmm->queue;

    if (queue->companion == companion)
        return true;
    if (list_is_empty(&queue->idle))
        return false;
    submit_built(vidmm);
    queue->companion = companion;
    queue->needs_buffer = current_buffer(queue)->used != 0;
    return true;
}

void paging_queue_leave(struct vidmm *vidmm, const struct companion *companion)
{
    struct paging_queue *queue = &vidmm->queue;

    if (queue->submitted_for == companion)
        queue->submitted_for = NULL; /* all of that has retired: there is nothing to wait for */
    if (queue->companion != companion)
        return;
    ASSERT(paging_queue_is_drained(vidmm));
    queue->companion = NULL;
    queue->needs_buffer = current_buffer(queue)->used != 0;
}

/*
 * What gives way has at most two chunks each way with the GPU: what comes behind it does not wait
 * longer than for these, and the link has something to do when one of them ends.
 */
static uint64_t *chunks_that_gave_way(struct paging_queue *queue, const struct job *job)
{
    return queue->gave_way[job->ops->kind == JOB_ENTER];
}

static bool may_resume(struct paging_queue *queue, const struct job *job)
{
    return chunks_that_gave_way(queue, job)[1] <= queue->retired.value;
}

/*
 * The job that goes on: the one that has something half done, else the first one that does not give
 * way, else the first one that has not got enough under way. NULL: none.
 */
static struct job *choose_job(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    struct job *job;

    if (queue->job)
        return queue->job;
    if (!list_is_empty(&queue->jobs) &&
        waits_for_wake(vidmm, container_of(queue->jobs.next, struct job, link)))
        return NULL; /* what tells of tables was queued first */
    list_for_each (job, &queue->jobs, struct job, link) {
        if (!job->is_paused)
            return job;
    }
    list_for_each (job, &queue->jobs, struct job, link) {
        if (may_resume(queue, job))
            return job;
    }
    return NULL;
}

/* The job pauses, or is done: what it has built is counted as one chunk. */
static void end_chunk(struct vidmm *vidmm, const struct job *job)
{
    struct paging_queue *queue = &vidmm->queue;
    uint64_t *numbers = chunks_that_gave_way(queue, job);
    uint64_t number = queue->submitted;

    queue->job = NULL;
    if (!job->gives_way)
        return;
    if (current_buffer(queue)->used != current_buffer(queue)->submitted) {
        if (list_is_empty(&queue->idle))
            number++; /* it will be in the next one */
        else {
            submit_built(vidmm);
            number = queue->submitted;
        }
    }
    if (number == numbers[0])
        return;
    numbers[1] = numbers[0];
    numbers[0] = number;
}

bool paging_queue_run(struct vidmm *vidmm)
{
    struct paging_queue *queue = &vidmm->queue;
    bool did_anything = false;
    int wait = -1; /* enum vidmm_queue_wait: why it stops before the end */

    if (!queue->buffers || queue->is_pumping)
        return false;
    queue->is_pumping = true;
    while (!list_is_empty(&queue->jobs)) {
        struct job *job = choose_job(vidmm);

        wait = VIDMM_QUEUE_WAIT_GIVEN_WAY;
        if (!job)
            break;
        if (!queue->has_operation) {
            enum job_step step;

            wait = VIDMM_QUEUE_WAIT_BUFFER;
            if (!enter_context(vidmm, job->companion))
                break;

            memset(&queue->operation, 0, sizeof queue->operation);
            queue->subject = allocation_of_job(job);
            queue->job = job;
            step = job->ops->next(job, &queue->operation);
            wait = VIDMM_QUEUE_WAIT_JOB;
            if (step == JOB_WAIT)
                break;
            did_anything = true;
            if (step == JOB_PAUSE) {
                end_chunk(vidmm, job);
                continue;
            }
            if (step == JOB_DONE) {
                list_remove(&job->link);
                list_push_back(queue->debt.va ? &queue->debt.jobs : &queue->ended, &job->link);
                end_chunk(vidmm, job);
                continue;
            }
            if (vidmm->is_removed)
                continue;
            queue->has_operation = true;
            if (notes_are_heard(vidmm))
                note_operation(vidmm, job, &queue->operation);
            queue->is_shown = false;
            queue->fresh_failures = 0;
            queue->aimless_repeats = 0;
        }
        wait = VIDMM_QUEUE_WAIT_CONTEXT;
        if (null_contexts_need_release(vidmm, job)) {
            if (!paging_queue_is_drained(vidmm))
                break;
            idle_updates_end(vidmm);
        }
        if (!null_contexts_may_go(vidmm, job))
            break;
        wait = VIDMM_QUEUE_WAIT_IDLE;
        if (!idle_updates_may_go(vidmm, job, &queue->operation))
            break;
        wait = VIDMM_QUEUE_WAIT_SLOTS;
        if (!slots_may_change(vidmm))
            break;

        if (current_buffer(queue)->used == current_buffer(queue)->bytes &&
            !list_is_empty(&queue->idle))
            submit_built(vidmm);
        wait = VIDMM_QUEUE_WAIT_BUFFER;
        if (!has_room(queue))
            break;
        did_anything = true;
        switch (build(vidmm)) {
        case BUILD_COMPLETE:
            paging_queue_count(vidmm, &queue->operation);
            queue->has_operation = false;
            if (!queue->debt.va)
                list_splice(&queue->ended, &queue->debt.jobs);
            break;
        case BUILD_AGAIN:
            break;
        case BUILD_NO_BUFFER:
            queue->needs_buffer = true;
            break;
        }
    }
    if (notes_are_heard(vidmm) && !list_is_empty(&queue->jobs))
        note_queue_waits(vidmm, (enum vidmm_queue_wait)wait, choose_job(vidmm));
    if (!list_is_empty(&queue->idle))
        submit_built(vidmm);
    queue->is_pumping = false;
    if (!queue->has_operation && paging_queue_is_drained(vidmm))
        idle_updates_end(vidmm);
    return did_anything;
}
