/*
 * Stacks of device objects: a driver that lays its device above another's.
 *
 * Place   include/wdk/wdm.
 * Source  Public documentation of the functions.
 */
#ifndef WDM_DEVICE_STACK_H
#define WDM_DEVICE_STACK_H

#include "device.h"

EXTERN_C_START

/* Above the top of the target's stack, which is returned. */
NTKERNELAPI PDEVICE_OBJECT NTAPI IoAttachDeviceToDeviceStack(PDEVICE_OBJECT SourceDevice,
                                                             PDEVICE_OBJECT TargetDevice);
NTKERNELAPI NTSTATUS NTAPI IoAttachDeviceToDeviceStackSafe(PDEVICE_OBJECT SourceDevice,
                                                           PDEVICE_OBJECT TargetDevice,
                                                           PDEVICE_OBJECT *AttachedToDeviceObject);
NTKERNELAPI NTSTATUS NTAPI IoAttachDevice(PDEVICE_OBJECT SourceDevice, PUNICODE_STRING TargetDevice,
                                          PDEVICE_OBJECT *AttachedDevice);
/* TargetDevice: the lower device. */
NTKERNELAPI VOID NTAPI IoDetachDevice(PDEVICE_OBJECT TargetDevice);
NTKERNELAPI PDEVICE_OBJECT NTAPI IoGetAttachedDevice(PDEVICE_OBJECT DeviceObject);

EXTERN_C_END

#endif
