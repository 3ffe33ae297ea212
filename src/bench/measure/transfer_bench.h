/*
 * Transfer bench: how fast the modelled engine moves real bytes, beside the host itself.
 *
 * Place    bench. For `drydock bench`.
 * Model    COPY and FILL packets over pages that are pinned, so that bytes really move, some in one
 *          buffer, submitted by doorbell and run to completion. The peers work on the same host
 *          addresses: memcpy() and memset(), and stores that go around the cache.
 * Errors   NULL or false: the host has no memory for it, or the engine moved other bytes.
 */
#ifndef DRYDOCK_BENCH_TRANSFER_BENCH_H
#define DRYDOCK_BENCH_TRANSFER_BENCH_H

#include "bench/measure/compare.h"

#include <stdbool.h>
#include <stdint.h>

#define TRANSFER_BENCH_MOST_BYTES (UINT64_C(64) * 1024 * 1024)

struct transfer_bench;

struct transfer_bench *transfer_bench_create(void);
void transfer_bench_destroy(struct transfer_bench *bench);

/*
 * Packets of so many bytes beside the peer that is faster, whose name is given. The comparison is
 * of one packet.
 */
bool transfer_bench_run(struct transfer_bench *bench, bool is_copy, uint64_t bytes, unsigned slices,
                        struct comparison *out_comparison, const char **out_peer);

#endif
