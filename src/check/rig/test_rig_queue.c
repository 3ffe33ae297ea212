/* Rig of two contexts with hardware queues. */
#include "check/rig/test_rig_queue.h"

#include "check/check_private.h"

struct rig_queues rig_queues;

static UINT64 fence_va(unsigned which)
{
    return UINT64_C(0x7fe00000) + 8 * which;
}

static NTSTATUS answer(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    if (ddi == MINIPORT_DDI_GetNodeMetadata) {
        ((struct miniport_node *)arg)->metadata.Flags.ContextSchedulingSupported = 1;
        return STATUS_SUCCESS;
    }
    if (ddi == MINIPORT_DDI_CreateHwQueue)
        ((DXGKARG_CREATEHWQUEUE *)arg)->hHwQueue = rig_handle(rig);
    if (ddi == MINIPORT_DDI_SuspendContext) {
        if (rig_queues.in_suspend)
            rig_queues.in_suspend(rig);
        return rig_queues.suspends;
    }
    if (ddi == MINIPORT_DDI_ResetHwEngine) {
        if (rig_queues.in_reset)
            rig_queues.in_reset(rig);
        return rig_queues.resets;
    }
    if (ddi == MINIPORT_DDI_ResumeHwEngine)
        return rig_queues.resumes;
    if (ddi == MINIPORT_DDI_InterruptRoutine && rig_queues.in_interrupt)
        rig_queues.in_interrupt(rig);
    return rig_answer(rig, ddi, object, arg);
}

static void make_queue(struct rig *rig, unsigned which)
{
    struct rig_queue *q = &rig_queues.q[which];
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = RIG_CLIENT_NODE, .EngineAffinity = 1};
    DXGKARG_CREATEHWQUEUE create = {.hHwQueue = &q->queue,
                                    .hHwQueueProgressFence = 77 + which,
                                    .HwQueueProgressFenceCPUVirtualAddress = &q->value,
                                    .HwQueueProgressFenceGPUVirtualAddress = fence_va(which)};
    DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES properties = {.priorityBand =
                                                             DXGK_SCHEDULING_PRIORITY_BAND_NORMAL};

    context.hContext = q->kernels = q;
    context.Flags.VirtualAddressing = 1;
    context.Flags.HwQueueSupported = 1;
    miniport_create_context(rig->top, rig->device, &context);
    q->context = properties.hContext = context.hContext;
    miniport_create_hw_queue(rig->top, q->context, &create);
    q->queue = create.hHwQueue;
    rig_set_root(rig, q->context);
    miniport_set_context_scheduling_properties(rig->top, NULL, &properties);
}

void rig_queues_begin(struct rig *rig)
{
    DXGKARGCB_ISFEATUREENABLED feature = {.FeatureId = DXGK_FEATURE_HWSCH};
    struct miniport_node node = {.NodeOrdinalAndAdapterIndex = RIG_CLIENT_NODE};
    const DXGKARG_SETUPPRIORITYBANDS bands = {.targetNormalBandPercentage = 10};

    memset(&rig_queues, 0, sizeof rig_queues);
    rig_queues.suspends = STATUS_PENDING;
    rig->drivers_host->ops->is_feature_enabled(rig->drivers_host, &feature);
    rig->answer = answer;
    miniport_get_node_metadata(rig->top, NULL, &node);
    miniport_setup_priority_bands(rig->top, NULL, &bands);
    make_queue(rig, 0);
    make_queue(rig, 1);
}

void rig_queue_submit(struct rig *rig, unsigned which, UINT64 id)
{
    const DXGKARG_SUBMITCOMMANDTOHWQUEUE arg = {
        .hHwQueue = rig_queues.q[which].queue,
        .HwQueueProgressFenceId = id,
        .DmaBufferVirtualAddress = 0x10000,
        .DmaBufferSize = 64,
        .HwQueueProgressFenceGpuVa = fence_va(which),
        .HwQueueProgressFenceCpuVa = &rig_queues.q[which].value,
    };

    rig->irql = DISPATCH_LEVEL;
    miniport_submit_command_to_hw_queue(rig->top, NULL, &arg);
    rig->irql = PASSIVE_LEVEL;
}

void rig_queue_gpu(struct rig *rig, enum check_gpu_kind kind, UINT64 id)
{
    check_gpu(rig->check, &(struct check_gpu_event){.kind = kind,
                                                    .node = RIG_CLIENT_NODE,
                                                    .fence = (uint32_t)id,
                                                    .bytes = kind == CHECK_GPU_QUEUED ? 64 : 0,
                                                    .tells_drops = true});
}

void rig_queue_run(struct rig *rig, unsigned which, UINT64 id)
{
    rig_queue_gpu(rig, CHECK_GPU_DONE, id);
    rig_queues.q[which].value = id;
}

static void tell(struct rig *rig)
{
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType =
                                                DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED};

    data.MonitoredFenceSignaled.NodeOrdinal = RIG_CLIENT_NODE;
    rig_interrupt(rig, &data);
}

void rig_queue_tell(struct rig *rig)
{
    rig_queues.in_interrupt = tell;
    miniport_interrupt(rig->top, 0);
    rig_queues.in_interrupt = NULL;
}
