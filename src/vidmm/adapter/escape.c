/*
 * Escapes: what a client's user-mode driver asks its kernel half, past the manager; what is asked
 * for a debug report; what a node is, and its clock.
 *
 * Source     contract.md ESC-001, ESC-002, TDR-017; DXGKDDI_ESCAPE, DXGKDDI_COLLECTDBGINFO,
 *            DXGKDDI_COLLECTDBGINFO2, DXGKDDI_GETNODEMETADATA,
 *            DXGKDDI_CALIBRATEGPUCLOCK.
 */
#include "vidmm/adapter/debug_info.h"
#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include <bugcodes.h>
#include "vidmm/work/client.h"

#include "miniport/miniport.h"

NTSTATUS vidmm_escape(struct vidmm *vidmm, struct vidmm_escape *escape)
{
    const struct vidmm_device *device = escape->device;
    DXGKARG_ESCAPE args = {.pPrivateDriverData = escape->data,
                           .PrivateDriverDataSize = escape->bytes};
    NTSTATUS status;

    escape->was_asked = false;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (vidmm->power.state != POWER_ON)
        return STATUS_INVALID_DEVICE_STATE;
    if (!miniport_has(vidmm->miniport, MINIPORT_DDI_Escape))
        return STATUS_NOT_SUPPORTED;
    if (escape->needs_hardware && !vidmm_is_idle(vidmm))
        return STATUS_DEVICE_BUSY;
    if (device) {
        args.hDevice = device->driver_device;
        args.hKmdProcessHandle = device->process->space.driver_process;
    }
    if (escape->context)
        args.hContext = escape->context->driver_context;
    args.Flags.HardwareAccess = escape->needs_hardware;
    escape->was_asked = true;
    vidmm->callback_depth++;
    status = miniport_escape(vidmm->miniport, NULL, &args);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    return status;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Whether there is such a node, and a driver that can be asked of it. */
static NTSTATUS may_ask_of(const struct vidmm *vidmm, unsigned node, enum miniport_ddi ddi)
{
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (node >= vidmm->caps.node_count)
        return STATUS_INVALID_PARAMETER;
    if (vidmm->power.state == POWER_EXCLUSIVE) /* IOMMU-001 */
        return STATUS_INVALID_DEVICE_STATE;
    return vidmm->caps.interface_version < DXGKDDI_INTERFACE_VERSION_WDDM1_3 ||
                   !miniport_has(vidmm->miniport, ddi)
               ? STATUS_NOT_SUPPORTED
               : STATUS_SUCCESS;
}

NTSTATUS vidmm_node_metadata(struct vidmm *vidmm, unsigned node,
                             DXGKARG_GETNODEMETADATA *out_metadata)
{
    struct miniport_node asked = {.NodeOrdinalAndAdapterIndex = node};
    NTSTATUS status = may_ask_of(vidmm, node, MINIPORT_DDI_GetNodeMetadata);

    memset(out_metadata, 0, sizeof *out_metadata);
    if (!NT_SUCCESS(status))
        return status;
    vidmm->callback_depth++;
    status = miniport_get_node_metadata(vidmm->miniport, NULL, &asked);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    if (NT_SUCCESS(status))
        *out_metadata = asked.metadata;
    return status;
}

NTSTATUS vidmm_calibrate_clock(struct vidmm *vidmm, unsigned node,
                               DXGKARG_CALIBRATEGPUCLOCK *out_calibration)
{
    struct miniport_clock clock = {.NodeOrdinal = node};
    NTSTATUS status = may_ask_of(vidmm, node, MINIPORT_DDI_CalibrateGpuClock);

    memset(out_calibration, 0, sizeof *out_calibration);
    if (!NT_SUCCESS(status))
        return status;
    if (vidmm->power.state != POWER_ON) /* the clock may stand still */
        return STATUS_INVALID_DEVICE_STATE;
    vidmm->callback_depth++;
    status = miniport_calibrate_gpu_clock(vidmm->miniport, NULL, &clock);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    if (NT_SUCCESS(status))
        *out_calibration = clock.calibration;
    return status;
}

/* ---- Debug reports --------------------------------------------------------------------------- */

NTSTATUS vidmm_collect_debug_info(struct vidmm *vidmm, uint32_t reason, void *buffer,
                                  uint32_t bytes)
{
    const bool is_engine = reason == VIDEO_ENGINE_TIMEOUT_DETECTED;
    const struct debug_cause cause = {
        .reason = reason, .type = is_engine ? DXGK_TDR_TYPE_ENGINE_TIMEOUT : DXGK_TDR_TYPE_FORCED};
    NTSTATUS status;

    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (vidmm->power.state != POWER_ON)
        return STATUS_INVALID_DEVICE_STATE;
    if (is_engine && vidmm->caps.interface_version < DXGKDDI_INTERFACE_VERSION_WIN8)
        return STATUS_NOT_SUPPORTED; /* TDR-017 */
    vidmm->callback_depth++;
    status = debug_info_collect(vidmm, &cause, buffer, bytes);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    return status;
}
