/*
 * Test helper: drivers that do one thing wrong, in a TRANSFER, for tests of what becomes of that.
 *
 * Place      bench, tests only. run_add_drivers(test_find_driver) makes them known.
 * Model      test:crash aborts, test:hang waits for ever, test:overrun writes behind the paging
 *            buffer until a guard page stops it, test:keep-pointer does not move pDmaBuffer
 *            (PB-004).
 */
#ifndef DRYDOCK_BENCH_TEST_DRIVERS_H
#define DRYDOCK_BENCH_TEST_DRIVERS_H

#include "bench/drivers/drivers.h"

bool test_find_driver(const char *name, struct run_driver *out_driver);

#endif
