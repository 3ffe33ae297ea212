#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "display/rig/test_display.h"

#include <string.h>

#define ADAPTER ((HANDLE)(uintptr_t)0x4000)

static const DXGK_MONITOR_INTERFACE *monitors(struct test_display *test)
{
    const DXGK_MONITOR_INTERFACE *interface;

    assert_int_equal(display_query_monitor_interface(test->display, ADAPTER,
                                                     DXGK_MONITOR_INTERFACE_VERSION_V1, &interface),
                     STATUS_SUCCESS);
    return interface;
}

static void the_modelled_monitor_has_three_modes(void **state)
{
    static const uint32_t sizes[][2] = {{1920, 1080}, {1024, 768}, {640, 480}};
    uint8_t edid[DISPLAY_EDID_BYTES];
    struct test_display test;
    D3DKMDT_MONITOR_SOURCE_MODE mode;

    display_make_edid(edid);
    assert_true(display_is_edid(edid, sizeof edid));
    test_display_begin(&test);
    assert_int_equal(display_connect(test.display, 10, edid, sizeof edid), STATUS_SUCCESS);
    assert_int_equal(display_monitor_modes(test.display, 10), 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(display_get_monitor_mode(test.display, 10, i, &mode));
        assert_int_equal(mode.VideoSignalInfo.ActiveSize.cx, sizes[i][0]);
        assert_int_equal(mode.VideoSignalInfo.ActiveSize.cy, sizes[i][1]);
        assert_int_equal(mode.Preference, i == 0 ? D3DKMDT_MP_PREFERRED : D3DKMDT_MP_NOTPREFERRED);
    }
    assert_true(display_get_monitor_mode(test.display, 10, 0, &mode));
    assert_int_equal(mode.VideoSignalInfo.TotalSize.cx, 2200);
    assert_int_equal(mode.VideoSignalInfo.TotalSize.cy, 1125);
    assert_int_equal(mode.VideoSignalInfo.PixelRate, 148500000);
    test_display_end(&test);
}

static void a_wrong_edid_is_none(void **state)
{
    uint8_t edid[DISPLAY_EDID_BYTES];
    struct test_display test;

    display_make_edid(edid);
    assert_false(display_is_edid(edid, sizeof edid - 1));
    edid[127] ^= 1;
    assert_false(display_is_edid(edid, sizeof edid));
    edid[127] ^= 1;
    edid[3] = 0;
    assert_false(display_is_edid(edid, sizeof edid));
    test_display_begin(&test);
    assert_int_equal(display_connect(test.display, 10, edid, sizeof edid), STATUS_SUCCESS);
    assert_int_equal(display_monitor_modes(test.display, 10), 3);
    assert_int_equal(display_connect(test.display, 13, NULL, 0),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET);
    test_display_end(&test);
}

static void a_driver_reads_the_modes_of_a_monitor(void **state)
{
    const DXGK_MONITORSOURCEMODESET_INTERFACE *modes;
    const D3DKMDT_MONITOR_SOURCE_MODE *mode, *next;
    const DXGK_MONITOR_INTERFACE *interface;
    D3DKMDT_MONITOR_SOURCE_MODE *added;
    D3DKMDT_HMONITORSOURCEMODESET set;
    struct test_display test;
    SIZE_T count;

    test_display_begin(&test);
    interface = monitors(&test);
    assert_int_equal(interface->pfnAcquireMonitorSourceModeSet(ADAPTER, 10, &set, &modes),
                     STATUS_GRAPHICS_MONITOR_NOT_CONNECTED);
    assert_int_equal(interface->pfnAcquireMonitorSourceModeSet(ADAPTER, 9, &set, &modes),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET);
    assert_int_equal(display_connect(test.display, 10, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(interface->pfnAcquireMonitorSourceModeSet(ADAPTER, 10, &set, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(modes->pfnGetNumModes(set, &count), STATUS_SUCCESS);
    assert_int_equal(count, 3);
    assert_int_equal(modes->pfnAcquirePreferredModeInfo(set, &mode), STATUS_SUCCESS);
    assert_int_equal(mode->VideoSignalInfo.ActiveSize.cx, 1920);
    assert_int_equal(modes->pfnAcquireNextModeInfo(set, mode, &next), STATUS_SUCCESS);
    assert_int_equal(modes->pfnReleaseModeInfo(set, mode), STATUS_SUCCESS);
    assert_int_equal(modes->pfnReleaseModeInfo(set, next), STATUS_SUCCESS);
    assert_int_equal(modes->pfnCreateNewModeInfo(set, &added), STATUS_SUCCESS);
    assert_int_equal(modes->pfnAddMode(set, added), STATUS_GRAPHICS_INVALID_MONITOR_SOURCE_MODE);
    added->VideoSignalInfo.VideoStandard = D3DKMDT_VSS_OTHER;
    added->VideoSignalInfo.ActiveSize.cx = 1280;
    added->VideoSignalInfo.ActiveSize.cy = 720;
    assert_int_equal(modes->pfnAddMode(set, added), STATUS_SUCCESS);
    assert_int_equal(display_monitor_modes(test.display, 10), 4);
    assert_int_equal(interface->pfnReleaseMonitorSourceModeSet(ADAPTER, set), STATUS_SUCCESS);
    assert_int_equal(interface->pfnReleaseMonitorSourceModeSet(ADAPTER, set),
                     STATUS_GRAPHICS_INVALID_MONITOR_SOURCEMODESET);
    test_expect_misuse(&test, "it was released");
    test_display_end(&test);
}

static void a_set_that_is_kept_until_the_stop_is_told(void **state)
{
    const DXGK_MONITORSOURCEMODESET_INTERFACE *modes;
    const DXGK_MONITOR_INTERFACE *interface;
    D3DKMDT_HMONITORSOURCEMODESET set;
    struct test_display test;

    test_display_begin(&test);
    interface = monitors(&test);
    display_connect(test.display, 11, NULL, 0);
    assert_int_equal(interface->pfnAcquireMonitorSourceModeSet(ADAPTER, 11, &set, &modes),
                     STATUS_SUCCESS);
    assert_true(display_settle(test.display, "DxgkDdiCommitVidPn"));
    assert_false(display_settle_monitors(test.display, "DxgkDdiStopDevice"));
    test_expect_misuse(&test, "DxgkDdiStopDevice has returned, and a monitor source mode set");
    assert_int_equal(interface->pfnAcquireMonitorSourceModeSet(NULL, 11, &set, &modes),
                     STATUS_GRAPHICS_INVALID_DISPLAY_ADAPTER);
    test_expect_misuse(&test, "no handle of an adapter");
    test_display_end(&test);
}

static void what_a_driver_has_of_a_monitor_outlives_its_cable(void **state)
{
    const DXGK_MONITORSOURCEMODESET_INTERFACE *modes, *none;
    const DXGK_MONITOR_INTERFACE *interface;
    const D3DKMDT_MONITOR_SOURCE_MODE *mode;
    D3DKMDT_HMONITORSOURCEMODESET set, other;
    struct test_display test;

    test_display_begin(&test);
    interface = monitors(&test);
    display_connect(test.display, 11, NULL, 0);
    assert_int_equal(interface->pfnAcquireMonitorSourceModeSet(ADAPTER, 11, &set, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(modes->pfnAcquireFirstModeInfo(set, &mode), STATUS_SUCCESS);
    display_disconnect(test.display, 11);
    assert_int_not_equal(interface->pfnAcquireMonitorSourceModeSet(ADAPTER, 11, &other, &none),
                         STATUS_SUCCESS);
    assert_int_equal(mode->VideoSignalInfo.ActiveSize.cx, 1920);
    assert_int_equal(modes->pfnReleaseModeInfo(set, mode), STATUS_SUCCESS);
    assert_int_equal(interface->pfnReleaseMonitorSourceModeSet(ADAPTER, set), STATUS_SUCCESS);
    assert_true(display_settle_monitors(test.display, "DxgkDdiStopDevice"));
    test_display_end(&test);
}

static void a_driver_reads_the_edid(void **state)
{
    const DXGK_MONITORDESCRIPTORSET_INTERFACE *descriptors;
    const DXGK_MONITORFREQUENCYRANGESET_INTERFACE *ranges;
    const D3DKMDT_MONITOR_DESCRIPTOR *descriptor, *next;
    const D3DKMDT_MONITOR_FREQUENCY_RANGE *range;
    D3DKMDT_HMONITORFREQUENCYRANGESET range_set;
    const DXGK_MONITOR_INTERFACE *interface;
    D3DKMDT_HMONITORDESCRIPTORSET set;
    uint8_t edid[DISPLAY_EDID_BYTES];
    struct test_display test;
    SIZE_T count;

    display_make_edid(edid);
    test_display_begin(&test);
    interface = monitors(&test);
    display_connect(test.display, 12, edid, sizeof edid);
    assert_int_equal(interface->pfnGetMonitorDescriptorSet(ADAPTER, 12, &set, &descriptors),
                     STATUS_SUCCESS);
    assert_int_equal(descriptors->pfnGetNumDescriptors(set, &count), STATUS_SUCCESS);
    assert_int_equal(count, 1);
    assert_int_equal(descriptors->pfnAcquireFirstDescriptorInfo(set, &descriptor), STATUS_SUCCESS);
    assert_int_equal(descriptor->DataSize, sizeof edid);
    assert_memory_equal(descriptor->pData, edid, sizeof edid);
    assert_int_equal(descriptors->pfnAcquireNextDescriptorInfo(set, descriptor, &next),
                     STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET);
    assert_int_equal(descriptors->pfnReleaseDescriptorInfo(set, descriptor), STATUS_SUCCESS);
    assert_int_equal(interface->pfnGetMonitorFrequencyRangeSet(ADAPTER, 12, &range_set, &ranges),
                     STATUS_SUCCESS);
    assert_int_equal(ranges->pfnAcquireFirstFrequencyRangeInfo(range_set, &range),
                     STATUS_GRAPHICS_DATASET_IS_EMPTY);
    test_display_end(&test);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_modelled_monitor_has_three_modes),
        cmocka_unit_test(a_wrong_edid_is_none),
        cmocka_unit_test(a_driver_reads_the_modes_of_a_monitor),
        cmocka_unit_test(a_set_that_is_kept_until_the_stop_is_told),
        cmocka_unit_test(what_a_driver_has_of_a_monitor_outlives_its_cable),
        cmocka_unit_test(a_driver_reads_the_edid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
