/*
 * Watcher: resets of engines with hardware queues (HWQ-019, HWQ-020).
 *
 * Which context an engine runs is told by a GPU that tells what it drops: that of the oldest
 * submission that it has.
 */
#include "check/check_watch.h"

struct engine_node {
    bool is_reset;      /* ResetHwEngine was, and ResumeHwEngine was not */
    bool wants_adapter; /* the resumption has failed */
    HANDLE cause;       /* of the reset that is under way: what the engine ran; NULL: not known */
    bool is_named;      /* ... and the driver has named it, */
    bool is_collateral; /* ... as one that is not the cause */
};

struct engine_watch {
    struct engine_node nodes[CHECK_MAX_NODES];
};

static struct engine_node *node_of(struct engine_watch *watch, unsigned node)
{
    return node < CHECK_MAX_NODES ? &watch->nodes[node] : NULL;
}

static HANDLE running_on(const struct check_ledger *ledger, unsigned node)
{
    const struct check_packet *packet = check_find_executing(ledger, node);
    const struct check_queue *queue = packet ? check_find_queue(ledger, packet->queue) : NULL;

    return queue && *queue->progress < packet->progress ? packet->context : NULL;
}

static void before_submit(struct check *check, struct engine_watch *watch,
                          const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_queue *queue = NULL;
    const struct check_context *context = NULL;
    const struct engine_node *node;
    unsigned ordinal;

    if (call->ddi == MINIPORT_DDI_SubmitCommandToHwQueue) {
        queue = check_find_queue(ledger, call->arg.submit_command_to_hw_queue->hHwQueue);
        context = queue ? check_find_context(ledger, queue->context) : NULL;
        ordinal = queue ? queue->node : CHECK_MAX_NODES;
    } else {
        ordinal = call->ddi == MINIPORT_DDI_SubmitCommand
                      ? call->arg.submit_command->NodeOrdinal
                      : call->arg.submit_command_virtual->NodeOrdinal;
    }
    node = node_of(watch, ordinal);
    if (!node || (!queue && !node->is_reset && !node->wants_adapter))
        return; /* of an engine that has no part in this */
    CHECK_RULE(check, RULE_HWQ_020, !node->is_reset && !node->wants_adapter,
               queue ? &queue->object : NULL, "", "is called for node %u, %s", ordinal,
               node->wants_adapter ? "whose resumption has failed: the adapter is to be reset"
                                   : "which was reset and not resumed");
    CHECK_RULE(check, RULE_HWQ_020, !context || !context->is_invalid,
               context ? &context->object : NULL, "",
               "is called for a context that a reset of its engine has made invalid");
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct engine_watch *watch = state;
    struct engine_node *node;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_ResetHwEngine:
        node = node_of(watch, call->arg.reset_hw_engine->NodeOrdinal);
        if (!node)
            break;
        node->cause = running_on(check_ledger(check), call->arg.reset_hw_engine->NodeOrdinal);
        node->is_named = node->is_collateral = false;
        break;
    case MINIPORT_DDI_ResumeHwEngine:
        node = node_of(watch, call->arg.resume_hw_engine->NodeOrdinal);
        CHECK_RULE(check, RULE_HWQ_020, node && node->is_reset, NULL, "NodeOrdinal",
                   "is {%u}, whose engine was not reset", call->arg.resume_hw_engine->NodeOrdinal);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_StartDevice:
        *watch = (struct engine_watch){0};
        break;
    default:
        before_submit(check, watch, call);
        break;
    }
}

static void after_reset(struct check *check, struct engine_node *node, HANDLE handle)
{
    const struct check_context *context = check_find_context(check_ledger(check), handle);
    const struct check_object *object = context ? &context->object : NULL;

    if (!CHECK_RULE(check, RULE_HWQ_019, node->is_named, object, "",
                    "returned without DxgkCbInvalidateHwContext for the context that the engine "
                    "ran"))
        return;
    CHECK_RULE(check, RULE_HWQ_019, !node->is_collateral, object, "",
               "CollateralDamage was 1 for the context that the engine ran (expected 0 for the "
               "cause)");
}

/* What ended amid the call cannot be the cause that is to be named. */
static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct engine_watch *watch = state;
    struct engine_node *node = node_of(watch, event->node);

    if (node && event->kind == CHECK_GPU_DONE)
        node->cause = NULL;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct engine_watch *watch = state;
    struct engine_node *node;

    if (call->ddi == MINIPORT_DDI_ResetHwEngine) {
        node = node_of(watch, call->arg.reset_hw_engine->NodeOrdinal);
        if (!node || !NT_SUCCESS(call->status))
            return;
        node->is_reset = true;
        if (node->cause)
            after_reset(check, node, node->cause);
        node->cause = NULL;
        return;
    }
    node = node_of(watch, call->arg.resume_hw_engine->NodeOrdinal);
    if (!node)
        return;
    node->is_reset = false;
    node->wants_adapter = !NT_SUCCESS(call->status);
}

/* By the system's handle. */
static struct check_context *find_named(struct check *check, HANDLE handle)
{
    struct check_context *context;
    size_t position = 0;

    while ((context = id_map_next(&check_ledger(check)->objects[CHECK_CONTEXT], &position))) {
        if (context->kernel == handle)
            return context;
    }
    return NULL;
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    const DXGKARGCB_INVALIDATEHWCONTEXT *arg = callback->data;
    struct engine_watch *watch = state;
    struct check_context *context;
    struct engine_node *node;
    HANDLE handle;

    if (callback->callback != TRACE_CALLBACK_invalidate_hw_context)
        return;
    context = find_named(check, arg->hHwContext);
    if (!CHECK_RULE(check, RULE_HWQ_019, context, NULL, "hHwContext",
                    "is {%p}, which is the system's handle of no context{=~that of one~}",
                    arg->hHwContext))
        return;
    handle = (HANDLE)(uintptr_t)context->object.handle;
    node = node_of(watch, context->node);
    if (node && node->cause == handle) {
        node->is_named = true;
        node->is_collateral = arg->Flags.CollateralDamage;
    }
    context->is_invalid = true;
    check_ledger_lose_context(check_ledger(check), handle);
}

const struct check_watcher check_hw_engine_watcher = {
    .name = "engines with hardware queues",
    .state_bytes = sizeof(struct engine_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_ResetHwEngine, MINIPORT_DDI_ResumeHwEngine,
                                MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                                MINIPORT_DDI_SubmitCommandToHwQueue, MINIPORT_DDI_ResetFromTimeout,
                                MINIPORT_DDI_StartDevice),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_ResetHwEngine, MINIPORT_DDI_ResumeHwEngine),
    .gpu = gpu,
    .callback = callback,
};
