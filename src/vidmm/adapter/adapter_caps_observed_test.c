/* Adapter caps as Windows has been seen to ask for them (docs/observed.md). */
#include "vidmm/rig/test_fake_caps.h"

/* As Windows has been seen to do (docs/observed.md, O2). */
static void a_driver_that_knows_no_physical_adapters_has_the_nodes_of_its_driver_caps(void **state)
{
    struct vidmm_failure failure;
    struct vidmm_caps caps;
    struct fake fake;

    make_fake(&fake, WDDM20);
    fake.failing_type = DXGKQAITYPE_PHYSICALADAPTERCAPS;
    fake.failing_status = STATUS_NOT_SUPPORTED;
    assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
    assert_string_equal(failure.text, "");
    assert_true(caps.has_page_tables);
    assert_int_equal(caps.node_count, 2);
    assert_int_equal(caps.paging_node, 1);
    vidmm_caps_fini(base_services_libc(), &caps);

    fake.driver.MemoryManagementCaps.PagingNode = 2;
    assert_int_equal(query(&fake, &caps, &failure), STATUS_INVALID_PARAMETER);
    assert_non_null(strstr(failure.text, "DRIVERCAPS.MemoryManagementCaps.PagingNode"));
}

/* O3 */
static void the_room_for_a_physical_adapter_is_that_of_the_version(void **state)
{
    static const struct {
        ULONG version;
        UINT bytes;
    } cases[] = {{WDDM20, 20}, {WDDM21, 24}, {WDDM26, 24}, {WDDM29, 32}};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, cases[i].version);
        assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
        assert_int_equal(fake.physical_adapter_bytes, cases[i].bytes);
        vidmm_caps_fini(base_services_libc(), &caps);
    }
}

static NTSTATUS mark_context(void *context)
{
    struct fake *fake = context;

    fake->order[fake->asked++] = 63;
    return STATUS_SUCCESS;
}

static NTSTATUS refuse_context(void *context)
{
    return STATUS_NO_MEMORY;
}

/* O1, O4 */
static void what_windows_asks_besides_is_asked_in_its_order_and_may_be_refused(void **state)
{
    static const unsigned of_2_0[] = {1, 15, 47, 13, 14, 14, 14, 14, 11, 11, 10, 16};
    static const unsigned of_1_3[] = {1, 47, 63, 5, 5, 10};
    struct vidmm_caps_extra extra = {.before_segments = mark_context};
    struct vidmm_failure failure;
    struct vidmm_caps caps;
    struct fake fake;

    extra.context = &fake;
    make_fake(&fake, WDDM20);
    assert_int_equal(
        vidmm_caps_query(&fake.miniport, base_services_libc(), &platform, &extra, &caps, &failure),
        STATUS_SUCCESS);
    assert_int_equal(fake.asked, ARRAY_COUNT(of_2_0));
    assert_memory_equal(fake.order, of_2_0, sizeof of_2_0);
    vidmm_caps_fini(base_services_libc(), &caps);

    make_fake(&fake, WDDM13);
    assert_int_equal(
        vidmm_caps_query(&fake.miniport, base_services_libc(), &platform, &extra, &caps, &failure),
        STATUS_SUCCESS);
    assert_int_equal(fake.asked, ARRAY_COUNT(of_1_3));
    assert_memory_equal(fake.order, of_1_3, sizeof of_1_3);
    vidmm_caps_fini(base_services_libc(), &caps);

    extra.before_segments = refuse_context;
    assert_int_equal(
        vidmm_caps_query(&fake.miniport, base_services_libc(), &platform, &extra, &caps, &failure),
        STATUS_NO_MEMORY);
    assert_non_null(strstr(failure.text, "the system's device and context"));
}

/* Of each driver of WDDM 2.4, observed or not; a failed answer is none. */
static void what_is_to_be_saved_is_kept(void **state)
{
    struct vidmm_caps_extra extra = {.before_segments = mark_context};

    for (unsigned i = 0; i < 4; i++) {
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, i & 1 ? WDDM26 : WDDM21);
        fake.save_area_bytes = 0x5000;
        fake.failing_status = STATUS_NOT_SUPPORTED;
        extra.context = &fake;
        for (unsigned fails = 0; fails < 2; fails++) {
            fake.failing_type = fails ? DXGKQAITYPE_FRAMEBUFFERSAVESIZE : -1;
            assert_int_equal(vidmm_caps_query(&fake.miniport, base_services_libc(), &platform,
                                              i & 2 ? &extra : NULL, &caps, &failure),
                             STATUS_SUCCESS);
            assert_int_equal(caps.save_area_bytes, i & 1 && !fails ? 0x5000 : 0);
            vidmm_caps_fini(base_services_libc(), &caps);
        }
    }
}

/* ns-d3dkmddi-_dxgkarg_historybufferprecision, ns-d3dkmddi-_dxgk_framebuffersavearea */
static void there_is_room_for_exactly_the_documented_answer(void **state)
{
    struct vidmm_caps_extra extra = {.before_segments = mark_context};
    struct vidmm_failure failure;
    struct vidmm_caps caps;
    struct fake fake;

    extra.context = &fake;
    for (unsigned is_new = 0; is_new < 2; is_new++) {
        make_fake(&fake, is_new ? WDDM26 : WDDM21);
        assert_int_equal(vidmm_caps_query(&fake.miniport, base_services_libc(), &platform, &extra,
                                          &caps, &failure),
                         STATUS_SUCCESS);
        assert_int_equal(fake.asked_bytes[DXGKQAITYPE_HISTORYBUFFERPRECISION],
                         caps.node_count * sizeof(DXGKARG_HISTORYBUFFERPRECISION));
        assert_int_equal(fake.asked_count[DXGKQAITYPE_FRAMEBUFFERSAVESIZE], is_new);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_DEVICE_TYPE_CAPS], is_new);
        assert_int_equal(fake.asked_bytes[DXGKQAITYPE_FRAMEBUFFERSAVESIZE],
                         is_new ? sizeof(DXGK_FRAMEBUFFERSAVEAREA) : 0);
        assert_int_equal(fake.input_bytes[DXGKQAITYPE_FRAMEBUFFERSAVESIZE],
                         is_new ? sizeof(UINT) : 0); /* the physical adapter's index */
        assert_int_equal(fake.asked_bytes[DXGKQAITYPE_DEVICE_TYPE_CAPS],
                         is_new ? sizeof(DXGK_DEVICE_TYPE_CAPS) : 0);
        vidmm_caps_fini(base_services_libc(), &caps);
    }
}

static DXGK_WDDMDEVICECAPSIN version_input;

static NTSTATUS read_input(struct miniport *self, HANDLE object,
                           const DXGKARG_QUERYADAPTERINFO *query)
{
    struct fake *fake = (struct fake *)self;

    if (query->Type == DXGKQAITYPE_WDDMDEVICECAPS) {
        assert_int_equal(query->InputDataSize, sizeof version_input);
        memcpy(&version_input, query->pInputData, sizeof version_input);
    }
    fake->asked_count[query->Type]++;
    return STATUS_NOT_SUPPORTED;
}

/* ns-d3dkmddi-_dxgk_wddmdevicecaps, ns-d3dkmddi-_dxgk_wddmdevicecapsin */
static void a_device_is_asked_for_its_version_before_it_starts(void **state)
{
    static const struct {
        ULONG version;
        unsigned device, memory;
    } cases[] = {{WDDM21, 0, 0}, {WDDM26, 1, 0}, {WDDM29, 1, 1}};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct vidmm_early_caps early;
        struct fake fake;

        make_fake(&fake, cases[i].version);
        fake.ops.query_adapter_info = read_input;
        version_input.DxgkrnlInterfaceVersion = 0;
        vidmm_query_early(&fake.miniport, &early);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_WDDMDEVICECAPS], cases[i].device);
        assert_int_equal(version_input.DxgkrnlInterfaceVersion,
                         cases[i].device ? cases[i].version : 0);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_PHYSICAL_MEMORY_CAPS], cases[i].memory);
        assert_int_equal(early.highest_visible_address, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_that_knows_no_physical_adapters_has_the_nodes_of_its_driver_caps),
        cmocka_unit_test(the_room_for_a_physical_adapter_is_that_of_the_version),
        cmocka_unit_test(a_device_is_asked_for_its_version_before_it_starts),
        cmocka_unit_test(what_is_to_be_saved_is_kept),
        cmocka_unit_test(there_is_room_for_exactly_the_documented_answer),
        cmocka_unit_test(what_windows_asks_besides_is_asked_in_its_order_and_may_be_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
