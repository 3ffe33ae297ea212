/*
 * Fence lines: native fences, which command buffers signal by the number that the driver gave.
 *
 * Where the driver has none, the lines and the signals of submissions do nothing.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

#include <drydock/sgpu.h>

#include <string.h>

_Static_assert(sizeof(struct sgpu_umd_native_fence) <= VIDMM_NATIVE_FENCE_DATA_BYTES,
               "what the driver says of a fence fits");

bool player_destroy_fence(struct player *player, uint64_t index)
{
    struct player_fence *fence = &player->fences[index];

    if (!fence->handle)
        return true;
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (!player_wait_context(player, &player->contexts[i]))
            return false;
    }
    while (vidmm_native_fence_destroy(fence->handle) == STATUS_DEVICE_BUSY) {
        if (!player_advance(player))
            return false;
    }
    fence->handle = NULL;
    return true;
}

static void wait_done(void *context, NTSTATUS status, uint64_t ignored, uint64_t ignored_too)
{
    struct player_fence *fence = context;

    fence->is_waiting = false;
}

static bool has_work(const struct player *player)
{
    for (uint32_t i = 0; i < player->workload->context_count; i++) {
        if (player->contexts[i].count)
            return true;
    }
    return false;
}

/* Work that a reset has ended signals nothing: the wait for its signal is given up. */
static bool give_up_wait(struct player *player, const struct workload_op *op)
{
    struct player_fence *fence = &player->fences[op->offset];
    const struct vidmm_statistics *statistics = vidmm_statistics(player->vidmm);
    uint64_t value = vidmm_native_fence_value(fence->handle);

    if (value >= op->value || (!statistics->engine_resets && !statistics->adapter_resets))
        player_report(player, player->op_index,
                      "fence %llu has the value %llu; a wait for %llu has not ended",
                      (unsigned long long)op->offset, (unsigned long long)value,
                      (unsigned long long)op->value);
    while (vidmm_native_fence_cancel_waits(fence->handle) == STATUS_DEVICE_BUSY) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

bool player_play_fence_create(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_fence *fence = &player->fences[op->offset];
    union {
        uint8_t bytes[VIDMM_NATIVE_FENCE_DATA_BYTES];
        struct sgpu_umd_native_fence fence;
    } data;
    unsigned attempts = 0;
    NTSTATUS status;

    for (;;) {
        memset(&data, 0, sizeof data);
        player->request.is_reported = false;
        status = vidmm_native_fence_create(player->processes[op->object], op->value, data.bytes,
                                           player_request_done, player, &fence->handle);
        if (status == STATUS_DEVICE_BUSY) {
            if (!player_advance(player))
                return false;
        } else if (!player_should_repeat(player, status, &attempts)) {
            break;
        }
    }
    if (status == STATUS_NOT_SUPPORTED)
        return true;
    if (!NT_SUCCESS(status)) {
        player_report(player, op_index, "fence %llu was not created: status %s",
                      (unsigned long long)op->offset, decode_status(status).text);
        return true;
    }
    fence->number = data.fence.fence;
    return player_wait_request(player);
}

bool player_play_fence_expect(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct player_fence *fence = &player->fences[op->offset];
    uint64_t value;

    if (!fence->handle)
        return true;
    value = vidmm_native_fence_value(fence->handle);
    if (value != op->value)
        player_report(player, op_index, "fence %llu has the value %llu; expected %llu",
                      (unsigned long long)op->offset, (unsigned long long)value,
                      (unsigned long long)op->value);
    return true;
}

bool player_play_fence_wait(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_fence *fence = &player->fences[op->offset];
    unsigned attempts = 0;
    NTSTATUS status;

    if (!fence->handle)
        return true;
    for (;;) {
        fence->is_waiting = true;
        status = vidmm_native_fence_wait(fence->handle, op->value, wait_done, fence);
        if (status == STATUS_DEVICE_BUSY) {
            if (!player_advance(player))
                return false;
        } else if (!player_should_repeat(player, status, &attempts)) {
            break;
        }
    }
    if (!NT_SUCCESS(status))
        player_report(player, op_index, "fence %llu cannot be waited for: status %s",
                      (unsigned long long)op->offset, decode_status(status).text);
    if (status != STATUS_PENDING)
        return true;
    /* While the manager tells of fences anew, behind a reset as well, it looks at none. */
    while (fence->is_waiting && (has_work(player) || player_manager_is_busy(player))) {
        if (!player_advance(player))
            return false;
    }
    return !fence->is_waiting || give_up_wait(player, op);
}

/* A call that moves fences, until it has: done is told to the player's request. */
static bool move_fences(struct player *player, uint32_t op_index, const char *what,
                        NTSTATUS (*move)(struct vidmm *vidmm, vidmm_done done, void *context))
{
    unsigned attempts = 0;
    NTSTATUS status;

    for (;;) {
        player->request.is_reported = false;
        status = move(player->vidmm, player_request_done, player);
        if (status == STATUS_PENDING)
            return player_wait_request(player);
        if (status == STATUS_DEVICE_BUSY) {
            if (!player_advance(player))
                return false;
        } else if (!player_should_repeat(player, status, &attempts)) {
            break;
        }
    }
    if (!NT_SUCCESS(status) && status != STATUS_NOT_SUPPORTED)
        player_report(player, op_index, "fences were not %s: status %s", what,
                      decode_status(status).text);
    return true;
}

bool player_play_pack_fences(struct player *player, uint32_t op_index)
{
    return move_fences(player, op_index, "packed", vidmm_native_fences_pack);
}

bool player_play_evict_fences(struct player *player, uint32_t op_index)
{
    return move_fences(player, op_index, "evicted", vidmm_native_fences_evict);
}

bool player_play_fence_destroy(struct player *player, uint32_t op_index)
{
    return player_destroy_fence(player, player_op(player, op_index)->offset);
}
