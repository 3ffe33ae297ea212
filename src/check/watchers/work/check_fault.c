/*
 * Watcher: faults of the GPU, and what the driver tells of them (FENCE-010, RES-010); roots of page
 * tables behind whose entries the GPU has to fault (PT-011).
 */
#include "check/check_watch.h"

#include "base/bits.h"

#include <string.h>

/* A fault that the driver has to report. */
struct fault {
    bool is_pending, was_interrupted;
    uint32_t fence;
    uint64_t address;
    enum check_gpu_access access;
};

struct fault_watch {
    struct fault faults[CHECK_MAX_NODES];
};

#define RESET_FLAGS                                                                                \
    (DXGK_PAGE_FAULT_ADAPTER_RESET_REQUIRED | DXGK_PAGE_FAULT_ENGINE_RESET_REQUIRED |              \
     DXGK_PAGE_FAULT_FATAL_HARDWARE_ERROR)

/* ---- Faults that are not told ---------------------------------------------------------------- */

static void is_untold(struct check *check, struct fault *fault, unsigned node, const char *field,
                      const char *what)
{
    CHECK_RULE(check, RULE_RES_010, false, NULL, field,
               "%s, and DXGK_INTERRUPT_DMA_PAGE_FAULTED was not: node %u stopped in fence 0x%x at "
               "VA 0x%llx",
               what, node, fault->fence, (unsigned long long)fault->address);
    fault->is_pending = false;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct fault_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_InterruptRoutine:
        for (unsigned node = 0; node < CHECK_MAX_NODES; node++)
            watch->faults[node].was_interrupted |= watch->faults[node].is_pending;
        break;
    case MINIPORT_DDI_ResetEngine:
    case MINIPORT_DDI_ResetFromTimeout:
        for (unsigned node = 0; node < CHECK_MAX_NODES; node++) {
            struct fault *fault = &watch->faults[node];

            if (call->ddi == MINIPORT_DDI_ResetEngine &&
                call->arg.reset_engine->NodeOrdinal != node)
                continue;
            if (fault->is_pending && fault->was_interrupted)
                is_untold(check, fault, node, "", "the engine is reset");
            fault->is_pending = false;
        }
        break;
    default:
        break;
    }
}

static unsigned tell_all(struct check *check, struct fault_watch *watch, const char *field,
                         const char *what)
{
    unsigned count = 0;

    for (unsigned node = 0; node < CHECK_MAX_NODES; node++) {
        if (!watch->faults[node].is_pending)
            continue;
        is_untold(check, &watch->faults[node], node, field, what);
        count++;
    }
    return count;
}

static void end(struct check *check, void *state, bool is_orderly)
{
    if (is_orderly)
        tell_all(check, state, "end", "the run has ended");
}

static unsigned stands_still(struct check *check, void *state)
{
    return tell_all(check, state, "", "nothing is left that could happen");
}

/* ---- Reports --------------------------------------------------------------------------------- */

static bool uses_iommu_only(const struct check_ledger *ledger)
{
    return ledger->caps.driver.MemoryManagementCaps.IoMmuSupported &&
           !ledger->caps.driver.MemoryManagementCaps.GpuMmuSupported;
}

/* What a driver says of a fault, in a packet of a hardware queue or in another one. */
struct report {
    const char *member; /* of the interrupt's data */
    UINT node, flags, level;
    uint64_t id, va;
    uint32_t gpu_fence; /* what the GPU was told of the packet: of a queue the id's low half */
    bool is_under_way;
};

/* Pages do not say whose handle FaultedHwQueue is: the system's or the driver's is right. */
static bool is_queued(const struct check_ledger *ledger,
                      const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    const void *handle = data->HwQueuePageFaulted.FaultedHwQueue;
    const struct check_packet *packet;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        const struct check_queue *queue = check_find_queue(ledger, packet->queue);

        if (queue && (queue->kernel == handle || packet->queue == handle) &&
            packet->node == data->HwQueuePageFaulted.NodeOrdinal &&
            packet->progress == data->HwQueuePageFaulted.FaultedFenceId &&
            packet->state == CHECK_SUBMITTED)
            return true;
    }
    return false;
}

static struct report report_of_queue(const struct check_ledger *ledger,
                                     const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    return (struct report){
        .member = "HwQueuePageFaulted",
        .node = data->HwQueuePageFaulted.NodeOrdinal,
        .flags = data->HwQueuePageFaulted.PageFaultFlags,
        .level = data->HwQueuePageFaulted.PageTableLevel,
        .id = data->HwQueuePageFaulted.FaultedFenceId,
        .va = data->HwQueuePageFaulted.FaultedVirtualAddress,
        .gpu_fence = (uint32_t)data->HwQueuePageFaulted.FaultedFenceId,
        .is_under_way = is_queued(ledger, data),
    };
}

static struct report report_of_node(const struct check_ledger *ledger,
                                    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    const struct check_packet *packet = check_find_packet(ledger, data->DmaPageFaulted.NodeOrdinal,
                                                          data->DmaPageFaulted.FaultedFenceId);

    return (struct report){
        .member = "DmaPageFaulted",
        .node = data->DmaPageFaulted.NodeOrdinal,
        .flags = data->DmaPageFaulted.PageFaultFlags,
        .level = data->DmaPageFaulted.PageTableLevel,
        .id = data->DmaPageFaulted.FaultedFenceId,
        .va = data->DmaPageFaulted.FaultedVirtualAddress,
        .gpu_fence = data->DmaPageFaulted.FaultedFenceId,
        .is_under_way = packet && packet->state == CHECK_SUBMITTED,
    };
}

static const char *field_of(struct check *check, const struct report *report, const char *name)
{
    return check_field(check, "%s.%s", report->member, name);
}

/* Flags that go with each other, whatever happened. */
static bool flags_agree(struct check *check, const struct report *report)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_iommu = report->flags & DXGK_PAGE_FAULT_IOMMU;
    bool may_be_iommu = ledger->caps.driver.MemoryManagementCaps.IoMmuSupported;

    if (!CHECK_RULE(check, RULE_FENCE_010,
                    !(report->flags & DXGK_PAGE_FAULT_FENCE_INVALID) ||
                        (report->flags & RESET_FLAGS),
                    NULL, field_of(check, report, "PageFaultFlags"),
                    "{0x%x}: a packet that is not known (FENCE_INVALID) wants a reset of the "
                    "engine or the adapter",
                    report->flags))
        return false;
    if (ledger->caps.has_driver &&
        !CHECK_RULE(check, RULE_FENCE_010, is_iommu ? may_be_iommu : !uses_iommu_only(ledger), NULL,
                    field_of(check, report, "PageFaultFlags"),
                    "{0x%x}: DXGK_PAGE_FAULT_IOMMU is %s, and %s translates for this adapter",
                    report->flags, is_iommu ? "set" : "clear",
                    is_iommu ? "no IOMMU" : "nothing but the IOMMU"))
        return false;
    return !ledger->caps.level_count ||
           CHECK_RULE(check, RULE_FENCE_010, report->level < ledger->caps.level_count, NULL,
                      field_of(check, report, "PageTableLevel"),
                      "is {%u}; the page tables have {=~less than ~%u} levels", report->level,
                      ledger->caps.level_count);
}

/* What the report says of a fault that the GPU has told the bench of. */
static void compare(struct check *check, const struct fault *fault, const struct report *report)
{
    if (!CHECK_RULE(check, RULE_FENCE_010,
                    report->flags & DXGK_PAGE_FAULT_FENCE_INVALID ||
                        report->gpu_fence == fault->fence,
                    NULL, field_of(check, report, "FaultedFenceId"),
                    "{0x%llx} on node %u; it stopped in {=0x%x}", (unsigned long long)report->id,
                    report->node, fault->fence))
        return;
    if (!CHECK_RULE(check, RULE_FENCE_010,
                    !report->va || report->va >> PAGE_SHIFT == fault->address >> PAGE_SHIFT, NULL,
                    field_of(check, report, "FaultedVirtualAddress"),
                    "{0x%llx}; node %u stopped at {=0x%llx}", (unsigned long long)report->va,
                    report->node, (unsigned long long)fault->address))
        return;
    if (!CHECK_RULE(
            check, RULE_FENCE_010,
            !(report->flags & DXGK_PAGE_FAULT_WRITE) || fault->access != CHECK_GPU_READS, NULL,
            field_of(check, report, "PageFaultFlags"),
            "{0x%x}: DXGK_PAGE_FAULT_WRITE, and node %u read{=~without DXGK_PAGE_FAULT_WRITE~}",
            report->flags, report->node))
        return;
    CHECK_RULE(check, RULE_FENCE_010, report->flags & RESET_FLAGS, NULL,
               field_of(check, report, "PageFaultFlags"),
               "{0x%x}: node %u has stopped, and no reset is asked for", report->flags,
               report->node);
}

static void reported(struct check *check, struct fault_watch *watch, const struct report *report)
{
    struct fault *fault = report->node < CHECK_MAX_NODES ? &watch->faults[report->node] : NULL;

    if (fault && fault->is_pending)
        check_looked_at(check, RULE_RES_010);
    if (CHECK_RULE(check, RULE_FENCE_010,
                   report->flags & DXGK_PAGE_FAULT_FENCE_INVALID || report->is_under_way, NULL,
                   field_of(check, report, "FaultedFenceId"),
                   "0x%llx is of nothing that is under way on node %u",
                   (unsigned long long)report->id, report->node) &&
        flags_agree(check, report) && fault && fault->is_pending)
        compare(check, fault, report);
    if (fault)
        fault->is_pending = false;
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    struct fault_watch *watch = state;
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;
    struct report report;
    unsigned node;

    if (callback->callback != TRACE_CALLBACK_notify_interrupt)
        return;
    CHECK_RULE(check, RULE_FENCE_010, data->InterruptType != DXGK_INTERRUPT_DMA_FAULTED, NULL,
               "InterruptType",
               "{DXGK_INTERRUPT_DMA_FAULTED} is reserved: a fault of the GPU is "
               "{=DXGK_INTERRUPT_DMA_PAGE_FAULTED}");
    switch ((unsigned)data->InterruptType) {
    case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
        report = report_of_node(check_ledger(check), data);
        reported(check, watch, &report);
        break;
    case DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
        report = report_of_queue(check_ledger(check), data);
        reported(check, watch, &report);
        break;
    case DXGK_INTERRUPT_DMA_COMPLETED:
        node = data->DmaCompleted.NodeOrdinal;
        if (node < CHECK_MAX_NODES && watch->faults[node].is_pending &&
            check_fence_reached(watch->faults[node].fence, data->DmaCompleted.SubmissionFenceId))
            is_untold(check, &watch->faults[node], node, "DmaCompleted",
                      "the packet is told to be complete");
        break;
    default:
        break;
    }
}

/* ---- The GPU --------------------------------------------------------------------------------- */

/* PT-011: the GPU has to know how many entries the root has. */
static void check_root_entries(struct check *check, const struct check_gpu_event *event)
{
    const struct check_context *context =
        event->packet ? check_find_context(check_ledger(check), event->packet->context) : NULL;

    if (!event->root_entries || !context || !context->has_root)
        return;
    CHECK_RULE(
        check, RULE_PT_011, event->root_entries == context->root.NumEntries, &context->object,
        "NumEntries", "{%u} entries; the GPU was told of {=%llu} in the root of fence 0x%x: %s",
        context->root.NumEntries, (unsigned long long)event->root_entries, event->fence,
        event->root_entries > context->root.NumEntries ? "it does not fault behind the last one"
                                                       : "it faults where there are some");
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct fault_watch *watch = state;

    if (event->kind == CHECK_GPU_QUEUED)
        check_root_entries(check, event);
    if (event->kind != CHECK_GPU_FAULT || event->is_malformed_packet ||
        event->node >= CHECK_MAX_NODES ||
        !check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0))
        return;
    watch->faults[event->node] = (struct fault){
        .is_pending = true,
        .fence = event->fence,
        .address = event->address,
        .access = event->access,
    };
}

static void client(struct check *check, void *state, const struct check_client_event *event)
{
    struct fault_watch *watch = state;

    if (event->kind == CHECK_CLIENT_GONE || event->kind == CHECK_CLIENT_PULLED)
        memset(watch->faults, 0, sizeof watch->faults);
}

const struct check_watcher check_fault_watcher = {
    .name = "fault",
    .state_bytes = sizeof(struct fault_watch),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_InterruptRoutine, MINIPORT_DDI_ResetEngine,
                               MINIPORT_DDI_ResetFromTimeout),
    .callback = callback,
    .gpu = gpu,
    .client = client,
    .end = end,
    .stands_still = stands_still,
};
