/*
 * Range bench: what the range allocator costs and how well it packs, beside simple peers.
 *
 * Place      bench. The only place where the allocator meets a clock; results depend on the
 *            machine and are for the reader, never for a test.
 * Model      Sizes are log-normal (median 16 units of 4 KiB, sigma 1.5). The space is
 *            live_ranges * mean size / occupancy. It is filled to the occupancy; then each
 *            operation takes a range while that keeps to the occupancy, and otherwise releases a
 *            random one. A take that fails counts its bytes, and one random range goes.
 *            Operations are decided in blocks, outside the clock. The mean is from blocks timed as
 *            a whole, without those that took eight times the median (the host was elsewhere); the
 *            percentiles are from a second run with a clock around each operation, whose own cost
 *            is subtracted.
 */
#ifndef DRYDOCK_BENCH_RANGE_BENCH_H
#define DRYDOCK_BENCH_RANGE_BENCH_H

#include <stdbool.h>
#include <stdint.h>

enum range_bench_subject {
    RANGE_BENCH_OURS,
    RANGE_BENCH_SEGREGATED_FIT, /* size bins, first hole of the next larger, boundary tags, handles
                                 */
    RANGE_BENCH_FIRST_FIT,      /* sorted array of ranges; for 10,000 ranges at most */
};

struct range_bench_result {
    uint64_t live_ranges; /* at the end */
    uint64_t hole_count;
    uint64_t operations;
    double ns_mean;
    double ns_p50;
    double ns_p99;
    double failed_bytes_fraction;    /* of all bytes asked for, after the fill */
    double metadata_bytes_per_range; /* peak bytes for each live range at the peak */
    uint64_t metadata_peak_bytes;
};

/* False without memory. The subject is filled with ranges from seed, and then timed. */
bool range_bench_run_subject(enum range_bench_subject subject, uint64_t live_ranges,
                             double occupancy, uint64_t operations, uint64_t seed,
                             struct range_bench_result *out_result);

/* The range allocator's own figures; all zero without memory. */
struct range_bench_result range_bench_run(uint64_t live_ranges, double occupancy,
                                          uint64_t operations, uint64_t seed);

const char *range_bench_subject_name(enum range_bench_subject subject);

#endif
