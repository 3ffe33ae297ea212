/*
 * Defects around faults of the GPU: how they are told, and where they have to come from.
 */
#include "zoo/zoo_tables.h"

typedef void change_report(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);

/* The report of a fault goes up changed; NULL: it does not go up. */
static void tell_as(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data,
                    change_report *change)
{
    struct miniport_host *upper = zoo_layer_of_host(host)->host.upper;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA as = *data;

    if (data->InterruptType == DXGK_INTERRUPT_DMA_PAGE_FAULTED) {
        if (!change)
            return;
        change(&as);
    }
    upper->ops->notify_interrupt(upper, &as);
}

static void tell_nothing(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_as(host, data, NULL);
}

static void plant_tell_nothing(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_nothing;
}

static void as_completed(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    UINT fence = data->DmaPageFaulted.FaultedFenceId, node = data->DmaPageFaulted.NodeOrdinal;

    *data = (DXGKARGCB_NOTIFY_INTERRUPT_DATA){.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED};
    data->DmaCompleted.SubmissionFenceId = fence;
    data->DmaCompleted.NodeOrdinal = node;
}

static void tell_completed(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_as(host, data, as_completed);
}

static void plant_tell_completed(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_completed;
}

static void by_page(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.FaultedVirtualAddress >>= 12;
}

static void tell_page(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_as(host, data, by_page);
}

static void plant_tell_page(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_page;
}

static void without_reset(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.PageFaultFlags &=
        ~(DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED | DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED);
}

static void tell_without_reset(struct miniport_host *host,
                               const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_as(host, data, without_reset);
}

static void plant_tell_without_reset(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_without_reset;
}

static void with_last_completed(DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    data->DmaPageFaulted.FaultedFenceId--;
}

static void tell_last_completed(struct miniport_host *host,
                                const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    tell_as(host, data, with_last_completed);
}

static void plant_tell_last_completed(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_last_completed;
}

static NTSTATUS set_full_root(struct miniport *self, HANDLE object,
                              const DXGKARG_SETROOTPAGETABLE *arg)
{
    DXGKARG_SETROOTPAGETABLE as = *arg;

    as.NumEntries *= 2;
    return miniport_forward_set_root_page_table(self, object, &as);
}

static void plant_full_root(struct zoo_layer *layer)
{
    layer->ops.set_root_page_table = set_full_root;
}

/* The fence that was refused last on node n is state[n]; the one asked for goes up as the last
 * before it. */
static NTSTATUS submit_refused(struct miniport *self, HANDLE object,
                               const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    NTSTATUS status = miniport_forward_submit_command_virtual(self, object, arg);

    if (status == STATUS_INVALID_PARAMETER)
        zoo_layer_of(self)->state[arg->NodeOrdinal % 8] = arg->SubmissionFenceId;
    return status;
}

static NTSTATUS query_without_refused(struct miniport *self, HANDLE object,
                                      DXGKARG_QUERYCURRENTFENCE *arg)
{
    NTSTATUS status = miniport_forward_query_current_fence(self, object, arg);
    uint64_t refused = zoo_layer_of(self)->state[arg->NodeOrdinal % 8];

    if (refused && arg->CurrentFence == refused)
        arg->CurrentFence--;
    return status;
}

static void plant_refused_never_complete(struct zoo_layer *layer)
{
    layer->ops.submit_command_virtual = submit_refused;
    layer->ops.query_current_fence = query_without_refused;
}

/* The fence that node n reported last is state[n]. */
static void note_completed(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct zoo_layer *layer = zoo_layer_of_host(host);

    if (zoo_is_completion(data))
        layer->state[data->DmaCompleted.NodeOrdinal % 8] = data->DmaCompleted.SubmissionFenceId;
    zoo_tell(layer, data);
}

static NTSTATUS reset_empty_engine(struct miniport *self, HANDLE object, DXGKARG_RESETENGINE *arg)
{
    NTSTATUS status = miniport_forward_reset_engine(self, object, arg);

    if (arg->LastAbortedFenceId == zoo_layer_of(self)->state[arg->NodeOrdinal % 8])
        arg->LastAbortedFenceId--;
    return status;
}

static void plant_reset_empty(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = note_completed;
    layer->ops.reset_engine = reset_empty_engine;
}

static NTSTATUS create_sharing(struct miniport *self, HANDLE object, DXGKARG_CREATEALLOCATION *arg)
{
    NTSTATUS status = miniport_forward_create_allocation(self, object, arg);

    for (UINT i = 0; NT_SUCCESS(status) && i < arg->NumAllocations; i++)
        arg->pAllocationInfo[i].Flags2.ShareBackingStoreWithKmd = 1;
    return status;
}

static void plant_share_backing(struct zoo_layer *layer)
{
    layer->ops.create_allocation = create_sharing;
}

#define VIRTUAL (ZOO_GPUMMU | ZOO_IOMMU)

/* clang-format off */
const struct zoo_defect zoo_fault_defects[] = {
    PLANT("FAULT-untold", VIRTUAL, "RES-010", plant_tell_nothing,
          "does not report a fault of the GPU"),
    PLANT("FAULT-as-completed", VIRTUAL, "RES-010", plant_tell_completed,
          "reports a packet that faulted as complete"),
    PLANT("FAULT-page-number", VIRTUAL, "FENCE-010", plant_tell_page,
          "reports the page number of a fault as its address"),
    PLANT("FAULT-without-reset", VIRTUAL, "FENCE-010", plant_tell_without_reset,
          "asks for no reset of an engine that a fault has stopped"),
    PLANT("FAULT-last-completed", VIRTUAL, "FENCE-010", plant_tell_last_completed,
          "reports the last fence that completed as the one that faulted"),
    PLANT("FAULT-root-entries", ZOO_GPUMMU, "PT-011", plant_full_root,
          "takes a root page table for one of twice as many entries"),
    PLANT("ALLOC-share-backing", ZOO_GPUMMU, "ALLOC-021", plant_share_backing,
          "shares the backing store of allocations, whatever the system allows"),
    PLANT("TDR-empty-queue", VIRTUAL, "TDR-008", plant_reset_empty,
          "reports another fence than the last one when it resets an engine with an empty queue",
          .focus = "incidents=yes faults=yes"),
    PLANT("SUB-refused-pending", VIRTUAL, "SUB-012", plant_refused_never_complete,
          "never takes a submission that it refused for complete", .focus = "faults=yes"),
    {0},
};
/* clang-format on */
