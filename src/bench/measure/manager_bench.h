/*
 * Manager bench: what the memory manager costs, beside the plainest thing that does the same.
 *
 * Place      bench. Meets the host's clock; results depend on the machine and are for the reader,
 *            never for a test.
 * Model      Each function brings up a run with the reference driver in the GpuMmu model, measures
 *            inside it, and takes it down.
 * Errors     False: no memory, or the run did not come up.
 */
#ifndef DRYDOCK_BENCH_MANAGER_BENCH_H
#define DRYDOCK_BENCH_MANAGER_BENCH_H

#include "bench/measure/compare.h"
#include "bench/run/run_result.h"

struct page_table_bench {
    uint64_t entries;
    double manager_seconds; /* the manager alone: every entry made and offered to a null driver */
    double whole_seconds;   /* manager, driver and GPU model, until the last entry is in memory */
    double naive_seconds;   /* a walk from the root for each page, tables in plain host memory */
};

/* Maps so many bytes in 4 KiB pages of system memory. */
bool manager_bench_page_tables(uint64_t bytes, struct page_table_bench *out_result);

struct replay_bench {
    uint64_t operations; /* paging operations of a run */
    uint64_t moved_bytes;
    struct comparison comparison; /* a run with all checks beside one with none */
};

/*
 * A generated case under memory pressure (a third of what is alive at the peak fits), or the
 * file of a case, played at 40 GiB of local memory. False: no memory, a file that cannot be read,
 * or a run that is not clean.
 */
bool manager_bench_replay(const char *name, bool is_file, enum run_model model, bool is_quick,
                          struct replay_bench *out_result);

#endif
