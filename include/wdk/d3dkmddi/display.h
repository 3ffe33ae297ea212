/*
 * Scan-out: addresses and visibility of sources, pointer, palette, overlays, capture, and the
 * present of display-only drivers.
 *
 * Place   include/wdk/d3dkmddi. Outside the memory contract: the bench calls few of these DDIs.
 * Source  The public DDI reference: members in its order, bits by the masks that it gives.
 */
#ifndef D3DKMDDI_DISPLAY_H
#define D3DKMDDI_DISPLAY_H

#include "caps.h"
#include "vidpn.h"

/* Sources. */

typedef struct _DXGK_SETVIDPNSOURCEADDRESS_FLAGS {
    union {
        struct {
            UINT ModeChange : 1;
            UINT FlipImmediate : 1;
            UINT FlipOnNextVSync : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
            UINT FlipStereo : 1;
            UINT FlipStereoTemporaryMono : 1;
            UINT FlipStereoPreferRight : 1;
            UINT SharedPrimaryTransition : 1;
#endif
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0
            UINT IndependentFlipExclusive : 1;
            UINT MoveFlip : 1;
#endif
            UINT Reserved : 23 + DXGK_BEFORE(WDDM2_0, 2) + DXGK_BEFORE(WIN8, 4);
        };
        UINT Value;
    };
} DXGK_SETVIDPNSOURCEADDRESS_FLAGS;

/* Newer versions end in members whose types have no documentation. */
typedef struct _DXGKARG_SETVIDPNSOURCEADDRESS {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    UINT PrimarySegment;
    PHYSICAL_ADDRESS PrimaryAddress;
    HANDLE hAllocation;
    UINT ContextCount;
    HANDLE Context[1 + D3DDDI_MAX_BROADCAST_CONTEXT];
    DXGK_SETVIDPNSOURCEADDRESS_FLAGS Flags;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM1_3
    UINT Duration;
#endif
} DXGKARG_SETVIDPNSOURCEADDRESS;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETVIDPNSOURCEADDRESS);

typedef struct _DXGKARG_SETVIDPNSOURCEVISIBILITY {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    BOOLEAN Visible;
} DXGKARG_SETVIDPNSOURCEVISIBILITY;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETVIDPNSOURCEVISIBILITY);

typedef struct _DXGKARG_GETSCANLINE {
    D3DDDI_VIDEO_PRESENT_TARGET_ID VidPnTargetId;
    BOOLEAN InVerticalBlank;
    UINT ScanLine;
} DXGKARG_GETSCANLINE;
DXGK_ARGUMENT_POINTERS(DXGKARG_GETSCANLINE);

typedef struct _DXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    HANDLE PrimaryAllocation;
    UINT PrivateDriverFormatAttribute;
} DXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETDISPLAYPRIVATEDRIVERFORMAT);

typedef struct _DXGKARG_STOPCAPTURE {
    HANDLE hAllocation;
} DXGKARG_STOPCAPTURE;
DXGK_ARGUMENT_POINTERS(DXGKARG_STOPCAPTURE);

typedef struct _DXGKARGCB_GETCAPTUREADDRESS {
    D3DKMT_HANDLE hAllocation;
    UINT SegmentId;
    PHYSICAL_ADDRESS PhysicalAddress;
} DXGKARGCB_GETCAPTUREADDRESS;
DXGK_ARGUMENT_POINTERS(DXGKARGCB_GETCAPTUREADDRESS);

/* Palette and pointer. */

typedef struct _DXGKARG_SETPALETTE {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    UINT FirstEntry;
    UINT NumEntries;
    D3DKMDT_PALETTEDATA *pLookupTable;
} DXGKARG_SETPALETTE;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETPALETTE);

typedef struct _DXGK_SETPOINTERPOSITIONFLAGS {
    union {
        struct {
            UINT Visible : 1;
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN7
            UINT Procedural : 1;
#endif
            UINT Reserved : 30 + DXGK_BEFORE(WIN7, 1);
        };
        UINT Value;
    };
} DXGK_SETPOINTERPOSITIONFLAGS;

typedef struct _DXGKARG_SETPOINTERPOSITION {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    INT X;
    INT Y;
    DXGK_SETPOINTERPOSITIONFLAGS Flags;
} DXGKARG_SETPOINTERPOSITION;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETPOINTERPOSITION);

typedef struct _DXGKARG_SETPOINTERSHAPE {
    DXGK_POINTERFLAGS Flags;
    UINT Width;
    UINT Height;
    UINT Pitch;
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    const VOID *pPixels;
    UINT XHot;
    UINT YHot;
} DXGKARG_SETPOINTERSHAPE;
DXGK_ARGUMENT_POINTERS(DXGKARG_SETPOINTERSHAPE);

/* Overlays. */

typedef struct _DXGK_OVERLAYINFO {
    HANDLE hAllocation;
    PHYSICAL_ADDRESS PhysicalAddress;
    UINT SegmentId;
    RECT DstRect;
    RECT SrcRect;
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
} DXGK_OVERLAYINFO;

typedef struct _DXGKARG_CREATEOVERLAY {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    DXGK_OVERLAYINFO OverlayInfo;
    HANDLE hOverlay;
} DXGKARG_CREATEOVERLAY;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEOVERLAY);

typedef struct _DXGKARG_UPDATEOVERLAY {
    DXGK_OVERLAYINFO OverlayInfo;
} DXGKARG_UPDATEOVERLAY;
DXGK_ARGUMENT_POINTERS(DXGKARG_UPDATEOVERLAY);

typedef struct _DXGKARG_FLIPOVERLAY {
    HANDLE hSource;
    PHYSICAL_ADDRESS SrcPhysicalAddress;
    UINT SrcSegmentId;
    VOID *pPrivateDriverData;
    UINT PrivateDriverDataSize;
} DXGKARG_FLIPOVERLAY;
DXGK_ARGUMENT_POINTERS(DXGKARG_FLIPOVERLAY);

/* Display-only drivers. */

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
typedef struct _D3DKMT_MOVE_RECT {
    POINT SourcePoint;
    RECT DestRect;
} D3DKMT_MOVE_RECT;

typedef struct _D3DKMT_PRESENT_DISPLAY_ONLY_FLAGS {
    union {
        struct {
            UINT Rotate : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} D3DKMT_PRESENT_DISPLAY_ONLY_FLAGS;

/* pfnPresentDisplayOnlyProgress is the system's own and always NULL. */
typedef struct _DXGKARG_PRESENT_DISPLAYONLY {
    D3DDDI_VIDEO_PRESENT_SOURCE_ID VidPnSourceId;
    VOID *pSource;
    ULONG BytesPerPixel;
    LONG Pitch;
    D3DKMT_PRESENT_DISPLAY_ONLY_FLAGS Flags;
    ULONG NumMoves;
    D3DKMT_MOVE_RECT *pMoves;
    ULONG NumDirtyRects;
    RECT *pDirtyRect;
    VOID *pfnPresentDisplayOnlyProgress;
} DXGKARG_PRESENT_DISPLAYONLY;
DXGK_ARGUMENT_POINTERS(DXGKARG_PRESENT_DISPLAYONLY);
#endif

#endif
