#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "trace/trace_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROOM 64u

/* What printf makes of it, in buffers of every size, and its length in full. */
#define assert_as_printf(...)                                                                      \
    for (size_t size = 0; size <= ROOM; size++) {                                                  \
        char wanted[ROOM + 1], is[ROOM + 1];                                                       \
        struct trace_line line = {.buffer = is, .size = size};                                     \
        int length;                                                                                \
                                                                                                   \
        memset(wanted, '#', sizeof wanted);                                                        \
        memset(is, '#', sizeof is);                                                                \
        length = snprintf(size ? wanted : NULL, size, "[" __VA_ARGS__);                            \
        trace_put(&line, "[");                                                                     \
        trace_put(&line, __VA_ARGS__);                                                             \
        assert_int_equal(line.length, length);                                                     \
        assert_memory_equal(is, wanted, sizeof is);                                                \
    }

static const uint64_t numbers[] = {
    0,
    1,
    9,
    10,
    15,
    16,
    255,
    4096,
    99999,
    UINT32_MAX,
    UINT64_C(1) << 32,
    UINT64_C(1) << 63,
    UINT64_MAX,
};

static void a_line_is_what_printf_makes_of_it(void **state)
{
    (void)state;
    assert_as_printf("text");
    assert_as_printf(" %s=%s", "name", "");
    assert_as_printf("%c%c", 'a', '?');
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        uint64_t wide = numbers[i];
        uint32_t narrow = (uint32_t)wide;

        assert_as_printf("%" PRIu64 ":%" PRIx64 "+%016" PRIx64, wide, wide, wide);
        assert_as_printf("%" PRIu32 ":0x%" PRIx32 "+0x%08" PRIX32, narrow, narrow, narrow);
    }
}

static void other_conversions_go_to_printf_as_a_whole(void **state)
{
    (void)state;
    assert_as_printf("%" PRIu32 "%% of %5.1f", (uint32_t)7, 2.25);
    assert_as_printf("%" PRId64 " %-4d|%4u|%*s", INT64_MIN, -3, 17u, 5, "x");
    assert_as_printf("%s %020u", "wide", 5u);
}

/* Whole where it has room, and cut where it has none. */
static void assert_field(const char *wanted, uint64_t value, bool is_hex)
{
    for (size_t size = 0; size <= ROOM; size++) {
        char cut[ROOM + 1], is[ROOM + 1];
        struct trace_line line = {.buffer = is, .size = size};

        memset(cut, '#', sizeof cut);
        memset(is, '#', sizeof is);
        snprintf(size ? cut : NULL, size, "%s", wanted);
        if (is_hex)
            trace_put_hex(&line, "name", value);
        else
            trace_put_number(&line, "name", value);
        assert_int_equal(line.length, strlen(wanted));
        if (size) {
            assert_string_equal(is, cut);
            assert_int_equal(is[size], '#');
        }
    }
}

static void numbers_of_fields_are_those_of_printf(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(numbers); i++) {
        char wanted[ROOM];

        snprintf(wanted, sizeof wanted, " name=%" PRIu64, numbers[i]);
        assert_field(wanted, numbers[i], false);
        snprintf(wanted, sizeof wanted, " name=0x%" PRIx64, numbers[i]);
        assert_field(wanted, numbers[i], true);
    }
}

static void fields_have_names(void **state)
{
    char text[ROOM];
    struct trace_line line = {.buffer = text, .size = sizeof text};

    (void)state;
    trace_put_number(&line, "a", 0);
    trace_put_hex(&line, "b", UINT64_MAX);
    trace_put_cpu_address(&line, "c", text);
    trace_put_handle(&line, "d", TRACE_HANDLE_ALLOCATION, NULL);
    trace_put_handle(&line, "e", TRACE_HANDLE_ALLOCATION, text);
    assert_string_equal(text, " a=0 b=0xffffffffffffffff c=cpu d=- e=a?");
    assert_int_equal(line.length, strlen(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_what_printf_makes_of_it),
        cmocka_unit_test(other_conversions_go_to_printf_as_a_whole),
        cmocka_unit_test(numbers_of_fields_are_those_of_printf),
        cmocka_unit_test(fields_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
