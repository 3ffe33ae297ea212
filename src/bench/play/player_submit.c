/*
 * The way of a submission: queued, made resident, written, submitted, ended.
 */
#include "bench/play/player_private.h"

#include "base/assert.h"
#include "bench/board/gpu_plugin.h"
#include "miniport/miniport.h"

#include <drydock/sgpu.h>

#include <stdio.h>
#include <string.h>

/* ---- Contexts -------------------------------------------------------------------------------- */

NTSTATUS player_context_open(struct player *player, uint32_t id)
{
    const struct workload_context *source = &player->workload->contexts[id];
    struct player_context *context = &player->contexts[id];
    const struct sgpu_umd_context data = {
        .version = SGPU_UMD_VERSION,
        .flags = (source->save.is_local ? SGPU_UMD_SAVE_LOCAL : 0u) |
                 (source->save.is_mapped ? SGPU_UMD_SAVE_MAPPED : 0u) |
                 (source->save.is_shared ? SGPU_UMD_SAVE_SHARED : 0u) |
                 (source->save.has_cpu_image ? SGPU_UMD_SAVE_CPU_IMAGE : 0u),
        .save_bytes = source->save.bytes,
    };
    /* Drivers of the IoMmu model have no context allocations. */
    bool may_save = !player->is_virtual || player->has_page_tables;
    uint32_t data_bytes = source->save.bytes && may_save ? sizeof data : 0;
    const void *told = data_bytes ? &data : NULL;
    uint32_t bare_bytes = 0;
    uint8_t *bare_data = NULL;
    unsigned attempts = 0;
    NTSTATUS status;

    context->id = id;
    context->device = source->device;
    context->process = player->workload->devices[source->device].process;
    if (player_is_bare(player)) {
        player_bare_context(player, id, &bare_data, &bare_bytes);
        told = bare_data;
        data_bytes = bare_bytes;
    }
    do {
        status =
            vidmm_context_create(player->devices[source->device], player_node(player, source->node),
                                 told, data_bytes, &context->handle);
    } while (player_should_repeat(player, status, &attempts));
    base_free(player->services, bare_data, bare_bytes);
    if (!NT_SUCCESS(status) || !player->is_virtual)
        return status;
    return player_ring_open(player, context);
}

bool player_context_close(struct player *player, struct player_context *context)
{
    if (!player_wait_context(player, context))
        return false;
    if (!context->ring)
        return true;
    if (context->is_ring_locked) {
        player_tell_of(player, CHECK_CLIENT_UNLOCK, context->ring, STATUS_SUCCESS);
        vidmm_unlock(context->ring);
    }
    if (context->is_ring_resident)
        player_evict(player, player->devices[context->device], 1, &context->ring);
    player_tell_of(player, CHECK_CLIENT_DESTROY, context->ring, STATUS_SUCCESS);
    vidmm_allocation_destroy(context->ring);
    context->ring = NULL;
    return true;
}

/* ---- Making commands ------------------------------------------------------------------------- */

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

uint64_t player_key_of(const struct workload_ref *ref, uint64_t *tag)
{
    uint64_t first = align_down(ref->offset, PAGE_BYTES);
    uint64_t key;

    if (!(ref->access & WORKLOAD_ACCESS_WRITE))
        return 0;
    if (ref->key)
        return ref->key;
    key = *tag;
    *tag += bytes_to_pages(ref->offset + ref->size - first);
    return key;
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

/* Tells the oracle, once a submission. */
static NTSTATUS tell_oracle(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    struct oracle_reference *list;
    uint64_t tag = submission->first_key;
    NTSTATUS status;

    if (!player->oracle || submission->is_told || (op->flags & WORKLOAD_SUBMIT_NULL) ||
        (player_is_bare(player) && !player_follows_work(player)))
        return STATUS_SUCCESS; /* what does not run, or is not seen to, changes nothing */
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
    submission->is_told = NT_SUCCESS(status);
    return status;
}

static void release_residency(struct player *player, struct submission *submission)
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
static void submission_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct submission *submission = context;

    submission->is_reported = true;
    submission->status = status;
    submission->needed = needed;
    submission->available = available;
    submission->player->needs_pump = true;
    if (submission->state == SUBMISSION_REQUESTING)
        player_tell_request(submission->player, CHECK_CLIENT_RESIDENT,
                            submission->player->devices[submission->context->device],
                            submission->allocation_count, submission->handles, status,
                            submission->paging_fence);
    if (submission->state == SUBMISSION_RUNNING)
        release_residency(submission->player, submission);
}

/* The same for a driver whose commands are the run's template. */
static NTSTATUS submit_virtual_bare(struct player *player, struct submission *submission)
{
    struct player_context *context = submission->context;
    uint64_t bytes = player_bare_command_bytes(player, player_op(player, submission->op_index));
    uint8_t *command = bytes ? command_buffer(player, bytes) : NULL;
    NTSTATUS status;

    if (bytes && (!command || !player_bare_command(player, submission, command, bytes)))
        return STATUS_NO_MEMORY;
    if (!player_ring_write(player, context, submission->ring_start, command, bytes))
        return STATUS_UNSUCCESSFUL;
    status = tell_oracle(player, submission);
    if (!NT_SUCCESS(status))
        return status;
    return vidmm_submit_virtual(context->handle, context->ring_mapping.va + submission->ring_start,
                                (uint32_t)bytes, submission_done, submission);
}

/* Writes the command buffer at ring_start and hands it over. */
static NTSTATUS submit_virtual(struct player *player, struct submission *submission)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const struct workload_ref *refs = refs_of(player, submission);
    struct player_context *context = submission->context;
    uint64_t bytes =
        sizeof(struct sgpu_packet_render) + op->ref_count * sizeof(struct sgpu_render_ref);
    struct sgpu_packet_render *packet = command_buffer(player, player_command_bytes(player, op));
    uint64_t tag = submission->first_key;
    NTSTATUS status;

    if (!packet)
        return STATUS_NO_MEMORY;
    packet->header = SGPU_PACKET_HEADER(SGPU_OP_RENDER, bytes / 4);
    packet->token = submission->token;
    packet->duration_ns = op->value;
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
    bytes += player_put_signal(player, op, (uint8_t *)packet + bytes);
    if (!player_ring_write(player, context, submission->ring_start, (const uint8_t *)packet, bytes))
        return STATUS_UNSUCCESSFUL;
    status = tell_oracle(player, submission);
    if (!NT_SUCCESS(status))
        return status;
    return vidmm_submit_virtual(context->handle, context->ring_mapping.va + submission->ring_start,
                                (uint32_t)bytes, submission_done, submission);
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
    uint64_t bare_bytes = player_is_bare(player) ? player_bare_command_bytes(player, op) : 0;
    uint64_t bytes = sizeof(struct sgpu_umd_render) + op->ref_count * sizeof(struct sgpu_umd_ref);
    struct sgpu_umd_render *render = command_buffer(player, max_u64(bytes, bare_bytes));
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
    render->duration_ns = op->value;
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
    if (player_is_bare(player)) {
        bytes = bare_bytes;
        if (bytes && !player_bare_command(player, submission, (uint8_t *)render, bytes))
            status = STATUS_NO_MEMORY;
    }
    if (NT_SUCCESS(status))
        status = tell_oracle(player, submission);
    if (NT_SUCCESS(status))
        status = vidmm_render(submission->context->handle, render, (uint32_t)bytes,
                              submission->allocation_count, list, submission_done, submission);
    base_free_array(player->services, list, submission->allocation_count + 1, sizeof *list);
    return status;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* It no longer asks for residency, nor holds what it got without running. */
static void leave_request(struct player *player, struct submission *submission)
{
    if (submission->is_requesting)
        player->requesting_count--;
    submission->is_requesting = false;
}

/* Takes it out of its context and forgets it; what was freed meanwhile can go. */
static void submission_remove(struct player *player, struct submission *submission)
{
    struct player_context *context = submission->context;
    bool was_running = submission->state == SUBMISSION_RUNNING;

    leave_request(player, submission);
    release_residency(player, submission);
    if (was_running) {
        context->running_count--;
        player->running_count--;
    }
    context->count--;
    list_remove(&submission->link);
    if (player->alone == submission)
        player->alone = NULL;
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        struct player_allocation *entry = &player->allocations[submission->ids[i]];

        if (was_running)
            entry->running_count--;
        else
            entry->waiting_count--;
        if (entry->is_freed)
            player_bury(player, submission->ids[i]);
    }
    base_free(player->services, submission, submission->bytes);
    player->needs_pump = true;
}

/*
 * With a GPU that had to be reset, of a device in error, or of an adapter that has ended: what an
 * application expects.
 */
static bool is_reset(NTSTATUS status)
{
    return status == STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE ||
           status == STATUS_GRAPHICS_ADAPTER_WAS_RESET || status == STATUS_DEVICE_REMOVED;
}

static void submission_failed(struct player *player, struct submission *submission, NTSTATUS status)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const char *context =
        workload_string(player->workload, player->workload->contexts[submission->context->id].name);
    struct run_finding *finding;

    player->result->failed_submissions += !is_reset(status);
    if (submission->is_told)
        oracle_submission_cancelled(player->oracle, submission->token);
    if (player->is_giving_up || is_reset(status)) {
        player->result->aborted_submissions += is_reset(status);
        submission_remove(player, submission);
        return;
    }
    if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && submission->needed) {
        finding = player_report(
            player, submission->op_index,
            "submission on context '%s' does not fit: its %u allocations need %llu bytes, %llu are "
            "available%s",
            context, submission->allocation_count, (unsigned long long)submission->needed,
            (unsigned long long)submission->available,
            submission->needed <= submission->available ? ", but in pieces" : "");
        if (finding) {
            finding->needed = submission->needed;
            finding->available = submission->available;
        }
    } else {
        struct vidmm_render_limits limits;
        char why[160] = "";

        vidmm_render_limits(submission->context->handle, &limits);

        if (status == STATUS_NO_MEMORY)
            snprintf(why, sizeof why, ": out of system memory, of which %llu bytes are free",
                     (unsigned long long)machine_free_page_count(player->machine) * PAGE_BYTES);
        else if (!player->is_virtual && submission->allocation_count > limits.references)
            snprintf(why, sizeof why,
                     ": they are %u allocations, and the driver's allocation list has %u entries",
                     submission->allocation_count, limits.references);
        else if (!player->is_virtual && status == STATUS_INVALID_USER_BUFFER)
            snprintf(why, sizeof why,
                     ": as one command they fill more than the driver's DMA buffer of %u bytes or "
                     "patch list of %u entries",
                     limits.dma_bytes, limits.patch_locations);
        player_report(player, submission->op_index,
                      "submission on context '%s' with %u references failed with status 0x%08x%s",
                      context, op->ref_count, (unsigned)status, why);
    }
    submission_remove(player, submission);
}

/* False when the workload has freed one of them, and it was destroyed when this was started. */
static bool references_are_alive(const struct player *player, const struct submission *submission)
{
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        if (!player->allocations[submission->ids[i]].handle)
            return false;
    }
    return true;
}

/* It has not run. When it is tried again, an allocation may be another instance than it was. */
static void forget_told(struct player *player, struct submission *submission)
{
    if (submission->is_told && player->config.run->renames)
        oracle_submission_cancelled(player->oracle, submission->token);
    submission->is_told &= !player->config.run->renames;
}

/*
 * What a failure of the manager means: another try, another try alone, or the end of this
 * submission. The submission is not with the manager. In the physical model the manager itself
 * has waited for everything that could make room.
 */
static void submission_refused(struct player *player, struct submission *submission,
                               NTSTATUS status)
{
    bool others =
        player->running_count || player->requesting_count > (submission->is_requesting ? 1u : 0u);

    submission->is_reported = false;
    if (!references_are_alive(player, submission)) {
        submission_failed(player, submission, status);
    } else if (player_should_repeat(player, status, &submission->attempts)) {
        forget_told(player, submission);
        player->needs_pump = true;
    } else if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && player->is_virtual &&
               !submission->is_alone && (others || player->alone)) {
        if (!player->alone) {
            player->alone = submission;
            submission->is_alone = true;
            player->result->retried_submissions++;
        }
        player->needs_pump = true; /* the one that runs alone may have waited for this */
    } else {
        submission_failed(player, submission, status);
    }
}

static void submission_ended(struct player *player, struct submission *submission)
{
    NTSTATUS status = submission->status;

    if (NT_SUCCESS(status)) {
        uint64_t duration_ns = player_op(player, submission->op_index)->value;

        if (submission->is_told)
            oracle_submission_retired(player->oracle, submission->token);
        player->result->submissions++;
        player->result->kernel_ns += duration_ns;
        player->step->submissions++;
        player->step->kernel_ns += duration_ns;
        submission_remove(player, submission);
        return;
    }
    /* It did not run: back to where it was before it was handed over, at its place in the order. */
    submission->state = SUBMISSION_WAITING;
    submission->context->running_count--;
    player->running_count--;
    release_residency(player, submission);
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        player->allocations[submission->ids[i]].running_count--;
        player->allocations[submission->ids[i]].waiting_count++;
    }
    submission_refused(player, submission, status);
}

/* ---- The pump -------------------------------------------------------------------------------- */

static bool mappings_are_ready(const struct player *player, const struct submission *submission)
{
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        const struct player_mapping *mapping = player->allocations[submission->ids[i]].mappings;

        for (; mapping; mapping = mapping->next) {
            if (!mapping->is_ready)
                return false;
        }
    }
    return true;
}

/* It is with the manager: what the workload has freed is the manager's to keep or drop. */
static void submission_started(struct player *player, struct submission *submission)
{
    leave_request(player, submission);
    submission->context->running_count++;
    player->running_count++;
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        struct player_allocation *entry = &player->allocations[submission->ids[i]];

        entry->waiting_count--;
        entry->running_count++;
    }
    /* Burying takes allocations out of the list: from the end. */
    for (unsigned i = submission->allocation_count; i-- > 0;) {
        if (player->allocations[submission->ids[i]].is_freed)
            player_bury(player, submission->ids[i]);
    }
}

/* Asks for everything. True unless it must wait. */
static bool request_residency(struct player *player, struct submission *submission)
{
    NTSTATUS status;

    submission->is_reported = false;
    submission->state = SUBMISSION_REQUESTING;
    if (!submission->allocation_count) {
        submission->state = SUBMISSION_READY;
        return true;
    }
    submission->is_requesting = true;
    player->requesting_count++;
    status = vidmm_make_resident(player->devices[submission->context->device],
                                 submission->allocation_count, submission->handles, submission_done,
                                 submission, &submission->paging_fence);
    player_tell_request(player, CHECK_CLIENT_MAKE_RESIDENT,
                        player->devices[submission->context->device], submission->allocation_count,
                        submission->handles, status, submission->paging_fence);
    if (status == STATUS_PENDING)
        return submission->is_reported;
    submission->is_reported = true;
    submission->status = status;
    return true;
}

static bool residency_answered(struct player *player, struct submission *submission)
{
    if (!submission->is_reported)
        return false;
    submission->is_reported = false;
    if (NT_SUCCESS(submission->status)) {
        submission->is_resident = true;
        submission->state = SUBMISSION_READY;
        return true;
    }
    submission->state = SUBMISSION_WAITING;
    leave_request(player, submission);
    submission_refused(player, submission, submission->status);
    return false;
}

static bool hand_over(struct player *player, struct submission *submission)
{
    NTSTATUS status;

    if (player->is_virtual && !submission->ring_bytes &&
        !player_ring_take(submission->context, submission,
                          player_command_bytes(player, player_op(player, submission->op_index))))
        return false;
    vidmm_context_set_null_rendering(
        submission->context->handle,
        (player_op(player, submission->op_index)->flags & WORKLOAD_SUBMIT_NULL) != 0);
    vidmm_context_set_patch_input(
        submission->context->handle,
        player->config.run->names_allocations ||
            (player->config.plugin && gpu_plugin_names_allocations(player->config.plugin)));
    submission->is_reported = false;
    submission->state = SUBMISSION_RUNNING;
    status = !player->is_virtual      ? submit_physical(player, submission)
             : player_is_bare(player) ? submit_virtual_bare(player, submission)
                                      : submit_virtual(player, submission);
    if (!NT_SUCCESS(status)) {
        /* From the start: one that must run alone would wait for what this one holds resident. */
        submission->state = SUBMISSION_WAITING;
        leave_request(player, submission);
        release_residency(player, submission);
        submission_refused(player, submission, status);
        return false;
    }
    submission_started(player, submission);
    return true;
}

static bool is_in_error(const struct player *player, const struct submission *submission)
{
    return vidmm_device_is_in_error(player->devices[submission->context->device]);
}

/* Moves the first submission that does not run one state on; false when it must wait. */
static bool submission_step(struct player *player, struct submission *submission)
{
    switch (submission->state) {
    case SUBMISSION_WAITING:
        if (player->is_giving_up) {
            submission_failed(player, submission,
                              player->has_ended ? STATUS_DEVICE_REMOVED : STATUS_UNSUCCESSFUL);
            return false;
        }
        if (player->alone && player->alone != submission)
            return false;
        if (submission->is_alone && (player->running_count || player->requesting_count))
            return false;
        if (!mappings_are_ready(player, submission) || is_in_error(player, submission))
            return false;
        if (player->is_virtual)
            return request_residency(player, submission);
        return hand_over(player, submission);
    case SUBMISSION_REQUESTING:
        return residency_answered(player, submission);
    case SUBMISSION_READY:
        if (is_in_error(player, submission) && !player->is_giving_up)
            return false;
        return hand_over(player, submission);
    case SUBMISSION_RUNNING:
        break;
    }
    return false;
}

static struct submission *first_not_running(struct player_context *context)
{
    struct submission *submission;

    list_for_each (submission, &context->submissions, struct submission, link) {
        if (submission->state != SUBMISSION_RUNNING)
            return submission;
    }
    return NULL;
}

static bool pump_context(struct player *player, struct player_context *context)
{
    struct submission *submission, *following;
    bool did = false;

    list_for_each_safe (submission, following, &context->submissions, struct submission, link) {
        if (submission->state == SUBMISSION_RUNNING && submission->is_reported) {
            submission_ended(player, submission);
            did = true;
        }
    }
    /* Order within a context: nobody overtakes. A step that returns false may have ended it. */
    while ((submission = first_not_running(context)) && submission_step(player, submission))
        did = true;
    return did;
}

bool player_pump(struct player *player)
{
    bool did = false, again = true;

    if (player->is_pumping)
        return false;
    player->is_pumping = true;
    while (again) {
        again = false;
        player_revive_devices(player);
        for (uint32_t i = 0; i < player->workload->context_count; i++)
            again |= pump_context(player, &player->contexts[i]);
        did |= again;
    }
    player->is_pumping = false;
    return did;
}

/* ---- From the workload ----------------------------------------------------------------------- */

bool player_wait_context(struct player *player, struct player_context *context)
{
    while (context->count) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

/* GpuMmu: a mapping for every reference, made now where a process sees the allocation first. */
static bool map_references(struct player *player, uint32_t op_index, uint32_t process)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct workload_ref *refs = player->workload->refs + op->first_ref;

    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t id = refs[i].allocation;
        const struct workload_allocation *allocation = &player->workload->allocations[id];
        const char *name = workload_allocation_name(player->workload, id);
        struct player_allocation *entry = &player->allocations[id];
        uint64_t bytes;
        NTSTATUS status;

        if (player_find_mapping(player, id, process, refs[i].offset, refs[i].size,
                                (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0))
            continue;
        if ((allocation->flags & WORKLOAD_ALLOCATION_NOMAP) ||
            player->workload->devices[allocation->device].process == process) {
            player_report(player, op_index,
                          "submission refers to [0x%llx, 0x%llx) of '%s', which is not mapped",
                          (unsigned long long)refs[i].offset,
                          (unsigned long long)(refs[i].offset + refs[i].size), name);
            return false;
        }
        bytes = vidmm_allocation_size(entry->handle);
        if (!player_map(player, id, process, 0, bytes, player_choose_va(player, bytes), 0, 0,
                        &status)) {
            player_report(player, op_index, "'%s' cannot be mapped: status 0x%08x", name,
                          (unsigned)status);
            return false;
        }
    }
    return true;
}

/* The distinct allocations that the operation refers to; NULL without memory. */
static struct submission *submission_create(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct workload_ref *refs = player->workload->refs + op->first_ref;
    size_t bytes = sizeof(struct submission) +
                   op->ref_count * (sizeof(struct vidmm_allocation *) + sizeof(uint32_t));
    struct submission *submission = base_alloc(player->services, bytes);

    if (!submission)
        return NULL;
    submission->player = player;
    submission->bytes = bytes;
    submission->op_index = op_index;
    submission->token = player->next_token++;
    submission->first_key = player->next_tag;
    submission->ids = (uint32_t *)(submission->handles + op->ref_count);
    list_init(&submission->link);
    for (uint32_t i = 0; i < op->ref_count; i++) {
        struct player_allocation *entry = &player->allocations[refs[i].allocation];

        if ((refs[i].access & WORKLOAD_ACCESS_WRITE) && !refs[i].key)
            player_take_tags(player, refs[i].offset, refs[i].size);
        if (entry->stamp == submission->token)
            continue;
        entry->stamp = submission->token;
        submission->ids[submission->allocation_count] = refs[i].allocation;
        submission->handles[submission->allocation_count++] = entry->handle;
        entry->waiting_count++;
    }
    return submission;
}

bool player_submit(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_context *context = &player->contexts[op->object];
    struct submission *submission;

    while (context->count >= player->queue_depth) {
        if (!player_advance(player))
            return false;
    }
    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;

        if (player->allocations[id].handle)
            continue;
        player->result->failed_submissions++;
        player_report(player, op_index, "submission refers to '%s', which could not be created",
                      workload_allocation_name(player->workload, id));
        return true;
    }
    if (player->is_virtual && !map_references(player, op_index, context->process)) {
        player->result->failed_submissions++;
        return true;
    }
    if (player_is_bare(player) && !player_follows_work(player) &&
        !player_bare_write(player, op_index))
        return false;
    submission = submission_create(player, op_index);
    if (!submission)
        return player_stop_with(player, PLAYER_OBJECT,
                                "no memory for a submission of %u references", op->ref_count);
    submission->context = context;
    list_push_back(&context->submissions, &submission->link);
    context->count++;
    player_pump(player);
    return player->stop == PLAYER_NOT_STOPPED;
}

uint32_t player_line_of(const struct player *player, uint64_t token)
{
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        const struct submission *submission;

        list_for_each (submission, &player->contexts[i].submissions, struct submission, link) {
            if (submission->token == token)
                return player_op(player, submission->op_index)->line;
        }
    }
    return 0;
}

void player_give_up(struct player *player)
{
    player->has_ended = player->stop == PLAYER_ENDED;
    player->stop = PLAYER_NOT_STOPPED;
    player->is_giving_up = true;
    player->quiet_events = 0;
    if (!player->has_ended) {
        player_tell_hang(player, 0);
        player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_GONE});
        vidmm_abort(player->vidmm, STATUS_UNSUCCESSFUL);
    }
    player->needs_pump = true;
}

void player_release_running(struct player *player, uint32_t allocation)
{
    struct player_allocation *entry = &player->allocations[allocation];
    struct submission *submission;

    for (uint32_t c = 0; player->is_virtual && c < player->workload->context_count; c++) {
        list_for_each (submission, &player->contexts[c].submissions, struct submission, link) {
            for (unsigned i = 0; submission->is_resident && i < submission->allocation_count; i++) {
                unsigned last = submission->allocation_count - 1;

                if (submission->ids[i] != allocation)
                    continue;
                player_evict(player, player->devices[player->contexts[c].device], 1,
                             &entry->handle);
                memmove(&submission->ids[i], &submission->ids[i + 1],
                        (last - i) * sizeof submission->ids[0]);
                memmove(&submission->handles[i], &submission->handles[i + 1],
                        (last - i) * sizeof submission->handles[0]);
                submission->allocation_count--;
                entry->running_count--;
                break;
            }
        }
    }
}

void player_abandon_submissions(struct player *player)
{
    for (uint32_t c = 0; c < player->workload->context_count; c++) {
        struct submission *submission, *following;

        list_for_each_safe (submission, following, &player->contexts[c].submissions,
                            struct submission, link) {
            list_remove(&submission->link);
            base_free(player->services, submission, submission->bytes);
        }
    }
}
