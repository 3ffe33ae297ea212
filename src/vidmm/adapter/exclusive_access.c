/*
 * Exclusive access: the device is silent while the IOMMU gives it another domain.
 *
 * A domain is not swapped at one stroke: accesses of the device meanwhile may be translated by the
 * old one, by the new one or not at all. So rendering and paging are drained as for a sleep
 * (power.c, whose states this uses), but everything stays where it is; the driver is told, and from
 * then on nothing goes to it until the window closes.
 *
 * Source     contract.md IOMMU-001, IOMMU-002; DXGKDDI_BEGINEXCLUSIVEACCESS.
 */
#include "vidmm/adapter/exclusive_access.h"

#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

#include "miniport/miniport.h"
#include "vidsch/vidsch.h"

NTSTATUS vidmm_begin_exclusive_access(struct vidmm *vidmm, vidmm_done done, void *context)
{
    if (vidmm->power.state != POWER_ON)
        return STATUS_INVALID_DEVICE_STATE;
    if (!NT_SUCCESS(vidmm->refusal))
        return vidmm->refusal;
    if (!miniport_has(vidmm->miniport, MINIPORT_DDI_BeginExclusiveAccess) ||
        !miniport_has(vidmm->miniport, MINIPORT_DDI_EndExclusiveAccess))
        return STATUS_NOT_SUPPORTED;
    vidmm->power.state = POWER_SUSPENDING;
    vidmm->power.done = done;
    vidmm->power.context = context;
    vidsch_set_gate(vidmm->vidsch, VIDSCH_PAGING_ONLY);
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;
}

void exclusive_access_open(struct vidmm *vidmm)
{
    DXGKARG_BEGINEXCLUSIVEACCESS args = {0};
    NTSTATUS status;

    vidsch_set_gate(vidmm->vidsch, VIDSCH_CLOSED);
    status = miniport_begin_exclusive_access(vidmm->miniport, NULL, &args);
    if (NT_SUCCESS(status)) {
        power_end(vidmm, POWER_EXCLUSIVE, STATUS_SUCCESS);
        return;
    }
    vidsch_set_gate(vidmm->vidsch, VIDSCH_OPEN);
    power_end(vidmm, POWER_ON, status);
}

NTSTATUS vidmm_end_exclusive_access(struct vidmm *vidmm)
{
    DXGKARG_ENDEXCLUSIVEACCESS args = {0};
    NTSTATUS status;

    if (vidmm->power.state != POWER_EXCLUSIVE)
        return STATUS_INVALID_DEVICE_STATE;
    vidmm->callback_depth++;
    status = miniport_end_exclusive_access(vidmm->miniport, NULL, &args);
    vidmm->power.state = POWER_ON;
    vidsch_set_gate(vidmm->vidsch, VIDSCH_OPEN);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    return status;
}
