/*
 * Commands of a submission: written as the driver's user-mode half would, made known to the
 * oracle, and handed to the manager.
 */
#include "bench/play/player_private.h"

#include <drydock/sgpu.h>

#include <string.h>

/* A zeroed buffer of the player for one command. */
static void *command_buffer(struct player *player, uint64_t bytes)
{
    if (player->command_room < bytes) {
        base_free(player->services, player->command, player->command_room);
        player->command_room = 0;
        player->command = base_alloc(player->services, bytes);
        if (!player->command)
            return NULL;
        player->command_room = bytes;
    }
    memset(player->command, 0, bytes);
    return player->command;
}

static uint32_t access_flags(const struct workload_ref *ref)
{
    return (ref->access & WORKLOAD_ACCESS_READ ? SGPU_REF_READ : 0) |
           (ref->access & WORKLOAD_ACCESS_WRITE ? SGPU_REF_WRITE : 0);
}

static const struct workload_ref *refs_of(const struct player *player,
                                          const struct submission *submission)
{
    return player->workload->refs + player_op(player, submission->op_index)->first_ref;
}

/* Sub-rectangles of a present; 0: it is none. To another GPU it is work as any other. */
static uint32_t rectangles_of(const struct player *player, const struct workload_op *op)
{
    return op->kind == WORKLOAD_OP_SUBMIT && !player_is_foreign(player) ? op->rectangles : 0;
}

/*
 * The part of a reference that sub-rectangle index of a present takes, in rows of a page: all are
 * of one size, but for what is left over.
 */
static struct workload_ref part_of(const struct workload_ref *ref, uint32_t index, uint32_t count)
{
    uint64_t rows = ref->size / PAGE_BYTES;
    uint64_t first = rows * index / count, end = rows * (index + 1) / count;
    struct workload_ref part = *ref;

    part.offset += first * PAGE_BYTES;
    part.size = (end - first) * PAGE_BYTES;
    return part;
}

/* A present reads and writes each rectangle by references of its own (struct sgpu_umd_present). */
static void describe_present(const struct player *player, const struct workload_op *op,
                             const struct workload_ref *refs, struct oracle_reference *list)
{
    uint32_t rectangles = rectangles_of(player, op);

    for (uint32_t i = 0; i < rectangles * op->ref_count; i++) {
        uint32_t of = i % op->ref_count;
        struct workload_ref part = part_of(&refs[of], i / op->ref_count, rectangles);
        bool is_written = of + 1 == op->ref_count;

        list[i] = (struct oracle_reference){
            .allocation = part.allocation,
            .offset = part.offset,
            .bytes = part.size,
            .key = is_written && op->ref_count == 1 ? part.key : 0,
            .source = op->ref_count == 1 ? ORACLE_COLOR
                      : is_written       ? ORACLE_COPY
                                         : ORACLE_KEYS,
            .is_read = !is_written,
            .is_written = is_written,
        };
    }
}

/* Informs the oracle of what the submission will read and write, once. */
static NTSTATUS inform_oracle(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    struct oracle_reference *list;
    uint32_t rectangles = rectangles_of(player, op);
    uint32_t count = rectangles ? rectangles * op->ref_count : op->ref_count;
    uint64_t tag = submission->first_key;
    NTSTATUS status;

    if (!player->oracle || submission->is_known_to_oracle || player_op_is_null(op) ||
        (player_is_foreign(player) && !player_follows_work(player)))
        return STATUS_SUCCESS; /* work that does not run, or is not followed, changes nothing */
    list = base_alloc_array(player->services, count + 1, sizeof *list);
    if (!list)
        return STATUS_NO_MEMORY;
    if (rectangles)
        describe_present(player, op, refs, list);
    for (uint32_t i = 0; i < op->ref_count && !rectangles; i++) {
        list[i] = (struct oracle_reference){
            .allocation = refs[i].allocation,
            .offset = refs[i].offset,
            .bytes = refs[i].size,
            .key = player_key_of(&refs[i], &tag),
            .is_read = (refs[i].access & WORKLOAD_ACCESS_READ) != 0,
            .is_written = (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0,
        };
    }
    status = oracle_submission(player->oracle, submission->token, count, list);
    base_free_array(player->services, list, count + 1, sizeof *list);
    submission->is_known_to_oracle = NT_SUCCESS(status);
    return status;
}

void player_release_residency(struct player *player, struct submission *submission)
{
    if (submission->is_resident && submission->allocation_count)
        player_evict(player, player->devices[submission->context->device],
                     submission->allocation_count, submission->handles);
    submission->is_resident = false;
}

/*
 * The only thing done inside the callback is to give residency back: the manager judges requests
 * that wait for room when its callbacks have returned.
 */
void player_submission_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct submission *submission = context;

    submission->is_reported = true;
    player_context_stirs(submission->player, submission->context);
    submission->status = status;
    submission->needed = needed;
    submission->available = available;
    player_take_refusal(submission->player, status, &submission->refusal);
    submission->player->needs_pump = true;
    if (player_op(submission->player, submission->op_index)->kind == WORKLOAD_OP_FAULT)
        player_note_fault_status(
            submission->player, status,
            vidmm_device_is_in_error(submission->player->devices[submission->context->device]));
    if (submission->state == SUBMISSION_REQUESTING)
        player_inform_request(submission->player, CHECK_CLIENT_RESIDENT,
                              submission->player->devices[submission->context->device],
                              submission->allocation_count, submission->handles, status,
                              submission->paging_fence);
    if (submission->state == SUBMISSION_RUNNING) {
        player_inform_work(submission->player, CHECK_CLIENT_ENDED, submission);
        player_release_residency(submission->player, submission);
    }
}

uint64_t player_command_bytes(const struct player *player, const struct workload_op *op)
{
    if (player_is_foreign(player))
        return player_foreign_command_bytes(player, op);
    return sizeof(struct sgpu_packet_render) +
           (uint64_t)op->ref_count * max_u64(op->rectangles, 1) * sizeof(struct sgpu_render_ref) +
           (op->kind == WORKLOAD_OP_FAULT ? sizeof(struct sgpu_render_ref) : 0) +
           (op->offset ? sizeof(struct sgpu_packet_fence_signal) : 0);
}

static uint64_t put_signal(const struct player *player, const struct workload_op *op, void *at)
{
    const struct player_fence *fence = op->offset ? &player->fences[op->offset - 1] : NULL;
    struct sgpu_packet_fence_signal *packet = at;

    if (!fence || !fence->handle || player_is_foreign(player))
        return 0;
    packet->header = SGPU_PACKET_HEADER(SGPU_OP_FENCE_SIGNAL, sizeof *packet / 4);
    packet->fence = fence->number;
    packet->value = op->size;
    return sizeof *packet;
}

/*
 * Another GPU's commands: those of the run's template, or of its model's user-mode half.
 */
static NTSTATUS submit_virtual_foreign(struct player *player, struct submission *submission)
{
    struct player_context *context = submission->context;
    uint64_t bytes = player_foreign_command_bytes(player, player_op(player, submission->op_index));
    uint8_t *command = bytes ? command_buffer(player, bytes) : NULL;
    NTSTATUS status;

    if (bytes && (!command || !player_foreign_command(player, submission, command, bytes)))
        return STATUS_NO_MEMORY;
    if (!player_ring_write(player, context, submission->ring_start, command, bytes))
        return STATUS_UNSUCCESSFUL;
    status = inform_oracle(player, submission);
    if (!NT_SUCCESS(status))
        return status;
    return vidmm_submit_virtual(context->handle, context->ring_mapping.va + submission->ring_start,
                                (uint32_t)bytes, player_submission_done, submission);
}

/* The one access of a `fault` line. */
static void put_fault(const struct player *player, struct sgpu_packet_render *packet)
{
    const struct player_fault *fault = &player->fault;

    packet->refs[packet->ref_count++] = (struct sgpu_render_ref){
        .address = fault->va,
        .bytes = PAGE_BYTES,
        .flags = fault->is_write ? SGPU_REF_WRITE : SGPU_REF_READ,
        .index = ORACLE_NOT_FOLLOWED,
    };
}

/* Where the buffer of a submission begins, which a `fault` line may want elsewhere. */
static uint64_t buffer_of(const struct player *player, const struct submission *submission)
{
    const struct player_context *context = submission->context;
    uint64_t va = context->ring_mapping.va + submission->ring_start;

    if (player_op(player, submission->op_index)->kind != WORKLOAD_OP_FAULT)
        return va;
    if (player->fault.kind == WORKLOAD_FAULT_NO_EXECUTE)
        return player->fault.va;
    return player->fault.kind == WORKLOAD_FAULT_REFUSED ? va + sizeof(uint32_t) : va;
}

/*
 * The references of the packet behind each other, one mapping a reference. A present of allocations
 * that the process does not see in one piece is the client's own copy or fill: the driver has no
 * part in what the commands of its clients do.
 */
static NTSTATUS put_references(struct player *player, const struct submission *submission,
                               struct sgpu_packet_render *packet)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    uint32_t rectangles = rectangles_of(player, op);
    uint32_t parts = rectangles ? rectangles : 1;
    uint64_t tag = submission->first_key;

    packet->ref_count = op->ref_count * parts;
    for (uint32_t i = 0; i < op->ref_count; i++) {
        const struct player_mapping *mapping = player_find_mapping(
            player, refs[i].allocation, submission->context->process, refs[i].offset, refs[i].size,
            (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0);
        uint64_t key = player_key_of(&refs[i], &tag);
        bool is_blit = rectangles && i + 1 == op->ref_count;

        if (!mapping) /* unmapped since the submission was queued */
            return STATUS_INVALID_PARAMETER;
        if (!NT_SUCCESS(mapping->status))
            return mapping->status;
        for (uint32_t part = 0; part < parts; part++) {
            struct workload_ref of = rectangles ? part_of(&refs[i], part, parts) : refs[i];

            packet->refs[part * op->ref_count + i] = (struct sgpu_render_ref){
                .address = mapping->va + (of.offset - mapping->offset),
                .bytes = of.size,
                .key = is_blit ? refs[i].key : key,
                .flags = access_flags(&of) | (!is_blit             ? 0
                                              : op->ref_count == 2 ? SGPU_REF_COPY
                                                                   : SGPU_REF_FILL),
                .index = part * op->ref_count + i,
            };
        }
    }
    return STATUS_SUCCESS;
}

/* A RENDER packet with addresses, and a packet for the signal of a fence if the line has one. */
static NTSTATUS submit_virtual(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    struct player_context *context = submission->context;
    struct sgpu_packet_render *packet = command_buffer(player, player_command_bytes(player, op));
    uint64_t bytes;
    NTSTATUS status;

    if (!packet)
        return STATUS_NO_MEMORY;
    packet->token = submission->token;
    packet->duration_ns = player_op_duration(op);
    status = put_references(player, submission, packet);
    if (!NT_SUCCESS(status))
        return status;
    if (op->kind == WORKLOAD_OP_FAULT)
        put_fault(player, packet);
    bytes = sizeof *packet + packet->ref_count * sizeof packet->refs[0];
    packet->header = SGPU_PACKET_HEADER(SGPU_OP_RENDER, bytes / 4);
    bytes += put_signal(player, op, (uint8_t *)packet + bytes);
    if (!player_ring_write(player, context, submission->ring_start, (const uint8_t *)packet, bytes))
        return STATUS_UNSUCCESSFUL;
    status = inform_oracle(player, submission);
    if (!NT_SUCCESS(status))
        return status;
    return vidmm_submit_virtual(context->handle, buffer_of(player, submission), (uint32_t)bytes,
                                player_submission_done, submission);
}

/*
 * Where the render may be interrupted: after at least `piece` references (0: nowhere), and where no
 * allocation is referred to on both sides. The slots of the allocations follow each other in the
 * order of their first reference.
 */
static void mark_pieces(struct sgpu_umd_render *render, uint32_t piece)
{
    uint32_t since = 0, next_slot = 0;

    for (uint32_t i = 0; piece && i < render->ref_count; i++) {
        uint32_t lowest = UINT32_MAX;

        for (uint32_t j = i; since >= piece && j < render->ref_count; j++)
            lowest = lowest < render->refs[j].allocation_index ? lowest
                                                               : render->refs[j].allocation_index;
        if (since >= piece && lowest >= next_slot) {
            render->refs[i].starts_piece = 1;
            since = 0;
        }
        since++;
        if (render->refs[i].allocation_index >= next_slot)
            next_slot = render->refs[i].allocation_index + 1;
    }
}

/* Whether the driver's packets, one for each piece, fit into one DMA buffer and patch list. */
static bool is_one_buffer(const struct sgpu_umd_render *render,
                          const struct vidmm_render_limits *limits)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < render->ref_count || i == 0;) {
        uint64_t piece = sizeof(struct sgpu_packet_render);

        do
            piece += i < render->ref_count ? sizeof(struct sgpu_render_ref) : 0;
        while (++i < render->ref_count && !render->refs[i].starts_piece);
        bytes += align_up(piece, SGPU_SUBMIT_ALIGN);
    }
    return bytes <= limits->dma_bytes && render->ref_count <= limits->patch_locations;
}

/*
 * The user-mode half knows how large a DMA buffer is. What does not fit into one may be interrupted
 * wherever that is possible, so that the driver can go on in another one; where one must do, there
 * is no use in asking (PATCH-014).
 */
static NTSTATUS cut(const struct player *player, const struct player_context *context,
                    struct sgpu_umd_render *render)
{
    struct vidmm_render_limits limits;

    mark_pieces(render, player->config.run->render_piece_refs);
    vidmm_render_limits(context->handle, &limits);
    if (player_is_foreign(player) || is_one_buffer(render, &limits))
        return STATUS_SUCCESS;
    if (player->config.run->guarantees_one_buffer)
        return STATUS_INVALID_USER_BUFFER;
    mark_pieces(render, 1);
    return STATUS_SUCCESS;
}

static RECT rows_of(const struct workload_ref *ref)
{
    return (RECT){.left = 0,
                  .top = (LONG)(ref->offset / PAGE_BYTES),
                  .right = SGPU_ROW_PIXELS,
                  .bottom = (LONG)((ref->offset + ref->size) / PAGE_BYTES)};
}

/* Where the process of the submission sees all of the allocation; 0: nowhere in one piece. */
static uint64_t whole_va(struct player *player, const struct submission *submission,
                         const struct workload_ref *ref)
{
    const struct player_mapping *mapping = player_find_mapping(
        player, ref->allocation, submission->context->process, 0,
        align_up(player->workload->allocations[ref->allocation].size, PAGE_BYTES),
        (ref->access & WORKLOAD_ACCESS_WRITE) != 0);

    return mapping && mapping->is_ready && NT_SUCCESS(mapping->status) && !mapping->offset
               ? mapping->va
               : 0;
}

/* The driver is told one address for each allocation. */
static bool is_seen_whole(struct player *player, const struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);

    for (uint32_t i = 0; i < op->ref_count; i++) {
        if (!whole_va(player, submission, &refs_of(player, submission)[i]))
            return false;
    }
    return true;
}

/* The kernel's part of a present: what is to be copied where, in rectangles. */
static NTSTATUS submit_present(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    const struct workload_ref *written = &refs[op->ref_count - 1];
    uint32_t count = rectangles_of(player, op);
    const struct sgpu_umd_present data = {.version = SGPU_UMD_VERSION,
                                          .token = submission->token,
                                          .duration_ns = player_op_duration(op)};
    struct vidmm_present present = {
        .destination = player->allocations[written->allocation].handle,
        .destination_rectangle = rows_of(written),
        .source_rectangle = rows_of(&refs[0]),
        .rectangle_count = count,
        .private_data = &data,
        .private_data_bytes = sizeof data,
    };
    RECT *rectangles = base_alloc_array(player->services, count, sizeof *rectangles);
    NTSTATUS status;

    if (!rectangles)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const struct workload_ref part = part_of(written, i, count);

        rectangles[i] = rows_of(&part);
    }
    present.rectangles = rectangles;
    if (op->ref_count == 2)
        present.source = player->allocations[refs[0].allocation].handle;
    else
        present.color = (uint32_t)written->key;
    if (player->is_virtual) {
        present.source_va = present.source ? whole_va(player, submission, &refs[0]) : 0;
        present.destination_va = whole_va(player, submission, written);
    }
    status = inform_oracle(player, submission);
    if (NT_SUCCESS(status))
        status = vidmm_present(submission->context->handle, &present, player_submission_done,
                               submission);
    base_free_array(player->services, rectangles, count, sizeof *rectangles);
    return status;
}

/* ---- What the kernel draws ---- */

#define DRAWING_RECTANGLES 3u /* of a command at most, so that a present has several */

/* The place of the destination in the list: in front of the source for an even number of parts. */
static uint32_t destination_index(const struct workload_op *op)
{
    return op->ref_count == 2 && op->rectangles % 2;
}

/* The rectangles of a present as commands of the kernel's, each with its rectangles behind it. */
static uint32_t write_drawings(const struct player *player, const struct submission *submission,
                               uint8_t *at)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    const struct workload_ref *written = &refs[op->ref_count - 1];
    uint32_t count = rectangles_of(player, op), bytes = 0;
    uint32_t destination = destination_index(op);

    for (uint32_t first = 0, taken; first < count; first += taken) {
        DXGK_RENDERKM_COMMAND *command = (void *)(at + bytes);
        RECT *rectangles = (RECT *)(command + 1);

        taken = (uint32_t)min_u64(count - first, DRAWING_RECTANGLES);
        for (uint32_t i = 0; i < taken; i++) {
            const struct workload_ref part = part_of(written, first + i, count);

            rectangles[i] = rows_of(&part);
        }
        command->CommandSize = (UINT)(sizeof *command + taken * sizeof *rectangles);
        if (op->ref_count == 2) {
            command->OpCode = DXGK_GDIOP_BITBLT;
            command->Command.BitBlt = (DXGK_GDIARG_BITBLT){.SrcRect = rows_of(&refs[0]),
                                                           .DstRect = rows_of(written),
                                                           .SrcAllocationIndex = !destination,
                                                           .DstAllocationIndex = destination,
                                                           .NumSubRects = taken,
                                                           .pSubRects = rectangles,
                                                           .Rop = DXGK_GDIROP_SRCCOPY,
                                                           .SrcPitch = PAGE_BYTES,
                                                           .DstPitch = PAGE_BYTES};
        } else {
            command->OpCode = DXGK_GDIOP_COLORFILL;
            command->Command.ColorFill = (DXGK_GDIARG_COLORFILL){.DstRect = rows_of(written),
                                                                 .NumSubRects = taken,
                                                                 .pSubRects = rectangles,
                                                                 .Color = (UINT)written->key,
                                                                 .Rop = DXGK_GDIROPCF_PATCOPY};
        }
        bytes += command->CommandSize;
    }
    return bytes;
}

/* A present that the kernel draws, on a context of its own. STATUS_NOT_SUPPORTED: it cannot. */
static NTSTATUS submit_drawings(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    struct player_context *context = submission->context;
    uint64_t room = rectangles_of(player, op) * (sizeof(DXGK_RENDERKM_COMMAND) + sizeof(RECT));
    uint64_t addresses[2] = {0};
    uint32_t destination = destination_index(op);
    struct vidmm_reference list[2] = {{0}};
    uint32_t bytes;
    uint8_t *commands;
    NTSTATUS status = STATUS_SUCCESS;

    if (!context->kernels)
        status = vidmm_gdi_context_create(
            player->devices[context->device],
            player_node(player, player->workload->contexts[context->id].node), &context->kernels);
    if (!NT_SUCCESS(status))
        return status;
    commands = command_buffer(player, room);
    if (!commands)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < op->ref_count; i++) {
        bool is_written = i + 1 == op->ref_count;
        struct vidmm_reference *entry = &list[is_written ? destination : !destination];

        entry->allocation = player->allocations[refs[i].allocation].handle;
        entry->is_written = is_written;
        if (player->is_virtual)
            addresses[entry - list] = whole_va(player, submission, &refs[i]);
    }
    status = inform_oracle(player, submission);
    if (!NT_SUCCESS(status))
        return status;
    if (player->oracle)
        oracle_kernel_renders(player->oracle, submission->token);
    bytes = write_drawings(player, submission, commands);
    status = player->is_virtual
                 ? vidmm_render_gdi(context->kernels, commands, bytes, op->ref_count, list,
                                    addresses, player_submission_done, submission)
                 : vidmm_render_km(context->kernels, commands, bytes, op->ref_count, list,
                                   player_submission_done, submission);
    if (player->oracle)
        oracle_kernel_renders(player->oracle, 0);
    return status;
}

static NTSTATUS submit_present_somehow(struct player *player, struct submission *submission)
{
    NTSTATUS status = player->config.run->draws_presents ? submit_drawings(player, submission)
                                                         : STATUS_NOT_SUPPORTED;

    return status == STATUS_NOT_SUPPORTED ? submit_present(player, submission) : status;
}

/* The list of references for the manager, and the command that names them by their place in it. */
static NTSTATUS submit_physical(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    uint64_t foreign_bytes =
        player_is_foreign(player) ? player_foreign_command_bytes(player, op) : 0;
    uint64_t bytes = sizeof(struct sgpu_umd_render) + op->ref_count * sizeof(struct sgpu_umd_ref);
    struct sgpu_umd_render *render = command_buffer(player, max_u64(bytes, foreign_bytes));
    uint64_t tag = submission->first_key;
    struct vidmm_reference *list;
    NTSTATUS status;

    if (!render)
        return STATUS_NO_MEMORY;
    list = base_alloc_array(player->services, submission->allocation_count + 1, sizeof *list);
    if (!list)
        return STATUS_NO_MEMORY;
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        struct player_allocation *entry = &player->allocations[submission->ids[i]];

        entry->stamp = submission->token;
        entry->slot = i;
        list[i].allocation = submission->handles[i];
    }
    render->version = SGPU_UMD_VERSION;
    render->ref_count = op->ref_count;
    render->token = submission->token;
    render->duration_ns = player_op_duration(op);
    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t slot = player->allocations[refs[i].allocation].slot;

        list[slot].is_written |= (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0;
        render->refs[i] = (struct sgpu_umd_ref){
            .allocation_index = slot,
            .flags = access_flags(&refs[i]),
            .offset = refs[i].offset,
            .bytes = refs[i].size,
            .key = player_key_of(&refs[i], &tag),
            .index = i,
        };
    }
    status = cut(player, submission->context, render);
    if (NT_SUCCESS(status) && player_is_foreign(player)) {
        bytes = foreign_bytes;
        if (bytes && !player_foreign_command(player, submission, (uint8_t *)render, bytes))
            status = STATUS_NO_MEMORY;
    }
    if (NT_SUCCESS(status))
        status = inform_oracle(player, submission);
    if (NT_SUCCESS(status))
        status =
            vidmm_render(submission->context->handle, render, (uint32_t)bytes,
                         submission->allocation_count, list, player_submission_done, submission);
    base_free_array(player->services, list, submission->allocation_count + 1, sizeof *list);
    return status;
}

NTSTATUS player_hand_over(struct player *player, struct submission *submission)
{
    if (!player->is_virtual) {
        NTSTATUS status;

        player_inform_work(player, CHECK_CLIENT_QUEUED, submission);
        status = (rectangles_of(player, player_op(player, submission->op_index))
                      ? submit_present_somehow
                      : submit_physical)(player, submission);
        if (!NT_SUCCESS(status))
            player_inform_work(player, CHECK_CLIENT_ENDED, submission);
        return status;
    }
    if (player_is_foreign(player))
        return submit_virtual_foreign(player, submission);
    if (rectangles_of(player, player_op(player, submission->op_index)) &&
        is_seen_whole(player, submission)) {
        NTSTATUS status = submit_present_somehow(player, submission);

        if (status != STATUS_NOT_SUPPORTED)
            return status;
    }
    return submit_virtual(player, submission);
}
