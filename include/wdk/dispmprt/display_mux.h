/*
 * The interface of drivers whose internal panel can be switched between two GPUs.
 *
 * Place   include/wdk, part of dispmprt.h. The bench asks no driver for this interface.
 * Source  The public pages of dispmprt and d3dkmdt named like the types; layouts are those of
 *         data/ddi/types-x64.tsv.
 */
#ifndef DISPMPRT_DISPLAY_MUX_H
#define DISPMPRT_DISPLAY_MUX_H

#include "../d3dkmddi.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

typedef enum _DXGK_DISPLAYMUX_RUNTIME_STATUS {
    DXGK_DISPLAYMUX_RUNTIME_STATUS_UNINITIALIZED = 0,
    DXGK_DISPLAYMUX_RUNTIME_STATUS_OK = 1,
    DXGK_DISPLAYMUX_RUNTIME_STATUS_NO_GPU_SUPPORT = 2,
    DXGK_DISPLAYMUX_RUNTIME_STATUS_NON_CRITICAL_SYSTEM_INFO_MISSING = 3,
    DXGK_DISPLAYMUX_RUNTIME_STATUS_CRITICAL_SYSTEM_INFO_MISSING = 4,
} DXGK_DISPLAYMUX_RUNTIME_STATUS,
    *PDXGK_DISPLAYMUX_RUNTIME_STATUS;

typedef enum _DXGK_DISPLAYMUX_DRIVER_SUPPORT_LEVEL {
    DXGK_DISPLAYMUX_DRIVER_SUPPORT_LEVEL_UNINITIALIZED = 0,
    DXGK_DISPLAYMUX_DRIVER_SUPPORT_LEVEL_NONE = 1,
    DXGK_DISPLAYMUX_DRIVER_SUPPORT_LEVEL_DEVELOPMENT = 2,
    DXGK_DISPLAYMUX_DRIVER_SUPPORT_LEVEL_EXPERIMENTAL = 3,
    DXGK_DISPLAYMUX_DRIVER_SUPPORT_LEVEL_FULL = 4,
} DXGK_DISPLAYMUX_SUPPORT_LEVEL,
    *PDXGK_DISPLAYMUX_SUPPORT_LEVEL;

typedef struct _DXGK_DISPLAYMUX_SET_INTERNAL_PANEL_INFO {
    BOOLEAN Brightness3Supported;
    DXGK_BRIGHTNESS_CAPS Brightness3Caps;
    DXGK_BRIGHTNESS_GET_NIT_RANGES_OUT Bridgtness3Ranges;
} DXGK_DISPLAYMUX_SET_INTERNAL_PANEL_INFO, *PDXGK_DISPLAYMUX_SET_INTERNAL_PANEL_INFO;

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_GET_DRIVER_SUPPORT_LEVEL)(
    PVOID DriverContext, PDXGK_DISPLAYMUX_SUPPORT_LEVEL pDriverSupportLevel);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_GET_RUNTIME_STATUS)(
    PVOID DriverContext, PDXGK_DISPLAYMUX_RUNTIME_STATUS pRuntimeStatus);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_PRE_SWITCH_AWAY)(PVOID DriverContext,
                                                               ULONG VidPnTargetId,
                                                               PULONG pSwitchPrivateDataSize);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_PRE_SWITCH_AWAY_GET_PRIVATE_DATA)(
    PVOID DriverContext, ULONG VidPnTargetId, ULONG SwitchPrivateDataSize,
    PVOID pSwitchPrivateDataBuffer, GUID *pSwitchPrivateDataGUID);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_PRE_SWITCH_TO)(PVOID DriverContext,
                                                             ULONG VidPnTargetId,
                                                             ULONG CurrentBrightnessLevel);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_SWITCH_CANCELED)(PVOID DriverContext,
                                                               ULONG VidPnTargetId,
                                                               BOOLEAN MuxSwitchedToTarget);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_POST_SWITCH_AWAY)(PVOID DriverContext,
                                                                ULONG VidPnTargetId);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_POST_SWITCH_TO_PHASE1)(PVOID DriverContext,
                                                                     ULONG VidPnTargetId,
                                                                     ULONG SwitchPrivateDataSize,
                                                                     PVOID pSwitchPrivateDataBuffer,
                                                                     GUID *pSwitchPrivateDataGUID);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_POST_SWITCH_TO_PHASE2)(PVOID DriverContext,
                                                                     ULONG VidPnTargetId,
                                                                     BOOLEAN *pWasPanelInPSR);

typedef VOID(APIENTRY *DXGKDDI_DISPLAYMUX_UPDATE_STATE)(PVOID DriverContext, ULONG VidPnTargetId,
                                                        BOOLEAN MuxSwitchedToTarget);

typedef VOID(APIENTRY *DXGKDDI_DISPLAYMUX_REPORT_PRESENCE)(PVOID DriverContext,
                                                           BOOLEAN SystemHasMux);

typedef NTSTATUS(APIENTRY *DXGKDDI_DISPLAYMUX_SET_INTERNAL_PANEL_INFO)(
    PVOID DriverContext, ULONG VidPnTargetId,
    PDXGK_DISPLAYMUX_SET_INTERNAL_PANEL_INFO pInternalPanelInfo);

typedef struct _DXGK_DISPLAYMUX_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_DISPLAYMUX_GET_DRIVER_SUPPORT_LEVEL DxgkDdiDisplayMuxGetDriverSupportLevel;
    DXGKDDI_DISPLAYMUX_GET_RUNTIME_STATUS DxgkDdiDisplayMuxGetRuntimeStatus;
    DXGKDDI_DISPLAYMUX_PRE_SWITCH_AWAY DxgkDdiDisplayMuxPreSwitchAway;
    DXGKDDI_DISPLAYMUX_PRE_SWITCH_AWAY_GET_PRIVATE_DATA
    DxgkDdiDisplayMuxPreSwitchAwayGetPrivateData;
    DXGKDDI_DISPLAYMUX_PRE_SWITCH_TO DxgkDdiDisplayMuxPreSwitchTo;
    DXGKDDI_DISPLAYMUX_SWITCH_CANCELED DxgkDdiDisplayMuxSwitchCanceled;
    DXGKDDI_DISPLAYMUX_POST_SWITCH_AWAY DxgkDdiDisplayMuxPostSwitchAway;
    DXGKDDI_DISPLAYMUX_POST_SWITCH_TO_PHASE1 DxgkDdiDisplayMuxPostSwitchToPhase1;
    DXGKDDI_DISPLAYMUX_POST_SWITCH_TO_PHASE2 DxgkDdiDisplayMuxPostSwitchToPhase2;
    DXGKDDI_DISPLAYMUX_UPDATE_STATE DxgkDdiDisplayMuxUpdateState;
    DXGKDDI_DISPLAYMUX_REPORT_PRESENCE DxgkDdiDisplayMuxReportPresence;
} DXGK_DISPLAYMUX_INTERFACE, *PDXGK_DISPLAYMUX_INTERFACE;

typedef struct _DXGK_DISPLAYMUX_INTERFACE_2 {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    DXGKDDI_DISPLAYMUX_GET_DRIVER_SUPPORT_LEVEL DxgkDdiDisplayMuxGetDriverSupportLevel;
    DXGKDDI_DISPLAYMUX_GET_RUNTIME_STATUS DxgkDdiDisplayMuxGetRuntimeStatus;
    DXGKDDI_DISPLAYMUX_PRE_SWITCH_AWAY DxgkDdiDisplayMuxPreSwitchAway;
    DXGKDDI_DISPLAYMUX_PRE_SWITCH_AWAY_GET_PRIVATE_DATA
    DxgkDdiDisplayMuxPreSwitchAwayGetPrivateData;
    DXGKDDI_DISPLAYMUX_PRE_SWITCH_TO DxgkDdiDisplayMuxPreSwitchTo;
    DXGKDDI_DISPLAYMUX_SWITCH_CANCELED DxgkDdiDisplayMuxSwitchCanceled;
    DXGKDDI_DISPLAYMUX_POST_SWITCH_AWAY DxgkDdiDisplayMuxPostSwitchAway;
    DXGKDDI_DISPLAYMUX_POST_SWITCH_TO_PHASE1 DxgkDdiDisplayMuxPostSwitchToPhase1;
    DXGKDDI_DISPLAYMUX_POST_SWITCH_TO_PHASE2 DxgkDdiDisplayMuxPostSwitchToPhase2;
    DXGKDDI_DISPLAYMUX_UPDATE_STATE DxgkDdiDisplayMuxUpdateState;
    DXGKDDI_DISPLAYMUX_REPORT_PRESENCE DxgkDdiDisplayMuxReportPresence;
    DXGKDDI_DISPLAYMUX_SET_INTERNAL_PANEL_INFO DxgkDdiDisplayMuxSetInternalPanelInfo;
} DXGK_DISPLAYMUX_INTERFACE_2, *PDXGK_DISPLAYMUX_INTERFACE_2;

#endif

#endif
