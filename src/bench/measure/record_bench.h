/*
 * Record bench: what the record of a run costs, beside the same run without one.
 *
 * Place      bench. Meets the host's clock; results depend on the machine and are for the reader,
 *            never for a test.
 * Model      Whole runs with the reference driver and all checks, set up and take down included. A
 *            record goes to a temporary file; no list of calls is made of it.
 * Errors     False: no memory, no temporary file, or a run that is not clean.
 */
#ifndef DRYDOCK_BENCH_RECORD_BENCH_H
#define DRYDOCK_BENCH_RECORD_BENCH_H

#include "bench/measure/compare.h"
#include "bench/run/run_result.h"

struct record_bench {
    uint64_t bytes;               /* of the record */
    struct comparison comparison; /* a run with a record beside one without */
};

/* 5,000 random operations (a thousand when it is quick), or a case of another generator. */
bool record_bench_run(const char *generator, enum run_model model, bool is_quick,
                      struct record_bench *out_result);

#endif
