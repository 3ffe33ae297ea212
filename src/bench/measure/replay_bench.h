/*
 * Replay bench: what judging a run costs, beside the same run with nothing judged.
 *
 * Place      bench. Meets the host's clock; results depend on the machine and are for the reader,
 *            never for a test.
 * Model      Whole runs with the reference driver, set up and take down included.
 * Errors     False: no memory, a file that cannot be read, or a run that is not clean.
 */
#ifndef DRYDOCK_BENCH_REPLAY_BENCH_H
#define DRYDOCK_BENCH_REPLAY_BENCH_H

#include "bench/measure/compare.h"
#include "bench/run/run_result.h"

struct replay_bench {
    uint64_t operations; /* paging operations of a run */
    uint64_t moved_bytes;
    struct comparison comparison; /* a run with all checks beside one with none */
};

/*
 * A generated case under memory pressure (a third of what is alive at the peak fits), or the
 * file of a case, played at 40 GiB of local memory.
 */
bool replay_bench_run(const char *name, bool is_file, enum run_model model, bool is_quick,
                      struct replay_bench *out_result);

#endif
