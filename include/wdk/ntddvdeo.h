/*
 * Video: what a driver tells of one mode of its adapter, and the pointer on the screen.
 *
 * Place   include/wdk, above windef.h. Nothing of it reaches the graphics kernel.
 * Source  Public documentation of VIDEO_MODE_INFORMATION, VIDEO_POINTER_ATTRIBUTES,
 *         VIDEO_POINTER_POSITION.
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

#define VIDEO_MODE_COLOR           0x0001
#define VIDEO_MODE_GRAPHICS        0x0002
#define VIDEO_MODE_PALETTE_DRIVEN  0x0004
#define VIDEO_MODE_MANAGED_PALETTE 0x0008

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

#endif
