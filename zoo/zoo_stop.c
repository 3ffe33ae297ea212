/*
 * Defects of starts, stops and resets (D77), and of what is asked in front of a reset.
 */
#include "zoo/zoo_tables.h"

#include "drydock/sgpu.h"

/* ---- The end of things ---- */

static NTSTATUS keep_pool(struct miniport *self, HANDLE object,
                          const DXGKARG_DESTROYALLOCATION *arg)
{
    if (EVERY(zoo_layer_of(self), 4))
        ExAllocatePoolWithTag(NonPagedPoolNx, 64, 0x6f6f5a);
    return miniport_forward_destroy_allocation(self, object, arg);
}

static void plant_keep_pool(struct zoo_layer *layer)
{
    layer->ops.destroy_allocation = keep_pool;
}

static NTSTATUS keep_mapping(struct miniport_host *host, PVOID virtual_address)
{
    return STATUS_SUCCESS;
}

static void plant_keep_mapping(struct zoo_layer *layer)
{
    layer->host_ops.unmap_memory = keep_mapping;
}

/* Its StopDevice leaves the mask of interrupts as it was: put back before the registers go. */
static NTSTATUS unmap_enabled(struct miniport_host *host, PVOID virtual_address)
{
    WRITE_REGISTER_ULONG((volatile ULONG *)((char *)virtual_address + SGPU_REG_IRQ_ENABLE),
                         SGPU_IRQ_COMPLETED(0) | SGPU_IRQ_FAULTED(0));
    return miniport_host_forward_ops.unmap_memory(host, virtual_address);
}

static void plant_stay_enabled(struct zoo_layer *layer)
{
    layer->host_ops.unmap_memory = unmap_enabled;
}

/* Goes on without what it could not have. */
static NTSTATUS start_anyway(struct miniport *self, const DXGK_START_INFO *start, ULONG *sources,
                             ULONG *children)
{
    miniport_start_device(self->next, start, sources, children);
    return STATUS_SUCCESS;
}

static void plant_start_anyway(struct zoo_layer *layer)
{
    layer->ops.start_device = start_anyway;
}

static bool interrupt_denied(struct miniport *self, ULONG message)
{
    miniport_forward_ops.interrupt(self, message);
    return false;
}

static void plant_interrupt_denied(struct zoo_layer *layer)
{
    layer->ops.interrupt = interrupt_denied;
}

static NTSTATUS group_by_ordinal(struct miniport *self, HANDLE object,
                                 DXGKARG_QUERYDEPENDENTENGINEGROUP *arg)
{
    NTSTATUS status = miniport_forward_query_dependent_engine_group(self, object, arg);

    arg->DependentNodeOrdinalMask = arg->NodeOrdinal;
    return status;
}

static void plant_group_by_ordinal(struct zoo_layer *layer)
{
    layer->ops.query_dependent_engine_group = group_by_ordinal;
}

static NTSTATUS reset_fails(struct miniport *self, HANDLE object)
{
    miniport_forward_reset_from_timeout(self, object);
    return STATUS_UNSUCCESSFUL;
}

static void plant_reset_fails(struct zoo_layer *layer)
{
    layer->ops.reset_from_timeout = reset_fails;
}

/* More than there may be room for, and says so by a status of its own. */
static NTSTATUS want_more_room(struct miniport *self, HANDLE object,
                               const DXGKARG_COLLECTDBGINFO *arg)
{
    miniport_forward_collect_dbg_info(self, object, arg);
    return STATUS_BUFFER_TOO_SMALL;
}

static NTSTATUS want_more_room2(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *arg)
{
    miniport_forward_collect_dbg_info2(self, object, arg);
    return STATUS_BUFFER_TOO_SMALL;
}

static void plant_want_more_room(struct zoo_layer *layer)
{
    layer->ops.collect_dbg_info = want_more_room;
    layer->ops.collect_dbg_info2 = want_more_room2;
}

static NTSTATUS query_old_fence(struct miniport *self, HANDLE object,
                                DXGKARG_QUERYCURRENTFENCE *arg)
{
    arg->CurrentFence = 0;
    return STATUS_SUCCESS;
}

static void plant_query_old_fence(struct zoo_layer *layer)
{
    layer->ops.query_current_fence = query_old_fence;
}

/* ---- A counter that a reset of the adapter leaves as it is ---- */

#define NODES_FOLLOWED 8
#define AFTER_RESET    (UINT64_C(1) << 32) /* beside the fence: nothing was reported since */

static uint64_t *completed_of(struct zoo_layer *layer, UINT node)
{
    return &layer->state[node % NODES_FOLLOWED];
}

static void follow_completed(struct miniport_host *host,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (zoo_is_completion(data)) {
        *completed_of(layer, data->DmaCompleted.NodeOrdinal) = data->DmaCompleted.SubmissionFenceId;
    } else if (data->InterruptType == DXGK_INTERRUPT_DMA_PREEMPTED) {
        uint64_t *completed = completed_of(layer, data->DmaPreempted.NodeOrdinal);

        if (*completed & AFTER_RESET)
            as.DmaPreempted.LastCompletedFenceId = (UINT)*completed;
    }
    zoo_tell(layer, &as);
}

static NTSTATUS reset_and_keep_counter(struct miniport *self, HANDLE object)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    for (UINT i = 0; i < NODES_FOLLOWED; i++)
        layer->state[i] |= AFTER_RESET;
    return miniport_forward_reset_from_timeout(self, object);
}

static NTSTATUS query_kept_counter(struct miniport *self, HANDLE object,
                                   DXGKARG_QUERYCURRENTFENCE *arg)
{
    NTSTATUS status = miniport_forward_query_current_fence(self, object, arg);
    const uint64_t completed = *completed_of(zoo_layer_of(self), arg->NodeOrdinal);

    if (completed & AFTER_RESET)
        arg->CurrentFence = (UINT)completed;
    return status;
}

static void plant_counter_kept(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = follow_completed;
    layer->ops.reset_from_timeout = reset_and_keep_counter;
    layer->ops.query_current_fence = query_kept_counter;
}

/* clang-format off */
const struct zoo_defect zoo_stop_defects[] = {
    PLANT("FENCE-query-old", ZOO_ALL, "FENCE-006 TDR-002", plant_query_old_fence,
          "answers QueryCurrentFence without looking"),
    PLANT("D77-pool-leaks", ZOO_ALL, "leak", plant_keep_pool,
          "leaks pool over start and stop"),
    PLANT("D77-mapping-kept", ZOO_ALL, "leak", plant_keep_mapping,
          "leaves the device's registers mapped when it stops"),
    PLANT("STOP-interrupts-on", ZOO_ALL, "PWR-013", plant_stay_enabled,
          "leaves interrupts of the device enabled when it stops"),
    PLANT("START-goes-on", ZOO_ALL, "refused", plant_start_anyway,
          "starts without what a callback could not give"),
    PLANT("INT-denied", ZOO_ALL, "FENCE-017", plant_interrupt_denied,
          "returns FALSE from its interrupt routine, which has told of events"),
    PLANT("TDR-group-by-ordinal", ZOO_ALL, "TDR-014", plant_group_by_ordinal,
          "answers QueryDependentEngineGroup with the ordinal in the place of its bit"),
    PLANT("TDR-counter-kept", ZOO_ALL, "TDR-015", plant_counter_kept,
          "goes on with its last completed fences when the adapter was reset",
          .focus = "incidents=yes ops=1000"),
    PLANT("TDR-report-wants-room", ZOO_ALL, "TDR-018", plant_want_more_room,
          "answers CollectDbgInfo with STATUS_BUFFER_TOO_SMALL"),
    PLANT("TDR-reset-fails", ZOO_ALL, "TDR-001", plant_reset_fails,
          "fails ResetFromTimeout"),
    {0},
};
/* clang-format on */
