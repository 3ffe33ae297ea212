/*
 * What copies, fills and fences do to memory, and what the observer hears of it.
 */
#include "sgpu/sgpu_private.h"

struct sgpu_command sgpu_running_command(struct sgpu_node *node)
{
    return (struct sgpu_command){node->index, running_submission(node)->fence, node->offset,
                                 node->packet_size};
}

static void tell_write(struct sgpu_node *node, const struct sgpu_span *to, uint64_t bytes,
                       const struct sgpu_command *command)
{
    const struct sgpu_observer *observer = node->gpu->observer;

    if (observer && observer->wrote)
        observer->wrote(node->gpu->observer_context, command, to->store, to->address, bytes);
}

void sgpu_tell_entries(struct sgpu_node *node, const struct sgpu_span *to, uint64_t bytes)
{
    const struct sgpu_observer *observer = node->gpu->observer;
    const struct sgpu_command command = sgpu_running_command(node);

    if (observer && observer->wrote_entries)
        observer->wrote_entries(node->gpu->observer_context, &command, to->store, to->address,
                                bytes);
}

void sgpu_move_span(struct sgpu_node *node, const struct sgpu_span *to,
                    const struct sgpu_span *from, uint64_t bytes,
                    const struct sgpu_command *command)
{
    node->gpu->statistics.copied_bytes += bytes;
    if (!to->store)
        return;
    if (from->store)
        page_store_copy_bytes(to->store, to->address, from->store, from->address, bytes);
    else
        page_store_fill(to->store, to->address, bytes, 0);
    tell_write(node, to, bytes, command);
}

void sgpu_fill_span(struct sgpu_node *node, const struct sgpu_span *to, uint64_t bytes,
                    uint32_t pattern, const struct sgpu_command *command)
{
    node->gpu->statistics.filled_bytes += bytes;
    if (!to->store)
        return;
    page_store_fill(to->store, to->address, bytes, pattern);
    tell_write(node, to, bytes, command);
}

void sgpu_write_fence(struct sgpu_node *node, const struct sgpu_span *to, uint64_t value,
                      bool interrupts)
{
    if (to->store)
        page_store_write(to->store, to->address, &value, 8);
    if (interrupts)
        sgpu_raise_irq(node->gpu, SGPU_IRQ_FENCE(node->index));
}
