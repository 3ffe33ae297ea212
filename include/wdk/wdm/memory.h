/*
 * Pages, memory descriptor lists, pool, mappings and register access.
 *
 * Place  include/wdk/wdm. Sizes in bytes; page frame numbers count pages.
 */
#ifndef WDM_MEMORY_H
#define WDM_MEMORY_H

#include "base.h"

#define PAGE_SHIFT           12
#define PAGE_SIZE            0x1000
#define BYTE_OFFSET(address) ((ULONG)((ULONG_PTR)(address) & (PAGE_SIZE - 1)))
#define PAGE_ALIGN(address)  ((PVOID)((ULONG_PTR)(address) & ~(ULONG_PTR)(PAGE_SIZE - 1)))
#define ROUND_TO_PAGES(size) (((ULONG_PTR)(size) + PAGE_SIZE - 1) & ~(ULONG_PTR)(PAGE_SIZE - 1))
#define BYTES_TO_PAGES(size) (((size) >> PAGE_SHIFT) + (((size) & (PAGE_SIZE - 1)) != 0 ? 1 : 0))
#define ADDRESS_AND_SIZE_TO_SPAN_PAGES(address, size)                                              \
    ((ULONG)(((ULONG_PTR)BYTE_OFFSET(address) + (ULONG_PTR)(size) + PAGE_SIZE - 1) >> PAGE_SHIFT))

#define ALIGN_DOWN_BY(length, size) ((ULONG_PTR)(length) & ~((ULONG_PTR)(size)-1))
#define ALIGN_UP_BY(length, size)   ALIGN_DOWN_BY((ULONG_PTR)(length) + (size)-1, size)
#define ALIGN_DOWN(length, type)    ALIGN_DOWN_BY(length, sizeof(type))
#define ALIGN_UP(length, type)      ALIGN_UP_BY(length, sizeof(type))

#define ALIGN_DOWN_POINTER_BY(address, size) ((PVOID)ALIGN_DOWN_BY(address, size))
#define ALIGN_UP_POINTER_BY(address, size)   ((PVOID)ALIGN_UP_BY(address, size))

typedef ULONG_PTR PFN_NUMBER, *PPFN_NUMBER;
typedef ULONG PFN_COUNT, *PPFN_COUNT;

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

/* An MDL in memory of the driver's own, which has room for the numbers of its pages. */
#define MmInitializeMdl(mdl, base, length)                                                         \
    ((void)((mdl)->Next = NULL,                                                                    \
            (mdl)->Size =                                                                          \
                (CSHORT)(sizeof(MDL) +                                                             \
                         sizeof(PFN_NUMBER) * ADDRESS_AND_SIZE_TO_SPAN_PAGES(base, length)),       \
            (mdl)->MdlFlags = 0, (mdl)->StartVa = (PVOID)PAGE_ALIGN(base),                         \
            (mdl)->ByteOffset = BYTE_OFFSET(base), (mdl)->ByteCount = (ULONG)(length)))
#define MmGetMdlPfnArray(mdl)       ((PPFN_NUMBER)((PMDL)(mdl) + 1))
#define MmGetMdlByteCount(mdl)      ((mdl)->ByteCount)
#define MmGetMdlByteOffset(mdl)     ((mdl)->ByteOffset)
#define MmGetMdlBaseVa(mdl)         ((mdl)->StartVa)
#define MmGetMdlVirtualAddress(mdl) ((PVOID)((PCHAR)(mdl)->StartVa + (mdl)->ByteOffset))
#define MmGetSystemAddressForMdlSafe(mdl, priority)                                                \
    (((mdl)->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL))                   \
         ? (mdl)->MappedSystemVa                                                                   \
         : MmMapLockedPagesSpecifyCache((mdl), KernelMode, MmCached, NULL, FALSE, (priority)))

typedef enum _MM_PAGE_PRIORITY {
    LowPagePriority = 0,
    NormalPagePriority = 16,
    HighPagePriority = 32,
} MM_PAGE_PRIORITY;

#define MdlMappingNoExecute 0x40000000u

typedef enum _LOCK_OPERATION {
    IoReadAccess = 0,
    IoWriteAccess = 1,
    IoModifyAccess = 2,
} LOCK_OPERATION;

#define MM_DONT_ZERO_ALLOCATION               0x00000001u
#define MM_ALLOCATE_FROM_LOCAL_NODE_ONLY      0x00000002u
#define MM_ALLOCATE_FULLY_REQUIRED            0x00000004u
#define MM_ALLOCATE_NO_WAIT                   0x00000008u
#define MM_ALLOCATE_PREFER_CONTIGUOUS         0x00000010u
#define MM_ALLOCATE_REQUIRE_CONTIGUOUS_CHUNKS 0x00000020u

#define MM_COPY_MEMORY_PHYSICAL 0x1u
#define MM_COPY_MEMORY_VIRTUAL  0x2u

typedef struct _MM_COPY_ADDRESS {
    union {
        PVOID VirtualAddress;
        PHYSICAL_ADDRESS PhysicalAddress;
    };
} MM_COPY_ADDRESS, *PMMCOPY_ADDRESS;

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

/* Or'ed into a POOL_TYPE. */
#define POOL_QUOTA_FAIL_INSTEAD_OF_RAISE 8
#define POOL_RAISE_IF_ALLOCATION_FAILURE 16
#define POOL_NX_ALLOCATION               512
#define POOL_ZERO_ALLOCATION             1024

typedef enum _EX_POOL_PRIORITY {
    LowPoolPriority = 0,
    NormalPoolPriority = 16,
    HighPoolPriority = 32,
} EX_POOL_PRIORITY;

typedef struct _POOL_EXTENDED_PARAMETER POOL_EXTENDED_PARAMETER, *PPOOL_EXTENDED_PARAMETER;
typedef const POOL_EXTENDED_PARAMETER *PCPOOL_EXTENDED_PARAMETER;

typedef ULONG64 POOL_FLAGS;
#define POOL_FLAG_USE_QUOTA         0x1u
#define POOL_FLAG_UNINITIALIZED     0x2u
#define POOL_FLAG_SESSION           0x4u
#define POOL_FLAG_CACHE_ALIGNED     0x8u
#define POOL_FLAG_RAISE_ON_FAILURE  0x20u
#define POOL_FLAG_NON_PAGED         0x40u
#define POOL_FLAG_NON_PAGED_EXECUTE 0x80u
#define POOL_FLAG_PAGED             0x100u
#define POOL_FLAG_SPECIAL_POOL      0x100000000u

EXTERN_C_START

NTKERNELAPI PVOID NTAPI ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag);
NTKERNELAPI PVOID NTAPI ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag);
NTKERNELAPI PVOID NTAPI ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag,
                                        PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                                        ULONG ExtendedParametersCount);
NTKERNELAPI PVOID NTAPI ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes);
NTKERNELAPI PVOID NTAPI ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes,
                                                      ULONG Tag, EX_POOL_PRIORITY Priority);
NTKERNELAPI PVOID NTAPI ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes,
                                                   ULONG Tag);
NTKERNELAPI VOID NTAPI ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                                   ULONG ExtendedParametersCount);
NTKERNELAPI VOID NTAPI ExFreePoolWithTag(PVOID P, ULONG Tag);
NTKERNELAPI VOID NTAPI ExFreePool(PVOID P);

NTKERNELAPI PMDL NTAPI IoAllocateMdl(PVOID VirtualAddress, ULONG Length, BOOLEAN SecondaryBuffer,
                                     BOOLEAN ChargeQuota, PIRP Irp);
NTKERNELAPI VOID NTAPI IoFreeMdl(PMDL Mdl);
NTKERNELAPI VOID NTAPI IoBuildPartialMdl(PMDL SourceMdl, PMDL TargetMdl, PVOID VirtualAddress,
                                         ULONG Length);
NTKERNELAPI PMDL NTAPI MmAllocatePagesForMdl(PHYSICAL_ADDRESS LowAddress,
                                             PHYSICAL_ADDRESS HighAddress,
                                             PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes);
NTKERNELAPI PMDL NTAPI MmAllocateNodePagesForMdlEx(PHYSICAL_ADDRESS LowAddress,
                                                   PHYSICAL_ADDRESS HighAddress,
                                                   PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes,
                                                   MEMORY_CACHING_TYPE CacheType, ULONG IdealNode,
                                                   ULONG Flags);
NTKERNELAPI PVOID NTAPI MmMapLockedPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode);
NTKERNELAPI NTSTATUS NTAPI MmProtectMdlSystemAddress(PMDL MemoryDescriptorList, ULONG NewProtect);
NTKERNELAPI SIZE_T NTAPI MmSizeOfMdl(PVOID Base, SIZE_T Length);
NTKERNELAPI VOID NTAPI MmBuildMdlForNonPagedPool(PMDL MemoryDescriptorList);
NTKERNELAPI VOID NTAPI MmProbeAndLockPages(PMDL MemoryDescriptorList, KPROCESSOR_MODE AccessMode,
                                           LOCK_OPERATION Operation);
NTKERNELAPI VOID NTAPI MmUnlockPages(PMDL MemoryDescriptorList);
NTKERNELAPI PMDL NTAPI MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS LowAddress,
                                               PHYSICAL_ADDRESS HighAddress,
                                               PHYSICAL_ADDRESS SkipBytes, SIZE_T TotalBytes,
                                               MEMORY_CACHING_TYPE CacheType, ULONG Flags);
NTKERNELAPI VOID NTAPI MmFreePagesFromMdl(PMDL MemoryDescriptorList);

/* BugCheckOnFailure counts for UserMode mappings only; Priority takes MdlMappingNoExecute too. */
NTKERNELAPI PVOID NTAPI MmMapLockedPagesSpecifyCache(PMDL MemoryDescriptorList,
                                                     KPROCESSOR_MODE AccessMode,
                                                     MEMORY_CACHING_TYPE CacheType,
                                                     PVOID RequestedAddress,
                                                     ULONG BugCheckOnFailure, ULONG Priority);
NTKERNELAPI VOID NTAPI MmUnmapLockedPages(PVOID BaseAddress, PMDL MemoryDescriptorList);
NTKERNELAPI PVOID NTAPI MmAllocateMappingAddress(SIZE_T NumberOfBytes, ULONG PoolTag);
NTKERNELAPI VOID NTAPI MmFreeMappingAddress(PVOID BaseAddress, ULONG PoolTag);
NTKERNELAPI PVOID NTAPI MmMapLockedPagesWithReservedMapping(PVOID MappingAddress, ULONG PoolTag,
                                                            PMDL MemoryDescriptorList,
                                                            MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI VOID NTAPI MmUnmapReservedMapping(PVOID BaseAddress, ULONG PoolTag,
                                              PMDL MemoryDescriptorList);

NTKERNELAPI PVOID NTAPI MmAllocateContiguousMemory(SIZE_T NumberOfBytes,
                                                   PHYSICAL_ADDRESS HighestAcceptableAddress);
NTKERNELAPI PVOID NTAPI MmAllocateContiguousMemorySpecifyCache(
    SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
    PHYSICAL_ADDRESS HighestAcceptableAddress, PHYSICAL_ADDRESS BoundaryAddressMultiple,
    MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI VOID NTAPI MmFreeContiguousMemory(PVOID BaseAddress);
NTKERNELAPI VOID NTAPI MmFreeContiguousMemorySpecifyCache(PVOID BaseAddress, SIZE_T NumberOfBytes,
                                                          MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI PVOID NTAPI MmAllocateContiguousMemorySpecifyCacheNode(
    SIZE_T NumberOfBytes, PHYSICAL_ADDRESS LowestAcceptableAddress,
    PHYSICAL_ADDRESS HighestAcceptableAddress, PHYSICAL_ADDRESS BoundaryAddressMultiple,
    MEMORY_CACHING_TYPE CacheType, ULONG PreferredNode);
NTKERNELAPI PVOID NTAPI MmAllocateContiguousNodeMemory(SIZE_T NumberOfBytes,
                                                       PHYSICAL_ADDRESS LowestAcceptableAddress,
                                                       PHYSICAL_ADDRESS HighestAcceptableAddress,
                                                       PHYSICAL_ADDRESS BoundaryAddressMultiple,
                                                       ULONG Protect, ULONG PreferredNode);
NTKERNELAPI PHYSICAL_ADDRESS NTAPI MmGetPhysicalAddress(PVOID BaseAddress);
NTKERNELAPI BOOLEAN NTAPI MmIsAddressValid(PVOID VirtualAddress);
NTKERNELAPI PVOID NTAPI MmGetVirtualForPhysical(PHYSICAL_ADDRESS PhysicalAddress);
NTKERNELAPI NTSTATUS NTAPI MmCopyMemory(PVOID TargetAddress, MM_COPY_ADDRESS SourceAddress,
                                        SIZE_T NumberOfBytes, ULONG Flags,
                                        PSIZE_T NumberOfBytesTransferred);
NTKERNELAPI PVOID NTAPI MmMapIoSpace(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes,
                                     MEMORY_CACHING_TYPE CacheType);
NTKERNELAPI PVOID NTAPI MmMapIoSpaceEx(PHYSICAL_ADDRESS PhysicalAddress, SIZE_T NumberOfBytes,
                                       ULONG Protect);
NTKERNELAPI VOID NTAPI MmUnmapIoSpace(PVOID BaseAddress, SIZE_T NumberOfBytes);

/* The value is reserved. */
NTKERNELAPI BOOLEAN NTAPI KeInvalidateAllCaches(VOID);
/* Devices of x64 see what the processor's caches hold: there is nothing to flush. */
#define KeFlushIoBuffers(Mdl, ReadOperation, DmaOperation)                                         \
    ((void)(Mdl), (void)(ReadOperation), (void)(DmaOperation))

/* Register access goes through the bench, so that it can be modelled. */
NTKERNELAPI UCHAR NTAPI READ_REGISTER_UCHAR(volatile UCHAR *Register);
NTKERNELAPI USHORT NTAPI READ_REGISTER_USHORT(volatile USHORT *Register);
NTKERNELAPI ULONG NTAPI READ_REGISTER_ULONG(volatile ULONG *Register);
NTKERNELAPI ULONG64 NTAPI READ_REGISTER_ULONG64(volatile ULONG64 *Register);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_UCHAR(volatile UCHAR *Register, UCHAR Value);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_USHORT(volatile USHORT *Register, USHORT Value);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_ULONG(volatile ULONG *Register, ULONG Value);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_ULONG64(volatile ULONG64 *Register, ULONG64 Value);
/*
 * Without a memory barrier, as public drivers of Microsoft's use them (imx6dod; no page has them):
 * accesses of x64 to registers are in order anyway.
 */
#define READ_REGISTER_NOFENCE_UCHAR    READ_REGISTER_UCHAR
#define READ_REGISTER_NOFENCE_USHORT   READ_REGISTER_USHORT
#define READ_REGISTER_NOFENCE_ULONG    READ_REGISTER_ULONG
#define READ_REGISTER_NOFENCE_ULONG64  READ_REGISTER_ULONG64
#define WRITE_REGISTER_NOFENCE_UCHAR   WRITE_REGISTER_UCHAR
#define WRITE_REGISTER_NOFENCE_USHORT  WRITE_REGISTER_USHORT
#define WRITE_REGISTER_NOFENCE_ULONG   WRITE_REGISTER_ULONG
#define WRITE_REGISTER_NOFENCE_ULONG64 WRITE_REGISTER_ULONG64
/* Count elements, from consecutive registers. */
NTKERNELAPI VOID NTAPI READ_REGISTER_BUFFER_UCHAR(volatile UCHAR *Register, PUCHAR Buffer,
                                                  ULONG Count);
NTKERNELAPI VOID NTAPI READ_REGISTER_BUFFER_USHORT(volatile USHORT *Register, PUSHORT Buffer,
                                                   ULONG Count);
NTKERNELAPI VOID NTAPI READ_REGISTER_BUFFER_ULONG(volatile ULONG *Register, PULONG Buffer,
                                                  ULONG Count);
NTKERNELAPI VOID NTAPI READ_REGISTER_BUFFER_ULONG64(volatile ULONG64 *Register, PULONG64 Buffer,
                                                    ULONG Count);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_BUFFER_UCHAR(volatile UCHAR *Register, PUCHAR Buffer,
                                                   ULONG Count);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_BUFFER_USHORT(volatile USHORT *Register, PUSHORT Buffer,
                                                    ULONG Count);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_BUFFER_ULONG(volatile ULONG *Register, PULONG Buffer,
                                                   ULONG Count);
NTKERNELAPI VOID NTAPI WRITE_REGISTER_BUFFER_ULONG64(volatile ULONG64 *Register, PULONG64 Buffer,
                                                     ULONG Count);

EXTERN_C_END

FORCEINLINE PVOID ExAllocatePoolZero(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return ExAllocatePoolWithTag((POOL_TYPE)(PoolType | POOL_ZERO_ALLOCATION), NumberOfBytes, Tag);
}

FORCEINLINE PVOID ExAllocatePoolUninitialized(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return ExAllocatePoolWithTag(PoolType, NumberOfBytes, Tag);
}

FORCEINLINE PVOID ExAllocatePoolQuotaZero(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return ExAllocatePoolWithQuotaTag((POOL_TYPE)(PoolType | POOL_ZERO_ALLOCATION), NumberOfBytes,
                                      Tag);
}

#define PAGE_NOACCESS     0x01u
#define PAGE_READONLY     0x02u
#define PAGE_READWRITE    0x04u
#define PAGE_NOCACHE      0x200u
#define PAGE_WRITECOMBINE 0x400u

#endif
