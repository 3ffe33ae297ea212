/*
 * What libdxcore.so exports: the thunk functions, and DXCore's objects for the one adapter.
 *
 * The objects are static: nothing is counted, and what is released is used again.
 */
#include "dxcore/adapter.h"
#include "dxcore/events.h"
#include "dxcore/notices.h"
#include "dxcore/passing.h"
#include "dxcore/sharing.h"

#include <dxcore.h>

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define HRESULT_INVALID_ARGUMENT ((HRESULT)0x80070057)
#define HRESULT_NOT_FOUND        ((HRESULT)0x80070490)
#define HRESULT_NOT_SUPPORTED    ((HRESULT)0x80070032)
#define HRESULT_TOO_SMALL        ((HRESULT)0x8007007a)

/* ---- Thunks ---------------------------------------------------------------------------------- */

/* Calls that name an NT handle: it goes along. */
static NTSTATUS call_by_nt_handle(unsigned function, void *call_arguments)
{
    NTSTATUS status;

    switch (function) {
    case D3DKMT_FN_QueryResourceInfoFromNtHandle: {
        D3DKMT_QUERYRESOURCEINFOFROMNTHANDLE *arguments = call_arguments;

        return sharing_call_by(function, arguments, arguments->hNtHandle);
    }
    case D3DKMT_FN_OpenResourceFromNtHandle: {
        D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments = call_arguments;

        status = sharing_call_by(function, arguments, arguments->hNtHandle);
        if (status >= 0)
            sharing_opened(arguments->NumAllocations, arguments->pOpenAllocationInfo2,
                           arguments->pTotalPrivateDriverDataBuffer);
        return status;
    }
    case D3DKMT_FN_OpenKeyedMutexFromNtHandle: {
        D3DKMT_OPENKEYEDMUTEXFROMNTHANDLE *arguments = call_arguments;

        return sharing_call_by(function, arguments, arguments->hNtHandle);
    }
    case D3DKMT_FN_OpenSyncObjectFromNtHandle2: {
        D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *arguments = call_arguments;

        status = sharing_call_by(function, arguments, arguments->hNtHandle);
        return status < 0
                   ? status
                   : sharing_fence_given(arguments->hSyncObject,
                                         arguments->MonitoredFence.FenceValueCPUVirtualAddress);
    }
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

/* Calls that may give what other processes see, too. */
static NTSTATUS call_and_see(unsigned function, void *call_arguments, const void *caller)
{
    NTSTATUS status;

    if (function == D3DKMT_FN_CreateSynchronizationObject2 &&
        ((const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *)call_arguments)->Info.Type ==
            D3DDDI_CPU_NOTIFICATION)
        return events_notify(call_arguments, caller);
    status = connection_call(function, call_arguments, caller);
    if (status < 0)
        return status;
    switch (function) {
    case D3DKMT_FN_Lock2:
        return sharing_locked(call_arguments);
    case D3DKMT_FN_CreateSynchronizationObject2: {
        const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *arguments = call_arguments;

        return sharing_fence_given(arguments->hSyncObject,
                                   arguments->Info.MonitoredFence.FenceValueCPUVirtualAddress);
    }
    case D3DKMT_FN_OpenResource: {
        D3DKMT_OPENRESOURCE *arguments = call_arguments;

        sharing_opened(arguments->NumAllocations, arguments->pOpenAllocationInfo2,
                       arguments->pTotalPrivateDriverDataBuffer);
        return status;
    }
    default:
        return status;
    }
}

/* Calls that may name an event. */
static NTSTATUS call_with_event(unsigned function, void *call_arguments, const void *caller)
{
    switch (function) {
    case D3DKMT_FN_WaitForSynchronizationObjectFromCpu: {
        const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments = call_arguments;

        if (arguments->hAsyncEvent)
            return events_wait(arguments, caller);
        break;
    }
    case D3DKMT_FN_SignalSynchronizationObject2: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECT2 *arguments = call_arguments;

        if (arguments->Flags.EnqueueCpuEvent)
            return events_enqueue(arguments, caller);
        break;
    }
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu2: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *arguments = call_arguments;

        if (arguments->Flags.EnqueueCpuEvent)
            return events_enqueue_from_gpu(arguments, caller);
        break;
    }
    default:
        break;
    }
    return connection_call(function, call_arguments, caller);
}

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
    case D3DKMT_FN_SignalSynchronizationObject2:
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu2:
        return call_with_event(function, arguments, caller);
    case D3DKMT_FN_QueryResourceInfoFromNtHandle:
    case D3DKMT_FN_OpenResourceFromNtHandle:
    case D3DKMT_FN_OpenSyncObjectFromNtHandle2:
    case D3DKMT_FN_OpenKeyedMutexFromNtHandle:
        return call_by_nt_handle(function, arguments);
    case D3DKMT_FN_Lock2:
    case D3DKMT_FN_CreateSynchronizationObject2:
    case D3DKMT_FN_OpenResource:
        return call_and_see(function, arguments, caller);
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

/* An NT handle is a descriptor of this process. */
EXPORT NTSTATUS D3DKMTShareObjects(UINT count, const D3DKMT_HANDLE *handles,
                                   OBJECT_ATTRIBUTES *attributes, DWORD access, HANDLE *out_shared)
{
    if (passing_is_on()) {
        PFND3DKMT_ShareObjects other =
            (PFND3DKMT_ShareObjects)(uintptr_t)passing_symbol("D3DKMTShareObjects");

        return other ? other(count, handles, attributes, access, out_shared) : STATUS_NOT_SUPPORTED;
    }
    if (!count || !handles || !out_shared)
        return STATUS_INVALID_PARAMETER;
    return sharing_share(count, handles, attributes, access, out_shared);
}

#define NAME_THUNK(name, type)                                                                     \
    EXPORT NTSTATUS D3DKMT##name(type *arguments)                                                  \
    {                                                                                              \
        if (passing_is_on()) {                                                                     \
            PFND3DKMT_##name other = (PFND3DKMT_##name)(uintptr_t)passing_symbol("D3DKMT" #name);  \
                                                                                                   \
            return other ? other(arguments) : STATUS_NOT_SUPPORTED;                                \
        }                                                                                          \
        return arguments ? sharing_open_by_name(D3DKMT_FN_##name, arguments->dwDesiredAccess,      \
                                                arguments->pObjAttrib, &arguments->hNtHandle)      \
                         : STATUS_INVALID_PARAMETER;                                               \
    }
D3DKMT_NAME_FUNCTIONS(NAME_THUNK)

/* ---- DXCore ---------------------------------------------------------------------------------- */

static IDXCoreAdapterFactory the_factory;

/* DXCORE_ADAPTER_ATTRIBUTE_D3D12_CORE_COMPUTE and _D3D12_GRAPHICS: the user-mode driver is the
 * program's, and it alone knows what it can do with the adapter. */
static const GUID attributes[] = {
    {0x248e2800, 0xa793, 0x4724, {0xab, 0xaa, 0x23, 0xa6, 0xde, 0x1b, 0xe0, 0x90}},
    {0x0c9ece4d, 0x2f6e, 0x4f01, {0x8c, 0x96, 0xe8, 0x9e, 0x33, 0x1b, 0x47, 0xb1}},
};

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
    return is_same(attribute, &attributes[0]) || is_same(attribute, &attributes[1]);
}

static bool adapter_has_property(IDXCoreAdapter *self, uint32_t property)
{
    return adapter_size_of(property) != 0;
}

static HRESULT adapter_property(IDXCoreAdapter *self, uint32_t property, size_t bytes, void *out)
{
    const size_t needed = adapter_size_of(property);

    if (!needed)
        return HRESULT_NOT_SUPPORTED;
    if (!out)
        return HRESULT_INVALID_ARGUMENT;
    if (bytes < needed)
        return HRESULT_TOO_SMALL;
    return adapter_tell(property, out, __builtin_return_address(0)) ? S_OK : HRESULT_NOT_SUPPORTED;
}

static HRESULT adapter_property_size(IDXCoreAdapter *self, uint32_t property, size_t *out_bytes)
{
    if (!out_bytes)
        return HRESULT_INVALID_ARGUMENT;
    *out_bytes = adapter_size_of(property);
    return *out_bytes ? S_OK : HRESULT_NOT_SUPPORTED;
}

static bool adapter_has_state(IDXCoreAdapter *self, uint32_t state)
{
    return state == DXCoreAdapterState_IsDriverUpdateInProgress ||
           state == DXCoreAdapterState_AdapterMemoryBudget;
}

static HRESULT adapter_query_state(IDXCoreAdapter *self, uint32_t state, size_t in_bytes,
                                   const void *in, size_t out_bytes, void *out)
{
    const size_t needed = state == DXCoreAdapterState_AdapterMemoryBudget
                              ? sizeof(DXCoreAdapterMemoryBudget)
                              : sizeof(uint8_t);

    if (!adapter_has_state(self, state))
        return HRESULT_NOT_SUPPORTED;
    if (!out)
        return HRESULT_INVALID_ARGUMENT;
    if (out_bytes < needed)
        return HRESULT_TOO_SMALL;
    if (state == DXCoreAdapterState_IsDriverUpdateInProgress) {
        *(uint8_t *)out = 0;
        return S_OK;
    }
    if (!in || in_bytes < sizeof(DXCoreAdapterMemoryBudgetNodeSegmentGroup))
        return HRESULT_INVALID_ARGUMENT;
    return adapter_tell_budget(in, out, __builtin_return_address(0)) ? S_OK
                                                                     : HRESULT_INVALID_ARGUMENT;
}

static bool adapter_no_state(IDXCoreAdapter *self, uint32_t state)
{
    return false;
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
    .IsQueryStateSupported = adapter_has_state,
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
