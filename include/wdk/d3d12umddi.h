/*
 * What both halves of a Direct3D 12 driver describe resources to each other with.
 *
 * Place   include/wdk, above d3d10umddi.h.
 * Source  D3d12umddi.h has no public reference. These are the values and members of its documented
 *         counterparts in D3d12.h (D3D12_TEXTURE_LAYOUT, D3D12_RESOURCE_DIMENSION,
 *         D3D12_BUFFER_UAV): a driver that keeps them in private data of its own is served; nothing
 *         of the bench reads them.
 */
#ifndef _D3D12UMDDI_H
#define _D3D12UMDDI_H

#include "d3d10umddi.h"

typedef UINT64 D3D12_GPU_VIRTUAL_ADDRESS;

typedef enum D3D12DDI_TEXTURE_LAYOUT {
    D3D12DDI_TL_UNDEFINED = 0,
    D3D12DDI_TL_ROW_MAJOR = 1,
    D3D12DDI_TL_64KB_TILE_UNDEFINED_SWIZZLE = 2,
    D3D12DDI_TL_64KB_TILE_STANDARD_SWIZZLE = 3,
} D3D12DDI_TEXTURE_LAYOUT;

typedef enum D3D12DDI_RESOURCE_DIMENSION {
    D3D12DDI_RD_UNKNOWN = 0,
    D3D12DDI_RD_BUFFER = 1,
    D3D12DDI_RD_TEXTURE1D = 2,
    D3D12DDI_RD_TEXTURE2D = 3,
    D3D12DDI_RD_TEXTURE3D = 4,
} D3D12DDI_RESOURCE_DIMENSION;

typedef enum D3D12DDI_BUFFER_UAV_FLAGS {
    D3D12DDI_BUFFER_UAV_FLAG_NONE = 0,
    D3D12DDI_BUFFER_UAV_FLAG_RAW = 0x1,
} D3D12DDI_BUFFER_UAV_FLAGS;

typedef struct D3D12DDIARG_BUFFER_UNORDERED_ACCESS_VIEW {
    UINT64 FirstElement;
    UINT NumElements;
    UINT StructureByteStride;
    UINT64 CounterOffsetInBytes;
    D3D12DDI_BUFFER_UAV_FLAGS Flags;
} D3D12DDIARG_BUFFER_UNORDERED_ACCESS_VIEW;

#endif
