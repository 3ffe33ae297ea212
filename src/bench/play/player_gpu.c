/*
 * Lines of a case about the GPU: sleeps, exclusive access, hangs, lost interrupts,
 * preemptions, resets, and its end.
 */
#include "bench/play/player_private.h"

#include "base/assert.h"
#include "bench/board/gpu_plugin.h"
#include "sgpu/sgpu.h"
#include "workload/words.h"

/* False, and a finding: the operation names a node that the GPU does not have. */
static bool has_node(struct player *player, uint32_t op_index)
{
    uint32_t node = player_op(player, op_index)->object;

    if (node < player->config.run->node_count)
        return true;
    player_report(player, op_index, "there is no node %u", node);
    return false;
}

/* ---- Power ----------------------------------------------------------------------------------- */

static void power_is_down(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->request.is_reported = true;
    player->request.status = status;
    player->needs_pump = true;
}

/* It may be in the midst of a pump, whose next submission would be one call too many. */
static void window_is_open(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    ((struct player *)context)->is_window_open = NT_SUCCESS(status);
    power_is_down(context, status, needed, available);
}

/* Sleeps and stays asleep. False: stopped. */
static bool sleep(struct player *player, uint32_t op_index, enum workload_power power)
{
    static const struct {
        enum vidmm_sleep manager;
        enum sgpu_sleep gpu;
    } kinds[WORKLOAD_POWER_COUNT] = {
        [WORKLOAD_POWER_STANDBY] = {VIDMM_SLEEP_STANDBY, SGPU_SLEEP_STANDBY},
        [WORKLOAD_POWER_HIBERNATE] = {VIDMM_SLEEP_HIBERNATE, SGPU_SLEEP_HIBERNATE},
        [WORKLOAD_POWER_D3] = {VIDMM_SLEEP_D3, SGPU_SLEEP_D3},
    };
    NTSTATUS status;
    unsigned attempts = 0;

    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_SLEEP});
    do {
        player->request.is_reported = false;
        status = vidmm_power_down(player->vidmm, kinds[power].manager, power_is_down, player);
        while (NT_SUCCESS(status) && !player->request.is_reported) {
            if (!player_advance(player))
                return false;
        }
        if (NT_SUCCESS(status))
            status = player->request.status;
    } while (player_should_repeat(player, status, &attempts));
    player->is_asleep = NT_SUCCESS(status);
    if (player->is_asleep && !player_is_foreign(player))
        sgpu_power_off(player->config.gpu, kinds[power].gpu);
    if (player->is_asleep && player->config.plugin)
        gpu_plugin_power(player->config.plugin, false);
    if (player->is_asleep && player->config.run->shares_interrupt &&
        !machine_pci(player->machine)->message_count)
        machine_interrupt_of_another(player->machine);
    if (!player->is_asleep)
        player_report_failure(player, op_index, status, "power %s", workload_power_name(power));
    if (!player->is_asleep)
        player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_WAKE});
    return true;
}

void player_wake(struct player *player)
{
    if (!player->is_asleep)
        return; /* it could not fall asleep, which has been reported */
    player->is_asleep = false;
    if (!player_is_foreign(player))
        sgpu_power_on(player->config.gpu);
    if (player->config.plugin)
        gpu_plugin_power(player->config.plugin, true);
    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_WAKE});
    vidmm_power_up(player->vidmm);
    player->needs_pump = true;
}

bool player_play_power(struct player *player, uint32_t op_index)
{
    enum workload_power power = (enum workload_power)player_op(player, op_index)->flags;

    if (!has_node(player, op_index))
        return true;
    if (power != WORKLOAD_POWER_ON)
        return sleep(player, op_index, power);
    player_wake(player);
    return true;
}

/* ---- Exclusive access ------------------------------------------------------------------------ */

/* How long an IOMMU takes to change its domain. */
#define DOMAIN_SWITCH_NS 1000u

static void watch_system_memory(struct player *player, bool is_watched)
{
    if (!player_is_foreign(player))
        sgpu_watch_system_memory(player->config.gpu, is_watched);
}

/* The window opens, and the machine goes on by itself while it is open. False: stopped. */
bool player_play_switch_domain(struct player *player, uint32_t op_index)
{
    uint64_t duration_ns = player_op(player, op_index)->value;
    NTSTATUS status;

    if (!has_node(player, op_index))
        return true;
    player->request.is_reported = false;
    status = vidmm_begin_exclusive_access(player->vidmm, window_is_open, player);
    if (status == STATUS_NOT_SUPPORTED)
        return true; /* a driver of an earlier level, or of another kind */
    while (NT_SUCCESS(status) && !player->request.is_reported) {
        if (!player_advance(player))
            return false;
    }
    if (NT_SUCCESS(status))
        status = player->request.status;
    if (NT_SUCCESS(status)) {
        watch_system_memory(player, true);
        machine_run_until(player->machine, machine_now(player->machine) +
                                               (duration_ns ? duration_ns : DOMAIN_SWITCH_NS));
        watch_system_memory(player, false);
        player->is_window_open = false;
        if (player->stop != PLAYER_NOT_STOPPED)
            return false; /* the board was pulled out meanwhile */
        status = vidmm_end_exclusive_access(player->vidmm);
    }
    if (!NT_SUCCESS(status))
        player_report_failure(player, op_index, status, "switch-domain");
    player->needs_pump = true;
    return true;
}

/* ---- The end of the adapter ------------------------------------------------------------------ */

/*
 * Nothing more is played; the objects that are left are taken down (player_give_up(),
 * player_take_down()).
 */
static void end(struct player *player, const char *how)
{
    machine_cancel(player->machine, &player->removal);
    player_stop_with(player, PLAYER_ENDED, "the adapter was %s", how);
}

void player_adapter_ended(struct player *player)
{
    player->needs_pump = true;
    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_GONE});
    if (!player->is_giving_up)
        end(player, "given up by the memory manager");
}

/* Windows would not go on with a driver that hears of no removal, or fails it asleep (PWR-015). */
static void removed(void *context)
{
    struct player *player = context;
    struct nt *nt = player->config.nt;
    NTSTATUS status;

    if (nt && nt_is_amid_call(nt)) {
        nt_defer(nt, &player->late_removal, removed, player);
        return;
    }
    if (vidmm_end_waits(player->vidmm)) { /* a call of the driver has to return first */
        machine_schedule(player->machine, &player->removal, machine_now(player->machine) + 1,
                         removed, player);
        return;
    }
    player_inform_hang(player, 0);
    if (!player_is_foreign(player))
        sgpu_remove(player->config.gpu);
    if (player->config.plugin)
        gpu_plugin_power(player->config.plugin, false);
    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_PULLED});
    status = vidmm_remove(player->vidmm);
    player->result->driver_heard_of_removal = status != STATUS_NOT_SUPPORTED;
    player->needs_pump = true;
    end(player, "removed");
}

bool player_play_stop(struct player *player, uint32_t op_index)
{
    NTSTATUS status;

    if (!has_node(player, op_index))
        return true;
    status = vidmm_end_work(player->vidmm);
    if (!NT_SUCCESS(status))
        player_report_failure(player, op_index, status, "stop");
    else
        end(player, "stopped");
    player->needs_pump = true;
    return true;
}

/* The first one that comes counts. */
bool player_play_remove(struct player *player, uint32_t op_index)
{
    uint64_t after_ns = player_op(player, op_index)->value;

    if (!has_node(player, op_index))
        return true;
    if (!after_ns)
        removed(player);
    else if (!player->removal.is_scheduled)
        machine_schedule(player->machine, &player->removal, machine_now(player->machine) + after_ns,
                         removed, player);
    player->needs_pump = true;
    return true;
}

/* ---- Hangs, preemptions, resets -------------------------------------------------------------- */

/* Another GPU than the Drydock GPU runs what its driver gives it, whatever the line says. */
bool player_play_hang(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (!has_node(player, op_index))
        return true;
    player->needs_pump = true;
    if (player_is_foreign(player))
        return true;
    player_inform_hang(player, op->object);
    if (op->flags)
        sgpu_hang_for_a_while(player->config.gpu, op->object, (uint32_t)op->value);
    else
        sgpu_hang(player->config.gpu, op->object, (uint32_t)op->value);
    return true;
}

bool player_play_lose_interrupt(struct player *player, uint32_t op_index)
{
    if (!has_node(player, op_index))
        return true;
    player->needs_pump = true;
    if (!player_is_foreign(player))
        sgpu_lose_interrupt(player->config.gpu, player_op(player, op_index)->object);
    return true;
}

/* A driver that manages memory shows nothing by itself here: its modes are nobody's. */
bool player_play_unplug(struct player *player, uint32_t op_index)
{
    return true;
}

bool player_play_pause(struct player *player, uint32_t op_index)
{
    machine_run_until(player->machine,
                      machine_now(player->machine) + player_op(player, op_index)->value);
    player->needs_pump = true;
    return player->stop == PLAYER_NOT_STOPPED;
}

bool player_play_plug(struct player *player, uint32_t op_index)
{
    return true;
}

bool player_play_preempt(struct player *player, uint32_t op_index)
{
    if (!has_node(player, op_index))
        return true;
    vidmm_preempt(player->vidmm, player_node(player, player_op(player, op_index)->object));
    player->needs_pump = true;
    return true;
}

bool player_play_reset(struct player *player, uint32_t op_index)
{
    if (!has_node(player, op_index))
        return true;
    player_inform_hang(player, 0);
    vidmm_reset(player->vidmm);
    player->needs_pump = true;
    return true;
}
