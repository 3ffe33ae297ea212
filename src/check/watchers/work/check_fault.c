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

/* Flags that go with each other, whatever happened. */
static bool flags_agree(struct check *check, UINT flags, UINT level)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_iommu = flags & DXGK_PAGE_FAULT_IOMMU;
    bool may_be_iommu = ledger->caps.driver.MemoryManagementCaps.IoMmuSupported;

    if (!CHECK_RULE(check, RULE_FENCE_010,
                    !(flags & DXGK_PAGE_FAULT_FENCE_INVALID) || (flags & RESET_FLAGS), NULL,
                    "DmaPageFaulted.PageFaultFlags",
                    "{0x%x}: a packet that is not known (FENCE_INVALID) wants a reset of the "
                    "engine or the adapter",
                    flags))
        return false;
    if (ledger->caps.has_driver &&
        !CHECK_RULE(check, RULE_FENCE_010, is_iommu ? may_be_iommu : !uses_iommu_only(ledger), NULL,
                    "DmaPageFaulted.PageFaultFlags",
                    "{0x%x}: DXGK_PAGE_FAULT_IOMMU is %s, and %s translates for this adapter",
                    flags, is_iommu ? "set" : "clear",
                    is_iommu ? "no IOMMU" : "nothing but the IOMMU"))
        return false;
    return !ledger->caps.level_count ||
           CHECK_RULE(check, RULE_FENCE_010, level < ledger->caps.level_count, NULL,
                      "DmaPageFaulted.PageTableLevel",
                      "is {%u}; the page tables have {=~less than ~%u} levels", level,
                      ledger->caps.level_count);
}

/* What the report says of a fault that the GPU has told the bench of. */
static void compare(struct check *check, const struct fault *fault,
                    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    UINT flags = data->DmaPageFaulted.PageFaultFlags;
    uint64_t va = data->DmaPageFaulted.FaultedVirtualAddress;
    bool is_known = !(flags & DXGK_PAGE_FAULT_FENCE_INVALID);

    if (!CHECK_RULE(
            check, RULE_FENCE_010, !is_known || data->DmaPageFaulted.FaultedFenceId == fault->fence,
            NULL, "DmaPageFaulted.FaultedFenceId", "{0x%x} on node %u; it stopped in {=0x%x}",
            data->DmaPageFaulted.FaultedFenceId, data->DmaPageFaulted.NodeOrdinal, fault->fence))
        return;
    if (!CHECK_RULE(check, RULE_FENCE_010, !va || va >> PAGE_SHIFT == fault->address >> PAGE_SHIFT,
                    NULL, "DmaPageFaulted.FaultedVirtualAddress",
                    "{0x%llx}; node %u stopped at {=0x%llx}", (unsigned long long)va,
                    data->DmaPageFaulted.NodeOrdinal, (unsigned long long)fault->address))
        return;
    if (!CHECK_RULE(
            check, RULE_FENCE_010,
            !(flags & DXGK_PAGE_FAULT_WRITE) || fault->access != CHECK_GPU_READS, NULL,
            "DmaPageFaulted.PageFaultFlags",
            "{0x%x}: DXGK_PAGE_FAULT_WRITE, and node %u read{=~without DXGK_PAGE_FAULT_WRITE~}",
            flags, data->DmaPageFaulted.NodeOrdinal))
        return;
    CHECK_RULE(check, RULE_FENCE_010, flags & RESET_FLAGS, NULL, "DmaPageFaulted.PageFaultFlags",
               "{0x%x}: node %u has stopped, and no reset is asked for", flags,
               data->DmaPageFaulted.NodeOrdinal);
}

static void reported(struct check *check, struct fault_watch *watch,
                     const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    const struct check_ledger *ledger = check_ledger(check);
    UINT node = data->DmaPageFaulted.NodeOrdinal;
    UINT flags = data->DmaPageFaulted.PageFaultFlags;
    const struct check_packet *packet =
        check_find_packet(ledger, node, data->DmaPageFaulted.FaultedFenceId);
    struct fault *fault = node < CHECK_MAX_NODES ? &watch->faults[node] : NULL;

    if (fault && fault->is_pending)
        check_looked_at(check, RULE_RES_010);
    if (CHECK_RULE(check, RULE_FENCE_010,
                   flags & DXGK_PAGE_FAULT_FENCE_INVALID ||
                       (packet && packet->state == CHECK_SUBMITTED),
                   NULL, "DmaPageFaulted.FaultedFenceId",
                   "0x%x is of nothing that is under way on node %u",
                   data->DmaPageFaulted.FaultedFenceId, node) &&
        flags_agree(check, flags, data->DmaPageFaulted.PageTableLevel) && fault &&
        fault->is_pending)
        compare(check, fault, data);
    if (fault)
        fault->is_pending = false;
}

/* The low half of a hardware queue's id is what the GPU was told of its submission. */
static void queue_reported(struct check *check, struct fault_watch *watch,
                           const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    UINT node = data->HwQueuePageFaulted.NodeOrdinal;
    UINT flags = data->HwQueuePageFaulted.PageFaultFlags;
    uint64_t id = data->HwQueuePageFaulted.FaultedFenceId;
    struct fault *fault = node < CHECK_MAX_NODES ? &watch->faults[node] : NULL;

    if (!fault || !fault->is_pending)
        return;
    check_looked_at(check, RULE_RES_010);
    CHECK_RULE(check, RULE_FENCE_010,
               (flags & DXGK_PAGE_FAULT_FENCE_INVALID) || (uint32_t)id == fault->fence, NULL,
               "HwQueuePageFaulted.FaultedFenceId", "{0x%llx} on node %u; it stopped in {=0x%x}",
               (unsigned long long)id, node, fault->fence);
    fault->is_pending = false;
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    struct fault_watch *watch = state;
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;
    unsigned node;

    if (callback->callback != TRACE_CALLBACK_notify_interrupt)
        return;
    CHECK_RULE(check, RULE_FENCE_010, data->InterruptType != DXGK_INTERRUPT_DMA_FAULTED, NULL,
               "InterruptType",
               "{DXGK_INTERRUPT_DMA_FAULTED} is reserved: a fault of the GPU is "
               "{=DXGK_INTERRUPT_DMA_PAGE_FAULTED}");
    switch ((unsigned)data->InterruptType) {
    case DXGK_INTERRUPT_DMA_PAGE_FAULTED:
        reported(check, watch, data);
        break;
    case DXGK_INTERRUPT_HWQUEUE_PAGE_FAULTED:
        queue_reported(check, watch, data);
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
