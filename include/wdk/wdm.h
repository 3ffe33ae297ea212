/*
 * Kernel services that display miniport drivers use.
 *
 * Place  include/wdk, above windef.h and ntstatus.h. Declarations only: a native run links the
 *        implementation of the bench (src/nt), a Windows driver imports the kernel's.
 * Model  Objects that drivers embed have the size and alignment of the Windows x64 object and
 *        no public members; objects that drivers only point at have no body.
 */
#ifndef _WDM_H_
#define _WDM_H_

#include "ntstatus.h"
#include "windef.h"

typedef struct _DRIVER_OBJECT DRIVER_OBJECT, *PDRIVER_OBJECT;
typedef struct _DEVICE_OBJECT DEVICE_OBJECT, *PDEVICE_OBJECT;
typedef struct _IRP IRP, *PIRP;
typedef struct _EPROCESS *PEPROCESS;
typedef struct _KTHREAD *PKTHREAD, *PETHREAD;
typedef struct _PCI_DEVICE_PRESENCE_PARAMETERS *PPCI_DEVICE_PRESENCE_PARAMETERS;

typedef NTSTATUS NTAPI DRIVER_INITIALIZE(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath);
typedef DRIVER_INITIALIZE *PDRIVER_INITIALIZE;
typedef VOID NTAPI DRIVER_UNLOAD(PDRIVER_OBJECT DriverObject);
typedef DRIVER_UNLOAD *PDRIVER_UNLOAD;

/* The common head of every interface that a driver asks for by GUID. */
typedef VOID(NTAPI *PINTERFACE_REFERENCE)(PVOID Context);
typedef VOID(NTAPI *PINTERFACE_DEREFERENCE)(PVOID Context);
typedef struct _INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
} INTERFACE, *PINTERFACE;

/*
 * Resources of a device. Descriptors lie on 4-byte boundaries. A memory range of 4 GiB or more is
 * of the large type; its flag says in which power of two its length counts.
 */

#define CmResourceTypeNull        0
#define CmResourceTypePort        1
#define CmResourceTypeInterrupt   2
#define CmResourceTypeMemory      3
#define CmResourceTypeMemoryLarge 7

#define CM_RESOURCE_MEMORY_READ_WRITE 0x0000
#define CM_RESOURCE_MEMORY_LARGE_40   0x0200 /* Length40 in units of 256 bytes */
#define CM_RESOURCE_MEMORY_LARGE_48   0x0400 /* Length48 in units of 64 KB */
#define CM_RESOURCE_MEMORY_LARGE_64   0x0800 /* Length64 in units of 4 GB */

typedef enum _INTERFACE_TYPE {
    InterfaceTypeUndefined = -1,
    Internal = 0,
    Isa = 1,
    PCIBus = 5,
} INTERFACE_TYPE;

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
            ULONG Level;
            ULONG Vector;
            KAFFINITY Affinity;
        } Interrupt;
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
    } u;
} CM_PARTIAL_RESOURCE_DESCRIPTOR, *PCM_PARTIAL_RESOURCE_DESCRIPTOR;
#pragma pack(pop)

typedef struct _CM_PARTIAL_RESOURCE_LIST {
    USHORT Version;
    USHORT Revision;
    ULONG Count;
    CM_PARTIAL_RESOURCE_DESCRIPTOR PartialDescriptors[1];
} CM_PARTIAL_RESOURCE_LIST, *PCM_PARTIAL_RESOURCE_LIST;

typedef struct _CM_FULL_RESOURCE_DESCRIPTOR {
    INTERFACE_TYPE InterfaceType;
    ULONG BusNumber;
    CM_PARTIAL_RESOURCE_LIST PartialResourceList;
} CM_FULL_RESOURCE_DESCRIPTOR, *PCM_FULL_RESOURCE_DESCRIPTOR;

typedef struct _CM_RESOURCE_LIST {
    ULONG Count;
    CM_FULL_RESOURCE_DESCRIPTOR List[1];
} CM_RESOURCE_LIST, *PCM_RESOURCE_LIST;

/* Pages. */

#define PAGE_SHIFT           12
#define PAGE_SIZE            0x1000
#define BYTE_OFFSET(address) ((ULONG)((ULONG_PTR)(address) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(address)  ((PVOID)((ULONG_PTR)(address) & ~(ULONG_PTR)(PAGE_SIZE - 1)))
#define ROUND_TO_PAGES(size) (((ULONG_PTR)(size) + PAGE_SIZE - 1) & ~(ULONG_PTR)(PAGE_SIZE - 1))
#define BYTES_TO_PAGES(size) (((size) >> PAGE_SHIFT) + (((size) & (PAGE_SIZE - 1)) != 0 ? 1 : 0))
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(address, size)                                              \
    ((ULONG)(((ULONG_PTR)BYTE_OFFSET(address) + (ULONG_PTR)(size) + PAGE_SIZE - 1) >> PAGE_SHIFT))

typedef ULONG_PTR PFN_NUMBER, *PPFN_NUMBER;

typedef enum _MEMORY_CACHING_TYPE {
    MmNonCached = 0,
    MmCached = 1,
    MmWriteCombined = 2,
} MEMORY_CACHING_TYPE;

/* Memory descriptor lists: a head, followed by one page frame number for each page. */

#define MDL_MAPPED_TO_SYSTEM_VA     0x0001
#define MDL_PAGES_LOCKED            0x0002
#define MDL_SOURCE_IS_NONPAGED_POOL 0x0004
#define MDL_ALLOCATED_FIXED_SIZE    0x0008
#define MDL_PARTIAL                 0x0010
#define MDL_PARTIAL_HAS_BEEN_MAPPED 0x0020
#define MDL_IO_PAGE_READ            0x0040
#define MDL_WRITE_OPERATION         0x0080
#define MDL_PARENT_MAPPED_SYSTEM_VA 0x0100
#define MDL_FREE_EXTRA_PTES         0x0200
#define MDL_DESCRIBES_AWE           0x0400
#define MDL_IO_SPACE                0x0800
#define MDL_NETWORK_HEADER          0x1000
#define MDL_MAPPING_CAN_FAIL        0x2000
#define MDL_ALLOCATED_MUST_SUCCEED  0x4000
#define MDL_INTERNAL                0x8000

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

typedef struct _MDL {
    struct _MDL *Next;
    CSHORT Size;
    CSHORT MdlFlags;
    struct _EPROCESS *Process;
    PVOID MappedSystemVa;
    PVOID StartVa;
    ULONG ByteCount;
    ULONG ByteOffset;
} MDL, *PMDL;

#define MmGetMdlPfnArray(mdl)       ((PPFN_NUMBER)((PMDL)(mdl) + 1))
#define MmGetMdlByteCount(mdl)      ((mdl)->ByteCount)
#define MmGetMdlByteOffset(mdl)     ((mdl)->ByteOffset)
#define MmGetMdlBaseVa(mdl)         ((mdl)->StartVa)
#define MmGetMdlVirtualAddress(mdl) ((PVOID)((PCHAR)(mdl)->StartVa + (mdl)->ByteOffset))

typedef enum _MODE { KernelMode = 0, UserMode = 1, MaximumMode = 2 } MODE;
typedef CCHAR KPROCESSOR_MODE;

/* IRQL. */

#define PASSIVE_LEVEL  0
#define LOW_LEVEL      0
#define APC_LEVEL      1
#define DISPATCH_LEVEL 2
#define HIGH_LEVEL     15

#define PAGED_CODE()          NT_ASSERT(KeGetCurrentIrql() <= APC_LEVEL)
#define NT_ASSERT(expression) ((void)(0 && (expression)))
#ifndef ASSERT
#define ASSERT(expression) NT_ASSERT(expression)
#endif

/* Locks, events and deferred procedure calls. */

typedef ULONG_PTR KSPIN_LOCK, *PKSPIN_LOCK;
typedef struct _KEVENT {
    ULONG_PTR Reserved[3];
} KEVENT, *PKEVENT, *PRKEVENT;
typedef struct _FAST_MUTEX {
    ULONG_PTR Reserved[7];
} FAST_MUTEX, *PFAST_MUTEX;
typedef enum _EVENT_TYPE { NotificationEvent = 0, SynchronizationEvent = 1 } EVENT_TYPE;
typedef enum _KWAIT_REASON { Executive = 0 } KWAIT_REASON;

typedef BOOLEAN NTAPI KSYNCHRONIZE_ROUTINE(PVOID SynchronizeContext);
typedef KSYNCHRONIZE_ROUTINE *PKSYNCHRONIZE_ROUTINE;

/* Pool. */

typedef enum _POOL_TYPE {
    NonPagedPool = 0,
    NonPagedPoolExecute = 0,
    PagedPool = 1,
    NonPagedPoolCacheAligned = 4,
    PagedPoolCacheAligned = 5,
    NonPagedPoolNx = 512,
    NonPagedPoolNxCacheAligned = 516,
} POOL_TYPE;

typedef ULONG64 POOL_FLAGS;
#define POOL_FLAG_USE_QUOTA         0x1u
#define POOL_FLAG_UNINITIALIZED     0x2u
#define POOL_FLAG_SESSION           0x4u
#define POOL_FLAG_CACHE_ALIGNED     0x8u
#define POOL_FLAG_RAISE_ON_FAILURE  0x20u
#define POOL_FLAG_NON_PAGED         0x40u
#define POOL_FLAG_NON_PAGED_EXECUTE 0x80u
#define POOL_FLAG_PAGED             0x100u

#ifdef __cplusplus
extern "C" {
#endif

NTKERNELAPI PVOID NTAPI ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag);
NTKERNELAPI PVOID NTAPI ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NTKERNELAPI VOID NTAPI ExFreePoolWithTag(PVOID P, ULONG Tag);
NTKERNELAPI VOID NTAPI ExFreePool(PVOID P);

NTKERNELAPI KIRQL NTAPI KeGetCurrentIrql(VOID);
NTKERNELAPI VOID NTAPI KeInitializeSpinLock(PKSPIN_LOCK SpinLock);
NTKERNELAPI KIRQL NTAPI KeAcquireSpinLockRaiseToDpc(PKSPIN_LOCK SpinLock);
NTKERNELAPI VOID NTAPI KeReleaseSpinLock(PKSPIN_LOCK SpinLock, KIRQL NewIrql);
NTKERNELAPI VOID NTAPI KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK SpinLock);
NTKERNELAPI VOID NTAPI KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK SpinLock);

NTKERNELAPI DECLSPEC_NORETURN VOID NTAPI KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR P1,
                                                      ULONG_PTR P2, ULONG_PTR P3, ULONG_PTR P4);

/* Register access goes through the bench, so that it can be modelled. */
NTKERNELAPI UCHAR NTAPI READ_REGISTER_UCHAR(volatile UCHAR *Register);
NTKERNELAPI USHORT NTAPI READ_REGISTER_USHORT(volatile USHORT *Register);
NTKERNELAPI ULONG NTAPI READ_REGISTER_ULONG(volatile ULONG *Register);
NTKERNELAPI ULONG64 NTAPI READ_REGISTER_ULONG64(volatile ULONG64 *Register);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_UCHAR(volatile UCHAR *Register, UCHAR Value);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_USHORT(volatile USHORT *Register, USHORT Value);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_ULONG(volatile ULONG *Register, ULONG Value);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_ULONG64(volatile ULONG64 *Register, ULONG64 Value);

NTSYSAPI ULONG NTAPI DbgPrint(PCSTR Format, ...);
NTSYSAPI ULONG NTAPI DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...);

#ifdef __cplusplus
}
#endif

#define KeAcquireSpinLock(lock, old_irql) (*(old_irql) = KeAcquireSpinLockRaiseToDpc(lock))

#define DPFLTR_VIDEO_ID      16
#define DPFLTR_IHVVIDEO_ID   78
#define DPFLTR_ERROR_LEVEL   0
#define DPFLTR_WARNING_LEVEL 1
#define DPFLTR_TRACE_LEVEL   2
#define DPFLTR_INFO_LEVEL    3
#define KdPrint(arguments)   ((void)0)
#define KdPrintEx(arguments) ((void)0)

/* Memory and lists. */

#define RtlCopyMemory(destination, source, length)                                                 \
    ((void)__builtin_memcpy((destination), (source), (length)))
#define RtlMoveMemory(destination, source, length)                                                 \
    ((void)__builtin_memmove((destination), (source), (length)))
#define RtlFillMemory(destination, length, fill)                                                   \
    ((void)__builtin_memset((destination), (fill), (length)))
#define RtlZeroMemory(destination, length)    ((void)__builtin_memset((destination), 0, (length)))
#define RtlEqualMemory(first, second, length) (__builtin_memcmp((first), (second), (length)) == 0)

FORCEINLINE VOID InitializeListHead(PLIST_ENTRY ListHead)
{
    ListHead->Flink = ListHead;
    ListHead->Blink = ListHead;
}

FORCEINLINE BOOLEAN IsListEmpty(const LIST_ENTRY *ListHead)
{
    return ListHead->Flink == ListHead;
}

/* Returns whether the list is empty afterwards. */
FORCEINLINE BOOLEAN RemoveEntryList(PLIST_ENTRY Entry)
{
    PLIST_ENTRY next = Entry->Flink;
    PLIST_ENTRY previous = Entry->Blink;

    previous->Flink = next;
    next->Blink = previous;
    return next == previous;
}

FORCEINLINE PLIST_ENTRY RemoveHeadList(PLIST_ENTRY ListHead)
{
    PLIST_ENTRY entry = ListHead->Flink;

    RemoveEntryList(entry);
    return entry;
}

FORCEINLINE PLIST_ENTRY RemoveTailList(PLIST_ENTRY ListHead)
{
    PLIST_ENTRY entry = ListHead->Blink;

    RemoveEntryList(entry);
    return entry;
}

FORCEINLINE VOID InsertHeadList(PLIST_ENTRY ListHead, PLIST_ENTRY Entry)
{
    Entry->Flink = ListHead->Flink;
    Entry->Blink = ListHead;
    ListHead->Flink->Blink = Entry;
    ListHead->Flink = Entry;
}

FORCEINLINE VOID InsertTailList(PLIST_ENTRY ListHead, PLIST_ENTRY Entry)
{
    Entry->Flink = ListHead;
    Entry->Blink = ListHead->Blink;
    ListHead->Blink->Flink = Entry;
    ListHead->Blink = Entry;
}

#endif
