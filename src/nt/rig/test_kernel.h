/*
 * The kernel under test: the test plays the driver, linked in.
 *
 * Place      nt, tests only.
 * Model      One kernel at a time, with no machine, a machine with device memory, or a small one
 *            for threads and time. Bug checks, deadlocks and sentences to the host are caught.
 *            Memory that is left over behind the kernel's end fails the test.
 */
#ifndef DRYDOCK_NT_TEST_KERNEL_H
#define DRYDOCK_NT_TEST_KERNEL_H

#include "base/failing_services.h"
#include "nt/nt_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TEST_TAG 0x74736554u /* "Test" */

struct test_kernel {
    struct failing_services memory; /* the kernel's */
    struct machine *machine;        /* NULL: none */
    struct nt *nt;

    /* How the driver has stopped the machine. */
    jmp_buf stopped;
    uint32_t code;
    uint64_t parameters[4];
    char deadlock[1024];

    /* What the host was told last. */
    char missing[128];
    char in_vain[128];
    unsigned misuse_count;
    char misuse[400];

    /* The last line of DbgPrint(). */
    char line[600];
    uint32_t line_level;

    /* Of test_find_leftovers(). */
    unsigned left_count;
    char left[400];
};

extern struct test_kernel test;

/* ---- Life ------------------------------------------------------------------------------------ */

/* With a small machine of this seed. */
void test_begin(uint64_t seed);
void test_end(void);

/* For cmocka; the state is &test. No machine; one with device memory; test_begin(1). */
int test_setup(void **state);
int test_setup_machine(void **state);
int test_setup_threads(void **state);
int test_teardown(void **state);

#define KERNEL_TEST(name)  cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)
#define MACHINE_TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_machine, test_teardown)
#define THREADS_TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)

/* ---- What the host was told ------------------------------------------------------------------ */

/* The last misuse has this part; it is forgotten then. */
#define assert_misuse(part)                                                                        \
    do {                                                                                           \
        if (!strstr(test.misuse, part))                                                            \
            fail_msg("\"%s\" has no \"%s\"", test.misuse, part);                                   \
        test.misuse[0] = '\0';                                                                     \
    } while (0)
#define assert_no_misuse() assert_string_equal(test.misuse, "")

/* Runs statement, which must stop with this bug check. The run is over then. */
#define assert_stops(expected_code, statement)                                                     \
    do {                                                                                           \
        test.code = 0;                                                                             \
        if (!setjmp(test.stopped)) {                                                               \
            statement;                                                                             \
            fail_msg("it went on");                                                                \
        }                                                                                          \
        assert_int_equal(test.code, (expected_code));                                              \
    } while (0)

/* The same, with its first parameter. */
#define assert_stops_with(expected_code, expected_parameter, statement)                            \
    do {                                                                                           \
        assert_stops(expected_code, statement);                                                    \
        assert_int_equal(test.parameters[0], (expected_parameter));                                \
    } while (0)

/* ---- Strings --------------------------------------------------------------------------------- */

/* A WCHAR literal of ASCII, and a string of it, good until the end of the block. */
#define W(literal) test_wide(literal, (WCHAR[sizeof(literal)]){0})
#define U(literal) test_string(W(literal))

PWSTR test_wide(const char *from, PWSTR to);
UNICODE_STRING test_string(PWSTR text);
void test_assert_wide(PCWSTR text, const char *expected, size_t length);

#define assert_string_is(string, expected)                                                         \
    test_assert_wide((string)->Buffer, expected, (string)->Length / sizeof(WCHAR))

#endif
