/*
 * Devices, contexts, processes, hardware contexts and queues, root page tables.
 *
 * Place  include/wdk/d3dkmddi. Rules: contract.md CTX, PT, SUB.
 */
#ifndef D3DKMDDI_CONTEXT_H
#define D3DKMDDI_CONTEXT_H

#include "base.h"

typedef enum _DXGK_SCHEDULING_PRIORITY_BAND {
    DXGK_SCHEDULING_PRIORITY_BAND_IDLE = 0,
    DXGK_SCHEDULING_PRIORITY_BAND_NORMAL = 1,
    DXGK_SCHEDULING_PRIORITY_BAND_FOCUS = 2,
    DXGK_SCHEDULING_PRIORITY_BAND_REALTIME = 3,
    DXGK_SCHEDULING_PRIORITY_BAND_COUNT = 4,
} DXGK_SCHEDULING_PRIORITY_BAND;

typedef struct _DXGK_CREATEDEVICEFLAGS {
    union {
        struct {
            UINT SystemDevice : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7
            UINT GdiDevice : 1;
#else
            UINT : 1;
#endif
            UINT Reserved : 29;
            UINT DXGK_DEVICE_RESERVED0 : 1;
        };
        UINT Value;
    };
} DXGK_CREATEDEVICEFLAGS, *PDXGK_CREATEDEVICEFLAGS;

typedef struct _DXGK_DEVICEINFOFLAGS {
    union {
        struct {
            UINT GuaranteedDmaBufferContract : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_DEVICEINFOFLAGS, *PDXGK_DEVICEINFOFLAGS;

typedef struct _DXGK_DEVICEINFO {
    UINT DmaBufferSize;
    UINT DmaBufferSegmentSet;
    UINT DmaBufferPrivateDataSize;
    UINT AllocationListSize;
    UINT PatchLocationListSize;
    DXGK_DEVICEINFOFLAGS Flags;
} DXGK_DEVICEINFO, *PDXGK_DEVICEINFO;

typedef struct _DXGKARG_CREATEDEVICE {
    HANDLE hDevice;
    union {
        DXGK_CREATEDEVICEFLAGS Flags;
        DXGK_DEVICEINFO *pInfo;
    };
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
    ULONG Pasid;
    HANDLE hKmdProcess;
#endif
} DXGKARG_CREATEDEVICE, *PDXGKARG_CREATEDEVICE;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEDEVICE);

typedef struct _DXGK_CREATECONTEXTFLAGS {
    union {
        struct {
            UINT SystemContext : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7
            UINT GdiContext : 1;
#else
            UINT : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
            UINT VirtualAddressing : 1;
            UINT SystemProtectedContext : 1;
#else
            UINT : 2;
#endif
            UINT HwQueueSupported : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2
            UINT TestContext : 1;
#endif
            UINT Reserved : 26 + DXGK_BEFORE(WDDM3_2, 1);
        };
        UINT Value;
    };
} DXGK_CREATECONTEXTFLAGS, *PDXGK_CREATECONTEXTFLAGS;

typedef struct _DXGK_CONTEXTINFO_CAPS {
    union {
        struct {
            UINT NoPatchingRequired : 1;
            UINT DriverManagesResidency : 1;
            UINT UseIoMmu : 1;
            UINT Reserved : 29;
        };
        UINT Value;
    };
} DXGK_CONTEXTINFO_CAPS, *PDXGK_CONTEXTINFO_CAPS;

/* Length of the lists of a context of the GDI. Drivers name it; the number is unverified. */
#define DXGK_ALLOCATION_LIST_SIZE_GDICONTEXT 256

/* What a driver wants for the DMA buffers of a context. Sizes of lists are counts of elements. */
typedef struct _DXGK_CONTEXTINFO {
    UINT DmaBufferSize;
    UINT DmaBufferSegmentSet;
    UINT DmaBufferPrivateDataSize;
    UINT AllocationListSize;
    UINT PatchLocationListSize;
    UINT Reserved;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
    DXGK_CONTEXTINFO_CAPS Caps;
    ULONG PagingCompanionNodeId;
#endif
} DXGK_CONTEXTINFO, *PDXGK_CONTEXTINFO;

typedef struct _DXGKARG_CREATECONTEXT {
    HANDLE hContext;
    UINT NodeOrdinal;
    UINT EngineAffinity;
    DXGK_CREATECONTEXTFLAGS Flags;
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    DXGK_CONTEXTINFO ContextInfo;
} DXGKARG_CREATECONTEXT, *PDXGKARG_CREATECONTEXT;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATECONTEXT);

typedef struct _DXGK_CREATEPROCESSFLAGS {
    union {
        struct {
            UINT SystemProcess : 1;
            UINT GdiProcess : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2
            UINT VirtualMachineProcess : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_4
            UINT VirtualMachineWorkerProcess : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_5
            UINT SessionIsolatedContainer : 1;
#endif
            UINT Reserved : 27 + DXGK_BEFORE(WDDM2_5, 1) + DXGK_BEFORE(WDDM2_4, 1) +
                DXGK_BEFORE(WDDM2_2, 1);
        };
        UINT Value;
    };
} DXGK_CREATEPROCESSFLAGS, *PDXGK_CREATEPROCESSFLAGS;

typedef struct _DXGKARG_CREATEPROCESS {
    HANDLE hDxgkProcess;
    HANDLE hKmdProcess;
    DXGK_CREATEPROCESSFLAGS Flags;
    UINT NumPasid;
    ULONG *pPasid;
    HANDLE hKmdVmWorkerProcess;
    UINT ProcessNameLength;
    WCHAR *pProcessName;
} DXGKARG_CREATEPROCESS, *PDXGKARG_CREATEPROCESS;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEPROCESS);

/* Gives a context another root page table. */
typedef struct _DXGKARG_SETROOTPAGETABLE {
    HANDLE hContext;
    D3DGPU_PHYSICAL_ADDRESS Address;
    UINT NumEntries;
} DXGKARG_SETROOTPAGETABLE, *PDXGKARG_SETROOTPAGETABLE;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETROOTPAGETABLE);

typedef struct _DXGKARG_GETROOTPAGETABLESIZE {
    UINT NumberOfPte;
    UINT PhysicalAdapterIndex;
} DXGKARG_GETROOTPAGETABLESIZE, *PDXGKARG_GETROOTPAGETABLESIZE;
DXGK_ARGUMENT_POINTERS(DXGKARG_GETROOTPAGETABLESIZE);

typedef struct _DXGK_HWCONTEXT_CAPS {
    union {
        struct {
            UINT UseIoMmu : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_HWCONTEXT_CAPS, *PDXGK_HWCONTEXT_CAPS;

typedef struct _DXGKARG_CREATEHWCONTEXT {
    HANDLE hHwContext;
    UINT NodeOrdinal;
    UINT EngineAffinity;
    D3DDDI_CREATEHWCONTEXTFLAGS Flags;
    UINT PrivateDriverDataSize;
    PVOID pPrivateDriverData;
    DXGK_HWCONTEXT_CAPS ContextCaps;
} DXGKARG_CREATEHWCONTEXT, *PDXGKARG_CREATEHWCONTEXT;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEHWCONTEXT);

typedef struct _DXGKARG_CREATEHWQUEUE {
    HANDLE hHwQueue;
    D3DDDI_CREATEHWQUEUEFLAGS Flags;
    UINT PrivateDriverDataSize;
    VOID *pPrivateDriverData;
    D3DKMT_HANDLE hHwQueueProgressFence;
    VOID *HwQueueProgressFenceCPUVirtualAddress;
    D3DGPU_VIRTUAL_ADDRESS HwQueueProgressFenceGPUVirtualAddress;
} DXGKARG_CREATEHWQUEUE, *PDXGKARG_CREATEHWQUEUE;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEHWQUEUE);

#endif
