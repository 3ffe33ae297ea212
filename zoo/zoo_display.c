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
    {0},
};
/* clang-format on */
