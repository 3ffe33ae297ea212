/* Raw: slots and versions of a small fake driver, and the sizes against the tables. */
#include "miniport/test_raw.h"

static void every_ddi_reaches_its_slot(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM3_2);
    DXGKARG_GETROOTPAGETABLESIZE size = {.NumberOfPte = 512};
    char object = 0;
    uint64_t argument[256] = {0}; /* the largest structure fits */

    test_raw_start(raw);
    /* SetRootPageTable returns nothing, which is success. */
#define X(function, ddi, type)                                                                     \
    assert_true(miniport_has(raw, MINIPORT_DDI_##ddi));                                            \
    _Static_assert(sizeof *(type)0 <= sizeof argument, #ddi);                                      \
    assert_int_equal(miniport_##function(raw, &object, (type)(void *)&argument),                   \
                     MINIPORT_DDI_##ddi == MINIPORT_DDI_SetRootPageTable ? STATUS_SUCCESS          \
                                                                         : STATUS_PENDING);        \
    assert_string_equal(driver.last, #ddi);                                                        \
    assert_ptr_equal(driver.object, &object);                                                      \
    assert_ptr_equal(driver.argument, &argument);                                                  \
    miniport_##function(raw, NULL, (type)(void *)&argument);                                       \
    assert_ptr_equal(driver.object, &driver.adapter);
    MINIPORT_HANDLE_LIST(X)
    MINIPORT_DISPLAY_LIST(X)
    MINIPORT_DISPLAY_ONLY_LIST(X)
#undef X
#define X(function, ddi, type)                                                                     \
    assert_true(miniport_has(raw, MINIPORT_DDI_##ddi));                                            \
    _Static_assert(sizeof *(type)0 <= sizeof argument, #ddi);                                      \
    assert_int_equal(miniport_##function(raw, NULL, (type)(void *)&argument), STATUS_PENDING);     \
    assert_string_equal(driver.last, #ddi);                                                        \
    assert_ptr_equal(driver.argument, &argument);
    MINIPORT_ARGUMENT_LIST(X)
#undef X
    {
        const struct miniport_interrupt first = {DXGK_INTERRUPT_CRTC_VSYNC, TRUE};
        const DXGKARG_CONTROLINTERRUPT2 second = {.InterruptType = DXGK_INTERRUPT_CRTC_VSYNC,
                                                  {.CrtcVsyncState = DXGK_VSYNC_DISABLE_NO_PHASE}};

        assert_int_equal(miniport_control_interrupt(raw, NULL, &first), STATUS_PENDING);
        assert_string_equal(driver.last, "ControlInterrupt");
        assert_ptr_equal(driver.object, &driver.adapter);
        assert_int_equal(driver.interrupt.InterruptType, DXGK_INTERRUPT_CRTC_VSYNC);
        assert_int_equal(driver.interrupt.InterruptState, TRUE);
        assert_int_equal(miniport_control_interrupt2(raw, &object, &second), STATUS_PENDING);
        assert_string_equal(driver.last, "ControlInterrupt2");
        assert_ptr_equal(driver.object, &object);
        assert_int_equal(driver.interrupt.CrtcVsyncState, DXGK_VSYNC_DISABLE_NO_PHASE);
    }
    {
        const struct miniport_f_state state = {4, 2};
        const GUID *code = miniport_power_phase_code(MINIPORT_POWER_STARTED);
        const struct miniport_power_control control = {code};

        assert_int_equal(miniport_set_power_component_f_state(raw, NULL, &state), STATUS_PENDING);
        assert_string_equal(driver.last, "SetPowerComponentFState");
        assert_ptr_equal(driver.object, &driver.adapter);
        assert_int_equal(driver.node, 4);
        assert_int_equal(driver.number, 2);
        assert_int_equal(miniport_power_runtime_control_request(raw, NULL, &control),
                         STATUS_PENDING);
        assert_string_equal(driver.last, "PowerRuntimeControlRequest");
        assert_ptr_equal(driver.argument, code);
    }
    {
        struct miniport_node node = {.NodeOrdinalAndAdapterIndex = 5};
        struct miniport_clock clock = {.NodeOrdinal = 3, .EngineOrdinal = 2};

        assert_int_equal(miniport_get_node_metadata(raw, NULL, &node), STATUS_PENDING);
        assert_string_equal(driver.last, "GetNodeMetadata");
        assert_ptr_equal(driver.object, &driver.adapter);
        assert_int_equal(driver.node, 5);
        assert_int_equal(node.metadata.Flags.Value, 3);
        assert_int_equal(miniport_calibrate_gpu_clock(raw, NULL, &clock), STATUS_PENDING);
        assert_string_equal(driver.last, "CalibrateGpuClock");
        assert_int_equal(driver.node, 3);
        assert_int_equal(driver.number, 2);
        assert_int_equal(clock.calibration.GpuFrequency, 7);
    }
    {
        DXGK_CHILD_DESCRIPTOR relations;
        DXGK_CHILD_STATUS status;
        DXGK_DEVICE_DESCRIPTOR descriptor;
        DXGK_DISPLAY_INFORMATION info;
        const struct miniport_children children = {&relations, 96};
        const struct miniport_child_status asked = {&status, TRUE};
        const struct miniport_descriptor described = {7, &descriptor};
        const struct miniport_post_display post = {8, &info};

        assert_int_equal(miniport_query_child_relations(raw, NULL, &children), STATUS_PENDING);
        assert_ptr_equal(driver.argument, &relations);
        assert_int_equal(driver.number, 96);
        assert_int_equal(miniport_query_child_status(raw, NULL, &asked), STATUS_PENDING);
        assert_ptr_equal(driver.argument, &status);
        assert_int_equal(driver.number, TRUE);
        assert_int_equal(miniport_query_device_descriptor(raw, NULL, &described), STATUS_PENDING);
        assert_ptr_equal(driver.argument, &descriptor);
        assert_int_equal(driver.number, 7);
        assert_int_equal(miniport_stop_device_and_release_post_display_ownership(raw, NULL, &post),
                         STATUS_PENDING);
        assert_ptr_equal(driver.argument, &info);
        assert_int_equal(driver.number, 8);
        assert_ptr_equal(driver.object, &driver.adapter);
    }
#define X(function, ddi)                                                                           \
    assert_true(miniport_has(raw, MINIPORT_DDI_##ddi));                                            \
    assert_int_equal(miniport_##function(raw, &object), STATUS_PENDING);                           \
    assert_string_equal(driver.last, #ddi);                                                        \
    assert_ptr_equal(driver.object, &object);
    MINIPORT_PLAIN_LIST(X)
#undef X
    miniport_destroy_process(raw, &object);
    assert_ptr_equal(driver.argument, &driver.adapter);
    miniport_reset_from_timeout(raw, NULL);
    assert_ptr_equal(driver.object, &driver.adapter);
    assert_int_equal(miniport_get_root_page_table_size(raw, &size), 4096);
    assert_ptr_equal(driver.object, &driver.adapter);
    assert_false(miniport_has(raw, MINIPORT_DDI_COUNT));
    miniport_destroy(raw);
}

static void a_device_lives_from_add_to_remove(void **state)
{
    struct miniport *raw = test_raw_create(DXGKDDI_INTERFACE_VERSION_WDDM2_0);
    PDEVICE_OBJECT device_object = (PDEVICE_OBJECT)&driver;
    DXGKARG_QUERYADAPTERINFO query = {0};
    DXGKARG_GETROOTPAGETABLESIZE size = {.NumberOfPte = 1};
    DXGK_START_INFO info = {0};
    ULONG sources = 9, children = 9;

    assert_int_equal(miniport_interface_version(raw), DXGKDDI_INTERFACE_VERSION_WDDM2_0);
    assert_int_equal(miniport_query_adapter_info(raw, NULL, &query), STATUS_DEVICE_NOT_READY);
    assert_int_equal(miniport_start_device(raw, &info, &sources, &children),
                     STATUS_DEVICE_NOT_READY);
    assert_int_equal(sources, 0);
    assert_int_equal(children, 0);
    assert_int_equal(miniport_get_root_page_table_size(raw, &size), 0);
    assert_false(miniport_interrupt(raw, 9));
    miniport_dpc(raw);
    assert_null(driver.last);

    driver.add_status = STATUS_UNSUCCESSFUL;
    assert_int_equal(miniport_add_device(raw), STATUS_UNSUCCESSFUL);
    assert_null(driver.device_object);
    assert_int_equal(miniport_stop_device(raw), STATUS_DEVICE_NOT_READY);
    assert_int_equal(miniport_notify_surprise_removal(raw, DxgkRemovalHibernation),
                     STATUS_DEVICE_NOT_READY);
    driver.add_status = STATUS_SUCCESS;
    miniport_raw_set_device_object(raw, device_object);
    test_raw_start(raw);
    assert_ptr_equal(driver.device_object, device_object);
    assert_int_equal(miniport_add_device(raw), STATUS_INVALID_DEVICE_REQUEST);

    assert_int_equal(miniport_set_power_state(raw, 0xffffffff, PowerDeviceD3, PowerActionSleep),
                     STATUS_PENDING);
    assert_ptr_equal(driver.object, &driver.adapter);
    assert_int_equal(miniport_notify_surprise_removal(raw, DxgkRemovalPnPNotify), STATUS_PENDING);
    assert_string_equal(driver.last, "NotifySurpriseRemoval");
    assert_true(miniport_interrupt(raw, 9));
    assert_false(miniport_interrupt(raw, 8));
    miniport_dpc(raw);
    assert_string_equal(driver.last, "DpcRoutine");
    assert_int_equal(miniport_stop_device(raw), STATUS_PENDING);
    driver.remove_status = STATUS_UNSUCCESSFUL;
    assert_int_equal(miniport_remove_device(raw), STATUS_UNSUCCESSFUL);
    driver.remove_status = STATUS_SUCCESS;
    assert_int_equal(miniport_remove_device(raw), STATUS_SUCCESS);
    assert_int_equal(miniport_remove_device(raw), STATUS_DEVICE_NOT_READY);
    miniport_destroy(raw);
}

static void slots_of_later_versions_are_absent(void **state)
{
    static const struct {
        ULONG version;
        bool has_reset_engine, has_create_process;
    } cases[] = {
        {DXGKDDI_INTERFACE_VERSION_VISTA, false, false},
        {DXGKDDI_INTERFACE_VERSION_VISTA_SP1, false, false},
        {DXGKDDI_INTERFACE_VERSION_WIN7, false, false},
        {DXGKDDI_INTERFACE_VERSION_WIN8, true, false},
        {DXGKDDI_INTERFACE_VERSION_WDDM1_3_PATH_INDEPENDENT_ROTATION, true, false},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_0, true, true},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_1_6, true, true},
        {DXGKDDI_INTERFACE_VERSION_WDDM3_2, true, true},
    };
    DXGKARG_RESETENGINE reset = {0};
    DXGKARG_CREATEPROCESS process = {0};
    DXGKARG_BUILDPAGINGBUFFER build = {0};
    DXGKARG_SETROOTPAGETABLE root = {0};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct miniport *raw = test_raw_create(cases[i].version);

        test_raw_start(raw);
        assert_int_equal(miniport_has(raw, MINIPORT_DDI_ResetEngine), cases[i].has_reset_engine);
        assert_int_equal(miniport_reset_engine(raw, NULL, &reset),
                         cases[i].has_reset_engine ? STATUS_PENDING : STATUS_NOT_IMPLEMENTED);
        assert_int_equal(miniport_has(raw, MINIPORT_DDI_CreateProcess),
                         cases[i].has_create_process);
        assert_int_equal(miniport_create_process(raw, NULL, &process),
                         cases[i].has_create_process ? STATUS_PENDING : STATUS_NOT_IMPLEMENTED);
        assert_int_equal(miniport_set_root_page_table(raw, NULL, &root),
                         cases[i].has_create_process ? STATUS_SUCCESS : STATUS_NOT_IMPLEMENTED);
        assert_int_equal(miniport_build_paging_buffer(raw, NULL, &build), STATUS_PENDING);

        assert_int_equal(driver.kernel.Version, cases[i].version);
        assert_int_equal(driver.kernel.Size, miniport_raw_interface_size(cases[i].version));
        miniport_destroy(raw);
    }
}

/* A driver that was built with newer headers than it is of, as published drivers are. */
static void caps_may_say_an_older_version_than_the_table(void **state)
{
    static const struct {
        ULONG table;
        DXGK_WDDMVERSION told;
        ULONG version;
    } cases[] = {
        {DXGKDDI_INTERFACE_VERSION_WDDM3_2, DXGKDDI_WDDMv1_3, DXGKDDI_INTERFACE_VERSION_WDDM1_3},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_1, DXGKDDI_WDDMv2, DXGKDDI_INTERFACE_VERSION_WDDM2_0},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_1, DXGKDDI_WDDMv2_6, DXGKDDI_INTERFACE_VERSION_WDDM2_1},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_1, (DXGK_WDDMVERSION)0xcdcdcdcd,
         DXGKDDI_INTERFACE_VERSION_WDDM2_1},
    };
    DXGK_DRIVERCAPS caps;
    DXGKARG_QUERYADAPTERINFO query = {
        .Type = DXGKQAITYPE_DRIVERCAPS, .pOutputData = &caps, .OutputDataSize = sizeof caps};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct miniport *raw = test_raw_create(cases[i].table);

        test_raw_start(raw);
        assert_int_equal(miniport_interface_version(raw), cases[i].table);
        driver.wddm = cases[i].told;
        query.OutputDataSize = offsetof(DXGK_DRIVERCAPS, WDDMVersion);
        assert_int_equal(miniport_query_adapter_info(raw, NULL, &query), STATUS_SUCCESS);
        assert_int_equal(miniport_interface_version(raw), cases[i].table);
        query.OutputDataSize = sizeof caps;
        assert_int_equal(miniport_query_adapter_info(raw, NULL, &query), STATUS_SUCCESS);
        assert_int_equal(miniport_interface_version(raw), cases[i].version);
        assert_true(miniport_has(raw, MINIPORT_DDI_CreateProcess));
        miniport_raw_ask_anew(raw);
        assert_int_equal(miniport_interface_version(raw), cases[i].table);
        assert_int_equal(miniport_query_adapter_info(raw, NULL, &query), STATUS_SUCCESS);
        assert_int_equal(miniport_remove_device(raw), STATUS_SUCCESS);
        assert_int_equal(miniport_interface_version(raw), cases[i].table);
        miniport_destroy(raw);
    }
}

static void unknown_versions_are_refused(void **state)
{
    static const ULONG unknown[] = {0, 0x1051, DXGKDDI_INTERFACE_VERSION_WDDM3_2 + 1, MAXULONG};

    for (size_t i = 0; i < ARRAY_COUNT(unknown); i++) {
        ULONG version = unknown[i];
        struct miniport *raw = (struct miniport *)&version;

        /* Only Version may be read. */
        assert_int_equal(
            miniport_raw_create(base_services_libc(), (DRIVER_INITIALIZATION_DATA *)&version, &raw),
            STATUS_REVISION_MISMATCH);
        assert_null(raw);
        assert_int_equal(miniport_raw_table_size(version), 0);
        assert_int_equal(miniport_raw_interface_size(version), 0);
    }
}

static void no_memory_leaves_nothing_behind(void **state)
{
    DRIVER_INITIALIZATION_DATA data = {.Version = DXGKDDI_INTERFACE_VERSION_WDDM2_0};
    struct failing_services memory;
    struct miniport *raw;

    failing_services_init(&memory);
    failing_services_fail_at(&memory, 1);
    assert_int_equal(miniport_raw_create(&memory.services, &data, &raw), STATUS_NO_MEMORY);
    assert_null(raw);
    assert_int_equal(miniport_raw_create(&memory.services, &data, &raw), STATUS_SUCCESS);
    assert_int_equal(memory.live_blocks, 1);
    miniport_destroy(raw);
    assert_int_equal(memory.live_blocks, 0);
}

static void an_empty_table_has_nothing(void **state)
{
    DRIVER_INITIALIZATION_DATA data = {.Version = DXGKDDI_INTERFACE_VERSION_WDDM2_0};
    struct miniport *raw;

    assert_int_equal(miniport_raw_create(base_services_libc(), &data, &raw), STATUS_SUCCESS);
    for (unsigned ddi = 0; ddi < MINIPORT_DDI_COUNT; ddi++)
        assert_false(miniport_has(raw, ddi));
    assert_int_equal(miniport_add_device(raw), STATUS_NOT_IMPLEMENTED);
    miniport_destroy(raw);
}

/* ---- Sizes against data/ddi/layout-x64.tsv ---- */

/* "2.9" as 209; 0 for an empty or unreadable version. */
static unsigned version_number(const char *text)
{
    unsigned major = 0, minor = 0;

    return sscanf(text, "%u.%u", &major, &minor) == 2 ? major * 100 + minor : 0;
}

struct size_search {
    unsigned version;
    size_t size;
    size_t slot_count;
};

static void find_size(char **columns, void *context)
{
    struct size_search *search = context;
    size_t offset = (size_t)strtoull(columns[3], NULL, 10);
    size_t size = (size_t)strtoull(columns[4], NULL, 10);

    search->slot_count++;
    if (strcmp(columns[1], "(sizeof)") == 0)
        search->size = size;
    else if (version_number(columns[7]) > search->version && offset < search->size)
        search->size = offset;
}

static void sizes_are_those_of_the_fact_table(void **state)
{
    static const struct {
        ULONG version;
        unsigned number;
    } cases[] = {
        {DXGKDDI_INTERFACE_VERSION_VISTA, 100},   {DXGKDDI_INTERFACE_VERSION_VISTA_SP1, 100},
        {DXGKDDI_INTERFACE_VERSION_WIN7, 101},    {DXGKDDI_INTERFACE_VERSION_WIN8, 102},
        {DXGKDDI_INTERFACE_VERSION_WDDM1_3, 103}, {DXGKDDI_INTERFACE_VERSION_WDDM2_0, 200},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_1, 201}, {DXGKDDI_INTERFACE_VERSION_WDDM2_1_5, 201},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_2, 202}, {DXGKDDI_INTERFACE_VERSION_WDDM2_3, 203},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_4, 204}, {DXGKDDI_INTERFACE_VERSION_WDDM2_5, 205},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_6, 206}, {DXGKDDI_INTERFACE_VERSION_WDDM2_7, 207},
        {DXGKDDI_INTERFACE_VERSION_WDDM2_8, 208}, {DXGKDDI_INTERFACE_VERSION_WDDM2_9, 209},
        {DXGKDDI_INTERFACE_VERSION_WDDM3_0, 300}, {DXGKDDI_INTERFACE_VERSION_WDDM3_1, 301},
        {DXGKDDI_INTERFACE_VERSION_WDDM3_2, 302},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct size_search table = {.version = cases[i].number};
        struct size_search kernel = {.version = cases[i].number};

        test_read_layout("DRIVER_INITIALIZATION_DATA", find_size, &table);
        test_read_layout("DXGKRNL_INTERFACE", find_size, &kernel);
        assert_true(table.slot_count > 100 && kernel.slot_count > 50);
        assert_int_equal(miniport_raw_table_size(cases[i].version), table.size);
        assert_int_equal(miniport_raw_interface_size(cases[i].version), kernel.size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_ddi_reaches_its_slot),
        cmocka_unit_test(a_device_lives_from_add_to_remove),
        cmocka_unit_test(slots_of_later_versions_are_absent),
        cmocka_unit_test(caps_may_say_an_older_version_than_the_table),
        cmocka_unit_test(unknown_versions_are_refused),
        cmocka_unit_test(no_memory_leaves_nothing_behind),
        cmocka_unit_test(an_empty_table_has_nothing),
        cmocka_unit_test(sizes_are_those_of_the_fact_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
