/*
 * Display modes and primaries, as both halves of a driver describe them.
 *
 * Place   include/wdk, above dxgiformat.h and d3dukmdt.h. The functions of the user-mode interface
 *         are not here: the bench has no user mode.
 * Source  Public documentation of Dxgiddi.h.
 */
#ifndef _DXGIDDI_H
#define _DXGIDDI_H

#include "d3dukmdt.h"
#include "dxgiformat.h"

typedef struct DXGI_DDI_RATIONAL {
    UINT Numerator;
    UINT Denominator;
} DXGI_DDI_RATIONAL;

typedef enum DXGI_DDI_MODE_SCANLINE_ORDER {
    DXGI_DDI_MODE_SCANLINE_ORDER_UNSPECIFIED = 0,
    DXGI_DDI_MODE_SCANLINE_ORDER_PROGRESSIVE = 1,
    DXGI_DDI_MODE_SCANLINE_ORDER_UPPER_FIELD_FIRST = 2,
    DXGI_DDI_MODE_SCANLINE_ORDER_LOWER_FIELD_FIRST = 3,
} DXGI_DDI_MODE_SCANLINE_ORDER;

typedef enum DXGI_DDI_MODE_ROTATION {
    DXGI_DDI_MODE_ROTATION_UNSPECIFIED = 0,
    DXGI_DDI_MODE_ROTATION_IDENTITY = 1,
    DXGI_DDI_MODE_ROTATION_ROTATE90 = 2,
    DXGI_DDI_MODE_ROTATION_ROTATE180 = 3,
    DXGI_DDI_MODE_ROTATION_ROTATE270 = 4,
} DXGI_DDI_MODE_ROTATION;

typedef enum DXGI_DDI_MODE_SCALING {
    DXGI_DDI_MODE_SCALING_UNSPECIFIED = 0,
    DXGI_DDI_MODE_SCALING_STRETCHED = 1,
    DXGI_DDI_MODE_SCALING_CENTERED = 2,
} DXGI_DDI_MODE_SCALING;

typedef struct DXGI_DDI_MODE_DESC {
    UINT Width;
    UINT Height;
    DXGI_FORMAT Format;
    DXGI_DDI_RATIONAL RefreshRate;
    DXGI_DDI_MODE_SCANLINE_ORDER ScanlineOrdering;
    DXGI_DDI_MODE_ROTATION Rotation;
    DXGI_DDI_MODE_SCALING Scaling;
} DXGI_DDI_MODE_DESC;

#define DXGI_DDI_PRIMARY_OPTIONAL      0x1
#define DXGI_DDI_PRIMARY_NONPREROTATED 0x2
#define DXGI_DDI_PRIMARY_STEREO        0x4
#define DXGI_DDI_PRIMARY_INDIRECT      0x8

#define DXGI_DDI_PRIMARY_DRIVER_FLAG_NO_SCANOUT 0x1

typedef struct DXGI_DDI_PRIMARY_DESC {
    UINT Flags;
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    DXGI_DDI_MODE_DESC ModeDesc;
    UINT DriverFlags;
} DXGI_DDI_PRIMARY_DESC;

#endif
