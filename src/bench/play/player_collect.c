/*
 * Debug reports: what the driver has to say, asked for in the middle of a case.
 */
#include "bench/play/player_private.h"

#include <bugcodes.h>

/* The word of the line: for=... */
enum { FOR_ADAPTER, FOR_ENGINE };

bool player_play_collect(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const uint32_t bytes = (uint32_t)op->size;
    uint8_t *buffer = bytes ? base_alloc(player->services, bytes) : NULL;

    if (bytes && !buffer)
        return true;
    vidmm_collect_debug_info(player->vidmm,
                             op->flags == FOR_ENGINE ? VIDEO_ENGINE_TIMEOUT_DETECTED
                                                     : VIDEO_TDR_TIMEOUT_DETECTED,
                             buffer, bytes);
    base_free(player->services, buffer, bytes);
    player->needs_pump = true;
    return true;
}
