/*
 * Check: the layer. One function for each DDI, made from the list, that shows the call to all
 * watchers before and after; and around BuildPagingBuffer the guards.
 */
#include "check/check_private.h"
#include "check/report/check_blame.h"

#include "base/assert.h"

#include <stdio.h>
#include <string.h>

struct check_layer {
    struct miniport miniport;
    struct miniport_host_layer host;
    struct miniport_ops ops;
    struct miniport_host_ops host_ops;
    struct check *check;
};

static struct check *check_of(struct miniport *miniport)
{
    return ((struct check_layer *)miniport)->check;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static bool is_submission(enum miniport_ddi ddi)
{
    return ddi == MINIPORT_DDI_SubmitCommand || ddi == MINIPORT_DDI_SubmitCommandVirtual ||
           ddi == MINIPORT_DDI_SubmitCommandToHwQueue;
}

static uint64_t next_event(struct check *check)
{
    check->event++;
    if (check->config.calls)
        check->config.calls->last = check->event;
    if (check->config.calls && !check->call)
        check->config.calls->outermost = check->event;
    return check->event;
}

/* What the driver did between two calls to memory that BuildPagingBuffer had lent it. */
static void look_for_late_writes(struct check *check)
{
    static const char *const names[] = {"pDmaBuffer", "pDmaBufferPrivateData"};
    struct guard *guards[] = {&check->dma_guard, &check->private_guard};

    for (size_t i = 0; check->config.watches_loans && i < sizeof guards / sizeof guards[0]; i++) {
        struct loan_breach breach = {.kind = LOAN_LATE, .call = "DxgkDdiBuildPagingBuffer"};
        size_t offset;

        if (!guard_find_late(guards[i], &offset))
            continue;
        breach.offset = offset;
        breach.bytes = guards[i]->left_whole;
        snprintf(breach.name, sizeof breach.name, "%s", names[i]);
        check_loan(check, &breach);
    }
}

static unsigned held_by_thread(const struct check *check)
{
    return check->config.held ? check->config.held(check->config.context) : 0;
}

static void begin_call(struct check *check, struct check_call *call)
{
    call->event = next_event(check);
    call->outer = check->call;
    check->call = call;
    call->irql = check_irql(check);
    call->held = held_by_thread(check);
    if (!call->outer)
        look_for_late_writes(check);
    if (!call->outer && call->ddi != MINIPORT_DDI_BuildPagingBuffer)
        guard_settle(&check->private_guard); /* the driver may look at it in the real buffer */
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer)
        check_past_note(check, call);
    if (call->ddi == MINIPORT_DDI_OpenAllocation)
        memset(check->ledger.asked, 0, sizeof check->ledger.asked);
    if (is_submission(call->ddi)) {
        call->packet = check_ledger_submit(&check->ledger, call);
        if (!call->packet)
            check_lost(check);
    }
    check_tell_before(check, call);
}

/* CALL-006 and CALL-007. The level behind building and submitting is of the rules about both. */
static void check_thread(struct check *check, const struct check_call *call)
{
    const unsigned irql = check_irql(check), held = held_by_thread(check);

    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer && call->ddi != MINIPORT_DDI_SubmitCommand)
        CHECK_RULE(check, RULE_CALL_006, irql == call->irql, NULL, "",
                   "came back at IRQL {%u}, and was called at {=%u}", irql, call->irql);
    if (irql == call->irql)
        CHECK_RULE(check, RULE_CALL_007, held == call->held, NULL, "",
                   "came back with {%u} regions without APCs, mutexes and spin locks, and was "
                   "called with {=%u}",
                   held, call->held);
}

static void end_call(struct check *check, struct check_call *call)
{
    call->packet = NULL; /* it may be finished by now */
    call->has_returned = true;
    if (!check_ledger_enter(&check->ledger, call))
        check_lost(check);
    if (call->ddi == MINIPORT_DDI_SubmitCommandVirtual && call->status == STATUS_INVALID_PARAMETER)
        check_ledger_refuse(&check->ledger, call->arg.submit_command_virtual);
    if (call->ddi == MINIPORT_DDI_SubmitCommandToHwQueue && !NT_SUCCESS(call->status))
        check_ledger_refuse_queued(&check->ledger, call->arg.submit_command_to_hw_queue);
    check_thread(check, call);
    check_tell_after(check, call);
    check_ledger_leave(&check->ledger, call);
    check->call = call->outer;
}

/* What the driver is lent of the paging buffer; nothing for other calls. */
static void tell_driver_is_called(struct check *check, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *before = call->before.build_paging_buffer;
    struct check_lent lent = {0};

    if (!check->config.calls_driver)
        return;
    if (call->guarded_dma) {
        lent.commands = call->guarded_dma;
        lent.command_bytes = before->DmaSize;
    }
    if (call->guarded_private) {
        lent.private_data = call->guarded_private;
        lent.private_bytes = before->DmaBufferPrivateDataSize;
    }
    check->config.calls_driver(check->config.context, call->event, &lent);
}

static void tell_driver_has_returned(struct check *check)
{
    if (check->config.calls_driver)
        check->config.calls_driver(check->config.context, 0, NULL);
}

/*
 * The driver is given copies of the paging buffer and of its private data. The watchers and the
 * manager see the pointers of the real ones.
 */
static void guard_call(struct check *check, struct check_call *call)
{
    DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;
    struct guard *guard = &check->dma_guard;
    char *at, *start;

    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer)
        return;
    at = arg->pDmaBuffer;
    call->is_marked = check->config.marks_buffers && at && arg->DmaSize;
    if (call->is_marked)
        guard_mark(guard, at, arg->DmaSize);
    if (!check->config.guards_buffers)
        return;
    if (at && arg->DmaSize) {
        /* Behind the operations built before, or another buffer. */
        start = guard->real && at == guard->real + guard->used &&
                        guard->used + arg->DmaSize == guard->size
                    ? guard->real
                    : at;
        call->guarded_dma = guard_begin(guard, start, at, arg->DmaSize);
        if (call->guarded_dma) {
            arg->pDmaBuffer = call->guarded_dma;
            if (check->config.stands_in)
                check->config.stands_in(check->config.context, guard->copy, guard->real,
                                        guard->size);
        }
    }
    if (arg->pDmaBufferPrivateData && arg->DmaBufferPrivateDataSize) {
        call->guarded_private = guard_lend(&check->private_guard, arg->pDmaBufferPrivateData,
                                           arg->DmaBufferPrivateDataSize);
        if (call->guarded_private)
            arg->pDmaBufferPrivateData = call->guarded_private;
    }
}

static void unguard_call(struct check *check, struct check_call *call)
{
    DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;
    const DXGKARG_BUILDPAGINGBUFFER *before = call->before.build_paging_buffer;

    if (call->is_marked) {
        uintptr_t written = (uintptr_t)arg->pDmaBuffer - (uintptr_t)before->pDmaBuffer;

        guard_look(&check->dma_guard, before->pDmaBuffer, before->DmaSize,
                   written <= before->DmaSize ? written : 0, &check->dma_verdict);
        call->dma_verdict = &check->dma_verdict;
    }
    if (call->guarded_dma) {
        uintptr_t written = (uintptr_t)arg->pDmaBuffer - (uintptr_t)call->guarded_dma;

        if (check->config.stands_in)
            check->config.stands_in(check->config.context, NULL, NULL, 0);
        guard_end(&check->dma_guard, before->pDmaBuffer, before->DmaSize,
                  written <= before->DmaSize ? written : 0, &check->dma_verdict);
        call->dma_verdict = &check->dma_verdict;
        arg->pDmaBuffer = (char *)before->pDmaBuffer + written;
    }
    if (call->guarded_private) {
        uintptr_t moved = (uintptr_t)arg->pDmaBufferPrivateData - (uintptr_t)call->guarded_private;

        guard_return(&check->private_guard, moved, &check->private_verdict);
        call->private_verdict = &check->private_verdict;
        arg->pDmaBufferPrivateData = (char *)before->pDmaBufferPrivateData + moved;
    }
}

#define X(function, ddi_name, argument)                                                            \
    static NTSTATUS watch_##function(struct miniport *self, HANDLE object, argument arg)           \
    {                                                                                              \
        struct check *check = check_of(self);                                                      \
        const __typeof__(*arg) before = *arg;                                                      \
        struct check_call call = {                                                                 \
            .ddi = MINIPORT_DDI_##ddi_name,                                                        \
            .object = object,                                                                      \
            .arg.function = arg,                                                                   \
            .before.function = &before,                                                            \
        };                                                                                         \
                                                                                                   \
        begin_call(check, &call);                                                                  \
        guard_call(check, &call);                                                                  \
        tell_driver_is_called(check, &call);                                                       \
        call.status = miniport_##function(self->next, object, arg);                                \
        tell_driver_has_returned(check);                                                           \
        unguard_call(check, &call);                                                                \
        if (call.ddi == MINIPORT_DDI_QueryAdapterInfo)                                             \
            check->ledger.interface_version = miniport_interface_version(self->next);              \
        end_call(check, &call);                                                                    \
        return call.status;                                                                        \
    }
MINIPORT_DDI_LIST(X)
#undef X

#define X(function, ddi_name)                                                                      \
    static NTSTATUS watch_##function(struct miniport *self, HANDLE object)                         \
    {                                                                                              \
        struct check *check = check_of(self);                                                      \
        struct check_call call = {.ddi = MINIPORT_DDI_##ddi_name, .object = object};               \
                                                                                                   \
        begin_call(check, &call);                                                                  \
        call.status = miniport_##function(self->next, object);                                     \
        end_call(check, &call);                                                                    \
        return call.status;                                                                        \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

/*
 * The driver patches a copy, or a buffer that it keeps. Bytes outside of the submission are not for
 * the driver.
 */
static NTSTATUS watch_guarded_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *arg)
{
    struct check *check = check_of(self);
    const DXGKARG_PATCH before = *arg;
    DXGKARG_PATCH lent;
    struct check_call call = {
        .ddi = MINIPORT_DDI_Patch,
        .object = object,
        .arg.patch = arg,
        .before.patch = &before,
    };

    begin_call(check, &call);
    if (!check->config.guards_buffers) {
        bool is_kept = patch_guard_keep(&check->patch_guard, arg);

        call.status = miniport_patch(self->next, object, arg);
        if (is_kept) {
            patch_guard_compare(&check->patch_guard, arg, &check->patch_verdict);
            call.patch_verdict = &check->patch_verdict;
        }
    } else if (patch_guard_begin(&check->patch_guard, check->config.services, arg, &lent)) {
        call.status = miniport_patch(self->next, object, &lent);
        patch_guard_end(&check->patch_guard, arg, &check->patch_verdict);
        call.patch_verdict = &check->patch_verdict;
    } else {
        call.status = miniport_patch(self->next, object, arg);
    }
    end_call(check, &call);
    return call.status;
}

static SIZE_T watch_get_root_page_table_size(struct miniport *self,
                                             DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    struct check *check = check_of(self);
    const DXGKARG_GETROOTPAGETABLESIZE before = *arg;
    struct check_call call = {
        .ddi = MINIPORT_DDI_GetRootPageTableSize,
        .arg.get_root_page_table_size = arg,
        .before.get_root_page_table_size = &before,
    };

    begin_call(check, &call);
    call.bytes = miniport_get_root_page_table_size(self->next, arg);
    end_call(check, &call);
    return (SIZE_T)call.bytes;
}

static NTSTATUS watch_add_device(struct miniport *self)
{
    struct check *check = check_of(self);
    struct check_call call = {.ddi = MINIPORT_DDI_AddDevice};

    check->ledger.interface_version = miniport_interface_version(self->next);
    for (unsigned ddi = 0; ddi < MINIPORT_DDI_COUNT; ddi++)
        check->ledger.has_ddi[ddi] = miniport_has(self->next, (enum miniport_ddi)ddi);
    begin_call(check, &call);
    call.status = miniport_add_device(self->next);
    end_call(check, &call);
    return call.status;
}

static NTSTATUS watch_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                   ULONG *sources, ULONG *children)
{
    struct check *check = check_of(self);
    struct check_call call = {.ddi = MINIPORT_DDI_StartDevice};

    begin_call(check, &call);
    call.status = miniport_start_device(self->next, start, sources, children);
    end_call(check, &call);
    return call.status;
}

static NTSTATUS watch_stop_device(struct miniport *self)
{
    struct check *check = check_of(self);
    struct check_call call = {.ddi = MINIPORT_DDI_StopDevice};

    begin_call(check, &call);
    call.status = miniport_stop_device(self->next);
    end_call(check, &call);
    return call.status;
}

static NTSTATUS watch_remove_device(struct miniport *self)
{
    struct check *check = check_of(self);
    struct check_call call = {.ddi = MINIPORT_DDI_RemoveDevice};

    begin_call(check, &call);
    call.status = miniport_remove_device(self->next);
    end_call(check, &call);
    return call.status;
}

static NTSTATUS watch_set_power_state(struct miniport *self, ULONG device_uid,
                                      DEVICE_POWER_STATE state, POWER_ACTION action)
{
    struct check *check = check_of(self);
    struct check_call call = {
        .ddi = MINIPORT_DDI_SetPowerState, .power_state = state, .power_action = action};

    begin_call(check, &call);
    call.status = miniport_set_power_state(self->next, device_uid, state, action);
    end_call(check, &call);
    return call.status;
}

static NTSTATUS watch_surprise_removal(struct miniport *self, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    struct check *check = check_of(self);
    struct check_call call = {.ddi = MINIPORT_DDI_NotifySurpriseRemoval, .removal = type};

    check->ledger.is_pulled_out = true;
    begin_call(check, &call);
    call.status = miniport_notify_surprise_removal(self->next, type);
    end_call(check, &call);
    return call.status;
}

static bool watch_interrupt(struct miniport *self, ULONG message)
{
    struct check *check = check_of(self);
    struct check_call call = {.ddi = MINIPORT_DDI_InterruptRoutine};
    bool is_ours;

    begin_call(check, &call);
    is_ours = miniport_interrupt(self->next, message);
    call.is_ours = is_ours;
    end_call(check, &call);
    return is_ours;
}

static void watch_dpc(struct miniport *self)
{
    struct check *check = check_of(self);
    struct check_call call = {.ddi = MINIPORT_DDI_DpcRoutine};

    begin_call(check, &call);
    miniport_dpc(self->next);
    end_call(check, &call);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static struct check_layer *layer_of_host(struct miniport_host *host)
{
    return container_of((struct miniport_host_layer *)host, struct check_layer, host);
}

/*
 * Shown when the kernel has answered, but an interrupt before: it is the driver's word. A callback
 * has its number from when it was made (event), as in the trace; 0: it gets one now.
 */
static void show_callback(struct check *check, struct check_callback *callback)
{
    const struct check_callback *outer = check->callback;

    if (!callback->event)
        callback->event = next_event(check);
    callback->outer = check->call;
    check->callback = callback;
    CHECK_TELL(check, callback, callback);
    check->callback = outer;
}

static void tell_retired(void *context, const struct check_packet *packet)
{
    struct check *check = context;

    CHECK_TELL(check, retired, packet);
}

static void watch_notify_interrupt(struct miniport_host *host,
                                   const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct check_layer *layer = layer_of_host(host);

    show_callback(layer->check, &(struct check_callback){
                                    .callback = TRACE_CALLBACK_notify_interrupt, .data = data});
    check_ledger_interrupt(&layer->check->ledger, data, tell_retired, layer->check);
    layer->host.upper->ops->notify_interrupt(layer->host.upper, data);
}

static void watch_notify_dpc(struct miniport_host *host)
{
    struct check_layer *layer = layer_of_host(host);

    show_callback(layer->check, &(struct check_callback){.callback = TRACE_CALLBACK_notify_dpc});
    layer->host.upper->ops->notify_dpc(layer->host.upper);
}

static bool watch_queue_dpc(struct miniport_host *host)
{
    struct check_layer *layer = layer_of_host(host);

    show_callback(layer->check, &(struct check_callback){.callback = TRACE_CALLBACK_queue_dpc});
    return layer->host.upper->ops->queue_dpc(layer->host.upper);
}

static void watch_unsupported(struct miniport_host *host, const char *name)
{
    struct check_layer *layer = layer_of_host(host);

    show_callback(layer->check,
                  &(struct check_callback){.callback = TRACE_CALLBACK_unsupported, .data = name});
    layer->host.upper->ops->unsupported(layer->host.upper, name);
}

static NTSTATUS watch_memory(struct miniport_host *host,
                             const struct miniport_memory_request *request)
{
    struct check_layer *layer = layer_of_host(host);
    const uint64_t event = next_event(layer->check);
    const uint64_t offset =
        request->kind == MINIPORT_MEMORY_map_save_area ? request->map_save_area->Offset : 0;
    NTSTATUS status = layer->host.upper->ops->memory(layer->host.upper, request);

    show_callback(layer->check, &(struct check_callback){.event = event,
                                                         .callback = TRACE_CALLBACK_memory,
                                                         .data = request,
                                                         .status = status,
                                                         .offset = offset});
    return status;
}

/* Shown before the kernel does it: what a driver owes is judged as it was when it called. */
static NTSTATUS watch_power(struct miniport_host *host,
                            const struct miniport_power_request *request)
{
    struct check_layer *layer = layer_of_host(host);

    show_callback(layer->check, &(struct check_callback){.event = next_event(layer->check),
                                                         .callback = TRACE_CALLBACK_power,
                                                         .data = request});
    return layer->host.upper->ops->power(layer->host.upper, request);
}

static PVOID watch_get_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    struct check_layer *layer = layer_of_host(host);
    const uint64_t event = next_event(layer->check);
    PVOID result = layer->host.upper->ops->get_handle_data(layer->host.upper, data);
    struct check_callback callback = {
        .event = event,
        .callback = TRACE_CALLBACK_get_handle_data,
        .data = data,
        .status = result ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER,
        .result = result,
    };

    show_callback(layer->check, &callback);
    check_ledger_handle_data(&layer->check->ledger, &callback);
    return result;
}

static D3DKMT_HANDLE watch_get_handle_parent(struct miniport_host *host, D3DKMT_HANDLE allocation)
{
    struct check_layer *layer = layer_of_host(host);
    const uint64_t event = next_event(layer->check);
    D3DKMT_HANDLE found = layer->host.upper->ops->get_handle_parent(layer->host.upper, allocation);

    show_callback(layer->check, &(struct check_callback){
                                    .event = event,
                                    .callback = TRACE_CALLBACK_get_handle_parent,
                                    .status = found ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER});
    return found;
}

static D3DKMT_HANDLE watch_enum_handle_children(struct miniport_host *host,
                                                const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    struct check_layer *layer = layer_of_host(host);
    const uint64_t event = next_event(layer->check);
    D3DKMT_HANDLE found = layer->host.upper->ops->enum_handle_children(layer->host.upper, children);

    show_callback(layer->check, &(struct check_callback){
                                    .event = event,
                                    .callback = TRACE_CALLBACK_enum_handle_children,
                                    .data = children,
                                    .status = found ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER});
    return found;
}

static NTSTATUS watch_reserve(struct miniport_host *host, HANDLE process,
                              DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct check_layer *layer = layer_of_host(host);
    const struct miniport_host_ops *upper = layer->host.upper->ops;
    const uint64_t event = next_event(layer->check);
    NTSTATUS status = upper->reserve_gpu_virtual_address_range(layer->host.upper, process, range);

    show_callback(layer->check, &(struct check_callback){
                                    .event = event,
                                    .callback = TRACE_CALLBACK_reserve_gpu_virtual_address_range,
                                    .data = range,
                                    .status = status,
                                    .result = process});
    return status;
}

static NTSTATUS watch_is_feature_enabled(struct miniport_host *host,
                                         DXGKARGCB_ISFEATUREENABLED *feature)
{
    struct check_layer *layer = layer_of_host(host);
    const uint64_t event = next_event(layer->check);
    NTSTATUS status = layer->host.upper->ops->is_feature_enabled(layer->host.upper, feature);

    show_callback(layer->check,
                  &(struct check_callback){.event = event,
                                           .callback = TRACE_CALLBACK_is_feature_enabled,
                                           .data = feature,
                                           .status = status});
    return status;
}

static NTSTATUS watch_invalidate_hw_context(struct miniport_host *host,
                                            const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    struct check_layer *layer = layer_of_host(host);
    const uint64_t event = next_event(layer->check);
    NTSTATUS status = layer->host.upper->ops->invalidate_hw_context(layer->host.upper, context);

    show_callback(layer->check,
                  &(struct check_callback){.event = event,
                                           .callback = TRACE_CALLBACK_invalidate_hw_context,
                                           .data = context,
                                           .status = status});
    return status;
}

static NTSTATUS watch_create_context_allocation(struct miniport_host *host,
                                                DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    struct check_layer *layer = layer_of_host(host);
    const struct miniport_host_ops *upper = layer->host.upper->ops;
    const uint64_t event = next_event(layer->check);
    NTSTATUS status;

    check_ledger_reuse_handle(&layer->check->ledger, allocation->hDriverAllocation);
    status = upper->create_context_allocation(layer->host.upper, allocation);
    check_ledger_reuse_handle(&layer->check->ledger, allocation->hAllocation);
    if (NT_SUCCESS(status))
        check_ledger_enter_context_allocation(&layer->check->ledger, allocation);
    show_callback(layer->check,
                  &(struct check_callback){.event = event,
                                           .callback = TRACE_CALLBACK_create_context_allocation,
                                           .data = allocation,
                                           .status = status});
    return status;
}

static NTSTATUS watch_destroy_context_allocation(struct miniport_host *host, HANDLE allocation)
{
    struct check_layer *layer = layer_of_host(host);
    const struct miniport_host_ops *upper = layer->host.upper->ops;
    const uint64_t event = next_event(layer->check);
    NTSTATUS status = upper->destroy_context_allocation(layer->host.upper, allocation);
    HANDLE gone = NT_SUCCESS(status)
                      ? check_ledger_leave_context_allocation(&layer->check->ledger, allocation)
                      : NULL;

    show_callback(layer->check,
                  &(struct check_callback){.event = event,
                                           .callback = TRACE_CALLBACK_destroy_context_allocation,
                                           .status = status,
                                           .result = allocation,
                                           .gone = gone});
    return status;
}

/* Shown before, for it matters from where it is called, and when it comes back. */
static NTSTATUS watch_update_context_allocation(struct miniport_host *host,
                                                const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct check_layer *layer = layer_of_host(host);
    const uint64_t event = next_event(layer->check);
    NTSTATUS status;

    show_callback(layer->check,
                  &(struct check_callback){.event = event,
                                           .callback = TRACE_CALLBACK_update_context_allocation,
                                           .data = update});
    status = layer->host.upper->ops->update_context_allocation(layer->host.upper, update);
    show_callback(layer->check,
                  &(struct check_callback){.event = event,
                                           .callback = TRACE_CALLBACK_update_context_allocation,
                                           .data = update,
                                           .status = status,
                                           .has_returned = true});
    return status;
}

/*
 * Callbacks of which watchers are told that there was one. They have numbers, too, so that the
 * number of a call in a finding is its number in the trace and in the record of the run.
 */
#define COUNT_CALLBACK(type, function, parameters, ...)                                            \
    static type count_##function parameters                                                        \
    {                                                                                              \
        struct check *check = layer_of_host(host)->check;                                          \
        struct check_callback event = {.event = next_event(check),                                 \
                                       .callback = TRACE_CALLBACK_##function};                     \
                                                                                                   \
        show_callback(check, &event);                                                              \
        return miniport_host_forward_ops.function(host, __VA_ARGS__);                              \
    }
COUNT_CALLBACK(NTSTATUS, get_device_information,
               (struct miniport_host * host, DXGK_DEVICE_INFO *info), info)
COUNT_CALLBACK(NTSTATUS, map_memory,
               (struct miniport_host * host, PHYSICAL_ADDRESS translated, ULONG length,
                BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                PVOID *virtual_address),
               translated, length, in_io_space, map_to_user_mode, cache_type, virtual_address)
COUNT_CALLBACK(NTSTATUS, unmap_memory, (struct miniport_host * host, PVOID virtual_address),
               virtual_address)
COUNT_CALLBACK(NTSTATUS, read_device_space,
               (struct miniport_host * host, struct miniport_space *space), space)
COUNT_CALLBACK(NTSTATUS, write_device_space,
               (struct miniport_host * host, struct miniport_space *space), space)
COUNT_CALLBACK(NTSTATUS, synchronize_execution,
               (struct miniport_host * host, PKSYNCHRONIZE_ROUTINE routine, PVOID context,
                ULONG message, BOOLEAN *return_value),
               routine, context, message, return_value)
COUNT_CALLBACK(D3DGPU_VIRTUAL_ADDRESS, map_context_allocation,
               (struct miniport_host * host, const DXGKARGCB_MAPCONTEXTALLOCATION *map), map)
#undef COUNT_CALLBACK

static void count_log(struct miniport_host *host, const char *text)
{
    next_event(layer_of_host(host)->check);
    miniport_host_forward_ops.log(host, text);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void layer_set_host(struct miniport *self, struct miniport_host *host)
{
    struct check_layer *layer = (struct check_layer *)self;

    layer->host.upper = host;
    miniport_set_host(self->next, &layer->host.host);
}

static void layer_destroy(struct miniport *self)
{
    struct check_layer *layer = (struct check_layer *)self;

    layer->check->has_layer = false;
    base_free(layer->check->config.services, layer, sizeof *layer);
}

NTSTATUS check_layer_create(struct check *check, struct miniport *next, struct miniport **out_layer)
{
    struct check_layer *layer;

    *out_layer = NULL;
    ASSERT(!check->has_layer);
    layer = base_alloc(check->config.services, sizeof *layer);
    if (!layer)
        return STATUS_NO_MEMORY;
    layer->check = check;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "check";
    layer->ops.destroy = layer_destroy;
    layer->ops.set_host = layer_set_host;
#define X(function, ddi, argument) layer->ops.function = watch_##function;
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) layer->ops.function = watch_##function;
    MINIPORT_PLAIN_LIST(X)
#undef X
    layer->ops.patch = watch_guarded_patch;
    layer->ops.get_root_page_table_size = watch_get_root_page_table_size;
    layer->ops.add_device = watch_add_device;
    layer->ops.start_device = watch_start_device;
    layer->ops.stop_device = watch_stop_device;
    layer->ops.remove_device = watch_remove_device;
    layer->ops.set_power_state = watch_set_power_state;
    layer->ops.notify_surprise_removal = watch_surprise_removal;
    layer->ops.interrupt = watch_interrupt;
    layer->ops.dpc = watch_dpc;

    layer->host_ops = miniport_host_forward_ops;
    layer->host_ops.get_device_information = count_get_device_information;
    layer->host_ops.map_memory = count_map_memory;
    layer->host_ops.unmap_memory = count_unmap_memory;
    layer->host_ops.read_device_space = count_read_device_space;
    layer->host_ops.write_device_space = count_write_device_space;
    layer->host_ops.synchronize_execution = count_synchronize_execution;
    layer->host_ops.map_context_allocation = count_map_context_allocation;
    layer->host_ops.is_feature_enabled = watch_is_feature_enabled;
    layer->host_ops.invalidate_hw_context = watch_invalidate_hw_context;
    layer->host_ops.log = count_log;
    layer->host_ops.notify_interrupt = watch_notify_interrupt;
    layer->host_ops.notify_dpc = watch_notify_dpc;
    layer->host_ops.queue_dpc = watch_queue_dpc;
    layer->host_ops.unsupported = watch_unsupported;
    layer->host_ops.memory = watch_memory;
    layer->host_ops.power = watch_power;
    layer->host_ops.get_handle_data = watch_get_handle_data;
    layer->host_ops.get_handle_parent = watch_get_handle_parent;
    layer->host_ops.enum_handle_children = watch_enum_handle_children;
    layer->host_ops.reserve_gpu_virtual_address_range = watch_reserve;
    layer->host_ops.create_context_allocation = watch_create_context_allocation;
    layer->host_ops.destroy_context_allocation = watch_destroy_context_allocation;
    layer->host_ops.update_context_allocation = watch_update_context_allocation;
    layer->host.host.ops = &layer->host_ops;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    check->has_layer = true;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
