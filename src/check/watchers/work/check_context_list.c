/*
 * Watcher: lists of contexts that an engine is switched to (HWQ-023).
 *
 * What the engine ran when it was switched may end: it is what it was handed first.
 */
#include "check/check_watch.h"

struct list_node {
    bool has_list;
    HANDLE contexts[2];   /* the driver's; NULL: none */
    uint64_t running;     /* number of the packet that the engine ran behind it; 0: none */
    uint64_t last_packet; /* that was submitted before the switch */
};

struct list_watch {
    struct list_node nodes[CHECK_MAX_NODES];
};

static void before(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_SWITCHTOHWCONTEXTLIST *arg = call->arg.switch_to_hw_context_list;
    const struct check_ledger *ledger = check_ledger(check);
    struct list_watch *watch = state;

    if (call->ddi != MINIPORT_DDI_SwitchToHwContextList)
        *watch = (struct list_watch){0};
    else if (arg->NodeOrdinal < CHECK_MAX_NODES)
        watch->nodes[arg->NodeOrdinal] =
            (struct list_node){.last_packet = ledger->packets_submitted};
}

/* What ends amid the call is not judged: the engine goes on until the driver stops it. */
static void after(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_SWITCHTOHWCONTEXTLIST *arg = call->arg.switch_to_hw_context_list;
    struct list_watch *watch = state;
    const struct check_packet *packet;
    struct list_node *node;

    if (arg->NodeOrdinal >= CHECK_MAX_NODES || !NT_SUCCESS(call->status))
        return;
    node = &watch->nodes[arg->NodeOrdinal];
    node->has_list = true;
    node->contexts[0] = arg->hHwContextFirst;
    node->contexts[1] = arg->hHwContextSecond;
    packet = check_find_executing(check_ledger(check), arg->NodeOrdinal);
    node->running = packet ? packet->number : 0;
}

/* A packet of the first context that was there before the switch and has not run. */
static const struct check_packet *left_of_first(const struct check_ledger *ledger,
                                                const struct list_node *node)
{
    const struct check_packet *packet;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (packet->queue && packet->context == node->contexts[0] && !packet->is_gpu_done &&
            packet->number <= node->last_packet && packet->state == CHECK_SUBMITTED)
            return packet;
    }
    return NULL;
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_packet *packet = event->packet, *left;
    struct list_watch *watch = state;
    const struct check_context *context;
    const struct list_node *node;
    bool is_first, is_second;

    if (event->kind != CHECK_GPU_DONE || !packet || !packet->queue ||
        event->node >= CHECK_MAX_NODES || !watch->nodes[event->node].has_list)
        return;
    node = &watch->nodes[event->node];
    if (packet->number == node->running)
        return;
    context = check_find_context(ledger, packet->context);
    is_first = packet->context == node->contexts[0];
    is_second = packet->context == node->contexts[1];
    CHECK_RULE(check, RULE_HWQ_023, is_first || is_second, context ? &context->object : NULL, "",
               "node %u has run 0x%llx of the context, which is not on the list that it was "
               "switched to",
               event->node, (unsigned long long)packet->progress);
    if (!is_second || is_first)
        return;
    left = left_of_first(ledger, node);
    CHECK_RULE(check, RULE_HWQ_023, !left, context ? &context->object : NULL, "",
               "node %u has run 0x%llx of the second context, and 0x%llx of the first one had been "
               "submitted before",
               event->node, (unsigned long long)packet->progress,
               (unsigned long long)(left ? left->progress : 0));
}

const struct check_watcher check_context_list_watcher = {
    .name = "lists of contexts",
    .state_bytes = sizeof(struct list_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SwitchToHwContextList, MINIPORT_DDI_StartDevice,
                                MINIPORT_DDI_ResetFromTimeout, MINIPORT_DDI_ResetHwEngine),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_SwitchToHwContextList),
    .gpu = gpu,
};
