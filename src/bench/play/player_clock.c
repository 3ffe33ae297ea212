/*
 * Events that come by themselves while a workload is played: the looks of the manager's watchdog at
 * the clock, samples of the memory in use, preemptions, and calibrations of the nodes' clocks.
 */
#include "bench/play/player_private.h"

#include "nt/nt.h"

/* ---- The watchdog ---------------------------------------------------------------------------- */

/* How often the manager is told the time, in parts of its time-out. */
#define LOOKS_PER_TIMEOUT 8u

static bool has_watchdog(const struct player *player)
{
    if (player->config.run->timeout_ns)
        return true;
    for (uint32_t i = 0; i < player->workload->op_count; i++) {
        enum workload_op_kind kind = (enum workload_op_kind)player_op(player, i)->kind;

        if (kind == WORKLOAD_OP_HANG || kind == WORKLOAD_OP_LOSE_INTERRUPT ||
            kind == WORKLOAD_OP_FAULT)
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

/* ---- Samples of the memory in use ------------------------------------------------------------ */

void player_take_sample(struct player *player)
{
    const uint64_t time_ns = machine_now(player->machine) - player->samples_start_ns;
    uint64_t used = 0;

    if (!run_samples_want(&player->result->local_samples, time_ns))
        return;
    for (unsigned id = 1; id <= vidmm_segment_count(player->vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(player->vidmm, id, &info);
        used += info.is_aperture ? 0 : info.used;
    }
    run_samples_note(&player->result->local_samples, time_ns, used);
}

/* ---- Clocks of the nodes --------------------------------------------------------------------- */

/* How often they are calibrated, by the page of DXGKDDI_CALIBRATEGPUCLOCK. */
#define CALIBRATION_PERIOD_NS 30000000u

/* What a driver refuses is its own business; what it tells is judged (CLK). */
void player_calibrate_when_due(struct player *player)
{
    const uint64_t now_ns = machine_now(player->machine);
    DXGKARG_CALIBRATEGPUCLOCK calibration;

    if (now_ns < player->next_calibration_ns || player->is_asleep ||
        (player->config.nt && nt_is_amid_call(player->config.nt)))
        return;
    player->next_calibration_ns = now_ns + CALIBRATION_PERIOD_NS;
    for (unsigned node = 0; node < vidmm_node_count(player->vidmm); node++)
        vidmm_calibrate_clock(player->vidmm, node, &calibration);
}

/* ---- Another driver, which shares power components ------------------------------------------- */

#define LINES_OF_A_SHARE 3u

void player_share_components(struct player *player)
{
    const bool is_active = player->op_index / LINES_OF_A_SHARE % 2;

    if (!player->config.run->components || is_active == player->shares_components ||
        player->is_asleep || (player->config.nt && nt_is_amid_call(player->config.nt)))
        return;
    player->shares_components = is_active;
    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_SHARE_COMPONENTS,
                                                       .is_active = is_active});
    vidmm_share_components(player->vidmm, is_active);
    player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_COMPONENTS_SHARED,
                                                       .is_active = is_active});
}

/* ---- Preemptions that nobody asked for ------------------------------------------------------- */

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
