/*
 * The clocks of nodes, and of the processor at the same time.
 *
 * Place   include/wdk, part of d3dkmdt.h.
 * Source  The public pages of d3dkmdt and d3dkmthk; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef D3DKMDT_CLOCK_H
#define D3DKMDT_CLOCK_H

#include "video.h"

#pragma pack(push, 1)
typedef struct _DXGK_GPUCLOCKDATA_FLAGS {
    union {
        struct {
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_4
            UINT ContextManagementProcessor : 1;
#endif
            UINT Reserved : 31 + DXGK_BEFORE(WDDM2_4, 1);
        };
        UINT32 Value;
    };
} DXGK_GPUCLOCKDATA_FLAGS, *PDXGK_GPUCLOCKDATA_FLAGS;
#pragma pack(pop)

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
#pragma pack(push, 1)
typedef struct _DXGK_GPUCLOCKDATA {
    UINT64 GpuFrequency;
    UINT64 GpuClockCounter;
    UINT64 CpuClockCounter;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_4
    DXGK_GPUCLOCKDATA_FLAGS Flags;
#endif
} DXGK_GPUCLOCKDATA, *PDXGK_GPUCLOCKDATA;
#pragma pack(pop)

typedef struct _D3DKMT_QUERYCLOCKCALIBRATION {
    D3DKMT_HANDLE hAdapter;
    UINT NodeOrdinal;
    UINT PhysicalAdapterIndex;
    DXGK_GPUCLOCKDATA ClockData;
} D3DKMT_QUERYCLOCKCALIBRATION;
#endif

#endif
