/*
 * The ring of command buffers of a context (GpuMmu): memory that the CPU writes and the GPU reads.
 *
 * It is an allocation like any other, in system memory by preference, resident, mapped and locked
 * for as long as the context lives. Command buffers are taken one behind the other and come back
 * in the order in which they were taken.
 */
#include "bench/play/player_private.h"

#include <drydock/sgpu.h>

#define RING_BYTES (256 * KiB)

uint64_t player_command_bytes(const struct player *player, const struct workload_op *op)
{
    if (player_is_bare(player))
        return player_bare_command_bytes(player, op);
    return sizeof(struct sgpu_packet_render) +
           (uint64_t)op->ref_count * sizeof(struct sgpu_render_ref) +
           (op->offset ? sizeof(struct sgpu_packet_fence_signal) : 0);
}

/*
 * Room for as many of the context's longest submissions as may be in flight; 0 for a context that
 * submits nothing.
 */
static uint64_t ring_bytes_for(const struct player *player, uint32_t context)
{
    uint64_t longest = 0;

    for (uint32_t i = 0; i < player->workload->op_count; i++) {
        const struct workload_op *op = player_op(player, i);

        if (op->kind == WORKLOAD_OP_SUBMIT && op->object == context)
            longest =
                max_u64(longest, align_up(player_command_bytes(player, op), SGPU_SUBMIT_ALIGN));
    }
    if (!longest)
        return 0;
    return max_u64(RING_BYTES, align_up((player->queue_depth + UINT64_C(1)) * longest, PAGE_BYTES));
}

static void ring_resident(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct player *player = context;

    player->is_request_reported = true;
    player->request_status = status;
    player->needs_pump = true;
}

/* The ring's own numbers follow those of the case's allocations. */
static NTSTATUS create_ring(struct player *player, struct player_context *context)
{
    const struct sgpu_umd_allocation data = {
        .version = SGPU_UMD_VERSION,
        .flags = SGPU_UMD_CPU_VISIBLE | SGPU_UMD_PREFER_APERTURE,
        .bytes = context->ring_bytes,
    };
    const void *told = &data;
    uint32_t told_bytes = sizeof data, bare_bytes = 0;
    uint8_t *bare_data = NULL;
    unsigned attempts = 0;
    NTSTATUS status;

    if (player_is_bare(player)) {
        if (!player_bare_allocation(player, data.bytes, data.flags,
                                    player->workload->allocation_count + context->id, &bare_data,
                                    &bare_bytes))
            return STATUS_NO_MEMORY;
        told = bare_data;
        told_bytes = bare_bytes;
    }
    do {
        player_tell(player, &(struct check_client_event){.kind = CHECK_CLIENT_CREATE});
        status = vidmm_allocation_create(player->devices[context->device], told, told_bytes, NULL,
                                         &context->ring);
        player_tell_of(player, CHECK_CLIENT_CREATED, context->ring, status);
    } while (player_should_repeat(player, status, &attempts));
    base_free(player->services, bare_data, bare_bytes);
    return status;
}

NTSTATUS player_ring_open(struct player *player, struct player_context *context)
{
    struct player_mapping *mapping = &context->ring_mapping;
    unsigned attempts = 0;
    uint64_t fence_value, va;
    NTSTATUS status;

    context->ring_bytes = ring_bytes_for(player, context->id);
    if (!context->ring_bytes)
        return STATUS_SUCCESS;
    status = create_ring(player, context);
    if (!NT_SUCCESS(status))
        return status;
    do {
        player->is_request_reported = false;
        status = vidmm_make_resident(player->devices[context->device], 1, &context->ring,
                                     ring_resident, player, &fence_value);
        player_tell_request(player, CHECK_CLIENT_MAKE_RESIDENT, player->devices[context->device], 1,
                            &context->ring, status, fence_value);
        if (status == STATUS_PENDING) {
            while (!player->is_request_reported) {
                if (!player_advance(player))
                    return STATUS_UNSUCCESSFUL;
            }
            status = player->request_status;
            player_tell_request(player, CHECK_CLIENT_RESIDENT, player->devices[context->device], 1,
                                &context->ring, status, fence_value);
        }
    } while (player_should_repeat(player, status, &attempts));
    if (!NT_SUCCESS(status))
        return status;
    context->is_ring_resident = true;

    mapping->player = player;
    va = player_choose_va(player, context->ring_bytes);
    do {
        status = vidmm_map_gpu_va(player->processes[context->process], context->ring, 0,
                                  context->ring_bytes, va, 0, 0, player_mapping_done, mapping,
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
    player_tell_of(player, CHECK_CLIENT_LOCKED, context->ring, status);
    context->is_ring_locked = NT_SUCCESS(status);
    return status;
}

/*
 * Takes bytes of the ring, whole; false: not before an earlier submission has ended. What is taken
 * lies between the start of the oldest submission that holds some and ring_head, and the two meet
 * only when nothing is taken.
 */
bool player_ring_take(struct player_context *context, struct submission *submission, uint64_t bytes)
{
    uint64_t size = align_up(bytes, SGPU_SUBMIT_ALIGN);
    uint64_t start = context->ring_head;
    const struct submission *oldest;
    bool has_oldest = false;

    list_for_each (oldest, &context->submissions, struct submission, link) {
        has_oldest = oldest->ring_bytes != 0;
        if (has_oldest)
            break;
    }
    if (!has_oldest) {
        start = 0;
    } else if (start > oldest->ring_start) {
        if (start + size > context->ring_bytes)
            start = 0;
    }
    if (start + size > context->ring_bytes)
        return false;
    if (has_oldest && start <= oldest->ring_start && start + size >= oldest->ring_start)
        return false;
    context->ring_head = start + size;
    submission->ring_start = start;
    submission->ring_bytes = size;
    return true;
}

/* The CPU writes its command buffer, page by page, wherever the pages are. */
bool player_ring_write(struct player *player, struct player_context *context, uint64_t offset,
                       const uint8_t *from, uint64_t bytes)
{
    while (bytes) {
        uint64_t in_page = offset % PAGE_BYTES;
        uint64_t piece = min_u64(bytes, PAGE_BYTES - in_page);
        uint64_t pa = vidmm_locked_page_address(context->ring, offset / PAGE_BYTES);

        if (!machine_bus_write(player->machine, pa + in_page, from, piece))
            return false;
        offset += piece;
        from += piece;
        bytes -= piece;
    }
    return true;
}
