/*
 * Defects of interrupts and fences (D76): what is reported of them, and where native fences are.
 */
#include "zoo/zoo_tables.h"

#include "base/bits.h"

#include <string.h>

/* ---- Interrupts ---- */

/* What the fence was waited for is looked up where it is told, at DISPATCH_LEVEL. */
static void look_up_in_dpc(struct miniport *self)
{
    const struct miniport_host *upper = zoo_layer_of(self)->host.upper;

    upper->ops->get_handle_parent(zoo_layer_of(self)->host.upper, 1);
    miniport_dpc(self->next);
}

static void plant_look_up_in_dpc(struct zoo_layer *layer)
{
    layer->ops.dpc = look_up_in_dpc;
}

static void tell_twice(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    zoo_tell(layer, data);
    if (zoo_is_completion(data) && EVERY(layer, 5))
        zoo_tell(layer, data);
}

static void plant_tell_twice(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_twice;
}

static void tell_unknown(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (zoo_is_completion(data) && EVERY(layer, 6)) {
        as.DmaCompleted.SubmissionFenceId += 1000;
        zoo_tell(layer, &as);
    }
    zoo_tell(layer, data);
}

static void plant_tell_unknown(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_unknown;
}

static void tell_other_node(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (zoo_is_completion(data) && EVERY(layer, 6))
        as.DmaCompleted.NodeOrdinal ^= 1;
    zoo_tell(layer, &as);
}

static void plant_tell_other_node(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_other_node;
}

static void tell_nothing(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (!zoo_is_completion(data) || !EVERY(layer, 8))
        zoo_tell(layer, data);
}

static void plant_tell_nothing(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_nothing;
}

static void tell_preempted_wrong(struct miniport_host *host,
                                 const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED)
        as.DmaPreempted.LastCompletedFenceId--;
    zoo_tell(zoo_layer_of_host(host), &as);
}

static void plant_tell_preempted_wrong(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_preempted_wrong;
}

/* Where a preemption is answered early: of each node, in the layer's memory. */
enum early_word {
    EARLY_SUBMITTED,
    EARLY_COMPLETED,
    EARLY_ASKED,
    EARLY_PREEMPTION,
    EARLY_FORGOTTEN, /* the last one that it does not tell of any more */
    EARLY_WORDS
};

static uint64_t *early_word(struct zoo_layer *layer, unsigned node, enum early_word word)
{
    return &layer->memory.words[node % 64 * EARLY_WORDS + word];
}

static void note_early(struct zoo_layer *layer, unsigned node, uint32_t fence)
{
    *early_word(layer, node, EARLY_SUBMITTED) = fence;
    if (fence <= *early_word(layer, node, EARLY_FORGOTTEN))
        *early_word(layer, node, EARLY_FORGOTTEN) = fence - 1; /* it is back */
}

static NTSTATUS submit_before_early(struct miniport *self, HANDLE object,
                                    const DXGKARG_SUBMITCOMMAND *arg)
{
    note_early(zoo_layer_of(self), arg->NodeOrdinal, arg->SubmissionFenceId);
    return miniport_forward_submit_command(self, object, arg);
}

static NTSTATUS submit_virtual_before_early(struct miniport *self, HANDLE object,
                                            const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    note_early(zoo_layer_of(self), arg->NodeOrdinal, arg->SubmissionFenceId);
    return miniport_forward_submit_command_virtual(self, object, arg);
}

static void note_completed(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (zoo_is_completion(data)) {
        unsigned node = data->DmaCompleted.NodeOrdinal;

        if (data->DmaCompleted.SubmissionFenceId <= *early_word(layer, node, EARLY_FORGOTTEN))
            return;
        *early_word(layer, node, EARLY_COMPLETED) = data->DmaCompleted.SubmissionFenceId;
    }
    zoo_tell(layer, data);
}

static BOOLEAN NTAPI tell_early_at_device_irql(PVOID context)
{
    struct zoo_layer *layer = context;

    for (unsigned node = 0; node < 64; node++) {
        if (!*early_word(layer, node, EARLY_ASKED))
            continue;
        *early_word(layer, node, EARLY_ASKED) = 0;
        *early_word(layer, node, EARLY_FORGOTTEN) = *early_word(layer, node, EARLY_SUBMITTED);
        zoo_tell_preempted(layer, node, *early_word(layer, node, EARLY_PREEMPTION),
                           *early_word(layer, node, EARLY_COMPLETED));
    }
    return TRUE;
}

/* The GPU is told nothing where it has work: what it has runs on. */
static NTSTATUS preempt_early(struct miniport *self, HANDLE object,
                              const DXGKARG_PREEMPTCOMMAND *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_QUERYCURRENTFENCE query = {.NodeOrdinal = arg->NodeOrdinal};
    BOOLEAN result;

    miniport_query_current_fence(self->next, object, &query); /* tells what has run */
    if (*early_word(layer, arg->NodeOrdinal, EARLY_SUBMITTED) ==
        *early_word(layer, arg->NodeOrdinal, EARLY_COMPLETED))
        return miniport_forward_preempt_command(self, object, arg);
    *early_word(layer, arg->NodeOrdinal, EARLY_PREEMPTION) = arg->PreemptionFenceId;
    *early_word(layer, arg->NodeOrdinal, EARLY_ASKED) = 1;
    layer->host.upper->ops->synchronize_execution(layer->host.upper, tell_early_at_device_irql,
                                                  layer, 0, &result);
    return STATUS_SUCCESS;
}

static void plant_preempt_early(struct zoo_layer *layer)
{
    layer->ops.submit_command = submit_before_early;
    layer->ops.submit_command_virtual = submit_virtual_before_early;
    layer->ops.preempt_command = preempt_early;
    layer->host_ops.notify_interrupt = note_completed;
}

static void tell_reserved(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (zoo_is_completion(data) && EVERY(layer, 12)) {
        as.InterruptType = DXGK_INTERRUPT_DMA_FAULTED;
        zoo_tell(layer, &as);
    }
    zoo_tell(layer, data);
}

static void plant_tell_reserved(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_reserved;
}

/* The rest of a structure on the stack that nobody has set to zero. */
static void tell_garbage(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    as.Flags.Reserved = 0x0badbad;
    zoo_tell(zoo_layer_of_host(host), &as);
}

static void plant_tell_garbage(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_garbage;
}

/* As if nobody waited for a native fence. */
static void tell_no_fence(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType != DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED ||
        data->MonitoredFenceSignaled.NodeOrdinal != 0)
        zoo_tell(zoo_layer_of_host(host), data);
}

static void plant_tell_no_fence(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_no_fence;
}

static NTSTATUS update_nothing(struct miniport *self, HANDLE object,
                               const DXGKARG_UPDATEMONITOREDVALUES *arg)
{
    return STATUS_SUCCESS;
}

static void plant_update_nothing(struct zoo_layer *layer)
{
    layer->ops.update_monitored_values = update_nothing;
}

/* The upper half of an awaited value is lost on its way to memory. */
static NTSTATUS update_lower_half(struct miniport *self, HANDLE object,
                                  const DXGKARG_UPDATEMONITOREDVALUES *arg)
{
    NTSTATUS status = miniport_forward_update_monitored_values(self, object, arg);

    for (UINT i = 0; i < arg->NumFences; i++)
        *(volatile uint64_t *)arg->MonitoredValueKernelCpuVa[i] &= UINT32_MAX;
    return status;
}

static void plant_update_lower_half(struct zoo_layer *layer)
{
    layer->ops.update_monitored_values = update_lower_half;
}

static bool queue_no_dpc(struct miniport_host *host)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    return EVERY(layer, 9) ? true : layer->host.upper->ops->queue_dpc(layer->host.upper);
}

static void plant_queue_no_dpc(struct zoo_layer *layer)
{
    layer->host_ops.queue_dpc = queue_no_dpc;
}

static void notify_no_dpc(struct miniport_host *host)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (!EVERY(layer, 9))
        layer->host.upper->ops->notify_dpc(layer->host.upper);
}

static void plant_notify_no_dpc(struct zoo_layer *layer)
{
    layer->host_ops.notify_dpc = notify_no_dpc;
}

/* ---- Where native fences are ---- */

static NTSTATUS prefer_another(struct miniport *self, HANDLE object,
                               DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    if (NT_SUCCESS(status) &&
        arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE)
        arg->pCreateFenceStorageData->AllocationInfo.PreferredSegment.SegmentId0 = 4;
    return status;
}

static void plant_prefer_another(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = prefer_another;
}

static NTSTATUS hide_monitored(struct miniport *self, HANDLE object,
                               DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    /* Segment 3 is memory that the CPU cannot see, as the row has it. */
    if (NT_SUCCESS(status) &&
        arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE) {
        arg->pCreateFenceStorageData->AllocationInfo.SupportedWriteSegmentSet = 1u << 2;
        arg->pCreateFenceStorageData->AllocationInfo.PreferredSegment.SegmentId0 = 3;
    }
    return status;
}

static void plant_hide_monitored(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = hide_monitored;
}

static NTSTATUS want_private(struct miniport *self, HANDLE object,
                             DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    if (NT_SUCCESS(status) &&
        arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_FENCESTORAGE)
        arg->AllocationPrivateDriverDataSize = 24;
    return status;
}

static void plant_want_private(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = want_private;
}

/*
 * The segment is taken for system memory: the offset in it is used as an address of the bus. Both
 * are numbers that such a driver writes to its unit.
 */
static NTSTATUS forget_segment(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGK_FENCE_RESIDENCY_INFO infos[16];
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    UINT count = arg->NotifyFenceResidency.NumFences;

    if (arg->Operation != DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY || count > ARRAY_COUNT(infos))
        return miniport_forward_build_paging_buffer(self, object, arg);
    memcpy(infos, arg->NotifyFenceResidency.FenceResidencyInfo, count * sizeof infos[0]);
    for (UINT i = 0; i < count; i++)
        infos[i].CurrentValuePhysicalAddress.SegmentId = 0;
    as.NotifyFenceResidency.FenceResidencyInfo = infos;
    return zoo_build_as(self, object, arg, &as);
}

/* A fence that it knows comes to a segment, and the notice is lost. */
static NTSTATUS miss_return(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice = &arg->NotifyFenceResidency;
    bool has_news = false;

    if (arg->Operation != DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY)
        return miniport_forward_build_paging_buffer(self, object, arg);
    for (UINT i = 0; i < notice->NumFences; i++) {
        uint64_t fence = (uint64_t)(uintptr_t)notice->FenceResidencyInfo[i].hGlobalNativeFence;
        unsigned at = 0;

        has_news |= !notice->FenceResidencyInfo[i].CurrentValuePhysicalAddress.SegmentId;
        while (at < layer->state[0] && layer->memory.words[at] != fence)
            at++;
        if (at == layer->state[0] && at < ARRAY_COUNT(layer->memory.words)) {
            layer->memory.words[layer->state[0]++] = fence;
            has_news = true;
        }
    }
    return has_news ? miniport_forward_build_paging_buffer(self, object, arg) : STATUS_SUCCESS;
}

static void plant_miss_return(struct zoo_layer *layer)
{
    layer->ops.build_paging_buffer = miss_return;
}

/* clang-format off */
#define FENCES_IN_SEGMENTS "wddm=3.2 native-fences=2 native-fence-memory=both fences=leave"

const struct zoo_defect zoo_fence_defects[] = {
    PLANT("D76-fence-twice", ZOO_ALL, "FENCE-002", plant_tell_twice,
          "reports a fence twice"),
    PLANT("D76-fence-unknown", ZOO_ALL, "FENCE-002", plant_tell_unknown,
          "reports a fence that was never submitted"),
    PLANT("D76-fence-other-node", ZOO_ALL, "FENCE-002 FENCE-003", plant_tell_other_node,
          "reports a fence of another node"),
    PLANT("D76-fence-lost", ZOO_ALL, "FENCE-004 FENCE-006", plant_tell_nothing,
          "does not report a fence now and then"),
    PLANT("D76-preempted-wrong", ZOO_ALL, "FENCE-007", plant_tell_preempted_wrong,
          "reports a wrong last fence with a preemption"),
    PLANT("PREEMPT-answered-early", ZOO_ALL, "FENCE-007", plant_preempt_early,
          "reports a preemption at once, and never tells the GPU to preempt"),
    PLANT("FENCE-reserved-type", ZOO_ALL, "FENCE-010", plant_tell_reserved,
          "reports DMA_FAULTED, which is reserved"),
    PLANT("FENCE-garbage-flags", ZOO_ALL, "CALL-002", plant_tell_garbage,
          "leaves reserved bits of DXGKARGCB_NOTIFY_INTERRUPT_DATA as its stack had them",
          .profile = "strict-open"),
    PLANT("FENCE-no-dpc", ZOO_ALL, "FENCE-004", plant_queue_no_dpc,
          "does not queue a DPC behind a completion"),
    PLANT("CALL-parent-in-dpc", ZOO_ALL, "CALL-004", plant_look_up_in_dpc,
          "calls DxgkCbGetHandleParent in its DPC"),
    PLANT("FENCE-no-notify", ZOO_ALL, "FENCE-004", plant_notify_no_dpc,
          "does not call DxgkCbNotifyDpc in its DPC"),
    PLANT("FENCE-native-untold", ZOO_GPUMMU, "FENCE-013", plant_tell_no_fence,
          "reports no native fence of an engine that it renders with"),
    PLANT("FENCE-update-ignored", ZOO_GPUMMU, "FENCE-014", plant_update_nothing,
          "does not write the values that DxgkDdiUpdateMonitoredValues gives"),
    PLANT("FENCE-update-32-bits", ZOO_GPUMMU, "FENCE-014", plant_update_lower_half,
          "writes the lower half of an awaited value in DxgkDdiUpdateMonitoredValues"),
    PLANT("FENCE-prefers-another", ZOO_GPUMMU, "FENCE-018", plant_prefer_another,
          "prefers a segment for fences that it does not name among those for them",
          .focus = FENCES_IN_SEGMENTS),
    PLANT("FENCE-monitored-hidden", ZOO_GPUMMU, "FENCE-019", plant_hide_monitored,
          "wants monitored values in memory that the CPU does not see",
          .focus = FENCES_IN_SEGMENTS " local-invisible=4M"),
    PLANT("FENCE-storage-private", ZOO_GPUMMU, "FENCE-020", plant_want_private,
          "wants private data for the storage of fences", .focus = FENCES_IN_SEGMENTS),
    PLANT("FENCE-return-missed", ZOO_GPUMMU, "NTF-011", plant_miss_return,
          "does not hear that a fence has come back to a segment",
          .focus = FENCES_IN_SEGMENTS),
    {.id = "FENCE-segment-forgotten",
     .sentence = "takes the offset of a current value in its segment for an address of the bus",
     .models = ZOO_GPUMMU,
     .rules = "NTF-011",
     .since = ZOO_SINCE,
     .focus = FENCES_IN_SEGMENTS,
     .build = forget_segment},
    {0},
};
/* clang-format on */
