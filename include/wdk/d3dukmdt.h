/*
 * Types that user-mode and kernel-mode display drivers share, and the interface version.
 *
 * Place     include/wdk, above windef.h; included by d3dkmdt.h and d3dkmddi.h.
 * Versions  A driver defines DXGKDDI_INTERFACE_VERSION before it includes anything; without
 *           that it gets the newest one. See d3dkmddi.h for what the version changes.
 */
#ifndef _D3DUKMDT_H_
#define _D3DUKMDT_H_

#include "windef.h"

#define DXGKDDI_INTERFACE_VERSION_VISTA                             0x1052
#define DXGKDDI_INTERFACE_VERSION_VISTA_SP1                         0x1053
#define DXGKDDI_INTERFACE_VERSION_WIN7                              0x2005
#define DXGKDDI_INTERFACE_VERSION_WIN8                              0x300E
#define DXGKDDI_INTERFACE_VERSION_WDDM1_3                           0x4002
#define DXGKDDI_INTERFACE_VERSION_WDDM1_3_PATH_INDEPENDENT_ROTATION 0x4003
#define DXGKDDI_INTERFACE_VERSION_WDDM2_0                           0x5023
#define DXGKDDI_INTERFACE_VERSION_WDDM2_1                           0x6003
#define DXGKDDI_INTERFACE_VERSION_WDDM2_1_5                         0x6010
#define DXGKDDI_INTERFACE_VERSION_WDDM2_1_6                         0x6011
#define DXGKDDI_INTERFACE_VERSION_WDDM2_2                           0x700A
#define DXGKDDI_INTERFACE_VERSION_WDDM2_3                           0x8001
#define DXGKDDI_INTERFACE_VERSION_WDDM2_4                           0x9006
#define DXGKDDI_INTERFACE_VERSION_WDDM2_5                           0xA00B
#define DXGKDDI_INTERFACE_VERSION_WDDM2_6                           0xB004
#define DXGKDDI_INTERFACE_VERSION_WDDM2_7                           0xC004
#define DXGKDDI_INTERFACE_VERSION_WDDM2_8                           0xD001
#define DXGKDDI_INTERFACE_VERSION_WDDM2_9                           0xE003
#define DXGKDDI_INTERFACE_VERSION_WDDM3_0                           0xF003
#define DXGKDDI_INTERFACE_VERSION_WDDM3_1                           0x10004
#define DXGKDDI_INTERFACE_VERSION_WDDM3_2                           0x11007

#ifndef DXGKDDI_INTERFACE_VERSION
#define DXGKDDI_INTERFACE_VERSION DXGKDDI_INTERFACE_VERSION_WDDM3_2
#endif

/* The width that bits take from the reserved remainder once they exist: width before version. */
#define DXGK_BEFORE(version, width)                                                                \
    (DXGKDDI_INTERFACE_VERSION < DXGKDDI_INTERFACE_VERSION_##version ? (width) : 0)

#define D3DKMT_ALIGN64 DECLSPEC_ALIGN(8)

#define D3DDDI_MAX_BROADCAST_CONTEXT 64
#define D3DDDI_MAX_OBJECT_WAITED_ON  32
#define D3DDDI_MAX_OBJECT_SIGNALED   32
#define D3DDDI_MAX_WRITTEN_PRIMARIES 16
#define D3DDDI_NATIVE_FENCE_PDD_SIZE 64
#define D3DGPU_NULL                  0

/* Levels of allocation priority; values between them are valid. */
#define D3DDDI_ALLOCATIONPRIORITY_MINIMUM 0x28000000
#define D3DDDI_ALLOCATIONPRIORITY_LOW     0x50000000
#define D3DDDI_ALLOCATIONPRIORITY_NORMAL  0x78000000
#define D3DDDI_ALLOCATIONPRIORITY_HIGH    0xA0000000
#define D3DDDI_ALLOCATIONPRIORITY_MAXIMUM 0xC8000000

typedef UINT D3DKMT_HANDLE;
typedef UINT64 D3DGPU_VIRTUAL_ADDRESS;
typedef UINT64 D3DGPU_SIZE_T;
typedef UINT D3DDDI_VIDEO_PRESENT_SOURCE_ID;
typedef UINT D3DDDI_VIDEO_PRESENT_TARGET_ID;

/* No one source or target. The documentation names these; the numbers are unverified. */
#define D3DDDI_ID_UNINITIALIZED ((UINT)~0u)
#define D3DDDI_ID_NOTAPPLICABLE ((UINT)0u)
#define D3DDDI_ID_ANY           ((UINT)~1u)
#define D3DDDI_ID_ALL           ((UINT)~2u)

/* Surface formats keep the numbers of the Direct3D 9 format enumeration. */
typedef enum _D3DDDIFORMAT {
    D3DDDIFMT_UNKNOWN = 0,
    D3DDDIFMT_R8G8B8 = 20,
    D3DDDIFMT_A8R8G8B8 = 21,
    D3DDDIFMT_X8R8G8B8 = 22,
    D3DDDIFMT_R5G6B5 = 23,
    D3DDDIFMT_X1R5G5B5 = 24,
    D3DDDIFMT_A1R5G5B5 = 25,
    D3DDDIFMT_A4R4G4B4 = 26,
    D3DDDIFMT_R3G3B2 = 27,
    D3DDDIFMT_A8 = 28,
    D3DDDIFMT_A8R3G3B2 = 29,
    D3DDDIFMT_X4R4G4B4 = 30,
    D3DDDIFMT_A2B10G10R10 = 31,
    D3DDDIFMT_A8B8G8R8 = 32,
    D3DDDIFMT_X8B8G8R8 = 33,
    D3DDDIFMT_G16R16 = 34,
    D3DDDIFMT_A2R10G10B10 = 35,
    D3DDDIFMT_A16B16G16R16 = 36,
    D3DDDIFMT_A8P8 = 40,
    D3DDDIFMT_P8 = 41,
    D3DDDIFMT_L8 = 50,
    D3DDDIFMT_A8L8 = 51,
    D3DDDIFMT_A4L4 = 52,
    D3DDDIFMT_V8U8 = 60,
    D3DDDIFMT_L6V5U5 = 61,
    D3DDDIFMT_X8L8V8U8 = 62,
    D3DDDIFMT_Q8W8V8U8 = 63,
    D3DDDIFMT_V16U16 = 64,
    D3DDDIFMT_W11V11U10 = 65,
    D3DDDIFMT_A2W10V10U10 = 67,
    D3DDDIFMT_D16_LOCKABLE = 70,
    D3DDDIFMT_D32 = 71,
    D3DDDIFMT_S1D15 = 72,
    D3DDDIFMT_D15S1 = 73,
    D3DDDIFMT_S8D24 = 74,
    D3DDDIFMT_D24S8 = 75,
    D3DDDIFMT_X8D24 = 76,
    D3DDDIFMT_D24X8 = 77,
    D3DDDIFMT_X4S4D24 = 78,
    D3DDDIFMT_D24X4S4 = 79,
    D3DDDIFMT_D16 = 80,
    D3DDDIFMT_L16 = 81,
    D3DDDIFMT_D32F_LOCKABLE = 82,
    D3DDDIFMT_D24FS8 = 83,
    D3DDDIFMT_D32_LOCKABLE = 84,
    D3DDDIFMT_S8_LOCKABLE = 85,
    D3DDDIFMT_G8R8 = 91,
    D3DDDIFMT_R8 = 92,
    D3DDDIFMT_VERTEXDATA = 100,
    D3DDDIFMT_INDEX16 = 101,
    D3DDDIFMT_INDEX32 = 102,
    D3DDDIFMT_Q16W16V16U16 = 110,
    D3DDDIFMT_R16F = 111,
    D3DDDIFMT_G16R16F = 112,
    D3DDDIFMT_A16B16G16R16F = 113,
    D3DDDIFMT_R32F = 114,
    D3DDDIFMT_G32R32F = 115,
    D3DDDIFMT_A32B32G32R32F = 116,
    D3DDDIFMT_CxV8U8 = 117,
    D3DDDIFMT_A1 = 118,
    D3DDDIFMT_A2B10G10R10_XR_BIAS = 119,
    /* Four characters each, the first in the low byte. */
    D3DDDIFMT_UYVY = 0x59565955,
    D3DDDIFMT_YUY2 = 0x32595559,
    D3DDDIFMT_DXT1 = 0x31545844,
    D3DDDIFMT_DXT2 = 0x32545844,
    D3DDDIFMT_DXT3 = 0x33545844,
    D3DDDIFMT_DXT4 = 0x34545844,
    D3DDDIFMT_DXT5 = 0x35545844,
    D3DDDIFMT_NV12 = 0x3231564e,
    D3DDDIFMT_R8G8_B8G8 = 0x47424752,
    D3DDDIFMT_G8R8_G8B8 = 0x42475247,
    D3DDDIFMT_FORCE_UINT = 0x7fffffff,
} D3DDDIFORMAT;

typedef enum _D3DDDI_NATIVEFENCE_TYPE {
    D3DDDI_NATIVEFENCE_TYPE_DEFAULT = 0,
    D3DDDI_NATIVEFENCE_TYPE_INTRA_GPU = 1,
} D3DDDI_NATIVEFENCE_TYPE;

typedef enum _D3DDDI_ROTATION {
    D3DDDI_ROTATION_IDENTITY = 1,
    D3DDDI_ROTATION_90 = 2,
    D3DDDI_ROTATION_180 = 3,
    D3DDDI_ROTATION_270 = 4,
} D3DDDI_ROTATION;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
typedef enum _D3DDDI_OFFER_PRIORITY {
    D3DDDI_OFFER_PRIORITY_NONE = 0,
    D3DDDI_OFFER_PRIORITY_LOW = 1,
    D3DDDI_OFFER_PRIORITY_NORMAL = 2,
    D3DDDI_OFFER_PRIORITY_HIGH = 3,
    D3DDDI_OFFER_PRIORITY_AUTO = 4,
} D3DDDI_OFFER_PRIORITY;
#endif

typedef enum _D3DDDI_FLIPINTERVAL_TYPE {
    D3DDDI_FLIPINTERVAL_IMMEDIATE = 0,
    D3DDDI_FLIPINTERVAL_ONE = 1,
    D3DDDI_FLIPINTERVAL_TWO = 2,
    D3DDDI_FLIPINTERVAL_THREE = 3,
    D3DDDI_FLIPINTERVAL_FOUR = 4,
    D3DDDI_FLIPINTERVAL_IMMEDIATE_ALLOW_TEARING = 5,
} D3DDDI_FLIPINTERVAL_TYPE;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
typedef enum _D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE {
    D3DDDIGPUVIRTUALADDRESS_RESERVE_NO_ACCESS = 0,
    D3DDDIGPUVIRTUALADDRESS_RESERVE_ZERO = 1,
    D3DDDIGPUVIRTUALADDRESS_RESERVE_NO_COMMIT = 2,
} D3DDDIGPUVIRTUALADDRESS_RESERVATION_TYPE;
#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
typedef enum _D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE {
    D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP = 0,
    D3DDDI_UPDATEGPUVIRTUALADDRESS_UNMAP = 1,
    D3DDDI_UPDATEGPUVIRTUALADDRESS_COPY = 2,
    D3DDDI_UPDATEGPUVIRTUALADDRESS_MAP_PROTECT = 3,
} D3DDDI_UPDATEGPUVIRTUALADDRESS_OPERATION_TYPE;
#endif

typedef struct _D3DGPU_PHYSICAL_ADDRESS {
    UINT SegmentId;
    UINT Padding;
    UINT64 SegmentOffset;
} D3DGPU_PHYSICAL_ADDRESS, *PD3DGPU_PHYSICAL_ADDRESS;

typedef struct _D3DDDI_RATIONAL {
    UINT Numerator;
    UINT Denominator;
} D3DDDI_RATIONAL, *PD3DDDI_RATIONAL;

typedef struct _D3DDDI_MULTISAMPLINGMETHOD {
    UINT NumSamples;
    UINT NumQualityLevels;
} D3DDDI_MULTISAMPLINGMETHOD, *PD3DDDI_MULTISAMPLINGMETHOD;

typedef struct _D3DDDI_SEGMENTPREFERENCE {
    union {
        struct {
            UINT SegmentId0 : 5;
            UINT Direction0 : 1;
            UINT SegmentId1 : 5;
            UINT Direction1 : 1;
            UINT SegmentId2 : 5;
            UINT Direction2 : 1;
            UINT SegmentId3 : 5;
            UINT Direction3 : 1;
            UINT SegmentId4 : 5;
            UINT Direction4 : 1;
            UINT Reserved : 2;
        };
        UINT Value;
    };
} D3DDDI_SEGMENTPREFERENCE, *PD3DDDI_SEGMENTPREFERENCE;

typedef struct _D3DDDI_ALLOCATIONLIST {
    D3DKMT_HANDLE hAllocation;
    union {
        struct {
            UINT WriteOperation : 1;
            UINT DoNotRetireInstance : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
            UINT OfferPriority : 3;
#endif
            UINT Reserved : 27 + DXGK_BEFORE(WIN8, 3);
        };
        UINT Value;
    };
} D3DDDI_ALLOCATIONLIST, *PD3DDDI_ALLOCATIONLIST;

typedef struct _D3DDDI_PATCHLOCATIONLIST {
    UINT AllocationIndex;
    union {
        struct {
            UINT SlotId : 24;
            UINT Reserved : 8;
        };
        UINT Value;
    };
    UINT DriverId;
    UINT AllocationOffset;
    UINT PatchOffset;
    UINT SplitOffset;
} D3DDDI_PATCHLOCATIONLIST, *PD3DDDI_PATCHLOCATIONLIST;

typedef struct _D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE {
    union {
        struct {
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
            UINT64 Write : 1;
            UINT64 Execute : 1;
            UINT64 Zero : 1;
            UINT64 NoAccess : 1;
            UINT64 SystemUseOnly : 1;
#endif
            UINT64 Reserved : 59 + DXGK_BEFORE(WDDM2_0, 5);
        };
        D3DKMT_ALIGN64 UINT64 Value;
    };
} D3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE, *PD3DDDIGPUVIRTUALADDRESS_PROTECTION_TYPE;

typedef union _D3DDDI_CREATEHWCONTEXTFLAGS {
    UINT Reserved : 32;
    UINT Value;
} D3DDDI_CREATEHWCONTEXTFLAGS, *PD3DDDI_CREATEHWCONTEXTFLAGS;

typedef struct _D3DDDI_CREATEHWQUEUEFLAGS {
    union {
        struct {
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2
            UINT DisableGpuTimeout : 1;
#else
            UINT : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_7
            UINT NoBroadcastSignal : 1;
            UINT NoBroadcastWait : 1;
#else
            UINT : 2;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2
            UINT NoKmdAccess : 1;
#else
            UINT : 1;
#endif
            UINT UserModeSubmission : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2
            UINT NativeProgressFence : 1;
            UINT TestQueue : 1;
#endif
            UINT Reserved : 25 + DXGK_BEFORE(WDDM3_2, 2);
        };
        UINT Value;
    };
} D3DDDI_CREATEHWQUEUEFLAGS, *PD3DDDI_CREATEHWQUEUEFLAGS;

typedef struct _D3DDDI_ESCAPEFLAGS {
    union {
        struct {
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
            UINT HardwareAccess : 1;
            UINT DeviceStatusQuery : 1;
            UINT ChangeFrameLatency : 1;
#else
            UINT : 3;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
            UINT NoAdapterSynchronization : 1;
#else
            UINT : 1;
#endif
            UINT Reserved : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2
            UINT VirtualMachineData : 1;
#else
            UINT : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_5
            UINT DriverKnownEscape : 1;
            UINT DriverCommonEscape : 1;
            UINT Reserved2 : 24;
#endif
        };
        UINT Value;
    };
} D3DDDI_ESCAPEFLAGS, *PD3DDDI_ESCAPEFLAGS;

#endif
