/*
 * Raw: calls down through the driver's table. The callbacks up are in raw_callbacks.c.
 */
#include "miniport/raw_private.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "miniport/loans.h"

#include <stdio.h>
#include <string.h>

struct raw_adapters raw_adapters = {LIST_INITIALIZER(raw_adapters.list), {NULL, 0}};
static uintptr_t handles_given;

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
    raw_adapters.running.raw = NULL;
}

const char *miniport_raw_running(void)
{
    return is_unloading               ? "DxgkDdiUnload"
           : raw_adapters.running.raw ? miniport_ddi_name(raw_adapters.running.ddi)
                                      : NULL;
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
static struct raw_running enter(struct raw *raw, enum miniport_ddi ddi)
{
    struct raw_running outer = raw_adapters.running;

    raw_adapters.running = (struct raw_running){raw, ddi};
    return outer;
}

static void leave(struct raw_running outer)
{
    raw_adapters.running = outer;
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
        struct raw_running outer;                                                                  \
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
        struct raw_running outer;                                                                  \
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
    struct raw_running outer;
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
    struct raw_running outer;
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
    struct raw_running outer;
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
    struct raw_running outer;
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
    struct raw_running outer;
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
    struct raw_running outer;
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
    struct raw_running outer;
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
    struct raw_running outer;
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
    struct raw_running outer;

    if (!raw->is_added || !raw->table.DxgkDdiDpcRoutine)
        return;
    outer = enter(raw, MINIPORT_DDI_DpcRoutine);
    raw->table.DxgkDdiDpcRoutine(raw->device_context);
    leave(outer);
}

static void raw_destroy(struct miniport *m)
{
    struct raw *raw = raw_of(m);

    ASSERT(raw_adapters.running.raw != raw);
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
    raw_fill_interface(raw);
    raw->kernel.Size = (ULONG)version->interface_size;
    list_push_back(&raw_adapters.list, &raw->link);
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
