/*
 * Monitors: what a display link can do, and timings in the form of DisplayID.
 *
 * Place   include/wdk, part of d3dkmdt.h.
 * Source  The public pages of d3dkmdt; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef D3DKMDT_MONITOR_LINK_H
#define D3DKMDT_MONITOR_LINK_H

#include "video.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7

typedef enum _DISPLAYID_DETAILED_TIMING_TYPE_I_ASPECT_RATIO {
    DIDDT1_AspectRatio_1x1 = 0,
    DIDDT1_AspectRatio_5x4 = 1,
    DIDDT1_AspectRatio_4x3 = 2,
    DIDDT1_AspectRatio_15x9 = 3,
    DIDDT1_AspectRatio_16x9 = 4,
    DIDDT1_AspectRatio_16x10 = 5,
} DISPLAYID_DETAILED_TIMING_TYPE_I_ASPECT_RATIO;

typedef enum _DISPLAYID_DETAILED_TIMING_TYPE_I_SCANNING_MODE {
    DIDDT1_Progressive = 0,
    DIDDT1_Interlaced = 1,
} DISPLAYID_DETAILED_TIMING_TYPE_I_SCANNING_MODE;

typedef enum _DISPLAYID_DETAILED_TIMING_TYPE_I_STEREO_MODE {
    DIDDT1_Monoscopic = 0,
    DIDDT1_Stereo = 1,
    DIDDT1_Dependent = 2,
} DISPLAYID_DETAILED_TIMING_TYPE_I_STEREO_MODE;

typedef enum _DISPLAYID_DETAILED_TIMING_TYPE_I_SYNC_POLARITY {
    DIDDT1_Sync_Positive = 0,
    DIDDT1_Sync_Negative = 1,
} DISPLAYID_DETAILED_TIMING_TYPE_I_SYNC_POLARITY;

#endif

typedef enum _DXGK_DISPLAY_DESCRIPTOR_TYPE {
    DXGK_DDT_INVALID = 0,
    DXGK_DDT_EDID,
    DXGK_DDT_DISPLAYID,
} DXGK_DISPLAY_DESCRIPTOR_TYPE,
    *PDXGK_DISPLAY_DESCRIPTOR_TYPE;

typedef enum _DXGK_DISPLAY_TECHNOLOGY {
    DXGK_DT_INVALID = 0,
    DXGK_DT_OTHER,
    DXGK_DT_LCD,
    DXGK_DT_OLED,
    DXGK_DT_PROJECTOR = 4,
    DXGK_DT_MAX = 5,
} DXGK_DISPLAY_TECHNOLOGY,
    *PDXGK_DISPLAY_TECHNOLOGY;

typedef enum _DXGK_DISPLAY_USAGE {
    DXGK_DU_INVALID = 0,
    DXGK_DU_GENERIC,
    DXGK_DU_AR,
    DXGK_DU_VR,
    DXGK_DU_MEDICAL_IMAGING = 4,
    DXGK_DU_ACCESSORY = 5,
    DXGK_DU_MAX = 6,
} DXGK_DISPLAY_USAGE,
    *PDXGK_DISPLAY_USAGE;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7

typedef struct _DISPLAYID_DETAILED_TIMING_TYPE_I {
    struct {
        ULONG PixelClock : 24;
        ULONG AspectRatio : 3;
        ULONG Reserved : 1;
        ULONG ScanningType : 1;
        ULONG StereoMode : 2;
        ULONG PreferredTiming : 1;
    };
    USHORT HorizontalActivePixels;
    USHORT HorizontalBlankPixels;
    struct {
        USHORT HorizontalFrontPorch : 15;
        USHORT HorizontalSyncPolarity : 1;
    };
    USHORT HorizontalSyncWidth;
    USHORT VerticalActiveLines;
    USHORT VerticalBlankLines;
    struct {
        USHORT VerticalFrontPorch : 15;
        USHORT VerticalSyncPolarity : 1;
    };
    USHORT VerticalSyncWidth;
} DISPLAYID_DETAILED_TIMING_TYPE_I;

#endif

typedef union _DXGK_MONITORLINKINFO_CAPABILITIES {
    struct {
        UINT Stereo : 1;
        UINT WideColorSpace : 1;
        UINT HighColorSpace : 1;
        UINT DynamicColorSpace : 1;
        UINT DynamicBitsPerColorChannel : 1;
        UINT DynamicColorEncodingFormat : 1;
        UINT DedicatedTimingGeneration : 1;
        UINT TargetIndependentPrimary : 1;
        UINT SyncLockIdentical : 1;
        UINT Hdr10Plus : 1;
        UINT DolbyVisionLowLatency : 1;
        UINT VariableRefresh : 1;
        UINT Reserved : 20;
    };
    UINT Value;
} DXGK_MONITORLINKINFO_CAPABILITIES, *PDXGK_MONITORLINKINFO_CAPABILITIES;

typedef union _DXGK_MONITORLINKINFO_USAGEHINTS {
    struct {
        UINT Hidden : 1;
        UINT HeadMounted : 1;
        UINT Reserved : 30;
    };
    UINT Value;
} DXGK_MONITORLINKINFO_USAGEHINTS, *PDXGK_MONITORLINKINFO_USAGEHINTS;

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7

typedef struct _DXGK_TARGETMODE_DETAIL_TIMING {
    D3DKMDT_VIDEO_SIGNAL_STANDARD VideoStandard;
    UINT TimingId;
    DISPLAYID_DETAILED_TIMING_TYPE_I DetailTiming;
} DXGK_TARGETMODE_DETAIL_TIMING;

#endif

#endif
