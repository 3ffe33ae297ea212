/*
 * Range bench peer: the allocator of ranges that an engineer would take otherwise.
 *
 * Place      bench, for range_bench.c only.
 * Model      A two-level segregated fit, after what is published of OffsetAllocator: eight bins for
 *            each power of two, sizes rounded up to the next bin, the first hole there is; nodes of
 *            28 bytes with 32-bit offsets in an array whose length is fixed when it is made, links
 *            to both neighbours, released by handle, a stack of spare nodes.
 *            It differs from OffsetAllocator in nothing that the bench times: C rather than C++,
 *            and no report of its storage. Like it, it knows no alignment, no window and no lookup
 *            by address, and its owner has to say how many ranges there will be. That favours it.
 */
#ifndef DRYDOCK_BENCH_RANGE_BENCH_PEERS_H
#define DRYDOCK_BENCH_RANGE_BENCH_PEERS_H

#include <stdbool.h>
#include <stdint.h>

struct segregated_fit;

struct base_services;

struct segregated_fit *segregated_fit_create(const struct base_services *services, uint32_t size,
                                             uint32_t ranges_max);
bool segregated_fit_take(struct segregated_fit *fit, uint32_t size, uint32_t *out_handle);
uint32_t segregated_fit_offset(const struct segregated_fit *fit, uint32_t handle);
void segregated_fit_release(struct segregated_fit *fit, uint32_t handle);
uint64_t segregated_fit_metadata_bytes(const struct segregated_fit *fit);

#endif
