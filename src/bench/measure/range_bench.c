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

#define UNIT_BYTES   PAGE_BYTES
#define MEDIAN_UNITS 16.0
#define SIGMA        1.5

/* Operations decided together: large enough to hide the clock, small enough to stay in cache. */
#define BLOCK_OPERATIONS 64

struct live {
    uint64_t offset;
    uint64_t size;
    uint32_t handle;
};

struct subject {
    enum range_bench_subject kind;
    struct large_pages pages;
    struct range_allocator ours;
    struct segregated_fit *segregated;
    struct first_fit *first;
};

struct run {
    struct subject subject;
    struct rng rng;
    uint64_t space; /* bytes */
    uint64_t target;
    struct large_pages pages; /* of lives: what is measured should not pay for the bench's own */
    struct live *lives;
    uint64_t live_count;
    uint64_t live_max;
    uint64_t live_peak;
    uint64_t live_bytes;
    uint64_t next_size;
    uint64_t asked_bytes;
    uint64_t failed_bytes;
};

struct operation {
    bool is_take;
    bool is_done;
    struct live live;
};

static uint64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* A log-normal size, from a normal sample by the polar form of Box and Muller. */
static uint64_t draw_size(struct rng *rng)
{
    double angle = 6.283185307179586 * rng_unit(rng);
    double normal = sqrt(-2.0 * log(1.0 - rng_unit(rng))) * cos(angle);
    double units = MEDIAN_UNITS * exp(SIGMA * normal);

    return units < 1.0 ? UNIT_BYTES : (uint64_t)units * UNIT_BYTES;
}

static bool subject_init(struct subject *subject, uint64_t space, uint64_t ranges_max)
{
    switch (subject->kind) {
    case RANGE_BENCH_OURS:
        large_pages_init(&subject->pages);
        return range_allocator_init(&subject->ours, &subject->pages.services, 0, space,
                                    UNIT_BYTES) == RANGE_OK;
    case RANGE_BENCH_SEGREGATED_FIT:
        subject->segregated = segregated_fit_create(space / UNIT_BYTES, ranges_max);
        return subject->segregated != NULL;
    case RANGE_BENCH_FIRST_FIT:
        subject->first = first_fit_create(space / UNIT_BYTES, ranges_max);
        return subject->first != NULL;
    }
    return false;
}

static void subject_fini(struct subject *subject)
{
    if (subject->kind == RANGE_BENCH_OURS) {
        range_allocator_fini(&subject->ours);
        large_pages_fini(&subject->pages);
    }
    segregated_fit_destroy(subject->segregated);
    first_fit_destroy(subject->first);
}

static uint64_t subject_metadata_bytes(const struct subject *subject)
{
    switch (subject->kind) {
    case RANGE_BENCH_OURS:
        return range_allocator_metadata_bytes(&subject->ours);
    case RANGE_BENCH_SEGREGATED_FIT:
        return segregated_fit_metadata_bytes(subject->segregated);
    case RANGE_BENCH_FIRST_FIT:
        return first_fit_metadata_bytes(subject->first);
    }
    return 0;
}

static void execute(struct subject *subject, struct operation *operation)
{
    struct live *live = &operation->live;

    if (subject->kind == RANGE_BENCH_OURS) {
        if (operation->is_take) {
            struct range_request request = {.size = live->size};

            operation->is_done =
                range_allocator_take(&subject->ours, &request, &live->offset) == RANGE_OK;
        } else {
            range_allocator_release(&subject->ours, live->offset, live->size);
        }
    } else if (subject->kind == RANGE_BENCH_SEGREGATED_FIT) {
        if (operation->is_take)
            operation->is_done =
                segregated_fit_take(subject->segregated, live->size / UNIT_BYTES, &live->handle);
        else
            segregated_fit_release(subject->segregated, live->handle);
    } else {
        if (operation->is_take)
            operation->is_done =
                first_fit_take(subject->first, live->size / UNIT_BYTES, &live->offset);
        else
            first_fit_release(subject->first, live->offset);
    }
}

static struct operation decide_release(struct run *run)
{
    uint64_t i = rng_below(&run->rng, run->live_count);
    struct operation release = {.live = run->lives[i]};

    run->lives[i] = run->lives[--run->live_count];
    run->live_bytes -= release.live.size;
    return release;
}

/* Takes are counted as live while the block is decided; settle() corrects the failed ones. */
static unsigned decide_block(struct run *run, struct operation block[BLOCK_OPERATIONS])
{
    unsigned count = 0;

    while (count < BLOCK_OPERATIONS) {
        if (run->live_bytes + run->next_size <= run->target &&
            run->live_count + BLOCK_OPERATIONS < run->live_max) {
            block[count++] = (struct operation){.is_take = true, .live.size = run->next_size};
            run->live_bytes += run->next_size;
            run->asked_bytes += run->next_size;
            run->next_size = draw_size(&run->rng);
        } else if (run->live_count) {
            block[count++] = decide_release(run);
        } else {
            break;
        }
    }
    return count;
}

static void settle_block(struct run *run, const struct operation *block, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (!block[i].is_take)
            continue;
        if (block[i].is_done) {
            run->lives[run->live_count++] = block[i].live;
            run->live_peak = max_u64(run->live_peak, run->live_count);
        } else {
            run->live_bytes -= block[i].live.size;
            run->failed_bytes += block[i].live.size;
            if (run->live_count) {
                struct operation release = decide_release(run);

                execute(&run->subject, &release);
            }
        }
    }
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
        uint64_t start = now_ns();

        samples[i] = (uint32_t)(now_ns() - start);
    }
    qsort(samples, ARRAY_COUNT(samples), sizeof samples[0], compare_u32);
    return samples[ARRAY_COUNT(samples) / 2];
}

static double percentile(const uint32_t *sorted, uint64_t count, double share, uint32_t cost)
{
    uint32_t value = count ? sorted[(uint64_t)(share * (double)(count - 1))] : 0;

    return value > cost ? value - cost : 0;
}

/* Run blocks; the time of each, which is for BLOCK_OPERATIONS, goes to times unless NULL. */
static uint64_t run_whole_blocks(struct run *run, uint64_t operations, uint32_t *times)
{
    struct operation block[BLOCK_OPERATIONS];
    uint64_t block_count = div_round_up(operations, BLOCK_OPERATIONS);

    for (uint64_t i = 0; i < block_count; i++) {
        unsigned count = decide_block(run, block);
        uint64_t start = now_ns();

        for (unsigned j = 0; j < count; j++)
            execute(&run->subject, &block[j]);
        if (times)
            times[i] = (uint32_t)min_u64(now_ns() - start, UINT32_MAX);
        settle_block(run, block, count);
        if (count < BLOCK_OPERATIONS)
            return i;
    }
    return block_count;
}

static double mean_without_interruptions(uint32_t *times, uint64_t block_count)
{
    uint64_t total = 0, kept = 0;

    qsort(times, block_count, sizeof *times, compare_u32);
    for (; kept < block_count && times[kept] < 8 * (uint64_t)times[block_count / 2]; kept++)
        total += times[kept];
    return kept ? (double)total / (double)(kept * BLOCK_OPERATIONS) : 0;
}

static uint64_t run_single_operations(struct run *run, uint64_t operations, uint32_t *samples)
{
    struct operation block[BLOCK_OPERATIONS];
    uint64_t done = 0;

    while (done + BLOCK_OPERATIONS <= operations) {
        unsigned count = decide_block(run, block);

        for (unsigned i = 0; i < count; i++) {
            uint64_t start = now_ns();

            execute(&run->subject, &block[i]);
            samples[done + i] = (uint32_t)min_u64(now_ns() - start, UINT32_MAX);
        }
        settle_block(run, block, count);
        if (count == 0)
            break;
        done += count;
    }
    return done;
}

static uint64_t subject_hole_count(const struct run *run)
{
    if (run->subject.kind == RANGE_BENCH_OURS)
        return range_allocator_hole_count(&run->subject.ours);
    return 0;
}

bool range_bench_run_subject(enum range_bench_subject subject, uint64_t live_ranges,
                             double occupancy, uint64_t operations, uint64_t seed,
                             struct range_bench_result *out_result)
{
    double mean_units = MEDIAN_UNITS * exp(SIGMA * SIGMA / 2);
    struct run run = {.subject.kind = subject};
    uint32_t *samples;
    uint64_t block_count, done;
    bool is_done = false;

    memset(out_result, 0, sizeof *out_result);
    rng_init(&run.rng, seed);
    run.space = (uint64_t)((double)live_ranges * mean_units / occupancy) * UNIT_BYTES;
    run.target = (uint64_t)((double)run.space * occupancy);
    run.live_max = 2 * live_ranges + 4 * BLOCK_OPERATIONS;
    run.next_size = draw_size(&run.rng);
    large_pages_init(&run.pages);
    run.lives = base_alloc_array(&run.pages.services, run.live_max, sizeof *run.lives);
    samples = malloc((operations + BLOCK_OPERATIONS) * sizeof *samples);
    if (!run.lives || !samples || !subject_init(&run.subject, run.space, run.live_max))
        goto done;

    /* Fill, then age: what a fresh space does says nothing. */
    run_whole_blocks(&run, 3 * live_ranges, NULL);

    run.asked_bytes = run.failed_bytes = 0;
    block_count = run_whole_blocks(&run, operations, samples);
    out_result->operations = block_count * BLOCK_OPERATIONS;
    out_result->ns_mean = mean_without_interruptions(samples, block_count);
    out_result->failed_bytes_fraction =
        run.asked_bytes ? (double)run.failed_bytes / (double)run.asked_bytes : 0;

    done = run_single_operations(&run, operations, samples);
    qsort(samples, done, sizeof *samples, compare_u32);
    out_result->ns_p50 = percentile(samples, done, 0.50, clock_cost_ns());
    out_result->ns_p99 = percentile(samples, done, 0.99, clock_cost_ns());

    out_result->live_ranges = run.live_count;
    out_result->hole_count = subject_hole_count(&run);
    out_result->metadata_peak_bytes = subject_metadata_bytes(&run.subject);
    if (run.live_peak)
        out_result->metadata_bytes_per_range =
            (double)out_result->metadata_peak_bytes / (double)run.live_peak;
    is_done = true;

done:
    subject_fini(&run.subject);
    free(samples);
    large_pages_fini(&run.pages);
    return is_done;
}

struct range_bench_result range_bench_run(uint64_t live_ranges, double occupancy,
                                          uint64_t operations, uint64_t seed)
{
    struct range_bench_result result;

    range_bench_run_subject(RANGE_BENCH_OURS, live_ranges, occupancy, operations, seed, &result);
    return result;
}

const char *range_bench_subject_name(enum range_bench_subject subject)
{
    switch (subject) {
    case RANGE_BENCH_OURS:
        return "range allocator";
    case RANGE_BENCH_SEGREGATED_FIT:
        return "segregated fit";
    case RANGE_BENCH_FIRST_FIT:
        return "first fit, sorted array";
    }
    return "unknown";
}
