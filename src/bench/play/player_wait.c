/*
 * Waiting: lets the machine run and acts on callbacks, until the awaited event has happened or
 * nothing more will happen.
 */
#include "bench/play/player_private.h"

#include "bench/board/gpu_plugin.h"
#include "nt/nt.h"
#include "workload/words.h"

#include <stdio.h>

#define QUIET_EVENT_LIMIT UINT64_C(2000000) /* events without progress: nothing will come of it */
#define RESET_LIMIT       64u /* resets in one operation: the cause comes again after each */

/* Nothing more will happen although something is pending: says what. */
static bool stop_stuck(struct player *player, const char *why)
{
    const struct workload_op *op = NULL;
    const char *name = "the end";
    unsigned waiting = 0;

    if (player->op_index < player->workload->op_count) {
        op = player_op(player, player->op_index);
        name = workload_op_name(op->kind);
    }
    for (uint32_t i = 0; i < player->workload->context_count; i++)
        waiting += player->contexts[i].count - player->contexts[i].running_count;
    if (player->has_faulted) {
        return player_stop_with(
            player, PLAYER_FAULTED,
            "the GPU stopped on a fault at operation %u (%s, line %u): %u submissions run, %u wait",
            player->op_index, name, op ? op->line : 0, player->running_count, waiting);
    }
    return player_stop_with(
        player, PLAYER_STUCK,
        "%s at operation %u (%s, line %u), %llu ns: %u submissions run, %u wait, %u residency "
        "requests and %u page-table requests are pending, and the memory manager is %s",
        why, player->op_index, name, op ? op->line : 0,
        (unsigned long long)machine_now(player->machine), player->running_count, waiting,
        player->requesting_count, player->page_table_pending,
        vidmm_is_idle(player->vidmm) ? "idle" : "not idle");
}

static uint64_t resets_of(const struct vidmm_statistics *statistics)
{
    return statistics->engine_resets + statistics->adapter_resets;
}

static void note_progress(struct player *player)
{
    player->progress.quiet_events = 0;
    if (player->config.plugin)
        gpu_plugin_note_progress(player->config.plugin);
}

/* What the driver says of its fences where little or nothing is under way. */
void player_ask_for_fences(struct player *player)
{
    if (player->is_asleep || (player->config.nt && nt_is_amid_call(player->config.nt)))
        return;
    vidmm_query_fences(player->vidmm);
    player->needs_pump = true;
}

/* The fences of a driver whose adapter was reset, before anything else is reported (TDR-015). */
static void ask_behind_reset(struct player *player)
{
    const uint64_t resets = vidmm_statistics(player->vidmm)->adapter_resets;

    if (resets == player->progress.adapter_resets)
        return;
    player->progress.adapter_resets = resets;
    player_ask_for_fences(player);
}

bool player_advance(struct player *player)
{
    const struct vidmm_statistics *statistics;
    uint64_t progress;

    if (player->stop != PLAYER_NOT_STOPPED)
        return false;
    if (player->needs_pump && !player->is_pumping) {
        player->needs_pump = false;
        note_progress(player);
        player_pump(player);
        return player->stop == PLAYER_NOT_STOPPED;
    }
    ask_behind_reset(player);
    if (!machine_run_next(player->machine) && !vidmm_pass_turn(player->vidmm))
        return stop_stuck(player, "nothing more happens");
    player_take_sample(player);
    player_preempt_when_due(player);
    if (player->awaited_ring && vidmm_lock_is_settled(player->awaited_ring)) {
        player->awaited_ring = NULL;
        player->needs_pump = true;
    }
    statistics = vidmm_statistics(player->vidmm);
    progress = statistics->build_calls + statistics->paging_submissions;
    if (progress != player->progress.calls) {
        player->progress.calls = progress;
        note_progress(player);
    } else if (++player->progress.quiet_events > QUIET_EVENT_LIMIT) {
        return stop_stuck(player, "events go on without progress");
    }
    if (player->op_index != player->progress.op_index) {
        player->progress.op_index = player->op_index;
        player->progress.resets_before = resets_of(statistics);
    } else if (resets_of(statistics) - player->progress.resets_before > RESET_LIMIT) {
        return stop_stuck(player, "resets go on without progress");
    }
    return player->stop == PLAYER_NOT_STOPPED;
}

bool player_wait_context(struct player *player, struct player_context *context)
{
    while (context->count) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

bool player_manager_is_busy(const struct player *player)
{
    return player->needs_pump || !vidmm_is_idle(player->vidmm);
}

bool player_wait_idle(struct player *player)
{
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (!player_wait_context(player, &player->contexts[i]))
            return false;
    }
    while (player->page_table_pending || player_manager_is_busy(player)) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

bool player_wait_request(struct player *player)
{
    player->requesting_count++;
    while (!player->request.is_reported) {
        if (!player_advance(player))
            return false;
    }
    player->requesting_count--;
    return true;
}
