/*
 * Watcher: hardware queues (HWQ-001 to HWQ-012, HWQ-014, HWQ-015).
 *
 * The value of a progress fence is read where the system sees it. The GPU tells what has run.
 */
#include "check/check_watch.h"

#include "base/bits.h"

/*
 * As many interrupts may pass before one that is on its way, or lost and asked for by the system:
 * those of other nodes, of displays and of whatever shares the line.
 */
#define OTHER_INTERRUPTS 40

struct queue_node {
    DXGK_NODEMETADATA_FLAGS flags;
    unsigned interrupts; /* that the driver took since a submission has run, or a report */
};

struct queue_watch {
    bool is_enabled; /* the system has said so of DXGK_FEATURE_HWSCH */
    bool has_bands;  /* SetupPriorityBands was called since the start, */
    bool has_worked; /* and something submitted */
    struct queue_node nodes[CHECK_MAX_NODES];
};

static const struct check_object *object_of(const struct check_queue *queue)
{
    return queue ? &queue->object : NULL;
}

/* ---- The system's side ----------------------------------------------------------------------- */

static void before_create_context(struct check *check, const struct queue_watch *watch,
                                  const DXGKARG_CREATECONTEXT *arg)
{
    if (!arg->Flags.HwQueueSupported)
        return;
    CHECK_RULE(check, RULE_HWQ_001,
               arg->NodeOrdinal < CHECK_MAX_NODES &&
                   watch->nodes[arg->NodeOrdinal].flags.ContextSchedulingSupported,
               NULL, "Flags.HwQueueSupported",
               "is {1} on node %u, whose metadata do not say ContextSchedulingSupported{=~0~}",
               arg->NodeOrdinal);
}

static void check_fence_is_its_own(struct check *check, const DXGKARG_CREATEHWQUEUE *arg,
                                   const struct check_object *context)
{
    const struct id_map *queues = &check_ledger(check)->objects[CHECK_QUEUE];
    const struct check_queue *other;
    size_t position = 0;

    while ((other = id_map_next(queues, &position)))
        CHECK_RULE(check, RULE_HWQ_001,
                   (const void *)other->progress != arg->HwQueueProgressFenceCPUVirtualAddress,
                   context, "HwQueueProgressFenceCPUVirtualAddress",
                   "is {%p}, the progress fence of a queue that lives{=~one of its own~}",
                   arg->HwQueueProgressFenceCPUVirtualAddress);
}

static void before_create(struct check *check, const struct check_call *call)
{
    const DXGKARG_CREATEHWQUEUE *arg = call->arg.create_hw_queue;
    const struct check_context *context = check_find_context(check_ledger(check), call->object);
    const struct check_object *object = context ? &context->object : NULL;

    CHECK_RULE(check, RULE_HWQ_001, context && context->flags.HwQueueSupported, object,
               "hHwContext", "is {%p}, no context that was created with HwQueueSupported{=~one~}",
               call->object);
    CHECK_RULE(check, RULE_HWQ_001, arg->hHwQueue && arg->hHwQueueProgressFence, object, "hHwQueue",
               "is {%p}, and hHwQueueProgressFence 0x%x{=~not NULL~}", arg->hHwQueue,
               arg->hHwQueueProgressFence);
    CHECK_RULE(check, RULE_HWQ_001,
               arg->HwQueueProgressFenceCPUVirtualAddress &&
                   arg->HwQueueProgressFenceGPUVirtualAddress,
               object, "HwQueueProgressFenceGPUVirtualAddress",
               "is {0x%llx}, and the CPU's address %p{=~not 0~}",
               (unsigned long long)arg->HwQueueProgressFenceGPUVirtualAddress,
               arg->HwQueueProgressFenceCPUVirtualAddress);
    check_fence_is_its_own(check, arg, object);
}

/* Priority bands may be set up again while the GPU works, but not for the first time. */
static void before_bands(struct check *check, struct queue_watch *watch)
{
    CHECK_RULE(check, RULE_HWQ_015, watch->has_bands || !watch->has_worked, NULL, "",
               "is called for the first time since the start, and work has been submitted");
    watch->has_bands = true;
}

static void before_properties(struct check *check, HANDLE handle)
{
    struct check_context *context = check_find_context(check_ledger(check), handle);

    if (CHECK_RULE(check, RULE_HWQ_015, context, NULL, "hContext",
                   "is {%p}, which is no context that lives{=~one~}", handle))
        context->is_scheduled = true;
}

static void check_is_scheduled(struct check *check, const struct queue_watch *watch,
                               const struct check_queue *queue)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_context *context = check_find_context(ledger, queue->context);

    CHECK_RULE(check, RULE_HWQ_015,
               watch->has_bands || !ledger->has_ddi[MINIPORT_DDI_SetupPriorityBands],
               &queue->object, "", "is called, and DxgkDdiSetupPriorityBands was not");
    CHECK_RULE(check, RULE_HWQ_015,
               !context || context->is_scheduled ||
                   !ledger->has_ddi[MINIPORT_DDI_SetContextSchedulingProperties],
               &queue->object, "",
               "is called, and DxgkDdiSetContextSchedulingProperties was not for the context");
}

/* Submissions to the node's queues that have not ended, the new one among them. */
static unsigned under_way(const struct check_ledger *ledger, unsigned node)
{
    const struct check_packet *packet;
    unsigned count = 0;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        const struct check_queue *queue = check_find_queue(ledger, packet->queue);

        count += queue && packet->node == node && *queue->progress < packet->progress;
    }
    return count;
}

static void check_nesting(struct check *check, const struct check_call *call,
                          const struct check_queue *queue)
{
    const struct check_call *outer;

    for (outer = call->outer; outer; outer = outer->outer)
        CHECK_RULE(check, RULE_HWQ_009,
                   outer->ddi != call->ddi || outer->arg.submit_command_to_hw_queue->hHwQueue !=
                                                  call->arg.submit_command_to_hw_queue->hHwQueue,
                   object_of(queue), "hHwQueue", "is called for the queue inside of such a call");
}

static void before_submit(struct check *check, const struct queue_watch *watch,
                          const struct check_call *call)
{
    const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg = call->arg.submit_command_to_hw_queue;
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_queue *queue = check_find_queue(ledger, arg->hHwQueue);
    const struct check_object *object = object_of(queue);
    DXGK_SUBMITCOMMANDFLAGS others = arg->Flags;
    unsigned limit, count;

    CHECK_RULE(check, RULE_HWQ_009, check_irql(check) <= DISPATCH_LEVEL, object, "",
               "is called at IRQL %u (expected DISPATCH_LEVEL at most)", check_irql(check));
    check_nesting(check, call, queue);
    if (!CHECK_RULE(check, RULE_HWQ_004, queue, NULL, "hHwQueue",
                    "is {%p}, which is no hardware queue that lives{=~one~}", arg->hHwQueue))
        return;
    CHECK_RULE(check, RULE_HWQ_004,
               arg->HwQueueProgressFenceGpuVa == queue->progress_va &&
                   arg->HwQueueProgressFenceCpuVa == (const void *)queue->progress,
               object, "HwQueueProgressFenceGpuVa",
               "is {0x%llx}, and the CPU's %p; the queue was created with {=0x%llx} and %p",
               (unsigned long long)arg->HwQueueProgressFenceGpuVa, arg->HwQueueProgressFenceCpuVa,
               (unsigned long long)queue->progress_va, (const void *)queue->progress);
    check_is_scheduled(check, watch, queue);
    CHECK_RULE(check, RULE_HWQ_003, arg->HwQueueProgressFenceId > queue->former, object,
               "HwQueueProgressFenceId", "is {0x%llx}, and the one before was 0x%llx{=~more~}",
               (unsigned long long)arg->HwQueueProgressFenceId, (unsigned long long)queue->former);
    others.Present = 0; /* check_patch.c */
    CHECK_RULE(check, RULE_HWQ_008, !others.Value, object, "Flags",
               "is {0x%x}: Present alone may be set{=~0~}", arg->Flags.Value);
    limit = queue->node < CHECK_MAX_NODES
                ? watch->nodes[queue->node].flags.MaxInFlightHwQueueBuffers
                : 0;
    count = under_way(ledger, queue->node);
    CHECK_RULE(check, RULE_HWQ_010, !limit || count <= limit, object, "",
               "is number %u under way on node %u, whose MaxInFlightHwQueueBuffers is %u", count,
               queue->node, limit);
}

static void before_destroy(struct check *check, HANDLE handle)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_queue *queue = check_find_queue(ledger, handle);
    const struct check_packet *packet;

    if (!CHECK_RULE(check, RULE_HWQ_011, queue, NULL, "hHwQueue",
                    "is %p, which is no hardware queue that lives", handle))
        return;
    list_for_each (packet, &ledger->packets, struct check_packet, link)
        CHECK_RULE(check, RULE_HWQ_011,
                   packet->queue != handle || packet->state != CHECK_SUBMITTED ||
                       *queue->progress >= packet->progress,
                   &queue->object, "", "is called while 0x%llx is under way",
                   (unsigned long long)packet->progress);
}

static void before_destroy_context(struct check *check, HANDLE context)
{
    const struct id_map *queues = &check_ledger(check)->objects[CHECK_QUEUE];
    const struct check_queue *queue;
    size_t position = 0;

    while ((queue = id_map_next(queues, &position)))
        CHECK_RULE(check, RULE_HWQ_011, queue->context != context, &queue->object, "",
                   "is called for the context of a hardware queue that lives");
}

/* The system gives up waiting. */
static void before_reset(struct check *check, const struct queue_watch *watch)
{
    const struct id_map *queues = &check_ledger(check)->objects[CHECK_QUEUE];
    struct check_queue *queue;
    size_t position = 0;

    while ((queue = id_map_next(queues, &position)))
        CHECK_RULE(check, RULE_HWQ_006,
                   *queue->progress <= queue->seen || queue->node >= CHECK_MAX_NODES ||
                       watch->nodes[queue->node].interrupts < OTHER_INTERRUPTS,
                   &queue->object, "",
                   "the progress fence has 0x%llx, and no MONITORED_FENCE_SIGNALED was reported "
                   "behind 0x%llx: the engine is taken for one that hangs",
                   (unsigned long long)*queue->progress, (unsigned long long)queue->seen);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct queue_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_CreateContext:
        before_create_context(check, watch, call->arg.create_context);
        break;
    case MINIPORT_DDI_CreateHwQueue:
        before_create(check, call);
        /* fall through */
    case MINIPORT_DDI_DestroyHwQueue:
        CHECK_RULE(check, RULE_HWQ_009, check_irql(check) == PASSIVE_LEVEL, NULL, "",
                   "is called at IRQL %u (expected PASSIVE_LEVEL)", check_irql(check));
        if (call->ddi == MINIPORT_DDI_DestroyHwQueue)
            before_destroy(check, call->object);
        break;
    case MINIPORT_DDI_DestroyContext:
        before_destroy_context(check, call->object);
        break;
    case MINIPORT_DDI_SubmitCommandToHwQueue:
        before_submit(check, watch, call);
        watch->has_worked = true;
        break;
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
        watch->has_worked = true;
        break;
    case MINIPORT_DDI_StartDevice:
        watch->has_bands = watch->has_worked = false;
        break;
    case MINIPORT_DDI_SetupPriorityBands:
        before_bands(check, watch);
        break;
    case MINIPORT_DDI_SetContextSchedulingProperties:
        before_properties(check, call->arg.set_context_scheduling_properties->hContext);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
        before_reset(check, watch);
        break;
    default:
        break;
    }
}

/* ---- The driver's side ----------------------------------------------------------------------- */

static void after_metadata(struct check *check, struct queue_watch *watch,
                           const struct miniport_node *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const bool has_queues = arg->metadata.Flags.ContextSchedulingSupported;

    if (arg->NodeOrdinalAndAdapterIndex < CHECK_MAX_NODES)
        watch->nodes[arg->NodeOrdinalAndAdapterIndex].flags = arg->metadata.Flags;
    if (check_is_version(ledger, DXGKDDI_INTERFACE_VERSION_WDDM2_6))
        CHECK_RULE(check, RULE_HWQ_012, !has_queues || watch->is_enabled, NULL,
                   "Flags.ContextSchedulingSupported",
                   "is {1}, and the system has not said that DXGK_FEATURE_HWSCH is enabled{=~0~}");
    CHECK_RULE(check, RULE_HWQ_014,
               !has_queues || (ledger->has_ddi[MINIPORT_DDI_CreateHwQueue] &&
                               ledger->has_ddi[MINIPORT_DDI_DestroyHwQueue] &&
                               ledger->has_ddi[MINIPORT_DDI_SubmitCommandToHwQueue]),
               NULL, "Flags.ContextSchedulingSupported",
               "is {1}, and the driver lacks a function for hardware queues{=~0~}");
}

static void after_create(struct check *check, const struct check_call *call)
{
    const HANDLE handle = call->arg.create_hw_queue->hHwQueue;
    const struct check_queue *queue = check_find_queue(check_ledger(check), handle);

    CHECK_RULE(check, RULE_HWQ_002,
               handle && handle != call->before.create_hw_queue->hHwQueue && queue &&
                   !queue->object.is_doubled,
               object_of(queue), "hHwQueue", "is {%p}: %s{=~a handle of the driver's~}", handle,
               !handle                                            ? "no handle"
               : handle == call->before.create_hw_queue->hHwQueue ? "the system's own"
                                                                  : "that of another queue");
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct queue_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_GetNodeMetadata:
        if (NT_SUCCESS(call->status))
            after_metadata(check, watch, call->arg.get_node_metadata);
        break;
    case MINIPORT_DDI_CreateHwQueue:
        if (NT_SUCCESS(call->status))
            after_create(check, call);
        break;
    case MINIPORT_DDI_InterruptRoutine:
        for (unsigned i = 0; call->is_ours && i < CHECK_MAX_NODES; i++)
            watch->nodes[i].interrupts++;
        break;
    default:
        break;
    }
}

/* Of other queues, of the same context or others, there are ids in between. */
static bool is_of_queue(const struct check_queue *queue, uint64_t value)
{
    const uint64_t count = min_u64(queue->id_count, CHECK_QUEUE_IDS);

    for (uint64_t i = 0; i < count; i++) {
        if (queue->ids[i] == value)
            return true;
    }
    return value == queue->seen ||
           (count && count < queue->id_count &&
            value < queue->ids[queue->id_count % CHECK_QUEUE_IDS]); /* too long ago */
}

/* The values of the node's queues, which has told that some have changed. */
static void look_at_values(struct check *check, unsigned node)
{
    const struct id_map *queues = &check_ledger(check)->objects[CHECK_QUEUE];
    struct check_queue *queue;
    size_t position = 0;

    while ((queue = id_map_next(queues, &position))) {
        uint64_t value = *queue->progress;

        if (queue->node != node)
            continue;
        CHECK_RULE(
            check, RULE_HWQ_007, value >= queue->seen && is_of_queue(queue, value), &queue->object,
            "",
            "the progress fence has 0x%llx%s; before it had 0x%llx, and 0x%llx was submitted "
            "last",
            (unsigned long long)value,
            value < queue->submitted && value > queue->seen
                ? ", which was not submitted to this queue"
                : "",
            (unsigned long long)queue->seen, (unsigned long long)queue->submitted);
        queue->seen = value;
    }
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    struct queue_watch *watch = state;
    const DXGKARGCB_ISFEATUREENABLED *feature = callback->data;
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;

    if (callback->callback == TRACE_CALLBACK_is_feature_enabled &&
        feature->FeatureId == DXGK_FEATURE_HWSCH && NT_SUCCESS(callback->status))
        watch->is_enabled = feature->Enabled;
    if (callback->callback != TRACE_CALLBACK_notify_interrupt ||
        data->InterruptType != DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED ||
        data->MonitoredFenceSignaled.NodeOrdinal >= CHECK_MAX_NODES)
        return;
    watch->nodes[data->MonitoredFenceSignaled.NodeOrdinal].interrupts = 0;
    look_at_values(check, data->MonitoredFenceSignaled.NodeOrdinal);
}

/* Its fence says that it has ended. */
static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    const struct check_queue *queue = check_find_queue(check_ledger(check), packet->queue);

    if (!packet->queue)
        return;
    check_looked_at(check, RULE_HWQ_006); /* a report was what told the ledger */
    if (check_ledger(check)->has_gpu)
        CHECK_RULE(check, RULE_HWQ_005, packet->is_gpu_done, object_of(queue), "",
                   "the progress fence has 0x%llx, and the GPU has not run that submission",
                   (unsigned long long)packet->progress);
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct queue_watch *watch = state;

    if (event->kind == CHECK_GPU_DONE && event->packet && event->packet->queue &&
        event->node < CHECK_MAX_NODES)
        watch->nodes[event->node].interrupts = 0;
}

static unsigned stands_still(struct check *check, void *state)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_packet *packet;
    unsigned count = 0;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        const struct check_queue *queue = check_find_queue(ledger, packet->queue);

        if (!queue || packet->state != CHECK_SUBMITTED)
            continue;
        count++;
        CHECK_RULE(check, RULE_HWQ_006, false, &queue->object, "",
                   "0x%llx was submitted, the progress fence has 0x%llx, and %s: nothing is left "
                   "that could happen (Windows resets the engine)",
                   (unsigned long long)packet->progress, (unsigned long long)*queue->progress,
                   *queue->progress < packet->progress
                       ? "stays there"
                       : "no MONITORED_FENCE_SIGNALED was reported");
    }
    return count;
}

const struct check_watcher check_hw_queue_watcher = {
    .name = "hardware queues",
    .state_bytes = sizeof(struct queue_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_CreateContext, MINIPORT_DDI_CreateHwQueue,
                                MINIPORT_DDI_DestroyHwQueue, MINIPORT_DDI_DestroyContext,
                                MINIPORT_DDI_SubmitCommandToHwQueue, MINIPORT_DDI_ResetFromTimeout,
                                MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_SubmitCommandVirtual,
                                MINIPORT_DDI_StartDevice, MINIPORT_DDI_SetupPriorityBands,
                                MINIPORT_DDI_SetContextSchedulingProperties),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_GetNodeMetadata, MINIPORT_DDI_CreateHwQueue,
                               MINIPORT_DDI_InterruptRoutine),
    .callback = callback,
    .gpu = gpu,
    .retired = retired,
    .stands_still = stands_still,
};
