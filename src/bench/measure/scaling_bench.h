/*
 * Scaling bench: what a run costs as its length grows.
 *
 * Place      bench. Used by `drydock bench scaling`.
 * Model      The same random operations, a tenth and a hundredth of the longest: how many are alive
 *            at once stays the same, so what a run costs per operation should stay the same, too.
 * Errors     False: no memory, or a run that was not clean.
 */
#ifndef DRYDOCK_BENCH_SCALING_BENCH_H
#define DRYDOCK_BENCH_SCALING_BENCH_H

#include "bench/run/run_result.h"

struct scaling_bench {
    uint64_t operations;        /* of the workload */
    uint64_t paging_operations; /* completed */
    double seconds; /* of the processor, for the whole run: set up, played, taken down */
};

bool scaling_bench_run(enum run_model model, uint64_t operation_count,
                       struct scaling_bench *out_result);

#endif
