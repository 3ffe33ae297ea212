/*
 * Stacks of devices: which device lies above which.
 *
 * Place      nt, private. For all that ask for the top of a stack.
 */
#ifndef DRYDOCK_NT_DEVICE_STACK_H
#define DRYDOCK_NT_DEVICE_STACK_H

#include <wdm/device.h>

/* The device that gets the requests to this one first. */
static inline PDEVICE_OBJECT nt_device_stack_top(PDEVICE_OBJECT device)
{
    while (device->AttachedDevice)
        device = device->AttachedDevice;
    return device;
}

#endif
