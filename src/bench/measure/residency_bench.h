/*
 * Residency bench: what the manager does for references, beside an LRU of the application's.
 *
 * Place      bench. Meets the host's clock; results depend on the machine and are for the reader,
 *            never for a test.
 * Model      The manager runs over a null driver (null_driver.h): driver and GPU cost nothing.
 * Errors     False: no memory, or the run did not come up.
 */
#ifndef DRYDOCK_BENCH_RESIDENCY_BENCH_H
#define DRYDOCK_BENCH_RESIDENCY_BENCH_H

#include "bench/measure/compare.h"
#include "bench/run/run_result.h"

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
    double fixed_ns;             /* a request of one reference to the same allocation */
    double create_ns;            /* an allocation: created, paged in, destroyed */
    /* GpuMmu: a request of a list object that does not change (vidmm_list). */
    struct comparison list;
    double long_list_ns; /* of RESIDENCY_LONG_LIST members */
};

/*
 * So many allocations of a page, all resident. GpuMmu: made resident and evicted; physical: a
 * command buffer that refers to them is rendered, patched, submitted and done.
 */
bool residency_bench_run(enum run_model model, uint64_t allocation_count,
                         struct residency_bench *out_result);

struct pressure_bench {
    struct comparison pair; /* one in and one out */
    double operations;      /* of the paging queue, a pair */
};

/*
 * So many allocations of these bytes each, of which 70 % have room (GpuMmu). The peer makes room
 * for what is not resident by taking objects off the front of its list; it moves nothing.
 */
bool residency_bench_pressure(uint64_t allocation_count, uint64_t bytes,
                              struct pressure_bench *out_result);

#endif
