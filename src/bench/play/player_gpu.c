/*
 * What happens to the GPU: hangs, lost interrupts, preemptions, resets, its end; and the clock that
 * the manager's watchdog goes by.
 */
#include "bench/play/player_private.h"

#include "base/assert.h"
#include "bench/board/gpu_plugin.h"
#include "sgpu/sgpu.h"
#include "workload/words.h"

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

    if (!player->config.nt || !nt_is_amid_call(player->config.nt))
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

void player_tell_hang(struct player *player, uint32_t node)
{
    if (player->config.check)
        check_gpu(player->config.check,
                  &(struct check_gpu_event){.kind = CHECK_GPU_HUNG, .node = node});
}

/* ---- Preemptions that nobody asked for ---- */

#define PREEMPTION_RNG_STREAM     0x707265656d7074u /* "preempt" */
#define PREEMPTION_SPACING_MIN_NS 1000u
#define PREEMPTION_SPACING_STEPS  10u /* doublings: to about a millisecond */

static void preemption_is_due(void *context);

static void schedule_preemption(struct player *player)
{
    struct player_preemptions *preemptions = &player->preemptions;
    uint64_t spacing = PREEMPTION_SPACING_MIN_NS
                       << rng_below(&preemptions->rng, PREEMPTION_SPACING_STEPS);

    if (!preemptions->left)
        return;
    preemptions->left--;
    machine_schedule(player->machine, &preemptions->event,
                     machine_now(player->machine) + rng_between(&preemptions->rng, 1, spacing),
                     preemption_is_due, player);
}

/* The driver may be in the middle of a call that lets the machine run on: not here, then. */
static void preemption_is_due(void *context)
{
    struct player *player = context;

    player->preemptions.is_due = true;
    schedule_preemption(player);
}

void player_preempt_when_due(struct player *player)
{
    struct player_preemptions *preemptions = &player->preemptions;

    if (!preemptions->is_due)
        return;
    preemptions->is_due = false;
    if (!player->is_asleep)
        vidmm_preempt(player->vidmm,
                      player_node(player, (unsigned)rng_below(&preemptions->rng,
                                                              player->config.run->node_count)));
}

void player_start_preemptions(struct player *player)
{
    struct rng parent;

    if (!(player->config.run->faults & RUN_FAULT_PREEMPTIONS))
        return;
    rng_init(&parent, player->config.run->seed);
    rng_fork(&parent, PREEMPTION_RNG_STREAM, &player->preemptions.rng);
    player->preemptions.left = PLAYER_PREEMPTIONS;
    schedule_preemption(player);
}

void player_stop_preemptions(struct player *player)
{
    machine_cancel(player->machine, &player->preemptions.event);
    player->preemptions.is_due = false;
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

/* ---- Power ---- */

static void power_is_down(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->is_request_reported = true;
    player->request_status = status;
    player->needs_pump = true;
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

    player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_SLEEP});
    do {
        player->is_request_reported = false;
        status = vidmm_power_down(player->vidmm, kinds[power].manager, power_is_down, player);
        while (NT_SUCCESS(status) && !player->is_request_reported) {
            if (!player_advance(player))
                return false;
        }
        if (NT_SUCCESS(status))
            status = player->request_status;
    } while (player_should_repeat(player, status, &attempts));
    player->is_asleep = NT_SUCCESS(status);
    if (player->is_asleep && !player_is_bare(player))
        sgpu_power_off(player->config.gpu, kinds[power].gpu);
    if (player->is_asleep && player->config.plugin)
        gpu_plugin_power(player->config.plugin, false);
    if (!player->is_asleep)
        player_report(player, op_index, "power %s failed with status 0x%08x",
                      workload_power_name(power), (unsigned)status);
    if (!player->is_asleep)
        player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_WAKE});
    return true;
}

void player_wake(struct player *player)
{
    if (!player->is_asleep)
        return; /* it could not fall asleep, which has been reported */
    player->is_asleep = false;
    if (!player_is_bare(player))
        sgpu_power_on(player->config.gpu);
    if (player->config.plugin)
        gpu_plugin_power(player->config.plugin, true);
    player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_WAKE});
    vidmm_power_up(player->vidmm);
    player->needs_pump = true;
}

static bool play_power(struct player *player, uint32_t op_index)
{
    enum workload_power power = (enum workload_power)player_op(player, op_index)->flags;

    if (power != WORKLOAD_POWER_ON)
        return sleep(player, op_index, power);
    player_wake(player);
    return true;
}

/* ---- Exclusive access ---- */

/* How long an IOMMU takes to change its domain. */
#define DOMAIN_SWITCH_NS 1000u

static void watch_system_memory(struct player *player, bool is_watched)
{
    if (!player_is_bare(player))
        sgpu_watch_system_memory(player->config.gpu, is_watched);
}

/* The window opens, and the machine goes on by itself while it is open. False: stopped. */
static bool play_switch_domain(struct player *player, uint32_t op_index)
{
    uint64_t duration_ns = player_op(player, op_index)->value;
    NTSTATUS status;

    player->is_request_reported = false;
    status = vidmm_begin_exclusive_access(player->vidmm, power_is_down, player);
    if (status == STATUS_NOT_SUPPORTED)
        return true; /* a driver of an earlier level, or of another kind */
    while (NT_SUCCESS(status) && !player->is_request_reported) {
        if (!player_advance(player))
            return false;
    }
    if (NT_SUCCESS(status))
        status = player->request_status;
    if (NT_SUCCESS(status)) {
        watch_system_memory(player, true);
        machine_run_until(player->machine, machine_now(player->machine) +
                                               (duration_ns ? duration_ns : DOMAIN_SWITCH_NS));
        watch_system_memory(player, false);
        if (player->stop != PLAYER_NOT_STOPPED)
            return false; /* the board was pulled out meanwhile */
        status = vidmm_end_exclusive_access(player->vidmm);
    }
    if (!NT_SUCCESS(status))
        player_report(player, op_index, "switch-domain failed with status 0x%08x",
                      (unsigned)status);
    player->needs_pump = true;
    return true;
}

/* ---- The end of the adapter ---- */

/* Nothing more is played; what is left is taken down (player_give_up(), player_take_down()). */
static void end(struct player *player, const char *how)
{
    machine_cancel(player->machine, &player->removal);
    player_stop_with(player, PLAYER_ENDED, "the adapter was %s", how);
}

void player_adapter_ended(struct player *player)
{
    player->needs_pump = true;
    player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_GONE});
    if (!player->is_giving_up)
        end(player, "given up by the memory manager");
}

static void play_stop(struct player *player, uint32_t op_index)
{
    NTSTATUS status = vidmm_end_work(player->vidmm);

    if (!NT_SUCCESS(status))
        player_report(player, op_index, "stop failed with status 0x%08x", (unsigned)status);
    else
        end(player, "stopped");
}

/* A driver that cannot be told is one that Windows would not let go on; here it does. */
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
    player_tell_hang(player, 0);
    if (!player_is_bare(player))
        sgpu_remove(player->config.gpu);
    if (player->config.plugin)
        gpu_plugin_power(player->config.plugin, false);
    player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_PULLED});
    status = vidmm_remove(player->vidmm);
    if (!NT_SUCCESS(status) && status != STATUS_NOT_SUPPORTED)
        run_result_report(player->result, RUN_FINDING_SUBMISSION, 0, machine_now(player->machine),
                          "the driver answered its notice of removal with status 0x%08x",
                          (unsigned)status);
    player->result->driver_heard_of_removal = status != STATUS_NOT_SUPPORTED;
    player->needs_pump = true;
    end(player, "removed");
}

/* The first one that comes counts. */
static void play_remove(struct player *player, uint32_t op_index)
{
    uint64_t after_ns = player_op(player, op_index)->value;

    if (!after_ns)
        removed(player);
    else if (!player->removal.is_scheduled)
        machine_schedule(player->machine, &player->removal, machine_now(player->machine) + after_ns,
                         removed, player);
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
    case WORKLOAD_OP_POWER:
        return play_power(player, op_index);
    case WORKLOAD_OP_SWITCH_DOMAIN:
        return play_switch_domain(player, op_index);
    case WORKLOAD_OP_STOP:
        play_stop(player, op_index);
        break;
    case WORKLOAD_OP_REMOVE:
        play_remove(player, op_index);
        break;
    case WORKLOAD_OP_HANG:
        if (player_is_bare(player))
            break; /* what the driver runs, it runs */
        player_tell_hang(player, op->object);
        sgpu_hang(player->config.gpu, op->object, (uint32_t)op->value);
        break;
    case WORKLOAD_OP_LOSE_INTERRUPT:
        if (!player_is_bare(player))
            sgpu_lose_interrupt(player->config.gpu, op->object);
        break;
    case WORKLOAD_OP_PREEMPT:
        vidmm_preempt(player->vidmm, player_node(player, op->object));
        break;
    case WORKLOAD_OP_RESET:
        player_tell_hang(player, 0);
        vidmm_reset(player->vidmm);
        break;
    default:
        break;
    }
    player->needs_pump = true;
    return true;
}
