/*
 * Range bench peers: two textbook allocators behind the three calls that the range bench times.
 *
 * Place      bench, for range_bench.c only. Neither is meant for use: no alignment, no windows, no
 *            lookup by address. That favours them.
 */
#ifndef DRYDOCK_BENCH_RANGE_BENCH_PEERS_H
#define DRYDOCK_BENCH_RANGE_BENCH_PEERS_H

#include <stdbool.h>
#include <stdint.h>

/* Address-ordered array of ranges, searched from the start: first fit as most first write it. */
struct first_fit;

struct first_fit *first_fit_create(uint64_t size, uint64_t ranges_max);
void first_fit_destroy(struct first_fit *fit);
bool first_fit_take(struct first_fit *fit, uint64_t size, uint64_t *out_offset);
void first_fit_release(struct first_fit *fit, uint64_t offset);
uint64_t first_fit_metadata_bytes(const struct first_fit *fit);

/*
 * Two-level segregated fit: eight bins for each power of two, sizes rounded up to the next bin,
 * the first hole there is; nodes with links to both neighbours, released by handle.
 */
struct segregated_fit;

struct segregated_fit *segregated_fit_create(uint64_t size, uint64_t ranges_max);
void segregated_fit_destroy(struct segregated_fit *fit);
bool segregated_fit_take(struct segregated_fit *fit, uint64_t size, uint32_t *out_handle);
void segregated_fit_release(struct segregated_fit *fit, uint32_t handle);
uint64_t segregated_fit_metadata_bytes(const struct segregated_fit *fit);

#endif
