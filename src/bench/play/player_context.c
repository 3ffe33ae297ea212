/*
 * Contexts are opened and closed, each with its ring of command buffers (player_ring.c).
 */
#include "bench/play/player_private.h"

#include <drydock/sgpu.h>

#define RING_BYTES (256 * KiB)

void player_measure_commands(struct player *player)
{
    for (uint32_t i = 0; i < player->workload->op_count; i++) {
        const struct workload_op *op = player_op(player, i);
        struct player_context *context;

        if (op->kind != WORKLOAD_OP_SUBMIT && op->kind != WORKLOAD_OP_FAULT)
            continue;
        context = &player->contexts[op->object];
        context->longest_command =
            max_u64(context->longest_command,
                    align_up(player_command_bytes(player, op), SGPU_SUBMIT_ALIGN));
    }
}

/*
 * Room for as many of the context's longest submissions as may be in flight; 0 for a context that
 * submits nothing.
 */
static uint64_t ring_bytes_for(const struct player *player, const struct player_context *context)
{
    if (!context->longest_command)
        return 0;
    return max_u64(
        RING_BYTES,
        align_up((player->queue_depth + UINT64_C(1)) * context->longest_command, PAGE_BYTES));
}

/* Their numbers follow those of the case's allocations. */
NTSTATUS player_own_allocation(struct player *player, const struct player_context *context,
                               uint64_t bytes, struct vidmm_allocation **out_allocation)
{
    const struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION,
        .flags = SGPU_UMD_CPU_VISIBLE | SGPU_UMD_PREFER_APERTURE,
        .bytes = bytes,
    };
    const void *umd_data = &data;
    uint32_t data_bytes = sizeof data, foreign_bytes = 0;
    uint8_t *foreign_data = NULL;
    unsigned attempts = 0;
    NTSTATUS status;

    *out_allocation = NULL;
    if (player_is_foreign(player)) {
        if (!player_foreign_allocation_data(player, data.bytes, data.flags,
                                            player->workload->allocation_count + context->id,
                                            &foreign_data, &foreign_bytes))
            return STATUS_NO_MEMORY;
        umd_data = foreign_data;
        data_bytes = foreign_bytes;
    }
    do {
        player_inform(player, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE});
        status = vidmm_allocation_create(player->devices[context->device], umd_data, data_bytes,
                                         NULL, out_allocation);
        player_inform_of(player, CHECK_CLIENT_CREATED, *out_allocation, status);
    } while (player_should_repeat(player, status, &attempts));
    base_free(player->services, foreign_data, foreign_bytes);
    return status;
}

NTSTATUS player_own_resident(struct player *player, struct vidmm_device *device,
                             struct vidmm_allocation **allocation)
{
    unsigned attempts = 0;
    NTSTATUS status;

    do {
        player->request.is_reported = false;
        player_expect_request(player, device, *allocation, false);
        status = vidmm_make_resident(device, 1, allocation, player_request_done, player,
                                     &player->request.event.fence);
        player_inform_request(player, CHECK_CLIENT_MAKE_RESIDENT, device, 1, allocation, status,
                              player->request.event.fence);
        if (status != STATUS_PENDING)
            player->request.event.device = NULL;
        if (status == STATUS_PENDING) {
            if (!player_wait_request(player))
                return STATUS_UNSUCCESSFUL;
            status = player->request.status;
        }
    } while (player_should_repeat(player, status, &attempts));
    return status;
}

static NTSTATUS open_ring(struct player *player, struct player_context *context)
{
    struct player_mapping *mapping = &context->ring_mapping;
    unsigned attempts = 0;
    NTSTATUS status;
    uint64_t va;

    context->ring_bytes = ring_bytes_for(player, context);
    if (!context->ring_bytes)
        return STATUS_SUCCESS;
    status = player_own_allocation(player, context, context->ring_bytes, &context->ring);
    if (!NT_SUCCESS(status))
        return status;
    status = player_own_resident(player, player->devices[context->device], &context->ring);
    if (!NT_SUCCESS(status))
        return status;
    context->is_ring_resident = true;

    mapping->player = player;
    va = player_choose_va(player, context->ring_bytes);
    do {
        status = vidmm_map_gpu_va(player->processes[context->process],
                                  &(struct vidmm_map_request){.allocation = context->ring,
                                                              .bytes = context->ring_bytes,
                                                              .va = va,
                                                              .done = player_mapping_done,
                                                              .context = mapping},
                                  &mapping->va);
    } while (player_should_repeat(player, status, &attempts));
    if (!NT_SUCCESS(status))
        return status;
    mapping->process = context->process;
    mapping->bytes = context->ring_bytes;
    while (!mapping->is_ready) {
        if (!player_advance(player))
            return STATUS_UNSUCCESSFUL;
    }

    for (;;) {
        status = vidmm_lock(context->ring);
        if (status == STATUS_GRAPHICS_ALLOCATION_BUSY) {
            if (!player_advance(player))
                return STATUS_UNSUCCESSFUL;
        } else if (!player_should_repeat(player, status, &attempts)) {
            break;
        }
    }
    player_inform_of(player, CHECK_CLIENT_LOCKED, context->ring, status);
    context->is_ring_locked = NT_SUCCESS(status);
    return status;
}

NTSTATUS player_context_open(struct player *player, uint32_t id)
{
    NTSTATUS status = player_context_make(player, id);

    if (!NT_SUCCESS(status) || !player->is_virtual)
        return status;
    return open_ring(player, &player->contexts[id]);
}

bool player_context_close(struct player *player, struct player_context *context)
{
    if (!player_wait_context(player, context))
        return false;
    if (!context->ring)
        return true;
    if (player->awaited_ring == context->ring)
        player->awaited_ring = NULL;
    if (context->is_ring_locked) {
        player_inform_of(player, CHECK_CLIENT_UNLOCK, context->ring, STATUS_SUCCESS);
        vidmm_unlock(context->ring);
    }
    if (context->is_ring_resident)
        player_evict(player, player->devices[context->device], 1, &context->ring);
    player_inform_of(player, CHECK_CLIENT_DESTROY, context->ring, STATUS_SUCCESS);
    vidmm_allocation_destroy(context->ring);
    context->ring = NULL;
    context->is_ring_resident = context->is_ring_locked = false;
    context->ring_mapping = (struct player_mapping){0};
    context->ring_head = 0;
    return true;
}

static void destroy(struct player_context *context)
{
    if (context->kernels)
        vidmm_context_destroy(context->kernels);
    if (context->handle)
        vidmm_context_destroy(context->handle);
    context->kernels = context->handle = NULL;
}

/* Who made the driver's context goes last. */
void player_destroy_contexts(struct player *player,
                             bool (*is_chosen)(const struct player *player, uint32_t id,
                                               const void *choice),
                             const void *choice)
{
    for (unsigned goes_first = 0; goes_first < 2; goes_first++) {
        for (uint32_t i = 0; i < player->workload->context_count; i++) {
            if ((player_first_context(player, i) == i) == goes_first &&
                is_chosen(player, i, choice))
                destroy(&player->contexts[i]);
        }
    }
}
