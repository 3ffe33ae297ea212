/*
 * Watcher: calls in the middle of other calls (the threading levels), callbacks at another IRQL
 * than theirs (CALL-004), accesses through the IOMMU (IOMMU), and answers about the adapter that
 * must agree (IOMMU-004, CALL-005).
 *
 * The bench has one thread: two calls are at the same time when one is made in the middle of the
 * other. Calls that follow from a completion are made in the DPC that tells of it, which is of
 * level zero.
 */
#include "check/check_watch.h"

#include <string.h>

struct threading_watch {
    bool is_silent; /* the GPU hangs or has gone: nobody ends its packets */
    bool has_iommu_caps, is_started;
    DXGK_IOMMU_CAPS iommu;
    bool has_device_caps;
    DXGK_WDDMDEVICECAPS device;
    bool is_exclusive;            /* between BeginExclusiveAccess and EndExclusiveAccess */
    bool was_called, has_reached; /* in that window, already */
};

/* ---- Levels ---------------------------------------------------------------------------------- */

/*
 * The class of the GPU scheduler, of level one; PB-029 adds calls about engines. All calls that are
 * in no list here are of level zero, which may run beside it: Render and Present, too.
 */
static bool is_of_scheduler(enum miniport_ddi ddi)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
    case MINIPORT_DDI_Patch:
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
    case MINIPORT_DDI_PreemptCommand:
    case MINIPORT_DDI_CancelCommand:
    case MINIPORT_DDI_QueryDependentEngineGroup:
        return true;
    default:
        return false;
    }
}

/* One thread, and nothing in flight. */
static bool is_level_three(enum miniport_ddi ddi)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_StartDevice:
    case MINIPORT_DDI_StopDevice:
    case MINIPORT_DDI_SetPowerState:
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_RestartFromTimeout:
        return true;
    default:
        return false;
    }
}

static bool is_interrupt(enum miniport_ddi ddi)
{
    return ddi == MINIPORT_DDI_InterruptRoutine || ddi == MINIPORT_DDI_DpcRoutine;
}

static void check_scheduler(struct check *check, const struct check_call *call)
{
    const struct check_call *outer = check_call_around(call);

    /* A call in the middle of building is PB-029's. */
    if (!is_of_scheduler(call->ddi) || !outer || outer->ddi == MINIPORT_DDI_BuildPagingBuffer)
        return;
    CHECK_RULE(check, RULE_IOMMU_006, !is_of_scheduler(outer->ddi), NULL, "",
               "is called in the middle of %s: one call of the scheduler's at a time",
               miniport_ddi_name(outer->ddi));
}

static void check_level_three(struct check *check, const struct threading_watch *watch,
                              const struct check_call *call)
{
    const struct check_call *outer = check_call_around(call);
    const struct check_packet *left = NULL;
    bool is_alone = !outer;

    if (outer && is_level_three(outer->ddi)) {
        /* A call in the middle of a reset is TDR-002's. */
        if (outer->ddi == MINIPORT_DDI_ResetFromTimeout || is_interrupt(call->ddi))
            return;
        is_alone = call->ddi == MINIPORT_DDI_QueryAdapterInfo;
    } else if (!is_level_three(call->ddi) || call->ddi == MINIPORT_DDI_ResetFromTimeout) {
        return;
    }
    if (call->ddi == MINIPORT_DDI_StopDevice && !watch->is_silent)
        left = check_find_in_flight(check_ledger(check));
    if (left)
        CHECK_RULE(check, RULE_IOMMU_007, false, NULL, "",
                   "is called while the packet with fence 0x%x of node %u is under way",
                   left->fence, left->node);
    else
        CHECK_RULE(check, RULE_IOMMU_007, is_alone, NULL, "", "is called in the middle of %s",
                   miniport_ddi_name(outer->ddi));
}

/* ---- Callbacks (CALL-004) -------------------------------------------------------------------- */

/* The highest IRQL of its page, plus one; 0: the callback is judged by another rule, or by none. */
static const unsigned char highest_level[TRACE_CALLBACK_COUNT] = {
    [TRACE_CALLBACK_get_device_information] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_map_memory] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_unmap_memory] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_read_device_space] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_write_device_space] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_synchronize_execution] = DISPATCH_LEVEL + 1,
    [TRACE_CALLBACK_get_handle_data] = APC_LEVEL + 1,
    [TRACE_CALLBACK_get_handle_parent] = APC_LEVEL + 1,
    [TRACE_CALLBACK_enum_handle_children] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_reserve_gpu_virtual_address_range] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_create_context_allocation] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_destroy_context_allocation] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_map_context_allocation] = PASSIVE_LEVEL + 1,
    [TRACE_CALLBACK_update_context_allocation] = PASSIVE_LEVEL + 1,
};

static void callback(struct check *check, void *state, const struct check_callback *event)
{
    const unsigned above = highest_level[event->callback];

    if (above)
        CHECK_RULE(check, RULE_CALL_004, check_irql(check) < above, NULL, "",
                   "is called at IRQL {%u} (expected {=%u at most})", check_irql(check), above - 1);
}

/* ---- Exclusive access ------------------------------------------------------------------------ */

/* Interrupts are the device's doing, and a board that is pulled out waits for nobody. */
static bool may_be_in_window(enum miniport_ddi ddi)
{
    return ddi == MINIPORT_DDI_EndExclusiveAccess || ddi == MINIPORT_DDI_NotifySurpriseRemoval ||
           is_interrupt(ddi);
}

static void check_window(struct check *check, struct threading_watch *watch,
                         const struct check_call *call)
{
    const struct check_packet *left = NULL;

    if (watch->is_exclusive && !may_be_in_window(call->ddi)) {
        watch->was_called = true;
        CHECK_RULE(check, RULE_IOMMU_001, false, NULL, "",
                   "is called between DxgkDdiBeginExclusiveAccess and "
                   "DxgkDdiEndExclusiveAccess");
    }
    if (call->ddi != MINIPORT_DDI_BeginExclusiveAccess || watch->is_silent)
        return;
    left = check_find_in_flight(check_ledger(check));
    CHECK_RULE(check, RULE_IOMMU_001, !left && !check_call_around(call), NULL, "",
               left ? "is called while the packet with fence 0x%x of node %u is under way"
                    : "is called in the middle of another call",
               left ? left->fence : 0, left ? left->node : 0);
}

static void after_window(struct check *check, struct threading_watch *watch,
                         const struct check_call *call)
{
    if (call->ddi == MINIPORT_DDI_BeginExclusiveAccess) {
        watch->is_exclusive = NT_SUCCESS(call->status);
        watch->was_called = watch->has_reached = false;
        return;
    }
    if (watch->is_exclusive && !watch->was_called)
        check_looked_at(check, RULE_IOMMU_001);
    if (watch->is_exclusive && !watch->has_reached && check_ledger(check)->has_gpu)
        check_looked_at(check, RULE_IOMMU_002);
    watch->is_exclusive = false;
}

/* Once for a window: one packet makes many accesses. */
static void reached_memory(struct check *check, struct threading_watch *watch)
{
    if (!watch->is_exclusive || watch->has_reached)
        return;
    watch->has_reached = true;
    CHECK_RULE(check, RULE_IOMMU_002, false, NULL, "",
               "the device reaches system memory after DxgkDdiBeginExclusiveAccess, while its "
               "IOMMU changes domains");
}

/* ---- The IOMMU ------------------------------------------------------------------------------- */

/* Two answers about one cap agree. */
static void check_caps(struct check *check, const struct threading_watch *watch)
{
    const struct check_caps *caps = &check_ledger(check)->caps;
    const DXGK_VIDMMCAPS *memory = &caps->driver.MemoryManagementCaps;
    const DXGK_PHYSICALADAPTERFLAGS *adapter = &caps->physical.Flags;
    const DXGK_IOMMU_CAPS *iommu = &watch->iommu;

    if (!watch->has_iommu_caps)
        return;
    if (caps->has_driver)
        CHECK_RULE(
            check, RULE_IOMMU_004,
            memory->IoMmuSecureModeSupported == iommu->IommuIsolationSupported &&
                memory->IoMmuSecureModeRequired == iommu->IommuIsolationRequired,
            NULL, "pOutputData",
            "isolation {supported %u, required %u} in IOMMU_CAPS; {=%u and %u} in DRIVERCAPS",
            iommu->IommuIsolationSupported, iommu->IommuIsolationRequired,
            memory->IoMmuSecureModeSupported, memory->IoMmuSecureModeRequired);
    if (caps->has_physical)
        CHECK_RULE(check, RULE_IOMMU_004,
                   adapter->GpuVaIommuRequired == iommu->GpuVaIommuRequired &&
                       adapter->GpuVaIommuGlobalRequired == iommu->GpuVaIommuGlobalRequired,
                   NULL, "pOutputData",
                   "{GpuVaIommuRequired %u, GpuVaIommuGlobalRequired %u} in IOMMU_CAPS; {=%u and "
                   "%u} in PHYSICALADAPTERCAPS",
                   iommu->GpuVaIommuRequired, iommu->GpuVaIommuGlobalRequired,
                   adapter->GpuVaIommuRequired, adapter->GpuVaIommuGlobalRequired);
}

/* CALL-005: whichever of the two was asked for later, as often as it is asked for. */
static void check_device_version(struct check *check, const struct threading_watch *watch)
{
    const struct check_caps *caps = &check_ledger(check)->caps;

    if (!watch->has_device_caps || !caps->has_driver)
        return;
    CHECK_RULE(check, RULE_CALL_005, watch->device.WDDMVersion == caps->driver.WDDMVersion, NULL,
               "pOutputData, WDDMVersion", "is {0x%x} in WDDMDEVICECAPS and {=0x%x} in DRIVERCAPS",
               (unsigned)watch->device.WDDMVersion, (unsigned)caps->driver.WDDMVersion);
}

/* Caps that are needed before the device starts may be refused for good, but not known later. */
static void check_early(struct check *check, DXGK_QUERYADAPTERINFOTYPE type, NTSTATUS status)
{
    if (type != DXGKQAITYPE_IOMMU_CAPS && type != DXGKQAITYPE_PHYSICAL_MEMORY_CAPS)
        return;
    CHECK_RULE(check, RULE_IOMMU_004,
               status == STATUS_NOT_SUPPORTED || status == STATUS_NOT_IMPLEMENTED ||
                   status == STATUS_INVALID_PARAMETER,
               NULL, "status", "{0x%08x} before DxgkDdiStartDevice; these caps are needed by then",
               (unsigned)status);
}

static void after_query(struct check *check, struct threading_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_QUERYADAPTERINFO *query = call->arg.query_adapter_info;

    if (!watch->is_started && !NT_SUCCESS(call->status))
        check_early(check, query->Type, call->status);
    if (!NT_SUCCESS(call->status) || !query->pOutputData)
        return;
    if (query->Type == DXGKQAITYPE_FRAMEBUFFERSAVESIZE &&
        query->OutputDataSize >= sizeof(DXGK_FRAMEBUFFERSAVEAREA)) {
        const DXGK_FRAMEBUFFERSAVEAREA *area = query->pOutputData;

        CHECK_RULE(check, RULE_IOMMU_022, area->MaximumSize % 4096 == 0, NULL,
                   "pOutputData, MaximumSize", "is {0x%llx} (expected {=a multiple of 0x1000})",
                   (unsigned long long)area->MaximumSize);
        return;
    }
    if (query->Type == DXGKQAITYPE_WDDMDEVICECAPS &&
        query->OutputDataSize >= sizeof watch->device) {
        memcpy(&watch->device, query->pOutputData, sizeof watch->device);
        watch->has_device_caps = true;
        check_device_version(check, watch);
        return;
    }
    if (query->Type == DXGKQAITYPE_DRIVERCAPS)
        check_device_version(check, watch);
    if (query->Type == DXGKQAITYPE_IOMMU_CAPS && query->OutputDataSize >= sizeof watch->iommu) {
        memcpy(&watch->iommu, query->pOutputData, sizeof watch->iommu);
        watch->has_iommu_caps = true;
    } else if (query->Type != DXGKQAITYPE_DRIVERCAPS &&
               query->Type != DXGKQAITYPE_PHYSICALADAPTERCAPS) {
        return;
    }
    check_caps(check, watch);
}

/*
 * The pages that the device is shown are within its reach; the ends of the list are ADL-004's and
 * ADL-005's.
 */
static void before_map(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_config *config = check_configuration(check);
    const DXGK_ADL *adl = &arg->MapApertureSegment2.Adl;
    uint64_t first = arg->MapApertureSegment2.AdlOffset;
    uint64_t page;
    unsigned char byte;

    if (!config->read_page || arg->MultipassOffset)
        return;
    for (uint64_t i = first; i < first + arg->MapApertureSegment2.NumberOfPages; i++) {
        if (i >= adl->PageCount || (!adl->Flags.Contiguous && !adl->Pages))
            return;
        if (i == 0 || i == adl->PageCount - 1)
            continue;
        page = adl->Flags.Contiguous ? adl->BasePageNumber + i : adl->Pages[i];
        if (!CHECK_RULE(check, RULE_IOMMU_003,
                        config->read_page(config->context, page, &byte, sizeof byte), NULL,
                        "MapApertureSegment2.Adl",
                        "page 0x%llx, number %llu of the list, is not mapped in the IOMMU",
                        (unsigned long long)page, (unsigned long long)i))
            return;
    }
}

/* ---- The watcher ----------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    check_scheduler(check, call);
    check_level_three(check, state, call);
    check_window(check, state, call);
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer &&
        call->arg.build_paging_buffer->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT2)
        before_map(check, call->arg.build_paging_buffer);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct threading_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_QueryAdapterInfo:
        after_query(check, watch, call);
        break;
    case MINIPORT_DDI_StartDevice:
        watch->is_started |= NT_SUCCESS(call->status);
        break;
    case MINIPORT_DDI_BeginExclusiveAccess:
    case MINIPORT_DDI_EndExclusiveAccess:
        after_window(check, watch, call);
        break;
    case MINIPORT_DDI_NotifySurpriseRemoval:
        watch->is_silent = true;
        watch->is_exclusive = false;
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_ResetEngine:
        watch->is_silent = false;
        break;
    default:
        break;
    }
}

/* Not every driver can be told that its board was pulled out; the bench knows. */
static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct threading_watch *watch = state;

    if (event->kind == CHECK_GPU_HUNG)
        watch->is_silent = true;
    if (event->kind == CHECK_GPU_SYSTEM)
        reached_memory(check, watch);
}

const struct check_watcher check_threading_watcher = {
    .name = "threading",
    .state_bytes = sizeof(struct threading_watch),
    .before = before,
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_StartDevice,
                               MINIPORT_DDI_BeginExclusiveAccess, MINIPORT_DDI_EndExclusiveAccess,
                               MINIPORT_DDI_NotifySurpriseRemoval, MINIPORT_DDI_ResetFromTimeout,
                               MINIPORT_DDI_ResetEngine),
    .callback = callback,
    .gpu = gpu,
};
