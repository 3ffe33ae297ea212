/*
 * Raw: callbacks up through the host.
 *
 * A driver finds its way back by the DeviceHandle, an address of the kernel's half, where no driver
 * can read or write. It is never trusted: a handle counts only if it is a live adapter's. The
 * callbacks that carry no handle belong to the adapter whose driver is running, or else to the
 * first in the list.
 */
#include "miniport/raw_private.h"

#include <stdio.h>
#include <string.h>

/* ---- Adapters, memory, interrupts, handles ---- */

static struct raw *find_adapter(const void *handle)
{
    struct raw *raw;

    list_for_each (raw, &raw_adapters.list, struct raw, link) {
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

    if (raw_adapters.running.raw && raw_adapters.running.raw->host)
        found = ask(raw_adapters.running.raw->host, about);
    list_for_each (raw, &raw_adapters.list, struct raw, link) {
        if (found)
            break;
        if (raw != raw_adapters.running.raw && raw->host)
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
    return raw_adapters.running.raw || list_is_empty(&raw_adapters.list)
               ? raw_adapters.running.raw
               : list_first_entry(&raw_adapters.list, struct raw, link);
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

/* ---- Memory for the device ---- */

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

/* ---- Modes, monitors, children, the boot display ---- */

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

/* ---- Power components ---- */

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

/* ---- Features ---- */

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

/* ---- Hardware contexts ---- */

static NTSTATUS NTAPI invalidate_hw_context(const DXGKARGCB_INVALIDATEHWCONTEXT *arg)
{
    struct miniport_host *host = arg ? host_of(arg->hAdapter) : NULL;

    return host ? host->ops->invalidate_hw_context(host, arg) : STATUS_INVALID_PARAMETER;
}

/* ---- What nobody has implemented ---- */

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

void raw_fill_interface(struct raw *raw)
{
    DXGKRNL_INTERFACE *kernel = &raw->kernel;

#define X(slot, kind) set_slot(&kernel->DxgkCb##slot, (void (*)(void))unsupported_##slot);
    UNSUPPORTED_LIST(X)
#undef X
#define X(slot, member, argument, place, returns) kernel->DxgkCb##slot = memory_##member;
    MINIPORT_MEMORY_LIST(X)
#undef X
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
