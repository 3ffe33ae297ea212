/*
 * What a target can do with gamma ramps and color matrices.
 *
 * Place   include/wdk, part of d3dkmddi.h.
 * Source  The public pages of d3dkmddi named like the types; layouts are those of
 *         data/ddi/types-x64.tsv. DXGK_TARGET_GAMMA_CAPS_VERSION_NOT_SUPPORTED is left out: its
 *         page tells no value, and its twin of ntddvdeo.h does not have that of its place.
 */
#ifndef D3DKMDDI_GAMMA_H
#define D3DKMDDI_GAMMA_H

#include "base.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_6

typedef enum _DXGK_GAMMA_DATA_TYPE {
    DXGK_GAMMA_DATA_TYPE_FIXED_POINT = 0,
    DXGK_GAMMA_DATA_TYPE_FLOAT = 1,
} DXGK_GAMMA_DATA_TYPE;

typedef enum _DXGK_TARGET_GAMMA_CAPS_VERSION {
    DXGK_TARGET_GAMMA_CAPS_VERSION_DEFALUT = 0,
    DXGK_TARGET_GAMMA_CAPS_VERSION_1 = 1,
} DXGK_TARGET_GAMMA_CAPS_VERSION;

typedef struct _DKGK_GAMMA_DATA_CAP {
    DXGK_GAMMA_DATA_TYPE DataType;
    union {
        struct {
            UINT BitCountOfInteger : 6;
            UINT BitCountOfFraction : 6;
        };
        struct {
            UINT BitCountOfExponent : 6;
            UINT BitCountOfMantissa : 6;
        };
        UINT Value;
    };
    float NumericRangeMin;
    float NumericRangeMax;
} DKGK_GAMMA_DATA_CAP;

typedef struct _DXGK_GAMMA_1DLUT_CAP {
    UINT NumberOfLUTEntries;
    DKGK_GAMMA_DATA_CAP GammaDataCap;
} DXGK_GAMMA_1DLUT_CAP, *PDXGK_GAMMA_1DLUT_CAP;

typedef struct _DXGK_GAMMA_MATRIX_CAP {
    union {
        struct {
            UINT MatrixSizeX : 10;
            UINT MatrixSizeY : 10;
        };
        UINT Value;
    };
    DKGK_GAMMA_DATA_CAP GammaDataCap;
} DXGK_GAMMA_MATRIX_CAP, *PDXGK_GAMMA_MATRIX_CAP;

typedef struct _DXGK_TARGET_GAMMA_CAPS {
    DXGK_TARGET_GAMMA_CAPS_VERSION Version;
    DXGK_GAMMA_1DLUT_CAP LookupTable1DDegammaCap;
    DXGK_GAMMA_MATRIX_CAP ColorMatrix3x3Cap;
    DXGK_GAMMA_1DLUT_CAP LookupTable1DRegammaCap;
} DXGK_TARGET_GAMMA_CAPS, *PDXGK_TARGET_GAMMA_CAPS;

#endif

#endif
