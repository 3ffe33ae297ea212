/*
 * Driver look: a driver file registers in a process of its own, and its answers are its traits.
 *
 * Place      bench. Used by driver_files.c, before a run loads the file.
 * Model      The child loads the image, closes the cage, runs DriverEntry and asks an added device
 *            for DRIVERCAPS. A child that crashes, stops the machine, waits for ever or takes too
 *            long is ended, and the error says in which call and where.
 * Errors     is_known is false, and error says why. An error behind DriverEntry is none here: it is
 *            reported when the driver is played.
 */
#ifndef DRYDOCK_BENCH_DRIVER_LOOK_H
#define DRYDOCK_BENCH_DRIVER_LOOK_H

#include "bench/drivers/driver_image.h"
#include "vidmm/vidmm.h"

#define DRIVER_GPU_NAME_BYTES 64

struct driver_traits {
    bool is_known;
    ULONG registered;     /* DRIVER_INITIALIZATION_DATA.Version */
    ULONG version;        /* or DRIVERCAPS.WDDMVersion, where that was lower before the start */
    bool is_display_only; /* it has registered with DxgkInitializeDisplayOnlyDriver() */
    bool is_physical;     /* commands hold physical addresses, whatever the version */
    bool has_caps;        /* it answered before it was started: */
    struct vidmm_model_caps caps;
    char gpu[DRIVER_GPU_NAME_BYTES]; /* "": it does not say */
    char error[DRIVER_IMAGE_ERROR_BYTES];
};

void driver_look(const char *path, struct driver_traits *out);

#endif
