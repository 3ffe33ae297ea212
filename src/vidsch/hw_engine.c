/*
 * vidsch: resets of an engine whose work comes from hardware queues.
 *
 * DxgkDdiResetHwEngine tells, by DxgkCbInvalidateHwContext, which contexts the reset has hit. What
 * the driver has of these is lost, and nothing of them goes to it ever again. What it has of other
 * contexts it keeps, and runs from DxgkDdiResumeHwEngine on. Nothing is submitted in between.
 *
 * Source     contract.md HWQ-019, HWQ-020.
 */
#include "vidsch/vidsch_private.h"

/* Ends of other packets on the node would be reported by fence ids, of which this tells nothing. */
static bool goes_by_queues(const struct node *node)
{
    const struct vidsch_packet *packet;

    list_for_each (packet, &node->submitted, struct vidsch_packet, node) {
        if (!packet->progress_id && !packet->has_failed)
            return false;
    }
    return list_is_empty(&node->resubmit) && !node->is_preempting;
}

/* What the queues have ended by now is complete, and faults are over. */
static void settle(struct vidsch *vidsch, unsigned node_index)
{
    struct node *node = &vidsch->nodes[node_index];
    struct vidsch_context *context;

    node->faults.count = 0;
    node->goes_on = false;
    node->watched = 0;
    node->watched_suspension = 0;
    node->has_list = false;
    vidsch_look_at_queues(vidsch, node_index);
    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        if (context->node == node_index && context->suspension == SUSPENDING)
            context->suspension = SUSPENDED; /* the engine is in no context */
    }
}

NTSTATUS vidsch_reset_hw_engine(struct vidsch *vidsch, unsigned node_index)
{
    DXGKARG_RESETHWENGINE reset = {.NodeOrdinal = node_index};
    DXGKARG_RESUMEHWENGINE resume = {.NodeOrdinal = node_index};
    const bool was_running = vidsch->is_running;
    NTSTATUS status;

    if (!miniport_has(vidsch->miniport, MINIPORT_DDI_ResetHwEngine) ||
        !miniport_has(vidsch->miniport, MINIPORT_DDI_ResumeHwEngine) ||
        !goes_by_queues(&vidsch->nodes[node_index]))
        return STATUS_NOT_SUPPORTED;
    vidsch->is_running = true;
    status = miniport_reset_hw_engine(vidsch->miniport, NULL, &reset);
    if (NT_SUCCESS(status)) {
        settle(vidsch, node_index);
        vidsch_retire_completed(vidsch, &vidsch->nodes[node_index]);
        status = miniport_resume_hw_engine(vidsch->miniport, NULL, &resume);
    }
    vidsch->is_running = was_running;
    if (NT_SUCCESS(status))
        vidsch_run(vidsch);
    return status;
}
