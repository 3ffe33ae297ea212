/*
 * Power of the nodes, which are switched off one by one.
 */
#include "sgpu/sgpu_private.h"

bool sgpu_node_is_off(const struct sgpu_node *node)
{
    return node->power || node->power_changes;
}

uint32_t sgpu_node_power(const struct sgpu_node *node)
{
    return node->power_changes ? SGPU_POWER_CHANGES : node->power;
}

static void power_has_changed(void *context)
{
    struct sgpu_node *node = context;

    node->power_changes = false;
    sgpu_raise_irq(node->gpu, SGPU_IRQ_POWER);
}

bool sgpu_switch_node(struct sgpu_node *node, uint32_t value)
{
    struct sgpu *gpu = node->gpu;
    const bool was_on = !node->power;

    if (!(gpu->config.straps & SGPU_STRAP_POWER))
        return false;
    node->power = value;
    if (gpu->config.straps & SGPU_STRAP_SLOW_POWER) {
        machine_cancel(gpu->machine, &node->power_event);
        node->power_changes = true;
        machine_schedule(gpu->machine, &node->power_event,
                         machine_now(gpu->machine) + SGPU_POWER_NS, power_has_changed, node);
    }
    return was_on && value;
}

void sgpu_end_node_power(struct sgpu_node *node)
{
    machine_cancel(node->gpu->machine, &node->power_event);
    node->power = 0;
    node->power_changes = false;
}
