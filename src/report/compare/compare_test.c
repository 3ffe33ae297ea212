#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run that is nothing but a letter for each operation, and a call for each of its lines. */
static struct report_run run_of(const char *operations, const char *json)
{
    struct report_run run = {.json = json_loads(json, 0, NULL),
                             .story = story_create(base_services_libc())};

    assert_non_null(run.json);
    snprintf(run.name, sizeof run.name, "run");
    for (; *operations; operations++) {
        char name[2] = {*operations, '\0'};
        size_t row = story_add(run.story, STORY_OPERATIONS);

        story_set(run.story, STORY_OPERATIONS_NAME, row, story_text(run.story, name));
    }
    return run;
}

static void add_call(struct report_run *run, const char *name, uint64_t time, uint64_t status,
                     const char *field, uint64_t value)
{
    struct story *story = run->story;
    size_t row = story_add(story, STORY_CALLS);

    story_set(story, STORY_CALLS_NAME, row, story_text(story, name));
    story_set(story, STORY_CALLS_SEQUENCE, row, row + 1);
    story_set(story, STORY_CALLS_BEGINS, row, time);
    story_set(story, STORY_CALLS_STATUS, row, status);
    if (field)
        story_add_row(
            story, STORY_ARGUMENTS,
            (uint64_t[]){row + 1, story_text(story, field), story_text(story, "hex"), value, 0});
}

static uint64_t number(const json_t *json, const char *key, const char *inner)
{
    return (uint64_t)json_integer_value(json_object_get(json_object_get(json, key), inner));
}

/* "a+2/b+1 ...": the parts that are not alike. */
static const char *parts_of(const json_t *comparison)
{
    static char text[256];
    size_t i, used = 0;
    json_t *part;

    text[0] = '\0';
    json_array_foreach(json_object_get(comparison, "parts"), i, part) used +=
        (size_t)snprintf(text + used, sizeof text - used, "%s%d+%d/%d+%d", i ? " " : "",
                         (int)json_integer_value(json_array_get(part, 0)),
                         (int)json_integer_value(json_array_get(part, 1)),
                         (int)json_integer_value(json_array_get(part, 2)),
                         (int)json_integer_value(json_array_get(part, 3)));
    return text;
}

static void operations_are_aligned(void **state)
{
    static const struct {
        const char *a, *b;
        uint64_t same;
        const char *parts;
    } cases[] = {
        {"", "", 0, ""},
        {"abcdefgh", "abcdefgh", 8, ""},
        {"abcdefgh", "abcXdefgh", 8, "3+0/3+1"},  /* one more in b */
        {"abcXYdefgh", "abcdefgh", 8, "3+2/3+0"}, /* two more in a */
        {"abcXdefgh", "abcYdefgh", 8, "3+1/3+1"}, /* another one */
        {"abcd", "abcdefgh", 4, "4+0/4+4"},       /* b goes on */
        {"abcdefgh", "", 0, "0+8/0+0"},
        {"aXbcdefg", "aYbcdeZfg", 7, "1+1/1+1 6+0/6+1"}, /* near the end, too */
        {"xxxxxxxxab", "xxxxab", 6, "4+4/4+0"},          /* repeats */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct report_run a = run_of(cases[i].a, "{}"), b = run_of(cases[i].b, "{}");
        json_t *comparison = report_compare(&a, &b);

        if (strcmp(parts_of(comparison), cases[i].parts) != 0 ||
            number(comparison, "operations", "same") != cases[i].same)
            print_error("%s and %s: %s, %d the same\n", cases[i].a, cases[i].b,
                        parts_of(comparison), (int)number(comparison, "operations", "same"));
        assert_string_equal(parts_of(comparison), cases[i].parts);
        assert_int_equal(number(comparison, "operations", "same"), cases[i].same);
        assert_int_equal(json_is_true(json_object_get(comparison, "is_same")), !cases[i].parts[0]);
        json_decref(comparison);
        report_run_fini(&a);
        report_run_fini(&b);
    }
}

static void the_first_difference_says_of_what_kind_it_is(void **state)
{
    static const struct {
        const char *name, *kind;
        uint64_t status, value;
        const char *field;
    } cases[] = {
        {"DxgkDdiPatch", NULL, 0, 7, "DmaSize"},
        {"DxgkDdiRender", "call", 0, 7, "DmaSize"},
        {"DxgkDdiPatch", "status", 1, 7, "DmaSize"},
        {"DxgkDdiPatch", "arguments", 0, 8, "DmaSize"},
        {"DxgkDdiPatch", "arguments", 0, 7, "Offset"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct report_run a = run_of("", "{}"), b = run_of("", "{}");
        json_t *comparison;
        const json_t *first;

        add_call(&a, "DxgkDdiStartDevice", 1, 0, NULL, 0);
        add_call(&b, "DxgkDdiStartDevice", 1, 0, NULL, 0);
        add_call(&a, "DxgkDdiPatch", 20, 0, "DmaSize", 7);
        add_call(&b, cases[i].name, 20, cases[i].status, cases[i].field, cases[i].value);
        comparison = report_compare(&a, &b);
        first = json_object_get(comparison, "first_difference");
        if (!cases[i].kind) {
            assert_true(json_is_null(first));
            assert_int_equal(number(comparison, "calls", "same"), 2);
        } else {
            assert_string_equal(json_string_value(json_object_get(first, "kind")), cases[i].kind);
            assert_int_equal(number(comparison, "calls", "same"), 1);
            assert_int_equal(number(first, "a", "sequence"), 2);
            assert_int_equal(number(first, "b", "time_ns"), 20);
        }
        json_decref(comparison);
        report_run_fini(&a);
        report_run_fini(&b);
    }
}

static void arguments_that_differ_are_named_with_both_values(void **state)
{
    struct report_run a = run_of("", "{}"), b = run_of("", "{}");
    json_t *comparison;
    const json_t *argument;

    add_call(&a, "DxgkDdiPatch", 20, 0, "DmaSize", 0x10);
    add_call(&b, "DxgkDdiPatch", 20, 0, "DmaSize", 0x20);
    comparison = report_compare(&a, &b);
    argument = json_array_get(
        json_object_get(json_object_get(comparison, "first_difference"), "arguments"), 0);
    assert_string_equal(json_string_value(json_object_get(argument, "field")), "DmaSize");
    assert_string_equal(json_string_value(json_object_get(argument, "a")), "0x10");
    assert_string_equal(json_string_value(json_object_get(argument, "b")), "0x20");
    json_decref(comparison);
    report_run_fini(&a);
    report_run_fini(&b);
}

static void a_run_that_goes_on_and_another_time_are_told(void **state)
{
    struct report_run a = run_of("", "{}"), b = run_of("", "{}");
    json_t *comparison;
    const json_t *first, *time;

    add_call(&a, "DxgkDdiStartDevice", 1, 0, NULL, 0);
    add_call(&b, "DxgkDdiStartDevice", 5, 0, NULL, 0);
    add_call(&b, "DxgkDdiPatch", 20, 0, NULL, 0);
    comparison = report_compare(&a, &b);
    first = json_object_get(comparison, "first_difference");
    time = json_object_get(comparison, "first_time");
    assert_string_equal(json_string_value(json_object_get(first, "kind")), "end");
    assert_true(json_is_null(json_object_get(first, "a")));
    assert_int_equal(number(first, "b", "row"), 1);
    assert_int_equal(number(time, "a", "time_ns"), 1);
    assert_int_equal(number(time, "b", "time_ns"), 5);
    json_decref(comparison);
    report_run_fini(&a);
    report_run_fini(&b);
}

/* What was asked for stands first; wall times are no figures; what only one run has is null. */
static void figures_that_differ_are_listed(void **state)
{
    struct report_run a =
        run_of("", "{\"evictions\": 3, \"wall_seconds\": 1.5, \"steps\": [{\"n\": 1}],"
                   " \"machine\": {\"local_bytes\": 64}, \"same\": 1}");
    struct report_run b =
        run_of("", "{\"evictions\": 4, \"wall_seconds\": 2.5, \"steps\": [{\"n\": 1}, "
                   "{\"n\": 2}], \"machine\": {\"local_bytes\": 32}, \"same\": 1}");
    static const char *const paths[] = {"machine.local_bytes", "evictions", "steps.1"};
    json_t *comparison = report_compare(&a, &b), *figures, *figure;
    size_t i;

    figures = json_object_get(comparison, "figures");
    assert_int_equal(json_array_size(figures), 3);
    json_array_foreach(figures, i, figure)
        assert_string_equal(json_string_value(json_object_get(figure, "path")), paths[i]);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(figures, 1), "b")), 4);
    assert_true(json_is_null(json_object_get(json_array_get(figures, 2), "a")));
    assert_true(json_is_false(json_object_get(comparison, "is_same")));
    json_decref(comparison);
    report_run_fini(&a);
    report_run_fini(&b);
}

static void without_records_figures_are_compared(void **state)
{
    struct report_run a = {.json = json_pack("{s: i}", "evictions", 1)};
    struct report_run b = {.json = json_pack("{s: i}", "evictions", 2)};
    json_t *comparison = report_compare(&a, &b);
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_true(json_is_false(json_object_get(comparison, "has_records")));
    assert_int_equal(json_array_size(json_object_get(comparison, "figures")), 1);
    report_compare_text(out, &a, &b, comparison);
    fclose(out);
    assert_non_null(strstr(text, "only their figures are compared"));
    assert_non_null(strstr(text, "evictions"));
    free(text);
    json_decref(comparison);
    report_run_fini(&a);
    report_run_fini(&b);
}

/* What was asked for stands first; points of curves, and what was written down, are no figures. */
static void options_come_first_and_points_of_curves_not_at_all(void **state)
{
    struct report_run a = {.json = json_pack("{s: i, s: {}, s: {s: [i, i]}, s: {s: i}}",
                                             "evictions", 1, "options", "local_memory",
                                             "used_bytes", 5, 6, "events", "written", 7)};
    struct report_run b = {.json = json_pack("{s: i, s: {s: s}, s: {s: [i, i]}, s: {s: i}}",
                                             "evictions", 2, "options", "policy", "turns",
                                             "local_memory", "used_bytes", 5, 9, "events",
                                             "written", 8)};
    json_t *comparison = report_compare(&a, &b);
    const json_t *figures = json_object_get(comparison, "figures");

    assert_int_equal(json_array_size(figures), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(figures, 0), "path")),
                        "options.policy");
    assert_string_equal(json_string_value(json_object_get(json_array_get(figures, 1), "path")),
                        "evictions");
    json_decref(comparison);
    report_run_fini(&a);
    report_run_fini(&b);
}

/* What a record or a run.json says is text on the terminal, and nothing that it obeys. */
static void hostile_texts_stay_texts(void **state)
{
    struct report_run a = run_of("", "{\"evictions\": \"\\u001b]0;title\\u0007\"}");
    struct report_run b = run_of("", "{\"evictions\": 1}");
    json_t *comparison;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    add_call(&a, "Dxgk\033[2J", 20, 0, NULL, 0);
    add_call(&b, "DxgkDdiPatch", 20, 0, NULL, 0);
    comparison = report_compare(&a, &b);
    report_compare_text(out, &a, &b, comparison);
    fclose(out);
    assert_null(strpbrk(text, "\033\007"));
    assert_non_null(strstr(text, "Dxgk\\x1b[2J"));
    assert_non_null(strstr(text, "\\x1b]0;title\\x07"));
    free(text);
    json_decref(comparison);
    report_run_fini(&a);
    report_run_fini(&b);
}

/* Rows that name rows, objects and texts that are not there. */
static void nonsense_can_be_compared(void **state)
{
    struct report_run runs[2] = {run_of("", "{}"), run_of("", "{}")};
    json_t *comparison;

    for (unsigned run = 0; run < 2; run++) {
        struct story *story = runs[run].story;

        story_text(story, "object");
        story_text(story, "text");
        for (unsigned table = 0; table < STORY_TABLE_COUNT; table++) {
            for (unsigned row = 0; row < 300; row++) {
                story_add(story, (enum story_table)table);
                for (unsigned i = story_tables[table].first; i < story_tables[table + 1].first; i++)
                    story_set(story, (enum story_column)i, row,
                              row % 7 == 6 ? UINT64_MAX - run
                                           : (row / (run + 1) * 7919u + i * 104729u) % 311);
            }
        }
    }
    comparison = report_compare(&runs[0], &runs[1]);
    assert_int_equal(number(comparison, "operations", "a"), 300);
    assert_true(number(comparison, "operations", "same") < 300);
    assert_true(json_is_false(json_object_get(comparison, "is_same")));
    json_decref(comparison);
    comparison = report_compare(&runs[0], &runs[0]);
    assert_true(json_is_true(json_object_get(comparison, "is_same")));
    json_decref(comparison);
    report_run_fini(&runs[0]);
    report_run_fini(&runs[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_come_first_and_points_of_curves_not_at_all),
        cmocka_unit_test(operations_are_aligned),
        cmocka_unit_test(the_first_difference_says_of_what_kind_it_is),
        cmocka_unit_test(arguments_that_differ_are_named_with_both_values),
        cmocka_unit_test(a_run_that_goes_on_and_another_time_are_told),
        cmocka_unit_test(figures_that_differ_are_listed),
        cmocka_unit_test(without_records_figures_are_compared),
        cmocka_unit_test(hostile_texts_stay_texts),
        cmocka_unit_test(nonsense_can_be_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
