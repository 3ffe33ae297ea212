/*
 * The way of a submission: waits, is made resident, handed over, runs, and ends. Nothing here
 * waits; player_pump() takes every submission as far as it goes now.
 */
#include "bench/play/player_private.h"

#include "base/bits.h"
#include "bench/board/gpu_plugin.h"
#include "check/report/decode.h"

#include <stdio.h>

/* ---- Ends ------------------------------------------------------------------------------------ */

/* The submission is no longer counted among those that ask for residency. */
static void leave_request(struct player *player, struct submission *submission)
{
    if (submission->is_requesting)
        player->requesting_count--;
    submission->is_requesting = false;
}

/*
 * Takes the submission out of its context and frees it. Allocations that the workload freed
 * meanwhile are destroyed.
 */
static void submission_remove(struct player *player, struct submission *submission)
{
    struct player_context *context = submission->context;
    bool was_running = submission->state == SUBMISSION_RUNNING;

    leave_request(player, submission);
    player_release_residency(player, submission);
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
 * Statuses with which work ends that was on a GPU that had to be reset, of a device in error, or of
 * an adapter that has ended. An application expects them.
 */
static bool is_reset(NTSTATUS status)
{
    return status == STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE ||
           status == STATUS_GRAPHICS_ADAPTER_WAS_RESET || status == STATUS_DEVICE_REMOVED;
}

/*
 * Others had the room, and this one cannot be tried again alone: the workload freed what it uses
 * when it had been started.
 */
static bool is_out_of_turn(const struct submission *submission, NTSTATUS status)
{
    return status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && submission->has_lost_reference &&
           !submission->is_alone;
}

static void submission_failed(struct player *player, struct submission *submission, NTSTATUS status)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    const char *context =
        workload_string(player->workload, player->workload->contexts[submission->context->id].name);
    struct run_finding *finding;

    bool is_expected = is_reset(status) || is_out_of_turn(submission, status) ||
                       (op->kind == WORKLOAD_OP_FAULT && player_fault_is_answered(player, status));

    player->result->failed_submissions += !is_expected;
    if (submission->is_known_to_oracle)
        oracle_submission_cancelled(player->oracle, submission->token);
    if (player->is_giving_up || is_expected) {
        player->result->aborted_submissions += is_expected;
        submission_remove(player, submission);
        return;
    }
    if (status == STATUS_GRAPHICS_NO_VIDEO_MEMORY && submission->needed) {
        finding = player_report_late(
            player, submission->op_index, &submission->refusal, status,
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
        player_report_late(player, submission->op_index, &submission->refusal, status,
                           "submission on context '%s' with %u references failed with status %s%s",
                           context, op->ref_count, decode_status(status).text, why);
    }
    submission_remove(player, submission);
}

/* False when the workload has freed one of them, and it was destroyed when this was started. */
static bool references_are_alive(const struct player *player, const struct submission *submission)
{
    if (submission->has_lost_reference)
        return false;
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        if (!player->allocations[submission->ids[i]].handle)
            return false;
    }
    return true;
}

/*
 * The submission has not run. When it is tried again, an allocation may be another instance than
 * it was, so the oracle is informed anew.
 */
static void make_oracle_forget(struct player *player, struct submission *submission)
{
    if (submission->is_known_to_oracle && player->config.run->renames)
        oracle_submission_cancelled(player->oracle, submission->token);
    submission->is_known_to_oracle &= !player->config.run->renames;
}

/*
 * A submission that the manager refused is tried again, tried again alone, or ended. The submission
 * is not with the manager. In the physical model the manager itself has waited for everything that
 * could make room.
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
        make_oracle_forget(player, submission);
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

/* What its process and its node have done; the first processes are counted alone. */
static void count_work(struct player *player, const struct player_context *context,
                       uint64_t duration_ns)
{
    const uint32_t node = player->workload->contexts[context->id].node;

    player->result->node_work_ns[node] += duration_ns;
    if (context->process < player->result->process_count) {
        struct run_process *process = &player->result->processes[context->process];

        process->submissions++;
        process->work_ns += duration_ns;
        process->ended_ns = machine_now(player->machine);
    }
}

static void submission_ended(struct player *player, struct submission *submission)
{
    NTSTATUS status = submission->status;

    player_forecast_done(player, submission->op_index);
    if (NT_SUCCESS(status)) {
        uint64_t duration_ns = player_op_duration(player_op(player, submission->op_index));

        if (submission->is_known_to_oracle)
            oracle_submission_retired(player->oracle, submission->token);
        player->result->submissions++;
        player->result->kernel_ns += duration_ns;
        player->step->submissions++;
        player->step->kernel_ns += duration_ns;
        count_work(player, submission->context, duration_ns);
        submission_remove(player, submission);
        return;
    }
    /* The submission did not run: back to its state before it was handed over, in its old place. */
    submission->state = SUBMISSION_WAITING;
    submission->context->running_count--;
    player->running_count--;
    player_release_residency(player, submission);
    for (unsigned i = 0; i < submission->allocation_count; i++) {
        player->allocations[submission->ids[i]].running_count--;
        player->allocations[submission->ids[i]].waiting_count++;
    }
    submission_refused(player, submission, status);
}

/* ---- The states ------------------------------------------------------------------------------ */

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

/* The manager has the submission: what the workload has freed is the manager's to keep or drop. */
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

/* Asks for all its allocations, resident. True unless the submission must wait for the answer. */
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
                                 submission->allocation_count, submission->handles,
                                 player_submission_done, submission, &submission->paging_fence);
    player_inform_request(
        player, CHECK_CLIENT_MAKE_RESIDENT, player->devices[submission->context->device],
        submission->allocation_count, submission->handles, status, submission->paging_fence);
    if (status == STATUS_PENDING)
        return submission->is_reported;
    submission->is_reported = true;
    submission->status = status;
    player_take_refusal(player, status, &submission->refusal);
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

static bool start(struct player *player, struct submission *submission)
{
    NTSTATUS status;

    if (submission->context->is_ring_locked && !vidmm_lock_is_settled(submission->context->ring)) {
        player->awaited_ring = submission->context->ring;
        return false;
    }
    if (player->is_virtual && !submission->ring_bytes &&
        !player_ring_take(submission->context, submission,
                          player_command_bytes(player, player_op(player, submission->op_index))))
        return false;
    vidmm_context_set_null_rendering(submission->context->handle,
                                     player_op_is_null(player_op(player, submission->op_index)));
    vidmm_context_set_redirected_present(submission->context->handle,
                                         player->config.run->presents_redirected &&
                                             submission->token % 2);
    vidmm_context_set_patch_input(
        submission->context->handle,
        player->config.run->names_allocations ||
            (player->config.plugin && gpu_plugin_names_allocations(player->config.plugin)));
    submission->is_reported = false;
    submission->state = SUBMISSION_RUNNING;
    status = player_hand_over(player, submission);
    if (!NT_SUCCESS(status)) {
        player_take_refusal(player, status, &submission->refusal);
        /*
         * From the start: a submission that must run alone would wait for the allocations that this
         * one holds resident.
         */
        submission->state = SUBMISSION_WAITING;
        leave_request(player, submission);
        player_release_residency(player, submission);
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
        if (submission->context->running_count >= player->queue_depth)
            return false; /* behind a backlog */
        if (player->alone && player->alone != submission)
            return false;
        if (submission->is_alone && (player->running_count || player->requesting_count))
            return false;
        if (!mappings_are_ready(player, submission) || is_in_error(player, submission))
            return false;
        submission->context->unasked_token =
            max_u64(submission->context->unasked_token, submission->token + 1);
        player_forecast_asked(player, submission->op_index);
        if (player->is_virtual)
            return request_residency(player, submission);
        return start(player, submission);
    case SUBMISSION_REQUESTING:
        return residency_answered(player, submission);
    case SUBMISSION_READY:
        if (is_in_error(player, submission) && !player->is_giving_up)
            return false;
        return start(player, submission);
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

/*
 * A submission that failed waits in its old place, and those behind it may have asked already. They
 * cannot overtake it, and it may have to run alone: they give back what they were given.
 */
static bool take_back_behind(struct player *player, struct player_context *context)
{
    const struct submission *first = first_not_running(context);
    struct submission *submission;
    bool did = false;

    list_for_each (submission, &context->submissions, struct submission, link) {
        bool is_answered = submission->state == SUBMISSION_READY ||
                           (submission->state == SUBMISSION_REQUESTING && submission->is_reported);

        if (submission->token >= context->unasked_token)
            break;
        if (submission == first || !is_answered)
            continue;
        submission->is_resident |=
            submission->state == SUBMISSION_REQUESTING && NT_SUCCESS(submission->status);
        submission->is_reported = false;
        submission->state = SUBMISSION_WAITING;
        leave_request(player, submission);
        player_release_residency(player, submission);
        did = true;
    }
    return did;
}

static bool pump_context(struct player *player, struct player_context *context)
{
    struct submission *submission, *following;
    bool did = false;

    list_for_each_safe (submission, following, &context->submissions, struct submission, link) {
        if (submission->token >= context->unasked_token)
            break;
        if (submission->state == SUBMISSION_RUNNING && submission->is_reported) {
            submission_ended(player, submission);
            did = true;
        }
    }
    did |= take_back_behind(player, context);
    /* Order within a context: nobody overtakes. A step that returns false may have ended it. */
    while (!player->is_window_open && (submission = first_not_running(context)) &&
           submission_step(player, submission))
        did = true;
    return did;
}

static bool is_invalid(const struct vidmm_context *handle)
{
    return handle && vidmm_context_is_invalid(handle);
}

/*
 * Other contexts take the place and the rings of invalid ones (HWQ-020), of all at once that are
 * queues of one context of the driver's, whose first one is made first and goes last. Where there
 * is no memory for one of them, all stay, and their work fails once more.
 */
static void renew_group(struct player *player, uint32_t first)
{
    const uint64_t limit = max_u64(player->config.run->queues_per_context, 1);
    struct {
        struct player_context *context;
        struct vidmm_context *former;
    } renewed[PLAYER_MOST_QUEUES];
    bool is_complete = true;
    unsigned members = 0, count = 0;

    for (uint32_t c = first; members < limit && c < player->workload->context_count; c++) {
        struct player_context *context = &player->contexts[c];
        struct vidmm_context *former = context->handle;

        if (player_first_context(player, c) != first)
            continue;
        members++;
        if (!is_invalid(former))
            continue;
        ASSERT(count < PLAYER_MOST_QUEUES);
        is_complete = NT_SUCCESS(player_context_make(player, c));
        if (!is_complete) {
            context->handle = former;
            break;
        }
        renewed[count].context = context;
        renewed[count++].former = former;
    }
    while (count-- > 0) {
        struct vidmm_context *left = renewed[count].former;

        if (!is_complete) {
            left = renewed[count].context->handle;
            renewed[count].context->handle = renewed[count].former;
        }
        vidmm_context_destroy(left);
    }
}

static void renew_invalid(struct player *player, uint32_t device)
{
    for (uint32_t c = 0; c < player->workload->context_count; c++) {
        if (player->contexts[c].device == device && player_first_context(player, c) == c)
            renew_group(player, c);
    }
}

static bool is_updating(const struct player_context *context)
{
    return context->handle && vidmm_context_is_invalid(context->handle) &&
           vidmm_context_has_tile_updates(context->handle);
}

static void revive_devices(struct player *player)
{
    for (uint32_t d = 0; d < player->workload->device_count; d++) {
        bool is_running = false;

        if (!player->devices[d] || !vidmm_device_is_in_error(player->devices[d]))
            continue;
        for (uint32_t c = 0; c < player->workload->context_count; c++)
            is_running |= player->contexts[c].device == d &&
                          (player->contexts[c].running_count || is_updating(&player->contexts[c]));
        if (is_running)
            continue;
        vidmm_device_clear_error(player->devices[d]);
        renew_invalid(player, d);
        player->result->device_errors++;
    }
}

void player_context_stirs(struct player *player, const struct player_context *context)
{
    player->stirring_contexts[context->id / 64] |= UINT64_C(1) << context->id % 64;
}

/* The first stirring context from this one on; NULL when there is none. */
static struct player_context *next_stirring(const struct player *player, uint32_t first)
{
    for (uint32_t word = first / 64; word * 64 < player->workload->context_count; word++) {
        uint64_t bits = player->stirring_contexts[word];

        if (word == first / 64)
            bits &= ~low_mask_u64(first % 64);
        if (bits)
            return &player->contexts[word * 64 + ctz_u64(bits)];
    }
    return NULL;
}

/* A context with a submission that does not run goes on stirring: anything may be what it awaits.
 */
static bool pump_stirring(struct player *player, struct player_context *context)
{
    bool did;

    player->stirring_contexts[context->id / 64] &= ~(UINT64_C(1) << context->id % 64);
    did = pump_context(player, context);
    if (context->count > context->running_count)
        player_context_stirs(player, context);
    return did;
}

bool player_pump(struct player *player)
{
    bool did = false, again = true;

    if (player->is_pumping)
        return false;
    player->is_pumping = true;
    while (again && !player->is_window_open) {
        struct player_context *context;

        again = false;
        revive_devices(player);
        for (uint32_t i = 0; (context = next_stirring(player, i)) && !player->is_window_open;
             i = context->id + 1)
            again |= pump_stirring(player, context);
        did |= again;
    }
    player->is_pumping = false;
    return did;
}

void player_queue(struct player *player, struct player_context *context,
                  struct submission *submission)
{
    if (context->process < player->result->process_count) {
        struct run_process *process = &player->result->processes[context->process];

        if (!process->queued++)
            process->begun_ns = machine_now(player->machine);
    }
    submission->context = context;
    list_push_back(&context->submissions, &submission->link);
    context->count++;
    player_context_stirs(player, context);
    player_pump(player);
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
