/*
 * How fast the modelled engine moves real bytes, beside the C library on the same memory.
 *
 * Place    sgpu. For `drydock bench`. The one place here that reads the host's clock.
 * Model    COPY and FILL packets over pages that are pinned, so that bytes really move, submitted
 *          by doorbell and run to completion; against memcpy and memset over the same host
 *          addresses, in turns, the best of each counted.
 */
#ifndef DRYDOCK_SGPU_SGPU_BENCH_H
#define DRYDOCK_SGPU_SGPU_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sgpu_bench_row {
    const char *name; /* "copy" or "fill" */
    const char *peer; /* "memcpy" or "memset" */
    uint64_t bytes;   /* of one packet */
    double engine_bytes_per_second;
    double peer_bytes_per_second;
    double ratio; /* engine over peer: 1 is as fast */
};

#define SGPU_BENCH_ROWS 14 /* two operations, 4 KiB to 16 MiB by fours */

/* False when the host has no memory for it. */
bool sgpu_bench(struct sgpu_bench_row out_rows[SGPU_BENCH_ROWS]);

#endif
