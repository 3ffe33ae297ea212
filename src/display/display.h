/*
 * Display: video present networks (VidPN) and monitors, as the graphics kernel has them for one
 * adapter, with the functions that a driver calls on them.
 *
 * Place      display. Uses base only; knows no driver, no bench and no kernel services. Used by
 *            whoever negotiates modes with a driver.
 * Model      A network has paths, each from a source to a target, a set of modes for each source
 *            and each target of its paths, and in each set at most one pinned mode. A driver gets
 *            handles of networks, topologies and sets, and infos: copies of paths and modes.
 *            Handles are numbers of the kernel's half, looked up and never followed. What a driver
 *            acquires or creates is counted: display_settle() tells what it has not released.
 *            A monitor has the modes of its EDID.
 * Ownership  display_create() gives the display, display_network_create() a network, which must be
 *            destroyed before the display. Infos are lent until the driver releases them; their
 *            memory is poisoned then, and freed at display_settle() or with the display.
 * Errors     NTSTATUS, as the page of each function says. What no page allows (a handle of
 *            another kind, a second release, a write to what is lent to be read) is told to
 *            misuse() besides, with the name of the function.
 * Limits     The pages of two functions name interfaces that no public page describes:
 *            pfnGetAdditionalMonitorModeSet gives an empty set.
 * Source     The public DDI reference of DXGK_VIDPN_INTERFACE, DXGK_VIDPNTOPOLOGY_INTERFACE,
 *            DXGK_VIDPNSOURCEMODESET_INTERFACE, DXGK_VIDPNTARGETMODESET_INTERFACE,
 *            DXGK_MONITOR_INTERFACE and DXGK_MONITORSOURCEMODESET_INTERFACE.
 */
#ifndef DRYDOCK_DISPLAY_DISPLAY_H
#define DRYDOCK_DISPLAY_DISPLAY_H

#include "base/services.h"

#include <stdbool.h>
#include <stdint.h>

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#define DISPLAY_MOST_TARGETS 16u

struct display;
struct display_network;

struct display_config {
    const struct base_services *services;
    void *context;
    /* At the begin of each function that the driver calls; NULL: nobody wants to know. */
    void (*called)(void *context, const char *function);
    /* What no page allows. */
    void (*misuse)(void *context, const char *text);
    /* The address by which the driver calls a function; NULL: its own. */
    const void *(*bind)(void *context, const void *function);
    unsigned sources;         /* video present sources: 0 .. sources - 1 */
    NTSTATUS unpinned_status; /* of pfnAcquirePinnedModeInfo, with NULL for the mode: a success */
};

/* STATUS_NO_MEMORY, or STATUS_INSUFFICIENT_RESOURCES where bind() gives NULL. */
NTSTATUS display_create(const struct display_config *config, struct display **out_display);
/* Every network has been destroyed. NULL is nothing. */
void display_destroy(struct display *display);

/* A child that is a video output, its identifier being ChildUid. False: there are too many. */
bool display_add_target(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID target);

/*
 * Nothing of a network is the driver's when the DDI that was given its handle returns: what it has
 * not released is told to misuse(), and taken back. True: it has released everything.
 */
bool display_settle(struct display *display, const char *ddi);
/* The same for sets of monitor modes, when the driver has been stopped. */
bool display_settle_monitors(struct display *display, const char *ddi);

/* ---- Networks -------------------------------------------------------------------------------- */

NTSTATUS display_network_create(struct display *display, struct display_network **out_network);
void display_network_destroy(struct display_network *network);

D3DKMDT_HVIDPN display_network_handle(const struct display_network *network);

/* Each of the two gets an empty set of modes. STATUS_NO_MEMORY and those of pfnAddPath. */
NTSTATUS display_network_add_path(struct display_network *network,
                                  D3DDDI_VIDEO_PRESENT_SOURCE_ID source,
                                  D3DDDI_VIDEO_PRESENT_TARGET_ID target);
bool display_network_get_path(const struct display_network *network, unsigned index,
                              D3DKMDT_VIDPN_PRESENT_PATH *out_path);
/* Of all paths. */
void display_network_set_transformation(struct display_network *network,
                                        D3DKMDT_VIDPN_PRESENT_PATH_SCALING scaling,
                                        D3DKMDT_VIDPN_PRESENT_PATH_ROTATION rotation);

/* The sets; NULL or 0 where the network has no such source or target. */
D3DKMDT_HVIDPNSOURCEMODESET display_network_source_set(const struct display_network *network,
                                                       D3DDDI_VIDEO_PRESENT_SOURCE_ID source);
D3DKMDT_HVIDPNTARGETMODESET display_network_target_set(const struct display_network *network,
                                                       D3DDDI_VIDEO_PRESENT_TARGET_ID target);
unsigned display_network_source_modes(const struct display_network *network,
                                      D3DDDI_VIDEO_PRESENT_SOURCE_ID source);
unsigned display_network_target_modes(const struct display_network *network,
                                      D3DDDI_VIDEO_PRESENT_TARGET_ID target);
bool display_network_get_source_mode(const struct display_network *network,
                                     D3DDDI_VIDEO_PRESENT_SOURCE_ID source, unsigned index,
                                     D3DKMDT_VIDPN_SOURCE_MODE *out_mode);
bool display_network_get_target_mode(const struct display_network *network,
                                     D3DDDI_VIDEO_PRESENT_TARGET_ID target, unsigned index,
                                     D3DKMDT_VIDPN_TARGET_MODE *out_mode);
/* The mode at the index; UINT_MAX: none is pinned any more. */
bool display_network_pin_source(struct display_network *network,
                                D3DDDI_VIDEO_PRESENT_SOURCE_ID source, unsigned index);
bool display_network_pin_target(struct display_network *network,
                                D3DDDI_VIDEO_PRESENT_TARGET_ID target, unsigned index);

/* ---- Monitors -------------------------------------------------------------------------------- */

#define DISPLAY_EDID_BYTES 128u

/* The modelled monitor: 1920x1080 is preferred, 1024x768 and 640x480 are there. */
void display_make_edid(uint8_t edid[DISPLAY_EDID_BYTES]);

/* Header and checksum of the base block are right. */
bool display_is_edid(const uint8_t *edid, size_t bytes);

/*
 * A monitor is plugged into the target. Its modes are those of its EDID; those of the modelled
 * monitor without one, or where it names none. STATUS_NO_MEMORY,
 * STATUS_GRAPHICS_INVALID_VIDEO_PRESENT_TARGET.
 */
NTSTATUS display_connect(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID target,
                         const uint8_t *edid, size_t bytes);
void display_disconnect(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID target);
bool display_is_connected(const struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID target);

unsigned display_monitor_modes(const struct display *display,
                               D3DDDI_VIDEO_PRESENT_TARGET_ID target);
bool display_get_monitor_mode(const struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID target,
                              unsigned index, D3DKMDT_MONITOR_SOURCE_MODE *out_mode);

/* For DxgkDdiRecommendMonitorModes: the handle and the functions of a monitor's set. */
D3DKMDT_HMONITORSOURCEMODESET
display_monitor_set(struct display *display, D3DDDI_VIDEO_PRESENT_TARGET_ID target,
                    const DXGK_MONITORSOURCEMODESET_INTERFACE **out_interface);

/* ---- What a driver asks for ------------------------------------------------------------------ */

/* DxgkCbQueryVidPnInterface. */
NTSTATUS display_query_vidpn_interface(struct display *display, D3DKMDT_HVIDPN network,
                                       DXGK_VIDPN_INTERFACE_VERSION version,
                                       const DXGK_VIDPN_INTERFACE **out_interface);
/* DxgkCbQueryMonitorInterface. The functions take the adapter as their first argument. */
NTSTATUS display_query_monitor_interface(struct display *display, HANDLE adapter,
                                         DXGK_MONITOR_INTERFACE_VERSION version,
                                         const DXGK_MONITOR_INTERFACE **out_interface);

#endif
