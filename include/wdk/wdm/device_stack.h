/*
 * Stacks of device objects: a driver that lays its device above another's.
 *
 * Place  include/wdk/wdm. The bench has none of these services: an image imports them, and the call
 *        is a finding that names the service.
 */
#ifndef WDM_DEVICE_STACK_H
#define WDM_DEVICE_STACK_H

#include "device.h"

EXTERN_C_START

NTKERNELAPI PDEVICE_OBJECT NTAPI IoAttachDeviceToDeviceStack(PDEVICE_OBJECT SourceDevice,
                                                             PDEVICE_OBJECT TargetDevice);
NTKERNELAPI NTSTATUS NTAPI IoAttachDeviceToDeviceStackSafe(PDEVICE_OBJECT SourceDevice,
                                                           PDEVICE_OBJECT TargetDevice,
                                                           PDEVICE_OBJECT *AttachedToDeviceObject);
NTKERNELAPI VOID NTAPI IoDetachDevice(PDEVICE_OBJECT TargetDevice);

EXTERN_C_END

#endif
