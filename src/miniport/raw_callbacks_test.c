/* Raw: callbacks of a small fake driver, its end, and what it may only read. */
#include "miniport/test_raw.h"

static struct test_host {
    struct miniport_host host;
    char last[64];
    const void *argument;
    unsigned count;
    unsigned unsupported_count;
} host, second_host;

static struct test_host *note_up(struct miniport_host *base, const char *name, const void *argument)
{
    struct test_host *test_host = (struct test_host *)base;

    snprintf(test_host->last, sizeof test_host->last, "%s", name);
    test_host->argument = argument;
    test_host->count++;
    return test_host;
}

static NTSTATUS host_get_device_information(struct miniport_host *base, DXGK_DEVICE_INFO *info)
{
    note_up(base, "DxgkCbGetDeviceInformation", info);
    return STATUS_PENDING;
}

static NTSTATUS host_map_memory(struct miniport_host *base, PHYSICAL_ADDRESS translated,
                                ULONG length, BOOLEAN in_io_space, BOOLEAN map_to_user_mode,
                                ULONG cache_type, PVOID *virtual_address)
{
    assert_int_equal(translated.QuadPart, 0xfee00000);
    assert_int_equal(length, 4096);
    assert_int_equal(in_io_space, 1);
    assert_int_equal(map_to_user_mode, 0);
    assert_int_equal(cache_type, MmWriteCombined);
    *virtual_address = base;
    note_up(base, "DxgkCbMapMemory", NULL);
    return STATUS_PENDING;
}

static NTSTATUS host_unmap_memory(struct miniport_host *base, PVOID virtual_address)
{
    note_up(base, "DxgkCbUnmapMemory", virtual_address);
    return STATUS_PENDING;
}

static NTSTATUS host_read_device_space(struct miniport_host *base, struct miniport_space *space)
{
    note_up(base, "DxgkCbReadDeviceSpace", space->buffer);
    assert_int_equal(space->type, 1);
    assert_int_equal(space->offset, 2);
    assert_int_equal(space->length, 3);
    space->done = 2;
    return STATUS_PENDING;
}

static NTSTATUS host_write_device_space(struct miniport_host *base, struct miniport_space *space)
{
    host_read_device_space(base, space);
    note_up(base, "DxgkCbWriteDeviceSpace", space->buffer);
    return STATUS_PENDING;
}

static void host_notify_interrupt(struct miniport_host *base,
                                  const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    note_up(base, "DxgkCbNotifyInterrupt", data);
}

static void host_notify_dpc(struct miniport_host *base)
{
    note_up(base, "DxgkCbNotifyDpc", NULL);
}

static bool host_queue_dpc(struct miniport_host *base)
{
    return note_up(base, "DxgkCbQueueDpc", NULL)->count % 2 == 1;
}

static NTSTATUS host_synchronize_execution(struct miniport_host *base,
                                           PKSYNCHRONIZE_ROUTINE routine, PVOID context,
                                           ULONG message, BOOLEAN *return_value)
{
    assert_int_equal(message, 4);
    note_up(base, "DxgkCbSynchronizeExecution", context);
    *return_value = routine(context);
    return STATUS_PENDING;
}

/* Knows one handle: 1 for the first host, 2 for the second. */
static PVOID host_get_handle_data(struct miniport_host *base, const DXGKARGCB_GETHANDLEDATA *data)
{
    note_up(base, "DxgkCbGetHandleData", data);
    return data->hObject == (base == &host.host ? 1u : 2u) ? base : NULL;
}

/* Knows the same handle, as a parent of 10 and a child of 20 more. */
static D3DKMT_HANDLE host_get_handle_parent(struct miniport_host *base, D3DKMT_HANDLE allocation)
{
    note_up(base, "DxgkCbGetHandleParent", NULL);
    return allocation == (base == &host.host ? 1u : 2u) ? allocation + 10 : 0;
}

static D3DKMT_HANDLE host_enum_handle_children(struct miniport_host *base,
                                               const DXGKARGCB_ENUMHANDLECHILDREN *children)
{
    note_up(base, "DxgkCbEnumHandleChildren", children);
    return children->hObject == (base == &host.host ? 1u : 2u) ? children->Index + 20 : 0;
}

static NTSTATUS
host_reserve_gpu_virtual_address_range(struct miniport_host *base, HANDLE process,
                                       DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    assert_ptr_equal(process, range->hDxgkProcess);
    note_up(base, "DxgkCbReserveGpuVirtualAddressRange", range);
    return STATUS_PENDING;
}

static NTSTATUS host_create_context_allocation(struct miniport_host *base,
                                               DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    note_up(base, "DxgkCbCreateContextAllocation", allocation);
    return STATUS_PENDING;
}

static NTSTATUS host_destroy_context_allocation(struct miniport_host *base, HANDLE allocation)
{
    note_up(base, "DxgkCbDestroyContextAllocation", allocation);
    return STATUS_PENDING;
}

static D3DGPU_VIRTUAL_ADDRESS host_map_context_allocation(struct miniport_host *base,
                                                          const DXGKARGCB_MAPCONTEXTALLOCATION *map)
{
    note_up(base, "DxgkCbMapContextAllocation", map);
    return 0x5000;
}

static NTSTATUS host_update_context_allocation(struct miniport_host *base,
                                               const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    note_up(base, "DxgkCbUpdateContextAllocation", update);
    return STATUS_PENDING;
}

static NTSTATUS host_is_feature_enabled(struct miniport_host *base,
                                        DXGKARGCB_ISFEATUREENABLED *feature)
{
    note_up(base, "DxgkCbIsFeatureEnabled", feature);
    feature->Enabled = TRUE;
    return STATUS_PENDING;
}

static NTSTATUS host_invalidate_hw_context(struct miniport_host *base,
                                           const DXGKARGCB_INVALIDATEHWCONTEXT *context)
{
    note_up(base, "DxgkCbInvalidateHwContext", context);
    return STATUS_PENDING;
}

static NTSTATUS host_memory(struct miniport_host *base,
                            const struct miniport_memory_request *request)
{
    note_up(base, miniport_memory_name(request->kind), request->any);
    return STATUS_PENDING;
}

static NTSTATUS host_display(struct miniport_host *base,
                             const struct miniport_display_request *request)
{
    note_up(base, miniport_ask_name(request->kind),
            request->kind == MINIPORT_ASK_IndicateChildStatus ? (const void *)request->child
            : request->kind == MINIPORT_ASK_QueryVidPnInterface
                ? (const void *)request->vidpn.out_interface
            : request->kind == MINIPORT_ASK_QueryMonitorInterface
                ? (const void *)request->monitor.out_interface
                : (const void *)request->post.out_info);
    return STATUS_PENDING;
}

static struct miniport_power_request last_power;

static NTSTATUS host_power(struct miniport_host *base, const struct miniport_power_request *request)
{
    last_power = *request;
    note_up(base, miniport_power_name(request->kind), NULL);
    return STATUS_PENDING;
}

static void host_log(struct miniport_host *base, const char *text)
{
    note_up(base, text, NULL);
}

static void host_unsupported(struct miniport_host *base, const char *callback)
{
    note_up(base, callback, NULL)->unsupported_count++;
}

static const struct miniport_host_ops host_ops = {
    .get_device_information = host_get_device_information,
    .map_memory = host_map_memory,
    .unmap_memory = host_unmap_memory,
    .read_device_space = host_read_device_space,
    .write_device_space = host_write_device_space,
    .notify_interrupt = host_notify_interrupt,
    .notify_dpc = host_notify_dpc,
    .queue_dpc = host_queue_dpc,
    .synchronize_execution = host_synchronize_execution,
    .get_handle_data = host_get_handle_data,
    .get_handle_parent = host_get_handle_parent,
    .enum_handle_children = host_enum_handle_children,
    .reserve_gpu_virtual_address_range = host_reserve_gpu_virtual_address_range,
    .create_context_allocation = host_create_context_allocation,
    .destroy_context_allocation = host_destroy_context_allocation,
    .map_context_allocation = host_map_context_allocation,
    .update_context_allocation = host_update_context_allocation,
    .is_feature_enabled = host_is_feature_enabled,
    .invalidate_hw_context = host_invalidate_hw_context,
    .memory = host_memory,
    .display = host_display,
    .power = host_power,
    .log = host_log,
    .unsupported = host_unsupported,
};

static void hosts_init(void)
{
    memset(&host, 0, sizeof host);
    memset(&second_host, 0, sizeof second_host);
    host.host.ops = &host_ops;
    second_host.host.ops = &host_ops;
}

static BOOLEAN NTAPI synchronized(PVOID context)
{
    *(char *)context = 'x';
    return TRUE;
}

static void callbacks_reach_the_host(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    const DXGKRNL_INTERFACE *kernel = &driver.kernel;
    PHYSICAL_ADDRESS address = {.QuadPart = 0xfee00000};
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {.hDxgkProcess = &address};
    DXGKARGCB_CREATECONTEXTALLOCATION allocation = {0};
    DXGKARGCB_INVALIDATEHWCONTEXT invalid = {.hHwContext = (HANDLE)&address};
    DXGKARGCB_GETHANDLEDATA handle_data = {.hObject = 1};
    DXGKARGCB_RELEASEHANDLEDATA release = {0};
    DXGKARG_RELEASE_HANDLE release_handle = NULL;
    const GUID guid = {.Data1 = 0xabcd};
    BOOLEAN return_value = FALSE;
    char thing = 'a';
    PVOID pointer = NULL;
    ULONG done = 0;
    HANDLE handle;

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    handle = kernel->DeviceHandle;

#define REACHES(call, with)                                                                        \
    assert_int_equal(kernel->DxgkCb##call, STATUS_PENDING);                                        \
    assert_ptr_equal(host.argument, with);                                                         \
    assert_memory_equal("DxgkCb" #call, host.last, strlen(host.last));
    REACHES(GetDeviceInformation(handle, (PDXGK_DEVICE_INFO)&thing), &thing)
    REACHES(MapMemory(handle, address, 4096, TRUE, FALSE, MmWriteCombined, &pointer), NULL)
    assert_ptr_equal(pointer, &host.host);
    REACHES(UnmapMemory(handle, &thing), &thing)
    REACHES(ReadDeviceSpace(handle, 1, &thing, 2, 3, &done), &thing)
    assert_int_equal(done, 2);
    done = 0;
    REACHES(WriteDeviceSpace(handle, 1, &thing, 2, 3, &done), &thing)
    assert_int_equal(done, 2);
    assert_int_equal(kernel->DxgkCbReadDeviceSpace(handle, 1, NULL, 2, 3, &done),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(done, 0);
    REACHES(SynchronizeExecution(handle, synchronized, &thing, 4, &return_value), &thing)
    assert_true(return_value);
    assert_int_equal(thing, 'x');
    REACHES(ReserveGpuVirtualAddressRange(handle, &range), &range)
    allocation.hAdapter = handle;
    REACHES(CreateContextAllocation(&allocation), &allocation)
    REACHES(DestroyContextAllocation(handle, &thing), &thing)
    invalid.hAdapter = handle;
    REACHES(InvalidateHwContext(&invalid), &invalid)
    REACHES(UpdateContextAllocation(handle, (void *)&thing), &thing)
    assert_int_equal(kernel->DxgkCbMapContextAllocation(handle, (void *)&thing), 0x5000);
    assert_ptr_equal(host.argument, &thing);
#undef REACHES
    host.count = 0;
    assert_true(kernel->DxgkCbQueueDpc(handle));
    assert_false(kernel->DxgkCbQueueDpc(handle));
    kernel->DxgkCbNotifyInterrupt(handle, (void *)&thing);
    assert_string_equal(host.last, "DxgkCbNotifyInterrupt");
    assert_ptr_equal(host.argument, &thing);
    kernel->DxgkCbNotifyDpc(handle);
    assert_string_equal(host.last, "DxgkCbNotifyDpc");
    assert_ptr_equal(kernel->DxgkCbGetHandleData(&handle_data), &host.host);
    assert_ptr_equal(kernel->DxgkCbAcquireHandleData(&handle_data, &release_handle), &host.host);
    assert_non_null(release_handle);
    release.ReleaseHandle = release_handle;
    kernel->DxgkCbReleaseHandleData(release);
    kernel->DxgkCbLogEtwEvent(&guid, 3, 16, &thing);
    assert_string_equal(host.last, "ETW event 0000abcd of type 3, 16 bytes");
    assert_int_equal(host.unsupported_count, 0);
    miniport_destroy(raw);
}

/* Each slot hands its structure to the one function of the host. */
static void memory_callbacks_reach_the_host(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    const DXGKRNL_INTERFACE *kernel = &driver.kernel;
    union {
#define X(slot, member, argument, place, returns) __typeof__(*(argument)0) member;
        MINIPORT_MEMORY_LIST(X)
#undef X
        char bytes[256];
    } arg = {0};
    HANDLE handle;

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    handle = kernel->DeviceHandle;
    arg.open_object.hAdapter = handle;
#define HANDLE_ADAPTER handle,
#define HANDLE_ARGUMENT
#define ANSWER_STATUS(call)   assert_int_equal(call, STATUS_PENDING)
#define ANSWER_NOTHING(call)  call
#define REFUSAL_STATUS(call)  assert_int_equal(call, STATUS_INVALID_PARAMETER)
#define REFUSAL_NOTHING(call) call
#define X(slot, member, type, place, returns)                                                      \
    ANSWER_##returns(kernel->DxgkCb##slot(HANDLE_##place(type)(void *) & arg));                    \
    assert_string_equal(host.last, "DxgkCb" #slot);                                                \
    assert_ptr_equal(host.argument, &arg);                                                         \
    REFUSAL_##returns(kernel->DxgkCb##slot(HANDLE_##place NULL));
    MINIPORT_MEMORY_LIST(X)
#undef X
    assert_int_equal(host.count, MINIPORT_MEMORY_COUNT);

    /* An object needs no adapter when it is created, and no other one than those that live. */
    arg.create_object.hAdapter = NULL;
    assert_int_equal(kernel->DxgkCbCreatePhysicalMemoryObject(&arg.create_object), STATUS_PENDING);
    arg.create_object.hAdapter = &host;
    assert_int_equal(kernel->DxgkCbCreatePhysicalMemoryObject(&arg.create_object),
                     STATUS_INVALID_PARAMETER);
    arg.open_object.hAdapter = NULL;
    assert_int_equal(kernel->DxgkCbOpenPhysicalMemoryObject(&arg.open_object),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(kernel->DxgkCbAllocatePagesForMdl(NULL, &arg.allocate_pages),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(host.count, MINIPORT_MEMORY_COUNT + 1);
    miniport_destroy(raw);
}

static void expect_power(const char *name, UINT component, ULONGLONG time)
{
    assert_string_equal(host.last, name);
    assert_int_equal(last_power.ComponentIndex, component);
    assert_int_equal(last_power.time, time);
}

static void requests_about_components_reach_the_host(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM1_3);
    const DXGKRNL_INTERFACE *kernel = &driver.kernel;
    const GUID code = {.Data1 = 7};
    SIZE_T returned = 5;
    HANDLE handle;

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    handle = kernel->DeviceHandle;
    kernel->DxgkCbSetPowerComponentActive(handle, 3);
    expect_power("DxgkCbSetPowerComponentActive", 3, 0);
    kernel->DxgkCbSetPowerComponentIdle(handle, 4);
    expect_power("DxgkCbSetPowerComponentIdle", 4, 0);
    kernel->DxgkCbSetPowerComponentLatency(handle, 5, 50);
    expect_power("DxgkCbSetPowerComponentLatency", 5, 50);
    kernel->DxgkCbSetPowerComponentResidency(handle, 6, 60);
    expect_power("DxgkCbSetPowerComponentResidency", 6, 60);
    kernel->DxgkCbCompleteFStateTransition(handle, 7);
    expect_power("DxgkCbCompleteFStateTransition", 7, 0);
    assert_int_equal(
        kernel->DxgkCbPowerRuntimeControlRequest(handle, &code, NULL, 0, NULL, 0, &returned),
        STATUS_PENDING);
    assert_string_equal(host.last, "DxgkCbPowerRuntimeControlRequest");
    assert_int_equal(returned, 0);
    assert_int_equal(kernel->DxgkCbPowerRuntimeControlRequest(handle, NULL, NULL, 0, NULL, 0, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(host.count, MINIPORT_POWER_COUNT);
    kernel->DxgkCbSetPowerComponentActive(&host, 3);
    assert_int_equal(host.count, MINIPORT_POWER_COUNT);
    assert_int_equal(host.unsupported_count, 0);
    miniport_destroy(raw);
}

static void a_wrong_device_handle_is_refused(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    const DXGKRNL_INTERFACE *kernel = &driver.kernel;
    DXGKARGCB_CREATECONTEXTALLOCATION allocation = {.hAdapter = &allocation};
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {0};
    DXGKARGCB_GETHANDLEDATA handle_data = {.hObject = 1};
    PHYSICAL_ADDRESS address = {0};
    DXGK_DEVICE_INFO info;
    HANDLE stale, wrong = &info;
    PVOID pointer;
    BOOLEAN return_value;

    hosts_init();
    test_raw_start(raw); /* without a host, no handle is good */
    stale = driver.kernel.DeviceHandle;
    assert_true((intptr_t)stale < 0); /* nothing is there that a driver could write over */
    assert_int_equal(kernel->DxgkCbGetDeviceInformation(stale, &info), STATUS_INVALID_PARAMETER);
    miniport_set_host(raw, &host.host);
    assert_int_equal(kernel->DxgkCbGetDeviceInformation(stale, &info), STATUS_PENDING);
    assert_int_equal(kernel->DxgkCbGetDeviceInformation(NULL, &info), STATUS_INVALID_PARAMETER);
    miniport_destroy(raw);
    host.count = 0;

    for (unsigned i = 0; i < 2; i++) {
        HANDLE handle = i ? stale : wrong;

        allocation.hAdapter = handle;
        assert_int_equal(kernel->DxgkCbGetDeviceInformation(handle, &info),
                         STATUS_INVALID_PARAMETER);
        assert_int_equal(
            kernel->DxgkCbMapMemory(handle, address, 1, FALSE, FALSE, MmNonCached, &pointer),
            STATUS_INVALID_PARAMETER);
        assert_int_equal(kernel->DxgkCbUnmapMemory(handle, NULL), STATUS_INVALID_PARAMETER);
        assert_int_equal(
            kernel->DxgkCbSynchronizeExecution(handle, synchronized, NULL, 0, &return_value),
            STATUS_INVALID_PARAMETER);
        assert_int_equal(kernel->DxgkCbReserveGpuVirtualAddressRange(handle, &range),
                         STATUS_INVALID_PARAMETER);
        assert_int_equal(kernel->DxgkCbCreateContextAllocation(&allocation),
                         STATUS_INVALID_PARAMETER);
        assert_int_equal(kernel->DxgkCbDestroyContextAllocation(handle, NULL),
                         STATUS_INVALID_PARAMETER);
        assert_false(kernel->DxgkCbQueueDpc(handle));
        kernel->DxgkCbNotifyInterrupt(handle, NULL);
        kernel->DxgkCbNotifyDpc(handle);
        assert_null(kernel->DxgkCbGetHandleData(&handle_data));
        kernel->DxgkCbLogEtwEvent(NULL, 0, 0, NULL);
        assert_int_equal(kernel->DxgkCbEvalAcpiMethod(handle, 0, NULL, 0, NULL, 0),
                         STATUS_NOT_SUPPORTED);
    }
    assert_int_equal(host.count, 0);
}

static void questions_about_the_display_reach_the_host(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    const DXGKRNL_INTERFACE *kernel = &driver.kernel;
    const DXGK_VIDPN_INTERFACE *vidpn;
    const DXGK_MONITOR_INTERFACE *monitor;
    DXGK_DISPLAY_INFORMATION info;
    DXGK_DISPLAY_OWNERSHIP_FLAGS flags;
    DXGK_CHILD_STATUS status;

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    assert_int_equal(
        kernel->DxgkCbQueryVidPnInterface(NULL, DXGK_VIDPN_INTERFACE_VERSION_V1, &vidpn),
        STATUS_PENDING);
    assert_int_equal(kernel->DxgkCbQueryMonitorInterface(
                         kernel->DeviceHandle, DXGK_MONITOR_INTERFACE_VERSION_V1, &monitor),
                     STATUS_PENDING);
    assert_int_equal(kernel->DxgkCbIndicateChildStatus(kernel->DeviceHandle, &status),
                     STATUS_PENDING);
    assert_int_equal(kernel->DxgkCbAcquirePostDisplayOwnership(kernel->DeviceHandle, &info),
                     STATUS_PENDING);
    assert_int_equal(
        kernel->DxgkCbAcquirePostDisplayOwnership2(kernel->DeviceHandle, &info, &flags),
        STATUS_PENDING);
    assert_int_equal(host.count, 5);
    assert_int_equal(kernel->DxgkCbIndicateChildStatus(NULL, &status), STATUS_INVALID_PARAMETER);
    miniport_destroy(raw);
}

struct slot_count {
    unsigned supported;
    unsigned unsupported;
};

/* Calls one slot with nothing but the device handle, unless it has a function of its own. */
static void call_unsupported_slot(char **columns, void *context)
{
    static const char *const supported[] = {
        "DxgkCbGetDeviceInformation",
        "DxgkCbMapMemory",
        "DxgkCbReadDeviceSpace",
        "DxgkCbWriteDeviceSpace",
        "DxgkCbQueueDpc",
        "DxgkCbSynchronizeExecution",
        "DxgkCbUnmapMemory",
        "DxgkCbGetHandleData",
        "DxgkCbGetHandleParent",
        "DxgkCbEnumHandleChildren",
        "DxgkCbNotifyInterrupt",
        "DxgkCbNotifyDpc",
        "DxgkCbLogEtwEvent",
        "DxgkCbCreateContextAllocation",
        "DxgkCbDestroyContextAllocation",
        "DxgkCbMapContextAllocation",
        "DxgkCbUpdateContextAllocation",
        "DxgkCbReserveGpuVirtualAddressRange",
        "DxgkCbAcquireHandleData",
        "DxgkCbReleaseHandleData",
        "DxgkCbIsFeatureEnabled",
        "DxgkCbQueryFeatureSupport",
        "DxgkCbInvalidateHwContext",
        "DxgkCbQueryVidPnInterface",
        "DxgkCbQueryMonitorInterface",
        "DxgkCbIndicateChildStatus",
        "DxgkCbAcquirePostDisplayOwnership",
        "DxgkCbAcquirePostDisplayOwnership2",
    };
    struct slot_count *count = context;
    size_t offset = (size_t)strtoull(columns[3], NULL, 10);
    ULONG_PTR(NTAPI * function)(HANDLE, PVOID, PVOID, PVOID, PVOID, PVOID, PVOID);
    NTSTATUS status;

    if (strncmp(columns[1], "DxgkCb", 6) != 0)
        return;
    memcpy(&function, (char *)&driver.kernel + offset, sizeof function);
    assert_non_null(function);
    for (size_t i = 0; i < ARRAY_COUNT(supported); i++) {
        if (strcmp(columns[1], supported[i]) == 0) {
            count->supported++;
            return;
        }
    }
    for (unsigned kind = 0; kind < MINIPORT_MEMORY_COUNT; kind++) {
        if (strcmp(columns[1], miniport_memory_name(kind)) == 0) {
            count->supported++;
            return;
        }
    }
    for (unsigned kind = 0; kind < MINIPORT_POWER_COUNT; kind++) {
        if (strcmp(columns[1], miniport_power_name(kind)) == 0) {
            count->supported++;
            return;
        }
    }
    host.last[0] = '\0';
    status = (NTSTATUS)function(driver.kernel.DeviceHandle, NULL, NULL, NULL, NULL, NULL, NULL);
    assert_string_equal(host.last, columns[1]);
    count->unsupported++;
    assert_int_equal(host.unsupported_count, count->unsupported);
    (void)status; /* some return nothing */
}

/* The adapter is named in the argument. */
static void a_feature_is_asked_of_the_adapters_host(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    DXGKARGCB_ISFEATUREENABLED feature = {.FeatureId = DXGK_FEATURE_HWSCH};
    DXGKARGCB_QUERYFEATURESUPPORT support = {.FeatureId = DXGK_FEATURE_HWSCH,
                                             .DriverSupportState = DXGK_FEATURE_SUPPORT_STABLE};

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    assert_int_equal(driver.kernel.DxgkCbIsFeatureEnabled(&feature), STATUS_INVALID_PARAMETER);
    assert_int_equal(driver.kernel.DxgkCbIsFeatureEnabled(NULL), STATUS_INVALID_PARAMETER);
    feature.DeviceHandle = driver.kernel.DeviceHandle;
    assert_int_equal(driver.kernel.DxgkCbIsFeatureEnabled(&feature), STATUS_PENDING);
    assert_ptr_equal(host.argument, &feature);
    assert_true(feature.Enabled);
    assert_int_equal(driver.kernel.DxgkCbQueryFeatureSupport(&support), STATUS_INVALID_PARAMETER);
    assert_int_equal(driver.kernel.DxgkCbQueryFeatureSupport(NULL), STATUS_INVALID_PARAMETER);
    assert_false(support.Enabled);
    support.DeviceHandle = driver.kernel.DeviceHandle;
    assert_int_equal(driver.kernel.DxgkCbQueryFeatureSupport(&support), STATUS_PENDING);
    assert_true(support.Enabled);
    assert_int_equal(support.DriverSupportState, DXGK_FEATURE_SUPPORT_STABLE);
    assert_int_equal(host.unsupported_count, 0);
    miniport_destroy(raw);
}

static void every_other_callback_tells_its_name(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    const DXGKRNL_INTERFACE *kernel = &driver.kernel;
    struct slot_count count = {0};

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    test_read_layout("DXGKRNL_INTERFACE", call_unsupported_slot, &count);
    assert_int_equal(count.supported,
                     23 + MINIPORT_MEMORY_COUNT + MINIPORT_ASK_COUNT + MINIPORT_POWER_COUNT);
    assert_int_equal(count.unsupported,
                     47 - MINIPORT_MEMORY_COUNT - MINIPORT_ASK_COUNT - MINIPORT_POWER_COUNT);
    assert_int_equal(count.supported + count.unsupported,
                     (sizeof *kernel - offsetof(DXGKRNL_INTERFACE, DxgkCbEvalAcpiMethod)) /
                         sizeof(void *));

    assert_int_equal(kernel->DxgkCbSignalEvent(NULL), STATUS_NOT_SUPPORTED);
    miniport_destroy(raw);
}

/* What the second driver calls from inside its BuildPagingBuffer. */
static void call_without_a_handle(void)
{
    DXGKARGCB_GETHANDLEDATA first = {.hObject = 1}, second = {.hObject = 2};
    DXGKARGCB_ENUMHANDLECHILDREN children = {.hObject = 2, .Index = 5};

    assert_int_equal(driver.kernel.DxgkCbSignalEvent(NULL), STATUS_NOT_SUPPORTED);
    driver.kernel.DxgkCbLogEtwEvent(NULL, 1, 2, NULL);
    assert_ptr_equal(driver.kernel.DxgkCbGetHandleData(&second), &second_host.host);
    assert_ptr_equal(driver.kernel.DxgkCbGetHandleData(&first), &host.host);
    assert_int_equal(driver.kernel.DxgkCbGetHandleParent(1), 11);
    assert_int_equal(driver.kernel.DxgkCbGetHandleParent(7), 0);
    assert_int_equal(driver.kernel.DxgkCbEnumHandleChildren(&children), 25);
}

static void a_callback_without_a_handle_finds_the_running_adapter(void **state)
{
    DRIVER_INITIALIZATION_DATA *table = test_raw_table(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    struct miniport *first = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    DXGKARG_BUILDPAGINGBUFFER build = {0};
    struct miniport *second;

    assert_int_equal(miniport_raw_create(base_services_libc(), table, &second), STATUS_SUCCESS);
    free(table);
    hosts_init();
    miniport_set_host(first, &host.host);
    miniport_set_host(second, &second_host.host);
    test_raw_start(first);
    test_raw_start(second);
    driver.when_called = call_without_a_handle;
    miniport_build_paging_buffer(second, NULL, &build);
    assert_int_equal(host.unsupported_count, 0);
    assert_int_equal(host.count, 3); /* about handles that the second lacks */
    assert_int_equal(second_host.unsupported_count, 1);
    assert_int_equal(second_host.count, 7);

    /* Outside of any call it is the first. */
    driver.kernel.DxgkCbLogEtwEvent(NULL, 1, 2, NULL);
    assert_int_equal(host.count, 4);
    miniport_destroy(second);
    miniport_destroy(first);
}

static unsigned unload_count;

static VOID NTAPI count_unload(VOID)
{
    unload_count++;
}

static void a_driver_is_unloaded_when_its_device_is_gone(void **state)
{
    DRIVER_INITIALIZATION_DATA *table = test_raw_table(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    struct miniport *raw;

    unload_count = 0;
    table->DxgkDdiUnload = count_unload;
    assert_int_equal(miniport_raw_create(base_services_libc(), table, &raw), STATUS_SUCCESS);
    free(table);
    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    miniport_raw_unload(raw);
    assert_int_equal(unload_count, 0); /* its device is still there */
    driver.remove_status = STATUS_SUCCESS;
    assert_int_equal(raw->ops->stop_device(raw), STATUS_PENDING);
    assert_int_equal(raw->ops->remove_device(raw), STATUS_SUCCESS);
    miniport_raw_unload(raw);
    assert_int_equal(unload_count, 1);
    miniport_destroy(raw);
}

static jmp_buf stopped;

static void stop_the_machine(void)
{
    longjmp(stopped, 1);
}

static void a_driver_that_is_left_for_good_runs_no_more(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    DXGKARG_BUILDPAGINGBUFFER build = {0};

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    driver.when_called = stop_the_machine;
    if (!setjmp(stopped)) {
        miniport_build_paging_buffer(raw, NULL, &build);
        fail();
    }
    miniport_raw_abandon();
    driver.when_called = NULL;
    assert_int_equal(miniport_build_paging_buffer(raw, NULL, &build), STATUS_PENDING);
    miniport_destroy(raw); /* asserts that it does not run */
}

static struct {
    void *argument;
    size_t bytes;
    unsigned told;
    enum miniport_ddi ddi;
    size_t offset;
} scribble;

static void write_over_it(void)
{
    memset(scribble.argument, 0x41, scribble.bytes);
}

static void on_overwritten(void *context, enum miniport_ddi ddi, size_t offset)
{
    assert_ptr_equal(context, &scribble);
    scribble.told++;
    scribble.ddi = ddi;
    scribble.offset = offset;
}

static void what_a_driver_may_only_read_is_put_back(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    DXGK_ALLOCATIONINFO info = {0};
    DXGKARG_CREATEALLOCATION create = {.NumAllocations = 1, .pAllocationInfo = &info};
    HANDLE list[1] = {&info};
    const DXGKARG_DESTROYALLOCATION destroy = {.NumAllocations = 1, .pAllocationList = list};
    DXGKARG_DESTROYALLOCATION lent = destroy;
    DXGKARG_BUILDPAGINGBUFFER build = {.Operation = DXGK_OPERATION_FILL, .DmaSize = 100};

    hosts_init();
    miniport_set_host(raw, &host.host);
    test_raw_start(raw);
    miniport_raw_set_witness(raw, on_overwritten, &scribble);
    assert_int_equal(miniport_create_allocation(raw, NULL, &create), STATUS_PENDING);
    assert_int_equal(scribble.told, 0);

    driver.when_called = write_over_it;
    driver.is_for_all = true;
    scribble.argument = &create;
    scribble.bytes = sizeof create;
    miniport_create_allocation(raw, NULL, &create);
    assert_int_equal(scribble.told, 1);
    assert_int_equal(scribble.ddi, MINIPORT_DDI_CreateAllocation);
    assert_int_equal(scribble.offset, offsetof(DXGKARG_CREATEALLOCATION, pPrivateDriverData));
    assert_ptr_equal(create.pAllocationInfo, &info);
    assert_int_equal(create.NumAllocations, 1);
    assert_int_equal((uintptr_t)create.hResource, UINT64_C(0x4141414141414141)); /* its to write */

    scribble.argument = &lent;
    scribble.bytes = sizeof lent;
    miniport_destroy_allocation(raw, NULL, &lent);
    assert_int_equal(scribble.told, 2);
    assert_int_equal(scribble.offset, 0);
    assert_memory_equal(&lent, &destroy, sizeof destroy);

    /* What it is there to change is nobody's business. */
    scribble.argument = &build.pDmaBuffer;
    scribble.bytes = offsetof(DXGKARG_BUILDPAGINGBUFFER, DmaBufferPrivateDataSize);
    miniport_build_paging_buffer(raw, NULL, &build);
    assert_int_equal(scribble.told, 2);
    scribble.argument = &build.Operation;
    scribble.bytes = sizeof build.Operation;
    miniport_build_paging_buffer(raw, NULL, &build);
    assert_int_equal(scribble.told, 3);
    assert_int_equal(scribble.offset, offsetof(DXGKARG_BUILDPAGINGBUFFER, Operation));
    assert_int_equal(build.Operation, DXGK_OPERATION_FILL);
    driver.when_called = NULL;
    miniport_destroy(raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_about_the_display_reach_the_host),
        cmocka_unit_test(callbacks_reach_the_host),
        cmocka_unit_test(memory_callbacks_reach_the_host),
        cmocka_unit_test(requests_about_components_reach_the_host),
        cmocka_unit_test(a_wrong_device_handle_is_refused),
        cmocka_unit_test(a_feature_is_asked_of_the_adapters_host),
        cmocka_unit_test(every_other_callback_tells_its_name),
        cmocka_unit_test(a_callback_without_a_handle_finds_the_running_adapter),
        cmocka_unit_test(a_driver_is_unloaded_when_its_device_is_gone),
        cmocka_unit_test(a_driver_that_is_left_for_good_runs_no_more),
        cmocka_unit_test(what_a_driver_may_only_read_is_put_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
