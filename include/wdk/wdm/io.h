/*
 * Driver entry, resources of a device, interfaces, objects and the registry.
 *
 * Place  include/wdk/wdm.
 */
#ifndef WDM_IO_H
#define WDM_IO_H

#include "base.h"

typedef struct _OBJECT_TYPE OBJECT_TYPE, *POBJECT_TYPE;
typedef struct _PCI_DEVICE_PRESENCE_PARAMETERS *PPCI_DEVICE_PRESENCE_PARAMETERS;

typedef NTSTATUS NTAPI DRIVER_INITIALIZE(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);
typedef DRIVER_INITIALIZE *PDRIVER_INITIALIZE;
typedef VOID NTAPI DRIVER_UNLOAD(PDRIVER_OBJECT DriverObject);
typedef DRIVER_UNLOAD *PDRIVER_UNLOAD;

/* The common head of every interface that a driver asks for by GUID. */
typedef VOID NTAPI INTERFACE_REFERENCE(PVOID Context);
typedef INTERFACE_REFERENCE *PINTERFACE_REFERENCE;
typedef VOID NTAPI INTERFACE_DEREFERENCE(PVOID Context);
typedef INTERFACE_DEREFERENCE *PINTERFACE_DEREFERENCE;
typedef struct _INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
} INTERFACE, *PINTERFACE;

typedef enum _DEVICE_POWER_STATE {
    PowerDeviceUnspecified = 0,
    PowerDeviceD0 = 1,
    PowerDeviceD1 = 2,
    PowerDeviceD2 = 3,
    PowerDeviceD3 = 4,
    PowerDeviceMaximum = 5,
} DEVICE_POWER_STATE;

typedef enum _POWER_ACTION {
    PowerActionNone = 0,
    PowerActionReserved = 1,
    PowerActionSleep = 2,
    PowerActionHibernate = 3,
    PowerActionShutdown = 4,
    PowerActionShutdownReset = 5,
    PowerActionShutdownOff = 6,
    PowerActionWarmEject = 7,
    PowerActionDisplayOff = 8,
} POWER_ACTION;

/*
 * The resources that a device was given, as lists in one block of memory: List[0] is followed by
 * Count - 1 more, each as long as its PartialDescriptors make it.
 */

/* ShareDisposition. */
typedef enum _CM_SHARE_DISPOSITION {
    CmResourceShareUndetermined = 0,
    CmResourceShareDeviceExclusive = 1,
    CmResourceShareDriverExclusive = 2,
    CmResourceShareShared = 3,
} CM_SHARE_DISPOSITION;

#define CmResourceTypeNull           0
#define CmResourceTypePort           1
#define CmResourceTypeInterrupt      2
#define CmResourceTypeMemory         3
#define CmResourceTypeDma            4
#define CmResourceTypeDeviceSpecific 5
#define CmResourceTypeBusNumber      6
#define CmResourceTypeMemoryLarge    7
#define CmResourceTypeMaximum        8
#define CmResourceTypeConnection     132

/* A range of 4 GiB or more is of the large type; its flag says what its length counts. */
#define CM_RESOURCE_MEMORY_READ_WRITE 0x0000
#define CM_RESOURCE_MEMORY_LARGE_40   0x0200 /* Length40 in units of 256 bytes */
#define CM_RESOURCE_MEMORY_LARGE_48   0x0400 /* Length48 in units of 64 KB */
#define CM_RESOURCE_MEMORY_LARGE_64   0x0800 /* Length64 in units of 4 GB */

#define CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE 0x0
#define CM_RESOURCE_INTERRUPT_LATCHED         0x1
#define CM_RESOURCE_INTERRUPT_MESSAGE         0x2

/* Serial types have the numbers of the serial bus descriptors of ACPI; classes are unverified. */
#define CM_RESOURCE_CONNECTION_CLASS_GPIO       0x01
#define CM_RESOURCE_CONNECTION_CLASS_SERIAL     0x02
#define CM_RESOURCE_CONNECTION_TYPE_GPIO_IO     0x02
#define CM_RESOURCE_CONNECTION_TYPE_SERIAL_I2C  0x01
#define CM_RESOURCE_CONNECTION_TYPE_SERIAL_SPI  0x02
#define CM_RESOURCE_CONNECTION_TYPE_SERIAL_UART 0x03

#pragma pack(push, 4)
typedef struct _CM_PARTIAL_RESOURCE_DESCRIPTOR {
    UCHAR Type;
    UCHAR ShareDisposition;
    USHORT Flags;
    union {
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length;
        } Generic, Port, Memory;
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length40;
        } Memory40;
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length48;
        } Memory48;
        struct {
            PHYSICAL_ADDRESS Start;
            ULONG Length64;
        } Memory64;
        struct {
#ifdef NT_PROCESSOR_GROUPS
            USHORT Level;
            USHORT Group;
#else
            ULONG Level;
#endif
            ULONG Vector;
            KAFFINITY Affinity;
        } Interrupt;
        struct {
            union {
                struct {
#ifdef NT_PROCESSOR_GROUPS
                    USHORT Group;
#else
                    USHORT Reserved;
#endif
                    USHORT MessageCount;
                    ULONG Vector;
                    KAFFINITY Affinity;
                } Raw;
                struct {
#ifdef NT_PROCESSOR_GROUPS
                    USHORT Level;
                    USHORT Group;
#else
                    ULONG Level;
#endif
                    ULONG Vector;
                    KAFFINITY Affinity;
                } Translated;
            };
        } MessageInterrupt;
        struct {
            ULONG Data[3];
        } DevicePrivate;
        struct {
            ULONG DataSize;
            ULONG Reserved1;
            ULONG Reserved2;
        } DeviceSpecificData;
        struct {
            UCHAR Class;
            UCHAR Type;
            UCHAR Reserved1;
            UCHAR Reserved2;
            ULONG IdLowPart;
            ULONG IdHighPart;
        } Connection;
    } u;
} CM_PARTIAL_RESOURCE_DESCRIPTOR, *PCM_PARTIAL_RESOURCE_DESCRIPTOR;
#pragma pack(pop)

typedef struct _CM_PARTIAL_RESOURCE_LIST {
    USHORT Version;
    USHORT Revision;
    ULONG Count;
    CM_PARTIAL_RESOURCE_DESCRIPTOR PartialDescriptors[1];
} CM_PARTIAL_RESOURCE_LIST, *PCM_PARTIAL_RESOURCE_LIST;

typedef enum _INTERFACE_TYPE {
    InterfaceTypeUndefined = -1,
    Internal = 0,
    Isa = 1,
    Eisa = 2,
    MicroChannel = 3,
    TurboChannel = 4,
    PCIBus = 5,
    VMEBus = 6,
    NuBus = 7,
    PCMCIABus = 8,
    CBus = 9,
    MPIBus = 10,
    MPSABus = 11,
    ProcessorInternal = 12,
    InternalPowerBus = 13,
    PNPISABus = 14,
    PNPBus = 15,
    Vmcs = 16,
    ACPIBus = 17,
    MaximumInterfaceType = 18,
} INTERFACE_TYPE,
    *PINTERFACE_TYPE;

typedef struct _CM_FULL_RESOURCE_DESCRIPTOR {
    INTERFACE_TYPE InterfaceType;
    ULONG BusNumber;
    CM_PARTIAL_RESOURCE_LIST PartialResourceList;
} CM_FULL_RESOURCE_DESCRIPTOR, *PCM_FULL_RESOURCE_DESCRIPTOR;

typedef struct _CM_RESOURCE_LIST {
    ULONG Count;
    CM_FULL_RESOURCE_DESCRIPTOR List[1];
} CM_RESOURCE_LIST, *PCM_RESOURCE_LIST;

/* Objects and the registry. */

#define OBJ_CASE_INSENSITIVE  0x00000040u
#define OBJ_PERMANENT         0x00000010u
#define OBJ_KERNEL_HANDLE     0x00000200u
#define KEY_READ              0x00020019u
#define FILE_READ_DATA        0x00000001u
#define FILE_WRITE_DATA       0x00000002u
#define FILE_APPEND_DATA      0x00000004u
#define FILE_READ_EA          0x00000008u
#define FILE_WRITE_EA         0x00000010u
#define FILE_EXECUTE          0x00000020u
#define FILE_READ_ATTRIBUTES  0x00000080u
#define FILE_WRITE_ATTRIBUTES 0x00000100u
#define DELETE                0x00010000u
#define READ_CONTROL          0x00020000u
#define MAXIMUM_ALLOWED       0x02000000u
#define GENERIC_ALL           0x10000000u
#define GENERIC_EXECUTE       0x20000000u
#define GENERIC_WRITE         0x40000000u
#define GENERIC_READ          0x80000000u

#define InitializeObjectAttributes(attributes, name, flags, root, security)                        \
    do {                                                                                           \
        (attributes)->Length = sizeof(OBJECT_ATTRIBUTES);                                          \
        (attributes)->RootDirectory = (root);                                                      \
        (attributes)->ObjectName = (name);                                                         \
        (attributes)->Attributes = (flags);                                                        \
        (attributes)->SecurityDescriptor = (security);                                             \
        (attributes)->SecurityQualityOfService = NULL;                                             \
    } while (0)

#define REG_NONE   0
#define REG_SZ     1
#define REG_BINARY 3
#define REG_DWORD  4
#define REG_QWORD  11

typedef enum _KEY_VALUE_INFORMATION_CLASS {
    KeyValueBasicInformation = 0,
    KeyValueFullInformation = 1,
    KeyValuePartialInformation = 2,
} KEY_VALUE_INFORMATION_CLASS;

typedef struct _KEY_VALUE_PARTIAL_INFORMATION {
    ULONG TitleIndex;
    ULONG Type;
    ULONG DataLength;
    UCHAR Data[1];
} KEY_VALUE_PARTIAL_INFORMATION, *PKEY_VALUE_PARTIAL_INFORMATION;

#define PLUGPLAY_REGKEY_DEVICE 1
#define PLUGPLAY_REGKEY_DRIVER 2

EXTERN_C_START

NTKERNELAPI NTSTATUS NTAPI ObReferenceObjectByHandle(HANDLE Handle, ACCESS_MASK DesiredAccess,
                                                     POBJECT_TYPE ObjectType,
                                                     KPROCESSOR_MODE AccessMode, PVOID *Object,
                                                     PVOID HandleInformation);
NTKERNELAPI NTSTATUS NTAPI ObReferenceObjectByPointer(PVOID Object, ACCESS_MASK DesiredAccess,
                                                      POBJECT_TYPE ObjectType,
                                                      KPROCESSOR_MODE AccessMode);
NTKERNELAPI LONG_PTR NTAPI ObfReferenceObject(PVOID Object);
NTKERNELAPI LONG_PTR NTAPI ObfDereferenceObject(PVOID Object);

NTSYSAPI NTSTATUS NTAPI ZwOpenKey(PHANDLE KeyHandle, ACCESS_MASK DesiredAccess,
                                  POBJECT_ATTRIBUTES ObjectAttributes);
NTSYSAPI NTSTATUS NTAPI ZwQueryValueKey(HANDLE KeyHandle, PUNICODE_STRING ValueName,
                                        KEY_VALUE_INFORMATION_CLASS KeyValueInformationClass,
                                        PVOID KeyValueInformation, ULONG Length,
                                        PULONG ResultLength);
NTSYSAPI NTSTATUS NTAPI ZwClose(HANDLE Handle);
NTKERNELAPI NTSTATUS NTAPI ObCloseHandle(HANDLE Handle, KPROCESSOR_MODE PreviousMode);
NTKERNELAPI NTSTATUS NTAPI IoOpenDeviceRegistryKey(PDEVICE_OBJECT DeviceObject,
                                                   ULONG DevInstKeyType, ACCESS_MASK DesiredAccess,
                                                   PHANDLE DeviceRegKey);

extern POBJECT_TYPE *PsThreadType;
extern POBJECT_TYPE *ExEventObjectType;

EXTERN_C_END

#define ObReferenceObject(object)   ObfReferenceObject(object)
#define ObDereferenceObject(object) ObfDereferenceObject(object)

#endif
