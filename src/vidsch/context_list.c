/*
 * vidsch: which contexts with hardware queues an engine runs, where the system says so.
 *
 * With vidsch_config.lists, each node with queues is switched to two of the contexts that the
 * driver has work of, whenever these change, and to none when it has none
 * (DxgkDdiSwitchToHwContextList). Suspended contexts are on no list. A driver without the function
 * chooses by itself, as it does without the configuration.
 *
 * Source     contract.md HWQ-023.
 */
#include "vidsch/vidsch_private.h"

#include <stdio.h>

static bool can_run(const struct vidsch_packet *packet)
{
    return packet->progress_id && !packet->has_failed &&
           packet->context->first->suspension == RESUMED && packet->context->first->driver_handle;
}

/* The first two contexts, from the oldest packet on or from the newest. */
static void find_contexts(const struct node *node, bool is_from_newest,
                          const struct vidsch_context *out[2])
{
    const struct list *link = is_from_newest ? node->submitted.prev : node->submitted.next;

    out[0] = out[1] = NULL;
    for (; link != &node->submitted && !out[1]; link = is_from_newest ? link->prev : link->next) {
        const struct vidsch_packet *packet =
            list_entry((struct list *)(uintptr_t)link, struct vidsch_packet, node);

        if (!can_run(packet) || packet->context->first == out[0])
            continue;
        out[out[0] ? 1 : 0] = packet->context->first;
    }
}

void vidsch_switch_contexts(struct vidsch *vidsch, unsigned node_index)
{
    struct node *node = &vidsch->nodes[node_index];
    const struct vidsch_context *contexts[2];
    DXGKARG_SWITCHTOHWCONTEXTLIST args = {.NodeOrdinal = node_index};
    NTSTATUS status;
    char text[96];

    if (vidsch->config.lists == VIDSCH_LISTS_NONE || !node->queue_count ||
        vidsch->gate == VIDSCH_CLOSED ||
        !miniport_has(vidsch->miniport, MINIPORT_DDI_SwitchToHwContextList))
        return;
    find_contexts(node, vidsch->config.lists == VIDSCH_LISTS_NEWEST, contexts);
    if (node->has_list && node->list[0] == contexts[0] && node->list[1] == contexts[1])
        return;
    node->has_list = true;
    node->list[0] = contexts[0];
    node->list[1] = contexts[1];
    args.hHwContextFirst = contexts[0] ? contexts[0]->driver_handle : NULL;
    args.hHwContextSecond = contexts[1] ? contexts[1]->driver_handle : NULL;
    status = miniport_switch_to_hw_context_list(vidsch->miniport, NULL, &args);
    if (NT_SUCCESS(status))
        return;
    snprintf(text, sizeof text, "SwitchToHwContextList of node %u returned 0x%08" PRIX32,
             node_index, (uint32_t)status);
    vidsch->events->driver_error(vidsch->events->context, "HWQ-023", text);
}
