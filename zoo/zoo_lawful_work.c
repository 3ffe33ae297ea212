/*
 * Lawful drivers that submit, report and recover as few do.
 */
#include "zoo/zoo_tables.h"

#include "drydock/sgpu.h"

#include <string.h>

#define NODES 64u /* more than a GPU of this family has */

/* Of the words of a layer's memory: what its driver knows of a node. */
enum node_word {
    NODE_SUBMITTED,
    NODE_COMPLETED,
    NODE_IS_LEFT, /* the completed one was not told of */
    NODE_PREEMPTION,
    NODE_IS_PREEMPTED,
    NODE_WORDS
};

static uint64_t *node_word(struct zoo_layer *layer, unsigned node, enum node_word word)
{
    return &layer->memory.words[node % NODES * NODE_WORDS + word];
}

static NTSTATUS submit_known(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *arg)
{
    *node_word(zoo_layer_of(self), arg->NodeOrdinal, NODE_SUBMITTED) = arg->SubmissionFenceId;
    return miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_known(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    *node_word(zoo_layer_of(self), arg->NodeOrdinal, NODE_SUBMITTED) = arg->SubmissionFenceId;
    return miniport_forward_submit_command_virtual(self, object, arg);
}

static void tell_kernel(struct zoo_layer *layer, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    zoo_tell(layer, data);
}

/* Fences begin anew behind it. */
static NTSTATUS stop_and_forget(struct miniport *self)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    memset(&layer->memory, 0, sizeof layer->memory);
    memset(layer->state, 0, sizeof layer->state);
    return miniport_forward_ops.stop_device(self);
}

static void synchronize(struct zoo_layer *layer, PKSYNCHRONIZE_ROUTINE routine)
{
    BOOLEAN result;

    layer->host.upper->ops->synchronize_execution(layer->host.upper, routine, layer, 0, &result);
}

/* ---- L20: one interrupt for several packets ---- */

static BOOLEAN NTAPI tell_left_at_device_irql(PVOID context)
{
    for (unsigned node = 0; node < NODES; node++) {
        DXGKARGCB_NOTIFY_INTERRUPT_DATA data;

        if (!*node_word(context, node, NODE_IS_LEFT))
            continue;
        *node_word(context, node, NODE_IS_LEFT) = 0;
        memset(&data, 0, sizeof data);
        data.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
        data.DmaCompleted.SubmissionFenceId = (UINT)*node_word(context, node, NODE_COMPLETED);
        data.DmaCompleted.NodeOrdinal = node;
        tell_kernel(context, &data);
    }
    return TRUE;
}

/*
 * Of a packet with another one behind it, every other end is left to the end of that one, unless
 * the kernel asks before (FENCE-006).
 */
static void tell_now_and_then(struct miniport_host *host,
                              const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (zoo_is_completion(data) && !layer->state[0] &&
        *node_word(layer, data->DmaCompleted.NodeOrdinal, NODE_SUBMITTED) !=
            data->DmaCompleted.SubmissionFenceId &&
        ++layer->calls % 2) {
        *node_word(layer, data->DmaCompleted.NodeOrdinal, NODE_COMPLETED) =
            data->DmaCompleted.SubmissionFenceId;
        *node_word(layer, data->DmaCompleted.NodeOrdinal, NODE_IS_LEFT) = 1;
        return;
    }
    if (zoo_is_completion(data))
        *node_word(layer, data->DmaCompleted.NodeOrdinal, NODE_IS_LEFT) = 0;
    else if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
        *node_word(layer, data->DmaPreempted.NodeOrdinal, NODE_IS_LEFT) = 0;
    else
        tell_left_at_device_irql(layer); /* a fault behind them */
    tell_kernel(layer, data);
}

static void tell_left(struct zoo_layer *layer)
{
    synchronize(layer, tell_left_at_device_irql);
    layer->host.upper->ops->queue_dpc(layer->host.upper);
}

static NTSTATUS query_and_tell(struct miniport *self, HANDLE object, DXGKARG_QUERYCURRENTFENCE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status;

    layer->state[0] = true; /* nothing is left to a later end now */
    tell_left(layer);
    status = miniport_forward_query_current_fence(self, object, arg);
    layer->state[0] = false;
    return status;
}

static NTSTATUS preempt_and_tell(struct miniport *self, HANDLE object,
                                 const DXGKARG_PREEMPTCOMMAND *arg)
{
    tell_left(zoo_layer_of(self));
    return miniport_forward_preempt_command(self, object, arg);
}

static NTSTATUS reset_and_tell(struct miniport *self, HANDLE object, DXGKARG_RESETENGINE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status;

    layer->state[0] = true;
    tell_left(layer);
    status = miniport_forward_reset_engine(self, object, arg);
    layer->state[0] = false;
    return status;
}

static NTSTATUS reset_and_leave(struct miniport *self, HANDLE object)
{
    for (unsigned node = 0; node < NODES; node++)
        *node_word(zoo_layer_of(self), node, NODE_IS_LEFT) = 0;
    return miniport_forward_reset_from_timeout(self, object);
}

static void plant_now_and_then(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_known;
    layer->ops.submit_command_virtual = submit_virtual_known;
    layer->ops.stop_device = stop_and_forget;
    layer->ops.query_current_fence = query_and_tell;
    layer->ops.preempt_command = preempt_and_tell;
    layer->ops.reset_engine = reset_and_tell;
    layer->ops.reset_from_timeout = reset_and_leave;
    layer->host_ops.notify_interrupt = tell_now_and_then;
}

/* ---- L21: reports from the DPC ---- */

#define REPORTS                                                                                    \
    (sizeof(((struct zoo_layer *)0)->memory.reports) / sizeof(DXGKARGCB_NOTIFY_INTERRUPT_DATA))

static void tell_kept(struct zoo_layer *layer)
{
    for (uint64_t i = 0; i < layer->state[0]; i++)
        tell_kernel(layer, &layer->memory.reports[i]);
    layer->state[0] = 0;
}

static BOOLEAN NTAPI tell_kept_at_device_irql(PVOID context)
{
    tell_kept(context);
    return TRUE;
}

static bool interrupt_keeps(struct miniport *self, ULONG message)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    bool is_ours;

    layer->state[1] = true;
    is_ours = miniport_forward_ops.interrupt(self, message);
    layer->state[1] = false;
    return is_ours;
}

/* The interrupt routine notes what has happened; the DPC has it told. */
static void keep_report(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (!layer->state[1] || layer->state[0] == REPORTS)
        tell_kept(layer);
    if (!layer->state[1] || !zoo_is_completion(data)) {
        tell_kept(layer); /* in order */
        tell_kernel(layer, data);
        return;
    }
    layer->memory.reports[layer->state[0]++] = *data;
}

static void dpc_tells(struct miniport *self)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    if (layer->state[0])
        synchronize(layer, tell_kept_at_device_irql);
    miniport_forward_ops.dpc(self);
}

static NTSTATUS reset_engine_tells(struct miniport *self, HANDLE object, DXGKARG_RESETENGINE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    if (layer->state[0])
        synchronize(layer, tell_kept_at_device_irql);
    return miniport_forward_reset_engine(self, object, arg);
}

static NTSTATUS reset_forgets(struct miniport *self, HANDLE object)
{
    zoo_layer_of(self)->state[0] = 0;
    return miniport_forward_reset_from_timeout(self, object);
}

static NTSTATUS query_tells(struct miniport *self, HANDLE object, DXGKARG_QUERYCURRENTFENCE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_query_current_fence(self, object, arg);

    if (layer->state[0])
        synchronize(layer, tell_kept_at_device_irql);
    return status;
}

static void plant_dpc_tells(struct zoo_layer *layer)
{
    layer->ops.stop_device = stop_and_forget;
    layer->ops.interrupt = interrupt_keeps;
    layer->ops.dpc = dpc_tells;
    layer->ops.query_current_fence = query_tells;
    layer->ops.reset_engine = reset_engine_tells;
    layer->ops.reset_from_timeout = reset_forgets;
    layer->host_ops.notify_interrupt = keep_report;
}

/* ---- L22: preemption when everything has run ---- */

static void tell_preemption(struct zoo_layer *layer, unsigned node)
{
    if (!*node_word(layer, node, NODE_IS_PREEMPTED) ||
        *node_word(layer, node, NODE_SUBMITTED) != *node_word(layer, node, NODE_COMPLETED))
        return;
    *node_word(layer, node, NODE_IS_PREEMPTED) = 0;
    zoo_tell_preempted(layer, node, *node_word(layer, node, NODE_PREEMPTION),
                       *node_word(layer, node, NODE_COMPLETED));
}

static BOOLEAN NTAPI tell_preemptions_at_device_irql(PVOID context)
{
    for (unsigned node = 0; node < NODES; node++)
        tell_preemption(context, node);
    return TRUE;
}

/* The hardware cannot stop in the middle: it is preempted when nothing is left to run. */
static NTSTATUS preempt_by_waiting(struct miniport *self, HANDLE object,
                                   const DXGKARG_PREEMPTCOMMAND *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    *node_word(layer, arg->NodeOrdinal, NODE_PREEMPTION) = arg->PreemptionFenceId;
    *node_word(layer, arg->NodeOrdinal, NODE_IS_PREEMPTED) = 1;
    synchronize(layer, tell_preemptions_at_device_irql);
    return STATUS_SUCCESS;
}

static void note_end(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    tell_kernel(layer, data);
    if (!zoo_is_completion(data))
        return;
    *node_word(layer, data->DmaCompleted.NodeOrdinal, NODE_COMPLETED) =
        data->DmaCompleted.SubmissionFenceId;
    tell_preemption(layer, data->DmaCompleted.NodeOrdinal);
}

/* Nothing is left of a node that was reset. */
static NTSTATUS reset_node(struct miniport *self, HANDLE object, DXGKARG_RESETENGINE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_reset_engine(self, object, arg);

    if (!NT_SUCCESS(status))
        return status;
    *node_word(layer, arg->NodeOrdinal, NODE_IS_PREEMPTED) = 0;
    *node_word(layer, arg->NodeOrdinal, NODE_COMPLETED) =
        *node_word(layer, arg->NodeOrdinal, NODE_SUBMITTED);
    return status;
}

static NTSTATUS reset_nodes(struct miniport *self, HANDLE object)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    for (unsigned node = 0; node < NODES; node++) {
        *node_word(layer, node, NODE_IS_PREEMPTED) = 0;
        *node_word(layer, node, NODE_COMPLETED) = *node_word(layer, node, NODE_SUBMITTED);
    }
    return miniport_forward_reset_from_timeout(self, object);
}

static void plant_waits(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_known;
    layer->ops.submit_command_virtual = submit_virtual_known;
    layer->ops.stop_device = stop_and_forget;
    layer->ops.preempt_command = preempt_by_waiting;
    layer->ops.reset_engine = reset_node;
    layer->ops.reset_from_timeout = reset_nodes;
    layer->host_ops.notify_interrupt = note_end;
}

/* ---- L23: handles that are small odd numbers, used again at once ---- */

#define HANDLES 256u /* of each kind; devices stand in front of contexts */

static HANDLE take_number(struct zoo_layer *layer, unsigned kind, HANDLE real)
{
    for (unsigned i = 0; i < HANDLES; i++) {
        uint64_t *word = &layer->memory.words[kind * HANDLES + i];

        if (*word)
            continue;
        *word = (uintptr_t)real;
        return (HANDLE)(uintptr_t)(2 * i + 1);
    }
    return real;
}

static uint64_t *number_of(struct zoo_layer *layer, unsigned kind, HANDLE handle)
{
    uintptr_t number = (uintptr_t)handle / 2;

    return number < HANDLES ? &layer->memory.words[kind * HANDLES + number] : NULL;
}

static HANDLE real_of(struct zoo_layer *layer, unsigned kind, HANDLE handle)
{
    const uint64_t *word = handle ? number_of(layer, kind, handle) : NULL;

    return word ? (HANDLE)(uintptr_t)*word : handle;
}

enum { OF_DEVICE, OF_CONTEXT };

/* Of a packet: a device without contexts stands there by itself. */
static HANDLE real_subject(struct zoo_layer *layer, HANDLE handle)
{
    HANDLE real = real_of(layer, OF_CONTEXT, handle);

    return real ? real : real_of(layer, OF_DEVICE, handle);
}

static NTSTATUS create_small_device(struct miniport *self, HANDLE object, DXGKARG_CREATEDEVICE *arg)
{
    NTSTATUS status = miniport_forward_create_device(self, object, arg);

    if (NT_SUCCESS(status))
        arg->hDevice = take_number(zoo_layer_of(self), OF_DEVICE, arg->hDevice);
    return status;
}

static NTSTATUS create_small_context(struct miniport *self, HANDLE object,
                                     DXGKARG_CREATECONTEXT *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = miniport_forward_create_context(self, real_of(layer, OF_DEVICE, object), arg);

    if (NT_SUCCESS(status))
        arg->hContext = take_number(layer, OF_CONTEXT, arg->hContext);
    return status;
}

static NTSTATUS destroy_small(struct miniport *self, unsigned kind, HANDLE object,
                              NTSTATUS (*destroy)(struct miniport *, HANDLE))
{
    struct zoo_layer *layer = zoo_layer_of(self);
    NTSTATUS status = destroy(self, real_of(layer, kind, object));
    uint64_t *word = number_of(layer, kind, object);

    if (word)
        *word = 0;
    return status;
}

static NTSTATUS destroy_small_device(struct miniport *self, HANDLE object)
{
    return destroy_small(self, OF_DEVICE, object, miniport_forward_destroy_device);
}

static NTSTATUS destroy_small_context(struct miniport *self, HANDLE object)
{
    return destroy_small(self, OF_CONTEXT, object, miniport_forward_destroy_context);
}

static NTSTATUS open_by_small(struct miniport *self, HANDLE object,
                              const DXGKARG_OPENALLOCATION *arg)
{
    return miniport_forward_open_allocation(self, real_of(zoo_layer_of(self), OF_DEVICE, object),
                                            arg);
}

static NTSTATUS close_by_small(struct miniport *self, HANDLE object,
                               const DXGKARG_CLOSEALLOCATION *arg)
{
    return miniport_forward_close_allocation(self, real_of(zoo_layer_of(self), OF_DEVICE, object),
                                             arg);
}

static NTSTATUS render_by_small(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    return miniport_forward_render(self, real_subject(zoo_layer_of(self), object), arg);
}

static NTSTATUS render_km_by_small(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    return miniport_forward_render_km(self, real_subject(zoo_layer_of(self), object), arg);
}

static NTSTATUS render_gdi_by_small(struct miniport *self, HANDLE object, DXGKARG_RENDERGDI *arg)
{
    return miniport_forward_render_gdi(self, real_subject(zoo_layer_of(self), object), arg);
}

static NTSTATUS present_by_small(struct miniport *self, HANDLE object, DXGKARG_PRESENT *arg)
{
    return miniport_forward_present(self, real_subject(zoo_layer_of(self), object), arg);
}

/* Of these the structure is for reading: the driver below gets a copy. */
#define BY_SMALL(name, type)                                                                       \
    static NTSTATUS name##_by_small(struct miniport *self, HANDLE object, const type *arg)         \
    {                                                                                              \
        type as = *arg;                                                                            \
                                                                                                   \
        as.hContext = real_subject(zoo_layer_of(self), arg->hContext);                             \
        return miniport_forward_##name(self, object, &as);                                         \
    }
BY_SMALL(patch, DXGKARG_PATCH)
BY_SMALL(submit_command, DXGKARG_SUBMITCOMMAND)
BY_SMALL(submit_command_virtual, DXGKARG_SUBMITCOMMANDVIRTUAL)
BY_SMALL(set_root_page_table, DXGKARG_SETROOTPAGETABLE)
BY_SMALL(cancel_command, DXGKARG_CANCELCOMMAND)

static NTSTATUS escape_by_small(struct miniport *self, HANDLE object, const DXGKARG_ESCAPE *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_ESCAPE as = *arg;

    as.hDevice = real_of(layer, OF_DEVICE, arg->hDevice);
    as.hContext = real_of(layer, OF_CONTEXT, arg->hContext);
    return miniport_forward_escape(self, object, &as);
}

static NTSTATUS build_by_small(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    as.hSystemContext = real_of(layer, OF_CONTEXT, arg->hSystemContext);
    if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT)
        as.MapApertureSegment.hDevice = real_of(layer, OF_DEVICE, arg->MapApertureSegment.hDevice);
    else if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2)
        as.MapApertureSegment2.hDevice =
            real_of(layer, OF_DEVICE, arg->MapApertureSegment2.hDevice);
    else if (arg->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT)
        as.UnmapApertureSegment.hDevice =
            real_of(layer, OF_DEVICE, arg->UnmapApertureSegment.hDevice);
    return zoo_build_as(self, object, arg, &as);
}

static void plant_small(struct zoo_layer *layer)
{
    layer->ops.create_device = create_small_device;
    layer->ops.create_context = create_small_context;
    layer->ops.destroy_device = destroy_small_device;
    layer->ops.destroy_context = destroy_small_context;
    layer->ops.open_allocation = open_by_small;
    layer->ops.close_allocation = close_by_small;
    layer->ops.render = render_by_small;
    layer->ops.render_km = render_km_by_small;
    layer->ops.render_gdi = render_gdi_by_small;
    layer->ops.present = present_by_small;
    layer->ops.escape = escape_by_small;
    layer->ops.patch = patch_by_small;
    layer->ops.submit_command = submit_command_by_small;
    layer->ops.submit_command_virtual = submit_command_virtual_by_small;
    layer->ops.set_root_page_table = set_root_page_table_by_small;
    layer->ops.cancel_command = cancel_command_by_small;
    layer->ops.build_paging_buffer = build_by_small;
}

/* ---- L24: command buffers padded to 256 bytes ---- */

static NTSTATUS render_padded(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    char *start = arg->pDmaBuffer;
    UINT size = arg->DmaSize;
    NTSTATUS status = miniport_forward_render(self, object, arg);
    size_t used, padding;
    uint32_t header;

    if (!NT_SUCCESS(status) || !start || arg->pDmaBuffer == start)
        return status;
    used = (size_t)((char *)arg->pDmaBuffer - start);
    padding = (256 - used % 256) % 256;
    if (!padding || padding > size - used)
        return status;
    header = SGPU_PACKET_HEADER(SGPU_OP_NOP, padding / 4);
    memset(arg->pDmaBuffer, 0, padding);
    memcpy(arg->pDmaBuffer, &header, sizeof header);
    arg->pDmaBuffer = start + used + padding;
    return status;
}

static void plant_render_padded(struct zoo_layer *layer)
{
    layer->ops.render = render_padded;
}

/* ---- L37: two buffers for each command buffer ---- */

/* What the first one holds does nothing: MultipassOffset says that it is there. */
static NTSTATUS render_in_two(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    NTSTATUS status;

    if (arg->MultipassOffset == 0) {
        arg->MultipassOffset = 1;
        return zoo_render_nothing(arg);
    }
    arg->MultipassOffset--;
    status = miniport_forward_render(self, object, arg);
    if (status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER)
        arg->MultipassOffset++;
    return status;
}

static void plant_render_in_two(struct zoo_layer *layer)
{
    layer->ops.render = render_in_two;
}

/* ---- L25: talk ---- */

static NTSTATUS submit_and_talk(struct miniport *self, HANDLE object,
                                const DXGKARG_SUBMITCOMMAND *arg)
{
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "packet %u\n", arg->SubmissionFenceId);
    return miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_and_talk(struct miniport *self, HANDLE object,
                                        const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_ERROR_LEVEL, "packet %u\n", arg->SubmissionFenceId);
    return miniport_forward_submit_command_virtual(self, object, arg);
}

static void plant_talk(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_and_talk;
    layer->ops.submit_command_virtual = submit_virtual_and_talk;
}

/* ---- L27: reports from a second DPC ---- */

/* Of state[]: whether a DPC is on its way that is to tell. */
#define SECOND_DPC 2

/* The first DPC has another one queued; that one has everything told that has come until then. */
static void dpc_tells_later(struct miniport *self)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    if (!layer->state[0] || layer->state[SECOND_DPC]) {
        layer->state[SECOND_DPC] = false;
        dpc_tells(self);
        return;
    }
    layer->state[SECOND_DPC] = true;
    miniport_forward_ops.dpc(self);
    layer->host.upper->ops->queue_dpc(layer->host.upper);
}

static void plant_dpc_tells_later(struct zoo_layer *layer)
{
    plant_dpc_tells(layer);
    layer->ops.dpc = dpc_tells_later;
}

/* ---- L28: a DPC for each submission, and notices more than are needed ---- */

static NTSTATUS submit_and_queue_dpc(struct miniport *self, HANDLE object,
                                     const DXGKARG_SUBMITCOMMAND *arg)
{
    struct miniport_host *upper = zoo_layer_of(self)->host.upper;
    NTSTATUS status = miniport_forward_submit_command(self, object, arg);

    upper->ops->queue_dpc(upper);
    return status;
}

static NTSTATUS submit_virtual_and_queue_dpc(struct miniport *self, HANDLE object,
                                             const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    struct miniport_host *upper = zoo_layer_of(self)->host.upper;
    NTSTATUS status = miniport_forward_submit_command_virtual(self, object, arg);

    upper->ops->queue_dpc(upper);
    return status;
}

static void dpc_notifies_always(struct miniport *self)
{
    struct miniport_host *upper = zoo_layer_of(self)->host.upper;

    upper->ops->notify_dpc(upper);
    miniport_forward_ops.dpc(self);
    upper->ops->notify_dpc(upper);
}

static void plant_many_dpcs(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_and_queue_dpc;
    layer->ops.submit_command_virtual = submit_virtual_and_queue_dpc;
    layer->ops.dpc = dpc_notifies_always;
}

/* ---- L29: contexts that want different buffers, of odd sizes ---- */

static NTSTATUS create_odd_context(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *arg)
{
    const UINT odd = (UINT)(zoo_layer_of(self)->calls++ % 4) * 2 + 1;
    NTSTATUS status = miniport_forward_create_context(self, object, arg);

    if (!NT_SUCCESS(status) || !arg->ContextInfo.DmaBufferSize)
        return status;
    arg->ContextInfo.DmaBufferSize += 4 * odd * 97;
    if (arg->ContextInfo.PatchLocationListSize) { /* RES-009 has the lists of others */
        arg->ContextInfo.AllocationListSize += odd * 3;
        arg->ContextInfo.PatchLocationListSize += odd * 5;
    }
    return status;
}

static void plant_odd_contexts(struct zoo_layer *layer)
{
    layer->ops.create_context = create_odd_context;
}

/* ---- L30: nodes that are reset together ---- */

/* Both nodes are faces of one piece of hardware: the group of each is all of them. */
static NTSTATUS query_one_group(struct miniport *self, HANDLE object,
                                DXGKARG_QUERYDEPENDENTENGINEGROUP *arg)
{
    NTSTATUS status = miniport_forward_query_dependent_engine_group(self, object, arg);

    if (NT_SUCCESS(status))
        arg->DependentNodeOrdinalMask = (UINT64_C(1) << zoo_layer_of(self)->state[0]) - 1;
    return status;
}

static NTSTATUS query_nodes(struct miniport *self, HANDLE object,
                            const DXGKARG_QUERYADAPTERINFO *arg)
{
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, arg);
    const DXGK_DRIVERCAPS *caps = arg->pOutputData;

    if (NT_SUCCESS(status) && arg->Type == DXGKQAITYPE_DRIVERCAPS && caps)
        zoo_layer_of(self)->state[0] = caps->GpuEngineTopology.NbAsymetricProcessingNodes;
    return status;
}

static void plant_one_group(struct zoo_layer *layer)
{
    layer->ops.query_adapter_info = query_nodes;
    layer->ops.query_dependent_engine_group = query_one_group;
}

/* It needs its syncs, whether the kernel does or not. */
static NTSTATUS keep_syncs2(struct miniport *self, HANDLE object,
                            const DXGKARG_CONTROLINTERRUPT2 *arg)
{
    DXGKARG_CONTROLINTERRUPT2 as = *arg;

    as.CrtcVsyncState = DXGK_VSYNC_ENABLE;
    return miniport_forward_control_interrupt2(self, object, &as);
}

static NTSTATUS keep_syncs3(struct miniport *self, HANDLE object,
                            const DXGKARG_CONTROLINTERRUPT3 *arg)
{
    DXGKARG_CONTROLINTERRUPT3 as = *arg;

    as.CrtcVsyncState = DXGK_VSYNC_ENABLE;
    return miniport_forward_control_interrupt3(self, object, &as);
}

static void plant_keep_syncs(struct zoo_layer *layer)
{
    layer->ops.control_interrupt2 = keep_syncs2;
    layer->ops.control_interrupt3 = keep_syncs3;
}

/* Every byte that there is room for, or none. */
static NTSTATUS fill(struct zoo_layer *layer, void *buffer, SIZE_T bytes,
                     DXGKARG_COLLECTDBGINFO_EXT *extension)
{
    if (layer->state[0]++ % 2)
        return STATUS_UNSUCCESSFUL;
    if (bytes)
        memset(buffer, 0xa5, bytes);
    memset(extension, 0xff, offsetof(DXGKARG_COLLECTDBGINFO_EXT, Reserved2));
    return STATUS_SUCCESS;
}

static NTSTATUS fill_report(struct miniport *self, HANDLE object, const DXGKARG_COLLECTDBGINFO *arg)
{
    return fill(zoo_layer_of(self), arg->pBuffer, arg->BufferSize, arg->pExtension);
}

static NTSTATUS fill_report2(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *arg)
{
    return fill(zoo_layer_of(self), arg->pBuffer, arg->BufferSize, arg->pExtension);
}

static void plant_fill_report(struct zoo_layer *layer)
{
    layer->ops.collect_dbg_info = fill_report;
    layer->ops.collect_dbg_info2 = fill_report2;
}

/* One lock over the queues of the hardware, which the DPC keeps until it has told of it. */
static PKSPIN_LOCK queue_lock(struct zoo_layer *layer)
{
    return (PKSPIN_LOCK)&layer->state[0];
}

static void tell_locked(struct miniport_host *host)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    KeAcquireSpinLockAtDpcLevel(queue_lock(layer));
    layer->host.upper->ops->notify_dpc(layer->host.upper);
    KeReleaseSpinLockFromDpcLevel(queue_lock(layer));
}

static NTSTATUS submit_locked(struct miniport *self, HANDLE object,
                              const DXGKARG_SUBMITCOMMAND *arg)
{
    NTSTATUS status;

    KeAcquireSpinLockAtDpcLevel(queue_lock(zoo_layer_of(self)));
    status = miniport_forward_submit_command(self, object, arg);
    KeReleaseSpinLockFromDpcLevel(queue_lock(zoo_layer_of(self)));
    return status;
}

static NTSTATUS submit_virtual_locked(struct miniport *self, HANDLE object,
                                      const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    NTSTATUS status;

    KeAcquireSpinLockAtDpcLevel(queue_lock(zoo_layer_of(self)));
    status = miniport_forward_submit_command_virtual(self, object, arg);
    KeReleaseSpinLockFromDpcLevel(queue_lock(zoo_layer_of(self)));
    return status;
}

static void plant_locked_queues(struct zoo_layer *layer)
{
    layer->host_ops.notify_dpc = tell_locked;
    layer->ops.submit_command = submit_locked;
    layer->ops.submit_command_virtual = submit_virtual_locked;
}

/*
 * A driver with contexts has no use for sizes of the device, and says so where a pointer to them
 * would stand: pInfo shares its place with Flags.
 */
static NTSTATUS create_without_info(struct miniport *self, HANDLE adapter,
                                    DXGKARG_CREATEDEVICE *arg)
{
    NTSTATUS status = miniport_forward_create_device(self, adapter, arg);

    if ((uintptr_t)arg->pInfo <= UINT32_MAX) /* with contexts it is Flags */
        arg->pInfo = NULL;
    return status;
}

static void plant_no_info(struct zoo_layer *layer)
{
    layer->ops.create_device = create_without_info;
}

/* Its hardware queues take their turns, whatever the system would want. */
static bool has_no_priorities(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_SetupPriorityBands &&
           ddi != MINIPORT_DDI_SetContextSchedulingProperties &&
           ddi != MINIPORT_DDI_SetSchedulingLogBuffer && miniport_has(self->next, ddi);
}

static void plant_no_priorities(struct zoo_layer *layer)
{
    layer->ops.has = has_no_priorities;
}

/* The same of suspensions and lists: the system lets work end, and the board choose. */
static bool has_no_suspension(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_SuspendContext && ddi != MINIPORT_DDI_ResumeContext &&
           ddi != MINIPORT_DDI_ResetHwEngine && ddi != MINIPORT_DDI_ResumeHwEngine &&
           ddi != MINIPORT_DDI_SwitchToHwContextList && miniport_has(self->next, ddi);
}

static void plant_no_suspension(struct zoo_layer *layer)
{
    layer->ops.has = has_no_suspension;
}

/* The system resets the adapter instead. */
static NTSTATUS resume_no_engine(struct miniport *self, HANDLE object, DXGKARG_RESUMEHWENGINE *arg)
{
    return STATUS_UNSUCCESSFUL;
}

static void plant_resume_no_engine(struct zoo_layer *layer)
{
    layer->ops.resume_hw_engine = resume_no_engine;
}

/* clang-format off */
const struct zoo_defect zoo_lawful_work[] = {
    {.id = "L20-ends-together", .models = ZOO_ALL, .rules = "",
     .sentence = "tells of several packets with one interrupt, that of the last of them",
     .lawful = "ns-_dxgkargcb_notify_interrupt_data", .plant = plant_now_and_then},
    {.id = "L21-dpc-tells", .models = ZOO_ALL, .rules = "",
     .sentence = "notes ends in the interrupt routine and tells of them in the DPC",
     .lawful = "nc-dxgkcb_notify_interrupt", .plant = plant_dpc_tells},
    {.id = "L22-preempted-at-end", .models = ZOO_ALL, .rules = "",
     .sentence = "is preempted when everything that it has has run",
     .lawful = "nc-dxgkddi_preemptcommand", .plant = plant_waits},
    {.id = "L23-small-handles", .models = ZOO_ALL, .rules = "",
     .sentence = "has small odd numbers as handles, the same for devices and contexts, used again at once",
     .lawful = "ns-_dxgkarg_createdevice", .plant = plant_small},
    {.id = "L24-commands-padded", .models = ZOO_PHYSICAL | ZOO_IOMMU, .rules = "",
     .sentence = "pads command buffers to 256 bytes where there is room",
     .lawful = "nc-dxgkddi_render", .plant = plant_render_padded},
    {.id = "L25-talks", .models = ZOO_ALL, .rules = "",
     .sentence = "prints a line at the level of errors for each packet",
     .lawful = "dbgprintex", .plant = plant_talk},
    {.id = "L27-second-dpc", .models = ZOO_ALL, .rules = "",
     .sentence = "tells of ends in a second DPC, which the first one queues",
     .lawful = "nc-dxgkcb_notify_interrupt", .plant = plant_dpc_tells_later},
    {.id = "L28-many-dpcs", .models = ZOO_ALL, .rules = "",
     .sentence = "queues a DPC for each submission, and calls DxgkCbNotifyDpc twice in every DPC",
     .lawful = "nc-dxgkcb_notify_dpc", .plant = plant_many_dpcs},
    {.id = "L29-odd-buffers", .models = ZOO_ALL, .rules = "",
     .sentence = "wants other DMA buffers and lists for each context, of odd sizes",
     .lawful = "ns-_dxgk_contextinfo", .plant = plant_odd_contexts},
    {.id = "L30-one-group", .models = ZOO_ALL, .rules = "",
     .sentence = "has nodes that are reset together: each depends on all of them",
     .lawful = "ns-_dxgkarg_querydependentenginegroup", .plant = plant_one_group},
    {.id = "L37-render-in-two", .models = ZOO_PHYSICAL | ZOO_IOMMU, .rules = "",
     .sentence = "takes two DMA buffers for each command buffer, with progress in MultipassOffset",
     .lawful = "nc-dxgkddi_render", .plant = plant_render_in_two},
    {.id = "L38-full-reports", .models = ZOO_ALL, .rules = "",
     .sentence = "has as much for a debug report as there is room for, or nothing",
     .lawful = "nc-d3dkmddi-dxgkddi_collectdbginfo", .plant = plant_fill_report},
    {.id = "L39-syncs-stay", .models = ZOO_ALL, .rules = "",
     .sentence = "reports vertical syncs when they are switched off, too: it needs them itself",
     .lawful = "nc-d3dkmddi-dxgkddi_controlinterrupt", .plant = plant_keep_syncs},
    {.id = "L40-no-device-info", .models = ZOO_ALL, .rules = "",
     .sentence = "sets pInfo, in the place of Flags, to NULL in DxgkDdiCreateDevice: it has contexts",
     .lawful = "ns-_dxgkarg_createdevice", .plant = plant_no_info},
    {.id = "L41-locked-queues", .models = ZOO_ALL, .rules = "",
     .sentence = "holds the spin lock that its submissions take while it calls DxgkCbNotifyDpc",
     .lawful = "nc-dxgkcb_notify_dpc", .plant = plant_locked_queues},
    {.id = "L42-no-priorities", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "has hardware queues, and no function for priority bands or scheduling logs",
     .lawful = "ns-dispmprt-_driver_initialization_data", .plant = plant_no_priorities,
     .focus = "hardware-queues=yes presents=no"},
    {.id = "L43-no-suspension", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "has hardware queues, and no function to suspend contexts, to reset engines or to "
                 "switch them",
     .lawful = "ns-dispmprt-_driver_initialization_data", .plant = plant_no_suspension,
     .focus = "hardware-queues=yes presents=no suspended-contexts=all context-lists=oldest"},
    {.id = "L44-no-resumption", .models = ZOO_GPUMMU, .rules = "",
     .sentence = "cannot resume an engine that was reset",
     .lawful = "nc-dxgkddi_resumehwengine", .plant = plant_resume_no_engine,
     .focus = "hardware-queues=yes presents=no incidents=yes"},
    {0},
};
/* clang-format on */
