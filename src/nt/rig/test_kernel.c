#include "nt/rig/test_kernel.h"

#include "base/bits.h"

#include <stdio.h>

struct test_kernel test;

static void on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    test.code = code;
    memcpy(test.parameters, parameters, sizeof test.parameters);
    longjmp(test.stopped, 1);
}

static void on_deadlock(void *context, const char *text)
{
    snprintf(test.deadlock, sizeof test.deadlock, "%s", text);
    longjmp(test.stopped, 2);
}

static void on_in_vain(void *context, const char *word)
{
    snprintf(test.in_vain, sizeof test.in_vain, "%s", word);
}

static void on_missing(void *context, const char *name)
{
    snprintf(test.missing, sizeof test.missing, "%s", name);
}

static void on_misuse(void *context, const char *text)
{
    test.misuse_count++;
    snprintf(test.misuse, sizeof test.misuse, "%s", text);
}

static void on_log(void *context, uint32_t component, uint32_t level, const char *text)
{
    assert_int_equal(component, DPFLTR_IHVVIDEO_ID);
    test.line_level = level;
    snprintf(test.line, sizeof test.line, "%s", text);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* NULL: without a machine. */
static void begin(const struct machine_config *config, const struct base_services *of_machine)
{
    const struct nt_host host = {.log = on_log,
                                 .bug_check = on_bug_check,
                                 .missing = on_missing,
                                 .misuse = on_misuse,
                                 .deadlock = on_deadlock,
                                 .in_vain = on_in_vain};

    memset(&test, 0, sizeof test);
    failing_services_init(&test.memory);
    if (config) {
        test.machine = machine_create(of_machine, config);
        assert_non_null(test.machine);
    }
    test.nt = nt_create(&test.memory.services, test.machine, &host);
    assert_non_null(test.nt);
    nt_bind(test.nt);
}

/* The machine has memory of its own: what fails in a test is the kernel's. */
void test_begin(uint64_t seed)
{
    struct machine_config config;

    machine_config_defaults(&config, seed);
    config.ram_bytes = 4 * MiB;
    config.local_bytes = config.visible_bytes = config.aperture_bytes = 0;
    begin(&config, base_services_libc());
}

void test_end(void)
{
    nt_destroy(test.nt);
    if (test.machine) {
        assert_int_equal(machine_allocated_pages(test.machine), 0);
        machine_destroy(test.machine);
    }
    assert_int_equal(test.memory.live_blocks, 0);
}

int test_setup(void **state)
{
    begin(NULL, NULL);
    *state = &test;
    return 0;
}

int test_setup_machine(void **state)
{
    struct machine_config config;

    machine_config_defaults(&config, 1);
    config.ram_bytes = 64 * MiB;
    config.local_bytes = config.visible_bytes = 8 * MiB;
    begin(&config, base_services_libc());
    *state = &test;
    return 0;
}

int test_setup_threads(void **state)
{
    test_begin(1);
    *state = &test;
    return 0;
}

int test_teardown(void **state)
{
    test_end();
    return 0;
}

/* ---- Strings --------------------------------------------------------------------------------- */

PWSTR test_wide(const char *from, PWSTR to)
{
    size_t i = 0;

    for (; from[i]; i++)
        to[i] = (UCHAR)from[i];
    to[i] = 0;
    return to;
}

UNICODE_STRING test_string(PWSTR text)
{
    UNICODE_STRING string;

    RtlInitUnicodeString(&string, text);
    return string;
}

void test_assert_wide(PCWSTR text, const char *expected, size_t length)
{
    assert_int_equal(strlen(expected), length);
    for (size_t i = 0; i < length; i++)
        assert_int_equal(text[i], (UCHAR)expected[i]);
}
