/*
 * Stacks of devices: which device lies above which.
 *
 * Place      nt, private. Below devices, which send requests down a stack.
 */
#ifndef DRYDOCK_NT_DEVICE_STACK_H
#define DRYDOCK_NT_DEVICE_STACK_H

#include "nt/nt.h"

#include <wdm/device.h>

/* The device that gets the requests to this one first. */
PDEVICE_OBJECT nt_device_stack_top(PDEVICE_OBJECT device);

/* The device is deleted: a misuse of IoDeleteDevice while it lies above or below another. */
void nt_device_stack_forget(struct nt *nt, PDEVICE_OBJECT device);

#endif
