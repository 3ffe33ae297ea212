#include "bench/measure/range_bench.h"

#include "base/bits.h"
#include "base/range_allocator.h"
#include "base/rng.h"
#include "bench/measure/large_pages.h"
#include "bench/measure/range_bench_peers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OCCUPANCY    0.9
#define MEDIAN_UNITS 16.0
#define SIGMA        1.5

/* Of the stream with alignment, in its units. */
#define ALIGNED_UNITS 16

/* Operations decided together: large enough to hide the clock, small enough to stay in cache. */
#define BLOCK_OPERATIONS 512
#define SLICE_OPERATIONS 60000

/* Operations of which each is timed alone, so many together, and how often. */
#define SINGLE_OPERATIONS 20000
#define SINGLE_ROUNDS     21

struct live {
    uint32_t units;
    uint32_t handle;
};

/* One of the two allocators, and the stream that it is given. */
struct subject {
    enum range_stream stream;
    enum range_place place; /* of all requests */
    bool has_window;        /* half of the space, for each request another one */
    bool is_peer;
    struct large_pages pages; /* of the allocator */
    struct range_allocator ours;
    struct segregated_fit *peer;

    struct rng rng, window_rng;
    uint64_t space_bytes;
    struct large_pages live_pages; /* what is measured should not pay for the bench's own */
    struct live *lives;            /* a ring from `oldest` on */
    uint64_t oldest, live_count, live_max, live_peak;
    uint64_t target_units, live_units; /* as the stream counts them */
    uint32_t next_units;
    uint64_t asked_units, failed_units;
};

struct operation {
    bool is_take;
    bool is_done;
    struct live live;
};

const char *range_stream_name(enum range_stream stream)
{
    static const char *const names[RANGE_STREAM_COUNT] = {
        [RANGE_STREAM_UNITS] = "64 KiB units",
        [RANGE_STREAM_ALIGNED] = "4 KiB at 64 KiB",
        [RANGE_STREAM_FIFO] = "first in, first out",
    };

    return names[stream];
}

static uint64_t unit_bytes(enum range_stream stream)
{
    return stream == RANGE_STREAM_ALIGNED ? 4 * KiB : 64 * KiB;
}

/* What a range counts towards the occupancy: without alignment no other could have the rest. */
static uint64_t counted_units(const struct subject *subject, uint32_t units)
{
    return subject->stream == RANGE_STREAM_ALIGNED ? align_up(units, ALIGNED_UNITS) : units;
}

/* A log-normal size, from a normal sample by the polar form of Box and Muller. */
static uint32_t draw_units(struct rng *rng)
{
    double angle = 6.283185307179586 * rng_unit(rng);
    double normal = sqrt(-2.0 * log(1.0 - rng_unit(rng))) * cos(angle);
    double units = MEDIAN_UNITS * exp(SIGMA * normal);

    return units < 1.0 ? 1 : (uint32_t)units;
}

/* ---- Subjects -------------------------------------------------------------------------------- */

static void take(struct subject *subject, struct operation *operation)
{
    struct live *live = &operation->live;
    uint64_t offset;

    if (subject->is_peer) {
        operation->is_done = segregated_fit_take(
            subject->peer, (uint32_t)counted_units(subject, live->units), &live->handle);
    } else {
        struct range_request request = {
            .size = live->units * unit_bytes(subject->stream),
            .alignment = 64 * KiB,
            .place = subject->place,
        };

        if (subject->has_window) {
            request.window_low = rng_below(&subject->window_rng, subject->space_bytes / 2);
            request.window_high = request.window_low + subject->space_bytes / 2;
        }
        operation->is_done = range_allocator_take_handle(&subject->ours, &request, &offset,
                                                         &live->handle) == RANGE_OK;
    }
}

static void release(struct subject *subject, const struct live *live)
{
    if (subject->is_peer)
        segregated_fit_release(subject->peer, live->handle);
    else
        range_allocator_release_handle(&subject->ours, live->handle);
}

static double metadata_bytes(const struct subject *subject)
{
    uint64_t bytes = subject->is_peer ? segregated_fit_metadata_bytes(subject->peer)
                                      : range_allocator_metadata_bytes(&subject->ours);

    return subject->live_peak ? (double)bytes / (double)subject->live_peak : 0;
}

static struct live forget_one(struct subject *subject)
{
    uint64_t last = subject->oldest + --subject->live_count, at = subject->oldest;
    struct live *lives = subject->lives, live;

    if (subject->stream == RANGE_STREAM_FIFO) {
        live = lives[subject->oldest++ % subject->live_max];
    } else {
        at += rng_below(&subject->rng, subject->live_count + 1);
        live = lives[at % subject->live_max];
        lives[at % subject->live_max] = lives[last % subject->live_max];
    }
    subject->live_units -= counted_units(subject, live.units);
    return live;
}

/* Takes are counted as live while the block is decided; settle_block() corrects the failed ones. */
static unsigned decide_block(struct subject *subject, struct operation block[BLOCK_OPERATIONS])
{
    unsigned count = 0;

    while (count < BLOCK_OPERATIONS) {
        uint64_t counted = counted_units(subject, subject->next_units);

        if (subject->live_units + counted <= subject->target_units &&
            subject->live_count + BLOCK_OPERATIONS < subject->live_max) {
            block[count++] = (struct operation){.is_take = true, .live.units = subject->next_units};
            subject->live_units += counted;
            subject->asked_units += counted;
            subject->next_units = draw_units(&subject->rng);
        } else if (subject->live_count) {
            block[count++] = (struct operation){.live = forget_one(subject)};
        } else {
            break;
        }
    }
    return count;
}

static void settle_block(struct subject *subject, const struct operation *block, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct live *live = &block[i].live;

        if (!block[i].is_take)
            continue;
        if (block[i].is_done) {
            subject->lives[(subject->oldest + subject->live_count++) % subject->live_max] = *live;
            subject->live_peak = max_u64(subject->live_peak, subject->live_count);
        } else {
            subject->live_units -= counted_units(subject, live->units);
            subject->failed_units += counted_units(subject, live->units);
            if (subject->live_count) {
                struct live gone = forget_one(subject);

                release(subject, &gone);
            }
        }
    }
}

static void execute(struct subject *subject, struct operation *operation)
{
    if (operation->is_take)
        take(subject, operation);
    else
        release(subject, &operation->live);
}

static double run_slice(struct subject *subject, uint64_t operations)
{
    static struct operation block[BLOCK_OPERATIONS];
    double total = 0;
    uint64_t done = 0;

    while (done < operations) {
        unsigned count = decide_block(subject, block);
        double start = compare_now();

        for (unsigned i = 0; i < count; i++)
            execute(subject, &block[i]);
        total += compare_now() - start;
        settle_block(subject, block, count);
        if (count == 0)
            return -1;
        done += count;
    }
    return total / (double)done;
}

static double slice(void *context)
{
    return run_slice(context, SLICE_OPERATIONS);
}

/* Filled and aged: what a fresh space does says nothing. */
static bool subject_init(struct subject *subject, enum range_stream stream, bool is_peer,
                         uint64_t live_ranges, uint64_t seed)
{
    double mean = MEDIAN_UNITS * exp(SIGMA * SIGMA / 2);
    uint64_t space;

    memset(subject, 0, sizeof *subject);
    subject->stream = stream;
    subject->is_peer = is_peer;
    large_pages_init(&subject->pages);
    large_pages_init(&subject->live_pages);
    rng_init(&subject->rng, seed);
    rng_init(&subject->window_rng, seed);
    if (stream == RANGE_STREAM_ALIGNED)
        mean += ALIGNED_UNITS / 2.0;
    space = align_up((uint64_t)((double)live_ranges * mean / OCCUPANCY), ALIGNED_UNITS);
    subject->space_bytes = space * unit_bytes(stream);
    subject->target_units = (uint64_t)((double)space * OCCUPANCY);
    subject->live_max = 2 * live_ranges + 4 * BLOCK_OPERATIONS;
    subject->next_units = draw_units(&subject->rng);
    subject->lives =
        base_alloc_array(&subject->live_pages.services, subject->live_max, sizeof *subject->lives);
    if (!subject->lives || space > UINT32_MAX)
        return false;
    if (is_peer)
        subject->peer = segregated_fit_create(&subject->pages.services, (uint32_t)space,
                                              (uint32_t)subject->live_max);
    if (is_peer ? !subject->peer
                : range_allocator_init(&subject->ours, &subject->pages.services, 0,
                                       subject->space_bytes, unit_bytes(stream)) != RANGE_OK)
        return false;
    run_slice(subject, 6 * live_ranges);
    subject->asked_units = subject->failed_units = 0;
    return true;
}

static void subject_fini(struct subject *subject)
{
    range_allocator_fini(&subject->ours);
    large_pages_fini(&subject->pages);
    large_pages_fini(&subject->live_pages);
}

static double failed_fraction(const struct subject *subject)
{
    return subject->asked_units ? (double)subject->failed_units / (double)subject->asked_units : 0;
}

/* ---- Percentiles ----------------------------------------------------------------------------- */

static uint64_t wall_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The most frequent difference between two readings of the clock in a row. */
static uint32_t clock_cost_ns(void)
{
    uint32_t samples[1001];

    for (size_t i = 0; i < ARRAY_COUNT(samples); i++) {
        uint64_t start = wall_ns();

        samples[i] = (uint32_t)(wall_ns() - start);
    }
    qsort(samples, ARRAY_COUNT(samples), sizeof samples[0], compare_u32);
    return samples[ARRAY_COUNT(samples) / 2];
}

static double percentile(const uint32_t *sorted, uint64_t count, double share, uint32_t cost)
{
    uint32_t value = count ? sorted[(uint64_t)(share * (double)(count - 1))] : 0;

    return value > cost ? value - cost : 0;
}

static uint64_t time_round(struct subject *subject, uint32_t *samples)
{
    static struct operation block[BLOCK_OPERATIONS];
    uint64_t done = 0;

    while (done < SINGLE_OPERATIONS) {
        unsigned count = decide_block(subject, block);

        for (unsigned i = 0; i < count; i++) {
            uint64_t start = wall_ns();

            execute(subject, &block[i]);
            samples[done + i] = (uint32_t)min_u64(wall_ns() - start, UINT32_MAX);
        }
        settle_block(subject, block, count);
        done += count;
        if (count == 0)
            break;
    }
    qsort(samples, done, sizeof *samples, compare_u32);
    return done;
}

/* Medians of the rounds' percentiles: a round that the machine disturbed does not count. */
static bool time_single_operations(struct subject *subject, struct range_bench *result)
{
    uint32_t *samples = malloc((SINGLE_OPERATIONS + BLOCK_OPERATIONS) * sizeof *samples);
    uint32_t p50[SINGLE_ROUNDS], p99[SINGLE_ROUNDS], cost = clock_cost_ns();

    if (!samples)
        return false;
    for (unsigned i = 0; i < SINGLE_ROUNDS; i++) {
        uint64_t count = time_round(subject, samples);

        p50[i] = (uint32_t)percentile(samples, count, 0.50, cost);
        p99[i] = (uint32_t)percentile(samples, count, 0.99, cost);
    }
    qsort(p50, SINGLE_ROUNDS, sizeof *p50, compare_u32);
    qsort(p99, SINGLE_ROUNDS, sizeof *p99, compare_u32);
    result->ns_p50 = p50[SINGLE_ROUNDS / 2];
    result->ns_p99 = p99[SINGLE_ROUNDS / 2];
    free(samples);
    return true;
}

bool range_bench_run(enum range_stream stream, uint64_t live_ranges, unsigned slices, uint64_t seed,
                     struct range_bench *out_result)
{
    struct range_bench *result = out_result;
    struct subject ours, peer;
    bool is_done;

    memset(result, 0, sizeof *result);
    is_done = subject_init(&ours, stream, false, live_ranges, seed);
    is_done = subject_init(&peer, stream, true, live_ranges, seed) && is_done;
    is_done = is_done && compare_run(slice, &ours, slice, &peer, slices, &result->comparison) &&
              time_single_operations(&ours, result);
    if (is_done) {
        result->failed_fraction = failed_fraction(&ours);
        result->peer_failed_fraction = failed_fraction(&peer);
        result->bytes_per_range = metadata_bytes(&ours);
        result->peer_bytes_per_range = metadata_bytes(&peer);
        result->live_ranges = range_allocator_live_count(&ours.ours);
        result->hole_count = range_allocator_hole_count(&ours.ours);
    }
    subject_fini(&ours);
    subject_fini(&peer);
    return is_done;
}

/* ---- Searches -------------------------------------------------------------------------------- */

#define SEARCH_UNIT       (4 * KiB)
#define SEARCH_OPERATIONS 5000

/* Live ranges of the stream for each of its holes. */
#define LIVES_OF_HOLE 5

/* A space of holes of one page, each behind a page that is taken, and free pages at its end. */
struct holes {
    struct large_pages pages;
    struct range_allocator ra;
    struct rng rng;
    struct range_request request;
    bool has_window;
    bool is_full;
    uint64_t end; /* of the part with holes */
};

const char *range_search_name(enum range_search search)
{
    static const char *const names[RANGE_SEARCH_COUNT] = {
        [RANGE_SEARCH_STREAM_LOWEST] = "stream, lowest",
        [RANGE_SEARCH_STREAM_WINDOW] = "stream, in a window",
        [RANGE_SEARCH_LOWEST] = "lowest",
        [RANGE_SEARCH_WINDOW] = "in a window",
        [RANGE_SEARCH_TOO_SMALL] = "lowest, behind holes that are too small",
        [RANGE_SEARCH_ALIGNED] = "aligned, behind holes that are not",
        [RANGE_SEARCH_FULL] = "in a window without a fit",
    };

    return names[search];
}

static bool holes_init(struct holes *holes, uint64_t hole_count, uint64_t seed)
{
    uint64_t tail = 1024 * SEARCH_UNIT, base = SEARCH_UNIT;

    memset(holes, 0, sizeof *holes);
    large_pages_init(&holes->pages);
    rng_init(&holes->rng, seed);
    holes->request.size = SEARCH_UNIT;
    holes->end = base + 2 * hole_count * SEARCH_UNIT;
    if (range_allocator_init(&holes->ra, &holes->pages.services, base,
                             2 * hole_count * SEARCH_UNIT + tail, SEARCH_UNIT) != RANGE_OK)
        return false;
    return true;
}

/* Punched at random, so that the table has them in no order. False without memory. */
static bool holes_punch(struct holes *holes, uint64_t hole_count)
{
    struct range_request request = {.size = SEARCH_UNIT, .alignment = SEARCH_UNIT};
    uint32_t *handles = calloc(2 * hole_count, sizeof *handles);
    uint64_t offset;
    bool is_done = handles != NULL;

    for (uint64_t i = 0; i < 2 * hole_count && is_done; i++)
        is_done =
            range_allocator_take_handle(&holes->ra, &request, &offset, &handles[i]) == RANGE_OK &&
            offset == (1 + i) * SEARCH_UNIT;
    for (uint64_t i = 0; i < hole_count && is_done; i++) {
        uint64_t j = i + rng_below(&holes->rng, hole_count - i);
        uint32_t handle = handles[2 * j];

        handles[2 * j] = handles[2 * i];
        range_allocator_release_handle(&holes->ra, handle);
    }
    free(handles);
    return is_done;
}

static double search_slice(void *context)
{
    struct holes *holes = context;
    double start = compare_now();

    for (unsigned i = 0; i < SEARCH_OPERATIONS; i++) {
        enum range_status status;
        uint64_t offset;
        uint32_t handle;

        if (holes->has_window) {
            holes->request.window_low = rng_below(&holes->rng, holes->end / 2);
            holes->request.window_high = holes->request.window_low + holes->end / 2;
        }
        status = range_allocator_take_handle(&holes->ra, &holes->request, &offset, &handle);
        if ((status == RANGE_FULL) != holes->is_full)
            return -1;
        if (status == RANGE_OK)
            range_allocator_release_handle(&holes->ra, handle);
    }
    return (compare_now() - start) / SEARCH_OPERATIONS;
}

/* A take and a release. */
static double stream_slice(void *context)
{
    return 2 * run_slice(context, 2 * SEARCH_OPERATIONS);
}

static bool compare_streams(enum range_search search, struct subject *plain, uint64_t live_ranges,
                            unsigned slices, struct comparison *out_comparison)
{
    struct subject ours;
    bool is_done = subject_init(&ours, RANGE_STREAM_UNITS, false, live_ranges, 1);

    if (search == RANGE_SEARCH_STREAM_LOWEST)
        ours.place = RANGE_LOWEST;
    else
        ours.has_window = true;
    is_done = is_done && run_slice(&ours, live_ranges) >= 0 &&
              compare_run(stream_slice, &ours, stream_slice, plain, slices, out_comparison);
    subject_fini(&ours);
    return is_done;
}

static bool compare_holes(enum range_search search, struct subject *plain, uint64_t hole_count,
                          unsigned slices, struct comparison *out_comparison)
{
    struct holes ours;
    bool is_done = holes_init(&ours, hole_count, 1) && holes_punch(&ours, hole_count);

    if (search == RANGE_SEARCH_LOWEST || search == RANGE_SEARCH_TOO_SMALL)
        ours.request.place = RANGE_LOWEST;
    if (search == RANGE_SEARCH_WINDOW || search == RANGE_SEARCH_FULL)
        ours.has_window = true;
    if (search == RANGE_SEARCH_TOO_SMALL || search == RANGE_SEARCH_FULL)
        ours.request.size = 4 * SEARCH_UNIT;
    if (search == RANGE_SEARCH_ALIGNED) /* the holes are at odd pages */
        ours.request.alignment = 2 * SEARCH_UNIT;
    ours.is_full = search == RANGE_SEARCH_FULL;
    is_done =
        is_done && compare_run(search_slice, &ours, stream_slice, plain, slices, out_comparison);
    range_allocator_fini(&ours.ra);
    large_pages_fini(&ours.pages);
    return is_done;
}

bool range_bench_search(enum range_search search, uint64_t hole_count, unsigned slices,
                        struct comparison *out_comparison)
{
    uint64_t live_ranges = LIVES_OF_HOLE * hole_count;
    struct subject plain;
    bool is_done = subject_init(&plain, RANGE_STREAM_UNITS, false, live_ranges, 1);

    if (search == RANGE_SEARCH_STREAM_LOWEST || search == RANGE_SEARCH_STREAM_WINDOW)
        is_done = is_done && compare_streams(search, &plain, live_ranges, slices, out_comparison);
    else
        is_done = is_done && compare_holes(search, &plain, hole_count, slices, out_comparison);
    subject_fini(&plain);
    return is_done;
}
