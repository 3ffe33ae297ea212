/*
 * What is told about an adapter before it starts.
 *
 * Place   include/wdk, part of d3dkmddi.h.
 * Source  The public pages of d3dkmddi; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef DISPMPRT_START_INFO_H
#define DISPMPRT_START_INFO_H

#include "../d3dkmddi.h"
#include "child.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_2

typedef struct _DXGK_DISPLAY_OWNERSHIP_FLAGS {
    union {
        struct {
            DXGK_FRAMEBUFFER_STATE FrameBufferState : 4;
        };
        UINT Value;
    };
} DXGK_DISPLAY_OWNERSHIP_FLAGS, *PDXGK_DISPLAY_OWNERSHIP_FLAGS;

#endif

typedef struct _DXGK_PRE_START_INFO {
    union {
        struct {
            UINT ReservedIn;
        };
        UINT Input;
    };
    union {
        struct {
            UINT SupportPreserveBootDisplay : 1;
            UINT IsUEFIFrameBufferCpuAccessibleDuringStartup : 1;
            UINT ReservedOut : 30;
        };
        UINT Output;
    };
} DXGK_PRE_START_INFO, *PDXGK_PRE_START_INFO;

#endif
