/*
 * The ring of command buffers of a context (GpuMmu): memory that the CPU writes and the GPU reads.
 *
 * The ring is an allocation like any other, in system memory by preference, resident, mapped and
 * locked for as long as the context lives. Command buffers are taken one behind the other and come
 * back in the order in which they were taken. A ring in local memory goes and comes back when the
 * adapter is reset or sleeps: nothing is written while it is on its way.
 */
#include "bench/play/player_private.h"

#include <drydock/sgpu.h>

/*
 * Takes bytes of the ring, whole; false: not before an earlier submission has ended. The taken
 * bytes lie between the start of the oldest submission that holds some and ring_head; the two meet
 * only when none are taken.
 */
bool player_ring_take(struct player_context *context, struct submission *submission, uint64_t bytes)
{
    uint64_t size = align_up(bytes, SGPU_SUBMIT_ALIGN);
    uint64_t start = context->ring_head;
    const struct submission *oldest;
    bool has_oldest = false;

    list_for_each (oldest, &context->submissions, struct submission, link) {
        has_oldest = oldest->ring_bytes != 0;
        if (has_oldest || oldest->token >= context->unasked_token)
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
