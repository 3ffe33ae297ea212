/*
 * Contexts, devices and processes that end and are made anew, while others stay.
 *
 * A context ends behind its own submissions. For a device or a process everything has to be idle
 * (vidmm_device_destroy(), vidmm_process_destroy()).
 */
#include "bench/play/player_private.h"

/* Which objects a line is about: those of one context, device or process. */
struct renewal {
    uint32_t context, device, process;
    enum workload_renewal kind;
};

static bool is_of_device(const struct player *player, const struct renewal *renewal,
                         uint32_t device)
{
    return renewal->kind == WORKLOAD_RENEW_PROCESS
               ? player->workload->devices[device].process == renewal->process
               : renewal->kind == WORKLOAD_RENEW_DEVICE && device == renewal->device;
}

/* With the context go those whose queues are of its driver's context. */
static bool is_of_context(const struct player *player, const struct renewal *renewal,
                          uint32_t context)
{
    return context == renewal->context ||
           player_first_context(player, context) == renewal->context ||
           is_of_device(player, renewal, player->workload->contexts[context].device);
}

static bool is_renewed(const struct player *player, uint32_t context, const void *choice)
{
    return is_of_context(player, choice, context);
}

/*
 * A save area that the contexts of a device share is there for all of them from its creation on:
 * behind all work of the device, whose submissions need it.
 */
static bool wait_for_sharers(struct player *player, const struct renewal *renewal)
{
    const struct workload *workload = player->workload;

    for (uint32_t i = 0; i < workload->context_count; i++) {
        if (!is_of_context(player, renewal, i) || !workload->contexts[i].save.is_shared)
            continue;
        for (uint32_t j = 0; j < workload->context_count; j++) {
            if (workload->contexts[j].device == workload->contexts[i].device &&
                !player_wait_context(player, &player->contexts[j]))
                return false;
        }
    }
    return true;
}

static bool end_contexts(struct player *player, const struct renewal *renewal)
{
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (is_of_context(player, renewal, i) &&
            !player_context_close(player, &player->contexts[i]))
            return false;
    }
    player_destroy_contexts(player, is_renewed, renewal);
    return true;
}

static bool end_devices(struct player *player, const struct renewal *renewal)
{
    for (uint32_t i = 0; i < player->workload->device_count; i++) {
        if (!is_of_device(player, renewal, i))
            continue;
        for (uint32_t j = 0; j < player->workload->allocation_count; j++)
            player_drop_holds_of_device(player, &player->allocations[j], i);
        if (!player_wait_idle(player))
            return false;
        if (player->devices[i])
            vidmm_device_destroy(player->devices[i]);
        player->devices[i] = NULL;
    }
    return true;
}

static bool renew_process(struct player *player, uint32_t id)
{
    struct vidmm_budget_info budget;
    bool is_there;

    if (!player_wait_idle(player))
        return false;
    vidmm_budget_info(player->processes[id], VIDMM_BUDGET_LOCAL, &budget);
    vidmm_process_destroy(player->processes[id]);
    player->processes[id] = NULL;
    if (!player_wait_idle(player))
        return false;
    is_there = player_open_process(player, id);
    if (is_there)
        vidmm_set_budget(player->processes[id], VIDMM_BUDGET_LOCAL, budget.budget);
    return is_there;
}

static bool open_again(struct player *player, const struct renewal *renewal)
{
    for (uint32_t i = 0; i < player->workload->device_count; i++) {
        if (is_of_device(player, renewal, i) && !player_open_device(player, i))
            return false;
    }
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (is_of_context(player, renewal, i) && !player_open_context(player, i))
            return false;
    }
    return true;
}

bool player_play_renew(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const uint32_t device = player->workload->contexts[op->object].device;
    const struct renewal renewal = {
        .context = op->object,
        .device = device,
        .process = player->workload->devices[device].process,
        .kind = (enum workload_renewal)op->flags,
    };

    if (!wait_for_sharers(player, &renewal) || !end_contexts(player, &renewal) ||
        !end_devices(player, &renewal) ||
        (renewal.kind == WORKLOAD_RENEW_PROCESS && !renew_process(player, renewal.process)))
        return false;
    return open_again(player, &renewal);
}
