#include "bench/measure/page_bench.h"

#include "base/bits.h"
#include "base/page_allocator.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GAP_PAGES_MAX 64

/* A bit for each page, set when taken; the search goes on where the last one ended. */
struct peer {
    uint64_t *words;
    uint64_t page_count;
    uint64_t next;
};

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The runs that a page-wise take came to, or 0 when the pool is full. */
static uint64_t peer_take(struct peer *peer, uint64_t page_count)
{
    uint64_t runs = 0;
    uint64_t before = UINT64_MAX - 1;

    for (; page_count; page_count--) {
        while (peer->next < peer->page_count && peer->words[peer->next / 64] >> peer->next % 64 & 1)
            peer->next++;
        if (peer->next == peer->page_count)
            return 0;
        peer->words[peer->next / 64] |= UINT64_C(1) << peer->next % 64;
        runs += peer->next != before + 1;
        before = peer->next++;
    }
    return runs;
}

static void bench_fresh(struct page_allocator *pa, struct peer *peer, uint64_t take_pages,
                        struct page_run *runs, struct page_bench_result *result)
{
    double start = now_ns();
    size_t run_count;

    while (page_allocator_take(pa, take_pages, PAGE_LONG_RUNS, runs, (size_t)take_pages,
                               &run_count) == PAGE_OK)
        result->fresh_takes++;
    result->fresh_take_ns = (now_ns() - start) / (double)result->fresh_takes;

    start = now_ns();
    for (uint64_t i = 0; i < result->fresh_takes; i++)
        page_allocator_release(pa, i * take_pages, take_pages);
    result->fresh_release_ns = (now_ns() - start) / (double)result->fresh_takes;

    start = now_ns();
    for (uint64_t i = 0; i < result->fresh_takes; i++)
        peer_take(peer, take_pages);
    result->fresh_peer_take_ns = (now_ns() - start) / (double)result->fresh_takes;
}

/* Alternating taken and free runs, the same in both pools, which are free before. */
static void fragment(struct page_allocator *pa, struct peer *peer, struct rng *rng)
{
    bool is_taken = true;

    memset(peer->words, 0, (size_t)div_round_up(peer->page_count, 64) * sizeof *peer->words);
    peer->next = 0;
    for (uint64_t page = 0; page < peer->page_count; is_taken = !is_taken) {
        uint64_t count = min_u64(rng_between(rng, 1, GAP_PAGES_MAX), peer->page_count - page);

        if (is_taken) {
            page_allocator_take_at(pa, page, count);
            for (uint64_t i = page; i < page + count; i++)
                peer->words[i / 64] |= UINT64_C(1) << i % 64;
        }
        page += count;
    }
}

static void bench_fragmented(struct page_allocator *pa, struct peer *peer, uint64_t take_pages,
                             uint64_t take_count, struct page_run *runs,
                             struct page_bench_result *result)
{
    double start = now_ns();
    uint64_t runs_seen = 0;
    uint64_t takes = 0;
    size_t run_count;

    for (; takes < take_count && page_allocator_take(pa, take_pages, PAGE_LONG_RUNS, runs,
                                                     (size_t)take_pages, &run_count) == PAGE_OK;
         takes++)
        runs_seen += run_count;
    if (takes == 0)
        return;
    result->fragmented_takes = takes;
    result->fragmented_take_ns = (now_ns() - start) / (double)takes;
    result->fragmented_runs_per_take = (double)runs_seen / (double)takes;

    runs_seen = 0;
    start = now_ns();
    for (uint64_t i = 0; i < takes; i++)
        runs_seen += peer_take(peer, take_pages);
    result->fragmented_peer_take_ns = (now_ns() - start) / (double)takes;
    result->fragmented_peer_runs_per_take = (double)runs_seen / (double)takes;
}

bool page_bench_run(uint64_t pool_pages, uint64_t take_pages, uint64_t take_count, uint64_t seed,
                    struct page_bench_result *out_result)
{
    struct page_allocator pa;
    struct peer peer = {.page_count = pool_pages};
    struct page_run *runs;
    struct rng rng;
    bool is_done = false;

    memset(out_result, 0, sizeof *out_result);
    if (take_pages == 0 || take_pages > pool_pages ||
        page_allocator_init(&pa, base_services_libc(), pool_pages) != PAGE_OK)
        return false;

    rng_init(&rng, seed);
    runs = calloc((size_t)take_pages, sizeof *runs);
    peer.words = calloc((size_t)div_round_up(pool_pages, 64), sizeof *peer.words);
    if (runs && peer.words) {
        out_result->metadata_bits_per_page =
            8.0 * (double)page_allocator_metadata_bytes(&pa) / (double)pool_pages;
        bench_fresh(&pa, &peer, take_pages, runs, out_result);
        fragment(&pa, &peer, &rng);
        bench_fragmented(&pa, &peer, take_pages, take_count, runs, out_result);
        is_done = true;
    }
    free(peer.words);
    free(runs);
    page_allocator_fini(&pa);
    return is_done;
}
