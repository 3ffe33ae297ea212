#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "display/rig/test_display.h"

#include <stdio.h>
#include <string.h>

static void note_misuse(void *context, const char *text)
{
    struct test_display *test = context;

    test->misuses++;
    snprintf(test->misuse, sizeof test->misuse, "%s", text);
}

static void note_call(void *context, const char *function)
{
    ((struct test_display *)context)->calls++;
}

void test_display_begin(struct test_display *test)
{
    const struct display_config config = {.services = base_services_libc(),
                                          .context = test,
                                          .called = note_call,
                                          .misuse = note_misuse,
                                          .sources = TEST_SOURCES,
                                          .unpinned_status = STATUS_GRAPHICS_MODE_NOT_PINNED};

    memset(test, 0, sizeof *test);
    assert_int_equal(display_create(&config, &test->display), STATUS_SUCCESS);
    for (unsigned i = 0; i < TEST_TARGETS; i++)
        assert_true(display_add_target(test->display, 10 + i));
    assert_int_equal(display_network_create(test->display, &test->network), STATUS_SUCCESS);
    assert_int_equal(display_network_add_path(test->network, 0, 10), STATUS_SUCCESS);
    test->handle = display_network_handle(test->network);
    assert_int_equal(display_query_vidpn_interface(test->display, test->handle,
                                                   DXGK_VIDPN_INTERFACE_VERSION_V1, &test->vidpn),
                     STATUS_SUCCESS);
    assert_int_equal(
        test->vidpn->pfnGetTopology(test->handle, &test->topology_handle, &test->topology),
        STATUS_SUCCESS);
}

void test_display_end(struct test_display *test)
{
    assert_true(display_settle(test->display, "DxgkDdiTest"));
    assert_true(display_settle_monitors(test->display, "DxgkDdiTest"));
    if (test->misuses)
        print_error("%s\n", test->misuse);
    assert_int_equal(test->misuses, 0);
    display_destroy(test->display);
}

void test_expect_misuse(struct test_display *test, const char *text)
{
    assert_int_equal(test->misuses, 1);
    if (!strstr(test->misuse, text))
        print_error("'%s' is not in '%s'\n", text, test->misuse);
    assert_non_null(strstr(test->misuse, text));
    test->misuses = 0;
}

void test_fill_source(D3DKMDT_VIDPN_SOURCE_MODE *mode, uint32_t width, uint32_t height)
{
    mode->Type = D3DKMDT_RMT_GRAPHICS;
    mode->Format.Graphics.PrimSurfSize.cx = width;
    mode->Format.Graphics.PrimSurfSize.cy = height;
    mode->Format.Graphics.VisibleRegionSize = mode->Format.Graphics.PrimSurfSize;
    mode->Format.Graphics.Stride = width * 4;
    mode->Format.Graphics.PixelFormat = D3DDDIFMT_A8R8G8B8;
    mode->Format.Graphics.ColorBasis = D3DKMDT_CB_SRGB;
    mode->Format.Graphics.PixelValueAccessMode = D3DKMDT_PVAM_DIRECT;
}

void test_fill_target(D3DKMDT_VIDPN_TARGET_MODE *mode, uint32_t width, uint32_t height)
{
    mode->VideoSignalInfo.VideoStandard = D3DKMDT_VSS_OTHER;
    mode->VideoSignalInfo.ActiveSize.cx = width;
    mode->VideoSignalInfo.ActiveSize.cy = height;
    mode->VideoSignalInfo.TotalSize = mode->VideoSignalInfo.ActiveSize;
    mode->Preference = D3DKMDT_MP_PREFERRED;
}
