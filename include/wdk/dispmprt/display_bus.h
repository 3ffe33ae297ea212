/*
 * Interfaces to what hangs behind a connector: DisplayPort's auxiliary channel and MIPI DSI panels.
 *
 * Place   include/wdk, part of dispmprt.h. The bench asks no driver for these interfaces.
 * Source  The public pages of dispmprt named like the types; layouts are those of
 *         data/ddi/types-x64.tsv.
 */
#ifndef DISPMPRT_DISPLAY_BUS_H
#define DISPMPRT_DISPLAY_BUS_H

#include "../d3dkmddi.h"

/* Bytes of a packet; a transmission may append more to its last packet. */
#define DXGK_DSI_PACKET_EMBEDDED_PAYLOAD_SIZE 8

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_7

typedef struct _DXGKARG_QUERYDPCAPS {
    UINT NumRootPorts;
    BYTE DPVersionMajor;
    BYTE DPVersionMinor;
} DXGKARG_QUERYDPCAPS, *PDXGKARG_QUERYDPCAPS;

/* No page tells MAX_DP_ADDRESS_SIZE, the length of its last member: no body. */
typedef struct _DXGKARG_GETDPADDRESS DXGKARG_GETDPADDRESS, *PDXGKARG_GETDPADDRESS;

/* No page tells MAX_DP_NATIVE_AUX_IO_SIZE, the length of its last member: no body. */
typedef struct _DXGKARG_DPAUXIOTRANSMISSION DXGKARG_DPAUXIOTRANSMISSION,
    *PDXGKARG_DPAUXIOTRANSMISSION;

typedef struct _DXGKARG_DPI2CIOTRANSMISSION {
    struct {
        UINT Read : 1;
        UINT Write : 1;
        UINT EDDCMode : 1;
        UINT OffsetSizeInBytes : 3;
        UINT CanUseCachedData : 1;
        UINT Reserved : 25;
    };
    UINT RootPortIndex;
    UINT I2CAddress;
    union {
        struct {
            UINT WordOffset : 8;
            UINT SegmentPointer : 7;
            UINT Reserved1 : 17;
        };
        UINT Offset;
    };
    UINT BufferSizeSupplied;
    UINT BytesToWrite;
    UINT BytesToRead;
    UINT DPNativeError;
    UINT BytesWritten;
    UINT BytesRead;
    BYTE Data[1];
} DXGKARG_DPI2CIOTRANSMISSION, *PDXGKARG_DPI2CIOTRANSMISSION;

typedef struct _DXGKARG_DPSBMTRANSMISSION {
    struct {
        UINT CanUseCachedData : 1;
        UINT Reserved : 31;
    };
    UINT RootPortIndex;
    UINT BufferSizeSupplied;
    UINT RequestLength;
    UINT MaxReplyLength;
    UINT DPNativeError;
    UINT ActualReplyLength;
    BYTE Data[1];
} DXGKARG_DPSBMTRANSMISSION, *PDXGKARG_DPSBMTRANSMISSION;

typedef NTSTATUS APIENTRY DXGKDDI_QUERYDPCAPS(HANDLE Context, PDXGKARG_QUERYDPCAPS pArgs);
typedef DXGKDDI_QUERYDPCAPS *PDXGKDDI_QUERYDPCAPS;

typedef NTSTATUS APIENTRY DXGKDDI_GETDPADDRESS(HANDLE Context, PDXGKARG_GETDPADDRESS pArgs);
typedef DXGKDDI_GETDPADDRESS *PDXGKDDI_GETDPADDRESS;

typedef NTSTATUS APIENTRY DXGKDDI_DPAUXIOTRANSMISSION(HANDLE Context,
                                                      PDXGKARG_DPAUXIOTRANSMISSION pArgs);
typedef DXGKDDI_DPAUXIOTRANSMISSION *PDXGKDDI_DPAUXIOTRANSMISSION;

typedef NTSTATUS APIENTRY DXGKDDI_DPI2CIOTRANSMISSION(HANDLE Context,
                                                      PDXGKARG_DPI2CIOTRANSMISSION pArgs);
typedef DXGKDDI_DPI2CIOTRANSMISSION *PDXGKDDI_DPI2CIOTRANSMISSION;

typedef NTSTATUS APIENTRY DXGKDDI_DPSBMTRANSMISSION(HANDLE Context,
                                                    PDXGKARG_DPSBMTRANSMISSION pArgs);
typedef DXGKDDI_DPSBMTRANSMISSION *PDXGKDDI_DPSBMTRANSMISSION;

typedef struct _DXGK_DP_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    PDXGKDDI_QUERYDPCAPS DxgkDdiQueryDPCaps;
    PDXGKDDI_GETDPADDRESS DxgkDdiGetDPAddress;
    PDXGKDDI_DPAUXIOTRANSMISSION DxgkDdiDPAuxIoTransmission;
    PDXGKDDI_DPI2CIOTRANSMISSION DxgkDdiDPI2CIoTransmission;
    PDXGKDDI_DPSBMTRANSMISSION DxgkDdiDPSBMTransmission;
} DXGK_DP_INTERFACE, *PDXGK_DP_INTERFACE;

typedef enum _DXGK_DSI_CONTROL_TRANSMISSION_MODE {
    DXGK_DCT_DEFAULT = 0,
    DXGK_DCT_FORCE_LOW_POWER = 1,
    DXGK_DCT_FORCE_HIGH_SPEED = 2,
} DXGK_DSI_CONTROL_TRANSMISSION_MODE;

typedef struct _DXGK_DSI_CAPS {
    BYTE DSITypeMajor;
    BYTE DSITypeMinor;
    BYTE SpecVersionMajor;
    BYTE SpecVersionMinor;
    BYTE SpecVersionPatch;
    WORD TargetMaximumReturnPacketSize;
    BYTE ResultCodeFlags;
    BYTE ResultCodeStatus;
    BYTE Revision;
    BYTE Level;
    BYTE DeviceClassHi;
    BYTE DeviceClassLo;
    BYTE ManufacturerHi;
    BYTE ManufacturerLo;
    BYTE ProductHi;
    BYTE ProductLo;
    BYTE LengthHi;
    BYTE LengthLo;
} DXGK_DSI_CAPS, *PDXGK_DSI_CAPS;

typedef struct _DXGK_DSI_PACKET {
    union {
        BYTE DataId;
        struct {
            BYTE DataType : 6;
            BYTE VirtualChannel : 2;
        };
    };
    union {
        struct {
            BYTE Data0;
            BYTE Data1;
        };
        WORD LongWriteWordCount;
    };
    BYTE EccFiller;
    BYTE Payload[DXGK_DSI_PACKET_EMBEDDED_PAYLOAD_SIZE];
} DXGK_DSI_PACKET, *PDXGK_DSI_PACKET;

typedef struct _DXGK_DSI_TRANSMISSION {
    UINT TotalBufferSize;
    BYTE PacketCount;
    BYTE FailedPacket;
    struct {
        WORD TransmissionMode : 2;
        WORD ReportMipiErrors : 1;
        WORD ClearMipiErrors : 1;
        WORD SecondaryPort : 1;
        WORD ManufacturingMode : 1;
        WORD Reserved : 10;
    };
    WORD ReadWordCount;
    WORD FinalCommandExtraPayload;
    WORD MipiErrors;
    WORD HostErrors;
    DXGK_DSI_PACKET Packets[1];
} DXGK_DSI_TRANSMISSION, *PDXGK_DSI_TRANSMISSION;

typedef struct _DXGK_DSI_RESET {
    UINT Flags;
    union {
        struct {
            UINT MipiErrors : 16;
            UINT ResetFailed : 1;
            UINT NeedModeSet : 1;
        };
        UINT Results;
    };
} DXGK_DSI_RESET, *PDXGK_DSI_RESET;

typedef NTSTATUS APIENTRY DXGKDDI_DSICAPS(HANDLE Context, D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId,
                                          PDXGK_DSI_CAPS pArgs);
typedef DXGKDDI_DSICAPS *PDXGKDDI_DSICAPS;

typedef NTSTATUS APIENTRY DXGKDDI_DSITRANSMISSION(HANDLE Context,
                                                  D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId,
                                                  PDXGK_DSI_TRANSMISSION pArgs);
typedef DXGKDDI_DSITRANSMISSION *PDXGKDDI_DSITRANSMISSION;

typedef NTSTATUS APIENTRY DXGKDDI_DSIRESET(HANDLE Context, D3DDDI_VIDEO_PRESENT_TARGET_ID TargetId,
                                           PDXGK_DSI_RESET pArgs);
typedef DXGKDDI_DSIRESET *PDXGKDDI_DSIRESET;

typedef struct _DXGK_MIPI_DSI_INTERFACE {
    USHORT Size;
    USHORT Version;
    PVOID Context;
    PINTERFACE_REFERENCE InterfaceReference;
    PINTERFACE_DEREFERENCE InterfaceDereference;
    PDXGKDDI_DSICAPS DxgkDdiDsiCaps;
    PDXGKDDI_DSITRANSMISSION DxgkDdiDsiTransmission;
    PDXGKDDI_DSIRESET DxgkDdiDsiReset;
} DXGK_MIPI_DSI_INTERFACE, *PDXGK_MIPI_DSI_INTERFACE;

#endif

#endif
