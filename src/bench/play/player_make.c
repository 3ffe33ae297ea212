/*
 * Contexts of the manager, as lines declare them: what player_context.c opens for the first time,
 * and player_pump.c makes anew.
 */
#include "bench/play/player_private.h"

#include <drydock/sgpu.h>

NTSTATUS player_context_make(struct player *player, uint32_t id)
{
    const struct workload_context *source = &player->workload->contexts[id];
    struct player_context *context = &player->contexts[id];
    const struct sgpu_umd_context data = {
        .version = SGPU_UMD_VERSION,
        .flags = (source->save.is_local ? SGPU_UMD_SAVE_LOCAL : 0u) |
                 (source->save.is_mapped ? SGPU_UMD_SAVE_MAPPED : 0u) |
                 (source->save.is_shared ? SGPU_UMD_SAVE_SHARED : 0u) |
                 (source->save.has_cpu_image ? SGPU_UMD_SAVE_CPU_IMAGE : 0u),
        .save_bytes = source->save.bytes,
    };
    uint32_t data_bytes = source->save.bytes ? sizeof data : 0;
    const void *umd_data = data_bytes ? &data : NULL;
    uint32_t foreign_bytes = 0;
    uint8_t *foreign_data = NULL;
    unsigned attempts = 0;
    NTSTATUS status;

    context->id = id;
    context->device = source->device;
    context->process = player->workload->devices[source->device].process;
    if (player_is_foreign(player)) {
        player_foreign_context_data(player, id, &foreign_data, &foreign_bytes);
        umd_data = foreign_data;
        data_bytes = foreign_bytes;
    }
    do {
        status =
            vidmm_context_create(player->devices[source->device], player_node(player, source->node),
                                 umd_data, data_bytes, &context->handle);
    } while (player_should_repeat(player, status, &attempts));
    base_free(player->services, foreign_data, foreign_bytes);
    return status;
}
