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

/*
 * A reference to what is resident already: made resident and evicted again, in a request of
 * RESIDENCY_REFERENCES. The peer is what an application does for itself where the system manages
 * nothing, after what is published of d3dx12Residency: an object is entered in the set of a command
 * list, unless a mark says that it is there; when the list is executed, each object of the set goes
 * to the back of the one LRU list and is told the fence and the time; then the marks go. Unlike
 * that library it has one command list, no lock and no budget query, which favours it. As in that
 * library, a set that has not changed goes the same way as any other one: object by object.
 */
#define RESIDENCY_REFERENCES 100
#define RESIDENCY_LONG_LIST  10000 /* or all allocations, where there are fewer */

struct residency_bench {
    struct comparison reference; /* of lists at random */
    struct comparison again;     /* a reference of one list, again and again */
    struct comparison list;      /* a request of a list object that does not change (vidmm_list) */
    double long_list_ns;         /* the same, of RESIDENCY_LONG_LIST members */
    double fixed_ns;             /* a request of one reference to the same allocation */
    double create_ns;            /* an allocation: created, paged in, destroyed */
};

/* So many allocations of a page, all resident. */
bool manager_bench_residency(uint64_t allocation_count, struct residency_bench *out_result);

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
