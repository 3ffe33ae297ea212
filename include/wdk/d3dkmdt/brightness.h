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
} DXGK_BRIGHTNESS_GET_OUT;

typedef struct _DXGK_BRIGHTNESS_NIT_RANGE {
    ULONG MinimumLevelMillinit;
    ULONG MaximumLevelMillinit;
    ULONG StepSizeMillinit;
} DXGK_BRIGHTNESS_NIT_RANGE;

#endif
