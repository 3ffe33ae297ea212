/*
 * Children of an adapter: video outputs, what is plugged into them, and the boot display.
 *
 * Place   include/wdk/dispmprt. Included by dispmprt.h. Outside the memory contract: the bench asks
 *         display-only drivers alone for their children.
 * Source  The public DDI reference (dispmprt.h, video.h): members in its order.
 */
#ifndef DISPMPRT_CHILD_H
#define DISPMPRT_CHILD_H

#include "../d3dkmddi.h"

/* Of video.h, which drivers that serve both models of Windows name. */
typedef LONG VP_STATUS, *PVP_STATUS;
typedef BOOLEAN MINIPORT_SYNCHRONIZE_ROUTINE(PVOID Context);
typedef MINIPORT_SYNCHRONIZE_ROUTINE *PMINIPORT_SYNCHRONIZE_ROUTINE;

typedef enum _DXGK_CHILD_DEVICE_TYPE {
    TypeUninitialized,
    TypeVideoOutput,
    TypeOther,
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_4
    TypeIntegratedDisplay,
#endif
    TypeLogicalGpu = 4,
} DXGK_CHILD_DEVICE_TYPE,
    *PDXGK_CHILD_DEVICE_TYPE;

typedef struct _DXGK_VIDEO_OUTPUT_CAPABILITIES {
    D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY InterfaceTechnology;
    D3DKMDT_MONITOR_ORIENTATION_AWARENESS MonitorOrientationAwareness;
    BOOLEAN SupportsSdtvModes;
} DXGK_VIDEO_OUTPUT_CAPABILITIES, *PDXGK_VIDEO_OUTPUT_CAPABILITIES;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_4
typedef struct _DXGK_INTEGRATED_DISPLAY_CHILD {
    D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY InterfaceTechnology;
    USHORT DescriptorLength;
} DXGK_INTEGRATED_DISPLAY_CHILD, *PDXGK_INTEGRATED_DISPLAY_CHILD;
#endif

typedef struct _DXGK_CHILD_CAPABILITIES {
    union {
        DXGK_VIDEO_OUTPUT_CAPABILITIES VideoOutput;
        struct {
            UINT MustBeZero;
        } Other;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_4
        DXGK_INTEGRATED_DISPLAY_CHILD IntegratedDisplayChild;
#endif
    } Type;
    DXGK_CHILD_DEVICE_HPD_AWARENESS HpdAwareness;
} DXGK_CHILD_CAPABILITIES, *PDXGK_CHILD_CAPABILITIES;

struct _DXGK_CHILD_DESCRIPTOR {
    DXGK_CHILD_DEVICE_TYPE ChildDeviceType;
    DXGK_CHILD_CAPABILITIES ChildCapabilities;
    ULONG AcpiUid;
    ULONG ChildUid;
};

typedef enum _DXGK_CHILD_STATUS_TYPE {
    StatusUninitialized,
    StatusConnection,
    StatusRotation,
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
    StatusMiracastConnection,
#endif
} DXGK_CHILD_STATUS_TYPE,
    *PDXGK_CHILD_STATUS_TYPE;

struct _DXGK_CHILD_STATUS {
    DXGK_CHILD_STATUS_TYPE Type;
    ULONG ChildUid;
    union {
        struct {
            BOOLEAN Connected;
        } HotPlug;
        struct {
            UCHAR Angle;
        } Rotation;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
        struct {
            BOOLEAN Connected;
            D3DKMDT_VIDEO_OUTPUT_TECHNOLOGY MiracastMonitorType;
        } Miracast;
#endif
    };
};

struct _DXGK_DEVICE_DESCRIPTOR {
    ULONG DescriptorOffset;
    ULONG DescriptorLength;
    PVOID DescriptorBuffer;
};

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
struct _DXGK_CHILD_CONTAINER_ID {
    GUID ContainerId;
    struct {
        ULONG64 PortId;
        USHORT ManufacturerName;
        USHORT ProductCode;
    } EldInfo;
};
#endif

/* The boot display. */

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
struct _DXGKARG_SYSTEM_DISPLAY_ENABLE_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
};
typedef DXGKARG_SYSTEM_DISPLAY_ENABLE_FLAGS *PDXGKARG_SYSTEM_DISPLAY_ENABLE_FLAGS;
#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2
typedef enum _DXGK_FRAMEBUFFER_STATE {
    FrameBufferStateUnknown,
    FrameBufferStateInitializedByFirmware,
    FrameBufferStateInitializedByDriver,
} DXGK_FRAMEBUFFER_STATE;
#endif

struct _LINKED_DEVICE {
    ULONG ChainUid;
    ULONG NumberOfLinksInChain;
    BOOLEAN LeadLink;
};

/* A device control of the video port: what DxgkDdiDispatchIoRequest gets. */

typedef struct _STATUS_BLOCK {
    union {
        LONG Status;
        PVOID Pointer;
    };
    ULONG_PTR Information;
} STATUS_BLOCK, *PSTATUS_BLOCK;

struct _VIDEO_REQUEST_PACKET {
    ULONG IoControlCode;
    PSTATUS_BLOCK StatusBlock;
    PVOID InputBuffer;
    ULONG InputBufferLength;
    PVOID OutputBuffer;
    ULONG OutputBufferLength;
};

/* No page tells DXGK_MAX_REG_SZ_LEN, the length of its strings: no body. */
typedef struct _DXGK_GENERIC_DESCRIPTOR DXGK_GENERIC_DESCRIPTOR, *PDXGK_GENERIC_DESCRIPTOR;

typedef VOID(APIENTRY *PBANKED_SECTION_ROUTINE)(ULONG ReadBank, ULONG WriteBank, PVOID Context);

typedef enum _EMULATOR_PORT_ACCESS_TYPE {
    Uchar = 0,
    Ushort = 1,
    Ulong = 2,
} EMULATOR_PORT_ACCESS_TYPE,
    *PEMULATOR_PORT_ACCESS_TYPE;

typedef struct _EMULATOR_ACCESS_ENTRY {
    ULONG BasePort;
    ULONG NumConsecutivePorts;
    EMULATOR_PORT_ACCESS_TYPE AccessType;
    UCHAR AccessMode;
    UCHAR StringSupport;
    PVOID Routine;
} EMULATOR_ACCESS_ENTRY, *PEMULATOR_ACCESS_ENTRY;

#endif
