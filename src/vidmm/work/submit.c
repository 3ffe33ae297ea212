/*
 * Submissions of the GpuMmu model, but for presents (render.c).
 *
 * Source     contract.md SUB-011..014, RES-002; sequence S-23.
 */
#include "vidmm/work/submission.h"

#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"
#include "vidmm/work/space_contexts.h"

#include "vidsch/vidsch.h"

#include <string.h>

/* ---- Submissions, GpuMmu --------------------------------------------------------------------- */

static void virtual_retired(struct vidsch_packet *packet, NTSTATUS status)
{
    struct submission *submission = container_of(packet, struct submission, packet);
    vidmm_done done = submission->done;
    void *context = submission->done_context;

    submission_unhold(submission);
    submission_note_end(submission, status);
    submission_free(submission);
    if (done)
        done(context, status, 0, 0);
}

static const struct vidsch_packet_ops virtual_packet_ops = {
    NULL, submission_submit_by_address, virtual_retired, VIDMM_PACKET_SUBMISSION};

static const struct vidsch_packet_ops queue_packet_ops = {NULL, hw_queue_submit, virtual_retired,
                                                          VIDMM_PACKET_SUBMISSION};

/* ---- The contexts of an address space -------------------------------------------------------- */

/*
 * The context's own allocations are there (CTX-003, CTX-004). Requests of a device end in the order
 * in which they were made, so its submissions keep theirs; behind a present that waits for its DMA
 * buffer (render.c), each has a request.
 */
static void context_resident(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct submission *submission = context;
    vidmm_done done = submission->done;
    void *done_context = submission->done_context;

    submission->context->waiting_submissions--;
    if (NT_SUCCESS(status)) {
        status = device_refusal(submission->context->device);
        if (NT_SUCCESS(status)) {
            vidsch_submit(submission->context->scheduler, &submission->packet);
            return;
        }
        submission_unhold(submission);
    }
    submission_free(submission);
    if (done)
        done(done_context, status, needed, available);
}

/* False: there is no memory for the copy. */
static bool keep_client_data(struct submission *submission, const struct vidmm_virtual_work *work)
{
    if (!work->private_data_bytes)
        return true;
    submission->client_data =
        base_alloc(submission->context->device->vidmm->services, work->private_data_bytes);
    if (!submission->client_data)
        return false;
    submission->client_data_bytes = work->private_data_bytes;
    memcpy(submission->client_data, work->private_data, work->private_data_bytes);
    return true;
}

NTSTATUS vidmm_submit_virtual(struct vidmm_context *context, uint64_t va, uint32_t bytes,
                              vidmm_done done, void *done_context)
{
    const struct vidmm_virtual_work work = {.va = va, .bytes = bytes};

    return vidmm_submit_virtual_with(context, &work, done, done_context);
}

NTSTATUS vidmm_submit_virtual_with(struct vidmm_context *context,
                                   const struct vidmm_virtual_work *work, vidmm_done done,
                                   void *done_context)
{
    struct vidmm *vidmm = context->device->vidmm;
    struct submission *submission;
    struct request *request = NULL;
    NTSTATUS status;

    if (!vidmm->caps.is_virtual)
        return STATUS_NOT_SUPPORTED;
    if (work->private_data_bytes > context->info.DmaBufferPrivateDataSize)
        return STATUS_INVALID_PARAMETER;
    status = device_refusal(context->device);
    if (!NT_SUCCESS(status))
        return status;
    status = context->first->root_is_set ? STATUS_SUCCESS : context_set_root(context);
    if (NT_SUCCESS(status))
        status = hw_queue_ready(context);
    if (!NT_SUCCESS(status))
        return status;
    submission = submission_create(
        context, context->queue.progress ? &queue_packet_ops : &virtual_packet_ops, 0, false);
    if (!submission)
        return STATUS_NO_MEMORY;
    if (!keep_client_data(submission, work)) {
        submission_free(submission);
        return STATUS_NO_MEMORY;
    }
    if (submission->held_count || context->waiting_submissions) {
        status = submission_request(submission, context_resident, &request);
        if (!NT_SUCCESS(status)) {
            submission_free(submission);
            return status;
        }
    }
    submission->packet.is_virtual = true;
    submission->va = work->va;
    submission->va_bytes = work->bytes;
    submission->done = done;
    submission->done_context = done_context;
    submission_wait_for_paging(submission);
    /* From here on it counts as a user of allocations, though it may wait for its request. */
    submission_begin(submission);
    if (request) {
        context->waiting_submissions++;
        request_queue(request);
        vidmm_pump(vidmm);
    } else {
        vidsch_submit(context->scheduler, &submission->packet);
        if (vidmm->components.count)
            vidmm_pump(vidmm); /* its engine may be off */
    }
    return STATUS_SUCCESS;
}
