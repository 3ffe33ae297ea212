/*
 * Allocations: creation, opening, description, standard allocations, swizzling ranges and the
 * CPU host aperture.
 *
 * Place  include/wdk/d3dkmddi. Rules: contract.md ALLOC, SWZ, CHA, RES.
 */
#ifndef D3DKMDDI_ALLOCATION_H
#define D3DKMDDI_ALLOCATION_H

#include "base.h"

typedef D3DDDI_SEGMENTPREFERENCE DXGK_SEGMENTPREFERENCE, *PDXGK_SEGMENTPREFERENCE;

/* Banks by number, most wanted first; 0 ends the list. A direction bit means from the top. */
typedef struct _DXGK_SEGMENTBANKPREFERENCE {
    union {
        struct {
            UINT Bank0 : 7;
            UINT Direction0 : 1;
            UINT Bank1 : 7;
            UINT Direction1 : 1;
            UINT Bank2 : 7;
            UINT Direction2 : 1;
            UINT Bank3 : 7;
            UINT Direction3 : 1;
        };
        UINT Value;
    };
} DXGK_SEGMENTBANKPREFERENCE, *PDXGK_SEGMENTBANKPREFERENCE;

typedef struct _DXGK_CREATEALLOCATIONFLAGS {
    union {
        struct {
            UINT Resource : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_CREATEALLOCATIONFLAGS, *PDXGK_CREATEALLOCATIONFLAGS;

typedef struct _DXGK_ALLOCATIONINFOFLAGS {
    union {
        struct {
            UINT CpuVisible : 1;
            UINT PermanentSysMem : 1;
            UINT Cached : 1;
            UINT Protected : 1;
            UINT ExistingSysMem : 1;
            UINT ExistingKernelSysMem : 1;
            UINT FromEndOfSegment : 1;
            UINT Swizzled : 1;
            UINT Overlay : 1;
            UINT Capture : 1;
            UINT UseAlternateVA : 1;
            UINT SynchronousPaging : 1;
            UINT LinkMirrored : 1;
            UINT LinkInstanced : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
            UINT HistoryBuffer : 1;
#else
            UINT : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
            UINT AccessedPhysically : 1;
            UINT ExplicitResidencyNotification : 1;
            UINT HardwareProtected : 1;
            UINT CpuVisibleOnDemand : 1;
#else
            UINT : 4;
#endif
            UINT DXGK_ALLOC_RESERVED16 : 1;
            UINT DXGK_ALLOC_RESERVED15 : 1;
            UINT DXGK_ALLOC_RESERVED14 : 1;
            UINT DXGK_ALLOC_RESERVED13 : 1;
            UINT DXGK_ALLOC_RESERVED12 : 1;
            UINT DXGK_ALLOC_RESERVED11 : 1;
            UINT DXGK_ALLOC_RESERVED10 : 1;
            UINT DXGK_ALLOC_RESERVED9 : 1;
            UINT DXGK_ALLOC_RESERVED4 : 1;
            UINT DXGK_ALLOC_RESERVED3 : 1;
            UINT DXGK_ALLOC_RESERVED2 : 1;
            UINT DXGK_ALLOC_RESERVED1 : 1;
            UINT DXGK_ALLOC_RESERVED0 : 1;
        };
        UINT Value;
    };
} DXGK_ALLOCATIONINFOFLAGS, *PDXGK_ALLOCATIONINFOFLAGS;

typedef struct _DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 {
    union {
        struct {
            UINT CpuVisible : 1;
            UINT PermanentSysMem : 1;
            UINT Cached : 1;
            UINT Protected : 1;
            UINT ExistingSysMem : 1;
            UINT ExistingKernelSysMem : 1;
            UINT FromEndOfSegment : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_1
            UINT DisableLargePageMapping : 1;
#else
            UINT : 1;
#endif
            UINT Overlay : 1;
            UINT Capture : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_1
            UINT CreateInVpr : 1;
#else
            UINT : 1;
#endif
            UINT DXGK_ALLOC_RESERVED17 : 1;
            UINT Reserved02 : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_9
            UINT MapApertureCpuVisible : 1;
#else
            UINT : 1;
#endif
            UINT HistoryBuffer : 1;
            UINT AccessedPhysically : 1;
            UINT ExplicitResidencyNotification : 1;
            UINT HardwareProtected : 1;
            UINT CpuVisibleOnDemand : 1;
            UINT DXGK_ALLOC_RESERVED16 : 1;
            UINT DXGK_ALLOC_RESERVED15 : 1;
            UINT DXGK_ALLOC_RESERVED14 : 1;
            UINT DXGK_ALLOC_RESERVED13 : 1;
            UINT DXGK_ALLOC_RESERVED12 : 1;
            UINT DXGK_ALLOC_RESERVED11 : 1;
            UINT DXGK_ALLOC_RESERVED10 : 1;
            UINT DXGK_ALLOC_RESERVED9 : 1;
            UINT DXGK_ALLOC_RESERVED4 : 1;
            UINT DXGK_ALLOC_RESERVED3 : 1;
            UINT DXGK_ALLOC_RESERVED2 : 1;
            UINT DXGK_ALLOC_RESERVED1 : 1;
            UINT DXGK_ALLOC_RESERVED0 : 1;
        };
        UINT Value;
    };
} DXGK_ALLOCATIONINFOFLAGS_WDDM2_0, *PDXGK_ALLOCATIONINFOFLAGS_WDDM2_0;

typedef struct _DXGK_ALLOCATIONINFOFLAGS2 {
    union {
        struct {
            UINT ShareBackingStoreWithKmd : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2
            UINT NoImplicitSynchronization : 1;
            UINT DisablePartialResidency : 1;
            UINT RestrictedToSingleSegment : 1;
            UINT NotifyEviction : 1;
            UINT NotifyIoMmuUnmap : 1;
#endif
            UINT Reserved : 26 + DXGK_BEFORE(WDDM3_2, 5);
        };
        UINT Value;
    };
} DXGK_ALLOCATIONINFOFLAGS2, *PDXGK_ALLOCATIONINFOFLAGS2;

typedef struct _DXGK_ALLOCATIONUSAGEINFO1 {
    union {
        struct {
            UINT PrivateFormat : 1;
            UINT Swizzled : 1;
            UINT MipMap : 1;
            UINT Cube : 1;
            UINT Volume : 1;
            UINT Vertex : 1;
            UINT Index : 1;
            UINT Reserved : 25;
        };
        UINT Value;
    } Flags;
    union {
        D3DDDIFORMAT Format;
        UINT PrivateFormat;
    };
    UINT SwizzledFormat;
    UINT ByteOffset;
    UINT Width;
    UINT Height;
    UINT Pitch;
    UINT Depth;
    UINT SlicePitch;
} DXGK_ALLOCATIONUSAGEINFO1, *PDXGK_ALLOCATIONUSAGEINFO1;

typedef struct _DXGK_ALLOCATIONUSAGEHINT {
    UINT Version;
    DXGK_ALLOCATIONUSAGEINFO1 v1;
} DXGK_ALLOCATIONUSAGEHINT, *PDXGK_ALLOCATIONUSAGEHINT;

/*
 * What a driver wants for one allocation. Bit n - 1 of a segment set stands for segment n.
 * FlagsWddm2 is the reading of Flags from WDDM 2.0 on.
 */
typedef struct _DXGK_ALLOCATIONINFO {
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    union {
        UINT Alignment;
        struct {
            UINT16 MinimumPageSize;
            UINT16 RecommendedPageSize;
        };
    };
    SIZE_T Size;
    SIZE_T PitchAlignedSize;
    DXGK_SEGMENTBANKPREFERENCE HintedBank;
    DXGK_SEGMENTPREFERENCE PreferredSegment;
    union {
        UINT SupportedReadSegmentSet;
        UINT MmuSet;
    };
    UINT SupportedWriteSegmentSet;
    UINT EvictionSegmentSet;
    union {
        UINT MaximumRenamingListLength;
        UINT PhysicalAdapterIndex;
    };
    HANDLE hAllocation;
    union {
        DXGK_ALLOCATIONINFOFLAGS Flags;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
        DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 FlagsWddm2;
#endif
    };
    DXGK_ALLOCATIONUSAGEHINT *pAllocationUsageHint;
    UINT AllocationPriority;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_0
    DXGK_ALLOCATIONINFOFLAGS2 Flags2;
#endif
} DXGK_ALLOCATIONINFO, *PDXGK_ALLOCATIONINFO;

typedef struct _DXGKARG_CREATEALLOCATION {
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    UINT NumAllocations;
    DXGK_ALLOCATIONINFO *pAllocationInfo;
    HANDLE hResource;
    DXGK_CREATEALLOCATIONFLAGS Flags;
} DXGKARG_CREATEALLOCATION, *PDXGKARG_CREATEALLOCATION;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEALLOCATION);

typedef struct _DXGK_DESTROYALLOCATIONFLAGS {
    union {
        struct {
            UINT DestroyResource : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_DESTROYALLOCATIONFLAGS, *PDXGK_DESTROYALLOCATIONFLAGS;

typedef struct _DXGKARG_DESTROYALLOCATION {
    UINT NumAllocations;
    HANDLE *pAllocationList;
    HANDLE hResource;
    DXGK_DESTROYALLOCATIONFLAGS Flags;
} DXGKARG_DESTROYALLOCATION, *PDXGKARG_DESTROYALLOCATION;
DXGK_ARGUMENT_POINTERS(DXGKARG_DESTROYALLOCATION);

typedef struct _DXGK_DESCRIBEALLOCATIONFLAGS {
    union {
        struct {
            UINT CheckDisplayMode : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_DESCRIBEALLOCATIONFLAGS, *PDXGK_DESCRIBEALLOCATIONFLAGS;

typedef struct _DXGKARG_DESCRIBEALLOCATION {
    HANDLE hAllocation;
    UINT Width;
    UINT Height;
    D3DDDIFORMAT Format;
    D3DDDI_MULTISAMPLINGMETHOD MultisampleMethod;
    D3DDDI_RATIONAL RefreshRate;
    UINT PrivateDriverFormatAttribute;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
    DXGK_DESCRIBEALLOCATIONFLAGS Flags;
    D3DDDI_ROTATION Rotation;
#endif
} DXGKARG_DESCRIBEALLOCATION, *PDXGKARG_DESCRIBEALLOCATION;
DXGK_ARGUMENT_POINTERS(DXGKARG_DESCRIBEALLOCATION);

typedef struct _DXGK_OPENALLOCATIONFLAGS {
    union {
        struct {
            UINT Create : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
            UINT ReadOnly : 1;
#endif
            UINT Reserved : 30 + DXGK_BEFORE(WIN8, 1);
        };
        UINT Value;
    };
} DXGK_OPENALLOCATIONFLAGS, *PDXGK_OPENALLOCATIONFLAGS;

typedef struct _DXGK_OPENALLOCATIONINFO {
    D3DKMT_HANDLE hAllocation;
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    HANDLE hDeviceSpecificAllocation;
} DXGK_OPENALLOCATIONINFO, *PDXGK_OPENALLOCATIONINFO;

typedef struct _DXGKARG_OPENALLOCATION {
    UINT NumAllocations;
    DXGK_OPENALLOCATIONINFO *pOpenAllocation;
    VOID *pPrivateDriverData;
    UINT PrivateDriverSize;
    DXGK_OPENALLOCATIONFLAGS Flags;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
    UINT SubresourceIndex;
    SIZE_T SubresourceOffset;
    UINT Pitch;
#endif
} DXGKARG_OPENALLOCATION, *PDXGKARG_OPENALLOCATION;
DXGK_ARGUMENT_POINTERS(DXGKARG_OPENALLOCATION);

typedef struct _DXGKARG_CLOSEALLOCATION {
    UINT NumAllocations;
    HANDLE *pOpenHandleList;
} DXGKARG_CLOSEALLOCATION, *PDXGKARG_CLOSEALLOCATION;
DXGK_ARGUMENT_POINTERS(DXGKARG_CLOSEALLOCATION);

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2
typedef struct _DXGKARG_FENCESTORAGEFLAGS {
    UINT Reserved;
} DXGKARG_FENCESTORAGEFLAGS;

/*
 * Storage of native fences. The answer is AllocationInfo: SupportedWriteSegmentSet,
 * EvictionSegmentSet and PreferredSegment.
 */
typedef struct _D3DKMDT_FENCESTORAGESURFACEDATA {
    UINT PhysicalAdapterIndex;
    DXGKARG_FENCESTORAGEVALUETYPE FenceStorageValueType;
    D3DDDI_NATIVEFENCE_TYPE FenceStorageType;
    UINT PrivateDriverDataSize;
    BYTE *pPrivateDriverData;
    DXGKARG_FENCESTORAGEFLAGS Flags;
    UINT Reserved;
    DXGK_ALLOCATIONINFO AllocationInfo;
} D3DKMDT_FENCESTORAGESURFACEDATA;
#endif

typedef struct _DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA {
    D3DKMDT_STANDARDALLOCATION_TYPE StandardAllocationType;
    union {
        D3DKMDT_SHAREDPRIMARYSURFACEDATA *pCreateSharedPrimarySurfaceData;
        D3DKMDT_SHADOWSURFACEDATA *pCreateShadowSurfaceData;
        D3DKMDT_STAGINGSURFACEDATA *pCreateStagingSurfaceData;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7
        D3DKMDT_GDISURFACEDATA *pCreateGdiSurfaceData;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_1
        D3DKMDT_VIRTUALGPUSURFACEDATA *pCreateVirtualGpuSurfaceData;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2
        D3DKMDT_FENCESTORAGESURFACEDATA *pCreateFenceStorageData;
#endif
    };
    VOID *pAllocationPrivateDriverData;
    UINT AllocationPrivateDriverDataSize;
    VOID *pResourcePrivateDriverData;
    UINT ResourcePrivateDriverDataSize;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
    UINT PhysicalAdapterIndex;
#endif
} DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA, *PDXGKARG_GETSTANDARDALLOCATIONDRIVERDATA;
DXGK_ARGUMENT_POINTERS(DXGKARG_GETSTANDARDALLOCATIONDRIVERDATA);

typedef struct _DXGKARG_SETALLOCATIONBACKINGSTORE {
    HANDLE hDriverAllocation;
    VOID *pBackingStore;
} DXGKARG_SETALLOCATIONBACKINGSTORE, *PDXGKARG_SETALLOCATIONBACKINGSTORE;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETALLOCATIONBACKINGSTORE);

typedef struct _DXGKARG_ACQUIRESWIZZLINGRANGE {
    HANDLE hAllocation;
    UINT PrivateDriverData;
    UINT RangeId;
    UINT SegmentId;
    SIZE_T RangeSize;
    PHYSICAL_ADDRESS CPUTranslatedAddress;
} DXGKARG_ACQUIRESWIZZLINGRANGE, *PDXGKARG_ACQUIRESWIZZLINGRANGE;
DXGK_ARGUMENT_POINTERS(DXGKARG_ACQUIRESWIZZLINGRANGE);

typedef struct _DXGKARG_RELEASESWIZZLINGRANGE {
    HANDLE hAllocation;
    UINT PrivateDriverData;
    UINT RangeId;
} DXGKARG_RELEASESWIZZLINGRANGE, *PDXGKARG_RELEASESWIZZLINGRANGE;
DXGK_ARGUMENT_POINTERS(DXGKARG_RELEASESWIZZLINGRANGE);

/* Maps page pMemorySegmentPages[i] of the segment at page pCpuHostAperturePages[i]. */
typedef struct _DXGKARG_MAPCPUHOSTAPERTURE {
    HANDLE hAllocation;
    WORD SegmentId;
    WORD PhysicalAdapterIndex;
    UINT64 NumberOfPages;
    UINT32 *pCpuHostAperturePages;
    UINT64 *pMemorySegmentPages;
} DXGKARG_MAPCPUHOSTAPERTURE, *PDXGKARG_MAPCPUHOSTAPERTURE;
DXGK_ARGUMENT_POINTERS(DXGKARG_MAPCPUHOSTAPERTURE);

typedef struct _DXGKARG_UNMAPCPUHOSTAPERTURE {
    UINT64 NumberOfPages;
    UINT32 *pCpuHostAperturePages;
    WORD SegmentId;
    WORD PhysicalAdapterIndex;
} DXGKARG_UNMAPCPUHOSTAPERTURE, *PDXGKARG_UNMAPCPUHOSTAPERTURE;
DXGK_ARGUMENT_POINTERS(DXGKARG_UNMAPCPUHOSTAPERTURE);

#endif
