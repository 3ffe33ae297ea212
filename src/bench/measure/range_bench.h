/*
 * Range bench: what the range allocator costs and how well it packs, beside its peer.
 *
 * Place      bench. The only place where the allocator meets a clock; results depend on the
 *            machine and are for the reader, never for a test.
 * Model      Sizes are log-normal (median 16 units, sigma 1.5). The space is live ranges times mean
 *            size, by the occupancy. It is filled to the occupancy and aged; then each operation
 *            takes a range while that keeps to the occupancy, and otherwise releases one. A take
 *            that fails counts its bytes, and one range more goes. Operations are decided in
 *            blocks, outside the clock. Ours and the peer's, each with a stream of its own, run in
 *            turn (compare.h). The percentiles are ours alone, from a clock around each operation,
 *            whose own cost is subtracted: medians of those of several rounds.
 */
#ifndef DRYDOCK_BENCH_RANGE_BENCH_H
#define DRYDOCK_BENCH_RANGE_BENCH_H

#include "bench/measure/compare.h"

#include <stdbool.h>
#include <stdint.h>

enum range_stream {
    RANGE_STREAM_UNITS,   /* units of 64 KiB, released at random */
    RANGE_STREAM_ALIGNED, /* units of 4 KiB, each range at a multiple of 64 KiB; the peer, which has
                             no alignment, is asked for whole multiples, and the bytes count so */
    RANGE_STREAM_FIFO,    /* units of 64 KiB, the oldest is released */
    RANGE_STREAM_COUNT,
};

struct range_bench {
    struct comparison comparison; /* an operation of ours, and one of the peer's */
    double ns_p50, ns_p99;        /* ours */
    double failed_fraction;       /* of all bytes asked for, after the fill */
    double peer_failed_fraction;
    double bytes_per_range; /* of metadata, at the peak, for each live range at the peak */
    double peer_bytes_per_range;
    uint64_t live_ranges, hole_count; /* at the end */
};

const char *range_stream_name(enum range_stream stream);

/* False without memory. */
bool range_bench_run(enum range_stream stream, uint64_t live_ranges, unsigned slices, uint64_t seed,
                     struct range_bench *out_result);

/*
 * What a request asks for: in the first two, each one of the stream in units of 64 KiB; in the
 * others one that is taken and released again in a space of many holes of one page.
 */
enum range_search {
    RANGE_SEARCH_STREAM_LOWEST,
    RANGE_SEARCH_STREAM_WINDOW,
    RANGE_SEARCH_LOWEST,    /* the lowest hole that is large enough: the first one of all */
    RANGE_SEARCH_WINDOW,    /* any hole of a window, which is another one each time */
    RANGE_SEARCH_TOO_SMALL, /* the lowest place, behind all those holes, which are too small */
    RANGE_SEARCH_ALIGNED,   /* any place at an alignment that none of those holes has */
    RANGE_SEARCH_FULL,      /* a place in a window in which there is none */
    RANGE_SEARCH_COUNT,
};

const char *range_search_name(enum range_search search);

/*
 * A take and a release, beside those of the stream, whose requests may lie anywhere, in a space of
 * about as many holes.
 */
bool range_bench_search(enum range_search search, uint64_t hole_count, unsigned slices,
                        struct comparison *out_comparison);

#endif
