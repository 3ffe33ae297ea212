/*
 * Device and driver objects, and what creates and finds them.
 *
 * Place   include/wdk/wdm.
 * Source  Public documentation of DEVICE_OBJECT, DRIVER_OBJECT and of the functions; opaque members
 *         have the size that they take on x64.
 */
#ifndef WDM_DEVICE_H
#define WDM_DEVICE_H

#include "../devioctl.h"
#include "irp.h"

#define FILE_DEVICE_SECURE_OPEN 0x00000100u

#define DO_BUFFERED_IO           0x00000004u
#define DO_EXCLUSIVE             0x00000008u
#define DO_DEVICE_HAS_NAME       0x00000040u
#define DO_DIRECT_IO             0x00000010u
#define DO_DEVICE_INITIALIZING   0x00000080u
#define DO_BUS_ENUMERATED_DEVICE 0x00001000u
#define DO_POWER_PAGABLE         0x00002000u
#define DO_POWER_INRUSH          0x00004000u

typedef enum _KINTERRUPT_MODE {
    LevelSensitive = 0,
    Latched = 1,
} KINTERRUPT_MODE;

typedef enum _KINTERRUPT_POLARITY {
    InterruptPolarityUnknown = 0,
    InterruptActiveHigh = 1,
    InterruptRisingEdge = 1,
    InterruptActiveLow = 2,
    InterruptFallingEdge = 2,
} KINTERRUPT_POLARITY,
    *PKINTERRUPT_POLARITY;

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

/* Properties that drivers keep with a device. */

typedef ULONG LCID, *PLCID;
typedef ULONG DEVPROPTYPE, *PDEVPROPTYPE;
typedef ULONG DEVPROPID, *PDEVPROPID;
typedef GUID DEVPROPGUID, *PDEVPROPGUID;
typedef struct _DEVPROPKEY {
    DEVPROPGUID fmtid;
    DEVPROPID pid;
} DEVPROPKEY, *PDEVPROPKEY;

#define LOCALE_NEUTRAL                     0u
#define PLUGPLAY_PROPERTY_PERSISTENT       0x00000001u
#define DEVICE_INTERFACE_INCLUDE_NONACTIVE 0x00000001u

#if defined(__SIZEOF_POINTER__) && __SIZEOF_POINTER__ == 8
C_ASSERT(sizeof(struct _DEVICE_OBJECT) == 0x150);
#endif

/* Drivers. */

typedef NTSTATUS NTAPI DRIVER_ADD_DEVICE(struct _DRIVER_OBJECT *DriverObject,
                                         struct _DEVICE_OBJECT *PhysicalDeviceObject);
typedef DRIVER_ADD_DEVICE *PDRIVER_ADD_DEVICE;
typedef NTSTATUS NTAPI DRIVER_DISPATCH(struct _DEVICE_OBJECT *DeviceObject, struct _IRP *Irp);
typedef DRIVER_DISPATCH *PDRIVER_DISPATCH;
typedef VOID NTAPI DRIVER_STARTIO(struct _DEVICE_OBJECT *DeviceObject, struct _IRP *Irp);
typedef DRIVER_STARTIO *PDRIVER_STARTIO;

typedef struct _DRIVER_EXTENSION {
    struct _DRIVER_OBJECT *DriverObject;
    PDRIVER_ADD_DEVICE AddDevice;
    ULONG Count;
    UNICODE_STRING ServiceKeyName;
} DRIVER_EXTENSION, *PDRIVER_EXTENSION;

struct _DRIVER_OBJECT {
    CSHORT Type;
    CSHORT Size;
    PDEVICE_OBJECT DeviceObject; /* the last that it created; NextDevice leads to the others */
    ULONG Flags;
    PVOID DriverStart;
    ULONG DriverSize;
    PVOID DriverSection;
    PDRIVER_EXTENSION DriverExtension;
    UNICODE_STRING DriverName;
    PUNICODE_STRING HardwareDatabase;
    PVOID FastIoDispatch;
    PDRIVER_INITIALIZE DriverInit;
    PDRIVER_STARTIO DriverStartIo;
    PDRIVER_UNLOAD DriverUnload;
    PDRIVER_DISPATCH MajorFunction[IRP_MJ_MAXIMUM_FUNCTION + 1];
};

C_ASSERT(sizeof(struct _DRIVER_OBJECT) == 0x150);
C_ASSERT(offsetof(struct _DRIVER_OBJECT, DriverUnload) == 0x68);

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

NTKERNELAPI NTSTATUS NTAPI IoGetDevicePropertyData(PDEVICE_OBJECT Pdo,
                                                   const DEVPROPKEY *PropertyKey, LCID Lcid,
                                                   ULONG Flags, ULONG Size, PVOID Data,
                                                   PULONG RequiredSize, PDEVPROPTYPE Type);
NTKERNELAPI NTSTATUS NTAPI IoSetDevicePropertyData(PDEVICE_OBJECT Pdo,
                                                   const DEVPROPKEY *PropertyKey, LCID Lcid,
                                                   ULONG Flags, DEVPROPTYPE Type, ULONG Size,
                                                   PVOID Data);
/* The name is given up by RtlFreeUnicodeString, the list of names by ExFreePool. */
NTKERNELAPI NTSTATUS NTAPI IoRegisterDeviceInterface(PDEVICE_OBJECT PhysicalDeviceObject,
                                                     const GUID *InterfaceClassGuid,
                                                     PUNICODE_STRING ReferenceString,
                                                     PUNICODE_STRING SymbolicLinkName);
NTKERNELAPI NTSTATUS NTAPI IoSetDeviceInterfaceState(PUNICODE_STRING SymbolicLinkName,
                                                     BOOLEAN Enable);
NTKERNELAPI NTSTATUS NTAPI IoGetDeviceInterfaces(const GUID *InterfaceClassGuid,
                                                 PDEVICE_OBJECT PhysicalDeviceObject, ULONG Flags,
                                                 PZZWSTR *SymbolicLinkList);

NTSYSAPI ULONGLONG NTAPI RtlCmDecodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor,
                                                  PULONGLONG Start);
NTSYSAPI NTSTATUS NTAPI RtlCmEncodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor,
                                                 UCHAR Type, ULONGLONG Length, ULONGLONG Start);

EXTERN_C_END

#endif
