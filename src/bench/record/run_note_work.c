/*
 * Notes of work: requests for residency, submissions, and packets.
 */
#include "bench/record/run_note_private.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Requests -------------------------------------------------------------------------------- */

static struct run_record_submission *submission_of(struct run_record_manager *manager,
                                                   uint64_t number)
{
    for (size_t i = 0; number && i < manager->submission_count; i++) {
        if (manager->submissions[i].number == number)
            return &manager->submissions[i];
    }
    return NULL;
}

#define FEW 64u

void run_note_request(struct run_record_manager *manager, const struct vidmm_note_request *noted)
{
    struct run_record_submission *submission = submission_of(manager, noted->submission);
    struct run_record_fence *fence =
        noted->fence_value
            ? run_note_fence_of(manager, true, run_note_number_of(manager, noted->device))
            : NULL;
    size_t count = noted->allocations && !submission ? noted->count : 0;
    struct record_request_group few[FEW], *groups = few;

    if (submission)
        submission->request = run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->number);
    if (fence) {
        fence->requests[noted->fence_value % FENCE_REQUESTS].value = noted->fence_value;
        fence->requests[noted->fence_value % FENCE_REQUESTS].request =
            run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->number);
    }
    if (count > FEW)
        groups = malloc(count * sizeof *groups);
    if (!groups)
        count = 0;
    for (size_t i = 0; i < count; i++)
        groups[i].allocation = run_note_number_of(manager, noted->allocations[i]);
    RECORD_ITEM_WITH(
        manager->record->record, request, run_record_now(manager->record), groups, count,
        .number = run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->number),
        .process = run_note_process_of(manager, noted->device),
        .context = submission ? submission->context : 0, .allocations = noted->count,
        .why = run_note_word(manager, vidmm_request_name(noted->kind)),
        .submission = run_note_numbered(manager, RUN_RECORD_SUBMISSIONS, noted->submission),
        .fence_value = noted->fence_value, .at_once = noted->at_once);
    if (groups != few)
        free(groups);
}

void run_note_request_waits(struct run_record_manager *manager,
                            const struct vidmm_note_request_waits *noted)
{
    const char *type = "";
    uint64_t object = 0;

    switch (noted->wait) {
    case VIDMM_WAIT_REQUEST:
        type = "request";
        object = run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->request);
        break;
    case VIDMM_WAIT_TURN:
        type = "process";
        object = run_note_number_of(manager, noted->process);
        break;
    case VIDMM_WAIT_DEPARTURE:
    case VIDMM_WAIT_LOCK:
        type = "allocation";
        object = run_note_number_of(manager, noted->allocation.named);
        break;
    case VIDMM_WAIT_ROOM:
    case VIDMM_WAIT_TABLES:
    case VIDMM_WAIT_COMPACTION:
        type = "segment";
        object = noted->segment;
        break;
    default:
        break;
    }
    ITEM(manager, request_waits,
         .number = run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->number),
         .reason = run_note_word(manager, vidmm_wait_name(noted->wait)),
         .object_type = run_note_word(manager, type), .object = object);
}

void run_note_victim(struct run_record_manager *manager, const struct vidmm_note_victim *noted)
{
    char why[160];

    /* In the policy's words: which group, and how it won. */
    snprintf(why, sizeof why, "%s: %s%s", noted->reason,
             noted->group == VIDMM_VICTIM_PRIORITY ? "lowest priority, " : "",
             noted->compared > 1                    ? noted->policy
             : noted->group == VIDMM_VICTIM_OFFERED ? "first offered"
                                                    : "least recently used");
    ITEM(manager, victim,
         .request = run_note_numbered(manager, RUN_RECORD_REQUESTS, noted->request),
         .allocation = run_note_number_of(manager, noted->allocation.named),
         .segment = noted->segment, .why = record_text(manager->record->record, why),
         .rank = noted->passed_over + 1, .last_use = noted->last_use);
}

/* ---- Submissions and packets ----------------------------------------------------------------- */

void run_note_submission(struct run_record_manager *manager,
                         const struct vidmm_note_submission *noted)
{
    struct run_record_submission submission = {
        .number = noted->number,
        .context = run_note_number_of(manager, noted->context),
        .time_ns = run_record_now(manager->record),
        .node = noted->node,
        .is_present = noted->is_present,
    };

    if (manager->submission_count == manager->submission_room &&
        !run_note_grow((void **)&manager->submissions, &manager->submission_room,
                       sizeof submission))
        return;
    if (noted->reference_count)
        submission.references = malloc(noted->reference_count * sizeof *submission.references);
    for (unsigned i = 0; submission.references && i < noted->reference_count; i++) {
        const struct vidmm_reference *reference = &noted->references[i];

        if (reference->allocation)
            submission.references[submission.reference_count++] = (struct record_submission_group){
                .allocation = run_note_number_of(manager, reference->allocation),
                .is_write = reference->is_written};
    }
    manager->submissions[manager->submission_count++] = submission;
}

void run_note_put_submission(struct run_record_manager *manager,
                             const struct run_record_submission *submission, uint32_t fence,
                             uint64_t packet)
{
    RECORD_ITEM_WITH(manager->record->record, submission, submission->time_ns,
                     submission->references, submission->reference_count,
                     .number =
                         run_note_numbered(manager, RUN_RECORD_SUBMISSIONS, submission->number),
                     .context = submission->context, .node = submission->node, .fence = fence,
                     .request = submission->request, .packet = packet);
    free(submission->references);
}

/* It goes to the driver, or ends before. */
static void settle_submission(struct run_record_manager *manager,
                              const struct vidmm_note_packet *noted)
{
    struct run_record_submission *submission = submission_of(manager, noted->subject);

    if (!submission)
        return;
    run_note_put_submission(manager, submission, noted->fence_id,
                            run_note_numbered(manager, RUN_RECORD_PACKETS_QUEUED, noted->number));
    *submission = manager->submissions[--manager->submission_count];
}

static const char *packet_type(struct run_record_manager *manager,
                               const struct vidmm_note_packet *noted)
{
    const struct run_record_submission *submission;

    if (noted->kind != VIDMM_PACKET_SUBMISSION)
        return vidmm_packet_name(noted->kind);
    submission = submission_of(manager, noted->subject);
    return submission && submission->is_present ? "present" : "render";
}

void run_note_packet(struct run_record_manager *manager, const struct vidmm_note_packet *noted)
{
    uint64_t number = run_note_numbered(manager, RUN_RECORD_PACKETS_QUEUED, noted->number);

    switch (noted->step) {
    case VIDMM_PACKET_QUEUED:
        run_record_packet(
            manager->record, number, packet_type(manager, noted),
            run_record_number(manager->record, TRACE_HANDLE_CONTEXT, noted->driver_context),
            noted->node, 0, noted->bytes);
        if (noted->wait_fence)
            run_note_packet_waits(manager, number, noted);
        if (noted->kind == VIDMM_PACKET_PAGING)
            run_note_in_packet(manager, noted->subject, number);
        break;
    case VIDMM_PACKET_SUBMITTED:
        run_note_packet_goes_on(manager, number, STATUS_SUCCESS);
        run_record_packet_submitted(manager->record, number, noted->node, noted->fence_id);
        if (noted->kind == VIDMM_PACKET_SUBMISSION)
            settle_submission(manager, noted);
        break;
    case VIDMM_PACKET_CAME_BACK:
        ITEM(manager, packet_returns, .number = number);
        break;
    case VIDMM_PACKET_RETIRED:
        run_note_packet_goes_on(manager, number, noted->status);
        ITEM(manager, packet_retired, .number = number, .status = (uint32_t)noted->status,
             .queue_depth = noted->queue_depth);
        if (noted->kind == VIDMM_PACKET_SUBMISSION)
            settle_submission(manager, noted);
        if (noted->kind == VIDMM_PACKET_PAGING)
            run_note_retire_parts(manager, noted->subject);
        break;
    default:
        break;
    }
}
