/*
 * Requests to other drivers: packets, their stack locations, files and what is asked of devices.
 *
 * Place   include/wdk/wdm.
 * Model   A display miniport sends requests, to a bus, to a device that helps it or to one of its
 *         own. The system sends it none: they are the graphics kernel's.
 * Source  Public documentation of IRP, IO_STACK_LOCATION and of the functions; offsets as debuggers
 *         show them for x64.
 */
#ifndef WDM_IRP_H
#define WDM_IRP_H

#include "sync.h"
#include "system.h"

#define IRP_MJ_CREATE                   0x00
#define IRP_MJ_CREATE_NAMED_PIPE        0x01
#define IRP_MJ_QUERY_INFORMATION        0x05
#define IRP_MJ_SET_INFORMATION          0x06
#define IRP_MJ_QUERY_EA                 0x07
#define IRP_MJ_SET_EA                   0x08
#define IRP_MJ_FLUSH_BUFFERS            0x09
#define IRP_MJ_QUERY_VOLUME_INFORMATION 0x0a
#define IRP_MJ_SET_VOLUME_INFORMATION   0x0b
#define IRP_MJ_DIRECTORY_CONTROL        0x0c
#define IRP_MJ_FILE_SYSTEM_CONTROL      0x0d
#define IRP_MJ_SHUTDOWN                 0x10
#define IRP_MJ_LOCK_CONTROL             0x11
#define IRP_MJ_CLEANUP                  0x12
#define IRP_MJ_CREATE_MAILSLOT          0x13
#define IRP_MJ_QUERY_SECURITY           0x14
#define IRP_MJ_SET_SECURITY             0x15
#define IRP_MJ_SYSTEM_CONTROL           0x17
#define IRP_MJ_DEVICE_CHANGE            0x18
#define IRP_MJ_QUERY_QUOTA              0x19
#define IRP_MJ_SET_QUOTA                0x1a
#define IRP_MJ_CLOSE                    0x02
#define IRP_MJ_READ                     0x03
#define IRP_MJ_WRITE                    0x04
#define IRP_MJ_DEVICE_CONTROL           0x0e
#define IRP_MN_READ_CONFIG              0x0f
#define IRP_MN_WRITE_CONFIG             0x10
#define IRP_MJ_INTERNAL_DEVICE_CONTROL  0x0f
#define IRP_MJ_POWER                    0x16
#define IRP_MJ_PNP                      0x1b
#define IRP_MJ_MAXIMUM_FUNCTION         0x1b

/* Minor codes of plug and play, then of power. */
#define IRP_MN_START_DEVICE                 0x00
#define IRP_MN_QUERY_REMOVE_DEVICE          0x01
#define IRP_MN_REMOVE_DEVICE                0x02
#define IRP_MN_CANCEL_REMOVE_DEVICE         0x03
#define IRP_MN_STOP_DEVICE                  0x04
#define IRP_MN_QUERY_STOP_DEVICE            0x05
#define IRP_MN_CANCEL_STOP_DEVICE           0x06
#define IRP_MN_QUERY_DEVICE_RELATIONS       0x07
#define IRP_MN_QUERY_INTERFACE              0x08
#define IRP_MN_QUERY_CAPABILITIES           0x09
#define IRP_MN_QUERY_RESOURCES              0x0a
#define IRP_MN_QUERY_RESOURCE_REQUIREMENTS  0x0b
#define IRP_MN_QUERY_DEVICE_TEXT            0x0c
#define IRP_MN_FILTER_RESOURCE_REQUIREMENTS 0x0d
#define IRP_MN_QUERY_ID                     0x13
#define IRP_MN_QUERY_PNP_DEVICE_STATE       0x14
#define IRP_MN_QUERY_BUS_INFORMATION        0x15
#define IRP_MN_DEVICE_USAGE_NOTIFICATION    0x16
#define IRP_MN_SURPRISE_REMOVAL             0x17
#define IRP_MN_WAIT_WAKE                    0x00
#define IRP_MN_POWER_SEQUENCE               0x01
#define IRP_MN_SET_POWER                    0x02
#define IRP_MN_QUERY_POWER                  0x03

/* STATUS_MORE_PROCESSING_REQUIRED: the routine keeps the request. */
typedef NTSTATUS NTAPI IO_COMPLETION_ROUTINE(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context);
typedef IO_COMPLETION_ROUTINE *PIO_COMPLETION_ROUTINE;

typedef struct _IO_STACK_LOCATION {
    UCHAR MajorFunction;
    UCHAR MinorFunction;
    UCHAR Flags;
    UCHAR Control;
    union {
        struct {
            ULONG Length;
            DECLSPEC_ALIGN(8) ULONG Key;
            LARGE_INTEGER ByteOffset;
        } Read, Write;
        struct {
            ULONG OutputBufferLength;
            DECLSPEC_ALIGN(8) ULONG InputBufferLength;
            DECLSPEC_ALIGN(8) ULONG IoControlCode;
            PVOID Type3InputBuffer;
        } DeviceIoControl;
        struct {
            ULONG WhichSpace;
            PVOID Buffer;
            ULONG Offset;
            DECLSPEC_ALIGN(8) ULONG Length;
        } ReadWriteConfig;
        struct {
            PVOID Argument1;
            PVOID Argument2;
            PVOID Argument3;
            PVOID Argument4;
        } Others;
    } Parameters;
    PDEVICE_OBJECT DeviceObject;
    PFILE_OBJECT FileObject;
    PIO_COMPLETION_ROUTINE CompletionRoutine;
    PVOID Context;
} IO_STACK_LOCATION, *PIO_STACK_LOCATION;

C_ASSERT(sizeof(IO_STACK_LOCATION) == 0x48);

typedef VOID NTAPI DRIVER_CANCEL(PDEVICE_OBJECT DeviceObject, PIRP Irp);
typedef DRIVER_CANCEL *PDRIVER_CANCEL;

struct _IRP {
    CSHORT Type;
    USHORT Size;
    USHORT AllocationProcessorNumber;
    USHORT Reserved;
    struct _MDL *MdlAddress;
    ULONG Flags;
    union {
        struct _IRP *MasterIrp;
        volatile LONG IrpCount;
        PVOID SystemBuffer;
    } AssociatedIrp;
    LIST_ENTRY ThreadListEntry;
    IO_STATUS_BLOCK IoStatus;
    KPROCESSOR_MODE RequestorMode;
    BOOLEAN PendingReturned;
    CHAR StackCount;
    CHAR CurrentLocation;
    BOOLEAN Cancel;
    KIRQL CancelIrql;
    CCHAR ApcEnvironment;
    UCHAR AllocationFlags;
    PIO_STATUS_BLOCK UserIosb;
    PKEVENT UserEvent;
    union {
        struct {
            PVOID UserApcRoutine;
            PVOID UserApcContext;
        } AsynchronousParameters;
        LARGE_INTEGER AllocationSize;
    } Overlay;
    volatile PDRIVER_CANCEL CancelRoutine;
    PVOID UserBuffer;
    union {
        struct {
            PVOID DriverContext[4];
            PETHREAD Thread;
            PCHAR AuxiliaryBuffer;
            LIST_ENTRY ListEntry;
            PIO_STACK_LOCATION CurrentStackLocation;
            PFILE_OBJECT OriginalFileObject;
            PVOID IrpExtension;
        } Overlay;
        PVOID CompletionKey;
    } Tail;
};

C_ASSERT(sizeof(struct _IRP) == 0xd0);
C_ASSERT(offsetof(struct _IRP, IoStatus) == 0x30 && offsetof(struct _IRP, UserBuffer) == 0x70);

#define SL_PENDING_RETURNED  0x01
#define SL_ERROR_RETURNED    0x02
#define SL_INVOKE_ON_CANCEL  0x20
#define SL_INVOKE_ON_SUCCESS 0x40
#define SL_INVOKE_ON_ERROR   0x80

#define IoSizeOfIrp(stack_size)                                                                    \
    ((USHORT)(sizeof(struct _IRP) + (USHORT)(stack_size) * sizeof(IO_STACK_LOCATION)))
#define IoGetNextIrpStackLocation(irp)    ((irp)->Tail.Overlay.CurrentStackLocation - 1)
#define IoGetCurrentIrpStackLocation(irp) ((irp)->Tail.Overlay.CurrentStackLocation)
#define IoSkipCurrentIrpStackLocation(irp)                                                         \
    ((void)((irp)->CurrentLocation++, (irp)->Tail.Overlay.CurrentStackLocation++))
#define IoSetNextIrpStackLocation(irp)                                                             \
    ((void)((irp)->CurrentLocation--, (irp)->Tail.Overlay.CurrentStackLocation--))
#define IoMarkIrpPending(irp)                                                                      \
    ((void)(IoGetCurrentIrpStackLocation(irp)->Control |= SL_PENDING_RETURNED))

#define FILE_SHARE_READ              0x00000001
#define FILE_SHARE_WRITE             0x00000002
#define FILE_ATTRIBUTE_NORMAL        0x00000080
#define FILE_NON_DIRECTORY_FILE      0x00000040
#define FILE_SYNCHRONOUS_IO_NONALERT 0x00000020
#define FILE_ALL_ACCESS              0x001f01ff

typedef enum _DEVICE_REGISTRY_PROPERTY {
    DevicePropertyDeviceDescription = 0x0,
    DevicePropertyHardwareID = 0x1,
    DevicePropertyCompatibleIDs = 0x2,
    DevicePropertyBootConfiguration = 0x3,
    DevicePropertyBootConfigurationTranslated = 0x4,
    DevicePropertyClassName = 0x5,
    DevicePropertyClassGuid = 0x6,
    DevicePropertyDriverKeyName = 0x7,
    DevicePropertyManufacturer = 0x8,
    DevicePropertyFriendlyName = 0x9,
    DevicePropertyLocationInformation = 0xa,
    DevicePropertyPhysicalDeviceObjectName = 0xb,
    DevicePropertyBusTypeGuid = 0xc,
    DevicePropertyLegacyBusType = 0xd,
    DevicePropertyBusNumber = 0xe,
    DevicePropertyEnumeratorName = 0xf,
    DevicePropertyAddress = 0x10,
    DevicePropertyUINumber = 0x11,
    DevicePropertyInstallState = 0x12,
    DevicePropertyRemovalPolicy = 0x13,
} DEVICE_REGISTRY_PROPERTY;

EXTERN_C_START

extern POBJECT_TYPE *IoFileObjectType;

NTKERNELAPI PDEVICE_OBJECT NTAPI IoGetRelatedDeviceObject(PFILE_OBJECT FileObject);
NTKERNELAPI PDEVICE_OBJECT NTAPI IoGetAttachedDeviceReference(PDEVICE_OBJECT DeviceObject);
NTKERNELAPI PIRP NTAPI IoBuildSynchronousFsdRequest(ULONG MajorFunction,
                                                    PDEVICE_OBJECT DeviceObject, PVOID Buffer,
                                                    ULONG Length, PLARGE_INTEGER StartingOffset,
                                                    PKEVENT Event, PIO_STATUS_BLOCK IoStatusBlock);
NTKERNELAPI PIRP NTAPI IoBuildDeviceIoControlRequest(ULONG IoControlCode,
                                                     PDEVICE_OBJECT DeviceObject, PVOID InputBuffer,
                                                     ULONG InputBufferLength, PVOID OutputBuffer,
                                                     ULONG OutputBufferLength,
                                                     BOOLEAN InternalDeviceIoControl, PKEVENT Event,
                                                     PIO_STATUS_BLOCK IoStatusBlock);
NTKERNELAPI NTSTATUS NTAPI IofCallDriver(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NTKERNELAPI VOID NTAPI IofCompleteRequest(PIRP Irp, CCHAR PriorityBoost);
/* The driver frees these two with IoFreeIrp, in its completion routine. */
NTKERNELAPI PIRP NTAPI IoAllocateIrp(CCHAR StackSize, BOOLEAN ChargeQuota);
NTKERNELAPI PIRP NTAPI IoBuildAsynchronousFsdRequest(ULONG MajorFunction,
                                                     PDEVICE_OBJECT DeviceObject, PVOID Buffer,
                                                     ULONG Length, PLARGE_INTEGER StartingOffset,
                                                     PIO_STATUS_BLOCK IoStatusBlock);
NTKERNELAPI VOID NTAPI IoFreeIrp(PIRP Irp);
NTKERNELAPI VOID NTAPI IoReuseIrp(PIRP Irp, NTSTATUS Iostatus);
NTKERNELAPI NTSTATUS NTAPI IoSetCompletionRoutineEx(PDEVICE_OBJECT DeviceObject, PIRP Irp,
                                                    PIO_COMPLETION_ROUTINE CompletionRoutine,
                                                    PVOID Context, BOOLEAN InvokeOnSuccess,
                                                    BOOLEAN InvokeOnError, BOOLEAN InvokeOnCancel);
NTKERNELAPI BOOLEAN NTAPI IoForwardIrpSynchronously(PDEVICE_OBJECT DeviceObject, PIRP Irp);
NTKERNELAPI BOOLEAN NTAPI IoCancelIrp(PIRP Irp);
NTKERNELAPI VOID NTAPI IoAcquireCancelSpinLock(PKIRQL Irql);
NTKERNELAPI VOID NTAPI IoReleaseCancelSpinLock(KIRQL Irql);
NTKERNELAPI NTSTATUS NTAPI IoGetDeviceProperty(PDEVICE_OBJECT DeviceObject,
                                               DEVICE_REGISTRY_PROPERTY DeviceProperty,
                                               ULONG BufferLength, PVOID PropertyBuffer,
                                               PULONG ResultLength);
NTKERNELAPI NTSTATUS NTAPI ObReferenceObjectByHandleWithTag(HANDLE Handle,
                                                            ACCESS_MASK DesiredAccess,
                                                            POBJECT_TYPE ObjectType,
                                                            KPROCESSOR_MODE AccessMode, ULONG Tag,
                                                            PVOID *Object, PVOID HandleInformation);
NTKERNELAPI VOID NTAPI ObDereferenceObjectDeferDeleteWithTag(PVOID Object, ULONG Tag);
NTKERNELAPI NTSTATUS NTAPI ObReferenceObjectByPointerWithTag(PVOID Object,
                                                             ACCESS_MASK DesiredAccess,
                                                             POBJECT_TYPE ObjectType,
                                                             KPROCESSOR_MODE AccessMode, ULONG Tag);
NTKERNELAPI VOID NTAPI ObDereferenceObjectDeferDelete(PVOID Object);
NTKERNELAPI LONG_PTR NTAPI ObfReferenceObjectWithTag(PVOID Object, ULONG Tag);
NTKERNELAPI LONG_PTR NTAPI ObfDereferenceObjectWithTag(PVOID Object, ULONG Tag);

EXTERN_C_END

FORCEINLINE VOID IoSetCompletionRoutine(PIRP Irp, PIO_COMPLETION_ROUTINE CompletionRoutine,
                                        PVOID Context, BOOLEAN InvokeOnSuccess,
                                        BOOLEAN InvokeOnError, BOOLEAN InvokeOnCancel)
{
    PIO_STACK_LOCATION next = IoGetNextIrpStackLocation(Irp);

    next->CompletionRoutine = CompletionRoutine;
    next->Context = Context;
    next->Control = (UCHAR)((InvokeOnSuccess ? SL_INVOKE_ON_SUCCESS : 0) |
                            (InvokeOnError ? SL_INVOKE_ON_ERROR : 0) |
                            (InvokeOnCancel ? SL_INVOKE_ON_CANCEL : 0));
}

/* The routine that was there before. */
#define IoSetCancelRoutine(irp, routine)                                                           \
    ((PDRIVER_CANCEL)InterlockedExchangePointer((PVOID volatile *)&(irp)->CancelRoutine,           \
                                                (PVOID)(routine)))
#define IoCompleteRequest(irp, boost) IofCompleteRequest((irp), (boost))
/* The driver below has no completion routine of this driver. */
#define IoCopyCurrentIrpStackLocationToNext(irp)                                                   \
    ((void)(*IoGetNextIrpStackLocation(irp) = *IoGetCurrentIrpStackLocation(irp),                  \
            IoGetNextIrpStackLocation(irp)->CompletionRoutine = NULL,                              \
            IoGetNextIrpStackLocation(irp)->Control = 0))
#define IoCallDriver(device, irp)               IofCallDriver((device), (irp))
#define ObReferenceObjectWithTag(object, tag)   ObfReferenceObjectWithTag((object), (tag))
#define ObDereferenceObjectWithTag(object, tag) ObfDereferenceObjectWithTag((object), (tag))

#endif
