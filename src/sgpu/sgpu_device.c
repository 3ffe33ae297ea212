/*
 * The device as a whole: resets, power, and what a bench does to it.
 */
#include "sgpu/sgpu_private.h"

#include <string.h>

/* Local memory from first on is not what it was. */
static void lose_local_memory(struct sgpu *gpu, uint64_t first)
{
    if (first < gpu->local_bytes)
        page_store_fill(gpu->local, first, gpu->local_bytes - first, SGPU_LOST_PATTERN);
}

static void reset_nodes(struct sgpu *gpu)
{
    for (uint32_t i = 0; i < gpu->node_count; i++) {
        sgpu_reset_node(&gpu->nodes[i]);
        sgpu_end_node_power(&gpu->nodes[i]);
        gpu->nodes[i].loses_interrupt = false;
    }
    gpu->irq_status = 0;
    gpu->irq_enable = 0;
    sgpu_forget_fences(gpu);
    sgpu_scan_end(gpu);
    sgpu_update_line(gpu);
}

void sgpu_reset_device(struct sgpu *gpu)
{
    reset_nodes(gpu);
    lose_local_memory(gpu, 0);
}

/* ---- Power ---------------------------------------------------------------------------------- */

static uint64_t kept_bytes(const struct sgpu *gpu, enum sgpu_sleep sleep)
{
    if (sleep == SGPU_SLEEP_HIBERNATE)
        return gpu->config.straps & SGPU_STRAP_KEEPS_HIBERNATE ? gpu->config.kept_bytes : 0;
    return gpu->config.straps & SGPU_STRAP_KEEPS_STANDBY ? gpu->local_bytes : 0;
}

static void forget_slots(struct sgpu *gpu)
{
    for (uint64_t i = 0; i < sgpu_block_words(gpu); i++) {
        for (uint64_t left = gpu->slot_blocks[i]; left; left &= left - 1) {
            uint64_t first = (i * 64 + ctz_u64(left)) * BLOCK_SLOTS;

            memset(gpu->slots + first, 0,
                   min_u64(BLOCK_SLOTS, gpu->slot_count - first) * sizeof *gpu->slots);
        }
        gpu->slot_blocks[i] = 0;
    }
}

void sgpu_power_off(struct sgpu *gpu, enum sgpu_sleep sleep)
{
    ASSERT(!gpu->is_off);
    gpu->is_off = true;
    sgpu_forget_ranges(gpu);
    reset_nodes(gpu);
    forget_slots(gpu);
    lose_local_memory(gpu, kept_bytes(gpu, sleep));
}

void sgpu_power_on(struct sgpu *gpu)
{
    ASSERT(gpu->is_off);
    gpu->is_off = false;
}

void sgpu_remove(struct sgpu *gpu)
{
    gpu->is_off = true;
    gpu->is_removed = true;
    sgpu_reset_device(gpu);
}

/* ---- Misfortune ----------------------------------------------------------------------------- */

void sgpu_hang(struct sgpu *gpu, uint32_t node, uint32_t packets_before)
{
    ASSERT(node < gpu->node_count);
    gpu->nodes[node].will_hang = true;
    gpu->nodes[node].hangs_after = packets_before;
    gpu->nodes[node].may_go_on = false;
}

void sgpu_hang_for_a_while(struct sgpu *gpu, uint32_t node, uint32_t packets_before)
{
    sgpu_hang(gpu, node, packets_before);
    gpu->nodes[node].may_go_on = true;
}

bool sgpu_is_hung(const struct sgpu *gpu, uint32_t node)
{
    return node < gpu->node_count && gpu->nodes[node].is_hung;
}

void sgpu_lose_interrupt(struct sgpu *gpu, uint32_t node)
{
    ASSERT(node < gpu->node_count);
    gpu->nodes[node].loses_interrupt = true;
}
