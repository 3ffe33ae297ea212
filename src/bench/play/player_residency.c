/*
 * Residency by hand: resident and evict lines.
 */
#include "bench/play/player_private.h"

/* A reference for one allocation; waits for the answer. False: stopped. */
static bool make_resident(struct player *player, uint32_t device,
                          struct vidmm_allocation *allocation, NTSTATUS *out_status)
{
    unsigned attempts = 0;

    do {
        player->is_request_reported = false;
        player_expect_request(player, player->devices[device], allocation, false);
        *out_status =
            vidmm_make_resident(player->devices[device], 1, &allocation, player_request_done,
                                player, &player->request_event.fence);
        player_inform_request(player, CHECK_CLIENT_MAKE_RESIDENT, player->devices[device], 1,
                              &allocation, *out_status, player->request_event.fence);
        if (*out_status != STATUS_PENDING)
            player->request_event.device = NULL;
        if (*out_status == STATUS_PENDING) {
            if (!player_wait_request(player))
                return false;
            *out_status = player->request_status;
        }
    } while (player_should_repeat(player, *out_status, &attempts));
    return true;
}

bool player_play_resident(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (!player->is_virtual)
        return true; /* a 1.x application has no such call */
    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;
        struct player_allocation *entry = &player->allocations[id];
        struct player_hold *hold;
        struct run_finding *finding;
        NTSTATUS status;

        if (!entry->handle)
            continue;
        if (!make_resident(player, op->object, entry->handle, &status))
            return false;
        hold = NT_SUCCESS(status) ? base_alloc(player->services, sizeof *hold) : NULL;
        if (hold) {
            hold->device = op->object;
            hold->next = entry->holds;
            entry->holds = hold;
            continue;
        }
        if (NT_SUCCESS(status)) {
            player_evict(player, player->devices[op->object], 1, &entry->handle);
            status = STATUS_NO_MEMORY;
        }
        finding = player_report(player, op_index,
                                "resident %s failed with status 0x%08x: needs %llu bytes, %llu are "
                                "available",
                                workload_allocation_name(player->workload, id), (unsigned)status,
                                (unsigned long long)player->request_needed,
                                (unsigned long long)player->request_available);
        if (finding) {
            finding->needed = player->request_needed;
            finding->available = player->request_available;
        }
    }
    return true;
}

bool player_play_evict(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    for (uint32_t i = 0; i < op->ref_count && player->is_virtual; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;

        if (player->allocations[id].handle)
            player_drop_holds(player, &player->allocations[id], op->object, false);
    }
    return true;
}
