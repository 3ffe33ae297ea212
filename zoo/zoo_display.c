/*
 * Defects of what a display shows.
 */
#include "zoo/zoo_tables.h"

/* The page behind the one that is meant: of two surfaces side by side it is the other one's. */
static NTSTATUS show_next_page(struct miniport *self, HANDLE object,
                               const DXGKARG_SETVIDPNSOURCEADDRESS *arg)
{
    DXGKARG_SETVIDPNSOURCEADDRESS as = *arg;

    as.PrimaryAddress.QuadPart += 4096;
    return miniport_forward_set_vid_pn_source_address(self, object, &as);
}

static void plant_show_next_page(struct zoo_layer *layer)
{
    layer->ops.set_vid_pn_source_address = show_next_page;
}

static void tell_no_sync(struct miniport_host *host, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType != DXGK_INTERRUPT_CRTC_VSYNC)
        zoo_tell(zoo_layer_of_host(host), data);
}

static void plant_tell_no_sync(struct zoo_layer *layer)
{
    layer->host_ops.notify_interrupt = tell_no_sync;
}

/* The address that the kernel gave last is reported at once, whatever is scanned out. */
static NTSTATUS report_at_once(struct miniport *self, HANDLE object,
                               const DXGKARG_SETVIDPNSOURCEADDRESS *arg)
{
    NTSTATUS status = miniport_forward_set_vid_pn_source_address(self, object, arg);
    DXGKARGCB_NOTIFY_INTERRUPT_DATA data = {.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC};
    struct zoo_layer *layer = zoo_layer_of(self);

    data.CrtcVsync.PhysicalAddress = arg->PrimaryAddress;
    if (NT_SUCCESS(status) && arg->ContextCount) {
        zoo_tell(layer, &data);
        layer->host.upper->ops->queue_dpc(layer->host.upper);
    }
    return status;
}

static void plant_report_at_once(struct zoo_layer *layer)
{
    layer->ops.set_vid_pn_source_address = report_at_once;
}

static NTSTATUS forget_size(struct miniport *self, HANDLE object,
                            DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA *arg)
{
    NTSTATUS status = miniport_forward_get_standard_allocation_driver_data(self, object, arg);

    if (arg->StandardAllocationType == D3DKMDT_STANDARDALLOCATION_SHAREDPRIMARYSURFACE &&
        arg->pAllocationPrivateDriverData)
        arg->AllocationPrivateDriverDataSize += 8;
    return status;
}

static void plant_forget_size(struct zoo_layer *layer)
{
    layer->ops.get_standard_allocation_driver_data = forget_size;
}

/* ---- Switching syncs ---- */

static NTSTATUS leave_syncs_off(struct miniport *self, HANDLE object,
                                const struct miniport_interrupt *arg)
{
    return STATUS_SUCCESS;
}

static NTSTATUS leave_syncs_off2(struct miniport *self, HANDLE object,
                                 const DXGKARG_CONTROLINTERRUPT2 *arg)
{
    return STATUS_SUCCESS;
}

static NTSTATUS leave_syncs_off3(struct miniport *self, HANDLE object,
                                 const DXGKARG_CONTROLINTERRUPT3 *arg)
{
    return STATUS_SUCCESS;
}

static void plant_leave_syncs_off(struct zoo_layer *layer)
{
    layer->ops.control_interrupt = leave_syncs_off;
    layer->ops.control_interrupt2 = leave_syncs_off2;
    layer->ops.control_interrupt3 = leave_syncs_off3;
}

/* Takes the bit of the type for the one that is meant. */
static NTSTATUS switch_any(struct miniport *self, HANDLE object,
                           const struct miniport_interrupt *arg)
{
    struct miniport_interrupt as = *arg;

    as.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC;
    return miniport_forward_control_interrupt(self, object, &as);
}

static void plant_switch_any(struct zoo_layer *layer)
{
    layer->ops.control_interrupt = switch_any;
}

/* Knows on and off, as ControlInterrupt does, and nothing between. */
static NTSTATUS refuse_phase2(struct miniport *self, HANDLE object,
                              const DXGKARG_CONTROLINTERRUPT2 *arg)
{
    if (arg->CrtcVsyncState == DXGK_VSYNC_DISABLE_KEEP_PHASE)
        return STATUS_INVALID_PARAMETER;
    return miniport_forward_control_interrupt2(self, object, arg);
}

static NTSTATUS refuse_phase3(struct miniport *self, HANDLE object,
                              const DXGKARG_CONTROLINTERRUPT3 *arg)
{
    if (arg->CrtcVsyncState == DXGK_VSYNC_DISABLE_KEEP_PHASE)
        return STATUS_INVALID_PARAMETER;
    return miniport_forward_control_interrupt3(self, object, arg);
}

static void plant_refuse_phase(struct zoo_layer *layer)
{
    layer->ops.control_interrupt2 = refuse_phase2;
    layer->ops.control_interrupt3 = refuse_phase3;
}

static bool has_no_third(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_ControlInterrupt3 && miniport_has(self->next, ddi);
}

static void plant_claim_sources(struct zoo_layer *layer)
{
    layer->ops.has = has_no_third;
}

/* clang-format off */
#define DISPLAY "display=yes shows=yes"

const struct zoo_defect zoo_display_defects[] = {
    PLANT("FLIP-next-page", ZOO_BOTH, "FENCE-021", plant_show_next_page,
          "scans out from the page behind PrimaryAddress", .focus = DISPLAY),
    PLANT("FLIP-untold", ZOO_BOTH, "FENCE-022", plant_tell_no_sync,
          "reports no CRTC_VSYNC", .focus = DISPLAY),
    PLANT("FLIP-told-at-once", ZOO_BOTH, "FENCE-022", plant_report_at_once,
          "reports a flip when it is asked for, and not when it is scanned out", .focus = DISPLAY),
    PLANT("FLIP-size-changes", ZOO_BOTH, "ALLOC-025", plant_forget_size,
          "tells another size of a standard allocation's description when it has written that",
          .focus = DISPLAY),
    PLANT("SYNC-left-off", ZOO_BOTH, "FENCE-022", plant_leave_syncs_off,
          "reports no CRTC_VSYNC when it has been asked to", .focus = DISPLAY),
    PLANT("SYNC-any-type", ZOO_PHYSICAL, "FENCE-024", plant_switch_any,
          "switches CRTC_VSYNC whatever type ControlInterrupt names",
          .focus = DISPLAY " wddm=1.1 faults=probes"),
    PLANT("SYNC-phase-refused", ZOO_GPUMMU, "FENCE-024", plant_refuse_phase,
          "refuses DXGK_VSYNC_DISABLE_KEEP_PHASE", .focus = DISPLAY),
    PLANT("SYNC-sources-claimed", ZOO_GPUMMU, "FENCE-025", plant_claim_sources,
          "reports IndependentVidPnVSyncControl without ControlInterrupt3",
          .focus = DISPLAY " wddm=3.2"),
    {0},
};
/* clang-format on */
