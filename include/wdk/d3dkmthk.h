/*
 * The thunk interface: what user mode and the graphics kernel say to each other (D3DKMT functions).
 *
 * Place     include/wdk, above d3dkmdt.h. Drivers include it for the handles and structures that
 *           they share with user mode. A user-mode driver includes it for all.
 * Versions  The thunks are those of WDDM 2.0 and later; older drivers get the types of d3dkmdt.h.
 * ABI       On Linux (WSL, libdxcore.so) the structures are those of Windows x64, with these
 *           differences: a string of registry values has characters of 4 bytes, not 2
 *           (D3DKMT_WSL_WCHAR); HANDLE is a pointer that nobody follows; the calling convention is
 *           that of Linux (D3DKMT_CALL). NTSTATUS, LONG, ULONG and BOOL have 32 bits on both.
 *           d3dkmt/layout_test.c compares offsets and sizes with those that were measured.
 * Source    The reference pages of d3dkmthk.h and d3dukmdt.h. Written from them: no part is a copy.
 */
#ifndef _D3DKMTHK_H_
#define _D3DKMTHK_H_

#include "d3dkmdt.h"
#include "d3dkmthk/statistics.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0

/* A character of a registry name or value in D3DDDI_QUERYREGISTRY_INFO. */
#if defined(_WIN32)
typedef WCHAR D3DKMT_WSL_WCHAR;
#else
typedef UINT D3DKMT_WSL_WCHAR;
#endif

/* Functions of a Linux library have the calling convention of Linux. */
#if defined(_WIN32)
#define D3DKMT_CALL APIENTRY
#else
#define D3DKMT_CALL
#endif

/* A union of bits and of the word that they are in. */
#define D3DKMT_BITS(name, ...)                                                                     \
    typedef struct _##name {                                                                       \
        union {                                                                                    \
            struct {                                                                               \
                __VA_ARGS__                                                                        \
            };                                                                                     \
            UINT Value;                                                                            \
        };                                                                                         \
    } name

/* ---- Adapters -------------------------------------------------------------------------------- */

typedef struct _D3DKMT_OPENADAPTERFROMLUID {
    LUID AdapterLuid;       /* in */
    D3DKMT_HANDLE hAdapter; /* out */
} D3DKMT_OPENADAPTERFROMLUID;

typedef struct _D3DKMT_CLOSEADAPTER {
    D3DKMT_HANDLE hAdapter;
} D3DKMT_CLOSEADAPTER;

typedef struct _D3DKMT_ADAPTERINFO {
    D3DKMT_HANDLE hAdapter;
    LUID AdapterLuid;
    ULONG NumOfSources;
    BOOL bPrecisePresentRegionsPreferred;
} D3DKMT_ADAPTERINFO;

typedef struct _D3DKMT_ENUMADAPTERS2 {
    ULONG NumAdapters;             /* in: room in pAdapters; out: how many there are */
    D3DKMT_ADAPTERINFO *pAdapters; /* out; NULL: the number is asked for alone */
} D3DKMT_ENUMADAPTERS2;

typedef union _D3DKMT_ENUMADAPTERS_FILTER {
    struct {
        ULONGLONG IncludeComputeOnly : 1;
        ULONGLONG IncludeDisplayOnly : 1;
        ULONGLONG Reserved : 62;
    };
    ULONGLONG Value;
} D3DKMT_ENUMADAPTERS_FILTER;

typedef struct _D3DKMT_ENUMADAPTERS3 {
    D3DKMT_ENUMADAPTERS_FILTER Filter;
    ULONG NumAdapters;
    D3DKMT_ADAPTERINFO *pAdapters;
} D3DKMT_ENUMADAPTERS3;

typedef enum _KMTQUERYADAPTERINFOTYPE {
    KMTQAITYPE_UMDRIVERPRIVATE = 0,
    KMTQAITYPE_GETSEGMENTSIZE = 3,
    KMTQAITYPE_ADAPTERGUID = 4,
    KMTQAITYPE_ADAPTERADDRESS = 6,
    KMTQAITYPE_ADAPTERREGISTRYINFO = 8,
    KMTQAITYPE_DRIVERVERSION = 13,
    KMTQAITYPE_ADAPTERTYPE = 15,
    KMTQAITYPE_NODEMETADATA = 25,
    KMTQAITYPE_PHYSICALADAPTERCOUNT = 30,
    KMTQAITYPE_PHYSICALADAPTERDEVICEIDS = 31,
    KMTQAITYPE_QUERYREGISTRY = 48,
} KMTQUERYADAPTERINFOTYPE;

/* Where the adapter is on its bus. */
typedef struct _D3DKMT_ADAPTERADDRESS {
    UINT BusNumber;
    UINT DeviceNumber;
    UINT FunctionNumber;
} D3DKMT_ADAPTERADDRESS;

/* BusType is 5 for PCI: the PCIBus of INTERFACE_TYPE. */
typedef struct _D3DKMT_DEVICE_IDS {
    UINT VendorID;
    UINT DeviceID;
    UINT SubVendorID;
    UINT SubSystemID;
    UINT RevisionID;
    UINT BusType;
} D3DKMT_DEVICE_IDS;

typedef struct _D3DKMT_QUERY_DEVICE_IDS {
    UINT PhysicalAdapterIndex;   /* in */
    D3DKMT_DEVICE_IDS DeviceIds; /* out */
} D3DKMT_QUERY_DEVICE_IDS;

/*
 * Of KMTQAITYPE_NODEMETADATA: D3DKMT_NODEMETADATA of d3dkmddi.h, but for characters of 4 bytes in
 * FriendlyName on Linux. It has no padding.
 */
#define D3DKMT_NODE_NAME_LENGTH 32
#pragma pack(push, 1)
typedef struct _D3DKMT_WSL_NODEMETADATA {
    UINT NodeOrdinalAndAdapterIndex; /* in: the node in the low half */
    struct {
        UINT EngineType; /* DXGK_ENGINE_TYPE */
        D3DKMT_WSL_WCHAR FriendlyName[D3DKMT_NODE_NAME_LENGTH];
        UINT Flags; /* DXGK_NODEMETADATA_FLAGS */
        BOOLEAN GpuMmuSupported;
        BOOLEAN IoMmuSupported;
    } NodeData; /* out */
} D3DKMT_WSL_NODEMETADATA;
#pragma pack(pop)

typedef struct _D3DKMT_QUERYADAPTERINFO {
    D3DKMT_HANDLE hAdapter;
    KMTQUERYADAPTERINFOTYPE Type;
    VOID *pPrivateDriverData; /* in and out, by Type */
    UINT PrivateDriverDataSize;
} D3DKMT_QUERYADAPTERINFO;

D3DKMT_BITS(D3DKMT_ADAPTERTYPE, UINT RenderSupported : 1; UINT DisplaySupported : 1;
            UINT SoftwareDevice : 1; UINT PostDevice : 1; UINT HybridDiscrete : 1;
            UINT HybridIntegrated : 1; UINT IndirectDisplayDevice : 1; UINT Paravirtualized : 1;
            UINT ACGSupported : 1; UINT SupportSetTimingsFromVidPn : 1; UINT Detachable : 1;
            UINT ComputeOnly : 1; UINT Prototype : 1; UINT Reserved : 19;);

typedef enum _D3DKMT_DRIVERVERSION {
    KMT_DRIVERVERSION_WDDM_1_0 = 1000,
    KMT_DRIVERVERSION_WDDM_2_0 = 2000,
    KMT_DRIVERVERSION_WDDM_2_1 = 2100,
    KMT_DRIVERVERSION_WDDM_2_2 = 2200,
    KMT_DRIVERVERSION_WDDM_2_3 = 2300,
    KMT_DRIVERVERSION_WDDM_2_4 = 2400,
    KMT_DRIVERVERSION_WDDM_2_5 = 2500,
    KMT_DRIVERVERSION_WDDM_2_6 = 2600,
    KMT_DRIVERVERSION_WDDM_2_7 = 2700,
    KMT_DRIVERVERSION_WDDM_2_8 = 2800,
    KMT_DRIVERVERSION_WDDM_2_9 = 2900,
    KMT_DRIVERVERSION_WDDM_3_0 = 3000,
    KMT_DRIVERVERSION_WDDM_3_1 = 3100,
    KMT_DRIVERVERSION_WDDM_3_2 = 3200,
} D3DKMT_DRIVERVERSION;

typedef struct _D3DKMT_SEGMENTSIZEINFO {
    D3DKMT_ALIGN64 ULONGLONG DedicatedVideoMemorySize;
    D3DKMT_ALIGN64 ULONGLONG DedicatedSystemMemorySize;
    D3DKMT_ALIGN64 ULONGLONG SharedSystemMemorySize;
} D3DKMT_SEGMENTSIZEINFO;

#define D3DDDI_QUERYREGISTRY_NAME_CHARACTERS 260

typedef struct _D3DDDI_QUERYREGISTRY_INFO {
    D3DDDI_QUERYREGISTRY_TYPE QueryType;                              /* in */
    UINT QueryFlags;                                                  /* in */
    D3DKMT_WSL_WCHAR ValueName[D3DDDI_QUERYREGISTRY_NAME_CHARACTERS]; /* in */
    ULONG ValueType;                                                  /* in */
    ULONG PhysicalAdapterIndex;                                       /* in */
    ULONG OutputValueSize;              /* out: bytes of the value, also when it has no room */
    D3DDDI_QUERYREGISTRY_STATUS Status; /* out */
    union {
        DWORD OutputDword;
        D3DKMT_ALIGN64 UINT64 OutputQword;
        D3DKMT_WSL_WCHAR OutputString[1]; /* to the end of the buffer */
        BYTE OutputBinary[1];
    };
} D3DDDI_QUERYREGISTRY_INFO;

typedef enum _D3DKMT_ESCAPETYPE {
    D3DKMT_ESCAPE_DRIVERPRIVATE = 0,
} D3DKMT_ESCAPETYPE;

typedef struct _D3DKMT_ESCAPE {
    D3DKMT_HANDLE hAdapter;
    D3DKMT_HANDLE hDevice; /* 0: none */
    D3DKMT_ESCAPETYPE Type;
    D3DDDI_ESCAPEFLAGS Flags;
    VOID *pPrivateDriverData; /* in and out */
    UINT PrivateDriverDataSize;
    D3DKMT_HANDLE hContext; /* 0: none */
} D3DKMT_ESCAPE;

typedef enum _D3DKMT_MEMORY_SEGMENT_GROUP {
    D3DKMT_MEMORY_SEGMENT_GROUP_LOCAL = 0,
    D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL = 1,
} D3DKMT_MEMORY_SEGMENT_GROUP;

typedef struct _D3DKMT_QUERYVIDEOMEMORYINFO {
    HANDLE hProcess;                                /* in; NULL: the caller's process */
    D3DKMT_HANDLE hAdapter;                         /* in */
    D3DKMT_MEMORY_SEGMENT_GROUP MemorySegmentGroup; /* in */
    UINT64 Budget;                                  /* out, bytes */
    UINT64 CurrentUsage;
    UINT64 CurrentReservation;
    UINT64 AvailableForReservation;
    UINT PhysicalAdapterIndex; /* in */
} D3DKMT_QUERYVIDEOMEMORYINFO;

typedef struct _D3DKMT_CHANGEVIDEOMEMORYRESERVATION {
    HANDLE hProcess; /* NULL: the caller's process */
    D3DKMT_HANDLE hAdapter;
    D3DKMT_MEMORY_SEGMENT_GROUP MemorySegmentGroup;
    UINT64 Reservation; /* bytes, at most AvailableForReservation */
    UINT PhysicalAdapterIndex;
} D3DKMT_CHANGEVIDEOMEMORYRESERVATION;

/* ---- Devices, contexts, paging queues -------------------------------------------------------- */

D3DKMT_BITS(D3DKMT_CREATEDEVICEFLAGS, UINT LegacyMode : 1; UINT RequestVSync : 1;
            UINT DisableGpuTimeout : 1; UINT TestDevice : 1; UINT Reserved : 28;);

typedef struct _D3DKMT_CREATEDEVICE {
    union {
        D3DKMT_HANDLE hAdapter; /* in */
        VOID *pAdapter;
    };
    D3DKMT_CREATEDEVICEFLAGS Flags; /* in */
    D3DKMT_HANDLE hDevice;          /* out */
    /* out, of drivers below WDDM 2.0 */
    VOID *pCommandBuffer;
    UINT CommandBufferSize;
    D3DDDI_ALLOCATIONLIST *pAllocationList;
    UINT AllocationListSize;
    D3DDDI_PATCHLOCATIONLIST *pPatchLocationList;
    UINT PatchLocationListSize;
} D3DKMT_CREATEDEVICE;

/* hProcess NULL: of the caller. */
typedef struct _D3DKMT_QUERYSTATISTICS {
    D3DKMT_QUERYSTATISTICS_TYPE Type;
    LUID AdapterLuid;
    HANDLE hProcess;
    D3DKMT_QUERYSTATISTICS_RESULT QueryResult; /* out */
    union {
        D3DKMT_QUERYSTATISTICS_QUERY_SEGMENT QuerySegment;
        D3DKMT_QUERYSTATISTICS_QUERY_SEGMENT QueryProcessSegment;
        D3DKMT_MEMORY_SEGMENT_GROUP QueryProcessSegmentGroup;
        D3DKMT_QUERYSTATISTICS_QUERY_NODE QueryNode;
        D3DKMT_QUERYSTATISTICS_QUERY_NODE QueryProcessNode;
    };
} D3DKMT_QUERYSTATISTICS;

typedef struct _D3DKMT_DESTROYDEVICE {
    D3DKMT_HANDLE hDevice;
} D3DKMT_DESTROYDEVICE;

typedef enum _D3DKMT_DEVICESTATE_TYPE {
    D3DKMT_DEVICESTATE_EXECUTION = 1,
    D3DKMT_DEVICESTATE_PRESENT = 2,
    D3DKMT_DEVICESTATE_RESET = 3,
    D3DKMT_DEVICESTATE_PRESENT_DWM = 4,
    D3DKMT_DEVICESTATE_PAGE_FAULT = 5,
    D3DKMT_DEVICESTATE_PRESENT_QUEUE = 6,
} D3DKMT_DEVICESTATE_TYPE;

typedef enum _D3DKMT_DEVICEEXECUTION_STATE {
    D3DKMT_DEVICEEXECUTION_ACTIVE = 1,
    D3DKMT_DEVICEEXECUTION_RESET = 2,
    D3DKMT_DEVICEEXECUTION_HUNG = 3,
    D3DKMT_DEVICEEXECUTION_STOPPED = 4,
    D3DKMT_DEVICEEXECUTION_ERROR_OUTOFMEMORY = 5,
    D3DKMT_DEVICEEXECUTION_ERROR_DMAFAULT = 6,
    D3DKMT_DEVICEEXECUTION_ERROR_DMAPAGEFAULT = 7,
} D3DKMT_DEVICEEXECUTION_STATE;

D3DKMT_BITS(D3DKMT_DEVICERESET_STATE, UINT DesktopSwitched : 1; UINT Reserved : 31;);

typedef struct _D3DKMT_DEVICEPAGEFAULT_STATE {
    UINT64 FaultedPrimitiveAPISequenceNumber;
    UINT FaultedPipelineStage;
    UINT FaultedBindTableEntry;
    UINT PageFaultFlags;
    UINT FaultErrorCode;
    D3DGPU_VIRTUAL_ADDRESS FaultedVirtualAddress;
} D3DKMT_DEVICEPAGEFAULT_STATE;

typedef struct _D3DKMT_GETDEVICESTATE {
    D3DKMT_HANDLE hDevice;
    D3DKMT_DEVICESTATE_TYPE StateType;
    union {
        D3DKMT_DEVICEEXECUTION_STATE ExecutionState;
        D3DKMT_DEVICERESET_STATE ResetState;
        D3DKMT_DEVICEPAGEFAULT_STATE PageFaultState;
        UINT64 Reserved[6]; /* statistics of presents, which have no members here */
    };
} D3DKMT_GETDEVICESTATE;

typedef enum _D3DKMT_CLIENTHINT {
    D3DKMT_CLIENTHINT_UNKNOWN = 0,
    D3DKMT_CLIENTHINT_OPENGL = 1,
    D3DKMT_CLIENTHINT_CDD = 2,
    D3DKMT_CLIENTHINT_OPENCL = 3,
    D3DKMT_CLIENTHINT_VULKAN = 4,
    D3DKMT_CLIENTHINT_CUDA = 5,
    D3DKMT_CLIENTHINT_RESERVED = 6,
    D3DKMT_CLIENTHINT_DX7 = 7,
    D3DKMT_CLIENTHINT_DX8 = 8,
    D3DKMT_CLIENTHINT_DX9 = 9,
    D3DKMT_CLIENTHINT_DX10 = 10,
    D3DKMT_CLIENTHINT_DX11 = 11,
    D3DKMT_CLIENTHINT_DX12 = 12,
} D3DKMT_CLIENTHINT;

typedef struct _D3DKMT_CREATECONTEXTVIRTUAL {
    D3DKMT_HANDLE hDevice;
    UINT NodeOrdinal;
    UINT EngineAffinity;
    D3DDDI_CREATECONTEXTFLAGS Flags;
    VOID *pPrivateDriverData; /* in */
    UINT PrivateDriverDataSize;
    D3DKMT_CLIENTHINT ClientHint;
    D3DKMT_HANDLE hContext; /* out */
} D3DKMT_CREATECONTEXTVIRTUAL;

typedef struct _D3DKMT_DESTROYCONTEXT {
    D3DKMT_HANDLE hContext;
} D3DKMT_DESTROYCONTEXT;

typedef struct _D3DKMT_SETCONTEXTSCHEDULINGPRIORITY {
    D3DKMT_HANDLE hContext;
    INT Priority; /* -7 to 7 */
} D3DKMT_SETCONTEXTSCHEDULINGPRIORITY;

typedef D3DKMT_SETCONTEXTSCHEDULINGPRIORITY D3DKMT_GETCONTEXTSCHEDULINGPRIORITY;

typedef struct _D3DKMT_CREATEPAGINGQUEUE {
    D3DKMT_HANDLE hDevice;
    D3DDDI_PAGINGQUEUE_PRIORITY Priority;
    D3DKMT_HANDLE hPagingQueue;        /* out */
    D3DKMT_HANDLE hSyncObject;         /* out: the paging fence, a monitored fence */
    VOID *FenceValueCPUVirtualAddress; /* out: 8 bytes, read only */
    UINT PhysicalAdapterIndex;
} D3DKMT_CREATEPAGINGQUEUE;

/* ---- Allocations ----------------------------------------------------------------------------- */

typedef struct _D3DDDI_ALLOCATIONINFO2 {
    D3DKMT_HANDLE hAllocation; /* out */
    union {
        HANDLE hSection;        /* in, with ExistingSection */
        const VOID *pSystemMem; /* in: the allocation is this memory of the client's */
    };
    VOID *pPrivateDriverData; /* in and out */
    UINT PrivateDriverDataSize;
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    union {
        struct {
            UINT Primary : 1;
            UINT Stereo : 1;
            UINT OverridePriority : 1;
            UINT Reserved : 29;
        };
        UINT Value;
    } Flags;
    D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress; /* out, with a driver that has no page tables */
    union {
        UINT Priority; /* in, with OverridePriority */
        ULONG_PTR Unused;
    };
    ULONG_PTR Reserved[5];
} D3DDDI_ALLOCATIONINFO2;

D3DKMT_BITS(D3DKMT_CREATEALLOCATIONFLAGS, UINT CreateResource : 1; UINT CreateShared : 1;
            UINT NonSecure : 1; UINT CreateProtected : 1; UINT RestrictSharedAccess : 1;
            UINT ExistingSysMem : 1; UINT NtSecuritySharing : 1; UINT ReadOnly : 1;
            UINT CreateWriteCombined : 1; UINT CreateCached : 1; UINT SwapChainBackBuffer : 1;
            UINT CrossAdapter : 1; UINT OpenCrossAdapter : 1; UINT PartialSharedCreation : 1;
            UINT Zeroed : 1; UINT WriteWatch : 1; UINT StandardAllocation : 1;
            UINT ExistingSection : 1; UINT Reserved : 14;);

typedef struct _D3DKMT_CREATEALLOCATION {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hResource;    /* in, or out with CreateResource */
    D3DKMT_HANDLE hGlobalShare; /* out, with CreateShared and without NtSecuritySharing */
    const VOID *pPrivateRuntimeData;
    UINT PrivateRuntimeDataSize;
    const VOID *pPrivateDriverData; /* in: of the resource */
    UINT PrivateDriverDataSize;
    UINT NumAllocations;
    union {
        D3DDDI_ALLOCATIONINFO *pAllocationInfo;   /* D3DKMTCreateAllocation */
        D3DDDI_ALLOCATIONINFO2 *pAllocationInfo2; /* D3DKMTCreateAllocation2 */
    };
    D3DKMT_CREATEALLOCATIONFLAGS Flags;
    HANDLE hPrivateRuntimeResourceHandle;
} D3DKMT_CREATEALLOCATION;

typedef struct _D3DKMT_DESTROYALLOCATION2 {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hResource; /* with no list: all of the resource */
    const D3DKMT_HANDLE *phAllocationList;
    UINT AllocationCount;
    D3DDDICB_DESTROYALLOCATION2FLAGS Flags;
} D3DKMT_DESTROYALLOCATION2;

typedef struct _D3DKMT_LOCK2 {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hAllocation;
    D3DDDICB_LOCK2FLAGS Flags;
    VOID *pData; /* out */
} D3DKMT_LOCK2;

typedef struct _D3DKMT_UNLOCK2 {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hAllocation;
} D3DKMT_UNLOCK2;

typedef struct _D3DKMT_SETALLOCATIONPRIORITY {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hResource; /* with no list: all of the resource */
    const D3DKMT_HANDLE *phAllocationList;
    UINT AllocationCount;
    const UINT *pPriorities; /* one for each */
} D3DKMT_SETALLOCATIONPRIORITY;

typedef struct _D3DKMT_INVALIDATECACHE {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hAllocation;
    SIZE_T Offset;
    SIZE_T Length;
} D3DKMT_INVALIDATECACHE;

typedef struct _D3DKMT_QUERYRESOURCEINFO {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hGlobalShare;
    VOID *pPrivateRuntimeData;
    UINT PrivateRuntimeDataSize;
    UINT TotalPrivateDriverDataSize;
    UINT ResourcePrivateDriverDataSize;
    UINT NumAllocations;
} D3DKMT_QUERYRESOURCEINFO;

typedef struct _D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE {
    D3DKMT_HANDLE hDevice;
    HANDLE hNtHandle;
    VOID *pPrivateRuntimeData;
    UINT PrivateRuntimeDataSize;
    UINT TotalPrivateDriverDataSize;
    UINT ResourcePrivateDriverDataSize;
    UINT NumAllocations;
} D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE;

typedef struct _D3DDDI_OPENALLOCATIONINFO2 {
    D3DKMT_HANDLE hAllocation; /* out */
    const VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    D3DGPU_VIRTUAL_ADDRESS GpuVirtualAddress;
    ULONG_PTR Reserved[6];
} D3DDDI_OPENALLOCATIONINFO2;

typedef struct _D3DKMT_OPENRESOURCE {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hGlobalShare;
    UINT NumAllocations;
    D3DDDI_OPENALLOCATIONINFO2 *pOpenAllocationInfo2;
    VOID *pPrivateRuntimeData;
    UINT PrivateRuntimeDataSize;
    VOID *pResourcePrivateDriverData;
    UINT ResourcePrivateDriverDataSize;
    VOID *pTotalPrivateDriverDataBuffer;
    UINT TotalPrivateDriverDataBufferSize;
    D3DKMT_HANDLE hResource; /* out */
} D3DKMT_OPENRESOURCE;

typedef struct _D3DKMT_OPENRESOURCEFROMNTHANDLE {
    D3DKMT_HANDLE hDevice;
    HANDLE hNtHandle;
    UINT NumAllocations;
    D3DDDI_OPENALLOCATIONINFO2 *pOpenAllocationInfo2;
    UINT PrivateRuntimeDataSize;
    VOID *pPrivateRuntimeData;
    UINT ResourcePrivateDriverDataSize;
    VOID *pResourcePrivateDriverData;
    UINT TotalPrivateDriverDataBufferSize;
    VOID *pTotalPrivateDriverDataBuffer;
    D3DKMT_HANDLE hResource; /* out */
    D3DKMT_HANDLE hKeyedMutex;
    VOID *pKeyedMutexPrivateRuntimeData;
    UINT KeyedMutexPrivateRuntimeDataSize;
    D3DKMT_HANDLE hSyncObject;
} D3DKMT_OPENRESOURCEFROMNTHANDLE;

/* ---- Residency ------------------------------------------------------------------------------- */

typedef struct _D3DKMT_EVICT {
    D3DKMT_HANDLE hDevice;
    UINT NumAllocations;
    const D3DKMT_HANDLE *AllocationList;
    D3DDDI_EVICT_FLAGS Flags;
    UINT64 NumBytesToTrim; /* out */
} D3DKMT_EVICT;

typedef enum _D3DKMT_OFFER_PRIORITY {
    D3DKMT_OFFER_PRIORITY_LOW = 1,
    D3DKMT_OFFER_PRIORITY_NORMAL = 2,
    D3DKMT_OFFER_PRIORITY_HIGH = 3,
    D3DKMT_OFFER_PRIORITY_AUTO = 4,
} D3DKMT_OFFER_PRIORITY;

D3DKMT_BITS(D3DKMT_OFFER_FLAGS, UINT OfferImmediately : 1; UINT AllowDecommit : 1;
            UINT Reserved : 30;);

typedef struct _D3DKMT_OFFERALLOCATIONS {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE *pResources;       /* or ... */
    const D3DKMT_HANDLE *HandleList; /* ... allocations; the other one is NULL */
    UINT NumAllocations;             /* of the list that is there */
    D3DKMT_OFFER_PRIORITY Priority;
    D3DKMT_OFFER_FLAGS Flags;
} D3DKMT_OFFERALLOCATIONS;

typedef struct _D3DKMT_RECLAIMALLOCATIONS2 {
    D3DKMT_HANDLE hPagingQueue;
    UINT NumAllocations;
    D3DKMT_HANDLE *pResources;
    const D3DKMT_HANDLE *HandleList;
    union {
        BOOL *pDiscarded;                /* below WDDM 2.1 */
        D3DDDI_RECLAIM_RESULT *pResults; /* out, one for each */
    };
    UINT64 PagingFenceValue; /* out */
} D3DKMT_RECLAIMALLOCATIONS2;

typedef struct _D3DKMT_TRIMNOTIFICATION {
    VOID *Context;
    D3DDDI_TRIMRESIDENCYSET_FLAGS Flags;
    UINT64 NumBytesToTrim;
} D3DKMT_TRIMNOTIFICATION;

typedef VOID(D3DKMT_CALL *PFND3DKMT_TRIMNOTIFICATIONCALLBACK)(D3DKMT_TRIMNOTIFICATION *);

typedef struct _D3DKMT_REGISTERTRIMNOTIFICATION {
    LUID AdapterLuid;
    D3DKMT_HANDLE hDevice;
    PFND3DKMT_TRIMNOTIFICATIONCALLBACK Callback;
    VOID *Context;
    VOID *Handle; /* out */
} D3DKMT_REGISTERTRIMNOTIFICATION;

typedef struct _D3DKMT_UNREGISTERTRIMNOTIFICATION {
    VOID *Handle;
    PFND3DKMT_TRIMNOTIFICATIONCALLBACK Callback;
} D3DKMT_UNREGISTERTRIMNOTIFICATION;

/* ---- GPU virtual addresses ------------------------------------------------------------------- */

typedef struct _D3DKMT_FREEGPUVIRTUALADDRESS {
    D3DKMT_HANDLE hAdapter;
    D3DGPU_VIRTUAL_ADDRESS BaseAddress;
    D3DGPU_SIZE_T Size;
} D3DKMT_FREEGPUVIRTUALADDRESS;

typedef struct _D3DKMT_UPDATEGPUVIRTUALADDRESS {
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hContext;
    D3DKMT_HANDLE hFenceObject; /* waited for, then signalled with FenceValue + 1; 0: none */
    UINT NumOperations;
    D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION *Operations;
    UINT64 Reserved0;
    UINT64 Reserved1;
    UINT64 FenceValue;
    union {
        struct {
            UINT DoNotWait : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    } Flags;
} D3DKMT_UPDATEGPUVIRTUALADDRESS;

/* ---- Submission ------------------------------------------------------------------------------ */

D3DKMT_BITS(D3DKMT_SUBMITCOMMANDFLAGS, UINT NullRendering : 1; UINT PresentRedirected : 1;
            UINT NoKmdAccess : 1; UINT Reserved : 29;);

typedef struct _D3DKMT_SUBMITCOMMAND {
    D3DGPU_VIRTUAL_ADDRESS Commands;
    UINT CommandLength; /* bytes */
    D3DKMT_SUBMITCOMMANDFLAGS Flags;
    UINT64 PresentHistoryToken;
    UINT BroadcastContextCount; /* at least 1 */
    D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];
    VOID *pPrivateDriverData; /* in */
    UINT PrivateDriverDataSize;
    UINT NumPrimaries;
    D3DKMT_HANDLE WrittenPrimaries[D3DDDI_MAX_WRITTEN_PRIMARIES];
    UINT NumHistoryBuffers;
    D3DKMT_HANDLE *HistoryBufferArray;
} D3DKMT_SUBMITCOMMAND;

typedef struct _D3DKMT_CREATEHWQUEUE {
    D3DKMT_HANDLE hHwContext;
    D3DDDI_CREATEHWQUEUEFLAGS Flags;
    UINT PrivateDriverDataSize;
    VOID *pPrivateDriverData;
    D3DKMT_HANDLE hHwQueue;                                       /* out */
    D3DKMT_HANDLE hHwQueueProgressFence;                          /* out */
    VOID *HwQueueProgressFenceCPUVirtualAddress;                  /* out */
    D3DGPU_VIRTUAL_ADDRESS HwQueueProgressFenceGPUVirtualAddress; /* out */
} D3DKMT_CREATEHWQUEUE;

typedef struct _D3DKMT_DESTROYHWQUEUE {
    D3DKMT_HANDLE hHwQueue;
} D3DKMT_DESTROYHWQUEUE;

typedef struct _D3DKMT_SUBMITCOMMANDTOHWQUEUE {
    D3DKMT_HANDLE hHwQueue;
    UINT64 HwQueueProgressFenceId;
    D3DGPU_VIRTUAL_ADDRESS CommandBuffer;
    UINT CommandLength;
    UINT PrivateDriverDataSize;
    VOID *pPrivateDriverData;
    UINT NumPrimaries;
    const D3DKMT_HANDLE *WrittenPrimaries;
} D3DKMT_SUBMITCOMMANDTOHWQUEUE;

typedef struct _D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE {
    D3DKMT_HANDLE hHwQueue;
    UINT ObjectCount;
    const D3DKMT_HANDLE *ObjectHandleArray;
    const UINT64 *FenceValueArray;
} D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE;

typedef struct _D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE {
    D3DDDICB_SIGNALFLAGS Flags;
    ULONG BroadcastHwQueueCount;
    const D3DKMT_HANDLE *BroadcastHwQueueArray;
    UINT ObjectCount;
    const D3DKMT_HANDLE *ObjectHandleArray;
    const UINT64 *FenceValueArray;
} D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE;

/* ---- Synchronization objects ----------------------------------------------------------------- */

typedef struct _D3DKMT_CREATESYNCHRONIZATIONOBJECT {
    D3DKMT_HANDLE hDevice;
    D3DDDI_SYNCHRONIZATIONOBJECTINFO Info;
    D3DKMT_HANDLE hSyncObject; /* out */
} D3DKMT_CREATESYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_CREATESYNCHRONIZATIONOBJECT2 {
    D3DKMT_HANDLE hDevice;
    D3DDDI_SYNCHRONIZATIONOBJECTINFO2 Info;
    D3DKMT_HANDLE hSyncObject; /* out */
} D3DKMT_CREATESYNCHRONIZATIONOBJECT2;

/* Of objects that are no monitored fences, which need a device: see ...FROMNTHANDLE2. */
typedef struct _D3DKMT_OPENSYNCHRONIZATIONOBJECT {
    D3DKMT_HANDLE hSharedHandle; /* in */
    D3DKMT_HANDLE hSyncObject;   /* out */
    UINT64 Reserved[8];
} D3DKMT_OPENSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_OPENSYNCOBJECTFROMNTHANDLE {
    HANDLE hNtHandle;          /* in */
    D3DKMT_HANDLE hSyncObject; /* out */
} D3DKMT_OPENSYNCOBJECTFROMNTHANDLE;

/* Of a monitored fence: what the device may do with it is its own (Flags). */
typedef struct _D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 {
    HANDLE hNtHandle;                         /* in */
    D3DKMT_HANDLE hDevice;                    /* in */
    D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS Flags; /* in */
    D3DKMT_HANDLE hSyncObject;                /* out */
    union {
        struct {
            VOID *FenceValueCPUVirtualAddress;                                 /* out */
            D3DKMT_ALIGN64 D3DGPU_VIRTUAL_ADDRESS FenceValueGPUVirtualAddress; /* out */
            UINT EngineAffinity;                                               /* in */
        } MonitoredFence;
        D3DKMT_ALIGN64 UINT64 Reserved[8];
    };
} D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2;

typedef struct _D3DKMT_DESTROYSYNCHRONIZATIONOBJECT {
    D3DKMT_HANDLE hSyncObject;
} D3DKMT_DESTROYSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECT {
    D3DKMT_HANDLE hContext;
    UINT ObjectCount;
    D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_SIGNALED];
    D3DDDICB_SIGNALFLAGS Flags;
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 {
    D3DKMT_HANDLE hContext;
    UINT ObjectCount;
    D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_SIGNALED];
    D3DDDICB_SIGNALFLAGS Flags;
    ULONG BroadcastContextCount; /* beside hContext */
    D3DKMT_HANDLE BroadcastContext[D3DDDI_MAX_BROADCAST_CONTEXT];
    union {
        struct {
            UINT64 FenceValue;
        } Fence;
        HANDLE CpuEventHandle; /* with EnqueueCpuEvent */
        UINT64 Reserved[8];
    };
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2;

typedef struct _D3DKMT_WAITFORSYNCHRONIZATIONOBJECT {
    D3DKMT_HANDLE hContext;
    UINT ObjectCount;
    D3DKMT_HANDLE ObjectHandleArray[D3DDDI_MAX_OBJECT_WAITED_ON];
} D3DKMT_WAITFORSYNCHRONIZATIONOBJECT;

typedef struct _D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU {
    D3DKMT_HANDLE hDevice;
    UINT ObjectCount;
    const D3DKMT_HANDLE *ObjectHandleArray;
    const UINT64 *FenceValueArray;
    HANDLE hAsyncEvent; /* NULL: the call returns when the fences have the values */
    D3DDDI_WAITFORSYNCHRONIZATIONOBJECTFROMCPU_FLAGS Flags;
} D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU {
    D3DKMT_HANDLE hDevice;
    UINT ObjectCount;
    const D3DKMT_HANDLE *ObjectHandleArray;
    const UINT64 *FenceValueArray;
    D3DDDICB_SIGNALFLAGS Flags;
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU;

typedef struct _D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU {
    D3DKMT_HANDLE hContext;
    UINT ObjectCount;
    const D3DKMT_HANDLE *ObjectHandleArray;
    union {
        const UINT64 *MonitoredFenceValueArray;
        UINT64 FenceValue;
        UINT64 Reserved[8];
    };
} D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU {
    D3DKMT_HANDLE hContext;
    UINT ObjectCount;
    const D3DKMT_HANDLE *ObjectHandleArray;
    union {
        const UINT64 *MonitoredFenceValueArray;
        UINT64 Reserved[8];
    };
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU;

typedef struct _D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 {
    UINT ObjectCount;
    const D3DKMT_HANDLE *ObjectHandleArray;
    D3DDDICB_SIGNALFLAGS Flags;
    ULONG BroadcastContextCount;
    const D3DKMT_HANDLE *BroadcastContextArray;
    union {
        UINT64 FenceValue;
        HANDLE CpuEventHandle;
        const UINT64 *MonitoredFenceValueArray;
        UINT64 Reserved[8];
    };
} D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2;

/* ---- Keyed mutexes --------------------------------------------------------------------------- */

typedef struct _D3DKMT_CREATEKEYEDMUTEX {
    D3DKMT_ALIGN64 UINT64 InitialValue; /* the key that it is free for */
    D3DKMT_HANDLE hSharedHandle;        /* out: the global one */
    D3DKMT_HANDLE hKeyedMutex;          /* out */
} D3DKMT_CREATEKEYEDMUTEX;

D3DKMT_BITS(D3DKMT_CREATEKEYEDMUTEX2_FLAGS, UINT NtSecuritySharing : 1; UINT Reserved : 31;);

typedef struct _D3DKMT_CREATEKEYEDMUTEX2 {
    D3DKMT_ALIGN64 UINT64 InitialValue;
    D3DKMT_HANDLE hSharedHandle; /* out, without NtSecuritySharing */
    D3DKMT_HANDLE hKeyedMutex;   /* out */
    VOID *pPrivateRuntimeData;   /* in */
    UINT PrivateRuntimeDataSize;
    D3DKMT_CREATEKEYEDMUTEX2_FLAGS Flags;
} D3DKMT_CREATEKEYEDMUTEX2;

typedef struct _D3DKMT_OPENKEYEDMUTEX {
    D3DKMT_HANDLE hSharedHandle; /* in */
    D3DKMT_HANDLE hKeyedMutex;   /* out */
} D3DKMT_OPENKEYEDMUTEX;

/* The private data is that of a mutex that has none. */
typedef struct _D3DKMT_OPENKEYEDMUTEX2 {
    D3DKMT_HANDLE hSharedHandle; /* in */
    D3DKMT_HANDLE hKeyedMutex;   /* out */
    VOID *pPrivateRuntimeData;   /* in */
    UINT PrivateRuntimeDataSize;
} D3DKMT_OPENKEYEDMUTEX2;

typedef struct _D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE {
    HANDLE hNtHandle;          /* in */
    D3DKMT_HANDLE hKeyedMutex; /* out */
    VOID *pPrivateRuntimeData; /* in */
    UINT PrivateRuntimeDataSize;
} D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE;

typedef struct _D3DKMT_DESTROYKEYEDMUTEX {
    D3DKMT_HANDLE hKeyedMutex;
} D3DKMT_DESTROYKEYEDMUTEX;

/*
 * pTimeout: in 100 ns, an interval where it is negative, else a time since January 1, 1601. 0: the
 * call does not wait; NULL: it waits for as long as it takes.
 */
typedef struct _D3DKMT_ACQUIREKEYEDMUTEX {
    D3DKMT_HANDLE hKeyedMutex;
    D3DKMT_ALIGN64 UINT64 Key;
    PLARGE_INTEGER pTimeout;
    D3DKMT_ALIGN64 UINT64 FenceValue; /* out: of the release */
} D3DKMT_ACQUIREKEYEDMUTEX;

typedef struct _D3DKMT_ACQUIREKEYEDMUTEX2 {
    D3DKMT_HANDLE hKeyedMutex;
    D3DKMT_ALIGN64 UINT64 Key;
    PLARGE_INTEGER pTimeout;
    D3DKMT_ALIGN64 UINT64 FenceValue;
    VOID *pPrivateRuntimeData; /* out */
    UINT PrivateRuntimeDataSize;
} D3DKMT_ACQUIREKEYEDMUTEX2;

typedef struct _D3DKMT_RELEASEKEYEDMUTEX {
    D3DKMT_HANDLE hKeyedMutex;
    D3DKMT_ALIGN64 UINT64 Key; /* that it is free for then */
    D3DKMT_ALIGN64 UINT64 FenceValue;
} D3DKMT_RELEASEKEYEDMUTEX;

typedef struct _D3DKMT_RELEASEKEYEDMUTEX2 {
    D3DKMT_HANDLE hKeyedMutex;
    D3DKMT_ALIGN64 UINT64 Key;
    D3DKMT_ALIGN64 UINT64 FenceValue;
    VOID *pPrivateRuntimeData; /* in */
    UINT PrivateRuntimeDataSize;
} D3DKMT_RELEASEKEYEDMUTEX2;

/* ---- Functions ------------------------------------------------------------------------------- */

/* Each takes a pointer to its structure; those that only read it take it as const. */
#define D3DKMT_FUNCTIONS(ROW)                                                                      \
    ROW(RegisterTrimNotification, D3DKMT_REGISTERTRIMNOTIFICATION)                                 \
    ROW(UnregisterTrimNotification, D3DKMT_UNREGISTERTRIMNOTIFICATION)                             \
    ROW(OpenResource, D3DKMT_OPENRESOURCE)                                                         \
    ROW(OpenResourceFromNtHandle, D3DKMT_OPENRESOURCEFROMNTHANDLE)                                 \
    ROW(OpenAdapterFromLuid, D3DKMT_OPENADAPTERFROMLUID)                                           \
    ROW(CloseAdapter, const D3DKMT_CLOSEADAPTER)                                                   \
    ROW(EnumAdapters2, const D3DKMT_ENUMADAPTERS2)                                                 \
    ROW(EnumAdapters3, D3DKMT_ENUMADAPTERS3)                                                       \
    ROW(QueryAdapterInfo, const D3DKMT_QUERYADAPTERINFO)                                           \
    ROW(QueryVideoMemoryInfo, D3DKMT_QUERYVIDEOMEMORYINFO)                                         \
    ROW(QueryStatistics, D3DKMT_QUERYSTATISTICS)                                                   \
    ROW(QueryClockCalibration, D3DKMT_QUERYCLOCKCALIBRATION)                                       \
    ROW(Escape, const D3DKMT_ESCAPE)                                                               \
    ROW(CreateDevice, D3DKMT_CREATEDEVICE)                                                         \
    ROW(DestroyDevice, const D3DKMT_DESTROYDEVICE)                                                 \
    ROW(GetDeviceState, D3DKMT_GETDEVICESTATE)                                                     \
    ROW(CreateContextVirtual, D3DKMT_CREATECONTEXTVIRTUAL)                                         \
    ROW(DestroyContext, const D3DKMT_DESTROYCONTEXT)                                               \
    ROW(SetContextSchedulingPriority, const D3DKMT_SETCONTEXTSCHEDULINGPRIORITY)                   \
    ROW(GetContextSchedulingPriority, D3DKMT_GETCONTEXTSCHEDULINGPRIORITY)                         \
    ROW(CreatePagingQueue, D3DKMT_CREATEPAGINGQUEUE)                                               \
    ROW(DestroyPagingQueue, D3DDDI_DESTROYPAGINGQUEUE)                                             \
    ROW(CreateAllocation, D3DKMT_CREATEALLOCATION)                                                 \
    ROW(CreateAllocation2, D3DKMT_CREATEALLOCATION)                                                \
    ROW(DestroyAllocation2, const D3DKMT_DESTROYALLOCATION2)                                       \
    ROW(Lock2, D3DKMT_LOCK2)                                                                       \
    ROW(Unlock2, const D3DKMT_UNLOCK2)                                                             \
    ROW(SetAllocationPriority, const D3DKMT_SETALLOCATIONPRIORITY)                                 \
    ROW(InvalidateCache, const D3DKMT_INVALIDATECACHE)                                             \
    ROW(QueryResourceInfo, D3DKMT_QUERYRESOURCEINFO)                                               \
    ROW(QueryResourceInfoFromNtHandle, D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE)                       \
    ROW(ChangeVideoMemoryReservation, const D3DKMT_CHANGEVIDEOMEMORYRESERVATION)                   \
    ROW(OfferAllocations, const D3DKMT_OFFERALLOCATIONS)                                           \
    ROW(ReclaimAllocations2, D3DKMT_RECLAIMALLOCATIONS2)                                           \
    ROW(MakeResident, D3DDDI_MAKERESIDENT)                                                         \
    ROW(Evict, D3DKMT_EVICT)                                                                       \
    ROW(MapGpuVirtualAddress, D3DDDI_MAPGPUVIRTUALADDRESS)                                         \
    ROW(ReserveGpuVirtualAddress, D3DDDI_RESERVEGPUVIRTUALADDRESS)                                 \
    ROW(FreeGpuVirtualAddress, const D3DKMT_FREEGPUVIRTUALADDRESS)                                 \
    ROW(UpdateGpuVirtualAddress, const D3DKMT_UPDATEGPUVIRTUALADDRESS)                             \
    ROW(SubmitCommand, const D3DKMT_SUBMITCOMMAND)                                                 \
    ROW(CreateHwQueue, D3DKMT_CREATEHWQUEUE)                                                       \
    ROW(DestroyHwQueue, const D3DKMT_DESTROYHWQUEUE)                                               \
    ROW(SubmitCommandToHwQueue, const D3DKMT_SUBMITCOMMANDTOHWQUEUE)                               \
    ROW(SubmitWaitForSyncObjectsToHwQueue, const D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE)         \
    ROW(SubmitSignalSyncObjectsToHwQueue, const D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE)           \
    ROW(CreateSynchronizationObject, D3DKMT_CREATESYNCHRONIZATIONOBJECT)                           \
    ROW(CreateSynchronizationObject2, D3DKMT_CREATESYNCHRONIZATIONOBJECT2)                         \
    ROW(OpenSynchronizationObject, D3DKMT_OPENSYNCHRONIZATIONOBJECT)                               \
    ROW(OpenSyncObjectFromNtHandle, D3DKMT_OPENSYNCOBJECTFROMNTHANDLE)                             \
    ROW(OpenSyncObjectFromNtHandle2, D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2)                           \
    ROW(DestroySynchronizationObject, const D3DKMT_DESTROYSYNCHRONIZATIONOBJECT)                   \
    ROW(SignalSynchronizationObject, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT)                     \
    ROW(SignalSynchronizationObject2, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2)                   \
    ROW(SignalSynchronizationObjectFromCpu, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU)       \
    ROW(SignalSynchronizationObjectFromGpu, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU)       \
    ROW(SignalSynchronizationObjectFromGpu2, const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2)     \
    ROW(WaitForSynchronizationObject, const D3DKMT_WAITFORSYNCHRONIZATIONOBJECT)                   \
    ROW(WaitForSynchronizationObjectFromCpu, const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU)     \
    ROW(WaitForSynchronizationObjectFromGpu, const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU)     \
    ROW(CreateKeyedMutex, D3DKMT_CREATEKEYEDMUTEX)                                                 \
    ROW(CreateKeyedMutex2, D3DKMT_CREATEKEYEDMUTEX2)                                               \
    ROW(OpenKeyedMutex, D3DKMT_OPENKEYEDMUTEX)                                                     \
    ROW(OpenKeyedMutex2, D3DKMT_OPENKEYEDMUTEX2)                                                   \
    ROW(OpenKeyedMutexFromNtHandle, D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE)                             \
    ROW(DestroyKeyedMutex, const D3DKMT_DESTROYKEYEDMUTEX)                                         \
    ROW(AcquireKeyedMutex, D3DKMT_ACQUIREKEYEDMUTEX)                                               \
    ROW(AcquireKeyedMutex2, D3DKMT_ACQUIREKEYEDMUTEX2)                                             \
    ROW(ReleaseKeyedMutex, D3DKMT_RELEASEKEYEDMUTEX)                                               \
    ROW(ReleaseKeyedMutex2, D3DKMT_RELEASEKEYEDMUTEX2)

/* Objects that D3DKMTShareObjects has given a name: a shared allocation, a shared fence. */
typedef struct _D3DKMT_OPENNTHANDLEFROMNAME {
    DWORD dwDesiredAccess;
    OBJECT_ATTRIBUTES *pObjAttrib;
    HANDLE hNtHandle; /* out */
} D3DKMT_OPENNTHANDLEFROMNAME;

typedef struct _D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME {
    DWORD dwDesiredAccess;
    OBJECT_ATTRIBUTES *pObjAttrib;
    HANDLE hNtHandle; /* out */
} D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME;

/* Functions whose arguments lead to more than lists. */
#define D3DKMT_NAME_FUNCTIONS(ROW)                                                                 \
    ROW(OpenNtHandleFromName, D3DKMT_OPENNTHANDLEFROMNAME)                                         \
    ROW(OpenSyncObjectNtHandleFromName, D3DKMT_OPENSYNCOBJECTNTHANDLEFROMNAME)

#define D3DKMT_DECLARE(name, type)                                                                 \
    typedef NTSTATUS(D3DKMT_CALL *PFND3DKMT_##name)(type *);                                       \
    NTSTATUS D3DKMT_CALL D3DKMT##name(type *arguments);

#ifdef __cplusplus
extern "C" {
#endif
D3DKMT_FUNCTIONS(D3DKMT_DECLARE)
D3DKMT_NAME_FUNCTIONS(D3DKMT_DECLARE)
typedef NTSTATUS(D3DKMT_CALL *PFND3DKMT_ShareObjects)(UINT, const D3DKMT_HANDLE *,
                                                      OBJECT_ATTRIBUTES *, DWORD, HANDLE *);
NTSTATUS D3DKMT_CALL D3DKMTShareObjects(UINT count, const D3DKMT_HANDLE *handles,
                                        OBJECT_ATTRIBUTES *attributes, DWORD access,
                                        HANDLE *out_shared);
#ifdef __cplusplus
}
#endif

#endif
#endif
