/*
 * Threads of the driver that is the test, and waits.
 *
 * Place      nt, tests only; over test_kernel.h.
 */
#ifndef DRYDOCK_NT_TEST_THREADS_H
#define DRYDOCK_NT_TEST_THREADS_H

#include "nt/rig/test_kernel.h"

#define TEST_MS INT64_C(10000) /* of 100 ns */

/* From now on, as services take it. */
LARGE_INTEGER test_ms(int64_t ms);
void test_sleep_ms(int64_t ms);

/* A thread, for test_join(), which waits for its end. */
PKTHREAD test_thread(PKSTART_ROUTINE start, void *context);
void test_join(PKTHREAD thread);

NTSTATUS test_wait(void *object, LARGE_INTEGER *timeout);

/* What the driver has left now: test.left_count sentences, and the last of them in test.left. */
void test_find_leftovers(void);

#endif
