#include "dxcore/adapter.h"

#include "dxcore/connection.h"

#include <string.h>

/* ---- What the server is asked ---------------------------------------------------------------- */

static D3DKMT_HANDLE open_adapter(const void *caller)
{
    const struct protocol_joined *joined = connection_join();
    D3DKMT_OPENADAPTERFROMLUID open = {0};

    if (!joined)
        return 0;
    open.AdapterLuid = (LUID){.LowPart = joined->luid_low, .HighPart = joined->luid_high};
    return connection_call(D3DKMT_FN_OpenAdapterFromLuid, &open, caller) >= 0 ? open.hAdapter : 0;
}

/* Calls with the adapter open: it is closed in any case. */
static bool ask(unsigned function, void *arguments, D3DKMT_HANDLE *adapter, const void *caller)
{
    D3DKMT_CLOSEADAPTER close;
    bool is_told;

    *adapter = open_adapter(caller);
    if (!*adapter)
        return false;
    is_told = connection_call(function, arguments, caller) >= 0;
    close.hAdapter = *adapter;
    connection_call(D3DKMT_FN_CloseAdapter, &close, caller);
    return is_told;
}

static bool ask_info(KMTQUERYADAPTERINFOTYPE type, void *out, UINT bytes, const void *caller)
{
    D3DKMT_QUERYADAPTERINFO query = {
        .Type = type, .pPrivateDriverData = out, .PrivateDriverDataSize = bytes};

    return ask(D3DKMT_FN_QueryAdapterInfo, &query, &query.hAdapter, caller);
}

static bool tell_memory(uint32_t property, uint64_t *out, const void *caller)
{
    D3DKMT_SEGMENTSIZEINFO sizes = {0};

    if (!ask_info(KMTQAITYPE_GETSEGMENTSIZE, &sizes, sizeof sizes, caller))
        return false;
    *out = property == DXCoreAdapterProperty_DedicatedAdapterMemory ? sizes.DedicatedVideoMemorySize
           : property == DXCoreAdapterProperty_DedicatedSystemMemory
               ? sizes.DedicatedSystemMemorySize
               : sizes.SharedSystemMemorySize;
    return true;
}

bool adapter_tell_budget(const DXCoreAdapterMemoryBudgetNodeSegmentGroup *group,
                         DXCoreAdapterMemoryBudget *out, const void *caller)
{
    D3DKMT_QUERYVIDEOMEMORYINFO query = {.MemorySegmentGroup =
                                             (D3DKMT_MEMORY_SEGMENT_GROUP)group->segmentGroup,
                                         .PhysicalAdapterIndex = group->nodeIndex};

    if (!ask(D3DKMT_FN_QueryVideoMemoryInfo, &query, &query.hAdapter, caller))
        return false;
    *out = (DXCoreAdapterMemoryBudget){.budget = query.Budget,
                                       .currentUsage = query.CurrentUsage,
                                       .availableForReservation = query.AvailableForReservation,
                                       .currentReservation = query.CurrentReservation};
    return true;
}

/* ---- Properties ------------------------------------------------------------------------------ */

size_t adapter_size_of(uint32_t property)
{
    const struct protocol_joined *joined = connection_join();

    if (!joined)
        return 0;
    switch (property) {
    case DXCoreAdapterProperty_InstanceLuid:
        return sizeof(LUID);
    case DXCoreAdapterProperty_DriverDescription:
        return strnlen(joined->description, sizeof joined->description - 1) + 1;
    case DXCoreAdapterProperty_HardwareID:
        return sizeof(DXCoreHardwareID);
    case DXCoreAdapterProperty_HardwareIDParts:
        return sizeof(DXCoreHardwareIDParts);
    case DXCoreAdapterProperty_KmdModelVersion:
        return sizeof(D3DKMT_DRIVERVERSION);
    case DXCoreAdapterProperty_DedicatedAdapterMemory:
    case DXCoreAdapterProperty_DedicatedSystemMemory:
    case DXCoreAdapterProperty_SharedSystemMemory:
        return sizeof(uint64_t);
    case DXCoreAdapterProperty_PhysicalAdapterCount:
        return sizeof(uint32_t);
    case DXCoreAdapterProperty_IsHardware:
    case DXCoreAdapterProperty_IsIntegrated:
    case DXCoreAdapterProperty_IsDetachable:
        return sizeof(uint8_t);
    default:
        return 0;
    }
}

bool adapter_tell(uint32_t property, void *out, const void *caller)
{
    const struct protocol_joined *joined = connection_join();

    if (!joined)
        return false;
    switch (property) {
    case DXCoreAdapterProperty_InstanceLuid:
        *(LUID *)out = (LUID){.LowPart = joined->luid_low, .HighPart = joined->luid_high};
        return true;
    case DXCoreAdapterProperty_DriverDescription: {
        const size_t length = strnlen(joined->description, sizeof joined->description - 1);

        memcpy(out, joined->description, length);
        ((char *)out)[length] = '\0';
        return true;
    }
    case DXCoreAdapterProperty_HardwareID:
        *(DXCoreHardwareID *)out =
            (DXCoreHardwareID){joined->vendor, joined->device, joined->subsystem, joined->revision};
        return true;
    case DXCoreAdapterProperty_HardwareIDParts:
        *(DXCoreHardwareIDParts *)out = (DXCoreHardwareIDParts){
            .vendorID = joined->vendor,
            .deviceID = joined->device,
            .subSystemID = joined->subsystem >> 16,
            .subVendorID = joined->subsystem & 0xffff,
            .revisionID = joined->revision,
        };
        return true;
    case DXCoreAdapterProperty_KmdModelVersion:
        return ask_info(KMTQAITYPE_DRIVERVERSION, out, sizeof(D3DKMT_DRIVERVERSION), caller);
    case DXCoreAdapterProperty_PhysicalAdapterCount:
        return ask_info(KMTQAITYPE_PHYSICALADAPTERCOUNT, out, sizeof(UINT), caller);
    case DXCoreAdapterProperty_DedicatedAdapterMemory:
    case DXCoreAdapterProperty_DedicatedSystemMemory:
    case DXCoreAdapterProperty_SharedSystemMemory:
        return tell_memory(property, out, caller);
    default:
        *(uint8_t *)out = property == DXCoreAdapterProperty_IsHardware;
        return true;
    }
}
