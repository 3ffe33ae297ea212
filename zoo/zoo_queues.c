/*
 * Defects of hardware queues.
 */
#include "zoo/zoo_tables.h"

/* Keeps the handle that it is given, and finds its own by that. */
static NTSTATUS keep_handle(struct miniport *self, HANDLE object, DXGKARG_CREATEHWQUEUE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    const HANDLE kernels = arg->hHwQueue;
    NTSTATUS status = miniport_forward_create_hw_queue(self, object, arg);
    size_t at = (size_t)layer->calls++ % 256 * 2;

    if (!NT_SUCCESS(status))
        return status;
    layer->memory.words[at] = (uintptr_t)kernels;
    layer->memory.words[at + 1] = (uintptr_t)arg->hHwQueue;
    arg->hHwQueue = kernels;
    return status;
}

/* The newest one that was kept under the handle. */
static HANDLE own_handle(const struct zoo_layer *layer, HANDLE handle)
{
    for (uint64_t call = layer->calls; call-- > 0 && layer->calls - call <= 256;) {
        if (layer->memory.words[call % 256 * 2] == (uintptr_t)handle)
            return (HANDLE)(uintptr_t)layer->memory.words[call % 256 * 2 + 1];
    }
    return handle;
}

static NTSTATUS submit_to_kept(struct miniport *self, HANDLE object,
                               const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    DXGKARG_SUBMITCOMMANDTOHWQUEUE as = *arg;

    as.hHwQueue = own_handle(zoo_layer_of(self), arg->hHwQueue);
    return miniport_forward_submit_command_to_hw_queue(self, object, &as);
}

static NTSTATUS destroy_kept(struct miniport *self, HANDLE object)
{
    return miniport_forward_destroy_hw_queue(self, own_handle(zoo_layer_of(self), object));
}

static void plant_keep_handle(struct zoo_layer *layer)
{
    layer->ops.create_hw_queue = keep_handle;
    layer->ops.submit_command_to_hw_queue = submit_to_kept;
    layer->ops.destroy_hw_queue = destroy_kept;
}

/* Takes the work for done when the board has it, and tells the kernel so. */
static NTSTATUS signal_early(struct miniport *self, HANDLE object,
                             const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};
    NTSTATUS status = miniport_forward_submit_command_to_hw_queue(self, object, arg);
    struct zoo_layer *layer = zoo_layer_of(self);

    if (!NT_SUCCESS(status))
        return status;
    *(volatile UINT64 *)arg->HwQueueProgressFenceCpuVa = arg->HwQueueProgressFenceId;
    zoo_tell(layer, &data);
    layer->host.upper->ops->queue_dpc(layer->host.upper);
    return status;
}

static void plant_signal_early(struct zoo_layer *layer)
{
    layer->ops.submit_command_to_hw_queue = signal_early;
}

static void tell_no_fence(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType != DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED)
        zoo_tell(zoo_layer_of_host(host), data);
}

static void plant_tell_no_fence(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_no_fence;
}

/* Signals each submission by the next value, as a driver does that counts for itself. */
static NTSTATUS count_ahead(struct miniport *self, HANDLE object,
                            const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    DXGKARG_SUBMITCOMMANDTOHWQUEUE as = *arg;

    as.HwQueueProgressFenceId += UINT64_C(1) << 32;
    return miniport_forward_submit_command_to_hw_queue(self, object, &as);
}

static void plant_count_ahead(struct zoo_layer *layer)
{
    layer->ops.submit_command_to_hw_queue = count_ahead;
}

/* Says what the board can do, and asks nobody: the kernel hears nothing of the question. */
static NTSTATUS ask_nobody(struct miniport_host *host, DXGKARGCB_ISFEATUREENABLED *feature)
{
    feature->Enabled = TRUE;
    return STATUS_SUCCESS;
}

static void plant_ask_nobody(struct zoo_layer *layer)
{
    layer->host_ops.is_feature_enabled = ask_nobody;
}

static bool has_no_end(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_DestroyHwQueue && miniport_has(self->next, ddi);
}

static void plant_lack_end(struct zoo_layer *layer)
{
    layer->ops.has = has_no_end;
}

/* Goes on with the log that it had before, beside the new one. */
static NTSTATUS keep_log(struct miniport *self, HANDLE object,
                         const DXGKARG_SETSCHEDULINGLOGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_set_scheduling_log_buffer(self, object, arg);

    if (NT_SUCCESS(status)) {
        layer->state[1] = layer->state[0];
        layer->state[0] = (uintptr_t)arg->LogBufferCpuVa;
    }
    return status;
}

static NTSTATUS submit_and_log(struct miniport *self, HANDLE object,
                               const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    DXGK_SCHEDULING_LOG_BUFFER *former = (void *)(uintptr_t)zoo_layer_of(self)->state[1];

    if (former)
        former->Header.WraparoundCount++;
    return miniport_forward_submit_command_to_hw_queue(self, object, arg);
}

static void plant_keep_log(struct zoo_layer *layer)
{
    layer->ops.set_scheduling_log_buffer = keep_log;
    layer->ops.submit_command_to_hw_queue = submit_and_log;
}

/* Takes a context for suspended when it has asked the board to leave it. */
static NTSTATUS suspend_at_once(struct miniport *self, HANDLE object,
                                const DXGKARG_SUSPENDCONTEXT *arg)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED};
    NTSTATUS status = miniport_forward_suspend_context(self, object, arg);
    struct zoo_layer *layer = zoo_layer_of(self);

    if (status != STATUS_PENDING)
        return status;
    data.SuspendContextCompleted.hContext = arg->hContext;
    data.SuspendContextCompleted.ContextSuspendFence = arg->contextSuspendFence;
    zoo_tell(layer, &data);
    layer->host.upper->ops->queue_dpc(layer->host.upper);
    return status;
}

static void plant_suspend_at_once(struct zoo_layer *layer)
{
    layer->ops.suspend_context = suspend_at_once;
}

/* Counts suspensions for itself, from 0. */
static void count_suspensions(struct miniport_host *host,
                              const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (data->InterruptType == DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED)
        as.SuspendContextCompleted.ContextSuspendFence--;
    zoo_tell(zoo_layer_of_host(host), &as);
}

static void plant_count_suspensions(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = count_suspensions;
}

static void tell_no_suspension(struct miniport_host *host,
                               const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType != DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED)
        zoo_tell(zoo_layer_of_host(host), data);
}

static void plant_tell_no_suspension(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_no_suspension;
}

/* Resets the engine, and says nothing of the context that it ran. */
static NTSTATUS name_nobody(struct miniport_host *host,
                            const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    return STATUS_SUCCESS;
}

static void plant_name_nobody(struct zoo_layer *layer)
{
    layer->host_ops.invalidate_hw_context = name_nobody;
}

static NTSTATUS name_collateral(struct miniport_host *host,
                                const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    struct miniport_host *upper = zoo_layer_of_host(host)->host.upper;
    DXGKARGCB_INVALIDATEHWCONTEXT as = *context;

    as.Flags.CollateralDamage = 1;
    return upper->ops->invalidate_hw_context(upper, &as);
}

static void plant_name_collateral(struct zoo_layer *layer)
{
    layer->host_ops.invalidate_hw_context = name_collateral;
}

/* Goes on with the contexts in the order in which they come. */
static NTSTATUS keep_order(struct miniport *self, HANDLE object,
                           const DXGKARG_SWITCHTOHWCONTEXTLIST *arg)
{
    return STATUS_SUCCESS;
}

static void plant_keep_order(struct zoo_layer *layer)
{
    layer->ops.switch_to_hw_context_list = keep_order;
}

/* Has come to an end behind the first sub-rectangle. */
static NTSTATUS present_one_rectangle(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    const UINT count = arg->SubRectCnt;
    NTSTATUS status;

    if (count > arg->MultipassOffset + 1)
        arg->SubRectCnt = arg->MultipassOffset + 1;
    status = miniport_forward_present_to_hw_queue(self, object, arg);
    arg->SubRectCnt = count;
    return status;
}

static void plant_present_one_rectangle(struct zoo_layer *layer)
{
    layer->ops.present_to_hw_queue = present_one_rectangle;
}

static NTSTATUS present_fails(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    return STATUS_INVALID_USER_BUFFER;
}

static void plant_present_fails(struct zoo_layer *layer)
{
    layer->ops.present_to_hw_queue = present_fails;
}

/* ---- Two queues of a context ----------------------------------------------------------------- */

/* A queue that lives, as the kernel has made it. */
struct seen_queue {
    uintptr_t queue, context; /* 0: free */
    UINT64 fence_va;
    uintptr_t fence;
    UINT64 number; /* in the order of their making */
    UINT64 last;   /* submitted to it */
};

#define SEEN_QUEUES 64u /* at one time; of more than that nothing is known */
_Static_assert(SEEN_QUEUES * sizeof(struct seen_queue) <=
                   sizeof(((struct zoo_layer *)0)->memory.words),
               "they stand in the layer's memory");

static struct seen_queue *seen_queues(struct zoo_layer *layer)
{
    return (struct seen_queue *)layer->memory.words;
}

/* NULL: it is not known, or queue is 0 and there is no room. */
static struct seen_queue *find_queue(struct zoo_layer *layer, uintptr_t queue)
{
    for (size_t i = 0; i < SEEN_QUEUES; i++) {
        if (seen_queues(layer)[i].queue == queue)
            return &seen_queues(layer)[i];
    }
    return NULL;
}

static struct seen_queue *newest_of(struct zoo_layer *layer, uintptr_t context)
{
    struct seen_queue *newest = NULL;

    for (size_t i = 0; i < SEEN_QUEUES; i++) {
        struct seen_queue *seen = &seen_queues(layer)[i];

        if (seen->queue && seen->context == context && (!newest || seen->number > newest->number))
            newest = seen;
    }
    return newest;
}

static NTSTATUS see_queue(struct miniport *self, HANDLE context, DXGKARG_CREATEHWQUEUE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    struct seen_queue *seen = find_queue(layer, 0);
    NTSTATUS status = miniport_forward_create_hw_queue(self, context, arg);

    if (NT_SUCCESS(status) && seen)
        *seen = (struct seen_queue){.queue = (uintptr_t)arg->hHwQueue,
                                    .context = (uintptr_t)context,
                                    .fence_va = arg->HwQueueProgressFenceGPUVirtualAddress,
                                    .fence = (uintptr_t)arg->HwQueueProgressFenceCPUVirtualAddress,
                                    .number = ++layer->calls};
    return status;
}

static NTSTATUS forget_queue(struct miniport *self, HANDLE queue)
{
    struct seen_queue *seen = find_queue(zoo_layer_of(self), (uintptr_t)queue);

    if (seen)
        *seen = (struct seen_queue){0};
    return miniport_forward_destroy_hw_queue(self, queue);
}

/* Keeps the progress fence where it keeps the context: that of the queue that was made last. */
static NTSTATUS signal_newest(struct miniport *self, HANDLE object,
                              const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    const struct seen_queue *seen = find_queue(layer, (uintptr_t)arg->hHwQueue);
    const struct seen_queue *newest = seen ? newest_of(layer, seen->context) : NULL;
    DXGKARG_SUBMITCOMMANDTOHWQUEUE as = *arg;

    if (newest) {
        as.HwQueueProgressFenceGpuVa = newest->fence_va;
        as.HwQueueProgressFenceCpuVa = (void *)newest->fence;
    }
    return miniport_forward_submit_command_to_hw_queue(self, object, &as);
}

static void plant_signal_newest(struct zoo_layer *layer)
{
    layer->ops.create_hw_queue = see_queue;
    layer->ops.destroy_hw_queue = forget_queue;
    layer->ops.submit_command_to_hw_queue = signal_newest;
}

static NTSTATUS see_submission(struct miniport *self, HANDLE object,
                               const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    struct seen_queue *seen = find_queue(zoo_layer_of(self), (uintptr_t)arg->hHwQueue);

    if (seen)
        seen->last = arg->HwQueueProgressFenceId;
    return miniport_forward_submit_command_to_hw_queue(self, object, arg);
}

/* Takes a context for suspended when the queue that it knows it by has come to an end. */
static NTSTATUS look_at_newest(struct miniport *self, HANDLE object,
                               const DXGKARG_SUSPENDCONTEXT *arg)
{
    const struct seen_queue *newest = newest_of(zoo_layer_of(self), (uintptr_t)arg->hContext);

    return newest && *(const volatile UINT64 *)newest->fence >= newest->last
               ? STATUS_SUCCESS
               : miniport_forward_suspend_context(self, object, arg);
}

static void plant_look_at_newest(struct zoo_layer *layer)
{
    layer->ops.create_hw_queue = see_queue;
    layer->ops.destroy_hw_queue = forget_queue;
    layer->ops.submit_command_to_hw_queue = see_submission;
    layer->ops.suspend_context = look_at_newest;
}

/* Takes the context for gone when one of its queues goes. */
static NTSTATUS forget_queues(struct miniport *self, HANDLE queue)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    const struct seen_queue *seen = find_queue(layer, (uintptr_t)queue);
    const uintptr_t context = seen ? seen->context : 0;

    for (size_t i = 0; context && i < SEEN_QUEUES; i++) {
        if (seen_queues(layer)[i].context == context)
            seen_queues(layer)[i] = (struct seen_queue){0};
    }
    return miniport_forward_destroy_hw_queue(self, queue);
}

static NTSTATUS submit_to_seen(struct miniport *self, HANDLE object,
                               const DXGKARG_SUBMITCOMMANDTOHWQUEUE *arg)
{
    return find_queue(zoo_layer_of(self), (uintptr_t)arg->hHwQueue)
               ? miniport_forward_submit_command_to_hw_queue(self, object, arg)
               : STATUS_SUCCESS;
}

static void plant_forget_queues(struct zoo_layer *layer)
{
    layer->ops.create_hw_queue = see_queue;
    layer->ops.destroy_hw_queue = forget_queues;
    layer->ops.submit_command_to_hw_queue = submit_to_seen;
}

/* clang-format off */
#define QUEUES "hardware-queues=yes presents=no"
#define PRESENTS "hardware-queues=yes presents=yes present-by=present"

const struct zoo_defect zoo_queue_defects[] = {
    PLANT("QUEUE-kernels-handle", ZOO_GPUMMU, "HWQ-002", plant_keep_handle,
          "leaves the kernel's handle of a hardware queue in hHwQueue", .focus = QUEUES),
    PLANT("QUEUE-signalled-early", ZOO_GPUMMU, "HWQ-005", plant_signal_early,
          "signals a progress fence when the board has been handed the work", .focus = QUEUES),
    PLANT("QUEUE-untold", ZOO_GPUMMU, "HWQ-006", plant_tell_no_fence,
          "reports no MONITORED_FENCE_SIGNALED", .focus = QUEUES),
    PLANT("QUEUE-counts-itself", ZOO_GPUMMU, "HWQ-007", plant_count_ahead,
          "signals a progress fence with a value of its own", .focus = QUEUES),
    PLANT("QUEUE-unasked", ZOO_GPUMMU, "HWQ-012", plant_ask_nobody,
          "reports ContextSchedulingSupported without asking whether the feature is enabled",
          .focus = QUEUES),
    PLANT("QUEUE-without-end", ZOO_GPUMMU, "HWQ-014", plant_lack_end,
          "reports ContextSchedulingSupported without DxgkDdiDestroyHwQueue", .focus = QUEUES),
    PLANT("QUEUE-former-log", ZOO_GPUMMU, "HWQ-022", plant_keep_log,
          "writes to the scheduling log before the present one", .focus = QUEUES " log-entries=4"),
    PLANT("QUEUE-suspends-early", ZOO_GPUMMU, "HWQ-018", plant_suspend_at_once,
          "reports a context as suspended while the board still has its work",
          .focus = QUEUES " suspended-contexts=busy"),
    PLANT("QUEUE-suspends-by-count", ZOO_GPUMMU, "HWQ-016", plant_count_suspensions,
          "reports the number of the suspension before", .focus = QUEUES " suspended-contexts=all"),
    PLANT("QUEUE-suspends-untold", ZOO_GPUMMU, "HWQ-016", plant_tell_no_suspension,
          "reports no SUSPEND_CONTEXT_COMPLETED", .focus = QUEUES " suspended-contexts=busy"),
    PLANT("QUEUE-names-nobody", ZOO_GPUMMU, "HWQ-019", plant_name_nobody,
          "resets an engine without a word of the context that it ran",
          .focus = QUEUES " incidents=yes"),
    PLANT("QUEUE-names-collateral", ZOO_GPUMMU, "HWQ-019", plant_name_collateral,
          "calls the cause of a hang collateral damage", .focus = QUEUES " incidents=yes"),
    PLANT("QUEUE-order-kept", ZOO_GPUMMU, "HWQ-023", plant_keep_order,
          "takes lists of contexts and runs what comes", .focus = QUEUES " context-lists=newest"),
    PLANT("QUEUE-one-fence", ZOO_GPUMMU, "HWQ-007", plant_signal_newest,
          "signals the progress fence of the context's newest queue for all of its queues",
          .focus = QUEUES " queues-per-context=3 contexts=6"),
    PLANT("QUEUE-suspends-one", ZOO_GPUMMU, "HWQ-018", plant_look_at_newest,
          "takes a context for suspended when the newest of its queues has nothing to do",
          .focus = QUEUES " queues-per-context=4 contexts=8 suspended-contexts=busy"),
    PLANT("QUEUE-ends-all", ZOO_GPUMMU, "HWQ-006", plant_forget_queues,
          "runs nothing of a context any more when one of its queues has been destroyed",
          .focus = QUEUES " queues-per-context=3 contexts=6 renewals=yes"),
    PLANT("QUEUE-present-status", ZOO_GPUMMU, "PATCH-021", plant_present_fails,
          "fails PresentToHwQueue by a status that it does not have", .focus = PRESENTS),
    PLANT("QUEUE-present-one", ZOO_GPUMMU, "content", plant_present_one_rectangle,
          "presents the first sub-rectangle to a queue, and leaves the others out",
          .focus = PRESENTS),
    {0},
};
/* clang-format on */
