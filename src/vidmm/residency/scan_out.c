/*
 * Scan-out: pins, addresses, syncs.
 *
 * The first primary is a change of the mode: no context, at PASSIVE_LEVEL, and the source is made
 * visible. Each one behind it is a flip by registers: DxgkDdiPresent without a DMA buffer says so,
 * then DxgkDdiSetVidPnSourceAddress is called at device IRQL.
 *
 * Source     contract.md RES-018, PATCH-024, FENCE-021..FENCE-023.
 */
#include "vidmm/residency/scan_out.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_use.h"
#include "vidmm/memory/segment.h"
#include "vidmm/memory/sharing.h"
#include "vidmm/residency/request.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/list.h"
#include "miniport/miniport.h"

bool scan_out_keeps(const struct vidmm_allocation *allocation)
{
    const struct scan_out *scan = &allocation->vidmm->scan_out;

    return allocation == scan->shown || allocation == scan->former;
}

/* The end of a call of vidmm_show(). */
static void finish(struct vidmm *vidmm, NTSTATUS status)
{
    struct scan_out *scan = &vidmm->scan_out;
    vidmm_done done = scan->done;

    scan->is_waiting = false;
    scan->done = NULL;
    if (done)
        done(scan->context, status, 0, 0);
}

/* Where the hardware finds it, in one piece. False: it is reached by page lists, or not at all. */
static bool find_place(struct vidmm_allocation *allocation, unsigned *out_segment,
                       uint64_t *out_address)
{
    const struct segment *segment = allocation->place.segment;
    uint64_t offset;

    if (allocation->state != ALLOCATION_RESIDENT || !segment || segment->kind == SEGMENT_SYSTEM ||
        segment->kind == SEGMENT_AGP)
        return false;
    if (segment->kind == SEGMENT_APERTURE) {
        if (allocation->vidmm->caps.is_virtual)
            return false; /* it has slots while it is displayed alone, which nobody takes here */
        offset = allocation->place.offset;
    } else if (segment_run(allocation, 0, &offset) < allocation->page_count) {
        return false;
    }
    *out_segment = segment->id;
    *out_address = segment->caps->base + offset;
    return true;
}

static struct vidmm_context *flipping_context(const struct vidmm_allocation *allocation)
{
    const struct vidmm_device *device = allocation->device;

    return list_is_empty(&device->contexts)
               ? NULL
               : container_of(device->contexts.next, struct vidmm_context, link);
}

static NTSTATUS present_flip(struct vidmm_allocation *allocation, struct vidmm_context *context)
{
    struct vidmm *vidmm = allocation->vidmm;
    DXGK_ALLOCATIONLIST list[MINIPORT_PRESENT_ALLOCATIONS] = {{0}};
    DXGKARG_PRESENT present = {.pAllocationList = list, .NumSrcAllocations = 1};

    if (!miniport_has(vidmm->miniport, MINIPORT_DDI_Present))
        return STATUS_SUCCESS;
    list[DXGK_PRESENT_SOURCE_INDEX].hDeviceSpecificAllocation =
        allocation_handle_in(allocation, allocation->device);
    present.Flags.Flip = 1;
    present.FlipInterval = D3DDDI_FLIPINTERVAL_ONE;
    return miniport_present(vidmm->miniport, context->driver_context, &present);
}

static NTSTATUS make_visible(struct vidmm *vidmm, bool is_visible)
{
    const DXGKARG_SETVIDPNSOURCEVISIBILITY args = {.Visible = is_visible};
    NTSTATUS status = miniport_set_vid_pn_source_visibility(vidmm->miniport, NULL, &args);

    if (status != STATUS_SUCCESS)
        vidmm_driver_error(vidmm, "FENCE-021",
                           "DxgkDdiSetVidPnSourceVisibility(%u) returned 0x%08x", is_visible,
                           (unsigned)status);
    return status;
}

/*
 * The newest of the three functions that the driver has is called, always the same one (FENCE-023).
 * A driver that cannot switch syncs reports them always.
 */
static void control_syncs(struct vidmm *vidmm, DXGK_CRTC_VSYNC_STATE state)
{
    const struct miniport_interrupt first = {DXGK_INTERRUPT_CRTC_VSYNC, state == DXGK_VSYNC_ENABLE};
    const DXGKARG_CONTROLINTERRUPT2 second = {.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC,
                                              {.CrtcVsyncState = state}};
    const DXGKARG_CONTROLINTERRUPT3 third = {
        .InterruptType = DXGK_INTERRUPT_CRTC_VSYNC,
        {.CrtcVsyncState = state},
        .VidPnSourceId = vidmm->caps.controls_sources && state != DXGK_VSYNC_DISABLE_NO_PHASE
                             ? 0
                             : D3DDDI_ID_ALL};

    vidmm->scan_out.has_syncs = state == DXGK_VSYNC_ENABLE;
    if (miniport_has(vidmm->miniport, MINIPORT_DDI_ControlInterrupt3))
        miniport_control_interrupt3(vidmm->miniport, NULL, &third);
    else if (miniport_has(vidmm->miniport, MINIPORT_DDI_ControlInterrupt2))
        miniport_control_interrupt2(vidmm->miniport, NULL, &second);
    else if (miniport_has(vidmm->miniport, MINIPORT_DDI_ControlInterrupt))
        miniport_control_interrupt(vidmm->miniport, NULL, &first);
}

/* The driver is given the address. On failure nothing has changed. */
static NTSTATUS point(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;
    struct scan_out *scan = &vidmm->scan_out;
    struct vidmm_context *context = scan->shown ? flipping_context(allocation) : NULL;
    DXGKARG_SETVIDPNSOURCEADDRESS args = {.hAllocation = allocation->driver_handle};
    uint64_t address;
    NTSTATUS status;

    if (allocation->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if (!find_place(allocation, &args.PrimarySegment, &address))
        return STATUS_NOT_SUPPORTED;
    args.PrimaryAddress.QuadPart = (LONGLONG)address;
    if (context) {
        status = present_flip(allocation, context);
        if (!NT_SUCCESS(status))
            return status;
        args.ContextCount = 1;
        args.Context[0] = context->driver_context;
        args.Flags.FlipOnNextVSync = 1;
    } else {
        args.Flags.ModeChange = 1;
    }
    if (!scan->has_syncs)
        control_syncs(vidmm, DXGK_VSYNC_ENABLE);
    scan->has_synced = false;
    status = miniport_set_vid_pn_source_address(vidmm->miniport, NULL, &args);
    if (status != STATUS_SUCCESS) {
        vidmm_driver_error(vidmm, "FENCE-021", "DxgkDdiSetVidPnSourceAddress returned 0x%08x",
                           (unsigned)status);
        return status;
    }
    if (!scan->shown) {
        status = make_visible(vidmm, true);
        if (status != STATUS_SUCCESS)
            return status;
    }
    scan->former = scan->shown;
    scan->shown = allocation;
    scan->address = address;
    scan->is_waiting = true;
    return STATUS_SUCCESS;
}

/* It is in, and held. */
static void reached(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct vidmm *vidmm = context;
    struct vidmm_allocation *allocation = vidmm->scan_out.wanted;

    vidmm->scan_out.wanted = NULL;
    if (NT_SUCCESS(status)) {
        status = vidmm->scan_out.is_called_off ? STATUS_CANCELLED : point(allocation);
        if (!NT_SUCCESS(status))
            allocation_unhold(allocation);
    }
    if (!NT_SUCCESS(status))
        finish(vidmm, status);
    else
        scan_out_rescan(vidmm);
}

NTSTATUS vidmm_show(struct vidmm_allocation *named, vidmm_done done, void *context)
{
    struct vidmm_allocation *allocation = allocation_current(named);
    struct vidmm *vidmm = allocation->vidmm;
    struct scan_out *scan = &vidmm->scan_out;
    struct request *request;
    NTSTATUS status;

    if (!vidmm->caps.flips_by_registers)
        return STATUS_NOT_SUPPORTED;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (!allocation->is_primary)
        return STATUS_INVALID_PARAMETER;
    if (allocation->is_destroyed)
        return STATUS_INVALID_HANDLE;
    if (allocation->is_offered)
        return STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE;
    if (scan->wanted || scan->is_waiting || vidmm->power.state != POWER_ON)
        return STATUS_DEVICE_BUSY;
    status = request_create(allocation->device, 1, reached, vidmm, &request);
    if (!NT_SUCCESS(status))
        return status;
    request->allocations[0] = scan->wanted = allocation;
    scan->is_called_off = false;
    scan->done = done;
    scan->context = context;
    request_queue(request);
    vidmm_pump(vidmm);
    return STATUS_PENDING;
}

NTSTATUS vidmm_hide(struct vidmm *vidmm)
{
    if (!vidmm->caps.flips_by_registers)
        return STATUS_NOT_SUPPORTED;
    if (vidmm->power.state != POWER_ON)
        return STATUS_DEVICE_BUSY;
    vidmm->scan_out.is_called_off = true;
    scan_out_hide(vidmm);
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;
}

/* ---- Syncs ----------------------------------------------------------------------------------- */

void scan_out_interrupted(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (data->InterruptType != DXGK_INTERRUPT_CRTC_VSYNC)
        return;
    vidmm->scan_out.synced = (uint64_t)data->CrtcVsync.PhysicalAddress.QuadPart;
    vidmm->scan_out.has_synced = true;
}

void scan_out_rescan(struct vidmm *vidmm)
{
    struct scan_out *scan = &vidmm->scan_out;
    struct vidmm_allocation *former = scan->former;

    if (!scan->is_waiting || !scan->has_synced || scan->synced != scan->address)
        return;
    scan->former = NULL;
    if (former)
        allocation_unhold(former);
    finish(vidmm, STATUS_SUCCESS);
}

bool scan_out_run(struct vidmm *vidmm)
{
    const struct scan_out *scan = &vidmm->scan_out;

    if (!scan->has_syncs || scan->is_waiting || scan->wanted)
        return false;
    control_syncs(vidmm, DXGK_VSYNC_DISABLE_KEEP_PHASE);
    return true;
}

/* ---- The end --------------------------------------------------------------------------------- */

void scan_out_forget(struct vidmm *vidmm, NTSTATUS status)
{
    struct scan_out *scan = &vidmm->scan_out;
    struct vidmm_allocation *shown = scan->shown, *former = scan->former;

    scan->shown = scan->former = NULL;
    scan->has_syncs = false; /* whatever the driver does behind a reset, it is asked again */
    if (shown)
        allocation_unhold(shown);
    if (former)
        allocation_unhold(former);
    if (scan->is_waiting)
        finish(vidmm, status);
}

void scan_out_hide(struct vidmm *vidmm)
{
    if (!vidmm->scan_out.shown)
        return;
    if (!vidmm->is_removed) {
        make_visible(vidmm, false);
        control_syncs(vidmm, DXGK_VSYNC_DISABLE_NO_PHASE);
    }
    scan_out_forget(vidmm, STATUS_CANCELLED);
}
