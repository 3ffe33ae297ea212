/*
 * Raw: calls down through the driver's table, callbacks up through the host.
 *
 * A driver finds its way back by the DeviceHandle, an address of the kernel's half, where no driver
 * can read or write. It is never trusted: a handle counts only if it is a live adapter's. The
 * callbacks that carry no handle belong to the adapter whose driver is running, or else to the
 * first in the list.
 */
#include "miniport/raw.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "miniport/loans.h"

#include <stdio.h>
#include <string.h>

struct raw {
    struct miniport miniport;
    const struct base_services *services;
    struct list link; /* in adapters */
    HANDLE handle;    /* that the driver knows it by */
    struct miniport_host *host;
    PDEVICE_OBJECT device_object;
    PVOID device_context; /* of AddDevice; NULL before and after */
    bool is_added;
    ULONG told_version; /* of DRIVERCAPS.WDDMVersion; 0: it says nothing */
    void (*overwritten)(void *context, enum miniport_ddi ddi, size_t offset);
    void *witness;
    DRIVER_INITIALIZATION_DATA table; /* zero where the driver's version has no slot */
    /* Of a display-only driver; NULL: it is none. */
    PDXGKDDI_PRESENTDISPLAYONLY present_display_only;
    DXGKRNL_INTERFACE kernel;
};

/* Every live adapter of the process, and the one whose driver code is running. */
static struct list adapters = LIST_INITIALIZER(adapters);
static uintptr_t handles_given;
static struct running {
    struct raw *raw; /* NULL: none */
    enum miniport_ddi ddi;
} running;

/* ---- Versions ---- */

/*
 * The part of the two tables that each version has: every slot before the first one of a later
 * version. raw_test.c holds this to the fact tables.
 */
static const struct version {
    ULONG version;
    unsigned wddm; /* tens and units: 26 is WDDM 2.6 */
    size_t table_size;
    size_t interface_size;
} versions[] = {
#define VERSION(name, wddm, next_ddi, next_callback)                                               \
    {                                                                                              \
        DXGKDDI_INTERFACE_VERSION_##name, wddm,                                                    \
            offsetof(DRIVER_INITIALIZATION_DATA, DxgkDdi##next_ddi),                               \
            offsetof(DXGKRNL_INTERFACE, DxgkCb##next_callback)                                     \
    }
    VERSION(VISTA, 10, DescribePageTable, CreateContextAllocation),
    VERSION(WIN7, 11, SetPowerComponentFState, CreateContextAllocation),
    VERSION(WIN8, 12, GetNodeMetadata, CompletePStateTransition),
    VERSION(WDDM1_3, 13, RenderGdi, MapContextAllocation),
    VERSION(WDDM2_0, 20, CheckMultiPlaneOverlaySupport3, MultiPlaneOverlayDisabled),
    VERSION(WDDM2_1, 21, CreateHwContext, InvalidateHwContext),
    VERSION(WDDM2_2, 22, UpdateHwContextState, SetProtectedSessionStatus),
    VERSION(WDDM2_3, 23, SetSchedulingLogBuffer, AllocateContiguousMemory),
    VERSION(WDDM2_4, 24, SignalMonitoredFence, SignalEvent),
    VERSION(WDDM2_5, 25, SaveMemoryForHotUpdate, IsFeatureEnabled),
    VERSION(WDDM2_6, 26, ControlInterrupt3, NotifyCursorSupportChange),
    VERSION(WDDM2_7, 27, SetFlipQueueLogBuffer, NotifyCursorSupportChange),
    VERSION(WDDM2_8, 28, SetFlipQueueLogBuffer, QueryFeatureSupport),
    VERSION(WDDM2_9, 29, SetAllocationBackingStore, DisconnectDoorbell),
    VERSION(WDDM3_0, 30, CreateNativeFence, DisconnectDoorbell),
#undef VERSION
    {DXGKDDI_INTERFACE_VERSION_WDDM3_1, 31,
     offsetof(DRIVER_INITIALIZATION_DATA, DxgkDdiCreateMemoryBasis), sizeof(DXGKRNL_INTERFACE)},
    {DXGKDDI_INTERFACE_VERSION_WDDM3_2, 32, sizeof(DRIVER_INITIALIZATION_DATA),
     sizeof(DXGKRNL_INTERFACE)},
};

/* The newest version that is not newer than this one: a service release has its base's tables. */
static const struct version *find_version(ULONG version)
{
    const struct version *found = NULL;

    if (version > versions[ARRAY_COUNT(versions) - 1].version)
        return NULL;
    for (size_t i = 0; i < ARRAY_COUNT(versions) && versions[i].version <= version; i++)
        found = &versions[i];
    return found;
}

/* In DxgkDdiUnload, which is no adapter's. */
static bool is_unloading;

void miniport_raw_abandon(void)
{
    is_unloading = false;
    running.raw = NULL;
}

const char *miniport_raw_running(void)
{
    return is_unloading ? "DxgkDdiUnload" : running.raw ? miniport_ddi_name(running.ddi) : NULL;
}

unsigned miniport_raw_wddm(ULONG version)
{
    const struct version *found = find_version(version);

    return found ? found->wddm : 0;
}

size_t miniport_raw_table_size(ULONG version)
{
    const struct version *found = find_version(version);

    return found ? found->table_size : 0;
}

size_t miniport_raw_interface_size(ULONG version)
{
    const struct version *found = find_version(version);

    return found ? found->interface_size : 0;
}

/* ---- Up: the driver calls ---- */

static struct raw *find_adapter(const void *handle)
{
    struct raw *raw;

    list_for_each (raw, &adapters, struct raw, link) {
        if (raw->handle == handle)
            return raw;
    }
    return NULL;
}

/* NULL for a handle that is no adapter's, or an adapter that nobody listens to. */
static struct miniport_host *host_of(HANDLE handle)
{
    struct raw *raw = find_adapter(handle);

    return raw ? raw->host : NULL;
}

static NTSTATUS NTAPI get_device_information(HANDLE handle, PDXGK_DEVICE_INFO info)
{
    struct miniport_host *host = host_of(handle);

    return host ? host->ops->get_device_information(host, info) : STATUS_INVALID_PARAMETER;
}

static NTSTATUS NTAPI map_memory(HANDLE handle, PHYSICAL_ADDRESS translated, ULONG length,
                                 BOOLEAN in_io_space, BOOLEAN map_to_user_mode,
                                 MEMORY_CACHING_TYPE cache_type, PVOID *virtual_address)
{
    struct miniport_host *host = host_of(handle);

    if (!host)
        return STATUS_INVALID_PARAMETER;
    return host->ops->map_memory(host, translated, length, in_io_space, map_to_user_mode,
                                 (ULONG)cache_type, virtual_address);
}

static NTSTATUS NTAPI unmap_memory(HANDLE handle, PVOID virtual_address)
{
    struct miniport_host *host = host_of(handle);

    return host ? host->ops->unmap_memory(host, virtual_address) : STATUS_INVALID_PARAMETER;
}

static NTSTATUS NTAPI read_device_space(HANDLE handle, ULONG type, PVOID buffer, ULONG offset,
                                        ULONG length, PULONG bytes_read)
{
    struct miniport_space space = {type, buffer, offset, length, 0};
    struct miniport_host *host = host_of(handle);
    NTSTATUS status =
        host && buffer ? host->ops->read_device_space(host, &space) : STATUS_INVALID_PARAMETER;

    if (bytes_read)
        *bytes_read = space.done;
    return status;
}

static NTSTATUS NTAPI write_device_space(HANDLE handle, ULONG type, PVOID buffer, ULONG offset,
                                         ULONG length, PULONG bytes_written)
{
    struct miniport_space space = {type, buffer, offset, length, 0};
    struct miniport_host *host = host_of(handle);
    NTSTATUS status =
        host && buffer ? host->ops->write_device_space(host, &space) : STATUS_INVALID_PARAMETER;

    if (bytes_written)
        *bytes_written = space.done;
    return status;
}

static VOID NTAPI notify_interrupt(const HANDLE handle, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct miniport_host *host = host_of(handle);

    if (host)
        host->ops->notify_interrupt(host, data);
}

static VOID NTAPI notify_dpc(const HANDLE handle)
{
    struct miniport_host *host = host_of(handle);

    if (host)
        host->ops->notify_dpc(host);
}

static BOOLEAN NTAPI queue_dpc(HANDLE handle)
{
    struct miniport_host *host = host_of(handle);

    return host && host->ops->queue_dpc(host);
}

static NTSTATUS NTAPI synchronize_execution(HANDLE handle, PKSYNCHRONIZE_ROUTINE routine,
                                            PVOID context, ULONG message, PBOOLEAN return_value)
{
    struct miniport_host *host = host_of(handle);

    if (!host)
        return STATUS_INVALID_PARAMETER;
    return host->ops->synchronize_execution(host, routine, context, message, return_value);
}

/*
 * Handles name no adapter: every host is asked for one, the running one first. ask() gives 0 where
 * the host does not know it.
 */
static uint64_t ask_hosts(uint64_t (*ask)(struct miniport_host *host, const void *about),
                          const void *about)
{
    uint64_t found = 0;
    struct raw *raw;

    if (running.raw && running.raw->host)
        found = ask(running.raw->host, about);
    list_for_each (raw, &adapters, struct raw, link) {
        if (found)
            break;
        if (raw != running.raw && raw->host)
            found = ask(raw->host, about);
    }
    return found;
}

static uint64_t ask_for_data(struct miniport_host *host, const void *about)
{
    return (uintptr_t)host->ops->get_handle_data(host, about);
}

static uint64_t ask_for_parent(struct miniport_host *host, const void *about)
{
    return host->ops->get_handle_parent(host, *(const D3DKMT_HANDLE *)about);
}

static uint64_t ask_for_child(struct miniport_host *host, const void *about)
{
    return host->ops->enum_handle_children(host, about);
}

static PVOID NTAPI get_handle_data(const DXGKARGCB_GETHANDLEDATA *data)
{
    return (PVOID)(uintptr_t)ask_hosts(ask_for_data, data);
}

static D3DKMT_HANDLE NTAPI get_handle_parent(D3DKMT_HANDLE allocation)
{
    return (D3DKMT_HANDLE)ask_hosts(ask_for_parent, &allocation);
}

static D3DKMT_HANDLE NTAPI enum_handle_children(const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    return (D3DKMT_HANDLE)ask_hosts(ask_for_child, children);
}

/* The same for drivers of WDDM 2, which say when they are done; nothing here depends on that. */
static PVOID NTAPI acquire_handle_data(const DXGKARGCB_GETHANDLEDATA *data,
                                       DXGKARG_RELEASE_HANDLE *release_handle)
{
    PVOID found = get_handle_data(data);

    *release_handle = (DXGKARG_RELEASE_HANDLE)found;
    return found;
}

static VOID NTAPI release_handle_data(DXGKARGCB_RELEASEHANDLEDATA data)
{
}

static NTSTATUS NTAPI reserve_gpu_virtual_address_range(
    const HANDLE handle, DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct miniport_host *host = host_of(handle);

    if (!host)
        return STATUS_INVALID_PARAMETER;
    return host->ops->reserve_gpu_virtual_address_range(host, range->hDxgkProcess, range);
}

static NTSTATUS NTAPI create_context_allocation(DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    struct miniport_host *host = host_of(allocation->hAdapter);

    return host ? host->ops->create_context_allocation(host, allocation) : STATUS_INVALID_PARAMETER;
}

static NTSTATUS NTAPI destroy_context_allocation(const HANDLE handle, const HANDLE allocation)
{
    struct miniport_host *host = host_of(handle);

    return host ? host->ops->destroy_context_allocation(host, allocation)
                : STATUS_INVALID_PARAMETER;
}

static D3DGPU_VIRTUAL_ADDRESS NTAPI
map_context_allocation(const HANDLE handle, const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    struct miniport_host *host = host_of(handle);

    return host ? host->ops->map_context_allocation(host, map) : 0;
}

static NTSTATUS NTAPI update_context_allocation(const HANDLE handle,
                                                const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct miniport_host *host = host_of(handle);

    return host ? host->ops->update_context_allocation(host, update) : STATUS_INVALID_PARAMETER;
}

/* Of a callback that names no adapter; NULL: there is none. */
static struct raw *unnamed_adapter(void)
{
    return running.raw || list_is_empty(&adapters) ? running.raw
                                                   : list_first_entry(&adapters, struct raw, link);
}

static VOID NTAPI log_etw_event(LPCGUID guid, UCHAR type, USHORT size, PVOID buffer)
{
    struct raw *raw = unnamed_adapter();
    char text[96];

    if (!raw || !raw->host)
        return;
    snprintf(text, sizeof text, "ETW event %08x of type %u, %u bytes",
             (unsigned)(guid ? guid->Data1 : 0), type, size);
    raw->host->ops->log(raw->host, text);
}

/* ---- Up: memory for the device ---- */

static NTSTATUS ask_for_memory(struct miniport_host *host,
                               const struct miniport_memory_request *request)
{
    return host && request->any ? host->ops->memory(host, request) : STATUS_INVALID_PARAMETER;
}

/* The structures of two callbacks name the adapter, which creating an object may leave out. */
static struct miniport_host *host_of_argument(const struct miniport_memory_request *request)
{
    struct raw *raw = unnamed_adapter();

    if (request->any && request->kind == MINIPORT_MEMORY_open_object)
        return host_of(request->open_object->hAdapter);
    if (request->any && request->kind == MINIPORT_MEMORY_create_object &&
        request->create_object->hAdapter)
        return host_of(request->create_object->hAdapter);
    return raw ? raw->host : NULL;
}

/* What functions return, and how they return a status; also for callbacks that are not here. */
#define RETURNS_STATUS   NTSTATUS
#define RETURNS_NOTHING  VOID
#define GIVES_STATUS(s)  return s
#define GIVES_NOTHING(s) (void)(s)
#define FIRST_ADAPTER    const HANDLE handle,
#define FIRST_ARGUMENT
#define HOST_ADAPTER(r)  host_of(handle)
#define HOST_ARGUMENT(r) host_of_argument(r)
#define X(slot, member, argument, place, returns)                                                  \
    static RETURNS_##returns NTAPI memory_##member(FIRST_##place argument arg)                     \
    {                                                                                              \
        const struct miniport_memory_request request = {MINIPORT_MEMORY_##member,                  \
                                                        {.member = arg}};                          \
                                                                                                   \
        GIVES_##returns(ask_for_memory(HOST_##place(&request), &request));                         \
    }
MINIPORT_MEMORY_LIST(X)
#undef X

/* ---- Up: modes, monitors, children, the boot display ---- */

static NTSTATUS ask_for_display(struct miniport_host *host,
                                const struct miniport_display_request *request)
{
    return host ? host->ops->display(host, request) : STATUS_INVALID_PARAMETER;
}

/* A network names no adapter. */
static NTSTATUS NTAPI query_vidpn_interface(D3DKMDT_HVIDPN network,
                                            DXGK_VIDPN_INTERFACE_VERSION version,
                                            const DXGK_VIDPN_INTERFACE **out_interface)
{
    const struct miniport_display_request request = {.kind = MINIPORT_ASK_QueryVidPnInterface,
                                                     .vidpn = {network, version, out_interface}};
    struct raw *raw = unnamed_adapter();

    return ask_for_display(raw ? raw->host : NULL, &request);
}

static NTSTATUS NTAPI query_monitor_interface(const HANDLE handle,
                                              DXGK_MONITOR_INTERFACE_VERSION version,
                                              const DXGK_MONITOR_INTERFACE **out_interface)
{
    const struct miniport_display_request request = {.kind = MINIPORT_ASK_QueryMonitorInterface,
                                                     .adapter = handle,
                                                     .monitor = {version, out_interface}};

    return ask_for_display(host_of(handle), &request);
}

static NTSTATUS NTAPI indicate_child_status(HANDLE handle, PDXGK_CHILD_STATUS status)
{
    const struct miniport_display_request request = {
        .kind = MINIPORT_ASK_IndicateChildStatus, .adapter = handle, .child = status};

    return ask_for_display(host_of(handle), &request);
}

static NTSTATUS NTAPI acquire_post_display(HANDLE handle, PDXGK_DISPLAY_INFORMATION info)
{
    const struct miniport_display_request request = {
        .kind = MINIPORT_ASK_AcquirePostDisplayOwnership, .adapter = handle, .post = {info, NULL}};

    return ask_for_display(host_of(handle), &request);
}

static NTSTATUS NTAPI acquire_post_display2(HANDLE handle, PDXGK_DISPLAY_INFORMATION info,
                                            PDXGK_DISPLAY_OWNERSHIP_FLAGS flags)
{
    const struct miniport_display_request request = {.kind =
                                                         MINIPORT_ASK_AcquirePostDisplayOwnership2,
                                                     .adapter = handle,
                                                     .post = {info, flags}};

    return ask_for_display(host_of(handle), &request);
}

/* ---- Up: power components ---- */

static NTSTATUS ask_of_power(HANDLE handle, enum miniport_power_kind kind, UINT component,
                             ULONGLONG time)
{
    const struct miniport_power_request request = {kind, component, time};
    struct miniport_host *host = host_of(handle);

    return host ? host->ops->power(host, &request) : STATUS_INVALID_PARAMETER;
}

static VOID NTAPI set_component_active(const HANDLE handle, UINT component)
{
    ask_of_power(handle, MINIPORT_POWER_SetPowerComponentActive, component, 0);
}

static VOID NTAPI set_component_idle(const HANDLE handle, UINT component)
{
    ask_of_power(handle, MINIPORT_POWER_SetPowerComponentIdle, component, 0);
}

static VOID NTAPI set_component_latency(const HANDLE handle, UINT component, ULONGLONG latency)
{
    ask_of_power(handle, MINIPORT_POWER_SetPowerComponentLatency, component, latency);
}

static VOID NTAPI set_component_residency(const HANDLE handle, UINT component, ULONGLONG residency)
{
    ask_of_power(handle, MINIPORT_POWER_SetPowerComponentResidency, component, residency);
}

static VOID NTAPI complete_f_state_transition(const HANDLE handle, UINT component)
{
    ask_of_power(handle, MINIPORT_POWER_CompleteFStateTransition, component, 0);
}

/* What the driver and a plug-in of the platform tell each other is theirs alone. */
static NTSTATUS NTAPI power_control(const HANDLE handle, LPCGUID code, PVOID in, SIZE_T in_bytes,
                                    PVOID out, SIZE_T out_bytes, PSIZE_T returned)
{
    UNREFERENCED_PARAMETER(in);
    UNREFERENCED_PARAMETER(in_bytes);
    UNREFERENCED_PARAMETER(out);
    UNREFERENCED_PARAMETER(out_bytes);
    if (!code)
        return STATUS_INVALID_PARAMETER;
    if (returned)
        *returned = 0;
    return ask_of_power(handle, MINIPORT_POWER_PowerRuntimeControlRequest, 0, 0);
}

/* ---- Up: features ---- */

/* Which features a driver may enable is the kernel's to say. */
static NTSTATUS NTAPI is_feature_enabled(DXGKARGCB_ISFEATUREENABLED *arg)
{
    struct miniport_host *host = arg ? host_of(arg->DeviceHandle) : NULL;

    return host ? host->ops->is_feature_enabled(host, arg) : STATUS_INVALID_PARAMETER;
}

/* The same question (2.9): what the driver says of its own support changes nothing. */
static NTSTATUS NTAPI query_feature_support(DXGKARGCB_QUERYFEATURESUPPORT *arg)
{
    DXGKARGCB_ISFEATUREENABLED question;
    NTSTATUS status;

    if (!arg)
        return STATUS_INVALID_PARAMETER;
    question = (DXGKARGCB_ISFEATUREENABLED){.DeviceHandle = arg->DeviceHandle,
                                            .FeatureId = arg->FeatureId};
    status = is_feature_enabled(&question);
    if (NT_SUCCESS(status))
        arg->Enabled = question.Enabled;
    return status;
}

/* ---- Up: hardware contexts ---- */

static NTSTATUS NTAPI invalidate_hw_context(const DXGKARGCB_INVALIDATEHWCONTEXT *arg)
{
    struct miniport_host *host = arg ? host_of(arg->hAdapter) : NULL;

    return host ? host->ops->invalidate_hw_context(host, arg) : STATUS_INVALID_PARAMETER;
}

/* ---- Up: what nobody has implemented ---- */

static void tell_unsupported(const void *first, const char *callback)
{
    struct raw *raw = find_adapter(first);

    if (!raw)
        raw = unnamed_adapter();
    if (raw && raw->host)
        raw->host->ops->unsupported(raw->host, callback);
}

/* The callbacks without an implementation, as X(slot, what its type returns). */
#define UNSUPPORTED_LIST(X)                                                                        \
    X(EvalAcpiMethod, STATUS)                                                                      \
    X(QueryServices, STATUS)                                                                       \
    X(IsDevicePresent, STATUS)                                                                     \
    X(GetCaptureAddress, STATUS)                                                                   \
    X(ExcludeAdapterAccess, STATUS)                                                                \
    X(CompletePStateTransition, NOTHING)                                                           \
    X(HardwareContentProtectionTeardown, NOTHING)                                                  \
    X(MultiPlaneOverlayDisabled, NOTHING)                                                          \
    X(MitigatedRangeUpdate, STATUS)                                                                \
    X(IndicateConnectorChange, STATUS)                                                             \
    X(UnblockUEFIFrameBufferRanges, STATUS)                                                        \
    X(SetProtectedSessionStatus, STATUS)                                                           \
    X(ReportDiagnostic, STATUS)                                                                    \
    X(SignalEvent, STATUS)                                                                         \
    X(SaveMemoryForHotUpdate, STATUS)                                                              \
    X(NotifyCursorSupportChange, STATUS)                                                           \
    X(DisconnectDoorbell, STATUS)

/*
 * One function for each, which looks at the first argument alone: in the x64 convention the
 * caller owns the stack, so a function may leave the rest where it is.
 */
#define VALUE_STATUS STATUS_NOT_SUPPORTED
#define VALUE_NOTHING
#define X(slot, kind)                                                                              \
    static RETURNS_##kind NTAPI unsupported_##slot(PVOID first)                                    \
    {                                                                                              \
        tell_unsupported(first, "DxgkCb" #slot);                                                   \
        return VALUE_##kind;                                                                       \
    }
UNSUPPORTED_LIST(X)
#undef X

/* A slot has the type of its callback: C11 has no word for the type of a member. */
static void set_slot(void *slot, void (*function)(void))
{
    memcpy(slot, &function, sizeof function);
}

static void fill_interface(struct raw *raw, const struct version *version)
{
    DXGKRNL_INTERFACE *kernel = &raw->kernel;

#define X(slot, kind) set_slot(&kernel->DxgkCb##slot, (void (*)(void))unsupported_##slot);
    UNSUPPORTED_LIST(X)
#undef X
#define X(slot, member, argument, place, returns) kernel->DxgkCb##slot = memory_##member;
    MINIPORT_MEMORY_LIST(X)
#undef X
    kernel->Size = (ULONG)version->interface_size;
    kernel->Version = raw->table.Version;
    kernel->DeviceHandle = raw->handle;
    kernel->DxgkCbGetDeviceInformation = get_device_information;
    kernel->DxgkCbMapMemory = map_memory;
    kernel->DxgkCbQueueDpc = queue_dpc;
    kernel->DxgkCbSynchronizeExecution = synchronize_execution;
    kernel->DxgkCbUnmapMemory = unmap_memory;
    kernel->DxgkCbReadDeviceSpace = read_device_space;
    kernel->DxgkCbWriteDeviceSpace = write_device_space;
    kernel->DxgkCbGetHandleData = get_handle_data;
    kernel->DxgkCbGetHandleParent = get_handle_parent;
    kernel->DxgkCbEnumHandleChildren = enum_handle_children;
    kernel->DxgkCbNotifyInterrupt = notify_interrupt;
    kernel->DxgkCbNotifyDpc = notify_dpc;
    kernel->DxgkCbLogEtwEvent = log_etw_event;
    kernel->DxgkCbCreateContextAllocation = create_context_allocation;
    kernel->DxgkCbDestroyContextAllocation = destroy_context_allocation;
    kernel->DxgkCbMapContextAllocation = map_context_allocation;
    kernel->DxgkCbIsFeatureEnabled = is_feature_enabled;
    kernel->DxgkCbUpdateContextAllocation = update_context_allocation;
    kernel->DxgkCbReserveGpuVirtualAddressRange = reserve_gpu_virtual_address_range;
    kernel->DxgkCbAcquireHandleData = acquire_handle_data;
    kernel->DxgkCbReleaseHandleData = release_handle_data;
    kernel->DxgkCbIsFeatureEnabled = is_feature_enabled;
    kernel->DxgkCbQueryFeatureSupport = query_feature_support;
    kernel->DxgkCbInvalidateHwContext = invalidate_hw_context;
    kernel->DxgkCbQueryVidPnInterface = query_vidpn_interface;
    kernel->DxgkCbQueryMonitorInterface = query_monitor_interface;
    kernel->DxgkCbIndicateChildStatus = indicate_child_status;
    kernel->DxgkCbSetPowerComponentActive = set_component_active;
    kernel->DxgkCbSetPowerComponentIdle = set_component_idle;
    kernel->DxgkCbSetPowerComponentLatency = set_component_latency;
    kernel->DxgkCbSetPowerComponentResidency = set_component_residency;
    kernel->DxgkCbCompleteFStateTransition = complete_f_state_transition;
    kernel->DxgkCbPowerRuntimeControlRequest = power_control;
    kernel->DxgkCbAcquirePostDisplayOwnership = acquire_post_display;
    kernel->DxgkCbAcquirePostDisplayOwnership2 = acquire_post_display2;
}

/* ---- Down ---- */

static struct raw *raw_of(struct miniport *m)
{
    return container_of(m, struct raw, miniport);
}

void miniport_raw_set_witness(struct miniport *m,
                              void (*overwritten)(void *context, enum miniport_ddi ddi,
                                                  size_t offset),
                              void *context)
{
    struct raw *raw = raw_of(m);

    raw->overwritten = overwritten;
    raw->witness = context;
}

void miniport_raw_unload(struct miniport *m)
{
    struct raw *raw = raw_of(m);

    if (!raw->table.DxgkDdiUnload || raw->is_added)
        return;
    is_unloading = true;
    raw->table.DxgkDdiUnload();
    is_unloading = false;
}

/* Around every call into the driver. leave() takes what enter() gave. */
static struct running enter(struct raw *raw, enum miniport_ddi ddi)
{
    struct running outer = running;

    running = (struct running){raw, ddi};
    return outer;
}

static void leave(struct running outer)
{
    running = outer;
}

static NTSTATUS absent_or_early(const struct raw *raw)
{
    return raw->is_added ? STATUS_NOT_IMPLEMENTED : STATUS_DEVICE_NOT_READY;
}

/* The status of a call; of the one function whose type is void, success. */
#define STATUS_OF(function, call)                                                                  \
    _Generic((function), PDXGKDDI_SETROOTPAGETABLE : ((call), STATUS_SUCCESS), default : (call))

/* DXGKDDI_WDDMv1_3 is 0x1300. */
static ULONG version_of_wddm(DXGK_WDDMVERSION wddm)
{
    unsigned level = ((unsigned)wddm >> 12) * 10 + ((unsigned)wddm >> 8 & 0xf);

    for (size_t i = 0; i < ARRAY_COUNT(versions); i++) {
        if (versions[i].wddm == level)
            return versions[i].version;
    }
    return 0;
}

/* The answer to DRIVERCAPS tells the driver's version. */
static void note_answer(struct raw *raw, enum miniport_ddi ddi, const void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;
    const DXGK_DRIVERCAPS *caps;

    if (ddi != MINIPORT_DDI_QueryAdapterInfo || query->Type != DXGKQAITYPE_DRIVERCAPS)
        return;
    caps = query->pOutputData;
    if (query->OutputDataSize >= offsetof(DXGK_DRIVERCAPS, WDDMVersion) + sizeof caps->WDDMVersion)
        raw->told_version = version_of_wddm(caps->WDDMVersion);
}

static void settle(const struct raw *raw, enum miniport_ddi ddi, const void *arg,
                   const void *before, size_t bytes, bool is_const)
{
    int64_t offset = loans_restore(ddi, (void *)(uintptr_t)arg, before, bytes, is_const);

    if (offset >= 0 && raw->overwritten)
        raw->overwritten(raw->witness, ddi, (size_t)offset);
}

/* The arguments in front of the structure differ. */
#define SLOT(ddi)         raw->table.DxgkDdi##ddi
#define DISPLAY_SLOT(ddi) raw->present_display_only
#define CALL_WITH(arguments, function, ddi, argument)                                              \
    CALL_AT(SLOT(ddi), arguments, function, ddi, argument)
#define CALL_AT(slot, arguments, function, ddi, argument)                                          \
    static NTSTATUS raw_##function(struct miniport *m, HANDLE object, argument arg)                \
    {                                                                                              \
        struct raw *raw = raw_of(m);                                                               \
        _Alignas(max_align_t) char before[sizeof *arg];                                            \
        struct running outer;                                                                      \
        NTSTATUS status;                                                                           \
                                                                                                   \
        if (!raw->is_added || !(slot))                                                             \
            return absent_or_early(raw);                                                           \
        if (!object)                                                                               \
            object = raw->device_context;                                                          \
        outer = enter(raw, MINIPORT_DDI_##ddi);                                                    \
        memcpy(before, arg, sizeof before);                                                        \
        status = STATUS_OF(slot, slot arguments);                                                  \
        settle(raw, MINIPORT_DDI_##ddi, arg, before, sizeof before, LOANS_IS_CONST(arg));          \
        leave(outer);                                                                              \
        if (NT_SUCCESS(status))                                                                    \
            note_answer(raw, MINIPORT_DDI_##ddi, arg);                                             \
        return status;                                                                             \
    }
#define X(function, ddi, argument) CALL_WITH((object, arg), function, ddi, argument)
MINIPORT_HANDLE_LIST(X)
MINIPORT_DISPLAY_LIST(X)
#undef X
#define X(function, ddi, argument)                                                                 \
    CALL_AT(DISPLAY_SLOT(ddi), (object, arg), function, ddi, argument)
MINIPORT_DISPLAY_ONLY_LIST(X)
#undef X
#define X(function, ddi, argument) CALL_WITH((arg), function, ddi, argument)
MINIPORT_ARGUMENT_LIST(X)
#undef X
#define VALUES_SetPowerComponentFState    object, arg->ComponentIndex, arg->FState
#define VALUES_PowerRuntimeControlRequest object, arg->PowerControlCode, NULL, 0, NULL, 0, NULL
#define VALUES_ControlInterrupt           object, arg->InterruptType, arg->EnableInterrupt
#define VALUES_ControlInterrupt2          object, *arg
#define VALUES_GetNodeMetadata            object, arg->NodeOrdinalAndAdapterIndex, &arg->metadata
#define VALUES_CalibrateGpuClock          object, arg->NodeOrdinal, arg->EngineOrdinal, &arg->calibration
#define VALUES_QueryChildRelations        object, arg->ChildRelations, arg->ChildRelationsSize
#define VALUES_QueryChildStatus           object, arg->ChildStatus, arg->NonDestructiveOnly
#define VALUES_QueryDeviceDescriptor      object, arg->ChildUid, arg->DeviceDescriptor

#define VALUES_StopDeviceAndReleasePostDisplayOwnership object, arg->TargetId, arg->DisplayInfo

#define X(function, ddi, argument) CALL_WITH((VALUES_##ddi), function, ddi, argument)
MINIPORT_VALUE_LIST(X)
MINIPORT_DISPLAY_VALUE_LIST(X)
#undef X

/* The slots of the plain DDIs take one handle, but DestroyProcess takes the adapter's before it. */
#define ARGUMENTS_DestroyProcess     raw->device_context, object
#define ARGUMENTS_DestroyDevice      object
#define ARGUMENTS_DestroyContext     object
#define ARGUMENTS_DestroyHwQueue     object
#define ARGUMENTS_ResetFromTimeout   object
#define ARGUMENTS_RestartFromTimeout object

#define X(function, ddi)                                                                           \
    static NTSTATUS raw_##function(struct miniport *m, HANDLE object)                              \
    {                                                                                              \
        struct raw *raw = raw_of(m);                                                               \
        struct running outer;                                                                      \
        NTSTATUS status;                                                                           \
                                                                                                   \
        if (!raw->is_added || !raw->table.DxgkDdi##ddi)                                            \
            return absent_or_early(raw);                                                           \
        if (!object)                                                                               \
            object = raw->device_context;                                                          \
        outer = enter(raw, MINIPORT_DDI_##ddi);                                                    \
        status = raw->table.DxgkDdi##ddi(ARGUMENTS_##ddi);                                         \
        leave(outer);                                                                              \
        return status;                                                                             \
    }
MINIPORT_PLAIN_LIST(X)
#undef X

static SIZE_T raw_get_root_page_table_size(struct miniport *m, DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    SIZE_T size;

    if (!raw->is_added || !raw->table.DxgkDdiGetRootPageTableSize)
        return 0;
    outer = enter(raw, MINIPORT_DDI_GetRootPageTableSize);
    size = raw->table.DxgkDdiGetRootPageTableSize(raw->device_context, arg);
    leave(outer);
    return size;
}

/*
 * The table has the shape of the headers that the driver was built with; DRIVERCAPS may say that it
 * is a driver of less than that.
 */
static ULONG raw_interface_version(struct miniport *m)
{
    const struct raw *raw = raw_of(m);

    return raw->told_version && raw->told_version < raw->table.Version ? raw->told_version
                                                                       : raw->table.Version;
}

static void raw_set_host(struct miniport *m, struct miniport_host *host)
{
    raw_of(m)->host = host;
}

static bool raw_has(struct miniport *m, enum miniport_ddi ddi)
{
    const DRIVER_INITIALIZATION_DATA *table = &raw_of(m)->table;

    switch (ddi) {
#define CASE(ddi)                                                                                  \
    case MINIPORT_DDI_##ddi:                                                                       \
        return table->DxgkDdi##ddi != NULL;
#define X(function, ddi, argument) CASE(ddi)
        MINIPORT_SLOT_LIST(X)
#undef X
#define X(function, ddi) CASE(ddi)
        MINIPORT_PLAIN_LIST(X)
#undef X
        CASE(GetRootPageTableSize)
        CASE(AddDevice)
        CASE(StartDevice)
        CASE(StopDevice)
        CASE(RemoveDevice)
        CASE(SetPowerState)
        CASE(InterruptRoutine)
        CASE(DpcRoutine)
        CASE(NotifySurpriseRemoval)
#undef CASE
    case MINIPORT_DDI_PresentDisplayOnly:
        return raw_of(m)->present_display_only != NULL;
    case MINIPORT_DDI_COUNT:
        break;
    }
    return false;
}

static NTSTATUS raw_add_device(struct miniport *m)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    PVOID device_context = NULL;
    NTSTATUS status;

    if (raw->is_added)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!raw->table.DxgkDdiAddDevice)
        return STATUS_NOT_IMPLEMENTED;
    outer = enter(raw, MINIPORT_DDI_AddDevice);
    status = raw->table.DxgkDdiAddDevice(raw->device_object, &device_context);
    leave(outer);
    if (!NT_SUCCESS(status))
        return status;
    raw->device_context = device_context;
    raw->is_added = true;
    return status;
}

static NTSTATUS raw_start_device(struct miniport *m, const DXGK_START_INFO *start,
                                 ULONG *video_present_sources, ULONG *children)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    NTSTATUS status;

    if (!raw->is_added || !raw->table.DxgkDdiStartDevice) {
        *video_present_sources = 0;
        *children = 0;
        return absent_or_early(raw);
    }
    outer = enter(raw, MINIPORT_DDI_StartDevice);
    status = raw->table.DxgkDdiStartDevice(raw->device_context, (DXGK_START_INFO *)(uintptr_t)start,
                                           &raw->kernel, video_present_sources, children);
    leave(outer);
    return status;
}

static NTSTATUS raw_stop_device(struct miniport *m)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    NTSTATUS status;

    if (!raw->is_added || !raw->table.DxgkDdiStopDevice)
        return absent_or_early(raw);
    outer = enter(raw, MINIPORT_DDI_StopDevice);
    status = raw->table.DxgkDdiStopDevice(raw->device_context);
    leave(outer);
    return status;
}

static NTSTATUS raw_remove_device(struct miniport *m)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    NTSTATUS status;

    if (!raw->is_added || !raw->table.DxgkDdiRemoveDevice)
        return absent_or_early(raw);
    outer = enter(raw, MINIPORT_DDI_RemoveDevice);
    status = raw->table.DxgkDdiRemoveDevice(raw->device_context);
    leave(outer);
    if (NT_SUCCESS(status)) {
        raw->device_context = NULL;
        raw->is_added = false;
        raw->told_version = 0;
    }
    return status;
}

static NTSTATUS raw_set_power_state(struct miniport *m, ULONG device_uid, DEVICE_POWER_STATE state,
                                    POWER_ACTION action)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    NTSTATUS status;

    if (!raw->is_added || !raw->table.DxgkDdiSetPowerState)
        return absent_or_early(raw);
    outer = enter(raw, MINIPORT_DDI_SetPowerState);
    status = raw->table.DxgkDdiSetPowerState(raw->device_context, device_uid, state, action);
    leave(outer);
    return status;
}

static NTSTATUS raw_notify_surprise_removal(struct miniport *m, DXGK_SURPRISE_REMOVAL_TYPE type)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    NTSTATUS status;

    if (!raw->is_added || !raw->table.DxgkDdiNotifySurpriseRemoval)
        return absent_or_early(raw);
    outer = enter(raw, MINIPORT_DDI_NotifySurpriseRemoval);
    status = raw->table.DxgkDdiNotifySurpriseRemoval(raw->device_context, type);
    leave(outer);
    return status;
}

static bool raw_interrupt(struct miniport *m, ULONG message)
{
    struct raw *raw = raw_of(m);
    struct running outer;
    bool is_ours;

    if (!raw->is_added || !raw->table.DxgkDdiInterruptRoutine)
        return false;
    outer = enter(raw, MINIPORT_DDI_InterruptRoutine);
    is_ours = raw->table.DxgkDdiInterruptRoutine(raw->device_context, message) != FALSE;
    leave(outer);
    return is_ours;
}

static void raw_dpc(struct miniport *m)
{
    struct raw *raw = raw_of(m);
    struct running outer;

    if (!raw->is_added || !raw->table.DxgkDdiDpcRoutine)
        return;
    outer = enter(raw, MINIPORT_DDI_DpcRoutine);
    raw->table.DxgkDdiDpcRoutine(raw->device_context);
    leave(outer);
}

static void raw_destroy(struct miniport *m)
{
    struct raw *raw = raw_of(m);

    ASSERT(running.raw != raw);
    list_remove(&raw->link);
    base_free(raw->services, raw, sizeof *raw);
}

static const struct miniport_ops raw_ops = {.name = "raw",
                                            .destroy = raw_destroy,
                                            .interface_version = raw_interface_version,
                                            .set_host = raw_set_host,
                                            .has = raw_has,
                                            .add_device = raw_add_device,
                                            .start_device = raw_start_device,
                                            .stop_device = raw_stop_device,
                                            .remove_device = raw_remove_device,
                                            .set_power_state = raw_set_power_state,
                                            .notify_surprise_removal = raw_notify_surprise_removal,
                                            .interrupt = raw_interrupt,
                                            .dpc = raw_dpc,
                                            .get_root_page_table_size =
                                                raw_get_root_page_table_size,
#define X(function, ddi, argument) .function = raw_##function,
                                            MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = raw_##function,
                                                MINIPORT_PLAIN_LIST(X)
#undef X
};

/* Of the upper half of all addresses, which no process has: a driver that looks there crashes. */
static HANDLE new_handle(void)
{
    return (HANDLE)((UINTPTR_MAX << (sizeof(uintptr_t) * 6 - 1)) + (++handles_given << 12));
}

NTSTATUS miniport_raw_create(const struct base_services *services,
                             const DRIVER_INITIALIZATION_DATA *data, struct miniport **out_raw)
{
    const struct version *version = find_version(data->Version);
    struct raw *raw;

    *out_raw = NULL;
    if (!version)
        return STATUS_REVISION_MISMATCH;
    raw = base_alloc(services, sizeof *raw);
    if (!raw)
        return STATUS_NO_MEMORY;

    raw->miniport.ops = &raw_ops;
    raw->services = services;
    raw->handle = new_handle();
    memcpy(&raw->table, data, version->table_size);
    fill_interface(raw, version);
    list_push_back(&adapters, &raw->link);
    *out_raw = &raw->miniport;
    return STATUS_SUCCESS;
}

void miniport_raw_set_device_object(struct miniport *raw, PDEVICE_OBJECT device_object)
{
    raw_of(raw)->device_object = device_object;
}

void miniport_raw_set_display_only(struct miniport *raw, PDXGKDDI_PRESENTDISPLAYONLY present)
{
    raw_of(raw)->present_display_only = present;
}

void miniport_raw_ask_anew(struct miniport *raw)
{
    raw_of(raw)->told_version = 0;
}
