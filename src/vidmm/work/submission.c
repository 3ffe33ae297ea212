/*
 * Submissions: those of both models are made, counted, and end here.
 *
 * Source     contract.md RES-002, SUB-011..014.
 */
#include "vidmm/work/submission.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/residency/turns.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/context_allocation.h"
#include "vidmm/work/device.h"
#include "vidmm/work/dma_buffer.h"
#include "vidmm/work/null_context.h"

#include "base/list.h"
#include "base/services.h"

struct submission *submission_create(struct vidmm_context *context,
                                     const struct vidsch_packet_ops *ops, unsigned reference_count,
                                     bool has_buffer)
{
    struct vidmm_device *device = context->device;
    unsigned held_count =
        reference_count + context_allocations_count(context) + (has_buffer ? 1 : 0);
    size_t bytes = sizeof(struct submission) + (size_t)held_count * sizeof(struct vidmm_reference) +
                   (size_t)reference_count * sizeof(bool);
    struct submission *submission = base_alloc(device->vidmm->services, bytes);

    if (!submission)
        return NULL;
    submission->bytes = bytes;
    submission->context = context;
    submission->is_null = context->is_null_rendering;
    submission->is_redirected = context->is_redirected_present;
    submission->packet.ops = ops;
    submission->reference_count = reference_count;
    submission->held_count = held_count;
    context_allocations_refer(context, submission->references + reference_count);
    submission->is_needed = (bool *)(submission->references + held_count);
    list_init(&submission->link);
    return submission;
}

void submission_hold_buffer(struct submission *submission, struct vidmm_allocation *buffer)
{
    if (buffer)
        submission->references[submission->held_count - 1].allocation = buffer;
}

void submission_begin(struct submission *submission)
{
    struct vidmm_device *device = submission->context->device;

    submission->sequence = ++device->vidmm->submitted;
    list_push_back(&device->vidmm->submissions, &submission->link);
    device->submission_count++;
    if (notes_are_heard(device->vidmm))
        note_submission(submission);
}

void submission_wait_for_paging(struct submission *submission)
{
    struct vidmm_context *context = submission->context;

    if (!context->paging_wait)
        return;
    submission->packet.wait_fence = &context->device->paging_fence.waiters;
    submission->packet.wait_value = context->paging_wait;
}

NTSTATUS submission_submit_by_address(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct submission *submission = container_of(packet, struct submission, packet);
    struct vidmm_context *context = submission->context;
    struct vidmm *vidmm = context->device->vidmm;
    DXGKARG_SUBMITCOMMANDVIRTUAL args = {0};

    null_contexts_ran(vidmm, context->node, context);
    args.hContext = context->driver_context;
    args.DmaBufferVirtualAddress = submission->va;
    args.DmaBufferSize = submission->va_bytes;
    if (submission->buffer) {
        args.pDmaBufferPrivateData = submission->buffer->private_data;
        args.DmaBufferPrivateDataSize = submission->private_bytes;
    } else if (submission->client_data) {
        args.pDmaBufferPrivateData = submission->client_data;
        args.DmaBufferPrivateDataSize = submission->client_data_bytes;
        args.DmaBufferUmdPrivateDataSize = submission->client_data_bytes;
    }
    args.SubmissionFenceId = packet->fence_id;
    args.Flags.NullRendering = submission->is_null;
    args.Flags.Present = submission->is_present;
    args.Flags.RedirectedPresent = submission->is_redirected && !submission->is_present;
    args.Flags.Resubmission = packet->is_resubmission && !vidmm->config.marks_paging_only;
    args.NodeOrdinal = context->node;
    return miniport_submit_command_virtual(miniport, NULL, &args);
}

void submission_note_end(const struct submission *submission, NTSTATUS status)
{
    struct vidmm_device *device = submission->context->device;

    if (status_means_reset(status))
        device_fail(device, "its submission did not end");
    if ((submission->packet.is_virtual && status == STATUS_INVALID_PARAMETER) ||
        (submission->packet.progress_id && submission->packet.has_failed &&
         !submission->packet.is_cancelled))
        device_fail(device, "the driver refused its submission");
}

/*
 * The oldest submission that has not retired, if any, says up to where all others have. One may end
 * in the middle of the pump: a context is released, and its device has failed. Steps of the pump
 * that wait for it have been asked by then.
 */
static void note_retired(struct vidmm *vidmm)
{
    uint64_t retired =
        list_is_empty(&vidmm->submissions)
            ? vidmm->submitted
            : container_of(vidmm->submissions.next, struct submission, link)->sequence - 1;

    if (retired != vidmm->retired)
        vidmm->pump_again = true;
    vidmm->retired = retired;
}

void submission_free(struct submission *submission)
{
    struct vidmm *vidmm = submission->context->device->vidmm;

    if (list_is_linked(&submission->link)) {
        submission->context->device->submission_count--;
        turns_note_work(submission->context->device);
    }
    list_remove(&submission->link);
    note_retired(vidmm);
    base_free(vidmm->services, submission->client_data, submission->client_data_bytes);
    base_free(vidmm->services, submission, submission->bytes);
}

NTSTATUS submission_request(struct submission *submission, vidmm_done done,
                            struct request **out_request)
{
    NTSTATUS status = request_create(submission->context->device, submission->held_count, done,
                                     submission, out_request);
    unsigned i;

    if (NT_SUCCESS(status))
        (*out_request)->kind = VIDMM_REQUEST_SUBMISSION;
    for (i = 0; NT_SUCCESS(status) && i < submission->held_count; i++)
        (*out_request)->allocations[i] = submission->references[i].allocation;
    return status;
}

void submission_unhold(struct submission *submission)
{
    unsigned i;

    for (i = 0; i < submission->held_count; i++)
        allocation_unhold(submission->references[i].allocation);
}
