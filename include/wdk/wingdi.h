/* Included by driver source beside the Direct3D interfaces: regions, and the types of windef.h. */
#ifndef _WINGDI_
#define _WINGDI_

#include "windef.h"

/* A region: a header, and rectangles (RECT) behind it. */
typedef struct _RGNDATAHEADER {
    DWORD dwSize;
    DWORD iType; /* RDH_RECTANGLES */
    DWORD nCount;
    DWORD nRgnSize;
    RECT rcBound;
} RGNDATAHEADER, *PRGNDATAHEADER;

typedef struct _RGNDATA {
    RGNDATAHEADER rdh;
    char Buffer[1];
} RGNDATA, *PRGNDATA, *NPRGNDATA, *LPRGNDATA;

#define RDH_RECTANGLES 1

#endif
