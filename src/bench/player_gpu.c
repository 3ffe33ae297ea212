/*
 * What happens to the GPU: hangs, lost interrupts, preemptions, resets; and the clock that the
 * manager's watchdog goes by.
 */
#include "bench/player_private.h"

#include "base/assert.h"
#include "sgpu/sgpu.h"

/* How often the manager is told the time, in parts of its time-out. */
#define LOOKS_PER_TIMEOUT 8u

/* ---- The watchdog ---- */

static bool has_watchdog(const struct player *player)
{
    if (player->config.run->timeout_ns)
        return true;
    for (uint32_t i = 0; i < player->workload->op_count; i++) {
        enum workload_op_kind kind = (enum workload_op_kind)player_op(player, i)->kind;

        if (kind == WORKLOAD_OP_HANG || kind == WORKLOAD_OP_LOSE_INTERRUPT)
            return true;
    }
    return false;
}

static void look(void *context);

static void schedule_look(struct player *player)
{
    uint64_t timeout_ns = player->config.run->timeout_ns;
    uint64_t period = (timeout_ns ? timeout_ns : VIDMM_DEFAULT_TIMEOUT_NS) / LOOKS_PER_TIMEOUT;

    machine_schedule(player->machine, &player->watchdog, machine_now(player->machine) + period,
                     look, player);
}

static void look(void *context)
{
    struct player *player = context;

    vidmm_watch(player->vidmm, machine_now(player->machine));
    schedule_look(player);
}

void player_start_watchdog(struct player *player)
{
    if (has_watchdog(player))
        schedule_look(player);
}

void player_stop_watchdog(struct player *player)
{
    machine_cancel(player->machine, &player->watchdog);
}

/* ---- Devices in error ---- */

void player_revive_devices(struct player *player)
{
    for (uint32_t d = 0; d < player->workload->device_count; d++) {
        bool is_running = false;

        if (!player->devices[d] || !vidmm_device_is_in_error(player->devices[d]))
            continue;
        for (uint32_t c = 0; c < player->workload->context_count; c++)
            is_running |= player->contexts[c].device == d && player->contexts[c].running_count;
        if (is_running)
            continue;
        vidmm_device_clear_error(player->devices[d]);
        player->result->device_errors++;
    }
}

/* ---- Operations ---- */

bool player_play_gpu(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (op->object >= player->config.run->node_count) {
        player_report(player, op_index, "there is no node %u", op->object);
        return true;
    }
    switch ((enum workload_op_kind)op->kind) {
    case WORKLOAD_OP_HANG:
        sgpu_hang(player->config.gpu, op->object, (uint32_t)op->value);
        break;
    case WORKLOAD_OP_LOSE_INTERRUPT:
        sgpu_lose_interrupt(player->config.gpu, op->object);
        break;
    case WORKLOAD_OP_PREEMPT:
        vidmm_preempt(player->vidmm, op->object);
        break;
    case WORKLOAD_OP_RESET:
        vidmm_reset(player->vidmm);
        break;
    default:
        break;
    }
    player->needs_pump = true;
    return true;
}
