/*
 * The device side of the interface: start information, events, child devices, display ownership.
 *
 * Place  include/wdk/d3dkmddi. Children of the adapter have their bodies in dispmprt/child.h.
 */
#ifndef D3DKMDDI_DEVICE_H
#define D3DKMDDI_DEVICE_H

#include "base.h"

typedef enum _DXGK_EVENT_TYPE {
    DxgkUndefinedEvent = 0,
    DxgkAcpiEvent = 1,
    DxgkPowerStateEvent = 2,
    DxgkDockingEvent = 3,
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_1
    DxgkChainedAcpiEvent = 4,
#endif
} DXGK_EVENT_TYPE;

typedef enum _DXGK_SURPRISE_REMOVAL_TYPE {
    DxgkRemovalHibernation = 0,
    DxgkRemovalPnPNotify = 1,
} DXGK_SURPRISE_REMOVAL_TYPE;

typedef enum _DXGK_SERVICES {
    DxgkServicesAgp = 0,
    DxgkServicesDebugReport = 1,
    DxgkServicesTimedOperation = 2,
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
    DxgkServicesSPB = 3,
    DxgkServicesBDD = 4,
    DxgkServicesFirmwareTable = 5,
    DxgkServicesIDD = 6,
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2
    DxgkServicesFeature = 7,
#endif
} DXGK_SERVICES;

typedef enum _DOCKING_STATE {
    DockStateUnsupported = 0,
    DockStateUnDocked = 1,
    DockStateDocked = 2,
    DockStateUnknown = 3,
} DOCKING_STATE;

typedef struct _DXGK_START_INFO {
    ULONG RequiredDmaQueueEntry;
    GUID AdapterGuid;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
    LUID AdapterLuid;
#endif
} DXGK_START_INFO, *PDXGK_START_INFO;

typedef struct _DXGK_DEVICE_INFO {
    PVOID MiniportDeviceContext;
    PDEVICE_OBJECT PhysicalDeviceObject;
    UNICODE_STRING DeviceRegistryPath;
    PCM_RESOURCE_LIST TranslatedResourceList;
    LARGE_INTEGER SystemMemorySize;
    PHYSICAL_ADDRESS HighestPhysicalAddress;
    PHYSICAL_ADDRESS AgpApertureBase;
    SIZE_T AgpApertureSize;
    DOCKING_STATE DockingState;
} DXGK_DEVICE_INFO, *PDXGK_DEVICE_INFO;

typedef struct _DXGKRNL_INTERFACE DXGKRNL_INTERFACE, *PDXGKRNL_INTERFACE;

typedef PDEVICE_OBJECT const IN_CONST_PDEVICE_OBJECT;
typedef PDXGK_START_INFO IN_PDXGK_START_INFO;
typedef PDXGKRNL_INTERFACE IN_PDXGKRNL_INTERFACE;
typedef DEVICE_POWER_STATE IN_DEVICE_POWER_STATE;
typedef POWER_ACTION IN_POWER_ACTION;
typedef DXGK_EVENT_TYPE IN_DXGK_EVENT_TYPE;
typedef LPCGUID IN_LPCGUID;

typedef struct _VIDEO_REQUEST_PACKET VIDEO_REQUEST_PACKET, *PVIDEO_REQUEST_PACKET;
typedef PVIDEO_REQUEST_PACKET IN_PVIDEO_REQUEST_PACKET;

typedef struct _DXGK_CHILD_DESCRIPTOR DXGK_CHILD_DESCRIPTOR, *PDXGK_CHILD_DESCRIPTOR;
typedef PDXGK_CHILD_DESCRIPTOR INOUT_PDXGK_CHILD_DESCRIPTOR;
typedef struct _DXGK_CHILD_STATUS DXGK_CHILD_STATUS, *PDXGK_CHILD_STATUS;
typedef PDXGK_CHILD_STATUS IN_PDXGK_CHILD_STATUS, INOUT_PDXGK_CHILD_STATUS;
typedef struct _DXGK_DEVICE_DESCRIPTOR DXGK_DEVICE_DESCRIPTOR, *PDXGK_DEVICE_DESCRIPTOR;
typedef PDXGK_DEVICE_DESCRIPTOR INOUT_PDXGK_DEVICE_DESCRIPTOR;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
typedef struct _DXGK_CHILD_CONTAINER_ID DXGK_CHILD_CONTAINER_ID, *PDXGK_CHILD_CONTAINER_ID;
#endif
typedef struct _DXGK_PRE_START_INFO DXGK_PRE_START_INFO, *PDXGK_PRE_START_INFO;
typedef PDXGK_PRE_START_INFO INOUT_PDXGK_PRE_START_INFO, IN_OUT_PDXGK_PRE_START_INFO;
typedef struct _LINKED_DEVICE LINKED_DEVICE, *PLINKED_DEVICE;
typedef PLINKED_DEVICE INOUT_PLINKED_DEVICE;

/* An interface by GUID and version; Size is the room at Interface. */
typedef struct _QUERY_INTERFACE {
    const GUID *InterfaceType;
    USHORT Size;
    USHORT Version;
    PINTERFACE Interface;
    PVOID InterfaceSpecificData;
    ULONG DeviceUid;
} QUERY_INTERFACE, *PQUERY_INTERFACE;
typedef PQUERY_INTERFACE IN_PQUERY_INTERFACE;

typedef struct _DXGK_DISPLAY_OWNERSHIP_FLAGS DXGK_DISPLAY_OWNERSHIP_FLAGS;
typedef DXGK_DISPLAY_OWNERSHIP_FLAGS *PDXGK_DISPLAY_OWNERSHIP_FLAGS;
typedef struct _DXGK_DIAGNOSTIC_HEADER DXGK_DIAGNOSTIC_HEADER, *PDXGK_DIAGNOSTIC_HEADER;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
typedef struct _DXGKARG_SYSTEM_DISPLAY_ENABLE_FLAGS DXGKARG_SYSTEM_DISPLAY_ENABLE_FLAGS;
typedef DXGKARG_SYSTEM_DISPLAY_ENABLE_FLAGS *IN_PDXGKARG_SYSTEM_DISPLAY_ENABLE_FLAGS;
#endif
typedef struct _ACPI_EVAL_INPUT_BUFFER_COMPLEX *PACPI_EVAL_INPUT_BUFFER_COMPLEX;
typedef struct _ACPI_EVAL_OUTPUT_BUFFER *PACPI_EVAL_OUTPUT_BUFFER;
typedef struct _DXGK_COLORIMETRY DXGK_COLORIMETRY;

/* What DxgkCbReadDeviceSpace and DxgkCbWriteDeviceSpace read and write. */
#define DXGK_WHICHSPACE_CONFIG PCI_WHICHSPACE_CONFIG
#define DXGK_WHICHSPACE_ROM    PCI_WHICHSPACE_ROM
#define DXGK_WHICHSPACE_MCH    0x80000000
#define DXGK_WHICHSPACE_BRIDGE 0x80000001

/* The firmware frame buffer that a driver takes over at start and gives back at stop. */
typedef struct _DXGK_DISPLAY_INFORMATION {
    UINT Width;
    UINT Height;
    UINT Pitch;
    D3DDDIFORMAT ColorFormat;
    PHYSICAL_ADDRESS PhysicAddress;
    D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId;
    ULONG AcpiId;
} DXGK_DISPLAY_INFORMATION, *PDXGK_DISPLAY_INFORMATION;

/* Flags of a display service, outside the memory contract. */
typedef UINT DXGKCB_HARDWARECONTENTPROTECTIONTEARDOWN_FLAGS;

/* Runs while nobody can reach the adapter; see DxgkCbExcludeAdapterAccess. */
typedef VOID APIENTRY DXGKDDI_PROTECTED_CALLBACK(IN_CONST_PVOID MiniportDeviceContext,
                                                 IN_PVOID ProtectedCallbackContext,
                                                 NTSTATUS ProtectionStatus);
typedef DXGKDDI_PROTECTED_CALLBACK *PDXGKDDI_PROTECTED_CALLBACK;

#endif
