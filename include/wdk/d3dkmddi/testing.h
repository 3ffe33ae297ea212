/*
 * The interface of DXGK_FEATURE_KERNEL_MODE_TESTING: a driver builds test command buffers.
 *
 * Place   include/wdk, part of d3dkmddi.h. The bench asks for none.
 * Source  The public pages of d3dkmddi named like the types; layouts are those of
 *         data/ddi/types-x64.tsv.
 */
#ifndef D3DKMDDI_TESTING_H
#define D3DKMDDI_TESTING_H

#include "base.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

typedef struct _DXGKARG_BUILDTESTCOMMANDBUFFER {
    HANDLE hContext;
    D3DDDI_TESTCOMMANDBUFFER Command;
    PVOID pDmaBuffer;
    PVOID pDmaBufferPrivateData;
    UINT DmaBufferSize;
    UINT DmaBufferPrivateDataSize;
    D3DDDI_BUILDTESTCOMMANDBUFFERFLAGS Flags;
} DXGKARG_BUILDTESTCOMMANDBUFFER;
DXGK_ARGUMENT_POINTERS(DXGKARG_BUILDTESTCOMMANDBUFFER);

typedef NTSTATUS APIENTRY DXGKDDI_BUILDTESTCOMMANDBUFFER(
    IN_CONST_HANDLE hAdapter, INOUT_PDXGKARG_BUILDTESTCOMMANDBUFFER pArgs);
typedef DXGKDDI_BUILDTESTCOMMANDBUFFER *PDXGKDDI_BUILDTESTCOMMANDBUFFER;

typedef struct _DXGKDDI_KERNELMODETESTINGINTERFACE {
    PDXGKDDI_BUILDTESTCOMMANDBUFFER pfnBuildTestCommandBuffer;
} DXGKDDI_KERNELMODETESTINGINTERFACE;

#endif

#endif
