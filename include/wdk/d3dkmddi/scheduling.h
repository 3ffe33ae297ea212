/*
 * Hardware scheduling of contexts, its log, history buffers, tracked workloads.
 *
 * Place   include/wdk, part of d3dkmddi.h.
 * Source  The public pages of d3dkmddi; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef D3DKMDDI_SCHEDULING_H
#define D3DKMDDI_SCHEDULING_H

#include "base.h"
#include "context.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3

typedef struct _DXGK_HISTORY_BUFFER_HEADER {
    UINT32 RenderCbSequence;
    UINT32 NumTimestamps;
    UINT32 PrivateDataSize;
    UINT32 Reserved;
} DXGK_HISTORY_BUFFER_HEADER;

#endif

typedef struct _DXGK_UPDATEHWCONTEXTSTATE_FLAGS {
    union {
        struct {
            UINT Suspended : 1;
            UINT InterruptOnSwitchCompletion : 1;
            UINT Reserved : 30;
        };
        UINT Value;
    };
} DXGK_UPDATEHWCONTEXTSTATE_FLAGS;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3

typedef struct _DXGK_HISTORY_BUFFER {
    DXGK_HISTORY_BUFFER_HEADER Header;
    UINT8 DriverPrivateData[1];
} DXGK_HISTORY_BUFFER;

#endif

typedef struct _DXGKARG_COLLECTDBGINFO_EXT {
    UINT BucketingKey;
    UINT CurrentDmaBufferOffset;
    UINT Reserved2;
    UINT Reserved3;
    UINT Reserved4;
    UINT Reserved5;
    UINT Reserved6;
    UINT Reserved7;
} DXGKARG_COLLECTDBGINFO_EXT;
DXGK_ARGUMENT_POINTERS(DXGKARG_COLLECTDBGINFO_EXT);

typedef struct _DXGKARG_UPDATEHWCONTEXTSTATE {
    HANDLE hHwContext;
    UINT64 ContextSwitchFence;
    UINT Priority;
    DXGK_UPDATEHWCONTEXTSTATE_FLAGS Flags;
} DXGKARG_UPDATEHWCONTEXTSTATE;
DXGK_ARGUMENT_POINTERS(DXGKARG_UPDATEHWCONTEXTSTATE);

typedef enum _DXGK_SCHEDULING_LOG_CONTEXT_STATE {
    DXGK_SCHEDULING_LOG_CONTEXT_STATE_IDLE = 0,
    DXGK_SCHEDULING_LOG_CONTEXT_STATE_RUNNING = 1,
    DXGK_SCHEDULING_LOG_CONTEXT_STATE_READY = 2,
    DXGK_SCHEDULING_LOG_CONTEXT_STATE_READY_STANDBY = 3,
} DXGK_SCHEDULING_LOG_CONTEXT_STATE;

typedef struct _DXGKARG_SWITCHTOHWCONTEXTLIST {
    HANDLE hHwContextFirst;
    HANDLE hHwContextSecond;
    UINT NodeOrdinal;
    UINT EngineOrdinal;
} DXGKARG_SWITCHTOHWCONTEXTLIST;
DXGK_ARGUMENT_POINTERS(DXGKARG_SWITCHTOHWCONTEXTLIST);

typedef struct _DXGKARG_SUSPENDCONTEXT {
    HANDLE hContext;
    UINT64 contextSuspendFence;
} DXGKARG_SUSPENDCONTEXT;
DXGK_ARGUMENT_POINTERS(DXGKARG_SUSPENDCONTEXT);

typedef struct _DXGKARG_RESUMECONTEXT {
    HANDLE hContext;
} DXGKARG_RESUMECONTEXT;
DXGK_ARGUMENT_POINTERS(DXGKARG_RESUMECONTEXT);

typedef struct _DXGK_SCHEDULING_LOG_CONTEXT_STATE_CHANGE {
    HANDLE hKmdContext;
    DXGK_SCHEDULING_LOG_CONTEXT_STATE newContextState;
} DXGK_SCHEDULING_LOG_CONTEXT_STATE_CHANGE;

typedef struct _DXGK_SCHEDULING_LOG_ENTRY {
    UINT64 GpuTimeStamp;
    UINT OperationType : 32;
    UINT ReservedOperationTypeBits : 32;
    union {
        DXGK_SCHEDULING_LOG_CONTEXT_STATE_CHANGE ContextStateChange;
        UINT64 ReservedOperationData[2];
    };
} DXGK_SCHEDULING_LOG_ENTRY;

typedef enum _DXGK_SCHEDULING_LOG_OPERATION {
    DXGK_SCHEDULING_LOG_OPERATION_CONTEXT_STATE_CHANGE = 0,
} DXGK_SCHEDULING_LOG_OPERATION;

typedef struct _DXGK_SCHEDULING_LOG_HEADER {
    union {
        struct {
            UINT32 FirstFreeEntryIndex;
            UINT32 WraparoundCount;
        };
        ULARGE_INTEGER AtomicWraparoundAndEntryIndex;
    };
    UINT64 NumberOfEntries;
    UINT64 Reserved[2];
} DXGK_SCHEDULING_LOG_HEADER;

typedef struct _DXGK_SCHEDULING_LOG_BUFFER {
    DXGK_SCHEDULING_LOG_HEADER Header;
    DXGK_SCHEDULING_LOG_ENTRY Entries[1];
} DXGK_SCHEDULING_LOG_BUFFER;

typedef struct _DXGKARG_SETSCHEDULINGLOGBUFFER {
    UINT NodeOrdinal;
    UINT EngineOrdinal;
    UINT NumberOfEntries;
    DXGK_SCHEDULING_LOG_BUFFER *LogBufferCpuVa;
    D3DGPU_VIRTUAL_ADDRESS LogBufferGpuVa;
    UINT InterruptEntry;
} DXGKARG_SETSCHEDULINGLOGBUFFER;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETSCHEDULINGLOGBUFFER);

typedef struct _DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES {
    HANDLE hContext;
    DXGK_SCHEDULING_PRIORITY_BAND priorityBand;
    INT realtimeBandPriorityLevel;
    INT inProcessPriority;
    UINT64 quantum;
    UINT64 gracePeriodSamePriority;
    UINT64 gracePeriodLowerPriority;
} DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES);

typedef struct _DXGKARG_SETUPPRIORITYBANDS {
    UINT64 gracePeriodForBand[DXGK_SCHEDULING_PRIORITY_BAND_COUNT];
    UINT64 processQuantumForBand[DXGK_SCHEDULING_PRIORITY_BAND_COUNT];
    UINT64 processGracePeriodForBand[DXGK_SCHEDULING_PRIORITY_BAND_COUNT];
    UINT targetNormalBandPercentage;
} DXGKARG_SETUPPRIORITYBANDS;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETUPPRIORITYBANDS);

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_5

typedef struct _DXGKARGCB_SIGNALEVENT {
    HANDLE hDxgkProcess;
    HANDLE hEvent;
    union {
        struct {
            UINT CpuEventObject : 1;
            UINT Reserved : 31;
        };
        UINT Flags;
    };
} DXGKARGCB_SIGNALEVENT;
DXGK_ARGUMENT_POINTERS(DXGKARGCB_SIGNALEVENT);

typedef struct _DXGK_TRACKEDWORKLOAD_STATE_FLAGS {
    union {
        struct {
            UINT Saturated : 1;
            UINT OptimalLevel : 1;
            UINT Reserved : 30;
        };
        UINT Value;
    };
} DXGK_TRACKEDWORKLOAD_STATE_FLAGS;

typedef struct _DXGKARG_SETTRACKEDWORKLOADPOWERLEVEL {
    UINT PowerLevel;
    UINT EffectivePowerLevel;
    DXGK_TRACKEDWORKLOAD_STATE_FLAGS Flags;
} DXGKARG_SETTRACKEDWORKLOADPOWERLEVEL;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETTRACKEDWORKLOADPOWERLEVEL);

typedef struct _DXGK_VALIDATESUBMITCOMMANDFLAGS {
    union {
        struct {
            UINT HardwareQueueSubmission : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_VALIDATESUBMITCOMMANDFLAGS;

typedef struct _DXGKARG_VALIDATESUBMITCOMMAND {
    D3DGPU_VIRTUAL_ADDRESS Commands;
    UINT CommandLength;
    DXGK_VALIDATESUBMITCOMMANDFLAGS Flags;
    UINT ContextCount;
    HANDLE Context[D3DDDI_MAX_BROADCAST_CONTEXT];
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
    UINT UmdPrivateDataSize;
    UINT64 HwQueueProgressFenceId;
} DXGKARG_VALIDATESUBMITCOMMAND;
DXGK_ARGUMENT_POINTERS(DXGKARG_VALIDATESUBMITCOMMAND);

#endif

#endif
