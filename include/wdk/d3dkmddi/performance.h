/*
 * Clocks, power and capabilities of an adapter as the system reports them.
 *
 * Place   include/wdk, part of d3dkmddi.h.
 * Source  The public pages of d3dkmddi; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef D3DKMDDI_PERFORMANCE_H
#define D3DKMDDI_PERFORMANCE_H

#include "base.h"
#include "submission.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8

typedef struct _D3DKMT_WDDM_1_2_CAPS {
    D3DKMDT_PREEMPTION_CAPS PreemptionCaps;
    union {
        struct {
            UINT SupportNonVGA : 1;
            UINT SupportSmoothRotation : 1;
            UINT SupportPerEngineTDR : 1;
            UINT SupportKernelModeCommandBuffer : 1;
            UINT SupportCCD : 1;
            UINT SupportSoftwareDeviceBitmaps : 1;
            UINT SupportGammaRamp : 1;
            UINT SupportHWCursor : 1;
            UINT SupportHWVSync : 1;
            UINT SupportSurpriseRemovalInHibernation : 1;
            UINT Reserved : 22;
        };
        UINT Value;
    };
} D3DKMT_WDDM_1_2_CAPS;

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3

typedef struct _D3DKMT_WDDM_1_3_CAPS {
    union {
        struct {
            UINT SupportMiracast : 1;
            UINT IsHybridIntegratedGPU : 1;
            UINT IsHybridDiscreteGPU : 1;
            UINT SupportPowerManagementPStates : 1;
            UINT SupportVirtualModes : 1;
            UINT SupportCrossAdapterResource : 1;
            UINT Reserved : 26;
        };
        UINT Value;
    };
} D3DKMT_WDDM_1_3_CAPS;

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0

typedef struct _D3DKMT_WDDM_2_0_CAPS {
    union {
        struct {
            UINT Support64BitAtomics : 1;
            UINT GpuMmuSupported : 1;
            UINT IoMmuSupported : 1;
            UINT FlipOverwriteSupported : 1;
            UINT SupportContextlessPresent : 1;
            UINT SupportSurpriseRemoval : 1;
            UINT Reserved : 26;
        };
        UINT Value;
    };
} D3DKMT_WDDM_2_0_CAPS;

typedef struct _D3DKMT_DRIVERCAPS_EXT {
    union {
        struct {
            UINT VirtualModeSupport : 1;
            UINT Usb4MonitorSupport : 1;
            UINT Reserved : 30;
        };
        UINT Value;
    };
} D3DKMT_DRIVERCAPS_EXT;

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_7

typedef struct _D3DKMT_WDDM_2_7_CAPS {
    union {
        struct {
            UINT HwSchSupported : 1;
            UINT HwSchEnabled : 1;
            UINT HwSchEnabledByDefault : 1;
            UINT IndependentVidPnVSyncControl : 1;
            UINT Reserved : 28;
        };
        UINT Value;
    };
} D3DKMT_WDDM_2_7_CAPS;

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_9

typedef struct _D3DKMT_WDDM_2_9_CAPS {
    union {
        struct {
            UINT HwSchSupportState : 2;
            UINT HwSchEnabled : 1;
            UINT SelfRefreshMemorySupported : 1;
            UINT Reserved : 28;
        };
        UINT Value;
    };
} D3DKMT_WDDM_2_9_CAPS;

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_0

typedef struct _D3DKMT_WDDM_3_0_CAPS {
    union {
        struct {
            UINT HwFlipQueueSupportState : 2;
            UINT HwFlipQueueEnabled : 1;
            UINT DisplayableSupported : 1;
            UINT Reserved : 28;
        };
        UINT Value;
    };
} D3DKMT_WDDM_3_0_CAPS;

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

typedef struct _D3DKMT_WDDM_3_1_CAPS {
    union {
        struct {
            UINT NativeGpuFenceSupported : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} D3DKMT_WDDM_3_1_CAPS;

#endif

typedef struct _DXGK_ADAPTER_PERFDATA {
    ULONGLONG MemoryFrequency;
    ULONGLONG MaxMemoryFrequency;
    ULONGLONG MaxMemoryFrequencyOC;
    ULONGLONG MemoryBandwidth;
    ULONGLONG PCIEBandwidth;
    ULONG FanRPM;
    ULONG Power;
    ULONG Temperature;
    UCHAR PowerStateOverride;
} DXGK_ADAPTER_PERFDATA;

typedef struct _DXGK_ADAPTER_PERFDATACAPS {
    ULONGLONG MaxMemoryBandwidth;
    ULONGLONG MaxPCIEBandwidth;
    ULONG MaxFanRPM;
    ULONG TemperatureMax;
    ULONG TemperatureWarning;
} DXGK_ADAPTER_PERFDATACAPS;

typedef struct _DXGK_NODE_PERFDATA {
    ULONGLONG Frequency;
    ULONGLONG MaxFrequency;
    ULONGLONG MaxFrequencyOC;
    ULONG Voltage;
    ULONG VoltageMax;
    ULONG VoltageMaxOC;
    ULONGLONG MaxTransitionLatency;
} DXGK_NODE_PERFDATA;

#endif
