/*
 * Command buffers that a driver builds so that features of the kernel can be tested.
 *
 * Place   include/wdk, part of d3dukmdt.h. The bench asks for none.
 * Source  The public pages of d3dukmdt named like the types; layouts are those of
 *         data/ddi/types-x64.tsv.
 */
#ifndef D3DUKMDT_TESTING_H
#define D3DUKMDT_TESTING_H

#include "user_mode.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

typedef enum _D3DDDI_TESTCOMMANDBUFFEROP {
    D3DDDI_TESTCOMMANDBUFFEROP_INVALID = 0,
    D3DDDI_TESTCOMMANDBUFFEROP_COPY = 1,
    D3DDDI_TESTCOMMANDBUFFEROP_FILL = 2,
    D3DDDI_TESTCOMMANDBUFFEROP_INFINITE_LOOP = 3,
    D3DDDI_TESTCOMMANDBUFFEROP_INFINITE_PREEMPTABLE_LOOP = 4,
    D3DDDI_TESTCOMMANDBUFFEROP_MAX = 5,
} D3DDDI_TESTCOMMANDBUFFEROP;

typedef struct _D3DDDI_TESTCOMMANDBUFFER_COPY {
    D3DKMT_ALIGN64 D3DGPU_VIRTUAL_ADDRESS SrcAddress;
    D3DKMT_ALIGN64 D3DGPU_VIRTUAL_ADDRESS DstAddress;
    UINT NumBytes;
} D3DDDI_TESTCOMMANDBUFFER_COPY;

typedef struct _D3DDDI_TESTCOMMANDBUFFER_FILL {
    D3DKMT_ALIGN64 D3DGPU_VIRTUAL_ADDRESS DstAddress;
    UINT NumBytes;
    UINT Pattern;
} D3DDDI_TESTCOMMANDBUFFER_FILL;

typedef struct _D3DDDI_TESTCOMMANDBUFFER {
    union {
        D3DDDI_TESTCOMMANDBUFFER_COPY Copy;
        D3DDDI_TESTCOMMANDBUFFER_FILL Fill;
        char Reserved[64];
    };
    D3DDDI_TESTCOMMANDBUFFEROP Operation;
    UINT Reserved1;
} D3DDDI_TESTCOMMANDBUFFER;

typedef struct _D3DDDI_BUILDTESTCOMMANDBUFFERFLAGS {
    union {
        struct {
            UINT HardwareQueue : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} D3DDDI_BUILDTESTCOMMANDBUFFERFLAGS;

typedef struct _D3DDDI_DRIVERESCAPE_BUILDTESTCOMMANDBUFFER {
    D3DDDI_DRIVERESCAPETYPE EscapeType;
    D3DKMT_HANDLE hDevice;
    D3DKMT_HANDLE hContext;
    D3DDDI_BUILDTESTCOMMANDBUFFERFLAGS Flags;
    D3DDDI_TESTCOMMANDBUFFER Command;
    PVOID pDmaBuffer;
    PVOID pDmaBufferPrivateData;
    UINT DmaBufferSize;
    UINT DmaBufferPrivateDataSize;
} D3DDDI_DRIVERESCAPE_BUILDTESTCOMMANDBUFFER;

#endif

#endif
