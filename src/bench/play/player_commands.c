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

/* Informs the oracle of what the submission will read and write, once. */
static NTSTATUS inform_oracle(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    struct oracle_reference *list;
    uint64_t tag = submission->first_key;
    NTSTATUS status;

    if (!player->oracle || submission->is_known_to_oracle || player_op_is_null(op) ||
        (player_is_foreign(player) && !player_follows_work(player)))
        return STATUS_SUCCESS; /* work that does not run, or is not followed, changes nothing */
    list = base_alloc_array(player->services, op->ref_count + 1, sizeof *list);
    if (!list)
        return STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < op->ref_count; i++) {
        list[i] = (struct oracle_reference){
            .allocation = refs[i].allocation,
            .offset = refs[i].offset,
            .bytes = refs[i].size,
            .key = player_key_of(&refs[i], &tag),
            .is_read = (refs[i].access & WORKLOAD_ACCESS_READ) != 0,
            .is_written = (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0,
        };
    }
    status = oracle_submission(player->oracle, submission->token, op->ref_count, list);
    base_free_array(player->services, list, op->ref_count + 1, sizeof *list);
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
           (uint64_t)op->ref_count * sizeof(struct sgpu_render_ref) +
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

/* A RENDER packet with addresses, and a packet for the signal of a fence if the line has one. */
static NTSTATUS submit_virtual(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    struct player_context *context = submission->context;
    struct sgpu_packet_render *packet = command_buffer(player, player_command_bytes(player, op));
    uint64_t tag = submission->first_key;
    uint64_t bytes;
    NTSTATUS status;

    if (!packet)
        return STATUS_NO_MEMORY;
    packet->token = submission->token;
    packet->duration_ns = player_op_duration(op);
    packet->ref_count = op->ref_count;
    for (uint32_t i = 0; i < op->ref_count; i++) {
        const struct player_mapping *mapping =
            player_find_mapping(player, refs[i].allocation, context->process, refs[i].offset,
                                refs[i].size, (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0);

        if (!mapping) /* unmapped since the submission was queued */
            return STATUS_INVALID_PARAMETER;
        if (!NT_SUCCESS(mapping->status))
            return mapping->status;
        packet->refs[i] = (struct sgpu_render_ref){
            .address = mapping->va + (refs[i].offset - mapping->offset),
            .bytes = refs[i].size,
            .key = player_key_of(&refs[i], &tag),
            .flags = access_flags(&refs[i]),
            .index = i,
        };
    }
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
 * Where the render may be interrupted: after at least so many references, as the run says, and
 * where no allocation is referred to on both sides. The slots of the allocations follow each other
 * in the order of their first reference.
 */
static void mark_pieces(const struct player *player, struct sgpu_umd_render *render)
{
    uint32_t piece = player->config.run->render_piece_refs;
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
    mark_pieces(player, render);
    status = STATUS_SUCCESS;
    if (player_is_foreign(player)) {
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
        status = submit_physical(player, submission);
        if (!NT_SUCCESS(status))
            player_inform_work(player, CHECK_CLIENT_ENDED, submission);
        return status;
    }
    return player_is_foreign(player) ? submit_virtual_foreign(player, submission)
                                     : submit_virtual(player, submission);
}
