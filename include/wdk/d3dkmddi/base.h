/*
 * What every part of the display driver interface uses: handles, argument pointer names, limits.
 *
 * Place  include/wdk/d3dkmddi. Included by the other parts; drivers include d3dkmddi.h.
 */
#ifndef D3DKMDDI_BASE_H
#define D3DKMDDI_BASE_H

#include "../wdm.h"
#include "../d3dkmdt.h"

#define DXGK_MAX_PAGE_TABLE_LEVEL_COUNT       6
#define DXGK_MAX_METADATA_NAME_LENGTH         32
#define DXGK_MAX_GPUVERSION_NAME_LENGTH       32
#define DXGK_MAX_ASYMETRICAL_PROCESSING_NODES 64

/* Annotations like those of sal.h. */
#define _Function_class_DXGK_(role)
#define _IRQL_requires_DXGK_(irql)
#define _Field_size_bytes_DXGK_(size)

/*
 * The pointer names of one argument structure. The prefix tells the direction to a reader and
 * changes nothing for the compiler, except that const is const.
 */
#define DXGK_ARGUMENT_POINTERS(type)                                                               \
    typedef type *IN_P##type, *OUT_P##type, *INOUT_P##type, *IN_OUT_P##type;                       \
    typedef const type *CONST_P##type, *IN_CONST_P##type

/* An argument structure that is passed by pointer and never looked into here. */
#define DXGK_OPAQUE_ARGUMENT(type)                                                                 \
    typedef struct _##type type;                                                                   \
    DXGK_ARGUMENT_POINTERS(type)

typedef const HANDLE IN_CONST_HANDLE;
typedef HANDLE IN_HANDLE;
typedef VOID *IN_PVOID;
typedef const PVOID IN_CONST_PVOID;
typedef PVOID *OUT_PPVOID;
typedef ULONG *OUT_PULONG;
typedef ULONG IN_ULONG;
typedef BOOLEAN IN_BOOLEAN;
typedef UCHAR IN_UCHAR;

typedef UINT64 DXGK_PAGE_NUMBER;

typedef enum _DXGK_MEMORY_CACHING_TYPE {
    DXGK_MEMORY_CACHING_TYPE_NON_CACHED = 0,
    DXGK_MEMORY_CACHING_TYPE_CACHED = 1,
    DXGK_MEMORY_CACHING_TYPE_WRITE_COMBINED = 2,
} DXGK_MEMORY_CACHING_TYPE;

typedef enum _DXGK_WDDMVERSION {
    DXGKDDI_WDDMv1 = 0x1000,
#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8
    DXGKDDI_WDDMv1_2 = 0x1200,
#endif
    DXGKDDI_WDDMv1_3 = 0x1300,
    DXGKDDI_WDDMv2 = 0x2000,
    DXGKDDI_WDDMv2_1 = 0x2100,
    DXGKDDI_WDDMv2_1_5 = 0x2105,
    DXGKDDI_WDDMv2_1_6 = 0x2106,
    DXGKDDI_WDDMv2_2 = 0x2200,
    DXGKDDI_WDDMv2_3 = 0x2300,
    DXGKDDI_WDDMv2_4 = 0x2400,
    DXGKDDI_WDDMv2_5 = 0x2500,
    DXGKDDI_WDDMv2_6 = 0x2600,
    DXGKDDI_WDDMv2_7 = 0x2700,
    DXGKDDI_WDDMv2_8 = 0x2800,
    DXGKDDI_WDDMv2_9 = 0x2900,
    DXGKDDI_WDDMv3_0 = 0x3000,
    DXGKDDI_WDDMv3_1 = 0x3100,
    DXGKDDI_WDDMv3_2 = 0x3200,
    DXGKDDI_WDDM_LATEST = 0x3200,
} DXGK_WDDMVERSION;

#endif
