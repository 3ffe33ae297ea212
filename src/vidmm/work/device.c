/*
 * Devices: their end, and their state of error.
 *
 * Source     contract.md TDR-009, SUB-011.
 */
#include "vidmm/work/device.h"

#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"
#include "vidmm/work/submission.h"

#include "base/assert.h"
#include "base/list.h"
#include "base/services.h"
#include "vidsch/vidsch.h"

void device_free_if_done(struct vidmm_device *device)
{
    struct vidmm *vidmm = device->vidmm;

    if (!device->is_destroyed || !list_is_empty(&device->allocations))
        return;
    if (notes_are_heard(vidmm))
        note_device(device, false);
    list_remove(&device->link);
    base_free(vidmm->services, device, sizeof *device);
}

NTSTATUS device_refusal(const struct vidmm_device *device)
{
    if (!NT_SUCCESS(device->vidmm->refusal))
        return device->vidmm->refusal;
    return device->is_in_error ? STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE : STATUS_SUCCESS;
}

/* Packets that are queued fail in their turn; one that waits for residency fails when that ends. */
static void cancel_submissions(struct vidmm_device *device)
{
    struct submission *submission;

    list_for_each (submission, &device->vidmm->submissions, struct submission, link) {
        if (submission->context->device == device && submission->packet.context)
            vidsch_cancel(&submission->packet, device_refusal(device));
    }
}

void device_fail(struct vidmm_device *device, const char *reason)
{
    const struct vidmm_events *events = &device->vidmm->config.events;

    if (device->is_in_error)
        return;
    device->is_in_error = true;
    cancel_submissions(device);
    if (events->device_error)
        events->device_error(events->context, device, reason);
}

bool vidmm_device_is_in_error(const struct vidmm_device *device)
{
    return device->is_in_error;
}

void vidmm_device_clear_error(struct vidmm_device *device)
{
    ASSERT(!device->submission_count);
    device->is_in_error = !NT_SUCCESS(device->vidmm->refusal);
}
