/*
 * Segments, page-table geometry, physical adapters and IOMMU: what an adapter says about its
 * memory when it is queried.
 *
 * Place  include/wdk/d3dkmddi. Rules: contract.md SEG, BANK, PT, IOMMU.
 */
#ifndef D3DKMDDI_SEGMENTS_H
#define D3DKMDDI_SEGMENTS_H

#include "base.h"

typedef enum _DXGK_SEGMENTTYPE {
    DXGK_SEGMENTTYPE_SYSMEM = 0,
    DXGK_SEGMENTTYPE_LOCAL = 1,
} DXGK_SEGMENTTYPE;

typedef enum _DXGK_PAGESIZE {
    DXGK_PAGESIZE_4KB = 0,
    DXGK_PAGESIZE_8KB = 1,
    DXGK_PAGESIZE_16KB = 2,
    DXGK_PAGESIZE_32KB = 3,
    DXGK_PAGESIZE_64KB = 4,
    DXGK_PAGESIZE_128KB = 5,
    DXGK_PAGESIZE_256KB = 6,
    DXGK_PAGESIZE_512KB = 7,
    DXGK_PAGESIZE_1MB = 8,
    DXGK_PAGESIZE_2MB = 9,
    DXGK_PAGESIZE_4MB = 10,
    DXGK_PAGESIZE_8MB = 11,
    DXGK_PAGESIZE_16MB = 12,
    DXGK_PAGESIZE_32MB = 13,
    DXGK_PAGESIZE_64MB = 14,
    DXGK_PAGESIZE_128MB = 15,
} DXGK_PAGESIZE;

typedef struct _DXGK_SEGMENTFLAGS {
    union {
        struct {
            UINT Aperture : 1;
            UINT Agp : 1;
            UINT CpuVisible : 1;
            UINT UseBanking : 1;
            UINT CacheCoherent : 1;
            UINT PitchAlignment : 1;
            UINT PopulatedFromSystemMemory : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
            UINT PreservedDuringStandby : 1;
            UINT PreservedDuringHibernate : 1;
            UINT PartiallyPreservedDuringHibernate : 1;
            UINT DirectFlip : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
            UINT Use64KBPages : 1;
            UINT ReservedSysMem : 1;
            UINT SupportsCpuHostAperture : 1;
            UINT SupportsCachedCpuHostAperture : 1;
            UINT ApplicationTarget : 1;
            UINT VprSupported : 1;
            UINT VprPreservedDuringStandby : 1;
            UINT EncryptedPagingSupported : 1;
            UINT LocalBudgetGroup : 1;
            UINT NonLocalBudgetGroup : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_9
            UINT PopulatedByReservedDDRByFirmware : 1;
#endif
            UINT Reserved : 10 + DXGK_BEFORE(WDDM2_9, 1) + DXGK_BEFORE(WDDM2_0, 10) +
                DXGK_BEFORE(WIN8, 4);
        };
        UINT Value;
    };
} DXGK_SEGMENTFLAGS, *PDXGK_SEGMENTFLAGS;

typedef struct _DXGK_SEGMENTDESCRIPTOR {
    PHYSICAL_ADDRESS BaseAddress;
    PHYSICAL_ADDRESS CpuTranslatedAddress;
    SIZE_T Size;
    UINT NbOfBanks;
    SIZE_T *pBankRangeTable;
    SIZE_T CommitLimit;
    DXGK_SEGMENTFLAGS Flags;
} DXGK_SEGMENTDESCRIPTOR, *PDXGK_SEGMENTDESCRIPTOR;

typedef struct _DXGK_SEGMENTFLAGS2 {
    union {
        struct {
            UINT Aperture : 1;
            UINT PopulatedFromSystemMemory : 1;
            UINT SystemMemoryReservedByBios : 1;
            UINT CpuVisible : 1;
            UINT Reserved : 28;
        };
        UINT Value;
    };
} DXGK_SEGMENTFLAGS2, *PDXGK_SEGMENTFLAGS2;

typedef struct _DXGK_SEGMENTDESCRIPTOR2 {
    DXGK_SEGMENTFLAGS2 Flags;
    SIZE_T Size;
    PMDL pMdl;
    PHYSICAL_ADDRESS BaseAddress;
    PHYSICAL_ADDRESS CpuTranslatedAddress;
} DXGK_SEGMENTDESCRIPTOR2, *PDXGK_SEGMENTDESCRIPTOR2;

typedef struct _DXGK_SEGMENTDESCRIPTOR3 {
    DXGK_SEGMENTFLAGS Flags;
    PHYSICAL_ADDRESS BaseAddress;
    PHYSICAL_ADDRESS CpuTranslatedAddress;
    SIZE_T Size;
    UINT NbOfBanks;
    SIZE_T *pBankRangeTable;
    SIZE_T CommitLimit;
    SIZE_T SystemMemoryEndAddress;
    SIZE_T Reserved;
} DXGK_SEGMENTDESCRIPTOR3, *PDXGK_SEGMENTDESCRIPTOR3;

typedef struct _DXGK_CPUHOSTAPERTURE {
    UINT64 PhysicalAddress;
    UINT32 SizeInPages;
} DXGK_CPUHOSTAPERTURE, *PDXGK_CPUHOSTAPERTURE;

/*
 * A segment as WDDM 2.x adapters describe it. CpuTranslatedAddress counts when the segment is
 * CpuVisible, CpuHostAperture when it supports one.
 */
typedef struct _DXGK_SEGMENTDESCRIPTOR4 {
    DXGK_SEGMENTFLAGS Flags;
    PHYSICAL_ADDRESS BaseAddress;
    SIZE_T Size;
    SIZE_T CommitLimit;
    SIZE_T SystemMemoryEndAddress;
    union {
        PHYSICAL_ADDRESS CpuTranslatedAddress;
        DXGK_CPUHOSTAPERTURE CpuHostAperture;
    };
    UINT NumInvalidMemoryRanges;
    SIZE_T VprRangeStartOffset;
    SIZE_T VprRangeSize;
    UINT VprAlignment;
    UINT NumVprSupported;
    UINT VprReserveSize;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2
    UINT NumUEFIFrameBufferRanges;
#endif
} DXGK_SEGMENTDESCRIPTOR4, *PDXGK_SEGMENTDESCRIPTOR4;

typedef struct _DXGK_SEGMENTDESCRIPTOR5 {
    DXGK_SEGMENTTYPE SegmentType;
    DXGK_SEGMENTFLAGS Flags;
    PHYSICAL_ADDRESS BaseAddress;
    UINT64 Size;
    SIZE_T SystemMemoryEndAddress;
    union {
        PHYSICAL_ADDRESS CpuTranslatedAddress;
        DXGK_CPUHOSTAPERTURE CpuHostAperture;
    };
    SIZE_T VprRangeStartOffset;
    SIZE_T VprRangeSize;
    UINT VprAlignment;
    UINT NumInvalidMemoryRanges;
    UINT NumVprSupported;
    UINT VprReserveSize;
    UINT NumUEFIFrameBufferRanges;
    DXGK_PAGESIZE SlabSize;
} DXGK_SEGMENTDESCRIPTOR5, *PDXGK_SEGMENTDESCRIPTOR5;

typedef struct _DXGK_QUERYSEGMENTIN {
    PHYSICAL_ADDRESS AgpApertureBase;
    LARGE_INTEGER AgpApertureSize;
    DXGK_SEGMENTFLAGS AgpFlags;
} DXGK_QUERYSEGMENTIN, *PDXGK_QUERYSEGMENTIN;

typedef struct _DXGK_QUERYSEGMENTIN4 {
    UINT PhysicalAdapterIndex;
} DXGK_QUERYSEGMENTIN4, *PDXGK_QUERYSEGMENTIN4;

typedef struct _DXGK_QUERYSEGMENTOUT {
    UINT NbSegment;
    DXGK_SEGMENTDESCRIPTOR *pSegmentDescriptor;
    UINT PagingBufferSegmentId;
    UINT PagingBufferSize;
    UINT PagingBufferPrivateDataSize;
} DXGK_QUERYSEGMENTOUT, *PDXGK_QUERYSEGMENTOUT;

typedef struct _DXGK_QUERYSEGMENTOUT2 {
    UINT SegmentCount;
    DXGK_SEGMENTDESCRIPTOR2 *pSegmentDescriptor;
} DXGK_QUERYSEGMENTOUT2, *PDXGK_QUERYSEGMENTOUT2;

typedef struct _DXGK_QUERYSEGMENTOUT3 {
    UINT NbSegment;
    DXGK_SEGMENTDESCRIPTOR3 *pSegmentDescriptor;
    UINT PagingBufferSegmentId;
    UINT PagingBufferSize;
    UINT PagingBufferPrivateDataSize;
} DXGK_QUERYSEGMENTOUT3, *PDXGK_QUERYSEGMENTOUT3;

/* Descriptors lie SegmentDescriptorStride bytes apart, whatever their size is here. */
typedef struct _DXGK_QUERYSEGMENTOUT4 {
    UINT NbSegment;
    BYTE *pSegmentDescriptor;
    UINT PagingBufferSegmentId;
    UINT PagingBufferSize;
    UINT PagingBufferPrivateDataSize;
    SIZE_T SegmentDescriptorStride;
} DXGK_QUERYSEGMENTOUT4, *PDXGK_QUERYSEGMENTOUT4;

typedef struct _DXGK_QUERYSEGMENTOUT5 {
    PVOID SegmentDescriptors;
    UINT Reserved[4];
} DXGK_QUERYSEGMENTOUT5, *PDXGK_QUERYSEGMENTOUT5;

/* A part of a segment that nothing may be placed in. */
typedef struct _DXGK_MEMORYRANGE {
    UINT64 SegmentOffset;
    UINT64 SizeInBytes;
} DXGK_MEMORYRANGE, *PDXGK_MEMORYRANGE;

typedef struct _DXGK_QUERYSEGMENTMEMORYSTATE {
    WORD DriverSegmentId;
    WORD PhysicalAdapterIndex;
    union {
        UINT NumInvalidMemoryRanges;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2
        UINT NumUEFIFrameBufferRanges;
#endif
    };
    DXGK_MEMORYRANGE *pMemoryRanges;
} DXGK_QUERYSEGMENTMEMORYSTATE, *PDXGK_QUERYSEGMENTMEMORYSTATE;

typedef union _DXGK_MMUFLAGS {
    UINT Reserved : 32;
    UINT Value;
} DXGK_MMUFLAGS, *PDXGK_MMUFLAGS;

typedef struct _DXGK_MMUDESCRIPTOR {
    DXGK_MMUFLAGS Flags;
    UINT64 Size;
} DXGK_MMUDESCRIPTOR, *PDXGK_MMUDESCRIPTOR;

typedef struct _DXGK_GPUMMUCAPS {
    union {
        struct {
            UINT ReadOnlyMemorySupported : 1;
            UINT NoExecuteMemorySupported : 1;
            UINT ZeroInPteSupported : 1;
            UINT ExplicitPageTableInvalidation : 1;
            UINT CacheCoherentMemorySupported : 1;
            UINT PageTableUpdateRequireAddressSpaceIdle : 1;
            UINT LargePageSupported : 1;
            UINT DualPteSupported : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_1
            UINT AllowNonAlignedLargePageAddress : 1;
            UINT SysMem64KBPageSupported : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_6
            UINT InvalidTlbEntriesNotCached : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_9
            UINT SysMemLargePageSupported : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_1
            UINT CachedPageTables : 1;
#endif
            UINT Reserved : 19 + DXGK_BEFORE(WDDM3_1, 1) + DXGK_BEFORE(WDDM2_9, 1) +
                DXGK_BEFORE(WDDM2_6, 1) + DXGK_BEFORE(WDDM2_1, 2);
        };
        UINT Value;
    };
    DXGK_PAGETABLEUPDATEMODE PageTableUpdateMode;
    UINT VirtualAddressBitCount;
    UINT LeafPageTableSizeFor64KPagesInBytes;
    UINT PageTableLevelCount;
    struct {
        UINT SourcePageTableVaInTransfer : 1;
        UINT Reserved : 31;
    } LegacyBehaviors;
} DXGK_GPUMMUCAPS, *PDXGK_GPUMMUCAPS;

typedef struct _DXGK_QUERYGPUMMUCAPSIN {
    UINT PhysicalAdapterIndex;
} DXGK_QUERYGPUMMUCAPSIN, *PDXGK_QUERYGPUMMUCAPSIN;

/* One level of the page table; level 0 is the leaf. */
typedef struct _DXGK_PAGE_TABLE_LEVEL_DESC {
    UINT PageTableIndexBitCount;
    UINT PageTableSegmentId;
    UINT PagingProcessPageTableSegmentId;
    UINT PageTableSizeInBytes;
    UINT PageTableAlignmentInBytes;
} DXGK_PAGE_TABLE_LEVEL_DESC, *PDXGK_PAGE_TABLE_LEVEL_DESC;

typedef struct _DXGK_QUERYPAGETABLELEVELDESCIN {
    WORD LevelIndex;
    WORD PhysicalAdapterIndex;
} DXGK_QUERYPAGETABLELEVELDESCIN, *PDXGK_QUERYPAGETABLELEVELDESCIN;

typedef struct _DXGK_PHYSICALADAPTERFLAGS {
    union {
        struct {
            UINT IoMmuSupported : 1;
            UINT GpuMmuSupported : 1;
            UINT MovePagingSupported : 1;
            UINT VPRPagingContextRequired : 1;
            UINT AllowHardwareProtectedNoVpr : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_7
            UINT VirtualCopyEngineSupported : 1;
#else
            UINT : 1;
#endif
            UINT GpuVaIommuRequired : 1;
            UINT GpuVaIommuGlobalRequired : 1;
            UINT GpuVaIommuCacheCoherent : 1;
            UINT Reserved : 23;
        };
        UINT Value;
    };
} DXGK_PHYSICALADAPTERFLAGS, *PDXGK_PHYSICALADAPTERFLAGS;

typedef struct _DXGK_PHYSICALADAPTERCAPS {
    WORD NumExecutionNodes;
    WORD PagingNodeIndex;
    HANDLE DxgkPhysicalAdapterHandle;
    DXGK_PHYSICALADAPTERFLAGS Flags;
    UINT VPRPagingNode;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_7
    UINT VirtualCopyNodeIndex;
#endif
} DXGK_PHYSICALADAPTERCAPS, *PDXGK_PHYSICALADAPTERCAPS;

typedef struct _DXGK_QUERYPHYSICALADAPTERCAPSIN {
    UINT PhysicalAdapterIndex;
} DXGK_QUERYPHYSICALADAPTERCAPSIN, *PDXGK_QUERYPHYSICALADAPTERCAPSIN;

typedef struct _DXGK_IOMMU_CAPS {
    union {
        struct {
            UINT32 IommuIsolationSupported : 1;
            UINT32 IommuIsolationRequired : 1;
            UINT32 DmaRemappingSupported : 1;
            UINT32 GpuVaIommuRequired : 1;
            UINT32 GpuVaIommuGlobalRequired : 1;
            UINT32 Reserved : 27;
        };
        UINT32 Value;
    };
} DXGK_IOMMU_CAPS, *PDXGK_IOMMU_CAPS;

typedef struct _DXGK_PHYSICAL_MEMORY_CAPS {
    PHYSICAL_ADDRESS HighestVisibleAddress;
} DXGK_PHYSICAL_MEMORY_CAPS, *PDXGK_PHYSICAL_MEMORY_CAPS;

typedef struct _DXGK_QUERYSEGMENTCOUNTIN {
    UINT16 PhysicalAdapterIndex;
    UINT16 Padding;
    UINT32 Reserved;
} DXGK_QUERYSEGMENTCOUNTIN;

typedef struct _DXGK_QUERYSEGMENTCOUNTOUT {
    UINT16 SegmentCount;
    UINT16 Padding;
    UINT32 Reserved;
} DXGK_QUERYSEGMENTCOUNTOUT;

typedef struct _DXGK_QUERYPAGINGBUFFERINFOIN {
    UINT16 PhysicalAdapterIndex;
    UINT16 Reserved;
} DXGK_QUERYPAGINGBUFFERINFOIN;

typedef struct _DXGK_QUERYPAGINGBUFFERINFOOUT {
    UINT32 PagingBufferSize;
    UINT32 PagingBufferPrivateDataSize;
} DXGK_QUERYPAGINGBUFFERINFOOUT;

#endif
