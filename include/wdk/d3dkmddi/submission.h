/*
 * Building, patching, submitting, preempting and cancelling DMA buffers; engine status and
 * reset; diagnostics, escape and clock calibration.
 *
 * Place  include/wdk/d3dkmddi. Rules: contract.md PATCH, SUB, FENCE, TDR.
 */
#ifndef D3DKMDDI_SUBMISSION_H
#define D3DKMDDI_SUBMISSION_H

#include "base.h"

typedef struct _DXGK_PRESENTALLOCATIONINFO {
    HANDLE hDeviceSpecificAllocation;
    D3DGPU_VIRTUAL_ADDRESS AllocationVirtualAddress;
    PHYSICAL_ADDRESS PhysicalAddress;
    WORD SegmentId;
    WORD PhysicalAdapterIndex;
} DXGK_PRESENTALLOCATIONINFO;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
typedef struct _DXGK_PRESENTMULTIPLANEOVERLAYINFO DXGK_PRESENTMULTIPLANEOVERLAYINFO;
#endif
typedef struct _DXGKARG_COLLECTDBGINFO_EXT DXGKARG_COLLECTDBGINFO_EXT;
typedef struct _DXGK_HISTORY_BUFFER DXGK_HISTORY_BUFFER;

typedef enum _DXGK_KERNEL_SUBMISSION_TYPE {
    DXGK_KERNEL_SUBMISSION_BUILD_PAGING_BUFFER = 0,
    DXGK_KERNEL_SUBMISSION_RENDERGDI = 1,
    DXGK_KERNEL_SUBMISSION_PRESENTBLT = 2,
} DXGK_KERNEL_SUBMISSION_TYPE;

/* An allocation that a DMA buffer uses, and where it is; SegmentId 0 means that it is nowhere. */
typedef struct _DXGK_ALLOCATIONLIST {
    HANDLE hDeviceSpecificAllocation;
    UINT WriteOperation : 1;
    UINT SegmentId : 5;
    UINT Reserved : 26;
    union {
        PHYSICAL_ADDRESS PhysicalAddress;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
        D3DGPU_VIRTUAL_ADDRESS VirtualAddress;
#endif
    };
} DXGK_ALLOCATIONLIST, *PDXGK_ALLOCATIONLIST;

typedef struct _DXGK_PATCHFLAGS {
    union {
        struct {
            UINT Paging : 1;
            UINT Present : 1;
            UINT RedirectedPresent : 1;
            UINT NullRendering : 1;
            UINT Reserved : 28;
        };
        UINT Value;
    };
} DXGK_PATCHFLAGS, *PDXGK_PATCHFLAGS;

typedef struct _DXGKARG_PATCH {
    union {
        HANDLE hDevice;
        HANDLE hContext;
    };
    UINT DmaBufferSegmentId;
    PHYSICAL_ADDRESS DmaBufferPhysicalAddress;
    VOID *pDmaBuffer;
    UINT DmaBufferSize;
    UINT DmaBufferSubmissionStartOffset;
    UINT DmaBufferSubmissionEndOffset;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    UINT DmaBufferPrivateDataSubmissionStartOffset;
    UINT DmaBufferPrivateDataSubmissionEndOffset;
    DXGK_ALLOCATIONLIST *pAllocationList;
    UINT AllocationListSize;
    D3DDDI_PATCHLOCATIONLIST *pPatchLocationList;
    UINT PatchLocationListSize;
    UINT PatchLocationListSubmissionStart;
    UINT PatchLocationListSubmissionLength;
    UINT SubmissionFenceId;
    DXGK_PATCHFLAGS Flags;
    UINT EngineOrdinal;
} DXGKARG_PATCH, *PDXGKARG_PATCH;
DXGK_ARGUMENT_POINTERS(DXGKARG_PATCH);

typedef struct _DXGK_SUBMITCOMMANDFLAGS {
    union {
        struct {
            UINT Paging : 1;
            UINT Present : 1;
            UINT RedirectedPresent : 1;
            UINT NullRendering : 1;
            UINT Flip : 1;
            UINT FlipWithNoWait : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
            UINT ContextSwitch : 1;
#else
            UINT : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
            UINT Resubmission : 1;
#else
            UINT : 1;
#endif
            UINT VirtualMachineData : 1;
            UINT Reserved : 23;
        };
        UINT Value;
    };
} DXGK_SUBMITCOMMANDFLAGS, *PDXGK_SUBMITCOMMANDFLAGS;

typedef struct _DXGKARG_SUBMITCOMMAND {
    union {
        HANDLE hDevice;
        HANDLE hContext;
    };
    UINT DmaBufferSegmentId;
    PHYSICAL_ADDRESS DmaBufferPhysicalAddress;
    UINT DmaBufferSize;
    UINT DmaBufferSubmissionStartOffset;
    UINT DmaBufferSubmissionEndOffset;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    UINT DmaBufferPrivateDataSubmissionStartOffset;
    UINT DmaBufferPrivateDataSubmissionEndOffset;
    UINT SubmissionFenceId;
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
    DXGK_SUBMITCOMMANDFLAGS Flags;
    UINT EngineOrdinal;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7
    D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
    UINT NodeOrdinal;
#endif
} DXGKARG_SUBMITCOMMAND, *PDXGKARG_SUBMITCOMMAND;
DXGK_ARGUMENT_POINTERS(DXGKARG_SUBMITCOMMAND);

typedef struct _DXGKARG_SUBMITCOMMANDVIRTUAL {
    HANDLE hContext;
    D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress;
    UINT DmaBufferSize;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    UINT DmaBufferUmdPrivateDataSize;
    UINT SubmissionFenceId;
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
    DXGK_SUBMITCOMMANDFLAGS Flags;
    UINT EngineOrdinal;
    UINT NodeOrdinal;
} DXGKARG_SUBMITCOMMANDVIRTUAL, *PDXGKARG_SUBMITCOMMANDVIRTUAL;
DXGK_ARGUMENT_POINTERS(DXGKARG_SUBMITCOMMANDVIRTUAL);

typedef struct _DXGKARG_SUBMITCOMMANDTOHWQUEUE {
    HANDLE hHwQueue;
    UINT64 HwQueueProgressFenceId;
    D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress;
    UINT DmaBufferSize;
    UINT DmaBufferPrivateDataSize;
    VOID *pDmaBufferPrivateData;
    DXGK_SUBMITCOMMANDFLAGS Flags;
    D3DGPU_VIRTUAL_ADDRESS HwQueueProgressFenceGpuVa;
    VOID *HwQueueProgressFenceCpuVa;
} DXGKARG_SUBMITCOMMANDTOHWQUEUE, *PDXGKARG_SUBMITCOMMANDTOHWQUEUE;
DXGK_ARGUMENT_POINTERS(DXGKARG_SUBMITCOMMANDTOHWQUEUE);

typedef struct _DXGKARG_SIGNALMONITOREDFENCE {
    DXGK_KERNEL_SUBMISSION_TYPE KernelSubmissionType;
    VOID *pDmaBuffer;
    D3DGPU_VIRTUAL_ADDRESS DmaBufferGpuVirtualAddress;
    UINT DmaSize;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    UINT MultipassOffset;
    D3DGPU_VIRTUAL_ADDRESS MonitoredFenceGpuVa;
    UINT64 MonitoredFenceValue;
    VOID *MonitoredFenceCpuVa;
    HANDLE hHwQueue;
} DXGKARG_SIGNALMONITOREDFENCE, *PDXGKARG_SIGNALMONITOREDFENCE;
DXGK_ARGUMENT_POINTERS(DXGKARG_SIGNALMONITOREDFENCE);

typedef union _DXGK_PREEMPTCOMMANDFLAGS {
    UINT Reserved : 32;
    UINT Value;
} DXGK_PREEMPTCOMMANDFLAGS, *PDXGK_PREEMPTCOMMANDFLAGS;

typedef struct _DXGKARG_PREEMPTCOMMAND {
    UINT PreemptionFenceId;
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    DXGK_PREEMPTCOMMANDFLAGS Flags;
} DXGKARG_PREEMPTCOMMAND, *PDXGKARG_PREEMPTCOMMAND;
DXGK_ARGUMENT_POINTERS(DXGKARG_PREEMPTCOMMAND);

/* A DMA buffer that was built and will not run. */
typedef struct _DXGKARG_CANCELCOMMAND {
    HANDLE hContext;
    VOID *pDmaBuffer;
    UINT DmaBufferSize;
    UINT DmaBufferSubmissionStartOffset;
    UINT DmaBufferSubmissionEndOffset;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    UINT DmaBufferPrivateDataSubmissionStartOffset;
    UINT DmaBufferPrivateDataSubmissionEndOffset;
    DXGK_ALLOCATIONLIST *pAllocationList;
    UINT AllocationListSize;
    D3DDDI_PATCHLOCATIONLIST *pPatchLocationList;
    UINT PatchLocationListSize;
    UINT PatchLocationListSubmissionStart;
    UINT PatchLocationListSubmissionLength;
    D3DGPU_VIRTUAL_ADDRESS DmaBufferVirtualAddress;
    UINT DmaBufferUmdPrivateDataSize;
} DXGKARG_CANCELCOMMAND, *PDXGKARG_CANCELCOMMAND;
DXGK_ARGUMENT_POINTERS(DXGKARG_CANCELCOMMAND);

typedef struct _DXGKARG_RENDER {
    VOID *pCommand;
    UINT CommandLength;
    VOID *pDmaBuffer;
    UINT DmaSize;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    DXGK_ALLOCATIONLIST *pAllocationList;
    UINT AllocationListSize;
    D3DDDI_PATCHLOCATIONLIST *pPatchLocationListIn;
    UINT PatchLocationListInSize;
    D3DDDI_PATCHLOCATIONLIST *pPatchLocationListOut;
    UINT PatchLocationListOutSize;
    UINT MultipassOffset;
    UINT DmaBufferSegmentId;
    PHYSICAL_ADDRESS DmaBufferPhysicalAddress;
} DXGKARG_RENDER, *PDXGKARG_RENDER;
DXGK_ARGUMENT_POINTERS(DXGKARG_RENDER);

typedef struct _DXGK_PRESENTFLAGS {
    union {
        struct {
            UINT Blt : 1;
            UINT ColorFill : 1;
            UINT Flip : 1;
            UINT FlipWithNoWait : 1;
            UINT SrcColorKey : 1;
            UINT DstColorKey : 1;
            UINT LinearToSrgb : 1;
            UINT Rotate : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
            UINT FlipStereo : 1;
            UINT FlipStereoTemporaryMono : 1;
            UINT FlipStereoPreferRight : 1;
            UINT BltStereoUseRight : 1;
#else
            UINT : 4;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
            UINT FlipWithMultiPlaneOverlay : 1;
#else
            UINT : 1;
#endif
            UINT RedirectedFlip : 1;
            UINT Reserved : 18;
        };
        UINT Value;
    };
} DXGK_PRESENTFLAGS, *PDXGK_PRESENTFLAGS;

/* Where DxgkDdiPresent finds them in pAllocationList. */
#define DXGK_PRESENT_SOURCE_INDEX      1
#define DXGK_PRESENT_DESTINATION_INDEX 2

typedef struct _DXGKARG_PRESENT {
    VOID *pDmaBuffer;
    UINT DmaSize;
    VOID *pDmaBufferPrivateData;
    UINT DmaBufferPrivateDataSize;
    union {
        DXGK_ALLOCATIONLIST *pAllocationList;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7
        DXGK_PRESENTALLOCATIONINFO *pAllocationInfo;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
        DXGK_PRESENTMULTIPLANEOVERLAYINFO *pPresentMultiPlaneOverlayInfo;
#endif
    };
    D3DDDI_PATCHLOCATIONLIST *pPatchLocationListOut;
    UINT PatchLocationListOutSize;
    UINT MultipassOffset;
    UINT Color;
    RECT DstRect;
    RECT SrcRect;
    UINT SubRectCnt;
    RECT *pDstSubRects;
    D3DDDI_FLIPINTERVAL_TYPE FlipInterval;
    DXGK_PRESENTFLAGS Flags;
    UINT DmaBufferSegmentId;
    PHYSICAL_ADDRESS DmaBufferPhysicalAddress;
    UINT Reserved;
    D3DGPU_VIRTUAL_ADDRESS DmaBufferGpuVirtualAddress;
    UINT NumSrcAllocations;
    UINT NumDstAllocations;
    UINT PrivateDriverDataSize;
    PVOID pPrivateDriverData;
} DXGKARG_PRESENT, *PDXGKARG_PRESENT;
DXGK_ARGUMENT_POINTERS(DXGKARG_PRESENT);

typedef struct _DXGKARG_QUERYCURRENTFENCE {
    UINT CurrentFence;
    UINT NodeOrdinal;
    UINT EngineOrdinal;
} DXGKARG_QUERYCURRENTFENCE, *PDXGKARG_QUERYCURRENTFENCE;
DXGK_ARGUMENT_POINTERS(DXGKARG_QUERYCURRENTFENCE);

typedef struct _DXGKARG_QUERYDEPENDENTENGINEGROUP {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    ULONGLONG DependentNodeOrdinalMask;
} DXGKARG_QUERYDEPENDENTENGINEGROUP, *PDXGKARG_QUERYDEPENDENTENGINEGROUP;
DXGK_ARGUMENT_POINTERS(DXGKARG_QUERYDEPENDENTENGINEGROUP);

typedef struct _DXGK_ENGINESTATUS {
    union {
        struct {
            UINT Responsive : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_ENGINESTATUS, *PDXGK_ENGINESTATUS;

typedef struct _DXGKARG_QUERYENGINESTATUS {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    DXGK_ENGINESTATUS EngineStatus;
} DXGKARG_QUERYENGINESTATUS, *PDXGKARG_QUERYENGINESTATUS;
DXGK_ARGUMENT_POINTERS(DXGKARG_QUERYENGINESTATUS);

typedef struct _DXGKARG_RESETENGINE {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    UINT LastAbortedFenceId;
} DXGKARG_RESETENGINE, *PDXGKARG_RESETENGINE;
DXGK_ARGUMENT_POINTERS(DXGKARG_RESETENGINE);

/* The device is silent between the two (WDDM 2.4). */
typedef struct _DXGKARG_BEGINEXCLUSIVEACCESS {
    UINT Reserved;
} DXGKARG_BEGINEXCLUSIVEACCESS, *PDXGKARG_BEGINEXCLUSIVEACCESS;
DXGK_ARGUMENT_POINTERS(DXGKARG_BEGINEXCLUSIVEACCESS);

typedef struct _DXGKARG_ENDEXCLUSIVEACCESS {
    UINT Reserved;
} DXGKARG_ENDEXCLUSIVEACCESS, *PDXGKARG_ENDEXCLUSIVEACCESS;
DXGK_ARGUMENT_POINTERS(DXGKARG_ENDEXCLUSIVEACCESS);

typedef struct _DXGKARG_RESETHWENGINE {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
} DXGKARG_RESETHWENGINE, *PDXGKARG_RESETHWENGINE;
DXGK_ARGUMENT_POINTERS(DXGKARG_RESETHWENGINE);

typedef struct _DXGKARG_RESUMEHWENGINE {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
} DXGKARG_RESUMEHWENGINE, *PDXGKARG_RESUMEHWENGINE;
DXGK_ARGUMENT_POINTERS(DXGKARG_RESUMEHWENGINE);

typedef struct _DXGKARG_COLLECTDBGINFO {
    UINT Reason;
    VOID *pBuffer;
    SIZE_T BufferSize;
    DXGKARG_COLLECTDBGINFO_EXT *pExtension;
} DXGKARG_COLLECTDBGINFO, *PDXGKARG_COLLECTDBGINFO;
DXGK_ARGUMENT_POINTERS(DXGKARG_COLLECTDBGINFO);

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2
typedef enum _DXGK_TDR_TYPE {
    DXGK_TDR_TYPE_UNKNOWN = 0,
    DXGK_TDR_TYPE_FORCED = 1,
    DXGK_TDR_TYPE_PREEMPT_TIMEOUT = 2,
    DXGK_TDR_TYPE_VSYNC_TIMEOUT = 3,
    DXGK_TDR_TYPE_DOD_PRESENT_FORCED = 4,
    DXGK_TDR_TYPE_DOD_PRESENT_TIMEOUT = 5,
    DXGK_TDR_TYPE_ENGINE_TIMEOUT = 6,
    DXGK_TDR_TYPE_DOD_VSYNC_FORCED = 7,
    DXGK_TDR_TYPE_DOD_VSYNC_TIMEOUT = 8,
    DXGK_TDR_TYPE_ENGINE_TIMEOUT_PROMOTED = 9,
    DXGK_TDR_TYPE_PAGE_FAULT = 10,
    DXGK_TDR_TYPE_INVALID_FENCE = 11,
    DXGK_TDR_TYPE_ENGINE_PAGE_FAULT = 12,
    DXGK_TDR_TYPE_DISPLAY_ENGINE_FAULT = 13,
} DXGK_TDR_TYPE;

/* TdrPayload of DXGK_TDR_TYPE_ENGINE_TIMEOUT; hContext is the driver's answer. */
typedef struct _DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    ULONGLONG LastHwCompletedFenceId;
    ULONGLONG LastHwSubmittedFenceId;
    ULONG NumberOfPendingSuspendRequests;
    ULONG NumberOfReadyInteractiveHwQueues;
    HANDLE hContext;
} DXGK_TDR_PAYLOAD_ENGINE_TIMEOUT;

/* TdrPayload of DXGK_TDR_TYPE_VSYNC_TIMEOUT. */
typedef struct _DXGK_TDR_PAYLOAD_VSYNC_TIMEOUT {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    UINT LayerIndex;
    ULONGLONG PresentId;
} DXGK_TDR_PAYLOAD_VSYNC_TIMEOUT;

/* Begins like DXGKARG_COLLECTDBGINFO. TdrPayload may be NULL, and may grow at its end. */
typedef struct _DXGKARG_COLLECTDBGINFO2 {
    UINT Reason;
    VOID *pBuffer;
    SIZE_T BufferSize;
    DXGKARG_COLLECTDBGINFO_EXT *pExtension;
    DXGK_TDR_TYPE TdrType;
    UINT TdrPayloadSize;
    VOID *TdrPayload;
} DXGKARG_COLLECTDBGINFO2;
DXGK_ARGUMENT_POINTERS(DXGKARG_COLLECTDBGINFO2);
#endif

typedef struct _DXGKARG_ESCAPE {
    HANDLE hDevice;
    D3DDDI_ESCAPEFLAGS Flags;
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    HANDLE hContext;
    HANDLE hKmdProcessHandle;
} DXGKARG_ESCAPE, *PDXGKARG_ESCAPE;
DXGK_ARGUMENT_POINTERS(DXGKARG_ESCAPE);

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
typedef DXGK_GPUCLOCKDATA DXGKARG_CALIBRATEGPUCLOCK;
DXGK_ARGUMENT_POINTERS(DXGKARG_CALIBRATEGPUCLOCK);
#endif

typedef struct _DXGKARG_HISTORYBUFFERPRECISION {
    UINT32 PrecisionBits;
} DXGKARG_HISTORYBUFFERPRECISION, *PDXGKARG_HISTORYBUFFERPRECISION;
DXGK_ARGUMENT_POINTERS(DXGKARG_HISTORYBUFFERPRECISION);

typedef struct _DXGKARG_FORMATHISTORYBUFFER {
    DXGK_HISTORY_BUFFER *pHistoryBuffer;
    UINT32 HistoryBufferSize;
    PVOID pFormattedBuffer;
    UINT32 FormattedBufferSize;
    UINT32 NumTimestamps;
    DXGKARG_HISTORYBUFFERPRECISION Precision;
    UINT32 Offset;
} DXGKARG_FORMATHISTORYBUFFER, *PDXGKARG_FORMATHISTORYBUFFER;
DXGK_ARGUMENT_POINTERS(DXGKARG_FORMATHISTORYBUFFER);

#endif
