/*
 * vidsch: contexts with hardware queues that the GPU leaves for a while.
 *
 *     RESUMED      as every context is made; what it was given runs
 *     SUSPENDING   DxgkDdiSuspendContext was called, and the GPU may still be in the context
 *     SUSPENDED    the driver has said, by its answer or by SUSPEND_CONTEXT_COMPLETED, that it is
 *                  not: the context is quiet, though the driver has work of it
 *
 * A context is suspended by what keeps work back: a hold, or a gate that is not open. It goes on
 * when nothing keeps it back any more, whether its suspension was acknowledged or not; the number
 * of the suspension tells a late acknowledgement from that of the next one.
 *
 * The driver suspends its context, with all queues of that: so it is asked to when each of them is
 * kept back, and to resume as soon as one of them is not. The first context has the state.
 *
 * Source     contract.md HWQ-016..HWQ-018.
 */
#include "vidsch/vidsch_private.h"

#include <stdio.h>

/* Packets of a suspended context keep their room: paging that is to go meanwhile needs some, too.
 */
static bool leaves_room_for_paging(const struct vidsch *vidsch, unsigned node)
{
    const struct vidsch_context *context;

    if (vidsch->nodes[node].in_flight < vidsch->nodes[node].most_in_flight)
        return true;
    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        if (context->node == node && context->is_paging)
            return false;
    }
    return true;
}

static bool can_suspend(const struct vidsch_context *context)
{
    struct miniport *miniport = context->vidsch->miniport;

    return leaves_room_for_paging(context->vidsch, context->node) &&
           context->vidsch->config.suspends != VIDSCH_SUSPENDS_NONE && context->progress &&
           context->first->driver_handle && !context->first->is_invalid &&
           miniport_has(miniport, MINIPORT_DDI_SuspendContext) &&
           miniport_has(miniport, MINIPORT_DDI_ResumeContext);
}

static void tell_refusal(struct vidsch *vidsch, const char *ddi, NTSTATUS status)
{
    char text[96];

    snprintf(text, sizeof text, "%s returned 0x%08" PRIX32, ddi, (uint32_t)status);
    vidsch->events->driver_error(vidsch->events->context, "HWQ-016", text);
}

/* What the driver does in the call may be told of, and is acted on behind it. */
static void suspend(struct vidsch_context *context)
{
    struct vidsch *vidsch = context->vidsch;
    const enum suspension was = context->suspension;
    const bool was_running = vidsch->is_running;
    DXGKARG_SUSPENDCONTEXT args = {.hContext = context->driver_handle,
                                   .contextSuspendFence = ++context->suspend_fence};
    NTSTATUS status;

    context->suspension = SUSPENDING;
    context->suspend_number = ++vidsch->last_suspension;
    vidsch->is_running = true;
    status = miniport_suspend_context(vidsch->miniport, NULL, &args);
    vidsch->is_running = was_running;
    if (status == STATUS_SUCCESS) {
        context->suspension = SUSPENDED;
    } else if (status != STATUS_PENDING) {
        context->suspension = was; /* it waits for its work, as all others do */
        tell_refusal(vidsch, "SuspendContext", status);
    }
}

static bool is_kept_back(const struct vidsch_context *context)
{
    return context->holds || context->vidsch->gate != VIDSCH_OPEN;
}

/* With its other queues. out_is_busy: the driver has work of one of them. */
static bool are_all_kept_back(const struct vidsch_context *first, bool *out_is_busy)
{
    const struct vidsch_context *context;

    *out_is_busy = false;
    list_for_each (context, &first->vidsch->contexts, struct vidsch_context, link) {
        if (context->first != first)
            continue;
        if (!is_kept_back(context))
            return false;
        if (context->outstanding != list_count(&context->queue))
            *out_is_busy = true;
    }
    return true;
}

void vidsch_keep_off(struct vidsch_context *context)
{
    const enum vidsch_suspends suspends = context->vidsch->config.suspends;
    bool is_busy;

    if (!can_suspend(context) || !are_all_kept_back(context->first, &is_busy) ||
        (suspends == VIDSCH_SUSPENDS_BUSY && (!is_busy || context->first->suspension != RESUMED)))
        return;
    suspend(context->first);
}

void vidsch_resume(struct vidsch_context *context)
{
    struct vidsch *vidsch = context->vidsch;
    const bool was_running = vidsch->is_running;
    DXGKARG_RESUMECONTEXT args = {.hContext = context->driver_handle};
    NTSTATUS status;

    context->suspension = RESUMED;
    if (context->is_invalid)
        return;
    vidsch->is_running = true;
    status = miniport_resume_context(vidsch->miniport, NULL, &args);
    vidsch->is_running = was_running;
    if (!NT_SUCCESS(status))
        tell_refusal(vidsch, "ResumeContext", status);
}

void vidsch_let_on(struct vidsch_context *context)
{
    if (context->first->suspension != RESUMED && !is_kept_back(context))
        vidsch_resume(context->first);
}

void vidsch_keep_all_off(struct vidsch *vidsch)
{
    struct vidsch_context *context;

    list_for_each (context, &vidsch->contexts, struct vidsch_context, link)
        vidsch_keep_off(context);
}

void vidsch_let_all_on(struct vidsch *vidsch)
{
    struct vidsch_context *context;

    list_for_each (context, &vidsch->contexts, struct vidsch_context, link)
        vidsch_let_on(context);
}

void vidsch_note_suspension(struct vidsch *vidsch, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    const HANDLE handle = data->SuspendContextCompleted.hContext;
    struct vidsch_context *context;

    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        if (context->suspension == SUSPENDING && handle &&
            (context->driver_handle == handle || context->system_handle == handle) &&
            context->suspend_fence == data->SuspendContextCompleted.ContextSuspendFence)
            context->suspension = SUSPENDED;
    }
}

void vidsch_end_suspensions(struct vidsch *vidsch, bool is_over)
{
    struct vidsch_context *context;

    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        if (is_over)
            context->suspension = RESUMED;
        else if (context->suspension == SUSPENDING)
            context->suspension = SUSPENDED;
    }
}

uint64_t vidsch_oldest_suspension(const struct vidsch *vidsch, unsigned node)
{
    const struct vidsch_context *context;
    uint64_t oldest = 0;

    list_for_each (context, &vidsch->contexts, struct vidsch_context, link) {
        if (context->node == node && context->suspension == SUSPENDING &&
            (!oldest || context->suspend_number < oldest))
            oldest = context->suspend_number;
    }
    return oldest;
}
