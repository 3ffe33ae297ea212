/*
 * What libdxcore.so exports: the thunk functions, and DXCore's objects for the one adapter.
 *
 * The objects are static: nothing is counted, and what is released is used again.
 */
#include "dxcore/events.h"
#include "dxcore/notices.h"
#include "dxcore/passing.h"

#include <dxcore.h>

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define HRESULT_INVALID_ARGUMENT ((HRESULT)0x80070057)
#define HRESULT_NOT_FOUND        ((HRESULT)0x80070490)
#define HRESULT_NOT_SUPPORTED    ((HRESULT)0x80070032)
#define HRESULT_TOO_SMALL        ((HRESULT)0x8007007a)

/* ---- Thunks ---------------------------------------------------------------------------------- */

static NTSTATUS call(unsigned function, void *arguments, const void *caller)
{
    if (passing_is_on())
        return passing_call(function, arguments);
    switch (function) {
    case D3DKMT_FN_RegisterTrimNotification:
        return notices_begin(arguments);
    case D3DKMT_FN_UnregisterTrimNotification:
        return notices_end(arguments);
    case D3DKMT_FN_WaitForSynchronizationObjectFromCpu:
        if (((const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *)arguments)->hAsyncEvent)
            return events_wait(arguments, caller);
        return connection_call(function, arguments, caller);
    default:
        return connection_call(function, arguments, caller);
    }
}

#define THUNK(name, type)                                                                          \
    EXPORT NTSTATUS D3DKMT##name(type *arguments)                                                  \
    {                                                                                              \
        return arguments ? call(D3DKMT_FN_##name, (void *)(uintptr_t)arguments,                    \
                                __builtin_return_address(0))                                       \
                         : STATUS_INVALID_PARAMETER;                                               \
    }
D3DKMT_FUNCTIONS(THUNK)

/* A shared handle that nobody can open: no other process has the adapter's resources. */
EXPORT NTSTATUS D3DKMTShareObjects(UINT count, const D3DKMT_HANDLE *handles, VOID *attributes,
                                   DWORD access, HANDLE *out_shared)
{
    if (passing_is_on()) {
        NTSTATUS(*other)
        (UINT, const D3DKMT_HANDLE *, VOID *, DWORD, HANDLE *) =
            (NTSTATUS(*)(UINT, const D3DKMT_HANDLE *, VOID *, DWORD, HANDLE *))(
                uintptr_t)passing_symbol("D3DKMTShareObjects");

        return other ? other(count, handles, attributes, access, out_shared) : STATUS_NOT_SUPPORTED;
    }
    if (!count || !handles || !out_shared)
        return STATUS_INVALID_PARAMETER;
    *out_shared = (HANDLE)(uintptr_t)handles[0];
    return STATUS_SUCCESS;
}

/* ---- DXCore ---------------------------------------------------------------------------------- */

static IDXCoreAdapterFactory the_factory;

static const GUID compute_attribute = {
    0x248e2800, 0xa793, 0x4724, {0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90}};

static bool is_same(const GUID *a, const GUID *b)
{
    return a && memcmp(a, b, sizeof *a) == 0;
}

static HRESULT give(void *object, void **out)
{
    if (!out)
        return HRESULT_INVALID_ARGUMENT;
    *out = object;
    return S_OK;
}

#define UNKNOWN(kind, type)                                                                        \
    static HRESULT kind##_query(type *self, const GUID *interface_id, void **out)                  \
    {                                                                                              \
        return give(self, out);                                                                    \
    }                                                                                              \
    static uint32_t kind##_add(type *self)                                                         \
    {                                                                                              \
        return 2;                                                                                  \
    }                                                                                              \
    static uint32_t kind##_release(type *self)                                                     \
    {                                                                                              \
        return 1;                                                                                  \
    }
UNKNOWN(adapter, IDXCoreAdapter)
UNKNOWN(list, IDXCoreAdapterList)
UNKNOWN(factory, IDXCoreAdapterFactory)

/* ---- The adapter ---- */

static bool adapter_is_valid(IDXCoreAdapter *self)
{
    return connection_join() != NULL;
}

static bool adapter_is_attribute(IDXCoreAdapter *self, const GUID *attribute)
{
    return is_same(attribute, &compute_attribute);
}

/* Bytes of the property, and its value; 0: the adapter has no such property. */
static size_t property_of(uint32_t property, void *out, size_t room)
{
    const struct protocol_joined *joined = connection_join();
    union {
        uint8_t flag;
        LUID luid;
        DXCoreHardwareID hardware;
        char text[sizeof joined->description];
    } value = {0};
    size_t bytes = 0;

    if (!joined)
        return 0;
    switch (property) {
    case DXCoreAdapterProperty_InstanceLuid:
        value.luid = (LUID){.LowPart = joined->luid_low, .HighPart = joined->luid_high};
        bytes = sizeof value.luid;
        break;
    case DXCoreAdapterProperty_DriverDescription:
        memcpy(value.text, joined->description, sizeof value.text);
        value.text[sizeof value.text - 1] = '\0';
        bytes = strlen(value.text) + 1;
        break;
    case DXCoreAdapterProperty_HardwareID:
        value.hardware =
            (DXCoreHardwareID){joined->vendor, joined->device, joined->subsystem, joined->revision};
        bytes = sizeof value.hardware;
        break;
    case DXCoreAdapterProperty_IsHardware:
        value.flag = 1;
        bytes = 1;
        break;
    case DXCoreAdapterProperty_IsIntegrated:
    case DXCoreAdapterProperty_IsDetachable:
        bytes = 1;
        break;
    default:
        return 0;
    }
    if (out && room >= bytes)
        memcpy(out, &value, bytes);
    return bytes;
}

static bool adapter_has_property(IDXCoreAdapter *self, uint32_t property)
{
    return property_of(property, NULL, 0) != 0;
}

static HRESULT adapter_property(IDXCoreAdapter *self, uint32_t property, size_t bytes, void *out)
{
    const size_t needed = property_of(property, out, bytes);

    if (!needed)
        return HRESULT_NOT_SUPPORTED;
    return !out ? HRESULT_INVALID_ARGUMENT : bytes < needed ? HRESULT_TOO_SMALL : S_OK;
}

static HRESULT adapter_property_size(IDXCoreAdapter *self, uint32_t property, size_t *out_bytes)
{
    const size_t needed = property_of(property, NULL, 0);

    if (!out_bytes)
        return HRESULT_INVALID_ARGUMENT;
    *out_bytes = needed;
    return needed ? S_OK : HRESULT_NOT_SUPPORTED;
}

static bool adapter_no_state(IDXCoreAdapter *self, uint32_t state)
{
    return false;
}

static HRESULT adapter_query_state(IDXCoreAdapter *self, uint32_t state, size_t in_bytes,
                                   const void *in, size_t out_bytes, void *out)
{
    return HRESULT_NOT_SUPPORTED;
}

static HRESULT adapter_set_state(IDXCoreAdapter *self, uint32_t state, size_t in_bytes,
                                 const void *in, size_t data_bytes, const void *data)
{
    return HRESULT_NOT_SUPPORTED;
}

static HRESULT adapter_factory(IDXCoreAdapter *self, const GUID *interface_id, void **out)
{
    return give(&the_factory, out);
}

static const struct IDXCoreAdapterVtbl adapter_functions = {
    .QueryInterface = adapter_query,
    .AddRef = adapter_add,
    .Release = adapter_release,
    .IsValid = adapter_is_valid,
    .IsAttributeSupported = adapter_is_attribute,
    .IsPropertySupported = adapter_has_property,
    .GetProperty = adapter_property,
    .GetPropertySize = adapter_property_size,
    .IsQueryStateSupported = adapter_no_state,
    .QueryState = adapter_query_state,
    .IsSetStateSupported = adapter_no_state,
    .SetState = adapter_set_state,
    .GetFactory = adapter_factory,
};
static IDXCoreAdapter the_adapter = {&adapter_functions};

/* ---- The list ---- */

static HRESULT list_adapter(IDXCoreAdapterList *self, uint32_t index, const GUID *interface_id,
                            void **out)
{
    return index || !connection_join() ? HRESULT_INVALID_ARGUMENT : give(&the_adapter, out);
}

static uint32_t list_count(IDXCoreAdapterList *self)
{
    return connection_join() != NULL;
}

static bool list_is_stale(IDXCoreAdapterList *self)
{
    return false;
}

static HRESULT list_factory(IDXCoreAdapterList *self, const GUID *interface_id, void **out)
{
    return give(&the_factory, out);
}

static HRESULT list_sort(IDXCoreAdapterList *self, uint32_t count, const uint32_t *preferences)
{
    return S_OK; /* one is in order */
}

static bool list_has_preference(IDXCoreAdapterList *self, uint32_t preference)
{
    return true;
}

static const struct IDXCoreAdapterListVtbl list_functions = {
    .QueryInterface = list_query,
    .AddRef = list_add,
    .Release = list_release,
    .GetAdapter = list_adapter,
    .GetAdapterCount = list_count,
    .IsStale = list_is_stale,
    .GetFactory = list_factory,
    .Sort = list_sort,
    .IsAdapterPreferenceSupported = list_has_preference,
};
static IDXCoreAdapterList the_list = {&list_functions};

/* ---- The factory ---- */

static HRESULT factory_list(IDXCoreAdapterFactory *self, uint32_t count, const GUID *attributes,
                            const GUID *interface_id, void **out)
{
    return !count || !attributes ? HRESULT_INVALID_ARGUMENT : give(&the_list, out);
}

static HRESULT factory_by_luid(IDXCoreAdapterFactory *self, const LUID *luid,
                               const GUID *interface_id, void **out)
{
    const struct protocol_joined *joined = connection_join();

    return joined && luid && luid->LowPart == joined->luid_low &&
                   luid->HighPart == joined->luid_high
               ? give(&the_adapter, out)
               : HRESULT_NOT_FOUND;
}

static bool factory_no_notice(IDXCoreAdapterFactory *self, uint32_t type)
{
    return false;
}

static HRESULT factory_register(IDXCoreAdapterFactory *self, void *object, uint32_t type,
                                void *callback, void *context, uint32_t *out_cookie)
{
    return HRESULT_NOT_SUPPORTED;
}

static HRESULT factory_unregister(IDXCoreAdapterFactory *self, uint32_t cookie)
{
    return HRESULT_NOT_FOUND;
}

static const struct IDXCoreAdapterFactoryVtbl factory_functions = {
    .QueryInterface = factory_query,
    .AddRef = factory_add,
    .Release = factory_release,
    .CreateAdapterList = factory_list,
    .GetAdapterByLuid = factory_by_luid,
    .IsNotificationTypeSupported = factory_no_notice,
    .RegisterEventNotification = factory_register,
    .UnregisterEventNotification = factory_unregister,
};
static IDXCoreAdapterFactory the_factory = {&factory_functions};

EXPORT HRESULT DXCoreCreateAdapterFactory(const GUID *interface_id, void **out)
{
    if (passing_is_on()) {
        HRESULT(*other)
        (const GUID *, void **) = (HRESULT(*)(const GUID *, void **))(uintptr_t)passing_symbol(
            "DXCoreCreateAdapterFactory");

        return other ? other(interface_id, out) : HRESULT_NOT_SUPPORTED;
    }
    return give(&the_factory, out);
}
