/*
 * Offer and reclaim, priorities and budgets that change, and moves.
 *
 * An offer is made as soon as the manager has all earlier submissions that use the allocation, not
 * when they have run: that they still find the content is the manager's business. From then on the
 * oracle expects nothing of it but what those submissions read; what the reclaim says of the
 * content is what it expects afterwards.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

static bool wait_until_submitted(struct player *player, const struct player_allocation *entry)
{
    while (entry->waiting_count) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

/* What is offered may be dropped in the call: the oracle knows before. */
static NTSTATUS offer(struct player *player, const struct workload_op *op, uint32_t id)
{
    bool was_offered = player->oracle && oracle_content_offered(player->oracle, id, true);
    NTSTATUS status = vidmm_offer(player->devices[op->object], 1, &player->allocations[id].handle,
                                  (enum vidmm_offer_priority)op->value);
    if (!NT_SUCCESS(status) && player->oracle)
        oracle_content_offered(player->oracle, id, was_offered);
    return status;
}

static bool offer_one(struct player *player, uint32_t op_index, uint32_t id)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_allocation *entry = &player->allocations[id];
    NTSTATUS status;

    if (!wait_until_submitted(player, entry))
        return false;
    while ((status = offer(player, op, id)) == STATUS_GRAPHICS_ALLOCATION_BUSY) {
        if (!player_advance(player))
            return false;
    }
    player_inform(player,
                  &(struct check_client_event){.kind = CHECK_CLIENT_OFFER,
                                               .count = 1,
                                               .allocations = (const void *const *)&entry->handle,
                                               .status = status,
                                               .priority = (unsigned)op->value});
    if (!NT_SUCCESS(status))
        player_report_failure(player, op_index, status, "offer %s",
                              workload_allocation_name(player->workload, id));
    return true;
}

bool player_play_offer(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    bool goes_on = true;

    for (uint32_t i = 0; i < op->ref_count && goes_on; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;

        if (player->allocations[id].handle)
            goes_on = offer_one(player, op_index, id);
    }
    return goes_on;
}

static void note_reclaimed(struct player *player, uint32_t id, bool is_discarded)
{
    player->result->reclaims++;
    player->result->reclaims_discarded += is_discarded;
    if (!player->oracle)
        return;
    oracle_content_offered(player->oracle, id, false);
    if (is_discarded)
        oracle_content_lost(player->oracle, id);
}

static bool reclaim_one(struct player *player, uint32_t op_index, uint32_t id)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_allocation *entry = &player->allocations[id];
    const char *name = workload_allocation_name(player->workload, id);
    enum vidmm_reclaim_result result = VIDMM_RECLAIM_OK;
    unsigned attempts = 0;
    static const enum check_reclaim results[] = {
        [VIDMM_RECLAIM_OK] = CHECK_RECLAIM_OK,
        [VIDMM_RECLAIM_DISCARDED] = CHECK_RECLAIM_DISCARDED,
        [VIDMM_RECLAIM_NOT_COMMITTED] = CHECK_RECLAIM_NOT_COMMITTED,
    };
    NTSTATUS status;

    do {
        player->request.is_reported = false;
        player_expect_request(player, player->devices[op->object], entry->handle, true);
        status = vidmm_reclaim(player->devices[op->object], 1, &entry->handle, &result,
                               player_request_done, player, &player->request.event.fence);
        player_inform(
            player, &(struct check_client_event){.kind = CHECK_CLIENT_RECLAIM,
                                                 .count = 1,
                                                 .allocations = (const void *const *)&entry->handle,
                                                 .status = status,
                                                 .fence = player->request.event.fence,
                                                 .result = results[result]});
        if (status != STATUS_PENDING)
            player->request.event.device = NULL;
    } while (player_should_repeat(player, status, &attempts));
    if (NT_SUCCESS(status) && result == VIDMM_RECLAIM_NOT_COMMITTED) {
        player_report(player, op_index, "reclaim %s: there is no memory for it", name);
        return true;
    }
    if (!NT_SUCCESS(status)) {
        player_report_failure(player, op_index, status, "reclaim %s", name);
        return true;
    }
    note_reclaimed(player, id, result == VIDMM_RECLAIM_DISCARDED);
    if (status != STATUS_PENDING)
        return true;
    if (!player_wait_request(player))
        return false;
    if (!NT_SUCCESS(player->request.status))
        player_report_late(player, op_index, &player->request.refusal, player->request.status,
                           "reclaim %s: paging it in failed with status %s; needs %llu bytes, "
                           "%llu are available",
                           name, decode_status(player->request.status).text,
                           (unsigned long long)player->request.needed,
                           (unsigned long long)player->request.available);
    return true;
}

bool player_play_reclaim(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;

        if (player->allocations[id].handle && !reclaim_one(player, op_index, id))
            return false;
    }
    return true;
}

bool player_play_priority(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct vidmm_allocation *handle = player->allocations[op->object].handle;
    NTSTATUS status = handle ? vidmm_set_priority(handle, (uint32_t)op->value) : STATUS_SUCCESS;

    if (!NT_SUCCESS(status))
        player_report_failure(player, op_index, status, "priority %s",
                              workload_allocation_name(player->workload, op->object));
    return true;
}

bool player_play_budget(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    vidmm_set_budget(player->processes[op->object], VIDMM_BUDGET_LOCAL, op->value);
    player_inform_budgets(player);
    return true;
}

bool player_play_move(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_allocation *entry = &player->allocations[op->object];
    unsigned segment = 0;
    NTSTATUS status;

    while (entry->waiting_count || entry->running_count) {
        if (!player_advance(player))
            return false;
    }
    if (!entry->handle)
        return true;
    if (!player_segment_id(player, op->segment, &segment) ||
        (!segment && op->segment != WORKLOAD_SEGMENT_SYSTEM))
        return true; /* this machine has no such memory: it stays where it is */
    while ((status = vidmm_move(entry->handle, segment)) == STATUS_GRAPHICS_ALLOCATION_BUSY) {
        if (entry->holds || !player_advance(player))
            break;
    }
    if (status == STATUS_GRAPHICS_ALLOCATION_BUSY && !entry->holds)
        return false; /* stopped */
    /* An allocation that is not resident, or has no better place, stays where it is. */
    if (!NT_SUCCESS(status) && status != STATUS_INVALID_PARAMETER &&
        status != STATUS_GRAPHICS_NO_VIDEO_MEMORY)
        player_report_failure(player, op_index, status, "move %s",
                              workload_allocation_name(player->workload, op->object));
    return true;
}
