/*
 * Device and driver objects, and what creates and finds them.
 *
 * Place   include/wdk/wdm.
 * Source  Public documentation of DEVICE_OBJECT and of the functions; opaque members have the size that they
 *         take on x64.
 */
#ifndef WDM_DEVICE_H
#define WDM_DEVICE_H

#include "../devioctl.h"
#include "irp.h"

#define FILE_DEVICE_SECURE_OPEN 0x00000100u

#define DO_BUFFERED_IO         0x00000004u
#define DO_DIRECT_IO           0x00000010u
#define DO_DEVICE_INITIALIZING 0x00000080u

struct DECLSPEC_ALIGN(16) _DEVICE_OBJECT {
    CSHORT Type;
    USHORT Size;
    LONG ReferenceCount;
    struct _DRIVER_OBJECT *DriverObject;
    struct _DEVICE_OBJECT *NextDevice;
    struct _DEVICE_OBJECT *AttachedDevice;
    struct _IRP *CurrentIrp;
    PVOID Timer;
    ULONG Flags;
    ULONG Characteristics;
    PVOID Vpb;
    PVOID DeviceExtension;
    DEVICE_TYPE DeviceType;
    CCHAR StackSize;
    ULONG_PTR Queue[9];
    ULONG AlignmentRequirement;
    ULONG_PTR DeviceQueue[5];
    KDPC Dpc;
    ULONG ActiveThreadCount;
    PVOID SecurityDescriptor;
    KEVENT DeviceLock;
    USHORT SectorSize;
    USHORT Spare1;
    PVOID DeviceObjectExtension;
    PVOID Reserved;
};

#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 8
C_ASSERT(sizeof(struct _DEVICE_OBJECT) == 0x150);
#endif

EXTERN_C_START

NTSYSAPI NTSTATUS NTAPI ZwLoadDriver(PUNICODE_STRING DriverServiceName);
NTSYSAPI NTSTATUS NTAPI ZwUnloadDriver(PUNICODE_STRING DriverServiceName);
NTKERNELAPI NTSTATUS NTAPI IoGetDeviceObjectPointer(PUNICODE_STRING ObjectName,
                                                    ACCESS_MASK DesiredAccess,
                                                    PFILE_OBJECT *FileObject,
                                                    PDEVICE_OBJECT *DeviceObject);
NTKERNELAPI NTSTATUS NTAPI IoCreateDevice(PDRIVER_OBJECT DriverObject, ULONG DeviceExtensionSize,
                                          PUNICODE_STRING DeviceName, DEVICE_TYPE DeviceType,
                                          ULONG DeviceCharacteristics, BOOLEAN Exclusive,
                                          PDEVICE_OBJECT *DeviceObject);
NTKERNELAPI VOID NTAPI IoDeleteDevice(PDEVICE_OBJECT DeviceObject);
NTKERNELAPI NTSTATUS NTAPI IoCreateSymbolicLink(PUNICODE_STRING SymbolicLinkName,
                                                PUNICODE_STRING DeviceName);
NTKERNELAPI NTSTATUS NTAPI IoDeleteSymbolicLink(PUNICODE_STRING SymbolicLinkName);

EXTERN_C_END

#endif
