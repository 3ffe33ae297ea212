/*
 * Residency by hand: resident, evict and wait-paging lines.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

/* Lets go of all that resident lines of the device hold. */
static void trim(struct player *player, uint32_t device)
{
    for (uint32_t i = 0; i < player->workload->allocation_count; i++) {
        if (player->allocations[i].handle)
            player_drop_holds_of_device(player, &player->allocations[i], device);
    }
}

/* One call, as the line says. */
static NTSTATUS ask(struct player *player, uint32_t device, struct vidmm_allocation *allocation,
                    enum workload_ask how)
{
    struct vidmm_device *handle = player->devices[device];
    uint64_t *fence = &player->request.event.fence, bytes_to_trim = 0;
    NTSTATUS status = STATUS_SUCCESS;

    if (how == WORKLOAD_ASK_MUST_SUCCEED)
        return vidmm_make_resident_or_fail(handle, 1, &allocation, player_request_done, player,
                                           fence);
    for (unsigned tries = 0; how == WORKLOAD_ASK_CAN_TRIM && tries < 2; tries++) {
        if (tries)
            trim(player, device);
        status = vidmm_make_resident_in_budget(handle, 1, &allocation, player_request_done, player,
                                               fence, &bytes_to_trim);
        if (!bytes_to_trim)
            return status;
    }
    return vidmm_make_resident(handle, 1, &allocation, player_request_done, player, fence);
}

/* A reference for one allocation; waits for the answer. False: stopped. */
static bool make_resident(struct player *player, uint32_t device,
                          struct vidmm_allocation *allocation, enum workload_ask how,
                          NTSTATUS *out_status)
{
    unsigned attempts = 0;

    do {
        player->request.is_reported = false;
        player_expect_request(player, player->devices[device], allocation, false);
        *out_status = ask(player, device, allocation, how);
        player_inform_request(player, CHECK_CLIENT_MAKE_RESIDENT, player->devices[device], 1,
                              &allocation, *out_status, player->request.event.fence);
        if (*out_status != STATUS_PENDING) {
            player->request.event.device = NULL;
            player_take_refusal(player, *out_status, &player->request.refusal);
        }
        if (*out_status == STATUS_PENDING) {
            if (!player_wait_request(player))
                return false;
            *out_status = player->request.status;
        }
    } while (player_should_repeat(player, *out_status, &attempts));
    return true;
}

/* ---- What a display shows -------------------------------------------------------------------- */

bool player_shown(const struct player *player, uint32_t *out_allocation, uint64_t *out_bytes)
{
    if (player->shown == WORKLOAD_NONE)
        return false;
    *out_allocation = player->shown;
    *out_bytes = player->workload->allocations[player->shown].size;
    return true;
}

/* A reset, a sleep or the end of the board takes it from the display: that is no failure. */
static bool is_taken_away(NTSTATUS status)
{
    return status == STATUS_CANCELLED || status == STATUS_GRAPHICS_ADAPTER_WAS_RESET ||
           status == STATUS_DEVICE_REMOVED || status == STATUS_NOT_SUPPORTED;
}

bool player_play_show(struct player *player, uint32_t op_index)
{
    uint32_t id = player_op(player, op_index)->object;
    struct vidmm_allocation *handle = player->allocations[id].handle;
    unsigned attempts = 0;
    NTSTATUS status;

    if (!handle)
        return true;
    for (;;) {
        player->request.is_reported = false;
        player->shown = id;
        status = vidmm_show(handle, player_request_done, player);
        if (status == STATUS_PENDING) {
            if (!player_wait_request(player))
                return false;
            status = player->request.status;
            break;
        }
        if (status == STATUS_DEVICE_BUSY) {
            if (!player_advance(player))
                return false;
        } else if (!player_should_repeat(player, status, &attempts)) {
            break;
        }
    }
    if (NT_SUCCESS(status))
        return true;
    player->shown = WORKLOAD_NONE;
    if (!is_taken_away(status))
        player_report(player, op_index, "show %s failed with status %s",
                      workload_allocation_name(player->workload, id), decode_status(status).text);
    return true;
}

bool player_play_hide(struct player *player, uint32_t op_index)
{
    NTSTATUS status;

    do {
        status = vidmm_hide(player->vidmm);
    } while (status == STATUS_DEVICE_BUSY && player_advance(player));
    player->shown = WORKLOAD_NONE;
    return status != STATUS_DEVICE_BUSY;
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
        if (!make_resident(player, op->object, entry->handle, (enum workload_ask)op->flags,
                           &status))
            return false;
        if (!NT_SUCCESS(status) && op->flags == WORKLOAD_ASK_MUST_SUCCEED) {
            player->needs_pump = true; /* the device is in error for it, and used again */
            continue;
        }
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
        finding = player_report_late(
            player, op_index, &player->request.refusal, status,
            "resident %s failed with status %s: needs %llu bytes, %llu are available",
            workload_allocation_name(player->workload, id), decode_status(status).text,
            (unsigned long long)player->request.needed,
            (unsigned long long)player->request.available);
        if (finding) {
            finding->needed = player->request.needed;
            finding->available = player->request.available;
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

/*
 * The value that the device's paging fence has when all that its submissions asked for is there.
 * False: some of them have not asked yet.
 */
static bool last_paging_value(const struct player *player, uint32_t device, uint64_t *out_value)
{
    const struct submission *submission;

    *out_value = 0;
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (player->contexts[i].device != device)
            continue;
        list_for_each (submission, &player->contexts[i].submissions, struct submission, link) {
            if (submission->state == SUBMISSION_WAITING)
                return false;
            if (submission->is_requesting)
                *out_value = max_u64(*out_value, submission->paging_fence);
        }
    }
    return true;
}

static bool wait_for_paging_fence(struct player *player, const struct vidmm_device *device,
                                  uint64_t value)
{
    const struct player_config *config = &player->config;

    if (vidmm_device_paging_fence(device) >= value)
        return true;
    if (config->paging_wait)
        config->paging_wait(config->context, device, value, false);
    while (vidmm_device_paging_fence(device) < value) {
        if (!player_advance(player))
            return false;
    }
    if (config->paging_wait)
        config->paging_wait(config->context, device, value, true);
    return true;
}

bool player_play_wait_paging(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct player_context *context = &player->contexts[op->object];
    uint64_t value;
    NTSTATUS status;

    if (!player->is_virtual || !context->handle)
        return true;
    while (!last_paging_value(player, context->device, &value)) {
        if (!player_advance(player))
            return false;
    }
    if (op->value == WORKLOAD_WAITER_GPU) {
        status = vidmm_context_wait_for_paging(context->handle, value);
        if (!NT_SUCCESS(status))
            player_report_failure(
                player, op_index, status, "wait-paging %s",
                workload_string(player->workload, player->workload->contexts[op->object].name));
        return true;
    }
    return wait_for_paging_fence(player, player->devices[context->device], value);
}
