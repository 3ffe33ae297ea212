/*
 * Interrupts and faults: how the GPU tells the driver of anything, and how a node stops.
 */
#include "sgpu/sgpu_private.h"

void sgpu_update_line(struct sgpu *gpu)
{
    machine_set_interrupt_line(gpu->machine, (gpu->irq_status & gpu->irq_enable) != 0);
}

uint32_t sgpu_enabled_interrupts(const struct sgpu *gpu)
{
    return gpu->irq_enable;
}

void sgpu_raise_irq(struct sgpu *gpu, uint32_t bits)
{
    gpu->irq_status |= bits;
    sgpu_update_line(gpu);
}

static uint64_t packet_token(const struct sgpu_node *node)
{
    const struct sgpu_packet_render *packet = (const void *)node->packet;

    if (node->packet_size < sizeof *packet || SGPU_PACKET_OPCODE(packet->header) != SGPU_OP_RENDER)
        return 0;
    return packet->token;
}

void sgpu_raise_fault(struct sgpu_node *node, uint32_t kind, uint64_t address)
{
    struct sgpu *gpu = node->gpu;
    struct sgpu_fault fault = {
        .node = node->index,
        .fence = running_submission(node)->fence,
        .kind = kind,
        .address = address,
        .packet_offset = node->offset,
        .packet_bytes = node->packet_size,
        .token = packet_token(node),
    };

    if (node->flight_count) { /* what is under way ends first, and then the packet faults again */
        node->waits = node->drains = true;
        return;
    }
    node->is_running = false;
    node->is_faulted = true;
    node->fault_fence = fault.fence;
    node->fault_kind = kind;
    node->fault_va = address;
    gpu->statistics.faults++;
    machine_digest_add(gpu->machine, (uint64_t)node->index << 32 | kind);
    machine_digest_add(gpu->machine, address);
    if (gpu->observer && gpu->observer->fault)
        gpu->observer->fault(gpu->observer_context, &fault);
    sgpu_raise_irq(gpu, SGPU_IRQ_FAULTED(node->index));
}
