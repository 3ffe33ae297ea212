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

#endif
