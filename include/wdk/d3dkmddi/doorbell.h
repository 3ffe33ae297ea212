/*
 * Work that user mode submits by itself: doorbells and CPU events.
 *
 * Place   include/wdk, part of d3dkmddi.h.
 * Source  The public pages of d3dkmddi; layouts are those of data/ddi/types-x64.tsv.
 */
#ifndef D3DKMDDI_DOORBELL_H
#define D3DKMDDI_DOORBELL_H

#include "base.h"

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_0

typedef struct _DXGK_CREATECPUEVENTFLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGK_CREATECPUEVENTFLAGS;

typedef struct _DXGKARG_CREATECPUEVENT {
    HANDLE hKmdDevice;
    HANDLE hDxgCpuEvent;
    DXGK_CREATECPUEVENTFLAGS Flags;
    HANDLE hKmdCpuEvent;
} DXGKARG_CREATECPUEVENT;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATECPUEVENT);

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_1

typedef struct _DXGKARGCB_DISCONNECTDOORBELL_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGKARGCB_DISCONNECTDOORBELL_FLAGS;
DXGK_ARGUMENT_POINTERS(DXGKARGCB_DISCONNECTDOORBELL_FLAGS);

typedef struct _DXGKARGCB_DISCONNECTDOORBELL {
    HANDLE hHwQueue;
    HANDLE hDoorbell;
    DXGKARGCB_DISCONNECTDOORBELL_FLAGS Flags;
    D3DDDI_DOORBELLSTATUS DisconnectReason;
} DXGKARGCB_DISCONNECTDOORBELL;
DXGK_ARGUMENT_POINTERS(DXGKARGCB_DISCONNECTDOORBELL);

typedef struct _DXGKARG_CREATEDOORBELL_FLAGS {
    union {
        struct {
            UINT ResizeRingBufferOperation : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGKARG_CREATEDOORBELL_FLAGS;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEDOORBELL_FLAGS);

typedef struct _DXGKARG_CREATEDOORBELL {
    HANDLE hHwQueue;
    HANDLE hDoorbell;
    UINT PrivateDriverDataSize;
    VOID *PrivateDriverData;
    HANDLE hRingBuffer;
    HANDLE hRingBufferControl;
    DXGKARG_CREATEDOORBELL_FLAGS Flags;
} DXGKARG_CREATEDOORBELL;
DXGK_ARGUMENT_POINTERS(DXGKARG_CREATEDOORBELL);

typedef struct _DXGKARG_CONNECTDOORBELL_FLAGS {
    union {
        struct {
            UINT RequireSecondaryAddress : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    };
} DXGKARG_CONNECTDOORBELL_FLAGS;
DXGK_ARGUMENT_POINTERS(DXGKARG_CONNECTDOORBELL_FLAGS);

typedef struct _DXGKARG_CONNECTDOORBELL {
    HANDLE hDoorbell;
    DXGKARG_CONNECTDOORBELL_FLAGS Flags;
    VOID *KernelCpuVirtualAddress;
    VOID *SecondaryKernelCpuVirtualAddress;
    D3DDDI_DOORBELLSTATUS Status;
} DXGKARG_CONNECTDOORBELL;
DXGK_ARGUMENT_POINTERS(DXGKARG_CONNECTDOORBELL);

typedef struct _DXGKARG_DISCONNECTDOORBELL_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGKARG_DISCONNECTDOORBELL_FLAGS;
DXGK_ARGUMENT_POINTERS(DXGKARG_DISCONNECTDOORBELL_FLAGS);

typedef struct _DXGKARG_DISCONNECTDOORBELL {
    HANDLE hDoorbell;
    DXGKARG_DISCONNECTDOORBELL_FLAGS Flags;
} DXGKARG_DISCONNECTDOORBELL;
DXGK_ARGUMENT_POINTERS(DXGKARG_DISCONNECTDOORBELL);

typedef struct _DXGKARG_DESTROYDOORBELL {
    HANDLE hDoorbell;
} DXGKARG_DESTROYDOORBELL;
DXGK_ARGUMENT_POINTERS(DXGKARG_DESTROYDOORBELL);

typedef struct _DXGKARG_NOTIFYWORKSUBMISSION_FLAGS {
    union {
        struct {
            UINT Reserved : 32;
        };
        UINT Value;
    };
} DXGKARG_NOTIFYWORKSUBMISSION_FLAGS;
DXGK_ARGUMENT_POINTERS(DXGKARG_NOTIFYWORKSUBMISSION_FLAGS);

typedef struct _DXGKARG_NOTIFYWORKSUBMISSION {
    HANDLE hHwQueue;
    DXGKARG_NOTIFYWORKSUBMISSION_FLAGS Flags;
} DXGKARG_NOTIFYWORKSUBMISSION;
DXGK_ARGUMENT_POINTERS(DXGKARG_NOTIFYWORKSUBMISSION);

#endif

#if DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM3_2

typedef struct _DXGK_USERMODESUBMISSION_CAPS {
    union {
        struct {
            UINT SecondaryDoorbellSupported : 1;
            UINT Reserved : 31;
        };
        UINT Value;
    } Flags;
    UINT DoorbellSizeInBytes;
    UINT SecondaryDoorbellSizeInBytes;
    UCHAR Reserved[16];
} DXGK_USERMODESUBMISSION_CAPS;

#endif

#endif
