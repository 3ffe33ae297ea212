/*
 * A kernel on a machine, whose bug checks, deadlocks and reports are caught. For tests.
 *
 * Place   nt, tests only.
 * Model   The test plays the driver, linked in. One at a time.
 */
#ifndef DRYDOCK_NT_TEST_THREADS_H
#define DRYDOCK_NT_TEST_THREADS_H

#include "nt/machine/boundary.h"
#include "nt/nt_private.h"

#include "base/bits.h"
#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEST_TAG 0x74736554u    /* "Test" */
#define TEST_MS  INT64_C(10000) /* of 100 ns */

struct test_kernel {
    struct failing_services memory;
    struct machine *machine;
    struct nt *nt;
    jmp_buf stopped;
    uint32_t code;
    uint64_t parameters[4];
    char deadlock[1024];
    unsigned misuse_count, left_count;
    char misuse[400], left[400];
};

static struct test_kernel test;

static void test_on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    test.code = code;
    memcpy(test.parameters, parameters, sizeof test.parameters);
    longjmp(test.stopped, 1);
}

static void test_on_deadlock(void *context, const char *text)
{
    snprintf(test.deadlock, sizeof test.deadlock, "%s", text);
    longjmp(test.stopped, 2);
}

static void test_on_misuse(void *context, const char *text)
{
    test.misuse_count++;
    snprintf(test.misuse, sizeof test.misuse, "%s", text);
}

static inline void test_on_left(void *context, const char *text)
{
    test.left_count++;
    snprintf(test.left, sizeof test.left, "%s", text);
}

static inline void test_begin(uint64_t seed)
{
    const struct nt_host host = {
        .bug_check = test_on_bug_check, .misuse = test_on_misuse, .deadlock = test_on_deadlock};
    struct machine_config config;

    memset(&test, 0, sizeof test);
    failing_services_init(&test.memory);
    machine_config_defaults(&config, seed);
    config.ram_bytes = 4 * MiB;
    config.local_bytes = config.visible_bytes = config.aperture_bytes = 0;
    test.machine = machine_create(base_services_libc(), &config);
    assert_non_null(test.machine);
    test.nt = nt_create(&test.memory.services, test.machine, &host);
    assert_non_null(test.nt);
    nt_bind(test.nt);
}

/* Nothing of the bench's own is left, whatever the driver left. */
static inline void test_end(void)
{
    nt_destroy(test.nt);
    machine_destroy(test.machine);
    assert_int_equal(test.memory.live_blocks, 0);
}

static inline int test_setup(void **state)
{
    test_begin(1);
    return 0;
}

static inline int test_teardown(void **state)
{
    test_end();
    return 0;
}

static inline LARGE_INTEGER test_ms(int64_t ms)
{
    return (LARGE_INTEGER){.QuadPart = -ms * TEST_MS};
}

static inline void test_sleep_ms(int64_t ms)
{
    LARGE_INTEGER time = test_ms(ms);

    assert_int_equal(KeDelayExecutionThread(KernelMode, FALSE, &time), STATUS_SUCCESS);
}

/* A thread, and what is waited for to see its end. */
static inline PKTHREAD test_thread(PKSTART_ROUTINE start, void *context)
{
    HANDLE handle;
    PVOID object;

    assert_int_equal(
        PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, start, context),
        STATUS_SUCCESS);
    assert_int_equal(
        ObReferenceObjectByHandle(handle, SYNCHRONIZE, *PsThreadType, KernelMode, &object, NULL),
        STATUS_SUCCESS);
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
    return object;
}

static inline void test_join(PKTHREAD thread)
{
    assert_int_equal(KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, NULL),
                     STATUS_SUCCESS);
    ObDereferenceObject(thread);
}

static inline NTSTATUS test_wait(void *object, LARGE_INTEGER *timeout)
{
    return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, timeout);
}

/* Nothing has been told since, or this has. */
#define assert_no_misuse() assert_string_equal(test.misuse, "")
#define assert_misuse(part)                                                                        \
    do {                                                                                           \
        if (!strstr(test.misuse, part))                                                            \
            fail_msg("\"%s\" has no \"%s\"", test.misuse, part);                                   \
        test.misuse[0] = '\0';                                                                     \
    } while (0)

/* Runs statement, which must stop with this bug check; the run is over then. */
#define assert_stops(expected_code, statement)                                                     \
    do {                                                                                           \
        test.code = 0;                                                                             \
        if (!setjmp(test.stopped)) {                                                               \
            statement;                                                                             \
            fail_msg("it went on");                                                                \
        }                                                                                          \
        assert_int_equal(test.code, (expected_code));                                              \
    } while (0)

#endif
