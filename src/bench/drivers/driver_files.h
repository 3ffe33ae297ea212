/*
 * Driver files: drivers that `--driver` names by a path.
 *
 * Place      bench. Used by drivers.c, and by the command line, which prints the error of a file.
 * Model      Which level a driver is of is found by letting it register in a process of its own
 *            (driver_look.h), which model by asking it for DRIVERCAPS there. A driver that does not
 *            answer has the model that its functions suggest. The last file that was looked at is
 *            remembered until it changes.
 * Ownership  The driver's texts are lent until the next call.
 * Errors     False, and a text in driver_file_error(); "" for a name that is no path.
 */
#ifndef DRYDOCK_BENCH_DRIVER_FILES_H
#define DRYDOCK_BENCH_DRIVER_FILES_H

#include "bench/drivers/drivers.h"

/* A run_driver_finder for names that are paths: they have a slash, or end in ".sys". */
bool driver_file_is_path(const char *name);
bool driver_file_find(const char *name, struct run_driver *out_driver);
const char *driver_file_error(void);

#endif
