/*
 * Watcher: contexts that are suspended (HWQ-016, HWQ-017, HWQ-018).
 *
 * While a context is suspended its packets are so in the ledger, and count as nowhere under way.
 * The GPU tells what it has of the context; the value of a progress fence that rises tells it, too.
 */
#include "check/check_watch.h"

#include "base/bits.h"

/* As in check_hw_queue.c: so many interrupts may pass before the one that is owed. */
#define OTHER_INTERRUPTS 40

struct suspension_watch {
    unsigned interrupts[CHECK_MAX_NODES]; /* since the GPU did something on the node, or a call */
};

/* The driver's handle of it, or, in reports, the system's: no page says which of the two. */
static struct check_context *find_reported(struct check *check, HANDLE handle)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_context *context = check_find_context(ledger, handle);
    size_t position = 0;

    if (context || !handle)
        return context;
    while ((context = id_map_next(&ledger->objects[CHECK_CONTEXT], &position))) {
        if (context->kernel == handle)
            return context;
    }
    return NULL;
}

/* The first packet of the context that the GPU has, as far as it tells. */
static const struct check_packet *held_by_gpu(struct check *check,
                                              const struct check_context *context)
{
    const struct check_packet *packet;

    list_for_each (packet, &check_ledger(check)->packets, struct check_packet, link) {
        if ((uint64_t)(uintptr_t)packet->context == context->object.handle && packet->is_gpu_held)
            return packet;
    }
    return NULL;
}

static void acknowledge(struct check *check, struct check_context *context)
{
    const struct check_packet *packet;

    check_ledger_suspend(check_ledger(check), context);
    packet = held_by_gpu(check, context);
    CHECK_RULE(check, RULE_HWQ_018, !packet, &context->object, "",
               "the context is suspended, and the GPU has 0x%llx of it",
               (unsigned long long)(packet ? packet->progress : 0));
}

/* ---- The system's side ----------------------------------------------------------------------- */

static void before_suspend(struct check *check, struct suspension_watch *watch,
                           const DXGKARG_SUSPENDCONTEXT *arg)
{
    struct check_context *context = check_find_context(check_ledger(check), arg->hContext);

    if (!CHECK_RULE(check, RULE_HWQ_017, context, NULL, "hContext",
                    "is {%p}, which is no context that lives{=~one~}", arg->hContext))
        return;
    CHECK_RULE(
        check, RULE_HWQ_017, arg->contextSuspendFence > context->suspend_fence, &context->object,
        "contextSuspendFence", "is {0x%llx}, and the one before was 0x%llx{=~more~}",
        (unsigned long long)arg->contextSuspendFence, (unsigned long long)context->suspend_fence);
    context->suspend_fence = arg->contextSuspendFence;
    context->is_suspending = true;
    if (context->node < CHECK_MAX_NODES)
        watch->interrupts[context->node] = 0;
}

/* Where the context's fences stand now: no further than when it was suspended. */
static void look_at_values(struct check *check)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct id_map *queues = &ledger->objects[CHECK_QUEUE];
    struct check_queue *queue;
    size_t position = 0;

    while ((queue = id_map_next(queues, &position))) {
        const struct check_context *context = check_find_context(ledger, queue->context);

        if (!context || !context->is_suspended)
            continue;
        CHECK_RULE(check, RULE_HWQ_018, *queue->progress <= queue->left_at, &queue->object, "",
                   "the progress fence has 0x%llx; it had 0x%llx when its context was suspended",
                   (unsigned long long)*queue->progress, (unsigned long long)queue->left_at);
        queue->left_at = max_u64(queue->left_at, *queue->progress);
    }
}

static void before_resume(struct check *check, const DXGKARG_RESUMECONTEXT *arg)
{
    struct check_context *context = check_find_context(check_ledger(check), arg->hContext);

    if (!CHECK_RULE(check, RULE_HWQ_017, context, NULL, "hContext",
                    "is {%p}, which is no context that lives{=~one~}", arg->hContext))
        return;
    CHECK_RULE(check, RULE_HWQ_017, context->is_suspending || context->is_suspended,
               &context->object, "hContext",
               "is a context that was not suspended: contexts are created resumed");
    look_at_values(check);
    check_ledger_resume(check_ledger(check), context);
}

/* The GPU is taken away from all contexts, whether they are said to be suspended or not. */
static void before_reset(struct check *check, const struct suspension_watch *watch, unsigned node)
{
    struct check_ledger *ledger = check_ledger(check);
    struct check_context *context;
    size_t position = 0;

    while ((context = id_map_next(&ledger->objects[CHECK_CONTEXT], &position))) {
        if (!context->is_suspending || (node < CHECK_MAX_NODES && context->node != node) ||
            context->node >= CHECK_MAX_NODES)
            continue;
        CHECK_RULE(check, RULE_HWQ_016,
                   !ledger->has_gpu || held_by_gpu(check, context) ||
                       watch->interrupts[context->node] < OTHER_INTERRUPTS,
                   &context->object, "",
                   "the GPU has left the context, and SUSPEND_CONTEXT_COMPLETED was not reported "
                   "for 0x%llx: the engine is taken for one that hangs",
                   (unsigned long long)context->suspend_fence);
        check_ledger_suspend(ledger, context);
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_SuspendContext:
        before_suspend(check, state, call->arg.suspend_context);
        break;
    case MINIPORT_DDI_ResumeContext:
        before_resume(check, call->arg.resume_context);
        break;
    case MINIPORT_DDI_DestroyHwQueue:
        look_at_values(check);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
        before_reset(check, state, CHECK_MAX_NODES);
        break;
    case MINIPORT_DDI_ResetHwEngine:
        before_reset(check, state, call->arg.reset_hw_engine->NodeOrdinal);
        break;
    default:
        break;
    }
}

/* ---- The driver's side ----------------------------------------------------------------------- */

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct suspension_watch *watch = state;
    struct check_context *context;

    if (call->ddi == MINIPORT_DDI_InterruptRoutine) {
        for (unsigned i = 0; call->is_ours && i < CHECK_MAX_NODES; i++)
            watch->interrupts[i]++;
        return;
    }
    context = check_find_context(check_ledger(check), call->arg.suspend_context->hContext);
    if (!context)
        return;
    CHECK_RULE(check, RULE_HWQ_016,
               call->status == STATUS_SUCCESS || call->status == STATUS_PENDING, &context->object,
               "", "returned 0x%08x (expected STATUS_SUCCESS or STATUS_PENDING)",
               (unsigned)call->status);
    if (call->status == STATUS_SUCCESS && context->is_suspending)
        acknowledge(check, context);
    else if (call->status != STATUS_PENDING)
        context->is_suspending = false;
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;
    struct check_context *context;
    uint64_t fence;

    if (callback->callback != TRACE_CALLBACK_notify_interrupt)
        return;
    if (data->InterruptType == DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED)
        look_at_values(check);
    if (data->InterruptType != DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED)
        return;
    fence = data->SuspendContextCompleted.ContextSuspendFence;
    context = find_reported(check, data->SuspendContextCompleted.hContext);
    if (!CHECK_RULE(check, RULE_HWQ_016, context, NULL, "SuspendContextCompleted.hContext",
                    "is {%p}, which is no context that lives{=~one~}",
                    data->SuspendContextCompleted.hContext))
        return;
    CHECK_RULE(check, RULE_HWQ_016, fence && fence <= context->suspend_fence, &context->object,
               "SuspendContextCompleted.ContextSuspendFence",
               "is {0x%llx}, which was not asked for (expected {=0x%llx})",
               (unsigned long long)fence, (unsigned long long)context->suspend_fence);
    if (context->is_suspending && fence == context->suspend_fence)
        acknowledge(check, context);
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct suspension_watch *watch = state;
    const struct check_packet *packet = event->packet;
    const struct check_context *context;

    if (event->node < CHECK_MAX_NODES &&
        (event->kind == CHECK_GPU_DONE || event->kind == CHECK_GPU_DROPPED))
        watch->interrupts[event->node] = 0;
    if (!packet || !packet->queue ||
        (event->kind != CHECK_GPU_QUEUED && event->kind != CHECK_GPU_DONE))
        return;
    context = check_find_context(check_ledger(check), packet->context);
    CHECK_RULE(check, RULE_HWQ_018, packet->state != CHECK_SUSPENDED,
               context ? &context->object : NULL, "",
               "the context is suspended, and the GPU %s 0x%llx of it",
               event->kind == CHECK_GPU_DONE ? "has run" : "was handed",
               (unsigned long long)packet->progress);
}

static unsigned stands_still(struct check *check, void *state)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context;
    size_t position = 0;
    unsigned count = 0;

    while ((context = id_map_next(&ledger->objects[CHECK_CONTEXT], &position))) {
        if (!context->is_suspending)
            continue;
        count++;
        CHECK_RULE(check, RULE_HWQ_016, false, &context->object, "",
                   "0x%llx was asked for and SUSPEND_CONTEXT_COMPLETED was not reported: nothing "
                   "is left that could happen (Windows resets the engine)",
                   (unsigned long long)context->suspend_fence);
    }
    return count;
}

const struct check_watcher check_suspension_watcher = {
    .name = "suspended contexts",
    .state_bytes = sizeof(struct suspension_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SuspendContext, MINIPORT_DDI_ResumeContext,
                                MINIPORT_DDI_DestroyHwQueue, MINIPORT_DDI_ResetFromTimeout,
                                MINIPORT_DDI_ResetHwEngine),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_SuspendContext, MINIPORT_DDI_InterruptRoutine),
    .callback = callback,
    .gpu = gpu,
    .stands_still = stands_still,
};
