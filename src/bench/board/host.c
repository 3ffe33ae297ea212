#include "bench/board/host.h"
#include "check/report/decode.h"

#include "display/display.h"
#include "miniport/raw.h"
#include "nt/memory/device_memory.h"
#include "nt/memory/save_area.h"

#include <stdio.h>
#include <string.h>

#define DPC_DELAY_MIN_NS 100u
#define DPC_DELAY_MAX_NS 600u
#define UNMASK_DELAY_NS  100u
#define DPC_RNG_STREAM   0x647063u /* "dpc" */

/* ---- Loading --------------------------------------------------------------------------------- */

/* Where DxgkInitialize() puts the table of the driver that is being loaded. */
struct loading {
    DRIVER_INITIALIZATION_DATA *registered;
    bool has_registered;
};

/* Those that both tables have. */
/* clang-format off */
#define HOST_DISPLAY_ONLY_SLOTS(X)                                                                 \
    X(AddDevice) X(StartDevice) X(StopDevice) X(RemoveDevice) X(DispatchIoRequest)                 \
    X(InterruptRoutine) X(DpcRoutine) X(QueryChildRelations) X(QueryChildStatus)                   \
    X(QueryDeviceDescriptor) X(SetPowerState) X(NotifyAcpiEvent) X(ResetDevice) X(Unload)          \
    X(QueryInterface) X(ControlEtwLogging) X(QueryAdapterInfo) X(SetPalette) X(SetPointerPosition) \
    X(SetPointerShape) X(Escape) X(CollectDbgInfo) X(IsSupportedVidPn) X(RecommendFunctionalVidPn) \
    X(EnumVidPnCofuncModality) X(SetVidPnSourceVisibility) X(CommitVidPn)                          \
    X(UpdateActiveVidPnPresentPath) X(RecommendMonitorModes) X(GetScanLine)                        \
    X(QueryVidPnHWCapability) X(StopDeviceAndReleasePostDisplayOwnership) X(SystemDisplayEnable)   \
    X(SystemDisplayWrite) X(GetChildContainerId) X(ControlInterrupt) X(SetPowerComponentFState)    \
    X(PowerRuntimeControlRequest) X(NotifySurpriseRemoval)
/* clang-format on */

NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData)
{
    struct nt *nt = nt_current_or_none();
    struct loading *loading = nt ? nt_loading(nt) : NULL;
    size_t size;

    if (!DriverObject || !RegistryPath || !DriverInitializationData || !loading ||
        DriverObject != nt_driver_object(nt))
        return STATUS_INVALID_PARAMETER;
    size = miniport_raw_table_size(DriverInitializationData->Version);
    if (!size) {
        loading->registered->Version = DriverInitializationData->Version; /* for a message */
        return STATUS_REVISION_MISMATCH;
    }
    memcpy(loading->registered, DriverInitializationData, size); /* older ones are shorter */
    loading->has_registered = true;
    nt_take_driver_over(nt);
    return STATUS_SUCCESS;
}

/*
 * The slots of a display-only driver's table have the names of a full driver's, but for one. They
 * stand in its order, and the newest is that of WDDM 2.0.
 */
NTSTATUS NTAPI DxgkInitializeDisplayOnlyDriver(PDRIVER_OBJECT DriverObject,
                                               PUNICODE_STRING RegistryPath,
                                               PKMDDOD_INITIALIZATION_DATA KmdDodInitializationData)
{
    const KMDDOD_INITIALIZATION_DATA *from = KmdDodInitializationData;
    DRIVER_INITIALIZATION_DATA table = {0};
    NTSTATUS status;

    if (!from)
        return STATUS_INVALID_PARAMETER;
    table.Version = from->Version;
#define SLOT(name) table.DxgkDdi##name = from->DxgkDdi##name;
    HOST_DISPLAY_ONLY_SLOTS(SLOT)
    if (from->Version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0) {
        SLOT(PowerRuntimeSetDeviceHandle)
    }
#undef SLOT
    status = DxgkInitialize(DriverObject, RegistryPath, &table);
    if (NT_SUCCESS(status))
        nt_set_display_only(nt_current_or_none(), (const void *)from->DxgkDdiPresentDisplayOnly);
    return status;
}

/* In DriverEntry it undoes DxgkInitialize(); where the driver is unloaded, that goes on. */
NTSTATUS NTAPI DxgkUnInitialize(PDRIVER_OBJECT DriverObject)
{
    struct nt *nt = nt_current_or_none();
    struct loading *loading = nt ? nt_loading(nt) : NULL;

    if (!nt || !DriverObject || DriverObject != nt_driver_object(nt))
        return STATUS_INVALID_PARAMETER;
    if (loading) {
        loading->has_registered = false;
        nt_give_driver_back(nt);
    } else {
        nt_finish_unload(nt);
    }
    return STATUS_SUCCESS;
}

NTSTATUS host_load_driver(struct nt *nt, DRIVER_INITIALIZE *entry,
                          DRIVER_INITIALIZATION_DATA *out_data)
{
    static const char key[] = "\\Registry\\Machine\\System\\CurrentControlSet\\Services\\drydock";
    static WCHAR path[sizeof key];
    UNICODE_STRING registry_path = {
        .Length = sizeof path - sizeof path[0],
        .MaximumLength = sizeof path,
        .Buffer = path,
    };
    struct loading loading = {.registered = out_data};
    NTSTATUS status;

    for (size_t i = 0; i < sizeof key; i++)
        path[i] = (WCHAR)key[i];
    memset(out_data, 0, sizeof *out_data);
    nt_set_loading(nt, &loading);
    status = entry(nt_make_driver_object(nt, (const void *)entry), &registry_path);
    nt_set_loading(nt, NULL);
    if (NT_SUCCESS(status) && !loading.has_registered)
        return HOST_STATUS_NOT_REGISTERED;
    return status;
}

const char *host_tell_refusal(NTSTATUS status, const DRIVER_INITIALIZATION_DATA *data, char *text,
                              size_t size)
{
    if (status == STATUS_REVISION_MISMATCH && data->Version)
        snprintf(text, size,
                 "DRIVER_INITIALIZATION_DATA.Version is 0x%x, which is no "
                 "DXGKDDI_INTERFACE_VERSION",
                 (unsigned)data->Version);
    else if (status == HOST_STATUS_NOT_REGISTERED)
        snprintf(text, size, "it returned success and did not call DxgkInitialize");
    else
        snprintf(text, size, "it returned the status %s", decode_status(status).text);
    return text;
}

/* ---- What the driver calls ------------------------------------------------------------------- */

struct mapped_memory {
    struct list link;
    void *address;
    uint64_t bytes;
};

static struct bench_host *host_from(struct miniport_host *host)
{
    return container_of(host, struct bench_host, base);
}

/* A memory range as the kernel describes it: from 4 GiB on in larger units. */
static void describe_range(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor, uint64_t start,
                           uint64_t bytes)
{
    descriptor->Type = CmResourceTypeMemory;
    descriptor->u.Memory.Start.QuadPart = (LONGLONG)start;
    if (bytes < 4 * GiB) {
        descriptor->u.Memory.Length = (ULONG)bytes;
        return;
    }
    descriptor->Type = CmResourceTypeMemoryLarge;
    if (bytes < 1 * TiB) {
        descriptor->Flags |= CM_RESOURCE_MEMORY_LARGE_40;
        descriptor->u.Memory40.Length40 = (ULONG)div_round_up(bytes, 256);
    } else {
        descriptor->Flags |= CM_RESOURCE_MEMORY_LARGE_48;
        descriptor->u.Memory48.Length48 = (ULONG)div_round_up(bytes, 64 * KiB);
    }
}

static void describe_message(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor, uint32_t message)
{
    descriptor->Type = CmResourceTypeInterrupt;
    descriptor->ShareDisposition = CmResourceShareDeviceExclusive;
    descriptor->Flags = CM_RESOURCE_INTERRUPT_LATCHED | CM_RESOURCE_INTERRUPT_MESSAGE;
    descriptor->u.MessageInterrupt.Translated.Level = NT_DEVICE_IRQL;
    descriptor->u.MessageInterrupt.Translated.Vector = NT_FIRST_VECTOR + message;
    descriptor->u.MessageInterrupt.Translated.Affinity = 1;
}

static void describe_line(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor)
{
    descriptor->Type = CmResourceTypeInterrupt;
    descriptor->ShareDisposition = CmResourceShareShared;
    descriptor->Flags = CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE;
    descriptor->u.Interrupt.Level = NT_DEVICE_IRQL;
    descriptor->u.Interrupt.Vector = NT_FIRST_VECTOR;
    descriptor->u.Interrupt.Affinity = 1;
}

static uint32_t count_ranges(const struct machine_pci_bar *ranges, uint32_t most)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < most; i++)
        count += ranges[i].bytes != 0;
    return count;
}

/* The descriptor behind the last one. */
static CM_PARTIAL_RESOURCE_DESCRIPTOR *describe_ranges(CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor,
                                                       const struct machine_pci_bar *ranges,
                                                       uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        if (ranges[i].bytes)
            describe_range(descriptor++, ranges[i].pa, ranges[i].bytes);
    }
    return descriptor;
}

/* Memory in the order of the base addresses, what else there is of it, then interrupts. */
static NTSTATUS describe_resources(struct bench_host *host)
{
    const struct machine_pci *pci = machine_pci(host->machine);
    CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor;
    CM_PARTIAL_RESOURCE_LIST *list;
    const uint32_t count = count_ranges(pci->bars, MACHINE_PCI_BARS) +
                           count_ranges(pci->others, MACHINE_PCI_OTHERS) +
                           (pci->message_count ? pci->message_count : 1);

    host->resource_bytes =
        sizeof *host->resources + (count - 1) * sizeof(CM_PARTIAL_RESOURCE_DESCRIPTOR);
    host->resources = base_alloc(machine_services(host->machine), host->resource_bytes);
    if (!host->resources)
        return STATUS_NO_MEMORY;
    host->resources->Count = 1;
    host->resources->List[0].InterfaceType = PCIBus;
    list = &host->resources->List[0].PartialResourceList;
    list->Version = 1;
    list->Revision = 1;
    list->Count = count;
    descriptor = list->PartialDescriptors;
    descriptor = describe_ranges(descriptor, pci->bars, MACHINE_PCI_BARS);
    descriptor = describe_ranges(descriptor, pci->others, MACHINE_PCI_OTHERS);
    if (!pci->message_count)
        describe_line(descriptor);
    for (uint32_t i = 0; i < pci->message_count; i++)
        describe_message(descriptor++, i);
    return STATUS_SUCCESS;
}

static NTSTATUS get_device_information(struct miniport_host *base, DXGK_DEVICE_INFO *info)
{
    struct bench_host *host = host_from(base);
    const struct machine_config *config = machine_get_config(host->machine);

    *info = (DXGK_DEVICE_INFO){0};
    info->PhysicalDeviceObject = nt_physical_device(host->nt);
    info->DeviceRegistryPath = nt_device_registry_path();
    info->TranslatedResourceList = host->resources;
    info->SystemMemorySize.QuadPart = (LONGLONG)config->ram_bytes;
    info->HighestPhysicalAddress.QuadPart =
        (LONGLONG)max_u64(config->ram_bytes,
                          machine_bar1_pa(host->machine) + machine_bar1_bytes(host->machine)) -
        1;
    return STATUS_SUCCESS;
}

static NTSTATUS map_memory(struct miniport_host *base, PHYSICAL_ADDRESS translated, ULONG length,
                           BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                           PVOID *virtual_address)
{
    struct bench_host *host = host_from(base);
    const struct base_services *services = machine_services(host->machine);
    struct mapped_memory *mapped;

    *virtual_address = NULL;
    if (in_io_space || map_to_user_mode)
        return STATUS_NOT_SUPPORTED;
    mapped = base_alloc(services, sizeof *mapped);
    if (!mapped)
        return STATUS_NO_MEMORY;
    mapped->bytes = length;
    mapped->address =
        machine_map_physical(host->machine, (uint64_t)translated.QuadPart, mapped->bytes);
    if (!mapped->address) {
        base_free(services, mapped, sizeof *mapped);
        return STATUS_INVALID_PARAMETER;
    }
    list_push_back(&host->mappings, &mapped->link);
    *virtual_address = mapped->address;
    return STATUS_SUCCESS;
}

static void end_mapping(struct bench_host *host, struct mapped_memory *mapped)
{
    machine_unmap_physical(host->machine, mapped->address, mapped->bytes);
    list_remove(&mapped->link);
    base_free(machine_services(host->machine), mapped, sizeof *mapped);
}

static NTSTATUS unmap_memory(struct miniport_host *base, PVOID virtual_address)
{
    struct bench_host *host = host_from(base);
    struct mapped_memory *mapped;

    list_for_each (mapped, &host->mappings, struct mapped_memory, link) {
        if (mapped->address == virtual_address) {
            end_mapping(host, mapped);
            return STATUS_SUCCESS;
        }
    }
    return STATUS_INVALID_PARAMETER;
}

/*
 * Configuration space is all that there is: no expansion ROM, no bridge and no memory controller of
 * a peer.
 */
static NTSTATUS is_configuration(const struct miniport_space *space)
{
    if (space->type == DXGK_WHICHSPACE_ROM || space->type == DXGK_WHICHSPACE_MCH ||
        space->type == DXGK_WHICHSPACE_BRIDGE)
        return STATUS_UNSUCCESSFUL;
    if (space->type != DXGK_WHICHSPACE_CONFIG)
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}

static NTSTATUS read_device_space(struct miniport_host *base, struct miniport_space *space)
{
    struct bench_host *host = host_from(base);
    NTSTATUS status = is_configuration(space);

    if (!NT_SUCCESS(status))
        return status;
    space->done = machine_pci_read(host->machine, space->offset, space->buffer, space->length);
    return space->done || !space->length ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}

static NTSTATUS write_device_space(struct miniport_host *base, struct miniport_space *space)
{
    struct bench_host *host = host_from(base);
    NTSTATUS status = is_configuration(space);

    if (!NT_SUCCESS(status))
        return status;
    space->done = machine_pci_write(host->machine, space->offset, space->buffer, space->length);
    return space->done || !space->length ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}

static void notify_interrupt(struct miniport_host *base,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct bench_host *host = host_from(base);

    if (host->vidmm)
        vidmm_notify_interrupt(host->vidmm, data);
    else if (host->interrupted)
        host->interrupted(host->display_context, data);
}

static void tell_manager(void *context)
{
    struct bench_host *host = context;

    if (host->vidmm)
        vidmm_notify_dpc(host->vidmm);
    else if (host->dpc_notified)
        host->dpc_notified(host->display_context);
}

static void notify_dpc(struct miniport_host *base)
{
    struct bench_host *host = host_from(base);

    if (nt_is_amid_call(host->nt))
        nt_defer(host->nt, &host->late_notice, tell_manager, host);
    else
        tell_manager(host);
}

static void run_dpc(void *context)
{
    struct bench_host *host = context;
    const uint32_t locks = nt_held_lock_count(host->nt);
    KIRQL irql;

    if (nt_irql(host->nt) >= DISPATCH_LEVEL) {
        machine_schedule(host->machine, &host->dpc, machine_now(host->machine) + DPC_DELAY_MIN_NS,
                         run_dpc, host);
        return;
    }
    host->is_dpc_queued = false;
    host->dpc_count++;
    if (!host->miniport)
        return;
    irql = nt_set_irql(host->nt, DISPATCH_LEVEL);
    host->miniport->ops->dpc(host->miniport);
    nt_forget_locks(host->nt, locks);
    nt_set_irql(host->nt, irql);
}

static bool queue_dpc(struct miniport_host *base)
{
    struct bench_host *host = host_from(base);

    if (host->is_dpc_queued)
        return false;
    host->is_dpc_queued = true;
    machine_schedule(host->machine, &host->dpc,
                     machine_now(host->machine) +
                         rng_between(&host->rng, DPC_DELAY_MIN_NS, host->dpc_delay_ns),
                     run_dpc, host);
    return true;
}

/* One processor runs everything, so nothing else runs at device IRQL while the routine does. */
static NTSTATUS synchronize_execution(struct miniport_host *base, PKSYNCHRONIZE_ROUTINE routine,
                                      PVOID context, ULONG message, BOOLEAN *return_value)
{
    struct bench_host *host = host_from(base);
    BOOLEAN result;
    KIRQL irql;

    if (message >= max_u64(machine_pci(host->machine)->message_count, 1) || !routine)
        return STATUS_INVALID_PARAMETER;
    irql = nt_set_irql(host->nt, NT_DEVICE_IRQL);
    result = routine(context);
    nt_set_irql(host->nt, irql);
    if (return_value)
        *return_value = result;
    return STATUS_SUCCESS;
}

static PVOID get_handle_data(struct miniport_host *base, const DXGKARGCB_GETHANDLEDATA *data)
{
    struct bench_host *host = host_from(base);

    if (!host->vidmm || data->Flags.DeviceSpecific)
        return NULL;
    return data->Type == DXGK_HANDLE_ALLOCATION ? vidmm_handle_data(host->vidmm, data->hObject)
           : data->Type == DXGK_HANDLE_RESOURCE ? vidmm_resource_data(host->vidmm, data->hObject)
                                                : NULL;
}

static D3DKMT_HANDLE get_handle_parent(struct miniport_host *base, D3DKMT_HANDLE allocation)
{
    struct bench_host *host = host_from(base);

    return host->vidmm ? vidmm_handle_parent(host->vidmm, allocation) : 0;
}

static D3DKMT_HANDLE enum_handle_children(struct miniport_host *base,
                                          const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    struct bench_host *host = host_from(base);

    return host->vidmm ? vidmm_handle_child(host->vidmm, children->hObject, children->Index) : 0;
}

static void note_unsupported(struct miniport_host *base, const char *callback)
{
    struct bench_host *host = host_from(base);

    for (unsigned i = 0; i < host->lacked_count; i++) {
        if (strcmp(host->lacked[i], callback) == 0)
            return;
    }
    if (host->lacked_count == HOST_MOST_LACKED)
        return;
    snprintf(host->lacked[host->lacked_count++], sizeof host->lacked[0], "%s", callback);
    if (host->lacks)
        host->lacks(host->lacks_context, callback);
}

static NTSTATUS is_feature_enabled(struct miniport_host *base, DXGKARGCB_ISFEATUREENABLED *feature)
{
    const struct bench_host *host = host_from(base);

    feature->Enabled = (unsigned)feature->FeatureId < DXGK_FEATURE_MAX &&
                       (host->features >> feature->FeatureId & 1);
    return STATUS_SUCCESS;
}

static NTSTATUS invalidate_hw_context(struct miniport_host *base,
                                      const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    struct bench_host *host = host_from(base);

    return host->vidmm ? vidmm_invalidate_hw_context(host->vidmm, context)
                       : STATUS_INVALID_PARAMETER;
}

static NTSTATUS reserve_range(struct miniport_host *base, HANDLE process,
                              DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    struct bench_host *host = host_from(base);
    NTSTATUS status =
        host->vidmm ? vidmm_reserve_gpu_va(host->vidmm, range) : STATUS_INVALID_PARAMETER;

    if (status == STATUS_NOT_SUPPORTED)
        note_unsupported(base, "DxgkCbReserveGpuVirtualAddressRange");
    return status;
}

static NTSTATUS create_context_allocation(struct miniport_host *base,
                                          DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    struct bench_host *host = host_from(base);

    return host->vidmm ? vidmm_context_allocation_create(host->vidmm, allocation)
                       : STATUS_INVALID_PARAMETER;
}

static NTSTATUS destroy_context_allocation(struct miniport_host *base, HANDLE allocation)
{
    struct bench_host *host = host_from(base);

    return host->vidmm ? vidmm_context_allocation_destroy(host->vidmm, allocation)
                       : STATUS_INVALID_PARAMETER;
}

static D3DGPU_VIRTUAL_ADDRESS map_context_allocation(struct miniport_host *base,
                                                     const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    struct bench_host *host = host_from(base);
    uint64_t address = 0;

    if (!host->vidmm || !NT_SUCCESS(vidmm_context_allocation_map(host->vidmm, map, &address)))
        return 0;
    return address;
}

struct update_wait {
    bool is_over;
    NTSTATUS status;
};

static void update_done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct update_wait *wait = context;

    wait->is_over = true;
    wait->status = status;
}

/* The thread that called the driver sleeps here while the machine runs on. */
static NTSTATUS update_context_allocation(struct miniport_host *base,
                                          const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    struct bench_host *host = host_from(base);
    struct update_wait wait = {0};
    NTSTATUS status;

    if (!host->vidmm)
        return STATUS_INVALID_PARAMETER;
    if (!vidmm_can_wait(host->vidmm) || nt_is_amid_call(host->nt)) {
        status = vidmm_context_allocation_update(host->vidmm, update, NULL, NULL);
        return status == STATUS_PENDING ? STATUS_SUCCESS : status;
    }
    status = vidmm_context_allocation_update(host->vidmm, update, update_done, &wait);
    if (status != STATUS_PENDING)
        return status;
    while (!wait.is_over) {
        if (!machine_run_next(host->machine)) {
            /* Nothing will come: the requests that are pending end, and this call with them. */
            vidmm_abort(host->vidmm, STATUS_UNSUCCESSFUL);
            break;
        }
    }
    return wait.is_over ? wait.status : STATUS_UNSUCCESSFUL;
}

/* Each member of the request has a function of its name. */
static NTSTATUS give_memory(struct miniport_host *base,
                            const struct miniport_memory_request *request)
{
    struct bench_host *host = host_from(base);

    switch (request->kind) {
#define X(slot, member, argument, place, returns)                                                  \
    case MINIPORT_MEMORY_##member:                                                                 \
        return nt_device_##member(host->nt, request->member);
        MINIPORT_MEMORY_LIST(X)
#undef X
    case MINIPORT_MEMORY_COUNT:
        break;
    }
    return STATUS_INVALID_PARAMETER;
}

static NTSTATUS acquire_post(struct bench_host *host,
                             const struct miniport_display_request *request)
{
    if (!request->post.out_info ||
        (request->kind == MINIPORT_ASK_AcquirePostDisplayOwnership2 && !request->post.out_flags))
        return STATUS_INVALID_PARAMETER;
    if (!host->post.Width)
        return STATUS_GRAPHICS_NOT_POST_DEVICE_DRIVER;
    *request->post.out_info = host->post;
    host->is_post_taken = true;
    if (request->post.out_flags)
        request->post.out_flags->FrameBufferState = host->post.TargetId == D3DDDI_ID_UNINITIALIZED
                                                        ? FrameBufferStateInitializedByFirmware
                                                        : FrameBufferStateInitializedByDriver;
    return STATUS_SUCCESS;
}

/* Without a display nothing here has an answer. */
static NTSTATUS answer_display(struct miniport_host *base,
                               const struct miniport_display_request *request)
{
    struct bench_host *host = host_from(base);

    if (!host->display) {
        note_unsupported(base, miniport_ask_name(request->kind));
        return STATUS_NOT_SUPPORTED;
    }
    switch (request->kind) {
    case MINIPORT_ASK_QueryVidPnInterface:
        return display_query_vidpn_interface(host->display, request->vidpn.network,
                                             request->vidpn.version, request->vidpn.out_interface);
    case MINIPORT_ASK_QueryMonitorInterface:
        return display_query_monitor_interface(host->display, request->adapter,
                                               request->monitor.version,
                                               request->monitor.out_interface);
    case MINIPORT_ASK_IndicateChildStatus:
        if (!request->child)
            return STATUS_INVALID_PARAMETER;
        if (host->child_changed)
            host->child_changed(host->display_context, request->child);
        return STATUS_SUCCESS;
    case MINIPORT_ASK_AcquirePostDisplayOwnership:
    case MINIPORT_ASK_AcquirePostDisplayOwnership2:
        return acquire_post(host, request);
    case MINIPORT_ASK_COUNT:
        break;
    }
    return STATUS_INVALID_PARAMETER;
}

static void wake_manager(void *context)
{
    struct bench_host *host = context;

    if (host->vidmm)
        vidmm_wake(host->vidmm);
}

void host_wake_manager(struct bench_host *host)
{
    if (nt_is_amid_call(host->nt))
        nt_defer(host->nt, &host->late_wake, wake_manager, host);
    else
        wake_manager(host);
}

/* The thread that asks for a component waits until it is on, while the machine runs on. */
static NTSTATUS hear_of_power(struct miniport_host *base,
                              const struct miniport_power_request *request)
{
    struct bench_host *host = host_from(base);
    NTSTATUS status;

    if (!host->vidmm)
        return STATUS_INVALID_PARAMETER;
    status = vidmm_power_request(host->vidmm, request);
    if (!NT_SUCCESS(status))
        return status;
    if (request->kind == MINIPORT_POWER_SetPowerComponentActive) {
        while (!vidmm_component_is_on(host->vidmm, request->ComponentIndex) &&
               machine_run_next(host->machine))
            continue;
    }
    host_wake_manager(host);
    return STATUS_SUCCESS;
}

static void write_log(struct miniport_host *base, const char *text)
{
    struct bench_host *host = host_from(base);

    if (host->log)
        host->log(host->log_context, text);
}

static const struct miniport_host_ops host_ops = {
    .get_device_information = get_device_information,
    .map_memory = map_memory,
    .unmap_memory = unmap_memory,
    .read_device_space = read_device_space,
    .write_device_space = write_device_space,
    .notify_interrupt = notify_interrupt,
    .notify_dpc = notify_dpc,
    .queue_dpc = queue_dpc,
    .synchronize_execution = synchronize_execution,
    .get_handle_data = get_handle_data,
    .get_handle_parent = get_handle_parent,
    .enum_handle_children = enum_handle_children,
    .reserve_gpu_virtual_address_range = reserve_range,
    .create_context_allocation = create_context_allocation,
    .destroy_context_allocation = destroy_context_allocation,
    .map_context_allocation = map_context_allocation,
    .update_context_allocation = update_context_allocation,
    .is_feature_enabled = is_feature_enabled,
    .invalidate_hw_context = invalidate_hw_context,
    .memory = give_memory,
    .display = answer_display,
    .power = hear_of_power,
    .log = write_log,
    .unsupported = note_unsupported,
};

/* ---- Life ------------------------------------------------------------------------------------ */

bool host_interrupt(struct bench_host *host, uint32_t message)
{
    const uint32_t locks = nt_held_lock_count(host->nt);
    KIRQL irql;

    if (!host->miniport)
        return true;
    if (nt_irql(host->nt) >= NT_DEVICE_IRQL)
        return false;
    irql = nt_set_irql(host->nt, NT_DEVICE_IRQL);
    if (!host->miniport->ops->interrupt(host->miniport, message))
        nt_interrupt(host->nt, message);
    nt_forget_locks(host->nt, locks);
    nt_set_irql(host->nt, irql);
    return true;
}

static void line_asserted(void *context);

static void unmask(void *context)
{
    struct bench_host *host = context;

    if (nt_irql(host->nt) >= NT_DEVICE_IRQL)
        machine_schedule(host->machine, &host->unmask, machine_now(host->machine) + UNMASK_DELAY_NS,
                         unmask, host);
    else if (host->miniport)
        machine_set_interrupt_handler(host->machine, line_asserted, host);
}

static void line_asserted(void *context)
{
    struct bench_host *host = context;

    if (host_interrupt(host, 0))
        return;
    machine_set_interrupt_handler(host->machine, NULL, NULL);
    unmask(host);
}

NTSTATUS host_init(struct bench_host *host, struct machine *machine, struct nt *nt)
{
    NTSTATUS status;

    *host = (struct bench_host){
        .base = {.ops = &host_ops}, .machine = machine, .nt = nt, .dpc_delay_ns = DPC_DELAY_MAX_NS};
    list_init(&host->mappings);
    status = describe_resources(host);
    if (!NT_SUCCESS(status))
        return status;
    machine_fork_rng(machine, DPC_RNG_STREAM, &host->rng);
    return STATUS_SUCCESS;
}

void host_fini(struct bench_host *host)
{
    struct mapped_memory *mapped, *following;

    machine_cancel(host->machine, &host->dpc);
    machine_cancel(host->machine, &host->unmask);
    nt_cancel_deferred(host->nt, &host->late_notice);
    nt_cancel_deferred(host->nt, &host->late_wake);
    machine_set_interrupt_handler(host->machine, NULL, NULL);
    list_for_each_safe (mapped, following, &host->mappings, struct mapped_memory, link)
        end_mapping(host, mapped);
    base_free(machine_services(host->machine), host->resources, host->resource_bytes);
    host->resources = NULL;
}

uint64_t host_mapping_count(const struct bench_host *host, uint64_t *out_bytes)
{
    const struct mapped_memory *mapped;
    uint64_t count = 0;

    *out_bytes = 0;
    list_for_each (mapped, &host->mappings, struct mapped_memory, link) {
        count++;
        *out_bytes += mapped->bytes;
    }
    return count;
}

void host_set_miniport(struct bench_host *host, struct miniport *miniport)
{
    host->miniport = miniport;
    machine_set_interrupt_handler(host->machine, miniport ? line_asserted : NULL, host);
    if (miniport)
        miniport_set_host(miniport, &host->base);
}

void host_set_manager(struct bench_host *host, struct vidmm *vidmm)
{
    host->vidmm = vidmm;
}
