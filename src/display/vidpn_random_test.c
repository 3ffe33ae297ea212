/*
 * Random calls agree with the plainest model: for each target its source, for each source and
 * target the widths of its set in their order, and the pinned one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/rng.h"
#include "display/rig/test_display.h"

#include <limits.h>
#include <string.h>

#define MOST_MODES 4u
#define NO_SOURCE  UINT_MAX

struct plain_set {
    unsigned count;
    uint32_t widths[MOST_MODES];
    uint32_t pinned; /* 0: none */
};

struct plain {
    unsigned source_of[TEST_TARGETS];
    struct plain_set sets[TEST_SOURCES];
};

static bool has_path(const struct plain *plain, unsigned source)
{
    for (unsigned i = 0; i < TEST_TARGETS; i++) {
        if (plain->source_of[i] == source)
            return true;
    }
    return false;
}

static void add_path(struct test_display *test, struct plain *plain, struct rng *rng)
{
    const unsigned source = (unsigned)rng_below(rng, TEST_SOURCES);
    const unsigned target = (unsigned)rng_below(rng, TEST_TARGETS);
    NTSTATUS status = display_network_add_path(test->network, source, 10 + target);

    if (plain->source_of[target] != NO_SOURCE) {
        assert_int_equal(status, STATUS_GRAPHICS_PATH_ALREADY_IN_TOPOLOGY);
        return;
    }
    assert_int_equal(status, STATUS_SUCCESS);
    if (!has_path(plain, source))
        plain->sets[source] = (struct plain_set){0};
    plain->source_of[target] = source;
}

static void remove_path(struct test_display *test, struct plain *plain, struct rng *rng)
{
    const unsigned source = (unsigned)rng_below(rng, TEST_SOURCES);
    const unsigned target = (unsigned)rng_below(rng, TEST_TARGETS);
    NTSTATUS status = test->topology->pfnRemovePath(test->topology_handle, source, 10 + target);

    if (plain->source_of[target] != source) {
        assert_int_equal(status, STATUS_GRAPHICS_PATH_NOT_IN_TOPOLOGY);
        return;
    }
    assert_int_equal(status, STATUS_SUCCESS);
    plain->source_of[target] = NO_SOURCE;
}

static bool holds(const struct plain_set *set, uint32_t width)
{
    for (unsigned i = 0; i < set->count; i++) {
        if (set->widths[i] == width)
            return true;
    }
    return false;
}

static void assign(struct test_display *test, struct plain *plain, struct rng *rng)
{
    const unsigned source = (unsigned)rng_below(rng, TEST_SOURCES);
    const unsigned count = (unsigned)rng_below(rng, MOST_MODES + 1);
    const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
    struct plain_set *now = &plain->sets[source], set = {0};
    D3DKMDT_HVIDPNSOURCEMODESET handle;
    NTSTATUS status;

    assert_int_equal(test->vidpn->pfnCreateNewSourceModeSet(test->handle, source, &handle, &modes),
                     STATUS_SUCCESS);
    for (unsigned i = 0; i < count; i++) {
        const uint32_t width = 100 * (uint32_t)rng_between(rng, 1, 5);
        D3DKMDT_VIDPN_SOURCE_MODE *mode;

        assert_int_equal(modes->pfnCreateNewModeInfo(handle, &mode), STATUS_SUCCESS);
        test_fill_source(mode, width, 600);
        status = modes->pfnAddMode(handle, mode);
        if (holds(&set, width)) {
            assert_int_equal(status, STATUS_GRAPHICS_MODE_ALREADY_IN_MODESET);
            assert_int_equal(modes->pfnReleaseModeInfo(handle, mode), STATUS_SUCCESS);
        } else {
            assert_int_equal(status, STATUS_SUCCESS);
            set.widths[set.count++] = width;
        }
    }
    /* A source that is in no path has no set; one that is given is its set all the same. */
    if (!has_path(plain, source) || rng_chance(rng, 1, 4)) {
        assert_int_equal(test->vidpn->pfnReleaseSourceModeSet(test->handle, handle),
                         STATUS_SUCCESS);
        return;
    }
    status = test->vidpn->pfnAssignSourceModeSet(test->handle, source, handle);
    if (now->pinned && !holds(&set, now->pinned)) {
        assert_int_equal(status, STATUS_GRAPHICS_PINNED_MODE_MUST_REMAIN_IN_SET);
        assert_int_equal(test->vidpn->pfnReleaseSourceModeSet(test->handle, handle),
                         STATUS_SUCCESS);
        return;
    }
    assert_int_equal(status, STATUS_SUCCESS);
    set.pinned = now->pinned;
    *now = set;
}

static void pin(struct test_display *test, struct plain *plain, struct rng *rng)
{
    const unsigned source = (unsigned)rng_below(rng, TEST_SOURCES);
    const unsigned index = (unsigned)rng_below(rng, MOST_MODES + 1);
    struct plain_set *set = &plain->sets[source];
    const bool can = has_path(plain, source) && (index == MOST_MODES || index < set->count);

    assert_int_equal(
        display_network_pin_source(test->network, source, index == MOST_MODES ? UINT_MAX : index),
        can);
    if (can)
        set->pinned = index == MOST_MODES ? 0 : set->widths[index];
}

/* What a driver sees. */
static void compare(struct test_display *test, const struct plain *plain)
{
    SIZE_T paths = 0, told;

    for (unsigned source = 0; source < TEST_SOURCES; source++) {
        const struct plain_set *set = &plain->sets[source];
        const DXGK_VIDPNSOURCEMODESET_INTERFACE *modes;
        const D3DKMDT_VIDPN_SOURCE_MODE *mode = NULL, *next;
        D3DKMDT_HVIDPNSOURCEMODESET handle;
        NTSTATUS status;

        status = test->vidpn->pfnAcquireSourceModeSet(test->handle, source, &handle, &modes);
        if (!has_path(plain, source)) {
            assert_int_equal(status, STATUS_GRAPHICS_SOURCE_NOT_IN_TOPOLOGY);
            continue;
        }
        assert_int_equal(status, STATUS_SUCCESS);
        assert_int_equal(modes->pfnGetNumModes(handle, &told), STATUS_SUCCESS);
        assert_int_equal(told, set->count);
        for (unsigned i = 0; i < set->count; i++) {
            status = mode ? modes->pfnAcquireNextModeInfo(handle, mode, &next)
                          : modes->pfnAcquireFirstModeInfo(handle, &next);
            assert_int_equal(status, STATUS_SUCCESS);
            assert_int_equal(next->Format.Graphics.PrimSurfSize.cx, set->widths[i]);
            if (mode)
                assert_int_equal(modes->pfnReleaseModeInfo(handle, mode), STATUS_SUCCESS);
            mode = next;
        }
        if (mode)
            assert_int_equal(modes->pfnReleaseModeInfo(handle, mode), STATUS_SUCCESS);
        assert_int_equal(modes->pfnAcquirePinnedModeInfo(handle, &mode),
                         set->pinned ? STATUS_SUCCESS : STATUS_GRAPHICS_MODE_NOT_PINNED);
        assert_int_equal(mode ? mode->Format.Graphics.PrimSurfSize.cx : 0, set->pinned);
        if (mode)
            assert_int_equal(modes->pfnReleaseModeInfo(handle, mode), STATUS_SUCCESS);
        assert_int_equal(test->vidpn->pfnReleaseSourceModeSet(test->handle, handle),
                         STATUS_SUCCESS);
    }
    for (unsigned i = 0; i < TEST_TARGETS; i++) {
        D3DDDI_VIDEO_PRESENT_SOURCE_ID source;
        NTSTATUS status =
            test->topology->pfnGetPathSourceFromTarget(test->topology_handle, 10 + i, &source);

        paths += plain->source_of[i] != NO_SOURCE;
        if (plain->source_of[i] == NO_SOURCE) {
            assert_int_equal(status, STATUS_GRAPHICS_TARGET_NOT_IN_TOPOLOGY);
        } else {
            assert_int_equal(status, STATUS_SUCCESS);
            assert_int_equal(source, plain->source_of[i]);
        }
    }
    assert_int_equal(test->topology->pfnGetNumPaths(test->topology_handle, &told), STATUS_SUCCESS);
    assert_int_equal(told, paths);
}

static void random_calls_agree_with_a_plain_model(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct plain plain = {.source_of = {0, NO_SOURCE, NO_SOURCE}};
        struct test_display test;
        struct rng rng;

        rng_init(&rng, seed);
        test_display_begin(&test);
        for (unsigned i = 0; i < 80; i++) {
            switch (rng_below(&rng, 5)) {
            case 0:
                add_path(&test, &plain, &rng);
                break;
            case 1:
                remove_path(&test, &plain, &rng);
                break;
            case 2:
                pin(&test, &plain, &rng);
                break;
            default:
                assign(&test, &plain, &rng);
                break;
            }
            compare(&test, &plain);
        }
        test_display_end(&test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_agree_with_a_plain_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
