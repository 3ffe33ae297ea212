/*
 * Failing services: an allocator that counts what is live and fails on request. For tests.
 *
 * Place   base; linked by tests only.
 * Model   Allocation number fail_at (1 is the next one) returns NULL, once; fail_at 0 never fails.
 *         A header before each block holds its size, and a free with another size aborts, as does
 *         one of a block behind whose end something was written.
 *
 *     struct failing_services memory;
 *
 *     for (uint64_t n = 1;; n++) {
 *         failing_services_init(&memory);
 *         failing_services_fail_at(&memory, n);
 *         done = operation(&memory.services);
 *         ... whole? ...
 *         assert_int_equal(memory.live_blocks, 0);
 *         if (!memory.has_failed)
 *             break;
 *     }
 */
#ifndef DRYDOCK_BASE_FAILING_SERVICES_H
#define DRYDOCK_BASE_FAILING_SERVICES_H

#include "base/services.h"

#include <stdbool.h>
#include <stdint.h>

struct failing_services {
    struct base_services services; /* pass &failing->services */
    uint64_t fail_at;              /* allocations until the one that fails, 0 for none */
    bool has_failed;               /* since the last failing_services_fail_at() */
    uint64_t allocation_count;     /* ever, with the failed ones */
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_bytes;
};

/* The struct must not move afterwards: services.context points at it. */
void failing_services_init(struct failing_services *failing);

/* Fail the n-th allocation from now on, 1 being the next; 0 for none. */
void failing_services_fail_at(struct failing_services *failing, uint64_t n);

#endif
