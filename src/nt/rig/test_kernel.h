/*
 * A kernel for tests of services: bug checks are caught, what is missing is remembered, and memory
 * that is left over fails the test.
 *
 * Place  tests of nt.
 */
#ifndef DRYDOCK_NT_TEST_KERNEL_H
#define DRYDOCK_NT_TEST_KERNEL_H

#include "nt/nt_private.h"

#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define TEST_TAG 0x74736554u /* "Test" */

struct test_kernel {
    struct failing_services memory;
    struct machine *machine; /* NULL unless the test has made one */
    struct nt *nt;
    jmp_buf stopped;
    uint32_t code;
    uint64_t parameters[4];
    char missing[128];
    char misuse[256];
};

static inline void test_on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    struct test_kernel *kernel = context;

    kernel->code = code;
    memcpy(kernel->parameters, parameters, sizeof kernel->parameters);
    longjmp(kernel->stopped, 1);
}

static inline void test_on_missing(void *context, const char *name)
{
    struct test_kernel *kernel = context;

    snprintf(kernel->missing, sizeof kernel->missing, "%s", name);
}

static inline void test_on_misuse(void *context, const char *text)
{
    struct test_kernel *kernel = context;

    snprintf(kernel->misuse, sizeof kernel->misuse, "%s", text);
}

/* The last that was told since has this part. */
#define assert_misuse(kernel, part)                                                                \
    do {                                                                                           \
        assert_non_null(strstr((kernel)->misuse, part));                                           \
        (kernel)->misuse[0] = '\0';                                                                \
    } while (0)

static inline int test_kernel_start(void **state, bool has_machine)
{
    static struct test_kernel kernel;
    const struct nt_host host = {.context = &kernel,
                                 .bug_check = test_on_bug_check,
                                 .missing = test_on_missing,
                                 .misuse = test_on_misuse};

    memset(&kernel, 0, sizeof kernel);
    failing_services_init(&kernel.memory);
    if (has_machine) {
        struct machine_config config;

        machine_config_defaults(&config, 1);
        config.ram_bytes = 64 << 20;
        config.local_bytes = config.visible_bytes = 8 << 20;
        kernel.machine = machine_create(&kernel.memory.services, &config);
        assert_non_null(kernel.machine);
    }
    kernel.nt = nt_create(&kernel.memory.services, kernel.machine, &host);
    assert_non_null(kernel.nt);
    nt_bind(kernel.nt);
    *state = &kernel;
    return 0;
}

static inline int test_kernel_setup(void **state)
{
    return test_kernel_start(state, false);
}

static inline int test_kernel_setup_machine(void **state)
{
    return test_kernel_start(state, true);
}

static inline int test_kernel_teardown(void **state)
{
    struct test_kernel *kernel = *state;

    nt_destroy(kernel->nt);
    if (kernel->machine) {
        assert_int_equal(machine_allocated_pages(kernel->machine), 0);
        machine_destroy(kernel->machine);
    }
    return kernel->memory.live_blocks ? -1 : 0;
}

/* Runs statement, which must stop with this bug check. */
#define assert_stops(kernel, statement, expected_code, expected_parameter)                         \
    do {                                                                                           \
        (kernel)->code = 0;                                                                        \
        if (!setjmp((kernel)->stopped)) {                                                          \
            statement;                                                                             \
        }                                                                                          \
        assert_int_equal((kernel)->code, (expected_code));                                         \
        assert_int_equal((kernel)->parameters[0], (expected_parameter));                           \
    } while (0)

/* A WCHAR literal of ASCII, good until the end of the block. */
#define W(literal) test_wide(literal, (WCHAR[sizeof(literal)]){0})

static inline PWSTR test_wide(const char *from, PWSTR to)
{
    size_t i = 0;

    for (; from[i]; i++)
        to[i] = (UCHAR)from[i];
    to[i] = 0;
    return to;
}

static inline UNICODE_STRING test_string(PWSTR text)
{
    UNICODE_STRING string;

    RtlInitUnicodeString(&string, text);
    return string;
}

#define U(literal) test_string(W(literal))

static inline void test_assert_wide(PCWSTR text, const char *expected, size_t length)
{
    assert_int_equal(strlen(expected), length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(text[i], (UCHAR)expected[i]);
}

#define assert_string_is(string, expected)                                                         \
    test_assert_wide((string)->Buffer, expected, (string)->Length / sizeof(WCHAR))

#define KERNEL_TEST(name)                                                                          \
    cmocka_unit_test_setup_teardown(name, test_kernel_setup, test_kernel_teardown)
#define MACHINE_TEST(name)                                                                         \
    cmocka_unit_test_setup_teardown(name, test_kernel_setup_machine, test_kernel_teardown)

#endif
