/*
 * Live manager: a run in whose middle a measurement takes place.
 *
 * Place      bench. Used by the measurements of the manager.
 * Model      A run of an empty case comes up with the reference driver, calls fn, and is taken
 *            down. Nothing is checked or hashed. The hook that tests use to tamper with memory
 *            gives all that a measurement needs.
 * Errors     False: no memory, or a run that was not clean.
 */
#ifndef DRYDOCK_BENCH_LIVE_MANAGER_H
#define DRYDOCK_BENCH_LIVE_MANAGER_H

#include "bench/run/run.h"

struct live_manager {
    enum run_model model;
    uint64_t local_bytes, ram_bytes;
    struct run_mmu mmu;
    struct miniport *(*add_layer)(void *context, struct miniport *next); /* may be NULL */
    void (*fn)(void *context, const struct run_live *live);
    void *context; /* of both */
};

bool live_manager_run(const struct live_manager *manager);

/* Lets the machine run until the manager has nothing left to do. */
bool live_manager_settle(const struct run_live *live);

#endif
