/*
 * Contexts of the manager, as lines declare them: what player_context.c opens for the first time,
 * and player_pump.c makes anew.
 *
 * With `queues-per-context` contexts of a device on a node are hardware queues of one context of
 * the driver's: the first one of them makes that. Where the driver has no such queues, or refuses
 * one more, the context is one of its own.
 */
#include "bench/play/player_private.h"

#include <drydock/sgpu.h>

uint32_t player_first_context(const struct player *player, uint32_t id)
{
    const struct workload_context *contexts = player->workload->contexts;
    const unsigned limit = player->config.run->queues_per_context;
    uint32_t first = id;
    unsigned count = 0;

    if (limit < 2 || contexts[id].save.bytes) /* a save area is of one context */
        return id;
    for (uint32_t i = 0; i <= id; i++) {
        if (contexts[i].device != contexts[id].device || contexts[i].save.bytes ||
            player_node(player, contexts[i].node) != player_node(player, contexts[id].node))
            continue;
        if (count++ % limit == 0)
            first = i;
    }
    return first;
}

/* A further queue of the context that with has. */
static NTSTATUS share(struct vidmm_context *with, struct vidmm_context **out)
{
    NTSTATUS status = vidmm_hw_context_share(with, out);

    if (!NT_SUCCESS(status))
        return status;
    status = vidmm_hw_queue_create(*out, (D3DDDI_CREATEHWQUEUEFLAGS){{{0}}}, NULL, 0);
    if (NT_SUCCESS(status))
        return status;
    vidmm_context_destroy(*out);
    *out = NULL;
    return status;
}

NTSTATUS player_context_make(struct player *player, uint32_t id)
{
    const uint32_t first = player_first_context(player, id);
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
    if (first != id && player->contexts[first].handle &&
        NT_SUCCESS(share(player->contexts[first].handle, &context->handle)))
        return STATUS_SUCCESS;
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
