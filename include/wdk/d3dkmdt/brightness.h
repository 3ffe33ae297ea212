/*
 * Brightness of integrated panels.
 *
 * Place   include/wdk, part of d3dkmdt.h.
 * Source  The public pages of d3dkmdt; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef D3DKMDT_BRIGHTNESS_H
#define D3DKMDT_BRIGHTNESS_H

#include "video.h"

typedef enum _DXGK_BACKLIGHT_OPTIMIZATION_LEVEL {
    DxgkBacklightOptimizationDisable = 0,
    DxgkBacklightOptimizationDesktop = 1,
    DxgkBacklightOptimizationDynamic = 2,
    DxgkBacklightOptimizationDimmed = 3,
    DxgkBacklightOptimizationEDR = 4,
} DXGK_BACKLIGHT_OPTIMIZATION_LEVEL;

typedef struct _DXGK_BACKLIGHT_INFO {
    USHORT BacklightUsersetting;
    USHORT BacklightEffective;
    D3DDDI_GAMMA_RAMP_RGB256x3x16 GammaRamp;
} DXGK_BACKLIGHT_INFO;

typedef struct _DXGK_BRIGHTNESS_CAPS {
    union {
        struct {
            UINT SmoothBrightness : 1;
            UINT AdaptiveBrightness : 1;
            UINT NitsBrightness : 1;
            UINT Reserved : 29;
        };
        UINT Value;
    };
} DXGK_BRIGHTNESS_CAPS;

typedef struct _DXGK_BRIGHTNESS_STATE {
    union {
        struct {
            UINT SmoothBrightness : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGK_BRIGHTNESS_STATE;

typedef struct _DXGK_BRIGHTNESS_GET_OUT {
    ULONG CurrentBrightnessMillinits;
    ULONG TargetBrightnessMillinits;
} DXGK_BRIGHTNESS_GET_OUT, *PDXGK_BRIGHTNESS_GET_OUT;

typedef struct _DXGK_BRIGHTNESS_NIT_RANGE {
    ULONG MinimumLevelMillinit;
    ULONG MaximumLevelMillinit;
    ULONG StepSizeMillinit;
} DXGK_BRIGHTNESS_NIT_RANGE;

#define DXGK_BRIGHTNESS_MAXIMUM_NIT_RANGE_COUNT 16

typedef struct _DXGK_BRIGHTNESS_GET_NIT_RANGES_OUT {
    UINT32 NormalRangeCount;
    UINT32 RangeCount;
    UINT32 PreferredMaximumBrightness;
    DXGK_BRIGHTNESS_NIT_RANGE SupportedRanges[DXGK_BRIGHTNESS_MAXIMUM_NIT_RANGE_COUNT];
} DXGK_BRIGHTNESS_GET_NIT_RANGES_OUT, *PDXGK_BRIGHTNESS_GET_NIT_RANGES_OUT;

typedef struct _DXGK_BRIGHTNESS_SENSOR_DATA_CHROMATICITY {
    float ChromaticityX;
    float ChromaticityY;
} DXGK_BRIGHTNESS_SENSOR_DATA_CHROMATICITY;

typedef struct _DXGK_BRIGHTNESS_SENSOR_DATA {
    UINT32 Size;
    union {
        struct {
            UINT AlsReadingValid : 1;
            UINT ChromaticityValid : 1;
            UINT ColorTemperatureValid : 1;
            UINT Reserved : 29;
        } Flags;
        UINT ValidSensorValues;
    };
    float AlsReading;
    DXGK_BRIGHTNESS_SENSOR_DATA_CHROMATICITY Chromaticity;
    float ColorTemperature;
} DXGK_BRIGHTNESS_SENSOR_DATA;

typedef struct _DXGK_BRIGHTNESS_SET_IN {
    UINT32 BrightnessMillinits;
    UINT32 TransitionTimeMs;
    DXGK_BRIGHTNESS_SENSOR_DATA SensorReadings;
} DXGK_BRIGHTNESS_SET_IN, *PDXGK_BRIGHTNESS_SET_IN;

#endif
