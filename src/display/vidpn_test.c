#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/failing_services.h"
#include "display/rig/test_display.h"

#include <limits.h>
#include <string.h>

#define SOURCE_SET D3DKMDT_HVIDPNSOURCEMODESET

/* A new set of source 0 with modes of these widths, assigned. */
static void give_source_modes(struct test_display *test, const uint32_t *widths, unsigned count)
{
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    D3DKMDT_VIDPN_SOURCE_MODE *mode;
    SOURCE_SET set;

    assert_int_equal(test->vidpn->pfnCreateNewSourceModeSet(test->handle, 0, &set, &modes),
                     STATUS_SUCCESS);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(modes->pfnCreateNewModeInfo(set, &mode), STATUS_SUCCESS);
        assert_int_equal(mode->Type, D3DKMDT_RMT_UNINITIALIZED);
        test_fill_source(mode, widths[i], 600);
        assert_int_equal(modes->pfnAddMode(set, mode), STATUS_SUCCESS);
    }
    assert_int_equal(test->vidpn->pfnAssignSourceModeSet(test->handle, 0, set), STATUS_SUCCESS);
}

static void a_driver_walks_what_the_network_has(void **state)
{
    struct test_display test;
    const D3DKMDT_VIDPN_PRESENT_PATH *path, *next;
    D3DDDI_VIDEO_PRESENT_TARGET_ID target;
    D3DDDI_VIDEO_PRESENT_SOURCE_ID source;
    SIZE_T count;

    test_display_begin(&test);
    assert_int_equal(display_network_add_path(test.network, 0, 11), STATUS_SUCCESS);
    assert_int_equal(test.topology->pfnGetNumPaths(test.topology_handle, &count), STATUS_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(test.topology->pfnGetNumPathsFromSource(test.topology_handle, 0, &count),
                     STATUS_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(test.topology->pfnGetNumPathsFromSource(test.topology_handle, 1, &count),
                     STATUS_SUCCESS);
    assert_int_equal(count, 0);
    assert_int_equal(
        test.topology->pfnEnumPathTargetsFromSource(test.topology_handle, 0, 1, &target),
        STATUS_SUCCESS);
    assert_int_equal(target, 11);
    assert_int_equal(
        test.topology->pfnEnumPathTargetsFromSource(test.topology_handle, 0, 2, &target),
        STATUS_INVALID_PARAMETER);
    assert_int_equal(test.topology->pfnGetPathSourceFromTarget(test.topology_handle, 11, &source),
                     STATUS_SUCCESS);
    assert_int_equal(source, 0);
    assert_int_equal(test.topology->pfnGetPathSourceFromTarget(test.topology_handle, 12, &source),
                     STATUS_GRAPHICS_TARGET_NOT_IN_TOPOLOGY);
    assert_int_equal(test.topology->pfnGetPathSourceFromTarget(test.topology_handle, 9, &source),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET);
    assert_int_equal(test.topology->pfnAcquireFirstPathInfo(test.topology_handle, &path),
                     STATUS_SUCCESS);
    assert_int_equal(path->VidPnTargetId, 10);
    assert_int_equal(test.topology->pfnAcquireNextPathInfo(test.topology_handle, path, &next),
                     STATUS_SUCCESS);
    assert_int_equal(next->VidPnTargetId, 11);
    assert_int_equal(test.topology->pfnReleasePathInfo(test.topology_handle, path), STATUS_SUCCESS);
    assert_int_equal(test.topology->pfnAcquireNextPathInfo(test.topology_handle, next, &path),
                     STATUS_GRAPHICS_NO_MORE_ELEMENTS_IN_DATASET);
    assert_null(path);
    assert_int_equal(test.topology->pfnReleasePathInfo(test.topology_handle, next), STATUS_SUCCESS);
    assert_int_equal(test.topology->pfnAcquirePathInfo(test.topology_handle, 1, 10, &path),
                     STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY);
    assert_int_equal(test.topology->pfnAcquirePathInfo(test.topology_handle, 2, 10, &path),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE);
    assert_true(test.calls > 10);
    test_display_end(&test);
}

static void an_empty_topology_says_so(void **state)
{
    struct test_display test;
    const D3DKMDT_VIDPN_PRESENT_PATH *path;

    test_display_begin(&test);
    assert_int_equal(test.topology->pfnRemovePath(test.topology_handle, 0, 10), STATUS_SUCCESS);
    assert_int_equal(test.topology->pfnRemovePath(test.topology_handle, 0, 10),
                     STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY);
    assert_int_equal(test.topology->pfnAcquireFirstPathInfo(test.topology_handle, &path),
                     STATUS_GRAPHICS_DATASET_IS_EMPTY);
    assert_null(display_network_source_set(test.network, 0));
    test_display_end(&test);
}

static void a_new_path_gets_its_sets(void **state)
{
    struct test_display test;
    D3DKMDT_VIDPN_PRESENT_PATH *path;

    test_display_begin(&test);
    assert_int_equal(test.topology->pfnCreateNewPathInfo(test.topology_handle, &path),
                     STATUS_SUCCESS);
    path->VidPnSourceId = 1;
    path->VidPnTargetId = 10;
    assert_int_equal(test.topology->pfnAddPath(test.topology_handle, path),
                     STATUS_GRAPHICS_PATH_ALREADY_IN_TOPOLOGY);
    path->VidPnTargetId = 12;
    assert_int_equal(test.topology->pfnAddPath(test.topology_handle, path), STATUS_SUCCESS);
    assert_non_null(display_network_source_set(test.network, 1));
    assert_non_null(display_network_target_set(test.network, 12));
    test_display_end(&test);
}

static void support_is_kept_with_the_path(void **state)
{
    struct test_display test;
    const D3DKMDT_VIDPN_PRESENT_PATH *path;
    D3DKMDT_VIDPN_PRESENT_PATH own, now;

    test_display_begin(&test);
    assert_int_equal(test.topology->pfnAcquireFirstPathInfo(test.topology_handle, &path),
                     STATUS_SUCCESS);
    own = *path;
    own.ContentTransformation.ScalingSupport.Identity = 1;
    own.ContentTransformation.RotationSupport.Rotate90 = 1;
    own.ContentTransformation.Scaling = D3DKMDT_VPPS_CENTERED; /* support alone is taken */
    assert_int_equal(test.topology->pfnUpdatePathSupportInfo(test.topology_handle, &own),
                     STATUS_SUCCESS);
    assert_int_equal(test.topology->pfnReleasePathInfo(test.topology_handle, path), STATUS_SUCCESS);
    assert_true(display_network_get_path(test.network, 0, &now));
    assert_int_equal(now.ContentTransformation.ScalingSupport.Identity, 1);
    assert_int_equal(now.ContentTransformation.RotationSupport.Rotate90, 1);
    assert_int_equal(now.ContentTransformation.Scaling, D3DKMDT_VPPS_UNPINNED);
    own.VidPnTargetId = 11;
    assert_int_equal(test.topology->pfnUpdatePathSupportInfo(test.topology_handle, &own),
                     STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH);
    test_display_end(&test);
}

static void an_assigned_set_replaces_the_one_before(void **state)
{
    static const uint32_t first[] = {640, 800}, second[] = {1024};
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    const D3DKMDT_VIDPN_SOURCE_MODE *mode, *next;
    struct test_display test;
    SOURCE_SET set;
    SIZE_T count;

    test_display_begin(&test);
    give_source_modes(&test, first, 2);
    assert_int_equal(test.vidpn->pfnAcquireSourceModeSet(test.handle, 0, &set, &modes),
                     STATUS_SUCCESS);
    give_source_modes(&test, second, 1);
    assert_int_equal(display_network_source_modes(test.network, 0), 1);
    /* What the driver has acquired is good until it is released. */
    assert_int_equal(modes->pfnGetNumModes(set, &count), STATUS_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(modes->pfnAcquireFirstModeInfo(set, &mode), STATUS_SUCCESS);
    assert_int_equal(mode->Format.Graphics.PrimSurfSize.cx, 640);
    assert_int_equal(modes->pfnAcquireNextModeInfo(set, mode, &next), STATUS_SUCCESS);
    assert_int_equal(next->Format.Graphics.PrimSurfSize.cx, 800);
    assert_int_not_equal(next->Id, mode->Id);
    assert_int_equal(modes->pfnReleaseModeInfo(set, mode), STATUS_SUCCESS);
    assert_int_equal(modes->pfnReleaseModeInfo(set, next), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(test.handle, set), STATUS_SUCCESS);
    assert_int_equal(modes->pfnGetNumModes(set, &count),
                     STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET);
    test_expect_misuse(&test, "is no handle of a source mode set any more");
    test_display_end(&test);
}

static void a_pinned_mode_remains(void **state)
{
    static const uint32_t both[] = {640, 800}, other[] = {1024};
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    const D3DKMDT_VIDPN_SOURCE_MODE *pinned;
    struct test_display test;
    SOURCE_SET set;
    D3DKMDT_VIDPN_SOURCE_MODE *mode;

    test_display_begin(&test);
    give_source_modes(&test, both, 2);
    assert_int_equal(test.vidpn->pfnAcquireSourceModeSet(test.handle, 0, &set, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(modes->pfnAcquirePinnedModeInfo(set, &pinned),
                     STATUS_GRAPHICS_MODE_NOT_PINNED);
    assert_null(pinned);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(test.handle, set), STATUS_SUCCESS);
    assert_true(display_network_pin_source(test.network, 0, 1));
    give_source_modes(&test, both + 1, 1); /* 800 is in it */
    assert_int_equal(test.vidpn->pfnAcquireSourceModeSet(test.handle, 0, &set, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(modes->pfnAcquirePinnedModeInfo(set, &pinned), STATUS_SUCCESS);
    assert_int_equal(pinned->Format.Graphics.PrimSurfSize.cx, 800);
    assert_int_equal(modes->pfnReleaseModeInfo(set, pinned), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(test.handle, set), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnCreateNewSourceModeSet(test.handle, 0, &set, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(modes->pfnCreateNewModeInfo(set, &mode), STATUS_SUCCESS);
    test_fill_source(mode, other[0], 600);
    assert_int_equal(modes->pfnAddMode(set, mode), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnAssignSourceModeSet(test.handle, 0, set),
                     STATUS_GRAPHICS_PINNED_MODE_MUST_REMAIN_IN_SET);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(test.handle, set), STATUS_SUCCESS);
    assert_true(display_network_pin_source(test.network, 0, UINT_MAX));
    give_source_modes(&test, other, 1);
    test_display_end(&test);
}

static void a_mode_is_added_once_and_whole(void **state)
{
    static const size_t holes[] = {
        offsetof(D3DKMDT_VIDPN_TARGET_MODE, VideoSignalInfo),
        offsetof(D3DKMDT_VIDPN_TARGET_MODE, VideoSignalInfo.PixelRate),
        offsetof(D3DKMDT_VIDPN_TARGET_MODE, VideoSignalInfo) + sizeof(D3DKMDT_VIDEO_SIGNAL_INFO),
    };
    const DXGK_VIDPNTARGETMODESET_INTERFACE *modes;
    D3DKMDT_HVIDPNTARGETMODESET set, other;
    D3DKMDT_VIDPN_TARGET_MODE *mode;
    struct test_display test;
    UINT id;

    test_display_begin(&test);
    assert_int_equal(test.vidpn->pfnCreateNewTargetModeSet(test.handle, 10, &set, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnCreateNewTargetModeSet(test.handle, 10, &other, &modes),
                     STATUS_GRAPHICS_UNASSIGNED_MODESET_ALREADY_EXISTS);
    assert_int_equal(test.vidpn->pfnCreateNewTargetModeSet(test.handle, 13, &other, &modes),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET);
    assert_int_equal(test.vidpn->pfnAcquireTargetModeSet(test.handle, 11, &other, &modes),
                     STATUS_GRAPHICS_TARGET_NOT_IN_TOPOLOGY);
    modes = &(const DXGK_VIDPNTARGETMODESET_INTERFACE){0};
    assert_int_equal(test.vidpn->pfnAcquireTargetModeSet(test.handle, 10, &other, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnReleaseTargetModeSet(test.handle, other), STATUS_SUCCESS);
    assert_int_equal(modes->pfnCreateNewModeInfo(set, &mode), STATUS_SUCCESS);
    assert_int_equal(modes->pfnAddMode(set, mode),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET_MODE);
    id = mode->Id;
    test_fill_target(mode, 640, 480);
    mode->Id = 0; /* which is told to nobody, and changes nothing (Microsoft's imx6dod does so) */
    assert_int_equal(modes->pfnAddMode(set, mode), STATUS_SUCCESS);
    assert_int_equal(modes->pfnCreateNewModeInfo(set, &mode), STATUS_SUCCESS);
    assert_int_not_equal(mode->Id, id);
    test_fill_target(mode, 640, 480);
    for (size_t i = 0; i < ARRAY_COUNT(holes); i++) /* what lies between members is no value */
        memset((char *)mode + holes[i] - 4, 0xee, 4);
    assert_int_equal(modes->pfnAddMode(set, mode), STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET);
    assert_int_equal(modes->pfnReleaseModeInfo(set, mode), STATUS_SUCCESS);
    assert_int_equal(modes->pfnPinMode(set, id + 77),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET_MODE);
    assert_int_equal(modes->pfnPinMode(set, id), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnAssignTargetModeSet(test.handle, 10, set), STATUS_SUCCESS);
    assert_int_equal(display_network_target_modes(test.network, 10), 1);
    test_display_end(&test);
}

/* As virtio's driver adds its target modes, and what Microsoft's sample asks of a path. */
static void public_drivers_get_their_modes(void **state)
{
    const DXGK_VIDPNTARGETMODESET_INTERFACE *modes;
    D3DKMDT_VIDPN_PRESENT_PATH path;
    D3DKMDT_HVIDPNTARGETMODESET set;
    D3DKMDT_VIDPN_TARGET_MODE *mode;
    struct test_display test;

    test_display_begin(&test);
    assert_int_equal(test.vidpn->pfnCreateNewTargetModeSet(test.handle, 10, &set, &modes),
                     STATUS_SUCCESS);
    assert_int_equal(modes->pfnCreateNewModeInfo(set, &mode), STATUS_SUCCESS);
    test_fill_target(mode, 640, 480);
    memset(&mode->VideoSignalInfo.ActiveSize, 0, sizeof mode->VideoSignalInfo.ActiveSize);
    assert_int_equal(modes->pfnAddMode(set, mode), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnAssignTargetModeSet(test.handle, 10, set), STATUS_SUCCESS);
    assert_true(display_network_get_path(test.network, 0, &path));
    assert_int_equal(path.VidPnTargetColorBasis, D3DKMDT_CB_SCRGB);
    test_display_end(&test);
}

/* ---- Misuse ---------------------------------------------------------------------------------- */

static void wrong_handles_are_told_and_harm_nothing(void **state)
{
    struct test_display test;
    SIZE_T count;

    test_display_begin(&test);
    assert_int_equal(test.topology->pfnGetNumPaths((D3DKMDT_HVIDPNTOPOLOGY)test.handle, &count),
                     STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY);
    test_expect_misuse(&test, "the handle of a VidPN for that of a VidPN topology");
    assert_int_equal(test.topology->pfnGetNumPaths(NULL, &count),
                     STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY);
    test_expect_misuse(&test, "DXGK_VIDPNTOPOLOGY_INTERFACE.pfnGetNumPaths is given (nil)");
    assert_int_equal(
        test.topology->pfnGetNumPaths((D3DKMDT_HVIDPNTOPOLOGY)(uintptr_t)0x1234, &count),
        STATUS_GRAPHICS_INVALID_VIDPN_TOPOLOGY);
    test_expect_misuse(&test, "0x1234, which is no handle");
    assert_int_equal(test.topology->pfnGetNumPaths(test.topology_handle, NULL),
                     STATUS_INVALID_PARAMETER);
    test_expect_misuse(&test, "NULL for the place of its answer");
    test_display_end(&test);
}

static void what_is_not_released_is_told(void **state)
{
    D3DKMDT_VIDPN_SOURCE_MODE *mode;
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    const D3DKMDT_VIDPN_PRESENT_PATH *path;
    struct test_display test;
    SOURCE_SET set;

    test_display_begin(&test);
    test.topology->pfnAcquireFirstPathInfo(test.topology_handle, &path);
    assert_false(display_settle(test.display, "DxgkDdiIsSupportedVidPn"));
    test_expect_misuse(&test, "DxgkDdiIsSupportedVidPn has returned, and an info of "
                              "DXGK_VIDPNTOPOLOGY_INTERFACE.pfnAcquireFirstPathInfo");
    test.vidpn->pfnAcquireSourceModeSet(test.handle, 0, &set, &modes);
    assert_false(display_settle(test.display, "DxgkDdiCommitVidPn"));
    test_expect_misuse(&test, "a source mode set that it has acquired has not been released");
    test.vidpn->pfnCreateNewSourceModeSet(test.handle, 0, &set, &modes);
    assert_false(display_settle(test.display, "DxgkDdiCommitVidPn"));
    test_expect_misuse(&test, "has created has not been assigned or released");
    /* The set goes first, and the driver may write to the info that it has. */
    test.vidpn->pfnCreateNewSourceModeSet(test.handle, 0, &set, &modes);
    assert_int_equal(modes->pfnCreateNewModeInfo(set, &mode), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(test.handle, set), STATUS_SUCCESS);
    test_fill_source(mode, 640, 480);
    assert_false(display_settle(test.display, "DxgkDdiCommitVidPn"));
    test_expect_misuse(&test, "pfnCreateNewModeInfo has not been released or added");
    test_display_end(&test);
}

static void what_is_released_twice_is_told(void **state)
{
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    const D3DKMDT_VIDPN_PRESENT_PATH *path;
    struct test_display test;
    SOURCE_SET set;

    test_display_begin(&test);
    test.topology->pfnAcquireFirstPathInfo(test.topology_handle, &path);
    assert_int_equal(test.topology->pfnReleasePathInfo(test.topology_handle, path), STATUS_SUCCESS);
    assert_int_equal(test.topology->pfnReleasePathInfo(test.topology_handle, path),
                     STATUS_GRAPHICS_INVALID_VIDPN_PRESENT_PATH);
    test_expect_misuse(&test, "pfnReleasePathInfo is given an info of "
                              "DXGK_VIDPNTOPOLOGY_INTERFACE.pfnAcquireFirstPathInfo that has been");
    test.vidpn->pfnAcquireSourceModeSet(test.handle, 0, &set, &modes);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(test.handle, set), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(test.handle, set),
                     STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET);
    test_expect_misuse(&test, "that is not acquired");
    test_display_end(&test);
}

static void writes_to_what_is_lent_are_told(void **state)
{
    const D3DKMDT_VIDPN_PRESENT_PATH *path;
    struct test_display test;
    unsigned char *behind;

    test_display_begin(&test);
    test.topology->pfnAcquireFirstPathInfo(test.topology_handle, &path);
    ((D3DKMDT_VIDPN_PRESENT_PATH *)(uintptr_t)path)->Content = D3DKMDT_VPPC_VIDEO;
    test.topology->pfnReleasePathInfo(test.topology_handle, path);
    test_expect_misuse(&test, "to be read only and has changed");
    test.topology->pfnAcquireFirstPathInfo(test.topology_handle, &path);
    behind = (unsigned char *)(uintptr_t)(path + 1);
    behind[3] = 0;
    test.topology->pfnReleasePathInfo(test.topology_handle, path);
    test_expect_misuse(&test, "behind whose end");
    test_display_end(&test);
}

static void sets_of_another_network_or_owner_are_refused(void **state)
{
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    struct display_network *other;
    struct test_display test;
    SOURCE_SET set;

    test_display_begin(&test);
    assert_int_equal(display_network_create(test.display, &other), STATUS_SUCCESS);
    assert_int_equal(display_network_add_path(other, 1, 11), STATUS_SUCCESS);
    test.vidpn->pfnCreateNewSourceModeSet(test.handle, 0, &set, &modes);
    assert_int_equal(test.vidpn->pfnAssignSourceModeSet(display_network_handle(other), 1, set),
                     STATUS_GRAPHICS_RESOURCES_NOT_RELATED);
    assert_int_equal(test.vidpn->pfnReleaseSourceModeSet(display_network_handle(other), set),
                     STATUS_GRAPHICS_RESOURCES_NOT_RELATED);
    assert_int_equal(test.vidpn->pfnAssignSourceModeSet(test.handle, 2, set),
                     STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_SOURCE);
    assert_int_equal(test.vidpn->pfnAssignSourceModeSet(test.handle, 0, set), STATUS_SUCCESS);
    assert_int_equal(test.vidpn->pfnAssignSourceModeSet(test.handle, 0, set),
                     STATUS_GRAPHICS_INVALID_VIDPN_SOURCEMODESET);
    test_expect_misuse(&test, "is assigned already");
    display_network_destroy(other);
    test_display_end(&test);
}

static void interfaces_have_versions(void **state)
{
    const DXGK_VIDPN_INTERFACE *vidpn;
    struct test_display test;

    test_display_begin(&test);
    assert_int_equal(display_query_vidpn_interface(test.display, test.handle,
                                                   DXGK_VIDPN_INTERFACE_VERSION_V2, &vidpn),
                     STATUS_SUCCESS);
    assert_int_equal(vidpn->Version, DXGK_VIDPN_INTERFACE_VERSION_V2);
    assert_int_equal(test.vidpn->Version, DXGK_VIDPN_INTERFACE_VERSION_V1);
    assert_int_equal(display_query_vidpn_interface(test.display, test.handle,
                                                   (DXGK_VIDPN_INTERFACE_VERSION)3, &vidpn),
                     STATUS_NOT_SUPPORTED);
    assert_null(vidpn);
    assert_int_equal(
        display_query_vidpn_interface(test.display, NULL, DXGK_VIDPN_INTERFACE_VERSION_V1, &vidpn),
        STATUS_GRAPHICS_INVALID_VIDPN);
    test_expect_misuse(&test, "DxgkCbQueryVidPnInterface");
    test_display_end(&test);
}

static void every_nth_allocation_failure_leaves_it_whole(void **state)
{
    for (unsigned n = 1; n < 24; n++) {
        struct failing_services failing;
        struct display_config config = {.sources = 1};
        const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
        const DXGK_VIDPN_INTERFACE *vidpn;
        struct display_network *network;
        D3DKMDT_VIDPN_SOURCE_MODE *mode;
        struct display *display;
        SOURCE_SET set;

        failing_services_init(&failing);
        failing_services_fail_at(&failing, n);
        config.services = &failing.services;
        if (NT_SUCCESS(display_create(&config, &display))) {
            display_add_target(display, 7);
            display_connect(display, 7, NULL, 0);
            if (NT_SUCCESS(display_network_create(display, &network)) &&
                NT_SUCCESS(display_network_add_path(network, 0, 7))) {
                display_query_vidpn_interface(display, display_network_handle(network),
                                              DXGK_VIDPN_INTERFACE_VERSION_V1, &vidpn);
                if (NT_SUCCESS(vidpn->pfnCreateNewSourceModeSet(display_network_handle(network), 0,
                                                                &set, &modes)) &&
                    NT_SUCCESS(modes->pfnCreateNewModeInfo(set, &mode))) {
                    test_fill_source(mode, 640, 480);
                    modes->pfnAddMode(set, mode);
                }
            }
            display_destroy(display);
        }
        assert_int_equal(failing.live_blocks, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_walks_what_the_network_has),
        cmocka_unit_test(an_empty_topology_says_so),
        cmocka_unit_test(a_new_path_gets_its_sets),
        cmocka_unit_test(support_is_kept_with_the_path),
        cmocka_unit_test(an_assigned_set_replaces_the_one_before),
        cmocka_unit_test(a_pinned_mode_remains),
        cmocka_unit_test(a_mode_is_added_once_and_whole),
        cmocka_unit_test(public_drivers_get_their_modes),
        cmocka_unit_test(wrong_handles_are_told_and_harm_nothing),
        cmocka_unit_test(what_is_not_released_is_told),
        cmocka_unit_test(what_is_released_twice_is_told),
        cmocka_unit_test(writes_to_what_is_lent_are_told),
        cmocka_unit_test(sets_of_another_network_or_owner_are_refused),
        cmocka_unit_test(interfaces_have_versions),
        cmocka_unit_test(every_nth_allocation_failure_leaves_it_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
