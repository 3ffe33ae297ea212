/*
 * Table bench: what page tables cost, beside storing the same entries and doing nothing else.
 *
 * Place      bench. Results depend on the machine and are for the reader, never for a test.
 * Model      A resident allocation of a GiB in local memory is mapped at one address behind the
 *            other (GpuMmu, the reference driver). The manager alone: a layer above the driver
 *            takes each page-table update of the process and hands none on. The whole: driver and
 *            modelled GPU follow, until the last entry is in memory. The floor: as many words, made
 *            up and stored past the cache. Times are of the mapping; unmapping is not timed. Each
 *            mapping makes its page tables, which go when it is unmapped; those of 2 MiB pages
 *            stay, for such pages are entries of tables that have leaf tables below.
 * Errors     False: no memory, or the run did not come up.
 */
#ifndef DRYDOCK_BENCH_TABLE_BENCH_H
#define DRYDOCK_BENCH_TABLE_BENCH_H

#include "bench/measure/compare.h"

#include <stdbool.h>
#include <stdint.h>

/* The pages of a mapping, and what an entry maps. */
enum table_page { TABLE_PAGE_4K, TABLE_PAGE_64K, TABLE_PAGE_2M, TABLE_PAGE_COUNT };

struct table_bench {
    uint64_t entries;          /* of a slice */
    struct comparison manager; /* an entry; beside the floor */
    struct comparison whole;   /* an entry; beside the manager alone */
};

uint64_t table_page_bytes(enum table_page page);

/* Maps so many bytes in each slice: whole GiB. */
bool table_bench_run(enum table_page page, uint64_t bytes, unsigned slices,
                     struct table_bench *out_result);

#endif
