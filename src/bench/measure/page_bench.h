/*
 * Page bench: what the page allocator costs, on a fresh pool and on a fragmented one.
 *
 * Place      bench. Results depend on the machine and are for the reader, never for a test.
 * Model      A pool of pool_pages. Fresh: takes of take_pages until it is full, then their
 *            releases. Fragmented: a pool that is half taken, in alternating taken and free runs
 *            of 1 to 64 pages; takes until take_count or full. The peer is a bitmap that hands
 *            out the first free pages, a page at a time, on the same two pools.
 */
#ifndef DRYDOCK_BENCH_PAGE_BENCH_H
#define DRYDOCK_BENCH_PAGE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

struct page_bench_result {
    uint64_t fresh_takes;
    double fresh_take_ns;
    double fresh_release_ns;
    double fresh_peer_take_ns;
    uint64_t fragmented_takes;
    double fragmented_take_ns;
    double fragmented_runs_per_take;
    double fragmented_peer_take_ns;
    double fragmented_peer_runs_per_take;
    double metadata_bits_per_page;
};

/* False, and zeroes, without memory or when a take does not fit the pool. */
bool page_bench_run(uint64_t pool_pages, uint64_t take_pages, uint64_t take_count, uint64_t seed,
                    struct page_bench_result *out_result);

#endif
