/*
 * Video: what a driver tells of one mode of its adapter and of the pointer on the screen, and the
 * requests for panels: brightness, color transforms, MIPI DSI.
 *
 * Place   include/wdk, above windef.h. Nothing of it reaches the graphics kernel.
 * Source  The public pages of ntddvdeo named like the types. Their enumerations stand there without
 *         values: those that differ from the order, and the lengths of arrays, are those of the
 *         public reference of Microsoft's crate windows-sys. No page tells the numbers of the
 *         control codes (IOCTL_VIDEO_... and others): they are not declared.
 */
#ifndef _NTDDVDEO_
#define _NTDDVDEO_

#include "windef.h"

typedef struct _VIDEO_MODE_INFORMATION {
    ULONG Length;
    ULONG ModeIndex;
    ULONG VisScreenWidth;
    ULONG VisScreenHeight;
    ULONG ScreenStride;
    ULONG NumberOfPlanes;
    ULONG BitsPerPlane;
    ULONG Frequency;
    ULONG XMillimeter;
    ULONG YMillimeter;
    ULONG NumberRedBits;
    ULONG NumberGreenBits;
    ULONG NumberBlueBits;
    ULONG RedMask;
    ULONG GreenMask;
    ULONG BlueMask;
    ULONG AttributeFlags;
    ULONG VideoMemoryBitmapWidth;
    ULONG VideoMemoryBitmapHeight;
    ULONG DriverSpecificAttributeFlags;
} VIDEO_MODE_INFORMATION, *PVIDEO_MODE_INFORMATION;

#define VIDEO_MODE_COLOR            0x0001
#define VIDEO_MODE_GRAPHICS         0x0002
#define VIDEO_MODE_PALETTE_DRIVEN   0x0004
#define VIDEO_MODE_MANAGED_PALETTE  0x0008
#define VIDEO_MODE_INTERLACED       0x0010
#define VIDEO_MODE_NO_OFF_SCREEN    0x0020
#define VIDEO_MODE_NO_64_BIT_ACCESS 0x0040
#define VIDEO_MODE_BANKED           0x0080
#define VIDEO_MODE_LINEAR           0x0100

typedef struct _VIDEO_POINTER_ATTRIBUTES {
    ULONG Flags; /* VIDEO_MODE_..._POINTER and ANIMATE */
    ULONG Width, Height;
    ULONG WidthInBytes;
    ULONG Enable;
    SHORT Column, Row; /* of the hot spot */
    UCHAR Pixels[1];
} VIDEO_POINTER_ATTRIBUTES, *PVIDEO_POINTER_ATTRIBUTES;

#define VIDEO_MODE_ASYNC_POINTER  0x01
#define VIDEO_MODE_MONO_POINTER   0x02
#define VIDEO_MODE_COLOR_POINTER  0x04
#define VIDEO_MODE_ANIMATE_START  0x08
#define VIDEO_MODE_ANIMATE_UPDATE 0x10

typedef struct _VIDEO_POINTER_POSITION {
    SHORT Column, Row; /* in pixels, from the top left corner */
} VIDEO_POINTER_POSITION, *PVIDEO_POINTER_POSITION;

/* Modes and memory of a linear frame buffer. */

typedef struct _VIDEO_MODE {
    ULONG RequestedMode;
} VIDEO_MODE, *PVIDEO_MODE;

typedef struct _VIDEO_NUM_MODES {
    ULONG NumModes;
    ULONG ModeInformationLength;
} VIDEO_NUM_MODES, *PVIDEO_NUM_MODES;

typedef struct _VIDEO_MEMORY {
    PVOID RequestedVirtualAddress;
} VIDEO_MEMORY, *PVIDEO_MEMORY;

typedef struct _VIDEO_MEMORY_INFORMATION {
    PVOID VideoRamBase;
    ULONG VideoRamLength;
    PVOID FrameBufferBase;
    ULONG FrameBufferLength;
} VIDEO_MEMORY_INFORMATION, *PVIDEO_MEMORY_INFORMATION;

typedef struct _VIDEO_SHARE_MEMORY {
    HANDLE ProcessHandle;
    ULONG ViewOffset;
    ULONG ViewSize;
    PVOID RequestedVirtualAddress;
} VIDEO_SHARE_MEMORY, *PVIDEO_SHARE_MEMORY;

typedef struct _VIDEO_SHARE_MEMORY_INFORMATION {
    ULONG SharedViewOffset;
    ULONG SharedViewSize;
    PVOID VirtualAddress;
} VIDEO_SHARE_MEMORY_INFORMATION, *PVIDEO_SHARE_MEMORY_INFORMATION;

typedef struct _VIDEO_PUBLIC_ACCESS_RANGES {
    ULONG InIoSpace;
    ULONG MappedInIoSpace;
    PVOID VirtualAddress;
} VIDEO_PUBLIC_ACCESS_RANGES, *PVIDEO_PUBLIC_ACCESS_RANGES;

typedef struct _VIDEO_POINTER_CAPABILITIES {
    ULONG Flags;
    ULONG MaxWidth;
    ULONG MaxHeight;
    ULONG HWPtrBitmapStart;
    ULONG HWPtrBitmapEnd;
} VIDEO_POINTER_CAPABILITIES, *PVIDEO_POINTER_CAPABILITIES;

typedef struct _VIDEO_POWER_MANAGEMENT {
    ULONG Length;
    ULONG DPMSVersion;
    ULONG PowerState;
} VIDEO_POWER_MANAGEMENT, *PVIDEO_POWER_MANAGEMENT;

typedef struct _ENG_EVENT {
    PVOID pKEvent;
    ULONG fFlags;
} * PEVENT, ENG_EVENT, *PENG_EVENT;

typedef struct _DXGK_WIN32K_PARAM_DATA {
    PVOID PathsArray;
    PVOID ModesArray;
    ULONG NumPathArrayElements;
    ULONG NumModeArrayElements;
    ULONG SDCFlags;
} DXGK_WIN32K_PARAM_DATA, *PDXGK_WIN32K_PARAM_DATA;

/* Types of members of these three have no page: no body. */
typedef struct _VIDEO_CLUT VIDEO_CLUT, *PVIDEO_CLUT;
typedef struct _VIDEO_WIN32K_CALLBACKS VIDEO_WIN32K_CALLBACKS, *PVIDEO_WIN32K_CALLBACKS;
typedef struct _VIDEO_WIN32K_CALLBACKS_PARAMS VIDEO_WIN32K_CALLBACKS_PARAMS,
    *PVIDEO_WIN32K_CALLBACKS_PARAMS;

/* Brightness of panels. */

#define BRIGHTNESS_MAX_LEVEL_COUNT     103
#define BRIGHTNESS_MAX_NIT_RANGE_COUNT 16

typedef struct _VIDEO_BRIGHTNESS_POLICY {
    BOOLEAN DefaultToBiosPolicy;
    UCHAR LevelCount;
    struct {
        UCHAR BatteryLevel;
        UCHAR Brightness;
    } Level[1]; /* LevelCount */
} VIDEO_BRIGHTNESS_POLICY, *PVIDEO_BRIGHTNESS_POLICY;

typedef struct _DISPLAY_BRIGHTNESS {
    UCHAR ucDisplayPolicy;
    UCHAR ucACBrightness;
    UCHAR ucDCBrightness;
} DISPLAY_BRIGHTNESS, *PDISPLAY_BRIGHTNESS;

typedef enum _BRIGHTNESS_INTERFACE_VERSION {
    BRIGHTNESS_INTERFACE_VERSION_1 = 1,
    BRIGHTNESS_INTERFACE_VERSION_2 = 2,
    BRIGHTNESS_INTERFACE_VERSION_3 = 3,
} BRIGHTNESS_INTERFACE_VERSION;

typedef enum _BACKLIGHT_OPTIMIZATION_LEVEL {
    BacklightOptimizationDisable = 0,
    BacklightOptimizationDesktop = 1,
    BacklightOptimizationDynamic = 2,
    BacklightOptimizationDimmed = 3,
    BacklightOptimizationEDR = 4,
} BACKLIGHT_OPTIMIZATION_LEVEL;

typedef struct _BACKLIGHT_REDUCTION_GAMMA_RAMP {
    USHORT R[256];
    USHORT G[256];
    USHORT B[256];
} BACKLIGHT_REDUCTION_GAMMA_RAMP;

typedef struct _BRIGHTNESS_LEVEL {
    UCHAR Count;
    UCHAR Level[BRIGHTNESS_MAX_LEVEL_COUNT];
} BRIGHTNESS_LEVEL, *PBRIGHTNESS_LEVEL;

typedef struct _BRIGHTNESS_NIT_RANGE {
    ULONG MinLevelInMillinit;
    ULONG MaxLevelInMillinit;
    ULONG StepSizeInMillinit;
} BRIGHTNESS_NIT_RANGE, *PBRIGHTNESS_NIT_RANGE;

typedef struct BRIGHTNESS_NIT_RANGES {
    ULONG NormalRangeCount;
    ULONG RangeCount;
    ULONG PreferredMaximumBrightness;
    BRIGHTNESS_NIT_RANGE SupportedRanges[BRIGHTNESS_MAX_NIT_RANGE_COUNT];
} BRIGHTNESS_NIT_RANGES, *PBRIGHTNESS_NIT_RANGES;

typedef struct _CHROMATICITY_COORDINATE {
    float x;
    float y;
} CHROMATICITY_COORDINATE;

typedef struct _PANEL_BRIGHTNESS_SENSOR_DATA {
    union {
        struct {
            ULONG AlsReadingValid : 1;
            ULONG ChromaticityCoordinateValid : 1;
            ULONG ColorTemperatureValid : 1;
            ULONG Reserved : 29;
        };
        ULONG Value;
    };
    float AlsReading;
    CHROMATICITY_COORDINATE ChromaticityCoordinate;
    float ColorTemperature;
} PANEL_BRIGHTNESS_SENSOR_DATA;

typedef struct _PANEL_QUERY_BRIGHTNESS_CAPS {
    BRIGHTNESS_INTERFACE_VERSION Version;
    union {
        struct {
            ULONG Smooth : 1;
            ULONG Adaptive : 1;
            ULONG NitsCalibrated : 1;
            ULONG Reserved : 29;
        };
        ULONG Value;
    };
} PANEL_QUERY_BRIGHTNESS_CAPS, *PPANEL_QUERY_BRIGHTNESS_CAPS;

typedef struct _PANEL_QUERY_BRIGHTNESS_RANGES {
    BRIGHTNESS_INTERFACE_VERSION Version;
    union {
        BRIGHTNESS_LEVEL BrightnessLevel;
        BRIGHTNESS_NIT_RANGES NitRanges;
    };
} PANEL_QUERY_BRIGHTNESS_RANGES, *PPANEL_QUERY_BRIGHTNESS_RANGES;

typedef struct _PANEL_GET_BRIGHTNESS {
    BRIGHTNESS_INTERFACE_VERSION Version;
    union {
        UCHAR Level;
        struct {
            ULONG CurrentInMillinits;
            ULONG TargetInMillinits;
        };
    };
} PANEL_GET_BRIGHTNESS, *PPANEL_GET_BRIGHTNESS;

typedef struct _PANEL_SET_BRIGHTNESS {
    BRIGHTNESS_INTERFACE_VERSION Version;
    union {
        UCHAR Level;
        struct {
            ULONG Millinits;
            ULONG TransitionTimeInMs;
            PANEL_BRIGHTNESS_SENSOR_DATA SensorData;
        };
    };
} PANEL_SET_BRIGHTNESS, *PPANEL_SET_BRIGHTNESS;

typedef struct _PANEL_SET_BRIGHTNESS_STATE {
    union {
        struct {
            ULONG Smooth : 1;
            ULONG Reserved : 31;
        };
        ULONG Value;
    };
} PANEL_SET_BRIGHTNESS_STATE, *PPANEL_SET_BRIGHTNESS_STATE;

typedef struct _PANEL_SET_BACKLIGHT_OPTIMIZATION {
    BACKLIGHT_OPTIMIZATION_LEVEL Level;
} PANEL_SET_BACKLIGHT_OPTIMIZATION, *PPANEL_SET_BACKLIGHT_OPTIMIZATION;

typedef struct _PANEL_GET_BACKLIGHT_REDUCTION {
    USHORT BacklightUsersetting;
    USHORT BacklightEffective;
    BACKLIGHT_REDUCTION_GAMMA_RAMP GammaRamp;
} PANEL_GET_BACKLIGHT_REDUCTION, *PPANEL_GET_BACKLIGHT_REDUCTION;

/* Color transforms of an output. */

typedef enum _COLORSPACE_TRANSFORM_TARGET_CAPS_VERSION {
    COLORSPACE_TRANSFORM_VERSION_DEFAULT = 0,
    COLORSPACE_TRANSFORM_VERSION_1 = 1,
    COLORSPACE_TRANSFORM_VERSION_NOT_SUPPORTED = 0,
} COLORSPACE_TRANSFORM_TARGET_CAPS_VERSION;

typedef enum _COLORSPACE_TRANSFORM_DATA_TYPE {
    COLORSPACE_TRANSFORM_DATA_TYPE_FIXED_POINT = 0,
    COLORSPACE_TRANSFORM_DATA_TYPE_FLOAT = 1,
} COLORSPACE_TRANSFORM_DATA_TYPE;

typedef struct _COLORSPACE_TRANSFORM_DATA_CAP {
    COLORSPACE_TRANSFORM_DATA_TYPE DataType;
    union {
        struct {
            ULONG BitCountOfInteger : 6;
            ULONG BitCountOfFraction : 6;
        };
        struct {
            ULONG BitCountOfExponent : 6;
            ULONG BitCountOfMantissa : 6;
        };
        ULONG Value;
    };
    float NumericRangeMin;
    float NumericRangeMax;
} COLORSPACE_TRANSFORM_DATA_CAP;

typedef struct _COLORSPACE_TRANSFORM_1DLUT_CAP {
    ULONG NumberOfLUTEntries;
    COLORSPACE_TRANSFORM_DATA_CAP DataCap;
} COLORSPACE_TRANSFORM_1DLUT_CAP, *PCOLORSPACE_TRANSFORM_1DLUT_CAP;

typedef struct _COLORSPACE_TRANSFORM_MATRIX_CAP {
    union {
        struct {
            ULONG MatrixSizeX : 10;
            ULONG MatrixSizeY : 10;
        };
        ULONG Value;
    };
    COLORSPACE_TRANSFORM_DATA_CAP DataCap;
} COLORSPACE_TRANSFORM_MATRIX_CAP, *PCOLORSPACE_TRANSFORM_MATRIX_CAP;

typedef struct _COLORSPACE_TRANSFORM_TARGET_CAPS {
    COLORSPACE_TRANSFORM_TARGET_CAPS_VERSION Version;
    COLORSPACE_TRANSFORM_1DLUT_CAP LookupTable1DDegammaCap;
    COLORSPACE_TRANSFORM_MATRIX_CAP ColorMatrix3x3Cap;
    COLORSPACE_TRANSFORM_1DLUT_CAP LookupTable1DRegammaCap;
} COLORSPACE_TRANSFORM_TARGET_CAPS, *PCOLORSPACE_TRANSFORM_TARGET_CAPS;

typedef enum _COLORSPACE_TRANSFORM_TYPE {
    COLORSPACE_TRANSFORM_TYPE_UNINITIALIZED = 0,
    COLORSPACE_TRANSFORM_TYPE_DEFAULT = 1,
    COLORSPACE_TRANSFORM_TYPE_RGB256x3x16 = 2,
    COLORSPACE_TRANSFORM_TYPE_DXGI_1 = 3,
    COLORSPACE_TRANSFORM_TYPE_MATRIX_3x4 = 4,
    COLORSPACE_TRANSFORM_TYPE_MATRIX_V2 = 5,
} COLORSPACE_TRANSFORM_TYPE;

typedef enum _COLORSPACE_TRANSFORM_STAGE_CONTROL {
    ColorSpaceTransformStageControl_No_Change = 0,
    ColorSpaceTransformStageControl_Enable = 1,
    ColorSpaceTransformStageControl_Bypass = 2,
} COLORSPACE_TRANSFORM_STAGE_CONTROL,
    *PCOLORSPACE_TRANSFORM_STAGE_CONTROL;

typedef struct _GAMMA_RAMP_RGB {
    float Red;
    float Green;
    float Blue;
} GAMMA_RAMP_RGB;

typedef struct _GAMMA_RAMP_RGB256x3x16 {
    USHORT Red[256];
    USHORT Green[256];
    USHORT Blue[256];
} GAMMA_RAMP_RGB256x3x16;

typedef struct _GAMMA_RAMP_DXGI_1 {
    GAMMA_RAMP_RGB Scale;
    GAMMA_RAMP_RGB Offset;
    GAMMA_RAMP_RGB GammaCurve[1025];
} GAMMA_RAMP_DXGI_1;

typedef struct _COLORSPACE_TRANSFORM_3x4 {
    float ColorMatrix3x4[3][4];
    float ScalarMultiplier;
    GAMMA_RAMP_RGB LookupTable1D[4096];
} COLORSPACE_TRANSFORM_3x4, *PCOLORSPACE_TRANSFORM_3x4;

typedef struct _COLORSPACE_TRANSFORM_MATRIX_V2 {
    COLORSPACE_TRANSFORM_STAGE_CONTROL StageControlLookupTable1DDegamma;
    GAMMA_RAMP_RGB LookupTable1DDegamma[4096];
    COLORSPACE_TRANSFORM_STAGE_CONTROL StageControlColorMatrix3x3;
    float ColorMatrix3x3[3][3];
    COLORSPACE_TRANSFORM_STAGE_CONTROL StageControlLookupTable1DRegamma;
    GAMMA_RAMP_RGB LookupTable1DRegamma[4096];
} COLORSPACE_TRANSFORM_MATRIX_V2, *PCOLORSPACE_TRANSFORM_MATRIX_V2;

typedef struct _COLORSPACE_TRANSFORM {
    COLORSPACE_TRANSFORM_TYPE Type;
    union {
        GAMMA_RAMP_RGB256x3x16 Rgb256x3x16;
        GAMMA_RAMP_DXGI_1 Dxgi1;
        COLORSPACE_TRANSFORM_3x4 T3x4;
        COLORSPACE_TRANSFORM_MATRIX_V2 MatrixV2;
    } Data;
} COLORSPACE_TRANSFORM, *PCOLORSPACE_TRANSFORM;

typedef enum _OUTPUT_WIRE_COLOR_SPACE_TYPE {
    OUTPUT_WIRE_COLOR_SPACE_G22_P709 = 0,
    OUTPUT_WIRE_COLOR_SPACE_RESERVED = 4,
    OUTPUT_WIRE_COLOR_SPACE_G2084_P2020 = 12,
    OUTPUT_WIRE_COLOR_SPACE_G22_P709_WCG = 30,
    OUTPUT_WIRE_COLOR_SPACE_G22_P2020 = 31,
    OUTPUT_WIRE_COLOR_SPACE_G2084_P2020_HDR10PLUS = 32,
    OUTPUT_WIRE_COLOR_SPACE_G2084_P2020_DVLL = 33,
} OUTPUT_WIRE_COLOR_SPACE_TYPE;

typedef enum _OUTPUT_COLOR_ENCODING {
    OUTPUT_COLOR_ENCODING_RGB = 0,
    OUTPUT_COLOR_ENCODING_YCBCR444 = 1,
    OUTPUT_COLOR_ENCODING_YCBCR422 = 2,
    OUTPUT_COLOR_ENCODING_YCBCR420 = 3,
    OUTPUT_COLOR_ENCODING_INTENSITY = 4,
} OUTPUT_COLOR_ENCODING;

typedef struct _OUTPUT_WIRE_FORMAT {
    OUTPUT_COLOR_ENCODING ColorEncoding;
    UINT32 BitsPerPixel;
} OUTPUT_WIRE_FORMAT;

typedef struct _COLORSPACE_TRANSFORM_SET_INPUT {
    OUTPUT_WIRE_COLOR_SPACE_TYPE OutputWireColorSpaceExpected;
    OUTPUT_WIRE_FORMAT OutputWireFormatExpected;
    COLORSPACE_TRANSFORM ColorSpaceTransform;
} COLORSPACE_TRANSFORM_SET_INPUT, *PCOLORSPACE_TRANSFORM_SET_INPUT;

typedef struct _SET_ACTIVE_COLOR_PROFILE_NAME {
    WCHAR ColorProfileName[1];
} SET_ACTIVE_COLOR_PROFILE_NAME, *PSET_ACTIVE_COLOR_PROFILE_NAME;

/* MIPI DSI panels. */

#define DSI_PACKET_EMBEDDED_PAYLOAD_SIZE 8

typedef enum _DSI_CONTROL_TRANSMISSION_MODE {
    DCT_DEFAULT = 0,
    DCT_FORCE_LOW_POWER = 1,
    DCT_FORCE_HIGH_PERFORMANCE = 2,
} DSI_CONTROL_TRANSMISSION_MODE;

typedef struct _MIPI_DSI_CAPS {
    UCHAR DSITypeMajor;
    UCHAR DSITypeMinor;
    UCHAR SpecVersionMajor;
    UCHAR SpecVersionMinor;
    UCHAR SpecVersionPatch;
    USHORT TargetMaximumReturnPacketSize;
    UCHAR ResultCodeFlags;
    UCHAR ResultCodeStatus;
    UCHAR Revision;
    UCHAR Level;
    UCHAR DeviceClassHi;
    UCHAR DeviceClassLo;
    UCHAR ManufacturerHi;
    UCHAR ManufacturerLo;
    UCHAR ProductHi;
    UCHAR ProductLo;
    UCHAR LengthHi;
    UCHAR LengthLo;
} MIPI_DSI_CAPS, *PMIPI_DSI_CAPS;

typedef struct _MIPI_DSI_PACKET {
    union {
        UCHAR DataId;
        struct {
            UCHAR DataType : 6;
            UCHAR VirtualChannel : 2;
        };
    };
    union {
        struct {
            UCHAR Data0;
            UCHAR Data1;
        };
        USHORT LongWriteWordCount;
    };
    UCHAR EccFiller;
    UCHAR Payload[DSI_PACKET_EMBEDDED_PAYLOAD_SIZE];
} MIPI_DSI_PACKET;

typedef struct _MIPI_DSI_TRANSMISSION {
    ULONG TotalBufferSize;
    UCHAR PacketCount;
    UCHAR FailedPacket;
    struct {
        USHORT TransmissionMode : 2;
        USHORT ReportMipiErrors : 1;
        USHORT ClearMipiErrors : 1;
        USHORT SecondaryPort : 1;
        USHORT ManufacturingMode : 1;
        USHORT Reserved : 10;
    };
    USHORT ReadWordCount;
    USHORT FinalCommandExtraPayload;
    USHORT MipiErrors;
    USHORT HostErrors;
    MIPI_DSI_PACKET Packets[1];
} MIPI_DSI_TRANSMISSION;

#endif
