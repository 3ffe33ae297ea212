/*
 * The checking layer sees the driver's side only: it is informed here of the player's requests to
 * the manager, and of the answers.
 */
#include "bench/play/player_private.h"

void player_inform(struct player *player, const struct check_client_event *event)
{
    if (player->config.check)
        check_client(player->config.check, event);
}

void player_inform_of(struct player *player, enum check_client_kind kind,
                      const struct vidmm_allocation *allocation, NTSTATUS status)
{
    const void *name = allocation;

    player_inform(player, &(struct check_client_event){
                              .kind = kind, .count = 1, .allocations = &name, .status = status});
}

void player_inform_request(struct player *player, enum check_client_kind kind,
                           const struct vidmm_device *device, unsigned count,
                           struct vidmm_allocation *const *allocations, NTSTATUS status,
                           uint64_t fence)
{
    player_inform(player, &(struct check_client_event){
                              .kind = kind,
                              .device = device,
                              .count = count,
                              .allocations = (const void *const *)allocations,
                              .status = status,
                              .fence = fence,
                          });
}

void player_inform_work(struct player *player, enum check_client_kind kind,
                        const struct submission *submission)
{
    if (!player->is_virtual)
        player_inform(player, &(struct check_client_event){
                                  .kind = kind,
                                  .count = submission->allocation_count,
                                  .allocations = (const void *const *)submission->handles,
                                  .work = submission,
                              });
}

void player_expect_request(struct player *player, const struct vidmm_device *device,
                           const struct vidmm_allocation *allocation, bool is_reclaim)
{
    player->request.allocation = allocation;
    player->request.event = (struct check_client_event){
        .kind = CHECK_CLIENT_RESIDENT,
        .device = device,
        .count = 1,
        .allocations = &player->request.allocation,
        .is_reclaim = is_reclaim,
    };
}

void player_evict(struct player *player, struct vidmm_device *device, unsigned count,
                  struct vidmm_allocation *const *allocations)
{
    player_inform_request(player, CHECK_CLIENT_EVICT, device, count, allocations, STATUS_SUCCESS,
                          0);
    vidmm_evict(device, count, allocations);
}

void player_inform_budgets(struct player *player)
{
    uint64_t used = 0;

    if (!player->config.check)
        return;
    for (unsigned id = 1; id <= vidmm_segment_count(player->vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(player->vidmm, id, &info);
        used += info.is_aperture ? 0 : info.used;
    }
    for (uint32_t i = 0; i < player->workload->process_count; i++) {
        struct vidmm_budget_info info;

        if (!player->processes[i])
            continue;
        vidmm_budget_info(player->processes[i], VIDMM_BUDGET_LOCAL, &info);
        player_inform(player, &(struct check_client_event){
                                  .kind = CHECK_CLIENT_BUDGET,
                                  .device = player->processes[i],
                                  .group = VIDMM_BUDGET_LOCAL,
                                  .budget = info.budget,
                                  .bytes = info.resident,
                                  .held = info.held,
                                  .used = used,
                              });
    }
}

void player_inform_hang(struct player *player, uint32_t node)
{
    if (player->config.check)
        check_gpu(player->config.check,
                  &(struct check_gpu_event){.kind = CHECK_GPU_HUNG, .node = node});
}
