/*
 * Driver place: where the code of a driver is that a signal has interrupted.
 *
 * Place      bench. Between what a driver is (driver_image.h, or code of this program) and whoever
 *            watches its accesses.
 * Model      "mygpu.sys!Emit+0x12 (+0x1a34), from mygpu.sys!BuildFill+0x80 (+0x1b00)": the
 *            innermost function of the driver, and its caller. Of a driver that is linked in the
 *            program stands in place of the image, without functions: "drydock (+0x51a34)".
 *            source_places.h makes functions and lines of the addresses.
 * Errors     "": no code of the driver is running.
 */
#ifndef DRYDOCK_BENCH_DRIVER_PLACE_H
#define DRYDOCK_BENCH_DRIVER_PLACE_H

#include "bench/drivers/driver_image.h"

#define DRIVER_PLACE_BYTES 320

/* Loads what a signal handler may not load; once, before the first call of driver_place(). */
void driver_place_prepare(void);

/* In a signal handler, with its third argument. image: NULL for a driver that is linked in. */
void driver_place(const struct driver_image *image, const void *signal_context, char *text,
                  size_t size);

#endif
