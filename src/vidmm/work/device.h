/*
 * Devices: their end, and their state of error.
 *
 * Place      vidmm. Uses the scheduler only. Recovery, submissions and requests put devices in
 *            error; whoever is asked for something by a device looks for that first.
 * Source     contract.md TDR-009, SUB-011.
 */
#ifndef VIDMM_DEVICE_H
#define VIDMM_DEVICE_H

#include <ntddk.h>

struct vidmm_device;

/* Submissions that the device has queued will fail, new ones are refused. */
void device_fail(struct vidmm_device *device, const char *reason);
/* Why nothing may be submitted to the device; STATUS_SUCCESS: it may. */
NTSTATUS device_refusal(const struct vidmm_device *device);
/* The end of vidmm_device_destroy(), when no allocation of the device is left. */
void device_free_if_done(struct vidmm_device *device);

#endif
