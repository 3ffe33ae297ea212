/*
 * Started level: the WDDM level of a driver that is a file, once it has been started.
 *
 * Place      bench, above run. The command line gives it to drivers/driver_files.c, which is below.
 * Model      A driver may not know its level before StartDevice tells it of the kernel
 *            (DRIVERCAPS.WDDMVersion is lower until then than it will be). So it is started once,
 *            in a process of its own, by the run of a case without a line.
 */
#ifndef DRYDOCK_BENCH_STARTED_LEVEL_H
#define DRYDOCK_BENCH_STARTED_LEVEL_H

#include "bench/config/run_config.h"

/* 32 for WDDM 3.2; 0: it did not start. */
unsigned child_started_level(const char *path, enum run_model model);

#endif
