/*
 * Watcher: the surface that a display shows (RES-018, PATCH-024, FENCE-021 to FENCE-025), and how
 * the driver describes one that the kernel makes (ALLOC-025).
 *
 * What is scanned out is the hardware's word; what the driver reports is held to it.
 */
#include "check/check_watch.h"
#include "miniport/operation.h"

#include "base/bits.h"

struct surface {
    HANDLE allocation; /* NULL: none */
    uint64_t address;
};

struct scan_watch {
    struct surface shown, former; /* given last; scanned out until the driver says otherwise */
    bool is_given;                /* shown, and the hardware has not been seen to scan it out */
    bool has_scanned;
    uint64_t scanned; /* by the hardware */
    bool is_owed;     /* its report */
    UINT told_bytes;  /* of a description, without a buffer */
    bool has_told;
};

static bool keeps(const struct scan_watch *watch, const void *allocation)
{
    return allocation &&
           (allocation == watch->shown.allocation || allocation == watch->former.allocation);
}

static void forget(struct scan_watch *watch)
{
    watch->shown = watch->former = (struct surface){NULL, 0};
    watch->is_given = watch->is_owed = watch->has_scanned = false;
}

/* ---- The system's side ----------------------------------------------------------------------- */

/* The newest of the three that the driver has. */
static enum miniport_ddi controlling_ddi(const struct check_ledger *ledger)
{
    if (ledger->has_ddi[MINIPORT_DDI_ControlInterrupt3])
        return MINIPORT_DDI_ControlInterrupt3;
    return ledger->has_ddi[MINIPORT_DDI_ControlInterrupt2] ? MINIPORT_DDI_ControlInterrupt2
                                                           : MINIPORT_DDI_ControlInterrupt;
}

static void before_control(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const enum miniport_ddi right = controlling_ddi(ledger);

    CHECK_RULE(check, RULE_FENCE_023, call->ddi == right, NULL, "",
               "is called, and the driver has %s", miniport_ddi_name(right));
    CHECK_RULE(check, RULE_FENCE_023, check_irql(check) == PASSIVE_LEVEL, NULL, "",
               "is called at IRQL %u (expected PASSIVE_LEVEL)", check_irql(check));
    if (call->ddi == MINIPORT_DDI_ControlInterrupt3)
        CHECK_RULE(check, RULE_FENCE_023,
                   call->arg.control_interrupt3->VidPnSourceId == D3DDDI_ID_ALL ||
                       ledger->caps.driver.MiscCaps.IndependentVidPnVSyncControl,
                   NULL, "VidPnSourceId",
                   "is {%u}, and IndependentVidPnVSyncControl is 0{=~D3DDDI_ID_ALL~}",
                   call->arg.control_interrupt3->VidPnSourceId);
}

static void before_address(struct check *check, const DXGKARG_SETVIDPNSOURCEADDRESS *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_allocation *allocation = check_find_allocation(ledger, arg->hAllocation);
    const struct check_segment *segment = check_find_segment(ledger, arg->PrimarySegment);
    uint64_t address = (uint64_t)arg->PrimaryAddress.QuadPart;
    bool is_inside = segment && allocation && address >= segment->base &&
                     address - segment->base <= segment->size &&
                     allocation->bytes <= segment->size - (address - segment->base);

    CHECK_RULE(check, RULE_PATCH_024, is_inside, allocation ? &allocation->object : NULL,
               "PrimaryAddress", "0x%llx of segment %u: %s", (unsigned long long)address,
               arg->PrimarySegment,
               !allocation ? "hAllocation is no allocation" : "the allocation does not lie there");
    CHECK_RULE(check, RULE_PATCH_024, arg->Flags.ModeChange == !arg->ContextCount,
               allocation ? &allocation->object : NULL, "ContextCount", "is %u with Flags 0x%x",
               arg->ContextCount, arg->Flags.Value);
}

static bool disturbs(const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    switch (miniport_operation_kind((unsigned)arg->Operation)) {
    case MINIPORT_KIND_TRANSFER:
    case MINIPORT_KIND_FILL:
    case MINIPORT_KIND_DISCARD:
    case MINIPORT_KIND_MAP:
    case MINIPORT_KIND_UNMAP:
        return true;
    default:
        return false;
    }
}

static void before_build(struct check *check, const struct scan_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    HANDLE handle = miniport_operation_allocation(arg);
    const struct check_allocation *allocation =
        handle ? check_find_allocation(check_ledger(check), handle) : NULL;

    if (!watch->shown.allocation || !handle || !disturbs(arg))
        return;
    CHECK_RULE(check, RULE_RES_018, !keeps(watch, handle), allocation ? &allocation->object : NULL,
               "hAllocation", "is scanned out, or was and the driver has not reported another one");
}

static void before_destroy(struct check *check, const struct scan_watch *watch,
                           const DXGKARG_DESTROYALLOCATION *arg)
{
    for (UINT i = 0; watch->shown.allocation && i < arg->NumAllocations; i++)
        CHECK_RULE(check, RULE_RES_018, !keeps(watch, arg->pAllocationList[i]), NULL,
                   "pAllocationList", "%u: is scanned out, and is destroyed", i);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const struct scan_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_ControlInterrupt:
    case MINIPORT_DDI_ControlInterrupt2:
    case MINIPORT_DDI_ControlInterrupt3:
        before_control(check, call);
        break;
    case MINIPORT_DDI_SetVidPnSourceAddress:
        before_address(check, call->arg.set_vid_pn_source_address);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, watch, call->arg.build_paging_buffer);
        break;
    case MINIPORT_DDI_DestroyAllocation:
        before_destroy(check, watch, call->arg.destroy_allocation);
        break;
    default:
        break;
    }
}

/* ---- The driver's side ----------------------------------------------------------------------- */

static void after_description(struct check *check, struct scan_watch *watch,
                              const struct check_call *call)
{
    const DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg =
        call->arg.get_standard_allocation_driver_data;

    if (arg->StandardAllocationType != D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE)
        return;
    if (call->before.get_standard_allocation_driver_data->pAllocationPrivateDriverData) {
        CHECK_RULE(check, RULE_ALLOC_025,
                   !watch->has_told || arg->AllocationPrivateDriverDataSize == watch->told_bytes,
                   NULL, "AllocationPrivateDriverDataSize",
                   "is {%u} with a buffer, and was {=%u} without",
                   arg->AllocationPrivateDriverDataSize, watch->told_bytes);
        watch->has_told = false;
        return;
    }
    CHECK_RULE(check, RULE_ALLOC_025, arg->AllocationPrivateDriverDataSize != 0, NULL,
               "AllocationPrivateDriverDataSize",
               "is {0}: nothing would describe the surface{=~not 0~}");
    watch->has_told = true;
    watch->told_bytes = arg->AllocationPrivateDriverDataSize;
}

static void after_control(struct check *check, const struct check_call *call)
{
    const bool knows = call->ddi != MINIPORT_DDI_ControlInterrupt ||
                       call->arg.control_interrupt->InterruptType == DXGK_INTERRUPT_CRTC_VSYNC;

    CHECK_RULE(check, RULE_FENCE_024,
               call->status == STATUS_NOT_IMPLEMENTED || (knows && call->status == STATUS_SUCCESS),
               NULL, "status", "{0x%08x} (expected %s{=STATUS_NOT_IMPLEMENTED})",
               (unsigned)call->status, knows ? "STATUS_SUCCESS or " : "");
}

static void after_caps(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (call->arg.query_adapter_info->Type != DXGKQAITYPE_DRIVERCAPS || !NT_SUCCESS(call->status) ||
        !check_is_version(ledger, DXGKDDI_INTERFACE_VERSION_WDDM2_7))
        return;
    CHECK_RULE(check, RULE_FENCE_025,
               !ledger->caps.driver.MiscCaps.IndependentVidPnVSyncControl ||
                   ledger->has_ddi[MINIPORT_DDI_ControlInterrupt3],
               NULL, "pOutputData, MiscCaps.IndependentVidPnVSyncControl",
               "is {1}, and the driver has no DxgkDdiControlInterrupt3{=~0~}");
}

static void after_address(struct scan_watch *watch, const DXGKARG_SETVIDPNSOURCEADDRESS *arg)
{
    watch->former = watch->shown;
    watch->shown = (struct surface){arg->hAllocation, (uint64_t)arg->PrimaryAddress.QuadPart};
    watch->is_given = true;
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct scan_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_ControlInterrupt:
    case MINIPORT_DDI_ControlInterrupt2:
    case MINIPORT_DDI_ControlInterrupt3:
        after_control(check, call);
        break;
    case MINIPORT_DDI_QueryAdapterInfo:
        after_caps(check, call);
        break;
    case MINIPORT_DDI_GetStandardAllocationDriverData:
        if (NT_SUCCESS(call->status))
            after_description(check, watch, call);
        break;
    case MINIPORT_DDI_SetVidPnSourceAddress:
        CHECK_RULE(check, RULE_FENCE_021, NT_SUCCESS(call->status), NULL, "status", "0x%08x",
                   (unsigned)call->status);
        if (NT_SUCCESS(call->status))
            after_address(watch, call->arg.set_vid_pn_source_address);
        break;
    case MINIPORT_DDI_SetVidPnSourceVisibility:
        if (!call->arg.set_vid_pn_source_visibility->Visible)
            forget(watch);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
        forget(watch);
        break;
    case MINIPORT_DDI_SetPowerState:
        if (call->power_state != PowerDeviceD0)
            forget(watch);
        break;
    default:
        break;
    }
}

static void gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct scan_watch *watch = state;

    if (event->kind != CHECK_GPU_SCANS)
        return;
    CHECK_RULE(check, RULE_FENCE_021, watch->is_given && event->address == watch->shown.address,
               NULL, "PrimaryAddress",
               "the hardware scans out {0x%llx}; the address given is {=0x%llx}",
               (unsigned long long)event->address, (unsigned long long)watch->shown.address);
    watch->is_given = false;
    watch->has_scanned = watch->is_owed = true;
    watch->scanned = event->address;
}

static void callback(struct check *check, void *state, const struct check_callback *callback)
{
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;
    struct scan_watch *watch = state;
    uint64_t told;

    if (callback->callback != TRACE_CALLBACK_notify_interrupt ||
        data->InterruptType != DXGK_INTERRUPT_CRTC_VSYNC)
        return;
    told = (uint64_t)data->CrtcVsync.PhysicalAddress.QuadPart;
    if (check_ledger(check)->has_gpu && watch->shown.allocation)
        CHECK_RULE(check, RULE_FENCE_022, watch->has_scanned && told == watch->scanned, NULL,
                   "CrtcVsync.PhysicalAddress", "is {0x%llx}; the hardware scans out {=0x%llx}",
                   (unsigned long long)told,
                   (unsigned long long)(watch->has_scanned ? watch->scanned : 0));
    watch->is_owed = false;
    if (told == watch->shown.address)
        watch->former = (struct surface){NULL, 0};
}

static unsigned stands_still(struct check *check, void *state)
{
    struct scan_watch *watch = state;

    if (watch->is_given && check_ledger(check)->has_gpu) {
        watch->is_given = false;
        CHECK_RULE(check, RULE_FENCE_021, false, NULL, "PrimaryAddress",
                   "0x%llx was given, and the hardware does not scan it out",
                   (unsigned long long)watch->shown.address);
        return 1;
    }
    if (!watch->is_owed)
        return 0;
    watch->is_owed = false;
    CHECK_RULE(check, RULE_FENCE_022, false, NULL, "",
               "0x%llx is scanned out, and no DXGK_INTERRUPT_CRTC_VSYNC has said so",
               (unsigned long long)watch->scanned);
    return 1;
}

const struct check_watcher check_scan_out_watcher = {
    .name = "scan-out",
    .state_bytes = sizeof(struct scan_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_SetVidPnSourceAddress, MINIPORT_DDI_BuildPagingBuffer,
                                MINIPORT_DDI_DestroyAllocation, MINIPORT_DDI_ControlInterrupt,
                                MINIPORT_DDI_ControlInterrupt2, MINIPORT_DDI_ControlInterrupt3),
    .after = after,
    .after_calls = CHECK_CALLS(
        MINIPORT_DDI_GetStandardAllocationDriverData, MINIPORT_DDI_SetVidPnSourceAddress,
        MINIPORT_DDI_SetVidPnSourceVisibility, MINIPORT_DDI_ResetFromTimeout,
        MINIPORT_DDI_SetPowerState, MINIPORT_DDI_QueryAdapterInfo, MINIPORT_DDI_ControlInterrupt,
        MINIPORT_DDI_ControlInterrupt2, MINIPORT_DDI_ControlInterrupt3),
    .callback = callback,
    .gpu = gpu,
    .stands_still = stands_still,
};
