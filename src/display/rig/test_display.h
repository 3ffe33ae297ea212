/*
 * What the tests of display share: a display with two sources and three targets, and what is told
 * of misuse.
 */
#ifndef DRYDOCK_DISPLAY_TEST_DISPLAY_H
#define DRYDOCK_DISPLAY_TEST_DISPLAY_H

#include "display/display.h"

struct test_display {
    struct display *display;
    struct display_network *network;
    D3DKMDT_HVIDPN handle;
    const DXGK_VIDPN_INTERFACE *vidpn;
    D3DKMDT_HVIDPNTOPOLOGY topology_handle;
    const DXGK_VIDPNTOPOLOGY_INTERFACE *topology;
    unsigned misuses;
    char misuse[256]; /* the last one */
    unsigned calls;
};

#define TEST_SOURCES 2u
#define TEST_TARGETS 3u

/* Targets 10, 11, 12; a network with a path from source 0 to target 10. */
void test_display_begin(struct test_display *test);
/* Nothing was told that the test has not looked at. */
void test_display_end(struct test_display *test);

/* The last misuse has this text in it, and there was one; none is left to look at then. */
void test_expect_misuse(struct test_display *test, const char *text);

/* A mode of a source with all that it needs, in a new info. */
void test_fill_source(D3DKMDT_VIDPN_SOURCE_MODE *mode, uint32_t width, uint32_t height);
void test_fill_target(D3DKMDT_VIDPN_TARGET_MODE *mode, uint32_t width, uint32_t height);

#endif
