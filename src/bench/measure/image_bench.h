/*
 * Image bench: what it costs that a driver is a file.
 *
 * Place      bench. Used by `drydock bench images`.
 * Model      A call of a function that does nothing, as every DDI is called: straight, through the
 *            boundary, and through the boundary with a service called from there and back. And
 *            seeds of the random campaign with a driver.
 * Errors     False: no memory, another image is loaded, or a run that was not clean.
 * Units      Nanoseconds a call; seconds.
 */
#ifndef DRYDOCK_BENCH_IMAGE_BENCH_H
#define DRYDOCK_BENCH_IMAGE_BENCH_H

#include "bench/run/run_result.h"

struct image_bench_calls {
    double straight_ns, entry_ns, service_ns;
};

bool image_bench_calls_run(uint64_t calls, struct image_bench_calls *out);

/* Plays the seeds [0, count) of the model at the level with this driver, here. */
bool image_bench_seeds(const char *driver, enum run_model model, unsigned wddm, uint64_t count,
                       double *out_seconds);

#endif
