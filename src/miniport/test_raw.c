/* Fake driver: its functions, and the table that it registers. */
#include "miniport/test_raw.h"

/* ---- The fake driver ---- */

struct test_driver driver;

static NTSTATUS note(const char *function, const void *object, const void *argument)
{
    const DXGKARG_QUERYADAPTERINFO *query = argument;

    if (driver.wddm && !strcmp(function, "QueryAdapterInfo")) {
        ((DXGK_DRIVERCAPS *)query->pOutputData)->WDDMVersion = driver.wddm;
        return STATUS_SUCCESS;
    }
    driver.last = function;
    driver.object = object;
    driver.argument = argument;
    return STATUS_PENDING;
}

#define X(function, ddi, type)                                                                     \
    static NTSTATUS NTAPI fake_##ddi(HANDLE object, PVOID argument)                                \
    {                                                                                              \
        if (driver.when_called &&                                                                  \
            (MINIPORT_DDI_##ddi == MINIPORT_DDI_BuildPagingBuffer || driver.is_for_all))           \
            driver.when_called();                                                                  \
        return note(#ddi, object, argument);                                                       \
    }
MINIPORT_HANDLE_LIST(X)
MINIPORT_DISPLAY_LIST(X)
MINIPORT_DISPLAY_ONLY_LIST(X)
#undef X
#define X(function, ddi, type)                                                                     \
    static NTSTATUS NTAPI fake_##ddi(PVOID argument)                                               \
    {                                                                                              \
        return note(#ddi, NULL, argument);                                                         \
    }
MINIPORT_ARGUMENT_LIST(X)
#undef X

static NTSTATUS NTAPI fake_SetPowerComponentFState(const HANDLE object, UINT component, UINT state)
{
    driver.node = component;
    driver.number = state;
    return note("SetPowerComponentFState", object, NULL);
}

static NTSTATUS NTAPI fake_PowerRuntimeControlRequest(const HANDLE object, LPCGUID code, PVOID in,
                                                      SIZE_T in_bytes, PVOID out, SIZE_T out_bytes,
                                                      PSIZE_T returned)
{
    assert_true(!in && !in_bytes && !out && !out_bytes && !returned);
    return note("PowerRuntimeControlRequest", object, code);
}

static NTSTATUS NTAPI fake_ControlInterrupt(const HANDLE object, const DXGK_INTERRUPT_TYPE type,
                                            BOOLEAN is_on)
{
    driver.interrupt =
        (DXGKARG_CONTROLINTERRUPT2){.InterruptType = type, {.InterruptState = is_on}};
    return note("ControlInterrupt", object, &driver.interrupt);
}

static NTSTATUS NTAPI fake_ControlInterrupt2(const HANDLE object,
                                             const DXGKARG_CONTROLINTERRUPT2 control)
{
    driver.interrupt = control;
    return note("ControlInterrupt2", object, &driver.interrupt);
}

static NTSTATUS NTAPI fake_GetNodeMetadata(const HANDLE object, UINT node,
                                           DXGKARG_GETNODEMETADATA *metadata)
{
    driver.node = node;
    metadata->Flags.Value = 3;
    return note("GetNodeMetadata", object, metadata);
}

static NTSTATUS NTAPI fake_CalibrateGpuClock(const HANDLE object, UINT32 node, UINT32 engine,
                                             DXGKARG_CALIBRATEGPUCLOCK *calibration)
{
    driver.node = node;
    driver.number = engine;
    calibration->GpuFrequency = 7;
    return note("CalibrateGpuClock", object, calibration);
}

static NTSTATUS NTAPI fake_QueryChildRelations(const PVOID object, DXGK_CHILD_DESCRIPTOR *relations,
                                               ULONG bytes)
{
    driver.number = bytes;
    return note("QueryChildRelations", object, relations);
}

static NTSTATUS NTAPI fake_QueryChildStatus(const PVOID object, DXGK_CHILD_STATUS *status,
                                            BOOLEAN is_gentle)
{
    driver.number = is_gentle;
    return note("QueryChildStatus", object, status);
}

static NTSTATUS NTAPI fake_QueryDeviceDescriptor(const PVOID object, ULONG child,
                                                 DXGK_DEVICE_DESCRIPTOR *descriptor)
{
    driver.number = child;
    return note("QueryDeviceDescriptor", object, descriptor);
}

static NTSTATUS NTAPI fake_StopDeviceAndReleasePostDisplayOwnership(
    const PVOID object, D3DDDI_VIDEO_PRESENT_TARGET_ID target, DXGK_DISPLAY_INFORMATION *info)
{
    driver.number = target;
    return note("StopDeviceAndReleasePostDisplayOwnership", object, info);
}

static NTSTATUS NTAPI fake_DestroyProcess(const HANDLE adapter, const HANDLE process)
{
    return note("DestroyProcess", process, adapter);
}

static NTSTATUS NTAPI fake_DestroyDevice(const HANDLE object)
{
    return note("DestroyDevice", object, NULL);
}

static NTSTATUS NTAPI fake_DestroyContext(const HANDLE object)
{
    return note("DestroyContext", object, NULL);
}

static NTSTATUS NTAPI fake_DestroyHwQueue(const HANDLE object)
{
    return note("DestroyHwQueue", object, NULL);
}

static NTSTATUS NTAPI fake_ResetFromTimeout(const HANDLE object)
{
    return note("ResetFromTimeout", object, NULL);
}

static NTSTATUS NTAPI fake_RestartFromTimeout(const HANDLE object)
{
    return note("RestartFromTimeout", object, NULL);
}

static SIZE_T NTAPI fake_GetRootPageTableSize(HANDLE adapter, DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    note("GetRootPageTableSize", adapter, arg);
    return (SIZE_T)arg->NumberOfPte * 8;
}

static NTSTATUS NTAPI fake_AddDevice(const PDEVICE_OBJECT device_object, PVOID *device_context)
{
    driver.device_object = device_object;
    *device_context = &driver.adapter;
    return driver.add_status;
}

static NTSTATUS NTAPI fake_StartDevice(const PVOID device_context, PDXGK_START_INFO start,
                                       PDXGKRNL_INTERFACE kernel, PULONG sources, PULONG children)
{
    memset(&driver.kernel, 0, sizeof driver.kernel);
    memcpy(&driver.kernel, kernel, kernel->Size);
    *sources = 1;
    *children = 2;
    return note("StartDevice", device_context, NULL);
}

static NTSTATUS NTAPI fake_StopDevice(const PVOID device_context)
{
    return note("StopDevice", device_context, NULL);
}

static NTSTATUS NTAPI fake_RemoveDevice(const PVOID device_context)
{
    note("RemoveDevice", device_context, NULL);
    return driver.remove_status;
}

static NTSTATUS NTAPI fake_SetPowerState(const PVOID device_context, ULONG uid,
                                         DEVICE_POWER_STATE state, POWER_ACTION action)
{
    assert_int_equal(uid, 0xffffffff);
    assert_int_equal(state, PowerDeviceD3);
    assert_int_equal(action, PowerActionSleep);
    return note("SetPowerState", device_context, NULL);
}

static NTSTATUS NTAPI fake_NotifySurpriseRemoval(const PVOID device_context,
                                                 DXGK_SURPRISE_REMOVAL_TYPE type)
{
    assert_int_equal(type, DxgkRemovalPnPNotify);
    return note("NotifySurpriseRemoval", device_context, NULL);
}

static BOOLEAN NTAPI fake_InterruptRoutine(const PVOID device_context, ULONG message)
{
    note("InterruptRoutine", device_context, NULL);
    return message == 9 ? 0x80 : FALSE; /* any non-zero BOOLEAN is true */
}

static VOID NTAPI fake_DpcRoutine(const PVOID device_context)
{
    note("DpcRoutine", device_context, NULL);
}

DRIVER_INITIALIZATION_DATA *test_raw_table(ULONG version)
{
    DRIVER_INITIALIZATION_DATA full = {0};
    size_t size = miniport_raw_table_size(version);
    DRIVER_INITIALIZATION_DATA *table = malloc(size);

    assert_non_null(table);
    full.Version = version;
#define SET(ddi)               full.DxgkDdi##ddi = (void *)fake_##ddi;
#define X(function, ddi, type) SET(ddi)
    MINIPORT_SLOT_LIST(X)
#undef X
#define X(function, ddi) SET(ddi)
    MINIPORT_PLAIN_LIST(X)
#undef X
    SET(GetRootPageTableSize)
    SET(AddDevice)
    SET(StartDevice)
    SET(StopDevice)
    SET(RemoveDevice)
    SET(SetPowerState)
    SET(NotifySurpriseRemoval)
    SET(InterruptRoutine)
    SET(DpcRoutine)
#undef SET
    memcpy(table, &full, size);
    return table;
}

struct miniport *test_raw_create(ULONG version)
{
    DRIVER_INITIALIZATION_DATA *table = test_raw_table(version);
    struct miniport *raw;

    memset(&driver, 0, sizeof driver);
    assert_int_equal(miniport_raw_create(base_services_libc(), table, &raw), STATUS_SUCCESS);
    miniport_raw_set_display_only(raw, (void *)fake_PresentDisplayOnly);
    free(table);
    return raw;
}

void test_raw_start(struct miniport *raw)
{
    DXGK_START_INFO info = {0};
    ULONG sources, children;

    assert_int_equal(miniport_add_device(raw), STATUS_SUCCESS);
    assert_int_equal(miniport_start_device(raw, &info, &sources, &children), STATUS_PENDING);
    assert_int_equal(sources, 1);
    assert_int_equal(children, 2);
}

/* ---- data/ddi/layout-x64.tsv ---- */

void test_read_layout(const char *name, void (*visit)(char **columns, void *context), void *context)
{
    FILE *file = fopen(DRYDOCK_SOURCE_DIR "/data/ddi/layout-x64.tsv", "r");
    char line[1024];

    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *columns[16] = {line};
        unsigned count = 1;

        for (char *c = line; *c && count < ARRAY_COUNT(columns); c++) {
            if (*c == '\t' || *c == '\n') {
                *c = '\0';
                columns[count++] = c + 1;
            }
        }
        if (count >= 10 && strcmp(columns[0], name) == 0)
            visit(columns, context);
    }
    fclose(file);
}
