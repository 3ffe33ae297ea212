/*
 * Test helper: a case file or text, played with options, in a line or two.
 *
 * Place      bench, tests only.
 */
#ifndef DRYDOCK_BENCH_TEST_RUN_H
#define DRYDOCK_BENCH_TEST_RUN_H

#include "bench/run/run.h"

#include "base/bits.h"
#include "miniport/miniport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A case of cases/, or a text. */
struct workload *test_load(const char *name);
struct workload *test_parse(const char *text);
void test_option(struct workload *workload, const char *key, const char *value);

/* By default, and as the options of the case say; without a reference run. */
struct run_config test_config(const struct workload *workload);

/* Each plays and frees the workload; the caller ends the result with test_finish(). */
struct run_result *test_execute(const struct run_config *config, struct workload *workload);
struct run_result *test_play(struct workload *workload);
void test_finish(struct run_result *result);

void test_assert_clean(const struct run_result *result);
uint64_t test_count(const struct run_result *result, unsigned operation);

/* A layer that forwards, for run_driver.wrap; gives its functions, to be replaced. */
struct miniport_ops *test_put_layer(const struct base_services *services, struct miniport *next,
                                    struct miniport **out_layer);

/* From such a layer: the driver builds something else instead. What it answers is of `arg`. */
NTSTATUS test_forward_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                            DXGKARG_BUILDPAGINGBUFFER *instead);

#endif
