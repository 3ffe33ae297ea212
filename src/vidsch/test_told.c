#include "vidsch/test_told.h"

#include "tests/told.h"
#include "vidsch/vidsch_private.h"

static void tell_node(const struct node *node)
{
    told_number(list_count(&node->submitted));
    told_number(list_count(&node->resubmit));
    told_number(list_count(&node->ready[0]));
    told_number(list_count(&node->ready[1]));
    told_number(node->in_flight);
    told_number(node->next_id);
    told_number(node->submitted_id);
    told_number(node->reported_id);
    told_number(node->completed_id);
    told_number(node->heard_id);
    told_number(node->preemption_id);
    told_number(node->is_preempting | node->is_answered << 1 | node->is_preempted << 2 |
                node->goes_on << 3 | node->has_wrapped << 4);
    told_number(node->watched);
    told_number(node->watched ? node->since_ns : 0);
    told_number(node->faults.count);
    told_number(node->goes_on ? node->faulted_id : 0);
}

void vidsch_told_state(const struct vidsch *vidsch)
{
    const struct vidsch_context *context;

    if (!told_is_wanted())
        return;
    for (unsigned i = 0; i < vidsch->config.node_count; i++)
        tell_node(&vidsch->nodes[i]);
    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        told_number(context->node);
        told_number(list_count(&context->queue));
        told_number(context->submitted_sequence);
        told_number(context->retired_sequence);
        told_number(context->outstanding);
        told_number(context->holds);
    }
    told_number(vidsch->last_sequence);
    told_number(vidsch->last_serial);
    told_number(vidsch->outstanding);
    told_number(vidsch->error_count);
    told_number(vidsch->lost_error_count);
    told_number(vidsch->gate);
}
