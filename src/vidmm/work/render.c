/*
 * What the driver makes commands of: command buffers into DMA buffers, residency, patching.
 *
 * DxgkDdiRender translates the command buffer when the client calls, into as many DMA buffers as
 * the driver needs (INSUFFICIENT and MultipassOffset). Each DMA buffer is a packet of its own: a
 * request brings its references in, DxgkDdiPatch gives it their addresses just before it goes to
 * the driver, and they stay where they are until it has retired. So do the driver's own allocations
 * of the context, which are in no list (CTX-003). If they do not fit together although nothing else
 * is in the way, the packet is cut at a split point of the driver's and both parts are prepared one
 * after the other, as often as that helps.
 *
 * Where addresses are virtual, the client makes its commands by itself and vidmm_submit_virtual()
 * takes them; presents alone come here. Their DMA buffers are system memory that is mapped in the
 * client's process and resident like the allocations of the context. Their lists tell the driver
 * addresses and have no part in residency, and nothing is patched.
 *
 * Source     contract.md RES-001, PATCH-001..023, SUB-001..014; sequence S-22.
 */
#include "vidmm/adapter/adapter_caps.h"
#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/residency/request.h"
#include "vidmm/residency/residency.h"
#include "vidmm/work/null_context.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"
#include "vidmm/work/dma_buffer.h"
#include "vidmm/work/space_contexts.h"
#include "vidmm/work/submission.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

#include <string.h>

struct render_call {
    struct vidmm *vidmm;
    unsigned remaining;
    bool has_run; /* a part of it */
    NTSTATUS status;
    uint64_t needed, available;
    vidmm_done done;
    void *context;
    /* For splits, reserved when the driver gave the points: one and two of them each. */
    struct submission *spare_submissions;
    struct list spare_requests;
};

/* What the driver is asked to make DMA buffers of: commands of the client or kernel, a present. */
struct making {
    bool is_present;
    DXGKARG_RENDER render;
    DXGKARG_PRESENT present;
    /* The allocation list, and where addresses are virtual, the address of each. */
    unsigned reference_count;
    const struct vidmm_reference *references;
    const uint64_t *addresses;
};

static bool is_virtual(const struct vidmm_context *context)
{
    return context->device->vidmm->caps.is_virtual;
}

/* The part holds the allocations of its locations, and those that the context runs in. */
static void unhold_part(struct submission *submission)
{
    struct request *served = submission->served;
    unsigned i;

    if (served) {
        submission->served = NULL;
        allocations_unhold(served->count, served->allocations);
        request_free(served);
        return;
    }
    for (i = 0; i < submission->held_count; i++) {
        if (i >= submission->reference_count || submission->is_needed[i])
            allocation_unhold(submission->references[i].allocation);
    }
}

/* ---- The end of a packet --------------------------------------------------------------------- */

static void free_call(struct render_call *call)
{
    struct list *link;

    while (call->spare_submissions) {
        struct submission *spare = call->spare_submissions;

        call->spare_submissions = spare->next;
        submission_free(spare);
    }
    while ((link = list_pop_front(&call->spare_requests)) != NULL)
        request_free(container_of(link, struct request, link));
    base_free(call->vidmm->services, call, sizeof *call);
}

static void finish_call_part(struct render_call *call, NTSTATUS status, uint64_t needed,
                             uint64_t available)
{
    vidmm_done done = call->done;
    void *context = call->context;

    if (NT_SUCCESS(call->status) && !NT_SUCCESS(status)) {
        call->status = status;
        call->needed = needed;
        call->available = available;
    }
    if (NT_SUCCESS(status))
        call->has_run = true;
    if (--call->remaining)
        return;
    status = call->status;
    if (call->has_run && (status == STATUS_NO_MEMORY || status == STATUS_GRAPHICS_NO_VIDEO_MEMORY))
        status = STATUS_UNSUCCESSFUL;
    needed = call->needed;
    available = call->available;
    free_call(call);
    if (done)
        done(context, status, needed, available);
}

static void finish_submission(struct submission *submission, NTSTATUS status, uint64_t needed,
                              uint64_t available)
{
    struct render_call *call = submission->call;
    unsigned i;

    for (i = 0; i < submission->reference_count; i++) {
        if (submission->references[i].allocation)
            allocation_unuse(submission->references[i].allocation);
    }
    dma_buffer_give_back(submission->context, submission->buffer);
    submission_free(submission);
    finish_call_part(call, status, needed, available);
}

static void render_retired(struct vidsch_packet *packet, NTSTATUS status)
{
    struct submission *submission = container_of(packet, struct submission, packet);

    unhold_part(submission);
    submission_note_end(submission, status);
    finish_submission(submission, status, 0, 0);
}

/* ---- Patch and submit ------------------------------------------------------------------------ */

/*
 * Fills an entry of an allocation list. The bit-field of one bit comes last: compilers write it as
 * a byte, and a word that is read behind such a write has to wait for it.
 */
static inline void fill_entry(const struct vidmm_device *device,
                              const struct vidmm_reference *reference, unsigned segment_id,
                              uint64_t address, DXGK_ALLOCATIONLIST *entry)
{
    entry->hDeviceSpecificAllocation = allocation_handle_in(reference->allocation, device);
    entry->PhysicalAddress.QuadPart = (LONGLONG)address;
    entry->Reserved = 0;
    entry->SegmentId = segment_id;
    entry->WriteOperation = reference->is_written;
}

/* An allocation without its place; a present may have none (PATCH-019). */
static inline void name_entry(const struct vidmm_device *device,
                              const struct vidmm_reference *reference, DXGK_ALLOCATIONLIST *entry)
{
    if (reference->allocation)
        fill_entry(device, reference, 0, 0, entry);
    else
        memset(entry, 0, sizeof *entry);
}

/* The same with the place that it has, if any (PATCH-011, PATCH-015). */
static inline void describe(const struct vidmm_device *device,
                            const struct vidmm_reference *reference, DXGK_ALLOCATIONLIST *entry)
{
    const struct vidmm_allocation *allocation = reference->allocation;

    if (allocation && allocation->state == ALLOCATION_RESIDENT) {
        const struct segment *segment = allocation->place.segment;

        fill_entry(device, reference, segment->id, segment->caps->base + allocation->place.offset,
                   entry);
    } else {
        name_entry(device, reference, entry);
    }
}

/* The GPU writes into it: its content elsewhere is stale. */
static inline void note_write(struct vidmm_allocation *allocation)
{
    allocation->is_dirty = true;
    if (allocation->place.segment->kind == SEGMENT_AGP)
        allocation->is_agp_dirty = true;
}

static NTSTATUS prepare_render(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct submission *submission = container_of(packet, struct submission, packet);
    struct vidmm_context *context = submission->context;
    struct dma_buffer *buffer = submission->buffer;
    DXGKARG_PATCH patch = {0};
    unsigned i;

    for (i = 0; i < submission->reference_count; i++) {
        const struct vidmm_reference *reference = &submission->references[i];

        if (!submission->is_needed[i]) { /* another part's: it may go while this one runs */
            name_entry(context->device, reference, &buffer->allocation_list[i]);
            continue;
        }
        ASSERT(reference->allocation->state == ALLOCATION_RESIDENT);
        describe(context->device, reference, &buffer->allocation_list[i]);
        if (reference->is_written)
            note_write(reference->allocation);
    }
    for (; i < submission->held_count; i++) /* the GPU stores into it what only it knows */
        note_write(submission->references[i].allocation);
    patch.hContext = context->driver_context;
    patch.DmaBufferPhysicalAddress = dma_buffer_address(buffer, &patch.DmaBufferSegmentId);
    patch.pDmaBuffer = buffer->cpu;
    patch.DmaBufferSize = context->info.DmaBufferSize;
    patch.DmaBufferSubmissionStartOffset = submission->dma_start;
    patch.DmaBufferSubmissionEndOffset = submission->dma_end;
    patch.pDmaBufferPrivateData = buffer->private_data;
    patch.DmaBufferPrivateDataSize = context->info.DmaBufferPrivateDataSize;
    patch.DmaBufferPrivateDataSubmissionEndOffset = submission->private_bytes;
    patch.pAllocationList = buffer->allocation_list;
    patch.AllocationListSize = submission->reference_count;
    patch.pPatchLocationList = buffer->patch_list;
    patch.PatchLocationListSize = buffer->patch_count;
    patch.PatchLocationListSubmissionStart = submission->patch_start;
    patch.PatchLocationListSubmissionLength = submission->patch_count;
    patch.SubmissionFenceId = packet->fence_id;
    patch.Flags.NullRendering = submission->is_null;
    patch.Flags.Present = submission->is_present;
    patch.Flags.RedirectedPresent = submission->is_redirected && !submission->is_present;
    return miniport_patch(miniport, NULL, &patch);
}

static NTSTATUS submit_render(struct vidsch_packet *packet, struct miniport *miniport)
{
    struct submission *submission = container_of(packet, struct submission, packet);
    struct vidmm_context *context = submission->context;
    struct dma_buffer *buffer = submission->buffer;
    DXGKARG_SUBMITCOMMAND args = {0};

    null_contexts_ran(context->device->vidmm, context->node, context);
    args.hContext = context->driver_context;
    args.DmaBufferPhysicalAddress = dma_buffer_address(buffer, &args.DmaBufferSegmentId);
    args.DmaBufferSize = context->info.DmaBufferSize;
    args.DmaBufferSubmissionStartOffset = submission->dma_start;
    args.DmaBufferSubmissionEndOffset = submission->dma_end;
    args.pDmaBufferPrivateData = buffer->private_data;
    args.DmaBufferPrivateDataSize = context->info.DmaBufferPrivateDataSize;
    args.DmaBufferPrivateDataSubmissionEndOffset = submission->private_bytes;
    args.SubmissionFenceId = packet->fence_id;
    args.Flags.NullRendering = submission->is_null;
    args.Flags.Present = submission->is_present;
    args.Flags.RedirectedPresent = submission->is_redirected && !submission->is_present;
    args.NodeOrdinal = context->node;
    return miniport_submit_command(miniport, NULL, &args);
}

static const struct vidsch_packet_ops render_packet_ops = {prepare_render, submit_render,
                                                           render_retired, VIDMM_PACKET_SUBMISSION};

static const struct vidsch_packet_ops packet_ops_by_address = {
    NULL, submission_submit_by_address, render_retired, VIDMM_PACKET_SUBMISSION};

static const struct vidsch_packet_ops packet_ops_of_queue = {NULL, hw_queue_submit, render_retired,
                                                             VIDMM_PACKET_SUBMISSION};

static void references_resident(void *context, NTSTATUS status, uint64_t needed,
                                uint64_t available);

/* A request for the part's allocations, in memory for all of the list. */
static void fill_request(struct submission *submission, struct request *request)
{
    unsigned i;

    request->count = 0;
    request->context = submission;
    for (i = 0; i < submission->held_count; i++) {
        if (i >= submission->reference_count || submission->is_needed[i])
            request->allocations[request->count++] = submission->references[i].allocation;
    }
    submission->request = request;
}

/* ---- Splitting ------------------------------------------------------------------------------- */

/*
 * The location, as near to the middle as can be, in front of which the part may be split; 0: none.
 */
static uint32_t find_split(const struct submission *submission)
{
    const D3DDDI_PATCHLOCATIONLIST *list = submission->buffer->patch_list + submission->patch_start;
    uint32_t middle = submission->patch_count / 2;
    uint32_t best = 0;
    uint32_t i;

    for (i = 1; i < submission->patch_count; i++) {
        if (list[i].SplitOffset <= list[i - 1].SplitOffset ||
            list[i].SplitOffset <= submission->dma_start ||
            list[i].SplitOffset >= submission->dma_end)
            continue;
        if (!best || i <= middle)
            best = i;
    }
    return best;
}

static void mark_needed(struct submission *submission)
{
    const D3DDDI_PATCHLOCATIONLIST *list = submission->buffer->patch_list + submission->patch_start;
    uint32_t i;

    memset(submission->is_needed, 0, submission->reference_count);
    for (i = 0; i < submission->patch_count; i++) {
        if (list[i].AllocationIndex < submission->reference_count)
            submission->is_needed[list[i].AllocationIndex] = true;
    }
}

/* Memory for every split that the driver's points allow: once it runs, nothing may fail. */
static NTSTATUS reserve_splits(struct submission *submission)
{
    const D3DDDI_PATCHLOCATIONLIST *list = submission->buffer->patch_list;
    struct render_call *call = submission->call;
    uint32_t i;

    /* They never fall. */
    if (submission->patch_count == 0 ||
        list[0].SplitOffset == list[submission->patch_count - 1].SplitOffset)
        return STATUS_SUCCESS;
    for (i = 1; i < submission->patch_count; i++) {
        struct submission *spare;
        unsigned requests;

        if (list[i].SplitOffset == list[i - 1].SplitOffset)
            continue;
        spare =
            submission_create(submission->context, submission->packet.ops,
                              submission->reference_count, submission->buffer->allocation != NULL);
        if (!spare)
            return STATUS_NO_MEMORY;
        spare->next = call->spare_submissions;
        call->spare_submissions = spare;
        for (requests = 0; requests < 2; requests++) {
            struct request *request;
            NTSTATUS status = request_create(submission->context->device, submission->held_count,
                                             references_resident, submission, &request);

            if (!NT_SUCCESS(status))
                return status;
            request->kind = VIDMM_REQUEST_SUBMISSION;
            list_push_back(&call->spare_requests, &request->link);
        }
    }
    return STATUS_SUCCESS;
}

static struct request *take_spare_request(struct render_call *call)
{
    struct list *link = list_pop_front(&call->spare_requests);

    ASSERT(link);
    return container_of(link, struct request, link);
}

/*
 * Cuts the part in two at a split point that the driver gave (PATCH-012), each with a request of
 * its own for its allocations. The submission has no request. NULL, and nothing has changed:
 * there is no such point.
 */
static struct submission *split(struct submission *submission)
{
    uint32_t at = find_split(submission);
    struct render_call *call = submission->call;
    struct submission *second = call->spare_submissions;
    unsigned i;

    if (!at)
        return NULL;
    ASSERT(second);
    call->spare_submissions = second->next;
    second->next = NULL;
    for (i = 0; i < submission->reference_count; i++)
        second->references[i] = submission->references[i];
    second->call = call;
    second->is_present = submission->is_present;
    second->buffer = submission->buffer;
    submission_hold_buffer(second, second->buffer->allocation);
    second->private_bytes = submission->private_bytes;
    second->patch_start = submission->patch_start + at;
    second->patch_count = submission->patch_count - at;
    second->dma_start = submission->buffer->patch_list[second->patch_start].SplitOffset;
    second->dma_end = submission->dma_end;
    submission->dma_end = second->dma_start;
    submission->patch_count = at;
    mark_needed(submission);
    mark_needed(second);
    fill_request(submission, take_spare_request(call));
    fill_request(second, take_spare_request(call));
    submission->buffer->shares++;
    call->remaining++;
    return second;
}

static void use_references(struct submission *submission)
{
    unsigned i;

    for (i = 0; i < submission->reference_count; i++) {
        if (submission->references[i].allocation)
            allocation_use(submission->references[i].allocation);
    }
}

/* Parts that do not fit together may fit one after the other: nothing else is pending. */
static void references_resident(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct submission *submission = context;
    struct submission *second;

    submission->request = NULL; /* ended: it frees itself */
    if (submission->packet.is_virtual)
        submission->context->waiting_submissions--;
    if (NT_SUCCESS(status) && submission->buffer->va &&
        list_is_empty(&submission->buffer->allocation->mappings)) {
        /* There was no room for its tables, and it was told to nobody. */
        unhold_part(submission);
        finish_submission(submission, STATUS_GRAPHICS_NO_VIDEO_MEMORY, 0, 0);
        return;
    }
    if (NT_SUCCESS(status) && submission->context->device->is_in_error) {
        render_retired(&submission->packet, device_refusal(submission->context->device));
        return;
    }
    if (NT_SUCCESS(status) && NT_SUCCESS(submission->call->status)) {
        vidsch_submit(submission->context->scheduler, &submission->packet);
        return;
    }
    if (NT_SUCCESS(status)) { /* an earlier part has failed: nothing runs behind it */
        unhold_part(submission);
        finish_submission(submission, submission->call->status, 0, 0);
        return;
    }
    second = status == STATUS_GRAPHICS_NO_VIDEO_MEMORY ? split(submission) : NULL;
    if (!second) {
        finish_submission(submission, status, needed, available);
        return;
    }
    submission->context->device->vidmm->statistics.dma_buffer_splits++;
    submission_begin(second);
    use_references(second);
    request_queue_first(second->request);
    request_queue_first(submission->request);
}

/* ---- The call -------------------------------------------------------------------------------- */

static const char *ddi_of(const struct submission *submission)
{
    const struct vidmm_context *context = submission->context;

    if (submission->is_present)
        return context->queue.progress ? "DxgkDdiPresentToHwQueue" : "DxgkDdiPresent";
    return !context->is_gdi      ? "DxgkDdiRender"
           : is_virtual(context) ? "DxgkDdiRenderGdi"
                                 : "DxgkDdiRenderKm";
}

/* Locations must be of allocations in the list, inside the buffer, behind split points that rise.
 */
static bool check_locations(const struct submission *submission)
{
    const D3DDDI_PATCHLOCATIONLIST *list = submission->buffer->patch_list;
    uint32_t i;

    for (i = 0; i < submission->patch_count; i++) {
        bool is_fine = list[i].AllocationIndex < submission->reference_count &&
                       submission->references[list[i].AllocationIndex].allocation &&
                       list[i].SplitOffset <= list[i].PatchOffset &&
                       list[i].PatchOffset < submission->dma_end &&
                       (i == 0 || list[i].SplitOffset >= list[i - 1].SplitOffset);

        if (is_fine)
            continue;
        vidmm_driver_error(submission->context->device->vidmm, "PATCH-012",
                           "%s.pPatchLocationListOut[%u]: allocation %u of %u, "
                           "SplitOffset %u, PatchOffset %u; the buffer has %u bytes, and "
                           "SplitOffset must not fall",
                           ddi_of(submission), i, list[i].AllocationIndex,
                           submission->reference_count, list[i].SplitOffset, list[i].PatchOffset,
                           submission->dma_end);
        return false;
    }
    return true;
}

/* Up to where the driver has moved the pointers that it was given. */
struct answer {
    void *dma_buffer, *private_data;
    D3DDDI_PATCHLOCATIONLIST *patch_list;
    bool has_progress; /* MultipassOffset is another one */
};

/* DXGKARG_RENDER and DXGKARG_PRESENT have these members under the same names. */
#define OFFER_BUFFER(args, context, buffer)                                                        \
    do {                                                                                           \
        (args)->pDmaBuffer = (buffer)->cpu;                                                        \
        (args)->DmaSize = (context)->info.DmaBufferSize;                                           \
        (args)->pDmaBufferPrivateData = (buffer)->private_data;                                    \
        (args)->DmaBufferPrivateDataSize = (context)->info.DmaBufferPrivateDataSize;               \
        (args)->pAllocationList = (buffer)->allocation_list;                                       \
        (args)->pPatchLocationListOut = (buffer)->patch_list;                                      \
        (args)->PatchLocationListOutSize = dma_buffer_patch_capacity(context);                     \
        (args)->DmaBufferPhysicalAddress =                                                         \
            dma_buffer_address(buffer, &(args)->DmaBufferSegmentId);                               \
    } while (0)
#define ANSWER(args, multipass)                                                                    \
    ((struct answer){(args)->pDmaBuffer, (args)->pDmaBufferPrivateData,                            \
                     (args)->pPatchLocationListOut, (args)->MultipassOffset != (multipass)})

/* The call's DXGKARG_RENDER with an address in the place of patch locations. */
static NTSTATUS render_gdi(const struct submission *submission, struct making *making,
                           struct answer *out_answer)
{
    const struct vidmm_context *context = submission->context;
    const struct dma_buffer *buffer = submission->buffer;
    const UINT multipass = making->render.MultipassOffset;
    DXGKARG_RENDERGDI args = {
        .pCommand = making->render.pCommand,
        .CommandLength = making->render.CommandLength,
        .pDmaBuffer = buffer->cpu,
        .DmaBufferGpuVirtualAddress = buffer->va,
        .DmaSize = context->info.DmaBufferSize,
        .pDmaBufferPrivateData = buffer->private_data,
        .DmaBufferPrivateDataSize = context->info.DmaBufferPrivateDataSize,
        .pAllocationList = buffer->allocation_list,
        .AllocationListSize = making->reference_count,
        .MultipassOffset = multipass,
    };
    NTSTATUS status =
        miniport_render_gdi(context->device->vidmm->miniport, context->driver_context, &args);

    making->render.MultipassOffset = args.MultipassOffset;
    *out_answer = (struct answer){args.pDmaBuffer, args.pDmaBufferPrivateData, buffer->patch_list,
                                  args.MultipassOffset != multipass};
    return status;
}

static NTSTATUS ask_driver(const struct submission *submission, struct making *making,
                           struct answer *out_answer)
{
    const struct vidmm_context *context = submission->context;
    const struct dma_buffer *buffer = submission->buffer;
    struct miniport *miniport = context->device->vidmm->miniport;
    UINT multipass;
    NTSTATUS status;

    if (context->is_gdi && is_virtual(context))
        return render_gdi(submission, making, out_answer);
    if (making->is_present) {
        multipass = making->present.MultipassOffset;
        OFFER_BUFFER(&making->present, context, buffer);
        making->present.DmaBufferGpuVirtualAddress = buffer->va;
        status = context->queue.progress
                     ? miniport_present_to_hw_queue(miniport, context->queue.driver_queue,
                                                    &making->present)
                     : miniport_present(miniport, context->driver_context, &making->present);
        *out_answer = ANSWER(&making->present, multipass);
    } else {
        multipass = making->render.MultipassOffset;
        OFFER_BUFFER(&making->render, context, buffer);
        making->render.AllocationListSize = submission->reference_count;
        status = (context->is_gdi ? miniport_render_km : miniport_render)(
            miniport, context->driver_context, &making->render);
        *out_answer = ANSWER(&making->render, multipass);
    }
    return status;
}

/* The list that the driver gets: places that are good now, or addresses that stay good. */
static void fill_list(const struct submission *submission, const struct making *making)
{
    const struct vidmm_device *device = submission->context->device;
    DXGK_ALLOCATIONLIST *list = submission->buffer->allocation_list;

    for (unsigned i = 0; i < submission->reference_count; i++)
        describe(device, &submission->references[i], &list[i]);
    /* Where addresses are virtual, nothing is renamed. */
    for (unsigned i = 0; making->addresses && i < making->reference_count; i++) {
        name_entry(device, &making->references[i], &list[i]);
        if (making->references[i].allocation)
            list[i].VirtualAddress = making->addresses[i];
    }
}

/* One DMA buffer's worth. STATUS_MORE: the driver has more to say in another buffer. */
static NTSTATUS render_part(struct submission *submission, struct making *making, bool *out_more)
{
    struct vidmm_context *context = submission->context;
    struct vidmm *vidmm = context->device->vidmm;
    struct dma_buffer *buffer = submission->buffer;
    struct answer answer;
    NTSTATUS status;

    *out_more = false;
    fill_list(submission, making);
    status = ask_driver(submission, making, &answer);
    if (!NT_SUCCESS(status) && status != STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        return status;

    submission->dma_end = (uint32_t)((uint8_t *)answer.dma_buffer - buffer->cpu);
    if (buffer->private_data)
        submission->private_bytes =
            (uint32_t)((uint8_t *)answer.private_data - buffer->private_data);
    submission->patch_count =
        (uint32_t)(((uintptr_t)answer.patch_list - (uintptr_t)buffer->patch_list) /
                   sizeof *buffer->patch_list);
    if (submission->dma_end > context->info.DmaBufferSize ||
        submission->private_bytes > context->info.DmaBufferPrivateDataSize ||
        submission->patch_count > dma_buffer_patch_capacity(context)) {
        vidmm_refuse_answer(vidmm, "PATCH-014",
                            "%s: moved its pointers by %u bytes, %u private bytes and %u "
                            "patch locations; %u, %u and %u were offered",
                            ddi_of(submission), submission->dma_end, submission->private_bytes,
                            submission->patch_count, context->info.DmaBufferSize,
                            context->info.DmaBufferPrivateDataSize,
                            dma_buffer_patch_capacity(context));
        return STATUS_DRIVER_INTERNAL_ERROR;
    }
    buffer->patch_count = submission->patch_count;
    if (!check_locations(submission))
        return STATUS_DRIVER_INTERNAL_ERROR;
    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER) {
        if (submission->dma_end == 0 && !answer.has_progress) {
            vidmm_refuse_answer(vidmm, "PATCH-014",
                                "%s: no progress in a fresh DMA buffer of %u bytes",
                                ddi_of(submission), context->info.DmaBufferSize);
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        if (!making->is_present && (vidmm->config.guarantees_one_buffer ||
                                    context->device->info.Flags.GuaranteedDmaBufferContract)) {
            vidmm_refuse_answer(vidmm, "PATCH-014",
                                "%s: wants a second DMA buffer after %u bytes of %u and %u "
                                "patch locations of %u, where one was guaranteed to be enough",
                                ddi_of(submission), submission->dma_end,
                                context->info.DmaBufferSize, submission->patch_count,
                                context->info.PatchLocationListSize);
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        *out_more = true;
    }
    return STATUS_SUCCESS;
}

/* The list brings its allocations in where the commands have their places, and only there. */
static struct submission *create_part(struct vidmm_context *context, struct render_call *call,
                                      const struct making *making, NTSTATUS *status)
{
    bool by_address = is_virtual(context);
    unsigned reference_count = by_address ? 0 : making->reference_count;
    struct submission *submission =
        submission_create(context,
                          context->queue.progress ? &packet_ops_of_queue
                          : by_address            ? &packet_ops_by_address
                                                  : &render_packet_ops,
                          reference_count, by_address || context->dma_segments);
    unsigned i;

    *status = STATUS_NO_MEMORY;
    if (!submission)
        return NULL;
    submission->call = call;
    submission->is_present = making->is_present;
    submission->packet.is_virtual = by_address;
    submission->buffer = dma_buffer_take(context);
    if (!submission->buffer)
        goto free_submission;
    submission->buffer->shares = 1;
    submission_hold_buffer(submission, submission->buffer->allocation);
    if (by_address) {
        *status = dma_buffer_show(context, submission->buffer);
        if (!NT_SUCCESS(*status))
            goto give_back;
    }
    for (i = 0; i < reference_count; i++) {
        submission->references[i] = making->references[i];
        submission->is_needed[i] = making->references[i].allocation != NULL;
        if (making->references[i].allocation)
            submission->references[i].allocation =
                allocation_current(making->references[i].allocation);
    }
    *status = request_create(context->device, submission->held_count, references_resident,
                             submission, &submission->request);
    if (NT_SUCCESS(*status)) {
        submission->request->kind = VIDMM_REQUEST_SUBMISSION;
        fill_request(submission, submission->request);
        return submission;
    }

give_back:
    dma_buffer_give_back(context, submission->buffer);
free_submission:
    submission_free(submission);
    return NULL;
}

/* At every point that the driver gave; *tail is where the list of parts goes on. */
static void split_everywhere(struct submission *part, struct submission ***tail)
{
    while (part) {
        struct submission *second;

        if (!find_split(part)) {
            part = part->next;
            continue;
        }
        request_free(part->request);
        second = split(part);
        second->next = part->next;
        part->next = second;
        if (*tail == &part->next)
            *tail = &second->next;
    }
}

void vidmm_render_limits(const struct vidmm_context *context, struct vidmm_render_limits *out)
{
    out->dma_bytes = context->info.DmaBufferSize;
    out->references = context->info.AllocationListSize;
    out->patch_locations = context->info.PatchLocationListSize;
}

/* The client's patch locations, in the order of the references; NULL: no memory. */
static D3DDDI_PATCHLOCATIONLIST *make_patch_input(const struct vidmm *vidmm, unsigned count)
{
    D3DDDI_PATCHLOCATIONLIST *list = base_alloc_array(vidmm->services, count, sizeof *list);

    for (unsigned i = 0; list && i < count; i++)
        list[i] = (D3DDDI_PATCHLOCATIONLIST){.AllocationIndex = i, .SlotId = i};
    return list;
}

/* Whether the client may refer to them now. */
static NTSTATUS check_references(const struct vidmm_context *context, unsigned count,
                                 const struct vidmm_reference *references)
{
    NTSTATUS status = device_refusal(context->device);
    unsigned i;

    if (!NT_SUCCESS(status))
        return status;
    if (count > context->info.AllocationListSize)
        return STATUS_INVALID_PARAMETER;
    for (i = 0; i < count; i++) {
        const struct vidmm_allocation *allocation = references[i].allocation;

        if (!allocation)
            continue;
        allocation = allocation_current(references[i].allocation);
        if (allocation->is_offered)
            return STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE;
        if (allocation->is_destroyed)
            return STATUS_INVALID_HANDLE;
        /* What a hold takes the allocation from between. */
        prefetch_to_write(allocation->link.prev);
        prefetch_to_write(allocation->link.next);
    }
    return STATUS_SUCCESS;
}

/*
 * No page says how many DMA buffers a driver may ask for: each takes a word of the command buffer
 * or a sub-rectangle at least, and some may begin with nothing of them.
 */
static unsigned most_parts(const struct making *making)
{
    return 64 + (making->is_present ? making->present.SubRectCnt
                                    : making->render.CommandLength / (unsigned)sizeof(ULONG));
}

/* What its references name is brought in first, or is held at once where all of it is there. */
static void queue_part(struct submission *part)
{
    if (part->packet.is_virtual || !residency_serve_at_once(part->request)) {
        request_queue(part->request);
        return;
    }
    part->served = part->request;
    references_resident(part, STATUS_SUCCESS, 0, 0);
}

/* Makes the parts, and queues all of them or none. */
static NTSTATUS make_and_queue(struct vidmm_context *context, struct making *making,
                               vidmm_done done, void *done_context)
{
    struct vidmm *vidmm = context->device->vidmm;
    struct submission *first = NULL, **tail = &first;
    struct render_call *call = base_alloc(vidmm->services, sizeof *call);
    bool more = true;
    NTSTATUS status;

    if (!call)
        return STATUS_NO_MEMORY;
    call->vidmm = vidmm;
    call->done = done;
    call->context = done_context;
    list_init(&call->spare_requests);
    while (more) {
        struct submission *part = create_part(context, call, making, &status);

        if (!part)
            goto undo;
        *tail = part;
        tail = &part->next;
        call->remaining++;
        status = render_part(part, making, &more);
        if (NT_SUCCESS(status) && more && call->remaining >= most_parts(making)) {
            vidmm_refuse_answer(vidmm, "PATCH-014",
                                "%s: wants more than %u DMA buffers, one by one", ddi_of(part),
                                most_parts(making));
            status = STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        if (!NT_SUCCESS(status))
            goto undo;
        status = reserve_splits(part);
        if (!NT_SUCCESS(status))
            goto undo;
        if (vidmm->config.pages_in_patched_only &&
            vidmm->caps.interface_version < DXGKDDI_INTERFACE_VERSION_WDDM2_0) {
            mark_needed(part);
            fill_request(part, part->request);
        }
        if (vidmm->config.splits_dma_buffers)
            split_everywhere(part, &tail);
    }

    while (first) {
        struct submission *part = first;

        first = part->next;
        submission_begin(part);
        use_references(part);
        if (part->packet.is_virtual) {
            part->va = part->buffer->va;
            part->va_bytes = part->dma_end;
            submission_wait_for_paging(part);
            context->waiting_submissions++;
        }
        queue_part(part);
    }
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;

undo:
    while (first) {
        struct submission *part = first;

        first = part->next;
        request_free(part->request);
        dma_buffer_give_back(context, part->buffer);
        submission_free(part);
    }
    free_call(call);
    vidmm_pump(vidmm); /* the buffers may have been mapped for the first time */
    return status;
}

static NTSTATUS render(struct vidmm_context *context, const void *command, uint32_t command_bytes,
                       unsigned reference_count, const struct vidmm_reference *references,
                       vidmm_done done, void *done_context)
{
    struct vidmm *vidmm = context->device->vidmm;
    D3DDDI_PATCHLOCATIONLIST *patch_input = NULL;
    struct making making = {.reference_count = reference_count, .references = references};
    NTSTATUS status = is_virtual(context) ? STATUS_NOT_SUPPORTED
                                          : check_references(context, reference_count, references);

    if (!NT_SUCCESS(status))
        return status;
    making.render.pCommand = (VOID *)command;
    making.render.CommandLength = command_bytes;
    if (context->names_references && reference_count) {
        patch_input = make_patch_input(vidmm, reference_count);
        if (!patch_input)
            return STATUS_NO_MEMORY;
        making.render.pPatchLocationListIn = patch_input;
        making.render.PatchLocationListInSize = reference_count;
    }
    status = make_and_queue(context, &making, done, done_context);
    base_free_array(vidmm->services, patch_input, reference_count, sizeof *patch_input);
    return status;
}

NTSTATUS vidmm_render(struct vidmm_context *context, const void *command, uint32_t command_bytes,
                      unsigned reference_count, const struct vidmm_reference *references,
                      vidmm_done done, void *done_context)
{
    return context->is_gdi ? STATUS_INVALID_PARAMETER
                           : render(context, command, command_bytes, reference_count, references,
                                    done, done_context);
}

NTSTATUS vidmm_render_km(struct vidmm_context *context, const void *commands,
                         uint32_t command_bytes, unsigned reference_count,
                         const struct vidmm_reference *references, vidmm_done done,
                         void *done_context)
{
    return context->is_gdi ? render(context, commands, command_bytes, reference_count, references,
                                    done, done_context)
                           : STATUS_INVALID_PARAMETER;
}

NTSTATUS vidmm_render_gdi(struct vidmm_context *context, const void *commands,
                          uint32_t command_bytes, unsigned reference_count,
                          const struct vidmm_reference *references, const uint64_t *addresses,
                          vidmm_done done, void *done_context)
{
    struct making making = {
        .render = {.pCommand = (VOID *)commands, .CommandLength = command_bytes},
        .reference_count = reference_count,
        .references = references,
        .addresses = addresses};
    NTSTATUS status;

    if (!context->is_gdi)
        return STATUS_INVALID_PARAMETER;
    if (!is_virtual(context))
        return STATUS_NOT_SUPPORTED;
    status = check_references(context, reference_count, references);
    if (NT_SUCCESS(status) && !context->first->root_is_set)
        status = context_set_root(context);
    return NT_SUCCESS(status) ? make_and_queue(context, &making, done, done_context) : status;
}

NTSTATUS vidmm_present(struct vidmm_context *context, const struct vidmm_present *present,
                       vidmm_done done, void *done_context)
{
    const struct vidmm_reference references[] = {
        [DXGK_PRESENT_SOURCE_INDEX] = {.allocation = present->source},
        [DXGK_PRESENT_DESTINATION_INDEX] = {.allocation = present->destination, .is_written = true},
    };
    const uint64_t addresses[ARRAY_COUNT(references)] = {
        [DXGK_PRESENT_SOURCE_INDEX] = present->source_va,
        [DXGK_PRESENT_DESTINATION_INDEX] = present->destination_va,
    };
    struct making making = {
        .is_present = true,
        .reference_count = ARRAY_COUNT(references),
        .references = references,
        .addresses = is_virtual(context) ? addresses : NULL,
    };
    NTSTATUS status =
        miniport_has(context->device->vidmm->miniport,
                     context->queue.progress ? MINIPORT_DDI_PresentToHwQueue : MINIPORT_DDI_Present)
            ? check_references(context, ARRAY_COUNT(references), references)
            : STATUS_NOT_SUPPORTED;

    if (NT_SUCCESS(status) && is_virtual(context))
        status = context->first->root_is_set ? STATUS_SUCCESS : context_set_root(context);
    if (NT_SUCCESS(status))
        status = hw_queue_ready(context);
    if (!NT_SUCCESS(status))
        return status;
    making.present.Color = present->color;
    making.present.DstRect = present->destination_rectangle;
    making.present.SrcRect = present->source_rectangle;
    making.present.SubRectCnt = present->rectangle_count;
    making.present.pDstSubRects = (RECT *)present->rectangles;
    making.present.Flags.Blt = present->source != NULL;
    making.present.Flags.ColorFill = present->source == NULL;
    making.present.NumSrcAllocations = present->source != NULL;
    making.present.NumDstAllocations = 1;
    making.present.pPrivateDriverData = (VOID *)present->private_data;
    making.present.PrivateDriverDataSize = present->private_data_bytes;
    return make_and_queue(context, &making, done, done_context);
}
