/*
 * DXCore for C: how user mode finds adapters. Each object is a pointer to a table of functions.
 *
 * Place     include/wdk. For user-mode drivers and libdxcore.so; kernel drivers have no use for it.
 * ABI       bool is one byte; HRESULT has 32 bits; an identifier is passed by pointer. On Linux the
 *           calling convention is that of Linux.
 * Source    The reference pages of dxcore_interface.h. Written from them: no part is a copy.
 */
#ifndef _DXCORE_H_
#define _DXCORE_H_

#include "d3dkmthk.h"
#include "guiddef.h"

#include <stdbool.h>

typedef enum DXCoreAdapterProperty {
    DXCoreAdapterProperty_InstanceLuid = 0,
    DXCoreAdapterProperty_DriverVersion = 1,
    DXCoreAdapterProperty_DriverDescription = 2,
    DXCoreAdapterProperty_HardwareID = 3,
    DXCoreAdapterProperty_KmdModelVersion = 4,
    DXCoreAdapterProperty_ComputePreemptionGranularity = 5,
    DXCoreAdapterProperty_GraphicsPreemptionGranularity = 6,
    DXCoreAdapterProperty_DedicatedAdapterMemory = 7,
    DXCoreAdapterProperty_DedicatedSystemMemory = 8,
    DXCoreAdapterProperty_SharedSystemMemory = 9,
    DXCoreAdapterProperty_AcgCompatible = 10,
    DXCoreAdapterProperty_IsHardware = 11,
    DXCoreAdapterProperty_IsIntegrated = 12,
    DXCoreAdapterProperty_IsDetachable = 13,
    DXCoreAdapterProperty_HardwareIDParts = 14,
    DXCoreAdapterProperty_PhysicalAdapterCount = 15,
} DXCoreAdapterProperty;

typedef enum DXCoreAdapterState {
    DXCoreAdapterState_IsDriverUpdateInProgress = 0,
    DXCoreAdapterState_AdapterMemoryBudget = 1,
} DXCoreAdapterState;

typedef enum DXCoreSegmentGroup {
    DXCoreSegmentGroup_Local = 0,
    DXCoreSegmentGroup_NonLocal = 1,
} DXCoreSegmentGroup;

typedef struct DXCoreHardwareID {
    uint32_t vendorID, deviceID, subSysID, revision;
} DXCoreHardwareID;

typedef struct DXCoreHardwareIDParts {
    uint32_t vendorID, deviceID, subSystemID, subVendorID, revisionID;
} DXCoreHardwareIDParts;

typedef struct DXCoreAdapterMemoryBudgetNodeSegmentGroup {
    uint32_t nodeIndex;    /* of the physical adapter */
    uint32_t segmentGroup; /* DXCoreSegmentGroup */
} DXCoreAdapterMemoryBudgetNodeSegmentGroup;

typedef struct DXCoreAdapterMemoryBudget {
    uint64_t budget, currentUsage, availableForReservation, currentReservation; /* bytes */
} DXCoreAdapterMemoryBudget;

#define DXCORE_UNKNOWN_FUNCTIONS(type)                                                             \
    HRESULT (*QueryInterface)(type * self, const GUID *interface_id, void **out);                  \
    uint32_t (*AddRef)(type * self);                                                               \
    uint32_t (*Release)(type * self);

typedef struct IDXCoreAdapter IDXCoreAdapter;
struct IDXCoreAdapterVtbl {
    DXCORE_UNKNOWN_FUNCTIONS(IDXCoreAdapter)
    bool (*IsValid)(IDXCoreAdapter *self);
    bool (*IsAttributeSupported)(IDXCoreAdapter *self, const GUID *attribute);
    bool (*IsPropertySupported)(IDXCoreAdapter *self, uint32_t property);
    HRESULT (*GetProperty)(IDXCoreAdapter *self, uint32_t property, size_t bytes, void *out);
    HRESULT (*GetPropertySize)(IDXCoreAdapter *self, uint32_t property, size_t *out_bytes);
    bool (*IsQueryStateSupported)(IDXCoreAdapter *self, uint32_t state);
    HRESULT(*QueryState)
    (IDXCoreAdapter *self, uint32_t state, size_t in_bytes, const void *in, size_t out_bytes,
     void *out);
    bool (*IsSetStateSupported)(IDXCoreAdapter *self, uint32_t state);
    HRESULT(*SetState)
    (IDXCoreAdapter *self, uint32_t state, size_t in_bytes, const void *in, size_t data_bytes,
     const void *data);
    HRESULT (*GetFactory)(IDXCoreAdapter *self, const GUID *interface_id, void **out);
};
struct IDXCoreAdapter {
    const struct IDXCoreAdapterVtbl *lpVtbl;
};

typedef struct IDXCoreAdapterList IDXCoreAdapterList;
struct IDXCoreAdapterListVtbl {
    DXCORE_UNKNOWN_FUNCTIONS(IDXCoreAdapterList)
    HRESULT(*GetAdapter)
    (IDXCoreAdapterList *self, uint32_t index, const GUID *interface_id, void **out);
    uint32_t (*GetAdapterCount)(IDXCoreAdapterList *self);
    bool (*IsStale)(IDXCoreAdapterList *self);
    HRESULT (*GetFactory)(IDXCoreAdapterList *self, const GUID *interface_id, void **out);
    HRESULT (*Sort)(IDXCoreAdapterList *self, uint32_t count, const uint32_t *preferences);
    bool (*IsAdapterPreferenceSupported)(IDXCoreAdapterList *self, uint32_t preference);
};
struct IDXCoreAdapterList {
    const struct IDXCoreAdapterListVtbl *lpVtbl;
};

typedef struct IDXCoreAdapterFactory IDXCoreAdapterFactory;
struct IDXCoreAdapterFactoryVtbl {
    DXCORE_UNKNOWN_FUNCTIONS(IDXCoreAdapterFactory)
    HRESULT(*CreateAdapterList)
    (IDXCoreAdapterFactory *self, uint32_t count, const GUID *attributes, const GUID *interface_id,
     void **out);
    HRESULT(*GetAdapterByLuid)
    (IDXCoreAdapterFactory *self, const LUID *luid, const GUID *interface_id, void **out);
    bool (*IsNotificationTypeSupported)(IDXCoreAdapterFactory *self, uint32_t type);
    HRESULT(*RegisterEventNotification)
    (IDXCoreAdapterFactory *self, void *object, uint32_t type, void *callback, void *context,
     uint32_t *out_cookie);
    HRESULT (*UnregisterEventNotification)(IDXCoreAdapterFactory *self, uint32_t cookie);
};
struct IDXCoreAdapterFactory {
    const struct IDXCoreAdapterFactoryVtbl *lpVtbl;
};

#ifdef __cplusplus
extern "C"
#endif
    HRESULT
    DXCoreCreateAdapterFactory(const GUID *interface_id, void **out);

#endif
