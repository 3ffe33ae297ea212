/*
 * Run memory: services that know every block they gave.
 *
 * Place      bench.
 * Model      Small blocks come from a pool of the process, which the next run uses again, and large
 *            ones are pages of their own; all are on a list. Two uses: what is left after
 *            everything was taken down is a leak; and a run that ended in the middle can be given
 *            up as a whole. The n-th allocation fails on request, once.
 * Ownership  Initialised in the caller's memory, which must not move. run_memory_free_all() ends
 *            every block that is left.
 */
#ifndef DRYDOCK_BENCH_RUN_MEMORY_H
#define DRYDOCK_BENCH_RUN_MEMORY_H

#include "base/list.h"
#include "base/services.h"

#include <stdbool.h>
#include <stdint.h>

struct run_memory {
    struct base_services services;
    struct list blocks;
    uint64_t live_blocks, live_bytes, peak_bytes;
    uint64_t fail_at; /* allocations until the one that fails; 0: none */
    bool has_failed;
};

void run_memory_init(struct run_memory *memory);
void run_memory_free_all(struct run_memory *memory);

#endif
