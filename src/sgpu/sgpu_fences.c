/*
 * The fence unit: where fences are at home, and what signalling them does.
 */
#include "sgpu/sgpu_private.h"

bool sgpu_fence_home_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_fence_home *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet && packet->reserved == 0 &&
           (node->gpu->config.straps & SGPU_STRAP_FENCE_UNIT) && packet->fence < SGPU_FENCES &&
           is_aligned(packet->current | packet->monitored, 8);
}

bool sgpu_fence_home_end(struct sgpu_node *node)
{
    const struct sgpu_packet_fence_home *packet = (const void *)node->packet;

    node->gpu->fences[packet->fence] = (struct sgpu_fence){
        .has_home = true, .current = packet->current, .monitored = packet->monitored};
    return true;
}

bool sgpu_fence_signal_is_well_formed(struct sgpu_node *node)
{
    const struct sgpu_packet_fence_signal *packet = (const void *)node->packet;

    return node->packet_size == sizeof *packet && packet->reserved == 0 &&
           (node->gpu->config.straps & SGPU_STRAP_FENCE_UNIT) && packet->fence < SGPU_FENCES;
}

/* One 64-bit word at a physical address; false: the node has faulted. */
static bool access_word(struct sgpu_node *node, uint64_t address, uint64_t *word,
                        enum sgpu_access access)
{
    const struct sgpu_space physical = {.pasid = MACHINE_NO_PASID};
    struct sgpu_span span;

    if (!sgpu_translate(node, &physical, address, sizeof *word, access, &span)) {
        sgpu_raise_fault(node, span.fault, span.fault_address);
        return false;
    }
    if (access == SGPU_ACCESS_WRITE)
        page_store_write(span.store, span.address, word, sizeof *word);
    else
        page_store_read(span.store, span.address, word, sizeof *word);
    return true;
}

bool sgpu_fence_signal_end(struct sgpu_node *node)
{
    const struct sgpu_packet_fence_signal *packet = (const void *)node->packet;
    const struct sgpu_fence *fence = &node->gpu->fences[packet->fence];
    uint64_t value = packet->value;
    uint64_t monitored;

    if (!fence->has_home) {
        sgpu_raise_fault(node, SGPU_FAULT_NO_HOME, packet->fence);
        return false;
    }
    if (node->gpu->observer && node->gpu->observer->fence_written)
        node->gpu->observer->fence_written(node->gpu->observer_context, node->index, fence->current,
                                           value);
    if (!access_word(node, fence->current, &value, SGPU_ACCESS_WRITE) ||
        !access_word(node, fence->monitored, &monitored, SGPU_ACCESS_READ))
        return false;
    if (value > monitored) {
        if (node->gpu->observer && node->gpu->observer->fence_passed)
            node->gpu->observer->fence_passed(node->gpu->observer_context, node->index);
        sgpu_raise_irq(node->gpu, SGPU_IRQ_FENCE(node->index));
    }
    return true;
}

void sgpu_forget_fence(struct sgpu *gpu, uint32_t fence)
{
    if (fence < SGPU_FENCES)
        gpu->fences[fence].has_home = false;
}

void sgpu_forget_fences(struct sgpu *gpu)
{
    for (uint32_t i = 0; i < SGPU_FENCES; i++)
        gpu->fences[i].has_home = false;
}
