/*
 * Components whose power a driver lets the system manage (DXGKQAITYPE_POWERCOMPONENTINFO).
 *
 * Place   include/wdk/d3dkmddi.
 * Source  Public documentation of DXGK_POWER_RUNTIME_COMPONENT and of what it has. It names the
 *         sizes of two arrays without their values: the name's and the providers' are those that
 *         fit what drivers put there.
 */
#ifndef D3DKMDDI_POWER_H
#define D3DKMDDI_POWER_H

#include "base.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8

#define DXGK_MAX_F_STATES                  8
#define DXGK_MAX_P_STATES                  32
#define DXGK_POWER_COMPONENT_NAME_SIZE     40
#define DXGK_MAX_POWER_COMPONENT_PROVIDERS 16

typedef enum _DXGK_POWER_COMPONENT_TYPE {
    DXGK_POWER_COMPONENT_ENGINE = 0,
    DXGK_POWER_COMPONENT_MONITOR = 1,
    DXGK_POWER_COMPONENT_MONITOR_REFRESH = 2,
    DXGK_POWER_COMPONENT_MEMORY = 3,
    DXGK_POWER_COMPONENT_MEMORY_REFRESH = 4,
    DXGK_POWER_COMPONENT_OTHER = 5,
    DXGK_POWER_COMPONENT_D3_TRANSITION = 6,
    DXGK_POWER_COMPONENT_SHARED = 7,
    DXGK_POWER_COMPONENT_MAX = 8,
} DXGK_POWER_COMPONENT_TYPE;

/* Times in units of 100 ns, power in microwatts. */
typedef struct _DXGK_POWER_RUNTIME_STATE {
    ULONGLONG TransitionLatency;
    ULONGLONG ResidencyRequirement;
    ULONG NominalPower;
} DXGK_POWER_RUNTIME_STATE;

typedef struct _DXGK_POWER_COMPONENT_MAPPING {
    DXGK_POWER_COMPONENT_TYPE ComponentType;
    union {
        struct {
            UINT NodeIndex;
        } EngineDesc;
        struct {
            UINT VidPnSourceID;
        } MonitorRefreshDesc;
        struct {
            UINT VidPnTargetID;
        } MonitorDesc;
        struct {
            UINT SegmentID;
        } MemoryDesc;
        struct {
            union {
                struct {
                    WORD SharedTypeFlag;
                    WORD DriverCustomValueSet;
                };
                UINT SharedType;
            };
        } SharedDesc;
    };
} DXGK_POWER_COMPONENT_MAPPING;

typedef struct _DXGK_POWER_COMPONENT_FLAGS {
    union {
        struct {
            UINT Reserved0 : 1;
            UINT DriverCompletesFStateTransition : 1;
            UINT TransitionTo_F0_OnDx : 1;
            UINT NoDebounce : 1;
            UINT ActiveInD3 : 1;
            UINT Reserved : 27;
        };
        UINT Value;
    };
} DXGK_POWER_COMPONENT_FLAGS;

/* Of DxgkDdiPowerRuntimeControlRequest. Their values are not documented; these are the bench's. */
DEFINE_GUID(GUID_DXGKDDI_POWER_MANAGEMENT_PREPARE_TO_START, 0x64727964, 0x6f63, 0x6b01, 0x80, 0, 0,
            0, 0, 0, 0, 1);
DEFINE_GUID(GUID_DXGKDDI_POWER_MANAGEMENT_STARTED, 0x64727964, 0x6f63, 0x6b01, 0x80, 0, 0, 0, 0, 0,
            0, 2);
DEFINE_GUID(GUID_DXGKDDI_POWER_MANAGEMENT_STOPPED, 0x64727964, 0x6f63, 0x6b01, 0x80, 0, 0, 0, 0, 0,
            0, 3);

typedef struct _DXGK_POWER_RUNTIME_COMPONENT {
    ULONG StateCount;
    DXGK_POWER_RUNTIME_STATE States[DXGK_MAX_F_STATES];
    DXGK_POWER_COMPONENT_MAPPING ComponentMapping;
    DXGK_POWER_COMPONENT_FLAGS Flags;
    GUID ComponentGuid;
    UCHAR ComponentName[DXGK_POWER_COMPONENT_NAME_SIZE];
    ULONG ProviderCount;
    ULONG Providers[DXGK_MAX_POWER_COMPONENT_PROVIDERS];
} DXGK_POWER_RUNTIME_COMPONENT;

#endif

/* P-states. */
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3

typedef struct _DXGK_POWER_P_STATE {
    ULONG OperatingFrequency;
} DXGK_POWER_P_STATE;

typedef struct _DXGK_POWER_COMPONENT_P_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGK_POWER_COMPONENT_P_FLAGS;

typedef struct _DXGK_POWER_P_COMPONENT {
    ULONG StateCount;
    DXGK_POWER_P_STATE States[DXGK_MAX_P_STATES];
    DXGK_POWER_COMPONENT_P_FLAGS Flags;
} DXGK_POWER_P_COMPONENT;

#endif

#endif
