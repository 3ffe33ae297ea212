/*
 * The end of an adapter that still has work: stopped, or gone.
 *
 *                           stopped                          gone
 *     devices               in error for good                in error for good
 *     with the GPU          ends by itself                   ends at once
 *     queued submissions    end in their turn                end at once
 *     requests that wait    end at once                      end at once
 *     waits for fences      end at once                      end at once
 *     paging operations     built and run as always          never built again
 *
 * All that ends so ends with STATUS_DEVICE_REMOVED, and new work is refused from now on
 * with it. Destroying goes on as always: its jobs run, and where the adapter has gone the paging
 * queue asks them for their operations, so that they come to their ends, and drops these.
 *
 * Source     DXGKDDI_NOTIFY_SURPRISE_REMOVAL, DXGK_SURPRISE_REMOVAL_TYPE; contract.md TDR-012.
 */
#include "vidmm/adapter/removal.h"

#include "vidmm/adapter/power.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/paging/native_fence.h"
#include "vidmm/residency/scan_out.h"
#include "vidmm/paging/paging_queue.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/device.h"

#include "base/assert.h"
#include "base/list.h"
#include "miniport/miniport.h"
#include "vidsch/vidsch.h"

static void fail_devices(struct vidmm *vidmm, const char *reason)
{
    struct vidmm_process *process;
    struct vidmm_device *device;

    list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
        list_for_each (device, &process->devices, struct vidmm_device, link)
            device_fail(device, reason);
    }
}

NTSTATUS vidmm_end_work(struct vidmm *vidmm)
{
    if (!vidmm->is_started || !NT_SUCCESS(vidmm->refusal) || vidmm->power.state != POWER_ON)
        return STATUS_INVALID_DEVICE_STATE;
    vidmm->callback_depth++;
    vidmm->refusal = STATUS_DEVICE_REMOVED;
    fail_devices(vidmm, "the adapter is being stopped");
    native_fences_end_waits(vidmm, STATUS_DEVICE_REMOVED);
    scan_out_hide(vidmm);
    vidmm->callback_depth--;
    vidmm_pump(vidmm);
    return STATUS_SUCCESS;
}

void removal_give_up(struct vidmm *vidmm, const char *reason)
{
    vidmm->callback_depth++;
    vidmm->refusal = STATUS_DEVICE_REMOVED;
    vidmm->is_removed = true;
    components_abandon(vidmm);
    vidsch_set_gate(vidmm->vidsch, VIDSCH_CLOSED);
    fail_devices(vidmm, reason);
    vidsch_abort(vidmm->vidsch, STATUS_DEVICE_REMOVED);
    paging_queue_abandon(vidmm);
    power_end(vidmm, POWER_ON, STATUS_DEVICE_REMOVED); /* what has gone is not asleep */
    native_fences_end_waits(vidmm, STATUS_DEVICE_REMOVED);
    scan_out_forget(vidmm, STATUS_DEVICE_REMOVED);
    vidmm->callback_depth--;
}

/* The driver hears of a removal if it said that it can. */
static NTSTATUS tell_driver(struct vidmm *vidmm, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    bool is_supported = type == DxgkRemovalHibernation ? vidmm->caps.hears_of_removal_asleep
                                                       : vidmm->caps.hears_of_removal;

    if (!is_supported || !miniport_has(vidmm->miniport, MINIPORT_DDI_NotifySurpriseRemoval))
        return STATUS_NOT_SUPPORTED;
    return miniport_notify_surprise_removal(vidmm->miniport, type);
}

NTSTATUS vidmm_remove(struct vidmm *vidmm)
{
    NTSTATUS status;

    if (!vidmm->is_started || vidmm->is_removed)
        return STATUS_INVALID_DEVICE_STATE;
    ASSERT(!vidmm->queue.is_building);
    status = tell_driver(vidmm, vidmm->power.state == POWER_OFF ? DxgkRemovalHibernation
                                                                : DxgkRemovalPnPNotify);
    removal_give_up(vidmm, "the adapter has gone");
    vidmm_pump(vidmm);
    return status;
}
