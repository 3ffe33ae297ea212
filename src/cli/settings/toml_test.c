/*
 * TOML: what is taken, and what is said of the rest.
 */
#include "cli/settings/toml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool parse(const char *text, struct toml *out, char error[512])
{
    return toml_parse(text, strlen(text), "t.toml", out, error);
}

static void expect_one(const char *text, enum toml_kind kind, const char *value)
{
    struct toml toml;
    char error[512] = "";

    if (!parse(text, &toml, error))
        fail_msg("%s: %s", text, error);
    assert_int_equal(toml.count, 1);
    assert_string_equal(toml.entries[0].key, "a");
    assert_int_equal(toml.entries[0].kind, kind);
    assert_int_equal(toml.entries[0].count, 1);
    assert_string_equal(toml.entries[0].elements[0], value);
    toml_free(&toml);
}

static void values_are_taken(void **state)
{
    expect_one("a = \"x\"", TOML_STRING, "x");
    expect_one("a='C:\\x'\n", TOML_STRING, "C:\\x");
    expect_one("a = \"\\\"\\\\\\t\\n\\u00e9\\U0001F600\"", TOML_STRING, "\"\\\t\n\u00e9\U0001F600");
    expect_one("\"a\" = \"\"", TOML_STRING, "");
    expect_one("a = 1_000 # c", TOML_INTEGER, "1000");
    expect_one("a = -7", TOML_INTEGER, "-7");
    expect_one("a = 0xFf", TOML_INTEGER, "255");
    expect_one("a = 9223372036854775807", TOML_INTEGER, "9223372036854775807");
    expect_one("a = true", TOML_BOOLEAN, "true");
}

static void tables_and_arrays_are_taken(void **state)
{
    struct toml toml;
    char error[512];

    assert_true(
        parse("\xef\xbb\xbf# c\r\nx = [ 'a' , # c\n\n 2, true ,]\r\n[ board ]\ny = []\n[z]\n",
              &toml, error));
    assert_int_equal(toml.count, 2);
    assert_string_equal(toml.entries[0].table, "");
    assert_int_equal(toml.entries[0].line, 2);
    assert_int_equal(toml.entries[0].kind, TOML_ARRAY);
    assert_int_equal(toml.entries[0].count, 3);
    assert_string_equal(toml.entries[0].elements[0], "a");
    assert_string_equal(toml.entries[0].elements[1], "2");
    assert_string_equal(toml.entries[0].elements[2], "true");
    assert_string_equal(toml.entries[1].table, "board");
    assert_string_equal(toml.entries[1].key, "y");
    assert_int_equal(toml.entries[1].line, 6);
    assert_int_equal(toml.entries[1].count, 0);
    toml_free(&toml);
}

static void what_is_not_taken_is_named_with_its_line(void **state)
{
    static const char *const cases[][2] = {
        {"\na = 1.5", "t.toml:2: no value ("},
        {"a = 2026-11-28", "t.toml:1: no value ("},
        {"a = 1\na = 2", "t.toml:2: a key that is there already"},
        {"[x]\n[x]\n", "t.toml:2: a table that is there already"},
        {"a = 1\n[a]", "t.toml:2: a table of the name of a key"},
        {"a.b = 1", "t.toml:1: a dotted name"},
        {"[a.b]", "t.toml:1: a dotted name"},
        {"[[a]]", "t.toml:1: an array of tables"},
        {"a = {b = 1}", "t.toml:1: an inline table"},
        {"a = [1,\n[2]]", "t.toml:2: an array in an array"},
        {"a = \"\"\"x\"\"\"", "t.toml:1: a string of several lines"},
        {"a = \"x", "t.toml:1: a string that does not end"},
        {"a = \"x\ny\"", "t.toml:1: a string that does not end"},
        {"a = \"\\q\"", "t.toml:1: an escape that there is not"},
        {"a = \"\\ud800\"", "t.toml:1: \\u names no character"},
        {"a = \"\\u0000\"", "t.toml:1: \\u names no character"},
        {"a = \"\xff\"", "t.toml:1: a byte in a string"},
        {"# \xc0\x80", "t.toml:1: a byte that is no text"},
        {"a = 1 b = 2", "t.toml:1: expected the end of the line"},
        {"a", "t.toml:1: expected = behind the key"},
        {"= 1", "t.toml:1: expected a key or [table]"},
        {"a =", "t.toml:1: no value ("},
        {"a = 01", "t.toml:1: no value ("},
        {"a = 1__0", "t.toml:1: no value ("},
        {"a = 1_", "t.toml:1: no value ("},
        {"a = 9223372036854775808", "t.toml:1: no value ("},
        {"a = yes", "t.toml:1: no value ("},
        {"a = [1 2]", "t.toml:1: expected , or ]"},
        {"[x", "t.toml:1: expected ] behind"},
        {"\xff\xfe", "t.toml:1: a text in UTF-16"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct toml toml;
        char error[512] = "";

        if (parse(cases[i][0], &toml, error))
            fail_msg("taken: %s", cases[i][0]);
        if (strncmp(error, cases[i][1], strlen(cases[i][1])) != 0)
            fail_msg("%s: '%s' (expected '%s')", cases[i][0], error, cases[i][1]);
        assert_int_equal(toml.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_taken),
        cmocka_unit_test(tables_and_arrays_are_taken),
        cmocka_unit_test(what_is_not_taken_is_named_with_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
