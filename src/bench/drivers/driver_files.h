/*
 * Driver files: drivers that `--driver` names by a path.
 *
 * Place      bench. Used by drivers.c, and by the command line, which prints the error of a file.
 * Model      Which level a driver is of is found by letting it register in a process of its own
 *            (driver_look.h), which model by asking it for DRIVERCAPS there. A driver that does
 *            not answer has the model that its functions suggest. One that says a lower level
 *            there than it registers is started to learn its level. The last file that was looked
 *            at is remembered until it changes.
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

/*
 * Who starts a driver to ask for its level (child/started_level.h): asked once for a file that
 * before its start says a lower one than it registers. NULL: what it says then counts.
 */
typedef unsigned driver_level_function(const char *path, enum run_model model);
void driver_files_ask_started(driver_level_function *function);

#endif
