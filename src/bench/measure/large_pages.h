/*
 * Large pages: memory for structures that are large and walked at random.
 *
 * Place      bench: services for what it measures; an embedder of libvidmm may do the same.
 * Model      Bump allocation out of regions that the host is advised to back with large pages: a
 *            million ranges are 35 MB of nodes, and with small pages most of a slow operation is
 *            the host's own page-table walk. What is freed comes back only with the whole.
 * Ownership  large_pages_init() fills the caller's struct; services are lent until _fini().
 */
#ifndef DRYDOCK_BENCH_LARGE_PAGES_H
#define DRYDOCK_BENCH_LARGE_PAGES_H

#include "base/services.h"

#include <stdint.h>

#define LARGE_PAGES_REGIONS 64

struct large_pages {
    struct base_services services;
    uint8_t *regions[LARGE_PAGES_REGIONS];
    unsigned region_count;
    size_t used; /* of the last region */
};

void large_pages_init(struct large_pages *pages);
void large_pages_fini(struct large_pages *pages);

#endif
