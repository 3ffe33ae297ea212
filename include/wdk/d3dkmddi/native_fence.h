/*
 * Native GPU fences: the driver's objects for them.
 *
 * Place  include/wdk/d3dkmddi. Rules: contract.md FENCE-013..015, NTF-010, NTF-011. Where the
 *        fence's values are is told by NOTIFY_FENCE_RESIDENCY (paging.h).
 */
#ifndef D3DKMDDI_NATIVE_FENCE_H
#define D3DKMDDI_NATIVE_FENCE_H

#include "base.h"

typedef struct _DXGKARG_CREATENATIVEFENCE_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGKARG_CREATENATIVEFENCE_FLAGS;

/* hGlobalNativeFence comes in as the kernel's handle and goes out as the driver's. */
typedef struct _DXGKARG_CREATENATIVEFENCE {
    HANDLE hGlobalNativeFence;
    D3DDDI_NATIVEFENCE_TYPE Type;
    D3DGPU_VIRTUAL_ADDRESS CurrentValueSystemProcessGpuVa;
    D3DGPU_VIRTUAL_ADDRESS MonitoredValueSystemProcessGpuVa;
    BYTE pPrivateDriverData[D3DDDI_NATIVE_FENCE_PDD_SIZE];
    DXGKARG_CREATENATIVEFENCE_FLAGS Flags;
    BYTE Reserved[32];
} DXGKARG_CREATENATIVEFENCE;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATENATIVEFENCE);

typedef struct _DXGK_DESTROYNATIVEFENCE_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGK_DESTROYNATIVEFENCE_FLAGS;

typedef struct _DXGKARG_DESTROYNATIVEFENCE {
    HANDLE hGlobalNativeFence;
    DXGK_DESTROYNATIVEFENCE_FLAGS Flags;
    BYTE Reserved[32];
} DXGKARG_DESTROYNATIVEFENCE;
DXGK_ARGUMENT_POINTERS(DXGKARG_DESTROYNATIVEFENCE);

typedef struct _DXGKARG_UPDATEMONITOREDVALUES_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGKARG_UPDATEMONITOREDVALUES_FLAGS;

/* One entry a fence in each array. The addresses are good during the call alone. */
typedef struct _DXGKARG_UPDATEMONITOREDVALUES {
    HANDLE *NativeFenceArray;
    UINT64 *UpdatedValueArray;
    void **MonitoredValueKernelCpuVa;
    UINT NumFences;
    DXGKARG_UPDATEMONITOREDVALUES_FLAGS Flags;
    BYTE Reserved[28];
} DXGKARG_UPDATEMONITOREDVALUES;
DXGK_ARGUMENT_POINTERS(DXGKARG_UPDATEMONITOREDVALUES);

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_1

typedef struct _DXGK_UPDATECURRENTVALUESFROMCPU_FLAGS {
    union {
        struct {
            UINT AlwaysSignaled : 1;
            UINT NotificationOnly : 1;
            UINT Reserved : 30;
        };
        UINT Value;
    };
} DXGK_UPDATECURRENTVALUESFROMCPU_FLAGS;

/* Arrays of NumFences: the driver's handles, the values, where the values are. */
typedef struct _DXGKARG_UPDATECURRENTVALUESFROMCPU {
    HANDLE *NativeFenceArray;
    UINT64 *UpdatedValueArray;
    void **CurrentValueKernelCpuVa;
    UINT NumFences;
    DXGK_UPDATECURRENTVALUESFROMCPU_FLAGS Flags;
    BYTE Reserved[28];
} DXGKARG_UPDATECURRENTVALUESFROMCPU;
DXGK_ARGUMENT_POINTERS(DXGKARG_UPDATECURRENTVALUESFROMCPU);

/* What the driver answers to DXGKQAITYPE_NATIVE_FENCE_CAPS. */
typedef struct _DXGK_NATIVE_FENCE_CAPS {
    UINT MonitoredValueStride;
    BOOLEAN MapToGpuSystemProcess;
    D3DGPU_VIRTUAL_ADDRESS MinimumAddress;
    D3DGPU_VIRTUAL_ADDRESS MaximumAddress;
    BYTE Reserved[28];
} DXGK_NATIVE_FENCE_CAPS;

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

typedef struct _DXGK_OPENNATIVEFENCE_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGK_OPENNATIVEFENCE_FLAGS;

/* hLocalNativeFence comes in as the kernel's handle and goes out as the driver's. */
typedef struct _DXGKARG_OPENNATIVEFENCE {
    HANDLE hGlobalNativeFence;
    HANDLE hLocalNativeFence;
    HANDLE hDevice;
    D3DGPU_VIRTUAL_ADDRESS CurrentValueGpuVa;
    D3DGPU_VIRTUAL_ADDRESS MonitoredValueGpuVa;
    DXGK_OPENNATIVEFENCE_FLAGS Flags;
    BYTE pPrivateDriverData[D3DDDI_NATIVE_FENCE_PDD_SIZE];
    BYTE Reserved[32];
} DXGKARG_OPENNATIVEFENCE;
DXGK_ARGUMENT_POINTERS(DXGKARG_OPENNATIVEFENCE);

typedef struct _DXGK_CLOSENATIVEFENCE_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGK_CLOSENATIVEFENCE_FLAGS;

typedef struct _DXGKARG_CLOSENATIVEFENCE {
    HANDLE hLocalNativeFence;
    DXGK_CLOSENATIVEFENCE_FLAGS Flags;
    BYTE Reserved[32];
} DXGKARG_CLOSENATIVEFENCE;
DXGK_ARGUMENT_POINTERS(DXGKARG_CLOSENATIVEFENCE);

/* A log of a hardware queue, which the GPU writes: what it waited for, or signalled. */

typedef enum _DXGK_NATIVE_FENCE_LOG_TYPE {
    DXGK_NATIVE_FENCE_LOG_TYPE_WAITS = 1,
    DXGK_NATIVE_FENCE_LOG_TYPE_SIGNALS = 2,
} DXGK_NATIVE_FENCE_LOG_TYPE;

typedef enum _DXGK_NATIVE_FENCE_LOG_OPERATION {
    DXGK_NATIVE_FENCE_LOG_OPERATION_SIGNAL_EXECUTED = 0,
    DXGK_NATIVE_FENCE_LOG_OPERATION_WAIT_UNBLOCKED = 1,
} DXGK_NATIVE_FENCE_LOG_OPERATION;

typedef struct _DXGK_NATIVE_FENCE_LOG_HEADER {
    union {
        struct {
            UINT32 FirstFreeEntryIndex;
            UINT32 WraparoundCount;
        };
        ULARGE_INTEGER AtomicWraparoundAndEntryIndex;
    };
    DXGK_NATIVE_FENCE_LOG_TYPE Type;
    UINT64 NumberOfEntries;
    UINT64 Reserved[2];
} DXGK_NATIVE_FENCE_LOG_HEADER;

typedef struct _DXGK_NATIVE_FENCE_LOG_ENTRY {
    UINT64 FenceValue;
    D3DKMT_HANDLE hNativeFence;
    UINT OperationType; /* DXGK_NATIVE_FENCE_LOG_OPERATION */
    UINT64 Reserved0;
    UINT64 FenceObservedGpuTimestamp;
    UINT64 Reserved1;
    UINT64 FenceEndGpuTimestamp;
} DXGK_NATIVE_FENCE_LOG_ENTRY;

typedef struct _DXGK_NATIVE_FENCE_LOG_BUFFER {
    DXGK_NATIVE_FENCE_LOG_HEADER Header;
    DXGK_NATIVE_FENCE_LOG_ENTRY Entries[1]; /* Header.NumberOfEntries */
} DXGK_NATIVE_FENCE_LOG_BUFFER;

typedef struct _DXGKARG_SETNATIVEFENCELOGBUFFER_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGKARG_SETNATIVEFENCELOGBUFFER_FLAGS;

typedef struct _DXGKARG_SETNATIVEFENCELOGBUFFER {
    HANDLE hHwQueue;
    UINT NumberOfEntries;
    DXGK_NATIVE_FENCE_LOG_BUFFER *LogBufferCpuVa;
    D3DGPU_VIRTUAL_ADDRESS LogBufferGpuVa;
    D3DGPU_VIRTUAL_ADDRESS LogBufferSystemProcessGpuVa;
    DXGKARG_SETNATIVEFENCELOGBUFFER_FLAGS Flags;
    BYTE Reserved[32];
} DXGKARG_SETNATIVEFENCELOGBUFFER;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETNATIVEFENCELOGBUFFER);

typedef struct _DXGKARG_UPDATENATIVEFENCELOGS_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGKARG_UPDATENATIVEFENCELOGS_FLAGS;

typedef struct _DXGKARG_UPDATENATIVEFENCELOGS {
    UINT NumberOfQueues;
    HANDLE *hHWQueue;
    DXGKARG_UPDATENATIVEFENCELOGS_FLAGS Flags;
    BYTE Reserved[32];
} DXGKARG_UPDATENATIVEFENCELOGS;
DXGK_ARGUMENT_POINTERS(DXGKARG_UPDATENATIVEFENCELOGS);

#endif

/* The interface of DXGK_FEATURE_NATIVE_FENCE. */
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

typedef struct _DXGKARGCB_FEATURE_NATIVEFENCE_CAPS_1 {
    UINT SupportOptimizedDefaultFenceType : 1;
    UINT SupportIntraGpuFenceType : 1;
} DXGKARGCB_FEATURE_NATIVEFENCE_CAPS_1;
DXGK_ARGUMENT_POINTERS(DXGKARGCB_FEATURE_NATIVEFENCE_CAPS_1);

typedef NTSTATUS(APIENTRY *DXGKCB_FEATURE_NATIVEFENCE_CAPS_1)(
    INOUT_PDXGKARGCB_FEATURE_NATIVEFENCE_CAPS_1 pArgs);

typedef struct _DXGKCBINT_FEATURE_NATIVEFENCE_1 {
    DXGKCB_FEATURE_NATIVEFENCE_CAPS_1 GetOSCaps;
} DXGKCBINT_FEATURE_NATIVEFENCE_1;

#endif

#endif
